//! Calls that did not finish, and how a person ends or repeats them. Every suggested command works.

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

/// Runs the command that a text suggests, and returns whether it did its job.
#[track_caller]
fn follow(site: &Site, text: &str) {
    let command = text.split("brigade tools ").nth(1).unwrap_or_else(|| panic!("no command in {text}"));
    let command = command.split(['\n', ')', '"', ';']).next().unwrap_or(command);
    site.tools(command.split_whitespace()).assert_code(0);
}

#[test]
fn what_is_suggested_after_a_runner_was_killed_works() {
    // What is shown next.
    let (site, id, run) = killed();
    let shown = site.tools(["call", "show", &id]);
    follow(&site, shown.stderr_text().split("help: ").nth(1).expect("a next command"));
    // Nothing has recorded the run so far, and its receipt is shown as it is going to be.
    let document = site.json(["run", "show", &run]).expect(0);
    assert_eq!(
        (&document["run"]["recorded"], &document["run"]["status"]),
        (&json!(false), &json!("interrupted"))
    );
    // What commands that change a call say.
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
fn the_receipt_of_an_interrupted_run_says_how_long_it_was_at_most() {
    let began = Instant::now();
    let (site, _, run) = killed();
    until("a tenth of a second is over", || (Duration::from_millis(100) < began.elapsed()).then_some(()));
    site.json(["run", "replay", &run]).expect(0);
    let receipt = site.json(["run", "show", &run]).expect(0)["run"].clone();
    let took = receipt["duration_seconds"].as_f64().expect("a number");
    assert!(0.01 < took && took < began.elapsed().as_secs_f64() + 1.0, "{receipt:#}");
    assert_eq!(receipt.get("recorded"), None);
}

/// A site with a call that waits for checkpoints.
fn waiting(checkpoint: &str) -> (Site, String) {
    let site = Site::script(&format!(
        "[ -n \"$BRIGADE_TOOL_RESUME_CHOICE\" ] || echo '{checkpoint}' > \"$BRIGADE_TOOL_CHECKPOINT_DIR/a.json\"\n"
    ));
    let id = site.approved("tool", "{}");
    assert_eq!(site.run_call(&id).expect(0)["call"]["status"], "waiting");
    (site, id)
}

/// Rejects a call that no other command takes further, and looks whether it stays so.
#[track_caller]
fn end(site: &Site, id: &str, refusal: &Value) {
    let text = refusal.to_string();
    assert!(text.contains(&format!("brigade tools call reject {id}")), "no way out in {refusal:#}");
    let call = site.json(["call", "reject", id, "--reason", "over"]).expect(0)["call"].clone();
    assert_eq!((&call["status"], &call["review_reason"]), (&json!("rejected"), &json!("over")));
    site.queue("tool", r#"{"other":1}"#);
    assert_eq!(site.status(id), "rejected");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    // What it asked was not declined.
    site.queue("tool", "{}");
}

#[test]
fn a_call_whose_checkpoint_was_rejected_can_be_ended() {
    let (site, id) = waiting(r#"{"id":"ask"}"#);
    site.json(["checkpoint", "reject", "ask", "--reason", "no"]).expect(0);
    let refusal = site.json(["checkpoint", "approve", "ask", "--choice", "yes"]).expect(1);
    end(&site, &id, &refusal);
}

#[test]
fn a_call_whose_checkpoint_expired_can_be_ended() {
    let (site, id) = waiting(r#"{"id":"ask","expires_at":"2020-01-01T00:00:00Z"}"#);
    let refusal = site.json(["checkpoint", "approve", "ask", "--choice", "yes"]).expect(1);
    end(&site, &id, &refusal);
    assert_eq!(site.json(["checkpoint", "show", "ask"]).expect(0)["checkpoint"]["status"], "rejected");
}

#[test]
fn a_call_whose_checkpoint_cannot_be_read_can_be_ended() {
    let (site, id) = waiting(r#"{"id":"ask"}"#);
    site.workspace.write(".brigade/tools/checkpoints/ask.json", "{");
    let refusal = site.json(["call", "run", &id]).expect(1);
    end(&site, &id, &refusal);
    assert_eq!(site.json(["checkpoint", "show", "ask"]).expect(0)["checkpoint"]["status"], "rejected");
}

#[test]
fn a_call_that_cannot_be_resumed_any_more_can_be_ended() {
    let (site, id) = waiting(r#"{"id":"ask"}"#);
    site.json(["checkpoint", "approve", "ask", "--choice", "yes"]).expect(0);
    assert_eq!(site.status(&id), "resume-pending");
    site.workspace.write("bin/tool.sh", "echo other\n");
    let refusal = site.json(["checkpoint", "resume", "ask"]).expect(1);
    end(&site, &id, &refusal);
    // Nothing continues with it.
    site.json(["checkpoint", "resume", "ask"]).expect(1);
    site.run_call(&id).expect(1);
}
