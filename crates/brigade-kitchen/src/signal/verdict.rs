//! What the executive says in its other roles: by result file, else by tags. Anything unclear is no verdict.

use brigade_core::json::{Dialect, from_json, present};
use brigade_core::{Json, Object};
use serde::{Deserialize, Serialize};

use super::result_file::common;
use super::{Evidence, Exit, Tags};

/// The verdict of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewVerdict {
    /// Whether the task passes.
    pub pass: bool,
    /// Why not, or what was good.
    pub reason: Option<String>,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The task goes on.
    Retry,
    /// The task is left out.
    Skip,
    /// The service ends.
    Abort,
}

/// A decision about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureDecision {
    /// What follows.
    pub choice: Choice,
    /// Why.
    pub reason: Option<String>,
    /// What the next attempt is told.
    pub guidance: Option<String>,
}

/// An answer to a question about scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeAnswer {
    /// The answer.
    pub answer: String,
    /// Why.
    pub reason: Option<String>,
}

/// How a PRD stands, as a review of it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// As planned.
    OnTrack,
    /// With details to look at.
    MinorConcerns,
    /// Something is wrong.
    NeedsAttention,
}

/// Whether the next PRD begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    /// It does.
    Proceed,
    /// A person decides.
    Pause,
    /// It does not.
    Stop,
}

impl GateStatus {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            GateStatus::Proceed => "proceed",
            GateStatus::Pause => "pause",
            GateStatus::Stop => "stop",
        }
    }
}

/// A review of a PRD, or of what stands between two.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseVerdict<S> {
    /// The verdict.
    pub status: S,
    /// The text.
    pub content: String,
    /// Tasks that it wants to add, as a PRD has them.
    pub remediation: Vec<Json>,
}

/// What planning gave.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanningResult {
    /// A PRD.
    Prd(Box<Json>),
    /// A file with a PRD, named by a tag; inside of the workspace.
    Path(String),
    /// Questions for a person.
    Questions(Vec<String>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members {
    review: Option<String>,
    decision: Option<Choice>,
    reason: Option<String>,
    guidance: Option<String>,
    answer: Option<String>,
    status: Option<String>,
    content: Option<String>,
    remediation: Vec<Json>,
    #[serde(deserialize_with = "present")]
    prd: Option<Option<Object>>,
    questions: Vec<String>,
    #[serde(deserialize_with = "present")]
    output: Option<Option<Json>>,
}

/// What counts of an attempt: the members of its result file, or its tags. `None` if the result file does not count.
enum View {
    File(Box<Members>),
    Tags(Tags),
}

fn view(evidence: &Evidence<'_>) -> Option<View> {
    match evidence.result.read(evidence.nonce) {
        None => Some(View::Tags(Tags::find(evidence.answer.unwrap_or_default()))),
        Some(Err(_)) => None,
        Some(Ok(json)) => from_json(&json).ok().map(|members| View::File(Box::new(members))),
    }
}

/// Returns the cost that the result file of any role reports.
pub fn reported_cost(evidence: &Evidence<'_>) -> Option<f64> {
    let json = evidence.result.read(evidence.nonce)?.ok()?;
    common(&json).cost_usd
}

/// Returns whether the process ended well. What is said by one that failed never lets anything pass.
fn ended_well(evidence: &Evidence<'_>) -> bool {
    evidence.exit == Exit::Code(0)
}

/// Returns the verdict of a review. `None` if it is unclear, and never a pass from a review that failed.
pub fn read_review(evidence: &Evidence<'_>) -> Option<ReviewVerdict> {
    let (verdict, reason) = match view(evidence)? {
        View::File(members) => (members.review?.to_ascii_lowercase(), members.reason),
        View::Tags(tags) => {
            (tags.only("review")?.to_ascii_lowercase(), tags.last("reason").map(str::to_owned))
        }
    };
    match verdict.as_str() {
        "pass" if ended_well(evidence) => Some(ReviewVerdict { pass: true, reason }),
        "fail" => Some(ReviewVerdict { pass: false, reason }),
        _ => None,
    }
}

/// Returns a decision about a failure. `None` if it is unclear.
pub fn read_decision(evidence: &Evidence<'_>) -> Option<FailureDecision> {
    if !ended_well(evidence) {
        return None;
    }
    match view(evidence)? {
        View::File(members) => {
            let (reason, guidance) = (members.reason, members.guidance);
            Some(FailureDecision { choice: members.decision?, reason, guidance })
        }
        View::Tags(tags) => {
            let choice = match tags.only("decision")? {
                "RETRY" => Choice::Retry,
                "SKIP" => Choice::Skip,
                "ABORT" => Choice::Abort,
                _ => return None,
            };
            let text = |name: &str| tags.last(name).map(str::to_owned);
            Some(FailureDecision { choice, reason: text("reason"), guidance: text("guidance") })
        }
    }
}

/// Returns the answer to a question about scope: that of the result file, else the guidance or the decision in tags.
pub fn read_scope_answer(evidence: &Evidence<'_>) -> Option<ScopeAnswer> {
    if !ended_well(evidence) {
        return None;
    }
    let (answer, reason) = match view(evidence)? {
        View::File(members) => (members.answer?, members.reason),
        View::Tags(tags) => {
            let answer = tags.only("decision").or_else(|| tags.last("guidance"))?.to_owned();
            (answer, tags.last("reason").map(str::to_owned))
        }
    };
    (!answer.trim().is_empty()).then_some(ScopeAnswer { answer, reason })
}

/// Returns a review of a PRD. `None` if it is unclear.
pub fn read_phase_review(evidence: &Evidence<'_>) -> Option<PhaseVerdict<PhaseStatus>> {
    with_status(evidence, "phase_review", |word| match word {
        "on_track" => Some(PhaseStatus::OnTrack),
        "minor_concerns" => Some(PhaseStatus::MinorConcerns),
        "needs_attention" => Some(PhaseStatus::NeedsAttention),
        _ => None,
    })
}

/// Returns whether the next PRD begins. `None` if it is unclear.
pub fn gated(evidence: &Evidence<'_>) -> Option<PhaseVerdict<GateStatus>> {
    with_status(evidence, "phase_gate", |word| match word {
        "proceed" => Some(GateStatus::Proceed),
        "pause" => Some(GateStatus::Pause),
        "stop" => Some(GateStatus::Stop),
        _ => None,
    })
}

fn with_status<S>(
    evidence: &Evidence<'_>,
    tag: &str,
    read: fn(&str) -> Option<S>,
) -> Option<PhaseVerdict<S>> {
    if !ended_well(evidence) {
        return None;
    }
    match view(evidence)? {
        View::File(members) => {
            let status = read(&members.status?.to_ascii_lowercase())?;
            let content = members.content.unwrap_or_default();
            Some(PhaseVerdict { status, content, remediation: members.remediation })
        }
        View::Tags(tags) => {
            let text = tags.only(tag)?;
            let rest = text.strip_prefix("STATUS:")?.trim_start();
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let status = read(&rest[..end].to_ascii_lowercase())?;
            Some(PhaseVerdict { status, content: rest[end..].trim().to_owned(), remediation: Vec::new() })
        }
    }
}

/// Returns what planning gave: in the result file, in the file that a tag names, or in the object that ends the answer.
/// `None` if it is neither a PRD nor questions.
pub fn read_plan(evidence: &Evidence<'_>) -> Option<PlanningResult> {
    if !ended_well(evidence) {
        return None;
    }
    match view(evidence)? {
        View::File(members) => match members.prd.flatten() {
            Some(prd) => Some(PlanningResult::Prd(Box::new(Json::Object(prd)))),
            None if !members.questions.is_empty() => Some(PlanningResult::Questions(members.questions)),
            None => None,
        },
        View::Tags(tags) => {
            if tags.last("prd_generated").is_some() {
                let path = tags.only("prd_generated")?;
                let is_inside = !path.starts_with(['/', '~']) && path.split('/').all(|name| name != "..");
                return is_inside.then(|| PlanningResult::Path(path.to_owned()));
            }
            let json = closing_object(evidence.answer?)?;
            if json.get("tasks").is_some() {
                return Some(PlanningResult::Prd(Box::new(json)));
            }
            let members: Members = from_json(&json).ok()?;
            match members.prd.flatten() {
                Some(prd) => Some(PlanningResult::Prd(Box::new(Json::Object(prd)))),
                None if !members.questions.is_empty() => Some(PlanningResult::Questions(members.questions)),
                None => None,
            }
        }
    }
}

/// Returns the object that an answer is, or that it ends with in a code block. An echoed prompt ends with neither.
fn closing_object(answer: &str) -> Option<Json> {
    let text = answer.trim();
    let text = match text.strip_suffix("```") {
        None => text,
        Some(body) => {
            // No string of JSON has a line feed in it, so this is the fence that opens the block.
            let at = body.rfind("\n```").map_or(0, |at| at + 1);
            let block = body[at..].strip_prefix("```")?;
            // The word behind the fence names the language.
            block.trim_start_matches(|c: char| c.is_ascii_alphanumeric())
        }
    };
    let json = Json::parse_bytes(text.trim().as_bytes(), Dialect::Strict).ok()?;
    json.as_object().is_some().then_some(json)
}

/// Returns the part of the map that the executive wrote: the member `output` of the result file, else its answer.
pub fn mapped(evidence: &Evidence<'_>) -> Option<String> {
    let output = output(evidence).filter(|output| ended_well(evidence) && *output != Json::Null)?;
    text_of(output)
}

/// Returns what a worker gave for a task of an agent, however it ended: the member `output` of the result file, as JSON
/// if it is no text, else its answer. `null` is a value, too.
pub fn read_tasks(evidence: &Evidence<'_>) -> Option<String> {
    text_of(output(evidence)?)
}

/// Returns the member `output` of the result file. Without it, the answer counts.
fn output(evidence: &Evidence<'_>) -> Option<Json> {
    if let View::File(members) = view(evidence)?
        && let Some(output) = members.output
    {
        return Some(output.unwrap_or(Json::Null));
    }
    // Only an echoed prompt has the nonce.
    evidence.answer.filter(|answer| !answer.contains(evidence.nonce)).map(Json::from)
}

/// Writes an output that is no text as JSON. A blank text counts as no output.
fn text_of(output: Json) -> Option<String> {
    let text = match output {
        Json::String(text) => text,
        other => other.to_compact(),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Says why planning or a map gave nothing.
pub fn missing_verdict_reason(evidence: &Evidence<'_>) -> String {
    if let Some(Err(fault)) = evidence.result.read(evidence.nonce) {
        return fault.to_string();
    }
    match (evidence.exit, evidence.limit) {
        (_, Some(limit)) => match limit.until {
            Some(until) => format!("the limit of the provider is reached until {until}"),
            None => "the limit of the provider is reached".to_owned(),
        },
        (Exit::TimeLimit, _) => "it was ended at its time limit".to_owned(),
        (Exit::Stalled, _) => "it was ended because it printed nothing".to_owned(),
        (Exit::Interrupted, _) => "it was interrupted".to_owned(),
        (Exit::Signal(signal), _) => format!("it was ended by signal {signal}"),
        (Exit::Code(0), _) => "its answer has neither what was asked for nor questions".to_owned(),
        (Exit::Code(code), _) => format!("it exited with {code}"),
    }
}
