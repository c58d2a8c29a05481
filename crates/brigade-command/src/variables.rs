//! Variables that change which code runs.

/// Variables that change how a program is found, loaded or configured, or that a run of Brigade itself sets.
///
/// Names are compared as they are written, because that is how Unix compares them.
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

/// Beginnings of such names.
const DANGEROUS_PREFIXES: &[&str] =
    &["LD_", "DYLD_", "_RLD", "PYTHON", "BASH_FUNC_", "LUA_", "COR_", "CORECLR_", "GIT_CONFIG", "BRIGADE_"];

/// Variables among them that say nothing about code, although they change how programs behave.
const HARMLESS: &[&str] = &[
    "HOME",
    "HOSTALIASES",
    "IFS",
    "LOCPATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RES_OPTIONS",
    "SSLKEYLOGFILE",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TMPDIR",
];

/// Options of Node that say nothing about code.
const HARMLESS_OF_NODE: &[&str] = &[
    "--enable-source-maps",
    "--max-",
    "--no-deprecation",
    "--no-warnings",
    "--openssl-legacy-provider",
    "--stack-",
    "--trace-",
    "--unhandled-rejections",
];

/// Programs that are often named to switch something off.
const HARMLESS_PROGRAMS: &[&str] = &["", ":", "cat", "false", "less", "more", "true"];

/// Tells whether a variable changes how a program is found, loaded or configured.
///
/// ```
/// use brigade_command::is_dangerous_variable;
///
/// assert!(is_dangerous_variable("LD_PRELOAD") && is_dangerous_variable("NODE_OPTIONS"));
/// assert!(!is_dangerous_variable("GITHUB_TOKEN"));
/// ```
pub fn is_dangerous_variable(name: &str) -> bool {
    DANGEROUS.contains(&name) || DANGEROUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Tells whether a variable with this value says where code is found.
pub(crate) fn names_code(name: &str, value: &str) -> bool {
    is_dangerous_variable(name) && !is_harmless(name, value)
}

fn is_harmless(name: &str, value: &str) -> bool {
    match name {
        "NODE_OPTIONS" => value
            .split_whitespace()
            .all(|option| HARMLESS_OF_NODE.iter().any(|beginning| option.starts_with(beginning))),
        "PYTHONWARNINGS" => value.chars().all(|c| c.is_ascii_alphabetic()),
        "EDITOR" | "GIT_EDITOR" | "GIT_PAGER" | "MANPAGER" | "PAGER" | "VISUAL" => {
            HARMLESS_PROGRAMS.contains(&value)
        }
        name => HARMLESS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_name_code_are_known() {
        for (name, value, expect) in [
            ("PYTHONPATH", "lib", true),
            ("PERL5OPT", "-MFoo", true),
            ("LD_PRELOAD", "./x.so", true),
            ("PATH", "bin:/usr/bin", true),
            ("NODE_OPTIONS", "--require ./x.js", true),
            ("GIT_PAGER", "./x", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("PYTHONUNBUFFERED", "1", false),
            ("PYTHONWARNINGS", "ignore", false),
            ("PAGER", "cat", false),
            ("X", "1", false),
        ] {
            assert_eq!(names_code(name, value), expect, "{name}={value}");
        }
    }
}
