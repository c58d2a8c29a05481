//! The branch must contain finished work, whatever the user does to it.

use super::*;

/// Returns a bench with the work of `a` in the branch, and the commit of `a`.
fn with_a_done() -> (Bench, CommitId) {
    let mut bench = Bench::new();
    let place = bench.open();
    let (_, made, _) = task(&place, "a", |folder| write(&folder.join("a"), "a\n"));
    let commit = made.commit.unwrap();
    let shown = name("a").prd.shown(&name("a").task);
    bench.options.done =
        vec![DoneWork { task: name("a").task, shown, run: Some(run_id()), commit: commit.clone() }];
    (bench, commit)
}

fn tip(bench: &Bench) -> String {
    bench.git(&["rev-parse", "feature/x"])
}

fn is_lost<T: std::fmt::Debug>(result: Result<T, PlaceError>) -> String {
    match result {
        Err(error @ PlaceError::WorkLost { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_deleted_branch_is_recreated_where_it_was() {
    let (bench, commit) = with_a_done();
    bench.git(&["branch", "-D", "feature/x"]);
    let place = bench.open();
    assert_eq!(tip(&bench), commit.as_str());
    assert!(place.notes()[0].contains(commit.as_str()), "{:?}", place.notes());
    assert_eq!(bench.open().notes(), [""; 0]);
    // The user's branch contains the work after a merge or a cherry-pick.
    bench.git(&["merge", "-q", "feature/x"]);
    bench.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    bench.git(&["branch", "-D", "feature/x"]);
    assert_eq!(bench.open().notes(), [""; 0]);
    assert_eq!(tip(&bench), bench.git(&["rev-parse", "main"]));
}

#[test]
fn a_branch_without_finished_work_blocks_tasks() {
    let (bench, commit) = with_a_done();
    bench.git(&["branch", "-f", "feature/x", "main"]);
    let said = is_lost(bench.try_open().map(|_| ()));
    assert!(said.contains(&format!("a (commit {commit})")), "{said}");
    assert!(said.contains(&format!("git branch -f feature/x {commit}")), "{said}");
    assert_eq!(tip(&bench), bench.git(&["rev-parse", "main"]));
    // The command in the message fixes it.
    bench.git(&["branch", "-f", "feature/x", commit.as_str()]);
    bench.open();
    // If the branch has other work, it must be merged, because a reset would lose that work.
    bench.git(&["checkout", "-q", "-B", "feature/x", "main"]);
    bench.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    assert!(is_lost(bench.try_open().map(|_| ())).contains(&format!("merge `{commit}`")));
    bench.git(&["merge", "-q", "--no-edit", commit.as_str()]);
    bench.open();
}

#[test]
fn a_rebased_commit_is_known_by_its_trailers() {
    let (bench, commit) = with_a_done();
    bench.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    bench.git(&["checkout", "-q", "feature/x"]);
    bench.git(&["rebase", "-q", "main"]);
    bench.git(&["checkout", "-q", "main"]);
    assert_ne!(tip(&bench), commit.as_str());
    bench.open();
}

#[test]
fn a_branch_that_was_reset_takes_no_more_work() {
    let bench = Bench::new();
    let place = bench.open();
    // Both tasks have the same base. The branch is reset to it between their integrations.
    let (first, _) = place.begin(&name("a")).unwrap();
    let (second, _) = place.begin(&name("b")).unwrap();
    let make = |at: &Place, file: &str| {
        let changes = attempt(&place, at, |folder| write(&folder.join(file), "x\n")).unwrap();
        place.commit(at, &changes, &run_id()).unwrap()
    };
    let (of_first, of_second) = (make(&first, "a"), make(&second, "b"));
    assert!(matches!(place.integrate(&first, &of_first), Ok(Integration::Done(_))));
    bench.git(&["branch", "-f", "feature/x", "main"]);
    is_lost(place.integrate(&second, &of_second));
    is_lost(place.begin(&name("c")));
    is_lost(place.merge(Some("main")));
    assert_eq!(tip(&bench), bench.git(&["rev-parse", "main"]));
    bench.git(&["branch", "-f", "feature/x", of_first.commit.unwrap().as_str()]);
    assert!(matches!(place.integrate(&second, &of_second), Ok(Integration::Moved { .. })));
}

#[test]
fn a_commit_missing_in_the_repository_is_reported() {
    let (mut bench, _) = with_a_done();
    bench.options.done[0].commit = CommitId::new(&"1".repeat(40)).unwrap();
    bench.options.done[0].run = None;
    bench.options.done[0].shown = "other/a".to_owned();
    assert!(is_lost(bench.try_open().map(|_| ())).contains("the commit is missing in the repository"));
    bench.git(&["branch", "-D", "feature/x"]);
    assert!(is_lost(bench.try_open().map(|_| ())).contains("the commit is missing in the repository"));
}
