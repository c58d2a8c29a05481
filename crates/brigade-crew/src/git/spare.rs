//! Worktrees of tasks that are done, for tasks to come. Making every file anew is most of what a small task costs.
//!
//! A worktree is taken over only if it is then what a new one would be: the content of each file is compared with the
//! commit, what the commit has not is removed, and whatever git does not compare (links between files, special files,
//! repositories in folders, files that attributes convert) makes it be thrown away.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use brigade_fs::{DiskFs, FileKind, Fs as _, FsError, RelPath};
use brigade_kitchen::PrdName;

use super::GitPlace;
use super::repository::unsafe_name;
use super::task_dir::{TaskDir, below, remove_any};
use crate::workplace::{CommitId, PlaceError};

/// What the names of spare worktrees begin with. No task has such an id.
pub(crate) const SPARE: &str = "+spare-";

/// The most spare worktrees of a PRD.
const MOST_SPARES: usize = 4;

/// Settings under which git does not compare all that a file is, and the values that are harmless.
const BLINDING: [(&str, &str); 4] = [
    ("core.autocrlf", "false"),
    ("core.filemode", "true"),
    ("core.ignorecase", "false"),
    ("core.symlinks", "true"),
];

impl GitPlace {
    /// Removes the folders of a task that is done, but for its worktree if that can become one of a later task.
    pub(super) fn finish_task(&self, dir: &TaskDir) -> Result<(), PlaceError> {
        if self.may_share() && self.given(dir)?.is_empty() && self.folders.has_tree(dir)? {
            let taken = self.spares(&dir.tree.parent())?;
            let free = (0..MOST_SPARES).map(|number| format!("{SPARE}{number}"));
            let free = free.filter_map(|name| below(&dir.tree.parent(), &name).ok());
            if let Some(spare) = free.into_iter().find(|spare| !taken.contains(spare)) {
                self.folders.set_not_ready(dir)?;
                self.folders.worktrees.rename(&dir.tree, &spare)?;
            }
        }
        Ok(self.folders.remove(dir)?)
    }

    /// Makes a spare worktree the one of a task, on this commit. False if there is none that would be like a new one;
    /// nothing is left of it then.
    pub(super) fn take_spare(&self, dir: &TaskDir, base: &CommitId) -> Result<bool, PlaceError> {
        let Some(spare) = self.spares(&dir.tree.parent())?.into_iter().next() else { return Ok(false) };
        if !self.may_share() {
            remove_any(&self.folders.worktrees, &spare)?;
            return Ok(false);
        }
        self.folders.worktrees.rename(&spare, &dir.tree)?;
        if self.is_renewed(dir, base)? {
            return Ok(true);
        }
        remove_any(&self.folders.worktrees, &dir.tree)?;
        self.forget(dir, "index")?;
        Ok(false)
    }

    /// Removes the spare worktrees of a PRD.
    pub(super) fn drop_spares(&self, prd: &PrdName) -> Result<(), PlaceError> {
        let folder = prd.as_str().parse().map_err(|_| unsafe_name(prd.as_str()))?;
        for spare in self.spares(&folder)? {
            remove_any(&self.folders.worktrees, &spare)?;
        }
        Ok(())
    }

    pub(super) fn spares(&self, folder: &RelPath) -> Result<Vec<RelPath>, FsError> {
        let entries = match self.folders.worktrees.list_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let spares = entries.into_iter().filter(|entry| entry.name.starts_with(SPARE));
        Ok(spares.filter_map(|entry| below(folder, &entry.name).ok()).collect())
    }

    /// Tells whether git compares all that a file is.
    fn may_share(&self) -> bool {
        BLINDING.iter().all(|(name, harmless)| {
            self.repository.settings.text(name).is_none_or(|value| value.eq_ignore_ascii_case(harmless))
        })
    }

    /// Makes a worktree what a new one would be. False if that cannot be said of it.
    fn is_renewed(&self, dir: &TaskDir, base: &CommitId) -> Result<bool, PlaceError> {
        if !self.folders.has_tree(dir)? {
            return Ok(false);
        }
        let tree = DiskFs::open(&dir.tree_path)?;
        let own: RelPath = ".git".parse().map_err(|_| unsafe_name(".git"))?;
        remove_any(&tree, &own)?;
        if !is_plain(&tree, &RelPath::root())? {
            return Ok(false);
        }
        let sight = self.folders.sight(&self.repository, dir)?;
        let git = &self.repository.git;
        // An index that knows no times, so that the bytes of each file are read.
        git.order("read-tree").seeing(&sight).word(base.as_str()).run()?;
        git.order("update-index").seeing(&sight).words(["-q", "--refresh"]).ask()?;
        let differing = || {
            let order = git.order("ls-files").seeing(&sight);
            order.words(["-z", "-t", "--modified", "--deleted", "--others", "--directory"]).run()
        };
        let found = differing()?;
        if found.stdout.is_empty() {
            return Ok(true);
        }
        for part in found.parts() {
            let Some(path) = part.strip_prefix(b"? ") else { continue };
            let path = std::str::from_utf8(path).ok().map(|path| path.trim_end_matches('/'));
            let Some(path) = path.and_then(|path| path.parse::<RelPath>().ok()) else { return Ok(false) };
            if path.is_root() {
                return Ok(false);
            }
            remove_any(&tree, &path)?;
        }
        git.order("checkout-index").seeing(&sight).words(["-f", "-u", "-a", "-q"]).ask()?;
        Ok(differing()?.stdout.is_empty())
    }
}

/// Tells whether a worktree holds only directories, links and files with one name each, which no attribute converts,
/// and no repository.
fn is_plain(tree: &DiskFs, folder: &RelPath) -> Result<bool, FsError> {
    const TELLING: [&str; 3] = [".git", ".gitattributes", ".gitmodules"];
    if !tree.unreadable_names(folder)?.is_empty() {
        return Ok(false);
    }
    for entry in tree.list_dir(folder)? {
        let Ok(path) = below(folder, &entry.name) else { return Ok(false) };
        let is_telling = TELLING.iter().any(|name| entry.name.eq_ignore_ascii_case(name));
        let is_sound = match entry.kind {
            FileKind::Directory => {
                has_plain_mode(&tree.root().join(path.as_path()), false) && is_plain(tree, &path)?
            }
            FileKind::File => has_plain_mode(&tree.root().join(path.as_path()), true),
            FileKind::Link => true,
            FileKind::Other => false,
        };
        if is_telling || !is_sound {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Tells whether a file has no other name, and a file or directory is its owner's and has no special bits.
fn has_plain_mode(path: &Path, is_file: bool) -> bool {
    let Ok(stat) = rustix::fs::lstat(path.as_os_str().as_bytes()) else { return false };
    let wanted = if is_file { 0o600 } else { 0o700 };
    let is_single = !is_file || stat.st_nlink == 1;
    is_single && stat.st_mode & 0o7000 == 0 && stat.st_mode & wanted == wanted
}
