//! `clean`: removes worktrees whose work is in the branch, and abandons work of single tasks.

use brigade_core::{ErrorCode, ErrorKind, Hint, NextStep, Report, StepFormatter, text::escape_terminal};
use brigade_fs::{DiskFs, FileKind, Fs as _, FsError, OrAbsent, RelPath};
use brigade_kitchen::approval::PrdOrigin;
use brigade_kitchen::config::Switch;
use brigade_kitchen::{PrdName, TaskId};
use brigade_macros::{document, part};
use brigade_policy::Failure;

use crate::gather::{PrdSearch, PrdState};
use crate::git::spare::SPARE;
use crate::git::{GitPlace, worktrees_path};
use crate::kitchen::Kitchen;
use crate::lock::{ServiceLock, ServiceLockError};
use crate::paths::KITCHEN;
use crate::service::{ServeError, git_options};
use crate::workplace::PlaceError;

/// The report of `clean`.
#[document("brigade.kitchen-clean.v1")]
#[derive(PartialEq, Eq)]
pub struct KitchenCleanReport {
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace.
    pub prd_path: String,
    /// How the PRD was found.
    pub taken: PrdOrigin,
    /// The tasks whose worktrees were removed.
    pub removed: Vec<TaskId>,
    /// The tasks whose worktrees were kept.
    pub kept: Vec<KeptWorktree>,
    /// The task whose work was abandoned.
    pub abandoned: Option<AbandonedWork>,
    /// The next command to try, if worktrees were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_command: Option<Hint>,
}

impl KitchenCleanReport {
    /// Writes the next command in the words of one interface.
    #[must_use]
    pub fn spelled(self, speller: &dyn StepFormatter) -> KitchenCleanReport {
        KitchenCleanReport { next_command: self.next_command.map(|next| next.spelled(speller, None)), ..self }
    }
}

/// A worktree that was kept.
#[part(PartialEq, Eq)]
pub struct KeptWorktree {
    /// The task.
    pub task: TaskId,
    /// Why it was kept.
    pub reason: String,
}

/// Abandoned work of a task.
#[part(PartialEq, Eq)]
pub struct AbandonedWork {
    /// The task.
    pub task: TaskId,
    /// The ref that keeps its work; `null` if there was no work.
    pub reference: Option<String>,
}

impl Kitchen<'_> {
    /// Removes the worktrees of a PRD whose work is in the branch. With `abandon`, only the worktree of that task is
    /// removed, after its work was saved under a ref.
    ///
    /// Work that is not in the branch is never lost. Nothing is removed while a service works on the PRD.
    ///
    /// # Errors
    /// Fails if the PRD does not exist or has errors, the task has no worktree, a service works on the PRD, git fails,
    /// or on a disk error.
    pub fn clean(&self, search: &PrdSearch, abandon: Option<&str>) -> Result<KitchenCleanReport, Failure> {
        let state = self.prd_state(&search.to_show())?;
        let mut report = KitchenCleanReport {
            schema: KitchenCleanReport::SCHEMA,
            target: self.target(),
            prd_path: state.path.to_string(),
            taken: state.taken,
            removed: Vec::new(),
            kept: Vec::new(),
            abandoned: None,
            next_command: None,
        };
        let with_folders = self.tasks_with_folders(&state.name, &state.crew.settings.worktree_path)?;
        let abandoned = abandon.map(|typed| with_folder(typed, &with_folders)).transpose()?;
        if with_folders.is_empty() && !self.has_spares(&state.name, &state.crew.settings.worktree_path)? {
            return Ok(report);
        }
        let lock = match ServiceLock::take(self.fs.clone(), &state.name) {
            Ok(lock) => lock,
            Err(ServiceLockError::Held(holder)) if abandoned.is_none() => {
                let reason = format!("{holder} serves the PRD");
                let kept = |task| KeptWorktree { task, reason: reason.clone() };
                report.kept = with_folders.into_iter().map(kept).collect();
                return Ok(report);
            }
            Err(error) => return Err(ServeError::Lock(error).into()),
        };
        let place = self.place_to_clean(&state).map_err(ServeError::Place)?;
        if let Some(task) = abandoned {
            let reference = place.abandon(&state.name, &task).map_err(ServeError::Place)?;
            report.removed.push(task.clone());
            report.abandoned = Some(AbandonedWork { task, reference });
        } else {
            for cleaned in place.clean(&state.name).map_err(ServeError::Place)? {
                match cleaned.kept {
                    None => report.removed.push(cleaned.task),
                    Some(reason) => report.kept.push(KeptWorktree { task: cleaned.task, reason }),
                }
            }
        }
        drop(lock);
        report.next_command = report.kept.first().map(|first| {
            let (prd, task) = (report.prd_path.clone(), first.task.to_string());
            NextStep::AbandonWork { prd, task }.into()
        });
        Ok(report)
    }

    /// Opens the repository to remove worktrees. Does not create a branch.
    fn place_to_clean(&self, state: &PrdState) -> Result<GitPlace, PlaceError> {
        let settings = &state.crew.settings;
        let Some(branch) = state.prd.branch_name.as_deref().filter(|_| settings.worktrees == Switch::On)
        else {
            return Err(PlaceError::InPlace);
        };
        let options = git_options(branch, settings, &[]);
        GitPlace::open_to_clean(self.fs.root(), self.environment, options).map_err(|error| match error {
            PlaceError::WithoutGit(_) => PlaceError::InPlace,
            error => error,
        })
    }

    /// Lists the tasks of a PRD that have a worktree or a directory of Brigade.
    pub(crate) fn tasks_with_folders(
        &self,
        name: &PrdName,
        worktree_path: &str,
    ) -> Result<Vec<TaskId>, FsError> {
        let mut tasks = self.names_below(&format!("{KITCHEN}/{name}/git"))?;
        let worktrees = format!("{worktree_path}/{name}");
        if worktrees.parse::<RelPath>().is_ok() {
            tasks.extend(self.names_below(&worktrees)?);
        }
        tasks.sort();
        tasks.dedup();
        Ok(tasks)
    }

    /// Returns whether a killed service left spare worktrees.
    fn has_spares(&self, name: &PrdName, worktree_path: &str) -> Result<bool, FsError> {
        // The directory may be outside of the workspace.
        let Ok(worktrees) = DiskFs::open(&worktrees_path(self.fs.root(), worktree_path)) else {
            return Ok(false);
        };
        let entries = worktrees.list_dir(&RelPath::composed(name.as_str())).or_absent()?.unwrap_or_default();
        Ok(entries.iter().any(|entry| entry.name.starts_with(SPARE)))
    }

    fn names_below(&self, folder: &str) -> Result<Vec<TaskId>, FsError> {
        let entries =
            self.fs.list_dir(&RelPath::composed(folder)).or_absent()?.unwrap_or_default().into_iter();
        let folders = entries.filter(|entry| entry.kind == FileKind::Directory);
        Ok(folders.filter_map(|entry| entry.name.parse().ok()).collect())
    }
}

/// Returns the task with a typed id, if it has a worktree.
fn with_folder(typed: &str, with_folders: &[TaskId]) -> Result<TaskId, Failure> {
    if let Some(task) = with_folders.iter().find(|task| task.as_str() == typed) {
        return Ok(task.clone());
    }
    let message = format!("the task `{}` has no worktree", escape_terminal(typed));
    let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::TaskMissing);
    let ids: Vec<&str> = with_folders.iter().map(TaskId::as_str).collect();
    Err(if ids.is_empty() {
        failure.hint("no task of this PRD has one")
    } else {
        failure.hint(format!("there are {}", ids.join(", ")))
    })
}
