//! Decisions, by the operations that the command line uses.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::post;
use brigade::Workspace;
use brigade::core::IdPrefix;
use brigade::core::text::shows_nothing;
use brigade::daily::{CallDecision, ChosenCall, WorkAnswer};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::answer::{document, refused};
use crate::page::{Page, Reviews};

/// The page of a handler that decides. A page that only shows has none.
struct Deciding(Arc<Page>);

impl FromRequestParts<Arc<Page>> for Deciding {
    type Rejection = Response;

    async fn from_request_parts(_: &mut Parts, page: &Arc<Page>) -> Result<Deciding, Response> {
        match page.reviews {
            Reviews::Allowed => Ok(Deciding(page.clone())),
            Reviews::LookOnly => {
                Err(refused(page, StatusCode::FORBIDDEN, "this page only shows, and takes no decisions"))
            }
        }
    }
}

pub(super) fn router() -> Router<Arc<Page>> {
    Router::new()
        .route("/api/calls/{id}/approve", post(approve))
        .route("/api/calls/{id}/reject", post(reject))
        .route("/api/calls/{id}/hold", post(hold))
        .route("/api/checkpoints/{id}/approve", post(answer))
        .route("/api/checkpoints/{id}/reject", post(decline))
        .route("/api/decisions/{id}/answer", post(answer))
}

/// The body of an approval.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    review_fingerprint: String,
}

/// The body of a rejection, or of a call that is put on hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    reason: String,
    /// With it, the decision counts only for what was shown.
    #[serde(default)]
    review_fingerprint: Option<String>,
}

/// The body of an answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenAnswer {
    #[serde(default)]
    choice: Option<String>,
    #[serde(default)]
    text: Option<String>,
    review_fingerprint: String,
}

fn body<T: DeserializeOwned>(page: &Page, bytes: &Bytes, members: &str) -> Result<T, Box<Response>> {
    serde_json::from_slice(bytes).map_err(|_| {
        let why = format!("the body is not an object with {members}");
        Box::new(refused(page, StatusCode::UNPROCESSABLE_ENTITY, &why))
    })
}

async fn approve(Deciding(page): Deciding, Path(id): Path<String>, bytes: Bytes) -> Response {
    let fingerprint = match body::<Approval>(&page, &bytes, "`review_fingerprint`") {
        Ok(approval) => approval.review_fingerprint,
        Err(refused) => return *refused,
    };
    decide(page, ChosenCall::Reviewed { id, fingerprint }, CallDecision::Approve).await
}

async fn reject(Deciding(page): Deciding, Path(id): Path<String>, bytes: Bytes) -> Response {
    match body::<Refusal>(&page, &bytes, "`reason`") {
        Ok(refusal) if shows_nothing(&refusal.reason) => {
            refused(&page, StatusCode::UNPROCESSABLE_ENTITY, "a rejection needs a reason")
        }
        Ok(refusal) => decide(page, chosen(id, &refusal), CallDecision::Reject(refusal.reason)).await,
        Err(refused) => *refused,
    }
}

async fn hold(Deciding(page): Deciding, Path(id): Path<String>, bytes: Bytes) -> Response {
    match body::<Refusal>(&page, &bytes, "`reason`") {
        Ok(refusal) => {
            let chosen = chosen(id, &refusal);
            let reason = match shows_nothing(&refusal.reason) {
                true => CallDecision::HELD.to_owned(),
                false => refusal.reason,
            };
            decide(page, chosen, CallDecision::Hold(reason)).await
        }
        Err(refused) => *refused,
    }
}

fn chosen(id: String, refusal: &Refusal) -> ChosenCall {
    match &refusal.review_fingerprint {
        Some(fingerprint) => ChosenCall::Reviewed { id, fingerprint: fingerprint.clone() },
        None => ChosenCall::Named(IdPrefix::new(&id)),
    }
}

async fn decide(page: Arc<Page>, chosen: ChosenCall, decision: CallDecision) -> Response {
    let decide = move |workspace: &Workspace| workspace.daily().decide(&chosen, &decision);
    page.work(decide, |report| document(&report)).await
}

async fn answer(Deciding(page): Deciding, Path(id): Path<String>, bytes: Bytes) -> Response {
    let given = match body::<GivenAnswer>(&page, &bytes, "`review_fingerprint`, and `choice` or `text`") {
        Ok(given) => given,
        Err(refused) => return *refused,
    };
    let answer = WorkAnswer {
        choices: given.choice.into_iter().collect(),
        text: given.text.filter(|text| !shows_nothing(text)),
        is_declined: false,
    };
    if answer.choices.is_empty() && answer.text.is_none() {
        return refused(&page, StatusCode::UNPROCESSABLE_ENTITY, "an answer has a `choice` or a `text`");
    }
    answer_as(page, id, Some(given.review_fingerprint), answer).await
}

async fn decline(Deciding(page): Deciding, Path(id): Path<String>, bytes: Bytes) -> Response {
    match body::<Refusal>(&page, &bytes, "`reason`") {
        Ok(refusal) if shows_nothing(&refusal.reason) => {
            refused(&page, StatusCode::UNPROCESSABLE_ENTITY, "a rejection needs a reason")
        }
        Ok(Refusal { reason, review_fingerprint }) => {
            let answer = WorkAnswer { text: Some(reason), is_declined: true, ..WorkAnswer::default() };
            answer_as(page, id, review_fingerprint, answer).await
        }
        Err(refused) => *refused,
    }
}

async fn answer_as(page: Arc<Page>, id: String, fingerprint: Option<String>, answer: WorkAnswer) -> Response {
    let give = move |workspace: &Workspace| {
        // Calls have separate paths.
        workspace.daily().review_question(&id)?;
        let work = workspace.work();
        match fingerprint {
            Some(fingerprint) => work.answer_reviewed(&id, &fingerprint, &answer),
            None => work.answer(&IdPrefix::new(&id), &answer),
        }
    };
    page.work(give, |report| document(&report)).await
}
