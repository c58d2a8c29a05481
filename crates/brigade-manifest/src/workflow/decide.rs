//! Which state comes next. A pure function of the workflow, how an execution stands and what its state gave.

use std::collections::BTreeMap;

use brigade_core::json::to_json;
use brigade_core::{Json, Object};
use serde::{Deserialize, Serialize};

use super::evaluate::{Scope, number};
use super::template::Template;
use super::{Condition, Consensus, State, StateKind, Strategy, Transition, WorkflowSpec};

/// The score from which an agent approves, unless the manifest says so.
const THRESHOLD: f64 = 0.7;

/// How an execution stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionState {
    /// The state that it is in.
    pub state: String,
    /// How often it came to each state.
    pub visits: BTreeMap<String, u64>,
    /// How many transitions it made.
    pub transitions: u64,
}

impl ExecutionState {
    /// Returns how an execution stands that begins.
    pub fn begin(spec: &WorkflowSpec) -> ExecutionState {
        let state = spec.initial_state.clone();
        ExecutionState { visits: [(state.clone(), 1)].into(), state, transitions: 0 }
    }
}

/// What one of several agents said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// How good, from 0 to 1.
    pub score: f64,
    /// How sure, from 0 to 1.
    pub confidence: f64,
    /// How much it counts.
    pub weight: f64,
}

/// What a state gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it did what it should.
    pub is_success: bool,
    /// Why not, as a word.
    pub code: Option<String>,
    /// Why not, as a sentence.
    pub message: Option<String>,
    /// What came out.
    pub output: Json,
    /// How the command ended.
    pub exit_code: Option<i64>,
    /// How good it is, from 0 to 1.
    pub score: Option<f64>,
    /// How sure that is, from 0 to 1.
    pub confidence: Option<f64>,
    /// What several agents said.
    pub verdicts: Vec<Verdict>,
    /// What a person answered.
    pub response: Option<String>,
}

impl Outcome {
    /// Returns that a state did not do what it should.
    pub fn failed(code: &str, message: impl Into<String>) -> Outcome {
        Outcome { code: Some(code.to_owned()), message: Some(message.into()), ..Outcome::default() }
    }

    /// Takes an output, and score and confidence where it has them. A text that is a JSON object is one.
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

    /// Returns what the output writes to the blackboard: the members of its `blackboard`.
    pub fn writes(&self) -> Object {
        self.output.get("blackboard").and_then(Json::as_object).cloned().unwrap_or_default()
    }

    /// Returns it as records and templates have it.
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

/// What a state gave, as records and templates have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StateOutput {
    /// `completed` or `failed`.
    pub status: String,
    /// What came out.
    pub output: Json,
    /// Why it failed, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why it failed, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How the command ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How good the output is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Json>,
    /// How sure that is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Json>,
    /// What a person answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}

impl StateOutput {
    /// Writes it as a value.
    pub fn to_json(&self) -> Json {
        to_json(self).expect("what a state gave is JSON")
    }
}

/// What follows.
#[derive(Clone, Debug, PartialEq)]
pub enum NextAction {
    /// Another state.
    Enter {
        /// How the execution stands then.
        standing: ExecutionState,
        /// What the state is told.
        feedback: Option<String>,
    },
    /// The end.
    End {
        /// Why the execution failed, as a word and a sentence; absent if it did what was asked.
        failure: Option<(String, String)>,
    },
}

fn word(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Tells whether an answer agrees.
fn agrees(answer: &str) -> bool {
    matches!(word(answer).as_str(), "yes" | "y" | "true" | "ok" | "approve" | "approved" | "agree")
}

/// Tells whether an answer does not agree.
fn disagrees(answer: &str) -> bool {
    matches!(word(answer).as_str(), "no" | "n" | "false" | "reject" | "rejected" | "deny" | "disagree")
}

/// The code of a state that a person declined to answer.
pub const DECLINED: &str = "declined";

/// Tells whether a transition is taken.
fn fits(transition: &Transition, state: &State, outcome: &Outcome, scope: &Scope) -> bool {
    let approves = |verdict: &Verdict| threshold(state.consensus.as_ref()) <= verdict.score;
    let above = |value: Option<f64>, least: Option<f64>| value.zip(least).is_some_and(|(v, least)| least < v);
    // Without a condition a question asks for consent: who declines, and who does not answer, gives none.
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
            outcome.response.as_deref().is_some_and(disagrees) || outcome.code.as_deref() == Some(DECLINED)
        }
        Condition::Custom => transition.expression.as_deref().is_some_and(|text| scope.holds(text)),
    }
}

fn threshold(consensus: Option<&Consensus>) -> f64 {
    consensus.and_then(|consensus| consensus.threshold).unwrap_or(THRESHOLD)
}

/// Makes one outcome of what several agents said.
pub fn consent(consensus: &Consensus, verdicts: Vec<Verdict>, output: Json) -> Outcome {
    let least = threshold(Some(consensus));
    let needed = consensus.min_judges_required.and_then(|needed| usize::try_from(needed).ok()).unwrap_or(1);
    if verdicts.len() < needed.max(1) {
        let message = format!("{} of {} verdicts came", verdicts.len(), needed.max(1));
        return Outcome { output, verdicts, ..Outcome::failed("too_few_verdicts", message) };
    }
    let mut counted = verdicts.clone();
    if consensus.strategy == Strategy::BestOfN {
        counted.sort_by(|left, right| right.score.total_cmp(&left.score));
        let best = consensus.n.and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        counted.truncate(best.max(1));
    }
    let weight: f64 = counted.iter().map(|verdict| verdict.weight).sum();
    let mean = |of: fn(&Verdict) -> f64| {
        let sum: f64 = counted.iter().map(|verdict| verdict.weight * of(verdict)).sum();
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

/// Decides what follows the outcome of a state. `scope` names the outcome, too.
pub fn decide(
    spec: &WorkflowSpec,
    standing: &ExecutionState,
    outcome: &Outcome,
    scope: &Scope,
) -> NextAction {
    let Some(state) = spec.states.get(&standing.state) else {
        return over("no_state", "the workflow has no such state any more".to_owned());
    };
    let failure = || {
        let code = outcome.code.clone().unwrap_or_else(|| "failed".to_owned());
        let message = outcome.message.clone().unwrap_or_else(|| "the state failed".to_owned());
        (code, format!("state {}: {message}", standing.state))
    };
    let Some(transition) = state.transitions.iter().find(|one| fits(one, state, outcome, scope)) else {
        return match (state.transitions.is_empty(), outcome.is_success) {
            (true, true) => NextAction::End { failure: None },
            (_, false) => NextAction::End { failure: Some(failure()) },
            (false, true) => over("no_transition", format!("state {}: no transition fits", standing.state)),
        };
    };
    let Some(target) = spec.states.get(&transition.target) else {
        return over("no_state", "a transition leads to no state".to_owned());
    };
    let mut next = standing.clone();
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
        let message = format!("state {}: it was visited {most} times already (max_state_visits)", next.state);
        return over("max_state_visits", message);
    }
    let feedback = transition.feedback.as_deref().map(|text| scope.render(&Template::from_valid(text)));
    match feedback.transpose() {
        Ok(feedback) => NextAction::Enter { standing: next, feedback },
        Err(error) => over("too_long", format!("state {}: {error}", standing.state)),
    }
}

#[cfg(test)]
mod tests;
