//! Runs a program that tells whether a tool is there, to its end.

use brigade_process::{Control, Exit, Sink, Spec, Stream, run};
use brigade_redact::Redactor;

use crate::conversation::{Conversation, talk};
use crate::peer::{ConversationResult, Peer};

/// The number of bytes that are kept of each stream.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// What a check told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckResult {
    /// How it ended by itself; `None` if it was not started, or was ended.
    pub exit: Option<Exit>,
    /// Why it was not started, or was ended.
    pub problem: Option<String>,
    /// The start of what it printed, without secrets: standard output.
    pub stdout: String,
    /// The same of standard error.
    pub stderr: String,
}

/// Runs a check to its end. It gets no input.
pub fn check(start: &Conversation<'_>) -> CheckResult {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut sink = |stream: Stream, bytes: &[u8]| {
        let kept = match stream {
            Stream::Stdout => &mut stdout,
            Stream::Stderr => &mut stderr,
        };
        kept.extend_from_slice(&bytes[..bytes.len().min(MAX_KEPT_BYTES - kept.len())]);
        Ok(())
    };
    let ConversationResult { outcome, problem } = talk(start, &mut sink, &mut SilentPeer);
    let redactor = Redactor::new(start.secrets);
    let text = |bytes: &[u8]| redactor.redact_str(&String::from_utf8_lossy(bytes));
    let mut result = CheckResult { exit: None, problem, stdout: text(&stdout), stderr: text(&stderr) };
    match outcome {
        Some(outcome) if outcome.timed_out() => {
            result.problem = Some(format!("it did not end within {} s", start.timeout.as_secs_f64()));
        }
        Some(outcome) if outcome.cancelled() => result.problem = Some("it was cancelled".to_owned()),
        Some(outcome) => result.exit = Some(outcome.exit),
        None => {}
    }
    result
}

/// Says nothing, and waits for the end.
struct SilentPeer;

impl Peer for SilentPeer {
    fn speak(
        &mut self,
        spec: &Spec,
        sink: &mut dyn Sink,
        control: &Control,
        _: &Redactor,
    ) -> ConversationResult {
        match run(spec, sink, control) {
            Ok(outcome) => ConversationResult { outcome: Some(outcome), problem: None },
            Err(error) => ConversationResult { outcome: None, problem: Some(error.to_string()) },
        }
    }
}
