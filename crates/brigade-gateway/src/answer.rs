//! Builds the results of calls that clients receive.

use std::sync::Arc;

use brigade::core::Json;
use brigade::core::json::to_json;
use brigade::gateway::{AgentCall, LimitExceeded, Members, ToolResult, shrink};
use brigade::policy::Blocker;
use brigade::profile::builtin::{COMMAND, OmittedText, cut_note, definition};
use brigade::tools::Reads;
use brigade::{CallStatus, Error, ErrorCode, Receipt};
use rmcp::model::{CallToolResult, ClientCapabilities, ErrorCode as RpcCode, ErrorData};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::control::Control;
use crate::numbers::{self, is_held};

/// The member of `_meta` with the code and the data of the error of an upstream server.
const UPSTREAM_ERROR: &str = "brigade/upstream_error";

/// The error of a server whose user has to open a URL first. Clients find the URL in its data.
const URL_ELICITATION: RpcCode = RpcCode(-32042);

/// The member of `_meta` that says which call a result belongs to.
const CALL: &str = "brigade/call";

/// The bytes of JSON around the text of a block.
const AROUND_BLOCK: usize = 32;

/// The maximum length of the blocks of a result that are not text, such as images.
const MAX_BINARY_BYTES: usize = 4 << 20;

/// The call that a result belongs to, and its status.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct CallSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_id: Option<String>,
    pub(crate) tool: String,
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    pub(crate) truncated: bool,
    /// How soon a refused call may be requested again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u64>,
    /// The checkpoints that the call waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checkpoint_ids: Vec<String>,
    /// The faults of the arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<FaultRow>,
    /// What was ignored, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// One fault of a call.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FaultRow {
    pub(crate) code: String,
    /// The argument or member, if the fault has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    pub(crate) message: String,
}

/// A result that is being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) about: CallSummary,
    pub(crate) content: Vec<Value>,
    pub(crate) structured: Option<Value>,
    /// Whether the tool has an output schema, so that clients refuse a result without `structured`.
    pub(crate) has_schema: bool,
    pub(crate) is_error: bool,
    /// The answer of the tool, if it has numbers that the SDK cannot hold.
    pub(crate) exact: Option<Arc<ToolResult>>,
    /// What an upstream server put into `_meta`.
    pub(crate) meta: Map<String, Value>,
    /// The capabilities without which an upstream server does not take the call.
    pub(crate) lacking: Option<ClientCapabilities>,
    /// The code of the error with which an upstream server answered.
    pub(crate) upstream_code: Option<i32>,
    /// The error with which an upstream server asks the client to open a URL.
    pub(crate) asks_for_url: Option<ErrorData>,
}

/// Returns an error with its first reason, for the person who runs the server.
pub(crate) fn in_one_line(error: &Error) -> String {
    let reason = error.blockers().first().map(|reason| format!(": {}", reason.message));
    format!("{error}{}", reason.unwrap_or_default())
}

impl CallSummary {
    pub(crate) fn of_tool(tool: &str, status: &str) -> CallSummary {
        CallSummary { tool: tool.to_owned(), status: status.to_owned(), ..CallSummary::default() }
    }

    pub(crate) fn of_call(call: &brigade::Call) -> CallSummary {
        CallSummary {
            id: Some(call.id.to_string()),
            run_id: call.claim.as_ref().map(|claim| claim.run_id.to_string()),
            ..CallSummary::of_tool(&call.tool_id, call.status.as_str())
        }
    }

    #[must_use]
    pub(crate) fn coded(self, code: impl Into<String>) -> CallSummary {
        CallSummary { code: Some(code.into()), ..self }
    }
}

impl Answer {
    /// Creates an error with a text.
    pub(crate) fn failed(about: CallSummary, text: impl Into<String>) -> Answer {
        Answer { about, is_error: true, ..Answer::default() }.text(text)
    }

    #[must_use]
    pub(crate) fn text(mut self, text: impl Into<String>) -> Answer {
        self.content.push(json!({"type": "text", "text": text.into()}));
        self
    }

    /// Adds the number of masked places to `_meta`, for output that was masked before it was stored.
    fn counted(mut self) -> Answer {
        let result = ToolResult::of_text(&self.words(), None).counted(0);
        if let Some(Value::Object(meta)) = result.meta.as_ref().map(Json::to_serde) {
            self.meta.extend(meta);
        }
        self
    }

    /// Creates the answer to a call that was refused before it was stored.
    pub(crate) fn refused(tool: &str, error: &Error) -> Answer {
        let blockers = error.blockers();
        let faults: Vec<FaultRow> = blockers.iter().map(fault).collect();
        let is_about_arguments = |fault: &FaultRow| fault.code == ErrorCode::InvalidArgs;
        let code = match faults.iter().find(|fault| !is_about_arguments(fault)) {
            Some(first) => code_of(&first.code).to_owned(),
            None if faults.is_empty() => error.failure().code_word().to_owned(),
            None => ErrorCode::InvalidArguments.into(),
        };
        let mut lines = vec![format!("refused: {error}")];
        // Faults of values begin with their path.
        let is_said =
            |path: &str, message: &str| message.strip_prefix(path).is_some_and(|rest| rest.starts_with(':'));
        lines.extend(faults.iter().map(|fault| match &fault.path {
            Some(path) if !is_said(path, &fault.message) => format!("- {path}: {}", fault.message),
            Some(_) | None => format!("- {}", fault.message),
        }));
        let about = CallSummary { faults, ..CallSummary::of_tool(tool, "refused").coded(code) };
        Answer::failed(about, lines.join("\n"))
    }

    /// Creates the answer to a call that exceeds a limit of the agent and was not stored.
    pub(crate) fn over(tool: &str, over: LimitExceeded) -> Answer {
        let LimitExceeded { code, what, retry_after } = over;
        let wait = retry_after.as_secs().max(1);
        let about = CallSummary::of_tool(tool, "refused").coded(code);
        let about = CallSummary { retry_after_seconds: Some(wait), ..about };
        Answer::failed(about, format!("refused: {what}; ask again in {wait} s"))
    }

    /// Returns whether the request was wrong: invalid arguments, or something that the server does not have.
    pub(crate) fn is_wrong(&self) -> bool {
        let is_unknown =
            |code| matches!(RpcCode(code), RpcCode::RESOURCE_NOT_FOUND | RpcCode::INVALID_PARAMS);
        self.about.code.as_ref().is_some_and(|code| *code == ErrorCode::InvalidArguments)
            || self.upstream_code.is_some_and(is_unknown)
    }

    /// Copies a result into the answer.
    #[must_use]
    fn with(self, result: ToolResult) -> Answer {
        let content = result.content.iter().map(Json::to_serde).collect();
        let structured = result.structured_content.as_ref().map(Json::to_serde);
        let meta = result.meta.as_ref().map(Json::to_serde);
        let meta = meta.and_then(|meta| meta.as_object().cloned()).unwrap_or_default();
        let mut values = result.content.iter().chain(&result.structured_content).chain(&result.meta);
        let exact = (!values.all(is_held)).then(|| Arc::new(result));
        let mut about = self.about;
        // Built-in tools mark results that are incomplete.
        let is_part = structured.as_ref().is_some_and(|result| result["truncated"] == true);
        about.truncated |= is_part && definition(&about.tool).is_some();
        Answer { content, structured, exact, meta, about, ..self }
    }

    /// Returns the text of the answer.
    pub(crate) fn words(&self) -> String {
        let texts = self.content.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the call that the answer belongs to, and its status.
    pub(crate) fn about_call(&self) -> Value {
        serde_json::to_value(&self.about).expect("plain members are JSON")
    }

    /// Returns `_meta` of the result.
    pub(crate) fn marks(&mut self) -> Map<String, Value> {
        let mut meta = std::mem::take(&mut self.meta);
        meta.insert(CALL.to_owned(), self.about_call());
        meta
    }

    /// Returns the result for the client. Text and data beyond `limit` bytes are cut, and a line says where the rest
    /// is.
    pub(crate) fn finish(mut self, limit: usize) -> CallToolResult {
        self.cut(limit);
        let meta = self.marks();
        let mut result = ToolResult {
            content: self.content,
            structured_content: self.structured,
            is_error: Some(self.is_error),
            meta: Some(Value::Object(meta)),
        };
        if let Some(exact) = &self.exact {
            mark_numbers(&mut result, exact);
        }
        let mut result = serde_json::to_value(&result).expect("a result is JSON");
        result["resultType"] = json!("complete");
        if let Some(result) = parsed(&result) {
            return result;
        }
        // Content of an unknown kind is shown as its JSON.
        for block in result["content"].as_array_mut().into_iter().flatten() {
            let whole = json!({"content": [block.clone()]});
            if parsed(&whole).is_none() {
                *block = json!({"type": "text", "text": block.to_string()});
            }
        }
        parsed(&result).unwrap_or_else(|| CallToolResult::error(Vec::new()))
    }

    fn cut(&mut self, limit: usize) {
        let mut content = std::mem::take(&mut self.content);
        let is_cut = self.cut_blocks(&mut content, limit, &|block| {
            let text = match block.get("type").and_then(Value::as_str) {
                Some("text") => block.get_mut("text"),
                Some("resource") => block.get_mut("resource").and_then(|inner| inner.get_mut("text")),
                _ => None,
            };
            match text {
                Some(Value::String(text)) => Some(text),
                _ => None,
            }
        });
        self.content = content;
        if limit < self.meta.iter().map(|(name, value)| name.len() + value.to_string().len()).sum() {
            self.meta.clear();
            self.about.truncated = true;
        }
        let Some(value) = self.structured.as_mut() else { return };
        match definition(&self.about.tool) {
            // Pages of the gateway's own lists are bounded by their number of rows.
            Some(row) if row.is_control => {}
            // The schemas of built-in tools require members, but allow shorter values.
            Some(row) if is_cut => {
                let mut whole = to_json(value).expect("a value is JSON");
                shrink(&mut whole, limit, Members::new(row.gives_any_document()));
                *value = whole.to_serde();
            }
            Some(_) => {}
            None if Control::from_name(&self.about.tool).is_some() => {}
            None => self.cut_data(limit, is_cut),
        }
    }

    /// Drops the data of a tool if it does not fit into the limit beside the text. Data that the text repeats counts
    /// once. Without text, the beginning of the data is shown as text.
    fn cut_data(&mut self, limit: usize, is_cut: bool) {
        let Some(data) = self.structured.as_ref().map(Value::to_string) else { return };
        let text = self.words();
        let is_copy = is_cut
            || serde_json::from_str::<Value>(&text).is_ok_and(|text| Some(&text) == self.structured.as_ref());
        let beside = if is_copy { 0 } else { text.len() };
        if data.len() + beside <= limit {
            return;
        }
        self.structured = None;
        self.about.truncated = true;
        if text.is_empty() {
            let mut shown = vec![json!({"type": "text", "text": data})];
            self.cut_blocks(&mut shown, limit, &|block| match block.get_mut("text") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            });
            self.content.append(&mut shown);
        }
        // A client refuses a result without the promised data, unless it is an error.
        if self.has_schema {
            self.is_error = true;
            self.about.code = Some(ErrorCode::InvalidOutput.into());
            let note = format!(
                "the call succeeded, but its data has {} bytes, and at most {limit} are passed on (`max_result_bytes`)",
                data.len()
            );
            self.content.push(json!({"type": "text", "text": note}));
        }
    }

    /// Cuts the blocks if their texts together exceed `limit` bytes. Each block but the first also counts the bytes
    /// around its text. The text that does not fit ends with a note, and later text blocks are left out. Returns
    /// whether anything was cut.
    pub(crate) fn cut_blocks(
        &mut self,
        blocks: &mut Vec<Value>,
        limit: usize,
        text_of: &dyn Fn(&mut Value) -> Option<&mut String>,
    ) -> bool {
        let total: usize = blocks.iter_mut().filter_map(text_of).map(|text| text.len()).sum();
        let (mut left, mut shown, mut is_cut) = (limit.saturating_add(AROUND_BLOCK), 0, false);
        let mut binary = 0;
        blocks.retain_mut(|block| {
            let Some(text) = text_of(block) else {
                binary += block.to_string().len();
                return binary <= MAX_BINARY_BYTES;
            };
            if is_cut {
                return false;
            }
            left = left.saturating_sub(AROUND_BLOCK);
            if text.len() <= left {
                left -= text.len();
                shown += text.len();
                return true;
            }
            text.truncate(text.floor_char_boundary(left));
            shown += text.len();
            text.push('\n');
            let rest = self.about.run_id.as_deref().map_or(OmittedText::Unkept, OmittedText::Kept);
            text.push_str(&cut_note(shown, total, rest));
            is_cut = true;
            true
        });
        self.about.truncated |= is_cut || MAX_BINARY_BYTES < binary;
        is_cut
    }
}

/// Parses a result into the type of the SDK.
fn parsed(result: &Value) -> Option<CallToolResult> {
    serde_json::from_value(result.clone()).ok()
}

/// Marks the numbers of an answer that the SDK cannot hold. Other numbers stay as they are.
fn mark_numbers(result: &mut ToolResult<Value>, exact: &ToolResult) {
    let mark = |value: &mut Value, exact: &Json| {
        if !is_held(exact) && *value == exact.to_serde() {
            *value = numbers::mark_numbers(exact);
        }
    };
    for (block, exact) in result.content.iter_mut().zip(&exact.content) {
        let mut marked = block.clone();
        mark(&mut marked, exact);
        if parsed(&json!({"content": [marked.clone()]})).is_some() {
            *block = marked;
        }
    }
    if let (Some(value), Some(exact)) = (&mut result.structured_content, &exact.structured_content) {
        mark(value, exact);
    }
    for (name, exact) in exact.meta.as_ref().and_then(Json::as_object).into_iter().flatten() {
        if let Some(value) = result.meta.as_mut().and_then(|meta| meta.get_mut(name)) {
            mark(value, exact);
        }
    }
}

impl Streams {
    /// Returns the answer as the result of a tool.
    fn result(&self) -> Option<ToolResult> {
        self.answer.as_ref().and_then(ToolResult::read)
    }
}

fn fault(blocker: &Blocker) -> FaultRow {
    FaultRow { code: blocker.code.to_string(), path: blocker.field.clone(), message: blocker.message.clone() }
}

/// Returns the code that clients receive for a blocker.
fn code_of(code: &str) -> &str {
    match code.parse() {
        Ok(ErrorCode::RuntimeStopped | ErrorCode::RuntimeUnhealthy) => ErrorCode::RuntimeNotReady.as_str(),
        _ => code,
    }
}

/// The output of a run, without secrets.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) stdout: String,
    /// The answer of an MCP server.
    pub(crate) answer: Option<Json>,
}

/// Returns the result of a run, even if it did not succeed.
pub(crate) fn of_run(
    call: &AgentCall,
    receipt: &Receipt,
    streams: Streams,
    check: &dyn Fn(&Value) -> Vec<String>,
    has_schema: bool,
) -> Answer {
    // Results of built-in tools are cut at the output limit of the policy.
    let is_cut = definition(&call.call.tool_id).is_some()
        && receipt.output.as_ref().is_some_and(|output| 0 < output.stdout.dropped);
    let about = CallSummary {
        checkpoint_ids: receipt.checkpoint_ids.iter().flatten().map(ToString::to_string).collect(),
        truncated: is_cut,
        ..CallSummary::of_call(&call.call)
    };
    match &call.call.status {
        CallStatus::Completed => {}
        CallStatus::Waiting => {
            let ids = about.checkpoint_ids.join(", ");
            let text = format!(
                "the run waits for a person's answer (checkpoint {ids}). `call.wait` with call_id `{}` continues \
                 after the answer",
                call.call.id
            );
            return Answer::failed(about.coded(ErrorCode::CheckpointPending), text);
        }
        status => return not_completed(status, about, receipt, streams),
    }
    let mut answer = Answer { about, has_schema, ..Answer::default() };
    if let Some(reads) = Reads::of_tool_id(&call.call.tool_id) {
        let read = streams.answer.as_ref().and_then(|answer| answer.get(reads.result())).map(Json::to_serde);
        let structured = json!({reads.result(): read.unwrap_or_else(|| json!([]))});
        answer = answer.text(structured.to_string());
        answer.structured = Some(structured);
    } else if let Some(result) = streams.result() {
        let is_error = result.is_error == Some(true);
        answer = Answer { is_error, ..answer }.with(result);
    } else {
        answer.structured = if has_schema { serde_json::from_str(&streams.stdout).ok() } else { None };
        let kept = receipt.output.as_ref().map(|output| &output.stdout).filter(|stdout| 0 < stdout.dropped);
        if let Some(kept) = kept.filter(|_| has_schema && answer.structured.is_none()) {
            let text = format!(
                "the policy keeps {} bytes of an output (`max_output_bytes`), so the result is not given again; \
                 `output.read` with run_id `{}` reads what was kept",
                kept.bytes, receipt.id
            );
            return Answer::failed(answer.about.coded(ErrorCode::InvalidOutput), text);
        }
        if has_schema && answer.structured.is_none() {
            let text = format!("the output is not the JSON that the tool promises\n{}", streams.stdout);
            return Answer::failed(answer.about.coded(ErrorCode::InvalidOutput), text);
        }
        answer = answer.text(streams.stdout).counted();
    }
    if has_schema && !answer.is_error {
        let faults = answer.structured.as_ref().map_or_else(|| vec!["it is missing".to_owned()], check);
        if !faults.is_empty() {
            let text = format!("the output does not fit its schema: {}", faults.join("; "));
            return Answer::failed(answer.about.coded(ErrorCode::InvalidOutput), text);
        }
    }
    answer
}

/// Returns the result of a built-in tool whose calls are answered at once.
pub(crate) fn own_answer(tool: &str, done: brigade::gateway::DirectCallResult) -> Answer {
    let failed = done.code.is_some();
    let about = CallSummary::of_tool(tool, if failed { "failed" } else { "completed" });
    let about = match &done.code {
        Some(code) => about.coded(code),
        None => about,
    };
    Answer { about, has_schema: true, is_error: failed, ..Answer::default() }.with(done.result)
}

fn not_completed(status: &CallStatus, about: CallSummary, receipt: &Receipt, streams: Streams) -> Answer {
    let kind = receipt.mcp_error_kind.as_deref();
    let failure = receipt.failure.as_deref();
    // Built-in tools store the reason of their failure.
    if let Some(code) = &receipt.error_code
        && let Some(result) = streams.result()
    {
        return Answer { about: about.coded(code), is_error: true, ..Answer::default() }.with(result);
    }
    // The output of a command before its end is shown as well.
    let ended = match status {
        CallStatus::TimedOut => Some(ErrorCode::TimedOut),
        CallStatus::Interrupted => Some(ErrorCode::Interrupted),
        _ => None,
    };
    if let Some(code) = ended.filter(|_| receipt.tool_id == COMMAND)
        && let Some(result) = streams.result()
    {
        return Answer { about: about.coded(code), is_error: true, ..Answer::default() }.with(result);
    }
    let is_unseen = *status == CallStatus::Interrupted && receipt.process.is_none();
    let (code, message) = match (status, kind) {
        (CallStatus::TimedOut, Some(_)) => {
            (ErrorCode::UpstreamTimeout, "the server did not answer in time".to_owned())
        }
        (CallStatus::TimedOut, None) => (ErrorCode::TimedOut, "the run was ended at its timeout".to_owned()),
        (CallStatus::Interrupted, _) if is_unseen => {
            (ErrorCode::OutcomeUnknown, "the run was cut off, and it is not known what it did".to_owned())
        }
        (CallStatus::Interrupted, _) => {
            (ErrorCode::Interrupted, failure.unwrap_or("the run was interrupted").to_owned())
        }
        (_, Some("pin_changed" | "pin_not_kept")) => {
            (ErrorCode::ChangedPin, failure.unwrap_or("the server changed the tool").to_owned())
        }
        (_, Some("tool_error")) => (ErrorCode::ToolError, failure.unwrap_or("the tool failed").to_owned()),
        (_, Some("login_required")) => {
            (ErrorCode::LoginRequired, failure.unwrap_or("the server needs a login").to_owned())
        }
        (_, Some("timed_out")) => {
            (ErrorCode::UpstreamTimeout, failure.unwrap_or("no answer in time").to_owned())
        }
        (_, Some(_)) => (ErrorCode::UpstreamFailed, failure.unwrap_or("the server failed").to_owned()),
        (_, None) => match (failure, receipt.exit_code) {
            (Some(failure), _) => (ErrorCode::Failed, failure.to_owned()),
            (None, Some(code)) => (ErrorCode::Failed, format!("the program ended with exit code {code}")),
            (None, None) => (ErrorCode::Failed, "the run failed".to_owned()),
        },
    };
    // If the tool itself reported the failure, its report is the answer.
    let says = |result: &ToolResult| !result.content.is_empty() || result.structured_content.is_some();
    let own = streams.result().filter(|result| code == ErrorCode::ToolError && says(result));
    if let Some(result) = own {
        return Answer { about: about.coded(code), is_error: true, ..Answer::default() }
            .with(result)
            .counted();
    }
    let mut text = message;
    for (name, stream) in [("stdout", &receipt.stdout_summary), ("stderr", &receipt.stderr_summary)] {
        if !stream.trim().is_empty() && kind.is_none() {
            text.push_str(&format!("\n{name}: {stream}"));
        }
    }
    let error = receipt.mcp_response_error.as_ref().and_then(|error| serde_json::to_value(error).ok());
    let error: Option<ErrorData> = error.and_then(|error| serde_json::from_value(error).ok());
    let mut answer = Answer::failed(about.coded(code), text).counted();
    if let Some(error) = error {
        answer.lacking = missing_capabilities(&error);
        answer.upstream_code = Some(error.code.0);
        if let Some(data) = &error.data {
            answer.meta.insert(UPSTREAM_ERROR.to_owned(), json!({"code": error.code.0, "data": data}));
        }
        answer.asks_for_url = (error.code == URL_ELICITATION).then_some(error);
    }
    answer
}

/// Returns the capabilities that a refusal names as missing.
fn missing_capabilities(error: &ErrorData) -> Option<ClientCapabilities> {
    let is_refusal = error.code == RpcCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    let required = error.data.as_ref().filter(|_| is_refusal)?.get("requiredCapabilities")?;
    serde_json::from_value(required.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_blocks_are_cut_as_one_result() {
        let block = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "A".repeat(5_000), "mimeType": "image/png"});
        let mut content: Vec<Value> = (0..20_000).map(|_| block("0123456789")).collect();
        content.insert(0, image.clone());
        let answer = Answer { about: CallSummary::of_tool("t", "completed"), content, ..Answer::default() };
        let result = serde_json::to_value(answer.finish(4 << 10)).unwrap();
        let blocks = result["content"].as_array().unwrap();
        assert_eq!(blocks[0], image);
        let last = blocks.last().unwrap()["text"].as_str().unwrap();
        assert!(last.contains("of 200000 bytes"), "{last}");
        assert!(result["content"].to_string().len() < image.to_string().len() + (5 << 10));
        assert_eq!(result["_meta"][CALL]["truncated"], true);
    }

    #[test]
    fn only_a_capability_refusal_names_missing_ones() {
        let error = |code: i32| -> ErrorData {
            let data = json!({"requiredCapabilities": {"sampling": {}}});
            serde_json::from_value(json!({"code": code, "message": "no", "data": data})).unwrap()
        };
        assert!(missing_capabilities(&error(-32021)).is_some_and(|required| required.sampling.is_some()));
        assert!(missing_capabilities(&error(-32602)).is_none());
    }

    #[test]
    fn masked_places_of_output_are_counted() {
        let answer = Answer::default().text("a [redacted] and [redacted]").counted();
        assert_eq!(answer.meta["brigade/masked"], 2);
        assert!(Answer::default().text("nothing").counted().meta.is_empty());
    }

    /// Issue 17: the output schema of a built-in tool does not lift the limit on results.
    #[test]
    fn shortened_builtin_results_keep_all_members() {
        let finished = |tool: &str, result: Value| {
            let answer = Answer {
                has_schema: true,
                about: CallSummary::of_tool(tool, "completed"),
                ..Answer::default()
            };
            let text = result.to_string();
            let answer = Answer { structured: Some(result), ..answer }.text(text).finish(1_000);
            serde_json::to_value(answer).unwrap()
        };
        let file = json!({"volume_id": "v", "path": "a", "encoding": "utf8", "size_bytes": 9_000,
            "content": "é".repeat(4_500)});
        let result = finished("file.read", file);
        let cut = &result["structuredContent"];
        let content = cut["content"].as_str().unwrap();
        assert!(800 < content.len() && cut.to_string().len() <= 1_000, "{cut}");
        assert_eq!((&cut["encoding"], &cut["size_bytes"]), (&json!("utf8"), &json!(9_000)));
        assert_eq!(result["_meta"][CALL]["truncated"], true);
        let rows: Vec<Value> = (0..100).map(|n| json!({"id": n, "text": "x".repeat(40)})).collect();
        let list = json!({"scripts": rows, "total": 100, "truncated": false});
        let cut = finished("script.list", list.clone())["structuredContent"].clone();
        let left = cut["scripts"].as_array().unwrap();
        assert!(10 < left.len() && cut.to_string().len() <= 1_000, "{cut}");
        assert_eq!(
            (&cut["total"], &cut["truncated"], &left[..]),
            (&json!(100), &json!(true), &rows[..left.len()])
        );
        // One row is longer than the limit.
        let one = json!({"versions": [{"code": "y".repeat(5_000)}, {"code": "z"}]});
        let cut = finished("script.get", one)["structuredContent"].clone();
        assert!(cut["versions"][1]["code"] == "z" && cut.to_string().len() <= 1_000, "{cut}");
        let numbers: Map<String, Value> = (0..200).map(|n| (format!("n{n}"), json!(1_000_000))).collect();
        assert_eq!(finished("script.get", json!(numbers))["structuredContent"], json!(numbers));
        // Pages of the gateway's lists are not shortened.
        assert_eq!(finished("tools.list", list.clone())["structuredContent"], list);
    }

    /// The limit holds for the whole result of another server.
    #[test]
    fn data_is_bounded_like_text() {
        let check = |text: &str, data: &Value, has_schema: bool, expect: (bool, bool, bool)| {
            let about = CallSummary::of_tool("theirs", "completed");
            let answer = Answer { about, has_schema, structured: Some(data.clone()), ..Answer::default() };
            let answer = if text.is_empty() { answer } else { answer.text(text) };
            let result = serde_json::to_value(answer.finish(1_000)).unwrap();
            assert!(result.to_string().len() < 1_700, "{result}");
            let truncated = result["_meta"][CALL]["truncated"] == true;
            let found = (result.get("structuredContent").is_some(), truncated, result["isError"] == true);
            assert_eq!(found, expect, "{result}");
        };
        let (long, short) = (json!({"rows": vec![7; 3_000]}), json!({"rows": vec!["x"; 100]}));
        check("", &long, false, (false, true, false));
        check("", &long, true, (false, true, true));
        check("some words", &long, false, (false, true, false));
        check(&long.to_string(), &long, false, (false, true, false));
        check("", &short, false, (true, false, false));
        check(&short.to_string(), &short, true, (true, false, false));
        check(&"w".repeat(900), &short, false, (false, true, false));
    }

    #[test]
    fn other_blocks_and_meta_are_bounded() {
        let about = CallSummary::of_tool("theirs", "completed");
        let image = json!({"type": "image", "data": "A".repeat(3 << 20), "mimeType": "image/png"});
        let meta = json!({"theirs": "m".repeat(2_000)}).as_object().cloned().unwrap_or_default();
        let answer = Answer { about, content: vec![image.clone(), image], meta, ..Answer::default() };
        let result = serde_json::to_value(answer.finish(1_000)).unwrap();
        assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            (&result["_meta"][CALL]["truncated"], result["_meta"].get("theirs")),
            (&json!(true), None)
        );
    }

    #[test]
    fn a_result_is_complete_despite_upstream_members() {
        let odd = json!({"type": "hologram", "depth": 3});
        let answer = Answer { content: vec![odd], ..Answer::default() }.text("x");
        let result = serde_json::to_value(answer.finish(100)).unwrap();
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["content"][0]["type"], "text");
        assert_eq!(result["content"][1]["text"], "x");
    }
}
