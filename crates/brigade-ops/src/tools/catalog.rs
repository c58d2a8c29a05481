//! Lists the tools of the catalog and their contracts.

use std::collections::BTreeMap;

use crate::{FactRetention, examine, pin_states, shown_issues};
use brigade_catalog::{Catalog, Tool};
use brigade_core::{NextStep, Place, RefusalMember, Report as _};
use brigade_doctor::{ConfigFile, Issue, PinState, Snapshot, diagnose};
use brigade_policy::{ErrorLine, Failure, FailureReport};
use brigade_workspace::{
    ArgumentDescription, CATALOG, Config, Contract, ContractHealth, DescribedTool, ToolFacts, ToolLine,
    ToolReader, ToolSummary, WorkspaceContext, gather, load, parse_json,
};

use crate::report::{ContractsReport, DescribeReport, ToolLinesReport};
use crate::tools::finding::{ListFilter, discovered_entries, notes, notes_with_cache};

/// Lists the tools of the catalog, also disabled ones, without reading other files.
pub fn lines(context: &WorkspaceContext) -> Result<ToolLinesReport, Failure> {
    Ok(lines_of_all(context, &load::catalog(context)?))
}

/// Lists the tools that match a filter, also disabled ones. Reads other files only to check whether tools are present.
pub fn lines_of(context: &WorkspaceContext, filter: &ListFilter) -> Result<ToolLinesReport, Failure> {
    if filter.is_empty() {
        return lines(context);
    }
    let config = gather::config(context)?;
    let places = filter.places(context, &config)?;
    let wants_discovered = filter.includes_discovered();
    let (discovered, discovered_at) =
        if wants_discovered { Some(discovered_entries(context, filter)?) } else { None }.unzip();
    let discovered_at = discovered_at.flatten();
    let own = filter.built_in(&config).map(ToolLine::new);
    let lines =
        places.into_iter().map(|place| ToolLine::new(&config.catalog.tools()[place])).chain(own).collect();
    let (valid, errors) = soundness(&config.catalog, filter);
    Ok(ToolLinesReport {
        valid,
        errors,
        tools: lines,
        next: NextStep::ListTools,
        discovered,
        discovered_at,
        notes: if wants_discovered {
            notes_with_cache(context, &config.catalog)
        } else {
            notes(&config.catalog)
        },
        ..lines_of_all(context, &config.catalog)
    })
}

/// Returns whether the catalog of a list is valid, and its errors. Built-in tools need no catalog.
pub(crate) fn soundness(catalog: &Catalog, filter: &ListFilter) -> (bool, Vec<ErrorLine>) {
    if filter.is_of_brigade() && is_missing(catalog) {
        return (true, Vec::new());
    }
    (catalog.is_valid(), load::errors_of(catalog))
}

/// Returns whether the catalog is missing.
fn is_missing(catalog: &Catalog) -> bool {
    let mut hints = catalog.issues().iter().filter_map(|issue| issue.hint.as_ref());
    hints.any(|hint| hint.step() == Some(&NextStep::Init))
}

fn lines_of_all(context: &WorkspaceContext, catalog: &Catalog) -> ToolLinesReport {
    ToolLinesReport {
        schema: ToolLinesReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid: catalog.is_valid(),
        errors: load::errors_of(catalog),
        notes: notes(catalog),
        discovered: None,
        discovered_at: None,
        tools: catalog.tools().iter().map(ToolLine::new).collect(),
        next: {
            match (catalog.is_valid(), is_missing(catalog)) {
                // A person left the catalog empty, so the built-in tools are not proposed.
                (true, _) => NextStep::Edit(Place::file(CATALOG)),
                (false, true) => NextStep::Init,
                (false, false) => NextStep::Diagnose,
            }
        },
    }
}

/// Describes the contract of a tool. The tool may be disabled, because review comes before enabling.
///
/// # Errors
/// Returns the errors of the catalog if no tool has this id. Also returns file errors.
pub fn describe(
    context: &WorkspaceContext,
    id: &str,
) -> Result<DescribeReport, FailureReport<Vec<ErrorLine>>> {
    let config = gather::config(context)?;
    let errors = load::errors_of(&config.catalog);
    let tool = load::any_tool(&config.catalog, id).map_err(|error| {
        let mut errors = errors.clone();
        let message = error.to_string();
        let with_hints = error.with_hints(&context.speller());
        if errors.iter().all(|known| known.as_str() != message && known.as_str() != with_hints) {
            errors.push(ErrorLine::new(error.code_word(), message));
        }
        FailureReport::refused(error, errors)
    })?;
    let tool = config.under_policy(tool);
    let (mut read, issues) = examine_tools(context, &config, &[tool], Vec::new(), FactRetention::All);
    let read = read.remove(0);
    let reader = ToolReader { host: context.host(), tool, outside: &[] };
    let issues = shown_issues(context, issues.iter().filter(|issue| concerns(issue, tool)));
    let examples = reader.document(tool.examples_path.as_deref());
    let mut examples = examples.bytes().and_then(|bytes| parse_json(bytes).ok()).unwrap_or_default();
    tool.masks.hide_json(&mut examples);
    Ok(DescribeReport {
        schema: DescribeReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid: config.catalog.is_valid(),
        errors,
        arguments: ArgumentDescription::all(&read),
        tool: DescribedTool::new(&read, |path| context.absolute(path)),
        examples,
        issue_count: issues.len(),
        issues,
        error: RefusalMember::default(),
        live: None,
    })
}

/// Lists the contracts of the enabled tools, and the issues that prevent planning or running calls. Other issues,
/// such as missing projections, are left to the doctor.
pub fn contracts(context: &WorkspaceContext) -> Result<ContractsReport, Failure> {
    let config = gather::config(context)?;
    let tools = load::enabled(&config.catalog);
    let (_, mut issues) = examine_tools(
        context,
        &config,
        &tools,
        pin_states(context.host().pins(), &config.catalog)?,
        FactRetention::Summaries,
    );
    issues.retain(|issue| issue.kind.is_of_contract());
    let mut by_tool: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    for issue in &issues {
        if let Some(tool_id) = &issue.tool_id {
            by_tool.entry(tool_id).or_default().push(issue);
        }
    }
    let health = |tool: &&Tool| {
        let own = by_tool.get(tool.id.as_str()).cloned().unwrap_or_default();
        let contract = Contract::new(tool, |path| context.absolute(path));
        ContractHealth::new(contract, shown_issues(context, own))
    };
    let contracts: Vec<ContractHealth> = tools.iter().map(health).collect();
    let errors = load::errors_of(&config.catalog);
    Ok(ContractsReport {
        schema: ContractsReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid: config.catalog.is_valid(),
        diagnosis: load::diagnosis(context, &errors),
        errors,
        contract_count: contracts.len(),
        contracts,
        issue_count: issues.len(),
        issues: shown_issues(context, &issues),
        live: None,
    })
}

/// Reads the files of tools and diagnoses them, the catalog and these pins.
fn examine_tools<'c>(
    context: &WorkspaceContext,
    config: &'c Config,
    tools: &[&'c Tool],
    pins: Vec<PinState>,
    keep: FactRetention,
) -> (Vec<ToolFacts<'c>>, Vec<Issue>) {
    let examined = examine(context.host(), config, tools, None, keep);
    let catalog = Some(ConfigFile::Read(&config.catalog));
    let tools = Some(examined.issues);
    (examined.read, diagnose(Snapshot { catalog, tools, pins, ..Snapshot::new(context.now()) }))
}

pub(crate) fn summary_of(context: &WorkspaceContext, read: &ToolFacts<'_>) -> ToolSummary {
    ToolSummary::new(read.tool, &read.summary(), |path| context.absolute(path))
}

fn concerns(issue: &Issue, tool: &Tool) -> bool {
    issue.tool_id.as_deref() == Some(tool.id.as_str())
}

#[cfg(test)]
mod tests;
