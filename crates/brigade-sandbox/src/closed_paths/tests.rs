use std::os::unix::fs::symlink;

use super::*;

const STATE: StateFolder<'_> = StateFolder { entry: ".state", data: &["data"] };

fn search(workspace: &Path, agent_files: AgentFiles) -> Search<'_> {
    let home = workspace.parent();
    let own = home.map(|home| home.join(".gitconfig")).into_iter().collect::<Vec<_>>();
    Search { workspace, home, settings: own.leak(), state: STATE, agent_files }
}

/// Checks which paths of a workspace are closed and pinned.
#[track_caller]
fn check(set_up: impl Fn(&Path), closed: &[&str], pinned: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    fs::create_dir_all(workspace.join(".git")).unwrap();
    fs::create_dir_all(workspace.join("deep/er")).unwrap();
    set_up(&workspace);
    let found = ClosedPaths::find(search(&workspace, AgentFiles::Closed));
    let paths = |names: &[&str]| names.iter().map(|name| workspace.join(name)).collect::<BTreeSet<_>>();
    assert_eq!((found.closed, found.pinned), (paths(closed), paths(pinned)));
}

fn write(path: &str, text: &str) -> impl Fn(&Path) {
    move |workspace| fs::write(workspace.join(path), text).unwrap()
}

#[test]
fn repositories_below_are_closed() {
    check(|_| {}, &[], &[]);
    check(
        write("deep/er/.git", "gitdir: ../../.git/modules/x"),
        &["deep/er/.git", ".git/modules"],
        &["deep", "deep/er", ".git"],
    );
    check(
        |workspace| fs::create_dir_all(workspace.join("deep/er/.git/hooks")).unwrap(),
        &["deep/er/.git"],
        &["deep", "deep/er"],
    );
    check(|workspace| symlink("elsewhere", workspace.join("deep/er/.git")).unwrap(), &["deep/er"], &["deep"]);
    check(
        |workspace| {
            fs::create_dir_all(workspace.join("real/hooks")).unwrap();
            symlink("../../real", workspace.join("deep/er/.git")).unwrap();
        },
        &["deep/er", "real"],
        &["deep"],
    );
    let worktree = |workspace: &Path| {
        let git = workspace.join("bare/worktrees/one");
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("commondir"), "../..").unwrap();
        fs::write(workspace.join("deep/.git"), format!("gitdir: {}", git.display())).unwrap();
    };
    check(worktree, &["deep/.git", "bare", "bare/worktrees/one"], &["deep", "bare", "bare/worktrees"]);
    check(|workspace| fs::create_dir_all(workspace.join("node_modules/x/.git")).unwrap(), &[], &[]);
}

#[test]
fn bare_repositories_and_workspaces_are_closed() {
    let bare = |path: &'static str| {
        move |workspace: &Path| {
            for folder in ["objects", "refs/heads", "hooks"] {
                fs::create_dir_all(workspace.join(path).join(folder)).unwrap();
            }
            fs::write(workspace.join(path).join("HEAD"), "ref: refs/heads/main").unwrap();
        }
    };
    check(bare("deep/bare.git"), &["deep/bare.git"], &["deep"]);
    check(bare(""), &["config", "hooks"], &[]);
    // Links among the files of its worktrees are not git's.
    let with_links = |workspace: &Path| {
        bare("")(workspace);
        fs::create_dir(workspace.join("src")).unwrap();
        fs::write(workspace.join("src/run"), "x").unwrap();
        symlink("../../src/run", workspace.join("deep/er/link")).unwrap();
        symlink("../src/run", workspace.join("hooks/pre-push")).unwrap();
    };
    check(with_links, &["config", "hooks", "src/run"], &["src"]);
    check(
        |workspace| {
            bare("")(workspace);
            symlink("../HEAD", workspace.join("deep/link")).unwrap();
        },
        &["config", "hooks"],
        &[],
    );
    check(|workspace| fs::create_dir(workspace.join("deep/objects")).unwrap(), &[], &[]);
    check(
        |workspace| fs::create_dir_all(workspace.join("deep/er/.state/x/.git")).unwrap(),
        &["deep/er/.state"],
        &["deep", "deep/er"],
    );
    check(|workspace| symlink("x", workspace.join("deep/er/.state")).unwrap(), &["deep/er"], &["deep"]);
    check(|workspace| fs::create_dir(workspace.join(".state")).unwrap(), &[], &[]);
}

#[test]
fn targets_of_links_in_state_and_git_are_closed() {
    let linked = |link: &'static str, target: &'static str| {
        move |workspace: &Path| {
            let link = workspace.join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target, link).unwrap();
        }
    };
    check(linked(".state/tools/rules", "../../deep/rules"), &["deep"], &[]);
    check(linked(".state/work", "../deep/er"), &["deep/er"], &["deep"]);
    check(linked(".state/tools/data/one", "../../../deep/er"), &[], &[]);
    check(linked(".state/data", "../deep/er"), &["deep/er"], &["deep"]);
    check(linked("deep/.state/x/y", "../../er"), &["deep/.state", "deep/er"], &["deep"]);
    check(linked(".git/hooks", "../deep/er"), &["deep/er"], &["deep"]);
    check(linked(".git/hooks/pre-commit", "../../deep/er/run"), &["deep/er"], &["deep"]);
    let settings = |workspace: &Path| {
        write("settings", "")(workspace);
        linked(".git/config", "../settings")(workspace);
    };
    check(settings, &["settings"], &[]);
    check(linked(".git/modules/one/hooks", "../../../deep"), &["deep"], &[]);
    check(linked("deep/.git/hooks", "../er"), &["deep/.git", "deep/er"], &["deep"]);
    check(linked(".git/info", "/somewhere/else"), &[], &[]);
    check(linked(".git/info", "info"), &[".git"], &[]);
    let chain = |workspace: &Path| {
        linked(".git/hooks", "../deep")(workspace);
        fs::create_dir(workspace.join("src")).unwrap();
        fs::write(workspace.join("src/run"), "x").unwrap();
        linked("deep/pre-commit", "../src/run")(workspace);
    };
    check(chain, &["deep", "src/run"], &["src"]);
    check(linked(".git/hooks/pre-commit", "../../gone"), &[], &[]);
    let of_git = |workspace: &Path| {
        write(".git/HEAD", "ref: refs/heads/main")(workspace);
        linked(".git/objects/one", "../../deep")(workspace);
        linked(".git/modules/logs/hooks", "../../../deep/er")(workspace);
    };
    check(of_git, &["deep/er"], &["deep"]);
    check(linked(".git/hooks", ".."), &[""], &[]);
    let hooks = |workspace: &Path| {
        write(".git/config", "[core]\n\thooksPath = hooks\n")(workspace);
        linked("hooks/pre-commit", "../deep/run")(workspace);
    };
    check(hooks, &["hooks", "deep"], &[]);
}

#[test]
fn included_settings_are_read_and_closed() {
    let both = |text: &'static str, other: &'static str, others: &'static str| {
        move |workspace: &Path| {
            write(".git/config", text)(workspace);
            write(other, others)(workspace);
        }
    };
    let hooks = "[core]\nhooksPath = deep/er\n";
    let include = "[include]\n\tpath = ../settings\n";
    check(both(include, "settings", hooks), &["settings", "deep/er"], &["deep"]);
    check(both("[include] path=own\n", ".git/own", hooks), &[".git/own", "deep/er"], &[".git", "deep"]);
    let conditional = "[includeIf \"gitdir:**\"]\npath = ../settings\n";
    check(both(conditional, "settings", hooks), &["settings", "deep/er"], &["deep"]);
    check(both(include, "settings", "[include]\npath = settings\n"), &["settings"], &[]);
    let at_home = "[core]\nhooksPath = ~/workspace/deep\n";
    check(both("[include]\npath = ~/.own\n", "../.own", at_home), &["deep"], &[]);
    check(both("[other]\npath = ../settings\n", "settings", hooks), &[], &[]);
    let quoted = "[includeIf \"gitdir:/a[6]/\"] path = ../settings\n";
    check(both(quoted, "settings", hooks), &["settings", "deep/er"], &["deep"]);
    check(both("[include]\npath = ../set\\\ntings\n", "settings", ""), &["settings"], &[]);
    let marked = "\u{feff}[core]\nx = a\\\n[other]\nhooksPath = \"deep/\\\ner\"\n";
    check(both(include, "settings", marked), &["settings", "deep/er"], &["deep"]);
    check(both("[include]\npath = ../gone\n", "settings", ""), &[], &[]);
}

#[test]
fn files_that_settings_name_are_closed() {
    let config = |text: &'static str| {
        move |workspace: &Path| {
            write(".git/config", text)(workspace);
            write("deep/run.sh", "")(workspace);
        }
    };
    check(config("[core]\nfsmonitor = deep/run.sh\n"), &["deep/run.sh"], &["deep"]);
    check(config("[alias]\nx = \"!sh deep/run.sh -v\"\n"), &["deep/run.sh"], &["deep"]);
    check(config("[filter \"x\"]\nclean = deep/run.sh %f\n"), &["deep/run.sh"], &["deep"]);
    check(config("[user]\nname = deep\n"), &[], &[]);
}

#[test]
fn agent_files_are_closed_or_reserved() {
    let set_up = |workspace: &Path| {
        write(".mcp.json", "{}")(workspace);
        fs::create_dir_all(workspace.join("deep/.vscode")).unwrap();
        fs::create_dir_all(workspace.join(".github/workflows")).unwrap();
        symlink("../er/tasks.json", workspace.join("deep/.vscode/tasks.json")).unwrap();
        write("deep/er/tasks.json", "{}")(workspace);
    };
    check(set_up, &[".mcp.json", "deep/.vscode", "deep/er/tasks.json"], &["deep", "deep/er"]);
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    fs::create_dir_all(workspace.join("deep/er")).unwrap();
    set_up(&workspace);
    let found = ClosedPaths::find(search(&workspace, AgentFiles::Closed));
    let is_missing = |path: &str| found.missing.contains(&workspace.join(path));
    assert!(is_missing(".claude") && !is_missing(".mcp.json") && !is_missing("opencode.json"));
    let open = ClosedPaths::find(search(&workspace, AgentFiles::Open));
    assert_eq!(open, ClosedPaths::default());
}

#[test]
fn what_was_not_searched_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path();
    let close_rest = |rest: Vec<PathBuf>| {
        let mut finder = Finder {
            workspace,
            state: STATE,
            agent_files: AgentFiles::Open,
            settings: Settings::new(None, &[]),
            visited: BTreeSet::new(),
            found: ClosedPaths::default(),
        };
        finder.close_rest(rest);
        finder.found
    };
    let many = |at: &str, count: usize| {
        (0..count).map(|name| workspace.join(at).join(name.to_string())).collect::<Vec<_>>()
    };
    fs::create_dir_all(workspace.join("a/b")).unwrap();
    fs::create_dir_all(workspace.join("c/d")).unwrap();
    let rest = [many("a/b", MAX_UNSEARCHED + 1), vec![workspace.join("c/d")]].concat();
    let found = close_rest(rest);
    let closed = |found: &ClosedPaths| {
        let inside = found.closed.iter().filter_map(|path| path.strip_prefix(workspace).ok());
        inside.map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!((closed(&found), found.extent), (vec!["a/b".to_owned(), "c/d".to_owned()], Extent::Part));
    let found = close_rest(many("", MAX_UNSEARCHED + 1));
    assert_eq!(closed(&found), [""]);
}

#[test]
fn links_close_more() {
    let modules = |text: &'static str| write(".gitmodules", text);
    let linked = |target: &'static str| {
        move |workspace: &Path| {
            symlink(target, workspace.join("docs")).unwrap();
            fs::create_dir_all(workspace.join("deep/.git")).unwrap();
            modules("[submodule \"docs\"]\n\tpath = docs\n")(workspace);
        }
    };
    // `docs/.git` is the workspace's own repository, which is kept anyway.
    check(linked("."), &["docs", ".git", "deep/.git"], &["deep"]);
    check(linked("deep"), &["docs", "deep/.git"], &["deep"]);
    check(linked("../elsewhere"), &["deep/.git"], &["deep"]);
    let hooks = |target: &'static str| {
        move |workspace: &Path| {
            symlink(target, workspace.join("hooks")).unwrap();
            write(".git/config", "[core]\nhooksPath = hooks\n")(workspace);
        }
    };
    check(hooks("deep/er"), &["hooks", "deep/er"], &["deep"]);
    check(hooks("."), &["hooks", ""], &[]);
    check(hooks("hooks"), &["hooks"], &[]);
    check(write(".git/config", "[core]\nhooksPath = .\n"), &[""], &[]);
    let folder = tempfile::tempdir().unwrap();
    symlink("x", folder.path().join("hooks")).unwrap();
    let closed = |name: &str| ClosedPaths {
        closed: BTreeSet::from([folder.path().join(name)]),
        ..ClosedPaths::default()
    };
    assert!(closed("hooks").closes_the_top(folder.path()));
    assert!(!closed("deep").closes_the_top(folder.path()));
}

#[test]
fn folders_of_hooks_are_closed() {
    let config = |text: &'static str| write(".git/config", text);
    check(config("[core]\n\thooksPath = .githooks\n"), &[".githooks"], &[]);
    check(config("[Core] HooksPath=\"deep/er\" ; why\n"), &["deep/er"], &["deep"]);
    check(config("[core]\nhooksPath = gone/a/b\n"), &["gone"], &[]);
    check(config("[core]\nhooksPath = .husky/_\n"), &[".husky"], &[]);
    check(config("[core \"x\"]\nhooksPath = deep\n[other]\nhooksPath = deep\n"), &[], &[]);
    check(config("[core]\nhooksPath = ../outside\n[core]\nhooksPath = ~/hooks\n"), &[], &[]);
    check(write("../.gitconfig", "[core]\nhooksPath = deep/er\n"), &["deep/er"], &["deep"]);
}
