//! Renders tools for agent harnesses and detects drift.
//!
//! This crate owns:
//!
//! * the body and the header of projected files;
//! * the status of every projection, and the planned writes;
//! * orphans: files that no tool projects any more;
//! * the summary of projections that a call binds;
//! * the table of harnesses.
//!
//! It does not know disks. Callers pass files as [`TargetFacts`] and [`SourceFacts`] and write the returned bytes.
//!
//! ```
//! use brigade_catalog::{Catalog, Level};
//! use brigade_core::Timestamp;
//! use brigade_projection::{Claims, Overwrite, SourceFacts, TargetFacts, ToolFacts, planned_writes};
//!
//! let file = br#"
//! [[tool]]
//! id = "simplify"
//! name = "Simplify"
//! family = "slash-command"
//! source_path = "tools/simplify.md"
//! supported_harnesses = ["claude"]
//! projections = { claude = ".claude/commands/simplify.md" }
//! "#;
//! let catalog = Catalog::parse("tools.toml", Level::Project, file);
//! let source = SourceFacts::File(b"Make it simpler.".to_vec());
//! let facts = [ToolFacts::gather("/project", &catalog.tools()[0], &source, |_path| TargetFacts::Absent)];
//! let claims = Claims::new("/project", catalog.tools());
//! let planned = planned_writes(&facts, &claims, Overwrite::Never, Timestamp::from_unix_micros(0));
//! assert_eq!(planned.writes[0].path, ".claude/commands/simplify.md");
//! assert!(planned.writes[0].bytes.starts_with(b"---\n# brigade-tool-projection: {"));
//! assert!(planned.writes[0].bytes.ends_with(b"---\nMake it simpler.\n"));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod text;

mod comment;
mod diff;
mod facts;
mod front_matter;
mod harness;
mod header;
mod item;
mod orphan;
mod plan;
mod render;
mod report;
mod summary;
mod writes;

pub use comment::{Comment, comment_of};
pub use diff::unified;
pub use facts::{
    PathRefusal, ProjectionTarget, SourceFacts, SourceProblem, SourceText, TargetFacts, ToolFacts,
    relative_path, wanted,
};
pub use harness::{
    FieldValue, FrontMatterField, FrontMatterReport, Harness, HarnessLine, HarnessPlace, HarnessPlaceReport,
    HarnessTool, Lossiness, PlaceFormat, folders, harness, harnesses,
};
pub use header::Header;
pub use item::{
    Advice, AdviceCode, AdviceWeight, Depth, Overwrite, ProjectionAction, ProjectionItem, ProjectionReason,
    ProjectionStatus,
};
pub use orphan::{FoundFile, Orphan, OrphanCause, OrphanReason, Prunable, PruneAction, orphans};
pub use plan::{Claims, input_among, plan, plan_tool};
pub use render::{RenderError, RenderedProjection, header_of, render};
pub use report::{AdviceReport, FailedProjection, OrphanReport, ProjectionReport};
pub use summary::{ProjectionSummary, SummaryRow, blocking, counts, summarise};
pub use writes::{FileMode, PlannedWrite, PlannedWrites, planned_writes};
