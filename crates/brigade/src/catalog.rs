//! Operations on the catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_catalog::{ApprovalMode, Catalog, Level, Tool};
use brigade_core::{Fingerprint, NextStep};
use brigade_doctor::{ConfigFile, Issue, PinState, Snapshot, diagnose};
use brigade_facts::{Depth, FactReader, SummaryFacts, ToolFacts, ToolReader, parse_json};
use brigade_schema::Requirement;
use brigade_upkeep::{Keep, examine, pin_states};

use crate::error::Error;
use crate::fault::ErrorLine;
use crate::gather;
use crate::gather::Config;
use crate::load;
use crate::pins;
use crate::refusal::Refusal;
use crate::report::{
    ArgumentDescription, Contract, ContractHealth, ContractsReport, DescribeReport, DescribedTool,
    IssueReport, McpSummary, Origin, Report as _, SearchReport, ShowReport, ToolLine, ToolLinesReport,
    ToolSummary, Unfilled,
};
use crate::room::{CATALOG, Room};

/// Lists, shows and adds to the catalog.
#[derive(Clone)]
pub struct Tools {
    pub(crate) room: Arc<Room>,
}

impl Tools {
    /// Lists the enabled tools as the catalog has them, without looking at any other file.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn lines(&self) -> Result<ToolLinesReport, Error> {
        let catalog = load::catalog(&self.room)?;
        let line = |tool: &Tool| {
            let tool = &*tool.without_secrets();
            ToolLine {
                id: tool.id.as_str().to_owned(),
                name: tool.name.clone(),
                family: tool.family.map(|family| family.as_str().to_owned()),
                description: tool.description.clone().unwrap_or_default(),
                supported_harnesses: tool.supported_harnesses.clone(),
                broken: tool.is_broken,
            }
        };
        Ok(ToolLinesReport {
            schema: ToolLinesReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: catalog.is_valid(),
            errors: load::errors_of(&catalog),
            tools: catalog.tools().iter().filter(|tool| tool.enabled).map(line).collect(),
            next: {
                let mut hints = catalog.issues().iter().filter_map(|issue| issue.hint.as_ref());
                let is_missing = hints.any(|hint| hint.step() == Some(&NextStep::Init));
                match (catalog.is_valid(), is_missing) {
                    (true, _) => NextStep::AddDefaults,
                    (false, true) => NextStep::Init,
                    (false, false) => NextStep::Diagnose,
                }
            },
        })
    }

    /// Shows one tool and its projections, also one that is disabled.
    ///
    /// # Errors
    /// [`Refusal::Tool`] when there is none of that id; when the disk fails.
    pub fn show(&self, id: &str) -> Result<ShowReport, Error> {
        let config = gather::config(&self.room)?;
        let tool = load::any_tool(&config.catalog, id);
        let tool = tool.map_err(|error| error.refusing(&self.room, Refusal::Tool))?;
        Ok(ShowReport {
            schema: ShowReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            tool: shown_summary(
                &self.room,
                FactReader::new(gather::host(&self.room), &config).read(tool, Depth::Summary),
            ),
            error: Unfilled::default(),
        })
    }

    /// Finds enabled tools whose id, name, family or description contains a text, whatever its case.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn search(&self, query: &str) -> Result<SearchReport, Error> {
        let config = gather::config(&self.room)?;
        let found: Vec<&Tool> =
            config.catalog.search(query).into_iter().filter(|tool| tool.enabled).collect();
        let matches: Vec<ToolSummary> = FactReader::new(gather::host(&self.room), &config)
            .read_all(&found)
            .into_iter()
            .map(|read| shown_summary(&self.room, read))
            .collect();
        Ok(SearchReport {
            schema: SearchReport::SCHEMA,
            target: self.room.target(),
            query: query.to_owned(),
            match_count: matches.len(),
            matches,
        })
    }

    /// Describes how a tool is called, also one that is disabled: it is reviewed before it is enabled.
    ///
    /// # Errors
    /// [`Refusal::Contract`] when there is none of that id; when the disk fails.
    pub fn describe(&self, id: &str) -> Result<DescribeReport, Error> {
        let config = gather::config(&self.room)?;
        let errors = load::errors_of(&config.catalog);
        let tool = load::any_tool(&config.catalog, id).map_err(|error| {
            let mut errors = errors.clone();
            let message = error.to_string();
            if errors.iter().all(|known| known.as_str() != message) {
                errors.push(ErrorLine::new(error.code(), message));
            }
            error.refusing(&self.room, Refusal::Contract { errors })
        })?;
        let (mut read, issues) = examine_tools(&self.room, &config, &[tool], Vec::new(), Keep::All);
        let read = read.remove(0);
        let reader = ToolReader { host: gather::host(&self.room), tool, outside: &[] };
        let issues = shown_issues(&self.room, issues.iter().filter(|issue| concerns(issue, tool)));
        Ok(DescribeReport {
            schema: DescribeReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: config.catalog.is_valid(),
            errors,
            arguments: arguments(&read),
            tool: DescribedTool {
                contract: contract_of(&self.room, tool),
                summary: shown_summary(&self.room, read),
            },
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

    /// Lists the contracts of the enabled tools and what keeps calls of them from being planned or run. What is wrong
    /// beside contracts, such as projections that were not written, is left to the doctor.
    ///
    /// # Errors
    /// When the disk fails.
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
            ContractHealth {
                contract: contract_of(&self.room, tool),
                issue_count: own.len(),
                issues: shown_issues(&self.room, own),
            }
        };
        let contracts: Vec<ContractHealth> = tools.iter().map(health).collect();
        Ok(ContractsReport {
            schema: ContractsReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: config.catalog.is_valid(),
            errors: load::errors_of(&config.catalog),
            contract_count: contracts.len(),
            contracts,
            issue_count: issues.len(),
            issues: shown_issues(&self.room, &issues),
            live: None,
        })
    }
}

/// Reads the files of tools, and diagnoses them, the catalog and these pins, and nothing else.
fn examine_tools<'c>(
    room: &Room,
    config: &'c Config,
    tools: &[&'c Tool],
    pins: Vec<PinState>,
    keep: Keep,
) -> (Vec<ToolFacts<'c>>, Vec<Issue>) {
    let examined = examine(gather::host(room), config, tools, None, keep);
    let catalog = Some(ConfigFile::Read(&config.catalog));
    let tools = Some(examined.issues);
    (examined.read, diagnose(Snapshot { catalog, tools, pins, ..Snapshot::new(room.now()) }))
}

/// Shows issues.
pub(crate) fn shown_issues<'i>(room: &Room, issues: impl IntoIterator<Item = &'i Issue>) -> Vec<IssueReport> {
    issues.into_iter().map(|issue| shown_issue(room, issue)).collect()
}

/// Shows an issue.
pub(crate) fn shown_issue(room: &Room, issue: &Issue) -> IssueReport {
    IssueReport::of(issue, |path| room.absolute(path), |step| room.words(step))
}

fn shown_summary(room: &Room, read: ToolFacts<'_>) -> ToolSummary {
    let tool = read.tool;
    tool_summary(tool, &read.summary(), |path| room.absolute(path))
}

fn contract_of(room: &Room, tool: &Tool) -> Contract {
    contract(tool, |path| room.absolute(path))
}

/// Returns the enabled tools of a catalog.
pub(crate) fn enabled(catalog: &Catalog) -> Vec<&Tool> {
    catalog.tools().iter().filter(|tool| tool.enabled).collect()
}

/// Sums up a tool; `absolute` makes a path as reports have it.
pub(crate) fn tool_summary(
    tool: &Tool,
    facts: &SummaryFacts,
    absolute: impl Fn(&str) -> String,
) -> ToolSummary {
    let tool = &*tool.without_secrets();
    let named = |path: &Option<String>| path.as_deref().filter(|path| !path.is_empty()).map(&absolute);
    let paths: BTreeMap<String, String> =
        tool.projections.iter().map(|(harness, path)| (harness.clone(), absolute(path))).collect();
    let read = || facts.source_fingerprint.map(Fingerprint::to_hex).or_else(|| tool.fingerprint.clone());
    ToolSummary {
        id: tool.id.as_str().to_owned(),
        name: tool.name.clone(),
        family: family(tool),
        enabled: tool.enabled,
        description: tool.description.clone().unwrap_or_default(),
        supported_harnesses: tool.supported_harnesses.clone(),
        projection_coverage: facts
            .coverage
            .iter()
            .map(|(harness, status)| (harness.clone(), status.as_str().to_owned()))
            .collect(),
        schema_available: facts.schema_available,
        manifest_available: facts.manifest_available,
        auth_label: tool.auth_label.as_deref().map(|label| brigade_policy::shown_label(label).to_owned()),
        tool_count: facts.tool_count,
        contract: shown_contract(tool, &absolute),
        origin: origin(tool),
        broken: tool.is_broken,
        source_path: named(&tool.source_path),
        source_fingerprint: tool.source_path.as_ref().map(|_| read()),
        manifest_path: named(&tool.manifest_path),
        schema_path: named(&tool.schema_path),
        health_path: named(&tool.health_path),
        command: tool.command.clone(),
        projection_paths: Some(paths).filter(|paths| !paths.is_empty()),
        mcp: facts
            .mcp_server_ids
            .as_ref()
            .map(|ids| McpSummary { server_count: ids.len(), server_ids: ids.clone() }),
    }
}

fn contract(tool: &Tool, absolute: impl Fn(&str) -> String) -> Contract {
    shown_contract(&tool.without_secrets(), absolute)
}

/// Writes the contract of a tool that is without its secrets.
fn shown_contract(tool: &Tool, absolute: impl Fn(&str) -> String) -> Contract {
    let named = |path: &Option<String>| path.as_deref().filter(|path| !path.is_empty()).map(&absolute);
    Contract {
        tool_id: tool.id.as_str().to_owned(),
        name: tool.name.clone(),
        family: family(tool),
        description: tool.description.clone().unwrap_or_default(),
        command: tool.command.clone(),
        timeout: tool.timeout.map(|timeout| timeout.get()),
        auth_label: tool.auth_label.as_deref().map(|label| brigade_policy::shown_label(label).to_owned()),
        cwd: tool.cwd.clone(),
        runtime_id: tool.runtime_id.clone(),
        requires_runtime: tool.requires_runtime,
        runtime_health_path: tool.runtime_health_path.clone(),
        mcp_server_id: tool.mcp_server_id.clone(),
        mcp_tool_name: tool.mcp_tool_name.clone(),
        approval_mode: tool.approval_mode.unwrap_or(ApprovalMode::Never).as_str().to_owned(),
        permissions: tool.permissions.clone(),
        effects: tool.effects.clone(),
        env_labels: tool
            .env_labels
            .iter()
            .map(|label| brigade_policy::shown_label(label).to_owned())
            .collect(),
        argument_template: tool.argument_template.clone(),
        input_schema_path: named(&tool.input_schema_path),
        output_schema_path: named(&tool.output_schema_path),
        examples_path: named(&tool.examples_path),
        has_contract: tool.has_contract(),
    }
}

fn family(tool: &Tool) -> Option<String> {
    tool.family.map(|family| family.as_str().to_owned())
}

fn concerns(issue: &Issue, tool: &Tool) -> bool {
    issue.tool_id.as_deref() == Some(tool.id.as_str())
}

fn origin(tool: &Tool) -> Origin {
    Origin {
        level: match tool.origin.level {
            Level::Project => "project",
            Level::User => "user",
            Level::Discovered => "discovered",
        }
        .into(),
        file: tool.origin.place.file.clone(),
        line: tool.origin.place.line,
    }
}

fn arguments(read: &ToolFacts<'_>) -> Vec<ArgumentDescription> {
    let Some(schema) = read.input_schema() else {
        return Vec::new();
    };
    let describe = |property: brigade_schema::Property<'_>| ArgumentDescription {
        name: property.name.to_owned(),
        kind: property.describe_type(),
        required: property.requirement == Requirement::Required,
        description: property.description.map(str::to_owned),
    };
    schema.properties().map(describe).collect()
}

/// Counts words.
pub(crate) fn counts<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}
