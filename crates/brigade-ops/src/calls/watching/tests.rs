use std::sync::{Arc, Mutex};

use brigade_call::CallStatus;
use brigade_core::{CallId, ErrorKind};
use brigade_workspace::{CATALOG, POLICY};

use super::*;
use crate::calls::running::{Attempt, ReadyCall, Runner};
use crate::testing::{CallBench, RunEnding};
use crate::{Calls, Request};

#[test]
fn whatever_is_no_such_file_remembers_nothing() {
    let good = format!(
        r#"{{"schema": "{SCHEMA}", "runs": {{"ab": "run-1", "odd": 7}},
        "tools": {{"a": "run-2"}}}}"#
    );
    let run = |key: &str, run: &str| BTreeMap::from([(key.to_owned(), run.parse().unwrap())]);
    let expect = LatestRuns { schema: SCHEMA.to_owned(), runs: run("ab", "run-1"), tools: run("a", "run-2") };
    assert_eq!(parse(good.as_bytes()), expect);
    for bad in ["", "[]", "{}", &good.replace(".v1", ".v2"), &good[..40]] {
        assert_eq!(parse(bad.as_bytes()), LatestRuns::default(), "{bad}");
    }
}

/// Asks whether to observe a verified call, and does not run it.
struct Asking(Arc<WorkspaceContext>, Mutex<Option<Watch>>);

impl Runner for Asking {
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
        *self.1.lock().unwrap() = Some(watch(&self.0, &ready.call));
        let error = Error::new(ErrorKind::Refused, "it does not run");
        Ok(Attempt::Taken(Box::new(ready.call.call().clone()), error))
    }
}

/// Returns whether a run of the call would be observed: `observe`, `unchanged` or `nothing`.
#[track_caller]
fn would(bench: &CallBench, id: &CallId) -> &'static str {
    let asking = Arc::new(Asking(bench.context.clone(), Mutex::default()));
    let error = Calls::new(bench.context.clone(), asking.clone()).run(id).unwrap_err();
    assert_eq!((error.kind(), bench.status(id)), (ErrorKind::Refused, CallStatus::Approved), "{error:?}");
    match asking.1.lock().unwrap().take() {
        Some(Watch::Observe) => "observe",
        Some(Watch::Unchanged(_)) => "unchanged",
        Some(Watch::Nothing) => "nothing",
        None => panic!("the call did not verify: {error:?}"),
    }
}

fn bench(policy: &str) -> CallBench {
    let bench = CallBench::new("");
    bench.add(POLICY, policy);
    bench
}

const ENFORCE: &str = "[sandbox]\nmode = \"enforce\"\n";

#[test]
fn the_policy_decides_which_runs_are_observed() {
    for (policy, first, second) in [
        ("", "nothing", "nothing"),
        ("[sandbox]\nmode = \"off\"\nobserve = \"always\"\n", "nothing", "nothing"),
        (ENFORCE, "observe", "unchanged"),
        ("[sandbox]\nmode = \"enforce\"\nobserve = \"never\"\n", "nothing", "nothing"),
        ("[sandbox]\nmode = \"enforce\"\nobserve = \"always\"\n", "observe", "observe"),
        // Only an observation shows the denied reads.
        ("[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n", "observe", "observe"),
    ] {
        let bench = bench(policy);
        let id = bench.approved("{}");
        assert_eq!(would(&bench, &id), first, "{policy}");
        bench.ends(RunEnding::observed(&[], &[], &[]));
        bench.calls.run(&id).unwrap();
        let again = bench.approved("{}");
        assert_eq!(would(&bench, &again), second, "{policy}");
    }
}

#[test]
fn changed_calls_are_observed_until_one_succeeds() {
    let bench = bench(ENFORCE);
    let failed = RunEnding { status: RunStatus::Failed, ..RunEnding::observed(&[], &[], &[]) };
    bench.ran("{}", failed);
    let id = bench.approved("{}");
    assert_eq!(would(&bench, &id), "observe", "denials of a failed run are reported each time");
    bench.ends(RunEnding::observed(&[], &[], &[]));
    bench.calls.run(&id).unwrap();
    let same = bench.approved("{}");
    assert_eq!(would(&bench, &same), "unchanged");
    bench.calls.reject(&same, "no").unwrap();
    bench.write("bin/tool.sh", "echo other\n");
    let changed = bench.approved(r#"{"a":1}"#);
    assert_eq!(would(&bench, &changed), "observe");
}

#[test]
fn a_run_without_an_observation_is_not_remembered() {
    let bench = bench(ENFORCE);
    bench.ran("{}", RunEnding::completed());
    assert!(!bench.exists(OBSERVED));
    assert_eq!(would(&bench, &bench.approved("{}")), "observe");
}

#[test]
fn code_of_observed_runs_is_bound_by_new_approvals() {
    let bench = CallBench::new("data = [\"lib/data/**\"]\nargument_template = { a = \"{a}\" }");
    bench.add(POLICY, ENFORCE);
    for path in ["lib/one.sh", "lib/arg.sh", "lib/data/two.sh", "lib/made.sh"] {
        bench.write(path, "#!/bin/sh\n");
    }
    bench.write("notes.txt", "text\n");
    let read = ["lib/one.sh", "lib/arg.sh", "lib/data/two.sh", "lib/made.sh", "notes.txt"];
    bench.ran(r#"{"a":"lib/arg.sh"}"#, RunEnding::observed(&read, &[], &["lib/made.sh"]));
    // Neither text, data, arguments nor files that the run made are learned.
    let planned = bench.calls.plan(CallBench::request(r#"{"a":"x"}"#)).unwrap();
    let learned = planned.bound_code.learned.unwrap();
    assert_eq!(learned.files, ["lib/one.sh"]);
    let id = bench.approved(r#"{"a":"x"}"#);
    bench.write("lib/one.sh", "#!/bin/sh\ntrue\n");
    assert!(bench.calls.run(&id).unwrap_err().to_string().contains("file lib/one.sh"));
    // Another command does not use what was learned.
    bench.replace(CATALOG, "/bin/sh bin/tool.sh", "/bin/sh ./bin/tool.sh");
    let planned = bench.calls.plan(CallBench::request(r#"{"a":"x"}"#)).unwrap();
    assert!(planned.bound_code.learned.is_none());
}

#[test]
fn a_plan_lists_used_files_that_nothing_binds() {
    let bench = bench(ENFORCE);
    bench.write("notes.txt", "text\n");
    let plan = || bench.calls.plan(Request::new("tool")).unwrap().bound_code.unbound;
    assert_eq!(plan(), [""; 0]);
    bench.ran("{}", RunEnding::observed(&["notes.txt", "bin/tool.sh"], &[], &[]));
    assert_eq!(plan(), ["notes.txt"]);
    forget_observed(&bench.context);
    assert_eq!(plan(), [""; 0]);
}
