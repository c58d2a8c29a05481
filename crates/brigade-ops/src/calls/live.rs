//! Compares the current tool lists of MCP servers with the stored ones, on explicit request only.
//!
//! A server starts as in a call: the command of its tool, without a shell, in its directory, under the policy's
//! decision, sandbox and limits. It lists its tools and is ended. No tool is called. Tools with the same server and
//! command share one start.

use std::time::Duration;

use brigade_call::{VerifiedStart, plan_start};
use brigade_catalog::Tool;
use brigade_core::text::escape_terminal;
use brigade_exec::{Conversation, OpenedProgram};
use brigade_mcp::{Comparison, ComparisonBasis, Exchange, McpTool, PrintedErrors, Silence, require_list};
use brigade_process::Stream;
use brigade_workspace::{
    Config, FactReader, StartInput, ToolReader, WorkspaceContext, gather, load, parse_json,
};

use crate::error::{Error, ErrorKind};
use crate::pins;
use crate::pins::Pins;
use crate::report::{LiveReport, PinListReport};
use crate::upstreams::list_live;

/// The maximum time for listing tools. The policy or the tool can lower it.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Compares the contract of a tool with the current list of its server.
///
/// # Errors
/// Fails if the tool is not an MCP tool, or on a file error.
pub fn tool_live(context: &WorkspaceContext, id: &str) -> Result<LiveReport, Error> {
    let config = gather::config(context)?;
    let tool = load::named_tool(&config.catalog, id)?;
    if McpTool::of_tool(tool).is_none() {
        let shown = escape_terminal(id);
        let message = format!("tool `{shown}` names no MCP server and tool, so nothing can be asked");
        return Err(Error::new(ErrorKind::Refused, message).hint("set `runtime_id` and `mcp_tool_name`"));
    }
    compare(context, &config, &[tool], ComparisonBasis::ContractsAndPins)
}

/// Compares the contracts of the enabled MCP tools with the current lists of their servers.
pub fn contracts_live(context: &WorkspaceContext) -> Result<LiveReport, Error> {
    live(context, ComparisonBasis::ContractsAndPins)
}

impl Pins {
    /// Lists the pins, and compares them with the current lists of the servers of enabled tools. A change is stored
    /// beside its pin for review. The pin itself is not changed.
    pub fn list_live(&self) -> Result<PinListReport, Error> {
        let live = live(&self.context, ComparisonBasis::Pins)?;
        Ok(PinListReport {
            is_live: true,
            issue_count: live.issues.len(),
            issues: live.issues,
            ..self.list()?
        })
    }
}

fn live(context: &WorkspaceContext, against: ComparisonBasis) -> Result<LiveReport, Error> {
    let config = gather::config(context)?;
    compare(context, &config, &load::enabled(&config.catalog), against)
}

fn compare(
    context: &WorkspaceContext,
    config: &Config,
    tools: &[&Tool],
    against: ComparisonBasis,
) -> Result<LiveReport, Error> {
    let schema = |tool: &Tool| {
        let reader = ToolReader { host: context.host(), tool, outside: &[] };
        parse_json(reader.document(tool.input_schema_path.as_deref()).bytes()?).ok()
    };
    let comparison = Comparison {
        store: pins::pin_store(context),
        catalog: &config.catalog,
        against,
        ask: &|tool: &Tool| ask(context, config, tool),
        schema: &schema,
    };
    let mut report = comparison.report(tools)?;
    report.issues.iter_mut().for_each(|issue| issue.spell(&context.speller()));
    Ok(report)
}

/// Asks the server of one tool for its tools.
///
/// # Errors
/// Returns why the server was not asked or did not answer.
pub(crate) fn ask(context: &WorkspaceContext, config: &Config, tool: &Tool) -> Result<Exchange, Silence> {
    let (start, program) = plan_list(context, config, tool)?;
    let secrets = gather::bound_secrets(context, &config.policy);
    let server = Conversation {
        start: &start,
        program: &program,
        workspace: context.fs.root(),
        environment: &context.environment,
        secrets: &secrets,
        timeout: tool.timeout.map_or(LIST_TIMEOUT, |timeout| timeout.duration().min(LIST_TIMEOUT)),
        cancel: context.cancel.clone(),
    };
    let mut printed = PrintedErrors::default();
    let mut sink = |stream: Stream, bytes: &[u8]| {
        if stream == Stream::Stderr {
            printed.push(bytes);
        }
        Ok(())
    };
    let exchange = list_live(&server, &mut sink);
    require_list(exchange, tool, &start, &printed, &secrets)
}

/// Checks the start of a tool's server, and opens its program.
fn plan_list(
    context: &WorkspaceContext,
    config: &Config,
    tool: &Tool,
) -> Result<(VerifiedStart, OpenedProgram), Silence> {
    let read = FactReader::new(context.host(), config).start(tool);
    let StartInput { facts, program } = read.map_err(|error| Silence::Failed(error.to_string()))?;
    let start = plan_start(facts).map_err(Silence::NotStarted)?;
    let program = program.expect("a verified start has its program open");
    Ok((start, program))
}

#[cfg(test)]
mod tests {
    use brigade_core::ErrorCode;

    use super::*;
    use crate::testing::CallBench;

    #[test]
    fn only_a_tool_of_a_server_is_compared() {
        let bench = CallBench::new("");
        let error = tool_live(&bench.context, "tool").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().starts_with("tool `tool` names no MCP server and tool"), "{error}");
        assert_eq!(error.hints()[0].to_string(), "set `runtime_id` and `mcp_tool_name`");
        assert_eq!(tool_live(&bench.context, "tolo").unwrap_err().code(), ErrorCode::ToolMissing);
    }

    #[test]
    fn without_tools_of_servers_nothing_is_asked() {
        let bench = CallBench::new("");
        let report = contracts_live(&bench.context).unwrap();
        assert_eq!(report.issues.len(), 0);
        assert!(Pins::new(bench.context.clone()).list_live().unwrap().is_live);
    }
}
