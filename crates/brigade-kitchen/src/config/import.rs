//! Translates a `brigade.config` to the text of a `kitchen.toml`.

use brigade_core::ConfigIssue;

use super::starter::render;
use super::{Config, ConfigFile};

/// A translated configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedConfig {
    /// The text of `kitchen.toml`, with what the file sets, and everything else as comments.
    pub text: String,
    /// How many keys it sets.
    pub keys: usize,
    /// What could not be taken over, and what is not used.
    pub issues: Vec<ConfigIssue>,
}

/// Translates a `brigade.config`. Reading the text gives the same values as reading the file.
pub fn import(file: ConfigFile<'_>) -> ImportedConfig {
    let config = Config::read(Some(file), None);
    let text = render(&config.settings, &|key| config.places.contains_key(key.toml));
    ImportedConfig { text, keys: config.places.len(), issues: config.issues }
}
