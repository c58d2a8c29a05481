//! Issues of a tracker, over the adapter that gateway.toml names.

use brigade_core::{Json, Object};

use super::definition;

/// Returns whether a tool is answered by the adapter of the issue tracker.
pub fn is_of_issues(id: &str) -> bool {
    definition(id).is_some_and(|row| row.family() == "issue")
}

/// Returns what the adapter reads on its standard input for a call. `None` for other tools.
pub fn issue_request(id: &str, args: &Json) -> Option<Json> {
    let row = definition(id).filter(|_| is_of_issues(id))?;
    let operation = id.rsplit('.').next()?;
    let members = [
        ("version", Json::from(1_u64)),
        ("operation", Json::from(operation)),
        ("arguments", row.with_defaults(args)),
    ];
    Some(Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Object>()))
}
