//! The upgrade from 0.30.0, and one form for all next steps. Issue 13.

#![allow(clippy::disallowed_methods, reason = "tests start processes and look at files")]

use std::process::{Command, Stdio};

use brigade_tests::Site;
use serde_json::{Value, json};

const POLICY: &str = ".brigade/tools/policy.toml";

fn issues_of(site: &Site, kind: &str) -> Vec<Value> {
    let doctor = site.json(["doctor"]).expect(0);
    let issues = doctor["issues"].as_array().expect("a list").iter();
    issues.filter(|issue| issue["issue_type"] == kind).cloned().collect()
}

#[test]
fn code_in_checks_and_installations_is_judged() {
    let install =
        "\n[tool.install]\ncheck = \"python3 -c 'print(1)'\"\ncommand = [\"python3 -c 'print(2)'\"]\n";
    let site = Site::script("echo ran\n");
    site.add_to_catalog(install);
    let subjects = |issues: &[Value]| -> Vec<String> {
        let detail = |issue: &Value| issue["detail"].as_str().unwrap().split(':').next().unwrap().to_owned();
        issues.iter().map(detail).collect()
    };
    assert_eq!(subjects(&issues_of(&site, "inline_code")), ["install.check", "install.command"]);
    site.workspace.write(POLICY, "[commands]\ninline_code = \"refuse\"\n");
    assert_eq!(issues_of(&site, "inline_code"), [] as [Value; 0]);
    let refused = issues_of(&site, "policy_blocker");
    assert_eq!(subjects(&refused), ["install.check", "install.command"], "{refused:#?}");
}

#[test]
fn harnesses_that_were_chosen_stay() {
    let site = Site::empty();
    site.json(["init", "--harness", "claude,codex"]).expect(0);
    let before = site.workspace.read_text(".brigade/tools.toml");
    let defaults = site.json(["defaults"]).expect(0);
    assert_eq!(defaults["updated"], json!([]), "{defaults:#}");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);
    // An empty catalog is also a choice.
    site.json(["init", "--empty", "--force"]).expect(0);
    let list = site.tools(["list"]);
    assert_eq!(list.stdout_text(), "no tools\n");
    assert!(list.stderr_text().contains("help: ${EDITOR:-vi} .brigade/tools.toml"), "{list}");
}

#[cfg(target_os = "linux")]
#[test]
fn foreign_pid_in_pid_file_refuses_stop() {
    let site = Site::empty();
    let entry = "[[runtime]]\nid = \"r\"\nname = \"R\"\ncommand = \"sleep 600\"\n";
    site.workspace.write(".brigade/tools/runtimes.toml", entry);
    let started = site.json(["runtime", "start", "r"]).expect(0);
    let own = started["pid"].as_u64().expect("it runs");
    let mut other = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().expect("sleep starts");
    let file = ".brigade/tools/runtime/r.pid";
    site.workspace.write(file, format!("{}\n", other.id()));
    let refused = site.json(["runtime", "stop", "r"]).expect(1);
    let error = refused["error"].as_str().unwrap().to_owned();
    let help = refused["help"].clone();
    let text = site.tools(["runtime", "stop", "r"]);
    let is_there = |pid: u64| std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists();
    let lives = is_there(own) && other.try_wait().expect("it is ours").is_none();
    site.workspace.write(file, format!("{own}\n"));
    site.json(["runtime", "stop", "r"]).expect(0);
    other.kill().expect("it lives");
    other.wait().expect("it ends");
    assert!(error.contains(&format!("names process {} (`sleep`)", other.id())), "{error}");
    assert!(lives, "both are left alone");
    assert!(help.is_string(), "{refused:#}");
    assert!(text.stderr_text().contains("\nhelp: "), "{text}");
}

#[test]
fn differences_are_listed_before_and_after_calls() {
    let site = Site::empty();
    site.json(["init", "--empty"]).expect(0);
    site.workspace.write("bin/tool.sh", "echo ran\n");
    site.workspace
        .write("schemas/tool.json", r#"{"type":"object","properties":{"s":{"type":"string"},"b":{}}}"#);
    let entry = Site::entry("tool", "sh bin/tool.sh", "argument_template = { s = \"{s}\", b = \"{b}\" }\n");
    let catalog = format!(
        "# Local portable tool and skill catalog. Brigade inspects this file but does not sync projections.\n\n{entry}"
    );
    site.workspace.write(".brigade/tools.toml", catalog);
    let found = issues_of(&site, "switch_arguments");
    let details: Vec<&str> = found.iter().map(|issue| issue["detail"].as_str().unwrap()).collect();
    assert!(
        details.iter().any(|detail| detail.contains("splits values at blanks") && detail.contains("`s`"))
    );
    assert!(details.iter().any(|detail| detail.contains("v0.30 writes `True`")), "{details:?}");
}

#[test]
fn a_v030_inbox_identifies_a_v030_workspace() {
    let site = Site::empty();
    site.json(["init", "--empty"]).expect(0);
    site.workspace.write("bin/tool.sh", "echo ran\n");
    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"b":{}}}"#);
    let entry = Site::entry("tool", "sh bin/tool.sh", "argument_template = { b = \"{b}\" }\n");
    site.workspace.write(".brigade/tools.toml", entry);
    assert_eq!(issues_of(&site, "switch_arguments").len(), 0, "nothing is of v0.30");
    for file in [".brigade/work/.proofs.authority.json", ".brigade/work/imports/inbox.jsonl.writer.lock"] {
        site.workspace.write(file, "");
        assert_ne!(issues_of(&site, "switch_arguments").len(), 0, "{file}");
        std::fs::remove_file(site.workspace.path().join(file)).expect("it is there");
    }
}

#[test]
fn unbound_and_shell_commands_are_issues() {
    let site = Site::empty();
    site.json(["init", "--empty"]).expect(0);
    site.workspace.write("bin/x.py", "print(1)\n");
    site.add_to_catalog(&Site::entry("lib", "python3 /proc/self/cwd/bin/x.py", ""));
    site.add_to_catalog(&Site::entry("pipe", "cat a.txt | wc", ""));
    let unbound = issues_of(&site, "code_not_bound");
    assert_eq!((unbound.len(), &unbound[0]["tool_id"]), (1, &json!("lib")), "{unbound:#?}");
    let pipe = issues_of(&site, "shell_words");
    assert_eq!((pipe.len(), &pipe[0]["tool_id"]), (1, &json!("pipe")), "{pipe:#?}");
    // A plan reports it, too, without a blocker.
    let said = format!("pipe: {}", pipe[0]["detail"].as_str().unwrap());
    site.workspace.write("schemas/tool.json", "{\"type\":\"object\"}");
    let planned = site.json(["call", "plan", "pipe"]).expect(0);
    assert_eq!((&planned["warnings"], &planned["blockers"]), (&json!([said]), &json!([])), "{planned:#}");
    let shown = site.tools(["call", "plan", "pipe"]);
    assert!(shown.stderr_text().contains(&format!("note: {said}")), "{shown}");
    assert_eq!(site.json(["call", "plan", "lib"]).json["warnings"], json!([]));
}

#[test]
fn arguments_formatted_by_v030_are_explained() {
    let site = Site::script_with("echo ran\n", "argument_template = { b = \"{b}\" }");
    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"b":{"type":"boolean"}}}"#);
    let call = r#"{"id":"call-1","status":"approved","tool_id":"tool","family":"script","command":"sh bin/tool.sh","args":{"b":true},"arguments":{"b":"True"},"blockers":[],"created_at":"2026-01-01T00:00:00+00:00"}"#;
    site.workspace.write(".brigade/tools/calls.jsonl", format!("{call}\n"));
    let refused = site.json(["call", "approve", "call-1"]).expect(1);
    let said = refused["blockers"].to_string();
    assert!(
        said.contains("the arguments are unchanged, but Brigade v0.30 writes values differently"),
        "{said}"
    );
    assert!(!said.contains("changed since the call was queued: args"), "{said}");
    let shown = site.json(["call", "show", "call-1"]).expect(0);
    assert_eq!(shown["blocker_details"], refused["blocker_details"], "{shown:#}");
    let counted = issues_of(&site, "switch_approvals");
    let detail = counted[0]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("1 call of v0.30 cannot be approved") && detail.ends_with("call-1"),
        "{detail}"
    );
}

#[test]
fn next_steps_stand_in_help_and_never_in_brackets() {
    let site = Site::script("echo ran\n");
    for words in [
        &["call", "run", "nope"][..],
        &["call", "approve", "nope"],
        &["run", "show", "nope"],
        &["checkpoint", "show", "nope"],
        &["show", "nope"],
        &["describe", "nope"],
    ] {
        let refused = site.json(words).expect(1);
        let error = refused["error"].as_str().unwrap();
        assert!(!error.contains("(brigade "), "{words:?}: {error}");
        assert!(refused["help"].as_str().unwrap().contains("brigade tools "), "{refused:#}");
    }
    let profile = site.tools(["profile", "show", "nope"]);
    assert!(profile.stderr_text().ends_with("help: brigade tools profile list\n"), "{profile}");
}

#[test]
fn errors_of_a_document_hold_no_next_step() {
    let site = Site::empty();
    site.json(["init", "--empty"]).expect(0);
    for (words, code) in [
        (&["runtime", "doctor"][..], 1),
        (&["runtime", "list"], 1),
        (&["runtime", "status"], 1),
        (&["policy", "show"], 1),
    ] {
        let document = site.json(words).expect(code);
        let errors = document["errors"].to_string();
        assert!(errors.contains(".toml") && !errors.contains("brigade tools "), "{words:?}: {errors}");
        assert!(document["help"].as_str().unwrap().ends_with(" init"), "{words:?}: {document:#}");
        assert!(document["code"].is_string() && document["labels"].is_array(), "{document:#}");
    }
    site.workspace
        .write(".brigade/tools/runtimes.toml", "[[runtime]]\nid = \"a\"\ncommand = \"sh x\"\nprot = 1\n");
    let broken = site.json(["runtime", "doctor"]).expect(1);
    assert!(broken["errors"].to_string().contains("this required field is missing"), "{broken:#}");
    assert_eq!(broken["labels"][0]["line"], json!(1), "{broken:#}");
    site.workspace
        .write(".brigade/tools/runtimes.toml", "[[runtime]]\nid = \"a\"\nname = \"A\"\ncommand = \"true\"\n");
    let sound = site.json(["runtime", "doctor"]).expect(0);
    assert!(sound.get("help").is_none() && sound.get("code").is_none(), "{sound:#}");
    let unknown = site.json(["runtime", "show", "nope"]).expect(1);
    assert_eq!(unknown["issues"][0]["detail"], json!("runtime not found: nope"), "{unknown:#}");
    assert_eq!((&unknown["issue_count"], &unknown["top_issue"]), (&json!(1), &unknown["issues"][0]));
}

#[test]
fn a_workspace_without_a_catalog_is_one_error() {
    let site = Site::empty();
    site.tools(["policy", "init"]).assert_code(0);
    for words in ["list", "contracts"] {
        let run = site.tools([words]);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
        let said = run.stderr_text();
        assert_eq!((said.matches("error[").count(), said.matches("help: ").count()), (1, 1), "{run}");
        assert!(!said.contains("note: "), "{run}");
    }
}

#[test]
fn outside_of_a_workspace_that_is_said_once() {
    let site = Site::empty();
    for words in [&["tools", "search", "x"][..], &["work", "brief"]] {
        let run = site.brigade.run(words);
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert_eq!(said.matches("help: brigade setup\nhelp: brigade tools init\n").count(), 1, "{run}");
        assert!(!said.contains("(brigade "), "{run}");
    }
}

#[test]
fn documents_of_failures_have_code_labels_and_help() {
    let site = Site::script("echo ran\n");
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml", format!("{catalog}[tool]\n"));
    for words in [
        &["list"][..],
        &["doctor"],
        &["plan"],
        &["apply", "--all"],
        &["contracts"],
        &["defaults"],
        &["sync", "plan"],
    ] {
        let refused = site.json(words).expect(1);
        assert!(refused["code"].is_string(), "{words:?}: {refused:#}");
        assert_eq!(refused["labels"][0]["file"], ".brigade/tools.toml", "{words:?}");
        assert!(refused.get("help").is_some(), "{words:?}");
    }
}

#[test]
fn policy_key_without_effect_is_reported() {
    let site = Site::script("echo ran\n");
    site.workspace.write(POLICY, "max_timout = 3\n");
    for words in [&["policy", "show"][..], &["policy", "explain", "tool"]] {
        let run = site.tools(words);
        run.assert_code(0);
        assert!(run.stderr_text().contains("did you mean `max_timeout`?"), "{run}");
    }
    let catalog =
        site.workspace.read_text(".brigade/tools.toml").replace("family = \"script\"", "family = 3");
    site.workspace.write(".brigade/tools.toml", catalog);
    let run = site.tools(["policy", "explain", "tool"]);
    run.assert_code(1);
    assert!(!run.stdout_text().contains("allowed"), "{run}");
    assert!(run.stderr_text().contains(" --> .brigade/tools.toml:"), "{run}");
}

#[test]
fn a_dry_run_with_a_conflict_says_what_would_be() {
    let site = Site::empty();
    site.json(["init", "--harness", "claude,codex"]).expect(0);
    site.workspace.write(".claude/commands/simplify.md", "mine\n");
    let run = site.tools(["apply", "--all", "--dry-run"]);
    run.assert_code(1);
    let note = "note: exit code 1: 1 file would not be written; the others would be up to date\n";
    assert!(run.stderr_text().contains(note), "{run}");
    let defaults = site.tools(["defaults", "--dry-run"]);
    assert!(defaults.stderr_text().ends_with("help: brigade tools defaults\n"), "{defaults}");
}

#[test]
fn hooks_of_v030_stop_no_agent_and_are_listed() {
    let site = Site::script("echo ran\n");
    let hook = "brigade work hook-run --event PreToolUse --package brigade-claude-work-loop@1.3.1";
    let command = json!({"type": "command", "command": hook, "timeout": 15});
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command]}]}});
    assert_eq!(issues_of(&site, "switch_hooks"), [] as [Value; 0]);
    site.workspace.write(".claude/settings.json", serde_json::to_string_pretty(&hooks).unwrap());
    let found = issues_of(&site, "switch_hooks");
    let [issue] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(
        issue["detail"],
        ".claude/settings.json: 1 hook starts a command of v0.30, which does nothing here"
    );
    assert_eq!((&issue["severity"], &issue["line"]), (&json!("warning"), &json!(7)), "{issue:#}");
    for words in [
        &hook.split(' ').skip(1).collect::<Vec<_>>()[..],
        &["work", "presence-hook", "--harness", "cursor", "--stdin", "--context", "cursor-work-loop"],
    ] {
        let run = site.brigade.clone().input("{\"hook_event_name\": \"PreToolUse\"}").run(words);
        run.assert_code(0);
        assert_eq!(run.stdout_text(), "{}\n", "{run}");
        assert_eq!(run.stderr_text().lines().count(), 1, "{run}");
    }
}

#[test]
fn without_a_workspace_nothing_is_shown() {
    let site = Site::empty();
    for words in [
        &["work", "brief"][..],
        &["work", "inbox", "list"],
        &["tools", "call", "list"],
        &["tools", "run", "list"],
        &["tools", "checkpoint", "list"],
        &["tools", "parity", "status"],
        &["tools", "pack", "list"],
        &["tools", "search", "x"],
    ] {
        let run = site.brigade.run(words);
        run.assert_code(0);
        assert_eq!(run.stdout_text(), "", "{run}");
        let said = run.stderr_text();
        assert!(said.starts_with("note: no workspace at ") && said.lines().count() == 3, "{run}");
        // The document is the same as in v0.30.
        let document = site.brigade.run(words.iter().copied().chain(["--json"]));
        document.assert_code(0);
        assert!(document.json()["error"].is_null(), "{document}");
    }
}

#[test]
fn the_built_in_tools_propose_no_mass_write() {
    let site = Site::empty();
    site.json(["init", "--empty"]).expect(0);
    let run = site.tools(["defaults"]);
    run.assert_code(0);
    assert!(run.stderr_text().ends_with("help: brigade tools apply --all --dry-run\n"), "{run}");
    assert_eq!(site.json(["defaults"]).expect(0)["next_command"], "brigade tools apply --all");
}
