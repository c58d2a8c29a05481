//! Passwords on the command line of `curl`: `-u name:password`.

use super::value::is_placeholder;
use super::{Found, LOOKBEHIND, is_blank, is_quote};
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
