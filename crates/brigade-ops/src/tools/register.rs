//! Registers tools of files and of agent programs in a catalog.
//!
//! An entry that can run or install something is disabled, and always asks for approval. All tools are written, or
//! none.

mod bundle;
mod registry;
mod target;

use std::path::{Path, PathBuf};

use crate::{DiscoverRequest, Discovery, Machine, look_at_machine};
use brigade_access::{is_reserved, is_taken};
use brigade_catalog::edit::{self, broken_line};
use brigade_catalog::register::{RegisterError, Registration, Registrations};
use brigade_catalog::{Catalog, Level, Runtime, Runtimes, Tool, same_label};
use brigade_core::text::escape_terminal;
use brigade_core::{Code, ConfigIssue, ErrorCode, ErrorKind, IssueType, NextStep, Object, Report as _};
use brigade_harness::{Definition, DefinitionLookupError, DiscoveredEntry, DiscoveryIssue, NAME, named};
use brigade_policy::{Blocker, Failure, FailureReport, LabelProblem, check_label};
use brigade_redact::{MARK, shown_name};
use brigade_workspace::{WorkspaceContext, load};

use self::bundle::{Bundle, MAX_BUNDLE_BYTES, is_bundle};
use self::target::{DisplayPaths, Target, Texts};
use crate::report::{RegisterAction, RegisterErrorRow, RegisterNoteRow, RegisterReport, RegisteredTool};

/// The largest file that is read.
const LIMIT: u64 = 4 << 20;

/// The maximum number of tools in a registration. More cannot be reviewed, and each edits the text of the catalog.
const MAX_TOOLS: usize = 1_000;

/// The start of a reference to an entry of a tools registry that is read in place.
const REGISTRY: &str = "registry:";

/// The maximum number of tools that a note names.
const MAX_NAMED: usize = 5;

/// Options of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRequest {
    /// The tools to register.
    pub sources: Vec<RegisterSource>,
    /// The level of the catalog: of the project or of the user.
    pub level: Level,
    /// Another id for the only tool.
    pub id: Option<String>,
    /// Whether existing entries are replaced.
    pub replace: bool,
    /// Whether to only report what would be done.
    pub dry_run: bool,
}

/// A source of tools to register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterSource {
    /// A file with tools.
    File(PathBuf),
    /// The text of a file with tools, and its name in messages.
    Text(String, String),
    /// A definition in the file of an agent program: the `id` or a `ref` of an entry, such as `mcp:github@cursor/user`.
    Reference(String),
}

/// Registers tools of files and of agent programs. Starts nothing.
///
/// # Errors
/// Returns the report if a source or the catalog refuses a tool. Then nothing is written, and its `errors` list every
/// reason. Also fails if an id is given for several tools, and on file errors.
pub fn register(
    context: &WorkspaceContext,
    request: &RegisterRequest,
) -> Result<RegisterReport, FailureReport<Box<RegisterReport>>> {
    let mut found = SourceFindings::default();
    let references = request.sources.iter().filter_map(|source| match source {
        RegisterSource::Reference(name) if !name.starts_with(REGISTRY) => Some(name.as_str()),
        RegisterSource::Reference(_) | RegisterSource::File(_) | RegisterSource::Text(..) => None,
    });
    let references: Vec<&str> = references.collect();
    let discovered = if references.is_empty() { None } else { Some(look_for(context, &references)?) };
    let only = request.id.as_deref().filter(|_| request.sources.len() == 1);
    for source in &request.sources {
        match (source, &discovered) {
            (RegisterSource::File(path), _) => found.read(context, path, request.level, only),
            (RegisterSource::Text(name, text), _) => {
                let read = Registrations::read(name, text.as_bytes(), request.level, container(context));
                found.take(read, &Source::File(name.clone()), |error| row(error, Some(name)));
            }
            (RegisterSource::Reference(name), _) if name.starts_with(REGISTRY) => {
                found.read_entry(context, name, request.level)?;
            }
            (RegisterSource::Reference(name), Some(discovered)) => {
                found.define(context, discovered, name, request.level, only)?;
            }
            (RegisterSource::Reference(_), None) => {}
        }
    }
    if let Some(id) = &request.id
        && (found.errors.is_empty() || !found.tools.is_empty())
    {
        found.rename(id)?;
    }
    if MAX_TOOLS < found.tools.len() {
        let message =
            format!("there are {} tools, and at most {MAX_TOOLS} are registered at once", found.tools.len());
        found.errors.push(refusal(ErrorCode::TooManyTools, "tools".to_owned(), &message));
    }
    let masks = load::masks_of(context);
    let unknown = found.notes.iter_mut().filter(|note| note.code == ErrorCode::UnknownKey);
    unknown.for_each(|note| masks.hide(&mut note.field));
    let mut target = Target::for_level(context, request.level)?;
    let mut report = RegisterReport {
        schema: RegisterReport::SCHEMA,
        target: context.target(),
        level: request.level,
        config_path: target.paths.config_path.clone(),
        dry_run: request.dry_run,
        registered: Vec::new(),
        registered_count: 0,
        notes: std::mem::take(&mut found.notes),
        errors: std::mem::take(&mut found.errors),
    };
    target.definitions = std::mem::take(&mut found.definitions);
    let is_writing = !request.dry_run && report.errors.is_empty();
    let _lock = if is_writing { target.lock(context)? } else { None };
    let not_used = target.not_used();
    // Faults of the sources are reported together with reasons against the target.
    let is_looked_into = not_used.is_empty() && found.tools.len() <= MAX_TOOLS;
    report.errors.extend(not_used);
    if is_looked_into {
        let before = match target.read() {
            Err(_) if !report.errors.is_empty() => return Err(not_registered(report)),
            before => before?,
        };
        let after = put_all(context, request, &target.paths, &before, &found, &mut report);
        match after.filter(|_| is_writing) {
            Some(after) if target.fs.is_some() => {
                for (id, bundle) in &found.bundles {
                    bundle.unpack(&*context.fs, id).map_err(Failure::from)?;
                }
                target.write(&before, &after)?;
            }
            Some(_) => {
                // The directory of the user is created only when there is something to write. It may already have files
                // by then.
                target.make()?;
                let _lock = target.lock(context)?;
                report.registered.clear();
                report.errors.extend(target.not_used());
                if !report.errors.is_empty() {
                    return Err(not_registered(report));
                }
                let before = target.read()?;
                let after = put_all(context, request, &target.paths, &before, &found, &mut report);
                after.map_or(Ok(()), |after| target.write(&before, &after))?;
            }
            None => {}
        }
    }
    if !report.errors.is_empty() {
        return Err(not_registered(report));
    }
    report.registered_count = report.registered.len();
    Ok(report)
}

/// Returns the program of this machine that starts container images.
fn container(context: &WorkspaceContext) -> Option<&'static str> {
    ["docker", "podman"].into_iter().find(|program| context.host().has_program(program))
}

/// Writes a runtime to the file of its level, and keeps everything else there.
///
/// # Errors
/// Fails if the file cannot be edited.
pub(crate) fn save_runtime(context: &WorkspaceContext, runtime: &Runtime) -> Result<(), Failure> {
    let target = Target::for_level(context, runtime.origin.level)?;
    let _lock = target.lock(context)?;
    let before = target.read()?;
    let runtimes = edit::put_runtime(&before.runtimes, runtime).map_err(|error| {
        Failure::new(ErrorKind::InvalidConfig, format!("{}: {error}", target.paths.runtimes))
    })?;
    target.write(&before, &Texts { catalog: before.catalog.clone(), runtimes })
}

/// Refuses a registration because of the errors of its report.
fn not_registered(report: RegisterReport) -> FailureReport<Box<RegisterReport>> {
    // An unreadable file is an error of the command line.
    let is_misuse = |error: &RegisterErrorRow| error.code == ErrorCode::FileUnreadable;
    let kind = if report.errors.iter().any(is_misuse) { ErrorKind::Usage } else { ErrorKind::Refused };
    let failure =
        Failure::new(kind, "nothing was registered").because(report.errors.iter().map(Blocker::from));
    FailureReport::refused(failure, Box::new(report))
}

/// Searches the files of agent programs: those that the catalog selects, and those that a reference names.
fn look_for(context: &WorkspaceContext, references: &[&str]) -> Result<Discovery, Failure> {
    let mut harnesses = load::catalog(context)?.chosen_harnesses()?.map(<[String]>::to_vec);
    if let Some(harnesses) = &mut harnesses {
        let places = references.iter().filter_map(|name| name.rsplit_once('@'));
        harnesses.extend(places.filter_map(|(_, place)| Some(place.split_once('/')?.0.to_owned())));
    }
    let look = DiscoverRequest { harnesses, ..DiscoverRequest::default() };
    Ok(look_at_machine(&Machine::new(&*context.fs, &context.environment, load::masks_of(context)), &look))
}

/// The source of a tool, for errors.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    File(String),
    Reference(String),
}

impl Source {
    /// Returns the file and the reference that an error names.
    fn names(&self) -> (Option<String>, Option<String>) {
        match self {
            Source::File(file) => (Some(file.clone()), None),
            Source::Reference(reference) => (None, Some(reference.clone())),
        }
    }
}

/// The content of the sources.
#[derive(Default)]
struct SourceFindings {
    tools: Vec<Registration>,
    /// The source of each tool.
    sources: Vec<Source>,
    definitions: Vec<DiscoveredEntry>,
    /// Bundles, each with the id of its runtime.
    bundles: Vec<(String, Bundle)>,
    /// The value of `harness_tools` under `[registry]` in the sources.
    harness_tools: Option<bool>,
    notes: Vec<RegisterNoteRow>,
    errors: Vec<RegisterErrorRow>,
}

impl SourceFindings {
    fn read(&mut self, context: &WorkspaceContext, source: &Path, level: Level, id: Option<&str>) {
        let path = context.typed_path(source);
        let shown = source.display().to_string();
        let limit = if is_bundle(source) { MAX_BUNDLE_BYTES } else { LIMIT };
        match context.fs.read_outside(&path, limit) {
            Ok(bytes) => {
                let read = match is_bundle(source) {
                    true => {
                        let (read, bundle) = bundle::read(bytes, level, id);
                        self.bundles.extend(bundle);
                        read
                    }
                    false => Registrations::read(&shown, &bytes, level, container(context)),
                };
                self.take(read, &Source::File(shown.clone()), |error| row(error, Some(&shown)));
            }
            Err(error) => {
                // The error names the path.
                let error = refusal(ErrorCode::FileUnreadable, String::new(), &error.to_string());
                self.errors.push(RegisterErrorRow { field: None, ..error });
            }
        }
    }

    /// Reads the definition that a reference names.
    fn define(
        &mut self,
        context: &WorkspaceContext,
        discovered: &Discovery,
        name: &str,
        level: Level,
        id: Option<&str>,
    ) -> Result<(), Failure> {
        let shown = escape_terminal(name);
        let (entry, origin) = match named(&discovered.entries, name) {
            Ok(found) => found,
            Err(why) => {
                let (code, message) = match why {
                    DefinitionLookupError::Several { refs } => (
                        ErrorCode::RefAmbiguous,
                        format!("its definitions differ; name one of {}", refs.join(", ")),
                    ),
                    DefinitionLookupError::Unknown { near: Some(near) } => (
                        ErrorCode::RefUnknown,
                        format!("no definition has this name; did you mean `{near}`?"),
                    ),
                    DefinitionLookupError::Unknown { near: None } => {
                        (ErrorCode::RefUnknown, "no definition has this name".to_owned())
                    }
                };
                let error = refusal(code, shown.clone().into_owned(), &escape_terminal(&message));
                self.errors.push(RegisterErrorRow { reference: Some(shown.into_owned()), ..error });
                if code == ErrorCode::RefUnknown {
                    self.name_unread(discovered, name);
                }
                return Ok(());
            }
        };
        let at = |error: RegisterErrorRow| RegisterErrorRow {
            reference: Some(shown.clone().into_owned()),
            file: error.file.or_else(|| Some(origin.path.clone())),
            line: error.line.or(origin.line),
            ..error
        };
        if entry.registered_as.as_deref() == Some(NAME) {
            let message = "it is the entry of this program's own gateway, and no tool";
            self.errors.push(at(refusal(ErrorCode::OwnGateway, shown.clone().into_owned(), message)));
            return Ok(());
        }
        let id = match id {
            Some(id) => Some(usable_id(id)?),
            None => None,
        };
        let launch = discovered.launches.launch(&origin.reference);
        self.definitions.push(entry.clone());
        let definition = Definition { entry, origin, launch, workspace: context.fs.root() };
        let id = id.as_ref().map(brigade_catalog::ToolId::as_str);
        let read = definition.registration(level, id);
        let tool = definition.tool_id(id);
        let source = Source::Reference(shown.clone().into_owned());
        self.take(read, &source, |error| at(row(error, None)));
        let codes = [
            IssueType::CommandInOneText,
            IssueType::FieldInvalid,
            IssueType::FrontMatterInvalid,
            IssueType::DuplicateKey,
            IssueType::ServerAmbiguous,
        ];
        let is_reported = |issue: &&DiscoveryIssue| {
            let is_of_entry = match &issue.entry_id {
                Some(id) => *id == entry.id,
                None => issue.code == IssueType::FrontMatterInvalid,
            };
            issue.path.as_ref() == Some(&origin.path) && is_of_entry && codes.contains(&issue.code)
        };
        self.notes.extend(discovered.issues.iter().filter(is_reported).map(|issue| RegisterNoteRow {
            code: issue.code.code().to_owned(),
            field: tool.clone(),
            message: issue.message.clone(),
        }));
        Ok(())
    }

    /// Reports unreadable files that may contain the definition of a reference.
    fn name_unread(&mut self, discovered: &Discovery, name: &str) {
        let codes = [IssueType::ClientFileInvalid, IssueType::ClientFileUnreadable];
        let label = name.rsplit_once('@').and_then(|(_, place)| Some(place.split_once('/')?.0));
        let id = name.split_once('@').map_or(name, |(id, _)| id);
        let is_meant = |issue: &&DiscoveryIssue| {
            // Issues of invalid entries have the id that the entry would have.
            (codes.contains(&issue.code) || issue.entry_id.as_deref() == Some(id))
                && label.is_none_or(|label| issue.harness.as_deref().is_none_or(|other| other == label))
        };
        let unread = discovered.issues.iter().filter(is_meant).map(|issue| RegisterErrorRow {
            file: issue.path.clone(),
            line: issue.line,
            column: issue.column,
            reference: Some(escape_terminal(name).into_owned()),
            ..refusal(issue.code, escape_terminal(name).into_owned(), &issue.message)
        });
        self.errors.extend(unread);
    }

    fn take(
        &mut self,
        read: Registrations,
        source: &Source,
        error_row: impl Fn(RegisterError) -> RegisterErrorRow,
    ) {
        self.sources.extend(read.tools.iter().map(|_| source.clone()));
        self.tools.extend(read.tools);
        self.harness_tools = read.harness_tools.or(self.harness_tools);
        self.notes.extend(read.notes.into_iter().map(|note| RegisterNoteRow {
            code: note.code.into(),
            field: note.field,
            message: note.message,
        }));
        self.errors.extend(read.errors.into_iter().map(error_row));
    }

    /// Gives the only tool another id.
    fn rename(&mut self, id: &str) -> Result<(), Failure> {
        let [registration] = &mut self.tools[..] else {
            let error =
                Failure::new(ErrorKind::Usage, "an id can be given only if there is exactly one tool");
            return Err(error.hint("leave it out, or name a file with one tool"));
        };
        let id = usable_id(id)?;
        if let Some(runtime) = &mut registration.runtime {
            runtime.id = id.clone();
            registration.tool.runtime_id = Some(id.to_string());
        }
        let before = format!("{}.", std::mem::replace(&mut registration.tool.id, id.clone()));
        for note in &mut self.notes {
            if let Some(field) = note.field.strip_prefix(&before) {
                note.field = format!("{id}.{field}");
            }
        }
        Ok(())
    }
}

fn usable_id(id: &str) -> Result<brigade_catalog::ToolId, Failure> {
    let id = id.trim().parse::<brigade_catalog::ToolId>();
    id.map_err(|error| Failure::new(ErrorKind::Usage, format!("the id to register as: {error}")))
}

fn row(error: RegisterError, file: Option<&str>) -> RegisterErrorRow {
    RegisterErrorRow {
        code: error.code.into(),
        reference: None,
        field: error.field,
        message: error.message,
        file: file.map(str::to_owned),
        line: error.line,
        column: error.column,
    }
}

fn refusal(code: impl Code, field: String, message: &str) -> RegisterErrorRow {
    RegisterErrorRow {
        code: code.as_code().to_owned(),
        field: Some(field),
        message: message.to_owned(),
        ..RegisterErrorRow::default()
    }
}

/// Adds all tools to the texts, and reports them. `None` if one is refused.
fn put_all(
    context: &WorkspaceContext,
    request: &RegisterRequest,
    paths: &DisplayPaths,
    before: &Texts,
    found: &SourceFindings,
    report: &mut RegisterReport,
) -> Option<Texts> {
    let tools = &found.tools;
    let masks = load::masks_of(context);
    let mut after = Texts { catalog: before.catalog.clone(), runtimes: before.runtimes.clone() };
    for (text, file) in [(&before.catalog, &paths.catalog), (&before.runtimes, &paths.runtimes)] {
        if let Some(line) = broken_line(text) {
            let error =
                refusal(ErrorCode::TargetInvalid, String::new(), "not valid TOML; fix it by hand first");
            report.errors.push(RegisterErrorRow { file: Some(file.clone()), line: Some(line), ..error });
        }
    }
    let catalog = Catalog::parse(&paths.catalog, request.level, before.catalog.as_bytes());
    let runtimes = Runtimes::parse(&paths.runtimes, request.level, before.runtimes.as_bytes());
    for ((index, Registration { tool, runtime, .. }), source) in tools.iter().enumerate().zip(&found.sources)
    {
        let id = tool.id.as_str();
        let before = report.errors.len();
        let is_twice = tools[..index].iter().any(|other| other.tool.id == tool.id);
        let is_known = catalog.tool(id).is_some();
        if is_twice || (is_known && !request.replace) {
            let message = if is_twice {
                "several of the tools would have this id"
            } else {
                "the catalog has a tool with this id: replace it, or give this one another id"
            };
            report.errors.push(refusal(ErrorCode::IdTaken, format!("{id}.id"), message));
        }
        let earlier = tools[..index].iter().map(|earlier| &earlier.tool);
        let others = catalog.tools().iter().chain(earlier).filter(|other| other.id != tool.id);
        let has_alias = |other: &Tool, name: &str| other.aliases.iter().any(|alias| same_label(alias, name));
        let (mut is_id_taken, mut is_alias_taken) = (false, false);
        for other in others {
            is_id_taken |= has_alias(other, id);
            is_alias_taken |=
                tool.aliases.iter().any(|alias| other.id == alias.as_str() || has_alias(other, alias));
        }
        if is_alias_taken {
            report.errors.push(refusal(
                ErrorCode::AliasTaken,
                format!("{id}.aliases"),
                "another tool has this name; give this one another alias",
            ));
        }
        for (index, _) in tool.aliases.iter().enumerate().filter(|(_, alias)| is_taken(alias)) {
            let message = "a built-in tool, or one of the gateway, has this name";
            report.errors.push(refusal(
                ErrorCode::AliasTaken,
                format!("{id}.aliases[{}]", index + 1),
                message,
            ));
        }
        if is_reserved(id) {
            let message = "a built-in tool, or one of the gateway, has this id; give this one another id";
            report.errors.push(refusal(IssueType::ReservedToolId, format!("{id}.id"), message));
        } else if is_taken(id) {
            let message = "a built-in tool, or one of the gateway, has this name; give this one another id";
            report.errors.push(refusal(ErrorCode::AliasTaken, format!("{id}.id"), message));
        }
        if is_id_taken {
            let message = "another tool has this id as an alias; give this one another id";
            report.errors.push(refusal(ErrorCode::AliasTaken, format!("{id}.id"), message));
        }
        let of_id =
            runtime.as_ref().and_then(|runtime| runtimes.runtime(runtime.id.as_str()).zip(Some(runtime)));
        // A killed registration may have left a runtime that nothing uses.
        let is_left = |there: &Runtime, runtime: &Runtime| {
            !is_known && !there.enabled && there.command == runtime.command
        };
        // Only the runtime of the replaced entry is replaced with it. Other conflicts were refused above.
        let is_own = |there: &Runtime| {
            let known = catalog.tool(id);
            known.is_some_and(|known| known.runtime_id.as_deref() == Some(there.id.as_str()))
        };
        if let Some((there, runtime)) = of_id {
            let field = format!("{id}.runtime_id");
            let uses =
                |other: &&Tool| other.id != tool.id && other.runtime_id.as_deref() == Some(there.id.as_str());
            let others = catalog.tools().iter().filter(uses).map(|other| format!("`{}`", other.id));
            let others: Vec<String> = others.take(MAX_NAMED).collect();
            let is_unused = request.replace && !there.enabled && others.is_empty();
            if !is_left(there, runtime) && !is_own(there) && !is_unused {
                let message = "another tool uses a runtime with this id; give this one another id";
                report.errors.push(refusal(ErrorCode::IdTaken, field, message));
            } else if !others.is_empty() && there.command != runtime.command {
                report.notes.push(RegisterNoteRow {
                    code: ErrorCode::RuntimeShared.into(),
                    field,
                    message: format!("the runtime is also replaced for {}", others.join(", ")),
                });
            }
        }
        let labels = [Some(&tool.env_labels), runtime.as_ref().map(|runtime| &runtime.env_labels)];
        for (index, label) in labels.into_iter().flatten().flat_map(|labels| labels.iter().enumerate()) {
            let field = format!("{id}.env_labels[{}]", index + 1);
            if report.errors.iter().any(|error| error.field.as_ref() == Some(&field)) {
                continue;
            }
            let (code, message) = match check_label(label) {
                // The plan reports the effect of such a variable.
                Ok(_) | Err(LabelProblem::Dangerous) => continue,
                Err(_) if label.contains(MARK) && !label.contains('=') => {
                    let message =
                        "it holds a secret, or a value that the policy binds; give the variable another name";
                    (ErrorCode::SecretInEntry, message)
                }
                Err(LabelProblem::LooksLikeValue) if !label.contains('=') => {
                    (ErrorCode::SecretInEntry, "it looks like a secret; a label is the name of a variable")
                }
                Err(LabelProblem::LooksLikeValue | LabelProblem::NotAName) => {
                    (ErrorCode::FieldInvalid, "a label is the name of a variable")
                }
            };
            report.errors.push(refusal(code, field, message));
            // A refused name needs no note.
            report.notes.retain(|note| note.field != format!("{id}.env.{label}"));
        }
        let secrets = tool.secret_texts().into_iter().map(|secret| secret.field);
        let unsafe_fields = tool.unsafe_fields.iter().cloned();
        let of_runtime = runtime.iter().flat_map(|runtime| runtime.secret_commands()).map(str::to_owned);
        for field in secrets.chain(tool.secret_names()).chain(unsafe_fields).chain(of_runtime) {
            let message = "it looks like a secret; name a label in env_labels, and bind it in the policy";
            report.errors.push(refusal(ErrorCode::SecretInEntry, format!("{id}.{field}"), message));
        }
        let of_runtime = runtime.iter().flat_map(|runtime| runtime.bound_texts(&masks));
        for field in tool.bound_texts(&masks).into_iter().chain(of_runtime.map(str::to_owned)) {
            let message = "it holds a value that the policy binds; name its label in env_labels instead";
            report.errors.push(refusal(ErrorCode::SecretInEntry, format!("{id}.{field}"), message));
        }
        for error in &mut report.errors[before..] {
            (error.file, error.reference) = source.names();
            let rest = error.field.as_ref().and_then(|field| field.strip_prefix(id)).map(str::to_owned);
            error.field = rest.map(|rest| format!("{}{rest}", shown_name(id))).or_else(|| error.field.take());
        }
    }
    let runtimes_before = runtimes;
    for Registration { tool, runtime, detail } in tools.iter().filter(|_| report.errors.is_empty()) {
        let is_new = catalog.tool(tool.id.as_str()).is_none();
        // A new entry does not inherit the `enabled` state that a person set for the old one.
        let tool = &Tool { enabled: tool.enabled && is_new, ..tool.clone() };
        let put = edit::put_entry(&after.catalog, tool, &Object::new());
        let runtimes =
            runtime.as_ref().map(|runtime| edit::put_runtime(&after.runtimes, runtime)).transpose();
        match (put, runtimes) {
            (Ok(text), Ok(runtimes)) => {
                after.catalog = text;
                after.runtimes = runtimes.unwrap_or(after.runtimes);
            }
            (put, runtimes) => {
                let file = if put.is_err() { &paths.catalog } else { &paths.runtimes };
                let error = put.err().or(runtimes.err()).map(|error| error.to_string()).unwrap_or_default();
                let error = refusal(ErrorCode::TargetInvalid, tool.id.to_string(), &error);
                report.errors.push(RegisterErrorRow { file: Some(file.clone()), ..error });
                break;
            }
        }
        report.notes.extend(left_runtime(&catalog, &paths.runtimes, &runtimes_before, tool));
        let action = match (is_new, request.dry_run) {
            (true, false) => RegisterAction::Add,
            (false, false) => RegisterAction::Replace,
            (true, true) => RegisterAction::WouldAdd,
            (false, true) => RegisterAction::WouldReplace,
        };
        report.registered.push(RegisteredTool {
            tool_id: tool.id.to_string(),
            action,
            family: tool.family.map_or("", |family| family.as_str()).to_owned(),
            source: tool.source(),
            level: request.level,
            enabled: tool.enabled,
            runtime_id: runtime.as_ref().map(|runtime| runtime.id.to_string()),
            detail: detail.clone(),
            next_command: None,
        });
    }
    if let Some(truth) = found.harness_tools.filter(|_| report.errors.is_empty()) {
        set_harness_tools(truth, &catalog, &mut after, report);
    }
    if !report.errors.is_empty() {
        report.registered.clear();
        return None;
    }
    let catalog = Catalog::parse(&paths.catalog, request.level, after.catalog.as_bytes());
    let runtimes = Runtimes::parse(&paths.runtimes, request.level, after.runtimes.as_bytes());
    let is_broken = |row: &RegisteredTool| catalog.tool(&row.tool_id).is_some_and(|tool| tool.is_broken);
    if let Some(row) = report.registered.iter().find(|row| is_broken(row)) {
        let of_entry = |issue: &&ConfigIssue| issue.entry.as_deref() == Some(row.tool_id.as_str());
        let issue = catalog.issues().iter().find(of_entry);
        let field = issue.and_then(|issue| issue.field.clone()).unwrap_or_default();
        let message = issue.map_or("the entry would be broken", |issue| issue.message.as_str());
        report.errors.push(refusal(ErrorCode::FieldInvalid, format!("{}.{field}", row.tool_id), message));
        report.registered.clear();
        return None;
    }
    // In a dry run there is nothing to review.
    for row in report.registered.iter_mut().filter(|_| !request.dry_run) {
        let tool = catalog.tool(&row.tool_id);
        let runtime = row.runtime_id.as_deref().and_then(|id| runtimes.runtime(id));
        // An entry that waits for a review is completed in its file.
        let step = match (runtime, tool.filter(|tool| !tool.enabled)) {
            (Some(runtime), _) => NextStep::Edit(runtime.place_of("enabled")),
            (None, Some(tool)) => NextStep::Edit(tool.place_of("enabled")),
            (None, None) => NextStep::ShowTool(row.tool_id.clone()),
        };
        row.next_command = Some(context.spelled(step));
    }
    Some(after)
}

/// Writes the `harness_tools` setting of a source, unless the file already has one.
fn set_harness_tools(truth: bool, catalog: &Catalog, after: &mut Texts, report: &mut RegisterReport) {
    let field = "settings.fallback_harness";
    let (code, message) = match catalog.settings().harness_tools {
        Some(known) if known == truth => return,
        Some(known) => {
            let message = format!("the file says `harness_tools = {known}` under [registry], which is kept");
            (ErrorCode::FallbackHarnessIgnored, message)
        }
        None => match edit::set_harness_tools(&after.catalog, truth) {
            Ok(text) => {
                after.catalog = text;
                (ErrorCode::HarnessToolsSet, format!("it is `harness_tools = {truth}` under [registry]"))
            }
            Err(error) => {
                report.errors.push(refusal(ErrorCode::TargetInvalid, field.to_owned(), &error.to_string()));
                return;
            }
        },
    };
    report.notes.push(RegisterNoteRow { code: code.into(), field: field.to_owned(), message });
}

/// Returns a note if no entry uses the runtime of a replaced entry any more.
fn left_runtime(catalog: &Catalog, file: &str, runtimes: &Runtimes, new: &Tool) -> Option<RegisterNoteRow> {
    let left = catalog.tool(new.id.as_str())?.runtime_id.as_deref()?;
    let is_used = |tool: &Tool| tool.runtime_id.as_deref() == Some(left);
    let others = catalog.tools().iter().filter(|tool| tool.id != new.id);
    if is_used(new) || others.into_iter().any(is_used) || runtimes.runtime(left).is_none() {
        return None;
    }
    let left = escape_terminal(left);
    Some(RegisterNoteRow {
        code: ErrorCode::RuntimeLeft.into(),
        field: format!("{}.runtime_id", new.id),
        message: format!(
            "the runtime `{left}` of the replaced entry stays in {file}; remove it if it is not needed"
        ),
    })
}

#[cfg(test)]
mod tests;
