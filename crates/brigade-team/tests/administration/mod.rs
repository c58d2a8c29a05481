//! What keeps a team going: older tables, records from files, raw logs, and the checks of the database.

use std::sync::Arc;
use std::time::Duration;

use brigade_call::CallStatus;
use brigade_core::{ErrorCode, OperationError as _};
use brigade_fs::{FileMode, Fs, MemoryFs, RelPath, WorkspaceKey};
use brigade_queue::{JournalStore, KeptLog, Queue, QueueError, Records, Store as _, StoredCall};
use brigade_team::{
    Check, CheckState, FileCall, FileReceipt, LogPlace, Owner, Presence, Role, Schema, TeamStore,
};
use brigade_testkit::Postgres;

use crate::suite::common::{TestHost, approve, at, call_id, complete, enqueue, run_id, start, stored};
use crate::world::{World, connection, queue_on};

const ALL: &[Role] = &[Role::Queuer, Role::Reviewer, Role::Runner];

/// The dumps of every version of the tables that was released.
const DUMPS: [&str; 1] = [include_str!("../../../../fixtures/team/version-1.sql")];

/// Returns the names of the checks that failed.
fn failed(checks: &[Check]) -> Vec<(&str, &str)> {
    let failed = checks.iter().filter(|check| check.state == CheckState::Failed);
    failed.map(|check| (check.name, check.message.as_str())).collect()
}

#[test]
fn every_released_version_is_migrated() {
    let Some(server) = Postgres::get("every_released_version_is_migrated") else { return };
    let mut owner = postgres::Client::connect(&server.url("postgres", "owner"), postgres::NoTls).unwrap();
    for role in ["brigade_queuer", "brigade_reviewer", "brigade_runner", "brigade_auditor", "rev-1", "rev-2"]
    {
        let login = if role.starts_with("rev") { "LOGIN" } else { "NOLOGIN" };
        owner
            .batch_execute(&format!(
                "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
                     CREATE ROLE \"{role}\" {login}; END IF; END $$"
            ))
            .unwrap();
    }
    owner
        .batch_execute("GRANT brigade_queuer, brigade_reviewer, brigade_runner TO \"rev-1\", \"rev-2\"")
        .unwrap();
    for dump in DUMPS {
        owner.batch_execute("DROP SCHEMA IF EXISTS brigade CASCADE").unwrap();
        owner.batch_execute(dump).unwrap();
        let admin = Owner::new(connection(&server.url("postgres", "owner"), &Schema::default()).unwrap());
        let members = "SELECT name, public_key FROM brigade.members";
        let keys = owner.query(members, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
        let team_id: String = owner.query_one("SELECT id FROM brigade.team", &[]).unwrap().get(0);
        let store = World::store_of(server, "rev-1", &Schema::default(), (&team_id, keys));
        let older = store.read().unwrap().counts(Records::Calls).unwrap_err();
        assert_eq!(older.code(), Some(ErrorCode::TeamSchemaOlder), "{older}");
        assert_eq!(
            admin.init().unwrap_err().code(),
            Some(ErrorCode::TeamSchemaOlder),
            "only a person updates"
        );
        let (made, again) = (admin.migrate().unwrap(), admin.migrate().unwrap());
        assert!(0 < made.applied && !made.created && again.applied == 0 && made.team_id == team_id);
        let verified = store.verify().unwrap();
        assert_eq!((verified.receipts, verified.approvals, verified.findings), (1, 1, vec![]));
        let counts = store.read().unwrap().counts(Records::Calls).unwrap();
        assert_eq!(
            counts.into_iter().collect::<Vec<_>>(),
            [("completed".to_owned(), 1), ("pending".to_owned(), 2)]
        );
        assert_eq!(failed(&store.doctor(&brigade_now)), [], "the functions are those of a new team");
    }
    let missing: Schema = "no_team".parse().unwrap();
    let missing = Owner::new(connection(&server.url("postgres", "owner"), &missing).unwrap());
    assert_eq!(missing.migrate().unwrap_err().code(), Some(ErrorCode::TeamSchemaOlder));
}

fn brigade_now() -> brigade_core::Timestamp {
    brigade_core::Clock::now(&brigade_core::SystemClock)
}

/// A workspace with files: three calls that ran, an approved one, and one that waits.
fn files() -> (Arc<MemoryFs>, Arc<JournalStore>, Queue) {
    let fs = Arc::new(MemoryFs::new());
    let key = Arc::new(WorkspaceKey::temporary());
    let files = Arc::new(JournalStore::new(fs.clone(), key, "4711 test", Duration::from_secs(60)));
    let queue = Queue::new(files.clone(), Arc::new(TestHost { runners_live: true, fs: None }));
    for number in 0..3 {
        complete(&queue, &format!("call-{number}"), &format!("run-{number}"), number);
    }
    enqueue(&queue, "call-a", "a", 4).unwrap();
    approve(&queue, "call-a", 5).unwrap();
    enqueue(&queue, "call-b", "b", 6).unwrap();
    (fs, files, queue)
}

/// Returns the receipts of files, in the order of the ledger.
fn receipts_of(files: &JournalStore) -> Vec<FileReceipt> {
    let mut receipts = Vec::new();
    files
        .each_receipt::<QueueError>(&mut |receipt| {
            receipts.push(receipt);
            Ok(())
        })
        .unwrap();
    receipts
}

/// Imports everything, or only the receipts. Returns how many records were new.
fn import(store: &TeamStore, files: &JournalStore, queue: &Queue, with_calls: bool) -> usize {
    let receipts = receipts_of(files);
    let mut found = store.import_receipts(&receipts).unwrap();
    let mut calls: Vec<StoredCall> = Vec::new();
    queue
        .read()
        .unwrap()
        .for_each_call(&brigade_queue::Calls::All, &mut |stored| {
            calls.push(stored);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let hashes = |call: &StoredCall| {
        let of_call = receipts.iter().filter(|receipt| receipt.call_id == call.call.id.as_str());
        of_call.map(|receipt| receipt.sha256.to_hex()).collect::<Vec<_>>()
    };
    let hashes: Vec<Vec<String>> = calls.iter().map(hashes).collect();
    let calls: Vec<FileCall<'_>> =
        calls.iter().zip(&hashes).map(|(stored, receipts)| FileCall { stored, receipts }).collect();
    if with_calls {
        found.extend(store.import_calls(&calls, at(50)).unwrap());
    }
    assert!(found.iter().all(|presence| !matches!(presence, Presence::Refused(_))), "{found:?}");
    found.iter().filter(|presence| **presence == Presence::Missing).count()
}

#[test]
fn files_are_taken_into_the_team_and_written_again() {
    let members = [("rev-1", ALL), ("rev-2", ALL)];
    let Some(world) = World::new("imported", &members) else { return };
    let (fs, files, queue) = files();
    let store = world.store("rev-1", "shop");
    // The first import ended after the receipts.
    assert_eq!(import(&store, &files, &queue, false), 3);
    assert_eq!((import(&store, &files, &queue, true), import(&store, &files, &queue, true)), (5, 0));
    let team = world.queue("rev-2");
    let counts = team.read().unwrap().call_counts().unwrap();
    assert_eq!((counts.get("completed"), counts.get("pending")), (Some(&3), Some(&2)));
    assert!(stored(&team.read().unwrap(), "call-a").call.is_approved_elsewhere());
    let verified = store.verify().unwrap();
    assert_eq!((verified.receipts, verified.approvals, verified.findings), (3, 3, vec![]));
    // It continues in the team, and a later import leaves it alone.
    approve(&team, "call-a", 60).unwrap();
    start(&team, "call-a", "run-a", 61).unwrap();
    assert_eq!(import(&store, &files, &queue, true), 0);
    // The same bytes in the same order.
    let dump = std::cell::RefCell::new(store.dump().unwrap());
    let copy = Arc::new(MemoryFs::new());
    let key = Arc::new(WorkspaceKey::temporary());
    let copied = JournalStore::new(copy.clone(), key, "4711 test", Duration::from_secs(60));
    let fill = |copied: &JournalStore| {
        copied.fill::<QueueError>(
            &mut || Ok(dump.borrow_mut().receipts()?),
            &mut || Ok(dump.borrow_mut().calls()?),
            at(70),
        )
    };
    fill(&copied).unwrap();
    let exported = copied.read().unwrap();
    assert_eq!(exported.examine(brigade_queue::Chain::From(1), None).unwrap().findings, vec![]);
    for number in 0..3 {
        let path: RelPath = format!(".brigade/tools/runs/run-{number}.json").parse().unwrap();
        assert_eq!(fs.read(&path, 1 << 20).unwrap(), copy.read(&path, 1 << 20).unwrap());
    }
    assert!(fill(&copied).is_err(), "it is not empty any more");
    // What was brought is signed.
    let problems = |store: &TeamStore| {
        store.verify().unwrap().findings.iter().map(|finding| finding.problem).collect::<Vec<_>>()
    };
    assert_eq!(problems(&world.store_on("rev-2", "shop", "host", &["rev-2".to_owned()])), ["untrusted"; 3]);
    world.as_owner(
        "UPDATE @schema@.calls SET record = replace(record, 'greet.py', 'other.py') WHERE id = 'call-1'",
    );
    assert_eq!(problems(&store), ["not-approved"]);
    world.as_owner("UPDATE @schema@.imports SET record = replace(record, 'greet.py', 'other.py') WHERE call_id = 'call-1'");
    assert_eq!(problems(&store), ["not-approved"], "the signature is of what it was");
}

#[test]
fn only_a_reviewer_who_queues_brings_records() {
    let members =
        [("rev-1", ALL), ("queuer", &[Role::Queuer][..]), ("box-1", &[Role::Runner, Role::Reviewer][..])];
    let Some(world) = World::new("importers", &members) else { return };
    let (_, files, queue) = files();
    let receipts = receipts_of(&files);
    for member in ["queuer", "box-1"] {
        let denied = world.store(member, "shop").import_receipts(&receipts).unwrap_err();
        assert_eq!(denied.code(), Some(ErrorCode::TeamRole), "{member}: {denied}");
    }
    // A call of the team with the same id is another one.
    enqueue(&world.queue("rev-1"), "call-b", "other", 1).unwrap();
    let call = stored(&queue.read().unwrap(), "call-b");
    let found =
        world.store("rev-1", "shop").import_calls(&[FileCall { stored: &call, receipts: &[] }], at(9));
    assert!(matches!(&found.unwrap()[..], [Presence::Refused(_)]));
}

#[test]
fn logs_are_stored_in_parts_and_pruned() {
    let Some(world) = World::new("stored_logs", &[("all", ALL), ("other", ALL)]) else { return };
    let (queue, store) = (world.queue("all"), world.store("all", "shop"));
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    let fs = MemoryFs::new();
    let log = |bytes: &[u8]| {
        let path: RelPath = "log".parse().unwrap();
        fs.write_atomic(&path, bytes, FileMode::Private).unwrap();
        fs.open(&path).unwrap()
    };
    let keep = |store: &TeamStore, stream: &str, bytes: &[u8]| {
        store.keep_log(&call_id("call-a"), &run_id("run-a"), stream, &*log(bytes))
    };
    keep(&store, "stdout", b"before").unwrap();
    assert_eq!(store.kept_log("run-a", "stdout").unwrap(), None, "logs stay on the host that ran");
    world.owner.set_logs(LogPlace::Database).unwrap();
    assert!(keep(&world.store("other", "shop"), "stdout", b"forged").is_err(), "it is another member's run");
    let long: Vec<u8> = (0..5_000_000u32).map(|place| u8::try_from(place % 251).unwrap()).collect();
    keep(&store, "stdout", &long).unwrap();
    keep(&store, "stderr", b"").unwrap();
    let start = long.len() as u64 - (4 << 20);
    let kept = KeptLog { start, bytes: long[usize::try_from(start).unwrap()..].to_vec() };
    assert_eq!(world.store("other", "shop").kept_log("run-a", "stdout").unwrap(), Some(kept), "its end");
    assert_eq!(store.kept_log("run-a", "stderr").unwrap(), None);
    let more = keep(&store, "stdout", b"one part more").unwrap_err();
    assert_eq!(more.code(), Some(ErrorCode::WrongState), "{more}");
    assert_eq!(world.owner.prune_logs(Duration::from_secs(3600)).unwrap().parts, 0);
    let pruned = world.owner.prune_logs(Duration::ZERO).unwrap();
    assert_eq!((pruned.runs, pruned.parts, pruned.bytes), (1, 16, 4 << 20));
    assert_eq!(store.kept_log("run-a", "stdout").unwrap(), None);
}

#[test]
fn the_doctor_finds_what_was_changed_by_hand() {
    let Some(world) = World::new("doctor", &[("rev-1", ALL), ("rev-2", ALL)]) else { return };
    let store = world.store("rev-1", "shop");
    let checks = store.doctor(&brigade_now);
    assert_eq!((failed(&checks), checks.len()), (vec![], 14));
    let found = |name: &str, word: &str| {
        let checks = store.doctor(&brigade_now);
        let found: Vec<_> =
            failed(&checks).into_iter().filter(|(_, message)| message.contains(word)).collect();
        assert_eq!(found.len(), 1, "{name}, {word}: {checks:#?}");
        assert_eq!(found[0].0, name);
        assert!(checks.iter().all(|check| check.state != CheckState::Failed || check.fix.is_some()));
    };
    for (name, word, change, back) in [
        (
            "functions",
            "`renew_claim` was changed",
            "CREATE OR REPLACE FUNCTION @schema@.renew_claim(ws text, call text, run text, at_fence bigint, \
             lease_seconds integer) RETURNS boolean LANGUAGE sql SECURITY DEFINER \
             SET search_path = pg_catalog, pg_temp AS 'SELECT true'",
            "SELECT 1",
        ),
        (
            "functions",
            "`mine` is not a function",
            "CREATE FUNCTION @schema@.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
            "DROP FUNCTION @schema@.mine()",
        ),
        (
            "roles",
            "may change the table `calls`",
            "GRANT UPDATE ON @schema@.calls TO @schema@_runner",
            "REVOKE UPDATE ON @schema@.calls FROM @schema@_runner",
        ),
        (
            "roles",
            "may call `review_call`",
            "GRANT EXECUTE ON FUNCTION @schema@.review_call TO @schema@_runner",
            "REVOKE EXECUTE ON FUNCTION @schema@.review_call FROM @schema@_runner",
        ),
        (
            "roles",
            "free of row-level security",
            "ALTER ROLE \"doctor-rev-2\" BYPASSRLS",
            "ALTER ROLE \"doctor-rev-2\" NOBYPASSRLS",
        ),
        (
            "row-security",
            "receipts",
            "ALTER TABLE @schema@.receipts DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE @schema@.receipts ENABLE ROW LEVEL SECURITY",
        ),
        (
            "synchronous-commit",
            "doctor-rev-2",
            "ALTER ROLE \"doctor-rev-2\" SET synchronous_commit = off",
            "ALTER ROLE \"doctor-rev-2\" RESET synchronous_commit",
        ),
    ] {
        world.as_owner(change);
        found(name, word);
        world.as_owner(back);
    }
    let queue = world.queue("rev-1");
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    world.as_owner("UPDATE @schema@.calls SET lease_until = clock_timestamp()");
    found("hosts", "does not renew the claim of call-a");
    drop(queue.lock(at(9)).unwrap());
    enqueue(&queue, "call-b", "b", 10).unwrap();
    approve(&queue_on(world.store("rev-2", "shop")), "call-b", 11).unwrap();
    assert_eq!(stored(&queue.read().unwrap(), "call-b").call.status, CallStatus::Approved);
    world.owner.remove_member(&world.login("rev-2")).unwrap();
    found("approvals", "call-b");
    let late = store.doctor(&|| at(0));
    assert!(failed(&late).iter().any(|(name, _)| *name == "clock"), "{late:?}");
    let away = connection("postgresql:///postgres?host=/nonexistent&user=a", &Schema::default()).unwrap();
    let checks = Owner::new(away).doctor(&brigade_now);
    assert_eq!((checks[0].state, checks.len()), (CheckState::Failed, 14));
    assert!(checks[1..].iter().all(|check| check.state == CheckState::Skipped));
}
