//! Answers, with the headers that each one has.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use brigade::core::json::write_document;
use brigade::{Error, ErrorCode, ErrorKind};
use serde::Serialize;

use crate::page::Page;

/// Nothing is loaded from elsewhere, and no other page shows this one.
const CONTENT_RULES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Adds the headers of every answer. An answer without its own rule is not stored.
pub(crate) fn add_headers(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_RULES));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Answers with a text.
pub(crate) fn text(status: StatusCode, media: &'static str, body: impl Into<Body>) -> Response {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    answer
}

/// Answers with JSON that is already text.
pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    text(status, "application/json", body)
}

/// Answers with a document, as `--json` writes it.
pub(crate) fn document<T: Serialize>(value: &T) -> Response {
    let mut body = Vec::new();
    write_document(&mut body, value).expect("a document is JSON, and memory takes it");
    json(StatusCode::OK, body)
}

/// Answers with an error of an operation.
pub(crate) fn failed(page: &Page, error: &Error) -> Response {
    let status = match error.kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Refused if error.code() == ErrorCode::InsideARun => StatusCode::FORBIDDEN,
        ErrorKind::Refused | ErrorKind::Ambiguous | ErrorKind::InvalidConfig => StatusCode::CONFLICT,
        ErrorKind::Usage => StatusCode::UNPROCESSABLE_ENTITY,
        // The environment or the disk.
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refused_as(page, status, error)
}

/// Answers with an error and another status.
pub(crate) fn refused_as(page: &Page, status: StatusCode, error: &Error) -> Response {
    json(status, page.describe(error))
}

/// Refuses a request itself.
pub(crate) fn refused(page: &Page, status: StatusCode, why: &str) -> Response {
    let kind = match status {
        StatusCode::NOT_FOUND => ErrorKind::NotFound,
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::METHOD_NOT_ALLOWED => ErrorKind::Usage,
        _ => ErrorKind::Refused,
    };
    refused_as(page, status, &Error::new(kind, why))
}
