//! Converts other formats into entries: our TOML, tools of other registries, bundles, and `server.json` of the MCP
//! registry.
//!
//! Bytes come in; entries and notes go out. Entries that can run or install something are disabled and always need
//! approval, so that a person reviews them first.

mod bundle;
mod seed;
mod server_json;

use brigade_cmdline::{Argv, chooses_code};
use brigade_core::web_url::WebUrl;
use brigade_core::yaml::{self, YamlError};
use brigade_core::{ConfigIssue, Dialect, ErrorCode, Json, JsonErrorKind, Object, Severity};
use brigade_redact::{Redactor, looks_secret_value};
use thiserror::Error;

use crate::model::{
    ApprovalMode, Catalog, Level, RegistrySettings, RemoteServer, Runtime, ServerTransport, Tool, ToolSource,
};

pub use bundle::bundle_folder;

/// A tool to register.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// Its entry.
    pub tool: Tool,
    /// The runtime of an MCP server.
    pub runtime: Option<Runtime>,
    /// What it is, in a few words.
    pub detail: String,
}

/// A note about something in the source that is not in the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterNote {
    /// The code. Its meaning never changes.
    pub code: ErrorCode,
    /// The field of the source, after the id of the tool. Elements of lists count from 1.
    pub field: String,
    /// The sentence.
    pub message: String,
}

/// Why a source is not registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RegisterError {
    /// The code. Its meaning never changes.
    pub code: ErrorCode,
    /// The field of the source, after the id of the tool if it is known. Elements of lists count from 1.
    pub field: Option<String>,
    /// The sentence. Never contains a value.
    pub message: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
}

impl RegisterError {
    /// Creates an error without a place.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> RegisterError {
        RegisterError { code, field: None, message: message.into(), line: None, column: None }
    }

    /// Sets the field.
    #[must_use]
    pub fn field(self, field: impl Into<String>) -> RegisterError {
        RegisterError { field: Some(field.into()), ..self }
    }
}

/// The content of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registrations {
    /// The tools, in the order of the source.
    pub tools: Vec<Registration>,
    /// Whether `find` includes tools that only a harness can run, if the source says so.
    pub harness_tools: Option<bool>,
    /// The settings of a tools registry, which count only while it is read in place.
    pub settings: RegistrySettings,
    /// What the entries do not contain.
    pub notes: Vec<RegisterNote>,
    /// Why nothing is registered. Empty if all tools can be registered.
    pub errors: Vec<RegisterError>,
}

/// Reads members of an object, and notes the members that were not read.
struct Members<'o> {
    object: &'o Object,
    prefix: String,
    known: Vec<&'static str>,
    /// Members of a wrong type.
    faults: Vec<RegisterError>,
}

impl<'o> Members<'o> {
    fn new(object: &'o Object, prefix: impl Into<String>) -> Members<'o> {
        Members { object, prefix: prefix.into(), known: Vec::new(), faults: Vec::new() }
    }

    fn get(&mut self, name: &'static str) -> Option<&'o Json> {
        self.known.push(name);
        self.object.get(name).filter(|value| **value != Json::Null)
    }

    fn text(&mut self, name: &'static str) -> Option<String> {
        let Some(text) = self.get(name)?.as_str() else {
            self.fault(name, "expected text in quotes");
            return None;
        };
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn list(&mut self, name: &'static str) -> &'o [Json] {
        match self.get(name) {
            None => &[],
            Some(Json::Array(items)) => items,
            Some(_) => {
                self.fault(name, "expected a list");
                &[]
            }
        }
    }

    /// Reads the objects of a list, each with its position from 1.
    fn objects(&mut self, name: &'static str) -> Vec<(usize, &'o Object)> {
        let mut found = Vec::new();
        for (index, item) in self.list(name).iter().enumerate() {
            match item {
                Json::Object(object) => found.push((index + 1, object)),
                _ => self.fault(&format!("{name}[{}]", index + 1), "expected an object"),
            }
        }
        found
    }

    fn object(&mut self, name: &'static str) -> Option<&'o Object> {
        let value = self.get(name)?;
        let object = value.as_object();
        if object.is_none() {
            self.fault(name, "expected an object");
        }
        object
    }

    fn fault(&mut self, name: &str, message: &str) {
        let field = self.field(name);
        self.faults.push(RegisterError::new(ErrorCode::FieldInvalid, message).field(field));
    }

    fn field(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", self.prefix) }
    }

    /// Adds the faults to the result, without duplicates of refused fields.
    fn pass_faults(&mut self, found: &mut Registrations) {
        for fault in std::mem::take(&mut self.faults) {
            if !found.errors.iter().any(|error| error.field == fault.field) {
                found.errors.push(fault);
            }
        }
    }

    /// Adds the faults to the result, and notes the members that were not read.
    fn rest(mut self, found: &mut Registrations) {
        self.pass_faults(found);
        for name in self.object.keys().filter(|name| !self.known.contains(&name.as_str())) {
            found.note(ErrorCode::UnknownKey, self.field(name), "an entry has no place for this key");
        }
    }
}

impl Registrations {
    /// Reads a source. `file` names it in messages, and its ending decides the format: `.toml`, else JSON or YAML.
    /// `container` is the program that starts container images, if this machine has one.
    pub fn read(file: &str, bytes: &[u8], level: Level, container: Option<&str>) -> Registrations {
        let mut found = match (std::str::from_utf8(bytes), file.to_ascii_lowercase().ends_with(".toml")) {
            (Err(_), _) => failed(RegisterError::new(ErrorCode::FileInvalid, "the file is not UTF-8 text")),
            (Ok(_), true) => toml(file, bytes, level),
            (Ok(text), false) => match value(text) {
                Err(error) => failed(error),
                Ok(Json::Object(object)) if server_json::is_one(&object) => {
                    server_json::read(&object, container)
                }
                Ok(value) => seed::read(&value),
            },
        };
        if found.errors.is_empty() && found.tools.is_empty() {
            found.errors.push(RegisterError::new(ErrorCode::NothingToRegister, "the file has no tool"));
        }
        found.tools.iter_mut().for_each(|registration| registration.tool.wait_for_review());
        found.refuse_secret_ids();
        found
    }

    /// Reads a tools registry in place. Its entries stay enabled, and always ask.
    pub(crate) fn in_place(text: &str) -> Registrations {
        let mut found = value(text).map_or_else(failed, |value| seed::read(&value));
        let tools = found.tools.iter_mut().map(|registration| &mut registration.tool);
        tools.filter(|tool| tool.must_be_reviewed()).for_each(|tool| {
            tool.approval_mode = Some(ApprovalMode::Always);
        });
        found.refuse_secret_ids();
        found.tools.retain(|found| looks_secret_value(found.tool.id.as_str()).is_none());
        found
    }

    /// Notes settings of a tool that are left to a review. `is_enabled` says whether the source enables it.
    fn note_review(&mut self, tool: &Tool, is_enabled: bool, field: impl Fn(&str) -> String) {
        if !tool.must_be_reviewed() {
            return;
        }
        if is_enabled {
            self.note(ErrorCode::EnabledIgnored, field("enabled"), "a person enables it after a review");
        }
        if tool.approval_mode.is_some_and(|mode| mode != ApprovalMode::Always) {
            let message = "a registered tool always asks for approval";
            self.note(ErrorCode::ApprovalModeIgnored, field("approval_mode"), message);
        }
    }

    /// Adds an issue of the reader to the result.
    fn take_issue(&mut self, issue: &ConfigIssue, at: impl Fn(RegisterError) -> RegisterError) {
        let field = field_of(issue.entry.as_deref(), issue.field.as_deref());
        if issue.severity == Severity::Error {
            let error = RegisterError::new(ErrorCode::FieldInvalid, &*issue.message);
            let field = (!field.is_empty()).then_some(field);
            self.errors.push(at(RegisterError { field, ..error }));
        } else {
            self.note(ErrorCode::UnknownKey, field, &issue.message);
        }
    }

    /// Refuses ids that are secrets, and masks them where a field names its tool.
    fn refuse_secret_ids(&mut self) {
        let is_secret = |found: &Registration| looks_secret_value(found.tool.id.as_str()).is_some();
        if self.tools.iter().any(is_secret) {
            let error = RegisterError::new(ErrorCode::SecretInEntry, "an id looks like a secret");
            self.errors.push(error.field("id"));
        }
        let redactor = Redactor::new(&[]);
        let of_errors = self.errors.iter_mut().filter_map(|error| error.field.as_mut());
        for field in of_errors.chain(self.notes.iter_mut().map(|note| &mut note.field)) {
            *field = redactor.redact_str(field);
        }
    }

    /// Prefixes the fields of notes and errors with the id of their tool.
    pub fn name_tool(&mut self, id: &str) {
        let of_errors = self.errors.iter_mut().map(|error| error.field.get_or_insert_default());
        for field in of_errors.chain(self.notes.iter_mut().map(|note| &mut note.field)) {
            *field = field_of(Some(id), Some(field));
        }
    }

    /// Adds a note.
    pub fn note(&mut self, code: ErrorCode, field: String, message: &str) {
        self.notes.push(RegisterNote { code, field, message: message.to_owned() });
    }
}

/// Returns the place of a field of a tool.
fn field_of(id: Option<&str>, field: Option<&str>) -> String {
    let parts = [id, field].into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(".")
}

fn failed(error: RegisterError) -> Registrations {
    Registrations { errors: vec![error], ..Registrations::default() }
}

/// Parses JSON or YAML. A key that appears twice is refused, because one of its values would be lost.
fn value(text: &str) -> Result<Json, RegisterError> {
    let text = text.trim_start_matches('\u{feff}');
    let invalid = |message: &str, line: usize, column: usize| RegisterError {
        line: Some(line),
        column: Some(column),
        ..RegisterError::new(ErrorCode::FileInvalid, message)
    };
    let yaml = || {
        let root = yaml::parse(text).map_err(|error| {
            let (message, at) = match error {
                YamlError::Invalid { at, why } => (format!("{NOT_YAML}: {why}"), at),
                error => (format!("the YAML is not read: {error}"), error.at()),
            };
            invalid(&message, at.line, at.column)
        })?;
        match root.as_ref().and_then(yaml::Node::key_twice) {
            Some(key) => Err(invalid(DUPLICATE_KEY, key.at.line, key.at.column)),
            None => Ok(root.map_or(Json::Null, |root| root.to_json())),
        }
    };
    if !text.trim_start().starts_with(['{', '[']) {
        return yaml();
    }
    Json::parse_bytes(text.as_bytes(), Dialect::Strict).or_else(|error| match error.kind {
        JsonErrorKind::DuplicateKey => Err(invalid(DUPLICATE_KEY, error.line, error.column)),
        JsonErrorKind::TooDeep => Err(invalid("the file is nested too deep", error.line, error.column)),
        // A YAML map may also begin like JSON.
        _ => yaml().map_err(|of_yaml| match of_yaml.message.starts_with(NOT_YAML) {
            true => invalid(&format!("the file is not JSON: {}", error.kind), error.line, error.column),
            false => of_yaml,
        }),
    })
}

/// The note for the URL of a server that is not stored.
pub const URL_LEFT_OUT: &str =
    "its query, its user or a variable in it may be secret; write `url` of the runtime by hand";

/// The note for the headers of a server, whose values are not stored.
pub const HEADER_LABEL: &str =
    "no value is taken over; bind the label of the header under env_bindings of the policy";

/// Makes the runtime of a remote server, disabled until a review, and lets the entry depend on it. `None` if the URL
/// may hold a secret. A header without a text gets a label that is made of its name.
pub fn remote_server(
    tool: &mut Tool,
    url: &str,
    transport: ServerTransport,
    headers: impl IntoIterator<Item = (String, Option<String>)>,
) -> Option<Runtime> {
    if url.contains(['?', '#', '{', '$']) || RemoteServer::url_problem(url).is_some() {
        return None;
    }
    let id = tool.id.to_string();
    let headers = headers.into_iter().map(|(name, text)| {
        let text = text.unwrap_or_else(|| match name.eq_ignore_ascii_case("authorization") {
            true => format!("Bearer {{{}}}", label_of(&id, "token")),
            false => format!("{{{}}}", label_of(&id, &name)),
        });
        (name, text)
    });
    let remote = RemoteServer { url: url.to_owned(), transport, headers: headers.collect() };
    let has_problem = |(name, text): (&String, &String)| RemoteServer::header_problem(name, text).is_some();
    if remote.headers.iter().any(has_problem) {
        return None;
    }
    tool.runtime_id = Some(id);
    let runtime = Runtime::connecting(tool.id.as_str(), remote).ok()?;
    Some(Runtime { name: tool.name.clone(), enabled: false, timeout: tool.timeout, ..runtime })
}

/// Returns the label for a header of a server: upper-case letters, digits and underscores.
fn label_of(id: &str, name: &str) -> String {
    let label: String = format!("{id}_{name}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    if label.starts_with(|c: char| c.is_ascii_digit()) { format!("MCP_{label}") } else { label }
}

/// The message for an invalid URL of a server.
const ADDRESS: &str = "expected the address of a server, https://HOST/PATH";

/// Returns whether a text can be the address of a server. Variables and credentials are left to the user.
fn is_server(url: &str) -> bool {
    url.contains(['{', '$', '@']) || WebUrl::parse(url.trim()).is_ok()
}

/// The message for a file that is not YAML.
const NOT_YAML: &str = "the file is not YAML";

/// The message for a duplicate key.
const DUPLICATE_KEY: &str = "this key appears twice in one object, so one of its values would be lost";

/// Reads entries of our own format.
fn toml(file: &str, bytes: &[u8], level: Level) -> Registrations {
    let catalog = Catalog::parse(file, level, bytes);
    let mut found = Registrations::default();
    if let Some(place) = catalog.settings().newer_schema() {
        let error = RegisterError::new(
            ErrorCode::SchemaNewer,
            "the file has a schema that this version does not know",
        );
        return failed(RegisterError { line: place.line, column: place.column, ..error.field("schema") });
    }
    for issue in catalog.issues() {
        let (line, column) = (issue.place.line, issue.place.column);
        found.take_issue(issue, |error| RegisterError {
            code: ErrorCode::FileInvalid,
            line,
            column,
            ..error
        });
    }
    let settings = catalog.settings();
    let stated = [
        ("registry.harnesses", settings.harnesses.is_some()),
        ("registry.harness_tools", settings.harness_tools.is_some()),
    ];
    for (key, _) in stated.into_iter().filter(|(_, is_stated)| *is_stated) {
        found.note(
            ErrorCode::UnknownKey,
            key.to_owned(),
            "it is about a whole catalog, and no entry has a place for it",
        );
    }
    for tool in catalog.tools() {
        let is_stated = tool.enabled && tool.origin.place != tool.place_of("enabled");
        found.note_review(tool, is_stated, |name| format!("{}.{name}", tool.id));
        let detail = tool.source().map_or("tool", ToolSource::as_str).to_owned();
        found.tools.push(Registration { tool: tool.clone().with_chosen_code(), runtime: None, detail });
    }
    found
}

impl Tool {
    /// Adds `code` for a command that chooses its code itself, if the entry declares none.
    #[must_use]
    pub fn with_chosen_code(self) -> Tool {
        let directory = self.cwd.as_deref().filter(|directory| *directory != ".").unwrap_or_default();
        let argv = self.command.as_deref().filter(|_| self.is_executable() && self.code.is_empty());
        let argv = argv.and_then(|command| Argv::parse(command).ok());
        match argv.and_then(|argv| chooses_code(&argv, directory.as_ref())) {
            Some(chosen) => Tool { code: chosen.proposal, ..self },
            None => self,
        }
    }

    /// Returns whether a person must review the entry before it runs or installs anything.
    fn must_be_reviewed(&self) -> bool {
        self.is_executable() || self.install.is_some() || self.version_command.is_some()
    }

    fn wait_for_review(&mut self) {
        if self.must_be_reviewed() {
            self.enabled = false;
            self.approval_mode = Some(ApprovalMode::Always);
        }
    }
}

/// Makes an id from a name. Characters that ids do not allow become `-`.
pub fn id_of_name(name: &str) -> String {
    let kept =
        |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(kept).collect::<String>().trim_matches(['-', '.']).to_owned()
}

/// Quotes a word for POSIX shells.
pub fn quoted(word: &str) -> String {
    let is_bare =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c));
    if is_bare { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests;
