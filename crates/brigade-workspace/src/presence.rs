//! Checks whether tools are installed, from programs, files and runtimes, without starting anything.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use brigade_access::builtin::{Fact, definition};
use brigade_call::DirectoryFact;
use brigade_catalog::{
    Answer, Need, ObservedPresence, PathTest, Presence, Reason, Runtime, Runtimes, Tool, needs, presence,
};
use brigade_cmdline::{Argv, find_program, missing_script};
use brigade_core::ErrorCode;
use brigade_fs::{FileKind, Metadata};

use crate::checks::{KeptCheck, KeptChecks, ToolProgram};
use crate::config::KnownFacts;
use crate::files::ToolReader;
use crate::host::{Host, user_path};
use crate::searched_files::is_program;
use crate::tool::FactReader;

/// Checks whether tools are installed. A program or script that many tools share is looked up once.
pub struct PresenceReader<'r, 'h, 'c> {
    facts: &'r FactReader<'h, 'c>,
    runtimes: &'r Runtimes,
    programs: Mutex<HashMap<(String, PathBuf), Option<PathBuf>>>,
    /// The missing script of each command and directory. `None` if all scripts exist.
    scripts: Mutex<HashMap<(String, PathBuf), Option<String>>>,
    checks: OnceLock<KeptChecks>,
    /// Facts that built-in tools share.
    known: KnownFacts,
}

impl<'r, 'h, 'c> PresenceReader<'r, 'h, 'c> {
    /// Creates a reader with empty caches.
    pub fn new(facts: &'r FactReader<'h, 'c>, runtimes: &'r Runtimes) -> PresenceReader<'r, 'h, 'c> {
        PresenceReader {
            facts,
            runtimes,
            programs: Mutex::default(),
            scripts: Mutex::default(),
            checks: OnceLock::new(),
            known: KnownFacts::default(),
        }
    }

    /// Checks whether a tool is installed. Uses the last results of its check commands, if they are still valid.
    pub fn presence(&self, tool: &Tool) -> Presence {
        self.with(tool, &self.observed(tool))
    }

    /// Returns the last results of the tool's check and version commands, if they are still valid.
    pub fn observed(&self, tool: &Tool) -> ObservedPresence {
        let kept_check = |command| {
            let program = || self.facts.program_of(tool);
            self.kept_of(command).filter(|kept| program().is_none_or(|program| kept.is_about(&program)))
        };
        let check = tool.check_to_run().and_then(kept_check);
        let version = tool.version_to_run().and_then(kept_check);
        ObservedPresence {
            check: check.map(|kept| kept.succeeded),
            version: version.and_then(KeptCheck::version),
            version_at: version.map(|kept| kept.observed_at),
            ..ObservedPresence::default()
        }
    }

    fn kept_of(&self, command: &str) -> Option<&KeptCheck> {
        let host = self.facts.host;
        let checks = self.checks.get_or_init(|| KeptChecks::read(host.fs));
        let argv = Argv::parse(command).ok()?;
        let Answer::There(Some(program)) = self.program(argv.program(), host.fs.root()) else { return None };
        checks.result(host.fs, command, Path::new(&program))
    }

    /// Checks whether a tool is installed, with these results. Its texts have no bound values.
    pub fn with(&self, tool: &Tool, observed: &ObservedPresence) -> Presence {
        let reader = self.facts.reader(tool);
        let answer = |need: Need| {
            let answer = self.answer(&reader, &need);
            (need, answer)
        };
        let presence = presence(tool, needs(tool).into_iter().map(answer).collect(), observed);
        self.lacking(tool).into_iter().fold(presence, Presence::without).masked_by(&tool.masks)
    }

    /// Returns the missing needs of a built-in tool. The need for an identity depends on the agent, so it is left out.
    fn lacking(&self, tool: &Tool) -> Vec<Reason> {
        let row = if tool.is_built_in() { definition(tool.id.as_str()) } else { None };
        let (host, config) = (&self.facts.host, self.facts.config);
        let missing = row.map(|row| config.missing_here(host, row, &self.known)).unwrap_or_default();
        let missing = missing.into_iter().filter(|fact| *fact != Fact::Identity);
        let reason = |fact: Fact| Reason {
            code: ErrorCode::NotAvailableHere.as_str(),
            message: format!("it needs the fact `{}`, which does not hold here", fact.as_str()),
            hint: Some(fact.remedy().into()),
        };
        missing.map(reason).collect()
    }

    fn answer(&self, reader: &ToolReader<'_>, need: &Need) -> Answer {
        match need {
            Need::Program(word) => {
                let (directory, fact) = reader.directory();
                match fact {
                    DirectoryFact::Present => {}
                    DirectoryFact::Missing => return Answer::NoDirectory,
                    DirectoryFact::Outside => return Answer::Outside,
                }
                // An invalid command line has no program.
                match reader.argv() {
                    Some(_) => self.program(word, &directory),
                    None => Answer::Missing(word.clone()),
                }
            }
            Need::Script => {
                let (directory, fact) = reader.directory();
                let missing = match fact {
                    DirectoryFact::Present => self.missing_script(reader, &directory),
                    DirectoryFact::Missing | DirectoryFact::Outside => None,
                };
                missing.map_or(Answer::There(None), Answer::Missing)
            }
            // Skills of the user may be anywhere.
            Need::File { field: "source.path", path } if Path::new(path).is_absolute() => {
                match self.looked_at(reader.host, path) {
                    Some(metadata) if is_source(&metadata) => Answer::There(None),
                    _ => Answer::Missing(path.clone()),
                }
            }
            Need::File { path, .. } => match reader.metadata(path) {
                Some(metadata) if is_source(&metadata) => Answer::There(None),
                Some(_) => Answer::Missing(path.clone()),
                None if reader.leads_out(Some(path)) => Answer::Outside,
                None => Answer::Missing(path.clone()),
            },
            Need::Runtime(id) => match self.runtimes.runtime(id) {
                None => Answer::Missing(id.clone()),
                Some(runtime) if !runtime.enabled => Answer::Disabled,
                Some(runtime) => self.program_of(runtime),
            },
            Need::Provider(label) => self.provider(label),
            Need::OnPath(name) => self.program(name, reader.host.fs.root()),
            Need::Test(test, path) => match self.looked_at(reader.host, path) {
                Some(metadata) if holds(*test, &metadata) => Answer::There(None),
                _ => Answer::Missing(path.clone()),
            },
            Need::Check => Answer::Unknown,
        }
    }

    /// Looks up a program on `PATH` or at a path.
    fn program(&self, word: &str, directory: &Path) -> Answer {
        let host = self.facts.host;
        // Only paths depend on the directory.
        let folder = if word.contains('/') { directory.to_owned() } else { PathBuf::new() };
        let mut known = self.programs.lock().expect("no thread panics while it holds this");
        let found = known.entry((word.to_owned(), folder)).or_insert_with(|| find_in(host, word, directory));
        match found {
            Some(path) => Answer::There(Some(path.display().to_string())),
            // Tools may call `brigade` although it is not on `PATH`.
            None if word == "brigade" => Answer::There(None),
            None => Answer::Missing(word.to_owned()),
        }
    }

    /// Returns the missing script of a command, if one is missing.
    fn missing_script(&self, reader: &ToolReader<'_>, directory: &Path) -> Option<String> {
        let key = (reader.tool.command.clone()?, directory.to_owned());
        let known = || self.scripts.lock().expect("no thread panics while it holds this");
        if let Some(missing) = known().get(&key) {
            return missing.clone();
        }
        let missing = missing_script(&reader.argv()?, directory, &reader.seen());
        known().insert(key, missing.clone());
        missing
    }

    fn program_of(&self, runtime: &Runtime) -> Answer {
        let no_program = |program: &str| Answer::NoProgram {
            program: program.to_owned(),
            runtime: runtime.id.to_string(),
        };
        // An invalid command line has no program.
        let Ok(argv) = Argv::parse(&runtime.command) else { return no_program(&runtime.command) };
        let directory = self.facts.host.fs.root().join(runtime.cwd());
        match self.program(argv.program(), &directory) {
            Answer::Missing(program) => no_program(&program),
            other => other,
        }
    }

    /// Looks up the program or a directory of a harness, as discovery does.
    fn provider(&self, label: &str) -> Answer {
        let Some(program) = brigade_catalog::program(label) else {
            return Answer::Missing(label.to_owned());
        };
        let root = self.facts.host.fs.root();
        let answers = program.commands.iter().map(|command| self.program(command, root));
        answers
            .into_iter()
            .find(|answer| matches!(answer, Answer::There(_)))
            .or_else(|| self.has_folder(label).then_some(Answer::There(None)))
            .unwrap_or_else(|| Answer::Missing(label.to_owned()))
    }

    /// Returns whether a directory shows that a harness is installed.
    fn has_folder(&self, label: &str) -> bool {
        let host = self.facts.host;
        let variable = |name: &str| host.environment.get(name)?.to_str().map(str::to_owned);
        let folders = brigade_harness::harness(label).map(|harness| harness.folders(variable));
        let folders = folders.unwrap_or_default();
        let mut paths = folders.iter().filter_map(|folder| user_path(host.environment, folder));
        let is_folder = |path: PathBuf| {
            host.fs.metadata_outside(&path).is_ok_and(|metadata| metadata.kind == FileKind::Directory)
        };
        paths.any(is_folder)
    }

    /// Inspects a path of a check: absolute, or relative to the workspace.
    fn looked_at(&self, host: Host<'_>, path: &str) -> Option<Metadata> {
        host.fs.metadata_outside(&host.fs.root().join(path)).ok()
    }
}

impl FactReader<'_, '_> {
    /// Inspects the program of a tool's command. `None` without a command, or if its directory is missing.
    pub fn program_of(&self, tool: &Tool) -> Option<ToolProgram> {
        let is_program = |need: Need| if let Need::Program(word) = need { Some(word) } else { None };
        let word = needs(tool).into_iter().find_map(is_program)?;
        let (directory, fact) = self.reader(tool).directory();
        if fact != DirectoryFact::Present {
            return None;
        }
        let found = find_in(self.host, &word, &directory);
        Some(ToolProgram::new(self.host.fs, &word, found.as_deref()))
    }
}

/// Finds a program on `PATH` or at a path.
fn find_in(host: Host<'_>, word: &str, directory: &Path) -> Option<PathBuf> {
    let path = host.environment.get("PATH");
    let found = find_program(word, directory, path, |path| is_program(host.fs, path))?;
    // Removes `.` from the path.
    Some(found.components().collect())
}

/// Returns whether it is a plain file, like a skill's source.
fn is_source(metadata: &Metadata) -> bool {
    metadata.kind == FileKind::File
}

fn holds(test: PathTest, metadata: &Metadata) -> bool {
    match test {
        PathTest::File => metadata.kind == FileKind::File,
        PathTest::Directory => metadata.kind == FileKind::Directory,
        // `test -x` also accepts directories that may be entered.
        PathTest::Executable => metadata.mode & 0o111 != 0,
    }
}

#[cfg(test)]
mod tests;
