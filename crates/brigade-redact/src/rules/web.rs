//! Web secrets: webhooks, signatures of URLs, cookies.

use super::{Found, is_blank, is_quote};
use crate::shape::SecretKind;
use crate::swallow::Swallow;
use crate::window::{More, Window};

/// The minimum length of a signature.
const SHORTEST_SIGNATURE: usize = 16;

/// The minimum length of a cookie value with an ordinary name.
const SHORTEST_COOKIE: usize = 12;

fn is_url_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%+/=".contains(&byte)
}

/// Finds the secret path of a webhook. `at` is the start of the host.
pub(super) fn webhook(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    const PLACES: &[&[u8]] = &[
        b"hooks.slack.com/services/",
        b"hooks.slack.com/workflows/",
        b"discord.com/api/webhooks/",
        b"discordapp.com/api/webhooks/",
    ];
    for place in PLACES {
        if window.has(at, place)? {
            let start = at + place.len();
            let end = window.skip(start, 20, is_url_part)?;
            let found =
                Found { start, swallow: Swallow::Class(0, is_url_part), kind: SecretKind::UrlCredentials };
            return Ok((end - start == 20).then_some(found));
        }
    }
    Ok(None)
}

/// Finds the signature in `?sig=…`, `&X-Amz-Signature=…` and similar parameters. `at` is the byte before `sig`.
pub(super) fn signature(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    let sign: &[u8] = match window.bytes[at] {
        b'?' | b'&' | b';' => b"=",
        b'-' => b"nature=",
        _ => return Ok(None),
    };
    if !window.has(at + 4, sign)? {
        return Ok(None);
    }
    let start = at + 4 + sign.len();
    let end = window.skip(start, SHORTEST_SIGNATURE, is_url_part)?;
    let found = Found { start, swallow: Swallow::Class(0, is_url_part), kind: SecretKind::UrlCredentials };
    Ok((SHORTEST_SIGNATURE <= end - start).then_some(found))
}

/// Finds the value of the first cookie of a header that is long or has a secret name.
///
/// In `Cookie:` everything from there on is masked, in `Set-Cookie:` only the value. `at` is the second letter of
/// `cookie`.
pub(super) fn cookie(window: Window<'_>, at: usize) -> Result<Option<Found>, More> {
    let Some(start) = at.checked_sub(1) else { return Ok(None) };
    let is_cookie = window.bytes[start].eq_ignore_ascii_case(&b'c') && window.begins_word(start);
    let at = at + 5;
    if !is_cookie
        || !window.at(at - 1)?.is_some_and(|b| b.eq_ignore_ascii_case(&b'e'))
        || window.at(at)? != Some(b':')
    {
        return Ok(None);
    }
    let sets = window.bytes[..start].to_ascii_lowercase().ends_with(b"set-");
    let name = window.skip(at + 1, 4, is_blank)?;
    let equals = window.skip(name, 64, |b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))?;
    if name == at + 1 || name == equals || window.at(equals)? != Some(b'=') {
        return Ok(None);
    }
    let start = equals + 1;
    let is_value = |b: u8| b' ' < b && b != b';' && b != b',' && !is_quote(b) && b != b'\\' && b != 0x7f;
    let end = window.skip(start, SHORTEST_COOKIE, is_value)?;
    let text = window.bytes[name..equals].to_ascii_lowercase();
    let tells = [&b"sess"[..], b"sid", b"auth", b"token", b"csrf", b"jwt"];
    let tells = tells.iter().any(|word| memchr::memmem::find(&text, word).is_some());
    if start == end || window.has_mark(start)? || !(tells || SHORTEST_COOKIE <= end - start) {
        return Ok(None);
    }
    let is_rest = |b: u8| b' ' <= b && !is_quote(b) && b != b'\\' && b != 0x7f;
    let class: fn(u8) -> bool = if sets { is_value } else { is_rest };
    Ok(Some(Found { start, swallow: Swallow::Class(0, class), kind: SecretKind::Authorization }))
}
