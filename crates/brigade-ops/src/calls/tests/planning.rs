use brigade_call::OnBlocked;
use brigade_core::{ErrorCode, ErrorKind, Hint, Json};
use brigade_workspace::{CATALOG, POLICY};

use super::{codes, reasons, says};
use crate::report::PlanReport;
use crate::testing::CallBench;
use crate::{ArgsSource, Refusal, Request};

const CALLS: &str = ".brigade/tools/calls.jsonl";

#[track_caller]
fn plan(bench: &CallBench, args: &str) -> PlanReport {
    bench.calls.plan(Request::new("tool").args(ArgsSource::Inline(args.to_owned()))).unwrap()
}

/// Expects a blocker, in the plan and when the call is queued. Nothing is stored.
#[track_caller]
fn blocked(bench: &CallBench, args: &str, code: ErrorCode, text: &str) -> PlanReport {
    let planned = plan(bench, args);
    assert!(!planned.valid);
    says(&planned.blocker_details, code, text);
    assert_eq!(planned.blockers.len(), planned.blocker_details.len());
    let refused =
        bench.calls.queue(Request::new("tool").args(ArgsSource::Inline(args.to_owned()))).unwrap_err();
    assert_eq!((refused.kind(), reasons(&refused)), (ErrorKind::Refused, codes(&planned.blocker_details)));
    let Some(Refusal::Queue { call }) = refused.refusal() else { panic!("{refused:?}") };
    assert_eq!((call.tool_id.as_str(), call.status.as_str()), ("tool", "pending"));
    assert!(!bench.exists(CALLS), "a blocked call is not stored");
    planned
}

#[test]
fn a_plan_writes_nothing() {
    let bench = CallBench::new(r#"argument_template = { a = "--a={a}" }"#);
    let planned = plan(&bench, r#"{"a":"1"}"#);
    assert_eq!((planned.valid, planned.blockers.as_slice()), (true, &[][..]));
    assert_eq!(planned.argv, ["/bin/sh", "bin/tool.sh", "--a=1"]);
    assert!(!bench.exists(".brigade/tools/calls.jsonl") && !bench.exists(".brigade/tools/runs"));
    let id = bench.queue(r#"{"a":"1"}"#);
    assert_eq!(id.as_str(), format!("call-{}", &planned.call_fingerprint.unwrap()[..16]));
}

#[test]
fn an_unknown_tool_is_answered_with_a_near_id() {
    let bench = CallBench::new("");
    let planned = bench.calls.plan(Request::new("tolo")).unwrap_err();
    assert!(matches!(planned.refusal(), Some(Refusal::Plan(report)) if report.call_fingerprint.is_none()));
    let queued = bench.calls.queue(Request::new("tolo").blocked(OnBlocked::Include)).unwrap_err();
    assert!(matches!(queued.refusal(), Some(Refusal::Queue { .. })));
    for error in [planned, queued] {
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (ErrorCode::ToolMissing, "no tool has the id `tolo`")
        );
        assert_eq!(error.hints(), [Hint::did_you_mean("tool")]);
    }
    assert!(!bench.exists(CALLS));
}

#[test]
fn every_violation_of_the_schema_is_reported_at_once() {
    let bench = CallBench::new(r#"argument_template = { path = "{path}", mode = "--mode={mode}" }"#);
    bench.write(
        "schemas/tool.json",
        r#"{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"},
            "mode":{"enum":["a","b"]},"n":{"type":"integer","minimum":3},"tags":{"type":"array","items":{"type":"string"}}}}"#,
    );
    let wrong = r#"{"mode":"c","n":1,"tags":["x",1],"extra":true}"#;
    let planned = blocked(&bench, wrong, ErrorCode::InvalidArgs, "$.path");
    for path in ["$.mode", "$.n", "$.tags[1]", "$.extra"] {
        says(&planned.blocker_details, ErrorCode::InvalidArgs, path);
    }
    assert_eq!(planned.validation_errors.len(), 5);
    blocked(&bench, r#"{"path":NaN}"#, ErrorCode::InvalidArgs, "line 1");
    // A value may be a secret.
    let planned = blocked(&bench, r#"{"path":"a","mode":"canary-4711"}"#, ErrorCode::InvalidArgs, "$.mode");
    assert!(!planned.blockers.concat().contains("canary-4711"));
}

#[test]
fn a_misspelt_argument_is_one_reason_with_its_place() {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    let schema = r#"{"type":"object","required":["path"],"additionalProperties":false,
        "properties":{"path":{"type":"string"}}}"#;
    bench.write("schemas/tool.json", schema);
    for (args, message, hint) in [
        (
            r#"{"pth":"x"}"#,
            "$.pth: additional property not allowed",
            Some("{\"pth\":\"x\"}\n       ^^^\ndid you mean `path`?"),
        ),
        ("{}", "$.path: required", None),
        (r#"{"path": 3}"#, "$.path: expected string", Some("{\"path\": 3}\n         ^")),
    ] {
        let planned = blocked(&bench, args, ErrorCode::InvalidArgs, message);
        let [detail] = planned.blocker_details.as_slice() else { panic!("{planned:#?}") };
        assert_eq!((detail.message.as_str(), detail.hint.as_deref()), (message, hint));
    }
}

#[test]
fn arguments_that_are_not_json_get_an_example() {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    bench.write("schemas/tool.json", r#"{"type":"object","properties":{"path":{"type":"string"}}}"#);
    let planned = blocked(&bench, "path=README.md", ErrorCode::InvalidArgs, "line 1, column 1");
    let hint = r#"arguments are JSON: '{"path":"README.md"}'"#;
    assert_eq!(planned.blocker_details[0].hint.as_deref(), Some(hint));
    let planned = blocked(&bench, "@args.json", ErrorCode::InvalidArgs, "line 1, column 1");
    assert!(planned.blocker_details[0].hint.as_deref().is_some_and(|hint| hint.contains("args.json")));
}

#[test]
fn a_schema_that_cannot_be_used_blocks_the_call() {
    for (schema, code, text) in [
        (None, ErrorCode::MissingInputSchema, "does not exist"),
        (Some("{"), ErrorCode::InvalidInputSchema, "not JSON"),
        (Some(r#"{"type":"object","if":1}"#), ErrorCode::UnsupportedInputSchema, "if"),
        (Some(r#"{"type":"objct"}"#), ErrorCode::UnsupportedInputSchema, "type"),
    ] {
        let bench = CallBench::new("");
        match schema {
            Some(text) => bench.write("schemas/tool.json", text),
            None => bench.remove("schemas/tool.json"),
        }
        blocked(&bench, "{}", code, text);
    }
    let bench = CallBench::new("");
    bench.remove("schemas/tool.json");
    bench.write("schemas/tool.json/file", "");
    blocked(&bench, "{}", ErrorCode::InvalidInputSchema, "schemas/tool.json");
}

#[test]
fn a_fault_in_a_schema_is_placed_in_the_schema() {
    let contradicts = "{\n  \"type\": \"object\",\n  \"properties\": { \"path\": { \"type\": \"string\" } },\n  \
        \"required\": [\"pth\"],\n  \"additionalProperties\": false\n}\n";
    for (schema, line, hint) in [
        (contradicts, 4, Some("did you mean `path`?")),
        ("{\n  \"type\": \"array\"\n}\n", 2, None),
        ("{\n  \"type\": \"object\",\n  \"properties\": { \"a\": { \"oneOf\": [] } }\n}\n", 3, None),
        ("{\n  \"type\": object\n}", 2, None),
        ("{\"type\":\"strng\"}", 1, None),
    ] {
        let bench = CallBench::new("");
        bench.write("schemas/tool.json", schema);
        let planned = plan(&bench, r#"{"path":"x"}"#);
        let [detail] = planned.blocker_details.as_slice() else { panic!("{schema}: {planned:#?}") };
        assert_eq!(
            (detail.file.as_deref(), detail.line),
            (Some("schemas/tool.json"), Some(line)),
            "{schema}"
        );
        if hint.is_some() {
            assert_eq!(detail.hint.as_deref(), hint, "{schema}");
        }
    }
}

#[test]
fn a_denied_effect_names_its_line_in_the_policy() {
    let bench = CallBench::new(r#"effects = ["secret-read", "odd"]"#);
    let planned = blocked(&bench, "{}", ErrorCode::PolicyDeniedEffect, "secret-read");
    assert!(planned.blockers.iter().any(|reason| reason.contains("odd")), "{:?}", planned.blockers);
    for detail in &planned.blocker_details {
        assert_eq!(detail.file.as_deref(), Some(POLICY), "{detail:#?}");
        assert!(detail.line.is_some() && detail.hint.is_some(), "{detail:#?}");
    }
}

#[test]
fn commands_that_cannot_run_are_named_with_their_line() {
    for (command, code, text) in [
        ("sudo /bin/sh bin/tool.sh", ErrorCode::HighRiskCommand, "sudo"),
        ("nosuchprog bin/tool.sh", ErrorCode::ProgramNotFound, "`nosuchprog`"),
        ("./bin/tool.sh", ErrorCode::ProgramNotFound, "`./bin/tool.sh`"),
        ("./bin", ErrorCode::ProgramNotFound, "`./bin`"),
        ("/bin/sh bin/gone.sh", ErrorCode::ScriptNotFound, "`bin/gone.sh`"),
        ("/bin/sh /nowhere/gone.sh", ErrorCode::ScriptNotFound, "`/nowhere/gone.sh`"),
        ("~/bin/x", ErrorCode::ProgramNotFound, "`~/bin/x` is not an executable file"),
        ("/bin/sh 'bin/tool.sh", ErrorCode::InvalidCommand, "command"),
        ("", ErrorCode::MissingCommand, "command"),
    ] {
        let bench = CallBench::new("");
        bench.write(CATALOG, CallBench::entry("tool", command, ""));
        let planned = blocked(&bench, "{}", code, text);
        let place =
            planned.blocker_details.iter().find(|detail| detail.code.as_deref() == Some(code.as_str()));
        let place = place.unwrap();
        assert_eq!(
            (place.file.as_deref(), place.field.as_deref()),
            (Some(CATALOG), Some("command")),
            "{command}"
        );
        assert!(place.line.is_some(), "{command}");
    }
}

#[test]
fn a_policy_with_an_error_blocks_every_call() {
    let good = CallBench::new("").read(POLICY);
    let test = "[[test]]\nfamily = \"mcp\"\neffects = [\"network\"]\nexpect = \"allowed\"\n";
    for (policy, code) in [
        ("allowed_families = [".into(), ErrorCode::PolicyInvalid),
        (b"\xff\xff".to_vec(), ErrorCode::PolicyInvalid),
        ("[commands]\ninline_code = \"refused\"\n".into(), ErrorCode::PolicyInvalid),
        ("[commands]\ninline = \"refuse\"\n".into(), ErrorCode::PolicyInvalid),
        (format!("denied_effects = [\"network\"]\n{test}").into_bytes(), ErrorCode::PolicyTestFailed),
    ] {
        let bench = CallBench::new("");
        bench.write(POLICY, &policy);
        let planned = blocked(&bench, "{}", code, "");
        assert_eq!(planned.blocker_details[0].file.as_deref(), Some(POLICY));
        assert!(planned.policy.enabled && !planned.policy.allowed);
        bench.write(POLICY, &good);
        assert!(plan(&bench, "{}").valid);
    }
    let bench = CallBench::new("");
    bench.remove(POLICY);
    bench.write(&format!("{POLICY}/file"), "");
    assert!(!plan(&bench, "{}").valid, "a directory is not a policy");
}

#[test]
fn without_a_policy_nothing_is_denied() {
    let bench = CallBench::new("");
    bench.remove(POLICY);
    let planned = plan(&bench, "{}");
    assert_eq!((planned.valid, planned.policy.enabled, planned.policy.allowed), (true, false, true));
}

#[test]
fn the_policy_can_refuse_code_in_the_command() {
    let bench = CallBench::new("");
    let command = r#"python3 -c 'print("inline")'"#;
    bench.write(CATALOG, CallBench::entry("tool", command, ""));
    assert!(plan(&bench, "{}").valid);
    bench.write(POLICY, "[commands]\ninline_code = \"refuse\"\n");
    let planned = blocked(&bench, "{}", ErrorCode::PolicyInlineCode, "");
    assert_eq!(planned.blocker_details[0].line, Some(2));
}

#[test]
fn a_broken_entry_does_not_affect_the_others() {
    for broken in [
        "[[tool]]\nid = \"bad\"\nname = \"Bad\"\nfamily = \"scrpt\"\n",
        "[[tool]]\nid = \"bad\"\nname = 3\nfamily = \"script\"\n",
        "[[tool]]\nid = \"bad\"\nname = \"canary-4711\nfamily = \"script\"\n",
        "[[tool]]\nid = \"bad\"\nname = \"Bad\"\nfamily = \"script\"\ntimeout = -1\n",
        "[[tool]]\nname = \"No id\"\nfamily = \"script\"\n",
    ] {
        let bench = CallBench::new("");
        let sound = bench.read(CATALOG);
        for text in [format!("{sound}\n{broken}"), format!("{broken}\n{sound}")] {
            bench.write(CATALOG, text);
            assert!(plan(&bench, "{}").valid, "{broken}");
            let reported = match bench.calls.plan(Request::new("bad")) {
                Ok(report) => {
                    assert!(!report.valid, "{broken}");
                    report.blockers.concat()
                }
                Err(error) => error.to_string(),
            };
            assert!(!reported.contains("canary-4711"), "{reported}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_break_only_their_entry() {
    let bench = CallBench::new("");
    let good = bench.read(CATALOG).into_bytes();
    let bad = &b"\n[[tool]]\nid = \"bad\"\nname = \"\xff\"\nfamily = \"script\"\n"[..];
    bench.write(CATALOG, [&good, bad].concat());
    assert!(plan(&bench, "{}").valid);
    assert!(!bench.calls.plan(Request::new("bad")).is_ok_and(|report| report.valid));
    // A byte order mark is not a part of the text.
    bench.write(CATALOG, [&b"\xef\xbb\xbf"[..], &good].concat());
    assert!(plan(&bench, "{}").valid);
}

#[test]
fn without_a_catalog_a_plan_fails() {
    let bench = CallBench::new("");
    bench.remove(CATALOG);
    let error = bench.calls.plan(Request::new("tool")).unwrap_err();
    assert_eq!(error.hints().first().and_then(Hint::step).map(|step| step.name()), Some("init"), "{error:?}");
    bench.write(&format!("{CATALOG}/file"), "");
    assert!(bench.calls.plan(Request::new("tool")).is_err());
}

#[test]
fn an_entry_under_one_bracket_is_not_called() {
    let bench = CallBench::new("");
    bench.replace(CATALOG, "[[tool]]", "[tool]");
    let planned = blocked(&bench, "{}", ErrorCode::InvalidEntry, "tool: tool: expected a list of tables");
    assert_eq!(planned.blockers.len(), 1);
    bench.write(CATALOG, "tool = [{ id = \"tool\" }, { id = \"other\" }]\nx = \n");
    blocked(&bench, "{}", ErrorCode::InvalidEntry, "");
}

#[test]
fn only_families_with_a_program_are_called() {
    for (family, code, text) in [
        ("slash-command", ErrorCode::FamilyNotExecutable, "are not executed"),
        ("skill", ErrorCode::FamilyNotExecutable, "are not executed"),
        // The policy is not to be blamed for a family that does not exist.
        ("weird", ErrorCode::InvalidEntry, "tool: family: expected one of"),
    ] {
        let bench = CallBench::new(&format!("family = \"{family}\"\n"));
        let planned = blocked(&bench, "{}", code, text);
        assert_eq!(planned.blockers.len(), 1, "{planned:#?}");
    }
}

#[test]
fn a_timeout_is_a_positive_number_of_seconds() {
    for timeout in ["0", "-1", "nan", "inf", "\"5\"", "true"] {
        let bench = CallBench::new(&format!("timeout = {timeout}"));
        blocked(&bench, "{}", ErrorCode::InvalidEntry, "timeout");
    }
    for timeout in ["1e300", "1e18", "99999999999", "0.5"] {
        let bench = CallBench::new(&format!("timeout = {timeout}"));
        bench.remove(POLICY);
        assert!(plan(&bench, "{}").valid, "{timeout}");
    }
    // Without one, the maximum of the policy applies, and five minutes without a policy.
    let bench = CallBench::new("");
    bench.replace(CATALOG, "timeout = 30", "");
    let effective = |bench: &CallBench| plan(bench, "{}").plan.effective_timeout.as_f64();
    assert_eq!(effective(&bench).to_string(), "60");
    bench.remove(POLICY);
    assert_eq!(effective(&bench).to_string(), "300");
    let bench = CallBench::new("timeout = 61");
    blocked(&bench, "{}", ErrorCode::PolicyTimeout, "");
}

#[test]
fn words_are_in_the_order_of_the_templates_names() {
    for template in [r#"{ b = "{b}", a = "{a}" }"#, r#"{ a = "{a}", b = "{b}" }"#] {
        let bench = CallBench::new(&format!("argument_template = {template}"));
        assert_eq!(plan(&bench, r#"{"a":"1","b":"2"}"#).argv, ["/bin/sh", "bin/tool.sh", "1", "2"]);
    }
}

#[test]
fn every_value_is_exactly_one_word() {
    let bench = CallBench::new(
        "argument_template = { a = \"{a}\", b = \"--b={b}\", c = \"{c}{c}\", d = \"x {d} y\" }\n\
         allow_option_values = [\"a\"]",
    );
    bench.write(
        "schemas/tool.json",
        r#"{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{}},"required":["a"]}"#,
    );
    for (args, words) in [
        (r#"{"a": "a b --rm"}"#, &["a b --rm"][..]),
        (r#"{"a": ""}"#, &[""]),
        (r#"{"a": "$(touch evil) ; touch evil | > evil"}"#, &["$(touch evil) ; touch evil | > evil"]),
        (r#"{"a": "-rf", "b": "--"}"#, &["-rf", "--b=--"]),
        (r#"{"a": "*", "c": "{a}", "d": "{b}"}"#, &["*", "{a}{a}", "x {b} y"]),
        (r#"{"a": true, "b": null, "d": ["x y", 1]}"#, &["true", "--b=", "x [\"x y\",1] y"]),
        (r#"{"a": {"b": "\"", "a": [null]}}"#, &["{\"a\":[null],\"b\":\"\\\"\"}"]),
        (
            r#"{"a": 0.10, "b": 123456789012345678901234567890}"#,
            &["0.10", "--b=123456789012345678901234567890"],
        ),
    ] {
        let planned = plan(&bench, args);
        assert_eq!(planned.blockers, [""; 0], "{args}");
        assert_eq!(planned.argv[2..], *words, "{args}");
    }
    blocked(&bench, r#"{"a":"x\u0000y"}"#, ErrorCode::InvalidArgs, "cannot be passed");
}

#[test]
fn a_command_is_split_as_posix_says() {
    let bench = CallBench::new("");
    bench.write(
        CATALOG,
        CallBench::entry("tool", r#"/bin/sh bin/tool.sh "a b" 'c"d' e\ f "" $HOME *.md"#, ""),
    );
    assert_eq!(plan(&bench, "{}").argv[2..], ["a b", "c\"d", "e f", "", "$HOME", "*.md"]);
}

#[test]
fn the_working_directory_must_be_one() {
    let bench = CallBench::new("cwd = \"docs/../bin\"");
    bench.replace(CATALOG, "/bin/sh bin/tool.sh", "/bin/sh tool.sh");
    assert!(plan(&bench, "{}").valid);
    for cwd in ["nowhere", "docs/tool.md"] {
        bench.write(CATALOG, CallBench::entry("tool", "/bin/sh tool.sh", &format!("cwd = \"{cwd}\"")));
        blocked(&bench, "{}", ErrorCode::MissingCwd, "cwd");
    }
}

#[test]
fn a_projection_that_was_edited_blocks_the_call() {
    let bench = CallBench::new(
        "supported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/commands/tool.md\" }\n",
    );
    assert!(plan(&bench, "{}").valid);
    bench.write(".claude/commands/tool.md", "mine\n");
    let planned = blocked(&bench, "{}", ErrorCode::Projection, ".claude/commands/tool.md");
    let [row] = planned.projection_blockers.as_slice() else { panic!("{planned:#?}") };
    assert!(row.expected_fingerprint.is_some() && row.expected_projection_fingerprint.is_some(), "{row:#?}");
}

#[test]
fn a_secret_in_the_arguments_is_not_shown() {
    let bench = CallBench::new("");
    for secret in [r#"{"password":"EXAMPLE-canary-1"}"#, r#"{"a":"canary/value+4711"}"#] {
        let planned = blocked(&bench, secret, ErrorCode::SecretArgument, "");
        let refused = bench.calls.queue(CallBench::request(secret).blocked(OnBlocked::Include)).unwrap_err();
        let reported = format!("{planned:?}{refused:?}");
        assert!(!reported.contains("EXAMPLE-canary") && !reported.contains("canary/value"), "{reported}");
        assert!(!bench.exists(CALLS), "a secret is never stored");
    }
}

#[test]
fn arguments_come_from_one_place() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    bench.write("schemas/tool.json", r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    bench.write("args.json", "\u{feff}{\"a\": \"1\"}\n");
    bench.write("broken.json", "{\n  \"a\": canary-4711}");
    bench.write("bytes.json", b"{\"a\":\"\xff\"}");
    let file = |name: &str| ArgsSource::File(format!("/memory/{name}").into());
    let reported = |source: ArgsSource| {
        let report = bench.calls.plan(Request::new("tool").args(source)).unwrap();
        report.blocker_details.iter().map(|detail| detail.message.clone()).collect::<Vec<_>>().join("\n")
    };
    for source in [
        file("args.json"),
        ArgsSource::None,
        ArgsSource::StandardInput("{}".to_owned()),
        ArgsSource::Value(Json::parse("{}").unwrap()),
    ] {
        assert_eq!(reported(source), "");
    }
    for (source, text) in [
        (ArgsSource::Both, "inline and in a file"),
        (file("nothing.json"), "cannot be read"),
        (file("broken.json"), "broken.json, line 2"),
        (file("bytes.json"), "bytes.json"),
        (file("docs"), "it is not a file"),
        (ArgsSource::StandardInput("{\"a\": 1,\n  }".to_owned()), "standard input, line 2, column 3"),
        (ArgsSource::Inline("{\"a\": 1,\n  }".to_owned()), "the arguments, line 2, column 3"),
    ] {
        let reported = reported(source);
        assert!(reported.contains(text) && !reported.contains("canary-4711"), "{text}: {reported}");
    }
}

#[test]
fn one_argument_of_a_request_replaces_no_other() {
    let request = Request::new("tool").arg("a", "1").arg("b", 2);
    assert_eq!(request.args, ArgsSource::Value(Json::parse(r#"{"a":"1","b":2}"#).unwrap()));
    // Arguments that are not an object are dropped.
    let request = Request::new("tool").args(ArgsSource::Both).arg("a", "1");
    assert_eq!(request.args, ArgsSource::Value(Json::parse(r#"{"a":"1"}"#).unwrap()));
}

#[test]
fn the_policy_can_refuse_undeclared_code() {
    let bench = CallBench::new("");
    bench.write(CATALOG, CallBench::entry("tool", "python3 -B -m pkg", ""));
    bench.write("pkg/__main__.py", "print('one')\n");
    let reported = plan(&bench, "{}").bound_code;
    let notes: Vec<&str> = reported.notes.iter().map(|note| note.code.as_str()).collect();
    assert_eq!((reported.may_also_load.to_string().as_str(), notes), ("workspace", vec!["undeclared_code"]));
    bench.add(POLICY, "[commands]\nundeclared_code = \"refuse\"\n");
    let planned = blocked(&bench, "{}", ErrorCode::UndeclaredCode, "");
    let hint = planned.blocker_details[0].hint.as_deref().unwrap();
    assert!(hint.contains("code = [\"pkg/**\"]") && hint.contains("closed"), "{hint}");
    bench.replace(CATALOG, "timeout = 30", "timeout = 30\ncode = [\"pkg/**\"]");
    assert!(plan(&bench, "{}").valid);
    bench.replace(CATALOG, "\ncode = [\"pkg/**\"]", "");
    bench.add(POLICY, "[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n");
    let closed = plan(&bench, "{}");
    assert_eq!((closed.valid, closed.bound_code.may_also_load.to_string().as_str()), (true, "nothing"));
    bench.replace(POLICY, "undeclared_code = \"refuse\"", "undeclared_code = \"never\"");
    assert_eq!(codes(&plan(&bench, "{}").blocker_details), ["policy_invalid"]);
}

#[test]
fn a_path_that_cannot_be_bound_is_a_reason() {
    let bench = CallBench::new("");
    bench.write(CATALOG, CallBench::entry("tool", "/bin/sh /proc/self/cwd/bin/tool.sh", ""));
    assert_eq!(codes(&plan(&bench, "{}").blocker_details), ["script_not_found", "code_not_bound"]);
}

#[test]
fn words_for_a_shell_are_warned_about() {
    let bench = CallBench::new("");
    for (command, is_warned) in [
        ("/bin/sh bin/tool.sh", false),
        ("/bin/sh bin/tool.sh > out.txt", true),
        ("/bin/sh bin/tool.sh | sort", true),
        // A program may take these words as they are.
        ("/bin/sh bin/tool.sh $HOME *.md", false),
    ] {
        bench.write(CATALOG, CallBench::entry("tool", command, ""));
        let planned = plan(&bench, "{}");
        assert_eq!(!planned.warnings.is_empty(), is_warned, "{command}: {:?}", planned.warnings);
    }
}

#[test]
fn too_long_arguments_are_refused_in_few_words() {
    let bench = CallBench::new("argument_template = { a = \"{a}\" }");
    for (size, is_too_long) in [(131_071, false), (131_072, true), (3_000_000, true)] {
        let args = format!(r#"{{"a":"{}"}}"#, "x".repeat(size));
        let planned = bench.calls.plan(CallBench::request(&args)).unwrap();
        let expect: &[&str] = if is_too_long { &["arguments_too_long"] } else { &[] };
        assert_eq!(codes(&planned.blocker_details), expect, "{size}");
        assert!(planned.blockers.concat().len() < 1_000);
    }
}

#[test]
fn a_plan_names_only_what_is_wrong() {
    let bench = CallBench::new("argument_template = { a = \"{a}\" }");
    // Without arguments, those that the template needs are not known to be missing.
    for source in [ArgsSource::File("/memory/nofile.json".into()), ArgsSource::Inline("{".to_owned())] {
        let planned = bench.calls.plan(Request::new("tool").args(source)).unwrap();
        assert_eq!(codes(&planned.blocker_details), ["invalid_args"]);
    }
    bench.add(CATALOG, "[[tool]]\nname = \"nobody\"\nfamily = \"script\"\n");
    bench.add(CATALOG, &CallBench::entry("odd", "/bin/sh bin/tool.sh", "family = \"weird\"\n"));
    let planned = bench.calls.plan(Request::new("odd")).unwrap();
    assert_eq!(codes(&planned.blocker_details), ["invalid_entry"], "{planned:#?}");
}

#[test]
fn no_form_of_a_bound_value_is_an_argument() {
    // The tool does not use the label, but the policy binds the value.
    let bench = CallBench::new("argument_template = { a = \"{a}\" }");
    let hex: String = "canary/value+4711".bytes().map(|byte| format!("{byte:02x}")).collect();
    for given in ["x canary/value+4711 y", "Y2FuYXJ5L3ZhbHVlKzQ3MTE=", &hex, "canary%2Fvalue%2B4711"] {
        let args = format!(r#"{{"a":"{given}"}}"#);
        let planned = bench.calls.plan(CallBench::request(&args)).unwrap();
        assert_eq!(codes(&planned.blocker_details), ["secret_argument"], "{given}");
        let queued = bench.calls.queue(CallBench::request(&args).blocked(OnBlocked::Include)).unwrap_err();
        assert_eq!(reasons(&queued), ["secret_argument"], "{given}");
        assert!(!format!("{planned:?}{queued:?}").contains(given), "{given}");
    }
    assert!(!bench.exists(CALLS));
}
