//! Problems around a service, and what can be done after it.

use brigade_core::json::to_json;

use super::*;
use crate::{FailOn, FailureChoice, PrdSearch};

const PRD: &str = "brigade/tasks/prd-a.json";
const QUICK: &str = "max_iterations = 1\nescalation_enabled = false";

fn text<T: serde::Serialize>(report: &T) -> String {
    to_json(report).unwrap().to_compact()
}

fn file(world: &World, path: &str) -> PathBuf {
    world.folder.join("work").join(path)
}

fn status(world: &World) -> brigade_kitchen::show::StatusReport {
    world.kitchen().status(&PrdSearch::At(world.prd())).unwrap()
}

/// A world whose first task failed, so that the second one cannot start.
fn failed() -> World {
    let prd = tasks(&[("a", "test -f a.txt", &[]), ("b", "true", &["a"])]);
    let world = World::new(&prd, QUICK, "[ $BRIGADE_TASK = a ] && exit 3\necho x > b.txt\ndone_");
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Paused);
    world
}

fn answer_all(world: &World, choice: FailureChoice) -> Result<usize, Failure> {
    world.kitchen().answer_failures(&PrdSearch::At(world.prd()), choice, true)
}

#[test]
fn a_prd_broken_meanwhile_is_reported_and_set_later() {
    let prd = tasks(&[("a", "true", &[])]);
    let world = World::new(&prd, "", &format!("echo '{{' > \"$D/../work/{PRD}\"\n{WRITES}"));
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.issues.len()), (Outcome::Complete, 1), "{report:?}");
    assert!(
        report.issues[0].contains("`passes`") && report.issues[0].contains("has 1 error now"),
        "{report:?}"
    );
    // The journal has the state, and reports it when the file is back.
    fs::write(file(&world, PRD), prd).unwrap();
    let seen = status(&world);
    assert_eq!(seen.completed_tasks, 1);
    assert!(text(&seen.issues).contains("done, but `passes` is not set"), "{:?}", seen.issues);
    let again = world.serve();
    assert_eq!((again.issues.len(), again.attempts), (0, 0), "{again:?}");
    assert!(fs::read_to_string(file(&world, PRD)).unwrap().contains("\"passes\": true"));
    assert_eq!(status(&world).issues, [""; 0]);
}

#[test]
fn files_outside_of_the_workspace_are_off_and_reported() {
    let config = "activity_log = \"/nowhere/x.log\"\nsupervisor_events_file = \"../events.jsonl\"";
    let world = World::new(&tasks(&[("a", "true", &[])]), config, WRITES);
    let checked = world.kitchen().validate(&PrdSearch::At(world.prd()), FailOn::Errors).unwrap();
    let issues = text(&checked.config_issues);
    for part in ["activity_log", "supervisor_events_file", "kitchen.toml"] {
        assert!(issues.contains(part), "{part}: {issues}");
    }
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.issues.len()), (Outcome::Complete, 2), "{report:?}");
    assert!(!world.folder.join("events.jsonl").exists());
}

#[test]
fn a_secret_in_a_title_is_not_shown() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let prd = tasks(&[("a", "true", &[])]).replace("Write a", &format!("Use {secret} now"));
    let world = World::new(&prd.replace("\"F\"", &format!("\"Feature {secret}\"")), "", WRITES);
    let search = PrdSearch::At(world.prd());
    let kitchen = world.kitchen();
    let rehearsed = kitchen.rehearse(std::slice::from_ref(&search), &ServiceOptions::default()).unwrap();
    let seen = kitchen.status(&search).unwrap();
    assert_eq!(seen.tasks[0].title, "Use [redacted] now");
    for shown in [text(&rehearsed), text(&seen), text(&kitchen.summary(&search, None, false).unwrap())] {
        assert!(!shown.contains("ghp_"), "{shown}");
    }
}

#[test]
fn directories_of_the_kitchen_name_no_prd() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    for name in ["runs", "worktrees"] {
        let path = format!("brigade/tasks/{name}.json");
        fs::copy(file(&world, PRD), file(&world, &path)).unwrap();
        let search = PrdSearch::At(path.parse().unwrap());
        let refused = world.kitchen().validate(&search, FailOn::Errors).unwrap_err().to_string();
        assert!(refused.contains(&format!("`{name}`")), "{refused}");
    }
}

#[test]
fn obstacles_at_written_paths_stop_nothing() {
    let config = "supervisor_status_file = \"brigade/status.json\"\nsupervisor_events_file = \"brigade/events.jsonl\"\n\
        activity_log = \"brigade/activity.log\"\nworker_log_dir = \"brigade/logs\"\nlearnings_archive = false";
    let script =
        format!("result '\"signal\":\"complete\",\"learnings\":[\"new\"],\"backlog\":[\"later\"]'\n{WRITES}");
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), config, &script);
    let folders =
        ["status.json", "events.jsonl", "activity.log", "tasks/prd-a.state.json", "tasks/brigade-backlog.md"];
    for folder in folders {
        fs::create_dir_all(file(&world, &format!("brigade/{folder}/inside"))).unwrap();
    }
    fs::write(file(&world, "brigade/tasks/brigade-learnings.md"), b"- old\n\xff\xfe\0- \n").unwrap();
    fs::write(file(&world, "brigade/logs"), "mine").unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done), (Outcome::Complete, 2), "{report:?}");
    let issues = text(&report.issues);
    for folder in folders {
        let name = folder.rsplit('/').next().unwrap();
        assert!(issues.contains(name), "{name}: {issues}");
        // An obstacle is kept, where it was or beside it.
        let beside = fs::read_dir(file(&world, &format!("brigade/{folder}")).parent().unwrap()).unwrap();
        let mut kept = beside.map(|entry| entry.unwrap().path());
        assert!(
            kept.any(|path| path.display().to_string().contains(name) && path.join("inside").exists()),
            "{name}"
        );
    }
    assert_eq!(fs::read_to_string(file(&world, "brigade/logs")).unwrap(), "mine");
}

#[test]
fn an_echoed_or_failed_review_does_not_count() {
    // An echoed prompt gives neither a verdict nor a reason, and no such review passes.
    for review in ["cat \"$D/prompt-review-a-$n\"", "exit 3", "echo '<review>PERHAPS</review>'"] {
        let script = format!("[ $BRIGADE_ROLE = review ] && {{ {review}; exit; }}\n{WRITES}");
        let config = format!("review_enabled = true\n{QUICK}");
        let world = World::with_branch(&tasks(&[("a", "true", &[])]), &config, &script);
        let report = world.serve();
        assert_eq!((report.outcome, report.done), (Outcome::Paused, 0), "{review}: {report:?}");
        let branches = world.git(&["branch", "--list", "feature/x"]);
        assert!(
            branches.is_empty() || !world.git(&["ls-tree", "--name-only", "feature/x"]).contains("a.txt")
        );
    }
}

#[test]
fn after_an_abort_the_task_can_be_retried() {
    let world = failed();
    assert!(status(&world).attention_reason.unwrap().contains("the last one: "));
    // The next service asks again.
    for _ in 0..2 {
        world.answer("abort");
        assert_eq!(world.serve().outcome, Outcome::Paused);
    }
    world.answer("abort");
    // An answer is possible before it asks.
    world.script(WRITES);
    assert_eq!(answer_all(&world, FailureChoice::Retry).unwrap(), 1);
    world.approve();
    assert_eq!(world.serve().done, 2);
    let refused = answer_all(&world, FailureChoice::Retry).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::DecisionMissing);
}

#[test]
fn a_skipped_task_can_be_taken_up_again() {
    let again: [&dyn Fn(&World); 2] = [
        &|world| {
            answer_all(world, FailureChoice::Retry).unwrap();
        },
        &|world| {
            let search = PrdSearch::At(world.prd());
            let report =
                world.kitchen().ticket(&search, "a", &ServiceOptions::default(), &NoFollower).unwrap();
            assert_eq!(report.ticket.unwrap().outcome, Some(TaskOutcome::Complete));
        },
    ];
    for again in again {
        let world = failed();
        world.answer("skip");
        let report = world.serve();
        assert_eq!((ids(&report.skipped), ids(&report.unreachable)), (vec!["a"], vec!["b"]));
        world.script(WRITES);
        world.approve();
        again(&world);
        let report = world.serve();
        assert_eq!((report.outcome, report.done), (Outcome::Complete, 2), "{report:?}");
    }
}

#[test]
fn a_failed_task_marked_as_done_counts_after_the_next_approval() {
    let world = failed();
    let marked =
        fs::read_to_string(file(&world, PRD)).unwrap().replacen("\"passes\": false", "\"passes\": true", 1);
    fs::write(file(&world, PRD), marked).unwrap();
    let seen = status(&world);
    assert!(text(&seen.issues).contains("counts after the PRD is approved again"), "{:?}", seen.issues);
    assert!(!seen.tasks[0].completed, "{:?}", seen.tasks[0]);
}

#[test]
fn ignored_files_complete_no_task() {
    let ignored = |world: &World, text: &str| {
        fs::write(file(world, ".gitignore"), format!(".brigade/\nbrigade/\n{text}")).unwrap();
        world.git(&["commit", "-qam", "ignore"]);
    };
    let makes = "mkdir -p out; echo x > out/a.txt; ";
    for claim in ["done_", "echo '<promise>ALREADY_DONE</promise>'"] {
        let prd = tasks(&[("a", "test -f out/a.txt", &[])]);
        let world = World::with_branch(&prd, QUICK, &format!("{makes}{claim}"));
        ignored(&world, "out/\n");
        let report = world.serve();
        assert_eq!((report.done, ids(&report.failed)), (0, vec!["a"]), "{claim}: {report:?}");
    }
    // Nor files that the attempt itself makes git ignore.
    let script = "echo x > a.txt; echo a.txt > .gitignore; done_";
    let world = World::with_branch(&tasks(&[("a", "test -f a.txt", &[])]), QUICK, script);
    assert_eq!(ids(&world.serve().failed), ["a"]);
    // Files from before the attempt do not belong to it.
    let config = "max_iterations = 1\nworktree.copy = [\"out/a.txt\"]";
    let prd = tasks(&[("a", "test -f out/a.txt", &[])]);
    let world = World::with_branch(&prd, config, "echo '<promise>ALREADY_DONE</promise>'");
    ignored(&world, "out/\n");
    fs::create_dir(file(&world, "out")).unwrap();
    fs::write(file(&world, "out/a.txt"), "mine").unwrap();
    assert_eq!(ids(&world.serve().completed), ["a"]);
}
