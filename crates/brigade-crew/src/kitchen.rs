//! The kitchen of a workspace: its files and the seams of its host.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::{Clock, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_facts::bound_values;
use brigade_fs::{Fs, RelPath};
use brigade_kitchen::Tier;
use brigade_redact::{Redactor, SecretValue};

use crate::gather::Configuration;

/// The kitchen of a workspace. Its operations read the files they need, once.
#[derive(Clone)]
pub struct Kitchen<'a> {
    /// The files of the workspace.
    pub fs: Arc<dyn Fs>,
    /// The present.
    pub clock: Arc<dyn Clock>,
    /// The variables of this process.
    pub environment: &'a HostEnvironment,
    /// How long to wait for a lock.
    pub lock_timeout: Duration,
}

impl Kitchen<'_> {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the workspace path for reports.
    pub(crate) fn target(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Returns what masks text that is shown, with every value that a worker may get.
    pub(crate) fn redactor(&self, configuration: &Configuration) -> Redactor {
        Redactor::new(&self.secrets(configuration))
    }

    /// Lists the values that nothing may show: those that the policy binds, and the variables that workers of any tier
    /// get by their own names. What every program inherits, such as `PATH`, is no secret because a worker lists it.
    pub(crate) fn secrets(&self, configuration: &Configuration) -> Vec<SecretValue> {
        let mut secrets = bound_values(self.environment, &configuration.policy);
        let usual = self.environment.usual();
        let labels = Tier::ALL.into_iter().flat_map(|tier| configuration.env_labels(tier));
        for label in labels.filter(|label| !usual.is_set(label)) {
            let value = self.environment.get(label).map(|value| SecretValue::new(value.as_encoded_bytes()));
            secrets.extend(value.filter(|value| !secrets.contains(value)));
        }
        secrets
    }

    /// Returns a path below the workspace as it is shown and fingerprinted: relative if it is inside.
    pub(crate) fn shown_path(&self, path: &Path) -> String {
        path.strip_prefix(self.fs.root()).unwrap_or(path).display().to_string()
    }
}

/// Masks the words of a command, each for itself and as an argument of the others.
pub(crate) fn masked(redactor: &Redactor, words: &[String]) -> Vec<String> {
    redactor.redact_argv(words).iter().map(|word| word.as_str().to_owned()).collect()
}

/// Parses a path constant.
pub(crate) fn rel(path: &str) -> RelPath {
    path.parse().expect("paths in the program stay inside the workspace")
}
