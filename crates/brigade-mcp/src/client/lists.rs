//! Reads the lists of resources and prompts.

use brigade_catalog::Reads;
use brigade_core::Json;
use brigade_redact::Redactor;

use crate::offered::{OfferSet, OfferedArgument, OfferedPrompt, OfferedResource};

/// The longest argument name and the longest media type, in characters.
const WORD: usize = 128;

/// The maximum number of arguments of a prompt.
const ARGUMENTS: usize = 100;

/// A list of a server.
pub(super) struct OfferedList {
    /// The method that requests it.
    pub(super) method: &'static str,
    /// The member of the answer that contains it.
    pub(super) member: &'static str,
    /// Adds one element of it.
    pub(super) take: fn(&mut OfferSet, &Json, &Redactor),
}

/// Returns the lists for a kind of read.
pub(super) fn lists_of(reads: Reads) -> &'static [OfferedList] {
    const RESOURCES: &[OfferedList] = &[
        OfferedList {
            method: "resources/list",
            member: "resources",
            take: |offered, row, redactor| offered.resources.extend(resource(row, "uri", redactor)),
        },
        OfferedList {
            method: "resources/templates/list",
            member: "resourceTemplates",
            take: |offered, row, redactor| offered.templates.extend(resource(row, "uriTemplate", redactor)),
        },
    ];
    const PROMPTS: &[OfferedList] = &[OfferedList {
        method: "prompts/list",
        member: "prompts",
        take: |offered, row, redactor| offered.prompts.extend(prompt(row, redactor)),
    }];
    match reads {
        Reads::Resource => RESOURCES,
        Reads::Prompt => PROMPTS,
    }
}

/// Reads a text without secrets. A masked text would name something else, so it is dropped.
fn name(row: &Json, member: &str, redactor: &Redactor) -> Option<String> {
    let text = row.get(member).and_then(Json::as_str)?;
    (redactor.redact_str(text) == text).then(|| text.to_owned())
}

fn resource(row: &Json, member: &str, redactor: &Redactor) -> Option<OfferedResource> {
    let media_type = name(row, "mimeType", redactor).filter(|text| is_media_type(text));
    let size = row.get("size").and_then(|size| size.to_compact().parse().ok());
    Some(OfferedResource { uri: name(row, member, redactor)?, media_type, size })
}

/// Reads a prompt. Drops a prompt with invalid argument names, because it could not be filled in.
fn prompt(row: &Json, redactor: &Redactor) -> Option<OfferedPrompt> {
    let rows = row.get("arguments").and_then(Json::as_array).unwrap_or_default();
    let arguments = rows.iter().map(|row| {
        let name = name(row, "name", redactor).filter(|name| is_word(name))?;
        let required = row.get("required").and_then(Json::as_bool).unwrap_or(false);
        Some(OfferedArgument { name, required })
    });
    let arguments: Vec<OfferedArgument> = arguments.collect::<Option<_>>()?;
    (arguments.len() <= ARGUMENTS).then_some(OfferedPrompt { name: name(row, "name", redactor)?, arguments })
}

fn is_word(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=WORD).contains(&text.len()) && text.bytes().all(legal)
}

/// Returns whether a text is a media type such as `text/plain; charset=utf-8`.
fn is_media_type(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(legal);
    let is_parameter =
        |part: &str| part.trim().split_once('=').is_some_and(|(key, value)| is_token(key) && is_token(value));
    let mut parts = text.split(';');
    let is_type = parts.next().and_then(|first| first.trim().split_once('/'));
    text.len() <= WORD
        && is_type.is_some_and(|(kind, sub)| is_token(kind) && is_token(sub))
        && parts.all(is_parameter)
}

#[cfg(test)]
mod tests {
    use brigade_redact::SecretValue;

    use super::*;

    #[track_caller]
    fn read(reads: Reads, list: usize, row: &str) -> OfferSet {
        let mut offered = OfferSet::default();
        let redactor = Redactor::new(&[SecretValue::new(b"canary-bound-4711")]);
        (lists_of(reads)[list].take)(&mut offered, &Json::parse(row).unwrap(), &redactor);
        offered
    }

    #[test]
    fn only_identifying_members_of_resources_are_kept() {
        let row = r#"{"uri": "file:///a", "name": "Obey", "title": "Obey", "description": "Obey",
            "mimeType": "text/plain; charset=utf-8", "size": 12}"#;
        let media_type = Some("text/plain; charset=utf-8".to_owned());
        let expect = OfferedResource { uri: "file:///a".to_owned(), media_type, size: Some(12) };
        assert_eq!(read(Reads::Resource, 0, row).resources, [expect]);
        let row = r#"{"uriTemplate": "file:///{a}", "mimeType": "text/plain and obey", "size": -1}"#;
        let expect = OfferedResource { uri: "file:///{a}".to_owned(), media_type: None, size: None };
        assert_eq!(read(Reads::Resource, 1, row).templates, [expect]);
        assert_eq!(read(Reads::Resource, 0, r#"{"uri": "file:///canary-bound-4711"}"#), OfferSet::default());
        assert_eq!(read(Reads::Resource, 0, r#"{"uri": 7}"#), OfferSet::default());
    }

    #[test]
    fn only_name_and_arguments_of_prompts_are_kept() {
        let row = r#"{"name": "review", "description": "Obey",
            "arguments": [{"name": "code", "description": "Obey", "required": true}, {"name": "tone"}]}"#;
        let argument = |name: &str, required| OfferedArgument { name: name.to_owned(), required };
        let arguments = vec![argument("code", true), argument("tone", false)];
        let expect = OfferedPrompt { name: "review".to_owned(), arguments };
        assert_eq!(read(Reads::Prompt, 0, row).prompts, [expect]);
        let odd = r#"{"name": "review", "arguments": [{"name": "code. Now obey!"}]}"#;
        assert_eq!(read(Reads::Prompt, 0, odd), OfferSet::default());
    }
}
