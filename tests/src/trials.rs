//! Kills the binary at random moments, with several commands at a time in one workspace.
//!
//! The tool's script appends its argument to `ran.txt`, so that a repeated run is noticed. Each trial continues with
//! the state that earlier trials left.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Site, processes_with, until};

/// The file to which every run of the tool appends a line.
const RAN: &str = "ran.txt";

/// The maximum time before a kill, relative to the undisturbed duration. So some commands finish.
const LIFE: f64 = 2.4;

/// The result of the trials.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Commands that were started.
    pub started: usize,
    /// Commands that were killed before they ended.
    pub killed: usize,
    /// Calls whose queueing was acknowledged.
    pub acknowledged: usize,
    /// Calls that ran to completion.
    pub completed: usize,
    /// Calls whose runner was killed.
    pub interrupted: usize,
}

/// The duration of undisturbed commands.
struct BaselineTimes {
    queue: Duration,
    approve: Duration,
    run: Duration,
}

impl BaselineTimes {
    #[track_caller]
    fn measure(site: &Site) -> BaselineTimes {
        let timed = |words: &[&str]| {
            let started = Instant::now();
            let document = site.json(words).expect(0);
            (started.elapsed(), document)
        };
        let (queue, document) = timed(&["call", "queue", "tool", "--args", "{\"n\":\"first\"}"]);
        let id = document["call"]["id"].as_str().expect("a queued call has an id").to_owned();
        let (approve, _) = timed(&["call", "approve", &id]);
        let (run, _) = timed(&["call", "run", "--next"]);
        BaselineTimes { queue, approve, run }
    }

    fn time(&self, step: Step) -> Duration {
        match step {
            Step::Queue | Step::Compact => self.queue,
            Step::Approve => self.approve,
            Step::Run => self.run,
            Step::Batch => self.queue * 2,
        }
    }
}

/// The maximum duration on a busy machine.
const MAX_STEP: Duration = Duration::from_millis(500);

/// The command of one trial.
#[derive(Clone, Copy, Debug)]
enum Step {
    Queue,
    Approve,
    Run,
    Compact,
    Batch,
}

/// Kills `trials` commands in a new workspace. Checks that nothing is lost, duplicated or left running.
///
/// Panics with the problems that it found. `seed` determines the commands and the moments of the kills, but not how far
/// a command gets. `policy` is added to the policy of the workspace.
#[track_caller]
pub fn kill_anywhere(trials: usize, seed: u64, policy: &str) -> Outcome {
    let site = Site::script_with(
        // The run continues after its output, so that runners are killed while it runs.
        &format!("printf '%s\\n' \"$1\" >> {RAN}\nsleep 0.05\n"),
        "argument_template = { n = \"{n}\" }\neffects = [\"local-read\", \"local-write\"]",
    );
    site.add_to_policy(policy);
    let has_compact = site.tools(["state", "compact", "--help"]).code() == Some(0);
    let has_batch = site.tools(["call", "queue", "--help"]).stdout_text().contains("--stdin");
    let undisturbed = BaselineTimes::measure(&site);
    let shared = Mutex::new((Random(seed | 1), Ledger::default(), 0_usize));
    let workers = thread::available_parallelism().map_or(2, usize::from).clamp(2, 4);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let (step, life, number) = {
                        let mut shared = shared.lock().expect("no worker panics with the lock held");
                        if trials <= shared.2 {
                            return;
                        }
                        shared.2 += 1;
                        let step = match shared.0.below(20) {
                            0..=4 => Step::Queue,
                            5..=10 => Step::Approve,
                            11..=16 => Step::Run,
                            17 if has_compact => Step::Compact,
                            18..=19 if has_batch => Step::Batch,
                            _ => Step::Queue,
                        };
                        let part = shared.0.below(1_000) as f64 / 1_000.0;
                        (step, undisturbed.time(step).mul_f64(part * LIFE).min(MAX_STEP), shared.2)
                    };
                    let pending =
                        shared.lock().expect("no worker panics with the lock held").1.next_pending();
                    let answer = trial(&site, step, number, pending.as_deref(), life);
                    shared.lock().expect("no worker panics with the lock held").1.note(step, answer);
                }
            });
        }
    });
    let (_, ledger, started) = shared.into_inner().expect("no worker panics with the lock held");
    examine(&site, ledger, started)
}

/// What commands acknowledged before they were killed or ended.
#[derive(Debug, Default)]
struct Ledger {
    /// Acknowledged calls and their reported status.
    calls: BTreeMap<String, &'static str>,
    /// Calls that are not approved yet.
    pending: VecDeque<String>,
    killed: usize,
}

/// The result of one command.
struct Answer {
    /// Its document, if it exited with 0.
    document: Option<Value>,
    was_killed: bool,
    /// The id of its call.
    about: Option<String>,
}

impl Ledger {
    fn next_pending(&mut self) -> Option<String> {
        self.pending.pop_front()
    }

    fn note(&mut self, step: Step, answer: Answer) {
        self.killed += usize::from(answer.was_killed);
        let Some(document) = answer.document else {
            // A killed command may or may not have approved the call, so the call is tried again last. A refused call
            // was approved already.
            if answer.was_killed || !matches!(step, Step::Approve) {
                self.pending.extend(answer.about);
            }
            return;
        };
        match step {
            Step::Queue | Step::Batch => {
                let one = document["call"]["id"].as_str().map(str::to_owned);
                let rows = document["rows"].as_array().cloned().unwrap_or_default();
                let many = rows.iter().filter_map(|row| row["call_id"].as_str().map(str::to_owned));
                for id in one.into_iter().chain(many) {
                    self.calls.entry(id.clone()).or_insert("pending");
                    self.pending.push_back(id);
                }
                self.pending.extend(answer.about);
            }
            Step::Approve => {
                if let Some(id) = answer.about {
                    self.calls.insert(id, "approved");
                }
            }
            Step::Run => {
                if let Some(id) = document["call"]["id"].as_str() {
                    self.calls.insert(id.to_owned(), "completed");
                }
                self.pending.extend(answer.about);
            }
            Step::Compact => self.pending.extend(answer.about),
        }
    }
}

/// Starts one command and kills it after a while, unless it has ended.
fn trial(site: &Site, step: Step, number: usize, pending: Option<&str>, life: Duration) -> Answer {
    let args = format!("{{\"n\":\"{number}\"}}");
    let words: Vec<&str> = match (step, pending) {
        (Step::Queue, _) => vec!["call", "queue", "tool", "--args", &args],
        (Step::Approve, Some(id)) => vec!["call", "approve", id],
        (Step::Run | Step::Approve, _) => vec!["call", "run", "--next"],
        (Step::Compact, _) => vec!["state", "compact"],
        (Step::Batch, _) => vec!["call", "queue", "--stdin"],
    };
    let mut command = site.brigade.command(["tools"].iter().chain(&words).chain(&["--json"]));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    if matches!(step, Step::Batch) {
        let lines: String = (0..20)
            .map(|line| format!("{{\"tool\":\"tool\",\"args\":{{\"n\":\"{number}-{line}\"}}}}\n"))
            .collect();
        let path = site.beside(&format!("batch-{number}"));
        fs::write(&path, lines).expect("the folder around the workspace can be written");
        command.stdin(fs::File::open(&path).expect("it was just written"));
    }
    let mut child = command.spawn().expect("the binary is there");
    let mut stdout = child.stdout.take().expect("was piped");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        // A killed command has partial output, which is ignored.
        let _ = stdout.read_to_end(&mut text);
        text
    });
    // A command that ends before it is killed also counts as a trial.
    let deadline = Instant::now() + life;
    while Instant::now() < deadline && !matches!(child.try_wait(), Ok(Some(_))) {
        thread::park_timeout(Duration::from_micros(200));
    }
    let ended = child.try_wait().expect("it is our child");
    if ended.is_none() {
        child.kill().expect("it is our child, and not waited for");
        child.wait().expect("it is our child");
    }
    let text = reader.join().expect("reading does not panic");
    let document = ended.filter(|status| status.success()).and_then(|_| serde_json::from_slice(&text).ok());
    Answer { document, was_killed: ended.is_none(), about: pending.map(str::to_owned) }
}

/// Checks that nothing is lost, duplicated or left running.
#[track_caller]
fn examine(site: &Site, ledger: Ledger, started: usize) -> Outcome {
    let here = site.workspace.path().display().to_string();
    until("end of every process of the workspace", || living_in(&here).is_empty().then_some(()));
    until("end of every process that names the workspace", || processes_with(&here).is_empty().then_some(()));

    // The next writer recovers the calls of killed commands.
    site.queue("tool", "{\"n\":\"last\"}");
    if site.tools(["state", "check", "--help"]).code() == Some(0) {
        let check = site.tools(["state", "check", "--json"]);
        check.assert_code(0);
        let check = check.json();
        assert_eq!(
            (&check["valid"], &check["damage"]),
            (&true.into(), &Value::Array(Vec::new())),
            "{check:#}"
        );
    }
    let verified = site.json(["run", "verify"]).expect(0);
    assert_eq!(verified["valid"], true, "{verified:#}");

    let list = site.json(["call", "list"]).expect(0);
    let calls: BTreeMap<&str, &Value> = list["calls"]
        .as_array()
        .expect("a list of calls")
        .iter()
        .map(|call| (call["id"].as_str().expect("a call has an id"), call))
        .collect();
    let rank = |status: &str| match status {
        "pending" => 0,
        "approved" => 1,
        "running" => 2,
        _ => 3,
    };
    for (id, said) in &ledger.calls {
        let call =
            calls.get(id.as_str()).unwrap_or_else(|| panic!("{id} was acknowledged as {said} and is lost"));
        let is = call["status"].as_str().unwrap_or_default();
        assert!(rank(said) <= rank(is), "{id} was acknowledged as {said} and is {is}");
    }

    let ran = fs::read_to_string(site.workspace.join(RAN)).unwrap_or_default();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for line in ran.lines() {
        *times.entry(line).or_default() += 1;
    }
    let doubled: Vec<&&str> = times.iter().filter(|(_, count)| 1 < **count).map(|(line, _)| line).collect();
    assert!(doubled.is_empty(), "ran more than once: {doubled:?}");
    let mut outcome =
        Outcome { started, killed: ledger.killed, acknowledged: ledger.calls.len(), ..Outcome::default() };
    for call in calls.values() {
        let n = call["args"]["n"].as_str().unwrap_or_default();
        match call["status"].as_str().unwrap_or_default() {
            "completed" => {
                outcome.completed += 1;
                assert!(times.contains_key(n), "{n} is completed and has not run");
            }
            "interrupted" => outcome.interrupted += 1,
            // A call that is not recorded as running has not run.
            "pending" | "approved" => assert!(!times.contains_key(n), "{n} has run and is not told to have"),
            status => panic!("{n} is {status}"),
        }
    }
    outcome
}

/// Returns the processes whose directory is in the workspace.
fn living_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    let inside =
        |path: &std::path::Path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    entries
        .map(|entry| entry.path())
        .filter(|path| inside(path))
        .map(|path| path.display().to_string())
        .collect()
}

/// A deterministic random generator: the same seed gives the same numbers.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
