//! Crashes, concurrent changes in the repository, and states in which a task cannot continue.

use super::*;

fn remake(bench: &Bench) -> GitPlace {
    bench.open()
}

#[test]
fn a_worktree_needs_a_repository_with_a_commit() {
    let bench = Bench::new();
    let empty = bench.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let open = |path: &Path, host: &HostEnvironment| match GitPlace::open(path, host, bench.options.clone()) {
        Err(PlaceError::WithoutGit(why)) => Some(why),
        other => panic!("{other:?}"),
    };
    assert_eq!(open(&empty, &bench.host()), Some(InPlaceReason::NoRepository));
    git(&empty, &["init", "-q", "."]);
    assert_eq!(open(&empty, &bench.host()), Some(InPlaceReason::NoCommit));
    assert_eq!(open(&empty, &HostEnvironment::new([])), Some(InPlaceReason::NoProgram));
    let bare = bench.folder.path().join("bare");
    git(bench.folder.path(), &["init", "-q", "--bare", "bare"]);
    assert_eq!(open(&bare, &bench.host()), Some(InPlaceReason::NoRepository));
    let mut named = Bench::new();
    for branch in ["", "-f", "a..b", "a b", "HEAD", "a/.b", "x.lock", "a~1", "@{u}", "a\nb"] {
        named.options.branch = branch.to_owned();
        assert!(matches!(named.try_open(), Err(PlaceError::BranchName(_))), "{branch:?}");
    }
}

#[test]
fn a_rebase_in_the_middle_is_left_alone() {
    let bench = Bench::new();
    bench.git(&["checkout", "-qb", "feature/x"]);
    bench.write("README.md", "theirs\n");
    bench.git(&["commit", "-qam", "theirs"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.write("README.md", "ours\n");
    bench.git(&["commit", "-qam", "ours"]);
    bench.git(&["checkout", "-q", "feature/x"]);
    assert!(!try_git(&bench.root(), &["rebase", "main"]).0);
    let before = bench.users();
    assert!(matches!(bench.try_open(), Err(PlaceError::Busy("a rebase"))));
    assert_eq!(bench.users(), before);
    // Another branch can be used meanwhile, once it exists.
    let mut other = GitOptions { branch: "other".to_owned(), ..bench.options.clone() };
    let open = |options: GitOptions| GitPlace::open(&bench.root(), &bench.host(), options);
    assert!(matches!(open(other.clone()), Err(PlaceError::Busy("a rebase"))), "made from which commit?");
    other.branch = "main".to_owned();
    let place = open(other).unwrap();
    assert!(matches!(task(&place, "a", |folder| write(&folder.join("b"), "b\n")).2, Integration::Done(_)));
    assert_eq!(bench.users()[2..], before[2..]);
}

#[test]
fn a_detached_head_does_not_block() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "--detach"]);
    let before = bench.users();
    let place = bench.open();
    assert!(matches!(task(&place, "a", |folder| write(&folder.join("b"), "b\n")).2, Integration::Done(_)));
    assert_eq!(bench.users(), before);
}

#[test]
fn a_deleted_branch_is_reported_and_keeps_the_work() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("b"), "b\n")).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    bench.git(&["branch", "-D", "feature/x"]);
    assert!(matches!(place.integrate(&at, &made), Err(PlaceError::BranchGone(_))));
    assert!(matches!(place.begin(&name("b")), Err(PlaceError::BranchGone(_))));
    assert_eq!(read(&at.folder.join("b")), "b\n");
    bench.git(&["branch", "feature/x", "main"]);
    assert!(matches!(place.integrate(&at, &made), Ok(Integration::Done(_))));
}

#[test]
fn work_moves_to_the_tip_of_a_rewritten_branch() {
    let bench = Bench::new();
    let place = bench.open();
    task(&place, "first", |folder| write(&folder.join("first"), "1\n"));
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("b"), "b\n")).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    // The branch has the finished work as another commit, which the trailers show.
    bench.git(&["checkout", "-q", "feature/x"]);
    bench.git(&["mv", "first", "moved"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    bench.git(&["checkout", "-q", "main"]);
    let Integration::Moved { place: at, changes } = place.integrate(&at, &made).unwrap() else { panic!() };
    assert_eq!(paths(&changes), ["Added b"]);
    assert!(at.folder.join("moved").exists() && !at.folder.join("first").exists());
}

#[test]
fn a_missing_worktree_is_reported_and_recreated() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let gone = attempt(&place, &at, |folder| std::fs::remove_dir_all(folder).unwrap());
    assert!(matches!(gone, Err(PlaceError::Gone(_))), "{gone:?}");
    assert!(matches!(place.guard(&at), Err(PlaceError::Gone(_))));
    let (at, origin) = place.begin(&name("a")).unwrap();
    assert_eq!(origin, FolderOrigin::Remade);
    // A link in place of the worktree is refused.
    let elsewhere = bench.folder.path().join("elsewhere");
    write(&elsewhere.join("keep"), "mine\n");
    let linked = attempt(&place, &at, |folder| {
        std::fs::remove_dir_all(folder).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder).unwrap();
    });
    assert!(matches!(linked, Err(PlaceError::Gone(_))), "{linked:?}");
    assert_eq!(place.begin(&name("a")).unwrap().1, FolderOrigin::Remade);
    assert_eq!(read(&elsewhere.join("keep")), "mine\n");
}

#[test]
fn incomplete_folders_are_recreated_after_a_crash() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let ours = bench.root().join(".brigade/kitchen/prd-add-auth/git/a");
    std::fs::remove_file(ours.join("ready")).unwrap();
    write(&at.folder.join("half"), "x\n");
    let (_, origin) = remake(&bench).begin(&name("a")).unwrap();
    assert_eq!(origin, FolderOrigin::New);
    assert!(!at.folder.join("half").exists());
    // After a power loss, Brigade's part is filled from the worktree, which keeps its work.
    write(&at.folder.join("work"), "x\n");
    write(&ours.join("ready"), "another boot");
    std::fs::write(ours.join("index"), "").unwrap();
    let place = remake(&bench);
    let (at, origin) = place.begin(&name("a")).unwrap();
    assert_eq!(origin, FolderOrigin::Found);
    assert_eq!(paths(&attempt(&place, &at, |_| {}).unwrap()), ["Added work"]);
}

#[test]
fn locks_of_a_git_that_was_killed_do_not_stop_ours() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    write(&bench.root().join(".brigade/kitchen/prd-add-auth/git/a/index.lock"), "");
    write(&bench.root().join(".git/index.lock"), "");
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("b"), "b\n");
        write(&folder.join(".git/index.lock"), "");
    })
    .unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
}

#[test]
fn every_step_can_be_done_twice() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("b"), "b\n")).unwrap();
    assert_eq!(attempt(&place, &at, |_| {}).unwrap(), changes);
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    let first = place.integrate(&at, &made).unwrap();
    assert_eq!(place.integrate(&at, &made).unwrap(), first, "it is there");
    assert_eq!(bench.git(&["rev-list", "--count", "main..feature/x"]), "1");
    // After a crash before the record, the work is found by its trailers.
    assert_eq!(remake(&bench).find_integrated(&name("a"), &run_id()).unwrap(), made.commit);
    assert_eq!(remake(&bench).find_integrated(&name("a"), &"run-2".parse().unwrap()).unwrap(), None);
    let again = place.commit(&at, &changes, &run_id()).unwrap();
    // Even in recreated folders, nothing is done twice: no changes are left.
    if let Integration::Moved { changes, .. } = place.integrate(&at, &again).unwrap() {
        assert!(changes.is_empty());
    }
    place.finish(&at).unwrap();
    place.finish(&at).unwrap();
}

#[test]
fn tasks_that_run_at_once_are_all_integrated() {
    let bench = Bench::new();
    let place = bench.open();
    std::thread::scope(|scope| {
        for index in 0..6 {
            let place = &place;
            scope.spawn(move || {
                let (mut at, _) = place.begin(&name(&format!("t{index}"))).unwrap();
                let mut changes =
                    attempt(place, &at, |folder| write(&folder.join(format!("f{index}")), "x\n")).unwrap();
                loop {
                    let made = place.commit(&at, &changes, &run_id()).unwrap();
                    match place.integrate(&at, &made).unwrap() {
                        Integration::Done(_) => break,
                        Integration::Moved { place, changes: new } => (at, changes) = (*place, *new),
                        Integration::Conflict(files) => panic!("{files:?}"),
                    }
                }
            });
        }
    });
    assert_eq!(bench.git(&["rev-list", "--count", "main..feature/x"]), "6");
    assert_eq!(bench.git(&["diff", "--name-only", "main", "feature/x"]), "f0\nf1\nf2\nf3\nf4\nf5");
}

#[test]
fn old_commit_never_moves_branch_back() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("b"), "b\n")).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    task(&place, "other", |folder| write(&folder.join("c"), "c\n"));
    let commit = made.commit.clone().unwrap();
    assert_eq!(place.recall_moved(&at, &commit).unwrap(), None);
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Moved { .. }));
    // The service is killed before it records the move, and continues with the commit in its journal.
    let (again, _) = bench.open().begin(&name("a")).unwrap();
    assert_eq!(place.recall(&again, &changes.tree).unwrap(), None);
    assert!(again.folder.exists());
    // Leftovers of a test are not part of it.
    write(&again.folder.join("coverage.out"), "left by a test\n");
    assert_eq!(paths(&place.recall_moved(&again, &commit).unwrap().unwrap()), ["Added b"]);
    std::fs::remove_file(again.folder.join("coverage.out")).unwrap();
    let place = remake(&bench);
    let (at, origin) = place.begin(&name("a")).unwrap();
    assert_eq!(origin, FolderOrigin::Found);
    let tip = bench.git(&["rev-parse", "feature/x"]);
    let Integration::Moved { place: at, changes } = place.integrate(&at, &made).unwrap() else {
        panic!("the commit has another base")
    };
    assert_eq!((bench.git(&["rev-parse", "feature/x"]), paths(&changes)), (tip, vec!["Added b".to_owned()]));
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
    assert_eq!(bench.git(&["diff", "--name-only", "main", "feature/x"]), "b\nc");
}

#[test]
fn killed_service_resumes_with_verified_tree() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("b"), "b\n")).unwrap();
    write(&at.folder.join("coverage.out"), "left by a test\n");
    write(&at.folder.join("b"), "changed by a test\n");
    let place = remake(&bench);
    let (at, _) = place.begin(&name("a")).unwrap();
    assert_eq!(place.recall(&at, &changes.tree).unwrap(), Some(changes.clone()));
    assert_eq!(
        place.recall(&at, bench.git(&["rev-parse", "main^{tree}"]).as_str()).unwrap(),
        None,
        "never seen"
    );
    assert_eq!(place.recall(&at, "--help").unwrap(), None);
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    place.integrate(&at, &made).unwrap();
    assert_eq!(bench.git(&["show", "feature/x:b"]), "b");
}
