//! `tools check --run-checks`: results that need a start of the tool, and how long they are valid.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use brigade_tests::Site;
use serde_json::{Value, json};

/// The cache of check results.
const CHECKS: &str = ".brigade/tools/checks.json";

/// Returns a site with programs on PATH, and these lines in the entry of the tool `yq`.
fn site(programs: &[(&str, &str)], lines: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", entry("yq", lines));
    let bin = site.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    let site = site.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    programs.iter().for_each(|(name, body)| program(&site, name, body));
    site
}

fn entry(id: &str, lines: &str) -> String {
    format!(
        "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = \"myq -P\"\n\
         source = {{ kind = \"cli\" }}\n{lines}\n"
    )
}

/// Puts a shell script on PATH.
fn program(site: &Site, name: &str, body: &str) {
    let path = site.beside("bin").join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Checks `yq`; returns its row.
#[track_caller]
fn check(site: &Site, more: &[&str], code: i32) -> Value {
    let document = site.json(["check", "yq"].iter().chain(more)).expect(code);
    assert_eq!(document["ran_checks"], json!(more.contains(&"--run-checks")));
    document["tools"][0].clone()
}

const VERSION: &str = "version = \">=4.30, <5\"\nversion_command = \"myq --version\"";

#[test]
fn observed_version_holds_until_program_changes() {
    let site = site(&[("myq", "echo \"yq (https://x.example) version v4.40.5\"")], VERSION);
    let row = check(&site, &[], 1);
    assert_eq!(
        (&row["state"], &row["reasons"][0]["code"]),
        (&json!("unknown"), &json!("version_unobserved"))
    );
    assert!(!site.workspace.join(CHECKS).exists());

    let row = check(&site, &["--run-checks"], 0);
    assert_eq!((&row["state"], &row["version"]["observed"]), (&json!("available"), &json!("4.40.5")));
    assert_eq!((&row["version"]["satisfied"], &row["reasons"]), (&json!(true), &json!([])));
    let at = row["version"]["observed_at"].as_str().unwrap().to_owned();
    let mode = fs::metadata(site.workspace.join(CHECKS)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // All commands use the cached result without starting anything.
    let row = check(&site, &[], 0);
    assert_eq!((&row["state"], &row["version"]["observed_at"]), (&json!("available"), &json!(at)));
    assert_eq!(site.json(["show", "yq"]).expect(0)["tool"]["state"], "available");
    assert_eq!(site.json(["list", "--available"]).expect(0)["tool_count"], 1);
    site.json(["find", "--source", "cli", "--available"]).expect(0);
    // There is neither a call nor a receipt.
    assert_eq!(site.json(["call", "list"]).expect(0)["calls"], json!([]));
    assert_eq!(site.json(["run", "list"]).expect(0)["runs"], json!([]));

    program(&site, "myq", "echo 'version 3.2'");
    assert_eq!(check(&site, &[], 1)["state"], "unknown");
    let row = check(&site, &["--run-checks"], 1);
    assert_eq!((&row["state"], &row["version"]["observed"]), (&json!("outdated"), &json!("3.2")));
    let warnings = site.json(["call", "plan", "yq"]).json["warnings"].to_string();
    assert!(warnings.contains("its version is 3.2, and >=4.30, <5 is required"), "{warnings}");
    assert_eq!(
        (&row["version"]["satisfied"], &row["reasons"][0]["code"]),
        (&json!(false), &json!("version_outdated"))
    );
    let all = site.json(["check", "--all"]).expect(1);
    assert_eq!(all["counts"], json!({"available": 0, "missing": 0, "outdated": 1, "unknown": 0}));
    // Another program on PATH needs another check.
    fs::remove_file(site.beside("bin").join("myq")).unwrap();
    assert_eq!(check(&site, &[], 1)["state"], "missing");
}

#[test]
fn a_check_of_another_shape_is_started_on_request() {
    let site = site(&[("myq", "test -f here"), ("other", "exit 3")], "install = { check = \"myq eval\" }");
    assert_eq!(check(&site, &[], 1)["reasons"][0]["code"], "check_not_run");
    let row = check(&site, &["--run-checks"], 1);
    assert_eq!((&row["state"], &row["reasons"][0]["code"]), (&json!("missing"), &json!("check_failed")));
    site.workspace.write("here", "");
    assert_eq!(check(&site, &[], 1)["state"], "missing", "the result is valid until the program changes");
    assert_eq!(check(&site, &["--run-checks"], 0)["state"], "available");
    assert_eq!(check(&site, &[], 0)["state"], "available");
}

#[test]
fn failed_check_expires_when_program_appears() {
    let lines = "version = \">=2\"\nversion_command = \"ask version\"\ninstall = { check = \"ask there\" }";
    let body = "test -f here || exit 1; echo 2.5";
    let site = site(&[("ask", body)], lines);
    let row = check(&site, &["--run-checks"], 1);
    let codes = |row: &Value| {
        let codes = row["reasons"].as_array().unwrap().iter();
        codes.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (&row["state"], codes(&row)),
        (&json!("missing"), vec!["program_missing".into(), "check_failed".into()])
    );
    assert_eq!(codes(&check(&site, &[], 1)), ["program_missing", "check_failed"], "it is kept");

    // Installed by other means, so the checks did not run again.
    program(&site, "myq", "echo 2.5");
    site.workspace.write("here", "");
    let row = check(&site, &[], 1);
    assert_eq!(
        (&row["state"], codes(&row)),
        (&json!("unknown"), vec!["check_not_run".into(), "version_unobserved".into()])
    );
    assert_eq!(check(&site, &["--run-checks"], 0)["state"], "available");
    assert_eq!(check(&site, &[], 0)["state"], "available");

    // A result is only valid for one program.
    program(&site, "myq", "echo another");
    assert_eq!(codes(&check(&site, &[], 1)), ["check_not_run", "version_unobserved"]);
    let kept = site.workspace.read_text(CHECKS);
    assert!(kept.contains("\"programs\""), "{kept}");
}

#[test]
fn a_check_reads_and_has_path_and_home_alone() {
    let body = "{ echo x > left; } 2>/dev/null; { echo x > \"$HOME/left\"; } 2>/dev/null; echo x > \"$TMPDIR/mine\" \
        && test -z \"$SECRET_OF_HOST$LANG$USER\" && test -n \"$HOME\" && echo 1.5";
    let site = site(&[("myq", body)], "version = \"1.5\"\nversion_command = \"myq --version\"")
        .env("SECRET_OF_HOST", "hunter2")
        .env("LANG", "C");
    site.workspace.write(".brigade/tools/policy.toml", "environment.pass = [\"SECRET_OF_HOST\"]\n");
    let row = check(&site, &["--run-checks"], 0);
    assert_eq!(row["version"]["observed"], "1.5");
    let homes = [site.workspace.join("left"), site.workspace.home().join("left")];
    assert!(!homes.iter().any(|left| left.exists()), "a check writes nothing");
}

#[test]
fn hanging_checks_end_and_failed_ones_say_nothing() {
    let site = site(&[("myq", "exit 3")], VERSION);
    let row = check(&site, &["--run-checks"], 1);
    assert!(row["reasons"][0]["message"].as_str().unwrap().contains("exit code 3"), "{row:#}");
    program(&site, "myq", "exec sleep 600");
    site.workspace.write(".brigade/tools/policy.toml", "max_timeout = 0.2\n");
    let row = check(&site, &["--run-checks"], 1);
    assert!(row["reasons"][0]["message"].as_str().unwrap().contains("did not end"), "{row:#}");
}

#[test]
fn a_damaged_cache_is_said_and_replaced() {
    let site = site(&[("myq", "echo 4.40")], VERSION);
    site.workspace.write(CHECKS, "{\"schema\": \"brigade.checks.v1\", \"comma");
    assert_eq!(check(&site, &[], 1)["state"], "unknown");
    let document = site.json(["check", "yq", "--run-checks"]).expect(0);
    assert_eq!(document["notes"], json!([format!("{CHECKS} was damaged, and is replaced")]));
    let document = site.json(["check", "yq", "--run-checks"]).expect(0);
    assert_eq!(document["notes"], json!([]));
    assert_eq!(check(&site, &[], 0)["state"], "available");
    fs::remove_file(site.workspace.join(CHECKS)).unwrap();
    fs::create_dir(site.workspace.join(CHECKS)).unwrap();
    let document = site.json(["check", "yq", "--run-checks"]).expect(0);
    assert_eq!(document["notes"][0], format!("{CHECKS} is a directory and is not used; remove it"));
}

/// Returns the codes and fixes of doctor's issues about the absence of `yq`.
fn issues(site: &Site) -> Vec<(String, String)> {
    let document = site.json(["doctor"]);
    let rows = document.json["issues"].as_array().unwrap().clone();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (text(row, "issue_type"), text(row, "fix")))
        .filter(|(kind, _)| kind.starts_with("tool_") || kind == "missing_command")
        .collect()
}

#[test]
fn doctor_reports_missing_and_outdated_tools() {
    let install = "[tool.install]\ncommand = \"fetcher yq\"\n";
    let site = site(&[("myq", "echo 3.1")], &format!("{VERSION}\n{install}"));
    assert_eq!(issues(&site), []);
    site.json(["check", "--all", "--run-checks"]).expect(1);
    let fix = "brigade tools install yq".to_owned();
    assert_eq!(issues(&site), [("tool_outdated".to_owned(), fix.clone())]);

    let missing = |lines: &str| {
        let site = self::site(&[], lines);
        issues(&site)
    };
    assert_eq!(missing(install), [("missing_command".to_owned(), fix.clone())]);
    let there = "check = \"test -f there\"\n";
    assert_eq!(
        missing(&format!("{install}{there}")),
        [("missing_command".to_owned(), fix.clone())],
        "one absence is reported once"
    );
    assert_eq!(missing(&format!("availability = \"conditional\"\n{install}{there}")), []);
    let site = self::site(&[("myq", "")], &format!("availability = \"installed\"\n{install}{there}"));
    assert_eq!(issues(&site), [("tool_missing".to_owned(), fix)]);
    let harness = "[[tool]]\nid = \"yq\"\nname = \"yq\"\nfamily = \"custom\"\n\
                   source = { kind = \"harness\", provider = \"amp\" }\n";
    site.workspace.write(".brigade/tools.toml", harness);
    assert_eq!(issues(&site), [("tool_missing".to_owned(), "brigade tools show yq".to_owned())]);
    site.workspace.write(".brigade/tools.toml", format!("{harness}availability = \"conditional\"\n"));
    assert_eq!(issues(&site), []);
}

#[test]
fn a_skill_is_a_plain_file() {
    let site = site(&[], "");
    let skill = |id: &str, path: &str| {
        format!("[[tool]]\nid = \"{id}\"\nname = \"x\"\nfamily = \"skill\"\nsource_path = \"{path}\"\n")
    };
    let entries =
        [skill("pipe", "pipe"), skill("directory", "bin-of-skill"), skill("file", "file.md")].concat();
    site.workspace.write(".brigade/tools.toml", entries);
    site.workspace.write("bin-of-skill/x", "");
    site.workspace.write("file.md", "");
    let made = std::process::Command::new("mkfifo").arg(site.workspace.join("pipe")).status().unwrap();
    assert!(made.success());
    let document = site.json(["check", "--all"]).expect(1);
    let states: Vec<_> = document["tools"].as_array().unwrap().iter().map(|tool| &tool["state"]).collect();
    assert_eq!(states, ["missing", "missing", "available"], "{document:#}");
}

#[test]
fn reasons_say_in_json_what_to_do() {
    let install =
        "version = \">=4\"\nversion_command = \"myq --version\"\ninstall = { command = \"pip install yq\" }";
    let absent = site(&[], install);
    let hint =
        |site: &Site| check(site, &[], 1)["reasons"][0]["hint"].as_str().unwrap_or_default().to_owned();
    assert!(hint(&absent).contains("tools install yq"), "{}", hint(&absent));
    let untold = site(&[("myq", "echo 4.1")], install);
    assert!(hint(&untold).contains("tools check yq --run-checks"), "{}", hint(&untold));
}
