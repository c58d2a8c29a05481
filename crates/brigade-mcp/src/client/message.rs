//! Parses a line of a server's standard output: a message, a broken message, or log output.

use brigade_core::{Dialect, Json, Object};

/// The meaning of one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ServerMessage {
    /// A response: to this request, or to one whose id the server could not read.
    Response {
        /// The id of the request.
        id: Option<i64>,
        /// The whole message.
        message: Json,
    },
    /// A request of the server, or a notification.
    Other(Json),
    /// It looks like a message of the protocol but is invalid.
    Broken(BrokenMessage),
    /// Not a message.
    Log,
}

/// How much was lost with a broken message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenMessage {
    /// It looks like a response, so a request may wait for it.
    Response,
    /// Something else.
    Other,
}

/// Parses one line, which may contain several messages (a batch).
pub(super) fn read_line(line: &[u8], mut take: impl FnMut(ServerMessage)) {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    match line.first() {
        Some(b'{' | b'[') => {}
        _ => return take(ServerMessage::Log),
    }
    match Json::parse_bytes(line, Dialect::Lenient) {
        Ok(Json::Array(elements)) if !elements.is_empty() && elements.iter().all(claims) => {
            elements.into_iter().map(judge).for_each(take);
        }
        Ok(json) => take(judge(json)),
        Err(_) => take(broken_text(line)),
    }
}

/// Classifies a line that was too long to be read, by its beginning.
pub(super) fn read_beginning(beginning: &[u8]) -> ServerMessage {
    broken_text(beginning.trim_ascii())
}

fn claims(json: &Json) -> bool {
    json.get("jsonrpc").is_some()
}

/// Classifies a message. Numbers that JSON does not have make it invalid: a careless server writes them for "not a
/// number", and strict readers would refuse the receipt.
fn judge(json: Json) -> ServerMessage {
    let is_strict = is_finite(&json);
    match understand(json) {
        ServerMessage::Response { .. } if !is_strict => ServerMessage::Broken(BrokenMessage::Response),
        ServerMessage::Other(_) if !is_strict => ServerMessage::Broken(BrokenMessage::Other),
        received => received,
    }
}

fn is_finite(json: &Json) -> bool {
    match json {
        Json::Number(number) => number.is_finite(),
        Json::Array(elements) => elements.iter().all(is_finite),
        Json::Object(members) => members.values().all(is_finite),
        Json::Null | Json::Bool(_) | Json::String(_) => true,
    }
}

fn understand(json: Json) -> ServerMessage {
    let Json::Object(mut members) = json else {
        return ServerMessage::Log;
    };
    let answers = members.contains_key("result") || members.contains_key("error");
    match members.get("jsonrpc") {
        Some(version) if version.as_str() == Some("2.0") => {}
        // Servers that omit the version are accepted if the message is unambiguous.
        None if answers && members.contains_key("id") => {
            members.insert("jsonrpc".to_owned(), Json::from("2.0"));
        }
        None => return ServerMessage::Log,
        Some(_) => {
            return ServerMessage::Broken(if answers {
                BrokenMessage::Response
            } else {
                BrokenMessage::Other
            });
        }
    }
    if members.get("method").is_some_and(|method| method.as_str().is_some()) {
        return ServerMessage::Other(Json::Object(members));
    }
    if !answers {
        let broken = if members.contains_key("id") { BrokenMessage::Response } else { BrokenMessage::Other };
        return ServerMessage::Broken(broken);
    }
    match id(&members) {
        Ok(id) => ServerMessage::Response { id, message: Json::Object(members) },
        Err(broken) => ServerMessage::Broken(broken),
    }
}

/// Returns the id that a response names. Our ids are numbers, which some servers return as text.
fn id(members: &Object) -> Result<Option<i64>, BrokenMessage> {
    match members.get("id") {
        None | Some(Json::Null) if members.contains_key("error") => Ok(None),
        Some(Json::String(text)) => text.parse().map(Some).map_err(|_| BrokenMessage::Response),
        Some(number) => number.as_i64().map(Some).ok_or(BrokenMessage::Response),
        None => Err(BrokenMessage::Response),
    }
}

fn broken_text(line: &[u8]) -> ServerMessage {
    let has = |word: &[u8]| line.windows(word.len()).any(|window| window == word);
    let starts = matches!(line.first(), Some(b'{' | b'['));
    if !starts || !has(b"\"jsonrpc\"") {
        return ServerMessage::Log;
    }
    ServerMessage::Broken(if has(b"\"method\"") { BrokenMessage::Other } else { BrokenMessage::Response })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        let mut received = Vec::new();
        read_line(line.as_bytes(), |one| received.push(one));
        let names: Vec<String> = received
            .iter()
            .map(|received| match received {
                ServerMessage::Response { id, .. } => format!("response {id:?}"),
                ServerMessage::Other(_) => "other".to_owned(),
                ServerMessage::Broken(BrokenMessage::Response) => "broken response".to_owned(),
                ServerMessage::Broken(BrokenMessage::Other) => "broken".to_owned(),
                ServerMessage::Log => "log".to_owned(),
            })
            .collect();
        assert_eq!(names.join(" "), expect, "{line}");
    }

    #[test]
    fn messages_are_distinguished_from_logs() {
        check(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, "response Some(3)");
        check("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":null}\r", "response Some(3)");
        check(r#"{"id":3,"error":{"code":1}}"#, "response Some(3)");
        check(r#"{"jsonrpc":"2.0","error":{"code":1},"id":null}"#, "response None");
        check(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#, "other");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "other");
        check(
            r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"x"}]"#,
            "response Some(1) other",
        );
        check("starting on port 80", "log");
        check("", "log");
        check("[info] started", "log");
        check("[1, 2]", "log");
        check(r#"{"level":"info","msg":"started"}"#, "log");
        check("{ not json", "log");
    }

    #[test]
    fn broken_messages_are_known_as_such() {
        check(r#"{"jsonrpc":"2.0","id":3,"result":{"#, "broken response");
        check(r#"{"jsonrpc":"2.0","id":3,"result":{"a":1"#, "broken response");
        check(r#"{"jsonrpc":"2.0","method":"notifications/"#, "broken");
        check(r#"{"jsonrpc":"2.0","id":3}"#, "broken response");
        check(r#"{"jsonrpc":"1.0","id":3,"result":1}"#, "broken response");
        check(r#"{"jsonrpc":"2.0","id":{},"result":1}"#, "broken response");
        check(r#"{"jsonrpc":"2.0","result":1}"#, "broken response");
        check(r#"{"jsonrpc":"2.0"}"#, "broken");
        check(r#"{"jsonrpc":"2.0","id":3,"result":{"a":[NaN]}}"#, "broken response");
        check(r#"{"id":3,"result":{"a":-Infinity}}"#, "broken response");
        check(r#"{"jsonrpc":"2.0","id":3,"result":{"a":1e999}}"#, "response Some(3)");
        check(r#"[{"jsonrpc":"2.0","method":"x","params":[Infinity]}]"#, "broken");
        check(r#"{"level":NaN}"#, "log");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            read_line(&bytes, drop);
            read_beginning(&bytes);
        }
    }
}
