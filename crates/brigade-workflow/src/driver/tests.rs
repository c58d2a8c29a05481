//! Issue 17: if the driver of a task or workflow panics, the task ends, together with everything it began.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use brigade_core::Json;
use brigade_db::executions::{ExecutionStatus, Parent};

use super::*;
use crate::testing::{Bench, GONE, deploy, text};

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter}\n\
                     spec: {runtime: {image: a/b}}\n";

const WORKFLOW: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: step}\nspec:\n  \
                        initial_state: A\n  states:\n    A: {kind: System, command: echo, transitions: []}\n";

#[test]
fn a_panicking_task_driver_fails_the_task() {
    let (shared, is_first) = (Arc::new(OnceLock::<Weak<Bench>>::new()), AtomicBool::new(true));
    let later = shared.clone();
    let bench = Arc::new(Bench::with_worker(move || {
        if is_first.swap(false, Ordering::SeqCst) {
            let bench = later.wait().upgrade().unwrap();
            let parent = bench.store().open_executions(None).unwrap().remove(0);
            bench.store_task("greeter", GONE, Some(Parent { id: parent.id, depth: 0 }));
            panic!("an injected fault");
        }
    }));
    bench.call("agent.create", &deploy(AGENT));
    assert!(shared.set(Arc::downgrade(&bench)).is_ok());
    let begun = bench.call("task.execute", r#"{"agent_id": "greeter"}"#);
    let id = text(&begun, "execution_id");
    let ended = bench.call("task.wait", &format!(r#"{{"execution_id": "{id}"}}"#));
    assert_eq!(text(&ended, "status"), "failed", "{}", ended.to_pretty());
    assert!(text(&ended, "last_error").starts_with("broke_off: "), "{}", ended.to_pretty());
    // The driver removes its entry after it has ended everything.
    bench.context.running.end(Duration::from_secs(60));
    assert!(bench.store().open_executions(None).unwrap().is_empty());
    assert_eq!(bench.store().execution(None, id).unwrap().status, ExecutionStatus::Failed);
}

#[test]
fn an_execution_without_a_driver_fails() {
    let bench = Bench::new();
    bench.call("workflow.create", &deploy(WORKFLOW));
    let failure = bench.call_as("agent:ada", "workflow.run", r#"{"name": "step"}"#).unwrap_err();
    assert_eq!(failure.code, ErrorCode::BrokeOff);
    let id = text(failure.data.as_ref().unwrap(), "execution_id").to_owned();
    let flow = bench.store().flow(None, &id).unwrap();
    assert_eq!((flow.status, flow.error_code.as_deref()), (FlowStatus::Failed, Some("broke_off")));
    // A gateway left this execution, and its record cannot be parsed. It is taken over and fails.
    let left = bench.store_flow("step", GONE, &Json::from(7));
    take_over(&bench.context).unwrap();
    let flow = bench.store().flow(None, &left.id).unwrap();
    assert_eq!((flow.status, flow.error_code.as_deref()), (FlowStatus::Failed, Some("invalid_rights")));
    assert!(bench.store().open_flows(None).unwrap().is_empty());
}
