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

const THREE: [(&str, &str, &[&str]); 3] = [("a", "true", &[]), ("b", "true", &[]), ("c", "true", &[])];

#[test]
fn money_of_workers_ends_what_would_begin() {
    let script = r#"echo x > "$BRIGADE_TASK.txt"; result '"signal":"complete","cost_usd":0.25'"#;
    let events = "supervisor_events_file = \"events.jsonl\"";
    let world = World::new(&tasks(&THREE), &format!("max_parallel = 1\n{events}"), script);
    world.approve();
    let serve = |dollars: f64| {
        let flags = Flags { max_cost_usd: Some(dollars), ..Flags::default() };
        world.try_serve(&ServiceOptions { flags, ..ServiceOptions::default() }, &NoFollower).unwrap()
    };
    let report = serve(0.5);
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 2));
    assert_eq!(report.reason.as_deref(), Some("the budget `cost_usd` is used up"));
    let events = world.read("events.jsonl");
    let is_told = |event: &str| events.contains(&format!("\"event\":\"{event}\""));
    assert!(is_told("budget_reached") && is_told("service_paused"), "{events}");
    // Spent money counts, so continuing needs a larger budget.
    assert_eq!(serve(0.5).attempts, 0);
    assert_eq!(serve(100.0).outcome, Outcome::Complete);
}

#[test]
fn time_of_workers_ends_what_would_begin() {
    let world = World::new(&tasks(&THREE), "max_parallel = 1", &format!("sleep 1\n{WRITES}"));
    world.approve();
    let flags = Flags { max_minutes: Some(1.0 / 60.0), ..Flags::default() };
    let report =
        world.try_serve(&ServiceOptions { flags, ..ServiceOptions::default() }, &NoFollower).unwrap();
    assert_eq!((report.outcome, report.done, report.attempts), (Outcome::Paused, 1, 1));
    assert_eq!(report.reason.as_deref(), Some("the budget `minutes` is used up"));
}

#[test]
fn the_ceilings_of_the_policy_are_budgets_too() {
    let script = r#"echo x > "$BRIGADE_TASK.txt"; result '"signal":"complete","cost_usd":1'"#;
    let world = World::new(&tasks(&THREE), "max_parallel = 1\nbudget.cost_usd = 50", script);
    fs::create_dir_all(world.folder.join("work/.brigade/tools")).unwrap();
    fs::write(world.folder.join("work/.brigade/tools/policy.toml"), "[kitchen]\nmax_cost_usd = 1.0\n")
        .unwrap();
    world.approve();
    let flags = Flags { max_cost_usd: Some(50.0), ..Flags::default() };
    let report =
        world.try_serve(&ServiceOptions { flags, ..ServiceOptions::default() }, &NoFollower).unwrap();
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 1));
}

#[test]
fn a_limit_that_lasts_too_long_pauses() {
    let adapter = "[[adapter]]\nid = \"worker\"\nprogram = \"worker.sh\"\nprompt = \"stdin\"\nanswer = \"text\"\n\
        limit = ['limit reached( until (?P<reset>[0-9]+))?']\n";
    let world = World::new(&tasks(&[("a", "true", &[])]), "limit_wait_max = 5", "echo limit reached; exit 1");
    let path = world.folder.join("work/.brigade/kitchen.toml");
    fs::write(&path, fs::read_to_string(&path).unwrap() + adapter).unwrap();
    world.approve();
    // Without a given time, the first wait is one minute.
    let report = world.serve();
    assert_eq!((report.outcome, report.attempts), (Outcome::Paused, 1));
    let reason = report.reason.unwrap();
    assert!(reason.contains("limit") && reason.contains("line"), "{reason}");
    assert_eq!(world.life().task(&"a".parse().unwrap()).failures, 0, "it is not a failure of the task");
}

#[test]
fn without_an_answer_in_time_the_task_stays_undecided() {
    let config = "max_iterations = 1\nescalation_enabled = false\nsupervisor_cmd_timeout = 1\n\
        supervisor_cmd_file = \".brigade/kitchen/command.json\"\nsupervisor_prd_scoped = true";
    let script = format!("[ $BRIGADE_TASK = a ] && exit 0\n{WRITES}");
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), config, &script);
    // The command file of another PRD is ignored.
    let command = world.folder.join("work/.brigade/kitchen/command.json");
    fs::create_dir_all(command.parent().unwrap()).unwrap();
    fs::write(&command, "{}").unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done, report.decisions.len()), (Outcome::Paused, 1, 1), "{report:?}");
    assert_eq!(fs::read_to_string(&command).unwrap(), "{}");
}
