//! Approvals count only on the host and in the workspace where they were given, and never from files that git tracks.

#![allow(clippy::disallowed_methods, reason = "the tests copy workspaces and change records")]

use std::path::Path;

use brigade_tests::Site;
use serde_json::{Value, json};

const CALLS: &str = ".brigade/tools/calls.jsonl";
const PATH_OF_POLICY: &str = ".brigade/tools/policy.toml";
const NOT_HERE: &str = "not approved on this host";

/// Returns the place of the key that signs in this workspace.
fn key(site: &Site) -> std::path::PathBuf {
    site.workspace.home().join(".local/state/brigade/host.key")
}

#[test]
fn a_copied_workspace_brings_no_approvals() {
    let (site, copy) = (Site::script("echo ran >> ran.txt\n"), Site::script("echo ran >> ran.txt\n"));
    let id = site.approved("tool", "{}");
    for (path, bytes) in site.workspace.files("") {
        copy.workspace.write(Path::new(&path), bytes);
    }
    // The same host, but another workspace.
    let copy = copy.env("HOME", site.workspace.home());
    copy.run_call(&id).refused(NOT_HERE);
    assert_eq!(copy.status(&id), "pending");
    site.run_call(&id).expect(0);
}

#[test]
fn a_tracked_journal_is_refused_and_reported() {
    let site = Site::script("echo ran\n");
    let id = site.approved("tool", "{}");
    site.workspace.git_init();
    site.run_call(&id).expect(0);
    let next = site.approved("tool", r#"{"n":1}"#);
    site.workspace.git(["add", "--force", CALLS]);
    for words in [&["call", "run", &next][..], &["call", "list"], &["call", "run", "--next"]] {
        let answer = site.json(words).expect(1);
        assert_eq!(answer["code"], "tracked_state", "{words:?}: {answer:#}");
    }
    let report = site.json(["doctor"]);
    let found = report.json["issues"].as_array().expect("issues").iter();
    let tracked: Vec<&Value> = found.filter(|issue| issue["issue_type"] == "tracked_state").collect();
    assert_eq!((tracked.len(), &tracked[0]["severity"]), (1, &json!("error")), "{:#}", report.json);
    assert_eq!(site.document(["state", "adopt", "--yes"]).expect(0)["tracked"], json!([CALLS]));
    site.workspace.git(["rm", "--cached", "--quiet", CALLS]);
    site.run_call(&next).expect(0);
}

#[test]
fn a_tracked_gateway_file_names_no_agents() {
    let site = Site::script("echo ran\n");
    site.workspace.write(".brigade/tools/gateway.toml", "[[agent]]\nname = \"ada\"\n");
    assert!(site.json(["agent", "list"]).expect(0).to_string().contains("ada"));
    site.workspace.git_init();
    site.workspace.git(["add", "--force", ".brigade/tools/gateway.toml"]);
    assert_eq!(site.json(["agent", "list"]).json["code"], "tracked_state");
}

#[test]
fn tracked_configuration_counts_only_as_a_person_accepted_it() {
    let site = Site::script("echo ran >> ran.txt\n");
    let id = site.approved("tool", "{}");
    site.workspace.git_init();
    site.run_call(&id).expect(0);
    let id = site.approved("tool", r#"{"n":1}"#);
    site.workspace.git(["add", "--force", PATH_OF_POLICY]);
    let refused = |id: &str| {
        let answer = site.run_call(id).expect(1);
        assert!(answer.to_string().contains("tracked_state"), "{answer:#}");
        for words in [&["call", "plan", "tool"][..], &["policy", "explain", "tool"]] {
            assert!(site.json(words).json.to_string().contains("git tracks it"), "{words:?}");
        }
    };
    refused(&id);
    let report = site.json(["doctor"]).json;
    let found = report["issues"].as_array().expect("issues").iter();
    let found: Vec<_> =
        found.filter(|issue| issue["severity"] == "error").map(|issue| &issue["issue_type"]).collect();
    assert_eq!(found, ["tracked_state"], "{report:#}");
    let row = site.document(["state", "adopt"]).expect(0)["records"][0].clone();
    assert_eq!((&row["kind"], &row["id"]), (&json!("file"), &json!(PATH_OF_POLICY)));
    refused(&id);
    site.json(["state", "adopt", "--yes"]).expect(0);
    site.run_call(&id).expect(0);
    // Only these bytes, and only in this workspace.
    let next = site.approved("tool", r#"{"n":2}"#);
    let text = site.workspace.read_text(PATH_OF_POLICY);
    site.workspace.write(PATH_OF_POLICY, format!("{text}# more\n"));
    refused(&next);
    site.workspace.write(PATH_OF_POLICY, &text);
    site.run_call(&next).expect(0);
    let copy = Site::script("echo ran >> ran.txt\n");
    for (path, bytes) in site.workspace.files("") {
        copy.workspace.write(Path::new(&path), bytes);
    }
    copy.workspace.git_init();
    copy.workspace.git(["add", "--force", PATH_OF_POLICY]);
    let copy = copy.env("HOME", site.workspace.home());
    let plan = copy.json(["call", "plan", "tool"]).json;
    assert!(plan.to_string().contains("tracked_state"), "{plan:#}");
}

#[test]
fn the_doctor_lists_every_tracked_file_that_does_not_count() {
    let site = Site::script("echo ran\n");
    site.approved("tool", "{}");
    site.workspace.git_init();
    let files = [
        PATH_OF_POLICY,
        ".brigade/tools/gateway.toml",
        ".brigade/tools/profiles.toml",
        CALLS,
        ".brigade/tools/state.db",
        ".brigade/tools/state.db-wal",
        ".brigade/tools/pins/voice--echo.json",
    ];
    for file in &files[1..] {
        if *file != CALLS {
            site.workspace.write(file, "");
        }
    }
    for file in files {
        site.workspace.git(["add", "--force", file]);
    }
    let report = site.json(["doctor"]).json;
    let issues = report["issues"].as_array().expect("issues").iter();
    let tracked = issues.filter(|issue| issue["issue_type"] == "tracked_state");
    let details: Vec<&str> = tracked.filter_map(|issue| issue["detail"].as_str()).collect();
    assert_eq!(details.len(), files.len(), "{details:?}");
    for file in files {
        assert!(details.iter().any(|detail| detail.contains(&format!("`{file}`"))), "{file}: {details:?}");
    }
}

#[test]
fn no_key_is_made_before_something_is_approved() {
    let site = Site::script("echo ran\n");
    let id = site.queue("tool", "{}");
    site.json(["call", "list"]).expect(0);
    site.json(["call", "show", &id]).expect(0);
    assert!(!key(&site).exists());
    site.json(["call", "approve", &id]).expect(0);
    assert!(key(&site).exists());
}
