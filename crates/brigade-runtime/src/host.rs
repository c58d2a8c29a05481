//! The environment that a runtime and its health command inherit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use brigade_call::VerifiedStart;
use brigade_catalog::{Masks, Runtime};
use brigade_core::Place;
use brigade_process::{OwnPrograms, PrivateFolder, Spec};
use brigade_redact::{Redactor, SecretValue};

/// The variables that a runtime inherits; those whose names start with `LC_` too.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "SHELL", "TERM"];

/// The search path when `PATH` is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The variable in the environment of all processes of one start. A stop uses it to find strays.
pub(crate) const INSTANCE_VARIABLE: &str = "BRIGADE_RUNTIME_INSTANCE";

/// The facts of the host, read once.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// All variables of the calling process. Runtimes get a few of them.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories outside the workspace that the policy lets runtimes run in; absolute, without links.
    pub outside: Vec<PathBuf>,
    /// The place of the policy's rule against code for an interpreter in commands.
    pub refuses_inline_code: Option<Place>,
    /// The bound values of the policy. They must not be stored or shown.
    pub secrets: Vec<SecretValue>,
    /// Masks bound values in commands and texts of entries before they are stored or shown.
    pub masks: Masks,
    /// The names of `[environment] pass` of the policy.
    pub pass: Vec<String>,
    /// The variables for the labels, by the policy.
    pub bindings: BTreeMap<String, String>,
    /// Directories that agents can write. Health commands find no program there by its name.
    pub writable: Vec<PathBuf>,
}

/// Puts health commands that a person reviewed into the sandbox of the workspace's policy.
pub trait HealthSandbox: Sync {
    /// Adds the sandbox to the start of a health command. Returns the directory of its temporary files, which must live
    /// as long as the command; `None` without a sandbox.
    ///
    /// # Errors
    /// Returns why the command cannot be confined, or that a person must review it. It is not started then.
    fn confine(
        &self,
        runtime: &Runtime,
        start: &VerifiedStart,
        spec: &mut Spec,
    ) -> Result<Option<PrivateFolder>, String>;
}

/// Confines nothing, for a workspace without a policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSandbox;

impl HealthSandbox for NoSandbox {
    fn confine(&self, _: &Runtime, _: &VerifiedStart, _: &mut Spec) -> Result<Option<PrivateFolder>, String> {
        Ok(None)
    }
}

impl Host {
    /// Returns the redactor for texts of runtimes.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(&self.secrets)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.variable("HOME").map(Path::new)
    }

    /// Returns `PATH`, or the default search path.
    pub(crate) fn path_variable(&self) -> &OsStr {
        self.variable("PATH").unwrap_or(OsStr::new(DEFAULT_PATH))
    }

    /// Returns where health commands find programs: on `PATH`, outside of the directories that agents can write.
    pub(crate) fn own_programs(&self) -> OwnPrograms {
        OwnPrograms::new(Some(self.path_variable()), self.writable.iter().cloned())
    }

    /// Returns the variables for the labels of a runtime.
    pub(crate) fn bindings_of(&self, runtime: &Runtime) -> BTreeMap<String, String> {
        let bound = |label: &String| Some((label.clone(), self.bindings.get(label)?.clone()));
        runtime.env_labels.iter().filter_map(bound).collect()
    }

    /// Returns the environment of a runtime's processes, sorted by name: the inherited variables, those that the policy
    /// passes, and the values of labels.
    pub(crate) fn child_environment(&self, bindings: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
        let is_passed = |name: &str| self.pass.iter().any(|passed| passed == name);
        let is_inherited = |name: &OsStr| {
            name.to_str()
                .is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_") || is_passed(name))
        };
        let inherited = self.environment.iter().filter(|(name, _)| is_inherited(name)).cloned();
        let mut variables: BTreeMap<OsString, OsString> = inherited.collect();
        for (label, variable) in bindings {
            if let Some(value) = self.variable(variable) {
                variables.insert(label.into(), value.to_owned());
            }
        }
        variables.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_get_a_few_variables_only() {
        let pairs =
            [("TOKEN", "x"), ("PATH", "/bin:here"), ("LC_ALL", "C"), ("LD_PRELOAD", "x"), ("HOME", "/h")];
        let host = Host {
            environment: pairs.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ..Host::default()
        };
        let given = |bindings: &[(&str, &str)]| -> Vec<OsString> {
            let bindings = bindings.iter().map(|(label, name)| ((*label).to_owned(), (*name).to_owned()));
            host.child_environment(&bindings.collect()).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(given(&[]), ["HOME", "LC_ALL", "PATH"]);
        assert_eq!(given(&[("KEY", "TOKEN"), ("NONE", "UNSET")]), ["HOME", "KEY", "LC_ALL", "PATH"]);
        let passing = Host { pass: vec!["TOKEN".to_owned(), "UNSET".to_owned()], ..host.clone() };
        let passed = passing.child_environment(&BTreeMap::new());
        assert!(passed.contains(&("TOKEN".into(), "x".into())) && passed.len() == 4, "{passed:?}");
        assert_eq!(host.path_variable(), "/bin:here");
        assert_eq!(host.home(), Some(Path::new("/h")));
    }
}
