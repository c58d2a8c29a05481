//! Closed paths are listed, a run reports a refused write, and `git = "write"` lets a tool commit.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up a repository with git")]

use std::process::Command;

use brigade_tests::Site;
use serde_json::json;

use crate::serve_common::{self, Client};

/// Runs git in the workspace, and returns its output.
#[track_caller]
fn git(site: &Site, words: &[&str]) -> String {
    let output = Command::new("git").args(words).current_dir(site.workspace.join(".")).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Allows the effect `git-write` for tools.
fn allow_git_write(site: &Site) {
    site.workspace.replace(".brigade/tools/policy.toml", "\"network\"]", "\"network\", \"git-write\"]");
}

/// Makes the workspace a repository with a commit of `data.txt`.
fn repository(site: &Site) {
    site.workspace.write("data.txt", "one\n");
    for words in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.org"],
        &["config", "maintenance.auto", "false"],
        &["add", "data.txt"],
        &["commit", "-qm", "one"],
    ] {
        git(site, words);
    }
}

const REFUSED: &str = "the sandbox refused writing .git/index.lock: `.git` stays closed: the tool `git.commit` \
                       commits, and `git = \"write\"` in [sandbox.tool.tool] opens it to a tool with the effect `git-write`";

#[test]
fn a_path_that_stays_closed_is_shown_as_closed() {
    let site = Site::script_with("git add data.txt\n", "effects = [\"local-read\", \"local-write\"]");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\nwrite_paths = [\".git\", \"out\"]\n");
    repository(&site);
    let explained = site.tools(["policy", "explain", "tool"]).assert_code(0).stdout_text();
    assert!(explained.contains("stays closed, although it is in write_paths"), "{explained}");
    let plan = site.json(["call", "plan", "tool"]).expect(0);
    let sandbox = &plan["policy"]["sandbox"];
    assert_eq!((&sandbox["write_paths"], &sandbox["closed_paths"]), (&json!(["out"]), &json!([".git"])));
    let id = site.queue("tool", "{}");
    let shown = site.tools(["call", "show", &id]).assert_code(0).stdout_text();
    let closed = shown.lines().find(|line| line.contains("stays closed")).unwrap_or_default();
    assert!(closed.contains(".brigade, .git"), "{shown}");
    let issues = site.json(["policy", "doctor"]).json["issues"].clone();
    let is_it = |issue: &&serde_json::Value| issue["issue_type"] == "policy_path_closed";
    let issue = issues.as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{issues:#}"));
    assert!(issue["detail"].as_str().unwrap().contains("`.git` opens nothing"), "{issue:#}");
}

#[test]
fn a_run_says_what_the_sandbox_refused() {
    let site = Site::script_with("git add data.txt\n", "effects = [\"local-read\", \"local-write\"]");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    repository(&site);
    // The second run is like the first, which failed, and is observed again.
    for _ in 0..2 {
        let receipt = site.receipt_of("tool", "{}");
        let failure = receipt["failure"].as_str().unwrap_or_default();
        assert_eq!(failure, format!("the program ended with exit code 128; {REFUSED}"), "{receipt:#}");
        assert!(receipt["warnings"].to_string().contains("the sandbox refused"), "{receipt:#}");
        let run = receipt["id"].as_str().unwrap();
        let shown = site.tools(["run", "show", run]);
        let warned = shown.stderr_text();
        assert!(warned.contains("the sandbox refused writing .git/index.lock"), "{shown}");
    }
    site.workspace.write("bin/tool.sh", "echo x > /tmp/brigade-refused\n");
    let receipt = site.receipt_of("tool", "{}");
    let failure = receipt["failure"].as_str().unwrap_or_default();
    assert!(failure.contains("`write_paths` in [sandbox.tool.tool] opens it"), "{receipt:#}");
}

#[test]
fn an_agent_reads_what_the_sandbox_refused() {
    let site = serve_common::site();
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    repository(&site);
    serve_common::add(&site, "read-adds", "", "git add data.txt\n");
    let mut client = Client::connect(&site, "local");
    let result = client.call("read-adds", json!({}));
    serve_common::assert_stands(&result, "failed", "failed");
    let said = serve_common::text(&result);
    assert!(
        said.contains("the sandbox refused writing .git/index.lock") && said.contains("git.commit"),
        "{said}"
    );
}

#[test]
fn a_tool_commits_where_its_repository_is_open() {
    for effects in ["\"local-read\", \"git-write\"", "\"local-read\", \"local-write\", \"git-write\""] {
        let script = "set -e\ngit add data.txt\ngit commit -qm two\necho x > .git/commondir\n\
                      (echo x > .git/hooks/pre-commit) 2>/dev/null || echo closed\n";
        let site = Site::script_with(script, &format!("effects = [{effects}]"));
        allow_git_write(&site);
        site.add_to_policy("[sandbox]\nmode = \"enforce\"\n[sandbox.tool.tool]\ngit = \"write\"\n");
        repository(&site);
        site.workspace.write("data.txt", "two\n");
        let explained = site.tools(["policy", "explain", "tool"]).assert_code(0).stdout_text();
        assert!(explained.contains("git = \"write\" opens it"), "{explained}");
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["status"], "completed", "{receipt:#}");
        assert_eq!(site.log_text(&receipt, "stdout"), "closed\n");
        assert!(receipt["sandbox"]["write"].to_string().contains(".git/objects"), "{receipt:#}");
        assert_eq!(git(&site, &["log", "--format=%s"]), "two\none");
        assert_eq!(git(&site, &["status", "--porcelain", "data.txt"]), "");
        assert!(!site.workspace.exists(".git/commondir"));
    }
}

#[test]
fn git_write_takes_the_key_and_the_effect() {
    for (effects, lines) in [
        ("\"local-read\"", "[sandbox.tool.tool]\ngit = \"write\"\n"),
        ("\"local-read\", \"git-write\"", ""),
        ("\"local-read\", \"git-write\"", "[sandbox.tool.tool]\ngit = \"write\"\nreads = \"closed\"\n"),
    ] {
        let site = Site::script_with("git add data.txt\n", &format!("effects = [{effects}]"));
        allow_git_write(&site);
        site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\n{lines}"));
        repository(&site);
        assert_eq!(site.receipt_of("tool", "{}")["status"], "failed", "{effects} {lines}");
    }
    let site = Site::script_with("true\n", "effects = [\"local-read\"]");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n[sandbox.tool.tool]\ngit = \"write\"\n");
    let issues = site.json(["policy", "doctor"]).json["issues"].to_string();
    assert!(issues.contains("sandbox.tool.tool.git opens nothing"), "{issues}");
}

#[test]
fn a_read_of_the_hidden_state_is_listed_as_denied() {
    let script = "cat .brigade/tools/policy.toml sub/link .brigade/missing 2>/dev/null; true\n";
    let site = Site::script_with(script, "effects = [\"local-read\"]");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    site.workspace.write("sub/data.txt", "x");
    std::os::unix::fs::symlink("../.brigade/tools.toml", site.workspace.join("sub/link")).unwrap();
    let receipt = site.receipt_of("tool", "{}");
    let denied = json!([
        {"path": ".brigade/tools/policy.toml", "what": "read"},
        {"path": ".brigade/tools.toml", "what": "read"},
    ]);
    assert_eq!(receipt["observed"]["denied"], denied, "{receipt:#}");
}
