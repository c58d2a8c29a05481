//! Starts, ends and waits for tasks and workflows, on behalf of the built-in tools.

use std::collections::BTreeMap;
use std::time::Duration;

use brigade_access::{FlowRights, Worker, WorkerPrompt, WorkerResult};
use brigade_call::{CallSession, Judgement};
use brigade_core::{ErrorCode, Json};
use brigade_db::executions::Execution;
use brigade_db::flows::Flow;
use brigade_fs::{FileMode, Fs, RelPath};
use brigade_kitchen::Tier;
use brigade_kitchen::adapter::{self, Adapter, ModelFault, PermissionMode, PromptWay, Source};
use brigade_kitchen_run::TierWorker;
use brigade_manifest::Agent;
use brigade_process::ProcessIdentity;
use brigade_queue::this_runner;
use brigade_toolset::{Failure, TASKS, Tasks};
use brigade_workspace::{Config, Host};

use crate::connected::TaskConnection;
use crate::desk::TaskContext;
use crate::job::Job;
use crate::judging::{Judge, JudgeQuestion};
use crate::{environment, flow};

/// What a worker in a lane must not write: the link to git's directory and the state of the workspace.
const CLOSED: [&str; 2] = [".git", ".brigade"];

/// Runs the tasks of one call.
pub struct TaskRunner<'a> {
    pub(crate) desk: &'a TaskContext,
    config: &'a Config,
    /// The session in which the call was requested.
    asked_in: Option<&'a CallSession>,
}

impl<'a> TaskRunner<'a> {
    /// Creates a runner. `asked_in` is the session in which the call was requested.
    pub fn new(
        desk: &'a TaskContext,
        config: &'a Config,
        asked_in: Option<&'a CallSession>,
    ) -> TaskRunner<'a> {
        TaskRunner { desk, config, asked_in }
    }

    /// Returns the worker for an agent.
    fn worker(&self, agent: &Agent) -> Result<Worker, Failure> {
        worker_of(self.config, &self.desk.context.host(), agent)
    }
}

/// Returns the worker for an agent: the one that its manifest names, otherwise the first.
pub(crate) fn worker_of(config: &Config, host: &Host<'_>, agent: &Agent) -> Result<Worker, Failure> {
    let workers = config.gateway(host).map(|gateway| gateway.workers.as_slice()).unwrap_or_default();
    let wanted = agent.metadata.labels.as_ref().and_then(|labels| labels.get("worker"));
    let found = match wanted {
        Some(id) => workers.iter().find(|worker| worker.id == *id),
        None => workers.first(),
    };
    found.cloned().ok_or_else(|| {
        let message = match wanted {
            Some(_) => {
                "no `[[worker]]` of .brigade/tools/gateway.toml has the id that metadata.labels.worker names"
            }
            None => "there is no `[[worker]]` in .brigade/tools/gateway.toml",
        };
        Failure::new(ErrorCode::NotAvailableHere, format!("{message} (worker.cli)"))
    })
}

fn folder(id: &str) -> Result<RelPath, Failure> {
    RelPath::from_static(TASKS).join(id).map_err(|error| environment(&error))
}

/// Parses the identity of a process.
fn identity(gateway: &str) -> Option<ProcessIdentity> {
    let mut parts = gateway.splitn(3, ' ');
    let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    ProcessIdentity::from_record(pid, start, parts.next()?).ok()
}

impl Tasks for TaskRunner<'_> {
    fn gateway(&self) -> Result<String, Failure> {
        let this = this_runner().map_err(|error| environment(&error))?;
        Ok(format!("{} {} {}", this.pid, this.start_time, this.boot_id))
    }

    fn is_gone(&self, gateway: &str) -> bool {
        !identity(gateway).is_some_and(|identity| identity.is_alive())
    }

    fn workers(&self) -> Vec<String> {
        let host = self.desk.context.host();
        let workers = self.config.gateway(&host).map(|gateway| gateway.workers.as_slice());
        workers.unwrap_or_default().iter().map(|worker| worker.id.clone()).collect()
    }

    fn check(&self, agent: &Agent, input: &Json) -> Result<(), Failure> {
        cook(&self.worker(agent)?, &ModelChoice::new(agent, input)).map(drop)
    }

    fn begin(&self, execution: &Execution, agent: &Agent, root: Option<&str>) -> Result<(), Failure> {
        let TaskContext { context, running, .. } = self.desk;
        let worker = self.worker(agent)?;
        let cook = cook(&worker, &ModelChoice::new(agent, &execution.input))?;
        let path = folder(&execution.id)?;
        make_folder(&*context.fs, &path).map_err(|error| environment(&error))?;
        let files = context.host();
        let files = files.files(root).map_err(|none| Failure::new(none.code(), none.to_string()))?;
        let directory = match root {
            Some(_) => files.fs().root().to_owned(),
            None => context.fs.root().join(path.as_path()),
        };
        let connected = TaskConnection::open(self.desk, &execution.id, &path, agent, self.asked_in, root);
        let connected = connected.map_err(|error| environment(&error))?;
        let Some(place) = running.begin(&execution.id)? else { return Ok(()) };
        let job = Job {
            store: self.desk.stores.writing(&*context.fs)?,
            closed: root.map(|_| CLOSED.map(|name| directory.join(name)).to_vec()).unwrap_or_default(),
            directory,
            outer: context.cancel.clone().filter(|_| !self.desk.serves),
            policy: self.config.policy.clone(),
            execution: execution.clone(),
            agent: agent.clone(),
            files: context.host().worker_files(&worker),
            context: context.clone(),
            worker,
            judge: Judge::from_config(self.config, &self.desk.context.host()),
            cook,
            connected,
            place,
        };
        if !self.desk.serves {
            job.run();
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("task".to_owned());
        thread.spawn(|| job.run()).map(drop).map_err(|error| environment(&error))
    }

    fn cancel(&self, id: &str) -> bool {
        self.desk.running.cancel(id)
    }

    fn rights(&self) -> FlowRights {
        flow::rights(self.desk.session.as_deref(), self.asked_in)
    }

    fn drive(&self, flow: &Flow) -> Result<(), Failure> {
        flow::drive(self, flow)
    }

    fn judge(&self, question: &str, input: Json, judges: &[String]) -> Result<Vec<Judgement>, Failure> {
        let context = &self.desk.context;
        let found = match judges {
            [] => Judge::from_config(self.config, &context.host()).into_iter().collect(),
            named => Judge::of_workers(self.config, &context.host(), named)?,
        };
        let caller = context.caller.clone();
        let asked = |judge: &Judge| {
            let matter = JudgeQuestion {
                tool: "workflow.create",
                caller: caller.clone(),
                question,
                input: input.clone(),
            };
            judge.ask(context, &self.config.policy, &matter, context.cancel.clone())
        };
        Ok(found.iter().map(asked).collect())
    }

    fn await_change(&self, longest: Duration) {
        self.desk.running.await_change(longest);
    }

    fn remove_folder(&self, id: &str) -> Result<(), Failure> {
        match self.desk.context.fs.remove_tree(&folder(id)?) {
            Err(error) if !error.is_not_found() => Err(environment(&error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
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
pub(crate) fn cook(worker: &Worker, choice: &ModelChoice<'_>) -> Result<TierWorker, Failure> {
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
        wanted: PermissionMode::Narrow,
        may_skip: false,
        server: None,
        program: None,
        bytes: None,
        files: BTreeMap::new(),
    })
}
