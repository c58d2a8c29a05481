//! How each harness spells a server, as data.

/// The transport of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remote {
    /// According to the type; streamable HTTP by default.
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

/// When a server must state its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeRequirement {
    Never,
    Remote,
    Always,
}

/// The keys of a server. `type`, `args`, `cwd`, `enabled`, `disabled` and `description` are the same in all harnesses.
#[derive(Debug)]
pub(crate) struct Spelling {
    pub(super) command: &'static str,
    /// A map of variables to values.
    pub(super) env: &'static str,
    /// Lists of variable names, or of tables with a name.
    pub(super) env_names: &'static [&'static str],
    pub(super) urls: &'static [(&'static str, Remote)],
    /// Maps of headers to values. A second key is one level deeper.
    pub(super) headers: &'static [(&'static str, Option<&'static str>)],
    /// A map of headers to variables.
    pub(super) header_variables: Option<&'static str>,
    /// A key for the variable of the bearer token.
    pub(super) bearer_variable: Option<&'static str>,
    pub(super) timeouts: &'static [(&'static str, Unit)],
    pub(super) allowed: Option<&'static str>,
    /// Whether an empty list of allowed tools allows all of them.
    pub(super) empty_is_all: bool,
    pub(super) denied: Option<&'static str>,
    /// Keys that refer to other files.
    pub(super) includes: &'static [&'static str],
    /// Known keys without further information: the name, or a mark that the object is a server.
    pub(super) beside: &'static [&'static str],
    pub(super) typed: TypeRequirement,
    /// Types of entries that are not servers.
    pub(super) skipped: &'static [&'static str],
    /// An object of the file with lists of enabled and disabled servers.
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
pub(crate) const CLAW: Spelling = Spelling {
    timeouts: &[("requestTimeoutMs", Unit::Milliseconds)],
    includes: &[],
    beside: &["transport"],
    ..BASE
};
pub(crate) const CLINE: Spelling = Spelling { timeouts: &[("timeout", Unit::Seconds)], ..BASE };
pub(crate) const KIRO: Spelling = Spelling { denied: Some("disabledTools"), includes: &[], ..BASE };
pub(crate) const ROO: Spelling = Spelling {
    timeouts: &[("timeout", Unit::Seconds)],
    denied: Some("disabledTools"),
    includes: &[],
    ..BASE
};
