//! Tests that the end of a run that could not be recorded is kept and recorded later (issue 12).

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod common;

use std::sync::Arc;

use brigade_call::{CallStatus, Checkpoint, RunObserved, TouchedFile};
use brigade_core::{Json, Timestamp};
use brigade_fs::{Crash, Fault, FaultyFs, FileMode, Fs, FsError, MemoryFs};
use brigade_queue::{Calls, Outcome, OutcomeReservation, QueueError, left_outcomes};
use common::*;

const FILE: &str = ".brigade/tools/outcomes/run-a.json";

/// A queue on files with a call that runs.
fn running() -> MemoryFs {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "a", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    fs
}

fn outcome(status: &str, checkpoints: Vec<Checkpoint>) -> Outcome {
    Outcome { receipt: receipt("call-a", "run-a", status, 3, &[]), checkpoints }
}

fn reserve(fs: impl Fs + 'static, run: &str) -> Result<OutcomeReservation, FsError> {
    OutcomeReservation::make(Arc::new(fs), &run_id(run))
}

/// Keeps an outcome like a runner that cannot get the lock.
fn keep(fs: impl Fs + 'static, outcome: Outcome) {
    record_late(reserve(fs, "run-a").unwrap(), outcome);
}

fn record_late(reserved: OutcomeReservation, outcome: Outcome) {
    let failed = reserved.claimed().record(Err(QueueError::Store("locked".to_owned())), outcome, at(8));
    let said = failed.unwrap_err().to_string();
    assert!(said.contains("locked; its outcome is kept, and the next command"), "{said}");
}

fn is_there(fs: &dyn Fs) -> bool {
    fs.exists(&path(FILE)).unwrap()
}

#[test]
fn a_kept_outcome_is_shown_and_then_recorded() {
    // The runner may still be alive, because it serves many calls.
    for runners_live in [false, true] {
        let fs = running();
        keep(fs.clone(), outcome("completed", Vec::new()));
        let queue = queue(fs.clone(), runners_live);
        let view = queue.read().unwrap();
        assert_eq!(listed(&view, &Calls::All), ["call-a completed"]);
        assert_eq!(stored(&view, "call-a").call.exit_code, Some(0));

        drop(queue.lock(at(9)).unwrap());
        let view = queue.read().unwrap();
        assert_eq!(listed(&view, &Calls::All), ["call-a completed"]);
        assert_eq!(stored(&view, "call-a").call.completed_at, Some(at(4)));
        let run = view.receipt("run-a").unwrap().unwrap().good().unwrap();
        assert_eq!((run.receipt.status.as_str(), run.receipt.exit_code), ("completed", Some(0)));
        assert!(view.verify(1).unwrap().findings.is_empty());
        assert!(!is_there(&fs));
    }
}

#[test]
fn checkpoints_of_a_kept_outcome_are_stored() {
    let fs = running();
    let taken = checkpoint("ask", "call-other", "run-other").to_document();
    let taken = Json::Object(taken).to_pretty();
    fs.create_dir_all(&path(".brigade/tools/checkpoints")).unwrap();
    fs.write_atomic(&path(".brigade/tools/checkpoints/ask.json"), taken.as_bytes(), FileMode::Private)
        .unwrap();
    let dropped = vec![checkpoint("ask", "call-a", "run-a"), checkpoint("else", "call-a", "run-a")];
    keep(fs.clone(), outcome("waiting", dropped));
    let queue = queue(fs.clone(), false);
    assert_eq!(stored(&queue.read().unwrap(), "call-a").call.status, CallStatus::Waiting);

    drop(queue.lock(at(9)).unwrap());
    let view = queue.read().unwrap();
    let call = stored(&view, "call-a").call;
    let ids: Vec<_> = call.checkpoint_ids.iter().map(|id| id.as_str()).collect();
    assert_eq!((&call.status, ids), (&CallStatus::Waiting, vec!["ask-2", "else"]));
    let run = view.receipt("run-a").unwrap().unwrap().good().unwrap();
    assert_eq!(run.receipt.checkpoint_ids, Some(vec!["ask-2".parse().unwrap(), "else".parse().unwrap()]));
    assert!(view.checkpoints().unwrap().errors.is_empty());
    assert!(!is_there(&fs));
}

#[test]
fn an_interrupted_repair_is_finished_by_the_next() {
    let start = || {
        let fs = running();
        keep(fs.clone(), outcome("waiting", vec![checkpoint("ask", "call-a", "run-a")]));
        fs
    };
    let steps = {
        let fs = FaultyFs::new(start(), Fault::None);
        drop(queue(fs.clone(), false).lock(at(9)).unwrap());
        fs.steps()
    };
    assert!(5 < steps);
    for step in 0..=steps {
        for fault in [Fault::PowerLossAt(step), Fault::BrokenAt(step), Fault::NoSpaceFrom(step)] {
            let fs = FaultyFs::new(start(), fault);
            let _ = queue(fs.clone(), false).lock(at(9));
            for crash in [Crash::SyncedOnly, Crash::Everything, Crash::Some(1)] {
                let fs = fs.after_crash(crash);
                let queue = queue(fs.clone(), false);
                drop(queue.lock(at(10)).unwrap());
                let view = queue.read().unwrap();
                assert_eq!(listed(&view, &Calls::All), ["call-a waiting"], "{fault:?} {crash:?}");
                let found = view.checkpoints().unwrap();
                assert_eq!(found.checkpoints.len(), 1, "{fault:?} {crash:?}");
                assert!(view.verify(1).unwrap().findings.is_empty());
            }
        }
    }
}

#[test]
fn an_incomplete_or_foreign_outcome_is_not_used() {
    let whole = {
        let fs = running();
        keep(fs.clone(), outcome("completed", Vec::new()));
        fs.read(&path(FILE), 1 << 20).unwrap()
    };
    let text = String::from_utf8(whole.clone()).unwrap();
    let other_run = text.replace("run-a", "run-b").into_bytes();
    let other_call = text.replace("call-a", "call-b").into_bytes();
    let no_end = text.replace("completed\"", "pending\"").into_bytes();
    for bytes in [&whole[..0], &whole[..whole.len() / 2], &other_run, &other_call, &no_end] {
        let fs = running();
        fs.create_dir_all(&path(FILE).parent()).unwrap();
        fs.write_atomic(&path(FILE), bytes, FileMode::Private).unwrap();
        let live = queue(fs.clone(), true);
        drop(live.lock(at(9)).unwrap());
        assert_eq!(stored(&live.read().unwrap(), "call-a").call.status, CallStatus::Running);
        let gone = queue(fs.clone(), false);
        drop(gone.lock(at(9)).unwrap());
        assert_eq!(stored(&gone.read().unwrap(), "call-a").call.status, CallStatus::Interrupted);
        assert!(!is_there(&fs), "the file of a killed runner is removed when its run is recorded");
    }
}

#[test]
fn space_is_reserved_before_and_released_after() {
    let fs = running();
    let first = reserve(fs.clone(), "run-a").unwrap();
    drop(reserve(fs.clone(), "run-a").unwrap());
    assert!(is_there(&fs), "it belongs to the first run");
    drop(first);
    assert!(!is_there(&fs));
    let reserved = reserve(fs.clone(), "run-a").unwrap().claimed();
    assert_eq!(fs.metadata(&path(FILE)).unwrap().len, 0);
    let live = queue(fs.clone(), true);
    reserved.record(live.lock(at(8)), outcome("completed", Vec::new()), at(8)).unwrap();
    assert!(!is_there(&fs));
    // The next run uses the same file. Two runs at once get one file each.
    let names = |fs: &MemoryFs| -> Vec<String> {
        let entries = fs.list_dir(&path(".brigade/tools/outcomes")).unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    };
    assert_eq!(names(&fs), ["spare-a"]);
    let (one, two) = (reserve(fs.clone(), "run-b").unwrap(), reserve(fs.clone(), "run-c").unwrap());
    assert_eq!(names(&fs), ["run-b.json", "run-c.json"]);
    drop((one, two));
    assert_eq!(names(&fs), ["spare-b", "spare-c"]);
    let is_running = |_: &str| false;
    let years = at(8_000_000_000);
    assert_eq!(left_outcomes(&fs, years, &is_running).len(), 2, "spare files are not kept forever");
    // Another process has recorded the run.
    let late = reserve(fs.clone(), "run-a").unwrap().claimed();
    let refused = late.record(live.lock(at(9)), outcome("failed", Vec::new()), at(9)).unwrap_err();
    assert!(refused.to_string().contains("interrupted from now on"), "{refused}");
    assert!(!is_there(&fs));

    // Without space, no file is left and the run does not start.
    let steps = {
        let fs = FaultyFs::new(MemoryFs::new(), Fault::None);
        drop(reserve(fs.clone(), "run-a").unwrap().claimed());
        fs.steps()
    };
    for step in 0..steps {
        let fs = FaultyFs::new(MemoryFs::new(), Fault::NoSpaceFrom(step));
        assert!(reserve(fs.clone(), "run-a").is_err(), "{step} of {steps}");
        assert!(!is_there(&fs));
    }
}

#[test]
fn files_of_killed_runs_are_removed() {
    let fs = running();
    let _killed = reserve(fs.clone(), "run-a").unwrap().claimed();
    let _unclaimed = reserve(fs.clone(), "run-u").unwrap();
    let now = fs.metadata(&path(FILE)).unwrap().modified;
    let later = Timestamp::from_unix_micros(now.unix_micros() + 2 * 3_600_000_000);
    let left = |at, running: &str| -> Vec<String> {
        let left = left_outcomes(&fs, at, &|run| run == running);
        left.iter().map(|path| path.name().to_owned()).collect()
    };
    assert_eq!(left(now, ""), [] as [&str; 0]);
    assert_eq!(left(later, "run-a"), ["run-u.json"]);
    fs.create_dir_all(&path(".brigade/tools/runs")).unwrap();
    fs.write_atomic(&path(".brigade/tools/runs/run-u.json"), b"{}", FileMode::Private).unwrap();
    assert_eq!(left(now, ""), ["run-u.json"]);
    let _next = reserve(fs.clone(), "run-next").unwrap();
    assert_eq!(left(later, ""), ["run-a.json", "run-next.json"]);
    // A kept outcome stays until it is recorded.
    keep(fs.clone(), outcome("completed", Vec::new()));
    assert_eq!(left(later, ""), ["run-next.json"]);
}

#[test]
fn lists_are_omitted_if_the_space_is_too_small() {
    let observed = RunObserved {
        state: brigade_call::ObservedState::Observed,
        complete: true,
        reason: Some("x".repeat(300 << 10)),
        read: Some(vec![brigade_call::ObservedFile { path: "a.py".to_owned(), ..Default::default() }]),
        ..Default::default()
    };
    let long = |observed: &RunObserved| {
        let mut outcome = outcome("completed", Vec::new());
        outcome.receipt.observed = Some(observed.clone());
        outcome
    };
    let kept = |fs: &dyn Fs| String::from_utf8(fs.read(&path(FILE), 1 << 20).unwrap()).unwrap();
    let fs = FaultyFs::new(running(), Fault::None);
    let reserved = reserve(fs.clone(), "run-a").unwrap();
    let next = fs.steps();
    record_late(reserved, long(&observed));
    assert!(kept(&fs).contains("a.py"));

    let fs = FaultyFs::new(running(), Fault::BrokenAt(next));
    record_late(reserve(fs.clone(), "run-a").unwrap(), long(&observed));
    let short = kept(&fs);
    assert!(!short.contains("a.py") && short.contains("the disk had no room"), "{}", &short[..300]);
}

#[test]
fn omitted_arguments_are_taken_from_the_call() {
    let mut long = outcome("completed", Vec::new());
    long.receipt.args = Json::object([("text", Json::from("x".repeat(300 << 10)))]);
    let file = TouchedFile { path: "a.txt".to_owned(), before: None, after: None };
    long.receipt.touched = Some(vec![file]);
    let fs = running();
    let counted = FaultyFs::new(running(), Fault::None);
    let reserved = reserve(counted.clone(), "run-a").unwrap();
    let next = counted.steps();
    drop(reserved);
    // The disk has only the reserved space.
    let full = FaultyFs::new(fs.clone(), Fault::BrokenAt(next));
    record_late(reserve(full, "run-a").unwrap(), long);
    assert!(fs.metadata(&path(FILE)).unwrap().len < 300 << 10);
    // The runner is still alive, and serves further calls.
    let queue = queue(fs.clone(), true);
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), ["call-a completed"]);
    drop(queue.lock(at(9)).unwrap());
    let view = queue.read().unwrap();
    let run = view.receipt("run-a").unwrap().unwrap().good().unwrap();
    assert_eq!(run.receipt.args, stored(&view, "call-a").call.args);
    assert_ne!(run.receipt.args, Json::Null);
    assert!(run.receipt.touched.is_none() && run.receipt.warnings.unwrap()[0].contains("no room"));
}

#[test]
fn unwritable_outcomes_are_recorded_by_their_process() {
    let fs = MemoryFs::new();
    let live = queue(fs.clone(), true);
    enqueue(&live, "call-a", "a", 1).unwrap();
    approve(&live, "call-a", 2).unwrap();
    start(&live, "call-a", "run-lost", 3).unwrap();
    let ended = Outcome { receipt: receipt("call-a", "run-lost", "failed", 3, &[]), checkpoints: Vec::new() };
    let counted = FaultyFs::new(running(), Fault::None);
    drop(reserve(counted.clone(), "run-lost").unwrap().claimed());
    let gone = FaultyFs::new(fs.clone(), Fault::PowerLossAt(counted.steps()));
    let reserved = reserve(gone, "run-lost").unwrap().claimed();
    let said = reserved.record(Err(QueueError::Store("full".to_owned())), ended, at(8)).unwrap_err();
    assert!(said.to_string().contains("this process keeps its outcome"), "{said}");
    assert_eq!(listed(&live.read().unwrap(), &Calls::All), ["call-a failed"]);
    drop(live.lock(at(9)).unwrap());
    let view = live.read().unwrap();
    assert_eq!(view.receipt("run-lost").unwrap().unwrap().good().unwrap().receipt.status.as_str(), "failed");
    assert!(view.verify(1).unwrap().findings.is_empty());
}
