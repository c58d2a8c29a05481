//! Restricts what a program may read, write and connect to, and observes what it uses.
//!
//! It owns:
//! * the rules of a run ([`SandboxProfile`]), and what the kernel enforces of them ([`Enforcement`]),
//! * applying them to a process between fork and exec ([`PreparedSandbox`]),
//! * observing which files a sandboxed run opens ([`Observer`], [`Observation`]), and
//! * finding the files that rules must name: what a program is installed in ([`installation_in`]), and what no run may
//!   write ([`ProtectedEntries`], [`ClosedPaths`]).
//!
//! It does not know why a run may do something, and it starts no program: `brigade-process` does.
//!
//! | part | by | from |
//! | --- | --- | --- |
//! | reading and writing | Landlock | Linux 5.13 |
//! | truncating | Landlock; system call filter before version 3 | |
//! | network, local sockets | system call filter | |
//! | protected entries of a writable directory | read-only mounts of an own namespace; else Landlock with a closed top level | |
//! | attributes (mode, owner, times) outside of writable paths | read-only mounts | where namespaces are permitted |
//! | git configuration in the home, which git must read, appears empty | mounts | where namespaces are permitted |
//! | a private `/dev/shm` for the run | mounts | where namespaces are permitted |
//! | signals to other processes, device control | Landlock 6 and 5 | Linux 6.12, 6.10 |
//! | limits, priorities and processors of other processes | system call filter | |
//! | tracing, mounting, kernel modules, keys, io_uring and the like | system call filter | |
//!
//! [`Mode::Enforce`] requires reading, writing, truncating, network and local sockets. [`Enforcement::missing`] lists
//! what else the kernel lacks. The caller builds the rules. They are applied permanently between fork and exec, to the
//! program and everything it starts.
//!
//! Limits: the process list and command lines in `/proc` are readable. A directory can be closed but not hidden. The
//! network is open or closed as a whole. Programs with another word size are killed.
//!
//! ```
//! use brigade_sandbox::{Mode, SandboxProfile, system_read_paths};
//!
//! let profile = SandboxProfile { installed: system_read_paths(), ..SandboxProfile::nothing(Mode::BestEffort) };
//! let enforcement = profile.check().unwrap();
//! assert_eq!(enforcement.mode, Mode::BestEffort);
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the rules of the kernel name files as they are now"
)]

// What a run may do, and what it did.
mod observation;
mod profile;

// Finding files.
mod closed_paths;
mod git_settings;
mod installation;
mod protected;

// Applying the rules, and observing.
mod observer;
mod rules;
#[cfg(target_os = "linux")]
mod seccomp;
#[doc(hidden)]
pub mod system;

pub use closed_paths::{ClosedPaths, Extent, Search, StateFolder};
pub use installation::{
    Installation, ProgramOrigin, Surroundings, installation_in, installation_of, project_of,
    system_read_paths,
};
pub use observation::{
    Attempt, Observation, ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile, ObservedUse,
};
pub use observer::{ListenerSocket, Observer, Watcher};
pub use profile::{
    ClosedWorkspace, Code, Enforcement, LocalSockets, Mode, Network, ReplacedPath, SandboxError,
    SandboxProfile,
};
pub use protected::{
    ProtectedEntries, WritableScope, folders_in, is_only_of_root, json_files_in, shared_git, without_links,
    without_links_below,
};
pub use rules::{PlaceholderCleanup, PreparedSandbox};
