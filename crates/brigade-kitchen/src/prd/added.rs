//! Appends tasks that a review of the PRD proposed. Like any change of a PRD, they need approval before they run.

use brigade_core::Json;
use brigade_core::json::{Dialect, PlacedData, PlacedValue};

use super::{Fault, Lints, read};
use crate::names::TaskId;

/// Why tasks were not added to a PRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddTasksError {
    /// The file has no list of tasks.
    NoTasks,
    /// The PRD would have these errors.
    Faults(Vec<Fault>),
}

/// Appends unfinished tasks to a PRD, and returns the new text and their ids. Every other byte stays the same.
///
/// # Errors
/// Fails if the file has no list of tasks, or the result would have errors.
pub fn add_tasks(file: &str, bytes: &[u8], tasks: &[Json]) -> Result<(Vec<u8>, Vec<TaskId>), AddTasksError> {
    let document = PlacedValue::parse(bytes, Dialect::Strict).map_err(|_| AddTasksError::NoTasks)?;
    let list =
        document.members().iter().find(|member| member.key == "tasks").ok_or(AddTasksError::NoTasks)?;
    let PlacedData::Array(entries) = &list.value.data else { return Err(AddTasksError::NoTasks) };
    let before = |at: usize| bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    // New tasks are indented like the last one.
    let (at, space) = match entries.last() {
        Some(last) => (last.at.end, &bytes[last.at.start - before(last.at.start)..last.at.start]),
        None => (list.value.at.start + 1, &b"\n"[..]),
    };
    let mut text = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let mut task = task.clone();
        if let Json::Object(members) = &mut task {
            members.insert("passes".to_owned(), Json::Bool(false));
        }
        if 0 < index || !entries.is_empty() {
            text.push(b',');
        }
        text.extend_from_slice(space);
        text.extend_from_slice(task.to_compact().as_bytes());
    }
    let known = entries.len();
    let added = [&bytes[..at], &text, &bytes[at..]].concat();
    let prd = read(file, &added, Lints::ALL).valid().map_err(AddTasksError::Faults)?;
    let ids = prd.tasks[known..].iter().map(|task| task.id.clone()).collect();
    Ok((added, ids))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn added(text: &str, task: &str) -> Result<(String, Vec<String>), AddTasksError> {
        let tasks = [Json::parse(task).unwrap()];
        let (bytes, ids) = add_tasks("prd-a.json", text.as_bytes(), &tasks)?;
        Ok((String::from_utf8(bytes).unwrap(), ids.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn tasks_are_appended_in_the_format_of_the_last_one() {
        let prd = "{\"featureName\": \"F\", \"tasks\": [\n  {\"id\": \"a\", \"title\": \"A\"}\n ], \"x-y\": 1.50}\n";
        let (text, ids) =
            added(prd, r#"{"id": "b", "title": "B", "dependsOn": ["a"], "passes": true}"#).unwrap();
        assert_eq!(ids, ["b"]);
        let (start, end) = prd.split_once("\n ]").unwrap();
        let new = text.strip_prefix(start).unwrap().strip_suffix(&format!("\n ]{end}")).unwrap();
        assert!(new.starts_with(",\n  {") && new.contains("\"passes\":false"), "{new}");
    }

    #[test]
    fn a_prd_that_would_have_errors_is_not_changed() {
        let prd = r#"{"featureName": "F", "tasks": [{"id": "a", "title": "A"}]}"#;
        for task in [
            r#"{"id": "a", "title": "again"}"#,
            r#"{"title": "no id"}"#,
            r#"{"id": "b", "title": "B", "dependsOn": ["c"]}"#,
            r#"{"id": "b", "title": "B", "verification": ["rm -rf /"]}"#,
            "[]",
        ] {
            assert!(matches!(added(prd, task), Err(AddTasksError::Faults(_))), "{task}");
        }
        assert_eq!(added(r#"{"featureName": "F"}"#, "{}"), Err(AddTasksError::NoTasks));
    }
}
