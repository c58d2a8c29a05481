//! The tokenizer, the only code that knows JSON syntax.
//!
//! Parsing, peeking and reprinting all use these tokens, so they accept the same texts. Tokens borrow from the text.
//! Errors carry a kind; [`Tokens::at`] gives the position.

use std::borrow::Cow;

use memchr::memchr2;

use super::parse::{Dialect, JsonErrorKind};

/// The maximum nesting depth of arrays and objects.
pub(super) const MAX_DEPTH: usize = 128;

/// The number of levels that one number holds the bits of.
const LEVELS: usize = u128::BITS as usize;

/// A piece of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Null,
    Bool(bool),
    /// A number, or `NaN`, `Infinity` or `-Infinity`.
    Number(&'a str),
    Text(Text<'a>),
    BeginArray,
    EndArray,
    BeginObject,
    /// A key and the colon after it.
    Key(Text<'a>),
    EndObject,
    /// The end of the document; nothing follows.
    End,
}

/// The text of a JSON string between its quotes, with escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> Text<'a> {
    /// Returns the text between the quotes, with escapes.
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// Returns the string if it contains no escapes.
    pub fn plain(self) -> Option<&'a str> {
        (!self.has_escapes).then_some(self.raw)
    }

    /// Returns the decoded string. A lone escaped surrogate becomes U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        if !self.has_escapes {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            out.push_str(&rest[..at]);
            let (character, length) = unescape(&rest.as_bytes()[at..]);
            out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[at + length..];
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// Decodes the escape at the start of the bytes, which must be valid. Returns `None` for half of a surrogate pair. The
/// second value is the length of the escape in bytes.
fn unescape(bytes: &[u8]) -> (Option<char>, usize) {
    let plain = match bytes[1] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = hex_unit(bytes).unwrap_or(0xd800);
            if !(0xd800..=0xdbff).contains(&first) {
                return (char::from_u32(first), 6);
            }
            let second = bytes.get(6..).and_then(hex_unit).filter(|unit| (0xdc00..=0xdfff).contains(unit));
            return match second {
                Some(second) => (char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)), 12),
                None => (None, 6),
            };
        }
        other => char::from(other),
    };
    (Some(plain), 2)
}

/// Reads the `\uXXXX` at the start of the bytes.
fn hex_unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

/// The tokens that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    /// The first element of an array, or its end.
    Element,
    /// The first key of an object, or its end.
    Key,
    /// A comma, or the end of the array or object.
    Comma,
    Nothing,
}

/// The tokens of one document.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
    start: usize,
    dialect: Dialect,
    expect: Expect,
    comma: Option<usize>,
    has_trailing_comma: bool,
    depth: usize,
    max_depth: usize,
    /// One bit per level, innermost last: set for an object.
    objects: u128,
    /// The bits of the levels around, if there are more than one number holds.
    outer: Vec<u128>,
}

type ScanResult<T> = Result<T, JsonErrorKind>;

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect) -> Tokens<'a> {
        let at = if dialect != Dialect::Strict && text.starts_with('\u{feff}') { 3 } else { 0 };
        Tokens {
            text,
            at,
            start: at,
            dialect,
            expect: Expect::Value,
            comma: None,
            has_trailing_comma: false,
            depth: 0,
            max_depth: MAX_DEPTH,
            objects: 0,
            outer: Vec::new(),
        }
    }

    /// The tokens of a text that was written by this program, and may be nested in any depth.
    pub(super) fn of_any_depth(text: &'a str) -> Tokens<'a> {
        Tokens { max_depth: usize::MAX, ..Tokens::new(text, Dialect::Lenient) }
    }

    /// The end of the last token, or the position of the error.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The start of the last token.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The position of the last comma between members or elements.
    pub(super) fn comma(&self) -> Option<usize> {
        self.comma
    }

    /// Whether a list or object so far had a comma after its last element or member.
    pub(super) fn has_trailing_comma(&self) -> bool {
        self.has_trailing_comma
    }

    /// Moves the error position to one that the caller found.
    pub(super) fn blame(&mut self, at: usize) {
        self.at = at;
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn peek(&self) -> ScanResult<u8> {
        self.byte().ok_or(JsonErrorKind::UnexpectedEnd)
    }

    #[inline]
    pub(super) fn next(&mut self) -> ScanResult<Token<'a>> {
        self.skip_space()?;
        self.start = self.at;
        match self.expect {
            Expect::Value => self.value(),
            Expect::Element if self.peek()? == b']' => Ok(self.close()),
            Expect::Element => self.value(),
            Expect::Key if self.peek()? == b'}' => Ok(self.close()),
            Expect::Key => self.key(),
            Expect::Comma => self.after_value(),
            Expect::Nothing if self.at < self.text.len() => Err(JsonErrorKind::TrailingText),
            Expect::Nothing => Ok(Token::End),
        }
    }

    /// Skips the rest of the value that started with this token.
    pub(super) fn skip(&mut self, first: Token<'a>) -> ScanResult<()> {
        let mut open = usize::from(matches!(first, Token::BeginArray | Token::BeginObject));
        while 0 < open {
            match self.next()? {
                Token::BeginArray | Token::BeginObject => open += 1,
                Token::EndArray | Token::EndObject => open -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn is_in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    #[inline]
    fn skip_space(&mut self) -> ScanResult<()> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(b'/') if self.dialect == Dialect::WithComments => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    #[cold]
    fn skip_comment(&mut self) -> ScanResult<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = match rest.get(1) {
            Some(b'/') => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            Some(b'*') => memchr::memmem::find(&rest[2..], b"*/").ok_or(JsonErrorKind::UnclosedComment)? + 4,
            _ => return Err(JsonErrorKind::ExpectedValue),
        };
        self.at += length;
        Ok(())
    }

    /// Reads what follows a value inside an array or object.
    #[inline]
    fn after_value(&mut self) -> ScanResult<Token<'a>> {
        let end = if self.is_in_object() { b'}' } else { b']' };
        match self.peek()? {
            b',' => {
                self.comma = Some(self.at);
                self.at += 1;
                self.skip_space()?;
                self.start = self.at;
                if self.dialect == Dialect::WithComments && self.peek()? == end {
                    self.has_trailing_comma = true;
                    Ok(self.close())
                } else if self.is_in_object() {
                    self.key()
                } else {
                    self.value()
                }
            }
            found if found == end => Ok(self.close()),
            _ => Err(JsonErrorKind::ExpectedComma),
        }
    }

    #[inline]
    fn value(&mut self) -> ScanResult<Token<'a>> {
        let found = self.peek()?;
        if let b'{' | b'[' = found {
            return self.open(found == b'{');
        }
        self.expect = if self.depth == 0 { Expect::Nothing } else { Expect::Comma };
        match found {
            b'"' => self.string().map(Token::Text),
            b't' => self.word("true").map(|_| Token::Bool(true)),
            b'f' => self.word("false").map(|_| Token::Bool(false)),
            b'n' => self.word("null").map(|_| Token::Null),
            b'N' if self.dialect == Dialect::Lenient => self.word("NaN").map(Token::Number),
            b'I' if self.dialect == Dialect::Lenient => self.word("Infinity").map(Token::Number),
            b'-' if self.dialect == Dialect::Lenient
                && self.text.as_bytes().get(self.at + 1) == Some(&b'I') =>
            {
                self.word("-Infinity").map(Token::Number)
            }
            b'-' | b'0'..=b'9' => self.number().map(Token::Number),
            _ => Err(JsonErrorKind::ExpectedValue),
        }
    }

    fn open(&mut self, is_object: bool) -> ScanResult<Token<'a>> {
        if self.depth == self.max_depth {
            return Err(JsonErrorKind::TooDeep);
        }
        if self.depth != 0 && self.depth.is_multiple_of(LEVELS) {
            self.outer.push(std::mem::take(&mut self.objects));
        }
        self.at += 1;
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(is_object);
        self.expect = if is_object { Expect::Key } else { Expect::Element };
        Ok(if is_object { Token::BeginObject } else { Token::BeginArray })
    }

    fn close(&mut self) -> Token<'a> {
        let token = if self.is_in_object() { Token::EndObject } else { Token::EndArray };
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
        if self.depth != 0 && self.depth.is_multiple_of(LEVELS) {
            self.objects = self.outer.pop().unwrap_or_default();
        }
        self.expect = if self.depth == 0 { Expect::Nothing } else { Expect::Comma };
        token
    }

    #[inline]
    fn key(&mut self) -> ScanResult<Token<'a>> {
        if self.peek()? != b'"' {
            return Err(JsonErrorKind::ExpectedKey);
        }
        let key = self.string()?;
        self.skip_space()?;
        if self.peek()? != b':' {
            return Err(JsonErrorKind::ExpectedColon);
        }
        self.at += 1;
        self.expect = Expect::Value;
        Ok(Token::Key(key))
    }

    fn word(&mut self, word: &str) -> ScanResult<&'a str> {
        let text = self.text;
        let found = text.get(self.at..self.at + word.len()).filter(|found| *found == word);
        self.at += found.map_or(0, str::len);
        found.ok_or(JsonErrorKind::ExpectedValue)
    }

    #[inline]
    fn number(&mut self) -> ScanResult<&'a str> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let mut may_be_large = 300 < self.at - start;
        if let Some(b'e' | b'E') = self.byte() {
            may_be_large = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text;
        let number = &text[start..self.at];
        if may_be_large
            && self.dialect != Dialect::Lenient
            && number.parse::<f64>().is_ok_and(f64::is_infinite)
        {
            self.at = start;
            return Err(JsonErrorKind::NumberTooLarge);
        }
        Ok(number)
    }

    #[inline]
    fn digits(&mut self) -> ScanResult<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == start { Err(JsonErrorKind::InvalidNumber) } else { Ok(()) }
    }

    #[inline]
    fn string(&mut self) -> ScanResult<Text<'a>> {
        self.at += 1;
        let start = self.at;
        let mut has_escapes = false;
        let text = self.text;
        loop {
            let rest = &text.as_bytes()[self.at..];
            let run = memchr2(b'"', b'\\', rest);
            if let Some(control) = rest[..run.unwrap_or(rest.len())].iter().position(|byte| *byte < 0x20) {
                self.at += control;
                return Err(JsonErrorKind::ControlCharacter);
            }
            let Some(run) = run else {
                self.at = text.len();
                return Err(JsonErrorKind::UnexpectedEnd);
            };
            self.at += run;
            if rest[run] == b'"' {
                self.at += 1;
                return Ok(Text { raw: &text[start..self.at - 1], has_escapes });
            }
            has_escapes = true;
            self.at += self.escape(&rest[run..])?;
        }
    }

    /// Checks the escape at the start of the bytes and returns its length.
    fn escape(&self, bytes: &[u8]) -> ScanResult<usize> {
        match bytes.get(1).ok_or(JsonErrorKind::UnexpectedEnd)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(2),
            b'u' if bytes.len() < 6 => Err(JsonErrorKind::UnexpectedEnd),
            b'u' if hex_unit(bytes).is_none() => Err(JsonErrorKind::InvalidEscape),
            b'u' => match unescape(bytes) {
                (None, _) if self.dialect != Dialect::Lenient => Err(JsonErrorKind::LoneSurrogate),
                (_, length) => Ok(length),
            },
            _ => Err(JsonErrorKind::InvalidEscape),
        }
    }
}
