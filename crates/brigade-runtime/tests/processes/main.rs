//! Tests the supervisor with real processes and a real disk.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod failing_disk;
mod following;
mod supervising;
mod workspace;
