//! A service killed at any of its records continues where its journal ends.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade_testkit::run_trials;

use super::*;

/// The variable with the workspace, and the record at which the process is killed.
pub(super) const WORLD: &str = "BRIGADE_TEST_WORLD";
pub(super) const AT: &str = "BRIGADE_TEST_KILL_AT";

/// Kills the process when a record is acknowledged.
struct KilledAt(u64);

impl Follower for KilledAt {
    fn recorded(&self, _: &PrdName, line: &Line, _: &Life) {
        if line.seq == self.0 {
            std::process::abort();
        }
    }
}

/// Not a separate test: the process that [`a_service_killed_at_any_record_continues`] kills.
#[test]
fn serves_until_it_is_killed() {
    let (Some(world), Some(at)) = (std::env::var_os(WORLD), std::env::var(AT).ok()) else { return };
    let at = at.parse().unwrap();
    let report = World::at(Path::new(&world)).try_serve(&ServiceOptions::default(), &KilledAt(at)).unwrap();
    // If there is no record with this number, the service completes.
    assert_eq!(report.outcome, Outcome::Complete);
}

#[test]
fn a_service_killed_at_any_record_continues() {
    let prd = tasks(&[("a", "test -f a.txt", &[]), ("b", "test -f b.txt", &["a"])]);
    let script = "if [ $BRIGADE_ROLE = review ]; then result '\"review\":\"pass\"'; exit 0; fi\necho x > \"$BRIGADE_TASK.txt\"\ndone_";
    let config = "review_enabled = true\ntest_cmd = \"true\"";
    let kills = AtomicUsize::new(0);
    run_trials(2_u64.., |at| {
        let world = World::new(&prd, config, script);
        world.approve();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "service::tests::killed::serves_until_it_is_killed", "--test-threads", "1"]);
        child.env(WORLD, &world.folder).env(AT, at.to_string()).env("RUST_BACKTRACE", "0");
        let ended = child.output().unwrap();
        let was_killed = !ended.status.success();
        let before = world.life();
        let done = |life: &Life| -> Vec<String> {
            let done = life.tasks.iter().filter(|(task, _)| life.is_done(task));
            done.map(|(task, _)| task.to_string()).collect()
        };
        let (known, starts) = (done(&before), ["a", "b"].map(|task| world.starts("work", task)));
        let report = world.serve();
        assert_eq!(report.outcome, Outcome::Complete, "killed at {at}: {report:?}");
        for (task, starts) in ["a", "b"].iter().zip(starts) {
            let again = world.starts("work", task);
            if known.contains(&(*task).to_owned()) {
                assert_eq!(again, starts, "killed at {at}: {task} was done");
            }
            assert!((1..=2).contains(&again), "killed at {at}: {task} was started {again} times");
        }
        let attempts = world.receipts(RunKind::Attempt);
        assert!((2..=3).contains(&attempts), "killed at {at}: {attempts}");
        let prd = fs::read_to_string(world.folder.join("work/brigade/tasks/prd-a.json")).unwrap();
        assert_eq!(prd.matches("\"passes\": true").count(), 2, "killed at {at}");
        kills.fetch_add(usize::from(was_killed), Ordering::SeqCst);
        was_killed
    });
    let kills = kills.into_inner();
    assert!(10 < kills, "every record of both tasks was the last one once: {kills}");
}

/// Returns the commits of the branch, by the tasks in their trailers.
fn integrated(world: &World) -> Vec<String> {
    let has_branch = !world.git(&["branch", "--list", "feature/x"]).is_empty();
    if !has_branch {
        return Vec::new();
    }
    let format = "--format=%(trailers:key=Brigade-Task,valueonly,separator=%x2C)";
    let log = world.git(&["log", "--reverse", format, "main..feature/x"]);
    log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn kill_at_any_record_integrates_each_task_once() {
    let prd = tasks(&[("a", "test -f a.txt", &[]), ("b", "test -f b.txt", &[])]);
    let script = "if [ $BRIGADE_ROLE = review ]; then result '\"review\":\"pass\"'; exit 0; fi\necho x > \"$BRIGADE_TASK.txt\"\ndone_";
    let config = "review_enabled = true\ntest_cmd = \"true\"";
    let kills = AtomicUsize::new(0);
    run_trials(2_u64.., |at| {
        let world = World::with_branch(&prd, config, script);
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "service::tests::killed::serves_until_it_is_killed", "--test-threads", "1"]);
        child.env(WORLD, &world.folder).env(AT, at.to_string()).env("RUST_BACKTRACE", "0");
        let was_killed = !child.output().unwrap().status.success();
        let before = world.life();
        let is_known = |task: &str| before.is_done(&task.parse().unwrap());
        let known = ["a", "b"].map(is_known);
        let ended = ["a", "b"].map(|task| {
            let own = before.task(&task.parse().unwrap());
            matches!(
                own.stage,
                brigade_kitchen::life::Stage::Checking(_) | brigade_kitchen::life::Stage::Ended(_)
            )
        });
        let starts = ["a", "b"].map(|task| world.starts("work", task));
        let report = world.serve();
        assert_eq!(report.outcome, Outcome::Complete, "killed at {at}: {report:?}");
        let mut tasks = integrated(&world);
        tasks.sort();
        assert_eq!(tasks, ["a/a", "a/b"], "killed at {at}: each is integrated once");
        assert_eq!(report.commit, Some(world.git(&["rev-parse", "feature/x"])), "killed at {at}");
        for (index, task) in ["a", "b"].iter().enumerate() {
            let all = world.starts("work", task);
            if known[index] || ended[index] {
                assert_eq!(all, starts[index], "killed at {at}: the attempt of {task} had ended");
            }
            // A worker orphaned by the kill may record its start after `starts` was read, so all starts count.
            assert!((1..=2).contains(&all), "killed at {at}: {task} was started {all} times");
        }
        assert_eq!(world.receipts(RunKind::Decision), 0);
        kills.fetch_add(usize::from(was_killed), Ordering::SeqCst);
        was_killed
    });
    let kills = kills.into_inner();
    assert!(14 < kills, "every record of both tasks was the last one once: {kills}");
}
