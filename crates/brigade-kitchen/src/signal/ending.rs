//! Classifies how an attempt ended. The first match wins: time limit, killed, stalled; result file; tags; exit code.

use std::fmt;

use super::result_file::{self, Common, ResultFault};
use super::{Signal, Tags};
use crate::adapter::{Limit, Tokens};

/// How the process of an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal that Brigade did not send.
    Signal(i32),
    /// Brigade ended it at its time limit.
    TimeLimit,
    /// Brigade ended it because it printed nothing for too long.
    Stalled,
    /// Brigade ended it because the service was interrupted.
    Interrupted,
}

/// The evidence that an attempt leaves.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// How its process ended.
    pub exit: Exit,
    /// The result file.
    pub result: Result<Option<&'a [u8]>, ResultFault>,
    /// The nonce of the run.
    pub nonce: &'a str,
    /// The answer of the worker, as found by the adapter.
    pub answer: Option<&'a str>,
    /// The provider's limit that the output reports.
    pub limit: Option<Limit>,
}

/// Where a signal came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalSource {
    /// The result file.
    ResultFile,
    /// A tag.
    Tag,
    /// The exit code.
    ExitCode,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The worker gave a signal.
    Said {
        /// The signal.
        signal: Signal,
        /// Its source.
        by: SignalSource,
    },
    /// The task needs another attempt.
    Iteration(Iteration),
    /// The provider's limit is reached. This does not count as a failure of the task.
    Limit(Limit),
    /// The output mentions a limit in unknown words, so a person must look. This does not count as a failure either.
    UnknownLimit,
    /// The time limit ended it.
    TimeLimit,
    /// It printed nothing for too long.
    Stalled,
    /// The service was interrupted.
    Interrupted,
}

/// Why an attempt needs another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// It gave no signal.
    NoSignal,
    /// It gave different promises.
    Conflict,
    /// Its promise is unknown.
    UnknownPromise,
    /// Its result file does not count.
    Result(ResultFault),
    /// Its process failed, so its claim does not count.
    Failed(Exit),
}

impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Iteration::NoSignal => f.write_str("the attempt ended without a signal"),
            Iteration::Conflict => f.write_str("the answer has different promises, so none counts"),
            Iteration::UnknownPromise => f.write_str("the promise in the answer is not a known one"),
            Iteration::Result(fault) => write!(f, "{fault}, so it does not count"),
            Iteration::Failed(Exit::Signal(signal)) => {
                write!(f, "the worker was ended by signal {signal}, so its claim does not count")
            }
            Iteration::Failed(Exit::Code(code)) => {
                write!(f, "the worker exited with {code}, so its claim does not count")
            }
            Iteration::Failed(Exit::TimeLimit | Exit::Stalled | Exit::Interrupted) => {
                f.write_str("the worker was ended, so its claim does not count")
            }
        }
    }
}

/// The notes of an attempt, apart from how it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptNotes {
    /// Why the task is blocked.
    pub reason: Option<String>,
    /// A summary of the work.
    pub summary: Option<String>,
    /// The approach that it used.
    pub approach: Option<String>,
    /// Learnings for later workers, without duplicates.
    pub learnings: Vec<String>,
    /// Findings outside the task, without duplicates.
    pub backlog: Vec<String>,
    /// The cost in dollars that the result file reports.
    pub cost_usd: Option<f64>,
    /// The tokens that the result file reports.
    pub tokens: Option<Tokens>,
}

/// Classifies how an attempt of the role `work` ended, and collects its notes.
///
/// ```
/// use brigade_kitchen::signal::{SignalSource, Ending, Evidence, Exit, Signal, classify_ending};
///
/// let mut evidence = Evidence {
///     exit: Exit::Code(0),
///     result: Ok(None),
///     nonce: "n",
///     answer: Some("All done.\n<promise>COMPLETE</promise>"),
///     limit: None,
/// };
/// assert_eq!(classify_ending(&evidence).0, Ending::Said { signal: Signal::Complete, by: SignalSource::Tag });
/// evidence.result = Ok(Some(br#"{"nonce": "n", "signal": "blocked"}"#));
/// assert_eq!(classify_ending(&evidence).0, Ending::Said { signal: Signal::Blocked, by: SignalSource::ResultFile });
/// evidence.exit = Exit::TimeLimit;
/// assert_eq!(classify_ending(&evidence).0, Ending::TimeLimit);
/// ```
pub fn classify_ending(evidence: &Evidence<'_>) -> (Ending, AttemptNotes) {
    let tags = Tags::find(evidence.answer.unwrap_or_default());
    let mut notes = AttemptNotes {
        reason: tags.last("reason").map(str::to_owned),
        approach: tags.last("approach").map(str::to_owned),
        learnings: tags.distinct("learning"),
        backlog: tags.distinct("backlog"),
        ..AttemptNotes::default()
    };
    let file = evidence.read_result();
    if let Some(Ok(json)) = &file {
        // The costs in a result file of this run count even if its signal does not.
        let Common { summary, cost_usd, tokens } = result_file::common(json);
        (notes.summary, notes.cost_usd, notes.tokens) = (summary, cost_usd, tokens);
    }
    let result = file.map(|file| file.and_then(|json| result_file::work(&json)));
    if let Some(Ok((_, result))) = &result {
        notes.reason = result.reason.clone().or(notes.reason);
        notes.approach = result.approach.clone().or(notes.approach);
        notes.learnings = merge_learnings(&result.learnings, notes.learnings);
        notes.backlog = merge_learnings(&result.backlog, notes.backlog);
    }
    let ending = match evidence.exit {
        Exit::TimeLimit => Ending::TimeLimit,
        Exit::Stalled => Ending::Stalled,
        Exit::Interrupted => Ending::Interrupted,
        Exit::Code(_) | Exit::Signal(_) => {
            let ending = signal_ending(evidence, result.map(|file| file.map(|(signal, _)| signal)), &tags);
            match (evidence.limit, ending) {
                (Some(limit), Ending::Iteration(Iteration::NoSignal | Iteration::Failed(_))) => {
                    if limit.is_known { Ending::Limit(limit) } else { Ending::UnknownLimit }
                }
                (_, ending) => ending,
            }
        }
    };
    (ending, notes)
}

fn signal_ending(
    evidence: &Evidence<'_>,
    result: Option<Result<Signal, ResultFault>>,
    tags: &Tags,
) -> Ending {
    let (signal, by) = match result {
        Some(Ok(signal)) => (signal, SignalSource::ResultFile),
        Some(Err(fault)) => return Ending::Iteration(Iteration::Result(fault)),
        None => match (tags.promises.as_slice(), tags.has_unknown_promise) {
            ([signal], false) => (signal.clone(), SignalSource::Tag),
            ([], true) => return Ending::Iteration(Iteration::UnknownPromise),
            ([], false) => match tags.only("scope-question") {
                Some(question) => (Signal::Question(question.to_owned()), SignalSource::Tag),
                None => return by_exit(evidence.exit),
            },
            _ => return Ending::Iteration(Iteration::Conflict),
        },
    };
    if signal.claims_success() && !agrees(evidence.exit, &signal) {
        return Ending::Iteration(Iteration::Failed(evidence.exit));
    }
    Ending::Said { signal, by }
}

/// Returns whether a claim of success counts with this exit code.
fn agrees(exit: Exit, signal: &Signal) -> bool {
    match exit {
        Exit::Code(0 | 32 | 33) => true,
        Exit::Code(code) => *signal != Signal::Complete && code == i32::from(signal.spelling().exit_code),
        Exit::Signal(_) | Exit::TimeLimit | Exit::Stalled | Exit::Interrupted => false,
    }
}

/// Classifies an attempt without a signal by its exit code.
fn by_exit(exit: Exit) -> Ending {
    let speaks = |signal: &Signal| exit == Exit::Code(i32::from(signal.spelling().exit_code));
    match [Signal::Blocked, Signal::AlreadyDone].into_iter().find(speaks) {
        Some(signal) => Ending::Said { signal, by: SignalSource::ExitCode },
        None => Ending::Iteration(Iteration::NoSignal),
    }
}

fn merge_learnings(first: &[String], then: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in first.iter().cloned().chain(then) {
        let text = text.trim().to_owned();
        if !text.is_empty() && !all.contains(&text) {
            all.push(text);
        }
    }
    all
}
