//! Commands whose program is missing or cannot be started.

use super::*;

#[test]
fn missing_verification_fails_and_others_continue() {
    let script = "echo $n > $BRIGADE_TASK.txt\n\
        [ $BRIGADE_TASK$n = a2 ] && { mkdir -p bin; printf '#!/bin/sh\\n' > bin/tool; }\n\
        [ $BRIGADE_TASK$n = a3 ] && chmod +x bin/tool\n\
        done_";
    let rows: [(&str, &str, &[&str]); 3] =
        [("a", "./bin/tool --help", &[]), ("b", "nosuchverification", &[]), ("c", "test -f c.txt", &[])];
    let config = "escalation_enabled = false\nmax_iterations = 4";
    for in_place in [true, false] {
        let world = match in_place {
            true => World::new(&tasks(&rows), config, script),
            false => World::with_branch(&tasks(&rows), config, script),
        };
        world.approve();
        let report = world.serve();
        assert_eq!((report.outcome, report.reason.as_deref()), (Outcome::Paused, Some("a decision waits")));
        let mut completed = ids(&report.completed);
        completed.sort_unstable();
        assert_eq!(completed, ["a", "c"], "{report:?}");
        assert_eq!(world.starts("work", "a"), 3);
        let prompt = world.note("prompt-work-a-2");
        assert!(prompt.contains("PREVIOUS ATTEMPT: a verification command could not be started"), "{prompt}");
        assert!(prompt.contains("`./bin/tool` is not an executable file"), "{prompt}");
        assert_eq!(world.outcome("b"), Some(TaskOutcome::Failed));
        let life = world.life();
        let asked: Vec<_> = life.waiting().filter_map(|decision| decision.task.as_ref()).collect();
        assert_eq!(asked, [&"b".parse().unwrap()]);
    }
}

#[test]
fn a_missing_test_command_is_a_failure() {
    let config = "test_cmd = \"nosuchtest\"\nmax_iterations = 2\nwalkaway_mode = true";
    let script =
        "[ $BRIGADE_ROLE = decide ] && { result '\"decision\":\"skip\"'; exit 0; }\necho $n > a.txt\ndone_";
    let world = World::new(&tasks(&[("a", "true", &[])]), config, script);
    world.approve();
    world.serve();
    assert_eq!((world.outcome("a"), world.starts("work", "a")), (Some(TaskOutcome::Skipped), 2));
    let prompt = world.note("prompt-work-a-2");
    assert!(prompt.contains("the program `nosuchtest` is not found on this host"), "{prompt}");
    assert_eq!(world.receipts(RunKind::Test), 2);
}

#[test]
fn a_setup_that_is_not_there_fails_as_every_other() {
    let config = "worktree.setup = \"nosuchsetup\"\nmax_iterations = 2\nstuck_after = 0";
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), config, "echo $n > a.txt\ndone_");
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, world.outcome("a")), (Outcome::Paused, Some(TaskOutcome::Failed)));
    let failures: Vec<_> = world.life().history.tasks.into_iter().filter_map(|event| event.summary).collect();
    assert!(failures.iter().any(|summary| summary.contains("nosuchsetup")), "{failures:?}");
}

#[test]
fn files_of_a_failed_verification_are_not_committed() {
    // The verification leaves a file, and fails on the first attempt.
    let verification = "sh -c 'touch left.pyc; grep -q 2 a.txt'";
    let world = World::with_branch(&tasks(&[("a", verification, &[])]), "", "echo $n > a.txt\ndone_");
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.starts("work", "a"), 2);
    let tree = world.git(&["ls-tree", "--name-only", "feature/x"]);
    assert!(tree.contains("a.txt") && !tree.contains("left.pyc"), "{tree}");
}
