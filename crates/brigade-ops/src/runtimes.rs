//! Operations on local runtimes: show, start, stop, logs.
//!
//! Only [`Runtimes::start`] and [`Runtimes::restart`] start a runtime.

mod act;
pub(crate) mod host;
mod logs;

use std::sync::Arc;

use crate::{InitReport, OnExisting, RUNTIMES, RuntimeHost, STATE, find_runtime, machine_of, write_starter};
use brigade_call::{Call, Plan, RuntimeFact, RuntimeIssueRecord, RuntimeStatus};
use brigade_catalog::{Family, Runtime, Runtimes as RuntimeFile, Tool, starter};
use brigade_core::{ConfigIssue, ErrorCode, NextStep, Place, Severity, text::escape_terminal};
use brigade_doctor::{config_record, needed_runtime, not_usable};
use brigade_fs::RelPath;
use brigade_policy::{Blocker, Diagnosis, ErrorLine, Failure};
use brigade_runtime::{Checks, RuntimeFacts, StateCounts};
use brigade_workspace::{Config, WorkspaceContext, gather, load};

use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::{
    RefusalMember, Report as _, RuntimeHealthReport, RuntimeListReport, RuntimeReport, RuntimeStatusReport,
    RuntimesSummary, ServerTool, Strictness,
};

/// The runtimes of a workspace, and the resources of the host that they may use.
struct ConfiguredRuntimes<'a> {
    runtimes: RuntimeFile,
    host: RuntimeHost<'a>,
}

/// Operations on runtimes.
#[derive(Clone)]
pub struct Runtimes {
    pub(crate) context: Arc<WorkspaceContext>,
}

impl Runtimes {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Runtimes {
        Runtimes { context }
    }
}

impl Runtimes {
    /// Writes starter runtimes, and creates the directory of their state.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the file exists and may not be replaced, and
    /// inside a run.
    pub fn init(&self, existing: OnExisting) -> Result<InitReport, Error> {
        self.context.require_outside_run()?;
        let starter = (RUNTIMES, starter::RUNTIMES_TOML);
        let report = write_starter(&self.context, starter, existing, NextStep::ListRuntimes)?;
        self.context.fs.create_dir_all(&RelPath::from_static(STATE))?;
        Ok(report)
    }

    /// Lists the runtimes and whether they run. Runs no health command.
    pub fn list(&self) -> Result<RuntimeListReport, Error> {
        let summary = look_at_runtimes(&self.context, Checks::Skip)?;
        Ok(RuntimeListReport {
            schema: RuntimeListReport::SCHEMA,
            diagnosis: diagnosis(&self.context, &summary),
            summary,
        })
    }

    /// Lists the runtimes and their health. Runs the health commands of running runtimes.
    pub fn status(&self) -> Result<RuntimeStatusReport, Error> {
        let summary = look_at_runtimes(&self.context, Checks::Run)?;
        Ok(RuntimeStatusReport {
            schema: RuntimeStatusReport::SCHEMA,
            diagnosis: diagnosis(&self.context, &summary),
            summary,
        })
    }

    /// Diagnoses the runtimes. Runs the health commands of running runtimes.
    pub fn doctor(&self, strictness: Strictness) -> Result<RuntimeHealthReport, Error> {
        let summary = look_at_runtimes(&self.context, Checks::Run)?;
        Ok(RuntimeHealthReport {
            schema: RuntimeHealthReport::SCHEMA,
            diagnosis: diagnosis(&self.context, &summary),
            summary,
            strictness,
        })
    }

    /// Shows one runtime, in the form of a list with one entry. Runs no health command.
    ///
    /// # Errors
    /// Returns [`Refusal::Runtime`] if no runtime has this id, and file errors.
    pub fn show(&self, id: &str) -> Result<RuntimeReport, Error> {
        let ConfiguredRuntimes { runtimes, host } = configured_runtimes(&self.context)?;
        let found = find_runtime(&runtimes, id).map_err(Error::from);
        // If several entries have the id, the first one counts, as everywhere else.
        let meant: Vec<Runtime> = found.as_ref().map(|runtime| (*runtime).clone()).into_iter().collect();
        let concerns = |issue: &&ConfigIssue| {
            let entry = issue.entry.as_deref();
            entry.is_none_or(|entry| meant.iter().any(|runtime| runtime.id == entry))
        };
        let issues = runtimes.issues().iter().filter(concerns).cloned().collect();
        let one = ConfiguredRuntimes { runtimes: RuntimeFile::new(meant.clone(), issues), host };
        let facts = facts_of(&self.context, &one, Checks::Skip);
        let mut summary = summary(&self.context, &one.runtimes, &facts);
        if let Err(error) = found {
            if summary.errors.is_empty() {
                let message = format!("runtime not found: {}", escape_terminal(id));
                let issue = config_record(&not_found(&message), &self.context.speller());
                summary.top_issue = Some(issue.clone());
                summary.issues.push(issue);
                summary.issue_count = summary.issues.len();
                summary.errors.push(ErrorLine::new(ErrorCode::RuntimeMissing, message));
            }
            summary.valid = false;
            return Err(error.refusing(&self.context, Refusal::Runtime(Box::new(summary))));
        }
        Ok(RuntimeReport {
            schema: RuntimeReport::SCHEMA,
            runtime: Box::new(
                facts.first().map(|facts| runtime_status(&self.context, facts)).unwrap_or_default(),
            ),
            tools: meant.first().map(|runtime| tools_of(&self.context, runtime)).unwrap_or_default(),
            diagnosis: diagnosis(&self.context, &summary),
            summary,
            error: RefusalMember::default(),
        })
    }
}

/// Lists the tools of a server. An unreadable catalog has none.
fn tools_of(context: &WorkspaceContext, runtime: &Runtime) -> Vec<ServerTool> {
    let Ok(catalog) = load::catalog(context) else { return Vec::new() };
    let own = catalog.tools().iter().filter(|tool| tool.is_imported_from(runtime.id.as_str()));
    let mut tools: Vec<ServerTool> = own
        .map(|tool| ServerTool {
            tool_id: tool.id.to_string(),
            enabled: tool.enabled,
            effects: tool.effects.clone(),
            description: tool.description.clone(),
        })
        .collect();
    tools.sort_by(|one, other| one.tool_id.cmp(&other.tool_id));
    tools
}

/// Returns the issue of the file for an id that no runtime has.
fn not_found(message: &str) -> ConfigIssue {
    ConfigIssue {
        severity: Severity::Error,
        place: Place::file(RUNTIMES),
        entry: None,
        field: None,
        message: message.to_owned(),
        hint: None,
    }
}

/// Returns the problem of the file, and its fix.
fn diagnosis(context: &WorkspaceContext, summary: &RuntimesSummary) -> Option<Diagnosis> {
    load::diagnosis(context, &summary.errors)
}

fn look_at_runtimes(context: &WorkspaceContext, checks: Checks) -> Result<RuntimesSummary, Error> {
    let configured = configured_runtimes(context)?;
    let mut facts = facts_of(context, &configured, checks);
    let supervisor = configured.host.supervisor();
    facts.extend(supervisor.facts_of_left(&supervisor.left(configured.runtimes.runtimes())?));
    Ok(summary(context, &configured.runtimes, &facts))
}

fn facts_of(
    context: &WorkspaceContext,
    configured: &ConfiguredRuntimes<'_>,
    checks: Checks,
) -> Vec<RuntimeFacts> {
    let supervisor = configured.host.supervisor();
    supervisor.facts(configured.runtimes.runtimes(), checks, context.cancel.as_ref())
}

fn summary(context: &WorkspaceContext, runtimes: &RuntimeFile, facts: &[RuntimeFacts]) -> RuntimesSummary {
    let errors = runtimes.issues().iter().filter(|issue| issue.severity == Severity::Error);
    let speller = &context.speller();
    let of_config = runtimes.issues().iter().chain(runtimes.user_issues());
    let of_config = of_config.map(|issue| (issue.severity, config_record(issue, speller)));
    let of_facts = facts.iter().flat_map(|facts| &facts.issues);
    let all: Vec<(Severity, RuntimeIssueRecord)> =
        of_config.chain(of_facts.map(|issue| (issue.severity, issue.to_record(speller)))).collect();
    // The first issue with the highest severity.
    let top = all.iter().rev().max_by_key(|(severity, _)| *severity).map(|(_, issue)| issue.clone());
    RuntimesSummary {
        target: context.target(),
        config_path: context.absolute(RUNTIMES),
        state_path: context.absolute(STATE),
        valid: runtimes.is_valid(),
        errors: errors.map(ErrorLine::from).collect(),
        runtimes: facts.iter().map(|facts| runtime_status(context, facts)).collect(),
        runtime_count: facts.len(),
        counts: StateCounts::new(facts).by_state(),
        issue_count: all.len(),
        issues: all.into_iter().map(|(_, issue)| issue).collect(),
        top_issue: top,
    }
}

/// Prepares a runtime for reports.
fn runtime_status(context: &WorkspaceContext, facts: &RuntimeFacts) -> RuntimeStatus {
    facts.status(&context.speller()).shown(context)
}

/// Checks the runtime of a call's tool. The health command of a required runtime is run, unless the plan differs from
/// the approval, which binds what this command executes: such a call is refused anyway. An optional runtime is only
/// recorded and never blocks the call.
pub fn runtime_of(context: &WorkspaceContext, call: &Call, plan: &Plan, config: &Config) -> RuntimeFact {
    let approval = call.approval.as_ref();
    if approval.is_none_or(|approval| !approval.binding.changes(plan.binding()).is_empty()) {
        return RuntimeFact::NotNeeded;
    }
    // A call without its tool is refused elsewhere.
    let Ok(tool) = gather::entry(context, config, &call.tool_id, &call.args) else {
        return RuntimeFact::NotNeeded;
    };
    let is_required = tool.requires_runtime || tool.family == Some(Family::Mcp);
    if !is_required && tool.runtime_id.as_deref().is_none_or(str::is_empty) {
        return RuntimeFact::NotNeeded;
    }
    if is_required && is_left_to_calls(context, tool) {
        return RuntimeFact::NotNeeded;
    }
    let checks = if is_required { Checks::Run } else { Checks::Skip };
    match look_at_runtime(context, tool, config, checks) {
        Err(_) if !is_required => RuntimeFact::NotNeeded,
        Err(blocker) => RuntimeFact::NotReady(vec![*blocker]),
        Ok(facts) => match not_usable(tool, &facts) {
            // The call itself starts the runtime, and its plan already checked the program.
            reasons if !reasons.is_empty() && is_started_by_calls(context, tool) => RuntimeFact::NotNeeded,
            reasons if is_required && !reasons.is_empty() => RuntimeFact::NotReady(reasons),
            _ => RuntimeFact::Ready(Box::new(facts.status(&*context.speller))),
        },
    }
}

/// Returns whether calls start the runtime of a tool, and it was never started in another way.
fn is_left_to_calls(context: &WorkspaceContext, tool: &Tool) -> bool {
    let Ok(runtimes) = load::known_runtimes(context) else { return false };
    let file = context.fs.exists(&RelPath::from_static(RUNTIMES)).unwrap_or(true).then_some(RUNTIMES);
    needed_runtime(tool, &runtimes, file)
        .is_ok_and(|runtime| runtime.on_demand && !brigade_runtime::was_started(&*context.fs, runtime))
}

/// Returns whether calls start the runtime of a tool.
fn is_started_by_calls(context: &WorkspaceContext, tool: &Tool) -> bool {
    let id = tool.runtime_id.as_deref().unwrap_or_default();
    load::known_runtimes(context)
        .is_ok_and(|runtimes| runtimes.runtime(id).is_some_and(|runtime| runtime.on_demand))
}

fn look_at_runtime(
    context: &WorkspaceContext,
    tool: &Tool,
    config: &Config,
    checks: Checks,
) -> Result<RuntimeFacts, Box<Blocker>> {
    let cannot = |error: Failure| {
        let blocker = Blocker::new(ErrorCode::RuntimeMissing, error.to_string());
        Box::new(blocker.at(tool.place_of("runtime_id")).field("runtime_id"))
    };
    let runtimes = load::known_runtimes(context).map_err(cannot)?;
    let file = context.fs.exists(&RelPath::from_static(RUNTIMES)).unwrap_or(true).then_some(RUNTIMES);
    let runtime = needed_runtime(tool, &runtimes, file)?;
    let host = machine_of(context.host(), &config.policy).map_err(|error| cannot(error.into()))?;
    Ok(host.supervisor().facts_of_one(runtime, checks, context.cancel.as_ref()))
}

/// Reads the runtimes, and the outside directories that the policy allows them.
fn configured_runtimes(context: &WorkspaceContext) -> Result<ConfiguredRuntimes<'_>, Error> {
    Ok(ConfiguredRuntimes {
        runtimes: load::runtimes(context)?,
        host: machine_of(context.host(), &load::policy(context))?,
    })
}

#[cfg(test)]
mod tests;
