//! The contract of every store: the same tests run on the journal, and in `brigade-team` on PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]
#![allow(dead_code, reason = "each store uses its own part of this")]

#[path = "../common/mod.rs"]
pub mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use brigade_call::{ApprovedBy, CallStatus, CheckpointStatus};
use brigade_core::json::pretty_text;
use brigade_core::{Dialect, IdPrefix, Json, Number};
use brigade_queue::{
    Answer, CallFilter, Calls, Chain, Detail, Durability, EnqueueOutcome, ExaminedReceipt, FoundReceipt,
    Match, NewReceipt, OnDuplicate, OnRunTaken, Queue, QueueError, ReceiptQuery, Review, Store, Verification,
};
use common::*;
use proptest::prelude::*;

/// A store under test.
pub trait StoreUnderTest {
    /// A queue on the store, whose runners are all alive or all gone.
    fn queue(&self, runners_live: bool) -> Queue;

    /// The store itself.
    fn store(&self) -> Arc<dyn Store>;

    /// Compacts the store.
    fn compact(&self) {}

    /// Deletes caches.
    fn lose_caches(&self) {}

    /// Loses everything that is not durable.
    fn crash(&self) {}
}

/// Makes a test of each rule for the store that an expression makes, if it makes one. `and` adds the rules of stores
/// without leases and signatures.
macro_rules! suite {
    ($make:expr, and $($also:ident)*) => {
        suite!($make);
        suite!(@ $make, $($also)*);
    };
    ($make:expr) => {
        suite!(@ $make,
            a_call_lives_from_the_queue_to_its_receipt
            waiting_and_rejected_calls_have_no_duplicates
            an_exact_id_wins_over_a_prefix
            a_change_names_the_revision_that_was_seen
            calls_are_listed_in_order_of_creation
            a_call_resumes_after_all_checkpoints_are_answered
            the_last_approved_call_is_found_after_many_runs
            every_call_is_shown_as_text_as_it_is_listed
            receipts_are_examined_in_the_requested_detail
            a_receipt_is_recorded_once_and_never_replaced
        );
    };
    (@ $make:expr, $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                if let Some(store) = $make {
                    $crate::suite::$test(&store);
                }
            }
        )*
    };
}

pub fn every_call_is_shown_as_text_as_it_is_listed(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    complete(&queue, "call-a", "run-a", 1);
    store.compact();
    complete(&queue, "call-b", "run-b", 2);
    enqueue(&queue, "call-c", "c", 3).unwrap();
    enqueue(&queue, "call-d", "d", 4).unwrap();
    approve(&queue, "call-d", 4).unwrap();
    start(&queue, "call-d", "run-d", 4).unwrap();
    let view = store.queue(false).read().unwrap();
    let mut listed = Vec::new();
    view.for_each_call(&Calls::All, &mut |stored| {
        let text = pretty_text(&stored.call.shown(&PlainPaths)).unwrap();
        listed.push(Json::parse_bytes(text.as_bytes(), Dialect::Strict).unwrap());
        ControlFlow::Continue(())
    })
    .unwrap();
    let mut shown = Vec::new();
    let filter = CallFilter::default();
    view.for_each_text(&filter, &PlainPaths, &mut |text| {
        shown.push(Json::parse_bytes(text, Dialect::Strict).unwrap());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(shown, listed);
    assert_eq!(shown[3].get("status"), Some(&Json::from("interrupted")));
}

pub fn receipts_are_examined_in_the_requested_detail(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    for number in 0..3 {
        complete(&queue, &format!("call-{number}"), &format!("run-{number}"), number);
    }
    let view = queue.read().unwrap();
    let look = |detail, chain| {
        let found = Mutex::new(Vec::new());
        let verification = view.examine_runs(detail, chain, &|examined| {
            let ExaminedReceipt { receipt, stored_id } = examined.unwrap();
            found.lock().unwrap().push((stored_id, receipt.tool_id, receipt.exit_code.is_some()));
        });
        let mut found = found.into_inner().unwrap();
        found.sort();
        (found, verification.unwrap())
    };
    let runs = |tool: &str| (0..3).map(|n| (format!("run-{n}"), tool.to_owned(), false)).collect::<Vec<_>>();
    let (found, verification) = look(Detail::Listed, Chain::From(1));
    assert_eq!((found, verification.checked, verification.last), (runs("greet"), 3, 3));
    assert_eq!(look(Detail::Listed, Chain::From(3)).1.checked, 1);
    assert_eq!(look(Detail::Status, Chain::Trust), (runs(""), Verification::default()));
    assert_eq!(view.verify(2).unwrap().checked, 2);
}

pub fn a_receipt_is_recorded_once_and_never_replaced(store: &dyn StoreUnderTest) {
    let store = store.store();
    let mut transaction = store.begin(at(1), Durability::Soon).unwrap();
    let mut record = |status: &str, taken| {
        let receipt = receipt("call-a", "run-a", status, 1, &[]);
        transaction.record(NewReceipt::Unstored(&receipt, taken))
    };
    let first = record("completed", OnRunTaken::Refuse).unwrap();
    assert_eq!((first.link.sequence, first.link.sha256), (1, first.receipt.sha256));
    assert_eq!(record("completed", OnRunTaken::Refuse).unwrap(), first, "a retry");
    assert_eq!(record("failed", OnRunTaken::Refuse).unwrap_err(), QueueError::RunTaken(run_id("run-a")));
    let again = transaction.record(NewReceipt::Stored(Box::new(first.receipt.clone()))).unwrap();
    assert_eq!(again, first);
    let other = receipt("call-a", "run-a", "failed", 1, &[]);
    let other = transaction.record(NewReceipt::Unstored(&other, OnRunTaken::SetAside)).unwrap();
    let found = transaction.snapshot().receipts(&ReceiptQuery::Run("run-a")).unwrap();
    assert_eq!((found.receipts, found.errors), (vec![other.receipt], vec![]));
}

/// Issue 13: only the newest 32 runs were searched.
pub fn the_last_approved_call_is_found_after_many_runs(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    complete(&queue, "call-first", "run-first", 1);
    let last = |except: &str| {
        let found = queue.read().unwrap().last_approved("greet", &call_id(except)).unwrap();
        found.map(|stored| stored.call.id.to_string())
    };
    assert_eq!((last("call-x").as_deref(), last("call-first")), (Some("call-first"), None));
    for number in 0..40 {
        let (id, run) = (format!("call-other-{number}"), format!("run-other-{number}"));
        let mut locked = queue.lock(at(10)).unwrap();
        let call = brigade_call::Call { tool_id: "other".to_owned(), ..call(&id, &id, 10 + number) };
        locked.enqueue_all(1, OnDuplicate::Skip, &mut |_, _| call.clone()).unwrap();
        drop(locked);
        approve(&queue, &id, 10 + number).unwrap();
        start(&queue, &id, &run, 10 + number).unwrap();
        let mut make = |_: &[brigade_call::Checkpoint]| {
            let mut receipt = receipt(&id, &run, "completed", 10 + number, &[]);
            receipt.tool_id = "other".to_owned();
            receipt
        };
        let mut locked = queue.lock(at(60)).unwrap();
        locked.finish(&call_id(&id), &run_id(&run), Vec::new(), &mut make, at(60)).unwrap();
    }
    assert_eq!(last("call-x").as_deref(), Some("call-first"));
    complete(&queue, "call-second", "run-second", 100);
    store.compact();
    assert_eq!(last("call-x").as_deref(), Some("call-second"));
    assert_eq!(last("call-second").as_deref(), Some("call-first"), "the call that asks is not meant");
}

pub fn a_new_call_can_be_stored_with_its_claim(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    complete(&queue, "call-first", "run-first", 1);
    let approved = |id: &str| call(id, id, 2).approve(binding(), ApprovedBy::command_line(), at(2)).unwrap();
    let enter = |call, run: &str| queue.lock(at(3)).unwrap().enqueue_claimed(call, claim(run), at(3));
    let entered = enter(approved("call-a"), "run-a").unwrap();
    assert_eq!((&entered.call.status, entered.revision, entered.sequence), (&CallStatus::Running, 1, 2));
    store.crash();
    let queue = store.queue(true);
    let after = stored(&queue.read().unwrap(), "call-a");
    assert_eq!((&after.call.status, after.call.claim), (&CallStatus::Running, entered.call.claim));
    assert!(after.call.approval.is_some(), "it is durable");
    let enter = |call, run: &str| queue.lock(at(3)).unwrap().enqueue_claimed(call, claim(run), at(3));
    assert!(matches!(enter(approved("call-a"), "run-b"), Err(QueueError::IdTaken(_))));
    assert!(matches!(enter(approved("call-b"), "run-first"), Err(QueueError::RunTaken(_))));
    assert!(matches!(enter(call("call-b", "b", 2), "run-b"), Err(QueueError::WrongStep { .. })));
    finish(&queue, "call-a", "run-a", "completed", 4, Vec::new()).unwrap();
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Completed);
}

pub fn a_call_lives_from_the_queue_to_its_receipt(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    complete(&queue, "call-a", "run-a", 1);
    let view = queue.read().unwrap();
    let call = stored(&view, "call-a");
    assert_eq!((call.call.status.clone(), call.revision, call.sequence), (CallStatus::Completed, 4, 1));
    let link = call.call.receipt.unwrap();
    assert_eq!(link.path, ".brigade/tools/runs/run-a.json");
    let list = view.receipts(1).unwrap();
    assert_eq!(list.receipts[0].sha256, link.ledger.unwrap().sha256);
    assert_eq!(view.run_counts().unwrap(), BTreeMap::from([("completed".to_owned(), 1)]));
    let verification = view.verify(1).unwrap();
    assert_eq!((verification.checked, verification.findings), (1, vec![]));
}

pub fn waiting_and_rejected_calls_have_no_duplicates(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    let kind = |enqueued: &EnqueueOutcome| match enqueued {
        EnqueueOutcome::Queued(_) => "queued",
        EnqueueOutcome::Duplicate(_) => "duplicate",
        EnqueueOutcome::Rejected(_) => "rejected",
    };
    let check = |id: &str, subject: &str, expect: &str| {
        assert_eq!(kind(&enqueue(&queue, id, subject, 1).unwrap()), expect, "{id}");
    };
    check("call-a", "tea", "queued");
    check("call-b", "tea", "duplicate");
    approve(&queue, "call-a", 2).unwrap();
    check("call-b", "tea", "duplicate");
    start(&queue, "call-a", "run-a", 3).unwrap();
    check("call-b", "tea", "queued");
    let mut locked = queue.lock(at(4)).unwrap();
    locked.review(&call_id("call-b"), 1, Review::Reject("no tea".into()), at(4)).unwrap();
    drop(locked);
    store.compact();
    check("call-c", "tea", "rejected");
    check("call-d", "coffee", "queued");
    let mut locked = queue.lock(at(5)).unwrap();
    let twice = locked.enqueue_all(2, OnDuplicate::Skip, &mut |n, _| call(&format!("call-e{n}"), "milk", 5));
    assert_eq!(twice.unwrap().iter().map(kind).collect::<Vec<_>>(), ["queued", "duplicate"]);
    let replay = locked.enqueue_all(1, OnDuplicate::Queue, &mut |_, is_taken| {
        assert!(is_taken(&call_id("call-a")) && !is_taken(&call_id("call-f")));
        call("call-f", "milk", 5)
    });
    assert_eq!(kind(&replay.unwrap()[0]), "queued");
    let taken = locked.enqueue_all(1, OnDuplicate::Queue, &mut |_, _| call("call-a", "new", 5));
    assert_eq!(taken.unwrap_err(), QueueError::IdTaken(call_id("call-a")));
}

pub fn an_exact_id_wins_over_a_prefix(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    complete(&queue, "call-1", "run-1", 1);
    complete(&queue, "call-1-queued-2", "run-1-resume", 2);
    store.compact();
    enqueue(&queue, "call-12", "x", 4).unwrap();
    let view = queue.read().unwrap();
    assert_eq!(stored(&view, "call-1").call.id, call_id("call-1"));
    assert_eq!(stored(&view, "call-1-").call.id, call_id("call-1-queued-2"));
    let Match::Ambiguous(ids) = view.find_call(&IdPrefix::new("call-"), &|_| true).unwrap() else {
        panic!("several")
    };
    assert_eq!(ids, ["call-1", "call-1-queued-2", "call-12"]);
    assert_eq!(view.find_call(&IdPrefix::new(""), &|_| true).unwrap(), Match::None);
    assert_eq!(view.find_call(&IdPrefix::new("call-2"), &|_| true).unwrap(), Match::None);
    let found = view.find_run(&IdPrefix::new("run-1")).unwrap();
    assert!(matches!(found, Match::One(FoundReceipt::Good(found)) if found.receipt.id.as_str() == "run-1"));
    assert!(
        matches!(view.find_run(&IdPrefix::new("run-")).unwrap(), Match::Ambiguous(ids) if ids.len() == 2)
    );
}

pub fn a_change_names_the_revision_that_was_seen(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    let mut locked = queue.lock(at(3)).unwrap();
    let late = locked.review(&call_id("call-a"), 1, Review::Hold("wait".into()), at(3));
    assert_eq!(late.unwrap_err(), QueueError::Changed { id: call_id("call-a") });
    let first = locked.claim(&call_id("call-a"), 2, claim("run-a"), at(3)).unwrap();
    assert_eq!(first.call.status, CallStatus::Running);
    let second = locked.claim(&call_id("call-a"), 2, claim("run-b"), at(3));
    let (id, run) = (call_id("call-a"), run_id("run-a"));
    assert_eq!(second.unwrap_err(), QueueError::HasRun { id, run, status: CallStatus::Running });
    assert!(matches!(
        locked.claim(&call_id("call-a"), 3, claim("run-b"), at(3)),
        Err(QueueError::WrongStep { .. })
    ));
    assert!(matches!(
        locked.review(&call_id("none"), 1, Review::Hold("x".into()), at(3)),
        Err(QueueError::NoSuchCall(_))
    ));
}

/// More calls than a store reads at a time, which is 256 for each.
const CALLS: i64 = 264;

pub fn calls_are_listed_in_order_of_creation(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    for number in 0..CALLS {
        let id = format!("call-{number:03}");
        enqueue(&queue, &id, &id, number).unwrap();
        if number % 2 == 0 {
            approve(&queue, &id, number).unwrap();
        }
        if number % 4 == 0 {
            start(&queue, &id, &format!("run-{number:03}"), number).unwrap();
            finish(&queue, &id, &format!("run-{number:03}"), "completed", number, Vec::new()).unwrap();
        }
    }
    let view = queue.read().unwrap();
    let status = |number: i64| match number % 4 {
        0 => "completed",
        2 => "approved",
        _ => "pending",
    };
    let expect: Vec<String> =
        (0..CALLS).map(|number| format!("call-{number:03} {}", status(number))).collect();
    assert_eq!(listed(&view, &Calls::All), expect);
    let of = |word: &str| expect.iter().filter(|line| line.ends_with(word)).cloned().collect::<Vec<_>>();
    assert_eq!(listed(&view, &Calls::Of(CallStatus::Approved)), of("approved"));
    assert_eq!(listed(&view, &Calls::Of(CallStatus::Completed)), of("completed"));
    let counts = [("approved", 66), ("completed", 66), ("pending", 132)];
    assert_eq!(view.call_counts().unwrap(), counts.map(|(word, count)| (word.to_owned(), count)).into());
    let newest = view.receipts(3).unwrap().receipts;
    assert_eq!(
        newest.iter().map(|run| run.receipt.id.as_str()).collect::<Vec<_>>(),
        ["run-260", "run-256", "run-252"]
    );
    assert_eq!(view.receipts(usize::MAX).unwrap().receipts.len(), 66);
}

pub fn a_run_without_a_runner_is_interrupted(store: &dyn StoreUnderTest) {
    let living = store.queue(true);
    enqueue(&living, "call-a", "x", 1).unwrap();
    approve(&living, "call-a", 2).unwrap();
    start(&living, "call-a", "run-a", 3).unwrap();
    assert_eq!(stored(&living.read().unwrap(), "call-a").call.status, CallStatus::Running);
    let gone = store.queue(false);
    let view = gone.read().unwrap();
    assert_eq!(listed(&view, &Calls::All), ["call-a interrupted"]);
    assert_eq!(listed(&view, &Calls::Of(CallStatus::Interrupted)), ["call-a interrupted"]);
    assert!(listed(&view, &Calls::Of(CallStatus::Running)).is_empty());
    assert_eq!(view.call_counts().unwrap(), BTreeMap::from([("interrupted".to_owned(), 1)]));
    assert_eq!(
        stored(&living.read().unwrap(), "call-a").call.status,
        CallStatus::Running,
        "readers do not write"
    );
    drop(gone.lock(at(9)).unwrap());
    let view = living.read().unwrap();
    assert_eq!(listed(&view, &Calls::All), ["call-a interrupted"]);
    let run = &view.receipts(5).unwrap().receipts[0];
    assert_eq!((run.receipt.id.as_str(), run.receipt.status.as_str()), ("run-a", "interrupted"));
    // Readers of receipts rely on a number and a string here, however the run ended.
    assert_eq!(run.receipt.duration_seconds.as_ref().map(Number::as_str), Some("6.0"));
    assert_eq!(run.receipt.cwd.as_deref(), Some("."));
    assert!(view.verify(1).unwrap().findings.is_empty());
    let late = finish(&living, "call-a", "run-a", "completed", 10, Vec::new());
    assert!(matches!(late, Err(QueueError::NotThisRun { .. })));
}

pub fn a_call_resumes_after_all_checkpoints_are_answered(store: &dyn StoreUnderTest) {
    let queue = store.queue(true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    let asked = vec![checkpoint("deploy", "call-a", "run-a"), checkpoint("deploy", "call-a", "run-a")];
    let finished = finish(&queue, "call-a", "run-a", "waiting", 4, asked).unwrap();
    assert_eq!(finished.call.call.status, CallStatus::Waiting);
    let ids: Vec<&str> = finished.call.call.checkpoint_ids.iter().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["deploy", "deploy-2"]);
    let answer =
        |id: &str, answer: Answer| queue.lock(at(5)).unwrap().answer(&id.parse().unwrap(), &answer, at(5));
    assert!(matches!(answer("deploy", Answer::Approve("maybe".into())), Err(QueueError::Checkpoint { .. })));
    assert!(matches!(answer("none", Answer::Approve("yes".into())), Err(QueueError::NoSuchCheckpoint(_))));
    assert_eq!(answer("deploy", Answer::Approve("yes".into())).unwrap().1.call.status, CallStatus::Waiting);
    assert!(matches!(answer("deploy", Answer::Reject("no".into())), Err(QueueError::Checkpoint { .. })));
    assert_eq!(
        answer("deploy-2", Answer::Approve("no".into())).unwrap().1.call.status,
        CallStatus::ResumePending
    );
    start(&queue, "call-a", "run-b", 6).unwrap();
    let finished = finish(&queue, "call-a", "run-b", "completed", 7, vec![]).unwrap();
    assert_eq!(finished.call.call.status, CallStatus::Completed);
    let list = queue.read().unwrap().checkpoints().unwrap();
    let states: Vec<_> = list
        .checkpoints
        .iter()
        .map(|stored| (stored.checkpoint.status.clone(), stored.checkpoint.resume_run_id.clone()))
        .collect();
    assert_eq!(states, vec![(CheckpointStatus::Resumed, Some(run_id("run-b"))); 2]);
}

#[derive(Clone, Copy, Debug)]
pub enum Change {
    Enqueue { subject: u8 },
    EnqueueMany { count: u8 },
    Approve(u8),
    Hold(u8),
    Reject(u8),
    Run(u8),
    Compact,
    LoseCaches,
    Crash,
}

pub fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0u8..6).prop_map(|subject| Change::Enqueue { subject }),
        1 => (0u8..120).prop_map(|count| Change::EnqueueMany { count }),
        4 => any::<u8>().prop_map(Change::Approve),
        1 => any::<u8>().prop_map(Change::Hold),
        2 => any::<u8>().prop_map(Change::Reject),
        4 => any::<u8>().prop_map(Change::Run),
        2 => Just(Change::Compact),
        1 => Just(Change::LoseCaches),
        1 => Just(Change::Crash),
    ]
}

#[derive(Default)]
pub struct Model {
    /// The id, subject and status of each call.
    calls: Vec<(String, String, &'static str)>,
    runs: usize,
}

impl Model {
    /// Picks a call with one of the given statuses.
    fn pick(&self, number: u8, statuses: &[&str]) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.calls.len()).filter(|place| statuses.contains(&self.calls[*place].2)).collect();
        (!fitting.is_empty()).then(|| fitting[usize::from(number) % fitting.len()])
    }
}

pub fn apply(change: Change, store: &dyn StoreUnderTest, model: &mut Model) {
    let queue = store.queue(true);
    let mut locked = queue.lock(at(1)).unwrap();
    match change {
        Change::Enqueue { subject } => {
            let (id, subject) = (format!("call-{}", model.calls.len()), format!("subject {subject}"));
            let blocking = |call: &&(String, String, &str)| {
                call.1 == subject && ["pending", "approved", "rejected"].contains(&call.2)
            };
            let expect = model.calls.iter().find(blocking).cloned();
            match (enqueue_locked(&mut locked, &id, &subject, 1).unwrap(), expect) {
                (EnqueueOutcome::Queued(_), None) => model.calls.push((id, subject, "pending")),
                (EnqueueOutcome::Duplicate(found), Some((id, _, "pending" | "approved"))) => {
                    assert_eq!(found.call.id.as_str(), id);
                }
                (EnqueueOutcome::Rejected(found), Some((id, _, "rejected"))) => {
                    assert_eq!(found.call.id.as_str(), id)
                }
                (outcome, expect) => panic!("{outcome:?}, expected {expect:?}"),
            }
        }
        Change::EnqueueMany { count } => {
            let first = model.calls.len();
            let id = |number: usize| format!("call-{}", first + number);
            let mut make =
                |number, _: &dyn Fn(&brigade_core::CallId) -> bool| call(&id(number), &id(number), 1);
            locked.enqueue_all(usize::from(count), OnDuplicate::Skip, &mut make).unwrap();
            model.calls.extend((0..usize::from(count)).map(|number| (id(number), id(number), "pending")));
        }
        Change::Approve(number) | Change::Hold(number) | Change::Reject(number) => {
            let (from, to): (&[&str], &str) = match change {
                Change::Approve(_) => (&["pending", "held"], "approved"),
                Change::Hold(_) => (&["pending", "held", "approved"], "held"),
                _ => (&["pending", "held", "approved"], "rejected"),
            };
            let Some(place) = model.pick(number, from) else { return };
            let id = call_id(&model.calls[place].0);
            let revision = locked.view().call(&id).unwrap().unwrap().revision;
            let review = match change {
                Change::Approve(_) => {
                    Review::Approve(Box::new(binding()), ApprovedBy::command_line(), Vec::new())
                }
                Change::Hold(_) => Review::Hold("later".into()),
                _ => Review::Reject("no".into()),
            };
            locked.review(&id, revision, review, at(1)).unwrap();
            model.calls[place].2 = to;
        }
        Change::Run(number) => {
            drop(locked);
            let Some(place) = model.pick(number, &["approved"]) else { return };
            let (id, run) = (model.calls[place].0.clone(), format!("run-{}", model.runs));
            start(&queue, &id, &run, 1).unwrap();
            finish(&queue, &id, &run, "completed", 1, Vec::new()).unwrap();
            model.calls[place].2 = "completed";
            model.runs += 1;
        }
        Change::Compact => {
            drop(locked);
            store.compact();
        }
        Change::LoseCaches => store.lose_caches(),
        Change::Crash => {
            drop(locked);
            store.crash();
        }
    }
}

/// Checks that any history of changes, compactions and lost caches has the same result as a list in memory.
pub fn remembers(store: &dyn StoreUnderTest, changes: &[Change]) {
    let mut model = Model::default();
    for change in changes {
        apply(*change, store, &mut model);
    }
    let queue = store.queue(true);
    let view = queue.read().unwrap();
    let expect: Vec<String> = model.calls.iter().map(|(id, _, status)| format!("{id} {status}")).collect();
    assert_eq!(listed(&view, &Calls::All), expect.clone());
    let mut newest_first = Vec::new();
    view.for_each_newest(&Calls::All, &mut |stored| {
        newest_first.push(format!("{} {}", stored.call.id, stored.call.status));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(newest_first.iter().rev().eq(&expect));
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (id, _, status) in &model.calls {
        *counts.entry((*status).to_owned()).or_default() += 1;
        let Match::One(found) = view.find_call(&IdPrefix::new(id), &|_| true).unwrap() else {
            panic!("{id}")
        };
        assert_eq!(found.call.status.as_str(), *status);
    }
    assert_eq!(view.call_counts().unwrap(), counts);
    assert_eq!(view.receipts(usize::MAX).unwrap().receipts.len(), model.runs);
    assert!(view.verify(1).unwrap().findings.is_empty());
}
