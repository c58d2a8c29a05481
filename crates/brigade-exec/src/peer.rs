//! Talks to programs over their standard streams.

use brigade_call::Receipt;
use brigade_process::{Control, Outcome, Sink, Spec};
use brigade_redact::Redactor;

/// Talks to a program from its start to its end.
///
/// [`execute`](crate::execute) and [`talk`](crate::talk) prepare the program as for every run. The peer starts it,
/// talks to it, and ends it. This crate knows no protocol.
pub trait Peer {
    /// Starts the program, talks to it, and ends its whole process tree.
    ///
    /// Never fails: errors are in the problem of the result, which has no secrets. The sink gets the raw bytes of both
    /// streams.
    fn speak(
        &mut self,
        spec: &Spec,
        sink: &mut dyn Sink,
        control: &Control,
        redactor: &Redactor,
    ) -> ConversationResult;

    /// Returns the receipt of such a run with what is known of the conversation, even if it did not start.
    fn complete(&self, receipt: Receipt, _: &Redactor) -> Receipt {
        receipt
    }
}

/// Talks to a program that runs already, and keeps running.
pub trait KeptPeer {
    /// Asks the program once. Ends nothing.
    ///
    /// Right before anything is sent, the sink looks a last time, and may refuse. Never fails: errors are in the
    /// problem of the result, which has no secrets.
    fn ask(&mut self, sink: &mut dyn Sink, control: &Control, redactor: &Redactor) -> ConversationResult;

    /// Returns the receipt of such a run with what is known of the conversation.
    fn complete(&self, receipt: Receipt, redactor: &Redactor) -> Receipt;
}

/// The result of talking to a program.
#[derive(Debug)]
pub struct ConversationResult {
    /// How the process ended; `None` if it never started.
    pub outcome: Option<Outcome>,
    /// Why the conversation failed; `None` if it succeeded.
    pub problem: Option<String>,
}
