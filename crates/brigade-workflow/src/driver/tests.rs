//! Issue 17: if the driver of a task or workflow panics, the task ends, together with everything it began.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade_access::LiveSession;
use brigade_access::builtin::definition;
use brigade_call::Caller;
use brigade_core::{Clock, ErrorCode, Json, Object, SystemClock, Timestamp};
use brigade_db::executions::{ExecutionStatus, NewExecution, Parent};
use brigade_db::flows::{FlowStatus, NewFlow};
use brigade_db::{Store, Stores};
use brigade_fs::DiskFs;
use brigade_redact::Redactor;
use brigade_tasks::{CallerContext, Callers, RunningTasks, TaskContext, TaskRunner, take_over};
use brigade_toolset::{Context, Failure, run};
use brigade_workspace::{WorkspaceContext, gather};
use tempfile::TempDir;

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter}\n\
                     spec: {runtime: {image: a/b}}\n";

const WORKFLOW: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: step}\nspec:\n  \
                        initial_state: A\n  states:\n    A: {kind: System, command: echo, transitions: []}\n";

/// The identity of a process that does not exist.
const GONE: &str = "4194305 1 another-boot";

/// Runs a function and then panics, the first time that the driver of a task reads the clock.
struct PanickingClock(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Clock for PanickingClock {
    fn now(&self) -> Timestamp {
        if std::thread::current().name() == Some("task") {
            let first = self.0.lock().unwrap().take();
            if let Some(first) = first {
                first();
                panic!("an injected fault");
            }
        }
        SystemClock.now()
    }
}

/// Panics when asked to make calls.
struct PanickingCallers;

impl Callers for PanickingCallers {
    fn on_behalf(&self, _: Caller, _: Arc<LiveSession>, _: Vec<String>) -> CallerContext {
        panic!("an injected fault")
    }
}

struct Site {
    _folder: TempDir,
    desk: TaskContext,
    breaks: Arc<PanickingClock>,
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let tools = folder.path().join(".brigade/tools");
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::write(tools.join("gateway.toml"), "[[worker]]\nid = \"none\"\ncommand = \"true\"\n")
            .unwrap();
        let breaks = Arc::new(PanickingClock(Mutex::default()));
        let context = WorkspaceContext::new(Arc::new(DiskFs::open(folder.path()).unwrap()));
        let desk = TaskContext {
            context: Arc::new(WorkspaceContext { clock: breaks.clone(), ..context }),
            session: None,
            sessions: None,
            serves: true,
            stores: Arc::new(Stores::new(
                Duration::from_secs(10),
                Arc::new(brigade_fs::WorkspaceKey::temporary()),
            )),
            running: Arc::new(RunningTasks::default()),
            callers: Arc::new(PanickingCallers),
        };
        Site { _folder: folder, desk, breaks }
    }

    fn store(&self) -> Arc<Store> {
        self.desk.stores.writing(&*self.desk.context.fs).unwrap()
    }

    fn call(&self, tool: &str, args: &[(&str, &str)]) -> Result<Json, Failure> {
        let config = gather::config(&self.desk.context).unwrap();
        let hands = TaskRunner::new(&self.desk, &config, None);
        let redactor = Redactor::new(&[]);
        let mut context = Context {
            tasks: Some(&hands),
            ..Context::new(&*self.desk.context.fs, "agent:ada", &SystemClock, &redactor, &self.desk.stores)
        };
        let args = Json::object(args.iter().map(|(name, value)| (*name, Json::from(*value))));
        run(definition(tool).unwrap(), &args, &mut context).map(|output| output.structured)
    }
}

#[test]
fn a_panicking_task_driver_fails_the_task() {
    let site = Site::new();
    site.call("agent.create", &[("manifest_yaml", AGENT)]).unwrap();
    let store = site.store();
    let begins = move || {
        let parent = store.open_executions(None).unwrap().remove(0);
        let (manifest, revision) = store.manifest("agent", "greeter", None).unwrap();
        let child = NewExecution {
            owner: "ada",
            manifest: &manifest,
            revision: &revision,
            intent: None,
            input: &Json::object::<&str>([]),
            root: None,
            gateway: GONE,
            parent: Some(&Parent { id: parent.id, depth: 0 }),
            instead_of: None,
        };
        store.begin_execution(&child, SystemClock.now()).unwrap();
    };
    *site.breaks.0.lock().unwrap() = Some(Box::new(begins));
    let begun = site.call("task.execute", &[("agent_id", "greeter")]).unwrap();
    let id = begun.get("execution_id").and_then(Json::as_str).unwrap();
    let ended = site.call("task.wait", &[("execution_id", id)]).unwrap();
    assert_eq!(ended.get("status"), Some(&Json::from("failed")), "{}", ended.to_pretty());
    let said = ended.get("last_error").and_then(Json::as_str).unwrap();
    assert!(said.starts_with("broke_off: "), "{said}");
    // The driver removes its entry after it has ended everything.
    site.desk.running.end(Duration::from_secs(60));
    assert!(site.store().open_executions(None).unwrap().is_empty());
    assert_eq!(site.store().execution(None, id).unwrap().status, ExecutionStatus::Failed);
}

#[test]
fn an_execution_without_a_driver_fails() {
    let site = Site::new();
    site.call("workflow.create", &[("manifest_yaml", WORKFLOW)]).unwrap();
    let failure = site.call("workflow.run", &[("name", "step")]).unwrap_err();
    assert_eq!(failure.code, ErrorCode::BrokeOff);
    let id = failure
        .data
        .as_ref()
        .and_then(|data| data.get("execution_id"))
        .and_then(Json::as_str)
        .unwrap()
        .to_owned();
    let flow = site.store().flow(None, &id).unwrap();
    assert_eq!((flow.status, flow.error_code.as_deref()), (FlowStatus::Failed, Some("broke_off")));
    // A gateway left this execution, and its record cannot be parsed. It is taken over and fails.
    let store = site.store();
    let (manifest, revision) = store.manifest("workflow", "step", None).unwrap();
    let left = NewFlow {
        owner: "ada",
        caller: "agent:ada",
        rights: &Json::from(7),
        parent: None,
        manifest: &manifest,
        revision: &revision,
        intent: None,
        input: &Json::object::<&str>([]),
        blackboard: &Object::new(),
        state: "A",
        gateway: GONE,
    };
    let left = store.begin_flow(&left, SystemClock.now()).unwrap();
    take_over(&site.desk).unwrap();
    let flow = store.flow(None, &left.id).unwrap();
    assert_eq!((flow.status, flow.error_code.as_deref()), (FlowStatus::Failed, Some("invalid_rights")));
    assert!(store.open_flows(None).unwrap().is_empty());
}
