//! What the page shows.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use brigade::core::{ErrorCode, IdPrefix, Timestamp};
use brigade::health::DoctorRequest;
use brigade::kitchen::{KitchenCostReport, KitchenReceiptsReport, PrdNames, StatusReport};
use brigade::{CallPage, CallStatus, Error, ErrorKind, LogStream, RunFilter, RunStatus, Workspace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::PageState;
use crate::answer::{document, failed, refused, refused_as};
use crate::page::Page;

/// The number of runs of a page, and the largest number.
const RUNS: usize = 50;
const MAX_RUNS: usize = 500;

/// At most this many runs are searched for one page. The next page continues there.
const MAX_SEARCHED: usize = 2_000;

/// Of more calls or runs than this, issues look only at the newest.
const MAX_DIAGNOSED: usize = 1_000;

/// The number of days of charts.
const DAYS: u32 = 30;

/// The number of receipts of workers on a timeline.
const RECEIPTS: usize = 300;

pub(super) fn router() -> Router<Arc<Page>> {
    Router::new()
        .route("/api/waiting", get(waiting))
        .route("/api/calls", get(calls))
        .route("/api/calls/{id}", get(call))
        .route("/api/checkpoints/{id}", get(question))
        .route("/api/decisions/{id}", get(question))
        .route("/api/runs", get(runs))
        .route("/api/runs/{id}", get(run))
        .route("/api/runs/{id}/log", get(log))
        .route("/api/kitchen", get(kitchen))
        .route("/api/kitchen/{prd}", get(prd))
        .route("/api/agents", get(agents))
        .route("/api/servers", get(servers))
        .route("/api/verify", get(verify))
        .route("/api/runtimes", get(runtimes))
        .route("/api/issues", get(issues))
        .route("/api/stats", get(stats))
}

/// Answers with the document of an operation.
async fn show<T: Serialize + Send + 'static>(
    page: Arc<Page>,
    read: impl FnOnce(&Workspace) -> Result<T, Error> + Send + 'static,
) -> Response {
    page.work(read, |value| document(&value)).await
}

/// Answers with a list. What its query names and is not there makes the query wrong, not the path.
async fn list<T: Serialize + Send + 'static>(
    page: Arc<Page>,
    read: impl FnOnce(&Workspace) -> Result<T, Error> + Send + 'static,
) -> Response {
    let asked = page.clone();
    let answer = move |found: Result<T, Error>| match found {
        Ok(list) => document(&list),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Ambiguous) => {
            refused_as(&asked, StatusCode::UNPROCESSABLE_ENTITY, &error)
        }
        Err(error) => failed(&asked, &error),
    };
    page.work(move |workspace| Ok(read(workspace)), answer).await
}

/// Reads the query of a path.
fn query<T: DeserializeOwned>(page: &Page, uri: &Uri) -> Result<T, Box<Response>> {
    let read = Query::<T>::try_from_uri(uri);
    read.map(|Query(query)| query).map_err(|error| {
        Box::new(refused(page, StatusCode::UNPROCESSABLE_ENTITY, &format!("the query is not valid: {error}")))
    })
}

async fn waiting(State(page): PageState) -> Response {
    show(page, |workspace| workspace.daily().waiting()).await
}

/// Which calls or runs are listed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    status: Option<String>,
    tool: Option<String>,
    agent: Option<String>,
    since: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

/// Returns a text of a query, unless it is empty.
fn named(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn since(text: Option<String>) -> Result<Option<Timestamp>, Error> {
    let wrong = |_| Error::new(ErrorKind::Usage, "`since` is not a time such as 2026-01-31T10:00:00Z");
    named(text).map(|text| text.parse().map_err(wrong)).transpose()
}

async fn calls(State(page): PageState, uri: Uri) -> Response {
    let query: ListQuery = match query(&page, &uri) {
        Ok(query) => query,
        Err(refused) => return *refused,
    };
    let read = move |workspace: &Workspace| {
        workspace.daily().calls(&CallPage {
            status: named(query.status).map(|word| CallStatus::from_word(&word)),
            tool: named(query.tool),
            agent: named(query.agent),
            since: since(query.since)?,
            before: named(query.before).map(|id| IdPrefix::new(&id)),
            limit: query.limit,
        })
    };
    list(page, read).await
}

async fn call(State(page): PageState, Path(id): Path<String>) -> Response {
    show(page, move |workspace| workspace.daily().review_call(&IdPrefix::new(&id))).await
}

async fn question(State(page): PageState, Path(id): Path<String>) -> Response {
    show(page, move |workspace| workspace.daily().review_question(&id)).await
}

async fn runs(State(page): PageState, uri: Uri) -> Response {
    let query: ListQuery = match query(&page, &uri) {
        Ok(query) => query,
        Err(refused) => return *refused,
    };
    let read = move |workspace: &Workspace| {
        workspace.runs().list(&RunFilter {
            status: named(query.status).map(|word| RunStatus::from_word(&word)),
            tool: named(query.tool),
            agent: named(query.agent),
            since: since(query.since)?,
            limit: Some(query.limit.unwrap_or(RUNS).clamp(1, MAX_RUNS)),
            searched: Some(MAX_SEARCHED),
            before: named(query.before).map(|id| IdPrefix::new(&id)),
        })
    };
    list(page, read).await
}

async fn run(State(page): PageState, Path(id): Path<String>) -> Response {
    show(page, move |workspace| workspace.runs().show(&IdPrefix::new(&id))).await
}

/// Which log is shown.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LogQuery {
    stream: Option<String>,
}

async fn log(State(page): PageState, Path(id): Path<String>, uri: Uri) -> Response {
    let query: LogQuery = match query(&page, &uri) {
        Ok(query) => query,
        Err(refused) => return *refused,
    };
    let stream = match query.stream.as_deref() {
        None | Some("stdout") => LogStream::Stdout,
        Some("stderr") => LogStream::Stderr,
        Some(_) => {
            return refused(&page, StatusCode::UNPROCESSABLE_ENTITY, "`stream` is `stdout` or `stderr`");
        }
    };
    show(page, move |workspace| workspace.runs().log(&IdPrefix::new(&id), stream)).await
}

/// The PRDs of the kitchen.
#[derive(Serialize)]
struct KitchenView {
    exists: bool,
    prds: Vec<PrdView>,
}

/// A PRD in a list.
#[derive(Serialize)]
struct PrdView {
    name: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusReport>,
    /// Why its status cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

async fn kitchen(State(page): PageState) -> Response {
    let list = |workspace: &Workspace| {
        let kitchen = workspace.kitchen();
        let exists = kitchen.is_there()?;
        let names = if exists { kitchen.names()? } else { Vec::new() };
        let view = |prd: PrdNames| {
            let status = kitchen.status(Some(&workspace.root().join(&prd.path)));
            let error = status.as_ref().err().map(ToString::to_string);
            PrdView { name: prd.name, path: prd.path, status: status.ok(), error }
        };
        Ok(KitchenView { exists, prds: names.into_iter().map(view).collect() })
    };
    show(page, list).await
}

/// One PRD, with what it cost and when its workers ran.
#[derive(Serialize)]
struct BoardView {
    status: StatusReport,
    cost: KitchenCostReport,
    receipts: KitchenReceiptsReport,
}

async fn prd(State(page): PageState, Path(name): Path<String>) -> Response {
    let read = move |workspace: &Workspace| {
        let kitchen = workspace.kitchen();
        let found = kitchen.names()?.into_iter().find(|prd| prd.name == name);
        let path: PathBuf = match found {
            Some(prd) => workspace.root().join(prd.path),
            None => {
                let error = Error::new(ErrorKind::NotFound, "there is no PRD of this name");
                return Err(error.coded(ErrorCode::PrdMissing));
            }
        };
        let (status, cost) = (kitchen.status(Some(&path))?, kitchen.cost(Some(&path))?);
        let mut receipts = kitchen.receipts(RECEIPTS)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        receipts.receipts.retain(|receipt| receipt.prd.as_ref().is_some_and(|prd| prd.as_str() == stem));
        Ok(BoardView { status, cost, receipts })
    };
    show(page, read).await
}

async fn agents(State(page): PageState) -> Response {
    show(page, |workspace| workspace.agents().list()).await
}

async fn servers(State(page): PageState) -> Response {
    show(page, |workspace| workspace.pins().list()).await
}

async fn verify(State(page): PageState) -> Response {
    show(page, |workspace| workspace.runs().verify(0)).await
}

async fn runtimes(State(page): PageState) -> Response {
    show(page, |workspace| workspace.runtimes().list()).await
}

async fn issues(State(page): PageState) -> Response {
    show(page, |workspace| workspace.doctor().check_recent(&DoctorRequest::default(), MAX_DIAGNOSED)).await
}

/// Which days are summed up.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StatsQuery {
    days: Option<u32>,
}

async fn stats(State(page): PageState, uri: Uri) -> Response {
    let query: StatsQuery = match query(&page, &uri) {
        Ok(query) => query,
        Err(refused) => return *refused,
    };
    show(page, move |workspace| workspace.daily().series(query.days.unwrap_or(DAYS))).await
}
