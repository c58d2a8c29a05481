//! Files in memory, on a host whose programs are those of this machine.

use std::path::Path;
use std::time::Duration;

use brigade_fs::{
    DirEntry, DiskFs, Fs, FsError, Location, Lock, MemoryFs, Metadata, ReadFile, RelPath, WriteFile,
};

/// A workspace in memory. Paths outside of it are those of this machine, and are only read.
pub(super) struct HostFiles {
    memory: MemoryFs,
    host: DiskFs,
}

impl HostFiles {
    pub(super) fn new() -> HostFiles {
        HostFiles { memory: MemoryFs::new(), host: DiskFs::open(Path::new("/")).unwrap() }
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(self.memory.root())
    }
}

impl Fs for HostFiles {
    fn root(&self) -> &Path {
        self.memory.root()
    }

    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        self.memory.resolve(path, home)
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        self.memory.open(path)
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        if self.is_inside(path) { self.memory.open_outside(path) } else { self.host.open_outside(path) }
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        self.memory.create(path, mode)
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        self.memory.open_append(path)
    }

    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.create_dir(path)
    }

    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.sync_dir(path)
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        self.memory.rename(from, to)
    }

    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.remove(path)
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        self.memory.list_dir(path)
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.memory.metadata(path)
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.memory.link_metadata(path)
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        if self.is_inside(path) {
            self.memory.metadata_outside(path)
        } else {
            self.host.metadata_outside(path)
        }
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.remove_dir(path)
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        self.memory.sync_file_system()
    }

    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError> {
        self.memory.set_mode(path, mode)
    }

    fn take_left(&self, path: &RelPath) -> Option<Lock> {
        self.memory.take_left(path)
    }

    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        self.memory.lock(path, holder, timeout)
    }
}
