//! `brigade tools doctor`, `list --json`, `import-issues` and `policy doctor` through the binary.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests look at the modes of files")]

use std::os::unix::fs::PermissionsExt;

use brigade_testkit::{Brigade, TempWorkspace};
use brigade_tests::{greeting, until};
use serde_json::Value;

use crate::doctor_faults::{doctor, healthy};

/// Returns a workspace with two issues: a missing manifest, and a missing policy.
fn workspace() -> TempWorkspace {
    greeting("manifest_path = \"gone.json\"")
}

fn types(report: &Value) -> Vec<&str> {
    let issues = report["issues"].as_array().unwrap().iter();
    issues.map(|issue| issue["issue_type"].as_str().unwrap()).collect()
}

#[test]
fn issues_fail_the_command_only_on_request() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["tools", "doctor", "--json"]);
    assert_eq!(types(&run.assert_code(0).json()), ["missing_manifest", "policy_missing"]);
    brigade.run(["tools", "doctor", "--strict"]).assert_code(1);
    brigade.run(["tools", "doctor", "--strict", "--only", "run"]).assert_code(0);
    brigade.run(["tools", "doctor", "--only", "nonsense"]).assert_code(2);
    workspace.write(".brigade/tools.toml", "[[tool]]\nid = 1\n");
    brigade.run(["tools", "doctor"]).assert_code(1);
}

#[test]
fn the_catalog_payload_has_the_keys_of_v030() {
    let workspace = workspace();
    let report = Brigade::new(&workspace).run(["tools", "list", "--json"]).assert_code(0).json();
    for key in [
        "target",
        "config_path",
        "valid",
        "errors",
        "tools",
        "tool_count",
        "raw_issues",
        "raw_issue_count",
        "issues",
        "issue_count",
        "top_issue",
        "parity",
        "call_queue",
        "run_history",
        "checkpoints",
        "runtimes",
        "policy",
    ] {
        assert!(report.get(key).is_some(), "{key}");
    }
    for (section, keys) in [
        (
            "parity",
            &[
                "latest_closeout",
                "quieted_issue_count",
                "quieted_issues",
                "changed_issue_count",
                "changed_issues",
            ][..],
        ),
        ("call_queue", &["calls_path", "counts", "pending_count", "issue_count", "top_issue"]),
        ("run_history", &["runs_path", "counts", "run_count", "issue_count", "top_issue", "latest"]),
        (
            "checkpoints",
            &["checkpoints_path", "counts", "checkpoint_count", "issue_count", "top_issue", "latest"],
        ),
        ("runtimes", &["config_path", "state_path", "counts", "runtime_count", "issue_count", "top_issue"]),
        ("policy", &["policy_path", "enabled", "valid", "issue_count", "top_issue"]),
    ] {
        for key in keys {
            assert!(report[section].get(*key).is_some(), "{section}.{key}");
        }
    }
    for key in [
        "status",
        "name",
        "tool_id",
        "family",
        "issue_type",
        "harness",
        "projection_target",
        "description",
        "detail",
    ] {
        assert!(report["issues"][0].get(key).is_some(), "{key}");
    }
}

#[test]
fn doctor_changes_nothing_until_it_is_asked_to_fix() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    brigade.run(["tools", "call", "queue", "greet", "--json"]).assert_code(0);
    let calls = workspace.join(".brigade/tools/calls.jsonl");
    for (path, mode) in
        [(".brigade", 0o755), (".brigade/tools", 0o755), (".brigade/tools/calls.jsonl", 0o644)]
    {
        std::fs::set_permissions(workspace.join(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    let mode = || std::fs::metadata(&calls).unwrap().permissions().mode() & 0o777;
    let before = workspace.files(".");
    assert!(types(&brigade.run(["tools", "doctor", "--json"]).json()).contains(&"wide_modes"));
    brigade.run(["tools", "list", "--json"]).assert_code(0);
    brigade.run(["tools", "policy", "doctor"]).assert_code(1);
    let planned = brigade.run(["tools", "doctor", "--fix", "--dry-run", "--json"]).assert_code(0).json();
    assert_eq!(planned["fixed_count"], 1);
    assert_eq!((workspace.files("."), mode()), (before, 0o644));
    brigade.run(["tools", "doctor", "--fix"]).assert_code(0);
    assert_eq!(mode(), 0o600);
    assert!(!types(&brigade.run(["tools", "doctor", "--json"]).json()).contains(&"wide_modes"));
}

#[test]
fn safe_fixes_are_applied_and_listed_by_dry_run() {
    let workspace = greeting("");
    let brigade = Brigade::new(&workspace);
    let runtime = "[[runtime]]\nid = \"helper\"\nname = \"Helper\"\ncommand = \"sleep 600\"\n";
    workspace.write(".brigade/tools/runtimes.toml", runtime);
    brigade.run(["tools", "call", "queue", "greet"]).assert_code(0);
    brigade.run(["tools", "import-issues"]).assert_code(0);
    // Several faults at once: an ended runtime, a lock of v0.30, damaged lines, and too permissive modes.
    brigade.run(["tools", "runtime", "start", "helper"]).assert_code(0);
    let pid = workspace.read_text(".brigade/tools/runtime/helper.pid");
    assert!(std::process::Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    until("end of the process", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        (state.is_empty() || state.starts_with('Z')).then_some(())
    });
    let lock = ".brigade/tools/.calls.jsonl.lock.0123456789abcdef0123456789abcdef.orphaned";
    workspace.write(format!("{lock}/pid"), "1\n");
    let folder = std::fs::File::open(workspace.join(lock)).unwrap();
    folder.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(7200)).unwrap();
    for file in [".brigade/tools/calls.jsonl", ".brigade/work/imports/inbox.jsonl"] {
        let text = workspace.read_text(file);
        workspace.write(file, format!("{text}garbage\n"));
        std::fs::set_permissions(workspace.join(file), PermissionsExt::from_mode(0o644)).unwrap();
    }
    for folder in [".brigade", ".brigade/tools", ".brigade/work", ".brigade/work/imports"] {
        std::fs::set_permissions(workspace.join(folder), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let kinds = |report: &Value| {
        let fixed = report["fixed"].as_array().unwrap().iter();
        fixed.map(|fix| fix["kind"].as_str().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = workspace.files("");
    let planned = brigade.run(["tools", "doctor", "--fix", "--dry-run", "--json"]).assert_code(0).json();
    let all = ["inbox", "lock", "mode", "pid-file", "queue"].map(str::to_owned);
    assert_eq!(kinds(&planned), all.into(), "{planned:#}");
    assert_eq!(workspace.files(""), before);
    let mended = brigade.run(["tools", "doctor", "--fix", "--json"]).assert_code(0).json();
    assert_eq!((kinds(&mended), &mended["failed_count"]), (kinds(&planned), &0.into()), "{mended:#}");
    assert!(!workspace.exists(lock));
    let left = brigade.run(["tools", "doctor", "--json"]).json();
    for kind in ["wide_modes", "unreadable_lines", "runtime_stale_pid"] {
        assert!(!types(&left).contains(&kind), "{kind}");
    }
    assert_eq!(types(&left).iter().filter(|kind| **kind == "quarantined_lines").count(), 2);
    let again = brigade.run(["tools", "doctor", "--fix", "--json"]).assert_code(0).json();
    assert_eq!(again["fixed_count"], 0, "{again:#}");
}

#[test]
fn sarif_has_the_structure_that_its_readers_want() {
    let workspace = workspace();
    workspace.write(".brigade/tools/policy.toml", "max_timeout = \"long\"\n");
    workspace.write("odd name.json", "{");
    let catalog = workspace.read_text(".brigade/tools.toml");
    let odd = catalog.replace("gone.json\"", "gone.json\"\nschema_path = \"odd name.json\"");
    workspace.write(".brigade/tools.toml", odd);
    let brigade = Brigade::new(&workspace);
    let log = brigade.run(["tools", "doctor", "--sarif"]).assert_code(0).json();
    assert_eq!((&log["version"], log["$schema"].is_string()), (&"2.1.0".into(), true));
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "brigade");
    let is_text = |value: &Value| value["text"].as_str().is_some_and(|text| !text.is_empty());
    let is_level = |value: &Value| matches!(value.as_str(), Some("none" | "note" | "warning" | "error"));
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        assert!(is_text(&rule["shortDescription"]) && is_text(&rule["fullDescription"]), "{rule:#}");
        assert!(is_level(&rule["defaultConfiguration"]["level"]), "{rule:#}");
    }
    let results = runs[0]["results"].as_array().unwrap();
    let found: Vec<&str> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(found, ["missing_manifest", "invalid_schema", "policy_config"]);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(is_text(&result["message"]) && is_level(&result["level"]), "{result:#}");
        let fingerprints = result["partialFingerprints"].as_object().unwrap();
        assert!(fingerprints.values().all(Value::is_string) && !fingerprints.is_empty(), "{result:#}");
        for location in result["locations"].as_array().unwrap() {
            let place = &location["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(!uri.starts_with('/') && !uri.contains([' ', '\\']), "{uri}");
            for key in ["startLine", "startColumn"] {
                let number = &place["region"][key];
                assert!(number.is_null() || number.as_u64().is_some_and(|number| 0 < number), "{place:#}");
            }
        }
    }
    let place = |index: usize| &results[index]["locations"][0]["physicalLocation"];
    assert_eq!(place(0)["artifactLocation"]["uri"], ".brigade/tools.toml");
    assert_eq!(place(0)["region"]["startLine"], 8);
    assert_eq!(place(1)["artifactLocation"]["uri"], "odd%20name.json");
}

#[test]
fn sarif_goes_to_a_file_beside_the_report() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["tools", "doctor", "--sarif", "out.sarif", "--json"]);
    assert_eq!(types(&run.assert_code(0).json()), ["missing_manifest", "policy_missing"]);
    let log: Value = serde_json::from_str(&workspace.read_text("out.sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 2);
    let below = brigade.clone().current_dir(workspace.join("bin"));
    below.run(["tools", "doctor", "--sarif", "here.sarif", "--strict"]).assert_code(1);
    assert!(workspace.exists("bin/here.sarif"));
    brigade.run(["tools", "doctor", "--sarif", "no/such/folder.sarif"]).assert_code(2);
    brigade.run(["tools", "doctor", "--sarif", "bin"]).assert_code(3);
}

#[test]
fn people_see_the_worst_first() {
    let workspace = workspace();
    workspace.write(".brigade/tools/policy.toml", "max_timeout = \"long\"\n");
    let text = Brigade::new(&workspace).run(["tools", "doctor"]).assert_code(0).stdout_text();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}`\n{text}"));
    assert!(at("errors (1)") < at("policy_config") && at("policy_config") < at("warnings (1)"), "{text}");
    assert!(at("warnings (1)") < at("missing_manifest"), "{text}");
}

#[test]
fn no_value_of_a_secret_field_is_ever_shown() {
    let workspace = workspace();
    workspace.replace(".brigade/tools.toml", "effects", "api_key = \"hunter2hunter2\"\neffects");
    let brigade = Brigade::new(&workspace);
    for words in [
        &["tools", "doctor", "--json"][..],
        &["tools", "doctor"],
        &["tools", "doctor", "--sarif"],
        &["tools", "list", "--json"],
        &["tools", "import-issues", "--json"],
        &["work", "brief", "--json"],
    ] {
        let run = brigade.run(words);
        assert!(!format!("{run}").contains("hunter2"), "{run}");
    }
    let report = brigade.run(["tools", "doctor", "--json"]).json();
    assert!(types(&report).contains(&"unsafe_auth_fields"));
    assert!(!workspace.read_text(".brigade/work/imports/inbox.jsonl").contains("hunter2"));
}

#[test]
fn an_applied_init_proposal_has_no_issues() {
    let site = healthy();
    site.workspace.remove(".brigade/tools.toml");
    site.tools(["init", "--with-skills"]).assert_code(0);
    site.json(["apply", "--all"]).expect(0);
    let report = doctor(&site);
    assert_eq!(report["issues"], Value::Array(Vec::new()), "{report:#}");
}
