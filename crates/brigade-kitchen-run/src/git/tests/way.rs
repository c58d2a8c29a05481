//! The path of a task's work into the branch.

use super::*;

#[test]
fn a_task_is_one_commit_and_changes_no_user_files() {
    let bench = Bench::new();
    bench.write("README.md", "hello, mine\n");
    bench.write("note.txt", "untracked\n");
    let before = bench.users();
    let place = bench.open();
    let (at, origin) = place.begin(&name("US-003")).unwrap();
    assert_eq!(origin, FolderOrigin::New);
    assert_eq!(at.worktree.as_deref(), Some(".brigade/kitchen/worktrees/prd-add-auth/US-003"));
    assert_eq!(read(&at.folder.join("README.md")), "hello\n", "the branch, not the user's files");
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("src/lib.rs"), "// TODO old\nfn a() {}\n// FIXME new\n");
        write(&folder.join("new/b.txt"), "b\n");
        write(&folder.join("noise.log"), "ignored\n");
        std::fs::remove_file(folder.join("README.md")).unwrap();
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Deleted README.md", "Added new/b.txt", "Modified src/lib.rs"]);
    let markers: Vec<String> = changes.markers.iter().map(ToString::to_string).collect();
    assert_eq!(markers, ["src/lib.rs:3: FIXME"], "only lines that were added");
    let patch = place.patch(&at, &changes, 10_000).unwrap();
    assert!(patch.contains("+// FIXME new") && patch.contains("-hello"), "{patch}");
    assert!(place.patch(&at, &changes, 40).unwrap().contains("more bytes are left out"));

    let made = place.commit(&at, &changes, &run_id()).unwrap();
    let commit = made.commit.clone().unwrap();
    assert!(
        !try_git(&bench.root(), &["cat-file", "-e", commit.as_str()]).0,
        "nothing before it is integrated"
    );
    assert_eq!(place.integrate(&at, &made).unwrap(), Integration::Done(Some(commit.clone())));
    assert_eq!(bench.git(&["rev-parse", "feature/x"]), commit.as_str());
    assert_eq!(
        bench.git(&["log", "-1", "--format=%an <%ae>%n%B", "feature/x"]),
        format!(
            "Ada <ada@example.org>\nUS-003: Title of US-003\n\nBrigade-Task: add-auth/US-003\nBrigade-Run: {}",
            run_id()
        )
    );
    assert_eq!(
        bench.git(&["diff", "--name-status", "main", "feature/x"]),
        "D\tREADME.md\nA\tnew/b.txt\nM\tsrc/lib.rs"
    );
    assert_eq!(place.find_integrated(&name("US-003"), &run_id()).unwrap(), Some(commit));
    assert_eq!(place.find_integrated(&name("US-004"), &run_id()).unwrap(), None);
    place.finish(&at).unwrap();
    assert!(!at.folder.exists());
    place.finish(&at).unwrap();
    assert_eq!(bench.users(), before);
    assert_eq!(bench.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn committed_staged_and_untracked_work_counts_alike() {
    let bench = Bench::new();
    let place = bench.open();
    for (id, commands) in [
        ("untracked", vec![]),
        ("staged", vec![vec!["add", "-A"]]),
        ("committed", vec![vec!["add", "-A"], vec!["commit", "-q", "-m", "mine"]]),
        (
            "elsewhere",
            vec![vec!["checkout", "-q", "-b", "other"], vec!["add", "-A"], vec!["commit", "-qm", "x"]],
        ),
    ] {
        let (at, _) = place.begin(&name(id)).unwrap();
        let changes = attempt(&place, &at, |folder| {
            write(&folder.join("b.txt"), "b\n");
            for words in &commands {
                git(folder, words);
            }
        })
        .unwrap();
        assert_eq!(paths(&changes), ["Added b.txt"], "{id}");
        assert_eq!(changes.head.is_some(), id == "committed" || id == "elsewhere");
    }
    let (at, _) = place.begin(&name("nothing")).unwrap();
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("b.txt"), "b\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "x"]);
        git(folder, &["rm", "-q", "b.txt"]);
        git(folder, &["commit", "-qm", "y"]);
    })
    .unwrap();
    assert!(changes.is_empty(), "commits that undo each other change nothing");
}

#[test]
fn an_ignored_file_counts_if_the_worker_tracks_it() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("kept.log"), "x\n");
        write(&folder.join("other.log"), "x\n");
        git(folder, &["add", "-f", "kept.log"]);
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Added kept.log"]);
}

#[test]
fn files_change_into_folders_links_and_back() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| {
        std::fs::remove_file(folder.join("README.md")).unwrap();
        write(&folder.join("README.md/inner.log"), "ignored\n");
        std::fs::remove_dir_all(folder.join("src")).unwrap();
        std::os::unix::fs::symlink("/etc", folder.join("src")).unwrap();
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Deleted README.md", "Added src", "Deleted src/lib.rs"]);
    let moved = attempt(&place, &at, |folder| {
        std::fs::remove_file(folder.join("src")).unwrap();
        write(&folder.join("moved/lib.rs"), "other\n");
        std::os::unix::fs::symlink("moved", folder.join("src")).unwrap();
    })
    .unwrap();
    let files = ["Deleted README.md", "Added moved/lib.rs", "Added src", "Deleted src/lib.rs"];
    assert_eq!(paths(&moved), files, "the same name beyond a link is another file");
    let again = attempt(&place, &at, |folder| {
        std::fs::remove_dir_all(folder.join("moved")).unwrap();
        std::fs::remove_file(folder.join("src")).unwrap();
        write(&folder.join("src/lib.rs"), "// TODO old\nfn a() {}\n");
        std::fs::remove_dir_all(folder.join("README.md")).unwrap();
        write(&folder.join("README.md"), "hello\n");
    })
    .unwrap();
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn changes_by_verification_are_not_committed() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("b.txt"), "good\n")).unwrap();
    write(&at.folder.join("b.txt"), "changed by a test\n");
    write(&at.folder.join("coverage.out"), "x\n");
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    place.integrate(&at, &made).unwrap();
    assert_eq!(bench.git(&["show", "feature/x:b.txt"]), "good");
    assert!(!try_git(&bench.root(), &["show", "feature/x:coverage.out"]).0);
}

#[test]
fn moved_branch_rebases_and_verifies_again() {
    let bench = Bench::new();
    let place = bench.open();
    let (first, _) = place.begin(&name("first")).unwrap();
    let (second, _) = place.begin(&name("second")).unwrap();
    let changes = attempt(&place, &second, |folder| write(&folder.join("second.txt"), "2\n")).unwrap();
    let made = place.commit(&second, &changes, &run_id()).unwrap();
    let others = attempt(&place, &first, |folder| write(&folder.join("first.txt"), "1\n")).unwrap();
    let others = place.commit(&first, &others, &run_id()).unwrap();
    assert!(matches!(place.integrate(&first, &others).unwrap(), Integration::Done(_)));

    let Integration::Moved { place: second, changes } = place.integrate(&second, &made).unwrap() else {
        panic!("the branch moved")
    };
    assert_eq!(second.base, others.commit);
    assert_eq!(paths(&changes), ["Added second.txt"]);
    assert_eq!(read(&second.folder.join("first.txt")), "1\n", "it is verified with the work of the other");
    assert_eq!(
        git(&second.folder, &["status", "--porcelain"]),
        "A  second.txt",
        "the worker's git has the same base"
    );
    let made = place.commit(&second, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&second, &made).unwrap(), Integration::Done(_)));
    assert_eq!(
        bench.git(&["log", "--format=%s", "feature/x"]),
        "second: Title of second\nfirst: Title of first\nfirst"
    );
}

#[test]
fn conflict_names_files_and_keeps_both_sides() {
    let bench = Bench::new();
    let place = bench.open();
    let (first, _) = place.begin(&name("first")).unwrap();
    let (second, _) = place.begin(&name("second")).unwrap();
    let edit = |text: &'static str| move |folder: &Path| write(&folder.join("README.md"), text);
    let mine = attempt(&place, &second, edit("mine\n")).unwrap();
    let made = place.commit(&second, &mine, &run_id()).unwrap();
    let theirs = attempt(&place, &first, edit("theirs\n")).unwrap();
    let theirs = place.commit(&first, &theirs, &run_id()).unwrap();
    place.integrate(&first, &theirs).unwrap();
    assert_eq!(place.integrate(&second, &made).unwrap(), Integration::Conflict(vec!["README.md".to_owned()]));
    let (second, origin) = place.begin(&name("second")).unwrap();
    assert_eq!((origin, &second.base), (FolderOrigin::Found, &theirs.commit));
    let text = read(&second.folder.join("README.md"));
    assert!(text.contains("<<<<<<<") && text.contains("mine") && text.contains("theirs"), "{text}");
    let unsolved = attempt(&place, &second, |_| {}).unwrap();
    assert_eq!(unsolved.markers.len(), 1, "a conflict that is left is open work");
    assert!(unsolved.markers[0].is_of_conflict(), "{:?}", unsolved.markers);
    let solved = attempt(&place, &second, edit("both\n")).unwrap();
    let made = place.commit(&second, &solved, &run_id()).unwrap();
    assert!(matches!(place.integrate(&second, &made).unwrap(), Integration::Done(_)));
    assert_eq!(bench.git(&["show", "feature/x:README.md"]), "both");
}

#[test]
fn commits_of_a_worker_are_kept_on_request() {
    let mut bench = Bench::new();
    bench.options.commits = Commits::Keep;
    let place = bench.open();
    let commit_two = |folder: &Path| {
        for file in ["a", "b"] {
            write(&folder.join(file), "x\n");
            git(folder, &["add", "-A"]);
            git(folder, &["commit", "-qm", &format!("add {file}")]);
        }
        write(&folder.join("c"), "left\n");
    };
    let (other, _) = place.begin(&name("other")).unwrap();
    let (_, _, done) = task(&place, "one", commit_two);
    assert!(matches!(done, Integration::Done(_)));
    let subjects = || bench.git(&["log", "--format=%s", "feature/x"]);
    assert_eq!(subjects(), "one: Title of one\nadd b\nadd a\nfirst");

    // Another task, which began before, is rebased commit by commit.
    let changes = attempt(&place, &other, |folder| {
        write(&folder.join("d"), "x\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "add d"]);
    })
    .unwrap();
    let made = place.commit(&other, &changes, &run_id()).unwrap();
    assert_eq!(made.squashed, None);
    let Integration::Moved { place: other, changes } = place.integrate(&other, &made).unwrap() else {
        panic!("the branch moved")
    };
    assert_eq!(paths(&changes), ["Added d"]);
    let made = place.commit(&other, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&other, &made).unwrap(), Integration::Done(_)));
    assert_eq!(subjects(), "other: Title of other\nadd d\none: Title of one\nadd b\nadd a\nfirst");
    assert_eq!(bench.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn large_work_is_handed_over_as_a_pack() {
    let bench = Bench::new();
    let place = bench.open();
    let (_, made, done) = task(&place, "big", |folder| {
        // Random enough not to be compressible.
        let mut state = 1u64;
        let bytes: Vec<u8> = (0..3_000_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_be_bytes()[0]
            })
            .collect();
        std::fs::write(folder.join("big.bin"), bytes).unwrap();
    });
    assert_eq!(done, Integration::Done(made.commit));
    assert_eq!(bench.git(&["fsck", "--strict", "--no-dangling"]), "");
    place.finish(&place.begin(&name("big")).unwrap().0).unwrap();
    assert_eq!(bench.git(&["cat-file", "-s", "feature/x:big.bin"]), "3000000");
}

#[test]
fn given_ignored_files_are_never_committed() {
    let mut bench = Bench::new();
    bench.options.copy = vec![".env".to_owned()];
    bench.options.link = vec!["node_modules".to_owned(), "absent".to_owned(), "../outside".to_owned()];
    bench.write(".worktreeinclude", "# what tests need\nbuild/*.bin\nREADME.md\n");
    bench.write(".env", "KEY=1\n");
    bench.write("build/a.bin", "a\n");
    bench.write("build/b.txt", "b\n");
    bench.write("node_modules/x/index.js", "x\n");
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    assert_eq!(read(&at.folder.join(".env")), "KEY=1\n");
    assert_eq!(read(&at.folder.join("build/a.bin")), "a\n");
    assert!(!at.folder.join("build/b.txt").exists());
    assert_eq!(read(&at.folder.join("node_modules/x/index.js")), "x\n");
    assert!(at.folder.join("node_modules").is_symlink());
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
    place.finish(&at).unwrap();
    assert_eq!(read(&bench.root().join("node_modules/x/index.js")), "x\n", "links are removed, not followed");
}

#[test]
fn a_workspace_may_be_a_folder_of_its_repository() {
    let bench = Bench::new();
    bench.write("app/main.py", "x\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "app"]);
    let workspace = bench.root().join("app");
    let place = GitPlace::open(&workspace, &bench.host(), bench.options.clone()).unwrap();
    let (at, _, done) = task(&place, "a", |folder| write(&folder.join("main.py"), "y\n"));
    assert!(matches!(done, Integration::Done(_)));
    assert!(at.folder.ends_with("a/app"), "{:?}", at.folder);
    assert_eq!(bench.git(&["show", "feature/x:app/main.py"]), "y");
}

#[test]
fn a_task_is_found_again_with_its_work() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("--help")).unwrap();
    attempt(&place, &at, |folder| write(&folder.join("b"), "b\n")).unwrap();
    drop(place);
    let place = bench.open();
    let (again, origin) = place.begin(&name("--help")).unwrap();
    assert_eq!((origin, &again), (FolderOrigin::Found, &at));
    assert_eq!(paths(&attempt(&place, &again, |_| {}).unwrap()), ["Added b"]);
}

#[test]
fn sha256_reftable_and_shallow_repositories_work() {
    let bench = Bench::new();
    task(&bench.open(), "before", |folder| write(&folder.join("x"), "x\n"));
    bench.git(&["branch", "-D", "feature/x"]);
    bench.write("second", "2\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "second"]);
    let around = bench.folder.path();
    let url = format!("file://{}", bench.root().display());
    git(around, &["clone", "-q", "--depth=1", &url, "shallow"]);
    let mut made = vec!["shallow"];
    for (folder, words) in [
        ("sha256", ["init", "-q", "--object-format=sha256"]),
        ("reftable", ["init", "-q", "--ref-format=reftable"]),
    ] {
        // An older git does not support such repositories.
        if try_git(around, &[&words[..], &[folder]].concat()).0 {
            write(&around.join(folder).join("a"), "a\n");
            git(&around.join(folder), &["add", "-A"]);
            git(&around.join(folder), &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "first"]);
            made.push(folder);
        }
    }
    for folder in made {
        let root = around.join(folder);
        let place = GitPlace::open(&root, &bench.host(), bench.options.clone()).unwrap();
        let (late, _) = place.begin(&name("late")).unwrap();
        let (_, _, done) = task(&place, "first", |folder| {
            write(&folder.join("b"), "b\n");
            git(folder, &["add", "-A"]);
            git(folder, &["commit", "-qm", "mine"]);
        });
        assert!(matches!(done, Integration::Done(_)), "{folder}");
        let changes = attempt(&place, &late, |folder| write(&folder.join("c"), "c\n")).unwrap();
        let made = place.commit(&late, &changes, &run_id()).unwrap();
        let Integration::Moved { place: late, changes } = place.integrate(&late, &made).unwrap() else {
            panic!("{folder}: the branch moved")
        };
        let made = place.commit(&late, &changes, &run_id()).unwrap();
        assert!(matches!(place.integrate(&late, &made).unwrap(), Integration::Done(_)), "{folder}");
        assert_eq!(git(&root, &["diff", "--name-only", "HEAD", "feature/x"]), "b\nc", "{folder}");
        // The workspace has the branch checked out, so its files are updated.
        git(&root, &["checkout", "-q", "feature/x"]);
        assert!(matches!(
            task(&place, "last", |folder| write(&folder.join("d"), "d\n")).2,
            Integration::Done(_)
        ));
        assert_eq!(read(&root.join("d")), "d\n", "{folder}");
        assert_eq!(git(&root, &["fsck", "--no-dangling"]), "", "{folder}");
    }
}

#[test]
fn workspaces_can_share_a_folder_of_worktrees() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().to_str().unwrap();
    let (mut one, mut two) = (Bench::new(), Bench::new());
    one.options.worktrees = shared.to_owned();
    two.options.worktrees = shared.to_owned();
    let (of_one, of_two) = (one.open(), two.open());
    let (first, _) = of_one.begin(&name("a")).unwrap();
    write(&first.folder.join("precious.txt"), "not done yet\n");
    let (second, origin) = of_two.begin(&name("a")).unwrap();
    assert_eq!(origin, FolderOrigin::New);
    assert_ne!(first.folder, second.folder);
    of_two.finish(&second).unwrap();
    of_two.leave(&second.name.prd, &|_| false).unwrap();
    let (again, origin) = of_one.begin(&name("a")).unwrap();
    assert_eq!(
        (origin, read(&again.folder.join("precious.txt"))),
        (FolderOrigin::Found, "not done yet\n".to_owned())
    );
}
