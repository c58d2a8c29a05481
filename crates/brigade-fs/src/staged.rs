//! Changes of a directory tree that stay in memory until they are written together.
//!
//! Operations run on a [`StagedFs`] as they would on the disk, and see their own changes. Then a person can look at all
//! of them before the first byte is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{
    DirEntry, FileKind, FileMode, Fs, FsError, FsErrorKind, Location, Lock, MemoryFs, Metadata, NewFile,
    ReadFile, RelPath, WriteFile, write_together,
};

/// The largest file that is copied before it changes.
const LIMIT: u64 = 64 << 20;

/// The largest file whose content is remembered when it is read.
const SEEN_LIMIT: u64 = 4 << 20;

/// A directory tree whose changes stay in memory. Files outside of its root are read, and cannot be written.
pub struct StagedFs {
    below: Arc<dyn Fs>,
    above: MemoryFs,
    marks: Mutex<Marks>,
}

/// What memory alone does not tell.
#[derive(Default)]
struct Marks {
    /// Names of the tree below that are gone.
    removed: BTreeSet<RelPath>,
    /// The permission bits of new directories.
    modes: BTreeMap<RelPath, u32>,
    /// What was below when it was first looked at; `None` if there was no file.
    originals: BTreeMap<RelPath, Option<Vec<u8>>>,
}

/// A file that differs from the tree below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The path.
    pub path: RelPath,
    /// The content below when it was first looked at; `None` if there was no such file.
    pub before: Option<Vec<u8>>,
    /// The new content; `None` if the file is removed.
    pub after: Option<Vec<u8>>,
    /// The permission bits of a new file.
    pub mode: u32,
}

impl StagedFs {
    /// Begins without changes.
    pub fn new(below: Arc<dyn Fs>) -> StagedFs {
        StagedFs { below, above: MemoryFs::new(), marks: Mutex::default() }
    }

    /// Returns the files that differ, sorted by path. Locks and temporary files are left out.
    ///
    /// # Errors
    /// Fails if a file below cannot be read.
    pub fn changes(&self) -> Result<Vec<StagedChange>, FsError> {
        let mut changes = Vec::new();
        for (path, after) in self.above.files() {
            let before = self.original(&path)?;
            let mode = self.above.metadata(&path)?.mode;
            if before.as_ref() != Some(&after) {
                changes.push(StagedChange { path, before, after: Some(after), mode });
            }
        }
        let removed = self.marks().removed.clone();
        for path in removed {
            if let (Err(_), Some(before)) = (self.above.metadata(&path), self.original(&path)?) {
                changes.push(StagedChange { path, before: Some(before), after: None, mode: 0 });
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changes)
    }

    /// Writes changes to the tree below, all or none, and removes the files that are to be removed. If a file is not as
    /// it was when the change was made, returns its path, and writes nothing.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn write(&self, changes: &[StagedChange]) -> Result<Option<RelPath>, FsError> {
        for change in changes {
            if self.before(&change.path)? != change.before {
                return Ok(Some(change.path.clone()));
            }
        }
        let modes = self.marks().modes.clone();
        for (folder, mode) in modes {
            let is_needed = changes.iter().any(|change| change.after.is_some() && change.path.is_in(&folder));
            if is_needed && !self.below.exists(&folder)? {
                self.below.create_dir_all(&folder)?;
                self.below.set_mode(&folder, mode)?;
            }
        }
        let files = changes.iter().filter_map(|change| {
            Some((change.path.clone(), change.after.clone()?, FileMode::KeepOr(change.mode)))
        });
        let files: Vec<NewFile> = files.collect();
        write_together(&*self.below, &files, LIMIT)?;
        for change in changes.iter().filter(|change| change.after.is_none()) {
            self.below.remove(&change.path)?;
            self.below.sync_dir(&change.path.parent())?;
        }
        Ok(None)
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a file below; `None` if it is missing.
    fn before(&self, path: &RelPath) -> Result<Option<Vec<u8>>, FsError> {
        match self.below.read(path, LIMIT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what was below when it was first looked at.
    fn original(&self, path: &RelPath) -> Result<Option<Vec<u8>>, FsError> {
        self.see(path);
        let original = self.marks().originals.get(path).cloned();
        original.map_or_else(|| self.before(path), Ok)
    }

    /// Remembers what is below. What is decided from it must not be written over a later change. Files that are too
    /// large for configuration are not remembered.
    fn see(&self, path: &RelPath) {
        if self.marks().originals.contains_key(path) {
            return;
        }
        let before = match self.below.read(path, SEEN_LIMIT) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.is_not_found() => None,
            Err(_) => return,
        };
        self.marks().originals.insert(path.clone(), before);
    }

    fn is_above(&self, path: &RelPath) -> bool {
        !path.is_root() && self.above.metadata(path).is_ok()
    }

    fn is_removed(&self, path: &RelPath) -> bool {
        let marks = self.marks();
        let mut at = path.clone();
        while !at.is_root() {
            if marks.removed.contains(&at) {
                return true;
            }
            at = at.parent();
        }
        false
    }

    /// Returns what is below at a path, unless it was removed.
    fn metadata_below(&self, path: &RelPath) -> Result<Metadata, FsError> {
        if self.is_removed(path) {
            return Err(FsError::new("read", path.as_str(), FsErrorKind::NotFound));
        }
        let found = self.below.metadata(path);
        if found.is_err() {
            self.see(path);
        }
        found
    }

    /// Creates the directories above a path in memory, as they are below.
    fn mirror(&self, path: &RelPath) -> Result<(), FsError> {
        let folder = path.parent();
        if folder.is_root() || self.is_above(&folder) {
            return Ok(());
        }
        if self.metadata_below(&folder)?.kind != FileKind::Directory {
            return Err(FsError::new("write", path.as_str(), FsErrorKind::NotADirectory));
        }
        self.mirror(&folder)?;
        self.above.create_dir(&folder)
    }

    /// Copies a file from below, so that it can be changed.
    fn copy(&self, path: &RelPath) -> Result<(), FsError> {
        if self.is_above(path) {
            return Ok(());
        }
        let metadata = self.metadata_below(path)?;
        self.see(path);
        let bytes = self.below.read(path, LIMIT)?;
        self.mirror(path)?;
        self.above.create(path, metadata.mode)?.write(&bytes)
    }

    fn require_free(&self, path: &RelPath) -> Result<(), FsError> {
        match self.metadata(path) {
            Ok(_) => Err(FsError::new("create", path.as_str(), FsErrorKind::Exists)),
            Err(error) if error.is_not_found() => self.mirror(path),
            Err(error) => Err(error),
        }
    }

    fn inside(&self, path: &Path) -> Option<RelPath> {
        let inside = RelPath::try_from(path.strip_prefix(self.below.root()).ok()?).ok()?;
        self.is_above(&inside).then_some(inside)
    }
}

impl Fs for StagedFs {
    forward! {
        below:
        fn root(&self) -> &Path;
        fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError>;
        fn read_given(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError>;
        fn bound_file_limit(&self) -> &crate::BoundFileLimit;
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        match self.is_above(path) {
            true => self.above.open(path),
            false => {
                self.metadata_below(path)?;
                self.see(path);
                self.below.open(path)
            }
        }
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        match self.inside(path) {
            Some(inside) => self.above.open(&inside),
            None => self.below.open_outside(path),
        }
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        self.require_free(path)?;
        self.above.create(path, mode)
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        self.copy(path)?;
        self.above.open_append(path)
    }

    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.require_free(path)?;
        self.above.create_dir(path)
    }

    fn sync_dir(&self, _path: &RelPath) -> Result<(), FsError> {
        Ok(())
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        self.copy(from)?;
        self.see(to);
        self.mirror(to)?;
        self.above.rename(from, to)?;
        if self.below.link_metadata(from).is_ok() {
            self.marks().removed.insert(from.clone());
        }
        Ok(())
    }

    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        self.see(path);
        let is_below = self.metadata_below(path).is_ok();
        match self.is_above(path) {
            true => self.above.remove(path)?,
            false if is_below => {}
            false => return Err(FsError::new("remove", path.as_str(), FsErrorKind::NotFound)),
        }
        if is_below {
            self.marks().removed.insert(path.clone());
        }
        Ok(())
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        let mut entries = BTreeMap::new();
        let is_above = path.is_root() || self.is_above(path);
        match self.metadata_below(path).and_then(|_| self.below.list_dir(path)) {
            Ok(found) => {
                let marks = self.marks();
                let is_there = |entry: &DirEntry| {
                    path.join(&entry.name).map_or(true, |path| !marks.removed.contains(&path))
                };
                entries.extend(found.into_iter().filter(is_there).map(|entry| (entry.name.clone(), entry)));
            }
            Err(error) if error.is_not_found() && is_above => {}
            Err(error) => return Err(error),
        }
        if is_above {
            let found = self.above.list_dir(path)?;
            entries.extend(found.into_iter().map(|entry| (entry.name.clone(), entry)));
        }
        Ok(entries.into_values().collect())
    }

    fn unreadable_names(&self, path: &RelPath) -> Result<Vec<String>, FsError> {
        match self.below.unreadable_names(path) {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            names => names,
        }
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        match self.above.metadata(path) {
            Ok(metadata) if metadata.kind == FileKind::File => Ok(metadata),
            Ok(metadata) => Ok(self.metadata_below(path).unwrap_or(metadata)),
            Err(_) => self.metadata_below(path),
        }
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        match self.is_above(path) {
            true => self.metadata(path),
            false => self.metadata_below(path).and_then(|_| self.below.link_metadata(path)),
        }
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        match self.inside(path) {
            Some(inside) => self.metadata(&inside),
            None => self.below.metadata_outside(path),
        }
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        if self.is_above(path) {
            self.above.remove_dir(path)?;
        }
        if self.metadata_below(path).is_ok() {
            self.marks().removed.insert(path.clone());
        }
        Ok(())
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        Ok(())
    }

    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError> {
        if self.metadata(path)?.kind == FileKind::Directory {
            self.marks().modes.insert(path.clone(), mode);
            return Ok(());
        }
        self.copy(path)?;
        self.above.set_mode(path, mode)
    }

    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        self.mirror(path)?;
        self.above.lock(path, holder, timeout)
    }

    fn note(&self, path: &Path) {
        self.below.note(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        text.parse().unwrap()
    }

    fn disk() -> Arc<MemoryFs> {
        let disk = MemoryFs::new();
        disk.create_dir_all(&path("a")).unwrap();
        for name in ["a/old.toml", "gone.txt"] {
            disk.write_atomic(&path(name), b"old", FileMode::Private).unwrap();
        }
        Arc::new(disk)
    }

    fn names(fs: &dyn Fs, folder: &str) -> Vec<String> {
        let folder = if folder.is_empty() { RelPath::root() } else { path(folder) };
        fs.list_dir(&folder).unwrap().into_iter().map(|entry| entry.name).collect()
    }

    /// Makes one change of each kind.
    fn change(fs: &dyn Fs) {
        fs.write_atomic(&path("a/old.toml"), b"new", FileMode::KeepOr(0o600)).unwrap();
        fs.create_dir_all(&path("a/b")).unwrap();
        fs.write_atomic(&path("a/b/new.json"), b"{}", FileMode::KeepOr(0o644)).unwrap();
        fs.remove(&path("gone.txt")).unwrap();
    }

    #[test]
    fn changes_are_seen_above_and_not_below() {
        let disk = disk();
        let before = disk.files();
        let staged = StagedFs::new(disk.clone());
        change(&staged);
        assert_eq!(disk.files(), before);
        assert_eq!(
            (names(&staged, ""), names(&staged, "a")),
            (vec!["a".into()], vec!["b".into(), "old.toml".into()])
        );
        assert_eq!(staged.read(&path("a/old.toml"), 9).unwrap(), b"new");
        assert!(staged.read(&path("gone.txt"), 9).unwrap_err().is_not_found());
        assert!(staged.metadata(&path("gone.txt")).unwrap_err().is_not_found());
        assert_eq!(staged.metadata(&path("a/b/new.json")).unwrap().mode, 0o644);
        let changes = staged.changes().unwrap();
        let changed: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(changed, ["a/b/new.json", "a/old.toml", "gone.txt"]);
    }

    #[test]
    fn written_changes_equal_those_made_on_the_disk() {
        let (disk, expect) = (disk(), disk());
        change(&*expect);
        let staged = StagedFs::new(disk.clone());
        change(&staged);
        assert_eq!(staged.write(&staged.changes().unwrap()).unwrap(), None);
        assert_eq!(disk.files(), expect.files());
    }

    #[test]
    fn a_file_that_changed_meanwhile_stops_all_changes() {
        let disk = disk();
        let staged = StagedFs::new(disk.clone());
        change(&staged);
        let changes = staged.changes().unwrap();
        disk.write_atomic(&path("a/old.toml"), b"other", FileMode::Private).unwrap();
        let before = disk.files();
        assert_eq!(staged.write(&changes).unwrap(), Some(path("a/old.toml")));
        assert_eq!(disk.files(), before);
    }

    /// Issue 45: two setups at once.
    #[test]
    fn nothing_is_written_over_what_was_not_seen() {
        for name in ["a/old.toml", "a/new.toml"] {
            let disk = disk();
            let staged = StagedFs::new(disk.clone());
            let read = staged.read(&path(name), 9).unwrap_or_default();
            disk.write_atomic(&path(name), b"other", FileMode::Private).unwrap();
            staged.write_atomic(&path(name), &[&read[..], b"+"].concat(), FileMode::Private).unwrap();
            assert_eq!(staged.write(&staged.changes().unwrap()).unwrap(), Some(path(name)));
            assert_eq!(disk.read(&path(name), 9).unwrap(), b"other");
        }
    }

    #[test]
    fn stages_nest() {
        let disk = disk();
        let outer = Arc::new(StagedFs::new(disk.clone()));
        let inner = StagedFs::new(outer.clone());
        change(&inner);
        assert!(outer.changes().unwrap().is_empty());
        inner.write(&inner.changes().unwrap()).unwrap();
        assert_eq!(outer.changes().unwrap().len(), 3);
        assert_eq!(disk.files().len(), 2);
    }
}
