use super::*;
use crate::cases::{after, json};

/// A checkpoint that waits for an answer.
fn pending() -> Checkpoint {
    let text = r#"{"id":"check-1","status":"pending","tool_id":"greet","call_id":"call-1","run_id":"run-1",
        "prompt":"Continue?","choices":[],"created_at":"2027-01-15T08:00:00+00:00"}"#;
    Checkpoint::from_document(json(text)).unwrap()
}

fn standing(status: CheckpointStatus) -> Checkpoint {
    Checkpoint { status, ..pending() }
}

fn statuses() -> Vec<CheckpointStatus> {
    let words = ["pending", "approved", "rejected", "resumed", "failed", "odd"];
    words.into_iter().map(CheckpointStatus::from_word).collect()
}

/// Checks which statuses allow a step.
#[track_caller]
fn check_step<T>(step: impl Fn(Checkpoint) -> Result<T, CheckpointRefusal>, expect: CheckpointStatus) {
    for status in statuses() {
        let done = step(standing(status.clone())).map(|_| ());
        if status == expect {
            assert_eq!(done, Ok(()));
        } else {
            let expected = if expect == CheckpointStatus::Pending { "pending" } else { "approved" };
            assert_eq!(done, Err(CheckpointRefusal::WrongStatus { status, expected }));
        }
    }
}

/// Checks what is recorded of an answer to a checkpoint with these choices.
#[track_caller]
fn check_choice(choices: &[&str], answer: &str, expect: Option<&str>) {
    let choices: Vec<String> = choices.iter().map(|choice| (*choice).to_owned()).collect();
    let answered = Checkpoint { choices: choices.clone(), ..pending() }.approve(answer, after(1));
    match expect {
        Some(expect) => assert_eq!(answered.unwrap().selected_choice.as_deref(), Some(expect)),
        None => assert_eq!(answered, Err(CheckpointRefusal::NotAChoice(choices))),
    }
}

#[test]
fn an_answer_is_given_once() {
    check_step(|checkpoint| checkpoint.approve("yes", after(1)), CheckpointStatus::Pending);
    check_step(|checkpoint| checkpoint.reject("no", after(1)), CheckpointStatus::Pending);
    let approved = Checkpoint { review_reason: Some("old".to_owned()), ..pending() }.approve("yes", after(1));
    let expect = Checkpoint {
        status: CheckpointStatus::Approved,
        selected_choice: Some("yes".to_owned()),
        reviewed_at: Some(after(1)),
        ..pending()
    };
    assert_eq!(approved, Ok(expect));
    let expect = Checkpoint {
        status: CheckpointStatus::Rejected,
        review_reason: Some("no".to_owned()),
        reviewed_at: Some(after(1)),
        ..pending()
    };
    assert_eq!(pending().reject("no", after(1)), Ok(expect));
}

#[test]
fn only_an_approved_checkpoint_is_resumed() {
    check_step(|checkpoint| checkpoint.check_resumable(after(1)), CheckpointStatus::Approved);
}

#[test]
fn an_answer_is_one_of_the_choices_as_they_are_shown() {
    check_choice(&[], "whatever", Some("whatever"));
    check_choice(&["publish", "stop"], "stop", Some("stop"));
    check_choice(&["publish", "stop"], "Stop", None);
    check_choice(&["publish", "stop"], "", None);
    check_choice(&["a\u{1b}[31mb"], r"a\u{1b}[31mb", Some("a\u{1b}[31mb"));
    // An exact match takes precedence over one that only looks the same.
    check_choice(&["a\u{1b}", r"a\u{1b}"], r"a\u{1b}", Some(r"a\u{1b}"));
}

#[test]
fn expired_checkpoints_are_not_approved_or_resumed() {
    let until = |status, seconds| Checkpoint { expires_at: Some(after(seconds)), ..standing(status) };
    let expired = CheckpointRefusal::Expired(after(1));
    assert_eq!(until(CheckpointStatus::Pending, 1).approve("yes", after(2)), Err(expired.clone()));
    assert_eq!(until(CheckpointStatus::Approved, 1).check_resumable(after(2)), Err(expired));
    // An answer at its last moment is in time, and a rejection always is.
    assert!(until(CheckpointStatus::Pending, 1).approve("yes", after(1)).is_ok());
    assert_eq!(until(CheckpointStatus::Approved, 1).check_resumable(after(1)), Ok(()));
    assert!(until(CheckpointStatus::Pending, 1).reject("late", after(2)).is_ok());
    assert!(until(CheckpointStatus::Pending, 1).is_expired(after(2)) && !pending().is_expired(after(2)));
}

#[test]
fn a_rejected_call_voids_open_checkpoints() {
    for status in statuses() {
        let voided = standing(status.clone()).void("the call was rejected", after(1));
        let is_open = matches!(status, CheckpointStatus::Pending | CheckpointStatus::Approved);
        let expect = if is_open { CheckpointStatus::Rejected } else { status };
        assert_eq!((&voided.status, voided.reviewed_at.is_some()), (&expect, is_open));
    }
}

#[test]
fn a_receipt_has_the_choice_and_its_time() {
    let approved = pending().approve("yes", after(0)).unwrap();
    let expect = r#"{"checkpoint_id":"check-1","selected_choice":"yes","reviewed_at":"2027-01-15T08:00:00+00:00","review_reason":null}"#;
    assert_eq!(Json::Object(approved.to_choice().to_members()), json(expect));
}

#[test]
fn a_document_reads_back_with_all_that_it_holds() {
    let text = r#"{"id":"check-1","status":"odd","tool_id":"greet","call_id":"call-1","run_id":"run-1",
        "reason":"r","requested_action":"a","prompt":"p","context":{"n":1.50},"choices":["x","y"],
        "selected_choice":"x","created_at":"2027-01-15T08:00:00+00:00","expires_at":"2027-01-15T09:00:00+00:00",
        "reviewed_at":"2027-01-15T08:30:00+00:00","review_reason":"w","resume_run_id":"run-2","someone_elses":[null]}"#;
    let checkpoint = Checkpoint::from_document(json(text)).unwrap();
    assert_eq!(checkpoint.status, CheckpointStatus::Other("odd".to_owned()));
    assert_eq!(checkpoint.choices, ["x", "y"]);
    assert_eq!(Json::Object(checkpoint.to_document()), json(text));
}

#[test]
fn a_document_of_any_version_reads_back_as_it_was() {
    for text in [
        include_str!("../../../../fixtures/state/0.30.0/checkpoints/checkpoint-1.json"),
        include_str!("../../../../fixtures/state/0.30.0/checkpoints/checkpoint-2.json"),
        include_str!("../../../../fixtures/state/0.30.0/checkpoints/checkpoint-3.json"),
        include_str!("../../../../fixtures/state/v1/checkpoints/ask.json"),
        include_str!("../../../../fixtures/state/v1-batches/checkpoints/ask.json"),
    ] {
        let checkpoint = Checkpoint::from_document(json(text)).unwrap();
        assert_eq!(Json::Object(checkpoint.to_document()), json(text));
    }
}

#[test]
fn documents_that_are_not_checkpoints_are_refused() {
    for text in [
        "[]",
        "{}",
        r#"{"id":"../x","status":"pending","call_id":"c"}"#,
        r#"{"id":"check-1","status":1,"call_id":"c"}"#,
        r#"{"id":"check-1","status":"pending"}"#,
    ] {
        assert!(Checkpoint::from_document(json(text)).is_err(), "{text}");
    }
    // Members of another type are kept unchanged.
    let odd =
        r#"{"id":"c","status":"pending","call_id":"c","prompt":7,"choices":"all","created_at":"yesterday"}"#;
    let checkpoint = Checkpoint::from_document(json(odd)).unwrap();
    assert_eq!((checkpoint.prompt, checkpoint.choices, checkpoint.created_at), (None, Vec::new(), None));
}
