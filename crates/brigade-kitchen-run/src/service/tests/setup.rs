//! The setup command of worktrees, and claims that another task did the work.

use super::*;

/// Configures a setup that counts its starts and runs this script.
fn with_setup(world: &World, script: &str) {
    let path = world.folder.join("tools/setup.sh");
    let notes = world.folder.join("notes").display().to_string();
    fs::write(&path, format!("#!/bin/sh\nD={notes}\nn=$(cat $D/setup 2>/dev/null || echo 0); n=$((n+1)); echo $n > $D/setup\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let config = world.folder.join("work/.brigade/kitchen.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("worktree.setup = \"{}\"\n{text}", path.display())).unwrap();
    world.approve();
}

#[test]
fn a_setup_that_failed_runs_again_before_any_worker() {
    let world = World::with_branch(&tasks(&[("a", "test -f ready", &[])]), "", WRITES);
    with_setup(&world, "[ $n = 3 ] || { echo no; echo 'not yet' >&2; exit 7; }\ntouch ready");
    let report = world.serve();
    assert_eq!(report.outcome, Outcome::Complete, "{report:?}");
    assert_eq!((world.note("setup").trim(), world.starts("work", "a")), ("3", 1));
    assert_eq!(world.git(&["diff", "--name-only", "main", "feature/x"]), "a.txt");
    let life = world.life();
    let failures: Vec<_> = life.history.tasks.iter().filter(|event| event.category.is_some()).collect();
    assert_eq!(failures.len(), 2);
    for failure in failures {
        assert_eq!(failure.category.as_deref(), Some("setup"));
        let summary = failure.summary.as_deref().unwrap();
        assert!(summary.starts_with("the setup command of the worktree exited with 7: "), "{summary}");
        assert!(!summary.contains('\n'), "{summary}");
    }
}

#[test]
fn a_failing_setup_never_lets_a_worker_start() {
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "escalation_enabled = false", WRITES);
    with_setup(&world, "exit 1");
    assert_eq!((world.serve().outcome, world.starts("work", "a")), (Outcome::Paused, 0));
    assert_eq!(
        (world.outcome("a"), world.note("setup").trim()),
        (Some(TaskOutcome::Failed), "3"),
        "it is stuck"
    );
}

#[test]
fn a_setup_alone_does_not_count_as_work() {
    let world = World::with_branch(&tasks(&[("a", "", &[])]), "max_iterations = 1", "done_");
    with_setup(&world, "echo made > made.txt; echo more >> shared.txt");
    assert_eq!((world.serve().outcome, world.outcome("a")), (Outcome::Paused, Some(TaskOutcome::Failed)));
}

#[test]
fn a_setup_that_is_killed_runs_again() {
    let world = World::with_branch(&tasks(&[("a", "test -f ready", &[])]), "", WRITES);
    with_setup(&world, "[ $n = 1 ] && { kill -9 $PPID; sleep 30; }\ntouch ready");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "service::tests::killed::serves_until_it_is_killed", "--test-threads", "1"]);
    child.env(killed::WORLD, &world.folder).env(killed::AT, "0").env("RUST_BACKTRACE", "0");
    // The first setup may end its keeper or the service. The worktree must not count as set up.
    let _ = child.output().unwrap();
    let report = world.serve();
    assert_eq!(report.outcome, Outcome::Complete, "{report:?}");
    assert_eq!((world.note("setup").trim(), world.starts("work", "a")), ("2", 1));
}

#[test]
fn a_claim_without_work_is_about_the_branch_as_it_is() {
    // `a` starts before `b` is done, and claims only then that `b` did its work.
    let script = "case $BRIGADE_TASK in\n\
        b) while [ ! -e \"$D/work-a\" ]; do sleep 0.05; done; echo x > a.txt; done_;;\n\
        *) if [ $n = 1 ]; then\n\
             while ! git -C \"$D/../work\" show feature/x:a.txt > /dev/null 2>&1; do sleep 0.05; done\n\
             while ! grep -q '\"kind\":\"task_ended\"' \"$D/../work/.brigade/kitchen/prd-a/journal.jsonl\"; do sleep 0.05; done\n\
           else test -f a.txt && touch \"$D/saw\"; fi\n\
           echo '<promise>SAID</promise>';;\nesac";
    for said in ["ABSORBED_BY:b", "ALREADY_DONE"] {
        let prd = tasks(&[("a", "test -f a.txt", &[]), ("b", "test -f a.txt", &[])]);
        let world = World::with_branch(&prd, "max_iterations = 2", &script.replace("SAID", said));
        let report = world.serve();
        assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 1), "{said}: {report:?}");
    }
}

#[test]
fn a_later_attempt_without_work_sees_the_tip() {
    let script = "case $BRIGADE_TASK in\n\
        b) echo x > b.txt; done_;;\n\
        *) if [ $n = 1 ]; then while ! git -C \"$D/../work\" show feature/x:b.txt > /dev/null 2>&1; do sleep 0.05; done\n\
           else test -f b.txt && echo x > a.txt && done_; fi;;\nesac";
    let world = World::with_branch(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "", script);
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 2), "{report:?}");
}

#[test]
fn a_worktree_gets_files_of_the_workspace() {
    let config = "worktree.copy = [\"local.env\"]\nworktree.link = [\"cache\"]\nworktree.path = \".brigade/kitchen/trees\"\n\
        worktree.setup = \"cp local.env seen.txt\"\nworktree.keep = \"always\"";
    let script = format!("cp cache/x cached.txt\n{WRITES}");
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), config, &script);
    world.write(".gitignore", "local.env\ncache\n.brigade/\nbrigade/\n");
    world.git(&["commit", "-qam", "ignore"]);
    world.write("local.env", "A=1\n");
    world.write("cache/x", "cached\n");
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let tree = world.path(".brigade/kitchen/trees/prd-a/a");
    assert!(tree.join("local.env").exists() && tree.join("cache").is_symlink());
    assert_eq!(world.git(&["show", "feature/x:cached.txt"]), "cached");
    // The worker sees files of the setup, but they do not count as its work.
    assert_eq!(fs::read_to_string(tree.join("seen.txt")).unwrap(), "A=1\n");
    let committed = world.git(&["ls-tree", "--name-only", "feature/x"]);
    assert!(!committed.contains("local.env") && !committed.contains("seen.txt"), "{committed}");
}

#[test]
fn a_setup_has_a_time_limit() {
    let config = "worktree.setup = \"sleep 60\"\nworktree.setup_timeout = 1\nmax_iterations = 1\nescalation_enabled = false";
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), config, WRITES);
    assert_eq!((world.serve().outcome, world.starts("work", "a")), (Outcome::Paused, 0));
    let journal = world.read(".brigade/kitchen/prd-a/journal.jsonl");
    assert!(journal.contains("the setup command of the worktree was ended at its time limit"), "{journal}");
}
