//! The journal or the approval is removed while a service runs.

use super::*;
use crate::journal::JournalError;

/// Does something once, when the first attempt begins.
struct OnFirstAttempt<F: Fn() + Send + Sync>(F, std::sync::Once);

impl<F: Fn() + Send + Sync> Follower for OnFirstAttempt<F> {
    fn recorded(&self, _: &PrdName, line: &Line, _: &Life) {
        if matches!(line.record, Record::AttemptStarted { .. }) {
            self.1.call_once(&self.0);
        }
    }
}

#[test]
fn a_service_whose_journal_is_taken_away_ends_at_once() {
    for text in [None, Some("{\"attack\":\"journal\"}\n")] {
        let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), "", WRITES);
        world.approve();
        let path = world.folder.join("work/.brigade/kitchen/prd-a/journal.jsonl");
        let act = || match text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        };
        let lost = world
            .try_serve(&ServiceOptions::default(), &OnFirstAttempt(act, std::sync::Once::new()))
            .unwrap_err();
        assert!(matches!(lost, ServeError::Journal(JournalError::Lost { .. })), "{lost}");
        assert_eq!((world.starts("work", "a") <= 1, world.starts("work", "b")), (true, 0));
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), text, "what is there is left alone");
        // Without the journal, there is no approval.
        let again = world.try_serve(&ServiceOptions::default(), &NoFollower).unwrap_err();
        assert!(matches!(again, ServeError::NotApproved { .. }), "{again}");
    }
}

#[test]
fn an_approval_that_is_taken_back_starts_nothing_more() {
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), "", WRITES);
    world.approve();
    let revoke = || {
        world.journal().append(Record::Revoked { by: None }).unwrap();
    };
    let report =
        world.try_serve(&ServiceOptions::default(), &OnFirstAttempt(revoke, std::sync::Once::new())).unwrap();
    assert_eq!((report.outcome, world.starts("work", "b")), (Outcome::Paused, 0));
    assert_eq!(report.reason.as_deref(), Some("the approval was revoked"));
}
