//! The kinds of secret.

use std::fmt;
use std::ops::Range;

use super::anchors::{ANCHOR_LENGTH, Anchors};
use super::redactor::MARK;
use super::rules;
use super::window::{Extent, Window};

/// Why a text looks like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// It starts with the prefix of an issuer's tokens.
    TokenPrefix {
        /// The issuer.
        issuer: &'static str,
    },
    /// A JSON web token.
    JsonWebToken,
    /// A private key in PEM.
    PrivateKey,
    /// A URL with a name and password.
    UrlCredentials,
    /// A bearer or basic authorization.
    Authorization,
    /// A value with a secret name in the same text: `password=…`.
    NamedValue,
}

/// A few words that complete "this looks like …".
impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretKind::TokenPrefix { issuer } => write!(f, "a token of {issuer}"),
            SecretKind::JsonWebToken => f.write_str("a JSON web token"),
            SecretKind::PrivateKey => f.write_str("a private key"),
            SecretKind::UrlCredentials => f.write_str("a URL with a name and password"),
            SecretKind::Authorization => f.write_str("an authorization header"),
            SecretKind::NamedValue => f.write_str("a named secret"),
        }
    }
}

/// Finds the first secret in a text.
///
/// Agrees with a [`Redactor`](super::Redactor) without bound values on whether a text contains secrets, ignoring those
/// that are already masked. It also finds secrets whose names contain fullwidth letters or zero-width characters.
///
/// ```
/// use brigade_redact::{SecretKind, looks_secret_value};
///
/// assert_eq!(looks_secret_value("AKIAIOSFODNN7EXAMPLE"), Some(SecretKind::TokenPrefix { issuer: "AWS" }));
/// assert_eq!(looks_secret_value("GITHUB_TOKEN"), None);
/// assert_eq!(looks_secret_value("pass\u{200b}word=hunter2EXAMPLE"), Some(SecretKind::NamedValue));
/// assert_eq!(looks_secret_value("\u{ff21}PI_KEY=hunter2EXAMPLE"), Some(SecretKind::NamedValue));
/// ```
pub fn looks_secret_value(text: &str) -> Option<SecretKind> {
    if text.is_ascii() && !Anchors::new().stand_in(text.as_bytes()) {
        return None;
    }
    if crate::redactor::is_changed_by_rules(text) {
        return first_kind(text);
    }
    if text.is_ascii() {
        return None;
    }
    let plain = plain_letters(text);
    if plain != text && crate::redactor::is_changed_by_rules(&plain) { first_kind(&plain) } else { None }
}

/// Returns whether a text looks like a secret, or has at least 32 hex digits and nothing else.
pub fn looks_like_token(text: &str) -> bool {
    let is_hash = 32 <= text.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash || looks_secret_value(text).is_some()
}

/// Returns a name that somebody wrote as it is shown. One that [looks like a token](looks_like_token) is masked: it may
/// be the secret itself.
pub fn shown_name(name: &str) -> &str {
    if looks_like_token(name) { MARK } else { name }
}

/// Removes zero-width characters and converts fullwidth letters to ASCII, so that neither hides a name.
pub(crate) fn plain_letters(text: &str) -> String {
    let plain = text.chars().filter_map(|c| match c {
        '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{3000}' => Some(' '),
        c => Some(c),
    });
    plain.collect()
}

fn first_kind(text: &str) -> Option<SecretKind> {
    secrets_in(&in_a_line(text)).next().map(|secret| secret.kind)
}

/// Returns the bytes of a text behind a line feed, as rules look at them.
pub(crate) fn in_a_line(text: &str) -> Vec<u8> {
    [b"\n", text.as_bytes()].concat()
}

/// A secret that a rule finds.
pub(crate) struct Secret {
    /// Where it stands in the text.
    pub(crate) range: Range<usize>,
    pub(crate) kind: SecretKind,
}

/// Lists every place where a rule finds a secret in a text that is [in a line](in_a_line). Some may be within others,
/// or masked already.
pub(crate) fn secrets_in(bytes: &[u8]) -> impl Iterator<Item = Secret> {
    let window = Window { bytes, extent: Extent::Ended };
    let anchors = Anchors::new();
    let places = std::iter::successors(anchors.next(bytes, 0), move |at| anchors.next(bytes, at + 1));
    places.flat_map(move |at| {
        debug_assert!(at + ANCHOR_LENGTH <= bytes.len());
        anchors.at(bytes, at).filter_map(move |anchor| {
            let mut found = rules::find(anchor, window, at).ok()??;
            let (end, _) = found.swallow.advance(window, found.start);
            Some(Secret { range: found.start - 1..end - 1, kind: found.kind })
        })
    })
}
