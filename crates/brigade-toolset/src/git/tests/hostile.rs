//! A repository that names programs wherever git takes one.

use super::*;

const HOOKS: [&str; 12] = [
    "pre-commit",
    "commit-msg",
    "post-commit",
    "prepare-commit-msg",
    "post-checkout",
    "post-merge",
    "pre-push",
    "reference-transaction",
    "post-index-change",
    "post-rewrite",
    "pre-auto-gc",
    "fsmonitor-watchman",
];

/// Configures a program everywhere a repository can name one. The program leaves a file, whose path is returned.
fn poison(git: &GitBench, folder: &str) -> PathBuf {
    let mark = git.beside("ran");
    let trap = git.beside("trap.sh");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", mark.display());
    executable(&trap, &script);
    for hook in HOOKS {
        executable(&git.workspace.join(format!("{folder}.git/hooks/{hook}")), &script);
    }
    let trap = trap.display();
    let config = format!(
        "[core]\n\tfsmonitor = {trap}\n\thooksPath = {folder}.git/hooks\n\tsshCommand = {trap}\n\teditor = {trap}\n\
         \tpager = {trap}\n\taskPass = {trap}\n\tgitProxy = {trap}\n\talternateRefsCommand = {trap}\n\
         [filter \"trap\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n\
         [diff]\n\texternal = {trap}\n[diff \"trap\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n\
         [merge \"trap\"]\n\tdriver = {trap}\n[alias]\n\tstatus = !{trap}\n\tdiff = !{trap}\n\tlog = !{trap}\n\
         [credential]\n\thelper = !{trap}\n[gpg]\n\tprogram = {trap}\n[commit]\n\tgpgSign = true\n\
         [log]\n\tshowSignature = true\n[pager]\n\tdiff = {trap}\n\tlog = {trap}\n[submodule]\n\trecurse = true\n\
         [status]\n\tsubmoduleSummary = true\n[sequence]\n\teditor = {trap}\n[interactive]\n\tdiffFilter = {trap}\n\
         [remote \"origin\"]\n\tuploadpack = {trap}\n\treceivepack = {trap}\n"
    );
    let path = format!("{folder}.git/config");
    let before = git.workspace.read_text(&path);
    git.workspace.write(&path, format!("{before}{config}"));
    mark
}

#[test]
fn a_hostile_repository_makes_git_start_nothing() {
    let git = GitBench::new();
    // A nested repository, which a plain `git status` would enter.
    let inner = git.workspace.join("sub").display().to_string();
    git.workspace.git(["init", "--quiet", &inner]);
    git.workspace.write("sub/x", "x\n");
    git.workspace.git(["-C", &inner, "add", "--all"]);
    git.workspace.git(["-C", &inner, "commit", "--quiet", "--message=Sub"]);
    git.workspace.git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    git.workspace.write("plain.txt", "plain\n");
    git.workspace.git(["add", "plain.txt"]);
    git.workspace.git(["commit", "--quiet", "--message=Sub"]);
    let mark = poison(&git, "");
    poison(&git, "sub/");
    git.workspace.write(".gitattributes", "*.bin filter=trap diff=trap merge=trap\n");
    git.workspace.write("x.bin", "x\n");
    git.workspace.write("plain.txt", "changed\n");
    git.workspace.write("sub/x", "changed\n");
    assert_eq!(git.done("git.status", HERE).get("dirty"), Some(&Json::from(true)));
    git.done("git.diff", HERE);
    git.done("git.diff", r#"{"binding_id": "workspace", "staged": true}"#);
    git.done("git.log", HERE);
    git.done("git.list", "{}");
    // A file that needs a filter is refused. Everything else is committed without hooks.
    git.fails("git.commit", &commit(&[]), ErrorCode::NeedsFilter);
    git.done("git.commit", &commit(&["plain.txt", ".gitattributes"]));
    git.done("lane.create", r#"{"name": "Hostile"}"#);
    git.done("lane.list", "{}");
    git.workspace.remove("x.bin");
    git.fails("git.refresh", HERE, ErrorCode::UnsafeRepository);
    git.fails("git.push", HERE, ErrorCode::UnsafeRepository);
    let ran = std::fs::read_to_string(&mark).unwrap_or_default();
    assert_eq!(ran, "", "programs of the repository ran");
    // The trap works: git runs it when a person starts git.
    let mut plain = std::process::Command::new("git");
    plain.args(["hook", "run", "post-commit"]).current_dir(git.workspace.path());
    plain.env("HOME", git.workspace.home()).output().unwrap();
    assert_ne!(std::fs::read_to_string(&mark).unwrap_or_default(), "");
}
