//! Reads the settings of a catalog file: `schema` and `[registry]`.

use brigade_core::{Hint, Place, Severity};

use super::entry::Entry;
use super::fill::{did_you_mean, shown};
use super::value::{Data, Key, Table, Value};
use super::{Finding, Output};
use crate::fields::KNOWN_HARNESSES;
use crate::model::SCHEMA;
use crate::programs::programs;
use crate::source::Locator;

/// The top-level keys of a catalog file, apart from entries.
pub(super) const KEYS: [&str; 2] = ["schema", "registry"];
/// The keys of `[registry]`.
const REGISTRY: [&str; 2] = ["harnesses", "harness_tools"];

/// Reads one of [`KEYS`].
pub(super) fn read<E: Entry>(
    key: &Key<'_>,
    value: &Value<'_>,
    locator: &Locator<'_>,
    output: &mut Output<'_, E>,
) {
    let mut reader = SettingsReader { locator, output };
    if key.name == "schema" {
        reader.schema(key.at, value);
    } else if let Data::Table(table) = &value.data {
        reader.registry(table);
    } else {
        reader.error(value.at, "registry", "expected a table");
    }
}

struct SettingsReader<'r, 'o, E> {
    locator: &'r Locator<'r>,
    output: &'r mut Output<'o, E>,
}

impl<E: Entry> SettingsReader<'_, '_, E> {
    fn error(&mut self, at: usize, field: &str, message: &'static str) {
        self.say(Severity::Error, at, field, message, None);
    }

    fn say(&mut self, severity: Severity, at: usize, field: &str, message: &'static str, hint: Option<Hint>) {
        let at = self.locator.locate(at);
        self.output.report(severity, at, Finding { entry: None, field: Some(field), message, hint });
    }

    fn schema(&mut self, at: usize, value: &Value<'_>) {
        let number = match value.data {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is at least 1")]
            Data::Number(number, true) if 1.0 <= number => Some(number as u64),
            _ => None,
        };
        let is_wrong = number.is_none();
        if is_wrong {
            self.error(value.at, "schema", "expected a whole number from 1 on");
        }
        // An invalid schema may belong to a later version, so it counts as newer.
        let number = number.unwrap_or(u64::MAX);
        let (line, column) = self.locator.locate(at);
        self.output.settings.schema = Some(number);
        self.output.settings.schema_place = Some(Place::at(self.output.file, line, column));
        if SCHEMA < number && !is_wrong {
            let hint = Some("use a newer version of Brigade for this file".into());
            self.say(
                Severity::Warning,
                at,
                "schema",
                "the file needs a newer version of Brigade: its tools are listed, but cannot be called or edited",
                hint,
            );
        }
    }

    fn registry(&mut self, Table(pairs): &Table<'_>) {
        for (key, value) in pairs {
            match (&*key.name, &value.data) {
                ("harnesses", Data::List(items)) => {
                    let mut harnesses = Vec::new();
                    for (at, item) in items.iter().enumerate() {
                        let field = format!("registry.harnesses[{}]", at + 1);
                        match item.as_str().map(str::trim) {
                            Some(harness) if !harness.is_empty() => {
                                self.check_harness(item.at, &field, harness);
                                harnesses.push(harness.to_owned());
                            }
                            _ => self.error(item.at, &field, "expected non-empty text"),
                        }
                    }
                    self.output.settings.harnesses = Some(harnesses);
                }
                ("harnesses", _) => {
                    self.error(value.at, "registry.harnesses", "expected a list of non-empty strings")
                }
                ("harness_tools", Data::Boolean(value)) => self.output.settings.harness_tools = Some(*value),
                ("harness_tools", _) => {
                    self.error(value.at, "registry.harness_tools", "expected true or false")
                }
                (name, _) => {
                    let field = format!("registry.{}", shown(name));
                    let hint = did_you_mean(name, REGISTRY);
                    self.say(Severity::Warning, key.at, &field, "unknown key", hint);
                }
            }
        }
    }

    fn check_harness(&mut self, at: usize, field: &str, harness: &str) {
        let labels = || programs().iter().map(|program| program.label);
        if !KNOWN_HARNESSES.contains(&harness) && !labels().any(|known| known == harness) {
            let hint = did_you_mean(harness, KNOWN_HARNESSES.iter().copied().chain(labels()));
            self.say(Severity::Warning, at, field, "not a harness that Brigade knows", hint);
        }
    }
}
