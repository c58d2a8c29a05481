//! What a task costs beyond the time of its worker.

use super::*;

#[test]
fn a_task_starts_git_ten_times() {
    let bench = Bench::new();
    let place = bench.open();
    let before = place.starts();
    let (at, made, done) = task(&place, "a", |folder| write(&folder.join("src/new.rs"), "fn b() {}\n"));
    place.finish(&at).unwrap();
    assert_eq!(done, Integration::Done(made.commit));
    assert_eq!(place.starts() - before, 10);
    // In a worktree that was taken over, an attempt that changes nothing costs three more.
    let (at, _) = place.begin(&name("b")).unwrap();
    let before = place.starts();
    attempt(&place, &at, |_| {}).unwrap();
    assert_eq!(place.starts() - before, 3);
}

#[test]
fn a_task_in_a_worktree_of_another_writes_no_file_twice() {
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
    // Reading all of its bytes takes one more start than writing them.
    assert_eq!(place.starts() - before, 11);
}
