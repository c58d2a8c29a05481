//! A workspace in a temporary directory, and its callers. No worker is started.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use brigade_access::LiveSession;
use brigade_access::builtin::definition;
use brigade_call::Caller;
use brigade_core::{Clock, ErrorCode, Json, Object, Timestamp};
use brigade_db::executions::{Execution, NewExecution, Parent};
use brigade_db::flows::{Flow, NewFlow};
use brigade_db::{Store, Stores};
use brigade_fs::{DiskFs, FileMode};
use brigade_redact::Redactor;
use brigade_toolset::{Context, Failure};
use brigade_workspace::{WorkspaceContext, gather};

use crate::context::{CallerContext, CallerContexts, TaskContext};
use crate::runner::TaskRunner;
use crate::running::RunningTasks;

/// The identity of a process that does not exist.
pub(crate) const GONE: &str = "4194305 1 another-boot";

/// Tells a fixed time. First calls a function, if the driver of a task asks.
#[derive(Default)]
struct TestClock {
    in_tasks: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        if std::thread::current().name() == Some("task")
            && let Some(act) = self.in_tasks.get()
        {
            act();
        }
        Timestamp::from_unix_micros(1_700_000_000_000_000)
    }
}

/// Panics when asked to make calls.
struct PanickingCallers;

impl CallerContexts for PanickingCallers {
    fn context_for(&self, _: Caller, _: Arc<LiveSession>, _: Vec<String>) -> CallerContext {
        panic!("an injected fault")
    }
}

pub(crate) struct Bench {
    _folder: tempfile::TempDir,
    pub(crate) context: TaskContext,
    clock: Arc<TestClock>,
    session: LiveSession,
}

impl Bench {
    /// Creates a workspace without workers.
    pub(crate) fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::<TestClock>::default();
        let workspace = WorkspaceContext::new(Arc::new(DiskFs::open(folder.path()).unwrap()));
        let key = Arc::new(brigade_fs::WorkspaceKey::temporary());
        let context = TaskContext {
            workspace: Arc::new(WorkspaceContext { clock: clock.clone(), ..workspace }),
            session: None,
            sessions: None,
            serves: true,
            stores: Arc::new(Stores::new(Duration::from_secs(10), key)),
            running: Arc::new(RunningTasks::default()),
            callers: Arc::new(PanickingCallers),
        };
        Bench { _folder: folder, context, clock, session: LiveSession::new("session-1") }
    }

    /// Creates a workspace with a worker. `in_tasks` is called when the driver of a task asks for the time.
    pub(crate) fn with_worker(in_tasks: impl Fn() + Send + Sync + 'static) -> Bench {
        let bench = Bench::new();
        let fs = &bench.context.workspace.fs;
        fs.create_dir_all(&".brigade/tools".parse().unwrap()).unwrap();
        let gateway = b"[[worker]]\nid = \"none\"\ncommand = \"true\"\n";
        fs.write_atomic(&".brigade/tools/gateway.toml".parse().unwrap(), gateway, FileMode::Private).unwrap();
        assert!(bench.clock.in_tasks.set(Box::new(in_tasks)).is_ok());
        bench
    }

    pub(crate) fn store(&self) -> Arc<Store> {
        self.context.stores.writing(&*self.context.workspace.fs).unwrap()
    }

    pub(crate) fn with<T>(
        &self,
        caller: &str,
        act: impl FnOnce(&mut Context<'_>, &TaskRunner<'_>) -> T,
    ) -> T {
        let workspace = &self.context.workspace;
        let config = gather::config(workspace).unwrap();
        let host = workspace.host();
        let redactor = Redactor::new(&[]);
        let mut context = Context {
            session: Some(&self.session),
            workers: config.workers(&host),
            ..Context::new(&*workspace.fs, caller, &*workspace.clock, &redactor, &self.context.stores)
        };
        act(&mut context, &TaskRunner::new(&self.context, &config, None))
    }

    /// Calls a tool as this caller.
    #[track_caller]
    pub(crate) fn call_as(&self, caller: &str, tool: &str, args: &str) -> Result<Json, Failure> {
        let args = Json::parse(args).unwrap();
        self.with(caller, |context, runner| crate::run(definition(tool).unwrap(), &args, context, runner))
            .map(|output| output.structured)
    }

    #[track_caller]
    pub(crate) fn call(&self, tool: &str, args: &str) -> Json {
        self.call_as("agent:ada", tool, args).unwrap()
    }

    #[track_caller]
    pub(crate) fn code(&self, caller: &str, tool: &str, args: &str) -> ErrorCode {
        self.call_as(caller, tool, args).unwrap_err().code
    }

    /// Returns the identity of this process.
    pub(crate) fn gateway(&self) -> String {
        self.with("agent:ada", |_, runner| runner.gateway().unwrap())
    }

    /// Stores a task of `ada` that no worker works on.
    pub(crate) fn store_task(&self, agent: &str, gateway: &str, parent: Option<Parent>) -> Execution {
        let (manifest, revision) = self.store().manifest("agent", agent, None).unwrap();
        let task = NewExecution {
            owner: "ada",
            manifest: &manifest,
            revision: &revision,
            intent: None,
            input: &Json::object([("who", Json::from("Bob"))]),
            root: None,
            gateway,
            parent: parent.as_ref(),
            instead_of: None,
        };
        self.store().begin_execution(&task, self.context.workspace.now()).unwrap()
    }

    /// Stores an execution of a workflow of `ada` that is not driven.
    pub(crate) fn store_flow(&self, workflow: &str, gateway: &str, rights: &Json) -> Flow {
        let (manifest, revision) = self.store().manifest("workflow", workflow, None).unwrap();
        let flow = NewFlow {
            owner: "ada",
            caller: "agent:ada",
            rights,
            parent: None,
            manifest: &manifest,
            revision: &revision,
            intent: None,
            input: &Json::object::<&str>([]),
            blackboard: &Object::new(),
            state: "A",
            gateway,
        };
        self.store().begin_flow(&flow, self.context.workspace.now()).unwrap()
    }
}

/// Returns the arguments that deploy a manifest.
pub(crate) fn deploy(manifest: &str) -> String {
    Json::object([("manifest_yaml", Json::from(manifest))]).to_compact()
}

/// Returns a member as text.
#[track_caller]
pub(crate) fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).and_then(Json::as_str).unwrap()
}
