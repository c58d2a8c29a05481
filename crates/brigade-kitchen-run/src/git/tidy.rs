//! Removes worktrees whose work is in the branch or is abandoned.

use brigade_fs::Fs as _;
use brigade_fs::OrAbsent;
use brigade_kitchen::{PrdName, TaskId};

use super::GitPlace;
use super::repository::unsafe_name;
use super::task_dir::TaskDir;
use crate::workplace::{CleanedFolder, CommitId, PlaceError};

/// The refs with abandoned work.
const ABANDONED: &str = "refs/brigade/abandoned";

impl GitPlace {
    pub(crate) fn clean(&self, prd: &PrdName) -> Result<Vec<CleanedFolder>, PlaceError> {
        self.repository.check()?;
        let mut cleaned = Vec::new();
        for task in self.tasks_with_folders(prd)? {
            let dir = self.folders.task_dir(prd, &task)?;
            let kept = self.keep_reason(&dir)?;
            if kept.is_none() {
                self.folders.remove(&dir)?;
            }
            cleaned.push(CleanedFolder { prd: prd.clone(), task, kept });
        }
        self.drop_spares(prd)?;
        Ok(cleaned)
    }

    /// Lists the tasks of a PRD that have a worktree or a directory of Brigade.
    pub(super) fn tasks_with_folders(&self, prd: &PrdName) -> Result<Vec<TaskId>, PlaceError> {
        let mut tasks = Vec::new();
        let path = |text: String| text.parse().map_err(|_| unsafe_name(&text));
        let places = [
            (&self.folders.worktrees, path(prd.to_string())?),
            (&self.folders.kitchen, path(format!("{prd}/git"))?),
        ];
        for (fs, folder) in places {
            let Some(entries) = fs.list_dir(&folder).or_absent()? else { continue };
            tasks.extend(entries.into_iter().filter_map(|entry| entry.name.parse::<TaskId>().ok()));
        }
        tasks.sort();
        tasks.dedup();
        Ok(tasks)
    }

    /// Returns why removing a worktree would lose work.
    fn keep_reason(&self, dir: &TaskDir) -> Result<Option<String>, PlaceError> {
        match self.work_of(dir)? {
            Work::None => Ok(None),
            Work::Unknown(why) => Ok(Some(why)),
            Work::Some { base, commit } => {
                let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
                let is_there = self.is_in_branch(&git_dirs, &base, &commit)?;
                let kept = || format!("its work is not in `{}`", self.options.branch);
                Ok((!is_there).then(kept))
            }
        }
    }

    /// Commits everything in a worktree, if there is something.
    fn work_of(&self, dir: &TaskDir) -> Result<Work, PlaceError> {
        if !self.folders.has_tree(dir)? {
            return Ok(Work::None);
        }
        let (Some(_), Some(base)) = (self.folders.made_in(dir)?, self.folders.base(dir)?) else {
            // It was never completed, so no worker ran in it.
            return Ok(Work::None);
        };
        self.folders.write_settings(&self.repository, dir, &self.excluded(dir)?)?;
        let changes = self.changes(dir, &base)?;
        if !changes.nested.is_empty() {
            let why = format!("it holds other repositories: {}", changes.nested.join(", "));
            return Ok(Work::Unknown(why));
        }
        if changes.is_empty() {
            return Ok(Work::None);
        }
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        let message = format!("Work of {} that was not integrated\n", dir.tree);
        let commit = self.commit_tree(&git_dirs, &changes.tree, &[&base], &message)?;
        Ok(Work::Some { base, commit })
    }

    pub(crate) fn abandon(&self, prd: &PrdName, task: &TaskId) -> Result<Option<String>, PlaceError> {
        self.repository.check()?;
        let dir = self.folders.task_dir(prd, task)?;
        let reference = match self.work_of(&dir)? {
            Work::None => None,
            Work::Unknown(why) => return Err(PlaceError::Nowhere(why)),
            Work::Some { base, commit } => {
                self.hand_over(&self.folders.git_dirs(&self.repository, &dir)?, &commit, &base)?;
                let part = |name: &str| name.replace('.', "%2E");
                let short = &commit.as_str()[..12];
                let reference = format!("{ABANDONED}/{}/{}/{short}", part(prd.as_str()), part(task.as_str()));
                let update = (reference.clone(), &commit, None);
                if !self.repository.update_refs("brigade: abandoned", &[update])? {
                    // An interrupted command already saved the same work.
                    let tip = self.repository.commit_of(&reference)?;
                    if tip.as_ref() != Some(&commit) {
                        return Err(PlaceError::Nowhere(format!("`{reference}` is there, with other work")));
                    }
                }
                Some(reference)
            }
        };
        self.folders.remove(&dir)?;
        Ok(reference)
    }
}

/// The work of a worktree.
enum Work {
    None,
    Unknown(String),
    Some { base: CommitId, commit: CommitId },
}
