//! Effects of keys in kitchen.toml that no other test sets.

use brigade_kitchen::Tier;
use brigade_kitchen::show::TaskStatus;

use super::*;
use crate::PrdSearch;

const QUICK: &str = "max_iterations = 1\nescalation_enabled = false";

/// Serves a PRD with these tasks after its approval.
fn served(rows: &[(&str, &str, &[&str])], config: &str, script: &str) -> (World, ServiceReport) {
    let world = World::new(&tasks(rows), config, script);
    world.approve();
    let report = world.serve();
    (world, report)
}

/// Makes a task of a PRD one for the sous tier.
fn senior(prd: &str, id: &str) -> String {
    let head = format!("\"Write {id}\", \"acceptanceCriteria\": [\"it is there\"], \"complexity\": ");
    let (old, new) = (format!("{head}\"junior\""), format!("{head}\"senior\""));
    assert!(prd.contains(&old), "{prd}");
    prd.replace(&old, &new)
}

impl World {
    fn rows(&self) -> Vec<brigade_kitchen::show::TaskRow> {
        self.kitchen().status(&PrdSearch::At(self.prd())).unwrap().tasks
    }
}

#[test]
fn learnings_and_findings_have_files_and_limits() {
    let script = format!(
        "[ $BRIGADE_TASK = a ] && result '\"signal\":\"complete\",\"learnings\":[\"one\",\"two\"],\"backlog\":[\"b\"]'\n{WRITES}"
    );
    let rows: [(&str, &str, &[&str]); 2] = [("a", "true", &[]), ("b", "true", &["a"])];
    let config = "learnings_file = \"notes.md\"\nbacklog_file = \"later.md\"\nlearnings_max = 1\nlearnings_archive = false";
    let (world, report) = served(&rows, config, &script);
    assert_eq!(report.outcome, Outcome::Complete);
    let path = |name: &str| world.folder.join("work/brigade/tasks").join(name);
    assert_eq!(fs::read_to_string(path("notes.md")).unwrap(), "# Learnings\n\n- two\n");
    assert_eq!(fs::read_to_string(path("later.md")).unwrap(), "# Backlog\n\n- b\n");
    assert!(!path("archive").exists());
    assert!(world.note("prompt-work-b-1").contains("- two"));
    let (world, _) = served(&rows, "knowledge_sharing = false", &script);
    assert!(!world.note("prompt-work-b-1").contains("- two"));
}

#[test]
fn retry_prompts_name_earlier_approaches_if_enabled() {
    let script = format!(
        "case $n in 1) echo '<approach>first way</approach>';; 2) echo '<approach>second way</approach>';;\n\
         *) {};; esac",
        WRITES.replace('\n', "; ")
    );
    for (config, expect) in [
        ("", [true, true, true]),
        ("smart_retry_approach_history_max = 1", [true, false, true]),
        ("smart_retry_enabled = false", [false, false, false]),
    ] {
        let (world, report) = served(&[("a", "test -f a.txt", &[])], config, &script);
        assert_eq!((report.outcome, report.attempts), (Outcome::Complete, 3), "{config}");
        let prompt = world.note("prompt-work-a-3");
        let found = ["kind of failure", "first way", "second way"].map(|text| prompt.contains(text));
        assert_eq!(found, expect, "{config}: {prompt}");
    }
}

#[test]
fn prompts_name_related_prds_if_enabled() {
    let prd = |title: &str| tasks(&[("a", "true", &[])]).replace("Write a", title);
    for (config, expect) in
        [("", true), ("cross_prd_context_enabled = false", false), ("cross_prd_max_related = 0", false)]
    {
        let world = World::new(&prd("Count words in a table"), config, WRITES);
        let other = world.folder.join("work/brigade/tasks/prd-tables.json");
        fs::write(other, prd("Show a table of words")).unwrap();
        world.approve();
        assert_eq!(world.serve().outcome, Outcome::Complete);
        let prompt = world.note("prompt-work-a-1");
        assert_eq!(prompt.contains("- tables: "), expect, "{config}: {prompt}");
    }
}

#[test]
fn verification_has_a_time_limit_and_can_be_off() {
    let rows: [(&str, &str, &[&str]); 1] = [("a", "sleep 60", &[])];
    let (world, report) = served(&rows, &format!("verification_timeout = 1\n{QUICK}"), WRITES);
    assert_eq!((report.outcome, world.outcome("a")), (Outcome::Paused, Some(TaskOutcome::Failed)));
    let journal = fs::read_to_string(world.folder.join("work/.brigade/kitchen/prd-a/journal.jsonl")).unwrap();
    let verified = journal.lines().find(|line| line.contains("\"kind\":\"verification\"")).unwrap();
    assert!(verified.contains("\"result\":\"timed_out\""), "{verified}");
    let (_, report) = served(&rows, "verification_enabled = false", WRITES);
    assert_eq!(report.outcome, Outcome::Complete);
}

#[test]
fn all_tiers_are_reviewed_if_enabled() {
    let script =
        format!("[ $BRIGADE_ROLE = review ] && {{ result '\"review\":\"pass\"'; exit 0; }}\n{WRITES}");
    for (config, reviews) in [
        ("review_enabled = true", [1, 0]),
        ("review_enabled = true\nreview_junior_only = false", [1, 1]),
        ("review_enabled = false\nreview_junior_only = false", [0, 0]),
    ] {
        let prd = senior(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "b");
        let world = World::new(&prd, config, &script);
        world.approve();
        assert_eq!(world.serve().outcome, Outcome::Complete);
        assert_eq!(["a", "b"].map(|task| world.starts("review", task)), reviews, "{config}");
    }
}

#[test]
fn a_stuck_task_is_stopped_early() {
    let script = "echo same > a.txt\ndone_";
    let world = World::new(&tasks(&[("a", "false", &[])]), "escalation_after = 50", script);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Paused, 3));
    assert!(world.life().task(&"a".parse().unwrap()).stuck);
    assert_eq!(world.receipts(RunKind::Attempt), 3);
}

#[test]
fn a_task_is_stuck_after_equal_failures_or_never() {
    for (config, attempts) in [("stuck_after = 2", 2), ("stuck_after = 0", 4)] {
        let config = format!("{config}\nmax_iterations = 4\nescalation_enabled = false");
        let (world, report) = served(&[("a", "true", &[])], &config, "echo no");
        assert_eq!(report.outcome, Outcome::Paused);
        assert_eq!(world.rows()[0].attempts, attempts, "{config}");
    }
}

#[test]
fn time_limits_hold_in_every_tier() {
    let prd = senior(&tasks(&[("a", "true", &[])]), "a");
    for (config, tier, attempts) in
        [("task_timeout_executive = 1", Tier::Executive, 2), ("escalation_to_exec = false", Tier::Sous, 1)]
    {
        let world = World::new(&prd, &format!("task_timeout_senior = 1\n{config}"), "sleep 60");
        world.approve();
        assert_eq!(world.serve().outcome, Outcome::Paused);
        let row = &world.rows()[0];
        assert_eq!((row.status, row.tier, row.attempts), (TaskStatus::Blocked, tier, attempts), "{row:?}");
    }
}

#[test]
fn an_unattended_service_skips_only_so_many_tasks() {
    // The executive decides while other tasks are in progress. Several decisions may run at the same time.
    let script = "[ $BRIGADE_ROLE = decide ] && { sleep 0.3; result '\"decision\":\"skip\",\"reason\":\"no\"'; }\nexit 0";
    let config = format!("walkaway_mode = true\nmax_parallel = 1\nwalkaway_max_skips = 1\n{QUICK}");
    let (_, report) = served(&[("a", "true", &[]), ("b", "true", &[]), ("c", "true", &[])], &config, script);
    assert_eq!((report.outcome, report.skipped.len()), (Outcome::Paused, 1), "{report:?}");
    assert!(report.reason.as_deref().unwrap().contains("1 task "), "{report:?}");
}

#[test]
fn a_late_decision_is_a_retry_and_then_a_skip() {
    let script = "[ $BRIGADE_ROLE = decide ] && sleep 60\nexit 0";
    let config = format!("walkaway_mode = true\nwalkaway_decision_timeout = 1\n{QUICK}");
    let (world, report) = served(&[("a", "true", &[])], &config, script);
    assert_eq!((report.outcome, ids(&report.skipped)), (Outcome::Incomplete, vec!["a"]), "{report:?}");
    assert_eq!((world.starts("work", "a"), world.starts("decide", "a")), (2, 2));
}

#[test]
fn a_person_may_answer_questions_about_scope() {
    let script = format!(
        "[ $BRIGADE_ROLE = scope ] && {{ result '\"answer\":\"Yes, tests, too\",\"reason\":\"usual\"'; exit 0; }}\n\
         [ $n = 1 ] && {{ result '\"signal\":\"question\",\"question\":\"Tests, too?\"'; exit 0; }}\n{WRITES}"
    );
    for (config, outcome, starts) in
        [("", Outcome::Complete, 1), ("walkaway_scope_decisions = false", Outcome::Paused, 0)]
    {
        let (world, report) = served(
            &[("a", "true", &[])],
            &format!("walkaway_mode = true\nmax_iterations = 3\n{config}"),
            &script,
        );
        assert_eq!((report.outcome, world.starts("scope", "a")), (outcome, starts), "{config}");
    }
}

#[test]
fn minutes_cost_what_the_rates_say() {
    let prd = senior(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "b");
    let config = "cost_rate_line = 600\ncost_rate_sous = 6000\ncost_rate_executive = 0";
    let world = World::new(&prd, config, &format!("sleep 1\n{WRITES}"));
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let costs: Vec<f64> = world.rows().iter().map(|row| row.cost_usd).collect();
    assert!((10.0..100.0).contains(&costs[0]) && (100.0..1_000.0).contains(&costs[1]), "{costs:?}");
}

#[test]
fn a_review_of_the_prd_may_take_so_long() {
    let script = format!("[ $BRIGADE_ROLE = phase ] && sleep 60\n{WRITES}");
    let config = "phase_review_enabled = true\nphase_review_after = 1\nphase_review_timeout = 1";
    let (world, report) = served(&[("a", "true", &[])], config, &script);
    assert_eq!((report.outcome, world.starts("phase", "")), (Outcome::Complete, 1));
}

#[test]
fn a_tier_has_its_adapter_and_its_variables() {
    let answer = r#"{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>","total_cost_usd":1.5}"#;
    let script = format!("echo x > a.txt\necho '{answer}'");
    let mut world = World::new(&tasks(&[("a", "true", &[])]), "", &script);
    let path = world.folder.join("work/.brigade/kitchen.toml");
    let line = "[tier.line]\nadapter = \"claude\"\nenv_labels = [\"OWN_TOKEN\"]\n";
    fs::write(&path, fs::read_to_string(&path).unwrap().replacen("[tier.line]\n", line, 1)).unwrap();
    let variables = [("PATH", std::env::var_os("PATH").unwrap()), ("OWN_TOKEN", "hush-hush-1".into())];
    world.environment = HostEnvironment::new(variables.map(|(name, value)| (name.into(), value)));
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.note("env-work-a-1").contains("OWN_TOKEN=hush-hush-1\n"));
    assert_eq!(world.rows()[0].cost_usd, 1.5);
}

#[test]
fn a_provider_limit_delays_only_its_tier() {
    let adapter = "[[adapter]]\nid = \"worker\"\nprogram = \"worker.sh\"\nprompt = \"stdin\"\nanswer = \"text\"\n\
        limit = ['limit reached until (?P<reset>[0-9]+)']\n";
    let script = format!(
        "[ $BRIGADE_TASK$n = a1 ] && {{ echo limit reached until $(($(date +%s) + 3)); exit 1; }}\n{WRITES}"
    );
    let prd = senior(&tasks(&[("a", "true", &[]), ("b", "true", &[]), ("c", "true", &[])]), "b");
    let world = World::new(&prd, "supervisor_events_file = \"events.jsonl\"", &script);
    let config = ".brigade/kitchen.toml";
    world.write(config, &(world.read(config) + adapter));
    world.approve();
    assert_eq!(world.serve().done, 3);
    let events = world.read("events.jsonl");
    assert_eq!(events.matches("\"event\":\"limit_wait\"").count(), 1, "{events}");
    assert_eq!(world.rows()[0].attempts, 2);
    let journal = world.read(".brigade/kitchen/prd-a/journal.jsonl");
    assert_eq!(journal.matches("\"how\":\"limit\"").count(), 1, "{journal}");
    // The other tier did not wait.
    let is = |line: &str, event: &str, task: &str| {
        line.contains(&format!("\"event\":\"{event}\"")) && line.contains(&format!("\"task\":\"{task}\""))
    };
    let lines: Vec<&str> = events.lines().collect();
    let other = lines.iter().position(|line| is(line, "task_complete", "b")).unwrap();
    let again = lines.iter().rposition(|line| is(line, "task_start", "a")).unwrap();
    assert!(other < again, "{events}");
}

#[test]
fn a_silent_worker_is_ended_if_that_is_set() {
    let config = "stall = \"kill\"\noutput_stall_threshold = 1\nsupervisor_events_file = \"events.jsonl\"\n\
        activity_log = \"activity.log\"\nactivity_log_interval = 1";
    let script = format!("[ $n = 1 ] && exec sleep 600\n{WRITES}");
    let (world, report) = served(&[("a", "true", &[])], config, &script);
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 2));
    assert!(world.note("prompt-work-a-2").contains("printed nothing"));
    let events = world.read("events.jsonl");
    let stalls: Vec<&str> =
        events.lines().filter(|line| line.contains("\"event\":\"output_stall\"")).collect();
    assert!(matches!(*stalls, [stall] if stall.contains("\"task\":\"a\"")), "{events}");
    let activity = world.read("activity.log");
    assert!(activity.contains("a/a: Line Cook working ("), "{activity}");
}

#[test]
fn a_prompt_may_go_in_by_file() {
    let adapter = "[[adapter]]\nid = \"worker\"\nprogram = \"worker.sh\"\nprompt = \"file\"\n\
        args = [\"--message\", \"{prompt_file}\"]\nanswer = \"text\"\n";
    let script = format!("{{ printf '%s ' \"$@\"; cat \"$2\"; }} > \"$D/seen\"\n{WRITES}");
    let world = World::new(&tasks(&[("US-001", "true", &[])]), "", &script);
    let config = ".brigade/kitchen.toml";
    world.write(config, &(world.read(config) + adapter));
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let seen = world.note("seen");
    assert!(seen.starts_with("--message /") && seen.contains("prompt.md "), "{seen}");
    assert_eq!(seen.matches("Write US-001").count(), 1, "{seen}");
    assert_eq!(world.note("prompt-work-US-001-1"), "", "it came by file, and not on standard input");
}
