//! A child one talks to: pipes on all three streams, the tree supervised as in a run.

use std::fs::File;
use std::time::Duration;

use crate::{Ending, Enforcement, Outcome, ProcessIdentity, RunError, SpawnError, Spec};

/// A running program with pipes to it.
///
/// Dropping it ends the whole tree, without waiting for that.
#[derive(Debug)]
pub struct Child {
    /// Write end of its standard input; take and drop it to close.
    pub stdin: Option<File>,
    /// Read end of its standard output.
    pub stdout: Option<File>,
    /// Read end of its standard error. Somebody must read it, or a talkative program stands still.
    pub stderr: Option<File>,
    identity: ProcessIdentity,
}

impl Child {
    /// The main process.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// What the sandbox enforces, when there is one.
    pub fn enforcement(&self) -> Option<&Enforcement> {
        None
    }

    /// Waits until the tree ended by itself, at most this long. `None` when it still runs.
    pub fn wait(&mut self, at_most: Duration) -> Result<Option<Outcome>, RunError> {
        let _ = at_most;
        unimplemented!()
    }

    /// Closes its input, waits up to the grace for it to end by itself, then ends the tree: asked, the grace again, killed.
    pub fn finish(self, grace: Duration) -> Result<Outcome, RunError> {
        let _ = grace;
        unimplemented!()
    }
}

/// Starts a program with pipes on stdin, stdout and stderr.
pub fn spawn_piped(spec: &Spec, ending: Ending) -> Result<Child, SpawnError> {
    let _ = (spec, ending);
    unimplemented!()
}
