//! The documents of refused commands. They have the keys of the command's report, in the same order.
//!
//! A member without a value has that of the refusal's [`Parts`].

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
use brigade::{Call, Checkpoint, Preview, Receipt, Report, RunRefusal};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Parts;

fn owned<T: Clone>(value: &Option<Box<T>>) -> Option<T> {
    value.as_deref().cloned()
}

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
    (@value $parts:ident $member:ident) => { $parts.$member };
    (@value $parts:ident $member:ident $value:expr) => { $value };
    ($($variant:ident: $name:ident = $report:ident ($($given:ident: $given_type:ty),*) {
        $($(#[$attribute:meta])* $member:ident: $type:ty $(= $value:expr)?,)*
    })*) => {
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

            impl $name {
                pub(super) fn new(parts: Parts, $($given: $given_type),*) -> $name {
                    $name {
                        schema: Id::default(),
                        target: parts.target,
                        $($member: forms!(@value parts $member $($value)?),)*
                        diagnosis: parts.diagnosis,
                    }
                }
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
    Queue: QueueRefused = QueueReport (call: &Call, error: String, blocked: u8) {
        calls_path: String,
        store: StoreKind,
        created: u8 = 0,
        skipped: u8 = 0,
        blocked: u8 = blocked,
        call: Call = call.clone(),
        reason: Option<String> = Some(error),
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
    }

    Call: CallRefused = CallReport (call: &Option<Box<Call>>) {
        calls_path: String,
        store: StoreKind,
        call: Option<Call> = owned(call),
        preview: Option<Preview> = None,
        blocker_details: Vec<BlockerDetail>,
        changed: Vec<String> = Vec::new(),
        pin: Option<PinSummary> = None,
        error: String,
        candidates: Vec<String>,
    }

    Review: ReviewRefused = ReviewReport (call: &Option<Box<Call>>, pin: &Option<PinSummary>) {
        calls_path: String,
        store: StoreKind,
        call: Option<Call> = owned(call),
        preview: Option<Preview> = None,
        pin: Option<PinSummary> = pin.clone(),
        accepted_changes: Vec<String> = Vec::new(),
        /// Why the decision was not taken.
        error: String,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        candidates: Vec<String>,
    }

    Run: RunRefused = RunReport (run: &RunRefusal) {
        calls_path: String,
        store: StoreKind,
        runs_path: String,
        call: Option<Call> = owned(&run.call),
        receipt: Option<Receipt> = None,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        changed: Vec<String> = run.changed.clone(),
        passed_over: Vec<PassedOver> = run.passed_over.clone(),
        warnings: Vec<String> = Vec::new(),
        error: String,
        candidates: Vec<String>,
    }

    RunShow: RunShowRefused = RunShowReport () {
        runs_path: String,
        run: Option<Receipt> = None,
        error: String,
        candidates: Vec<String>,
    }

    Replay: ReplayRefused = ReplayReport (run: &Option<Box<RunSummary>>, plan: &Option<Box<PlanReport>>) {
        runs_path: String,
        calls_path: String,
        store: StoreKind,
        run: Option<RunSummary> = owned(run),
        #[serde(serialize_with = "sorted::serialize")]
        plan: Option<PlanReport> = owned(plan),
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        created: u8 = 0,
        executed: u8 = 0,
        /// Why nothing was stored.
        error: String,
    }

    Checkpoint: CheckpointRefused = CheckpointReport () {
        checkpoints_path: String,
        checkpoint: Option<Checkpoint> = None,
        call_status: Option<String> = None,
        error: String,
        candidates: Vec<String>,
    }

    CheckpointReview: CheckpointReviewRefused = CheckpointReviewReport
        (checkpoint: &Option<Box<Checkpoint>>, call: &Option<Box<Call>>) {
        checkpoints_path: String,
        checkpoint: Option<Checkpoint> = owned(checkpoint),
        call: Option<Call> = owned(call),
        /// Why nothing was decided.
        error: String,
    }

    Resume: ResumeRefused = ResumeReport (checkpoint: &Option<Box<Checkpoint>>, run: &RunRefusal) {
        calls_path: String,
        store: StoreKind,
        checkpoints_path: String,
        runs_path: String,
        checkpoint: Option<Checkpoint> = owned(checkpoint),
        call: Option<Call> = owned(&run.call),
        receipt: Option<Receipt> = None,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        changed: Vec<String> = run.changed.clone(),
        error: String,
    }

    Pin: PinRefused = PinReport (report: Option<&PinReport>) {
        pins_path: String,
        pin: Option<PinSummary> = report.and_then(|report| report.pin.clone()),
        server: Option<ServerSummary> = report.and_then(|report| report.server.clone()),
        description: Option<String> = report.and_then(|report| report.description.clone()),
        input_schema: Json = report.map(|report| report.input_schema.clone()).unwrap_or_default(),
        offered: Option<OfferedTool> = report.and_then(|report| report.offered.clone()),
        changes: Vec<String> = report.map(|report| report.changes.clone()).unwrap_or_default(),
        accepted: bool = false,
        error: String,
        candidates: Vec<String>,
    }

    InboxItem: InboxItemRefused = InboxItemReport (item: &Option<Box<InboxItem>>) {
        imports_path: String,
        item: Option<InboxItem> = owned(item),
        error: String,
        candidates: Vec<String>,
    }

    Tool: ToolRefused = ShowReport () {
        config_path: String,
        tool: Option<ShownTool> = None,
        error: String,
    }

    Contract: ContractRefused = DescribeReport (errors: &[ErrorLine]) {
        config_path: String,
        valid: bool = false,
        errors: Vec<ErrorLine> = errors.to_vec(),
        tool: Option<DescribedTool> = None,
        arguments: Vec<ArgumentDescription> = Vec::new(),
        examples: Json = Json::Null,
        issues: Vec<IssueReport> = Vec::new(),
        issue_count: usize = 0,
        error: String,
    }

    RuntimeStart: RuntimeStartRefused = RuntimeStartReport
        (id: &str, runtime: &Option<Box<RuntimeStatus>>, stdout: &str, stderr: &str, survivors: &[u32]) {
        runtime_id: String = id.to_owned(),
        runtime: Option<RuntimeStatus> = owned(runtime),
        started: u8 = 0,
        skipped: u8 = 0,
        health: Option<RuntimeHealth> = None,
        blockers: Vec<String>,
        blocker_details: Vec<BlockerDetail>,
        /// Why it does not run.
        error: String,
        /// The end of what it wrote to standard output before it failed, without secrets.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stdout: String = stdout.to_owned(),
        /// The same of standard error.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String = stderr.to_owned(),
        /// Processes of a failed start that could not be ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<u32> = survivors.to_vec(),
    }

    RuntimeStop: RuntimeStopRefused = RuntimeStopReport
        (id: &str, runtime: &Option<Box<RuntimeStatus>>, pid: Option<u32>, fix: &Option<String>,
         survivors: &[u32]) {
        runtime_id: String = id.to_owned(),
        runtime: Option<RuntimeStatus> = owned(runtime),
        stopped: u8 = 0,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32> = pid,
        /// Why it was not stopped.
        error: String,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fix: Option<String> = fix.clone(),
        /// Processes that could not be ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<u32> = survivors.to_vec(),
    }

    RuntimeRestart: RuntimeRestartRefused = RuntimeRestartReport
        (id: &str, stop: Option<StopResult>, start: Option<RuntimeStartRefused>,
         runtime: Option<RuntimeStatus>) {
        runtime_id: String = id.to_owned(),
        stop: Option<StopResult> = stop,
        start: Option<RuntimeStartRefused> = start,
        runtime: Option<RuntimeStatus> = runtime,
        /// Why it does not run, or still runs as before.
        error: String,
    }
}
