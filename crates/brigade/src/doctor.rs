//! Health: everything is read once and diagnosed once. Nothing is started, and only `doctor_fix` changes anything.

mod fix;
mod gathered;
mod locks;
mod modes;
mod queue;
mod replan;
mod runtimes;
mod sandbox;
mod sarif;

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_catalog::Catalog;
use brigade_core::{Json, NextStep, closest};
use brigade_doctor::{Area, Issue, IssueType, Quieted, quiet, top_issue};
use brigade_runtime::{Checks, StateCounts};

use crate::catalog::Tools;
use crate::catalog::tool_summary;
use crate::error::{Error, ErrorKind};
use crate::gather::Config;
use crate::policies::Policies;
use crate::policies::errors;
use crate::report::{CatalogReport, IssueReport, PolicyHealthReport, Report as _, Rows, ToolSummary};
use crate::room::{CALLS, CATALOG, CHECKPOINTS, POLICY, RUNS, RUNTIMES, Room};
use brigade_facts::{SummaryFacts, policy_json};

pub(crate) use gathered::{Gathered, Ledger, Parts};
pub(crate) use queue::FoundCall;

/// What a person wants to know of the health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// Whether issues fail the command.
    pub strict: bool,
    /// Only issues of these areas (`tool`, `policy`, …) and types (`missing_source`, …); all when empty.
    pub only: Vec<String>,
    /// Only issues of this tool or runtime.
    pub tool: Option<String>,
}

impl DoctorRequest {
    /// Refuses words that are neither an area nor a type.
    fn check(&self) -> Result<(), Error> {
        let areas = Area::ALL.iter().map(|area| area.as_str());
        let known: Vec<&str> = areas.chain(IssueType::all().iter().map(|kind| kind.code())).collect();
        let Some(word) = self.only.iter().find(|word| !known.contains(&word.as_str())) else {
            return Ok(());
        };
        let shown = brigade_core::text::escape_terminal(word);
        let error =
            Error::new(ErrorKind::Usage, format!("`{shown}` is neither an area nor a type of issues"));
        Err(match closest(word, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("areas are {}", Area::ALL.map(Area::as_str).join(", "))),
        })
    }

    /// Refuses the name of a tool or runtime that is neither configured nor in any issue.
    fn check_tool(&self, config: &Config, gathered: &Gathered<'_>, found: &[Issue]) -> Result<(), Error> {
        let Some(wanted) = &self.tool else { return Ok(()) };
        let tools = config.catalog.tools().iter().map(|tool| tool.id.as_str());
        let runtimes = gathered.runtime_facts().iter().map(|facts| facts.id.as_str());
        let concerned = found.iter().filter_map(|issue| issue.tool_id.as_deref());
        let known: Vec<&str> = tools.chain(runtimes).chain(concerned).collect();
        if known.contains(&wanted.as_str()) {
            return Ok(());
        }
        let shown = brigade_core::text::escape_terminal(wanted);
        let error = Error::new(ErrorKind::Usage, format!("there is no tool or runtime `{shown}`"));
        Err(match closest(wanted, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(NextStep::ListTools),
        })
    }

    fn wants(&self, issue: &Issue) -> bool {
        let is_named = |word: &String| word == issue.area().as_str() || word == issue.kind.code();
        (self.only.is_empty() || self.only.iter().any(is_named))
            && self.tool.as_ref().is_none_or(|tool| issue.tool_id.as_ref() == Some(tool))
    }
}

impl Tools {
    /// Lists the catalog with its health and counts of everything around it. Runs no health command and does not check the
    /// chain of receipts; [`Workspace::doctor`] does.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self) -> Result<CatalogReport, Error> {
        let parts = Parts { health: Checks::Skip, ledger: Ledger::Trust, ..Parts::all() };
        self.room.catalog_report(&parts, &DoctorRequest::default())
    }
}

/// Finds what is wrong, and fixes what can be fixed without a decision.
#[derive(Clone)]
pub struct Doctor {
    pub(crate) room: Arc<Room>,
}

impl Doctor {
    /// Looks over everything: catalog, files, projections, runtimes, policy, calls, runs, checkpoints and the state.
    ///
    /// Health commands of running runtimes are run; nothing else is.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when the request names an area, type, tool or runtime that does not exist; otherwise when the disk fails.
    pub fn check(&self, request: &DoctorRequest) -> Result<CatalogReport, Error> {
        request.check()?;
        self.room.catalog_report(&Parts::all(), request)
    }
}

impl Policies {
    /// Looks over the policy, and what it refuses to tools that can run.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn doctor(&self) -> Result<PolicyHealthReport, Error> {
        let config = self.room.config()?;
        let mut gathered = self.room.gather(&config, &Parts { sandbox: true, ..Parts::none() })?;
        let mut found = self.room.diagnose(&mut gathered);
        found.retain(|issue| issue.area() == Area::Policy);
        let issues = self.room.issues_json(&found);
        let state = &config.policy;
        Ok(PolicyHealthReport {
            schema: PolicyHealthReport::SCHEMA,
            target: self.room.target(),
            policy_path: self.room.absolute(POLICY),
            enabled: is_enabled(state),
            valid: state.policy().is_some(),
            errors: errors(state),
            policy: state.shown().map_or(Json::Null, policy_json),
            issue_count: issues.len(),
            issues,
            top_issue: self.room.top_json(&found),
            tool_errors: Room::errors_of(&config.catalog),
        })
    }
}

impl Room {
    fn catalog_report(&self, parts: &Parts, request: &DoctorRequest) -> Result<CatalogReport, Error> {
        let config = self.config()?;
        let mut gathered = self.gather(&config, parts)?;
        let mut found = self.diagnose(&mut gathered);
        request.check_tool(&config, &gathered, &found)?;
        found.retain(|issue| request.wants(issue));
        let closeouts = self.closeouts()?;
        let (raw, quieted) = match closeouts.fingerprints() {
            None => (None, Quieted { issues: found, ..Quieted::default() }),
            Some(listed) => (Some(found.clone()), quiet(found, Some(&listed), &self.target())),
        };
        let Quieted { issues: remaining, quieted, changed } = quieted;
        let sections = self.sections(&gathered, &remaining);
        let top_issue = self.top_json(&remaining);
        let issues = self.issue_rows(remaining);
        let raw_issues = raw.map_or_else(|| issues.clone(), |raw| self.issue_rows(raw));
        let parity = Json::object([
            ("latest_closeout", closeouts.latest.unwrap_or_default()),
            ("quieted_issue_count", Json::from(quieted.len())),
            ("quieted_issues", Json::Array(self.issues_json(&quieted))),
            ("changed_issue_count", Json::from(changed.len())),
            ("changed_issues", Json::Array(self.issues_json(&changed))),
        ]);
        let facts = gathered.summaries;
        Ok(CatalogReport {
            schema: CatalogReport::SCHEMA,
            target: self.target(),
            config_path: self.absolute(CATALOG),
            valid: config.catalog.is_valid(),
            errors: Room::errors_of(&config.catalog),
            tool_count: facts.len(),
            tools: self.tool_rows(config.catalog, facts),
            raw_issue_count: raw_issues.len(),
            raw_issues,
            issue_count: issues.len(),
            issues,
            top_issue,
            parity,
            call_queue: sections.call_queue,
            run_history: sections.run_history,
            checkpoints: sections.checkpoints,
            runtimes: sections.runtimes,
            policy: sections.policy,
            strict: request.strict,
        })
    }

    /// Sums up each area.
    fn sections(&self, gathered: &Gathered<'_>, issues: &[Issue]) -> Sections {
        let section = |area: Area, members: Vec<(&'static str, Json)>| {
            let own = || issues.iter().filter(|issue| issue.area() == area);
            let counted = [("issue_count", Json::from(own().count())), ("top_issue", self.top_json(own()))];
            Json::object(members.into_iter().chain(counted))
        };
        let (queue, policy) = (&gathered.queue, &gathered.config.policy);
        let latest = queue.checkpoints.first();
        Sections {
            call_queue: section(
                Area::Call,
                vec![
                    ("calls_path", Json::from(self.absolute(CALLS))),
                    ("counts", numbers(&queue.call_counts)),
                    ("pending_count", Json::from(queue.call_counts.get("pending").copied().unwrap_or(0))),
                ],
            ),
            run_history: section(
                Area::Run,
                vec![
                    ("runs_path", Json::from(self.absolute(RUNS))),
                    ("counts", numbers(&queue.run_counts)),
                    ("run_count", Json::from(queue.runs.len())),
                    ("latest", queue.latest_run.clone()),
                ],
            ),
            checkpoints: section(
                Area::Checkpoint,
                vec![
                    ("checkpoints_path", Json::from(self.absolute(CHECKPOINTS))),
                    ("counts", numbers(&queue.checkpoint_counts())),
                    ("checkpoint_count", Json::from(queue.checkpoints.len())),
                    ("latest", latest.map_or(Json::Null, |found| self.checkpoint_json(&found.stored))),
                ],
            ),
            runtimes: section(
                Area::Runtime,
                vec![
                    ("config_path", Json::from(self.absolute(RUNTIMES))),
                    ("state_path", Json::from(self.absolute(runtimes::STATE))),
                    ("counts", Json::Object(StateCounts::of(gathered.runtime_facts()).to_json())),
                    ("runtime_count", Json::from(gathered.runtime_facts().len())),
                ],
            ),
            policy: section(
                Area::Policy,
                vec![
                    ("policy_path", Json::from(self.absolute(POLICY))),
                    ("enabled", Json::from(is_enabled(policy))),
                    ("valid", Json::from(policy.policy().is_some())),
                ],
            ),
        }
    }

    fn issue_rows(&self, issues: Vec<Issue>) -> Rows<IssueReport> {
        let (absolute, words) = (self.absolute_paths(), self.words_of_steps());
        Rows::new(issues.len(), move |index| IssueReport::of(&issues[index], &absolute, &words))
    }

    /// Sums up the enabled tools; the facts are in their order.
    fn tool_rows(&self, catalog: Catalog, facts: Vec<SummaryFacts>) -> Rows<ToolSummary> {
        let absolute = self.absolute_paths();
        let tools = catalog.tools().iter().enumerate().filter(|(_, tool)| tool.enabled);
        let places: Vec<usize> = tools.map(|(place, _)| place).collect();
        Rows::new(facts.len(), move |index| {
            tool_summary(&catalog.tools()[places[index]], &facts[index], &absolute)
        })
    }

    /// Writes an issue as reports have it.
    pub(crate) fn issue_json(&self, issue: &Issue) -> Json {
        IssueReport::of(issue, |path| self.absolute(path), |step| self.words(step)).to_json()
    }

    /// Returns the worst issue as reports have it.
    pub(crate) fn top_json<'i>(&self, issues: impl IntoIterator<Item = &'i Issue>) -> Json {
        top_issue(issues).map_or(Json::Null, |issue| self.issue_json(issue))
    }
}

/// The parts of the catalog report that sum up one area each.
struct Sections {
    call_queue: Json,
    run_history: Json,
    checkpoints: Json,
    runtimes: Json,
    policy: Json,
}

fn is_enabled(state: &brigade_policy::PolicyState) -> bool {
    !matches!(state, brigade_policy::PolicyState::Missing { .. })
}

fn numbers(counts: &BTreeMap<String, u64>) -> Json {
    Json::object(counts.iter().map(|(word, count)| (word.as_str(), Json::from(*count))))
}

#[cfg(test)]
mod tests;
