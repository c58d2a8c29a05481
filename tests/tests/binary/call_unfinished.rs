//! Unfinished calls, and how a person ends or repeats them. Every suggested command works.

#![allow(clippy::disallowed_methods, reason = "a test takes the directory of receipts away from the binary")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use brigade_tests::{Site, until};
use serde_json::{Value, json};

/// A site with a call whose runner was killed.
fn killed() -> (Site, String, String) {
    let site = Site::script("echo started; touch started; exec sleep 600\n");
    let id = site.approved("tool", "{}");
    let mut command = site.brigade.command(["tools", "call", "run", &id]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the runner starts");
    until("the program runs", || site.workspace.exists("started").then_some(()));
    child.kill().expect("the runner can be killed");
    child.wait().expect("the runner ends");
    let run =
        site.json(["call", "show", &id]).expect(0)["call"]["run_id"].as_str().expect("a run").to_owned();
    (site, id, run)
}

/// Runs the command that a text suggests, and checks that it worked.
#[track_caller]
fn follow(site: &Site, text: &str) {
    let command = text.split("brigade tools ").nth(1).unwrap_or_else(|| panic!("no command in {text}"));
    let command = command.split(['\n', ')', '"', ';']).next().unwrap_or(command);
    site.tools(command.split_whitespace()).assert_code(0);
}

#[test]
fn suggestions_after_a_killed_runner_work() {
    // The suggestions of commands that show the call.
    let (site, id, run) = killed();
    let shown = site.tools(["call", "show", &id]);
    follow(&site, shown.stderr_text().split("help: ").nth(1).expect("a next command"));
    // No writer has recorded the end yet, but the receipt is shown already.
    let document = site.json(["run", "show", &run]).expect(0);
    assert_eq!(
        (&document["run"]["recorded"], &document["run"]["status"]),
        (&json!(false), &json!("interrupted"))
    );
    // The suggestions of commands that change the call.
    for words in
        [vec!["run"], vec!["hold", "--reason", "why"], vec!["reject", "--reason", "why"], vec!["approve"]]
    {
        let (site, id, run) = killed();
        let mut command = vec!["call", words[0], &id];
        command.extend(&words[1..]);
        let document = site.json(&command).expect(1);
        assert!(!document.to_string().contains("meanwhile"), "{document:#}");
        assert_eq!(document["call"]["status"], "interrupted");
        assert!(site.workspace.exists(format!(".brigade/tools/runs/{run}.json")), "{words:?}");
        follow(&site, &document.to_string());
    }
    let (site, _, run) = killed();
    let document = site.json(["run", "replay", &run]).expect(0);
    assert_eq!((&document["call"]["status"], &document["executed"]), (&json!("pending"), &json!(0)));
}

#[test]
fn interrupted_receipt_has_maximum_duration() {
    let began = Instant::now();
    let (site, _, run) = killed();
    until("a tenth of a second is over", || (Duration::from_millis(100) < began.elapsed()).then_some(()));
    site.json(["run", "replay", &run]).expect(0);
    let receipt = site.json(["run", "show", &run]).expect(0)["run"].clone();
    let took = receipt["duration_seconds"].as_f64().expect("a number");
    assert!(0.01 < took && took < began.elapsed().as_secs_f64() + 1.0, "{receipt:#}");
    assert_eq!(receipt.get("recorded"), None);
}

/// Returns a site with a call that waits for checkpoints.
fn waiting(checkpoint: &str) -> (Site, String) {
    let site = Site::script(&format!(
        "[ -n \"$BRIGADE_TOOL_RESUME_CHOICE\" ] || echo '{checkpoint}' > \"$BRIGADE_TOOL_CHECKPOINT_DIR/a.json\"\n"
    ));
    let id = site.approved("tool", "{}");
    assert_eq!(site.run_call(&id).expect(0)["call"]["status"], "waiting");
    (site, id)
}

/// Rejects a call that no other command can continue, and checks that it stays rejected.
#[track_caller]
fn end(site: &Site, id: &str, refusal: &Value) {
    let text = refusal.to_string();
    assert!(text.contains(&format!("brigade tools call reject {id}")), "no way out in {refusal:#}");
    let call = site.json(["call", "reject", id, "--reason", "over"]).expect(0)["call"].clone();
    assert_eq!((&call["status"], &call["review_reason"]), (&json!("rejected"), &json!("over")));
    site.queue("tool", r#"{"other":1}"#);
    assert_eq!(site.status(id), "rejected");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    // Its checkpoint was not declined.
    site.queue("tool", "{}");
}

#[test]
fn a_call_that_cannot_resume_can_be_ended() {
    let (site, id) = waiting(r#"{"id":"ask"}"#);
    site.json(["checkpoint", "approve", "ask", "--choice", "yes"]).expect(0);
    assert_eq!(site.status(&id), "resume-pending");
    site.workspace.write("bin/tool.sh", "echo other\n");
    let refusal = site.json(["checkpoint", "resume", "ask"]).expect(1);
    end(&site, &id, &refusal);
    // The checkpoint cannot continue the call.
    site.json(["checkpoint", "resume", "ask"]).expect(1);
    site.run_call(&id).expect(1);
}

/// Runs a call whose receipt cannot be written, because a file is in place of the directory. Returns the output of the
/// command, the call and the run.
fn unrecorded(body: &str) -> (Site, String, String) {
    let site =
        Site::script(&format!("{body}touch started\nuntil [ -e go ]; do sleep 0.02; done\necho done\n"));
    let id = site.approved("tool", "{}");
    let mut command = site.brigade.command(["tools", "call", "run", &id]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the runner starts");
    until("the program runs", || site.workspace.exists("started").then_some(()));
    let (runs, away) = (site.workspace.join(".brigade/tools/runs"), site.beside("runs"));
    std::fs::rename(&runs, &away).expect("the directory can be moved");
    site.workspace.write(".brigade/tools/runs", "");
    site.workspace.write("go", "");
    let output = child.wait_with_output().expect("the runner ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("its outcome is kept, and the next command"), "{said}");
    site.workspace.remove(".brigade/tools/runs");
    std::fs::rename(&away, &runs).expect("the directory can be moved back");
    let run =
        site.json(["call", "show", &id]).expect(0)["call"]["run_id"].as_str().expect("a run").to_owned();
    (site, id, run)
}

fn kept_outcomes(site: &Site) -> usize {
    // Empty files for later runs do not count.
    let files = site.workspace.files(".brigade/tools/outcomes");
    files.keys().filter(|file| !file.contains("spare-")).count()
}

/// Issue 12: an outcome that could not be recorded is recorded later.
#[test]
fn an_unrecorded_outcome_is_recorded_later() {
    let (site, id, run) = unrecorded("");
    assert_eq!(kept_outcomes(&site), 1);
    // Readers already see the outcome.
    assert_eq!(site.status(&id), "completed");
    let shown = site.json(["run", "show", &run]).expect(0)["run"].clone();
    assert_eq!(
        (&shown["recorded"], &shown["status"], &shown["exit_code"]),
        (&json!(false), &json!("completed"), &json!(0))
    );
    site.queue("tool", r#"{"other":1}"#);
    assert_eq!(site.status(&id), "completed");
    let receipt = site.json(["run", "show", &run]).expect(0)["run"].clone();
    assert_eq!(receipt.get("recorded"), None);
    assert_eq!((&receipt["status"], &receipt["output"]["stdout"]["bytes"]), (&json!("completed"), &json!(5)));
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    assert_eq!(kept_outcomes(&site), 0);
}

/// Issue 12: the checkpoint of a run is not lost when its receipt cannot be written.
#[test]
fn checkpoint_of_unrecorded_run_is_asked_later() {
    let (site, id, run) = unrecorded("echo '{\"id\":\"ask\"}' > \"$BRIGADE_TOOL_CHECKPOINT_DIR/a.json\"\n");
    site.queue("tool", r#"{"other":1}"#);
    assert_eq!(site.status(&id), "waiting");
    assert_eq!(site.json(["run", "show", &run]).expect(0)["run"]["checkpoint_ids"], json!(["ask"]));
    site.workspace.remove("started");
    let resumed = site.json(["checkpoint", "approve", "ask", "--choice", "approve"]);
    assert_eq!(resumed.code, 0, "{}", resumed.run);
    assert_eq!(kept_outcomes(&site), 0);
}

/// Issue 12: neither a recorded run nor an interrupted run keeps reserved space.
#[test]
fn nothing_is_reserved_when_no_call_runs() {
    let (site, id, _) = killed();
    assert_eq!(kept_outcomes(&site), 1);
    let ready = site.approved("tool", r#"{"other":1}"#);
    assert_eq!(site.status(&id), "interrupted");
    assert_eq!(kept_outcomes(&site), 0);
    site.workspace.write("bin/tool.sh", "true\n");
    site.run_call(&ready).refused("changed since it was approved");
    assert_eq!(kept_outcomes(&site), 0);
    let site = Site::script("true\n");
    site.receipt_of("tool", "{}");
    assert_eq!(kept_outcomes(&site), 0);
}
