//! Files that are replaced together.

use crate::{FileMode, Fs, FsError, RelPath, Replacement};

/// A file to replace: its path, its new content, and its mode.
pub type NewFile = (RelPath, Vec<u8>, FileMode);

/// Does something in a directory. If the directory is missing, makes it and does it again.
///
/// This costs nothing where the directory is there, unlike a look before each use.
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

/// Replaces several files, all or none, in this order. Missing directories are made.
///
/// All are written beside their targets before the first is renamed, so a directory that takes no file stops all of
/// them. If one cannot be renamed, those before it get back what stood there, last first. A crash between two renames
/// leaves the first ones new and the others old: the order must suit that.
///
/// # Errors
/// Fails on a disk error. All old files then remain, unless the disk also refuses to put one back: then that one and
/// those before it stay new. Fails, too, if an old file is larger than `limit`.
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

/// Gives a file the content that it had.
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
    fn a_disk_that_fails_at_any_step_leaves_all_old_or_all_new() {
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
    fn a_crash_leaves_no_later_file_without_the_earlier_ones() {
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
