mod arguments;

use brigade_core::{Hint, JsonError, JsonErrorKind, NextStep};
use brigade_redact::SecretValue;

use super::*;
use crate::Caller;
use crate::call::Call;
use crate::cases::{Case, POLICY, json, mark, schema};

/// Checks the code and the subject of every reason against a call with one change.
#[track_caller]
fn check(change: impl FnOnce(&mut Case), expect: &[(&str, &str)]) {
    let mut case = Case::new();
    change(&mut case);
    check_case(&case, expect);
}

#[track_caller]
fn check_case(case: &Case, expect: &[(&str, &str)]) {
    let plan = case.plan();
    let found: Vec<(&str, &str)> = plan
        .blockers()
        .iter()
        .map(|blocker| (&*blocker.code, blocker.field.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(found, expect, "{:#?}", plan.blockers());
}

/// Checks that the arguments at these places are refused as secrets, and that the plan does not show this text.
#[track_caller]
fn check_secret(change: impl FnOnce(&mut Case), secret: &str, expect: &[(&str, &str)]) {
    let mut case = Case::new();
    case.input_schema = schema(r#"{"type":"object"}"#);
    change(&mut case);
    check_case(&case, expect);
    let plan = case.plan();
    assert!(plan.holds_secret());
    let shown = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        plan.summary(),
        plan.args(),
        plan.arguments(),
        plan.command(),
        plan.contract(),
        plan.blockers(),
        plan.shown_argv()
    );
    assert!(!shown.contains(secret), "{shown}");
}

#[test]
fn the_example_call_has_no_blockers() {
    check(|_| (), &[]);
    check_case(&Case::mcp(), &[]);
    let plan = Case::new().plan();
    assert_eq!(plan.shown_argv(), ["sh", "bin/greet.sh", "Ada"]);
    assert!(plan.is_executable() && !plan.holds_secret() && plan.violations().is_empty());
    // A server gets its arguments in a message, not on the command line.
    assert_eq!(Case::mcp().plan().shown_argv(), ["sh", "bin/greet.sh"]);
}

#[test]
fn command_words_are_shown_as_in_the_entry() {
    let mut case = Case::new();
    case.set("command", "\"printf 'token: %s\\\\n'\"");
    assert_eq!(case.plan().shown_argv(), ["printf", "token: %s\\n", "Ada"]);
}

#[test]
fn families_that_are_not_executed_block_the_plan() {
    for family in [
        Family::Skill,
        Family::SlashCommand,
        Family::Superpower,
        Family::Openapi,
        Family::Graphql,
        Family::Custom,
    ] {
        let family = family.as_str();
        let mut case = Case::new();
        case.set("family", &format!("'{family}'"));
        case.policy = case.policy.replace("'script'", &format!("'{family}'"));
        case.program = ProgramFact::NotExecuted;
        check_case(&case, &[("family_not_executable", "family")]);
        let plan = case.plan();
        let step = NextStep::PlanProjections("greet".to_owned());
        assert_eq!(plan.blockers()[0].hint.iter().flat_map(Hint::steps).collect::<Vec<_>>(), [&step]);
        let pending = Call { blockers: Vec::new(), ..case.queued() };
        assert_eq!(plan.approvable(&pending).unwrap_err()[0].code, "family_not_executable");
    }
}

#[test]
fn tools_that_are_not_executed_have_one_reason() {
    let without = |fields: &[(&str, &str)]| {
        let mut case = Case::new();
        for field in ["command", "input_schema_path", "approval_mode", "argument_template"] {
            case.set(field, "");
        }
        for (field, value) in fields {
            case.set(field, value);
        }
        case.program = ProgramFact::NotExecuted;
        case.input_schema = SchemaFact::File(FileFact::NotNamed);
        case
    };
    let only = [("family_not_executable", "family")];
    check_case(&without(&[("family", "'skill'")]), &only);
    let harness = without(&[("family", "'custom'"), ("source", "{ kind = 'harness', provider = 'claude' }")]);
    check_case(&harness, &only);
    let plan = harness.plan();
    let reason = &plan.blockers()[0];
    assert_eq!(reason.message, "only the harness `claude` runs this tool");
    let step = NextStep::ShowTool("greet".to_owned());
    assert_eq!(reason.hint.iter().flat_map(Hint::steps).collect::<Vec<_>>(), [&step]);
    // A policy can deny this for every tool.
    let mut denied = without(&[("family", "'skill'")]);
    denied.policy.push_str("denied_effects = ['local-read']\n");
    check_case(&denied, &[("family_not_executable", "family"), ("policy_denied_effect", "denied_effects")]);
}

#[test]
fn a_tilde_in_the_command_is_not_expanded() {
    let mut case = Case::new();
    case.set("command", "'~/bin/greet.sh'");
    case.program = ProgramFact::NotFound;
    check_case(&case, &[("program_not_found", "command")]);
    let hint = case.plan().blockers()[0].hint.as_ref().unwrap().to_string();
    assert_eq!(hint, "no shell expands `~`; write `/home/ann/bin/greet.sh`");
}

#[test]
fn an_entry_with_errors_blocks_with_each_of_them() {
    check(|case| case.set("timeout", "'soon'"), &[("invalid_entry", "timeout")]);
    check(
        |case| {
            case.set("timeout", "'soon'");
            case.set("cwd", "7");
        },
        &[("invalid_entry", "timeout"), ("invalid_entry", "cwd")],
    );
}

#[test]
fn one_slip_in_an_entry_is_one_reason() {
    // The policy requires a mode, and an entry that cannot be read has none.
    check(|case| case.set("approval_mode", "'onrequest'"), &[("invalid_entry", "approval_mode")]);
    check(|case| case.set("family", "'scripts'"), &[("invalid_entry", "family")]);
    // Reasons that no error hides are reported with it.
    check(
        |case| {
            case.set("cwd", "7");
            case.set("approval_mode", "'never'");
        },
        &[("invalid_entry", "cwd"), ("policy_approval_mode", "required_approval_modes")],
    );
    // A misspelt key is reported with its line.
    let mut case = Case::new();
    case.entry = case.entry.replace("command =", "comand =");
    case.program = ProgramFact::NotExecuted;
    check_case(&case, &[("missing_command", "command")]);
    let plan = case.plan();
    let reason = &plan.blockers()[0];
    assert_eq!(reason.hint.as_ref().unwrap().to_string(), "`comand` is not known; did you mean `command`?");
    let line = case.entry.lines().position(|line| line.starts_with("comand")).unwrap() + 3;
    assert_eq!(reason.place.as_ref().unwrap().line, Some(line));
}

#[test]
fn an_auth_label_is_a_name() {
    check(|case| case.set("auth_label", "'local-user'"), &[]);
    check(|case| case.set("auth_label", "'TOKEN=EXAMPLE'"), &[("unsafe_auth_label", "auth_label")]);
}

#[test]
fn arguments_are_one_object() {
    let not_json = |file: Option<&str>| ArgsProblem::NotJson {
        file: file.map(str::to_owned),
        error: JsonError { line: 3, column: 7, kind: JsonErrorKind::ExpectedValue },
        text: None,
    };
    for (args, place) in [
        (Ok(json("[1]")), None),
        (Ok(json("null")), None),
        (Err(ArgsProblem::GivenTwice), None),
        (Err(ArgsProblem::Unreadable { why: "permission denied".to_owned(), meant: None }), None),
        (Err(not_json(None)), None),
        (Err(not_json(Some("args.json"))), Some(Place::at("args.json", 3, 7))),
    ] {
        let case = Case { args, ..Case::new() };
        // Unreadable arguments are not checked further.
        check_case(&case, &[("invalid_args", "args")]);
        assert_eq!(case.plan().blockers()[0].place, place);
        assert_eq!(case.plan().args(), &json("{}"));
    }
}

#[test]
fn every_violation_of_the_schema_is_a_reason() {
    let typed = schema(
        r#"{"type":"object","required":["name"],"additionalProperties":false,
            "properties":{"name":{"type":"string"},"n":{"type":"integer","minimum":3}}}"#,
    );
    let with = |args: &str, expect: &[(&str, &str)]| {
        let mut case = Case { input_schema: typed.clone(), ..Case::new() };
        case.args(args);
        check_case(&case, expect);
        let violations = expect.iter().filter(|(code, _)| *code == "invalid_args").count();
        assert_eq!(case.plan().violations().len(), violations);
    };
    with(r#"{"name":"a","n":3}"#, &[]);
    with(r#"{"name":"a","n":2.5,"x":1}"#, &[("invalid_args", "$.x"), ("invalid_args", "$.n")]);
    // The argument that the template lacks is the same mistake.
    with("{}", &[("invalid_args", "$.name")]);
}

#[test]
fn a_violation_shows_no_value_and_no_secret_key() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let mut case = Case::new();
    case.input_schema =
        schema(r#"{"type":"object","additionalProperties":false,"properties":{"name":{"enum":["a"]}}}"#);
    case.args(&format!(r#"{{"name":"EXAMPLE-value","{token}":1}}"#));
    let plan = case.plan();
    let shown = format!("{:?} {:?}", plan.blockers(), plan.violations());
    assert!(!shown.contains("EXAMPLE-value") && !shown.contains(&token), "{shown}");
}

#[test]
fn an_input_schema_must_be_there_and_be_understood() {
    let field = "input_schema_path";
    let error = JsonError { line: 1, column: 1, kind: JsonErrorKind::ExpectedValue };
    for (fact, expect) in [
        (SchemaFact::File(FileFact::NotNamed), &[("missing_input_schema", field)][..]),
        (SchemaFact::File(FileFact::Missing), &[("missing_input_schema", field)]),
        (SchemaFact::File(FileFact::Unreadable("no".to_owned())), &[("invalid_input_schema", field)]),
        (SchemaFact::File(FileFact::Outside), &[("path_outside", field)]),
        (SchemaFact::NotJson(error), &[("invalid_input_schema", field)]),
        (
            schema(r#"{"type":"object","if":1,"properties":{"a":{"not":[]}}}"#),
            &[("unsupported_input_schema", field), ("unsupported_input_schema", field)],
        ),
        (schema(r#"{"type":"array"}"#), &[("unsupported_input_schema", field)]),
    ] {
        // The required arguments are unknown, so none is reported as missing.
        let mut case = Case { input_schema: fact, ..Case::new() };
        case.args("{}");
        check_case(&case, expect);
    }
}

#[test]
fn unchecked_arguments_are_for_a_person() {
    let input_schema = schema(r#"{"type":"object","properties":{"name":{"$ref":"a.json"}}}"#);
    let mut case = Case { input_schema, ..Case::new() };
    case.args(r#"{"name":"a"}"#);
    check_case(&case, &[]);
    let expect = "arguments not checked: remote $ref at #/properties/name";
    assert_eq!((case.plan().for_person(), case.plan().unchecked()), (Some(expect), Some(expect)));
}

#[test]
fn secrets_in_arguments_are_refused() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let secret = |field| ("secret_argument", field);
    check_secret(
        |case| case.args(r#"{"name":"x","password":"EXAMPLE-1"}"#),
        "EXAMPLE-1",
        &[secret("$.password")],
    );
    check_secret(|case| case.args(&format!(r#"{{"name":"{token}"}}"#)), &token, &[secret("$.name")]);
    check_secret(
        |case| case.args(&format!(r#"{{"name":"x","list":[{{"y":"{token}"}}]}}"#)),
        &token,
        &[secret("$.list[0].y")],
    );
}

#[test]
fn an_argument_carries_no_bound_value_in_any_form() {
    for args in [
        r#"{"name":"bound-EXAMPLE-4711"}"#,
        r#"{"name":"it is bound-EXAMPLE-4711."}"#,
        r#"{"name":{"deep":["bound-EXAMPLE-4711"]}}"#,
        // In base64.
        r#"{"name":"Ym91bmQtRVhBTVBMRS00NzEx"}"#,
    ] {
        check_secret(|case| case.args(args), "EXAMPLE-4711", &[("secret_argument", "$.name")]);
    }
    // A short value also occurs in harmless texts.
    check(|case| case.bound_values = vec![SecretValue::new(b"Ad")], &[]);
}

/// Checks that a template makes a secret of an argument, in the command line of `curl -u`, and names the template.
#[track_caller]
fn check_rendered(template: &str, args: &str, field: &str) {
    check_secret(
        |case| {
            case.set("command", "'curl -u'");
            case.set("argument_template", &format!("{{ {template} }}"));
            case.args(args);
        },
        "hunter2-4711",
        &[("secret_argument", field)],
    );
}

#[test]
fn secrets_in_rendered_words_are_refused() {
    check_rendered("a = '--token={x}'", r#"{"x":"hunter2-4711"}"#, "argument_template.a");
    check_rendered("token = '{x}'", r#"{"x":"hunter2-4711"}"#, "argument_template.token");
    check_rendered("a = '{x}'", r#"{"x":"bob:hunter2-4711"}"#, "argument_template.a");
    check_rendered("a = '--user={x}:{y}'", r#"{"x":"bob","y":"hunter2-4711"}"#, "argument_template.a");
    check_rendered("a = '-H', b = 'X-Auth-Token: {x}'", r#"{"x":"hunter2-4711"}"#, "argument_template.b");
    check_rendered("tokens = '{x}'", r#"{"x":"x7-hunter2-4711"}"#, "argument_template.tokens");
    // A text that would be shown masked must not be stored; issue 15.
    check_rendered("a = '--pw={x}'", r#"{"x":"hunter2-4711"}"#, "argument_template.a");
    check_rendered("a = '-', b = '-u', c = 'me:{x}'", r#"{"x":"hunter2-4711"}"#, "argument_template.c");
    // For an MCP tool, nothing is appended to the command.
    let mut case = Case::mcp();
    case.set("command", "'curl -u'");
    case.set("argument_template", "{ a = 'me:{name}' }");
    check_case(&case, &[]);
}

#[test]
fn words_that_only_sound_like_secrets_are_arguments() {
    check(
        |case| {
            case.set(
                "argument_template",
                "{ mode = '--auth={auth}', tokens = '{tokens}', author = '{author}' }",
            );
            case.input_schema = schema(r#"{"type":"object"}"#);
            case.args(r#"{"auth":"oauth2","tokens":"4096","author":"bob1234567"}"#);
        },
        &[],
    );
}

#[test]
fn redacted_arguments_are_refused() {
    for args in [
        r#"{"name":"[redacted]"}"#,
        r#"{"name":"a [redacted] b"}"#,
        r#"{"name":"x","more":[{"deep":"[redacted]"}]}"#,
    ] {
        check(|case| case.args(args), &[("redacted_argument", "args")]);
    }
}

#[test]
fn templates_need_all_required_arguments() {
    let optional = r#"{"type":"object","properties":{"name":{"type":"string"},"mode":{"type":"string"}}}"#;
    check(
        |case| case.set("argument_template", "{ name = '{name}', other = '{other}-{more}' }"),
        &[
            ("missing_template_argument", "argument_template.other"),
            ("missing_template_argument", "argument_template.other"),
        ],
    );
    check(
        |case| {
            case.set("argument_template", "{ name = '{name}', mode = '--mode={mode}' }");
            case.input_schema = schema(optional);
        },
        &[],
    );
}

#[test]
fn a_command_is_there_and_can_be_split() {
    check(|case| case.set("command", ""), &[("missing_command", "command")]);
    check(|case| case.set("command", "''"), &[("missing_command", "command")]);
    check(|case| case.set("command", "\"sh 'bin\""), &[("invalid_command", "command")]);
}

#[test]
fn a_command_line_is_one_that_the_system_takes() {
    check(|case| case.args(r#"{"name":"a\u0000b"}"#), &[("invalid_args", "argument_template.name")]);
    let long = |length: usize| format!(r#"{{"name":"{}"}}"#, "a b ".repeat(length / 4));
    check(|case| case.args(&long(100_000)), &[]);
    check(|case| case.args(&long(140_000)), &[("arguments_too_long", "args")]);
    let mut case = Case::mcp();
    case.args(&long(140_000));
    check_case(&case, &[]);
}

#[test]
fn a_command_that_hides_what_it_runs_is_refused() {
    for command in ["sudo sh bin/greet.sh", "sh -c true", "rm -rf /", "env sh -c true", "find . -delete"] {
        let mut case = Case::new();
        case.set("command", &format!("'{command}'"));
        let plan = case.plan();
        let codes: BTreeSet<&str> = plan.blockers().iter().map(|blocker| &*blocker.code).collect();
        assert_eq!(codes, BTreeSet::from(["high_risk_command"]), "{command}");
    }
}

#[test]
fn inline_code_is_allowed_only_in_a_reviewed_command() {
    let codes = |command: &str, policy: &str| {
        let mut case = Case::new();
        case.set("command", &format!("\"{command}\""));
        case.policy.push_str(policy);
        let plan = case.plan();
        let codes: BTreeSet<String> =
            plan.blockers().iter().map(|blocker| blocker.code.to_string()).collect();
        codes.into_iter().collect::<Vec<_>>()
    };
    // The argument `name` follows the command.
    for command in
        ["python3 -c 'print(1)'", "node -e 1", "env A=1 perl -e 1", "ruby -e1", "python3 -cprint()"]
    {
        assert_eq!(codes(command, ""), [""; 0], "{command}");
        assert_eq!(codes(command, "[commands]\ninline_code = 'allow'\n"), [""; 0], "{command}");
        assert_eq!(
            codes(command, "[commands]\ninline_code = 'refuse'\n"),
            ["policy_inline_code"],
            "{command}"
        );
    }
    for command in [
        "python3 -c",
        "env python3 -Ic",
        "node -pe",
        "deno eval",
        "perl -e 1 -e",
        "node -p -e",
        "perl -de",
        "env -- a=1 python3 -c",
    ] {
        assert_eq!(codes(command, ""), ["high_risk_command"], "{command}");
    }
    for command in ["bash -c true", "awk 'BEGIN { system(1) }'", "make --eval=x"] {
        assert_eq!(codes(command, ""), ["high_risk_command"], "{command}");
    }
}

#[test]
fn secrets_in_the_catalog_are_refused() {
    let secret = "hunter2-EXAMPLE";
    check_secret(
        |case| case.set("command", "'sh bin/greet.sh --token=hunter2-EXAMPLE'"),
        secret,
        &[("secret_in_catalog", "command")],
    );
    for (key, value, field) in [
        ("command", "'sh bin/greet.sh https://bob:hunter2-EXAMPLE@localhost:1/x'", "command"),
        ("command", "'sh bin/greet.sh -ubob:hunter2-EXAMPLE https://example.com'", "command"),
        ("permissions", "['read', 'token=hunter2-EXAMPLE']", "permissions[2]"),
        ("mcp_server_id", "'https://u:hunter2-EXAMPLE@h'", "mcp_server_id"),
    ] {
        check_secret(|case| case.set(key, value), secret, &[("secret_in_catalog", field)]);
    }
    // A secret in the catalog is not refused a second time as an argument.
    check_secret(
        |case| case.set("argument_template", "{ token = '--token=hunter2-EXAMPLE' }"),
        secret,
        &[("secret_in_catalog", "argument_template.token")],
    );
}

#[test]
fn a_program_must_be_there_and_readable() {
    let gone = ("program_not_found", "command");
    check(|case| case.program = ProgramFact::NotFound, &[gone]);
    check(|case| case.program = ProgramFact::Unreadable("permission denied".to_owned()), &[gone]);
    // The program of a family that is not executed is not searched.
    check(
        |case| {
            case.set("family", "'skill'");
            case.program = ProgramFact::NotExecuted;
        },
        &[("family_not_executable", "family")],
    );
}

#[test]
fn the_directory_must_be_there() {
    check(|case| case.directory = DirectoryFact::Missing, &[("missing_cwd", "cwd")]);
    // Without its directory, the program was not searched.
    for (directory, code) in
        [(DirectoryFact::Missing, "missing_cwd"), (DirectoryFact::Outside, "path_outside")]
    {
        let case = Case { directory, program: ProgramFact::NotFound, ..Case::new() };
        check_case(&case, &[(code, "cwd")]);
    }
}

#[test]
fn every_path_that_leads_out_is_named_once() {
    check(
        |case| {
            case.input_schema = SchemaFact::File(FileFact::Outside);
            case.output_schema = FileFact::Outside;
            case.examples = FileFact::Outside;
            case.source = FileFact::Outside;
            case.directory = DirectoryFact::Outside;
            case.outside = vec!["manifest_path", "cwd"];
        },
        &[
            ("path_outside", "cwd"),
            ("path_outside", "examples_path"),
            ("path_outside", "input_schema_path"),
            ("path_outside", "manifest_path"),
            ("path_outside", "output_schema_path"),
            ("path_outside", "source_path"),
        ],
    );
    // Other missing files are issues of the doctor, but do not block the call.
    check(
        |case| {
            case.output_schema = FileFact::Missing;
            case.examples = FileFact::Unreadable("no".to_owned());
            case.source = FileFact::Missing;
        },
        &[],
    );
}

#[test]
fn policy_refusals_name_their_line() {
    check(
        |case| case.policy.push_str("denied_effects = ['local-read']\n"),
        &[("policy_denied_effect", "denied_effects")],
    );
    check(|case| case.variables.clear(), &[("policy_env_missing", "env_bindings")]);
    let mut case = Case::new();
    case.policy = "allowed_families = 7".to_owned();
    let plan = case.plan();
    let [blocker] = plan.blockers() else { panic!("{:#?}", plan.blockers()) };
    assert_eq!((&*blocker.code, &blocker.place.as_ref().unwrap().file[..]), ("policy_invalid", POLICY));
}

#[test]
fn projections_can_speak_against_a_call() {
    let conflict = Blocker::new(ErrorCode::Projection, "x").field("projections.claude");
    check(|case| case.projections = vec![conflict], &[("projection", "projections.claude")]);
}

#[test]
fn all_reasons_come_at_once_and_in_one_order() {
    check(
        |case| {
            case.set("auth_label", "'TOKEN=EXAMPLE'");
            case.set("command", "'sudo sh'");
            case.set("argument_template", "{ name = '{name}', other = '{other}' }");
            case.args(r#"{"password":"EXAMPLE-1","more":"[redacted]"}"#);
            case.program = ProgramFact::NotFound;
            case.source = FileFact::Outside;
            case.projections = vec![Blocker::new(ErrorCode::Projection, "x")];
            case.policy.push_str("denied_effects = ['local-read']\n");
        },
        &[
            ("unsafe_auth_label", "auth_label"),
            ("invalid_args", "$.name"),
            ("secret_argument", "$.password"),
            ("redacted_argument", "args"),
            ("missing_template_argument", "argument_template.other"),
            ("high_risk_command", "command"),
            ("program_not_found", "command"),
            ("path_outside", "source_path"),
            ("projection", ""),
            ("policy_denied_effect", "denied_effects"),
        ],
    );
}

#[test]
fn the_call_fingerprint_covers_the_request() {
    let fingerprint = |change: fn(&mut Case)| {
        let mut case = Case::new();
        change(&mut case);
        case.plan().call_fingerprint()
    };
    let first = fingerprint(|_| ());
    let same: [fn(&mut Case); 5] = [
        |case| case.policy.push_str("max_timeout = 60\n"),
        |case| case.caller = Caller::Program("agent".to_owned()),
        |case| case.files.clear(),
        |case| case.projections_mark = mark("else"),
        |case| case.set("description", "'Says hello'"),
    ];
    let others: [fn(&mut Case); 5] = [
        |case| case.args(r#"{"name":"Bob"}"#),
        |case| case.source = FileFact::Missing,
        |case| case.set("timeout", "9"),
        |case| case.set("command", "'sh bin/other.sh'"),
        |case| case.output_schema = FileFact::Present(mark("output")),
    ];
    assert!(same.iter().all(|change| fingerprint(*change) == first));
    assert!(others.iter().all(|change| fingerprint(*change) != first));
}

#[test]
fn an_argument_opens_no_code_of_a_closed_workspace() {
    let closed = |word: &str, cwd: &str| {
        let mut case = Case::new();
        case.policy.push_str("[sandbox]\nmode = 'enforce'\nreads = 'closed'\n");
        case.set("argument_template", "{ name = '--in={name}' }");
        case.set("cwd", cwd);
        case.args(&format!("{{\"name\": \"{word}\"}}"));
        case
    };
    let refused: &[(&str, &str)] = &[("argument_opens_code", "args.name")];
    for word in [".", "bin", "./bin/", "/work", "/work/bin", "sub/.."] {
        check_case(&closed(word, "''"), refused);
    }
    check_case(&closed("..", "'sub'"), refused);
    for word in ["bin/greet.sh", "docs", "Ada", "..", "/etc", "binary", "bin/list.csv", "docs/a.sh"] {
        check_case(&closed(word, "''"), &[]);
    }
    let mut python = closed("bin/json.py", "''");
    check_case(&python, &[]);
    python.files.insert("bin/x.py".to_owned(), mark("x"));
    check_case(&python, refused);
    let mut open = closed("bin", "''");
    open.policy = open.policy.replace("'closed'", "'workspace'");
    check_case(&open, &[]);
    let bound = |case: &Case| case.plan().binding().policy;
    assert_ne!(bound(&open), bound(&closed("bin", "''")));
}

#[test]
fn reads_are_open_unless_the_workspace_is_closed() {
    let check = |sandbox: &str, expect: bool| {
        let mut case = Case::new();
        case.policy.push_str(sandbox);
        let open = crate::is_open(case.plan().decision(), "/work".as_ref(), Some("/home/ann".as_ref()));
        assert_eq!(open, expect, "{sandbox}");
    };
    check("", true);
    check("[sandbox]\nmode = 'enforce'\n", true);
    let closed = |more: &str| format!("[sandbox]\nmode = 'enforce'\nreads = 'closed'\n{more}\n");
    check(&closed(""), false);
    check(&closed("read_paths = ['data', '/opt', 'a/..b']"), false);
    for path in [".", "/", "/work", "sub/..", "./"] {
        check(&closed(&format!("read_paths = ['data', '{path}']")), true);
    }
}
