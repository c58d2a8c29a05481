//! Usage of the executive counts toward budgets.

use super::*;

#[test]
fn usage_of_the_executive_counts_in_every_role() {
    // Each role of the executive reports a dollar.
    let script = r#"case $BRIGADE_ROLE in
        decide) result '"decision":"skip","reason":"no","cost_usd":1';;
        scope) result '"answer":"yes","cost_usd":1';;
        phase) result '"status":"on_track","content":"good","cost_usd":1';;
        gate) result '"status":"proceed","content":"good","cost_usd":1';;
        review) result '"review":"pass","cost_usd":1';;
        *) case $BRIGADE_TASK$n in
            a1) result '"signal":"question","question":"all of it?","cost_usd":0'; exit;;
            b*) result '"signal":"continue","cost_usd":0'; exit;;
            esac
            echo x > "$BRIGADE_TASK.txt"; result '"signal":"complete","cost_usd":0';;
        esac"#;
    let config = "walkaway_mode = true\nescalation_enabled = false\nmax_iterations = 2\nreview_enabled = true\n\
        phase_review_enabled = true\nphase_review_after = 2\nphase_gate = \"review\"";
    let world =
        World::new(&tasks(&[("a", "true", &[]), ("b", "true", &[]), ("c", "true", &[])]), config, script);
    world.approve();
    let options = ServiceOptions {
        only: vec!["a".to_owned(), "c".to_owned()],
        next: Some("prd-b".parse().unwrap()),
        ..ServiceOptions::default()
    };
    let report = world.try_serve(&options, &NoFollower).unwrap();
    assert_eq!(report.outcome, Outcome::Complete);
    // Three attempts, two reviews, and one start each for scope, phase and gate.
    assert_eq!((report.attempts, report.cost_usd), (3 + 2 + 3, 5.0));
    let report = world.serve();
    assert_eq!((report.skipped.len(), report.attempts, report.cost_usd), (1, 2 + 1, 1.0));
    let life = world.life();
    let of_task = |task: &str| life.task(&task.parse().unwrap()).spent.reported_usd();
    assert_eq!((of_task("a"), of_task("b"), life.spent.reported_usd()), (2.0, 1.0, 6.0));
}

#[test]
fn a_budget_sees_what_the_executive_uses() {
    // The second task ends after the first decision.
    let script = r#"[ $BRIGADE_ROLE = decide ] && result '"decision":"skip","reason":"r","cost_usd":5'
        if [ $BRIGADE_ROLE$BRIGADE_TASK = workb ]; then
            while [ ! -e "$D/decide-a" ]; do sleep 0.05; done; sleep 1
        fi"#;
    let config = "walkaway_mode = true\nescalation_enabled = false\nmax_iterations = 1\nmax_parallel = 1\n\
        budget.cost_usd = 1\nwalkaway_max_skips = 9";
    let world =
        World::new(&tasks(&[("a", "true", &[]), ("b", "true", &[]), ("c", "true", &[])]), config, script);
    world.approve();
    let report = world.serve();
    // The decision about the second task is pending, because the executive would exceed the budget.
    assert_eq!((report.outcome, report.skipped.len()), (Outcome::Paused, 1));
    assert_eq!(report.reason.as_deref(), Some("the budget `cost_usd` is used up"));
    assert_eq!((world.starts("work", "c"), 5.0 <= report.cost_usd), (0, true));
    // An unclear answer of the executive also counts, at the end.
    let script =
        "[ $BRIGADE_ROLE = scope ] && exit 0\nresult '\"signal\":\"question\",\"question\":\"all?\"'";
    let world = World::new(&tasks(&[("a", "true", &[])]), "walkaway_mode = true", script);
    world.approve();
    assert_eq!((world.serve().attempts, world.starts("scope", "a")), (2, 1));
}

#[test]
fn the_executive_never_starts_beyond_a_budget() {
    let script = r#"echo x > "$BRIGADE_TASK.txt"; result '"signal":"complete","cost_usd":2'"#;
    let config =
        "budget.cost_usd = 1\nphase_review_enabled = true\nphase_review_after = 1\nphase_gate = \"review\"";
    let world = World::new(&tasks(&[("a", "true", &[])]), config, script);
    world.approve();
    let options = ServiceOptions { next: Some("prd-b".parse().unwrap()), ..ServiceOptions::default() };
    let report = world.try_serve(&options, &NoFollower).unwrap();
    // Only the attempt was started. A person is asked instead.
    assert_eq!((report.attempts, report.completed.len(), report.outcome), (1, 1, Outcome::Paused));
    assert_eq!(report.decisions.len(), 1);
}
