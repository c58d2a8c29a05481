//! Shrinks results: keeps all members and cuts the longest ones.

use brigade_core::Json;

use crate::result::ToolResult;

/// The size of a result without its text and its data, in bytes.
const RESULT_OVERHEAD: usize = 256;

/// The minimum length of a cut text.
const MIN_TEXT_BYTES: usize = 16;

/// Texts up to this length are never cut, in bytes. They are words, ids or hashes, whose parts mean nothing.
const WORD: usize = 64;

/// Which members a result may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// The members in its schema.
    Promised,
    /// Any: the result is a complete document, and a part of it would be a different document.
    Any,
}

impl Members {
    /// Returns the members of a tool's results; `gives_any_document` means that they are complete documents.
    pub fn new(gives_any_document: bool) -> Members {
        if gives_any_document { Members::Any } else { Members::Promised }
    }
}

/// Repeatedly cuts the longest text or list of a result, until the result has at most `limit` bytes or nothing is left
/// to cut.
///
/// Keeps all members, and adds a member `truncated`. Of a complete document only this member remains.
pub fn shrink(result: &mut Json, limit: usize, members: Members) {
    let mut left = size(result);
    if left <= limit {
        return;
    }
    if members == Members::Any {
        *result = Json::object([("truncated", Json::from(true))]);
        return;
    }
    if let Json::Object(members) = result
        && let Some(truncated) = members.get_mut("truncated")
    {
        *truncated = Json::from(true);
    }
    while let Some(over) = left.checked_sub(limit).filter(|over| 0 < *over) {
        cut_longest(result, over);
        let now = size(result);
        if left <= now {
            return;
        }
        left = now;
    }
}

fn size(value: &Json) -> usize {
    value.to_compact().len()
}

/// Returns the length of the longest text or list in a value that can be cut. Words stay whole.
fn longest(value: &Json) -> usize {
    match value {
        Json::String(text) if WORD < text.len() => text.len(),
        Json::Array(items) if !items.is_empty() => size(value),
        Json::Object(members) => members.values().map(longest).max().unwrap_or_default(),
        Json::String(_) | Json::Array(_) | Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// Removes about this many bytes from the longest text or list in a value, or from the longest one in its longest
/// element.
fn cut_longest(value: &mut Json, over: usize) {
    match value {
        Json::String(text) if text.len() <= WORD => {}
        Json::String(text) => {
            let end = text.floor_char_boundary(text.len().saturating_sub(over));
            text.truncate(end);
        }
        Json::Array(items) => {
            let sizes: Vec<usize> = items.iter().map(size).collect();
            let largest = items.iter_mut().zip(&sizes).max_by_key(|(_, size)| **size);
            match largest {
                // One element has most of the bytes, so cut it instead of the elements after it.
                Some((item, size)) if sizes.iter().sum::<usize>() < 2 * size && 0 < longest(item) => {
                    cut_longest(item, over);
                }
                _ => {
                    let mut saved = 0;
                    while let Some(size) = sizes.get(items.len().wrapping_sub(1)).filter(|_| saved < over) {
                        saved += size + 1;
                        items.pop();
                    }
                }
            }
        }
        Json::Object(members) => {
            if let Some(member) = members.values_mut().max_by_key(|member| longest(member)) {
                cut_longest(member, over);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl ToolResult {
    /// Shrinks a result of Brigade's tools to a document of at most `limit` bytes, or to the minimum with all its
    /// members. The limit includes text and data. `note` is appended to a text that is cut. For a failure, only the
    /// code remains if the rest does not fit.
    #[must_use]
    pub fn within(&self, limit: usize, members: Members, note: &str) -> ToolResult {
        let mut most = limit.saturating_sub(RESULT_OVERHEAD) / 2;
        let mut least = self.clone();
        while limit < size(&least.to_json()) && MIN_TEXT_BYTES <= most {
            least = self.cut_to(most, members, note);
            // Texts are written with escapes, which need more space.
            most = most / 4 * 3;
        }
        least
    }

    /// Cuts the text and the data to this many bytes each.
    fn cut_to(&self, most: usize, members: Members, note: &str) -> ToolResult {
        let text = self.text();
        let mut structured = self.structured_content.clone();
        structured.iter_mut().for_each(|value| shrink(value, most, members));
        let end = text.floor_char_boundary(most.min(text.len()));
        let text = if end < text.len() { format!("{}\n{note}", &text[..end]) } else { text };
        let cut = ToolResult::of_text(&text, structured);
        let meta = match self.error().filter(|error| most < size(&error.data)) {
            Some(error) => ToolResult::failed("", &error.code, None).meta,
            None => self.meta.clone(),
        };
        ToolResult { is_error: self.is_error, meta, ..cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_fits_as_a_document_with_all_its_members() {
        let code = "\"y\"\n".repeat(5_000);
        let data =
            Json::object([("id", Json::from("s")), ("code", Json::from(code)), ("versions", Json::from(1))]);
        let whole = ToolResult::of_text(&data.to_compact(), Some(data.clone()));
        assert_eq!(whole.within(1 << 20, Members::Promised, "[cut]"), whole);
        for limit in [400, 1_000, 6 << 10] {
            let cut = whole.within(limit, Members::Promised, "[cut]");
            let length = cut.to_json().to_compact().len();
            assert!(length <= limit && limit / 4 < length, "{limit}: {length}");
            let members = cut.structured_content.clone().unwrap();
            assert!(members.get("id") == data.get("id") && members.get("versions") == data.get("versions"));
            assert!(cut.text().ends_with("\n[cut]"), "{}", cut.text());
        }
        // Numbers cannot be cut.
        let numbers = Json::object((0..99).map(|number| (format!("n{number}"), Json::from(1_000_000))));
        let whole = ToolResult::of_text("1", Some(numbers.clone()));
        assert_eq!(whole.within(100, Members::Promised, "[cut]").structured_content, Some(numbers));
    }

    /// Issue 17: words of schemas were cut, so results no longer matched them.
    #[test]
    fn words_stay_whole_and_rows_go() {
        let hash = "a".repeat(64);
        let rows = r#"[{"kind": "directory", "name": "abc"}]"#;
        let mut value =
            Json::parse(&format!(r#"{{"status": "success", "sha256": "{hash}", "rows": {rows}}}"#)).unwrap();
        let expect = Json::parse(&format!(r#"{{"status": "success", "sha256": "{hash}", "rows": []}}"#));
        shrink(&mut value, 130, Members::Promised);
        assert_eq!(Ok(value), expect);
    }

    #[test]
    fn documents_are_not_cut_and_failures_keep_their_code() {
        let names = (0..99).map(|number| (format!("name{number}"), Json::from(true)));
        let schema = Json::object([("properties", Json::object(names))]);
        let whole = ToolResult::of_text(&schema.to_compact(), Some(schema.clone()));
        let cut = whole.within(400, Members::Any, "[cut]");
        assert_eq!(cut.structured_content.unwrap().to_compact(), r#"{"truncated":true}"#);
        let faults = Json::Array(vec![Json::from("a fault"); 50]);
        let failed = ToolResult::failed(&"fault ".repeat(50), "invalid_manifest", Some(faults));
        let cut = failed.within(400, Members::Promised, "[cut]");
        assert!(cut.to_json().to_compact().len() <= 400 && cut.is_error == Some(true), "{cut:?}");
        assert_eq!(cut.error().map(|error| error.code), Some("invalid_manifest".to_owned()));
    }
}
