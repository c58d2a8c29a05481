//! Memory stays flat, however much a program prints.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use brigade_process::{Control, Stream, run};
use common::Trial;

/// The largest resident size this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

// The only test of this binary, because another one would share its memory.
#[test]
fn three_hundred_megabytes_pass_through_sixteen() {
    let size: u64 = 300 << 20;
    let trial = Trial::shell("head -c 314572800 /dev/zero");
    let control = Control { output_cap: u64::MAX, ..Control::default() };
    let mut seen = 0;
    let mut sink = |_: Stream, bytes: &[u8]| {
        seen += bytes.len() as u64;
        Ok(())
    };
    let outcome = run(&trial.spec, &mut sink, &control).unwrap();
    assert_eq!((seen, outcome.stdout.bytes, outcome.stdout.dropped), (size, size, 0));
    assert!(peak() < 16 << 20, "{}", peak());
}
