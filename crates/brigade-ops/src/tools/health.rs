//! The catalog with its health.

use crate::{
    HistoryExtent, LedgerCheck, ParitySection, Parts, Sections, Survey, closeouts, latest_closeout,
    shown_issues, top_issue_of,
};
use brigade_catalog::{Catalog, Tool};
use brigade_core::Report as _;
use brigade_core::json::Rows;
use brigade_doctor::{AgentFailures, DoctorRequest, Issue, IssueReport, QuietedIssues, quiet};
use brigade_fs::RelPath;
use brigade_kitchen_run::KITCHEN_TOML;
use brigade_policy::Failure;
use brigade_runtime::Checks;
use brigade_workspace::{
    CATALOG, Depth, FactReader, SummaryFacts, ToolSummary, WorkspaceContext, gather, load,
};

use crate::report::{CatalogReport, MissingBuiltin};
use crate::tools::catalog::soundness;
use crate::tools::finding::{ListFilter, discovered_entries, notes_with_cache};

/// Lists the catalog with its health, and counts of calls, runs, checkpoints and runtimes. Runs no health command, and
/// checks neither the chain of receipts nor the files of clients; [`diagnose_catalog`] does.
pub fn list(context: &WorkspaceContext) -> Result<CatalogReport, Failure> {
    list_of(context, &ListFilter::default())
}

/// Lists like [`list`], but only the tools that match a filter.
pub fn list_of(context: &WorkspaceContext, filter: &ListFilter) -> Result<CatalogReport, Failure> {
    let parts = Parts { health: Checks::Skip, ledger: LedgerCheck::Trust, clients: false, ..Parts::all() };
    catalog_report(context, &parts, &DoctorRequest::default(), filter, DisabledTools::Listed)
}

/// Checks everything: catalog, files, projections, runtimes, policy, calls, runs, checkpoints and the state. Runs the
/// health commands of running runtimes and no other program.
///
/// # Errors
/// Returns [`ErrorKind::Usage`](brigade_core::ErrorKind::Usage) for an unknown area, type, tool or runtime, and file
/// errors.
pub fn diagnose_catalog(
    context: &WorkspaceContext,
    request: &DoctorRequest,
) -> Result<CatalogReport, Failure> {
    diagnose(context, request, Parts::all())
}

/// Diagnoses everything, but of a history that is longer than a limit only its newest part, and runs no health command.
pub fn diagnose_recent(
    context: &WorkspaceContext,
    request: &DoctorRequest,
    limit: usize,
) -> Result<CatalogReport, Failure> {
    let extent = HistoryExtent::up_to(limit, &context.queue().read()?)?;
    let whole = Parts { health: Checks::Skip, ..Parts::all() };
    let HistoryExtent::Newest(limit) = extent else { return diagnose(context, request, whole) };
    let parts = Parts { extent, ledger: LedgerCheck::Trust, modes: false, ..whole };
    let mut report = diagnose(context, request, parts)?;
    report.notes.push(format!(
        "of calls and runs only the newest {limit} were looked at, without the chain of receipts"
    ));
    Ok(report)
}

fn diagnose(
    context: &WorkspaceContext,
    request: &DoctorRequest,
    parts: Parts,
) -> Result<CatalogReport, Failure> {
    request.check()?;
    let tool = request.tool.as_ref().map(|tool| load::id_of(context, tool)).transpose()?;
    let request = &DoctorRequest { tool, ..request.clone() };
    let failures = if request.all { AgentFailures::All } else { AgentFailures::Recent };
    let parts = Parts { failures, ..parts };
    catalog_report(context, &parts, request, &ListFilter::default(), DisabledTools::LeftOut)
}

/// Whether a report lists disabled tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DisabledTools {
    Listed,
    LeftOut,
}

fn catalog_report(
    context: &WorkspaceContext,
    parts: &Parts,
    request: &DoctorRequest,
    filter: &ListFilter,
    disabled: DisabledTools,
) -> Result<CatalogReport, Failure> {
    let config = gather::own_config(context)?;
    let wants_discovered = filter.includes_discovered();
    let found = if wants_discovered { Some(discovered_entries(context, filter)?) } else { None };
    let (discovered, discovered_at) = found.unzip();
    let selected = if filter.is_empty() { None } else { Some(filter.places(context, &config)?) };
    let mut survey = Survey::read(context, &config, parts)?;
    let mut found = survey.diagnose(context);
    let tools = config.catalog.tools().iter().map(|tool| tool.id.as_str());
    let runtimes = survey.runtime_facts().iter().map(|facts| facts.id.as_str());
    request.check_tool(tools.chain(runtimes), &found)?;
    found.retain(|issue| request.wants(issue));
    let closeouts = closeouts(&*context.fs);
    let (raw, quieted) = match closeouts.fingerprints() {
        None => (None, QuietedIssues { issues: found, ..QuietedIssues::default() }),
        Some(listed) => (Some(found.clone()), quiet(found, Some(&listed), &context.target())),
    };
    let QuietedIssues { issues: remaining, quieted, changed } = quieted;
    let sections = Sections::new(&survey, &remaining, context, |step| context.words(step));
    let top_issue = top_issue_of(context, &remaining);
    let issues = issue_rows(context, remaining);
    let raw_issues = raw.map_or_else(|| issues.clone(), |raw| issue_rows(context, raw));
    let parity = ParitySection::new(
        latest_closeout(context, closeouts),
        shown_issues(context, &quieted),
        shown_issues(context, &changed),
    );
    let notes = if wants_discovered { notes_with_cache(context, &config.catalog) } else { Vec::new() };
    let (mut valid, mut errors) = soundness(&config.catalog, filter);
    // A workspace may have a kitchen, a policy or runtimes, and no tools.
    let has = |file| context.fs.exists(&RelPath::from_static(file));
    let is_diagnosed = disabled == DisabledTools::LeftOut;
    if !has(CATALOG)? && (!request.needs_catalog() || is_diagnosed && has(KITCHEN_TOML)?) {
        (valid, errors) = (true, Vec::new());
    }
    let diagnosis = load::diagnosis(context, &errors);
    let facts = survey.summaries;
    let missing_tools = request.explain_missing.then(|| {
        let missing = config.missing_facts(&context.host());
        missing.iter().map(|(row, facts)| MissingBuiltin::new(row, facts)).collect()
    });
    let (own, facts) = {
        let reader = FactReader::new(context.host(), &config);
        let read = |tool: &'static Tool| (tool, reader.read(tool, Depth::Summary).summary());
        let own = filter.built_in(&config).map(read).collect();
        let mut known = facts.into_iter();
        let tools = config.catalog.tools().iter().enumerate();
        let tools = tools.filter(|(_, tool)| tool.enabled || disabled == DisabledTools::Listed);
        let mut of_tool = |tool: &Tool| match tool.enabled {
            true => known.next().expect("the facts are those of all enabled tools"),
            false => reader.read(tool, Depth::Summary).summary(),
        };
        let facts: Vec<(usize, SummaryFacts)> = tools.map(|(place, tool)| (place, of_tool(tool))).collect();
        (own, facts)
    };
    let tools = tool_rows(context, config.catalog, facts, selected, own);
    Ok(CatalogReport {
        schema: CatalogReport::SCHEMA,
        missing_tools,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid,
        errors,
        tool_count: tools.len(),
        tools,
        discovered,
        discovered_at: discovered_at.flatten(),
        notes,
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

fn issue_rows(context: &WorkspaceContext, issues: Vec<Issue>) -> Rows<IssueReport> {
    let (absolute, words) = (context.absolute_paths(), context.words_of_steps());
    Rows::new(issues.len(), move |index| IssueReport::new(&issues[index], &absolute, &words))
}

/// Summarizes the tools that have facts, or those of them at the `wanted` positions. Both are in the order of the
/// catalog.
fn tool_rows(
    context: &WorkspaceContext,
    catalog: Catalog,
    mut rows: Vec<(usize, SummaryFacts)>,
    selected: Option<Vec<usize>>,
    own: Vec<(&'static Tool, SummaryFacts)>,
) -> Rows<ToolSummary> {
    let absolute = context.absolute_paths();
    if let Some(selected) = selected {
        rows.retain(|(place, _)| selected.binary_search(place).is_ok());
    }
    Rows::new(rows.len() + own.len(), move |index| match rows.get(index) {
        Some((place, facts)) => ToolSummary::new(&catalog.tools()[*place], facts, &absolute),
        None => {
            let (tool, facts) = &own[index - rows.len()];
            ToolSummary::new(tool, facts, &absolute)
        }
    })
}

#[cfg(test)]
mod tests;
