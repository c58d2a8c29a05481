//! The files that an approval binds, what binds them, and what else a run may load.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brigade_cmdline::ChosenCode;
use brigade_core::text::escape_terminal;
use brigade_core::words;
use brigade_macros::part;
use brigade_policy::{Decision, Reads, SandboxMode};
use brigade_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::facts::PlanFacts;
use crate::inputs::plain;

/// What binds a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundBy {
    /// A word of the command.
    Command,
    /// A pattern of `code` in the entry.
    Code,
    /// An earlier observed run of the entry, which used the file as code.
    Learned,
}

/// Facts about the code of a command, without the bytes of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFacts {
    /// What binds each file.
    pub by: BTreeMap<String, BoundBy>,
    /// The last run that files were learned from.
    pub learned_from: Option<String>,
    /// How the command chooses its code, if it may do so: in an open workspace, for an entry without `code`.
    pub chosen: Option<ChosenCode>,
    /// Whether the kernel prevents a run from reading files that the approval does not name.
    pub is_closed: bool,
    /// Patterns of `code` that match nothing.
    pub empty: BTreeSet<String>,
    /// Patterns of `data` that match nothing.
    pub empty_data: BTreeSet<String>,
}

words! {
    /// What a run may load in addition to the files that its approval binds.
    #[derive(Default)]
    MayLoad {
        /// Anything in the workspace.
        #[default]
        Workspace = "workspace",
        /// Nothing else: the kernel keeps the workspace closed.
        Nothing = "nothing",
    }
}

/// Which code files an approval binds, and which it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoundCode {
    /// The bound files, by path. A name that ends with `/` is a directory with everything below it.
    pub files: Vec<BoundFile>,
    /// Patterns of other files that may be read and whose bytes are not bound: `data` of the entry, and for a kept
    /// server, of all entries that it serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// The files that are bound because earlier runs used them as code; absent without such files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedCode>,
    /// What a run may load in addition to these files: `workspace`, for anything in it, or `nothing`.
    #[serde(default)]
    pub may_also_load: MayLoad,
    /// What a reviewer should know about the code.
    pub notes: Vec<CodeNote>,
    /// Workspace files that the last observed run of the tool used and that nothing covers.
    pub unbound: Vec<String>,
}

/// Files that earlier observed runs of an entry used as code.
#[part(PartialEq, Eq)]
pub struct LearnedCode {
    /// The last run that added or confirmed some of them.
    pub run_id: String,
    /// Their paths in the workspace.
    pub files: Vec<String>,
}

/// A bound file.
#[part(PartialEq, Eq)]
pub struct BoundFile {
    /// Its path in the workspace, or an absolute one.
    pub path: String,
    /// What binds it: `command`, `code` or `learned`.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub by: BoundBy,
}

words! {
    /// The kind of a note about code.
    NoteCode {
        /// The command chooses its code itself, and the entry declares none.
        Undeclared = "undeclared_code",
        /// A pattern of `code` matches no file.
        MatchesNothing = "code_matches_nothing",
        /// A pattern of `data` matches nothing that could be opened.
        OpensNothing = "data_matches_nothing",
    }
}

/// Something that a reviewer should know about code. It blocks nothing.
#[part(PartialEq, Eq)]
pub struct CodeNote {
    /// The kind of note.
    pub code: NoteCode,
    /// The note, as a sentence.
    pub message: String,
}

impl BoundCode {
    /// Combines facts about the code of a tool with its bound files.
    pub(crate) fn new(plan: &PlanFacts<'_>, data: &[String], redactor: &Redactor) -> BoundCode {
        let PlanFacts { code: facts, files, .. } = plan;
        let by = |path: &String| facts.by.get(path).copied().unwrap_or(BoundBy::Command);
        let bound: Vec<BoundFile> =
            files.keys().map(|path| BoundFile { path: path.clone(), by: by(path) }).collect();
        let of_runs = bound.iter().filter(|file| file.by == BoundBy::Learned);
        let of_runs: Vec<String> = of_runs.map(|file| file.path.clone()).collect();
        let learned = facts.learned_from.clone().filter(|_| !of_runs.is_empty());
        let chosen = facts.chosen.iter().map(|chosen| CodeNote {
            code: NoteCode::Undeclared,
            message: redactor.redact_str(&undeclared_code(chosen)),
        });
        let empty = facts.empty.iter().map(|pattern| CodeNote {
            code: NoteCode::MatchesNothing,
            message: format!(
                "`{}` in `code` of the entry matches no file; `DIRECTORY/**` is everything below a directory",
                redactor.redact_str(pattern)
            ),
        });
        let empty_data = facts.empty_data.iter().map(|pattern| CodeNote {
            code: NoteCode::OpensNothing,
            message: format!(
                "`{}` in `data` of the entry matches nothing that could be opened; links open nothing",
                redactor.redact_str(pattern)
            ),
        });
        BoundCode {
            data: data.iter().map(|pattern| redactor.redact_str(pattern)).collect(),
            learned: learned.map(|run_id| LearnedCode { run_id, files: of_runs }),
            may_also_load: if facts.is_closed { MayLoad::Nothing } else { MayLoad::Workspace },
            notes: chosen.chain(empty).chain(empty_data).collect(),
            unbound: Vec::new(),
            files: bound,
        }
    }
}

impl BoundCode {
    /// Returns why no rule may cover the code: the command chooses it, and nothing binds it yet.
    pub(crate) fn unbound_choice(&self) -> Option<String> {
        let is_chosen = self.notes.iter().any(|note| note.code == NoteCode::Undeclared);
        let is_unbound = is_chosen && self.learned.is_none();
        is_unbound.then(|| "the command chooses its code itself, and nothing binds that yet".to_owned())
    }
}

/// Returns the message that a command chooses its code itself, and what to declare.
pub fn undeclared_code(chosen: &ChosenCode) -> String {
    format!(
        "`{}` chooses the code that it runs, and the entry declares none; {}",
        escape_terminal(&chosen.command),
        declare_code(chosen)
    )
}

/// Returns what to declare for a command that chooses its code itself.
pub fn declare_code(chosen: &ChosenCode) -> String {
    if chosen.proposal.is_empty() {
        return "name its files in `code` of the entry, or write `reads = \"closed\"` under [sandbox] of the policy"
            .to_owned();
    }
    let patterns = chosen.proposal.iter().map(|pattern| format!("\"{}\"", escape_terminal(pattern)));
    format!(
        "write `code = [{}]` into the entry, or `reads = \"closed\"` under [sandbox] of the policy for a complete answer",
        patterns.collect::<Vec<_>>().join(", ")
    )
}

/// Returns whether a run can read workspace files that nothing covers, because the workspace is not closed to reading
/// or the policy opens all of it.
pub fn is_open(decision: &Decision, root: &Path, home: Option<&Path>) -> bool {
    let sandbox = &decision.sandbox;
    if sandbox.mode == SandboxMode::Off || sandbox.reads != Reads::Closed {
        return true;
    }
    let plain_root = plain(root);
    let place = |path: &String| match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => root.join(path),
    };
    let mut opened = sandbox.grants.read_paths.iter().map(place).map(|path: PathBuf| plain(&path));
    opened.any(|path| plain_root.starts_with(path))
}
