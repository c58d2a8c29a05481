//! The files that an approval binds, by what names them, and what no approval binds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use brigade_command::Link;
use brigade_core::words;
use brigade_policy::{Reads, SandboxMode};
use brigade_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::facts::PlanFacts;
use crate::inputs::plain;

/// What binds a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundBy {
    /// The command: its words, and where its programs find code.
    Command,
    /// A pattern of `code` in the entry.
    Code,
    /// A command that a file of the workspace starts: a script of `package.json`, a recipe.
    Chain,
}

/// What facts say of the code of a command, besides the bytes of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFacts {
    /// What binds each file.
    pub by: BTreeMap<String, BoundBy>,
    /// The commands that files of the workspace start.
    pub starts: Vec<Link>,
    /// What finds or starts further code by itself.
    pub finders: BTreeSet<String>,
    /// Patterns of `code` that match nothing.
    pub empty: BTreeSet<String>,
    /// Patterns of `data` that match nothing.
    pub empty_data: BTreeSet<String>,
}

/// What an approval binds of the code, and what it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoundCode {
    /// The bound files, by path. A name that ends with `/` is a directory with everything below it.
    pub files: Vec<BoundFile>,
    /// Patterns of the files that may be read, too, and whose bytes nothing binds: `data` of the entry, and for a
    /// server that is kept, of all entries that it serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// The commands that files of the workspace start, as far as their text says it.
    pub starts: Vec<StartedCommand>,
    /// What is not bound and may run.
    pub notes: Vec<CodeNote>,
    /// Files of the workspace that the last observed run of the tool used, and that nothing covers.
    pub unbound: Vec<String>,
}

/// A bound file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoundFile {
    /// Its path in the workspace, or an absolute one.
    pub path: String,
    /// What binds it: `command`, `code` or `chain`.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub by: BoundBy,
}

/// A command that a file of the workspace starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StartedCommand {
    /// The file, and the script or recipe in it.
    pub by: String,
    /// The command, without secrets.
    pub command: String,
}

words! {
    /// The kind of a note about code.
    NoteCode {
        /// A program finds code that the approval does not name.
        FoundByProgram = "code_found_by_program",
        /// A pattern of `code` matches no file.
        MatchesNothing = "code_matches_nothing",
        /// A pattern of `data` matches nothing that could be opened.
        OpensNothing = "data_matches_nothing",
    }
}

/// Something that a reviewer should know about code. It blocks nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CodeNote {
    /// The kind of note.
    pub code: NoteCode,
    /// What it is, as a sentence.
    pub message: String,
}

impl BoundCode {
    /// Shows facts about the code of a tool beside its bound files.
    pub(crate) fn of(plan: &PlanFacts<'_>, data: &[String], redactor: &Redactor) -> BoundCode {
        let PlanFacts { tool, code: facts, files, .. } = plan;
        let by = |path: &String| facts.by.get(path).copied().unwrap_or(BoundBy::Command);
        let bound = files.keys().map(|path| BoundFile { path: path.clone(), by: by(path) });
        let starts = facts
            .starts
            .iter()
            .map(|link| StartedCommand { by: link.by.clone(), command: redactor.redact_str(&link.command) });
        let is_open = is_open(plan);
        let notes = facts.finders.iter().filter(|_| is_open).map(|finder| {
            let finder = redactor.redact_str(finder);
            let message = match tool.code.is_empty() {
                true => {
                    format!("`{finder}` loads code that the approval does not cover; list it in `code` of the entry")
                }
                false => format!(
                    "`{finder}` can load code besides what the command and `code` of the entry name; only \
                     `reads = \"closed\"` under [sandbox] of the policy keeps it from that"
                ),
            };
            CodeNote { code: NoteCode::FoundByProgram, message }
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
            files: bound.collect(),
            starts: starts.collect(),
            notes: notes.chain(empty).chain(empty_data).collect(),
            unbound: Vec::new(),
        }
    }
}

/// Tells whether a run can read files of the workspace that nothing covers: it is not closed to reading, or the policy
/// opens all of it.
fn is_open(plan: &PlanFacts<'_>) -> bool {
    let sandbox = &plan.decision.sandbox;
    if sandbox.mode == SandboxMode::Off || sandbox.reads != Reads::Closed {
        return true;
    }
    let root = plain(&plan.root);
    let place = |path: &String| match (path.strip_prefix("~/"), &plan.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => plan.root.join(path),
    };
    let mut opened = sandbox.grants.read_paths.iter().map(place).map(|path: PathBuf| plain(&path));
    opened.any(|path| root.starts_with(path))
}
