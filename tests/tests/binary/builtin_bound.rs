//! An approval of a built-in tool binds what the call acts on. The call does what the person approved, or nothing.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests change what an approval binds, and one that cannot read an answer fails"
)]

use std::os::unix::fs::symlink;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, done, id_of};

/// Returns a policy whose rule covers the preparation, but not the calls that are approved here.
fn rules(urls: &str) -> String {
    format!(
        r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "remote-read", "remote-mutation", "process-exec", "process-control"]

[git]
urls = [{urls}]

[[auto_approve]]
name = "preparing"
tools = ["fs.write", "git.commit", "lane.create", "workflow.create", "workflow.update", "workflow.wait", "workflow.executions.get", "cmd.run", "agent.create", "agent.update", "pr.create"]
effects = ["local-read", "local-write", "local-delete", "state-write", "process-exec"]
"#
    )
}

fn agent(profiles: &str) -> String {
    format!("[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\", {profiles}]\n")
}

/// Returns a workspace that is a repository, pushed to a repository `origin.git` next to it.
fn site() -> Site {
    let site = Site::empty();
    let origin = site.beside("origin.git");
    site.workspace.write(POLICY, rules(&format!("{:?}", origin.display().to_string())));
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".gitignore", ".brigade/\n");
    site.workspace.write("a.txt", "one\n");
    site.workspace.write(GATEWAY, agent("\"access.operator\""));
    site.workspace.git_init();
    let path = origin.display().to_string();
    site.workspace.git(["init", "--quiet", "--bare", "--initial-branch=main", &path]);
    site.workspace.git(["remote", "add", "origin", &path]);
    site.workspace.git(["push", "--quiet", "--set-upstream", "origin", "main"]);
    site
}

/// Requests a call, approves it as a person, and returns its id and the bound facts that the person sees.
#[track_caller]
fn approved(site: &Site, client: &mut Client, tool: &str, args: Value) -> (String, Vec<String>) {
    let asked = client.call(tool, args);
    assert_stands(&asked, "pending", "approval_pending");
    let id = id_of(&asked);
    let shown = site.tools(["call", "show", &id]);
    let text = shown.assert_code(0).stdout_text();
    let bound: Vec<String> = text
        .lines()
        .skip_while(|line| !line.starts_with("binds"))
        .take_while(|line| line.starts_with("binds") || line.starts_with(' '))
        .map(|line| line.trim_start_matches("binds:").trim().to_owned())
        .collect();
    site.json(["call", "approve", &id]).expect(0);
    (id, bound)
}

/// Continues an approved call, which must be refused because its target changed.
#[track_caller]
fn is_changed(client: &mut Client, id: &str) {
    let answer = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(about(&answer)["code"], "changed_named", "{answer:#}");
    assert_eq!(answer["isError"], true);
}

#[track_caller]
fn holds(bound: &[String], part: &str) {
    assert!(bound.iter().any(|line| line.contains(part)), "no `{part}` in {bound:?}");
}

const HERE: &str = "workspace";

#[test]
fn a_push_is_bound_to_its_commit_and_url() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    site.workspace.write("b.txt", "good\n");
    let good = done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Good"}));
    let good = good["commit_sha"].as_str().unwrap().to_owned();
    let push = || json!({"binding_id": HERE});
    let (id, bound) = approved(&site, &mut client, "git.push", push());
    holds(&bound, &format!("refs/heads/main at {good}"));
    holds(&bound, &format!("remote origin {}", site.beside("origin.git").display()));
    site.workspace.write("evil.txt", "evil\n");
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Evil"}));
    is_changed(&mut client, &id);
    assert_ne!(site.workspace.git(["ls-remote", "origin", "main"]).split_whitespace().next(), Some(&*good));
    // A remote with another URL counts as another remote.
    let (id, _) = approved(&site, &mut client, "git.push", push());
    let other = site.beside("other.git").display().to_string();
    site.workspace.git(["init", "--quiet", "--bare", &other]);
    site.workspace.git(["remote", "set-url", "origin", &other]);
    is_changed(&mut client, &id);
    site.workspace.git(["remote", "set-url", "origin", &site.beside("origin.git").display().to_string()]);
    let pushed = client.call("call.wait", json!({"call_id": id}));
    assert_stands(&pushed, "completed", "");
    let head = site.workspace.git(["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(pushed["structuredContent"]["commit_sha"], json!(head));
    assert_eq!(site.workspace.git(["ls-remote", "origin", "main"]).split_whitespace().next(), Some(&*head));
}

#[test]
fn work_that_came_after_the_approval_is_not_put_away() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let lane = done(&mut client, "lane.create", json!({"name": "w"}));
    let (lane, path) = (lane["lane_id"].clone(), lane["worktree_path"].as_str().unwrap().to_owned());
    let (id, bound) = approved(&site, &mut client, "lane.archive", json!({"lane_id": lane}));
    holds(&bound, "clean");
    let file = format!("{path}/w.txt");
    site.workspace.write(&file, "hours of work\n");
    is_changed(&mut client, &id);
    let (id, bound) = approved(&site, &mut client, "lane.archive", json!({"lane_id": lane}));
    holds(&bound, "1 changed files");
    site.workspace.write(&file, "hours and hours of work\n");
    is_changed(&mut client, &id);
    assert_eq!(site.workspace.read_text(&file), "hours and hours of work\n");
    let (id, _) = approved(&site, &mut client, "lane.archive", json!({"lane_id": lane}));
    let archived = client.call("call.wait", json!({"call_id": id}));
    assert_stands(&archived, "completed", "");
    assert!(!site.workspace.exists(&path));
}

#[test]
fn commits_and_deletions_match_the_approval() {
    let site = site();
    // Here, a person approves each commit.
    site.workspace.write(POLICY, rules("").replace("\"git.commit\", ", ""));
    let mut client = Client::connect(&site, "local");
    for name in ["b.txt", "c.txt", "d.txt", "e.txt"] {
        site.workspace.write(name, "good\n");
    }
    let commit = || json!({"binding_id": HERE, "message": "Good"});
    let (id, bound) = approved(&site, &mut client, "git.commit", commit());
    holds(&bound, "changes in workspace to 4 files: b.txt, c.txt, d.txt and 1 more");
    site.workspace.write("evil.txt", "evil\n");
    is_changed(&mut client, &id);
    let (id, _) = approved(&site, &mut client, "git.commit", commit());
    site.workspace.write("b.txt", "evil\n");
    is_changed(&mut client, &id);
    let (id, _) = approved(&site, &mut client, "git.commit", commit());
    assert_stands(&client.call("call.wait", json!({"call_id": id})), "completed", "");

    site.workspace.write("out/a.txt", "old\n");
    let delete = || json!({"path": "out", "recursive": true});
    let (id, bound) = approved(&site, &mut client, "fs.delete", delete());
    holds(&bound, "out with 1 file: out/a.txt");
    site.workspace.write("out/thesis.txt", "years of work\n");
    is_changed(&mut client, &id);
    assert!(site.workspace.exists("out/thesis.txt"));
    let (id, _) = approved(&site, &mut client, "fs.delete", delete());
    assert_stands(&client.call("call.wait", json!({"call_id": id})), "completed", "");
    assert!(!site.workspace.exists("out"));

    let make = json!({"label": "v", "size_limit_bytes": 10_000});
    let (id, _) = approved(&site, &mut client, "volume.create", make);
    let made = client.call("call.wait", json!({"call_id": id}));
    let volume = made["structuredContent"]["volume_id"].as_str().unwrap().to_owned();
    let delete = || json!({"volume_id": volume});
    let (id, bound) = approved(&site, &mut client, "volume.delete", delete());
    holds(&bound, "with no files");
    site.workspace.write(format!(".brigade/volumes/{volume}/x.txt"), "new\n");
    is_changed(&mut client, &id);
    let (id, _) = approved(&site, &mut client, "volume.delete", delete());
    assert_stands(&client.call("call.wait", json!({"call_id": id})), "completed", "");
}

fn workflow(version: &str, word: &str) -> Value {
    let text = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{name: prom, version: {version}}}\nspec:\n  \
         initial_state: A\n  states:\n    A: {{kind: System, command: [echo, {word}], transitions: []}}\n"
    );
    json!({"manifest_yaml": text})
}

/// The profile of agents whose command a rule may approve.
const ECHO: &str = "[[profile]]\nname = \"context.echo\"\n\n[[profile.rule]]\nmatch = \"id:cmd.run\"\n\
                    action = \"allow\"\nconstrain = { commands = [\"echo\"] }\n";

#[test]
fn a_workflow_of_the_host_runs_as_it_was_approved() {
    let (a, b) = (Site::empty(), Site::empty());
    let b = b.env("HOME", a.workspace.home());
    for site in [&a, &b] {
        site.workspace.write(POLICY, rules(""));
        site.workspace.write(".brigade/tools.toml", "");
        site.workspace.write(".brigade/tools/profiles.toml", ECHO);
        site.workspace.write(GATEWAY, agent("\"access.operator\", \"context.echo\""));
    }
    let (mut of_a, mut of_b) = (Client::connect(&a, "local"), Client::connect(&b, "local"));
    done(&mut of_a, "workflow.create", workflow("1.0.0", "first"));
    let host = || json!({"name": "prom", "target_scope": "host"});
    let by_person = |client: &mut Client, tool: &str, args: Value| {
        let (id, _) = approved(&a, client, tool, args);
        assert_stands(&client.call("call.wait", json!({"call_id": id})), "completed", "");
    };
    by_person(&mut of_a, "workflow.promote", host());
    let next = |client: &mut Client, version: &str, word: &str| {
        by_person(client, "workflow.demote", json!({"name": "prom", "target_scope": "project"}));
        done(client, "workflow.update", workflow(version, word));
        by_person(client, "workflow.promote", host());
    };
    // First without a copy in the workspace, then with one.
    let run = || json!({"name": "prom"});
    let (id, bound) = approved(&b, &mut of_b, "workflow.run", run());
    holds(&bound, "workflow prom 1.0.0");
    next(&mut of_a, "2.0.0", "second");
    is_changed(&mut of_b, &id);
    let ran = |client: &mut Client, id: &str| {
        let started = client.call("call.wait", json!({"call_id": id}));
        assert_stands(&started, "completed", "");
        let id = &started["structuredContent"]["execution_id"];
        done(client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 60}));
        let all = done(client, "workflow.executions.get", json!({"execution_id": id}));
        let said = &all["state_outputs"]["A"]["output"]["stdout"];
        said.as_str().unwrap_or_else(|| panic!("{all:#}")).trim().to_owned()
    };
    let (id, bound) = approved(&b, &mut of_b, "workflow.run", run());
    holds(&bound, "workflow prom 2.0.0");
    assert_eq!(ran(&mut of_b, &id), "second");
    let (id, _) = approved(&b, &mut of_b, "workflow.run", run());
    next(&mut of_a, "3.0.0", "third");
    is_changed(&mut of_b, &id);
    let (id, bound) = approved(&b, &mut of_b, "workflow.run", run());
    holds(&bound, "workflow prom 3.0.0");
    assert_eq!(ran(&mut of_b, &id), "third");
}

#[test]
fn deletions_match_the_approval() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    done(&mut client, "workflow.create", workflow("1.0.0", "first"));
    let (id, bound) = approved(&site, &mut client, "workflow.delete", json!({"name": "prom"}));
    holds(&bound, "workflow prom 1.0.0");
    done(&mut client, "workflow.update", workflow("2.0.0", "second"));
    is_changed(&mut client, &id);
    let (id, _) = approved(&site, &mut client, "workflow.delete", json!({"name": "prom"}));
    assert_stands(&client.call("call.wait", json!({"call_id": id})), "completed", "");
}

const CONTEXT: &str = "[[profile]]\nname = \"context.docs\"\n\n[[profile.rule]]\nmatch = \"*\"\naction = \"ask\"\n\
                       constrain = { paths = [\"docs\"] }\n";

#[test]
fn agent_limits_are_checked_again_at_run() {
    let site = site();
    site.workspace.write(".brigade/tools/profiles.toml", CONTEXT);
    site.workspace.write(GATEWAY, agent("\"access.operator\", \"context.docs\""));
    site.workspace.write("docs/sub/s.txt", "inner\n");
    site.workspace.write("priv/s.txt", "PRIVATE\n");
    let mut client = Client::connect(&site, "local");
    let file = || json!({"path": "docs/sub/s.txt"});
    let refused = |client: &mut Client, id: &str| {
        let answer = client.call("call.wait", json!({"call_id": id}));
        assert_eq!(about(&answer)["code"], "outside_context", "{answer:#}");
        assert!(!answer.to_string().contains("PRIVATE"), "{answer:#}");
    };
    // A link that was created after the approval leads out.
    for tool in ["fs.read", "fs.delete"] {
        let (id, _) = approved(&site, &mut client, tool, file());
        std::fs::rename(site.workspace.join("docs/sub"), site.workspace.join("docs/kept")).unwrap();
        symlink("../priv", site.workspace.join("docs/sub")).unwrap();
        refused(&mut client, &id);
        assert_eq!(site.workspace.read_text("priv/s.txt"), "PRIVATE\n");
        std::fs::remove_file(site.workspace.join("docs/sub")).unwrap();
        std::fs::rename(site.workspace.join("docs/kept"), site.workspace.join("docs/sub")).unwrap();
    }
    // The host narrowed the profile after the approval.
    let (id, _) =
        approved(&site, &mut client, "fs.delete", json!({"path": "docs/sub/s.txt", "recursive": false}));
    site.workspace.write(".brigade/tools/profiles.toml", CONTEXT.replace("\"docs\"]", "\"docs/other\"]"));
    until("the gateway has read the profile", || {
        let asked = client.call("fs.list", json!({"path": "docs"}));
        (about(&asked)["code"] == "outside_context").then_some(())
    });
    refused(&mut client, &id);
    assert_eq!(site.workspace.read_text("docs/sub/s.txt"), "inner\n");
}
