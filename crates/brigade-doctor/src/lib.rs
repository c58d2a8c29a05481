//! Diagnoses a workspace from facts that were read once.
//!
//! It owns the checks ([`diagnose`] for a [`Snapshot`], [`diagnose_tool`] for one tool), the identity of issues
//! ([`Issue::fingerprint`]), closeouts of projection issues ([`quiet`]), and the inbox rows of issues ([`import`]). It
//! does not know disks, clocks or processes: the caller gathers the facts. Parts that were not gathered cause no
//! issues.
//!
//! ```
//! use brigade_catalog::{Catalog, Level};
//! use brigade_core::{NextStep, Place, Timestamp};
//! use brigade_doctor::{ConfigFile, IssueType, Snapshot, diagnose};
//!
//! let file = b"[[tool]]\nid = \"greet\"\nname = \"Greet\"\nfamily = \"script\"\n";
//! let catalog = Catalog::parse(".brigade/tools.toml", Level::Project, file);
//! let now = Timestamp::from_unix_micros(0);
//! let snapshot = Snapshot { catalog: Some(ConfigFile::Read(&catalog)), ..Snapshot::new(now) };
//! let issues = diagnose(snapshot);
//! assert_eq!(issues[0].kind, IssueType::MissingCommand);
//! assert_eq!(issues[0].next_step(), NextStep::Edit(Place::at(".brigade/tools.toml", 1, 1)));
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod issue;

mod mcp;
mod runtime;
mod snapshot;

mod diagnose;

mod inbox;
mod parity;
mod report;
mod request;
mod sarif;
mod waiting;

pub use brigade_core::{Area, IssueType, Remedy};

pub use diagnose::{diagnose, diagnose_tool, shell_words};
pub use inbox::{
    BACKLOG_SOURCE, INBOX_SOURCE, Import, InboxItem, InboxMetadata, InboxRow, InboxStatus, Provenance,
    ProvenanceForm, ProvenanceHashes, ProvenanceInjection, ProvenanceLocator, ProvenanceRedaction,
    ProvenanceRepository, ProvenanceSession, ProvenanceSource, ProvenanceTrust, RowStatus, backlog, import,
    source_item_key,
};
pub use issue::{Issue, ProjectionMark, top_issue};
pub use mcp::{McpProblem, McpServer, inspect_mcp};
pub use parity::{Closeout, QuietedIssues, Verdict, quiet};
pub use report::{IssueReport, ProjectionMarks};
pub use request::DoctorRequest;
pub use runtime::{
    Health, RuntimeFacts, RuntimeIssue, RuntimeState, StateCounts, config_record, needed_runtime,
    not_to_be_started, not_usable, start_blockers,
};
pub use sarif::sarif;
pub use snapshot::{
    AgentFailures, BrokenFile, CallState, CheckpointState, ClientProblem, ClientState, ConfigFile,
    FoundRuntimes, PinProblem, PinState, PolicyFacts, Quarantine, RunState, RunnerState, ServerOffer,
    Snapshot, ToolFiles, ToolIssues, ToolState, request_fingerprint,
};
pub use waiting::PendingWork;
