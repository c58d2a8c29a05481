//! Reads resources and prompts of MCP servers. They are calls of `resource.read` and `prompt.get`, whose answers have
//! the form of `resources/read` and `prompts/get`.

use brigade::tools::Reads;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode as RpcCode, PromptMessage, ResourceContents};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::session::Arguments;

/// The error of a read whose call has no result. Its `data` names the call and its status.
pub(crate) const NOT_READ: RpcCode = RpcCode(-32010);

/// One request to read something.
pub(crate) struct ReadRequest<'a> {
    pub(crate) reads: Reads,
    /// The URI or name.
    pub(crate) name: &'a str,
    /// The arguments of a prompt.
    pub(crate) arguments: Option<&'a Arguments>,
}

impl ReadRequest<'_> {
    /// Returns the arguments of the call.
    pub(crate) fn call(&self, server: &str) -> Arguments {
        let mut args = Arguments::new();
        args.insert("server".to_owned(), json!(server));
        args.insert(self.reads.argument().to_owned(), json!(self.name));
        if let Some(arguments) = self.arguments.filter(|arguments| !arguments.is_empty()) {
            args.insert("arguments".to_owned(), json!(arguments));
        }
        args
    }

    /// Returns the error for a resource or prompt that does not exist or that the agent may not read.
    pub(crate) fn unknown(&self, is_late: bool) -> ErrorData {
        let what = match self.reads {
            Reads::Resource => "resource",
            Reads::Prompt => "prompt",
        };
        ErrorData::new(self.unknown_code(is_late), format!("there is no such {what}"), None)
    }

    fn unknown_code(&self, is_late: bool) -> RpcCode {
        match (self.reads, is_late) {
            (Reads::Resource, false) => RpcCode::RESOURCE_NOT_FOUND,
            (Reads::Resource, true) | (Reads::Prompt, _) => RpcCode::INVALID_PARAMS,
        }
    }

    /// Converts the result of the call into the form of the protocol for a read.
    ///
    /// # Errors
    /// Returns the outcome of a call without a result.
    pub(crate) fn finish(&self, mut answer: Answer, limit: usize, is_late: bool) -> Result<Value, ErrorData> {
        let member = self.reads.result();
        let found = answer.structured.take().and_then(|mut value| value.get_mut(member).map(Value::take));
        let (Some(mut read), false) = (found, answer.is_error) else {
            let code = if answer.is_wrong() { self.unknown_code(is_late) } else { NOT_READ };
            return Err(ErrorData::new(code, answer.words(), Some(answer.about_call())));
        };
        let mut none = Vec::new();
        let rows = read.as_array_mut().unwrap_or(&mut none);
        for row in rows.iter_mut().filter(|row| !self.fits(row)) {
            let text = row.to_string();
            *row = match self.reads {
                Reads::Resource => json!({"uri": self.name, "text": text}),
                Reads::Prompt => json!({"role": "user", "content": {"type": "text", "text": text}}),
            };
        }
        answer.cut_blocks(rows, limit, &text_of);
        Ok(json!({member: read, "_meta": answer.marks()}))
    }

    /// Returns whether the protocol knows this part of the result.
    fn fits(&self, row: &Value) -> bool {
        fn parses<T: DeserializeOwned>(row: &Value) -> bool {
            serde_json::from_value::<T>(row.clone()).is_ok()
        }
        match self.reads {
            Reads::Resource => parses::<ResourceContents>(row),
            Reads::Prompt => parses::<PromptMessage>(row),
        }
    }
}

/// Returns the text of contents or of a message, if it is text.
fn text_of(row: &mut Value) -> Option<&mut String> {
    let inner = if row.get("content").is_some() { row.get_mut("content")? } else { row };
    let inner = if inner.get("resource").is_some() { inner.get_mut("resource")? } else { inner };
    match inner.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::CallSummary;
    use brigade::ErrorCode;

    fn answer(member: &str, rows: Value) -> Answer {
        let about = CallSummary {
            run_id: Some("run-1".to_owned()),
            ..CallSummary::of_tool("resource.read", "completed")
        };
        Answer { about, structured: Some(json!({member: rows})), ..Answer::default() }
    }

    fn read(reads: Reads) -> ReadRequest<'static> {
        ReadRequest { reads, name: "file:///a", arguments: None }
    }

    #[test]
    fn text_is_cut_and_bytes_are_not() {
        let rows = json!([
            {"uri": "file:///a", "text": "ä".repeat(100)},
            {"uri": "file:///b", "blob": "A".repeat(400)},
            {"uri": "file:///c", "hologram": 1},
        ]);
        let result = read(Reads::Resource).finish(answer("contents", rows), 11, false).unwrap();
        let text = result["contents"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{}\n[cut after 10 of 232 bytes", "ä".repeat(5))), "{text}");
        assert_eq!(result["contents"][1]["blob"].as_str().map(str::len), Some(400));
        // Text after the cut is left out.
        assert_eq!(result["contents"].as_array().map(Vec::len), Some(2));
        assert_eq!(result["_meta"]["brigade/call"]["truncated"], true);
    }

    #[test]
    fn a_message_keeps_its_kind() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let rows = json!([{"role": "user", "content": image}, {"role": "user", "content": {"type": "text", "text": "x"}}]);
        let result = read(Reads::Prompt).finish(answer("messages", rows.clone()), 10, true).unwrap();
        assert_eq!(result["messages"], rows);
    }

    #[test]
    fn what_has_no_result_is_an_error_with_its_call() {
        let pending = Answer::failed(
            CallSummary::of_tool("resource.read", "pending").coded(ErrorCode::ApprovalPending),
            "waits",
        );
        let error = read(Reads::Resource).finish(pending, 10, false).unwrap_err();
        assert_eq!((error.code, &*error.message), (NOT_READ, "waits"));
        assert_eq!(error.data.unwrap()["code"], "approval_pending");
        let wrong = Answer::failed(
            CallSummary::of_tool("resource.read", "refused").coded(ErrorCode::InvalidArguments),
            "no",
        );
        let error = read(Reads::Resource).finish(wrong, 10, false).unwrap_err();
        assert_eq!(error.code, RpcCode::RESOURCE_NOT_FOUND);
    }
}
