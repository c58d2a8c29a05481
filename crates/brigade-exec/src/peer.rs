//! Programs that are spoken to over their standard streams.

use brigade_core::Object;
use brigade_process::{Control, Outcome, Sink, Spec};
use brigade_redact::Redactor;

/// Speaks to a program from its start to its end.
///
/// [`execute`](crate::execute) and [`talk`](crate::talk) prepare the program as they do for every run; the peer starts
/// it, speaks, and ends it. This crate knows no protocol.
pub trait Peer {
    /// Starts the program, speaks to it, and ends its whole tree.
    ///
    /// Never fails: whatever goes wrong is a problem of what was spoken. The sink gets both streams as the program
    /// writes them. Texts of the problem hold no secret.
    fn speak(&mut self, spec: &Spec, sink: &mut dyn Sink, control: &Control, redactor: &Redactor) -> Spoken;

    /// Returns what only the receipt of such a run has; also when it did not come to speaking.
    fn receipt_keys(&self, redactor: &Redactor) -> Object;
}

/// What came of speaking to a program.
#[derive(Debug)]
pub struct Spoken {
    /// How its process ended; `None` when it was never started.
    pub outcome: Option<Outcome>,
    /// Why it did not do what it was asked for; `None` when it did.
    pub problem: Option<String>,
}
