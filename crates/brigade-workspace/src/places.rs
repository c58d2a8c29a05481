//! Resolves the targets of projections through links.

use std::collections::HashMap;
use std::sync::RwLock;

use brigade_fs::{DirEntry, FileKind, Fs, FsErrorKind, Location, RelPath};
use brigade_projection::{PathRefusal, TargetFacts, relative_path};

use crate::files::target_facts;

/// The entry at a path, after links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedPath {
    /// Nothing; this is where a new file would be.
    Absent(RelPath),
    /// Something, here.
    There(RelPath, FileKind),
    /// The path may not be used.
    Refused(PathRefusal),
    /// An entry that cannot be inspected.
    Unreadable,
}

/// Resolves targets, and caches their directories, because thousands of targets share a few.
pub struct Places<'w> {
    fs: &'w dyn Fs,
    root: String,
    folders: RwLock<HashMap<RelPath, ResolvedPath>>,
    /// The entries of directories that were listed as a whole, which is cheaper than checking each name.
    listed: RwLock<HashMap<RelPath, HashMap<String, FileKind>>>,
    moved: RwLock<HashMap<String, RelPath>>,
}

/// No lock in this file is poisoned.
const UNBROKEN: &str = "no thread panics while it holds this";

impl<'w> Places<'w> {
    /// Creates an empty cache; `root` is the absolute path of the workspace.
    pub fn new(fs: &'w dyn Fs, root: String) -> Places<'w> {
        Places { fs, root, folders: RwLock::default(), listed: RwLock::default(), moved: RwLock::default() }
    }

    /// Returns the absolute path of the workspace.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Inspects the target of a projection. Links may lead anywhere in the workspace except into `.git` and `.brigade`.
    pub fn look(&self, path: &str) -> TargetFacts {
        let Ok(parsed) = path.parse::<RelPath>() else {
            return TargetFacts::Refused(PathRefusal::OutsideWorkspace);
        };
        let (real, kind) = match self.spot(&parsed) {
            ResolvedPath::Absent(real) => (real, None),
            ResolvedPath::There(real, kind) => (real, Some(kind)),
            ResolvedPath::Refused(refusal) => return TargetFacts::Refused(refusal),
            ResolvedPath::Unreadable => return TargetFacts::Unreadable,
        };
        if real != parsed {
            if let Err(refusal) = relative_path(&self.root, real.as_str()) {
                return TargetFacts::Refused(refusal);
            }
            self.moved.write().expect(UNBROKEN).insert(path.to_owned(), real.clone());
        }
        match kind {
            None => TargetFacts::Absent,
            Some(FileKind::File) => target_facts(self.fs, real.as_str()),
            Some(FileKind::Directory) => TargetFacts::Directory,
            Some(FileKind::Link | FileKind::Other) => TargetFacts::Unreadable,
        }
    }

    /// Returns the real file of an inspected target, if links lead to another path.
    pub fn moved(&self, path: &str) -> Option<RelPath> {
        self.moved.read().expect(UNBROKEN).get(path).cloned()
    }

    /// Returns whether a path is a directory without links on the way.
    pub fn is_plain_folder(&self, folder: &RelPath) -> bool {
        matches!(self.folder(folder), ResolvedPath::There(real, FileKind::Directory) if real == *folder)
    }

    /// Follows the links of a path.
    pub fn spot(&self, path: &RelPath) -> ResolvedPath {
        if path.is_root() {
            return ResolvedPath::There(RelPath::root(), FileKind::Directory);
        }
        let join = |folder: &RelPath| folder.join(path.name()).expect("a name without slashes is a path");
        let current = match self.folder(&path.parent()) {
            ResolvedPath::There(folder, FileKind::Directory) => join(&folder),
            ResolvedPath::There(_, _) => return ResolvedPath::Refused(PathRefusal::ParentIsFile),
            ResolvedPath::Absent(folder) => return ResolvedPath::Absent(join(&folder)),
            other => return other,
        };
        match self.listed_kind(&current) {
            Some(FileKind::Link) => return self.follow(&current),
            Some(kind) => return ResolvedPath::There(current, kind),
            // Not listed, or the disk ignores case and lists it in other letters.
            None => {}
        }
        match self.fs.link_metadata(&current) {
            Ok(metadata) if metadata.kind == FileKind::Link => self.follow(&current),
            Ok(metadata) => ResolvedPath::There(current, metadata.kind),
            Err(error) => match error.kind {
                FsErrorKind::NotFound => ResolvedPath::Absent(current),
                FsErrorKind::NotADirectory => ResolvedPath::Refused(PathRefusal::ParentIsFile),
                FsErrorKind::Outside => ResolvedPath::Refused(PathRefusal::SymlinkOut),
                _ => ResolvedPath::Unreadable,
            },
        }
    }

    fn folder(&self, path: &RelPath) -> ResolvedPath {
        if let Some(spot) = self.folders.read().expect(UNBROKEN).get(path) {
            return spot.clone();
        }
        let spot = self.spot(path);
        self.folders.write().expect(UNBROKEN).insert(path.clone(), spot.clone());
        spot
    }

    /// Caches the entries of a directory without links on the way.
    pub fn remember(&self, folder: RelPath, entries: impl IntoIterator<Item = DirEntry>) {
        let entries = entries.into_iter().map(|entry| (entry.name, entry.kind)).collect();
        self.listed.write().expect(UNBROKEN).insert(folder, entries);
    }

    /// Returns the kind of an entry, if its directory was listed.
    fn listed_kind(&self, path: &RelPath) -> Option<FileKind> {
        self.listed.read().expect(UNBROKEN).get(&path.parent())?.get(path.name()).copied()
    }

    fn follow(&self, link: &RelPath) -> ResolvedPath {
        let inside = match self.fs.resolve(link.as_str(), None) {
            Ok(Location::Inside(path)) => path,
            Ok(Location::Outside(_)) => return ResolvedPath::Refused(PathRefusal::SymlinkOut),
            Err(_) => return ResolvedPath::Unreadable,
        };
        match self.fs.metadata(&inside) {
            Ok(metadata) => ResolvedPath::There(inside, metadata.kind),
            Err(error) if error.is_not_found() => ResolvedPath::Absent(inside),
            Err(_) => ResolvedPath::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests;
