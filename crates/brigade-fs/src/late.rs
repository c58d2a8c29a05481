//! Delays syncs, and does them together later.
//!
//! Every process sees writes at once, and they survive if this process is killed. Only a power loss before
//! [`DeferredFs::sync`] can lose them.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{DirEntry, FileId, Fs, FsError, Location, Lock, Metadata, ReadFile, RelPath, WriteFile};

/// A directory tree that records syncs instead of doing them. [`DeferredFs::sync`] does them.
pub struct DeferredFs {
    fs: Arc<dyn Fs>,
    unsynced: Arc<PendingSyncs>,
}

/// Writes that are not synced yet.
#[derive(Debug, Default)]
struct PendingSyncs {
    noted: Mutex<Vec<PendingSync>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PendingSync {
    File(RelPath),
    /// The names in a directory.
    Names(RelPath),
}

impl PendingSyncs {
    fn noted(&self) -> MutexGuard<'_, Vec<PendingSync>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a pending sync as the last one.
    fn note(&self, what: PendingSync) {
        let mut noted = self.noted();
        noted.retain(|known| *known != what);
        noted.push(what);
    }
}

impl DeferredFs {
    /// Creates a tree without pending syncs.
    pub fn new(fs: Arc<dyn Fs>) -> DeferredFs {
        DeferredFs { fs, unsynced: Arc::default() }
    }

    /// Returns whether anything is not synced yet.
    pub fn is_pending(&self) -> bool {
        !self.unsynced.noted().is_empty()
    }

    /// Returns once everything that was written before is on disk.
    ///
    /// The order is that of the original syncs. So a power loss meanwhile leaves about the same state as immediate
    /// syncs would.
    ///
    /// # Errors
    /// Fails on a disk error. Syncs that failed stay pending.
    pub fn sync(&self) -> Result<(), FsError> {
        let noted = std::mem::take(&mut *self.unsynced.noted());
        for (place, what) in noted.iter().enumerate() {
            let synced = match what {
                PendingSync::File(path) => self.fs.open_append(path).and_then(|mut file| file.sync()),
                PendingSync::Names(path) => self.fs.sync_dir(path),
            };
            match synced {
                // The file was removed meanwhile.
                Err(error) if error.is_not_found() => {}
                Ok(()) => {}
                Err(error) => {
                    let mut now = self.unsynced.noted();
                    let mut left = noted[place..].to_vec();
                    left.retain(|what| !now.contains(what));
                    now.splice(0..0, left);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn writer(&self, file: Box<dyn WriteFile>, path: &RelPath) -> Box<dyn WriteFile> {
        Box::new(DeferredWriter {
            file,
            path: path.clone(),
            unsynced: self.unsynced.clone(),
            is_written: false,
        })
    }
}

struct DeferredWriter {
    file: Box<dyn WriteFile>,
    path: RelPath,
    unsynced: Arc<PendingSyncs>,
    /// Whether the content must be synced. An empty file needs only its name, which is synced with the directory.
    is_written: bool,
}

impl WriteFile for DeferredWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        self.is_written |= !bytes.is_empty();
        self.file.write(bytes)
    }

    fn sync(&mut self) -> Result<(), FsError> {
        if self.is_written {
            self.unsynced.note(PendingSync::File(self.path.clone()));
        }
        Ok(())
    }

    fn length(&self) -> Result<u64, FsError> {
        self.file.length()
    }

    fn truncate(&mut self, length: u64) -> Result<(), FsError> {
        self.is_written = true;
        self.file.truncate(length)
    }

    fn touch(&mut self) -> Result<(), FsError> {
        self.file.touch()
    }

    fn reserve(&mut self, length: u64) -> Result<(), FsError> {
        self.file.reserve(length)
    }

    fn hold(&mut self) -> Result<bool, FsError> {
        self.file.hold()
    }
}

impl Fs for DeferredFs {
    forward! {
        fs:
        fn root(&self) -> &Path;
        fn bound_file_limit(&self) -> &crate::BoundFileLimit;
        fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError>;
        fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError>;
        fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError>;
        fn read_given(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError>;
        fn create_dir(&self, path: &RelPath) -> Result<(), FsError>;
        fn remove(&self, path: &RelPath) -> Result<(), FsError>;
        fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError>;
        fn list_some(&self, path: &RelPath, most: usize) -> Result<(Vec<DirEntry>, u64), FsError>;
        fn unreadable_names(&self, path: &RelPath) -> Result<Vec<String>, FsError>;
        fn identity(&self, path: &RelPath) -> Result<(FileId, u64), FsError>;
        fn exists(&self, path: &RelPath) -> Result<bool, FsError>;
        fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError>;
        fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError>;
        fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError>;
        fn remove_dir(&self, path: &RelPath) -> Result<(), FsError>;
        fn remove_tree(&self, path: &RelPath) -> Result<(), FsError>;
        fn sync_file_system(&self) -> Result<(), FsError>;
        fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError>;
        fn take_left(&self, path: &RelPath) -> Option<Lock>;
        fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError>;
        fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError>;
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        Ok(self.writer(self.fs.create(path, mode)?, path))
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        Ok(self.writer(self.fs.open_append(path)?, path))
    }

    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.unsynced.note(PendingSync::Names(path.clone()));
        Ok(())
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        self.fs.rename(from, to)?;
        for what in self.unsynced.noted().iter_mut() {
            if matches!(what, PendingSync::File(path) if path == from) {
                *what = PendingSync::File(to.clone());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Crash, Fault, FaultyFs, FileMode, MemoryFs};

    fn path(text: &str) -> RelPath {
        text.parse().unwrap()
    }

    #[test]
    fn writes_are_visible_at_once_and_durable_after_sync() {
        let disk = FaultyFs::new(MemoryFs::new(), Fault::None);
        disk.create_dir_all(&path("a")).unwrap();
        let late = DeferredFs::new(Arc::new(disk.clone()));
        late.append_durable(&path("a/log"), b"one\n").unwrap();
        late.create_new_durable(&path("a/new"), b"{}").unwrap();
        assert!(late.is_pending());
        assert_eq!(disk.read(&path("a/log"), 9).unwrap(), b"one\n");
        assert_eq!(disk.read(&path("a/new"), 9).unwrap(), b"{}");
        let killed = disk.after_crash(Crash::Everything);
        assert_eq!(killed.read(&path("a/new"), 9).unwrap(), b"{}", "a killed process loses nothing");
        let unsynced = disk.after_crash(Crash::SyncedOnly);
        assert!(!unsynced.exists(&path("a/log")).unwrap() && !unsynced.exists(&path("a/new")).unwrap());
        late.sync().unwrap();
        assert!(!late.is_pending());
        let synced = disk.after_crash(Crash::SyncedOnly);
        assert_eq!(synced.read(&path("a/log"), 9).unwrap(), b"one\n");
        assert_eq!(synced.read(&path("a/new"), 9).unwrap(), b"{}");
        assert_eq!(synced.list_dir(&path("a")).unwrap().len(), 2, "no temporary file is left");
    }

    #[test]
    fn failed_syncs_stay_pending() {
        let disk = FaultyFs::new(MemoryFs::new(), Fault::BrokenAt(3));
        let late = DeferredFs::new(Arc::new(disk));
        late.write_atomic(&path("file"), b"x", FileMode::Private).unwrap();
        assert!(late.sync().is_err());
        assert!(late.is_pending());
        late.sync().unwrap();
        assert!(!late.is_pending());
    }
}
