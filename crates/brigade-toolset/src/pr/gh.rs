//! Parses answers of the program `gh` about pull requests.

use brigade_core::json::from_json;
use brigade_core::{Dialect, ErrorCode, Json, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{CheckRow, CommentRow, Inventory, PullRequestCreated, ReplyResult, ThreadResolved, ThreadRow};
use crate::context::{Failure, Output};

/// An answer to a query.
#[derive(Deserialize)]
struct Answer<T> {
    data: T,
}

#[derive(Deserialize)]
struct QueryData {
    repository: Option<Repository>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repository {
    pull_request: Option<PullRequest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequest {
    id: String,
    number: u64,
    title: String,
    body: String,
    state: String,
    head_ref_name: String,
    base_ref_name: String,
    url: String,
    commits: Nodes<Commits>,
    review_threads: Nodes<Thread>,
    comments: Nodes<Comment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nodes<T> {
    #[serde(default)]
    total_count: usize,
    nodes: Vec<T>,
}

#[derive(Deserialize)]
struct Commits {
    commit: Commit,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    oid: String,
    status_check_rollup: Option<Rollup>,
}

#[derive(Deserialize)]
struct Rollup {
    contexts: Nodes<Check>,
}

/// A check: a run, or a status that another program set.
#[derive(Deserialize)]
#[serde(tag = "__typename")]
enum Check {
    CheckRun { name: String, status: String, conclusion: Option<String> },
    StatusContext { context: String, state: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    id: String,
    path: Option<String>,
    line: Option<u64>,
    is_resolved: bool,
    comments: Nodes<Comment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    id: String,
    body: String,
    created_at: Timestamp,
    /// `None` if the account was deleted.
    author: Option<Author>,
}

#[derive(Deserialize)]
struct Author {
    login: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplyPayload {
    add_pull_request_review_thread_reply: CommentPayload,
}

#[derive(Deserialize)]
struct CommentPayload {
    comment: Id,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResolveData {
    resolve_review_thread: ResolvedThread,
}

#[derive(Deserialize)]
struct ResolvedThread {
    thread: ThreadState,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadState {
    id: String,
    is_resolved: bool,
}

/// A created pull request.
#[derive(Deserialize)]
struct CreatedPullRequest {
    number: u64,
    title: String,
    html_url: String,
    head: Ref,
    base: Ref,
}

#[derive(Deserialize)]
struct Ref {
    #[serde(rename = "ref")]
    name: String,
}

fn read<T: DeserializeOwned>(printed: &str) -> Result<T, Failure> {
    let json = Json::parse_bytes(printed.trim().as_bytes(), Dialect::Strict).ok();
    json.and_then(|json| from_json(&json).ok()).ok_or_else(|| {
        Failure::new(
            ErrorCode::ProviderFailed,
            "`gh` did not print the answer that the forge gives to this call",
        )
    })
}

/// Converts what `gh` printed for a call of `pr.*` to a result.
///
/// # Errors
/// Returns `provider_failed` if the output has another form, and `not_found` if there is no such pull request.
pub(crate) fn forge_answer(tool: &str, printed: &str) -> Result<Output, Failure> {
    match tool {
        "pr.create" => {
            let made: CreatedPullRequest = read(printed)?;
            Ok(Output::from_result(&PullRequestCreated {
                pr_id: made.number.to_string(),
                title: made.title,
                branch: made.head.name,
                base: made.base.name,
                url: made.html_url,
            }))
        }
        "pr.reply" => {
            let answer: Answer<ReplyPayload> = read(printed)?;
            let reply_id = answer.data.add_pull_request_review_thread_reply.comment.id;
            Ok(Output::from_result(&ReplyResult { reply_id }))
        }
        "pr.resolve" => {
            let ThreadState { id, is_resolved } =
                read::<Answer<ResolveData>>(printed)?.data.resolve_review_thread.thread;
            Ok(Output::from_result(&ThreadResolved { thread_id: id, resolved: is_resolved }))
        }
        _ => {
            let answer: Answer<QueryData> = read(printed)?;
            let found = answer.data.repository.and_then(|repository| repository.pull_request);
            Ok(Output::from_result(&inventory(found.ok_or_else(|| Failure::missing("pull request"))?)))
        }
    }
}

fn inventory(request: PullRequest) -> Inventory {
    let last = request.commits.nodes.into_iter().next_back().map(|commits| commits.commit);
    let commit = last.as_ref().map(|commit| commit.oid.clone());
    let contexts = last.and_then(|commit| commit.status_check_rollup).map(|rollup| rollup.contexts);
    let contexts = contexts.unwrap_or(Nodes { total_count: 0, nodes: Vec::new() });
    let more = [
        contexts.total_count.saturating_sub(contexts.nodes.len()),
        request.review_threads.total_count.saturating_sub(request.review_threads.nodes.len()),
        [&request.comments]
            .into_iter()
            .chain(request.review_threads.nodes.iter().map(|thread| &thread.comments))
            .map(|comments| comments.total_count.saturating_sub(comments.nodes.len()))
            .sum(),
    ];
    let checks: Vec<CheckRow> =
        contexts.nodes.into_iter().map(|check| check_row(check, commit.as_deref())).collect();
    let mut comments: Vec<CommentRow> =
        request.comments.nodes.into_iter().map(|comment| comment_row(&request.id, comment)).collect();
    let mut threads = Vec::new();
    for thread in request.review_threads.nodes {
        threads.push(ThreadRow {
            id: thread.id.clone(),
            path: thread.path,
            line: thread.line,
            resolved: thread.is_resolved,
            comments: thread.comments.total_count.max(thread.comments.nodes.len()),
        });
        comments.extend(thread.comments.nodes.into_iter().map(|comment| comment_row(&thread.id, comment)));
    }
    let count = |status: &str| checks.iter().filter(|check| check.status == status).count();
    let open = threads.iter().filter(|thread| !thread.resolved).count();
    let mut summary = format!(
        "#{} \"{}\" of {} into {}: {}; {} checks, {} passed, {} failed; {} threads, {open} open; {}",
        request.number,
        request.title,
        request.head_ref_name,
        request.base_ref_name,
        request.state.to_ascii_lowercase(),
        checks.len(),
        count("passed"),
        count("failed"),
        threads.len(),
        request.url,
    );
    if let [checks, threads, comments] = more
        && 0 < checks + threads + comments
    {
        let text = format!("; not shown: {checks} more checks, {threads} threads and {comments} comments");
        summary.push_str(&text);
    }
    if !request.body.is_empty() {
        summary.push_str("\n\n");
        summary.push_str(&request.body);
    }
    Inventory { summary, checks, threads, comments }
}

fn check_row(check: Check, commit: Option<&str>) -> CheckRow {
    let (name, status) = match check {
        Check::CheckRun { name, status, conclusion } => (name, of_run(&status, conclusion.as_deref())),
        Check::StatusContext { context, state } => (context, of_state(&state)),
    };
    let commit = commit.map(str::to_owned);
    CheckRow { name, status, call_id: None, run_id: None, commit, looked_at: Some("branch") }
}

/// Converts the state of a check run to a status of checks.
fn of_run(status: &str, conclusion: Option<&str>) -> &'static str {
    match (status, conclusion) {
        ("COMPLETED", Some("SUCCESS" | "NEUTRAL" | "SKIPPED")) => "passed",
        ("COMPLETED", Some("CANCELLED")) => "cancelled",
        ("COMPLETED", _) => "failed",
        ("IN_PROGRESS", _) => "running",
        _ => "waiting",
    }
}

/// Converts a commit status to a status of checks.
fn of_state(state: &str) -> &'static str {
    match state {
        "SUCCESS" => "passed",
        "PENDING" | "EXPECTED" => "waiting",
        _ => "failed",
    }
}

fn comment_row(thread: &str, comment: Comment) -> CommentRow {
    CommentRow {
        id: comment.id,
        thread_id: thread.to_owned(),
        author: comment.author.map_or_else(|| "ghost".to_owned(), |author| author.login),
        body: comment.body,
        created_at: comment.created_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_standing_of_a_check_has_a_word() {
        for (status, conclusion, expect) in [
            ("COMPLETED", Some("SUCCESS"), "passed"),
            ("COMPLETED", Some("SKIPPED"), "passed"),
            ("COMPLETED", Some("CANCELLED"), "cancelled"),
            ("COMPLETED", Some("FAILURE"), "failed"),
            ("COMPLETED", Some("TIMED_OUT"), "failed"),
            ("IN_PROGRESS", None, "running"),
            ("QUEUED", None, "waiting"),
        ] {
            assert_eq!(of_run(status, conclusion), expect, "{status} {conclusion:?}");
        }
        for (state, expect) in [("SUCCESS", "passed"), ("PENDING", "waiting"), ("ERROR", "failed")] {
            assert_eq!(of_state(state), expect, "{state}");
        }
    }

    #[test]
    fn an_answer_of_another_form_is_a_failure() {
        let code = |tool: &str, printed: &str| forge_answer(tool, printed).unwrap_err().code;
        assert_eq!(
            code("pr.inventory", r#"{"data": {"repository": {"pullRequest": null}}}"#),
            ErrorCode::NotFound
        );
        for tool in ["pr.inventory", "pr.create", "pr.reply", "pr.resolve"] {
            for printed in
                ["", "not json", r#"{"errors": []}"#, r#"{"data": null}"#, r#"{"data": {"repository": 7}}"#]
            {
                assert_eq!(code(tool, printed), ErrorCode::ProviderFailed, "{tool} {printed}");
            }
        }
    }
}
