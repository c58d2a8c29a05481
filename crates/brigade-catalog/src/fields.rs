//! The only list of the fields of an entry, in the order in which new entries are written.

mod slot;

pub(crate) use slot::{ExpectedValue, Slot};

use crate::entry_text::FieldValue;
use crate::model::{Cost, Effect, Install, Runtime, SourceDetail, Tool};

/// A field's name and the part after it: `timeout`, `projections.claude`, `effects[2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath<'a> {
    pub(crate) name: &'a str,
    pub(crate) rest: Option<&'a str>,
}

impl FieldPath<'_> {
    /// Splits a path at the first dot or bracket.
    pub(crate) fn parse(text: &str) -> FieldPath<'_> {
        match text.find(['.', '[']) {
            None => FieldPath { name: text, rest: None },
            Some(at) => FieldPath { name: &text[..at], rest: Some(text[at + 1..].trim_end_matches(']')) },
        }
    }
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A non-empty string.
    Required,
    /// A string.
    Text,
    /// `true` or `false`.
    Boolean,
    /// A number of seconds.
    Seconds,
    /// A TCP port.
    Port,
    /// A list of non-empty strings.
    List,
    /// A table of strings.
    Table,
    /// A number of at least 0.
    Amount,
    /// A string, or a list of non-empty strings.
    Lines,
    /// A table of known fields.
    Group(Fields),
}

/// The fields of one kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) &'static [(&'static str, Shape)]);

impl Fields {
    /// Returns the index of a field. Compact structures store it.
    pub(crate) fn position(&self, name: &str) -> Option<u8> {
        self.0.iter().position(|(known, _)| *known == name).map(|at| at as u8)
    }

    /// Like `position`, but fast if the name is at the expected index or shortly after it.
    pub(crate) fn position_from(&self, expected: u8, name: &str) -> Option<u8> {
        let start = usize::from(expected).min(self.0.len());
        let (before, after) = self.0.split_at(start);
        let found = |part: &[(&str, Shape)]| part.iter().position(|(known, _)| *known == name);
        found(after).map(|at| start + at).or_else(|| found(before)).map(|at| at as u8)
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.0.iter().map(|(name, _)| *name)
    }
}

/// Reads and writes the fields of a value by their index in [`Fields`].
pub(crate) trait Slots {
    /// Returns the fields.
    fn fields(&self) -> Fields;
    /// Returns the slot of a field.
    fn slot(&mut self, field: u8) -> Slot<'_>;
    /// Returns the value of a field that is set.
    fn value(&self, field: u8) -> Option<FieldValue>;
}

macro_rules! shape {
    (Id) => {
        Shape::Required
    };
    (Family) => {
        Shape::Required
    };
    (Enabled) => {
        Shape::Boolean
    };
    (Group $fields:ident) => {
        Shape::Group($fields)
    };
    (Word) => {
        Shape::Text
    };
    (Version) => {
        Shape::Text
    };
    ($kind:ident) => {
        Shape::$kind
    };
}

macro_rules! slot {
    (Enabled $field:expr) => {
        Slot::Boolean(&mut $field)
    };
    (Group $field:expr) => {
        Slot::Group($field.get_or_insert_default().as_mut())
    };
    ($kind:ident $field:expr) => {
        Slot::$kind(&mut $field)
    };
}

macro_rules! value {
    (Id $field:expr) => {
        Some(FieldValue::Text($field.to_string()))
    };
    (Required $field:expr) => {
        (!$field.is_empty()).then(|| FieldValue::Text($field.clone()))
    };
    (Text $field:expr) => {
        $field.clone().map(FieldValue::Text)
    };
    (Version $field:expr) => {
        $field.as_ref().map(|version| FieldValue::Text(version.as_str().to_owned()))
    };
    (Enabled $field:expr) => {
        Some(FieldValue::Boolean($field))
    };
    (Boolean $field:expr) => {
        $field.then_some(FieldValue::Boolean(true))
    };
    (Seconds $field:expr) => {
        $field.map(FieldValue::Seconds)
    };
    (Port $field:expr) => {
        $field.map(FieldValue::Whole)
    };
    (Amount $field:expr) => {
        $field.map(FieldValue::Amount)
    };
    (List $field:expr) => {
        (!$field.is_empty()).then(|| FieldValue::List($field.clone()))
    };
    (Table $field:expr) => {
        (!$field.is_empty()).then(|| FieldValue::Table($field.clone()))
    };
    (Lines $field:expr) => {
        match &$field[..] {
            [] => None,
            [one] => Some(FieldValue::Text(one.clone())),
            all => Some(FieldValue::List(all.to_vec())),
        }
    };
    (Group $field:expr) => {
        $field.as_deref().and_then(|group| group_value(group))
    };
    ($word:ident $field:expr) => {
        $field.map(|word| FieldValue::Text(word.as_str().to_owned()))
    };
}

/// Returns the fields of a table that are set. `None` if no field is set.
fn group_value(group: &dyn Slots) -> Option<FieldValue> {
    let fields = (0..).zip(group.fields().names());
    let set: Vec<_> = fields.filter_map(|(field, name)| Some((name, group.value(field)?))).collect();
    (!set.is_empty()).then_some(FieldValue::Group(set))
}

/// Defines the fields of a type, in the order in which they are written: name, kind of [`Slot`], member.
///
/// `Enabled` is a boolean that is always written. A `Group` names its own fields.
macro_rules! fields {
    ($(#[$doc:meta])* $list:ident of $owner:ty {
        $($name:literal: $kind:ident $($group:ident)? = $field:ident,)*
    }) => {
        $(#[$doc])*
        pub(crate) const $list: Fields = Fields(&[$(($name, shape!($kind $($group)?))),*]);

        impl Slots for $owner {
            fn fields(&self) -> Fields {
                $list
            }

            fn slot(&mut self, field: u8) -> Slot<'_> {
                let slots: &[for<'a> fn(&'a mut $owner) -> Slot<'a>] = &[$(|it| slot!($kind it.$field)),*];
                slots[usize::from(field)](self)
            }

            fn value(&self, field: u8) -> Option<FieldValue> {
                let values: &[fn(&$owner) -> Option<FieldValue>] = &[$(|it| value!($kind it.$field)),*];
                values[usize::from(field)](self)
            }
        }
    };
}

fields! {
    /// The fields of a `[[tool]]`.
    TOOL of Tool {
        "id": Id = id,
        "name": Required = name,
        "family": Family = family,
        "enabled": Enabled = enabled,
        "description": Text = description,
        "source_path": Text = source_path,
        "manifest_path": Text = manifest_path,
        "schema_path": Text = schema_path,
        "command": Text = command,
        "auth_label": Text = auth_label,
        "health_path": Text = health_path,
        "fingerprint": Text = fingerprint,
        "input_schema_path": Text = input_schema_path,
        "output_schema_path": Text = output_schema_path,
        "examples_path": Text = examples_path,
        "approval_mode": Word = approval_mode,
        "cwd": Text = cwd,
        "runtime_id": Text = runtime_id,
        "runtime_health_path": Text = runtime_health_path,
        "mcp_server_id": Text = mcp_server_id,
        "mcp_tool_name": Text = mcp_tool_name,
        "requires_runtime": Boolean = requires_runtime,
        "timeout": Seconds = timeout,
        "idle_timeout": Seconds = idle_timeout,
        "domain": Text = domain,
        "capability": List = capability,
        "risk_class": Word = risk_class,
        "permissions": List = permissions,
        "effects": List = effects,
        "env_labels": List = env_labels,
        "supported_harnesses": List = supported_harnesses,
        "projections": Table = projections,
        "projection_fingerprints": Table = projection_fingerprints,
        "argument_template": Table = argument_template,
        "allow_option_values": List = allow_option_values,
        "code": List = code,
        "data": List = data,
        "aliases": List = aliases,
        "categories": List = categories,
        "capabilities": List = capabilities,
        "availability": Word = availability,
        "version": Version = version,
        "version_command": Text = version_command,
        "project_specific": Boolean = project_specific,
        "icons": List = icons,
        "proposed_effects": List = proposed_effects,
        "source": Group SOURCE = source,
        "install": Group INSTALL = install,
        "cost": Group COST = cost,
    }
}

fields! {
    /// The fields of `[tool.source]`.
    SOURCE of SourceDetail {
        "kind": Word = kind,
        "provider": Text = provider,
        "server": Text = server,
        "transport": Word = transport,
        "skill_id": Text = skill_id,
        "entry": Text = entry,
        "path": Text = path,
        "ref": Text = reference,
        "fingerprint": Text = fingerprint,
    }
}

fields! {
    /// The fields of `[tool.install]`.
    INSTALL of Install {
        "check": Text = check,
        "command": Lines = command,
        "docs": Text = docs,
    }
}

fields! {
    /// The fields of `[tool.cost]`.
    COST of Cost {
        "per_call": Amount = per_call,
        "unit": Text = unit,
    }
}

fields! {
    /// The fields of a `[[runtime]]`.
    RUNTIME of Runtime {
        "id": Id = id,
        "name": Required = name,
        "enabled": Enabled = enabled,
        "command": Required = command,
        "url": Text = url,
        "transport": Word = transport,
        "headers": Table = headers,
        "cwd": Text = cwd,
        "port": Port = port,
        "health_command": Text = health_command,
        "health_path": Text = health_path,
        "pid_path": Text = pid_path,
        "log_path": Text = log_path,
        "timeout": Seconds = timeout,
        "on_demand": Boolean = on_demand,
        "env_labels": List = env_labels,
        "home": Word = home,
        "container": Boolean = container,
        "write_paths": List = write_paths,
        "env": Table = env,
    }
}

/// Returns the fields of a table of known fields.
pub(crate) fn group(field: &str) -> Option<Fields> {
    match TOOL.0.iter().find(|(name, _)| *name == field) {
        Some((_, Shape::Group(fields))) => Some(*fields),
        _ => None,
    }
}

/// The effects that open the network.
pub const REMOTE_EFFECTS: [&str; 3] = ["network", "remote-read", "remote-mutation"];

/// Returns the known effect that an unknown one probably means.
pub fn misspelt_effect(effect: &str) -> Option<&'static str> {
    let effect = effect.trim();
    let is_known = effect.len() > MAX_EFFECT_BYTES || Effect::is_known(effect);
    if is_known { None } else { brigade_core::closest(effect, Effect::known()) }
}

/// The maximum length in bytes of an effect that is compared with the known ones.
const MAX_EFFECT_BYTES: usize = 64;

/// The harness labels that Brigade knows. Others are accepted with a warning.
pub const KNOWN_HARNESSES: &[&str] = &[
    "claude",
    "codex",
    "opencode",
    "antigravity",
    "pi",
    "cursor",
    "aider",
    "goose",
    "continue",
    "copilot",
    "qwen",
    "kimi",
    "adal",
    "openhands",
    "grok",
    "amp",
    "crush",
    "hermes",
    "openclaw",
    "mcp",
    "scripts",
    "gemini",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_the_field() {
        assert_eq!(FieldPath::parse("timeout"), FieldPath { name: "timeout", rest: None });
        assert_eq!(FieldPath::parse("effects[2]"), FieldPath { name: "effects", rest: Some("2") });
        assert_eq!(FieldPath::parse("projections.a.b"), FieldPath { name: "projections", rest: Some("a.b") });
    }

    #[test]
    fn positions_follow_the_writing_order() {
        assert_eq!(TOOL.position("id"), Some(0));
        assert_eq!(TOOL.position("argument_template"), Some(33));
        assert_eq!(TOOL.position("argument_templates"), None);
        for expected in [0, 5, 33, 34, 200] {
            assert_eq!(TOOL.position_from(expected, "name"), Some(1));
            assert_eq!(TOOL.position_from(expected, "nam"), None);
        }
    }
}
