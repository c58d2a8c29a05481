//! Members of manifests. One table defines how a type is read from YAML and described by a schema.

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::yaml::{Key, Node, Position, Value};
use brigade_core::{Json, Object};

use crate::manifest::fault::Fault;

/// A value that a manifest can hold.
pub trait Member: Sized {
    /// Reads the value. Returns `None` after reporting a fault to `reader`.
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self>;

    /// Returns the JSON Schema of the type.
    fn schema() -> Json;
}

/// Collects faults and warnings.
#[derive(Debug, Default)]
pub struct Reader {
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<Fault>,
}

/// The maximum number of faults and warnings reported for one manifest.
const MAX_FAULTS: usize = 200;

impl Reader {
    pub(crate) fn fault(&mut self, at: Position, path: &str, message: impl Into<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault { at, path: path.to_owned(), message: message.into() });
        }
    }

    pub(crate) fn warn(&mut self, at: Position, path: &str, message: impl Into<String>) {
        if self.warnings.len() < MAX_FAULTS {
            self.warnings.push(Fault { at, path: path.to_owned(), message: message.into() });
        }
    }

    /// Returns the members of a map. Reports each key that appears twice.
    pub(crate) fn map<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n [(Key, Node)]> {
        let Value::Map(members) = &node.value else {
            self.fault(node.at, path, "expected a map");
            return None;
        };
        let mut seen = BTreeSet::new();
        for (key, _) in members {
            if !seen.insert(key.text.as_str()) {
                self.fault(key.at, &below(path, &key.text), "appears twice");
            }
        }
        Some(members)
    }

    /// Warns about unknown keys.
    pub(crate) fn unknown(&mut self, members: &[(Key, Node)], path: &str, known: &[&str]) {
        for (key, _) in members.iter().filter(|(key, _)| !known.contains(&key.text.as_str())) {
            self.warn(key.at, &below(path, &key.text), "unknown field, ignored");
        }
    }

    pub(crate) fn text<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n str> {
        match &node.value {
            Value::Scalar(Json::String(text)) => Some(text),
            Value::Scalar(Json::Number(_) | Json::Bool(_)) => {
                self.fault(node.at, path, "expected a string: put it in quotes");
                None
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.fault(node.at, path, "expected a string");
                None
            }
        }
    }
}

/// Returns the path of a member. Escapes control characters, because a key may contain any text.
pub(crate) fn below(path: &str, key: &str) -> String {
    let key: String = key.chars().take(64).flat_map(char::escape_debug).collect();
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

pub(crate) fn is_null(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(Json::Null))
}

/// Finds a member that has a value.
pub(crate) fn find<'n>(members: &'n [(Key, Node)], key: &str) -> Option<&'n Node> {
    members.iter().find(|(member, _)| member.text == key).map(|(_, node)| node).filter(|node| !is_null(node))
}

/// Reads an optional member. The outer `None` means a fault.
pub(crate) fn maybe<T: Member>(
    members: &[(Key, Node)],
    path: &str,
    key: &str,
    reader: &mut Reader,
) -> Option<Option<T>> {
    match find(members, key) {
        Some(node) => T::read(node, &below(path, key), reader).map(Some),
        None => Some(None),
    }
}

/// Reads a required member.
pub(crate) fn needed<T: Member>(
    at: Position,
    members: &[(Key, Node)],
    path: &str,
    key: &str,
    reader: &mut Reader,
) -> Option<T> {
    let Some(node) = find(members, key) else {
        reader.fault(at, &below(path, key), "is missing");
        return None;
    };
    T::read(node, &below(path, key), reader)
}

/// Returns the schema of a map with these members.
pub(crate) fn object(doc: &str, members: Vec<(&str, &str, bool, Json)>) -> Json {
    let (mut properties, mut required) = (Object::new(), Vec::new());
    for (key, doc, is_needed, mut schema) in members {
        if let Json::Object(members) = &mut schema {
            members.insert("description".to_owned(), Json::from(doc.trim()));
        }
        if is_needed {
            required.push(Json::from(key));
        }
        properties.insert(key.to_owned(), schema);
    }
    let mut schema = Object::new();
    schema.insert("type".to_owned(), Json::from("object"));
    schema.insert("description".to_owned(), Json::from(doc.trim()));
    schema.insert("properties".to_owned(), Json::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Json::from(required));
    }
    Json::Object(schema)
}

/// Returns a schema that accepts any of the given schemas.
pub(crate) fn any_of(schemas: Vec<Json>) -> Json {
    Json::object([("anyOf", Json::from(schemas))])
}

/// Adds a keyword to a schema.
pub(crate) fn with(schema: Json, keyword: &str, value: Json) -> Json {
    match schema {
        Json::Object(mut members) => {
            members.insert(keyword.to_owned(), value);
            Json::Object(members)
        }
        other => other,
    }
}

macro_rules! field_type {
    (needed $type:ty) => { $type };
    (maybe $type:ty) => { Option<$type> };
}

macro_rules! read_field {
    (needed $type:ty, $at:expr, $members:expr, $path:expr, $key:literal, $reader:expr) => {
        $crate::manifest::member::needed::<$type>($at, $members, $path, $key, $reader)
    };
    (maybe $type:ty, $at:expr, $members:expr, $path:expr, $key:literal, $reader:expr) => {
        $crate::manifest::member::maybe::<$type>($members, $path, $key, $reader)
    };
}

macro_rules! is_needed {
    (needed) => {
        true
    };
    (maybe) => {
        false
    };
}

/// Defines a map type: its members, reader and schema. `check` reports faults across members, and `rule` adds the same
/// rule to the schema.
macro_rules! members {
    (
        $(#[doc = $doc:literal])+
        $name:ident $(check $check:path, rule $rule:path)? {
            $($(#[doc = $field_doc:literal])+ $field:ident = $key:literal: $need:ident $type:ty,)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $field: field_type!($need $type),)*
        }

        impl $crate::manifest::member::Member for $name {
            fn read(
                node: &brigade_core::yaml::Node,
                path: &str,
                reader: &mut $crate::manifest::member::Reader,
            ) -> Option<Self> {
                let members = reader.map(node, path)?;
                reader.unknown(members, path, &[$($key),*]);
                $(let $field = read_field!($need $type, node.at, members, path, $key, reader);)*
                let read = $name { $($field: $field?,)* };
                $($check(&read, node, path, reader)?;)?
                Some(read)
            }

            fn schema() -> brigade_core::Json {
                let schema = $crate::manifest::member::object(concat!($($doc),+), vec![
                    $((
                        $key,
                        concat!($($field_doc),+),
                        is_needed!($need),
                        <$type as $crate::manifest::member::Member>::schema(),
                    ),)*
                ]);
                $(let schema = $rule(schema);)?
                schema
            }
        }
    };
}

/// Implements `Member` for a closed set of words.
macro_rules! word_member {
    ($($name:ident),*) => {
        $(impl $crate::manifest::member::Member for $name {
            fn read(
                node: &brigade_core::yaml::Node,
                path: &str,
                reader: &mut $crate::manifest::member::Reader,
            ) -> Option<Self> {
                let text = reader.text(node, path)?;
                let word = $name::from_word(text);
                if word.is_none() {
                    reader.fault(node.at, path, format!("expected one of {}", $name::EXPECTED));
                }
                word
            }

            fn schema() -> brigade_core::Json {
                let words: Vec<_> =
                    $name::ALL.iter().map(|word| brigade_core::Json::from(word.as_str())).collect();
                brigade_core::Json::object([("enum", brigade_core::Json::from(words))])
            }
        })*
    };
}

impl Member for String {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<String> {
        reader.text(node, path).map(str::to_owned)
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("string"))])
    }
}

impl Member for bool {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<bool> {
        let Value::Scalar(Json::Bool(truth)) = node.value else {
            reader.fault(node.at, path, "expected true or false");
            return None;
        };
        Some(truth)
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("boolean"))])
    }
}

impl Member for f64 {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<f64> {
        let number = match &node.value {
            Value::Scalar(Json::Number(number)) => Some(number.as_f64()).filter(|number| number.is_finite()),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        };
        if number.is_none() {
            reader.fault(node.at, path, "expected a number");
        }
        number
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("number"))])
    }
}

impl Member for i64 {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<i64> {
        let number = match &node.value {
            Value::Scalar(Json::Number(number)) => number.as_i64(),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        };
        if number.is_none() {
            reader.fault(node.at, path, "expected an integer");
        }
        number
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("integer"))])
    }
}

impl<T: Member> Member for Vec<T> {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Vec<T>> {
        let Value::List(items) = &node.value else {
            reader.fault(node.at, path, "expected a list");
            return None;
        };
        let read = |(index, item): (usize, &Node)| T::read(item, &format!("{path}[{}]", index + 1), reader);
        let items: Vec<Option<T>> = items.iter().enumerate().map(read).collect();
        items.into_iter().collect()
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("array")), ("items", T::schema())])
    }
}

impl<T: Member> Member for BTreeMap<String, T> {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<BTreeMap<String, T>> {
        let members = reader.map(node, path)?;
        let read = |(key, node): &(Key, Node)| {
            let value = T::read(node, &below(path, &key.text), reader)?;
            Some((key.text.clone(), value))
        };
        let members: Vec<Option<(String, T)>> = members.iter().map(read).collect();
        members.into_iter().collect()
    }

    fn schema() -> Json {
        Json::object([("type", Json::from("object")), ("additionalProperties", T::schema())])
    }
}

/// Any value. Duplicate keys are faults here, too.
impl Member for Json {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Json> {
        match &node.value {
            Value::Scalar(json) => Some(json.clone()),
            Value::List(_) => Vec::<Json>::read(node, path, reader).map(Json::from),
            Value::Map(_) => {
                let members = BTreeMap::<String, Json>::read(node, path, reader)?;
                Some(Json::Object(members.into_iter().collect()))
            }
        }
    }

    fn schema() -> Json {
        Json::Object(Object::new())
    }
}
