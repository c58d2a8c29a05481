//! From the file of an agent program to a receipt, and messages when that file changes.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;

use brigade_testkit::fixtures;
use brigade_tests::Site;
use serde_json::{Value, json};

const VALUE: &str = "canary-EXAMPLE-value";

/// Returns a workspace with the fixture's MCP server, configured in Cursor.
fn site() -> Site {
    let site = Site::empty().env("HOST_VOICE", VALUE);
    site.workspace.write(".brigade/tools.toml", "");
    let server = fs::read(fixtures().join("mcp/server.py")).unwrap();
    site.workspace.write("server.py", server);
    site.workspace.write(
        ".brigade/tools/policy.toml",
        "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\"]\nenv_bindings = { VOICE = \"HOST_VOICE\" }\n",
    );
    configure(
        &site,
        r#"{"command": "python3", "args": ["-S", "-E", "server.py"], "env": {"VOICE": "${SOUND}"}}"#,
    );
    site
}

fn configure(site: &Site, server: &str) {
    site.workspace.write(".cursor/mcp.json", format!("{{\"mcpServers\": {{\n\"voice\": {server}}}}}"));
}

fn issues<'d>(document: &'d Value, kind: &str) -> Vec<&'d Value> {
    let of_kind = |issue: &&Value| issue["code"] == kind || issue["issue_type"] == kind;
    document["issues"].as_array().unwrap().iter().filter(of_kind).collect()
}

#[test]
fn agent_server_is_registered_imported_and_called() {
    let site = site();
    let row = site.json(["register", "mcp:voice"]).expect(0)["registered"][0].clone();
    assert_eq!(row["next_command"], "${EDITOR:-vi} +4 .brigade/tools/runtimes.toml");
    // Until the entry is enabled, it cannot be started, and all messages name the same line.
    let import = site.json(["import", "mcp", "voice"]).expect(1);
    assert!(import.to_string().contains("+4 .brigade/tools/runtimes.toml"), "{import}");
    site.workspace.replace(".brigade/tools/runtimes.toml", "enabled = false", "enabled = true");
    let imported = site.json(["import", "mcp", "voice", "--tool", "echo"]).expect(0);
    assert_eq!(imported["added_count"], 1);
    let id = imported["tools"][0]["tool_id"].as_str().unwrap().to_owned();
    let entry = format!("id = \"{id}\"");
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    let (before, own) = catalog.split_once(&entry).unwrap();
    assert!(own.contains("env_labels = [\"VOICE\"]"), "{own}");
    let own = own.replacen("enabled = false", "enabled = true\neffects = [\"local-read\"]", 1);
    site.workspace.write(".brigade/tools.toml", format!("{before}{entry}{own}"));
    let receipt = site.receipt_of(&id, r#"{"text":"hello"}"#);
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    site.assert_nowhere(VALUE.as_bytes(), &[]);
    // The server offers tools. It cannot be called itself.
    let shown = site.json(["show", "voice"]).expect(0)["tool"].clone();
    assert_eq!(shown["suggested_capabilities"], json!(["echo"]));
    site.json(["call", "plan", "voice"]).expect(1);
}

#[test]
fn a_policy_that_stops_the_server_says_where() {
    let site = site();
    site.json(["register", "mcp:voice"]).expect(0);
    site.workspace.replace(".brigade/tools/runtimes.toml", "enabled = false", "enabled = true");
    site.workspace.replace(".brigade/tools/policy.toml", "[\"mcp\"]", "[\"script\"]");
    let refused = site.tools(["import", "mcp", "voice"]);
    refused.assert_code(1);
    assert!(refused.stderr_text().contains(".brigade/tools/policy.toml"), "{refused}");
    assert!(!refused.stderr_text().contains("policy doctor"), "{refused}");
}

#[test]
fn changed_or_missing_definition_is_only_reported() {
    let site = site();
    site.json(["register", "mcp:voice"]).expect(0);
    let files =
        [".brigade/tools.toml", ".brigade/tools/runtimes.toml"].map(|path| site.workspace.read_text(path));
    let synced = site.json(["sync"]).expect(0);
    assert_eq!(issues(&synced, "registered_source_changed"), [] as [&Value; 0]);
    assert_eq!(issues(&site.json(["doctor"]).expect(0), "registered_source_changed"), [] as [&Value; 0]);
    configure(
        &site,
        r#"{"command": "python3", "args": ["-S", "server.py", "--loud"], "env": {"VOICE": "${SOUND}", "PITCH": "a"}, "description": "Sings"}"#,
    );
    // The cache is old, and doctor reads nothing else.
    assert_eq!(issues(&site.json(["doctor"]).expect(0), "registered_source_changed"), [] as [&Value; 0]);
    for words in [&["sync", "--dry-run"][..], &["sync"], &["sync"]] {
        let synced = site.json(words).expect(0);
        let found = issues(&synced, "registered_source_changed");
        assert_eq!(
            (found.len(), &found[0]["line"], &found[0]["entry_id"], &found[0]["refs"]),
            (1, &json!(2), &json!("mcp:voice"), &json!(["mcp:voice@cursor/project"]))
        );
        let message = found[0]["message"].as_str().unwrap();
        for part in [
            "description is `Sings` and not nothing",
            "env_labels is `PITCH, VOICE` and not `VOICE`",
            "command is `python3 -S server.py --loud` and not `python3 -S -E server.py`",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
    let doctor = site.json(["doctor"]).expect(0);
    let found = issues(&doctor, "registered_source_changed");
    assert_eq!(
        (found.len(), &found[0]["tool_id"], &found[0]["file"], &found[0]["line"]),
        (1, &json!("voice"), &json!(".cursor/mcp.json"), &json!(2))
    );
    assert_eq!(
        found[0]["fix"],
        "brigade tools register mcp:voice@cursor/project --id voice --level project --replace"
    );
    let now =
        [".brigade/tools.toml", ".brigade/tools/runtimes.toml"].map(|path| site.workspace.read_text(path));
    assert_eq!(now, files, "nothing follows by itself");
    // A broken file gives no information about its entries.
    configure(&site, "{");
    let synced = site.json(["sync"]).expect(0);
    assert_eq!(issues(&synced, "registered_source_gone"), [] as [&Value; 0]);
    site.workspace.write(".cursor/mcp.json", "{}");
    let synced = site.json(["sync"]).expect(0);
    assert_eq!(issues(&synced, "registered_source_gone").len(), 1);
    let doctor = site.json(["doctor"]).expect(0);
    assert_eq!(issues(&doctor, "registered_source_gone")[0]["file"], ".brigade/tools.toml");
    // The suggested command fixes it.
    configure(&site, r#"{"command": "python3", "args": ["-S", "server.py"]}"#);
    site.json(["register", "mcp:voice@cursor/project", "--id", "voice", "--level", "project", "--replace"])
        .expect(0);
    let synced = site.json(["sync"]).expect(0);
    assert_eq!(issues(&synced, "registered_source_changed"), [] as [&Value; 0]);
}

#[test]
fn runtime_gets_label_values_unshown() {
    let site = Site::script("true\n").env("HOST_VOICE", VALUE);
    site.workspace
        .write("serve.sh", "[ \"$VOICE\" = canary-EXAMPLE-value ] && echo bound >> seen\nexec sleep 600\n");
    site.workspace.write(
        ".brigade/tools/runtimes.toml",
        "[[runtime]]\nid = 'voice'\nname = 'Voice'\ncommand = 'sh serve.sh'\nenv_labels = ['VOICE']\n",
    );
    let refused = site.json(["runtime", "start", "voice"]);
    assert_ne!(refused.code, 0);
    assert!(refused.json.to_string().contains("runtime_env_missing"), "{}", refused.json);
    site.workspace.write(".brigade/tools/policy.toml", "env_bindings = { VOICE = \"UNSET\" }\n");
    let doctor = site.json(["doctor"]).expect(0);
    assert_eq!(issues(&doctor, "runtime_env_missing").len(), 1);
    site.workspace.replace(".brigade/tools/policy.toml", "UNSET", "HOST_VOICE");
    let shown = site.json(["runtime", "show", "voice"]).expect(0)["runtime"].clone();
    assert_eq!((&shown["env_labels"], &shown["issues"]), (&json!(["VOICE"]), &json!([])));
    site.json(["runtime", "start", "voice"]).expect(0);
    brigade_tests::until("the runtime says that it has the value", || {
        site.workspace.exists("seen").then_some(())
    });
    site.json(["runtime", "stop", "voice"]).expect(0);
    site.assert_nowhere(VALUE.as_bytes(), &["serve.sh"]);
}

#[test]
fn project_runtimes_precede_user_runtimes() {
    let site = site();
    let folder = site.workspace.home().join(".config/brigade/tools");
    fs::create_dir_all(&folder).unwrap();
    let runtime = |id: &str, name: &str| {
        format!(
            "[[runtime]]\nid = '{id}'\nname = '{name}'\ncommand = 'python3 -S -E server.py'\non_demand = true\n"
        )
    };
    let file = folder.join("runtimes.toml");
    fs::write(&file, runtime("voice", "of the user") + &runtime("choir", "choir")).unwrap();
    site.workspace.write(".brigade/tools/runtimes.toml", runtime("voice", "of the project"));
    let listed = site.json(["runtime", "list"]).expect(0);
    let names: Vec<&Value> = listed["runtimes"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["of the project", "choir"]);
    assert_eq!(site.json(["import", "mcp", "choir", "--tool", "echo"]).expect(0)["added_count"], 1);
    // A broken file of the user is reported, and does not affect the project.
    fs::write(&file, runtime("choir", "choir") + "[[runtime]]\nid = 'lost'\n").unwrap();
    let listed = site.json(["runtime", "list"]).expect(0);
    assert_eq!((&listed["valid"], &listed["errors"]), (&json!(true), &json!([])));
    assert!(listed["issues"].to_string().contains(file.to_str().unwrap()), "{listed:#}");
    let doctor = site.json(["doctor"]).expect(0);
    assert!(issues(&doctor, "runtime_config").iter().any(|issue| issue["file"] == file.to_str().unwrap()));
    fs::remove_file(site.workspace.path().join(".brigade/tools/runtimes.toml")).unwrap();
    fs::write(&file, "[[runtime]\n").unwrap();
    let listed = site.json(["runtime", "list"]).expect(0);
    assert!(listed["issues"].to_string().contains(file.to_str().unwrap()), "{listed:#}");
}

/// Issue 15: the name of a server does not identify its workspace.
#[test]
fn user_tool_is_compared_with_its_source() {
    let (here, there) = (site(), site());
    let there = there.env("HOME", here.workspace.home().to_str().unwrap());
    here.json(["register", "mcp:voice", "--level", "user"]).expect(0);
    configure(&there, r#"{"command": "python3", "args": ["-S", "other.py"]}"#);
    for document in [there.json(["sync"]).expect(0), there.json(["doctor"]).expect(0)] {
        assert_eq!(issues(&document, "registered_source_changed"), [] as [&Value; 0], "{document:#}");
    }
    let found = there.json(["discover"]).expect(0)["entries"].clone();
    let entry = found.as_array().unwrap().iter().find(|entry| entry["id"] == "mcp:voice").unwrap();
    assert_eq!(entry["registered_as"], Value::Null, "{entry:#}");
    // Its source file is still watched.
    configure(&here, r#"{"command": "python3", "args": ["-S", "other.py"]}"#);
    assert_eq!(issues(&here.json(["sync"]).expect(0), "registered_source_changed").len(), 1);
}
