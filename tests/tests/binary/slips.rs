//! One mistake gives one message, at the place of the mistake, with a suggestion. Issue 13.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::{PATH, Site};
use serde_json::json;

/// Returns a workspace whose tool requires `path`.
fn site() -> Site {
    let site = Site::script_with("echo ran\n", "argument_template = { path = \"{path}\" }");
    site.workspace.write(
        "schemas/tool.json",
        r#"{"type":"object","required":["path"],"additionalProperties":false,
            "properties":{"path":{"type":"string"}}}"#,
    );
    site
}

#[test]
fn a_list_without_its_end_is_one_error_on_its_line() {
    let site = Site::script("echo ran\n");
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    let catalog = catalog.replace("effects = [\"local-read\"]", "effects = [\"local-read\"");
    let line = catalog.lines().position(|line| line.starts_with("effects")).expect("it has effects") + 1;
    site.workspace.write(".brigade/tools.toml", catalog);
    let said = site.tools(["list"]).stderr_text();
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    assert!(said.contains(&format!(" --> .brigade/tools.toml:{line}:24\n")), "{said}");
    assert!(said.contains("`]` is missing: expected `,` or `]`"), "{said}");
}

#[test]
fn a_slip_in_the_policy_is_one_error_where_it_is() {
    let site = Site::script("echo ran\n");
    for (text, place, message) in [
        ("[sandbox]\nmode =\n", "2:7", "a value is missing"),
        ("max_timeout = True\n", "1:15", "`true` and `false` are written in lower case"),
        ("[sandbox]\nmode: \"off\"\n", "2:5", "expected `=` between key and value, found `:`"),
        ("[sandbox]\nmode \"off\"\n", "2:6", "`=` is missing between key and value"),
        ("a = [\"x\"\n# b\n\n[sandbox]\nmode = \"off\"\n", "1:9", "`]` is missing: expected `,` or `]`"),
    ] {
        site.workspace.write(".brigade/tools/policy.toml", text);
        for words in [&["policy", "show"][..], &["policy", "doctor"], &["doctor"], &["call", "plan", "tool"]]
        {
            let run = site.tools(words);
            let said = format!("{}{}", run.stdout_text(), run.stderr_text());
            assert_eq!(said.matches("error[").count(), 1, "{run}");
            assert!(said.contains(&format!(" --> .brigade/tools/policy.toml:{place}\n")), "{run}");
            assert!(said.contains(message), "{run}");
        }
    }
}

/// Issue 45: nothing said whether a rule does what its author meant.
#[test]
fn a_policy_is_tested_and_broken_by_its_own_test() {
    const POLICY: &str = ".brigade/tools/policy.toml";
    let site = Site::script("echo ran\n");
    let rules = "denied_effects = [\"network\"]\n";
    let denied = "[[test]]\nfamily = \"mcp\"\neffects = [\"network\"]\nexpect = \"blocked\"\n\
                  because = \"policy_denied_effect\"\n";
    let tool = "[[test]]\ntool = \"tool\"\nexpect = \"blocked\"\n";
    site.workspace.write(POLICY, format!("{rules}{denied}{tool}"));
    let report = site.document(["tools", "policy", "test"]).expect(1);
    assert_eq!(
        (&report["valid"], &report["passed"], &report["failed"]),
        (&json!(true), &json!(1), &json!(1))
    );
    assert_eq!((&report["tests"][1]["line"], &report["tests"][1]["got"]), (&json!(7), &json!("asks")));
    // A test of a tool in the catalog does not make the policy invalid. An inline one does.
    assert_eq!(site.document(["tools", "policy", "show"]).expect(0)["valid"], true);
    let wrong = format!("{rules}{}", denied.replace("\"blocked\"", "\"allowed\""));
    site.workspace.write("new.toml", &wrong);
    let report = site.document(["tools", "policy", "test", "--file", "new.toml"]).expect(1);
    assert_eq!((&report["tests"][0]["got"], &report["failed"]), (&json!("blocked"), &json!(1)));
    site.workspace.write(POLICY, wrong);
    assert_eq!(site.document(["tools", "policy", "show"]).expect(1)["code"], "policy_test_failed");
    let said = site.tools(["call", "plan", "tool"]).stderr_text();
    let message = "the test fails: expected allowed because of policy_denied_effect, got blocked (policy_denied_effect)";
    assert!(said.contains("error[policy_test_failed]") && said.contains(message), "{said}");
    assert!(said.contains(" --> .brigade/tools/policy.toml:2:1\n"), "{said}");
}

#[test]
fn doctor_reports_a_catalog_fault_once() {
    let site = Site::script("echo ran\n");
    for slip in ["timeout = True", "timeout: 5", "timeout ="] {
        let catalog = site.workspace.read_text(".brigade/tools.toml");
        site.workspace.write(".brigade/tools.toml", format!("{catalog}\n{slip}\n"));
        let run = site.tools(["doctor"]);
        run.assert_code(1);
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert_eq!(said.matches("error[").count(), 1, "{run}");
        site.workspace.write(".brigade/tools.toml", catalog);
    }
}

#[test]
fn misspelt_words_are_answered_with_near_ones() {
    let site = Site::script("echo ran\n");
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    let said = |words: &[&str]| {
        let run = site.tools(words);
        format!("{}{}", run.stdout_text(), run.stderr_text())
    };
    for (was, now, meant) in [
        ("family = \"script\"", "family = \"scrpt\"", "script"),
        ("approval_mode = \"on-request\"", "approval_mode = \"on-requst\"", "on-request"),
        ("effects = [\"local-read\"]", "effects = [\"local-raed\"]", "local-read"),
    ] {
        assert!(catalog.contains(was), "{catalog}");
        site.workspace.write(".brigade/tools.toml", catalog.replace(was, now));
        let said = said(&["doctor"]);
        assert!(said.contains(&format!("did you mean `{meant}`?")), "{now}: {said}");
    }
    let template = format!("{catalog}argument_template = {{ path = \"{{pth}}\" }}\n");
    site.workspace.write(".brigade/tools.toml", template);
    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"path":{"type":"string"}}}"#);
    let plan = ["call", "plan", "tool", "--args", r#"{"path":"x"}"#];
    assert!(said(&plan).contains("help: did you mean `{path}`?"), "{}", said(&plan));
    assert!(said(&["doctor"]).contains("(did you mean `{path}`?)"), "{}", said(&["doctor"]));
    for (schema, meant) in [
        (r#"{"type":"objct"}"#, "object"),
        (r#"{"type":"object","properties":{"path":{"type":"strng"}}}"#, "string"),
    ] {
        site.workspace.write("schemas/tool.json", schema);
        let planned = said(&plan);
        assert_eq!(planned.matches("error[unsupported_input_schema]").count(), 1, "{planned}");
        assert!(planned.contains(&format!("help: did you mean `{meant}`?")), "{planned}");
        assert!(said(&["doctor"]).contains(&format!("(did you mean `{meant}`?)")), "{}", said(&["doctor"]));
    }
    // JSON Schema ignores unknown keywords.
    site.workspace.write("schemas/tool.json", r#"{"type":"object","requird":["path"]}"#);
    assert!(said(&["doctor"]).contains("(did you mean `required`?)"), "{}", said(&["doctor"]));
    site.workspace.write(".brigade/tools.toml", catalog);
    site.workspace.write(".brigade/tools/policy.toml", "denied_effects = [\"netwrok\"]\n");
    assert!(said(&["doctor"]).contains("did you mean `network`?"), "{}", said(&["doctor"]));
    site.workspace.remove(".brigade/tools/policy.toml");
    site.workspace.write("schemas/tool.json", r#"{"type":"object"}"#);
    let id = site.queue("tool", "{}");
    let last = if id.ends_with('0') { '1' } else { '0' };
    let typed = format!("{}{last}", &id[..id.len() - 1]);
    let error = said(&["call", "show", &typed]);
    assert!(error.contains(&format!("help: did you mean `{id}`?\n")), "{error}");
}

#[test]
fn invalid_json_arguments_get_an_example() {
    let site = site();
    for (args, hint) in [
        ("@args.json", "`--args-json args.json` reads the arguments from a file"),
        ("path=README.md", r#"arguments are JSON: '{"path":"README.md"}'"#),
    ] {
        let plan = site.json(["call", "plan", "tool", "--args", args]).expect(1);
        assert_eq!(plan["blocker_details"][0]["hint"], hint, "{plan:#}");
    }
}

#[test]
fn a_fault_in_a_schema_is_placed_in_the_schema() {
    let site = site();
    let schema = "{\n  \"type\": \"object\",\n  \"properties\": { \"a\": { \"oneOf\": [] } }\n}\n";
    for (text, place) in
        [(schema, "schemas/tool.json:3:26"), ("{\n  \"type\": object\n}", "schemas/tool.json:2:11")]
    {
        site.workspace.write("schemas/tool.json", text);
        let plan = site.tools(["call", "plan", "tool"]);
        plan.assert_code(1);
        let (line, _) = place.rsplit_once(':').expect("a column");
        assert!(plan.stdout_text().contains(&format!(" --> {line}")), "{plan}");
        let doctor = site.tools(["doctor"]);
        let said = format!("{}{}", doctor.stdout_text(), doctor.stderr_text());
        assert!(said.contains(&format!(" --> {place}")), "{said}");
    }
}

#[test]
fn a_program_from_another_path_is_named_with_both() {
    let site = Site::script("echo ran\n");
    let catalog =
        site.workspace.read_text(".brigade/tools.toml").replace("sh bin/tool.sh", "helper bin/tool.sh");
    site.workspace.write(".brigade/tools.toml", catalog);
    for version in ["one", "two"] {
        site.write_program(&format!("../{version}/helper"), format!("#!/bin/sh\n# {version}\necho ran\n"));
    }
    let places = ["one", "two"].map(|version| {
        site.workspace
            .join(format!("../{version}"))
            .canonicalize()
            .expect("it was made")
            .display()
            .to_string()
    });
    let site = site.env("PATH", format!("{}:{PATH}", places[0]));
    let id = site.approved("tool", "{}");
    let site = site.env("PATH", format!("{}:{PATH}", places[1]));
    let run = site.tools(["call", "run", &id]);
    run.assert_code(1);
    let said = run.stderr_text();
    let [was, now] = &places;
    let message = format!("the program `helper` was {was}/helper and is {now}/helper, because PATH differs");
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    assert_eq!(said.matches("help: ").count(), 1, "{said}");
    assert!(said.contains(&message), "{said}");
    assert!(said.contains(&format!("write `{was}/helper` in `command` of the entry")), "{said}");
    // The document still has the names of all changes.
    let document = site.json(["call", "run", &id]).expect(1);
    assert_eq!(document["changed"], json!(["program path", "program bytes"]));
    // Commands that show or run the call report the same, once, also for several calls.
    let shown = site.tools(["call", "show", &id]).stdout_text();
    assert!(shown.contains(&message), "{shown}");
    let site = site.env("PATH", format!("{was}:{PATH}"));
    site.approved("tool", r#"{"other":1}"#);
    let site = site.env("PATH", format!("{now}:{PATH}"));
    let doctor = site.tools(["doctor"]);
    let said = format!("{}{}", doctor.stdout_text(), doctor.stderr_text());
    assert_eq!(said.matches(&message).count(), 1, "{said}");
    assert!(said.contains("2 approved calls are no longer what was approved: "), "{said}");
    let next = site.tools(["call", "run", "--next"]);
    next.assert_code(1);
    assert_eq!(next.stderr_text().matches(&message).count(), 1, "{next}");
}

/// Issue 13: a change of PATH between queueing and approving was not reported, or without its origin.
#[test]
fn approving_with_another_path_shows_both_programs() {
    let site = Site::script("echo ran\n");
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "helper bin/tool.sh");
    let places = ["one", "two"].map(|version| {
        site.write_program(&format!("../{version}/helper"), format!("#!/bin/sh\n# {version}\necho ran\n"));
        let place = site.workspace.join(format!("../{version}")).canonicalize().expect("it was made");
        place.display().to_string()
    });
    let [was, now] = &places;
    let site = site.env("PATH", format!("{was}:{PATH}"));
    let id = site.queue("tool", "{}");
    let shown = site.tools(["call", "show", &id]).stdout_text();
    assert!(!shown.contains("PATH led to"), "{shown}");
    let site = site.env("PATH", format!("{now}:{PATH}"));
    let told = format!("program {now}/helper (when the call was queued, PATH led to {was}/helper)");
    let shown = site.tools(["call", "show", &id]).stdout_text();
    assert_eq!(shown.matches(&told).count(), 1, "{shown}");
    let approved = site.tools(["call", "approve", &id]);
    approved.assert_code(0);
    assert_eq!(approved.stdout_text().matches(&told).count(), 1, "{approved}");
    let document = site.json(["call", "show", &id]).expect(0);
    assert_eq!(document["preview"]["queued_program"], json!(format!("{was}/helper")));
}

#[test]
fn a_misspelled_key_has_one_message_with_a_suggestion() {
    let site = Site::script("echo ran\n");
    let whole = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml", whole.replace("family =", "famly ="));
    for words in [&["list"][..], &["call", "plan", "tool"], &["doctor"]] {
        let run = site.tools(words);
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert_eq!(said.matches("famly: unknown key").count(), 1, "{run}");
        assert!(said.contains("did you mean `family`?"), "{run}");
        assert!(!said.contains("this required field is missing"), "{run}");
    }
    site.workspace.write(".brigade/tools.toml", whole.replace("[[tool]]", "[[tools]]"));
    let list = site.tools(["list"]);
    list.assert_code(0);
    let said = format!("{}{}", list.stdout_text(), list.stderr_text());
    assert_eq!(said.matches("did you mean `tool`?").count(), 1, "{list}");
}

#[test]
fn without_a_catalog_there_is_one_error_and_no_result() {
    let site = Site::script("echo ran\n");
    site.workspace.remove(".brigade/tools.toml");
    site.workspace.remove(".brigade/tools/policy.toml");
    for words in [&["cost"][..], &["check", "--all"], &["policy", "doctor"]] {
        let run = site.tools(words);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
        assert_eq!(run.stderr_text().matches("error[").count(), 1, "{run}");
    }
    for words in [&["call", "approve", "a", "b", "--json"][..], &["apply", "nope", "--json"]] {
        let said = site.tools(words).stdout_text();
        assert!(!said.contains("(brigade "), "{said}");
    }
}

#[test]
fn home_directory_in_command_gets_the_full_path() {
    let site = Site::script("echo ran\n");
    let catalog = site.workspace.read_text(".brigade/tools.toml").replace("sh bin/tool.sh", "~/bin/x");
    site.workspace.write(".brigade/tools.toml", catalog);
    let plan = site.tools(["call", "plan", "tool"]);
    plan.assert_code(1);
    assert!(plan.stdout_text().contains("no shell expands `~`"), "{plan}");
}

#[test]
fn outside_a_workspace_there_is_one_message() {
    let site = Site::empty();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for line in ["list", "apply nope", "call show x", "run verify", "doctor", "policy show", "pins list"] {
        let run = site.tools(words(line));
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
        let said = run.stderr_text();
        assert!(said.starts_with("error[workspace_missing]: no workspace at "), "{run}");
        assert!(said.ends_with("\nhelp: brigade setup\nhelp: brigade tools init\n"), "{run}");
        assert_eq!(said.lines().count(), 3, "{run}");
    }
    for line in ["call list", "run list", "checkpoint list", "search x", "import-issues"] {
        let site = Site::empty();
        let run = site.tools(words(line));
        run.assert_code(0);
        assert!(run.stderr_text().contains("note: no workspace at "), "{run}");
        site.json(words(line)).expect(0);
    }
    // Commands that create or need no workspace work.
    for line in ["harness list", "init --empty"] {
        site.tools(words(line)).assert_code(0);
    }
    let unknown = site.tools(["call", "show", "nope"]);
    assert!(unknown.stderr_text().ends_with("help: brigade tools call list\n"), "{unknown}");
}

#[test]
fn help_is_also_a_word() {
    let site = Site::empty();
    let word = site.brigade.run(["help", "tools", "call"]);
    word.assert_code(0);
    assert_eq!(word.stdout_text(), site.tools(["call", "--help"]).stdout_text());
}

#[test]
fn errors_in_arguments_have_a_place_for_every_source() {
    let site = site();
    let text = "{\"path\": \"a\",\n  }";
    site.workspace.write("args.json", text);
    let file = site.workspace.join("args.json");
    let file = file.to_str().unwrap();
    let said = |words: &[&str], input: &str| {
        let run = site.brigade.clone().input(input).run(words);
        run.assert_code(1);
        format!("{}{}", run.stdout_text(), run.stderr_text())
    };
    let from_file = said(&["tools", "call", "plan", "tool", "--args-json", file], "");
    assert!(from_file.contains("args.json, line 2, column 3: expected"), "{from_file}");
    let from_input = said(&["tools", "call", "plan", "tool", "--args-json", "-"], text);
    assert!(from_input.contains("standard input, line 2, column 3: expected"), "{from_input}");
    let typed = said(&["tools", "call", "plan", "tool", "--args", text], "");
    assert!(typed.contains("the arguments, line 2, column 3: expected"), "{typed}");
}

#[test]
fn a_file_beside_a_missing_one_is_proposed() {
    let site = site();
    site.workspace.write("args.json", "{\"path\": \"a\"}");
    let plan = site.json(["call", "plan", "tool", "--args-json", "agrs.json"]).expect(1);
    assert_eq!(plan["blocker_details"][0]["hint"], "did you mean `args.json`?", "{plan:#}");
    site.workspace.write("packs/first/readme.md", "");
    let import = site.tools(["pack", "import", "packs/frist"]);
    import.assert_code(2);
    assert!(import.stderr_text().ends_with("help: did you mean `packs/first`?\n"), "{import}");
    let target = site.tools(["list", "--target", "packs/frist"]);
    target.assert_code(2);
    assert!(target.stderr_text().ends_with("help: did you mean `packs/first`?\n"), "{target}");
}

/// Same as v0.30, whose parser did this.
#[test]
fn repeated_arguments_use_the_last_value() {
    let site = site();
    let plan = site.json(["call", "plan", "tool", "--args", "{", "--args", r#"{"path":"a"}"#]).expect(0);
    assert_eq!(plan["plan"]["args"], json!({"path": "a"}), "{plan:#}");
}

#[test]
fn path_like_a_secret_name_is_shown_with_reason() {
    let site = site();
    let run = site.tools(["list", "--target", "/etc/passwd"]);
    run.assert_code(2);
    let said = run.stderr_text();
    assert!(said.contains("`/etc/passwd`: a part of this path is not a directory"), "{said}");
    assert!(!said.contains("[redacted]"), "{said}");
}

/// Issue 13: the text output only had the conflict, not the other entries to add.
#[test]
fn a_built_in_conflict_lists_what_would_be_added() {
    let site = Site::empty();
    site.json(["init", "--empty"]).expect(0);
    site.add_to_catalog(&Site::entry("simplify", "sh bin/tool.sh", ""));
    let before = site.workspace.read_text(".brigade/tools.toml");
    let run = site.tools(["defaults"]);
    run.assert_code(1);
    assert!(run.stdout_text().contains("would add:     superpowers, frontend, antislop\n"), "{run}");
    let said = run.stderr_text();
    assert!(said.contains("error[entry_exists]: simplify: "), "{run}");
    assert!(said.ends_with("note: nothing was written\nhelp: brigade tools show simplify\n"), "{run}");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);
}

#[test]
fn entry_error_is_placed_once() {
    let site = site();
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    for (now, said) in [
        ("approval_mode = \"on_request\"", "tool: approval_mode: "),
        ("approval_mode = on-request", "tool: a value is missing, or a string is not quoted"),
        ("approval_mode = ten", "tool: a value is missing, or a string is not quoted"),
    ] {
        let broken = catalog.replace("approval_mode = \"on-request\"", now);
        assert_ne!(broken, catalog);
        site.workspace.write(".brigade/tools.toml", broken);
        let run = site.tools(["call", "plan", "tool", "--args", r#"{"path":"x"}"#]);
        run.assert_code(1);
        let text = run.stdout_text();
        assert!(text.contains(&format!("error[invalid_entry]: {said}")), "{run}");
        assert_eq!(text.matches(".brigade/tools.toml:").count(), 1, "{run}");
        assert!(!text.contains("approval mode:"), "{run}");
    }
}

#[test]
fn one_wrong_bracket_is_one_message() {
    let site = site();
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    let broken =
        catalog.replace("argument_template = {", "argument_template = [") + "timeout = 7\nname = \"x\"\n";
    site.workspace.write(".brigade/tools.toml", broken);
    for words in [&["list"][..], &["doctor"], &["call", "plan", "tool"]] {
        let run = site.tools(words);
        run.assert_code(1);
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert_eq!(said.matches("error[").count(), 1, "{run}");
    }
}

#[test]
fn a_path_for_a_shell_is_said_once() {
    let site = Site::script("echo ran\n");
    let catalog = site.workspace.read_text(".brigade/tools.toml").replace("sh bin/tool.sh", "sh ~/bin/x.sh");
    site.workspace.write(".brigade/tools.toml", catalog);
    for (words, code) in [(&["doctor"][..], 0), (&["call", "plan", "tool"], 1)] {
        let run = site.tools(words);
        run.assert_code(code);
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert_eq!(said.matches("no shell expands `~`").count(), 1, "{run}");
        assert!(!said.contains("shell_words") && !said.contains("note: tool: no shell"), "{run}");
    }
}

/// Issue 13: v0.30 could read a shell's `<(…)`.
#[test]
fn arguments_are_read_from_a_pipe() {
    let site = site();
    let pipe = site.workspace.join("args.pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let writer = std::thread::spawn(move || std::fs::write(pipe, r#"{"path":"a"}"#).expect("it is read"));
    let plan = site.json(["call", "plan", "tool", "--args-json", "args.pipe"]).expect(0);
    assert_eq!(plan["plan"]["args"], json!({"path": "a"}), "{plan:#}");
    writer.join().expect("the writer ends");
    let folder = site.json(["call", "plan", "tool", "--args-json", "bin"]).expect(1);
    let said = folder["blockers"][0].as_str().expect("a text").to_owned();
    assert!(said.ends_with(": it is not a file"), "{folder:#}");
}

#[test]
fn every_refusal_says_once_what_to_do() {
    let site = site();
    for path in ["a", "b"] {
        site.queue("tool", &json!({"path": path}).to_string());
    }
    site.workspace.write("file/.brigade", "");
    let helped = |run: &brigade_testkit::Run, help: &str| {
        let said = run.stderr_text();
        let helps: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("help: ")).collect();
        assert_eq!(helps, [help], "{run}");
        assert!(said.starts_with("error["), "{run}");
    };
    for (words, help) in [
        (&["call", "approve", "call-"][..], "type more characters of the id"),
        (&["call", "show", "call-"], "type more characters of the id"),
        (&["agent", "remove", "nope"], "brigade tools agent list"),
        (&["pack", "import", "nope"], "name a directory with tool-pack.json"),
        (&["init", "--target", "file"], "use another path, or move the existing entry away"),
        (&["register", "mcp:nope"], "brigade tools discover"),
        (&["keys", "list"], "brigade tools keys --help"),
        (
            &["call", "plan", "tool", "@a.json"],
            "did you mean `brigade tools call plan tool --args-json a.json`?",
        ),
    ] {
        helped(&site.tools(words), help);
    }
}

#[test]
fn a_contradictory_schema_is_reported_at_its_line() {
    let site = site();
    let schema = "{\n  \"type\": \"object\",\n  \"properties\": { \"path\": { \"type\": \"string\" } },\n  \
        \"required\": [\"pth\"],\n  \"additionalProperties\": false\n}\n";
    site.workspace.write("schemas/tool.json", schema);
    let doctor = site.json(["doctor"]).expect(0);
    let issue = &doctor["issues"][0];
    assert_eq!(
        (&issue["issue_type"], &issue["line"]),
        (&json!("impossible_input_schema"), &json!(4)),
        "{issue:#}"
    );
    let detail = issue["detail"].as_str().expect("a text");
    assert!(detail.ends_with("additional properties are refused (did you mean `path`?)"), "{issue:#}");
    let plan = site.json(["call", "plan", "tool", "--args", r#"{"path":"x"}"#]).expect(1);
    let [blocker] = plan["blocker_details"].as_array().expect("a list").as_slice() else {
        panic!("{plan:#}")
    };
    assert_eq!((&blocker["file"], &blocker["line"]), (&json!("schemas/tool.json"), &json!(4)), "{plan:#}");
    assert_eq!(blocker["hint"], "did you mean `path`?", "{plan:#}");
    site.workspace.write("schemas/tool.json", "{\n  \"type\": \"array\"\n}\n");
    let plan = site.json(["call", "plan", "tool"]).expect(1);
    assert_eq!(plan["blocker_details"][0]["line"], 2, "{plan:#}");
}

#[test]
fn missing_files_and_programs_get_suggestions() {
    let site = site();
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    for (was, now, meant) in [
        ("schemas/tool.json", "schemas/tol.json", "schemas/tool.json"),
        ("sh bin/tool.sh", "sh bin/toll.sh", "bin/tool.sh"),
        ("sh bin/tool.sh", "pythn3 bin/tool.sh", "python3"),
    ] {
        assert!(catalog.contains(was), "{catalog}");
        site.workspace.write(".brigade/tools.toml", catalog.replace(was, now));
        for words in [&["doctor"][..], &["call", "plan", "tool", "--args", r#"{"path":"x"}"#]] {
            let run = site.tools(words);
            let said = format!("{}{}", run.stdout_text(), run.stderr_text());
            assert_eq!(said.matches(&format!("did you mean `{meant}`?")).count(), 1, "{now}: {run}");
        }
    }
}
