//! String types with a fixed form: names, versions, durations and schemas.

use std::sync::Arc;
use std::time::Duration;

use brigade_core::Json;
use brigade_core::yaml::Node;
use brigade_schema::Schema;

use crate::manifest::member::{Member, Reader, with};

/// The name of an agent or a workflow: a lower-case letter or digit, then up to 62 of these or `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

const NAME: &str = "^[a-z0-9][a-z0-9-]{0,62}$";

impl Name {
    /// Returns the name, or `None` if the text is not a valid name.
    pub fn new(text: &str) -> Option<Name> {
        let legal = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let is_name = (1..=63).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(legal);
        is_name.then(|| Name(text.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Member for Name {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Name> {
        let name = Name::new(reader.text(node, path)?);
        if name.is_none() {
            let message = "expected a name: 1 to 63 of a-z, 0-9 and `-`, and no `-` at the start";
            reader.fault(node.at, path, message);
        }
        name
    }

    fn schema() -> Json {
        with(String::schema(), "pattern", Json::from(NAME))
    }
}

/// A semantic version: three numbers, optionally with `-` and `+` parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version(String);

const VERSION: &str = r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$";

impl Version {
    /// Returns the version, or `None` if the text is not a valid version.
    pub fn new(text: &str) -> Option<Version> {
        let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
        let (core, before) = rest.split_once('-').map_or((rest, None), |(core, before)| (core, Some(before)));
        let is_part = |part: &str| {
            (1..=64).contains(&part.len())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        };
        let numbers: Vec<&str> = core.split('.').collect();
        let is_number =
            |text: &&str| (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_version = numbers.len() == 3
            && numbers.iter().all(is_number)
            && before.is_none_or(is_part)
            && build.is_none_or(is_part);
        is_version.then(|| Version(text.to_owned()))
    }

    /// Returns the version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Member for Version {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Version> {
        let version = Version::new(reader.text(node, path)?);
        if version.is_none() {
            reader.fault(node.at, path, "expected a semantic version, such as 1.0.0");
        }
        version
    }

    fn schema() -> Json {
        with(String::schema(), "pattern", Json::from(VERSION))
    }
}

/// A duration, such as `300s`, `5m` or `1h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    text: String,
    duration: Duration,
}

const SPAN: &str = "^[0-9]{1,9}(ms|s|m|h)$";

impl Span {
    /// Returns the duration, or `None` if the text is not a valid duration.
    pub fn new(text: &str) -> Option<Span> {
        let end = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(end);
        if !(1..=9).contains(&number.len()) {
            return None;
        }
        let number: u64 = number.parse().ok()?;
        let duration = match unit {
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number * 60),
            "h" => Duration::from_secs(number * 3600),
            _ => return None,
        };
        Some(Span { text: text.to_owned(), duration })
    }

    /// Returns the duration.
    pub fn duration(&self) -> Duration {
        self.duration
    }
}

impl Member for Span {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Span> {
        let span = Span::new(reader.text(node, path)?);
        if span.is_none() {
            reader.fault(node.at, path, "expected a duration, such as 30s, 5m or 1h");
        }
        span
    }

    fn schema() -> Json {
        with(String::schema(), "pattern", Json::from(SPAN))
    }
}

/// A JSON Schema.
#[derive(Clone, Debug)]
pub struct SchemaText {
    text: Json,
    schema: Arc<Schema>,
}

impl SchemaText {
    /// Returns the compiled schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

impl PartialEq for SchemaText {
    fn eq(&self, other: &SchemaText) -> bool {
        self.text == other.text
    }
}

impl Member for SchemaText {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<SchemaText> {
        reader.map(node, path)?;
        let text = Json::read(node, path, reader)?;
        match Schema::compile(&text.to_serde()) {
            Ok(schema) => Some(SchemaText { text, schema: Arc::new(schema) }),
            Err(problems) => {
                for problem in problems {
                    reader.fault(node.at, path, problem.to_string());
                }
                None
            }
        }
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("object"))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_three_numbers() {
        for text in ["0.0.0", "1.10.0", "1.0.0-alpha.2", "1.0.0-1+build", "1.0.0+x"] {
            assert_eq!(Version::new(text).map(|version| version.as_str().to_owned()).as_deref(), Some(text));
        }
        for text in ["", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.x", "1.0.0-", "1.0.0+", "1.0.0 ", "1.0.0-ü"] {
            assert_eq!(Version::new(text), None, "{text}");
        }
    }

    #[test]
    fn names_and_spans_have_a_form() {
        assert!(["a", "9", "a-b", "greeter"].iter().all(|text| Name::new(text).is_some()));
        assert!(["", "-a", "A", "a_b", "a b", &"x".repeat(64)].iter().all(|text| Name::new(text).is_none()));
        assert_eq!(Span::new("5m").map(|span| span.duration()), Some(Duration::from_secs(300)));
        assert!(
            ["", "s", "5", "5 s", "-5s", "5d", "1234567890s"].iter().all(|text| Span::new(text).is_none())
        );
    }
}
