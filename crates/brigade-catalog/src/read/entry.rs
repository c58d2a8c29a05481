//! The slots of an entry: how the reader stores a value in a field.

use std::collections::BTreeMap;

use brigade_core::Place;

use super::group::Group;
use crate::fields::{self, Fields};
use crate::model::{
    ApprovalMode, Availability, Family, Level, Origin, RiskClass, Runtime, Seconds, Tool, ToolId, ToolSource,
    Transport, VersionRequirement,
};

/// An entry of either file.
pub(super) trait Entry: Sized + Send {
    /// The name in the header: `tool` or `runtime`.
    const KIND: &'static str;
    /// The fields; the first one is the id.
    const FIELDS: Fields;
    /// Whether the file has settings besides entries.
    const HAS_SETTINGS: bool;

    /// Creates an empty entry. It must get an id before it leaves the reader.
    fn blank(level: Level, place: Place) -> Self;
    /// Returns the slot of a field, by its index in [`Entry::FIELDS`].
    fn slot(&mut self, field: u8) -> Slot<'_>;
    /// Returns the id, or an empty string if it is not set.
    fn id(&self) -> &str;
    /// Returns the origin of the entry.
    fn origin(&self) -> &Origin;
    /// Sets the origin of the entry.
    fn set_origin(&mut self, origin: Origin);
    /// Returns a field that contradicts another one, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str)>;
    /// Returns a field that means nothing at this level, and why.
    fn pointless(&self) -> Option<(&'static str, &'static str)>;
    /// Marks the entry broken.
    fn set_broken(&mut self);
    /// Stores the names of keys that look secret.
    fn set_unsafe_fields(&mut self, names: Vec<String>);
}

/// A reference to a field, with the type of value it accepts.
pub(super) enum Slot<'a> {
    Id(&'a mut ToolId),
    Required(&'a mut String),
    Text(&'a mut Option<String>),
    Family(&'a mut Option<Family>),
    ApprovalMode(&'a mut Option<ApprovalMode>),
    RiskClass(&'a mut Option<RiskClass>),
    Boolean(&'a mut bool),
    Seconds(&'a mut Option<Seconds>),
    Port(&'a mut Option<u16>),
    List(&'a mut Vec<String>),
    /// A table of strings with arbitrary keys.
    Table(&'a mut BTreeMap<String, String>),
    Availability(&'a mut Option<Availability>),
    ToolSource(&'a mut Option<ToolSource>),
    Transport(&'a mut Option<Transport>),
    Version(&'a mut Option<VersionRequirement>),
    Amount(&'a mut Option<f64>),
    /// One string, or a list of strings.
    Lines(&'a mut Vec<String>),
    /// A table of known fields.
    Group(&'a mut dyn Group),
}

/// A description of the expected value.
pub(super) type ExpectedValue = &'static str;

impl Slot<'_> {
    /// Describes the value that the slot accepts.
    pub(super) fn expected(&self) -> ExpectedValue {
        match self {
            Slot::Id(_) | Slot::Required(_) => "expected non-empty text",
            Slot::Text(_) => "expected text",
            Slot::Family(_) => {
                "expected one of skill, slash-command, superpower, mcp, openapi, graphql, script, custom"
            }
            Slot::ApprovalMode(_) => "expected one of never, on-request, always",
            Slot::RiskClass(_) => "expected one of read, local-write, network, privileged",
            Slot::Boolean(_) => "expected true or false",
            Slot::Seconds(_) => "expected a number of seconds greater than 0",
            Slot::Port(_) => "expected a port from 1 to 65535",
            Slot::List(_) => "expected a list of non-empty strings",
            Slot::Table(_) => "expected a table of strings",
            Slot::Availability(_) => "expected one of always, installed, conditional",
            Slot::ToolSource(_) => "expected one of script, cli, mcp, skill, harness",
            Slot::Transport(_) => "expected one of stdio, http, sse",
            Slot::Version(_) => "expected a version such as `1.7`, or conditions such as `>=1.2, <2`",
            Slot::Amount(_) => "expected a number of at least 0",
            Slot::Lines(_) => "expected text, or a list of non-empty strings",
            Slot::Group(_) => "expected a table",
        }
    }

    /// Returns what lists the words that the slot accepts, if there are only some.
    pub(super) fn words(&self) -> fn() -> Vec<&'static str> {
        match self {
            Slot::Family(_) => || Family::of_entries().map(Family::as_str).collect(),
            Slot::ApprovalMode(_) => || ApprovalMode::ALL.iter().map(|word| word.as_str()).collect(),
            Slot::RiskClass(_) => || RiskClass::ALL.iter().map(|word| word.as_str()).collect(),
            Slot::Availability(_) => || Availability::ALL.iter().map(|word| word.as_str()).collect(),
            Slot::ToolSource(_) => || ToolSource::ALL.iter().map(|word| word.as_str()).collect(),
            Slot::Transport(_) => || Transport::ALL.iter().map(|word| word.as_str()).collect(),
            _ => Vec::new,
        }
    }

    /// Stores a string.
    pub(super) fn set_text(self, text: &str) -> Result<(), ExpectedValue> {
        let expected = self.expected();
        let text = text.trim();
        match self {
            Slot::Id(_) | Slot::Required(_) if text.is_empty() => return Err(expected),
            Slot::Id(slot) => *slot = text.parse().map_err(|_| "expected text without control characters")?,
            Slot::Required(slot) => text.clone_into(slot),
            Slot::Text(slot) => *slot = Some(text.to_owned()),
            Slot::Family(slot) => {
                let family = Family::of_entries().find(|family| family.as_str() == text);
                *slot = Some(family.ok_or(expected)?);
            }
            Slot::ApprovalMode(slot) if text.is_empty() => *slot = None,
            Slot::ApprovalMode(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::RiskClass(slot) if text.is_empty() => *slot = None,
            Slot::RiskClass(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::Availability(slot) if text.is_empty() => *slot = None,
            Slot::Availability(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::ToolSource(slot) if text.is_empty() => *slot = None,
            Slot::ToolSource(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::Transport(slot) if text.is_empty() => *slot = None,
            Slot::Transport(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::Version(slot) if text.is_empty() => *slot = None,
            Slot::Version(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::Lines(slot) if text.is_empty() => slot.clear(),
            Slot::Lines(slot) => *slot = vec![text.to_owned()],
            Slot::Boolean(_)
            | Slot::Seconds(_)
            | Slot::Port(_)
            | Slot::List(_)
            | Slot::Table(_)
            | Slot::Amount(_)
            | Slot::Group(_) => return Err(expected),
        }
        Ok(())
    }

    /// Stores a boolean.
    pub(super) fn set_boolean(self, value: bool) -> Result<(), ExpectedValue> {
        match self {
            Slot::Boolean(slot) => *slot = value,
            other => return Err(other.expected()),
        }
        Ok(())
    }

    /// Stores a number. `is_integer` is set if it was written as an integer.
    pub(super) fn set_number(self, value: f64, is_integer: bool) -> Result<(), ExpectedValue> {
        let expected = self.expected();
        match self {
            Slot::Seconds(slot) => *slot = Some(Seconds::new(value).map_err(|_| expected)?),
            Slot::Amount(slot) if value.is_finite() && 0.0 <= value => *slot = Some(value),
            Slot::Port(slot) if is_integer && (1.0..=65535.0).contains(&value) => *slot = Some(value as u16),
            _ => return Err(expected),
        }
        Ok(())
    }
}

impl Entry for Tool {
    const KIND: &'static str = "tool";
    const FIELDS: Fields = fields::TOOL;
    const HAS_SETTINGS: bool = true;

    fn blank(level: Level, place: Place) -> Tool {
        Tool::bare(ToolId::unset(), Origin::new(level, place))
    }

    fn slot(&mut self, field: u8) -> Slot<'_> {
        match field {
            0 => Slot::Id(&mut self.id),
            1 => Slot::Required(&mut self.name),
            2 => Slot::Family(&mut self.family),
            3 => Slot::Boolean(&mut self.enabled),
            4 => Slot::Text(&mut self.description),
            5 => Slot::Text(&mut self.source_path),
            6 => Slot::Text(&mut self.manifest_path),
            7 => Slot::Text(&mut self.schema_path),
            8 => Slot::Text(&mut self.command),
            9 => Slot::Text(&mut self.auth_label),
            10 => Slot::Text(&mut self.health_path),
            11 => Slot::Text(&mut self.fingerprint),
            12 => Slot::Text(&mut self.input_schema_path),
            13 => Slot::Text(&mut self.output_schema_path),
            14 => Slot::Text(&mut self.examples_path),
            15 => Slot::ApprovalMode(&mut self.approval_mode),
            16 => Slot::Text(&mut self.cwd),
            17 => Slot::Text(&mut self.runtime_id),
            18 => Slot::Text(&mut self.runtime_health_path),
            19 => Slot::Text(&mut self.mcp_server_id),
            20 => Slot::Text(&mut self.mcp_tool_name),
            21 => Slot::Boolean(&mut self.requires_runtime),
            22 => Slot::Seconds(&mut self.timeout),
            23 => Slot::Text(&mut self.domain),
            24 => Slot::List(&mut self.capability),
            25 => Slot::RiskClass(&mut self.risk_class),
            26 => Slot::List(&mut self.permissions),
            27 => Slot::List(&mut self.effects),
            28 => Slot::List(&mut self.env_labels),
            29 => Slot::List(&mut self.supported_harnesses),
            30 => Slot::Table(&mut self.projections),
            31 => Slot::Table(&mut self.projection_fingerprints),
            32 => Slot::Table(&mut self.argument_template),
            33 => Slot::List(&mut self.allow_option_values),
            34 => Slot::List(&mut self.code),
            35 => Slot::List(&mut self.data),
            36 => Slot::List(&mut self.aliases),
            37 => Slot::List(&mut self.categories),
            38 => Slot::List(&mut self.capabilities),
            39 => Slot::Availability(&mut self.availability),
            40 => Slot::Version(&mut self.version),
            41 => Slot::Text(&mut self.version_command),
            42 => Slot::Boolean(&mut self.project_specific),
            43 => Slot::Group(self.source.get_or_insert_default().as_mut()),
            44 => Slot::Group(self.install.get_or_insert_default().as_mut()),
            _ => Slot::Group(self.cost.get_or_insert_default().as_mut()),
        }
    }

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let why = "this kind does not suit the family of the tool";
        self.has_unsuited_kind().then_some(("source.kind", why))
    }

    fn pointless(&self) -> Option<(&'static str, &'static str)> {
        let why = "the tools of a user file belong to no project";
        (self.project_specific && self.origin.level == Level::User).then_some(("project_specific", why))
    }

    fn set_broken(&mut self) {
        self.is_broken = true;
    }

    fn set_unsafe_fields(&mut self, names: Vec<String>) {
        self.unsafe_fields = names;
    }
}

impl Entry for Runtime {
    const KIND: &'static str = "runtime";
    const FIELDS: Fields = fields::RUNTIME;
    const HAS_SETTINGS: bool = false;

    fn blank(level: Level, place: Place) -> Runtime {
        Runtime::bare(ToolId::unset(), Origin::new(level, place))
    }

    fn slot(&mut self, field: u8) -> Slot<'_> {
        match field {
            0 => Slot::Id(&mut self.id),
            1 => Slot::Required(&mut self.name),
            2 => Slot::Boolean(&mut self.enabled),
            3 => Slot::Required(&mut self.command),
            4 => Slot::Text(&mut self.cwd),
            5 => Slot::Port(&mut self.port),
            6 => Slot::Text(&mut self.health_command),
            7 => Slot::Text(&mut self.health_path),
            8 => Slot::Text(&mut self.pid_path),
            9 => Slot::Text(&mut self.log_path),
            10 => Slot::Seconds(&mut self.timeout),
            11 => Slot::Boolean(&mut self.on_demand),
            _ => Slot::List(&mut self.env_labels),
        }
    }

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn pointless(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn set_broken(&mut self) {
        self.is_broken = true;
    }

    fn set_unsafe_fields(&mut self, names: Vec<String>) {
        self.unsafe_fields = names;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Shape;

    /// Slots are matched by index, so they must agree with the list of fields.
    fn check<E: Entry>() {
        let mut entry = E::blank(Level::Project, Place::file("x"));
        for (at, (name, shape)) in E::FIELDS.0.iter().enumerate() {
            let found = match entry.slot(at as u8) {
                Slot::Id(_) | Slot::Required(_) | Slot::Family(_) => Shape::Required,
                Slot::Text(_)
                | Slot::ApprovalMode(_)
                | Slot::RiskClass(_)
                | Slot::Availability(_)
                | Slot::ToolSource(_)
                | Slot::Transport(_)
                | Slot::Version(_) => Shape::Text,
                Slot::Amount(_) => Shape::Amount,
                Slot::Lines(_) => Shape::Lines,
                Slot::Group(group) => Shape::Group(group.fields()),
                Slot::Boolean(_) => Shape::Boolean,
                Slot::Seconds(_) => Shape::Seconds,
                Slot::Port(_) => Shape::Port,
                Slot::List(_) => Shape::List,
                Slot::Table(_) => Shape::Table,
            };
            assert_eq!(found, *shape, "{name}");
        }
    }

    #[test]
    fn slots_agree_with_the_list_of_fields() {
        check::<Tool>();
        check::<Runtime>();
    }
}
