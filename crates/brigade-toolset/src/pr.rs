//! Local pull requests: `pr.*`.
//!
//! A pull request is a row about the branch of a lane. Its checks are the test suites of the catalog, and each is a
//! call with a separate approval and receipt. People review it with `brigade work pr`. If the policy names `gh` as the
//! forge, that program answers instead.

mod gh;

use std::collections::BTreeMap;

use brigade_core::{ErrorCode, Json, Object, Timestamp};
use brigade_db::StoreError;
use brigade_db::records::{Lane, StoredRecord};
use brigade_db::reviews::{CheckCall, Comment, MAX_TEXT_BYTES, PullRequest, Thread};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::git::repository::Repository;
use crate::run::{Function, arguments};

pub(crate) use gh::forge_answer;

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("pr.comments", inventory),
    ("pr.create", create),
    ("pr.inventory", inventory),
    ("pr.reply", reply),
    ("pr.rerun_checks", rerun),
    ("pr.resolve", resolve),
];

/// The maximum length of a title, in bytes.
const MAX_TITLE: usize = 256;

/// The argument of a check that gets the branch.
const BRANCH: &str = "branch";

/// The argument of a check that gets the commit of the branch.
const COMMIT: &str = "commit";

/// The status of a check that ran for another commit.
const OUTDATED: &str = "outdated";

/// The result of `pr.create`.
#[derive(Serialize)]
struct PullRequestCreated {
    pr_id: String,
    title: String,
    branch: String,
    base: String,
    url: String,
}

/// The result of `pr.inventory` and `pr.comments`.
#[derive(Serialize)]
struct Inventory {
    summary: String,
    checks: Vec<CheckRow>,
    threads: Vec<ThreadRow>,
    comments: Vec<CommentRow>,
}

#[derive(Serialize)]
struct CheckRow {
    name: String,
    status: &'static str,
    call_id: Option<String>,
    run_id: Option<String>,
    commit: Option<String>,
    looked_at: Option<&'static str>,
}

#[derive(Serialize)]
struct ThreadRow {
    id: String,
    path: Option<String>,
    line: Option<u64>,
    resolved: bool,
    /// The number of comments.
    comments: usize,
}

#[derive(Serialize)]
struct CommentRow {
    id: String,
    thread_id: String,
    author: String,
    body: String,
    created_at: Timestamp,
}

/// The result of `pr.rerun_checks`: the ids of the calls.
#[derive(Serialize)]
struct RerunResult {
    rerun: Vec<String>,
}

/// The result of `pr.reply`.
#[derive(Serialize)]
struct ReplyResult {
    reply_id: String,
}

/// The result of `pr.resolve`.
#[derive(Serialize)]
struct ThreadResolved {
    thread_id: String,
    resolved: bool,
}

#[derive(Deserialize)]
struct CreateArgs {
    #[serde(rename = "laneId")]
    lane: String,
    title: Option<String>,
    body: Option<String>,
}

#[derive(Deserialize)]
struct WhichArgs {
    #[serde(rename = "prNumber")]
    number: Option<u64>,
    #[serde(rename = "prId")]
    id: Option<String>,
}

#[derive(Deserialize)]
struct ReplyArgs {
    #[serde(rename = "threadId")]
    thread: String,
    body: String,
}

#[derive(Deserialize)]
struct ThreadArgs {
    #[serde(rename = "threadId")]
    thread: String,
}

fn invalid_argument(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidArguments, message)
}

/// Checks a text before it is stored, and masks it.
fn kept_text(context: &Context<'_>, what: &str, text: &str, most: usize) -> Result<String, Failure> {
    if most < text.len() {
        return Err(invalid_argument(format!("{what} has at most {most} bytes")));
    }
    Ok(context.redactor.redact_str(text))
}

/// Finds a pull request. Like lanes, they belong to the workspace.
fn find(input: &Json, context: &Context<'_>) -> Result<StoredRecord<PullRequest>, Failure> {
    let WhichArgs { number, id } = arguments(input)?;
    let store = context.stored_or_missing("pull request")?;
    let mut all = store.records::<PullRequest>(None)?.into_iter();
    let is_meant = |kept: &StoredRecord<PullRequest>| {
        id.as_deref() == Some(&*kept.id) || number == Some(kept.record.number)
    };
    all.find(is_meant).ok_or_else(|| Failure::missing("pull request"))
}

/// Returns the ref of a branch or a commit, if git finds it.
fn reference(repository: &Repository, name: &str) -> Result<Option<String>, Failure> {
    let branch = format!("refs/heads/{name}");
    match repository.commit_of(&branch)? {
        Some(_) => Ok(Some(branch)),
        None => Ok(repository.commit_of(name)?.map(|_| name.to_owned())),
    }
}

/// The state of a pull request's work.
enum State {
    Open { ahead: u64, behind: u64 },
    Merged,
    Closed,
    Gone,
}

impl State {
    fn read(repository: &Repository, request: &PullRequest) -> Result<State, Failure> {
        let branch = reference(repository, &request.branch)?;
        let base = reference(repository, &request.base)?;
        let (Some(branch), Some(base)) = (branch, base) else { return Ok(State::Gone) };
        let (ahead, behind) = repository.apart(&branch, &base)?;
        Ok(match ahead {
            0 => State::Merged,
            _ if request.is_closed => State::Closed,
            _ => State::Open { ahead, behind },
        })
    }

    fn text(&self) -> String {
        match self {
            State::Open { ahead, behind: 0 } => format!("open, {ahead} commits"),
            State::Open { ahead, behind } => format!("open, {ahead} commits, {behind} behind"),
            State::Merged => "merged".to_owned(),
            State::Closed => "closed".to_owned(),
            State::Gone => "its branch is gone".to_owned(),
        }
    }
}

fn url(number: u64) -> String {
    format!("brigade://pr/{number}")
}

/// Builds the pull request that arguments of `pr.create` describe, without storing it.
///
/// # Errors
/// Returns why it cannot be created.
pub(crate) fn requested_pull_request(input: &Json, context: &Context<'_>) -> Result<PullRequest, Failure> {
    let CreateArgs { lane: id, title, body } = arguments(input)?;
    let repository = Repository::for_workspace(context)?;
    let store = context.stored_or_missing("lane")?;
    let lane = store.record::<Lane>(None, &id).map_err(|_| Failure::missing("lane"))?.record;
    if lane.is_archived {
        return Err(Failure::new(ErrorCode::Archived, "the lane is archived"));
    }
    let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| lane.name.clone());
    if title.chars().any(char::is_control) {
        return Err(invalid_argument("a title must not have control characters"));
    }
    let title = kept_text(context, "a title", &title, MAX_TITLE)?;
    let body = body.or_else(|| lane.description.clone()).unwrap_or_default();
    let body = kept_text(context, "a body", &body, MAX_TEXT_BYTES)?;
    let request = PullRequest {
        number: 0,
        title,
        body,
        lane: id,
        base: lane.base_branch.clone().unwrap_or_else(|| lane.base.clone()),
        branch: lane.branch,
        checks: BTreeMap::new(),
        is_closed: false,
        created_at: context.clock.now(),
    };
    store.check_pull_request(&request)?;
    match State::read(&repository, &request)? {
        State::Open { .. } | State::Closed => Ok(request),
        State::Merged => {
            let message = "the branch of the lane has no commits ahead of its base; commit the work first";
            Err(Failure::new(ErrorCode::NothingToReview, message))
        }
        State::Gone => Err(Failure::new(ErrorCode::NoCommit, "the branch of the lane is gone")),
    }
}

fn create(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let request = requested_pull_request(input, context)?;
    let now = request.created_at;
    let kept = context.store()?.open_pull_request(&context.owner(), request, now)?;
    let request = kept.record;
    Ok(Output::from_result(&PullRequestCreated {
        pr_id: kept.id,
        title: request.title,
        branch: request.branch,
        base: request.base,
        url: url(request.number),
    }))
}

/// The state of a check.
struct Check {
    name: String,
    status: &'static str,
    call: Option<CheckCall>,
    run: Option<String>,
}

impl Check {
    /// Returns whether `pr.rerun_checks` runs it.
    fn is_due(&self) -> bool {
        matches!(self.status, "failed" | "cancelled" | "not_run" | OUTDATED)
    }

    fn row(self) -> CheckRow {
        let call = self.call.as_ref();
        CheckRow {
            name: self.name,
            status: self.status,
            looked_at: call.map(|call| if call.is_of_branch { "branch" } else { "workspace" }),
            call_id: call.map(|call| call.call.clone()),
            commit: call.and_then(|call| call.commit.clone()),
            run_id: self.run,
        }
    }
}

/// What the checks of a pull request should check now.
struct Subjects {
    branch: Option<String>,
    workspace: Option<String>,
}

impl Subjects {
    fn read(repository: &Repository, request: &PullRequest) -> Result<Subjects, Failure> {
        let branch = repository.commit_of(&format!("refs/heads/{}", request.branch))?;
        // Brigade's state changes with every call, so it is left out.
        Ok(Subjects { branch, workspace: repository.state_without(".brigade")? })
    }

    fn commit(&self, is_of_branch: bool) -> Option<&String> {
        if is_of_branch { self.branch.as_ref() } else { self.workspace.as_ref() }
    }
}

/// Converts the status of a call to a status of checks.
fn status(call: &str) -> &'static str {
    match call {
        "completed" => "passed",
        "failed" | "timed-out" | "interrupted" => "failed",
        "rejected" | "withdrawn" => "cancelled",
        "running" => "running",
        _ => "waiting",
    }
}

/// Returns the checks of a pull request: the test suites of the catalog.
fn checks(context: &Context<'_>, subjects: &Subjects, request: &PullRequest) -> Result<Vec<Check>, Failure> {
    let calls = context.further()?;
    let check_of = |name: String| -> Result<Check, Failure> {
        let call = request.checks.get(&name).cloned();
        let state = call.as_ref().map(|call| calls.find_call(&call.call)).transpose()?.flatten();
        let status = state.as_ref().map_or("not_run", |state| status(&state.status));
        // A check of other bytes is outdated, whatever its result.
        let is_current =
            call.as_ref().is_some_and(|call| call.commit.as_ref() == subjects.commit(call.is_of_branch));
        let status = if is_current || !matches!(status, "passed" | "failed") { status } else { OUTDATED };
        Ok(Check { name, status, call, run: state.and_then(|state| state.run) })
    };
    context.suites.iter().cloned().map(check_of).collect()
}

fn comment_row(thread: &str, comment: &Comment) -> CommentRow {
    CommentRow {
        id: comment.id.clone(),
        thread_id: thread.to_owned(),
        author: comment.author.clone(),
        body: comment.body.clone(),
        created_at: comment.created_at,
    }
}

fn thread_row(kept: &StoredRecord<Thread>) -> ThreadRow {
    let thread = &kept.record;
    ThreadRow {
        id: kept.id.clone(),
        path: thread.path.clone(),
        line: thread.line,
        resolved: thread.is_resolved,
        comments: thread.comments.len(),
    }
}

/// `pr.inventory` and `pr.comments`
fn inventory(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let kept = find(input, context)?;
    let repository = Repository::for_workspace(context)?;
    let request = &kept.record;
    let state = State::read(&repository, request)?;
    let checks = checks(context, &Subjects::read(&repository, request)?, request)?;
    let threads = context.stored_or_missing("pull request")?.threads(&kept.id)?;
    let count = |status: &str| checks.iter().filter(|check| check.status == status).count();
    let open = threads.iter().filter(|thread| !thread.record.is_resolved).count();
    let outdated = match count(OUTDATED) {
        0 => String::new(),
        count => format!(", {count} outdated"),
    };
    let mut summary = format!(
        "{} #{} \"{}\" of {} into {}: {}; {} checks, {} passed, {} failed{outdated}; {} threads, {open} open",
        kept.id,
        request.number,
        request.title,
        request.branch,
        request.base,
        state.text(),
        checks.len(),
        count("passed"),
        count("failed"),
        threads.len(),
    );
    if !request.body.is_empty() {
        summary.push_str("\n\n");
        summary.push_str(&request.body);
    }
    let comments_of = |kept: &StoredRecord<Thread>| {
        kept.record.comments.iter().map(|comment| comment_row(&kept.id, comment)).collect()
    };
    Ok(Output::from_result(&Inventory {
        summary,
        checks: checks.into_iter().map(Check::row).collect(),
        threads: threads.iter().map(thread_row).collect(),
        comments: threads.iter().flat_map(|kept| -> Vec<CommentRow> { comments_of(kept) }).collect(),
    }))
}

fn rerun(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let kept = find(input, context)?;
    let calls = context.further()?;
    let subjects = Subjects::read(&Repository::for_workspace(context)?, &kept.record)?;
    let checks = checks(context, &subjects, &kept.record)?;
    if checks.is_empty() {
        let message = "the catalog has no checks; scripts with the category `test` are checks";
        return Err(Failure::new(ErrorCode::NoChecks, message));
    }
    let mut asked = BTreeMap::new();
    let mut refused: Option<Failure> = None;
    for check in checks.iter().filter(|check| check.is_due()) {
        let is_of_branch = calls.takes(&check.name, BRANCH);
        let mut args = Object::new();
        if is_of_branch {
            args.insert(BRANCH.to_owned(), Json::from(kept.record.branch.as_str()));
        }
        let commit = subjects.commit(is_of_branch).cloned();
        if let Some(commit) = commit.as_deref().filter(|_| is_of_branch && calls.takes(&check.name, COMMIT)) {
            args.insert(COMMIT.to_owned(), Json::from(commit));
        }
        match calls.ask(&check.name, Json::Object(args)) {
            Ok(call) => {
                asked.insert(check.name.clone(), CheckCall { call: call.id, is_of_branch, commit });
            }
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    if let Some(failure) = refused.filter(|_| asked.is_empty()) {
        return Err(failure);
    }
    let ids: Vec<String> = asked.values().map(|check| check.call.clone()).collect();
    let text = match ids.len() {
        0 => "no check has failed".to_owned(),
        count => format!(
            "{count} checks are calls now; `call.wait` with the id of one runs it when it is approved"
        ),
    };
    context.store()?.change_record(&kept.id, |request: &mut PullRequest| {
        request.checks.extend(asked);
        Ok(())
    })?;
    Ok(Output::from_result(&RerunResult { rerun: ids }).text(text))
}

/// Changes a thread.
fn change<T>(
    context: &Context<'_>,
    id: &str,
    change: impl FnOnce(&mut Thread) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let store = context.stored_or_missing("thread")?;
    store.record::<Thread>(None, id).map_err(|_| Failure::missing("thread"))?;
    Ok(context.store()?.change_record(id, change)?)
}

fn reply(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ReplyArgs { thread: id, body } = arguments(input)?;
    if body.trim().is_empty() {
        return Err(invalid_argument("$.body: is empty"));
    }
    let body = kept_text(context, "a reply", &body, MAX_TEXT_BYTES)?;
    let (author, now) = (context.owner(), context.clock.now());
    let reply = change(context, &id, |thread| thread.comment(&id, &author, body, now))?;
    Ok(Output::from_result(&ReplyResult { reply_id: reply }))
}

fn resolve(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ThreadArgs { thread: id } = arguments(input)?;
    change(context, &id, |thread| {
        thread.is_resolved = true;
        Ok(())
    })?;
    Ok(Output::from_result(&ThreadResolved { thread_id: id, resolved: true }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_a_call_is_one_of_a_check() {
        for (call, expect) in [
            ("pending", "waiting"),
            ("approved", "waiting"),
            ("held", "waiting"),
            ("waiting", "waiting"),
            ("resume-pending", "waiting"),
            ("running", "running"),
            ("completed", "passed"),
            ("failed", "failed"),
            ("timed-out", "failed"),
            ("interrupted", "failed"),
            ("rejected", "cancelled"),
        ] {
            assert_eq!(status(call), expect, "{call}");
        }
    }
}
