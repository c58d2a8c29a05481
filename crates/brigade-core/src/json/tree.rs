//! Documents with the place of every value, for files that are checked value by value or edited in place.

use std::borrow::Cow;
use std::ops::Range;

use super::parse::{Dialect, JsonError, locate, text};
use super::token::{Token, Tokens};
use super::{Json, JsonErrorKind, Number};

/// A value, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedValue<'a> {
    /// The bytes of the value.
    pub at: Range<usize>,
    /// The value.
    pub data: PlacedData<'a>,
    /// The byte of the comma after it, as a member or element.
    pub comma: Option<usize>,
}

/// What a placed value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacedData<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(&'a str),
    /// A decoded string.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<PlacedValue<'a>>),
    /// The members of an object, in order. A key may occur twice.
    Object(Vec<PlacedEntry<'a>>),
}

/// A member of an object with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedEntry<'a> {
    /// The decoded key.
    pub key: Cow<'a, str>,
    /// The bytes of the key, with its quotes.
    pub key_at: Range<usize>,
    /// The value.
    pub value: PlacedValue<'a>,
}

impl<'a> PlacedValue<'a> {
    /// Reads one document. Duplicate keys are kept, for the caller to report; a byte order mark is skipped.
    ///
    /// ```
    /// use brigade_core::json::{Dialect, PlacedValue};
    ///
    /// let value = PlacedValue::parse(b"{\"a\": 1, \"a\": 2}", Dialect::Strict)?;
    /// assert_eq!(value.members().iter().map(|member| member.value.at.clone()).collect::<Vec<_>>(), [6..7, 14..15]);
    /// # Ok::<(), brigade_core::JsonError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the bytes are not JSON in that dialect.
    pub fn parse(bytes: &'a [u8], dialect: Dialect) -> Result<PlacedValue<'a>, JsonError> {
        let whole = text(bytes)?;
        let offset = if whole.starts_with('\u{feff}') { 3 } else { 0 };
        let mut tokens = Tokens::new(&whole[offset..], dialect);
        document(&mut tokens, offset).map_err(|kind| locate(bytes, tokens.at() + offset, kind))
    }

    /// Like [`PlacedValue::parse`], for a document that has to be an object.
    ///
    /// # Errors
    /// Fails if the bytes are not an object in that dialect.
    pub fn parse_object(bytes: &'a [u8], dialect: Dialect) -> Result<PlacedValue<'a>, JsonError> {
        let value = PlacedValue::parse(bytes, dialect)?;
        if value.is_object() {
            return Ok(value);
        }
        Err(locate(bytes, value.at.start, JsonErrorKind::ExpectedObject))
    }

    /// Returns whether this is an object.
    pub fn is_object(&self) -> bool {
        matches!(self.data, PlacedData::Object(_))
    }

    /// Returns the members with a key, if this is an object.
    pub fn all<'s, 'k>(
        &'s self,
        key: &'k str,
    ) -> impl Iterator<Item = &'s PlacedEntry<'a>> + use<'s, 'k, 'a> {
        self.members().iter().filter(move |member| member.key == key)
    }

    /// Returns whether a list or object in it has a comma after the last element or member.
    pub fn has_trailing_comma(&self) -> bool {
        let values: Vec<&PlacedValue<'a>> = match &self.data {
            PlacedData::Array(elements) => elements.iter().collect(),
            PlacedData::Object(members) => members.iter().map(|member| &member.value).collect(),
            PlacedData::Null | PlacedData::Bool(_) | PlacedData::Number(_) | PlacedData::String(_) => {
                Vec::new()
            }
        };
        values.last().is_some_and(|last| last.comma.is_some())
            || values.iter().any(|value| value.has_trailing_comma())
    }

    /// Returns the members, if this is an object.
    pub fn members(&self) -> &[PlacedEntry<'a>] {
        match &self.data {
            PlacedData::Object(members) => members,
            _ => &[],
        }
    }

    /// Returns the string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let PlacedData::String(text) = &self.data { Some(text) } else { None }
    }

    /// Returns the kind of the value with its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self.data {
            PlacedData::Null => "null",
            PlacedData::Bool(_) => "a boolean",
            PlacedData::Number(_) => "a number",
            PlacedData::String(_) => "a string",
            PlacedData::Array(_) => "a list",
            PlacedData::Object(_) => "an object",
        }
    }

    /// Converts to a value without places. Of members with the same key, the first one counts.
    pub fn to_json(&self) -> Json {
        match &self.data {
            PlacedData::Null => Json::Null,
            PlacedData::Bool(value) => Json::Bool(*value),
            PlacedData::Number(digits) => Json::Number(Number::from_checked(digits)),
            PlacedData::String(text) => Json::String(text.clone().into_owned()),
            PlacedData::Array(elements) => Json::Array(elements.iter().map(PlacedValue::to_json).collect()),
            PlacedData::Object(members) => {
                let reversed = members.iter().rev();
                Json::object(reversed.map(|member| (&*member.key, member.value.to_json())))
            }
        }
    }
}

fn document<'a>(tokens: &mut Tokens<'a>, offset: usize) -> Result<PlacedValue<'a>, JsonErrorKind> {
    let first = tokens.next()?;
    let value = value(tokens, first, offset)?;
    // Only the end of the document can follow.
    tokens.next().map(|_| value)
}

fn value<'a>(
    tokens: &mut Tokens<'a>,
    first: Token<'a>,
    offset: usize,
) -> Result<PlacedValue<'a>, JsonErrorKind> {
    let start = tokens.start() + offset;
    let data = match first {
        Token::Null => PlacedData::Null,
        Token::Bool(value) => PlacedData::Bool(value),
        Token::Number(digits) => PlacedData::Number(digits),
        Token::Text(text) => PlacedData::String(text.decode()),
        Token::BeginArray => {
            let mut elements: Vec<PlacedValue<'a>> = Vec::new();
            loop {
                let next = tokens.next()?;
                note_comma(elements.last_mut(), tokens, offset);
                match next {
                    Token::EndArray => break PlacedData::Array(elements),
                    element => elements.push(value(tokens, element, offset)?),
                }
            }
        }
        Token::BeginObject => {
            let mut members: Vec<PlacedEntry<'a>> = Vec::new();
            loop {
                let next = tokens.next()?;
                note_comma(members.last_mut().map(|last| &mut last.value), tokens, offset);
                let Token::Key(key) = next else { break };
                let key_start = tokens.start() + offset;
                let key_at = key_start..key_start + key.raw().len() + 2;
                let first = tokens.next()?;
                let value = value(tokens, first, offset)?;
                members.push(PlacedEntry { key: key.decode(), key_at, value });
            }
            PlacedData::Object(members)
        }
        Token::Key(_) | Token::EndArray | Token::EndObject | Token::End => {
            return Err(JsonErrorKind::ExpectedValue);
        }
    };
    Ok(PlacedValue { at: start..tokens.at() + offset, data, comma: None })
}

/// Notes the comma after the last member or element.
fn note_comma(last: Option<&mut PlacedValue<'_>>, tokens: &Tokens<'_>, offset: usize) {
    if let Some(last) = last {
        last.comma = tokens.comma().map(|at| at + offset).filter(|at| last.at.end <= *at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::any_json;
    use super::*;

    #[test]
    fn places_are_those_of_the_text() {
        let text = "\u{feff} {\"a\" : [1, {\"b\": \"\\u0041\"}], \"a\":null}";
        let value = PlacedValue::parse(text.as_bytes(), Dialect::Strict).unwrap();
        let part = |range: &Range<usize>| &text[range.clone()];
        let [first, second] = value.members() else { panic!("two members") };
        assert_eq!((part(&first.key_at), part(&first.value.at)), ("\"a\"", "[1, {\"b\": \"\\u0041\"}]"));
        assert_eq!((part(&second.key_at), part(&second.value.at)), ("\"a\"", "null"));
        let PlacedData::Array(elements) = &first.value.data else { panic!("a list") };
        assert_eq!(part(&elements[1].members()[0].value.at), "\"\\u0041\"");
        assert_eq!(elements[1].members()[0].value.as_str(), Some("A"));
        assert_eq!(value.to_json().to_compact(), "{\"a\":[1,{\"b\":\"A\"}]}");
    }

    #[test]
    fn commas_have_their_places() {
        let parts = |text: &str| {
            let value = PlacedValue::parse_object(text.as_bytes(), Dialect::WithComments).unwrap();
            let part =
                |member: &PlacedEntry<'_>| (text[member.value.at.clone()].to_owned(), member.value.comma);
            (value.members().iter().map(part).collect::<Vec<_>>(), value.has_trailing_comma())
        };
        let part = |value: &str, comma| (value.to_owned(), comma);
        assert_eq!(parts("{}"), (vec![], false));
        assert_eq!(
            parts("{\"a\" /*,*/ : 1 /*,*/ , \"\\u0062\": [1,2] // ,\n}"),
            (vec![part("1", Some(21)), part("[1,2]", None)], false)
        );
        assert_eq!(parts("{\"a\":{\"b\":1,},}"), (vec![part("{\"b\":1,}", Some(13))], true));
        assert_eq!(parts("\u{feff}{\"a\":1,\"a\":2}").0.len(), 2);
        assert!(parts("{\"a\":[1,]}").1 && parts("{\"a\":1,/**/}").1 && !parts("{\"b\":\",]\"} // ,}").1);
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let check = |text: &str, place: (usize, usize), kind| {
            let error = PlacedValue::parse_object(text.as_bytes(), Dialect::WithComments).unwrap_err();
            assert_eq!((error.line, error.column, error.kind), (place.0, place.1, kind), "{text}");
        };
        check("\n []", (2, 2), JsonErrorKind::ExpectedObject);
        check("{\"a\":\n}", (2, 1), JsonErrorKind::ExpectedValue);
        check("{} x", (1, 4), JsonErrorKind::TrailingText);
        check("", (1, 1), JsonErrorKind::UnexpectedEnd);
    }

    #[test]
    fn an_error_has_the_place_that_parsing_gives() {
        for text in ["", "{\"a\":\n 1,}", "[1 2]", "{} x", "\"\\x\""] {
            let expect = Json::parse(text).unwrap_err();
            assert_eq!(PlacedValue::parse(text.as_bytes(), Dialect::Strict), Err(expect), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_values_are_those_of_parsing(json in any_json()) {
            let text = json.to_pretty();
            let placed = PlacedValue::parse(text.as_bytes(), Dialect::Strict).unwrap();
            prop_assert_eq!(placed.to_json(), json);
            for member in placed.members() {
                let again = Json::parse(&text[member.value.at.clone()]).unwrap();
                prop_assert_eq!(again, member.value.to_json());
            }
        }
    }
}
