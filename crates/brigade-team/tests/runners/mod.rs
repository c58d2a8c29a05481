//! Runners: what they offer and may claim, and a server that was replaced.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade_call::{ApprovedBy, Binding, CallStatus, HostOffer};
use brigade_core::{ErrorCode, Fingerprint, OperationError as _};
use brigade_policy::Access;
use brigade_queue::{QueueError, Review, Store as _, StoredCall};
use brigade_team::{
    ApprovalRule, JoinedRule, NewOffer, Role, SeenServer, ServerState, TeamStore, TeamStoreOptions,
};

use crate::suite::common::{approve, at, binding, call_id, enqueue, start, stored};
use crate::world::{World, connection, hex_key, key, queue_on};

const ALL: &[Role] = &[Role::Queuer, Role::Reviewer, Role::Runner];
const RUNNER: &[Role] = &[Role::Runner];

/// What a host with another policy would run.
fn elsewhere(host: &str) -> Binding {
    let mut binding = binding();
    binding.policy = Fingerprint::of_bytes(host.as_bytes());
    binding
}

fn offer(call: &str, binding: Binding, passed_over: Option<&str>) -> NewOffer {
    let offer = HostOffer {
        host: String::new(),
        is_own: true,
        offered_at: None,
        binding: Some(binding),
        access: Access::default(),
        blockers: Vec::new(),
        passed_over: passed_over.map(str::to_owned),
    };
    NewOffer { call: call_id(call), revision: 1, offer }
}

fn approve_for(
    world: &World,
    member: &str,
    own: Binding,
    hosts: &[&Binding],
) -> Result<StoredCall, QueueError> {
    let queue = world.queue(member);
    let mut locked = queue.lock(at(2)).unwrap();
    let revision = stored(&locked.view(), "call-a").revision;
    let hosts = hosts.iter().map(|binding| binding.host_part()).collect();
    let review = Review::Approve(Box::new(own), ApprovedBy::command_line(), hosts);
    locked.review(&call_id("call-a"), revision, review, at(2))
}

/// Returns the store of a runner on the host with its name.
fn runner(world: &World, member: &str) -> TeamStore {
    let trusted: Vec<String> = world.members().to_vec();
    world.store_on(member, "shop", member, &trusted)
}

/// Returns the status of call-a and what its approval binds there.
fn seen_by(store: TeamStore) -> (CallStatus, Option<Binding>) {
    let call = stored(&queue_on(store).read().unwrap(), "call-a").call;
    (call.status, call.approval.map(|approval| approval.binding))
}

#[test]
fn an_approval_covers_the_hosts_that_were_shown() {
    let members = [("rev-1", ALL), ("box-1", RUNNER), ("box-2", RUNNER), ("box-3", RUNNER)];
    let Some(world) = World::new("offers", &members) else { return };
    enqueue(&world.queue("rev-1"), "call-a", "a", 1).unwrap();
    let boxes = ["box-1", "box-2"].map(|name| runner(&world, name));
    boxes[0].offer(&[offer("call-a", elsewhere("box-1"), None)]).unwrap();
    boxes[1].offer(&[offer("call-a", elsewhere("box-2"), None)]).unwrap();
    let offers = world.store("rev-1", "shop").read().unwrap().offers(&call_id("call-a")).unwrap();
    let hosts: Vec<&str> = offers.iter().map(|offer| offer.host.as_str()).collect();
    let names = ["box-1", "box-2"].map(|name| format!("{}@{name}", world.login(name)));
    assert_eq!(hosts, [names[0].as_str(), names[1].as_str()]);
    assert!(offers.iter().all(|offer| offer.offered_at.is_some() && !offer.is_own));
    approve_for(&world, "rev-1", binding(), &[&elsewhere("box-1")]).unwrap();
    let approved = |binding: Binding| (CallStatus::Approved, Some(binding));
    assert_eq!(seen_by(runner(&world, "box-1")), approved(elsewhere("box-1")), "its own offer is covered");
    assert_eq!(seen_by(runner(&world, "box-2")), approved(binding()), "its own offer is not");
    assert_eq!(seen_by(runner(&world, "box-3")), approved(binding()));
    // A changed offer is another host part, and an approval of it needs a reviewer.
    boxes[0].offer(&[offer("call-a", elsewhere("changed"), None)]).unwrap();
    assert_eq!(seen_by(runner(&world, "box-1")), approved(binding()));
    // Offers of a runner who was removed are not shown, and all are gone with the claim.
    world.owner.remove_member(&world.login("box-2")).unwrap();
    let snapshot = world.store("rev-1", "shop").read().unwrap();
    assert_eq!(snapshot.offers(&call_id("call-a")).unwrap().len(), 1);
    start(&world.queue("rev-1"), "call-a", "run-a", 3).unwrap();
    assert_eq!(snapshot.offers(&call_id("call-a")).unwrap(), []);
    assert_eq!(world.as_owner("DELETE FROM @schema@.offers"), 0);
}

#[test]
fn two_people_approve_for_the_same_host() {
    let Some(world) = World::new("same_host", &[("asker", ALL), ("rev-1", ALL), ("rev-2", ALL)]) else {
        return;
    };
    let rule = ApprovalRule { id: 0, effect: None, tool: None, family: None, approvals: 2 };
    world.owner.add_rule(&rule).unwrap();
    enqueue(&world.queue("asker"), "call-a", "a", 1).unwrap();
    let have = |stored: StoredCall| (stored.call.status, stored.call.approvals.unwrap().have);
    let one = approve_for(&world, "rev-1", elsewhere("one"), &[]).unwrap();
    assert_eq!(have(one), (CallStatus::Pending, 1));
    let other = approve_for(&world, "rev-2", elsewhere("two"), &[]).unwrap();
    assert_eq!(have(other), (CallStatus::Pending, 1), "for another host");
    let again = approve_for(&world, "rev-2", elsewhere("two"), &[]).unwrap_err();
    assert_eq!(again.code(), Some(ErrorCode::WrongState), "{again}");
    let shared = elsewhere("box-1");
    runner(&world, "asker").offer(&[offer("call-a", shared.clone(), None)]).unwrap();
    assert_eq!(have(approve_for(&world, "rev-2", elsewhere("two"), &[&shared]).unwrap()).1, 1);
    let both = approve_for(&world, "rev-1", elsewhere("one"), &[&shared]).unwrap();
    assert_eq!(have(both), (CallStatus::Approved, 2));
    assert_eq!(seen_by(runner(&world, "asker")), (CallStatus::Approved, Some(shared)));
}

#[derive(Default)]
struct MemorySeenServer(Mutex<Option<String>>);

impl SeenServer for MemorySeenServer {
    fn read(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }

    fn write(&self, name: &str) {
        *self.0.lock().unwrap() = Some(name.to_owned());
    }
}

/// Returns a store with accepted rules, and a place for the server that it saw.
fn store_with(world: &World, member: &str, rules: Vec<JoinedRule>, seen: Arc<MemorySeenServer>) -> TeamStore {
    let owned = member.to_owned();
    TeamStore::new(TeamStoreOptions {
        connection: Arc::new(connection(&world.url(&world.login(member)), &world.schema).unwrap()),
        workspace: "shop".to_owned(),
        team_id: world.made.team_id.clone(),
        keys: world.members().iter().map(|name| (world.login(name), hex_key(name))).collect(),
        rules,
        signer: Arc::new(move || Ok(Some(key(&owned)))),
        host: member.to_owned(),
        lease_seconds: 60,
        lease_lost: None,
        seen: Some(seen),
    })
}

#[test]
fn accepted_rules_hold_in_a_stolen_database() {
    let Some(world) = World::new("accepted", &[("asker", ALL), ("rev-1", ALL), ("rev-2", ALL)]) else {
        return;
    };
    let rule = ApprovalRule { id: 0, effect: None, tool: None, family: None, approvals: 2 };
    world.owner.add_rule(&rule).unwrap();
    let rules = world.store("rev-1", "shop").rules().unwrap();
    let at_box = || store_with(&world, "asker", rules.clone(), Arc::default());
    enqueue(&world.queue("asker"), "call-a", "a", 1).unwrap();
    world.as_owner("DELETE FROM @schema@.rules");
    approve(&world.queue("rev-1"), "call-a", 2).unwrap();
    assert_eq!(seen_by(world.store("rev-2", "shop")).0, CallStatus::Approved, "it has accepted no rule");
    let call = stored(&queue_on(at_box()).read().unwrap(), "call-a").call;
    let approvals = call.approvals.clone().unwrap();
    assert_eq!((call.status, approvals.have, approvals.need), (CallStatus::Pending, 1, 2));
    assert!(start(&queue_on(at_box()), "call-a", "run-a", 3).is_err());
    // The person who queued it does not count, whatever the database says.
    start(&world.queue("rev-2"), "call-a", "run-a", 3).unwrap();
    let problems: Vec<&str> =
        at_box().verify().unwrap().findings.iter().map(|finding| finding.problem).collect();
    assert_eq!(problems, [] as [&str; 0], "the rule was added after the run started");
    let earlier: Vec<JoinedRule> = rules
        .iter()
        .map(|rule| JoinedRule { added_at: "1970-01-01T00:00:00Z".to_owned(), ..rule.clone() })
        .collect();
    let found = store_with(&world, "asker", earlier, Arc::default()).verify().unwrap().findings;
    assert_eq!(found.iter().map(|finding| finding.problem).collect::<Vec<_>>(), ["not-approved"]);
}

#[test]
fn a_runner_is_shown_what_it_can_do() {
    let Some(world) = World::new("work", &[("rev-1", ALL), ("box-1", RUNNER)]) else { return };
    let (queue, store) = (world.queue("rev-1"), runner(&world, "box-1"));
    let mut wakes = store.listen().unwrap();
    for (id, second) in [("call-a", 2), ("call-b", 1), ("call-c", 3)] {
        enqueue(&queue, id, id, second).unwrap();
    }
    assert!(wakes.wait(Duration::from_secs(30)).unwrap(), "it is woken");
    assert_eq!(store.report_host("ready", &|_| false).unwrap(), ServerState::Same);
    let hosts = world.store("rev-1", "shop").read().unwrap().runner_hosts().unwrap();
    assert_eq!(hosts, [format!("{}@box-1", world.login("box-1"))]);
    let ids = |ids: &[&str]| ids.iter().map(|id| call_id(id)).collect::<Vec<_>>();
    let work = store.work("ready", None).unwrap();
    assert_eq!((work.approved, work.undecided), (vec![], ids(&["call-b", "call-a", "call-c"])));
    store.offer(&[offer("call-a", binding(), None), offer("call-c", binding(), None)]).unwrap();
    assert_eq!(store.work("ready", None).unwrap().undecided, ids(&["call-b"]), "the others are offered");
    approve(&queue, "call-a", 4).unwrap();
    approve(&queue, "call-b", 4).unwrap();
    let work = store.work("ready", None).unwrap();
    assert_eq!((work.approved, work.has_expired), (ids(&["call-b", "call-a"]), false), "the oldest first");
    assert!(store.work("ready", Some(&["other".to_owned()])).unwrap().approved.is_empty());
    let passed = NewOffer { revision: 2, ..offer("call-b", binding(), Some("another program")) };
    store.offer(&[passed]).unwrap();
    assert_eq!(store.work("ready", None).unwrap().approved, ids(&["call-a"]), "passed over for a while");
    start(&world.queue("rev-1"), "call-a", "run-a", 5).unwrap();
    world.as_owner("UPDATE @schema@.calls SET lease_until = 'epoch' WHERE id = 'call-a'");
    assert!(store.work("ready", None).unwrap().has_expired);
    let refused = world.store("rev-1", "bank").accept_failover();
    assert_eq!(refused, Ok(false), "there is none");
    store.report_host("stopped", &|_| false).unwrap();
    assert!(world.store("rev-1", "shop").read().unwrap().runner_hosts().unwrap().is_empty());
}

#[test]
fn a_claim_whose_answer_was_lost_is_found_again() {
    let Some(world) = World::new("lost_answer", &[("all", ALL)]) else { return };
    let queue = world.queue("all");
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    let mut client = world.psql(&world.login("all"));
    let attempt: String = client.query_one("SELECT attempt FROM lost_answer.calls", &[]).unwrap().get(0);
    let sql = "SELECT now_fence FROM lost_answer.find_claim('shop', 'call-a', 'run-a', $1)";
    let mut fence = |attempt: &str| client.query_one(sql, &[&attempt]).unwrap().get::<_, Option<i64>>(0);
    assert_eq!((fence(&attempt), fence("another")), (Some(1), None), "only the same attempt gets it");
    let again = start(&queue, "call-a", "run-a", 3).unwrap_err();
    assert_eq!(again.code(), Some(ErrorCode::WrongState), "the same process cannot claim it twice: {again}");
    // Connections that are lost between two statements are replaced.
    drop(queue.lock(at(4)).unwrap());
    world.as_owner(
        "DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'lost_answer%';
         WHILE EXISTS (SELECT FROM pg_stat_activity WHERE usename LIKE 'lost_answer%') LOOP
         PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$",
    );
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Running);
    drop(queue.lock(at(5)).unwrap());
}

#[test]
fn a_replaced_server_waits_for_all_claims() {
    let members = [("rev-1", ALL), ("box-1", RUNNER), ("box-2", RUNNER)];
    let Some(world) = World::new("failover", &members) else { return };
    let queue = world.queue("rev-1");
    for id in ["call-a", "call-b", "call-c"] {
        enqueue(&queue, id, id, 1).unwrap();
    }
    approve(&queue, "call-a", 2).unwrap();
    approve(&queue, "call-b", 2).unwrap();
    let seen = Arc::new(MemorySeenServer::default());
    let box_1 = store_with(&world, "box-1", Vec::new(), seen.clone());
    for store in [&box_1, &runner(&world, "box-2")] {
        assert_eq!(store.report_host("ready", &|_| false), Ok(ServerState::Same));
    }
    let here = seen.read().unwrap();
    assert!(here.contains('/') && box_1.failover().unwrap().is_none());
    let early = world.psql(&world.login("box-1")).batch_execute(
        "SELECT failover.restore_claim('shop', 'call-b', 2, '{\"run_id\": \"run-x\"}', 'run-x', 'box-1')",
    );
    assert!(early.is_err(), "a stolen runner credential interrupts nothing");
    // The server is one that was promoted before it knew of the run of call-c.
    world.as_owner("UPDATE @schema@.servers SET name = '1/1'");
    world.as_owner("UPDATE @schema@.hosts SET server = '1/1'");
    let error = start(&queue_on(runner(&world, "box-1")), "call-a", "run-a", 3).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TeamFailover), "{error}");
    let forgotten = stored(&queue.read().unwrap(), "call-c").call.next_run_id();
    let box_2 = format!("{}@box-2", world.login("box-2"));
    // A member changes the call in the meantime.
    let is_first = std::cell::Cell::new(true);
    let reported = box_1.report_host("ready", &|run| {
        if *run == forgotten && is_first.take() {
            approve(&queue, "call-c", 3).unwrap();
        }
        *run == forgotten
    });
    assert_eq!(reported, Ok(ServerState::Replaced(vec![box_2.clone()])));
    assert_eq!(box_1.failover(), Ok(Some(vec![box_2])));
    drop(queue.lock(at(4)).unwrap());
    let call = stored(&queue.read().unwrap(), "call-c").call;
    assert_eq!(
        (&call.status, call.claim.map(|claim| claim.run_id)),
        (&CallStatus::Interrupted, Some(forgotten))
    );
    assert!(start(&queue_on(runner(&world, "box-1")), "call-a", "run-a", 5).is_err());
    assert_eq!(runner(&world, "box-2").report_host("ready", &|_| false), Ok(ServerState::Same));
    start(&queue_on(runner(&world, "box-1")), "call-a", "run-a", 6).unwrap();
    // An older server is back: only this host has seen the newer one.
    seen.write("9/9");
    let error = start(&queue_on(box_1.clone()), "call-b", "run-b", 7).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TeamFailover), "{error}");
    assert!(matches!(box_1.report_host("ready", &|_| false), Ok(ServerState::Replaced(_))));
    let error = start(&queue_on(runner(&world, "box-2")), "call-b", "run-b", 8).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TeamFailover), "now it is known to all: {error}");
    let refused = box_1.accept_failover().unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::TeamRole), "{refused}");
    assert_eq!(world.store("rev-1", "shop").accept_failover(), Ok(true));
    assert_eq!(world.store("rev-1", "shop").accept_failover(), Ok(false));
    assert_eq!(box_1.report_host("ready", &|_| false), Ok(ServerState::Same));
    assert_eq!(seen.read().as_deref(), Some(here.as_str()));
    start(&queue_on(box_1), "call-b", "run-b", 9).unwrap();
}
