//! The workflow manifest: its types, their schema and their checks.

mod check;
mod command;
mod decide;
mod evaluate;
mod expression;
mod template;

use std::collections::BTreeMap;

use brigade_core::yaml::Node;
use brigade_core::{Json, Object, words};

use crate::manifest::agent::{Isolation, by_kind, needs_all};
use crate::manifest::document::{Kind, Manifest, Root};
use crate::manifest::member::Reader;
use crate::manifest::metadata::Metadata;
use crate::manifest::value::Span;

pub use command::{StateCommand, words_with_options};
pub use decide::{DECLINED, ExecutionState, NextAction, Outcome, StateOutput, Verdict, consent, decide};
pub use evaluate::{Scope, TemplateTooLong};
pub use template::Template;

/// The manifest of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// Name, version and labels.
    pub metadata: Metadata,
    /// The states of the workflow and its limits.
    pub spec: WorkflowSpec,
}

members! {
    /// The states of a workflow and its limits.
    WorkflowSpec {
        /// The first state.
        initial_state = "initial_state": needed String,
        /// Constants that all states can read.
        context = "context": maybe Object,
        /// Volumes that states share.
        storage = "storage": maybe Object,
        /// Maximum number of transitions of an execution.
        max_total_transitions = "max_total_transitions": maybe i64,
        /// The states, by name.
        states = "states": needed BTreeMap<String, State>,
    }
}

words! {
    /// What a state does.
    StateKind {
        /// Gives a task to an agent.
        Agent = "Agent",
        /// Runs a command.
        System = "System",
        /// Waits for a person.
        Human = "Human",
        /// Gives a task to several agents at once.
        ParallelAgents = "ParallelAgents",
        /// Runs another workflow.
        Subworkflow = "Subworkflow",
        /// Runs a command in a container.
        ContainerRun = "ContainerRun",
    }
}

members! {
    /// A state.
    State check whole_state, rule state_rule {
        /// What the state does.
        kind = "kind": needed StateKind,
        /// The time limit of the state.
        timeout = "timeout": maybe Span,
        /// Maximum number of visits by one execution.
        max_state_visits = "max_state_visits": maybe i64,
        /// Transitions; the first match is taken. An empty list ends the workflow.
        transitions = "transitions": needed Vec<Transition>,
        /// The agent, by name or id.
        agent = "agent": maybe String,
        /// A template of the input for the agent or workflow.
        input = "input": maybe Json,
        /// How the task is isolated.
        isolation = "isolation": maybe Isolation,
        /// The command.
        command = "command": maybe Json,
        /// Environment variables of the command.
        env = "env": maybe BTreeMap<String, String>,
        /// The directory in which the command runs.
        workdir = "workdir": maybe String,
        /// The container image.
        image = "image": maybe String,
        /// The question for a person.
        prompt = "prompt": maybe String,
        /// The answer that is used if none arrives in time.
        default_response = "default_response": maybe String,
        /// The agents.
        agents = "agents": maybe Vec<ParallelAgent>,
        /// How verdicts are combined.
        consensus = "consensus": maybe Consensus,
        /// The other workflow, by name.
        workflow = "workflow": maybe String,
        /// Volumes of the state.
        volumes = "volumes": maybe Vec<Object>,
    }
}

/// The members that each kind of state needs.
const STATES: &[(StateKind, &[&str])] = &[
    (StateKind::Agent, &["agent"]),
    (StateKind::System, &["command"]),
    (StateKind::Human, &["prompt"]),
    (StateKind::ParallelAgents, &["agents", "consensus"]),
    (StateKind::Subworkflow, &["workflow"]),
    (StateKind::ContainerRun, &["image", "command"]),
];

fn whole_state(state: &State, node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let needs = STATES.iter().find(|(kind, _)| *kind == state.kind).map(|(_, needs)| *needs);
    needs_all(needs.unwrap_or_default(), node, path, reader)
}

fn state_rule(schema: Json) -> Json {
    let rows: Vec<(&str, &[&str])> = STATES.iter().map(|(kind, needs)| (kind.as_str(), *needs)).collect();
    by_kind(schema, "kind", &rows)
}

members! {
    /// One of several agents that work in parallel.
    ParallelAgent {
        /// The agent, by name or id.
        agent = "agent": needed String,
        /// A template of its input.
        input = "input": maybe String,
        /// The weight of its verdict. Default: 1.
        weight = "weight": maybe f64,
        /// The time limit of the agent.
        timeout_seconds = "timeout_seconds": maybe i64,
        /// How often another host polls.
        poll_interval_ms = "poll_interval_ms": maybe i64,
    }
}

words! {
    /// How verdicts are combined.
    Strategy {
        /// The weighted mean of all scores.
        WeightedAverage = "weighted_average",
        /// More than half of the verdicts.
        Majority = "majority",
        /// All verdicts.
        Unanimous = "unanimous",
        /// The mean of the best scores.
        BestOfN = "best_of_n",
    }
}

members! {
    /// How verdicts are combined.
    Consensus {
        /// The strategy.
        strategy = "strategy": needed Strategy,
        /// The minimum score. Default: 0.7.
        threshold = "threshold": maybe f64,
        /// The minimum confidence.
        min_agreement_confidence = "min_agreement_confidence": maybe f64,
        /// The minimum confidence; another name for it.
        agreement = "agreement": maybe f64,
        /// The number of best scores that count.
        n = "n": maybe i64,
        /// The required number of verdicts. Default: 1.
        min_judges_required = "min_judges_required": maybe i64,
        /// How confidence is weighted.
        confidence_weighting = "confidence_weighting": maybe Object,
    }
}

words! {
    /// When a transition is taken.
    Condition {
        /// Always.
        Always = "always",
        /// If the state succeeded.
        OnSuccess = "on_success",
        /// If the state failed.
        OnFailure = "on_failure",
        /// If the command ended with exit code 0.
        ExitCodeZero = "exit_code_zero",
        /// If the command ended with another exit code.
        ExitCodeNonZero = "exit_code_non_zero",
        /// If the command ended with exit code `value`.
        ExitCode = "exit_code",
        /// If the score is above `threshold`.
        ScoreAbove = "score_above",
        /// If the score is below `threshold`.
        ScoreBelow = "score_below",
        /// If the score is from `min` to `max`.
        ScoreBetween = "score_between",
        /// If the confidence is above `threshold`.
        ConfidenceAbove = "confidence_above",
        /// If several agents agree.
        Consensus = "consensus",
        /// If all agents approve.
        AllApproved = "all_approved",
        /// If one agent rejects.
        AnyRejected = "any_rejected",
        /// If a person answered `value`.
        InputEquals = "input_equals",
        /// If a person agreed.
        InputEqualsYes = "input_equals_yes",
        /// If a person did not agree.
        InputEqualsNo = "input_equals_no",
        /// If `expression` holds.
        Custom = "custom",
    }
}

members! {
    /// A transition to the next state.
    Transition check whole_transition, rule transition_rule {
        /// When the transition is taken. Default: always.
        condition = "condition": maybe Condition,
        /// The next state.
        target = "target": needed String,
        /// A template of the feedback for the next state.
        feedback = "feedback": maybe String,
        /// The score or confidence to compare with.
        threshold = "threshold": maybe f64,
        /// The minimum confidence of a consensus.
        agreement = "agreement": maybe f64,
        /// The exit code or answer to compare with.
        value = "value": maybe Json,
        /// An expression.
        expression = "expression": maybe String,
        /// The minimum score.
        min = "min": maybe f64,
        /// The maximum score.
        max = "max": maybe f64,
    }
}

/// The members that each condition needs.
const CONDITIONS: &[(Condition, &[&str])] = &[
    (Condition::Always, &[]),
    (Condition::OnSuccess, &[]),
    (Condition::OnFailure, &[]),
    (Condition::ExitCodeZero, &[]),
    (Condition::ExitCodeNonZero, &[]),
    (Condition::ExitCode, &["value"]),
    (Condition::ScoreAbove, &["threshold"]),
    (Condition::ScoreBelow, &["threshold"]),
    (Condition::ScoreBetween, &["min", "max"]),
    (Condition::ConfidenceAbove, &["threshold"]),
    (Condition::Consensus, &["threshold"]),
    (Condition::AllApproved, &[]),
    (Condition::AnyRejected, &[]),
    (Condition::InputEquals, &["value"]),
    (Condition::InputEqualsYes, &[]),
    (Condition::InputEqualsNo, &[]),
    (Condition::Custom, &["expression"]),
];

fn whole_transition(transition: &Transition, node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let condition = transition.condition.unwrap_or(Condition::Always);
    let needs = CONDITIONS.iter().find(|(known, _)| *known == condition).map(|(_, needs)| *needs);
    needs_all(needs.unwrap_or_default(), node, path, reader)
}

fn transition_rule(schema: Json) -> Json {
    let rows: Vec<(&str, &[&str])> =
        CONDITIONS.iter().map(|(known, needs)| (known.as_str(), *needs)).collect();
    by_kind(schema, "condition", &rows)
}

word_member!(StateKind, Strategy, Condition);

impl Manifest for Workflow {
    const KIND: Kind = Kind::Workflow;

    type Spec = WorkflowSpec;

    fn from_parts(metadata: Metadata, spec: WorkflowSpec) -> Workflow {
        Workflow { metadata, spec }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn check(&self, root: &Root<'_>, reader: &mut Reader) {
        check::check(&self.spec, root, reader);
    }
}
