//! Refuses secrets in the catalog, and secrets that are visible only in rendered templates: `--token={x}`, `curl -u
//! {credentials}`.

use std::collections::{BTreeMap, BTreeSet};

use brigade_catalog::{Family, TextPurpose, Tool};
use brigade_cmdline::Argv;
use brigade_core::{ErrorCode, Json};
use brigade_policy::Blocker;
use brigade_redact::{MARK, Redactor, SecretValue, is_secret_field, secret_words};

use crate::template::{Template, template_name};

/// Refuses fields of the contract that contain a secret, and lists them.
pub(super) fn secret_texts(tool: &Tool, blockers: &mut Vec<Blocker>) -> Vec<String> {
    let texts = tool.secret_texts().into_iter().filter(|text| text.purpose == TextPurpose::Contract);
    let fields: Vec<String> = texts.map(|text| text.field).collect();
    blockers.extend(fields.iter().map(|field| {
        let message = format!("{field} of the catalog holds what looks like a secret; it is not shown");
        Blocker::new(ErrorCode::SecretInCatalog, message).at(tool.place_of(field)).field(field).hint(
            "take it out, name a label in the tool's `env_labels`, bind it to an environment variable under \
             `env_bindings` in .brigade/tools/policy.toml, and let the program read that variable",
        )
    }));
    fields
}

/// Returns the bound values that are searched for in arguments. Shorter ones also occur in harmless text.
pub fn telling_values(bound_values: &[SecretValue]) -> Vec<SecretValue> {
    bound_values.iter().filter(|value| value.is_telling()).cloned().collect()
}

/// Lists the arguments that look like secrets, or contain a bound value in any of its forms.
pub(super) fn secret_fields(args: &Json, bound_values: &[SecretValue]) -> Vec<String> {
    let mut fields = brigade_redact::secret_fields(args);
    let telling = telling_values(bound_values);
    if !telling.is_empty() {
        let bound = Redactor::bound_only(&telling);
        let holds = |value: &Json| bound.redact_str(&value.to_compact()) != value.to_compact();
        for (name, value) in args.as_object().into_iter().flatten() {
            let whole = Json::object([(name.as_str(), value.clone())]);
            let plain = value.as_str().is_some_and(|text| bound.redact_str(text) != text);
            let field = format!("$.{}", bound.redact_str(name));
            if (plain || holds(&whole)) && !fields.iter().any(|known| known.starts_with(&field)) {
                fields.push(field);
            }
        }
    }
    fields
}

/// Returns whether any text was redacted, so that its value is lost.
pub(super) fn holds_mark(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains(MARK),
        Json::Array(elements) => elements.iter().any(holds_mark),
        Json::Object(members) => members.values().any(holds_mark),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

pub(super) fn secret_blockers(fields: &[String], blockers: &mut Vec<Blocker>) {
    blockers.extend(fields.iter().map(|field| secret_blocker(field)));
}

fn secret_blocker(field: &str) -> Blocker {
    Blocker::new(
        ErrorCode::SecretArgument,
        format!("{field} looks like a secret, which an argument cannot carry"),
    )
    .field(field)
    .hint(
        "name a label in the tool's `env_labels` and bind it to an environment variable under `env_bindings` in \
         .brigade/tools/policy.toml",
    )
}

/// Lists the templates whose rendered word looks secret, by its name or its position in the command line.
pub(super) fn secret_templates(
    tool: &Tool,
    rendered: &BTreeMap<String, String>,
    argv: Option<&Argv>,
) -> BTreeSet<String> {
    let by_name = rendered.iter().filter(|(name, word)| {
        let template = tool.argument_template.get(template_name(&tool.argument_template, name));
        let is_given = template.is_some_and(|text| !Template::parse(text).names().is_empty());
        is_given && !word.starts_with('-') && word.as_str() != MARK && is_secret_field(name, word)
    });
    let template = |name: &String| template_name(&tool.argument_template, name).to_owned();
    let mut found: BTreeSet<String> = by_name.map(|(name, _)| template(name)).collect();
    // MCP tools append no arguments.
    if let Some(argv) = argv.filter(|_| tool.family != Some(Family::Mcp)) {
        let appended = argv.words().len().saturating_sub(rendered.len());
        let names: Vec<&String> = rendered.keys().collect();
        let places = secret_words(argv.words()).into_iter().filter_map(|word| word.checked_sub(appended));
        found.extend(places.filter_map(|place| names.get(place)).map(|name| template(name)));
    }
    found
}

/// Refuses these templates and masks the arguments that they render.
pub(super) fn refuse(tool: &Tool, names: &BTreeSet<String>, args: &mut Json, blockers: &mut Vec<Blocker>) {
    for name in names {
        let field = format!("argument_template.{name}");
        blockers.push(secret_blocker(&field).at(tool.place_of(&field)));
        let template = tool.argument_template.get(name).map(String::as_str).unwrap_or_default();
        if let Json::Object(members) = args {
            for argument in Template::parse(template).names() {
                if let Some(value) = members.get_mut(argument) {
                    *value = Json::String(MARK.to_owned());
                }
            }
        }
    }
}
