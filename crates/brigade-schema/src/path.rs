//! Places in a schema or an instance.
//!
//! A path is a chain of borrowed steps on the stack, so walking allocates nothing. It becomes text only if there is
//! something to report.

use std::fmt::{self, Display, Formatter, Write};

/// The maximum length of a property name in characters. Longer names are truncated and end in `…`.
const LONGEST_NAME: usize = 120;

/// The path from the root to a place.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The whole document: `$`.
    Root,
    /// A keyword or a member of an instance: `.name`, or `["any name"]` if it is not an identifier.
    Key(&'a Path<'a>, &'a str),
    /// The schema of a property, shown like a member.
    Property(&'a Path<'a>, &'a str),
    /// An element of a list: `[3]`.
    Index(&'a Path<'a>, usize),
    /// The schema of all elements of a list: `[]`.
    Items(&'a Path<'a>),
}

impl<'a> Path<'a> {
    pub(crate) fn key(&'a self, name: &'a str) -> Path<'a> {
        Path::Key(self, name)
    }

    pub(crate) fn property(&'a self, name: &'a str) -> Path<'a> {
        Path::Property(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    pub(crate) fn items(&'a self) -> Path<'a> {
        Path::Items(self)
    }

    /// Returns the path as a JSON pointer, which names every keyword on the way: `/properties/a/items`.
    pub(crate) fn pointer(&self) -> String {
        let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
        match self {
            Path::Root => String::new(),
            Path::Key(parent, name) => format!("{}/{}", parent.pointer(), escape(name)),
            Path::Property(parent, name) => format!("{}/properties/{}", parent.pointer(), escape(name)),
            Path::Index(parent, index) => format!("{}/{index}", parent.pointer()),
            Path::Items(parent) => format!("{}/items", parent.pointer()),
        }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_char('$'),
            Path::Key(parent, name) | Path::Property(parent, name) if is_identifier(name) => {
                write!(f, "{parent}.{name}")
            }
            Path::Key(parent, name) | Path::Property(parent, name) => {
                write!(f, "{parent}[{}]", quote(name, LONGEST_NAME))
            }
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Items(parent) => write!(f, "{parent}[]"),
        }
    }
}

/// Returns whether a name can follow a dot: ASCII letters, digits, `_` and `$`, not starting with a digit.
pub(crate) fn is_identifier(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$';
    name.len() <= LONGEST_NAME
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

/// Writes `text` as a JSON string, cut after `longest` characters.
pub(crate) fn quote(text: &str, longest: usize) -> String {
    let shown = serde_json::Value::from(cut(text, longest));
    shown.to_string()
}

/// Cuts `text` after `longest` characters and marks the cut with `…`.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        assert_eq!(Path::Root.key(name).to_string(), expect);
    }

    #[test]
    fn identifiers_follow_a_dot() {
        check("a", "$.a");
        check("_x9", "$._x9");
        check("$defs", "$.$defs");
    }

    #[test]
    fn other_names_are_quoted() {
        check("", "$[\"\"]");
        check("a b", "$[\"a b\"]");
        check("9a", "$[\"9a\"]");
        check("a\"]\n", "$[\"a\\\"]\\n\"]");
        check("é", "$[\"é\"]");
    }

    #[test]
    fn long_names_are_cut() {
        check(&"é".repeat(130), &format!("$[\"{}…\"]", "é".repeat(120)));
    }

    #[test]
    fn steps_chain() {
        let list = Path::Root.key("a");
        let element = list.index(0);
        assert_eq!(element.key("b").to_string(), "$.a[0].b");
        assert_eq!(list.items().items().to_string(), "$.a[][]");
        let property = Path::Root.property("a/b~");
        assert_eq!(property.items().key("anyOf").index(1).pointer(), "/properties/a~1b~0/items/anyOf/1");
    }
}
