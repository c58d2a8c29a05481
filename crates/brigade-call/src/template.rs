//! Argument templates: how a tool's arguments become words of its command line.

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::{Json, Object};

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Argument(&'t str),
    /// The whole template: a list, whose elements become words.
    Words(&'t str),
}

/// A template such as `--mode={mode}`.
///
/// `{name}` is replaced by an argument, if the name consists of letters, digits and `_` and does not start with a
/// digit. A whole template `{name...}` becomes one word for each element of a list. All other braces stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template<'t> {
    pieces: Vec<Piece<'t>>,
}

/// The result of rendering a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedWord {
    /// One word of the command line.
    Word(String),
    /// No word, because its only argument is optional and was not given.
    LeftOut,
    /// It cannot be rendered: these arguments were not given.
    Missing(Vec<String>),
}

impl<'t> Template<'t> {
    /// Parses a template. Every text is a valid template.
    pub fn parse(text: &'t str) -> Template<'t> {
        let is_name = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && name.starts_with(|first: char| !first.is_ascii_digit())
        };
        let list = text.strip_prefix('{').and_then(|text| text.strip_suffix("...}"));
        if let Some(name) = list.filter(|name| is_name(name)) {
            return Template { pieces: vec![Piece::Words(name)] };
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut searched = 0;
        while let Some(open) = rest[searched..].find('{').map(|open| open + searched) {
            let inside = &rest[open + 1..];
            let length =
                inside.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            let is_name = 0 < length && !inside.starts_with(|first: char| first.is_ascii_digit());
            if is_name && inside[length..].starts_with('}') {
                if 0 < open {
                    pieces.push(Piece::Text(&rest[..open]));
                }
                pieces.push(Piece::Argument(&inside[..length]));
                rest = &inside[length + 1..];
                searched = 0;
            } else {
                searched = open + 1;
            }
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest));
        }
        Template { pieces }
    }

    /// Returns the names of the arguments that it uses.
    pub fn names(&self) -> BTreeSet<&'t str> {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Argument(name) | Piece::Words(name) => Some(*name),
            Piece::Text(_) => None,
        });
        names.collect()
    }

    /// Returns the argument whose text makes the rendered word begin with `-`. `None` if the word does not, or if the
    /// template itself begins with `-`. Numbers do not count.
    pub fn begins_option<'a>(&'a self, args: &Object) -> Option<&'a str> {
        for piece in &self.pieces {
            match piece {
                Piece::Argument(name) => match args.get(*name) {
                    Some(Json::String(text)) if text.is_empty() => {}
                    Some(Json::Null) => {}
                    Some(Json::String(text)) if text.starts_with('-') => return Some(name),
                    Some(_) | None => return None,
                },
                Piece::Words(name) => {
                    let begins = |word: &Json| word.as_str().is_some_and(|text| text.starts_with('-'));
                    return words_of(args.get(*name)?).iter().any(begins).then_some(name);
                }
                Piece::Text(_) => return None,
            }
        }
        None
    }

    /// Renders the template of a list: a word for each element. `None` for other templates, and without the argument.
    fn render_list(&self, args: &Object) -> Option<Vec<String>> {
        let [Piece::Words(name)] = self.pieces[..] else { return None };
        let word = |value: &Json| {
            let mut word = String::new();
            render_value(value, &mut word);
            word
        };
        Some(words_of(args.get(name)?).iter().map(word).collect())
    }

    /// Renders the template; `is_optional` returns whether the schema knows an argument and does not require it.
    pub fn render(&self, args: &Object, is_optional: impl Fn(&str) -> bool) -> RenderedWord {
        let names = self.names();
        let missing: Vec<String> =
            names.iter().filter(|name| !args.contains_key(**name)).map(|name| (*name).to_owned()).collect();
        if !missing.is_empty() {
            let only_optional = names.len() == 1 && is_optional(&missing[0]);
            return if only_optional { RenderedWord::LeftOut } else { RenderedWord::Missing(missing) };
        }
        let mut word = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => word.push_str(text),
                Piece::Argument(name) | Piece::Words(name) => render_value(&args[*name], &mut word),
            }
        }
        RenderedWord::Word(word)
    }
}

/// Appends a value: strings unquoted, nothing for `null`, everything else as JSON.
fn render_value(value: &Json, out: &mut String) {
    match value {
        Json::Null => {}
        Json::String(text) => out.push_str(text),
        Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => value.write_compact(out),
    }
}

/// Returns the elements of a list; any other value is its only element.
fn words_of(value: &Json) -> &[Json] {
    match value {
        Json::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// Returns the name of a word of a list. Names are in the order of the list.
fn list_name(template: &str, index: usize) -> String {
    format!("{template}[{:06}]", index + 1)
}

/// Returns the template that a rendered word comes from: its name, or the name before the number of its element.
pub(crate) fn template_name<'n>(templates: &BTreeMap<String, String>, rendered: &'n str) -> &'n str {
    match rendered.rsplit_once('[') {
        Some((name, _)) if !templates.contains_key(rendered) => name,
        _ => rendered,
    }
}

/// Renders every template of a table, in the order of its names.
pub(crate) fn render_all(
    templates: &BTreeMap<String, String>,
    args: &Object,
    is_optional: impl Fn(&str) -> bool,
) -> (BTreeMap<String, String>, Vec<MissingArgument>) {
    let mut words = BTreeMap::new();
    let mut missing = Vec::new();
    for (name, template) in templates {
        let template = Template::parse(template);
        if let Some(list) = template.render_list(args) {
            words.extend(list.into_iter().enumerate().map(|(index, word)| (list_name(name, index), word)));
            continue;
        }
        match template.render(args, &is_optional) {
            RenderedWord::Word(word) => {
                words.insert(name.clone(), word);
            }
            RenderedWord::LeftOut => {}
            RenderedWord::Missing(arguments) => {
                let template = name;
                missing.extend(
                    arguments
                        .into_iter()
                        .map(|argument| MissingArgument { template: template.clone(), argument }),
                );
            }
        }
    }
    (words, missing)
}

/// An argument that a template uses and that was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingArgument {
    /// The template's name in `argument_template`.
    pub(crate) template: String,
    /// The argument's name.
    pub(crate) argument: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_that_begins_a_word_with_a_dash_is_found() {
        for (template, args, expect) in [
            ("{a}", r#"{"a": "--to-comm=sh -c x"}"#, Some("a")),
            ("{a}", r#"{"a": "-"}"#, Some("a")),
            ("{a}.txt", r#"{"a": "-x"}"#, Some("a")),
            ("{a}{b}", r#"{"a": "", "b": "-x"}"#, Some("b")),
            ("{a}{b}", r#"{"a": null, "b": "-x"}"#, Some("b")),
            ("--name={a}", r#"{"a": "-x"}"#, None),
            ("-{a}", r#"{"a": "-x"}"#, None),
            (" {a}", r#"{"a": "-x"}"#, None),
            ("{a}", r#"{"a": -5}"#, None),
            ("{a}", r#"{"a": "-5"}"#, Some("a")),
            ("{a}{b}", r#"{"a": 5, "b": "-x"}"#, None),
            ("{a}", r#"{"a": "x-y"}"#, None),
            ("{a}", "{}", None),
        ] {
            let args = Json::parse_bytes(args.as_bytes(), brigade_core::Dialect::Strict).unwrap();
            let found = Template::parse(template);
            assert_eq!(found.begins_option(args.as_object().unwrap()), expect, "{template}");
        }
    }

    #[track_caller]
    fn check(template: &str, args: &str, expect: RenderedWord) {
        let args = Json::parse(args).unwrap();
        let rendered = Template::parse(template).render(args.as_object().unwrap(), |name| name != "path");
        assert_eq!(rendered, expect, "{template}");
    }

    fn word(text: &str) -> RenderedWord {
        RenderedWord::Word(text.to_owned())
    }

    #[test]
    fn values_are_rendered_as_json_writes_them() {
        check("{a}", r#"{"a":"x y; $(z)"}"#, word("x y; $(z)"));
        check("--n={a}", r#"{"a":1.50}"#, word("--n=1.50"));
        check("{a}", r#"{"a":123456789012345678901}"#, word("123456789012345678901"));
        check("{a}", r#"{"a":true}"#, word("true"));
        check("--x={a}", r#"{"a":null}"#, word("--x="));
        check("{a}", r#"{"a":["x","y"]}"#, word(r#"["x","y"]"#));
        check("{a}", r#"{"a":{"b":1,"a":"é"}}"#, word(r#"{"a":"é","b":1}"#));
        check("{a}", r#"{"a":"{b}","b":"x"}"#, word("{b}"));
    }

    #[test]
    fn each_element_of_a_list_is_a_word() {
        let templates = BTreeMap::from([("a".to_owned(), "{args...}".to_owned())]);
        let render = |args: &str| {
            let args = Json::parse_bytes(args.as_bytes(), brigade_core::Dialect::Strict).unwrap();
            let (words, missing) = render_all(&templates, args.as_object().unwrap(), |_| true);
            assert_eq!(missing, []);
            assert!(words.keys().all(|name| template_name(&templates, name) == "a"));
            words.into_values().collect::<Vec<_>>()
        };
        let many = (0..12).map(|number| format!("\"{number}\"")).collect::<Vec<_>>().join(",");
        assert_eq!(render(&format!("{{\"args\":[{many}]}}"))[9..], ["9", "10", "11"]);
        assert_eq!(render(r#"{"args":["a b","-x",3]}"#), ["a b", "-x", "3"]);
        assert_eq!(render(r#"{"args":[]}"#), [] as [&str; 0]);
        assert_eq!(render("{}"), [] as [&str; 0]);
        let begins = |args: &str| {
            let args = Json::parse_bytes(args.as_bytes(), brigade_core::Dialect::Strict).unwrap();
            Template::parse("{args...}").begins_option(args.as_object().unwrap()).is_some()
        };
        assert!(begins(r#"{"args":["a","-x"]}"#) && !begins(r#"{"args":["a",-3]}"#) && !begins("{}"));
    }

    #[test]
    fn other_braces_are_themselves() {
        check("{{a}}", r#"{"a":"x"}"#, word("{x}"));
        check("{} {1} {a b} {é} {", "{}", word("{} {1} {a b} {é} {"));
        check("plain", "{}", word("plain"));
        check("", "{}", word(""));
    }

    #[test]
    fn only_a_lone_optional_argument_is_left_out() {
        check("--mode={mode}", "{}", RenderedWord::LeftOut);
        check("{mode}{mode}", "{}", RenderedWord::LeftOut);
        check("{path}", "{}", RenderedWord::Missing(vec!["path".into()]));
        check("{mode}/{other}", r#"{"mode":"x"}"#, RenderedWord::Missing(vec!["other".into()]));
    }

    proptest! {
        #[test]
        fn a_template_of_one_argument_is_that_argument(text in any::<String>()) {
            let args = Json::object([("a", Json::from(text.as_str()))]);
            let rendered = Template::parse("{a}").render(args.as_object().unwrap(), |_| false);
            prop_assert_eq!(rendered, RenderedWord::Word(text));
        }

        #[test]
        fn any_text_is_a_template(text in any::<String>()) {
            let _ = Template::parse(&text).render(&Object::new(), |_| false);
        }
    }
}
