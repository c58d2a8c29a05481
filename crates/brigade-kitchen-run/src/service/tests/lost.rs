//! A branch that the user deletes or moves: finished work stays in it, or the service stops.

use brigade_core::ErrorCode;

use super::*;
use crate::{PrdSearch, ReceiptCheck};

/// Finishes the first of three tasks. Task `b` then waits for the note `go`. Returns the commit.
fn with_a_done() -> (World, String) {
    let prd = tasks(&[("a", "true", &[]), ("b", "true", &["a"]), ("c", "true", &[])]);
    let script = format!("while [ $BRIGADE_TASK = b ] && [ ! -e \"$D/go\" ]; do sleep 0.02; done\n{WRITES}");
    let world = World::with_branch(&prd, "max_parallel = 1", &script);
    let only = ServiceOptions { only: vec!["a".to_owned()], ..ServiceOptions::default() };
    let commit = world.try_serve(&only, &NoFollower).unwrap().commit.unwrap();
    (world, commit)
}

fn go(world: &World) {
    fs::write(world.folder.join("notes/go"), "").unwrap();
}

fn files(world: &World) -> Vec<String> {
    world.git(&["ls-tree", "--name-only", "feature/x"]).lines().map(str::to_owned).collect()
}

fn issues(world: &World) -> String {
    world.kitchen().status(&PrdSearch::At(world.prd())).unwrap().issues.join("\n")
}

/// Serves, and runs `act` while the task `b` is in progress.
fn meanwhile(world: &World, act: impl FnOnce()) -> ServiceReport {
    std::thread::scope(|scope| {
        let service = scope.spawn(|| world.serve());
        while world.starts("work", "b") == 0 {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        act();
        go(world);
        service.join().unwrap()
    })
}

#[test]
fn a_deleted_branch_is_recreated_with_finished_work() {
    let (world, commit) = with_a_done();
    go(&world);
    world.git(&["branch", "-D", "feature/x"]);
    assert!(issues(&world).contains("was deleted"), "{}", issues(&world));
    let report = world.serve();
    assert!(report.issues.iter().any(|issue| issue.contains(&commit)), "{report:?}");
    assert_eq!((report.done, world.starts("work", "a")), (3, 1));
    let all = ["a.txt", "b.txt", "c.txt"].map(str::to_owned);
    assert!(all.iter().all(|file| files(&world).contains(file)));
    assert_eq!(issues(&world), "");
    // After the last task, a deleted branch is not a problem, but a service recreates it anyway.
    world.git(&["branch", "-D", "feature/x"]);
    assert_eq!(issues(&world), "");
    world.serve();
    assert!(all.iter().all(|file| files(&world).contains(file)));
}

#[test]
fn a_branch_without_finished_work_is_refused() {
    let (world, commit) = with_a_done();
    go(&world);
    world.git(&["branch", "-f", "feature/x", "main"]);
    let refused = world.try_serve(&ServiceOptions::default(), &NoFollower).unwrap_err();
    let refused = Failure::from(refused);
    assert_eq!(refused.code(), ErrorCode::BranchLostWork);
    let way = format!("git branch -f feature/x {commit}");
    assert!(refused.to_string().contains(&way) && issues(&world).contains(&way), "{refused}");
    let health = world.kitchen().health(ReceiptCheck::Nothing).unwrap().unwrap();
    assert!(health.prds[0].branch.as_deref().unwrap().contains(&way), "{health:?}");
    assert_eq!(world.starts("work", "b") + world.starts("work", "c"), 0);
    world.git(&["branch", "-f", "feature/x", &commit]);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(files(&world).contains(&"a.txt".to_owned()));
}

#[test]
fn a_branch_reset_meanwhile_pauses_the_service() {
    let (world, commit) = with_a_done();
    let report = meanwhile(&world, || drop(world.git(&["branch", "-f", "feature/x", "main"])));
    let reason = report.reason.as_deref().unwrap();
    assert_eq!(report.outcome, Outcome::Paused);
    assert!(reason.contains("does not contain the work of a") && reason.contains(&commit), "{report:?}");
    assert!(!files(&world).contains(&"b.txt".to_owned()));
    world.git(&["branch", "-f", "feature/x", &commit]);
    assert_eq!((world.serve().done, world.starts("work", "a")), (3, 1));
    assert!(["a.txt", "b.txt"].iter().all(|file| files(&world).contains(&(*file).to_owned())));
}

#[test]
fn a_branch_deleted_meanwhile_is_recreated() {
    let (world, _) = with_a_done();
    meanwhile(&world, || drop(world.git(&["branch", "-D", "feature/x"])));
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(["a.txt", "b.txt", "c.txt"].iter().all(|file| files(&world).contains(&(*file).to_owned())));
}
