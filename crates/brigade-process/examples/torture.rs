//! Runs many trials of the misbehaving programs and counts the processes and files that they leave.
//!
//! `cargo run -p brigade-process --example torture -- TRIALS [THREADS]` prints one line of counts. The exit code is 0
//! only if nothing was left and every outcome was as expected.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people and for CI")]
#![allow(
    clippy::disallowed_methods,
    reason = "sets up trials and searches for processes and files that they leave"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brigade_process::{CancelToken, Control, EndedBy, Ending, Program, Spec, Stream, run};
use brigade_sandbox::{Mode, Network, Observation, SandboxProfile};

/// How a trial is ended once the program prints that it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The program ends it.
    Itself,
    /// It is cancelled.
    Cancel,
    /// Its time is up.
    Timeout,
}

const CORPUS: [(&str, End); 18] = [
    ("grandchildren.sh", End::Cancel),
    ("grandchildren.sh", End::Timeout),
    ("leaves-child.sh", End::Itself),
    ("setsid.py", End::Cancel),
    ("daemon.py", End::Itself),
    ("ignores-term.sh", End::Cancel),
    ("ignores-term.sh", End::Timeout),
    ("stubborn-daemon.py", End::Itself),
    ("fork-storm.py", End::Cancel),
    ("session-storm.py", End::Cancel),
    ("holds-stdout.py", End::Itself),
    ("closes-stdout.py", End::Itself),
    ("prints-for-ever.sh", End::Timeout),
    ("prints-bytes.py", End::Itself),
    ("reads-stdin.sh", End::Itself),
    ("stopped.sh", End::Cancel),
    ("subreaper.py", End::Cancel),
    ("changes-name.py", End::Cancel),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let (Some(Ok(trials)), threads) = (words.next(), words.next()) else {
        eprintln!("usage: torture TRIALS [THREADS]");
        return ExitCode::from(2);
    };
    let threads = threads.and_then(Result::ok).unwrap_or(8).clamp(1, 256);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/misbehaving");
    let Some(python) = python() else {
        eprintln!("torture needs python3");
        return ExitCode::from(3);
    };
    let next = AtomicUsize::new(0);
    let observed = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::<String, usize>::new());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if trials <= index {
                        break;
                    }
                    let (name, end) = CORPUS[index % CORPUS.len()];
                    // Each program is tried alone, and in a sandbox that observes it.
                    let observe = index / CORPUS.len() % 2 == 1;
                    match trial(&corpus.join(name), &python, end, index, observe) {
                        Ok(was_observed) => drop(observed.fetch_add(was_observed.into(), Ordering::Relaxed)),
                        Err(what) => {
                            let mut failures =
                                failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                            let how = if observe { ", observed" } else { "" };
                            *failures.entry(format!("{name} ({end:?}{how}): {what}")).or_default() += 1;
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let failed: usize = failures.values().sum();
    let seconds = start.elapsed().as_secs_f64();
    let observed = observed.into_inner();
    println!("{trials} trials, {observed} observed, {failed} failed, {seconds:.1} s, {threads} at a time");
    for (what, count) in &failures {
        println!("{count} x {what}");
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The interpreter itself, past any shim.
fn python() -> Option<PathBuf> {
    let asked =
        std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let path = String::from_utf8(asked.ok()?.stdout).ok()?;
    Some(PathBuf::from(path.trim())).filter(|path| path.is_file())
}

/// Runs one trial, and returns whether it was observed.
fn trial(program: &Path, python: &Path, end: End, index: usize, observe: bool) -> Result<bool, String> {
    let mark = format!("{}-{index}", std::process::id());
    let mut argv: Vec<OsString> = vec![program.into()];
    let mut path = program;
    if program.extension().is_some_and(|extension| extension == "py") {
        path = python;
        argv.insert(0, python.into());
    }
    let mut spec = Spec::new(Program::at(path), "/");
    spec.argv = argv;
    spec.environment = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("BRIGADE_TRIAL".into(), mark.clone().into()),
    ];
    if observe {
        // Opens everything, so that the programs misbehave as they do without a sandbox.
        spec.sandbox = Some(SandboxProfile {
            write: vec!["/".into()],
            network: Network::Allowed,
            ..SandboxProfile::nothing(Mode::BestEffort)
        });
        spec.observe = program.parent().map(Path::to_owned);
    }
    let token = CancelToken::new().map_err(|error| error.to_string())?;
    let timeout = if end == End::Timeout { Duration::from_millis(150) } else { Duration::from_secs(60) };
    let control = Control {
        timeout: Some(timeout),
        cancel: Some(token.clone()),
        ending: Ending {
            linger: Duration::from_millis(20),
            grace: Duration::from_millis(100),
            kill_limit: Duration::from_secs(20),
        },
        output_cap: 1 << 20,
        ..Control::default()
    };
    let mut sink = |_: Stream, bytes: &[u8]| {
        if end == End::Cancel && bytes.starts_with(b"ready") {
            token.cancel();
        }
        Ok(())
    };
    let outcome = run(&spec, &mut sink, &control).map_err(|error| error.to_string())?;
    let expect = match end {
        End::Itself => EndedBy::Itself,
        End::Cancel => EndedBy::Cancel,
        End::Timeout => EndedBy::Timeout,
    };
    let left = living(&format!("BRIGADE_TRIAL={mark}"));
    if left != 0 {
        return Err(format!("{left} processes left"));
    }
    if !outcome.survivors.is_empty() {
        return Err(format!("{} survivors told", outcome.survivors.len()));
    }
    if outcome.ended_by != expect {
        return Err(format!("ended by {:?}", outcome.ended_by));
    }
    match outcome.observation {
        // After a timeout the program may have opened nothing yet.
        Some(Observation::Done(seen)) if seen.read.is_empty() && end != End::Timeout => {
            Err(format!("nothing was observed: {:?} {:?}", seen.counts, seen.unseen))
        }
        Some(Observation::Done(_)) => Ok(true),
        None if observe => Err("the observation is missing".to_owned()),
        _ => Ok(false),
    }
}

/// Returns how many living processes were started with this `NAME=value`.
fn living(mark: &str) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let carries = |path: &Path| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|&b| b == 0).any(|pair| pair == mark.as_bytes())
    };
    entries.flatten().filter(|entry| carries(&entry.path())).count()
}
