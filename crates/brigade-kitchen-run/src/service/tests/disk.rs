//! A disk that is full or loses power from any step of a service on. Files written before still exist.

use brigade_fs::{Fault, FaultyFs};
use brigade_testkit::run_trials;

use super::*;

/// The disk fails at every step with a multiple of this number.
const STRIDE: usize = 7;

const CONFIG: &str = "supervisor_status_file = \"brigade/status.json\"\n\
    supervisor_events_file = \"brigade/events.jsonl\"\nworker_log_dir = \"brigade/logs\"\ntest_cmd = \"true\"";

fn world() -> World {
    let world = World::new(&tasks(&[("a", "test -f a.txt", &[])]), CONFIG, WRITES);
    world.approve();
    world
}

/// Serves on a disk with a fault. Returns how many steps changed the disk.
fn serve_over(world: &World, fault: Fault) -> (Result<ServiceReport, ServeError>, usize) {
    let disk = Arc::new(FaultyFs::new(DiskFs::open(&world.folder.join("work")).unwrap(), fault));
    let kitchen = Kitchen { fs: disk.clone(), ..world.kitchen() };
    let options = ServiceOptions::default();
    let served = kitchen.serve(&world.prd(), &options, &NoFollower, &|order| kitchen.open_place(order));
    (served, disk.steps())
}

/// Lets the disk fail at many steps. Checks that nothing is lost, and that finished work is not repeated.
fn check(fault: impl Fn(usize) -> Fault + Sync) {
    let (served, steps) = serve_over(&world(), Fault::None);
    assert_eq!(served.unwrap().outcome, Outcome::Complete);
    assert!(40 < steps, "{steps}");
    run_trials((0..steps).step_by(STRIDE), |step| {
        let world = world();
        let fault = fault(step);
        let (served, _) = serve_over(&world, fault);
        let task = "a".parse().unwrap();
        let (before, starts) = (world.life(), world.starts("work", "a"));
        assert!(starts <= 1, "{fault:?}: a full disk is not a reason to try again: {starts}");
        if let Ok(report) = &served {
            let is_done = before.is_done(&task);
            assert_eq!(report.outcome == Outcome::Complete, is_done, "{fault:?}: {report:?}");
            assert!(is_done || report.reason.is_some(), "{fault:?}: {report:?}");
        }
        let own = before.task(&task);
        assert_eq!(
            (own.failures, own.iterations <= 1),
            (0, true),
            "{fault:?}: it is not a failure of the task"
        );
        let had_ended =
            before.is_done(&task) || matches!(own.stage, brigade_kitchen::life::Stage::Checking(_));
        let report = world.serve();
        assert_eq!(report.outcome, Outcome::Complete, "{fault:?}: {report:?}");
        let again = world.starts("work", "a") - starts;
        assert!(again <= u32::from(!had_ended), "{fault:?}: started {again} times more");
        // The chain stays whole after the fault.
        assert!((1..=2).contains(&world.receipts(RunKind::Attempt)), "{fault:?}");
        let read = |path: &str| fs::read_to_string(world.folder.join("work/brigade").join(path)).unwrap();
        assert!(read("tasks/prd-a.json").contains("\"passes\": true"), "{fault:?}");
        assert!(read("tasks/prd-a.state.json").contains("\"status\": \"complete\""), "{fault:?}");
        assert!(read("status.json").starts_with("{\"done\":1,\"total\":1,"), "{fault:?}");
        for line in read("events.jsonl").lines() {
            assert!(brigade_core::Json::parse(line).is_ok(), "{fault:?}: {line}");
        }
        true
    });
}

#[test]
fn a_full_disk_ends_a_service_and_loses_nothing() {
    check(Fault::NoSpaceFrom);
}

#[test]
fn a_loss_of_power_costs_one_attempt_at_most() {
    check(Fault::PowerLossAt);
}

#[test]
fn one_step_that_fails_costs_one_attempt_at_most() {
    check(Fault::BrokenAt);
}

#[test]
fn only_torn_lines_are_cut_after_a_crash() {
    let world = world();
    let path = world.folder.join("work/brigade/events.jsonl");
    for (before, kept) in [
        ("{\"event\":\"x\"}\n{\"eve", "{\"event\":\"x\"}\n"),
        ("{\"eve", ""),
        ("a note", "a note\n"),
        ("{\"event\":\"x\"}", "{\"event\":\"x\"}\n"),
    ] {
        fs::write(&path, before).unwrap();
        world.serve();
        let events = fs::read_to_string(&path).unwrap();
        assert!(events.starts_with(&format!("{kept}{{\"event\":\"service_start\"")), "{before}: {events}");
        assert!(events.ends_with("}\n"), "{events}");
    }
}
