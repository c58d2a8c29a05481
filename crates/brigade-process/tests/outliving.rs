//! Tests pipes to a child, programs that outlive the caller, and callers that die.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brigade_process::{
    CancelSignal, CancelToken, EndedBy, Ending, Exit, LogFile, Logs, ProcessIdentity, Program, Signal, Spec,
    kill_detached, kill_tree, spawn_detached, spawn_piped,
};
use common::{Trial, fixture, living};

const GRACE: Duration = Duration::from_millis(150);

fn ending() -> Ending {
    Ending { linger: Duration::ZERO, grace: GRACE, kill_limit: Duration::from_secs(10) }
}

const CAP: u64 = 1 << 20;

/// Creates the logs `log` and `errors` in a directory.
fn logs(folder: &Path, cap: u64) -> Logs {
    let open = |name: &str| {
        let file = File::options().append(true).create(true).open(folder.join(name)).unwrap();
        LogFile::new(File::open(folder).unwrap().into(), name.as_ref(), file).unwrap()
    };
    Logs { stdout: open("log"), stderr: open("errors"), cap }
}

/// Polls a condition, and fails after a while.
#[track_caller]
fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Waits until this many processes carry the mark; fails after a while.
#[track_caller]
fn wait_for_count(mark: &str, wanted: impl Fn(usize) -> bool) {
    let start = Instant::now();
    while !wanted(living(mark).len()) {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", living(mark));
        std::thread::park_timeout(Duration::from_millis(1));
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
fn a_child_outlives_the_thread_that_started_it() {
    let trial = Trial::new("/bin/cat".into());
    let mut child = std::thread::scope(|scope| {
        scope.spawn(|| spawn_piped(&trial.spec, ending()).unwrap()).join().unwrap()
    });
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert!(child.finish(Duration::from_secs(20)).unwrap().exit.success());
}

/// Returns the keeper of a child: the parent of its main process.
fn keeper_of(child: &brigade_process::Child) -> ProcessIdentity {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.identity().pid())).unwrap();
    let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    ProcessIdentity::from_pid(parent.parse().unwrap()).unwrap()
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
fn a_stopped_keeper_is_continued_when_needed() {
    let trial = Trial::new(fixture("setsid.py"));
    let mut child = spawn_piped(&trial.spec, ending()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    keeper_of(&child).signal(Signal::Stop).unwrap();
    let outcome = child.finish(GRACE).unwrap();
    assert_eq!(outcome.exit, Exit::Signal(15));
    trial.check_nothing_left();
}

#[test]
fn a_repeatedly_stopped_keeper_is_given_up() {
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
        let trial = Trial::new(fixture(name));
        let identity = spawn_detached(&trial.spec, logs(folder.path(), CAP)).unwrap().program;
        let start = Instant::now();
        while std::fs::read_to_string(folder.path().join("log")).unwrap() != "ready\n" {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::park_timeout(Duration::from_millis(1));
        }
        if marked {
            let start = Instant::now();
            while identity.is_alive() {
                assert!(start.elapsed() < Duration::from_secs(20));
                std::thread::park_timeout(Duration::from_millis(1));
            }
            assert_eq!(living(&trial.mark).len(), 1);
            // Without the mark the daemon cannot be attributed to the tree.
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
    let trial = Trial::new(fixture("ignores-term.sh"));
    let identity = spawn_detached(&trial.spec, logs(folder.path(), CAP)).unwrap().program;
    wait_for_count(&trial.mark, |count| count == 2);
    let ended = kill_tree(&identity, None, GRACE);
    assert_eq!((ended.signalled, ended.killed, ended.survivors.len()), (2, 2, 0));
    trial.check_nothing_left();
}

#[test]
fn a_failed_detached_start_returns_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::new(Program::at("/does/not/exist"), "/");
    let error = spawn_detached(&spec, logs(folder.path(), CAP)).unwrap_err();
    assert!(error.to_string().contains("execute the program"), "{error}");
}

#[test]
fn the_end_of_a_detached_program_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let check = |script: &str, expect: Exit| {
        let begun = spawn_detached(&Trial::shell(script).spec, logs(folder.path(), CAP)).unwrap();
        assert_eq!(begun.exit.wait(Duration::from_secs(20)), expect, "{script}");
        // The end is reported once; then the pipe is at its end.
        assert_eq!(begun.exit.wait(Duration::from_secs(20)), Exit::Unknown, "{script}");
    };
    check("exit 3", Exit::Code(3));
    check("kill -9 $$", Exit::Signal(9));
    check("exec >/dev/null 2>&1; exit 4", Exit::Code(4));
    // The end of another process of the tree is not reported as the program's.
    check("(exit 1) & wait; (exit 2) & exit 5", Exit::Code(5));
    let lives = Trial::shell("sleep 300");
    let begun = spawn_detached(&lives.spec, logs(folder.path(), CAP)).unwrap();
    assert_eq!(begun.exit.wait(Duration::ZERO), Exit::Unknown);
    kill_detached(&begun.program, Some(&begun.writer), None, Duration::from_secs(5));
    assert_eq!(begun.exit.wait(Duration::from_secs(20)), Exit::Signal(15));
    lives.check_nothing_left();
}

fn length(path: impl AsRef<Path>) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

#[test]
fn logs_stay_below_the_cap_and_lose_only_the_oldest() {
    let folder = tempfile::tempdir().unwrap();
    let (log, older) = (folder.path().join("log"), folder.path().join("log.1"));
    let script = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); echo line $i; done; echo oops >&2";
    let trial = Trial::shell(script);
    let cap = 64 << 10;
    let begun = spawn_detached(&trial.spec, logs(folder.path(), cap)).unwrap();
    let mut rotations = 0;
    let start = Instant::now();
    while begun.writer.is_alive() {
        assert!(start.elapsed() < Duration::from_secs(60));
        let (now, before) = (length(&log), length(&older));
        assert!(now <= cap && before <= cap, "{now} {before}");
        rotations += usize::from(0 < before);
    }
    assert!(0 < rotations, "the change was missed");
    assert!(!begun.program.is_alive());
    let text = std::fs::read_to_string(older).unwrap() + &std::fs::read_to_string(log).unwrap();
    let numbers: Vec<u32> =
        text.lines().map(|line| line.strip_prefix("line ").unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one + 1 == *next), "nothing is missing in between");
    assert_eq!(numbers.last(), Some(&40_000));
    assert!(cap < text.len() as u64);
    assert_eq!(std::fs::read_to_string(folder.path().join("errors")).unwrap(), "oops\n");
}

/// Returns the fields of `/proc/PID/stat` after the name, such as state, parent, group and session.
fn stat_of(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(") ")?;
    Some(behind.split(' ').take(4).map(str::to_owned).collect())
}

#[test]
fn all_orphans_of_a_detached_tree_are_found() {
    let folder = tempfile::tempdir().unwrap();
    // A daemon: its own session, another environment, a parent that has ended, and output elsewhere.
    let script = "import os, sys, time\n\
        if os.fork() == 0:\n\
        \x20   os.setsid()\n\
        \x20   if os.fork() == 0:\n\
        \x20       print(os.getpid(), flush=True)\n\
        \x20       null = os.open('/dev/null', os.O_RDWR)\n\
        \x20       os.dup2(null, 1), os.dup2(null, 2)\n\
        \x20       os.execve('/bin/sleep', ['sleep', '300'], {})\n\
        \x20   os._exit(0)\n\
        if sys.argv[1] == 'stays': time.sleep(300)\n";
    for (main, expect) in [("stays", 2), ("goes", 1)] {
        let mut trial = Trial::python(script);
        trial.spec.argv.push(main.into());
        let log = folder.path().join("log");
        std::fs::write(&log, "").unwrap();
        let begun = spawn_detached(&trial.spec, logs(folder.path(), CAP)).unwrap();
        until(|| std::fs::read_to_string(&log).unwrap().ends_with('\n'));
        let daemon: u32 = std::fs::read_to_string(&log).unwrap().trim().parse().unwrap();
        let daemon = ProcessIdentity::from_pid(daemon).unwrap();
        until(|| std::fs::read(format!("/proc/{}/environ", daemon.pid())).unwrap().is_empty());
        // The session is the number of the process that started the daemon, which is about to exit.
        let session = stat_of(daemon.pid()).unwrap()[3].clone();
        until(|| stat_of(session.parse().unwrap()).is_none_or(|stat| stat[0] == "Z"));
        if main == "goes" {
            until(|| !begun.program.is_alive());
        }
        assert!(begun.writer.is_alive(), "it waits for the remaining processes");
        let ended = kill_detached(&begun.program, Some(&begun.writer), Some(&trial.mark), GRACE);
        assert_eq!((ended.signalled, ended.survivors.len()), (expect, 0), "{main}");
        assert!(!daemon.is_alive());
        until(|| !begun.writer.is_alive());
        trial.check_nothing_left();
    }
}

#[test]
fn a_line_that_never_ends_is_cut_too() {
    let folder = tempfile::tempdir().unwrap();
    let trial = Trial::shell("head -c 1000000 /dev/zero");
    let begun = spawn_detached(&trial.spec, logs(folder.path(), 1000)).unwrap();
    until(|| !begun.writer.is_alive());
    let (log, older) = (length(folder.path().join("log")), length(folder.path().join("log.1")));
    assert!(0 < log && log <= 1000 && older == 1000, "{log} {older}");
}

#[test]
fn a_log_writer_ignores_signals_and_inherits_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut trial = Trial::shell("read line; echo never");
    trial.spec.directory = "/".into();
    let begun = spawn_detached(&trial.spec, logs(folder.path(), CAP)).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", begun.writer.pid()));
    let read = |name: &str| std::fs::read_to_string(process.join(name)).unwrap();
    until(|| read("comm") == "brigade-log\n");
    until(|| read("environ").bytes().all(|byte| byte == 0));
    until(|| read("cmdline").trim_end_matches('\0') == "brigade: log writer");
    let descriptors = || {
        let names = std::fs::read_dir(process.join("fd")).unwrap();
        let links = names.filter_map(|name| std::fs::read_link(name.unwrap().path()).ok());
        let mut links: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
        links.retain(|link| !link.starts_with("pipe:"));
        links.sort();
        links
    };
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let whole = folder.path().to_string_lossy().into_owned();
    let expect = [whole.clone(), whole, at("errors"), at("log")];
    until(|| descriptors() == expect);
    assert_eq!(std::fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    for signal in [Signal::Terminate, Signal::Interrupt, Signal::Hangup] {
        begun.writer.signal(signal).unwrap();
    }
    assert!(begun.writer.is_alive());
    kill_tree(&begun.program, Some(&trial.mark), GRACE);
    until(|| !begun.writer.is_alive());
}

#[test]
fn a_removed_log_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let fifo = folder.path().join("go");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let trial = Trial::shell(&format!("echo one; cat {0}; echo two; cat {0}; echo three", fifo.display()));
    let begun = spawn_detached(&trial.spec, logs(folder.path(), CAP)).unwrap();
    let text = || std::fs::read_to_string(&log).unwrap_or_default();
    until(|| text() == "one\n");
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&fifo, "").unwrap();
    until(|| text() == "two\n");
    // A link to another file is not one of its logs.
    std::fs::remove_file(&log).unwrap();
    std::fs::write(folder.path().join("precious"), "mine\n").unwrap();
    std::os::unix::fs::symlink("precious", &log).unwrap();
    std::fs::write(&fifo, "").unwrap();
    until(|| !begun.writer.is_alive());
    assert_eq!(std::fs::read_to_string(folder.path().join("precious")).unwrap(), "mine\n");
}

#[test]
fn unwritable_output_is_read_and_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    assert!(Command::new("mkfifo").args([&first, &second]).status().unwrap().success());
    // More output than a pipe holds, so the program only continues after it is read.
    let script = format!(
        "echo one; cat {}; head -c 1000000 /dev/zero; cat {}; echo two",
        first.display(),
        second.display()
    );
    let trial = Trial::shell(&script);
    let begun = spawn_detached(&trial.spec, logs(folder.path(), CAP)).unwrap();
    until(|| length(&log) == 4);
    let limit = |size: &str| {
        let mut command = Command::new("prlimit");
        command.args(["--pid", &begun.writer.pid().to_string(), &format!("--fsize={size}:unlimited")]);
        assert!(command.status().unwrap().success());
    };
    limit("4");
    std::fs::write(&first, "").unwrap();
    // This open returns only when the program opens the pipe for reading, after all the zeroes were read.
    let second = File::options().write(true).open(&second).unwrap();
    limit("unlimited");
    drop(second);
    until(|| !begun.writer.is_alive());
    let text = std::fs::read_to_string(&log).unwrap();
    let (before, after) = text.split_once("[brigade: ").unwrap();
    assert_eq!((before, after.matches("missing").count()), ("one\n", 1), "{text}");
    let missing: usize = after.split_once(' ').unwrap().0.parse().unwrap();
    let zeroes = after.bytes().filter(|byte| *byte == 0).count();
    assert!(900_000 <= missing && missing + zeroes == 1_000_000, "{missing} {zeroes}");
    assert!(after.contains("bytes of output are missing here: the limit of a file's size was reached]\n"));
    assert!(text.ends_with("two\n"));
}

/// The name of the test below. The test after it runs it as a separate program.
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

/// Starts the test above as a separate program and returns when its tree is ready.
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
        // Started by this process, so that it ignores no signals, whatever these tests were started with.
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
    // `nohup` does the same for SIGHUP: the person who starts a program this way intends it.
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
