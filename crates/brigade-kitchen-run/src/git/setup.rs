//! Tracks the files that the setup command makes in a worktree. Workers and verification see them, but they are never
//! committed.
//!
//! A file of Brigade says whether the setup succeeded in the worktree, and which files it made. Files that are
//! unchanged since the setup count as unchanged. A file of the setup that a worker changes later counts as work.

use std::collections::BTreeMap;

use brigade_fs::{Fs as _, FsError, OrAbsent};
use brigade_git::GitDirectories;

use super::GitPlace;
use super::attempt::base_of;
use super::task_dir::{TaskDir, child_path, remove_any};
use crate::workplace::{CommitId, Guard, Place, PlaceError};

/// The name of that file. The first entry is [`BEGUN`] or [`DONE`]. NUL ends each entry.
const SETUP: &str = "setup";

/// The setup has not succeeded. The list has the state before it.
const BEGUN: &[u8] = b"begun";

/// The setup succeeded. The list has what it made.
const DONE: &[u8] = b"done";

/// The maximum size of the file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The mode that git prints for a missing file.
const NO_MODE: &str = "000000";

/// A version of a file in git: its mode and the id of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    mode: String,
    id: String,
}

/// The differences of two trees, by path.
type Differences = BTreeMap<Vec<u8>, (Version, Version)>;

/// The changes of a setup: each file before and after it, and nested repositories.
#[derive(Clone, Debug, Default)]
pub(super) struct SetupChanges {
    files: Differences,
    pub(super) nested: Vec<String>,
}

/// The state of a worktree's setup.
enum SetupState {
    /// It must still succeed. This is the state before it.
    Begun(SetupChanges),
    Done(SetupChanges),
}

impl SetupState {
    fn to_bytes(&self) -> Vec<u8> {
        let (word, made) = match self {
            SetupState::Begun(made) => (BEGUN, made),
            SetupState::Done(made) => (DONE, made),
        };
        let mut bytes = [word, b"\0"].concat();
        for path in &made.nested {
            bytes.extend_from_slice(format!("nested\t{path}\0").as_bytes());
        }
        for (path, (before, after)) in &made.files {
            let versions = [&before.mode, &before.id, &after.mode, &after.id].map(String::as_str).join(" ");
            bytes.extend_from_slice(versions.as_bytes());
            bytes.push(b'\t');
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        bytes
    }

    /// Decodes the state; `None` if it is incomplete.
    fn from_bytes(bytes: &[u8]) -> Option<SetupState> {
        let mut entries = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        let word = entries.next()?;
        let mut made = SetupChanges::default();
        for entry in entries {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            let (head, path) = (std::str::from_utf8(&entry[..tab]).ok()?, &entry[tab + 1..]);
            if head == "nested" {
                made.nested.push(String::from_utf8_lossy(path).into_owned());
                continue;
            }
            let [mode, id, new_mode, new_id] = head.split(' ').collect::<Vec<_>>()[..] else { return None };
            made.files.insert(path.to_owned(), (version(mode, id), version(new_mode, new_id)));
        }
        match word {
            BEGUN => Some(SetupState::Begun(made)),
            DONE => Some(SetupState::Done(made)),
            _ => None,
        }
    }
}

fn version(mode: &str, id: &str) -> Version {
    Version { mode: mode.to_owned(), id: id.to_owned() }
}

impl GitPlace {
    fn setup(&self, dir: &TaskDir) -> Result<Option<SetupState>, FsError> {
        let bytes = self.folders.kitchen.read(&child_path(&dir.ours, SETUP)?, MAX_FILE_BYTES).or_absent()?;
        Ok(bytes.and_then(|bytes| SetupState::from_bytes(&bytes)))
    }

    fn keep_setup(&self, dir: &TaskDir, setup: &SetupState) -> Result<(), FsError> {
        // This file must survive a power loss, because only it tells files of the setup from work.
        let path = child_path(&dir.ours, SETUP)?;
        self.folders.kitchen.write_atomic(&path, &setup.to_bytes(), brigade_fs::FileMode::Private)
    }

    /// Keeps the state of the setup while the rest of Brigade's git directory is recreated.
    pub(super) fn keeping_setup(
        &self,
        dir: &TaskDir,
        renew: impl FnOnce() -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        let setup = self.setup(dir)?;
        renew()?;
        setup.map_or(Ok(()), |setup| self.keep_setup(dir, &setup))
    }

    pub(super) fn begin_setup_of(&self, place: &Place) -> Result<bool, PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        match self.setup(&dir)? {
            Some(SetupState::Done(_)) => return Ok(false),
            Some(SetupState::Begun(_)) => return Ok(true),
            None => {}
        }
        // The worktree may have work of earlier attempts without a setup.
        self.take_guard(place)?;
        let before = self.changes_from_base(&dir, &base_of(place)?)?;
        self.keep_setup(&dir, &SetupState::Begun(before))?;
        Ok(true)
    }

    pub(super) fn end_setup_of(&self, place: &Place, guard: &Guard) -> Result<(), PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        let before = match self.setup(&dir)? {
            Some(SetupState::Begun(before)) => before,
            Some(SetupState::Done(_)) | None => return Ok(()),
        };
        self.check_guard(&dir, guard)?;
        let mut made = self.changes_from_base(&dir, &base_of(place)?)?;
        made.files.retain(|path, versions| before.files.get(path) != Some(versions));
        made.nested.retain(|path| !before.nested.contains(path));
        // Ignored files before the first attempt include those of the setup.
        self.forget(&dir, super::ignored::BEFORE)?;
        Ok(self.keep_setup(&dir, &SetupState::Done(made))?)
    }

    /// Returns the differences between a worktree and its base commit, including those of the setup.
    fn changes_from_base(&self, dir: &TaskDir, base: &CommitId) -> Result<SetupChanges, PlaceError> {
        let changes = self.changes(dir, base)?;
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        let files = self.differences(&git_dirs, base.as_str(), &changes.tree)?;
        Ok(SetupChanges { files, nested: changes.nested })
    }

    /// Returns what the setup of this worktree made.
    pub(super) fn made_by_setup(&self, dir: &TaskDir) -> Result<SetupChanges, FsError> {
        Ok(match self.setup(dir)? {
            Some(SetupState::Done(made)) => made,
            Some(SetupState::Begun(_)) | None => SetupChanges::default(),
        })
    }

    /// Lists the files that the setup added, relative to the root of the worktree.
    pub(super) fn new_by_setup(&self, dir: &TaskDir) -> Result<Vec<String>, FsError> {
        let made = self.made_by_setup(dir)?;
        let new = made.files.iter().filter(|(_, (before, _))| before.mode == NO_MODE);
        Ok(new.filter_map(|(path, _)| String::from_utf8(path.clone()).ok()).collect())
    }

    /// Returns a tree of the worktree without the files of the setup.
    pub(super) fn without_setup(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        made: &SetupChanges,
        base: &CommitId,
        tree: CommitId,
    ) -> Result<CommitId, PlaceError> {
        if made.files.is_empty() {
            return Ok(tree);
        }
        let differences = self.differences(git_dirs, base.as_str(), tree.as_str())?;
        let as_left = differences.iter().filter(|(path, (_, now))| made.has_version(path, now));
        let before = as_left.map(|(path, (before, _))| (path, before));
        self.with_versions(dir, git_dirs, tree, before)
    }

    /// Returns a tree with the files of the setup, unless they were changed later.
    pub(super) fn with_setup(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        base: &CommitId,
        tree: &str,
    ) -> Result<String, PlaceError> {
        let made = self.made_by_setup(dir)?;
        if made.files.is_empty() {
            return Ok(tree.to_owned());
        }
        let differences = self.differences(git_dirs, base.as_str(), tree)?;
        let left = made.files.iter().filter(|(path, _)| !differences.contains_key(*path));
        let after = left.map(|(path, (_, after))| (path, after));
        let order = self.repository.git.order("rev-parse").in_dirs(git_dirs);
        let answer = order.words(["--verify", "--end-of-options", &format!("{tree}^{{tree}}")]).run()?;
        let tree = CommitId::new(answer.text()?.trim()).ok_or_else(|| answer.unclear())?;
        Ok(self.with_versions(dir, git_dirs, tree, after)?.to_string())
    }

    /// Forgets files of the setup that the new base commit also has.
    pub(super) fn move_setup(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        base: &CommitId,
        tip: &CommitId,
    ) -> Result<(), PlaceError> {
        let mut made = self.made_by_setup(dir)?;
        if made.files.is_empty() {
            return Ok(());
        }
        let differences = self.differences(git_dirs, base.as_str(), tip.as_str())?;
        made.files.retain(|path, _| !differences.contains_key(path));
        Ok(self.keep_setup(dir, &SetupState::Done(made))?)
    }

    /// Returns whether commits contain a file as the setup made it.
    pub(super) fn contain_setup_files(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<bool, PlaceError> {
        let made = self.made_by_setup(dir)?;
        if made.files.is_empty() {
            return Ok(false);
        }
        let order = self.repository.git.order("log").in_dirs(git_dirs).words(["--format=", "-z", "--raw"]);
        let order = order.words(["--no-abbrev", "--no-renames", head.as_str(), "--not", base.as_str(), "--"]);
        let answer = order.run()?;
        Ok(parse_raw_diff(answer.parts()).any(|(path, (_, now))| made.has_version(path, &now)))
    }

    /// Returns a tree with other versions of some files.
    fn with_versions<'v>(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        tree: CommitId,
        versions: impl Iterator<Item = (&'v Vec<u8>, &'v Version)>,
    ) -> Result<CommitId, PlaceError> {
        let mut list = Vec::new();
        for (path, Version { mode, id }) in versions {
            list.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            list.extend_from_slice(path);
            list.push(0);
        }
        if list.is_empty() {
            return Ok(tree);
        }
        const COPY: &str = "setup.index";
        let git = &self.repository.git;
        let copy = child_path(&dir.ours, COPY)?;
        let git_dirs = GitDirectories { index: Some(dir.our_path.join(COPY)), ..git_dirs.clone() };
        for name in [COPY, "setup.index.lock"] {
            self.forget(dir, name)?;
        }
        git.order("read-tree").in_dirs(&git_dirs).word(tree.as_str()).run()?;
        git.order("update-index").in_dirs(&git_dirs).words(["-z", "--index-info"]).input(list).run()?;
        let answer = git.order("write-tree").in_dirs(&git_dirs).run()?;
        remove_any(&self.folders.kitchen, &copy)?;
        CommitId::new(answer.text()?.trim()).ok_or_else(|| answer.unclear().into())
    }

    fn differences(
        &self,
        git_dirs: &GitDirectories,
        from: &str,
        to: &str,
    ) -> Result<Differences, PlaceError> {
        let order = self.repository.git.order("diff-tree").in_dirs(git_dirs);
        let order = order.words(["-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to, "--"]);
        let answer = order.run()?;
        Ok(parse_raw_diff(answer.parts()).map(|(path, versions)| (path.to_owned(), versions)).collect())
    }
}

impl SetupChanges {
    /// Returns whether this version of a file is the one that the setup made.
    fn has_version(&self, path: &[u8], now: &Version) -> bool {
        self.files.get(path).is_some_and(|(_, after)| after == now)
    }
}

/// Parses a sequence of `:MODE MODE ID ID STATUS`, each followed by a path.
fn parse_raw_diff<'a>(
    mut parts: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = (&'a [u8], (Version, Version))> {
    std::iter::from_fn(move || {
        loop {
            let head = String::from_utf8_lossy(parts.next()?);
            let Some(head) = head.trim_start().strip_prefix(':') else { continue };
            let words: Vec<&str> = head.split(' ').collect();
            let [mode, new_mode, id, new_id, _] = words[..] else { continue };
            let versions = (version(mode, id), version(new_mode, new_id));
            return Some((parts.next()?, versions));
        }
    })
}
