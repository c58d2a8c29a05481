//! How each harness spells a server, as data.

/// The transport of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remote {
    /// As the type says, else streamable HTTP.
    ByType,
    Http,
    Sse,
}

/// The unit of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// When a server must say its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeRequirement {
    Never,
    Remote,
    Always,
}

/// The keys of a server. `type`, `args`, `cwd`, `enabled`, `disabled` and `description` mean the same everywhere.
#[derive(Debug)]
pub(crate) struct Spelling {
    pub(super) command: &'static str,
    /// A map with values.
    pub(super) env: &'static str,
    /// Lists of names, or of tables with a name.
    pub(super) env_names: &'static [&'static str],
    pub(super) urls: &'static [(&'static str, Remote)],
    /// Maps with values; a second key is one level deeper.
    pub(super) headers: &'static [(&'static str, Option<&'static str>)],
    /// A map of headers to variables.
    pub(super) header_variables: Option<&'static str>,
    /// A key with the variable of the bearer token.
    pub(super) bearer_variable: Option<&'static str>,
    pub(super) timeouts: &'static [(&'static str, Unit)],
    pub(super) allowed: Option<&'static str>,
    /// Whether an empty list of allowed tools allows all of them.
    pub(super) empty_is_all: bool,
    pub(super) denied: Option<&'static str>,
    /// Keys that name other files.
    pub(super) includes: &'static [&'static str],
    /// Known keys that say nothing besides what other keys say: the name, or that a server is one.
    pub(super) beside: &'static [&'static str],
    pub(super) typed: TypeRequirement,
    /// Types that are no servers.
    pub(super) skipped: &'static [&'static str],
    /// An object of the file with lists of the servers that are on and off.
    pub(crate) lists: Option<&'static str>,
}

const BASE: Spelling = Spelling {
    command: "command",
    env: "env",
    env_names: &[],
    urls: &[("url", Remote::ByType)],
    headers: &[("headers", None)],
    header_variables: None,
    bearer_variable: None,
    timeouts: &[],
    allowed: None,
    empty_is_all: false,
    denied: None,
    includes: &["envFile"],
    beside: &[],
    typed: TypeRequirement::Never,
    skipped: &[],
    lists: None,
};

pub(crate) const COMMON: Spelling = BASE;
pub(crate) const CLAUDE: Spelling = Spelling { typed: TypeRequirement::Remote, ..BASE };
pub(crate) const VSCODE: Spelling = Spelling { typed: TypeRequirement::Always, ..BASE };
pub(crate) const COPILOT: Spelling =
    Spelling { allowed: Some("tools"), timeouts: &[("timeout", Unit::Milliseconds)], ..BASE };
pub(crate) const CODEX: Spelling = Spelling {
    env_names: &["env_vars"],
    headers: &[("http_headers", None)],
    header_variables: Some("env_http_headers"),
    bearer_variable: Some("bearer_token_env_var"),
    timeouts: &[
        ("tool_timeout_sec", Unit::Seconds),
        ("startup_timeout_sec", Unit::Seconds),
        ("startup_timeout_ms", Unit::Milliseconds),
    ],
    allowed: Some("enabled_tools"),
    denied: Some("disabled_tools"),
    includes: &[],
    ..BASE
};
pub(crate) const OPENCODE: Spelling = Spelling {
    env: "environment",
    timeouts: &[("timeout", Unit::Milliseconds)],
    includes: &[],
    typed: TypeRequirement::Always,
    ..BASE
};
pub(crate) const GEMINI: Spelling = Spelling {
    urls: &[("httpUrl", Remote::Http), ("url", Remote::Sse)],
    timeouts: &[("timeout", Unit::Milliseconds)],
    allowed: Some("includeTools"),
    denied: Some("excludeTools"),
    includes: &[],
    lists: Some("mcp"),
    ..BASE
};
pub(crate) const WINDSURF: Spelling = Spelling {
    urls: &[("serverUrl", Remote::ByType), ("url", Remote::ByType)],
    denied: Some("disabledTools"),
    ..COMMON
};
pub(crate) const ZED: Spelling = Spelling { beside: &["source"], includes: &[], ..BASE };
pub(crate) const GOOSE: Spelling = Spelling {
    command: "cmd",
    env: "envs",
    env_names: &["env_keys"],
    urls: &[("uri", Remote::ByType)],
    timeouts: &[("timeout", Unit::Seconds)],
    allowed: Some("available_tools"),
    empty_is_all: true,
    includes: &[],
    beside: &["name", "display_name"],
    skipped: &["builtin", "platform", "frontend", "inline_python"],
    ..BASE
};
pub(crate) const CONTINUE: Spelling =
    Spelling { headers: &[("requestOptions", Some("headers"))], includes: &[], beside: &["name"], ..BASE };
pub(crate) const AMP: Spelling = Spelling { allowed: Some("includeTools"), ..COMMON };
pub(crate) const CRUSH: Spelling = Spelling {
    timeouts: &[("timeout", Unit::Seconds)],
    denied: Some("disabled_tools"),
    includes: &[],
    typed: TypeRequirement::Always,
    ..BASE
};
pub(crate) const CLINE: Spelling = Spelling { timeouts: &[("timeout", Unit::Seconds)], ..BASE };
