//! The documents of refused commands. They have the keys of the command's report, in the same order.

use std::marker::PhantomData;

use brigade::core::Json;
use brigade::core::json::sorted;
use brigade::health::InboxItem;
use brigade::policy::{BlockerDetail, Diagnosis, ErrorLine};
use brigade::records::{RuntimeHealth, RuntimeStatus, StoreKind};
use brigade::report::{
    ApplyReport, ArgumentDescription, CallReport, CheckpointReport, CheckpointReviewReport, DefaultsReport,
    DescribeReport, DescribedTool, InboxItemReport, IssueReport, OfferedTool, PackImportReport, PassedOver,
    PinReport, PinSummary, PlanReport, ProjectionPlanReport, QueueReport, RegisterReport, ReplayReport,
    ResumeReport, ReviewReport, RunReport, RunShowReport, RunSummary, RuntimeReport, RuntimeRestartReport,
    RuntimeStartReport, RuntimeStopReport, RuntimesSummary, ServerSummary, ShowReport, ShownTool,
    SyncPlanReport,
};
use brigade::{Call, Checkpoint, Preview, Receipt, Report};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The schema id of a report.
pub(crate) struct Id<R>(PhantomData<R>);

impl<R> Default for Id<R> {
    fn default() -> Id<R> {
        Id(PhantomData)
    }
}

impl<R: Report> Serialize for Id<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(R::SCHEMA)
    }
}

impl<'de, R: Report> Deserialize<'de> for Id<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id<R>, D::Error> {
        R::read_schema(deserializer).map(|_| Id::default())
    }
}

#[cfg(feature = "schemas")]
impl<R> schemars::JsonSchema for Id<R> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

macro_rules! forms {
    ($($variant:ident: $name:ident = $report:ident { $($(#[$attribute:meta])* $member:ident: $type:ty,)* })*) => {
        $(
            /// The document when the command is refused.
            #[derive(Serialize, Deserialize)]
            #[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
            pub(crate) struct $name {
                pub(super) schema: Id<$report>,
                pub(super) target: String,
                $($(#[$attribute])* pub(super) $member: $type,)*
                #[serde(flatten)]
                pub(super) diagnosis: Diagnosis,
            }
        )*

        /// The document of a refusal.
        #[derive(Serialize)]
        #[serde(untagged)]
        pub(crate) enum RefusalDocument {
            Plan(Box<PlanRefused>),
            Runtime(Box<RuntimeRefused>),
            Register(Box<RegisterReport>),
            PackImport(Box<PackImportReport>),
            Defaults(Box<DefaultsReport>),
            ProjectionPlan(Box<ProjectionPlanReport>),
            SyncPlan(Box<SyncPlanReport>),
            Apply(Box<ApplyReport>),
            $($variant(Box<$name>),)*
        }
    };
}

/// The plan for a tool that does not exist.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct PlanRefused {
    #[serde(flatten)]
    pub(super) report: PlanReport,
    /// Why there is no such tool, and what could be meant.
    pub(super) error: String,
    #[serde(flatten)]
    pub(super) diagnosis: Diagnosis,
}

/// The runtimes, if no runtime has the requested id.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct RuntimeRefused {
    pub(super) schema: Id<RuntimeReport>,
    #[serde(flatten)]
    pub(super) summary: RuntimesSummary,
    pub(super) runtime: Option<RuntimeStatus>,
    pub(super) error: String,
    #[serde(flatten)]
    pub(super) diagnosis: Diagnosis,
}

/// The result of the stop before a start.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[cfg_attr(feature = "schemas", schemars(rename = "Stopped"))]
pub(crate) enum StopResult {
    Refused(Box<RuntimeStopRefused>),
    Done(Box<RuntimeStopReport>),
}

forms! {
    Queue: QueueRefused = QueueReport {
        calls_path: String,
        store: StoreKind,
        created: u8,
        skipped: u8,
        blocked: u8,
        call: Call,
        reason: Option<String>,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
    }

    Call: CallRefused = CallReport {
        calls_path: String,
        store: StoreKind,
        call: Option<Call>,
        preview: Option<Preview>,
        blocker_details: Vec<BlockerDetail>,
        changed: Vec<String>,
        pin: Option<PinSummary>,
        error: String,
        candidates: Vec<String>,
    }

    Review: ReviewRefused = ReviewReport {
        calls_path: String,
        store: StoreKind,
        call: Option<Call>,
        preview: Option<Preview>,
        pin: Option<PinSummary>,
        accepted_changes: Vec<String>,
        /// Why the decision was not taken.
        error: String,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        candidates: Vec<String>,
    }

    Run: RunRefused = RunReport {
        calls_path: String,
        store: StoreKind,
        runs_path: String,
        call: Option<Call>,
        receipt: Option<Receipt>,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        changed: Vec<String>,
        passed_over: Vec<PassedOver>,
        warnings: Vec<String>,
        error: String,
        candidates: Vec<String>,
    }

    RunShow: RunShowRefused = RunShowReport {
        runs_path: String,
        run: Option<Receipt>,
        error: String,
        candidates: Vec<String>,
    }

    Replay: ReplayRefused = ReplayReport {
        runs_path: String,
        calls_path: String,
        store: StoreKind,
        run: Option<RunSummary>,
        #[serde(serialize_with = "sorted::serialize")]
        plan: Option<PlanReport>,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        created: u8,
        executed: u8,
        /// Why nothing was stored.
        error: String,
    }

    Checkpoint: CheckpointRefused = CheckpointReport {
        checkpoints_path: String,
        checkpoint: Option<Checkpoint>,
        call_status: Option<String>,
        error: String,
        candidates: Vec<String>,
    }

    CheckpointReview: CheckpointReviewRefused = CheckpointReviewReport {
        checkpoints_path: String,
        checkpoint: Option<Checkpoint>,
        call: Option<Call>,
        /// Why nothing was decided.
        error: String,
    }

    Resume: ResumeRefused = ResumeReport {
        calls_path: String,
        store: StoreKind,
        checkpoints_path: String,
        runs_path: String,
        checkpoint: Option<Checkpoint>,
        call: Option<Call>,
        receipt: Option<Receipt>,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        changed: Vec<String>,
        error: String,
    }

    Pin: PinRefused = PinReport {
        pins_path: String,
        pin: Option<PinSummary>,
        server: Option<ServerSummary>,
        description: Option<String>,
        input_schema: Json,
        offered: Option<OfferedTool>,
        changes: Vec<String>,
        accepted: bool,
        error: String,
        candidates: Vec<String>,
    }

    InboxItem: InboxItemRefused = InboxItemReport {
        imports_path: String,
        item: Option<InboxItem>,
        error: String,
        candidates: Vec<String>,
    }

    Tool: ToolRefused = ShowReport {
        config_path: String,
        tool: Option<ShownTool>,
        error: String,
    }

    Contract: ContractRefused = DescribeReport {
        config_path: String,
        valid: bool,
        errors: Vec<ErrorLine>,
        tool: Option<DescribedTool>,
        arguments: Vec<ArgumentDescription>,
        examples: Json,
        issues: Vec<IssueReport>,
        issue_count: usize,
        error: String,
    }

    RuntimeStart: RuntimeStartRefused = RuntimeStartReport {
        runtime_id: String,
        runtime: Option<RuntimeStatus>,
        started: u8,
        skipped: u8,
        health: Option<RuntimeHealth>,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        /// Why it does not run.
        error: String,
        /// The end of what it wrote to standard output before it failed, without secrets.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stdout: String,
        /// The same of standard error.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String,
        /// Processes of a failed start that could not be ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<u32>,
    }

    RuntimeStop: RuntimeStopRefused = RuntimeStopReport {
        runtime_id: String,
        runtime: Option<RuntimeStatus>,
        stopped: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
        /// Why it was not stopped.
        error: String,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fix: Option<String>,
        /// Processes that could not be ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<u32>,
    }

    RuntimeRestart: RuntimeRestartRefused = RuntimeRestartReport {
        runtime_id: String,
        stop: Option<StopResult>,
        start: Option<RuntimeStartRefused>,
        runtime: Option<RuntimeStatus>,
        /// Why it does not run, or still runs as before.
        error: String,
    }
}
