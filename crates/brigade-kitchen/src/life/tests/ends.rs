//! Why a service ends, and what the next one asks.

use super::*;

#[test]
fn abort_ends_the_service() {
    let mut book = Book::new(prd(&[("a", SENIOR), ("b", SENIOR)]));
    book.settings.max_iterations = 1;
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    assert!(!book.progress().is_at_end());
    book.answer(&decision, "abort", AnsweredBy::Supervisor);
    assert_eq!((book.progress().is_at_end(), book.progress().outcome()), (true, Outcome::Aborted));
    assert_eq!(book.step("a"), Step::Ended(TaskOutcome::Failed));
    // The next service asks again, and the abort of the one before does not end it.
    book.serve();
    assert_eq!(book.progress().outcome(), Outcome::Paused);
    let again = book.ask("a");
    assert_ne!(again, decision);
    book.answer(&again, "abort", AnsweredBy::Person);
    assert_eq!(book.progress().outcome(), Outcome::Aborted);
}

#[test]
fn an_abort_of_a_question_of_an_earlier_service_ends_this_one() {
    let mut book = Book::new(prd(&[("a", SENIOR), ("b", SENIOR)]));
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
    let mut book = Book::new(prd(&[("a", VERIFIED)]));
    book.settings.max_iterations = 1;
    let run = book.said("a", Signal::Complete, true);
    book.verified("a", &run, 0, CommandResult::Failed);
    book.bookkeep("a");
    let Step::Ask(ask) = book.step("a") else { panic!("{:?}", book.step("a")) };
    assert_eq!(ask.context, "1 attempt without success; the last one: a verification command exited with 1");
}

#[test]
fn what_is_missing_is_said_when_nothing_can_go_on() {
    let mut book = Book::new(prd(&[
        ("a", SENIOR),
        ("b", ",\"dependsOn\":[\"a\"]"),
        ("c", ",\"dependsOn\":[\"b\"]"),
        ("d", ""),
    ]));
    let why = |book: &Book, only: &[&str]| {
        let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
        let set = RunSet::of(&book.prd, &only, &[], None, None).unwrap();
        let progress = progress(&book.prd, &book.life, &book.settings, &set, book.place);
        progress.why_incomplete(&book.prd, &book.life, &set)
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
