//! A judge: a worker that reviews a call before a rule approves it.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the judge answers from beside the workspace, and git tracks a file"
)]

use std::fs;
use std::process::Command;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{BOUND, Client, GATEWAY, assert_stands, id_of, runs, site};

/// Returns the gateway's test site, whose agent `local` has its calls judged. The judge answers with the content of a
/// file, and records its input.
fn judged_site(verdict: &str) -> Site {
    let site = site();
    let (told, answer) = (site.beside("told"), site.beside("verdict"));
    answer_with(&site, verdict);
    site.workspace.write("judge.sh", format!("cat >> {}\ncat {}\n", told.display(), answer.display()));
    let command = format!("sh {}", site.workspace.path().join("judge.sh").display());
    let gateway = format!(
        "[judge]\nworker = \"wise\"\n\n[[worker]]\nid = \"wise\"\ncommand = {command:?}\n\n\
         [[agent]]\nname = \"local\"\nprofiles = [\"guard.strict\"]\n"
    );
    site.workspace.write(GATEWAY, gateway);
    let profile =
        "[[profile]]\nname = \"guard.strict\"\n  [[profile.rule]]\n  match = \"*\"\n  action = \"judge\"\n";
    site.workspace.write(".brigade/tools/profiles.toml", profile);
    site.trust(["judge"]);
    site
}

fn answer_with(site: &Site, verdict: &str) {
    fs::write(site.beside("verdict"), verdict).unwrap();
}

/// Returns how often the judge was asked.
fn asked(site: &Site) -> usize {
    fs::read_to_string(site.beside("told")).unwrap_or_default().matches("You are the agent judge").count()
}

fn verdict(score: &str) -> String {
    format!("{{\"score\": {score}, \"confidence\": 0.8, \"reasoning\": \"it says {BOUND}\"}}")
}

fn latest(site: &Site) -> Value {
    let runs = site.json(["run", "list"]).expect(0)["runs"].clone();
    let of_calls = runs.as_array().and_then(|runs| runs.iter().find(|run| run["kind"] != "attempt").cloned());
    let id = of_calls.and_then(|run| run["id"].as_str().map(str::to_owned)).unwrap_or_default();
    site.json(["run", "show", id.as_str()]).expect(0)["run"].clone()
}

/// Issue 42: an agent rewrote its judge.
#[test]
fn a_changed_judge_is_not_asked() {
    let site = judged_site(&verdict("1"));
    let judge = site.workspace.read_text("judge.sh");
    site.workspace.write("judge.sh", format!("touch evil\n{judge}"));
    let mut client = Client::connect(&site, "local");
    let result = client.call("at-once", json!({"text": "hello"}));
    assert_stands(&result, "pending", "approval_pending");
    assert_eq!((runs(&site, "at-once"), asked(&site)), (0, 0));
    site.trust(["worker:wise"]);
    assert_stands(&client.call("at-once", json!({"text": "again"})), "completed", "");
}

#[test]
fn a_call_that_a_judge_passes_is_approved_by_the_rule() {
    let site = judged_site(&verdict("0.7"));
    let mut client = Client::connect(&site, "local");
    let result = client.call("at-once", json!({"text": "hello"}));
    assert_stands(&result, "completed", "");
    assert_eq!((runs(&site, "at-once"), asked(&site)), (1, 1));
    let receipt = latest(&site);
    assert_eq!(receipt["approval"]["by"], "rule", "{receipt:#}");
    let judge = &receipt["judge"];
    assert_eq!((&judge["worker"], &judge["passed"]), (&json!("wise"), &json!(true)), "{judge:#}");
    assert_eq!((&judge["score"], &judge["threshold"]), (&json!(0.7), &json!(0.7)));
    assert!(!receipt.to_string().contains(BOUND), "{receipt:#}");
    // The judge has a separate receipt, and saw the call.
    let own = judge["run_id"].as_str().unwrap_or_default();
    let own = site.json(["run", "show", own]).expect(0)["run"].clone();
    assert_eq!((&own["kind"], &own["tool_id"]), (&json!("attempt"), &json!("at-once")));
    let told = fs::read_to_string(site.beside("told")).unwrap_or_default();
    assert!(told.contains("\"text\": \"hello\"") && told.contains("local-read"), "{told}");
    site.json(["run", "verify"]).expect(0);
}

#[test]
fn a_call_rejected_by_the_judge_waits_for_a_person() {
    for answer in [verdict("0.69"), "no idea".to_owned(), verdict("7"), String::new()] {
        let site = judged_site(&answer);
        let mut client = Client::connect(&site, "local");
        let result = client.call("at-once", json!({"text": "hello"}));
        assert_stands(&result, "pending", "approval_pending");
        let again = client.call("at-once", json!({"text": "hello"}));
        assert_eq!(id_of(&again), id_of(&result), "{answer}");
        // A pending call is not judged again.
        assert_eq!((runs(&site, "at-once"), asked(&site)), (0, 1), "{answer}");
        site.json(["call", "approve", &id_of(&result)]).expect(0);
        assert_stands(&client.call("at-once", json!({"text": "hello"})), "completed", "");
        let receipt = latest(&site);
        assert_eq!(receipt["approval"]["by"], "person", "{answer}: {receipt:#}");
        assert_eq!(receipt["judge"]["passed"], false, "{answer}: {receipt:#}");
        assert_eq!(
            receipt["judge"]["score"].is_null(),
            receipt["judge"]["problem"].is_string(),
            "{receipt:#}"
        );
    }
}

#[test]
fn calls_without_a_rule_are_not_judged() {
    let site = judged_site(&verdict("1"));
    let mut client = Client::connect(&site, "local");
    assert_stands(&client.call("asks", json!({"text": "hello"})), "pending", "approval_pending");
    assert_eq!(asked(&site), 0);
}

#[test]
fn a_tracked_gateway_file_starts_no_judge() {
    let site = judged_site(&verdict("1"));
    let root = site.workspace.path();
    for words in [&["init", "-q"][..], &["add", "-f", GATEWAY][..]] {
        assert!(Command::new("git").arg("-C").arg(root).args(words).status().unwrap().success());
    }
    let refused = site.json(["agent", "list"]);
    assert_eq!((&refused.json["code"], asked(&site)), (&json!("tracked_state"), 0), "{:#}", refused.json);
    let served = site.brigade.run(["serve"]);
    assert!(served.code() != Some(0) && served.stderr_text().contains("git tracks"), "{served}");
}
