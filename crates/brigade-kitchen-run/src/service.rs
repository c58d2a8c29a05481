//! The service: a loop that works through a PRD.
//!
//! One thread owns the journal and makes the decisions. Slow work (an attempt, a command, git) is done in a job, a
//! thread for one step of one task. The job sends its result to the loop. Each step is recorded before the next one
//! starts, so a killed service continues where its journal ends.

mod answers;
mod between;
mod follow;
mod job;
mod main_loop;
mod outside;
mod phase;
mod report;
mod served_prd;
mod steps;

use std::sync::Arc;

use brigade_core::{AgentFiles, ErrorCode, ErrorKind, NextStep};
use brigade_fs::{FsError, RelPath};
use brigade_kitchen::approval::{Change, MissingProgramReason, changes};
use brigade_kitchen::config::{Flags, Integrate, Settings, Switch};
use brigade_kitchen::life::{Life, RunSet, SelectTasksError};
use brigade_kitchen::prd::ValidPrd;
use brigade_kitchen::service::ServiceReport;
use brigade_kitchen::{PrdName, Tier};
use brigade_policy::Failure;
use brigade_process::CancelToken;
use brigade_redact::Redactor;
use thiserror::Error;

use crate::git::{Commits, GitOptions, GitPlace};
use crate::in_place::InPlaceWorkplace;
use crate::journal::{JournalError, PrdJournal};
use crate::kitchen::Kitchen;
use crate::lock::{ServiceLock, ServiceLockError};
use crate::paths::PrdFiles;
use crate::projections::Targets;
use crate::rehearsal::no_such_tasks;
use crate::workplace::{CommitId, DoneWork, PlaceError, Workplace};
use main_loop::ServiceLoop;
use served_prd::ServedPrd;

pub use follow::{Activity, Follower, NoFollower, PrintedLines, RunningRow, ServiceView};

/// The options of a service, as given on the command line.
#[derive(Clone, Debug, Default)]
pub struct ServiceOptions {
    /// Flags that change settings.
    pub flags: Flags,
    /// Only these tasks; empty for all.
    pub only: Vec<String>,
    /// Without these.
    pub skip: Vec<String>,
    /// Start at this task, in the order of the file.
    pub from: Option<String>,
    /// Stop after this task.
    pub until: Option<String>,
    /// The PRD to serve next, if any.
    pub next: Option<PrdName>,
    /// Ends the service. The second request ends it at once.
    pub cancel: Option<CancelToken>,
    /// The difference between local time and UTC, for logs.
    pub local_offset_minutes: i32,
    /// Receives findings of workers, in addition to the backlog file.
    pub backlog: Option<BacklogSink>,
}

impl ServiceOptions {
    /// Selects the tasks of a PRD.
    pub(crate) fn select(&self, prd: &ValidPrd) -> Result<RunSet, SelectTasksError> {
        RunSet::select(prd, &self.only, &self.skip, self.from.as_deref(), self.until.as_deref())
    }
}

/// Receives the name of a task, and the findings of its worker.
type TakeBacklog = dyn Fn(&str, &[String]) + Send + Sync;

/// Receives findings of workers, masked.
#[derive(Clone)]
pub struct BacklogSink(pub Arc<TakeBacklog>);

impl std::fmt::Debug for BacklogSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BacklogSink")
    }
}

/// Why a PRD is not served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another service has it, or the lock failed.
    #[error(transparent)]
    Lock(#[from] ServiceLockError),
    /// The PRD is not approved.
    #[error("what would be executed is not approved")]
    NotApproved {
        /// What changed since the last approval; empty without an approval.
        changes: Vec<Change>,
    },
    /// The PRD, the configuration or the policy refuses the service.
    #[error("{0}")]
    Refused(Failure),
    /// Programs are missing.
    #[error("{}", missing(.0))]
    Missing(Vec<MissingProgram>),
    /// A typed id is not in the PRD, or the selection is empty.
    #[error(transparent)]
    NoSuchTasks(#[from] SelectTasksError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The workplace failed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The disk failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The system failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Failure {
        let message = error.to_string();
        match error {
            ServeError::Lock(ServiceLockError::Held(_) | ServiceLockError::WorkersLeft(_)) => {
                Failure::new(ErrorKind::Refused, message).coded(ErrorCode::ServiceBusy)
            }
            ServeError::Lock(ServiceLockError::Fs(error)) | ServeError::Fs(error) => error.into(),
            ServeError::Lock(_) | ServeError::Io(_) => Failure::new(ErrorKind::Environment, message),
            ServeError::NotApproved { changes } => {
                let names: Vec<&str> =
                    changes.iter().map(|change| change.field.as_str()).take(MAX_NAMED).collect();
                let failure = match names.as_slice() {
                    [] => Failure::new(ErrorKind::Refused, "the PRD is not approved"),
                    names => {
                        let message = format!(
                            "what would be executed is not what was approved; {} changed: {}",
                            changes.len(),
                            names.join(", ")
                        );
                        Failure::new(ErrorKind::Refused, message)
                    }
                };
                failure.coded(ErrorCode::ApprovalNeeded)
            }
            ServeError::Refused(failure) => failure,
            ServeError::Missing(_) => {
                Failure::new(ErrorKind::Refused, message).coded(ErrorCode::KitchenRefused)
            }
            ServeError::NoSuchTasks(error) => no_such_tasks(error),
            ServeError::Journal(error) => error.into(),
            ServeError::Place(PlaceError::WorkLost { .. }) => {
                Failure::new(ErrorKind::Refused, message).coded(ErrorCode::BranchLostWork)
            }
            ServeError::Place(PlaceError::Fs(error)) => error.into(),
            ServeError::Place(_) => {
                Failure::new(ErrorKind::Refused, message).coded(ErrorCode::KitchenRefused)
            }
        }
    }
}

/// The maximum number of changes that an error names.
const MAX_NAMED: usize = 10;

/// A program of a tier that cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingProgram {
    /// The tier.
    pub tier: Tier,
    /// The program as written in the command.
    pub program: String,
    /// Why it cannot be started.
    pub why: MissingProgramReason,
}

fn missing(programs: &[MissingProgram]) -> String {
    let named = |reason: MissingProgramReason| {
        let matching = programs.iter().filter(|missing| missing.why == reason);
        let named: Vec<String> =
            matching.map(|missing| format!("`{}` of the {} tier", missing.program, missing.tier)).collect();
        (!named.is_empty()).then(|| format!("{reason}: {}", named.join(", ")))
    };
    [MissingProgramReason::NotFound, MissingProgramReason::NotExecutable]
        .into_iter()
        .filter_map(named)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The input of a new service.
struct ServiceInput<'e> {
    kitchen: &'e Kitchen<'e>,
    served: Arc<ServedPrd>,
    /// The settings of the PRD, with the flags of the command.
    settings: Settings,
    /// The selected tasks.
    set: RunSet,
    journal: PrdJournal,
    lock: ServiceLock,
    /// The paths of derived files.
    targets: Targets,
    workplace: &'e dyn Workplace,
    options: &'e ServiceOptions,
    follower: &'e dyn Follower,
}

impl Kitchen<'_> {
    /// Works through a PRD until everything is done, or no task can continue. `open` creates the workplace.
    ///
    /// # Errors
    /// Fails if nothing was started, or the journal can no longer be written.
    pub fn serve(
        &self,
        path: &RelPath,
        options: &ServiceOptions,
        follower: &dyn Follower,
        open: OpenPlace<'_>,
    ) -> Result<ServiceReport, ServeError> {
        let served = ServedPrd::read(self, path).map_err(ServeError::Refused)?;
        let journal = PrdJournal::open(
            self.fs.clone(),
            &self.key,
            PrdFiles::new(&served.name),
            self.clock.clone(),
            self.lock_timeout,
        )?;
        let life = journal.life();
        if life.approval.as_ref().map(|approval| approval.fingerprint) != Some(served.fingerprint) {
            if life.approval.is_none() && 0 < journal.unsigned() {
                let failure = Failure::new(ErrorKind::Refused, "the PRD is not approved on this host");
                let failure = failure.coded(ErrorCode::NotApprovedHere).hint(NextStep::AdoptState);
                return Err(ServeError::Refused(failure));
            }
            let before = life.approval.as_ref().map(|approval| &approval.items);
            let changes = before.map(|before| changes(before, &served.items)).unwrap_or_default();
            return Err(ServeError::NotApproved { changes });
        }
        let settings = served.settings_with(&options.flags);
        served.refuse_delivery(&settings).map_err(ServeError::Refused)?;
        let set = options.select(&served.prd)?;
        let missing_programs = served.missing(&set, life, &settings);
        if !missing_programs.is_empty() {
            return Err(ServeError::Missing(missing_programs));
        }
        let lock = ServiceLock::take(self.fs.clone(), &served.name)?;
        let targets = Targets::new(&*self.fs, &served.path, &served.name, &settings);
        let own_files = targets.own_files();
        let done = done_work(life, &served.name, &served.prd);
        let place = open(&WorkplaceRequest { served: &served, own_files: &own_files, done: &done })?;
        let start = ServiceInput {
            kitchen: self,
            served: Arc::new(served),
            settings,
            set,
            journal,
            lock,
            targets,
            workplace: &*place,
            options,
            follower,
        };
        ServiceLoop::new(start)?.serve()
    }
}

impl Kitchen<'_> {
    /// Creates the workplace: worktrees of the branch. It is the workspace itself without git, a commit or a branch, or
    /// if worktrees are off.
    ///
    /// # Errors
    /// Fails if the branch cannot be used.
    pub fn open_place(&self, order: &WorkplaceRequest<'_>) -> Result<Box<dyn Workplace>, PlaceError> {
        let settings = order.settings();
        let in_place = || InPlaceWorkplace::new(self.fs.clone(), order.own_files.to_vec());
        let Some(branch) = order.branch().filter(|_| settings.worktrees == Switch::On) else {
            return Ok(Box::new(in_place()));
        };
        let policy = order.served.policy.policy();
        let options = GitOptions {
            done: order.done.to_vec(),
            agent_files: policy.map(|policy| policy.agent_files).unwrap_or_default(),
            redactor: Redactor::new(&order.served.secrets),
            ..git_options(branch, settings, order.own_files)
        };
        match GitPlace::open(self.fs.root(), self.environment, options) {
            Ok(place) => Ok(Box::new(place)),
            Err(PlaceError::WithoutGit(why)) => Ok(Box::new(in_place().noting(why.note()))),
            Err(error) => Err(error),
        }
    }
}

/// Returns the git options for a branch.
pub(crate) fn git_options(branch: &str, settings: &Settings, own_files: &[String]) -> GitOptions {
    GitOptions {
        branch: branch.to_owned(),
        worktrees: settings.worktree_path.clone(),
        copy: settings.worktree_copy.clone(),
        link: settings.worktree_link.clone(),
        commits: match settings.integrate {
            Integrate::Squash => Commits::Squash,
            Integrate::Keep => Commits::Keep,
        },
        default_branch: Some(settings.default_branch.clone()).filter(|branch| !branch.is_empty()),
        own_files: own_files.to_vec(),
        done: Vec::new(),
        agent_files: AgentFiles::default(),
        redactor: Redactor::new(&[]),
    }
}

/// Lists the work that the branch of a PRD must contain.
pub(crate) fn done_work(life: &Life, name: &PrdName, prd: &ValidPrd) -> Vec<DoneWork> {
    let known = life.done_work(prd).into_iter().filter_map(|work| {
        let commit = CommitId::new(&work.commit)?;
        Some(DoneWork { shown: name.shown(&work.task), task: work.task, run: work.run, commit })
    });
    known.collect()
}

/// Creates the workplace.
pub type OpenPlace<'a> = &'a dyn Fn(&WorkplaceRequest<'_>) -> Result<Box<dyn Workplace>, PlaceError>;

/// The input of a workplace.
pub struct WorkplaceRequest<'a> {
    served: &'a ServedPrd,
    /// Files in the workspace that Brigade writes.
    pub own_files: &'a [String],
    /// The work that the branch must contain, the newest last.
    pub done: &'a [DoneWork],
}

impl WorkplaceRequest<'_> {
    /// Returns the branch that the PRD names.
    pub fn branch(&self) -> Option<&str> {
        self.served.prd.branch_name.as_deref()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.served.settings
    }
}

#[cfg(test)]
mod tests;
