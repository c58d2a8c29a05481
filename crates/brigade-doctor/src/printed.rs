//! The codes that commands print besides those of issues: what `runtime` says of one runtime, and `--live` of servers.

use brigade_core::Severity;

/// One such code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedCode {
    /// The word; it never changes its meaning.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Why it matters and what to do, in a sentence or two.
    pub explanation: &'static str,
    /// The command that helps; words in braces stand for what it concerns.
    pub fix: &'static str,
}

macro_rules! printed_codes {
    ($($code:literal, $severity:ident, $title:literal, $explanation:literal, $fix:literal;)+) => {
        /// All of them.
        pub const PRINTED_CODES: &[PrintedCode] = &[$(PrintedCode {
            code: $code,
            severity: Severity::$severity,
            title: $title,
            explanation: $explanation,
            fix: $fix,
        },)+];
    };
}

printed_codes! {
    "runtime_unmanaged", Warning, "A process that may be the runtime, without a proof",
        "It is neither stopped nor started a second time. If it is the runtime, end it yourself; else remove the pid file.",
        "brigade tools runtime show {runtime}";
    "runtime_outside_path", Error, "A path of a runtime that leads out of the workspace",
        "Nothing is written there. `cwd` may lie in a folder that policy.toml lists in `outside` under `[paths]`. The doctor calls it `path_outside`.",
        "{edit}";
    "runtime_disabled", Error, "A runtime that is switched off", "It is not started until its entry says `enabled = true`.", "{edit}";
    "mcp_server_failed", Warning, "An MCP server that listed no tools",
        "It was not started, did not answer, or answered with something else. Where the policy refused it, `policy explain` says why.",
        "brigade tools describe {tool}";
    "mcp_tool_duplicate", Warning, "An MCP tool that its server lists more than once", "It is never called.",
        "brigade tools describe {tool} --live";
    "mcp_tool_new", Info, "A tool of an MCP server that neither the catalog nor a pin names",
        "Nobody calls it before the catalog has it.", "brigade tools import mcp {runtime} --dry-run";
    "mcp_contract_differs", Warning, "An input schema that is not what the server lists",
        "Calls are checked against the stored schema, and the server may refuse them. Review the schema, and queue calls anew.",
        "brigade tools describe {tool} --live";
    "mcp_no_server", Info, "A pin whose server nobody can ask",
        "No enabled tool of the catalog says how the server is started.", "brigade tools pins show {pin}";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IssueType;

    #[test]
    fn a_code_stands_in_one_table() {
        let mut codes: Vec<&str> = IssueType::all().iter().map(|kind| kind.code()).collect();
        codes.extend(PRINTED_CODES.iter().map(|printed| printed.code));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        for printed in PRINTED_CODES {
            assert!(!printed.title.ends_with('.') && printed.explanation.ends_with('.'), "{}", printed.code);
        }
    }
}
