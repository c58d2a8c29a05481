//! The directory in which a reviewer starts: the commit that a person approved.
//!
//! A program may find code, settings and instructions in its working directory. In the worktree of the task, the
//! reviewed worker would write them.

use super::GitPlace;
use super::task_dir::{Folders, TaskDir, make_dirs};
use crate::workplace::{Place, PlaceError, TaskName};

impl GitPlace {
    /// Makes the directory, also if a killed service left one.
    pub(super) fn make_review_folder(&self, name: &TaskName) -> Result<Place, PlaceError> {
        self.repository.check()?;
        let (dir, base) =
            (Folders::of_review(self.folders.task_dir(&name.prd, &name.task)?)?, &self.approved);
        self.folders.remove(&dir)?;
        self.folders.make_ours(&self.repository, &dir, base, &[])?;
        make_dirs(&self.folders.worktrees, &dir.tree)?;
        let git_dirs = self.folders.git_dirs(&self.repository, &dir)?;
        self.repository
            .git
            .order("read-tree")
            .in_dirs(&git_dirs)
            .words(["--reset", "-u", base.as_str()])
            .run()?;
        self.folders.make_workers(&self.repository, &dir, &self.options.branch, base, &[])?;
        Ok(self.folders.place(&self.repository, &dir, name, base.clone()))
    }

    /// Removes the directory. Returns the files that were changed in it.
    pub(super) fn remove_review_folder(&self, name: &TaskName) -> Result<Vec<String>, PlaceError> {
        let dir = Folders::of_review(self.folders.task_dir(&name.prd, &name.task)?)?;
        let changed = self.changed_by_reviewer(&dir);
        self.folders.remove(&dir)?;
        changed
    }

    fn changed_by_reviewer(&self, dir: &TaskDir) -> Result<Vec<String>, PlaceError> {
        if !self.folders.has_tree(dir)? {
            return Ok(vec![".".to_owned()]);
        }
        match self.changes(dir, &self.approved) {
            Ok(changes) => {
                let files = changes.files.into_iter().map(|file| file.path);
                Ok(files.chain(changes.nested).collect())
            }
            Err(PlaceError::NotForGit(files)) => Ok(files),
            Err(error) => Err(error),
        }
    }
}
