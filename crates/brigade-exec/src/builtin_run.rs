//! Calls of tools that are part of Brigade: no program is started for them.

use std::time::Duration;

use brigade_call::Receipt;
use brigade_process::CancelToken;
use brigade_redact::Redactor;

/// Does what a call asks for, within this process.
pub trait BuiltinRun {
    /// Does it. Returns what the log of standard output keeps, raw, and why it failed if it did.
    fn act(&mut self, limits: &BuiltinLimits, redactor: &Redactor) -> BuiltinOutcome;

    /// Returns the receipt of such a run with what was done.
    fn complete(&self, receipt: Receipt, redactor: &Redactor) -> Receipt;
}

/// The limits of a call within this process.
#[derive(Clone, Debug)]
pub struct BuiltinLimits {
    /// How long it may take.
    pub timeout: Duration,
    /// How many bytes the log keeps.
    pub max_output_bytes: u64,
    /// Cancels it.
    pub cancel: Option<CancelToken>,
}

/// What came of acting.
#[derive(Clone, Debug, Default)]
pub struct BuiltinOutcome {
    /// What the log keeps: as much as the policy lets it.
    pub output: Vec<u8>,
    /// How many more bytes there were.
    pub dropped: u64,
    /// Why it failed, without secrets. `None` if it did what was asked.
    pub problem: Option<String>,
    /// How long it took.
    pub duration: Duration,
}
