//! A file of JSON lines that is only appended to. Unreadable lines are moved to a file next to it, never erased.

use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, Line, Lines, ReadFile, RelPath, Replacement};

/// The file `NAME.jsonl` in a directory, and its quarantines `NAME.quarantine-N.jsonl`.
#[derive(Clone, Copy)]
pub struct LineFile<'f> {
    pub(crate) fs: &'f dyn Fs,
    pub(crate) folder: &'f RelPath,
    name: &'f str,
}

impl<'f> LineFile<'f> {
    /// Creates a handle without accessing the disk.
    pub fn new(fs: &'f dyn Fs, folder: &'f RelPath, name: &'f str) -> LineFile<'f> {
        LineFile { fs, folder, name }
    }

    pub(crate) fn beside(&self, suffix: &str) -> RelPath {
        self.folder.join(&format!("{}{suffix}", self.name)).expect("a file name in a directory is a path")
    }

    /// Returns the path of the file.
    pub fn path(&self) -> RelPath {
        self.beside(".jsonl")
    }

    fn quarantine_path(&self, number: u64) -> RelPath {
        self.beside(&format!(".quarantine-{number}.jsonl"))
    }

    /// Opens the file. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path is not a file.
    pub fn open(&self) -> Result<Option<Box<dyn ReadFile>>, FsError> {
        match self.fs.open(&self.path()) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file. Returns `None` if it does not exist or is not a file.
    pub(crate) fn open_if_file(&self) -> Result<Option<Box<dyn ReadFile>>, FsError> {
        match self.open() {
            Err(error) if error.kind == FsErrorKind::NotAFile => Ok(None),
            found => found,
        }
    }

    /// Moves lines that are not sound to a quarantine, and anything else with the file's name. Returns the number of
    /// lines and other items. The other lines stay as they are, byte for byte. The caller must hold a lock.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn set_aside(&self, mut is_sound: impl FnMut(&Line<'_>) -> bool) -> Result<u64, FsError> {
        let fs = self.fs;
        if self.move_away()? {
            return Ok(1);
        }
        let Some(file) = self.open()? else { return Ok(0) };
        let mut broken = Vec::new();
        let mut verdicts = Vec::new();
        let mut lines = Lines::new(&*file, 0, file.len()?);
        while let Some(line) = lines.next_line()? {
            let sound = is_sound(&line);
            verdicts.push(sound);
            if !sound {
                broken.extend_from_slice(line.bytes);
                broken.push(b'\n');
            }
        }
        let count = verdicts.iter().filter(|sound| !**sound).count() as u64;
        if count == 0 {
            return Ok(0);
        }
        self.quarantine(&broken)?;
        let mut replacement = Replacement::begin(fs, &self.path(), FileMode::Private)?;
        let mut lines = Lines::new(&*file, 0, file.len()?);
        let mut verdicts = verdicts.into_iter();
        while let Some(line) = lines.next_line()? {
            if verdicts.next() == Some(true) {
                replacement.write(line.bytes)?;
                replacement.write(b"\n")?;
            }
        }
        replacement.commit()?;
        tracing::info!(file = %self.path(), lines = count, "unreadable lines are moved to a quarantine");
        Ok(count)
    }

    /// Moves a non-file with the file's name to a quarantine. Returns whether there was one.
    pub(crate) fn move_away(&self) -> Result<bool, FsError> {
        match self.open() {
            Err(error) if error.kind == FsErrorKind::NotAFile => {
                self.fs.rename(&self.path(), &self.quarantine_path(self.free_quarantine()?))?;
                self.fs.sync_dir(self.folder)?;
                Ok(true)
            }
            found => found.map(|_| false),
        }
    }

    /// Writes a quarantine file, unless the last one has the same content because an earlier attempt crashed.
    pub(crate) fn quarantine(&self, bytes: &[u8]) -> Result<(), FsError> {
        let fs = self.fs;
        let free = self.free_quarantine()?;
        let is_there = 1 < free
            && matches!(fs.read(&self.quarantine_path(free - 1), bytes.len() as u64), Ok(last) if last == bytes);
        if is_there { Ok(()) } else { fs.create_new_durable(&self.quarantine_path(free), bytes) }
    }

    fn free_quarantine(&self) -> Result<u64, FsError> {
        let mut number = 1;
        while self.fs.exists(&self.quarantine_path(number))? {
            number += 1;
        }
        Ok(number)
    }
}
