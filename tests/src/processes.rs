//! Finds processes of the machine, and waits for conditions.

use std::fs;
use std::time::{Duration, Instant};

/// The deadline for a condition on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Waits until `look` returns a value. The test fails at the deadline.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "after {DEADLINE:?} still no {what}");
        // There is no event to wait for. The pause leaves the processor to the observed processes.
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Returns the ids of live processes with this text in their command line.
///
/// The text must be unique on the machine, such as a path of the test's workspace.
pub fn processes_with(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux has /proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if command.windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(pid);
        }
    }
    found
}
