//! Tests servers that do not answer, or answer wrongly.

#![cfg(feature = "client")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at processes and files itself, and fails when it cannot continue"
)]

mod common;

use std::time::Duration;

use brigade_mcp::{McpErrorKind, ServerExit};
use brigade_process::{CancelToken, Program};
use common::Trial;

#[track_caller]
fn check(faults: &[&str], kind: McpErrorKind, message: &str) {
    let seen = Trial::new(faults).call();
    assert_eq!((seen.kind(), seen.message()), (Some(kind), message), "{faults:?}");
    assert!(seen.exchange.answer.is_none() && seen.exchange.answered_after.is_none());
}

#[test]
fn protocol_errors_are_kept_without_secrets() {
    let seen = Trial::new(&["rpc-error"]).call();
    assert_eq!(seen.kind(), Some(McpErrorKind::JsonRpcError));
    assert_eq!(seen.message(), "the call was answered with error -32602: the argument is bad");
    let error = seen.exchange.error.unwrap().to_compact();
    assert!(error.contains("-32602") && !error.contains("ghp_"), "{error}");
    check(&["rpc-error-broken"], McpErrorKind::JsonRpcError, "the call was answered with error : no message");
    check(
        &["rpc-error-without-id"],
        McpErrorKind::JsonRpcError,
        "the call was answered with error -32700: what?",
    );
}

#[test]
fn a_tool_that_is_not_listed_is_never_called() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("called");
    let mark_fault = format!("mark={}", mark.display());
    let never_called = |faults: &[&str], kind: McpErrorKind| {
        let faults: Vec<&str> = faults.iter().copied().chain([mark_fault.as_str()]).collect();
        let seen = Trial::new(&faults).call();
        assert_eq!(seen.kind(), Some(kind), "{faults:?}: {}", seen.message());
        assert_eq!(seen.exchange.request_id, None);
        assert!(!mark.exists(), "{faults:?}");
        assert_eq!(seen.exit(), Some(ServerExit::ByItself));
    };
    never_called(&["unlisted"], McpErrorKind::ToolNotListed);
    never_called(&["unlisted", "paging"], McpErrorKind::ToolNotListed);
    never_called(&["twice"], McpErrorKind::DuplicateTool);
    never_called(&["twice", "paging"], McpErrorKind::DuplicateTool);
    never_called(&["list-error"], McpErrorKind::ListFailed);
    never_called(&["list-broken"], McpErrorKind::ListFailed);
    never_called(&["circle"], McpErrorKind::ListFailed);
    never_called(&["endless"], McpErrorKind::ListFailed);
    never_called(&["version=2099-01-01"], McpErrorKind::UnsupportedProtocolVersion);
    never_called(&["version=2024-10-07"], McpErrorKind::UnsupportedProtocolVersion);
    assert_eq!(Trial::new(&[&mark_fault]).call().summary(), "hello");
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "echo\n", "and a listed one is called once");
}

#[test]
fn a_server_may_refuse_to_begin() {
    check(
        &["refuses"],
        McpErrorKind::InitializeFailed,
        "the server refused to begin: error -32000: not today",
    );
    check(
        &["wrong-first-answer"],
        McpErrorKind::MalformedMessage,
        "the answer to the first request is invalid",
    );
}

#[test]
fn broken_answers_fail_at_once() {
    check(
        &["malformed"],
        McpErrorKind::MalformedMessage,
        "the answer to tools/call is not a message of the protocol",
    );
    check(
        &["not-a-number"],
        McpErrorKind::MalformedMessage,
        "the answer to tools/call is not a message of the protocol",
    );
    check(
        &["odd-result"],
        McpErrorKind::MalformedMessage,
        "`isError` of the result is neither true nor false",
    );
    check(&["not-an-object"], McpErrorKind::MalformedMessage, "the result of the call is not an object");
    check(&["huge"], McpErrorKind::OversizedMessage, "the answer to tools/call is longer than 16 MiB");
    check(
        &["input-required"],
        McpErrorKind::UnsupportedAnswer,
        "the server wants more input before it completes the call",
    );
}

#[test]
fn the_end_of_a_server_is_reported() {
    check(
        &["dies"],
        McpErrorKind::ServerEnded,
        "the server ended before it answered tools/call (exit code 3)",
    );
    check(
        &["closes-stdout"],
        McpErrorKind::ServerEnded,
        "the server ended before it answered tools/call (it closed its output and kept running)",
    );
    check(
        &["exits-at-once"],
        McpErrorKind::ServerEnded,
        "the server ended before it had begun (exit code 7)",
    );
    let seen = Trial::new(&["dies-in-the-middle"]).call();
    assert_eq!(seen.kind(), Some(McpErrorKind::MalformedMessage));
    let seen = Trial::new(&["dies"]).call();
    assert_eq!(seen.stderr, "fatal: out of luck\n");
}

#[test]
fn the_timeout_covers_everything_until_the_answer() {
    for fault in ["slow", "silent", "never-starts"] {
        let seen = Trial::new(&[fault]).timeout(Duration::from_millis(700)).call();
        assert_eq!(seen.kind(), Some(McpErrorKind::TimedOut), "{fault}");
        assert!(seen.exchange.outcome.unwrap().timed_out(), "{fault}");
        assert_eq!(seen.exchange.exit, Some(ServerExit::Interrupted));
    }
    let seen = Trial::new(&["slow", "ignores-term"]).timeout(Duration::from_millis(700)).call();
    assert_eq!(seen.kind(), Some(McpErrorKind::TimedOut));
    assert_eq!(seen.message(), "the server did not answer tools/call in time");
}

#[test]
fn a_request_to_end_ends_the_tree() {
    let mut trial = Trial::new(&["slow"]);
    let token = CancelToken::new().unwrap();
    trial.cancel = Some(token.clone());
    token.cancel();
    let seen = trial.call();
    assert_eq!((seen.kind(), seen.message()), (Some(McpErrorKind::Cancelled), "the run was interrupted"));
    assert!(seen.exchange.outcome.unwrap().cancelled());

    let mut trial = Trial::new(&["slow", "trace"]);
    trial.cancel = Some(CancelToken::new().unwrap());
    trial.cancel_at = Some("tools/call 3");
    let seen = trial.call();
    assert_eq!(seen.kind(), Some(McpErrorKind::Cancelled));
}

#[test]
fn a_program_that_cannot_be_started_is_a_fault() {
    let mut trial = Trial::new(&[]);
    trial.spec.program = Program::at("/no/such/server");
    let seen = trial.call();
    assert_eq!(seen.kind(), Some(McpErrorKind::NotStarted));
    assert!(seen.exchange.outcome.is_none() && seen.exchange.exit.is_none());
}

#[test]
fn a_program_that_is_not_a_server_is_a_fault() {
    let mut trial = Trial::new(&[]).timeout(Duration::from_millis(500));
    for (program, kind) in [
        ("/bin/true", McpErrorKind::ServerEnded),
        // `cat` echoes every line, which looks like requests that are never answered.
        ("/bin/cat", McpErrorKind::TimedOut),
        // Its flood does not stop the clock.
        ("/usr/bin/yes", McpErrorKind::TimedOut),
    ] {
        trial.spec.program = Program::at(program);
        trial.spec.argv = vec![program.into()];
        assert_eq!(trial.call().kind(), Some(kind), "{program}");
    }
}

#[test]
fn a_log_that_cannot_be_written_ends_the_server() {
    let trial = Trial::new(&[]);
    let mut sink = |_: brigade_process::Stream, _: &[u8]| Err(std::io::ErrorKind::StorageFull.into());
    let control = brigade_process::Control::default();
    let exchange =
        brigade_mcp::call_tool(&trial.spec, &mut sink, &control, &trial.request(), &trial.redactor());
    assert_eq!(exchange.fault.unwrap().kind, McpErrorKind::Log);
    assert_eq!(exchange.exit, Some(ServerExit::Interrupted));
}
