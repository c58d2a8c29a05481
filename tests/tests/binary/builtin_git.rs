//! `git.*` and `lane.*` through the gateway. The functions are tested in `brigade-toolset`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use std::collections::BTreeSet;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, done, id_of, text};

/// Returns a policy whose rule covers everything here except pushes, and which allows one repository.
fn rules(urls: &str) -> String {
    format!(
        r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "remote-read", "remote-mutation", "process-exec"]

[git]
urls = [{urls}]

[[auto_approve]]
name = "repositories"
tools = ["git.*", "lane.*", "proof.*", "file.*", "volume.*", "report.*"]
effects = ["local-read", "local-write", "local-delete", "state-write", "remote-read"]
"#
    )
}

/// Returns a workspace that is a repository, pushed to a repository `origin.git` next to it.
fn site() -> Site {
    let site = Site::empty();
    let origin = site.beside("origin.git");
    site.workspace.write(POLICY, rules(&format!("{:?}", origin.display().to_string())));
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".gitignore", ".brigade/\n");
    site.workspace.write("a.txt", "one\n");
    let profiles = "[\"permission.full-auto\", \"access.operator\"]";
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = {profiles}\n"));
    site.workspace.git_init();
    let path = origin.display().to_string();
    site.workspace.git(["init", "--quiet", "--bare", "--initial-branch=main", &path]);
    site.workspace.git(["remote", "add", "origin", &path]);
    site.workspace.git(["push", "--quiet", "--set-upstream", "origin", "main"]);
    site
}

#[track_caller]
fn fails(client: &mut Client, tool: &str, args: Value, code: &str) {
    let answer = client.call(tool, args.clone());
    assert_eq!(about(&answer)["code"], code, "{tool} {args}: {answer:#}");
    assert_eq!(answer["isError"], true);
}

/// Approves a call as a person, and returns its result.
#[track_caller]
fn agreed(site: &Site, client: &mut Client, tool: &str, args: Value) -> Value {
    let asked = client.call(tool, args);
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    client.call("call.wait", json!({"call_id": id_of(&asked)}))
}

const HERE: &str = "workspace";

#[test]
fn the_workspace_repository_is_read_and_committed() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let status = done(&mut client, "git.status", json!({"binding_id": HERE}));
    let head = site.workspace.git(["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(
        (&status["dirty"], &status["ahead"], &status["behind"]),
        (&json!(false), &json!(0), &json!(0))
    );
    assert_eq!(status["binding"]["last_commit_sha"], json!(head));
    assert_eq!(status["binding"]["ref"], json!({"kind": "branch", "value": "main"}));
    fails(&mut client, "git.commit", json!({"binding_id": HERE, "message": "x"}), "nothing_to_commit");
    site.workspace.write("a.txt", "one\ntwo\n");
    site.workspace.write("b c.txt", "new\n");
    site.workspace.write(".env", "KEY=canary-4711\n");
    let answer = client.call("gitDiff", json!({}));
    assert_eq!(about(&answer)["tool"], "git.diff");
    assert!(text(&answer).contains("+two"), "{answer:#}");
    assert_eq!(done(&mut client, "gitStatus", json!({}))["dirty"], true);
    let made = done(
        &mut client,
        "git.commit",
        json!({"binding_id": HERE, "message": "Add two", "paths": ["a.txt"]}),
    );
    assert_eq!(made["commit_sha"], json!(site.workspace.git(["rev-parse", "HEAD"]).trim()));
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "?? .env\n?? \"b c.txt\"\n");
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Add the rest"}));
    // A file that seems to contain keys is never committed or shown.
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "?? .env\n");
    fails(
        &mut client,
        "git.commit",
        json!({"binding_id": HERE, "message": "x", "paths": [".env"]}),
        "protected_path",
    );
    site.workspace.git(["add", "--force", ".env"]);
    let answer = client.call("git.diff", json!({"binding_id": HERE, "staged": true}));
    assert!(!answer.to_string().contains("canary-4711") && text(&answer).contains("protected"), "{answer:#}");
    site.workspace.git(["rm", "--quiet", "--cached", ".env"]);
    let log = done(&mut client, "gitLog", json!({"limit": 2}));
    let subjects: Vec<&str> =
        log["commits"].as_array().unwrap().iter().map(|commit| commit["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["Add the rest", "Add two"]);
    let listed = done(&mut client, "git.list", json!({}));
    assert_eq!((&listed["total"], &listed["bindings"][0]["binding_id"]), (&json!(1), &json!(HERE)));
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn a_push_is_asked_about_each_time_and_never_forced() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    site.workspace.write("a.txt", "two\n");
    let made = done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Two"}));
    assert_eq!(done(&mut client, "gitStatus", json!({}))["ahead"], 1);
    let pushed = agreed(&site, &mut client, "git.push", json!({"binding_id": HERE}));
    assert_stands(&pushed, "completed", "");
    assert_eq!(pushed["structuredContent"]["commit_sha"], made["commit_sha"]);
    let origin = site.beside("origin.git").display().to_string();
    let there = site.workspace.git(["--git-dir", &origin, "rev-parse", "main"]);
    assert_eq!(json!(there.trim()), made["commit_sha"]);
    assert_eq!(done(&mut client, "gitStatus", json!({}))["ahead"], 0);
    // A diverged history is rejected.
    site.workspace.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    site.workspace.write("a.txt", "three\n");
    done(&mut client, "git.commit", json!({"binding_id": HERE, "message": "Three"}));
    let rejected = agreed(&site, &mut client, "git.push", json!({"binding_id": HERE, "ref": "main"}));
    assert_eq!(about(&rejected)["code"], "rejected", "{rejected:#}");
    fails(&mut client, "git.refresh", json!({"binding_id": HERE}), "not_fast_forward");
    // A call that must fail does not ask a person.
    for args in
        [json!({"ref": "+main"}), json!({"ref": "-f"}), json!({"ref": "a:b"}), json!({"remote": "-x"})]
    {
        let mut args = args;
        args["binding_id"] = json!(HERE);
        assert_stands(&client.call("git.push", args), "refused", "invalid_arguments");
    }
    for (paths, code) in [(["../x"], "path_outside"), ([".env"], "protected_path")] {
        let args = json!({"binding_id": HERE, "message": "x", "paths": paths});
        assert_stands(&client.call("git.commit", args), "refused", code);
    }
    let nothing = json!({"binding_id": HERE, "message": " "});
    assert_stands(&client.call("git.commit", nothing), "refused", "invalid_arguments");
    // A remote that the policy does not allow is refused before a person is asked.
    site.workspace.git(["remote", "set-url", "origin", "https://forge.example/x"]);
    let args = json!({"binding_id": HERE, "ref": "main", "remote": "origin"});
    assert_stands(&client.call("git.push", args), "refused", "url_not_allowed");
}

/// Issue 17: a repository that git could not read appeared empty, so that no lane could be created.
#[test]
fn an_unreadable_repository_is_not_empty() {
    let site = site();
    let config = site.workspace.read_text(".git/config");
    // The sandbox keeps git from reading this file.
    std::fs::write(site.workspace.home().join("more"), "[core]\n").unwrap();
    let more = site.workspace.home().join("more");
    site.workspace.write(".git/config", format!("{config}[include]\n\tpath = {}\n", more.display()));
    let mut client = Client::connect(&site, "local");
    for (tool, args) in [("git.log", json!({})), ("lane.create", json!({"name": "x"}))] {
        fails(&mut client, tool, args, "git_failed");
    }
}

#[test]
fn lanes_are_worktrees_that_never_wait_for_each_other() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let lane = done(&mut client, "createLane", json!({"name": "Fix the log-in", "description": "x"}));
    let (id, branch) =
        (lane["lane_id"].as_str().unwrap().to_owned(), lane["branch"].as_str().unwrap().to_owned());
    assert!(branch.starts_with("brigade/fix-the-log-in-"), "{branch}");
    let path = lane["worktree_path"].as_str().unwrap().to_owned();
    assert_eq!(path, format!(".brigade/lanes/{id}"));
    assert_eq!(site.workspace.read_text(format!("{path}/a.txt")), "one\n");
    assert_eq!(site.workspace.git(["status", "--porcelain"]), "");
    let expect = json!({"id": id, "name": "Fix the log-in", "branch": branch, "base": "main", "path": path,
        "dirty": false, "ahead": 0, "behind": 0, "parent": null, "archived": false});
    assert_eq!(done(&mut client, "inspectLane", json!({"lane_id": id})), expect);
    let top = site.workspace.join(&path).display().to_string();
    site.workspace.write(format!("{path}/a.txt"), "two\n");
    assert_eq!(done(&mut client, "lane.get", json!({"lane_id": id}))["dirty"], true);
    site.workspace.git(["-C", &top, "commit", "--quiet", "--all", "--message=Two"]);
    assert_eq!(done(&mut client, "lane.get", json!({"lane_id": id}))["ahead"], 1);
    // A lane of a lane starts at the branch of its parent.
    let child = done(&mut client, "lane.create", json!({"name": "Child", "parentLaneId": id}));
    let read = site.workspace.read_text(format!("{}/a.txt", child["worktree_path"].as_str().unwrap()));
    assert_eq!(read, "two\n");
    assert_eq!(done(&mut client, "lane.get", json!({"lane_id": child["lane_id"]}))["parent"], json!(id));
    let renamed = done(&mut client, "renameLane", json!({"lane_id": id, "name": "Log-in"}));
    assert_eq!((&renamed["lane"]["name"], &renamed["lane"]["branch"]), (&json!("Log-in"), &json!(branch)));
    // Unmerged work is kept unless a person approves. A rule cannot approve it (issue 17).
    let waits = client.call("lane.archive", json!({"lane_id": id, "name": "Log-in"}));
    assert_stands(&waits, "pending", "approval_pending");
    assert!(text(&waits).contains("the lane has commits that are not merged"), "{waits:#}");
    let archived = agreed(&site, &mut client, "archiveLane", json!({"lane_id": id, "name": "Log-in"}));
    assert_eq!(archived["structuredContent"]["lane"]["archived"], true, "{archived:#}");
    assert!(!site.workspace.exists(&path));
    assert_eq!(site.workspace.git(["log", "-1", "--format=%s", &branch]), "Two\n");
    // A rule can archive a lane without work.
    let empty = done(&mut client, "lane.create", json!({"name": "Empty"}))["lane_id"].clone();
    assert_eq!(done(&mut client, "lane.archive", json!({"lane_id": empty}))["lane"]["archived"], true);
    // Several clients at once.
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(&site, "local")).collect();
    let asked: Vec<u64> = clients
        .iter_mut()
        .map(|client| client.send_call("lane.create", json!({"name": "Same name"})))
        .collect();
    let branches: BTreeSet<String> = clients
        .iter_mut()
        .zip(asked)
        .map(|(client, id)| {
            let answer = client.answer(id)["result"].clone();
            assert_stands(&answer, "completed", "");
            answer["structuredContent"]["branch"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(branches.len(), 4);
    let listed = done(&mut clients[0], "listLanes", json!({}));
    assert_eq!(listed["lanes"].as_array().unwrap().len(), 7);
}

#[test]
fn without_a_repository_its_tools_are_not_here() {
    let site = Site::empty();
    site.workspace.write(POLICY, rules(""));
    site.workspace.write(".brigade/tools.toml", "");
    let mut client = Client::connect(&site, "local");
    let refused = client.call("git.status", json!({"binding_id": HERE}));
    assert_stands(&refused, "refused", "not_available_here");
    assert!(text(&refused).contains("git.repository"), "{refused:#}");
    assert_eq!(done(&mut client, "git.list", json!({}))["total"], 0);
}

#[test]
fn clones_work_without_a_workspace_repository() {
    // Issue 17: the tools for clones were available only after `git init` in the workspace.
    let source = site();
    let site = Site::empty();
    let origin = source.beside("origin.git").display().to_string();
    site.workspace.write(POLICY, rules(&format!("{origin:?}")));
    site.workspace.write(".brigade/tools.toml", "");
    let profiles = "[\"permission.full-auto\", \"access.operator\"]";
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = {profiles}\n"));
    let mut client = Client::connect(&site, "local");
    let id =
        done(&mut client, "git.clone", json!({"repo_url": origin, "label": "copy"}))["binding"]["binding_id"]
            .clone();
    assert_eq!(done(&mut client, "git.status", json!({"binding_id": id}))["dirty"], false);
    assert_eq!(
        done(&mut client, "git.log", json!({"binding_id": id}))["commits"].as_array().unwrap().len(),
        1
    );
    fails(&mut client, "git.status", json!({"binding_id": HERE}), "not_available_here");
    fails(&mut client, "lane.list", json!({}), "not_available_here");
    done(&mut client, "git.delete", json!({"binding_id": id}));
    fails(&mut client, "git.status", json!({"binding_id": id}), "not_available_here");
}
