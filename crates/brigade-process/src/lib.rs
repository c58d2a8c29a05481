//! Runs programs without a shell, supervises everything they start, and ends all of it.
//!
//! It owns:
//! * starting a program ([`Spec`]) and supervising its process tree ([`run`], [`spawn_piped`], [`spawn_detached`]),
//! * ending a tree ([`kill_tree`]),
//! * streaming output up to a limit ([`Sink`]),
//! * process identities ([`ProcessIdentity`]), and
//! * what a run gets only for its time: a directory ([`PrivateFolder`]), the repository of its workspace
//!   ([`OpenedRepository`]).
//!
//! It does not know tools, calls, approvals or receipts, nor where their files are. `brigade-sandbox` restricts and
//! observes what a run does. Only these two crates have `unsafe` code.
//!
//! On Linux each run has a *keeper*: a small process between the caller and the program. It adopts every orphaned
//! descendant (as a child subreaper). So a run has ended when the keeper has no children left, even if they forked,
//! changed session or ignored signals. If the caller dies, the keeper ends the tree and removes the run's private
//! directory ([`PrivateFolder`]). Other systems can end only the process group, and [`Outcome::method`] says so.
//!
//! A program that outlives the caller has a *log writer* ([`Logs`]) instead of a keeper: a small process that writes
//! its output and limits the size of its logs.
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

// Identities and specifications.
mod ancestry;
mod host;
mod identity;
mod listening;
mod outcome;
mod own_limits;
mod pipes;
mod private;
mod repository;
mod spec;

// Between fork and exec, and above.
mod launch;
#[cfg(target_os = "linux")]
mod tree;
// A separate group, so that rustfmt keeps the modules in reading order.
mod idle;
mod keeper;
mod progress;

// What callers use.
mod cancel;
mod run;
// Other ways to run.
mod background;
mod gate;
mod log_writer;
mod own_programs;
mod piped;
mod stopping;
mod typed;

pub use ancestry::is_inside_run;
pub use background::{DetachedProcess, ExitLine, TreeEnd, kill_detached, kill_tree, spawn_detached};
pub use cancel::{CancelSignal, CancelToken};
pub use host::{
    account_name, current_dir, current_program, is_sealed, leave_no_core_file, local_offset_minutes,
    random_bytes, survive_file_size_limit, variables,
};
pub use identity::{ParseIdentityError, ProcessIdentity, Signal, SignalError, boot_id};
pub use listening::{OwnSocket, PeerAddress, PeerProcess, listener_of};
pub use log_writer::{LogFile, Logs};
pub use outcome::{CapturedBytes, EndedBy, Exit, KillMethod, Outcome, RunError, SpawnError, Step, Usage};
pub use own_programs::{OwnProgram, OwnPrograms};
pub use piped::{Child, spawn_piped, spawn_piped_checked};
pub use pipes::{NamedPipes, OpenPipes};
pub use private::{Disposal, PrivateFolder};
pub use repository::OpenedRepository;
pub use run::{Control, Discard, Ending, Sink, Stream, run};
pub use spec::{Input, Limits, Program, Spec};
pub use stopping::{StopEvent, StopSignals};
pub use typed::{TypedInput, TypedKeys, TypedLine, discard_typed, read_typed_keys, read_typed_line};
