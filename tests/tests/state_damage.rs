//! `state check` finds receipts that are none or that are gone, and `call plan` shows what the policy probably did not mean.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tests damage what the binary wrote")]

use std::fs;
use std::path::Path;

use brigade_tests::Site;
use serde_json::{Value, json};

/// Checks what a state is said to be after something happened to the receipt of its one run.
#[track_caller]
fn check(damage: impl Fn(&Path), expect: &[&str]) {
    let site = Site::script("echo done\n");
    let receipt = site.receipt_of("tool", "{}");
    let check = |code: i32| site.json(["state", "check"]).expect(code);
    assert_eq!(check(0)["damage"], json!([]));
    let path = receipt["receipt_path"].as_str().unwrap();
    damage(Path::new(path));
    let report = check(i32::from(!expect.is_empty()));
    assert_eq!(report["valid"], expect.is_empty());
    let found = report["damage"].as_array().unwrap();
    let problems: Vec<&Value> = found.iter().map(|damage| &damage["problem"]).collect();
    assert_eq!(problems, expect, "{report:#}");
    assert!(found.iter().all(|damage| damage["file"] == path), "{report:#}");
}

#[test]
fn receipts_that_cannot_be_read_are_damage() {
    const GONE: &str = "the ledger names it, and there is no such file";
    check(|_| {}, &[]);
    check(|path| fs::remove_file(path).unwrap(), &[GONE]);
    check(
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
        &[GONE],
    );
}

#[test]
fn a_receipt_of_garbage_is_damage() {
    let site = Site::script("echo done\n");
    let receipt = site.receipt_of("tool", "{}");
    let path = receipt["receipt_path"].as_str().unwrap();
    for garbage in ["", "{", "[]", "{\"id\": 7}", "\u{1}\u{2}"] {
        fs::write(path, garbage).unwrap();
        let report = site.json(["state", "check"]).expect(1);
        assert_eq!((&report["valid"], &report["damage"][0]["file"]), (&json!(false), &json!(path)));
        assert_eq!(report["damage"].as_array().map(Vec::len), Some(1), "{report:#}");
    }
    let shown = site.tools(["state", "check"]).stderr_text();
    assert_eq!(shown, "next: brigade tools run verify\n", "a compaction brings no receipt back");
}

#[test]
fn a_plan_shows_keys_of_the_policy_that_have_no_effect() {
    let site = Site::script("echo done\n");
    assert_eq!(site.json(["call", "plan", "tool"]).expect(0)["warnings"], json!([]));
    let policy = site.workspace.read_text(".brigade/tools/policy.toml");
    site.workspace.write(".brigade/tools/policy.toml", format!("denied_efects = [\"network\"]\n{policy}"));
    let plan = site.json(["call", "plan", "tool"]).expect(0);
    let warning = plan["warnings"][0].as_str().unwrap();
    assert!(warning.contains("policy.toml:1:1: denied_efects: unknown key"), "{plan:#}");
    let shown = site.tools(["call", "plan", "tool"]);
    assert!(
        shown.stderr_text().contains("note: ") && shown.stderr_text().contains("denied_efects"),
        "{shown}"
    );
}
