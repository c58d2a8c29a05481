//! Tests that misbehaving programs leave no processes and that their output arrives.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use std::time::Duration;

use brigade_process::{
    CancelToken, CapturedBytes, Control, EndedBy, Ending, Exit, Outcome, RunError, Stream, run,
};
use common::{Trial, fixture};

const GRACE: Duration = Duration::from_millis(150);

fn control() -> Control {
    let ending =
        Ending { linger: Duration::from_millis(20), grace: GRACE, kill_limit: Duration::from_secs(10) };
    Control { timeout: Some(Duration::from_secs(20)), ending, ..Control::default() }
}

/// Runs one program of the corpus and cancels it as soon as it prints `ready`.
#[track_caller]
fn cancelled_when_ready(name: &str) -> Outcome {
    let trial = Trial::new(fixture(name));
    let token = CancelToken::new().unwrap();
    let control = Control { cancel: Some(token.clone()), ..control() };
    let mut sink = |_: Stream, bytes: &[u8]| {
        if bytes.starts_with(b"ready") {
            token.cancel();
        }
        Ok(())
    };
    let outcome = run(&trial.spec, &mut sink, &control).unwrap();
    trial.check_nothing_left();
    assert_eq!(outcome.survivors, []);
    outcome
}

/// Runs one program of the corpus until it ends.
#[track_caller]
fn until_it_ends(name: &str) -> Outcome {
    let trial = Trial::new(fixture(name));
    let outcome = run(&trial.spec, &mut brigade_process::Discard, &control()).unwrap();
    trial.check_nothing_left();
    assert_eq!(outcome.survivors, []);
    assert_eq!(outcome.ended_by, EndedBy::Itself);
    outcome
}

#[test]
fn cancelled_trees_are_gone() {
    for name in ["grandchildren.sh", "setsid.py", "changes-name.py"] {
        let outcome = cancelled_when_ready(name);
        assert_eq!((outcome.ended_by, outcome.exit), (EndedBy::Cancel, Exit::Signal(15)), "{name}");
        assert!(outcome.duration < Duration::from_secs(5));
    }
}

#[test]
fn programs_that_ignore_sigterm_are_killed() {
    for name in ["ignores-term.sh", "subreaper.py"] {
        let outcome = cancelled_when_ready(name);
        assert_eq!((outcome.ended_by, outcome.exit), (EndedBy::Cancel, Exit::Signal(9)), "{name}");
        assert!(GRACE < outcome.duration);
    }
}

#[test]
fn storms_end() {
    for name in ["fork-storm.py", "session-storm.py"] {
        assert_eq!(cancelled_when_ready(name).ended_by, EndedBy::Cancel, "{name}");
    }
}

#[test]
fn descendants_do_not_outlive_the_main_process() {
    let left = until_it_ends("leaves-child.sh");
    assert_eq!((left.exit, left.outlived), (Exit::Code(3), 1));
    for name in ["daemon.py", "stubborn-daemon.py", "holds-stdout.py"] {
        let outcome = until_it_ends(name);
        assert_eq!((outcome.exit, outcome.outlived), (Exit::Code(0), 1), "{name}");
    }
}

#[test]
fn closed_output_does_not_end_the_wait() {
    let outcome = until_it_ends("closes-stdout.py");
    assert_eq!((outcome.exit, outcome.outlived), (Exit::Code(7), 0));
}

#[test]
fn a_stopped_process_is_asked_too() {
    let outcome = cancelled_when_ready("stopped.sh");
    assert_eq!(outcome.exit, Exit::Code(5));
}

#[test]
fn the_timeout_ends_the_tree() {
    let trial = Trial::new(fixture("ignores-term.sh"));
    let control = Control { timeout: Some(Duration::from_millis(300)), ..control() };
    let outcome = run(&trial.spec, &mut brigade_process::Discard, &control).unwrap();
    trial.check_nothing_left();
    assert!(outcome.timed_out());
    assert_eq!(outcome.exit, Exit::Signal(9));
    assert!(outcome.duration < Duration::from_secs(5));
}

#[test]
fn a_second_request_skips_the_grace() {
    let trial = Trial::new(fixture("ignores-term.sh"));
    let token = CancelToken::new().unwrap();
    let ending = Ending { grace: Duration::from_secs(100), ..Ending::default() };
    let control = Control { cancel: Some(token.clone()), ending, ..Control::default() };
    let mut sink = |_: Stream, _: &[u8]| {
        token.cancel();
        token.cancel();
        Ok(())
    };
    let outcome = run(&trial.spec, &mut sink, &control).unwrap();
    trial.check_nothing_left();
    assert!(outcome.cancelled());
    assert!(outcome.duration < Duration::from_secs(50));
}

#[test]
fn output_over_the_cap_is_counted_and_dropped() {
    let trial = Trial::new(fixture("prints-for-ever.sh"));
    let control = Control { timeout: Some(Duration::from_millis(400)), output_cap: 100_000, ..control() };
    let (mut out, mut err) = (0, 0);
    let mut sink = |stream: Stream, bytes: &[u8]| {
        match stream {
            Stream::Stdout => out += bytes.len(),
            Stream::Stderr => err += bytes.len(),
        }
        Ok(())
    };
    let outcome = run(&trial.spec, &mut sink, &control).unwrap();
    trial.check_nothing_left();
    assert!(outcome.timed_out());
    assert_eq!((out, err), (100_000, 100_000));
    for stream in [outcome.stdout, outcome.stderr] {
        assert_eq!(stream.bytes, 100_000);
        assert!(0 < stream.dropped);
    }
}

#[test]
fn bytes_arrive_as_they_were_written() {
    let trial = Trial::new(fixture("prints-bytes.py"));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut sink = |stream: Stream, bytes: &[u8]| {
        match stream {
            Stream::Stdout => out.extend_from_slice(bytes),
            Stream::Stderr => err.extend_from_slice(bytes),
        }
        Ok(())
    };
    let outcome = run(&trial.spec, &mut sink, &control()).unwrap();
    let mut expect: Vec<u8> = (0..=255).collect();
    expect.push("é".as_bytes()[0]);
    assert_eq!(out, expect);
    expect.reverse();
    assert_eq!(err, expect);
    assert_eq!(outcome.stdout, CapturedBytes { bytes: 257, dropped: 0 });
}

#[test]
fn a_sink_that_refuses_ends_the_tree() {
    let trial = Trial::new(fixture("prints-for-ever.sh"));
    let mut sink = |_: Stream, _: &[u8]| Err(std::io::ErrorKind::StorageFull.into());
    let error = run(&trial.spec, &mut sink, &control()).unwrap_err();
    trial.check_nothing_left();
    match error {
        RunError::Sink { source, outcome } => {
            assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
            assert_eq!(outcome.ended_by, EndedBy::Sink);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn input_is_null_or_the_bytes() {
    for (input, expect) in [
        (brigade_process::Input::Null, "0\n".to_owned()),
        (brigade_process::Input::Bytes(Vec::new()), "0\n".to_owned()),
        (brigade_process::Input::Bytes(vec![b'x'; 300_000]), "300000\n".to_owned()),
    ] {
        let mut trial = Trial::new(fixture("reads-stdin.sh"));
        trial.spec.stdin = input;
        let (outcome, output) = trial.output(&control());
        assert_eq!((outcome.exit, output), (Exit::Code(0), expect));
    }
}

#[test]
fn unread_input_is_not_an_error() {
    let mut trial = Trial::shell("exit 4");
    trial.spec.stdin = brigade_process::Input::Bytes(vec![0; 1 << 20]);
    assert_eq!(trial.output(&control()).0.exit, Exit::Code(4));
}

#[test]
fn runs_in_many_threads_do_not_meet() {
    std::thread::scope(|scope| {
        for index in 0..8 {
            scope.spawn(move || {
                let trial = Trial::shell(&format!("sleep 0.2 & sleep 0.1; exit {index}"));
                let outcome = trial.output(&control()).0;
                assert_eq!(outcome.exit, Exit::Code(index));
                trial.check_nothing_left();
            });
        }
    });
}

#[test]
fn other_children_of_the_caller_are_left_alone() {
    let mut other =
        std::process::Command::new("/bin/cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    cancelled_when_ready("grandchildren.sh");
    assert_eq!(other.try_wait().unwrap(), None);
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
}
