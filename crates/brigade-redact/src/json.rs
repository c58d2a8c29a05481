//! Redaction of JSON values.

use brigade_core::json::insert_beside;
use brigade_core::{Json, Object};

use super::name::{NameKind, classify};
use super::named::is_literal;
use super::{MARK, Redactor, is_secret_field, looks_like_shape, secret_at};

/// How names affect the strings of a JSON value, in addition to their content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Not at all.
    Ignored,
    /// They are checked; no name above the string was secret so far.
    Read,
    /// A name above it was secret.
    Secret,
}

impl Redactor {
    /// Redacts every string and key of a JSON value as text. If two keys become equal, a number is added to one of
    /// them.
    pub fn redact_json(&self, json: &Json) -> Json {
        self.value(json, Names::Ignored)
    }

    /// Redacts a JSON value with meaningful names, such as a definition or arguments. Under a key with a secret name,
    /// every non-empty string becomes `[redacted]`, including those inside lists and objects, unless the name is
    /// ambiguous ([`is_secret_field`]). Numbers and booleans are kept.
    pub fn redact_fields(&self, json: &Json) -> Json {
        self.value(json, Names::Read)
    }

    fn value(&self, json: &Json, names: Names) -> Json {
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => json.clone(),
            Json::String(text) if names == Names::Secret && !text.is_empty() => Json::from(MARK),
            Json::String(text) => Json::String(self.redact_str(text)),
            Json::Array(items) => Json::Array(self.items(items, names)),
            Json::Object(members) => {
                let mut redacted = Object::new();
                for (key, value) in members {
                    let value = self.value(value, names.under(key, value));
                    insert_beside(&mut redacted, self.redact_str(key), value);
                }
                Json::Object(redacted)
            }
        }
    }

    /// Redacts a list. It may be a command line, in which an option names the value after it.
    fn items(&self, items: &[Json], names: Names) -> Vec<Json> {
        let words: Vec<&str> = items.iter().map(|item| item.as_str().unwrap_or_default()).collect();
        let secret = |at: usize| if names == Names::Read { secret_at(&words, at) } else { None };
        let item = |(at, item): (usize, &Json)| match secret(at) {
            None => self.value(item, names),
            Some(from) => Json::from(self.redact_str(&words[at][..from]) + MARK),
        };
        items.iter().enumerate().map(item).collect()
    }
}

impl Names {
    fn under(self, key: &str, value: &Json) -> Names {
        let is_named = || match value {
            Json::String(text) => is_secret_field(key, text),
            Json::Array(_) | Json::Object(_) => classify(key).is_some_and(NameKind::covers_all),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        };
        if self == Names::Read && is_named() { Names::Secret } else { self }
    }
}

/// Lists the paths (`$.a.b[0]`) of all fields that are secret, by name (if they hold a literal string) or because they
/// hold a token.
///
/// A key that is not an identifier is written `["…"]`, and a key that looks secret `["[redacted]"]`, so paths are safe
/// to show. The value `[redacted]` is not a secret.
///
/// ```
/// use brigade_core::Json;
/// use brigade_redact::secret_fields;
///
/// let json = Json::parse(r#"{"auth": {"token": "x", "max_tokens": 100}, "urls": ["https://u:pw1@example.com"]}"#)?;
/// assert_eq!(secret_fields(&json), ["$.auth.token", "$.urls[0]"]);
/// # Ok::<(), brigade_core::JsonError>(())
/// ```
pub fn secret_fields(json: &Json) -> Vec<String> {
    let mut found = Vec::new();
    collect(json, "$", Names::Read, &mut found);
    found
}

fn collect(json: &Json, path: &str, names: Names, found: &mut Vec<String>) {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
        Json::String(text) => {
            let is_named = names == Names::Secret && is_literal(text);
            if is_named || looks_like_shape(text).is_some() {
                found.push(path.to_owned());
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{index}]"), names, found);
            }
        }
        Json::Object(members) => {
            for (key, value) in members {
                let shown = if looks_like_shape(key).is_some() { MARK } else { key.as_str() };
                let is_plain = !shown.is_empty()
                    && shown.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
                let path = if is_plain {
                    format!("{path}.{shown}")
                } else {
                    format!("{path}[{}]", Json::from(shown).to_compact())
                };
                if shown == MARK {
                    found.push(path.clone());
                }
                collect(value, &path, names.under(key, value), found);
            }
        }
    }
}
