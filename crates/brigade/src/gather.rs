//! Reading the facts that a plan is made of: one tool's files, and no other's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brigade_call::{
    ArgsProblem, DirectoryFact, FileFact, Plan, PlanFacts, ProgramBinding, ProgramFact, ProjectionFacts,
    SchemaFact,
};
use brigade_catalog::{Catalog, Tool};
use brigade_core::{Argv, ConfigIssue, Dialect, Fingerprint, Json, Severity};
use brigade_exec::{OpenedProgram, resolve_program};
use brigade_fs::{FileKind, Fs, FsError, Location};
use brigade_policy::{Blocker, CallFacts, Decision, PolicyState, decide};
use brigade_projection::{
    Claims, Depth, Overwrite, PathRefusal, ProjectionItem, SourceFacts, TargetFacts, ToolFacts, blocking,
    plan_tool, summarise,
};
use brigade_schema::Schema;

use crate::error::Error;
use crate::policy_json::decision_json;
use crate::workspace::Workspace;

/// The largest schema, example or argument file that is read.
pub(crate) const DOCUMENT_LIMIT: u64 = 16 << 20;

/// The largest source or projection that is read.
pub(crate) const SOURCE_LIMIT: u64 = 64 << 20;

/// A plan, and what was opened for it.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) projections: Vec<ProjectionItem>,
    /// The program, when the family is executed and it was found.
    pub(crate) program: Option<OpenedProgram>,
    /// The folder that the program starts in.
    pub(crate) directory: PathBuf,
}

/// The configuration that plans are made with, read once for any number of them.
pub(crate) struct Config {
    pub(crate) catalog: Catalog,
    pub(crate) policy: PolicyState,
    claims: Claims,
}

impl Workspace {
    /// Reads catalog and policy.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        let catalog = self.catalog()?;
        let policy = self.policy()?;
        let claims = Claims::of(&self.target(), catalog.tools());
        Ok(Config { catalog, policy, claims })
    }

    /// Plans a call of a tool with arguments.
    pub(crate) fn plan_tool(
        &self,
        config: &Config,
        tool: &Tool,
        args: Result<Json, ArgsProblem>,
    ) -> Result<Planned, Error> {
        let is_set = |name: &str| self.context.environment.is_set(name);
        let decision = decide(&config.policy, &CallFacts::of(tool), &is_set);
        let policy = decision_json(&config.policy, &decision, tool);
        let gather = Gather { workspace: self, tool, decision: &decision };
        let (directory, directory_fact) = gather.directory()?;
        let (program, program_fact) = gather.program(&directory, directory_fact);
        let files = gather.named_files(&directory, directory_fact)?;
        let source_bytes = gather.read(tool.source_path.as_deref(), SOURCE_LIMIT)?;
        let projections = gather.projections(&config.claims, &source_bytes)?;
        let facts = PlanFacts {
            tool,
            entry_errors: errors_of(&config.catalog, tool),
            args,
            input_schema: gather.input_schema()?,
            output_schema: gather.file(tool.output_schema_path.as_deref())?,
            examples: gather.file(tool.examples_path.as_deref())?,
            source: source_bytes.fact(),
            directory: directory_fact,
            outside: gather.other_paths_outside()?,
            program: program_fact,
            files,
            projections: projection_facts(&projections),
            decision: decision.clone(),
            policy,
            caller: self.context.caller.clone(),
        };
        Ok(Planned { plan: brigade_call::plan(facts), projections, program, directory })
    }
}

/// Returns the errors of a tool's entry; an unreadable file as a whole is an error of every entry.
fn errors_of<'c>(catalog: &'c Catalog, tool: &Tool) -> Vec<&'c ConfigIssue> {
    if !tool.is_broken {
        return Vec::new();
    }
    let concerns = |issue: &&ConfigIssue| {
        issue.severity == Severity::Error && issue.entry.as_deref().is_none_or(|entry| tool.id == entry)
    };
    catalog.issues().iter().filter(concerns).collect()
}

/// What a path of the entry led to.
enum Found {
    NotNamed,
    Missing,
    Unreadable(String),
    Outside,
    Bytes(Vec<u8>),
}

impl Found {
    fn fact(&self) -> FileFact {
        match self {
            Found::NotNamed => FileFact::NotNamed,
            Found::Missing => FileFact::Missing,
            Found::Unreadable(why) => FileFact::Unreadable(why.clone()),
            Found::Outside => FileFact::Outside,
            Found::Bytes(bytes) => FileFact::Present(Fingerprint::of_bytes(bytes)),
        }
    }
}

/// Reads the files of one tool.
struct Gather<'g> {
    workspace: &'g Workspace,
    tool: &'g Tool,
    decision: &'g Decision,
}

impl Gather<'_> {
    /// Finds where a path of the entry leads; none when that is out of the workspace and not allowed.
    fn locate(&self, path: &str) -> Result<Option<Location>, FsError> {
        let home = self.workspace.context.home();
        let location = self.workspace.fs.resolve(path, home)?;
        if let Location::Outside(outside) = &location
            && !self.is_allowed_outside(outside)?
        {
            return Ok(None);
        }
        Ok(Some(location))
    }

    fn is_allowed_outside(&self, path: &Path) -> Result<bool, FsError> {
        for folder in &self.decision.outside_paths {
            if let Location::Outside(folder) =
                self.workspace.fs.resolve(folder, self.workspace.context.home())?
                && path.starts_with(&folder)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read(&self, path: Option<&str>, limit: u64) -> Result<Found, Error> {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Ok(Found::NotNamed);
        };
        let fs = &self.workspace.fs;
        let read = match self.locate(path) {
            Ok(None) => return Ok(Found::Outside),
            Ok(Some(Location::Inside(inside))) => fs.read(&inside, limit),
            Ok(Some(Location::Outside(outside))) => fs.read_outside(&outside, limit),
            Err(error) => Err(error),
        };
        Ok(match read {
            Ok(bytes) => Found::Bytes(bytes),
            Err(error) if error.is_not_found() => Found::Missing,
            Err(error) => Found::Unreadable(error.kind.to_string()),
        })
    }

    fn file(&self, path: Option<&str>) -> Result<FileFact, Error> {
        Ok(self.read(path, DOCUMENT_LIMIT)?.fact())
    }

    fn input_schema(&self) -> Result<SchemaFact, Error> {
        let found = self.read(self.tool.input_schema_path.as_deref(), DOCUMENT_LIMIT)?;
        let Found::Bytes(bytes) = &found else {
            return Ok(SchemaFact::File(found.fact()));
        };
        Ok(compile_schema(bytes))
    }

    fn directory(&self) -> Result<(PathBuf, DirectoryFact), Error> {
        let fs = &self.workspace.fs;
        let Some(cwd) = self.tool.cwd.as_deref().filter(|cwd| !cwd.is_empty()) else {
            return Ok((fs.root().to_owned(), DirectoryFact::Present));
        };
        let is_folder = |kind: Result<FileKind, FsError>| match kind {
            Ok(FileKind::Directory) => DirectoryFact::Present,
            _ => DirectoryFact::Missing,
        };
        Ok(match self.locate(cwd) {
            Ok(None) => (fs.root().to_owned(), DirectoryFact::Outside),
            Ok(Some(Location::Inside(inside))) => {
                let fact = is_folder(fs.metadata(&inside).map(|metadata| metadata.kind));
                (fs.root().join(inside.as_path()), fact)
            }
            Ok(Some(Location::Outside(outside))) => {
                let fact = is_folder(fs.metadata_outside(&outside).map(|metadata| metadata.kind));
                (outside, fact)
            }
            Err(_) => (fs.root().to_owned(), DirectoryFact::Missing),
        })
    }

    fn argv(&self) -> Option<Argv> {
        Argv::parse(self.tool.command.as_deref()?).ok()
    }

    /// Opens the program of a family that is executed, and reads it whole.
    fn program(&self, directory: &Path, fact: DirectoryFact) -> (Option<OpenedProgram>, ProgramFact) {
        if !self.tool.is_executable() {
            return (None, ProgramFact::NotExecuted);
        }
        let fs = &self.workspace.fs;
        let Some(argv) = self.argv().filter(|_| fact == DirectoryFact::Present) else {
            return (None, ProgramFact::NotFound);
        };
        let path_variable = self.workspace.context.environment.get("PATH");
        let is_program = |path: &Path| {
            let metadata = fs.metadata_outside(path);
            metadata.is_ok_and(|metadata| metadata.kind == FileKind::File && metadata.mode & 0o111 != 0)
        };
        let found = resolve_program(argv.program(), directory, path_variable, is_program)
            .or_else(|| brigade_itself(argv.program()));
        let Some(path) = found else {
            return (None, ProgramFact::NotFound);
        };
        match OpenedProgram::open(&path) {
            Ok(program) => {
                let shown = match path.strip_prefix(fs.root()) {
                    Ok(inside) => inside.display().to_string(),
                    Err(_) => path.display().to_string(),
                };
                let binding = ProgramBinding { path: shown, sha256: program.fingerprint() };
                (Some(program), ProgramFact::Found(binding))
            }
            Err(error) => (None, ProgramFact::Unreadable(error.kind().to_string())),
        }
    }

    /// Reads every file of the workspace that a word of the command names, by itself or behind a `=`.
    fn named_files(
        &self,
        directory: &Path,
        fact: DirectoryFact,
    ) -> Result<BTreeMap<String, Fingerprint>, Error> {
        let mut files = BTreeMap::new();
        if !self.tool.is_executable() || fact != DirectoryFact::Present {
            return Ok(files);
        }
        let fs = &self.workspace.fs;
        let Some(argv) = self.argv() else {
            return Ok(files);
        };
        for word in argv.words() {
            let behind = word.split_once('=').map(|(_, value)| value);
            for candidate in
                [Some(word.as_str()), behind].into_iter().flatten().filter(|name| !name.is_empty())
            {
                let path = directory.join(candidate);
                let Some(path) = path.to_str() else { continue };
                let Ok(Location::Inside(inside)) = fs.resolve(path, None) else { continue };
                let Ok(metadata) = fs.metadata(&inside) else { continue };
                if metadata.kind == FileKind::File {
                    let fingerprint = brigade_fs::fingerprint(&*fs.open(&inside)?)?;
                    files.insert(inside.as_str().to_owned(), fingerprint);
                }
            }
        }
        Ok(files)
    }

    /// Lists the fields whose paths lead out, of those that a plan does not read.
    fn other_paths_outside(&self) -> Result<Vec<String>, Error> {
        let fields = [
            ("manifest_path", &self.tool.manifest_path),
            ("schema_path", &self.tool.schema_path),
            ("health_path", &self.tool.health_path),
            ("runtime_health_path", &self.tool.runtime_health_path),
        ];
        let mut outside = Vec::new();
        for (field, path) in fields {
            if let Some(path) = path.as_deref().filter(|path| !path.is_empty())
                && matches!(self.locate(path), Ok(None))
            {
                outside.push(field.to_owned());
            }
        }
        Ok(outside)
    }

    fn projections(&self, claims: &Claims, source: &Found) -> Result<Vec<ProjectionItem>, Error> {
        let source = match source {
            Found::NotNamed => SourceFacts::NotConfigured,
            Found::Missing => SourceFacts::Absent,
            Found::Unreadable(_) => SourceFacts::Unreadable,
            Found::Outside => SourceFacts::Refused(PathRefusal::OutsideWorkspace),
            Found::Bytes(bytes) => SourceFacts::File(bytes.clone()),
        };
        let look = |path: &str| target_facts(&self.workspace.fs, path);
        let facts = ToolFacts::gather(&self.workspace.target(), self.tool, &source, look);
        Ok(plan_tool(&facts, claims, Overwrite::Never, Depth::Status))
    }
}

/// Looks at what stands where a projection goes.
pub(crate) fn target_facts(fs: &dyn Fs, path: &str) -> TargetFacts {
    use brigade_fs::FsErrorKind;

    let Ok(path) = path.parse::<brigade_fs::RelPath>() else {
        return TargetFacts::Refused(PathRefusal::OutsideWorkspace);
    };
    match fs.read(&path, SOURCE_LIMIT) {
        Ok(bytes) => TargetFacts::File(bytes),
        Err(error) => match error.kind {
            FsErrorKind::NotFound => TargetFacts::Absent,
            FsErrorKind::NotADirectory => TargetFacts::Refused(PathRefusal::ParentIsFile),
            FsErrorKind::Outside => TargetFacts::Refused(PathRefusal::SymlinkOut),
            FsErrorKind::NotAFile => match fs.metadata(&path).map(|metadata| metadata.kind) {
                Ok(FileKind::Directory) => TargetFacts::Directory,
                _ => TargetFacts::Unreadable,
            },
            _ => TargetFacts::Unreadable,
        },
    }
}

/// Reads a schema file's bytes as the root schema of a contract.
pub(crate) fn compile_schema(bytes: &[u8]) -> SchemaFact {
    let json = match Json::parse_bytes(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), Dialect::Strict)
    {
        Ok(json) => json,
        Err(error) => return SchemaFact::NotJson(error),
    };
    match Schema::compile_root(&json.to_serde()) {
        Ok(schema) => SchemaFact::Sound { schema, fingerprint: Fingerprint::of_bytes(bytes) },
        Err(problems) => SchemaFact::Unsound(problems),
    }
}

/// A tool may call Brigade by its name although it is not on PATH.
fn brigade_itself(word: &str) -> Option<PathBuf> {
    if word == "brigade" { brigade_process::current_program().ok() } else { None }
}

fn projection_facts(items: &[ProjectionItem]) -> ProjectionFacts {
    let summary = summarise(items);
    let blockers = blocking(items).into_iter().map(|item| {
        let path = item.projection_path.as_deref().unwrap_or_default();
        let message = format!(
            "projection for {} is {}: `{}`",
            brigade_core::text::escape_terminal(&item.harness),
            item.status.as_str(),
            brigade_core::text::escape_terminal(path)
        );
        Blocker::new("projection", message)
            .field(format!("projections.{}", item.harness))
            .hint(format!("brigade tools apply {} --force replaces it", item.tool_id))
    });
    ProjectionFacts {
        blockers: blockers.collect(),
        summary: summary.to_json(str::to_owned),
        fingerprint: summary.fingerprint,
    }
}
