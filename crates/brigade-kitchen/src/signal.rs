//! Signals of workers: by result file, by tags in the answer, or by exit code.
//!
//! [`TABLE`] is the only place that defines how a signal is spelled: its tag, its words in the result file and the
//! state file, its exit code, and its meaning for the prompt.

mod ending;
mod result_file;
mod tags;
mod verdict;

use brigade_core::words;

use serde::{Deserialize, Serialize};

pub use ending::{AttemptNotes, Ending, Evidence, Exit, Iteration, SignalSource, classify_ending};
pub use result_file::ResultFault;
pub use tags::{Fences, Tags, break_tags};
pub use verdict::{
    Choice, FailureDecision, GateStatus, PhaseStatus, PhaseVerdict, PlanningResult, ReviewVerdict,
    ScopeAnswer,
};
pub use verdict::{
    mapped, missing_verdict_reason, read_decision, read_gate, read_phase_review, read_plan, read_review,
    read_scope_answer, read_tasks, reported_cost,
};

use crate::names::TaskId;

/// A worker's signal about its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// The task is done.
    Complete,
    /// Earlier work already did the task.
    AlreadyDone,
    /// Another task did the work.
    Absorbed(TaskId),
    /// The worker cannot continue.
    Blocked,
    /// The task needs another attempt.
    Continue,
    /// The worker asks about the scope of the task.
    Question(String),
}

/// The spellings of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The text between `<promise>` and `</promise>`. If it ends with `:`, an id follows. Empty if there is no promise.
    pub promise: &'static str,
    /// The word in the result file.
    pub word: &'static str,
    /// The exit code of `ticket`, and of a worker that gives no other signal.
    pub exit_code: u8,
    /// The word in the state file.
    pub state: &'static str,
    /// The meaning, for the prompt.
    pub meaning: &'static str,
}

/// The signals.
pub const TABLE: &[Spelling] = &[
    Spelling {
        promise: "COMPLETE",
        word: "complete",
        exit_code: 0,
        state: "complete",
        meaning: "every criterion is met and the verification passes",
    },
    Spelling {
        promise: "ALREADY_DONE",
        word: "already_done",
        exit_code: 33,
        state: "already_done",
        meaning: "the work was there before you began, and you changed nothing",
    },
    Spelling {
        promise: "ABSORBED_BY:",
        word: "absorbed",
        exit_code: 34,
        state: "absorbed",
        meaning: "the task with this id already did the work",
    },
    Spelling {
        promise: "BLOCKED",
        word: "blocked",
        exit_code: 32,
        state: "blocked",
        meaning: "you cannot continue, and a more capable worker has to take over",
    },
    Spelling {
        promise: "",
        word: "continue",
        exit_code: 1,
        state: "iteration",
        meaning: "you made progress, and another attempt has to continue",
    },
    Spelling {
        promise: "",
        word: "question",
        exit_code: 1,
        state: "iteration",
        meaning: "you must know what belongs to the task before you can continue",
    },
];

impl Signal {
    /// Returns the spelling of the signal.
    pub fn spelling(&self) -> &'static Spelling {
        let at = match self {
            Signal::Complete => 0,
            Signal::AlreadyDone => 1,
            Signal::Absorbed(_) => 2,
            Signal::Blocked => 3,
            Signal::Continue => 4,
            Signal::Question(_) => 5,
        };
        &TABLE[at]
    }

    /// Parses the text between `<promise>` and `</promise>`.
    pub fn from_promise(text: &str) -> Option<Signal> {
        let text = text.trim();
        for signal in [Signal::Complete, Signal::AlreadyDone, Signal::Blocked] {
            if text == signal.spelling().promise {
                return Some(signal);
            }
        }
        text.strip_prefix(TABLE[2].promise)?.trim().parse().ok().map(Signal::Absorbed)
    }

    /// Returns whether the worker claims that the task is done.
    pub fn claims_success(&self) -> bool {
        match self {
            Signal::Complete | Signal::AlreadyDone | Signal::Absorbed(_) => true,
            Signal::Blocked | Signal::Continue | Signal::Question(_) => false,
        }
    }
}

words! {
    /// The role of a worker (`BRIGADE_ROLE`).
    Role {
        /// To do a task.
        Work = "work",
        /// To review one.
        Review = "review",
        /// To decide what follows a failure.
        Decide = "decide",
        /// To answer a question about the scope of a task.
        Scope = "scope",
        /// To review a PRD.
        Phase = "phase",
        /// To decide whether the next PRD begins.
        Gate = "gate",
        /// To write a PRD.
        Plan = "plan",
        /// To describe the code base.
        Map = "map",
        /// To do something for a built-in tool.
        Task = "task",
    }
}

#[cfg(test)]
mod tests;
