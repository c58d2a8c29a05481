//! The parser: builds values from tokens. Errors carry a position, never the text.

use std::collections::btree_map::Entry;

use thiserror::Error;

use super::token::{MAX_DEPTH, Token, Tokens};
use super::{Json, Number, Object};

/// A JSON dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// RFC 8259, with unique keys in each object.
    Strict,
    /// Also accepts `NaN`, `Infinity`, duplicate keys (the last one wins) and lone escaped surrogates (read as U+FFFD).
    /// A byte order mark is skipped.
    Lenient,
    /// JSONC, as used in settings files: strict, but with `//` and `/* */` comments and trailing commas. A byte order
    /// mark is skipped.
    WithComments,
}

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct JsonError {
    /// Line of the error, from 1.
    pub line: usize,
    /// Column of the error in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: JsonErrorKind,
}

/// What is wrong with a text that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text ends inside a value.
    #[error("unexpected end of text")]
    UnexpectedEnd,
    /// No value starts here.
    #[error("expected a value")]
    ExpectedValue,
    /// An object's key is missing.
    #[error("expected a key in double quotes")]
    ExpectedKey,
    /// The colon after a key is missing.
    #[error("expected `:`")]
    ExpectedColon,
    /// The comma between two elements or members is missing.
    #[error("expected `,` or the end of the list or object")]
    ExpectedComma,
    /// There is text after the document.
    #[error("unexpected text after the value")]
    TrailingText,
    /// A number has a form that JSON does not allow.
    #[error("not a valid JSON number")]
    InvalidNumber,
    /// A number is too large for a double.
    #[error("the number is too large")]
    NumberTooLarge,
    /// A backslash escape is not valid JSON.
    #[error("not a valid JSON escape")]
    InvalidEscape,
    /// An escape is only half of a surrogate pair.
    #[error("an escaped surrogate without its other half")]
    LoneSurrogate,
    /// A string contains an unescaped control character.
    #[error("control characters must be escaped")]
    ControlCharacter,
    /// A key occurs twice in one object.
    #[error("duplicate key in an object")]
    DuplicateKey,
    /// Arrays and objects are nested too deeply.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The document is not an object.
    #[error("expected an object")]
    ExpectedObject,
    /// A `/*` comment is never closed.
    #[error("the comment is not closed")]
    UnclosedComment,
    /// The bytes are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
}

pub(super) fn parse(bytes: &[u8], dialect: Dialect) -> Result<Json, JsonError> {
    let mut tokens = Tokens::new(text(bytes)?, dialect);
    document(&mut tokens, dialect).map_err(|kind| locate(bytes, tokens.at(), kind))
}

/// Reads what was written here, however deep it is nested.
pub(super) fn parse_own(text: &str) -> ParseResult<Json> {
    document(&mut Tokens::of_any_depth(text), Dialect::Lenient)
}

/// Checks that the bytes are UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|error| locate(bytes, error.valid_up_to(), JsonErrorKind::NotUtf8))
}

pub(super) fn locate(bytes: &[u8], at: usize, kind: JsonErrorKind) -> JsonError {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let before = before[line_start..].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&before[line_start..]);
    let column = String::from_utf8_lossy(before).chars().count() + 1;
    JsonError { line, column, kind }
}

type ParseResult<T> = Result<T, JsonErrorKind>;

fn document(tokens: &mut Tokens<'_>, dialect: Dialect) -> ParseResult<Json> {
    let first = tokens.next()?;
    let value = value(tokens, first, dialect)?;
    // Only the end of the document can follow.
    tokens.next().map(|_| value)
}

/// Builds the value that starts with the given token.
fn value(tokens: &mut Tokens<'_>, first: Token<'_>, dialect: Dialect) -> ParseResult<Json> {
    match first {
        Token::Null => Ok(Json::Null),
        Token::Bool(value) => Ok(Json::Bool(value)),
        Token::Number(text) => Ok(Json::Number(Number::from_checked(text))),
        Token::Text(text) => Ok(Json::String(text.decode().into_owned())),
        Token::BeginArray => {
            let mut elements = Vec::new();
            loop {
                match tokens.next()? {
                    Token::EndArray => return Ok(Json::Array(elements)),
                    element => elements.push(value(tokens, element, dialect)?),
                }
            }
        }
        Token::BeginObject => {
            let mut members = Object::new();
            while let Token::Key(key) = tokens.next()? {
                let key_at = tokens.start();
                let first = tokens.next()?;
                let value = value(tokens, first, dialect)?;
                match members.entry(key.decode().into_owned()) {
                    Entry::Vacant(slot) => drop(slot.insert(value)),
                    Entry::Occupied(mut slot) if dialect == Dialect::Lenient => drop(slot.insert(value)),
                    Entry::Occupied(_) => {
                        tokens.blame(key_at);
                        return Err(JsonErrorKind::DuplicateKey);
                    }
                }
            }
            Ok(Json::Object(members))
        }
        Token::Key(_) | Token::EndArray | Token::EndObject | Token::End => Err(JsonErrorKind::ExpectedValue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: usize, column: usize, kind: JsonErrorKind) {
        assert_eq!(parse(text.as_bytes(), Dialect::Strict), Err(JsonError { line, column, kind }));
    }

    #[test]
    fn mistakes_are_located() {
        check("", 1, 1, JsonErrorKind::UnexpectedEnd);
        check("{\"a\": 1,\n \"é\" 2}", 2, 6, JsonErrorKind::ExpectedColon);
        check("{\"a\": 1, \"a\": 2}", 1, 10, JsonErrorKind::DuplicateKey);
        check("[1, 2", 1, 6, JsonErrorKind::UnexpectedEnd);
        check("[1 2]", 1, 4, JsonErrorKind::ExpectedComma);
        check("NaN", 1, 1, JsonErrorKind::ExpectedValue);
        check("1e400", 1, 1, JsonErrorKind::NumberTooLarge);
        check("01", 1, 2, JsonErrorKind::TrailingText);
        check("\"a\u{1}b\"", 1, 3, JsonErrorKind::ControlCharacter);
        check("\"a\nb\"", 1, 3, JsonErrorKind::ControlCharacter);
        check("\"\\ud800\"", 1, 2, JsonErrorKind::LoneSurrogate);
        check("\"\\x\"", 1, 2, JsonErrorKind::InvalidEscape);
        check("{a: 1}", 1, 2, JsonErrorKind::ExpectedKey);
        check("\u{feff}1", 1, 1, JsonErrorKind::ExpectedValue);
        check(&"[".repeat(200), 1, 129, JsonErrorKind::TooDeep);
    }

    #[test]
    fn the_lenient_dialect_reads_other_programs_files() {
        let text =
            "\u{feff}{\"a\": NaN, \"b\": [-Infinity, Infinity], \"c\": \"\\ud83d\\ude00\\udc00\", \"a\": 1}";
        let value = parse(text.as_bytes(), Dialect::Lenient).unwrap();
        assert_eq!(value.to_compact(), r#"{"a":1,"b":[-Infinity,Infinity],"c":"😀�"}"#);
    }

    #[test]
    fn only_one_dialect_allows_comments() {
        let check = |text: &str, expect: Result<&str, (usize, usize, JsonErrorKind)>| {
            let found = parse(text.as_bytes(), Dialect::WithComments);
            let found = found.map(|json| json.to_compact()).map_err(|e| (e.line, e.column, e.kind));
            assert_eq!(found, expect.map(str::to_owned), "{text}");
        };
        check("// one\n{\"a\": /* two */ [1, 2,], // three\n}//", Ok(r#"{"a":[1,2]}"#));
        check("\u{feff}[\"// no comment\", \"/*\"]", Ok(r#"["// no comment","/*"]"#));
        check("[]/**/", Ok("[]"));
        check("[,]", Err((1, 2, JsonErrorKind::ExpectedValue)));
        check("[1,,]", Err((1, 4, JsonErrorKind::ExpectedValue)));
        check("{\"a\":1,}", Ok(r#"{"a":1}"#));
        check("{\"a\":1,\n,}", Err((2, 1, JsonErrorKind::ExpectedKey)));
        check("[1] /* x", Err((1, 5, JsonErrorKind::UnclosedComment)));
        check("[1 / 2]", Err((1, 4, JsonErrorKind::ExpectedValue)));
        check("{\"a\": 1, \"a\": 2}", Err((1, 10, JsonErrorKind::DuplicateKey)));
        check("[NaN]", Err((1, 2, JsonErrorKind::ExpectedValue)));
        for dialect in [Dialect::Strict, Dialect::Lenient] {
            assert!(parse(b"[1] // one", dialect).is_err());
            assert!(parse(b"[1,]", dialect).is_err());
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let text = "[123456789012345678901234567890,1.0,1e2,-0,0.10]";
        assert_eq!(parse(text.as_bytes(), Dialect::Strict).unwrap().to_compact(), text);
    }
}
