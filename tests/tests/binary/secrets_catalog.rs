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
    for (field, lines, command) in [
        ("command", "", "sh bin/tool.sh --password hunter2-4711"),
        ("command", "", "sh bin/tool.sh https://bob:hunter2-4711@localhost:1/x"),
        ("command", "", "curl -ubob:hunter2-4711 https://example.com"),
        ("permissions[1]", "permissions = [\"token=hunter2-4711\"]\n", "sh bin/tool.sh"),
        ("mcp_server_id", "mcp_server_id = \"https://u:hunter2-4711@h\"\n", "sh bin/tool.sh"),
        (
            "argument_template.a",
            "argument_template = { a = \"--password=hunter2-4711\" }\n",
            "sh bin/tool.sh",
        ),
    ] {
        let site = Site::script_with("echo ran > ran\n", lines);
        site.workspace.replace(TOOLS, "sh bin/tool.sh", command);
        let plan = site.json(["call", "plan", "tool"]).expect(1);
        let details = plan["blocker_details"].as_array().expect("a plan has details").iter();
        let details: Vec<&Value> = details.filter(|detail| detail["code"] != "path_outside").collect();
        assert_eq!(details.len(), 1, "{field}: {plan:#}");
        assert_eq!(details[0]["code"], "secret_in_catalog", "{field}");
        assert_eq!((&details[0]["file"], details[0]["field"].as_str()), (&TOOLS.into(), Some(field)));
        assert!(details[0]["line"].is_u64() && details[0]["hint"].as_str().is_some(), "{plan:#}");

        let report = site.json(["doctor"]).json;
        let [found] = issue(&report, "secret_in_catalog")[..] else { panic!("{field}: {report:#}") };
        assert_eq!((&found["severity"], &found["file"]), (&"error".into(), &TOOLS.into()));
        assert_eq!(found["line"], details[0]["line"]);
        assert!(found["column"].is_u64());
        nowhere(&site, COMMANDS, TOOLS);
        assert!(site.json(["call", "list"]).json["calls"].as_array().is_some_and(Vec::is_empty));
    }
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

/// Programs may print a bound value as JSON, quoted once or twice.
#[test]
fn a_bound_value_is_masked_in_json() {
    let value = "p\u{e4}/\\ss-QzSecretValue\u{7f}";
    for printed in [
        r"p\u00e4/\\ss-QzSecretValue\u007f",
        r"p\u00e4\/\\ss-QzSecretValue\u007f",
        r"p\u00E4\/\\ss-QzSecretValue\u007F",
        r"p\\u00e4\\/\\\\ss-QzSecretValue\\u007f",
    ] {
        let body = format!("cat <<'END'\n{{\"v\": \"{printed}\"}}\nEND\n");
        let site = Site::script_with(&body, "env_labels = [\"GITHUB_TOKEN\"]\n").env("CANARY", value);
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(site.log_text(&receipt, "stdout"), "{\"v\": \"[redacted]\"}\n", "{printed}");
        site.assert_nowhere(b"QzSecretValue", &["bin/tool.sh"]);
    }
}
