//! Translates a `brigade.config` to the text of a `kitchen.toml`.

use brigade_core::ConfigIssue;

use super::starter::{StarterKeys, render};
use super::{Config, ConfigFile};

/// A translated configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedConfig {
    /// The text of `kitchen.toml`. Listed keys that the file does not set are comments.
    pub text: String,
    /// How many keys the text sets.
    pub keys: usize,
    /// What was not imported, and what has no effect.
    pub issues: Vec<ConfigIssue>,
}

/// Translates a `brigade.config`. The result sets the same values as the file.
pub fn import(file: ConfigFile<'_>, keys: StarterKeys) -> ImportedConfig {
    let config = Config::read(Some(file), None);
    let text = render(&config.settings, keys, &|key| config.places.contains_key(key.toml));
    ImportedConfig { text, keys: config.places.len(), issues: config.issues }
}
