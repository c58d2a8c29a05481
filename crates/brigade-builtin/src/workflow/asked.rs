//! What templates of an execution see, and what a person is asked.

use brigade_core::{Json, Object, codes};
use brigade_manifest::{Condition, Outcome, Scope, State, Template, WorkflowSpec};
use brigade_store::flows::Flow;
use brigade_store::questions::{Asked, AskedOption, AskedQuestion, Decision, Question};

/// What a person says to a step of which nobody knows what it did.
pub(super) const AGAIN: &str = "retry";
pub(super) const SUCCEEDED: &str = "succeeded";
pub(super) const FAILED: &str = "failed";

/// Returns the names that templates of an execution may use.
pub(super) fn scope(flow: &Flow, spec: &WorkflowSpec, outcome: Option<&Json>) -> Scope {
    let text = |text: Option<&str>| text.map_or(Json::Null, Json::from);
    let mut names: Object = flow.outputs.clone();
    names.extend(outcome.map(|outcome| (flow.state.clone(), outcome.clone())));
    let human =
        outcome.and_then(|outcome| outcome.get("response")).and_then(Json::as_str).or(flow.human.as_deref());
    let own = [
        ("blackboard", Json::Object(flow.blackboard.clone())),
        ("input", flow.input.clone()),
        ("intent", text(flow.intent.as_deref())),
        ("human", Json::object([("response", text(human)), ("feedback", text(human))])),
        (
            "execution",
            Json::object([
                ("id", Json::from(flow.id.as_str())),
                ("transitions", Json::from(flow.transitions)),
                ("started_at", Json::from(flow.started_at.to_string())),
            ]),
        ),
        (
            "state",
            Json::object([
                ("name", Json::from(flow.state.as_str())),
                ("visits", flow.visits.get(&flow.state).cloned().unwrap_or_default()),
                ("feedback", text(flow.feedback.as_deref())),
            ]),
        ),
        (
            "workflow",
            Json::object([
                ("name", Json::from(flow.name.as_str())),
                ("version", Json::from(flow.version.as_str())),
                ("task", text(flow.intent.as_deref())),
                ("input", flow.input.clone()),
                ("context", Json::Object(spec.context.clone().unwrap_or_default())),
            ]),
        ),
    ];
    names.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Scope { names }
}

fn option(label: &str, description: &str) -> AskedOption {
    let description = Some(description.to_owned()).filter(|text| !text.is_empty());
    AskedOption { label: label.to_owned(), description, ..AskedOption::default() }
}

/// Returns what a state of a person asks.
pub(super) fn question(flow: &Flow, state: &State, scope: &Scope) -> Result<Asked, Box<Outcome>> {
    let prompt = scope.render(&Template::of(state.prompt.as_deref().unwrap_or_default()));
    let prompt =
        prompt.map_err(|error| Box::new(Outcome::failed(codes::TOO_LONG.as_str(), error.to_string())))?;
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
    Ok(Asked {
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

/// Returns what is asked about a step of which nobody knows what it did.
pub(super) fn unknown(flow: &Flow) -> Asked {
    Asked {
        title: Some(format!("{} {}: {}", flow.name, flow.version, flow.state)),
        body: Some(
            "The state had begun when the process that it belonged to ended (outcome_unknown).".to_owned(),
        ),
        questions: vec![AskedQuestion {
            id: "response".to_owned(),
            question: "Nobody saw what it did. Look at it, then say how the workflow goes on.".to_owned(),
            options: vec![
                option(AGAIN, "the state is done again"),
                option(SUCCEEDED, "it did what it should"),
                option(FAILED, "it did not"),
            ],
            ..AskedQuestion::default()
        }],
    }
}

/// Returns what a person answered. `None` if the person declined.
pub(super) fn answer_of(question: &Question) -> Option<String> {
    let answer = question.answer.as_ref().filter(|answer| answer.decision == Decision::Accept)?;
    answer.answers.get("response").and_then(|values| values.first()).cloned()
}
