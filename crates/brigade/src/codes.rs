//! The codes of errors: the words that scripts may rely on.
//!
//! Reasons of a refusal and issues have codes of their own.

use std::borrow::Cow;

/// A kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    code: &'static str,
    meaning: &'static str,
}

impl ErrorCode {
    /// Returns the word, in `snake_case`; it never changes its meaning.
    pub const fn as_str(self) -> &'static str {
        self.code
    }

    /// Returns what it means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        self.meaning
    }
}

impl From<ErrorCode> for Cow<'static, str> {
    fn from(code: ErrorCode) -> Cow<'static, str> {
        Cow::Borrowed(code.code)
    }
}

macro_rules! codes {
    ($($name:ident = $code:literal: $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub const $name: ErrorCode = ErrorCode { code: $code, meaning: $meaning };
        )+

        /// Every code.
        pub const ALL: &[ErrorCode] = &[$($name),+];
    };
}

codes! {
    NOT_FOUND = "not_found": "Nothing has the name that was asked for.";
    TOOL_MISSING = "tool_missing": "No enabled tool has this id.";
    TOOL_DISABLED = "tool_disabled": "The tool is in the catalog and has `enabled = false`.";
    CALL_MISSING = "call_missing": "No call has an id that begins so.";
    CHECKPOINT_MISSING = "checkpoint_missing": "No checkpoint has an id that begins so.";
    RUNTIME_MISSING = "runtime_missing": "No runtime has this id.";
    NOTHING_APPROVED = "nothing_approved": "No approved call is ready to run.";
    AMBIGUOUS = "ambiguous": "The beginning of an id fits more than one; `candidates` lists them.";

    REFUSED = "refused": "The state, the policy or a person's decision does not allow it.";
    CALL_BLOCKED = "call_blocked": "The call may not be queued, approved or run; each reason has a code of its own.";
    RUNTIME_BLOCKED = "runtime_blocked": "The runtime may not be started; each reason has a code of its own.";
    PROCESSES_ALIVE = "processes_alive": "Processes could not be ended.";
    RUN_FAILED = "run_failed": "The program ran, and did not end well.";
    ENTRY_EXISTS = "entry_exists": "The catalog has an entry of this id that differs.";

    CONFIG_INVALID = "config_invalid": "A configuration file has an error.";
    TOML_SYNTAX = "toml_syntax": "A configuration file is not valid TOML.";
    POLICY_MISSING = "policy_missing": "There is no policy.toml.";
    CLOSEOUT_INVALID = "closeout_invalid": "A closeout cannot be read.";
    PIN_INVALID = "pin_invalid": "A pin cannot be read.";
    ENVELOPE_INVALID = "envelope_invalid": "An exported receipt does not hold.";

    USAGE = "usage": "The request makes no sense, or the target cannot be used.";

    ENVIRONMENT = "environment": "The disk or the environment does not allow it.";

    BUG = "bug": "A mistake in Brigade; please report it.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_is_one_word_and_stands_once() {
        let codes: BTreeSet<&str> = ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), ALL.len());
        let is_word = |code: &str| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(codes.iter().all(|code| is_word(code)));
        assert!(ALL.iter().all(|code| code.meaning().ends_with('.')));
    }
}
