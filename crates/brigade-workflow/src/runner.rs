//! Starts, ends and waits for tasks and workflows, on behalf of the built-in tools.

use std::collections::BTreeMap;

use brigade_access::{FlowRights, LiveSession, Worker, WorkerPrompt, WorkerResult};
use brigade_call::{CallSession, Judgement};
use brigade_core::{ErrorCode, Json};
use brigade_db::executions::{Execution, ExecutionEnd, ExecutionStatus};
use brigade_fs::{FileMode, Fs, RelPath};
use brigade_kitchen::Tier;
use brigade_kitchen::adapter::{self, Adapter, ModelFault, PermissionMode, PromptWay, Source};
use brigade_kitchen_run::TierWorker;
use brigade_queue::this_runner;
use brigade_toolset::{Failure, is_gone};
use brigade_workspace::Config;

use crate::connection::TaskConnection;
use crate::context::TaskContext;
use crate::environment;
use crate::judge::{Judge, JudgeQuestion};
use crate::manifest::Agent;
use crate::task_run::TaskRun;

/// The directory of task folders, relative to the workspace.
pub(crate) const TASKS: &str = ".brigade/tasks";

/// The code of a task whose process is gone.
pub(crate) const INTERRUPTED: ErrorCode = ErrorCode::Interrupted;

/// What a worker in a lane must not write: the link to git's directory and the state of the workspace.
const CLOSED: [&str; 2] = [".git", ".brigade"];

/// Runs the tasks of one call.
pub struct TaskRunner<'a> {
    pub(crate) context: &'a TaskContext,
    pub(crate) config: &'a Config,
    /// The session in which the call was requested.
    asked_in: Option<&'a CallSession>,
}

impl<'a> TaskRunner<'a> {
    /// Creates a runner. `asked_in` is the session in which the call was requested.
    pub fn new(
        context: &'a TaskContext,
        config: &'a Config,
        asked_in: Option<&'a CallSession>,
    ) -> TaskRunner<'a> {
        TaskRunner { context, config, asked_in }
    }

    /// Returns the worker for an agent.
    fn worker(&self, agent: &Agent) -> Result<&'a Worker, Failure> {
        worker_for(self.config.workers(&self.context.workspace.host()), agent)
    }

    /// Returns the identity of this process. It differs from that of a later process with the same pid.
    ///
    /// # Errors
    /// Fails if the identity cannot be determined.
    pub(crate) fn gateway(&self) -> Result<String, Failure> {
        let this = this_runner().map_err(|error| environment(&error))?;
        Ok(format!("{} {} {}", this.pid, this.start_time, this.boot_id))
    }

    /// Refuses an agent for which no worker is configured, and a model or effort in the input that its worker cannot
    /// be given.
    ///
    /// # Errors
    /// Returns `not_available_here` or `invalid_arguments`.
    pub(crate) fn check(&self, agent: &Agent, input: &Json) -> Result<(), Failure> {
        prepare_worker(self.worker(agent)?, &ModelChoice::new(agent, input)).map(drop)
    }

    /// Starts a stored task. In a process that serves, it continues after this returns. `root` is the directory of the
    /// lane that it works in.
    ///
    /// # Errors
    /// Fails if it cannot start. The caller then ends it.
    pub(crate) fn begin(
        &self,
        execution: &Execution,
        agent: &Agent,
        root: Option<&str>,
    ) -> Result<(), Failure> {
        let TaskContext { workspace, running, serves, .. } = self.context;
        let worker = self.worker(agent)?;
        let prepared_worker = prepare_worker(worker, &ModelChoice::new(agent, &execution.input))?;
        let path = folder(&execution.id)?;
        make_folder(&*workspace.fs, &path).map_err(|error| environment(&error))?;
        let host = workspace.host();
        let files = host.files(root).map_err(|none| Failure::new(none.code(), none.to_string()))?;
        let directory = match root {
            Some(_) => files.fs().root().to_owned(),
            None => workspace.fs.root().join(path.as_path()),
        };
        let connection = TaskConnection::open(self.context, &execution.id, &path, agent, self.asked_in, root);
        let connection = connection.map_err(|error| environment(&error))?;
        let Some(entry) = running.begin(&execution.id)? else { return Ok(()) };
        let run = TaskRun {
            store: self.context.stores.writing(&*workspace.fs)?,
            closed: root.map(|_| CLOSED.map(|name| directory.join(name)).to_vec()).unwrap_or_default(),
            directory,
            outer: workspace.cancel.clone().filter(|_| !serves),
            policy: self.config.policy.clone(),
            execution: execution.clone(),
            agent: agent.clone(),
            files: host.worker_files(worker),
            workspace: workspace.clone(),
            worker: worker.clone(),
            judge: Judge::from_config(self.config, &host),
            prepared_worker,
            connection,
            entry,
        };
        if !serves {
            run.run();
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("task".to_owned());
        thread.spawn(|| run.run()).map(drop).map_err(|error| environment(&error))
    }

    /// Ends a task whose process is gone, as its workers ended with that process. Returns the current task.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn settle(&self, task: Execution) -> Result<Execution, Failure> {
        if task.status.is_over() || !is_gone(&task.gateway) {
            return Ok(task);
        }
        let TaskContext { workspace, stores, .. } = self.context;
        let store = stores.writing(&*workspace.fs)?;
        let error = Some((INTERRUPTED.as_str(), "the gateway of the task is gone, so its worker has ended"));
        store.end_execution(
            &task.id,
            &ExecutionEnd { status: ExecutionStatus::Failed, error },
            workspace.now(),
        )?;
        Ok(store.execution(None, &task.id)?)
    }

    /// Returns the rights of an execution's calls: those of the session that asked for it, without its mode.
    pub(crate) fn rights(&self) -> FlowRights {
        let session = self.context.session.as_deref();
        FlowRights {
            profiles: self.asked_in.map(|session| session.profiles.clone()).unwrap_or_default(),
            root: self.asked_in.and_then(|session| session.root.clone()),
            session: session.map(LiveSession::profiles).unwrap_or_default().inside(),
        }
    }

    /// Asks judges a question about an input without secrets: the named workers, or the configured judge. Empty without
    /// a judge.
    ///
    /// # Errors
    /// Returns `not_found` if a named worker does not exist.
    pub(crate) fn judge(
        &self,
        question: &str,
        input: Json,
        judges: &[String],
    ) -> Result<Vec<Judgement>, Failure> {
        let workspace = &self.context.workspace;
        let found = match judges {
            [] => Judge::from_config(self.config, &workspace.host()).into_iter().collect(),
            named => Judge::from_workers(self.config, &workspace.host(), named)?,
        };
        let caller = workspace.caller.clone();
        let question = JudgeQuestion { tool: "workflow.create", caller, question, input };
        let ask =
            |judge: &Judge| judge.ask(workspace, &self.config.policy, &question, workspace.cancel.clone());
        Ok(found.iter().map(ask).collect())
    }

    /// Removes the folder of a task.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn remove_folder(&self, id: &str) -> Result<(), Failure> {
        match self.context.workspace.fs.remove_tree(&folder(id)?) {
            Err(error) if !error.is_not_found() => Err(environment(&error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Returns the worker for an agent: the one that its manifest names, otherwise the first.
///
/// # Errors
/// Returns `not_available_here` without such a worker.
pub(crate) fn worker_for<'w>(workers: &'w [Worker], agent: &Agent) -> Result<&'w Worker, Failure> {
    let requested = agent.metadata.labels.as_ref().and_then(|labels| labels.get("worker"));
    let found = match requested {
        Some(id) => workers.iter().find(|worker| worker.id == *id),
        None => workers.first(),
    };
    found.ok_or_else(|| {
        let message = match requested {
            Some(_) => {
                "no `[[worker]]` of .brigade/tools/gateway.toml has the id that metadata.labels.worker names"
            }
            None => "there is no `[[worker]]` in .brigade/tools/gateway.toml",
        };
        Failure::new(ErrorCode::NotAvailableHere, format!("{message} (worker.cli)"))
    })
}

/// Returns the folder of a task, relative to the workspace.
pub(crate) fn folder(id: &str) -> Result<RelPath, Failure> {
    RelPath::from_static(TASKS).join(id).map_err(|error| environment(&error))
}

/// Creates the folder of a task, and makes git ignore it.
pub(crate) fn make_folder(fs: &dyn Fs, path: &RelPath) -> Result<(), brigade_fs::FsError> {
    fs.create_dir_all(path)?;
    let ignore = RelPath::from_static(TASKS).join(".gitignore").expect("a constant name");
    if fs.exists(&ignore)? {
        return Ok(());
    }
    fs.write_atomic(&ignore, b"*\n", FileMode::KeepOr(0o644))
}

/// The model and effort that the input of a task asks for. Null asks for none.
#[derive(Default)]
pub(crate) struct ModelChoice<'a> {
    model: Option<&'a Json>,
    effort: Option<&'a Json>,
}

impl<'a> ModelChoice<'a> {
    /// Reads `model` and `effort` of an input, unless the agent has a schema for its input.
    fn new(agent: &Agent, input: &'a Json) -> ModelChoice<'a> {
        let has_schema = agent.spec.input_schema.is_some();
        let read = |name: &str| input.get(name).filter(|value| !has_schema && **value != Json::Null);
        ModelChoice { model: read("model"), effort: read("effort") }
    }
}

/// Returns the worker in the form that an attempt expects.
pub(crate) fn prepare_worker(worker: &Worker, choice: &ModelChoice<'_>) -> Result<TierWorker, Failure> {
    let unknown = |name: String| {
        Failure::new(
            ErrorCode::NotAvailableHere,
            format!("`[[worker]]` names the adapter `{name}`, which does not exist"),
        )
    };
    let chosen = adapter::choose(&[], worker.adapter.as_deref(), &worker.command).map_err(unknown)?;
    let mut adapter: Adapter = chosen.clone();
    match worker.prompt {
        Some(WorkerPrompt::Stdin) => adapter.prompt = PromptWay::Stdin,
        Some(WorkerPrompt::File) => adapter.prompt = PromptWay::File,
        None => {}
    }
    match worker.result {
        Some(WorkerResult::Stdout) => adapter.answer = Source::Text,
        // Only the result file counts.
        Some(WorkerResult::File) => adapter.answer = Source::File,
        None => {}
    }
    let text = |value: Option<&'_ Json>| value.map(|value| value.as_str().unwrap_or_default().to_owned());
    let (model, effort) = (text(choice.model), text(choice.effort));
    let command = adapter.with_model(&worker.command, model.as_deref(), effort.as_deref());
    let command = command.map_err(|fault| match fault {
        ModelFault::NoOption { .. } => Failure::new(ErrorCode::NotAvailableHere, fault.to_string()),
        ModelFault::NotAName { .. } => Failure::new(ErrorCode::InvalidArguments, fault.to_string()),
    })?;
    Ok(TierWorker {
        tier: Tier::Line,
        command,
        env_labels: adapter.env_labels.clone(),
        adapter,
        permissions: PermissionMode::Narrow,
        may_skip: false,
        server: None,
        program: None,
        bytes: None,
        files: BTreeMap::new(),
    })
}
