//! Reuses worktrees of finished tasks for later tasks. Creating all files is most of the cost of a small task.
//!
//! A worktree is reused only if it can be made identical to a new one. The content of each file is compared with the
//! commit, modes and times are reset, and all other files are removed. A worktree with anything that git does not
//! compare is discarded: hard links, special files, nested repositories, files that attributes convert.

use std::path::Path;

use brigade_fs::{DiskFs, FileKind, Fs as _, FsError, OrAbsent, RelPath};
use brigade_git::GitDirectories;
use brigade_kitchen::PrdName;
use rustix::fs::{AtFlags, CWD, Mode, Timespec, Timestamps};

use super::GitPlace;
use super::repository::unsafe_name;
use super::task_dir::{REVIEW, TaskDir, child_path, remove_any};
use crate::workplace::{CommitId, PlaceError};

/// The prefix of spare worktrees. It cannot occur in a task id.
pub(crate) const SPARE: &str = "+spare-";

/// The prefix of worktrees that could not be removed.
const STUCK: &str = "+stuck-";

/// The maximum number of spare worktrees per PRD.
const MAX_SPARES: usize = 4;

/// The maximum number of such worktrees.
const MAX_STUCK: usize = 100;

/// Files that define conversions or submodules.
const ATTRIBUTE_FILES: [&[u8]; 2] = [b".gitattributes", b".gitmodules"];

/// Extended attributes that the system sets on new files.
const GIVEN_BY_SYSTEM: [&[u8]; 2] = [b"security.selinux", b"com.apple.provenance"];

/// Settings that keep git from comparing files completely, with their harmless values.
const COMPARE_SETTINGS: [(&str, &str); 4] = [
    ("core.autocrlf", "false"),
    ("core.filemode", "true"),
    ("core.ignorecase", "false"),
    ("core.symlinks", "true"),
];

impl GitPlace {
    /// Removes the folders of a finished task. Its worktree is kept as a spare if possible.
    pub(super) fn finish_task(&self, dir: &TaskDir) -> Result<(), PlaceError> {
        if self.may_share() && self.given(dir)?.is_empty() && self.folders.has_tree(dir)? {
            let taken = self.spares(&dir.tree.parent())?;
            let free = (0..MAX_SPARES).map(|number| format!("{SPARE}{number}"));
            let free = free.filter_map(|name| child_path(&dir.tree.parent(), &name).ok());
            if let Some(spare) = free.into_iter().find(|spare| !taken.contains(spare)) {
                self.folders.set_not_ready(dir)?;
                self.folders.worktrees.rename(&dir.tree, &spare)?;
            }
        }
        Ok(self.folders.remove(dir)?)
    }

    /// Moves a spare worktree to a task, at this commit. Returns false if no spare can be made like a new worktree.
    /// Then the task's path does not exist.
    pub(super) fn take_spare(&self, dir: &TaskDir, base: &CommitId) -> Result<bool, PlaceError> {
        let Some(spare) = self.spares(&dir.tree.parent())?.into_iter().next() else { return Ok(false) };
        let is_renewed = self.may_share()
            && self.is_renewed(dir, &spare, base).unwrap_or_else(|error| {
                tracing::warn!(%error, %spare, "a worktree cannot be made what a new one is");
                false
            });
        if is_renewed {
            self.folders.worktrees.rename(&spare, &dir.tree)?;
            return Ok(true);
        }
        self.forget(dir, "index")?;
        self.discard(&spare)?;
        Ok(false)
    }

    /// Removes a spare worktree. If that fails, renames it so that it is not used again.
    fn discard(&self, spare: &RelPath) -> Result<(), PlaceError> {
        let Err(error) = remove_any(&self.folders.worktrees, spare) else { return Ok(()) };
        tracing::warn!(%error, "a worktree of a task that is done cannot be removed");
        for number in 0..MAX_STUCK {
            let aside = child_path(&spare.parent(), &format!("{STUCK}{number}"))?;
            if !self.folders.worktrees.exists(&aside)? {
                return Ok(self.folders.worktrees.rename(spare, &aside)?);
            }
        }
        Err(error.into())
    }

    /// Removes the spare worktrees of a PRD, and what a killed reviewer left. Those that cannot be removed are kept.
    pub(super) fn drop_spares(&self, prd: &PrdName) -> Result<(), PlaceError> {
        let folder = prd.as_str().parse().map_err(|_| unsafe_name(prd.as_str()))?;
        for stuck in self.named(&folder, STUCK)? {
            if let Err(error) = remove_any(&self.folders.worktrees, &stuck) {
                tracing::warn!(%error, "a worktree of a task that is done cannot be removed");
            }
        }
        for spare in self.named(&folder, SPARE)?.into_iter().chain(self.named(&folder, REVIEW)?) {
            self.discard(&spare)?;
        }
        Ok(())
    }

    pub(super) fn spares(&self, folder: &RelPath) -> Result<Vec<RelPath>, FsError> {
        self.named(folder, SPARE)
    }

    fn named(&self, folder: &RelPath, start: &str) -> Result<Vec<RelPath>, FsError> {
        let Some(entries) = self.folders.worktrees.list_dir(folder).or_absent()? else {
            return Ok(Vec::new());
        };
        let named = entries.into_iter().filter(|entry| entry.name.starts_with(start));
        Ok(named.filter_map(|entry| child_path(folder, &entry.name).ok()).collect())
    }

    /// Returns whether git compares files completely.
    fn may_share(&self) -> bool {
        COMPARE_SETTINGS.iter().all(|(name, harmless)| {
            self.repository.settings.text(name).is_none_or(|value| value.eq_ignore_ascii_case(harmless))
        })
    }

    /// Makes a spare worktree like a new one at this commit. Returns false if that is not certain.
    fn is_renewed(&self, dir: &TaskDir, spare: &RelPath, base: &CommitId) -> Result<bool, PlaceError> {
        let root = self.folders.worktrees.root().join(spare.as_path());
        if self.folders.worktrees.link_metadata(spare)?.kind != FileKind::Directory {
            return Ok(false);
        }
        self.folders.worktrees.set_mode(spare, Mode::RWXU.as_raw_mode())?;
        let tree = DiskFs::open(&root)?;
        let own = RelPath::from_static(".git");
        remove_any(&tree, &own)?;
        let git_dirs =
            GitDirectories { work_tree: Some(root), ..self.folders.git_dirs(&self.repository, dir)? };
        let git = &self.repository.git;
        // An index without times makes git read every file.
        git.order("read-tree").in_dirs(&git_dirs).word(base.as_str()).run()?;
        let index = self.folders.kitchen.link_metadata(&child_path(&dir.ours, "index")?)?;
        if !is_plain(&tree, &RelPath::root(), &NewFileMetadata::from_mode(index.mode))? {
            return Ok(false);
        }
        git.order("update-index").in_dirs(&git_dirs).words(["-q", "--refresh"]).ask()?;
        let look = || {
            let order = git.order("ls-files").in_dirs(&git_dirs);
            order.words(["-z", "-t", "--stage", "--modified", "--deleted", "--others", "--directory"]).run()
        };
        let found = look()?;
        if found.parts().any(is_attributes_or_submodule) {
            return Ok(false);
        }
        if !found.parts().any(differs) {
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
        git.order("checkout-index").in_dirs(&git_dirs).words(["-f", "-u", "-a", "-q"]).ask()?;
        Ok(!look()?.parts().any(differs))
    }
}

/// Returns whether an entry that git lists is not a plain file of the index.
fn differs(entry: &[u8]) -> bool {
    !entry.starts_with(b"H ")
}

/// Returns whether a file of the index defines conversions, or is a submodule.
fn is_attributes_or_submodule(entry: &[u8]) -> bool {
    let Some(entry) = entry.strip_prefix(b"H ") else { return false };
    let path = entry.splitn(2, |byte| *byte == b'\t').nth(1).unwrap_or_default();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    entry.starts_with(b"160000 ") || ATTRIBUTE_FILES.iter().any(|file| name.eq_ignore_ascii_case(file))
}

/// The mode and times of a new file or directory.
struct NewFileMetadata {
    file: Mode,
    executable: Mode,
    times: Timestamps,
}

impl NewFileMetadata {
    /// Takes the mode from a file that git just created. The times are slightly in the past, so that git notices later
    /// changes.
    fn from_mode(mode: u32) -> NewFileMetadata {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let then = Timespec { tv_sec: now.tv_sec - 2, tv_nsec: 0 };
        let file = mode & 0o666;
        NewFileMetadata {
            file: Mode::from_raw_mode(file),
            executable: Mode::from_raw_mode(file | ((file & 0o444) >> 2)),
            times: Timestamps { last_access: then, last_modification: then },
        }
    }
}

/// Resets modes and times of files and directories. Returns false for anything that git would not create or compare: a
/// hard link, a special file, extended attributes, a nested repository.
fn is_plain(tree: &DiskFs, folder: &RelPath, fresh: &NewFileMetadata) -> Result<bool, FsError> {
    if !tree.unreadable_names(folder)?.is_empty() {
        return Ok(false);
    }
    for entry in tree.list_dir(folder)? {
        let Ok(path) = child_path(folder, &entry.name) else { return Ok(false) };
        let has_name = |name: &&[u8]| entry.name.as_bytes().eq_ignore_ascii_case(name);
        let is_attribute_file =
            entry.name.eq_ignore_ascii_case(".git") || ATTRIBUTE_FILES.iter().any(has_name);
        let place = tree.root().join(path.as_path());
        let is_sound = !is_attribute_file
            && match entry.kind {
                FileKind::Directory => is_made_fresh(&place, fresh, false) && is_plain(tree, &path, fresh)?,
                FileKind::File => is_made_fresh(&place, fresh, true),
                FileKind::Link => true,
                FileKind::Other => false,
            };
        if !is_sound {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Resets the mode and times of a file or directory. Returns false if it has hard links or extended attributes, or an
/// operation fails.
fn is_made_fresh(path: &Path, fresh: &NewFileMetadata, is_file: bool) -> bool {
    let Ok(stat) = rustix::fs::lstat(path) else { return false };
    if (is_file && stat.st_nlink != 1) || has_attributes(path) {
        return false;
    }
    let is_executable = !is_file || stat.st_mode & 0o100 != 0;
    let expected = if is_executable { fresh.executable } else { fresh.file };
    let is_set = stat.st_mode & 0o7777 == expected.as_raw_mode() || rustix::fs::chmod(path, expected).is_ok();
    is_set && (!is_file || rustix::fs::utimensat(CWD, path, &fresh.times, AtFlags::SYMLINK_NOFOLLOW).is_ok())
}

/// Returns whether a file has extended attributes that were set on purpose: access lists, capabilities, notes.
fn has_attributes(path: &Path) -> bool {
    let mut names = vec![0u8; 4 << 10];
    match rustix::fs::llistxattr(path, &mut names[..]) {
        Ok(length) => {
            let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
            names.into_iter().any(|name| !GIVEN_BY_SYSTEM.contains(&name))
        }
        Err(rustix::io::Errno::NOTSUP) => false,
        Err(_) => true,
    }
}
