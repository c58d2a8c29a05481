use super::*;
use crate::testing::{Bench, deploy};

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

/// Begins an execution of [`STEP`].
fn begun(bench: &Bench) -> Flow {
    bench.call("workflow.create", &deploy(STEP));
    bench.store_flow("step", &bench.gateway(), &Json::object::<&str>([]))
}

/// Drives an execution and returns the code of its failure.
fn driven(bench: &Bench, steps: &FailingSteps, id: &str) -> ErrorCode {
    let (store, redactor, cancel) = (bench.store(), Redactor::new(&[]), CancelToken::new().unwrap());
    bench.with("agent:ada", |_, runner| {
        let engine = Engine { store: &store, steps, runner, redactor: &redactor, cancel: &cancel };
        engine.run(id).unwrap_err().code
    })
}

#[test]
fn a_panicking_driver_fails_its_execution() {
    // Issue 17: it stayed `running` for ever.
    let bench = Bench::new();
    let id = begun(&bench).id;
    let (steps, store) = (FailingSteps::default(), bench.store());
    assert_eq!(driven(&bench, &steps, &id), ErrorCode::BrokeOff);
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
        let bench = Bench::new();
        let Flow { id, gateway, .. } = begun(&bench);
        let store = bench.store();
        let step = Json::parse(step).unwrap();
        store.write_step(&id, &gateway, &step, None, bench.context.workspace.now()).unwrap();
        assert_eq!(driven(&bench, &FailingSteps::default(), &id), ErrorCode::InvalidStep, "{step:?}");
        let flow = store.flow(None, &id).unwrap();
        assert_eq!((flow.status, flow.error_code.as_deref()), (FlowStatus::Failed, Some("invalid_step")));
    }
}

#[test]
fn templates_see_the_state_of_the_execution() {
    let mut flow = begun(&Bench::new());
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
    let expect = expect.replace("ID", &flow.id).replace("BEGAN", &began).replace("VERSION", &flow.version);
    assert_eq!(names, expect);
}

#[test]
fn a_state_gets_the_output_of_its_execution_or_agents() {
    let mut flow = begun(&Bench::new());
    flow.outputs.insert("A".to_owned(), Json::from("a"));
    let expect = r#"{"execution_id":"ID","result":"a","status":"running"}"#.replace("ID", &flow.id);
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
