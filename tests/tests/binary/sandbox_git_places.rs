//! The git directory is protected from tools with `local-write`, also through a link or a `.git` file.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use brigade_tests::Site;
use serde_json::json;

/// A script that tries each line of `tries.txt`, and prints whether it worked.
const TRY: &str = "while IFS= read -r line; do\n\
    if (eval \"$line\") </dev/null >/dev/null 2>&1; then echo worked; else echo failed; fi\n\
    done < tries.txt\n";

/// Returns a site whose tool may write the workspace, after `set_up` ran in it.
fn confined(set_up: impl Fn(&Path)) -> Site {
    let lines =
        "argument_template = { a = \"{a}\" }\neffects = [\"local-read\", \"local-write\", \"network\"]";
    let site = Site::script_with(TRY, lines);
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    site.workspace.write("data.txt", "data\n");
    site.workspace.write("sub/data.txt", "data\n");
    site.workspace.write("tries.txt", "");
    set_up(&site.workspace.join("."));
    site
}

/// Runs the tool once, and checks which of these lines work in the sandbox of that run.
#[track_caller]
fn tries(site: &Site, lines: &[(&str, &str)]) {
    let text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    site.workspace.write("tries.txt", &text);
    let receipt = site.receipt_of("tool", &json!({"a": text.len()}).to_string());
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    let log = site.log_text(&receipt, "stdout");
    let is: Vec<(&str, &str)> = lines.iter().map(|(line, _)| *line).zip(log.lines()).collect();
    assert_eq!(is, lines, "{receipt:#}");
}

/// Returns these lines, all of which fail, and those that work after them.
fn all_fail<'l>(lines: &[&'l str], then: &[&'l str]) -> Vec<(&'l str, &'l str)> {
    let failing = lines.iter().map(|line| (*line, "failed"));
    failing.chain(then.iter().map(|line| (*line, "worked"))).collect()
}

/// Creates a minimal git directory.
fn repository(folder: &Path) {
    fs::create_dir_all(folder.join("hooks")).unwrap();
    fs::write(folder.join("config"), "[core]\n").unwrap();
}

/// Tries these lines, then to change the directory that `.git` leads to, and the path to it.
#[track_caller]
fn check_closed(site: &Site, folder: &str, first: &[(&str, &str)]) {
    let top = folder.split('/').next().unwrap_or(folder);
    let closed = [
        "echo x > .git".to_owned(),
        "rm .git".to_owned(),
        "mv .git moved".to_owned(),
        "echo x >> .brigade/tools/policy.toml".to_owned(),
        format!("echo x > {folder}/config"),
        format!("echo x > {folder}/hooks/post-checkout"),
        format!("rm -r {folder}"),
        format!("mv {top} moved"),
        format!("ln {folder}/config copy && echo x > copy"),
        format!("ln -s {folder} sub/link && echo x > sub/link/config"),
    ];
    let closed = closed.iter().map(|line| (line.as_str(), "failed"));
    tries(site, &first.iter().copied().chain(closed).collect::<Vec<_>>());
    let config = site.workspace.join(".").join(folder).join("config");
    assert_eq!(fs::read_to_string(config).unwrap(), "[core]\n");
}

#[test]
fn a_git_file_closes_the_directory_it_names() {
    let site = confined(|workspace| {
        repository(&workspace.join("real.git"));
        fs::write(workspace.join(".git"), "gitdir: ./real.git\n").unwrap();
    });
    check_closed(&site, "real.git", &[("echo x > new.txt && echo y > sub/data.txt", "worked")]);
    assert_eq!(site.workspace.read_text(".git"), "gitdir: ./real.git\n");
}

#[test]
fn a_nested_git_directory_closes_its_parents() {
    let site = confined(|workspace| {
        repository(&workspace.join("deep/er/real.git"));
        fs::write(workspace.join(".git"), "gitdir: deep/er/real.git").unwrap();
    });
    let first = [("echo x > new.txt", "worked"), ("mv deep/er deep/other", "failed")];
    check_closed(&site, "deep/er/real.git", &first);
}

#[test]
fn a_link_closes_the_directory_and_stays_where_it_is() {
    let site = confined(|workspace| {
        repository(&workspace.join("real.git"));
        symlink("real.git", workspace.join(".git")).unwrap();
    });
    let first = [
        ("echo x > data.txt && echo y > sub/new.txt", "worked"),
        ("echo x > new.txt", "failed"),
        ("rm .git && mkdir .git", "failed"),
        ("ln -sfn sub .git", "failed"),
    ];
    check_closed(&site, "real.git", &first);
    assert_eq!(fs::read_link(site.workspace.join(".git")).unwrap(), Path::new("real.git"));
}

#[test]
fn directories_shared_by_worktrees_are_closed() {
    let site = confined(|workspace| {
        repository(&workspace.join(".bare"));
        fs::create_dir_all(workspace.join("trees/one")).unwrap();
        fs::write(workspace.join("trees/one/commondir"), "../../.bare\n").unwrap();
        fs::write(workspace.join(".git"), "gitdir: trees/one\n").unwrap();
    });
    check_closed(&site, ".bare", &[("echo x > trees/one/commondir", "failed")]);
}

#[test]
fn a_workspace_that_is_the_directory_is_closed() {
    let site = confined(|workspace| fs::write(workspace.join(".git"), "gitdir: .\n").unwrap());
    let failing = ["echo x > config", "echo x > data.txt", "echo x > sub/data.txt"];
    tries(&site, &all_fail(&failing, &["cat data.txt && echo x > \"$TMPDIR/x\""]));
}

#[test]
fn paths_of_the_policy_open_none_of_it() {
    let site = confined(|workspace| {
        repository(&workspace.join("real.git"));
        fs::write(workspace.join(".git"), "gitdir: real.git\n").unwrap();
        symlink("real.git", workspace.join("alias")).unwrap();
        fs::create_dir(workspace.join("out")).unwrap();
    });
    site.add_to_policy("write_paths = [\"real.git\", \"alias\", \"sub/../real.git\", \"..\", \"out\"]\n");
    check_closed(&site, "real.git", &[("echo x > out/new", "worked")]);
}

#[test]
fn targets_of_links_in_git_and_state_are_closed() {
    let site = confined(|workspace| {
        repository(&workspace.join(".git"));
        fs::remove_dir_all(workspace.join(".git/hooks")).unwrap();
        for folder in ["githooks", "scripts", "pins", "kitchen", "own", "holder", ".git/info"] {
            fs::create_dir(workspace.join(folder)).unwrap();
        }
        for file in ["attributes", "push", "other"] {
            fs::write(workspace.join("scripts").join(file), "x").unwrap();
        }
        fs::write(workspace.join("settings"), "[core]\n\thooksPath = own\n").unwrap();
        fs::write(workspace.join(".git/config"), "[include]\n\tpath = ../settings\n").unwrap();
        fs::write(workspace.join("agents.toml"), "list = \"full\"\n").unwrap();
        for (link, target) in [
            (".git/hooks", "../githooks"),
            (".git/info/attributes", "../../scripts/attributes"),
            (".brigade/tools/gateway.toml", "../../agents.toml"),
            (".brigade/tools/pins", "../../pins"),
            (".brigade/kitchen", "../kitchen"),
            // The file does not exist, so its parent directory is closed.
            (".git/info/exclude", "../../holder/exclude"),
            ("githooks/pre-commit", "../holder/pre-commit"),
            ("own/pre-push", "../scripts/push"),
        ] {
            symlink(target, workspace.join(link)).unwrap();
        }
    });
    let failing = [
        "echo x > githooks/post-commit",
        "mv githooks moved",
        "echo x > scripts/attributes",
        "echo x > scripts/push",
        "mv scripts moved",
        "echo x >> settings",
        "echo x > own/post-commit",
        "echo x >> agents.toml",
        "rm agents.toml",
        "echo x > pins/new",
        "echo x > kitchen/new",
        "echo x > holder/exclude",
    ];
    tries(
        &site,
        &all_fail(&failing, &["echo x > scripts/other && echo x > scripts/new && echo x > new.txt"]),
    );
}

/// Tries to change a repository below the workspace, and the path to it. Its work tree stays writable.
#[track_caller]
fn check_nested(site: &Site, folder: &str, git: &str) {
    let top = folder.split('/').next().unwrap_or(folder);
    let failing = [
        format!("echo x > {git}/config"),
        format!("mkdir -p {git}/hooks && echo x > {git}/hooks/pre-commit"),
        format!("rm -r {folder}/.git"),
        format!("mv {folder}/.git {folder}/moved"),
        format!("rm -r {folder}/.git; mkdir {folder}/.git"),
        format!("mv {folder} moved"),
        format!("mv {top} moved"),
        format!("ln -s {git} link && echo x > link/config"),
        format!("echo x >> {folder}/.git"),
    ];
    let then = [
        format!("echo x > {folder}/new.txt && mv {folder}/new.txt {folder}/newer.txt"),
        format!("echo x > new.txt && mv new.txt {folder}/there.txt"),
    ];
    tries(site, &all_fail(&failing.each_ref().map(String::as_str), &then.each_ref().map(String::as_str)));
}

#[test]
fn a_repository_below_the_workspace_is_closed() {
    let site = confined(|workspace| {
        fs::create_dir(workspace.join(".git")).unwrap();
        repository(&workspace.join("deep/er/.git"));
    });
    check_nested(&site, "deep/er", "deep/er/.git");
    assert_eq!(site.workspace.read_text("deep/er/.git/config"), "[core]\n");
}

#[test]
fn a_submodule_and_a_worktree_are_closed() {
    let site = confined(|workspace| {
        repository(&workspace.join(".git/modules/part"));
        fs::create_dir_all(workspace.join("lib/part")).unwrap();
        fs::write(workspace.join("lib/part/.git"), "gitdir: ../../.git/modules/part\n").unwrap();
        fs::write(workspace.join(".gitmodules"), "[submodule \"part\"]\n\tpath = lib/part\n").unwrap();
        let git = workspace.join("bare/worktrees/one");
        repository(&workspace.join("bare"));
        repository(&git);
        fs::write(git.join("commondir"), "../..\n").unwrap();
        fs::create_dir_all(workspace.join("trees/one")).unwrap();
        fs::write(workspace.join("trees/one/.git"), format!("gitdir: {}\n", git.display())).unwrap();
    });
    check_nested(&site, "lib/part", ".git/modules/part");
    check_nested(&site, "trees/one", "bare");
    check_nested(&site, "trees/one", "bare/worktrees/one");
    assert_eq!(site.workspace.read_text("lib/part/.git"), "gitdir: ../../.git/modules/part\n");
}

#[test]
fn the_configured_hooks_directory_is_closed() {
    for (setting, there, closed) in [
        (".githooks", ".githooks", ".githooks/pre-commit"),
        ("tools/git/hooks", "tools/git/hooks", "tools/git/hooks/pre-commit"),
        ("not/there", "sub", "not/there/pre-commit"),
        (".husky/_", ".husky/_", ".husky/pre-commit"),
    ] {
        let site = confined(|workspace| {
            fs::create_dir(workspace.join(".git")).unwrap();
            fs::write(workspace.join(".git/config"), format!("[core]\n\thooksPath = {setting}\n")).unwrap();
            fs::create_dir_all(workspace.join(there)).unwrap();
        });
        let failing = [
            format!("mkdir -p \"$(dirname {closed})\" && echo x > {closed}"),
            format!("mv {there} moved && mkdir -p {there} && echo x > {closed}"),
        ];
        let then = ["echo x > new.txt && echo y > sub/new.txt"];
        tries(&site, &all_fail(&failing.each_ref().map(String::as_str), &then));
        assert!(!site.workspace.exists(closed));
    }
}

#[test]
fn paths_of_the_policy_open_no_repository_either() {
    let site = confined(|workspace| repository(&workspace.join("deep/er/.git")));
    site.add_to_policy("write_paths = [\"deep/er/.git\", \"deep/er\"]\n");
    tries(&site, &[("echo x > deep/er/new", "worked"), ("echo x > deep/er/.git/config", "failed")]);
}

#[test]
fn a_workspace_below_the_workspace_keeps_its_state() {
    let site = confined(|workspace| {
        fs::create_dir_all(workspace.join("deep/er/.brigade/tools")).unwrap();
        fs::write(workspace.join("deep/er/.brigade/tools/policy.toml"), "allowed_effects = []\n").unwrap();
    });
    let failing = [
        "echo x > deep/er/.brigade/tools.toml",
        "echo x >> deep/er/.brigade/tools/policy.toml",
        "mkdir deep/er/.brigade/queue",
        "mv deep/er/.brigade deep/er/moved",
        "mv deep/er deep/other",
        "mv deep moved",
    ];
    tries(
        &site,
        &all_fail(&failing, &["cat deep/er/.brigade/tools/policy.toml && echo x > deep/er/new.txt"]),
    );
    assert_eq!(site.workspace.read_text("deep/er/.brigade/tools/policy.toml"), "allowed_effects = []\n");
}

#[test]
fn a_repository_without_files_is_closed() {
    let site = confined(|workspace| {
        for folder in ["objects", "refs"] {
            fs::create_dir_all(workspace.join("deep/bare.git").join(folder)).unwrap();
        }
        repository(&workspace.join("deep/bare.git"));
        fs::write(workspace.join("deep/bare.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    });
    let failing = [
        "echo x >> deep/bare.git/config",
        "echo x > deep/bare.git/hooks/post-receive",
        "mv deep/bare.git deep/moved",
        "mv deep moved",
    ];
    tries(&site, &all_fail(&failing, &["echo x > deep/new.txt"]));
    assert_eq!(site.workspace.read_text("deep/bare.git/config"), "[core]\n");
}

#[test]
fn files_that_start_programs_stay_closed() {
    let site = confined(|workspace| {
        fs::write(workspace.join(".mcp.json"), "{}\n").unwrap();
        fs::create_dir_all(workspace.join("sub/.vscode")).unwrap();
        fs::create_dir_all(workspace.join("conf")).unwrap();
        fs::write(workspace.join("conf/hook"), "x\n").unwrap();
        fs::create_dir(workspace.join("sub/.claude")).unwrap();
        symlink("../../conf/hook", workspace.join("sub/.claude/hook")).unwrap();
    });
    let failing = [
        "echo x > .mcp.json",
        "rm .mcp.json",
        "echo x > new && mv new .mcp.json",
        "mkdir .codex",
        "mkdir made && mv made .cursor",
        "echo x > .envrc",
        "echo x > .vscode/tasks.json",
        "echo x > sub/.vscode/tasks.json",
        "mv sub moved",
        "echo x > conf/hook",
    ];
    tries(&site, &all_fail(&failing, &["echo x > sub/new.txt && echo x > .dotted && mkdir out"]));
    for path in [".codex", ".cursor", ".envrc", ".vscode"] {
        assert!(!site.workspace.exists(path), "{path}");
    }
    site.add_to_policy("[paths]\nagent_files = \"open\"\n");
    tries(&site, &[("echo x > .mcp.json && mkdir .codex && echo x > sub/.vscode/tasks.json", "worked")]);
}

#[test]
fn a_directory_that_cannot_be_searched_is_closed() {
    let site = confined(|workspace| repository(&workspace.join("deep/er/.git")));
    tries(&site, &[("chmod 0 deep/er", "worked")]);
    tries(&site, &[("chmod 755 deep/er && echo x >> deep/er/.git/config", "failed")]);
    fs::set_permissions(site.workspace.join("deep/er"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    assert_eq!(site.workspace.read_text("deep/er/.git/config"), "[core]\n");
}
