//! Documents about teams.

use std::collections::BTreeMap;

use brigade_core::{Exit, Number, Timestamp, words};
use brigade_team::CheckState;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};

/// `team init`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamInitReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamInitReport::read_schema")]
    pub schema: SchemaId,
    /// Whether the team was made now.
    pub created: bool,
    /// The id of the team.
    pub team_id: String,
    /// The version of the tables.
    pub version: u64,
    /// The group roles in the database.
    pub roles: Vec<String>,
}

impl Report for TeamInitReport {
    const SCHEMA: &'static str = "brigade.team-init.v1";
}

/// A reviewer's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamReviewer {
    /// The member.
    pub name: String,
    /// The sha256 of the public key; absent without a key.
    pub key_id: Option<String>,
}

/// `team join`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamJoinReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamJoinReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// Whether the workspace has joined; not before the keys are accepted.
    pub joined: bool,
    /// The id of the team.
    pub team_id: String,
    /// The name of the workspace in the team.
    pub workspace: String,
    /// The member who joins.
    pub member: String,
    /// What the member may do.
    pub roles: Vec<String>,
    /// The file that says so.
    pub team_path: String,
    /// The reviewers, whose approvals count here from then on.
    pub reviewers: Vec<TeamReviewer>,
    /// The rules about how many people approve, which hold here from then on. Their ids are 0.
    pub rules: Vec<TeamRule>,
}

impl Report for TeamJoinReport {
    const SCHEMA: &'static str = "brigade.team-join.v1";

    fn exit(&self) -> Exit {
        if self.joined { Exit::Done } else { Exit::Refused }
    }
}

/// `team leave`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamLeaveReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamLeaveReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// Whether the workspace had joined.
    pub left: bool,
}

impl Report for TeamLeaveReport {
    const SCHEMA: &'static str = "brigade.team-leave.v1";
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamMember {
    /// The name, which is the one of the login in the database.
    pub name: String,
    /// What the member may do.
    pub roles: Vec<String>,
    /// The sha256 of the public key.
    pub key_id: Option<String>,
    /// The workspaces; absent for all of them.
    pub workspaces: Option<Vec<String>>,
    /// When the member was added.
    pub added_at: String,
}

/// `team member add`, `remove` and `list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamMemberReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamMemberReport::read_schema")]
    pub schema: SchemaId,
    /// Whether a member was added, changed or removed.
    pub changed: bool,
    /// The members of the team.
    pub members: Vec<TeamMember>,
}

impl Report for TeamMemberReport {
    const SCHEMA: &'static str = "brigade.team-member.v1";
}

/// A rule about how many people approve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamRule {
    /// The number of the rule.
    pub id: i64,
    /// The effect of the calls; absent for all.
    pub effect: Option<String>,
    /// The tool of the calls; absent for all.
    pub tool: Option<String>,
    /// The family of the calls; absent for all.
    pub family: Option<String>,
    /// How many people must approve.
    pub approvals: u64,
}

impl TeamRule {
    /// Creates a rule for calls with all of these, which the database numbers.
    pub fn new(
        effect: Option<String>,
        tool: Option<String>,
        family: Option<String>,
        approvals: u64,
    ) -> TeamRule {
        TeamRule { id: 0, effect, tool, family, approvals }
    }
}

/// `team rule add`, `remove` and `list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamRuleReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamRuleReport::read_schema")]
    pub schema: SchemaId,
    /// Whether a rule was added or removed.
    pub changed: bool,
    /// The rules of the team.
    pub rules: Vec<TeamRule>,
}

impl Report for TeamRuleReport {
    const SCHEMA: &'static str = "brigade.team-rule.v1";
}

/// The database of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamDatabase {
    /// The version of the server.
    pub version: String,
    /// The version of the tables.
    pub schema_version: u64,
    /// How long a statement took, in milliseconds.
    pub round_trip_ms: Number,
    /// How far the clock of the database is ahead of this one, in milliseconds.
    pub clock_skew_ms: i64,
    /// The timeline of the server; absent for a replica.
    pub timeline: Option<i64>,
}

/// A host with a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamRunner {
    /// The member, `@`, and the name of the host.
    pub host: String,
    /// `idle`, `running`, `draining`, `stopped`, or `gone` if it was not seen for a minute.
    pub state: String,
    /// When it last reported.
    pub last_seen_at: String,
    /// The calls that it runs.
    pub running: Vec<String>,
}

/// `team status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamStatusReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamStatusReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// Whether the workspace has joined a team. Otherwise the other members are empty.
    pub joined: bool,
    /// The id of the team.
    pub team_id: Option<String>,
    /// The name of the workspace in the team.
    pub workspace: Option<String>,
    /// The member of this login.
    pub member: Option<String>,
    /// What the member may do.
    pub roles: Vec<String>,
    /// The database.
    pub database: Option<TeamDatabase>,
    /// The hosts with runners.
    pub runners: Vec<TeamRunner>,
    /// The number of calls by status.
    pub calls: BTreeMap<String, u64>,
    /// What needs attention, in sentences.
    pub issues: Vec<String>,
}

impl Report for TeamStatusReport {
    const SCHEMA: &'static str = "brigade.team-status.v1";

    fn exit(&self) -> Exit {
        if self.issues.is_empty() { Exit::Done } else { Exit::Refused }
    }
}

/// What `team verify` checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamChecked {
    /// How many receipts.
    pub receipts: u64,
    /// How many hosts have a chain.
    pub hosts: u64,
    /// How many approvals.
    pub approvals: u64,
}

/// What `team verify` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamProblem {
    /// What happened to a receipt, or `unsigned`, `untrusted`, `not-approved` or `late`.
    pub problem: String,
    /// The host.
    pub host: Option<String>,
    /// The run; empty if it is unknown.
    pub run_id: String,
    /// The call.
    pub call_id: Option<String>,
    /// The fault, as a sentence.
    pub message: String,
}

/// `team verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamVerifyReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamVerifyReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// Whether nothing was found, except late reports.
    pub valid: bool,
    /// What was checked.
    pub checked: TeamChecked,
    /// What was found.
    pub findings: Vec<TeamProblem>,
}

impl Report for TeamVerifyReport {
    const SCHEMA: &'static str = "brigade.team-verify.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// `team migrate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamMigrateReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamMigrateReport::read_schema")]
    pub schema: SchemaId,
    /// The id of the team.
    pub team_id: String,
    /// The version of the tables.
    pub version: u64,
    /// How many versions were applied.
    pub applied: u64,
}

impl Report for TeamMigrateReport {
    const SCHEMA: &'static str = "brigade.team-migrate.v1";
}

/// `team prune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamPruneReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamPruneReport::read_schema")]
    pub schema: SchemaId,
    /// The number of runs whose logs were deleted.
    pub runs: u64,
    /// The number of deleted chunks.
    pub chunks: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl Report for TeamPruneReport {
    const SCHEMA: &'static str = "brigade.team-prune.v1";
}

/// Numbers of records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamCounts {
    /// Calls.
    pub calls: u64,
    /// Receipts.
    pub receipts: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

/// A record that was not brought into the team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamLeftOut {
    /// The call or the run.
    pub id: String,
    /// Why, as a sentence.
    pub reason: String,
}

/// `team import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamImportReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamImportReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The id of the team.
    pub team_id: String,
    /// The name of the workspace in the team.
    pub workspace: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// What was brought into the team, or would be.
    pub added: TeamCounts,
    /// What the team had before.
    pub present: TeamCounts,
    /// What was left out.
    pub left_out: Vec<TeamLeftOut>,
}

impl Report for TeamImportReport {
    const SCHEMA: &'static str = "brigade.team-import.v1";

    fn exit(&self) -> Exit {
        if self.left_out.is_empty() { Exit::Done } else { Exit::Refused }
    }
}

/// `team export`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamExportReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamExportReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The id of the team.
    pub team_id: String,
    /// The name of the workspace in the team.
    pub workspace: String,
    /// The directory.
    pub directory: String,
    /// What was written.
    pub written: TeamCounts,
    /// Receipts that came late or were replaced, which are not written.
    pub late: u64,
}

impl Report for TeamExportReport {
    const SCHEMA: &'static str = "brigade.team-export.v1";
}

/// `team roster`, and `team roster accept`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamRosterReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamRosterReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The id of the team.
    pub team_id: String,
    /// The name of the workspace in the team.
    pub workspace: String,
    /// Whether they count here.
    pub accepted: bool,
    /// How they differ from what this host had accepted, in sentences.
    pub changes: Vec<String>,
    /// The reviewers of the team.
    pub reviewers: Vec<TeamReviewer>,
    /// The rules of the team. Their ids are 0.
    pub rules: Vec<TeamRule>,
}

impl Report for TeamRosterReport {
    const SCHEMA: &'static str = "brigade.team-roster.v1";

    fn exit(&self) -> Exit {
        if self.accepted { Exit::Done } else { Exit::Refused }
    }
}

/// `team accept-failover`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamAcceptFailoverReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamAcceptFailoverReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// Whether there was a failover to accept.
    pub accepted: bool,
    /// The hosts that had not reported their claims. Calls that they run may run again.
    pub waits_for: Vec<String>,
}

impl Report for TeamAcceptFailoverReport {
    const SCHEMA: &'static str = "brigade.team-accept-failover.v1";
}

words! {
    /// What happened in a runner.
    RunnerEventKind {
        /// It looks for calls.
        Ready = "ready",
        /// It said what it would run for a call.
        Offered = "offered",
        /// It claimed a call, durably.
        Claimed = "claimed",
        /// It may not run an approved call.
        PassedOver = "passed_over",
        /// The program of a call starts.
        Started = "started",
        /// A run has ended, and is reported.
        Finished = "finished",
        /// A claim was not renewed in time, so the run is ended.
        LeaseLost = "lease_lost",
        /// A run was reported after its claim had expired.
        Late = "late",
        /// The database is there again.
        Reconnected = "reconnected",
        /// It claims nothing more.
        Draining = "draining",
        /// It ends.
        Stopped = "stopped",
    }
}

/// One line of `team runner --events`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunnerEvent {
    /// What happened.
    pub event: RunnerEventKind,
    /// When.
    pub at: Timestamp,
    /// The call.
    pub call_id: Option<String>,
    /// The run.
    pub run_id: Option<String>,
    /// The host, as the team knows it.
    pub host: String,
    /// Why.
    pub reason: Option<String>,
    /// How the run ended.
    pub status: Option<String>,
}

/// `team runner`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamRunnerReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamRunnerReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The host, as the team knows it.
    pub host: String,
    /// The number of events by kind.
    pub events: BTreeMap<String, u64>,
}

impl Report for TeamRunnerReport {
    const SCHEMA: &'static str = "brigade.team-runner.v1";
}

/// A check of a team's database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamCheck {
    /// Its name.
    pub name: String,
    /// The result.
    pub state: CheckState,
    /// What was found.
    pub message: String,
    /// How to mend it.
    pub fix: Option<String>,
}

/// `team doctor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TeamDoctorReport {
    /// The schema id.
    #[serde(deserialize_with = "TeamDoctorReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The checks.
    pub checks: Vec<TeamCheck>,
}

impl Report for TeamDoctorReport {
    const SCHEMA: &'static str = "brigade.team-doctor.v1";

    fn exit(&self) -> Exit {
        let is_bad = |check: &TeamCheck| check.state == CheckState::Failed;
        if self.checks.iter().any(is_bad) { Exit::Refused } else { Exit::Done }
    }
}
