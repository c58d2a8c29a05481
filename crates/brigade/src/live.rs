//! Compares what MCP servers list now with what is stored, on explicit request only.
//!
//! A server starts as in a call: the command of its tool, without a shell, in its directory, under the policy's
//! decision, sandbox and limits. It lists its tools and is ended. No tool is called. Tools with the same server and
//! command share one start.

mod compare;

use std::collections::BTreeMap;

use brigade_call::{VerifiedStart, plan_start};
use brigade_catalog::Tool;
use brigade_core::Json;
use brigade_core::text::escape_terminal;
use brigade_exec::OpenedProgram;
use brigade_facts::{FactReader, StartInput};
use brigade_mcp::{Asking, Exchange, McpTool, ServerCommand, Silence, Started};
use compare::Against;

use crate::catalog::Tools;
use crate::catalog::enabled;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::gather::Config;
use crate::load;
use crate::pins;
use crate::pins::Pins;
use crate::report::{ContractsReport, DescribeReport, LiveReport, PinListReport};
use crate::room::Room;

/// One server and the catalog tools that share it.
pub(crate) struct Asked<'c> {
    pub(crate) server: String,
    pub(crate) tools: Vec<&'c Tool>,
    /// The pin keys of the tools, in the same order.
    pub(crate) keys: Vec<McpTool>,
    /// The command that starts the server.
    pub(crate) command: ServerCommand,
    /// Its answer, or why there is none.
    pub(crate) said: Result<Exchange, Silence>,
}

impl Tools {
    /// Describes the contract of a tool, and compares it with the current list of its server.
    ///
    /// # Errors
    /// Fails if the tool is not an MCP tool, or on a file error.
    pub fn describe_live(&self, id: &str) -> Result<DescribeReport, Error> {
        let mut report = self.describe(id)?;
        let config = gather::config(&self.room)?;
        let tool = load::tool(&config.catalog, id)?;
        if McpTool::of_tool(tool).is_none() {
            let shown = escape_terminal(id);
            let message = format!("tool `{shown}` names no MCP server and tool, so nothing can be asked");
            return Err(Error::new(ErrorKind::Refused, message).hint("set `runtime_id` and `mcp_tool_name`"));
        }
        let asked = ask_servers(&self.room, &config, &[tool])?;
        report.live = Some(compare::compare(&self.room, &config, &asked, Against::ContractsAndPins)?);
        Ok(report)
    }

    /// Lists the contracts of the enabled tools, and compares those of MCP tools with the current lists of their
    /// servers.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn contracts_live(&self) -> Result<ContractsReport, Error> {
        let mut report = self.contracts()?;
        report.live = Some(live(&self.room, Against::ContractsAndPins)?);
        Ok(report)
    }
}

impl Pins {
    /// Lists the pins, and compares them with the current lists of the servers of enabled tools. A change is stored
    /// beside its pin, to be shown and accepted. The pin itself stays.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list_live(&self) -> Result<PinListReport, Error> {
        let live = live(&self.room, Against::Pins)?;
        Ok(PinListReport {
            is_live: true,
            issue_count: live.issues.len(),
            issues: live.issues,
            ..self.list()?
        })
    }
}

fn live(room: &Room, against: Against) -> Result<LiveReport, Error> {
    let config = gather::config(room)?;
    let asked = ask_servers(room, &config, &enabled(&config.catalog))?;
    compare::compare(room, &config, &asked, against)
}

/// Asks the servers of tools. Skips tools without a complete MCP configuration.
fn ask_servers<'c>(room: &Room, config: &'c Config, tools: &[&'c Tool]) -> Result<Vec<Asked<'c>>, Error> {
    let mut groups: BTreeMap<Started<'c>, Vec<(&'c Tool, McpTool)>> = BTreeMap::new();
    for tool in tools {
        if let Some(mcp) = pins::pin_store(room).key(&config.catalog, tool)? {
            groups.entry(Started::of(mcp.server.clone(), tool)).or_default().push((tool, mcp));
        }
    }
    let ask = |(started, tools): (Started<'c>, Vec<(&'c Tool, McpTool)>)| {
        let (tools, keys): (Vec<&Tool>, Vec<McpTool>) = tools.into_iter().unzip();
        let said = ask(room, config, tools[0]);
        Asked { server: started.server, command: ServerCommand::of(tools[0]), tools, keys, said }
    };
    Ok(groups.into_iter().map(ask).collect())
}

/// Asks the server of one tool.
///
/// # Errors
/// Returns why the server was not asked or did not answer.
pub(crate) fn ask(room: &Room, config: &Config, tool: &Tool) -> Result<Exchange, Silence> {
    let (start, program) = plan_list(room, config, tool)?;
    let secrets = gather::bound_secrets(room, &config.policy);
    let asking = Asking {
        workspace: room.fs.root(),
        environment: &room.env.environment,
        secrets: &secrets,
        cancel: room.env.cancel.clone(),
    };
    asking.list(tool, &start, &program)
}

/// Checks the start of a tool's server, and opens its program.
fn plan_list(room: &Room, config: &Config, tool: &Tool) -> Result<(VerifiedStart, OpenedProgram), Silence> {
    let read = FactReader::new(gather::host(room), config).start(tool);
    let StartInput { facts, program } = read.map_err(|error| Silence::Failed(error.to_string()))?;
    let start = plan_start(facts).map_err(Silence::NotStarted)?;
    let program = program.expect("a verified start has its program open");
    Ok((start, program))
}

/// Returns the name and version that a server reports.
pub(crate) fn server_name(exchange: &Exchange) -> Json {
    exchange.server.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use brigade_doctor::IssueType;

    #[track_caller]
    fn kind(code: &str) -> IssueType {
        IssueType::from_code(code).unwrap_or_else(|| panic!("{code} is not in the table"))
    }

    #[test]
    fn the_table_has_every_code_that_is_shown_of_servers() {
        for source in [include_str!("live/compare.rs"), include_str!("pins.rs")] {
            let quoted = source.split('"').filter(|text| text.starts_with("mcp_"));
            let codes: Vec<&str> =
                quoted.filter(|text| !matches!(*text, "mcp_tool_name" | "mcp_server_id")).collect();
            assert!(!codes.is_empty());
            codes.into_iter().for_each(|code| assert_eq!(kind(code).code(), code));
        }
    }
}
