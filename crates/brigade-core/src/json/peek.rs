//! Looking into an object without building a value of it.
//!
//! The whole text is checked; the members of the outermost object are handed out as they are written. Ten times as fast
//! as parsing, which is what lets an index of records be rebuilt while a person waits.

use std::borrow::Cow;

use super::parse::{JsonError, JsonErrorKind, locate, text};
use super::token::{Text, Token, Tokens};
use super::{Dialect, Json};

/// A value as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Returns the value's text.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Returns the text of a string.
    pub fn text(self) -> Option<Cow<'a, str>> {
        match Tokens::new(self.0, Dialect::Lenient).next() {
            Ok(Token::Text(text)) => Some(text.decode()),
            Ok(_) | Err(_) => None,
        }
    }

    /// Returns an integer that fits 64 bits.
    pub fn integer(self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Returns an integer that is not negative.
    pub fn natural(self) -> Option<u64> {
        self.integer().and_then(|number| number.try_into().ok())
    }

    /// Parses the value.
    ///
    /// # Errors
    /// When the dialect is stricter than the one in which it was found.
    pub fn parse(self, dialect: Dialect) -> Result<Json, JsonError> {
        Json::parse_bytes(self.0.as_bytes(), dialect)
    }
}

/// Walks over the members of the object that a text in [`Dialect::Lenient`] is; a key that stands twice is found twice.
///
/// # Errors
/// When the text is not an object in that dialect. Members may have been found before.
pub fn members<'a>(bytes: &'a [u8], mut found: impl FnMut(Text<'a>, Raw<'a>)) -> Result<(), JsonError> {
    let text = text(bytes)?;
    let mut tokens = Tokens::new(text, Dialect::Lenient);
    walk(&mut tokens, text, &mut found).map_err(|kind| locate(bytes, tokens.at(), kind))
}

fn walk<'a>(
    tokens: &mut Tokens<'a>,
    text: &'a str,
    found: &mut impl FnMut(Text<'a>, Raw<'a>),
) -> Result<(), JsonErrorKind> {
    if tokens.next()? != Token::BeginObject {
        return Err(JsonErrorKind::ExpectedObject);
    }
    while let Token::Key(key) = tokens.next()? {
        let first = tokens.next()?;
        let start = tokens.start();
        tokens.skip(first)?;
        found(key, Raw(&text[start..tokens.at()]));
    }
    tokens.next().map(|_| ())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Object;

    /// The members by peeking, in the form that parsing gives.
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
    fn peeking_takes_what_parsing_takes() {
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
    fn values_are_read_when_they_are_what_is_asked_for() {
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
