//! Decides whether a text of a definition looks like a secret.

use super::MARK;
use super::argv::is_secret_value;
use super::find;
use super::kind::SecretKind;
use super::named::{Context, named_values};
use super::scan;
use super::window::{Extent, Window};

/// Finds the first secret in a text of a definition or of settings: a token, or a literal value after a secret name.
///
/// ```
/// use brigade_redact::{SecretKind, looks_secret_value};
///
/// assert_eq!(looks_secret_value("AKIAIOSFODNN7EXAMPLE"), Some(SecretKind::TokenPrefix { issuer: "AWS" }));
/// assert_eq!(looks_secret_value("password=hunter2"), Some(SecretKind::NamedValue));
/// assert_eq!(looks_secret_value("GITHUB_TOKEN"), None);
/// ```
pub fn looks_secret_value(text: &str) -> Option<SecretKind> {
    let is_named = || {
        let is_pair = |(name, value): (&str, &str)| {
            !text.contains(char::is_whitespace) && is_secret_value(name.trim_start_matches('-'), value)
        };
        text.split_once('=').is_some_and(is_pair)
            || text.lines().any(|line| !named_values(line.as_bytes(), Context::Settings).is_empty())
    };
    looks_like_shape(text).or_else(|| is_named().then_some(SecretKind::NamedValue))
}

/// Finds the first token in a text that every redactor masks.
pub fn looks_like_shape(text: &str) -> Option<SecretKind> {
    let window = Window { bytes: text.as_bytes(), extent: Extent::Ended };
    let places = std::iter::successors(scan::next(window.bytes, 0), |at| scan::next(window.bytes, at + 1));
    let mut anchors = places.flat_map(|at| scan::at(window.bytes, at));
    anchors.find_map(|(anchor, start)| find::find(anchor, window, start).ok()?.map(|found| found.kind))
}

/// Returns whether a text looks like a secret, or consists of at least 32 hex digits.
pub fn looks_like_token(text: &str) -> bool {
    let is_hash = 32 <= text.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash || looks_secret_value(text).is_some()
}

/// Returns a user's name for something, for display. A name that [looks like a token](looks_like_token) is masked,
/// because it may be the secret itself.
pub fn shown_name(name: &str) -> &str {
    if looks_like_token(name) { MARK } else { name }
}
