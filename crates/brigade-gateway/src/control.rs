//! The gateway's own tools: find tools, follow calls, read output. Their calls are not recorded.

use std::sync::Arc;
use std::time::Duration;

use brigade::core::{CallId, RunId, Timestamp};
use brigade::gateway::{AgentUsage, Limit, LimitUnit, OwnName};
use brigade::profile::{FoundTools, NameStyle, control_tools};
use brigade::schema::Schema;
use brigade::{CallStatus, ErrorCode, LogStream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::{Answer, CallSummary, FaultRow};
use crate::blocking::blocking;
use crate::call::{Asker, error_answer};
use crate::gateway::Gateway;
use crate::results::{
    self, BudgetResult, CallRow, CallsResult, CancelResult, LimitRow, OutputResult, Spending, ToolsResult,
    UsedAmount,
};
use crate::session::Arguments;
use crate::view::{AgentTool, View};

/// A tool of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    List,
    Search,
    Describe,
    Call,
    Wait,
    Status,
    Calls,
    Cancel,
    Output,
    Budget,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArgs {
    #[serde(default)]
    offset: u64,
    #[serde(default = "fifty")]
    limit: u64,
    source: Option<String>,
    category: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    query: Option<String>,
    keyword: Option<String>,
    name_pattern: Option<String>,
    source: Option<String>,
    category: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default = "twenty")]
    limit: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameArgs {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArgs {
    name: String,
    /// The arguments come from the request, which keeps all digits of numbers.
    #[serde(default, rename = "arguments")]
    _arguments: Arguments,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitArgs {
    call_id: String,
    #[serde(default = "sixty")]
    timeout_seconds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdArgs {
    call_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageArgs {
    #[serde(default)]
    offset: u64,
    #[serde(default = "twenty")]
    limit: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputArgs {
    run_id: String,
    #[serde(default = "stdout")]
    stream: Stream,
    #[serde(default)]
    offset: u64,
    #[serde(default = "page_of_output")]
    limit: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stream {
    Stdout,
    Stderr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyArgs {}

fn fifty() -> u64 {
    50
}

fn twenty() -> u64 {
    20
}

fn sixty() -> u64 {
    60
}

fn stdout() -> Stream {
    Stream::Stdout
}

fn page_of_output() -> u64 {
    32 << 10
}

/// The longest time that one `call.wait` waits.
const MAX_WAIT_SECONDS: u64 = 600;

/// The most rows of one page.
const MAX_ROWS: u64 = 200;

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Control {
    /// All tools of the gateway, with their names.
    pub(crate) const ALL: [(Control, &'static str); 10] = [
        (Control::Budget, "budget.get"),
        (Control::Cancel, "call.cancel"),
        (Control::Calls, "call.list"),
        (Control::Status, "call.status"),
        (Control::Wait, "call.wait"),
        (Control::Output, "output.read"),
        (Control::Call, "tools.call"),
        (Control::Describe, "tools.describe"),
        (Control::List, "tools.list"),
        (Control::Search, "tools.search"),
    ];

    /// Returns the tool with this name.
    pub(crate) fn from_name(name: &str) -> Option<Control> {
        Control::ALL.iter().find(|(_, known)| *known == name).map(|(control, _)| *control)
    }

    fn name(self) -> &'static str {
        Control::ALL.iter().find(|(control, _)| *control == self).map_or("", |(_, name)| name)
    }

    /// Returns the name of the tool to call, if this tool calls another one.
    pub(crate) fn calls_another(self, arguments: &Arguments) -> Option<Result<String, Box<Answer>>> {
        (self == Control::Call).then(|| {
            let CallArgs { name, .. } = self.read(arguments)?;
            Ok(name)
        })
    }

    fn read<T: DeserializeOwned>(self, arguments: &Arguments) -> Result<T, Box<Answer>> {
        let value = Value::Object(arguments.clone());
        serde_json::from_value(value.clone()).map_err(|_| Box::new(self.invalid_arguments(&value)))
    }

    /// Lists the faults of the arguments, without values of the client.
    fn invalid_arguments(self, arguments: &Value) -> Answer {
        let own = control_tools().iter().find(|own| own.id == self.name());
        let listed = own.and_then(|own| serde_json::to_value(own.listed(NameStyle::Dotted)).ok());
        let schema = listed.as_ref().map(|listed| &listed["inputSchema"]);
        let known: Vec<&String> = schema
            .and_then(|schema| schema["properties"].as_object())
            .into_iter()
            .flat_map(Map::keys)
            .collect();
        let compiled = schema.and_then(|schema| Schema::compile_root(schema).ok());
        let violations = compiled.iter().flat_map(|schema| schema.violations(arguments));
        let of_known = |path: &str| known.iter().any(|name| path == format!("$.{name}")) || path == "$";
        let faults: Vec<FaultRow> = violations
            .map(|violation| {
                let path = violation.path.to_string();
                let (path, message) = if of_known(&path) {
                    (path, violation.to_string())
                } else {
                    ("$".to_owned(), format!("an unknown argument; there are {}", words(&known)))
                };
                FaultRow { code: ErrorCode::InvalidArgs.into(), path: Some(path), message }
            })
            .collect();
        if faults.is_empty() {
            // The schema knows no largest number.
            let large = |(_, value): &(&String, &Value)| value.is_number() && value.as_u64().is_none();
            let name = arguments.as_object().and_then(|members| members.iter().find(large));
            return self.wrong(name.map(|(name, _)| name.as_str()), "its type or range is wrong");
        }
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        let text = format!("the arguments do not fit: {}", messages.join("; "));
        let about = CallSummary { faults, ..CallSummary::of_tool(self.name(), "refused") };
        Answer::failed(about.coded(ErrorCode::InvalidArguments), text)
    }

    fn wrong(self, path: Option<&str>, message: &str) -> Answer {
        let fault = FaultRow {
            code: ErrorCode::InvalidArgs.into(),
            path: path.map(|path| format!("$.{path}")),
            message: message.to_owned(),
        };
        let about = CallSummary { faults: vec![fault], ..CallSummary::of_tool(self.name(), "refused") };
        let place = path.map_or_else(String::new, |path| format!("$.{path}: "));
        Answer::failed(
            about.coded(ErrorCode::InvalidArguments),
            format!("the arguments do not fit: {place}{message}"),
        )
    }

    fn done(self, result: &impl Serialize) -> Answer {
        let text = results::value(result).to_string();
        self.answer_with(result, text)
    }

    /// Answers with a result and a separate text.
    fn answer_with(self, result: &impl Serialize, text: String) -> Answer {
        let (about, structured) =
            (CallSummary::of_tool(self.name(), "completed"), Some(results::value(result)));
        Answer { about, structured, has_schema: true, ..Answer::default() }.text(text)
    }

    /// Answers a call of this tool.
    pub(crate) async fn answer(
        self,
        gateway: &Arc<Gateway>,
        asker: &Asker,
        view: &View,
        arguments: &Arguments,
    ) -> Answer {
        self.try_answer(gateway, asker, view, arguments).await.unwrap_or_else(|refused| *refused)
    }

    async fn try_answer(
        self,
        gateway: &Arc<Gateway>,
        asker: &Asker,
        view: &View,
        arguments: &Arguments,
    ) -> Result<Answer, Box<Answer>> {
        let workspace = || asker.workspace(&gateway.workspace, None);
        Ok(match self {
            Control::List => {
                let ListArgs { offset, limit, source, category } = self.read(arguments)?;
                self.check_rows(limit)?;
                let fits = |tool: &&AgentTool| tool.is_of(source.as_deref(), category.as_deref());
                let found: Vec<&AgentTool> = view.tools.iter().filter(fits).collect();
                let rows = found.iter().skip(size(offset)).take(size(limit)).map(|tool| tool.row());
                let (tool, total) = (self.name(), found.len());
                self.done(&ToolsResult { tool, tools: rows.collect(), total, offset, limit })
            }
            Control::Search => {
                let args: SearchArgs = self.read(arguments)?;
                self.check_rows(args.limit)?;
                // All words of both must occur.
                let words = [args.query, args.keyword];
                let query = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
                let found = view.search(
                    &query,
                    args.name_pattern.as_deref(),
                    args.source.as_deref(),
                    args.category.as_deref(),
                    &args.tags,
                );
                let tools = found.iter().take(size(args.limit)).map(|tool| tool.row()).collect();
                let workspace = workspace();
                let query = blocking(move || workspace.agent_calls().masked(&query)).await;
                self.done(&FoundTools { tool: self.name(), query, tools, total: found.len() })
            }
            Control::Describe => {
                let NameArgs { name } = self.read(arguments)?;
                let own = || view.shown.as_ref().and_then(|shown| shown.own_name(&name));
                match (view.by_name(&name), own()) {
                    (Some(tool), _) => self.done(&tool.description()),
                    (None, Some(OwnName::Listed { id, .. })) if view.by_id(id).is_some() => {
                        self.done(&view.by_id(id).map(AgentTool::description))
                    }
                    (None, Some(OwnName::Absent { why, .. })) => {
                        let about =
                            CallSummary::of_tool(self.name(), "refused").coded(ErrorCode::NotAvailableHere);
                        Answer::failed(about, format!("not available here: {why}"))
                    }
                    (None, _) => {
                        let near = view.near(&name);
                        let hint = if near.is_empty() {
                            String::new()
                        } else {
                            format!("; did you mean {}?", near.join(", "))
                        };
                        let about =
                            CallSummary::of_tool(self.name(), "refused").coded(ErrorCode::UnknownTool);
                        Answer::failed(about, format!("there is no such tool{hint}"))
                    }
                }
            }
            Control::Call => {
                return Err(Box::new(self.wrong(Some("name"), "`tools.call` does not call itself")));
            }
            Control::Wait => {
                let WaitArgs { call_id, timeout_seconds } = self.read(arguments)?;
                if MAX_WAIT_SECONDS < timeout_seconds {
                    return Err(Box::new(self.wrong(Some("timeout_seconds"), "must be 0 to 600")));
                }
                let id = self.id(&call_id)?;
                let patience = Duration::from_secs(timeout_seconds);
                gateway.wait(asker, &id, patience).await.ok_or_else(|| self.no_call())?
            }
            Control::Status => {
                let IdArgs { call_id } = self.read(arguments)?;
                let call = gateway.call(asker, &self.id(&call_id)?).await;
                let call = call.map_err(|_| self.no_call())?.call;
                self.done(&CallRow::from_call(&call))
            }
            Control::Calls => {
                let PageArgs { offset, limit } = self.read(arguments)?;
                self.check_rows(limit)?;
                let workspace = workspace();
                let listed = blocking(move || workspace.agent_calls().list(size(offset), size(limit))).await;
                let calls = listed.map_err(|error| error_answer(self.name(), &error))?;
                self.done(&CallsResult {
                    calls: calls.iter().map(CallRow::from_call).collect(),
                    offset,
                    limit,
                })
            }
            Control::Cancel => {
                let IdArgs { call_id } = self.read(arguments)?;
                let (id, workspace) = (self.id(&call_id)?, workspace());
                let call = gateway.call(asker, &id).await.map_err(|_| self.no_call())?.call;
                let ended_by = format!("agent:{}", asker.agent);
                let reason = match call.status {
                    _ if gateway.end(&id, &ended_by) => None,
                    CallStatus::Running => gateway.end_elsewhere(&workspace, &id).await.err(),
                    _ => match blocking(move || workspace.agent_calls().withdraw(&id)).await {
                        Ok(_) => None,
                        Err(error) => Some(error.to_string()),
                    },
                };
                self.done(&CancelResult { call_id, cancelled: reason.is_none(), reason })
            }
            Control::Output => {
                let OutputArgs { run_id, stream, offset, limit } = self.read(arguments)?;
                let most = gateway.max_result_bytes() as u64;
                if limit == 0 {
                    return Err(Box::new(self.wrong(Some("limit"), "must be at least 1")));
                }
                let stream = match stream {
                    Stream::Stdout => LogStream::Stdout,
                    Stream::Stderr => LogStream::Stderr,
                };
                let workspace = workspace();
                let run: Option<RunId> = run_id.parse().ok();
                let read = blocking(move || {
                    let calls = workspace.agent_calls();
                    run.map_or(Ok(None), |run| {
                        calls.output(&run, stream, size(offset), size(limit.min(most)))
                    })
                });
                match read.await {
                    Ok(Some(output)) => {
                        let result = OutputResult {
                            content: output.content.clone(),
                            offset,
                            total_bytes: output.total_bytes,
                            next_offset: output.next_offset,
                        };
                        self.answer_with(&result, output.content)
                    }
                    Ok(None) => {
                        let about = CallSummary::of_tool(self.name(), "refused").coded(ErrorCode::UnknownRun);
                        Answer::failed(about, "there is no such run of this agent")
                    }
                    Err(error) => error_answer(self.name(), &error),
                }
            }
            Control::Budget => {
                let EmptyArgs {} = self.read(arguments)?;
                let limits = gateway.limits(&asker.agent);
                let workspace = workspace();
                let members = blocking(move || budget(&workspace, &limits));
                self.done(&members.await.map_err(|error| error_answer(self.name(), &error))?)
            }
        })
    }
    fn check_rows(self, limit: u64) -> Result<(), Box<Answer>> {
        match (1..=MAX_ROWS).contains(&limit) {
            true => Ok(()),
            false => Err(Box::new(self.wrong(Some("limit"), "must be 1 to 200"))),
        }
    }

    fn id(self, text: &str) -> Result<CallId, Box<Answer>> {
        text.parse().map_err(|_| Box::new(self.no_call()))
    }

    fn no_call(self) -> Answer {
        let about = CallSummary::of_tool(self.name(), "refused").coded(ErrorCode::UnknownCall);
        Answer::failed(about, "there is no such call of this agent")
    }
}

/// Returns the usage and limits of an agent: per kind the limit with the longest window, and all limits.
fn budget(workspace: &brigade::Workspace, limits: &[Limit]) -> Result<BudgetResult, brigade::Error> {
    const HOUR: Duration = Duration::from_secs(3600);
    let calls = workspace.agent_calls();
    let spending = |of: LimitUnit| -> Result<Spending, brigade::Error> {
        let limit = limits.iter().filter(|limit| limit.of == of).max_by_key(|limit| limit.window);
        let window = limit.map_or(HOUR, |limit| limit.window);
        let spent = calls.spent(window)?;
        let used = match of {
            LimitUnit::Calls => UsedAmount::Count(spent.calls),
            LimitUnit::Seconds => UsedAmount::Seconds(spent.seconds),
            LimitUnit::Output => UsedAmount::Count(spent.output),
        };
        Ok(Spending {
            used,
            limit: limit.map(|limit| limit.most),
            resets_at: resets_at(&spent, window),
            window_seconds: window.as_secs(),
        })
    };
    let row = |limit: &Limit| -> Result<LimitRow, brigade::Error> {
        let spent = calls.spent(limit.window)?;
        Ok(LimitRow {
            what: match limit.of {
                LimitUnit::Calls => "calls",
                LimitUnit::Seconds => "seconds",
                LimitUnit::Output => "output",
            },
            window_seconds: limit.window.as_secs(),
            used: limit.used(&spent).0,
            limit: limit.most,
            resets_at: resets_at(&spent, limit.window),
            resets_in_seconds: limit.window.saturating_sub(spent.oldest).as_secs(),
        })
    };
    Ok(BudgetResult {
        calls: spending(LimitUnit::Calls)?,
        seconds: spending(LimitUnit::Seconds)?,
        output: spending(LimitUnit::Output)?,
        limits: limits.iter().map(row).collect::<Result<_, _>>()?,
    })
}

/// Returns when the oldest call leaves a window; `None` without calls in it.
fn resets_at(spent: &AgentUsage, window: Duration) -> Option<String> {
    let oldest = spent.oldest_at?.unix_micros();
    let micros = oldest.saturating_add(i64::try_from(window.as_micros()).unwrap_or(i64::MAX));
    Some(Timestamp::from_unix_micros(micros).to_string())
}

fn words(names: &[&String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}
