//! Walks a directory without the files that .gitignore excludes.

use std::path::Path;

use brigade_access::builtin::PathUse;
use brigade_core::{AgentFiles, closed_place};
use brigade_fs::{FileKind, Folder, FsErrorKind, RelPath};
use brigade_git::{Gitignore, gitignore};
use serde::Serialize;

use super::place::root;
use super::{ByteBudget, MAX_DEPTH};
use crate::context::{Context, Failure};

/// The maximum size of a .gitignore.
const MAX_GITIGNORE_BYTES: u64 = 1 << 20;

/// A path that a walk could not read.
#[derive(Clone, Serialize)]
pub(super) struct UnreadPath {
    path: String,
    reason: String,
}

impl UnreadPath {
    pub(super) fn new(path: &str, reason: &FsErrorKind) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: reason.to_string() }
    }

    /// A name that cannot be used in an argument.
    pub(super) fn not_utf8(path: &str) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: "its name is not UTF-8".to_owned() }
    }

    /// A file with a protected name.
    pub(super) fn closed(path: &str) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: "its path is protected".to_owned() }
    }

    /// A directory that is nested too deep.
    fn too_deep(path: &str) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: "it is nested too deep; search from there".to_owned() }
    }

    /// Returns the unread paths that fit in the result.
    pub(super) fn shown(unread: &[UnreadPath], budget: &mut ByteBudget) -> Vec<UnreadPath> {
        unread.iter().take(100).take_while(|row| budget.take(row)).cloned().collect()
    }
}

/// Walks the files below a directory, ordered by path.
pub(super) struct FileWalk<'a, 'c> {
    context: &'a Context<'c>,
    /// The .gitignore files of the parent directories, from the root down.
    ignored: Vec<Gitignore>,
    /// Paths that could not be read.
    pub(super) unread: Vec<UnreadPath>,
    /// Protected files that git does not ignore.
    pub(super) closed: Vec<RelPath>,
}

/// Called with each file and its directory. May record that the file cannot be read.
pub(super) type Visit<'v> =
    dyn FnMut(&mut Vec<UnreadPath>, &Folder, &RelPath) -> Result<WalkControl, Failure> + 'v;

/// Whether to continue a walk.
pub(super) enum WalkControl {
    On,
    End,
}

impl<'a, 'c> FileWalk<'a, 'c> {
    /// Reads the .gitignore files of the parent directories.
    pub(super) fn new(context: &'a Context<'c>, start: &RelPath) -> Result<FileWalk<'a, 'c>, Failure> {
        let mut walk = FileWalk { context, ignored: Vec::new(), unread: Vec::new(), closed: Vec::new() };
        let mut folder = root(context)?;
        for name in start.as_str().split('/').filter(|name| !name.is_empty()) {
            let ignored = walk.gitignore(&folder);
            walk.ignored.push(ignored);
            match folder.folder(name) {
                Ok(inside) => folder = inside,
                // It is a file or missing. Opening it reports this.
                Err(_) => break,
            }
        }
        Ok(walk)
    }

    fn gitignore(&mut self, folder: &Folder) -> Gitignore {
        let opened = folder.open(".gitignore").and_then(|mut file| file.rest(MAX_GITIGNORE_BYTES));
        match opened {
            Ok(bytes) => return gitignore(folder.path().as_path(), &bytes),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let path =
                    folder.path().join(".gitignore").map_or_else(|_| String::new(), |path| path.to_string());
                self.unread.push(UnreadPath::new(&path, &error.kind));
            }
        }
        Gitignore::empty()
    }

    fn is_ignored(&self, path: &RelPath, kind: FileKind) -> bool {
        for gitignore in self.ignored.iter().rev() {
            let found = gitignore.matched(Path::new(path.as_str()), kind == FileKind::Directory);
            if !found.is_none() {
                return found.is_ignore();
            }
        }
        false
    }

    /// Adds the wanted protected files to the unread paths.
    pub(super) fn note_closed(&mut self, is_wanted: impl Fn(&RelPath) -> bool) {
        let closed = std::mem::take(&mut self.closed);
        let reported =
            closed.iter().filter(|path| is_wanted(path)).map(|path| UnreadPath::closed(path.as_str()));
        self.unread.extend(reported);
    }

    /// Calls `visit` with each file below a directory. Leaves out links, and ignored and protected files.
    pub(super) fn files(&mut self, folder: &Folder, visit: &mut Visit<'_>) -> Result<WalkControl, Failure> {
        self.context.check_cancelled()?;
        let entries = match folder.entries() {
            Ok(entries) => entries,
            Err(error) => {
                self.unread.push(UnreadPath::new(&folder.path().to_string(), &error.kind));
                return Ok(WalkControl::On);
            }
        };
        let own = self.gitignore(folder);
        self.ignored.push(own);
        let mut go = WalkControl::On;
        for (name, kind) in entries {
            let Some(path) = name.to_str().and_then(|name| folder.path().join(name).ok()) else {
                let path = folder.path().as_path().join(&name);
                self.unread.push(UnreadPath::not_utf8(&path.to_string_lossy()));
                continue;
            };
            let usage = if kind == FileKind::Directory { PathUse::Search } else { PathUse::Read };
            if self.is_ignored(&path, kind) {
                continue;
            }
            if !self.context.guards.allows(path.as_str(), usage) {
                if kind == FileKind::File && closed_place(path.as_str(), AgentFiles::Open).is_none() {
                    self.closed.push(path);
                }
                continue;
            }
            go = match kind {
                FileKind::File => visit(&mut self.unread, folder, &path)?,
                FileKind::Directory if self.ignored.len() < MAX_DEPTH => match folder.folder(path.name()) {
                    Ok(inside) => self.files(&inside, visit)?,
                    Err(error) => {
                        self.unread.push(UnreadPath::new(path.as_str(), &error.kind));
                        WalkControl::On
                    }
                },
                FileKind::Directory => {
                    self.unread.push(UnreadPath::too_deep(path.as_str()));
                    WalkControl::On
                }
                FileKind::Link | FileKind::Other => WalkControl::On,
            };
            if matches!(go, WalkControl::End) {
                break;
            }
        }
        self.ignored.pop();
        Ok(go)
    }
}
