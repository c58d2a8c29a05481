//! What was meant by mistyped arguments.

use std::collections::BTreeMap;

use brigade_core::{Json, Object, closest};
use brigade_policy::Blocker;
use brigade_redact::Redactor;
use brigade_schema::{Schema, SchemaProblem, Violation, ViolationKind};

/// Says how the arguments are typed.
pub(super) fn meant(text: &str) -> String {
    let text = text.trim();
    let meant = match text.strip_prefix('@') {
        Some(file) if !file.is_empty() => {
            Some(format!("`--args-json {file}` reads the arguments from a file"))
        }
        _ => pairs(text).map(|arguments| format!("arguments are JSON: '{}'", arguments.to_compact())),
    };
    let meant = meant
        .unwrap_or_else(|| "arguments are one JSON object, such as '{\"path\":\"README.md\"}'".to_owned());
    Redactor::new(&[]).redact_str(&meant)
}

/// Reads `name=value name=value`.
fn pairs(text: &str) -> Option<Json> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let mut arguments = Object::new();
    for word in text.split_ascii_whitespace() {
        let (name, value) = word.split_once('=').filter(|(name, _)| is_name(name))?;
        // A number or a truth value is written without quotes.
        let value = match Json::parse(value) {
            Ok(value @ (Json::Bool(_) | Json::Number(_))) => value,
            Ok(_) | Err(_) => Json::from(value),
        };
        arguments.insert(name.to_owned(), value);
    }
    (!arguments.is_empty()).then_some(Json::Object(arguments))
}

/// Returns the names that were probably meant by additional properties, by the path of the violation.
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

/// Returns whether a missing name was misspelt, which is one mistake.
pub(super) fn is_misspelt(violation: &Violation, meant: &BTreeMap<&str, String>) -> bool {
    violation.kind == ViolationKind::Required
        && meant.values().any(|name| violation.path == format!("$.{name}"))
}

/// Returns the keyword or type that was probably meant by an unknown one in a schema.
pub fn meant_in_schema(problem: &SchemaProblem) -> Option<&'static str> {
    let (unknown, known) = problem.unknown_words();
    unknown.into_iter().find_map(|word| closest(word, known.iter().copied()))
}

pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// Returns whether a violation of the schema already says that an argument is missing or misspelt.
pub(super) fn is_said(argument: &str, said: &[Blocker]) -> bool {
    let required = format!("$.{argument}: {}", ViolationKind::Required);
    let hint = did_you_mean(argument);
    said.iter().filter(|blocker| blocker.code == "invalid_args").any(|blocker| {
        blocker.message == required || blocker.hint.as_ref().is_some_and(|said| said.to_string() == hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_pairs_are_recognized() {
        assert_eq!(meant("@args.json"), "`--args-json args.json` reads the arguments from a file");
        assert_eq!(
            meant("path=README.md limit=3"),
            r#"arguments are JSON: '{"limit":3,"path":"README.md"}'"#
        );
        for text in ["", "@", "{", "{\"a\"=1}", "hello", "path = x"] {
            assert!(meant(text).starts_with("arguments are one JSON object"), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_repeated() {
        assert!(!meant("token=ghp_0123456789abcdefghijABCDEFGHIJ012345").contains("0123456789"));
    }
}
