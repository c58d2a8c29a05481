//! The result of a tool in the form of MCP.

use brigade_core::Json;
use brigade_core::json::{from_json, to_json};
use brigade_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::content::{marks_of, masked, with_masked};

/// The member of `_meta` that says why a tool of Brigade failed.
const ERROR: &str = "brigade/error";

/// The result of a tool. Its values are [`Json`], or another kind of JSON value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult<V = Json> {
    /// Blocks of content.
    #[serde(default = "Vec::new")]
    pub content: Vec<V>,
    /// The result as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<V>,
    /// Whether the tool reports that it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Further data for programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<V>,
}

/// Why a tool of Brigade failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolError {
    /// The kind of failure, as a stable word.
    pub code: String,
    /// Further data for programs.
    #[serde(default)]
    pub data: Json,
}

impl ToolResult {
    /// Creates the result of a tool of Brigade.
    pub fn of_text(text: &str, structured: Option<Json>) -> ToolResult {
        let block = Json::object([("type", Json::from("text")), ("text", Json::from(text))]);
        ToolResult { content: vec![block], structured_content: structured, ..ToolResult::default() }
    }

    /// Creates the result of a tool of Brigade that failed.
    pub fn failed(text: &str, code: &str, data: Option<Json>) -> ToolResult {
        let error = ToolError { code: code.to_owned(), data: data.unwrap_or_default() };
        let meta = Json::object([(ERROR, to_json(&error).expect("an error is JSON"))]);
        ToolResult { is_error: Some(true), meta: Some(meta), ..ToolResult::of_text(text, None) }
    }

    /// Reads a result. `None` if its members have other types.
    pub fn read(json: &Json) -> Option<ToolResult> {
        from_json(json).ok()
    }

    /// Writes the result as a document.
    pub fn to_json(&self) -> Json {
        to_json(self).expect("a result is JSON")
    }

    /// Returns the result for the caller, with its text masked. Its `_meta` has the number of masked places.
    #[must_use]
    pub fn shown(&self, redactor: &Redactor) -> ToolResult {
        let mask = |value: &Json| redactor.redact_json(value);
        let masked = ToolResult {
            content: self.content.iter().map(|block| masked(block, redactor)).collect(),
            structured_content: self.structured_content.as_ref().map(mask),
            is_error: self.is_error,
            meta: self.meta.as_ref().map(mask),
        };
        masked.counted(marks_of(&self.to_json()))
    }

    /// Adds the number of masked places to `_meta`, without the marks that were there before.
    #[must_use]
    pub fn counted(self, before: usize) -> ToolResult {
        let json = with_masked(self.to_json(), before);
        ToolResult::read(&json).unwrap_or(self)
    }

    /// Returns the texts of its blocks, one per line.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| block.get("text")?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns why a tool of Brigade failed.
    pub fn error(&self) -> Option<ToolError> {
        from_json(self.meta.as_ref()?.get(ERROR)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &ToolResult, expect: &str) {
        let json = result.to_json();
        assert_eq!(json.to_compact(), expect);
        assert_eq!(ToolResult::read(&json).as_ref(), Some(result));
    }

    #[test]
    fn results_are_read_as_written() {
        let structured = Json::parse(r#"{"a":1.50}"#).unwrap();
        check(
            &ToolResult::of_text("x", Some(structured)),
            r#"{"content":[{"text":"x","type":"text"}],"structuredContent":{"a":1.50}}"#,
        );
        let failed = ToolResult::failed("no (not_found)", "not_found", None);
        check(
            &failed,
            concat!(
                r#"{"_meta":{"brigade/error":{"code":"not_found","data":null}},"#,
                r#""content":[{"text":"no (not_found)","type":"text"}],"isError":true}"#
            ),
        );
        assert_eq!(failed.error().map(|error| error.code), Some("not_found".to_owned()));
        check(
            &ToolResult { is_error: Some(false), ..ToolResult::default() },
            r#"{"content":[],"isError":false}"#,
        );
    }

    #[test]
    fn results_of_other_programs_are_read_in_any_form() {
        let read = |text: &str| ToolResult::read(&Json::parse(text).unwrap());
        let odd =
            read(r#"{"structuredContent":{},"isError":null,"_meta":7,"resultType":"complete"}"#).unwrap();
        assert_eq!((odd.content.len(), odd.is_error, odd.error()), (0, None, None));
        let texts =
            read(r#"{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}"#).unwrap();
        assert_eq!(texts.text(), "a\nb");
        assert_eq!(read(r#"{"content":{}}"#), None);
    }

    #[test]
    fn shown_results_have_no_secrets() {
        let result = ToolResult::of_text(
            "password: open, bound-EXAMPLE-value and ghp_0123456789abcdefghijABCDEFGHIJ012345",
            Some(Json::object([("password", Json::from("open")), ("x", Json::from("bound-EXAMPLE-value"))])),
        );
        check(
            &result.shown(&Redactor::new(&["bound-EXAMPLE-value".into()])),
            r#"{"_meta":{"brigade/masked":2},"content":[{"text":"password: open, [redacted] and [redacted]","type":"text"}],"structuredContent":{"password":"open","x":"[redacted]"}}"#,
        );
        let plain = ToolResult::of_text("it says [redacted]", None);
        assert_eq!(plain.shown(&Redactor::new(&[])), plain);
    }
}
