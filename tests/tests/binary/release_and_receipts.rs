//! A release that pauses at a checkpoint, and receipts that a Python script can verify.

#![allow(clippy::disallowed_methods, reason = "tests start Python and change receipts")]

use std::process::Command;

use brigade_testkit::fixtures;
use brigade_tests::Site;
use serde_json::{Value, json};

/// Runs the release until it pauses. Returns its checkpoint.
fn paused(site: &Site) -> String {
    let id = site.approved("release", r#"{"version":"1.2.3"}"#);
    let document = site.run_call(&id).expect(0);
    assert_eq!(
        (&document["call"]["status"], &document["receipt"]["exit_code"]),
        (&json!("waiting"), &json!(0))
    );
    assert_eq!(site.workspace.read_text("release-notes.txt"), "draft of 1.2.3\n");
    let list = site.json(["checkpoint", "list"]).expect(0);
    assert_eq!(list["checkpoints"][0]["prompt"], "Publish 1.2.3?");
    list["checkpoints"][0]["id"].as_str().map(str::to_owned).unwrap_or_default()
}

fn resumed(site: &Site, checkpoint: &str, choice: &str) -> Value {
    site.json(["checkpoint", "approve", checkpoint, "--choice", choice]).expect(0);
    site.json(["checkpoint", "resume", checkpoint]).expect(0)
}

#[test]
fn a_release_pauses_and_continues_with_the_choice() {
    for (choice, notes) in [("publish", Some("released 1.2.3\n")), ("abort", None)] {
        let site = Site::fixture("release");
        let checkpoint = paused(&site);
        site.json(["checkpoint", "approve", &checkpoint, "--choice", "maybe"]).expect(1);
        let document = resumed(&site, &checkpoint, choice);
        assert_eq!(document["call"]["status"], "completed", "{document:#}");
        assert_eq!(document["checkpoint"]["status"], "resumed");
        assert_eq!(document["receipt"]["resume"]["selected_choice"], choice);
        let left =
            site.workspace.exists("release-notes.txt").then(|| site.workspace.read_text("release-notes.txt"));
        assert_eq!(left.as_deref(), notes);
    }
}

#[test]
fn python_alone_can_check_the_receipts() {
    let site = Site::fixture("release");
    let checkpoint = paused(&site);
    resumed(&site, &checkpoint, "publish");
    let verify = || {
        let script = fixtures().join("verify_receipts.py");
        let run =
            Command::new("python3").arg(script).arg(site.workspace.path()).output().expect("Python runs");
        (run.status.code(), String::from_utf8_lossy(&run.stdout).trim().to_owned())
    };
    assert_eq!(verify(), (Some(0), "everything fits together".to_owned()));
    let latest = site.json(["run", "latest"]).expect(0);
    let path = latest["run"]["receipt_path"].as_str().expect("a receipt has a path").to_owned();
    let receipt = std::fs::read_to_string(&path).expect("the receipt is there");
    std::fs::write(&path, receipt.replace("completed", "failed")).expect("the receipt can be changed");
    let id = latest["run"]["id"].as_str().unwrap_or_default();
    assert_eq!(verify(), (Some(1), format!("the receipt of {id} was changed or removed")));
    site.json(["run", "verify"]).expect(1);
    // Variants that Brigade treats as missing, or as torn by a crash.
    std::fs::write(&path, &receipt).expect("the receipt can be changed");
    let ledger = ".brigade/tools/runs/ledger.jsonl";
    let sound = site.workspace.read_text(ledger);
    site.workspace.write(ledger, format!("{sound}{{\"x"));
    assert_eq!(
        verify().0,
        site.json(["run", "verify"]).json["valid"].as_bool().map(|valid| i32::from(!valid))
    );
    site.workspace.write(ledger, &sound);
    let beside = site.beside("receipt.json");
    std::fs::rename(&path, &beside).expect("the receipt can be moved");
    std::os::unix::fs::symlink(&beside, &path).expect("a link can be made");
    assert_eq!(verify(), (Some(1), format!("the receipt of {id} was changed or removed")));
    site.json(["run", "verify"]).expect(1);
    for garbage in ["garbage", "[]", "{}", "7"] {
        site.workspace.write(ledger, format!("{garbage}\n{}", site.workspace.read_text(ledger)));
        assert_eq!(verify(), (Some(1), "line 1 of the ledger is not an entry".to_owned()));
    }
}
