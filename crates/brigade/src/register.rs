//! Registers tools of files in a catalog: the only way in.
//!
//! What can run or install is written disabled, and always asks for approval. All tools are written, or none.

use std::path::PathBuf;
use std::sync::Arc;

use brigade_catalog::edit::{self, broken_line};
use brigade_catalog::register::{RegisterError, Registration, Registrations};
use brigade_catalog::{Catalog, Level, Runtimes, Tool, same_label};
use brigade_core::text::escape_terminal;
use brigade_core::{NextStep, Object};
use brigade_fs::{DiskFs, FileMode, Fs, Lock, RelPath};

use crate::attest::{config_folder, typed_path};
use crate::catalog::Tools;
use crate::error::{Error, ErrorKind};
use crate::report::{RegisterErrorRow, RegisterNoteRow, RegisterReport, RegisteredTool, Report as _};
use crate::room::{CATALOG, RUNTIMES, Room, rel};

/// The largest file that is read.
const LIMIT: u64 = 4 << 20;

/// Options of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRequest {
    /// The files.
    pub sources: Vec<PathBuf>,
    /// The level of the catalog: of the project or of the user.
    pub level: Level,
    /// Another id for the only tool.
    pub id: Option<String>,
    /// Whether entries that are there are replaced.
    pub replace: bool,
    /// Whether to only report what would be done.
    pub dry_run: bool,
}

/// The files of a level.
struct Target {
    fs: Arc<dyn Fs>,
    catalog: RelPath,
    runtimes: RelPath,
    lock: RelPath,
    shown: String,
}

impl Tools {
    /// Registers the tools of files. Starts nothing.
    ///
    /// # Errors
    /// Fails if an id is given for several tools, and on file errors. What a source or the catalog speaks against is in
    /// `errors` of the report, and then nothing is written.
    pub fn register(&self, request: &RegisterRequest) -> Result<RegisterReport, Error> {
        let room = &*self.room;
        let mut found = Found::default();
        for source in &request.sources {
            found.read(room, source, request.level)?;
        }
        if let Some(id) = &request.id {
            found.rename(id)?;
        }
        let target = Target::of(room, request)?;
        let mut report = RegisterReport {
            schema: RegisterReport::SCHEMA,
            target: room.target(),
            level: request.level.as_str().to_owned(),
            config_path: target.shown.clone(),
            dry_run: request.dry_run,
            registered: Vec::new(),
            registered_count: 0,
            notes: std::mem::take(&mut found.notes),
            errors: std::mem::take(&mut found.errors),
        };
        let _lock = if request.dry_run { None } else { Some(target.lock(room)?) };
        let before = target.read()?;
        let written = if report.errors.is_empty() {
            put_all(room, request, &before, &found.tools, &mut report)
        } else {
            None
        };
        match written {
            Some(after) if !request.dry_run => target.write(&before, &after)?,
            _ => {}
        }
        report.registered_count = report.registered.len();
        Ok(report)
    }
}

/// What the sources say.
#[derive(Default)]
struct Found {
    tools: Vec<Registration>,
    notes: Vec<RegisterNoteRow>,
    errors: Vec<RegisterErrorRow>,
}

impl Found {
    fn read(&mut self, room: &Room, source: &std::path::Path, level: Level) -> Result<(), Error> {
        let path = typed_path(room, source);
        let shown = source.display().to_string();
        let bytes = room.fs.read_outside(&path, LIMIT).map_err(|error| {
            let message = format!("`{}` cannot be read: {error}", escape_terminal(&shown));
            Error::new(ErrorKind::Usage, message)
        })?;
        let Registrations { tools, notes, errors } = Registrations::read(&shown, &bytes, level);
        self.tools.extend(tools);
        self.notes.extend(notes.into_iter().map(|note| RegisterNoteRow {
            code: note.code.to_owned(),
            field: note.field,
            message: note.message,
        }));
        self.errors.extend(errors.into_iter().map(|error| row(error, Some(&shown))));
        Ok(())
    }

    /// Gives the only tool another id.
    fn rename(&mut self, id: &str) -> Result<(), Error> {
        let [registration] = &mut self.tools[..] else {
            let error = Error::new(ErrorKind::Usage, "--id is for one tool, and there is not exactly one");
            return Err(error.hint("leave it out, or name a file with one tool"));
        };
        let id = id.trim().parse::<brigade_catalog::ToolId>();
        let id = id.map_err(|error| Error::new(ErrorKind::Usage, format!("--id: {error}")))?;
        if let Some(runtime) = &mut registration.runtime {
            runtime.id = id.clone();
            registration.tool.runtime_id = Some(id.to_string());
        }
        registration.tool.id = id;
        Ok(())
    }
}

fn row(error: RegisterError, file: Option<&str>) -> RegisterErrorRow {
    RegisterErrorRow {
        code: error.code.to_owned(),
        field: error.field,
        message: error.message,
        file: file.map(str::to_owned),
        line: error.line,
        column: error.column,
    }
}

fn refusal(code: &str, field: String, message: &str) -> RegisterErrorRow {
    RegisterErrorRow {
        code: code.to_owned(),
        field: Some(field),
        message: message.to_owned(),
        file: None,
        line: None,
        column: None,
    }
}

/// The texts of the files of a level.
struct Texts {
    catalog: String,
    runtimes: String,
}

/// Puts all tools into the texts, and reports them. `None` if something speaks against one.
fn put_all(
    room: &Room,
    request: &RegisterRequest,
    before: &Texts,
    tools: &[Registration],
    report: &mut RegisterReport,
) -> Option<Texts> {
    let mut after = Texts { catalog: before.catalog.clone(), runtimes: before.runtimes.clone() };
    for (text, file) in [(&before.catalog, "the catalog"), (&before.runtimes, "the file of runtimes")] {
        if let Some(line) = broken_line(text) {
            let message = format!("{file} is not valid TOML; fix it by hand first");
            report.errors.push(RegisterErrorRow {
                line: Some(line),
                ..refusal("target_invalid", String::new(), &message)
            });
        }
    }
    let catalog = Catalog::parse(CATALOG, request.level, before.catalog.as_bytes());
    let runtimes = Runtimes::parse(RUNTIMES, request.level, before.runtimes.as_bytes());
    for (index, Registration { tool, runtime, .. }) in tools.iter().enumerate() {
        let id = tool.id.as_str();
        let names = || std::iter::once(id).chain(tool.aliases.iter().map(String::as_str));
        let is_twice = tools[..index].iter().any(|other| other.tool.id == tool.id);
        if is_twice || (catalog.tool(id).is_some() && !request.replace) {
            report.errors.push(refusal(
                "id_taken",
                format!("{id}.id"),
                "the catalog has a tool with this id",
            ));
        }
        let others = catalog.tools().iter().filter(|other| other.id != tool.id);
        let taken = |other: &Tool| {
            names().any(|name| other.aliases.iter().any(|alias| same_label(alias, name)))
                || tool.aliases.iter().any(|alias| other.id == alias.as_str())
        };
        if others.into_iter().any(taken) {
            report.errors.push(refusal("alias_taken", format!("{id}.aliases"), "another tool has this name"));
        }
        let is_there =
            runtime.as_ref().is_some_and(|runtime| runtimes.runtime(runtime.id.as_str()).is_some());
        if is_there && !request.replace {
            report.errors.push(refusal(
                "id_taken",
                format!("{id}.runtime_id"),
                "there is a runtime with this id",
            ));
        }
        let secrets = tool.secret_texts().into_iter().map(|secret| secret.field);
        let unsafe_fields = tool.unsafe_fields.iter().cloned();
        let of_runtime = runtime.iter().flat_map(|runtime| runtime.secret_commands()).map(str::to_owned);
        for field in secrets.chain(unsafe_fields).chain(of_runtime) {
            let message = "it looks like a secret; name a label in env_labels, and bind it in the policy";
            report.errors.push(refusal("secret_in_entry", format!("{id}.{field}"), message));
        }
    }
    for Registration { tool, runtime, detail } in tools.iter().filter(|_| report.errors.is_empty()) {
        let is_new = catalog.tool(tool.id.as_str()).is_none();
        let put = edit::put_entry(&after.catalog, tool, &Object::new());
        let runtimes =
            runtime.as_ref().map(|runtime| edit::put_runtime(&after.runtimes, runtime)).transpose();
        match (put, runtimes) {
            (Ok(text), Ok(runtimes)) => {
                after.catalog = text;
                after.runtimes = runtimes.unwrap_or(after.runtimes);
            }
            (Err(error), _) | (_, Err(error)) => {
                report.errors.push(refusal("target_invalid", tool.id.to_string(), &error.to_string()));
                break;
            }
        }
        let action = if is_new { "add" } else { "replace" };
        let action = if request.dry_run { format!("would-{action}") } else { action.to_owned() };
        report.registered.push(RegisteredTool {
            tool_id: tool.id.to_string(),
            action,
            family: tool.family.map_or("", |family| family.as_str()).to_owned(),
            source: tool.source().map(|source| source.as_str().to_owned()),
            level: request.level.as_str().to_owned(),
            enabled: tool.enabled,
            runtime_id: runtime.as_ref().map(|runtime| runtime.id.to_string()),
            detail: detail.clone(),
            next_command: Some(room.spelled(match runtime {
                Some(runtime) => NextStep::TryImportMcp(runtime.id.to_string()),
                None => NextStep::ShowTool(tool.id.to_string()),
            })),
        });
    }
    if !report.errors.is_empty() {
        report.registered.clear();
        return None;
    }
    Some(after)
}

impl Target {
    fn of(room: &Room, request: &RegisterRequest) -> Result<Target, Error> {
        if request.level == Level::Project {
            return Ok(Target {
                fs: room.fs.clone(),
                catalog: rel(CATALOG),
                runtimes: rel(RUNTIMES),
                lock: rel(brigade_upkeep::CATALOG_LOCK),
                shown: room.absolute(CATALOG),
            });
        }
        let folder = config_folder(room)?.join("brigade");
        let catalog = rel("tools.toml");
        let shown = folder.join(catalog.as_path()).display().to_string();
        let fs: Arc<dyn Fs> = Arc::new(DiskFs::make(&folder)?);
        Ok(Target {
            fs,
            catalog,
            runtimes: rel("tools/runtimes.toml"),
            lock: rel("tools/catalog.lock"),
            shown,
        })
    }

    fn lock(&self, room: &Room) -> Result<Lock, Error> {
        self.fs.create_dir_all(&self.lock.parent())?;
        let holder = format!("process {} (register), since {}", std::process::id(), room.now());
        Ok(self.fs.lock(&self.lock, &holder, room.env.lock_timeout)?)
    }

    fn read(&self) -> Result<Texts, Error> {
        let text = |path: &RelPath| match self.fs.read(path, LIMIT * 16) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
                let message = format!("{}: the file is not UTF-8 text", path.as_path().display());
                Error::new(ErrorKind::InvalidConfig, message)
            }),
            Err(error) if error.is_not_found() => Ok(String::new()),
            Err(error) => Err(error.into()),
        };
        Ok(Texts { catalog: text(&self.catalog)?, runtimes: text(&self.runtimes)? })
    }

    /// Writes both files, the runtimes first: a disabled runtime without a tool does nothing.
    fn write(&self, before: &Texts, after: &Texts) -> Result<(), Error> {
        let files = [
            (&self.runtimes, &before.runtimes, &after.runtimes),
            (&self.catalog, &before.catalog, &after.catalog),
        ];
        for (path, before, after) in files {
            if before != after {
                self.fs.create_dir_all(&path.parent())?;
                self.fs.write_atomic(path, after.as_bytes(), FileMode::KeepOr(0o600))?;
            }
        }
        Ok(())
    }
}
