//! The rules of a run, and what the kernel enforces of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// Whether network sockets can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// IPv4 and IPv6 sockets of any kind.
    Allowed,
    /// No sockets.
    Denied,
}

/// Whether local sockets (`AF_UNIX`) can be connected.
///
/// A local daemon that starts programs, such as a container engine or a session bus, is a way out of any sandbox.
/// Connected pairs (`socketpair`) between processes of the run are always possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSockets {
    /// Sockets with a path; never abstract ones.
    Allowed,
    /// No sockets. This is the default.
    Denied,
}

/// What to do if the kernel cannot enforce the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Start nothing.
    Enforce,
    /// Run with what the kernel supports. [`Enforcement`] lists what is missing.
    BestEffort,
}

/// A code file with its approved bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Code {
    /// The path, without links.
    pub path: PathBuf,
    /// The approved bytes.
    pub bytes: Arc<[u8]>,
    /// Whether it is executable.
    pub is_executable: bool,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("path", &self.path).field("length", &self.bytes.len()).finish()
    }
}

/// What can be read in a workspace that is closed to reading. Its directories can still be listed.
///
/// Where namespaces are permitted, a run that writes only code gets its own view of the workspace, in which links and
/// changes of the real one have no effect. Any other run follows no link below the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedWorkspace {
    /// Code that can be read and executed. If namespaces are permitted, the run gets exactly these bytes, read-only,
    /// even if the files change. Otherwise it gets the current files.
    pub code: Vec<Code>,
    /// Files and directories (with everything below) that can be read but not executed.
    pub data: Vec<PathBuf>,
    /// Paths below entries of `data` that stay closed.
    pub closed_data: Vec<PathBuf>,
    /// Entries of [`SandboxProfile::write`] that can be written but not read.
    pub write_only: Vec<PathBuf>,
    /// Workspace paths by which the command names its program, and bound links. Links in these paths are kept.
    pub named: Vec<PathBuf>,
    /// Links of the workspace: their paths below it, and their targets when the code was read. The run sees them with
    /// these targets.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// Bound files outside of the workspace, without links.
    pub outside: Vec<PathBuf>,
    /// Directories of the workspace that the run needs to exist, such as its working directory.
    pub folders: Vec<PathBuf>,
}

/// A directory that replaces a directory of the workspace for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedPath {
    /// The replaced directory of the workspace.
    pub folder: PathBuf,
    /// The directory that the run gets instead, writable.
    pub by: PathBuf,
    /// Directories of the replaced one that the run can write.
    pub write: Vec<PathBuf>,
    /// Files and directories of the replaced one that the run can read.
    pub read: Vec<PathBuf>,
}

/// What a run may do. Everything else is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProfile {
    /// The directory that runs may write to, without links. When a path below it is opened, no part of it may be a
    /// link.
    pub workspace: Option<PathBuf>,
    /// Directories of which the run sees only the entries of `read` and `write` below them. Other entries cannot even
    /// be opened. No entry may be below another one. Needs mount namespaces.
    pub hidden: Vec<PathBuf>,
    /// Files and directories (with everything below, but nothing of the workspace) to read and execute. Usually
    /// [`system_read_paths`](crate::system_read_paths) and the [`installation_of`](crate::installation_of) the program.
    /// If one contains the workspace, its other entries are opened one by one, so entries created there later stay
    /// closed. Missing ones are skipped.
    pub installed: Vec<PathBuf>,
    /// Files and directories (with everything below) to read and execute. Usually the workspace and the configured
    /// paths. Missing ones are skipped. In a closed workspace nothing can be executed through this list.
    pub read: Vec<PathBuf>,
    /// Files and directories (with everything below) to read and write, and to execute where `read` is executed.
    /// Missing ones are skipped.
    pub write: Vec<PathBuf>,
    /// Paths below a writable one that stay unwritable, such as `.git` and `.brigade` of a workspace, except for
    /// entries of `write` below them. A missing path cannot be created. Each should be a direct entry of one of
    /// `write`, because without namespaces all its neighbours are granted one by one.
    pub deny_write: Vec<PathBuf>,
    /// Missing paths directly in a writable directory that the run cannot create. Only where mounts can reserve them
    /// and a keeper removes the reservation.
    pub deny_new: Vec<PathBuf>,
    /// A directory of the workspace that another directory replaces for the run. Needs mount namespaces; without them
    /// the original stays. The run cannot create symbolic links.
    pub replaced: Option<ReplacedPath>,
    /// What can be read in a closed workspace. If `read` or `write` opens the whole workspace, `closed-reads` is not
    /// enforced.
    pub closed: Option<ClosedWorkspace>,
    /// Whether network sockets can be created.
    pub network: Network,
    /// Whether local sockets can be connected.
    pub local_sockets: LocalSockets,
    /// What to do if the kernel cannot enforce the profile.
    pub mode: Mode,
    /// The maximum Landlock version to use, for tests. 0 is a kernel without Landlock.
    pub landlock_at_most: Option<u32>,
}

/// What was enforced on one run, for its record. Labels are stable. Sentences are for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The requested mode.
    pub mode: Mode,
    /// The Landlock version in use; 0 without Landlock.
    pub landlock: u32,
    /// What the kernel enforces, as labels: `read`, `write`, `truncate`, `protected` (paths of
    /// [`SandboxProfile::deny_write`]), `system-calls`, `network`, `local-sockets` (the last two only when denied),
    /// `attributes`, `devices`, `signals`, `abstract-sockets`, `closed-reads` and `sealed-code` (of
    /// [`ClosedWorkspace`]).
    pub enforced: Vec<&'static str>,
    /// What the kernel could not enforce, as sentences.
    pub missing: Vec<String>,
}

/// Why a profile cannot be enforced. Nothing was started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The kernel does not support what the mode requires.
    #[error("this system cannot enforce the sandbox: {0}")]
    Unsupported(String),
    /// A rule could not be built.
    #[error("could not build the sandbox: {0}")]
    Build(String),
}

impl SandboxError {
    #[cfg(target_os = "linux")]
    pub(crate) fn build(error: impl std::fmt::Display) -> SandboxError {
        SandboxError::Build(error.to_string())
    }
}

impl SandboxProfile {
    /// Returns the profile that opens nothing.
    pub fn nothing(mode: Mode) -> SandboxProfile {
        SandboxProfile {
            workspace: None,
            hidden: Vec::new(),
            installed: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            deny_write: Vec::new(),
            deny_new: Vec::new(),
            replaced: None,
            closed: None,
            network: Network::Denied,
            local_sockets: LocalSockets::Denied,
            mode,
            landlock_at_most: None,
        }
    }
}
