//! Performs every change with a disk failure or power loss at each step. Afterwards the state is the old or the new
//! one, acknowledged changes are present, and the queue still works.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod common;

use brigade_call::CallStatus;
use brigade_core::Json;
use brigade_fs::{Crash, Fault, FaultyFs, FileMode, Fs, MemoryFs};
use brigade_queue::{Answer, Calls, OnDuplicate, QueueError, Review};
use common::*;

const CRASHES: [Crash; 4] = [Crash::SyncedOnly, Crash::Everything, Crash::Some(1), Crash::Some(2)];

/// The observable state, one line per item.
fn observe(queue: &TestQueue) -> Vec<String> {
    let view = queue.read().unwrap();
    let mut seen = listed(&view, &Calls::All);
    for line in &seen {
        // Listing and lookup agree.
        let (id, status) = line.split_once(' ').unwrap();
        assert_eq!(stored(&view, id).call.status.as_str(), status);
    }
    let checkpoints = view.checkpoints().unwrap();
    assert!(checkpoints.errors.is_empty(), "{:?}", checkpoints.errors);
    seen.extend(
        checkpoints
            .checkpoints
            .iter()
            .map(|stored| format!("{} {}", stored.checkpoint.id, stored.checkpoint.status.as_str())),
    );
    seen.sort();
    seen
}

/// Like [`observe`], after a writer has repaired the state. Receipts and the ledger must then match.
fn observe_recovered(queue: &TestQueue) -> Vec<String> {
    drop(queue.lock(at(900)).unwrap());
    let view = queue.read().unwrap();
    let verification = view.verify(1).unwrap();
    assert!(verification.is_unadopted || verification.findings.is_empty(), "{verification:?}");
    let mut seen = observe(queue);
    let runs = view.receipts(usize::MAX).unwrap();
    assert!(runs.errors.is_empty(), "{:?}", runs.errors);
    seen.extend(runs.receipts.iter().map(|run| format!("{} {}", run.receipt.id, run.receipt.status)));
    seen
}

/// Performs a change with every fault at every step.
///
/// `start` builds the initial state. Runners are alive during the change, and gone afterwards.
fn at_every_step(start: impl Fn() -> MemoryFs, change: impl Fn(&TestQueue) -> Result<(), QueueError>) {
    at_every_step_with(Readers::SeeIt, start, change);
}

/// What readers see after a crash, before the next writer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// The same as after the next writer.
    SeeIt,
    /// Less: only a writer recovers records that the journal does not know.
    WaitForAWriter,
}

fn at_every_step_with(
    readers: Readers,
    start: impl Fn() -> MemoryFs,
    change: impl Fn(&TestQueue) -> Result<(), QueueError>,
) {
    let old = observe_recovered(&queue(start(), false));
    let (new, steps) = {
        let fs = FaultyFs::new(start(), Fault::None);
        change(&queue(fs.clone(), true)).unwrap();
        (observe_recovered(&queue(fs.after_crash(Crash::SyncedOnly), false)), fs.steps())
    };
    assert!(1 < steps);
    for step in 0..=steps {
        for fault in [Fault::PowerLossAt(step), Fault::BrokenAt(step), Fault::NoSpaceFrom(step)] {
            let fs = FaultyFs::new(start(), fault);
            let acknowledged = change(&queue(fs.clone(), true)).is_ok();
            // The outcomes of a power loss differ most at a power loss fault.
            let crashes = if matches!(fault, Fault::PowerLossAt(_)) { &CRASHES[..] } else { &CRASHES[..2] };
            for crash in crashes.iter().copied() {
                let case = format!("{fault:?}, {crash:?}, acknowledged: {acknowledged}");
                let left = fs.after_crash(crash);
                let queue = queue(left.clone(), false);
                let read = observe(&queue);
                let seen = observe_recovered(&queue);
                assert!(
                    seen == new || (seen == old && !acknowledged),
                    "{case}\n seen {seen:?}\n  old {old:?}\n  new {new:?}"
                );
                assert!(
                    readers == Readers::WaitForAWriter || read.iter().all(|line| seen.contains(line)),
                    "{case}: a reader saw {read:?}, then {seen:?}"
                );
                if crash != Crash::Everything {
                    continue;
                }
                // The queue still works.
                enqueue(&queue, "call-next", "next", 901).unwrap();
                assert!(observe_recovered(&queue).contains(&"call-next pending".to_owned()), "{case}");
                assert!(queue.damage().unwrap().is_empty(), "{case}");
            }
        }
    }
}

fn with(build: impl Fn(&TestQueue)) -> impl Fn() -> MemoryFs {
    move || {
        let fs = MemoryFs::new();
        build(&queue(fs.clone(), true));
        fs
    }
}

fn approved(queue: &TestQueue) {
    complete(queue, "call-old", "run-old", 1);
    enqueue(queue, "call-a", "x", 2).unwrap();
    approve(queue, "call-a", 3).unwrap();
}

fn running(queue: &TestQueue) {
    approved(queue);
    start(queue, "call-a", "run-a", 4).unwrap();
}

fn waiting(queue: &TestQueue) {
    running(queue);
    finish(queue, "call-a", "run-a", "waiting", 5, vec![checkpoint("ask", "call-a", "run-a")]).unwrap();
}

#[test]
fn the_first_call_of_a_workspace() {
    at_every_step(MemoryFs::new, |queue| enqueue(queue, "call-a", "x", 1).map(drop));
}

#[test]
fn queueing_a_batch() {
    // A batch is one write, so it is complete or absent.
    let batch = |queue: &TestQueue| {
        let mut make =
            |n, _: &dyn Fn(&brigade_core::CallId) -> bool| call(&format!("call-{n}"), &format!("{n}"), 9);
        queue.lock(at(9))?.enqueue_all(5, OnDuplicate::Skip, &mut make).map(drop)
    };
    at_every_step(with(approved), batch);
}

#[test]
fn reviewing() {
    let review = |review: fn() -> Review| {
        move |queue: &TestQueue| {
            let mut locked = queue.lock(at(9))?;
            locked.review(&call_id("call-a"), 2, review(), at(9)).map(drop)
        }
    };
    at_every_step(with(approved), review(|| Review::Hold("later".into())));
    at_every_step(with(approved), review(|| Review::Reject("no".into())));
    let pending = with(|queue| drop(enqueue(queue, "call-a", "x", 1).unwrap()));
    at_every_step(pending, |queue| approve(queue, "call-a", 9).map(drop));
}

#[test]
fn claiming() {
    // Later observers find the runner gone, so the new state is an interrupted run.
    at_every_step(with(approved), |queue| start(queue, "call-a", "run-a", 9).map(drop));
}

#[test]
fn finishing() {
    at_every_step(with(running), |queue| finish(queue, "call-a", "run-a", "completed", 9, vec![]).map(drop));
}

#[test]
fn pausing_at_checkpoints() {
    let asked = || vec![checkpoint("ask", "call-a", "run-a"), checkpoint("again", "call-a", "run-a")];
    at_every_step(with(running), |queue| finish(queue, "call-a", "run-a", "waiting", 9, asked()).map(drop));
}

#[test]
fn answering_checkpoints() {
    let answer = |answer: Answer| {
        move |queue: &TestQueue| {
            let mut locked = queue.lock(at(9))?;
            locked.answer(&"ask".parse().unwrap(), &answer, at(9)).map(drop)
        }
    };
    at_every_step(with(waiting), answer(Answer::Approve("yes".into())));
    at_every_step(with(waiting), answer(Answer::Reject("no".into())));
}

#[test]
fn finishing_a_resumed_run() {
    let resumed = with(|queue| {
        waiting(queue);
        let mut locked = queue.lock(at(6)).unwrap();
        locked.answer(&"ask".parse().unwrap(), &Answer::Approve("yes".into()), at(6)).unwrap();
        drop(locked);
        start(queue, "call-a", "run-b", 7).unwrap();
    });
    at_every_step(resumed, |queue| finish(queue, "call-a", "run-b", "failed", 9, vec![]).map(drop));
}

#[test]
fn compacting() {
    let several = with(|queue| {
        for number in 0..3 {
            complete(queue, &format!("call-{number}"), &format!("run-{number}"), number);
        }
        queue.compact(at(4)).unwrap();
        for number in 3..5 {
            complete(queue, &format!("call-{number}"), &format!("run-{number}"), number);
        }
        waiting(queue);
    });
    at_every_step(several, |queue| queue.compact(at(9)).map(drop));
}

#[test]
fn moving_unreadable_lines_to_a_quarantine() {
    let damaged = || {
        let fs = MemoryFs::new();
        approved(&queue(fs.clone(), true));
        fs.append_durable(&path(".brigade/tools/calls.jsonl"), b"garbage\n{\"id\":\"call-torn\",").unwrap();
        fs
    };
    at_every_step(damaged, |queue| enqueue(queue, "call-b", "y", 9).map(drop));
}

#[test]
fn repairing_finished_calls_and_the_ledger() {
    let damaged = || {
        let fs = MemoryFs::new();
        let queue = queue(fs.clone(), true);
        for number in 1..4 {
            complete(&queue, &format!("call-{number}"), &format!("run-{number}"), number);
        }
        queue.compact(at(4)).unwrap();
        let folder = path(".brigade/tools/calls");
        let names = fs.list_dir(&folder).unwrap().into_iter().map(|entry| entry.name);
        let segment = folder.join(&names.filter(|name| name.ends_with(".jsonl")).max().unwrap()).unwrap();
        let bytes = fs.read(&segment, 1 << 20).unwrap();
        let torn = [b"garbage\n", &bytes[..bytes.len() - 50]].concat();
        fs.write_atomic(&segment, &torn, FileMode::Private).unwrap();
        fs.append_durable(&path(".brigade/tools/runs/ledger.jsonl"), b"garbage\n").unwrap();
        fs
    };
    let mend = |queue: &TestQueue| queue.compact(at(9)).map(drop);
    let steps = {
        let fs = FaultyFs::new(damaged(), Fault::None);
        mend(&queue(fs.clone(), true)).unwrap();
        fs.steps()
    };
    for step in 0..=steps {
        for fault in [Fault::PowerLossAt(step), Fault::NoSpaceFrom(step)] {
            let fs = FaultyFs::new(damaged(), fault);
            let _ = mend(&queue(fs.clone(), true));
            for crash in CRASHES {
                let left = fs.after_crash(crash);
                let queue = queue(left, false);
                mend(&queue).unwrap();
                let view = queue.read().unwrap();
                let mut calls = listed(&view, &Calls::All);
                calls.sort();
                let case = format!("{fault:?}, {crash:?}");
                assert_eq!(calls, ["call-1 completed", "call-2 completed", "call-3 completed"], "{case}");
                let check = queue.check().unwrap();
                assert_eq!((check.damage, check.forgotten_receipts), (vec![], vec![]), "{case}");
                assert_eq!(view.verify(1).unwrap().findings, [], "{case}");
                let set_aside: u64 = check.quarantined.iter().map(|(_, lines)| lines).sum();
                assert!(3 <= set_aside, "{case}: {:?}", check.quarantined);
            }
        }
    }
}

#[test]
fn calls_unknown_to_an_older_journal_are_recovered() {
    let journal = path(".brigade/tools/calls.jsonl");
    let put_back = |compacted: bool| {
        let journal = journal.clone();
        move || {
            let fs = MemoryFs::new();
            let queue = queue(fs.clone(), true);
            approved(&queue);
            let older = fs.read(&journal, 1 << 20).unwrap();
            start(&queue, "call-a", "run-a", 4).unwrap();
            finish(&queue, "call-a", "run-a", "completed", 5, vec![]).unwrap();
            if compacted {
                queue.compact(at(6)).unwrap();
            }
            fs.write_atomic(&journal, &older, FileMode::Private).unwrap();
            fs
        }
    };
    for compacted in [false, true] {
        let queueing = |queue: &TestQueue| enqueue(queue, "call-b", "y", 9).map(drop);
        at_every_step_with(Readers::WaitForAWriter, put_back(compacted), queueing);
    }
}

#[test]
fn adopting_the_state_of_v0_30() {
    let adopted = || {
        let fs = MemoryFs::new();
        fs.create_dir_all(&path(".brigade/tools/runs")).unwrap();
        fs.create_dir_all(&path(".brigade/tools/checkpoints")).unwrap();
        let record = |id: &str, status: &str, more: &str| {
            format!(
                "{{\"id\":\"{id}\",\"status\":\"{status}\",\"tool_id\":\"t\",\"created_at\":\"2026-01-01T00:00:00+00:00\"{more}}}\n"
            )
        };
        let journal = [
            record("call-1", "pending", ""),
            record("call-2", "completed", ",\"run_id\":\"run-2\",\"receipt_path\":\"/old/run-2.json\""),
            record("call-3", "approved", ",\"x\":NaN"),
            record("call-4", "waiting", ",\"run_id\":\"run-4\",\"checkpoint_id\":\"ask\""),
        ];
        let write = |name: &str, bytes: &[u8]| {
            fs.write_atomic(&path(&format!(".brigade/tools/{name}")), bytes, FileMode::Private).unwrap();
        };
        write("calls.jsonl", journal.concat().as_bytes());
        for (number, status) in [(2, "completed"), (4, "waiting")] {
            let bytes =
                receipt(&format!("call-{number}"), &format!("run-{number}"), status, number, &[]).to_bytes();
            write(&format!("runs/run-{number}.json"), &bytes);
        }
        let document = Json::Object(checkpoint("ask", "call-4", "run-4").to_document());
        write("checkpoints/ask.json", document.to_pretty().as_bytes());
        fs
    };
    at_every_step(adopted, |queue| enqueue(queue, "call-b", "y", 9).map(drop));
    at_every_step(adopted, |queue| {
        let mut locked = queue.lock(at(9))?;
        locked.answer(&"ask".parse().unwrap(), &Answer::Reject("no".into()), at(9)).map(drop)
    });
}

#[test]
fn a_writer_rereads_the_disk_after_a_failure() {
    for step in 0..40 {
        let fs = FaultyFs::new(with(approved)(), Fault::BrokenAt(step));
        let queue = queue(fs.clone(), true);
        let Ok(mut locked) = queue.lock(at(5)) else { continue };
        let first = locked.review(&call_id("call-a"), 2, Review::Hold("later".into()), at(5));
        let revision = locked.view().call(&call_id("call-a")).unwrap().unwrap().revision;
        let second = enqueue_locked(&mut locked, "call-b", "y", 6);
        drop(locked);
        let view = queue.read().unwrap();
        let status = stored(&view, "call-a").call.status;
        assert_eq!(first.is_ok(), status == CallStatus::Held, "step {step}, revision {revision}");
        assert_eq!(second.is_ok(), view.call(&call_id("call-b")).unwrap().is_some(), "step {step}");
        assert!(first.is_ok() || second.is_ok());
    }
}
