//! Reads what a catalog file says about itself: `schema` and `[registry]`.

use std::num::IntErrorKind;

use brigade_core::{Hint, Place, Severity};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::Entry;
use super::full::{did_you_mean, in_file_order, shown};
use super::{Finding, Output};
use crate::fields::KNOWN_HARNESSES;
use crate::model::SCHEMA;
use crate::source::Locator;

/// The keys at the top of a catalog file, besides the entries.
pub(super) const KEYS: [&str; 2] = ["schema", "registry"];
/// The keys of `[registry]`.
const REGISTRY: [&str; 2] = ["harnesses", "harness_tools"];

/// Reads one of [`KEYS`]. `at` is the start of the key.
pub(super) fn read<E: Entry>(
    key: &str,
    at: usize,
    value: &Spanned<DeValue<'_>>,
    locator: &Locator<'_>,
    output: &mut Output<'_, E>,
) {
    let mut reader = SettingsReader { locator, output };
    if key == "schema" {
        reader.schema(at, value);
    } else if let DeValue::Table(table) = value.get_ref() {
        reader.registry(table);
    } else {
        reader.error(value.span().start, "registry", "expected a table");
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

    fn schema(&mut self, at: usize, value: &Spanned<DeValue<'_>>) {
        // What is no number of a schema may be that of a later version, whatever else is wrong with it.
        let number = match value.get_ref() {
            DeValue::Integer(number) => match u64::from_str_radix(number.as_str(), number.radix()) {
                Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(u64::MAX),
                number => number.ok().filter(|number| *number != 0),
            },
            _ => None,
        };
        let is_wrong = number.is_none();
        if is_wrong {
            self.error(value.span().start, "schema", "expected a whole number from 1 on");
        }
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

    fn registry(&mut self, table: &DeTable<'_>) {
        for (key, value) in in_file_order(table) {
            let (start, name) = (value.span().start, key.get_ref());
            match (name.as_ref(), value.get_ref()) {
                ("harnesses", DeValue::Array(items)) => {
                    let mut harnesses = Vec::new();
                    for (at, item) in items.iter().enumerate() {
                        let field = format!("registry.harnesses[{}]", at + 1);
                        match item.get_ref().as_str().map(str::trim) {
                            Some(harness) if !harness.is_empty() => {
                                self.check_harness(item.span().start, &field, harness);
                                harnesses.push(harness.to_owned());
                            }
                            _ => self.error(item.span().start, &field, "expected non-empty text"),
                        }
                    }
                    self.output.settings.harnesses = Some(harnesses);
                }
                ("harnesses", _) => {
                    self.error(start, "registry.harnesses", "expected a list of non-empty strings")
                }
                ("harness_tools", DeValue::Boolean(value)) => {
                    self.output.settings.harness_tools = Some(*value)
                }
                ("harness_tools", _) => self.error(start, "registry.harness_tools", "expected true or false"),
                (name, _) => {
                    let field = format!("registry.{}", shown(name));
                    let hint = did_you_mean(name, REGISTRY);
                    self.say(Severity::Warning, key.span().start, &field, "unknown key", hint);
                }
            }
        }
    }

    fn check_harness(&mut self, at: usize, field: &str, harness: &str) {
        let programs = || brigade_harness::programs().iter().map(|program| program.label);
        if !KNOWN_HARNESSES.contains(&harness) && !programs().any(|known| known == harness) {
            let hint = did_you_mean(harness, KNOWN_HARNESSES.iter().copied().chain(programs()));
            self.say(Severity::Warning, at, field, "not a harness that Brigade knows", hint);
        }
    }
}
