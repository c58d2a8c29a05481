//! Writes an entry in the usual form: one line per field, in the documented order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use brigade_core::text::escape_terminal;
use brigade_core::{Json, Object};
use toml_edit::{Array, InlineTable, Key, Value};

use crate::fields;
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

/// Returns a text as a TOML string. What an editor would not show, or would show in another order, is escaped: the text
/// may come from the file of another program, and a person reviews it here.
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

/// Tells whether nothing is drawn for a character. The two that only join or colour the one before stay.
fn is_hidden(c: char) -> bool {
    !c.is_ascii() && !matches!(c, '\u{200d}' | '\u{fe0f}') && {
        let mut bytes = [0; 4];
        matches!(escape_terminal(c.encode_utf8(&mut bytes)), Cow::Owned(_))
    }
}

/// Returns the seconds as a whole number. Up to 2^53, every one is exact.
fn whole(seconds: Seconds) -> Option<i64> {
    let seconds = seconds.get();
    (seconds.fract() == 0.0 && seconds <= 9_007_199_254_740_992.0).then_some(seconds as i64)
}

impl From<FieldValue> for Json {
    fn from(value: FieldValue) -> Json {
        match value {
            FieldValue::Text(text) => Json::from(text),
            FieldValue::Boolean(value) => Json::from(value),
            FieldValue::Seconds(seconds) => match whole(seconds) {
                Some(whole) => Json::from(whole),
                None => Json::from(seconds.get()),
            },
            FieldValue::List(items) => Json::from(items),
            FieldValue::Table(pairs) => {
                Json::Object(pairs.into_iter().map(|(key, text)| (key, Json::from(text))).collect::<Object>())
            }
            FieldValue::Amount(amount) => Json::from(amount),
            FieldValue::Whole(number) => Json::from(i64::from(number)),
            FieldValue::Group(fields) => {
                let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), Json::from(value)));
                Json::Object(fields.collect::<Object>())
            }
        }
    }
}

impl Tool {
    /// Returns the value of a field that is set. `enabled` is always set.
    ///
    /// Returns `None` for a field that is not set, has its default, or does not exist.
    pub fn field(&self, name: &str) -> Option<FieldValue> {
        let text = |text: &Option<String>| text.clone().map(FieldValue::Text);
        let word = |word: Option<&'static str>| word.map(|word| FieldValue::Text(word.to_owned()));
        let list = |list: &Vec<String>| (!list.is_empty()).then(|| FieldValue::List(list.clone()));
        let group = |fields: Vec<(&'static str, Option<FieldValue>)>| {
            let set: Vec<_> = fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
            (!set.is_empty()).then_some(FieldValue::Group(set))
        };
        let table =
            |table: &BTreeMap<String, String>| (!table.is_empty()).then(|| FieldValue::Table(table.clone()));
        match name {
            "id" => Some(FieldValue::Text(self.id.as_str().to_owned())),
            "name" => Some(FieldValue::Text(self.name.clone())),
            "family" => word(self.family.map(|family| family.as_str())),
            "enabled" => Some(FieldValue::Boolean(self.enabled)),
            "description" => text(&self.description),
            "source_path" => text(&self.source_path),
            "manifest_path" => text(&self.manifest_path),
            "schema_path" => text(&self.schema_path),
            "command" => text(&self.command),
            "auth_label" => text(&self.auth_label),
            "health_path" => text(&self.health_path),
            "fingerprint" => text(&self.fingerprint),
            "input_schema_path" => text(&self.input_schema_path),
            "output_schema_path" => text(&self.output_schema_path),
            "examples_path" => text(&self.examples_path),
            "approval_mode" => word(self.approval_mode.map(|mode| mode.as_str())),
            "cwd" => text(&self.cwd),
            "runtime_id" => text(&self.runtime_id),
            "runtime_health_path" => text(&self.runtime_health_path),
            "mcp_server_id" => text(&self.mcp_server_id),
            "mcp_tool_name" => text(&self.mcp_tool_name),
            "requires_runtime" => self.requires_runtime.then_some(FieldValue::Boolean(true)),
            "timeout" => self.timeout.map(FieldValue::Seconds),
            "domain" => text(&self.domain),
            "capability" => list(&self.capability),
            "risk_class" => word(self.risk_class.map(|class| class.as_str())),
            "permissions" => list(&self.permissions),
            "effects" => list(&self.effects),
            "env_labels" => list(&self.env_labels),
            "supported_harnesses" => list(&self.supported_harnesses),
            "projections" => table(&self.projections),
            "projection_fingerprints" => table(&self.projection_fingerprints),
            "argument_template" => table(&self.argument_template),
            "allow_option_values" => list(&self.allow_option_values),
            "code" => list(&self.code),
            "data" => list(&self.data),
            "aliases" => list(&self.aliases),
            "categories" => list(&self.categories),
            "capabilities" => list(&self.capabilities),
            "availability" => word(self.availability.map(|word| word.as_str())),
            "version" => self.version.as_ref().map(|version| FieldValue::Text(version.as_str().to_owned())),
            "version_command" => text(&self.version_command),
            "project_specific" => self.project_specific.then_some(FieldValue::Boolean(true)),
            "source" => self.source.as_ref().and_then(|source| {
                group(vec![
                    ("kind", word(source.kind.map(|word| word.as_str()))),
                    ("provider", text(&source.provider)),
                    ("server", text(&source.server)),
                    ("transport", word(source.transport.map(|word| word.as_str()))),
                    ("skill_id", text(&source.skill_id)),
                    ("entry", text(&source.entry)),
                    ("path", text(&source.path)),
                    ("ref", text(&source.reference)),
                    ("fingerprint", text(&source.fingerprint)),
                ])
            }),
            "install" => self.install.as_ref().and_then(|install| {
                let command = match install.command.as_slice() {
                    [one] => Some(FieldValue::Text(one.clone())),
                    _ => list(&install.command),
                };
                group(vec![
                    ("check", text(&install.check)),
                    ("command", command),
                    ("docs", text(&install.docs)),
                ])
            }),
            "cost" => self.cost.as_ref().and_then(|cost| {
                group(vec![("per_call", cost.per_call.map(FieldValue::Amount)), ("unit", text(&cost.unit))])
            }),
            _ => None,
        }
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
        let text = |text: &Option<String>| text.clone().map(FieldValue::Text);
        match name {
            "id" => Some(FieldValue::Text(self.id.as_str().to_owned())),
            "name" => Some(FieldValue::Text(self.name.clone())),
            "enabled" => Some(FieldValue::Boolean(self.enabled)),
            "command" => Some(FieldValue::Text(self.command.clone())),
            "cwd" => text(&self.cwd),
            "port" => self.port.map(FieldValue::Whole),
            "health_command" => text(&self.health_command),
            "health_path" => text(&self.health_path),
            "pid_path" => text(&self.pid_path),
            "log_path" => text(&self.log_path),
            "timeout" => self.timeout.map(FieldValue::Seconds),
            "on_demand" => self.on_demand.then_some(FieldValue::Boolean(true)),
            "env_labels" => (!self.env_labels.is_empty()).then(|| FieldValue::List(self.env_labels.clone())),
            _ => None,
        }
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
