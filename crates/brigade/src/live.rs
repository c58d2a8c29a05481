//! Compares what MCP servers list now with what is stored, on explicit request only.
//!
//! A server starts as in a call: the command of its tool, without a shell, in its directory, under the policy's
//! decision, sandbox and limits. It lists its tools and is ended. No tool is called. Tools with the same server and
//! command share one start.

use brigade_call::{VerifiedStart, plan_start};
use brigade_catalog::Tool;
use brigade_core::text::escape_terminal;
use brigade_exec::OpenedProgram;
use brigade_facts::{FactReader, StartInput, ToolReader, parse_json};
use brigade_mcp::{Against, Asking, Comparison, Exchange, McpTool, Silence};

use crate::catalog::Tools;
use crate::error::{Error, ErrorKind};
use crate::pins;
use crate::pins::Pins;
use crate::report::{ContractsReport, DescribeReport, LiveReport, PinListReport};
use crate::room::Room;
use brigade_facts::Config;
use brigade_upkeep::gather;
use brigade_upkeep::load;

impl Tools {
    /// Describes the contract of a tool, and compares it with the current list of its server.
    ///
    /// # Errors
    /// Fails if the tool is not an MCP tool, or on a file error.
    pub fn describe_live(&self, id: &str) -> Result<DescribeReport, Error> {
        let mut report = self.describe(id)?;
        let config = gather::config(&self.room)?;
        let tool = load::named_tool(&config.catalog, id)?;
        if McpTool::of_tool(tool).is_none() {
            let shown = escape_terminal(id);
            let message = format!("tool `{shown}` names no MCP server and tool, so nothing can be asked");
            return Err(Error::new(ErrorKind::Refused, message).hint("set `runtime_id` and `mcp_tool_name`"));
        }
        report.live = Some(compare(&self.room, &config, &[tool], Against::ContractsAndPins)?);
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
    compare(room, &config, &load::enabled(&config.catalog), against)
}

fn compare(room: &Room, config: &Config, tools: &[&Tool], against: Against) -> Result<LiveReport, Error> {
    let schema = |tool: &Tool| {
        let reader = ToolReader { host: room.host(), tool, outside: &[] };
        parse_json(reader.document(tool.input_schema_path.as_deref()).bytes()?).ok()
    };
    let comparison = Comparison {
        store: pins::pin_store(room),
        catalog: &config.catalog,
        against,
        ask: &|tool: &Tool| ask(room, config, tool),
        schema: &schema,
    };
    let mut report = comparison.of(tools)?;
    report.issues.iter_mut().for_each(|issue| issue.spell(&room.speller()));
    Ok(report)
}

/// Asks the server of one tool for its tools.
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
    let read = FactReader::new(room.host(), config).start(tool);
    let StartInput { facts, program } = read.map_err(|error| Silence::Failed(error.to_string()))?;
    let start = plan_start(facts).map_err(Silence::NotStarted)?;
    let program = program.expect("a verified start has its program open");
    Ok((start, program))
}
