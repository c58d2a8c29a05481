//! Compares server lists with pins and the catalog.

use std::collections::{BTreeMap, BTreeSet};

use brigade_catalog::{Catalog, Tool};
use brigade_core::text::{escape_terminal, short};
use brigade_core::{Json, NextStep, Place, Severity};
use brigade_fs::FsError;

use crate::asking::Silence;
use crate::exchange::Exchange;
use crate::pin::{ListedTool, diff};
use crate::pins::{McpTool, OnFirstUse, PinRecord, PinStore, ServerCommand};
use crate::rows::{LiveIssue, LiveReport, LiveServerReport, LiveToolReport, PinCheck, server_issues};

/// The basis that a list is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonBasis {
    /// All pins, including those of servers that cannot be asked. Changes are stored in the pins' files.
    Pins,
    /// The catalog entries of the requested tools, and their pins.
    ContractsAndPins,
}

/// The maximum number of reported unknown tools.
const NAMES: usize = 20;

/// The maximum shown length of their names, in characters.
const NAME: usize = 80;

/// The key of a server start. Tools with equal keys share one process.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ServerKey<'c> {
    server: String,
    command: Option<&'c str>,
    directory: Option<&'c str>,
    effects: &'c [String],
    env_labels: &'c [String],
}

/// One server and the catalog tools that share it.
struct SharedServer<'c> {
    server: String,
    tools: Vec<&'c Tool>,
    /// The pin keys of the tools, in the same order.
    keys: Vec<McpTool>,
    /// The command that starts the server.
    command: ServerCommand,
    /// Its answer, or why it did not answer.
    answer: Result<Exchange, Silence>,
}

/// A comparison of what servers list with what is stored.
pub struct Comparison<'a> {
    /// The pins.
    pub store: PinStore<'a>,
    /// The catalog.
    pub catalog: &'a Catalog,
    /// The basis that a list is compared with.
    pub against: ComparisonBasis,
    /// Asks the server of a tool for its list.
    pub ask: &'a dyn Fn(&Tool) -> Result<Exchange, Silence>,
    /// Reads the stored input schema of a tool; `None` if it cannot be read, which is reported as a separate issue.
    pub schema: &'a dyn Fn(&Tool) -> Option<Json>,
}

impl Comparison<'_> {
    /// Asks the servers of tools for their lists, and compares these with what is stored. Tools with the same server
    /// and command are asked for once. Tools that are not complete MCP tools are skipped.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn report(&self, tools: &[&Tool]) -> Result<LiveReport, FsError> {
        compare(self, &self.servers(tools)?)
    }

    fn servers<'c>(&self, tools: &[&'c Tool]) -> Result<Vec<SharedServer<'c>>, FsError> {
        let mut groups: BTreeMap<ServerKey<'c>, Vec<(&'c Tool, McpTool)>> = BTreeMap::new();
        for tool in tools {
            if let Some(mcp) = self.store.key(self.catalog, tool)? {
                let started = ServerKey {
                    server: mcp.server.clone(),
                    command: tool.command.as_deref(),
                    directory: tool.cwd.as_deref(),
                    effects: &tool.effects,
                    env_labels: &tool.env_labels,
                };
                groups.entry(started).or_default().push((tool, mcp));
            }
        }
        let ask = |(started, tools): (ServerKey<'c>, Vec<(&'c Tool, McpTool)>)| {
            let (tools, keys): (Vec<&Tool>, Vec<McpTool>) = tools.into_iter().unzip();
            let answer = (self.ask)(tools[0]);
            SharedServer {
                server: started.server,
                command: ServerCommand::from_tool(tools[0]),
                tools,
                keys,
                answer,
            }
        };
        Ok(groups.into_iter().map(ask).collect())
    }
}

fn compare(comparison: &Comparison<'_>, servers: &[SharedServer<'_>]) -> Result<LiveReport, FsError> {
    let Comparison { store, catalog, against, .. } = *comparison;
    let (pins, _) = store.all()?;
    if against == ComparisonBasis::Pins {
        note_listings(&store, servers, &pins)?;
    }
    note_servers(comparison, servers, &pins)?;
    let states = store.servers(catalog, &pins)?;
    let mut report = LiveReport::default();
    for (index, shared) in servers.iter().enumerate() {
        report.servers.push(summary(shared));
        let exchange = match &shared.answer {
            Ok(exchange) => exchange,
            Err(why) => {
                // A start refused by the policy is explained by `policy explain`.
                let step: fn(String) -> NextStep =
                    if why.is_of_the_policy() { NextStep::ExplainPolicy } else { NextStep::DescribeTool };
                report.issues.push(LiveIssue {
                    hint: Some(step(shared.tools[0].id.to_string()).into()),
                    ..issue("mcp_server_failed", &shared.server, None, format!("no tools were listed: {why}"))
                });
                continue;
            }
        };
        for (tool, mcp) in shared.tools.iter().zip(&shared.keys) {
            let pin = pins.iter().find(|pin| pin.tool == *mcp);
            let line = live_tool(comparison, tool, mcp, pin, &exchange.tools, &mut report.issues);
            report.tools.push(line);
        }
        let others =
            pins.iter().filter(|pin| answers_for(servers, index, pin) && !shared.keys.contains(&pin.tool));
        for pin in others.filter(|_| against == ComparisonBasis::Pins) {
            let listed = exchange.tools.iter().find(|listed| listed.name == pin.tool.tool);
            report.issues.extend(pin_issue(pin, listed, against));
        }
        let appeared: BTreeSet<&str> = states
            .iter()
            .filter(|state| state.listing.server == shared.server)
            .flat_map(|state| state.appeared.iter().map(String::as_str))
            .collect();
        report.issues.extend(new_tools(catalog, shared, &pins, &exchange.tools, &appeared));
    }
    let has_answered =
        |server: &str| servers.iter().any(|shared| shared.server == server && shared.answer.is_ok());
    for state in states.iter().filter(|state| has_answered(&state.listing.server)) {
        // A vanished tool in the catalog is already reported for its entry.
        let is_reported = |issue: &LiveIssue| {
            report.issues.iter().any(|reported| reported.code == issue.code && reported.tool == issue.tool)
        };
        let fresh: Vec<LiveIssue> =
            server_issues(state).into_iter().filter(|issue| !is_reported(issue)).collect();
        report.issues.extend(fresh);
    }
    if against == ComparisonBasis::Pins {
        let reached: BTreeSet<&str> = servers.iter().map(|shared| shared.server.as_str()).collect();
        for pin in pins.iter().filter(|pin| !reached.contains(pin.tool.server.as_str())) {
            let message = "no enabled tool of the catalog says how the server is started".to_owned();
            report.issues.push(LiveIssue {
                severity: Severity::Info,
                hint: Some(NextStep::ShowPin(pin.id()).into()),
                ..issue("mcp_no_server", &pin.tool.server, Some(&pin.tool.tool), message)
            });
        }
    }
    report.issue_count = report.issues.len();
    Ok(report)
}

/// Stores changes in the pins' files, so exactly the shown change can be accepted.
fn note_listings(
    store: &PinStore<'_>,
    servers: &[SharedServer<'_>],
    pins: &[PinRecord],
) -> Result<(), FsError> {
    let now = store.clock.now();
    for (index, shared) in servers.iter().enumerate() {
        let Ok(exchange) = &shared.answer else { continue };
        for pin in pins.iter().filter(|pin| answers_for(servers, index, pin)) {
            let mut listed = exchange.tools.iter().filter(|listed| listed.name == pin.tool.tool);
            let own = shared.keys.contains(&pin.tool).then_some(shared.command);
            match (listed.next(), listed.next()) {
                (Some(listed), None) => store.note_listing(pin, listed, own, now)?,
                (None, _) => store.note_vanished(pin, now)?,
                (Some(_), Some(_)) => {}
            }
        }
    }
    Ok(())
}

/// Stores the tool names of servers. Only a check of pins adds a server that was unknown before.
fn note_servers(
    comparison: &Comparison<'_>,
    servers: &[SharedServer<'_>],
    pins: &[PinRecord],
) -> Result<(), FsError> {
    let Comparison { store, catalog, against, .. } = *comparison;
    for (index, shared) in servers.iter().enumerate() {
        let Ok(exchange) = &shared.answer else { continue };
        let is_pinned = pins.iter().any(|pin| answers_for(servers, index, pin));
        let first_time =
            if is_pinned && against == ComparisonBasis::Pins { OnFirstUse::Begin } else { OnFirstUse::Leave };
        let names = exchange.tools.iter().map(|tool| tool.name.as_str());
        store.note_names(catalog, shared.tools[0], names, first_time)?;
    }
    Ok(())
}

fn live_tool(
    comparison: &Comparison<'_>,
    tool: &Tool,
    mcp: &McpTool,
    pin: Option<&PinRecord>,
    listed: &[ListedTool],
    issues: &mut Vec<LiveIssue>,
) -> LiveToolReport {
    let against = comparison.against;
    let found: Vec<&ListedTool> = listed.iter().filter(|listed| listed.name == mcp.tool).collect();
    let mut line = LiveToolReport {
        tool_id: tool.id.as_str().to_owned(),
        server: mcp.server.clone(),
        tool: mcp.tool.clone(),
        is_listed: found.len() == 1,
        description: found.first().and_then(|listed| listed.description.clone()),
        pin: PinCheck::None,
        contract_changes: Vec::new(),
    };
    if 1 < found.len() {
        let message = format!("the server lists it {} times, so it is never called", found.len());
        // Only the author of the server can fix it.
        issues.push(issue("mcp_tool_duplicate", &mcp.server, Some(&mcp.tool), message));
        return line;
    }
    if let Some(pin) = pin {
        let of_pin = pin_issue(pin, found.first().copied(), against);
        line.pin = if of_pin.is_some() { PinCheck::Changed } else { PinCheck::Holds };
        issues.extend(of_pin);
    } else if found.is_empty() {
        let message = "the server lists no tool of this name".to_owned();
        issues.push(issue("mcp_tool_vanished", &mcp.server, Some(&mcp.tool), message));
    }
    let (Some(listed), ComparisonBasis::ContractsAndPins) = (found.first(), against) else {
        return line;
    };
    line.contract_changes = contract_changes((comparison.schema)(tool), listed);
    if !line.contract_changes.is_empty() {
        issues.push(LiveIssue {
            changes: line.contract_changes.clone(),
            hint: Some(NextStep::Edit(schema_of(tool)).into()),
            ..issue(
                "mcp_contract_differs",
                &mcp.server,
                Some(&mcp.tool),
                format!(
                    "the input schema of `{}` differs from the server's listing: review it, and queue the calls again",
                    escape_terminal(&line.tool_id)
                ),
            )
        });
    }
    line
}

/// Returns the place of the stored schema: its file, or otherwise the entry.
fn schema_of(tool: &Tool) -> Place {
    match &tool.input_schema_path {
        Some(path) => Place::file(path),
        None => tool.place_of("input_schema_path"),
    }
}

/// Lists how the schema that a server lists differs from the stored one.
fn contract_changes(stored: Option<Json>, listed: &ListedTool) -> Vec<String> {
    let Some(stored) = stored else { return Vec::new() };
    // Only schemas are compared, because people write the description in the catalog.
    let of_schema = |schema: Json| {
        ListedTool::from_json(&Json::object([
            ("name", Json::from(listed.name.as_str())),
            ("inputSchema", schema),
        ]))
    };
    match (of_schema(stored), of_schema(listed.input_schema.clone())) {
        (Some(stored), Some(now)) => diff(&stored, &now).iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// Returns whether a server's answer applies to a pin: it was asked for the pinned tool, or it is the only server with
/// that name.
fn answers_for(servers: &[SharedServer<'_>], index: usize, pin: &PinRecord) -> bool {
    let shared = &servers[index];
    if shared.server != pin.tool.server {
        return false;
    }
    let others = || {
        servers.iter().enumerate().filter(|(other, server)| *other != index && server.server == shared.server)
    };
    shared.keys.contains(&pin.tool)
        || !others().any(|(_, other)| other.keys.contains(&pin.tool))
            && (pin.command.is_none_or(|command| command == shared.command)
                || !others().any(|(_, other)| Some(other.command) == pin.command))
}

/// Returns how a list differs from a pin, if it does.
fn pin_issue(pin: &PinRecord, listed: Option<&ListedTool>, against: ComparisonBasis) -> Option<LiveIssue> {
    let McpTool { server, tool, .. } = &pin.tool;
    let Some(listed) = listed else {
        let message = "the server does not list the pinned tool any more".to_owned();
        return Some(LiveIssue {
            hint: Some(NextStep::ShowPin(pin.id()).into()),
            ..issue("mcp_tool_vanished", server, Some(tool), message)
        });
    };
    if pin.pin.holds(listed) {
        return None;
    }
    let message = "the server lists the tool differently than it is pinned; calls are refused".to_owned();
    Some(LiveIssue {
        changes: pin.pin.changes(listed).iter().map(ToString::to_string).collect(),
        hint: Some(match against {
            ComparisonBasis::Pins => {
                NextStep::AcceptPinChange { pin: pin.id(), fingerprint: listed.fingerprint() }.into()
            }
            ComparisonBasis::ContractsAndPins => NextStep::ComparePins.into(),
        }),
        ..issue("mcp_tool_changed", server, Some(tool), message)
    })
}

/// Lists tools of a server that have no pin and no catalog entry.
fn new_tools(
    catalog: &Catalog,
    shared: &SharedServer<'_>,
    pins: &[PinRecord],
    listed: &[ListedTool],
    appeared: &BTreeSet<&str>,
) -> Option<LiveIssue> {
    let of_catalog = catalog.tools().iter().filter_map(McpTool::of_tool);
    let known: BTreeSet<String> = of_catalog
        .chain(pins.iter().map(|pin| pin.tool.clone()))
        .filter(|known| known.server == shared.server)
        .map(|known| known.tool)
        .collect();
    let names: BTreeSet<&str> = listed
        .iter()
        .map(|listed| listed.name.as_str())
        .filter(|name| !known.contains(*name) && !appeared.contains(name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let shown: Vec<_> =
        names.iter().take(NAMES).map(|name| escape_terminal(&short(name, NAME)).into_owned()).collect();
    let more = if NAMES < names.len() { ", ..." } else { "" };
    let message = match names.len() {
        1 => format!("the server lists a tool that neither the catalog nor a pin names: {}", shown.join("")),
        count => format!(
            "the server lists {count} tools that neither the catalog nor a pin names: {}{more}",
            shown.join(", ")
        ),
    };
    let runtime = shared.tools.first().and_then(|tool| tool.runtime_id.as_deref());
    Some(LiveIssue {
        severity: Severity::Info,
        hint: runtime.map(|runtime| NextStep::TryImportMcp(runtime.to_owned()).into()),
        ..issue("mcp_tool_new", &shared.server, None, message)
    })
}

fn summary(shared: &SharedServer<'_>) -> LiveServerReport {
    let exchange = shared.answer.as_ref().ok();
    LiveServerReport {
        server: shared.server.clone(),
        answered: exchange.is_some(),
        server_info: exchange.and_then(|exchange| exchange.server.clone()).unwrap_or_default(),
        protocol_version: exchange.and_then(|exchange| exchange.protocol_version.clone()),
        tools: exchange
            .map(|exchange| exchange.tools.iter().map(|tool| tool.name.clone()).collect())
            .unwrap_or_default(),
        error: shared.answer.as_ref().err().map(Silence::line),
    }
}

fn issue(code: &'static str, server: &str, tool: Option<&str>, message: String) -> LiveIssue {
    LiveIssue {
        code: code.into(),
        severity: Severity::Warning,
        server: server.to_owned(),
        tool: tool.map(str::to_owned),
        message,
        changes: Vec::new(),
        hint: None,
    }
}
