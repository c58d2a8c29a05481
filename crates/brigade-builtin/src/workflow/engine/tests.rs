use super::*;
use crate::stored::testing::{Bench, Still as Clockwork, text};
use crate::task::tests::Still;

const STEP: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: step}\nspec:\n  initial_state: A\n  \
                    states:\n    A: {kind: System, command: echo, transitions: []}\n";

/// Takes a call, and breaks off when it looks at it.
#[derive(Default)]
struct Broken {
    withdrawn: std::sync::Mutex<Vec<String>>,
}

impl Steps for Broken {
    fn ask(&self, _: &str, _: &Json) -> Result<AskedCall, Failure> {
        Ok(AskedCall::Queued("call-1".to_owned()))
    }

    fn look(&self, _: &str) -> Result<Stands, Failure> {
        panic!("a fault of ours")
    }

    fn go_on(&self, _: &str, _: &CancelToken) -> Result<Stands, Failure> {
        panic!("a fault of ours")
    }

    fn withdraw(&self, call: &str) {
        self.withdrawn.lock().unwrap().push(call.to_owned());
    }

    fn changed(&self) {}
}

#[test]
fn an_execution_whose_driver_panics_has_failed_and_says_so() {
    // Issue 17: it stood as running for ever.
    let bench = Bench::new();
    let tasks = Still::default();
    let manifest = Json::object([("manifest_yaml", Json::from(STEP))]);
    bench.call("workflow.create", &manifest.to_compact());
    let id = bench.with_tasks("agent:ada", Some(&tasks), |context| {
        let row = brigade_profile::builtin::definition("workflow.run").unwrap();
        let begun = crate::run(row, &Json::parse(r#"{"name": "step"}"#).unwrap(), context).unwrap();
        text(&begun.structured, "execution_id").to_owned()
    });
    let (steps, store) = (Broken::default(), bench.stores.writing(&bench.fs).unwrap());
    let cancel = CancelToken::new().unwrap();
    let engine = Engine {
        store: &store,
        steps: &steps,
        tasks: &tasks,
        clock: &Clockwork,
        redactor: &bench.redactor,
        cancel: &cancel,
        waits: true,
    };
    assert_eq!(engine.run(&id).unwrap_err().code, BROKE_OFF);
    let flow = store.flow(None, &id).unwrap();
    assert_eq!(flow.status, FlowStatus::Failed);
    let (_, events, _) = store.flow_events(None, &id, 50, 0).unwrap();
    let ended = events.last().unwrap();
    assert_eq!(ended.payload.get("code"), Some(&Json::from(BROKE_OFF)), "{events:?}");
    assert_eq!(*steps.withdrawn.lock().unwrap(), ["call-1"]);
}
