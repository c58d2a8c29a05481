//! Teams: making one, joining it, its members and rules, and the store of a workspace that has joined.

mod offering;
mod runner;
mod seen;
mod transfer;
mod upkeep;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use brigade_core::{CallId, ErrorCode, Hint, NextStep, Number, RunId, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, Fs, FsError, ReadFile, RelPath, WorkspaceKey};
use brigade_process::CancelToken;
use brigade_queue::{Durability, KeptLog, QueueError, Snapshot, Store, Transaction};
use brigade_team::{
    ApprovalRule, Connection, Credentials, JoinedRule, JoinedTeam, LeaseLost, Member, NewMember, Owner, Role,
    Schema, TEAM_FILE, TeamError, TeamStore, TeamStoreOptions, TeamUrl, password_for,
};
use brigade_workspace::WorkspaceContext;

use crate::error::{Error, ErrorKind};
use seen::SeenFile;

use crate::receipts::keys::{HostKeys, public_key};
use crate::report::{
    Report as _, TeamAcceptFailoverReport, TeamChecked, TeamDatabase, TeamInitReport, TeamJoinReport,
    TeamLeaveReport, TeamMember, TeamMemberReport, TeamProblem, TeamReviewer, TeamRosterReport, TeamRule,
    TeamRuleReport, TeamRunner, TeamStatusReport, TeamVerifyReport,
};

/// The variable with the address of the owner's database.
pub const TEAM_URL_VARIABLE: &str = "BRIGADE_TEAM_URL";

/// The role of a team's member.
pub use brigade_team::Role as TeamRole;
pub use runner::{MakeCalls, RunnerHooks, RunnerRequest, RunnerStop};

/// Where the raw logs of a team's runs are.
pub use brigade_team::LogPlace;

/// The result of a check of a team's database.
pub use brigade_team::CheckState;

pub use transfer::ImportStep;

/// Who interrupts a run whose claim could not be renewed.
const LEASE: &str = "the team, because its lease was lost (lease_lost)";

/// How long a claim is valid without a renewal, in seconds.
const LEASE_SECONDS: u16 = 60;

/// The largest file with passwords or certificates that is read.
const FILE_LIMIT: u64 = 1 << 20;

/// Operations on the team of a workspace.
#[derive(Clone)]
pub struct Team {
    context: Arc<WorkspaceContext>,
}

/// The database that a command is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct TeamPlace<'a> {
    /// The address; otherwise the one in the environment, and then that of the joined team.
    pub url: Option<&'a str>,
    /// The schema of the tables; `brigade` if none is named.
    pub schema: Option<&'a str>,
}

/// A member to add or change.
#[derive(Clone, Copy, Debug)]
pub struct MemberRequest<'a> {
    /// The name.
    pub name: &'a str,
    /// What the member may do.
    pub roles: &'a [Role],
    /// The file of the public key.
    pub key: Option<&'a Path>,
    /// The workspaces; empty for all of them.
    pub workspaces: &'a [String],
    /// The password of the login.
    pub password: Option<&'a str>,
}

/// Whether the keys of the reviewers are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinStep {
    /// They are only shown.
    Show,
    /// A person was shown them and accepts them.
    Accept,
}

impl Team {
    /// Creates the operations on the team of a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Team {
        Team { context }
    }

    fn owner(&self, place: TeamPlace<'_>) -> Result<Owner, Error> {
        let variable = self.context.environment.get(TEAM_URL_VARIABLE).and_then(OsStr::to_str);
        let (url, schema) = match place.url.or(variable) {
            Some(url) => (url.parse::<TeamUrl>()?, place.schema.map(str::parse).transpose()?),
            None => {
                let joined = JoinedTeam::read(&*self.context.fs, &self.context.key)?;
                let joined = joined.ok_or_else(|| {
                    Error::new(ErrorKind::Refused, "no database of a team is named")
                        .coded(ErrorCode::TeamNotJoined)
                        .hint(format!("set {TEAM_URL_VARIABLE} to the address of its owner"))
                })?;
                (joined.url, Some(joined.schema))
            }
        };
        let connection = connect(
            &*self.context.fs,
            &self.context.environment,
            url,
            schema.unwrap_or_default(),
            self.context.timeout,
        )?;
        Ok(Owner::new(connection))
    }

    /// Makes roles, tables and functions, in the name of the owner. Again, it changes nothing but where logs are, if
    /// that is said.
    ///
    /// # Errors
    /// Fails inside a run, without a valid address, and if the database refuses.
    pub fn init(&self, place: TeamPlace<'_>, logs: Option<LogPlace>) -> Result<TeamInitReport, Error> {
        self.context.require_outside_run()?;
        let owner = self.owner(place)?;
        let made = owner.init()?;
        if let Some(logs) = logs {
            owner.set_logs(logs)?;
        }
        Ok(TeamInitReport {
            schema: TeamInitReport::SCHEMA,
            created: made.created,
            team_id: made.team_id,
            version: u64::try_from(made.version).unwrap_or(0),
            roles: made.roles,
        })
    }

    /// Lists the members.
    ///
    /// # Errors
    /// Fails without a valid address, and if the database refuses.
    pub fn members(&self, place: TeamPlace<'_>) -> Result<TeamMemberReport, Error> {
        member_report(&self.owner(place)?, false)
    }

    /// Adds a member, or changes one.
    ///
    /// # Errors
    /// As [`Team::init`], and if the key cannot be read.
    pub fn add_member(
        &self,
        place: TeamPlace<'_>,
        request: MemberRequest<'_>,
    ) -> Result<TeamMemberReport, Error> {
        self.context.require_outside_run()?;
        let MemberRequest { name, roles, key, workspaces, password } = request;
        let key = match key {
            Some(path) => {
                let path = self.context.typed_path(path);
                let key = public_key(&*self.context.fs, &path)?;
                let not_a_key =
                    || Error::new(ErrorKind::Usage, "the key is not an Ed25519 public key in PEM");
                Some(key.ok_or_else(not_a_key)?)
            }
            None => None,
        };
        let owner = self.owner(place)?;
        owner.add_member(&NewMember { name, roles, key: key.as_ref(), workspaces, password })?;
        member_report(&owner, true)
    }

    /// Removes a member. Receipts and approvals stay.
    ///
    /// # Errors
    /// As [`Team::init`].
    pub fn remove_member(&self, place: TeamPlace<'_>, name: &str) -> Result<TeamMemberReport, Error> {
        self.context.require_outside_run()?;
        let owner = self.owner(place)?;
        let changed = owner.remove_member(name)?;
        member_report(&owner, changed)
    }

    /// Lists the rules.
    ///
    /// # Errors
    /// As [`Team::members`].
    pub fn rules(&self, place: TeamPlace<'_>) -> Result<TeamRuleReport, Error> {
        rule_report(&self.owner(place)?, false)
    }

    /// Adds a rule. The strictest that matches a call holds.
    ///
    /// # Errors
    /// As [`Team::init`].
    pub fn add_rule(&self, place: TeamPlace<'_>, rule: &TeamRule) -> Result<TeamRuleReport, Error> {
        self.context.require_outside_run()?;
        let TeamRule { effect, tool, family, approvals, .. } = rule.clone();
        let approvals = i32::try_from(approvals).unwrap_or(i32::MAX);
        let owner = self.owner(place)?;
        owner.add_rule(&ApprovalRule { id: 0, effect, tool, family, approvals })?;
        rule_report(&owner, true)
    }

    /// Removes a rule.
    ///
    /// # Errors
    /// As [`Team::init`].
    pub fn remove_rule(&self, place: TeamPlace<'_>, id: i64) -> Result<TeamRuleReport, Error> {
        self.context.require_outside_run()?;
        let owner = self.owner(place)?;
        let changed = owner.remove_rule(id)?;
        rule_report(&owner, changed)
    }

    /// Joins a team: shows the keys of its reviewers, and once a person accepts them, writes the file that says so.
    ///
    /// # Errors
    /// Fails inside a run, if the login is not a member, if git tracks the file, and if the database refuses.
    pub fn join(
        &self,
        place: TeamPlace<'_>,
        workspace: &str,
        step: JoinStep,
    ) -> Result<TeamJoinReport, Error> {
        self.context.require_outside_run()?;
        let url: TeamUrl = place.url.unwrap_or_default().parse()?;
        let schema: Schema = place.schema.map(str::parse).transpose()?.unwrap_or_default();
        check_workspace(workspace)?;
        let joined = JoinedTeam {
            url,
            schema,
            workspace: workspace.to_owned(),
            team_id: String::new(),
            keys: BTreeMap::new(),
            rules: Vec::new(),
        };
        let store = self.open(joined.clone())?;
        let (team_id, roster, rules) = (store.team_id()?, Roster::read(&store)?, store.rules()?);
        let status = store.status(self.context.now())?;
        if status.roles.is_empty() {
            let message = format!("`{}` is not a member of the team", status.member);
            return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::TeamRole));
        }
        let report = TeamJoinReport {
            schema: TeamJoinReport::SCHEMA,
            target: self.context.target(),
            joined: step == JoinStep::Accept,
            team_id: team_id.clone(),
            workspace: workspace.to_owned(),
            member: status.member,
            roles: status.roles,
            team_path: self.context.absolute(TEAM_FILE),
            reviewers: roster.reviewers,
            rules: rules.iter().map(shown_rule).collect(),
        };
        if step == JoinStep::Accept {
            JoinedTeam { team_id, keys: roster.keys, rules, ..joined }
                .write(&*self.context.fs, &self.context.key)?;
        }
        Ok(report)
    }

    /// Verifies the receipts of all hosts, their signatures, and the approvals of each call that ran.
    ///
    /// # Errors
    /// Fails if the workspace has not joined, and if the database cannot be reached.
    pub fn verify(&self) -> Result<TeamVerifyReport, Error> {
        let found = self.open(self.joined()?)?.verify()?;
        let problem = |finding: brigade_team::TeamFinding| TeamProblem {
            problem: finding.problem.to_owned(),
            host: finding.host,
            run_id: finding.run_id,
            call_id: finding.call_id,
            message: finding.message.to_owned(),
        };
        Ok(TeamVerifyReport {
            schema: TeamVerifyReport::SCHEMA,
            target: self.context.target(),
            valid: found.findings.iter().all(|finding| finding.problem == "late"),
            checked: TeamChecked { receipts: found.receipts, hosts: found.hosts, approvals: found.approvals },
            findings: found.findings.into_iter().map(problem).collect(),
        })
    }

    /// Shows the reviewers and rules of the team, and what has changed since the workspace joined; or accepts them.
    ///
    /// # Errors
    /// Fails if the workspace has not joined, if the database has another team, and if it cannot be reached.
    pub fn roster(&self, step: JoinStep) -> Result<TeamRosterReport, Error> {
        let joined = self.joined()?;
        let store = self.open(joined.clone())?;
        if store.team_id()? != joined.team_id {
            let message = "the database has another team than the one that was joined";
            return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::TeamNotJoined));
        }
        let (roster, rules) = (Roster::read(&store)?, store.rules()?);
        let changes = roster_changes(&joined, &roster.keys, &rules);
        let report = TeamRosterReport {
            schema: TeamRosterReport::SCHEMA,
            target: self.context.target(),
            team_id: joined.team_id.clone(),
            workspace: joined.workspace.clone(),
            accepted: step == JoinStep::Accept || changes.is_empty(),
            changes,
            reviewers: roster.reviewers,
            rules: rules.iter().map(shown_rule).collect(),
        };
        if step == JoinStep::Accept {
            self.context.require_outside_run()?;
            JoinedTeam { keys: roster.keys, rules, ..joined }.write(&*self.context.fs, &self.context.key)?;
        }
        Ok(report)
    }

    /// Lets runners claim calls after a failover, although not all hosts have reported their claims.
    ///
    /// # Errors
    /// Fails inside a run, if the workspace has not joined, and if the member is not a reviewer.
    pub fn accept_failover(&self) -> Result<TeamAcceptFailoverReport, Error> {
        self.context.require_outside_run()?;
        let store = self.open(self.joined()?)?;
        let waits_for = store.failover()?;
        let accepted = store.accept_failover()?;
        let waits_for = waits_for.unwrap_or_default();
        let (schema, target) = (TeamAcceptFailoverReport::SCHEMA, self.context.target());
        Ok(TeamAcceptFailoverReport { schema, target, accepted, waits_for })
    }

    /// Returns the team that the workspace has joined.
    fn joined(&self) -> Result<JoinedTeam, Error> {
        let joined = JoinedTeam::read(&*self.context.fs, &self.context.key)?;
        joined.ok_or_else(|| {
            Error::new(ErrorKind::Refused, "the workspace has not joined a team")
                .coded(ErrorCode::TeamNotJoined)
        })
    }

    /// Returns the store of a team. Opens no connection.
    fn open(&self, joined: JoinedTeam) -> Result<TeamStore, TeamError> {
        let context = &*self.context;
        open(&context.fs, &context.environment, joined, context.timeout, LEASE_SECONDS, None)
    }

    /// Leaves the team: removes the file. What the team's queue has stays there.
    ///
    /// # Errors
    /// Fails inside a run, and on a disk error.
    pub fn leave(&self) -> Result<TeamLeaveReport, Error> {
        self.context.require_outside_run()?;
        let left = JoinedTeam::remove(&*self.context.fs)?;
        Ok(TeamLeaveReport { schema: TeamLeaveReport::SCHEMA, target: self.context.target(), left })
    }

    /// Reports how the team is. Opens no connection if the workspace has not joined.
    ///
    /// # Errors
    /// Fails if the file was not written on this host, and if the database cannot be reached.
    pub fn status(&self) -> Result<TeamStatusReport, Error> {
        let mut report = TeamStatusReport {
            schema: TeamStatusReport::SCHEMA,
            target: self.context.target(),
            ..TeamStatusReport::default()
        };
        let Some(joined) = JoinedTeam::read(&*self.context.fs, &self.context.key)? else { return Ok(report) };
        let store = self.open(joined.clone())?;
        let status = store.status(self.context.now())?;
        let (roster, rules) = (Roster::read(&store)?, store.rules()?);
        if store.team_id()? != joined.team_id {
            report.issues.push("the database has another team than the one that was joined".to_owned());
        }
        for change in roster_changes(&joined, &roster.keys, &rules) {
            let issue = Hint::from(format!("{change}: ")).then(NextStep::AcceptRoster);
            report.issues.push(self.context.spelled(issue).to_string());
        }
        if let Some(hosts) = store.failover()? {
            let hosts = if hosts.is_empty() { "a runner".to_owned() } else { hosts.join(", ") };
            report.issues.push(format!(
                "the database was replaced: nothing is claimed before {hosts} has reported its claims, or a \
                 reviewer accepts the failover"
            ));
        }
        if 5_000 < status.clock_skew_ms.abs() {
            report
                .issues
                .push("the clocks of this host and of the database differ by over 5 seconds".to_owned());
        }
        report.joined = true;
        (report.team_id, report.workspace) = (Some(joined.team_id), Some(joined.workspace));
        (report.member, report.roles) = (Some(status.member), status.roles);
        report.database = Some(TeamDatabase {
            version: status.version,
            schema_version: u64::try_from(status.schema_version).unwrap_or(0),
            round_trip_ms: Number::from((status.round_trip_ms * 1000.0).round() / 1000.0),
            clock_skew_ms: status.clock_skew_ms,
            timeline: status.timeline,
        });
        let runner = |host: brigade_team::RunnerHost| TeamRunner {
            host: host.host,
            state: host.state,
            last_seen_at: host.last_seen_at,
            running: host.running,
        };
        report.runners = status.runners.into_iter().map(runner).collect();
        report.calls = status.calls;
        Ok(report)
    }
}

/// Checks the name of a workspace in a team.
fn check_workspace(name: &str) -> Result<(), Error> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || 64 < name.len() || !name.chars().all(is_legal) {
        let message = "a workspace's name in a team has 1 to 64 letters, digits, `_`, `-` and `.`";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    Ok(())
}

/// The reviewers of a team, and their keys by name.
struct Roster {
    reviewers: Vec<TeamReviewer>,
    keys: BTreeMap<String, String>,
}

impl Roster {
    fn read(store: &TeamStore) -> Result<Roster, TeamError> {
        let mut roster = Roster { reviewers: Vec::new(), keys: BTreeMap::new() };
        let is_reviewer = |member: &Member| member.roles.iter().any(|role| role == Role::Reviewer.as_str());
        for member in store.members()?.into_iter().filter(is_reviewer) {
            roster.keys.extend(member.public_key.map(|key| (member.name.clone(), key)));
            roster.reviewers.push(TeamReviewer { name: member.name, key_id: member.key_id });
        }
        Ok(roster)
    }
}

/// Says how the reviewers and rules differ from those that this host has accepted.
fn roster_changes(joined: &JoinedTeam, keys: &BTreeMap<String, String>, rules: &[JoinedRule]) -> Vec<String> {
    let mut changes = Vec::new();
    for (name, key) in keys {
        match joined.keys.get(name) {
            None => {
                changes.push(format!("the reviewer `{name}` is new, and approvals of it do not count here"))
            }
            Some(known) if known != key => {
                changes.push(format!("the reviewer `{name}` has another key, and it does not count here"));
            }
            Some(_) => {}
        }
    }
    let gone = joined.keys.keys().filter(|name| !keys.contains_key(*name));
    changes.extend(gone.map(|name| format!("the reviewer `{name}` is gone")));
    if rules != joined.rules {
        changes.push("the rules have changed; where they ask for less, those accepted here hold".to_owned());
    }
    changes
}

fn shown_rule(rule: &JoinedRule) -> TeamRule {
    let JoinedRule { effect, tool, family, approvals, .. } = rule.clone();
    TeamRule::new(effect, tool, family, u64::try_from(approvals).unwrap_or(0))
}

fn member_report(owner: &Owner, changed: bool) -> Result<TeamMemberReport, Error> {
    let member = |member: Member| TeamMember {
        name: member.name,
        roles: member.roles,
        key_id: member.key_id,
        workspaces: member.workspaces,
        added_at: member.added_at,
    };
    let members = owner.members()?.into_iter().map(member).collect();
    Ok(TeamMemberReport { schema: TeamMemberReport::SCHEMA, changed, members })
}

fn rule_report(owner: &Owner, changed: bool) -> Result<TeamRuleReport, Error> {
    let rule = |rule: ApprovalRule| TeamRule {
        id: rule.id,
        effect: rule.effect,
        tool: rule.tool,
        family: rule.family,
        approvals: u64::try_from(rule.approvals).unwrap_or(0),
    };
    let rules = owner.rules()?.into_iter().map(rule).collect();
    Ok(TeamRuleReport { schema: TeamRuleReport::SCHEMA, changed, rules })
}

/// Prepares the connection of a login. Opens none.
fn connect(
    fs: &dyn Fs,
    environment: &HostEnvironment,
    url: TeamUrl,
    schema: Schema,
    timeout: Duration,
) -> Result<Connection, TeamError> {
    let variable = environment.get("PGPASSWORD").and_then(OsStr::to_str);
    let file = match environment.get("PGPASSFILE") {
        Some(path) => Some(Path::new(path).to_owned()),
        None => environment.home().map(|home| home.join(".pgpass")),
    };
    let file = file.and_then(|path| passwords(fs, &path));
    let password = password_for(&url, variable, file.as_deref());
    let read: &dyn Fn(&Path) -> Result<Vec<u8>, FsError> = &|path| fs.read_outside(path, FILE_LIMIT);
    Connection::new(url, schema, Credentials { password, read }, timeout)
}

/// Reads the file of passwords. One that other users can read does not count, as for the programs of PostgreSQL.
fn passwords(fs: &dyn Fs, path: &Path) -> Option<String> {
    let (directory, name) = (path.parent()?, path.file_name()?.to_str()?);
    let name: RelPath = name.parse().ok()?;
    let found = DiskFs::open(directory).ok()?.metadata(&name).ok()?;
    let is_private = found.mode & 0o077 == 0;
    String::from_utf8(fs.read_outside(path, FILE_LIMIT).ok().filter(|_| is_private)?).ok()
}

fn open(
    files: &Arc<dyn Fs>,
    environment: &HostEnvironment,
    joined: JoinedTeam,
    timeout: Duration,
    lease_seconds: u16,
    cancel: Option<CancelToken>,
) -> Result<TeamStore, TeamError> {
    let fs = &**files;
    let JoinedTeam { url, schema, workspace, team_id, keys, rules } = joined;
    let seen = Arc::new(SeenFile::new(files.clone(), &team_id));
    let folder = environment.config_folder().map(|folder| folder.join("brigade"));
    let signer = Arc::new(move || {
        let Some(folder) = &folder else { return Ok(None) };
        let unusable = |error: crate::KeyError| TeamError::UntrustedKey(error.to_string());
        let fs = DiskFs::open(Path::new("/"))?;
        HostKeys::new(folder.clone()).read(&fs).map_err(unusable)
    });
    let host = environment.get("HOSTNAME").and_then(OsStr::to_str).map(str::to_owned);
    let host = host.or_else(|| {
        let name = fs.read_outside(Path::new("/etc/hostname"), FILE_LIMIT).ok()?;
        Some(String::from_utf8(name).ok()?.trim().to_owned())
    });
    Ok(TeamStore::new(TeamStoreOptions {
        connection: Arc::new(connect(fs, environment, url, schema, timeout)?),
        workspace,
        team_id,
        keys,
        rules,
        signer,
        host: host.filter(|host| !host.is_empty()).unwrap_or_else(|| "host".to_owned()),
        lease_seconds,
        lease_lost: cancel.map(|cancel| Arc::new(move || cancel.cancel_by(LEASE)) as LeaseLost),
        seen: Some(seen),
    }))
}

/// The store of a workspace that has joined a team. The file is read and the database is connected to on first use, and
/// a file that does not count makes every use fail: nothing is queued in the files instead.
struct JoinedStore {
    fs: Arc<dyn Fs>,
    key: Arc<WorkspaceKey>,
    environment: Arc<HostEnvironment>,
    timeout: Duration,
    cancel: Option<CancelToken>,
    store: OnceLock<Result<TeamStore, TeamError>>,
}

impl JoinedStore {
    fn store(&self) -> Result<&TeamStore, QueueError> {
        let open = || {
            let joined = JoinedTeam::read(&*self.fs, &self.key)?;
            let left = || TeamError::NotJoined("the workspace has just left its team".to_owned());
            let (timeout, cancel) = (self.timeout, self.cancel.clone());
            open(&self.fs, &self.environment, joined.ok_or_else(left)?, timeout, LEASE_SECONDS, cancel)
        };
        self.store.get_or_init(open).as_ref().map_err(|error| error.clone().into())
    }
}

impl Store for JoinedStore {
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError> {
        self.store()?.read()
    }

    fn begin(&self, now: Timestamp, durability: Durability) -> Result<Box<dyn Transaction + '_>, QueueError> {
        self.store()?.begin(now, durability)
    }

    fn shared_name(&self) -> Option<String> {
        Some(self.store().ok().and_then(Store::shared_name).unwrap_or_else(|| TEAM_FILE.to_owned()))
    }

    fn keep_log(
        &self,
        call: &CallId,
        run: &RunId,
        stream: &str,
        log: &dyn ReadFile,
    ) -> Result<(), QueueError> {
        self.store()?.keep_log(call, run, stream, log)
    }

    fn kept_log(&self, run: &str, stream: &str) -> Result<Option<KeptLog>, QueueError> {
        self.store()?.kept_log(run, stream)
    }
}

/// Returns the store of a workspace that has joined a team; `None` if it has not. Opens no connection.
pub fn joined_store(
    fs: &Arc<dyn Fs>,
    key: &Arc<WorkspaceKey>,
    environment: &Arc<HostEnvironment>,
    timeout: Duration,
    cancel: Option<CancelToken>,
) -> Option<Arc<dyn Store>> {
    let exists = fs.exists(&RelPath::from_static(TEAM_FILE)).unwrap_or(true);
    exists.then(|| {
        Arc::new(JoinedStore {
            fs: fs.clone(),
            key: key.clone(),
            environment: environment.clone(),
            timeout,
            cancel,
            store: OnceLock::new(),
        }) as Arc<dyn Store>
    })
}

#[cfg(test)]
mod tests;
