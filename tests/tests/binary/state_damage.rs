//! `state check` finds invalid and missing receipts, and `call plan` shows warnings of the policy.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests damage what the binary wrote")]

use std::fs;
use std::path::Path;

use brigade_tests::Site;
use serde_json::{Value, json};

#[test]
fn a_receipt_that_cannot_be_read_is_damage() {
    let site = Site::script("echo done\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(site.json(["state", "check"]).expect(0)["damage"], json!([]));
    let path = receipt["receipt_path"].as_str().unwrap();
    for garbage in [None, Some("{")] {
        let damaged = garbage.map_or_else(|| fs::remove_file(path), |garbage| fs::write(path, garbage));
        damaged.unwrap();
        let report = site.json(["state", "check"]).expect(1);
        assert_eq!((&report["valid"], &report["damage"][0]["file"]), (&json!(false), &json!(path)));
        assert_eq!(report["damage"].as_array().map(Vec::len), Some(1), "{report:#}");
    }
    let shown = site.tools(["state", "check"]).stderr_text();
    assert_eq!(shown, "help: brigade tools run verify\n", "a compaction brings no receipt back");
}

#[test]
fn a_plan_reports_policy_keys_without_effect() {
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

const JOURNAL: &str = ".brigade/tools/calls.jsonl";
const LEDGER: &str = ".brigade/tools/runs/ledger.jsonl";

#[test]
fn changed_log_is_found_and_missing_log_is_not() {
    let site = Site::script("seq 1 200000\necho problem >&2\n").env("TOKEN", "hunter2hunter2");
    let receipt = site.receipt_of("tool", "{}");
    let output = &receipt["output"];
    assert_eq!(output["stdout"]["log_bytes"], site.log(&receipt, "stdout").len());
    assert_eq!(output["stderr"]["log_bytes"], 8);
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    for (stream, name) in [("stdout", "standard output"), ("stderr", "standard error")] {
        let path = receipt[format!("{stream}_log_path")].as_str().unwrap();
        let whole = fs::read(path).unwrap();
        let mut changed = whole.clone();
        changed[3] ^= 1;
        let longer = [whole.as_slice(), b"x"].concat();
        for bytes in [&changed, &longer, &whole[1..].to_vec(), &Vec::new()] {
            fs::write(path, bytes).unwrap();
            let finding = site.json(["run", "verify"]).expect(1)["findings"][0].clone();
            assert_eq!((&finding["run_id"], &finding["problem"]), (&receipt["id"], &json!("changed")));
            assert_eq!(finding["detail"], format!("its log of {name} was changed"));
        }
        fs::remove_file(path).unwrap();
        assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
        fs::write(path, &whole).unwrap();
        assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    }
}

/// Damages the state of two runs. Checks that all commands name `file`, that doctor's fix works, and that unreadable
/// parts are set aside.
#[track_caller]
fn mended(damage: impl Fn(&Site), file: &str) {
    let site = Site::script("echo done\n");
    site.receipt_of("tool", r#"{"n":1}"#);
    site.receipt_of("tool", r#"{"n":2}"#);
    assert_eq!(site.tools(["state", "compact"]).code(), Some(0));
    damage(&site);
    let checked = site.json(["state", "check"]).expect(1);
    let named = checked["damage"].as_array().unwrap().iter();
    let named: Vec<&Value> = named.filter(|damage| damage["file"].as_str().unwrap().contains(file)).collect();
    assert_eq!(named[0]["next"], "brigade tools state compact", "{checked:#}");
    assert!(site.tools(["doctor"]).stdout_text().contains(file));
    let fixed = site.json(["doctor", "--fix"]).expect(0);
    assert_eq!(fixed["failed"], json!([]), "{fixed:#}");
    let checked = site.json(["state", "check"]).expect(0);
    assert_eq!(checked["quarantined"].as_array().map(Vec::len), Some(1), "{checked:#}");
    assert_eq!(site.json(["run", "verify"]).expect(0)["findings"], json!([]));
    let doctor = site.json(["doctor"]).expect(0);
    let types: Vec<&Value> =
        doctor["issues"].as_array().unwrap().iter().map(|issue| &issue["issue_type"]).collect();
    assert!(types.contains(&&json!("quarantined_lines")), "{doctor:#}");
    assert!(!doctor.to_string().contains("unreadable_lines"), "{doctor:#}");
    assert_eq!(site.json(["call", "list"]).expect(0)["counts"], json!({"completed": 2}));
    assert_eq!(site.json(["doctor", "--fix"]).expect(0)["fixed"], json!([]), "there is nothing more to mend");
    site.receipt_of("tool", r#"{"n":3}"#);
    site.json(["run", "verify"]).expect(0);
}

fn segment(site: &Site) -> (String, Vec<u8>) {
    let files = site.workspace.files(".brigade/tools/calls");
    let (path, _) = files.into_iter().find(|(path, _)| path.ends_with(".jsonl")).unwrap();
    let bytes = site.workspace.read(&path);
    (path, bytes)
}

#[test]
fn damaged_files_of_finished_calls_are_fixed() {
    mended(
        |site| {
            let (path, bytes) = segment(site);
            site.workspace.write(path, [b"garbage\n", &*bytes].concat());
        },
        "calls/segment-",
    );
}

#[test]
fn lines_of_the_ledger_that_are_not_entries_are_fixed() {
    mended(
        |site| {
            let text = site.workspace.read_text(LEDGER);
            site.workspace.write(LEDGER, format!("{text}garbage\n"));
            let shown = site.tools(["run", "verify"]).stdout_text();
            assert!(shown.contains("changed ledger.jsonl:3: a line of the ledger"), "{shown}");
        },
        "ledger.jsonl",
    );
}

#[test]
fn other_file_at_queue_path_is_moved_only_on_request() {
    mended(
        |site| {
            let journal = site.workspace.join(JOURNAL);
            fs::remove_file(&journal).unwrap();
            fs::create_dir(&journal).unwrap();
            for words in [
                vec!["call", "list"],
                vec!["call", "show", "call-x"],
                vec!["call", "queue", "tool"],
                vec!["call", "run", "--next"],
            ] {
                let answer = site.json(words);
                let text = answer.json.to_string();
                assert!(text.contains("is not a file"), "{text}");
                answer.expect(3);
            }
            assert_eq!(site.tools(["state", "export"]).code(), Some(3));
            assert!(journal.is_dir());
        },
        "calls.jsonl",
    );
}

#[test]
fn verification_begins_at_entries_that_are_there() {
    let site = Site::script("echo done\n");
    assert!(!site.tools(["run", "verify"]).stderr_text().contains("v0.30"));
    site.json(["run", "verify", "--from", "2"]).expect(2);
    site.receipt_of("tool", r#"{"n":1}"#);
    site.receipt_of("tool", r#"{"n":2}"#);
    assert_eq!(site.json(["run", "verify", "--from", "2"]).expect(0)["checked"], 1);
    let error = site.json(["run", "verify", "--from", "3"]).expect(2);
    assert!(error["error"].as_str().unwrap().contains("the last one of the ledger is 2"), "{error:#}");
    let ledger = site.workspace.read_text(LEDGER);
    let first = ledger.split_inclusive('\n').next().unwrap();
    site.workspace.write(LEDGER, first);
    let findings = site.json(["run", "verify", "--from", "2"]).expect(1)["findings"].clone();
    assert_eq!(findings[0]["problem"], "cut-off");
}

#[test]
fn export_needs_valid_receipt_and_private_key() {
    let site = Site::script("echo done\n");
    let receipt = site.receipt_of("tool", "{}");
    let id = receipt["id"].as_str().unwrap();
    let unsigned = site.tools(["run", "export", id, "--format", "dsse"]);
    assert_eq!(unsigned.code(), Some(0), "{unsigned}");
    assert!(unsigned.stderr_text().contains("the envelope is not signed"), "{unsigned}");
    assert_eq!(site.tools(["run", "export", id, "--format", "x"]).code(), Some(2));
    let keys = site.json(["keys", "init"]).expect(0);
    let key = Path::new(keys["private_key_path"].as_str().unwrap());
    let signed = site.tools(["run", "export", id]);
    assert_eq!((signed.code(), signed.stderr_text().as_str()), (Some(0), ""));
    let mode =
        |mode: u32| fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o640);
    site.json(["run", "export", id]).refused("other users can read this host's key (mode 0640)");
    mode(0o600);
    let path = receipt["receipt_path"].as_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.replace("\"exit_code\": 0", "\"exit_code\": 1")).unwrap();
    site.json(["run", "export", id]).refused("the receipt is not what was recorded: its file was changed");
}
