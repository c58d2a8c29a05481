//! The paths of the page. Documents are those of `--json`.

mod decide;
mod read;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{HeaderMap, HeaderValue, SET_COOKIE};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use brigade::Workspace;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::answer::{failed, refused};
use crate::events;
use crate::guard::{LOGIN, Reach};
use crate::logins::{SESSION_LIFETIME, Session};
use crate::page::{Page, Reviews};
use crate::server::new_secret;
use crate::{answer, assets};

/// The header by which a browser continues a stream.
const LAST_EVENT_ID: &str = "last-event-id";

/// The state of handlers.
type PageState = State<Arc<Page>>;

/// Returns the handlers of all paths.
pub(crate) fn router(page: Arc<Page>) -> Router {
    let file = |uri: Uri| async move { assets::answer(uri.path()) };
    let files = assets::paths().fold(Router::new(), |router, path| router.route(path, get(file)));
    files
        .route(LOGIN, post(login))
        .route("/api/session", get(session))
        .route("/api/events", get(event_stream))
        .merge(read::router())
        .merge(decide::router())
        .with_state(page)
}

/// The body of a login.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

async fn login(State(page): PageState, Extension(reach): Extension<Reach>, body: Bytes) -> Response {
    let Ok(login) = serde_json::from_slice::<Login>(&body) else {
        return refused(&page, StatusCode::UNPROCESSABLE_ENTITY, "the body has one member: `token`");
    };
    let taking = page.clone();
    let taken = tokio::task::spawn_blocking(move || {
        taking.workspace.web_logins().take(&taking.served.url, &login.token)
    });
    match taken.await {
        Ok(Ok(true)) => begin(&page, reach),
        Ok(Ok(false)) => wrong_token(&page).await,
        Ok(Err(error)) => failed(&page, &error),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn begin(page: &Page, reach: Reach) -> Response {
    let secrets = new_secret().and_then(|cookie| Ok((cookie, new_secret()?)));
    let (cookie, csrf) = match secrets {
        Ok(secrets) => secrets,
        Err(error) => return failed(page, &error),
    };
    page.sessions.begin(&cookie, &csrf, Instant::now());
    let (name, secret, age) = (&page.cookie, cookie.expose(), SESSION_LIFETIME.as_secs());
    let secure = if reach.is_public { "; Secure" } else { "" };
    let cookie = format!("{name}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}");
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(SET_COOKIE, HeaderValue::from_str(&cookie).expect("plain text"));
    answer
}

/// Answers after a while, one login after the other.
async fn wrong_token(page: &Page) -> Response {
    let Ok(_permit) = page.logins.try_acquire() else {
        return refused(page, StatusCode::TOO_MANY_REQUESTS, "too many logins wait for their answer");
    };
    let _turn = page.login_turn.lock().await;
    tokio::time::sleep(page.sessions.count_wrong()).await;
    let why = "the token is wrong, was used or is older than five minutes";
    refused(page, StatusCode::UNAUTHORIZED, why)
}

/// The session of a browser, and what it may do.
#[derive(Serialize)]
struct SessionReport {
    csrf: String,
    member: String,
    may: &'static [&'static str],
    target: String,
}

async fn session(State(page): PageState, Extension(session): Extension<Session>) -> Response {
    let reviews = page.reviews;
    let read = move |workspace: &Workspace| {
        let reviewer = workspace.reviewer()?;
        let may: &[&str] = match reviews {
            Reviews::Allowed if reviewer.decides => &["approve", "reject", "hold", "answer"],
            Reviews::Allowed | Reviews::LookOnly => &[],
        };
        let target = workspace.root().display().to_string();
        Ok(SessionReport { csrf: session.csrf, member: reviewer.name, may, target })
    };
    page.work(read, |report| answer::document(&report)).await
}

async fn event_stream(
    State(page): PageState,
    Extension(session): Extension<Session>,
    headers: HeaderMap,
) -> Response {
    let Ok(permit) = page.streams.clone().try_acquire_owned() else {
        return refused(&page, StatusCode::TOO_MANY_REQUESTS, "too many streams are open");
    };
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    events::stream(page.events.clone(), last, session.until, permit)
}
