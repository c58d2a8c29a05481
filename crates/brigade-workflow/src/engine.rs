//! Drives an execution of a workflow: makes the calls of its states and records the transitions.
//!
//! The whole state is in the store, so another process can continue after this one. Every action is recorded before it
//! begins. A process that takes over reads the outcome of a call from the journal. If the outcome is unknown, it asks a
//! person.

mod questions;
mod steps;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brigade_core::json::{from_json, to_json};
use brigade_core::{ErrorCode, Json, Object, Timestamp};
use brigade_db::events::Event;
use brigade_db::executions::{Execution, ExecutionEnd, ExecutionStatus};
use brigade_db::flows::{Flow, FlowStatus, NextState, Transit, WriteOutcome};
use brigade_db::questions::QuestionStatus;
use brigade_db::{Store, StoreError};
use brigade_process::CancelToken;
use brigade_redact::Redactor;
use brigade_toolset::{Failure, is_gone, unbroken};
use serde::{Deserialize, Serialize};

use crate::driver::drive;
use crate::manifest::{
    DECLINED, ExecutionState, NextAction, Outcome, Scope, State, StateKind, StateOutput, Verdict, Workflow,
    WorkflowSpec, consent, decide, read,
};
use crate::runner::{INTERRUPTED, TaskRunner};
use crate::running::{RunningTasks, watched};
use crate::tools::StartResult;
use questions::{FAILED, RETRY_ANSWER, SUCCEEDED, answer_of, question, scope, unknown};
use steps::{CallOrder, CallTarget, orders, outcome_of};

pub use steps::{CallResult, CallState, RequestedCall, Steps};

/// How often to check for changes by another process.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Drives executions of workflows.
pub(crate) struct Engine<'a> {
    /// The store of executions.
    pub(crate) store: &'a Store,
    /// Makes their calls.
    pub(crate) steps: &'a dyn Steps,
    /// Runs the tasks that their calls begin. If its process serves agents, the engine waits for people and tasks.
    /// Otherwise the next gateway continues the execution.
    pub(crate) runner: &'a TaskRunner<'a>,
    /// Masks secrets in stored values.
    pub(crate) redactor: &'a Redactor,
    /// Cancelled when this process or the execution ends.
    pub(crate) cancel: &'a CancelToken,
}

/// The progress of one call of a state. A damaged record is not read as a call that was never made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Branch {
    /// The call, once it was requested.
    call: Option<String>,
    /// Whether a driver began the call.
    #[serde(rename = "begun")]
    is_begun: bool,
    /// The task or execution that the call began.
    execution: Option<String>,
    /// When that was.
    began_at: Option<i64>,
    /// Why there is no call, or what a person said about it, as a code. An empty code means success.
    code: Option<String>,
    /// The same as a message.
    message: Option<String>,
}

/// The progress of a branch or a state.
enum BranchProgress {
    Outcome(Box<Outcome>),
    /// It continues without the driver.
    Later,
    /// Its progress was recorded. It can be checked again at once.
    Now,
    /// Its outcome is unknown.
    Unknown,
    /// The execution has ended or belongs to another process.
    Lost,
}

impl BranchProgress {
    fn outcome(outcome: Outcome) -> BranchProgress {
        BranchProgress::Outcome(Box::new(outcome))
    }
}

impl From<WriteOutcome> for BranchProgress {
    fn from(held: WriteOutcome) -> BranchProgress {
        match held {
            WriteOutcome::Written | WriteOutcome::Paused => BranchProgress::Now,
            WriteOutcome::Lost => BranchProgress::Lost,
        }
    }
}

impl Branch {
    fn settle(&mut self, code: &str, message: &str) {
        (self.code, self.message) = (Some(code.to_owned()), Some(message.to_owned()));
    }
}

/// Returns the progress of the calls of a state. A new state has made no calls.
fn branches(flow: &Flow) -> Result<Vec<Branch>, Failure> {
    if flow.step.is_null() {
        return Ok(Vec::new());
    }
    from_json(&flow.step).map_err(|error| {
        let message = format!("the record of what the state has begun cannot be read: {error}");
        Failure::new(ErrorCode::InvalidStep, message)
    })
}

/// Lists the requested calls of the current state.
pub(crate) fn calls_of(flow: &Flow) -> Vec<String> {
    branches(flow).unwrap_or_default().into_iter().filter_map(|branch| branch.call).collect()
}

fn to_step(branches: &[Branch]) -> Json {
    to_json(branches).expect("branches are JSON")
}

/// Ends the tasks and executions that the current state began, recursively.
///
/// # Errors
/// Fails on a disk error.
pub(crate) fn end_tree(
    store: &Store,
    running: &RunningTasks,
    flow: &Flow,
    now: Timestamp,
) -> Result<(), Failure> {
    // A damaged record names no tasks, but they are also children of the execution.
    for branch in branches(flow).unwrap_or_default() {
        let Some(id) = branch.execution.filter(|id| id.starts_with("task-")) else { continue };
        let ending = ExecutionEnd { status: ExecutionStatus::Cancelled, error: None };
        match store.end_execution(&id, &ending, now) {
            Ok(_) => drop(running.cancel(&id)),
            Err(error) if error.answered_code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    running.end_children(store, &flow.id, now)?;
    Ok(())
}

impl Engine<'_> {
    fn now(&self) -> Timestamp {
        self.runner.context.workspace.now()
    }

    fn running(&self) -> &RunningTasks {
        &self.runner.context.running
    }

    /// Drives an execution like [`Engine::drive`]. A failure or a panic ends the execution.
    ///
    /// # Errors
    /// Returns that failure.
    pub(crate) fn run(&self, id: &str) -> Result<(), Failure> {
        let driven = unbroken(|| self.drive(id));
        if let Err(failure) = &driven {
            let error = Some((failure.code.as_str(), failure.message.as_str()));
            self.store.end_flow(id, FlowStatus::Failed, error, self.now())?;
            self.release_flow(&self.store.flow(None, id)?)?;
        }
        driven
    }

    /// Drives an execution until it ends, another process takes it over, or this process ends.
    ///
    /// # Errors
    /// Fails if nothing can be written, for example on a full disk. The next gateway continues the execution.
    fn drive(&self, id: &str) -> Result<(), Failure> {
        let gateway = self.runner.gateway()?;
        let mut workflow: Option<Workflow> = None;
        loop {
            let flow = self.store.flow(None, id)?;
            if flow.status.is_over() {
                return self.release_flow(&flow);
            }
            if flow.gateway != gateway || self.cancel.is_cancelled() {
                return Ok(());
            }
            let whole = match workflow.take() {
                Some(workflow) => workflow,
                None => match read::<Workflow>(&self.store.revision(&flow.manifest, flow.revision)?.text)
                    .manifest
                {
                    Some(workflow) => workflow,
                    None => {
                        let error = Some(("invalid_manifest", "the workflow can no longer be read"));
                        self.store.end_flow(id, FlowStatus::Failed, error, self.now())?;
                        continue;
                    }
                },
            };
            let reached = match flow.is_paused {
                true => BranchProgress::Later,
                false => self.state(&flow, &whole.spec)?,
            };
            match reached {
                BranchProgress::Outcome(outcome) => {
                    self.transit(&flow, &whole.spec, *outcome)?;
                    self.steps.changed();
                }
                BranchProgress::Now | BranchProgress::Lost => self.steps.changed(),
                BranchProgress::Unknown => {
                    self.store.ask_in_flow(id, &gateway, &unknown(&flow), self.redactor, self.now())?;
                    self.steps.changed();
                }
                BranchProgress::Later if self.runner.context.serves => {
                    self.running().await_change(POLL_INTERVAL)
                }
                BranchProgress::Later => return Ok(()),
            }
            workflow = Some(whole);
        }
    }

    /// Withdraws the questions and calls of an ended execution.
    fn release_flow(&self, flow: &Flow) -> Result<(), Failure> {
        let all = branches(flow).unwrap_or_default();
        all.iter().filter_map(|branch| branch.call.as_ref()).for_each(|call| self.steps.withdraw(call));
        end_tree(self.store, self.running(), flow, self.now())?;
        self.steps.changed();
        Ok(())
    }

    /// Records the outcome of a state and the transition.
    fn transit(&self, flow: &Flow, spec: &WorkflowSpec, outcome: Outcome) -> Result<(), Failure> {
        let given = self.redactor.redact_json(&outcome.recorded().to_json());
        let writes = self.redactor.redact_json(&Json::Object(outcome.writes()));
        let writes = writes.as_object().cloned().unwrap_or_default();
        let human = from_json::<StateOutput>(&given).unwrap_or_default().response;
        let execution = ExecutionState {
            state: flow.state.clone(),
            visits: flow.visits.clone(),
            transitions: u64::try_from(flow.transitions).unwrap_or_default(),
        };
        // Conditions see the values that the state wrote.
        let mut after = flow.clone();
        after.blackboard.extend(writes.clone());
        after.outputs.insert(flow.state.clone(), given.clone());
        after.human = human.clone().or(after.human);
        let next = decide(spec, &execution, &outcome, &scope(&after, spec));
        let now = self.now();
        let write = |next: NextState<'_>, writes: &Object| {
            let transit = Transit { outcome: &given, writes, human: human.as_deref(), next };
            self.store.transit(&flow.id, &flow.gateway, &transit, now)
        };
        let written = match &next {
            NextAction::Enter { execution, feedback } => {
                let feedback = feedback.as_ref().map(|text| self.redactor.redact_str(text));
                let (name, transitions) = (execution.state.as_str(), execution.transitions);
                write(
                    NextState::State {
                        name,
                        visits: &execution.visits,
                        transitions,
                        feedback: feedback.as_deref(),
                    },
                    &writes,
                )
            }
            NextAction::End { failure } => {
                let failure = failure
                    .as_ref()
                    .map(|(code, message)| (code.as_str(), self.redactor.redact_str(message)));
                let failure = failure.as_ref().map(|(code, message)| (*code, message.as_str()));
                write(NextState::End(failure), &writes)
            }
        };
        let held = match written {
            Err(error @ StoreError::Refused(_)) if error.answered_code() == ErrorCode::TooLarge => {
                let message = error.to_string();
                write(NextState::End(Some((error.answered_code().as_str(), &message))), &Object::new())?
            }
            held => held?,
        };
        if held == WriteOutcome::Paused && self.runner.context.serves {
            self.running().await_change(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Advances the current state as far as possible now.
    fn state(&self, flow: &Flow, spec: &WorkflowSpec) -> Result<BranchProgress, Failure> {
        let Some(state) = spec.states.get(&flow.state) else {
            return Ok(BranchProgress::outcome(Outcome::failed(
                ErrorCode::NoState,
                "the workflow has no such state",
            )));
        };
        let scope = scope(flow, spec);
        if state.kind == StateKind::Human {
            return self.person(flow, state, &scope);
        }
        let orders = orders(state, &scope, flow.intent.as_deref(), &flow.input, flow.feedback.as_deref());
        let orders = match orders {
            Ok(orders) => orders,
            Err(outcome) => return Ok(BranchProgress::Outcome(outcome)),
        };
        let mut all = branches(flow)?;
        all.resize(orders.len(), Branch::default());
        if let Some(reached) = self.answered(flow, &mut all)? {
            return Ok(reached);
        }
        let mut outcomes = Vec::new();
        let (mut is_unknown, mut has_changed) = (false, false);
        for (index, order) in orders.iter().enumerate() {
            match self.branch(flow, order, &mut all, index)? {
                BranchProgress::Outcome(outcome) => outcomes.push(*outcome),
                BranchProgress::Later => {}
                BranchProgress::Now => has_changed = true,
                BranchProgress::Unknown => is_unknown = true,
                BranchProgress::Lost => return Ok(BranchProgress::Lost),
            }
        }
        if has_changed {
            return Ok(BranchProgress::Now);
        }
        if outcomes.len() == orders.len() {
            return Ok(BranchProgress::outcome(merge_outcomes(state, &orders, outcomes)));
        }
        let is_asked = flow.question.is_some();
        Ok(if is_unknown && !is_asked { BranchProgress::Unknown } else { BranchProgress::Later })
    }

    /// Asks a person and takes the answer.
    fn person(&self, flow: &Flow, state: &State, scope: &Scope) -> Result<BranchProgress, Failure> {
        let now = self.now();
        let Some(id) = &flow.question else {
            let form = match question(flow, state, scope) {
                Ok(form) => form,
                Err(outcome) => return Ok(BranchProgress::Outcome(outcome)),
            };
            let held = self.store.ask_in_flow(&flow.id, &flow.gateway, &form, self.redactor, now);
            return match held {
                Err(error @ StoreError::Refused(_)) => {
                    Ok(BranchProgress::outcome(Outcome::failed(error.answered_code(), error.to_string())))
                }
                held => Ok(held?.into()),
            };
        };
        let question = self.store.question(id)?;
        let answered = |response: String| Outcome {
            is_success: true,
            output: Json::from(response.as_str()),
            response: Some(response),
            ..Outcome::default()
        };
        let declined = || Outcome::failed(DECLINED, "a person declined to answer");
        let is_late = || {
            let timeout = state.timeout.as_ref().map(crate::manifest::Span::duration);
            timeout.is_some_and(|timeout| timeout <= now.since(flow.entered_at))
        };
        Ok(match question.status {
            QuestionStatus::Answered | QuestionStatus::Delivered => {
                BranchProgress::outcome(answer_of(&question).map_or_else(declined, answered))
            }
            QuestionStatus::Gone => BranchProgress::outcome(declined()),
            QuestionStatus::Waiting if is_late() => BranchProgress::outcome(match &state.default_response {
                Some(response) => answered(response.clone()),
                None => Outcome::failed(ErrorCode::TimedOut, "no answer in time"),
            }),
            QuestionStatus::Waiting => BranchProgress::Later,
        })
    }

    /// Takes a person's answer about calls with unknown outcomes.
    fn answered(&self, flow: &Flow, all: &mut [Branch]) -> Result<Option<BranchProgress>, Failure> {
        let Some(id) = &flow.question else { return Ok(None) };
        let question = self.store.question(id)?;
        if question.status == QuestionStatus::Waiting {
            return Ok(Some(BranchProgress::Later));
        }
        let answer = answer_of(&question).unwrap_or_else(|| FAILED.to_owned());
        for branch in all.iter_mut() {
            if !self.is_unknown(branch)? {
                continue;
            }
            match answer.as_str() {
                RETRY_ANSWER => *branch = Branch::default(),
                SUCCEEDED => branch.settle("", ""),
                _ => branch.settle(ErrorCode::OutcomeUnknown.as_str(), "a person reported that it failed"),
            }
        }
        let (event, now) = (Event::OutcomeTold { answer: &answer }, self.now());
        let held = self.store.resume_step(&flow.id, &flow.gateway, &to_step(all), &event, now)?;
        Ok(Some(held.into()))
    }

    fn is_unknown(&self, branch: &Branch) -> Result<bool, Failure> {
        if branch.code.is_some() {
            return Ok(false);
        }
        Ok(match (&branch.execution, &branch.call) {
            (Some(id), _) if id.starts_with("task-") => is_interrupted(&self.store.execution(None, id)?),
            (None, Some(call)) => self.steps.look(call)? == CallState::Unknown,
            _ => false,
        })
    }

    fn save(
        &self,
        flow: &Flow,
        all: &[Branch],
        event: Option<&Event<'_>>,
    ) -> Result<BranchProgress, Failure> {
        let step = to_step(all);
        Ok(self.store.write_step(&flow.id, &flow.gateway, &step, event, self.now())?.into())
    }

    /// Advances one call of a state.
    fn branch(
        &self,
        flow: &Flow,
        order: &CallOrder,
        all: &mut [Branch],
        index: usize,
    ) -> Result<BranchProgress, Failure> {
        let branch = all[index].clone();
        if let Some(code) = &branch.code {
            let done = Outcome { is_success: true, ..Outcome::default() };
            return Ok(BranchProgress::outcome(match code.as_str() {
                "" => done,
                code => Outcome::failed(code, branch.message.as_deref().unwrap_or_default()),
            }));
        }
        if let Some(id) = &branch.execution {
            return self.begun(order, &branch, id);
        }
        let Some(call) = &branch.call else {
            return match self.steps.ask(&order.tool, &order.args)? {
                // Another branch has an equal call. This one is requested after that has run.
                RequestedCall::Queued(call) if all.iter().any(|other| other.call.as_ref() == Some(&call)) => {
                    Ok(BranchProgress::Later)
                }
                RequestedCall::Queued(call) => {
                    all[index].call = Some(call.clone());
                    let event = Event::CallAsked { call_id: call.as_str(), tool: &order.tool };
                    self.save(flow, all, Some(&event))
                }
                RequestedCall::Later => Ok(BranchProgress::Later),
                RequestedCall::Done(result) => self.ended(flow, order, all, index, result),
            };
        };
        match self.steps.look(call)? {
            CallState::Waits => Ok(BranchProgress::Later),
            CallState::Unknown => Ok(BranchProgress::Unknown),
            CallState::Ended(result) => self.ended(flow, order, all, index, result),
            CallState::Ready => {
                let call = call.clone();
                all[index].is_begun = true;
                let event = Event::CallBegun { call_id: call.as_str() };
                if let BranchProgress::Lost = self.save(flow, all, Some(&event))? {
                    return Ok(BranchProgress::Lost);
                }
                let timeout = order.timeout.filter(|_| order.then == CallTarget::Result);
                let (state_of_call, timed_out) = self.watched(flow, &call, timeout)?;
                match state_of_call {
                    _ if self.cancel.is_cancelled() => Ok(BranchProgress::Lost),
                    _ if timed_out => Ok(BranchProgress::outcome(Outcome::failed(
                        ErrorCode::TimedOut,
                        "the state took longer than its timeout",
                    ))),
                    CallState::Ended(result) => self.ended(flow, order, all, index, result),
                    CallState::Unknown => Ok(BranchProgress::Unknown),
                    CallState::Waits | CallState::Ready => Ok(BranchProgress::Later),
                }
            }
        }
    }

    /// Runs a call. Cancels it when the execution ends or its time limit is reached.
    fn watched(
        &self,
        flow: &Flow,
        call: &str,
        timeout: Option<Duration>,
    ) -> Result<(CallState, bool), Failure> {
        let token =
            CancelToken::new().map_err(|error| Failure::new(ErrorCode::Environment, error.to_string()))?;
        let (begun, timed_out) = (Instant::now(), AtomicBool::new(false));
        let ends = || {
            let is_late = timeout.is_some_and(|timeout| timeout <= begun.elapsed());
            let is_over = || self.store.flow(None, &flow.id).is_ok_and(|now| now.status.is_over());
            let ends = is_late || self.cancel.is_cancelled() || is_over();
            if ends {
                timed_out.store(is_late, Ordering::SeqCst);
                token.cancel_by("the workflow");
            }
            ends
        };
        let state_of_call = watched(POLL_INTERVAL, ends, || self.steps.go_on(call, &token));
        Ok((state_of_call?, timed_out.load(Ordering::SeqCst)))
    }

    /// Takes the result of a call: the output of the state, or the task or execution that it began.
    fn ended(
        &self,
        flow: &Flow,
        order: &CallOrder,
        all: &mut [Branch],
        index: usize,
        result: CallResult,
    ) -> Result<BranchProgress, Failure> {
        let begins = result.is_success && order.then != CallTarget::Result;
        if let Some(began) = begins.then(|| from_json::<StartResult>(&result.output).ok()).flatten() {
            all[index].execution = Some(began.execution_id);
            all[index].began_at = Some(self.now().unix_micros());
            return self.save(flow, all, None);
        }
        let outcome = outcome_of(result);
        if all.len() == 1 || outcome.is_success {
            return Ok(BranchProgress::outcome(outcome));
        }
        // A finished call of several is not requested again.
        let code = outcome.code.as_deref().unwrap_or(FAILED);
        all[index].settle(code, outcome.message.as_deref().unwrap_or_default());
        self.save(flow, all, None)
    }

    /// Waits for the task or execution that a call began.
    fn begun(&self, order: &CallOrder, branch: &Branch, id: &str) -> Result<BranchProgress, Failure> {
        let now = self.now();
        let began = branch.began_at.map_or(now, Timestamp::from_unix_micros);
        let is_late = order.timeout.is_some_and(|timeout| timeout <= now.since(began));
        let late = || Outcome::failed(ErrorCode::TimedOut, "the state took longer than its timeout");
        if order.then == CallTarget::Flow {
            let child = self.store.flow(None, id)?;
            if child.status.is_over() {
                return Ok(BranchProgress::outcome(of_flow(&child)));
            }
            if is_late {
                self.store.end_flow(id, FlowStatus::Cancelled, None, now)?;
                self.running().cancel(id);
                end_tree(self.store, self.running(), &child, now)?;
                return Ok(BranchProgress::outcome(late()));
            }
            if is_gone(&child.gateway) {
                drive(self.runner, &child)?;
            }
            return Ok(BranchProgress::Later);
        }
        let task = self.runner.settle(self.store.execution(None, id)?)?;
        if is_interrupted(&task) {
            return Ok(BranchProgress::Unknown);
        }
        if task.status.is_over() {
            return Ok(BranchProgress::outcome(of_task(&task)));
        }
        if is_late {
            let ending = ExecutionEnd { status: ExecutionStatus::Cancelled, error: None };
            self.store.end_execution(id, &ending, now)?;
            self.running().cancel(id);
            return Ok(BranchProgress::outcome(late()));
        }
        Ok(BranchProgress::Later)
    }
}

fn is_interrupted(task: &Execution) -> bool {
    task.status == ExecutionStatus::Failed && task.error_code.as_deref() == Some(INTERRUPTED.as_str())
}

fn of_task(task: &Execution) -> Outcome {
    let output = task.output.as_deref().map_or(Json::Null, Json::from);
    let outcome = match task.status {
        ExecutionStatus::Completed => Outcome { is_success: true, ..Outcome::default() },
        _ => {
            let code = task.error_code.as_deref().unwrap_or(task.status.as_str());
            let message = format!("the task is {}", task.status);
            Outcome::failed(code, task.error.clone().unwrap_or(message))
        }
    };
    outcome.with_output(output)
}

fn of_flow(flow: &Flow) -> Outcome {
    let outcome = match flow.status {
        FlowStatus::Completed => Outcome { is_success: true, ..Outcome::default() },
        _ => {
            let code = flow.error_code.as_deref().unwrap_or(flow.status.as_str());
            let message = format!("the workflow is {}", flow.status);
            Outcome::failed(code, flow.error.clone().unwrap_or(message))
        }
    };
    // The blackboard of a nested execution is not shared. The outputs of its other states can be read by its id.
    let output = FlowOutput {
        execution_id: &flow.id,
        status: flow.status.as_str(),
        result: flow.outputs.get(&flow.state).unwrap_or(&Json::Null),
    };
    Outcome { output: to_json(&output).expect("an execution is JSON"), ..outcome }
}

/// The output of an execution, for the state that began it.
#[derive(Serialize)]
struct FlowOutput<'a> {
    execution_id: &'a str,
    status: &'static str,
    result: &'a Json,
}

/// The outputs of several agents.
#[derive(Serialize)]
struct AgentsOutput {
    agents: Vec<StateOutput>,
}

/// Combines the outcomes of all calls of a state.
fn merge_outcomes(state: &State, orders: &[CallOrder], mut outcomes: Vec<Outcome>) -> Outcome {
    let Some(consensus) = state.consensus.as_ref().filter(|_| state.kind == StateKind::ParallelAgents) else {
        return outcomes
            .pop()
            .unwrap_or_else(|| Outcome::failed(ErrorCode::NoOutput, "the state has nothing to do"));
    };
    let verdict_of = |(order, outcome): (&CallOrder, &Outcome)| Verdict {
        score: outcome.score.unwrap_or(1.0),
        confidence: outcome.confidence.unwrap_or(1.0),
        weight: order.weight,
    };
    let verdicts =
        orders.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_success).map(verdict_of).collect();
    let agents = AgentsOutput { agents: outcomes.iter().map(Outcome::recorded).collect() };
    consent(consensus, verdicts, to_json(&agents).expect("what agents gave is JSON"))
}

#[cfg(test)]
mod tests;
