//! Rows of calls in documents.

use brigade_core::text::escape_terminal;
use brigade_core::{Dialect, ErrorKind, Json, Object, StepFormatter, closest};
use brigade_macros::part;
use brigade_policy::{Blocker, BlockerDetail, ErrorLine, Failure};

use crate::call::Call;
use crate::plan::Plan;

/// An approved call that could not run.
#[part]
pub struct PassedOver {
    /// The call.
    pub call_id: String,
    /// The reasons.
    pub reasons: Vec<String>,
}

/// One line of `call queue --stdin`.
#[part]
pub struct BatchRow {
    /// The line of the input, from 1.
    pub line: usize,
    /// Whether the call was stored. It is not stored if an equal call exists.
    pub created: bool,
    /// The stored or existing call.
    pub call_id: Option<String>,
    /// The status of that call.
    pub status: Option<String>,
    /// Why nothing was stored.
    pub error: Option<ErrorLine>,
    /// The code of that error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The tools that may be intended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// All reasons against the call, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and fix.
    pub blocker_details: Vec<BlockerDetail>,
}

/// A request of `call queue --stdin`.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchLine {
    /// The tool.
    pub tool_id: String,
    /// The arguments; an empty object if the line has none.
    pub args: Json,
}

/// The keys of a line.
const KEYS: [&str; 3] = ["tool", "args", "tool_id"];

impl BatchLine {
    /// Parses a line such as `{"tool": ID, "args": {…}}`. Skips a byte order mark.
    ///
    /// # Errors
    /// Fails if the line is not such an object, or has an unknown key.
    pub fn parse(line: &[u8]) -> Result<BatchLine, Failure> {
        let refused = |message: String| Failure::new(ErrorKind::Usage, message);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let json = Json::parse_bytes(line, Dialect::Strict)
            .map_err(|error| refused(format!("column {}: {}", error.column, error.kind)))?;
        let mut keys = json.as_object().into_iter().flat_map(Object::keys);
        if let Some(unknown) = keys.find(|key| !KEYS.contains(&key.as_str())) {
            let failure = refused(format!("unknown key `{}`", escape_terminal(unknown)));
            return Err(match closest(unknown, KEYS) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(format!("a line has {}", KEYS.join(", "))),
            });
        }
        let tool_id = json.get("tool").or_else(|| json.get("tool_id")).and_then(Json::as_str);
        let tool_id = tool_id.ok_or_else(|| refused("`tool` must be the id of a tool".to_owned()))?;
        let args = json.get("args").cloned().unwrap_or_else(|| Json::Object(Object::new()));
        Ok(BatchLine { tool_id: tool_id.to_owned(), args })
    }
}

impl PassedOver {
    /// Creates the row of a call that could not run.
    pub fn new(call: &Call, blockers: &[Blocker]) -> PassedOver {
        PassedOver {
            call_id: call.id.as_str().to_owned(),
            reasons: blockers.iter().map(ToString::to_string).collect(),
        }
    }
}

impl BatchRow {
    /// Creates the row of a refused line, with the reasons of the plan if the line has one.
    pub fn refused(
        line: usize,
        failure: &Failure,
        plan: Option<&Plan>,
        speller: &dyn StepFormatter,
    ) -> BatchRow {
        let help = failure.faults().0.help.map(|help| help.spelled(speller, None).to_string());
        let reasons = plan.map(Plan::reason_details).unwrap_or_default();
        // An error with one reason has its code.
        let code = match reasons.as_slice() {
            [only] => only.code.as_ref().map(ToString::to_string),
            _ => None,
        };
        BatchRow {
            line,
            created: false,
            call_id: None,
            status: None,
            code: Some(code.unwrap_or_else(|| failure.code_word().to_owned())),
            help,
            candidates: failure.could_be().to_vec(),
            error: Some(ErrorLine::new(failure.code_word(), failure.to_string())),
            blockers: plan.map(Plan::reasons).unwrap_or_default(),
            blocker_details: reasons,
        }
    }

    /// Creates the row of a stored call, or of the call that already existed.
    pub fn stored(line: usize, created: bool, call: &Call, plan: &Plan) -> BatchRow {
        BatchRow {
            line,
            created,
            call_id: Some(call.id.as_str().to_owned()),
            status: Some(call.status.as_str().to_owned()),
            error: None,
            code: None,
            help: None,
            candidates: Vec::new(),
            blockers: plan.reasons(),
            blocker_details: plan.reason_details(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Result<(&str, &str), &str>) {
        let parsed = BatchLine::parse(line.as_bytes());
        let parsed = parsed.map(|line| (line.tool_id, line.args.to_compact()));
        let expect = expect.map(|(tool, args)| (tool.to_owned(), args.to_owned())).map_err(str::to_owned);
        assert_eq!(parsed.map_err(|failure| failure.to_string()), expect, "{line}");
    }

    #[test]
    fn a_line_names_a_tool_and_its_arguments() {
        check(r#"{"tool":"greet","args":{"name":"Ada"}}"#, Ok(("greet", r#"{"name":"Ada"}"#)));
        check("\u{feff}{\"tool_id\":\"greet\"}", Ok(("greet", "{}")));
        check(r#"{"tool":"greet","argz":{}}"#, Err("unknown key `argz`"));
        check(r#"{"args":{}}"#, Err("`tool` must be the id of a tool"));
        check("[]", Err("`tool` must be the id of a tool"));
    }
}
