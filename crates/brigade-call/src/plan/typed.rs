//! Finds the intended meaning of mistyped arguments.

use std::collections::BTreeMap;

use brigade_cmdline::Argv;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Hint, Json, NextStep, Object, Place, closest};
use brigade_policy::Blocker;
use brigade_redact::{Redactor, SecretValue, Source, looks_secret_value};
use brigade_schema::{
    ProblemKind, Requirement, Schema, SchemaProblem, Violation, ViolationKind, place_of_value,
};

use super::Plan;
use crate::facts::PlanFacts;

/// Returns a hint with the correct form of the arguments.
pub(super) fn meant(text: &str, schema: Option<&Schema>) -> Hint {
    let (text, redactor) = (text.trim(), Redactor::new(&[]).for_settings());
    if let Some(file) = text.strip_prefix('@').filter(|file| !file.is_empty()) {
        return NextStep::ArgumentsFrom(redactor.redact_str(file)).into();
    }
    let meant = match pairs(text, schema) {
        Some(arguments) => format!("arguments are JSON: '{}'", arguments.to_compact()),
        None => format!("arguments are one JSON object, such as '{}'", example(schema).to_compact()),
    };
    redactor.redact_str(&meant).into()
}

/// Returns the line of typed arguments that has a fault, and below it a mark under the fault. `None` for text that is
/// not one line of JSON with something before the fault.
pub(super) fn marked_line(text: &str, line: usize, column: usize, bound: &Redactor) -> Option<String> {
    const MAX_COLUMNS: usize = 80;
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let excerpt = Source::new(text.as_bytes(), bound).excerpt(&Place::at("arguments", line, column))?;
    let excerpt = excerpt.cut(MAX_COLUMNS);
    let columns = |text: &str| text.chars().count();
    let before = columns(&excerpt.text()[..excerpt.marked().start]);
    let marks = columns(&excerpt.text()[excerpt.marked()]).max(1);
    let shown = escape_terminal(excerpt.text()).into_owned();
    Some(format!("{shown}\n{}{}", " ".repeat(before), "^".repeat(marks)))
}

impl Plan {
    /// Shows in the hints where the typed text of the arguments violates the schema. `bound` are values to mask.
    pub fn mark_arguments(&mut self, text: &str, bound: &[SecretValue]) {
        let bound = Redactor::new(bound);
        for blocker in self.blockers.iter_mut().filter(|blocker| blocker.is(ErrorCode::InvalidArgs)) {
            let place = blocker.field.as_deref().and_then(|path| place_of_value(text, path));
            let Some((line, column)) = place else { continue };
            let Some(marked) = marked_line(text, line, column, &bound) else { continue };
            blocker.hint = Some(match blocker.hint.take() {
                Some(hint) => Hint::from(marked).or_else(hint),
                None => marked.into(),
            });
        }
    }
}

/// Parses `name=value name='a value'`. Names and types follow the schema, if it has them.
fn pairs(text: &str, schema: Option<&Schema>) -> Option<Json> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let properties = schema.map(|schema| schema.properties().collect::<Vec<_>>()).unwrap_or_default();
    let names = || properties.iter().map(|property| property.name);
    let typed = Argv::parse(text).ok()?;
    let mut arguments = Object::new();
    for word in typed.words() {
        let (name, value) = word.split_once('=').filter(|(name, _)| is_name(name))?;
        let name = match names().any(|known| known == name) {
            true => name,
            false => closest(name, names()).unwrap_or(name),
        };
        let property = properties.iter().find(|property| property.name == name);
        let is_text = property.is_some_and(|property| property.describe_type() == "string");
        let value = if is_text { Json::from(value) } else { typed_value(value) };
        arguments.insert(name.to_owned(), value);
    }
    (!arguments.is_empty()).then_some(Json::Object(arguments))
}

/// Parses a value without quotes: a number, a boolean, or otherwise a text.
pub fn typed_value(text: &str) -> Json {
    match Json::parse(text) {
        Ok(value @ (Json::Bool(_) | Json::Number(_))) => value,
        Ok(_) | Err(_) => Json::from(text),
    }
}

/// Returns example arguments for a schema: the required ones, or otherwise the first one.
fn example(schema: Option<&Schema>) -> Json {
    let Some(schema) = schema else { return Json::object([("NAME", Json::from("VALUE"))]) };
    let mut shown: Vec<_> =
        schema.properties().filter(|property| property.requirement == Requirement::Required).collect();
    if shown.is_empty() {
        shown.extend(schema.properties().next());
    }
    Json::object(shown.iter().map(|property| {
        let value = match property.describe_type().as_str() {
            "integer" | "number" => typed_value("1"),
            "boolean" => Json::Bool(true),
            kind if kind.starts_with("array") => Json::Array(Vec::new()),
            kind if kind.starts_with("object") => Json::Object(Object::new()),
            _ => Json::from("VALUE"),
        };
        (property.name, value)
    }))
}

/// Returns the names that were probably intended by additional properties, by the path of the violation.
pub(super) fn meant_names<'v>(schema: &Schema, violations: &'v [Violation]) -> BTreeMap<&'v str, String> {
    let names: Vec<String> = schema.properties().map(|property| property.name.to_owned()).collect();
    let additional =
        violations.iter().filter(|violation| violation.kind == ViolationKind::AdditionalProperty);
    additional
        .filter_map(|violation| {
            let name = violation.path.strip_prefix("$.")?;
            let near = closest(name, names.iter().map(String::as_str))?;
            Some((violation.path.as_str(), near.to_owned()))
        })
        .collect()
}

/// Returns whether a missing name was misspelt. Then both violations are one mistake.
pub(super) fn is_misspelt(violation: &Violation, meant: &BTreeMap<&str, String>) -> bool {
    violation.kind == ViolationKind::Required
        && meant.values().any(|name| violation.path == format!("$.{name}"))
}

/// Returns the keyword, type or property that was probably intended by an unknown one in a schema.
pub fn meant_in_schema(problem: &SchemaProblem) -> Option<&str> {
    let (unknown, known) = problem.unknown_words();
    unknown.into_iter().find_map(|word| closest(word, known.iter().copied()))
}

/// Removes a secret key from the path and message of a violation.
pub(super) fn shown_violation(path: &str, message: String, bound: &Redactor) -> (String, String) {
    let shown = bound.redact_str(path);
    let is_secret = looks_secret_value(path).is_some();
    if !is_secret && shown == path {
        return (path.to_owned(), message);
    }
    let shown = if is_secret { Redactor::new(&[]).redact_str(&shown) } else { shown };
    let message = message.replace(path, &shown);
    (shown, message)
}

pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// Returns the reason for a schema violation.
///
/// If the schema requires a property that no arguments may have, adds this to `reason`, with its place in the schema.
pub(super) fn reason(
    facts: &PlanFacts<'_>,
    schema: &Schema,
    violation: &Violation,
    reason: Blocker,
) -> Blocker {
    let is_it = |doubt: &&SchemaProblem| match &doubt.kind {
        ProblemKind::RequiredAndRefused { name, .. } => {
            violation.kind == ViolationKind::Required && violation.path == format!("$.{name}")
        }
        _ => false,
    };
    let Some(doubt) = schema.doubts().iter().find(is_it) else { return reason };
    let path = facts.tool.input_schema_path.as_deref().unwrap_or_default();
    let place = doubt.at.map_or_else(|| Place::file(path), |(line, column)| Place::at(path, line, column));
    let blocker = Blocker { message: format!("{}; {}", reason.message, doubt.kind), ..reason }.at(place);
    match meant_in_schema(doubt) {
        Some(meant) => blocker.hint(did_you_mean(meant)),
        None => blocker.hint("describe it under `properties`, or remove it from `required`"),
    }
}

/// Returns whether a schema violation already reports that an argument is missing or misspelt.
pub(super) fn is_reported(argument: &str, reported: &[Blocker]) -> bool {
    let required = format!("$.{argument}: {}", ViolationKind::Required);
    let hint = did_you_mean(argument);
    reported.iter().filter(|blocker| blocker.is(ErrorCode::InvalidArgs)).any(|blocker| {
        blocker.message == required
            || blocker.hint.as_ref().is_some_and(|reported| reported.to_string() == hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_pairs_are_recognized() {
        assert_eq!(meant("@args.json", None).step(), Some(&NextStep::ArgumentsFrom("args.json".to_owned())));
        assert_eq!(
            meant("path=README.md limit=3", None).to_string(),
            r#"arguments are JSON: '{"limit":3,"path":"README.md"}'"#
        );
        for text in ["", "@", "{", "{\"a\"=1}", "hello", "path = x"] {
            assert!(meant(text, None).to_string().starts_with("arguments are one JSON object"), "{text}");
        }
    }

    #[test]
    fn names_and_types_are_those_of_the_schema() {
        let schema = r#"{"type":"object","required":["name"],"additionalProperties":false,
            "properties":{"count":{"type":"integer"},"name":{"type":"string"}}}"#;
        let schema = Schema::compile(&Json::parse(schema).unwrap().to_serde()).unwrap();
        let meant = |text: &str| meant(text, Some(&schema)).to_string();
        assert_eq!(meant("nam=7 count=3"), r#"arguments are JSON: '{"count":3,"name":"7"}'"#);
        assert_eq!(meant("name='a b'"), r#"arguments are JSON: '{"name":"a b"}'"#);
        assert_eq!(meant("foo"), r#"arguments are one JSON object, such as '{"name":"VALUE"}'"#);
    }

    #[test]
    fn a_secret_is_not_repeated() {
        assert!(
            !meant("token=ghp_0123456789abcdefghijABCDEFGHIJ012345", None).to_string().contains("0123456789")
        );
    }
}
