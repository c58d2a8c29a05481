//! The state of one projection.

use std::borrow::Cow;

use brigade_catalog::{Family, ToolId};
use brigade_core::{Fingerprint, words};

use crate::{Header, Lossiness};

words! {
    /// The status of a projection.
    ProjectionStatus {
        /// There is no file, or no path is configured.
        Missing = "missing",
        /// The file is up to date.
        Current = "current",
        /// The file was not edited, but is out of date.
        Stale = "stale",
        /// There is a file that Brigade did not write.
        Unmanaged = "unmanaged",
        /// Brigade wrote the file, and it was edited later.
        Conflicted = "conflicted",
        /// The source has no text.
        MissingSource = "missing_source",
        /// The target cannot be written, or the path is not allowed.
        Invalid = "invalid",
    }
}

words! {
    /// What applying the plan does.
    ProjectionAction {
        /// Writes a new file.
        Create = "create",
        /// Replaces the file.
        Update = "update",
        /// Does nothing, because nothing has to or can be done.
        Skip = "skip",
        /// Does nothing, because data would be lost. With `--force`, this becomes an update.
        Conflict = "conflict",
    }
}

/// Whether edited and unmanaged files may be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// They are kept.
    Never,
    /// They are replaced, as `--force` requests.
    Force,
}

/// How much to compute for projections whose status needs no rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Status, action, and the expected fingerprint of files that block calls; for call plans and health.
    Status,
    /// Additionally the expected fingerprint and the advice; for reports.
    Full,
}

words! {
    /// The reason for a status with several possible reasons.
    ProjectionReason {
        /// The path is outside the workspace, or the workspace itself.
        OutsideWorkspace = "outside-workspace",
        /// The path is inside `.git`.
        InGit = "in-git",
        /// The path is inside `.brigade`.
        InBrigade = "in-brigade",
        /// A parent of the path is a file.
        ParentIsFile = "parent-is-file",
        /// A symbolic link on the path leads out of the workspace.
        SymlinkOut = "symlink-out",
        /// The entry is broken.
        BrokenEntry = "broken-entry",
        /// A field of the entry leads out of the workspace.
        PathOutside = "path-outside",
        /// The text would contain a value that the policy binds.
        BoundValue = "bound-value",
        /// The entry names no path for the harness.
        NoTarget = "no-target",
        /// There is a directory at the path.
        IsDirectory = "is-directory",
        /// The content at the path cannot be read.
        Unreadable = "unreadable",
        /// A tool reads or runs the file.
        IsInput = "is-input",
        /// Another tool projects to the path.
        PathTaken = "path-taken",
        /// The format has no comments, so no header is possible.
        NoComment = "no-comment",
        /// The file is not UTF-8 text.
        NotUtf8 = "not-utf8",
        /// The same file is written for another harness.
        SameFile = "same-file",
        /// The file changed while the plan was applied.
        ChangedMeanwhile = "changed-meanwhile",
        /// The entry names no source.
        NoSource = "no-source",
        /// The source is missing.
        SourceAbsent = "source-absent",
        /// The source cannot be read.
        SourceUnreadable = "source-unreadable",
        /// The source is not UTF-8 text.
        SourceNotUtf8 = "source-not-utf8",
    }
}

words! {
    /// The subject of an advice.
    AdviceCode {
        /// The harness does not read the path automatically.
        NotRead = "not-read",
        /// Another projection differs only in case.
        DiffersInCase = "differs-in-case",
        /// An earlier version wrote the header in a place where it disturbs readers.
        HeaderMisplaced = "header-misplaced",
        /// The source contains text that a command of the harness would run or expand.
        CommandInjection = "command-injection",
        /// The directory of a skill does not have a valid name.
        SkillFolder = "skill-folder",
        /// The front matter of a skill cannot be read.
        SkillFrontMatter = "skill-front-matter",
        /// The front matter has a list or a table on one line.
        SkillFlowStyle = "skill-flow-style",
        /// The front matter has a field that the format does not define.
        SkillField = "skill-field",
        /// The name of a skill differs from its directory.
        SkillName = "skill-name",
        /// The description of a skill was cut or quoted.
        SkillDescription = "skill-description",
    }
}

/// A remark about a projection that does not change its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The subject.
    pub code: AdviceCode,
    /// What is noticed, and what to do.
    pub message: String,
    /// The effect on the reader of the file.
    pub weight: AdviceWeight,
}

/// How an advice affects the reader of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceWeight {
    /// The file is read anyway.
    Remark,
    /// The harness does not read the file automatically.
    NotRead,
    /// The harness may reject the file.
    Unreadable,
}

impl Advice {
    /// Creates an advice without effect on the reader.
    pub(crate) fn remark(code: AdviceCode, message: impl Into<String>) -> Advice {
        Advice { code, message: message.into(), weight: AdviceWeight::Remark }
    }
}

/// One projection of one tool for one harness.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionItem {
    /// The tool.
    pub tool_id: ToolId,
    /// The display name of the tool.
    pub name: String,
    /// The family of the tool; `None` only if the entry is broken.
    pub family: Option<Family>,
    /// The harness, as the entry names it.
    pub harness: String,
    /// The source as configured.
    pub source_path: Option<String>,
    /// The target, relative to the workspace. As configured if it is refused; `None` if none is configured.
    pub projection_path: Option<String>,
    /// The header of the file, if it is managed.
    pub header: Option<Header>,
    /// Its status.
    pub status: ProjectionStatus,
    /// What applying the plan does.
    pub action: ProjectionAction,
    /// The reason, for a status with several reasons.
    pub reason: Option<ProjectionReason>,
    /// The reason, as a sentence.
    pub detail: Cow<'static, str>,
    /// The fingerprint of the source text, if it is readable.
    pub source_fingerprint: Option<Fingerprint>,
    /// The fingerprint of the body to write, if it was rendered.
    pub expected_fingerprint: Option<Fingerprint>,
    /// The fingerprint of the body on disk, if the file is managed.
    pub actual_fingerprint: Option<Fingerprint>,
    /// How well the harness supports the file; `None` if the harness is unknown or there is no target.
    pub lossiness: Option<Lossiness>,
    /// Further advice.
    pub advice: Vec<Advice>,
}

impl ProjectionItem {
    /// Returns whether Brigade wrote the file.
    pub fn is_managed(&self) -> bool {
        self.header.is_some()
    }

    /// Returns whether the file blocks calls of the tool, because it was edited or is unmanaged.
    pub fn blocks_calls(&self) -> bool {
        match self.status {
            ProjectionStatus::Unmanaged | ProjectionStatus::Conflicted => true,
            ProjectionStatus::Missing
            | ProjectionStatus::Current
            | ProjectionStatus::Stale
            | ProjectionStatus::MissingSource
            | ProjectionStatus::Invalid => false,
        }
    }
}
