//! Who or what approved a call, as records and receipts say it.

use brigade_core::{FingerprintBuilder, words};
use brigade_policy::approval::{self, ToolApproval};
use serde::{Deserialize, Serialize};

/// Who or what approved a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Approver", try_from = "Approver")]
pub enum ApprovedBy {
    /// A person.
    Person {
        /// Where the person decided.
        reviewer: String,
    },
    /// A rule that a person wrote into the policy.
    Rule {
        /// The name of the rule.
        rule: String,
        /// The file of the rule.
        file: String,
        /// The line of the rule.
        line: u64,
    },
    /// The built-in tool, whose row says that its calls need no approval.
    NotNeeded {
        /// The approval of the row.
        row: ToolApproval,
    },
    /// The person in front of the agent, in the dialogue of the agent's own client.
    Elicitation {
        /// The agent.
        agent: String,
    },
}

words! {
    /// Who or what approved.
    ApproverKind {
        /// A person, here.
        Person = "person",
        /// A rule of the policy.
        Rule = "rule",
        /// A built-in tool whose calls need no approval.
        NotNeeded = "not-needed",
        /// A person, in the client of an agent.
        Elicitation = "elicitation",
    }
}

/// Who or what approved, as records say it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Approver {
    /// Who or what approved.
    pub(crate) by: ApproverKind,
    /// Where the person decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reviewer: Option<String>,
    /// The name of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    /// The file of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// The approval of the built-in tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row: Option<ToolApproval>,
    /// The agent whose client asked the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
}

impl From<ApprovedBy> for Approver {
    fn from(approved: ApprovedBy) -> Approver {
        let by = approved.kind();
        let stated =
            Approver { by, reviewer: None, rule: None, file: None, line: None, row: None, agent: None };
        match approved {
            ApprovedBy::Person { reviewer } => Approver { reviewer: Some(reviewer), ..stated },
            ApprovedBy::Rule { rule, file, line } => {
                Approver { rule: Some(rule), file: Some(file), line: Some(line), ..stated }
            }
            ApprovedBy::NotNeeded { row } => Approver { row: Some(row), ..stated },
            ApprovedBy::Elicitation { agent } => Approver { agent: Some(agent), ..stated },
        }
    }
}

impl TryFrom<Approver> for ApprovedBy {
    type Error = &'static str;

    fn try_from(stated: Approver) -> Result<ApprovedBy, Self::Error> {
        if stated.by == ApproverKind::NotNeeded {
            return stated.row.map(|row| ApprovedBy::NotNeeded { row }).ok_or(EXPECTED);
        }
        let rule = stated.rule.zip(stated.file.zip(stated.line));
        match (stated.by, stated.reviewer, stated.agent, rule) {
            // Earlier records. No rule of a policy is on line 0.
            (ApproverKind::Rule, .., Some((rule, (_, 0)))) if rule == ToolApproval::None.as_str() => {
                Ok(ApprovedBy::NotNeeded { row: ToolApproval::None })
            }
            (ApproverKind::Person, Some(reviewer), ..) => Ok(ApprovedBy::Person { reviewer }),
            (ApproverKind::Rule, .., Some((rule, (file, line)))) => Ok(ApprovedBy::Rule { rule, file, line }),
            (ApproverKind::Elicitation, _, Some(agent), _) => Ok(ApprovedBy::Elicitation { agent }),
            _ => Err(EXPECTED),
        }
    }
}

const EXPECTED: &str = "expected who or what approved";

impl ApprovedBy {
    /// The reviewer of decisions at the command line.
    pub const COMMAND_LINE: &str = "command-line";

    /// Returns the approval of a person at the command line.
    pub fn command_line() -> ApprovedBy {
        ApprovedBy::Person { reviewer: ApprovedBy::COMMAND_LINE.to_owned() }
    }

    /// Returns what an approval without a person is recorded as. `None` if a person decides.
    pub fn from_approval(approval: &approval::Approval<'_>) -> Option<ApprovedBy> {
        match approval {
            approval::Approval::Rule(rule) => Some(ApprovedBy::Rule {
                rule: rule.name.clone(),
                file: rule.place.file.clone(),
                line: rule.place.line.and_then(|line| u64::try_from(line).ok()).unwrap_or_default(),
            }),
            approval::Approval::NotNeeded(row) => Some(ApprovedBy::NotNeeded { row: *row }),
            approval::Approval::Person(_) => None,
        }
    }

    /// Returns the name of the rule that approved, if one did.
    pub fn rule(&self) -> Option<&str> {
        match self {
            ApprovedBy::Rule { rule, .. } => Some(rule),
            ApprovedBy::Person { .. } | ApprovedBy::NotNeeded { .. } | ApprovedBy::Elicitation { .. } => None,
        }
    }

    /// Returns which of them it is.
    pub fn kind(&self) -> ApproverKind {
        match self {
            ApprovedBy::Person { .. } => ApproverKind::Person,
            ApprovedBy::Rule { .. } => ApproverKind::Rule,
            ApprovedBy::NotNeeded { .. } => ApproverKind::NotNeeded,
            ApprovedBy::Elicitation { .. } => ApproverKind::Elicitation,
        }
    }

    /// Returns whether a person approved, here or in a client.
    pub fn is_person(&self) -> bool {
        match self {
            ApprovedBy::Person { .. } | ApprovedBy::Elicitation { .. } => true,
            ApprovedBy::Rule { .. } | ApprovedBy::NotNeeded { .. } => false,
        }
    }

    /// Returns whether a person at the command line approved, which records leave unsaid.
    pub(crate) fn is_usual(&self) -> bool {
        matches!(self, ApprovedBy::Person { reviewer } if reviewer == ApprovedBy::COMMAND_LINE)
    }

    /// Returns what records say, if it is not left unsaid.
    pub(crate) fn stated(&self) -> Option<&ApprovedBy> {
        Some(self).filter(|by| !by.is_usual())
    }

    /// Adds who or what approved to the fingerprint of an approval.
    pub(crate) fn add_to(&self, reviewed: FingerprintBuilder) -> FingerprintBuilder {
        match self {
            ApprovedBy::Person { .. } if self.is_usual() => reviewed,
            ApprovedBy::Person { reviewer } => reviewed.text("reviewer", reviewer.as_str()),
            ApprovedBy::Rule { rule, file, line } => reviewed
                .text("rule", rule.as_str())
                .text("file", file.as_str())
                .text("line", line.to_string().as_str()),
            // As earlier versions wrote it, so that their approvals hold.
            ApprovedBy::NotNeeded { row } => {
                reviewed.text("rule", row.as_str()).text("file", "built-in tools").text("line", "0")
            }
            ApprovedBy::Elicitation { agent } => reviewed.text("elicitation", agent.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::json::{compact_text, from_json};
    use brigade_core::{Fingerprint, Json};

    use super::*;

    /// Earlier records have a rule `none` on line 0 where a built-in tool needed no approval.
    #[test]
    fn earlier_approvals_without_need_hold() {
        let read = |text: &str| from_json::<ApprovedBy>(&Json::parse(text).unwrap());
        let row = ToolApproval::None;
        let earlier = r#"{"by": "rule", "rule": "none", "file": "built-in tools", "line": 0}"#;
        assert_eq!(read(earlier).unwrap(), ApprovedBy::NotNeeded { row });
        let written = compact_text(&ApprovedBy::NotNeeded { row }).unwrap();
        assert_eq!(written, r#"{"by":"not-needed","row":"none"}"#);
        assert_eq!(read(&written).unwrap(), ApprovedBy::NotNeeded { row });
        let rule =
            |rule: &str, file: &str, line| ApprovedBy::Rule { rule: rule.into(), file: file.into(), line };
        let of_policy = compact_text(&rule("none", "policy.toml", 3)).unwrap();
        assert_eq!(read(&of_policy).unwrap(), rule("none", "policy.toml", 3));
        assert!(read(r#"{"by": "not-needed"}"#).is_err());
        // What was approved before the variant is still approved.
        let print = |by: &ApprovedBy| by.add_to(Fingerprint::builder("test")).finish();
        assert_eq!(print(&ApprovedBy::NotNeeded { row }), print(&rule("none", "built-in tools", 0)));
    }
}
