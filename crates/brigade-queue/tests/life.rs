//! The behavior of a queue in the absence of failures.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod common;

use std::time::Duration;

use brigade_call::CallStatus;
use brigade_fs::{DiskFs, Fs, MemoryFs};
use brigade_queue::{Answer, Calls, OnDuplicate, Tampering};
use common::*;

#[test]
fn files_of_checkpoints_follow_the_records() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    approve(&queue, "call-a", 2).unwrap();
    start(&queue, "call-a", "run-a", 3).unwrap();
    finish(&queue, "call-a", "run-a", "waiting", 4, vec![checkpoint("deploy", "call-a", "run-a")]).unwrap();
    let answer = |choice: &str| {
        let answer = Answer::Approve(choice.into());
        queue.lock(at(5)).unwrap().answer(&"deploy".parse().unwrap(), &answer, at(5))
    };
    answer("no").unwrap();
    let file = path(".brigade/tools/checkpoints/deploy.json");
    let text = String::from_utf8(fs.read(&file, 9999).unwrap()).unwrap();
    assert!(text.contains("\"selected_choice\": \"no\""), "the file follows the record: {text}");
    fs.write_cache(&path(".brigade/tools/checkpoints/broken.json"), b"{").unwrap();
    assert_eq!(queue.read().unwrap().checkpoints().unwrap().errors.len(), 1);
}

#[test]
fn changes_by_another_process_are_read() {
    let fs = MemoryFs::new();
    let (one, other) = (queue(fs.clone(), true), queue(fs.clone(), true));
    enqueue(&one, "call-a", "x", 1).unwrap();
    approve(&one, "call-a", 2).unwrap();
    start(&one, "call-a", "run-a", 3).unwrap();
    assert_eq!(stored(&one.read().unwrap(), "call-a").call.status, CallStatus::Running);
    finish(&other, "call-a", "run-a", "completed", 4, Vec::new()).unwrap();
    assert_eq!(stored(&one.read().unwrap(), "call-a").call.status, CallStatus::Completed);
    assert!(finish(&one, "call-a", "run-a", "failed", 5, Vec::new()).is_err());
}

#[test]
fn a_damaged_checkpoint_file_is_moved_to_a_quarantine() {
    let aside = path(".brigade/tools/checkpoints/deploy.json.quarantine-1");
    let file = path(".brigade/tools/checkpoints/deploy.json");
    for damaged in [b"{\"id\":".as_slice(), b"somebody's notes\n"] {
        let fs = MemoryFs::new();
        let queue = queue(fs.clone(), true);
        enqueue(&queue, "call-a", "x", 1).unwrap();
        approve(&queue, "call-a", 2).unwrap();
        start(&queue, "call-a", "run-a", 3).unwrap();
        let asked = vec![checkpoint("deploy", "call-a", "run-a")];
        finish(&queue, "call-a", "run-a", "waiting", 4, asked).unwrap();
        let sound = fs.read(&file, 9999).unwrap();
        fs.write_cache(&file, damaged).unwrap();
        assert_eq!(queue.compact(at(5)).unwrap().restored_checkpoints, 1);
        assert_eq!(fs.read(&aside, 9999).unwrap(), damaged, "nothing is erased");
        assert_eq!(fs.read(&file, 9999).unwrap(), sound);
        assert_eq!(queue.compact(at(6)).unwrap().restored_checkpoints, 0);
    }
}

#[test]
fn caches_can_be_deleted_or_damaged_at_any_time() {
    let fs = MemoryFs::new();
    let first = queue(fs.clone(), true);
    for number in 0..150 {
        complete(&first, &format!("call-{number:03}"), &format!("run-{number:03}"), number);
    }
    // A process that writes repeatedly waits longer before it writes an index.
    let queue = queue(fs.clone(), true);
    let mut locked = queue.lock(at(999)).unwrap();
    locked
        .enqueue_all(400, OnDuplicate::Skip, &mut |n, _| {
            call(&format!("new-{n:03}"), &format!("new-{n}"), 999)
        })
        .unwrap();
    drop(locked);
    let look = || {
        let view = queue.read().unwrap();
        (
            listed(&view, &Calls::All),
            stored(&view, "call-007"),
            stored(&view, "new-399"),
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
    queue.compact(at(1000)).unwrap();
    for entry in fs.list_dir(&folder).unwrap().into_iter().filter(|entry| entry.name.ends_with(".index")) {
        let index = folder.join(&entry.name).unwrap();
        let bytes = fs.read(&index, 1 << 30).unwrap();
        for at in (0..bytes.len()).step_by(4_001) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs.write_cache(&index, &damaged).unwrap();
            let view = queue.read().unwrap();
            assert_eq!(stored(&view, "call-007").call, expect.1.call);
            assert_eq!(stored(&view, "new-399").call, expect.2.call);
        }
        fs.write_cache(&index, &bytes).unwrap();
    }
}

#[test]
fn verification_names_the_first_changed_receipt() {
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
fn a_lock_timeout_names_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let open = |holder: &str, timeout| {
        let fs = std::sync::Arc::new(DiskFs::open(folder.path()).unwrap());
        TestQueue::open(fs, holder, timeout, true)
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
fn the_index_is_not_written_for_every_line() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    let mut locked = queue.lock(at(1)).unwrap();
    let index = path(".brigade/tools/calls/journal.index");
    let mut written = Vec::new();
    for number in 0..300 {
        enqueue_locked(&mut locked, &format!("call-{number}"), &format!("{number}"), 1).unwrap();
        if let Ok(metadata) = fs.metadata(&index)
            && written.last() != Some(&metadata.modified)
        {
            written.push(metadata.modified);
        }
    }
    assert!((1..=8).contains(&written.len()), "{}", written.len());
    drop(locked);
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All).len(), 300);
}
