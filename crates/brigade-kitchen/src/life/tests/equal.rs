//! Equal failures, whatever attempts change.

use super::*;

#[test]
fn equal_failures_in_the_highest_tier_ask_a_person() {
    let mut book =
        TestJournal::new(prd(&[("a", ",\"complexity\":\"senior\",\"verification\":[\"npm test\"]")]));
    book.settings.escalation_enabled = false;
    for (seconds, expect) in [("0.1s", false), ("1.25 seconds", false), ("2 s", true)] {
        // Each attempt changes something, and the output differs in its duration.
        let run = book.said("a", Signal::Complete, true);
        book.write(Record::Verification {
            receipt: None,
            task: id("a"),
            run,
            index: 0,
            command: "npm test".to_owned(),
            result: CommandResult::Failed,
            exit_code: Some(1),
            output: format!("1 failed in {seconds}"),
        });
        assert_eq!(matches!(book.step("a"), Step::End { stuck: true, .. }), expect, "{:?}", book.step("a"));
    }
    book.bookkeep("a");
    let decision = book.ask("a");
    book.answer(&decision, "retry", AnsweredBy::Person);
    assert!(matches!(book.step("a"), Step::Attempt { .. }));
}
