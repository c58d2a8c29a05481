//! Walking a directory without what .gitignore names.

use std::path::Path;

use brigade_access::builtin::PathUse;
use brigade_fs::{FileKind, Folder, FsErrorKind, RelPath};
use brigade_git::{Gitignore, gitignore};
use serde::Serialize;

use super::place::root;
use super::{ByteBudget, MAX_DEPTH};
use crate::context::{Context, Failure};

/// The largest .gitignore that is read.
const MAX_GITIGNORE_BYTES: u64 = 1 << 20;

/// What a walk could not read.
#[derive(Clone, Serialize)]
pub(super) struct UnreadPath {
    path: String,
    reason: String,
}

impl UnreadPath {
    pub(super) fn new(path: &str, reason: &FsErrorKind) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: reason.to_string() }
    }

    /// A name that cannot be written in a path of an argument.
    pub(super) fn not_utf8(path: &str) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: "its name is not UTF-8".to_owned() }
    }

    /// A file whose name stays closed.
    pub(super) fn closed(path: &str) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: "its path is protected".to_owned() }
    }

    /// A directory whose files lie too deep.
    fn too_deep(path: &str) -> UnreadPath {
        UnreadPath { path: path.to_owned(), reason: "it lies too deep; search from there".to_owned() }
    }

    /// Returns what a walk could not read, as far as there is room for it.
    pub(super) fn shown(unread: &[UnreadPath], room: &mut ByteBudget) -> Vec<UnreadPath> {
        unread.iter().take(100).take_while(|row| room.take(row)).cloned().collect()
    }
}

/// Walks the files beneath a directory, in order of their paths.
pub(super) struct Walk<'a, 'c> {
    context: &'a Context<'c>,
    /// The .gitignore files of the directories above, from the root down.
    ignored: Vec<Gitignore>,
    /// What could not be read.
    pub(super) unread: Vec<UnreadPath>,
    /// The files that git does not ignore and whose names stay closed.
    pub(super) closed: Vec<RelPath>,
}

/// Gets each file, with the directory that holds it, and may note that it cannot be read.
pub(super) type Visit<'v> =
    dyn FnMut(&mut Vec<UnreadPath>, &Folder, &RelPath) -> Result<WalkControl, Failure> + 'v;

/// Whether a walk goes on.
pub(super) enum WalkControl {
    On,
    End,
}

impl<'a, 'c> Walk<'a, 'c> {
    /// Reads the .gitignore files above a directory.
    pub(super) fn new(context: &'a Context<'c>, start: &RelPath) -> Result<Walk<'a, 'c>, Failure> {
        let mut walk = Walk { context, ignored: Vec::new(), unread: Vec::new(), closed: Vec::new() };
        let mut here = root(context)?;
        for name in start.as_str().split('/').filter(|name| !name.is_empty()) {
            let ignored = walk.gitignore(&here);
            walk.ignored.push(ignored);
            match here.folder(name) {
                Ok(inside) => here = inside,
                // It is a file, or gone, which is said when it is opened.
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

    /// Tells the closed files that are wanted among what could not be read.
    pub(super) fn note_closed(&mut self, is_wanted: impl Fn(&RelPath) -> bool) {
        let closed = std::mem::take(&mut self.closed);
        let told = closed.iter().filter(|path| is_wanted(path)).map(|path| UnreadPath::closed(path.as_str()));
        self.unread.extend(told);
    }

    /// Calls `visit` with each file beneath a directory: neither ignored nor closed, and no link.
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
                if kind == FileKind::File && !self.context.guards.is_closed(path.as_str()) {
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
