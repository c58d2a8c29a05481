//! Runs programs without a shell, keeps hold of everything they start, and ends all of it.
//!
//! Owns: starting a program ([`Spec`]), supervising its whole process tree ([`run`], [`spawn_piped`],
//! [`spawn_detached`]), ending a tree ([`kill_tree`]), capped streaming of output ([`Sink`]), who a process is
//! ([`ProcessIdentity`]), the kernel sandbox ([`SandboxProfile`]), and what a sandboxed run opened ([`Observation`]).
//! Does not know: tools, calls, approvals, receipts, or where their files are. All `unsafe` code of the project lives
//! in this crate.
//!
//! On Linux each run gets a *keeper*: a small process of ours between the caller and the program. It adopts every
//! descendant that is orphaned (a child subreaper), so a run has ended when the keeper has no children left, however
//! often they forked, changed session or ignored signals. The keeper notices when the caller dies, by whatever
//! signal, and then ends the tree as well and removes the run's private folder ([`PrivateFolder`]). Elsewhere the
//! process group is what can be ended, and [`Outcome::method`] says so.
//!
//! A program that outlives the caller gets no keeper, but a *log writer* ([`Logs`]): a small process of ours that keeps
//! its output below a cap, whether or not anybody looks.
//!
//! ```
//! use brigade_process::{Control, Exit, Program, Spec, Stream, run};
//!
//! let mut spec = Spec::new(Program::at("/bin/echo"), "/");
//! spec.argv = vec!["echo".into(), "hello".into()];
//! let mut seen = Vec::new();
//! let mut sink = |stream: Stream, bytes: &[u8]| {
//!     if stream == Stream::Stdout {
//!         seen.extend_from_slice(bytes);
//!     }
//!     Ok(())
//! };
//! let outcome = run(&spec, &mut sink, &Control::default()).unwrap();
//! assert_eq!(outcome.exit, Exit::Code(0));
//! assert_eq!(seen, b"hello\n");
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the floor that processes, files of /proc and the clock go through"
)]

// Who and what.
mod host;
mod identity;
mod outcome;
mod own_limits;
mod private;
mod spec;

// Between fork and exec, and above it.
mod launch;
#[cfg(target_os = "linux")]
mod tree;
// Kept apart, so that they stay in reading order.
mod keeper;
mod observe;
mod progress;

// What callers use.
mod cancel;
mod run;
// The two other ways to run.
mod background;
mod gate;
mod log_writer;
mod piped;
// What a run may do.
mod sandbox;

pub use background::{Detached, Ended, kill_detached, kill_tree, spawn_detached};
pub use cancel::{CancelSignal, CancelToken};
pub use host::{
    current_dir, current_program, is_sealed, leave_no_core_file, random_bytes, survive_file_size_limit,
    variables,
};
pub use identity::{ParseIdentityError, ProcessIdentity, Signal, SignalError, boot_id};
pub use log_writer::{LogFile, Logs};
pub use observe::{
    Attempt, Observation, Observed, ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile,
};
pub use outcome::{Captured, EndedBy, Exit, KillMethod, Outcome, RunError, SpawnError, Step, Usage};
pub use piped::{Child, spawn_piped};
pub use private::{Disposal, PrivateFolder};
pub use run::{Control, Discard, Ending, Sink, Stream, run};
pub use sandbox::{
    Closed, Code, Enforcement, Extent, Installation, Kept, LocalSockets, Mode, Network, Opening,
    Repositories, SandboxError, SandboxProfile, Surroundings, installation_in, installation_of,
    json_files_in, system_read_paths, without_links_below,
};
pub use spec::{Input, Limits, Program, Spec};
