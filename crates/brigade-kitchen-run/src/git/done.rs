//! Checks that the branch contains the commits of finished tasks. A user may delete or move the branch. Then no task
//! starts from a tip that lacks finished work.

use std::collections::HashSet;

use super::GitPlace;
use super::attempt::{RUN_TRAILER, TASK_TRAILER};
use super::repository::Repository;
use crate::workplace::{CommitId, DoneWork, PlaceError, TaskName};

/// The work that the branch must contain.
#[derive(Debug, Default)]
pub(crate) struct ExpectedWork {
    /// The work, the newest last.
    pub(crate) works: Vec<DoneWork>,
    /// The last commit that was found to contain all of it.
    pub(crate) sound: Option<CommitId>,
}

impl Repository {
    /// Returns the work that a commit does not contain. Work counts as contained if its commit is an ancestor, or if an
    /// ancestor has its trailers, as after a rebase.
    pub(crate) fn lost<'w>(
        &self,
        works: &'w [DoneWork],
        tip: &CommitId,
    ) -> Result<Vec<&'w DoneWork>, PlaceError> {
        if works.is_empty() {
            return Ok(Vec::new());
        }
        let mut gone = HashSet::new();
        let mut outside = self.outside(works, &gone, tip)?;
        if outside.is_none() {
            gone = self.missing(works)?;
            outside = self.outside(works, &gone, tip)?;
        }
        let Some(outside) = outside else {
            return Err(PlaceError::Nowhere(format!("git cannot tell what `{tip}` holds")));
        };
        let is_lost = |work: &&DoneWork| gone.contains(&work.commit) || outside.contains(&work.commit);
        let mut lost: Vec<&DoneWork> = works.iter().filter(is_lost).collect();
        if !lost.is_empty() {
            let present = self.trailers(tip)?;
            let is_there = |work: &DoneWork| {
                present.iter().any(|(task, run)| {
                    *task == work.shown && work.run.as_ref().is_none_or(|of_work| run == of_work.as_str())
                })
            };
            lost.retain(|work| !is_there(work));
        }
        Ok(lost)
    }

    /// Returns the commits of work that are not ancestors of a commit; `None` if git does not know one of them.
    fn outside(
        &self,
        works: &[DoneWork],
        gone: &HashSet<CommitId>,
        tip: &CommitId,
    ) -> Result<Option<HashSet<CommitId>>, PlaceError> {
        let present = works.iter().filter(|work| !gone.contains(&work.commit));
        let mut input: String = present.map(|work| format!("{}\n", work.commit)).collect();
        if input.is_empty() {
            return Ok(Some(HashSet::new()));
        }
        input.push_str(&format!("^{tip}\n"));
        let order = self.git.order("rev-list").in_dirs(&self.git_dirs()).word("--stdin");
        let answer = order.input(input).ask()?;
        match answer.code {
            Some(0) => Ok(Some(answer.text()?.lines().filter_map(CommitId::new).collect())),
            _ => Ok(None),
        }
    }

    /// Returns the commits of work that the repository does not have.
    fn missing(&self, works: &[DoneWork]) -> Result<HashSet<CommitId>, PlaceError> {
        let input: String = works.iter().map(|work| format!("{}\n", work.commit)).collect();
        let order = self.git.order("cat-file").in_dirs(&self.git_dirs()).word("--batch-check=%(objecttype)");
        let answer = order.input(input).run()?;
        let lines = answer.text()?.lines().map(str::to_owned).collect::<Vec<_>>();
        let is_missing = |(_, line): &(&DoneWork, String)| line != "commit";
        let found = works.iter().zip(lines).filter(is_missing);
        Ok(found.map(|(work, _)| work.commit.clone()).collect())
    }

    /// Lists the tasks and runs in the trailers of commits.
    fn trailers(&self, tip: &CommitId) -> Result<Vec<(String, String)>, PlaceError> {
        let order = self.git.order("log").in_dirs(&self.git_dirs());
        let order = order.words(["-z", "--fixed-strings", &format!("--grep={RUN_TRAILER}: ")]);
        let order = order.word(format!(
            "--format=%(trailers:key={TASK_TRAILER},valueonly=true,separator=%x2C)%n\
             %(trailers:key={RUN_TRAILER},valueonly=true,separator=%x2C)"
        ));
        let answer = order.words([tip.as_str(), "--"]).run()?;
        let both = answer.parts().filter_map(|part| {
            let text = String::from_utf8_lossy(part).into_owned();
            let (task, run) = text.split_once('\n')?;
            Some((task.to_owned(), run.trim_end().to_owned()))
        });
        Ok(both.collect())
    }

    /// Returns the error for a branch that lacks work. `lost` must not be empty.
    pub(crate) fn work_lost(
        &self,
        branch: &str,
        works: &[DoneWork],
        lost: &[&DoneWork],
        tip: Option<&CommitId>,
    ) -> Result<Option<PlaceError>, PlaceError> {
        let (Some(first), Some(last)) = (lost.first(), works.last()) else { return Ok(None) };
        let (commit, gone) = (&last.commit, self.missing(works)?);
        let is_behind = match tip {
            Some(tip) if gone.is_empty() => {
                let order = self.git.order("merge-base").in_dirs(&self.git_dirs());
                order.words(["--is-ancestor", tip.as_str(), commit.as_str()]).ask()?.code == Some(0)
            }
            _ => false,
        };
        let way = if lost.iter().any(|work| gone.contains(&work.commit)) {
            "the commit is missing in the repository: fetch it from where it was pushed, or give the task another id in \
             the PRD, so that it is done again"
                .to_owned()
        } else if is_behind {
            format!("put it back with `git branch -f {branch} {commit}`")
        } else {
            format!("merge `{}` into the branch", first.commit)
        };
        Ok(Some(PlaceError::WorkLost {
            branch: branch.to_owned(),
            task: first.task.clone(),
            commit: first.commit.clone(),
            more: lost.len() - 1,
            way,
        }))
    }
}

impl GitPlace {
    fn done(&self) -> std::sync::MutexGuard<'_, ExpectedWork> {
        self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns whether a commit contains the work of all finished tasks.
    pub(super) fn holds_done(&self, commit: &CommitId) -> Result<bool, PlaceError> {
        let mut done = self.done();
        if done.works.is_empty() || done.sound.as_ref() == Some(commit) {
            return Ok(true);
        }
        let holds = self.repository.lost(&done.works, commit)?.is_empty();
        if holds {
            done.sound = Some(commit.clone());
        }
        Ok(holds)
    }

    /// Fails unless a tip of the branch contains the work of all finished tasks.
    pub(super) fn require_done(&self, tip: &CommitId) -> Result<(), PlaceError> {
        if self.holds_done(tip)? {
            return Ok(());
        }
        let done = self.done();
        let lost = self.repository.lost(&done.works, tip)?;
        match self.repository.work_lost(&self.options.branch, &done.works, &lost, Some(tip))? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the commit at which a deleted branch is recreated: the last commit of its tasks; `None` if `head`
    /// contains all of them.
    pub(super) fn last_done(&self, head: &CommitId) -> Result<Option<CommitId>, PlaceError> {
        if self.holds_done(head)? {
            return Ok(None);
        }
        let done = self.done();
        let Some(last) = done.works.last().map(|work| work.commit.clone()) else { return Ok(None) };
        let mut lost = match self.repository.missing(&done.works)? {
            gone if gone.contains(&last) => {
                done.works.iter().filter(|work| gone.contains(&work.commit)).collect()
            }
            _ => self.repository.lost(&done.works, &last)?,
        };
        lost.dedup();
        match self.repository.work_lost(&self.options.branch, &done.works, &lost, None)? {
            Some(error) => Err(error),
            None => Ok(Some(last)),
        }
    }

    /// Records that the branch must contain a commit from now on.
    pub(super) fn now_done(&self, name: &TaskName, commit: &CommitId) {
        let mut done = self.done();
        let shown = name.prd.shown(&name.task);
        done.works.push(DoneWork { task: name.task.clone(), shown, run: None, commit: commit.clone() });
        // It is based on a commit that contains all earlier work.
        done.sound = Some(commit.clone());
    }
}
