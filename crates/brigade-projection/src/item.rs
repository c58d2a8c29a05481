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
        /// The file was written by Brigade and edited since.
        Conflicted = "conflicted",
        /// The source gives no text.
        MissingSource = "missing_source",
        /// The target cannot be written, or is not allowed.
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
        /// Does nothing, because there is nothing to do or nothing that can be done.
        Skip = "skip",
        /// Does nothing, because something would be lost; forcing it makes this an update.
        Conflict = "conflict",
    }
}

/// Whether edited and unmanaged files may be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// They are kept.
    Never,
    /// They are replaced; what `--force` asks for.
    Force,
}

/// How much is computed for projections whose status needs no rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Status and action, and what is expected of files that block calls; for call plans and health.
    Status,
    /// The expected fingerprint and the advice as well; for reports.
    Full,
}

words! {
    /// Why a projection has its status, where one status has several reasons.
    ProjectionReason {
        /// The path is outside the workspace, or the workspace itself.
        OutsideWorkspace = "outside-workspace",
        /// The path is inside `.git`.
        InGit = "in-git",
        /// The path is inside `.brigade`.
        InBrigade = "in-brigade",
        /// A parent of the path is a file.
        ParentIsFile = "parent-is-file",
        /// A symbolic link on the way leads out of the workspace.
        SymlinkOut = "symlink-out",
        /// The entry is broken.
        BrokenEntry = "broken-entry",
        /// A field of the entry leads out of the workspace.
        PathOutside = "path-outside",
        /// A value that the policy binds would be written.
        BoundValue = "bound-value",
        /// The entry names no path for the harness.
        NoTarget = "no-target",
        /// There is a directory at the path.
        IsDirectory = "is-directory",
        /// What is at the path cannot be read.
        Unreadable = "unreadable",
        /// A tool reads or runs the file.
        IsInput = "is-input",
        /// Another tool projects to the path.
        PathTaken = "path-taken",
        /// The format has no comments, so the header has no place.
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
    /// What an advice is about.
    AdviceCode {
        /// The harness does not read the path by itself.
        NotRead = "not-read",
        /// Another projection differs only in case.
        DiffersInCase = "differs-in-case",
        /// An earlier version wrote the header in a place where it is in the way.
        HeaderMisplaced = "header-misplaced",
        /// The source holds text that a command of the harness would run or expand.
        CommandInjection = "command-injection",
        /// The directory of a skill has no valid name.
        SkillFolder = "skill-folder",
        /// The front matter of a skill cannot be read.
        SkillFrontMatter = "skill-front-matter",
        /// A list or a table stands in one line of the front matter.
        SkillFlowStyle = "skill-flow-style",
        /// The front matter has a field that the format does not have.
        SkillField = "skill-field",
        /// The name of a skill is not that of its directory.
        SkillName = "skill-name",
        /// The description of a skill was cut or quoted.
        SkillDescription = "skill-description",
    }
}

/// Something worth knowing about a projection that does not change its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What it is about.
    pub code: AdviceCode,
    /// What it is and what to do.
    pub message: String,
    /// What it means for the file's reader.
    pub weight: AdviceWeight,
}

/// What an advice means for the reader of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceWeight {
    /// The file is read all the same.
    Remark,
    /// The harness does not look at the file on its own.
    NotRead,
    /// The harness may refuse the file.
    Unreadable,
}

impl Advice {
    /// Makes one that changes nothing for the reader.
    pub(crate) fn remark(code: AdviceCode, message: impl Into<String>) -> Advice {
        Advice { code, message: message.into(), weight: AdviceWeight::Remark }
    }
}

/// One projection of one tool for one harness.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionItem {
    /// The tool.
    pub tool_id: ToolId,
    /// The tool's name for people.
    pub name: String,
    /// The tool's family; absent only when its entry is broken.
    pub family: Option<Family>,
    /// The harness, as the entry names it.
    pub harness: String,
    /// The source as configured.
    pub source_path: Option<String>,
    /// The target, relative to the workspace; as configured when it is refused, absent when none is configured.
    pub projection_path: Option<String>,
    /// The header of the file, where it has one; then the file is managed.
    pub header: Option<Header>,
    /// Its state.
    pub status: ProjectionStatus,
    /// What applying does.
    pub action: ProjectionAction,
    /// Why, where one status has several reasons.
    pub reason: Option<ProjectionReason>,
    /// Why, in a sentence.
    pub detail: Cow<'static, str>,
    /// The fingerprint of the source's text, where it was readable.
    pub source_fingerprint: Option<Fingerprint>,
    /// The fingerprint of the body that would be written, where it was rendered.
    pub expected_fingerprint: Option<Fingerprint>,
    /// The fingerprint of the body on disk, where the file is managed.
    pub actual_fingerprint: Option<Fingerprint>,
    /// What the harness makes of the file; absent when the harness is not known or there is no target.
    pub lossiness: Option<Lossiness>,
    /// What else is worth knowing.
    pub advice: Vec<Advice>,
}

impl ProjectionItem {
    /// Returns whether the file was written by Brigade.
    pub fn is_managed(&self) -> bool {
        self.header.is_some()
    }

    /// Returns whether calls of the tool are blocked because the file was edited or is unmanaged.
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
