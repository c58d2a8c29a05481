//! Tests logs of real runtimes.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc::channel;

use crate::workspace::{LONG_TIMEOUT, Workspace, until};
use brigade_core::NextStep;
use brigade_process::{CancelToken, ProcessIdentity, Signal};
use brigade_runtime::{Checks, FollowFrom, LOG_CAP, LogStream, RuntimeError, StartOutcome};

const STDOUT: &str = ".brigade/tools/runtime/r.log.stdout";

#[test]
fn a_log_is_appended_to_and_rotated_when_it_is_long() {
    let workspace = Workspace::one("python3 says.py", "");
    workspace.write("says.py", "import os, time\nprint('pid', os.getpid(), flush=True)\ntime.sleep(300)\n");
    let first = workspace.must_start();
    until(|| workspace.read(STDOUT).ends_with('\n'));
    workspace.stop();
    let second = workspace.must_start();
    let both = format!("pid {}\npid {}\n", first.pid(), second.pid());
    until(|| workspace.read(STDOUT) == both);
    let tail = workspace.supervisor().tail(&workspace.runtimes[0], LogStream::Stdout, 1).unwrap();
    assert_eq!((tail.bytes, tail.is_cut), (format!("pid {}\n", second.pid()).into_bytes(), true));
    workspace.stop();
    std::fs::write(workspace.path(STDOUT), vec![b'x'; LOG_CAP as usize]).unwrap();
    let third = workspace.must_start();
    until(|| workspace.read(STDOUT) == format!("pid {}\n", third.pid()));
    assert_eq!(std::fs::metadata(workspace.path(&format!("{STDOUT}.1"))).unwrap().len(), LOG_CAP);
}

#[test]
fn logs_of_a_printing_runtime_stay_below_the_cap() {
    let workspace = Workspace::one("yes 'the same line again and again'", "");
    workspace.must_start();
    let (log, older) = (workspace.path(STDOUT), workspace.path(&format!("{STDOUT}.1")));
    let look =
        |path: &std::path::Path| std::fs::metadata(path).map_or((0, 0), |found| (found.len(), found.ino()));
    let mut rotated = std::collections::BTreeSet::new();
    until(|| {
        for path in [&log, &older] {
            assert!(look(path).0 <= LOG_CAP, "{}", look(path).0);
        }
        look(&older).0 != 0
    });
    while rotated.len() < 3 {
        for path in [&log, &older] {
            assert!(look(path).0 <= LOG_CAP, "{}", look(path).0);
        }
        rotated.insert(look(&older).1);
    }
    let issues = workspace.issue_types();
    assert_eq!(issues, [""; 0]);
    let tail = workspace.supervisor().tail(&workspace.runtimes[0], LogStream::Stdout, 3).unwrap();
    // The last line may be incomplete.
    assert!(tail.bytes.starts_with(&b"the same line again and again\n".repeat(2)));
    assert!(workspace.stop().is_stopped());
    assert!(!log_writer(&workspace).is_alive(), "a stop leaves nothing");
    assert!(look(&log).0 + look(&older).0 <= 2 * LOG_CAP);
}

/// Returns the process that writes the logs, as recorded in the metadata.
fn log_writer(workspace: &Workspace) -> ProcessIdentity {
    let metadata = workspace.metadata();
    let metadata = metadata.as_object().unwrap();
    let writer = metadata["log_writer"].as_object().unwrap();
    let number = |key: &str| u64::try_from(writer[key].as_i64().unwrap()).unwrap();
    let boot = metadata["boot_id"].as_str().unwrap();
    ProcessIdentity::from_record(u32::try_from(number("pid")).unwrap(), number("start_time"), boot).unwrap()
}

#[test]
fn a_killed_log_writer_is_reported_until_a_restart() {
    let workspace = Workspace::one("python3 says.py", "");
    let script = "import os, signal, time\nprint(os.getpid(), flush=True)\n\
        signal.signal(signal.SIGUSR1, lambda *_: print('more', flush=True))\nwhile True: time.sleep(300)\n";
    workspace.write("says.py", script);
    let process = workspace.must_start();
    until(|| workspace.read(STDOUT).ends_with('\n'));
    assert_eq!(workspace.issue_types(), [""; 0]);
    let writer = log_writer(&workspace);
    writer.signal(Signal::Kill).unwrap();
    until(|| !writer.is_alive());
    assert!(process.is_alive(), "it is not ended before it prints");
    assert_eq!(workspace.issue_types(), ["runtime_log_writer_gone"]);
    assert_eq!(
        workspace.facts(Checks::Skip).issues[0].fix,
        Some(NextStep::RestartRuntime("r".to_owned()).into())
    );
    // Its next output goes to a broken pipe, as for any program whose reader has ended.
    let asked = std::process::Command::new("kill").args(["-USR1", &process.pid().to_string()]).status();
    assert!(asked.unwrap().success());
    until(|| !process.is_alive());
    workspace.must_start();
    assert!(log_writer(&workspace).is_alive());
    assert_eq!(workspace.issue_types(), [""; 0]);
}

#[test]
fn redirected_output_is_not_an_issue() {
    let workspace = Workspace::one("sh quiet.sh", "");
    workspace.write("quiet.sh", "echo last words\nexec sleep 300 > /dev/null 2>&1\n");
    workspace.must_start();
    until(|| workspace.read(STDOUT) == "last words\n");
    assert_eq!(workspace.issue_types(), [""; 0]);
}

#[test]
fn a_failed_start_shows_the_last_lines() {
    let workspace = Workspace::one("sh dies.sh", "");
    workspace.write("dies.sh", "head -c 3000000 /dev/zero\necho\necho last words\n");
    let StartOutcome::Failed { log, .. } = workspace.start() else { panic!("it ended") };
    assert!(log.stdout.ends_with("last words\n"), "{log:?}");
    assert!(!log_writer(&workspace).is_alive());
}

#[test]
fn the_last_lines_go_on_in_the_older_part() {
    let workspace = Workspace::one("sleep 300", "");
    let tail = |lines| {
        let tail = workspace.supervisor().tail(&workspace.runtimes[0], LogStream::Stdout, lines).unwrap();
        (String::from_utf8(tail.bytes).unwrap(), tail.is_cut, tail.end)
    };
    workspace.write(&format!("{STDOUT}.1"), "one\ntwo\n");
    assert_eq!(tail(1), ("two\n".to_owned(), true, 0));
    workspace.write(STDOUT, "three\nfour");
    assert_eq!(tail(1), ("four".to_owned(), true, 10));
    assert_eq!(tail(2), ("three\nfour".to_owned(), true, 10));
    assert_eq!(tail(3), ("two\nthree\nfour".to_owned(), true, 10));
    assert_eq!(tail(4), ("one\ntwo\nthree\nfour".to_owned(), false, 10));
    assert_eq!(tail(0), (String::new(), true, 10));
}

#[test]
fn following_continues_over_a_rotation() {
    let workspace = Workspace::one("sleep 300", "");
    workspace.write(STDOUT, "one\ntwo\n");
    let cancel = CancelToken::new().unwrap();
    let (sender, receiver) = channel::<String>();
    let next = |expect: &str| {
        let mut text = String::new();
        while text.len() < expect.len() {
            text += &receiver.recv_timeout(LONG_TIMEOUT).unwrap();
        }
        assert_eq!(text, expect);
    };
    std::thread::scope(|scope| {
        let (workspace, cancel) = (&workspace, &cancel);
        let following = scope.spawn(move || {
            let mut sink = |stream: LogStream, bytes: &[u8]| {
                let text = format!("{}:{}", stream.as_str(), String::from_utf8_lossy(bytes));
                sender.send(text).map_err(io::Error::other)
            };
            let from = FollowFrom::LastLines(1);
            workspace.supervisor().follow(&workspace.runtimes[0], LogStream::ALL, from, &mut sink, cancel)
        });
        next("stdout:two\n");
        let append = |text: &str| {
            use std::io::Write as _;
            let mut file = std::fs::OpenOptions::new().append(true).open(workspace.path(STDOUT)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append("three\n");
        next("stdout:three\n");
        append("four\n");
        std::fs::rename(workspace.path(STDOUT), workspace.path(&format!("{STDOUT}.1"))).unwrap();
        workspace.write(STDOUT, "five\n");
        next("stdout:four\n");
        next("stdout:five\n");
        // Two rotations between two reads: the file in between still exists.
        std::fs::write(workspace.path("next"), "six\n").unwrap();
        std::fs::write(workspace.path("next.1"), "seven\n").unwrap();
        std::fs::rename(workspace.path("next"), workspace.path(&format!("{STDOUT}.1"))).unwrap();
        std::fs::rename(workspace.path("next.1"), workspace.path(STDOUT)).unwrap();
        next("stdout:six\n");
        next("stdout:seven\n");
        workspace.write(".brigade/tools/runtime/r.log.stderr", "error\n");
        next("stderr:error\n");
        cancel.cancel();
        following.join().unwrap().unwrap();
    });
}

#[test]
fn a_reader_that_goes_away_ends_the_following() {
    let workspace = Workspace::one("sleep 300", "");
    workspace.write(STDOUT, "one\n");
    let cancel = CancelToken::new().unwrap();
    let mut sink = |_: LogStream, _: &[u8]| Err(io::ErrorKind::BrokenPipe.into());
    let from = FollowFrom::LastLines(9);
    let followed =
        workspace.supervisor().follow(&workspace.runtimes[0], LogStream::ALL, from, &mut sink, &cancel);
    assert!(matches!(followed, Err(RuntimeError::Sink(error)) if error.kind() == io::ErrorKind::BrokenPipe));
}

#[test]
fn a_log_outside_is_not_shown() {
    let workspace = Workspace::one("sleep 300", "log_path = '/etc/host'");
    let tail = workspace.supervisor().tail(&workspace.runtimes[0], LogStream::Stdout, 1);
    assert!(matches!(tail, Err(RuntimeError::Outside { field: "log_path" })), "{tail:?}");
}
