//! Looking at the machine's processes, and waiting for facts.

use std::fs;
use std::time::{Duration, Instant};

/// How long a fact may take to come about on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Waits until something is there, and returns it; the test fails when it does not come.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "after {DEADLINE:?} still no {what}");
        // Nothing can be waited on here; the pause only keeps the machine free for what is looked for.
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Returns the ids of the living processes that have this text in their command line.
///
/// The text should be one that nothing else on the machine has, such as a path of the test's own workspace.
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
