//! Passwords on the command line of `curl`: `-u name:password`, and tokens in place of a user.

use super::value::is_placeholder;
use super::{Found, LOOKBEHIND, is_blank, is_quote};
use crate::option::reads_like_words;
use crate::shape::SecretKind;
use crate::swallow::Swallow;
use crate::window::{More, Window};

/// The maximum length of a name and password.
const LONGEST: usize = 256;

/// Finds the password after `-u`, `--user` and `--proxy-user`, if the line names `curl` before it.
pub(super) fn user_flag(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    let flag = if window.has(at, b"-user")? { at + 5 } else { at + 3 };
    let is_short = flag == at + 3;
    if !is_short && !window.bytes[..at].ends_with(b"-") && !window.bytes[..at].ends_with(b"-proxy") {
        return Ok(None);
    }
    let line = &window.bytes[at.saturating_sub(LOOKBEHIND - 8)..at];
    let line = memchr::memrchr(b'\n', line).map_or(line, |end| &line[end + 1..]);
    if memchr::memmem::find(line, b"curl").is_none() {
        return Ok(None);
    }
    let value = window.skip(flag, 12, |b| is_blank(b) || is_quote(b) || b",=\\".contains(&b))?;
    if value == flag {
        return Ok(None);
    }
    let quote = window.bytes[value - 1];
    let is_part = |b: u8| b' ' < b && !is_quote(b) && b != b'\\';
    let end = window.skip(value, LONGEST, is_part)?;
    let text = &window.bytes[value..end];
    let Some(colon) = text.iter().position(|b| *b == b':') else { return Ok(None) };
    let password = &text[colon + 1..];
    if password.is_empty() || std::str::from_utf8(password).is_ok_and(is_placeholder) {
        return Ok(None);
    }
    let slashes = window.bytes[flag..value - 1].iter().rev().take_while(|b| **b == b'\\').count();
    let swallow = if is_quote(quote) {
        Swallow::Quoted { quote, slashes }
    } else {
        Swallow::Class(0, |b| b' ' < b && !is_quote(b) && b != b'\\')
    };
    Ok(Some(Found { start: value + colon + 1, swallow, kind: SecretKind::NamedValue }))
}

/// Returns whether the user of a URL, without a password, is a token: letters or digits in a row that nobody would
/// choose as a name.
///
/// ```
/// use brigade_redact::is_token_of_user;
///
/// assert!(is_token_of_user("S3cr3tV4lue99") && is_token_of_user("0123456789abcdef"));
/// assert!(!is_token_of_user("git") && !is_token_of_user("jane1985") && !is_token_of_user("deploy-bot-2024"));
/// ```
pub fn is_token_of_user(user: &str) -> bool {
    let has = |part: &str, kind: fn(&u8) -> bool| part.as_bytes().iter().any(kind);
    // A name, and a year or a number behind it.
    let is_chosen = |part: &str| {
        let name = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() - name.len() <= LONGEST_YEAR
            && (name.len() < SHORTEST_TOKEN || reads_like_words(name))
            && !has(name, u8::is_ascii_digit)
    };
    let is_token =
        |part: &str| SHORTEST_TOKEN <= part.len() && has(part, u8::is_ascii_alphabetic) && !is_chosen(part);
    let is_written_so = user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.~".contains(&byte));
    let is_long = 2 * SHORTEST_TOKEN <= user.len() && has(user, u8::is_ascii_digit);
    let mut parts = user.split(['_', '-', '.', '~']);
    is_written_so && (parts.clone().any(is_token) || (is_long && !parts.all(is_chosen)))
}

/// The shortest part of a user that may be a token.
const SHORTEST_TOKEN: usize = 8;

/// The longest number behind a name.
const LONGEST_YEAR: usize = 4;
