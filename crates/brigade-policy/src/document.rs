//! Reads TOML with the place of every value, and collects all errors.

use std::collections::BTreeMap;
use std::ops::Range;

use brigade_catalog::source::{self, Locator};
use brigade_core::{ConfigIssue, Hint, Json, Place, Severity, Word, closest};
use brigade_redact::shown_name;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedValue<T> {
    /// The value.
    pub value: T,
    /// The place of the value.
    pub place: Place,
}

/// A value of the document.
pub type Value<'t> = Spanned<DeValue<'t>>;

/// Converts spans of one file to places, and collects the issues found in it.
///
/// Messages name the type of a wrong value, never its content, nor a key that looks like a secret.
pub struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    locator: Locator<'a>,
    issues: Vec<ConfigIssue>,
    /// The first syntax error. Text after it may be misread.
    broken_at: Option<Place>,
}

/// After this many issues, further ones are dropped.
const MAX_ISSUES: usize = 100;

impl<'a> Reader<'a> {
    /// Creates a reader for the text of a file. `file` is the name used in places.
    pub fn new(file: &'a str, text: &'a str) -> Reader<'a> {
        Reader { file, text, locator: Locator::new(text, 1), issues: Vec::new(), broken_at: None }
    }

    /// Returns the issues in the order of their places.
    pub fn into_issues(mut self) -> Vec<ConfigIssue> {
        self.issues.sort_by(|left, right| left.place.cmp(&right.place));
        self.issues
    }

    /// Returns whether the document is valid TOML. Otherwise nothing is known to be missing.
    pub fn is_toml(&self) -> bool {
        self.broken_at.is_none()
    }

    /// Parses the whole document. Every syntax error becomes an issue.
    pub fn parse(&mut self) -> DeTable<'a> {
        let (table, errors) = source::parse(self.text, &self.locator);
        for error in errors {
            let place = Place::at(self.file, error.at.0, error.at.1);
            self.issue(Severity::Error, place, None, error.message, None);
        }
        self.broken_at = self.issues.iter().map(|issue| issue.place.clone()).min();
        table.into_inner()
    }

    /// Returns the place of a byte range. Columns count characters.
    pub fn place(&self, span: &Range<usize>) -> Place {
        let (line, column) = self.locator.locate(span.start);
        Place::at(self.file, line, column)
    }

    /// Reports an error at a byte range.
    pub fn error(&mut self, span: Range<usize>, field: Option<&str>, message: &str, hint: Option<String>) {
        let place = self.place(&span);
        self.issue(Severity::Error, place, field, message, hint);
    }

    /// Reports a warning at a byte range.
    pub fn warning(&mut self, span: Range<usize>, field: &str, message: &str, hint: Option<String>) {
        let place = self.place(&span);
        self.issue(Severity::Warning, place, Some(field), message, hint);
    }

    /// Reports an error at a place.
    pub fn error_at(&mut self, place: Place, field: &str, message: &str, hint: Option<String>) {
        self.issue(Severity::Error, place, Some(field), message, hint);
    }

    /// Reports a warning at a place.
    pub fn warning_at(&mut self, place: Place, field: &str, message: &str, hint: Option<String>) {
        self.issue(Severity::Warning, place, Some(field), message, hint);
    }

    fn issue(
        &mut self,
        severity: Severity,
        place: Place,
        field: Option<&str>,
        message: &str,
        hint: Option<String>,
    ) {
        if self.broken_at.as_ref().is_some_and(|broken| *broken <= place) {
            return;
        }
        if MAX_ISSUES <= self.issues.len() && severity != Severity::Error {
            return;
        }
        let (field, message) = (field.map(str::to_owned), message.to_owned());
        let hint = hint.map(Hint::from);
        self.issues.push(ConfigIssue { severity, place, entry: None, field, message, hint });
    }

    /// Reports a value of another type than the field takes.
    pub fn wrong_type(&mut self, field: &str, value: &Value<'_>, expected: &str) {
        let message = format!("expected {expected}, found {}", kind(value.get_ref()));
        self.error(value.span(), Some(field), &message, None);
    }

    /// Warns about an unknown top-level key, with a suggestion.
    pub fn unknown_key(&mut self, key: &Spanned<impl AsRef<str>>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        self.warning(key.span(), shown_name(name), "unknown key, so it has no effect", suggest(name, known));
    }

    /// Reports an unknown key of a table as an error, with a suggestion. A misspelt restriction would otherwise leave
    /// access open.
    pub fn unknown_member(
        &mut self,
        key: &Spanned<impl AsRef<str>>,
        table: &str,
        known: &[&str],
        top: &[&str],
    ) {
        let name = key.get_ref().as_ref();
        let hint = if top.contains(&name) && !known.contains(&name) {
            Some(format!("`{name}` belongs above the first [table] of the file"))
        } else {
            suggest(name, known)
        };
        self.error(key.span(), Some(&format!("{table}{}", shown_name(name))), "unknown key", hint);
    }

    /// Reports an unknown table as an error.
    pub fn unknown_table(&mut self, key: &Spanned<impl AsRef<str>>, meant: &str) {
        let hint = Some(format!("did you mean `{meant}`?"));
        self.error(key.span(), Some(shown_name(key.get_ref().as_ref())), "unknown table", hint);
    }

    /// Reads a table.
    pub fn table<'t, 'i>(&mut self, field: &str, value: &'t Value<'i>) -> Option<&'t DeTable<'i>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        self.wrong_type(field, value, "a table");
        None
    }

    /// Reads a non-empty string, trimmed.
    pub fn string(&mut self, field: &str, value: &Value<'_>) -> Option<LocatedValue<String>> {
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(field, value, "a string");
            return None;
        };
        let text = text.trim();
        if text.is_empty() {
            self.error(value.span(), Some(field), "expected a non-empty string", None);
            return None;
        }
        Some(LocatedValue { value: text.to_owned(), place: self.place(&value.span()) })
    }

    /// Reads a list of non-empty strings.
    pub fn strings(&mut self, field: &str, value: &Value<'_>) -> Vec<LocatedValue<String>> {
        let DeValue::Array(elements) = value.get_ref() else {
            self.wrong_type(field, value, "a list of strings");
            return Vec::new();
        };
        let named = |index: usize| format!("{field}[{}]", index + 1);
        elements
            .iter()
            .enumerate()
            .filter_map(|(index, element)| self.string(&named(index), element))
            .collect()
    }

    /// Reads a list of strings that is not empty.
    pub fn some_strings(&mut self, field: &str, value: &Value<'_>) -> Vec<LocatedValue<String>> {
        if matches!(value.get_ref(), DeValue::Array(elements) if elements.is_empty()) {
            self.error(
                value.span(),
                Some(field),
                "an empty list would mean nothing: remove it or fill it",
                None,
            );
        }
        self.strings(field, value)
    }

    /// Reads a list of tables, each with the place of its header.
    pub fn tables<'t, 'i>(&mut self, field: &str, value: &'t Value<'i>) -> Vec<(Place, &'t DeTable<'i>)> {
        let DeValue::Array(entries) = value.get_ref() else {
            self.wrong_type(field, value, &format!("tables, each under its own [[{field}]]"));
            return Vec::new();
        };
        let named = |index: usize| format!("{field}[{}]", index + 1);
        entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let table = self.table(&named(index), entry)?;
                Some((self.place(&entry.span()), table))
            })
            .collect()
    }

    /// Reports the keys that a table must have and lacks, at the place of the table.
    pub fn needed(&mut self, table: &DeTable<'_>, place: &Place, prefix: &str, keys: &[&str]) {
        let is_toml = self.is_toml();
        for key in keys.iter().filter(|key| is_toml && !table.contains_key(**key)) {
            self.error_at(place.clone(), &format!("{prefix}{key}"), "is missing", None);
        }
    }

    /// Reads one word of a closed set.
    pub fn word<T: Copy>(
        &mut self,
        field: &str,
        value: &Value<'_>,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Option<LocatedValue<T>> {
        let text = self.string(field, value)?;
        match all.iter().find(|word| name(**word) == text.value) {
            Some(word) => Some(LocatedValue { value: *word, place: text.place }),
            None => {
                let known: Vec<&str> = all.iter().map(|word| name(*word)).collect();
                let message = format!("expected one of {}", known.join(", "));
                self.error(value.span(), Some(field), &message, suggest(&text.value, &known));
                None
            }
        }
    }

    /// Reads a boolean.
    pub fn truth(&mut self, field: &str, value: &Value<'_>) -> Option<LocatedValue<bool>> {
        if let DeValue::Boolean(truth) = value.get_ref() {
            return Some(LocatedValue { value: *truth, place: self.place(&value.span()) });
        }
        self.wrong_type(field, value, "true or false");
        None
    }

    /// Reads a number greater than 0, which may be infinite.
    pub fn positive(&mut self, field: &str, value: &Value<'_>) -> Option<LocatedValue<f64>> {
        const EXPECTED: &str = "a number greater than 0";
        let number = match value.get_ref() {
            DeValue::Integer(_) => integer(value).map(|integer| integer as f64),
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            _ => {
                self.wrong_type(field, value, EXPECTED);
                return None;
            }
        };
        match number {
            Some(number) if number > 0.0 => {
                Some(LocatedValue { value: number, place: self.place(&value.span()) })
            }
            _ => {
                self.error(value.span(), Some(field), &format!("expected {EXPECTED}"), None);
                None
            }
        }
    }

    /// Reads a whole number greater than 0.
    pub fn count(&mut self, field: &str, value: &Value<'_>) -> Option<LocatedValue<u64>> {
        self.whole(field, value, "a whole number greater than 0", integer(value).filter(|number| 0 < *number))
    }

    /// Reads a whole number that may be 0.
    pub fn number(&mut self, field: &str, value: &Value<'_>) -> Option<LocatedValue<u64>> {
        self.whole(field, value, "a whole number that is not negative", integer(value))
    }

    /// Reads a number of bytes: a whole number, or a string such as `512MiB`.
    pub fn size(&mut self, field: &str, value: &Value<'_>) -> Option<LocatedValue<u64>> {
        let bytes = match value.get_ref() {
            DeValue::String(text) => parse_size(text).map(i128::from),
            _ => integer(value),
        };
        self.whole(
            field,
            value,
            "a number of bytes, or a string such as \"512MiB\"",
            bytes.filter(|bytes| 0 < *bytes),
        )
    }

    fn whole(
        &mut self,
        field: &str,
        value: &Value<'_>,
        expected: &str,
        number: Option<i128>,
    ) -> Option<LocatedValue<u64>> {
        match number.and_then(|number| u64::try_from(number).ok()) {
            Some(number) => Some(LocatedValue { value: number, place: self.place(&value.span()) }),
            None => {
                self.error(value.span(), Some(field), &format!("expected {expected}"), None);
                None
            }
        }
    }
}

/// Returns the text of a file without its byte order mark.
///
/// # Errors
/// Returns an issue at the first byte that is not UTF-8.
pub fn text_of<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Box<ConfigIssue>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let before = String::from_utf8_lossy(&bytes[..at]);
        Box::new(ConfigIssue {
            severity: Severity::Error,
            place: Reader::new(file, &before).place(&(at..at)),
            entry: None,
            field: None,
            message: "not UTF-8 text".to_owned(),
            hint: None,
        })
    })
}

/// Suggests a keyword that is spelled almost like this text.
pub fn near_word<T: Word>(text: &str) -> Option<String> {
    let words = T::ALL.iter().map(|word| word.as_str());
    closest(text, words).map(|word| format!("did you mean `{word}`?"))
}

fn suggest(name: &str, known: &[&str]) -> Option<String> {
    closest(name, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"))
}

fn integer(value: &Value<'_>) -> Option<i128> {
    match value.get_ref() {
        DeValue::Integer(integer) => {
            i128::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
        }
        _ => None,
    }
}

/// Returns the everyday name of a value's type.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Parses a number of bytes with an optional unit: `B`, `KiB` `MiB` `GiB` `TiB` (of 1024), `KB` `MB` `GB` `TB` (of
/// 1000).
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|byte: char| byte.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let unit: u64 = match text[digits..].trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// A whole document as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Its tables and values.
    pub content: Json,
    /// The place of each value, by the keys that lead to it: `sandbox.mode`, `agent[0].name`.
    pub places: BTreeMap<String, Place>,
}

/// Reads any TOML document as data.
///
/// # Errors
/// Returns every syntax error.
pub fn settings(file: &str, text: &str) -> Result<Settings, Vec<ConfigIssue>> {
    let mut reader = Reader::new(file, text);
    let table = reader.parse();
    if !reader.is_toml() {
        return Err(reader.into_issues());
    }
    let mut places = BTreeMap::new();
    let content = reader.members(&table, "", &mut places);
    Ok(Settings { content, places })
}

impl Reader<'_> {
    /// Returns a value as data.
    pub fn json(&self, value: &Value<'_>) -> Json {
        self.data(value, "", &mut BTreeMap::new())
    }

    fn members(&self, table: &DeTable<'_>, path: &str, places: &mut BTreeMap<String, Place>) -> Json {
        Json::object(table.iter().map(|(key, value)| {
            let key = key.get_ref().to_string();
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let value = self.data(value, &path, places);
            (key, value)
        }))
    }

    fn data(&self, value: &Value<'_>, path: &str, places: &mut BTreeMap<String, Place>) -> Json {
        match value.get_ref() {
            DeValue::Table(table) => return self.members(table, path, places),
            DeValue::Array(items) if items.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| self.data(item, &format!("{path}[{at}]"), places));
                return Json::from(items.collect::<Vec<_>>());
            }
            _ => {}
        }
        places.insert(path.to_owned(), self.place(&value.span()));
        scalar(value.get_ref())
    }
}

/// Writes a value without tables.
fn scalar(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Boolean(is) => Json::from(*is),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| Json::from(number.as_str()), Json::from)
        }
        DeValue::Float(number) => {
            Json::parse(number.as_str()).unwrap_or_else(|_| Json::from(number.as_str()))
        }
        DeValue::Datetime(at) => Json::from(at.to_string()),
        DeValue::Array(items) => {
            Json::from(items.iter().map(|item| scalar(item.get_ref())).collect::<Vec<_>>())
        }
        DeValue::Table(_) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_size(text: &str, expect: Option<u64>) {
        assert_eq!(parse_size(text), expect);
    }

    #[test]
    fn sizes_have_binary_and_decimal_units() {
        check_size("512MiB", Some(512 << 20));
        check_size(" 1 GB ", Some(1_000_000_000));
        check_size("7", Some(7));
        check_size("16m", Some(16 << 20));
        check_size("MiB", None);
        check_size("1.5MiB", None);
        check_size("-1", None);
        check_size("99999999999TiB", None);
    }

    #[test]
    fn columns_count_characters() {
        let text = "a = 1\n\"ä\" = x";
        let reader = Reader::new("p.toml", text);
        assert_eq!(reader.place(&(6..9)).to_string(), "p.toml:2:1");
        assert_eq!(reader.place(&(text.len() - 1..text.len())).to_string(), "p.toml:2:7");
        assert_eq!(reader.place(&(999..1000)).to_string(), "p.toml:2:8");
    }

    /// Issue 14: a secret that became a key is not shown.
    #[test]
    fn a_key_that_looks_like_a_secret_is_not_told() {
        let token = format!("brigade_{}", "0a1b2c3d".repeat(8));
        let text = format!("{token} = 1\nmine = 1\n[t]\nghp_abcdefghijklmnopqrstuvwxyz0123456789 = 2\n");
        let mut reader = Reader::new("p.toml", &text);
        let table = reader.parse();
        for (key, value) in &table {
            match value.get_ref() {
                DeValue::Table(inner) => {
                    inner.keys().for_each(|key| reader.unknown_member(key, "t.", &["known"], &[]));
                }
                _ => reader.unknown_key(key, &["known"]),
            }
        }
        let issues = reader.into_issues();
        let fields: Vec<&str> = issues.iter().map(|issue| issue.field.as_deref().unwrap()).collect();
        assert_eq!(fields, ["[redacted]", "mine", "t.[redacted]"]);
    }

    #[test]
    fn a_document_is_read_as_data_with_places() {
        let text = "a = 1\nb = [\"x\", 2]\n[t]\nyes = true\nf = 1.5\n[[list]]\nname = \"one\"\n[[list]]\nname = \"two\"\n";
        let read = settings("x.toml", text).unwrap();
        let expect = r#"{"a": 1, "b": ["x", 2], "t": {"yes": true, "f": 1.5}, "list": [{"name": "one"}, {"name": "two"}]}"#;
        assert_eq!(read.content, Json::parse(expect).unwrap());
        let places: Vec<String> = read.places.iter().map(|(key, place)| format!("{key} {place}")).collect();
        let expect = [
            "a x.toml:1:5",
            "b x.toml:2:5",
            "list[0].name x.toml:7:8",
            "list[1].name x.toml:9:8",
            "t.f x.toml:5:5",
            "t.yes x.toml:4:7",
        ];
        assert_eq!(places, expect);
        assert!(settings("x.toml", "a = \n").is_err());
    }
}
