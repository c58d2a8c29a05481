//! Documents about calls.

use brigade_call::{BoundCode, Call, PlanSummary, Preview, RUNS, Receipt, StoreKind};
use brigade_core::json::sorted;
use brigade_core::{NextStep, Report};
use brigade_macros::document;
use brigade_policy::{BlockerDetail, PolicyDecision};
use brigade_projection::ProjectionSummary;
use brigade_workspace::WorkspaceContext;

use super::{OfferGroup, PinSummary, ProjectionReport, RefusalMember};

pub use brigade_call::{BatchRow, PassedOver};

/// `call plan`: the plan of a call, and all reasons why it may not run.
#[document("brigade.call-plan.v1", if self.valid)]
pub struct PlanReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the call has no blockers.
    pub valid: bool,
    /// The tool.
    pub tool_id: String,
    /// The plan, without secrets; empty if the tool does not exist.
    #[serde(serialize_with = "sorted::serialize")]
    pub plan: PlanSummary,
    /// All reasons against the call, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and fix.
    pub blocker_details: Vec<BlockerDetail>,
    /// The policy decision.
    pub policy: PolicyDecision,
    /// Problems that do not block the call: likely mistakes in the policy, such as a key without effect; why the
    /// arguments were not checked; observations of the tool that do not match; and words of its command that only a
    /// shell interprets.
    pub warnings: Vec<String>,
    /// Violations of the input schema.
    pub validation_errors: Vec<String>,
    /// The projections that block the call.
    #[serde(serialize_with = "sorted::serialize")]
    pub projection_blockers: Vec<ProjectionReport>,
    /// Counts and paths of the projections.
    pub projection_summary: ProjectionSummary,
    /// The fingerprint of the contract.
    pub contract_fingerprint: Option<String>,
    /// The fingerprint of the source.
    pub source_fingerprint: Option<String>,
    /// The fingerprint of the call.
    pub call_fingerprint: Option<String>,
    /// The words of the command line, without secrets; empty if it cannot be built.
    pub argv: Vec<String>,
    /// Which files an approval binds and by what, and what it does not bind.
    pub bound_code: BoundCode,
}

/// `call queue`: the result for a planned call.
#[document("brigade.call-queue.v1")]
pub struct QueueReport {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// 1 if the call was stored.
    pub created: u8,
    /// 1 if an equal call existed.
    pub skipped: u8,
    /// 1 if the call has blockers.
    pub blocked: u8,
    /// The stored or existing call. If nothing was stored, the call that would have been, without secrets.
    pub call: Call,
    /// Why nothing was stored.
    pub reason: Option<String>,
    /// All reasons against the call, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and fix.
    pub blocker_details: Vec<BlockerDetail>,
}

/// `call show`.
#[document("brigade.call.v1")]
pub struct CallReport {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// The call; `null` if no call matches.
    pub call: Call,
    /// The preview of the call now; `null` if it is decided, its tool does not exist, or the policy is invalid.
    pub preview: Option<Box<Preview>>,
    /// Why it could not run now; empty if it is decided or could run.
    pub blocker_details: Vec<BlockerDetail>,
    /// Changes since the approval that prevent the call from running; empty if nothing changed.
    pub changed: Vec<String>,
    /// The pin of its MCP tool, and the changes of the server since; `null` without a pin.
    pub pin: Option<PinSummary>,
    /// What the hosts of a team would run, as their runners say; left out without offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<OfferGroup>,
    /// Why nothing was found.
    pub(crate) error: RefusalMember<Option<String>>,
    /// Matching ids, if more than one call matches.
    pub(crate) candidates: RefusalMember<Vec<String>>,
    /// The next step that would be accepted now; not in the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
}

/// `call approve`, `call reject`, `call hold`.
#[document("brigade.call-review.v1")]
pub struct ReviewReport {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// The current call; `null` if no call matches.
    pub call: Call,
    /// The approved preview; `null` for other decisions.
    pub preview: Option<Box<Preview>>,
    /// What the hosts of a team would run, of which the approval covers some; left out without offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<OfferGroup>,
    /// The current pin of its MCP tool; `null` without a pin.
    pub pin: Option<PinSummary>,
    /// Changes of the server that this approval accepted, as sentences. The pin was renewed to exactly these.
    pub accepted_changes: Vec<String>,
    /// All reasons against it, as sentences.
    pub(crate) blockers: RefusalMember<Vec<String>>,
    /// The same reasons with code, place and fix.
    pub(crate) blocker_details: RefusalMember<Vec<BlockerDetail>>,
    /// Matching ids, if more than one call matches.
    pub(crate) candidates: RefusalMember<Vec<String>>,
}

/// `call run`: the result of a run, or why nothing ran.
#[document("brigade.call-run.v1", if self.succeeded)]
pub struct RunReport {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// The current call; `null` if no call matches.
    pub call: Call,
    /// The receipt; `null` if nothing ran.
    pub receipt: Box<Receipt>,
    /// All reasons why nothing ran, as sentences.
    pub(crate) blockers: RefusalMember<Vec<String>>,
    /// The same reasons with code, place and fix.
    pub(crate) blocker_details: RefusalMember<Vec<BlockerDetail>>,
    /// Names of what changed since the approval.
    pub(crate) changed: RefusalMember<Vec<String>>,
    /// Approved calls that `--next` skipped, and why.
    pub passed_over: Vec<PassedOver>,
    /// Warnings of the run, which did not prevent it.
    pub warnings: Vec<String>,
    /// Why nothing ran.
    #[serde(rename = "error", skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Matching ids, if more than one call matches.
    pub(crate) candidates: RefusalMember<Vec<String>>,
    /// Whether the run succeeded; not in the document.
    #[serde(skip)]
    pub succeeded: bool,
}

impl RunReport {
    /// Reports a recorded run.
    pub fn new(context: &WorkspaceContext, call: Call, receipt: Receipt, succeeded: bool) -> RunReport {
        RunReport {
            schema: RunReport::SCHEMA,
            target: context.target(),
            calls_path: context.calls_path(),
            store: context.store_kind(),
            runs_path: context.absolute(RUNS),
            call: call.shown(context),
            receipt: Box::new(receipt.shown(context)),
            blockers: RefusalMember::default(),
            blocker_details: RefusalMember::default(),
            changed: RefusalMember::default(),
            passed_over: Vec::new(),
            warnings: Vec::new(),
            failure: None,
            candidates: RefusalMember::default(),
            succeeded,
        }
    }
}

/// `call queue --stdin`: how many calls were stored.
#[document("brigade.call-batch.v1", if self.refused == 0)]
pub struct BatchReport {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// Number of stored calls.
    pub created: usize,
    /// Number of calls that existed or were rejected before.
    pub skipped: usize,
    /// Number of invalid lines and blocked calls.
    pub refused: usize,
}

#[cfg(test)]
mod tests {
    use brigade_core::Exit;
    use brigade_workspace::POLICY;

    use super::*;
    use crate::Request;
    use crate::testing::{CallBench, RunEnding};

    #[test]
    fn a_report_that_did_not_do_it_exits_as_refused() {
        let bench = CallBench::new("");
        let plan = || bench.calls.plan(Request::new("tool")).unwrap().exit();
        assert_eq!(plan(), Exit::Done);
        for (args, ending, exit) in [
            (r#"{"a":1}"#, RunEnding::completed(), Exit::Done),
            (r#"{"a":2}"#, RunEnding::failed(), Exit::Refused),
            (r#"{"a":3}"#, RunEnding::waiting(&[("ask", &["yes"])]), Exit::Done),
        ] {
            assert_eq!(bench.ran(args, ending).exit(), exit, "{args}");
        }
        let batch = |lines: &[u8]| {
            let refuse = brigade_call::OnBlocked::Refuse;
            bench.calls.queue_lines(&mut &*lines, refuse, &mut |_| ()).unwrap().exit()
        };
        assert_eq!(
            batch(b"{\"tool\":\"tool\"}\n{\"tool\":\"tool\"}\n"),
            Exit::Done,
            "an equal call is no failure"
        );
        assert_eq!(batch(b"{\"tool\":\"tool\"}\nnot json\n"), Exit::Refused);
        let verify = || bench.runs().verify(1).unwrap().exit();
        assert_eq!(verify(), Exit::Done);
        bench.remove(".brigade/tools/runs/ledger.jsonl");
        assert_eq!(verify(), Exit::Refused);
        bench.write(POLICY, "= =");
        assert_eq!(plan(), Exit::Refused);
    }

    #[test]
    fn paths_of_a_document_are_absolute() {
        let bench = CallBench::new("");
        let run = bench.ran("{}", RunEnding::completed());
        assert_eq!((run.target.as_str(), run.runs_path.as_str()), ("/memory", "/memory/.brigade/tools/runs"));
        assert_eq!(run.calls_path, "/memory/.brigade/tools/calls.jsonl");
        let log = run.receipt.stdout_log_path.as_deref();
        assert_eq!(log, Some(&*format!("/memory/.brigade/tools/runs/{}.stdout.log", run.receipt.id)));
    }
}
