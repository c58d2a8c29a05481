//! Executions of workflows: begin, show, answer and end. An execution belongs to the caller that began it.

use brigade_access::TaskLimits;
use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Json, Object, Timestamp};
use brigade_db::executions::Execution;
use brigade_db::flows::{Flow, FlowStatus, NewFlow};
use brigade_db::manifests::{DeployedManifest, Revision};
use brigade_db::questions::AnswerInput;
use brigade_toolset::{Context, Failure, Output, arguments, is_gone};
use serde::{Deserialize, Serialize};

use super::WORKFLOWS;
use crate::driver::drive;
use crate::engine::{calls_of, end_tree};
use crate::manifest::Workflow;
use crate::runner::TaskRunner;
use crate::tools::StartResult;
use crate::tools::agent::{EventRow, event, page, without_faults};
use crate::tools::shipped::is_shipped;
use crate::tools::task::results::ExecutionLogs;
use crate::tools::task::{IdArgs, LogsArgs, MAX_ROWS, MAX_TEXT, parent_of_call};

/// The maximum size of an input, in bytes of JSON.
const MAX_INPUT: usize = 1 << 20;

#[derive(Deserialize)]
struct RunArgs {
    name: String,
    intent: Option<String>,
    input: Option<Json>,
    blackboard: Option<Json>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct ListArgs {
    limit: i64,
    offset: i64,
    workflow_id: Option<String>,
}

#[derive(Deserialize)]
struct SignalArgs {
    execution_id: String,
    response: String,
}

#[derive(Deserialize)]
struct PutArgs {
    execution_id: String,
    members: Json,
}

/// Returns an execution of the caller. A person has access to all executions. If its process is gone, it continues
/// here.
pub(crate) fn find_flow(id: &str, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<Flow, Failure> {
    let store = context.stored_or_missing("execution")?;
    let flow = store.flow(context.agent(), id)?;
    if !flow.status.is_over() && is_gone(&flow.gateway) {
        drive(runner, &flow)?;
        return Ok(store.flow(None, id)?);
    }
    Ok(flow)
}

fn object(name: &str, value: Option<Json>) -> Result<Object, Failure> {
    match value {
        None | Some(Json::Null) => Ok(Object::new()),
        Some(Json::Object(members)) => Ok(members),
        Some(_) => Err(Failure::new(ErrorCode::InvalidArguments, format!("`{name}` must be an object"))),
    }
}

pub(super) fn run(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    let args: RunArgs = arguments(input)?;
    let given = Json::Object(object("input", args.input)?);
    let blackboard = object("blackboard", args.blackboard)?;
    let offered = super::scope::find_offered(&args.name, context)?;
    if is_shipped(WORKFLOWS.kind, &offered.name) {
        let message = format!(
            "`{}` is part of `execute.intent`, `agent.generate` or `workflow.generate`; call that, which limits it \
             and asks a person where necessary",
            offered.name
        );
        return Err(Failure::new(ErrorCode::ArgumentRefused, message));
    }
    let store = context.store()?;
    let (manifest, revision) = store.manifest(WORKFLOWS.kind, &offered.id, args.version.as_deref())?;
    let (workflow, _) = without_faults::<Workflow>(&revision.text)?;
    let new = NewExecution { intent: args.intent.as_deref(), input: given, blackboard, limits: None };
    let flow = begin(context, runner, (&manifest, &revision), &workflow, new)?;
    Ok(Output::from_result(&StartResult::new(flow.id)))
}

/// What an execution begins with.
pub(crate) struct NewExecution<'a> {
    pub(crate) intent: Option<&'a str>,
    pub(crate) input: Json,
    pub(crate) blackboard: Object,
    /// The limits of its calls; `None` for all rights of the caller.
    pub(crate) limits: Option<TaskLimits>,
}

/// Begins an execution of a workflow.
pub(crate) fn begin(
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
    (manifest, revision): (&DeployedManifest, &Revision),
    workflow: &Workflow,
    NewExecution { intent, input, blackboard, limits }: NewExecution<'_>,
) -> Result<Flow, Failure> {
    if intent.is_some_and(|intent| MAX_TEXT < intent.len()) {
        return Err(Failure::new(
            ErrorCode::TooLong,
            format!("an intent has at most {} KiB", MAX_TEXT >> 10),
        ));
    }
    if MAX_INPUT < input.to_compact().len() {
        return Err(Failure::new(
            ErrorCode::TooLarge,
            format!("an input has at most {} KiB", MAX_INPUT >> 10),
        ));
    }
    let store = context.store()?;
    let parent = parent_of_call(context, &store)?;
    let mask = |members: Object| {
        let masked = context.redactor.redact_json(&Json::Object(members));
        masked.as_object().cloned().unwrap_or_default()
    };
    let (mut rights, owner, gateway) = (runner.rights(), context.owner(), runner.gateway()?);
    limits.into_iter().for_each(|limits| rights.session.within(limits));
    let rights = to_json(&rights).expect("rights are JSON");
    let input = context.redactor.redact_json(&input);
    let intent = intent.map(|intent| context.redactor.redact_str(intent));
    let blackboard = mask(blackboard);
    let new = NewFlow {
        owner: &owner,
        caller: context.caller,
        rights: &rights,
        parent: parent.as_ref(),
        manifest,
        revision,
        intent: intent.as_deref(),
        input: &input,
        blackboard: &blackboard,
        state: &workflow.spec.initial_state,
        gateway: &gateway,
    };
    let flow = store.begin_flow(&new, context.clock.now())?;
    if let Err(failure) = drive(runner, &flow) {
        let error = Some((failure.code.as_str(), failure.message.as_str()));
        store.end_flow(&flow.id, FlowStatus::Failed, error, context.clock.now())?;
        return Err(failure.data([("execution_id", Json::from(flow.id))]));
    }
    Ok(flow)
}

/// Returns the status as a word: `waiting` if the execution or a call of its state waits for a person.
pub(crate) fn status_word(flow: &Flow, context: &Context<'_>) -> &'static str {
    let waits = |id: &String| {
        let call = context.calls.and_then(|calls| calls.find_call(id).ok().flatten());
        call.is_some_and(|call| call.waits_for_a_person)
    };
    match flow.shown() {
        "running" if calls_of(flow).iter().any(waits) => "waiting",
        word => word,
    }
}

/// An execution, as a row of `workflow.executions.list`.
#[derive(Serialize)]
struct FlowRow {
    execution_id: String,
    /// `None` for a task.
    workflow_id: Option<String>,
    status: &'static str,
    current_state: Option<String>,
    started_at: Option<Timestamp>,
}

impl FlowRow {
    fn new(flow: &Flow, context: &Context<'_>) -> FlowRow {
        FlowRow {
            execution_id: flow.id.clone(),
            workflow_id: Some(flow.manifest.clone()),
            status: status_word(flow, context),
            current_state: Some(flow.state.clone()),
            started_at: Some(flow.started_at),
        }
    }
}

/// The state of an execution: the result of `workflow.status`.
#[derive(Serialize)]
pub(crate) struct FlowSummary {
    #[serde(flatten)]
    row: FlowRow,
    last_transition_at: Option<Timestamp>,
}

impl FlowSummary {
    pub(crate) fn new(flow: &Flow, context: &Context<'_>) -> FlowSummary {
        let last_transition_at = Some(flow.ended_at.unwrap_or(flow.entered_at));
        FlowSummary { row: FlowRow::new(flow, context), last_transition_at }
    }

    /// Describes a task, which has no workflow and no states.
    pub(crate) fn from_task(task: Execution) -> FlowSummary {
        let row = FlowRow {
            execution_id: task.id,
            workflow_id: None,
            status: task.status.as_str(),
            current_state: None,
            started_at: task.started_at,
        };
        FlowSummary { row, last_transition_at: task.ended_at.or(task.started_at) }
    }
}

/// The result of `workflow.executions.get`.
#[derive(Serialize)]
struct FlowDetails {
    #[serde(flatten)]
    summary: FlowSummary,
    input: Json,
    blackboard: Json,
    state_outputs: Json,
}

#[derive(Serialize)]
struct FlowList {
    executions: Vec<FlowRow>,
    total: usize,
    limit: usize,
    offset: usize,
}

#[derive(Serialize)]
struct FlowEvent {
    sequence: i64,
    state_name: Option<String>,
    iteration_number: u64,
    #[serde(flatten)]
    event: EventRow,
}

/// The result of `workflow.wait`.
#[derive(Serialize)]
pub(crate) struct FlowWaitResult {
    #[serde(flatten)]
    pub(crate) summary: FlowSummary,
    pub(crate) timed_out: bool,
    pub(crate) blackboard: Json,
    /// Whether the blackboard was left out because it is too large.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) blackboard_truncated: bool,
}

/// The result of `workflow.pause` and `workflow.resume`.
#[derive(Serialize)]
struct PauseResult {
    status: &'static str,
    execution_id: String,
}

/// The result of `workflow.put`.
#[derive(Serialize)]
struct PutResult {
    execution_id: String,
    blackboard: Json,
}

fn named_flow(input: &Json, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<Flow, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    find_flow(&execution_id, context, runner)
}

pub(super) fn status(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    Ok(Output::from_result(&FlowSummary::new(&named_flow(input, context, runner)?, context)))
}

pub(super) fn get(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    let flow = named_flow(input, context, runner)?;
    Ok(Output::from_result(&FlowDetails {
        summary: FlowSummary::new(&flow, context),
        input: context.redactor.redact_json(&flow.input),
        blackboard: context.redactor.redact_json(&Json::Object(flow.blackboard)),
        state_outputs: context.redactor.redact_json(&Json::Object(flow.outputs)),
    }))
}

pub(super) fn list(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let ListArgs { limit, offset, workflow_id } = arguments(input)?;
    let (limit, offset) = page(limit, MAX_ROWS, offset)?;
    let (flows, total) = match context.stored()? {
        Some(store) => store.flows(context.agent(), workflow_id.as_deref(), limit, offset)?,
        None => (Vec::new(), 0),
    };
    let executions = flows.iter().map(|flow| FlowRow::new(flow, context)).collect();
    Ok(Output::from_result(&FlowList { executions, total, limit, offset }))
}

pub(super) fn logs(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    let LogsArgs { execution_id, limit, offset } = arguments(input)?;
    let (limit, offset) = page(limit, MAX_ROWS, offset)?;
    find_flow(&execution_id, context, runner)?;
    let store = context.stored_or_missing("execution")?;
    let (flow, events, total) = store.flow_events(context.agent(), &execution_id, limit, offset)?;
    let rows = events.into_iter().map(|mut one| FlowEvent {
        sequence: one.sequence,
        state_name: one.visited.state.take(),
        iteration_number: one.visited.visit.unwrap_or_default(),
        event: event(one),
    });
    let (events, status) = (rows.collect(), status_word(&flow, context));
    Ok(Output::from_result(&ExecutionLogs { execution_id: flow.id, status, events, total, limit, offset }))
}

/// Returns the result of a tool that ends or answers an execution. A refusal is a result, too: `member` is false then.
fn done(member: &str, input: &Json, done: Result<(), Failure>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    let is_refusal = |code| {
        use ErrorCode::{AlreadyEnded, NotEnded, NotFound, NotWaiting};
        matches!(code, NotFound | AlreadyEnded | NotWaiting | NotEnded)
    };
    let result = |is_done| {
        Output::new([(member, Json::Bool(is_done)), ("execution_id", Json::from(execution_id.as_str()))])
    };
    match done {
        Ok(()) => Ok(result(true)),
        Err(failure) if is_refusal(failure.code) => {
            let error = result(false).with("error", Json::from(failure.message));
            Ok(error.with("code", Json::from(failure.code.as_str())))
        }
        Err(failure) => Err(failure),
    }
}

pub(super) fn cancel(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    done("cancelled", input, cancel_flow(input, context, runner))
}

fn cancel_flow(input: &Json, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<(), Failure> {
    let IdArgs { execution_id, .. } = arguments(input)?;
    let store = context.stored_or_missing("execution")?;
    let flow = store.flow(context.agent(), &execution_id)?;
    let (store, running, now) = (context.store()?, &runner.context.running, context.clock.now());
    if !store.end_flow(&flow.id, FlowStatus::Cancelled, None, now)? {
        let flow = store.flow(None, &flow.id)?;
        return Err(Failure::new(
            ErrorCode::AlreadyEnded,
            format!("the execution is already {}", flow.status),
        ));
    }
    end_tree(&store, running, &flow, now)?;
    // Another process ends its execution when it sees the new status.
    running.cancel(&flow.id);
    Ok(())
}

pub(super) fn signal(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    done("signalled", input, signal_flow(input, context, runner))
}

fn signal_flow(input: &Json, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<(), Failure> {
    let SignalArgs { execution_id, response } = arguments(input)?;
    find_flow(&execution_id, context, runner)?;
    let given = AnswerInput { choices: Vec::new(), text: Some(response.clone()) };
    let make = |form: &brigade_db::questions::QuestionForm| {
        // Try the text as a choice first, and then as free text if that is accepted.
        let chosen = AnswerInput { choices: vec![response.clone()], text: None };
        form.answer(&chosen).or_else(|_| form.answer(&given))
    };
    let by = context.caller;
    context.store()?.answer_flow(
        context.agent(),
        &execution_id,
        &make,
        by,
        context.redactor,
        context.clock.now(),
    )?;
    Ok(())
}

pub(super) fn remove(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    done("removed", input, remove_flow(input, context, runner))
}

fn remove_flow(input: &Json, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<(), Failure> {
    let IdArgs { execution_id, .. } = arguments(input)?;
    find_flow(&execution_id, context, runner)?;
    context.store()?.remove_flow(context.agent(), &execution_id)?;
    Ok(())
}

fn paused(
    input: &Json,
    is_paused: bool,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    let IdArgs { execution_id, .. } = arguments(input)?;
    find_flow(&execution_id, context, runner)?;
    let flow = context.store()?.pause_flow(context.agent(), &execution_id, is_paused, context.clock.now())?;
    Ok(Output::from_result(&PauseResult { status: status_word(&flow, context), execution_id: flow.id }))
}

pub(super) fn pause(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    paused(input, true, context, runner)
}

pub(super) fn resume(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    paused(input, false, context, runner)
}

pub(super) fn put(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    let PutArgs { execution_id, members } = arguments(input)?;
    find_flow(&execution_id, context, runner)?;
    let members = context.redactor.redact_json(&Json::Object(object("members", Some(members))?));
    let members = members.as_object().cloned().unwrap_or_default();
    let flow = context.store()?.put_in_flow(context.agent(), &execution_id, &members, context.clock.now())?;
    let blackboard = context.redactor.redact_json(&Json::Object(flow.blackboard));
    Ok(Output::from_result(&PutResult { execution_id: flow.id, blackboard }))
}
