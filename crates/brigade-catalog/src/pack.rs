//! Tool packs: entries of a catalog with their sources, for another workspace.
//!
//! Decides what is portable, where a pack may write sources, and what prevents an import. Packs are untrusted, because
//! other people may have made them.

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::text::escape_terminal;
use brigade_core::{AgentFiles, ClosedPlace, Extra, Json, Object, Severity, closed_place, record};
use brigade_macros::part;
use brigade_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::edit::{self, EditError, OnExisting};
use crate::fields;
use crate::model::{Catalog, Level, Tool};

/// A stored pack: `tool-pack.json`. v0.30 writes the same members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
pub struct Pack {
    /// The name of its directory.
    pub pack_id: String,
    /// When it was built.
    pub created_at: String,
    /// The number of tools in the catalog that it was built from.
    pub tool_count: u64,
    /// The number of issues at that time.
    pub issue_count: u64,
    /// The entries and sources.
    pub portable_catalog: PortableCatalog,
    /// Its directory, in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// All other members.
    #[serde(skip)]
    pub extra: Extra,
}

record!(Pack);

/// The part of a pack that an import reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PortableCatalog {
    /// The entries, with the keys of tools.toml.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "tables"))]
    pub entries: Vec<Json>,
    /// What is missing from the entries, and why.
    pub entry_errors: Vec<String>,
    /// The sources that the entries name.
    pub source_files: Vec<PackedSource>,
}

/// The schema of entries. Their members are not restricted.
#[cfg(feature = "schemas")]
fn tables(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "array", "items": {"type": "object"}})
}

/// A source that an entry names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PackedSource {
    /// The tool.
    pub tool_id: String,
    /// The source, relative to the workspace.
    pub source_path: String,
    /// Whether the pack contains it.
    pub packed: bool,
    /// Its path in the pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack_path: Option<String>,
    /// Why the pack does not contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What prevents an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PackConflict {
    /// The tool; `null` if the catalog itself is the problem.
    pub tool_id: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// The source of the packed entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_path: Option<String>,
    /// The source of the existing entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing_source_path: Option<String>,
    /// The errors of the catalog.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportResult {
    /// The entries that were added or replaced.
    pub imported: Vec<ImportedEntry>,
    /// The sources that belong to them.
    pub copied_sources: Vec<CopiedSource>,
    /// The entries that the catalog already had.
    pub skipped_existing: Vec<SkippedEntry>,
}

/// An imported entry. Calls of it need an approval, as all calls do.
#[part(PartialEq)]
pub struct ImportedEntry {
    /// The tool.
    pub tool_id: String,
    /// Its source.
    pub source_path: Option<String>,
    /// Its display name.
    pub name: String,
    /// The command that calls would run.
    pub command: Option<String>,
    /// The declared effects.
    pub effects: Vec<String>,
    /// Whether the tool may be used.
    pub enabled: bool,
}

/// A source that was copied from the pack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CopiedSource {
    /// The tool.
    pub tool_id: String,
    /// The source, relative to the workspace.
    pub source_path: String,
    /// The file.
    pub target_path: String,
}

/// An entry that the catalog already had.
#[part(PartialEq)]
pub struct SkippedEntry {
    /// The tool.
    pub tool_id: String,
    /// Why it was skipped.
    pub reason: String,
    /// Its source.
    pub source_path: Option<String>,
}

/// An entry with all its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The fields that Brigade knows.
    pub tool: Tool,
    /// All other keys.
    pub unknown: Object,
}

impl Entry {
    /// Reads the entries of a catalog, and its errors. An entry with an error is left out.
    pub fn of_catalog(file: &str, text: &str) -> (Vec<Entry>, Vec<String>) {
        let catalog = Catalog::parse(file, Level::Project, text.as_bytes());
        let errors = catalog.issues().iter().filter(|issue| issue.severity == Severity::Error);
        let errors = errors.map(ToString::to_string).collect();
        let mut seen = BTreeSet::new();
        let entry = |mut keys: Object| {
            let tool = catalog.tool(keys.get("id")?.as_str()?.trim())?;
            if tool.is_broken || !seen.insert(tool.id.clone()) {
                return None;
            }
            keys.retain(|key, _| fields::TOOL.position(key).is_none());
            Some(Entry { tool: tool.clone(), unknown: keys })
        };
        (edit::entries(text).into_iter().filter_map(entry).collect(), errors)
    }

    /// Reads an entry of a pack.
    ///
    /// # Errors
    /// Returns what is wrong, without values.
    pub fn from_json(json: &Json) -> Result<Entry, String> {
        let keys = json.as_object().ok_or("it is not a table")?;
        let (mut entries, errors) = Entry::of_catalog("entry", &edit::format_entry(keys));
        match entries.pop() {
            Some(entry) if entries.is_empty() && errors.is_empty() => Ok(entry),
            _ => Err(errors.into_iter().next().unwrap_or("it is not one entry".to_owned())),
        }
    }

    /// Returns all keys with their values, as in tools.toml.
    pub fn to_object(&self) -> Object {
        let field = |name: &'static str| Some((name.to_owned(), Json::from(self.tool.field(name)?)));
        let mut keys = self.unknown.clone();
        keys.extend(fields::TOOL.names().filter_map(field));
        keys
    }

    /// Formats the entry as TOML.
    pub fn to_toml(&self) -> String {
        edit::format_entry(&self.to_object())
    }

    /// Returns the entry without secrets, for another workspace.
    pub fn portable(&self, redactor: &Redactor) -> Entry {
        let mut tool = self.tool.without_secrets().into_owned();
        let texts = [
            &mut tool.source_path,
            &mut tool.manifest_path,
            &mut tool.schema_path,
            &mut tool.auth_label,
            &mut tool.health_path,
            &mut tool.fingerprint,
            &mut tool.input_schema_path,
            &mut tool.output_schema_path,
            &mut tool.examples_path,
        ];
        let lists = [&mut tool.env_labels, &mut tool.supported_harnesses, &mut tool.allow_option_values];
        let tables = [&mut tool.projections, &mut tool.projection_fingerprints];
        let texts = texts.into_iter().flatten().chain(lists.into_iter().flatten());
        for text in texts.chain(tables.into_iter().flat_map(BTreeMap::values_mut)) {
            *text = redactor.redact_str(text);
        }
        let Json::Object(unknown) = redactor.redact_fields(&Json::Object(self.unknown.clone())) else {
            unreachable!("a masked object is an object");
        };
        Entry { tool, unknown }
    }

    /// Lists the keys whose values differ from those of another entry.
    pub fn differing_keys(&self, other: &Entry) -> Vec<String> {
        let (mine, others) = (self.to_object(), other.to_object());
        let keys: BTreeSet<&String> = mine.keys().chain(others.keys()).collect();
        keys.into_iter().filter(|key| mine.get(*key) != others.get(*key)).cloned().collect()
    }
}

/// Returns the entries without secrets, and what is missing from them. `redactor` finds secrets by their form. `bound`
/// finds the bound values of this host, which are secret wherever they occur.
pub fn portable_entries(all: &[Entry], redactor: &Redactor, bound: &Redactor) -> (Vec<Entry>, Vec<String>) {
    let (mut entries, mut missing) = (Vec::new(), Vec::new());
    for entry in all {
        let id = escape_terminal(entry.tool.id.as_str());
        let portable = Json::Object(entry.portable(redactor).to_object());
        match Entry::from_json(&map_texts(portable, &|text| bound.redact_str(&text))) {
            Ok(portable) => {
                for key in entry.differing_keys(&portable) {
                    missing.push(format!("{id}: {}: a secret was left out", escape_terminal(&key)));
                }
                entries.push(portable);
            }
            Err(_) => missing.push(format!("{}: the entry is not portable", bound.redact_str(&id))),
        }
    }
    (entries, missing)
}

/// Returns the document of a new pack for storing: without its path and bound values, and with paths relative to the
/// workspace at `root`.
pub fn stored(document: Json, root: &str, bound: &Redactor) -> Json {
    let folder = format!("{root}/");
    let mut stored = map_texts(document, &|text| match text {
        _ if text == root => ".".to_owned(),
        _ if root != "/" && text.contains(&folder) => bound.redact_str(&text.replace(&folder, "")),
        _ => bound.redact_str(&text),
    });
    if let Json::Object(members) = &mut stored {
        members.remove("path");
    }
    stored
}

/// Changes every text in a value. Keys stay.
fn map_texts(json: Json, change: &dyn Fn(String) -> String) -> Json {
    match json {
        Json::String(text) => Json::String(change(text)),
        Json::Array(items) => Json::Array(items.into_iter().map(|item| map_texts(item, change)).collect()),
        Json::Object(members) => {
            Json::object(members.into_iter().map(|(key, value)| (key, map_texts(value, change))))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => json,
    }
}

/// Returns the place of a source in a workspace, if a pack may contain it.
///
/// # Errors
/// Fails if the path leaves the workspace, leads to the state of Brigade or git, or is hidden: settings files of
/// programs could run commands.
pub fn source_place(path: &str) -> Result<String, &'static str> {
    let path = path.trim();
    if path.starts_with(['/', '~']) || path.contains(['\\', '\0']) || path.contains(char::is_control) {
        return Err("source path is not relative to the workspace");
    }
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.is_empty() || names.contains(&"..") {
        return Err("source path is not relative to the workspace");
    }
    let is_markdown = path.len() > 3 && path.to_ascii_lowercase().ends_with(".md");
    match closed_place(&names.join("/"), AgentFiles::Closed) {
        // Programs read Markdown below them as text.
        Some(ClosedPlace::AgentFile) if is_markdown => {}
        Some(ClosedPlace::AgentFile) => return Err("source path starts programs of agents or editors"),
        Some(_) => return Err("source path belongs to the state of Brigade or git"),
        None => {}
    }
    if names.iter().any(|name| name.starts_with('.')) && !is_markdown {
        return Err("source path is hidden and not Markdown");
    }
    Ok(names.join("/"))
}

/// A source in the pack compared with the file in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// The pack does not contain it.
    NotPacked,
    /// Only the pack contains it.
    New,
    /// Both contain the same bytes.
    Same,
    /// Both contain it, with different bytes.
    Different,
    /// It cannot be copied, with the reason.
    Unusable(String),
}

/// Disables an entry, as `register` does: a person enables it after a review.
fn without_consent(mut entry: Entry) -> Entry {
    entry.tool.enabled = false;
    entry
}

/// An entry that is imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The entry, without secrets.
    pub entry: Entry,
    /// Whether the catalog already has exactly this entry. Then it is not changed.
    pub is_known: bool,
    /// The place of its source, if the pack contains it.
    pub source: Option<String>,
}

/// The result of comparing a pack with a workspace. If there are conflicts, nothing should be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportPlan {
    /// The entries, in the order of the pack.
    pub imports: Vec<Import>,
    /// What prevents the import.
    pub conflicts: Vec<PackConflict>,
}

impl ImportPlan {
    /// Adds the entries to a catalog. Returns its new text, and the result for reports.
    ///
    /// # Errors
    /// Returns an error if the catalog cannot be edited.
    pub fn apply(&self, text: &str) -> Result<(String, ImportResult), EditError> {
        let mut text = text.to_owned();
        let mut done = ImportResult::default();
        for Import { entry, is_known, source } in &self.imports {
            let tool = &entry.tool;
            let (tool_id, source_path) = (tool.id.as_str().to_owned(), tool.source_path.clone());
            if let Some(place) = source {
                let (source_path, target_path) = (place.clone(), place.clone());
                done.copied_sources.push(CopiedSource { tool_id: tool_id.clone(), source_path, target_path });
            }
            if *is_known {
                let reason = "the catalog already has this entry".to_owned();
                done.skipped_existing.push(SkippedEntry { tool_id, reason, source_path });
                continue;
            }
            text = edit::put_entry(&text, tool, &entry.unknown)?;
            done.imported.push(ImportedEntry {
                tool_id,
                source_path,
                name: tool.name.clone(),
                command: tool.command.clone(),
                effects: tool.effects.clone(),
                enabled: tool.enabled,
            });
        }
        Ok((text, done))
    }

    /// Compares the entries of a pack with those of a catalog. `state` looks up a source by its place.
    pub fn new(
        packed: &[Json],
        catalog: &[Entry],
        existing: OnExisting,
        redactor: &Redactor,
        mut state: impl FnMut(&str) -> SourceState,
    ) -> ImportPlan {
        let mut plan = ImportPlan::default();
        let known: BTreeMap<&str, &Entry> =
            catalog.iter().map(|entry| (entry.tool.id.as_str(), entry)).collect();
        let mut seen = BTreeSet::new();
        for json in packed {
            let entry = match Entry::from_json(json) {
                Ok(entry) => without_consent(entry.portable(redactor)),
                Err(problem) => {
                    let id = json.get("id").and_then(Json::as_str).unwrap_or_default();
                    let reason = match id.trim() {
                        "" => "packed entry has no id".to_owned(),
                        _ => format!("packed entry is invalid: {problem}"),
                    };
                    let tool_id = Some(escape_terminal(&redactor.redact_str(id)).into_owned());
                    plan.conflicts.push(PackConflict { tool_id, reason, ..PackConflict::default() });
                    continue;
                }
            };
            let mut say = |reason: &str, existing_source_path: Option<String>| {
                plan.conflicts.push(PackConflict {
                    tool_id: Some(entry.tool.id.as_str().to_owned()),
                    reason: reason.to_owned(),
                    source_path: entry.tool.source_path.clone(),
                    existing_source_path,
                    ..PackConflict::default()
                });
            };
            if !seen.insert(entry.tool.id.clone()) {
                say("the pack has this tool more than once", None);
                continue;
            }
            let old = known.get(entry.tool.id.as_str());
            let same_text =
                |old: &Entry| without_consent(old.portable(redactor)).to_object() == entry.to_object();
            let is_same = old.is_some_and(|old| same_text(old));
            if let Some(old) = old
                && !is_same
                && existing == OnExisting::Keep
            {
                let theirs = old.portable(redactor).tool.source_path;
                say("tool id already exists with a different definition", theirs);
            }
            let mut source = None;
            if let Some(path) = entry.tool.source_path.as_deref().filter(|path| !path.trim().is_empty()) {
                match source_place(path).map(|place| (state(&place), place)) {
                    Err(reason) => say(reason, None),
                    Ok((SourceState::Unusable(reason), _)) => say(&reason, None),
                    Ok((SourceState::Different, _)) if existing == OnExisting::Keep => {
                        say("source file already exists with different content", None);
                    }
                    Ok((SourceState::NotPacked, _)) => {}
                    Ok((SourceState::New | SourceState::Same | SourceState::Different, place)) => {
                        source = Some(place);
                    }
                }
            }
            let is_known = is_same && existing == OnExisting::Keep;
            plan.imports.push(Import { entry, is_known, source });
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use brigade_redact::SecretValue;

    use super::*;

    const TEXT: &str = "# mine\n[[tool]]\nid = 'a' # the first\nname = 'A'\nfamily = 'skill'\n\
        source_path = 'tools/a.md'\nowner = { team = 'x', since = 2020-01-01 }\n\n\
        [[tool]]\nid = 'b'\nname = 'B'\nfamily = 'script'\ncommand = 'x --token hunter2'\npassword = 'hunter2'\n";

    fn entries() -> Vec<Entry> {
        let (entries, errors) = Entry::of_catalog("tools.toml", TEXT);
        assert_eq!(errors, [""; 0]);
        entries
    }

    fn plan(packed: &[Entry], existing: OnExisting, state: SourceState) -> ImportPlan {
        let packed: Vec<Json> = packed.iter().map(|entry| Json::Object(entry.to_object())).collect();
        ImportPlan::new(&packed, &entries(), existing, &Redactor::new(&[]), |_| state.clone())
    }

    #[test]
    fn entries_keep_unknown_keys_and_lose_secrets() {
        for entry in entries() {
            let portable = entry.portable(&Redactor::new(&[]));
            let read = Entry::from_json(&Json::Object(portable.to_object())).unwrap();
            assert_eq!(read.to_object(), portable.to_object());
            let (read, _) = Entry::of_catalog("tools.toml", &portable.to_toml());
            assert_eq!(read[0].to_object(), portable.to_object());
            assert!(!portable.to_toml().contains("hunter2"), "{}", portable.to_toml());
            assert_eq!(portable.portable(&Redactor::new(&[])).to_object(), portable.to_object());
        }
        let all = entries();
        assert_eq!(all[0].unknown["owner"].get("since").and_then(Json::as_str), Some("2020-01-01"));
        let masked = all[1].differing_keys(&all[1].portable(&Redactor::new(&[])));
        assert_eq!(masked, ["command", "password"]);
    }

    #[test]
    fn putting_an_entry_keeps_comments_and_is_idempotent() {
        let mut entry = entries().remove(0);
        entry.tool.name = "New".to_owned();
        entry.tool.source_path = None;
        entry.unknown = [("level".to_owned(), Json::from(3))].into_iter().collect();
        let text = edit::put_entry(TEXT, &entry.tool, &entry.unknown).unwrap();
        assert!(text.starts_with("# mine\n[[tool]]\nid = 'a' # the first\nname = \"New\"\n"), "{text}");
        assert!(
            !text.contains("owner") && text.contains("level = 3\n") && text.contains("hunter2"),
            "{text}"
        );
        assert_eq!(Entry::of_catalog("", &text).0[0].to_object(), entry.to_object());
        assert_eq!(edit::put_entry(&text, &entry.tool, &entry.unknown).unwrap(), text);
        let added = edit::put_entry("", &entry.tool, &entry.unknown).unwrap();
        assert_eq!(Entry::of_catalog("", &added).0[0].to_object(), entry.to_object());
        let list = "tool = [{id = 'a', name = 'A', family = 'skill', x = 1}]\n";
        let changed = edit::put_entry(list, &entry.tool, &entry.unknown).unwrap();
        assert_eq!(Entry::of_catalog("", &changed).0[0].to_object(), entry.to_object(), "{changed}");
    }

    #[test]
    fn an_import_adds_keeps_or_conflicts() {
        let same = plan(&entries(), OnExisting::Keep, SourceState::Same);
        assert_eq!(same.conflicts, []);
        assert!(same.imports.iter().all(|import| import.is_known));
        assert_eq!(same.imports[0].source.as_deref(), Some("tools/a.md"));
        let forced = plan(&entries(), OnExisting::Overwrite, SourceState::Different);
        assert!(forced.conflicts.is_empty() && forced.imports.iter().all(|import| !import.is_known));

        let mut other = entries();
        other[0].tool.name = "Other".to_owned();
        other.push(other[1].clone());
        let reasons = |plan: &ImportPlan| -> Vec<String> {
            plan.conflicts.iter().map(|conflict| conflict.reason.clone()).collect()
        };
        assert_eq!(
            reasons(&plan(&other, OnExisting::Keep, SourceState::Different)),
            [
                "tool id already exists with a different definition",
                "source file already exists with different content",
                "the pack has this tool more than once",
            ]
        );
        let damaged =
            [Json::from(1), Json::object([("id", Json::from("x"))]), Json::object([("id", Json::Null)])];
        let damaged =
            ImportPlan::new(&damaged, &[], OnExisting::Overwrite, &Redactor::new(&[]), |_| SourceState::New);
        assert_eq!((damaged.imports.len(), damaged.conflicts.len()), (0, 3));
        assert!(damaged.conflicts[1].reason.starts_with("packed entry is invalid: "), "{damaged:?}");
    }

    #[test]
    fn stored_packs_have_no_absolute_paths_or_values() {
        let bound = Redactor::bound_only(&[SecretValue::new("blue whale 7")]);
        let document = Json::object([
            ("path", Json::from("/w/x")),
            ("target", Json::from("/w/x")),
            ("near", Json::from("/w/xy/a")),
            ("list", Json::from(vec!["see /w/x/a/b", "say blue whale 7"])),
        ]);
        let stored = stored(document, "/w/x", &bound).to_compact();
        assert_eq!(stored, r#"{"list":["see a/b","say [redacted]"],"near":"/w/xy/a","target":"."}"#);
        let mut all = entries();
        all[0].tool.description = Some("say blue whale 7".to_owned());
        let (portable, missing) = portable_entries(&all, &Redactor::new(&[]), &bound);
        assert_eq!(portable[0].tool.description.as_deref(), Some("say [redacted]"));
        assert_eq!(missing.len(), 3, "{missing:?}");
    }

    #[test]
    fn sources_stay_in_the_workspace_and_out_of_settings() {
        for good in ["tools/a.md", "./a//b.txt", ".claude/skills/a/SKILL.md", "Makefile.d/x"] {
            assert!(source_place(good).is_ok(), "{good}");
        }
        for bad in [
            "/etc/passwd",
            "~/x.md",
            "../x.md",
            "a/../../x",
            "",
            ".",
            "a\\..\\b.md",
            "a\nb.md",
            ".brigade/tools/policy.toml",
            ".Brigade/x.md",
            "sub/.git/hooks/pre-commit.md",
            ".envrc",
            ".claude/settings.json",
            "a/.vscode/tasks.json",
            "opencode.json",
            ".br\u{200b}igade/x.md",
        ] {
            assert!(source_place(bad).is_err(), "{bad}");
        }
        assert_eq!(source_place("./a//b.txt").as_deref(), Ok("a/b.txt"));
    }

    #[test]
    fn packs_of_any_shape_are_read_without_a_panic() {
        let pack = |text: &str| {
            let json = Json::parse(text).unwrap();
            Pack::from_members(json.as_object().unwrap().clone()).ok()
        };
        let odd = pack(r#"{"pack_id": 3, "portable_catalog": {"entries": 5}, "x": [1]}"#).unwrap();
        assert_eq!((odd.pack_id.as_str(), odd.portable_catalog.entries.len()), ("", 0));
        assert_eq!(Json::Object(odd.to_members()).get("x"), Json::parse("[1]").ok().as_ref());
        assert!(pack("{}").is_some());
    }
}
