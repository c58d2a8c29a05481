//! Runs a command that was approved by its text: verification, tests, setup, notification.

use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_call::{Objection, StartPurpose};
use brigade_cmdline::Argv;
use brigade_core::{Fingerprint, RunId};
use brigade_exec::WorkFolder;
use brigade_kitchen::life::CommandResult;
use brigade_kitchen::{Command, PrdName, TaskId};
use brigade_policy::{CrewWork, PolicyState};
use brigade_process::{Input, PrivateFolder};

use crate::named_files::{BoundFiles, words_of};
use crate::receipts::{RunEnd, RunKind};
use crate::run::{Host, RunOutcome, StartError, StartOrder, Watch, run_order, task_objects};

/// How many lines of an output go into the next prompt.
const MAX_TAIL_LINES: usize = 40;

/// A command to run.
pub struct Check<'a> {
    /// The host.
    pub host: &'a Host,
    /// The policy.
    pub policy: &'a PolicyState,
    /// The approved fingerprint, if it matches what is executed.
    pub approved: Option<Fingerprint>,
    /// The kind of run.
    pub kind: RunKind,
    /// The PRD, if the command is of one.
    pub prd: Option<&'a PrdName>,
    /// The task.
    pub task: Option<&'a TaskId>,
    /// The command.
    pub command: &'a Command,
    /// The effects that the configuration grants it.
    pub effects: Option<&'a [String]>,
    /// The time limit.
    pub timeout: Duration,
    /// The working directory.
    pub directory: &'a Path,
    /// The root of the worktree; `None` in place.
    pub own: Option<&'a Path>,
    /// Files that the command must not write in place.
    pub closed: &'a [PathBuf],
    /// The approved bytes of files that it names.
    pub files: &'a BoundFiles,
    /// Its standard input.
    pub input: Vec<u8>,
    /// The maximum size of each log.
    pub max_log_bytes: u64,
    /// Observes and ends the run.
    pub watch: &'a Watch,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub result: CommandResult,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The last lines of its output, masked.
    pub output: String,
    /// Whether an interruption of the service ended it.
    pub interrupted: bool,
    /// How long it took.
    pub seconds: f64,
}

/// Runs a command to its end. If its program is missing or cannot be started, the result is
/// [`CommandResult::NotStarted`]. That counts as a failure of the task, because the task may have to create the
/// program.
///
/// # Errors
/// Fails if the gate refuses it for another reason, or on a disk error.
pub fn check(check: &Check<'_>) -> Result<CheckOutcome, StartError> {
    let run = check.host.new_run()?;
    let argv =
        Argv::new(check.command.argv().to_vec()).map_err(|error| StartError::Command(error.to_string()))?;
    let temporary = PrivateFolder::create()?;
    let purpose = match check.kind {
        RunKind::Test => StartPurpose::Test,
        RunKind::Setup => StartPurpose::Setup,
        RunKind::Notification => StartPurpose::Notification,
        _ => StartPurpose::Verification,
    };
    let mut variables = vec![("BRIGADE_RUN_ID".into(), run.as_str().into())];
    variables.extend(check.prd.map(|prd| ("BRIGADE_PRD".into(), prd.as_str().into())));
    variables.extend(check.task.map(|task| ("BRIGADE_TASK".into(), task.as_str().into())));
    let input = if check.input.is_empty() { Input::Null } else { Input::Bytes(check.input.clone()) };
    let objects = task_objects(check.host, check.prd, check.task);
    let ran = match run_order(StartOrder {
        host: check.host,
        policy: check.policy,
        approved: check.approved,
        run: &run,
        kind: check.kind,
        purpose,
        prd: check.prd,
        task: check.task,
        tier: None,
        attempt: None,
        argv,
        program: None,
        bytes: None,
        files: check.files,
        named: words_of(check.command),
        work: CrewWork::Command { needs_shell: check.command.needs_shell(), effects: check.effects },
        timeout: Some(check.timeout),
        directory: check.directory,
        own: check.own.map(|path| WorkFolder {
            path,
            is_writable: true,
            objects: objects.as_deref(),
            pipes: None,
        }),
        closed: check.closed,
        also: None,
        variables,
        temporary: &temporary,
        input,
        max_log_bytes: check.max_log_bytes,
        named_log: None,
        watch: check.watch,
    }) {
        Err(StartError::Refused(objections))
            if !objections.is_empty() && objections.iter().all(Objection::is_missing_program) =>
        {
            let problem = objections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            let end = RunEnd::NotStarted;
            RunOutcome { end, exit_code: None, seconds: 0.0, last: String::new(), problem: Some(problem) }
        }
        ran => ran?,
    };
    let RunOutcome { end, exit_code, last, seconds, problem } = ran;
    let result = match end {
        RunEnd::Completed => CommandResult::Passed,
        RunEnd::TimedOut => CommandResult::TimedOut,
        RunEnd::NotStarted => CommandResult::NotStarted,
        RunEnd::Failed | RunEnd::Stalled | RunEnd::Interrupted => CommandResult::Failed,
    };
    let mut output = last_lines(&last);
    if let Some(problem) = problem {
        output.push_str(&problem);
    }
    let exit_code = exit_code.and_then(|code| i32::try_from(code).ok()).filter(|code| 0 <= *code);
    Ok(CheckOutcome { run, result, exit_code, output, interrupted: end == RunEnd::Interrupted, seconds })
}

/// Returns the last lines of a text.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = lines[lines.len().saturating_sub(MAX_TAIL_LINES)..].join("\n");
    if !shown.is_empty() {
        shown.push('\n');
    }
    shown
}
