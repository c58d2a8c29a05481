//! The rules: given an anchor, decide whether there is a secret and where it starts.
//!
//! A rule reads at most [`LOOKBEHIND`] bytes before its anchor and [`LOOKAHEAD`] after it. It asks for more input
//! rather than decide on too little, so the result does not depend on how the input is split.

mod method;
mod prefixes;
mod prose;
mod statement;
mod user;
mod value;
mod web;

use super::anchors::Anchor;
use super::name::{NameKind, classify};
use super::shape::SecretKind;
use super::swallow::{Swallow, is_private_key_header};
use super::window::{More, Window};

use method::{auth_value, is_auth_name};
use user::user_flag;

pub(super) use prefixes::PREFIXES;
pub use user::is_token_of_user;
pub(super) use value::{is_placeholder, is_reference};

/// How many bytes before an anchor a rule may read.
pub(super) const LOOKBEHIND: usize = 256;

/// How many bytes after an anchor a rule may need.
pub(super) const LOOKAHEAD: usize = 2048;

/// How far before its anchor a secret may start.
pub(super) const BEFORE_ANCHOR: usize = 12;

/// A secret that was found.
pub(super) struct Found {
    /// The start of the secret.
    pub(super) start: usize,
    /// How to find its end.
    pub(super) swallow: Swallow,
    /// The kind of secret.
    pub(super) kind: SecretKind,
}

/// Applies the rule of an anchor.
pub(super) fn find(anchor: Anchor, window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    match anchor {
        Anchor::Name => named(window, at),
        Anchor::ShortName => named(window, at + 1),
        Anchor::Bearer => bearer(window, at),
        Anchor::Basic => basic(window, at),
        Anchor::AuthField => auth_field(window, at),
        Anchor::UserFlag => user_flag(window, at),
        Anchor::Url => url(window, at),
        Anchor::JsonWebToken => json_web_token(window, at + 1),
        Anchor::Pem => {
            let Some(start) = at.checked_sub(4) else { return Ok(None) };
            let found = is_private_key_header(window, start)?;
            let swallow = Swallow::pem();
            Ok(found.then_some(Found { start, swallow, kind: SecretKind::PrivateKey }))
        }
        Anchor::Ssh2 => {
            let Some(start) = at.checked_sub(11) else { return Ok(None) };
            let found = is_private_key_header(window, start)?;
            let swallow = Swallow::pem();
            Ok(found.then_some(Found { start, swallow, kind: SecretKind::PrivateKey }))
        }
        Anchor::Identified => statement::identified(window, at),
        Anchor::Cookie => web::cookie(window, at),
        Anchor::Signature => web::signature(window, at),
        Anchor::Prefix(index) => PREFIXES[index].find(window, at),
    }
}

/// A field name and the separator before its value.
struct Field<'a> {
    name: &'a str,
    kind: NameKind,
    /// The start of the value, including quotes.
    value: usize,
    separator: Separator,
    /// Whether the separator is surrounded by whitespace.
    spaced: bool,
    /// The quote immediately before the name.
    open_quote: Option<u8>,
    /// Whether the name comes first on its line, as in YAML.
    first_in_line: bool,
    /// Whether it is the name in `${NAME:-default}`.
    in_expansion: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    /// `=`, `:=` or `=>`
    Equals,
    /// `==`
    Comparison,
    /// `:`
    Colon,
    /// A space after `--name`, or a comma in a list of arguments.
    Flag,
    /// The `>` of an XML element.
    Element,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn named(window: Window<'_>, anchor: usize) -> Result<Option<Found>, More> {
    let Some(field) = field(window, anchor)? else { return Ok(None) };
    value::find(window, &field)
}

/// The maximum length of a field name.
const LONGEST_NAME: usize = 100;

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Reads the name around an anchor and the separator after it.
fn field(window: Window<'_>, anchor: usize) -> Result<Option<Field<'_>>, More> {
    let Some((start, end)) = name_around(window, anchor)? else { return Ok(None) };
    let before = &window.bytes[..start];
    let Ok(name) = std::str::from_utf8(&window.bytes[start..end]) else { return Ok(None) };
    let Some(kind) = classify(name) else { return Ok(None) };
    // `auth` and `bearer` have their own rules.
    if kind == NameKind::Method {
        return Ok(None);
    }
    let emphasis = emphasis_of(before);
    let end = if window.has(end, emphasis)? { end + emphasis.len() } else { end };
    let (after_name, is_quoted) = after_quote(window, window.skip_colours(end)?)?;
    if let Some(value) = value_beside_name(window, after_name, is_quoted)? {
        return Ok(Some(Field {
            name,
            kind,
            value: window.skip(value, 64, is_blank)?,
            separator: Separator::Equals,
            spaced: false,
            open_quote: None,
            first_in_line: false,
            in_expansion: false,
        }));
    }
    let sign = window.skip_colours(window.skip(after_name, 32, is_blank)?)?;
    let gap = after_name != sign;
    // `arn:aws:secretsmanager:…:secret:db`: names a secret.
    if !is_quoted && window.at(sign)? == Some(b':') && is_in_resource_name(before) {
        return Ok(None);
    }
    // `/etc/passwd`: names a file in a message.
    if is_quoted && window.at(sign)? == Some(b':') && ends_a_path(before) {
        return Ok(None);
    }
    let around = Name { name, before, is_quoted, gap };
    let Some((separator, separator_end)) = separator(window, sign, &around)? else { return Ok(None) };
    let is_closed = separator == Separator::Colon && window.has(separator_end, emphasis)?;
    let mut value = window.skip_colours(separator_end + if is_closed { emphasis.len() } else { 0 })?;
    value = window.skip(value, 64, is_blank)?;
    value = window.skip_colours(value)?;
    if is_quoted && separator == Separator::Colon {
        value = value_further_on(window, value)?;
    }
    Ok(Some(Field {
        name,
        kind,
        value,
        separator,
        spaced: gap || separator_end != value,
        open_quote: before.last().copied().filter(|b| !is_quoted && is_quote(*b)),
        first_in_line: !is_quoted && is_first_in_line(&before[..before.len() - emphasis.len()]),
        in_expansion: separator == Separator::Colon && before.ends_with(b"${"),
    }))
}

/// Returns whether the text before a name is the beginning of the name of a resource.
fn is_in_resource_name(before: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b":-".contains(byte);
    let length = before.iter().rev().take(LONGEST_PATH).take_while(|byte| is_part(byte)).count();
    before[before.len() - length..].starts_with(b"arn:") && before.ends_with(b":")
}

/// Returns whether the text before a quoted name is the rest of an absolute path in backquotes.
fn ends_a_path(before: &[u8]) -> bool {
    let quoted =
        before.iter().rev().take(LONGEST_PATH).take_while(|byte| !matches!(byte, b'`' | b'\n')).count();
    let (rest, path) = before.split_at(before.len() - quoted);
    rest.last() == Some(&b'`') && path.first() == Some(&b'/') && path.last() == Some(&b'/')
}

/// The maximum length of the path before a name.
const LONGEST_PATH: usize = LOOKBEHIND - LONGEST_NAME - 16;

/// Finds the start and end of the name around an anchor, or `None` if it is too long.
fn name_around(window: Window<'_>, anchor: usize) -> Result<Option<(usize, usize)>, More> {
    let bytes = window.bytes;
    let before = bytes[..anchor].iter().rev().take(LONGEST_NAME).take_while(|b| is_name(**b)).count();
    let mut start = anchor - before;
    // In `\npassword` and `%20password` the first letters belong to an escape.
    if let Some(skipped) = (1..=8).find(|k| start + k <= anchor && window.escape_ends_at(start + k)) {
        start += skipped;
    }
    let end = window.skip(anchor, LONGEST_NAME, is_name)?;
    if end - anchor == LONGEST_NAME {
        return Ok(None);
    }
    // `API key:` and `private key:` consist of two words.
    if matches!(bytes[start..end].to_ascii_lowercase().as_slice(), b"key" | b"keys")
        && bytes[..start].ends_with(b" ")
    {
        let before = &bytes[..start - 1];
        let word = before.iter().rev().take(LONGEST_NAME).take_while(|b| is_name(**b)).count();
        start = before.len() - word;
    }
    Ok(Some((start, end)))
}

/// Skips the closing quote of a name and the bracket of `config["name"]`. Returns whether there is a quote.
fn after_quote(window: Window<'_>, at: usize) -> Result<(usize, bool), More> {
    let slashes = window.skip(at, 16, |b| b == b'\\')?;
    if !window.at(slashes)?.is_some_and(is_quote) {
        return Ok((at, false));
    }
    let is_index = window.at(slashes + 1)? == Some(b']');
    Ok((slashes + 1 + usize::from(is_index), true))
}

/// A name and its context, before the separator is read.
struct Name<'a> {
    name: &'a str,
    /// The text before the name.
    before: &'a [u8],
    is_quoted: bool,
    /// Whether whitespace follows.
    gap: bool,
}

/// Reads the separator at a position and returns its end.
fn separator(window: Window<'_>, at: usize, name: &Name<'_>) -> Result<Option<(Separator, usize)>, More> {
    let is_flag = name.name.starts_with('-');
    Ok(match window.at(at)? {
        Some(b'=') => Some(match window.at(at + 1)? {
            Some(b'=') => (Separator::Comparison, window.skip(at + 1, 2, |b| b == b'=')?),
            Some(b'>') => (Separator::Equals, at + 2),
            _ => (Separator::Equals, at + 1),
        }),
        Some(b':') => match window.at(at + 1)? {
            Some(b'=') => Some((Separator::Equals, at + 2)),
            // A path (`token::Kind`) or a URL (`secret://name`).
            Some(b':') => None,
            Some(b'/') if window.at(at + 2)? == Some(b'/') => None,
            _ => Some((Separator::Colon, at + 1)),
        },
        Some(b'%') => percent_separator(window, at)?.map(|end| (Separator::Equals, end)),
        Some(b'>') if !name.gap && !name.is_quoted && name.before.last() == Some(&b'<') => {
            Some((Separator::Element, at + 1))
        }
        Some(b',') if name.is_quoted && is_flag => Some((Separator::Flag, at + 1)),
        Some(next) if is_flag && name.gap && !matches!(next, b'-' | b'\n' | b'\r') => {
            Some((Separator::Flag, at))
        }
        Some(_) if is_quoted_password(window, at, name)? => Some((Separator::Equals, at)),
        Some(_) if name.gap && !name.is_quoted && name.name == "password" && is_netrc(name.before) => {
            Some((Separator::Equals, at))
        }
        _ => None,
    })
}

/// Finds the value of an entry that lists name and value separately: `name: DB_PASSWORD`, `value: x` on the next line;
/// `"name":"password","value":"x"`; `key="password" value="x"`. `at` is after the name and its quote.
fn value_beside_name(window: Window<'_>, at: usize, quoted: bool) -> Result<Option<usize>, More> {
    // Without quotes, only on separate lines.
    let comma = window.skip(at, usize::from(quoted), |b| b == b',')?;
    let key = window.skip(comma, 48, |b| b.is_ascii_whitespace())?;
    let is_apart = at != key && (quoted || window.bytes[at..key].contains(&b'\n'));
    if is_apart { value_key(window, key) } else { Ok(None) }
}

/// Reads `value` and its separator, and returns the end.
fn value_key(window: Window<'_>, key: usize) -> Result<Option<usize>, More> {
    let word = window.skip(key, 16, |b| b == b'\\')?;
    let is_quoted = window.at(word)?.is_some_and(is_quote);
    let word = word + usize::from(is_quoted);
    if !window.has(word, b"value")? && !window.has(word, b"Value")? {
        return Ok(None);
    }
    let mut end = word + 5;
    if is_quoted {
        end = window.skip(end, 16, |b| b == b'\\')?;
        if !window.at(end)?.is_some_and(is_quote) {
            return Ok(None);
        }
        end += 1;
    }
    end = window.skip(end, 8, is_blank)?;
    Ok(matches!(window.at(end)?, Some(b':' | b'=')).then_some(end + 1))
}

/// Moves to a value on the next line, or in a nested object (`"secret": {"value": "x"}`).
fn value_further_on(window: Window<'_>, at: usize) -> Result<usize, More> {
    let is_white = |b: u8| b.is_ascii_whitespace();
    let opens = window.at(at)? == Some(b'{');
    let next = window.skip(at + usize::from(opens), 64, is_white)?;
    if opens {
        return match value_key(window, next)? {
            Some(value) => window.skip(value, 64, is_blank),
            None => Ok(at),
        };
    }
    // Three quotes start a docstring.
    let is_value = at != next && window.at(next)? == Some(b'"') && window.at(next + 1)? != Some(b'"');
    Ok(if is_value { next } else { at })
}

/// Returns whether the text before `password` is a machine entry of a `.netrc`.
fn is_netrc(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(LOOKBEHIND - 16)..];
    let mut words = near.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut next = || words.next().unwrap_or_default();
    let (_name, login, machine) = (next(), next(), next());
    login == b"login" && (machine == b"default" || next() == b"machine")
}

/// Skips a URL-encoded `=` or `:`, and quotes before it.
fn percent_separator(window: Window<'_>, at: usize) -> Result<Option<usize>, More> {
    let sign = if window.has(at, b"%22")? || window.has(at, b"%27")? { at + 3 } else { at };
    for text in [b"%3D", b"%3d", b"%3A", b"%3a"] {
        if window.has(sign, text)? {
            return Ok(Some(sign + text.len()));
        }
    }
    Ok(None)
}

/// Returns the signs of an emphasis that begin before a name: those of `**Password:** x` and `**Password**: x`.
fn emphasis_of(before: &[u8]) -> &[u8] {
    let signs = before.iter().rev().take(3).take_while(|byte| **byte == b'*').count();
    &before[before.len() - signs..]
}

/// Returns whether a quoted value stands right behind a name of which only passwords have one: `passphrase "x"`.
fn is_quoted_password(window: Window<'_>, at: usize, name: &Name<'_>) -> Result<bool, More> {
    const LONGEST: usize = 128;
    let last = name.name.rsplit(['-', '_', '.']).next().unwrap_or_default().to_ascii_lowercase();
    let is_password = ["passphrase", "password", "passwd"].contains(&last.as_str());
    if !is_password || !name.gap || name.is_quoted {
        return Ok(false);
    }
    let open = window.skip(at, 16, |b| b == b'\\')?;
    let Some(quote) = window.at(open)?.filter(|b| matches!(b, b'"' | b'\'')) else { return Ok(false) };
    let end = window.skip(open + 1, LONGEST, |b| b != quote && b != b'\n')?;
    Ok(open + 1 < end && window.at(end)? == Some(quote))
}

/// Returns whether only whitespace, or the dash of a list, precedes on the line.
fn is_first_in_line(before: &[u8]) -> bool {
    let indent = |bytes: &[u8]| bytes.iter().rev().take(64).take_while(|b| is_blank(**b)).count();
    let mut rest = &before[..before.len() - indent(before)];
    if let [outer @ .., b'-'] = rest {
        rest = &outer[..outer.len() - indent(outer)];
    }
    rest.ends_with(b"\n")
}

/// The characters of a token in an `Authorization` header.
fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Skips a scheme and the spaces after it. Returns `None` if something else follows.
fn after_scheme(window: Window<'_>, at: usize, scheme: &[u8]) -> Result<Option<usize>, More> {
    if !window.begins_word(at) {
        return Ok(None);
    }
    for (offset, letter) in scheme.iter().enumerate() {
        if !window.at(at + offset)?.is_some_and(|b| b.eq_ignore_ascii_case(letter)) {
            return Ok(None);
        }
    }
    let mut start = at + scheme.len();
    if window.at(start)? == Some(b':') {
        start += 1;
    }
    let end = if window.has(start, b"%20")? { start + 3 } else { window.skip(start, 8, is_blank)? };
    Ok((start < end).then_some(end))
}

fn bearer(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    let Some(start) = after_scheme(window, at, b"bearer")? else {
        return if window.begins_word(at) { auth_value(window, at + 6) } else { Ok(None) };
    };
    let end = window.skip(start, 64, is_token68)?;
    let token = &window.bytes[start..end];
    // Prose continues with a word: "bearer authentication".
    let is_token = 20 <= token.len() || (8 <= token.len() && token.iter().any(u8::is_ascii_digit));
    let found = Found { start, swallow: Swallow::Class(0, is_token68), kind: SecretKind::Authorization };
    Ok(is_token.then_some(found))
}

fn basic(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    match after_scheme(window, at, b"basic")? {
        Some(start) => name_and_password(window, start),
        None => Ok(None),
    }
}

/// Finds `"auth": "…"` and `_auth=…`, where container tools and package managers store a name and password.
fn auth_field(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    if !is_auth_name(window, at) {
        return Ok(None);
    }
    let start = window.skip(at + 3, 12, |b| is_blank(b) || b"\"'\\:=".contains(&b))?;
    match name_and_password(window, start)? {
        Some(found) => Ok(Some(found)),
        None => auth_value(window, at + 3),
    }
}

/// Finds base64 of `name:password` at a position.
fn name_and_password(window: Window<'_>, start: usize) -> Result<Option<Found>, More> {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b);
    let end = window.skip(start, 256, is_base64)?;
    let text = &window.bytes[start..end];
    // The first line of a private key may follow directly.
    let text = &text[..memchr::memmem::find(text, b"----").unwrap_or(text.len())];
    let is_token = 4 <= text.len() && decoded_holds_a_colon(text);
    let found = Found { start, swallow: Swallow::Class(0, is_token68), kind: SecretKind::Authorization };
    Ok(is_token.then_some(found))
}

/// Returns whether base64 decodes to printable text with a colon, like a name and password.
fn decoded_holds_a_colon(text: &[u8]) -> bool {
    let (mut bits, mut count, mut colon) = (0u32, 0, false);
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
            colon |= decoded == b':';
        }
    }
    colon
}

/// Finds the name and password in `scheme://name:password@host`; `at` is the last letter of the scheme.
///
/// A name without a password is kept (`ssh://git@host`) unless it is a [token](is_token_of_user). The password may
/// contain unescaped `/`, `?` and `#` if the text before them cannot be a port.
fn url(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    let bytes = window.bytes;
    if !bytes[at].is_ascii_alphanumeric() && !b"+-.".contains(&bytes[at]) {
        return Ok(None);
    }
    let start = at + 4;
    let mut colon = None;
    let mut last_at = None;
    let mut beyond_authority = false;
    let mut position = start;
    while position - start < LOOKAHEAD - 64 {
        match window.at(position)? {
            None | Some(0..=b' ' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\') => break,
            Some(b'@') => {
                last_at = Some(position);
                if beyond_authority {
                    break;
                }
            }
            Some(b':') if colon.is_none() => colon = Some(position),
            Some(b'/' | b'?' | b'#') if last_at.is_some() => break,
            Some(b'/' | b'?' | b'#') => {
                let port = colon.map(|colon: usize| &bytes[colon + 1..position]);
                if port.is_none_or(|port| port.iter().all(u8::is_ascii_digit)) && !beyond_authority {
                    break;
                }
                beyond_authority = true;
            }
            Some(_) => {}
        }
        position += 1;
    }
    if last_at.is_none()
        && let Some(found) = web::webhook(window, start)?
    {
        return Ok(Some(found));
    }
    let Some(end) = last_at.filter(|end| start < *end) else { return Ok(None) };
    // The digest of a container image is not a host.
    if bytes[start] == b'[' || window.has(end + 1, b"sha256:")? {
        return Ok(None);
    }
    let userinfo = &bytes[start..end];
    let is_secret = match colon.filter(|colon| *colon < end) {
        Some(_) => true,
        None => std::str::from_utf8(userinfo).is_ok_and(is_token_of_user),
    };
    let found = Found { start, swallow: Swallow::Fixed(end - start), kind: SecretKind::UrlCredentials };
    Ok(is_secret.then_some(found))
}

fn json_web_token(window: Window<'_>, start: usize) -> Result<Option<Found>, More> {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    if !window.begins_word(start) {
        return Ok(None);
    }
    let header = window.skip(start, LOOKAHEAD - 64, is_part)?;
    if header - start < 10 || window.at(header)? != Some(b'.') {
        return Ok(None);
    }
    // The second part of an encrypted token may be empty.
    let second = window.skip(header + 1, 8, is_part)?;
    if second - header < 9 && !window.has(header + 1, b".")? {
        return Ok(None);
    }
    let swallow = Swallow::Class(0, |b| b.is_ascii_alphanumeric() || b"-_.=".contains(&b));
    Ok(Some(Found { start, swallow, kind: SecretKind::JsonWebToken }))
}
