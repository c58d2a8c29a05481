//! What a task costs beyond the time of its worker.

use super::*;

#[test]
fn a_task_starts_git_twelve_times() {
    let bench = Bench::new();
    let place = bench.open();
    let before = place.starts();
    let (at, made, done) = task(&place, "a", |folder| write(&folder.join("src/new.rs"), "fn b() {}\n"));
    place.finish(&at).unwrap();
    assert_eq!(done, Integration::Done(made.commit));
    assert_eq!(place.starts() - before, 12);
    // An attempt that changes nothing costs four more.
    let (at, _) = place.begin(&name("b")).unwrap();
    let before = place.starts();
    attempt(&place, &at, |_| {}).unwrap();
    assert_eq!(place.starts() - before, 4);
}
