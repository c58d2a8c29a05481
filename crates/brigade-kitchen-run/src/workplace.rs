//! Where a task is worked on, and where its work goes.
//!
//! The life of a task asks a [`Workplace`] and nothing else about git or files:
//!
//! 1. [`begin`](Workplace::begin) makes the folder of a task, or finds the one of an earlier attempt.
//! 2. The setup command runs until it has succeeded once, between [`begin_setup`](Workplace::begin_setup) and
//!    [`end_setup`](Workplace::end_setup); [`guard`](Workplace::guard) is taken right before a worker starts.
//! 3. [`look`](Workplace::look), after all of its processes have ended, says what changed since the task began. It
//!    fails with [`PlaceError::Tampered`] if the attempt changed settings or hooks of git, and starts no git then.
//! 4. The caller runs verification, tests and review on the folder.
//! 5. [`commit`](Workplace::commit) makes the commit of the task from exactly what `look` saw.
//! 6. [`integrate`](Workplace::integrate) moves the branch to it. If another task moved the branch meanwhile, the work
//!    is put on the new tip, and the caller goes on at step 4 with the changes that it returns.
//! 7. [`finish`](Workplace::finish) takes the folder away, once the end of the task is recorded, and
//!    [`leave`](Workplace::leave) removes what is left for others when there are no more tasks.
//!
//! Every step can be repeated after a crash. After a commit that may have been integrated,
//! [`find_integrated`](Workplace::find_integrated) tells.

use std::fmt;
use std::path::PathBuf;

use brigade_core::RunId;
use brigade_core::text::escape_blanks;
use brigade_fs::FsError;
use brigade_git::GitError;
use brigade_kitchen::{PrdName, TaskId};
use thiserror::Error;

use crate::git::InPlaceReason;

/// A task of a PRD, and what stands in its commit.
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
    /// Takes an id that git printed or a journal has; `None` if it is no hexadecimal object id.
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

/// The commit of a task that is done, which the branch has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneWork {
    /// The task.
    pub task: TaskId,
    /// How it is shown, which its trailer has.
    pub shown: String,
    /// The run that did it; `None` if it is not known.
    pub run: Option<RunId>,
    /// The commit.
    pub commit: CommitId,
}

/// The folder of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The task.
    pub name: TaskName,
    /// Where its worker runs.
    pub folder: PathBuf,
    /// The root of its worktree, relative to the workspace; `None` in place or when it lies outside.
    pub worktree: Option<String>,
    /// The root of its worktree, which the worker may write; `None` in place.
    pub root: Option<PathBuf>,
    /// The commit that the work stands on; `None` without git.
    pub base: Option<CommitId>,
}

/// How the folder of a task came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderOrigin {
    /// It was made from the tip of the branch.
    New,
    /// It was there, with the work of an earlier attempt.
    Found,
    /// It was gone or damaged, and was made anew without earlier work.
    Remade,
}

/// What git would be run with, as it was before an attempt. Only the workplace that made it can compare it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard(pub(crate) Vec<(String, String)>);

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or mode is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// A file that changed since the task began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedFile {
    /// Its path from the root of the repository or workspace, as it can be shown.
    pub path: String,
    /// What happened.
    pub kind: ChangeKind,
}

/// A line that was added or changed and has a word of open work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The path of the file, as it can be shown.
    pub path: String,
    /// The number of the line.
    pub line: u64,
    /// The word: one of [`MARKERS`], or the mark of a conflict.
    pub word: &'static str,
}

impl Marker {
    /// Tells whether a conflict that Brigade wrote into the file was left.
    pub fn is_of_conflict(&self) -> bool {
        self.word == OWN_CONFLICT
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.word)
    }
}

/// The mark of a conflict that was left in a file.
pub(crate) const CONFLICT: &str = "<<<<<<<";

/// The same, of a conflict that Brigade wrote into it: git names the commit.
pub(crate) const OWN_CONFLICT: &str = "<<<<<<< commit";

/// The words of open work that a finished task has in none of its lines.
pub const MARKERS: [&str; 4] = ["TODO", "FIXME", "HACK", "XXX"];

/// What changed since a task began: by commits, index, work tree and untracked files. Ignored files do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What the files are now: equal for equal files. With git, the tree that is committed.
    pub tree: String,
    /// What changed, by path.
    pub files: Vec<ChangedFile>,
    /// Open work in lines that were added or changed.
    pub markers: Vec<Marker>,
    /// Folders that are a repository of their own, or submodules that were moved. They cannot be committed.
    pub nested: Vec<String>,
    /// The last commit that the worker made, if it stands on the base.
    pub head: Option<CommitId>,
}

impl Changes {
    /// Tells whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.nested.is_empty()
    }
}

/// The commit of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCommit {
    /// The commit; `None` without git.
    pub commit: Option<CommitId>,
    /// Why the commits of the worker are not kept, although that was asked for.
    pub squashed: Option<&'static str>,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integration {
    /// The branch is at the commit. In place there is none.
    Done(Option<CommitId>),
    /// The branch had moved. The work stands on its new tip now, as a tree that nobody verified.
    Moved {
        /// The place, with its new base.
        place: Box<Place>,
        /// What the work changes there.
        changes: Box<Changes>,
    },
    /// The work conflicts with that of others in these files. The folder stands on the new tip, with both sides marked
    /// in the files, for the next attempt.
    Conflict(Vec<String>),
}

/// Where a kept work can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbandonedRef {
    /// The ref that keeps it; `None` if there was nothing to keep.
    pub reference: Option<String>,
}

/// What `clean` did with the folder of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanedFolder {
    /// The PRD.
    pub prd: PrdName,
    /// The task.
    pub task: TaskId,
    /// Why it was kept; `None` if it was removed.
    pub kept: Option<String>,
}

/// What became of changes that nobody was to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// There are none.
    Unchanged,
    /// The files are what was verified. These had been changed.
    Done(Vec<String>),
    /// These files stay changed, because what they were is not kept.
    Stays(Vec<String>),
}

/// Whether several tasks can be worked on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each task has a folder of its own.
    Many,
    /// All tasks have the same folder.
    One,
}

/// Why something could not be done with the work of a task. Nothing is lost by it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Settings or hooks of git are not what they were; git was not run.
    #[error("settings or hooks of git were changed: {}", .what.join(", "))]
    Tampered {
        /// What changed, as paths or names of settings.
        what: Vec<String>,
    },
    /// The folder of the task is gone, or is a link.
    #[error("the worktree of the task, `{0}`, is gone")]
    Gone(String),
    /// What was verified is not what there is.
    #[error("the work of `{0}` that was checked is gone")]
    Lost(TaskId),
    /// The work holds repositories of their own.
    #[error("these folders are git repositories of their own and cannot be committed: {}", .0.join(", "))]
    Nested(Vec<String>),
    /// There is no such branch any more.
    #[error("the branch `{0}` was deleted; the work is still in the worktree")]
    BranchGone(String),
    /// The branch does not hold the work of tasks that are done.
    #[error("the branch `{branch}` does not hold the work of {}; {way}", lost_commit_message(.task, .commit, *.more))]
    WorkLost {
        /// The branch.
        branch: String,
        /// The first of the tasks.
        task: TaskId,
        /// Its commit.
        commit: CommitId,
        /// How many other tasks.
        more: usize,
        /// What can be done about it.
        way: String,
    },
    /// The name cannot be one of a branch.
    #[error("`{0}` is not a valid branch name")]
    BranchName(String),
    /// The branch is checked out and has changes that are not committed.
    #[error("the branch `{branch}` is checked out in `{folder}` with uncommitted changes: {}", .files.join(", "))]
    Dirty {
        /// The branch.
        branch: String,
        /// Where.
        folder: String,
        /// Some of the files.
        files: Vec<String>,
    },
    /// The repository is in the middle of something that holds the branch.
    #[error("the repository is in the middle of {0}; end it first")]
    Busy(&'static str),
    /// Two branches cannot be merged without a person.
    #[error("the branches conflict in {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// There is no git, no repository or no commit.
    #[error("{0}")]
    WithoutGit(InPlaceReason),
    /// Something that needs git was asked for in place.
    #[error("the tasks are worked on in place, without a branch")]
    InPlace,
    /// There is nothing to merge to, or nowhere to push.
    #[error("{0}")]
    Nowhere(String),
    /// Git did not do what was asked.
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

/// Returns a path as it can be shown.
pub(crate) fn shown_path(path: &[u8]) -> String {
    escape_blanks(&String::from_utf8_lossy(path)).into_owned()
}

/// Where tasks are worked on. See the [module](self).
pub trait Workplace: Send + Sync {
    /// Tells whether several tasks can be worked on at once.
    fn room(&self) -> Isolation;

    /// Returns the branch that the work goes to; `None` in place.
    fn branch(&self) -> Option<&str>;

    /// Tells whether the workspace itself has the branch checked out, so that it follows each task.
    fn is_checked_out(&self) -> bool {
        false
    }

    /// Lists what a person should know of how the place was made.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes the folder of a task, or finds the one of an earlier attempt.
    ///
    /// # Errors
    /// Fails if the branch is gone, git fails or the disk does.
    fn begin(&self, name: &TaskName) -> Result<(Place, FolderOrigin), PlaceError>;

    /// Tells whether the setup command is still to succeed in the worktree of a task, and keeps what is there before
    /// it.
    ///
    /// # Errors
    /// Fails if git fails or the disk does.
    fn begin_setup(&self, _: &Place) -> Result<bool, PlaceError> {
        Ok(false)
    }

    /// Keeps that the setup command succeeded, and what it made: that counts neither as a change nor as work.
    ///
    /// # Errors
    /// As [`Workplace::look`].
    fn end_setup(&self, _: &Place, _: &Guard) -> Result<(), PlaceError> {
        Ok(())
    }

    /// Puts the folder of a task in which nothing changed on the tip of the branch. Returns the place there; `None` if
    /// it stands there already, or something changed.
    ///
    /// # Errors
    /// Fails if the branch is gone or lacks the work of tasks that are done, git fails or the disk does.
    fn freshen(&self, _: &Place) -> Result<Option<Place>, PlaceError> {
        Ok(None)
    }

    /// Takes down what git would be run with. Settings of the task's own git directory that an earlier attempt changed
    /// are first made what they were.
    ///
    /// # Errors
    /// Fails if settings of the workspace are not those that the service began with, or on a disk error.
    fn guard(&self, place: &Place) -> Result<Guard, PlaceError>;

    /// Finds out what changed since the task began.
    ///
    /// # Errors
    /// Fails with [`PlaceError::Tampered`] before git is started if `guard` is not what there is now, and with
    /// [`PlaceError::Gone`] if the folder is.
    fn look(&self, place: &Place, guard: &Guard) -> Result<Changes, PlaceError>;

    /// Undoes what changed since `seen`, the last look, by somebody who may change nothing: the files become those of
    /// `verified` again.
    ///
    /// # Errors
    /// As [`Workplace::look`].
    fn put_back(
        &self,
        place: &Place,
        guard: &Guard,
        verified: &Changes,
        seen: &Changes,
    ) -> Result<RestoreOutcome, PlaceError>;

    /// Removes what git ignores and was not there when the task began, and returns it. What nothing holds but the
    /// folder of the task must not be what verification finds. In place, such files are the user's, and stay.
    ///
    /// # Errors
    /// Fails if git fails or the disk does.
    fn drop_ignored(&self, _: &Place) -> Result<Vec<String>, PlaceError> {
        Ok(Vec::new())
    }

    /// Returns what an earlier look found, by its tree, whatever verification did to the files since. A service that
    /// was killed goes on with what it verified. `None` if that is not known any more, or the work stands on another
    /// commit.
    ///
    /// # Errors
    /// Fails if git fails or the disk does.
    fn recall(&self, place: &Place, tree: &str) -> Result<Option<Changes>, PlaceError>;

    /// Returns the work as it was put on another commit than the one that a commit of it was made on, by a service that
    /// was killed before it could record that. It is not verified there yet.
    ///
    /// # Errors
    /// Fails if git fails or the disk does.
    fn recall_moved(&self, _: &Place, _: &CommitId) -> Result<Option<Changes>, PlaceError> {
        Ok(None)
    }

    /// Returns the difference for a reviewer, at most about this many bytes of it.
    ///
    /// # Errors
    /// Fails if git fails or the disk does.
    fn patch(&self, place: &Place, changes: &Changes, limit: usize) -> Result<String, PlaceError>;

    /// Makes the commit of a task from exactly what [`Workplace::look`] saw. What changed in the folder since is not in
    /// it.
    ///
    /// # Errors
    /// Fails if the work holds nested repositories, or git fails.
    fn commit(&self, place: &Place, changes: &Changes, run: &RunId) -> Result<TaskCommit, PlaceError>;

    /// Moves the branch to a commit, if it still is where the commit stands. Otherwise puts the work on the new tip.
    ///
    /// # Errors
    /// Fails if the branch is gone, is checked out with changes, or git fails. Nothing has moved then.
    fn integrate(&self, place: &Place, made: &TaskCommit) -> Result<Integration, PlaceError>;

    /// Finds the commit of a task and a run in the branch.
    ///
    /// # Errors
    /// Fails if git fails.
    fn find_integrated(&self, name: &TaskName, run: &RunId) -> Result<Option<CommitId>, PlaceError>;

    /// Takes the folder away from a task that has ended. A folder that is not there is no error. Another task may get
    /// it, as if it were new.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn finish(&self, place: &Place) -> Result<(), PlaceError>;

    /// Removes what is kept for tasks to come, because there are none, and the folders of these tasks that are done: a
    /// service that was killed may have left them.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn leave(&self, _: &PrdName, _: &dyn Fn(&TaskId) -> bool) -> Result<(), PlaceError> {
        Ok(())
    }

    /// Removes the folders of a PRD whose work is in the branch.
    ///
    /// # Errors
    /// Fails if git fails or the disk does.
    fn clean(&self, prd: &PrdName) -> Result<Vec<CleanedFolder>, PlaceError>;

    /// Removes the folder of a task, after its work was kept under `refs/brigade/abandoned/`.
    ///
    /// # Errors
    /// Fails if git fails or the disk does. The folder is there then.
    fn abandon(&self, prd: &PrdName, task: &TaskId) -> Result<AbandonedRef, PlaceError>;

    /// Merges the branch into another one, `into` or the default branch. Never forces; returns its name and new tip.
    ///
    /// # Errors
    /// Fails if the branches conflict, or the other one is checked out with changes.
    fn merge(&self, into: Option<&str>) -> Result<(String, CommitId), PlaceError>;

    /// Pushes the branch to its remote, never by force; returns the name of the remote.
    ///
    /// # Errors
    /// Fails if there is no remote, or it refuses.
    fn push(&self) -> Result<String, PlaceError>;
}
