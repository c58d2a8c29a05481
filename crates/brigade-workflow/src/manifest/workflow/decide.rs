//! Decides the next state: a pure function of the workflow, the execution and the outcome of the current state.

use std::collections::BTreeMap;

use brigade_core::json::to_json;
use brigade_core::{Json, Object};
use serde::{Deserialize, Serialize};

use super::evaluate::{Scope, number};
use super::template::Template;
use super::{Condition, Consensus, State, StateKind, Strategy, Transition, WorkflowSpec};

/// The default score from which an agent approves.
const THRESHOLD: f64 = 0.7;

/// The position of an execution in its workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionState {
    /// The current state.
    pub state: String,
    /// How often each state was visited.
    pub visits: BTreeMap<String, u64>,
    /// The number of transitions so far.
    pub transitions: u64,
}

/// The verdict of one of several agents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The score, from 0 to 1.
    pub score: f64,
    /// How sure the agent is, from 0 to 1.
    pub confidence: f64,
    /// The weight of the verdict.
    pub weight: f64,
}

/// The outcome of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether the state succeeded.
    pub is_success: bool,
    /// The code of the failure.
    pub code: Option<String>,
    /// The message of the failure.
    pub message: Option<String>,
    /// The output of the state.
    pub output: Json,
    /// The exit code of the command.
    pub exit_code: Option<i64>,
    /// The score of the output, from 0 to 1.
    pub score: Option<f64>,
    /// The confidence of that score, from 0 to 1.
    pub confidence: Option<f64>,
    /// The verdicts of several agents.
    pub verdicts: Vec<Verdict>,
    /// The answer of a person.
    pub response: Option<String>,
}

impl Outcome {
    /// Returns a failed outcome.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Outcome {
        Outcome { code: Some(code.into()), message: Some(message.into()), ..Outcome::default() }
    }

    /// Sets the output, and takes score and confidence from it. A string that contains a JSON object counts as an
    /// object.
    #[must_use]
    pub fn with_output(mut self, output: Json) -> Outcome {
        let read = output.as_str().and_then(|text| Json::parse(text.trim()).ok());
        let output = read.filter(|read| read.as_object().is_some()).unwrap_or(output);
        let share = |name: &str| {
            let number = output.get(name).and_then(Json::as_f64);
            number.filter(|number| (0.0..=1.0).contains(number))
        };
        (self.score, self.confidence) = (share("score"), share("confidence"));
        self.output = output;
        self
    }

    /// Returns what the output writes to the blackboard: its member `blackboard`.
    pub fn writes(&self) -> Object {
        self.output.get("blackboard").and_then(Json::as_object).cloned().unwrap_or_default()
    }

    /// Returns the outcome in the form of records and templates.
    pub fn recorded(&self) -> StateOutput {
        StateOutput {
            status: if self.is_success { "completed" } else { "failed" }.to_owned(),
            output: self.output.clone(),
            code: self.code.clone(),
            message: self.message.clone(),
            exit_code: self.exit_code,
            score: self.score.map(number),
            confidence: self.confidence.map(number),
            response: self.response.clone(),
        }
    }
}

/// The outcome of a state, in the form of records and templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StateOutput {
    /// `completed` or `failed`.
    pub status: String,
    /// The output of the state.
    pub output: Json,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The message of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The exit code of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The score of the output, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Json>,
    /// The confidence of that score, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Json>,
    /// The answer of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}

impl StateOutput {
    /// Returns the outcome as a JSON value.
    pub fn to_json(&self) -> Json {
        to_json(self).expect("what a state gave is JSON")
    }
}

/// What an execution does next.
#[derive(Clone, Debug, PartialEq)]
pub enum NextAction {
    /// It enters another state.
    Enter {
        /// Its position after the transition.
        execution: ExecutionState,
        /// The feedback for the state.
        feedback: Option<String>,
    },
    /// It ends.
    End {
        /// The code and message of the failure; `None` if the workflow succeeded.
        failure: Option<(String, String)>,
    },
}

fn word(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Returns whether an answer means yes.
fn agrees(answer: &str) -> bool {
    matches!(word(answer).as_str(), "yes" | "y" | "true" | "ok" | "approve" | "approved" | "agree")
}

/// Returns whether an answer means no.
fn means_no(answer: &str) -> bool {
    matches!(word(answer).as_str(), "no" | "n" | "false" | "reject" | "rejected" | "deny" | "disagree")
}

/// The code of a state that a person declined to answer.
pub const DECLINED: &str = "declined";

/// Returns whether a transition is taken.
fn fits(transition: &Transition, state: &State, outcome: &Outcome, scope: &Scope) -> bool {
    let approves = |verdict: &Verdict| threshold(state.consensus.as_ref()) <= verdict.score;
    let above = |value: Option<f64>, least: Option<f64>| value.zip(least).is_some_and(|(v, least)| least < v);
    // Without a condition the question asks for consent. Declining and not answering both withhold it.
    let by_default = match state.kind {
        StateKind::Human => Condition::OnSuccess,
        _ => Condition::Always,
    };
    match transition.condition.unwrap_or(by_default) {
        Condition::Always => true,
        Condition::OnSuccess => outcome.is_success,
        Condition::OnFailure => !outcome.is_success,
        Condition::ExitCodeZero => outcome.exit_code == Some(0),
        Condition::ExitCodeNonZero => outcome.exit_code.is_some_and(|code| code != 0),
        Condition::ExitCode => {
            let expected = transition.value.as_ref().and_then(Json::as_i64);
            expected.is_some() && outcome.exit_code == expected
        }
        Condition::ScoreAbove => above(outcome.score, transition.threshold),
        Condition::ScoreBelow => above(transition.threshold, outcome.score),
        Condition::ScoreBetween => outcome.score.is_some_and(|score| {
            transition.min.is_some_and(|min| min <= score) && transition.max.is_some_and(|max| score <= max)
        }),
        Condition::ConfidenceAbove => above(outcome.confidence, transition.threshold),
        Condition::Consensus => {
            let least = transition.threshold.unwrap_or_else(|| threshold(state.consensus.as_ref()));
            outcome.score.is_some_and(|score| least <= score)
                && outcome.confidence.unwrap_or(1.0) >= transition.agreement.unwrap_or(0.0)
        }
        Condition::AllApproved => !outcome.verdicts.is_empty() && outcome.verdicts.iter().all(approves),
        Condition::AnyRejected => outcome.verdicts.iter().any(|verdict| !approves(verdict)),
        Condition::InputEquals => {
            let expected = transition.value.as_ref().map(super::evaluate::text_of);
            let answer = outcome.response.as_ref();
            expected.zip(answer).is_some_and(|(expected, answer)| expected.trim() == answer.trim())
        }
        Condition::InputEqualsYes => outcome.response.as_deref().is_some_and(agrees),
        Condition::InputEqualsNo => {
            outcome.response.as_deref().is_some_and(means_no) || outcome.code.as_deref() == Some(DECLINED)
        }
        Condition::Custom => transition.expression.as_deref().is_some_and(|text| scope.holds(text)),
    }
}

fn threshold(consensus: Option<&Consensus>) -> f64 {
    consensus.and_then(|consensus| consensus.threshold).unwrap_or(THRESHOLD)
}

/// Combines the verdicts of several agents into one outcome.
pub fn consent(consensus: &Consensus, verdicts: Vec<Verdict>, output: Json) -> Outcome {
    let least = threshold(Some(consensus));
    let needed = consensus.min_judges_required.and_then(|needed| usize::try_from(needed).ok()).unwrap_or(1);
    if verdicts.len() < needed.max(1) {
        let message = format!("{} of {} verdicts were given", verdicts.len(), needed.max(1));
        return Outcome { output, verdicts, ..Outcome::failed("too_few_verdicts", message) };
    }
    let mut counted = verdicts.clone();
    if consensus.strategy == Strategy::BestOfN {
        counted.sort_by(|left, right| right.score.total_cmp(&left.score));
        let best = consensus.n.and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        counted.truncate(best.max(1));
    }
    let weight: f64 = counted.iter().map(|verdict| verdict.weight).sum();
    let mean = |value: fn(&Verdict) -> f64| {
        let sum: f64 = counted.iter().map(|verdict| verdict.weight * value(verdict)).sum();
        if 0.0 < weight { sum / weight } else { 0.0 }
    };
    let (score, confidence) = (mean(|verdict| verdict.score), mean(|verdict| verdict.confidence));
    let approving = verdicts.iter().filter(|verdict| least <= verdict.score).count();
    let agreed = match consensus.strategy {
        Strategy::WeightedAverage | Strategy::BestOfN => least <= score,
        Strategy::Majority => verdicts.len() < 2 * approving,
        Strategy::Unanimous => approving == verdicts.len(),
    };
    let sure = consensus.min_agreement_confidence.or(consensus.agreement).unwrap_or(0.0) <= confidence;
    let outcome = match agreed && sure {
        true => Outcome { is_success: true, ..Outcome::default() },
        false => Outcome::failed("no_consensus", "the agents do not agree"),
    };
    Outcome { output, verdicts, score: Some(score), confidence: Some(confidence), ..outcome }
}

fn over(code: &str, message: String) -> NextAction {
    NextAction::End { failure: Some((code.to_owned(), message)) }
}

/// Decides what follows the outcome of a state. `scope` must already contain the outcome.
pub fn decide(
    spec: &WorkflowSpec,
    execution: &ExecutionState,
    outcome: &Outcome,
    scope: &Scope,
) -> NextAction {
    let Some(state) = spec.states.get(&execution.state) else {
        return over("no_state", "the workflow no longer has this state".to_owned());
    };
    let failure = || {
        let code = outcome.code.clone().unwrap_or_else(|| "failed".to_owned());
        let message = outcome.message.clone().unwrap_or_else(|| "the state failed".to_owned());
        (code, format!("state {}: {message}", execution.state))
    };
    let Some(transition) = state.transitions.iter().find(|one| fits(one, state, outcome, scope)) else {
        return match (state.transitions.is_empty(), outcome.is_success) {
            (true, true) => NextAction::End { failure: None },
            (_, false) => NextAction::End { failure: Some(failure()) },
            (false, true) => over("no_transition", format!("state {}: no transition fits", execution.state)),
        };
    };
    let Some(target) = spec.states.get(&transition.target) else {
        return over("no_state", "a transition leads to an unknown state".to_owned());
    };
    let mut next = execution.clone();
    next.state.clone_from(&transition.target);
    next.transitions += 1;
    let visits = next.visits.entry(next.state.clone()).or_default();
    *visits += 1;
    let exceeds = |count: u64, most: Option<i64>| {
        most.and_then(|most| u64::try_from(most).ok()).filter(|most| *most < count)
    };
    if let Some(most) = exceeds(next.transitions, spec.max_total_transitions) {
        let message = format!("the workflow has made its {most} transitions (max_total_transitions)");
        return over("max_total_transitions", message);
    }
    if let Some(most) = exceeds(*visits, target.max_state_visits) {
        let message = format!("state {}: it was already visited {most} times (max_state_visits)", next.state);
        return over("max_state_visits", message);
    }
    let feedback = transition.feedback.as_deref().map(|text| scope.render(&Template::from_valid(text)));
    match feedback.transpose() {
        Ok(feedback) => NextAction::Enter { execution: next, feedback },
        Err(error) => over("too_long", format!("state {}: {error}", execution.state)),
    }
}

#[cfg(test)]
mod tests;
