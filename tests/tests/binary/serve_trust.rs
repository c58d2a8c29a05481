//! Rules cover only what a person has reviewed (issue 42). Nothing that an agent rewrote runs without a person.

#![allow(clippy::disallowed_methods, reason = "a test looks at what ran")]

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{
    BOUND, CATALOG, Client, GATEWAY, POLICY, add, assert_stands, id_of, runs, site, text,
};

/// A site where agents write files and run commands by rules, and a rule covers the tool `deploy`.
fn deploy_site() -> Site {
    let site = site();
    let rules = "\n[[auto_approve]]\nname = \"edit\"\ntools = [\"fs.write\"]\neffects = [\"local-write\"]\n\n\
        [[auto_approve]]\nname = \"deploy\"\ntools = [\"deploy\"]\neffects = [\"local-read\"]\n";
    let policy = site.workspace.read_text(POLICY);
    let policy = policy.replace("allowed_families = [", "allowed_families = [\"builtin\", ");
    site.workspace.write(POLICY, policy + rules);
    let agent = "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"]\n";
    site.workspace.write(GATEWAY, agent);
    add(&site, "deploy", "code = [\"lib/**\"]\n", "echo x >> deploy.sh.ran\ncat lib/part\n");
    site.workspace.write("lib/part", "part\n");
    site
}

/// Returns the gate of a tool in the agent's list.
fn gate(client: &mut Client, tool: &str) -> Value {
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("a list").clone();
    let found = tools.into_iter().find(|listed| listed["name"] == tool).expect("the tool is listed");
    found["_meta"]["brigade/tool"]["gate"].clone()
}

fn write_file(client: &mut Client, path: &str, content: &str) {
    let written = client.call("fs.write", json!({"path": path, "content": content}));
    assert_stands(&written, "completed", "");
}

#[test]
fn a_rule_covers_only_reviewed_bytes() {
    let site = deploy_site();
    let mut client = Client::connect(&site, "local");
    assert_eq!(gate(&mut client, "deploy"), "ask");
    let asked = client.call("deploy", json!({"text": "1"}));
    assert_stands(&asked, "pending", "approval_pending");
    let said = text(&asked);
    assert!(said.contains("no person has seen it; `brigade tools trust deploy`"), "{said}");
    // Approving a call is a review.
    site.tools(["call", "approve", &id_of(&asked)]).assert_code(0);
    assert_stands(&client.call("deploy", json!({"text": "2"})), "completed", "");
    let mut count = runs(&site, "deploy");
    let mut nth = 2;
    for (path, content, part) in [
        ("bin/deploy.sh", "echo evil\n", "file bin/deploy.sh"),
        ("lib/part", "evil\n", "file lib/part"),
        ("lib/more", "evil\n", "file lib/more"),
        ("schemas/text.json", "{\"type\": \"object\"}", "input schema schemas/text.json"),
    ] {
        write_file(&mut client, path, content);
        nth += 1;
        let asked = client.call("deploy", json!({"text": nth.to_string()}));
        assert_stands(&asked, "pending", "approval_pending");
        let said = text(&asked);
        assert!(said.contains(&format!("changed since a person saw it: {part}")), "{said}");
        assert_eq!(runs(&site, "deploy"), count, "{path}");
        // A new session lists what waits.
        assert_eq!(gate(&mut Client::connect(&site, "local"), "deploy"), "ask", "{path}");
        let shown = site.json(["trust", "deploy"]).expect(0);
        assert_eq!((&shown["things"][0]["state"], &shown["trusted"]), (&json!("changed"), &json!(false)));
        assert_eq!(shown["things"][0]["changed"], json!([part]), "{shown:#}");
        site.workspace.write("bin/deploy.sh", "echo x >> deploy.sh.ran\n");
        site.trust(["deploy"]);
        nth += 1;
        assert_stands(&client.call("deploy", json!({"text": nth.to_string()})), "completed", "");
        count = runs(&site, "deploy");
    }
    assert_eq!(gate(&mut Client::connect(&site, "local"), "deploy"), "allow");
    // The contract counts, too.
    site.workspace.replace(CATALOG, "code = [\"lib/**\"]", "env_labels = [\"GITHUB_TOKEN\"]");
    let mut client = Client::connect(&site, "local");
    let asked = client.call("deploy", json!({"text": "last"}));
    assert_stands(&asked, "pending", "approval_pending");
    assert!(text(&asked).contains("saw it: contract"), "{}", text(&asked));
}

#[test]
fn a_copied_record_of_trust_does_not_count() {
    let site = deploy_site();
    site.trust(["deploy"]);
    let record = site.workspace.read_text(".brigade/tools/trusted.json");
    let other = deploy_site();
    other.workspace.write(".brigade/tools/trusted.json", record);
    let mut client = Client::connect(&other, "local");
    assert_stands(&client.call("deploy", json!({"text": "1"})), "pending", "approval_pending");
    let unknown = site.tools(["trust", "nothing", "--yes"]);
    assert_ne!(unknown.code(), Some(0), "{unknown}");
}

#[test]
fn a_rule_names_the_secrets_of_commands() {
    let site = deploy_site();
    let policy = site.workspace.read_text(POLICY);
    let rule =
        "\n[[auto_approve]]\nname = \"commands\"\ntools = [\"cmd.run\"]\neffects = [\"process-exec\"]\n";
    let policy = policy.replace("allowed_effects = [", "allowed_effects = [\"process-exec\", ");
    site.workspace.write(POLICY, format!("{policy}{rule}"));
    let profile = "[[profile]]\nname = \"context.commands\"\n[[profile.rule]]\nmatch = \"id:cmd.run\"\n\
        action = \"allow\"\nconstrain = { commands = [\"printenv\"] }\n";
    site.workspace.write(".brigade/tools/profiles.toml", profile);
    let agent = "[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\", \"context.commands\"]\n";
    site.workspace.write(GATEWAY, agent);
    let run = |more: Value| {
        let mut client = Client::connect(&site, "local");
        let mut args = json!({"command": "printenv LANG"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("cmd.run", args)
    };
    let asked = run(json!({"env": {"GITHUB_TOKEN": true}}));
    assert_stands(&asked, "pending", "approval_pending");
    let said = text(&asked);
    assert!(said.contains("`GITHUB_TOKEN`, which `env` of the rule does not name"), "{said}");
    site.workspace.write(POLICY, format!("{policy}{rule}env = [\"GITHUB_TOKEN\"]\n"));
    let ran = run(json!({"env": {"GITHUB_TOKEN": true}, "timeout_seconds": 9}));
    assert_ne!(ran["_meta"]["brigade/call"]["status"], "pending", "{ran:#}");
    assert!(!ran.to_string().contains(BOUND), "{ran:#}");
}

#[test]
fn a_changed_health_command_waits_for_a_person() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write("ops/check.sh", "exit 0\n");
    site.workspace.write(
        ".brigade/tools/runtimes.toml",
        "[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'sleep 600'\nhealth_command = 'sh ops/check.sh'\n",
    );
    site.tools(["runtime", "start", "helper"]).assert_code(0);
    let status = || site.json(["runtime", "status"]).json["runtimes"][0].clone();
    assert_eq!(status()["health_ok"], true, "{:#}", status());
    site.workspace.write("ops/check.sh", "echo x > mark\nexit 0\n");
    let waits = status();
    assert_eq!(waits["health_ok"], false, "{waits:#}");
    assert!(waits["health_detail"].to_string().contains("brigade tools trust runtime:helper"), "{waits:#}");
    site.tools(["doctor"]);
    let restarted = site.tools(["runtime", "restart", "helper"]);
    assert_ne!(restarted.code(), Some(0), "{restarted}");
    assert!(!site.workspace.exists("mark"), "unreviewed code ran");
    site.trust(["runtime:helper"]);
    assert_eq!(status()["health_ok"], true, "{:#}", status());
    assert!(site.workspace.exists("mark"));
    site.tools(["runtime", "stop", "helper"]).assert_code(0);
}
