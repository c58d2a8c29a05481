//! Tests servers that answer, each in its own way.

#![cfg(feature = "client")]

mod common;

use std::sync::mpsc;

use brigade_core::{Json, Object};
use brigade_mcp::{Listener, McpErrorKind, McpProgress, ServerExit};
use brigade_redact::SecretValue;
use common::Trial;

#[test]
fn an_echo_is_answered_and_the_server_ends_on_its_own() {
    let seen = Trial::new(&["trace", "strict"]).call();
    assert_eq!(seen.summary(), "hello");
    assert_eq!(seen.exit(), Some(ServerExit::ByItself));
    assert_eq!(
        seen.stderr, "initialize 1\nnotifications/initialized None\ntools/list 2\ntools/call 3\n",
        "ids start at 1 and nothing else is said"
    );
    let exchange = seen.exchange;
    assert_eq!(exchange.protocol_version.as_deref(), Some("2025-11-25"));
    assert_eq!(exchange.server.unwrap().to_compact(), r#"{"name":"misbehaving","version":"1.0"}"#);
    assert_eq!((exchange.request_id, exchange.responses, exchange.log_lines), (Some(3), 3, 0));
    assert_eq!(exchange.tool.unwrap().description.as_deref(), Some("Says it again."));
    assert!(exchange.answered_after.is_some() && exchange.outcome.unwrap().exit.success());
    assert_eq!(seen.stdout.lines().count(), 3, "the log has what the server wrote");
}

#[test]
fn the_receipt_tells_it_all() {
    let trial = Trial::new(&[]);
    let seen = trial.call();
    let receipt = seen.exchange.complete(common::receipt(), &trial.request(), &trial.redactor());
    assert!(receipt.mcp_answer_seconds.is_some());
    assert_eq!(receipt.mcp_pin.as_ref().unwrap().state, "first use");
    let left_out = ["mcp_answer_seconds", "mcp_pin"];
    let of_mcp = |name: &str| name.starts_with("mcp_") && !left_out.contains(&name);
    let members = receipt.to_members();
    let members: Object = members.into_iter().filter(|(name, _)| of_mcp(name)).collect();
    assert_eq!(
        Json::Object(members).to_compact(),
        concat!(
            r#"{"mcp_content":[{"characters":5,"kind":"text","text":"hello"}],"mcp_content_count":1,"#,
            r#""mcp_is_error":false,"mcp_listed_tools":12,"mcp_log_lines":0,"#,
            r#""mcp_pin_changes":[],"mcp_protocol_version":"2025-11-25","mcp_request_id":3,"#,
            r#""mcp_request_payload":{"id":3,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"progressToken":1},"#,
            r#""arguments":{"text":"hello"},"name":"echo"}},"mcp_response_count":3,"#,
            r#""mcp_response_summary":{"id":3,"jsonrpc":"2.0","result":{"content":[{"characters":5,"text":"hello","type":"text"}],"#,
            r#""isError":false}},"mcp_response_text":"hello","mcp_server":{"name":"misbehaving","version":"1.0"},"#,
            r#""mcp_server_exit":"by itself","mcp_server_id":"misbehaving","#,
            r#""mcp_tool_name":"echo"}"#
        )
    );
}

#[test]
fn an_empty_cursor_is_the_end_of_the_list() {
    let seen = Trial::new(&["empty-cursor"]).call();
    assert_eq!((seen.summary(), seen.exchange.tools.len()), ("hello", 12));
}

#[test]
fn all_pages_are_read() {
    let seen = Trial::new(&["paging"]).call();
    assert_eq!(seen.summary(), "hello");
    assert_eq!(seen.exchange.tools.len(), 12);
    assert_eq!(seen.exchange.responses, 1 + 6 + 1);
}

#[test]
fn tools_are_listed_without_a_call() {
    let seen = Trial::new(&["odd-tools", "trace"]).list();
    assert_eq!(seen.message(), "");
    assert_eq!(seen.exchange.tools.len(), 14, "entries that are not tools are left out");
    assert!(!seen.stderr.contains("tools/call"));
    assert_eq!(seen.exit(), Some(ServerExit::ByItself));
}

#[test]
fn revisions_are_negotiated() {
    #[track_caller]
    fn check(faults: &[&str], version: &str, responses: u64) {
        let seen = Trial::new(faults).call();
        assert_eq!(seen.summary(), "hello");
        assert_eq!(seen.exchange.protocol_version.as_deref(), Some(version), "{faults:?}");
        assert_eq!(seen.exchange.responses, responses);
        let name = seen.exchange.server.as_ref().and_then(|server| server.get("name"));
        let name = name.and_then(Json::as_str).filter(|name| !name.is_empty());
        assert_eq!(name.is_some(), !faults.contains(&"bare"), "{faults:?}: {name:?}");
    }
    check(&["version=2024-11-05"], "2024-11-05", 3);
    check(&["version=2025-03-26"], "2025-03-26", 3);
    check(&["version=2025-06-18"], "2025-06-18", 3);
    check(&["strict-old"], "2024-11-05", 4);
    check(&["both"], "2025-11-25", 3);
    check(&["ignores-unknown"], "2025-11-25", 3);
    check(&["stateless"], "2026-07-28", 4);
    check(&["stateless-plain"], "2026-07-28", 4);
    check(&["bare"], "2024-11-05", 3);
}

#[test]
fn a_server_may_be_sloppy() {
    for fault in [
        "text-ids",
        "no-jsonrpc",
        "strict-ids",
        "ignores-unknown",
        "refuses-notification",
        "no-final-newline",
        "malformed-notification",
        "notifications",
        "logs-on-stdout",
        "greets",
        "huge-log",
        "floods-stderr",
        "leaves-child",
        "exits-badly",
    ] {
        let seen = Trial::new(&[fault]).call();
        assert_eq!(seen.summary(), "hello", "{fault}");
        assert_eq!(seen.exit(), Some(ServerExit::ByItself), "{fault}");
    }
}

#[test]
fn lines_that_are_not_messages_are_logs() {
    let seen = Trial::new(&["greets", "logs-on-stdout"]).call();
    assert_eq!(seen.summary(), "hello");
    assert_eq!(seen.exchange.log_lines, 5);
    assert!(seen.stdout.starts_with("Welcome to the server\n") && seen.stdout.contains("{ no json\n"));
    assert_eq!(seen.stderr, "listening on stdio\n");
}

#[test]
fn every_kind_of_content_is_described() {
    let seen = Trial::new(&[]).tool("mixed").call();
    assert_eq!(
        seen.summary(),
        "first [image image/png 70 bytes] [audio audio/wav 70 bytes] [resource file:///a.txt text/plain] inside \
         [resource file:///a.bin 70 bytes] [resource_link file:///b.txt] [hologram]"
    );
    let seen = Trial::new(&["odd-content"]).call();
    assert_eq!(seen.summary(), "[text] [unknown] [unknown]");
    let seen = Trial::new(&[]).tool("structured").call();
    let answer = seen.exchange.answer.unwrap();
    assert_eq!(answer.structured.unwrap().to_compact(), r#"{"password":"[redacted]","sum":3}"#);
    assert!(!answer.summary.contains("EXAMPLE"));
}

#[test]
fn a_large_answer_is_read_whole_and_the_log_is_capped() {
    let mut trial = Trial::new(&["large"]);
    trial.cap = 1000;
    let seen = trial.call();
    assert!(seen.summary().ends_with("..."));
    assert_eq!(seen.stdout.len(), 1000);
    let outcome = seen.exchange.outcome.unwrap();
    assert_eq!(outcome.stdout.bytes, 1000);
    assert!(1 << 20 < outcome.stdout.dropped);
}

#[test]
fn only_the_server_gets_unmasked_arguments() {
    let arguments = r#"{"big":123456789012345678901234567890,"exact":1.10,"note":"bound-EXAMPLE-value"}"#;
    let mut trial = Trial::new(&[]).tool("numbers").arguments(arguments);
    trial.secrets.push(SecretValue::new("bound-EXAMPLE-value"));
    let seen = trial.call();
    assert!(seen.stdout.contains(&arguments.replace('"', "\\\"")), "{}", seen.stdout);
    let kept = format!("{:?}", seen.exchange);
    assert!(!kept.contains("bound-EXAMPLE-value"), "{kept}");
    let sent = seen.exchange.request.unwrap();
    let note =
        sent.get("params").and_then(|params| params.get("arguments")).and_then(|args| args.get("note"));
    assert_eq!(note, Some(&Json::from("[redacted]")));
}

#[test]
fn the_server_gets_only_the_given_environment() {
    let seen = Trial::new(&[]).tool("env").call();
    let names: Vec<&str> = seen.summary().split(' ').filter_map(|pair| pair.split('=').next()).collect();
    assert_eq!(names.iter().filter(|name| !["LC_CTYPE", "PATH", "BRIGADE_TRIAL"].contains(name)).count(), 0);
}

#[test]
fn a_server_that_stays_is_ended_and_the_call_holds() {
    let seen = Trial::new(&["stays"]).call();
    assert_eq!(seen.summary(), "hello");
    assert_eq!(seen.exit(), Some(ServerExit::Ended));
    let seen = Trial::new(&["ignores-term"]).call();
    assert_eq!(seen.summary(), "hello");
    assert_eq!(seen.exit(), Some(ServerExit::Ended));
}

#[test]
fn a_listener_gets_only_the_progress_of_its_call() {
    let (tells, told) = mpsc::channel();
    let listener = Listener::new(move |progress| tells.send(progress).unwrap());
    let mut trial = Trial::new(&["tells"]);
    trial.listener = Some(listener);
    assert_eq!(trial.call().summary(), "hello");
    drop(trial);
    let of_call = |progress, message: &str| McpProgress {
        progress,
        total: Some(2.0),
        message: Some(message.to_owned()),
    };
    assert_eq!(told.iter().collect::<Vec<_>>(), [of_call(0.5, "at 0.5"), of_call(2.0, "at 2")]);
}

#[test]
fn a_tool_that_failed_has_answered() {
    let seen = Trial::new(&[]).tool("fail").call();
    assert_eq!(seen.kind(), Some(McpErrorKind::ToolError));
    assert_eq!(seen.message(), "the tool failed: error: no such thing");
    assert!(seen.exchange.answer.unwrap().is_error);
    assert!(seen.exchange.answered_after.is_some());
}
