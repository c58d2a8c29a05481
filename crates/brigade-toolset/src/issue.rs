//! Converts what the adapter of an issue tracker prints to the results of `issue.*`.

use brigade_core::json::from_json;
use brigade_core::{Dialect, ErrorCode, Json};
use serde::{Deserialize, Serialize};

use crate::context::{Failure, Output};

/// An issue. The adapter may leave out what a tracker does not have.
#[derive(Deserialize, Serialize)]
struct Issue {
    id: String,
    #[serde(default)]
    identifier: Option<String>,
    title: String,
    state: String,
    /// `backlog`, `unstarted`, `started`, `completed` or `canceled`.
    #[serde(default)]
    state_type: Option<String>,
    #[serde(default)]
    priority: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

/// An issue with everything about it.
#[derive(Deserialize, Serialize)]
struct WholeIssue {
    #[serde(flatten)]
    issue: Issue,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    comments: Vec<Comment>,
}

#[derive(Deserialize, Serialize)]
struct Comment {
    id: String,
    #[serde(default)]
    author: Option<String>,
    body: String,
    #[serde(default)]
    created_at: Option<String>,
}

/// `issue.list`
#[derive(Serialize)]
struct IssueList {
    total: u64,
    issues: Vec<Issue>,
}

/// The other tools with an issue
#[derive(Serialize)]
struct IssueResult {
    issue: WholeIssue,
}

/// `issue.comment`
#[derive(Serialize)]
struct CommentResult {
    comment_id: String,
}

/// What an adapter prints.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: Option<AdapterError>,
    #[serde(default)]
    issues: Option<Vec<Issue>>,
    #[serde(default)]
    total: Option<u64>,
    #[serde(default)]
    issue: Option<WholeIssue>,
    #[serde(default)]
    comment: Option<CommentId>,
}

#[derive(Deserialize)]
struct AdapterError {
    code: String,
    message: String,
}

#[derive(Deserialize)]
struct CommentId {
    id: String,
}

/// Converts what the adapter printed for a call of `issue.*` to a result.
///
/// # Errors
/// Returns the error that the adapter reports, and `provider_failed` if the output has another form.
pub(crate) fn issue_answer(tool: &str, printed: &str) -> Result<Output, Failure> {
    let failed = |what: &str| {
        let message = format!("the adapter of `[issues]` did not print {what}");
        Failure::new(ErrorCode::ProviderFailed, message)
    };
    let json = Json::parse_bytes(printed.trim().as_bytes(), Dialect::Strict).ok();
    let answer: Answer = json
        .and_then(|json| from_json(&json).ok())
        .ok_or_else(|| failed("one JSON object as its protocol has it"))?;
    if let Some(AdapterError { code, message }) = answer.error {
        return Err(match code.as_str() {
            "not_found" => Failure::new(ErrorCode::NotFound, message),
            _ => Failure::new(ErrorCode::ProviderFailed, format!("{message} ({code})")),
        });
    }
    Ok(match tool {
        "issue.list" => {
            let issues = answer.issues.ok_or_else(|| failed("`issues`"))?;
            let total = answer.total.unwrap_or(issues.len() as u64);
            Output::from_result(&IssueList { total, issues })
        }
        "issue.comment" => {
            let comment_id = answer.comment.ok_or_else(|| failed("`comment` with its `id`"))?.id;
            Output::from_result(&CommentResult { comment_id })
        }
        _ => {
            let issue = answer.issue.ok_or_else(|| failed("`issue`"))?;
            Output::from_result(&IssueResult { issue })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_adapter_prints_becomes_a_result() {
        let issue = r#"{"id": "1", "title": "A", "state": "Todo", "more": 1}"#;
        let listed = issue_answer("issue.list", &format!(r#"{{"issues": [{issue}]}}"#)).unwrap().structured;
        assert_eq!(listed.get("total"), Some(&Json::from(1)));
        let got = issue_answer("issue.get", &format!(r#"{{"issue": {issue}}}"#)).unwrap().structured;
        let got = got.get("issue").unwrap();
        assert_eq!(
            (got.get("state"), got.get("description")),
            (Some(&Json::from("Todo")), Some(&Json::Null))
        );
        let said = issue_answer("issue.comment", r#"{"comment": {"id": "c"}}"#).unwrap().structured;
        assert_eq!(said.to_compact(), r#"{"comment_id":"c"}"#);
    }

    #[test]
    fn other_output_is_a_failure() {
        let code = |tool: &str, printed: &str| issue_answer(tool, printed).unwrap_err().code;
        let missing = r#"{"error": {"code": "not_found", "message": "there is no issue ENG-1"}}"#;
        assert_eq!(code("issue.get", missing), ErrorCode::NotFound);
        for printed in ["", "[]", "{}", r#"{"issue": 1}"#, r#"{"error": {"code": "x", "message": "y"}}"#] {
            for tool in ["issue.list", "issue.get", "issue.comment", "issue.close"] {
                assert_eq!(code(tool, printed), ErrorCode::ProviderFailed, "{tool} {printed}");
            }
        }
    }
}
