//! Which names may be given to the environment of a run.

use brigade_core::Label;
use brigade_redact::looks_secret_value;
use thiserror::Error;

/// Variables that change how a program is found, loaded or configured, or that the run itself sets.
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

/// Why a label must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LabelProblem {
    /// It looks like a secret or a `name=value` pair, so it must not be repeated anywhere.
    #[error("looks like a value, not like a name")]
    LooksLikeValue,
    /// It is no identifier.
    #[error("is not a name of letters, digits and `_` that does not start with a digit")]
    NotAName,
    /// It would change how a program is found or loaded, or is set by the run itself.
    #[error("changes how programs are found or loaded")]
    Dangerous,
}

/// Checks a label that a tool asks for.
///
/// `GITHUB_TOKEN` is fine: a label is how a secret reaches a script. What is refused are values in the place of names, and
/// names such as `PATH`, `LD_PRELOAD` or `NODE_OPTIONS`.
///
/// # Errors
/// Names the problem, never the text.
pub fn check_label(text: &str) -> Result<Label, LabelProblem> {
    if text.contains('=') || looks_like_token(text) {
        return Err(LabelProblem::LooksLikeValue);
    }
    let label: Label = text.parse().map_err(|_| LabelProblem::NotAName)?;
    match danger(label.as_str()) {
        Some(problem) => Err(problem),
        None => Ok(label),
    }
}

/// Returns whether a text has the shape of a token, or is 32 and more hex digits.
fn looks_like_token(text: &str) -> bool {
    let hash = 32 <= text.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hash || looks_secret_value(text).is_some()
}

/// Returns the problem of a name that would change how a program is found or loaded.
pub(crate) fn danger(name: &str) -> Option<LabelProblem> {
    let dangerous =
        DANGEROUS.contains(&name) || DANGEROUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    dangerous.then_some(LabelProblem::Dangerous)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<LabelProblem>) {
        assert_eq!(check_label(text).err(), expect, "{text}");
    }

    #[test]
    fn names_of_secrets_are_fine() {
        check("GITHUB_TOKEN", None);
        check("api_key", None);
        check("SAFE_ENV", None);
        check("HOMEPAGE", None);
    }

    #[test]
    fn values_are_refused_without_their_text() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        check(&token, Some(LabelProblem::LooksLikeValue));
        check("TOKEN=x", Some(LabelProblem::LooksLikeValue));
        check("AKIAIOSFODNN7EXAMPLE", Some(LabelProblem::LooksLikeValue));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "1A", "A-B", "local user", "é"] {
            check(text, Some(LabelProblem::NotAName));
        }
    }

    #[test]
    fn names_that_change_loading_are_refused() {
        for text in [
            "PATH",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "BASH_ENV",
            "IFS",
            "ENV",
            "PERL5OPT",
            "RUBYOPT",
            "GIT_SSH_COMMAND",
            "BRIGADE_TOOL_RUN_ID",
            "GIT_CONFIG_COUNT",
        ] {
            check(text, Some(LabelProblem::Dangerous));
        }
    }
}
