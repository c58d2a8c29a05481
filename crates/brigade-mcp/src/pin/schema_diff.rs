//! Lists the changes between two schemas, keyword by keyword.

use std::collections::BTreeSet;

use brigade_core::{Json, Object};

use super::diff::{Changes, PinChangeKind};

/// The maximum depth for comparing schemas keyword by keyword. Below it, a change is reported for the whole value.
const DEPTH: usize = 32;

/// Adds the changes from one schema to another. Both are in normal form.
pub(super) fn schema_changes(old: &Json, new: &Json, path: &str, changes: &mut Changes) {
    Walk { changes, depth: 0 }.schema(old, new, path);
}

struct Walk<'a> {
    changes: &'a mut Changes,
    depth: usize,
}

impl Walk<'_> {
    fn schema(&mut self, old: &Json, new: &Json, path: &str) {
        if old == new {
            return;
        }
        match (old, new) {
            (Json::Object(old), Json::Object(new)) if self.depth < DEPTH => {
                self.depth += 1;
                self.keywords(old, new, path);
                self.depth -= 1;
            }
            _ => {
                let kind = match (accepts_all(old), accepts_all(new)) {
                    (false, true) => PinChangeKind::Widened,
                    (true, false) => PinChangeKind::Narrowed,
                    _ => PinChangeKind::Other,
                };
                let subject = format!("{}: the schema", self.subject(path));
                for message in self.changes.quote.values(&subject, "changed", old, new) {
                    self.changes.add(kind, path, message);
                }
            }
        }
    }

    fn keywords(&mut self, old: &Object, new: &Object, path: &str) {
        let before = self.changes.found.len();
        let required = names(new.get("required"));
        self.tables("properties", old, new, |walk, old, new| {
            walk.properties(old, new, path, Some(&required))
        });
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let (before, after) = (old.get(key), new.get(key));
            if before == after {
                continue;
            }
            match key.as_str() {
                "properties" if is_table(before) && is_table(after) => {}
                "$defs" | "definitions" | "patternProperties" if is_table(before) && is_table(after) => {
                    self.tables(key, old, new, |walk, old, new| {
                        walk.properties(old, new, &join(path, key), None)
                    });
                }
                "required" if is_names(before) && is_names(after) => self.required(old, new, path),
                "type" if is_types(before) && is_types(after) => self.types(before, after, path),
                "enum" if is_list(before) && is_list(after) => self.values(before, after, path),
                "items" | "contains" | "additionalItems" | "unevaluatedItems" => {
                    let open = Json::Bool(true);
                    self.schema(before.unwrap_or(&open), after.unwrap_or(&open), &format!("{path}[]"));
                }
                "additionalProperties" => self.further(before, after, path),
                "description" | "title" if is_text(before) && is_text(after) => {
                    let what = match path {
                        "" => format!("the {key} of the input"),
                        path => format!("the {key} of parameter `{}`", self.changes.quote.name(path)),
                    };
                    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
                    let (before, after) = (text(before), text(after));
                    self.changes.text(&what, path, before.as_deref(), after.as_deref());
                }
                _ => self.keyword(key, before, after, path),
            }
        }
        if self.changes.found.len() == before {
            // A difference without a special sentence, such as an empty table that was added or removed.
            let subject = self.subject(path);
            self.changes.add(
                PinChangeKind::Other,
                path,
                format!("{subject}: the schema is written differently"),
            );
        }
    }

    fn tables(
        &mut self,
        key: &str,
        old: &Object,
        new: &Object,
        compare: impl FnOnce(&mut Self, &Object, &Object),
    ) {
        let nothing = Object::new();
        let table = |members: &Object| members.get(key).and_then(Json::as_object).cloned();
        if is_table(old.get(key)) && is_table(new.get(key)) {
            let (old, new) = (table(old), table(new));
            compare(self, old.as_ref().unwrap_or(&nothing), new.as_ref().unwrap_or(&nothing));
        }
    }

    /// Compares parameters, or definitions, which are never required.
    fn properties(&mut self, old: &Object, new: &Object, path: &str, required: Option<&BTreeSet<String>>) {
        for (name, schema) in old {
            match new.get(name) {
                Some(now) => self.schema(schema, now, &join(path, name)),
                None => self.removed(&join(path, name)),
            }
        }
        for (name, schema) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            let need = match required {
                Some(required) if required.contains(name) => "required, ",
                Some(_) => "optional, ",
                None => "",
            };
            self.added(schema, need, &join(path, name));
        }
    }

    fn removed(&mut self, path: &str) {
        let name = self.changes.quote.name(path);
        self.changes.add(PinChangeKind::ParameterRemoved, path, format!("parameter `{name}` is gone"));
    }

    /// Reports a new parameter with all its members.
    fn added(&mut self, schema: &Json, need: &str, path: &str) {
        let name = self.changes.quote.name(path);
        let types = schema.get("type").filter(|types| is_types(Some(types)));
        let types = types_of(types).map_or_else(|| "any type".to_owned(), |types| type_names(&types));
        let mut message = format!("parameter `{name}` is new: {need}{}", self.changes.quote.name(&types));
        if let Some(description) = schema.get("description").and_then(Json::as_str) {
            message.push_str(", ");
            message.push_str(&self.changes.quote.text(description));
        }
        let goes_deeper = self.depth < DEPTH;
        let has_own_sentence = |key: &str, value: &Json| match key {
            "type" => is_types(Some(value)),
            "description" => is_text(Some(value)),
            "properties" => goes_deeper && is_table(Some(value)),
            "items" => goes_deeper && value.as_object().is_some(),
            "required" => {
                let known = schema.get("properties").and_then(Json::as_object);
                let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
                is_names(Some(value)) && goes_deeper && names(Some(value)).iter().all(is_known)
            }
            _ => false,
        };
        let rest = match schema {
            Json::Object(members) => {
                let rest = members.iter().filter(|(key, value)| !has_own_sentence(key, value));
                Json::object(rest.map(|(key, value)| (key.clone(), value.clone())))
            }
            other => other.clone(),
        };
        if !accepts_all(&rest) {
            message.push_str(", with ");
            message.push_str(&self.changes.quote.value(&rest));
        }
        self.changes.add(PinChangeKind::ParameterAdded, path, message);
        if !goes_deeper {
            return;
        }
        self.depth += 1;
        let required = names(schema.get("required"));
        for (inner, schema) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let need = if required.contains(inner) { "required, " } else { "optional, " };
            self.added(schema, need, &join(path, inner));
        }
        if let Some(items) = schema.get("items").filter(|items| items.as_object().is_some()) {
            self.added(items, "", &format!("{path}[]"));
        }
        self.depth -= 1;
    }

    fn required(&mut self, old: &Object, new: &Object, path: &str) {
        let (before, after) = (names(old.get("required")), names(new.get("required")));
        let known = |schema: &Object, name: &str| {
            schema.get("properties").and_then(|properties| properties.get(name)).is_some()
        };
        for name in before.union(&after) {
            let path = join(path, name);
            let shown = self.changes.quote.name(&path);
            match (before.contains(name), after.contains(name)) {
                // A new parameter's sentence says whether it is required, and a removed one needs none.
                (false, true) if known(new, name) && !known(old, name) => {}
                (true, false) if known(old, name) && !known(new, name) => {}
                (false, true) => {
                    let message = format!("parameter `{shown}` became required");
                    self.changes.add(PinChangeKind::BecameRequired, &path, message);
                }
                (true, false) => {
                    let message = format!("parameter `{shown}` became optional");
                    self.changes.add(PinChangeKind::BecameOptional, &path, message);
                }
                _ => {}
            }
        }
    }

    fn types(&mut self, before: Option<&Json>, after: Option<&Json>, path: &str) {
        let (before, after) = (types_of(before), types_of(after));
        let covers = |wide: &Option<BTreeSet<String>>, narrow: &Option<BTreeSet<String>>| match (wide, narrow)
        {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => narrow
                .iter()
                .all(|name| wide.contains(name) || (name == "integer" && wide.contains("number"))),
        };
        let (kind, change) = match (covers(&after, &before), covers(&before, &after)) {
            (true, false) => (PinChangeKind::Widened, "was widened"),
            (false, true) => (PinChangeKind::Narrowed, "was narrowed"),
            _ => (PinChangeKind::TypeChanged, "changed"),
        };
        let subject = self.subject(path);
        let type_names = |types: &Option<BTreeSet<String>>| {
            types
                .as_ref()
                .map_or_else(|| "any type".to_owned(), |types| self.changes.quote.name(&type_names(types)))
        };
        let message =
            format!("{subject}: the type {change} from {} to {}", type_names(&before), type_names(&after));
        self.changes.add(kind, path, message);
    }

    fn values(&mut self, before: Option<&Json>, after: Option<&Json>, path: &str) {
        let list =
            |value: Option<&Json>| value.and_then(Json::as_array).map(<[Json]>::to_vec).unwrap_or_default();
        let (before, after) = (list(before), list(after));
        let only = |left: &[Json], right: &[Json]| {
            let only = left.iter().filter(|value| !right.contains(value));
            let shown: Vec<String> = only.map(|value| self.changes.quote.value(value)).collect();
            shown.join(", ")
        };
        let (gone, new) = (only(&before, &after), only(&after, &before));
        let subject = self.subject(path);
        let (kind, message) = match (gone.as_str(), new.as_str()) {
            ("", "") => {
                (PinChangeKind::Other, format!("{subject}: the allowed values are listed differently"))
            }
            ("", new) => (PinChangeKind::Widened, format!("{subject}: more values are allowed: {new}")),
            (gone, "") => {
                (PinChangeKind::Narrowed, format!("{subject}: fewer values are allowed, without {gone}"))
            }
            (gone, new) => (
                PinChangeKind::Other,
                format!("{subject}: other values are allowed: {new}, and no more {gone}"),
            ),
        };
        self.changes.add(kind, path, message);
    }

    fn further(&mut self, before: Option<&Json>, after: Option<&Json>, path: &str) {
        let open = Json::Bool(true);
        let (before, after) = (before.unwrap_or(&open), after.unwrap_or(&open));
        let subject = self.subject(path);
        match (before, after) {
            (before, after) if accepts_all(after) && !accepts_all(before) => {
                let message = format!("{subject}: further parameters are accepted now");
                self.changes.add(PinChangeKind::Widened, path, message);
            }
            (Json::Bool(false), _) => {
                let message = format!("{subject}: some further parameters are accepted now");
                self.changes.add(PinChangeKind::Widened, path, message);
            }
            (_, Json::Bool(false)) => {
                let message = format!("{subject}: further parameters are refused now");
                self.changes.add(PinChangeKind::Narrowed, path, message);
            }
            (before, after) => self.schema(before, after, &join(path, "*")),
        }
    }

    /// Reports a keyword without a special rule, or one with an unexpected value.
    fn keyword(&mut self, key: &str, before: Option<&Json>, after: Option<&Json>, path: &str) {
        let subject = self.subject(path);
        let name = self.changes.quote.name(key);
        let limits = key_is_limit(key);
        let number = |value: Option<&Json>| value.and_then(Json::as_f64);
        let (kind, message) = match (before, after) {
            (None, Some(value)) => {
                let kind = if limits.is_some() || restricts(key) {
                    PinChangeKind::Narrowed
                } else {
                    PinChangeKind::Other
                };
                (kind, format!("{subject}: `{name}` is new: {}", self.changes.quote.value(value)))
            }
            (Some(value), None) => {
                let kind = if limits.is_some() || restricts(key) {
                    PinChangeKind::Widened
                } else {
                    PinChangeKind::Other
                };
                (kind, format!("{subject}: `{name}` is gone: it was {}", self.changes.quote.value(value)))
            }
            (Some(old), Some(new)) => {
                let (kind, change) = match (limits, number(before), number(after)) {
                    (Some(Limit::Upper), Some(old), Some(new)) if old < new => {
                        (PinChangeKind::Widened, "was widened")
                    }
                    (Some(Limit::Upper), Some(old), Some(new)) if new < old => {
                        (PinChangeKind::Narrowed, "was narrowed")
                    }
                    (Some(Limit::Lower), Some(old), Some(new)) if new < old => {
                        (PinChangeKind::Widened, "was widened")
                    }
                    (Some(Limit::Lower), Some(old), Some(new)) if old < new => {
                        (PinChangeKind::Narrowed, "was narrowed")
                    }
                    _ => (PinChangeKind::Other, "changed"),
                };
                for message in self.changes.quote.values(&format!("{subject}: `{name}`"), change, old, new) {
                    self.changes.add(kind, path, message);
                }
                return;
            }
            (None, None) => return,
        };
        self.changes.add(kind, path, message);
    }

    fn subject(&self, path: &str) -> String {
        match path {
            "" => "the input".to_owned(),
            path => format!("parameter `{}`", self.changes.quote.name(path)),
        }
    }
}

#[derive(Clone, Copy)]
enum Limit {
    Upper,
    Lower,
}

fn key_is_limit(key: &str) -> Option<Limit> {
    match key {
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
            Some(Limit::Upper)
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            Some(Limit::Lower)
        }
        _ => None,
    }
}

/// Keywords whose absence accepts more values.
fn restricts(key: &str) -> bool {
    matches!(
        key,
        "pattern"
            | "format"
            | "const"
            | "enum"
            | "multipleOf"
            | "uniqueItems"
            | "anyOf"
            | "oneOf"
            | "allOf"
            | "not"
            | "type"
            | "required"
            | "propertyNames"
            | "dependentRequired"
            | "unevaluatedProperties"
            | "$ref"
            | "if"
    )
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn accepts_all(schema: &Json) -> bool {
    match schema {
        Json::Bool(value) => *value,
        Json::Object(members) => members.is_empty(),
        // The schema of a tool that lists none.
        Json::Null => true,
        Json::Number(_) | Json::String(_) | Json::Array(_) => false,
    }
}

fn is_table(value: Option<&Json>) -> bool {
    value.is_none_or(|value| value.as_object().is_some())
}

fn is_list(value: Option<&Json>) -> bool {
    value.is_some_and(|value| value.as_array().is_some())
}

fn is_names(value: Option<&Json>) -> bool {
    let all_texts = |list: &[Json]| list.iter().all(|name| name.as_str().is_some());
    value.is_none_or(|value| value.as_array().is_some_and(all_texts))
}

fn is_types(value: Option<&Json>) -> bool {
    value.is_none_or(|value| value.as_str().is_some() || is_names(Some(value)))
}

fn is_text(value: Option<&Json>) -> bool {
    value.is_none_or(|value| value.as_str().is_some())
}

fn names(value: Option<&Json>) -> BTreeSet<String> {
    let list = value.and_then(Json::as_array).unwrap_or_default();
    list.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

/// The types that a schema names; `None` for any.
fn types_of(value: Option<&Json>) -> Option<BTreeSet<String>> {
    match value? {
        Json::String(name) => Some(BTreeSet::from([name.clone()])),
        list => Some(names(Some(list))),
    }
}

fn type_names(types: &BTreeSet<String>) -> String {
    if types.is_empty() {
        return "no type".to_owned();
    }
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    types.join(" or ")
}
