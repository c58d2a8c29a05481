//! Redaction of JSON values, by the names of their fields.

use super::argv::{ArgvReader, Hidden};
use super::name::{NameKind, classify};
use super::{MARK, Redactor, is_secret_field, looks_secret_value};
use brigade_core::json::insert_beside;
use brigade_core::{Json, Object};

impl Redactor {
    /// Redacts a JSON value.
    ///
    /// Under a key with a secret name, every non-empty string becomes `[redacted]`, including those inside lists and
    /// objects, unless the name is ambiguous ([`is_secret_field`]). Numbers and booleans are kept. All other strings,
    /// and all keys, are redacted as text. If two keys become equal, a number is added to one of them.
    pub fn redact_json(&self, json: &Json) -> Json {
        self.value(json, Inherited::Nothing)
    }

    fn value(&self, json: &Json, inherited: Inherited) -> Json {
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => json.clone(),
            Json::String(text) => match inherited {
                Inherited::Secret if !text.is_empty() => Json::String(MARK.to_owned()),
                Inherited::Secret | Inherited::Nothing => Json::String(self.redact_str(text)),
            },
            Json::Array(items) => Json::Array(self.items(items, inherited)),
            Json::Object(members) => {
                let mut redacted = Object::new();
                for (key, value) in members {
                    let value = self.value(value, inherited.under(key, value));
                    insert_beside(&mut redacted, self.redact_str(key), value);
                }
                Json::Object(redacted)
            }
        }
    }

    /// A list may be a command line, in which a flag names the value after it.
    fn items(&self, items: &[Json], inherited: Inherited) -> Vec<Json> {
        let mut redacted = Vec::with_capacity(items.len());
        let mut words = ArgvReader::of_list(items.iter().filter_map(Json::as_str));
        for item in items {
            let text = item.as_str().unwrap_or_default();
            redacted.push(match words.next(text) {
                Hidden::Nothing => self.value(item, inherited),
                Hidden::Whole => self.value(item, Inherited::Secret),
                Hidden::From(_) if inherited == Inherited::Secret => self.value(item, inherited),
                Hidden::From(at) => Json::String(self.redact_str(&text[..at]) + MARK),
            });
        }
        redacted
    }
}

/// What the keys above a value say about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inherited {
    Nothing,
    Secret,
}

impl Inherited {
    fn under(self, key: &str, value: &Json) -> Inherited {
        let named = || match value {
            Json::String(text) => is_secret_field(key, text),
            Json::Array(_) | Json::Object(_) => classify(key).is_some_and(NameKind::covers_all),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        };
        if self == Inherited::Secret || named() { Inherited::Secret } else { Inherited::Nothing }
    }
}

/// Lists the paths (`$.a.b[0]`) of all fields that look secret, by name (if they hold a non-empty string) or by value.
///
/// A key that is not an identifier is written `["…"]`, and a key that looks secret `["[redacted]"]`, so paths are safe
/// to show. The value `[redacted]` is not a secret.
///
/// ```
/// use brigade_core::Json;
/// use brigade_redact::secret_fields;
///
/// let json = Json::parse(r#"{"auth": {"token": "x", "max_tokens": 100}, "urls": ["https://u:p@example.com"]}"#)?;
/// assert_eq!(secret_fields(&json), ["$.auth.token", "$.urls[0]"]);
/// # Ok::<(), brigade_core::JsonError>(())
/// ```
pub fn secret_fields(json: &Json) -> Vec<String> {
    let mut found = Vec::new();
    collect(json, "$", Inherited::Nothing, &mut found);
    found
}

fn collect(json: &Json, path: &str, inherited: Inherited, found: &mut Vec<String>) {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
        Json::String(text) => {
            let by_name = inherited == Inherited::Secret && !text.is_empty() && text != MARK;
            if by_name || looks_secret_value(text).is_some() {
                found.push(path.to_owned());
            }
        }
        Json::Array(items) => {
            let mut words = ArgvReader::of_list(items.iter().filter_map(Json::as_str));
            for (index, item) in items.iter().enumerate() {
                let text = item.as_str().unwrap_or_default();
                let inherited = match words.next(text) {
                    Hidden::Nothing => inherited,
                    Hidden::From(at) if &text[at..] == MARK => inherited,
                    Hidden::Whole | Hidden::From(_) => Inherited::Secret,
                };
                collect(item, &format!("{path}[{index}]"), inherited, found);
            }
        }
        Json::Object(members) => {
            for (key, value) in members {
                let shown = if looks_secret_value(key).is_some() { MARK } else { key.as_str() };
                let is_plain = !shown.is_empty()
                    && shown.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
                let path = if is_plain {
                    format!("{path}.{shown}")
                } else {
                    format!("{path}[{}]", Json::String(shown.to_owned()).to_compact())
                };
                if shown == MARK {
                    found.push(path.clone());
                }
                collect(value, &path, inherited.under(key, value), found);
            }
        }
    }
}
