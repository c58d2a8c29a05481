//! Repositories and workers that try to make git run their programs, or to lose work.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Writes a program that leaves a mark when it runs.
fn trap(bench: &Bench, name: &str) -> (PathBuf, PathBuf) {
    let (program, mark) = (bench.folder.path().join(name), bench.folder.path().join(format!("{name}.ran")));
    write(&program, &format!("#!/bin/sh\necho ran >> {}\nexec cat\n", mark.display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, mark)
}

fn tampered(result: Result<Changes, PlaceError>) -> Vec<String> {
    match result {
        Err(PlaceError::Tampered { what }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_program_of_the_repository_or_its_user_runs() {
    let bench = Bench::new();
    let (program, mark) = trap(&bench, "trap");
    let trap = program.to_str().unwrap();
    bench.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "attributes"]);
    for (name, value) in [
        ("filter.evil.clean", trap),
        ("filter.evil.smudge", trap),
        ("filter.evil.required", "true"),
        ("diff.evil.textconv", trap),
        ("diff.evil.command", trap),
        ("diff.external", trap),
        ("merge.evil.driver", trap),
        ("core.fsmonitor", trap),
        ("core.editor", trap),
        ("core.pager", trap),
        ("core.sshCommand", trap),
        ("credential.helper", trap),
        ("gpg.program", trap),
        ("commit.gpgSign", "true"),
        ("core.hooksPath", bench.folder.path().join("hooks").to_str().unwrap()),
        ("alias.update-ref", &format!("!{trap}")),
    ] {
        bench.git(&["config", name, value]);
    }
    for hook in [
        "reference-transaction",
        "post-checkout",
        "pre-commit",
        "post-commit",
        "post-index-change",
        "post-merge",
    ] {
        let path = bench.folder.path().join("hooks").join(hook);
        write(&path, &read(&program));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let home = bench.folder.path().join("home/.gitconfig");
    write(&home, &format!("[core]\n\tfsmonitor = {trap}\n[uploadpack]\n\tpackObjectsHook = {trap}\n"));
    let place = bench.open();
    let (first, _) = place.begin(&name("first")).unwrap();
    task(&place, "second", |folder| write(&folder.join("README.md"), "second\n"));
    let changes = attempt(&place, &first, |folder| write(&folder.join("src/lib.rs"), "first\n")).unwrap();
    place.patch(&first, &changes, 1_000).unwrap();
    let made = place.commit(&first, &changes, &run_id()).unwrap();
    let Integration::Moved { place: first, changes } = place.integrate(&first, &made).unwrap() else {
        panic!("the branch moved")
    };
    let made = place.commit(&first, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&first, &made).unwrap(), Integration::Done(_)));
    place.find_integrated(&name("first"), &run_id()).unwrap();
    place.clean(&"prd-add-auth".parse().unwrap()).unwrap();
    place.merge(Some("feature/x")).unwrap_err();
    assert!(!mark.exists(), "{}", read(&mark));
    assert_eq!(
        git(&first.folder.parent().unwrap().join("../../../.."), &["cat-file", "-t", "feature/x"]),
        "commit"
    );
}

#[test]
fn changed_git_settings_are_named_and_git_not_run() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let shown = ".brigade/kitchen/worktrees/prd-add-auth/a/.git";
    let check = |work: &dyn Fn(&Path), expect: &[String]| {
        let guard = place.guard(&at).unwrap();
        let before = place.starts();
        work(&at.folder);
        assert_eq!(tampered(place.look(&at, &guard)), expect);
        assert_eq!(place.starts(), before, "git was started");
    };
    check(&|folder| drop(git(folder, &["config", "core.fsmonitor", "evil"])), &[format!("{shown}/config")]);
    check(
        &|folder| write(&folder.join(".git/hooks/post-commit"), "x"),
        &[format!("{shown}/hooks/post-commit")],
    );
    check(
        &|folder| write(&folder.join(".git/info/attributes"), "* filter=x"),
        &[format!("{shown}/info/attributes")],
    );
    check(&|folder| std::fs::remove_dir_all(folder.join(".git")).unwrap(), &[shown.to_owned()]);
    check(
        &|folder| {
            std::fs::remove_dir_all(folder.join(".git")).unwrap();
            std::os::unix::fs::symlink(bench.root().join(".git"), folder.join(".git")).unwrap();
        },
        &[shown.to_owned()],
    );
    check(
        &|folder| {
            std::fs::remove_dir_all(folder.join(".git")).unwrap();
            write(&folder.join(".git"), "gitdir: /elsewhere\n");
        },
        &[shown.to_owned()],
    );
    // The next attempt always gets a valid git directory.
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("b"), "b\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "x"]);
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Added b"]);
}

#[test]
fn settings_and_hooks_of_the_workspace_count_too() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let guard = place.guard(&at).unwrap();
    let hook = bench.root().join(".git/hooks/reference-transaction");
    write(&hook, "#!/bin/sh\nexit 1\n");
    let before = place.starts();
    assert_eq!(tampered(place.look(&at, &guard)), [".git/hooks/reference-transaction"]);
    assert!(matches!(place.guard(&at), Err(PlaceError::Tampered { .. })));
    assert!(matches!(place.begin(&name("b")), Err(PlaceError::Tampered { .. })));
    assert!(matches!(place.find_integrated(&name("a"), &run_id()), Err(PlaceError::Tampered { .. })));
    assert_eq!(place.starts(), before);
    std::fs::remove_file(&hook).unwrap();
    bench.git(&["branch", "other"]);
    bench.git(&["config", "branch.other.remote", "."]);
    bench.git(&["config", "branch.other.merge", "refs/heads/main"]);
    assert!(place.look(&at, &guard).is_ok(), "what a branch follows is the user's everyday work");
    bench.git(&["config", "core.fsmonitor", "evil"]);
    assert_eq!(tampered(place.look(&at, &guard)), [".git/config"]);
}

#[test]
fn a_nested_repository_is_neither_committed_nor_run() {
    let bench = Bench::new();
    let (program, mark) = trap(&bench, "trap");
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| {
        let inner = folder.join("vendor/inner");
        write(&inner.join("a.txt"), "a\n");
        write(&inner.join(".gitattributes"), "* filter=evil\n");
        git(&inner, &["init", "-q", "."]);
        git(&inner, &["add", "-A"]);
        git(&inner, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]);
        for name in ["filter.evil.clean", "core.fsmonitor"] {
            git(&inner, &["config", name, program.to_str().unwrap()]);
        }
        write(&inner.join("a.txt"), "changed\n");
    })
    .unwrap();
    assert_eq!(changes.nested, ["vendor/inner"]);
    assert!(!changes.is_empty());
    assert!(matches!(place.commit(&at, &changes, &run_id()), Err(PlaceError::Nested(_))));
    // A worker can also track it as a submodule.
    let changes = attempt(&place, &at, |folder| drop(git(folder, &["add", "-f", "vendor/inner"]))).unwrap();
    assert_eq!(changes.nested, ["vendor/inner"]);
    assert!(!mark.exists());
}

#[test]
fn a_submodule_of_the_repository_stays_what_it_is() {
    let bench = Bench::new();
    let head = bench.git(&["rev-parse", "HEAD"]);
    bench.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ../elsewhere\n\tupdate = !evil\n");
    bench.git(&["add", ".gitmodules"]);
    bench.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    bench.git(&["commit", "-qm", "submodule"]);
    let place = bench.open();
    let (at, _, done) = task(&place, "a", |folder| write(&folder.join("b"), "b\n"));
    assert!(matches!(done, Integration::Done(_)));
    assert!(at.folder.join("sub").is_dir());
    assert_eq!(bench.git(&["diff", "--name-only", "main", "feature/x"]), "b");
}

#[test]
fn names_in_any_bytes_are_committed() {
    let bench = Bench::new();
    let place = bench.open();
    let file = std::ffi::OsStr::from_bytes(b"n\xff\n\"\t \\*[?.txt").to_owned();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| {
        std::fs::write(folder.join(&file), "FIXME\n").unwrap();
        write(&folder.join("--help"), "x\n");
        write(&folder.join(":(top)x"), "x\n");
    })
    .unwrap();
    assert_eq!(changes.files.len(), 3, "{changes:?}");
    assert_eq!(changes.markers.len(), 1);
    assert!(changes.files.iter().all(|file| !file.path.contains('\n')), "{changes:?}");
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
    assert_eq!(bench.git(&["ls-tree", "--name-only", "feature/x", "--", ":(top)x"]), "");
    assert_eq!(bench.git(&["ls-tree", "-z", "--name-only", "feature/x"]).split('\0').count(), 7);
}

#[test]
fn a_worker_cannot_say_that_its_task_is_integrated() {
    let mut bench = Bench::new();
    bench.options.commits = Commits::Keep;
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let forged = format!("x\n\nBrigade-Task: add-auth/other\nBrigade-Run: {}", run_id());
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("b"), "b\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", &forged]);
    })
    .unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert_eq!(made.squashed, Some("one of them has a trailer of Brigade"));
    place.integrate(&at, &made).unwrap();
    assert_eq!(place.find_integrated(&name("other"), &run_id()).unwrap(), None);
    assert_eq!(place.find_integrated(&name("a"), &run_id()).unwrap(), made.commit);
    let mut titled = name("b");
    titled.title = format!("evil\n\nBrigade-Task: add-auth/other\nBrigade-Run: {}", run_id());
    let (at, _) = place.begin(&titled).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("c"), "c\n")).unwrap();
    let made = place.commit(&at, &changes, &"run-2".parse().unwrap()).unwrap();
    place.integrate(&at, &made).unwrap();
    assert_eq!(place.find_integrated(&name("other"), &run_id()).unwrap(), None);
}

#[test]
fn objects_that_lie_about_their_content_are_not_kept() {
    let mut bench = Bench::new();
    bench.options.commits = Commits::Keep;
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("b"), "said\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "x"]);
        let said = git(folder, &["rev-parse", "HEAD:b"]);
        write(&folder.join("b"), "good\n");
        git(folder, &["commit", "-qam", "y"]);
        write(&folder.join("evil.log"), "evil\n");
        let evil = git(folder, &["hash-object", "-w", "evil.log"]);
        let path = |id: &str| folder.join(".git/objects").join(&id[..2]).join(&id[2..]);
        std::fs::set_permissions(path(&said), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::copy(path(&evil), path(&said)).unwrap();
    })
    .unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert!(made.squashed.is_some(), "{made:?}");
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
    assert_eq!(bench.git(&["show", "feature/x:b"]), "good");
    assert_eq!(bench.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_repository_path_with_a_line_feed_is_refused() {
    let bench = Bench::new();
    let other = bench.folder.path().join("a\nb");
    std::fs::rename(bench.root(), &other).unwrap();
    let Err(error) = GitPlace::open(&other, &bench.host(), bench.options.clone()) else { panic!() };
    assert!(
        error.to_string().contains("has a line feed") && error.to_string().contains("worktrees"),
        "{error}"
    );
}
