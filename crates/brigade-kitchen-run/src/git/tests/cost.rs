//! The cost of a task beyond its worker's time.

use super::*;

#[test]
fn a_task_starts_git_eleven_times() {
    let bench = Bench::new();
    let place = bench.open();
    let before = place.starts();
    let (at, made, done) = task(&place, "a", |folder| write(&folder.join("src/new.rs"), "fn b() {}\n"));
    place.finish(&at).unwrap();
    assert_eq!(done, Integration::Done(made.commit));
    assert_eq!(place.starts() - before, 11);
    // In a reused worktree, an attempt without changes needs three more starts.
    let (at, _) = place.begin(&name("b")).unwrap();
    let before = place.starts();
    attempt(&place, &at, |_| {}).unwrap();
    assert_eq!(place.starts() - before, 3);
}

#[test]
fn a_reused_worktree_writes_only_changed_files() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, ..) = task(&place, "a", |folder| write(&folder.join("one.txt"), "1\n"));
    let made = || std::fs::metadata(at.folder.join("README.md")).unwrap().created().unwrap();
    let first = made();
    place.finish(&at).unwrap();
    let before = place.starts();
    let (second, _, done) = task(&place, "a", |folder| write(&folder.join("two.txt"), "2\n"));
    assert!(matches!(done, Integration::Done(Some(_))));
    assert_eq!((&second.folder, made()), (&at.folder, first), "the file was not written again");
    // Comparing all bytes needs one start more than writing them.
    assert_eq!(place.starts() - before, 12);
}
