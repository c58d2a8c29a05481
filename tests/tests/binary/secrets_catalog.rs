//! Secrets in the catalog are refused, reported with their place, and never shown.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::Site;
use serde_json::Value;

const TOOLS: &str = ".brigade/tools.toml";
const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

/// The secret in each entry below.
const SECRET: &str = "hunter2-4711";

/// Every command that shows or stores a tool.
const COMMANDS: &[&[&str]] = &[
    &["list"],
    &["show", "tool"],
    &["search", "tool"],
    &["describe", "tool"],
    &["contracts"],
    &["doctor"],
    &["call", "plan", "tool"],
    &["call", "queue", "tool"],
    &["call", "queue", "tool", "--include-blocked"],
    &["call", "list"],
    &["policy", "explain", "tool"],
    &["plan", "--all"],
    &["apply", "--all"],
    &["import-issues"],
    &["parity", "status"],
    &["run", "list"],
];

/// Runs all commands in both forms. Neither their output nor their files may contain the secret.
#[track_caller]
fn nowhere(site: &Site, commands: &[&[&str]], source: &str) {
    for command in commands {
        for json in [&[][..], &["--json"]] {
            let run = site.tools(command.iter().chain(json));
            for stream in [&run.stdout, &run.stderr] {
                assert!(!String::from_utf8_lossy(stream).contains(SECRET), "the output holds it\n{run}");
            }
        }
    }
    site.assert_nowhere(SECRET.as_bytes(), &[source]);
}

fn issue<'r>(report: &'r Value, kind: &str) -> Vec<&'r Value> {
    let issues = report["issues"].as_array().expect("a report has issues");
    issues.iter().filter(|issue| issue["issue_type"] == kind).collect()
}

#[test]
fn secret_in_contract_is_refused_and_never_shown() {
    let lines = "permissions = [\"read\", \"token=hunter2-4711\"]\nargument_template = { a = \"--password=hunter2-4711\" }\n";
    let site = Site::script_with("echo ran > ran\n", lines);
    site.workspace.replace(TOOLS, "sh bin/tool.sh", "sh bin/tool.sh --password hunter2-4711");
    let plan = site.json(["call", "plan", "tool"]).expect(1);
    let details = plan["blocker_details"].as_array().expect("a plan has details").iter();
    let details: Vec<&Value> = details.filter(|detail| detail["code"] != "path_outside").collect();
    let report = site.json(["doctor"]).json;
    let issues = issue(&report, "secret_in_catalog");
    for field in ["command", "permissions[2]", "argument_template.a"] {
        let detail = details.iter().find(|detail| detail["field"] == field).copied().unwrap_or(&Value::Null);
        assert_eq!(
            (&detail["code"], &detail["file"]),
            (&"secret_in_catalog".into(), &TOOLS.into()),
            "{field}: {plan:#}"
        );
        assert!(detail["line"].is_u64() && detail["hint"].is_string(), "{plan:#}");
        let shown = format!("{field} holds what looks like a secret; it is not shown");
        let found = issues.iter().find(|issue| issue["detail"] == shown && issue["line"] == detail["line"]);
        let found = found.unwrap_or_else(|| panic!("{field}: {report:#}"));
        assert_eq!((&found["severity"], &found["file"]), (&"error".into(), &TOOLS.into()));
        assert!(found["column"].is_u64());
    }
    assert_eq!((details.len(), issues.len()), (3, 3));
    nowhere(&site, COMMANDS, TOOLS);
    assert!(site.json(["call", "list"]).json["calls"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn secret_in_description_is_masked_everywhere() {
    let lines = "description = \"Logs in with password=hunter2-4711 for you\"\n\
                 supported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/skills/tool/SKILL.md\" }\n";
    let site = Site::script_with("echo ok\n", lines);
    nowhere(&site, COMMANDS, TOOLS);
    let page = site.workspace.read_text(".claude/skills/tool/SKILL.md");
    assert!(page.contains("Logs in with password=[redacted] for you"), "{page}");
    let report = site.json(["doctor"]).json;
    let [found] = issue(&report, "secret_in_description")[..] else { panic!("{report:#}") };
    assert_eq!((&found["severity"], &found["file"]), (&"warning".into(), &TOOLS.into()));
    // It does not block a call.
    assert_eq!(site.receipt_of("tool", "{\"a\":1}")["status"], "completed");
    site.assert_nowhere(SECRET.as_bytes(), &[TOOLS]);
}

#[test]
fn ordinary_commands_and_labels_are_called() {
    for (command, lines) in [
        ("sh bin/tool.sh --token-file x --keys a,b --max-tokens 5", ""),
        ("sh bin/tool.sh --private-key ~/.ssh/id --secret-name db --format=%h", ""),
        ("sh bin/tool.sh password_check", "permissions = [\"secrets:read\", \"token:write\"]\n"),
        ("sh bin/tool.sh", "description = \"Manages secrets: rotate, list\"\n"),
    ] {
        let site = Site::script_with("echo \"$@\"\n", lines);
        site.workspace.replace(TOOLS, "sh bin/tool.sh", command);
        assert_eq!(site.receipt_of("tool", "{}")["command_label"], command);
        let report = site.json(["doctor"]).json;
        assert!(!report.to_string().contains("secret_in"), "{command}: {report:#}");
        assert!(!site.json(["describe", "tool"]).json.to_string().contains("[redacted]"), "{command}");
    }
}

#[test]
fn a_runtime_with_a_literal_secret_is_not_started() {
    let site = Site::script("true\n");
    let entry = "[[runtime]]\nid = \"r\"\nname = \"R\"\ncommand = \"sleep 600 --token hunter2-4711\"\n";
    site.workspace.write(RUNTIMES, entry);
    let start = site.json(["runtime", "start", "r"]).expect(1);
    assert!(start.to_string().contains("runtime_secret_in_command"), "{start:#}");
    site.workspace.replace(
        ".brigade/tools/policy.toml",
        "allowed_families = [\"script\"]",
        "allowed_families = [\"script\", \"mcp\"]",
    );
    let import = site.json(["import", "mcp", "r"]).expect(1);
    assert!(import.to_string().contains("looks like a secret"), "{import:#}");
    let commands: &[&[&str]] = &[
        &["runtime", "list"],
        &["runtime", "show", "r"],
        &["runtime", "status"],
        &["runtime", "doctor"],
        &["runtime", "start", "r"],
        &["runtime", "restart", "r"],
        &["doctor"],
    ];
    nowhere(&site, commands, RUNTIMES);
}
