//! Health: everything is read once and diagnosed once. Only [`Doctor::fix`] changes files.

mod sarif;

use std::sync::Arc;

use brigade_catalog::{Catalog, Level};
use brigade_core::NextStep;
pub use brigade_doctor::DoctorRequest;
use brigade_doctor::{Area, Issue, Quieted, quiet, top_issue};
use brigade_facts::SummaryFacts;
use brigade_policy::Policy;
use brigade_runtime::Checks;
use brigade_upkeep::{Fix, Ledger, ParitySection, Parts, Sections, Survey, UpkeepError, closeouts, fix};

use crate::catalog;
use crate::catalog::Tools;
use crate::error::{Error, ErrorKind};
use crate::finding;
use crate::finding::ListFilter;
use crate::parity;
use crate::policies::{self, Policies, errors};
use crate::report::{
    CatalogReport, FixReport, IssueReport, PolicyHealthReport, Report as _, Rows, ToolSummary,
};
use crate::room::{CATALOG, POLICY, Room};
use brigade_core::Exit;
use brigade_upkeep::gather;
use brigade_upkeep::load;

impl Tools {
    /// Lists the catalog with its health, and counts of calls, runs, checkpoints and runtimes. Runs no health
    /// command, and checks neither the chain of receipts nor the files of clients; [`Doctor::check`] does.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self) -> Result<CatalogReport, Error> {
        self.list_of(&ListFilter::default())
    }

    /// Lists the tools that fit, and otherwise what [`Tools::list`] does.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list_of(&self, filter: &ListFilter) -> Result<CatalogReport, Error> {
        let parts = Parts { health: Checks::Skip, ledger: Ledger::Trust, clients: false, ..Parts::all() };
        catalog_report(&self.room, &parts, &DoctorRequest::default(), filter)
    }
}

/// Diagnoses the workspace, and fixes what needs no decision.
#[derive(Clone)]
pub struct Doctor {
    pub(crate) room: Arc<Room>,
}

impl Doctor {
    /// Checks everything: catalog, files, projections, runtimes, policy, calls, runs, checkpoints and the state.
    ///
    /// Runs the health commands of running runtimes and no other program.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] for an unknown area, type, tool or runtime, and file errors.
    pub fn check(&self, request: &DoctorRequest) -> Result<CatalogReport, Error> {
        request.check()?;
        let tool = request.tool.as_ref().map(|tool| load::id_of(&self.room, tool)).transpose()?;
        let request = &DoctorRequest { tool, ..request.clone() };
        catalog_report(&self.room, &Parts::all(), request, &ListFilter::default())
    }

    /// Fixes what needs no decision. Narrows file modes that are too open, removes pid files of ended processes and
    /// locks that v0.30 left, and moves unreadable lines of the queue and the inbox to a quarantine file.
    ///
    /// With `dry_run` it changes nothing and lists the same fixes. A failed fix does not stop the others.
    ///
    /// # Errors
    /// Returns file errors while looking for things to fix.
    pub fn fix(&self, dry_run: bool) -> Result<FixReport, Error> {
        let config = gather::config(&self.room)?;
        let fixes = fix(&self.room.site(&config), dry_run)?;
        let mut worst = Vec::new();
        let failed: Vec<Fix> = fixes
            .failed
            .into_iter()
            .map(|(mut fix, error)| {
                let error = match error {
                    UpkeepError::Runtime(error) => Error::new(ErrorKind::Environment, error.to_string()),
                    error => error.into(),
                };
                worst.push(error.exit());
                fix.detail = error.to_string();
                fix
            })
            .collect();
        let fixed = fixes.fixed;
        let next = if dry_run && !fixed.is_empty() { NextStep::Fix } else { NextStep::Diagnose };
        Ok(FixReport {
            schema: FixReport::SCHEMA,
            target: self.room.target(),
            dry_run,
            fixed_count: fixed.len(),
            failed_count: failed.len(),
            next_command: self.room.spelled(next),
            fixed,
            failed,
            worst: worst_of(worst),
        })
    }
}

impl Policies {
    /// Checks the policy, and what it refuses to executable tools.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn doctor(&self) -> Result<PolicyHealthReport, Error> {
        let config = gather::config(&self.room)?;
        let site = self.room.site(&config);
        let parts = Parts { sandbox: true, ..Parts::none() };
        let mut found = Survey::read(&site, &parts)?.diagnose(&site);
        found.retain(|issue| issue.area() == Area::Policy);
        let issues = catalog::shown_issues(&self.room, &found);
        let state = &config.policy;
        Ok(PolicyHealthReport {
            schema: PolicyHealthReport::SCHEMA,
            target: self.room.target(),
            policy_path: self.room.absolute(POLICY),
            enabled: state.is_enabled(),
            valid: state.policy().is_some(),
            errors: errors(state),
            policy: state.policy().map(Policy::rules),
            diagnosis: policies::diagnosis(&self.room, state),
            issue_count: issues.len(),
            issues,
            top_issue: top_issue_of(&self.room, &found),
            tool_errors: load::errors_of(&config.catalog),
        })
    }
}

fn catalog_report(
    room: &Room,
    parts: &Parts,
    request: &DoctorRequest,
    filter: &ListFilter,
) -> Result<CatalogReport, Error> {
    let config = gather::own_config(room)?;
    let wants_discovered = filter.level == Some(Level::Discovered);
    let found = if wants_discovered { Some(finding::discovered(room)?) } else { None };
    let (discovered, discovered_at) = found.unzip();
    let wanted = if filter.is_empty() { None } else { Some(filter.places(room, &config)?) };
    let site = room.site(&config);
    let mut survey = Survey::read(&site, parts)?;
    let mut found = survey.diagnose(&site);
    let tools = config.catalog.tools().iter().map(|tool| tool.id.as_str());
    let runtimes = survey.runtime_facts().iter().map(|facts| facts.id.as_str());
    request.check_tool(tools.chain(runtimes), &found)?;
    found.retain(|issue| request.wants(issue));
    let closeouts = closeouts(&*room.fs)?;
    let (raw, quieted) = match closeouts.fingerprints() {
        None => (None, Quieted { issues: found, ..Quieted::default() }),
        Some(listed) => (Some(found.clone()), quiet(found, Some(&listed), &room.target())),
    };
    let Quieted { issues: remaining, quieted, changed } = quieted;
    let sections = Sections::of(&survey, &remaining, room, |step| room.words(step));
    let top_issue = top_issue_of(room, &remaining);
    let issues = issue_rows(room, remaining);
    let raw_issues = raw.map_or_else(|| issues.clone(), |raw| issue_rows(room, raw));
    let parity = ParitySection::of(
        parity::latest(room, closeouts),
        catalog::shown_issues(room, &quieted),
        catalog::shown_issues(room, &changed),
    );
    let (valid, errors) = (config.catalog.is_valid(), load::errors_of(&config.catalog));
    let diagnosis = load::diagnosis(room, &errors);
    let facts = survey.summaries;
    let tools = tool_rows(room, config.catalog, facts, wanted);
    Ok(CatalogReport {
        schema: CatalogReport::SCHEMA,
        target: room.target(),
        config_path: room.absolute(CATALOG),
        valid,
        errors,
        tool_count: tools.len(),
        tools,
        discovered,
        discovered_at: discovered_at.flatten(),
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
        diagnosis,
    })
}

fn issue_rows(room: &Room, issues: Vec<Issue>) -> Rows<IssueReport> {
    let (absolute, words) = (room.absolute_paths(), room.words_of_steps());
    Rows::new(issues.len(), move |index| IssueReport::of(&issues[index], &absolute, &words))
}

/// Summarizes the enabled tools, or those at the wanted positions. The facts are those of all enabled ones, in order.
fn tool_rows(
    room: &Room,
    catalog: Catalog,
    facts: Vec<SummaryFacts>,
    wanted: Option<Vec<usize>>,
) -> Rows<ToolSummary> {
    let absolute = room.absolute_paths();
    let tools = catalog.tools().iter().enumerate().filter(|(_, tool)| tool.enabled);
    let mut rows: Vec<(usize, SummaryFacts)> = tools.map(|(place, _)| place).zip(facts).collect();
    if let Some(wanted) = wanted {
        // Both are in the order of the catalog.
        rows.retain(|(place, _)| wanted.binary_search(place).is_ok());
    }
    Rows::new(rows.len(), move |index| {
        let (place, facts) = &rows[index];
        ToolSummary::of(&catalog.tools()[*place], facts, &absolute)
    })
}

/// Returns the worst issue for reports.
pub(crate) fn top_issue_of<'i>(
    room: &Room,
    issues: impl IntoIterator<Item = &'i Issue>,
) -> Option<IssueReport> {
    top_issue(issues).map(|issue| catalog::shown_issue(room, issue))
}

/// Returns the exit of a command with several failures.
fn worst_of(exits: impl IntoIterator<Item = Exit>) -> Exit {
    exits.into_iter().max().unwrap_or(Exit::Done)
}

#[cfg(test)]
mod tests;
