//! The store of a team's queue, for one workspace.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_call::Call;
use brigade_core::{CallId, RunId, Timestamp};
use brigade_fs::ReadFile;
use brigade_queue::{Durability, KeptLog, QueueError, Snapshot, Store, Transaction};

use crate::connection::{Connection, Lease, Tables};
use crate::doctor::{Check, doctor};
use crate::error::TeamError;
use crate::joined::JoinedRule;
use crate::logs;
use crate::renewal::{LeaseLost, Renewals};
use crate::roster::{Member, members};
use crate::signature::Signer;
use crate::snapshot::{Source, TeamSnapshot};
use crate::status::{TeamStatus, status};
use crate::transaction::TeamTransaction;
use crate::verify::{TeamVerification, verify};

/// Where a host keeps the name of the server that its workspace saw last.
pub trait SeenServer: Send + Sync {
    /// Returns the name.
    fn read(&self) -> Option<String>;

    /// Replaces the name. If that fails, the next claim tries again.
    fn write(&self, name: &str);
}

/// Gets the run of a claim once it is durable.
pub type ClaimedFn = Arc<dyn Fn(&str) + Send + Sync>;

/// How a host takes part in a team.
#[derive(Clone)]
pub struct TeamStoreOptions {
    /// The database.
    pub connection: Arc<Connection>,
    /// The name of the workspace in the team.
    pub workspace: String,
    /// The id of the team.
    pub team_id: String,
    /// The public keys of reviewers that this host trusts, by member, as hex digits.
    pub keys: BTreeMap<String, String>,
    /// The rules about how many people approve that this host has accepted.
    pub rules: Vec<JoinedRule>,
    /// The key of this account, which signs approvals.
    pub signer: Signer,
    /// The name of this host in receipts.
    pub host: String,
    /// How many seconds a claim is valid without a renewal, 2 to 3600.
    pub lease_seconds: u16,
    /// Ends the runs of this process, because their lease is lost. Called again if they do not end.
    pub lease_lost: Option<LeaseLost>,
    /// The server that the workspace saw last.
    pub seen: Option<Arc<dyn SeenServer>>,
}

/// The parts of a store that its snapshots and transactions share.
pub(crate) struct Core {
    pub(crate) options: TeamStoreOptions,
    pub(crate) claimed: Option<ClaimedFn>,
    pub(crate) renewals: Renewals,
}

impl Core {
    /// Returns the server that the workspace saw last.
    pub(crate) fn seen_server(&self) -> Option<String> {
        self.options.seen.as_ref()?.read()
    }

    /// Notes the server that the claims are on.
    pub(crate) fn remember_server(&self, name: &str) {
        if let Some(seen) = self.options.seen.as_ref().filter(|seen| seen.read().as_deref() != Some(name)) {
            seen.write(name);
        }
    }

    /// Returns how many people must approve a call by the rules that this host has accepted, when it started.
    pub(crate) fn accepted_need(&self, call: &Call, started_at: Option<Timestamp>) -> i32 {
        let counts = |rule: &&JoinedRule| {
            let added_at: Option<Timestamp> = rule.added_at.parse().ok();
            started_at.zip(added_at).is_none_or(|(started_at, added_at)| added_at <= started_at)
        };
        let rules = self.options.rules.iter().filter(counts).filter(|rule| rule.matches(call));
        rules.map(|rule| rule.approvals).max().unwrap_or(1)
    }
}

/// Keeps the queue of a workspace in the database of a team.
///
/// Opens no connection before the first use. A claim that expired is shown without its runner, so the queue interrupts
/// it. An approval without enough valid signatures of trusted keys does not count.
#[derive(Clone)]
pub struct TeamStore(Arc<Core>);

impl TeamStore {
    /// Creates the store. Opens no connection.
    pub fn new(options: TeamStoreOptions) -> TeamStore {
        TeamStore(Arc::new(Core { options, claimed: None, renewals: Renewals::default() }))
    }

    /// Returns the same store for one run, which ends if its lease is lost. Connections are shared. `claimed` gets the
    /// run once it is claimed.
    #[must_use]
    pub fn for_run(&self, lease_lost: LeaseLost, claimed: ClaimedFn) -> TeamStore {
        let options = TeamStoreOptions { lease_lost: Some(lease_lost), ..self.0.options.clone() };
        TeamStore(Arc::new(Core { options, claimed: Some(claimed), renewals: Renewals::default() }))
    }

    pub(crate) fn core(&self) -> &Core {
        &self.0
    }

    /// Returns how many connections were opened for statements. A new one may lead to another server.
    pub fn connections(&self) -> u64 {
        self.0.options.connection.opened()
    }

    /// Returns the name of this host in the team.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn host_name(&self) -> Result<String, TeamError> {
        let rows =
            self.0.options.connection.rows("SELECT session_user || '@' || $1", &[&self.0.options.host])?;
        Ok(rows[0].try_get(0)?)
    }

    /// Lists the rules about how many people approve.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn rules(&self) -> Result<Vec<JoinedRule>, TeamError> {
        let sql = "SELECT effect, tool, family, approvals, to_char(added_at AT TIME ZONE 'UTC', \
                   'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM @schema@.rules ORDER BY id";
        let rule = |row: &postgres::Row| {
            Ok(JoinedRule {
                effect: row.try_get(0)?,
                tool: row.try_get(1)?,
                family: row.try_get(2)?,
                approvals: row.try_get(3)?,
                added_at: row.try_get(4)?,
            })
        };
        self.0.options.connection.rows(sql, &[])?.iter().map(rule).collect()
    }

    pub(crate) fn lease(&self) -> Result<Lease, TeamError> {
        self.0.options.connection.take(Tables::Current)
    }

    /// Returns the id of the team.
    ///
    /// # Errors
    /// Fails if the database cannot be read, or has no team.
    pub fn team_id(&self) -> Result<String, TeamError> {
        let rows = self.lease()?.rows("SELECT id FROM @schema@.team", &[])?;
        let row = rows.first().ok_or_else(|| TeamError::Database("it has no id of a team".to_owned()))?;
        Ok(row.try_get(0)?)
    }

    /// Lists the members of the team.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn members(&self) -> Result<Vec<Member>, TeamError> {
        members(&mut self.lease()?)
    }

    /// Verifies the chains and receipts of all hosts, and the approvals of each call that ran.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn verify(&self) -> Result<TeamVerification, TeamError> {
        verify(&TeamSnapshot { core: self.0.clone(), source: Source::Any })
    }

    /// Checks the database, and whether this host can work with it. Never fails: each problem is a row.
    pub fn doctor(&self, now: &dyn Fn() -> Timestamp) -> Vec<Check> {
        doctor(&self.0.options.connection, Some(&self.0), now)
    }

    /// Reports how the team is.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn status(&self, now: Timestamp) -> Result<TeamStatus, TeamError> {
        status(&mut self.lease()?, &self.0, now)
    }
}

impl Store for TeamStore {
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError> {
        Ok(Arc::new(TeamSnapshot { core: self.0.clone(), source: Source::Any }))
    }

    fn begin(&self, _now: Timestamp, _: Durability) -> Result<Box<dyn Transaction + '_>, QueueError> {
        Ok(Box::new(TeamTransaction::new(self.0.clone(), self.lease()?)))
    }

    fn shared_name(&self) -> Option<String> {
        Some(self.0.options.connection.url().without_user())
    }

    fn keep_log(
        &self,
        call: &CallId,
        run: &RunId,
        stream: &str,
        log: &dyn ReadFile,
    ) -> Result<(), QueueError> {
        logs::keep(&mut self.lease()?, &self.0, (call, run), stream, log)
    }

    fn kept_log(&self, run: &str, stream: &str) -> Result<Option<KeptLog>, QueueError> {
        Ok(logs::kept(&mut self.lease()?, &self.0, run, stream)?)
    }
}
