//! Who approved a run, and when.

use brigade_core::Timestamp;
use brigade_core::json::exact;
use brigade_macros::record;
use brigade_policy::approval::ToolApproval;

use crate::approver::{ApprovedBy, Approver, ApproverKind};
use crate::call::Call;

/// The approval of a run.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct RunReview {
    /// When.
    #[serde(deserialize_with = "exact")]
    pub reviewed_at: Option<Timestamp>,
    /// Why.
    pub review_reason: Option<String>,
    /// Who or what approved; absent in older receipts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<ApproverKind>,
    /// Where the person decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The name of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The file of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The approval of the built-in tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<ToolApproval>,
    /// The agent whose client asked the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl RunReview {
    /// Returns the review of a call.
    pub fn from_call(call: &Call) -> RunReview {
        let review = RunReview {
            reviewed_at: call.reviewed_at,
            review_reason: call.review_reason.clone(),
            ..RunReview::default()
        };
        let Some(approval) = &call.approval else { return review };
        let Approver { by, reviewer, rule, file, line, row, agent } = approval.by.clone().into();
        RunReview { by: Some(by), reviewer, rule, file, line, row, agent, ..review }
    }

    /// Returns who or what approved; by default a person at the command line.
    pub(super) fn approver(&self) -> ApprovedBy {
        let RunReview { by, reviewer, rule, file, line, row, agent, .. } = self.clone();
        let stated = by.map(|by| Approver { by, reviewer, rule, file, line, row, agent });
        let stated = stated.and_then(|stated| ApprovedBy::try_from(stated).ok());
        stated.unwrap_or_else(ApprovedBy::command_line)
    }
}
