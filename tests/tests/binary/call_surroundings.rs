//! Corner cases of calls: inherited settings, missing files and odd sizes.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use brigade_testkit::Brigade;
use brigade_tests::{PATH, Site};

#[test]
fn the_child_inherits_no_open_file() {
    let site = Site::script("ls -l /proc/$$/fd | sed 's/.* //'\n");
    let id = site.approved("tool", "{}");
    let binary = brigade_testkit::brigade_binary().display().to_string();
    let line = format!("exec 9</etc/hostname 8>leak.txt; exec '{binary}' tools call run {id} --json");
    let run = Brigade::for_program("sh", &site.workspace).env("PATH", PATH).run(["-c", &line]);
    run.assert_code(0);
    let log = site.log_text(&run.json()["receipt"], "stdout");
    assert!(!log.contains("hostname") && !log.contains("leak.txt") && !log.contains("queue.lock"), "{log}");
}

#[test]
fn files_are_private_under_any_umask() {
    let site = Site::script("echo hi\n");
    let id = site.approved("tool", "{}");
    let binary = brigade_testkit::brigade_binary().display().to_string();
    let line = format!("umask 000; exec '{binary}' tools call run {id}");
    Brigade::for_program("sh", &site.workspace).env("PATH", PATH).run(["-c", &line]).assert_code(0);
    for (path, _) in site.workspace.files(".brigade/tools/runs") {
        let mode = fs::metadata(site.workspace.join(&path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{path}");
    }
}

#[test]
fn a_program_removed_after_the_approval_is_named() {
    let site = Site::script("true\n");
    site.write_program("bin/own", "#!/bin/sh\n");
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "./bin/own");
    let id = site.approved("tool", "{}");
    site.workspace.remove("bin/own");
    site.run_call(&id).refused("program");
    assert_eq!(site.status(&id), "approved");
}

#[test]
fn without_a_path_only_paths_are_programs() {
    let site = Site::script("echo hi\n");
    let bare = Brigade::for_program(brigade_testkit::brigade_binary(), &site.workspace).env("PATH", "");
    let queued = bare.run(["tools", "call", "queue", "tool", "--json"]);
    assert!(matches!(queued.code(), Some(0 | 1)), "{queued}");
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "/bin/sh bin/tool.sh");
    let queued = bare.run(["tools", "call", "queue", "tool", "--json"]);
    queued.assert_code(0);
    let id = queued.json()["call"]["id"].as_str().unwrap().to_owned();
    bare.run(["tools", "call", "approve", &id]).assert_code(0);
    bare.run(["tools", "call", "run", &id]).assert_code(0);
}

#[test]
fn timeouts_of_any_size() {
    for timeout in ["1e300", "1e18", "99999999999", "0.5"] {
        let site = Site::script_with("echo hi\n", &format!("timeout = {timeout}"));
        site.workspace.remove(".brigade/tools/policy.toml");
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["status"], "completed", "{timeout}: {receipt:#}");
    }
}

#[test]
fn a_directory_that_vanishes_or_becomes_a_file() {
    let site = Site::script_with("pwd\n", r#"cwd = "lib""#);
    site.workspace.write("lib/tool.sh", "pwd\n");
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "sh tool.sh");
    let id = site.approved("tool", "{}");
    site.workspace.remove("lib");
    site.run_call(&id).refused("cwd");
    site.workspace.write("lib", "a file");
    site.run_call(&id).refused("cwd");
    site.workspace.remove("lib");
    // A link to another directory with an identical file names another file.
    site.workspace.write("other/tool.sh", "pwd\n");
    symlink("other", site.workspace.join("lib")).unwrap();
    site.run_call(&id).refused("tool.sh");
    assert_eq!(site.status(&id), "approved");
}

#[test]
fn a_linked_workspace_is_the_same_workspace() {
    let site = Site::script("pwd -P\n");
    let link = site.beside("link");
    symlink(site.workspace.path(), &link).unwrap();
    let id = site.approved("tool", "{}");
    let run = site.json(["call", "run", &id, "--target", link.to_str().unwrap()]).expect(0);
    assert_eq!(run["target"], site.workspace.path().to_str().unwrap());
}

#[test]
fn a_directory_below_finds_the_workspace() {
    let site = Site::script("true\n");
    let id = site.queue("tool", "{}");
    let run = site.brigade.clone().current_dir("bin").run(["tools", "call", "show", &id, "--json"]);
    run.assert_code(0);
    let run =
        site.brigade.clone().current_dir("bin").run(["tools", "call", "show", &id, "--json", "-t", "."]);
    run.assert_code(1);
}

#[test]
fn arguments_that_are_not_utf8_are_a_usage_error() {
    use std::os::unix::ffi::OsStrExt;
    let site = Site::script("true\n");
    let bytes = std::ffi::OsStr::from_bytes(b"{\"a\":\"\xff\"}");
    let words = ["call", "plan", "tool", "--args"].map(std::ffi::OsStr::new);
    let answer = site.json(words.into_iter().chain([bytes]));
    assert!(matches!(answer.code, 1 | 2), "{}", answer.run);
}

#[test]
fn a_script_that_removes_the_state_is_reported() {
    // Without a sandbox, a script can damage the state. Brigade must still report the run.
    let site = Site::script("rm -rf .brigade\n");
    let id = site.approved("tool", "{}");
    let run = site.tools(["call", "run", &id, "--json"]);
    assert!(matches!(run.code(), Some(1 | 3)), "{run}");
    run.json();
}
