//! Replaces several files together.

use crate::{FileMode, Fs, FsError, RelPath, Replacement};

/// A file to replace: its path, its new content, and its mode.
pub type NewFile = (RelPath, Vec<u8>, FileMode);

/// Runs `act` in a directory. If the directory is missing, creates it and runs `act` again.
///
/// This costs nothing if the directory exists, unlike a check before each use.
///
/// # Errors
/// Fails as `act` does, or as [`Fs::create_dir_all`].
pub fn in_directory<F: Fs + ?Sized, T>(
    fs: &F,
    directory: &RelPath,
    mut act: impl FnMut() -> Result<T, FsError>,
) -> Result<T, FsError> {
    match act() {
        Err(error) if error.is_not_found() => fs.create_dir_all(directory).and_then(|()| act()),
        done => done,
    }
}

/// Replaces several files, all or none, in this order. Creates missing directories.
///
/// All files are written next to their targets before the first is renamed, so a full or read-only directory stops all
/// of them. If one cannot be renamed, the earlier ones get their old content back, last first. A crash between two
/// renames leaves the first ones new and the others old. The caller must choose an order for which that is safe.
///
/// # Errors
/// Fails on a disk error, or if an old file is larger than `limit`. All old files then remain, unless the disk also
/// refuses to restore one. In that case this file and the ones before it stay new.
pub fn write_together<F: Fs + ?Sized>(fs: &F, files: &[NewFile], limit: u64) -> Result<(), FsError> {
    let mut written = Vec::with_capacity(files.len());
    for (path, bytes, mode) in files {
        fs.create_dir_all(&path.parent())?;
        let before = match fs.read(path, limit) {
            Ok(before) => Some(before),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let mut replacement = Replacement::begin(fs, path, *mode)?;
        replacement.write(bytes)?;
        replacement.sync()?;
        written.push((path, before, replacement));
    }
    let mut renamed = Vec::with_capacity(written.len());
    for (path, before, replacement) in written {
        renamed.push((path, before));
        if let Err(error) = replacement.commit() {
            let _ = renamed.iter().rev().try_for_each(|(path, before)| put_back(fs, path, before.as_deref()));
            return Err(error);
        }
    }
    Ok(())
}

/// Restores the old content of a file.
fn put_back<F: Fs + ?Sized>(fs: &F, path: &RelPath, before: Option<&[u8]>) -> Result<(), FsError> {
    match before {
        Some(before) if fs.read(path, before.len() as u64).is_ok_and(|bytes| bytes == before) => Ok(()),
        Some(before) => fs.write_atomic(path, before, FileMode::KeepOr(0o600)),
        None => match fs.remove(path) {
            Err(error) if error.is_not_found() => Ok(()),
            removed => removed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Crash, Fault, FaultyFs, MemoryFs};

    const LIMIT: u64 = 1_000;

    fn path(name: &str) -> RelPath {
        name.parse().unwrap()
    }

    fn files() -> Vec<NewFile> {
        let file = |name: &str| (path(name), format!("new {name}").into_bytes(), FileMode::KeepOr(0o600));
        vec![file("a/new.json"), file("a/old.toml"), file("old.toml")]
    }

    fn disk() -> MemoryFs {
        let disk = MemoryFs::new();
        disk.create_dir_all(&path("a")).unwrap();
        for name in ["a/old.toml", "old.toml"] {
            disk.write_atomic(&path(name), format!("old {name}").as_bytes(), FileMode::Private).unwrap();
        }
        disk
    }

    /// Returns which files are new.
    fn new(fs: &dyn Fs) -> Vec<bool> {
        let is_new = |(path, bytes, _): &NewFile| match fs.read(path, LIMIT) {
            Ok(found) if found == *bytes => true,
            Ok(found) => {
                assert_eq!(found, format!("old {path}").as_bytes(), "{path}");
                false
            }
            Err(error) => {
                assert!(error.is_not_found() && path.as_str() == "a/new.json", "{path}: {error}");
                false
            }
        };
        files().iter().map(is_new).collect()
    }

    #[test]
    fn a_failing_disk_leaves_all_old_or_all_new() {
        let steps = {
            let faulty = FaultyFs::new(disk(), Fault::None);
            write_together(&faulty, &files(), LIMIT).unwrap();
            assert_eq!(new(&faulty), [true; 3]);
            faulty.steps()
        };
        for fault in (0..steps).flat_map(|step| [Fault::BrokenAt(step), Fault::NoSpaceFrom(step)]) {
            let faulty = FaultyFs::new(disk(), fault);
            let is_done = write_together(&faulty, &files(), LIMIT).is_ok();
            assert_eq!(new(&faulty), [is_done; 3], "{fault:?}");
            let names = |folder: &str| faulty.list_dir(&path(folder)).unwrap();
            let left = [".", "a"].into_iter().flat_map(names).filter(|entry| entry.name.ends_with(".tmp"));
            assert!(matches!(fault, Fault::BrokenAt(_)) || left.count() == 0, "{fault:?}");
        }
    }

    #[test]
    fn a_crash_keeps_the_order_of_replaced_files() {
        let steps = {
            let faulty = FaultyFs::new(disk(), Fault::None);
            write_together(&faulty, &files(), LIMIT).unwrap();
            faulty.steps()
        };
        for step in 0..=steps {
            for crash in [Crash::SyncedOnly, Crash::Everything, Crash::Some(7), Crash::Some(12)] {
                let faulty = FaultyFs::new(disk(), Fault::PowerLossAt(step));
                let _ = write_together(&faulty, &files(), LIMIT);
                let new = new(&faulty.after_crash(crash));
                assert!(new.is_sorted_by(|earlier, later| earlier >= later), "{step} {crash:?}: {new:?}");
            }
        }
    }
}
