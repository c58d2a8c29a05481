//! Reads the members of an object without building a value.
//!
//! The whole text is checked. Each member of the outermost object is passed on as it is written. This is about ten
//! times as fast as parsing, so indexes can be rebuilt while a user waits.

use std::borrow::Cow;
use std::ops::Range;

use super::parse::{JsonError, JsonErrorKind, locate, text};
use super::token::{Text, Token, Tokens};
use super::{Dialect, Json};

/// A JSON value as it is written in the text.
#[derive(Clone, Copy, Debug)]
pub struct RawJson<'a>(pub(super) &'a str);

impl<'a> RawJson<'a> {
    /// Returns the JSON text of the value.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Returns the string, if this is one.
    pub fn text(self) -> Option<Cow<'a, str>> {
        match Tokens::new(self.0, Dialect::Lenient).next() {
            Ok(Token::Text(text)) => Some(text.decode()),
            Ok(_) | Err(_) => None,
        }
    }

    /// Returns the number, if it is an integer that fits in 64 bits.
    pub fn integer(self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Returns the number, if it is a non-negative integer.
    pub fn natural(self) -> Option<u64> {
        self.integer().and_then(|number| number.try_into().ok())
    }

    /// Parses the value.
    ///
    /// # Errors
    /// Fails if the dialect is stricter than the one the value was read in.
    pub fn parse(self, dialect: Dialect) -> Result<Json, JsonError> {
        Json::parse_bytes(self.0.as_bytes(), dialect)
    }
}

/// Calls `found` for each member of an object in [`Dialect::Lenient`]. A duplicate key is reported twice.
///
/// # Errors
/// Fails if the text is not an object in that dialect. `found` may have been called before.
pub fn members<'a>(bytes: &'a [u8], mut found: impl FnMut(Text<'a>, RawJson<'a>)) -> Result<(), JsonError> {
    let text = text(bytes)?;
    let found = |member: PlacedMember<'a>| found(member.key, RawJson(&text[member.value]));
    placed_members(text, Dialect::Lenient, found).map(|_| ())
}

/// A member of an object, and where it is written.
#[derive(Clone, Debug)]
pub struct PlacedMember<'a> {
    /// The key.
    pub key: Text<'a>,
    /// The byte at which the key begins.
    pub key_at: usize,
    /// The bytes of the value.
    pub value: Range<usize>,
}

/// Calls `found` for each member of an object. Returns whether a list or object in the text has a trailing comma.
///
/// The whole text is checked, and nothing of it is kept, so a large text needs no memory.
///
/// # Errors
/// Fails if the text is not an object in that dialect. `found` may have been called before.
pub fn placed_members<'a>(
    text: &'a str,
    dialect: Dialect,
    mut found: impl FnMut(PlacedMember<'a>),
) -> Result<bool, JsonError> {
    let mut tokens = Tokens::new(text, dialect);
    walk(&mut tokens, &mut found).map_err(|kind| locate(text.as_bytes(), tokens.at(), kind))?;
    Ok(tokens.has_trailing_comma())
}

fn walk<'a>(tokens: &mut Tokens<'a>, found: &mut impl FnMut(PlacedMember<'a>)) -> Result<(), JsonErrorKind> {
    let first = tokens.next()?;
    if first != Token::BeginObject {
        tokens.blame(tokens.start());
        return Err(JsonErrorKind::ExpectedObject);
    }
    loop {
        let next = tokens.next()?;
        let key_at = tokens.start();
        let Token::Key(key) = next else { break };
        let first = tokens.next()?;
        let start = tokens.start();
        tokens.skip(first)?;
        found(PlacedMember { key, key_at, value: start..tokens.at() });
    }
    tokens.next().map(|_| ())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Object;

    /// Reads the members by peeking, in the form that parsing returns.
    fn peeked(line: &[u8]) -> Option<Json> {
        let mut object = Object::new();
        members(line, |key, value| {
            object.insert(key.decode().into_owned(), value.parse(Dialect::Lenient).unwrap());
        })
        .ok()?;
        Some(Json::Object(object))
    }

    fn parsed(line: &[u8]) -> Option<Json> {
        Json::parse_bytes(line, Dialect::Lenient).ok().filter(|json| json.as_object().is_some())
    }

    #[track_caller]
    fn check(line: &str) {
        assert_eq!(peeked(line.as_bytes()), parsed(line.as_bytes()), "{line}");
    }

    #[test]
    fn peeking_accepts_what_parsing_accepts() {
        check(r#"{"a":1,"a":[NaN,-Infinity,{"b":"\u00e9\n"}],"c":1e400}"#);
        check("\u{feff} {\"a\" : \"\\ud800\"} ");
        check("[1]");
        check("{\"a\":01}");
        check("{\"a\":\"\t\"}");
        check(r#"{"a":"\x"}"#);
        check(r#"{"a":1,}"#);
        check(r#"{"a":1} x"#);
        check(r#"{"a":nul}"#);
        check(&format!("{{\"a\":{}{}}}", "[".repeat(127), "]".repeat(127)));
        check(&format!("{{\"a\":{}{}}}", "[".repeat(128), "]".repeat(128)));
        assert!(members(b"{\"a\":\"\xff\"}", |_, _| ()).is_err());
    }

    #[test]
    fn values_are_returned_only_as_their_own_type() {
        let mut found = Vec::new();
        members(br#"{"a":"\u0041b","b":7,"c":-7,"d":1.0,"e":[]}"#, |key, value| {
            found.push((key.raw(), value.text().map(Cow::into_owned), value.integer(), value.natural()));
        })
        .unwrap();
        let expect = [
            ("a", Some("Ab".to_owned()), None, None),
            ("b", None, Some(7), Some(7)),
            ("c", None, Some(-7), None),
            ("d", None, None, None),
            ("e", None, None, None),
        ];
        assert_eq!(found, expect);
    }

    #[test]
    fn members_have_their_places() {
        let text = "\u{feff}{ \"a\" : [1, 2,], /* , */ \"\\u0062\":{}\n}";
        let mut found = Vec::new();
        let has_comma = placed_members(text, Dialect::WithComments, |member| {
            let key = member.key.decode().into_owned();
            found.push((key, member.key_at, text[member.value].to_owned()));
        });
        let expect = [("a".to_owned(), 5, "[1, 2,]".to_owned()), ("b".to_owned(), 28, "{}".to_owned())];
        assert_eq!((has_comma, found.as_slice()), (Ok(true), expect.as_slice()));
        assert_eq!(placed_members("{\"a\":[1]}", Dialect::WithComments, |_| ()), Ok(false));
        let error = placed_members("\n [1]", Dialect::Strict, |_| ()).unwrap_err();
        assert_eq!((error.line, error.column, error.kind), (2, 2, JsonErrorKind::ExpectedObject));
    }

    proptest! {
        #[test]
        fn peeking_and_parsing_agree(text in r#"\{"a":[\[\]{}:,"0-9.eE+\-a-zNI\\ ]{0,24}\}?"#) {
            prop_assert_eq!(peeked(text.as_bytes()), parsed(text.as_bytes()));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = members(&bytes, |_, raw| { let _ = (raw.text(), raw.natural()); });
        }
    }
}
