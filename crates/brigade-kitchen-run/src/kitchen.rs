//! The kitchen of a workspace: its files and its environment.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::{Clock, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{Fs, WorkspaceKey};
use brigade_kitchen::Tier;
use brigade_redact::{Redactor, SecretValue, is_secret_name, looks_secret_value};
use brigade_workspace::{TrustStore, WorkspaceContext, bound_values};

use crate::gather::Configuration;

/// The kitchen of a workspace. Each operation reads the files that it needs once.
#[derive(Clone)]
pub struct Kitchen<'a> {
    /// The files of the workspace.
    pub fs: Arc<dyn Fs>,
    /// The key of this host, which signs the records of journals.
    pub key: Arc<WorkspaceKey>,
    /// What a person has reviewed.
    pub trust: Arc<TrustStore>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The environment variables of this process.
    pub environment: &'a HostEnvironment,
    /// How long to wait for a lock.
    pub lock_timeout: Duration,
}

impl<'a> Kitchen<'a> {
    /// Creates the kitchen for a workspace context.
    pub fn new(context: &'a WorkspaceContext) -> Kitchen<'a> {
        Kitchen {
            fs: context.fs.clone(),
            key: context.key.clone(),
            trust: context.trust.clone(),
            clock: context.clock.clone(),
            environment: &context.environment,
            lock_timeout: context.timeout,
        }
    }
}

impl Kitchen<'_> {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the workspace path for reports.
    pub(crate) fn target(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Returns a redactor that also masks every value that a worker may get.
    pub(crate) fn redactor(&self, configuration: &Configuration) -> Redactor {
        Redactor::new(&self.secrets(configuration))
    }

    /// Lists the values that must not be shown: values bound by the policy, and environment variables that workers get
    /// by name. Variables that every program inherits, such as `PATH`, are not secret. Neither are words, numbers and
    /// paths in variables such as `CI` and `LOG`.
    pub(crate) fn secrets(&self, configuration: &Configuration) -> Vec<SecretValue> {
        let mut secrets = bound_values(self.environment, &configuration.policy);
        let usual = self.environment.usual();
        let labels = Tier::ALL.iter().flat_map(|tier| configuration.env_labels(*tier));
        for label in labels.filter(|label| !usual.is_set(label)) {
            let value =
                self.environment.get(label).filter(|value| may_be_secret(label, &value.to_string_lossy()));
            let value = value.map(|value| SecretValue::new(value.as_encoded_bytes()));
            secrets.extend(value.filter(|value| !secrets.contains(value)));
        }
        secrets
    }

    /// Formats a path for reports and fingerprints: relative if it is in the workspace.
    pub(crate) fn shown_path(&self, path: &Path) -> String {
        path.strip_prefix(self.fs.root()).unwrap_or(path).display().to_string()
    }
}

/// Returns whether the value of a variable may be a secret. Masking a word such as `true` everywhere would hide parts
/// of Brigade's own output.
fn may_be_secret(name: &str, value: &str) -> bool {
    const MIN_SECRET_BYTES: usize = 4;
    const MIN_OTHER_BYTES: usize = 8;
    const LONGER_THAN_WORDS: usize = 16;
    let is_word = value.chars().all(|c| c.is_ascii_alphabetic());
    let is_number = value.chars().all(|c| c.is_ascii_digit());
    if is_secret_name(name) {
        return MIN_SECRET_BYTES <= value.len() && !["true", "false", "none", "null"].contains(&value);
    }
    looks_secret_value(value).is_some()
        || MIN_OTHER_BYTES <= value.len()
            && !is_number
            && !value.starts_with('/')
            && (!is_word || LONGER_THAN_WORDS <= value.len())
}

/// Masks the words of a command, each alone and as an argument of the others.
pub(crate) fn mask_words(redactor: &Redactor, words: &[String]) -> Vec<String> {
    redactor.redact_command(words).iter().map(|word| word.as_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_of_variables_are_not_secrets() {
        for (name, value) in [
            ("CI", "true"),
            ("DEBUG", "0"),
            ("MODE", "complete"),
            ("LOG", "task"),
            ("PORT", "12345678"),
            ("CONFIG_DIR", "/home/me/.config"),
            ("API_TOKEN", "1"),
            ("API_TOKEN", "true"),
        ] {
            assert!(!may_be_secret(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("API_TOKEN", "zebra"),
            ("WORKER_LABEL", "canary-value-4711"),
            ("WORKER_LABEL", "zebraquartzpineapple"),
        ] {
            assert!(may_be_secret(name, value), "{name}={value}");
        }
    }
}
