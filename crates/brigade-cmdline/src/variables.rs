//! Variables that change which code runs.

/// Variables that change how a program is found, loaded or configured, or that a run of Brigade itself sets.
///
/// Names are compared exactly, because Unix compares them that way.
const DANGEROUS: &[&str] = &[
    // Where programs and their settings are found.
    "PATH",
    "HOME",
    "SHELL",
    "TMPDIR",
    "CDPATH",
    "IFS",
    // Shells run or read these before the script.
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "FPATH",
    // The C library and what it loads.
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOSTALIASES",
    "LOCPATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TERMINFO",
    "TERMINFO_DIRS",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "SSLKEYLOGFILE",
    // Interpreters: options, and code that they load.
    "NODE_OPTIONS",
    "NODE_PATH",
    "ELECTRON_RUN_AS_NODE",
    "AWKLIBPATH",
    "AWKPATH",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "JULIA_LOAD_PATH",
    "TCLLIBPATH",
    "ERL_LIBS",
    "ERL_FLAGS",
    "MAKEFLAGS",
    "GOFLAGS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    // Programs that others start.
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
];

/// Prefixes of such names.
const DANGEROUS_PREFIXES: &[&str] =
    &["LD_", "DYLD_", "_RLD", "PYTHON", "BASH_FUNC_", "LUA_", "COR_", "CORECLR_", "GIT_CONFIG", "BRIGADE_"];

/// Returns whether a variable changes how a program is found, loaded or configured.
///
/// ```
/// use brigade_cmdline::is_dangerous_variable;
///
/// assert!(is_dangerous_variable("LD_PRELOAD") && is_dangerous_variable("NODE_OPTIONS"));
/// assert!(!is_dangerous_variable("GITHUB_TOKEN"));
/// ```
pub fn is_dangerous_variable(name: &str) -> bool {
    DANGEROUS.contains(&name) || DANGEROUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
