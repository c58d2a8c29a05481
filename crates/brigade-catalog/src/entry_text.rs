//! Writes an entry in the usual form: one line per field, in the documented order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use brigade_core::Json;
use brigade_core::text::escape_terminal;
use toml_edit::{Array, InlineTable, Key, Value};

use crate::edit::json;
use crate::fields::{self, Slots as _};
use crate::model::{Runtime, Seconds, Tool};

/// The value of a field to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// A string, or a keyword such as a family.
    Text(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A number of seconds.
    Seconds(Seconds),
    /// A list of strings.
    List(Vec<String>),
    /// A table of strings.
    Table(BTreeMap<String, String>),
    /// A number of at least 0.
    Amount(f64),
    /// A whole number, such as a port.
    Whole(u16),
    /// The fields of a table such as `install` that are set, in the order in which they are written.
    Group(Vec<(&'static str, FieldValue)>),
}

impl FieldValue {
    /// Converts to a toml_edit value.
    pub(crate) fn to_toml(&self) -> Value {
        match self {
            FieldValue::Text(text) => string(text),
            FieldValue::Boolean(value) => Value::from(*value),
            FieldValue::Seconds(seconds) => match whole(*seconds) {
                Some(whole) => Value::from(whole),
                None => Value::from(seconds.get()),
            },
            FieldValue::List(items) => items.iter().map(|item| string(item)).collect::<Array>().into(),
            FieldValue::Table(pairs) => {
                pairs.iter().map(|(key, text)| (Key::new(key), string(text))).collect::<InlineTable>().into()
            }
            FieldValue::Amount(amount) => Value::from(*amount),
            FieldValue::Whole(number) => Value::from(i64::from(*number)),
            FieldValue::Group(fields) => fields
                .iter()
                .map(|(key, value)| (Key::new(*key), value.to_toml()))
                .collect::<InlineTable>()
                .into(),
        }
    }
}

/// Returns a text as a TOML string. Escapes characters that an editor hides or reorders, because a person reviews text
/// here that may come from other programs.
fn string(text: &str) -> Value {
    if !text.chars().any(is_hidden) {
        return Value::from(text);
    }
    let mut quoted = String::with_capacity(text.len() + 16);
    quoted.push('"');
    for c in text.chars() {
        let code = u32::from(c);
        let written = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            c if c.is_control() || is_hidden(c) => write!(quoted, "\\U{code:08X}"),
            c => write!(quoted, "{c}"),
        };
        written.expect("writing to a string cannot fail");
    }
    quoted.push('"');
    quoted.parse().unwrap_or_else(|_| Value::from(text))
}

/// Returns whether a character is invisible. The two characters that only join or colour the previous one are not
/// counted.
fn is_hidden(c: char) -> bool {
    !c.is_ascii() && !matches!(c, '\u{200d}' | '\u{fe0f}') && {
        let mut bytes = [0; 4];
        matches!(escape_terminal(c.encode_utf8(&mut bytes)), Cow::Owned(_))
    }
}

/// Returns the seconds as a whole number, if it is exact (up to 2^53).
fn whole(seconds: Seconds) -> Option<i64> {
    let seconds = seconds.get();
    (seconds.fract() == 0.0 && seconds <= 9_007_199_254_740_992.0).then_some(seconds as i64)
}

impl From<FieldValue> for Json {
    fn from(value: FieldValue) -> Json {
        json(&value.to_toml())
    }
}

impl Tool {
    /// Returns the value of a field that is set. `enabled` is always set.
    ///
    /// Returns `None` for a field that is not set, has its default, or does not exist.
    pub fn field(&self, name: &str) -> Option<FieldValue> {
        fields::TOOL.position(name).and_then(|field| self.value(field))
    }

    /// Formats the whole entry as TOML with its header. Reading it gives the same fields.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("[[tool]]\n");
        let mut tables = String::new();
        for name in fields::TOOL.names() {
            match self.field(name) {
                Some(FieldValue::Group(fields)) => {
                    tables.push_str(&format!("[tool.{name}]\n"));
                    for (key, value) in fields {
                        tables.push_str(&format!("{key} = {}\n", value.to_toml()));
                    }
                }
                Some(value) => text.push_str(&format!("{name} = {}\n", value.to_toml())),
                None => {}
            }
        }
        text + &tables
    }
}

impl Runtime {
    /// Returns the value of a field that is set. `enabled` is always set.
    ///
    /// Returns `None` for a field that is not set, has its default, or does not exist.
    pub fn field(&self, name: &str) -> Option<FieldValue> {
        fields::RUNTIME.position(name).and_then(|field| self.value(field))
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Severity;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        ApprovalMode, Availability, Catalog, Cost, Family, Install, Level, SourceDetail, ToolSource,
    };

    /// Trimmed text, as the reader returns it.
    fn text() -> impl Strategy<Value = String> {
        "[ -~é\"'\\\\\n\t\u{1}#]{0,12}".prop_map(|text| text.trim().to_owned())
    }

    fn words() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(text().prop_filter("not empty", |text| !text.is_empty()), 0..4)
    }

    fn tool() -> impl Strategy<Value = Tool> {
        let table = || prop::collection::btree_map("[a-z.\" é]{0,6}", text(), 0..4);
        let texts = (prop::option::of(text()), prop::option::of(text()), any::<bool>(), 0.001f64..1e20);
        let registry =
            (words(), prop::option::of(text()), words(), prop::option::of(0.0f64..1e9), any::<bool>());
        ("[a-z][ a-z\"'é]{0,8}[a-z]", texts, words(), words(), table(), table(), registry).prop_map(
            |(
                id,
                (description, cwd, enabled, timeout),
                effects,
                capability,
                argument_template,
                projections,
                (aliases, check, command, per_call, is_cli),
            )| Tool {
                aliases,
                availability: is_cli.then_some(Availability::Installed),
                version: is_cli.then(|| ">=1.2, <2".parse().expect("a requirement")),
                project_specific: is_cli,
                source: Some(Box::new(SourceDetail {
                    kind: is_cli.then_some(ToolSource::Cli),
                    reference: check.clone(),
                    ..SourceDetail::default()
                })),
                install: Some(Box::new(Install { check, command, docs: None })),
                cost: Some(Box::new(Cost { per_call, unit: None })),
                description,
                cwd,
                enabled,
                timeout: Seconds::new(timeout).ok(),
                approval_mode: Some(ApprovalMode::Always),
                effects,
                capability,
                argument_template,
                projections,
                ..Tool::new(&id, Family::Script).expect("a usable id")
            },
        )
    }

    proptest! {
        #[test]
        fn written_entries_read_back_unchanged(tool in tool()) {
            let text = tool.to_toml();
            prop_assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{e0041}']), "{:?}", text);
            let catalog = Catalog::parse("t", Level::Project, text.as_bytes());
            let errors: Vec<_> = catalog.issues().iter().filter(|issue| issue.severity == Severity::Error).collect();
            prop_assert!(errors.is_empty(), "{:?}", errors);
            let read = &catalog.tools()[0];
            for name in fields::TOOL.names() {
                prop_assert_eq!(read.field(name), tool.field(name), "{}", name);
            }
        }
    }
}
