//! Decides which names may appear in the environment of a run.

use brigade_cmdline::is_dangerous_variable;
use brigade_core::Label;
use brigade_redact::{MARK, looks_like_token};
use thiserror::Error;

/// Why a label must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LabelProblem {
    /// It looks like a secret or a `name=value` pair, so it must not be repeated.
    #[error("looks like a value, not like a name")]
    LooksLikeValue,
    /// It is not an identifier.
    #[error("is not a name of letters, digits and `_` that does not start with a digit")]
    NotAName,
    /// It would change how a program is found or loaded, or is set by Brigade itself.
    #[error("changes how programs are found or loaded")]
    Dangerous,
}

/// Checks a label of a tool.
///
/// `GITHUB_TOKEN` is allowed: a label is how a secret reaches a script. Values in place of names are refused, and so
/// are names such as `PATH`, `LD_PRELOAD` or `NODE_OPTIONS`.
///
/// # Errors
/// Returns the problem, which never contains the text.
pub fn check_label(text: &str) -> Result<Label, LabelProblem> {
    if text.contains('=') || looks_like_token(text) {
        return Err(LabelProblem::LooksLikeValue);
    }
    let label: Label = text.parse().map_err(|_| LabelProblem::NotAName)?;
    if is_dangerous_variable(label.as_str()) { Err(LabelProblem::Dangerous) } else { Ok(label) }
}

/// Returns a label for showing and storing. A label that looks like a value is masked, because it may be the secret
/// itself.
pub fn shown_label(label: &str) -> &str {
    match check_label(label) {
        Err(LabelProblem::LooksLikeValue) => MARK,
        Ok(_) | Err(LabelProblem::NotAName | LabelProblem::Dangerous) => label,
    }
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
    fn texts_that_are_not_names_are_refused() {
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

    #[test]
    fn a_label_that_looks_like_a_value_is_not_shown() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(
            ["GITHUB_TOKEN", "local-user", "PATH", "A=secret", &token].map(shown_label),
            ["GITHUB_TOKEN", "local-user", "PATH", MARK, MARK]
        );
    }
}
