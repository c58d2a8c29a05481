//! One task at a time.

use brigade_core::ErrorCode;

use super::*;
use crate::PrdSearch;

fn ticket(world: &World, task: &str, options: &ServiceOptions) -> Result<ServiceReport, Failure> {
    world.kitchen().ticket(&PrdSearch::At(world.prd()), task, options, &NoFollower)
}

#[track_caller]
fn outcome(world: &World, task: &str) -> Option<TaskOutcome> {
    ticket(world, task, &ServiceOptions::default()).unwrap().ticket.unwrap().outcome
}

#[test]
fn a_ticket_ends_as_its_task() {
    let rows = ["done", "there", "other", "stuck", "again"];
    let rows: Vec<(&str, &str, &[&str])> = rows.iter().map(|id| (*id, "true", &[] as &[&str])).collect();
    let script = "case $BRIGADE_TASK in\n\
        there) echo '<promise>ALREADY_DONE</promise>';;\n\
        other) echo '<promise>ABSORBED_BY:done</promise>';;\n\
        stuck) result '\"signal\":\"blocked\",\"reason\":\"no key\"';;\n\
        again) echo more to do;;\n\
        *) echo x > $BRIGADE_TASK.txt; done_;;\nesac";
    let world = World::new(&tasks(&rows), "verify_claims = false", script);
    // Nothing is started without an approval.
    let refused = ticket(&world, "done", &ServiceOptions::default()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalNeeded);
    world.approve();
    let report = ticket(&world, "done", &ServiceOptions::default()).unwrap();
    assert_eq!(
        (report.outcome, report.total, report.ticket.unwrap().outcome),
        (Outcome::Complete, 1, Some(TaskOutcome::Complete))
    );
    assert_eq!(outcome(&world, "there"), Some(TaskOutcome::AlreadyDone));
    assert_eq!(outcome(&world, "other"), Some(TaskOutcome::Absorbed));
    assert_eq!(outcome(&world, "stuck"), Some(TaskOutcome::Blocked));
    let flags = Flags { max_iterations: Some(2), ..Flags::default() };
    let failed = ticket(&world, "again", &ServiceOptions { flags, ..ServiceOptions::default() }).unwrap();
    assert_eq!((failed.ticket.unwrap().outcome, failed.attempts), (Some(TaskOutcome::Failed), 2));
    // Only an answer restarts an ended task.
    assert_eq!(outcome(&world, "again"), Some(TaskOutcome::Failed));
    assert_eq!(outcome(&world, "there"), Some(TaskOutcome::AlreadyDone));
    assert_eq!((world.starts("work", "again"), world.starts("work", "there")), (2, 1));
}

#[test]
fn unmet_or_unknown_tasks_are_refused_with_known_ones() {
    let rows: [(&str, &str, &[&str]); 3] =
        [("US-001", "true", &[]), ("US-002", "true", &["US-001"]), ("US-003", "true", &["US-002", "US-001"])];
    let world = World::new(&tasks(&rows), "", WRITES);
    world.approve();
    let refused = |task: &str| ticket(&world, task, &ServiceOptions::default()).unwrap_err();
    let unknown = refused("US-01");
    assert_eq!(unknown.code(), ErrorCode::TaskMissing);
    assert!(format!("{unknown:?}").contains("US-001"), "{unknown:?}");
    let unmet = refused("US-003");
    assert_eq!(unmet.code(), ErrorCode::TaskUnready);
    assert!(unmet.to_string().contains("`US-001`") && unmet.to_string().contains("`US-002`"), "{unmet}");
    // A rehearsal gives the same result.
    let search = PrdSearch::At(world.prd());
    let rehearse = |task: &str| world.kitchen().rehearse_ticket(&search, task, &ServiceOptions::default());
    assert_eq!(rehearse("US-002").unwrap_err().code(), ErrorCode::TaskUnready);
    assert_eq!(rehearse("US-001").unwrap().waves.unwrap().len(), 1);
    assert_eq!(world.starts("work", "US-003"), 0);
    for task in ["US-001", "US-002", "US-003"] {
        assert_eq!(outcome(&world, task), Some(TaskOutcome::Complete), "{task}");
    }
}

#[test]
fn learnings_stay_until_the_whole_prd_is_done() {
    let script = format!("echo '<learning>use tabs</learning>'\n{WRITES}");
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "", &script);
    world.approve();
    let learnings = world.folder.join("work/brigade/tasks/brigade-learnings.md");
    outcome(&world, "a");
    assert!(fs::read_to_string(&learnings).unwrap().contains("use tabs"));
    outcome(&world, "b");
    assert!(!learnings.exists());
    assert!(world.note("prompt-work-b-1").contains("use tabs"));
}
