//! The workspace and host that facts are read from.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use brigade_access::builtin::{Definition, LaneWork};
use brigade_call::{Caller, NamedThings};
use brigade_catalog::Masks;
use brigade_cmdline::{Argv, Reads, code_words, find_program};
use brigade_core::{Clock, Json};
use brigade_exec::{CERTIFICATE_VARIABLES, HostEnvironment};
use brigade_fs::{FileKind, Fs, Location};
use brigade_mcp::PinStore;
use brigade_policy::PolicyState;
use brigade_redact::SecretValue;
use brigade_sandbox::{Installation, ProgramOrigin, Surroundings, installation_in, project_of};

use crate::config::Config;
use crate::digests::Digests;
use crate::searched_files::is_program;
use crate::trust::TrustStore;

/// The files of a workspace, and the context of its host.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// The workspace.
    pub fs: &'a dyn Fs,
    /// The variables of this process.
    pub environment: &'a HostEnvironment,
    /// The digest cache.
    pub digests: &'a Digests,
    /// What a person has reviewed.
    pub trust: &'a TrustStore,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Looks up the names in arguments of built-in tools. `None` if no such lookup is available.
    pub names: Option<&'a dyn Names>,
}

/// Looks up what arguments of built-in tools name, other than files: manifests, open questions, workers, commits and
/// their remotes, and unmerged work of a lane.
pub trait Names: Send + Sync {
    /// Returns the current state of what the arguments name, and blockers of the call because of it.
    /// `root` is the directory that the paths of the session are relative to.
    fn named(
        &self,
        host: &Host<'_>,
        config: &Config,
        caller: &Caller,
        root: Option<&str>,
        tool: &str,
        args: &Json,
    ) -> NamedThings;

    /// Returns whether this build has a built-in tool.
    fn is_built(&self, row: &Definition) -> bool;

    /// Returns the work of a lane. `None` if there is no such lane.
    fn lane(&self, host: &Host<'_>, id: &str) -> Option<LaneWork>;
}

/// Makes a path of the table of harnesses absolute. `None` if its base directory is unknown.
pub fn user_path(environment: &HostEnvironment, path: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix("~") {
        return environment.home().map(|home| home.join(rest));
    }
    for variable in ["APPDATA", "LOCALAPPDATA"] {
        if let Ok(rest) = path.strip_prefix(format!("%{variable}%")) {
            let folder = environment.get(variable).and_then(OsStr::to_str).map(PathBuf::from);
            return folder.filter(|folder| folder.is_absolute()).map(|folder| folder.join(rest));
        }
    }
    path.is_absolute().then(|| path.to_owned())
}

impl<'a> Host<'a> {
    /// Returns the absolute path of the workspace.
    pub fn root(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Returns the absolute path of the person's home directory.
    pub fn home(&self) -> Option<&'a Path> {
        self.environment.home()
    }

    /// Returns the files of certificates that the environment names.
    pub(crate) fn certificates(&self) -> Vec<String> {
        let named = CERTIFICATE_VARIABLES.iter().filter_map(|name| self.environment.get(name)?.to_str());
        named.filter(|path| path.starts_with('/')).map(str::to_owned).collect()
    }

    /// Returns whether a program with this name is on `PATH`.
    pub fn has_program(&self, name: &str) -> bool {
        let path = self.environment.get("PATH");
        find_program(name, self.fs.root(), path, |path| is_program(self.fs, path)).is_some()
    }

    /// Returns the store of the pins.
    pub fn pins(&self) -> PinStore<'a> {
        PinStore { fs: self.fs, clock: self.clock, key: self.trust.key() }
    }

    /// Returns the installation directories of a command's programs, outside of the system and the workspace.
    pub(crate) fn installation(&self, reads: &Reads) -> Installation {
        let surroundings = self.surroundings();
        let programs = reads.executed.iter().map(|program| {
            let is_text = reads.named_by_workspace.contains(program);
            (program.as_path(), if is_text { ProgramOrigin::Workspace } else { ProgramOrigin::Command })
        });
        for program in &reads.executed {
            self.note_installation(program);
            if let Ok(real) = self.fs.resolve(&program.to_string_lossy(), None) {
                let real = match real {
                    Location::Inside(path) => self.fs.root().join(path.as_path()),
                    Location::Outside(path) => path,
                };
                self.note_installation(&real);
            }
        }
        installation_in(programs, &surroundings)
    }

    /// Returns the directories of the projects of a command's scripts, outside of the system and the workspace.
    pub(crate) fn projects(&self, argv: &Argv, directory: &Path) -> Vec<PathBuf> {
        let surroundings = self.surroundings();
        let scripts = code_words(argv).into_iter().map(|word| directory.join(word));
        let scripts = scripts
            .filter(|path| self.fs.metadata_outside(path).is_ok_and(|found| found.kind == FileKind::File));
        scripts.flat_map(|script| project_of(&script, &surroundings)).collect()
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: self.home().map(Path::to_owned),
            path: self.environment.get("PATH").map(OsStr::to_owned).unwrap_or_default(),
            rustup_home: self.environment.get("RUSTUP_HOME").map(PathBuf::from),
            workspace: Some(self.fs.root().to_owned()),
        }
    }

    /// Inspects the directories that show where a program is installed, so that a cache notices changes: its directory,
    /// the parent, and the libraries there.
    fn note_installation(&self, program: &Path) {
        self.fs.note(program);
        let directory = program.parent();
        let prefix = directory.and_then(Path::parent);
        for path in directory.into_iter().chain(prefix) {
            self.fs.note(path);
        }
        if let Some(prefix) = prefix {
            self.fs.note(&prefix.join("lib"));
        }
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.environment.is_set(name)
    }
}

/// Returns the values that the policy binds to labels of any tool. Arguments and texts of people may not contain them.
pub fn bound_values(environment: &HostEnvironment, policy: &PolicyState) -> Vec<SecretValue> {
    labelled_values(environment, policy).map(|(_, value)| value).collect()
}

/// Returns the masks for showing catalog entries: every bound value, as in outputs.
pub fn masks(environment: &HostEnvironment, policy: &PolicyState) -> Masks {
    Masks::labelled(labelled_values(environment, policy).collect())
}

fn labelled_values<'a>(
    environment: &'a HostEnvironment,
    policy: &'a PolicyState,
) -> impl Iterator<Item = (String, SecretValue)> + 'a {
    let bindings = policy.policy().map(|policy| &policy.env_bindings).into_iter().flatten();
    bindings.filter_map(|(label, variable)| {
        let value = environment.get(variable.value.as_str())?;
        Some((label.to_string(), SecretValue::new(value.as_encoded_bytes())))
    })
}

#[cfg(test)]
mod tests;
