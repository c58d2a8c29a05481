//! Works on tasks in worktrees of a git repository, and collects the work on one branch.
//!
//! The user's work tree, index, stash and checked-out branch are not touched. The exception is a user who checked out
//! the branch itself: then the checkout must be clean, and it is updated with the branch.

mod attempt;
mod begin;
pub(crate) mod changes;
mod checkout;
pub(crate) mod done;
mod ignored;
mod integrate;
mod landing;
pub(crate) mod repository;
mod review;
pub(crate) mod settings;
mod setup;
pub(crate) mod spare;
pub(crate) mod task_dir;
mod tidy;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use brigade_core::{AgentFiles, Fingerprint, RunId};
use brigade_exec::{ClosedPlaces, HostEnvironment};
use brigade_fs::{DiskFs, Fs, RelPath};
use brigade_git::{CommitCheck, GitDirectories};
use brigade_kitchen::life::Workplace as Mode;
use brigade_kitchen::{PrdName, TaskId};
use brigade_redact::Redactor;

pub use repository::InPlaceReason;

use crate::workplace::{
    Changes, CommitId, DoneWork, FolderOrigin, Guard, Integration, Place, PlaceError, RestoreOutcome,
    TaskCommit, TaskName, Workplace,
};
use brigade_kitchen::is_branch_name;
use repository::{Repository, unsafe_name};
use task_dir::Folders;

/// How to treat the commits of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commits {
    /// They are squashed into the commit of the task.
    #[default]
    Squash,
    /// They are kept, below the commit of the task.
    Keep,
}

/// Options for the work on a branch.
#[derive(Clone, Debug)]
pub struct GitOptions {
    /// The branch. It is created from `HEAD` if it does not exist.
    pub branch: String,
    /// The directory of worktrees, relative to the workspace or absolute.
    pub worktrees: String,
    /// Ignored files to copy into each worktree: paths or patterns.
    pub copy: Vec<String>,
    /// Ignored files and directories to link into each worktree.
    pub link: Vec<String>,
    /// How to treat the commits of a worker.
    pub commits: Commits,
    /// The branch to merge to; `None` for `origin/HEAD`, `main` or `master`.
    pub default_branch: Option<String>,
    /// Files or directories in the workspace that Brigade writes. Changes to them do not make a checkout dirty.
    pub own_files: Vec<String>,
    /// The work that the branch must contain, the newest last.
    pub done: Vec<DoneWork>,
    /// Whether commits may change files by which agent programs and editors start programs.
    pub agent_files: AgentFiles,
    /// Finds the secrets that no commit may add.
    pub redactor: Redactor,
}

/// Returns the directory of worktrees. A directory outside of the workspace may be shared by several workspaces, so
/// each uses a separate subdirectory.
pub(crate) fn worktrees_path(workspace: &Path, setting: &str) -> PathBuf {
    let path = workspace.join(setting);
    if setting.parse::<RelPath>().is_ok() {
        return path;
    }
    path.join(Fingerprint::of_bytes(workspace.as_os_str().as_bytes()).short())
}

/// Worktrees of a git repository as the workplace of tasks. See the [module](self).
#[derive(Debug)]
pub struct GitPlace {
    repository: Repository,
    folders: Folders,
    workspace: DiskFs,
    /// The commit of the user's checkout when the service started, from which reviewers start.
    approved: CommitId,
    /// The user's environment, needed to push to a remote.
    host: HostEnvironment,
    options: GitOptions,
    /// Held while the branch moves, so that it moves for one task at a time.
    moving: Mutex<()>,
    /// Commits of this process that are not in the branch yet, each with its base.
    made: Mutex<HashMap<CommitId, CommitId>>,
    /// The work that the branch must contain.
    done: Mutex<done::ExpectedWork>,
    /// Notes for people about how the branch was created.
    notes: Vec<String>,
    /// Files that Brigade writes since settings changed.
    later_files: Mutex<Vec<String>>,
}

impl GitPlace {
    /// Opens the repository of a workspace, and creates the branch if it does not exist.
    ///
    /// # Errors
    /// Returns [`PlaceError::WithoutGit`] without git, a repository or a commit. Also fails if the branch name is
    /// invalid, the branch is held by a rebase or checked out with changes, git fails or is too old, or on a disk
    /// error.
    pub fn open(
        workspace: &Path,
        host: &HostEnvironment,
        options: GitOptions,
    ) -> Result<GitPlace, PlaceError> {
        let mut place = GitPlace::open_to_clean(workspace, host, options)?;
        place.notes.extend(place.make_branch()?);
        place.finish_checkout()?;
        for checkout in place.repository.checkouts_of(&place.options.branch)? {
            place.require_clean(&checkout, &place.options.branch)?;
        }
        Ok(place)
    }

    /// Opens the repository only to remove worktrees. Does not create a branch or check checkouts.
    ///
    /// # Errors
    /// Returns [`PlaceError::WithoutGit`] without git, a repository or a commit. Also fails if the branch name is
    /// invalid, git fails or is too old, or on a disk error.
    pub fn open_to_clean(
        workspace: &Path,
        host: &HostEnvironment,
        options: GitOptions,
    ) -> Result<GitPlace, PlaceError> {
        let workspace = DiskFs::open(workspace)?;
        if !is_branch_name(&options.branch) {
            return Err(PlaceError::BranchName(options.branch));
        }
        let repository = Repository::open(&workspace, host)?;
        let inside = options.worktrees.parse::<RelPath>().ok();
        let path = worktrees_path(workspace.root(), &options.worktrees);
        let kitchen = DiskFs::make(&workspace.root().join(".brigade/kitchen"))?;
        let worktrees = DiskFs::make(&path)?;
        let mine = RelPath::from_static(".gitignore");
        if !worktrees.exists(&mine)? {
            // Without this, the user's next `git add` would add worktrees as submodules.
            worktrees.write_cache(&mine, b"*\n")?;
        }
        let folders = Folders { kitchen, worktrees, inside };
        let approved = repository.commit_of("HEAD")?.ok_or(InPlaceReason::NoCommit)?;
        Ok(GitPlace {
            repository,
            approved,
            folders,
            workspace,
            host: host.clone(),
            done: Mutex::new(done::ExpectedWork { works: options.done.clone(), sound: None }),
            notes: Vec::new(),
            later_files: Mutex::default(),
            options,
            moving: Mutex::new(()),
            made: Mutex::default(),
        })
    }

    /// Creates the branch if it does not exist. Returns a note about it.
    fn make_branch(&self) -> Result<Option<String>, PlaceError> {
        let (repository, branch) = (&self.repository, &self.options.branch);
        if let Some(state) = repository.busy_with(branch) {
            return Err(PlaceError::Busy(state));
        }
        let reference = format!("refs/heads/{branch}");
        if let Some(tip) = repository.commit_of(&reference)? {
            return self.require_done(&tip).map(|()| None);
        }
        if let Some(state) = repository.operation_in_progress() {
            return Err(PlaceError::Busy(state));
        }
        let head = repository.commit_of("HEAD")?.ok_or_else(|| PlaceError::BranchGone("HEAD".to_owned()))?;
        let Some(last) = self.last_done(&head)? else {
            repository.update_refs("brigade: created from HEAD", &[(reference, &head, None)])?;
            return Ok(None);
        };
        repository.update_refs("brigade: recreated", &[(reference, &last, None)])?;
        let note = format!(
            "the branch `{branch}` was deleted, and was recreated at {last}, the last commit of its tasks"
        );
        tracing::warn!("{note}");
        Ok(Some(note))
    }

    /// Fails if what a commit adds to another one changes a closed place or adds a secret. `files` is the worktree that
    /// it was made from.
    fn check_commit(
        &self,
        git_dirs: &GitDirectories,
        files: Option<&Path>,
        (from, to): (&CommitId, &str),
    ) -> Result<(), PlaceError> {
        let places = self.closed_places(files);
        let check = CommitCheck { places: &places, redactor: Some(&self.options.redactor) };
        let order = self.repository.git.order("diff-tree").in_dirs(git_dirs);
        check
            .trees(order, Some(from.as_str()), to)?
            .map_or(Ok(()), |refusal| Err(PlaceError::Refused(refusal)))
    }

    /// Finds the closed places of the user's checkout, and of a worktree.
    fn closed_places(&self, files: Option<&Path>) -> Vec<ClosedPlaces> {
        let top = Some(self.repository.top.as_path());
        let find = |top: &Path| ClosedPlaces::find(top, &self.host, self.options.agent_files);
        top.into_iter().chain(files).map(find).collect()
    }

    /// Returns how many times git was started.
    pub fn starts(&self) -> u64 {
        self.repository.git.starts()
    }

    /// Returns the directory of worktrees.
    pub fn worktrees(&self) -> &Path {
        self.folders.worktrees.root()
    }
}

impl Workplace for GitPlace {
    fn mode(&self) -> Mode {
        Mode::Worktrees
    }

    fn own(&self, files: Vec<String>) {
        self.later_files.lock().unwrap_or_else(PoisonError::into_inner).extend(files);
    }

    fn branch(&self) -> Option<&str> {
        Some(&self.options.branch)
    }

    fn is_checked_out(&self) -> bool {
        let own_git_dir = &self.repository.git_dir;
        let checkouts = self.repository.checkouts_of(&self.options.branch);
        checkouts.is_ok_and(|found| found.iter().any(|checkout| checkout.git_dir == *own_git_dir))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn begin(&self, name: &TaskName) -> Result<(Place, FolderOrigin), PlaceError> {
        self.begin_task(name)
    }

    fn begin_setup(&self, place: &Place) -> Result<bool, PlaceError> {
        self.begin_setup_of(place)
    }

    fn end_setup(&self, place: &Place, guard: &Guard) -> Result<(), PlaceError> {
        self.end_setup_of(place, guard)
    }

    fn freshen(&self, place: &Place) -> Result<Option<Place>, PlaceError> {
        self.freshen_task(place)
    }

    fn guard(&self, place: &Place) -> Result<Guard, PlaceError> {
        self.take_guard(place)
    }

    fn look(&self, place: &Place, guard: &Guard) -> Result<Changes, PlaceError> {
        self.look_guarded(place, guard)
    }

    fn put_back(
        &self,
        place: &Place,
        guard: &Guard,
        verified: &Changes,
        seen: &Changes,
    ) -> Result<RestoreOutcome, PlaceError> {
        self.put_tree_back(place, guard, verified, seen)
    }

    fn drop_ignored(&self, place: &Place) -> Result<Vec<String>, PlaceError> {
        self.drop_new_ignored(place)
    }

    fn recall(&self, place: &Place, tree: &str) -> Result<Option<Changes>, PlaceError> {
        self.recall_look(place, tree)
    }

    fn recall_moved(&self, place: &Place, commit: &CommitId) -> Result<Option<Changes>, PlaceError> {
        self.put_before(place, commit)
    }

    fn begin_review(&self, place: &Place) -> Result<Option<Place>, PlaceError> {
        self.make_review_folder(&place.name).map(Some)
    }

    fn end_review(&self, place: &Place) -> Result<Vec<String>, PlaceError> {
        self.remove_review_folder(&place.name)
    }

    fn patch(&self, place: &Place, changes: &Changes, limit: usize) -> Result<String, PlaceError> {
        self.difference(place, changes, limit)
    }

    fn commit(&self, place: &Place, changes: &Changes, run: &RunId) -> Result<TaskCommit, PlaceError> {
        self.make_commit(place, changes, run)
    }

    fn integrate(&self, place: &Place, made: &TaskCommit) -> Result<Integration, PlaceError> {
        self.integrate_commit(place, made)
    }

    fn find_integrated(&self, name: &TaskName, run: &RunId) -> Result<Option<CommitId>, PlaceError> {
        self.find_commit(name, run)
    }

    fn finish(&self, place: &Place) -> Result<(), PlaceError> {
        self.finish_task(&self.folders.task_dir(&place.name.prd, &place.name.task)?)
    }

    fn leave(&self, prd: &PrdName, is_over: &dyn Fn(&TaskId) -> bool) -> Result<(), PlaceError> {
        for task in self.tasks_with_folders(prd)?.iter().filter(|task| is_over(task)) {
            self.folders.remove(&self.folders.task_dir(prd, task)?)?;
        }
        self.drop_spares(prd)
    }

    fn merge(&self, into: Option<&str>) -> Result<(String, CommitId), PlaceError> {
        self.merge_branch(into)
    }

    fn push(&self) -> Result<String, PlaceError> {
        self.push_branch()
    }
}
