//! Verdicts of the executive in its other roles, from the result file or else from tags. Unclear ones do not count.

use brigade_core::json::{Dialect, from_json, present};
use brigade_core::{Json, Object, words};
use serde::Deserialize;

use super::result_file::common;
use super::{Evidence, Exit, Tags};

/// The verdict of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewVerdict {
    /// Whether the task passes.
    pub pass: bool,
    /// The reason for the verdict.
    pub reason: Option<String>,
}

words! {
    /// What to do after a failure.
    Choice {
        /// The task is tried again.
        Retry = "retry",
        /// The task is skipped.
        Skip = "skip",
        /// The service ends.
        Abort = "abort",
    }
}

/// A decision about a failed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureDecision {
    /// What to do.
    pub choice: Choice,
    /// Why.
    pub reason: Option<String>,
    /// Guidance for the next attempt.
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

words! {
    /// The state of a PRD according to a review.
    PhaseStatus {
        /// As planned.
        OnTrack = "on_track",
        /// With details to look at.
        MinorConcerns = "minor_concerns",
        /// With problems that need attention.
        NeedsAttention = "needs_attention",
    }
}

words! {
    /// Whether the next PRD begins.
    GateStatus {
        /// It begins.
        Proceed = "proceed",
        /// A person decides.
        Pause = "pause",
        /// It does not begin.
        Stop = "stop",
    }
}

/// A verdict of a phase review, or of the gate between two PRDs.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseVerdict<S> {
    /// The verdict.
    pub status: S,
    /// The text.
    pub content: String,
    /// Tasks to add, in the format of a PRD.
    pub remediation: Vec<Json>,
}

/// The result of planning.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanningResult {
    /// A PRD.
    Prd(Box<Json>),
    /// The path in the workspace of a file with a PRD, named by a tag.
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

/// What counts of an attempt: its result file, or its tags. `None` if the result file is invalid.
enum View {
    File(Box<Members>),
    Tags(Tags),
}

fn view(evidence: &Evidence<'_>) -> Option<View> {
    match evidence.read_result() {
        None => Some(View::Tags(Tags::find(evidence.answer.unwrap_or_default()))),
        Some(Err(_)) => None,
        Some(Ok(json)) => from_json(&json).ok().map(|members| View::File(Box::new(members))),
    }
}

/// Returns the cost that the result file of any role reports.
pub fn reported_cost(evidence: &Evidence<'_>) -> Option<f64> {
    let json = evidence.read_result()?.ok()?;
    common(&json).cost_usd
}

/// Returns whether the process succeeded. A failed process never makes anything pass.
fn ended_well(evidence: &Evidence<'_>) -> bool {
    evidence.exit == Exit::Code(0)
}

/// Returns the answer of a worker that exited with 0.
fn view_of_success(evidence: &Evidence<'_>) -> Option<View> {
    if ended_well(evidence) { view(evidence) } else { None }
}

/// Returns the verdict of a review; `None` if it is unclear. A failed review never passes.
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

/// Returns a decision about a failure; `None` if it is unclear.
pub fn read_decision(evidence: &Evidence<'_>) -> Option<FailureDecision> {
    match view_of_success(evidence)? {
        View::File(members) => {
            let (reason, guidance) = (members.reason, members.guidance);
            Some(FailureDecision { choice: members.decision?, reason, guidance })
        }
        View::Tags(tags) => {
            let word = tags.only("decision")?;
            let choice = *Choice::ALL.iter().find(|choice| choice.as_str().to_uppercase() == word)?;
            let text = |name: &str| tags.last(name).map(str::to_owned);
            Some(FailureDecision { choice, reason: text("reason"), guidance: text("guidance") })
        }
    }
}

/// Returns the answer about scope from the result file, else the guidance or decision in tags.
pub fn read_scope_answer(evidence: &Evidence<'_>) -> Option<ScopeAnswer> {
    let (answer, reason) = match view_of_success(evidence)? {
        View::File(members) => (members.answer?, members.reason),
        View::Tags(tags) => {
            let answer = tags.only("decision").or_else(|| tags.last("guidance"))?.to_owned();
            (answer, tags.last("reason").map(str::to_owned))
        }
    };
    (!answer.trim().is_empty()).then_some(ScopeAnswer { answer, reason })
}

/// Returns the verdict of a phase review; `None` if it is unclear.
pub fn read_phase_review(evidence: &Evidence<'_>) -> Option<PhaseVerdict<PhaseStatus>> {
    with_status(evidence, "phase_review", PhaseStatus::from_word)
}

/// Returns the verdict of the gate between two PRDs; `None` if it is unclear.
pub fn read_gate(evidence: &Evidence<'_>) -> Option<PhaseVerdict<GateStatus>> {
    with_status(evidence, "phase_gate", GateStatus::from_word)
}

fn with_status<S>(
    evidence: &Evidence<'_>,
    tag: &str,
    read: fn(&str) -> Option<S>,
) -> Option<PhaseVerdict<S>> {
    match view_of_success(evidence)? {
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

/// Returns the result of planning: from the result file, from the file that a tag names, or from the object at the end
/// of the answer. `None` if there is neither a PRD nor questions.
pub fn read_plan(evidence: &Evidence<'_>) -> Option<PlanningResult> {
    match view_of_success(evidence)? {
        View::File(members) => planned(*members),
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
            planned(from_json(&json).ok()?)
        }
    }
}

fn planned(members: Members) -> Option<PlanningResult> {
    match members.prd.flatten() {
        Some(prd) => Some(PlanningResult::Prd(Box::new(Json::Object(prd)))),
        None if !members.questions.is_empty() => Some(PlanningResult::Questions(members.questions)),
        None => None,
    }
}

/// Returns the object that is the whole answer, or that ends it in a code block. An echoed prompt never ends so.
fn closing_object(answer: &str) -> Option<Json> {
    let text = answer.trim();
    let text = match text.strip_suffix("```") {
        None => text,
        Some(body) => {
            // JSON strings contain no line feed, so this fence opens the block.
            let at = body.rfind("\n```").map_or(0, |at| at + 1);
            let block = body[at..].strip_prefix("```")?;
            // A word after the fence names the language.
            block.trim_start_matches(|c: char| c.is_ascii_alphanumeric())
        }
    };
    let json = Json::parse_bytes(text.trim().as_bytes(), Dialect::Strict).ok()?;
    json.as_object().is_some().then_some(json)
}

/// Returns the executive's part of the map: the member `output` of the result file, else the answer.
pub fn mapped(evidence: &Evidence<'_>) -> Option<String> {
    let output = output(evidence).filter(|output| ended_well(evidence) && *output != Json::Null)?;
    text_of(output)
}

/// Returns a worker's result for a task of an agent, however the worker ended. It is the member `output` of the result
/// file, as JSON unless it is a text, else the answer. `null` is a valid value.
pub fn read_tasks(evidence: &Evidence<'_>) -> Option<String> {
    text_of(output(evidence)?)
}

/// Returns the member `output` of the result file. Without a result file, returns the answer.
fn output(evidence: &Evidence<'_>) -> Option<Json> {
    if let View::File(members) = view(evidence)?
        && let Some(output) = members.output
    {
        return Some(output.unwrap_or(Json::Null));
    }
    // Only an echoed prompt contains the nonce.
    evidence.answer.filter(|answer| !answer.contains(evidence.nonce)).map(Json::from)
}

/// Formats an output: texts as they are, other values as JSON. A blank text counts as no output.
fn text_of(output: Json) -> Option<String> {
    let text = match output {
        Json::String(text) => text,
        other => other.to_compact(),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Explains why planning or a map gave no result.
pub fn missing_verdict_reason(evidence: &Evidence<'_>) -> String {
    if let Some(Err(fault)) = evidence.read_result() {
        return fault.to_string();
    }
    match (evidence.exit, evidence.limit.filter(|limit| limit.is_known)) {
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
