//! Measures redaction of log text: `cargo bench -p brigade-redact --bench redact`.

use std::fmt::Write as _;

use brigade_redact::{Redactor, SecretValue};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

/// Generates a few megabytes of log text, like that of servers, compilers and test runners, with an occasional secret.
fn log() -> Vec<u8> {
    let mut text = String::new();
    for number in 0..60_000u32 {
        let second = number % 60;
        let line = match number % 11 {
            0 => format!(
                "2024-05-01T12:00:{second:02}.123Z INFO  http: GET /api/v1/items?page={number} 200 {second}ms"
            ),
            1 => format!("   Compiling serde_derive v1.0.{second} (/home/example/project/crates/derive)"),
            2 => format!("test parser::tests::case_{number} ... ok"),
            3 => format!(
                "[{number}] processing batch: size={second} queue=default worker=worker-{second} retries=0"
            ),
            4 => format!(
                "{{\"level\":\"info\",\"ts\":{number},\"msg\":\"request served\",\"status\":200,\"bytes\":{number}}}"
            ),
            5 => format!(
                "    at Object.<anonymous> (/srv/app/node_modules/express/lib/router/index.js:{number}:12)"
            ),
            6 => format!("downloading https://example.com/packages/archive-{number}.tar.gz (12.5 MB)"),
            7 => format!("usage: prompt_tokens={number} completion_tokens={second} model=example cost=0.01"),
            8 => "warning: unused variable: `context`; this is the default and the others are the same"
                .to_owned(),
            9 => format!(
                "commit 3f786850e387550fdab836ed7e6dc881de23001b Author: Ann Example, session {number}"
            ),
            _ if number % 110 == 10 => {
                format!("connecting with password=hunter2EXAMPLE{number} to the database")
            }
            _ => format!(
                "The quick brown fox jumps over the lazy dog and then {number} more times over the others."
            ),
        };
        writeln!(text, "{line}").expect("writing to a string cannot fail");
    }
    text.into_bytes()
}

fn measure(bencher: Bencher<'_, '_>, redactor: &Redactor) {
    let log = log();
    let mut output = Vec::with_capacity(log.len() + 1024);
    bencher.counter(BytesCount::of_slice(&log)).bench_local(|| {
        output.clear();
        let mut redactor = redactor.clone();
        for piece in log.chunks(64 * 1024) {
            redactor.push(piece, &mut output);
        }
        redactor.finish(&mut output);
        output.len()
    });
}

fn values() -> Vec<SecretValue> {
    vec![SecretValue::from("EXAMPLE-first-0123456789"), SecretValue::from("EXAMPLE second & third/4")]
}

#[divan::bench]
fn all_rules(bencher: Bencher<'_, '_>) {
    measure(bencher, &Redactor::new(&[]));
}

#[divan::bench]
fn all_rules_and_two_bound_values(bencher: Bencher<'_, '_>) {
    measure(bencher, &Redactor::new(&values()));
}

#[divan::bench]
fn raw_log_with_two_bound_values(bencher: Bencher<'_, '_>) {
    measure(bencher, &Redactor::bound_only(&values()));
}

#[divan::bench]
fn prepare_two_bound_values(bencher: Bencher<'_, '_>) {
    let values = values();
    bencher.bench_local(|| Redactor::new(&values));
}
