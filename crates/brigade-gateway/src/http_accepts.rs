//! What a client accepts as an answer, and streams as single answers.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use crate::http::{Answer, plain};

/// The media types that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepts {
    json: bool,
    pub(crate) streams: bool,
}

impl Accepts {
    /// Only single answers.
    pub(crate) const JSON: Accepts = Accepts { json: true, streams: false };

    /// Returns whether the client takes a single answer.
    pub(crate) fn takes_json(self) -> bool {
        self.json
    }

    /// Parses the `Accept` headers of a request. Without any, everything is accepted.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Accepts {
        let mut accepts = Accepts { json: false, streams: false };
        if !headers.contains_key(ACCEPT) {
            return Accepts { json: true, streams: true };
        }
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for media in values.flat_map(|value| value.split(',')) {
            let mut parts = media.split(';').map(str::trim);
            let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
            let is_refused = |part: &str| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
            if parts.any(is_refused) {
                continue;
            }
            accepts.json |= matches!(&*essence, "*/*" | "application/*" | "application/json");
            accepts.streams |= matches!(&*essence, "*/*" | "text/*" | "text/event-stream");
        }
        accepts
    }

    /// Returns whether the client can be answered.
    pub(crate) fn suffices(self, is_post: bool) -> bool {
        self.streams || is_post && self.json
    }
}

pub(crate) fn is_stream(answer: &Answer) -> bool {
    let media = answer.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.is_some_and(|media| media.starts_with("text/event-stream"))
}

/// Turns a stream into one answer: its response, without the earlier messages of the server.
pub(crate) async fn as_json(answer: Answer) -> Answer {
    let (mut parts, body) = answer.into_parts();
    let Ok(collected) = body.collect().await;
    let text = String::from_utf8_lossy(&collected.to_bytes()).into_owned();
    let Some(response) = response_in(&text) else {
        return *plain(StatusCode::BAD_GATEWAY, "the stream ended without a response");
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Full::new(Bytes::from(response)).boxed())
}

/// Returns the response among the events of a stream.
fn response_in(stream: &str) -> Option<String> {
    stream.replace("\r\n", "\n").split("\n\n").find_map(|event| {
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
        let json: Value = serde_json::from_str(&data).ok()?;
        (json.get("result").is_some() || json.get("error").is_some()).then_some(data)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_type_or_a_wildcard_is_enough() {
        let check = |values: &[&'static str], json: bool, streams: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            assert_eq!(Accepts::from_headers(&headers), Accepts { json, streams }, "{values:?}");
        };
        check(&[], true, true);
        check(&["*/*"], true, true);
        check(&["application/json, text/event-stream"], true, true);
        check(&["application/json", "text/event-stream;q=0.5"], true, true);
        check(&["Application/JSON; charset=utf-8"], true, false);
        check(&["text/event-stream"], false, true);
        check(&["text/html"], false, false);
        check(&["application/json;q=0, */*;q=0"], false, false);
        let alone = |json, streams| Accepts { json, streams };
        assert!(alone(true, false).suffices(true) && !alone(true, false).suffices(false));
        assert!(alone(false, true).suffices(true) && !alone(false, false).suffices(true));
    }

    #[test]
    fn the_response_is_found_in_a_stream() {
        let stream = "id: 1\ndata:\n\ndata: {\"method\":\"notifications/progress\"}\n\nevent: message\n\
                      data: {\"id\":1,\"result\":{}}\n\n";
        assert_eq!(response_in(stream).as_deref(), Some("{\"id\":1,\"result\":{}}"));
        assert_eq!(response_in("data: {\"method\":\"x\"}\n\n"), None);
    }
}
