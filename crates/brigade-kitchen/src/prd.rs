//! The PRD: the user's JSON file with the tasks of a feature.
//!
//! [`read`] reads as much of it as possible and reports every fault with its place. Brigade only works on a
//! [`ValidPrd`]. The file belongs to the user: [`set_passes`] changes one value in it and no other byte.

mod added;
mod graph;
pub(crate) mod keys;
mod lint;
mod passes;
mod read;

use std::fmt;
use std::ops::Deref;

use brigade_core::{Code, Fingerprint, Object, Place, explained_words};
use serde::{Deserialize, Serialize};

pub use added::{AddTasksError, add_tasks};
pub use graph::{Graph, waves};
pub use lint::{CoverageKind, Lints, coverage_kind};
pub use passes::{MarkDoneError, set_passes};
pub use read::read;

use crate::command::Command;
use crate::names::TaskId;

/// A PRD, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prd {
    /// The name of the feature.
    pub feature_name: String,
    /// The branch that receives the work.
    pub branch_name: Option<String>,
    /// The description of the feature.
    pub description: Option<String>,
    /// The date of planning, as written in the file.
    pub created_at: Option<String>,
    /// Whether failures are decided without a person.
    pub walkaway: bool,
    /// Constraints for all tasks.
    pub constraints: Vec<String>,
    /// Decisions made while planning, as short texts.
    pub decisions: Vec<String>,
    /// The command that runs after the verification of each task.
    pub test_command: Option<Command>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// The author's own members, without effect.
    pub other: Object,
}

/// A task of a PRD.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// The details of the task, beyond the title.
    pub description: Option<String>,
    /// The criteria for being done.
    pub acceptance_criteria: Vec<String>,
    /// The commands that must succeed before it is done.
    pub verification: Vec<Verification>,
    /// Whether an invalid entry of its verification was dropped. Then no missing verification is reported.
    pub verification_has_errors: bool,
    /// The tasks that must be done before it.
    pub depends_on: Vec<TaskId>,
    /// How hard it is, if the file says so.
    pub complexity: Option<Complexity>,
    /// Whether the file says that it is done.
    pub passes: bool,
    /// Tasks with the same value here never run at the same time.
    pub exclusive: Option<String>,
    /// What a person has to check by hand; empty if nothing.
    pub manual_verification: Vec<String>,
    /// The author's own members, without effect.
    pub other: Object,
    /// Where the task is in the file.
    pub place: Place,
    /// Its position in the list of the file, from 0.
    pub index: usize,
}

impl Task {
    /// Returns the path of a member of the task in the document.
    pub fn field(&self, member: &str) -> String {
        format!("tasks[{}].{member}", self.index)
    }
}

/// The difficulty of a task, as its author estimates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Complexity {
    /// Routine work, also written `line`.
    #[serde(alias = "line")]
    Junior,
    /// Hard work, also written `sous`.
    #[serde(alias = "sous")]
    Senior,
    /// Brigade decides.
    Auto,
}

impl Complexity {
    /// The words for complexities in a PRD.
    pub const WORDS: [(&str, Complexity); 5] = [
        ("junior", Complexity::Junior),
        ("senior", Complexity::Senior),
        ("auto", Complexity::Auto),
        ("line", Complexity::Junior),
        ("sous", Complexity::Senior),
    ];

    /// Returns `junior`, `senior` or `auto`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Complexity::Junior => "junior",
            Complexity::Senior => "senior",
            Complexity::Auto => "auto",
        }
    }
}

/// A command that must succeed before a task is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// What it verifies.
    pub kind: VerificationKind,
    /// Whether the kind was inferred from the command, because the file has no known type.
    pub inferred: bool,
    /// The command.
    pub command: Command,
    /// Where it is written.
    pub place: Place,
}

explained_words! {
    /// What a command verifies.
    VerificationKind {
        /// That a file exists or contains a text.
        Pattern = "pattern",
        /// That isolated logic works.
        Unit = "unit",
        /// That components work together.
        Integration = "integration",
        /// That the feature runs at all.
        Smoke = "smoke",
    }
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $(#[doc = $meaning:literal] $code:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
        pub enum $name {
            $(#[doc = $meaning] #[serde(rename = $word)] $code,)+
        }

        impl $name {
            /// All codes.
            pub const ALL: &[$name] = &[$($name::$code),+];

            /// Returns the stable code.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$code => $word,)+ }
            }

            /// Returns the meaning, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $($name::$code => $meaning.trim_ascii(),)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// What is wrong with a PRD.
    FaultCode {
        /// The file is not JSON, or not an object.
        Syntax = "syntax",
        /// A key occurs twice in an object.
        DuplicateKey = "duplicate_key",
        /// `featureName` is missing or not a text.
        FeatureName = "feature_name",
        /// `tasks` is missing, empty or not a list.
        Tasks = "tasks",
        /// The id of a task is missing or invalid.
        TaskId = "task_id",
        /// The title of a task is missing or empty.
        Title = "title",
        /// Two tasks have the same id.
        DuplicateId = "duplicate_id",
        /// A task depends on an id that no task has.
        UnknownDependency = "unknown_dependency",
        /// A task depends on itself.
        SelfDependency = "self_dependency",
        /// Tasks depend on each other.
        Cycle = "cycle",
        /// A complexity is not one of the words.
        Complexity = "complexity",
        /// A command is empty.
        EmptyCommand = "empty_command",
        /// A command cannot be split into words.
        UnreadableCommand = "unreadable_command",
        /// `branchName` is not a valid name of a branch in git.
        BranchName = "branch_name",
        /// A command does what no approval allows.
        DangerousCommand = "dangerous_command",
        /// An unattended service would verify a task only by the existence of files or texts.
        WalkawayPatternOnly = "walkaway_pattern_only",
        /// A value has the wrong type.
        Type = "type",
        /// A key is unknown.
        UnknownKey = "unknown_key",
        /// A task has no acceptance criteria.
        NoCriteria = "no_criteria",
        /// Nothing verifies a task.
        NoVerification = "no_verification",
        /// A task has no complexity.
        NoComplexity = "no_complexity",
        /// The verification of a task does not fit its title.
        Coverage = "coverage",
        /// A criterion is too vague to be checked.
        VagueCriterion = "vague_criterion",
        /// A verification has an unknown type.
        UnknownType = "unknown_type",
        /// A command runs in a shell.
        ShellCommand = "shell_command",
        /// No command of the PRD runs anything.
        PatternOnly = "pattern_only",
        /// No command of the PRD runs the feature as a whole.
        NoEndToEnd = "no_e2e",
    }
}

impl Code for FaultCode {
    fn as_code(&self) -> &'static str {
        self.as_str()
    }
}

impl FaultCode {
    /// Returns whether the fault makes the PRD invalid. Other faults are warnings.
    pub const fn is_error(self) -> bool {
        (self as u8) < (FaultCode::NoCriteria as u8)
    }
}

/// A fault of a PRD. The message quotes ids and keys, but no commands and no other values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Fault {
    /// What is wrong.
    pub code: FaultCode,
    /// The task, if it has an id.
    pub task: Option<String>,
    /// The field, as a dotted path.
    pub field: Option<String>,
    /// What is wrong and what was expected.
    pub message: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(task) = &self.task {
            write!(f, "{}: ", brigade_core::text::escape_terminal(task))?;
        }
        f.write_str(&self.message)
    }
}

/// The result of reading a PRD.
#[derive(Clone, Debug, PartialEq)]
pub struct PrdReading {
    /// The PRD, as far as it could be read.
    pub prd: Prd,
    /// The sha256 of the bytes.
    pub bytes: Fingerprint,
    /// The errors, in the order of the file.
    pub errors: Vec<Fault>,
    /// The warnings, in the order of the file.
    pub warnings: Vec<Fault>,
}

impl PrdReading {
    /// Returns the PRD if it has no errors.
    ///
    /// # Errors
    /// Returns all errors.
    pub fn valid(self) -> Result<ValidPrd, Vec<Fault>> {
        if self.errors.is_empty() {
            let graph = Graph::new(&self.prd.tasks);
            Ok(ValidPrd { prd: self.prd, graph })
        } else {
            Err(self.errors)
        }
    }
}

/// A PRD without errors: ids are unique, dependencies exist and have no cycle, and no command is dangerous.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidPrd {
    prd: Prd,
    graph: Graph,
}

impl ValidPrd {
    /// Returns the dependencies between its tasks.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns a task.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.graph.position(id).map(|at| &self.prd.tasks[at])
    }
}

impl Deref for ValidPrd {
    type Target = Prd;

    fn deref(&self) -> &Prd {
        &self.prd
    }
}

impl Prd {
    /// Returns the errors that apply only to an unattended service: tasks whose verification only looks for files and
    /// texts. [`read`] already reports them if the PRD itself says `walkaway`. A flag or the configuration can also
    /// turn it on.
    pub fn walkaway_faults(&self) -> Vec<Fault> {
        let tasks = self.tasks.iter().filter(|task| task.verifies_only_patterns());
        tasks.map(read::pattern_only).collect()
    }
}

impl Task {
    /// Returns whether the PRD has verification, and all of it only looks for files and texts.
    pub fn verifies_only_patterns(&self) -> bool {
        let is_pattern = |entry: &Verification| entry.kind == VerificationKind::Pattern;
        let is_known = !self.verification.is_empty() && !self.verification_has_errors;
        is_known && self.verification.iter().all(is_pattern)
    }

    /// Returns whether it has no verification at all. Then it is done when its worker says so.
    pub fn is_unverified(&self) -> bool {
        self.verification.is_empty() && !self.verification_has_errors
    }

    /// Returns whether one of its commands has one of these kinds.
    pub(crate) fn verifies(&self, kinds: &[VerificationKind]) -> bool {
        self.verification.iter().any(|entry| kinds.contains(&entry.kind))
    }
}

#[cfg(test)]
mod tests;
