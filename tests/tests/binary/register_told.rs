//! What `tools register`, `tools sync` and `tools doctor` report about files of agent programs, and what they hide.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use brigade_tests::Site;
use serde_json::Value;

/// A value that does not look like a secret.
const PLAIN: &str = "hunter2";

fn site(servers: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "# mine\n");
    site.workspace.write(".mcp.json", format!("{{\"mcpServers\":{servers}}}\n"));
    site
}

/// Returns the codes, fields and references of the errors.
fn errors(document: &Value) -> Vec<(String, String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let rows = document["errors"].as_array().unwrap().iter();
    rows.map(|row| (text(&row["code"]).unwrap(), text(&row["field"]).unwrap_or_default(), text(&row["ref"])))
        .collect()
}

/// Issue 15: no value of `env` is shown, whether it looks like a secret or not.
#[test]
fn no_line_of_a_file_of_an_agent_program_is_shown() {
    let server = r#"{"s":{"env":{"PLAIN":"hunter2","API_KEY":"hunter2"},"command":"npx"}}"#;
    let site = site(server);
    site.json(["register", "mcp:s"]).expect(0);
    site.workspace.write(".mcp.json", format!("{{\"mcpServers\":{}}}\n", server.replace("npx", "uvx")));
    site.workspace.write(".cursor/mcp.json", r#"{"mcpServers":{"s":{"command":"other"}}}"#);
    let sync = site.tools(["sync"]);
    sync.assert_code(0);
    let doctor = site.tools(["doctor"]);
    let said = format!("{}{}", doctor.stdout_text(), doctor.stderr_text());
    for code in ["definitions_differ", "client_literal_secret", "registered_source_changed"] {
        assert!(said.contains(code), "{code}: {said}");
    }
    assert!(said.contains(" --> .mcp.json:1"), "the place is reported\n{said}");
    // The place of an error in a broken file is reported by every command.
    site.workspace.write(".mcp.json", "{\"mcpServers\":{\"s\":{\"env\":{\"PLAIN\":\"hunter2\"} x}}}\n");
    let runs = [
        doctor,
        sync,
        site.tools(["discover"]),
        site.tools(["register", "mcp:s@claude/project"]),
        site.tools(["register", ".mcp.json"]),
        site.tools(["connect", "claude", "--scope", "project", "--write"]),
        site.tools(["doctor"]),
    ];
    for run in runs {
        for stream in [&run.stdout, &run.stderr] {
            assert!(!String::from_utf8_lossy(stream).contains(PLAIN), "{run}");
        }
    }
    site.assert_nowhere(PLAIN.as_bytes(), &[".mcp.json"]);
}

/// Issue 15: a missing file is an error on the command line, and hides no other errors.
#[test]
fn a_missing_file_is_reported_with_other_errors() {
    let site = site(r#"{"fs.read":{"command":"npx"}}"#);
    let document = site.json(["register", "gone.toml", "mpc:typo", "mcp:fs.read"]).expect(2);
    let codes: Vec<String> = errors(&document).into_iter().map(|row| row.0).collect();
    assert_eq!(codes, ["file_unreadable", "file_unreadable", "reserved_tool_id"]);
    let run = site.tools(["register", "gone.toml", "mpc:typo", "mcp:fs.read"]);
    run.assert_code(2);
    let said = run.stderr_text();
    assert!(said.contains("gone.toml") && said.contains("mpc:typo") && said.contains("fs.read"), "{run}");
}

/// Issue 15: a rewritten record does not contain values that were bound meanwhile.
#[test]
fn later_bound_values_leave_the_runtime_record() {
    let site = Site::script("true\n");
    let entry = "[[runtime]]\nid = \"rt\"\nname = \"R\"\ncommand = \"sleep 600.123456789\"\n";
    site.workspace.write(".brigade/tools/runtimes.toml", entry);
    site.json(["runtime", "start", "rt"]).expect(0);
    site.workspace.replace(".brigade/tools/policy.toml", "\"CANARY\" }", "\"CANARY\", L = \"V\" }");
    let site = site.env("V", "600.123456789");
    let status = site.json(["runtime", "status"]).expect(0);
    let text = status.to_string();
    assert!(text.contains("running") && !text.contains("outdated"), "it is what was started: {status:#}");
    site.assert_nowhere(b"600.123456789", &[".brigade/tools/runtimes.toml"]);
    site.json(["runtime", "stop", "rt"]).expect(0);
    site.assert_nowhere(b"600.123456789", &[".brigade/tools/runtimes.toml"]);
}
