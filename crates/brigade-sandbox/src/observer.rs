//! Observes a run.
//!
//! On Linux the kernel notifies the keeper of each observed call in the tree (seccomp user notification), and waits for
//! its answer. The answer is always to continue: observing decides nothing. The keeper reads the arguments from the
//! memory of the process, finds the file like the process would, and records it in memory shared with the caller.
//!
//! The kernel does not report how a call ended. A file recorded as read, written or executed existed, and neither the
//! sandbox nor its mode denied the access. Accesses that they denied are recorded as denied. A program that changes a
//! path in another thread while the keeper reads it can cause a wrong record. So this documents honest programs; it
//! does not protect against others.

#[cfg(target_os = "linux")]
mod addresses;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod handover;
#[cfg(target_os = "linux")]
mod lookup;
#[cfg(target_os = "linux")]
#[path = "observer/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "observer/unix.rs"]
mod platform;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod watcher;

pub use platform::{ListenerSocket, Observer, Watcher};
