//! Passwords in statements for databases: `CREATE USER bob IDENTIFIED BY 'q1'`.

use super::value::is_placeholder;
use super::{Found, is_quote};
use crate::shape::SecretKind;
use crate::swallow::Swallow;
use crate::window::{More, Window};

/// How far back the name of the user is looked for.
const LONGEST_NAME: usize = 160;

/// The longest value that is looked at whether it is a placeholder.
const LONGEST: usize = 64;

/// The longest gap between two words.
const LONGEST_GAP: usize = 32;

/// Words before the name of a user. Others may stand in any sentence: `the record identified by 'id'`.
const BEFORE_USERS: &[&[u8]] = &[b"exists", b"role", b"to", b"user"];

/// Finds the password behind `IDENTIFIED BY`, `IDENTIFIED WITH plugin BY` and `IDENTIFIED BY PASSWORD`. `at` is the
/// `fied` of the first word.
pub(super) fn identified(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    let Some(start) = at.checked_sub(b"identi".len()) else { return Ok(None) };
    let begins = window.bytes[start..at].eq_ignore_ascii_case(b"identi") && window.begins_word(start);
    if !begins || !is_behind_user(&window.bytes[start.saturating_sub(LONGEST_NAME)..start]) {
        return Ok(None);
    }
    let mut end = at + b"fied".len();
    if let Some(behind) = word(window, end, b"with")? {
        let plugin = window.skip(behind, LONGEST_GAP, |byte| byte.is_ascii_whitespace())?;
        end = window.skip(plugin, LONGEST, |byte| !byte.is_ascii_whitespace())?;
    }
    let Some(behind) = word(window, end, b"by")? else { return Ok(None) };
    let behind = word(window, behind, b"password")?.unwrap_or(behind);
    let gap = window.skip(behind, LONGEST_GAP, |byte| byte.is_ascii_whitespace())?;
    let quote_at = window.skip(gap, 3, |byte| byte == b'\\')?;
    let Some(quote) = window.at(quote_at)?.filter(|byte| is_quote(*byte)) else { return Ok(None) };
    let start = quote_at + 1;
    let end = window.skip(start, LONGEST, |byte| byte != quote && byte != b'\\')?;
    let text = &window.bytes[start..end];
    let is_none = text.is_empty() || std::str::from_utf8(text).is_ok_and(is_placeholder);
    if is_none || window.has_mark(start)? {
        return Ok(None);
    }
    let swallow = Swallow::Quoted { quote, slashes: quote_at - gap };
    Ok(Some(Found { start, swallow, kind: SecretKind::NamedValue }))
}

/// Returns where a word ends that follows a gap.
fn word(window: Window<'_>, from: usize, word: &[u8]) -> Result<Option<usize>, More> {
    let start = window.skip(from, LONGEST_GAP, |byte| byte.is_ascii_whitespace())?;
    let end = window.skip(start, word.len() + 1, |byte| byte.is_ascii_alphabetic())?;
    let is_one = from < start && window.bytes[start..end].eq_ignore_ascii_case(word);
    Ok(is_one.then_some(end))
}

/// Returns whether a text ends with the name of a user in a statement: `CREATE USER 'bob'@'%' `.
fn is_behind_user(text: &[u8]) -> bool {
    let mut words = text.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (Some(_), Some(before)) = (words.next(), words.next()) else { return false };
    before.ends_with(b",") || BEFORE_USERS.iter().any(|word| before.eq_ignore_ascii_case(word))
}
