//! Pipes to a child, programs that outlive the caller, and callers that die.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brigade_process::{
    CancelSignal, CancelToken, EndedBy, Ending, Exit, Files, ProcessIdentity, Program, Signal, Spec,
    kill_tree, spawn_detached, spawn_piped,
};
use common::{Trial, fixture, living};

const GRACE: Duration = Duration::from_millis(150);

fn ending() -> Ending {
    Ending { linger: Duration::ZERO, grace: GRACE, kill_limit: Duration::from_secs(10) }
}

/// Waits until this many processes carry the mark; fails after a while.
#[track_caller]
fn wait_for_count(mark: &str, wanted: impl Fn(usize) -> bool) {
    let start = Instant::now();
    while !wanted(living(mark).len()) {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", living(mark));
        std::thread::yield_now();
    }
}

#[test]
fn one_can_talk_to_a_child() {
    let trial = Trial::new("/bin/cat".into());
    let mut child = spawn_piped(&trial.spec, ending()).unwrap();
    assert!(child.identity().is_alive());
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    for word in ["one\n", "two\n"] {
        child.stdin.as_mut().unwrap().write_all(word.as_bytes()).unwrap();
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, word);
    }
    assert_eq!(child.wait(Duration::ZERO).unwrap(), None);
    let outcome = child.finish(Duration::from_secs(20)).unwrap();
    assert_eq!((outcome.exit, outcome.ended_by), (Exit::Code(0), EndedBy::Itself));
    trial.check_nothing_left();
}

#[test]
fn a_child_that_does_not_end_on_its_own_is_ended() {
    let trial = Trial::new(fixture("ignores-term.sh"));
    let mut child = spawn_piped(&trial.spec, ending()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    let outcome = child.finish(GRACE).unwrap();
    assert_eq!((outcome.exit, outcome.ended_by), (Exit::Signal(9), EndedBy::Caller));
    trial.check_nothing_left();
}

#[test]
fn dropping_a_child_ends_its_tree() {
    let trial = Trial::new(fixture("setsid.py"));
    let mut child = spawn_piped(&trial.spec, ending()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    assert_eq!(living(&trial.mark).len(), 2);
    drop(child);
    wait_for_count(&trial.mark, |count| count == 0);
}

#[test]
fn a_child_lives_on_when_the_thread_that_started_it_ends() {
    let trial = Trial::new("/bin/cat".into());
    let mut child = std::thread::scope(|scope| {
        scope.spawn(|| spawn_piped(&trial.spec, ending()).unwrap()).join().unwrap()
    });
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert!(child.finish(Duration::from_secs(20)).unwrap().exit.success());
}

/// The keeper of a child: the parent of its main process.
fn keeper_of(child: &brigade_process::Child) -> ProcessIdentity {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.identity().pid())).unwrap();
    let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    ProcessIdentity::of(parent.parse().unwrap()).unwrap()
}

#[test]
fn a_killed_keeper_leaves_nothing_behind() {
    for (program, processes) in [("grandchildren.sh", 2), ("setsid.py", 2), ("subreaper.py", 4)] {
        let mut trial = Trial::new(fixture(program));
        let name = format!("{}-{program}", std::process::id());
        trial.spec.environment.push(("BRIGADE_TEST_RUN_ID".into(), name.into()));
        let mut child = spawn_piped(&trial.spec, ending()).unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        assert!(processes <= living(&trial.mark).len());
        keeper_of(&child).signal(Signal::Kill).unwrap();
        let outcome = child.finish(Duration::from_secs(20)).unwrap();
        assert_eq!((outcome.exit, outcome.survivors.len()), (Exit::Unknown, 0), "{program}");
        trial.check_nothing_left();
    }
}

#[test]
fn a_stopped_keeper_goes_on_when_it_is_needed() {
    let trial = Trial::new(fixture("setsid.py"));
    let mut child = spawn_piped(&trial.spec, ending()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    keeper_of(&child).signal(Signal::Stop).unwrap();
    let outcome = child.finish(GRACE).unwrap();
    assert_eq!(outcome.exit, Exit::Signal(15));
    trial.check_nothing_left();
}

#[test]
fn a_keeper_that_is_stopped_again_and_again_is_given_up() {
    // Stops its parent for as long as it is alive.
    let script = "import os, signal\nprint('ready', flush=True)\nkeeper = os.getppid()\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
        while os.getppid() == keeper: os.kill(keeper, signal.SIGSTOP)";
    let trial = Trial::python(script);
    let ending = Ending { kill_limit: GRACE, ..ending() };
    let mut child = spawn_piped(&trial.spec, ending).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    let outcome = child.finish(GRACE).unwrap();
    assert_eq!((outcome.ended_by, outcome.survivors.len()), (EndedBy::Caller, 0));
    trial.check_nothing_left();
}

#[test]
fn a_detached_tree_lives_until_it_is_ended() {
    for (name, marked) in [("grandchildren.sh", false), ("setsid.py", false), ("daemon.py", true)] {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let trial = Trial::new(fixture(name));
        let files = Files { stdout: &log, stderr: &log };
        let identity = spawn_detached(&trial.spec, &files).unwrap();
        let start = Instant::now();
        while std::fs::read_to_string(folder.path().join("log")).unwrap() != "ready\n" {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
        if marked {
            let start = Instant::now();
            while identity.is_alive() {
                assert!(start.elapsed() < Duration::from_secs(20));
                std::thread::yield_now();
            }
            assert_eq!(living(&trial.mark).len(), 1);
            // Without the mark nothing says that the daemon belongs to it.
            assert_eq!(kill_tree(&identity, None, GRACE).signalled, 0);
            let ended = kill_tree(&identity, Some(&trial.mark), Duration::from_secs(10));
            assert_eq!((ended.signalled, ended.killed), (1, 0));
        } else {
            assert!(identity.is_alive());
            let ended = kill_tree(&identity, None, Duration::from_secs(10));
            assert!(2 <= ended.signalled);
            assert_eq!((ended.killed, ended.survivors.len()), (0, 0));
        }
        trial.check_nothing_left();
        assert_eq!(kill_tree(&identity, Some(&trial.mark), GRACE).signalled, 0);
    }
}

#[test]
fn a_stubborn_detached_tree_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let log = File::create(folder.path().join("log")).unwrap();
    let trial = Trial::new(fixture("ignores-term.sh"));
    let identity = spawn_detached(&trial.spec, &Files { stdout: &log, stderr: &log }).unwrap();
    wait_for_count(&trial.mark, |count| count == 2);
    let ended = kill_tree(&identity, None, GRACE);
    assert_eq!((ended.signalled, ended.killed, ended.survivors.len()), (2, 2, 0));
    trial.check_nothing_left();
}

#[test]
fn a_detached_program_that_cannot_start_says_why() {
    let null = File::options().write(true).open("/dev/null").unwrap();
    let spec = Spec::new(Program::at("/does/not/exist"), "/");
    let error = spawn_detached(&spec, &Files { stdout: &null, stderr: &null }).unwrap_err();
    assert!(error.to_string().contains("execute the program"), "{error}");
}

/// The name of the test below, run by the one after it as a program of its own.
const VICTIM: &str = "victim_that_runs_a_tree";

#[test]
fn victim_that_runs_a_tree() {
    let Ok(program) = std::env::var("BRIGADE_VICTIM_RUNS") else {
        return;
    };
    let mut trial = Trial::new(fixture(&program));
    let mark = std::env::var("BRIGADE_TRIAL").unwrap();
    trial.spec.environment =
        vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), ("BRIGADE_TRIAL".into(), mark.into())];
    let signals = [CancelSignal::Interrupt, CancelSignal::Terminate, CancelSignal::Hangup];
    let cancel = Some(CancelToken::on_signals(&signals).unwrap());
    let control = brigade_process::Control { ending: ending(), cancel, ..Default::default() };
    let mut sink = |_: brigade_process::Stream, bytes: &[u8]| std::io::stderr().write_all(bytes);
    let outcome = brigade_process::run(&trial.spec, &mut sink, &control).unwrap();
    write!(std::io::stderr(), "{:?}", outcome.ended_by).unwrap();
}

/// Starts the test above as a program of its own and returns when its tree is ready.
fn start_victim(trial: &Trial, program: &str) -> std::process::Child {
    let (name, value) = trial.mark.split_once('=').unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", VICTIM, "--nocapture"])
        .env(name, value)
        .env("BRIGADE_VICTIM_RUNS", program)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = Vec::new();
    let stderr = victim.stderr.as_mut().unwrap();
    while !seen.ends_with(b"ready\n") {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    victim
}

#[test]
fn a_caller_that_is_killed_leaves_nothing_behind() {
    for program in ["grandchildren.sh", "ignores-term.sh", "setsid.py", "fork-storm.py"] {
        let trial = Trial::new(fixture(program));
        let mut victim = start_victim(&trial, program);
        victim.kill().unwrap();
        victim.wait().unwrap();
        wait_for_count(&trial.mark, |count| count == 0);
    }
}

#[test]
fn signals_to_the_caller_cancel_its_runs() {
    for signal in [Signal::Interrupt, Signal::Terminate, Signal::Hangup] {
        // Started by ourselves, so that it ignores no signal, whatever these tests were started with.
        let mut trial = Trial::new(std::env::current_exe().unwrap());
        trial.spec.argv.extend(["--exact", VICTIM, "--nocapture"].map(Into::into));
        trial.spec.environment.push(("BRIGADE_VICTIM_RUNS".into(), "ignores-term.sh".into()));
        let mut victim = spawn_piped(&trial.spec, ending()).unwrap();
        let mut said = BufReader::new(victim.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        victim.identity().signal(signal).unwrap();
        line.clear();
        said.read_to_string(&mut line).unwrap();
        assert_eq!(line, "Cancel");
        let outcome = victim.finish(Duration::from_secs(20)).unwrap();
        assert_eq!((outcome.exit, outcome.ended_by), (Exit::Code(0), EndedBy::Itself));
        trial.check_nothing_left();
    }
}

#[test]
fn ignored_signals_stay_ignored() {
    // `nohup` does the same for SIGHUP: whoever starts a program so means it.
    let mut trial = Trial::shell("trap '' HUP; exec \"$0\" \"$@\"");
    let program = std::env::current_exe().unwrap();
    trial.spec.argv.push(program.into());
    trial.spec.argv.extend(["--exact", VICTIM, "--nocapture"].map(Into::into));
    trial.spec.environment.push(("BRIGADE_VICTIM_RUNS".into(), "grandchildren.sh".into()));
    let mut victim = spawn_piped(&trial.spec, ending()).unwrap();
    let mut said = BufReader::new(victim.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", victim.identity().pid())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 1, 1);
    victim.identity().signal(Signal::Terminate).unwrap();
    assert!(victim.finish(Duration::from_secs(20)).unwrap().exit.success());
    trial.check_nothing_left();
}
