//! The reports of operations: one type per JSON document.
//!
//! Each document has a schema id, `brigade.<name>.v1`. It keeps all keys and types of v0.30, and may add keys.
//! Paths are absolute. Fields are public, because a report has no invariants.

mod agents;
mod doctor;
mod policy;

#[cfg(feature = "builtin")]
pub use crate::memories::{MemoryListReport, MemoryReport, WorkTurnReport};
#[cfg(feature = "builtin")]
pub use crate::pull_requests::{
    NewThread, PullRequestListReport, PullRequestReport, PullRequestRow, ThreadRow,
};
pub use agents::*;
pub use brigade_catalog::pack::{
    CopiedSource, ImportedEntry, Pack, PackConflict, PackedSource, PortableCatalog, SkippedEntry,
};
pub use brigade_core::json::Rows;
pub use brigade_core::{Report, SchemaId};
pub use brigade_doctor::{IssueReport, ProjectionMarks};
pub use brigade_ops::{
    AdoptReport, AdoptRow, AnswerOutcome, ApplyReport, BriefReport, CallSection, CheckpointSection,
    CloseoutReport, CompactReport, ConnectReport, ConnectStatus, DamageReport, DefaultConflict,
    DefaultSource, Defaults, DefaultsReport, HarnessListReport, HarnessReport, HistoryReport, HistoryRow,
    HistoryStatistics, ImportReport, InboxItemReport, InboxReport, InitReport, LifeEvent, LifeReport,
    ParityReport, ParitySection, PendingReport, PendingRow, PolicySection, ProjectionPlanReport, Quarantine,
    ReviewCall, ReviewOffer, ReviewQuestion, RulingReport, RunSection, RuntimeSection, ServeReport,
    ServedPage, SetupAction, SetupChange, SetupLevel, SetupProgram, SetupReport, SetupRule, SetupServer,
    SetupState, SourceAction, StateReport, StatisticsRow, SyncPlanReport, TrustPart, TrustReport, TrustRow,
    TrustState, UpstreamStart, WaitingItem, WaitingKind, WaitingReport, WaitingRow, WorkAnswerReport,
    WorkspaceAbove,
};
pub use brigade_ops::{
    BatchReport, BatchRow, BrokenCheckpoint, BrokenPin, BrokenReceipt, CallListReport, CallReport,
    CheckpointListReport, CheckpointReport, CheckpointReviewReport, DecisionCount, DurationRow, EnableReport,
    EnabledTool, Envelope, EnvelopeReport, EnvelopeSignature, ImportAction, ImportMcpReport, ImportedServer,
    ImportedTool, KeyReport, LedgerFinding, LedgerReport, ListState, LiveIssue, LiveReport, LiveServerReport,
    LiveToolReport, LoginReport, LogoutReport, ObserveReport, OfferedTool, PassedOver, PinCheck,
    PinListReport, PinReport, PinState, PinSummary, PlanReport, QueueReport, ReadinessFailure, ReplayReport,
    ResumeReport, ReviewReport, RunInputsReport, RunListReport, RunLogReport, RunReport, RunShowReport,
    RunSummary, RuntimeHealthReport, RuntimeListReport, RuntimeLogsReport, RuntimeReport,
    RuntimeRestartReport, RuntimeStartReport, RuntimeStatusReport, RuntimeStopReport, RuntimesSummary,
    SeriesReport, SeriesRow, ServerSummary, StartState, Statement, Strictness, Subject, Tampering,
    UpdateAction, UpdateReport, UpdatedServer, UpdatedTool, WaitedRow,
};
pub use brigade_ops::{
    BlockedInstall, CatalogReport, CheckCounts, CheckReport, CheckedTool, ContractsReport, CostRow,
    DescribeReport, DiscoveryReport, FindMatch, FindQueryRow, FindReport, InstallReport, InstallRow,
    KnownRegistry, MissingBuiltin, MissingFact, NotInstalled, OfferGroup, PackArchiveReport, PackBuildReport,
    PackImportReport, PackListReport, PackShowReport, PolicyTestReport, PolicyTestRow, QueuedInstall,
    RegisterAction, RegisterErrorRow, RegisterNoteRow, RegisterReport, RegisteredTool, RegistriesReport,
    RegistryInfoReport, RegistrySearchReport, RegistryServer, RegistrySyncReport, SearchMatch, SearchReport,
    ShadowedRow, ShowReport, ShownTool, SkippedInstall, SourceDetailRow, StateReason, StatsReport,
    Suggestion, ToolLinesReport, ToolStats, VersionRow,
};
#[cfg(feature = "team")]
pub use brigade_ops::{
    RunnerEvent, RunnerEventKind, TeamAcceptFailoverReport, TeamCheck, TeamChecked, TeamCounts, TeamDatabase,
    TeamDoctorReport, TeamExportReport, TeamImportReport, TeamInitReport, TeamJoinReport, TeamLeaveReport,
    TeamLeftOut, TeamMember, TeamMemberReport, TeamMigrateReport, TeamProblem, TeamPruneReport, TeamReviewer,
    TeamRosterReport, TeamRule, TeamRuleReport, TeamRunner, TeamRunnerReport, TeamStatusReport,
    TeamVerifyReport,
};
pub use brigade_projection::{
    AdviceCode, AdviceReport, FailedProjection, FrontMatterReport, HarnessLine, HarnessPlaceReport,
    HarnessTool, Lossiness, OrphanReason, OrphanReport, PlaceFormat, ProjectionAction, ProjectionReason,
    ProjectionReport, ProjectionStatus, Prunable, PruneAction,
};
pub use brigade_workspace::{
    ArgumentDescription, Contract, ContractHealth, DescribedTool, McpSummary, Origin, ToolLine, ToolSummary,
};
pub use doctor::*;
pub use policy::*;
