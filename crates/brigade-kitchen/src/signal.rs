//! What a worker says about its attempt: by result file, by tags in its answer, by exit code.
//!
//! [`TABLE`] is the only place where a signal is spelled: its tag, its word in the result file, its exit code, its
//! word in the state file, and what the prompt says about it.

mod ending;
mod result_file;
mod tags;
mod verdict;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use ending::{AttemptNotes, Ending, Evidence, Exit, Iteration, SignalSource, classify_ending};
pub use result_file::{ResultFault, ResultFile, WorkResult};
pub use tags::{Fences, Tags, break_tags};
pub use verdict::{
    Choice, FailureDecision, GateStatus, PhaseStatus, PhaseVerdict, PlanningResult, ReviewVerdict,
    ScopeAnswer,
};
pub use verdict::{
    gated, mapped, missing_verdict_reason, read_decision, read_phase_review, read_plan, read_review,
    read_scope_answer, read_tasks, reported_cost,
};

use crate::names::TaskId;

/// What a worker says about its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// The task is done.
    Complete,
    /// Earlier work did it already.
    AlreadyDone,
    /// Another task did it.
    Absorbed(TaskId),
    /// It cannot go on.
    Blocked,
    /// It needs another attempt.
    Continue,
    /// It asks what belongs to the task.
    Question(String),
}

/// How a signal is spelled everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// What stands between `<promise>` and `</promise>`; an id follows a `:` at its end. Empty if it has no promise.
    pub promise: &'static str,
    /// The word in the result file.
    pub word: &'static str,
    /// The exit code of `ticket`, and of a worker that says nothing else.
    pub exit_code: u8,
    /// The word in the state file.
    pub state: &'static str,
    /// What it means, for the prompt.
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
        meaning: "you cannot go on, and a more capable worker has to take over",
    },
    Spelling {
        promise: "",
        word: "continue",
        exit_code: 1,
        state: "iteration",
        meaning: "you made progress, and another attempt has to go on",
    },
    Spelling {
        promise: "",
        word: "question",
        exit_code: 1,
        state: "iteration",
        meaning: "you must know what belongs to the task before you can go on",
    },
];

impl Signal {
    /// Returns how the signal is spelled.
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

    /// Reads what stands between `<promise>` and `</promise>`.
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

/// What a worker is started for (`BRIGADE_ROLE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// To do a task.
    Work,
    /// To review one.
    Review,
    /// To decide what follows a failure.
    Decide,
    /// To answer what belongs to a task.
    Scope,
    /// To review a PRD.
    Phase,
    /// To say whether the next PRD begins.
    Gate,
    /// To write a PRD.
    Plan,
    /// To describe the code base.
    Map,
    /// To do something for a built-in tool.
    Task,
}

impl Role {
    /// Returns the word of the environment variable.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Work => "work",
            Role::Review => "review",
            Role::Decide => "decide",
            Role::Scope => "scope",
            Role::Phase => "phase",
            Role::Gate => "gate",
            Role::Plan => "plan",
            Role::Map => "map",
            Role::Task => "task",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
