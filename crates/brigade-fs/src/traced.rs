//! Records which paths a program examined, to detect later whether they changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use brigade_core::Timestamp;

use crate::{DirEntry, Fs, FsError, Location, Lock, Mark, Metadata, ReadFile, RelPath, WriteFile};

/// A directory tree that records which paths were examined, and their state at that time.
pub struct TracingFs<'a> {
    fs: &'a dyn Fs,
    seen: Mutex<BTreeMap<(PathBuf, Depth), Option<Mark>>>,
}

/// How much of a path was examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// The entry itself. The content of a directory does not matter.
    Entry,
    /// The content, too.
    Content,
}

impl Depth {
    fn mark(self, path: &Path) -> Option<Mark> {
        match self {
            Depth::Entry => Mark::of_entry(path),
            Depth::Content => Mark::at(path),
        }
    }
}

/// The examined paths and their state at that time, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct Trace(Vec<(PathBuf, PathObservation)>);

/// The recorded state of a path.
#[derive(Clone, Debug)]
enum PathObservation {
    /// The mark of the path, or `None` if it did not exist.
    Like(Depth, Option<Mark>),
    /// A directory that did not have these paths. While its mark is the same, they are still missing and need not be
    /// checked.
    Without(Mark, Vec<PathBuf>),
}

impl<'a> TracingFs<'a> {
    /// Starts with an empty trace.
    pub fn new(fs: &'a dyn Fs) -> TracingFs<'a> {
        TracingFs { fs, seen: Mutex::default() }
    }

    fn see(&self, path: &Path, depth: Depth) {
        let path = self.fs.root().join(path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The first state counts. What was read later may be newer, and then the trace no longer holds.
        seen.entry((path, depth)).or_insert_with_key(|(path, depth)| depth.mark(path));
    }

    /// Ends the trace. Returns `None` if a path changed less than `age` before `now`, because a further change might
    /// not show.
    pub fn into_settled(self, now: Timestamp, age: Duration) -> Option<Trace> {
        let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        let is_old = |mark: &Mark| mark.changed_micros().saturating_add(age) <= now.unix_micros();
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut looks = Vec::with_capacity(seen.len());
        let mut missing: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for ((path, depth), mark) in seen {
            match path.parent().filter(|_| mark.is_none()) {
                Some(directory) => missing.entry(directory.to_owned()).or_default().push(path),
                None if mark.as_ref().is_none_or(is_old) => {
                    looks.push((path, PathObservation::Like(depth, mark)))
                }
                None => return None,
            }
        }
        for (directory, mut paths) in missing {
            paths.dedup();
            // The directory is marked before its paths are checked, so a path that is created later changes the mark.
            let mark = Mark::at(&directory).filter(is_old);
            match mark.filter(|_| paths.iter().all(|path| Mark::at(path).is_none())) {
                Some(mark) => looks.push((directory, PathObservation::Without(mark, paths))),
                None => {
                    looks.extend(
                        paths.into_iter().map(|path| (path, PathObservation::Like(Depth::Entry, None))),
                    );
                }
            }
        }
        looks.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(Trace(looks))
    }
}

impl Trace {
    /// Returns whether all paths still have their recorded state.
    pub fn holds(&self) -> bool {
        // Several observations of one path are adjacent, so its marks are read only once.
        let mut last: Option<(&Path, [Option<Mark>; 2])> = None;
        self.0.iter().all(|(path, looked)| {
            let [entry, content] = match last {
                Some((known, marks)) if known == path => marks,
                _ => last.insert((path, Mark::both(path))).1,
            };
            match looked {
                PathObservation::Like(Depth::Entry, mark) => *mark == entry,
                PathObservation::Like(Depth::Content, mark) => *mark == content,
                PathObservation::Without(mark, paths) => {
                    Some(*mark) == content || paths.iter().all(|path| Mark::at(path).is_none())
                }
            }
        })
    }

    /// Returns how many paths must be checked if nothing changed.
    pub fn len(&self) -> usize {
        self.0.chunk_by(|(one, _), (other, _)| one == other).count()
    }

    /// Returns whether the trace is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Fs for TracingFs<'_> {
    forward! {
        fs:
        fn root(&self) -> &Path;
        fn bound_file_limit(&self) -> &crate::BoundFileLimit;
        fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError>;
        fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError>;
        fn create_dir(&self, path: &RelPath) -> Result<(), FsError>;
        fn sync_dir(&self, path: &RelPath) -> Result<(), FsError>;
        fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError>;
        fn remove(&self, path: &RelPath) -> Result<(), FsError>;
        fn remove_dir(&self, path: &RelPath) -> Result<(), FsError>;
        fn sync_file_system(&self) -> Result<(), FsError>;
        fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError>;
        fn take_left(&self, path: &RelPath) -> Option<Lock>;
        fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError>;
    }

    fn note(&self, path: &Path) {
        self.see(path, Depth::Content);
    }

    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        self.see(&crate::disk::expand(path, home), Depth::Entry);
        self.fs.resolve(path, home)
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        self.see(path.as_path(), Depth::Content);
        self.fs.open(path)
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        self.see(path, Depth::Content);
        self.fs.open_outside(path)
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        self.see(path.as_path(), Depth::Content);
        self.fs.list_dir(path)
    }

    fn list_some(&self, path: &RelPath, most: usize) -> Result<(Vec<DirEntry>, u64), FsError> {
        self.see(path.as_path(), Depth::Content);
        self.fs.list_some(path, most)
    }

    fn unreadable_names(&self, path: &RelPath) -> Result<Vec<String>, FsError> {
        self.see(path.as_path(), Depth::Content);
        self.fs.unreadable_names(path)
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.see(path.as_path(), Depth::Entry);
        self.fs.metadata(path)
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.see(path.as_path(), Depth::Entry);
        self.fs.link_metadata(path)
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        self.see(path, Depth::Entry);
        self.fs.metadata_outside(path)
    }

    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        self.see(path.as_path(), Depth::Content);
        self.fs.read(path, limit)
    }

    fn read_outside(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
        self.see(path, Depth::Content);
        self.fs.read_outside(path, limit)
    }

    fn read_given(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
        self.see(path, Depth::Content);
        self.fs.read_given(path, limit)
    }

    fn exists(&self, path: &RelPath) -> Result<bool, FsError> {
        self.see(path.as_path(), Depth::Entry);
        self.fs.exists(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskFs;

    /// A time after all changes of a test.
    fn late() -> Timestamp {
        Timestamp::from_unix_micros(i64::MAX / 2)
    }

    fn path(text: &str) -> RelPath {
        text.parse().unwrap()
    }

    fn settled(traced: TracingFs<'_>) -> Trace {
        traced.into_settled(late(), Duration::from_secs(2)).unwrap()
    }

    #[test]
    fn entries_matter_only_if_the_directory_was_listed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let disk = DiskFs::open(folder.path()).unwrap();
        let (looked, listed) = (TracingFs::new(&disk), TracingFs::new(&disk));
        looked.metadata(&path("folder")).unwrap();
        listed.metadata(&path("folder")).unwrap();
        listed.list_dir(&path("folder")).unwrap();
        let (looked, listed) = (settled(looked), settled(listed));
        std::fs::write(folder.path().join("folder/new"), "").unwrap();
        assert!(looked.holds() && !listed.holds());
        std::fs::remove_dir_all(folder.path().join("folder")).unwrap();
        assert!(!looked.holds());
    }

    #[test]
    fn a_trace_holds_until_an_examined_path_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "one").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let disk = DiskFs::open(folder.path()).unwrap();
        let look = || {
            let traced = TracingFs::new(&disk);
            traced.read(&path("file"), 99).unwrap();
            traced.list_dir(&path("folder")).unwrap();
            for missing in ["none", "none/below", "folder/none", "file/none"] {
                let _ = traced.metadata(&path(missing));
            }
            traced
        };
        let changes: [(&str, &dyn Fn()); 6] = [
            ("written", &|| std::fs::write(at("file"), "longer").unwrap()),
            ("replaced", &|| {
                std::fs::write(at("other"), "longer").unwrap();
                std::fs::rename(at("other"), at("file")).unwrap();
            }),
            ("one more entry", &|| std::fs::write(at("folder/new"), "").unwrap()),
            ("created", &|| std::fs::write(at("none"), "").unwrap()),
            ("made a directory", &|| {
                std::fs::remove_file(at("none")).unwrap();
                std::fs::create_dir(at("none")).unwrap();
            }),
            ("created in it", &|| std::fs::write(at("none/below"), "").unwrap()),
        ];
        for (what, change) in changes {
            let trace = settled(look());
            assert!(trace.holds(), "{what}");
            std::fs::write(at("unseen"), what).unwrap();
            assert!(trace.holds(), "it was not examined");
            std::fs::remove_file(at("unseen")).unwrap();
            assert!(trace.holds(), "it was not examined");
            change();
            assert!(!trace.holds(), "{what}");
        }
        assert!(look().into_settled(Timestamp::from_unix_micros(0), Duration::ZERO).is_none());
    }

    #[test]
    fn a_recently_changed_directory_proves_no_absence() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskFs::open(folder.path()).unwrap();
        let look = |now| {
            let traced = TracingFs::new(&disk);
            assert!(!traced.exists(&path("none")).unwrap() && !traced.exists(&path("nothing")).unwrap());
            traced.into_settled(now, Duration::from_secs(2)).unwrap()
        };
        assert_eq!((look(late()).len(), look(Timestamp::from_unix_micros(0)).len()), (1, 2));
    }

    #[test]
    fn changes_before_the_trace_ends_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskFs::open(folder.path()).unwrap();
        let traced = TracingFs::new(&disk);
        assert!(!traced.exists(&path("none")).unwrap());
        std::fs::write(folder.path().join("none"), "").unwrap();
        assert!(!settled(traced).holds());
    }
}
