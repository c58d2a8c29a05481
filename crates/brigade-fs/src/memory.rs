//! A disk in memory that tracks what would survive a power loss.
//!
//! A file has the content that programs see and the content that is on disk. A directory has the names that programs
//! see and the changes that are not on disk yet. [`MemoryFs::after_crash`] computes from these what a restarted machine
//! would find.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade_core::Timestamp;

use crate::disk::{by_words, expand};
use crate::{
    DirEntry, FileId, FileKind, Fs, FsError, FsErrorKind, Location, Lock, Metadata, ReadFile, RelPath,
    WriteFile,
};

/// A root in memory, without links, permissions or files outside. Clones share their files.
#[derive(Clone, Debug)]
pub struct MemoryFs {
    shared: Arc<SharedState>,
}

#[derive(Debug, Default)]
struct SharedState {
    state: Mutex<State>,
    locks: Mutex<HashMap<RelPath, String>>,
    released: Condvar,
}

#[derive(Clone, Debug, Default)]
struct State {
    nodes: BTreeMap<u64, Node>,
    /// The names that programs see.
    names: BTreeMap<RelPath, u64>,
    /// The names on disk.
    durable: BTreeMap<RelPath, u64>,
    /// Changes of names that are not on disk yet, in order.
    pending: Vec<NameChange>,
    next: u64,
    /// Counts changes; also serves as the time of each change.
    tick: i64,
}

#[derive(Clone, Debug)]
enum Node {
    Directory { modified: i64 },
    File { content: Vec<u8>, durable: Vec<u8>, mode: u32, modified: i64 },
}

/// Names that change together. A rename removes one name and sets another.
#[derive(Clone, Debug)]
struct NameChange {
    folder: RelPath,
    removed: Option<RelPath>,
    set: Option<(RelPath, u64)>,
}

impl Default for MemoryFs {
    fn default() -> MemoryFs {
        MemoryFs::new()
    }
}

impl MemoryFs {
    /// Creates an empty root.
    pub fn new() -> MemoryFs {
        MemoryFs { shared: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a new root with what survives a power loss. `choose` is called once for each change that was not synced.
    /// It receives the number of outcomes and returns the index of one. For a change of names: 0 is lost, 1 is kept.
    /// For a file that grew: how many of the new bytes survive. For any other change of a file: 0 is the old content, 1
    /// the new.
    pub fn after_crash(&self, mut choose: impl FnMut(usize) -> usize) -> MemoryFs {
        let state = self.state();
        let mut after = State { next: state.next, tick: state.tick, ..State::default() };
        after.names.clone_from(&state.durable);
        for change in &state.pending {
            if choose(2) == 0 {
                continue;
            }
            if let Some(removed) = &change.removed {
                after.names.remove(removed);
            }
            if let Some((name, node)) = &change.set {
                after.names.insert(name.clone(), *node);
            }
        }
        // A name in a lost directory is lost too.
        let names: Vec<RelPath> = after.names.keys().cloned().collect();
        for name in names {
            if !after.has_directory(&name.parent()) {
                after.names.remove(&name);
            }
        }
        for node in after.names.values() {
            let found = match &state.nodes[node] {
                Node::Directory { modified } => Node::Directory { modified: *modified },
                Node::File { content, durable, mode, modified } => {
                    let kept = match content.strip_prefix(durable.as_slice()) {
                        Some([]) => content.clone(),
                        Some(grown) => {
                            let count = choose(grown.len() + 1).min(grown.len());
                            content[..durable.len() + count].to_vec()
                        }
                        None if choose(2) == 0 => durable.clone(),
                        None => content.clone(),
                    };
                    Node::File { content: kept.clone(), durable: kept, mode: *mode, modified: *modified }
                }
            };
            after.nodes.insert(*node, found);
        }
        after.durable.clone_from(&after.names);
        let shared = SharedState { state: Mutex::new(after), ..SharedState::default() };
        MemoryFs { shared: Arc::new(shared) }
    }

    /// Returns all files that programs see, with their contents, sorted by path.
    pub fn files(&self) -> Vec<(RelPath, Vec<u8>)> {
        let state = self.state();
        let content = |node: &u64| match &state.nodes[node] {
            Node::File { content, .. } => Some(content.clone()),
            Node::Directory { .. } => None,
        };
        state.names.iter().filter_map(|(name, node)| Some((name.clone(), content(node)?))).collect()
    }
}

impl State {
    fn has_directory(&self, path: &RelPath) -> bool {
        path.is_root()
            || self.names.get(path).is_some_and(|node| {
                // `after_crash` restores names before nodes. Until then every name counts as a directory.
                !matches!(self.nodes.get(node), Some(Node::File { .. })) && self.has_directory(&path.parent())
            })
    }

    fn find(&self, operation: &'static str, path: &RelPath) -> Result<(u64, &Node), FsError> {
        let fail = |kind| FsError::new(operation, path.as_str(), kind);
        if let Some(node) = self.names.get(path) {
            return Ok((*node, &self.nodes[node]));
        }
        self.require_directory(operation, path)?;
        Err(fail(FsErrorKind::NotFound))
    }

    /// Checks that the parent directory of a path exists.
    fn require_directory(&self, operation: &'static str, path: &RelPath) -> Result<(), FsError> {
        let mut folder = path.parent();
        let fail = |kind| Err(FsError::new(operation, path.as_str(), kind));
        while !folder.is_root() {
            match self.names.get(&folder).map(|node| &self.nodes[node]) {
                Some(Node::Directory { .. }) => return Ok(()),
                Some(Node::File { .. }) => return fail(FsErrorKind::NotADirectory),
                None if self.has_directory(&folder.parent()) => return fail(FsErrorKind::NotFound),
                None => folder = folder.parent(),
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> i64 {
        self.tick += 1;
        self.tick
    }

    fn add(&mut self, path: &RelPath, node: Node) -> u64 {
        self.next += 1;
        self.nodes.insert(self.next, node);
        self.names.insert(path.clone(), self.next);
        let set = Some((path.clone(), self.next));
        self.pending.push(NameChange { folder: path.parent(), removed: None, set });
        self.next
    }
}

impl Fs for MemoryFs {
    fn root(&self) -> &Path {
        Path::new("/memory")
    }

    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        let resolved: PathBuf = by_words(&self.root().join(expand(path, home)));
        Ok(match resolved.strip_prefix(self.root()).ok().and_then(|inside| RelPath::try_from(inside).ok()) {
            Some(inside) => Location::Inside(inside),
            None => Location::Outside(resolved),
        })
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        let state = self.state();
        match state.find("read", path)? {
            (node, Node::File { .. }) => {
                Ok(Box::new(MemoryFile { fs: self.clone(), node, path: path.to_string() }))
            }
            (_, Node::Directory { .. }) => Err(FsError::new("read", path.as_str(), FsErrorKind::NotAFile)),
        }
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        match self.resolve(&path.to_string_lossy(), None)? {
            Location::Inside(inside) => self.open(&inside),
            Location::Outside(path) => {
                Err(FsError::new("read", path.to_string_lossy(), FsErrorKind::NotFound))
            }
        }
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        let mut state = self.state();
        match state.find("create", path) {
            Ok(_) => return Err(FsError::new("create", path.as_str(), FsErrorKind::Exists)),
            Err(error) if error.is_not_found() => state.require_directory("create", path)?,
            Err(error) => return Err(error),
        }
        let modified = state.tick();
        let node = state.add(path, Node::File { content: Vec::new(), durable: Vec::new(), mode, modified });
        Ok(Box::new(MemoryFile { fs: self.clone(), node, path: path.to_string() }))
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        let state = self.state();
        match state.find("write", path)? {
            (node, Node::File { .. }) => {
                Ok(Box::new(MemoryFile { fs: self.clone(), node, path: path.to_string() }))
            }
            (_, Node::Directory { .. }) => Err(FsError::new("write", path.as_str(), FsErrorKind::NotAFile)),
        }
    }

    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        let mut state = self.state();
        match state.find("create", path) {
            Ok(_) => return Err(FsError::new("create", path.as_str(), FsErrorKind::Exists)),
            Err(error) if error.is_not_found() => state.require_directory("create", path)?,
            Err(error) => return Err(error),
        }
        let modified = state.tick();
        state.add(path, Node::Directory { modified });
        Ok(())
    }

    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        let mut state = self.state();
        if !path.is_root() {
            state.find("sync", path)?;
        }
        let (synced, pending): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.pending).into_iter().partition(|change| change.folder == *path);
        state.pending = pending;
        for change in synced {
            if let Some(removed) = &change.removed {
                state.durable.remove(removed);
            }
            if let Some((name, node)) = change.set {
                state.durable.insert(name, node);
            }
        }
        Ok(())
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        let mut state = self.state();
        let (node, _) = state.find("rename", from)?;
        state.require_directory("rename", to)?;
        if let Some(Node::Directory { .. }) = state.names.get(to).map(|node| &state.nodes[node]) {
            return Err(FsError::new("rename", to.as_str(), FsErrorKind::NotAFile));
        }
        let moved: Vec<(RelPath, u64)> = state
            .names
            .iter()
            .filter(|(name, _)| name.is_in(from) && *name != from)
            .map(|(name, node)| (name.clone(), *node))
            .collect();
        state.names.remove(from);
        state.names.insert(to.clone(), node);
        let change =
            NameChange { folder: to.parent(), removed: Some(from.clone()), set: Some((to.clone(), node)) };
        state.pending.push(change);
        for (name, node) in moved {
            let rest = name.as_str()[from.as_str().len()..].trim_start_matches('/');
            let renamed = to.join(rest).expect("a path beneath a path is one");
            state.names.remove(&name);
            state.names.insert(renamed.clone(), node);
            let change = NameChange { folder: to.parent(), removed: Some(name), set: Some((renamed, node)) };
            state.pending.push(change);
        }
        Ok(())
    }

    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        let mut state = self.state();
        if let (_, Node::Directory { .. }) = state.find("remove", path)? {
            return Err(FsError::new("remove", path.as_str(), FsErrorKind::NotAFile));
        }
        state.names.remove(path);
        state.pending.push(NameChange { folder: path.parent(), removed: Some(path.clone()), set: None });
        Ok(())
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        let state = self.state();
        if !path.is_root()
            && let (_, Node::File { .. }) = state.find("list", path)?
        {
            return Err(FsError::new("list", path.as_str(), FsErrorKind::NotADirectory));
        }
        let kind = |node: &u64| match &state.nodes[node] {
            Node::Directory { .. } => FileKind::Directory,
            Node::File { .. } => FileKind::File,
        };
        let inside = state.names.iter().filter(|(name, _)| name.parent() == *path && !name.is_root());
        Ok(inside.map(|(name, node)| DirEntry { name: name.name().to_owned(), kind: kind(node) }).collect())
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        let state = self.state();
        let of_folder = |modified| Metadata {
            kind: FileKind::Directory,
            len: 0,
            modified: Timestamp::from_unix_micros(modified),
            mode: 0o700,
            uid: None,
            id: None,
        };
        if path.is_root() {
            return Ok(of_folder(0));
        }
        Ok(match state.find("read", path)?.1 {
            Node::Directory { modified } => of_folder(*modified),
            Node::File { content, mode, modified, .. } => Metadata {
                kind: FileKind::File,
                len: content.len() as u64,
                modified: Timestamp::from_unix_micros(*modified),
                mode: *mode,
                uid: None,
                id: None,
            },
        })
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.metadata(path)
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        match self.resolve(&path.to_string_lossy(), None)? {
            Location::Inside(inside) => self.metadata(&inside),
            Location::Outside(path) => {
                Err(FsError::new("read", path.to_string_lossy(), FsErrorKind::NotFound))
            }
        }
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        let mut state = self.state();
        if let (_, Node::File { .. }) = state.find("remove", path)? {
            return Err(FsError::new("remove", path.as_str(), FsErrorKind::NotADirectory));
        }
        if state.names.keys().any(|name| name.parent() == *path) {
            let text = "the directory is not empty".to_owned();
            let kind = FsErrorKind::Other { kind: std::io::ErrorKind::DirectoryNotEmpty, text };
            return Err(FsError::new("remove", path.as_str(), kind));
        }
        state.names.remove(path);
        state.pending.push(NameChange { folder: path.parent(), removed: Some(path.clone()), set: None });
        Ok(())
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        let mut state = self.state();
        state.pending.clear();
        state.durable = state.names.clone();
        for node in state.nodes.values_mut() {
            if let Node::File { content, durable, .. } = node {
                durable.clone_from(content);
            }
        }
        Ok(())
    }

    fn set_mode(&self, path: &RelPath, wanted: u32) -> Result<(), FsError> {
        let mut state = self.state();
        let (node, _) = state.find("change the mode of", path)?;
        if let Some(Node::File { mode, .. }) = state.nodes.get_mut(&node) {
            *mode = wanted;
        }
        Ok(())
    }

    /// Files in memory belong to this process, which recognizes its own by their names.
    fn take_left(&self, path: &RelPath) -> Option<Lock> {
        self.state().find("lock", path).is_ok().then(|| Lock::new(()))
    }

    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        self.state().require_directory("lock", path)?;
        let locks = self.shared.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let free = |locks: &mut HashMap<RelPath, String>| locks.contains_key(path);
        let (mut locks, _) = self
            .shared
            .released
            .wait_timeout_while(locks, timeout, free)
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = locks.get(path) {
            let kind = FsErrorKind::Locked { holder: holder.clone(), waited: timeout };
            return Err(FsError::new("lock", path.as_str(), kind));
        }
        locks.insert(path.clone(), holder.to_owned());
        Ok(Lock::new(MemoryLock { shared: self.shared.clone(), path: path.clone() }))
    }
}

#[derive(Debug)]
struct MemoryLock {
    shared: Arc<SharedState>,
    path: RelPath,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.shared.locks.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
        self.shared.released.notify_all();
    }
}

struct MemoryFile {
    fs: MemoryFs,
    node: u64,
    path: String,
}

impl MemoryFile {
    fn with<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        match &self.fs.state().nodes[&self.node] {
            Node::File { content, .. } => read(content),
            Node::Directory { .. } => read(&[]),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) {
        let mut state = self.fs.state();
        let now = state.tick();
        if let Some(Node::File { content, durable, modified, .. }) = state.nodes.get_mut(&self.node) {
            *modified = now;
            change(content, durable);
        }
    }
}

impl ReadFile for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FsError> {
        Ok(self.with(|content| {
            let rest = usize::try_from(offset).ok().and_then(|start| content.get(start..)).unwrap_or(&[]);
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            count
        }))
    }

    fn len(&self) -> Result<u64, FsError> {
        Ok(self.with(|content| content.len() as u64))
    }

    fn id(&self) -> Result<FileId, FsError> {
        Ok(FileId { device: 0, inode: self.node })
    }
}

impl WriteFile for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        self.change(|content, _| content.extend_from_slice(bytes));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FsError> {
        self.change(|content, durable| durable.clone_from(content));
        Ok(())
    }

    fn length(&self) -> Result<u64, FsError> {
        ReadFile::len(self)
    }

    fn truncate(&mut self, length: u64) -> Result<(), FsError> {
        let length = usize::try_from(length).map_err(|_| {
            let text = "the length is too large for this machine".to_owned();
            let kind = FsErrorKind::Other { kind: std::io::ErrorKind::InvalidInput, text };
            FsError::new("write", &self.path, kind)
        })?;
        self.change(|content, _| content.truncate(length));
        Ok(())
    }
}
