//! Batches: several messages in one request, which revision 2025-03-26 and older ones have.

use brigade::core::{Dialect, Json};
use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;
use http_body_util::BodyExt;

use crate::http::{Answer, REVISION, answer, json, plain};
use crate::http_accepts::Accepts;
use crate::message::{self, INVALID_REQUEST};

/// The last revision with batches. It has no header for the revision.
pub(crate) const LAST_REVISION: &str = "2025-03-26";

/// The maximum number of messages in a batch.
const MAX_MESSAGES: usize = 100;

/// Returns the messages of a batch, or the refusal of the whole batch. `None` if the body is not a batch, or its
/// revision has none.
pub(crate) fn messages(body: &[u8], headers: &HeaderMap) -> Option<Result<Vec<Bytes>, Vec<u8>>> {
    let is_older = |revision: &http::HeaderValue| revision.to_str().is_ok_and(|text| text <= LAST_REVISION);
    if headers.get_all(REVISION).iter().all(is_older) { parse(body) } else { None }
}

/// Returns the messages of a batch, or the refusal of the whole batch. `None` if the text is not a batch.
pub(crate) fn parse(body: &[u8]) -> Option<Result<Vec<Bytes>, Vec<u8>>> {
    if !body.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    let Json::Array(batch) = Json::parse_bytes(body, Dialect::Strict).ok()? else { return None };
    let begins = |message: &Json| message.get("method").and_then(Json::as_str) == Some("initialize");
    let refused = match batch.len() {
        0 => Some("a batch has at least one message".to_owned()),
        count if MAX_MESSAGES < count => Some(format!("a batch has at most {MAX_MESSAGES} messages")),
        _ => batch.iter().any(begins).then(|| "`initialize` cannot be part of a batch".to_owned()),
    };
    Some(match refused {
        Some(reason) => Err(message::error(None, INVALID_REQUEST, &reason)),
        None => Ok(batch.iter().map(|message| Bytes::from(message.to_compact())).collect()),
    })
}

/// Returns the response in the answer to one message; `None` for a message that gets none.
pub(crate) async fn response(answer: Answer) -> Option<Vec<u8>> {
    let Ok(collected) = answer.into_body().collect().await;
    let bytes = collected.to_bytes();
    match Json::parse_bytes(&bytes, Dialect::Strict) {
        _ if bytes.is_empty() => None,
        Ok(Json::Object(_)) => Some(bytes.to_vec()),
        Ok(_) | Err(_) => Some(message::error(None, INVALID_REQUEST, &String::from_utf8_lossy(&bytes))),
    }
}

/// Returns the answer to a batch: the responses as one list.
pub(crate) fn batch_answer(responses: &[Vec<u8>], accepts: Accepts) -> Answer {
    if responses.is_empty() {
        return *plain(StatusCode::ACCEPTED, "");
    }
    let list = [b"[", responses.join(&b","[..]).as_slice(), b"]"].concat();
    match accepts.takes_json() {
        true => *json(StatusCode::OK, list),
        false => {
            let event = [b"event: message\ndata: ", list.as_slice(), b"\n\n"].concat();
            answer(StatusCode::OK, "text/event-stream", event)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_older_revisions_have_batches() {
        let check = |body: &str, revision: Option<&'static str>, expect: Option<Result<usize, &str>>| {
            let mut headers = HeaderMap::new();
            headers.extend(revision.map(|text| (REVISION, http::HeaderValue::from_static(text))));
            let found = messages(body.as_bytes(), &headers);
            let found = found.map(|batch| batch.map(|messages| messages.len()));
            let result = found.map(|batch| batch.map_err(|refusal| String::from_utf8(refusal).unwrap()));
            match (result, expect) {
                (Some(Err(result)), Some(Err(expect))) => assert!(result.contains(expect), "{result}"),
                (result, expect) => assert_eq!(result.map(Result::ok), expect.map(Result::ok), "{body}"),
            }
        };
        let two = r#" [{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"x"}]"#;
        check(two, None, Some(Ok(2)));
        check(two, Some("2025-03-26"), Some(Ok(2)));
        check(two, Some("2025-06-18"), None);
        check("{}", None, None);
        check("[1", None, None);
        check("[]", None, Some(Err("at least one message")));
        check(r#"[{"method":"initialize"}]"#, None, Some(Err("cannot be part of a batch")));
        check(&format!("[{}1]", "1,".repeat(100)), None, Some(Err("at most 100 messages")));
    }
}
