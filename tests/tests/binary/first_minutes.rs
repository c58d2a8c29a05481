//! First contact: a new workspace, its policy, and the suggestions there. Issue 13.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::Site;
use serde_json::json;

#[test]
fn a_new_workspace_has_the_chosen_harnesses_or_none() {
    let site = Site::empty();
    let unknown = site.tools(["init", "--harness", "claud"]);
    unknown.assert_code(2);
    assert!(unknown.stderr_text().contains("did you mean `claude`?"), "{unknown}");
    assert!(!site.workspace.exists(".brigade/tools.toml"));
    site.json(["init", "--harness", "claude,codex"]).expect(0);
    let plan = site.json(["plan"]).expect(0);
    let harnesses: std::collections::BTreeSet<&str> = plan["projections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["harness"].as_str().unwrap())
        .collect();
    assert_eq!(harnesses.into_iter().collect::<Vec<_>>(), ["claude", "codex"]);
    assert_eq!(site.json(["init", "--force"]).expect(0)["tool_count"], 0);
    assert_eq!(site.json(["doctor"]).expect(0)["issue_count"], 0);
}

#[test]
fn detected_harnesses_have_a_program_on_path() {
    let site = Site::empty();
    site.write_program("../programs/codex", "#!/bin/sh\n");
    let programs = site.workspace.join("../programs").canonicalize().unwrap();
    let site = site.env("PATH", programs);
    site.json(["init", "--harness", "detected"]).expect(0);
    let plan = site.json(["plan", "simplify"]).expect(0);
    assert_eq!(plan["projections"].as_array().unwrap().len(), 1, "{plan:#}");
    assert_eq!(plan["projections"][0]["harness"], "codex");
    let none = site.env("PATH", "/nowhere").tools(["init", "--harness", "detected", "--force"]);
    none.assert_code(2);
    assert!(none.stderr_text().contains("brigade tools init\n"), "{none}");
}

#[test]
fn unapplied_projections_are_one_line() {
    let site = Site::empty();
    site.json(["init", "--with-skills"]).expect(0);
    let doctor = site.tools(["doctor"]);
    doctor.assert_code(0);
    let said = format!("{}{}", doctor.stdout_text(), doctor.stderr_text());
    assert!(said.contains("84 projections of 4 tools were never written\n"), "{said}");
    assert!(!said.contains("missing_projection"), "{said}");
    let plan = site.tools(["plan"]).stdout_text();
    assert!(plan.contains("simplify: 21 projections were never written\n"), "{plan}");
    assert!(plan.lines().count() < 10, "{plan}");
    let brief = site.brigade.run(["work", "brief", "--json"]).json();
    assert_eq!(brief["next_command"], "brigade tools plan simplify", "{brief:#}");
}

#[test]
fn a_dry_run_shows_few_contents_unless_asked() {
    let site = Site::empty();
    site.json(["init", "--with-skills"]).expect(0);
    let all = site.tools(["apply", "--all", "--dry-run"]);
    all.assert_code(0);
    let text = all.stdout_text();
    assert!(!text.contains("+++") && text.lines().count() < 130, "{text}");
    assert!(text.contains("HARNESS      FILES\n") && text.contains("claude       4\n"), "{text}");
    let diff = site.tools(["apply", "--all", "--dry-run", "--diff"]).stdout_text();
    assert_eq!(diff.matches("+++ b/").count(), 84);
    site.json(["init", "--force", "--harness", "claude"]).expect(0);
    let few = site.tools(["apply", "simplify", "--dry-run"]).stdout_text();
    assert_eq!(few.matches("+++ b/").count(), 1, "{few}");
    // The document still has all contents.
    let document = site.json(["apply", "--all", "--dry-run"]).expect(0);
    assert!(document["applied"].as_array().unwrap().iter().all(|item| item["diff"].is_string()));
    site.tools(["apply", "--all", "--diff"]).assert_code(2);
}

#[test]
fn a_broken_policy_is_said_first_and_shows_no_value() {
    let site = Site::script("echo ran\n");
    site.workspace.write(
        ".brigade/tools/policy.toml",
        "allowed_families = [\"script\"]\n[sandbox]\nmode = \"enforced\"\n",
    );
    for words in [&["policy", "explain", "tool"][..], &["policy", "show"]] {
        let run = site.tools(words);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
        let said = run.stderr_text();
        assert!(said.starts_with("error[config_invalid]: sandbox.mode: expected one of"), "{run}");
        assert!(said.contains(" --> .brigade/tools/policy.toml:3:8\n"), "{run}");
    }
    // Other problems do not count as certain.
    for words in [
        &["policy", "explain", "nope"][..],
        &["call", "plan", "tool"],
        &["call", "plan", "nope"],
        &["call", "queue", "tool", "--args", "[]"],
        &["call", "queue", "nope"],
    ] {
        let run = site.tools(words);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
        let said = run.stderr_text();
        assert!(said.contains(" --> .brigade/tools/policy.toml:3:8\n"), "{run}");
        assert_eq!(said.matches("error[").count(), 1, "{run}");
        assert_eq!(said.matches("help: ").count(), 1, "{run}");
    }
    let explained = site.json(["policy", "explain", "tool"]).expect(1);
    assert_eq!((&explained["allowed"], &explained["rulings"]), (&json!(false), &json!([])));
    assert!(explained["errors"][0].to_string().contains("sandbox.mode"), "{explained:#}");
    let shown = site.json(["policy", "show"]).expect(1);
    assert_eq!(shown["policy"], json!(null), "{shown:#}");
    for document in [&explained, &shown, &site.json(["policy", "doctor"]).expect(1)] {
        assert_eq!(document["code"], "config_invalid", "{document:#}");
        assert_eq!(document["labels"][0]["line"], 3, "{document:#}");
        assert_eq!(document["help"], "did you mean `enforce`?", "{document:#}");
    }
    // Neither rules nor run settings apply.
    let plan = site.json(["call", "plan", "tool"]).expect(1);
    for document in [&explained, &plan] {
        let known =
            ["allowed", "blockers", "enabled", "env_labels_used", "errors", "fingerprint", "policy_path"];
        let keys: Vec<&String> = document["policy"].as_object().unwrap().keys().collect();
        assert_eq!(keys, known, "{document:#}");
    }
}

#[test]
fn broken_policy_proposes_only_its_correction() {
    let site = Site::script("echo ran\n");
    let pending = site.queue("tool", "{}");
    let approved = site.approved("tool", r#"{"other":1}"#);
    site.workspace.write(".brigade/tools/policy.toml", "max_timeout = 0\n");
    for words in [
        &["call", "show", &pending][..],
        &["call", "show", &approved],
        &["call", "approve", &pending],
        &["call", "run", &pending],
        &["call", "run", &approved],
        &["call", "run", "--next"],
    ] {
        let run = site.tools(words);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
        let said = run.stderr_text();
        assert!(said.starts_with("error[policy_invalid]: "), "{run}");
        assert!(said.contains("max_timeout: expected a number greater than 0\n --> "), "{run}");
        let helps: Vec<&str> = said.lines().filter(|line| line.starts_with("help: ")).collect();
        assert_eq!(helps, ["help: ${EDITOR:-vi} +1 .brigade/tools/policy.toml"], "{run}");
        let document = site.json(words).expect(1);
        assert_eq!(document["help"], "${EDITOR:-vi} +1 .brigade/tools/policy.toml", "{document:#}");
        assert_eq!(document["labels"][0]["line"], 1, "{document:#}");
    }
    assert_eq!(site.json(["call", "show", &pending]).expect(1)["call"]["status"], "pending");
    let brief = site.brigade.run(["work", "brief", "--json"]).json();
    assert_eq!(brief["next_command"], "${EDITOR:-vi} +1 .brigade/tools/policy.toml", "{brief:#}");
    // An ended call is history, whatever the policy says now.
    site.tools(["call", "reject", &pending, "--reason", "no"]).assert_code(0);
    site.tools(["call", "show", &pending]).assert_code(0);
}

#[test]
fn missing_runtimes_are_one_error_with_one_step() {
    let site = Site::empty();
    let made = site.tools(["init", "--empty"]);
    assert!(made.stdout_text().contains("gitignore:  created (.gitignore)\n"), "{made}");
    for words in [&["runtime", "list"][..], &["runtime", "status"], &["runtime", "show", "x"]] {
        let run = site.tools(words);
        run.assert_code(1);
        assert_eq!(run.stdout_text(), "", "{run}");
    }
    for action in ["show", "start", "stop", "restart", "logs"] {
        let run = site.tools(["runtime", action, "x"]);
        run.assert_code(1);
        let said = run.stderr_text();
        assert!(
            said.starts_with("error[config_invalid]: no runtime is known: the file does not exist\n"),
            "{run}"
        );
        assert!(
            said.ends_with("\n --> .brigade/tools/runtimes.toml\nhelp: brigade tools runtime init\n"),
            "{run}"
        );
        assert_eq!(said.lines().count(), 3, "{run}");
        let document = site.json(["runtime", action, "x"]).expect(1);
        assert_eq!(document["help"], "brigade tools runtime init", "{document:#}");
    }
    let brief = site.brigade.run(["work", "brief"]).stdout_text();
    assert!(brief.ends_with("\nhelp: brigade tools list\n"), "{brief}");
}

#[test]
fn the_starter_policy_names_nothing_that_is_not_there() {
    let site = Site::empty();
    site.json(["init", "--example"]).expect(0);
    site.json(["policy", "init"]).expect(0);
    let rules = site.json(["policy", "show"]).expect(0)["policy"].clone();
    assert_eq!((&rules["allowed_runtimes"], &rules["env_bindings"]), (&json!([]), &json!({})));
    let text = site.workspace.read_text(".brigade/tools/policy.toml");
    assert!(!text.contains("local-helper") && !text.contains("SAFE_ENV"), "{text}");
    assert_eq!(site.json(["doctor"]).expect(0)["issue_count"], 0);
}
