//! Reads a tools registry in place, as a level of the catalog.

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::yaml::{self, Node, Value};
use brigade_core::{ConfigIssue, ErrorCode, Json, Place, Severity};

use crate::model::{Catalog, Level, Origin, Settings};
use crate::register::{Registration, Registrations};

/// The largest registry that is read in place.
pub const MAX_REGISTRY_BYTES: u64 = 1 << 20;

/// The maximum number of entries of a registry that is read in place.
const MAX_REGISTRY_TOOLS: usize = 1_000;

/// The places of the entries in a registry.
#[derive(Default)]
struct EntryPlaces {
    by_position: Vec<(usize, usize)>,
    by_id: BTreeMap<String, (usize, usize)>,
}

impl EntryPlaces {
    fn new(text: &str) -> EntryPlaces {
        let mut places = EntryPlaces::default();
        let Ok(Some(root)) = yaml::parse(text) else { return places };
        let tools = root.get("tools").unwrap_or(&root);
        let items = match &tools.value {
            Value::List(items) => items.as_slice(),
            Value::Scalar(_) | Value::Map(_) => std::slice::from_ref(tools),
        };
        for item in items {
            let at = (item.at.line, item.at.column);
            places.by_position.push(at);
            if let Some(Value::Scalar(Json::String(id))) = item.get("id").map(|id: &Node| &id.value) {
                places.by_id.entry(id.trim().to_owned()).or_insert(at);
            }
        }
        places
    }

    /// Splits the field of an error into the entry that it begins with and the rest, and finds the place.
    fn split<'f>(&self, field: &'f str) -> (Option<&'f str>, &'f str, Option<(usize, usize)>) {
        let of_id = |(id, _): &(&String, _)| {
            field.strip_prefix(id.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        // The longest id counts, because an id may contain a dot.
        if let Some((id, at)) = self.by_id.iter().filter(of_id).max_by_key(|(id, _)| id.len()) {
            let rest = field[id.len()..].trim_start_matches('.');
            return (Some(&field[..id.len()]), rest, Some(*at));
        }
        let number = field.strip_prefix("tools[").and_then(|rest| rest.split_once(']'));
        let position = number.and_then(|(number, _)| number.parse::<usize>().ok()?.checked_sub(1));
        (None, field, position.and_then(|position| self.by_position.get(position)).copied())
    }
}

impl Catalog {
    /// Reads a tools registry in YAML or JSON as a level of the catalog. Never fails.
    ///
    /// Entries that can run or install something always ask a person, whatever the file says: it may be part of a
    /// clone.
    pub fn parse_registry(file: &str, level: Level, bytes: &[u8]) -> Catalog {
        let issue = |severity, place, field: Option<&str>, message: String| ConfigIssue {
            severity,
            place,
            entry: None,
            field: field.filter(|field| !field.is_empty()).map(str::to_owned),
            message,
            hint: None,
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            let message = "not UTF-8 text".to_owned();
            return Catalog::new(Vec::new(), vec![issue(Severity::Error, Place::file(file), None, message)]);
        };
        let places = EntryPlaces::new(text);
        let Registrations { tools, harness_tools, settings, notes, errors } = Registrations::in_place(text);
        let place = |at: Option<(usize, usize)>| {
            at.map_or_else(|| Place::file(file), |(line, column)| Place::at(file, line, column))
        };
        let mut issues = Vec::new();
        let mut broken = BTreeSet::new();
        for error in errors {
            let (entry, field, at) = places.split(error.field.as_deref().unwrap_or_default());
            let at = error.line.zip(error.column).or(at);
            broken.extend(entry.map(str::to_owned));
            let entry = entry.map(str::to_owned);
            let found = issue(Severity::Error, place(at), Some(field), error.message);
            issues.push(ConfigIssue { entry, ..found });
        }
        for note in notes.into_iter().filter(|note| note.code == ErrorCode::UnknownKey) {
            let (entry, field, at) = places.split(&note.field);
            let entry = entry.map(str::to_owned);
            let found = issue(Severity::Warning, place(at), Some(field), note.message);
            issues.push(ConfigIssue { entry, ..found });
        }
        if MAX_REGISTRY_TOOLS < tools.len() {
            let message = format!("only the first {MAX_REGISTRY_TOOLS} tools are read");
            issues.push(issue(Severity::Error, Place::file(file), Some("tools"), message));
        }
        let mut known = BTreeSet::new();
        let mut entries = Vec::new();
        for Registration { mut tool, .. } in tools.into_iter().take(MAX_REGISTRY_TOOLS) {
            let id = tool.id.as_str();
            let at = place(places.by_id.get(id).copied());
            if !known.insert(id.to_owned()) {
                let found = issue(Severity::Error, at, Some("id"), "another entry has this id".to_owned());
                issues.push(ConfigIssue { entry: Some(id.to_owned()), ..found });
                continue;
            }
            tool.is_broken |= broken.contains(id);
            tool.origin = Origin::new(level, at);
            entries.push(tool);
        }
        Catalog::new(entries, issues).with_settings(Settings {
            harness_tools,
            registry: settings,
            ..Settings::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ApprovalMode;

    const REGISTRY: &str = "version: \"1.0\"
settings:
  auto_install: true
  fallback_harness: false
tools:
  - id: jq
    approval_mode: never
    source: {type: cli, command: jq}
  - id: broken
    source: {type: cli}
  - id: jq
    source: {type: cli, command: other}
  - id: github
    source: {type: skill, skill_id: github, entry: gh}
    colour: red
";

    #[test]
    fn a_registry_is_a_level_whose_entries_always_ask() {
        let catalog = Catalog::parse_registry("r.yaml", Level::ProjectRegistry, REGISTRY.as_bytes());
        let told: Vec<String> = catalog.issues().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "r.yaml:9:5: broken: source.command: a program needs a command",
                "r.yaml:13:5: github: colour: unknown key",
                "r.yaml:6:5: jq: id: another entry has this id",
            ]
        );
        assert_eq!(catalog.ids().collect::<Vec<_>>(), ["jq", "broken", "github"]);
        assert!(catalog.tool("broken").is_some_and(|tool| tool.is_broken));
        for id in ["jq", "github"] {
            let tool = catalog.tool(id).unwrap();
            assert!(tool.enabled && tool.takes_words(), "{id}");
            assert_eq!(tool.approval_mode, Some(ApprovalMode::Always), "{id}");
        }
        let settings = catalog.settings();
        assert_eq!((settings.harness_tools, settings.registry.auto_install), (Some(false), Some(true)));
    }

    #[test]
    fn a_registry_that_is_not_read_hides_nothing() {
        for text in ["{", "version: '2.0'\ntools: []", "tools: 3"] {
            let catalog = Catalog::parse_registry("r.yaml", Level::UserRegistry, text.as_bytes());
            assert!(catalog.tools().is_empty() && !catalog.is_valid(), "{text}");
        }
    }
}
