//! The short form of schemas.

use brigade_core::{Json, Object};

use super::described;

/// Reads the short form. The tests read all rows, so mistakes are found there.
struct Reader<'t> {
    left: &'t str,
    /// Whether members without a mark are always present.
    is_output: bool,
}

/// Returns the schema of a tool's arguments, with their descriptions.
pub(super) fn input(tool: &str, shape: &str) -> Json {
    let mut schema = object(shape, false);
    describe(tool, &mut schema, "");
    schema
}

/// Adds the descriptions of the members of a schema. `path` is its own.
fn describe(tool: &str, schema: &mut Json, path: &str) {
    let Json::Object(members) = schema else { return };
    if let Some(items) = members.get_mut("items") {
        return describe(tool, items, path);
    }
    let Some(Json::Object(properties)) = members.get_mut("properties") else { return };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        describe(tool, property, &path);
        if let (Some(text), Json::Object(property)) = (described::argument(tool, &path), property) {
            property.insert("description".to_owned(), Json::from(text));
        }
    }
}

/// Returns the schema of a structured result.
pub(super) fn output(shape: &str) -> Json {
    if shape == "*" { Json::object([("type", Json::from("object"))]) } else { object(shape, true) }
}

fn object(shape: &str, is_output: bool) -> Json {
    let mut reader = Reader { left: shape, is_output };
    let schema = reader.members();
    debug_assert!(reader.left.is_empty(), "`{}` is left of `{shape}`", reader.left);
    schema
}

impl<'t> Reader<'t> {
    fn skip(&mut self) {
        self.left = self.left.trim_start();
    }

    fn take(&mut self, text: &str) -> bool {
        match self.left.strip_prefix(text) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'t str {
        let end = self.left.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (word, left) = self.left.split_at(end.unwrap_or(self.left.len()));
        self.left = left;
        word
    }

    /// Reads up to one of these characters.
    fn until(&mut self, ends: &[char]) -> &'t str {
        let (text, left) = self.left.split_at(self.left.find(ends).unwrap_or(self.left.len()));
        self.left = left;
        text
    }

    /// Reads members up to the end, a closing bracket or a closing brace.
    fn members(&mut self) -> Json {
        let (mut properties, mut required) = (Object::new(), Vec::new());
        loop {
            self.skip();
            if self.left.is_empty() || self.left.starts_with([']', '}']) {
                break;
            }
            let name = self.word().to_owned();
            debug_assert!(!name.is_empty(), "no name at `{}`", self.left);
            let (is_needed, is_open) = (self.take("!"), self.take("?"));
            if !self.take(":") {
                break;
            }
            let mut schema = self.value();
            if self.take("=") {
                let default = Json::parse(&self.until(&[' ', ']']).replace('\'', "\""))
                    .expect("defaults in the program are JSON");
                if let Json::Object(members) = &mut schema {
                    members.insert("default".to_owned(), default);
                }
            }
            if is_needed || (self.is_output && !is_open) {
                required.push(Json::from(name.as_str()));
            }
            properties.insert(name, schema);
        }
        let mut schema = Object::new();
        schema.insert("type".to_owned(), Json::from("object"));
        schema.insert("properties".to_owned(), Json::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), Json::from(required));
        }
        schema.insert("additionalProperties".to_owned(), Json::from(false));
        Json::Object(schema)
    }

    fn value(&mut self) -> Json {
        if self.take("{") {
            let schema = self.members();
            self.take("}");
            return schema;
        }
        let is_nullable_list = self.left.starts_with("?[") && self.take("?");
        if self.take("[") {
            self.skip();
            let names_members = {
                let inner = self.left.split([']', ' ']).next().unwrap_or_default();
                inner.contains(':')
            };
            let items = if names_members { self.members() } else { self.value() };
            self.take("]");
            let kind = match is_nullable_list {
                true => Json::from(vec![Json::from("array"), Json::from("null")]),
                false => Json::from("array"),
            };
            return Json::object([("type", kind), ("items", items)]);
        }
        let may_be_null = self.take("?");
        let kind = self.word();
        let mut schema = Object::new();
        if kind != "any" {
            let kind = match may_be_null {
                true => Json::from(vec![Json::from(kind), Json::from("null")]),
                false => Json::from(kind),
            };
            schema.insert("type".to_owned(), kind);
        }
        if self.take("(") {
            let inside = self.until(&[')']);
            self.take(")");
            match inside.split_once("..") {
                Some((least, most)) => {
                    for (name, bound) in [("minimum", least), ("maximum", most)] {
                        if let Ok(bound) = bound.parse::<u64>() {
                            schema.insert(name.to_owned(), Json::from(bound));
                        }
                    }
                }
                None => {
                    let words: Vec<Json> = inside.split(',').map(Json::from).collect();
                    schema.insert("enum".to_owned(), Json::from(words));
                }
            }
        }
        Json::Object(schema)
    }
}
