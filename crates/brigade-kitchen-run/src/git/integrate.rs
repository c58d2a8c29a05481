//! Integrates the commit of a task into the branch.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use brigade_core::RunId;

use super::attempt::{RUN_TRAILER, TASK_TRAILER, base_of};
use super::task_dir::TaskDir;
use super::{Commits, GitPlace};
use crate::workplace::{Changes, CommitId, Integration, Place, PlaceError, TaskCommit, TaskName};
use brigade_git::GitDirectories;

/// Objects up to this total size are copied one by one. A larger set is copied as a pack.
const MAX_LOOSE_BYTES: u64 = 1 << 20;

/// The result of moving work to another commit.
pub(super) enum RebaseOutcome {
    Clean(String),
    Conflict(String, Vec<String>),
}

impl GitPlace {
    pub(super) fn integrate_commit(
        &self,
        place: &Place,
        made: &TaskCommit,
    ) -> Result<Integration, PlaceError> {
        let commit = made.commit.clone().ok_or(PlaceError::InPlace)?;
        self.repository.check()?;
        let base = base_of(place)?;
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        self.finish_checkout()?;
        let branch = &self.options.branch;
        let checkouts = self.repository.checkouts_of(branch)?;
        if let Some(state) = self.repository.busy_with(branch) {
            return Err(PlaceError::Busy(state));
        }
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        let made_on = self.made().remove(&commit);
        if made_on.as_ref() != Some(&base) && !self.is_based_on(&git_dirs, &commit, &base)? {
            // The service was killed after it moved the work to a new tip. The commit is the one from before.
            let changes = match self.put_before(place, &commit)? {
                Some(changes) => changes,
                None => self.changes(&dir, &base)?,
            };
            return Ok(Integration::Moved { place: Box::new(place.clone()), changes: Box::new(changes) });
        }
        if made_on.as_ref() != Some(&base) {
            self.check_commit(&git_dirs, Some(&dir.tree_path), (&base, commit.as_str()))?;
        }
        self.hand_over(&git_dirs, &commit, &base)?;
        let name = format!("refs/heads/{branch}");
        let reason = format!("brigade: {}", place.name.prd.shown(&place.name.task));
        // The branch may have been reset to the base of the task, which lacks later work.
        let has_moved = match checkouts.is_empty() {
            _ if !self.holds_done(&base)? => false,
            true => self.repository.update_refs(&reason, &[(name, &commit, Some(&base))])?,
            false => self.move_checked_out(branch, &checkouts, &commit, &base, &reason)?,
        };
        if has_moved {
            self.now_done(&place.name, &commit);
            return Ok(Integration::Done(Some(commit)));
        }
        let tip = self.repository.tip(branch)?;
        self.require_done(&tip)?;
        if tip == commit {
            self.now_done(&place.name, &commit);
            return Ok(Integration::Done(Some(commit)));
        }
        self.rebase_onto(place, &dir, &commit, &base, &tip)
    }

    pub(super) fn made(&self) -> MutexGuard<'_, HashMap<CommitId, CommitId>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a commit is a descendant of another one.
    pub(super) fn is_based_on(
        &self,
        git_dirs: &GitDirectories,
        commit: &CommitId,
        base: &CommitId,
    ) -> Result<bool, PlaceError> {
        let order = self.repository.git.order("merge-base").in_dirs(git_dirs);
        let answer = order.words(["--is-ancestor", base.as_str(), commit.as_str()]).ask()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.failure().into()),
        }
    }

    /// Returns the work that was moved, without conflict, to a base that this earlier commit does not contain.
    pub(super) fn put_before(&self, place: &Place, commit: &CommitId) -> Result<Option<Changes>, PlaceError> {
        let (dir, base) = (self.folders.task_dir(&place.name.prd, &place.name.task)?, base_of(place)?);
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        match self.folders.seen(&dir, &base)?.last() {
            Some(tree) if !self.is_based_on(&git_dirs, commit, &base)? => self.recall_tree(&dir, &base, tree),
            _ => Ok(None),
        }
    }

    /// Copies the objects of a commit to the repository, except those reachable from another commit.
    pub(super) fn hand_over(
        &self,
        git_dirs: &GitDirectories,
        commit: &CommitId,
        known: &CommitId,
    ) -> Result<(), PlaceError> {
        let git = &self.repository.git;
        let revisions = format!("{commit}\n^{known}\n");
        let pack = || git.order("pack-objects").words(["--revs", "-q", "--delta-base-offset"]);
        let (mut bytes, mut count) = (Vec::new(), 0u64);
        let order = pack().in_dirs(git_dirs).words(["--stdout", "--thin"]).input(revisions.clone());
        order
            .stream(&mut |part| {
                count += part.len() as u64;
                if count <= MAX_LOOSE_BYTES {
                    bytes.extend_from_slice(part);
                }
                Ok(())
            })?
            .succeeded()?;
        if count <= MAX_LOOSE_BYTES {
            let order = git.order("unpack-objects").in_dirs(&self.repository.git_dirs());
            order.word("-q").input(bytes).run()?;
            return Ok(());
        }
        // The pack is written to the repository's pack directory, because it cannot be moved there from another disk.
        let mut alternates = git_dirs.alternates.clone();
        alternates.extend(git_dirs.git_dir.as_ref().map(|dir| dir.join("objects")));
        let objects = Some(self.repository.objects());
        let git_dirs = GitDirectories { objects, alternates, is_durable: true, ..git_dirs.clone() };
        let target = self.repository.objects().join("pack/pack");
        pack().in_dirs(&git_dirs).word(target).input(revisions).run()?;
        Ok(())
    }

    /// Moves the work of a task to the new tip of the branch.
    fn rebase_onto(
        &self,
        place: &Place,
        dir: &TaskDir,
        commit: &CommitId,
        base: &CommitId,
        tip: &CommitId,
    ) -> Result<Integration, PlaceError> {
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        let mut head = None;
        let put = match self.options.commits {
            Commits::Squash => self.merge_trees(&git_dirs, base, tip, commit)?,
            Commits::Keep => match self.pick_all(&git_dirs, commit, base, tip)? {
                Some((tree, last)) => {
                    head = (last != *tip).then_some(last);
                    RebaseOutcome::Clean(tree)
                }
                None => self.merge_trees(&git_dirs, base, tip, commit)?,
            },
        };
        let (tree, conflict) = match put {
            RebaseOutcome::Clean(tree) => (tree, None),
            RebaseOutcome::Conflict(tree, files) => (tree, Some(files)),
        };
        // After a crash, the work is found by this tree.
        let noted = conflict.is_none().then_some(&*tree);
        self.stand_on(dir, &git_dirs, (base, tip), &tree, head.as_ref().unwrap_or(tip), noted)?;
        if let Some(files) = conflict {
            return Ok(Integration::Conflict(files));
        }
        let mut changes: Changes = self.compare(&git_dirs, tip.as_str(), &tree)?;
        changes.head = head;
        let place = Place { base: Some(tip.clone()), ..place.clone() };
        Ok(Integration::Moved { place: Box::new(place), changes: Box::new(changes) })
    }

    /// Sets the files of a worktree to a tree, and changes its base commit.
    fn stand_on(
        &self,
        dir: &TaskDir,
        git_dirs: &GitDirectories,
        (base, tip): (&CommitId, &CommitId),
        tree: &str,
        head: &CommitId,
        noted: Option<&str>,
    ) -> Result<(), PlaceError> {
        self.forget(dir, "index.lock")?;
        let full = self.with_setup(dir, git_dirs, base, tree)?;
        let order = self.repository.git.order("read-tree").in_dirs(git_dirs);
        order.words(["--reset", "-u", &full]).run()?;
        // The base is set last. Until then, the work is compared with an older commit, which loses nothing.
        self.move_setup(dir, git_dirs, base, tip)?;
        let excluded = self.excluded_for_worker(dir)?;
        self.folders.make_workers(&self.repository, dir, &self.options.branch, head, &excluded)?;
        if let Some(tree) = noted {
            self.folders.note_look(dir, tip, tree)?;
        }
        Ok(self.folders.set_base(dir, tip)?)
    }

    pub(super) fn freshen_task(&self, place: &Place) -> Result<Option<Place>, PlaceError> {
        let (dir, base) = (self.folders.task_dir(&place.name.prd, &place.name.task)?, base_of(place)?);
        let tip = self.repository.tip(&self.options.branch)?;
        if tip == base {
            return Ok(None);
        }
        self.require_done(&tip)?;
        self.take_guard(place)?;
        match self.remove_special_files(&dir) {
            Ok(()) | Err(PlaceError::NotForGit(_)) => {}
            Err(error) => return Err(error),
        }
        if !self.changes(&dir, &base)?.is_empty() {
            return Ok(None);
        }
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        let order = self.repository.git.order("rev-parse").in_dirs(&git_dirs);
        let answer = order.words(["--verify", "--end-of-options", &format!("{tip}^{{tree}}")]).run()?;
        let tree = answer.text()?.trim().to_owned();
        self.stand_on(&dir, &git_dirs, (&base, &tip), &tree, &tip, Some(&tree))?;
        Ok(Some(Place { base: Some(tip), ..place.clone() }))
    }

    /// Merges two commits with the given merge base.
    pub(super) fn merge_trees(
        &self,
        git_dirs: &GitDirectories,
        base: &CommitId,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<RebaseOutcome, PlaceError> {
        let order = self.repository.git.order("merge-tree").in_dirs(git_dirs);
        let order = order.words(["--write-tree", "-z", "--name-only", "--no-messages"]);
        let order = order.word(format!("--merge-base={base}"));
        let answer = order.words([ours.as_str(), theirs.as_str()]).ask()?;
        let mut parts = answer.parts().map(|part| String::from_utf8_lossy(part).into_owned());
        let tree = parts.next().filter(|tree| CommitId::new(tree).is_some());
        match (answer.code, tree) {
            (Some(0), Some(tree)) => Ok(RebaseOutcome::Clean(tree)),
            (Some(1), Some(tree)) => {
                let files = parts.map(|path| crate::workplace::shown_path(path.as_bytes())).collect();
                Ok(RebaseOutcome::Conflict(tree, files))
            }
            _ => Err(answer.failure().into()),
        }
    }

    /// Rebases the commits of a worker one by one; `None` if one conflicts. The last commit is Brigade's, and is made
    /// again later, so only its tree is returned.
    fn pick_all(
        &self,
        git_dirs: &GitDirectories,
        commit: &CommitId,
        base: &CommitId,
        tip: &CommitId,
    ) -> Result<Option<(String, CommitId)>, PlaceError> {
        let git = &self.repository.git;
        let order = git.order("log").in_dirs(git_dirs).words(["-z", "--reverse", "--topo-order"]);
        let order = order.words(["--format=%H%n%P%n%an%n%ae%n%ad%n%B", "--date=raw", commit.as_str()]);
        let answer = order.words(["--not", base.as_str(), "--"]).run()?;
        let commits: Vec<&[u8]> = answer.parts().collect();
        let mut on = tip.clone();
        for (index, part) in commits.iter().enumerate() {
            let text = String::from_utf8_lossy(part);
            let mut lines = text.splitn(6, '\n');
            let mut next = || lines.next().unwrap_or_default().to_owned();
            let (id, parent) = (CommitId::new(&next()), CommitId::new(&next()));
            let (Some(id), Some(parent)) = (id, parent) else { return Ok(None) };
            let RebaseOutcome::Clean(tree) = self.merge_trees(git_dirs, &parent, &on, &id)? else {
                return Ok(None);
            };
            if index + 1 == commits.len() {
                return Ok(Some((tree, on)));
            }
            let (name, email, date, message) = (next(), next(), next(), next());
            let order = git.order("commit-tree").in_dirs(git_dirs).words([tree.as_str(), "-p", on.as_str()]);
            let order = self.repository.signed(order).words(["-F", "-"]).input(message);
            let order = order.variable("GIT_AUTHOR_NAME", name).variable("GIT_AUTHOR_EMAIL", email);
            let answer = order.variable("GIT_AUTHOR_DATE", date).run()?;
            on = CommitId::new(answer.text()?.trim()).ok_or_else(|| answer.unclear())?;
        }
        Ok(None)
    }

    pub(super) fn find_commit(&self, name: &TaskName, run: &RunId) -> Result<Option<CommitId>, PlaceError> {
        self.repository.check()?;
        let dir = self.folders.task_dir(&name.prd, &name.task)?;
        let order = self.repository.git.order("log").in_dirs(&self.repository.git_dirs());
        let order = order.words(["-z", "--fixed-strings", &format!("--grep={RUN_TRAILER}: {run}")]);
        let order = order.word(format!(
            "--format=%H%n%(trailers:key={TASK_TRAILER},valueonly=true,separator=%x2C)%n\
             %(trailers:key={RUN_TRAILER},valueonly=true,separator=%x2C)"
        ));
        let mut order = order.word(format!("refs/heads/{}", self.options.branch));
        if let Some(base) = self.folders.base(&dir)? {
            order = order.words(["--not", base.as_str()]);
        }
        let answer = order.word("--").run()?;
        let task = name.prd.shown(&name.task);
        for part in answer.parts() {
            let text = String::from_utf8_lossy(part);
            let lines: Vec<&str> = text.lines().collect();
            if let [id, of_task, of_run] = lines[..]
                && of_task == task
                && of_run == run.as_str()
            {
                return Ok(CommitId::new(id));
            }
        }
        Ok(None)
    }

    /// Returns whether merging the files of a commit into the branch would change nothing.
    pub(super) fn is_in_branch(
        &self,
        git_dirs: &GitDirectories,
        base: &CommitId,
        commit: &CommitId,
    ) -> Result<bool, PlaceError> {
        let tip = self.repository.tip(&self.options.branch)?;
        let RebaseOutcome::Clean(tree) = self.merge_trees(git_dirs, base, &tip, commit)? else {
            return Ok(false);
        };
        let order = self.repository.git.order("rev-parse").in_dirs(git_dirs);
        let answer =
            order.words(["--verify", "--quiet", "--end-of-options"]).word(format!("{tip}^{{tree}}")).run()?;
        Ok(answer.text()?.trim() == tree)
    }
}
