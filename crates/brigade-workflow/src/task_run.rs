//! Runs a task: tries the worker until its output passes all validators.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_access::Worker;
use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Fingerprint, Json, RunId};
use brigade_db::events::Event;
use brigade_db::executions::{Execution, ExecutionEnd, ExecutionStatus};
use brigade_db::{Store, StoreError};
use brigade_kitchen::TaskId;
use brigade_kitchen::prompt::{TaskPromptInput, errand};
use brigade_kitchen::signal::{Exit, Role, missing_verdict_reason, read_tasks};
use brigade_kitchen_run::{Attempt, AttemptOutcome, Host, TierWorker, Watch, attempt};
use brigade_policy::PolicyState;
use brigade_process::CancelToken;
use brigade_redact::Redactor;
use brigade_toolset::{Failure, unbroken};
use brigade_workspace::{WorkspaceContext, gather};
use serde::Serialize;

use crate::connection::TaskConnection;
use crate::judge::Judge;
use crate::manifest::{Agent, Validator, ValidatorKind};
use crate::receipt::{TaskDetails, TaskReceiptStore};
use crate::running::{RunningEntry, watched};
use crate::validation::{check_by_expression, check_by_schema};

/// The default time limit of one try.
const TRY: Duration = Duration::from_secs(300);

/// How often a running task checks whether another process ended it.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The cap of each log, in bytes.
const MAX_LOG: u64 = 16 << 20;

/// The maximum length of a stored output, in bytes.
const MAX_OUTPUT: usize = 256 << 10;

/// Cuts a long output and appends a note.
fn truncate(mut text: String) -> String {
    let length = text.len();
    if MAX_OUTPUT < length {
        text.truncate(text.floor_char_boundary(MAX_OUTPUT));
        text.push_str(&format!("\n[truncated: the output has {length} bytes]"));
    }
    text
}

/// The arguments of a task, as receipts record them.
#[derive(Serialize)]
struct TaskArgs<'a> {
    agent_id: &'a str,
    input: &'a Json,
    intent: Option<&'a str>,
}

/// A running task.
pub(crate) struct TaskRun {
    pub(crate) workspace: Arc<WorkspaceContext>,
    pub(crate) store: Arc<Store>,
    pub(crate) policy: PolicyState,
    pub(crate) execution: Execution,
    pub(crate) agent: Agent,
    pub(crate) prepared_worker: TierWorker,
    pub(crate) worker: Worker,
    /// Judges outputs before a person is asked.
    pub(crate) judge: Option<Judge>,
    /// Fingerprints of the worker's files at approval.
    pub(crate) files: BTreeMap<String, Fingerprint>,
    /// The working directory: a new one for this task, or a lane.
    pub(crate) directory: PathBuf,
    /// Paths in the working directory that the worker must not write.
    pub(crate) closed: Vec<PathBuf>,
    /// Cancels the call that the task is part of.
    pub(crate) outer: Option<CancelToken>,
    /// The session through which the worker calls tools.
    pub(crate) connection: Option<TaskConnection>,
    pub(crate) entry: RunningEntry,
}

/// Why a task failed.
pub(crate) struct TaskFailure {
    code: ErrorCode,
    message: String,
}

impl TaskFailure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> TaskFailure {
        TaskFailure { code, message: message.into() }
    }
}

impl From<Failure> for TaskFailure {
    fn from(failure: Failure) -> TaskFailure {
        TaskFailure::new(failure.code, failure.message)
    }
}

impl From<StoreError> for TaskFailure {
    fn from(error: StoreError) -> TaskFailure {
        TaskFailure::new(ErrorCode::Store, error.to_string())
    }
}

impl TaskRun {
    pub(crate) fn id(&self) -> &str {
        &self.execution.id
    }

    pub(crate) fn run(mut self) {
        // A panic in the driver also ends the task.
        let ended = unbroken(|| Ok(self.tries())).unwrap_or_else(|failure| Err(failure.into()));
        drop(self.connection.take());
        let (status, error) = match &ended {
            Ok(()) => (ExecutionStatus::Completed, None),
            Err(unable) => (ExecutionStatus::Failed, Some((unable.code.as_str(), unable.message.as_str()))),
        };
        let ending = ExecutionEnd { status, error };
        // The first end counts, so a cancelled task stays cancelled.
        if let Err(error) = self.store.end_execution(self.id(), &ending, self.workspace.now()) {
            tracing::warn!(%error, task = self.id(), "the end of a task could not be written");
        }
        let ended = self.entry.running.end_children(&self.store, self.id(), self.workspace.now());
        if let Err(error) = ended {
            tracing::warn!(%error, task = self.id(), "the end of what a task began could not be written");
        }
        drop(self.entry);
    }

    /// Tries until an output passes or no try is left.
    fn tries(&self) -> Result<(), TaskFailure> {
        let secrets = gather::bound_secrets(&self.workspace, &self.policy);
        let redactor = Redactor::new(&secrets);
        let keeper = TaskReceiptStore { workspace: self.workspace.clone(), task: self.about(&redactor) };
        let environment = (*self.workspace.environment).clone();
        let host = Host::new(self.workspace.fs.clone(), self.workspace.clock.clone(), environment, secrets)
            .keeping(Arc::new(keeper));
        let execution = self.agent.spec.execution.as_ref();
        let most = execution.map_or(1, crate::manifest::Execution::iterations);
        let each = execution.and_then(|execution| execution.iteration_timeout.as_ref());
        let each = each.map_or(TRY, crate::manifest::Span::duration);
        let resources = self.agent.spec.security.as_ref().and_then(|security| security.resources.as_ref());
        let all = resources.and_then(|resources| resources.timeout.as_ref()).map(|span| span.duration());
        let begun = Instant::now();
        let mut lacks = None;
        for number in 1..=most {
            let left = all.map(|all| all.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(TaskFailure::new(ErrorCode::TimedOut, "the task timed out"));
            }
            let timeout = left.map_or(each, |left| left.min(each));
            match self.iteration(&host, number, timeout, lacks.as_ref())? {
                None => return Ok(()),
                Some(unable) => lacks = Some(unable),
            }
        }
        Err(lacks
            .unwrap_or_else(|| TaskFailure::new(ErrorCode::NoOutput, "the task ended before its first try")))
    }

    /// Tries once. Returns why the output was rejected.
    fn iteration(
        &self,
        host: &Host,
        number: u64,
        timeout: Duration,
        before: Option<&TaskFailure>,
    ) -> Result<Option<TaskFailure>, TaskFailure> {
        let interrupted =
            || TaskFailure::new(ErrorCode::Interrupted, "the task ended because its process ended");
        let run =
            host.new_run().map_err(|error| TaskFailure::new(ErrorCode::Environment, error.to_string()))?;
        self.check_files()?;
        let Some(messages) = self.store.begin_iteration(self.id(), run.as_str(), self.workspace.now())?
        else {
            return Err(interrupted());
        };
        self.entry.running.notify();
        let watch = Watch::until(Some(self.entry.cancel.clone()));
        let watch = watch.map_err(|error| TaskFailure::new(ErrorCode::Environment, error.to_string()))?;
        let grants = self.policy.kitchen();
        let minutes = grants.as_ref().and_then(|grants| grants.max_minutes);
        let ceiling = minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
        let task: Option<TaskId> = self.id().parse().ok();
        let words = Json::from(
            self.prepared_worker
                .command
                .words()
                .iter()
                .map(|word| Json::from(word.as_str()))
                .collect::<Vec<_>>(),
        );
        let approved = Fingerprint::builder("brigade.task.v1")
            .json("execution", &Json::from(self.id()))
            .json("command", &words)
            .finish();
        let order = Attempt {
            host,
            policy: &self.policy,
            // The approval of the call that began the task covers this run.
            approved: Some(approved),
            run: &run,
            worker: &self.prepared_worker,
            role: Role::Task,
            prd: None,
            task: task.as_ref(),
            number,
            timeout: Some(ceiling.map_or(timeout, |ceiling| ceiling.min(timeout))),
            directory: &self.directory,
            own: Some(&self.directory),
            reviewed: None,
            closed: &self.closed,
            max_log_bytes: MAX_LOG,
            named_log: None,
            local_offset_minutes: 0,
            gateway: self.connection.as_ref().map(TaskConnection::directory),
            watch: &watch,
        };
        let input = self.execution.input.to_pretty();
        let spec = self.agent.spec.task.as_ref();
        let prompt = |nonce: &str| {
            errand(&TaskPromptInput {
                nonce,
                name: &self.execution.name,
                instruction: spec.and_then(|task| task.instruction.as_deref()),
                intent: self.execution.intent.as_deref(),
                input: &input,
                lacks: before.map(|unable| unable.message.as_str()),
                messages: &messages,
            })
        };
        let ends = || {
            let is_ended = self.is_ended();
            if is_ended {
                self.entry.cancel.cancel();
            }
            is_ended
        };
        let attempted = watched(POLL_INTERVAL, ends, || attempt(&order, &prompt));
        let attempted = attempted.map_err(|error| {
            TaskFailure::new(ErrorCode::NotStarted, host.redactor().redact_str(&error.to_string()))
        })?;
        let evidence = attempted.evidence();
        let output = read_tasks(&evidence).map(|text| host.redactor().redact_str(&text));
        let output = output.map(truncate);
        let lacks = if attempted.exit == Exit::Interrupted {
            let execution = self.store.execution(None, self.id())?;
            match execution.status {
                ExecutionStatus::Cancelled => {
                    Some(TaskFailure::new(ErrorCode::Cancelled, "the task was cancelled"))
                }
                _ => Some(interrupted()),
            }
        } else {
            self.lacks(host, &run, &attempted, output.as_deref())?
        };
        let exit_code = match attempted.exit {
            Exit::Code(code) => Some(i64::from(code)),
            _ => None,
        };
        let message = lacks.as_ref().map(|unable| unable.message.as_str());
        let event = Event::IterationEnded {
            iteration: number,
            run_id: run.as_str(),
            exit_code,
            code: lacks.as_ref().map(|unable| unable.code.as_str()),
            message,
        };
        self.store.end_iteration(self.id(), output.as_deref(), message, &event, self.workspace.now())?;
        self.entry.running.notify();
        match lacks {
            Some(unable) if unable.code == ErrorCode::Interrupted => Err(unable),
            lacks => Ok(lacks),
        }
    }

    /// Refuses to start a worker whose files differ from the approved ones. An earlier try or another program may have
    /// changed them without approval.
    fn check_files(&self) -> Result<(), TaskFailure> {
        let now = self.workspace.host().worker_files(&self.worker);
        let all = self.files.iter().chain(&now);
        match all.map(|(name, _)| name).find(|name| self.files.get(*name) != now.get(*name)) {
            Some(name) => {
                let message = format!("{name} changed since the task was approved; ask for it again");
                Err(TaskFailure::new(ErrorCode::ChangedSinceApproval, message))
            }
            None => Ok(()),
        }
    }

    /// Returns whether another process or the caller ended the task.
    pub(crate) fn is_ended(&self) -> bool {
        let is_over = |execution: Execution| execution.status.is_over();
        self.outer.as_ref().is_some_and(CancelToken::is_cancelled)
            || self.store.execution(None, self.id()).is_ok_and(is_over)
    }

    fn about(&self, redactor: &Redactor) -> TaskDetails {
        let args = TaskArgs {
            agent_id: &self.execution.manifest,
            input: &self.execution.input,
            intent: self.execution.intent.as_deref(),
        };
        TaskDetails {
            execution: self.id().parse().expect("ids of records are valid ids"),
            tool: "task.execute".to_owned(),
            caller: self.workspace.caller.clone(),
            args: redactor.redact_fields(&to_json(&args).expect("arguments are JSON")),
        }
    }

    fn validators(&self) -> &[Validator] {
        let execution = self.agent.spec.execution.as_ref();
        execution.and_then(|execution| execution.validation.as_deref()).unwrap_or_default()
    }

    /// Returns why an output is rejected, by the first validator that rejects it.
    fn lacks(
        &self,
        host: &Host,
        run: &RunId,
        attempted: &AttemptOutcome,
        output: Option<&str>,
    ) -> Result<Option<TaskFailure>, TaskFailure> {
        let is_code = |validator: &&Validator| validator.kind == ValidatorKind::ExitCode;
        let expected = self.validators().iter().find(is_code).and_then(|validator| validator.expected);
        match attempted.exit {
            Exit::Code(code) if i64::from(code) == expected.unwrap_or(0) => {}
            Exit::TimeLimit => {
                return Ok(Some(TaskFailure::new(ErrorCode::TimedOut, "the worker reached its time limit")));
            }
            _ => {
                return Ok(Some(TaskFailure::new(
                    ErrorCode::WorkerFailed,
                    missing_verdict_reason(&attempted.evidence()),
                )));
            }
        }
        let Some(output) = output else {
            return Ok(Some(TaskFailure::new(
                ErrorCode::NoOutput,
                missing_verdict_reason(&attempted.evidence()),
            )));
        };
        for (index, validator) in self.validators().iter().enumerate() {
            let found = match validator.kind {
                ValidatorKind::ExitCode => None,
                ValidatorKind::JsonSchema => check_by_schema(validator, output),
                ValidatorKind::Regex => {
                    let (_, stderr) = host.receipts.logs(run);
                    check_by_expression(validator, output, &*self.workspace.fs, &stderr)
                }
                ValidatorKind::Semantic | ValidatorKind::MultiJudge => {
                    self.check_by_judge(host, validator, output)?
                }
            };
            if let Some(message) = found {
                let message = format!("spec.execution.validation[{}]: {message}", index + 1);
                return Ok(Some(TaskFailure::new(ErrorCode::ValidationFailed, message)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_was_cut_says_so() {
        let long = truncate("é".repeat(MAX_OUTPUT));
        assert!(long.starts_with("éé") && long.len() < MAX_OUTPUT + 100);
        assert!(long.ends_with(&format!("\n[truncated: the output has {} bytes]", 2 * MAX_OUTPUT)));
        assert_eq!(truncate("x".repeat(MAX_OUTPUT)), "x".repeat(MAX_OUTPUT));
    }
}
