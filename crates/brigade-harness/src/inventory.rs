//! Merges the contents of many files: entries with several origins, and names with several definitions.

use std::collections::{BTreeMap, HashMap, HashSet};

use brigade_core::{Fingerprint, IssueType, closest};

use crate::entry::NAME;
use crate::found::{
    DiscoveredEntry, DiscoveryIssue, EntryFamily, EntryOrigin, EntrySource, changed_members, plain_id,
};
use crate::harness::{Extent, Harness, harnesses};
use crate::launch::{Launch, Launches};

/// The contents of all files, added one by one until it is [finished](Inventory::finish).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// Definitions in the order in which they were found.
    entries: Vec<DiscoveredEntry>,
    /// The indices of definitions, by the id that they share.
    by_id: HashMap<String, Vec<usize>>,
    references: HashMap<String, usize>,
    launches: Launches,
}

impl Inventory {
    /// Adds the contents of a file. Merges equal definitions into one entry.
    pub fn add_all(&mut self, entries: Vec<DiscoveredEntry>, launches: Vec<Launch>) {
        self.reserve(entries.len());
        let mut launches = launches.into_iter();
        for entry in entries {
            self.add_one(entry, launches.next());
        }
    }

    /// Reserves space for entries, so that adding them does not reallocate.
    pub fn reserve(&mut self, count: usize) {
        self.entries.reserve(count);
        self.by_id.reserve(count);
        self.references.reserve(count);
    }

    fn add_one(&mut self, mut entry: DiscoveredEntry, mut launch: Option<Launch>) {
        let last = entry.origins.len().saturating_sub(1);
        for (index, origin) in entry.origins.iter_mut().enumerate() {
            let count = self.references.entry(origin.reference.clone()).or_insert(0);
            *count += 1;
            if 1 < *count {
                origin.reference = format!("{}#{count}", origin.reference);
            }
            let launch = if index == last { launch.take() } else { launch.clone() };
            if let Some(launch) = launch {
                self.launches.insert(&origin.reference, launch);
            }
        }
        let places = self.by_id.entry(entry.id.clone()).or_default();
        let same = places.iter().find(|place| self.entries[**place].fingerprint == entry.fingerprint);
        match same {
            Some(place) => merge(&mut self.entries[*place], entry),
            None => {
                places.push(self.entries.len());
                self.entries.push(entry);
            }
        }
    }

    /// Takes the launch data of each server found so far.
    pub fn take_launches(&mut self) -> Launches {
        std::mem::take(&mut self.launches)
    }

    /// Returns the entries by source and name, and an issue for each name with different definitions.
    pub fn finish(mut self) -> (Vec<DiscoveredEntry>, Vec<DiscoveryIssue>) {
        let mut issues = Vec::new();
        let mut several: Vec<(String, Vec<usize>)> =
            self.by_id.into_iter().filter(|(_, places)| 1 < places.len()).collect();
        several.sort_unstable();
        for (id, places) in several {
            issues.extend(tell_apart(id, &mut self.entries, &places));
        }
        self.entries.sort_by(|left, right| {
            (&left.source, &left.name, &left.id).cmp(&(&right.source, &right.name, &right.id))
        });
        (self.entries, issues)
    }
}

/// Renames the definitions of an id after their first origins, and reports how they differ. The entries of our own
/// gateway differ in their agents, as they should.
fn tell_apart(id: String, entries: &mut [DiscoveredEntry], places: &[usize]) -> Option<DiscoveryIssue> {
    for place in places {
        if let Some(origin) = entries[*place].origins.first() {
            entries[*place].id = origin.reference.clone();
        }
    }
    let entries = || places.iter().map(|place| &entries[*place]);
    if entries().all(|entry| entry.registered_as.as_deref() == Some(NAME)) {
        return None;
    }
    let refs = entries().flat_map(|entry| &entry.origins).map(|origin| origin.reference.clone()).collect();
    let first = entries().next().and_then(|entry| entry.origins.first());
    let fields = differing(&entries().collect::<Vec<_>>());
    let message = format!("the name has {} definitions, which differ in {fields}", places.len());
    Some(DiscoveryIssue {
        harness: first.map(|origin| origin.harness.clone()),
        path: first.map(|origin| origin.path.clone()),
        line: first.and_then(|origin| origin.line),
        entry_id: Some(id),
        refs,
        ..DiscoveryIssue::new(IssueType::DefinitionsDiffer, message)
    })
}

/// Renames entries after some were added to a finished list, and updates the issues about different definitions.
pub(crate) fn name_again(entries: &mut [DiscoveredEntry], issues: &mut Vec<DiscoveryIssue>) {
    issues.retain(|issue| issue.code != IssueType::DefinitionsDiffer);
    let mut by_id: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, entry) in entries.iter_mut().enumerate() {
        // Tools of different harnesses never share a name.
        if entry.source != EntrySource::Harness {
            entry.id = plain_id(entry.source, &entry.name);
        }
        by_id.entry(entry.id.clone()).or_default().push(at);
    }
    // Restore the order of discovery: harness by harness.
    let place_of = |entry: &DiscoveredEntry| {
        let label = entry.origins.first().map(|origin| origin.harness.as_str());
        harnesses().iter().position(|harness| Some(harness.label()) == label)
    };
    let mut told = Vec::new();
    for (id, mut places) in by_id.into_iter().filter(|(_, places)| 1 < places.len()) {
        places.sort_by_key(|place| place_of(&entries[*place]));
        told.extend(tell_apart(id, entries, &places));
    }
    name_entries(entries, issues);
    issues.extend(told);
}

/// Sets the ids of entries in issues of files. All definitions of a name must be known.
pub fn name_entries(entries: &[DiscoveredEntry], issues: &mut [DiscoveryIssue]) {
    let named: HashSet<&str> = issues.iter().filter_map(|issue| issue.entry_id.as_deref()).collect();
    let mut places: HashMap<(String, &str, Option<usize>), &str> = HashMap::new();
    for entry in entries {
        let id = plain_id(entry.source, &entry.name);
        if !named.contains(id.as_str()) {
            continue;
        }
        for origin in &entry.origins {
            places.insert((id.clone(), origin.path.as_str(), origin.line), &entry.id);
        }
    }
    for issue in issues {
        let (Some(id), Some(path)) = (&issue.entry_id, &issue.path) else { continue };
        let place = |line| (id.clone(), path.as_str(), line);
        if let Some(found) = places.get(&place(issue.line)).or_else(|| places.get(&place(None))) {
            issue.entry_id = Some((*found).to_owned());
        }
    }
}

/// Why a name does not identify one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionLookupError {
    /// No entry has this name.
    Unknown {
        /// A similar name.
        near: Option<String>,
    },
    /// The name has different definitions.
    Several {
        /// Their places.
        refs: Vec<String>,
    },
}

/// Finds the definition that a text names: a `ref`, or an id such as `mcp:github` with a single definition.
///
/// # Errors
/// Fails if no entry has the name, or if its definitions differ.
pub fn named<'e>(
    entries: &'e [DiscoveredEntry],
    name: &str,
) -> Result<(&'e DiscoveredEntry, &'e EntryOrigin), DefinitionLookupError> {
    let origins = || entries.iter().flat_map(|entry| entry.origins.iter().map(move |origin| (entry, origin)));
    if let Some(exact) = origins().find(|(_, origin)| origin.reference == name) {
        return Ok(exact);
    }
    let has_name = |origin: &EntryOrigin| {
        origin.reference.strip_prefix(name).and_then(|rest| rest.strip_prefix('@')).is_some_and(|rest| {
            let place = format!("{}/{}", origin.harness, origin.scope);
            rest == place || rest.strip_prefix(&place).is_some_and(|rest| rest.starts_with('#'))
        })
    };
    let found: Vec<_> = origins().filter(|(_, origin)| has_name(origin)).collect();
    match found.first() {
        Some(first) if found.iter().all(|(entry, _)| entry.fingerprint == first.0.fingerprint) => Ok(*first),
        Some(_) => Err(DefinitionLookupError::Several {
            refs: found.iter().map(|(_, origin)| origin.reference.clone()).collect(),
        }),
        None => {
            let ids = entries.iter().map(|entry| entry.id.as_str());
            let refs = origins().map(|(_, origin)| origin.reference.as_str());
            Err(DefinitionLookupError::Unknown { near: closest(name, ids.chain(refs)).map(str::to_owned) })
        }
    }
}

/// The members of an entry that define it.
const DEFINITION: &[&str] = &[
    "command",
    "cwd",
    "env_labels",
    "family",
    "header_names",
    "timeout",
    "tools_allowed",
    "tools_denied",
    "transport",
    "url_host",
];

/// Returns the members in which definitions differ.
fn differing(entries: &[&DiscoveredEntry]) -> String {
    let mut names: Vec<String> =
        entries.windows(2).flat_map(|pair| changed_members(pair[0], pair[1])).collect();
    names.retain(|name| DEFINITION.contains(&name.as_str()));
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "their content".to_owned() } else { names.join(", ") }
}

/// Adds another place of the same definition.
fn merge(known: &mut DiscoveredEntry, other: DiscoveredEntry) {
    known.enabled |= other.enabled;
    known.description = known.description.take().or(other.description);
    known.registered_as = known.registered_as.take().or(other.registered_as);
    let both = |known: &mut Vec<String>, others: Vec<String>| {
        let mut seen: HashSet<String> = known.iter().cloned().collect();
        known.extend(others.into_iter().filter(|other| seen.insert(other.clone())));
    };
    both(&mut known.unresolved, other.unresolved);
    both(&mut known.unknown_keys, other.unknown_keys);
    both(&mut known.literal_secrets, other.literal_secrets);
    known.origins.extend(other.origins);
}

/// Returns the documented built-in tools of a harness. `path` shows that the harness is installed.
pub fn natives(harness: &'static Harness, path: &str) -> Vec<DiscoveredEntry> {
    let label = harness.label();
    let native = |tool: &&str| {
        let id = format!("harness:{label}.{tool}");
        let origin = EntryOrigin {
            reference: format!("{id}@{label}/{}", Extent::User),
            harness: label.to_owned(),
            scope: Extent::User,
            path: path.to_owned(),
            key_path: None,
            line: None,
            enabled: true,
            plugin: None,
        };
        DiscoveredEntry {
            id,
            source: EntrySource::Harness,
            family: EntryFamily::Custom,
            name: (*tool).to_owned(),
            description: Some(format!("A tool of {} itself, from its documentation", harness.program.title)),
            transport: None,
            command: Vec::new(),
            cwd: None,
            env_labels: Vec::new(),
            header_names: Vec::new(),
            url_host: None,
            enabled: true,
            timeout: None,
            tools_allowed: Vec::new(),
            tools_denied: Vec::new(),
            unresolved: Vec::new(),
            unknown_keys: Vec::new(),
            literal_secrets: Vec::new(),
            fingerprint: Fingerprint::builder("brigade.discovered-native.v1")
                .text("harness", label)
                .text("tool", *tool)
                .finish(),
            registered_as: None,
            origins: vec![origin],
        }
    };
    harness.natives.iter().map(native).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, harness, read_config};

    fn add(inventory: &mut Inventory, label: &str, path: &str, text: &str) {
        let harness = harness(label).unwrap();
        let config = harness.configs()[0];
        let source = Source { harness, extent: config.extent, path, workspace: "/w" };
        let reading = read_config(&source, &config, format!("{{\"mcpServers\": {text}}}").as_bytes());
        inventory.add_all(reading.entries, Vec::new());
    }

    fn ids(entries: &[DiscoveredEntry]) -> Vec<(&str, Vec<&str>)> {
        let refs = |entry: &DiscoveredEntry| entry.origins.len();
        entries
            .iter()
            .map(|entry| {
                assert!(0 < refs(entry));
                let refs = entry.origins.iter().map(|origin| origin.reference.as_str());
                (entry.id.as_str(), refs.collect())
            })
            .collect()
    }

    #[test]
    fn one_definition_is_one_entry() {
        let mut inventory = Inventory::default();
        add(
            &mut inventory,
            "cursor",
            "/a",
            r#"{"x": {"command": "x", "env": {"A": "1"}, "disabled": true}}"#,
        );
        add(&mut inventory, "claude-desktop", "/b", r#"{"x": {"command": "x", "env": {"A": "${B}"}}}"#);
        let (entries, issues) = inventory.finish();
        assert_eq!(ids(&entries), [("mcp:x", vec!["mcp:x@cursor/user", "mcp:x@claude-desktop/user"])]);
        assert_eq!((entries[0].enabled, entries[0].origins[0].enabled), (true, false));
        assert_eq!((entries[0].unresolved.as_slice(), issues), (["${B}".to_owned()].as_slice(), vec![]));
    }

    #[test]
    fn different_definitions_are_separate_entries() {
        let mut inventory = Inventory::default();
        add(&mut inventory, "cursor", "/a", r#"{"x": {"command": "x"}, "b": {"command": "b"}}"#);
        add(&mut inventory, "windsurf", "/b", r#"{"x": {"command": "x"}}"#);
        add(&mut inventory, "windsurf", "/c", r#"{"x": {"command": "y", "args": ["z"]}}"#);
        let (entries, issues) = inventory.finish();
        assert_eq!(
            ids(&entries),
            [
                ("mcp:b", vec!["mcp:b@cursor/user"]),
                ("mcp:x@cursor/user", vec!["mcp:x@cursor/user", "mcp:x@windsurf/user"]),
                ("mcp:x@windsurf/user#2", vec!["mcp:x@windsurf/user#2"]),
            ]
        );
        assert_eq!((issues.len(), issues[0].code.code()), (1, "definitions_differ"));
        assert_eq!(issues[0].message, "the name has 2 definitions, which differ in command");
        assert_eq!((issues[0].entry_id.as_deref(), issues[0].refs.len()), (Some("mcp:x"), 3));
    }

    #[test]
    fn an_issue_of_a_file_has_the_id_of_the_entry() {
        let secret = r#"{"x": {"command": "y", "env": {"API_KEY": "hunter2EXAMPLE"}}}"#;
        let mut inventory = Inventory::default();
        let mut issues = Vec::new();
        for (label, text) in [("cursor", r#"{"x": {"command": "x"}}"#), ("windsurf", secret)] {
            let harness = harness(label).unwrap();
            let config = harness.configs()[0];
            let source = Source { harness, extent: config.extent, path: label, workspace: "/w" };
            let reading = read_config(&source, &config, format!("{{\"mcpServers\": {text}}}").as_bytes());
            inventory.add_all(reading.entries, Vec::new());
            issues.extend(reading.issues);
        }
        let (entries, _) = inventory.finish();
        assert_eq!(issues[0].entry_id.as_deref(), Some("mcp:x"));
        name_entries(&entries, &mut issues);
        assert_eq!(issues[0].entry_id.as_deref(), Some("mcp:x@windsurf/user"));
        assert!(entries.iter().any(|entry| Some(&entry.id) == issues[0].entry_id.as_ref()));
    }

    #[test]
    fn an_ambiguous_name_lists_its_definitions() {
        let mut inventory = Inventory::default();
        add(
            &mut inventory,
            "cursor",
            "/a",
            r#"{"x": {"command": "x"}, "b": {"command": "b"}, "a@b": {"command": "c"}}"#,
        );
        add(&mut inventory, "windsurf", "/b", r#"{"x": {"command": "y"}, "b": {"command": "b"}}"#);
        let (entries, _) = inventory.finish();
        let of = |name: &str| named(&entries, name).map(|(_, origin)| origin.reference.as_str());
        assert_eq!(of("mcp:b"), Ok("mcp:b@cursor/user"));
        assert_eq!(of("mcp:b@windsurf/user"), Ok("mcp:b@windsurf/user"));
        assert_eq!(of("mcp:x@windsurf/user"), Ok("mcp:x@windsurf/user"));
        assert_eq!(of("mcp:a@b"), Ok("mcp:a@b@cursor/user"));
        let refs = ["mcp:x@cursor/user", "mcp:x@windsurf/user"].map(str::to_owned).into();
        assert_eq!(of("mcp:x"), Err(DefinitionLookupError::Several { refs }));
        let near = Some("mcp:b@cursor/user".to_owned());
        assert_eq!(of("mcp:b@cursor/uset"), Err(DefinitionLookupError::Unknown { near }));
        assert_eq!(of("mcp:a"), Err(DefinitionLookupError::Unknown { near: Some("mcp:b".to_owned()) }));
    }

    #[test]
    fn no_name_is_the_place_of_another_entry() {
        let mut inventory = Inventory::default();
        add(&mut inventory, "cursor", "/a", r#"{"x": {"command": "good"}}"#);
        let forged = r#"{"x@cursor/user": {"command": "evil"}, "x%40cursor/user": {"command": "e"}, "@a/b": {"command": "c"}}"#;
        add(&mut inventory, "windsurf", "/b", forged);
        add(&mut inventory, "claude-desktop", "/c", r#"{"x@cursor/user#2": {"command": "evil"}}"#);
        let (entries, _) = inventory.finish();
        let of = |name: &str| named(&entries, name).map(|(entry, _)| entry.command.join(" "));
        for (name, command) in [
            ("mcp:x@cursor/user", "good"),
            ("mcp:x", "good"),
            ("mcp:x%40cursor/user", "evil"),
            ("mcp:x%2540cursor/user@windsurf/user", "e"),
            ("mcp:x%40cursor/user#2", "evil"),
            ("mcp:@a/b", "c"),
        ] {
            assert_eq!(of(name).as_deref(), Ok(command), "{name}");
        }
        let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 5);
    }

    #[test]
    fn tools_of_harnesses_are_named_after_them() {
        let entries = natives(harness("gemini").unwrap(), "/usr/bin/gemini");
        assert_eq!((entries[0].id.as_str(), entries[0].name.as_str()), ("harness:gemini.glob", "glob"));
        assert_eq!(entries[0].origins[0].reference, "harness:gemini.glob@gemini/user");
        assert!(natives(harness("codex").unwrap(), "/usr/bin/codex").is_empty());
    }
}
