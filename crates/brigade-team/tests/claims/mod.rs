//! Claims, leases and reports.

use std::sync::Arc;

use brigade_call::{CallStatus, Claim, Runner};
use brigade_core::{ErrorCode, OperationError as _};
use brigade_queue::{Durability, Host, NewReceipt, OnRunTaken, Queue, QueueError, Store as _};
use brigade_team::{Role, Schema};

use crate::suite::common::{approve, at, call_id, claim, enqueue, finish, receipt, run_id, start, stored};
use crate::world::{World, connection, queue_on};

const ALL: &[Role] = &[Role::Queuer, Role::Reviewer, Role::Runner];

#[test]
fn an_expired_claim_is_interrupted_and_reports_are_late() {
    let members = [("rev-1", ALL), ("box-1", &[Role::Runner][..]), ("box-2", &[Role::Runner][..])];
    let Some(world) = World::new("expired", &members) else { return };
    let (queue, runner) = (world.queue("rev-1"), world.queue("box-1"));
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&runner, "call-a", "run-a", 3).unwrap();
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Running, "on another host");
    let stolen = finish(&world.queue("box-2"), "call-a", "run-a", "completed", 4, Vec::new()).unwrap_err();
    assert!(matches!(stolen, QueueError::NotThisRun { .. }), "{stolen:?}");
    world.as_owner("UPDATE @schema@.calls SET lease_until = clock_timestamp()");
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Interrupted);
    drop(queue.lock(at(9)).unwrap());
    let after = stored(&runner.read().unwrap(), "call-a").call;
    assert_eq!((after.status, after.receipt.is_some()), (CallStatus::Interrupted, true));
    let late = finish(&runner, "call-a", "run-a", "completed", 9, Vec::new()).unwrap_err();
    assert!(matches!(late, QueueError::NotThisRun { .. }), "{late:?}");
    let again = start(&runner, "call-a", "run-b", 10).unwrap_err();
    assert_eq!(again.code(), Some(ErrorCode::WrongState), "it is never claimed again: {again}");
    // The report is kept in the chain of its host, once, and ends nothing.
    let store = world.store("box-1", "shop");
    let report = receipt("call-a", "run-a", "completed", 3, &[]);
    let mut transaction = store.begin(at(11), Durability::AtOnce).unwrap();
    let mut record = || transaction.record(NewReceipt::Unstored(&report, OnRunTaken::Refuse)).unwrap();
    assert_eq!(record().link, record().link);
    drop(transaction);
    let view = queue.read().unwrap();
    assert_eq!(view.receipts(9).unwrap().receipts[0].receipt.status.as_str(), "interrupted");
    let verified = view.verify(1).unwrap();
    assert_eq!((verified.checked, verified.findings), (2, vec![]), "the chains of two hosts");
    let problems = || {
        let findings = store.verify().unwrap().findings.into_iter();
        findings.map(|finding| finding.problem).collect::<Vec<_>>()
    };
    assert_eq!(problems(), ["late"], "and its approval is valid");
    world.as_owner("DELETE FROM @schema@.approvals");
    assert_eq!(problems(), ["late", "unsigned"]);
    assert_eq!(world.as_owner("UPDATE @schema@.receipts SET body = '{}' WHERE is_late"), 1);
    assert_eq!(view.verify(1).unwrap().findings.len(), 1);
    world.as_owner("DELETE FROM @schema@.receipts WHERE NOT is_late");
    assert_eq!(view.verify(1).unwrap().findings.len(), 3, "and its call has no receipt");
}

#[test]
fn a_receipt_that_was_recorded_in_time_ends_its_call() {
    let Some(world) = World::new("in_time", &[("rev-1", ALL), ("box-1", &[Role::Runner][..])]) else {
        return;
    };
    let queue = world.queue("rev-1");
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&world.queue("box-1"), "call-a", "run-a", 3).unwrap();
    let report = receipt("call-a", "run-a", "completed", 3, &[]);
    let store = world.store("box-1", "shop");
    let mut transaction = store.begin(at(4), Durability::AtOnce).unwrap();
    let mut ended = [stored(&queue.read().unwrap(), "call-a")];
    ended[0].call.status = CallStatus::Completed;
    ended[0].revision += 1;
    transaction.record(NewReceipt::Unstored(&report, OnRunTaken::Refuse)).unwrap();
    world.as_owner("UPDATE @schema@.calls SET lease_until = clock_timestamp()");
    drop(queue.lock(at(9)).unwrap());
    let again = transaction.put(&mut ended).unwrap_err();
    assert!(matches!(again, QueueError::Changed { .. }), "another writer has ended it: {again:?}");
    drop(transaction);
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Completed);
    let mut transaction = store.begin(at(10), Durability::AtOnce).unwrap();
    transaction.report_late(&report).unwrap();
    assert!(
        world.store("rev-1", "shop").verify().unwrap().findings.is_empty(),
        "the same report is one receipt"
    );
}

#[test]
fn a_claim_is_renewed_until_it_is_lost() {
    let Some(world) = World::new("renewed", &[("all", ALL)]) else { return };
    let (store, lost) = world.short_store("all");
    let queue = queue_on(store);
    for (id, run) in [("call-a", "run-a"), ("call-b", "run-b")] {
        enqueue(&queue, id, id, 1).unwrap();
        approve(&queue, id, 2).unwrap();
        start(&queue, id, run, 3).unwrap();
    }
    // The server waits until the claims are older than their lease.
    let waited =
        "DO $$ BEGIN WHILE EXISTS (SELECT FROM @schema@.calls WHERE lease_until < now() + interval '3s')
                  LOOP PERFORM pg_sleep(0.1); END LOOP; END $$";
    world.as_owner(waited);
    finish(&queue, "call-a", "run-a", "completed", 6, Vec::new()).unwrap();
    assert!(lost.try_recv().is_err());
    world.as_owner("UPDATE @schema@.calls SET lease_until = 'epoch' WHERE id = 'call-b'");
    lost.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
    assert_eq!(stored(&queue.read().unwrap(), "call-b").call.status, CallStatus::Interrupted);
}

#[test]
fn one_of_many_runners_claims_a_call() {
    let Some(world) = World::new("one_claim", &[("all", ALL), ("other", ALL)]) else { return };
    let queue = world.queue("all");
    for number in 0..20 {
        let id = format!("call-{number}");
        enqueue(&queue, &id, &id, number).unwrap();
        approve(&queue, &id, number).unwrap();
    }
    let claimed = std::thread::scope(|scope| {
        let runners = ["all", "all", "other", "other"].map(|member| {
            let queue = world.queue(member);
            scope.spawn(move || {
                let claim_one = |number: &i64| {
                    let id = call_id(&format!("call-{number}"));
                    let claim = claim(&format!("run-{number}"));
                    queue.lock(at(30)).unwrap().claim(&id, 2, claim, at(30)).is_ok()
                };
                (0..20).filter(claim_one).count()
            })
        });
        runners.map(|runner| runner.join().unwrap()).iter().sum::<usize>()
    });
    assert_eq!(claimed, 20);
}

#[test]
fn several_writers_record_expired_claims() {
    let Some(world) = World::new("all_expired", &[("all", ALL), ("other", ALL)]) else { return };
    let queue = world.queue("all");
    for number in 0..20 {
        let id = format!("call-{number}");
        enqueue(&queue, &id, &id, number).unwrap();
        approve(&queue, &id, number).unwrap();
        start(&queue, &id, &format!("run-{number}"), number).unwrap();
    }
    world.as_owner("UPDATE @schema@.calls SET lease_until = clock_timestamp()");
    std::thread::scope(|scope| {
        let writers = ["all", "all", "other", "other"].map(|member| {
            let queue = world.queue(member);
            scope.spawn(move || drop(queue.lock(at(30)).unwrap()))
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let view = queue.read().unwrap();
    assert_eq!(view.call_counts().unwrap().get("interrupted"), Some(&20));
    assert_eq!(view.receipts(99).unwrap().receipts.len(), 20);
}

/// Does something after a writer has looked for the receipt of a run.
struct SlowHost<F>(F);

impl<F: Fn() + Send + Sync> Host for SlowHost<F> {
    fn is_alive(&self, _: &Runner) -> bool {
        false
    }

    fn end_strays(&self, _: &Claim) {}

    fn has_log(&self, _: &str) -> bool {
        (self.0)();
        false
    }
}

#[test]
fn a_receipt_that_came_meanwhile_ends_its_call() {
    let Some(world) = World::new("meanwhile", &[("all", ALL), ("other", ALL)]) else { return };
    let queue = world.queue("all");
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    world.as_owner("UPDATE @schema@.calls SET lease_until = clock_timestamp()");
    let (other, report) = (world.store("other", "shop"), receipt("call-a", "run-a", "interrupted", 4, &[]));
    let report_it = move || {
        let mut transaction = other.begin(at(4), Durability::AtOnce).unwrap();
        transaction.record(NewReceipt::Unstored(&report, OnRunTaken::Refuse)).unwrap();
    };
    let slow = Queue::new(Arc::new(world.store("all", "shop")), Arc::new(SlowHost(report_it)));
    drop(slow.lock(at(9)).unwrap());
    let view = queue.read().unwrap();
    assert_eq!(stored(&view, "call-a").call.status, CallStatus::Interrupted);
    assert_eq!(view.receipts(9).unwrap().receipts.len(), 1);
}

#[test]
fn the_tables_are_made_once_and_have_a_version() {
    let Some(world) = World::new("versions", &[("all", ALL)]) else { return };
    let again = world.owner.init().unwrap();
    assert_eq!((world.made.created, again.created, again.applied), (true, false, 0));
    assert_eq!((again.team_id, again.version), (world.made.team_id.clone(), 3));
    let code = |store: &brigade_team::TeamStore| {
        store.read().unwrap().counts(brigade_queue::Records::Calls).err().unwrap().code()
    };
    world.as_owner("INSERT INTO @schema@.migrations (number, name, sha256) VALUES (99, 'later', '')");
    assert_eq!(code(&world.store("all", "shop")), Some(ErrorCode::TeamSchemaNewer));
    world.as_owner("DELETE FROM @schema@.migrations WHERE 1 < number");
    let older = world.owner.init().unwrap_err();
    assert_eq!(older.code(), Some(ErrorCode::TeamSchemaOlder), "{older}");
    assert_eq!(code(&world.store("all", "shop")), Some(ErrorCode::TeamSchemaOlder));
    let missing = connection("postgresql:///postgres?host=/nonexistent&user=a", &Schema::default()).unwrap();
    let unreachable = brigade_team::Owner::new(missing).init().unwrap_err();
    assert_eq!(unreachable.code(), Some(ErrorCode::TeamUnreachable), "{unreachable}");
    let store = world.store("nobody", "shop");
    assert_eq!(code(&store), Some(ErrorCode::TeamAuth));
}

#[test]
fn another_writer_is_waited_for() {
    let Some(world) = World::new("waits", &[("all", ALL)]) else { return };
    let queue = world.queue("all");
    let mut locked = queue.lock(at(1)).unwrap();
    locked.lock_all().unwrap();
    let other = queue_on(world.store("all", "shop"));
    std::thread::scope(|scope| {
        let other = scope.spawn(move || enqueue(&other, "call-a", "a", 1).unwrap());
        assert!(!other.is_finished());
        drop(locked);
        other.join().unwrap();
    });
    assert_eq!(run_id("run-a").as_str(), "run-a");
    assert_eq!(queue.read().unwrap().call_counts().unwrap().get("pending"), Some(&1));
}
