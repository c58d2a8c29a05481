//! Operations on the catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_catalog::{Catalog, Level, Tool};
use brigade_core::{NextStep, Place};
use brigade_doctor::{ConfigFile, Issue, PinState, Snapshot, diagnose};
use brigade_facts::{ToolFacts, ToolReader, parse_json};
use brigade_policy::ErrorLine;
pub use brigade_registry::{RegisterRequest, RegisterSource};
use brigade_upkeep::{Keep, examine, pin_states};

use crate::error::Error;
use crate::finding::{ListFilter, discovered, notes};
use crate::pins;
use crate::refusal::Refusal;
use crate::report::{
    ArgumentDescription, Contract, ContractHealth, ContractsReport, DescribeReport, DescribedTool,
    IssueReport, RegisterReport, Report as _, ToolLine, ToolLinesReport, ToolSummary, Unfilled,
};
use crate::room::{CATALOG, Room};
use brigade_facts::Config;
use brigade_upkeep::gather;
use brigade_upkeep::load;

/// Operations on the catalog.
#[derive(Clone)]
pub struct Tools {
    pub(crate) room: Arc<Room>,
}

impl Tools {
    /// Lists the enabled tools from the catalog, without reading other files.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn lines(&self) -> Result<ToolLinesReport, Error> {
        Ok(self.lines_of_all(&load::catalog(&self.room)?))
    }

    /// Lists the enabled tools that fit. Reads other files only to see whether tools are there.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn lines_of(&self, filter: &ListFilter) -> Result<ToolLinesReport, Error> {
        if filter.is_empty() {
            return self.lines();
        }
        let config = gather::config(&self.room)?;
        let places = filter.places(&self.room, &config)?;
        let wants_discovered = filter.level == Some(Level::Discovered);
        let (discovered, discovered_at) =
            if wants_discovered { Some(discovered(&self.room)?) } else { None }.unzip();
        let discovered_at = discovered_at.flatten();
        let lines = places.into_iter().map(|place| ToolLine::of(&config.catalog.tools()[place])).collect();
        Ok(ToolLinesReport {
            tools: lines,
            next: NextStep::ListTools,
            discovered,
            discovered_at,
            ..self.lines_of_all(&config.catalog)
        })
    }

    fn lines_of_all(&self, catalog: &Catalog) -> ToolLinesReport {
        ToolLinesReport {
            schema: ToolLinesReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: catalog.is_valid(),
            errors: load::errors_of(catalog),
            notes: notes(catalog),
            discovered: None,
            discovered_at: None,
            tools: catalog.tools().iter().filter(|tool| tool.enabled).map(ToolLine::of).collect(),
            next: {
                let mut hints = catalog.issues().iter().filter_map(|issue| issue.hint.as_ref());
                let is_missing = hints.any(|hint| hint.step() == Some(&NextStep::Init));
                match (catalog.is_valid(), is_missing) {
                    // A catalog that a person left empty: the built-in tools are not proposed.
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
    /// Returns [`Refusal::Contract`] if no tool has this id, and file errors.
    pub fn describe(&self, id: &str) -> Result<DescribeReport, Error> {
        let config = gather::config(&self.room)?;
        let errors = load::errors_of(&config.catalog);
        let tool = load::any_tool(&config.catalog, id).map_err(|error| {
            let mut errors = errors.clone();
            let message = error.to_string();
            let told = error.with_hints(&self.room.speller());
            if errors.iter().all(|known| known.as_str() != message && known.as_str() != told) {
                errors.push(ErrorLine::new(error.code(), message));
            }
            Error::from(error).refusing(&self.room, Refusal::Contract { errors })
        })?;
        let (mut read, issues) = examine_tools(&self.room, &config, &[tool], Vec::new(), Keep::All);
        let read = read.remove(0);
        let reader = ToolReader { host: self.room.host(), tool, outside: &[] };
        let issues = shown_issues(&self.room, issues.iter().filter(|issue| concerns(issue, tool)));
        Ok(DescribeReport {
            schema: DescribeReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: config.catalog.is_valid(),
            errors,
            arguments: ArgumentDescription::all(&read),
            tool: DescribedTool::of(&read, |path| self.room.absolute(path)),
            examples: reader
                .document(tool.examples_path.as_deref())
                .bytes()
                .and_then(|bytes| parse_json(bytes).ok())
                .unwrap_or_default(),
            issue_count: issues.len(),
            issues,
            error: Unfilled::default(),
            live: None,
        })
    }

    /// Lists the contracts of the enabled tools, and the issues that prevent planning or running calls. Other issues,
    /// such as missing projections, are left to the doctor.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn contracts(&self) -> Result<ContractsReport, Error> {
        let config = gather::config(&self.room)?;
        let tools = enabled(&config.catalog);
        let (_, mut issues) = examine_tools(
            &self.room,
            &config,
            &tools,
            pin_states(pins::pin_store(&self.room), &config.catalog)?,
            Keep::Summaries,
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
            let contract = Contract::of(tool, |path| self.room.absolute(path));
            ContractHealth::of(contract, shown_issues(&self.room, own))
        };
        let contracts: Vec<ContractHealth> = tools.iter().map(health).collect();
        let errors = load::errors_of(&config.catalog);
        Ok(ContractsReport {
            schema: ContractsReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: config.catalog.is_valid(),
            diagnosis: load::diagnosis(&self.room, &errors),
            errors,
            contract_count: contracts.len(),
            contracts,
            issue_count: issues.len(),
            issues: shown_issues(&self.room, &issues),
            live: None,
        })
    }

    /// Registers tools of files and of agent programs. Starts nothing.
    ///
    /// # Errors
    /// Fails if an id is given for several tools, and on file errors. What a source or the catalog speaks against is in
    /// `errors` of the report, and then nothing is written.
    pub fn register(&self, request: &RegisterRequest) -> Result<RegisterReport, Error> {
        Ok(brigade_registry::register(&self.room, request)?)
    }
}

/// Reads the files of tools and diagnoses them, the catalog and these pins.
fn examine_tools<'c>(
    room: &Room,
    config: &'c Config,
    tools: &[&'c Tool],
    pins: Vec<PinState>,
    keep: Keep,
) -> (Vec<ToolFacts<'c>>, Vec<Issue>) {
    let examined = examine(room.host(), config, tools, None, keep);
    let catalog = Some(ConfigFile::Read(&config.catalog));
    let tools = Some(examined.issues);
    (examined.read, diagnose(Snapshot { catalog, tools, pins, ..Snapshot::new(room.now()) }))
}

/// Prepares issues for reports.
pub(crate) fn shown_issues<'i>(room: &Room, issues: impl IntoIterator<Item = &'i Issue>) -> Vec<IssueReport> {
    issues.into_iter().map(|issue| shown_issue(room, issue)).collect()
}

/// Prepares an issue for reports.
pub(crate) fn shown_issue(room: &Room, issue: &Issue) -> IssueReport {
    IssueReport::of(issue, |path| room.absolute(path), |step| room.words(step))
}

pub(crate) fn summary_of(room: &Room, read: &ToolFacts<'_>) -> ToolSummary {
    ToolSummary::of(read.tool, &read.summary(), |path| room.absolute(path))
}

/// Returns the enabled tools of a catalog.
pub(crate) fn enabled(catalog: &Catalog) -> Vec<&Tool> {
    catalog.tools().iter().filter(|tool| tool.enabled).collect()
}

fn concerns(issue: &Issue, tool: &Tool) -> bool {
    issue.tool_id.as_deref() == Some(tool.id.as_str())
}

/// Counts words.
pub(crate) fn counts<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}
