//! Objects with the places of their members in the text, for programs that edit a text in place.

use std::borrow::Cow;
use std::ops::Range;

use super::parse::{Dialect, JsonError, JsonErrorKind, locate, text};
use super::token::{Token, Tokens};

/// A member of an object, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMember<'a> {
    /// The decoded key.
    pub key: Cow<'a, str>,
    /// The bytes of the key, with its quotes.
    pub key_at: Range<usize>,
    /// The bytes of the value.
    pub value_at: Range<usize>,
    /// The byte of the comma after the value.
    pub comma: Option<usize>,
}

/// An object, and where its members are written. A key may occur twice.
///
/// ```
/// use brigade_core::{Dialect, json::PlacedObject};
///
/// let text = "{ \"a\": {\"b\": 1,}, // two\n}";
/// let object = PlacedObject::parse(text.as_bytes(), Dialect::WithComments)?;
/// let inner = object.inner(&object.members[0]).expect("an object");
/// assert_eq!(&text[inner.members[0].value_at.clone()], "1");
/// assert_eq!((object.members[0].comma, inner.range), (Some(16), 7..16));
/// # Ok::<(), brigade_core::JsonError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedObject<'a> {
    text: &'a str,
    dialect: Dialect,
    /// The bytes of the object, with its braces.
    pub range: Range<usize>,
    /// The members, in order.
    pub members: Vec<PlacedMember<'a>>,
    /// Whether the object, or something in it, ends with a comma behind the last member or element.
    pub has_trailing_comma: bool,
}

impl<'a> PlacedObject<'a> {
    /// Reads a document that is an object. The whole text is checked.
    ///
    /// # Errors
    /// Fails if the bytes are not an object in that dialect. Duplicate keys are not an error.
    pub fn parse(bytes: &'a [u8], dialect: Dialect) -> Result<PlacedObject<'a>, JsonError> {
        let text = text(bytes)?;
        let mut tokens = Tokens::new(text, dialect);
        let read = object(&mut tokens, 0, Tokens::skip).map_err(|kind| locate(bytes, tokens.at(), kind))?;
        let has_trailing_comma = tokens.has_trailing_comma();
        Ok(PlacedObject { text, dialect, range: read.0, members: read.1, has_trailing_comma })
    }

    /// Reads the value of a member, if it is an object.
    pub fn inner(&self, member: &PlacedMember<'a>) -> Option<PlacedObject<'a>> {
        let text = &self.text[member.value_at.clone()];
        let mut tokens = Tokens::new(text, self.dialect);
        let (range, members) = object(&mut tokens, member.value_at.start, Tokens::skip_checked).ok()?;
        let has_trailing_comma = tokens.has_trailing_comma();
        Some(PlacedObject { text: self.text, dialect: self.dialect, range, members, has_trailing_comma })
    }

    /// Returns the members with a key.
    pub fn all<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'s PlacedMember<'a>> {
        self.members.iter().filter(move |member| member.key == key)
    }
}

type ObjectMembers<'a> = (Range<usize>, Vec<PlacedMember<'a>>);

/// Passes a value that begins with a token.
type SkipFn<'a> = fn(&mut Tokens<'a>, Token<'a>) -> Result<(), JsonErrorKind>;

/// Reads an object that is the whole text. `offset` is added to every place.
fn object<'a>(
    tokens: &mut Tokens<'a>,
    offset: usize,
    skip: SkipFn<'a>,
) -> Result<ObjectMembers<'a>, JsonErrorKind> {
    if tokens.next()? != Token::BeginObject {
        tokens.blame(tokens.start());
        return Err(JsonErrorKind::ExpectedObject);
    }
    let start = tokens.start();
    let mut members: Vec<PlacedMember<'a>> = Vec::new();
    loop {
        let next = tokens.next()?;
        if let Some(last) = members.last_mut() {
            last.comma = tokens.comma().map(|at| at + offset).filter(|at| last.value_at.end <= *at);
        }
        let Token::Key(key) = next else { break };
        let key_start = tokens.start();
        // The key with its quotes; white space may follow before the colon.
        let key_at = key_start + offset..key_start + key.raw().len() + 2 + offset;
        let first = tokens.next()?;
        let value_start = tokens.start();
        skip(tokens, first)?;
        let value_at = value_start + offset..tokens.at() + offset;
        members.push(PlacedMember { key: key.decode(), key_at, value_at, comma: None });
    }
    let end = tokens.at();
    tokens.next()?;
    Ok((start + offset..end + offset, members))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Json;

    fn parts(text: &str) -> Vec<(&str, &str, Option<usize>)> {
        let object = PlacedObject::parse(text.as_bytes(), Dialect::WithComments).unwrap();
        assert_eq!(&text[object.range.clone()], text.trim().trim_start_matches('\u{feff}'));
        let part = |range: &Range<usize>| &text[range.clone()];
        object
            .members
            .iter()
            .map(|member| (part(&member.key_at), part(&member.value_at), member.comma))
            .collect()
    }

    #[test]
    fn places_are_those_of_the_text() {
        assert_eq!(parts("{}"), []);
        assert_eq!(
            parts("{\"a\" /*,*/ : 1 /*,*/ , \"\\u0062\": [1,2] // ,\n}"),
            [("\"a\"", "1", Some(21)), ("\"\\u0062\"", "[1,2]", None)]
        );
        assert_eq!(parts("{\"a\":{\"b\":1,},}"), [("\"a\"", "{\"b\":1,}", Some(13))]);
        assert_eq!(parts("\u{feff}{\"a\":1,\"a\":2}").len(), 2);
        let has = |text: &str| {
            PlacedObject::parse(text.as_bytes(), Dialect::WithComments).unwrap().has_trailing_comma
        };
        assert!(has("{\"a\":[1,]}") && has("{\"a\":1,/**/}") && !has("{\"a\":[1,2],\"b\":\",]\"} // ,}"));
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let check = |text: &str, place: (usize, usize), kind| {
            let error = PlacedObject::parse(text.as_bytes(), Dialect::WithComments).unwrap_err();
            assert_eq!((error.line, error.column, error.kind), (place.0, place.1, kind), "{text}");
        };
        check("\n []", (2, 2), JsonErrorKind::ExpectedObject);
        check("{\"a\":\n}", (2, 1), JsonErrorKind::ExpectedValue);
        check("{} x", (1, 4), JsonErrorKind::TrailingText);
        check("", (1, 1), JsonErrorKind::UnexpectedEnd);
    }

    proptest! {
        #[test]
        fn what_is_inside_is_read_as_a_document_of_its_own(
            text in r#"\{"a":\{"b":([\[\]{}:,"0-9e\-a-z/* ]|"/\*[\[,"]\*/"|"\\\\\""){0,16}\}\}"#,
        ) {
            for dialect in [Dialect::WithComments, Dialect::Strict] {
                let Ok(outer) = PlacedObject::parse(text.as_bytes(), dialect) else { continue };
                let Some(inner) = outer.inner(&outer.members[0]) else { continue };
                let start = outer.members[0].value_at.start;
                let own = PlacedObject::parse(&text.as_bytes()[outer.members[0].value_at.clone()], dialect).unwrap();
                let places = |object: &PlacedObject<'_>, offset: usize| {
                    let place = |member: &PlacedMember<'_>| {
                        let comma = member.comma.map(|comma| comma + offset);
                        (member.key.to_string(), member.value_at.start + offset, member.value_at.end + offset, comma)
                    };
                    (object.members.iter().map(place).collect::<Vec<_>>(), object.has_trailing_comma)
                };
                prop_assert_eq!(places(&inner, 0), places(&own, start));
            }
        }

        #[test]
        fn places_and_parsing_agree(text in r#"\{"a":[\[\]{}:,"0-9.eE+\-a-z/* ]{0,24}\}?"#) {
            let placed = PlacedObject::parse(text.as_bytes(), Dialect::WithComments);
            if let Ok(json) = Json::parse_bytes(text.as_bytes(), Dialect::WithComments) {
                let placed = placed.unwrap();
                for member in &placed.members {
                    let value = &text.as_bytes()[member.value_at.clone()];
                    let value = Json::parse_bytes(value, Dialect::WithComments).unwrap();
                    prop_assert_eq!(json.get(&member.key), Some(&value));
                }
            }
        }
    }
}
