//! Documents about work: the inbox and the brief.

use std::collections::BTreeMap;

use brigade_access::is_of_execution;
use brigade_call::Call;
use brigade_core::json::sorted;
use brigade_core::text::short;
use brigade_core::{Hint, NextStep, RefusalMember, Report, Timestamp, words};
use brigade_doctor::{InboxItem, IssueReport};
use brigade_kitchen::show::DecisionRow;
use brigade_macros::{document, part};

use super::HistoryRow;

/// `work inbox list`.
#[document("brigade.inbox.v1")]
pub struct InboxReport {
    /// The workspace root.
    pub target: String,
    /// The inbox file.
    pub imports_path: String,
    /// The rows, in file order.
    pub items: Vec<InboxItem>,
    /// Number of entries.
    pub item_count: usize,
    /// Number of all rows by status.
    pub counts: BTreeMap<String, u64>,
    /// Number of unreadable lines. The next change moves them to a quarantine file.
    pub unreadable_count: usize,
}

/// `work inbox show`, `promote`, `dismiss` and `done`.
#[document("brigade.inbox-item.v1")]
pub struct InboxItemReport {
    /// The workspace root.
    pub target: String,
    /// The inbox file.
    pub imports_path: String,
    /// The current row; `null` if no row matches.
    pub item: InboxItem,
    /// Why no row was found, or why it was not changed.
    pub error: RefusalMember<Option<String>>,
    /// Matching ids, if more than one row matches.
    pub candidates: RefusalMember<Vec<String>>,
}

/// `work brief`: pending decisions, and the next command to type.
#[document("brigade.work-brief.v1")]
pub struct BriefReport {
    /// The workspace root.
    pub target: String,
    /// Whether the catalog has no errors.
    pub valid: bool,
    /// Number of enabled tools.
    pub tool_count: usize,
    /// Number of calls that wait for a decision.
    pub pending_approval_count: u64,
    /// The oldest of these calls; `null` if no call waits.
    pub oldest_pending_call: Option<Box<Call>>,
    /// Number of calls that a person put on hold.
    #[serde(default)]
    pub held_count: u64,
    /// Number of approved calls that wait to run.
    pub approved_count: u64,
    /// Number of approved calls that changed since the approval and cannot run.
    pub stale_approval_count: u64,
    /// Number of checkpoints that wait for an answer.
    pub pending_checkpoint_count: usize,
    /// Number of calls by status.
    pub call_counts: BTreeMap<String, u64>,
    /// The most important issue of the catalog or a tool.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_tool_issue: Option<IssueReport>,
    /// The most important issue of a projection.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_projection_issue: Option<IssueReport>,
    /// The most important issue of the policy.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_policy_issue: Option<IssueReport>,
    /// The most important issue of a runtime.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_runtime_issue: Option<IssueReport>,
    /// The most important issue of a call.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_call_issue: Option<IssueReport>,
    /// The most important issue of a run.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_run_issue: Option<IssueReport>,
    /// The most important issue of a checkpoint.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_checkpoint_issue: Option<IssueReport>,
    /// The most important issue of the kitchen.
    #[serde(default, serialize_with = "sorted::serialize")]
    pub top_kitchen_issue: Option<IssueReport>,
    /// Number of all issues.
    pub issue_count: usize,
    /// Enabled runtimes that are not running, except those that start on demand.
    pub runtimes_down: Vec<String>,
    /// The newest runs of the last 24 hours that failed, newest last, at most 5.
    #[serde(default)]
    pub recent_failures: Vec<HistoryRow>,
    /// What agent programs of this machine have since it was remembered (`new mcp:x`, `changed mcp:x`, `gone mcp:x`).
    #[serde(default)]
    pub machine_changes: Vec<String>,
    /// PRDs of the kitchen whose last service was killed or interrupted.
    #[serde(default)]
    pub interrupted_prds: Vec<String>,
    /// Number of inbox rows by status.
    pub inbox: BTreeMap<String, u64>,
    /// Decisions of the kitchen that wait, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kitchen_decisions: Vec<DecisionRow>,
    /// Everything that waits for a person, oldest first, at most 200: approvals, checkpoints, decisions, questions.
    #[serde(default)]
    pub waiting: Vec<WaitingRow>,
    /// The next command to type.
    pub next_command: Hint,
    /// Why this command is next.
    pub next_reason: String,
}

words! {
    /// The kind of something that waits for a person.
    WaitingKind {
        /// A call, for its approval.
        Approval = "approval",
        /// A plan of an agent.
        Plan = "plan",
        /// A checkpoint of a run.
        Checkpoint = "checkpoint",
        /// A decision of the kitchen.
        Decision = "decision",
        /// A question of an agent.
        Question = "question",
    }
}

words! {
    /// The effect of an answer.
    AnswerOutcome {
        /// The call or checkpoint was approved.
        Approved = "approved",
        /// It was rejected.
        Rejected = "rejected",
        /// The question was answered.
        Answered = "answered",
        /// The answer to the question was declined.
        Declined = "declined",
    }
}

/// Something that waits for a person.
#[part(PartialEq)]
pub struct WaitingRow {
    /// Its id, which `work answer` takes.
    pub id: String,
    /// The kind.
    pub kind: WaitingKind,
    /// The requester: `agent:NAME` (`agent:NAME of ID` for an execution), `command-line`, a tool, or a PRD of the
    /// kitchen.
    pub who: String,
    /// The text of the request, without secrets.
    pub text: String,
    /// The possible answers; empty if the answer is free text.
    pub choices: Vec<String>,
    /// When it was asked.
    pub created_at: Option<Timestamp>,
    /// The command that shows or answers it.
    pub next: Hint,
}

impl WaitingRow {
    /// Returns the name of the requester: the caller, with its execution if it has one.
    pub(crate) fn who(caller: &str, session: Option<&str>) -> String {
        match session.filter(|session| is_of_execution(session)) {
            Some(execution) => format!("{caller} of {execution}"),
            None => caller.to_owned(),
        }
    }

    /// Creates the row of a question of an agent in a session.
    pub fn question(
        id: String,
        (agent, session): (&str, &str),
        text: &str,
        choices: Vec<String>,
        created_at: Timestamp,
    ) -> WaitingRow {
        let next = match choices.is_empty() {
            true => NextStep::AnswerByText(id.clone()),
            false => NextStep::AnswerByChoice(id.clone()),
        };
        WaitingRow {
            id,
            kind: WaitingKind::Question,
            who: WaitingRow::who(&format!("agent:{agent}"), Some(session)),
            text: short(text, WaitingRow::TEXT),
            choices,
            created_at: Some(created_at),
            next: next.into(),
        }
    }

    /// The maximum length of the text in a row, in characters.
    pub(crate) const TEXT: usize = 300;
}

/// `work answer`: the answered row and the effect.
#[document("brigade.work-answer.v1")]
#[derive(PartialEq)]
pub struct WorkAnswerReport {
    /// The workspace root.
    pub target: String,
    /// The id of the answered row.
    pub id: String,
    /// Its kind, as in the brief.
    pub kind: WaitingKind,
    /// The effect of the answer.
    pub outcome: AnswerOutcome,
    /// The next command to try.
    pub next_command: Hint,
}

impl WorkAnswerReport {
    /// Reports the effect of an answer.
    pub fn new(
        target: String,
        row: &WaitingRow,
        outcome: AnswerOutcome,
        next_command: Hint,
    ) -> WorkAnswerReport {
        WorkAnswerReport {
            schema: WorkAnswerReport::SCHEMA,
            target,
            id: row.id.clone(),
            kind: row.kind,
            outcome,
            next_command,
        }
    }
}

/// `import-issues`.
#[document("brigade.import-issues.v1")]
pub struct ImportReport {
    /// The workspace root.
    pub target: String,
    /// The inbox file.
    pub imports_path: String,
    /// Number of issues.
    pub issues: usize,
    /// Number of new rows.
    pub created: usize,
    /// Number of issues that already have a row.
    pub skipped: usize,
    /// Number of dismissed issues without a change since.
    pub dismissed: usize,
    /// The new rows.
    pub imports: Vec<InboxItem>,
    /// Number of unreadable inbox lines that were moved to a quarantine file.
    pub quarantined: usize,
    /// The quarantine file.
    pub quarantine_path: Option<String>,
}

#[cfg(test)]
mod tests {
    use brigade_core::Report as _;

    use super::*;

    #[test]
    fn an_execution_is_named_beside_its_caller() {
        for (caller, session, expect) in [
            ("agent:ann", None, "agent:ann"),
            ("agent:ann", Some("s-1"), "agent:ann"),
            ("agent:ann", Some("task-1"), "agent:ann of task-1"),
            ("command-line", None, "command-line"),
        ] {
            assert_eq!(WaitingRow::who(caller, session), expect);
        }
    }

    #[test]
    fn a_question_is_answered_by_a_choice_or_a_text() {
        let at = "2026-01-02T00:00:00Z".parse().unwrap();
        let row = |text: &str, choices: &[&str]| {
            let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
            WaitingRow::question("q-1".to_owned(), ("ann", "s-1"), text, choices, at)
        };
        assert_eq!(row("Go on?", &["yes"]).next.step(), Some(&NextStep::AnswerByChoice("q-1".to_owned())));
        assert_eq!(row("Why?", &[]).next.step(), Some(&NextStep::AnswerByText("q-1".to_owned())));
        let long = row(&"x".repeat(1_000), &[]);
        assert_eq!((long.text.chars().count(), long.kind), (WaitingRow::TEXT, WaitingKind::Question));
        let next = Hint::from(NextStep::ShowBrief);
        let report = WorkAnswerReport::new("/memory".to_owned(), &long, AnswerOutcome::Answered, next);
        assert_eq!((report.id.as_str(), report.kind), ("q-1", WaitingKind::Question));
        assert_eq!(report.schema, WorkAnswerReport::SCHEMA);
    }
}
