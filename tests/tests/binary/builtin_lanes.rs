//! Sessions in a lane: file paths and commands are relative to its worktree and cannot leave it.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use std::fs;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, done, id_of, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "process-exec"]

[[auto_approve]]
name = "lanes"
tools = ["fs.*", "git.*", "lane.*", "proof.*", "agent.*", "task.*", "cmd.run"]
effects = ["local-read", "local-write", "local-delete", "state-write", "process-exec"]
"#;

/// Two agents. Their commands write in the working directory.
const AGENTS: &str = r#"[[agent]]
name = "local"
profiles = ["access.operator", "permission.full-auto", "context.commands"]

[[agent]]
name = "ann"
profiles = ["access.operator", "permission.full-auto", "context.commands"]
"#;

const PROFILES: &str = r#"[[profile]]
name = "context.commands"
[[profile.rule]]
match = "id:cmd.run"
action = "allow"
constrain = { commands = ["cat", "touch", "sh", "git"], effects = ["local-write"] }
"#;

/// Returns a workspace that is a repository. Its file `a.txt` contains `one`.
fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".brigade/tools/profiles.toml", PROFILES);
    site.workspace.write(GATEWAY, AGENTS);
    site.workspace.write(".gitignore", ".brigade/\n");
    site.workspace.write("a.txt", "one\n");
    site.workspace.git_init();
    site
}

/// Makes a lane for an agent, and returns its id.
#[track_caller]
fn lane(site: &Site, agent: &str, name: &str) -> String {
    let made = done(&mut Client::connect(site, agent), "lane.create", json!({"name": name}));
    made["lane_id"].as_str().unwrap().to_owned()
}

/// Starts a session of an agent in a lane.
#[track_caller]
fn session(site: &Site, agent: &str, lane: &str) -> Client {
    let mut client = Client::start(site, &["--as", agent, "--lane", lane]);
    let told = client.hello("2025-11-25", json!({}))["instructions"].as_str().unwrap().to_owned();
    assert!(told.contains(&folder(lane)), "{told}");
    client
}

fn folder(lane: &str) -> String {
    format!(".brigade/lanes/{lane}")
}

#[track_caller]
fn fails(client: &mut Client, tool: &str, args: Value, code: &str) {
    let answer = client.call(tool, args.clone());
    assert_eq!(about(&answer)["code"], code, "{tool} {args}: {answer:#}");
    assert_eq!(answer["isError"], true);
}

/// Locks a file like a call that changes files.
fn locked(path: PathBuf) -> File {
    let file = File::options().create(true).append(true).open(path).unwrap();
    file.try_lock().unwrap();
    file
}

#[test]
fn sessions_in_two_lanes_do_not_wait() {
    let site = site();
    let (one, two) = (lane(&site, "local", "One"), lane(&site, "local", "Two"));
    let (mut first, mut second) = (session(&site, "local", &one), session(&site, "local", &two));
    let head = site.workspace.git(["rev-parse", "HEAD"]);
    done(&mut first, "fs.write", json!({"path": "a.txt", "content": "first\n"}));
    // Other calls hold the locks for changing files of the workspace and the first lane during this test.
    let elsewhere = [".brigade/tools/files.lock".to_owned(), format!("{}.lock", folder(&one))];
    let held = elsewhere.map(|path| locked(site.workspace.join(path)));
    let written = done(&mut second, "fs.write", json!({"path": "/workspace/a.txt", "content": "second\n"}));
    assert_eq!(written["path"], "a.txt");
    drop(held);
    assert_eq!(done(&mut first, "fs.read", json!({"path": "a.txt"}))["content"], "first\n");
    assert_eq!(done(&mut second, "fs.read", json!({"path": "a.txt"}))["content"], "second\n");
    assert_eq!(site.workspace.read_text("a.txt"), "one\n");
    assert_eq!(site.workspace.read_text(format!("{}/a.txt", folder(&two))), "second\n");
    let found = done(&mut first, "fs.grep", json!({"pattern": "first|second|one", "path": "."}));
    assert_eq!(found["matches"], json!([{"path": "a.txt", "line": 1, "content": "first"}]));
    // The receipt names the file.
    let answer = first
        .call("fs.edit", json!({"path": "a.txt", "target_content": "first", "replacement_content": "1st"}));
    let run = about(&answer)["run_id"].as_str().unwrap().to_owned();
    let receipt = site.json(["run", "show", &run]).expect(0)["run"].clone();
    assert_eq!(receipt["touched"][0]["path"], format!("{}/a.txt", folder(&one)), "{receipt:#}");
    assert_eq!(receipt["session"]["root"], folder(&one));
    // Git shows the lane as the workspace.
    let status = done(&mut first, "git.status", json!({"binding_id": "workspace"}));
    assert!(status["binding"]["ref"]["value"].as_str().unwrap().starts_with("brigade/one-"), "{status:#}");
    assert!(text(&second.call("git.diff", json!({"binding_id": "workspace"}))).contains("+second"));
    let commit = json!({"binding_id": "workspace", "message": "Second", "paths": ["a.txt"]});
    let made = done(&mut second, "git.commit", commit);
    let branch =
        done(&mut second, "lane.get", json!({"lane_id": two}))["branch"].as_str().unwrap().to_owned();
    assert_eq!(made["commit_sha"], json!(site.workspace.git(["rev-parse", &branch]).trim()));
    assert_eq!(site.workspace.git(["rev-parse", "HEAD"]), head);
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn no_path_leads_out_of_a_lane() {
    let site = site();
    let (one, two) = (lane(&site, "local", "One"), lane(&site, "ann", "Two"));
    let here = site.workspace.path().display().to_string();
    symlink("../../..", site.workspace.join(format!("{}/out", folder(&one)))).unwrap();
    symlink(format!("../{two}"), site.workspace.join(format!("{}/other", folder(&one)))).unwrap();
    let mut client = session(&site, "local", &one);
    for path in
        ["../../../a.txt", &format!("{here}/a.txt"), &format!("../{two}/a.txt"), "out/a.txt", "other/a.txt"]
    {
        fails(&mut client, "fs.read", json!({"path": path}), "path_outside");
        fails(&mut client, "fs.write", json!({"path": path, "content": "x"}), "path_outside");
        fails(&mut client, "proof.attach", json!({"path": path}), "path_outside");
    }
    for path in ["..", "../../..", "out", "other"] {
        fails(&mut client, "cmd.run", json!({"command": "touch evil", "cwd": path}), "path_outside");
        fails(&mut client, "fs.list", json!({"path": path}), "path_outside");
    }
    // The file that points git to the repository, and paths that would be workspace state.
    for path in [".git", ".git/config", ".brigade/tools.toml"] {
        fails(&mut client, "fs.read", json!({"path": path}), "protected_path");
        fails(&mut client, "fs.write", json!({"path": path, "content": "x"}), "protected_path");
        fails(&mut client, "fs.delete", json!({"path": path}), "protected_path");
    }
    // A lane is not reachable from the workspace.
    let mut outside = Client::connect(&site, "local");
    fails(&mut outside, "fs.read", json!({"path": format!("{}/a.txt", folder(&one))}), "protected_path");
    assert_eq!(site.workspace.read_text("a.txt"), "one\n");
    assert!(!site.workspace.exists("evil"));
}

#[test]
fn a_command_in_a_lane_writes_there_alone() {
    let site = site();
    let one = lane(&site, "local", "One");
    let mut client = session(&site, "local", &one);
    done(&mut client, "fs.write", json!({"path": "sub/b.txt", "content": "in the lane\n"}));
    let run = |client: &mut Client, command: &str, cwd: &str| {
        done(client, "cmd.run", json!({"command": command, "cwd": cwd}))
    };
    assert_eq!(run(&mut client, "cat b.txt", "sub")["stdout"], "in the lane\n");
    assert_eq!(run(&mut client, "cat a.txt", ".")["stdout"], "one\n");
    assert_eq!(run(&mut client, "touch new.txt", ".")["exit_code"], 0);
    assert!(site.workspace.exists(format!("{}/new.txt", folder(&one))));
    let before = site.workspace.read_text(format!("{}/.git", folder(&one)));
    for command in ["touch ../../../evil", "touch ../../tools/evil", "touch .git", "touch .brigade"] {
        assert_ne!(run(&mut client, command, ".")["exit_code"], 0, "{command}");
    }
    assert_ne!(run(&mut client, "cat ../../../a.txt", ".")["exit_code"], 0);
    assert_eq!(site.workspace.read_text(format!("{}/.git", folder(&one))), before);
    assert!(!site.workspace.exists("evil") && !site.workspace.exists(".brigade/tools/evil"));
    // Git finds and reads its repository.
    let printed = run(&mut client, "git log --format=%s", ".");
    assert_eq!(printed["exit_code"], 0, "{printed:#}");
}

#[test]
fn an_approval_shows_and_binds_the_lane_of_a_call() {
    let site = site();
    site.workspace.replace(POLICY, "\"fs.*\", ", "\"fs.read\", ");
    let (one, two) = (lane(&site, "local", "One"), lane(&site, "local", "Two"));
    let (mut first, mut second) = (session(&site, "local", &one), session(&site, "local", &two));
    let args = json!({"path": "a.txt", "content": "new\n"});
    let asked = first.call("fs.write", args.clone());
    assert_stands(&asked, "pending", "approval_pending");
    let other = second.call("fs.write", args);
    assert_ne!(id_of(&asked), id_of(&other), "a call in another lane is another call");
    let works_in = || {
        let shown = site.brigade.run(["tools", "call", "show", &id_of(&asked)]).assert_code(0).stdout_text();
        let lines = shown.lines().filter(|line| line.starts_with("works in"));
        assert_eq!(lines.filter(|line| line.contains(&folder(&one))).count(), 1, "{shown}");
    };
    works_in();
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    // Another session of the agent may continue the call. It runs in the lane in which it was requested.
    assert_stands(&second.call("call.wait", json!({"call_id": id_of(&asked)})), "completed", "");
    works_in();
    assert_eq!(site.workspace.read_text(format!("{}/a.txt", folder(&one))), "new\n");
    assert_eq!(site.workspace.read_text(format!("{}/a.txt", folder(&two))), "one\n");
    // A call of a removed lane does not fall back to the workspace.
    site.json(["call", "approve", &id_of(&other)]).expect(0);
    done(&mut first, "lane.archive", json!({"lane_id": two, "name": "Two"}));
    let gone = second.call("call.wait", json!({"call_id": id_of(&other)}));
    assert_stands(&gone, "refused", "archived");
    fails(&mut second, "fs.read", json!({"path": "a.txt"}), "archived");
    fails(&mut second, "cmd.run", json!({"command": "cat a.txt"}), "archived");
    fails(&mut second, "git.status", json!({"binding_id": "workspace"}), "archived");
    // Tools that use no files still work.
    done(&mut second, "lane.list", json!({}));
    assert_eq!(site.workspace.read_text("a.txt"), "one\n");
    assert!(!site.workspace.exists(format!("{}.lock", folder(&two))));
}

#[test]
fn a_lane_must_be_a_worktree_and_not_a_link() {
    let site = site();
    let one = lane(&site, "local", "One");
    let mut client = session(&site, "local", &one);
    let path = site.workspace.join(folder(&one));
    fs::rename(&path, site.beside("away")).unwrap();
    symlink(site.beside("away"), &path).unwrap();
    fails(&mut client, "fs.read", json!({"path": "a.txt"}), "unsafe_repository");
    fails(&mut client, "cmd.run", json!({"command": "cat a.txt"}), "unsafe_repository");
    drop(client);
    for (words, why) in [
        (["--lane", &one], "not a worktree"),
        (["--lane", "lane-none"], "no such lane"),
        (["--lane", "../../.."], "no such lane"),
        (["--lane", "../.."], "no such lane"),
        (["--lane", ""], "no such lane"),
    ] {
        let mut client = Client::start(&site, &[words.as_slice(), &["--as", "local"]].concat());
        let (exit, said) = client.ended();
        assert_eq!(exit, Some(1), "{words:?} {why}: {said}");
        assert!(said.contains("cannot be worked in") && said.contains(why), "{words:?}: {said}");
        assert_eq!(said.contains("not_found"), why == "no such lane", "{said}");
    }
}

/// Adds the fake worker with these steps, and an agent `cook` that uses it.
#[track_caller]
fn worker(site: &Site, steps: &Value) {
    let program = brigade_testkit::fixtures().join("kitchen/worker.py");
    let command = format!("python3 -B {} {}", program.display(), site.beside("scenario.json").display());
    site.workspace.write(GATEWAY, format!("{AGENTS}\n[[worker]]\nid = \"mock\"\ncommand = {command:?}\n"));
    let scenario = json!({"brigade": brigade_testkit::brigade_binary(), "default": steps});
    fs::write(site.beside("scenario.json"), scenario.to_string()).unwrap();
    let (beside, fixtures) = (site.beside(""), brigade_testkit::fixtures());
    let binary = brigade_testkit::brigade_binary();
    let read = [beside.as_path(), fixtures.as_path(), Path::new(&binary).parent().unwrap()];
    let sandbox = format!("[sandbox]\nmode = \"enforce\"\nread_paths = {read:?}\n\n[[auto");
    site.workspace.replace(POLICY, "[[auto", &sandbox);
    let manifest = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: cook}\nspec:\n  \
                    runtime: {language: python, version: '3'}\n  task: {instruction: Cook.}\n";
    done(&mut Client::connect(site, "local"), "agent.create", json!({"manifest_yaml": manifest}));
}

#[test]
fn a_task_works_in_the_lane_that_its_input_names() {
    let site = site();
    let (one, two) = (lane(&site, "local", "One"), lane(&site, "local", "Two"));
    let anns = lane(&site, "ann", "Three");
    let calls =
        json!([["fs.read", {"path": "a.txt"}], ["fs.write", {"path": "c.txt", "content": "by a tool\n"}]]);
    worker(
        &site,
        &json!([{"append": "a.txt", "text": "two\n"}, {"mcp": calls, "to": "told.json"},
            {"append": ".git", "text": "x"}, {"write": "../../../evil", "text": "x"}, {"output": "cooked"}]),
    );
    let before = site.workspace.read_text(format!("{}/.git", folder(&one)));
    let mut client = Client::connect(&site, "local");
    let in_lane = |lane: &str| json!({"agent_id": "cook", "input": {"lane": lane}});
    let started = done(&mut client, "task.execute", in_lane(&one));
    let wait = json!({"execution_id": started["execution_id"], "timeout_seconds": 60});
    let ended = done(&mut client, "task.wait", wait);
    assert_eq!(
        (&ended["status"], &ended["last_output"]),
        (&json!("completed"), &json!("cooked")),
        "{ended:#}"
    );
    let read = |path: &str| site.workspace.read_text(format!("{}/{path}", folder(&one)));
    assert_eq!(read("a.txt"), "one\ntwo\n");
    assert_eq!(read("c.txt"), "by a tool\n", "{}", read("told.json"));
    assert!(read("told.json").contains("one\\ntwo"), "{}", read("told.json"));
    assert_eq!(read(".git"), before);
    assert_eq!(site.workspace.read_text("a.txt"), "one\n");
    assert!(!site.workspace.exists("evil"));
    // A lane of another agent, and an unknown lane.
    fails(&mut client, "task.execute", in_lane(&anns), "not_found");
    fails(&mut client, "task.execute", in_lane("lane-none"), "not_found");
    for lane in [json!(5), json!(["x"])] {
        let args = json!({"agent_id": "cook", "input": {"lane": lane}});
        fails(&mut client, "task.execute", args, "invalid_arguments");
    }
    // A task of a session in a lane works only in that lane.
    let mut bound = session(&site, "local", &two);
    fails(&mut bound, "task.execute", in_lane(&one), "outside_context");
    let started = done(&mut bound, "task.execute", json!({"agent_id": "cook"}));
    let wait = json!({"execution_id": started["execution_id"], "timeout_seconds": 60});
    assert_eq!(done(&mut bound, "task.wait", wait)["status"], "completed");
    assert_eq!(site.workspace.read_text(format!("{}/c.txt", folder(&two))), "by a tool\n");
}

/// Issue 17: a lane must not be removed while something works in it.
#[test]
fn a_lane_in_which_something_works_is_not_put_away() {
    let site = site();
    let (one, two) = (lane(&site, "local", "One"), lane(&site, "local", "Two"));
    worker(&site, &json!([{"sleep": 60, "until": "go"}, {"output": "cooked"}]));
    let archive = |id: &str| json!({"lane_id": id});
    let mut other = Client::connect(&site, "local");
    // The task uses the lane of its session without naming it.
    let mut bound = session(&site, "local", &one);
    let started = done(&mut bound, "task.execute", json!({"agent_id": "cook"}));
    fails(&mut other, "lane.archive", archive(&one), "in_use");
    site.workspace.write(format!("{}/go", folder(&one)), "");
    let wait = json!({"execution_id": started["execution_id"], "timeout_seconds": 60});
    assert_eq!(done(&mut bound, "task.wait", wait)["status"], "completed");
    fs::remove_file(site.workspace.join(format!("{}/go", folder(&one)))).unwrap();
    done(&mut other, "lane.archive", archive(&one));
    // A command that waits for a writer.
    let pipe = site.workspace.join(format!("{}/pipe", folder(&two)));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut bound = session(&site, "local", &two);
    let sent = bound.send_call("cmd.run", json!({"command": "cat pipe"}));
    // Opening returns when the command opens the pipe.
    let mut write = File::options().write(true).open(&pipe).unwrap();
    let refused = other.call("lane.archive", archive(&two));
    assert_eq!(about(&refused)["code"], "in_use", "{refused:#}");
    std::io::Write::write_all(&mut write, b"done\n").unwrap();
    drop(write);
    assert_eq!(bound.result(sent)["structuredContent"]["stdout"], "done\n");
    fs::remove_file(pipe).unwrap();
    done(&mut other, "lane.archive", archive(&two));
    // Neither lane leaves files.
    let left = fs::read_dir(site.workspace.join(".brigade/lanes")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".gitignore"]);
}

/// Issue 17: a call started in a lane between the check for running calls and the removal of the lane.
#[test]
fn a_lane_cannot_be_archived_while_a_call_starts() {
    let site = site();
    let one = lane(&site, "local", "One");
    let mut bound = session(&site, "local", &one);
    let place = site.workspace.join(folder(&one));
    let runs = || fs::read_dir(site.workspace.join(".brigade/tools/runs")).map_or(0, Iterator::count);
    let before = runs();
    let held = locked(site.workspace.join(format!("{}.entry.lock", folder(&one))));
    let sent = bound.send_call("cmd.run", json!({"command": "touch here"}));
    // When its logs exist, the call is about to be claimed.
    until("logs of a run", || (before < runs()).then_some(()));
    let away = site.workspace.join("away");
    fs::rename(&place, &away).unwrap();
    drop(held);
    let refused = bound.result(sent);
    assert_eq!((&about(&refused)["code"], &refused["isError"]), (&json!("archived"), &json!(true)));
    assert!(!away.join("here").exists() && !place.exists());
}

/// Issue 17: a script in a profile refers to the script in the lane.
#[test]
fn a_profile_allows_the_scripts_of_the_lane() {
    let site = site();
    let allowed = "\"./run.sh\", \"sub/tool\", \"sh\", \"git\"";
    site.workspace.replace(".brigade/tools/profiles.toml", "\"sh\", \"git\"", allowed);
    let one = lane(&site, "local", "One");
    let here = site.workspace.path().display().to_string();
    for (folder, said) in [(".".to_owned(), "workspace"), (folder(&one), "lane")] {
        for path in ["run.sh", "sub/tool"] {
            site.workspace.write(format!("{folder}/{path}"), format!("#!/bin/sh\necho {said}\n"));
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(site.workspace.join(format!("{folder}/{path}")), mode).unwrap();
        }
    }
    let mut client = session(&site, "local", &one);
    for command in ["./run.sh", "sub/tool", &format!("{here}/{}/run.sh", folder(&one))] {
        let ran = done(&mut client, "cmd.run", json!({"command": command}));
        assert_eq!(ran["stdout"], "lane\n", "{command}");
    }
    symlink(format!("{here}/run.sh"), site.workspace.join(format!("{}/link.sh", folder(&one)))).unwrap();
    for command in [format!("{here}/run.sh"), "../../../run.sh".to_owned(), "./link.sh".to_owned()] {
        fails(&mut client, "cmd.run", json!({"command": command}), "path_outside");
    }
    // A session without limits gets the same answer.
    site.workspace.replace(
        ".brigade/tools/profiles.toml",
        &format!("commands = [\"cat\", \"touch\", {allowed}], "),
        "",
    );
    fails(&mut client, "cmd.run", json!({"command": format!("{here}/run.sh")}), "path_outside");
    // In the workspace, the name refers to another file. Without limits, a person is asked.
    let mut outside = Client::connect(&site, "local");
    let asked = outside.call("cmd.run", json!({"command": "./run.sh"}));
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    let ran = outside.call("call.wait", json!({"call_id": id_of(&asked)}));
    assert_eq!(ran["structuredContent"]["stdout"], "workspace\n");
}
