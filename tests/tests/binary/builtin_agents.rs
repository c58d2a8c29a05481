//! Built-in tools about agents: schemas and manifests.

#![allow(clippy::unwrap_used, reason = "a test that cannot read an answer fails")]

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, id_of, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-delete", "state-write"]

[[auto_approve]]
name = "agents"
tools = ["agent.*", "schema.*", "workflow.*"]
effects = ["local-read", "state-write"]
"#;

const GREETER: &str = r#"# Greets people.
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata:
  name: greeter
  version: 1.0.0
  description: Greets people politely
  labels: {role: worker}
spec:
  runtime: {language: python, version: "3.11"}
  tools: [fs.read]
"#;

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(
        GATEWAY,
        "[[agent]]\nname = \"local\"\nprofiles = [\"access.operator\"]\n\n[[agent]]\nname = \"ann\"\nprofiles = [\"access.operator\", \"permission.full-auto\"]\n",
    );
    site
}

#[track_caller]
fn done(client: &mut Client, tool: &str, args: Value) -> Value {
    let result = client.call(tool, args);
    assert_ne!(result["isError"], json!(true), "{result:#}");
    result["structuredContent"].clone()
}

#[test]
fn a_manifest_is_validated_with_places() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let schema = done(&mut client, "aegis.schema.get", json!({"key": "agent/manifest/v1"}));
    assert_eq!(schema["properties"]["kind"]["const"], "Agent", "{schema:#}");
    let workflow = done(&mut client, "schema.get", json!({"key": "workflow/manifest/v1"}));
    assert_eq!(workflow["title"], "Workflow");
    let valid = done(&mut client, "schema.validate", json!({"kind": "agent", "manifest_yaml": GREETER}));
    assert_eq!((&valid["valid"], &valid["errors"]), (&json!(true), &Value::Null));
    let broken = GREETER.replace(", version: \"3.11\"", "");
    let found = done(&mut client, "aegis.schema.validate", json!({"kind": "agent", "manifest_yaml": broken}));
    let fault = &found["faults"][0];
    assert!(
        found["errors"][0].as_str().unwrap().starts_with("line 10, column 12: spec.runtime"),
        "{found:#}"
    );
    assert_eq!((&found["valid"], &fault["line"], &fault["column"]), (&json!(false), &json!(10), &json!(12)));
    assert_eq!(fault["path"], "spec.runtime");
    let unknown = client.call("schema.get", json!({"key": "x"}));
    assert_eq!(about(&unknown)["code"], "invalid_arguments", "{unknown:#}");
}

#[test]
fn a_person_approves_each_new_agent() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let asked = client.call("aegis.agent.create", json!({"manifest_yaml": GREETER}));
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    let created = client.call("call.wait", json!({"call_id": id_of(&asked)}));
    assert_stands(&created, "completed", "");
    let listed = done(&mut client, "listWorkers", json!({}));
    assert_eq!(listed["agents"][0]["name"], "greeter", "{listed:#}");
    let id = listed["agents"][0]["id"].as_str().unwrap();
    let delete = client.call("agent.delete", json!({"agent_id": id}));
    assert_stands(&delete, "pending", "approval_pending");
}

#[test]
fn agents_keep_bytes_versions_and_events() {
    let site = site();
    // With this permission, the rule approves.
    let mut client = Client::connect(&site, "ann");
    let created = done(&mut client, "createAgent", json!({"manifest_yaml": GREETER}));
    assert_eq!((&created["deployed"], &created["version"]), (&json!(true), &json!("1.0.0")), "{created:#}");
    let exported = done(&mut client, "agent.export", json!({"name": "greeter"}));
    assert_eq!(exported["manifest_yaml"], GREETER);
    // A runtime that is not here is marked, with what is.
    let cobol =
        GREETER.replace("name: greeter", "name: old").replace("python", "cobol").replace("3.11", "99");
    let marked = done(&mut client, "agent.create", json!({"manifest_yaml": cobol}));
    let warning = marked["warnings"][0]["message"].as_str().unwrap();
    assert_eq!(marked["runtime"], "unavailable", "{marked:#}");
    assert!(warning.starts_with("cobol 99 is unavailable on this host, which has"), "{warning}");
    assert!(warning.contains("python 3."), "{warning}");
    let taken = client.call("agent.create", json!({"manifest_yaml": GREETER}));
    assert!(text(&taken).contains("name_taken"), "{taken:#}");
    let newer = GREETER.replace("1.0.0", "1.1.0");
    assert_eq!(done(&mut client, "agent.update", json!({"manifest_yaml": newer}))["version"], "1.1.0");
    let again = client.call("aegis.agent.update", json!({"manifest_yaml": newer}));
    assert!(text(&again).contains("version_taken"), "{again:#}");
    let forced = json!({"manifest_yaml": newer, "force": true});
    assert_eq!(done(&mut client, "updateAgent", forced)["agent_id"], created["agent_id"]);
    let query = json!({"query": "greeting people", "labels": {"role": "worker"}});
    let found = done(&mut client, "aegis.agent.search", query);
    assert_eq!((&found["total"], &found["results"][0]["score"]), (&json!(2), &json!(1.0)), "{found:#}");
    let logs = done(&mut client, "agent.logs", json!({"agent_id": created["agent_id"], "limit": 2}));
    assert_eq!((&logs["total"], logs["events"].as_array().unwrap().len()), (&json!(3), 2), "{logs:#}");
    let unknown =
        client.call("agent.create", json!({"manifest_yaml": GREETER.replace("fs.read", "fs.reed")}));
    assert!(text(&unknown).contains("unknown_tool"), "{unknown:#}");
    let broken = client.call("agent.create", json!({"manifest_yaml": "kind: Agent"}));
    assert!(text(&broken).contains("line 1, column 1: apiVersion: is missing"), "{broken:#}");
}

#[test]
fn workflows_are_checked_and_kept() {
    let site = site();
    let mut client = Client::connect(&site, "ann");
    let manifest = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: twice}\nspec:\n  initial_state: A\n  \
                    states:\n    A: {kind: Agent, agent: greeter, transitions: [{condition: on_failure, target: A}, \
                    {target: B}]}\n    B: {kind: Human, prompt: '{{A.output}}', transitions: []}\n";
    let checked = done(&mut client, "aegis.workflow.validate", json!({"manifest_yaml": manifest}));
    let fault = checked["faults"][0]["message"].as_str().unwrap();
    assert!(fault.starts_with("the loop A -> A has a state without `max_state_visits`"), "{checked:#}");
    let refused = client.call("workflow.create", json!({"manifest_yaml": manifest}));
    assert!(text(&refused).contains("invalid_manifest"), "{refused:#}");
    let bound = manifest.replace("kind: Agent,", "kind: Agent, max_state_visits: 3,");
    let created = done(&mut client, "aegis.workflow.create", json!({"manifest_yaml": bound}));
    assert_eq!((&created["semantic"], &created["deployed"]), (&json!("skipped"), &json!(true)));
    let newer = bound.replace("name: twice", "name: twice, version: 2.0.0");
    assert_eq!(done(&mut client, "workflow.update", json!({"manifest_yaml": newer}))["version"], "2.0.0");
    assert_eq!(done(&mut client, "workflow.list", json!({}))["workflows"][0]["initial_state"], "A");
    assert_eq!(done(&mut client, "workflow.export", json!({"name": "twice"}))["manifest_yaml"], newer);
    assert_eq!(done(&mut client, "workflow.search", json!({"query": "twice"}))["total"], 1);
    assert_stands(&client.call("workflow.delete", json!({"name": "twice"})), "pending", "approval_pending");
}
