//! The files that one tool's entry names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use brigade_access::builtin::{Definition, Guards, PathUse, definition, is_of_forge};
use brigade_call::{DirectoryFact, FileFact, ProgramBinding, ProgramFact, SchemaFact};
use brigade_catalog::{Tool, WORDS_SCHEMA};
use brigade_cmdline::{Argv, find_program};
use brigade_core::{AgentFiles, Dialect, Fingerprint, Json, JsonError, closed_place};
use brigade_exec::OpenedProgram;
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, Metadata, RelPath};
use brigade_projection::{PathRefusal, SourceFacts, TargetFacts};
use brigade_schema::Schema;

use crate::host::Host;
use crate::own_programs::own_programs;
use crate::searched_files::{SeenFiles, is_program};

/// The maximum size of a schema, example or argument file.
pub const DOCUMENT_LIMIT: u64 = 16 << 20;

/// The maximum size of a source or projection.
const SOURCE_LIMIT: u64 = 64 << 20;

/// The file at a path of the entry.
#[derive(Clone, Debug)]
pub enum EntryFile {
    /// The entry names no file.
    NotNamed,
    /// The file does not exist.
    Missing,
    /// It cannot be read; the text says why.
    Unreadable(String),
    /// It is outside of the workspace, and the policy does not allow that.
    Outside,
    /// Its bytes.
    Bytes(Vec<u8>),
}

impl EntryFile {
    /// Returns the fact for a plan.
    pub fn fact(&self) -> FileFact {
        match self {
            EntryFile::NotNamed => FileFact::NotNamed,
            EntryFile::Missing => FileFact::Missing,
            EntryFile::Unreadable(why) => FileFact::Unreadable(why.clone()),
            EntryFile::Outside => FileFact::Outside,
            EntryFile::Bytes(bytes) => FileFact::Present(Fingerprint::of_bytes(bytes)),
        }
    }

    /// Returns the bytes of a file that was read.
    pub fn bytes(&self) -> Option<&[u8]> {
        if let EntryFile::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// Converts the bytes into the source of projections.
    pub fn into_source(self) -> SourceFacts {
        match self {
            EntryFile::NotNamed => SourceFacts::NotConfigured,
            EntryFile::Missing => SourceFacts::Absent,
            EntryFile::Unreadable(_) => SourceFacts::Unreadable,
            EntryFile::Outside => SourceFacts::Refused(PathRefusal::OutsideWorkspace),
            EntryFile::Bytes(bytes) => SourceFacts::File(bytes),
        }
    }
}

/// Reads the files of one tool. Files outside of the workspace are read only if the policy lists their directory.
pub struct ToolReader<'g> {
    /// The workspace and its host.
    pub host: Host<'g>,
    /// The tool.
    pub tool: &'g Tool,
    /// `[paths] outside` of the policy.
    pub outside: &'g [String],
}

impl ToolReader<'_> {
    /// Calls a function with the place that a path of the entry leads to.
    fn at<T>(
        &self,
        path: &str,
        inside: impl Fn(&RelPath) -> Result<T, FsError>,
        outside: impl Fn(&Path) -> Result<T, FsError>,
    ) -> Result<ReachedPath<T>, FsError> {
        // Fast path: most paths are plain, and the file system keeps them inside of the workspace.
        if let Ok(plain) = path.parse::<RelPath>().map_err(drop)
            && !path.starts_with('~')
        {
            match inside(&plain) {
                Err(FsError { kind: FsErrorKind::Outside, .. }) => {}
                done => return done.map(|value| ReachedPath::Inside(plain, value)),
            }
        }
        match self.host.fs.resolve(path, self.host.home())? {
            Location::Inside(path) => inside(&path).map(|value| ReachedPath::Inside(path, value)),
            Location::Outside(path) if self.is_allowed(&path)? => {
                outside(&path).map(|value| ReachedPath::Outside(path, value))
            }
            Location::Outside(_) => Ok(ReachedPath::Refused),
        }
    }

    /// Calls a function with the place of a document. For entries of the user, it is relative to their file's
    /// directory.
    fn document_at<T>(
        &self,
        path: &str,
        inside: impl Fn(&RelPath) -> Result<T, FsError>,
        outside: impl Fn(&Path) -> Result<T, FsError>,
    ) -> Result<ReachedPath<T>, FsError> {
        let Some(base) = self.tool.directory_of_documents() else {
            return self.at(path, inside, outside);
        };
        let fs = self.host.fs;
        let real = |path: &Path| -> Result<PathBuf, FsError> {
            Ok(match fs.resolve(&path.to_string_lossy(), self.host.home())? {
                Location::Inside(path) => fs.root().join(path.as_path()),
                Location::Outside(path) => path,
            })
        };
        let plain = path.parse::<RelPath>().ok().filter(|_| !path.starts_with('~'));
        let real_path =
            real(&plain.as_ref().map_or_else(|| PathBuf::from(path), |plain| base.join(plain.as_path())))?;
        if real_path.starts_with(real(base)?) || self.is_allowed(&real_path)? {
            outside(&real_path).map(|value| ReachedPath::Outside(real_path, value))
        } else {
            Ok(ReachedPath::Refused)
        }
    }

    fn is_allowed(&self, path: &Path) -> Result<bool, FsError> {
        for folder in self.outside {
            if let Location::Outside(folder) = self.host.fs.resolve(folder, self.host.home())?
                && path.starts_with(&folder)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read(&self, path: Option<&str>, limit: u64) -> EntryFile {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return EntryFile::NotNamed;
        };
        let fs = self.host.fs;
        match self.document_at(path, |path| fs.read(path, limit), |path| fs.read_outside(path, limit)) {
            Ok(ReachedPath::Inside(_, bytes) | ReachedPath::Outside(_, bytes)) => EntryFile::Bytes(bytes),
            Ok(ReachedPath::Refused) => EntryFile::Outside,
            Err(error) if error.is_not_found() => EntryFile::Missing,
            Err(error) => EntryFile::Unreadable(error.kind.to_string()),
        }
    }

    /// Reads a schema, example, manifest or health file.
    pub fn document(&self, path: Option<&str>) -> EntryFile {
        self.read(path, DOCUMENT_LIMIT)
    }

    /// Reads the source.
    pub fn source(&self) -> EntryFile {
        self.read(self.tool.source_path.as_deref(), SOURCE_LIMIT)
    }

    /// Reads the source for an agent, under the same rules as `fs.read`: nothing of git and Brigade, and no keys, also
    /// by links.
    pub fn source_for_agents(&self, guards: &Guards) -> EntryFile {
        let Some(path) = self.tool.source_path.as_deref() else { return EntryFile::NotNamed };
        let fs = self.host.fs;
        let given =
            self.tool.directory_of_documents().map_or_else(|| PathBuf::from(path), |base| base.join(path));
        let is_open = |path: &Path| path.to_str().is_some_and(|path| guards.allows(path, PathUse::Read));
        let may_show = match fs.resolve(&given.to_string_lossy(), self.host.home()) {
            Ok(Location::Inside(real)) => {
                (path.starts_with('/') || is_open(Path::new(path))) && is_open(real.as_path())
            }
            // Outside, only directories that the policy or the user's catalog opened are read.
            Ok(Location::Outside(real)) => {
                let is_closed = closed_place(&real.to_string_lossy(), AgentFiles::Open).is_some();
                !is_closed && real.file_name().is_some_and(|name| is_open(Path::new(name)))
            }
            Err(_) => return self.source(),
        };
        if may_show { self.source() } else { EntryFile::Outside }
    }

    /// Reads the schema of the arguments. For entries that Brigade makes, it is built in.
    pub fn input_schema(&self) -> EntryFile {
        match (self.tool.reads, self.row()) {
            (Some(reads), _) => EntryFile::Bytes(reads.input_schema().as_bytes().to_vec()),
            (None, Some(row)) => EntryFile::Bytes(row.input_schema().to_compact().into_bytes()),
            (None, None) if self.tool.takes_words() => EntryFile::Bytes(WORDS_SCHEMA.as_bytes().to_vec()),
            (None, None) => self.document(self.tool.input_schema_path.as_deref()),
        }
    }

    /// Reads the schema of the result. For built-in tools, it is built in.
    pub fn output_schema(&self) -> EntryFile {
        match self.row() {
            Some(row) => EntryFile::Bytes(row.output_schema().to_compact().into_bytes()),
            None => self.document(self.tool.output_schema_path.as_deref()),
        }
    }

    pub(crate) fn row(&self) -> Option<&'static Definition> {
        if self.tool.is_built_in() { definition(self.tool.id.as_str()) } else { None }
    }

    /// Reads and compiles the schema of the arguments.
    pub fn compiled_input_schema(&self) -> SchemaFact {
        match self.input_schema() {
            EntryFile::Bytes(bytes) => compile_schema(&bytes),
            found => SchemaFact::File(found.fact()),
        }
    }

    /// Returns the metadata of a file.
    pub fn metadata(&self, path: &str) -> Option<Metadata> {
        let fs = self.host.fs;
        match self.document_at(path, |path| fs.metadata(path), |path| fs.metadata_outside(path)) {
            Ok(ReachedPath::Inside(_, metadata) | ReachedPath::Outside(_, metadata)) => Some(metadata),
            Ok(ReachedPath::Refused) | Err(_) => None,
        }
    }

    /// Returns whether a path leads out of the workspace to a place that the policy does not allow.
    pub fn leads_out(&self, path: Option<&str>) -> bool {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return false;
        };
        let fs = self.host.fs;
        let nothing = |result: Result<Metadata, FsError>| match result {
            Err(error) if error.kind == FsErrorKind::Outside => Err(error),
            _ => Ok(()),
        };
        let reached = self.document_at(
            path,
            |path| nothing(fs.metadata(path)),
            |path| nothing(fs.metadata_outside(path)),
        );
        matches!(reached, Ok(ReachedPath::Refused))
    }

    /// Finds the directory that the tool's program starts in.
    pub fn directory(&self) -> (PathBuf, DirectoryFact) {
        let fs = self.host.fs;
        let Some(cwd) = self.tool.cwd.as_deref().filter(|cwd| !cwd.is_empty()) else {
            return (fs.root().to_owned(), DirectoryFact::Present);
        };
        let fact = |metadata: Metadata| match metadata.kind {
            FileKind::Directory => DirectoryFact::Present,
            FileKind::File | FileKind::Link | FileKind::Other => DirectoryFact::Missing,
        };
        // The workspace itself needs no check.
        if cwd.parse::<RelPath>().is_ok_and(|path| path.is_root()) {
            return (fs.root().to_owned(), DirectoryFact::Present);
        }
        match self.at(cwd, |path| fs.metadata(path), |path| fs.metadata_outside(path)) {
            Ok(ReachedPath::Inside(path, metadata)) => {
                let folder =
                    if path.is_root() { fs.root().to_owned() } else { fs.root().join(path.as_path()) };
                (folder, fact(metadata))
            }
            Ok(ReachedPath::Outside(path, metadata)) => (path, fact(metadata)),
            Ok(ReachedPath::Refused) => (fs.root().to_owned(), DirectoryFact::Outside),
            Err(_) => (fs.root().to_owned(), DirectoryFact::Missing),
        }
    }

    /// Returns the working directory, if links resolve it to another directory than the entry names.
    pub fn real_directory(&self) -> Option<String> {
        let cwd = self.tool.cwd.as_deref().filter(|cwd| !cwd.is_empty())?;
        let real = match self.host.fs.resolve(cwd, self.host.home()).ok()? {
            Location::Inside(path) => path.as_str().to_owned(),
            Location::Outside(path) => path.to_string_lossy().into_owned(),
        };
        let plain = cwd.parse::<RelPath>().map(|path| path.as_str().to_owned());
        (plain.as_ref() != Ok(&real) && cwd != real).then_some(real)
    }

    /// Splits the command.
    pub fn argv(&self) -> Option<Argv> {
        Argv::parse(self.tool.command.as_deref()?).ok()
    }

    /// Returns the files of the workspace and its host, for finding what a command reads.
    pub(crate) fn seen(&self) -> SeenFiles<'_> {
        let path_variable = self.host.environment.get("PATH");
        SeenFiles { fs: self.host.fs, path_variable }
    }

    /// Returns the path of a command's program, if it exists.
    pub(crate) fn program_path(&self, argv: &Argv, directory: &Path) -> Option<PathBuf> {
        // Another version on PATH may not have the bridge.
        if self.tool.remote.is_some()
            && let Some(program) = brigade_itself(argv.program()).filter(|program| is_named_brigade(program))
        {
            return Some(program);
        }
        let path_variable = self.host.environment.get("PATH");
        let is_there = |path: &Path| is_program(self.host.fs, path);
        // Brigade starts it for its own tools, and no entry of the catalog names it.
        if is_of_forge(self.tool.id.as_str()) && !argv.program().contains('/') {
            return own_programs(self.host.fs, self.host.environment).find(argv.program()).found();
        }
        find_program(argv.program(), directory, path_variable, is_there)
            .or_else(|| brigade_itself(argv.program()))
    }

    /// Returns whether the program of a command exists, without opening it.
    pub fn finds_program(&self, argv: &Argv, directory: &Path) -> bool {
        self.program_path(argv, directory).is_some()
    }

    /// Opens the program of the command and reads all of it.
    pub fn program(&self, directory: &Path) -> (Option<OpenedProgram>, ProgramFact) {
        let fs = self.host.fs;
        let Some(argv) = self.argv() else {
            return (None, ProgramFact::NotFound);
        };
        let Some(path) = self.program_path(&argv, directory) else {
            return (None, ProgramFact::NotFound);
        };
        fs.note(&path);
        match OpenedProgram::open_known(&path, &self.host) {
            Ok(program) => {
                let shown = match path.strip_prefix(fs.root()) {
                    Ok(inside) => inside.display().to_string(),
                    Err(_) => path.display().to_string(),
                };
                let binding = ProgramBinding { path: shown, sha256: program.fingerprint() };
                (Some(program), ProgramFact::Found(binding))
            }
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                (None, ProgramFact::Unreadable(error.to_string()))
            }
            Err(error) => (None, ProgramFact::Unreadable(error.kind().to_string())),
        }
    }
}

/// Where a path of the entry led.
enum ReachedPath<T> {
    Inside(RelPath, T),
    Outside(PathBuf, T),
    Refused,
}

/// Reads the content at the path of a projection.
pub(crate) fn target_facts(fs: &dyn Fs, path: &str) -> TargetFacts {
    let Ok(path) = path.parse::<RelPath>() else {
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

/// Parses a file's bytes as JSON, without a byte order mark.
pub fn parse_json(bytes: &[u8]) -> Result<Json, JsonError> {
    Json::parse_bytes(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), Dialect::Strict)
}

/// Compiles a schema file's bytes as the root schema of a contract.
pub fn compile_schema(bytes: &[u8]) -> SchemaFact {
    let json = match parse_json(bytes) {
        Ok(json) => json,
        Err(error) => return SchemaFact::NotJson(error),
    };
    match Schema::compile_root(&json.to_serde()) {
        Ok(mut schema) => {
            let remarks = [schema.doubts(), schema.unchecked(), schema.ignored()];
            if remarks.iter().any(|list| !list.is_empty()) {
                schema.locate(&String::from_utf8_lossy(bytes));
            }
            SchemaFact::Sound { schema: Arc::new(schema), fingerprint: Fingerprint::of_bytes(bytes) }
        }
        Err(mut problems) => {
            let text = String::from_utf8_lossy(bytes);
            problems.iter_mut().for_each(|problem| problem.locate(&text));
            SchemaFact::Unsound(problems)
        }
    }
}

/// Returns whether the running program is the command line, and not a program with the library.
fn is_named_brigade(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name == "brigade")
}

/// Returns the running program for the word `brigade`, which need not be on PATH.
fn brigade_itself(word: &str) -> Option<PathBuf> {
    if word == "brigade" { brigade_process::current_program().ok() } else { None }
}

#[cfg(test)]
mod tests;
