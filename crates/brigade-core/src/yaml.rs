//! YAML as values with places, from the events of a parser.
//!
//! Depth, length of lines and the number of values are bounded, also where aliases repeat them, and so is what anchors
//! and aliases copy. A text of several documents is refused. Scalars are those of the core schema; tags are ignored,
//! and `<<` is an ordinary key.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use thiserror::Error;

use crate::json::{Json, Object};

/// The maximum nesting depth.
const DEPTH: usize = 64;

/// The maximum number of values, including those that aliases repeat.
const VALUES: usize = 100_000;

/// The maximum number of bytes that anchors and aliases copy, with [`VALUE_OVERHEAD`] for each value.
const MAX_COPIED_BYTES: usize = 16 << 20;

/// The bytes of a value in addition to its text.
const VALUE_OVERHEAD: usize = 64;

/// The maximum length of a line, because the parser looks ahead to its end.
const LINE: usize = 64 << 10;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Why a text is not read, and where. The text is never quoted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum YamlError {
    /// It is not YAML.
    #[error("not valid YAML: {why}")]
    Invalid {
        /// The position.
        at: Position,
        /// The reason. The parser names kinds of characters and places, and never quotes the text.
        why: Cow<'static, str>,
    },
    /// It is nested deeper than 64 levels.
    #[error("nested too deep")]
    TooDeep(Position),
    /// A line has more than 64 KiB.
    #[error("the line is too long")]
    TooLong(Position),
    /// It has more than 100,000 values, including those that aliases repeat.
    #[error("too many values")]
    TooMany(Position),
    /// Its anchors and aliases copy more than 16 MiB.
    #[error("anchors and aliases repeat too much text")]
    TooMuch(Position),
    /// An alias names no anchor, or a value that contains the alias.
    #[error("an alias of nothing, or of what it is in")]
    Alias(Position),
    /// Another document follows.
    #[error("a second document begins here; a text holds one")]
    Several(Position),
}

impl YamlError {
    /// Returns the position.
    pub fn at(&self) -> Position {
        match *self {
            YamlError::Invalid { at, .. }
            | YamlError::TooDeep(at)
            | YamlError::TooLong(at)
            | YamlError::TooMany(at)
            | YamlError::TooMuch(at)
            | YamlError::Alias(at)
            | YamlError::Several(at) => at,
        }
    }
}

/// A value and where it begins.
#[derive(Clone, Debug)]
pub struct Node {
    /// The position.
    pub at: Position,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text, a number, a boolean or null.
    Scalar(Json),
    /// A list.
    List(Vec<Node>),
    /// A map. A key may occur twice.
    Map(Vec<(Key, Node)>),
}

/// A key and its position.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its text; `?` for a list or map.
    pub text: String,
    /// The position.
    pub at: Position,
}

impl Node {
    /// Returns the value of the last member with a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(members) = &self.value else { return None };
        members.iter().rev().find(|(member, _)| member.text == key).map(|(_, value)| value)
    }

    /// Converts to a value without places. Of equal keys the last one counts.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Scalar(json) => json.clone(),
            Value::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(members) => {
                let members = members.iter().map(|(key, value)| (key.text.clone(), value.to_json()));
                Json::Object(members.collect::<Object>())
            }
        }
    }

    /// Returns the first key in the text that occurs a second time in one map.
    pub fn key_twice(&self) -> Option<&Key> {
        match &self.value {
            Value::Scalar(_) => None,
            Value::List(items) => items.iter().find_map(Node::key_twice),
            Value::Map(members) => {
                let mut known = HashSet::new();
                let mut twice = |key: &str| !known.insert(key.to_owned());
                members
                    .iter()
                    .find_map(|(key, value)| if twice(&key.text) { Some(key) } else { value.key_twice() })
            }
        }
    }

    fn size(&self) -> Size {
        let own = |bytes: usize| Size { values: 1, bytes: VALUE_OVERHEAD + bytes };
        match &self.value {
            Value::Scalar(Json::String(text)) => own(text.len()),
            Value::Scalar(_) => own(0),
            Value::List(items) => items.iter().map(Node::size).fold(own(0), Size::and),
            Value::Map(members) => {
                let of_key = |key: &Key| Size { values: 0, bytes: VALUE_OVERHEAD + key.text.len() };
                members.iter().fold(own(0), |size, (key, value)| size.and(of_key(key)).and(value.size()))
            }
        }
    }
}

/// How large a copy of a value is.
#[derive(Clone, Copy)]
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn and(self, other: Size) -> Size {
        Size { values: self.values + other.values, bytes: self.bytes + other.bytes }
    }
}

/// A list or map that is not closed yet.
struct OpenNode {
    at: Position,
    anchor: usize,
    key: Option<Key>,
    value: Value,
}

/// Reads the document of a text; `None` if it is empty.
///
/// # Errors
/// Fails if the text is not YAML, exceeds a limit, or has several documents.
pub fn parse(text: &str) -> Result<Option<Node>, YamlError> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(line) = text.lines().position(|line| LINE < line.len()) {
        return Err(YamlError::TooLong(Position { line: line + 1, column: 1 }));
    }
    let mut anchors: HashMap<usize, Node> = HashMap::new();
    let mut open: Vec<OpenNode> = Vec::new();
    let mut values = 0;
    let mut copied = 0;
    let mut root: Option<Node> = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| YamlError::Invalid { at: place(error.marker()), why: reason(error.info()) })?;
        let at = place(&span.start);
        let (node, anchor) = match event {
            Event::Scalar(scalar, style, anchor, _) => {
                let json = if style == ScalarStyle::Plain { plain(&scalar) } else { Json::from(&*scalar) };
                (Node { at, value: Value::Scalar(json) }, anchor)
            }
            Event::Alias(anchor) => {
                let node = anchors.get(&anchor).ok_or(YamlError::Alias(at))?;
                let size = node.size();
                values += size.values;
                if VALUES < values {
                    return Err(YamlError::TooMany(at));
                }
                copied += size.bytes;
                if MAX_COPIED_BYTES < copied {
                    return Err(YamlError::TooMuch(at));
                }
                (Node { at, ..node.clone() }, 0)
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if DEPTH <= open.len() {
                    return Err(YamlError::TooDeep(at));
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                let value = if is_list { Value::List(Vec::new()) } else { Value::Map(Vec::new()) };
                open.push(OpenNode { at, anchor, key: None, value });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(OpenNode { at, anchor, value, .. }) = open.pop() else { continue };
                (Node { at, value }, anchor)
            }
            Event::DocumentStart(_) if root.is_some() => return Err(YamlError::Several(at)),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => continue,
        };
        values += 1;
        if VALUES < values {
            return Err(YamlError::TooMany(at));
        }
        if 0 < anchor {
            copied += node.size().bytes;
            if MAX_COPIED_BYTES < copied {
                return Err(YamlError::TooMuch(node.at));
            }
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            None => root = Some(node),
            Some(OpenNode { value: Value::List(items), .. }) => items.push(node),
            Some(OpenNode { value: Value::Map(members), key, .. }) => match key.take() {
                Some(key) => members.push((key, node)),
                None => *key = Some(Key { at: node.at, text: key_text(&node) }),
            },
            Some(OpenNode { value: Value::Scalar(_), .. }) => {}
        }
    }
    Ok(root)
}

/// Returns the reason of an error, in other words where the parser's are not those of a person who wrote the text.
fn reason(info: &str) -> Cow<'static, str> {
    const OTHER_WORDS: &[(&str, &str)] = &[
        ("mapping values are not allowed", "`: ` is not allowed here; put a text that contains it in quotes"),
        ("unexpected character", "a text cannot begin with this character; put it in quotes"),
        ("simple key expect", "`:` is missing after a key"),
        ("unexpected eof", "the text ends too early"),
    ];
    let other = OTHER_WORDS.iter().find(|(start, _)| info.starts_with(start));
    other.map_or_else(|| Cow::Owned(info.to_owned()), |(_, words)| Cow::Borrowed(*words))
}

fn place(marker: &Marker) -> Position {
    Position { line: marker.line().max(1), column: marker.col() + 1 }
}

fn key_text(node: &Node) -> String {
    match &node.value {
        Value::Scalar(Json::String(text)) => text.clone(),
        Value::Scalar(other) => other.to_compact(),
        Value::List(_) | Value::Map(_) => "?".to_owned(),
    }
}

/// Reads a scalar without quotes.
fn plain(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Bool(true),
        "false" | "False" | "FALSE" => Json::Bool(false),
        _ => {
            let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            // Numbers that JSON writes in the same way; others stay texts.
            let number = is_number.then(|| Json::parse(text).ok()).flatten();
            match number {
                Some(number @ Json::Number(_)) => number,
                _ => Json::from(text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        parse(text).unwrap().map_or_else(String::new, |node| node.to_json().to_compact())
    }

    #[track_caller]
    fn refused(text: &str, expect: YamlError) {
        assert_eq!(parse(text).unwrap_err(), expect);
    }

    fn at(line: usize, column: usize) -> Position {
        Position { line, column }
    }

    #[test]
    fn values_are_those_of_the_core_schema() {
        let text = "\u{feff}a: 1\nb: [x, 'true', true, ~, 1.5, 012, \"2\"]\nc: {d: }\n# end\n";
        assert_eq!(json(text), r#"{"a":1,"b":["x","true",true,null,1.5,"012","2"],"c":{"d":null}}"#);
        assert_eq!(json("---\na: 1\na: 2\n...\n"), r#"{"a":2}"#);
        assert_eq!(
            json("a: &x {b: 1}\nc: *x\nd: {<<: *x}"),
            r#"{"a":{"b":1},"c":{"b":1},"d":{"<<":{"b":1}}}"#
        );
        assert_eq!((json(""), json("# only\n")), (String::new(), String::new()));
    }

    #[test]
    fn places_are_lines_and_columns() {
        let node = parse("a:\n  b: c\n").unwrap().unwrap();
        let Value::Map(members) = &node.value else { panic!() };
        let Value::Map(inner) = &members[0].1.value else { panic!() };
        assert_eq!((members[0].0.at, inner[0].0.at, inner[0].1.at), (at(1, 1), at(2, 3), at(2, 6)));
    }

    #[test]
    fn a_key_that_stands_twice_is_found() {
        let twice =
            |text: &str| parse(text).unwrap().unwrap().key_twice().map(|key| (key.text.clone(), key.at));
        assert_eq!(twice("a: {b: 1}\nc: [{b: 1}, {b: 2}]\n"), None);
        assert_eq!(twice("a: 1\nb:\n- c: 1\n  d: 2\n  c: 3\na: 2\n"), Some(("c".to_owned(), at(5, 3))));
        assert_eq!(twice("{a: 1, 'a': 2}"), Some(("a".to_owned(), at(1, 8))));
    }

    #[test]
    fn an_error_has_its_reason_and_not_the_text() {
        let check = |text: &str, place: Position, why: &str| {
            let error = parse(text).unwrap_err();
            assert_eq!(error.at(), place, "{text}: {error}");
            assert!(error.to_string().starts_with(&format!("not valid YAML: {why}")), "{text}: {error}");
            assert!(!error.to_string().contains("hunter"), "{error}");
        };
        check(
            "a: hunter: hunter",
            at(1, 10),
            "`: ` is not allowed here; put a text that contains it in quotes",
        );
        check("a: @hunter", at(1, 4), "a text cannot begin with this character");
        check("a: \"hunter", at(1, 4), "while scanning a quoted scalar, found unexpected end of stream");
        check("a: \"\\hunter\"", at(1, 4), "while parsing a quoted scalar, found unknown escape character");
        check("a:\n  - hunter\n b: hunter", at(3, 2), "while parsing a block mapping");
        check("a: *hunter", at(1, 4), "while parsing node, found unknown anchor");
    }

    #[test]
    fn hostile_texts_are_refused() {
        assert!(matches!(parse("a: ["), Err(YamlError::Invalid { at: place, .. }) if place == at(2, 1)));
        refused("a: 1\n---\nb: 2\n", YamlError::Several(at(2, 1)));
        refused("a: 1\n---\n", YamlError::Several(at(2, 1)));
        assert!(matches!(parse("a: 1\n---\nb: [1\n"), Err(YamlError::Several(_))));
        assert!(matches!(parse(&"[".repeat(100_000)), Err(YamlError::TooLong(_))));
        assert!(matches!(
            parse(&"[\n".repeat(100_000)),
            Err(YamlError::Invalid { .. } | YamlError::TooDeep(_))
        ));
        assert!(matches!(parse(&"- ".repeat(10_000)), Err(YamlError::TooDeep(_))));
        assert!(matches!(parse("a: *x"), Err(YamlError::Invalid { .. } | YamlError::Alias(_))));
        assert!(matches!(parse("a: &x [*x]"), Err(YamlError::Invalid { .. } | YamlError::Alias(_))));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let list = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        assert!(matches!(parse(&bomb), Err(YamlError::TooMany(_))));
    }

    #[test]
    fn what_anchors_and_aliases_copy_is_bounded() {
        // Few values that are long, and many values of which each is in many anchors.
        let block = format!("  {}\n", "x".repeat(1_000)).repeat(700);
        let of_text = |aliases: usize| format!("a: &a |\n{block}b:\n{}", "- *a\n".repeat(aliases));
        assert!(parse(&of_text(10)).is_ok());
        assert!(matches!(parse(&of_text(60_000)), Err(YamlError::TooMuch(_))));
        let of_key = format!("a: &a {{? \"{}\" : 1}}\nb:\n{}", "x".repeat(60_000), "- *a\n".repeat(20_000));
        assert!(matches!(parse(&of_key), Err(YamlError::TooMuch(_))));
        let mut nested: String = (0..60).map(|level| format!("{}- &a{level}\n", " ".repeat(level))).collect();
        nested.push_str(&format!("{}- x\n", " ".repeat(60)).repeat(30_000));
        assert!(matches!(parse(&nested), Err(YamlError::TooMuch(_))));
    }
}
