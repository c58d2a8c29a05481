//! Several PRDs in turn, and settings that change meanwhile.

use brigade_kitchen::life::DecisionKind;

use super::*;
use crate::{AnswerRequest, ApproveStep, ApproveWhat, PrdSearch};

/// A world with a second PRD, whose task is `b`. Both are approved.
fn two_prds(config: &str, script: &str) -> World {
    let world = World::new(&tasks(&[("a", "true", &[])]), config, script);
    fs::write(world.folder.join("work/brigade/tasks/prd-b.json"), tasks(&[("b", "true", &[])])).unwrap();
    for search in searches() {
        let what = ApproveWhat::Prd(search);
        let shown = world.kitchen().approve(&what, &ApproveStep::Show).unwrap();
        let step = ApproveStep::Approve(shown.fingerprint.unwrap().to_string());
        assert!(world.kitchen().approve(&what, &step).unwrap().approved);
    }
    world
}

fn searches() -> [PrdSearch; 2] {
    ["a", "b"].map(|name| PrdSearch::At(format!("brigade/tasks/prd-{name}.json").parse().unwrap()))
}

fn serve_both(world: &World) -> Result<ServiceReport, Failure> {
    let flags = Flags { auto_continue: true, ..Flags::default() };
    world.kitchen().serve_all(
        &searches(),
        &ServiceOptions { flags, ..ServiceOptions::default() },
        &NoFollower,
    )
}

#[test]
fn a_gate_between_two_prds_must_be_opened() {
    let world = two_prds("phase_gate = \"pause\"", WRITES);
    let paused = serve_both(&world).unwrap();
    assert_eq!(
        (paused.outcome, paused.done, paused.decisions[0].kind),
        (Outcome::Paused, 1, DecisionKind::Gate)
    );
    assert_eq!(world.starts("work", "b"), 0);
    // The decision stays pending, and is not asked again.
    assert_eq!(serve_both(&world).unwrap().decisions.len(), 1);
    let id = paused.decisions[0].id.to_string();
    let answer = AnswerRequest { id, choice: "continue".to_owned(), reason: None, guidance: None };
    world.kitchen().answer(&answer).unwrap();
    let outcomes: Vec<Outcome> = serve_both(&world).unwrap().prds.iter().map(|prd| prd.outcome).collect();
    assert_eq!(outcomes, [Outcome::Complete, Outcome::Complete]);
    assert_eq!((world.starts("work", "a"), world.starts("work", "b")), (1, 1));
}

#[test]
fn the_executive_may_open_the_gate_and_only_clearly() {
    let both = |status: &str| {
        let gate = format!("result '\"status\":\"{status}\",\"content\":\"as I see it\"'");
        let world = two_prds(
            "phase_gate = \"review\"",
            &format!("[ $BRIGADE_ROLE = gate ] && {{ {gate}; exit; }}\n{WRITES}"),
        );
        let report = serve_both(&world).unwrap();
        (report, world)
    };
    let (paused, world) = both("stop");
    assert_eq!((paused.outcome, world.starts("work", "b")), (Outcome::Paused, 0));
    assert!(paused.decisions[0].context.contains("stop: as I see it"), "{paused:?}");
    let (report, world) = both("proceed");
    assert_eq!((report.outcome, world.starts("work", "b")), (Outcome::Complete, 1));
    let journal = fs::read_to_string(world.folder.join("work/.brigade/kitchen/prd-a/journal.jsonl")).unwrap();
    assert!(journal.contains("\"kind\":\"phase_gate\""), "{journal}");
    // Without a second PRD, there is no gate after the first.
    let world = World::new(&tasks(&[("a", "true", &[])]), "phase_gate = \"pause\"", WRITES);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
}

#[test]
fn a_chain_stops_at_an_incomplete_prd() {
    let script = format!("[ $BRIGADE_TASK = a ] && exit 3\n{WRITES}");
    let world = two_prds("max_iterations = 1\nescalation_enabled = false", &script);
    let report = serve_both(&world).unwrap();
    let prds: Vec<&str> = report.prds.iter().map(|prd| prd.prd_path.as_str()).collect();
    assert_eq!((report.outcome, prds), (Outcome::Paused, vec!["brigade/tasks/prd-a.json"]));
    assert_eq!(world.starts("work", "b"), 0);
}

#[test]
fn a_chain_needs_all_prds_approved() {
    let world = two_prds("", WRITES);
    let path = world.folder.join("work/brigade/tasks/prd-b.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("Write b", "Write more")).unwrap();
    let refused = serve_both(&world).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalNeeded);
    assert_eq!(world.starts("work", "a"), 0);
}

/// Serves two tasks; the worker of the first one replaces a text of the configuration.
fn changed(before: &str, old: &str, new: &str) -> (World, ServiceReport) {
    let script = format!("[ $BRIGADE_TASK = a ] && sed -i 's|{old}|{new}|' .brigade/kitchen.toml\n{WRITES}");
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), before, &script);
    world.approve();
    let report = world.serve();
    (world, report)
}

#[test]
fn files_that_are_announced_meanwhile_are_written() {
    // Issue 44: from the record on.
    let files = "activity_log = \"log/activity\"\\nsupervisor_status_file = \"log/status.json\"\\n\
        supervisor_events_file = \"log/events.jsonl\"";
    let (world, report) = changed("max_parallel = 2", "max_parallel = 2", files);
    assert_eq!(report.outcome, Outcome::Complete);
    let read = |file: &str| fs::read_to_string(world.folder.join("work/log").join(file)).unwrap();
    assert!(read("activity").contains("/b"), "{}", read("activity"));
    assert!(read("status.json").contains("\"done\":2"), "{}", read("status.json"));
    assert!(read("events.jsonl").contains("service_start"), "{}", read("events.jsonl"));
}

#[test]
fn a_bound_setting_that_changes_pauses() {
    let (world, report) = changed("test_timeout = 100", "test_timeout = 100", "test_timeout = 99");
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 1), "what ran came to its end");
    assert_eq!(world.starts("work", "b"), 0);
    assert!(!report.next.is_empty());
}

#[test]
fn a_bound_worker_program_that_changed_does_not_start() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "bind_workers = true", WRITES);
    world.approve();
    world.script(&format!("# second\n{WRITES}"));
    let refused = world.try_serve(&ServiceOptions::default(), &NoFollower);
    assert!(matches!(refused, Err(ServeError::NotApproved { .. })), "{refused:?}");
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
}

#[test]
fn a_budget_warns_at_four_fifths() {
    let rows: Vec<(&str, &str, &[&str])> =
        ["a", "b", "c", "d", "e", "f"].map(|id| (id, "true", &[] as &[&str])).into();
    let world = World::new(&tasks(&rows), "supervisor_events_file = \"brigade/events.jsonl\"", WRITES);
    world.approve();
    let flags = Flags { max_attempts: Some(5), sequential: true, ..Flags::default() };
    let report =
        world.try_serve(&ServiceOptions { flags, ..ServiceOptions::default() }, &NoFollower).unwrap();
    assert_eq!((report.outcome, report.done, report.attempts), (Outcome::Paused, 5, 5));
    let events = fs::read_to_string(world.folder.join("work/brigade/events.jsonl")).unwrap();
    let at = |word: &str| events.find(word).unwrap_or_else(|| panic!("no {word}: {events}"));
    assert!(at("budget_warning") < at("budget_reached"), "{events}");
}
