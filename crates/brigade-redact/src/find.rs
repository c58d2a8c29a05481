//! Finds the shapes that are more than a prefix: URLs, JSON web tokens, private keys, and headers.
//!
//! A rule reads at most [`LOOKAHEAD`] bytes after its anchor. If the input is too short for a decision, it requests
//! more. So the result does not depend on how the input is split.

use super::kind::SecretKind;
use super::scan::{Anchor, Rule};
use super::shapes::{Alphabet, SHAPES, has_different};
use super::text::{has_digit_and_letter, is_placeholder, is_token_of_user};
use super::window::{More, Window};

/// How many bytes after an anchor a rule may need.
pub(crate) const LOOKAHEAD: usize = 1280;

/// How far before the key of an anchor a secret may start.
pub(crate) const BEFORE_ANCHOR: usize = 96;

/// How many bytes before an anchor a rule may read.
pub(crate) const LOOKBEHIND: usize = 128;

/// A secret that was found.
pub(crate) struct FoundSecret {
    /// The start of the secret.
    pub(crate) start: usize,
    /// How to find its end.
    pub(crate) ending: Ending,
    /// The kind of secret.
    pub(crate) kind: SecretKind,
}

/// A secret whose end is not found yet. Its bytes are masked as they arrive, however many there are.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// A fixed number of bytes.
    Fixed(usize),
    /// This many bytes, then all bytes of an alphabet.
    Alphabet {
        /// How many bytes come first.
        skipped: usize,
        /// The alphabet.
        alphabet: Alphabet,
    },
    /// A PEM block.
    PrivateKey(Pem),
}

impl Ending {
    /// Consumes bytes that certainly belong to the secret. Returns the position after them, and whether it ends there.
    pub(crate) fn advance(&mut self, window: Window<'_>, from: usize) -> (usize, bool) {
        let mut at = from;
        loop {
            match self.step(window, at) {
                Ok(Some(taken)) => at += taken,
                Ok(None) => return (at, true),
                Err(More) => return (at, false),
            }
        }
    }

    /// Returns how many bytes belong to the secret; `None` at its end.
    fn step(&mut self, window: Window<'_>, at: usize) -> Result<Option<usize>, More> {
        let Some(byte) = window.at(at)? else { return Ok(None) };
        Ok(match self {
            Ending::Fixed(0) => None,
            Ending::Fixed(left) | Ending::Alphabet { skipped: left, .. } if 0 < *left => {
                *left -= 1;
                Some(1)
            }
            Ending::Fixed(_) => None,
            Ending::Alphabet { alphabet, .. } => alphabet.has(byte).then_some(1),
            Ending::PrivateKey(pem) => pem.step(window, at, byte)?,
        })
    }
}

/// Applies the rule of an anchor at a position.
pub(crate) fn find(anchor: &Anchor, window: Window<'_>, start: usize) -> Result<Option<FoundSecret>, More> {
    if !window.has(start, anchor.text.as_bytes())? {
        return Ok(None);
    }
    let end = start + anchor.text.len();
    match anchor.rule {
        Rule::Shape(index) => SHAPES[index].find(window, start),
        Rule::Url => url(window, start),
        Rule::JsonWebToken => json_web_token(window, start),
        Rule::PrivateKey => {
            let is_key = begins_private_key(window, end)?;
            let ending = Ending::PrivateKey(Pem::default());
            Ok(is_key.then_some(FoundSecret { start, ending, kind: SecretKind::PrivateKey }))
        }
        Rule::Authorization => authorization(window, start, end),
        Rule::Bearer if window.begins_word(start) => token(window, end, SHORTEST_BEARER),
        Rule::Bearer => Ok(None),
    }
}

/// The minimum length of a token after `Bearer` in any text.
const SHORTEST_BEARER: usize = 20;

/// The minimum length of a token in a header without a scheme.
const SHORTEST_BARE: usize = 16;

/// The minimum length of a token after a scheme in a header.
const SHORTEST_OF_SCHEME: usize = 8;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Finds what follows the name of the header: `: Bearer TOKEN`, `": "Basic …"`, `=Bearer TOKEN`; without a scheme only
/// in `Authorization: TOKEN`, which code does not write.
fn authorization(window: Window<'_>, name: usize, name_end: usize) -> Result<Option<FoundSecret>, More> {
    let is_sign = |byte: u8| is_blank(byte) || b"\"'\\`:=,".contains(&byte);
    let value = window.skip(name_end, 16, is_sign)?;
    let signs = &window.bytes[name_end..value];
    if !window.begins_word(name) || !signs.iter().any(|byte| b":=,".contains(byte)) {
        return Ok(None);
    }
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let scheme = window.skip(value, 24, is_scheme)?;
    let after = window.skip(scheme, 8, is_blank)?;
    if value == scheme || scheme == after {
        let is_header = signs.starts_with(b":") && signs[1..].iter().all(|byte| is_blank(*byte));
        return if is_header { token(window, value, SHORTEST_BARE) } else { Ok(None) };
    }
    if window.bytes[value..scheme].eq_ignore_ascii_case(b"basic") {
        return basic(window, after);
    }
    token(window, after, SHORTEST_OF_SCHEME)
}

/// Finds a token of at least this many bytes, with letters and digits.
fn token(window: Window<'_>, start: usize, least: usize) -> Result<Option<FoundSecret>, More> {
    let end = window.skip(start, 128, |byte| Alphabet::Token.has(byte))?;
    let text = &window.bytes[start..end];
    let is_code = window.at(end)?.is_some_and(|byte| b"([{<$".contains(&byte));
    let is_token = least <= text.len() && !is_code && has_digit_and_letter(text) && has_different(text, 5);
    let ending = Ending::Alphabet { skipped: 0, alphabet: Alphabet::Token };
    Ok(is_token.then_some(FoundSecret { start, ending, kind: SecretKind::Authorization }))
}

/// Finds base64 of `name:password`.
fn basic(window: Window<'_>, start: usize) -> Result<Option<FoundSecret>, More> {
    let end = window.skip(start, 256, |byte| Alphabet::Base64.has(byte) || matches!(byte, b'-' | b'_'))?;
    let text = &window.bytes[start..end];
    let ending = Ending::Alphabet { skipped: 0, alphabet: Alphabet::Token };
    let is_pair = 8 <= text.len() && decoded_is_pair(text);
    Ok(is_pair.then_some(FoundSecret { start, ending, kind: SecretKind::Authorization }))
}

/// Returns whether base64 decodes to printable text with a colon.
fn decoded_is_pair(text: &[u8]) -> bool {
    let (mut bits, mut count, mut has_colon) = (0_u32, 0, false);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if 8 <= count {
            count -= 8;
            let decoded = (bits >> count & 0xff) as u8;
            if decoded < b' ' {
                return false;
            }
            has_colon |= decoded == b':';
        }
    }
    has_colon
}

/// Finds the name and password in `scheme://name:password@host`; `at` is the colon.
///
/// A name without a password is kept (`ssh://git@host`) unless it is a token.
fn url(window: Window<'_>, at: usize) -> Result<Option<FoundSecret>, More> {
    const LONGEST: usize = 512;
    let start = at + 3;
    if at.checked_sub(1).is_none_or(|before| !window.bytes[before].is_ascii_alphanumeric()) {
        return Ok(None);
    }
    let (mut colon, mut last_at, mut is_beyond) = (None, None, false);
    for position in start..start + LONGEST {
        match window.at(position)? {
            None | Some(0..=b' ' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\') => break,
            Some(b'@') => {
                last_at = Some(position);
                if is_beyond {
                    break;
                }
            }
            Some(b':') if colon.is_none() => colon = Some(position),
            Some(b'/' | b'?' | b'#') if last_at.is_some() => break,
            // A password may contain these characters if the text before them is not a port.
            Some(b'/' | b'?' | b'#') => {
                let is_port =
                    |colon: usize| window.bytes[colon + 1..position].iter().all(|byte| byte.is_ascii_digit());
                if is_beyond || colon.is_none_or(is_port) {
                    break;
                }
                is_beyond = true;
            }
            Some(_) => {}
        }
    }
    let Some(end) = last_at.filter(|end| start < *end) else { return Ok(None) };
    // A host in brackets, or the digest of a container image.
    if window.bytes[start] == b'[' || window.has(end + 1, b"sha256:")? {
        return Ok(None);
    }
    let Ok(userinfo) = std::str::from_utf8(&window.bytes[start..end]) else { return Ok(None) };
    let is_secret = match userinfo.split_once(':') {
        Some((_, password)) => !password.is_empty() && !is_placeholder(password) && !is_example(userinfo),
        None => is_token_of_user(userinfo),
    };
    let found = FoundSecret { start, ending: Ending::Fixed(end - start), kind: SecretKind::UrlCredentials };
    Ok(is_secret.then_some(found))
}

/// Passwords and users in example URLs of documentation.
const EXAMPLE_PASSWORDS: &[&str] = &["pass", "passwd", "password", "pwd", "secret"];
const EXAMPLE_USERS: &[&str] = &["anonymous", "foo", "user", "username"];

/// Returns whether a name and password are examples: `user:pass`, `a:b`, `%s:%s`, `{user}:{password}`.
fn is_example(userinfo: &str) -> bool {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let is_word = !has_digit_and_letter(password.as_bytes());
    user.contains(['{', '%', '$'])
        || is_word && password.contains(['{', '}', '$', '(', '*', '[', '|', '%'])
        || is_word && EXAMPLE_USERS.contains(&user)
        || EXAMPLE_PASSWORDS.iter().any(|example| password.eq_ignore_ascii_case(example))
        || password.len() == 1
}

fn json_web_token(window: Window<'_>, start: usize) -> Result<Option<FoundSecret>, More> {
    let is_part = |byte: u8| Alphabet::Dashed.has(byte);
    if !window.begins_word(start) {
        return Ok(None);
    }
    let header = window.skip(start, 1024, is_part)?;
    if header - start < 10 || window.at(header)? != Some(b'.') {
        return Ok(None);
    }
    // The second part of an encrypted token may be empty.
    let second = window.skip(header + 1, 8, is_part)?;
    if second - header < 9 && !window.has(header + 1, b".")? {
        return Ok(None);
    }
    let ending = Ending::Alphabet { skipped: header - start, alphabet: Alphabet::Dotted };
    Ok(Some(FoundSecret { start, ending, kind: SecretKind::JsonWebToken }))
}

/// Returns whether `PRIVATE KEY-----` follows, and then the material of a key or the last line. Code that mentions the
/// line has neither.
fn begins_private_key(window: Window<'_>, label: usize) -> Result<bool, More> {
    /// The length of a line of a key, and the minimum that counts as one.
    const LINE: usize = 64;
    const MIN_LINE: usize = 16;
    /// The maximum distance from the first line to the material.
    const NEAR: usize = 640;
    let end =
        window.skip(label, 48, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ')?;
    let is_private = memchr::memmem::find(&window.bytes[label..end], b"PRIVATE KEY").is_some();
    if !is_private || !window.has(end, b"-----")? {
        return Ok(false);
    }
    let (mut at, limit) = (end + 5, end + NEAR);
    while at < limit {
        let run = window.skip(at, LINE, |byte| Alphabet::Base64.has(byte))?;
        let text = &window.bytes[at..run];
        let has = |kind: fn(&u8) -> bool| text.iter().any(kind);
        let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
        if MIN_LINE <= text.len() && is_mixed && has_different(text, 8) {
            return Ok(true);
        }
        // In code, the two lines are separate texts.
        match window.at(run)? {
            None | Some(b'"' | b'\'' | b'`') => return Ok(false),
            Some(_) if window.has(run, b"-----")? => return window.has(run, b"-----END "),
            Some(_) => at = run + 1,
        }
    }
    Ok(false)
}

/// The position in a PEM block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pem {
    seen: usize,
    /// The current and the longest run of base64 on this line, and the length of the line.
    run: usize,
    longest: usize,
    line: usize,
    /// The number of consecutive lines that do not look like part of a key.
    foreign: usize,
    /// The remaining length of the last line.
    last: Option<usize>,
}

impl Pem {
    fn step(&mut self, window: Window<'_>, at: usize, byte: u8) -> Result<Option<usize>, More> {
        /// After more than this many lines without key data, the block was truncated and other text follows.
        const FOREIGN_LINES: usize = 4;
        /// The maximum length, so that an unclosed block does not hide a whole log.
        const LONGEST: usize = 64 * 1024;
        if self.last == Some(0) || self.foreign == FOREIGN_LINES || LONGEST <= self.seen {
            return Ok(None);
        }
        if let Some(left) = &mut self.last {
            *left -= 1;
            return Ok(Some(1));
        }
        if byte == b'-' && self.seen != 0 && window.has(at, b"-----END ")? {
            let is_label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
            let end = window.skip(at + 9, 48, is_label)?;
            if window.has(end, b"-----")? {
                self.last = Some(end + 5 - at);
                return Ok(Some(0));
            }
        }
        self.seen += 1;
        self.line += 1;
        self.run = if Alphabet::Base64.has(byte) { self.run + 1 } else { 0 };
        self.longest = self.longest.max(self.run);
        if byte == b'\n' {
            let is_foreign = 16 < self.line && self.longest < 16;
            self.foreign = if is_foreign { self.foreign + 1 } else { 0 };
            (self.run, self.longest, self.line) = (0, 0, 0);
        }
        Ok(Some(1))
    }
}
