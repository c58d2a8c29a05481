//! The entries of the files.

use brigade_core::Place;

use crate::fields::{self, Fields, Slots};
use crate::model::{Level, Origin, RemoteServer, Runtime, ServerTransport, Tool, ToolId};

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
    /// Returns whether the entry needs this required field.
    fn needs(&self, field: &str) -> bool;
    /// Adds what follows from the fields.
    fn settle(&mut self);
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

    fn needs(&self, _: &str) -> bool {
        true
    }

    fn settle(&mut self) {}

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
        remote_contradiction(self)
    }

    fn pointless(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn needs(&self, field: &str) -> bool {
        field != "command" || self.url.is_none()
    }

    fn settle(&mut self) {
        Runtime::settle(self);
    }

    fn set_broken(&mut self) {
        self.is_broken = true;
    }

    fn set_unsafe_fields(&mut self, names: Vec<String>) {
        self.unsafe_fields = names;
    }
}

/// Returns what contradicts the rest of the entry of a remote server.
fn remote_contradiction(runtime: &Runtime) -> Option<(&'static str, &'static str)> {
    let Some(RemoteServer { url, transport, headers }) = runtime.remote() else {
        let why = "only a runtime with `url` has it";
        return (runtime.transport.map(|_| ("transport", why)))
            .or_else(|| (!runtime.headers.is_empty()).then_some(("headers", why)));
    };
    let local = [
        (!runtime.command.is_empty(), "command"),
        (runtime.cwd.is_some(), "cwd"),
        (runtime.port.is_some(), "port"),
        (runtime.health_command.is_some(), "health_command"),
    ];
    if let Some((_, field)) = local.into_iter().find(|(is_set, _)| *is_set) {
        return Some((
            field,
            "a runtime with `url` is a remote server, which has no process here; remove one of them",
        ));
    }
    if transport == ServerTransport::Stdio {
        return Some(("transport", "expected `http` or `sse`: a server with `url` has no standard streams"));
    }
    RemoteServer::url_problem(&url).map(|why| ("url", why)).or_else(|| {
        headers
            .iter()
            .find_map(|(name, value)| RemoteServer::header_problem(name, value))
            .map(|why| ("headers", why))
    })
}
