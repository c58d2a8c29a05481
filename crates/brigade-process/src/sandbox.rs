//! What a run may read, write and connect to, as rules of the kernel.

use std::path::{Path, PathBuf};

use thiserror::Error;

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
/// Socket pairs between the run's own processes are always possible.
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

/// What a run may do. What is not listed is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProfile {
    /// Files and folders (with everything beneath) to read and execute. Usually [`system_read_paths`],
    /// [`installation_of`] the program, the workspace and the configured paths. Ones that do not exist are skipped.
    pub read: Vec<PathBuf>,
    /// Files and folders (with everything beneath) to read and write. Ones that do not exist are skipped.
    pub write: Vec<PathBuf>,
    /// Paths that stay unwritable although they are beneath a writable one (`.git` and `.brigade` of a workspace).
    /// One that does not exist cannot be created. Each must be a direct entry of one of `write`.
    pub deny_write: Vec<PathBuf>,
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
    /// What the kernel enforces, as labels: `read`, `write`, `network`, …
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
        unimplemented!()
    }
}

/// The parts of the system that every program may read: programs, libraries, configuration, never a home.
pub fn system_read_paths() -> Vec<PathBuf> {
    Vec::new()
}

/// Everything that a program on `PATH` leads to: links, the version manager behind a shim, the environment's base.
pub fn installation_of(program: &Path) -> Vec<PathBuf> {
    vec![program.to_owned()]
}

/// A profile as the child applies it.
#[derive(Debug)]
pub(crate) enum Prepared {}

impl Prepared {
    pub(crate) fn enter_namespace(&self) -> Result<(), i32> {
        match *self {}
    }
    pub(crate) fn restrict(&self) -> Result<(), i32> {
        match *self {}
    }
    pub(crate) fn placeholders(&self) -> &[i32] {
        match *self {}
    }
    pub(crate) fn remove_placeholders(&self) {
        match *self {}
    }
    pub(crate) fn enforcement(&self) -> Enforcement {
        match *self {}
    }
}

pub(crate) fn prepare(_profile: &SandboxProfile) -> Result<Prepared, SandboxError> {
    Err(SandboxError::Unsupported("not built yet".to_owned()))
}

pub(crate) fn prepare_without_keeper(profile: &SandboxProfile) -> Result<Prepared, SandboxError> {
    prepare(profile)
}
