//! Tasks: `task.*`. A task is an execution of an agent by a worker. This module creates, shows and ends tasks; the
//! process of the caller runs them.

pub(crate) mod results;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brigade_access::FlowRights;
use brigade_access::builtin::{Fact, PathProblem, PathUse};
use brigade_call::Judgement;
use brigade_core::{ErrorCode, Fingerprint, Json, Timestamp};
use brigade_db::executions::{Execution, ExecutionEnd, ExecutionStatus, NewExecution, Parent};
use brigade_db::flows::{Flow, FlowStatus};
use brigade_db::manifests::{DeployedManifest, Revision};
use brigade_db::volumes::VolumeFiles;
use brigade_db::{Store, StoreError};
use brigade_fs::RelPath;
use brigade_manifest::Agent;
use serde::Deserialize;

use crate::agent::{KIND, event, page, without_faults};
use crate::context::{Context, Failure, Output, StartResult, TouchedPath};
use crate::run::{Function, arguments, unbroken};
use crate::shipped::folder_of;
use crate::workflow::{execution_of, is_flow};
use results::{
    CancelResult, ExecutionLogs, FileResource, HandoffResult, MessageResult, RemoveResult, TaskEvent,
    TaskFile, TaskList, TaskRow, TaskStanding, TaskStatus,
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

/// Runs tasks, in the process that serves the caller.
pub trait Tasks: Sync {
    /// Returns the identity of this process. It differs from that of a later process with the same pid.
    ///
    /// # Errors
    /// Fails if the identity cannot be determined.
    fn gateway(&self) -> Result<String, Failure>;

    /// Returns whether an identified process is gone.
    fn is_gone(&self, gateway: &str) -> bool;

    /// Returns the ids of the configured workers.
    fn workers(&self) -> Vec<String>;

    /// Refuses an agent for which no worker is configured, and a model or effort in the input that its worker cannot
    /// be given.
    ///
    /// # Errors
    /// Returns `not_available_here` or `invalid_arguments`.
    fn check(&self, agent: &Agent, input: &Json) -> Result<(), Failure>;

    /// Starts a stored task. In a process that serves, it continues after this returns. `root` is the directory of the
    /// lane that it works in.
    ///
    /// # Errors
    /// Fails if it cannot start. The caller then ends it.
    fn begin(&self, execution: &Execution, agent: &Agent, root: Option<&str>) -> Result<(), Failure>;

    /// Ends the worker of a task or the driver of a workflow, with all child processes. Returns whether it runs in this
    /// process.
    fn cancel(&self, id: &str) -> bool;

    /// Returns the rights of the caller's calls: the profiles and the directory of the session that asked.
    fn rights(&self) -> FlowRights;

    /// Drives a stored workflow execution, or one whose process is gone. In a process that serves, it continues after
    /// this returns.
    ///
    /// # Errors
    /// Fails if it cannot be driven.
    fn drive(&self, flow: &Flow) -> Result<(), Failure>;

    /// Asks judges a question about an input without secrets: the named workers, or the configured judge. Empty without
    /// a judge.
    ///
    /// # Errors
    /// Returns `not_found` if a named worker does not exist.
    fn judge(&self, question: &str, input: Json, judges: &[String]) -> Result<Vec<Judgement>, Failure>;

    /// Waits until a task or a workflow of this process changes, at most this long.
    fn await_change(&self, longest: Duration);

    /// Removes the folder of a task.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn remove_folder(&self, id: &str) -> Result<(), Failure>;
}

/// The directory of task folders, relative to the workspace.
pub const TASKS: &str = ".brigade/tasks";

/// The maximum number of events or rows in a result.
const MAX_ROWS: i64 = 200;

/// The maximum length of an intent, note or message.
const MAX_TEXT: usize = 64 << 10;

/// The code of a task whose process is gone.
pub(crate) const INTERRUPTED: &str = "interrupted";

#[derive(Deserialize)]
struct ExecuteArgs {
    agent_id: String,
    intent: Option<String>,
    input: Option<Json>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct IdArgs {
    execution_id: String,
}

#[derive(Deserialize)]
struct ListArgs {
    agent_id: Option<String>,
    limit: i64,
}

#[derive(Deserialize)]
struct LogsArgs {
    execution_id: String,
    limit: i64,
    offset: i64,
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

fn not_found() -> Failure {
    Failure::new(ErrorCode::NotFound, "there is no such execution")
}

/// Ends the executions that one execution began, recursively.
///
/// # Errors
/// Fails on a disk error.
pub fn end_children(
    store: &Store,
    parent: &str,
    cancel: &dyn Fn(&str),
    now: Timestamp,
) -> Result<(), StoreError> {
    for task in store.open_executions(Some(parent))? {
        store.end_execution(
            &task.id,
            &ExecutionEnd { status: ExecutionStatus::Cancelled, error: None },
            now,
        )?;
        // Another process ends its task when it sees that the task has ended.
        cancel(&task.id);
        end_children(store, &task.id, cancel, now)?;
    }
    for flow in store.open_flows(Some(parent))? {
        store.end_flow(&flow.id, FlowStatus::Cancelled, None, now)?;
        cancel(&flow.id);
        end_children(store, &flow.id, cancel, now)?;
    }
    Ok(())
}

impl<'a> Context<'a> {
    /// Returns the execution whose step or worker makes the call. Its id is that of the session.
    pub(crate) fn parent(&self, store: &Store) -> Result<Option<Parent>, StoreError> {
        self.session.map_or(Ok(None), |session| store.parent(self.agent(), session.id()))
    }

    /// Returns the runner of tasks.
    pub(crate) fn workers(&self) -> Result<&'a dyn Tasks, Failure> {
        self.tasks.ok_or_else(|| {
            let message =
                format!("no worker is configured ({}): {}", Fact::Worker.as_str(), Fact::Worker.remedy());
            Failure::new(ErrorCode::NotAvailableHere, message)
        })
    }
}

/// Ends a task whose process is gone. Its workers ended with that process.
fn settle(execution: Execution, context: &Context<'_>) -> Result<Execution, Failure> {
    let Some(tasks) = context.tasks.filter(|_| !execution.status.is_over()) else { return Ok(execution) };
    if !tasks.is_gone(&execution.gateway) {
        return Ok(execution);
    }
    mark_interrupted(&*context.store()?, &execution, context.clock.now())
}

/// Marks a task as interrupted, because its process is gone. Returns the updated task.
pub(crate) fn mark_interrupted(
    store: &Store,
    execution: &Execution,
    now: Timestamp,
) -> Result<Execution, Failure> {
    let error = Some((INTERRUPTED, "the gateway of the task is gone, so its worker has ended"));
    store.end_execution(&execution.id, &ExecutionEnd { status: ExecutionStatus::Failed, error }, now)?;
    Ok(store.execution(None, &execution.id)?)
}

/// Returns an execution of the caller. A person has access to all executions.
pub(crate) fn find_task(id: &str, context: &Context<'_>) -> Result<Execution, Failure> {
    let store = context.stored()?.ok_or_else(not_found)?;
    settle(store.execution(context.agent(), id)?, context)
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
    let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
    if said.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::InvalidInput,
        format!("the input does not match the schema of the agent: {}", said.join("; ")),
    ))
}

fn agent_of(revision: &Revision) -> Result<Agent, Failure> {
    let read = without_faults::<Agent>(&revision.text)?;
    read.manifest.ok_or_else(|| Failure::new(ErrorCode::InvalidManifest, "the manifest has faults"))
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
fn ready(args: ExecuteArgs, context: &Context<'_>) -> Result<PreparedTask, Failure> {
    short("intent", args.intent.as_deref())?;
    let tasks = context.workers()?;
    let none = || Failure::new(ErrorCode::NotFound, "there is no such agent");
    crate::shipped::deploy_chat(context, &args.agent_id)?;
    let store = context.stored()?.ok_or_else(none)?;
    let (manifest, revision) = store.manifest(KIND, &args.agent_id, args.version.as_deref())?;
    let agent = agent_of(&revision)?;
    let usual = || agent.spec.task.as_ref().and_then(|task| task.input_data.clone()).map(Json::Object);
    let input = args.input.or_else(usual).unwrap_or_else(|| Json::object::<&str>([]));
    check_input(&agent, &input)?;
    tasks.check(&agent, &input)?;
    let root = crate::lane::of_task(context, &input, tasks.rights().root)?;
    Ok(PreparedTask { manifest, revision, agent, input, intent: args.intent, root })
}

/// Stores a task before it starts. If it replaces another task, its parent is the parent of that task.
fn write_down(
    ready: &PreparedTask,
    instead_of: Option<&Execution>,
    context: &Context<'_>,
) -> Result<Execution, Failure> {
    let (tasks, store) = (context.workers()?, context.store()?);
    let _kept = ready.root.as_deref().map(|root| crate::lane::lock_lane(context, root)).transpose()?;
    let (owner, gateway) = (context.owner(), tasks.gateway()?);
    let parent = match instead_of {
        Some(old) => old.parent.clone().map(|id| Parent { id, depth: old.depth.saturating_sub(1) }),
        None => context.parent(&store)?,
    };
    let new = NewExecution {
        owner: &owner,
        manifest: &ready.manifest,
        revision: &ready.revision,
        intent: ready.intent.as_deref(),
        input: &ready.input,
        root: ready.root.as_deref(),
        gateway: &gateway,
        parent: parent.as_ref(),
        instead_of: instead_of.map(|old| old.id.as_str()),
    };
    Ok(store.begin_execution(&new, context.clock.now())?)
}

/// Starts a stored task.
fn begin(execution: Execution, ready: &PreparedTask, context: &Context<'_>) -> Result<Execution, Failure> {
    let workers = context.workers()?;
    if let Err(failure) = unbroken(|| workers.begin(&execution, &ready.agent, ready.root.as_deref())) {
        let error = Some((failure.code.as_str(), failure.message.as_str()));
        let ending = ExecutionEnd { status: ExecutionStatus::Failed, error };
        context.store()?.end_execution(&execution.id, &ending, context.clock.now())?;
        return Err(failure.data([("execution_id", Json::from(execution.id))]));
    }
    Ok(execution)
}

fn execute(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ready = ready(arguments(input)?, context)?;
    let execution = begin(write_down(&ready, None, context)?, &ready, context)?;
    Ok(Output::from_result(&StartResult::new(execution.id)))
}

/// Ends a task and returns the updated task.
fn end(execution: &Execution, context: &Context<'_>) -> Result<Execution, Failure> {
    let store = context.store()?;
    let ending = ExecutionEnd { status: ExecutionStatus::Cancelled, error: None };
    store.end_execution(&execution.id, &ending, context.clock.now())?;
    // Another process ends its task when it sees that the task has ended.
    let cancel = |id: &str| context.tasks.is_some_and(|tasks| tasks.cancel(id));
    cancel(&execution.id);
    end_children(&store, &execution.id, &|id| _ = cancel(id), context.clock.now())?;
    Ok(store.execution(None, &execution.id)?)
}

fn cancel(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    let execution = find_task(&execution_id, context)?;
    if execution.status.is_over() {
        let message = format!("the execution is already {}", execution.status);
        return Err(Failure::new(ErrorCode::AlreadyEnded, message));
    }
    end(&execution, context)?;
    Ok(Output::from_result(&CancelResult { execution_id, cancelled: true }))
}

fn handoff(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let HandoffArgs { execution_id, agent_id, note } = arguments(input)?;
    short("note", note.as_deref())?;
    let old = find_task(&execution_id, context)?;
    let args = ExecuteArgs { agent_id, intent: None, input: Some(old.input.clone()), version: None };
    let mut next = ready(args, context)?;
    let is_over = old.status.is_over();
    let was = if is_over { old.status } else { ExecutionStatus::Cancelled };
    let mut said = format!("Another agent, {}, worked on this before and was {was}.", old.name);
    for (title, text) in [
        ("Its task", old.intent.as_deref()),
        ("Its findings", old.output.as_deref()),
        ("Note", note.as_deref()),
    ] {
        if let Some(text) = text {
            said.push_str(&format!("\n\n{title}: {}", brigade_core::text::short(text, 8 << 10)));
        }
    }
    next.intent = Some(said);
    // The new task is stored before the old one ends, so that one of the two always exists. It replaces the old one and
    // does not end with it, so a worker can hand off its own task.
    let execution = write_down(&next, Some(&old).filter(|_| !is_over), context)?;
    if !is_over {
        end(&old, context)?;
    }
    let execution = begin(execution, &next, context)?;
    Ok(Output::from_result(&HandoffResult { execution_id: execution.id }))
}

fn status(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    let execution = find_task(&execution_id, context)?;
    let agent_id = execution.manifest.clone();
    Ok(Output::from_result(&TaskStatus { agent_id, standing: TaskStanding::from(execution) }))
}

fn list(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ListArgs { agent_id, limit } = arguments(input)?;
    let (limit, _) = page(limit, MAX_ROWS, 0)?;
    let executions = match context.stored()? {
        Some(store) => store.executions(context.agent(), agent_id.as_deref(), limit)?,
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for execution in executions {
        let execution = settle(execution, context)?;
        rows.push(TaskRow {
            id: execution.id,
            agent_id: execution.manifest,
            status: execution.status.as_str(),
            started_at: execution.started_at,
        });
    }
    Ok(Output::from_result(&TaskList { executions: rows }))
}

fn logs(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let LogsArgs { execution_id, limit, offset } = arguments(input)?;
    let (limit, offset) = page(limit, MAX_ROWS, offset)?;
    find_task(&execution_id, context)?;
    let store = context.stored()?.ok_or_else(not_found)?;
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

fn message(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let MessageArgs { execution_id, text } = arguments(input)?;
    short("text", Some(&text))?;
    if text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidArguments, "`text` is blank"));
    }
    find_task(&execution_id, context)?;
    let (text, author) = (context.redactor.redact_str(&text), context.owner());
    let now = context.clock.now();
    let id = context.store()?.send_message(context.agent(), &execution_id, &author, &text, now)?;
    Ok(Output::from_result(&MessageResult { execution_id, message_id: id }))
}

fn remove(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let IdArgs { execution_id } = arguments(input)?;
    find_task(&execution_id, context)?;
    let removed: Result<Execution, StoreError> =
        context.store()?.remove_execution(context.agent(), &execution_id);
    let execution = removed?;
    context.workers()?.remove_folder(&execution.id)?;
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
fn file(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let FileArgs { execution_id, path } = arguments(input)?;
    let folder = match is_flow(&execution_id) {
        true => folder_of(&execution_of(&execution_id, context)?).ok_or_else(not_found)?,
        false => {
            let execution = find_task(&execution_id, context)?;
            RelPath::from_static(TASKS).join(&execution.id).map_err(|_| not_found())?
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
    let (blob, said) = match blob(context, &bytes) {
        Ok(blob) => (Some(blob), "its bytes are `resource.blob`, as base64"),
        Err(why) => (None, why),
    };
    file.resource = Some(FileResource { uri, mime_type: kind, size, blob });
    Ok(Output::from_result(&file).text(format!("`{}` is binary, with {size} bytes; {said}", file.path)))
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
pub(crate) mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::stored::testing::{Bench, text};
    use brigade_access::builtin::definition;

    const MANIFEST: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter}\n\
                            spec: {runtime: {image: a/b}, input_schema: {type: object, required: [who]}}\n";

    /// Runs nothing. Tasks stay pending until a test ends them.
    #[derive(Default)]
    pub(crate) struct IdleTasks {
        begun: Mutex<Vec<String>>,
        is_gone: bool,
    }

    impl Tasks for IdleTasks {
        fn gateway(&self) -> Result<String, Failure> {
            Ok("this".to_owned())
        }

        fn is_gone(&self, _: &str) -> bool {
            self.is_gone
        }

        fn workers(&self) -> Vec<String> {
            vec!["still".to_owned()]
        }

        fn check(&self, _: &Agent, _: &Json) -> Result<(), Failure> {
            Ok(())
        }

        fn begin(&self, execution: &Execution, _: &Agent, _: Option<&str>) -> Result<(), Failure> {
            self.begun.lock().unwrap().push(execution.id.clone());
            Ok(())
        }

        fn cancel(&self, _: &str) -> bool {
            true
        }

        fn rights(&self) -> FlowRights {
            FlowRights::default()
        }

        fn drive(&self, _: &Flow) -> Result<(), Failure> {
            Ok(())
        }

        fn judge(&self, _: &str, _: Json, _: &[String]) -> Result<Vec<Judgement>, Failure> {
            Ok(Vec::new())
        }

        fn await_change(&self, _: Duration) {}

        fn remove_folder(&self, _: &str) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn call(bench: &Bench, tasks: &IdleTasks, caller: &str, tool: &str, args: &str) -> Result<Json, Failure> {
        let args = Json::parse(args).unwrap();
        bench.with_tasks(caller, Some(tasks), |context| {
            crate::run::run(definition(tool).unwrap(), &args, context).map(|output| output.structured)
        })
    }

    #[test]
    fn a_task_is_its_owners_and_ends_once() {
        let (bench, tasks) = (Bench::new(), IdleTasks::default());
        let deploy = Json::object([("manifest_yaml", Json::from(MANIFEST))]).to_compact();
        bench.call("agent.create", &deploy);
        let ada = |tool: &str, args: &str| call(&bench, &tasks, "agent:ada", tool, args);
        let code = |tool: &str, args: &str| ada(tool, args).unwrap_err().code;
        assert_eq!(code("task.execute", r#"{"agent_id": "nobody"}"#), ErrorCode::NotFound);
        assert_eq!(code("task.execute", r#"{"agent_id": "greeter"}"#), ErrorCode::InvalidInput);
        let started =
            ada("task.execute", r#"{"agent_id": "greeter", "input": {"who": "Bob"}, "intent": "Greet"}"#)
                .unwrap();
        let id = text(&started, "execution_id").to_owned();
        assert_eq!(tasks.begun.lock().unwrap().as_slice(), std::slice::from_ref(&id));
        let of = format!(r#"{{"execution_id": "{id}"}}"#);
        assert_eq!(text(&ada("task.status", &of).unwrap(), "status"), "pending");
        for tool in ["task.status", "task.cancel", "task.logs", "task.wait", "agent.wait", "task.remove"] {
            let other = call(&bench, &tasks, "agent:bob", tool, &of);
            assert_eq!(other.unwrap_err().code, ErrorCode::NotFound, "{tool}");
        }
        assert_eq!(
            code("task.wait", &format!(r#"{{"execution_id": "{id}", "timeout_seconds": 0}}"#)),
            ErrorCode::InvalidArguments
        );
        assert_eq!(code("task.remove", &of), ErrorCode::NotEnded);
        ada("task.message", &format!(r#"{{"execution_id": "{id}", "text": "Be polite"}}"#)).unwrap();
        let next = ada(
            "task.handoff",
            &format!(r#"{{"execution_id": "{id}", "agent_id": "greeter", "note": "Hurry"}}"#),
        );
        let next = text(&next.unwrap(), "execution_id").to_owned();
        assert_eq!(text(&ada("task.wait", &of).unwrap(), "status"), "cancelled");
        assert_eq!(code("task.cancel", &of), ErrorCode::AlreadyEnded);
        let listed = ada("task.list", "{}").unwrap();
        assert_eq!(text(&listed.get("executions").unwrap().as_array().unwrap()[0], "id"), next);
        let logs = ada("task.logs", &format!(r#"{{"execution_id": "{id}", "limit": 1}}"#)).unwrap();
        assert_eq!(logs.get("total"), Some(&Json::from(3)));
        ada("task.remove", &of).unwrap();
        assert_eq!(code("task.status", &of), ErrorCode::NotFound);
        // A hand-off replaces the task that it ends, and keeps its parent.
        let store = bench.with_tasks("agent:ada", Some(&tasks), |context| context.store().unwrap());
        let greeter = store.manifest(KIND, "greeter", None).unwrap();
        let parent = Parent { id: next.clone(), depth: brigade_db::executions::MAX_DEPTH - 2 };
        let new = NewExecution {
            owner: "ada",
            manifest: &greeter.0,
            revision: &greeter.1,
            intent: None,
            input: &Json::object([("who", Json::from("Bob"))]),
            root: None,
            gateway: "this",
            parent: Some(&parent),
            instead_of: None,
        };
        let deepest = store.begin_execution(&new, Timestamp::from_unix_micros(1)).unwrap();
        let own = format!(r#"{{"execution_id": "{}", "agent_id": "greeter"}}"#, deepest.id);
        let after = text(&ada("task.handoff", &own).unwrap(), "execution_id").to_owned();
        let after = store.execution(None, &after).unwrap();
        assert_eq!((after.parent.as_deref(), after.depth), (Some(next.as_str()), deepest.depth));
        assert_eq!(store.execution(None, &deepest.id).unwrap().status, ExecutionStatus::Cancelled);
        ada("task.cancel", &format!(r#"{{"execution_id": "{}"}}"#, after.id)).unwrap();
        // The process of the task is gone.
        let gone = IdleTasks { is_gone: true, ..IdleTasks::default() };
        let of = format!(r#"{{"execution_id": "{next}"}}"#);
        let status = call(&bench, &gone, "agent:ada", "task.status", &of).unwrap();
        assert_eq!(text(&status, "status"), "failed");
        assert!(text(&status, "last_error").starts_with("interrupted: "));
        // Without a worker, no task starts.
        assert_eq!(
            bench.code("agent:ada", "task.execute", r#"{"agent_id": "greeter"}"#),
            ErrorCode::NotAvailableHere
        );
    }
}
