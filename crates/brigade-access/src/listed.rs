//! One tool in the listing of a client.

use brigade_core::{Json, Object};
use brigade_policy::{Changes, Gate, RiskLevel, effect_of};
use serde::{Deserialize, Serialize};

/// One tool as MCP's `tools/list` has it.
///
/// A person reviewed all of it: names and descriptions are in the catalog, and schemas are files of the catalog. What a
/// server says about its tools is not listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// The name that a client calls.
    pub name: String,
    /// The display name. Absent in a compact listing, like annotations and marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does; the first sentence in a compact listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of the arguments.
    pub input_schema: Json,
    /// The schema of structured results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Json>,
    /// What the effects of the tool mean for a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Links to its icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<ListedIcon>,
    /// What Brigade adds, under its own key.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ListedMeta>,
}

/// A link to an icon of a listed tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedIcon {
    /// The URL.
    pub src: String,
}

/// The hints of MCP about a tool, derived from its effects. A tool without effects may do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// It changes nothing that lasts.
    pub read_only_hint: bool,
    /// It may change or delete what is there.
    pub destructive_hint: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches what is outside of this machine.
    pub open_world_hint: bool,
}

impl Annotations {
    /// Derives the hints from effects.
    pub fn from_effects<E: AsRef<str>>(effects: &[E]) -> Annotations {
        let rows = || effects.iter().map(|effect| effect_of(effect.as_ref()));
        let changes = rows().map(|row| row.map_or(Changes::Anything, |row| row.changes)).max();
        let changes = changes.unwrap_or(Changes::Anything);
        Annotations {
            read_only_hint: changes == Changes::Nothing,
            destructive_hint: changes == Changes::Anything,
            idempotent_hint: changes == Changes::Nothing,
            open_world_hint: effects.is_empty() || rows().any(|row| row.is_none_or(|row| row.is_remote)),
        }
    }
}

/// `_meta` of a listed tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListedMeta {
    /// What Brigade knows about it.
    #[serde(rename = "brigade/tool")]
    pub tool: ToolMark,
}

/// What Brigade tells a client about a tool, in addition to MCP's members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolMark {
    /// `script`, `mcp` or `builtin`.
    pub family: String,
    /// The effects.
    pub effects: Vec<String>,
    /// The risk.
    pub risk: RiskLevel,
    /// Whether a person approves each call.
    pub gate: Gate,
}

/// What a listing shows of a tool.
#[derive(Clone, Debug)]
pub struct ToolListing<'a> {
    /// The listed name.
    pub name: &'a str,
    /// The display name.
    pub title: &'a str,
    /// The reviewed description.
    pub description: Option<&'a str>,
    /// The largest description, in bytes.
    pub max_description_bytes: u64,
    /// Links to its icons.
    pub icons: &'a [String],
    /// The reviewed schema of the arguments.
    pub input_schema: Json,
    /// The reviewed schema of the output.
    pub output_schema: Option<Json>,
    /// The family.
    pub family: &'a str,
    /// The effects.
    pub effects: &'a [String],
    /// The risk.
    pub risk: RiskLevel,
    /// The gate.
    pub gate: Gate,
}

impl ListedTool {
    /// Writes a tool with everything.
    pub fn full(shown: ToolListing<'_>) -> ListedTool {
        ListedTool {
            name: shown.name.to_owned(),
            title: listed_text(shown.title),
            description: shown
                .description
                .and_then(|text| listed_description(text, shown.max_description_bytes)),
            input_schema: of_object(shown.input_schema),
            output_schema: shown.output_schema.filter(is_of_object),
            annotations: Some(Annotations::from_effects(shown.effects)),
            icons: shown.icons.iter().map(|src| ListedIcon { src: src.clone() }).collect(),
            meta: Some(ListedMeta {
                tool: ToolMark {
                    family: shown.family.to_owned(),
                    effects: shown.effects.to_vec(),
                    risk: shown.risk,
                    gate: shown.gate,
                },
            }),
        }
    }

    /// Writes a tool with its name, the first sentence of its description, and schemas without annotations.
    pub fn compact(shown: ToolListing<'_>) -> ListedTool {
        let full = ListedTool::full(shown);
        ListedTool {
            description: full.description.as_deref().map(first_sentence).map(str::to_owned),
            input_schema: without_annotations(&full.input_schema),
            output_schema: full.output_schema.as_ref().map(without_annotations),
            title: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
            ..full
        }
    }
}

/// Trims a text for a listing. `None` if nothing is left.
pub fn listed_text(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The mark after a description that is cut.
const CUT: &str = "\n[cut]";

/// Trims a description for a listing, and cuts it at a number of bytes, with a mark. `None` if nothing is left.
pub fn listed_description(text: &str, max_bytes: u64) -> Option<String> {
    let mut text = listed_text(text)?;
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if limit < text.len() {
        text.truncate(text.floor_char_boundary(limit.saturating_sub(CUT.len())));
        text.truncate(text.trim_end().len());
        text.push_str(CUT);
    }
    Some(text)
}

/// Returns a schema with `type: object`, which clients require at the root of a tool's arguments.
pub fn of_object(schema: Json) -> Json {
    let mut members = match schema {
        Json::Object(members) => members,
        _ => Object::new(),
    };
    members.insert("type".to_owned(), Json::from("object"));
    Json::Object(members)
}

/// Returns whether a schema says `type: object`, which clients require of results.
pub fn is_of_object(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("object")
}

/// Returns the text up to the first full stop before a blank, or the first line.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim();
    let end = line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1).find(|end| {
        let rest = &line[*end..];
        // The next sentence begins with a capital, unlike in `e.g. this` or `v1. 2`.
        rest.is_empty() || rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_uppercase))
    });
    end.map_or(line, |end| &line[..end])
}

/// Keywords that only annotate.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Keywords whose members are names of the schema's author, not keywords.
const NAMED_MEMBER_KEYWORDS: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords whose values are data.
const DATA: &[&str] = &["const", "enum", "required", "type", "$ref"];

/// Removes the annotations of a schema, at every depth.
fn without_annotations(schema: &Json) -> Json {
    match schema {
        Json::Object(members) => {
            let kept = members.iter().filter(|(key, _)| !ANNOTATIONS.contains(&key.as_str()));
            Json::object(kept.map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    (key, value) if DATA.contains(&key) => value.clone(),
                    (key, Json::Object(named)) if NAMED_MEMBER_KEYWORDS.contains(&key) => {
                        let each =
                            named.iter().map(|(name, schema)| (name.clone(), without_annotations(schema)));
                        Json::object(each)
                    }
                    (_, value) => without_annotations(value),
                };
                (key.clone(), value)
            }))
        }
        Json::Array(schemas) => Json::Array(schemas.iter().map(without_annotations).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(effects: &[&str], expect: [bool; 4]) {
        let hints = Annotations::from_effects(effects);
        let found =
            [hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint];
        assert_eq!(found, expect, "{effects:?}");
    }

    #[test]
    fn hints_follow_from_effects() {
        check(&["local-read", "session"], [true, false, true, false]);
        check(&["remote-read"], [true, false, true, true]);
        check(&["local-read", "state-write"], [false, false, false, false]);
        check(&["local-write"], [false, true, false, false]);
        check(&["local-read", "network"], [false, true, false, true]);
        check(&["install"], [false, true, false, true]);
        check(&[], [false, true, false, true]);
        check(&["local-read", "unheard-of"], [false, true, false, true]);
    }

    #[test]
    fn long_descriptions_are_cut_at_a_character() {
        for (text, limit, expect) in [
            (" a\nb ", 3, "a\nb"),
            ("0123456789", 10, "0123456789"),
            ("0123456789a", 10, "0123\n[cut]"),
            ("012éééééé", 10, "012\n[cut]"),
            ("0123456789a", 0, "\n[cut]"),
        ] {
            assert_eq!(listed_description(text, limit).as_deref(), Some(expect), "{text}");
        }
        assert_eq!(listed_description(" ", 9), None);
    }

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn shown(input: &str, output: Option<&str>) -> ToolListing<'static> {
        ToolListing {
            name: "count-words",
            title: "Count words",
            description: Some("Counts words, e.g. of a page. Slow for large files.\nMore."),
            max_description_bytes: 1 << 10,
            icons: &[],
            input_schema: json(input),
            output_schema: output.map(json),
            family: "script",
            effects: &[],
            risk: RiskLevel::Low,
            gate: Gate::Ask,
        }
    }

    #[test]
    fn a_full_entry_has_everything() {
        let listed = ListedTool::full(shown(r#"{"title": "x"}"#, Some(r#"{"type": "object"}"#)));
        let text = Json::parse(&brigade_core::json::to_json(&listed).unwrap().to_compact()).unwrap();
        assert_eq!(text.get("inputSchema"), Some(&json(r#"{"title": "x", "type": "object"}"#)));
        assert!(text.get("outputSchema").is_some());
        let annotations = text.get("annotations").unwrap();
        assert_eq!(annotations.get("readOnlyHint"), Some(&Json::from(false)));
        let mark = json(r#"{"family": "script", "effects": [], "risk": "low", "gate": "ask"}"#);
        assert_eq!(text.get("_meta").unwrap().get("brigade/tool"), Some(&mark));
    }

    #[test]
    fn a_compact_entry_has_a_sentence_and_plain_schemas() {
        let input = r#"{"title": "T", "type": "object", "properties": {"title": {"type": "string", "description": "d"},
            "kind": {"enum": [{"title": "kept"}]}}, "$defs": {"default": {"default": 3}}}"#;
        let listed = ListedTool::compact(shown(input, Some(r#"{"type": "array"}"#)));
        let expect = r#"{"name":"count-words","description":"Counts words, e.g. of a page.","inputSchema":
            {"$defs": {"default": {}}, "properties": {"kind": {"enum": [{"title": "kept"}]},
            "title": {"type": "string"}}, "type": "object"}}"#;
        assert_eq!(brigade_core::json::to_json(&listed).unwrap(), json(expect));
    }

    #[test]
    fn a_sentence_ends_before_a_capital_or_at_the_line() {
        for (text, expect) in [
            ("One. Two.", "One."),
            ("Reads v1.2 files", "Reads v1.2 files"),
            ("Is it? Yes", "Is it?"),
            ("First line\nsecond", "First line"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expect);
        }
    }

    #[test]
    fn a_schema_that_is_no_object_still_takes_one() {
        assert_eq!(of_object(Json::Bool(true)), json(r#"{"type": "object"}"#));
    }
}
