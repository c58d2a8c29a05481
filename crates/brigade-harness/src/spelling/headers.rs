//! The headers for a remote server, by the variables that their values name.

use std::collections::BTreeMap;

use brigade_core::{Json, Label};

use super::{MAX_LIST_ELEMENTS, Reader};
use crate::variables::references;

impl Reader<'_> {
    /// Returns the headers with the variables that their values name. A value that holds anything else is left out.
    pub(super) fn header_texts(&self) -> BTreeMap<String, Option<String>> {
        let mut texts = BTreeMap::new();
        for (key, inner) in &self.spelling.headers {
            let value = self.members.get(*key);
            let value = match inner {
                Some(inner) => value.and_then(|value| value.get(inner)),
                None => value,
            };
            for (name, value) in value.and_then(Json::as_object).into_iter().flatten().take(MAX_LIST_ELEMENTS)
            {
                texts.insert(name.clone(), value.as_str().and_then(with_labels));
            }
        }
        let label =
            |value: &Json| value.as_str().filter(|name| name.parse::<Label>().is_ok()).map(str::to_owned);
        let variables = self.spelling.header_variables.and_then(|key| self.members.get(key)?.as_object());
        for (name, value) in variables.into_iter().flatten().take(MAX_LIST_ELEMENTS) {
            texts.insert(name.clone(), label(value).map(|label| format!("{{{label}}}")));
        }
        if let Some(bearer) = self.spelling.bearer_variable.and_then(|key| self.members.get(key)) {
            let text = label(bearer).map(|label| format!("Bearer {{{label}}}"));
            texts.insert("Authorization".to_owned(), text);
        }
        texts
    }
}

/// Returns the value of a header with its variables in braces: `Bearer {TOKEN}` for `Bearer ${env:TOKEN}`. `None` if it
/// names no variable, or holds more than a scheme next to it. A default value of the variable is left out.
fn with_labels(value: &str) -> Option<String> {
    let found = references(value);
    let [reference] = &found.found[..] else { return None };
    let rest = found.bare.replacen(reference.as_str(), "", 1);
    let rest = rest.trim();
    let is_scheme = rest.is_empty() || ["Bearer", "Basic", "Token", "token"].contains(&rest);
    let name = reference.trim_start_matches('$').trim_matches(['{', '}']);
    let name = name.strip_prefix("env:").unwrap_or(name);
    name.parse::<Label>().ok().filter(|_| is_scheme)?;
    Some(if rest.is_empty() { format!("{{{name}}}") } else { format!("{rest} {{{name}}}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_variables_are_taken_over() {
        for (value, expect) in [
            ("Bearer ${TOKEN}", Some("Bearer {TOKEN}")),
            ("Bearer ${env:TOKEN}", Some("Bearer {TOKEN}")),
            ("${TOKEN:-none}", Some("{TOKEN}")),
            ("Bearer ${env:TOKEN:-Basic}", Some("Bearer {TOKEN}")),
            ("Bearer abc", None),
            ("abc${TOKEN}", None),
            ("${A}${B}", None),
            ("plain", None),
        ] {
            assert_eq!(with_labels(value).as_deref(), expect, "{value}");
        }
    }
}
