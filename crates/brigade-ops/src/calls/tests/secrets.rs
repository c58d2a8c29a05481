use brigade_call::{CallStatus, OnBlocked};
use brigade_core::{ErrorCode, IdPrefix, Json};

use super::{codes, reasons, says};
use crate::testing::{CallBench, RunEnding};
use crate::{ArgsSource, Request};

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// Expects that a call is refused, and that neither the errors nor any file repeats a text of its arguments.
#[track_caller]
fn never_stored(bench: &CallBench, args: &str, secret: &str) {
    let source = || ArgsSource::Inline(args.to_owned());
    let planned = bench.calls.plan(Request::new("tool").args(source())).unwrap();
    assert!(codes(&planned.blocker_details).contains(&"secret_argument"), "{args}: {planned:#?}");
    for blocked in [OnBlocked::Refuse, OnBlocked::Include] {
        let error = bench.calls.queue(Request::new("tool").args(source()).blocked(blocked)).unwrap_err();
        assert!(reasons(&error).contains(&"secret_argument"), "{args}: {error:?}");
        assert!(!format!("{planned:?}{error:?}").contains(secret), "{error:?}");
    }
    assert_eq!(bench.files_with(secret), [""; 0]);
    assert!(!bench.exists(".brigade/tools/calls.jsonl"));
}

#[test]
fn an_argument_that_looks_like_a_secret_is_never_stored() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    bench.write("schemas/tool.json", r#"{"type":"object","properties":{"a":{}}}"#);
    for (args, secret) in [
        (r#"{"password":"hunter2-4711"}"#.to_owned(), "hunter2-4711"),
        (r#"{"a":"password=hunter2-4711"}"#.to_owned(), "hunter2-4711"),
        (format!(r#"{{"a":["x","AKIAIOSFODNN7EXAMPLE","see {TOKEN}"]}}"#), TOKEN),
        // A name can be one, too, at any depth.
        (format!(r#"{{"{TOKEN}":"x"}}"#), TOKEN),
        (format!(r#"{{"a":{{"{TOKEN}":1}}}}"#), TOKEN),
        (format!(r#"{{"a":[{{"{TOKEN}":{{}}}}]}}"#), TOKEN),
    ] {
        never_stored(&bench, &args, secret);
    }
    // A violation of the schema does not repeat the name.
    bench.write("schemas/tool.json", r#"{"type":"object","additionalProperties":false}"#);
    never_stored(&bench, &format!(r#"{{"{TOKEN}":"x"}}"#), TOKEN);
}

#[test]
fn a_secret_that_only_the_command_line_shows_is_refused() {
    let bench = CallBench::new("argument_template = { a = \"--token={x}\" }");
    never_stored(&bench, r#"{"x":"hunter2-4711"}"#, "hunter2-4711");
}

#[test]
fn a_message_names_the_whole_argument() {
    let bench = CallBench::new("");
    for name in ["api_key", "password", "db.password"] {
        let args = Json::Object([(name.to_owned(), Json::from("hello"))].into_iter().collect());
        let planned = bench.calls.plan(Request::new("tool").args(args)).unwrap();
        says(&planned.blocker_details, ErrorCode::SecretArgument, "looks like a secret");
        assert!(!planned.blockers.concat().contains("[redacted]"), "{name}: {:?}", planned.blockers);
    }
}

#[test]
fn harmless_arguments_are_not_taken_for_secrets() {
    let bench = CallBench::new(r#"argument_template = { a = "{max_tokens} {text}" }"#);
    let args = r#"{"max_tokens":100,"text":"the token bucket; author: me; keyboard=us"}"#;
    let planned = bench.calls.plan(CallBench::request(args)).unwrap();
    assert_eq!(planned.blockers, [""; 0]);
    assert_eq!(planned.argv[2..], ["100 the token bucket; author: me; keyboard=us"]);
    bench.queue(args);
}

#[test]
fn a_variable_that_is_not_set_blocks_the_call() {
    let bench = CallBench::new("env_labels = [\"GITHUB_TOKEN\"]");
    let id = bench.approved("{}");
    let home = tempfile::tempdir().unwrap();
    let elsewhere = bench.with_home(home.path());
    let planned = elsewhere.calls.plan(Request::new("tool")).unwrap();
    says(&planned.blocker_details, ErrorCode::PolicyEnvMissing, "CANARY");
    assert!(reasons(&elsewhere.calls.run(&id).unwrap_err()).contains(&"policy_env_missing"));
    assert_eq!(bench.status(&id), CallStatus::Approved);
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn labels_that_change_what_runs_are_refused() {
    for label in ["PATH", "BRIGADE_TOOL_RESUME_CHOICE", "a b", TOKEN] {
        let bench = CallBench::new(&format!("env_labels = [{label:?}]"));
        bench.replace(".brigade/tools/policy.toml", "GITHUB_TOKEN = ", &format!("{label:?} = "));
        let planned = bench.calls.plan(Request::new("tool")).unwrap();
        assert!(!planned.valid, "{label}");
        assert!(label != TOKEN || !format!("{planned:?}").contains(TOKEN), "{planned:?}");
    }
    let bench = CallBench::new(&format!("auth_label = {TOKEN:?}"));
    let planned = bench.calls.plan(Request::new("tool")).unwrap();
    says(&planned.blocker_details, ErrorCode::UnsafeAuthLabel, "looks like a value");
    assert!(!format!("{planned:?}").contains(TOKEN), "{planned:?}");
}

#[test]
fn secrets_in_reasons_and_choices_are_not_stored() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let held = bench.calls.hold(&id, "wait for password=hunter2-4711").unwrap();
    assert!(!format!("{held:?}").contains("hunter2-4711"), "{held:?}");
    bench.calls.approve(&id).unwrap();
    bench.ends(RunEnding::waiting(&[("ask", &[])]));
    bench.calls.run(&id).unwrap();
    let ask = || "ask".parse().unwrap();
    assert!(bench.checkpoints().approve(&ask(), "password=hunter2-4711").is_err());
    bench.checkpoints().reject(&ask(), "because of password=hunter2-4711").unwrap();
    assert_eq!(bench.files_with("hunter2-4711"), [""; 0]);
}

#[test]
fn a_secret_in_the_place_of_an_id_is_not_repeated() {
    let bench = CallBench::new("");
    for error in [
        bench.calls.plan(Request::new(TOKEN)).unwrap_err(),
        bench.calls.queue(Request::new(TOKEN)).unwrap_err(),
        bench.calls.show(IdPrefix::new(TOKEN)).unwrap_err(),
        bench.runs().show(&IdPrefix::new(TOKEN)).unwrap_err(),
        bench.checkpoints().show(&IdPrefix::new(TOKEN)).unwrap_err(),
    ] {
        assert!(!error.to_string().contains(TOKEN), "{error}");
    }
}
