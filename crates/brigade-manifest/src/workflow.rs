//! Workflows.

mod check;
mod command;
mod decide;
mod evaluate;
mod expression;
mod template;

use std::collections::BTreeMap;

use brigade_core::yaml::Node;
use brigade_core::{Json, Object, words};

use crate::agent::{Isolation, by_kind, needs_all};
use crate::common::Metadata;
use crate::manifest::{Kind, Manifest, Root};
use crate::member::Reader;
use crate::value::Span;

pub use command::{StateCommand, words_with_options};
pub use decide::{DECLINED, ExecutionState, NextAction, Outcome, StateOutput, Verdict, consent, decide};
pub use evaluate::{MAX_RENDERED, Scope, TemplateTooLong};
pub use template::Template;

/// A manifest of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// What it is called.
    pub metadata: Metadata,
    /// What it is.
    pub spec: WorkflowSpec,
}

members! {
    #[doc = "What a workflow is."]
    WorkflowSpec {
        #[doc = "The state that it begins in."]
        initial_state = "initial_state": needed String,
        #[doc = "Constants that all states see."]
        context = "context": maybe Object,
        #[doc = "Folders that states share."]
        storage = "storage": maybe Object,
        #[doc = "How many transitions an execution has at most."]
        max_total_transitions = "max_total_transitions": maybe i64,
        #[doc = "The states, by name."]
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
    #[doc = "A state."]
    State check whole_state, rule state_rule {
        #[doc = "What it does."]
        kind = "kind": needed StateKind,
        #[doc = "How long it may take."]
        timeout = "timeout": maybe Span,
        #[doc = "How often an execution may come here."]
        max_state_visits = "max_state_visits": maybe i64,
        #[doc = "Where it leads, the first that fits; an empty list ends the workflow."]
        transitions = "transitions": needed Vec<Transition>,
        #[doc = "The agent, by name or id."]
        agent = "agent": maybe String,
        #[doc = "A template of what the agent or workflow is given."]
        input = "input": maybe Json,
        #[doc = "How the task is kept apart."]
        isolation = "isolation": maybe Isolation,
        #[doc = "The command."]
        command = "command": maybe Json,
        #[doc = "Variables of the command."]
        env = "env": maybe BTreeMap<String, String>,
        #[doc = "Where the command runs."]
        workdir = "workdir": maybe String,
        #[doc = "The image of a container."]
        image = "image": maybe String,
        #[doc = "What a person is asked."]
        prompt = "prompt": maybe String,
        #[doc = "The answer if nobody answers in time."]
        default_response = "default_response": maybe String,
        #[doc = "The agents."]
        agents = "agents": maybe Vec<ParallelAgent>,
        #[doc = "How verdicts become one."]
        consensus = "consensus": maybe Consensus,
        #[doc = "The other workflow, by name."]
        workflow = "workflow": maybe String,
        #[doc = "Folders of the state."]
        volumes = "volumes": maybe Vec<Object>,
    }
}

/// What each kind of state needs.
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
    #[doc = "One of several agents that work at once."]
    ParallelAgent {
        #[doc = "The agent, by name or id."]
        agent = "agent": needed String,
        #[doc = "A template of what it is given."]
        input = "input": maybe String,
        #[doc = "How much its verdict counts; 1 if it is missing."]
        weight = "weight": maybe f64,
        #[doc = "How long it may take."]
        timeout_seconds = "timeout_seconds": maybe i64,
        #[doc = "How often another host looks."]
        poll_interval_ms = "poll_interval_ms": maybe i64,
    }
}

words! {
    /// How verdicts become one.
    Strategy {
        /// The mean, by weight.
        WeightedAverage = "weighted_average",
        /// Most of them.
        Majority = "majority",
        /// All of them.
        Unanimous = "unanimous",
        /// The mean of the best.
        BestOfN = "best_of_n",
    }
}

members! {
    #[doc = "How verdicts become one."]
    Consensus {
        #[doc = "The way."]
        strategy = "strategy": needed Strategy,
        #[doc = "The least score; 0.7 if it is missing."]
        threshold = "threshold": maybe f64,
        #[doc = "The least confidence."]
        min_agreement_confidence = "min_agreement_confidence": maybe f64,
        #[doc = "The same."]
        agreement = "agreement": maybe f64,
        #[doc = "How many of the best count."]
        n = "n": maybe i64,
        #[doc = "How many verdicts are needed; 1 if it is missing."]
        min_judges_required = "min_judges_required": maybe i64,
        #[doc = "How confidence is weighed."]
        confidence_weighting = "confidence_weighting": maybe Object,
    }
}

words! {
    /// When a transition is taken.
    Condition {
        /// Always.
        Always = "always",
        /// If the state did what it should.
        OnSuccess = "on_success",
        /// If it did not.
        OnFailure = "on_failure",
        /// If the command ended with 0.
        ExitCodeZero = "exit_code_zero",
        /// If it ended with something else.
        ExitCodeNonZero = "exit_code_non_zero",
        /// If it ended with `value`.
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
    #[doc = "Where a state leads."]
    Transition check whole_transition, rule transition_rule {
        #[doc = "When it is taken; always if it is missing."]
        condition = "condition": maybe Condition,
        #[doc = "The next state."]
        target = "target": needed String,
        #[doc = "A template of what the next state is told."]
        feedback = "feedback": maybe String,
        #[doc = "The score or confidence that is compared."]
        threshold = "threshold": maybe f64,
        #[doc = "The least confidence of a consensus."]
        agreement = "agreement": maybe f64,
        #[doc = "The exit code or answer that is compared."]
        value = "value": maybe Json,
        #[doc = "An expression."]
        expression = "expression": maybe String,
        #[doc = "The least score."]
        min = "min": maybe f64,
        #[doc = "The highest score."]
        max = "max": maybe f64,
    }
}

/// What conditions need.
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

    fn parts(&self) -> (&Metadata, &WorkflowSpec) {
        (&self.metadata, &self.spec)
    }

    fn check(&self, root: &Root<'_>, reader: &mut Reader) {
        check::check(&self.spec, root, reader);
    }
}
