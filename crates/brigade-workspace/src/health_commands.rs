//! Finds the files that health commands of runtimes execute.
//!
//! A call that needs a runtime runs its health command first, so an approval of the call binds the files of the
//! workspace that this command executes. Files that it only inspects, such as a pid file, may change.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use brigade_call::{DirectoryFact, ProgramFact};
use brigade_catalog::{Family, Runtime, Tool};
use brigade_cmdline::{Argv, Program, Role, is_code_name, what_it_reads};
use brigade_core::Fingerprint;
use brigade_fs::FsError;

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
        let mut found = BTreeMap::new();
        let Some((runtime, check)) = self.check_of(tool) else { return Ok(found) };
        let reader = self.reader(&check);
        let (directory, DirectoryFact::Present) = reader.directory() else { return Ok(found) };
        let (_, program) = reader.program(&directory);
        let program = match program {
            ProgramFact::Found(program) => Some((program.path, program.sha256)),
            ProgramFact::NotExecuted | ProgramFact::NotFound | ProgramFact::Unreadable(_) => None,
        };
        let program = program.filter(|(path, _)| !path.starts_with('/'));
        let mut files = named_files(&reader, &directory)?.files;
        let script = script_of(&check, &files);
        files.retain(|path, _| Some(path) == script.as_ref() || self.is_code(path));
        for (path, sha256) in files.into_iter().chain(program) {
            found.insert(format!("health command of {}: {path}", runtime.id), sha256);
        }
        Ok(found)
    }

    /// Returns whether a file is code by its name, its mode or its first bytes. The health command may only inspect
    /// other files.
    fn is_code(&self, path: &str) -> bool {
        is_code_name(path) || is_code_file(self.host.fs, path)
    }

    /// Returns the runtime of a tool, and its health command as an entry.
    fn check_of(&self, tool: &Tool) -> Option<(&Runtime, Tool)> {
        let is_required = tool.requires_runtime || tool.family == Some(Family::Mcp);
        let id = tool.runtime_id.as_deref().filter(|id| is_required && !id.is_empty())?;
        let runtime = self.config.runtimes(&self.host).runtime(id)?;
        let command = runtime.health_command.clone().filter(|text| !text.trim().is_empty())?;
        let check = Tool::new("health", Family::Script).ok()?;
        Some((runtime, Tool { command: Some(command), cwd: Some(runtime.cwd().to_owned()), ..check }))
    }
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
