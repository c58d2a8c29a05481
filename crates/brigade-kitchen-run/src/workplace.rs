//! The workplace of tasks: where workers work, and where the results go.
//!
//! The service knows git and files only through a [`Workplace`]:
//!
//! 1. [`begin`](Workplace::begin) makes the folder of a task, or finds the folder of an earlier attempt.
//! 2. The setup command runs until it has succeeded once, between [`begin_setup`](Workplace::begin_setup) and
//!    [`end_setup`](Workplace::end_setup). [`guard`](Workplace::guard) is called right before a worker starts.
//! 3. [`look`](Workplace::look), after all processes of the worker have ended, returns what changed since the task
//!    began. If the attempt changed settings or hooks of git, it fails with [`PlaceError::Tampered`] and runs no git.
//! 4. The caller runs verification, tests and review in the folder.
//! 5. [`commit`](Workplace::commit) makes the commit of the task from exactly what `look` saw.
//! 6. [`integrate`](Workplace::integrate) moves the branch to the commit. If another task moved the branch meanwhile,
//!    the work is moved to the new tip, and the caller repeats step 4 with the returned changes.
//! 7. [`finish`](Workplace::finish) removes the folder after the end of the task was recorded.
//!    [`leave`](Workplace::leave) removes everything kept for later tasks if no more follow.
//!
//! Every step can be repeated after a crash. [`find_integrated`](Workplace::find_integrated) tells whether a commit
//! reached the branch before the crash.

use std::fmt;
use std::path::PathBuf;

use brigade_core::RunId;
use brigade_core::text::escape_blanks;
use brigade_fs::FsError;
use brigade_git::{CommitRefusal, GitError};
use brigade_kitchen::life::Workplace as Mode;
use brigade_kitchen::{PrdName, TaskId};
use thiserror::Error;

use crate::git::InPlaceReason;
use crate::git::settings::Seal;

/// The identity of a task, and its title for the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// The PRD.
    pub prd: PrdName,
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
}

/// The id of a commit, as git writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// Parses an id from git or a journal; `None` if it is not a hexadecimal object id.
    pub fn new(text: &str) -> Option<CommitId> {
        let is_id = matches!(text.len(), 40 | 64)
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| CommitId(text.to_owned()))
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The commit of a finished task, which the branch must contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneWork {
    /// The task.
    pub task: TaskId,
    /// The full name of the task, as in the trailer of the commit.
    pub shown: String,
    /// The run that did it; `None` if unknown.
    pub run: Option<RunId>,
    /// The commit.
    pub commit: CommitId,
}

/// The folder of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The task.
    pub name: TaskName,
    /// The working directory of the worker.
    pub folder: PathBuf,
    /// The root of its worktree, relative to the workspace; `None` in place or outside of the workspace.
    pub worktree: Option<String>,
    /// The root of its worktree, which the worker may write; `None` in place.
    pub root: Option<PathBuf>,
    /// The base commit of the work; `None` without git.
    pub base: Option<CommitId>,
}

/// How the folder of a task was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderOrigin {
    /// It is new, from the tip of the branch.
    New,
    /// It existed, with the work of an earlier attempt.
    Found,
    /// It was missing or damaged, and was recreated without earlier work.
    Remade,
}

/// The settings and hooks that git would use, as they were before an attempt. Only the workplace that made it can
/// compare it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard(pub(crate) Seal);

/// The kind of change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It was added.
    Added,
    /// Its content or mode changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// A file that changed since the task began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedFile {
    /// Its path for display, relative to the root of the repository or workspace.
    pub path: String,
    /// The kind of change.
    pub kind: ChangeKind,
}

/// A marker of unfinished work in a line that was added or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The path of the file for display.
    pub path: String,
    /// The number of the line.
    pub line: u64,
    /// The marker: one of [`MARKERS`], or a conflict marker.
    pub word: &'static str,
}

impl Marker {
    /// Returns whether it is a conflict marker that Brigade wrote into the file.
    pub fn is_of_conflict(&self) -> bool {
        self.word == OWN_CONFLICT
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.word)
    }
}

/// A conflict marker.
pub(crate) const CONFLICT: &str = "<<<<<<<";

/// A conflict marker that Brigade wrote. Git adds the word `commit`.
pub(crate) const OWN_CONFLICT: &str = "<<<<<<< commit";

/// Markers of unfinished work. A finished task must not add lines with them.
pub const MARKERS: [&str; 4] = ["TODO", "FIXME", "HACK", "XXX"];

/// The changes since a task began, in commits, index, work tree and untracked files. Ignored files do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A fingerprint of the current files. With git, it is the tree for the commit.
    pub tree: String,
    /// The changed files, by path.
    pub files: Vec<ChangedFile>,
    /// Markers in lines that were added or changed.
    pub markers: Vec<Marker>,
    /// Nested repositories, and submodules that were moved. They cannot be committed.
    pub nested: Vec<String>,
    /// The last commit of the worker, if it is based on the base.
    pub head: Option<CommitId>,
}

impl Changes {
    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.nested.is_empty()
    }
}

/// The commit of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCommit {
    /// The commit; `None` without git.
    pub commit: Option<CommitId>,
    /// Why the commits of the worker are not kept, although that was requested.
    pub squashed: Option<&'static str>,
}

/// The result of an integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integration {
    /// The branch is at this commit. `None` in place.
    Done(Option<CommitId>),
    /// The branch had moved, so the work was moved to its new tip. The new tree is not verified.
    Moved {
        /// The place, with the new base.
        place: Box<Place>,
        /// The changes relative to the new base.
        changes: Box<Changes>,
    },
    /// The work conflicts with other work in these files. The folder is at the new tip, with conflict markers for the
    /// next attempt.
    Conflict(Vec<String>),
}

/// The result of cleaning the folder of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanedFolder {
    /// The PRD.
    pub prd: PrdName,
    /// The task.
    pub task: TaskId,
    /// Why it was kept; `None` if it was removed.
    pub kept: Option<String>,
}

/// The result of undoing changes that were not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// There were no such changes.
    Unchanged,
    /// The files are as verified again. These files had been changed.
    Done(Vec<String>),
    /// These files stay changed, because their earlier contents are not kept.
    Stays(Vec<String>),
}

/// Why an operation on the work of a task failed. The work is not lost.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Settings or hooks of git changed. Git was not run.
    #[error("settings or hooks of git were changed: {}", .what.join(", "))]
    Tampered {
        /// The changes, as paths or names of settings.
        what: Vec<String>,
    },
    /// The folder of the task is missing, or is a link.
    #[error("the worktree of the task, `{0}`, is missing")]
    Gone(String),
    /// The verified work no longer exists.
    #[error("the checked work of `{0}` is missing")]
    Lost(TaskId),
    /// The work contains nested repositories.
    #[error("these folders are nested git repositories and cannot be committed: {}", .0.join(", "))]
    Nested(Vec<String>),
    /// A commit changes a closed place, or adds a secret.
    #[error(transparent)]
    Refused(CommitRefusal),
    /// Files that git does not track are where a commit adds some.
    #[error(
        "`{branch}` is checked out in `{folder}`, and git does not track `{file}` there, which would be overwritten; move it away"
    )]
    InTheWay {
        /// The branch.
        branch: String,
        /// The directory of the checkout.
        folder: String,
        /// The file.
        file: String,
    },
    /// The work has files that git would wait for, such as named pipes, or that are too large. Git was not run.
    #[error("these files are named pipes, devices or too large for git: {}", .0.join(", "))]
    NotForGit(Vec<String>),
    /// The branch was deleted.
    #[error("the branch `{0}` was deleted; the work is still in the worktree")]
    BranchGone(String),
    /// The branch lacks the work of finished tasks.
    #[error("the branch `{branch}` does not contain the work of {}; {way}", lost_commit_message(.task, .commit, *.more))]
    WorkLost {
        /// The branch.
        branch: String,
        /// The first of the tasks.
        task: TaskId,
        /// Its commit.
        commit: CommitId,
        /// The number of other tasks.
        more: usize,
        /// What to do about it.
        way: String,
    },
    /// The branch name is invalid.
    #[error("`{0}` is not a valid branch name")]
    BranchName(String),
    /// The branch is checked out with uncommitted changes.
    #[error("the branch `{branch}` is checked out in `{folder}` with uncommitted changes: {}", .files.join(", "))]
    Dirty {
        /// The branch.
        branch: String,
        /// The directory of the checkout.
        folder: String,
        /// Some of the files.
        files: Vec<String>,
    },
    /// An operation in progress in the repository holds the branch.
    #[error("the repository is in the middle of {0}; end it first")]
    Busy(&'static str),
    /// Merging two branches needs a person.
    #[error("the branches conflict in {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// Git, a repository or a commit is missing.
    #[error(transparent)]
    WithoutGit(#[from] InPlaceReason),
    /// The operation needs git, but tasks are worked on in place.
    #[error("the tasks are worked on in place, without a branch")]
    InPlace,
    /// There is no branch to merge to, or no remote to push to.
    #[error("{0}")]
    Nowhere(String),
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    Fs(#[from] FsError),
}

fn lost_commit_message(task: &TaskId, commit: &CommitId, more: usize) -> String {
    let s = if more == 1 { "" } else { "s" };
    let more = if more == 0 { String::new() } else { format!(" and {more} other task{s}") };
    format!("{task} (commit {commit}){more}")
}

/// Formats a path for display.
pub(crate) fn shown_path(path: &[u8]) -> String {
    escape_blanks(&String::from_utf8_lossy(path)).into_owned()
}

/// The workplace of tasks. See the [module](self).
pub trait Workplace: Send + Sync {
    /// Returns whether several tasks can be worked on concurrently.
    fn mode(&self) -> Mode;

    /// Returns the branch that the work goes to; `None` in place.
    fn branch(&self) -> Option<&str> {
        None
    }

    /// Returns whether the workspace itself has the branch checked out, so that each task updates it.
    fn is_checked_out(&self) -> bool {
        false
    }

    /// Adds files that Brigade writes since settings changed. They never count as changed by a task.
    fn own(&self, files: Vec<String>);

    /// Lists notes for people about how the workplace was created.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes the folder of a task, or finds the folder of an earlier attempt.
    ///
    /// # Errors
    /// Fails if the branch was deleted, git fails, or on a disk error.
    fn begin(&self, name: &TaskName) -> Result<(Place, FolderOrigin), PlaceError>;

    /// Returns whether the setup command must still run in the worktree of a task. Records the state before it.
    ///
    /// # Errors
    /// Fails if git fails, or on a disk error.
    fn begin_setup(&self, _: &Place) -> Result<bool, PlaceError> {
        Ok(false)
    }

    /// Records that the setup command succeeded, and what it made. Those files count neither as changes nor as work.
    ///
    /// # Errors
    /// Same as [`Workplace::look`].
    fn end_setup(&self, _: &Place, _: &Guard) -> Result<(), PlaceError> {
        Ok(())
    }

    /// Moves an unchanged folder of a task to the tip of the branch. Returns the new place; `None` if it is at the tip
    /// already or something changed.
    ///
    /// # Errors
    /// Fails if the branch was deleted or lacks the work of finished tasks, git fails, or on a disk error.
    fn freshen(&self, _: &Place) -> Result<Option<Place>, PlaceError> {
        Ok(None)
    }

    /// Records the settings and hooks that git would use. First restores settings of the task's git directory that an
    /// earlier attempt changed.
    ///
    /// # Errors
    /// Fails if settings of the workspace changed since the service started, or on a disk error.
    fn guard(&self, place: &Place) -> Result<Guard, PlaceError>;

    /// Returns what changed since the task began.
    ///
    /// # Errors
    /// Fails with [`PlaceError::Tampered`] if the settings differ from `guard`; then git is not run. Fails with
    /// [`PlaceError::Gone`] if the folder is missing.
    fn look(&self, place: &Place, guard: &Guard) -> Result<Changes, PlaceError>;

    /// Undoes changes since the last look, `seen`, made by a reviewer that must not change anything. Restores the files
    /// of `verified`.
    ///
    /// # Errors
    /// Same as [`Workplace::look`].
    fn put_back(
        &self,
        place: &Place,
        guard: &Guard,
        verified: &Changes,
        seen: &Changes,
    ) -> Result<RestoreOutcome, PlaceError>;

    /// Removes and returns ignored files that were created since the task began. Verification must not depend on files
    /// that exist only in the folder of the task. In place, such files belong to the user and are kept.
    /// # Errors
    /// Fails if git fails, or on a disk error.
    fn drop_ignored(&self, _: &Place) -> Result<Vec<String>, PlaceError> {
        Ok(Vec::new())
    }

    /// Returns the changes that an earlier look found, by their tree, regardless of later changes by verification. A
    /// restarted service uses it to continue with the work that was verified. Returns `None` if the tree is unknown, or
    /// the work has another base now.
    /// # Errors
    /// Fails if git fails, or on a disk error.
    fn recall(&self, place: &Place, tree: &str) -> Result<Option<Changes>, PlaceError>;

    /// Returns work that a killed service moved to another base without recording it. It is not verified there yet.
    ///
    /// # Errors
    /// Fails if git fails, or on a disk error.
    fn recall_moved(&self, _: &Place, _: &CommitId) -> Result<Option<Changes>, PlaceError> {
        Ok(None)
    }

    /// Makes the directory in which a reviewer of this work starts: the files of the commit that a person approved,
    /// without anything of the work. Returns `None` in place, where there is no such commit.
    ///
    /// # Errors
    /// Fails if git fails, or on a disk error.
    fn begin_review(&self, _: &Place) -> Result<Option<Place>, PlaceError> {
        Ok(None)
    }

    /// Removes the directory of a reviewer. Returns the files that it changed there.
    ///
    /// # Errors
    /// Same as [`Workplace::begin_review`].
    fn end_review(&self, _: &Place) -> Result<Vec<String>, PlaceError> {
        Ok(Vec::new())
    }

    /// Returns a diff for the reviewer, limited to about this many bytes.
    ///
    /// # Errors
    /// Fails if git fails, or on a disk error.
    fn patch(&self, place: &Place, changes: &Changes, limit: usize) -> Result<String, PlaceError>;

    /// Makes the commit of a task from exactly what [`Workplace::look`] saw. Later changes in the folder are not
    /// included.
    ///
    /// # Errors
    /// Fails if the work contains nested repositories, or git fails.
    fn commit(&self, place: &Place, changes: &Changes, run: &RunId) -> Result<TaskCommit, PlaceError>;

    /// Moves the branch to a commit, if the branch is still at its base. Otherwise moves the work to the new tip.
    ///
    /// # Errors
    /// Fails if the branch was deleted or is checked out with changes, or git fails. Then nothing has moved.
    fn integrate(&self, place: &Place, made: &TaskCommit) -> Result<Integration, PlaceError>;

    /// Finds the commit of a task's run in the branch.
    ///
    /// # Errors
    /// Fails if git fails.
    fn find_integrated(&self, _: &TaskName, _: &RunId) -> Result<Option<CommitId>, PlaceError> {
        Ok(None)
    }

    /// Removes the folder of a finished task. Does nothing if it does not exist. A later task may get the folder as if
    /// it were new.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn finish(&self, place: &Place) -> Result<(), PlaceError>;

    /// Removes folders that are kept for later tasks, and leftover folders of finished tasks from a killed service.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn leave(&self, _: &PrdName, _: &dyn Fn(&TaskId) -> bool) -> Result<(), PlaceError> {
        Ok(())
    }

    /// Merges the branch into `into` or the default branch, without force. Returns the name and new tip of that branch.
    ///
    /// # Errors
    /// Fails if the branches conflict, or the other branch is checked out with changes.
    fn merge(&self, _: Option<&str>) -> Result<(String, CommitId), PlaceError> {
        Err(PlaceError::InPlace)
    }

    /// Pushes the branch to its remote, without force. Returns the name of the remote.
    ///
    /// # Errors
    /// Fails if there is no remote, or the remote refuses.
    fn push(&self) -> Result<String, PlaceError> {
        Err(PlaceError::InPlace)
    }
}
