//! The entries of the files.

use brigade_core::Place;

use crate::fields::{self, Fields, Slots};
use crate::model::{Level, Origin, Runtime, Tool, ToolId};

/// An entry of either file.
pub(super) trait Entry: Slots + Sized + Send {
    /// The name in the header: `tool` or `runtime`.
    const KIND: &'static str;
    /// The fields; the first one is the id.
    const FIELDS: Fields;
    /// Whether the file may also contain settings.
    const HAS_SETTINGS: bool;

    /// Creates an empty entry. It must get an id before it leaves the reader.
    fn blank(level: Level, place: Place) -> Self;
    /// Returns the id, or an empty string if it is not set.
    fn id(&self) -> &str;
    /// Returns the origin of the entry.
    fn origin(&self) -> &Origin;
    /// Sets the origin of the entry.
    fn set_origin(&mut self, origin: Origin);
    /// Returns a field that contradicts another one, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str)>;
    /// Returns a field without effect at this level, and why.
    fn pointless(&self) -> Option<(&'static str, &'static str)>;
    /// Marks the entry broken.
    fn set_broken(&mut self);
    /// Stores the names of keys that look secret.
    fn set_unsafe_fields(&mut self, names: Vec<String>);
}

impl Entry for Tool {
    const KIND: &'static str = "tool";
    const FIELDS: Fields = fields::TOOL;
    const HAS_SETTINGS: bool = true;

    fn blank(level: Level, place: Place) -> Tool {
        Tool::bare(ToolId::unset(), Origin::new(level, place))
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
