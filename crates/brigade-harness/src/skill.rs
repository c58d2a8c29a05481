//! Reads skills and commands: their front matter, and the commands that their bodies would run.

use brigade_core::front_matter;
use brigade_core::text::escape_terminal;
use brigade_core::yaml::{self, Position};
use brigade_core::{Fingerprint, IssueType, Json};
use brigade_redact::{Redactor, looks_secret_value};

use crate::edit::decode;
use crate::found::{DiscoveredEntry, DiscoveryIssue, EntryFamily, EntrySource, plain_id};
use crate::read::{MAX_NAME_LEN, Reading, Source};
use brigade_catalog::edit::json_of;

/// The maximum number of bytes to read from a skill or command.
pub const COMMAND_LIMIT: u64 = 1 << 20;

/// The maximum length of a description.
const MAX_DESCRIPTION_LEN: usize = 2_000;

/// The maximum length of a list in an entry.
const MAX_LIST_ELEMENTS: usize = 1_000;

/// Other known keys of the front matter.
const KNOWN_KEYS: &[&str] = &[
    "name",
    "description",
    "allowed-tools",
    "license",
    "compatibility",
    "metadata",
    "prompt",
    "argument-hint",
    "model",
    "disable-model-invocation",
    "user-invocable",
    "version",
];

/// A file with a skill or a command.
#[derive(Clone, Copy, Debug)]
pub struct SkillFile<'s> {
    /// The harness and the path.
    pub source: Source<'s>,
    /// The name of the directory. For a command, its path without the extension and with `:` as separator.
    pub name: &'s str,
}

/// Splits a text into its front matter, if any, and the rest. An unclosed block extends to the end.
fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    match front_matter::split(text) {
        Some(found) => (Some(found.block), found.rest.unwrap_or_default()),
        None => (None, text),
    }
}

/// Reads a `SKILL.md`. Lists the skill even if its front matter cannot be read.
pub fn read_skill(file: &SkillFile<'_>, bytes: &[u8]) -> Reading {
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(refused) => return undecoded(file, &refused),
    };
    let mut reading = Reading::default();
    let (block, body) = split(text);
    let front = read_block(file, block, &mut reading);
    if block.is_none() {
        let message = "the skill has no front matter, so it does not state its name and description";
        reading.issues.push(file.source.issue(
            IssueType::FrontMatterInvalid,
            message,
            Some(Position { line: 1, column: 1 }),
        ));
    }
    let name = front.get("name").and_then(Json::as_str).map(str::trim).filter(|name| !name.is_empty());
    if let Some(name) = name {
        let is_usual =
            name.len() <= 64 && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if !is_usual || name != file.name {
            let message = if is_usual {
                "the name differs from the directory"
            } else {
                "the name is not 1 to 64 of a-z, 0-9 and `-`"
            };
            let id = plain_id(EntrySource::Skill, name);
            let issue =
                file.source.issue(IssueType::NameUnusual, message, Some(Position { line: 1, column: 1 }));
            reading.issues.push(DiscoveryIssue { entry_id: Some(id), ..issue });
        }
    }
    let name = name.unwrap_or(file.name).to_owned();
    push(file, &name, EntryFamily::Skill, &front, body, bytes, &mut reading);
    reading
}

/// Reads a command: Markdown with or without front matter, or TOML.
pub fn read_command(file: &SkillFile<'_>, is_toml: bool, bytes: &[u8]) -> Reading {
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(refused) => return undecoded(file, &refused),
    };
    let mut reading = Reading::default();
    if is_toml {
        let document = match crate::toml::read(text) {
            Ok(document) => document,
            Err(refused) => return undecoded(file, &refused),
        };
        let front = json_of(document.as_item());
        let body = front.get("prompt").and_then(Json::as_str).unwrap_or_default().to_owned();
        push(file, file.name, EntryFamily::SlashCommand, &front, &body, bytes, &mut reading);
        return reading;
    }
    let (block, body) = split(text);
    let front = read_block(file, block, &mut reading);
    push(file, file.name, EntryFamily::SlashCommand, &front, body, bytes, &mut reading);
    reading
}

fn undecoded(file: &SkillFile<'_>, refused: &crate::EditRefusal) -> Reading {
    file.source.broken(refused.at().unwrap_or(Position { line: 1, column: 1 }), &refused.to_string())
}

/// Reads front matter. Reports an issue if it is not a map.
fn read_block(file: &SkillFile<'_>, block: Option<&str>, reading: &mut Reading) -> Json {
    let Some(block) = block else { return Json::Null };
    let (at, message) = match yaml::parse(block) {
        Ok(Some(node)) => match node.to_json() {
            front @ Json::Object(_) => return front,
            _ => (node.at, "the front matter is not a map".to_owned()),
        },
        Ok(None) => return Json::Null,
        Err(error) => (error.at(), error.to_string()),
    };
    // The first line of the front matter is the second line of the file.
    let at = Position { line: at.line + 1, ..at };
    reading.broken = Some(at);
    reading.issues.push(file.source.issue(
        IssueType::ClientFileInvalid,
        format!("front matter: {message}"),
        Some(at),
    ));
    Json::Null
}

fn push(
    file: &SkillFile<'_>,
    name: &str,
    family: EntryFamily,
    front: &Json,
    body: &str,
    bytes: &[u8],
    reading: &mut Reading,
) {
    if name.is_empty() || MAX_NAME_LEN < name.len() {
        let message = "the name is empty or too long";
        reading.issues.push(file.source.issue(IssueType::NameUnusual, message, None));
        return;
    }
    let id = plain_id(EntrySource::Skill, name);
    if escape_terminal(name) != name {
        let message = "the name has invisible characters";
        let issue = file.source.issue(IssueType::NameUnusual, message, None);
        reading.issues.push(DiscoveryIssue { entry_id: Some(id.clone()), ..issue });
    }
    let redactor = Redactor::new(&[]).for_settings();
    let shown = |text: &str| redactor.redact_str(&text.chars().take(MAX_DESCRIPTION_LEN).collect::<String>());
    let description = front.get("description").and_then(Json::as_str).map(|text| shown(text.trim()));
    let tools_allowed = front.get("allowed-tools").map(tool_names).unwrap_or_default();
    let unknown =
        front.as_object().into_iter().flatten().filter(|(key, _)| !KNOWN_KEYS.contains(&key.as_str()));
    let unknown_keys: Vec<String> = unknown
        .map(|(key, _)| key.clone())
        .filter(|key| key.len() <= MAX_DESCRIPTION_LEN && looks_secret_value(key).is_none())
        .take(MAX_LIST_ELEMENTS)
        .collect();
    let mut unresolved = Vec::new();
    if body.contains("!`") {
        unresolved.push("!`…`".to_owned());
    }
    if body.contains("!{") {
        unresolved.push("!{…}".to_owned());
    }
    let origin = file.source.origin(&id, None, Some(1), true);
    reading.entries.push(DiscoveredEntry {
        id,
        source: EntrySource::Skill,
        family,
        name: name.to_owned(),
        description,
        transport: None,
        command: Vec::new(),
        cwd: None,
        env_labels: Vec::new(),
        header_names: Vec::new(),
        url_host: None,
        enabled: true,
        timeout: None,
        tools_allowed: tools_allowed.iter().take(MAX_LIST_ELEMENTS).map(|name| shown(name)).collect(),
        tools_denied: Vec::new(),
        unresolved,
        unknown_keys,
        literal_secrets: Vec::new(),
        fingerprint: Fingerprint::builder("brigade.discovered-skill.v1")
            .text("family", family.as_str())
            .text("content", Fingerprint::of_bytes(bytes).to_hex().as_str())
            .finish(),
        registered_as: None,
        origins: vec![origin],
    });
}

/// Reads a list of tools: words, comma-separated words, or a list. Commas within parentheses do not separate.
fn tool_names(value: &Json) -> Vec<String> {
    match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        Json::String(text) => {
            let mut depth = 0_usize;
            let has_comma = text.chars().any(|c| {
                depth = depth.saturating_add(usize::from(c == '(')).saturating_sub(usize::from(c == ')'));
                c == ',' && depth == 0
            });
            let mut depth = 0_usize;
            let names = text.split(|c: char| {
                depth = depth.saturating_add(usize::from(c == '(')).saturating_sub(usize::from(c == ')'));
                depth == 0 && if has_comma { c == ',' } else { c.is_whitespace() }
            });
            names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, harness};

    fn file(name: &str) -> SkillFile<'_> {
        let harness = harness("claude").unwrap();
        SkillFile { source: Source { harness, extent: Extent::User, path: "/s", workspace: "/w" }, name }
    }

    fn codes(reading: &Reading) -> Vec<(&str, usize)> {
        reading.issues.iter().map(|issue| (issue.code.code(), issue.line.unwrap_or(0))).collect()
    }

    #[test]
    fn front_matter_describes_a_skill() {
        let text = "\u{feff}---\nname: pdf\ndescription: Fills forms\nallowed-tools: Bash(git add:*, x), Read\nlicense: MIT\n\
                    color: red\n---\n# Title\n---\n";
        let reading = read_skill(&file("pdf"), text.as_bytes());
        let entry = &reading.entries[0];
        assert_eq!(
            (entry.id.as_str(), entry.family.as_str(), codes(&reading)),
            ("skill:pdf", "skill", vec![])
        );
        assert_eq!(entry.description.as_deref(), Some("Fills forms"));
        assert_eq!(entry.tools_allowed, ["Bash(git add:*, x)", "Read"]);
        assert_eq!(entry.unknown_keys, ["color"]);
        assert_eq!(entry.origins[0].reference, "skill:pdf@claude/user");
        let changed = read_skill(&file("pdf"), text.replace("Title", "Other").as_bytes());
        assert_ne!(changed.entries[0].fingerprint, entry.fingerprint);
    }

    #[test]
    fn lists_of_tools_have_three_forms() {
        let of = |text: &str| tool_names(&yaml::parse(text).unwrap().unwrap().to_json());
        assert_eq!(of("Read Bash(git diff:*) Grep"), ["Read", "Bash(git diff:*)", "Grep"]);
        assert_eq!(of("Read, Grep,Bash(a b)"), ["Read", "Grep", "Bash(a b)"]);
        assert_eq!(of("[Read, 'Bash(a, b)']"), ["Read", "Bash(a, b)"]);
        assert_eq!(of("5"), [] as [&str; 0]);
    }

    #[test]
    fn unusual_skills_are_listed_with_an_issue() {
        let of = |text: &str| {
            let reading = read_skill(&file("dir"), text.as_bytes());
            let codes =
                codes(&reading).iter().map(|(code, line)| format!("{code}:{line}")).collect::<Vec<_>>();
            (reading.entries[0].name.clone(), codes.join(" "), reading.broken.is_some())
        };
        let row = |name: &str, codes: &str, broken| (name.to_owned(), codes.to_owned(), broken);
        assert_eq!(of("---\nname: My Skill\n---\n"), row("My Skill", "name_unusual:1", false));
        assert_eq!(of("---\nname: other\n---\n"), row("other", "name_unusual:1", false));
        assert_eq!(of("# no front matter"), row("dir", "front_matter_invalid:1", false));
        assert_eq!(of("---\ndescription: a: b\n---\n"), row("dir", "client_file_invalid:2", true));
        assert_eq!(of("---\n- a\n---\n"), row("dir", "client_file_invalid:2", true));
        assert_eq!(of("---\nname: dir\ndescription: never ends\n"), row("dir", "", false));
        assert_eq!(of("---\nname: [a\n---\n").0, "dir");
    }

    #[test]
    fn commands_say_that_they_run_something() {
        let entry = |text: &str, is_toml| {
            let reading = read_command(&file("git:commit"), is_toml, text.as_bytes());
            reading.entries.into_iter().next().unwrap()
        };
        let plain = entry("Say hello to $1.\n", false);
        assert_eq!((plain.id.as_str(), plain.family.as_str()), ("skill:git:commit", "slash-command"));
        assert_eq!((plain.description, plain.unresolved), (None, vec![]));
        let shell = entry("---\ndescription: Diff\nallowed-tools: Read\n---\n!`git diff`\n", false);
        assert_eq!((shell.description.as_deref(), shell.unresolved), (Some("Diff"), vec!["!`…`".to_owned()]));
        let toml = entry("description = 'Writes'\nprompt = '!{git diff}'\n", true);
        assert_eq!((toml.description.as_deref(), toml.unresolved), (Some("Writes"), vec!["!{…}".to_owned()]));
        let broken = read_command(&file("x"), true, b"\nprompt = hunter2EXAMPLE");
        assert_eq!((codes(&broken), broken.entries.len()), (vec![("client_file_invalid", 2)], 0));
        assert!(!format!("{broken:?}").contains("hunter2"));
        let secret = entry("---\ndescription: uses token=hunter2EXAMPLE\n---\n", false);
        assert_eq!(secret.description.as_deref(), Some("uses token=[redacted]"));
    }
}
