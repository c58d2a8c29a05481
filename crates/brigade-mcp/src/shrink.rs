//! Makes results smaller: all members stay, and the longest of them are cut.

use brigade_core::Json;

use crate::result::ToolResult;

/// What a result has around its text and its data, in bytes.
const AROUND: usize = 256;

/// The least that is left of a text.
const LEAST: usize = 16;

/// Cuts the longest text or list of a result again and again, until the result has at most `limit` bytes or nothing is
/// left to cut. All members stay, and a member `truncated` says so.
pub fn shrink(result: &mut Json, limit: usize) {
    let mut left = size(result);
    if left <= limit {
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

/// Takes about so many bytes off the longest text or list in a value, or off the longest one in its longest element.
fn cut_longest(value: &mut Json, over: usize) {
    match value {
        Json::String(text) => {
            let end = text.floor_char_boundary(text.len().saturating_sub(over));
            text.truncate(end);
        }
        Json::Array(items) => {
            let sizes: Vec<usize> = items.iter().map(size).collect();
            let longest = items.iter_mut().zip(&sizes).max_by_key(|(_, size)| **size);
            match longest {
                // What would be left of it is worth more than what comes behind.
                Some((longest, size)) if sizes.iter().sum::<usize>() < 2 * size => cut_longest(longest, over),
                _ => {
                    let mut taken = 0;
                    while let Some(size) = sizes.get(items.len().wrapping_sub(1)).filter(|_| taken < over) {
                        taken += size + 1;
                        items.pop();
                    }
                }
            }
        }
        Json::Object(members) => {
            if let Some((_, longest)) = members.iter_mut().max_by_key(|(_, member)| size(member)) {
                cut_longest(longest, over);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl ToolResult {
    /// Returns the result of a tool of Brigade with at most so many bytes as a document, text and data alike, or as few
    /// as it can have with all its members. `note` is said at the end of a text that is cut.
    #[must_use]
    pub fn within(&self, limit: usize, note: &str) -> ToolResult {
        let mut most = limit.saturating_sub(AROUND) / 2;
        let mut least = self.clone();
        while limit < size(&least.to_json()) && LEAST <= most {
            least = self.cut_to(most, note);
            // Texts are written with escapes.
            most = most / 4 * 3;
        }
        least
    }

    /// Cuts the text and the data to so many bytes each.
    fn cut_to(&self, most: usize, note: &str) -> ToolResult {
        let text = self.text();
        let mut structured = self.structured_content.clone();
        structured.iter_mut().for_each(|value| shrink(value, most));
        let end = text.floor_char_boundary(most.min(text.len()));
        let text = if end < text.len() { format!("{}\n{note}", &text[..end]) } else { text };
        let cut = ToolResult::of_text(&text, structured);
        ToolResult { is_error: self.is_error, meta: self.meta.clone(), ..cut }
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
        assert_eq!(whole.within(1 << 20, "[cut]"), whole);
        for limit in [400, 1_000, 6 << 10] {
            let cut = whole.within(limit, "[cut]");
            let length = cut.to_json().to_compact().len();
            assert!(length <= limit && limit / 4 < length, "{limit}: {length}");
            let members = cut.structured_content.clone().unwrap();
            assert!(members.get("id") == data.get("id") && members.get("versions") == data.get("versions"));
            assert!(cut.text().ends_with("\n[cut]"), "{}", cut.text());
        }
        // Nothing of it can be cut.
        let numbers = Json::object((0..99).map(|number| (format!("n{number}"), Json::from(1_000_000))));
        let whole = ToolResult::of_text("1", Some(numbers.clone()));
        assert_eq!(whole.within(100, "[cut]").structured_content, Some(numbers));
    }
}
