//! Values of `auth` and `bearer`, which are either a secret or the name of a method.

use super::{Found, is_blank, is_quote, is_token68};
use crate::name::is_method;
use crate::shape::SecretKind;
use crate::swallow::Swallow;
use crate::window::{More, Window};

/// Returns whether the `uth` at a position ends a name such as `auth`, `_auth` or `basicAuth`, but not `oauth`.
pub(super) fn is_auth_name(window: Window<'_>, at: usize) -> bool {
    match window.bytes[..at].last() {
        Some(b'A') => true,
        Some(b'a') => window.begins_word(at - 1),
        Some(_) | None => false,
    }
}

/// Finds the secret after the name `auth` or `bearer` and a separator.
///
/// In plain text a word may name a method. Only a word that cannot be one is masked: one with letters and digits, a
/// long one, or a name and password.
pub(super) fn auth_value(window: Window<'_>, name_end: usize) -> Result<Option<Found>, More> {
    let start = window.skip(name_end, 12, |b| is_blank(b) || b"\"'\\:=".contains(&b))?;
    let sign = &window.bytes[name_end..start];
    let signs = sign.iter().filter(|b| matches!(b, b':' | b'=')).count();
    if signs != 1 {
        return Ok(None);
    }
    let is_secret = |b: u8| is_token68(b) || b":!@#$%^&*?".contains(&b);
    let end = window.skip(start, 96, is_secret)?;
    let Ok(text) = std::str::from_utf8(&window.bytes[start..end]) else { return Ok(None) };
    let is_open = sign.last().is_some_and(|b| is_quote(*b)) || !sign.contains(&b':');
    // A call or an index: `auth=get_auth2(`.
    let is_code = window.at(end)?.is_some_and(|b| b"([{<".contains(&b))
        || is_path(text)
        || (!is_open && is_constant(text));
    let found = Found { start, swallow: Swallow::Class(0, is_secret), kind: SecretKind::Authorization };
    Ok((!is_code && !is_method(text) && looks_random(text, is_open)).then_some(found))
}

/// Returns whether a word has letters and digits, is long, or is a name and password.
fn looks_random(text: &str, is_open: bool) -> bool {
    let has = |kind: fn(&u8) -> bool| text.as_bytes().iter().any(kind);
    let (letters, digits) = (has(u8::is_ascii_alphabetic), has(u8::is_ascii_digit));
    let pair = is_open
        && text.split_once(':').is_some_and(|(name, password)| {
            !name.is_empty() && !password.is_empty() && !password.starts_with(['$', '{', '<'])
        });
    letters && ((8 <= text.len() && digits) || 24 <= text.len() || pair)
}

/// Returns whether a word is written like a constant: `WIN32_ERROR`.
fn is_constant(text: &str) -> bool {
    text.contains('_') && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Returns whether a word is an address, a file path, a path in a program, or a variable.
fn is_path(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let dotted = text.contains('.') && text.split('.').all(is_name);
    let joined = text.contains("::") && text.split("::").all(is_name);
    text.contains("://") || text.starts_with(['/', '.', '~', '$', '%']) || dotted || joined
}
