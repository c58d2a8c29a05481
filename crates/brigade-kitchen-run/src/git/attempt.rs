//! Finds the changes of an attempt, and makes its commit.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use brigade_core::RunId;
use brigade_fs::{DiskFs, Fs as _};

use super::changes::FoundChanges;
use super::task_dir::{
    TaskDir, child_path, is_directory, is_file_or_link, is_huge, missing_folder, remove_any,
};
use super::{Commits, GitPlace};
use crate::workplace::{Changes, CommitId, Guard, Place, PlaceError, RestoreOutcome, TaskCommit, shown_path};
use brigade_git::{
    CommitCheck, GitDirectories, GitError, PATCH_ARGUMENTS, PatchReader, one_line, special_files,
};

/// The trailer that names the task.
pub(super) const TASK_TRAILER: &str = "Brigade-Task";

/// The trailer that names the run.
pub(super) const RUN_TRAILER: &str = "Brigade-Run";

/// The maximum number of a worker's commits that are kept.
const MAX_COMMITS: usize = 1_000;

impl GitPlace {
    pub(super) fn look_guarded(&self, place: &Place, guard: &Guard) -> Result<Changes, PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        if !self.folders.has_tree(&dir)? {
            return Err(missing_folder(&dir));
        }
        self.check_guard(&dir, guard)?;
        self.changes(&dir, &base_of(place)?)
    }

    pub(super) fn put_tree_back(
        &self,
        place: &Place,
        guard: &Guard,
        verified: &Changes,
        seen: &Changes,
    ) -> Result<RestoreOutcome, PlaceError> {
        let now = self.look_guarded(place, guard)?;
        if now.nested != seen.nested {
            return Ok(RestoreOutcome::Stays(now.nested));
        }
        if now.tree == seen.tree {
            return Ok(RestoreOutcome::Unchanged);
        }
        // The last look added every file to Brigade's index, so git removes files that are not in the tree.
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        let order = self.repository.git.order("read-tree").in_dirs(&git_dirs);
        let tree = self.with_setup(&dir, &git_dirs, &base_of(place)?, &verified.tree)?;
        order.words(["--reset", "-u", &tree]).run()?;
        self.folders.note_look(&dir, &base_of(place)?, &verified.tree)?;
        let changed = self.compare(&git_dirs, &seen.tree, &now.tree)?.files;
        Ok(RestoreOutcome::Done(changed.into_iter().map(|file| file.path).collect()))
    }

    /// Finds the changes in a worktree since a commit.
    pub(super) fn changes(&self, dir: &TaskDir, base: &CommitId) -> Result<Changes, PlaceError> {
        self.remove_special_files(dir)?;
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        let git = &self.repository.git;
        // A killed git may have left the lock. Only Brigade's git uses this index.
        self.forget(dir, "index.lock")?;
        let order = git.order("ls-files").in_dirs(&git_dirs);
        let listed =
            order.words(["-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard"]).run()?;
        let mut changed: BTreeSet<&[u8]> = BTreeSet::new();
        let mut gone: BTreeSet<&[u8]> = BTreeSet::new();
        let mut folders = Folders::default();
        let mut nested = Vec::new();
        for part in listed.parts() {
            let Some((tag, path)) = part.split_at_checked(2) else { continue };
            if path.ends_with(b"/") {
                nested.push(shown_path(path.strip_suffix(b"/").unwrap_or(path)));
            } else if tag == b"R " || tag == b"C " && !folders.are_above(&dir.tree_path, path) {
                gone.insert(path);
            } else {
                changed.insert(path);
            }
        }
        let forced = self.tracked_by_worker(dir, &git_dirs, base)?;
        // A deleted file also counts as modified.
        changed.retain(|path| !gone.contains(path));
        let is_there = |path: &&[u8]| is_file_or_link(&dir.tree_path, path);
        changed.extend(forced.split(|byte| *byte == 0).filter(|path| !path.is_empty()).filter(is_there));
        let is_huge = |path: &&&[u8]| {
            rustix::fs::lstat(dir.tree_path.join(OsStr::from_bytes(path))).is_ok_and(|stat| is_huge(&stat))
        };
        let huge: Vec<String> = changed.iter().filter(is_huge).map(|path| shown_path(path)).collect();
        if !huge.is_empty() {
            return Err(PlaceError::NotForGit(huge));
        }
        if !gone.is_empty() {
            let order =
                git.order("update-index").in_dirs(&git_dirs).words(["--force-remove", "-z", "--stdin"]);
            order.input(join_paths(gone)).run()?;
        }
        if !changed.is_empty() {
            let order = git.order("update-index").in_dirs(&git_dirs);
            let order = order.words(["--add", "--remove", "--replace", "-z", "--stdin"]);
            order.input(join_paths(changed)).run()?;
        }
        let answer = git.order("write-tree").in_dirs(&git_dirs).run()?;
        let tree = CommitId::new(answer.text()?.trim()).ok_or_else(|| answer.unclear())?;
        let made = self.made_by_setup(dir)?;
        let tree = self.without_setup(dir, &git_dirs, &made, base, tree)?;
        let mut changes = self.compare(&git_dirs, base.as_str(), tree.as_str())?;
        nested.retain(|path| !made.nested.contains(path));
        changes.nested.append(&mut nested);
        changes.head = self.folders.workers_head(dir)?.filter(|head| head != base);
        self.folders.note_look(dir, base, tree.as_str())?;
        Ok(changes)
    }

    /// Removes files that git would wait for. Fails if there were some.
    pub(super) fn remove_special_files(&self, dir: &TaskDir) -> Result<(), PlaceError> {
        let tree = DiskFs::open(&dir.tree_path)?;
        let special = special_files(&tree);
        special.iter().try_for_each(|path| remove_any(&tree, path))?;
        match special.is_empty() {
            true => Ok(()),
            false => Err(PlaceError::NotForGit(special.iter().map(ToString::to_string).collect())),
        }
    }

    pub(super) fn recall_look(&self, place: &Place, tree: &str) -> Result<Option<Changes>, PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        let base = base_of(place)?;
        if !self.folders.seen(&dir, &base)?.iter().any(|seen| seen == tree) {
            return Ok(None);
        }
        self.recall_tree(&dir, &base, tree)
    }

    /// Returns the changes of an earlier look by its tree; `None` if the tree is lost.
    pub(super) fn recall_tree(
        &self,
        dir: &TaskDir,
        base: &CommitId,
        tree: &str,
    ) -> Result<Option<Changes>, PlaceError> {
        if CommitId::new(tree).is_none() {
            return Ok(None);
        }
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        let mut changes = match self.compare(&git_dirs, base.as_str(), tree) {
            Ok(changes) => changes,
            // A power loss may have lost the tree.
            Err(PlaceError::Git(GitError::Failed { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        changes.head = self.folders.workers_head(dir)?.filter(|head| head != base);
        Ok(Some(changes))
    }

    /// Lists files that are in the worker's index but not in the base. A worker may track ignored files.
    fn tracked_by_worker(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        base: &CommitId,
    ) -> Result<Vec<u8>, PlaceError> {
        let Some(index) = self.folders.used_index(dir)? else { return Ok(Vec::new()) };
        // Uses a copy, because the worker's index may be a split index or may change during a later look.
        let bytes = self.folders.kitchen.read_outside(&index, 1 << 30)?;
        let copy = child_path(&dir.ours, "seen.index")?;
        self.folders.kitchen.write_cache(&copy, &bytes)?;
        let git_dirs = GitDirectories { index: Some(dir.our_path.join("seen.index")), ..git_dirs.clone() };
        let order = self.repository.git.order("diff-index").in_dirs(&git_dirs);
        let order = order.words(["--cached", "-z", "--name-only", "--no-renames", "--diff-filter=A"]);
        let answer = order.words(["--ignore-submodules=all", base.as_str(), "--"]).ask()?;
        remove_any(&self.folders.kitchen, &copy)?;
        // If git cannot read the index, nothing is tracked.
        Ok(if answer.code == Some(0) { answer.stdout } else { Vec::new() })
    }

    /// Compares two trees.
    pub(super) fn compare(
        &self,
        git_dirs: &GitDirectories,
        from: &str,
        to: &str,
    ) -> Result<Changes, PlaceError> {
        let mut reader = PatchReader::new(FoundChanges::default());
        let order = self.repository.git.order("diff-tree").in_dirs(git_dirs);
        let order = order.words(PATCH_ARGUMENTS);
        let order = order.words(["--ignore-submodules=none", "--find-renames", from, to, "--"]);
        order
            .stream(&mut |bytes| {
                reader.take(bytes);
                Ok(())
            })?
            .succeeded()?;
        let FoundChanges { mut files, nested, markers } = reader.sink;
        files.sort();
        Ok(Changes { tree: to.to_owned(), files, markers, nested, head: None })
    }

    pub(super) fn difference(
        &self,
        place: &Place,
        changes: &Changes,
        limit: usize,
    ) -> Result<String, PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        let (mut text, mut left_out) = (Vec::new(), 0usize);
        let order = self.repository.git.order("diff-tree").in_dirs(&git_dirs);
        let order = order.words(["-r", "-p", "--stat", "--find-renames"]).words(PLAIN);
        order
            .words([base_of(place)?.as_str(), &changes.tree, "--"])
            .stream(&mut |bytes| {
                let room = limit.saturating_sub(text.len()).min(bytes.len());
                text.extend_from_slice(&bytes[..room]);
                left_out += bytes.len() - room;
                Ok(())
            })?
            .succeeded()?;
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if 0 < left_out {
            let _ = write!(text, "\n[{left_out} more bytes are left out]\n");
        }
        Ok(text)
    }

    pub(super) fn make_commit(
        &self,
        place: &Place,
        changes: &Changes,
        run: &RunId,
    ) -> Result<TaskCommit, PlaceError> {
        if !changes.nested.is_empty() {
            return Err(PlaceError::Nested(changes.nested.clone()));
        }
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        let base = base_of(place)?;
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        self.check_commit(&git_dirs, Some(&dir.tree_path), (&base, &changes.tree))?;
        let (parent, squashed) = match (&changes.head, self.options.commits) {
            (Some(head), Commits::Keep) => match self.take_commits(&dir, &git_dirs, &base, head)? {
                None => (head.clone(), None),
                Some(why) => (base, Some(why)),
            },
            (None, Commits::Keep) | (_, Commits::Squash) => (base, None),
        };
        let name = &place.name;
        let title = one_line(&name.title);
        let message = format!(
            "{}: {title}\n\n{TASK_TRAILER}: {}\n{RUN_TRAILER}: {run}\n",
            name.task,
            name.prd.shown(&name.task),
        );
        let commit = self.commit_tree(&git_dirs, &changes.tree, &[&parent], &message)?;
        self.made().insert(commit.clone(), parent);
        Ok(TaskCommit { commit: Some(commit), squashed })
    }

    /// Makes a commit of Brigade.
    pub(super) fn commit_tree(
        &self,
        git_dirs: &GitDirectories,
        tree: &str,
        parents: &[&CommitId],
        message: &str,
    ) -> Result<CommitId, PlaceError> {
        let order = self.repository.git.order("commit-tree").in_dirs(git_dirs).word(tree);
        let order = parents.iter().fold(order, |order, parent| order.words(["-p", parent.as_str()]));
        let order = self.repository.signed(order).words(["-F", "-"]).input(message);
        let answer = order.run()?;
        CommitId::new(answer.text()?.trim()).ok_or_else(|| answer.unclear().into())
    }

    /// Copies the commits of a worker into Brigade's git directory.
    fn take_commits(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Option<&'static str>, PlaceError> {
        let git = &self.repository.git;
        let incoming = child_path(&dir.ours, "incoming")?;
        remove_any(&self.folders.kitchen, &incoming)?;
        super::task_dir::make_dirs(&self.folders.kitchen, &incoming)?;
        let folder = dir.our_path.join("incoming");
        let mut theirs = git_dirs.clone();
        theirs.alternates.push(dir.tree_path.join(".git/objects"));
        let order =
            git.order("pack-objects").in_dirs(&theirs).words(["--revs", "-q"]).word(folder.join("pack"));
        let answer = order.input(format!("{head}\n^{base}\n")).ask()?;
        if answer.code != Some(0) {
            return Ok(Some("git cannot read them"));
        }
        let id = answer.text()?.trim().to_owned();
        if CommitId::new(&id).is_none() {
            return Err(answer.unclear().into());
        }
        // The pack is indexed again, because the worker may have written wrong object ids.
        let pack = folder.join(format!("pack-{id}.pack"));
        let index = folder.join("checked.idx");
        let order =
            git.order("index-pack").in_dirs(git_dirs).words(["--strict", "-o"]).word(&index).word(&pack);
        if order.ask()?.code != Some(0) {
            return Ok(Some("git cannot check them"));
        }
        let kitchen = &self.folders.kitchen;
        let packs = child_path(&dir.ours, "objects/pack")?;
        for (from, to) in [(format!("pack-{id}.pack"), "pack"), ("checked.idx".to_owned(), "idx")] {
            let target = child_path(&packs, &format!("pack-{id}.{to}"))?;
            remove_any(kitchen, &target)?;
            kitchen.rename(&child_path(&incoming, &from)?, &target)?;
        }
        let order = git.order("rev-list").in_dirs(git_dirs);
        let order = order.words(["--objects", "--quiet", head.as_str(), "--not", base.as_str()]);
        if order.ask()?.code != Some(0) {
            return Ok(Some("objects of them are missing"));
        }
        let order = git.order("log").in_dirs(git_dirs).words([
            "-z",
            "--format=%P%n%an %ae %cn %ce%n%B",
            head.as_str(),
        ]);
        let answer = order.words(["--not", base.as_str(), "--"]).run()?;
        let commits: Vec<&[u8]> = answer.parts().collect();
        if MAX_COMMITS < commits.len() {
            return Ok(Some("there are too many of them"));
        }
        if self.contain_setup_files(dir, git_dirs, base, head)? {
            return Ok(Some("they have what the setup command made"));
        }
        if !self.is_based_on(git_dirs, head, base)? {
            return Ok(Some("they are not based on the commit that the task started from"));
        }
        let order = git.order("rev-list").in_dirs(git_dirs).words([head.as_str(), "--not", base.as_str()]);
        let answer = order.run()?;
        let (places, redactor) = (self.closed_places(Some(&dir.tree_path)), &self.options.redactor);
        let check = CommitCheck { places: &places, redactor: Some(redactor) };
        if check.commits(git.order("diff-tree").in_dirs(git_dirs), answer.text()?.lines())?.is_some() {
            return Ok(Some("one of them changes a closed place or adds a secret"));
        }
        let refusals = redactor.for_refusals();
        for commit in commits {
            let text = String::from_utf8_lossy(commit);
            let (parents, message) = text.split_once('\n').unwrap_or((&text, ""));
            if parents.split_whitespace().count() != 1 {
                return Ok(Some("one of them is a merge"));
            }
            if refusals.redact_str(message) != message {
                return Ok(Some("the message or author of one of them holds a secret"));
            }
            // Otherwise a worker could claim that a task is integrated.
            let is_ours = |line: &str| {
                let line = line.trim_start().to_ascii_lowercase();
                [TASK_TRAILER, RUN_TRAILER].iter().any(|name| line.starts_with(&name.to_ascii_lowercase()))
            };
            if message.lines().any(is_ours) {
                return Ok(Some("one of them has a trailer of Brigade"));
            }
        }
        Ok(None)
    }
}

/// Options that make the format of a diff independent of settings.
const PLAIN: [&str; 6] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--ignore-submodules=none",
];

/// Returns the base commit of the work.
pub(super) fn base_of(place: &Place) -> Result<CommitId, PlaceError> {
    place.base.clone().ok_or(PlaceError::InPlace)
}

/// Caches which paths of a worktree are directories and not links.
#[derive(Default)]
struct Folders<'p>(HashMap<&'p [u8], bool>);

impl<'p> Folders<'p> {
    /// Returns whether all ancestors of a path are directories.
    fn are_above(&mut self, root: &Path, path: &'p [u8]) -> bool {
        let Some(end) = path.iter().rposition(|byte| *byte == b'/') else { return true };
        let folder = &path[..end];
        if let Some(known) = self.0.get(folder) {
            return *known;
        }
        let found = self.are_above(root, folder) && is_directory(root, folder);
        self.0.insert(folder, found);
        found
    }
}

fn join_paths<'p>(paths: impl IntoIterator<Item = impl std::borrow::Borrow<&'p [u8]>>) -> Vec<u8> {
    let mut joined = Vec::new();
    for path in paths {
        joined.extend_from_slice(path.borrow());
        joined.push(0);
    }
    joined
}
