//! Programs that outlive the caller, and ending them later by their recorded identity.

use std::fs::File;
use std::time::Duration;

use crate::{KillMethod, ProcessIdentity, SpawnError, Spec};

/// Where a detached program's output goes. Opened by the caller, usually for appending.
#[derive(Debug)]
pub struct Files<'a> {
    /// Standard output.
    pub stdout: &'a File,
    /// Standard error; may be the same file.
    pub stderr: &'a File,
}

/// How ending a tree went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How many processes were asked or killed; 0 when it had ended before.
    pub signalled: u32,
    /// How many needed `SIGKILL`.
    pub killed: u32,
    /// What could not be ended.
    pub survivors: Vec<ProcessIdentity>,
    /// How far ending reaches here.
    pub method: KillMethod,
}

/// Starts a program in a session of its own that goes on when the caller ends.
///
/// `marker` is one `NAME=value` of the spec's environment by which stray members are recognised later, see
/// [`kill_tree`].
pub fn spawn_detached(spec: &Spec, files: &Files<'_>) -> Result<ProcessIdentity, SpawnError> {
    let _ = (spec, files);
    unimplemented!()
}

/// Ends the tree whose root has this identity: asked, given the grace, killed.
///
/// Members are the root's descendants, everything in its session and process group, and every process whose environment
/// at its start held `marker` (`NAME=value`), which finds daemons that were re-parented. When the root has ended and its
/// number is taken by another process, only the marker counts. Nothing else is signalled.
pub fn kill_tree(identity: &ProcessIdentity, marker: Option<&str>, grace: Duration) -> Ended {
    let _ = (identity, marker, grace);
    unimplemented!()
}
