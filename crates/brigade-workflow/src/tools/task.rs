//! Tasks: `task.*`. A task is an execution of an agent by a worker. This module creates, shows and ends tasks; the
//! process of the caller runs them.

pub(crate) mod results;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brigade_access::builtin::{PathProblem, PathUse};
use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_db::executions::{Execution, ExecutionEnd, ExecutionStatus, NewExecution, Parent};
use brigade_db::manifests::{DeployedManifest, Revision};
use brigade_db::volumes::VolumeFiles;
use brigade_db::{Store, StoreError};
use brigade_fs::RelPath;
use brigade_toolset::{Context, Failure, Output, TouchedPath, arguments, lane_of_input, lock_lane, unbroken};
use serde::Deserialize;

use crate::manifest::Agent;
use crate::runner::{TASKS, TaskRunner};
use crate::tools::agent::{KIND, event, page, without_faults};
use crate::tools::shipped::folder_of;
use crate::tools::workflow::{find_flow, is_flow};
use crate::tools::{Function, StartResult};
use results::{
    CancelResult, ExecutionLogs, FileResource, HandoffResult, MessageResult, RemoveResult, TaskEvent,
    TaskFile, TaskList, TaskRow, TaskStatus, TaskSummary,
};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("execution.file", file),
    ("task.cancel", cancel),
    ("task.execute", execute),
    ("task.handoff", handoff),
    ("task.list", list),
    ("task.logs", logs),
    ("task.message", message),
    ("task.remove", remove),
    ("task.status", status),
];

/// The maximum number of events or rows in a result.
pub(super) const MAX_ROWS: i64 = 200;

/// The maximum length of an intent, note or message.
pub(super) const MAX_TEXT: usize = 64 << 10;

#[derive(Deserialize)]
struct ExecuteArgs {
    agent_id: String,
    intent: Option<String>,
    input: Option<Json>,
    version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct IdArgs {
    pub(super) execution_id: String,
}

#[derive(Deserialize)]
struct ListArgs {
    agent_id: Option<String>,
    limit: i64,
}

#[derive(Deserialize)]
pub(super) struct LogsArgs {
    pub(super) execution_id: String,
    pub(super) limit: i64,
    pub(super) offset: i64,
}

#[derive(Deserialize)]
struct MessageArgs {
    execution_id: String,
    text: String,
}

#[derive(Deserialize)]
struct FileArgs {
    execution_id: String,
    path: String,
}

#[derive(Deserialize)]
struct HandoffArgs {
    execution_id: String,
    agent_id: String,
    note: Option<String>,
}

/// Returns the execution whose step or worker makes the call. Its id is that of the session.
pub(crate) fn parent_of_call(context: &Context<'_>, store: &Store) -> Result<Option<Parent>, StoreError> {
    context.session.map_or(Ok(None), |session| store.parent(context.agent(), session.id()))
}

/// Returns an execution of the caller. A person has access to all executions.
pub(crate) fn find_task(
    id: &str,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Execution, Failure> {
    let store = context.stored_or_missing("execution")?;
    runner.settle(store.execution(context.agent(), id)?)
}

fn short(name: &str, text: Option<&str>) -> Result<(), Failure> {
    match text {
        Some(text) if MAX_TEXT < text.len() => {
            Err(Failure::new(ErrorCode::TooLong, format!("`{name}` has at most {} KiB", MAX_TEXT >> 10)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks the input of a task against the schema of its agent.
fn check_input(agent: &Agent, input: &Json) -> Result<(), Failure> {
    let Some(schema) = &agent.spec.input_schema else { return Ok(()) };
    let violations = schema.schema().violations(&input.to_serde());
    let messages: Vec<String> = violations.iter().map(ToString::to_string).collect();
    if messages.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::InvalidInput,
        format!("the input does not match the schema of the agent: {}", messages.join("; ")),
    ))
}

/// A checked task that can start.
struct PreparedTask {
    manifest: DeployedManifest,
    revision: Revision,
    agent: Agent,
    input: Json,
    intent: Option<String>,
    /// The directory of the lane that it works in.
    root: Option<String>,
}

/// Checks a task before it starts.
fn prepare(
    args: ExecuteArgs,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<PreparedTask, Failure> {
    short("intent", args.intent.as_deref())?;
    crate::tools::shipped::deploy_chat(context, &args.agent_id)?;
    let store = context.stored_or_missing("agent")?;
    let (manifest, revision) = store.manifest(KIND, &args.agent_id, args.version.as_deref())?;
    let (agent, _) = without_faults::<Agent>(&revision.text)?;
    let usual = || agent.spec.task.as_ref().and_then(|task| task.input_data.clone()).map(Json::Object);
    let input = args.input.or_else(usual).unwrap_or_else(|| Json::object::<&str>([]));
    check_input(&agent, &input)?;
    runner.check(&agent, &input)?;
    let root = lane_of_input(context, &input, runner.rights().root)?;
    Ok(PreparedTask { manifest, revision, agent, input, intent: args.intent, root })
}

/// Stores a task before it starts. If it replaces another task, its parent is the parent of that task.
fn store_task(
    task: &PreparedTask,
    instead_of: Option<&Execution>,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Execution, Failure> {
    let store = context.store()?;
    let _kept = task.root.as_deref().map(|root| lock_lane(context, root)).transpose()?;
    let (owner, gateway) = (context.owner(), runner.gateway()?);
    let parent = match instead_of {
        Some(old) => old.parent.clone().map(|id| Parent { id, depth: old.depth.saturating_sub(1) }),
        None => parent_of_call(context, &store)?,
    };
    let new = NewExecution {
        owner: &owner,
        manifest: &task.manifest,
        revision: &task.revision,
        intent: task.intent.as_deref(),
        input: &task.input,
        root: task.root.as_deref(),
        gateway: &gateway,
        parent: parent.as_ref(),
        instead_of: instead_of.map(|old| old.id.as_str()),
    };
    Ok(store.begin_execution(&new, context.clock.now())?)
}

/// Starts a stored task.
fn begin(
    execution: Execution,
    task: &PreparedTask,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Execution, Failure> {
    if let Err(failure) = unbroken(|| runner.begin(&execution, &task.agent, task.root.as_deref())) {
        let error = Some((failure.code.as_str(), failure.message.as_str()));
        let ending = ExecutionEnd { status: ExecutionStatus::Failed, error };
        context.store()?.end_execution(&execution.id, &ending, context.clock.now())?;
        return Err(failure.data([("execution_id", Json::from(execution.id))]));
    }
    Ok(execution)
}

fn execute(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let task = prepare(arguments(input)?, context, runner)?;
    let execution = begin(store_task(&task, None, context, runner)?, &task, context, runner)?;
    Ok(Output::from_result(&StartResult::new(execution.id)))
}

/// Ends a task and returns the updated task.
fn end(execution: &Execution, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<Execution, Failure> {
    let store = context.store()?;
    let ending = ExecutionEnd { status: ExecutionStatus::Cancelled, error: None };
    store.end_execution(&execution.id, &ending, context.clock.now())?;
    // Another process ends its task when it sees that the task has ended.
    let running = &runner.context.running;
    running.cancel(&execution.id);
    running.end_children(&store, &execution.id, context.clock.now())?;
    Ok(store.execution(None, &execution.id)?)
}

fn cancel(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    let execution = find_task(&execution_id, context, runner)?;
    if execution.status.is_over() {
        let message = format!("the execution is already {}", execution.status);
        return Err(Failure::new(ErrorCode::AlreadyEnded, message));
    }
    end(&execution, context, runner)?;
    Ok(Output::from_result(&CancelResult { execution_id, cancelled: true }))
}

fn handoff(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let HandoffArgs { execution_id, agent_id, note } = arguments(input)?;
    short("note", note.as_deref())?;
    let old = find_task(&execution_id, context, runner)?;
    let args = ExecuteArgs { agent_id, intent: None, input: Some(old.input.clone()), version: None };
    let mut next = prepare(args, context, runner)?;
    let is_over = old.status.is_over();
    let was = if is_over { old.status } else { ExecutionStatus::Cancelled };
    let mut intent = format!("Another agent, {}, worked on this before and was {was}.", old.name);
    for (title, text) in [
        ("Its task", old.intent.as_deref()),
        ("Its findings", old.output.as_deref()),
        ("Note", note.as_deref()),
    ] {
        if let Some(text) = text {
            intent.push_str(&format!("\n\n{title}: {}", brigade_core::text::short(text, 8 << 10)));
        }
    }
    next.intent = Some(intent);
    // The new task is stored before the old one ends, so that one of the two always exists. It replaces the old one and
    // does not end with it, so a worker can hand off its own task.
    let execution = store_task(&next, Some(&old).filter(|_| !is_over), context, runner)?;
    if !is_over {
        end(&old, context, runner)?;
    }
    let execution = begin(execution, &next, context, runner)?;
    Ok(Output::from_result(&HandoffResult { execution_id: execution.id }))
}

fn status(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    let execution = find_task(&execution_id, context, runner)?;
    let agent_id = execution.manifest.clone();
    Ok(Output::from_result(&TaskStatus { agent_id, summary: TaskSummary::from(execution) }))
}

fn list(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let ListArgs { agent_id, limit } = arguments(input)?;
    let (limit, _) = page(limit, MAX_ROWS, 0)?;
    let executions = match context.stored()? {
        Some(store) => store.executions(context.agent(), agent_id.as_deref(), limit)?,
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for execution in executions {
        let execution = runner.settle(execution)?;
        rows.push(TaskRow {
            id: execution.id,
            agent_id: execution.manifest,
            status: execution.status.as_str(),
            started_at: execution.started_at,
        });
    }
    Ok(Output::from_result(&TaskList { executions: rows }))
}

fn logs(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let LogsArgs { execution_id, limit, offset } = arguments(input)?;
    let (limit, offset) = page(limit, MAX_ROWS, offset)?;
    find_task(&execution_id, context, runner)?;
    let store = context.stored_or_missing("execution")?;
    let (execution, events, total) = store.execution_events(context.agent(), &execution_id, limit, offset)?;
    let rows = events.into_iter().map(|one| TaskEvent { sequence: one.sequence, event: event(one) });
    let (events, status) = (rows.collect(), execution.status.as_str());
    Ok(Output::from_result(&ExecutionLogs {
        execution_id: execution.id,
        status,
        events,
        total,
        limit,
        offset,
    }))
}

fn message(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let MessageArgs { execution_id, text } = arguments(input)?;
    short("text", Some(&text))?;
    if text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidArguments, "`text` is blank"));
    }
    find_task(&execution_id, context, runner)?;
    let (text, author) = (context.redactor.redact_str(&text), context.owner());
    let now = context.clock.now();
    let id = context.store()?.send_message(context.agent(), &execution_id, &author, &text, now)?;
    Ok(Output::from_result(&MessageResult { execution_id, message_id: id }))
}

fn remove(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    find_task(&execution_id, context, runner)?;
    let removed: Result<Execution, StoreError> =
        context.store()?.remove_execution(context.agent(), &execution_id);
    let execution = removed?;
    runner.remove_folder(&execution.id)?;
    Ok(Output::from_result(&RemoveResult { execution_id: execution.id, removed: true }))
}

/// Returns the content type for a file name.
fn content_type(path: &str, is_binary: bool) -> &'static str {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "md" => "text/markdown",
        "json" => "application/json",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "pdf" => "application/pdf",
        _ if is_binary => "application/octet-stream",
        _ => "text/plain",
    }
}

/// `execution.file`
fn file(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let FileArgs { execution_id, path } = arguments(input)?;
    let folder = match is_flow(&execution_id) {
        true => folder_of(&find_flow(&execution_id, context, runner)?)
            .ok_or_else(|| Failure::missing("execution"))?,
        false => {
            let execution = find_task(&execution_id, context, runner)?;
            RelPath::from_static(TASKS).join(&execution.id).map_err(|_| Failure::missing("execution"))?
        }
    };
    let path = path.strip_prefix("/workspace/").unwrap_or(&path).trim_start_matches('/').to_owned();
    // Files of a task are protected by the same rules as workspace files.
    if !context.guards.allows(&path, PathUse::Read) {
        return Err(PathProblem::Protected.into());
    }
    let bytes = VolumeFiles::of_folder(context.fs, &folder, &context.volumes)?.read(&path)?;
    let hash = Some(Fingerprint::of_bytes(&bytes));
    let touched = format!("{folder}/{path}");
    context.touched.push(TouchedPath { path: touched, before: hash, after: hash });
    let size = bytes.len();
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let is_binary = text.is_none();
    let kind = content_type(&path, is_binary);
    let uri = format!("brigade://executions/{execution_id}/{path}");
    let mut file = TaskFile {
        execution_id,
        content_type: kind,
        is_binary,
        size_bytes: size,
        path,
        content: text.map(|text| context.redactor.redact_str(text)),
        resource: None,
    };
    if !is_binary {
        return Ok(Output::from_result(&file));
    }
    let (blob, note) = match blob(context, &bytes) {
        Ok(blob) => (Some(blob), "its bytes are `resource.blob`, as base64"),
        Err(why) => (None, why),
    };
    file.resource = Some(FileResource { uri, mime_type: kind, size, blob });
    Ok(Output::from_result(&file).text(format!("`{}` is binary, with {size} bytes; {note}", file.path)))
}

/// Encodes bytes as base64, if they fit in a result and contain nothing that must be masked.
fn blob(context: &Context<'_>, bytes: &[u8]) -> Result<String, &'static str> {
    if context.max_bytes / 2 < bytes.len() as u64 * 4 / 3 {
        return Err("they do not fit in a result");
    }
    let text = String::from_utf8_lossy(bytes);
    if context.redactor.redact_str(&text) != text {
        return Err("it contains a secret, so its bytes are withheld");
    }
    Ok(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, GONE, deploy, text};

    const MANIFEST: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter}\n\
                            spec: {runtime: {image: a/b}, input_schema: {type: object, required: [who]}}\n";

    #[test]
    fn a_task_is_its_owners_and_ends_once() {
        // The drivers of tasks stop before they do anything, so that tasks stay pending.
        let bench = Bench::with_worker(|| {
            loop {
                std::thread::park();
            }
        });
        bench.call("agent.create", &deploy(MANIFEST));
        let ada = |tool: &str, args: &str| bench.call_as("agent:ada", tool, args);
        let code = |tool: &str, args: &str| ada(tool, args).unwrap_err().code;
        assert_eq!(code("task.execute", r#"{"agent_id": "nobody"}"#), ErrorCode::NotFound);
        assert_eq!(code("task.execute", r#"{"agent_id": "greeter"}"#), ErrorCode::InvalidInput);
        let started =
            ada("task.execute", r#"{"agent_id": "greeter", "input": {"who": "Bob"}, "intent": "Greet"}"#)
                .unwrap();
        let id = text(&started, "execution_id").to_owned();
        let execution = format!(r#"{{"execution_id": "{id}"}}"#);
        assert_eq!(text(&ada("task.status", &execution).unwrap(), "status"), "pending");
        for tool in ["task.status", "task.cancel", "task.logs", "task.wait", "agent.wait", "task.remove"] {
            assert_eq!(bench.code("agent:bob", tool, &execution), ErrorCode::NotFound, "{tool}");
        }
        assert_eq!(
            code("task.wait", &format!(r#"{{"execution_id": "{id}", "timeout_seconds": 0}}"#)),
            ErrorCode::InvalidArguments
        );
        assert_eq!(code("task.remove", &execution), ErrorCode::NotEnded);
        ada("task.message", &format!(r#"{{"execution_id": "{id}", "text": "Be polite"}}"#)).unwrap();
        let next = ada(
            "task.handoff",
            &format!(r#"{{"execution_id": "{id}", "agent_id": "greeter", "note": "Hurry"}}"#),
        );
        let next = text(&next.unwrap(), "execution_id").to_owned();
        assert_eq!(text(&ada("task.wait", &execution).unwrap(), "status"), "cancelled");
        assert_eq!(code("task.cancel", &execution), ErrorCode::AlreadyEnded);
        let listed = ada("task.list", "{}").unwrap();
        assert_eq!(text(&listed.get("executions").unwrap().as_array().unwrap()[0], "id"), next);
        let logs = ada("task.logs", &format!(r#"{{"execution_id": "{id}", "limit": 1}}"#)).unwrap();
        assert_eq!(logs.get("total"), Some(&Json::from(3)));
        ada("task.remove", &execution).unwrap();
        assert_eq!(code("task.status", &execution), ErrorCode::NotFound);
        // A hand-off replaces the task that it ends, and keeps its parent.
        let parent = Parent { id: next.clone(), depth: brigade_db::executions::MAX_DEPTH - 2 };
        let (store, deepest) = (bench.store(), bench.store_task("greeter", &bench.gateway(), Some(parent)));
        let own = format!(r#"{{"execution_id": "{}", "agent_id": "greeter"}}"#, deepest.id);
        let after = text(&ada("task.handoff", &own).unwrap(), "execution_id").to_owned();
        let after = store.execution(None, &after).unwrap();
        assert_eq!((after.parent.as_deref(), after.depth), (Some(next.as_str()), deepest.depth));
        assert_eq!(store.execution(None, &deepest.id).unwrap().status, ExecutionStatus::Cancelled);
        ada("task.cancel", &format!(r#"{{"execution_id": "{}"}}"#, after.id)).unwrap();
        // The process of the task is gone.
        let gone = bench.store_task("greeter", GONE, None);
        let status = ada("task.status", &format!(r#"{{"execution_id": "{}"}}"#, gone.id)).unwrap();
        assert_eq!(text(&status, "status"), "failed");
        assert!(text(&status, "last_error").starts_with("interrupted: "));
    }

    #[test]
    fn without_a_worker_no_task_starts() {
        let bench = Bench::new();
        bench.call("agent.create", &deploy(MANIFEST));
        let args = r#"{"agent_id": "greeter", "input": {"who": "Bob"}}"#;
        let refused = bench.call_as("agent:ada", "task.execute", args).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotAvailableHere);
        assert!(refused.message.contains("worker.cli"), "{}", refused.message);
        let listed = bench.call("task.list", "{}");
        assert_eq!(listed.get("executions"), Some(&Json::from(Vec::<Json>::new())));
    }
}
