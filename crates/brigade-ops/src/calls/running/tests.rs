use brigade_call::{CallStatus, Caller};
use brigade_core::{ErrorCode, ErrorKind, Hint, Json, NextStep};
use brigade_fs::{DiskFs, FileMode, Fs as _};
use brigade_workspace::{AdoptStep, CATALOG, POLICY};

use super::*;
use crate::CallFilter;
use crate::testing::{CallBench, RunEnding};

const CALLS: &str = ".brigade/tools/calls.jsonl";

/// The lines of the tool that is approved and then changed.
const LINES: &str = "argument_template = { a = \"{a}\" }\nsupported_harnesses = [\"claude\"]\n\
    projections = { claude = \".claude/commands/tool.md\" }\nenv_labels = [\"GITHUB_TOKEN\"]\ncwd = \".\"\n\
    output_schema_path = \"schemas/tool.output.json\"\nexamples_path = \"examples/tool.json\"\n";

fn bench() -> CallBench {
    let bench = CallBench::new(LINES);
    bench.write("schemas/tool.output.json", r#"{"type":"object"}"#);
    bench.write("examples/tool.json", "[]");
    bench.write("lib/helper.sh", "echo help\n");
    bench
}

/// Expects that a call does not run because of these changes.
#[track_caller]
fn refused(bench: &CallBench, id: &CallId, changed: &[&str]) -> Error {
    let error = bench.calls.run(id).unwrap_err();
    let Some(Refusal::Run(refusal)) = error.refusal() else { panic!("{error:?}") };
    assert_eq!(refusal.changed, changed, "{error:?}");
    assert_eq!((error.code(), error.kind()), (ErrorCode::CallBlocked, ErrorKind::Refused));
    assert_eq!((bench.status(id), bench.run_count()), (CallStatus::Approved, 0));
    error
}

/// Changes something after the approval. The call is refused until the change is taken back.
#[track_caller]
fn check(change: impl FnOnce(&CallBench), changed: &[&str]) {
    let bench = bench();
    let id = bench.approved(r#"{"a":"1"}"#);
    let paths = [
        CATALOG,
        POLICY,
        "bin/tool.sh",
        "docs/tool.md",
        "schemas/tool.json",
        "schemas/tool.output.json",
        "examples/tool.json",
    ];
    let before = paths.map(|path| bench.read(path));
    change(&bench);
    refused(&bench, &id, changed);
    if bench.exists(".claude/commands/tool.md") {
        bench.remove(".claude/commands/tool.md");
    }
    for (path, text) in paths.iter().zip(before) {
        bench.write(path, text);
    }
    assert!(bench.calls.run(&id).unwrap().succeeded, "taken back, it runs");
}

#[test]
fn a_changed_contract_makes_the_approval_void() {
    check(|bench| bench.replace(CATALOG, "timeout = 30", "timeout = 29"), &["contract", "policy"]);
    check(|bench| bench.replace(CATALOG, r#"a = "{a}""#, r#"a = "--a={a}""#), &["args", "contract"]);
    check(|bench| bench.replace(CATALOG, "bin/tool.sh\"", "bin/tool.sh --more\""), &["contract"]);
    let files = &["contract", "file bin/tool.sh", "file lib/helper.sh"];
    check(|bench| bench.replace(CATALOG, "bin/tool.sh", "lib/helper.sh"), files);
    for (path, text) in [
        ("schemas/tool.json", r#"{"type":"object","title":"x"}"#),
        ("schemas/tool.output.json", "{}"),
        ("examples/tool.json", "[ ]"),
    ] {
        check(|bench| bench.write(path, text), &["contract"]);
    }
    check(|bench| bench.remove("examples/tool.json"), &["contract"]);
}

#[test]
fn a_changed_file_makes_the_approval_void() {
    check(|bench| bench.write("bin/tool.sh", "echo other\n"), &["file bin/tool.sh"]);
    check(|bench| bench.write("bin/tool.sh", "echo ran\n\n"), &["file bin/tool.sh"]);
    check(|bench| bench.remove("bin/tool.sh"), &["file bin/tool.sh"]);
    check(|bench| bench.write("docs/tool.md", "# Other\n"), &["source"]);
    check(|bench| bench.remove("docs/tool.md"), &["source", "projections"]);
}

#[test]
fn changed_projections_make_the_approval_void() {
    check(|bench| bench.replace(CATALOG, "commands/tool.md", "commands/other.md"), &["projections"]);
    check(|bench| bench.replace(CATALOG, r#"["claude"]"#, r#"["claude", "codex"]"#), &["projections"]);
    check(|bench| bench.write(".claude/commands/tool.md", "mine\n"), &["projections"]);
}

#[test]
fn a_changed_policy_makes_the_approval_void() {
    for (from, to) in [("\"CANARY\"", "\"PATH\""), (r#"["secret-read"]"#, r#"["local-read"]"#)] {
        check(|bench| bench.replace(POLICY, from, to), &["policy"]);
    }
    check(|bench| bench.write(POLICY, "= ="), &["policy"]);
    check(|bench| bench.remove(POLICY), &["policy"]);
    let bench = bench();
    bench.add(POLICY, "[sandbox]\nmode = \"enforce\"\nread_paths = [\"/var/tmp\"]\n");
    let id = bench.approved(r#"{"a":"1"}"#);
    bench.replace(POLICY, "/var/tmp", "/var/lib");
    refused(&bench, &id, &["policy"]);
}

#[test]
fn several_changes_are_all_named() {
    let bench = bench();
    let id = bench.approved(r#"{"a":"1"}"#);
    bench.write("bin/tool.sh", "");
    bench.write("docs/tool.md", "");
    bench.remove(POLICY);
    let error = refused(&bench, &id, &["source", "policy", "file bin/tool.sh"]);
    let text = "changed since it was approved: source, policy, file bin/tool.sh";
    assert!(error.to_string().ends_with(text), "{error}");
}

#[test]
fn what_an_approval_does_not_bind_may_change() {
    let unbound = |change: &dyn Fn(&CallBench)| {
        let bench = bench();
        let id = bench.approved(r#"{"a":"1"}"#);
        change(&bench);
        assert!(bench.calls.run(&id).unwrap().succeeded);
    };
    let other = CallBench::entry("other", "/bin/sh bin/other.sh", "");
    unbound(&|bench| bench.write(POLICY, format!("# a comment\n\n{}\n# another\n", bench.read(POLICY))));
    unbound(&|bench| {
        bench.replace(POLICY, r#"["script"]"#, r#"["script", "mcp"]"#);
        bench.replace(POLICY, "\"CANARY\"", "\"CANARY\", SAFE = \"SAFE\"");
        bench.replace(POLICY, r#"["secret-read"]"#, r#"["secret-read", "remote-mutation"]"#);
        bench.replace(POLICY, "max_timeout = 60", "max_timeout = 90");
    });
    unbound(&|bench| bench.add(CATALOG, &other));
    unbound(&|bench| bench.add(CATALOG, "[[tool]]\nid = \"other\"\nfamily = \"nonsense\"\n"));
    unbound(&|bench| bench.write(CATALOG, format!("# hello\n{other}\n# hello\n{}", bench.read(CATALOG))));
    unbound(&|bench| bench.replace(CATALOG, "name = \"Tool\"", "name = \"A tool\"\ndescription = \"New\""));
    unbound(&|bench| bench.write("lib/helper.sh", "changed\n"));
    // Only the times of the files.
    unbound(&|bench| {
        for path in ["bin/tool.sh", "docs/tool.md", "schemas/tool.json", CATALOG, POLICY] {
            bench.write(path, bench.read(path));
        }
    });
}

#[test]
fn data_that_an_argument_names_may_change() {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    bench.write("data.txt", "before");
    let id = bench.approved(r#"{"path":"data.txt"}"#);
    bench.write("data.txt", "after");
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn a_tool_that_is_gone_or_disabled_is_not_called() {
    let bench = bench();
    let id = bench.approved(r#"{"a":"1"}"#);
    let catalog = bench.read(CATALOG);
    for (text, code) in [
        (String::new(), ErrorCode::ToolMissing),
        (catalog.replace("id = \"tool\"", "id = \"tool2\""), ErrorCode::ToolMissing),
        (catalog.replace("id = \"tool\"", "id = \"tool\"\nenabled = false"), ErrorCode::ToolMissing),
        (catalog.replace("family = \"script\"", "family = \"custom\""), ErrorCode::ChangedContract),
        // Of two entries with one id, the first counts.
        (
            format!("{}\n{catalog}", CallBench::entry("tool", "/bin/sh bin/tool.sh", "")),
            ErrorCode::ChangedContract,
        ),
        (catalog.replace("[[tool]]", "[tool]"), ErrorCode::InvalidEntry),
    ] {
        bench.write(CATALOG, text);
        let error = bench.calls.run(&id).unwrap_err();
        let codes: Vec<&str> = error.blockers().iter().map(|reason| &*reason.code).collect();
        assert!(codes.contains(&code.as_str()) || error.code() == code, "{code}: {error:?}");
        assert_eq!((bench.status(&id), bench.run_count()), (CallStatus::Approved, 0));
    }
    bench.write(CATALOG, catalog);
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

/// Edits the last record of the queue.
fn edit(bench: &CallBench, pointer: &[&str], value: Json) {
    let text = bench.read(CALLS);
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    let mut record = Json::parse(last).unwrap();
    let mut member = &mut record;
    for name in pointer {
        let Json::Object(members) = member else { panic!("no {name}") };
        member = members.get_mut(*name).unwrap();
    }
    *member = value;
    bench.write(CALLS, format!("{before}\n{}\n", record.to_compact()));
}

#[test]
fn a_record_that_was_edited_does_not_run() {
    let list = |text: &str| Json::parse(text).unwrap();
    for (pointer, value, changed) in [
        (&["args", "a"][..], Json::from("2"), &["args"][..]),
        (&["reviewed_at"], Json::from("2020-01-01T00:00:00+00:00"), &["approval record"]),
        (&["approval_binding", "files"], list("{}"), &["file bin/tool.sh", "approval record"]),
        (&["blockers"], list(r#"["someone blocked this"]"#), &[]),
        (&["contract", "effects"], list(r#"["network"]"#), &["contract"]),
        (&["policy", "fingerprint"], Json::from("0"), &["approval record"]),
        (&["caller"], Json::from("program:other"), &["caller"]),
    ] {
        let bench = bench();
        let id = bench.approved(r#"{"a":"1"}"#);
        edit(&bench, pointer, value);
        let error = refused(&bench, &id, changed);
        if changed.is_empty() {
            assert!(
                error.blockers().iter().any(|reason| reason.message.ends_with("someone blocked this")),
                "{error:?}"
            );
        }
        let next = bench.calls.run(RunTarget::Next).unwrap_err();
        assert_eq!((next.code(), bench.run_count()), (ErrorCode::NothingApproved, 0), "{pointer:?}");
    }
}

#[test]
fn an_approval_of_an_earlier_rule_is_void() {
    let bench = bench();
    let id = bench.approved(r#"{"a":"1"}"#);
    bench.replace(CALLS, ",\"version\":2", "");
    refused(&bench, &id, &["approved by an earlier version, which bound other files"]);
}

#[test]
fn only_an_approved_call_runs() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let steps = |error: &Error| {
        let of_reasons = error.blockers().iter().filter_map(|reason| reason.hint.clone());
        let hints: Vec<Hint> = error.hints().iter().cloned().chain(of_reasons).collect();
        hints.iter().flat_map(Hint::steps).cloned().collect::<Vec<_>>()
    };
    let pending = bench.calls.run(&id).unwrap_err();
    assert_eq!(steps(&pending), [NextStep::Approve(id.clone())]);
    bench.calls.hold(&id, "later").unwrap();
    assert_eq!(steps(&bench.calls.run(&id).unwrap_err()), [NextStep::Approve(id.clone())]);
    bench.calls.approve(&id).unwrap();
    bench.calls.reject(&id, "no").unwrap();
    let rejected = bench.calls.run(&id).unwrap_err();
    assert!(rejected.blockers().iter().any(|reason| reason.message.contains("rejected")), "{rejected:?}");
    assert_eq!((steps(&rejected).len(), bench.run_count()), (0, 0));
}

#[test]
fn a_call_runs_once() {
    for (ending, status) in [
        (RunEnding::completed(), CallStatus::Completed),
        (RunEnding::failed(), CallStatus::Failed),
        (RunEnding::new(brigade_call::RunStatus::TimedOut, 0), CallStatus::TimedOut),
        (RunEnding::new(brigade_call::RunStatus::Interrupted, 0), CallStatus::Interrupted),
    ] {
        let bench = CallBench::new("");
        let run = bench.ran("{}", ending);
        assert_eq!((&run.call.status, run.succeeded), (&status, status == CallStatus::Completed));
        let again = bench.calls.run(&run.call.id).unwrap_err();
        let replay = NextStep::Replay(run.receipt.id.clone());
        let hints = again.blockers().iter().filter_map(|reason| reason.hint.as_ref()).chain(again.hints());
        assert!(hints.flat_map(Hint::steps).any(|step| *step == replay), "{again:?}");
        assert_eq!(bench.run_count(), 1);
    }
}

#[test]
fn a_run_whose_runner_is_gone_is_interrupted() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    bench.ends(RunEnding::killed());
    assert_eq!(bench.calls.run(&id).unwrap_err().kind(), ErrorKind::Environment);
    // Readers see it, and the next change of the call records it.
    assert_eq!((bench.status(&id), bench.run_count()), (CallStatus::Interrupted, 0));
    let error = bench.calls.run(&id).unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::Run(_))), "{error:?}");
    assert_eq!(bench.run_count(), 1);
    bench.runs().verify(1).unwrap();
}

#[test]
fn the_oldest_approved_call_that_verifies_is_next() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    bench.add(CATALOG, &CallBench::entry("other", "/bin/sh bin/other.sh", ""));
    bench.write("bin/other.sh", "echo other\n");
    let nothing = bench.calls.run(RunTarget::Next).unwrap_err();
    assert_eq!((nothing.kind(), nothing.code()), (ErrorKind::NotFound, ErrorCode::NothingApproved));
    let stale = bench.calls.queue(crate::Request::new("other")).unwrap().call.id;
    bench.calls.approve(&stale).unwrap();
    let pending = bench.queue(r#"{"a":"0"}"#);
    let [first, second] = ["1", "2"].map(|arg| bench.approved(&format!("{{\"a\":\"{arg}\"}}")));
    bench.write("bin/other.sh", "echo changed\n");
    for next in [&first, &second] {
        let run = bench.calls.run(RunTarget::Next).unwrap();
        assert_eq!(run.call.id, *next);
        let [passed] = run.passed_over.as_slice() else { panic!("{run:?}") };
        assert_eq!(passed.call_id, stale.to_string());
        assert!(passed.reasons.concat().contains("bin/other.sh"), "{passed:?}");
    }
    let nothing = bench.calls.run(RunTarget::Next).unwrap_err();
    let Some(Refusal::Run(refusal)) = nothing.refusal() else { panic!("{nothing:?}") };
    assert_eq!((refusal.passed_over.len(), refusal.call.is_none()), (1, true));
    assert_eq!(bench.status(&pending), CallStatus::Pending);
}

#[test]
fn under_an_invalid_policy_nothing_is_next() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    bench.write(POLICY, "= =");
    let error = bench.calls.run(RunTarget::Next).unwrap_err();
    assert!(error.blockers().iter().all(|reason| reason.is(ErrorCode::PolicyInvalid)), "{error:?}");
    // The approval of a single call is not compared with an unknown policy.
    let error = bench.calls.run(&id).unwrap_err();
    assert_eq!(error.to_string(), format!("call {id} cannot run"));
}

#[test]
fn only_the_agent_runs_its_calls() {
    let bench = CallBench::new("");
    let agent = bench.for_caller(Caller::Agent("ann".parse().unwrap()));
    let id = agent.queue("{}");
    bench.calls.approve(&id).unwrap();
    let error = bench.calls.run(&id).unwrap_err();
    assert_eq!((error.code(), bench.run_count()), (ErrorCode::CallOfAgent, 0));
    assert_eq!(error.to_string(), "the call belongs to the agent `ann`, and only the agent runs it");
    // It is also none of the next ones.
    assert_eq!(bench.calls.run(RunTarget::Next).unwrap_err().code(), ErrorCode::NothingApproved);
    let run = agent.calls.run(&id).unwrap();
    let replay = bench.runs().replay(&brigade_core::IdPrefix::new(run.receipt.id.as_str())).unwrap_err();
    assert_eq!(replay.code(), ErrorCode::CallOfAgent);
}

#[test]
fn a_call_that_another_process_claimed_is_not_run() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    let stored = bench.stored(&id);
    assert!(bench.calls.run(&id).unwrap().succeeded);
    // The record as it was before the other process claimed it.
    let error = run_stored(&bench.context, &*bench.calls.runner, stored, &[]).unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::Run(_))), "{error:?}");
    assert_eq!(bench.run_count(), 1);
}

#[test]
fn a_missing_call_is_not_run() {
    let bench = CallBench::new("");
    let error = bench.calls.run("call-nope".parse::<CallId>().unwrap()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CallMissing);
    assert!(matches!(error.refusal(), Some(Refusal::Run(RunRefusal { call: None, .. }))));
}

#[test]
fn one_reason_says_more_than_names_of_changes() {
    let bench = CallBench::new("");
    let call = bench.call(&bench.approved("{}"));
    let blocker = || Blocker::new(ErrorCode::ChangedProgram, "the program was moved");
    let message = |changes: Vec<Change>, blockers: usize| {
        let blockers = (0..blockers).map(|_| blocker()).collect();
        let refusal = NotVerified { blockers, changes, moved: None };
        let error = refusal_error(&bench.context, &call, refusal);
        error.to_string().replace(call.id.as_str(), "ID")
    };
    assert_eq!(message(vec![], 1), "call ID cannot run");
    assert_eq!(message(vec![Change::Args, Change::Contract], 1), "call ID cannot run");
    let both = "call ID cannot run: changed since it was approved: args, contract";
    assert_eq!(message(vec![Change::Args, Change::Contract], 2), both);
    assert_eq!(message(vec![Change::Args], 1), "call ID cannot run: changed since it was approved: args");
    let nothing = format!("call ID cannot run: {}", Change::NothingBound);
    assert_eq!(message(vec![Change::NothingBound], 1), nothing);
}

/// Programs of this host in a separate directory.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new(programs: &[(&str, &str)]) -> Programs {
        let made = Programs(tempfile::tempdir().unwrap());
        programs.iter().for_each(|(name, text)| made.write(name, text));
        made
    }

    fn write(&self, name: &str, text: &str) {
        let fs = DiskFs::open(self.0.path()).unwrap();
        fs.write_atomic(&name.parse().unwrap(), text.as_bytes(), FileMode::Exactly(0o755)).unwrap();
    }

    fn path(&self) -> String {
        DiskFs::open(self.0.path()).unwrap().root().display().to_string()
    }
}

#[test]
fn every_file_that_a_word_names_is_bound() {
    for (words, file) in [
        ("/bin/sh bin/tool.sh -cconf.json", "conf.json"),
        ("/bin/sh bin/tool.sh --config=conf.json", "conf.json"),
        ("/bin/sh bin/tool.sh @conf.json", "conf.json"),
        ("cat -d@conf.json", "conf.json"),
        ("unheard-of a=b=conf.json", "conf.json"),
        ("node --import file:a%20b.js x", "a b.js"),
        ("awk -fa.awk", "a.awk"),
        ("make --fil x.mk", "x.mk"),
        ("cat notes.txt", "notes.txt"),
        ("env -C sub python3 a.py", "sub/a.py"),
        ("env -S 'python3 bin/x.py'", "bin/x.py"),
        ("env -S '-C sub python3 a.py'", "sub/a.py"),
        ("timeout 5 prlimit --nofile=100 setarch x86_64 sh bin/x.sh", "bin/x.sh"),
        ("watch -g 'python3 bin/x.py'", "bin/x.py"),
        ("find . -exec sh ./a.sh {} ;", "a.sh"),
    ] {
        let program = "#!/bin/sh\n";
        let names =
            ["cat", "unheard-of", "node", "awk", "make", "env", "timeout", "prlimit", "setarch", "sh"];
        let programs = Programs::new(&names.map(|name| (name, program)));
        for name in ["watch", "find", "python3"] {
            programs.write(name, program);
        }
        let bench = CallBench::new("").with_path(&programs.path());
        bench.write(CATALOG, CallBench::entry("tool", words, ""));
        bench.write("sub/keep", "");
        bench.write(file, "one\n");
        let id = bench.approved("{}");
        bench.write(file, "two\n");
        let error = bench.calls.run(&id).unwrap_err();
        let Some(Refusal::Run(refusal)) = error.refusal() else { panic!("{error:?}") };
        assert_eq!(refusal.changed, [format!("file {file}")], "{words}");
    }
}

#[test]
fn a_file_outside_of_the_workspace_is_bound() {
    let outside = Programs::new(&[("outside.sh", "echo one\n")]);
    for command in ["/bin/sh FILE", "/bin/cat FILE", "/bin/cat --in=FILE"] {
        let bench = CallBench::new("");
        let path = format!("{}/outside.sh", outside.path());
        bench.write(CATALOG, CallBench::entry("tool", &command.replace("FILE", &path), ""));
        let id = bench.approved("{}");
        outside.write("outside.sh", "echo two\n");
        let error = refused(&bench, &id, &[&format!("file {path}")]);
        assert!(error.blockers()[0].is(ErrorCode::ChangedFile), "{error:?}");
        outside.write("outside.sh", "echo one\n");
        assert!(bench.calls.run(&id).unwrap().succeeded);
    }
}

#[test]
fn programs_after_wrappers_and_interpreters_are_bound() {
    let programs = Programs::new(&[("inner", "#!/bin/sh\n")]);
    let wrapped = format!("#!{}/inner -x\n", programs.path());
    programs.write("wrapped", &wrapped);
    let bench = CallBench::new("").with_path(&programs.path());
    bench.write(CATALOG, CallBench::entry("tool", "env timeout 5 wrapped x", ""));
    let id = bench.approved("{}");
    for (name, before, after) in
        [("inner", "#!/bin/sh\n", "#!/bin/sh\ntrue\n"), ("wrapped", &wrapped, "#!/bin/sh\n")]
    {
        programs.write(name, after);
        let error = bench.calls.run(&id).unwrap_err();
        let Some(Refusal::Run(refusal)) = error.refusal() else { panic!("{error:?}") };
        assert!(refusal.changed.concat().contains(name), "{name}: {refusal:?}");
        programs.write(name, before);
    }
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn the_bytes_of_the_program_are_bound() {
    let programs = Programs::new(&[("own", "#!/bin/sh\necho one\n")]);
    let bench = CallBench::new("").with_path(&programs.path());
    bench.write(CATALOG, CallBench::entry("tool", "own bin/tool.sh", ""));
    let id = bench.approved("{}");
    programs.write("own", "#!/bin/sh\necho two\n");
    refused(&bench, &id, &["program bytes"]);
    // Of a script, the interpreter is bound, too.
    programs.write("own", "#!/usr/bin/env sh\necho one\n");
    let error = bench.calls.run(&id).unwrap_err();
    let Some(Refusal::Run(refusal)) = error.refusal() else { panic!("{error:?}") };
    assert!(refusal.changed.contains(&"file /bin/sh".to_owned()), "{refusal:?}");
    programs.write("own", "#!/bin/sh\necho one\n");
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn a_directory_that_is_only_an_argument_is_not_code() {
    let bench = CallBench::new("");
    bench.write(CATALOG, CallBench::entry("tool", "/bin/sh bin/tool.sh src", ""));
    bench.write("src/data.txt", "1\n");
    let id = bench.approved("{}");
    bench.write("src/data.txt", "2\n");
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn declared_code_is_bound() {
    let bench = CallBench::new("code = [\"lib/**\"]\ndata = [\"lib/data/**\"]");
    bench.write("lib/one.sh", "1\n");
    bench.write("lib/data/rows.txt", "1\n");
    let id = bench.approved("{}");
    bench.write("lib/data/rows.txt", "2\n");
    bench.write("lib/one.sh", "2\n");
    let error = bench.calls.run(&id).unwrap_err();
    let Some(Refusal::Run(refusal)) = error.refusal() else { panic!("{error:?}") };
    assert!(refusal.changed.contains(&"file lib/one.sh".to_owned()), "{refusal:?}");
    // A file that is added to declared code is a change, too.
    bench.write("lib/one.sh", "1\n");
    bench.write("lib/data/rows.txt", "1\n");
    bench.write("lib/new.sh", "1\n");
    refused(&bench, &id, &["file lib/new.sh"]);
}

#[test]
fn the_program_that_path_finds_is_bound() {
    let places = ["one", "two"].map(|text| Programs::new(&[("helper", &format!("#!/bin/sh\n# {text}\n"))]));
    let bench = CallBench::new("");
    bench.write(CATALOG, CallBench::entry("tool", "helper bin/tool.sh", ""));
    let first = bench.with_path(&places[0].path());
    let id = first.approved("{}");
    let error = bench.with_path(&places[1].path()).calls.run(&id).unwrap_err();
    let (was, now) = (places[0].path(), places[1].path());
    let message = format!("the program `helper` was {was}/helper and is {now}/helper, because PATH differs");
    let [reason] = error.blockers() else { panic!("{error:?}") };
    assert_eq!(reason.message, message);
    let Some(Refusal::Run(refusal)) = error.refusal() else { panic!("{error:?}") };
    assert_eq!(refusal.changed, ["program path", "program bytes"]);
    let gone = bench.calls.run(&id).unwrap_err();
    let message = format!(
        "the program `helper` was {was}/helper and is not found now: PATH differs, or it was removed"
    );
    assert_eq!(gone.blockers().iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>(), [message]);
    // A change of PATH before the approval is shown with both programs.
    let queued = first.queue(r#"{"a":1}"#);
    let preview = bench.with_path(&places[1].path()).calls.approve(&queued).unwrap().preview.unwrap();
    assert_eq!(preview.queued_program, Some(format!("{was}/helper")));
    assert!(first.calls.run(&id).unwrap().succeeded, "with the first PATH it runs");
}

#[test]
fn the_code_in_a_command_is_approved_with_it() {
    let bench = CallBench::new("");
    bench.write(CATALOG, CallBench::entry("tool", r#"python3 -c 'print("inline")'"#, ""));
    let id = bench.approved("{}");
    bench.replace(CATALOG, "inline", "other");
    refused(&bench, &id, &["contract"]);
    bench.replace(CATALOG, "other", "inline");
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn the_interpreter_of_a_launcher_is_bound() {
    let helper = "#!/bin/sh\nexec /bin/sh \"$@\"\n";
    for command in ["env helper bin/tool.sh", "first-line"] {
        let programs =
            Programs::new(&[("helper", helper), ("first-line", "#!/usr/bin/env helper\necho ran\n")]);
        let bench = CallBench::new("").with_path(&programs.path());
        bench.write(CATALOG, CallBench::entry("tool", command, ""));
        let id = bench.approved("{}");
        programs.write("helper", "#!/bin/sh\necho evil\n");
        refused(&bench, &id, &[&format!("file {}/helper", programs.path())]);
        programs.write("helper", helper);
        assert!(bench.calls.run(&id).unwrap().succeeded, "{command}");
    }
}

/// Expects that an approval does not count, until a person accepts the records of another host.
#[track_caller]
fn not_approved_here(bench: &CallBench, id: &CallId) {
    let error = bench.calls.run(id).unwrap_err();
    assert!(error.blockers().iter().any(|reason| reason.is(ErrorCode::Status)), "{error:?}");
    assert_eq!(bench.calls.run(RunTarget::Next).unwrap_err().code(), ErrorCode::NothingApproved);
    let call = bench.call(id);
    assert_eq!(
        (call.status, call.review_reason.as_deref()),
        (CallStatus::Pending, Some("not approved on this host"))
    );
    let listed = |status| {
        let filter = CallFilter { status: Some(status), ..CallFilter::default() };
        bench.calls.list(filter).unwrap().into_iter().count()
    };
    assert_eq!((listed(CallStatus::Pending), listed(CallStatus::Approved)), (1, 0));
    let adopt = |step| crate::state::adopt(&bench.context, step).unwrap();
    let shown = adopt(AdoptStep::Show);
    assert_eq!((shown.adopted, shown.records.len()), (false, 1), "{shown:?}");
    assert_eq!(bench.status(id), CallStatus::Pending, "showing accepts nothing");
    assert!(adopt(AdoptStep::Adopt).adopted);
    assert!(bench.calls.run(id).unwrap().succeeded);
}

#[test]
fn only_approvals_with_the_key_of_this_host_count() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    not_approved_here(&bench.with_another_key(), &id);
    for mac in [Json::Null, Json::from("0".repeat(64))] {
        let bench = CallBench::new("");
        let id = bench.approved("{}");
        edit(&bench, &["host_mac"], mac);
        not_approved_here(&bench, &id);
    }
}

#[test]
fn the_mac_of_one_approval_signs_no_other() {
    let bench = CallBench::new("");
    let other = bench.approved(r#"{"n":1}"#);
    let mac_of = |id: &CallId| {
        let text = bench.read(CALLS);
        let line = text.lines().rev().find(|line| line.contains(id.as_str())).unwrap().to_owned();
        Json::parse(&line).unwrap().get("host_mac").unwrap().clone()
    };
    let mac = mac_of(&other);
    let id = bench.approved("{}");
    edit(&bench, &["host_mac"], mac);
    assert_eq!((bench.status(&other), bench.status(&id)), (CallStatus::Approved, CallStatus::Pending));
}
