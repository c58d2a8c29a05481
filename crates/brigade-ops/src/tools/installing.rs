//! Queues installations of tools. An installation succeeds only if the tool is present afterwards.
//!
//! An installation is a call like any other: planned, queued, approved, verified and run by the same functions. It runs
//! the [script](Tool::installation) that the entry of the tool describes.

use std::collections::BTreeSet;

use brigade_call::{
    Call, CallStatus, DeniedUse, InstallRun, OnBlocked, PYTHON_CACHE, Plan, RunStatus, entry_blocker,
};
use brigade_catalog::{Presence, Tool, ToolState, docs};
use brigade_cmdline::{Argv, risk};
use brigade_core::text::escape_terminal;
use brigade_core::{CallId, ErrorCode, Hint, NextStep, Report as _};
use brigade_exec::{EndedRun, Postcondition, PostconditionResult};
use brigade_policy::{Blocker, BlockerDetail, CallKind, Failure};
use brigade_queue::OnDuplicate;
use brigade_redact::Redactor;
use brigade_workspace::{Config, FactReader, POLICY, WorkspaceContext, errors_of_tool, gather, load};

use crate::report::{BlockedInstall, InstallReport, NotInstalled, QueuedInstall, SkippedInstall};
use crate::tools::checking::{CheckSelection, observed_presences};
use crate::tools::finding::{notes, presences};

/// Options of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallRequest {
    /// The tools.
    pub tools: InstallSelection,
    /// The program of the alternative to use. By default, the first one on `PATH` is used.
    pub with: Option<String>,
    /// Whether to only report what would be queued.
    pub dry_run: bool,
    /// Whether to queue blocked installations. They cannot be approved until the blockers are resolved.
    pub blocked: OnBlocked,
}

/// The tools to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallSelection {
    /// The tools with these ids, even disabled ones.
    Named(Vec<String>),
    /// All enabled tools that are missing.
    AllMissing,
}

/// One tool, planned.
enum Row {
    Skipped(SkippedInstall),
    Blocked(BlockedInstall),
    Planned { program: String, plan: Box<Plan> },
}

/// Queues the installations of tools. Runs nothing: neither a check nor a command.
///
/// # Errors
/// Fails if a named tool does not exist, and on file errors. Then nothing is queued.
pub fn install(context: &WorkspaceContext, request: &InstallRequest) -> Result<InstallReport, Failure> {
    let config = gather::config(context)?;
    let mut rows = Vec::new();
    match &request.tools {
        InstallSelection::Named(ids) => {
            let tools = load::any_tools(&config.catalog, ids)?;
            let states = presences(context, &config, &tools)?;
            for (tool, presence) in tools.into_iter().zip(states) {
                rows.push(match presence.state {
                    ToolState::Available => skipped_row(tool, presence.state),
                    _ => plan_row(context, &config, tool, request)?,
                });
            }
        }
        InstallSelection::AllMissing => {
            config.catalog.readable()?;
            let tools = load::enabled(&config.catalog);
            let states = presences(context, &config, &tools)?;
            let missing = tools.into_iter().zip(states);
            for (tool, _) in missing.filter(|(_, presence)| presence.state == ToolState::Missing) {
                rows.push(plan_row(context, &config, tool, request)?);
            }
        }
    }
    context.digests.keep(&*context.fs);
    let plans: Vec<&Plan> = rows.iter().filter_map(Row::plan).collect();
    let stored = if request.dry_run { stored(context, &plans)? } else { store(context, &plans)? };
    let mut stored = stored.into_iter();
    let mut report = InstallReport {
        schema: InstallReport::SCHEMA,
        target: context.target(),
        calls_path: context.calls_path(),
        store: context.store_kind(),
        dry_run: request.dry_run,
        queued: Vec::new(),
        skipped: Vec::new(),
        blocked: Vec::new(),
        queued_count: 0,
        skipped_count: 0,
        blocked_count: 0,
        notes: notes(&config.catalog),
        next: None,
    };
    for row in rows {
        match row {
            Row::Skipped(row) => report.skipped.push(row),
            Row::Blocked(row) => report.blocked.push(row),
            Row::Planned { program, plan } => {
                let (call, created) = stored.next().flatten().unzip();
                // A rejected installation is not queued again.
                if let Some(rejected) = call.as_ref().filter(|call| call.status == CallStatus::Rejected) {
                    report.blocked.push(rejected_before(context, rejected));
                    continue;
                }
                if report.next.is_none() && plan.blockers().is_empty() {
                    report.next = call.as_ref().and_then(next_of);
                }
                report.queued.push(QueuedInstall {
                    tool_id: plan.tool_id().to_owned(),
                    status: call.as_ref().map_or("would-queue", |call| call.status.as_str()).to_owned(),
                    call_id: call.map(|call| call.id.to_string()),
                    command: plan.command().map(str::to_owned),
                    program,
                    created: created.unwrap_or_default(),
                });
            }
        }
    }
    report.queued_count = report.queued.len();
    report.skipped_count = report.skipped.len();
    report.blocked_count = report.blocked.len();
    Ok(report)
}

/// Queues the installation of a missing tool of a registry whose settings ask for it, and returns the pending call.
/// Agents cannot ask for installations.
pub(crate) fn auto_install(context: &WorkspaceContext, config: &Config, tool: &str) -> Option<CallId> {
    let tool = config.catalog.tool(tool).filter(|tool| tool.enabled && tool.origin.level.is_registry())?;
    let is_asked = config.catalog.registry_settings().auto_install == Some(true);
    if !is_asked || context.caller.agent().is_some() {
        return None;
    }
    let states = presences(context, config, &[tool]).ok()?;
    if states.iter().any(|presence| presence.state != ToolState::Missing) {
        return None;
    }
    let request = InstallRequest::from(InstallSelection::Named(vec![tool.id.to_string()]));
    let report = install(context, &request).ok()?;
    let queued = report.queued.into_iter().find(|row| row.status == CallStatus::Pending.as_str())?;
    queued.call_id?.parse().ok()
}

/// Returns the next step with a stored call.
fn next_of(call: &Call) -> Option<NextStep> {
    match call.status {
        CallStatus::Pending | CallStatus::Held => Some(NextStep::Approve(call.id.clone())),
        CallStatus::Approved => Some(NextStep::RunCall(call.id.clone())),
        _ => None,
    }
}

/// Finds the stored calls that equal the plans. Stores nothing, so no call is new.
fn stored(context: &WorkspaceContext, plans: &[&Plan]) -> Result<Vec<Option<(Call, bool)>>, Failure> {
    let now = context.now();
    let queue = context.queue();
    let view = queue.read()?;
    let is_taken = |_: &CallId| false;
    let stored = |plan: &&Plan| {
        let found = view.existing_duplicate(&plan.to_call(now, None, is_taken))?;
        Ok(found.map(|stored| (stored.call, false)))
    };
    plans.iter().map(stored).collect()
}

/// Stores the calls of plans with one durable write. Returns each call, and whether it is new.
fn store(context: &WorkspaceContext, plans: &[&Plan]) -> Result<Vec<Option<(Call, bool)>>, Failure> {
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    let now = context.now();
    let queue = context.queue();
    let mut locked = queue.lock(now)?;
    let stored = locked.enqueue_all(plans.len(), OnDuplicate::Skip, &mut |index, is_taken| {
        plans[index].to_call(now, None, is_taken)
    })?;
    let split = stored.into_iter().map(|enqueued| {
        let (stored, reason) = enqueued.into_call();
        Some((stored.call, reason.is_none()))
    });
    Ok(split.collect())
}

/// Plans the installation of a tool.
fn plan_row(
    context: &WorkspaceContext,
    config: &Config,
    tool: &Tool,
    request: &InstallRequest,
) -> Result<Row, Failure> {
    if tool.is_broken && tool.installable().is_none() {
        // A broken `[tool.install]` table is unknown.
        let errors = errors_of_tool(&config.catalog, tool).into_iter().map(entry_blocker).collect();
        return Ok(blocked(context, tool, NotInstalled::Blocked, errors));
    }
    let command = match choose(context, config, tool, request.with.as_deref()) {
        Ok(command) => command,
        Err(blocker) => {
            let reason = NotInstalled::from_word(&blocker.code).unwrap_or(NotInstalled::Blocked);
            return Ok(blocked(context, tool, reason, vec![*blocker]));
        }
    };
    let planned = gather::plan_installation(context, config, tool, command, context.caller.clone())?;
    let plan = planned.plan;
    if let Some(why) = plan.not_to_be_queued(request.blocked) {
        let mut reasons = plan.blockers().to_vec();
        if reasons.is_empty() {
            reasons.push(Blocker::new(ErrorCode::Blocked, why));
        }
        return Ok(blocked(context, tool, NotInstalled::Blocked, reasons));
    }
    let program = Argv::parse(command).map_or_else(|_| String::new(), |argv| argv.program().to_owned());
    Ok(Row::Planned { program, plan: Box::new(plan) })
}

/// Chooses the command: the one with the requested program, else the first whose program is on `PATH`.
fn choose<'t>(
    context: &WorkspaceContext,
    config: &Config,
    tool: &'t Tool,
    with: Option<&str>,
) -> Result<&'t str, Box<Blocker>> {
    let none = |code: ErrorCode, message: String| {
        Box::new(Blocker::new(code, message).at(tool.place_of("install.command")).field("install.command"))
    };
    let Some(install) = tool.installable() else {
        let blocker =
            none(ErrorCode::NoInstallCommand, "the entry names no command that installs the tool".to_owned());
        return Err(match docs(tool) {
            Some(docs) => Box::new(blocker.hint(docs)),
            None => Box::new(blocker.hint("write it as `command` in [tool.install] of the entry")),
        });
    };
    let facts = FactReader::new(context.host(), config);
    let reader = facts.reader(tool);
    let is_meant =
        |argv: &Argv| with.is_none_or(|with| program_name(argv.program()) == with || argv.program() == with);
    let mut refused = None;
    for line in install.command.iter().filter(|line| !line.is_empty()) {
        match Argv::parse(line) {
            Ok(argv) if !is_meant(&argv) => {}
            Ok(argv) if reader.finds_program(&argv, context.fs.root()) => return Ok(line),
            // The plan reports the problem of such a command.
            Ok(argv) if risk::judge(&argv).is_empty() => {}
            Ok(_) | Err(_) => refused = refused.or(Some(line.as_str())),
        }
    }
    refused.ok_or_else(|| {
        let programs = install.command.iter().filter_map(|line| Argv::parse(line).ok());
        let programs: Vec<String> =
            programs.map(|argv| format!("`{}`", program_name(argv.program()))).collect();
        let programs = Redactor::new(&[]).redact_str(&programs.join(", "));
        let programs = escape_terminal(&programs).into_owned();
        match with {
            Some(_) => {
                let blocker =
                    none(ErrorCode::NoInstaller, "no install command has that program on PATH".to_owned());
                Box::new(blocker.hint(format!("the entry names {programs}")))
            }
            None => {
                let message = format!("none of its installers is on PATH: {programs}");
                Box::new(
                    none(ErrorCode::NoInstaller, message)
                        .hint("install one of them first, or add its directory to PATH"),
                )
            }
        }
    })
}

/// Returns the last part of a program's path.
fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn rejected_before(context: &WorkspaceContext, call: &Call) -> BlockedInstall {
    let message = format!("the same installation was rejected: {}", call.id);
    let blocker = Blocker::new(ErrorCode::Status, message).hint(Hint::to(
        "see why; a different installation can be queued",
        NextStep::ShowCall(call.id.clone()),
    ));
    blocked_row(context, &call.tool_id, NotInstalled::Blocked, vec![blocker])
}

fn skipped_row(tool: &Tool, state: ToolState) -> Row {
    Row::Skipped(SkippedInstall { tool_id: tool.id.to_string(), reason: state })
}

fn blocked(context: &WorkspaceContext, tool: &Tool, reason: NotInstalled, blockers: Vec<Blocker>) -> Row {
    Row::Blocked(blocked_row(context, tool.id.as_str(), reason, blockers))
}

fn blocked_row(
    context: &WorkspaceContext,
    tool_id: &str,
    reason: NotInstalled,
    mut blockers: Vec<Blocker>,
) -> BlockedInstall {
    blockers.iter_mut().for_each(|blocker| blocker.spell(&context.speller()));
    BlockedInstall {
        tool_id: tool_id.to_owned(),
        reason,
        blockers: blockers.iter().map(ToString::to_string).collect(),
        blocker_details: blockers.iter().map(BlockerDetail::from).collect(),
    }
}

impl Row {
    fn plan(&self) -> Option<&Plan> {
        match self {
            Row::Planned { plan, .. } => Some(plan),
            Row::Skipped(_) | Row::Blocked(_) => None,
        }
    }
}

/// Checks after an installation whether the tool is there.
pub struct InstallCheck<'a> {
    context: &'a WorkspaceContext,
    config: &'a Config,
    tool: &'a Tool,
    before: ToolState,
}

impl<'a> InstallCheck<'a> {
    /// Looks at the tool of an installation before it runs. `None` for other calls.
    pub fn new(context: &'a WorkspaceContext, config: &'a Config, call: &Call) -> Option<InstallCheck<'a>> {
        if call.kind() != CallKind::Install {
            return None;
        }
        let tool = config.catalog.tool(&call.tool_id)?;
        Some(InstallCheck { context, config, tool, before: look(context, config, tool).state })
    }
}

impl Postcondition for InstallCheck<'_> {
    /// Looks again after the run. A run that succeeded while the tool is still missing has failed.
    fn check(&self, run: &EndedRun<'_>) -> PostconditionResult {
        let presence = look_again(self.context, self.config, self.tool);
        let mut install = InstallRun {
            before: Some(self.before),
            after: Some(presence.state),
            program: presence.program,
            version: presence.version.map(|version| version.to_string()),
            ..InstallRun::default()
        };
        let is_completed = *run.status == RunStatus::Completed;
        let has_effect = presence.state != ToolState::Missing;
        let failure = (is_completed && !has_effect).then(|| {
            let code = InstallRun::NOT_EFFECTIVE;
            install.code = Some(code.to_owned());
            format!("{code}: the command succeeded, and the tool is still missing")
        });
        let warning = if is_completed && has_effect { None } else { closed_to(run) };
        PostconditionResult { failure, install: Some(install), warning, ..PostconditionResult::default() }
    }
}

/// Says what the sandbox kept from an installation that failed, as far as that was seen, and where more is allowed.
fn closed_to(run: &EndedRun<'_>) -> Option<String> {
    const MAX_NAMED: usize = 3;
    let sandbox = run.sandbox?;
    // Without a sandbox, nothing says what may be written.
    sandbox.write.as_ref()?;
    let is_noise = |path: &str| path.starts_with("/dev/") || path.split('/').any(|part| part == PYTHON_CACHE);
    let denied = run.observed.into_iter().flat_map(|observed| observed.denied.iter().flatten());
    let denied = denied.filter(|denied| denied.what == DeniedUse::Write && denied.path.starts_with('/'));
    let paths: BTreeSet<&str> =
        denied.map(|denied| denied.path.as_str()).filter(|path| !is_noise(path)).collect();
    let shown: Vec<String> =
        paths.iter().take(MAX_NAMED).map(|path| escape_terminal(path).into_owned()).collect();
    let more = match paths.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let reason = match shown.is_empty() {
        true => {
            "the sandbox let the installation write only the workspace and what the policy names".to_owned()
        }
        false => format!("denied: writing {}{more}", shown.join(", ")),
    };
    Some(format!(
        "{reason}; what it needs outside of the workspace belongs in write_paths of [sandbox.install] in {POLICY}"
    ))
}

/// Checks one tool. Without the runtimes, the state of a tool that depends on one is unknown.
fn look(context: &WorkspaceContext, config: &Config, tool: &Tool) -> Presence {
    let found = presences(context, config, &[tool]).ok().and_then(|mut found| found.pop());
    found.unwrap_or_else(Presence::unknown)
}

/// Checks one tool again, because the installation may have changed the result.
fn look_again(context: &WorkspaceContext, config: &Config, tool: &Tool) -> Presence {
    let named = CheckSelection::Named(Vec::new());
    let found = observed_presences(context, config, &[tool], &named, &mut Vec::new());
    found.ok().and_then(|mut found| found.pop()).unwrap_or_else(Presence::unknown)
}

impl From<InstallSelection> for InstallRequest {
    fn from(tools: InstallSelection) -> InstallRequest {
        InstallRequest { tools, with: None, dry_run: false, blocked: OnBlocked::Refuse }
    }
}

#[cfg(test)]
mod tests;
