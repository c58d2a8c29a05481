//! How an approval affects tasks that were already started.

use super::*;

fn approve(book: &mut TestJournal, passed: &[&str]) {
    let passed: Vec<TaskId> = passed.iter().map(|task| id(task)).collect();
    let settled = book.life.settled(&passed);
    let fingerprint = Fingerprint::of_bytes(b"x");
    book.write(Record::Approved { fingerprint, items: Default::default(), passed, by: None, path: None });
    settled.into_iter().for_each(|record| book.write(record));
}

#[test]
fn failed_task_marked_done_settles_its_decision() {
    let mut book =
        TestJournal::new(prd(&[("a", SENIOR), ("b", ",\"dependsOn\":[\"a\"],\"complexity\":\"senior\"")]));
    book.settings.max_iterations = 1;
    book.serve();
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    book.ask("a");
    approve(&mut book, &[]);
    assert_eq!(book.life.outcome(&id("a")), Some(TaskOutcome::Failed));
    assert_eq!(book.life.waiting().count(), 1);
    approve(&mut book, &["a"]);
    let again = Life::from_entries(book.lines.iter().cloned().map(|line| Entry::Known(Box::new(line))));
    for life in [&book.life, &again] {
        assert_eq!(life.outcome(&id("a")), Some(TaskOutcome::AlreadyDone));
        assert_eq!((life.waiting().count(), life.decision_of(&id("a"))), (0, None));
        assert_eq!(life.task(&id("a")).last_error, None);
    }
    assert!(is_ready(&book.prd, &book.life, 1));
}

#[test]
fn a_skipped_task_that_a_person_calls_done_is_done() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR)]));
    book.settings.max_iterations = 1;
    book.serve();
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    book.answer(&decision, "skip", AnsweredBy::Person);
    assert_eq!(book.life.outcome(&id("a")), Some(TaskOutcome::Skipped));
    approve(&mut book, &["a"]);
    assert_eq!(book.life.outcome(&id("a")), Some(TaskOutcome::AlreadyDone));
}

#[test]
fn an_attempt_that_runs_goes_its_way_and_is_paid() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR)]));
    book.serve();
    let run = book.begin("a");
    approve(&mut book, &["a"]);
    book.end("a", &run, &no_signal(), true);
    assert_eq!(book.life.outcome(&id("a")), None);
    assert!(0.0 < book.life.task(&id("a")).spent.minutes());
    // The next approval passes open tasks.
    approve(&mut book, &["a"]);
    assert_eq!(book.step("a"), Step::Ended(TaskOutcome::AlreadyDone));
    assert!(book.life.task(&id("a")).passed);
}

#[test]
fn a_task_being_integrated_is_not_passed() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR)]));
    book.serve();
    let run = book.said("a", Signal::Complete, true);
    book.write(Record::Todo { task: id("a"), run: run.clone(), found: Vec::new() });
    book.write(Record::Committed {
        task: id("a"),
        run: run.clone(),
        commit: Some("c".to_owned()),
        refused: None,
    });
    approve(&mut book, &["a"]);
    let commit = Some("c".to_owned());
    let (task, conflict) = (id("a"), Vec::new());
    book.write(Record::Integrated { task, run, commit, conflict, moved: false, tree: None });
    book.bookkeep("a");
    assert_eq!(book.life.outcome(&id("a")), Some(TaskOutcome::Complete));
}
