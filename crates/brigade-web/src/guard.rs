//! The checks of each request, before anything looks at what it asks for.

use std::time::Instant;

use axum::body::Body;
use axum::http::header::{
    ALLOW, AsHeaderName, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, LOCATION, ORIGIN,
};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;

use crate::answer::refused;
use crate::assets;
use crate::logins::Session;
use crate::page::Page;

/// The header that repeats the secret of the session.
const CSRF: HeaderName = HeaderName::from_static("x-brigade-csrf");

/// The header that tells which page made a request. Browsers set it, and pages cannot.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The path that begins sessions.
pub(crate) const LOGIN: &str = "/api/login";

/// Checks a request, and returns it with its body and its session.
pub(crate) async fn check(page: &Page, request: Request<Incoming>) -> Result<Request<Body>, Box<Response>> {
    let refuse = |status, why: &str| Box::new(refused(page, status, why));
    let (mut parts, body) = request.into_parts();
    let headers = &parts.headers;
    let host = only(headers, HOST).ok_or_else(|| refuse(StatusCode::MISDIRECTED_REQUEST, NOT_OUR_HOST))?;
    // A target may be a whole URL. Its host then replaces that of the header.
    let target = parts.uri.authority().map_or(host, Authority::as_str);
    if !page.hosts.is_host(host) || !page.hosts.is_host(target) {
        return Err(refuse(StatusCode::MISDIRECTED_REQUEST, NOT_OUR_HOST));
    }
    let is_change = match parts.method {
        Method::GET | Method::HEAD => false,
        Method::POST => true,
        _ => return Err(Box::new(wrong_method(page))),
    };
    if is_change {
        let media = only(headers, CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default();
        if !media.trim().eq_ignore_ascii_case("application/json") {
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"));
        }
    }
    let is_ours = match headers.contains_key(ORIGIN) {
        true => only(headers, ORIGIN).is_some_and(|origin| page.hosts.is_origin(origin)),
        false => !is_change,
    };
    let site = only(headers, FETCH_SITE).unwrap_or("none");
    let is_from_elsewhere = parts.uri.path().starts_with("/api/") && !matches!(site, "none" | "same-origin");
    if !is_ours || is_from_elsewhere {
        return Err(refuse(StatusCode::FORBIDDEN, "only the page itself may ask for this"));
    }
    let session = session(page, headers);
    let path = parts.uri.path();
    match &session {
        Some(session) if is_change && path != LOGIN => {
            if !only(headers, CSRF).is_some_and(|csrf| session.has_csrf(csrf)) {
                return Err(refuse(StatusCode::FORBIDDEN, "X-Brigade-CSRF is not that of the session"));
            }
        }
        None if path == "/" => return Err(Box::new(to_login())),
        None if path != LOGIN && !assets::is_public(path) => {
            return Err(refuse(StatusCode::UNAUTHORIZED, "log in first"));
        }
        Some(_) | None => {}
    }
    let body = if is_change { read(page, body).await? } else { Bytes::new() };
    if let Some(session) = session {
        parts.extensions.insert(session);
    }
    parts.extensions.insert(Reach { is_public: page.hosts.is_public_host(host_of(&parts.headers)) });
    Ok(Request::from_parts(parts, Body::from(body)))
}

const NOT_OUR_HOST: &str = "this Host is not served";

/// How a request reached the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Through the reverse proxy, and so with TLS.
    pub(crate) is_public: bool,
}

fn host_of(headers: &HeaderMap) -> &str {
    only(headers, HOST).unwrap_or_default()
}

/// Refuses a method that no path takes, such as that of a question whether other pages may change something.
fn wrong_method(page: &Page) -> Response {
    let mut answer = refused(page, StatusCode::METHOD_NOT_ALLOWED, "no path takes this method");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET,HEAD,POST"));
    answer
}

fn to_login() -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/login"));
    answer
}

/// Reads a body.
async fn read(page: &Page, body: Incoming) -> Result<Bytes, Box<Response>> {
    let limit = page.limits.body_bytes;
    let refuse = |status, why: &str| Box::new(refused(page, status, why));
    match tokio::time::timeout(page.limits.request, Limited::new(body, limit).collect()).await {
        Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {limit} bytes are read")))
        }
        Ok(Err(_)) => Err(refuse(StatusCode::BAD_REQUEST, "the body could not be read")),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

/// Returns the session of the cookies.
fn session(page: &Page, headers: &HeaderMap) -> Option<Session> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.split_once('='));
    let now = Instant::now();
    pairs.find_map(|(name, value)| {
        (name.trim() == page.cookie).then(|| page.sessions.find(value.trim(), now)).flatten()
    })
}

/// Returns the value of a header that is there once, and is text.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}
