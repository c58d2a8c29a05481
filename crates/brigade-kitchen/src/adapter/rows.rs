//! Adapters of users: `[[adapter]]` in `kitchen.toml`.

use brigade_policy::LocatedValue;
use brigade_policy::document::{Reader, Value};

use super::{Adapter, LimitPatterns, PromptWay, Source, table};

const KEYS: &[&str] = &[
    "id",
    "program",
    "prompt",
    "args",
    "narrow",
    "skip",
    "answer",
    "cost",
    "tokens",
    "limit",
    "write_paths",
    "env_labels",
];

const SOURCES: &str = "expected \"text\", \"json:PATH\", \"jsonl:TYPE:PATH\" or \"file\"";

/// Reads the adapters. Every fault is an error, because an adapter decides what is started.
pub(crate) fn rows(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<Adapter> {
    let mut rows: Vec<Adapter> = Vec::new();
    for (index, (place, entry)) in reader.tables("adapter", value).into_iter().enumerate() {
        let prefix = format!("adapter[{}].", index + 1);
        let mut row =
            Adapter { limit: LimitPatterns::Of(Vec::new()), checked: None, ..table::plain().clone() };
        row.id.clear();
        for (key, value) in entry {
            let field = format!("{prefix}{}", key.get_ref());
            match key.get_ref().as_ref() {
                "id" => set(&mut row.id, reader.string(&field, value)),
                "program" => set(&mut row.program, reader.string(&field, value)),
                "prompt" => {
                    let words = [PromptWay::Stdin, PromptWay::File];
                    let name = |way: PromptWay| match way {
                        PromptWay::Stdin => "stdin",
                        PromptWay::File => "file",
                    };
                    set(&mut row.prompt, reader.word(&field, value, &words, name));
                }
                "args" => row.args = texts(reader, &field, value),
                "narrow" => row.narrow = texts(reader, &field, value),
                "skip" => row.skip = texts(reader, &field, value),
                "answer" => row.answer = source(reader, &field, value).unwrap_or(Source::Text),
                "cost" => row.cost = source(reader, &field, value),
                "tokens" => row.tokens = tokens(reader, &field, value),
                "limit" => {
                    let mut patterns = Vec::new();
                    for text in reader.strings(&field, value) {
                        match table::pattern(&text.value) {
                            Some(pattern) => patterns.push(pattern),
                            None => {
                                reader.error_at(text.place, &field, "expected a regular expression", None)
                            }
                        }
                    }
                    row.limit = LimitPatterns::Of(patterns);
                }
                "write_paths" => row.write_paths = texts(reader, &field, value),
                "env_labels" => row.env_labels = texts(reader, &field, value),
                _ => reader.unknown_member(key, &prefix, KEYS, &[]),
            }
        }
        reader.needed(entry, &place, &prefix, &["id", "program"]);
        let needs = |placeholder: &str| row.args.iter().any(|word| word.contains(placeholder));
        if row.prompt == PromptWay::File && !needs("{prompt_file}") {
            let message = "a prompt in a file needs `{prompt_file}` in one of the words";
            reader.error_at(place.clone(), &format!("{prefix}args"), message, None);
        }
        if row.answer == Source::File && !needs("{answer_file}") {
            let message = "an answer in a file needs `{answer_file}` in one of the words";
            reader.error_at(place.clone(), &format!("{prefix}args"), message, None);
        }
        if rows.iter().any(|other| other.id == row.id) {
            reader.error_at(place, &format!("{prefix}id"), "another row has this id", None);
        } else {
            rows.push(row);
        }
    }
    rows
}

fn set<T>(target: &mut T, found: Option<LocatedValue<T>>) {
    if let Some(found) = found {
        *target = found.value;
    }
}

fn texts(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Vec<String> {
    reader.strings(field, value).into_iter().map(|text| text.value).collect()
}

fn source(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<Source> {
    let text = reader.string(field, value)?;
    let found = Source::parse(&text.value);
    if found.is_none() {
        reader.error_at(text.place, field, SOURCES, None);
    }
    found
}

fn tokens(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<(Source, Source)> {
    let texts = reader.strings(field, value);
    let sources: Vec<Source> = texts.iter().filter_map(|text| Source::parse(&text.value)).collect();
    match <[Source; 2]>::try_from(sources) {
        Ok([input, output]) if texts.len() == 2 => Some((input, output)),
        _ => {
            reader.error(value.span(), Some(field), "expected two places: for input and for output", None);
            None
        }
    }
}
