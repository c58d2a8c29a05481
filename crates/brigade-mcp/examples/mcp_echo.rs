//! Measures the overhead of an MCP call over what its server needs.
//!
//! `cargo run --release -p brigade-mcp --example mcp_echo -- ROUNDS COMMAND…` calls the tool `echo` of a server,
//! alternately through [`call_tool`] and by a bare exchange of prepared lines over pipes, and prints the medians.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a tool for developers: it prints, and fails when it cannot continue"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brigade_core::Json;
use brigade_mcp::{McpRequest, PinRule, call_tool};
use brigade_process::{Control, Program, Spec, Stream};
use brigade_redact::Redactor;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: usize = arguments[0].parse().unwrap();
    let command = &arguments[1..];
    let (mut bare, mut called, mut answered) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(exchange_lines(command));
        let (whole, answer) = exchange(command);
        called.push(whole);
        answered.push(answer);
    }
    println!("bare exchange until the server has ended: {:?}", median(bare));
    println!("call_tool until the answer:               {:?}", median(answered));
    println!("call_tool until the server has ended:     {:?}", median(called));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Measures the bare exchange: the server is started, gets prepared lines, and is waited for.
fn exchange_lines(command: &[String]) -> Duration {
    let started = Instant::now();
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    for (line, answers) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}"#,
            true,
        ),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, false),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}"#,
            true,
        ),
    ] {
        writeln!(stdin, "{line}").unwrap();
        if answers {
            stdout.next().unwrap().unwrap();
        }
    }
    drop(stdin);
    child.wait().unwrap();
    started.elapsed()
}

/// Measures the same through the library: until the server has ended, and until the answer.
fn exchange(command: &[String]) -> (Duration, Duration) {
    let mut spec = Spec::new(Program::at(PathBuf::from(&command[0])), "/");
    spec.argv = command.iter().map(Into::into).collect();
    spec.environment = std::env::vars_os().collect();
    let arguments = Json::object([("text", Json::from("hi"))]);
    let request = McpRequest {
        server_id: "echo",
        tool_name: "echo",
        arguments: &arguments,
        reads: None,
        pin: PinRule::None,
        listener: None,
        idle_timeout: None,
    };
    let mut sink = |_: Stream, _: &[u8]| Ok(());
    let started = Instant::now();
    let exchange = call_tool(&spec, &mut sink, &Control::default(), &request, &Redactor::new(&[]));
    assert_eq!(exchange.fault, None);
    (started.elapsed(), exchange.answered_after.unwrap())
}
