//! Marks a task as done in its PRD, the only value that Brigade changes there.

use brigade_core::json::{Dialect, PlacedData, PlacedValue};
use thiserror::Error;

use crate::names::TaskId;

/// Why a task was not marked as done in its PRD.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MarkDoneError {
    /// The file is no longer JSON.
    #[error("the PRD is not JSON: {0}")]
    Syntax(brigade_core::JsonError),
    /// Not exactly one task has the id, or the task has `passes` twice.
    #[error("the PRD does not have exactly one task `{0}` with one `passes`")]
    Ambiguous(TaskId),
}

/// Sets `passes` of a task to `true`, and returns the new text. Every other byte stays the same.
///
/// A task without `passes` gets it as its last member. The rest of the PRD may be invalid.
///
/// ```
/// use brigade_kitchen::prd::set_passes;
///
/// let text = b"{\"tasks\": [{\"id\": \"a\", \"passes\" : false }]}";
/// let set = set_passes(text, &"a".parse()?)?;
/// assert_eq!(set, b"{\"tasks\": [{\"id\": \"a\", \"passes\" : true }]}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails if the bytes are not JSON, or not exactly one task has the id.
pub fn set_passes(bytes: &[u8], task: &TaskId) -> Result<Vec<u8>, MarkDoneError> {
    let document = PlacedValue::parse(bytes, Dialect::Strict).map_err(MarkDoneError::Syntax)?;
    let ambiguous = || MarkDoneError::Ambiguous(task.clone());
    let tasks = exactly_one(document.members().iter().filter(|member| member.key == "tasks"))
        .ok_or_else(ambiguous)?;
    let PlacedData::Array(tasks) = &tasks.value.data else { return Err(ambiguous()) };
    let has_id = |entry: &&PlacedValue<'_>| {
        let id = exactly_one(entry.members().iter().filter(|member| member.key == "id"));
        id.and_then(|id| id.value.as_str()) == Some(task.as_str())
    };
    let entry = exactly_one(tasks.iter().filter(has_id)).ok_or_else(ambiguous)?;
    let mut passes = entry.members().iter().filter(|member| member.key == "passes");
    let (range, text) = match (passes.next(), passes.next()) {
        (Some(passes), None) => (passes.value.at.clone(), "true".to_owned()),
        (None, _) => {
            // The task has at least the member `id`.
            let last = entry.members().last().ok_or_else(ambiguous)?;
            let space = last.key_at.start - space_before(bytes, last.key_at.start)..last.key_at.start;
            let space = String::from_utf8_lossy(&bytes[space]);
            (last.value.at.end..last.value.at.end, format!(",{space}\"passes\": true"))
        }
        (Some(_), Some(_)) => return Err(ambiguous()),
    };
    Ok([&bytes[..range.start], text.as_bytes(), &bytes[range.end..]].concat())
}

/// Counts the bytes of white space before a place.
fn space_before(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn exactly_one<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next();
    if found.next().is_some() { None } else { first }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, id: &str, expect: Option<&str>) {
        let set = set_passes(text.as_bytes(), &id.parse().unwrap()).ok();
        assert_eq!(set.map(|bytes| String::from_utf8(bytes).unwrap()).as_deref(), expect);
    }

    #[test]
    fn only_the_value_changes() {
        check(
            "\u{feff}{\r\n \"x\": 1.50,\"tasks\":[{\"passes\":false,\"id\":\"a\"},{\"id\":\"\\u0062\",\"passes\":null}]}\r\n",
            "b",
            Some(
                "\u{feff}{\r\n \"x\": 1.50,\"tasks\":[{\"passes\":false,\"id\":\"a\"},{\"id\":\"\\u0062\",\"passes\":true}]}\r\n",
            ),
        );
    }

    #[test]
    fn a_missing_member_is_formatted_like_the_last_one() {
        check(
            "{\"tasks\": [\n    {\n      \"id\": \"a\",\n      \"title\": \"x\"\n    }\n]}",
            "a",
            Some(
                "{\"tasks\": [\n    {\n      \"id\": \"a\",\n      \"title\": \"x\",\n      \"passes\": true\n    }\n]}",
            ),
        );
        check("{\"tasks\":[{\"id\":\"a\"}]}", "a", Some("{\"tasks\":[{\"id\":\"a\",\"passes\": true}]}"));
    }

    #[test]
    fn a_task_that_is_not_there_once_is_refused() {
        check("{\"tasks\":[{\"id\":\"a\"}]}", "b", None);
        check("{\"tasks\":[{\"id\":\"a\"},{\"id\":\"a\"}]}", "a", None);
        check("{\"tasks\":[{\"id\":\"a\",\"id\":\"a\"}]}", "a", None);
        check("{\"tasks\":[{\"id\":\"a\",\"passes\":false,\"passes\":false}]}", "a", None);
        check("{\"tasks\":{\"id\":\"a\"}}", "a", None);
        check("{\"tasks\":[],\"tasks\":[{\"id\":\"a\"}]}", "a", None);
        check("{\"tasks\":[{\"id\":\"a\"}]", "a", None);
    }

    proptest! {
        #[test]
        fn every_other_byte_is_as_it_was(
            before in "[ \n\t]{0,4}", after in "[ \n\t]{0,4}", title in "[^\"\\\\\u{0}-\u{1f}]{0,12}",
            value in "false|true|null|0|\"x\"|\\[1, \\{\"passes\": 2\\}\\]",
        ) {
            let head = format!("{{\"tasks\":[{{\"title\":\"{title}\",\"passes\"{before}:{after}");
            let tail = format!("{after},{before}\"id\":\"a\"}}{before}]{after}}}");
            let set = set_passes(format!("{head}{value}{tail}").as_bytes(), &"a".parse().unwrap()).unwrap();
            prop_assert_eq!(String::from_utf8(set).unwrap(), format!("{head}true{tail}"));
        }
    }
}
