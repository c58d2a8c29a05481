//! Shared by the queue tests: example calls and common steps.

#![allow(dead_code, reason = "each test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use brigade_call::{ApprovedBy, Binding, Call, Caller, Checkpoint, Claim, Paths, Receipt, Runner};
use brigade_core::{CallId, Dialect, Fingerprint, IdPrefix, Json, RunId, Timestamp};
use brigade_fs::{Fs, RelPath, WorkspaceKey};
use brigade_queue::{
    CallFilter, Calls, Check, Compaction, Damage, EnqueueOutcome, FinishedRun, Host, JournalStore, LocalHost,
    LockedQueue, Match, OnDuplicate, Outcome, Queue, QueueError, Review, StoredCall, View,
};

/// Returns a time in seconds.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_unix_micros((1_764_000_000 + second) * 1_000_000)
}

pub fn path(text: &str) -> RelPath {
    text.parse().unwrap()
}

pub fn call_id(text: &str) -> CallId {
    text.parse().unwrap()
}

pub fn run_id(text: &str) -> RunId {
    text.parse().unwrap()
}

/// A pending call. Calls with the same `subject` are equivalent.
pub fn call(id: &str, subject: &str, second: i64) -> Call {
    let fingerprint = Fingerprint::of_bytes(subject.as_bytes()).to_hex();
    let record = Json::object([
        ("record_version", Json::from(1)),
        ("id", Json::from(id)),
        ("status", Json::from("pending")),
        ("tool_id", Json::from("greet")),
        ("family", Json::from("script")),
        ("command", Json::from("python3 bin/greet.py")),
        ("created_at", Json::from(at(second).to_string())),
        ("args", Json::object([("subject", Json::from(subject))])),
        ("arguments", Json::object([("subject", Json::from(subject))])),
        ("call_fingerprint", Json::from(fingerprint)),
        ("padding", Json::from("x".repeat(300))),
    ]);
    Call::from_record(record).unwrap().0
}

pub fn binding() -> Binding {
    let mark = Fingerprint::of_bytes(b"bound");
    Binding::new(mark, mark, mark, mark, Caller::CommandLine)
}

pub fn claim(run: &str) -> Claim {
    let runner = Runner { pid: 4711, start_time: 99, boot_id: "boot".to_owned() };
    Claim { run_id: run_id(run), runner: Some(runner) }
}

pub fn receipt(call: &str, run: &str, status: &str, second: i64, checkpoints: &[Checkpoint]) -> Receipt {
    let mut receipt = Receipt::new(run_id(run), call_id(call), brigade_call::RunStatus::from_word(status));
    receipt.schema = None;
    receipt.tool_id = "greet".to_owned();
    receipt.started_at = Some(at(second));
    receipt.completed_at = Some(at(second + 1));
    receipt.exit_code = Some(0);
    if !checkpoints.is_empty() {
        receipt.checkpoint_ids = Some(checkpoints.iter().map(|checkpoint| checkpoint.id.clone()).collect());
    }
    receipt
}

pub fn checkpoint(id: &str, call: &str, run: &str) -> Checkpoint {
    let mut checkpoint = Checkpoint::new(id.parse().unwrap(), call_id(call), run);
    checkpoint.tool_id = "greet".to_owned();
    checkpoint.prompt = Some("go on?".to_owned());
    checkpoint.choices = vec!["yes".to_owned(), "no".to_owned()];
    checkpoint.created_at = Some(at(5));
    checkpoint
}

/// A host whose runners are all alive or all gone.
pub struct TestHost {
    pub runners_live: bool,
    pub fs: Option<Arc<dyn Fs>>,
}

impl Host for TestHost {
    fn is_alive(&self, _: &Runner) -> bool {
        self.runners_live
    }

    fn end_strays(&self, _: &Claim) {}

    fn has_log(&self, path: &str) -> bool {
        self.fs.as_ref().is_some_and(|fs| fs.exists(&path.parse().unwrap()).unwrap_or(true))
    }

    fn outcome(&self, run: &RunId) -> Option<Outcome> {
        LocalHost::new(self.fs.clone()?).outcome(run)
    }

    fn forget_outcome(&self, run: &RunId) {
        if let Some(fs) = &self.fs {
            LocalHost::new(fs.clone()).forget_outcome(run);
        }
    }
}

/// A queue on files, with the operations that only files have.
pub struct TestQueue {
    queue: Queue,
    pub journal: Arc<JournalStore>,
}

impl std::ops::Deref for TestQueue {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl TestQueue {
    pub fn open(fs: Arc<dyn Fs>, holder: &str, patience: Duration, runners_live: bool) -> TestQueue {
        let journal = Arc::new(JournalStore::new(
            fs.clone(),
            Arc::new(WorkspaceKey::for_given_files()),
            holder,
            patience,
        ));
        let host = TestHost { runners_live, fs: Some(fs) };
        TestQueue { queue: Queue::new(journal.clone(), Arc::new(host)), journal }
    }

    /// Records runs whose runner is gone, and compacts.
    pub fn compact(&self, now: Timestamp) -> Result<Compaction, QueueError> {
        drop(self.queue.lock(now)?);
        self.journal.compact(now)
    }

    pub fn damage(&self) -> Result<Vec<Damage>, QueueError> {
        self.journal.damage()
    }

    pub fn check(&self) -> Result<Check, QueueError> {
        self.journal.check()
    }

    pub fn list_as_text(&self, found: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), QueueError> {
        self.queue.read()?.for_each_text(&CallFilter::default(), &PlainPaths, found)
    }

    /// All calls as `id status`, read from the text of the records.
    pub fn listed_as_text(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.list_as_text(&mut |text: &[u8]| {
            let record = Json::parse_bytes(text, Dialect::Strict).unwrap();
            let text = |key: &str| record.get(key).and_then(Json::as_str).unwrap().to_owned();
            found.push(format!("{} {}", text("id"), text("status")));
            ControlFlow::Continue(())
        })
        .unwrap();
        found
    }
}

/// Paths as they are.
pub struct PlainPaths;

impl Paths for PlainPaths {
    fn target(&self) -> String {
        String::new()
    }

    fn absolute(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// A queue on files, whose runners are all alive or all gone.
pub fn queue(fs: impl Fs + 'static, runners_live: bool) -> TestQueue {
    TestQueue::open(Arc::new(fs), "4711 test", Duration::from_secs(60), runners_live)
}

pub fn enqueue(queue: &Queue, id: &str, subject: &str, second: i64) -> Result<EnqueueOutcome, QueueError> {
    let mut locked = queue.lock(at(second))?;
    enqueue_locked(&mut locked, id, subject, second)
}

pub fn enqueue_locked(
    locked: &mut LockedQueue<'_>,
    id: &str,
    subject: &str,
    second: i64,
) -> Result<EnqueueOutcome, QueueError> {
    let mut made = locked.enqueue_all(1, OnDuplicate::Skip, &mut |_, _| call(id, subject, second))?;
    Ok(made.remove(0))
}

pub fn stored(view: &View<'_>, id: &str) -> StoredCall {
    match view.find_call(&IdPrefix::new(id), &|_| true).unwrap() {
        Match::One(stored) => stored,
        other => panic!("{id}: {other:?}"),
    }
}

pub fn approve(queue: &Queue, id: &str, second: i64) -> Result<StoredCall, QueueError> {
    let mut locked = queue.lock(at(second))?;
    let revision = locked.view().call(&call_id(id))?.expect("it is there").revision;
    locked.review(
        &call_id(id),
        revision,
        Review::Approve(Box::new(binding()), ApprovedBy::command_line(), Vec::new()),
        at(second),
    )
}

pub fn start(queue: &Queue, id: &str, run: &str, second: i64) -> Result<StoredCall, QueueError> {
    let mut locked = queue.lock(at(second))?;
    let revision = locked.view().call(&call_id(id))?.expect("it is there").revision;
    locked.claim(&call_id(id), revision, claim(run), at(second))
}

pub fn finish(
    queue: &Queue,
    id: &str,
    run: &str,
    status: &str,
    second: i64,
    checkpoints: Vec<Checkpoint>,
) -> Result<FinishedRun, QueueError> {
    let mut locked = queue.lock(at(second))?;
    let mut make = |checkpoints: &[Checkpoint]| receipt(id, run, status, second, checkpoints);
    locked.finish(&call_id(id), &run_id(run), checkpoints, &mut make, at(second))
}

/// Queues, approves and runs a call.
pub fn complete(queue: &Queue, id: &str, run: &str, second: i64) {
    enqueue(queue, id, id, second).unwrap();
    approve(queue, id, second).unwrap();
    start(queue, id, run, second).unwrap();
    finish(queue, id, run, "completed", second, Vec::new()).unwrap();
}

/// All calls in order of creation, as `id status`.
pub fn listed(view: &View<'_>, which: &Calls) -> Vec<String> {
    let mut found = Vec::new();
    view.for_each_call(which, &mut |stored| {
        found.push(format!("{} {}", stored.call.id, stored.call.status));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}
