//! The names in templates of an execution, and the questions to a person.

use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Json, Object, Timestamp};
use brigade_db::flows::Flow;
use brigade_db::questions::{AskedOption, AskedQuestion, Decision, Question, QuestionForm};
use serde::Serialize;

use crate::manifest::{Condition, Outcome, Scope, State, Template, WorkflowSpec};

/// The answer to retry a step with an unknown outcome.
pub(super) const RETRY_ANSWER: &str = "retry";
pub(super) const SUCCEEDED: &str = "succeeded";
pub(super) const FAILED: &str = "failed";

/// The names that templates of an execution may use in addition to the outputs of its states.
#[derive(Serialize)]
struct Names<'a> {
    blackboard: &'a Object,
    execution: ExecutionNames<'a>,
    human: HumanNames<'a>,
    input: &'a Json,
    intent: Option<&'a str>,
    state: StateNames<'a>,
    workflow: WorkflowNames<'a>,
}

/// The last answer of a person, under two names.
#[derive(Serialize)]
struct HumanNames<'a> {
    feedback: Option<&'a str>,
    response: Option<&'a str>,
}

#[derive(Serialize)]
struct ExecutionNames<'a> {
    id: &'a str,
    started_at: Timestamp,
    transitions: i64,
}

#[derive(Serialize)]
struct StateNames<'a> {
    feedback: Option<&'a str>,
    name: &'a str,
    visits: Option<u64>,
}

#[derive(Serialize)]
struct WorkflowNames<'a> {
    context: &'a Object,
    input: &'a Json,
    name: &'a str,
    task: Option<&'a str>,
    version: &'a str,
}

/// Returns the names that templates of an execution may use.
pub(super) fn scope(flow: &Flow, spec: &WorkflowSpec) -> Scope {
    let human = flow.human.as_deref();
    let no_context = Object::new();
    let own = Names {
        blackboard: &flow.blackboard,
        execution: ExecutionNames {
            id: &flow.id,
            started_at: flow.started_at,
            transitions: flow.transitions,
        },
        human: HumanNames { feedback: human, response: human },
        input: &flow.input,
        intent: flow.intent.as_deref(),
        state: StateNames {
            feedback: flow.feedback.as_deref(),
            name: &flow.state,
            visits: flow.visits.get(&flow.state).copied(),
        },
        workflow: WorkflowNames {
            context: spec.context.as_ref().unwrap_or(&no_context),
            input: &flow.input,
            name: &flow.name,
            task: flow.intent.as_deref(),
            version: &flow.version,
        },
    };
    let mut names = flow.outputs.clone();
    if let Json::Object(own) = to_json(&own).expect("names are JSON") {
        names.extend(own);
    }
    Scope { names }
}

fn option(label: &str, description: &str) -> AskedOption {
    let description = Some(description.to_owned()).filter(|text| !text.is_empty());
    AskedOption { label: label.to_owned(), description, ..AskedOption::default() }
}

/// Returns the question of a state for a person.
pub(super) fn question(flow: &Flow, state: &State, scope: &Scope) -> Result<QuestionForm, Box<Outcome>> {
    let prompt = scope.render(&Template::from_valid(state.prompt.as_deref().unwrap_or_default()));
    let prompt = prompt.map_err(|error| Box::new(Outcome::failed(ErrorCode::TooLong, error.to_string())))?;
    let mut labels: Vec<String> = Vec::new();
    for transition in &state.transitions {
        let label = match transition.condition {
            Some(Condition::InputEqualsYes) => Some("yes".to_owned()),
            Some(Condition::InputEqualsNo) => Some("no".to_owned()),
            Some(Condition::InputEquals) => transition.value.as_ref().map(|value| match value {
                Json::String(text) => text.clone(),
                other => other.to_compact(),
            }),
            _ => None,
        };
        labels.extend(label.filter(|label| !labels.contains(label)));
    }
    let title = format!("{} {}: {}", flow.name, flow.version, flow.state);
    Ok(QuestionForm {
        title: Some(title),
        body: None,
        questions: vec![AskedQuestion {
            id: "response".to_owned(),
            question: if prompt.trim().is_empty() { flow.state.clone() } else { prompt },
            options: labels.iter().take(20).map(|label| option(label, "")).collect(),
            allows_freeform: true,
            ..AskedQuestion::default()
        }],
    })
}

/// Returns the question about a step with an unknown outcome.
pub(super) fn unknown(flow: &Flow) -> QuestionForm {
    QuestionForm {
        title: Some(format!("{} {}: {}", flow.name, flow.version, flow.state)),
        body: Some("The state was running when its process ended (outcome_unknown).".to_owned()),
        questions: vec![AskedQuestion {
            id: "response".to_owned(),
            question: "Its outcome is unknown. Check what it did, then choose how the workflow continues."
                .to_owned(),
            options: vec![
                option(RETRY_ANSWER, "run the state again"),
                option(SUCCEEDED, "it succeeded"),
                option(FAILED, "it failed"),
            ],
            ..AskedQuestion::default()
        }],
    }
}

/// Returns the answer of a person; `None` if the person declined.
pub(super) fn answer_of(question: &Question) -> Option<String> {
    let answer = question.answer.as_ref().filter(|answer| answer.decision == Decision::Accept)?;
    answer.answers.get("response").and_then(|values| values.first()).cloned()
}
