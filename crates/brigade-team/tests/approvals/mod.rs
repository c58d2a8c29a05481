//! Rules for several people, and signatures.

use std::sync::Barrier;

use brigade_call::CallStatus;
use brigade_core::{ErrorCode, OperationError as _};
use brigade_queue::{QueueError, Review, StoredCall};
use brigade_team::{ApprovalRule, Role};

use crate::suite::common::{approve, at, call_id, enqueue, start, stored};
use crate::world::{World, hex_key, queue_on};

const ALL: &[Role] = &[Role::Queuer, Role::Reviewer, Role::Runner];

fn rule(approvals: i32) -> ApprovalRule {
    ApprovalRule { id: 0, effect: None, tool: Some("greet".to_owned()), family: None, approvals }
}

#[track_caller]
fn refused(result: Result<StoredCall, QueueError>, code: ErrorCode) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Some(code), "{error}");
}

#[test]
fn two_people_approve_and_neither_queued_it() {
    let members = [("asker", ALL), ("rev-1", ALL), ("rev-2", ALL)];
    let Some(world) = World::new("two_people", &members) else { return };
    world.owner.add_rule(&rule(2)).unwrap();
    assert_eq!(world.owner.add_rule(&rule(1)).unwrap().id, 2, "the strictest holds");
    enqueue(&world.queue("asker"), "call-a", "a", 1).unwrap();
    refused(approve(&world.queue("asker"), "call-a", 2), ErrorCode::TeamOwnCall);
    let half = approve(&world.queue("rev-1"), "call-a", 2).unwrap();
    let approvals = half.call.approvals.clone().unwrap();
    assert_eq!((&half.call.status, half.revision), (&CallStatus::Pending, 1));
    assert_eq!((approvals.have, approvals.need, approvals.by), (1, 2, vec![world.login("rev-1")]));
    refused(approve(&world.queue("rev-1"), "call-a", 2), ErrorCode::WrongState);
    let early = start(&world.queue("rev-1"), "call-a", "run-a", 3).unwrap_err();
    assert_eq!(early.code(), Some(ErrorCode::WrongState), "{early}");
    let whole = approve(&world.queue("rev-2"), "call-a", 4).unwrap();
    assert_eq!((&whole.call.status, whole.revision), (&CallStatus::Approved, 2));
    let shown = stored(&world.queue("asker").read().unwrap(), "call-a").call;
    assert_eq!((&shown.status, shown.approvals.unwrap().have), (&CallStatus::Approved, 2));
    // One person rejects.
    enqueue(&world.queue("asker"), "call-b", "b", 1).unwrap();
    approve(&world.queue("rev-1"), "call-b", 2).unwrap();
    let rejected = world.queue("rev-2").lock(at(3)).unwrap().review(
        &call_id("call-b"),
        1,
        Review::Reject("no".to_owned()),
        at(3),
    );
    assert_eq!(rejected.unwrap().call.status, CallStatus::Rejected);
    // A stricter rule counts for what is approved already.
    world.owner.add_rule(&rule(3)).unwrap();
    let shown = stored(&world.queue("asker").read().unwrap(), "call-a").call;
    assert_eq!(shown.status, CallStatus::Pending);
    assert!(start(&world.queue("rev-1"), "call-a", "run-a", 5).is_err());
    assert!(world.owner.remove_rule(3).unwrap() && !world.owner.remove_rule(3).unwrap());
    assert_eq!(start(&world.queue("rev-1"), "call-a", "run-a", 5).unwrap().call.status, CallStatus::Running);
}

/// The status of call-a as a host shows it that trusts the keys of these members.
fn status_for(world: &World, trusted: &[&str]) -> CallStatus {
    let trusted: Vec<String> = trusted.iter().map(|member| (*member).to_owned()).collect();
    let queue = queue_on(world.store_on("rev-1", "shop", "box", &trusted));
    stored(&queue.read().unwrap(), "call-a").call.status
}

#[test]
fn a_stolen_database_approves_nothing() {
    let members = [("rev-1", ALL), ("rev-2", ALL), ("thief", ALL)];
    let Some(world) = World::new("stolen_database", &members) else { return };
    enqueue(&world.queue("rev-1"), "call-a", "a", 1).unwrap();
    world.as_owner("UPDATE @schema@.calls SET status = 'approved', approved_revision = 1");
    assert_eq!(status_for(&world, &["rev-1"]), CallStatus::Pending, "the record decides");
    world.as_owner("UPDATE @schema@.calls SET status = 'pending', approved_revision = NULL");
    approve(&world.queue("thief"), "call-a", 2).unwrap();
    assert_eq!(status_for(&world, &["thief"]), CallStatus::Approved);
    assert_eq!(
        status_for(&world, &["rev-1", "rev-2"]),
        CallStatus::Pending,
        "the thief's key is not trusted"
    );
    let thief = world.login("thief");
    world.as_owner(&format!(
        "UPDATE @schema@.approvals SET member = '{}' WHERE member = '{thief}'",
        world.login("rev-1")
    ));
    world.as_owner(&format!(
        "UPDATE @schema@.members SET public_key = '{}' WHERE name = '{}'",
        hex_key("thief"),
        world.login("rev-1")
    ));
    assert_eq!(status_for(&world, &["rev-1", "rev-2"]), CallStatus::Pending, "the roster has another key");
}

#[test]
fn signatures_are_not_replayed() {
    let Some(world) = World::new("replayed", &[("rev-1", ALL)]) else { return };
    let queue = world.queue("rev-1");
    enqueue(&queue, "call-a", "a", 1).unwrap();
    enqueue(&queue, "call-b", "b", 1).unwrap();
    approve(&queue, "call-b", 2).unwrap();
    assert_eq!(status_for(&world, &["rev-1"]), CallStatus::Pending);
    let forge = |revision: i64| {
        let record = "(SELECT replace(replace(b.record, 'call-b', 'call-a'), '\"subject\":\"b\"', \
                      '\"subject\":\"a\"') FROM @schema@.calls b WHERE b.id = 'call-b')";
        world.as_owner(&format!(
            "UPDATE @schema@.calls SET status = 'approved', approved_revision = {revision}, record = {record} \
             WHERE id = 'call-a'"
        ));
        world.as_owner("DELETE FROM @schema@.approvals WHERE call_id = 'call-a'");
        world.as_owner(&format!(
            "INSERT INTO @schema@.approvals SELECT workspace, 'call-a', {revision}, member, decision, public_key, \
             shared, hosts, signed_at, signature FROM @schema@.approvals WHERE call_id = 'call-b'"
        ));
    };
    forge(1);
    assert_eq!(status_for(&world, &["rev-1"]), CallStatus::Pending, "a signature of another call");
    let status_of_b = |store| stored(&queue_on(store).read().unwrap(), "call-b").call.status;
    assert_eq!(status_of_b(world.store("rev-1", "shop")), CallStatus::Approved);
    assert_eq!(
        status_of_b(world.store_of_team("rev-1", "shop", "another")),
        CallStatus::Pending,
        "a signature of another team"
    );
    world.as_owner(
        "WITH moved AS (INSERT INTO @schema@.calls SELECT (jsonb_populate_record(c, '{\"workspace\": \"bank\"}')).* \
         FROM @schema@.calls c WHERE c.id = 'call-b' RETURNING 1) \
         INSERT INTO @schema@.approvals SELECT 'bank', call_id, revision, member, decision, public_key, shared, hosts, \
         signed_at, signature FROM @schema@.approvals WHERE call_id = 'call-b' AND (SELECT count(*) FROM moved) = 1",
    );
    assert_eq!(
        status_of_b(world.store("rev-1", "bank")),
        CallStatus::Pending,
        "a signature of another workspace"
    );
    // An approval that a reviewer withdrew does not come back with the revision that it was of.
    world.as_owner("DELETE FROM @schema@.approvals WHERE call_id = 'call-a'");
    world.as_owner("UPDATE @schema@.approvals SET revision = 7 WHERE call_id = 'call-b'");
    world.as_owner("UPDATE @schema@.calls SET approved_revision = 7 WHERE id = 'call-b'");
    let b = stored(&world.queue("rev-1").read().unwrap(), "call-b").call.status;
    assert_eq!(b, CallStatus::Pending, "a signature of another revision");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a person may ask for more rounds")]
fn reviews_at_the_same_instant_have_one_result() {
    let members = [("asker", ALL), ("rev-1", ALL), ("rev-2", ALL), ("rev-3", ALL)];
    let Some(world) = World::new("race", &members) else { return };
    world.owner.add_rule(&rule(2)).unwrap();
    let rounds = std::env::var("BRIGADE_RACES").map_or(100, |rounds| rounds.parse().unwrap());
    let asker = world.queue("asker");
    for number in 0..rounds {
        let id = format!("call-{number:03}");
        enqueue(&asker, &id, &id, number).unwrap();
    }
    let barrier = Barrier::new(3);
    let decide = |member: &str| {
        let queue = world.queue(member);
        let decided: Vec<bool> = (0..rounds)
            .map(|number| {
                let id = format!("call-{number:03}");
                barrier.wait();
                if member != "rev-3" {
                    return approve(&queue, &id, number).is_ok();
                }
                let review = Review::Reject("no".to_owned());
                queue.lock(at(number)).unwrap().review(&call_id(&id), 1, review, at(number)).is_ok()
            })
            .collect();
        decided
    };
    let decide = &decide;
    let [one, two, rejected] = std::thread::scope(|scope| {
        ["rev-1", "rev-2", "rev-3"]
            .map(|member| scope.spawn(move || decide(member)))
            .map(|done| done.join().unwrap())
    });
    let view = asker.read().unwrap();
    for number in 0..rounds {
        let place = usize::try_from(number).unwrap();
        let status = stored(&view, &format!("call-{number:03}")).call.status;
        let expect = if rejected[place] { CallStatus::Rejected } else { CallStatus::Approved };
        assert_eq!(status, expect, "call-{number:03}: {} {} {}", one[place], two[place], rejected[place]);
        assert!(rejected[place] || one[place] && two[place]);
    }
}
