//! Operations that an agent can never do over MCP: install, register, approve, promote, accept pins, or decide.

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{CATALOG, Client, GATEWAY, POLICY, about, id_of, late, runs, site, text};

/// All tools of the gateway itself. None of them makes decisions, and none may be added that does.
const CONTROL: [&str; 10] = [
    "budget.get",
    "call.cancel",
    "call.list",
    "call.status",
    "call.wait",
    "output.read",
    "tools.call",
    "tools.describe",
    "tools.list",
    "tools.search",
];

/// Commands that only a person may run. `CALL` is a pending call.
const DECISIONS: [&str; 36] = [
    "agent.add",
    "agent.remove",
    "agent.rotate",
    "call.approve",
    "call.hold",
    "call.queue",
    "call.reject",
    "call.run",
    "checkpoint.approve",
    "checkpoint.reject",
    "checkpoint.resume",
    "keys.init",
    "parity.closeout",
    "pins.accept",
    "policy.init",
    "profile.promote",
    "run.replay",
    "runtime.restart",
    "runtime.start",
    "runtime.stop",
    "sync.apply",
    "tools.apply",
    "tools.approve",
    "tools.check",
    "tools.connect",
    "tools.defaults",
    "tools.discover",
    "tools.find",
    "tools.import",
    "tools.init",
    "tools.install",
    "tools.observe",
    "tools.promote",
    "tools.register",
    "tools.sources",
    "tools.sync",
];

/// An entry of a missing tool with an installer, and a policy that would allow it.
const ABSENT: &str = "[[tool]]\nid = \"absent\"\nname = \"Absent\"\ndescription = \"Is not there.\"\nfamily = \"script\"\n\
    command = \"brigade-test-absent\"\neffects = [\"local-read\"]\napproval_mode = \"on-request\"\ntimeout = 60\n\
    source = { kind = \"cli\" }\ninstall = { check = \"which brigade-test-absent\", command = \"npm install -g absent\" }\n";

fn prepared() -> Site {
    let site = site();
    site.add_to_catalog(ABSENT);
    site.workspace.replace(POLICY, "\"local-write\"]", "\"local-write\", \"network\", \"install\"]");
    site.workspace
        .write(".cursor/mcp.json", r#"{"mcpServers": {"found": {"command": "sh", "args": ["x.sh"]}}}"#);
    site.json(["sync"]).expect(0);
    site
}

/// Returns the files with decisions.
fn deciding(site: &Site) -> Vec<String> {
    let files = [CATALOG, POLICY, GATEWAY, ".brigade/tools/discovered.json", ".cursor/mcp.json"];
    let mut texts: Vec<String> = files.iter().map(|file| site.workspace.read_text(file)).collect();
    let made = [".brigade/tools/pins", ".brigade/tools/runtimes.toml", ".brigade/tools/profiles.toml"];
    texts.extend(made.iter().filter(|path| site.workspace.exists(path)).map(|path| (*path).to_owned()));
    texts
}

#[test]
fn gateway_tools_accept_only_their_arguments() {
    let site = prepared();
    let mut client = Client::connect(&site, "local");
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let listed = listed.as_array().expect("a list");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    let mut own: Vec<String> = listed.iter().map(name).collect();
    own.retain(|name| !["asks", "at-once", "absent"].contains(&name.as_str()));
    assert_eq!(own, CONTROL);
    for tool in listed.iter().filter(|tool| own.contains(&name(tool))) {
        assert_eq!(tool["inputSchema"]["additionalProperties"], json!(false), "{tool:#}");
    }
}

#[test]
fn no_listed_or_callable_tool_makes_decisions() {
    let site = prepared();
    let mut client = Client::connect(&site, "local");
    let pending = id_of(&client.call("asks", json!({"text": "one"})));
    let before = deciding(&site);
    let mut all = client.names();
    for page in
        [client.call("tools.list", json!({})), client.call("tools.search", json!({"query": "install"}))]
    {
        let rows = page["structuredContent"]["tools"].as_array().cloned().unwrap_or_default();
        all.extend(rows.iter().filter_map(|row| row["name"].as_str()).map(str::to_owned));
    }
    let arguments = [
        json!({}),
        json!({"call_id": &pending, "id": &pending, "call": &pending}),
        json!({"tool": "absent", "ids": ["absent"], "name": "absent", "ref": "mcp:found@cursor/project"}),
    ];
    let listed = client.names();
    let assert_unknown = |error: &Value, name: &str| {
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!("there is no such tool")),
            "{name}"
        );
        // A suggested name is a listed tool.
        let near = error["data"]["did_you_mean"].as_array().into_iter().flatten();
        assert!(near.clone().all(|near| listed.iter().any(|listed| near == listed)), "{name}: {error:#}");
    };
    for decision in DECISIONS {
        let last = decision.rsplit('.').next().expect("a word");
        let plain = decision.replace('.', "_");
        for name in [decision, last, &*plain, &*format!("brigade.{decision}"), &*format!("brigade_{plain}")] {
            assert!(!all.iter().any(|listed| listed == name), "{name} is listed");
            for arguments in &arguments {
                let params = json!({"name": name, "arguments": arguments});
                assert_unknown(&client.ask("tools/call", params.clone())["error"], name);
                let through = json!({"name": "tools.call", "arguments": params});
                assert_unknown(&client.ask("tools/call", through)["error"], name);
            }
            let late = late(json!({"name": name, "arguments": {}}), json!({}));
            assert_eq!(client.ask("tools/call", late)["error"]["code"], -32602, "{name} without a handshake");
            let described = client.call("tools.describe", json!({"name": name}));
            assert_eq!(described["isError"], json!(true), "{name}: {described:#}");
            assert!(text(&described).starts_with("there is no such tool"), "{name}: {described:#}");
        }
        for method in [decision.to_owned(), decision.replace('.', "/")] {
            let answer = client.ask(&method, json!({"call_id": &pending}));
            let is_ours = matches!(method.as_str(), "tools/call" | "tools/list");
            assert!(is_ours || answer["error"]["code"] == -32601, "{method}: {answer:#}");
        }
    }
    assert_eq!(deciding(&site), before, "an agent changes nothing that decides");
    assert_eq!(site.status(&pending), "pending");
    let calls = site.json(["call", "list"]).expect(0);
    let of_asks = |call: &Value| call["tool_id"] == "asks" && call["kind"] != "install";
    let calls = calls["calls"].as_array().expect("a list");
    assert!(calls.len() == 1 && calls.iter().all(of_asks), "{calls:#?}");
    assert_eq!(runs(&site, "asks"), 0);
}

#[test]
fn no_argument_of_a_control_tool_decides() {
    let site = prepared();
    let mut client = Client::connect(&site, "local");
    let pending = id_of(&client.call("asks", json!({"text": "one"})));
    for tool in ["call.status", "call.wait", "call.cancel", "call.list", "tools.describe", "output.read"] {
        for (key, value) in [
            ("approve", json!(true)),
            ("status", json!("approved")),
            ("decision", json!("approve")),
            ("reviewer", json!("ann")),
            ("agent", json!("ann")),
            ("force", json!(true)),
        ] {
            if (tool, key) == ("call.list", "status") {
                continue;
            }
            let result = client.call(tool, json!({"call_id": &pending, "timeout_seconds": 0, key: value}));
            assert_eq!(result["isError"], json!(true), "{tool} {key}: {result:#}");
        }
    }
    assert_eq!(site.status(&pending), "pending");
    assert_eq!(runs(&site, "asks"), 0);
}

#[test]
fn a_missing_tool_is_not_installed_for_an_agent() {
    let site = prepared();
    let mut client = Client::connect(&site, "local");
    let before = deciding(&site);
    for arguments in [json!({}), json!({"install": true})] {
        let answer = client.ask("tools/call", json!({"name": "absent", "arguments": arguments}));
        assert!(about(&answer["result"])["run_id"].is_null(), "{answer:#}");
        let is_refused = answer["error"].is_object() || answer["result"]["isError"] == json!(true);
        assert!(is_refused, "{answer:#}");
    }
    let calls = site.json(["call", "list"]).expect(0)["calls"].clone();
    assert!(!calls.to_string().contains("\"install\""), "{calls:#}");
    assert_eq!(deciding(&site), before);
}
