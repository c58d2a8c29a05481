//! How a harness spells a server.

use serde::Deserialize;

/// The transport of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Remote {
    /// According to the type; streamable HTTP by default.
    ByType,
    Http,
    Sse,
}

/// The unit of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// When a server must state its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TypeRequirement {
    Never,
    Remote,
    Always,
}

/// The keys of a server. `type`, `args`, `cwd`, `enabled`, `disabled` and `description` are the same in all harnesses.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Spelling {
    pub(super) command: &'static str,
    /// A map of variables to values.
    pub(super) env: &'static str,
    /// Lists of variable names, or of tables with a name.
    pub(super) env_names: Vec<&'static str>,
    pub(super) urls: Vec<(&'static str, Remote)>,
    /// Maps of headers to values. A second key is one level deeper.
    pub(super) headers: Vec<(&'static str, Option<&'static str>)>,
    /// A map of headers to variables.
    pub(super) header_variables: Option<&'static str>,
    /// A key for the variable of the bearer token.
    pub(super) bearer_variable: Option<&'static str>,
    pub(super) timeouts: Vec<(&'static str, Unit)>,
    pub(super) allowed: Option<&'static str>,
    /// Whether an empty list of allowed tools allows all of them.
    pub(super) empty_is_all: bool,
    pub(super) denied: Option<&'static str>,
    /// Keys that refer to other files.
    pub(super) includes: Vec<&'static str>,
    /// Known keys without further information: the name, or a mark that the object is a server.
    pub(super) beside: Vec<&'static str>,
    pub(super) typed: TypeRequirement,
    /// Types of entries that are not servers.
    pub(super) skipped: Vec<&'static str>,
    /// An object of the file with lists of enabled and disabled servers.
    pub(crate) lists: Option<&'static str>,
}

impl Default for Spelling {
    fn default() -> Spelling {
        Spelling {
            command: "command",
            env: "env",
            env_names: Vec::new(),
            urls: vec![("url", Remote::ByType)],
            headers: vec![("headers", None)],
            header_variables: None,
            bearer_variable: None,
            timeouts: Vec::new(),
            allowed: None,
            empty_is_all: false,
            denied: None,
            includes: vec!["envFile"],
            beside: Vec::new(),
            typed: TypeRequirement::Never,
            skipped: Vec::new(),
            lists: None,
        }
    }
}
