//! Concurrent use of one directory by threads and by processes.

#![allow(clippy::disallowed_methods, reason = "starts this test program again as another process")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod common;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use brigade_call::CallStatus;
use brigade_fs::DiskFs;
use brigade_queue::{Calls, QueueError};
use common::*;

/// The variable that passes the directory to the processes of a test.
const FOLDER: &str = "BRIGADE_TEST_FOLDER";
/// The variable that passes the number of a process.
const NUMBER: &str = "BRIGADE_TEST_NUMBER";

fn open(folder: &Path) -> TestQueue {
    queue(DiskFs::open(folder).unwrap(), true)
}

/// Runs the oldest approved call that is not taken yet. Returns whether there was one.
fn run_next(queue: &TestQueue, run: &str) -> bool {
    let mut locked = queue.lock(at(50)).unwrap();
    let mut oldest = None;
    locked
        .view()
        .for_each_call(&Calls::Of(CallStatus::Approved), &mut |stored| {
            oldest = Some(stored);
            ControlFlow::Break(())
        })
        .unwrap();
    let Some(stored) = oldest else { return false };
    let id = stored.call.id.clone();
    locked.claim(&id, stored.revision, claim(run), at(50)).unwrap();
    drop(locked);
    finish(queue, id.as_str(), run, "completed", 51, Vec::new()).unwrap();
    true
}

/// The work of each worker: queues and approves its own calls, and runs any calls.
fn work(queue: &TestQueue, worker: &str, calls: usize) -> usize {
    let mut ran = 0;
    for number in 0..calls {
        let id = format!("call-{worker}-{number}");
        enqueue(queue, &id, &id, 1).unwrap();
        approve(queue, &id, 2).unwrap();
        // A concurrent reader, without the lock.
        assert_eq!(stored(&queue.read().unwrap(), &id).call.id.as_str(), id);
        ran += usize::from(run_next(queue, &format!("run-{worker}-{number}")));
    }
    ran
}

fn check_all(queue: &TestQueue, calls: usize) {
    while run_next(queue, "run-rest") {}
    let view = queue.read().unwrap();
    let all = listed(&view, &Calls::All);
    assert_eq!(all.len(), calls);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), calls);
    assert!(all.iter().all(|line| line.ends_with(" completed")));
    assert_eq!(view.receipts(usize::MAX).unwrap().receipts.len(), calls, "nothing ran twice");
    let verification = view.verify(1).unwrap();
    assert_eq!((verification.checked, verification.findings), (calls as u64, vec![]));
    assert!(queue.damage().unwrap().is_empty());
}

#[test]
fn threads_lose_nothing_and_run_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let path = folder.path();
            scope.spawn(move || work(&open(path), &format!("t{worker}"), 20));
        }
        let path = folder.path();
        scope.spawn(move || {
            let queue = open(path);
            // Compactions in between.
            for _ in 0..12 {
                queue.compact(at(60)).unwrap();
                let view = queue.read().unwrap();
                let seen = listed(&view, &Calls::All);
                assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
            }
        });
    });
    check_all(&open(folder.path()), 8 * 20);
}

/// Runs the work of one process when another test starts this one. Started by itself it does nothing.
#[test]
fn one_process_of_many() {
    let (Some(folder), Ok(number)) = (std::env::var_os(FOLDER), std::env::var(NUMBER)) else { return };
    work(&open(Path::new(&folder)), &format!("p{number}"), 3);
}

#[test]
fn processes_lose_nothing_and_run_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..64)
        .map(|number| {
            Command::new(&program)
                .args(["--exact", "one_process_of_many", "--test-threads=1"])
                .env(FOLDER, folder.path())
                .env(NUMBER, number.to_string())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check_all(&open(folder.path()), 64 * 3);
}

#[test]
fn two_runners_cannot_claim_one_call() {
    let folder = tempfile::tempdir().unwrap();
    enqueue(&open(folder.path()), "call-a", "x", 1).unwrap();
    approve(&open(folder.path()), "call-a", 2).unwrap();
    let revision = stored(&open(folder.path()).read().unwrap(), "call-a").revision;
    let results: Vec<Result<_, QueueError>> = std::thread::scope(|scope| {
        let claims: Vec<_> = (0..16)
            .map(|number| {
                let path = folder.path();
                scope.spawn(move || {
                    let queue = open(path);
                    let mut locked = queue.lock(at(3)).unwrap();
                    locked.claim(&call_id("call-a"), revision, claim(&format!("run-{number}")), at(3))
                })
            })
            .collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
}
