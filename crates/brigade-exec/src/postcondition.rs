//! What is checked after a program has ended, before its receipt is written.

use brigade_call::{InstallRun, RunObserved, RunStatus, SandboxUsed, TouchedFile, VerifiedCall};
use brigade_process::Outcome;
use brigade_redact::Redactor;

use crate::receipt::RunPaths;

/// Checks after the end of a run whether it did what was asked.
pub trait Postcondition {
    /// Checks the run. What it returns becomes part of the receipt.
    fn check(&self, run: &EndedRun<'_>) -> PostconditionResult;
}

/// A run whose program has ended, and whose logs are closed.
pub struct EndedRun<'a> {
    /// The call.
    pub call: &'a VerifiedCall,
    /// How the run ends without the check.
    pub status: &'a RunStatus,
    /// How the program ended; `None` if it did not start.
    pub outcome: Option<&'a Outcome>,
    /// The paths of the run's files.
    pub paths: &'a RunPaths,
    /// The sandbox of the program.
    pub sandbox: Option<&'a SandboxUsed>,
    /// What was observed of the program.
    pub observed: Option<&'a RunObserved>,
    /// Masks what is shown of the run.
    pub redactor: &'a Redactor,
}

/// What a check adds to a receipt.
#[derive(Clone, Debug, Default)]
pub struct PostconditionResult {
    /// Why the run failed, although its program succeeded. Without secrets.
    pub failure: Option<String>,
    /// The code of the failure, if receipts have one.
    pub error_code: Option<String>,
    /// Files that were written from the output of the program.
    pub touched: Option<Vec<TouchedFile>>,
    /// The tool before and after an installation.
    pub install: Option<InstallRun>,
    /// A warning.
    pub warning: Option<String>,
}
