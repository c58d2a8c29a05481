//! Finds the files that commands of runtimes execute.
//!
//! A call that needs a runtime runs its health command first, so an approval of the call binds the files of the
//! workspace that this command executes. Files that it only inspects, such as a pid file, may change.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use brigade_call::{DirectoryFact, ProgramFact, SeenPart};
use brigade_catalog::{Family, Runtime, Tool};
use brigade_cmdline::{Argv, Program, Role, is_code_name, what_it_reads};
use brigade_core::Fingerprint;
use brigade_fs::FsError;

use crate::files::ToolReader;
use crate::host::Host;
use crate::named::named_files;
use crate::searched_files::{SeenFiles, is_code_file};
use crate::tool::FactReader;

impl FactReader<'_, '_> {
    /// Returns the files that the health command of the tool's runtime executes, each by a name for people, with its
    /// sha256. Programs on `PATH` are left out.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn health_files(&self, tool: &Tool) -> Result<BTreeMap<String, Fingerprint>, FsError> {
        let is_required = tool.requires_runtime || tool.family == Some(Family::Mcp);
        let id = tool.runtime_id.as_deref().filter(|id| is_required && !id.is_empty());
        match id.and_then(|id| self.config.runtimes(&self.host).runtime(id)) {
            Some(runtime) => self.host.health_files(runtime, &self.config.outside()),
            None => Ok(BTreeMap::new()),
        }
    }
}

impl Host<'_> {
    /// Returns the files that the health command of a runtime executes, each by a name for people, with its sha256.
    /// `outside` are the directories outside of the workspace that the policy lists.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn health_files(
        &self,
        runtime: &Runtime,
        outside: &[String],
    ) -> Result<BTreeMap<String, Fingerprint>, FsError> {
        let Some(check) = entry_of(runtime, runtime.health_command.as_deref()) else {
            return Ok(BTreeMap::new());
        };
        let mut files = self.files_of(&check, outside)?;
        let script = script_of(&check, &files);
        // The health command may only inspect other files.
        let is_code = |path: &str| is_code_name(path) || is_code_file(self.fs, path);
        files.retain(|path, _| Some(path) == script.as_ref() || is_code(path));
        let named = files
            .into_iter()
            .map(|(path, sha256)| (format!("health command of {}: {path}", runtime.id), sha256));
        Ok(named.collect())
    }

    /// Returns what a person reviews of the command of a runtime.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn runtime_parts(&self, runtime: &Runtime, outside: &[String]) -> Result<Vec<SeenPart>, FsError> {
        let Some(entry) = entry_of(runtime, Some(&runtime.command)) else { return Ok(Vec::new()) };
        let command = Fingerprint::builder("brigade.runtime-command.v1")
            .text("command", runtime.command.as_str())
            .text("cwd", runtime.cwd())
            .finish();
        Ok(SeenPart::of_command(command, &self.files_of(&entry, outside)?))
    }

    /// Returns the files of the workspace that a command executes or names, and those outside that it names.
    fn files_of(&self, entry: &Tool, outside: &[String]) -> Result<BTreeMap<String, Fingerprint>, FsError> {
        let reader = ToolReader { host: *self, tool: entry, outside };
        let (directory, DirectoryFact::Present) = reader.directory() else { return Ok(BTreeMap::new()) };
        let mut files = named_files(&reader, &directory)?.files;
        if let (_, ProgramFact::Found(program)) = reader.program(&directory)
            && !program.path.starts_with('/')
        {
            files.insert(program.path, program.sha256);
        }
        Ok(files)
    }
}

/// Returns a command of a runtime as an entry.
fn entry_of(runtime: &Runtime, command: Option<&str>) -> Option<Tool> {
    let command = command.filter(|text| !text.trim().is_empty())?.to_owned();
    let entry = Tool::new("command", Family::Script).ok()?;
    Some(Tool { command: Some(command), cwd: Some(runtime.cwd().to_owned()), ..entry })
}

/// Returns the script of an interpreter in the command, whatever it is called.
fn script_of(check: &Tool, files: &BTreeMap<String, Fingerprint>) -> Option<String> {
    let argv = Argv::parse(check.command.as_deref()?).ok()?;
    let mut words = argv.words().iter();
    let role = |word: &str| Program::from_word(word).map(Program::role);
    words.find(|word| matches!(role(word), Some(Role::Shell | Role::Interpreter)))?;
    let word = Path::new(words.find(|word| !word.starts_with('-'))?);
    let word: PathBuf = word.components().filter(|part| *part != Component::CurDir).collect();
    // Files are relative to the workspace; the word is absolute or relative to its directory.
    files.keys().find(|known| word.ends_with(known) || Path::new(known).ends_with(&word)).cloned()
}

impl Host<'_> {
    /// Returns the installation directories of a command line's programs, outside of the system and the workspace.
    pub fn installed_in(&self, argv: &Argv, directory: &Path) -> Vec<PathBuf> {
        let seen = SeenFiles { fs: self.fs, path_variable: self.environment.get("PATH") };
        self.installation(&what_it_reads(argv, directory, &seen)).paths.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
