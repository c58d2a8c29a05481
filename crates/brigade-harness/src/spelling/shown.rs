//! Keys for display.

use brigade_redact::{MARK, looks_secret_value};

use super::MAX_TEXT_BYTES;
use super::text::cut;

/// Returns a key for display. Masks a key that looks like a secret.
pub(super) fn shown_key(key: &str) -> String {
    if MAX_TEXT_BYTES < key.len() || looks_secret_value(key).is_some() {
        return MARK.to_owned();
    }
    // A value may be written where a name is expected.
    match key.find(['=', ':']) {
        Some(at) if at + 1 < key.len() => {
            let value = key[at + 1..].trim_start();
            format!("{}{MARK}", cut(&key[..key.len() - value.len()]))
        }
        _ => cut(key),
    }
}
