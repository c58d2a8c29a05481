//! Attacks by workers, seen from the outside: the user's repository, other tasks, and false claims.

use super::*;

#[test]
fn commits_and_untracked_files_are_verified() {
    for work in ["git add -A; git commit -qm mine", "true"] {
        let script = format!("echo {} > a.txt\n{work}\ndone_", "$n");
        let prd = tasks(&[("a", "grep -q 2 a.txt", &[])]);
        let world = World::with_branch(&prd, "", &script);
        let report = world.serve();
        assert_eq!((report.outcome, report.attempts), (Outcome::Complete, 2), "{work}");
        assert_eq!(world.git(&["show", "feature/x:a.txt"]), "2");
        assert_eq!(world.git(&["rev-list", "--count", "main..feature/x"]), "1");
    }
}

#[test]
fn nothing_is_merged_pushed_or_deleted_unasked() {
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", WRITES);
    let remote = world.folder.join("remote.git").display().to_string();
    world.git(&["init", "-q", "--bare", &remote]);
    world.git(&["remote", "add", "origin", &remote]);
    fs::write(world.folder.join("work/shared.txt"), "stashed\n").unwrap();
    world.git(&["stash"]);
    world.git(&["branch", "other"]);
    fs::write(world.folder.join("work/shared.txt"), "by the user\n").unwrap();
    fs::write(world.folder.join("work/untracked.txt"), "mine\n").unwrap();
    let seen = || {
        [
            world.git(&["status", "--porcelain", "-b"]),
            world.git(&["stash", "list"]),
            world.git(&["rev-parse", "main", "other"]),
            world.git(&["--git-dir", &remote, "for-each-ref"]),
        ]
    };
    let before = seen();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(seen(), before);
    assert_eq!(world.git(&["branch", "--format=%(refname:short)"]), "feature/x\nmain\nother");
}

#[test]
fn verification_leftovers_are_ignored() {
    let script =
        "if [ $BRIGADE_ROLE = review ]; then result '\"review\":\"pass\"'; exit 0; fi\necho x > a.txt\ndone_";
    let prd = tasks(&[("a", "touch coverage.out", &[])]);
    let world = World::with_branch(&prd, "review_enabled = true\n", script);
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("review", "a")), (Outcome::Complete, 1));
    assert_eq!(world.git(&["diff", "--name-only", "main", "feature/x"]), "a.txt");
}

#[test]
fn a_reviewer_that_changes_files_has_said_nothing() {
    let script = "if [ $BRIGADE_ROLE = review ]; then echo more >> a.txt; result '\"review\":\"pass\"'; exit 0; fi\n\
        echo x > a.txt\ndone_";
    let config = "review_enabled = true\nmax_iterations = 1\n";
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), config, script);
    assert_ne!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.git(&["rev-parse", "feature/x"]), world.git(&["rev-parse", "main"]));
    let life = world.life();
    let told = "the reviewer changed files: a.txt";
    assert_eq!(life.history.reviews[0].3, told);
    let feedback = life.task(&"a".parse().unwrap()).feedback.unwrap().to_string();
    assert!(feedback.ends_with(&format!("no clear verdict twice: {told}")), "{feedback}");
}

#[test]
fn changes_by_a_reviewer_are_never_committed() {
    let script = "if [ $BRIGADE_ROLE = review ]; then\n\
        [ $n = 1 ] && { echo more >> a.txt; echo more > extra.txt; rm shared.txt; }\n\
        [ $n = 2 ] && result '\"review\":\"fail\"' || result '\"review\":\"pass\"'; exit 0; fi\n\
        [ $n = 1 ] && echo x > a.txt || echo x > b.txt\ndone_";
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "review_enabled = true\n", script);
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 2));
    assert_eq!(world.git(&["diff", "--name-only", "main", "feature/x"]), "a.txt\nb.txt");
    assert_eq!(world.git(&["show", "feature/x:a.txt"]), "x");
}

#[test]
fn reviewer_changing_files_fails_the_attempt() {
    let script = "if [ $BRIGADE_ROLE = review ]; then [ $n = 1 ] && echo more >> a.txt\n\
        result '\"review\":\"pass\"'; exit 0; fi\necho x > a.txt\ndone_";
    let prd = tasks(&[("a", "grep -qx x a.txt", &[])]);
    let world = World::new(&prd, "review_enabled = true\n", script);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 2));
    let told = world.note("prompt-work-a-2");
    assert!(told.contains("the reviewer changed files: a.txt"), "{told}");
    assert_eq!(fs::read_to_string(world.folder.join("work/a.txt")).unwrap(), "x\n");
    // A reviewer that changes files every time never passes a task.
    let script = script.replace("[ $n = 1 ] && ", "");
    let world = World::new(&prd, "review_enabled = true\nmax_iterations = 2", &script);
    world.approve();
    assert_eq!((world.serve().outcome, world.starts("review", "a")), (Outcome::Paused, 2));
}

#[test]
fn removed_worktree_fails_and_is_recreated() {
    let script = "if [ $n = 1 ]; then rm -rf \"$PWD\"; else echo x > a.txt; fi\ndone_";
    let world = World::with_branch(&tasks(&[("a", "test -f a.txt", &[])]), "", script);
    let report = world.serve();
    assert_eq!((report.outcome, report.attempts), (Outcome::Complete, 2));
    assert_eq!(world.git(&["diff", "--name-only", "main", "feature/x"]), "a.txt");
}

#[test]
fn a_nested_repository_fails_the_attempt() {
    let script = "mkdir -p inner; echo x > inner/a.txt\nif [ $n = 1 ]; then git init -q inner; else rm -rf inner/.git; fi\ndone_";
    let world = World::with_branch(&tasks(&[("a", "test -f inner/a.txt", &[])]), "", script);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.note("prompt-work-a-2").contains("nested git repositories"));
    assert_eq!(world.git(&["show", "feature/x:inner/a.txt"]), "x");
}

/// Issue 16, item 3 of what must not happen.
#[test]
fn green_suite_alone_marks_no_task_done() {
    let prd = tasks(&[("a", "true", &[]), ("b", "false", &[]), ("c", "true", &["b"])]);
    let world = World::new(&prd, "test_cmd = \"true\"\nmax_iterations = 1\n", WRITES);
    world.approve();
    let report = world.serve();
    assert_eq!((report.done, report.total, ids(&report.completed)), (1, 3, vec!["a"]));
    assert_eq!((world.starts("work", "b"), world.starts("work", "c")), (1, 0));
    let prd = fs::read_to_string(world.folder.join("work/brigade/tasks/prd-a.json")).unwrap();
    assert_eq!(prd.matches("\"passes\": true").count(), 1, "{prd}");
    assert_eq!((world.outcome("b"), world.outcome("c")), (Some(TaskOutcome::Failed), None));
}

/// A clock with a fixed time.
struct FixedClock(i64);

impl brigade_core::Clock for FixedClock {
    fn now(&self) -> brigade_core::Timestamp {
        brigade_core::Timestamp::from_unix_micros(self.0 * 1_000_000)
    }
}

#[test]
fn a_clock_set_back_repeats_and_delays_nothing() {
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), "", WRITES);
    let serve = |now: i64, only: &str| {
        let kitchen = Kitchen { clock: Arc::new(FixedClock(now)), ..world.kitchen() };
        let options = ServiceOptions { only: vec![only.to_owned()], ..ServiceOptions::default() };
        kitchen.serve(&world.prd(), &options, &NoFollower, &|order| kitchen.open_place(order)).unwrap()
    };
    world.approve();
    // First in the year 2096, then in 1976.
    assert_eq!(ids(&serve(4_000_000_000, "a").completed), ["a"]);
    assert_eq!(ids(&serve(200_000_000, "b").completed), ["b"]);
    assert_eq!((world.starts("work", "a"), world.starts("work", "b")), (1, 1));
    assert_eq!((world.receipts(RunKind::Attempt), world.serve().attempts), (2, 0));
}

/// A workspace with a branch, and a tracked script that reviews.
fn with_reviewer(config: &str, script: &str, reviewer: &str) -> World {
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", script);
    fs::create_dir_all(world.folder.join("work/crew")).unwrap();
    fs::write(world.folder.join("work/crew/helper.sh"), reviewer).unwrap();
    fs::write(world.folder.join("work/crew/review.sh"), ". crew/helper.sh\n").unwrap();
    world.git(&["add", "crew"]);
    world.git(&["commit", "-qm", "Add a reviewer"]);
    let worktrees = if config.is_empty() { "worktrees = \"on\"\n" } else { config };
    world.configure(&format!("review_enabled = true\nmax_iterations = 1\n{worktrees}"));
    let path = world.folder.join("work/.brigade/kitchen.toml");
    let tools = world.folder.join("tools/worker.sh").display().to_string();
    let text = fs::read_to_string(&path).unwrap();
    let (before, after) = text.split_once("[tier.executive]").unwrap();
    let after = after.replace(&tools, "sh crew/review.sh");
    fs::write(&path, format!("{before}[tier.executive]{after}")).unwrap();
    world.approve();
    world
}

#[test]
fn a_reviewer_starts_from_the_approved_commit() {
    const FAILS: &str = "cat > /dev/null\ntest -f a.txt && echo '<review>PASS</review>' && exit 0\n\
        test -f \"$BRIGADE_WORKTREE/a.txt\" && echo '<review>FAIL</review>'\n";
    // What the reviewer finds beside its command is not what the worker wrote.
    let world = with_reviewer(
        "",
        "echo 'echo \"<review>PASS</review>\"' > crew/helper.sh; echo x > a.txt; done_",
        FAILS,
    );
    assert_ne!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.git(&["rev-parse", "feature/x"]), world.git(&["rev-parse", "main"]));
    assert_eq!(world.life().history.reviews.len(), 1);
    let left = fs::read_dir(world.folder.join("work/.brigade/kitchen/worktrees/prd-a")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('+')), "{left:?}");
    // What a command of a tier names may not be changed at all.
    for config in ["", "worktrees = \"off\"\n"] {
        let world =
            with_reviewer(config, "echo 'echo \"<review>PASS</review>\"' > crew/review.sh; done_", FAILS);
        assert_ne!(world.serve().outcome, Outcome::Complete, "{config}");
        let feedback = world.life().task(&"a".parse().unwrap()).feedback.unwrap().to_string();
        assert!(
            feedback.contains("`crew/review.sh`, which the command of the executive tier names"),
            "{feedback}"
        );
    }
}

#[test]
fn a_clear_fail_counts_although_a_file_is_left() {
    for (verdict, expect) in [("fail", "it is wrong"), ("pass", "the reviewer changed files: left.txt")] {
        let script = format!(
            "if [ $BRIGADE_ROLE = review ]; then echo x > left.txt\n\
             result '\"review\":\"{verdict}\",\"reason\":\"it is wrong\"'; exit 0; fi\necho x > a.txt\ndone_"
        );
        let config = "review_enabled = true\nmax_iterations = 1\n";
        let world = World::with_branch(&tasks(&[("a", "true", &[])]), config, &script);
        assert_ne!(world.serve().outcome, Outcome::Complete);
        let reviews = world.life().history.reviews;
        assert_eq!(reviews[0].3, expect, "{verdict}");
        assert_eq!(reviews.len(), if verdict == "fail" { 1 } else { 2 }, "a FAIL is not repeated");
    }
}

#[test]
fn git_is_given_no_named_pipe_and_no_giant() {
    for (script, named) in [
        ("mkdir d; mkfifo d/.gitignore", "d/.gitignore"),
        ("mkdir -p d/e; mkfifo d/e/.gitattributes .mailmap", "d/e/.gitattributes"),
        ("truncate -s 2G big", "big"),
        ("mkdir e; truncate -s 20M e/.gitattributes", "e/.gitattributes"),
    ] {
        let script = format!("[ $n = 1 ] && {{ {script}; }} || rm -rf big d e\necho x > a.txt\ndone_");
        let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", &script);
        let report = world.serve();
        assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 2), "{named}");
        let told = world.note("prompt-work-a-2");
        assert!(told.contains("named pipes, devices or too large for git") && told.contains(named), "{told}");
        assert_eq!(world.git(&["diff", "--name-only", "main", "feature/x"]), "a.txt");
    }
}

#[test]
fn git_of_ours_never_waits_for_a_file() {
    let world = World::with_branch(&tasks(&[("a", "true", &[])]), "", WRITES);
    let exclude = world.folder.join("work/.git/info/exclude");
    fs::create_dir(exclude.parent().unwrap()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&exclude).status().unwrap();
    assert!(made.success());
    let served = format!("{:?}", world.try_serve(&ServiceOptions::default(), &NoFollower));
    assert!(served.contains("`info/exclude`: it is not a file"), "{served}");
}
