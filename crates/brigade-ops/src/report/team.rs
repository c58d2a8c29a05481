//! Documents about teams.

use std::collections::BTreeMap;

use brigade_core::{Number, Timestamp, words};
use brigade_macros::{document, part};
use brigade_team::CheckState;

/// `team init`.
#[document("brigade.team-init.v1")]
#[derive(PartialEq)]
pub struct TeamInitReport {
    /// Whether the team was made now.
    pub created: bool,
    /// The id of the team.
    pub team_id: String,
    /// The version of the tables.
    pub version: u64,
    /// The group roles in the database.
    pub roles: Vec<String>,
}

/// A reviewer's key.
#[part(PartialEq)]
pub struct TeamReviewer {
    /// The member.
    pub name: String,
    /// The sha256 of the public key; absent without a key.
    pub key_id: Option<String>,
}

/// `team join`.
#[document("brigade.team-join.v1", if self.joined)]
#[derive(PartialEq)]
pub struct TeamJoinReport {
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

/// `team leave`.
#[document("brigade.team-leave.v1")]
#[derive(PartialEq)]
pub struct TeamLeaveReport {
    /// The workspace root.
    pub target: String,
    /// Whether the workspace had joined.
    pub left: bool,
}

/// A member of a team.
#[part(PartialEq)]
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
#[document("brigade.team-member.v1")]
#[derive(PartialEq)]
pub struct TeamMemberReport {
    /// Whether a member was added, changed or removed.
    pub changed: bool,
    /// The members of the team.
    pub members: Vec<TeamMember>,
}

/// A rule about how many people approve.
#[part(PartialEq)]
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
#[document("brigade.team-rule.v1")]
#[derive(PartialEq)]
pub struct TeamRuleReport {
    /// Whether a rule was added or removed.
    pub changed: bool,
    /// The rules of the team.
    pub rules: Vec<TeamRule>,
}

/// The database of a team.
#[part(PartialEq)]
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
#[part(PartialEq)]
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
#[document("brigade.team-status.v1", if self.issues.is_empty())]
#[derive(Default, PartialEq)]
pub struct TeamStatusReport {
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

/// What `team verify` checked.
#[part(PartialEq)]
pub struct TeamChecked {
    /// How many receipts.
    pub receipts: u64,
    /// How many hosts have a chain.
    pub hosts: u64,
    /// How many approvals.
    pub approvals: u64,
}

/// What `team verify` found.
#[part(PartialEq)]
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
#[document("brigade.team-verify.v1", if self.valid)]
#[derive(PartialEq)]
pub struct TeamVerifyReport {
    /// The workspace root.
    pub target: String,
    /// Whether nothing was found, except late reports.
    pub valid: bool,
    /// What was checked.
    pub checked: TeamChecked,
    /// What was found.
    pub findings: Vec<TeamProblem>,
}

/// `team migrate`.
#[document("brigade.team-migrate.v1")]
#[derive(PartialEq)]
pub struct TeamMigrateReport {
    /// The id of the team.
    pub team_id: String,
    /// The version of the tables.
    pub version: u64,
    /// How many versions were applied.
    pub applied: u64,
}

/// `team prune`.
#[document("brigade.team-prune.v1")]
#[derive(PartialEq)]
pub struct TeamPruneReport {
    /// The number of runs whose logs were deleted.
    pub runs: u64,
    /// The number of deleted chunks.
    pub chunks: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Numbers of records.
#[part(Default, PartialEq)]
pub struct TeamCounts {
    /// Calls.
    pub calls: u64,
    /// Receipts.
    pub receipts: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

/// A record that was not brought into the team.
#[part(PartialEq)]
pub struct TeamLeftOut {
    /// The call or the run.
    pub id: String,
    /// Why, as a sentence.
    pub reason: String,
}

/// `team import`.
#[document("brigade.team-import.v1", if self.left_out.is_empty())]
#[derive(PartialEq)]
pub struct TeamImportReport {
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

/// `team export`.
#[document("brigade.team-export.v1")]
#[derive(PartialEq)]
pub struct TeamExportReport {
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

/// `team roster`, and `team roster accept`.
#[document("brigade.team-roster.v1", if self.accepted)]
#[derive(PartialEq)]
pub struct TeamRosterReport {
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

/// `team accept-failover`.
#[document("brigade.team-accept-failover.v1")]
#[derive(PartialEq)]
pub struct TeamAcceptFailoverReport {
    /// The workspace root.
    pub target: String,
    /// Whether there was a failover to accept.
    pub accepted: bool,
    /// The hosts that had not reported their claims. Calls that they run may run again.
    pub waits_for: Vec<String>,
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
#[part(PartialEq)]
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
#[document("brigade.team-runner.v1")]
#[derive(PartialEq)]
pub struct TeamRunnerReport {
    /// The workspace root.
    pub target: String,
    /// The host, as the team knows it.
    pub host: String,
    /// The number of events by kind.
    pub events: BTreeMap<String, u64>,
}

/// A check of a team's database.
#[part(PartialEq)]
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
#[document("brigade.team-doctor.v1", if self.checks.iter().all(|check| check.state != CheckState::Failed))]
#[derive(PartialEq)]
pub struct TeamDoctorReport {
    /// The workspace root.
    pub target: String,
    /// The checks.
    pub checks: Vec<TeamCheck>,
}
