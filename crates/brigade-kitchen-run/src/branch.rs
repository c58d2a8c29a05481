//! Checks whether the branch of a PRD has the work of finished tasks, for read-only commands.

use brigade_fs::RelPath;
use brigade_kitchen::PrdName;
use brigade_kitchen::life::Life;
use brigade_kitchen::prd::ValidPrd;

use crate::gather::PrdState;
use crate::git::repository::Repository;
use crate::kitchen::Kitchen;
use crate::service::done_work;
use crate::workplace::{CommitId, DoneWork, PlaceError};
use brigade_kitchen::is_branch_name;

/// How thoroughly to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchDepth {
    /// If the branch is at the commit of the last task, skip git.
    Short,
    /// Check every commit.
    Whole,
}

impl Kitchen<'_> {
    /// Returns what is wrong with the branch of a PRD whose tasks use worktrees.
    pub(crate) fn branch_problem(&self, state: &PrdState, depth: SearchDepth) -> Option<String> {
        if state.workplace != brigade_kitchen::life::Workplace::Worktrees {
            return None;
        }
        self.lost_of_branch(&state.name, &state.prd, &state.life, depth)
    }

    /// Returns what is wrong with the branch that a PRD names.
    pub(crate) fn lost_of_branch(
        &self,
        name: &PrdName,
        prd: &ValidPrd,
        life: &Life,
        depth: SearchDepth,
    ) -> Option<String> {
        let branch = prd.branch_name.as_deref().filter(|branch| is_branch_name(branch))?;
        let works = done_work(life, name, prd);
        let last = works.last()?;
        if depth == SearchDepth::Short && self.tip_in_file(branch).as_ref() == Some(&last.commit) {
            return None;
        }
        let is_over = prd.tasks.iter().all(|task| life.is_done(&task.id));
        match self.check_tip(branch, &works, is_over) {
            Ok(problem) => problem,
            Err(error) => {
                tracing::debug!(%error, "nothing is known of the branch");
                None
            }
        }
    }

    /// Reads the tip of a branch from its file, if git stores it in a file.
    pub(crate) fn tip_in_file(&self, branch: &str) -> Option<CommitId> {
        const MAX_REF_BYTES: u64 = 4_096;
        let path: RelPath = RelPath::from_static(".git").join(&format!("refs/heads/{branch}")).ok()?;
        let bytes = self.fs.read(&path, MAX_REF_BYTES).ok()?;
        CommitId::new(std::str::from_utf8(&bytes).ok()?.trim())
    }

    fn check_tip(
        &self,
        branch: &str,
        works: &[DoneWork],
        is_over: bool,
    ) -> Result<Option<String>, PlaceError> {
        let repository = match Repository::open(&*self.fs, self.environment) {
            Ok(repository) => repository,
            Err(PlaceError::WithoutGit(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let tip = repository.commit_of(&format!("refs/heads/{branch}"))?;
        let Some(from) = tip.clone().or(repository.commit_of("HEAD")?) else { return Ok(None) };
        let lost = repository.lost(works, &from)?;
        if lost.is_empty() {
            return Ok(None);
        }
        let Some(tip) = tip else {
            // After the last task, the user may move the branch.
            let problem = format!(
                "the branch `{branch}` was deleted; the next service recreates it from the last finished task"
            );
            return Ok((!is_over).then_some(problem));
        };
        Ok(repository.work_lost(branch, works, &lost, Some(&tip))?.map(|error| error.to_string()))
    }
}
