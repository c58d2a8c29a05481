use super::*;
use crate::stored::testing::{Bench, IdleTasks as Clockwork, text};
use crate::task::tests::IdleTasks;

const STEP: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: step}\nspec:\n  initial_state: A\n  \
                    states:\n    A: {kind: System, command: echo, transitions: []}\n";

/// Accepts a call, and then panics when it looks at it.
#[derive(Default)]
struct FailingSteps {
    withdrawn: std::sync::Mutex<Vec<String>>,
}

impl Steps for FailingSteps {
    fn ask(&self, _: &str, _: &Json) -> Result<RequestedCall, Failure> {
        Ok(RequestedCall::Queued("call-1".to_owned()))
    }

    fn look(&self, _: &str) -> Result<CallState, Failure> {
        panic!("a fault of ours")
    }

    fn go_on(&self, _: &str, _: &CancelToken) -> Result<CallState, Failure> {
        panic!("a fault of ours")
    }

    fn withdraw(&self, call: &str) {
        self.withdrawn.lock().unwrap().push(call.to_owned());
    }

    fn changed(&self) {}
}

/// Begins an execution of [`STEP`] and returns its id.
fn begun(bench: &Bench, tasks: &IdleTasks) -> String {
    let manifest = Json::object([("manifest_yaml", Json::from(STEP))]);
    bench.call("workflow.create", &manifest.to_compact());
    bench.with_tasks("agent:ada", Some(tasks), |context| {
        let row = brigade_access::builtin::definition("workflow.run").unwrap();
        let begun = crate::run(row, &Json::parse(r#"{"name": "step"}"#).unwrap(), context).unwrap();
        text(&begun.structured, "execution_id").to_owned()
    })
}

/// Drives an execution and returns the code of its failure.
fn driven(bench: &Bench, tasks: &IdleTasks, steps: &FailingSteps, store: &Store, id: &str) -> ErrorCode {
    let cancel = CancelToken::new().unwrap();
    let engine = Engine {
        store,
        steps,
        tasks,
        clock: &Clockwork,
        redactor: &bench.redactor,
        cancel: &cancel,
        waits: true,
    };
    engine.run(id).unwrap_err().code
}

#[test]
fn a_panicking_driver_fails_its_execution() {
    // Issue 17: it stayed `running` for ever.
    let bench = Bench::new();
    let tasks = IdleTasks::default();
    let id = begun(&bench, &tasks);
    let (steps, store) = (FailingSteps::default(), bench.stores.writing(&bench.fs).unwrap());
    assert_eq!(driven(&bench, &tasks, &steps, &store, &id), ErrorCode::BrokeOff);
    let flow = store.flow(None, &id).unwrap();
    assert_eq!(flow.status, FlowStatus::Failed);
    let (_, events, _) = store.flow_events(None, &id, 50, 0).unwrap();
    let ended = events.last().unwrap();
    assert_eq!(ended.payload.get("code"), Some(&Json::from(ErrorCode::BrokeOff.as_str())), "{events:?}");
    assert_eq!(*steps.withdrawn.lock().unwrap(), ["call-1"]);
}

#[test]
fn changed_record_does_not_repeat_a_call() {
    // Issue 11: an unreadable record was treated as a state that has begun nothing.
    let branch = Branch { call: Some("call-1".to_owned()), is_begun: true, ..Branch::default() };
    let whole =
        r#"[{"begun":true,"began_at":null,"call":"call-1","code":null,"execution":null,"message":null}]"#;
    let read = |text: &str| from_json::<Vec<Branch>>(&Json::parse(text).unwrap());
    assert_eq!(to_step(std::slice::from_ref(&branch)), Json::parse(whole).unwrap());
    assert_eq!(read(whole).unwrap(), [branch]);
    for step in ["{}", "\"a\"", "[7]", r#"[{"begun":true,"call":1}]"#, r#"[{"call":"call-1"}]"#] {
        let (bench, tasks) = (Bench::new(), IdleTasks::default());
        let id = begun(&bench, &tasks);
        let (steps, store) = (FailingSteps::default(), bench.stores.writing(&bench.fs).unwrap());
        let gateway = store.flow(None, &id).unwrap().gateway;
        let step = Json::parse(step).unwrap();
        store.write_step(&id, &gateway, &step, None, Clockwork.now()).unwrap();
        assert_eq!(driven(&bench, &tasks, &steps, &store, &id), ErrorCode::InvalidStep, "{step:?}");
        let flow = store.flow(None, &id).unwrap();
        assert_eq!((flow.status, flow.error_code.as_deref()), (FlowStatus::Failed, Some("invalid_step")));
    }
}

#[test]
fn templates_see_the_state_of_the_execution() {
    let (bench, tasks) = (Bench::new(), IdleTasks::default());
    let id = begun(&bench, &tasks);
    let store = bench.stores.writing(&bench.fs).unwrap();
    let mut flow = store.flow(None, &id).unwrap();
    flow.human = Some("yes".to_owned());
    flow.blackboard.insert("n".to_owned(), Json::parse("1.50").unwrap());
    flow.outputs.insert("Z".to_owned(), Json::from("z"));
    let spec = read::<Workflow>(STEP).manifest.unwrap().spec;
    let names = Json::Object(scope(&flow, &spec).names).to_compact();
    let began = flow.started_at.to_string();
    let expect = concat!(
        r#"{"Z":"z","blackboard":{"n":1.50},"#,
        r#""execution":{"id":"ID","started_at":"BEGAN","transitions":0},"#,
        r#""human":{"feedback":"yes","response":"yes"},"input":{},"intent":null,"#,
        r#""state":{"feedback":null,"name":"A","visits":1},"#,
        r#""workflow":{"context":{},"input":{},"name":"step","task":null,"version":"VERSION"}}"#,
    );
    let expect = expect.replace("ID", &id).replace("BEGAN", &began).replace("VERSION", &flow.version);
    assert_eq!(names, expect);
}

#[test]
fn a_state_gets_the_output_of_its_execution_or_agents() {
    let (bench, tasks) = (Bench::new(), IdleTasks::default());
    let id = begun(&bench, &tasks);
    let store = bench.stores.writing(&bench.fs).unwrap();
    let mut flow = store.flow(None, &id).unwrap();
    flow.outputs.insert("A".to_owned(), Json::from("a"));
    let expect = r#"{"execution_id":"ID","result":"a","status":"running"}"#.replace("ID", &id);
    assert_eq!(of_flow(&flow).output.to_compact(), expect);
    let given = Outcome {
        exit_code: Some(3),
        score: Some(1.0),
        confidence: Some(0.25),
        response: Some("r".to_owned()),
        ..Outcome::failed("c", "m")
    };
    let agents = AgentsOutput { agents: vec![given.recorded(), Outcome::default().recorded()] };
    let expect = concat!(
        r#"{"agents":[{"code":"c","confidence":0.25,"exit_code":3,"message":"m","output":null,"response":"r","score":1,"#,
        r#""status":"failed"},{"output":null,"status":"failed"}]}"#,
    );
    assert_eq!(to_json(&agents).unwrap().to_compact(), expect);
}
