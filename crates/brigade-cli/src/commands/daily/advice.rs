//! Causes, advice and examples for the codes that people meet most.

/// What is known about a code, in addition to its meaning.
pub(super) struct CodeAdvice {
    code: &'static str,
    /// The usual causes.
    pub causes: &'static [&'static str],
    /// What to do.
    pub advice: &'static [&'static str],
    /// An example; empty without one.
    pub example: &'static str,
}

/// Returns what is known about a code.
pub(super) fn for_code(code: &str) -> Option<&'static CodeAdvice> {
    TABLE.iter().find(|known| known.code == code)
}

const TABLE: &[CodeAdvice] = &[
    CodeAdvice {
        code: "workspace_missing",
        causes: &["The command was started outside of a project with .brigade"],
        advice: &["Create a workspace here, or name one with --target"],
        example: "brigade tools init --empty",
    },
    CodeAdvice {
        code: "tool_missing",
        causes: &["The id is misspelled", "The tool is in no catalog of this workspace, or is disabled"],
        advice: &["Compare with the list of tools", "Register it"],
        example: "brigade tools list\nbrigade tools register mcp:git",
    },
    CodeAdvice {
        code: "tool_disabled",
        causes: &["Registered and imported tools are disabled until a person enables them"],
        advice: &["Review the entry, then enable it"],
        example: "brigade tools enable 'git-*' --effects local-read",
    },
    CodeAdvice {
        code: "inside_a_run",
        causes: &["An agent, a script or a server that Brigade started called the command"],
        advice: &["Type the command in a terminal of your own"],
        example: "",
    },
    CodeAdvice {
        code: "changed_meanwhile",
        causes: &["Another terminal decided about the call", "The call was planned again with other files"],
        advice: &["List again, and decide about what is shown now"],
        example: "brigade pending",
    },
    CodeAdvice {
        code: "call_blocked",
        causes: &["A blocker, which the error lists with its own code"],
        advice: &["Explain the code of each blocker"],
        example: "brigade explain policy_denied_effect",
    },
    CodeAdvice {
        code: "not_reviewed",
        causes: &["The code or the contract of the tool changed since a person saw it"],
        advice: &["Look at the change, and trust it; or approve one call"],
        example: "brigade tools trust TOOL",
    },
    CodeAdvice {
        code: "approval_pending",
        causes: &["No rule of policy.toml covers the call"],
        advice: &["Approve the call, or add a rule that covers such calls"],
        example: "brigade pending\nbrigade approve 1 --always",
    },
    CodeAdvice {
        code: "run_failed",
        causes: &[
            "The program ended with another exit code than 0",
            "The sandbox denied something that it needs",
        ],
        advice: &["Read what it printed", "See what was denied"],
        example: "brigade log --failed\nbrigade tools run show RUN --inputs",
    },
    CodeAdvice {
        code: "policy_missing",
        causes: &["The workspace has no policy, so agents are not served and no rule approves"],
        advice: &["Write a policy, and read it"],
        example: "brigade tools policy init",
    },
    CodeAdvice {
        code: "config_invalid",
        causes: &["A configuration file has a misspelled key or a wrong value"],
        advice: &["Correct the line that the error shows"],
        example: "brigade tools doctor",
    },
    CodeAdvice {
        code: "locked",
        causes: &["Another brigade process writes at this moment, or was stopped while it did"],
        advice: &["Try again; wait longer with --lock-timeout"],
        example: "brigade --lock-timeout 30 approve 1",
    },
    CodeAdvice {
        code: "not_approved_here",
        causes: &["The workspace was copied or moved from another host or directory"],
        advice: &["Look at what the other host approved, and adopt it"],
        example: "brigade state adopt",
    },
    CodeAdvice {
        code: "tracked_state",
        causes: &["A file below .brigade was committed"],
        advice: &["Remove it from git, and keep it ignored"],
        example: "git rm --cached .brigade/policy.toml",
    },
    CodeAdvice {
        code: "ambiguous",
        causes: &["The prefix is too short"],
        advice: &["Type more of the id, or a number of the list"],
        example: "brigade pending\nbrigade show 2",
    },
    CodeAdvice {
        code: "waiting_missing",
        causes: &["It was decided already", "The number is from an older list"],
        advice: &["List again what waits"],
        example: "brigade pending",
    },
    CodeAdvice {
        code: "policy_denied_effect",
        causes: &["The tool states an effect that policy.toml denies or does not allow"],
        advice: &["Allow the effect, or correct the effects of the tool"],
        example: "allowed_effects = [\"local-read\", \"local-write\"]",
    },
    CodeAdvice {
        code: "changed_program",
        causes: &["The program, or a script that it loads, was edited or updated after the approval"],
        advice: &["Queue the call again, and approve what would run now"],
        example: "brigade why CALL",
    },
    CodeAdvice {
        code: "changed_pin",
        causes: &["The MCP server lists the tool differently than a person accepted"],
        advice: &["Look at the change, and accept it"],
        example: "brigade tools pins list\nbrigade tools pins accept PIN",
    },
    CodeAdvice {
        code: "outcome_unknown",
        causes: &["The gateway or the server was stopped during the call"],
        advice: &["Check by hand what happened; a person decides about the next equal call"],
        example: "brigade why CALL",
    },
    CodeAdvice {
        code: "usage",
        causes: &["An option or argument is missing, misspelled or in the wrong place"],
        advice: &["Read the help of the command"],
        example: "brigade approve --help",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brigade::ErrorCode;
    use brigade::health::IssueType;

    use super::*;

    #[test]
    fn each_row_explains_a_code_once() {
        let mut known: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        known.extend(IssueType::all().iter().map(|issue| issue.code()));
        let mut seen = BTreeSet::new();
        for row in TABLE {
            assert!(known.contains(row.code) && seen.insert(row.code), "{}", row.code);
            assert!(!row.causes.is_empty() && !row.advice.is_empty(), "{}", row.code);
        }
    }
}
