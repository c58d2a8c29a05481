//! The parser: one pass over bytes, positions in its errors, never their text.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use memchr::memchr3;
use thiserror::Error;

use super::{Json, Number, Object};

/// How deep arrays and objects may nest.
const MAX_DEPTH: usize = 128;

/// Which documents are JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// RFC 8259, and a key stands only once in an object.
    Strict,
    /// Also what other programs write: `NaN`, `Infinity`, keys that stand twice (the last one wins), and
    /// escaped surrogates without their half (read as U+FFFD). A byte order mark is skipped.
    Lenient,
}

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct JsonError {
    /// Line of the mistake, from 1.
    pub line: usize,
    /// Column of the mistake in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: JsonErrorKind,
}

/// What is wrong with a text that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text ends inside a value.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// No value starts here.
    #[error("expected a value")]
    ExpectedValue,
    /// An object's key is missing.
    #[error("expected a key in double quotes")]
    ExpectedKey,
    /// A colon is missing behind a key.
    #[error("expected `:`")]
    ExpectedColon,
    /// An array or object goes on without a comma.
    #[error("expected `,` or the end of the list or object")]
    ExpectedComma,
    /// Something stands behind the document.
    #[error("unexpected text after the value")]
    TrailingText,
    /// A number is not written as JSON numbers are.
    #[error("not a number that JSON allows")]
    InvalidNumber,
    /// A number is larger than what programs compute with.
    #[error("a number that is too large")]
    NumberTooLarge,
    /// A backslash escape is none of JSON's.
    #[error("not an escape that JSON allows")]
    InvalidEscape,
    /// Half of a surrogate pair.
    #[error("an escaped surrogate without its other half")]
    LoneSurrogate,
    /// A control character stands unescaped in a string.
    #[error("a control character must be escaped")]
    ControlCharacter,
    /// A key stands twice in one object.
    #[error("this key stands twice in one object")]
    DuplicateKey,
    /// Arrays and objects nest too deep.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The bytes are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
}

pub(super) fn parse(bytes: &[u8], dialect: Dialect) -> Result<Json, JsonError> {
    let bytes = match dialect {
        Dialect::Lenient => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes),
        Dialect::Strict => bytes,
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(locate(bytes, error.valid_up_to(), JsonErrorKind::NotUtf8)),
    };
    let mut parser = Parser { text, bytes, at: 0, dialect };
    let parsed = parser.document();
    parsed.map_err(|kind| locate(bytes, parser.at, kind))
}

fn locate(bytes: &[u8], at: usize, kind: JsonErrorKind) -> JsonError {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    JsonError { line, column, kind }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    dialect: Dialect,
}

type Parsed<T> = Result<T, JsonErrorKind>;

impl Parser<'_> {
    fn document(&mut self) -> Parsed<Json> {
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(JsonErrorKind::TrailingText);
        }
        Ok(value)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Parsed<u8> {
        self.bytes.get(self.at).copied().ok_or(JsonErrorKind::UnexpectedEnd)
    }

    fn value(&mut self, depth: usize) -> Parsed<Json> {
        self.skip_space();
        match self.peek()? {
            b'"' => self.string().map(Json::String),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            b'N' | b'I' if self.dialect == Dialect::Lenient => self.not_finite(),
            b'-' if self.dialect == Dialect::Lenient && self.bytes.get(self.at + 1) == Some(&b'I') => {
                self.not_finite()
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(JsonErrorKind::ExpectedValue),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Parsed<Json> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(JsonErrorKind::ExpectedValue);
        }
        self.at += word.len();
        Ok(value)
    }

    fn not_finite(&mut self) -> Parsed<Json> {
        for word in ["NaN", "Infinity", "-Infinity"] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(Json::Number(Number::from_checked(word)));
            }
        }
        Err(JsonErrorKind::ExpectedValue)
    }

    fn number(&mut self) -> Parsed<Json> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(JsonErrorKind::InvalidNumber),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        let number = Number::from_checked(&self.text[start..self.at]);
        if self.dialect == Dialect::Strict && number.as_f64().is_infinite() {
            self.at = start;
            return Err(JsonErrorKind::NumberTooLarge);
        }
        Ok(Json::Number(number))
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        if self.at == start { Err(JsonErrorKind::InvalidNumber) } else { Ok(()) }
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            // Control characters are rare, so the fast search is for the two that end a run.
            let run = memchr3(b'"', b'\\', b'\n', rest).ok_or(()).map_err(|()| {
                self.at = self.bytes.len();
                JsonErrorKind::UnexpectedEnd
            })?;
            if let Some(control) = rest[..run].iter().position(|byte| *byte < 0x20) {
                self.at += control;
                return Err(JsonErrorKind::ControlCharacter);
            }
            if out.is_empty() && rest[run] == b'"' {
                let text = self.text[self.at..self.at + run].to_owned();
                self.at += run + 1;
                return Ok(text);
            }
            out.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            match rest[run] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => self.escape(&mut out)?,
                _ => return Err(JsonErrorKind::ControlCharacter),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Parsed<()> {
        let escaped = *self.bytes.get(self.at + 1).ok_or(JsonErrorKind::UnexpectedEnd)?;
        let plain = match escaped {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(out),
            _ => return Err(JsonErrorKind::InvalidEscape),
        };
        out.push(plain);
        self.at += 2;
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut String) -> Parsed<()> {
        let first = self.hex_unit(self.at)?;
        let mut length = 6;
        let decoded = match first {
            0xd800..=0xdbff => self.hex_unit(self.at + 6).ok().and_then(|second| {
                if !(0xdc00..=0xdfff).contains(&second) {
                    return None;
                }
                length = 12;
                char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            }),
            _ => char::from_u32(first),
        };
        match (decoded, self.dialect) {
            (Some(character), _) => out.push(character),
            (None, Dialect::Lenient) => out.push(char::REPLACEMENT_CHARACTER),
            (None, Dialect::Strict) => return Err(JsonErrorKind::LoneSurrogate),
        }
        self.at += length;
        Ok(())
    }

    /// Reads `\uXXXX` at an offset.
    fn hex_unit(&self, at: usize) -> Parsed<u32> {
        let escape = self.bytes.get(at..at + 6).ok_or(JsonErrorKind::UnexpectedEnd)?;
        let (prefix, digits) = escape.split_at(2);
        if prefix != b"\\u" || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(JsonErrorKind::InvalidEscape);
        }
        let digits = std::str::from_utf8(digits).expect("hex digits are ASCII");
        Ok(u32::from_str_radix(digits, 16).expect("four hex digits fit"))
    }

    fn array(&mut self, depth: usize) -> Parsed<Json> {
        if depth == MAX_DEPTH {
            return Err(JsonErrorKind::TooDeep);
        }
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_space();
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(Json::Array(elements));
                }
                _ => return Err(JsonErrorKind::ExpectedComma),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Json> {
        if depth == MAX_DEPTH {
            return Err(JsonErrorKind::TooDeep);
        }
        self.at += 1;
        let mut members: Object = BTreeMap::new();
        self.skip_space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek()? != b'"' {
                return Err(JsonErrorKind::ExpectedKey);
            }
            let key_at = self.at;
            let key = self.string()?;
            self.skip_space();
            if self.peek()? != b':' {
                return Err(JsonErrorKind::ExpectedColon);
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            match members.entry(key) {
                Entry::Vacant(slot) => {
                    slot.insert(value);
                }
                Entry::Occupied(mut slot) => match self.dialect {
                    Dialect::Lenient => {
                        slot.insert(value);
                    }
                    Dialect::Strict => {
                        self.at = key_at;
                        return Err(JsonErrorKind::DuplicateKey);
                    }
                },
            }
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(Json::Object(members));
                }
                _ => return Err(JsonErrorKind::ExpectedComma),
            }
        }
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
    fn the_lenient_dialect_reads_what_others_wrote() {
        let text =
            "\u{feff}{\"a\": NaN, \"b\": [-Infinity, Infinity], \"c\": \"\\ud83d\\ude00\\udc00\", \"a\": 1}";
        let value = parse(text.as_bytes(), Dialect::Lenient).unwrap();
        assert_eq!(value.to_compact(), r#"{"a":1,"b":[-Infinity,Infinity],"c":"😀�"}"#);
    }

    #[test]
    fn numbers_keep_their_digits() {
        let text = "[123456789012345678901234567890,1.0,1e2,-0,0.10]";
        assert_eq!(parse(text.as_bytes(), Dialect::Strict).unwrap().to_compact(), text);
    }
}
