//! Checks the messages of clients before anything else reads them.
//!
//! The SDK reads messages leniently, and ends a connection at an unexpected message. This module answers every mistake
//! of a client, and the connection continues.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use brigade::core::{Dialect, Json, JsonErrorKind};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode as RpcCode, GetExtensions as _, ServerJsonRpcMessage,
};
use serde_json::Value;

use crate::http_batch::LAST_REVISION;
use crate::message_id::id_in;
use crate::numbers::{self, is_held};

/// The message is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// The message is not a request of the protocol.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// The parameters are wrong.
const INVALID_PARAMS: i64 = -32602;

/// The member of `_meta` that names the revision of a request without a handshake.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// Marks ids that the SDK cannot hold: integers of more than 64 bits. A client cannot forge it, because an id of a
/// client that begins with it is marked as well.
const MARK: char = '\u{0}';

/// Unchanged arguments of a request with numbers that the SDK cannot hold. The SDK gets no arguments instead.
#[derive(Clone, Debug)]
pub(crate) struct RawArguments(pub(crate) Arc<Json>);

/// The outcome of checking a message.
pub(crate) enum CheckedMessage {
    /// Handle the message. A request also has the key of its id.
    Message(Box<ClientJsonRpcMessage>, Option<String>),
    /// Answer with these bytes.
    Answer(Vec<u8>),
    /// Ignore the message.
    Nothing,
}

/// The state of a connection: whether it had its handshake, and which request ids are in use.
#[derive(Debug, Default)]
pub(crate) struct Conversation(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether requests are accepted.
    after_handshake: bool,
    /// Whether a request came without a handshake and named its revision.
    late: bool,
    /// The revision that the client asked for in its handshake.
    revision: Option<String>,
    /// Whether this is a single request outside of sessions. It may be the handshake of a new session.
    once: bool,
    open: HashSet<String>,
}

impl Conversation {
    /// Creates the conversation of a session after its handshake.
    pub(crate) fn after_handshake() -> Conversation {
        Conversation(Mutex::new(State { after_handshake: true, ..State::default() }))
    }

    /// Creates the conversation of a single request outside of sessions. `stateless` says whether its headers name a
    /// revision without sessions.
    pub(crate) fn once(stateless: bool) -> Conversation {
        Conversation(Mutex::new(State { after_handshake: stateless, once: true, ..State::default() }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request has no answer yet.
    pub(crate) fn is_open(&self) -> bool {
        !self.state().open.is_empty()
    }

    /// Returns whether the request with this key has no answer yet.
    pub(crate) fn is_waiting(&self, key: &str) -> bool {
        self.state().open.contains(key)
    }

    /// Returns whether the revision of the client has batches.
    pub(crate) fn has_batches(&self) -> bool {
        self.state().revision.as_deref().is_some_and(|revision| revision <= LAST_REVISION)
    }

    /// Releases an id.
    pub(crate) fn answered(&self, key: &str) {
        self.state().open.remove(key);
    }

    /// Checks one message.
    pub(crate) fn check(&self, bytes: &[u8]) -> CheckedMessage {
        let without_null_members = without_null_members(bytes);
        let bytes = without_null_members.as_deref().unwrap_or(bytes);
        let json = match Json::parse_bytes(bytes, Dialect::Strict) {
            Ok(json) => json,
            // The JSON is well-formed but not a valid value. The client waits for an answer to its id.
            Err(fault) if is_grammatical(fault.kind) => {
                let reason = format!("the message is not read: {}", fault.kind);
                return CheckedMessage::Answer(error(id_in(bytes).as_deref(), PARSE_ERROR, &reason));
            }
            Err(_) => return CheckedMessage::Answer(error(None, PARSE_ERROR, "the message is not JSON")),
        };
        let refuse =
            |id: Option<&str>, reason: &str| CheckedMessage::Answer(error(id, INVALID_REQUEST, reason));
        if json.as_array().is_some() {
            return refuse(None, "batches are not supported");
        }
        if json.as_object().is_none() {
            return refuse(None, "a message is an object");
        }
        let id = match json.get("id") {
            None => None,
            Some(id) => match key_of(id) {
                Some(key) => Some(key),
                None => return refuse(None, "an id is a text or an integer"),
            },
        };
        let id_text = id.as_deref();
        if json.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return refuse(id_text, "`jsonrpc` must be \"2.0\"");
        }
        let Some(method) = json.get("method") else {
            let is_answer = json.get("result").is_some() != json.get("error").is_some();
            return match parse_message(bytes, &json) {
                Some(message) if is_answer => CheckedMessage::Message(message, None),
                _ if is_answer => CheckedMessage::Nothing,
                _ => refuse(id_text, "a message has a `method`, a `result` or an `error`"),
            };
        };
        let Some(method) = method.as_str() else {
            return refuse(id_text, "`method` must be a text");
        };
        if json.get("params").is_some_and(|params| params.as_object().is_none()) {
            let answer =
                || CheckedMessage::Answer(error(id_text, INVALID_PARAMS, "`params` must be an object"));
            return if id.is_some() { answer() } else { CheckedMessage::Nothing };
        }
        // The SDK ignores a cursor of another type, and would return the first page again.
        let cursor = json.get("params").and_then(|params| params.get("cursor"));
        if id.is_some() && method.ends_with("/list") && cursor.is_some_and(|cursor| cursor.as_str().is_none())
        {
            return CheckedMessage::Answer(error(id_text, INVALID_PARAMS, "`cursor` must be a text"));
        }
        let Some(key) = id else {
            let mut state = self.state();
            // The SDK ends a connection without a handshake at this notification.
            let is_taken = state.after_handshake || state.late && method != "notifications/initialized";
            if !is_taken {
                return CheckedMessage::Nothing;
            }
            let cancelled = json.get("params").and_then(|params| params.get("requestId"));
            // A request that is cancelled gets no answer.
            if method == "notifications/cancelled"
                && let Some(key) = cancelled.and_then(key_of)
            {
                state.open.remove(&key);
            }
            drop(state);
            return parse_message(bytes, &json)
                .map_or(CheckedMessage::Nothing, |message| CheckedMessage::Message(message, None));
        };
        let mut state = self.state();
        if state.open.contains(&key) {
            return refuse(Some(&key), "the id is in use");
        }
        let revision = json.get("params").and_then(|params| params.get("_meta")?.get(REVISION));
        let needs_none = matches!(method, "initialize" | "ping") || revision.is_some();
        if !state.after_handshake && !needs_none {
            return refuse(Some(&key), "`initialize` comes first");
        }
        if method == "initialize" && state.after_handshake && !state.once {
            return refuse(Some(&key), "the connection is initialized already");
        }
        let Some(message) = parse_message(bytes, &json) else {
            return refuse(Some(&key), "the message is not a request of the protocol");
        };
        if method == "initialize" {
            // The SDK treats a broken `initialize` as an unknown request. That is correct where the request names its
            // revision.
            let is_handshake = is_handshake(&message);
            if !is_handshake && revision.is_none() {
                return CheckedMessage::Answer(error(
                    Some(&key),
                    INVALID_PARAMS,
                    "the parameters of `initialize` are broken",
                ));
            }
            state.after_handshake |= is_handshake;
            let requested = json.get("params").and_then(|params| params.get("protocolVersion")?.as_str());
            state.revision = requested.map(str::to_owned);
        }
        state.late |= revision.is_some();
        state.open.insert(key.clone());
        CheckedMessage::Message(message, Some(key))
    }
}

/// Members of `params` that some clients write as `null` when they have none.
const NULL_FOR_NONE: [&str; 3] = ["_meta", "arguments", "cursor"];

/// Returns a request or notification without the `null` members that mean "none". `None` if it has no such member.
pub(crate) fn without_null_members(bytes: &[u8]) -> Option<Vec<u8>> {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    if !has(b"null") && !has(b"cursor") {
        return None;
    }
    let Json::Object(mut message) = Json::parse_bytes(bytes, Dialect::Strict).ok()? else { return None };
    message.get("method")?;
    let mut is_changed = false;
    if message.get("params").is_some_and(Json::is_null) {
        message.remove("params");
        is_changed = true;
    } else if let Some(Json::Object(params)) = message.get_mut("params") {
        let count = params.len();
        params.retain(|name, value| !(value.is_null() && NULL_FOR_NONE.contains(&name.as_str())));
        params.retain(|name, value| !(name == "cursor" && value.as_str() == Some("")));
        is_changed = params.len() < count;
    }
    is_changed.then(|| Json::Object(message).to_compact().into_bytes())
}

fn is_handshake(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_))
    )
}

/// Returns an id as JSON text, if it is valid.
pub(crate) fn key_of(id: &Json) -> Option<String> {
    let text = id.to_compact();
    let is_integer = || text.strip_prefix('-').unwrap_or(&text).bytes().all(|byte| byte.is_ascii_digit());
    (id.as_str().is_some() || is_integer()).then_some(text)
}

/// Returns the arguments of a message that the SDK does not see.
pub(crate) fn raw_arguments(message: &ClientJsonRpcMessage) -> Option<RawArguments> {
    match message {
        ClientJsonRpcMessage::Request(request) => request.request.extensions().get().cloned(),
        _ => None,
    }
}

/// Parses the message for the SDK. Ids that it cannot hold are marked. Arguments that it cannot hold are attached
/// separately.
fn parse_message(bytes: &[u8], json: &Json) -> Option<Box<ClientJsonRpcMessage>> {
    let large = |id: Option<&Json>| -> Option<String> {
        let text = key_of(id?)?;
        let is_marked = text.starts_with("\"\\u0000");
        (is_marked || !text.starts_with('"') && text.parse::<i64>().is_err()).then_some(text)
    };
    let id = large(json.get("id"));
    let cancelled = large(json.get("params").and_then(|params| params.get("requestId")));
    let is_call = matches!(json.get("method").and_then(Json::as_str), Some("tools/call" | "prompts/get"));
    let arguments = json.get("params").and_then(|params| params.get("arguments"));
    let raw = arguments.filter(|arguments| is_call && arguments.as_object().is_some() && !is_held(arguments));
    if id.is_none() && cancelled.is_none() && raw.is_none() {
        return serde_json::from_slice(bytes).ok();
    }
    let mut value = json.to_serde();
    if raw.is_some() {
        *value.get_mut("params")?.get_mut("arguments")? = Value::Object(serde_json::Map::new());
    }
    let mark = |text: String| Value::String(format!("{MARK}{text}"));
    if let Some(id) = id {
        *value.get_mut("id")? = mark(id);
    }
    if let Some(id) = cancelled {
        *value.get_mut("params")?.get_mut("requestId")? = mark(id);
    }
    let mut message: Box<ClientJsonRpcMessage> = serde_json::from_value(value).ok()?;
    if let (Some(raw), ClientJsonRpcMessage::Request(request)) = (raw, &mut *message) {
        request.request.extensions_mut().insert(RawArguments(Arc::new(raw.clone())));
    }
    Some(message)
}

/// The code of a method that does not exist.
pub(crate) const NO_METHOD: i32 = RpcCode::METHOD_NOT_FOUND.0;

/// The message for a method that does not exist, whether the SDK knows its name or not.
pub(crate) const NO_SUCH_METHOD: &str = "there is no such method";

/// Gives the SDK's refusal of a known method the same message as that of an unknown one.
pub(crate) fn normalize_refusal(mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    if let ServerJsonRpcMessage::Error(refused) = &mut message
        && refused.error.code.0 == NO_METHOD
    {
        refused.error.message = NO_SUCH_METHOD.into();
    }
    message
}

/// Serializes a message of the server, and returns the key of the id that it answers.
pub(crate) fn serialize_message(message: &ServerJsonRpcMessage) -> (Vec<u8>, Option<String>) {
    let id = match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
    };
    let text = serde_json::to_string(message).expect("a message is JSON");
    let text = match numbers::unmark_numbers(&text) {
        Cow::Owned(unmarked) => unmarked,
        Cow::Borrowed(_) => text,
    };
    let key = id.map(|id| serde_json::to_string(id).expect("an id is JSON"));
    match key.as_deref().and_then(unmark_id) {
        Some(unmarked) => (restore_id(&text, &unmarked).into_bytes(), Some(unmarked)),
        None => (text.into_bytes(), key),
    }
}

/// Returns the original of a marked id.
fn unmark_id(key: &str) -> Option<String> {
    let text: String = serde_json::from_str(key).ok()?;
    Some(text.strip_prefix(MARK)?.to_owned())
}

/// Replaces the marked id with the id of the client.
pub(crate) fn restore_id(text: &str, id: &str) -> String {
    let marked = serde_json::to_string(&format!("{MARK}{id}")).expect("a text is JSON");
    text.replacen(&format!("\"id\":{marked}"), &format!("\"id\":{id}"), 1)
}

/// Returns whether the id with this key is marked for the SDK.
pub(crate) fn is_marked(key: &str) -> bool {
    key.starts_with("\"\\u0000") || !key.starts_with('"') && key.parse::<i64>().is_err()
}

/// Returns whether a text with this error is well-formed JSON.
fn is_grammatical(kind: JsonErrorKind) -> bool {
    matches!(
        kind,
        JsonErrorKind::LoneSurrogate
            | JsonErrorKind::DuplicateKey
            | JsonErrorKind::NumberTooLarge
            | JsonErrorKind::TooDeep
    )
}

/// Serializes an error. `id` is JSON.
pub(crate) fn error(id: Option<&str>, code: i64, message: &str) -> Vec<u8> {
    let message = serde_json::to_string(message).expect("a text is JSON");
    let id = id.unwrap_or("null");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(conversation: &Conversation, text: &str) -> String {
        match conversation.check(text.as_bytes()) {
            CheckedMessage::Message(_, key) => format!("message {}", key.unwrap_or_default()),
            CheckedMessage::Answer(bytes) => {
                let json = Json::parse_bytes(&bytes, Dialect::Strict).unwrap();
                let code = json.get("error").unwrap().get("code").unwrap().to_compact();
                format!("{code} {}", json.get("id").unwrap().to_compact())
            }
            CheckedMessage::Nothing => "nothing".to_owned(),
        }
    }

    const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;

    #[test]
    fn every_mistake_has_its_answer() {
        let cases = [
            ("nothing of JSON", "-32700 null"),
            ("", "-32700 null"),
            ("[]", "-32600 null"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "-32600 null"),
            ("7", "-32600 null"),
            ("{}", "-32600 null"),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, r#"-32600 "a""#),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "-32600 null"),
            (r#"{"jsonrpc":"2.0","id":4,"method":4}"#, "-32600 4"),
            (r#"{"jsonrpc":"2.0","id":4}"#, "-32600 4"),
            (r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}"#, "-32602 4"),
            (r#"{"jsonrpc":"2.0","method":"ping","params":[]}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","id":5,"method":"unheard/of"}"#, "message 5"),
        ];
        for (text, expected) in cases {
            assert_eq!(answer(&Conversation::after_handshake(), text), expected, "{text}");
        }
    }

    #[test]
    fn what_clients_write_for_none_is_none() {
        let check = |params: &str, expect: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list"{params}}}"#);
            let expect = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list"{expect}}}"#);
            let without_null_members =
                without_null_members(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
            let parsed = |text: &str| Json::parse(text).unwrap();
            assert_eq!(parsed(without_null_members.as_deref().unwrap_or(&text)), parsed(&expect));
            assert_eq!(answer(&Conversation::after_handshake(), &text), "message 1", "{text}");
        };
        check(r#","params":null"#, "");
        check(r#","params":{"cursor":null}"#, r#","params":{}"#);
        check(r#","params":{"cursor":""}"#, r#","params":{}"#);
        check(r#","params":{"_meta":null,"arguments":null}"#, r#","params":{}"#);
        check(r#","params":{"cursor":"a","x":null}"#, r#","params":{"cursor":"a","x":null}"#);
        check(
            r#","params":{"arguments":{"a":null,"n":1.00}}"#,
            r#","params":{"arguments":{"a":null,"n":1.00}}"#,
        );
        let wrong = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}"#;
        assert_eq!(answer(&Conversation::after_handshake(), wrong), "-32602 1");
        assert_eq!(without_null_members(br#"{"jsonrpc":"2.0","id":1,"result":{"cursor":null}}"#), None);
    }

    #[test]
    fn nothing_but_a_ping_comes_before_the_handshake() {
        let conversation = Conversation::default();
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(answer(&conversation, list), "-32600 1");
        let early = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(answer(&conversation, early), "nothing");
        assert_eq!(answer(&conversation, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#), "message \"p\"");
        for broken in
            ["{}", r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#]
        {
            let hello = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"initialize","params":{broken}}}"#);
            assert_eq!(answer(&conversation, &hello), "-32602 7");
        }
        // A revision without a handshake has no such method.
        let late = r#"{"jsonrpc":"2.0","id":8,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(answer(&Conversation::default(), late), "message 8");
        assert_eq!(answer(&conversation, HELLO), "message 0");
        assert_eq!(answer(&conversation, list), "message 1");
        assert_eq!(answer(&conversation, &HELLO.replace("\"id\":0", "\"id\":9")), "-32600 9");
    }

    #[test]
    fn an_id_is_in_use_until_it_is_answered() {
        let conversation = Conversation::after_handshake();
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(answer(&conversation, list), "message 1");
        assert_eq!(answer(&conversation, list), "-32600 1");
        conversation.answered("1");
        assert_eq!(answer(&conversation, list), "message 1");
    }

    #[test]
    fn arguments_keep_digits_that_the_sdk_loses() {
        let check = |method: &str, arguments: &str| {
            let params = format!(r#"{{"name":"a","arguments":{arguments}}}"#);
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            let CheckedMessage::Message(message, _) = Conversation::after_handshake().check(text.as_bytes())
            else {
                panic!("{text}");
            };
            raw_arguments(&message).map(|raw| raw.0.to_compact())
        };
        assert_eq!(check("tools/call", r#"{"n":7,"t":"12345678901234567890123"}"#), None);
        for arguments in
            [r#"{"n":12345678901234567890123}"#, r#"{"a":[{"b":1.00000000000000000001}]}"#, r#"{"c":0.10}"#]
        {
            assert_eq!(check("tools/call", arguments).as_deref(), Some(arguments));
            assert_eq!(check("prompts/get", arguments).as_deref(), Some(arguments));
        }
        assert_eq!(check("tools/list", r#"{"n":12345678901234567890123}"#), None);
    }

    #[test]
    fn ids_come_back_as_they_came() {
        for id in ["1", "-7", "9007199254740993", "12345678901234567890123", r#""a""#, r#""\u0000""#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let CheckedMessage::Message(message, key) =
                Conversation::after_handshake().check(text.as_bytes())
            else {
                panic!("{id}");
            };
            let ClientJsonRpcMessage::Request(request) = *message else { panic!("{id}") };
            let answer =
                ServerJsonRpcMessage::error(rmcp::ErrorData::internal_error("x", None), Some(request.id));
            let (bytes, answered) = serialize_message(&answer);
            assert_eq!(answered, key, "{id}");
            let json = Json::parse_bytes(&bytes, Dialect::Strict).unwrap();
            assert_eq!(json.get("id").unwrap().to_compact(), id);
        }
    }
}
