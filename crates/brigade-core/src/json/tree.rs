//! Whole documents with the place of every value, for files that people write and that are checked value by value.

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
            let mut elements = Vec::new();
            loop {
                match tokens.next()? {
                    Token::EndArray => break PlacedData::Array(elements),
                    element => elements.push(value(tokens, element, offset)?),
                }
            }
        }
        Token::BeginObject => {
            let mut members = Vec::new();
            while let Token::Key(key) = tokens.next()? {
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
    Ok(PlacedValue { at: start..tokens.at() + offset, data })
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
