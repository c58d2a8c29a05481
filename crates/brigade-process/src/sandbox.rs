//! What a run may read, write and connect to, as rules of the kernel.
//!
//! | part | by | from |
//! | --- | --- | --- |
//! | reading and writing | Landlock | Linux 5.13 |
//! | truncating | Landlock; system call filter before version 3 | |
//! | network, local sockets | system call filter | |
//! | protected entries of a writable folder | read-only mounts of an own namespace; else Landlock with a closed top level | |
//! | attributes (mode, owner, times) outside of writable paths | read-only mounts | where namespaces are permitted |
//! | configuration of git in the home, which git insists on reading, seems empty | mounts | where namespaces are permitted |
//! | `/dev/shm` of the run's own | mounts | where namespaces are permitted |
//! | signals to other processes, device control | Landlock 6 and 5 | Linux 6.12, 6.10 |
//! | limits, priorities and processors of other processes | system call filter | |
//! | tracing, mounting, kernel modules, keys, io_uring and the like | system call filter | |
//!
//! [`Mode::Enforce`] demands reading, writing, truncating, network and local sockets; what else a kernel lacks is
//! told in [`Enforcement::missing`]. Rules are built by the caller and applied between fork and exec, for the program
//! and everything it starts, for good.
//!
//! Not covered: the list of processes and their command lines in `/proc` can be read; a folder cannot be hidden, only
//! closed; the network is open or closed as a whole. Programs for another word size than ours are killed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::Spec;

#[cfg(target_os = "linux")]
mod beneath;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod cover;
#[cfg(target_os = "linux")]
mod files;
mod installation;
mod kept;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
#[path = "sandbox/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/unix.rs"]
mod platform;
mod repositories;
#[cfg(target_os = "linux")]
mod sealed;

pub use installation::{Installation, Surroundings, installation_in, installation_of, system_read_paths};
pub use kept::{Kept, Opening, json_files_in, without_links_below};
pub(crate) use platform::Prepared;
pub use repositories::{Extent, Repositories};

/// Whether sockets to the network can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// IPv4 and IPv6 sockets of any kind.
    Allowed,
    /// None.
    Denied,
}

/// Whether sockets of this machine (`AF_UNIX`) can be connected to.
///
/// They lead out of every sandbox where a daemon listens that starts programs: a container engine, a session bus.
/// Pairs of connected sockets (`socketpair`) between the run's own processes are always possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSockets {
    /// Those with a path; abstract ones never.
    Allowed,
    /// None: the rule.
    Denied,
}

/// What happens where the kernel cannot enforce the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is started.
    Enforce,
    /// It runs with what the kernel can do, and [`Enforcement`] says what is missing.
    BestEffort,
}

impl Mode {
    /// The name that files use: `enforce` or `best-effort`.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::BestEffort => "best-effort",
        }
    }
}

/// A file of code, with the bytes that were approved.
#[derive(Clone, PartialEq, Eq)]
pub struct Code {
    /// Its path, without links.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Whether it may be executed by itself.
    pub is_executable: bool,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("path", &self.path).field("length", &self.bytes.len()).finish()
    }
}

/// What can be read of a workspace that is closed to reading. The names in its folders can be listed all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// What can be read and executed. Where namespaces are permitted, the run gets these very bytes, read-only,
    /// whatever becomes of the files; elsewhere the files as they are.
    pub code: Vec<Code>,
    /// Files and folders (with everything beneath) that can be read, and not executed.
    pub data: Vec<PathBuf>,
    /// Entries of [`SandboxProfile::write`] that can be written, and not read.
    pub write_only: Vec<PathBuf>,
}

/// What a run may do. What is not listed is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProfile {
    /// The folder that runs may write to: of a path below it no part is followed when it is a link, at the moment when
    /// the path is opened. Without links itself.
    pub workspace: Option<PathBuf>,
    /// A folder of which nothing is seen but the entries of `read` and `write` that lie beneath it: not even opened for
    /// reading can be what is there. Takes mount namespaces.
    pub hidden: Option<PathBuf>,
    /// Files and folders (with everything beneath) to read and execute. Usually [`system_read_paths`],
    /// [`installation_of`] the program, the workspace and the configured paths. Ones that do not exist are skipped.
    pub read: Vec<PathBuf>,
    /// Files and folders (with everything beneath) to read and write. Ones that do not exist are skipped.
    pub write: Vec<PathBuf>,
    /// Paths that stay unwritable although they are beneath a writable one (`.git` and `.brigade` of a workspace),
    /// except for entries of `write` that are in turn beneath them. One that does not exist cannot be created. Each
    /// should be a direct entry of one of `write`, because without namespaces everything beside it is granted one by
    /// one.
    pub deny_write: Vec<PathBuf>,
    /// What of the workspace can be read, when it is closed. Neither `read` nor `write` should open it then.
    pub closed: Option<Closed>,
    /// Network sockets.
    pub network: Network,
    /// Sockets of this machine.
    pub local_sockets: LocalSockets,
    /// What to do where the kernel cannot.
    pub mode: Mode,
    /// Pretends that the kernel has this Landlock version at most; for tests. 0 is a kernel without Landlock.
    pub landlock_at_most: Option<u32>,
}

/// What was enforced on one run, for its record. Labels are stable, sentences are for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// What was asked for.
    pub mode: Mode,
    /// The Landlock version in use; 0 without.
    pub landlock: u32,
    /// What the kernel enforces, as labels: `read`, `write`, `truncate`, `protected` (paths of
    /// [`SandboxProfile::deny_write`]), `system-calls`, `network`, `local-sockets` (the last two only when denied),
    /// `attributes`, `devices`, `signals`, `abstract-sockets`, `closed-reads` and `sealed-code` (of [`Closed`]).
    pub enforced: Vec<&'static str>,
    /// What this kernel could not, as plain sentences.
    pub missing: Vec<String>,
}

/// Why a profile cannot be enforced. Nothing was started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The kernel cannot do what the mode demands.
    #[error("this system cannot enforce the sandbox: {0}")]
    Unsupported(String),
    /// A rule could not be built.
    #[error("could not build the sandbox: {0}")]
    Build(String),
}

impl SandboxProfile {
    /// Says what running this profile would enforce here, or why it would be refused. Starts nothing.
    pub fn check(&self) -> Result<Enforcement, SandboxError> {
        Ok(platform::prepare(self, None, Keeping::Asking)?.enforcement())
    }
}

/// Who is there at the end of the run to take placeholders away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// The keeper.
    Keeper,
    /// Nobody: no placeholders are made.
    Nobody,
    /// Nothing is started: the answer is as with a keeper, and nothing is made.
    Asking,
}

/// Builds the rules of a run, when it has any.
pub(crate) fn prepare(spec: &Spec, keeping: Keeping) -> Result<Option<Prepared>, SandboxError> {
    let home = spec.environment.iter().find(|(name, _)| name == "HOME").map(|(_, value)| Path::new(value));
    spec.sandbox.as_ref().map(|profile| platform::prepare(profile, home, keeping)).transpose()
}
