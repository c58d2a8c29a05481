//! Writes files under a temporary name and renames them when they are complete. Also removes leftover temporary files.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, test_kill_process};

use crate::{FileKind, FileMode, Fs, FsError, FsErrorKind, Lock, Metadata, RelPath, WriteFile};

static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

pub(crate) fn create_temporary<F: Fs + ?Sized>(
    fs: &F,
    path: &RelPath,
    mode: u32,
) -> Result<(RelPath, Box<dyn WriteFile>), FsError> {
    loop {
        let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}-{number}.tmp", prefix_of(path), std::process::id());
        let temporary = path.parent().join(&name).expect("a name without slashes is a path");
        match fs.create(&temporary, mode) {
            Ok(mut file) => match file.hold() {
                Ok(true) => return Ok((temporary, file)),
                // Before `hold`, another process took the file for a leftover, and will remove it.
                Ok(false) => {}
                Err(error) => {
                    let _ = fs.remove(&temporary);
                    return Err(FsError { operation: "write", path: path.to_string(), ..error });
                }
            },
            Err(error) if error.is_exists() => {}
            Err(error) => return Err(FsError { operation: "write", path: path.to_string(), ..error }),
        }
    }
}

/// Returns whether a name is a temporary one used by [`Fs::write_atomic`] and [`Replacement`]. Such a file is being
/// written right now, or remains from a crash.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Returns the prefix of the temporary names of a file.
fn prefix_of(path: &RelPath) -> String {
    // Omit the target's name if it would make the temporary name too long.
    let stem = if path.name().len() <= 200 { path.name() } else { "long" };
    format!(".{stem}.")
}

/// Returns whether a file is a temporary one (`.NAME.PROCESS-NUMBER.tmp`) whose writer has ended.
///
/// The process in its name must have ended, and no process may hold the file. The number alone is not proof, because
/// another container has its own process ids.
pub fn is_left<F: Fs + ?Sized>(fs: &F, path: &RelPath) -> bool {
    take_left(fs, path).is_some()
}

/// Removes a file if [`is_left`] returns true for it. Returns whether it did.
pub fn remove_if_left<F: Fs + ?Sized>(fs: &F, path: &RelPath) -> bool {
    // The lock is held until the file is removed.
    let left = take_left(fs, path);
    left.is_some() && fs.remove(path).is_ok()
}

fn take_left<F: Fs + ?Sized>(fs: &F, path: &RelPath) -> Option<Lock> {
    let process = i32::try_from(process_of(path.name())?).ok().and_then(Pid::from_raw);
    // A process that may not be signalled is alive, too.
    let has_ended = process.is_none_or(|process| test_kill_process(process) == Err(rustix::io::Errno::SRCH));
    if has_ended { fs.take_left(path) } else { None }
}

fn process_of(name: &str) -> Option<u32> {
    let (_, numbers) = name.strip_suffix(".tmp").filter(|_| is_temporary(name))?.rsplit_once('.')?;
    let (process, number) = numbers.split_once('-')?;
    number.parse::<u64>().ok()?;
    process.parse().ok().filter(|process| *process != 0)
}

/// The size of a directory, in bytes, above which writes do not search it for leftovers: some hundred entries.
const MAX_SCANNED_FOLDER_BYTES: u64 = 16 << 10;

/// Removes the temporary files of a target that ended processes left next to it.
///
/// Files that cannot be removed stay, and so do leftovers in a large directory. They do no harm, and `doctor` finds
/// them.
pub(crate) fn remove_left<F: Fs + ?Sized>(fs: &F, path: &RelPath) {
    let (folder, prefix) = (path.parent(), prefix_of(path));
    if fs.metadata(&folder).is_ok_and(|metadata| MAX_SCANNED_FOLDER_BYTES < metadata.len) {
        return;
    }
    for entry in fs.list_dir(&folder).unwrap_or_default() {
        let is_ours =
            entry.name.strip_prefix(&prefix).is_some_and(|rest| !rest.trim_end_matches(".tmp").contains('.'));
        if is_ours && entry.kind == FileKind::File {
            let _ = folder.join(&entry.name).map(|left| remove_if_left(fs, &left));
        }
    }
}

/// A file under construction that replaces another one when it is committed.
///
/// Dropping it without [`Replacement::commit`] removes the temporary file.
pub struct Replacement<'a, F: Fs + ?Sized> {
    fs: &'a F,
    target: RelPath,
    temporary: RelPath,
    file: Option<Box<dyn WriteFile>>,
}

impl<'a, F: Fs + ?Sized> Replacement<'a, F> {
    /// Creates an empty temporary file next to the target, and removes those that ended processes left there.
    ///
    /// # Errors
    /// Fails if the directory is not writable, or the target is a directory.
    pub fn begin(fs: &'a F, target: &RelPath, mode: FileMode) -> Result<Replacement<'a, F>, FsError> {
        let existing = match fs.link_metadata(target) {
            Ok(metadata) if metadata.kind == FileKind::Directory => {
                return Err(FsError::new("write", target.as_str(), FsErrorKind::NotAFile));
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let mode = match mode {
            FileMode::Private => 0o600,
            FileMode::Exactly(mode) => mode,
            FileMode::KeepOr(mode) => match existing {
                Some(Metadata { kind: FileKind::File, mode, .. }) => mode,
                Some(_) | None => mode,
            },
        };
        remove_left(fs, target);
        Replacement::create(fs, target, mode)
    }

    /// Creates an empty temporary file for a target that does not exist yet.
    ///
    /// Does not search for leftovers: such names are rarely used twice, and their directories grow.
    pub(crate) fn of_new(fs: &'a F, target: &RelPath) -> Result<Replacement<'a, F>, FsError> {
        Replacement::create(fs, target, 0o600)
    }

    fn create(fs: &'a F, target: &RelPath, mode: u32) -> Result<Replacement<'a, F>, FsError> {
        let (temporary, file) = create_temporary(fs, target, mode)?;
        Ok(Replacement { fs, target: target.clone(), temporary, file: Some(file) })
    }

    /// Appends to the temporary file.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        let file = self.file.as_mut().expect("the file is open until it is committed");
        file.write(bytes).map_err(|error| FsError { path: self.target.to_string(), ..error })
    }

    /// Makes the content durable, under the temporary name.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn sync(&mut self) -> Result<(), FsError> {
        let file = self.file.as_mut().expect("the file is open until it is committed");
        file.sync().map_err(|error| FsError { operation: "write", path: self.target.to_string(), ..error })
    }

    /// Makes the file durable and renames it to the target.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn commit(mut self) -> Result<(), FsError> {
        self.sync()?;
        let named = |error| FsError { operation: "write", path: self.target.to_string(), ..error };
        self.fs.rename(&self.temporary, &self.target).map_err(named)?;
        self.file = None;
        self.fs.sync_dir(&self.target.parent())
    }
}

impl<F: Fs + ?Sized> Drop for Replacement<'_, F> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = self.fs.remove(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskFs, MemoryFs};

    #[test]
    fn only_temporary_names_contain_a_process() {
        for (name, expect) in [
            (".inbox.jsonl.12-0.tmp", Some(12)),
            ("..gitignore.7-31.tmp", Some(7)),
            (".tmp", None),
            (".mine.tmp", None),
            (".mine.12.tmp", None),
            ("inbox.jsonl.12-0.tmp", None),
            (".inbox.jsonl.12-0", None),
            (".x.-1-0.tmp", None),
            (".x.0-0.tmp", None),
        ] {
            assert_eq!(process_of(name), expect, "{name}");
        }
    }

    #[test]
    fn files_being_written_are_not_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let make = |process: u32| {
            let path: RelPath = format!(".x.{process}-0.tmp").parse().unwrap();
            (fs.create(&path, 0o600).unwrap(), path)
        };
        let (_, own) = make(std::process::id());
        assert!(!is_left(&fs, &own));
        let (_, first) = make(1);
        assert!(!is_left(&fs, &first), "the first process of the system lives");
        // The number of a process in another container, which is not visible here.
        let (mut file, other) = make(u32::MAX / 2);
        assert!(file.hold().unwrap());
        assert!(!is_left(&fs, &other) && !remove_if_left(&fs, &other));
        fs.write_atomic(&"x".parse().unwrap(), b"x", FileMode::Private).unwrap();
        assert!(fs.link_metadata(&other).is_ok(), "its writer has it open");
        drop(file);
        assert!(is_left(&fs, &other) && remove_if_left(&fs, &other));
        assert!(fs.link_metadata(&other).is_err());
    }

    /// Another process can take the file for a leftover after it is created and before it is held.
    #[test]
    fn a_file_that_was_taken_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let path: RelPath = format!(".x.{}-0.tmp", u32::MAX / 2).parse().unwrap();
        let mut file = fs.create(&path, 0o600).unwrap();
        let taken = fs.take_left(&path).unwrap();
        assert!(!file.hold().unwrap());
        fs.remove(&path).unwrap();
        drop(taken);
        assert!(!file.hold().unwrap(), "it is removed");
    }

    #[test]
    fn only_files_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let path: RelPath = "gone".parse().unwrap();
        assert!(fs.take_left(&path).is_none());
        std::fs::create_dir(folder.path().join("gone")).unwrap();
        assert!(fs.take_left(&path).is_none(), "it is a directory");
    }

    #[test]
    fn a_write_does_not_search_a_large_directory() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let path = |name: &str| format!("folder/{name}").parse::<RelPath>().unwrap();
        fs.create_dir_all(&"folder".parse().unwrap()).unwrap();
        (0..2_000).for_each(|number| drop(fs.create(&path(&format!("entry-{number}.md")), 0o600).unwrap()));
        let left = path(&format!(".a.json.{}-0.tmp", u32::MAX / 2));
        drop(fs.create(&left, 0o600).unwrap());
        fs.write_atomic(&path("a.json"), b"{}", FileMode::Private).unwrap();
        assert!(fs.link_metadata(&left).is_ok());
    }

    fn check(fs: &dyn Fs, write: &dyn Fn(&dyn Fs, &RelPath) -> Result<(), FsError>) {
        let (ended, living) = (u32::MAX / 2, std::process::id());
        let left = [format!(".a.json.{ended}-0.tmp"), format!(".a.json.{ended}-17.tmp")];
        let others = [
            format!(".a.json.{living}-900000.tmp"),
            format!(".b.json.{ended}-0.tmp"),
            format!(".a.json.old.{ended}-0.tmp"),
            ".a.json.tmp".to_owned(),
        ];
        let path = |name: &str| format!("folder/{name}").parse::<RelPath>().unwrap();
        fs.create_dir_all(&"folder".parse().unwrap()).unwrap();
        left.iter().chain(&others).for_each(|name| drop(fs.create(&path(name), 0o600).unwrap()));
        write(fs, &path("a.json")).unwrap();
        let names: Vec<String> =
            fs.list_dir(&"folder".parse().unwrap()).unwrap().into_iter().map(|entry| entry.name).collect();
        let mut expected: Vec<String> = others.into_iter().chain(["a.json".to_owned()]).collect();
        expected.sort();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_write_removes_only_leftovers_of_its_own_target() {
        let folder = tempfile::tempdir().unwrap();
        let durably = |fs: &dyn Fs, path: &RelPath| fs.write_atomic(path, b"{}", FileMode::Private);
        let as_cache = |fs: &dyn Fs, path: &RelPath| fs.write_cache(path, b"{}");
        check(&DiskFs::open(folder.path()).unwrap(), &durably);
        check(&MemoryFs::new(), &durably);
        check(&MemoryFs::new(), &as_cache);
    }
}
