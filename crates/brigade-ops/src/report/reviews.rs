//! Documents of a review: what waits, and one thing with everything that a decision about it covers.

use brigade_call::{BoundCode, Preview};
use brigade_call::{Call, Checkpoint, Difference};
use brigade_core::{Hint, Timestamp, words};
use brigade_kitchen::show::DecisionRow;
use brigade_macros::{document, part};
use brigade_policy::{Access, BlockerDetail, RiskLevel};

use super::{HistoryRow, LifeEvent, OfferGroup, PendingRow, PinSummary, WaitingKind};

/// What waits for a person: each list riskiest first, then oldest first.
#[document("brigade.waiting.v1")]
#[derive(Default, PartialEq)]
pub struct WaitingReport {
    /// The workspace root.
    pub target: String,
    /// Number of things that wait.
    pub waiting_count: usize,
    /// Calls that are pending or held.
    pub calls: Vec<WaitingItem>,
    /// Checkpoints of runs.
    pub checkpoints: Vec<WaitingItem>,
    /// Decisions of the kitchen.
    pub decisions: Vec<WaitingItem>,
    /// Questions of agents.
    pub questions: Vec<WaitingItem>,
    /// Approved calls of the command line that did not run yet. They are not counted.
    pub approved: Vec<WaitingItem>,
}

impl WaitingReport {
    /// Returns everything that waits for a decision in one list: riskiest first, then oldest first.
    pub fn items(&self) -> Vec<&WaitingItem> {
        let lists = [&self.calls, &self.checkpoints, &self.decisions, &self.questions];
        let mut items: Vec<&WaitingItem> = lists.into_iter().flatten().collect();
        items.sort_by(|left, right| left.order().cmp(&right.order()));
        items
    }
}

/// Something that waits, with its risk.
#[part(PartialEq)]
pub struct WaitingItem {
    /// The thing. It has one id, and its number is 0.
    #[serde(flatten)]
    pub row: PendingRow,
    /// How much it can do. What runs nothing is `low`.
    pub risk: RiskLevel,
    /// The revision of a call; 0 for other things.
    pub revision: u64,
}

impl WaitingItem {
    /// Returns the id.
    pub fn id(&self) -> &str {
        self.row.ids.first().map_or("", String::as_str)
    }

    /// Returns whether it is a call.
    pub fn is_call(&self) -> bool {
        matches!(self.row.kind, WaitingKind::Approval | WaitingKind::Plan)
    }

    /// Returns what puts the riskiest first, then the oldest.
    pub(crate) fn order(&self) -> (std::cmp::Reverse<RiskLevel>, Option<Timestamp>, &str) {
        (std::cmp::Reverse(self.risk), self.row.created_at, self.id())
    }
}

words! {
    /// What a person can do with a call now.
    ReviewOffer {
        /// Approve it.
        Approve = "approve",
        /// Reject it, with a reason.
        Reject = "reject",
        /// Put it on hold.
        Hold = "hold",
        /// Add a rule that approves such calls.
        Always = "always",
        /// Run it.
        Run = "run",
    }
}

/// One call in full.
#[document("brigade.review-call.v1")]
pub struct ReviewCall {
    /// The workspace root.
    pub target: String,
    /// The call, as in `call show`.
    pub call: Call,
    /// The shortest unique form of its id.
    pub short_id: String,
    /// How much it can do.
    pub risk: RiskLevel,
    /// The words of the command line as they would be run now, without secrets; invisible characters are visible.
    pub argv: Vec<String>,
    /// Why it could not be approved or run now.
    pub blockers: Vec<BlockerDetail>,
    /// What the policy says, each with the file and line of its rule.
    pub policy: Vec<RulingReport>,
    /// What it may read, write and reach; `null` if it is decided.
    pub touches: Option<Access>,
    /// The code that an approval binds, and the code that it does not; `null` if it is decided.
    pub code: Option<BoundCode>,
    /// The preview, as in `call show`; `null` if it is decided.
    pub preview: Option<Box<Preview>>,
    /// How it differs from the last approved call of the tool; `null` without one.
    pub diff: Option<Difference>,
    /// Changes since the approval that prevent the call from running.
    pub changed: Vec<String>,
    /// The pin of its MCP tool, and the changes of the server since; `null` without a pin.
    pub pin: Option<PinSummary>,
    /// The last three runs of the tool among the newest, newest first.
    pub runs: Vec<HistoryRow>,
    /// Everything that was decided about the call and happened to it, oldest first.
    pub events: Vec<LifeEvent>,
    /// What a person can do with it now.
    pub offers: Vec<ReviewOffer>,
    /// What the hosts of a team would run, as their runners say; left out without a team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_offers: Vec<OfferGroup>,
    /// The revision of the record.
    pub revision: u64,
    /// The fingerprint of what a decision covers. A decision that names it counts only while it is the same.
    pub review_fingerprint: String,
}

/// A checkpoint, a decision of the kitchen or a question of an agent in full.
#[document("brigade.review-question.v1")]
pub struct ReviewQuestion {
    /// The workspace root.
    pub target: String,
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: WaitingKind,
    /// Who asks.
    pub who: String,
    /// The whole question.
    pub text: String,
    /// The possible answers; empty if the answer is free text.
    pub choices: Vec<String>,
    /// When it was asked.
    pub created_at: Option<Timestamp>,
    /// The checkpoint; `null` for other questions.
    pub checkpoint: Option<Box<Checkpoint>>,
    /// The decision of the kitchen; `null` for other questions.
    pub decision: Option<DecisionRow>,
    /// The command that shows or answers it.
    pub next: Hint,
    /// The fingerprint of what an answer covers. An answer that names it counts only while it is the same.
    pub review_fingerprint: String,
}

/// The ruling of one rule.
#[part]
pub struct RulingReport {
    /// The subject: `family`, `effect`, `environment`, `files`, `network`, `limits` and so on.
    pub topic: String,
    /// The particular effect, label or limit.
    pub subject: Option<String>,
    /// Whether the ruling allows the call.
    pub allowed: bool,
    /// The ruling, as one sentence.
    pub message: String,
    /// The file of the rule that decided.
    pub file: Option<String>,
    /// The line of the rule, from 1.
    pub line: Option<usize>,
    /// How to change the ruling.
    pub hint: Option<String>,
}
