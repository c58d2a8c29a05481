//! Registers definitions that discovery found in the files of agent programs.

use std::path::{Component, Path};

use brigade_catalog::register::{
    HEADER_LABEL, RegisterError, Registration, Registrations, URL_LEFT_OUT, id_of_name, quoted, remote_server,
};
use brigade_catalog::{
    ApprovalMode, Catalog, Level, Runtime, RuntimeHome, Runtimes, Seconds, ServerTransport, SourceDetail,
    Tool, ToolSource,
};
use brigade_cmdline::Argv;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, IssueType, Label, Number};
use brigade_redact::{looks_secret_value, shown_command};

use crate::found::{DiscoveredEntry, DiscoveryIssue, EntryOrigin, EntrySource};
use crate::inventory::named;
use crate::launch::{Launch, shows_words};
use crate::registered::RegistrationCache;

/// The current definition in a file.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'d> {
    /// The entry.
    pub entry: &'d DiscoveredEntry,
    /// The place that the user chose.
    pub origin: &'d EntryOrigin,
    /// How it is started, if it is a server.
    pub launch: Option<&'d Launch>,
    /// The workspace, absolute.
    pub workspace: &'d Path,
}

impl Definition<'_> {
    /// Returns whether the value of a variable is plain, so that the runtime takes it over.
    fn is_plain(&self, variable: &str) -> bool {
        self.launch.is_some_and(|launch| launch.plain().contains_key(variable))
    }

    /// Returns the id of the tool: the given id, or one made from the name.
    pub fn tool_id(&self, given: Option<&str>) -> String {
        let name = &self.entry.name;
        match given {
            Some(id) => id.to_owned(),
            None if self.entry.source == EntrySource::Harness => {
                id_of_name(&format!("{}.{name}", self.origin.harness))
            }
            None => id_of_name(name),
        }
    }

    /// Makes an entry from a definition. It is disabled and has no effects and permissions. `id` replaces the id made
    /// from its name.
    pub fn registration(&self, level: Level, id: Option<&str>) -> Registrations {
        let mut found = Registrations::default();
        let Definition { entry, origin, launch, .. } = *self;
        let Ok(tool) = Tool::new(&self.tool_id(id), entry.family.into()) else {
            let message = "no id can be made of the name; give one";
            found.errors.push(RegisterError::new(ErrorCode::FieldInvalid, message).field("id"));
            return found;
        };
        let mut detail = SourceDetail {
            kind: (entry.source == EntrySource::Harness).then_some(ToolSource::Harness),
            reference: Some(origin.reference.clone()),
            fingerprint: Some(entry.fingerprint.to_hex()),
            ..SourceDetail::default()
        };
        let plain = |text: &str| escape_terminal(text).into_owned();
        let mut tool = Tool {
            name: plain(&entry.name),
            description: entry.description.as_deref().map(plain).filter(|text| !text.is_empty()),
            enabled: false,
            approval_mode: Some(ApprovalMode::Always),
            ..tool
        };
        let mut runtime = None;
        let what = match entry.source {
            EntrySource::Mcp => {
                detail.server = Some(entry.name.clone());
                detail.transport = entry.transport;
                let is_bound = |label: &&String| !is_no_name(label) && !self.is_plain(label);
                tool.env_labels = entry.env_labels.iter().filter(is_bound).cloned().collect();
                self.note_variables(&mut found);
                let of_launch = launch.map_or(&[][..], Launch::left_out);
                found.errors.extend(of_launch.iter().map(|message| {
                    let field =
                        if detail.transport == Some(ServerTransport::Stdio) { "command" } else { "url" };
                    RegisterError::new(ErrorCode::DefinitionUnclear, message.clone()).field(field)
                }));
                if detail.transport == Some(ServerTransport::Stdio) {
                    runtime = self.server(&mut found, level, &mut tool);
                    "mcp server".to_owned()
                } else {
                    let transport = detail.transport.unwrap_or(ServerTransport::Http);
                    let headers = launch.into_iter().flat_map(|launch| launch.headers().clone());
                    let url = launch.and_then(Launch::url);
                    let timeout = entry.timeout.as_ref();
                    tool.timeout = timeout.and_then(|seconds| Seconds::new(seconds.as_f64()).ok());
                    runtime = url.and_then(|url| remote_server(&mut tool, url, transport, headers));
                    tool.timeout = None;
                    if runtime.is_none() {
                        found.note(ErrorCode::UrlNotKept, "url".to_owned(), URL_LEFT_OUT);
                    }
                    let host =
                        entry.url_host.as_deref().map(|host| format!(" at {host}")).unwrap_or_default();
                    format!("remote mcp server{host}")
                }
            }
            EntrySource::Skill => {
                detail.skill_id = Some(entry.name.clone());
                let inside = Path::new(&origin.path).strip_prefix(self.workspace).ok();
                match inside.and_then(Path::to_str).filter(|_| level == Level::Project) {
                    Some(inside) => tool.source_path = Some(inside.to_owned()),
                    None => detail.path = Some(origin.path.clone()),
                }
                entry.family.as_str().to_owned()
            }
            EntrySource::Harness => {
                detail.provider = Some(origin.harness.clone());
                detail.entry = Some(entry.name.clone());
                format!("tool of {}", origin.harness)
            }
        };
        self.note_rest(&mut found);
        found.name_tool(tool.id.as_str());
        tool.source = Some(Box::new(detail));
        if found.errors.is_empty() {
            found.tools.push(Registration { tool: tool.with_chosen_code(), runtime, detail: what });
        }
        found
    }

    /// Makes the runtime of a server, disabled until a review.
    fn server(&self, found: &mut Registrations, level: Level, tool: &mut Tool) -> Option<Runtime> {
        let launch = self.launch?;
        for (at, why) in launch.not_kept() {
            let error = RegisterError::new(ErrorCode::SecretInEntry, why.message());
            found.errors.push(error.field(format!("command[{}]", at + 1)));
        }
        let command = launch.words().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let is_readable = Argv::parse(&command).is_ok_and(|argv| argv.words() == launch.words());
        if !is_readable {
            let message = "the words of the command cannot be written in one line";
            found.errors.push(RegisterError::new(ErrorCode::FieldInvalid, message).field("command"));
        }
        let runtime = Runtime::new(tool.id.as_str(), &command).ok().filter(|_| found.errors.is_empty())?;
        tool.runtime_id = Some(tool.id.to_string());
        let timeout = self.entry.timeout.as_ref().and_then(|seconds| Seconds::new(seconds.as_f64()).ok());
        Some(Runtime {
            name: tool.name.clone(),
            enabled: false,
            on_demand: true,
            cwd: self.directory(found, level, launch),
            env_labels: tool.env_labels.clone(),
            home: Some(RuntimeHome::Private),
            env: launch.plain().clone(),
            timeout,
            ..runtime
        })
    }

    /// Returns the directory of a server, if it is in the workspace.
    fn directory(&self, found: &mut Registrations, level: Level, launch: &Launch) -> Option<String> {
        let cwd = launch.cwd().filter(|cwd| !cwd.is_empty())?;
        let inside = Path::new(cwd).strip_prefix(self.workspace).ok().and_then(Path::to_str);
        match inside {
            Some("") => None,
            Some(inside) if level == Level::Project && is_below(inside) => Some(inside.to_owned()),
            _ if is_below(cwd) => Some(cwd.to_owned()),
            _ => {
                let message =
                    "the directory is not in the workspace; the server would start in the workspace";
                found.note(ErrorCode::CwdNotKept, "cwd".to_owned(), message);
                None
            }
        }
    }

    /// Notes headers and variables whose values stay in the file.
    fn note_variables(&self, found: &mut Registrations) {
        let entry = self.entry;
        for label in entry.env_labels.iter().filter(|label| !self.is_plain(label)) {
            let message = match is_no_name(label) {
                true => "it is not the name of a variable, so it cannot become a label",
                false => "no value is taken over; bind it under env_bindings of the policy",
            };
            found.note(ErrorCode::ValueNotKept, format!("env.{label}"), message);
        }
        for name in &entry.header_names {
            found.note(ErrorCode::ValueNotKept, format!("headers.{name}"), HEADER_LABEL);
        }
    }

    /// Notes what an entry cannot contain.
    fn note_rest(&self, found: &mut Registrations) {
        let Definition { entry, origin, launch, .. } = self;
        let of_command = launch.map_or(&[][..], Launch::references);
        for reference in &entry.unresolved {
            if of_command.contains(reference) {
                let message = format!("`{reference}` is not expanded; replace it by its value");
                found.note(ErrorCode::Unresolved, "command".to_owned(), &message);
            } else {
                let message = format!("`{reference}` is not expanded");
                found.note(ErrorCode::Unresolved, String::new(), &message);
            }
        }
        for (field, names) in [("tools_allowed", &entry.tools_allowed), ("tools_denied", &entry.tools_denied)]
        {
            if !names.is_empty() {
                let message = match entry.source {
                    EntrySource::Mcp => {
                        format!("choose the tools when they are imported: {}", names.join(", "))
                    }
                    EntrySource::Skill | EntrySource::Harness => {
                        format!("an entry has no place for them: {}", names.join(", "))
                    }
                };
                found.note(ErrorCode::ToolsNotLimited, field.to_owned(), &message);
            }
        }
        for key in &entry.unknown_keys {
            found.note(ErrorCode::UnknownKey, key.clone(), "an entry has no place for this key");
        }
        if !origin.enabled {
            found.note(ErrorCode::SwitchedOff, "enabled".to_owned(), "its file has it switched off");
        }
    }
}

/// Returns whether a path stays below its base directory, in any spelling.
fn is_below(directory: &str) -> bool {
    let mut depth = 0_usize;
    let is_inside = |part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir => depth.checked_sub(1).map(|above| depth = above).is_some(),
        Component::RootDir | Component::Prefix(_) => false,
    };
    !directory.starts_with('~') && Path::new(directory).components().all(is_inside)
}

/// Returns whether a variable cannot have this name. Text that looks like a value is refused elsewhere.
fn is_no_name(label: &str) -> bool {
    let is_value = label.contains(['=', '[']) || looks_secret_value(label).is_some();
    !is_value && label.parse::<Label>().is_err()
}

/// A definition that changed since a tool was registered from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceChange<'t> {
    /// The tool.
    pub tool: &'t str,
    /// The place of the definition.
    pub reference: &'t str,
    /// How it differs. `None` if the definition is gone.
    pub differences: Option<Vec<Difference>>,
    /// Whether the definition is a text. No copy of texts is kept.
    pub is_text: bool,
    /// The file, absolute; absent if the definition is gone.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// A field of a definition that changed since the tool was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field.
    pub field: &'static str,
    /// The value when the tool was registered, or the current value of the entry.
    pub entry: String,
    /// The current value of the definition.
    pub definition: String,
}

impl SourceChange<'_> {
    /// Returns what changed, as a sentence without a final stop.
    pub fn message(&self) -> String {
        let (tool, reference) = (escape_terminal(self.tool), escape_terminal(self.reference));
        let Some(differences) = &self.differences else {
            return format!("`{tool}` was registered from `{reference}`, which is gone");
        };
        let shown = |text: &str| {
            if text.is_empty() { "nothing".to_owned() } else { format!("`{}`", escape_terminal(text)) }
        };
        let fields = differences.iter().map(|one| {
            let Difference { field, entry, definition } = one;
            format!("{field} is {} and not {}", shown(definition), shown(entry))
        });
        let fields: Vec<String> = fields.collect();
        let fields = match (fields.is_empty(), self.is_text) {
            (false, _) => fields.join("; "),
            (true, true) => "its text changed".to_owned(),
            (true, false) => "it differs in something of which nothing here keeps a copy".to_owned(),
        };
        format!("`{tool}` was registered from `{reference}`, which says something else now: {fields}")
    }
}

/// Lists the tools whose definition changed or is gone since they were registered.
///
/// Harnesses that were not read, or have an unreadable file, are left out. A definition is compared with its copy in
/// `registered`, or else with the entry.
pub fn source_changes<'t>(
    catalog: &'t Catalog,
    runtimes: Option<&Runtimes>,
    registered: &RegistrationCache,
    entries: &[DiscoveredEntry],
    issues: &[DiscoveryIssue],
) -> Vec<SourceChange<'t>> {
    let unread = [IssueType::ClientFileInvalid, IssueType::ClientFileUnreadable, IssueType::TooManyEntries];
    let is_unclear = |label: &str| {
        let is_left_out = catalog.harnesses().is_some_and(|all| !all.iter().any(|one| one == label));
        let is_unread = |issue: &DiscoveryIssue| {
            unread.contains(&issue.code) && issue.harness.as_deref().is_none_or(|of| of == label)
        };
        is_left_out || issues.iter().any(is_unread)
    };
    let mut found = Vec::new();
    for tool in catalog.tools() {
        let Some(source) = tool.source.as_deref() else { continue };
        let (Some(reference), Some(fingerprint)) = (&source.reference, &source.fingerprint) else { continue };
        // A registry of tools is not among the files of this machine.
        if reference.starts_with("registry:") {
            continue;
        }
        let change = SourceChange {
            tool: tool.id.as_str(),
            reference,
            differences: None,
            is_text: false,
            path: None,
            line: None,
        };
        match named(entries, reference) {
            Ok((entry, _)) if entry.fingerprint.to_hex() == *fingerprint => {}
            Ok((_, origin))
                if is_foreign(tool, reference, registered.definition(fingerprint), &origin.path) => {}
            Ok((entry, origin)) => {
                let id = tool.runtime_id.as_deref().unwrap_or_default();
                let runtime = runtimes.and_then(|runtimes| runtimes.runtime(id));
                let differences = match registered.definition(fingerprint) {
                    Some(before) => differences_of_definitions(before, entry),
                    None => differences(tool, runtime, entry),
                };
                found.push(SourceChange {
                    differences: Some(differences),
                    is_text: entry.source == EntrySource::Skill,
                    path: Some(origin.path.clone()),
                    line: origin.line,
                    ..change
                });
            }
            Err(_) => {
                let label = place_of(reference).0;
                if !may_be_elsewhere(tool, reference) && !is_unclear(label) {
                    found.push(change);
                }
            }
        }
    }
    found
}

/// Returns the harness and the scope of a reference.
fn place_of(reference: &str) -> (&str, &str) {
    reference.rsplit_once('@').and_then(|(_, place)| place.split_once('/')).unwrap_or_default()
}

/// Returns whether a tool may come from another workspace: it is a tool of the user, registered from a file of a
/// project.
pub fn may_be_elsewhere(tool: &Tool, reference: &str) -> bool {
    tool.origin.level == Level::User && !place_of(reference).1.starts_with("user")
}

/// Returns whether a tool of the user may have been registered from a file other than `path`.
fn is_foreign(tool: &Tool, reference: &str, registered: Option<&DiscoveredEntry>, path: &str) -> bool {
    let is_origin = |before: &DiscoveredEntry| before.origins.iter().any(|origin| origin.path == path);
    may_be_elsewhere(tool, reference) && !registered.is_some_and(is_origin)
}

/// Lists the changed fields of a definition.
fn differences_of_definitions(before: &DiscoveredEntry, now: &DiscoveredEntry) -> Vec<Difference> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let list = |names: &[String]| names.join(", ");
    let number = |number: &Option<Number>| number.as_ref().map(|number| number.as_str().to_owned());
    let fields = |entry: &DiscoveredEntry| {
        [
            ("description", text(&entry.description)),
            ("transport", entry.transport.map_or("", ServerTransport::as_str).to_owned()),
            ("command", line_of(&entry.command)),
            ("cwd", text(&entry.cwd)),
            ("env_labels", sorted(&entry.env_labels)),
            ("header_names", sorted(&entry.header_names)),
            ("url_host", text(&entry.url_host)),
            ("timeout", number(&entry.timeout).unwrap_or_default()),
            ("tools_allowed", list(&entry.tools_allowed)),
            ("tools_denied", list(&entry.tools_denied)),
            ("unresolved", list(&entry.unresolved)),
            ("unknown_keys", list(&entry.unknown_keys)),
        ]
    };
    let both = fields(before).into_iter().zip(fields(now));
    let differs = both.filter(|((_, before), (_, now))| before != now);
    differs.map(|((field, entry), (_, definition))| Difference { field, entry, definition }).collect()
}

fn sorted(labels: &[String]) -> String {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.join(", ")
}

fn line_of(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Lists the fields in which a definition differs from an entry and its runtime.
///
/// The list is empty if only fields changed that entries do not have, or if the entry was edited in the same way.
fn differences(tool: &Tool, runtime: Option<&Runtime>, now: &DiscoveredEntry) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |field, entry: String, definition: String| {
        if entry != definition {
            found.push(Difference { field, entry, definition });
        }
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    compare("description", text(&tool.description), text(&now.description));
    if now.source == EntrySource::Mcp {
        let word =
            |transport: Option<ServerTransport>| transport.map_or("", ServerTransport::as_str).to_owned();
        let transport = tool.source.as_ref().and_then(|source| source.transport);
        compare("transport", word(transport), word(now.transport));
        let labels = now.env_labels.iter().filter(|label| !is_no_name(label)).cloned();
        let plain = runtime.map(|runtime| runtime.env.keys().cloned()).into_iter().flatten();
        let own: Vec<String> = tool.env_labels.iter().cloned().chain(plain).collect();
        compare("env_labels", sorted(&own), sorted(&labels.collect::<Vec<_>>()));
    }
    if let Some(runtime) = runtime {
        let own = Argv::parse(&runtime.command).map(|argv| argv.words().to_vec()).unwrap_or_default();
        if !shows_words(&now.command, &own) {
            compare("command", shown_command(&line_of(&own)).into_owned(), line_of(&now.command));
        }
        let seconds = |seconds: Option<f64>| seconds.map(|seconds| seconds.to_string()).unwrap_or_default();
        let after = now.timeout.as_ref().map(Number::as_f64);
        compare("timeout", seconds(runtime.timeout.map(Seconds::get)), seconds(after));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(level: Level, reference: &str, head: &str, gone: usize) {
        let text = format!(
            "{head}[[tool]]\nid = 'x'\nname = 'x'\nfamily = 'mcp'\n[tool.source]\nref = '{reference}'\nfingerprint = 'a'\n"
        );
        let catalog = Catalog::parse("t", level, text.as_bytes());
        let unread = DiscoveryIssue {
            harness: Some("codex".to_owned()),
            ..DiscoveryIssue::new(IssueType::ClientFileInvalid, "broken")
        };
        let found = source_changes(&catalog, None, &RegistrationCache::default(), &[], &[unread]);
        assert_eq!(found.len(), gone, "{reference}");
        assert!(found.iter().all(|change| change.differences.is_none()));
    }

    #[test]
    fn a_directory_is_below_whatever_its_spelling() {
        for (directory, expect) in [
            ("tools", true),
            ("./a/../b", true),
            ("a/b/../..", true),
            ("..x/...", true),
            ("../x", false),
            ("./tools/../../y", false),
            ("a/../..", false),
            ("/x", false),
            ("~/x", false),
        ] {
            assert_eq!(is_below(directory), expect, "{directory}");
        }
    }

    #[test]
    fn a_definition_is_gone_where_it_was_looked_for() {
        check(Level::Project, "mcp:x@cursor/project", "", 1);
        check(Level::Project, "mcp:x@cursor/user#2", "", 1);
        check(Level::Project, "mcp:x@codex/user", "", 0);
        check(Level::Project, "mcp:x@cursor/user", "[registry]\nharnesses = ['claude']\n", 0);
        check(Level::User, "mcp:x@cursor/project", "", 0);
        check(Level::User, "mcp:x@cursor/user", "", 1);
    }
}
