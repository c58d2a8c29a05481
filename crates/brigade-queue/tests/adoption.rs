//! State written by v0.30 or by older versions of this code, and damaged state.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod common;

use std::ops::ControlFlow;

use brigade_call::{ApprovedBy, CallStatus, RecordVersion};
use brigade_core::{IdPrefix, Json};
use brigade_fs::{FileMode, Fs, MemoryFs};
use brigade_queue::{Answer, Calls, Match, QueueError, Review};
use common::*;

/// The files in `fixtures/state`, with their paths.
const SAMPLES: &[(&str, &str, &[u8])] = &include!("samples.in");

fn sample(version: &str) -> MemoryFs {
    let fs = MemoryFs::new();
    for (_, name, bytes) in SAMPLES.iter().filter(|(of, _, _)| *of == version) {
        let path = path(&format!(".brigade/tools/{name}"));
        fs.create_dir_all(&path.parent()).unwrap();
        fs.write_atomic(&path, bytes, FileMode::Private).unwrap();
    }
    fs
}

fn journal(bytes: &[u8]) -> MemoryFs {
    let fs = MemoryFs::new();
    fs.create_dir_all(&path(".brigade/tools")).unwrap();
    fs.write_atomic(&path(".brigade/tools/calls.jsonl"), bytes, FileMode::Private).unwrap();
    fs
}

fn original(fs: &dyn Fs) -> Vec<u8> {
    fs.read(&path(".brigade/tools/calls.jsonl"), 1 << 20).unwrap()
}

const EXPECTED: [&str; 12] = [
    "call-pending pending",
    "call-approved pending",
    "call-completed completed",
    "call-failed failed",
    "call-rejected rejected",
    "call-held held",
    "call-running interrupted",
    "call-waiting waiting",
    "call-resume resume-pending",
    "call-resumed completed",
    "call-strange quarantined",
    "call-completed-queued-1 pending",
];

#[test]
fn readers_see_the_state_of_v0_30_and_write_nothing() {
    let fs = sample("0.30.0");
    let before = fs.files();
    let queue = queue(fs.clone(), true);
    let view = queue.read().unwrap();
    assert_eq!(listed(&view, &Calls::All), EXPECTED);
    assert_eq!(view.call_counts().unwrap().values().sum::<u64>(), EXPECTED.len() as u64);
    assert_eq!(view.receipts(1).unwrap().receipts[0].receipt.id.as_str(), "run-waiting");
    assert_eq!(view.receipts(usize::MAX).unwrap().errors.len(), 1);
    assert!(view.verify(1).unwrap().is_unadopted);
    assert_eq!(view.checkpoints().unwrap().checkpoints.len(), 3);
    assert!(matches!(view.find_call(&IdPrefix::new("call-completed"), &|_| true).unwrap(), Match::One(_)));
    assert_eq!(
        queue.damage().unwrap().iter().map(|damage| damage.line).collect::<Vec<_>>(),
        [Some(5), Some(14)]
    );
    assert_eq!(fs.files(), before);
}

#[test]
fn the_first_write_adopts_all_and_keeps_the_original() {
    let fs = sample("0.30.0");
    let before = original(&fs);
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-new", "new", 1).unwrap();
    assert_eq!(fs.read(&path(".brigade/tools/calls.jsonl.0.30.0"), 1 << 20).unwrap(), before);
    let view = queue.read().unwrap();
    let mut expect = EXPECTED.map(str::to_owned).to_vec();
    expect.push("call-new pending".to_owned());
    assert_eq!(listed(&view, &Calls::All), expect);
    assert!(queue.damage().unwrap().is_empty());
    let quarantined = queue.check().unwrap().quarantined;
    assert_eq!(quarantined, [(".brigade/tools/calls.quarantine-1.jsonl".to_owned(), 2)]);
    let verification = view.verify(1).unwrap();
    assert!(verification.findings.is_empty(), "{verification:?}");
    let completed = stored(&view, "call-completed");
    assert_eq!(completed.version, RecordVersion::Current);
    let receipt = completed.call.receipt.unwrap();
    assert_eq!(receipt.path, ".brigade/tools/runs/run-completed.json");
    assert!(receipt.ledger.is_some());
    let ledger =
        String::from_utf8(fs.read(&path(".brigade/tools/runs/ledger.jsonl"), 1 << 20).unwrap()).unwrap();
    assert!(ledger.lines().next().unwrap().contains("\"adopted\":true"));
    let policy = completed.call.policy.map(|policy| policy.policy_path);
    assert_eq!(
        policy.as_deref(),
        Some("/home/someone/project/.brigade/tools/policy.toml"),
        "another root stays as it is"
    );
    let strange = stored(&view, "call-strange");
    assert_eq!(strange.call.status, CallStatus::Other("quarantined".into()));
    let record = Json::Object(strange.call.to_record()).to_compact();
    assert!(
        record.contains(r#""someone_elses":{"deep":[1,2.50,NaN]}"#) && record.contains("-Infinity"),
        "{record}"
    );
}

#[test]
fn an_adopted_checkpoint_cannot_be_answered() {
    let fs = sample("0.30.0");
    let queue = queue(fs.clone(), true);
    let before = fs.files();
    let id: brigade_core::CheckpointId = "checkpoint-1".parse().unwrap();
    let refuse = Answer::Approve("continue".into());
    let Match::One(found) = queue.read().unwrap().find_checkpoint(&IdPrefix::new("checkpoint-1")).unwrap()
    else {
        panic!()
    };
    assert!(queue.read().unwrap().check_answer(&found.checkpoint, &refuse).is_err());
    assert_eq!(fs.files(), before, "nothing is written");
    let answer = |answer: Answer| queue.lock(at(1)).unwrap().answer(&id, &answer, at(1));
    let refused = answer(refuse).unwrap_err();
    assert_eq!(refused, QueueError::NothingBound { id: id.clone(), call: call_id("call-waiting") });
    assert!(refused.to_string().ends_with("cannot be resumed"), "{refused}");
    // A rejection needs no later run.
    assert_eq!(answer(Answer::Reject("no".into())).unwrap().1.call.status, CallStatus::Waiting);
    let view = queue.read().unwrap();
    let Match::One(answered) = view.find_checkpoint(&IdPrefix::new("checkpoint-1")).unwrap() else {
        panic!()
    };
    assert_eq!(answered.checkpoint.status.as_str(), "rejected");
}

#[test]
fn an_adopted_call_is_matched_by_its_content() {
    let line = r#"{"id":"call-0123456789abcdef","status":"pending","tool_id":"greet","family":"script","command":"python3 bin/greet.py","args":{"subject":"t\u00e9"},"arguments":{"subject":"t\u00e9"},"contract":{},"call_fingerprint":"0123456789abcdef"}"#;
    let queue = queue(journal(format!("{line}\n").as_bytes()), true);
    let mut locked = queue.lock(at(1)).unwrap();
    let outcome = enqueue_locked(&mut locked, "call-new", "té", 1).unwrap();
    assert!(matches!(outcome, brigade_queue::EnqueueOutcome::Duplicate(_)), "{outcome:?}");
}

#[test]
fn a_revision_from_before_adoption_stays_valid() {
    let queue = queue(sample("0.30.0"), true);
    let revision = stored(&queue.read().unwrap(), "call-approved").revision;
    let mut locked = queue.lock(at(1)).unwrap();
    let review = Review::Approve(Box::new(binding()), ApprovedBy::command_line(), Vec::new());
    let call = locked.review(&call_id("call-approved"), revision, review, at(1)).unwrap();
    assert_eq!(call.call.status, CallStatus::Approved);
}

/// Checks that the calls that an earlier version approved are pending until a person accepts them.
#[track_caller]
fn check_accepted(queue: &TestQueue, expect: &[&str]) {
    let pending = |line: &&str| {
        line.replace(" waiting", " pending")
            .replace(" approved", " pending")
            .replace(" resume-pending", " pending")
    };
    let before: Vec<String> = expect.iter().map(pending).collect();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), before);
    let of_pending = expect.iter().map(pending).filter(|line| line.ends_with(" pending")).count();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::Of(CallStatus::Pending)).len(), of_pending);
    let shown = queue.journal.approved_elsewhere().unwrap();
    assert_eq!(
        shown.len(),
        expect.iter().zip(&before).filter(|(line, before)| **line != before.as_str()).count()
    );
    assert_eq!(queue.journal.adopt(&shown, at(30)).unwrap().len(), shown.len());
    assert!(queue.journal.approved_elsewhere().unwrap().is_empty());
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), expect);
}

#[test]
fn our_own_first_version_is_read() {
    let fs = sample("v1");
    let queue = queue(fs.clone(), true);
    let view = queue.read().unwrap();
    let expect = [
        "call-1 completed",
        "call-2 rejected",
        "call-3 waiting",
        "call-4 approved",
        "call-5 pending",
        "call-6 held",
    ];
    let verification = view.verify(1).unwrap();
    assert_eq!((verification.checked, verification.findings), (2, vec![]));
    assert_eq!(view.checkpoints().unwrap().checkpoints.len(), 1);
    assert!(queue.damage().unwrap().is_empty());
    drop(queue.lock(at(1)).unwrap());
    assert_eq!(fs.files(), sample("v1").files(), "a writer has nothing to do");
    check_accepted(&queue, &expect);
}

#[test]
fn our_own_batches_and_named_calls_are_read() {
    let fs = sample("v1-batches");
    let queue = queue(fs.clone(), true);
    let view = queue.read().unwrap();
    let expect = ["call-1 completed", "new-0 pending", "new-1 waiting", "new-2 pending", "call-2 completed"];
    let verification = view.verify(1).unwrap();
    assert_eq!((verification.checked, verification.findings), (3, vec![]));
    assert!(queue.damage().unwrap().is_empty());
    drop(queue.lock(at(20)).unwrap());
    assert_eq!(fs.files(), sample("v1-batches").files(), "a writer has nothing to do");
    check_accepted(&queue, &expect);
}

#[test]
fn readable_records_are_served_and_the_rest_is_kept() {
    let good = |id: &str| format!("{{\"id\":\"{id}\",\"status\":\"pending\",\"tool_id\":\"t\"}}");
    let deep = "[".repeat(100_000);
    let check = |lines: &[&[u8]], ids: &[&str], broken: usize| {
        let fs = journal(&lines.join(&b'\n'));
        let queue = queue(fs.clone(), true);
        let view = queue.read().unwrap();
        let pending = |ids: &[&str]| ids.iter().map(|id| format!("{id} pending")).collect::<Vec<_>>();
        assert_eq!(listed(&view, &Calls::All), pending(ids));
        assert_eq!(queue.damage().unwrap().len(), broken);
        enqueue(&queue, "call-z", "z", 1).unwrap();
        let view = queue.read().unwrap();
        assert_eq!(listed(&view, &Calls::All), pending(&[ids, &["call-z"]].concat()));
        assert!(queue.damage().unwrap().is_empty());
        let kept: u64 = queue.check().unwrap().quarantined.iter().map(|(_, lines)| lines).sum();
        assert_eq!(kept, broken as u64);
    };
    let (a, b) = (good("call-a"), good("call-b"));
    check(&[a.as_bytes(), b.as_bytes(), b""], &["call-a", "call-b"], 0);
    check(&[a.as_bytes(), b.as_bytes()], &["call-a", "call-b"], 0);
    check(&[b"\xef\xbb\xbf", a.as_bytes()], &["call-a"], 1);
    check(&[&[b"\xef\xbb\xbf".as_slice(), a.as_bytes()].concat(), b""], &["call-a"], 0);
    check(
        &[
            a.as_bytes(),
            b"[1,2]",
            b"\"text\"",
            b"{}",
            b"\xff\xfe",
            deep.as_bytes(),
            b"",
            b.as_bytes(),
            b"{\"id\":",
        ],
        &["call-a", "call-b"],
        6,
    );
    check(&[a.as_bytes(), &a.as_bytes()[..20]], &["call-a"], 1);
    check(&[b""], &[], 0);
    check(&[b"\0\0\0\0"], &[], 1);
}

#[test]
fn only_a_compaction_moves_a_misplaced_directory() {
    let fs = MemoryFs::new();
    fs.create_dir_all(&path(".brigade/tools/calls.jsonl")).unwrap();
    let queue = queue(fs.clone(), true);
    let view = queue.read().unwrap();
    let blocked = |error| assert!(matches!(error, QueueError::Blocked(_)), "{error}");
    blocked(queue.list_as_text(&mut |_| ControlFlow::Continue(())).unwrap_err());
    blocked(view.find_call(&IdPrefix::new("call-a"), &|_| true).unwrap_err());
    blocked(enqueue(&queue, "call-a", "x", 1).unwrap_err());
    assert!(fs.list_dir(&path(".brigade/tools/calls.jsonl")).is_ok(), "nothing is moved without a request");
    assert_eq!(queue.damage().unwrap().len(), 1);
    assert_eq!(queue.compact(at(1)).unwrap().quarantined, 1);
    enqueue(&queue, "call-a", "x", 1).unwrap();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), ["call-a pending"]);
    assert!(fs.exists(&path(".brigade/tools/calls.quarantine-1.jsonl")).unwrap());
}

#[test]
fn a_torn_line_does_not_merge_with_the_next() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "a", 1).unwrap();
    enqueue(&queue, "call-b", "b", 1).unwrap();
    let whole = original(&fs);
    let start = whole.len() - 300;
    for cut in start..whole.len() {
        let fs = journal(&whole[..cut]);
        let queue = common::queue(fs.clone(), true);
        enqueue(&queue, "call-c", "c", 2).unwrap();
        let found = listed(&queue.read().unwrap(), &Calls::All);
        // The longest piece lacks only the line feed.
        let is_whole = cut == whole.len() - 1;
        let expect = if is_whole {
            vec!["call-a pending", "call-b pending", "call-c pending"]
        } else {
            vec!["call-a pending", "call-c pending"]
        };
        assert_eq!(found, expect, "cut at {cut}");
    }
}

#[test]
fn newer_records_are_read_and_never_rewritten() {
    let newer = r#"{"id":"call-n","status":"pending","tool_id":"t","record_version":9,"sequence":1,"revision":3,"new":{"shape":[1]}, "odd" : 1}"#;
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    enqueue(&queue, "call-a", "a", 1).unwrap();
    fs.append_durable(&path(".brigade/tools/calls.jsonl"), format!("{newer}\n").as_bytes()).unwrap();
    let view = queue.read().unwrap();
    assert_eq!(stored(&view, "call-n").version, RecordVersion::Newer);
    assert_eq!(listed(&view, &Calls::Of(CallStatus::Pending)).len(), 2);
    queue.compact(at(2)).unwrap();
    let mut locked = queue.lock(at(2)).unwrap();
    let refused = locked.review(&call_id("call-n"), 3, Review::Hold("x".into()), at(2));
    assert!(matches!(refused, Err(QueueError::Newer(_))));
    assert!(String::from_utf8(original(&fs)).unwrap().contains(newer), "byte for byte");
}

#[test]
fn a_newer_journal_is_read_and_not_changed() {
    let fs = journal(b"{\"queue_version\":2,\"generation\":1,\"sequence\":1,\"segments\":[]}\n{\"id\":\"c\",\"status\":\"pending\",\"tool_id\":\"t\",\"record_version\":1}\n");
    let before = fs.files();
    let queue = queue(fs.clone(), true);
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), ["c pending"]);
    assert!(matches!(enqueue(&queue, "call-a", "a", 1), Err(QueueError::Newer(_))));
    assert_eq!(fs.files(), before);
}

#[test]
fn finished_calls_survive_a_lost_journal_or_header() {
    let fs = MemoryFs::new();
    let queue = queue(fs.clone(), true);
    complete(&queue, "call-a", "run-a", 1);
    queue.compact(at(2)).unwrap();
    enqueue(&queue, "call-b", "b", 3).unwrap();
    let whole = original(&fs);
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let journal_path = path(".brigade/tools/calls.jsonl");
    fs.write_atomic(&journal_path, &[b"X", &whole[..]].concat(), FileMode::Private).unwrap();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), ["call-a completed", "call-b pending"]);
    fs.write_atomic(&journal_path, &whole[header + 1..], FileMode::Private).unwrap();
    enqueue(&queue, "call-c", "c", 4).unwrap();
    let expect = ["call-a completed", "call-b pending", "call-c pending"];
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), expect);
    fs.remove(&journal_path).unwrap();
    enqueue(&queue, "call-d", "d", 5).unwrap();
    assert_eq!(listed(&queue.read().unwrap(), &Calls::All), ["call-a completed", "call-d pending"]);
    assert!(queue.read().unwrap().verify(1).unwrap().findings.is_empty());
}

#[test]
fn every_unknown_value_survives_adoption() {
    let fs = sample("0.30.0");
    let text = String::from_utf8_lossy(&original(&fs)).into_owned();
    let before: Vec<Json> = text
        .lines()
        .filter_map(|line| Json::parse_bytes(line.as_bytes(), brigade_core::Dialect::Lenient).ok())
        .filter(|json| json.get("id").is_some())
        .collect();
    let queue = queue(fs, true);
    queue.compact(at(1)).unwrap();
    let view = queue.read().unwrap();
    for record in before {
        let id = record.get("id").and_then(Json::as_str).unwrap();
        let mut now = Json::Null;
        view.for_each_call(&Calls::All, &mut |stored| {
            if stored.call.id.as_str() == id {
                now = Json::Object(stored.call.to_record());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        for (key, value) in record.as_object().unwrap() {
            if !matches!(
                key.as_str(),
                "status"
                    | "reviewed_at"
                    | "receipt_path"
                    | "run_id"
                    | "completed_at"
                    | "timed_out"
                    | "timeout"
            ) {
                assert_eq!(now.get(key).map(Json::to_compact), Some(value.to_compact()), "{id}: {key}");
            }
        }
    }
}
