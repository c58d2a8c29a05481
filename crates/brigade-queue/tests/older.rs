//! An older or truncated journal, and a damaged ledger: no call runs twice, nothing is lost, and every problem is
//! reported.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod common;

use std::collections::BTreeSet;

use brigade_call::{CallStatus, Receipt};
use brigade_core::{CallId, IdPrefix};
use brigade_fs::{FileMode, Fs, MemoryFs};
use brigade_queue::{Answer, Calls, FoundReceipt, Match, OnDuplicate, QueueError, Review, Tampering};
use common::*;

const JOURNAL: &str = ".brigade/tools/calls.jsonl";
const LEDGER: &str = ".brigade/tools/runs/ledger.jsonl";

fn copy(fs: &MemoryFs) -> Vec<u8> {
    fs.read(&path(JOURNAL), 1 << 30).unwrap()
}

fn put_back(fs: &MemoryFs, journal: &[u8]) {
    fs.write_atomic(&path(JOURNAL), journal, FileMode::Private).unwrap();
}

fn delete_caches(fs: &MemoryFs) {
    let folder = path(".brigade/tools/calls");
    for entry in fs.list_dir(&folder).unwrap().into_iter().filter(|entry| entry.name.ends_with(".index")) {
        fs.remove(&folder.join(&entry.name).unwrap()).unwrap();
    }
}

/// Claims a call by the revision that a reader sees, and returns the error.
fn claim_as_seen(queue: &TestQueue, id: &str, run: &str) -> QueueError {
    let revision = stored(&queue.read().unwrap(), id).revision;
    let mut locked = queue.lock(at(500)).unwrap();
    locked.claim(&call_id(id), revision, claim(run), at(500)).unwrap_err()
}

fn forgotten(queue: &TestQueue) -> Vec<String> {
    let findings = queue.read().unwrap().verify(1).unwrap().findings;
    let check = queue.check().unwrap();
    assert_eq!(check.forgotten_receipts.len(), findings.len(), "{check:?}");
    assert!(findings.iter().all(|finding| finding.tampering == Tampering::Forgotten), "{findings:?}");
    findings.into_iter().map(|finding| finding.run_id).collect()
}

/// Approves a call after a history, copies the journal, runs the call, and restores the copy.
fn put_back_after_a_run(history: usize, after_run: impl Fn(&MemoryFs, &TestQueue)) {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), false);
    let running = common::queue(fs.clone(), true);
    for number in 0..history {
        complete(&running, &format!("old-{number}"), &format!("run-old-{number}"), 1);
    }
    enqueue(&queue, "call-a", "x", 2).unwrap();
    approve(&queue, "call-a", 3).unwrap();
    let approved = copy(&fs);
    start(&running, "call-a", "run-a", 4).unwrap();
    finish(&running, "call-a", "run-a", "failed", 5, vec![]).unwrap();
    complete(&running, "call-later", "run-later", 6);
    after_run(&fs, &running);
    let before = listed(&queue.read().unwrap(), &Calls::All);
    put_back(&fs, &approved);

    let view = queue.read().unwrap();
    assert_eq!(stored(&view, "call-a").call.status, CallStatus::Approved, "readers change nothing");
    assert!(forgotten(&queue).contains(&"run-a".to_owned()));
    drop(view);
    let error = claim_as_seen(&queue, "call-a", "run-b");
    let (id, run) = (call_id("call-a"), run_id("run-a"));
    assert_eq!(error, QueueError::HasRun { id, run, status: CallStatus::Failed });
    let view = queue.read().unwrap();
    let call = stored(&view, "call-a").call;
    assert_eq!(call.receipt.unwrap().ledger.unwrap().sequence, history as u64 + 1);
    assert!(view.find_run(&IdPrefix::new("run-b")).is_ok_and(|found| found == Match::None));
    // A call that was queued after the copy, and is in no segment, is lost. This stays visible.
    let is_lost = matches!(view.find_call(&IdPrefix::new("call-later"), &|_| true).unwrap(), Match::None);
    let lost: &[&str] = if is_lost { &["run-later"] } else { &[] };
    assert_eq!(forgotten(&queue), lost);
    assert_eq!(call.extra.contains_key("restored_from_receipt"), is_lost);
    if !is_lost {
        assert_eq!(listed(&view, &Calls::All), before);
    }
    drop(view);
    // The queue continues, and the ledger is not searched again.
    complete(&running, "call-next", "run-next", 7);
    let view = queue.read().unwrap();
    assert_eq!(forgotten(&queue), lost);
    assert_eq!(stored(&view, "call-next").call.receipt.unwrap().ledger.unwrap().sequence, history as u64 + 3);
}

#[test]
fn an_older_journal_does_not_run_a_call_again() {
    for history in [0, 3, 200] {
        put_back_after_a_run(history, |_, _| {});
        put_back_after_a_run(history, |fs, _| delete_caches(fs));
        put_back_after_a_run(history, |_, queue| {
            queue.compact(at(9)).unwrap();
        });
        put_back_after_a_run(history, |fs, queue| {
            queue.compact(at(9)).unwrap();
            queue.compact(at(9)).unwrap();
            delete_caches(fs);
        });
    }
}

#[test]
fn a_truncated_journal_is_finished_from_receipts() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), false);
    let running = common::queue(fs.clone(), true);
    for number in 0..4 {
        complete(&running, &format!("call-{number}"), &format!("run-{number}"), number);
    }
    let whole = copy(&fs);
    let before = listed(&queue.read().unwrap(), &Calls::All);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for kept in 1..lines.len() {
        put_back(&fs, &lines[..kept].concat());
        // Calls that are still known have run, and do not run again.
        drop(queue.lock(at(9)).unwrap());
        let after = listed(&queue.read().unwrap(), &Calls::All);
        assert_eq!(after, before[..after.len()], "{kept} lines");
        let view = queue.read().unwrap();
        assert_eq!(view.verify(1).unwrap().findings.len(), before.len() - after.len(), "{kept} lines");
    }
}

#[test]
fn a_segment_keeps_a_rejection_for_an_older_journal() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    let pending = copy(&fs);
    let mut locked = queue.lock(at(2)).unwrap();
    locked.review(&call_id("call-a"), 1, Review::Reject("no".into()), at(2)).unwrap();
    drop(locked);
    queue.compact(at(2)).unwrap();
    put_back(&fs, &pending);
    enqueue(&queue, "call-b", "y", 3).unwrap();
    let expect = ["call-a rejected", "call-b pending"];
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), expect);
    queue.compact(at(4)).unwrap();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), expect);
}

#[test]
fn a_receipt_restores_a_run_lost_in_the_middle() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    let approved = copy(&fs).len();
    start(&queue, "call-a", "run-a", 3).unwrap();
    finish(&queue, "call-a", "run-a", "completed", 4, vec![]).unwrap();
    let ran = copy(&fs).len();
    complete(&queue, "call-b", "run-b", 5);
    let whole = copy(&fs);
    put_back(&fs, &[&whole[..approved], &whole[ran..]].concat());
    assert_eq!(forgotten(&queue), ["run-a"]);
    let error = claim_as_seen(&queue, "call-a", "run-a");
    assert!(matches!(error, QueueError::HasRun { status: CallStatus::Completed, .. }), "{error}");
    assert!(forgotten(&queue).is_empty());
}

#[test]
fn checkpoints_and_answers_are_restored_from_files() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    let approved = copy(&fs);
    start(&queue, "call-a", "run-a", 3).unwrap();
    finish(&queue, "call-a", "run-a", "waiting", 4, vec![checkpoint("ask", "call-a", "run-a")]).unwrap();
    let status = || {
        drop(queue.lock(at(9)).unwrap());
        stored(&queue.read().unwrap(), "call-a").call.status
    };
    put_back(&fs, &approved);
    assert_eq!(status(), CallStatus::Waiting);
    let mut locked = queue.lock(at(5)).unwrap();
    locked.answer(&"ask".parse().unwrap(), &Answer::Approve("yes".into()), at(5)).unwrap();
    drop(locked);
    put_back(&fs, &approved);
    assert_eq!(status(), CallStatus::ResumePending);
    start(&queue, "call-a", "run-b", 6).unwrap();
    finish(&queue, "call-a", "run-b", "completed", 7, vec![]).unwrap();
    put_back(&fs, &approved);
    assert_eq!(status(), CallStatus::Completed);
    assert!(forgotten(&queue).is_empty());
}

#[test]
fn a_lost_receipt_does_not_let_its_call_run_again() {
    for damage in [None, Some(b"{}".as_slice())] {
        let fs = MemoryFs::new();
        let queue = queue(fs.clone(), true);
        enqueue(&queue, "call-a", "x", 1).unwrap();
        approve(&queue, "call-a", 2).unwrap();
        let approved = copy(&fs);
        start(&queue, "call-a", "run-a", 3).unwrap();
        finish(&queue, "call-a", "run-a", "failed", 4, vec![]).unwrap();
        put_back(&fs, &approved);
        let receipt = path(".brigade/tools/runs/run-a.json");
        match damage {
            None => fs.remove(&receipt).unwrap(),
            Some(bytes) => fs.write_atomic(&receipt, bytes, FileMode::Private).unwrap(),
        }
        let error = claim_as_seen(&queue, "call-a", "run-b");
        assert!(matches!(error, QueueError::HasRun { status: CallStatus::Failed, .. }), "{error}");
    }
}

/// Damages the ledger, given its bytes.
type Damage<'d> = dyn Fn(&MemoryFs, Vec<u8>) + 'd;

/// A workspace with three runs and a damaged ledger.
fn with_ledger(damage: impl Fn(&MemoryFs, Vec<u8>)) -> (MemoryFs, TestQueue) {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    for number in 1..4 {
        complete(&queue, &format!("call-{number}"), &format!("run-{number}"), number);
    }
    let ledger = fs.read(&path(LEDGER), 1 << 20).unwrap();
    fs.remove(&path(LEDGER)).unwrap();
    damage(&fs, ledger);
    (fs, queue)
}

#[test]
fn runs_are_served_with_any_damage_to_the_ledger() {
    let write = |fs: &MemoryFs, bytes: &[u8]| {
        fs.write_atomic(&path(LEDGER), bytes, FileMode::Private).unwrap();
    };
    let first_line = |ledger: &[u8]| ledger.split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    let damages: [&Damage<'_>; 7] = [
        &|_, _| {},
        &|fs, _| write(fs, b""),
        &|fs, _| write(fs, b"garbage\n\xff\n"),
        &|fs, ledger| write(fs, &first_line(&ledger)),
        &|fs, ledger| write(fs, &ledger[first_line(&ledger).len()..]),
        &|fs, ledger| write(fs, &[&ledger, b"garbage\n".as_slice()].concat()),
        &|fs, _| fs.create_dir(&path(LEDGER)).unwrap(),
    ];
    for (number, damage) in damages.iter().enumerate() {
        let (fs, queue) = with_ledger(damage);
        let view = queue.read().unwrap();
        let newest = view.receipts(2).unwrap();
        let ids: Vec<&str> = newest.receipts.iter().map(|run| run.receipt.id.as_str()).collect();
        assert_eq!(ids, ["run-3", "run-2"], "damage {number}");
        assert_eq!(view.receipts(usize::MAX).unwrap().receipts.len(), 3);
        assert_eq!(view.run_counts().unwrap()["completed"], 3, "damage {number}");
        assert!(matches!(view.find_run(&IdPrefix::new("run-2")).unwrap(), Match::One(FoundReceipt::Good(_))));
        assert!(
            matches!(view.find_run(&IdPrefix::new("run-")).unwrap(), Match::Ambiguous(ids) if ids.len() == 3)
        );
        assert!(!view.verify(1).unwrap().findings.is_empty(), "damage {number}");
        assert!(!queue.check().unwrap().damage.is_empty(), "damage {number}");
        drop(view);
        // A new run works, reuses no sequence, and hides nothing.
        complete(&queue, "call-4", "run-4", 4);
        let view = queue.read().unwrap();
        assert_eq!(stored(&view, "call-4").call.receipt.unwrap().ledger.unwrap().sequence, 4);
        // A line that belongs to no entry hides nothing once it is removed.
        let is_healed = number == 5;
        assert_eq!(view.verify(1).unwrap().findings.is_empty(), is_healed, "damage {number}");
        let newest = view.receipts(4).unwrap();
        assert_eq!(newest.receipts.len(), 4, "damage {number}");
        assert_eq!(view.run_counts().unwrap()["completed"], 4, "damage {number}");
        let folder = fs.list_dir(&path(".brigade/tools/runs")).unwrap();
        assert_eq!(
            folder.iter().any(|entry| entry.name == "ledger.quarantine-1.jsonl"),
            [2, 5, 6].contains(&number),
            "data that is not an entry is moved: damage {number}"
        );
    }
}

#[test]
fn a_bad_ledger_line_is_reported_but_no_receipt() {
    let lines = |ledger: &[u8]| -> Vec<Vec<u8>> {
        ledger.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    // The lines for the three entries, with an unrelated or a damaged line.
    type Write<'a> = &'a dyn Fn(&mut Vec<Vec<u8>>);
    let cases: [(Write<'_>, Option<u64>, u64, &str); 4] = [
        (&|lines| lines.insert(1, b"garbage\n".to_vec()), None, 2, ""),
        (&|lines| lines.push(b"garbage\n".to_vec()), None, 4, ""),
        (&|lines| lines[1] = b"garbage\n".to_vec(), Some(2), 2, "run-2"),
        (&|lines| lines[2] = b"garbage\n".to_vec(), Some(3), 3, "run-3"),
    ];
    for (write, sequence, line, run) in cases {
        let (_fs, queue) = with_ledger(|fs, ledger| {
            let mut lines = lines(&ledger);
            write(&mut lines);
            fs.write_atomic(&path(LEDGER), &lines.concat(), FileMode::Private).unwrap();
        });
        let findings = queue.read().unwrap().verify(1).unwrap().findings;
        let seen: Vec<_> =
            findings.iter().map(|found| (found.sequence, found.line, found.run_id.as_str())).collect();
        assert_eq!(seen, [(sequence, Some(line), run)]);
        // A compaction moves the line to a quarantine. If it was an entry, that entry stays missing, and no other is
        // reported.
        let compaction = queue.compact(at(5)).unwrap();
        assert_eq!(compaction.quarantined, 1);
        complete(&queue, "call-4", "run-4", 6);
        let findings = queue.read().unwrap().verify(1).unwrap().findings;
        let seen: Vec<_> = findings.iter().map(|found| (found.sequence, found.run_id.as_str())).collect();
        assert_eq!(seen, sequence.map(|sequence| (Some(sequence), run)).into_iter().collect::<Vec<_>>());
        assert_eq!(queue.check().unwrap().quarantined.len(), 1);
    }
}

/// Damages the only segment of three finished calls. After a compaction nothing is reported but a quarantine of
/// `lines`.
fn with_segment(damage: impl Fn(&MemoryFs, &brigade_fs::RelPath, Vec<u8>), quarantined: u64) {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    for number in 1..4 {
        complete(&queue, &format!("call-{number}"), &format!("run-{number}"), number);
    }
    queue.compact(at(4)).unwrap();
    let folder = path(".brigade/tools/calls");
    let segment =
        fs.list_dir(&folder).unwrap().into_iter().find(|entry| entry.name.ends_with(".jsonl")).unwrap();
    let segment = folder.join(&segment.name).unwrap();
    let bytes = fs.read(&segment, 1 << 20).unwrap();
    damage(&fs, &segment, bytes.clone());
    assert!(!queue.check().unwrap().damage.is_empty());
    let compaction = queue.compact(at(5)).unwrap();
    assert_eq!(compaction.quarantined, quarantined);
    let view = queue.read().unwrap();
    let check = queue.check().unwrap();
    assert_eq!((check.damage, check.forgotten_receipts), (vec![], vec![]));
    assert_eq!(check.quarantined, [(".brigade/tools/calls.quarantine-1.jsonl".to_owned(), quarantined)]);
    assert_eq!(view.verify(1).unwrap().findings, []);
    let mut listed = listed(&view, &Calls::All);
    listed.sort();
    assert_eq!(listed, ["call-1 completed", "call-2 completed", "call-3 completed"]);
    drop(view);
    // Records that seemed lost and reappear are recovered, without duplicates.
    fs.write_atomic(&segment, &bytes, FileMode::Private).unwrap();
    enqueue(&queue, "call-4", "x", 6).unwrap();
    assert_eq!(self::listed(&queue.read().unwrap(), &Calls::All).len(), 4);
}

#[test]
fn unreadable_calls_are_restored_from_receipts() {
    let write = |fs: &MemoryFs, path: &brigade_fs::RelPath, bytes: &[u8]| {
        fs.write_atomic(path, bytes, FileMode::Private).unwrap();
    };
    with_segment(|fs, path, bytes| write(fs, path, &[b"garbage\n", &*bytes].concat()), 1);
    with_segment(|fs, path, bytes| write(fs, path, &bytes[..bytes.len() - 50]), 1);
    with_segment(|fs, path, bytes| write(fs, path, &[&bytes[..40], b"\n\xff", &bytes[40..]].concat()), 2);
    with_segment(|fs, path, _| fs.remove(path).unwrap(), 1);
}

#[test]
fn receipts_alone_are_not_a_clean_start() {
    let (fs, queue) = with_ledger(|_, _| {});
    fs.remove(&path(JOURNAL)).unwrap();
    let receipt = path(".brigade/tools/runs/run-1.json");
    let bytes = fs.read(&receipt, 1 << 20).unwrap();
    let with_schema =
        String::from_utf8(bytes).unwrap().replacen('{', "{\n  \"schema\": \"brigade.receipt.v1\",", 1);
    fs.write_atomic(&receipt, with_schema.as_bytes(), FileMode::Private).unwrap();
    let view = queue.read().unwrap();
    let findings = queue.read().unwrap().verify(1).unwrap().findings;
    assert_eq!(findings.len(), 3);
    assert!(findings.iter().all(|finding| finding.tampering == Tampering::Added));
    assert_eq!(view.receipts(1).unwrap().receipts[0].receipt.id.as_str(), "run-3");
}

fn batch(queue: &TestQueue, count: usize) {
    let mut make = |n: usize, _: &dyn Fn(&CallId) -> bool| call(&format!("new-{n}"), &format!("new-{n}"), 9);
    queue.lock(at(9)).unwrap().enqueue_all(count, OnDuplicate::Skip, &mut make).unwrap();
}

#[test]
fn a_batch_that_was_cut_off_anywhere_is_absent() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    let before = copy(&fs);
    batch(&queue, 3);
    let whole = copy(&fs);
    let all = ["call-a pending", "new-0 pending", "new-1 pending", "new-2 pending"];
    let quarantine = path(".brigade/tools/calls.quarantine-1.jsonl");
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let near_ends = ends.flat_map(|at| at - 1..at + 4);
    let cuts: BTreeSet<usize> = near_ends.chain((0..=whole.len()).step_by(97)).collect();
    for cut in cuts.into_iter().filter(|cut| (before.len()..=whole.len()).contains(cut)) {
        put_back(&fs, &whole[..cut]);
        let seen = listed(&queue.read().unwrap(), &Calls::All);
        // A last line that lacks only its line feed is complete.
        let is_whole = whole.len() <= cut + 1;
        assert_eq!(seen, if is_whole { &all[..] } else { &all[..1] }, "cut at {cut}");
        let damage = queue.damage().unwrap();
        assert_eq!(damage.is_empty(), is_whole || cut == before.len(), "{damage:?}");
        // The next writer moves the rest to a quarantine, where it can be read.
        enqueue(&queue, "call-z", "z", 10).unwrap();
        let now = listed(&queue.read().unwrap(), &Calls::All);
        assert_eq!(now.len(), seen.len() + 1, "cut at {cut}");
        assert!(queue.damage().unwrap().is_empty());
        if !is_whole && before.len() < cut {
            let moved = fs.read(&quarantine, 1 << 20).unwrap();
            assert!(moved.starts_with(&whole[before.len()..cut.min(before.len() + 100)]));
            fs.remove(&quarantine).unwrap();
        }
    }
}

#[test]
fn an_acknowledged_batch_survives_a_damaged_line() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    batch(&queue, 3);
    let whole = copy(&fs);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for damaged in 2..lines.len() {
        let mut lines = lines.clone();
        lines[damaged] = b"garbage\n";
        put_back(&fs, &lines.concat());
        assert_eq!(listed(&queue.read().unwrap(), &Calls::All).len(), 3, "line {damaged}");
    }
    // The marks are valid only in the journal that the batch was appended to.
    put_back(&fs, &whole);
    approve(&queue, "new-2", 10).unwrap();
    queue.compact(at(11)).unwrap();
    start(&queue, "new-2", "run-2", 12).unwrap();
    finish(&queue, "new-2", "run-2", "completed", 13, vec![]).unwrap();
    queue.compact(at(14)).unwrap();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All).len(), 4);
    assert!(queue.damage().unwrap().is_empty());
}

#[test]
fn an_attempt_is_in_the_ledger_but_not_a_call() {
    let put = |fs: &MemoryFs, ledger: Vec<u8>| {
        fs.write_atomic(&path(LEDGER), &ledger, FileMode::Private).unwrap();
    };
    let (_, queue) = with_ledger(put);
    let mut attempt = receipt("task-1", "run-9", "failed", 9, &[]);
    attempt.kind = Some(Receipt::ATTEMPT.to_owned());
    attempt.execution_id = Some("task-1".to_owned());
    let calls = listed(&queue.read().unwrap(), &Calls::All);
    queue.lock(at(9)).unwrap().record_attempt(&attempt).unwrap();
    let checked = queue.read().unwrap().verify(1).unwrap();
    assert_eq!((checked.checked, checked.findings), (4, Vec::new()));
    // Later writers have nothing to recover.
    enqueue(&queue, "call-9", "x", 10).unwrap();
    let verified = queue.read().unwrap().verify(1).unwrap();
    assert_eq!(verified.findings, Vec::new());
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All).len(), calls.len() + 1);
}
