//! Files with lists of disabled servers, separate from the files that define the servers.

use std::collections::HashSet;

use brigade_core::json::PlacedValue;
use brigade_core::yaml::Position;
use brigade_core::{Dialect, IssueType, Json};
use serde::Deserialize;

use crate::client::Files;
use crate::edit::{decode, is_blank};
use crate::found::DiscoveryIssue;
use crate::read::{MAX_ENTRIES, Reading, Source};

/// A file with the names of disabled servers, wherever they are defined.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchFile {
    /// Where it is: JSON with comments and trailing commas.
    pub files: Files,
    /// The key of the list.
    pub(crate) key: &'static str,
}

impl SwitchFile {
    /// The maximum number of bytes to read.
    pub const LIMIT: u64 = 1 << 20;
}

/// The contents of such a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisabledServers {
    /// The position of a syntax error; `None` if the file could be read.
    pub broken: Option<Position>,
    /// The names of the servers.
    pub names: HashSet<String>,
    /// Problems of the file.
    pub issues: Vec<DiscoveryIssue>,
}

/// Reads the names of disabled servers from a file. Nothing else is kept.
pub fn read_switches(source: &Source<'_>, file: &SwitchFile, bytes: &[u8]) -> DisabledServers {
    let broken = |at: Position, message: String| {
        let Reading { broken, issues, .. } = source.broken(at, &message);
        DisabledServers { broken, issues, ..DisabledServers::default() }
    };
    let text = match decode(bytes) {
        Ok(text) => text.trim_start_matches('\u{feff}'),
        Err(refused) => {
            return broken(refused.at().unwrap_or(Position { line: 1, column: 1 }), refused.to_string());
        }
    };
    if is_blank(text) {
        return DisabledServers::default();
    }
    let root = match PlacedValue::parse_object(text.as_bytes(), Dialect::WithComments) {
        Ok(root) => root,
        Err(error) => {
            return broken(Position { line: error.line, column: error.column }, error.kind.to_string());
        }
    };
    let Some(list) = root.all(file.key).last() else { return DisabledServers::default() };
    let value = Json::parse_bytes(&text.as_bytes()[list.value.at.clone()], Dialect::WithComments);
    let listed = value.ok().and_then(|value| names(&value));
    let Some(names) = listed else {
        let message = format!("`{}` is not a list of names", file.key);
        let at = crate::edit::at(text, list.value.at.start);
        let issues = vec![source.issue(IssueType::FieldInvalid, message, Some(at))];
        return DisabledServers { issues, ..DisabledServers::default() };
    };
    DisabledServers { names, ..DisabledServers::default() }
}

fn names(value: &Json) -> Option<HashSet<String>> {
    let listed = value.as_array()?.iter().take(MAX_ENTRIES);
    listed.map(|name| name.as_str().map(str::to_owned)).collect()
}

impl Reading {
    /// Marks these servers as disabled, whatever their entries say.
    pub fn switch_off(&mut self, names: &HashSet<String>) {
        for entry in self.entries.iter_mut().filter(|entry| names.contains(&entry.name)) {
            entry.enabled = false;
            entry.origins.iter_mut().for_each(|origin| origin.enabled = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Extent;
    use crate::{harness, read_config};

    fn copilot() -> Source<'static> {
        let harness = harness("copilot").unwrap();
        Source { harness, extent: Extent::User, path: "/h/.copilot/settings.json", workspace: "/w" }
    }

    #[track_caller]
    fn check(text: &str, names: &[&str], issues: &[&str]) {
        let source = copilot();
        let read = read_switches(&source, &source.harness.switches[0], text.as_bytes());
        let names: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(read.names, names, "{text}");
        let said: Vec<&str> = read.issues.iter().map(|issue| issue.message.as_str()).collect();
        assert_eq!(said, issues, "{text}");
    }

    #[test]
    fn only_a_list_of_names_switches_off() {
        check("", &[], &[]);
        check("{}", &[], &[]);
        check(
            "\u{feff}{\n  // mine\n  \"disabledMcpServers\": [\"a\", \"b\",],\n  \"model\": \"x\",\n}",
            &["a", "b"],
            &[],
        );
        check(r#"{"disabledMcpServers": ["a"], "disabledMcpServers": []}"#, &[], &[]);
        let no_list = "`disabledMcpServers` is not a list of names";
        check(r#"{"disabledMcpServers": "a"}"#, &[], &[no_list]);
        check(r#"{"disabledMcpServers": ["a", 1]}"#, &[], &[no_list]);
        let source = copilot();
        let broken = read_switches(&source, &source.harness.switches[0], b"{\"disabledMcpServers\": [");
        assert!(broken.broken.is_some() && broken.names.is_empty() && broken.issues.len() == 1, "{broken:?}");
    }

    #[test]
    fn a_switch_disables_the_server_and_its_origin() {
        let source = copilot();
        let text = br#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}"#;
        let mut reading = read_config(&source, &source.harness.configs()[0], text);
        reading.switch_off(&HashSet::from(["b".to_owned(), "c".to_owned()]));
        let enabled: Vec<(bool, bool)> =
            reading.entries.iter().map(|entry| (entry.enabled, entry.origins[0].enabled)).collect();
        assert_eq!(enabled, [(true, true), (false, false)]);
    }
}
