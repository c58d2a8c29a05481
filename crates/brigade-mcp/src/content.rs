//! Converts the answer of a tool for a receipt: shortened, redacted and without binary data.

use brigade_call::{ContentBlock, McpRequestId};
use brigade_core::text::short;
use brigade_core::{Dialect, Json, Object};
use brigade_redact::{MARK, Redactor};

/// The maximum length of a summary, in characters.
const SUMMARY: usize = 500;

/// The maximum length of one text of the answer, in characters.
const TEXT: usize = 200;

/// The maximum number of described blocks of an answer.
const BLOCKS: usize = 50;

/// The maximum size of structured content in a receipt, in bytes.
const STRUCTURED: usize = 16 * 1024;

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct McpAnswer {
    /// Whether the server reports that the tool failed.
    pub is_error: bool,
    /// The answer in one line of at most 500 characters.
    pub summary: String,
    /// Every block of content (the first 50): its kind, its media type and size, and the beginning of a text.
    pub content: Vec<ContentBlock>,
    /// How many blocks there are.
    pub blocks: usize,
    /// The structured content, redacted; only its size if it is large.
    pub structured: Option<Json>,
}

impl McpAnswer {
    /// Describes the result of `tools/call`, `resources/read` or `prompts/get`.
    pub fn from_result(result: &Json, redactor: &Redactor) -> McpAnswer {
        let redactor = &redactor.for_output();
        let list = |name: &str| result.get(name).and_then(Json::as_array).unwrap_or_default();
        let messages = list("messages").iter().filter_map(|message| message.get("content"));
        let blocks: Vec<&Json> = list("content").iter().chain(list("contents")).chain(messages).collect();
        let content = blocks.iter().take(BLOCKS).map(|block| describe(block, redactor)).collect();
        let structured = result.get("structuredContent");
        let is_error = result.get("isError").and_then(Json::as_bool) == Some(true);
        let mut parts: Vec<String> =
            blocks.iter().take(BLOCKS).map(|block| block_text(block, redactor)).collect();
        if let Some(structured) = structured {
            parts.push(format!(
                "[structured] {}",
                short(&redactor.redact_fields(structured).to_compact(), SUMMARY)
            ));
        }
        if parts.is_empty() {
            parts.push("[no content]".to_owned());
        }
        let prefix = if is_error { "error: " } else { "" };
        McpAnswer {
            is_error,
            summary: short(&format!("{prefix}{}", parts.join(" ")), SUMMARY),
            content,
            blocks: blocks.len(),
            structured: structured.map(|structured| bounded(structured, redactor)),
        }
    }
}

/// Finds the result of a request in the log of a server's standard output. Its text is masked; binary data and names
/// stay unchanged. All marks are counted, because bound values are already masked in the log.
pub fn answer_in_log(log: &[u8], request: &McpRequestId, redactor: &Redactor) -> Option<Json> {
    log.split(|byte| *byte == b'\n')
        .find_map(|line| shown_stored(answers(line, request)?.get("result")?, redactor))
}

/// Returns the lines of a message log that answer a request. Only these may be shown to the caller of a tool, because
/// the others list tools in texts that were not reviewed.
pub fn answer_lines(log: &str, request: Option<&McpRequestId>) -> String {
    let Some(request) = request else { return String::new() };
    log.split_inclusive('\n').filter(|line| answers(line.as_bytes(), request).is_some()).collect()
}

/// Parses a line if it answers a request.
fn answers(line: &[u8], request: &McpRequestId) -> Option<Json> {
    // Parsed the same way as when it arrived.
    let message = Json::parse_bytes(line, Dialect::Lenient).ok()?;
    let id = message.get("id").filter(|_| message.get("method").is_none())?;
    let is_asked = match request {
        McpRequestId::Number(number) => id.to_compact() == number.to_string(),
        McpRequestId::Text(text) => id.as_str() == Some(text),
    };
    is_asked.then_some(message)
}

/// Returns the result of a request for the caller, with its text masked. Its `_meta` has the number of masked places.
pub fn shown_result(result: &Json, redactor: &Redactor) -> Option<Json> {
    Some(with_masked(masked_result(result, redactor)?, marks_of(result)))
}

/// Like [`shown_result`], for a result from a log. All marks are counted, because bound values are already masked in
/// the log.
pub fn shown_stored(result: &Json, redactor: &Redactor) -> Option<Json> {
    Some(with_masked(masked_result(result, redactor)?, 0))
}

/// The member of `_meta` with the number of masked places in a result.
pub(crate) const MASKED: &str = "brigade/masked";

/// Adds the number of masked places to a result, without the marks that were there before.
pub(crate) fn with_masked(result: Json, before: usize) -> Json {
    let count = marks_of(&result).saturating_sub(before);
    let Json::Object(mut members) = result else { return result };
    let mut meta = match members.remove("_meta") {
        Some(Json::Object(meta)) => meta,
        Some(other) if count == 0 => {
            members.insert("_meta".to_owned(), other);
            return Json::Object(members);
        }
        Some(_) | None => Object::new(),
    };
    meta.remove(MASKED);
    if count != 0 {
        meta.insert(MASKED.to_owned(), Json::from(count));
    }
    if !meta.is_empty() {
        members.insert("_meta".to_owned(), Json::Object(meta));
    }
    Json::Object(members)
}

/// Counts the marks in a result. A text that is repeated as data counts once.
pub(crate) fn marks_of(result: &Json) -> usize {
    let count_in = |name: &str| result.get(name).map_or(0, marks);
    let shown = count_in("content") + count_in("contents") + count_in("messages");
    shown.max(count_in("structuredContent"))
}

fn marks(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(text) => text.matches(MARK).count(),
        Json::Array(items) => items.iter().map(marks).sum(),
        Json::Object(members) => members.values().map(marks).sum(),
    }
}

fn masked_result(result: &Json, redactor: &Redactor) -> Option<Json> {
    let shown = result.as_object()?.iter().map(|(name, value)| {
        let value = match name.as_str() {
            "content" | "contents" | "messages" => {
                let blocks = value.as_array().unwrap_or_default().iter();
                Json::from(blocks.map(|block| masked(block, redactor)).collect::<Vec<_>>())
            }
            _ => redactor.redact_json(value),
        };
        (name.clone(), value)
    });
    Some(Json::object(shown))
}

/// Masks the texts of a block of content, but not its bytes.
pub(crate) fn masked(block: &Json, redactor: &Redactor) -> Json {
    let Some(members) = block.as_object() else { return redactor.redact_json(block) };
    Json::object(members.iter().map(|(name, value)| {
        let value = match (name.as_str(), value) {
            ("data" | "blob", value) => value.clone(),
            ("resource" | "content", inner) => masked(inner, redactor),
            (_, Json::String(text)) => Json::from(redactor.redact_str(text)),
            (_, value) => redactor.redact_json(value),
        };
        (name.clone(), value)
    }))
}

fn bounded(structured: &Json, redactor: &Redactor) -> Json {
    let size = structured.to_compact().len();
    if size <= STRUCTURED {
        return redactor.redact_fields(structured);
    }
    Json::object([("omitted_bytes", Json::from(size))])
}

/// The properties of a block without its content.
struct Block<'a> {
    kind: &'a str,
    media_type: Option<&'a str>,
    uri: Option<&'a str>,
    text: Option<&'a str>,
    bytes: Option<usize>,
}

fn read(block: &Json) -> Block<'_> {
    let is_contents = block.get("uri").is_some() && block.get("type").is_none();
    let kind = block.get("type").and_then(Json::as_str);
    let kind = kind.unwrap_or(if is_contents { "resource" } else { "unknown" });
    // An embedded resource has its content one level down.
    let inner = if kind == "resource" { block.get("resource").unwrap_or(block) } else { block };
    let field = |key: &str| inner.get(key).and_then(Json::as_str);
    let data = field("data").or_else(|| field("blob"));
    Block {
        kind,
        media_type: field("mimeType"),
        uri: field("uri"),
        text: field("text"),
        bytes: data.map(decoded_length),
    }
}

/// Returns the number of bytes that a base64 text encodes.
fn decoded_length(base64: &str) -> usize {
    let digits = base64.bytes().filter(|byte| !matches!(byte, b'=' | b'\n' | b'\r')).count();
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}

fn describe(block: &Json, redactor: &Redactor) -> ContentBlock {
    let read = read(block);
    let clean = |text: &str, most: usize| short(&redactor.redact_str(text), most);
    ContentBlock {
        kind: clean(read.kind, 40),
        media_type: read.media_type.map(|media_type| clean(media_type, 100)),
        uri: read.uri.map(|uri| clean(uri, TEXT)),
        bytes: read.bytes.map(|bytes| bytes as u64),
        characters: read.text.map(|text| text.chars().count() as u64),
        text: read.text.map(|text| clean(text, TEXT)),
        ..ContentBlock::default()
    }
}

fn block_text(block: &Json, redactor: &Redactor) -> String {
    let read = read(block);
    let text = read.text.map(|text| short(&redactor.redact_str(text), SUMMARY));
    if let ("text", Some(text)) = (read.kind, &text) {
        return text.clone();
    }
    let mut words = vec![short(&redactor.redact_str(read.kind), 40)];
    words.extend(read.uri.map(|uri| short(&redactor.redact_str(uri), TEXT)));
    words.extend(read.media_type.map(|media_type| short(&redactor.redact_str(media_type), 100)));
    words.extend(read.bytes.map(|bytes| format!("{bytes} bytes")));
    let described = format!("[{}]", words.join(" "));
    match text {
        Some(text) => format!("{described} {text}"),
        None => described,
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::json::to_json;
    use brigade_redact::SecretValue;

    use super::*;

    fn answer(result: &str) -> McpAnswer {
        let redactor = Redactor::new(&[SecretValue::new("bound-EXAMPLE-value")]);
        McpAnswer::from_result(&Json::parse(result).unwrap(), &redactor)
    }

    #[test]
    fn only_the_answer_of_a_call_is_for_its_caller() {
        let log = "{\"id\":1,\"result\":{\"tools\":[{\"description\":\"new words\"}]}}\nnew words\n\
                   {\"id\":2,\"method\":\"roots/list\"}\n{\"id\":2,\"result\":{\"content\":[]}}\n";
        let lines = |request| answer_lines(log, request);
        assert_eq!(lines(Some(&McpRequestId::Number(2))), "{\"id\":2,\"result\":{\"content\":[]}}\n");
        assert_eq!((lines(Some(&McpRequestId::Number(7))), lines(None)), (String::new(), String::new()));
    }

    #[test]
    fn every_kind_of_content_is_described_not_printed() {
        let answer = answer(
            r#"{"content": [
                {"type": "text", "text": "hello\nworld"},
                {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
                {"type": "audio", "data": "aGVsbG8h", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGVs"}},
                {"type": "resource_link", "uri": "file:///c", "name": "c"},
                {"type": "hologram", "x": 1}, 7],
              "structuredContent": {"sum": 3}}"#,
        );
        assert_eq!(
            answer.summary,
            "hello world [image image/png 5 bytes] [audio audio/wav 6 bytes] [resource file:///a text/plain] inside \
             [resource file:///b 3 bytes] [resource_link file:///c] [hologram] [unknown] [structured] {\"sum\":3}"
        );
        assert_eq!(answer.blocks, 8);
        assert_eq!(
            to_json(&answer.content[1]).unwrap().to_compact(),
            r#"{"bytes":5,"kind":"image","media_type":"image/png"}"#
        );
        assert!(!answer.is_error);
        assert_eq!(answer.structured, Some(Json::parse(r#"{"sum":3}"#).unwrap()));
    }

    #[test]
    fn no_secret_and_no_flood_is_kept() {
        let long = "x".repeat(5000);
        let result = format!(
            r#"{{"isError": true, "content": [{{"type": "text", "text": "bound-EXAMPLE-value token=EXAMPLE12345 {long}"}}],
                "structuredContent": {{"password": "hunter2-EXAMPLE"}}}}"#
        );
        let answer = answer(&result);
        let kept = format!("{answer:?}");
        assert!(!kept.contains("EXAMPLE") && kept.len() < 3000, "{kept}");
        assert!(answer.is_error && answer.summary.starts_with("error: "));
    }

    #[test]
    fn an_empty_answer_has_a_summary() {
        assert_eq!(answer("{}").summary, "[no content]");
        assert_eq!(answer("null").summary, "[no content]");
        let large = format!(r#"{{"structuredContent": "{}"}}"#, "x".repeat(20_000));
        assert_eq!(answer(&large).structured.unwrap().to_compact(), r#"{"omitted_bytes":20002}"#);
    }
}
