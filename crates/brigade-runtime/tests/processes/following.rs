//! Logs of real runtimes.

use std::io;
use std::sync::mpsc::channel;

use crate::workspace::{LONG, Workspace, until};
use brigade_process::CancelToken;
use brigade_runtime::{FollowFrom, LOG_CAP, LogStream, RuntimeError};

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
fn following_goes_on_over_a_rotation_until_it_is_cancelled() {
    let workspace = Workspace::one("sleep 300", "");
    workspace.write(STDOUT, "one\ntwo\n");
    let cancel = CancelToken::new().unwrap();
    let (sender, receiver) = channel::<String>();
    let next = |expect: &str| {
        let mut text = String::new();
        while text.len() < expect.len() {
            text += &receiver.recv_timeout(LONG).unwrap();
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
            workspace.supervisor().follow(&workspace.runtimes[0], &LogStream::ALL, from, &mut sink, cancel)
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
        workspace.supervisor().follow(&workspace.runtimes[0], &LogStream::ALL, from, &mut sink, &cancel);
    assert!(matches!(followed, Err(RuntimeError::Sink(error)) if error.kind() == io::ErrorKind::BrokenPipe));
}

#[test]
fn a_log_outside_is_not_shown() {
    let workspace = Workspace::one("sleep 300", "log_path = '/etc/host'");
    let tail = workspace.supervisor().tail(&workspace.runtimes[0], LogStream::Stdout, 1);
    assert!(matches!(tail, Err(RuntimeError::Outside { field: "log_path" })), "{tail:?}");
}
