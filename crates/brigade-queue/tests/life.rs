//! What a queue promises while nothing goes wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use brigade_call::CallStatus;
use brigade_core::{IdPrefix, Json};
use brigade_fs::{DiskFs, Fs, MemoryFs};
use brigade_queue::{
    Answer, Calls, Enqueued, Match, OnDuplicate, Queue, QueueError, Review, Runs, Tampering,
};
use common::*;

#[test]
fn a_call_lives_from_the_queue_to_its_receipt() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    complete(&queue, "call-a", "run-a", 1);
    let view = queue.read().unwrap();
    let call = stored(&*view, "call-a");
    assert_eq!((call.call.status.clone(), call.revision, call.sequence), (CallStatus::Completed, 4, 1));
    let link = call.call.receipt.unwrap();
    assert_eq!(link.path, ".brigade/tools/runs/run-a.json");
    let list = view.runs(Runs::Newest(1)).unwrap();
    assert_eq!(list.receipts[0].sha256, link.ledger.unwrap().sha256);
    assert_eq!(view.run_counts().unwrap(), BTreeMap::from([("completed".to_owned(), 1)]));
    let verification = view.verify(1).unwrap();
    assert_eq!((verification.checked, verification.findings), (1, vec![]));
}

#[test]
fn equal_calls_dedupe_while_they_wait_and_after_a_rejection() {
    let queue = queue(MemoryFs::new(), true);
    let kind = |enqueued: &Enqueued| match enqueued {
        Enqueued::Queued(_) => "queued",
        Enqueued::Duplicate(_) => "duplicate",
        Enqueued::Rejected(_) => "rejected",
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
    locked.compact(at(4)).unwrap();
    drop(locked);
    check("call-c", "tea", "rejected");
    check("call-d", "coffee", "queued");
    let mut locked = queue.lock(at(5)).unwrap();
    let twice =
        locked.enqueue_all(2, OnDuplicate::Skip, &mut |n, _| call(&format!("call-e{n}"), "milk", 5), at(5));
    assert_eq!(twice.unwrap().iter().map(kind).collect::<Vec<_>>(), ["queued", "duplicate"]);
    let replay = locked.enqueue_all(
        1,
        OnDuplicate::Queue,
        &mut |_, is_taken| {
            assert!(is_taken(&call_id("call-a")) && !is_taken(&call_id("call-f")));
            call("call-f", "milk", 5)
        },
        at(5),
    );
    assert_eq!(kind(&replay.unwrap()[0]), "queued");
    let taken = locked.enqueue_all(1, OnDuplicate::Queue, &mut |_, _| call("call-a", "new", 5), at(5));
    assert_eq!(taken.unwrap_err(), QueueError::IdTaken(call_id("call-a")));
}

#[test]
fn an_exact_id_wins_over_a_prefix_wherever_calls_are() {
    let queue = queue(MemoryFs::new(), true);
    complete(&queue, "call-1", "run-1", 1);
    complete(&queue, "call-1-queued-2", "run-1-resume", 2);
    queue.lock(at(3)).unwrap().compact(at(3)).unwrap();
    enqueue(&queue, "call-12", "x", 4).unwrap();
    let view = queue.read().unwrap();
    assert_eq!(stored(&*view, "call-1").call.id, call_id("call-1"));
    assert_eq!(stored(&*view, "call-1-").call.id, call_id("call-1-queued-2"));
    let Match::Ambiguous(ids) = view.find_call(&IdPrefix::new("call-")).unwrap() else { panic!("several") };
    assert_eq!(ids, ["call-1", "call-1-queued-2", "call-12"]);
    assert_eq!(view.find_call(&IdPrefix::new("")).unwrap(), Match::None);
    assert_eq!(view.find_call(&IdPrefix::new("call-2")).unwrap(), Match::None);
    assert!(
        matches!(view.find_run(&IdPrefix::new("run-1")).unwrap(), Match::One(Ok(found)) if found.receipt.id() == "run-1")
    );
    assert!(
        matches!(view.find_run(&IdPrefix::new("run-")).unwrap(), Match::Ambiguous(ids) if ids.len() == 2)
    );
}

#[test]
fn a_change_is_based_on_what_was_seen() {
    let queue = queue(MemoryFs::new(), true);
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

#[test]
fn calls_are_listed_in_the_order_of_their_creation_whatever_happened_to_them() {
    let queue = queue(MemoryFs::new(), true);
    for number in 0..400 {
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
    let status = |number: i32| match number % 4 {
        0 => "completed",
        2 => "approved",
        _ => "pending",
    };
    let expect: Vec<String> = (0..400).map(|number| format!("call-{number:03} {}", status(number))).collect();
    assert_eq!(listed(&*view, &Calls::All), expect);
    let of = |word: &str| expect.iter().filter(|line| line.ends_with(word)).cloned().collect::<Vec<_>>();
    assert_eq!(listed(&*view, &Calls::Of(CallStatus::Approved)), of("approved"));
    assert_eq!(listed(&*view, &Calls::Of(CallStatus::Completed)), of("completed"));
    let counts = [("approved", 100), ("completed", 100), ("pending", 200)];
    assert_eq!(view.call_counts().unwrap(), counts.map(|(word, count)| (word.to_owned(), count)).into());
    let check = view.check().unwrap();
    assert!((1..8).contains(&check.segments), "finished calls moved by themselves: {check:?}");
    let newest = view.runs(Runs::Newest(3)).unwrap().receipts;
    assert_eq!(
        newest.iter().map(|run| run.receipt.id()).collect::<Vec<_>>(),
        ["run-396", "run-392", "run-388"]
    );
    assert_eq!(view.runs(Runs::All).unwrap().receipts.len(), 100);
}

#[test]
fn caches_can_be_deleted_or_damaged_at_any_time() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    for number in 0..150 {
        complete(&queue, &format!("call-{number:03}"), &format!("run-{number:03}"), number);
    }
    let mut locked = queue.lock(at(999)).unwrap();
    locked
        .enqueue_all(
            400,
            OnDuplicate::Skip,
            &mut |n, _| call(&format!("new-{n:03}"), &format!("new-{n}"), 999),
            at(999),
        )
        .unwrap();
    drop(locked);
    let look = || {
        let view = queue.read().unwrap();
        (
            listed(&*view, &Calls::All),
            stored(&*view, "call-007"),
            stored(&*view, "new-399"),
            view.call_counts().unwrap(),
        )
    };
    let expect = look();
    assert_eq!(expect.0.len(), 550);
    let folder = path(".brigade/tools/calls");
    let indexes: Vec<_> =
        fs.list_dir(&folder).unwrap().into_iter().filter(|entry| entry.name.ends_with(".index")).collect();
    assert!(2 <= indexes.len());
    for damage in [None, Some(b"".to_vec()), Some(vec![b'x'; 70_000])] {
        for entry in &indexes {
            let index = folder.join(&entry.name).unwrap();
            match &damage {
                None => fs.remove(&index).unwrap(),
                Some(bytes) => fs.write_cache(&index, bytes).unwrap(),
            }
        }
        assert_eq!(look(), expect);
    }
    queue.lock(at(1000)).unwrap().compact(at(1000)).unwrap();
    for entry in fs.list_dir(&folder).unwrap().into_iter().filter(|entry| entry.name.ends_with(".index")) {
        let index = folder.join(&entry.name).unwrap();
        let bytes = fs.read(&index, 1 << 30).unwrap();
        for at in (0..bytes.len()).step_by(4_001) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs.write_cache(&index, &damaged).unwrap();
            let view = queue.read().unwrap();
            assert_eq!(stored(&*view, "call-007").call, expect.1.call);
            assert_eq!(stored(&*view, "new-399").call, expect.2.call);
        }
        fs.write_cache(&index, &bytes).unwrap();
    }
}

#[test]
fn a_run_whose_runner_is_gone_is_interrupted_for_every_reader_and_recorded_by_the_next_writer() {
    let fs = MemoryFs::new();
    let living = queue(fs.clone(), true);
    enqueue(&living, "call-a", "x", 1).unwrap();
    approve(&living, "call-a", 2).unwrap();
    start(&living, "call-a", "run-a", 3).unwrap();
    assert_eq!(stored(&*living.read().unwrap(), "call-a").call.status, CallStatus::Running);
    let gone = queue(fs.clone(), false);
    let before = fs.files();
    let view = gone.read().unwrap();
    assert_eq!(listed(&*view, &Calls::All), ["call-a interrupted"]);
    assert_eq!(listed(&*view, &Calls::Of(CallStatus::Interrupted)), ["call-a interrupted"]);
    assert!(listed(&*view, &Calls::Of(CallStatus::Running)).is_empty());
    assert_eq!(view.call_counts().unwrap(), BTreeMap::from([("interrupted".to_owned(), 1)]));
    assert_eq!(fs.files(), before, "readers do not write");
    drop(gone.lock(at(9)).unwrap());
    let view = living.read().unwrap();
    assert_eq!(listed(&*view, &Calls::All), ["call-a interrupted"]);
    let run = &view.runs(Runs::Newest(5)).unwrap().receipts[0];
    assert_eq!((run.receipt.id(), run.receipt.status()), ("run-a", "interrupted"));
    // Readers of receipts count on a number and a text there, however the run ended.
    let document = run.receipt.document();
    assert_eq!(document.get("duration_seconds"), Some(&Json::from(6.0)));
    assert_eq!(document.get("cwd"), Some(&Json::from(".")));
    assert!(view.verify(1).unwrap().findings.is_empty());
    let late = finish(&living, "call-a", "run-a", "completed", 10, Vec::new());
    assert!(matches!(late, Err(QueueError::NotThisRun { .. })));
}

#[test]
fn all_checkpoints_are_answered_before_a_call_resumes_and_none_is_overwritten() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
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
    let text =
        String::from_utf8(fs.read(&path(".brigade/tools/checkpoints/deploy-2.json"), 9999).unwrap()).unwrap();
    assert!(text.contains("\"selected_choice\": \"no\""), "the file follows the record: {text}");
    start(&queue, "call-a", "run-b", 6).unwrap();
    let finished = finish(&queue, "call-a", "run-b", "completed", 7, vec![]).unwrap();
    assert_eq!(finished.call.call.status, CallStatus::Completed);
    let list = queue.read().unwrap().checkpoints().unwrap();
    let states: Vec<_> = list
        .checkpoints
        .iter()
        .map(|stored| (stored.checkpoint.status.as_str().to_owned(), stored.checkpoint.resume_run_id.clone()))
        .collect();
    assert_eq!(states, vec![("resumed".to_owned(), Some("run-b".to_owned())); 2]);
    fs.write_cache(&path(".brigade/tools/checkpoints/broken.json"), b"{").unwrap();
    assert_eq!(queue.read().unwrap().checkpoints().unwrap().errors.len(), 1);
}

#[test]
fn verification_names_the_first_receipt_that_is_not_as_it_was() {
    let start = || {
        let fs = MemoryFs::new();
        let queue = queue(fs.clone(), true);
        for number in 1..=5 {
            complete(&queue, &format!("call-{number}"), &format!("run-{number}"), number);
        }
        fs
    };
    let ledger = path(".brigade/tools/runs/ledger.jsonl");
    let check = |change: &dyn Fn(&MemoryFs), expect: (Option<u64>, &str, Tampering)| {
        let fs = start();
        change(&fs);
        let verification = queue(fs, true).read().unwrap().verify(1).unwrap();
        let first = verification.first().expect("something is found");
        assert_eq!((first.sequence, first.run_id.as_str(), first.tampering), expect, "{verification:?}");
    };
    let file = |number: u32| path(&format!(".brigade/tools/runs/run-{number}.json"));
    let lines = |fs: &MemoryFs, change: &dyn Fn(&mut Vec<String>)| {
        let text = String::from_utf8(fs.read(&ledger, 1 << 20).unwrap()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs.write_cache(&ledger, (lines.join("\n") + "\n").as_bytes()).unwrap();
    };
    check(&|fs| fs.write_cache(&file(3), b"{}").unwrap(), (Some(3), "run-3", Tampering::Changed));
    check(&|fs| fs.remove(&file(2)).unwrap(), (Some(2), "run-2", Tampering::Removed));
    check(&|fs| fs.write_cache(&file(9), b"{}").unwrap(), (None, "run-9", Tampering::Added));
    check(&|fs| fs.remove(&ledger).unwrap(), (Some(1), "run-1", Tampering::CutOff));
    check(&|fs| lines(fs, &|lines| lines.truncate(3)), (Some(4), "run-4", Tampering::CutOff));
    check(&|fs| lines(fs, &|lines| drop(lines.remove(2))), (Some(3), "run-3", Tampering::Removed));
    check(&|fs| lines(fs, &|lines| lines.swap(1, 2)), (Some(2), "run-2", Tampering::Reordered));
    check(
        &|fs| lines(fs, &|lines| lines[1] = lines[1].replace("completed", "failed")),
        (Some(2), "run-2", Tampering::Changed),
    );
    check(&|fs| lines(fs, &|lines| lines[3] = "garbage".into()), (Some(4), "run-4", Tampering::Changed));
    let fs = start();
    fs.write_cache(&file(3), b"{}").unwrap();
    assert!(
        queue(fs, true).read().unwrap().verify(4).unwrap().findings.is_empty(),
        "only from the fourth on"
    );
}

#[test]
fn a_writer_that_gives_up_says_who_holds_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let open = |holder: &str, timeout| {
        let fs = std::sync::Arc::new(DiskFs::open(folder.path()).unwrap());
        brigade_queue::JournalQueue::new(fs, holder, timeout, std::sync::Arc::new(|_| true))
    };
    let first = open("4711 call run since 12:00", Duration::ZERO);
    let held = first.lock(at(1)).unwrap();
    let second = open("4712", Duration::from_millis(1));
    let refused = second.lock(at(2)).err().unwrap().to_string();
    assert!(refused.contains("by 4711 call run since 12:00"), "{refused}");
    assert!(second.read().unwrap().call_counts().unwrap().is_empty(), "readers do not wait");
    drop(held);
    drop(second.lock(at(3)).unwrap());
}

#[test]
fn files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let fs = DiskFs::open(folder.path()).unwrap();
    let queue = queue(DiskFs::open(folder.path()).unwrap(), true);
    complete(&queue, "call-a", "run-a", 1);
    for name in ["calls.jsonl", "queue.lock", "runs/ledger.jsonl", "runs/run-a.json"] {
        assert_eq!(fs.metadata(&path(&format!(".brigade/tools/{name}"))).unwrap().mode, 0o600, "{name}");
    }
    for name in [".brigade", ".brigade/tools", ".brigade/tools/runs", ".brigade/tools/calls"] {
        assert_eq!(fs.metadata(&path(name)).unwrap().mode, 0o700, "{name}");
    }
}

#[test]
fn the_index_of_the_journal_is_written_now_and_then_and_not_for_every_line() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    let mut locked = queue.lock(at(1)).unwrap();
    let index = path(".brigade/tools/calls/journal.index");
    let mut written = Vec::new();
    for number in 0..300 {
        enqueue_locked(&mut *locked, &format!("call-{number}"), &format!("{number}"), 1).unwrap();
        if let Ok(metadata) = fs.metadata(&index)
            && written.last() != Some(&metadata.modified)
        {
            written.push(metadata.modified);
        }
    }
    assert!((1..=8).contains(&written.len()), "{}", written.len());
    drop(locked);
    assert_eq!(listed(&*queue.read().unwrap(), &Calls::All).len(), 300);
}
