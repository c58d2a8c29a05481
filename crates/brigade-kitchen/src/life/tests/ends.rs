//! Why a service ends, and which decisions the next one asks for.

use super::*;

#[test]
fn abort_ends_the_service() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR), ("b", SENIOR)]));
    book.settings.max_iterations = 1;
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    assert!(!book.progress().is_at_end());
    book.answer(&decision, "abort", AnsweredBy::Supervisor);
    assert_eq!((book.progress().is_at_end(), book.progress().outcome()), (true, Outcome::Aborted));
    assert_eq!(book.step("a"), Step::Ended(TaskOutcome::Failed));
    // The next service asks again. The abort of an earlier service does not end it.
    book.serve();
    assert_eq!(book.progress().outcome(), Outcome::Paused);
    let again = book.ask("a");
    assert_ne!(again, decision);
    book.answer(&again, "abort", AnsweredBy::Person);
    assert_eq!(book.progress().outcome(), Outcome::Aborted);
}

#[test]
fn an_abort_of_an_older_question_ends_the_service() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR), ("b", SENIOR)]));
    book.settings.max_iterations = 1;
    book.serve();
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    book.serve();
    assert!(!book.progress().aborted);
    book.answer(&decision, "abort", AnsweredBy::Person);
    assert!(book.progress().aborted);
}

#[test]
fn a_failure_names_its_last_error() {
    let mut book = TestJournal::new(prd(&[("a", VERIFIED)]));
    book.settings.max_iterations = 1;
    let run = book.said("a", Signal::Complete, true);
    book.verified("a", &run, 0, CommandResult::Failed);
    book.bookkeep("a");
    let Step::Ask(ask) = book.step("a") else { panic!("{:?}", book.step("a")) };
    assert_eq!(ask.context, "1 attempt without success; the last one: a verification command exited with 1");
}

#[test]
fn an_end_without_progress_has_a_reason() {
    let mut book = TestJournal::new(prd(&[
        ("a", SENIOR),
        ("b", ",\"dependsOn\":[\"a\"]"),
        ("c", ",\"dependsOn\":[\"b\"]"),
        ("d", ""),
    ]));
    let why = |book: &TestJournal, only: &[&str]| {
        let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
        let set = RunSet::select(&book.prd, &only, &[], None, None).unwrap();
        let progress = progress(&book.prd, &book.life, &book.settings, &set, book.place);
        progress.incomplete_reason(&book.prd, &book.life, &set)
    };
    assert_eq!(
        why(&book, &["b", "c"]).as_deref(),
        Some("b depends on a, which is not done and was not to be served; c depends on b, which is not done")
    );
    assert_eq!(why(&book, &["d"]), None);
    book.settings.max_iterations = 1;
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    book.answer(&decision, "skip", AnsweredBy::Person);
    assert_eq!(
        why(&book, &[]).as_deref(),
        Some("a was left out; b depends on a, which is not done; c depends on b, which is not done")
    );
}

#[test]
fn the_limit_of_a_provider_is_that_of_the_program() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    let until = Timestamp::from_unix_micros(1_900_000_000_000_000);
    let command = Some(book.settings.worker_of(Tier::Line));
    book.write(Record::LimitWait { tier: Tier::Line, until, command });
    assert_eq!(book.chosen(), []);
    book.settings.line_cmd = crate::config::WorkerCommand::parse("other --model x").unwrap();
    assert_eq!(book.chosen().len(), 1);
    assert_eq!(book.life.limit(Tier::Line, &book.settings), None);
    book.settings = Settings::default();
    book.settings.line_agent = "codex".to_owned();
    assert_eq!(book.chosen().len(), 1, "another adapter speaks with another provider");
    book.settings.line_agent = String::new();
    assert_eq!(book.life.limit(Tier::Line, &book.settings), Some(until));
}

#[test]
fn a_skipped_task_can_be_taken_up_again() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR), ("b", ",\"dependsOn\":[\"a\"]")]));
    book.settings.max_iterations = 1;
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    book.answer(&decision, "skip", AnsweredBy::Executive);
    assert_eq!((book.progress().skipped, book.progress().unreachable), (vec![0], vec![1]));
    let again = Decision {
        id: DecisionId::of_random([7; 8]),
        about: DecisionKind::Failure,
        task: Some(id("a")),
        context: "x".to_owned(),
        created_at: book.now(),
    };
    book.write(Record::DecisionAsked { decision: again.clone() });
    book.answer(&again.id, "retry", AnsweredBy::Person);
    assert_eq!((book.progress().ready, book.progress().held), (vec![0], vec![1]));
    assert!(matches!(book.step("a"), Step::Attempt { .. }));
}

#[test]
fn a_claim_without_a_change_needs_a_verification() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR), ("b", VERIFIED)]));
    book.said("a", Signal::AlreadyDone, false);
    assert!(matches!(book.step("a"), Step::Attempt { number: 2, .. }), "{:?}", book.step("a"));
    let class = |book: &TestJournal| book.life.task(&id("a")).feedback.unwrap().class();
    assert_eq!(class(&book), "claim", "the worker gave a signal, and it does not count");
    book.said("b", Signal::AlreadyDone, false);
    assert_eq!(book.step("b"), Step::Verify { from: 0 });
    book.said("a", Signal::AlreadyDone, true);
    assert_eq!(book.step("a"), Step::Scan, "a change goes the whole way");
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    book.settings.verify_claims = false;
    book.said("a", Signal::AlreadyDone, false);
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::AlreadyDone, .. }));
}

#[test]
fn a_task_blocked_at_the_top_is_recorded_once() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR)]));
    book.settings.escalation_to_exec = false;
    book.said("a", Signal::Blocked, false);
    book.bookkeep("a");
    assert_eq!(book.life.outcome(&id("a")), Some(TaskOutcome::Blocked));
    let blocked: Vec<_> = book.life.history.tasks.iter().filter(|event| event.status == "blocked").collect();
    assert!(blocked.len() == 1 && blocked[0].seconds.is_some(), "{blocked:?}");
}

#[test]
fn the_same_failure_without_a_change_is_stuck() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR)]));
    for _ in 0..2 {
        book.attempt("a", &no_signal(), false);
    }
    book.attempt("a", &no_signal(), true);
    for _ in 0..2 {
        book.attempt("a", &no_signal(), false);
        assert!(
            matches!(book.step("a"), Step::Attempt { .. }) || book.settings.escalation_to_exec_after == 5
        );
    }
    book.settings.escalation_to_exec_after = 100;
    assert!(matches!(book.step("a"), Step::Attempt { .. }));
    book.attempt("a", &no_signal(), false);
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::Failed, stuck: true, .. }));
}

#[test]
fn limits_and_interruptions_do_not_count() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    for _ in 0..9 {
        let limit = crate::adapter::Limit { until: None, is_known: true };
        book.attempt("a", &Ending::Limit(limit), false);
        book.attempt("a", &Ending::Interrupted, true);
    }
    let task = book.life.task(&id("a"));
    assert_eq!((task.iterations, task.failures, task.attempts), (0, 0, 18));
    assert_eq!(book.step("a"), Step::Attempt { tier: Tier::Line, number: 19 });
    let until = Timestamp::from_unix_micros(1_900_000_000_000_000);
    book.write(Record::LimitWait { tier: Tier::Line, until, command: None });
    assert_eq!(book.chosen(), []);
}

#[test]
fn commits_have_the_order_of_the_branch() {
    let mut book = TestJournal::new(prd(&[("a", ""), ("b", "")]));
    for (task, commit) in [("b", "2"), ("a", "1")] {
        let run = book.begin(task);
        let said = Ending::Said { signal: Signal::Complete, by: SignalSource::Tag };
        book.end(task, &run, &said, true);
        let (task, commit) = (id(task), Some(commit.to_owned()));
        book.write(Record::Integrated { task, run, commit, conflict: vec![], moved: false, tree: None });
    }
    // The end of the first task may be recorded last, such as after a kill.
    for task in ["a", "b"].map(id) {
        book.write(Record::TaskEnded { task, outcome: TaskOutcome::Complete, reason: None, stuck: false });
    }
    let commits: Vec<String> = book.life.done_work(&book.prd).into_iter().map(|work| work.commit).collect();
    assert_eq!(commits, ["2", "1"]);
}
