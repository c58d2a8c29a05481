//! Builds the rules of a run from its profile, and applies them.

use crate::{Enforcement, SandboxError, SandboxProfile};

#[cfg(target_os = "linux")]
mod cover;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod grants;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod openable;
#[cfg(target_os = "linux")]
#[path = "rules/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "rules/unix.rs"]
mod platform;
#[cfg(target_os = "linux")]
mod prepared_path;
#[cfg(target_os = "linux")]
mod private_files;
#[cfg(target_os = "linux")]
mod ruleset;
#[cfg(target_os = "linux")]
mod sealed;
#[cfg(target_os = "linux")]
mod view;

pub use platform::PreparedSandbox;

/// Which process removes placeholders at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceholderCleanup {
    /// The keeper.
    Keeper,
    /// No process, so no placeholders are created.
    Impossible,
    /// Only a query: nothing is started and no placeholders are created. The result is the same as with a keeper.
    Query,
}

impl SandboxProfile {
    /// Returns what a run with this profile would enforce here, or why it would be refused. Starts nothing.
    pub fn check(&self) -> Result<Enforcement, SandboxError> {
        Ok(PreparedSandbox::new(self, None, PlaceholderCleanup::Query)?.enforcement())
    }
}
