//! What an import keeps of a server, how its tools are enabled, and how updates arrive.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use brigade_tests::Site;
use serde_json::{Value, json};

/// A server that lists the tools in a file, and keeps notes in its home directory.
const SERVER: &str = r#"import json, os, sys
os.makedirs(os.path.expanduser("~/.notes"), exist_ok=True)
open(os.path.expanduser("~/.notes/started"), "a").write(os.environ.get("NOTES", "") + "\n")
def answer(method, params):
    if method == "initialize":
        known = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": known}
    if method == "tools/list": return json.load(open("tools.json"))
    if method == "tools/call": return {"content": [{"type": "text", "text": json.dumps(params["arguments"])}]}
    return {}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

const POLICY: &str = "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\", \"local-write\"]\n";

const ROW: &str = "[[runtime]]\nid = \"notes\" # mine\nname = \"Notes\"\nenabled = true\ncommand = \"python3 -S -E server.py\"\non_demand = true\n";

fn description() -> String {
    format!("Finds notes.\n\nRules:\n{}Never ask twice.", "- keep the order of the fields\n".repeat(20))
}

fn find() -> Value {
    json!({
        "name": "find", "title": "Find notes", "description": description(),
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": false},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
        "icons": [{"src": "https://notes.example/find.png"}],
    })
}

fn drop_all() -> Value {
    json!({"name": "drop", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}})
}

fn site(tools: &[Value]) -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "# mine\n");
    site.workspace.write(".brigade/tools/policy.toml", POLICY);
    site.workspace.write(".brigade/tools/runtimes.toml", ROW);
    site.workspace.write("server.py", SERVER);
    list(&site, tools);
    site
}

fn list(site: &Site, tools: &[Value]) {
    site.workspace.write("tools.json", json!({ "tools": tools }).to_string());
}

fn tool(site: &Site, id: &str) -> Value {
    site.json(["show", id]).expect(0)["tool"].clone()
}

#[test]
fn an_import_keeps_what_the_server_says() {
    let site = site(&[find(), drop_all()]);
    let imported = site.json(["import", "mcp", "notes"]).expect(0);
    let proposed: Vec<&Value> =
        imported["tools"].as_array().unwrap().iter().map(|tool| &tool["proposed_effects"]).collect();
    assert_eq!(proposed, [&json!(["local-read"]), &json!(["local-write", "local-delete"])]);
    let shown = tool(&site, "notes-find");
    assert_eq!((&shown["name"], &shown["description"]), (&json!("Find notes"), &json!(description())));
    assert_eq!((&shown["enabled"], &shown["contract"]["effects"]), (&json!(false), &json!([])));
    assert_eq!(shown["contract"]["approval_mode"], "on-request");
    let output = site.workspace.read_text(".brigade/tools/schemas/notes-find.output.json");
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap(), find()["outputSchema"]);
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    assert!(catalog.contains("icons = [\"https://notes.example/find.png\"]\n"), "{catalog}");
}

#[test]
fn tools_are_enabled_after_a_table_and_a_yes() {
    let site = site(&[find(), drop_all()]);
    site.json(["import", "mcp", "notes"]).expect(0);
    let before = site.workspace.read_text(".brigade/tools.toml");
    let unasked = site.json(["enable", "notes-*"]).expect(2);
    assert!(unasked["help"].as_str().unwrap().contains("--yes"), "{unasked:#}");
    site.json(["enable", "nots-*", "--yes"]).refused("no tool of .brigade/tools.toml matches `nots-*`");
    let misspelt = site.json(["enable", "notes-*", "--effects", "local-reed", "--yes"]).expect(2);
    assert_eq!(misspelt["error"], "`local-reed` is not an effect");
    let dry = site.json(["enable", "notes-*", "--accept-hints", "--dry-run"]).expect(0);
    assert_eq!((&dry["written"], &dry["changed_count"]), (&json!(false), &json!(2)));
    assert_eq!(dry["tools"][0]["gates"]["local"], "allow", "{dry:#}");
    assert!(dry["tools"][1]["gates"]["local"].as_str().unwrap().starts_with("hidden: "), "{dry:#}");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);

    site.json(["enable", "notes-find", "--accept-hints", "--approval", "always", "--yes"]).expect(0);
    let shown = tool(&site, "notes-find");
    assert_eq!((&shown["enabled"], &shown["contract"]["effects"]), (&json!(true), &json!(["local-read"])));
    assert_eq!(shown["contract"]["approval_mode"], "always");
    assert_eq!(tool(&site, "notes-drop")["enabled"], false);
    site.json(["enable", "notes-drop", "--yes"]).expect(0);
    assert_eq!(tool(&site, "notes-drop")["contract"]["effects"], json!([]), "hints grant nothing");
    site.json(["disable", "*", "--yes"]).expect(0);
    let after = site.workspace.read_text(".brigade/tools.toml");
    assert!(after.starts_with("# mine\n") && after.matches("enabled = false").count() == 2, "{after}");
}

#[test]
fn an_update_renews_pin_and_entry_together() {
    let site = site(&[find(), drop_all()]);
    let words = ["import", "mcp", "notes", "--enable", "--accept-hints", "--yes"];
    let imported = site.json(words).expect(0);
    assert_eq!(
        (&imported["enabled"]["written"], &imported["enabled"]["changed_count"]),
        (&json!(true), &json!(2))
    );
    let receipt = site.receipt_of("notes-find", r#"{"q":"x"}"#);
    assert_eq!(receipt["status"], "completed", "{receipt:#}");

    let mut newer = find();
    newer["description"] = json!("Finds notes, release 2.");
    newer["inputSchema"]["properties"]["limit"] = json!({"type": "integer"});
    list(&site, &[newer, json!({"name": "count", "inputSchema": {"type": "object"}})]);
    let refused = site.run_call(&site.approved("notes-find", r#"{"q":"x"}"#));
    assert_eq!(refused.json["receipt"]["mcp_error_kind"], "pin_changed");
    assert!(
        refused.json["error"].as_str().unwrap().contains("brigade tools update notes"),
        "{}",
        refused.json
    );
    let doctor = site.json(["doctor"]).json;
    let updated = |issue: &&Value| issue["issue_type"] == "server_updated";
    let issue = doctor["issues"].as_array().unwrap().iter().find(updated).cloned().unwrap_or_default();
    assert_eq!(issue["fix"], "brigade tools update notes", "{doctor:#}");

    let before = site.workspace.read_text(".brigade/tools.toml");
    let shown = site.json(["update", "notes", "--dry-run"]).expect(0);
    let actions: Vec<(&Value, &Value)> = shown["servers"][0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (&tool["tool_id"], &tool["action"]))
        .collect();
    let expect = [("notes-find", "changed"), ("notes-drop", "removed"), ("notes-count", "new")];
    assert_eq!(
        actions,
        expect.map(|(id, action)| (json!(id), json!(action))).each_ref().map(|(a, b)| (a, b))
    );
    let changes = shown["servers"][0]["tools"][0]["changes"].to_string();
    assert!(changes.contains("release 2") && changes.contains("`limit`"), "{changes}");
    let unasked = site.json(["update"]).expect(2);
    assert!(unasked["help"].as_str().unwrap().contains("--yes"), "{unasked:#}");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);

    assert_eq!(site.json(["update", "--yes"]).expect(0)["written"], true);
    let shown = tool(&site, "notes-find");
    assert_eq!((&shown["enabled"], &shown["contract"]["effects"]), (&json!(true), &json!(["local-read"])));
    assert_eq!(shown["description"], "Finds notes, release 2.");
    assert_eq!(
        [&tool(&site, "notes-count")["enabled"], &tool(&site, "notes-drop")["enabled"]],
        [false, false]
    );
    let receipt = site.receipt_of("notes-find", r#"{"q":"x","limit":3}"#);
    assert_eq!(
        (&receipt["status"], &receipt["mcp_pin"]["state"]),
        (&json!("completed"), &json!("unchanged"))
    );
    assert_eq!(site.json(["update", "--yes"]).expect(0)["changed_count"], 0);
    let doctor = site.json(["doctor"]).json;
    assert!(!doctor["issues"].as_array().unwrap().iter().any(|issue| updated(&issue)), "{doctor:#}");
}

#[test]
fn a_server_gets_a_private_home_that_stays() {
    let site = site(&[find()]);
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    site.workspace
        .write(".brigade/tools/runtimes.toml", format!("{ROW}\n[runtime.env]\nNOTES = \"plain\"\n"));
    let imported = site.json(["import", "mcp", "notes", "--enable", "--accept-hints", "--yes"]).expect(0);
    assert!(
        imported["home"].as_str().unwrap().ends_with(".brigade/tools/runtime/notes/home"),
        "{imported:#}"
    );
    assert_eq!(imported["variables"], json!(["NOTES"]));
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(
        runtimes.contains("id = \"notes\" # mine\n") && runtimes.contains("home = \"private\"\n"),
        "{runtimes}"
    );
    let started = ".brigade/tools/runtime/notes/home/.notes/started";
    assert_eq!(site.workspace.read_text(started), "plain\n");
    assert_eq!(site.receipt_of("notes-find", r#"{"q":"x"}"#)["status"], "completed");
    assert_eq!(site.workspace.read_text(started), "plain\nplain\n");
    assert!(!site.workspace.exists(site.workspace.home().join(".notes")));

    site.workspace.replace(".brigade/tools/runtimes.toml", "home = \"private\"", "home = \"user\"");
    site.workspace.write(".brigade/tools.toml", "");
    let refused = site.json(["import", "mcp", "notes"]).refused("the sandbox denied access to `");
    assert!(refused.to_string().contains("write_paths"), "{refused:#}");
}
