//! Checkpoints: a script asks, a person answers, the script continues.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use std::fs;
use std::process::Stdio;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

/// Returns a site whose script writes `ask` on the first run, and prints the answer on the second.
fn asking(ask: &str) -> Site {
    Site::script(&format!(
        r#"if [ -n "${{BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}}" ]; then
    echo "$BRIGADE_TOOL_RESUME_CHECKPOINT_ID $BRIGADE_TOOL_RESUME_CHOICE" >> resumed.txt
    echo "$BRIGADE_TOOL_RESUME_CHOICES" >> choices.txt
    exit 0
fi
cd "$BRIGADE_TOOL_CHECKPOINT_DIR"
{ask}
"#
    ))
}

const ASK: &str = r#"cat > one.json <<'END'
{"id":"gate","reason":"needs a look","prompt":"Go on?","choices":["yes","no"],"context":{"n":1}}
END"#;

fn waiting(site: &Site) -> (String, Value) {
    let id = site.approved("tool", "{}");
    let run = site.run_call(&id).expect(0);
    assert_eq!(
        (&run["call"]["status"], &run["receipt"]["status"]),
        (&json!("waiting"), &json!("waiting")),
        "{run:#}"
    );
    (id, run)
}

#[test]
fn pause_approve_resume() {
    let site = asking(ASK);
    let (id, run) = waiting(&site);
    assert_eq!(
        (&run["call"]["checkpoint_id"], &run["receipt"]["checkpoint_id"]),
        (&json!("gate"), &json!("gate"))
    );
    let list = site.json(["checkpoint", "list"]).expect(0);
    assert_eq!((&list["checkpoint_count"], &list["counts"]), (&json!(1), &json!({"pending": 1})));
    let shown = site.json(["checkpoint", "show", "ga"]).expect(0)["checkpoint"].clone();
    assert_eq!(
        (&shown["prompt"], &shown["choices"], &shown["context"]),
        (&json!("Go on?"), &json!(["yes", "no"]), &json!({"n": 1}))
    );
    assert_eq!((&shown["call_id"], &shown["run_id"]), (&json!(id), &run["receipt"]["id"]));

    // A waiting call can only continue through its checkpoint.
    site.json(["call", "approve", &id]).refused("waiting");
    site.run_call(&id).refused("checkpoint");
    site.json(["checkpoint", "resume", "gate"]).refused("checkpoint approve gate");
    let refused = site.json(["checkpoint", "approve", "gate", "--choice", "maybe"]).expect(1);
    assert_eq!((&refused["call"]["id"], &refused["call"]["status"]), (&json!(id), &json!("waiting")));
    let near = site.tools(["checkpoint", "approve", "gate", "--choice", "yess"]);
    assert!(near.stderr_text().contains("help: did you mean `yes`?"), "{near}");
    site.json(["checkpoint", "approve", "gate"]).expect(2);
    assert!(!site.workspace.exists("resumed.txt"));

    let approved = site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).expect(0);
    assert_eq!(
        (&approved["checkpoint"]["status"], &approved["call"]["status"]),
        (&json!("approved"), &json!("resume-pending"))
    );
    assert_eq!(approved["checkpoint"]["selected_choice"], "yes");
    assert!(!site.workspace.exists("resumed.txt"), "an answer runs nothing");
    site.run_call(&id).refused("checkpoint resume gate");
    site.json(["call", "run", "--next"]).expect(1);
    site.json(["checkpoint", "approve", "gate", "--choice", "no"]).expect(1);

    let resumed = site.json(["checkpoint", "resume", "gate"]).expect(0);
    assert_eq!(
        (&resumed["checkpoint"]["status"], &resumed["call"]["status"]),
        (&json!("resumed"), &json!("completed"))
    );
    assert_eq!(
        (&run["call"]["resume_checkpoint_id"], &resumed["call"]["resume_checkpoint_id"]),
        (&Value::Null, &json!("gate"))
    );
    let shown = site.json(["call", "show", &id]).expect(0);
    assert_eq!(shown["call"]["resume_checkpoint_id"], "gate");
    let receipt = &resumed["receipt"];
    assert_eq!(
        (&receipt["original_call_id"], &receipt["original_run_id"]),
        (&json!(id), &run["receipt"]["id"])
    );
    assert_eq!(
        (&receipt["resume"]["selected_choice"], &receipt["resume_run_id"]),
        (&json!("yes"), &receipt["id"])
    );
    assert_eq!(resumed["checkpoint"]["resume_run_id"], receipt["id"]);
    assert_eq!(site.workspace.read_text("resumed.txt"), "gate yes\n");

    site.json(["checkpoint", "resume", "gate"]).expect(1);
    assert_eq!(site.workspace.read_text("resumed.txt"), "gate yes\n");
    assert_eq!(site.json(["run", "list"]).expect(0)["run_count"], 2);
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn a_file_of_another_name_is_left_out_with_a_warning() {
    let check = |ask: &str, status: &str, name: &str| {
        let site = asking(ask);
        let run = site.run_call(&site.approved("tool", "{}")).expect(0);
        assert_eq!(run["call"]["status"], status, "{run:#}");
        let warning = format!("checkpoint file {name}: its name does not end in `.json`, so it is left out");
        assert_eq!((&run["warnings"], &run["receipt"]["warnings"]), (&json!([warning]), &json!([warning])));
        // No file of it remains.
        let folder = site.workspace.join(".brigade/tools/checkpoints/incoming");
        assert_eq!(fs::read_dir(folder).map_or(0, Iterator::count), 0);
    };
    check("echo notes > notes.md", "completed", "notes.md");
    check(&format!("{ASK}\necho '{{}}' > two.json.tmp"), "waiting", "two.json.tmp");
}

#[test]
fn a_checkpoint_that_is_broken_fails_the_run_visibly() {
    for (ask, because) in [
        (r#"echo '{"id":"../../x","choices":["yes"]}' > one.json"#, "id"),
        (r#"echo '{"id":"gate", canary-4711' > one.json"#, "one.json"),
        (r#"echo '{"expires_at":"tomorrow-4711"}' > one.json"#, "expires_at"),
        (r"printf '{\377' > one.json", "one.json"),
        (r#"echo '{"id":"good"}' > a.json; echo '{' > b.json"#, "b.json"),
    ] {
        let site = asking(ask);
        let id = site.approved("tool", "{}");
        let run = site.run_call(&id);
        let text = run.json.to_string();
        assert_eq!((run.code, &run.json["call"]["status"]), (1, &json!("failed")), "{ask}\n{}", run.run);
        assert!(run.json["error"].as_str().unwrap().contains(because), "{ask}\n{}", run.run);
        assert!(run.json["receipt"]["failure"].as_str().unwrap().contains(because));
        assert!(!text.contains("canary-4711") && !text.contains("tomorrow-4711"), "{text}");
        let list = site.json(["checkpoint", "list"]).expect(0);
        assert_eq!(
            (&list["checkpoint_count"], &list["error_count"]),
            (&json!(0), &json!(0)),
            "{ask}: {list:#}"
        );
        // Nothing outside of the state was written.
        let outside: Vec<_> =
            fs::read_dir(site.beside("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(outside.len(), 2, "{outside:?}");
        let incoming = site.workspace.files(".brigade/tools/checkpoints");
        assert!(incoming.is_empty(), "{ask} leaves {:?}", incoming.keys());
    }
}

#[test]
fn a_non_zero_exit_stays_on_the_receipt() {
    let site = asking(&format!("{ASK}\nexit 5"));
    let (_, run) = waiting(&site);
    assert_eq!(run["receipt"]["exit_code"], 5);
}

#[test]
fn a_run_resumes_after_all_its_checkpoints() {
    let site = asking(
        r#"echo '{"id":"first","choices":["a"],"created_at":"2026-01-01T00:00:00Z"}' > x.json
echo '{"id":"second","choices":["b"],"created_at":"2026-01-02T00:00:00Z"}' > y.json"#,
    );
    let (_, run) = waiting(&site);
    assert_eq!(run["call"]["checkpoint_id"], "first");
    let one = site.json(["checkpoint", "approve", "first", "--choice", "a"]).expect(0);
    assert_eq!(one["call"]["status"], "waiting", "the second one is still open");
    site.json(["checkpoint", "resume", "first"]).expect(1);
    assert!(!site.workspace.exists("resumed.txt"));
    let two = site.json(["checkpoint", "approve", "second", "--choice", "b"]).expect(0);
    assert_eq!(two["call"]["status"], "resume-pending");
    let resumed = site.json(["checkpoint", "resume", "second"]).expect(0);
    assert_eq!(site.workspace.read_text("resumed.txt"), "second b\n");
    assert_eq!(site.workspace.read_text("choices.txt"), "{\"first\":\"a\",\"second\":\"b\"}\n");
    let choices: Vec<(&Value, &Value)> = resumed["receipt"]["resume"]["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| (&choice["checkpoint_id"], &choice["selected_choice"]))
        .collect();
    assert_eq!(choices, [(&json!("second"), &json!("b")), (&json!("first"), &json!("a"))]);
    let list = site.json(["checkpoint", "list"]).expect(0);
    assert_eq!(list["counts"], json!({"resumed": 2}), "{list:#}");
}

#[test]
fn a_checkpoint_works_inside_the_sandbox() {
    let site = asking(ASK);
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    waiting(&site);
}

#[test]
fn foreign_file_among_checkpoints_fails_the_run() {
    let check = |also: &str, because: &str| {
        let site = asking(&format!("{ASK}\n{also}\n"));
        let id = site.approved("tool", "{}");
        let run = site.run_call(&id).expect(1);
        assert_eq!(run["call"]["status"], "failed", "{also}: {run:#}");
        let error = run["error"].as_str().unwrap_or_else(|| panic!("{run:#}"));
        assert!(error.contains(because), "{also}: {error}");
        // No file of it remains.
        let folder = site.workspace.join(".brigade/tools/checkpoints/incoming");
        assert_eq!(fs::read_dir(folder).map_or(0, Iterator::count), 0);
    };
    check(
        "mkdir -p deep.json/er; echo '{}' > deep.json/er/two.json",
        "checkpoint file deep.json: a directory",
    );
    check(r#"echo '{}' > "$(printf 'a\377.json')""#, "its name is not UTF-8");
    check("ln -s /etc/passwd two.json", "two.json: not a regular file");
}

#[test]
fn files_with_other_names_do_not_fail_the_run() {
    let others =
        r#"mkdir -p deep/er; ln -s /etc/passwd link; mkfifo pipe.txt; echo x > "$(printf 'a\377.txt')""#;
    let site = asking(&format!("{ASK}\n{others}\n"));
    let id = site.approved("tool", "{}");
    let run = site.run_call(&id).expect(0);
    assert_eq!(run["call"]["status"], "waiting", "{run:#}");
    let said = run["receipt"]["warnings"].to_string();
    for name in ["deep", "link", "pipe.txt"] {
        assert!(said.contains(name), "{name}: {said}");
    }
}

#[test]
fn killed_resumed_run_still_names_its_checkpoint() {
    let site = Site::script(
        r#"if [ -n "${BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}" ]; then
    touch started
    exec sleep 600
fi
cd "$BRIGADE_TOOL_CHECKPOINT_DIR"
echo '{"id":"gate","choices":["yes"]}' > one.json
"#,
    );
    let (id, waited) = waiting(&site);
    site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).expect(0);
    let mut command = site.brigade.command(["tools", "checkpoint", "resume", "gate"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the program continues", || site.workspace.exists("started").then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = site.json(["call", "show", &id]).expect(0)["call"]["run_id"].as_str().unwrap().to_owned();
    // Before a writer has recorded the expiry, and after.
    for _ in 0..2 {
        let receipt = site.json(["run", "show", &run]).expect(0)["run"].clone();
        assert_eq!(receipt["status"], "interrupted");
        assert_eq!((&receipt["checkpoint_id"], &receipt["original_call_id"]), (&json!("gate"), &json!(id)));
        assert_eq!(receipt["original_run_id"], waited["receipt"]["id"]);
        assert_eq!(
            (&receipt["resume_run_id"], &receipt["resume"]["selected_choice"]),
            (&json!(run), &json!("yes"))
        );
        assert_eq!(receipt["resume"]["choices"].as_array().map(Vec::len), Some(1));
        site.json(["state", "compact"]).expect(0);
    }
    assert_eq!(site.json(["checkpoint", "show", "gate"]).expect(0)["checkpoint"]["status"], "resumed");
    assert_eq!(site.status(&id), "interrupted");
}

const FILE: &str = ".brigade/tools/checkpoints/gate.json";

/// Edits the file of the checkpoint.
fn edit(site: &Site, change: impl Fn(&mut Value)) {
    let mut document: Value = serde_json::from_str(&site.workspace.read_text(FILE)).expect("a checkpoint");
    change(&mut document);
    site.workspace.write(FILE, document.to_string());
}

#[test]
fn a_changed_checkpoint_file_prevents_a_resume() {
    let site = asking(ASK);
    waiting(&site);
    let before = site.workspace.read_text(FILE);
    edit(&site, |document| document["expires_at"] = json!("2020-01-01T00:00:00+00:00"));
    site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).refused("expires_at");
    site.json(["checkpoint", "resume", "gate"]).expect(1);
    let damage = site.json(["state", "check"]).expect(1)["damage"][0].clone();
    assert_eq!(damage["next"], "brigade tools state compact", "{damage:#}");
    let issues = site.json(["doctor"]).expect(0);
    let issues = issues["issues"].as_array().expect("a list").iter();
    let issue = issues.clone().find(|issue| issue["issue_type"] == "checkpoint_invalid");
    assert!(issue.is_some_and(|issue| issue["fix"].as_str().unwrap().contains("state compact")));
    site.json(["doctor", "--fix"]).expect(0);
    assert_eq!(site.workspace.read_text(FILE), before);
    site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).expect(0);
    // Another edit between the answer and the run.
    edit(&site, |document| document["context"] = json!({"n": 2}));
    site.json(["checkpoint", "resume", "gate"]).refused("context");
    assert_eq!(site.json(["state", "compact"]).expect(0)["restored_checkpoints"], 1);
    site.json(["checkpoint", "resume", "gate"]).expect(0);
}

#[test]
fn lost_checkpoint_is_known_from_call_record() {
    let damage = |site: &Site| {
        site.workspace.remove(FILE);
        std::os::unix::fs::symlink("/etc/hostname", site.workspace.join(FILE)).unwrap();
    };
    let site = asking(ASK);
    waiting(&site);
    let before = site.workspace.read_text(FILE);
    damage(&site);
    assert_eq!(site.json(["checkpoint", "show", "gate"]).expect(0)["checkpoint"]["prompt"], "Go on?");
    assert_eq!(site.json(["checkpoint", "list"]).json["error_count"], 1);
    site.json(["state", "check"]).expect(1);
    site.json(["state", "compact"]).expect(0);
    assert_eq!(site.workspace.read_text(FILE), before);
    site.json(["state", "check"]).expect(0);
    damage(&site);
    site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).expect(0);
    damage(&site);
    site.json(["checkpoint", "resume", "gate"]).expect(0);
}
