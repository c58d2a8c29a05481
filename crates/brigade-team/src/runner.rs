//! What the runner of a host asks the database: what to do, and whether the server is still the one that it was.

use brigade_call::{CallStatus, Claim};
use brigade_core::{CallId, RunId};
use brigade_queue::StoredCall;

use crate::connection::Tables;
use crate::error::TeamError;
use crate::store::TeamStore;
use crate::transaction::record_of;

/// The most calls that are listed at once.
const MAX_WORK: i32 = 64;

/// What a runner can do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerWork {
    /// Approved calls, oldest first.
    pub approved: Vec<CallId>,
    /// Calls that wait for a decision, and to which this host has not offered anything lately.
    pub undecided: Vec<CallId>,
    /// Whether a claim has expired, so that its call is to be interrupted.
    pub has_expired: bool,
}

/// Whether the server is the one that the claims are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It is.
    Same,
    /// It has replaced another one, and these hosts have not reported their claims to it.
    Replaced(Vec<String>),
}

impl TeamStore {
    /// Asks what there is to do, in one statement, and notes that the runner of this host is there.
    ///
    /// # Errors
    /// Fails if the member is not a runner, or the database cannot be reached.
    pub fn work(&self, state: &str, tools: Option<&[String]>) -> Result<RunnerWork, TeamError> {
        let core = self.core();
        let sql = "SELECT * FROM @schema@.runner_work($1, $2, $3, $4, $5)";
        let mut work = RunnerWork::default();
        for row in core
            .options
            .connection
            .rows(sql, &[&core.options.workspace, &core.options.host, &state, &tools, &MAX_WORK])?
        {
            let (id, status): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            match (status, id.parse()) {
                ("approved", Ok(id)) => work.approved.push(id),
                ("expired", _) => work.has_expired = true,
                (_, Ok(id)) => work.undecided.push(id),
                (_, Err(_)) => {}
            }
        }
        Ok(work)
    }

    /// Says that the runner of this host is in a state. If the server has replaced the one that the claims are on,
    /// first reports the runs that `has_begun` knows and the server has forgotten: their calls are interrupted.
    ///
    /// # Errors
    /// Fails if the member is not a runner, or the database cannot be reached.
    pub fn report_host(
        &self,
        state: &str,
        has_begun: &dyn Fn(&RunId) -> bool,
    ) -> Result<ServerState, TeamError> {
        let report = |has_reported: bool| {
            let core = self.core();
            let sql = "SELECT here, is_replaced, waits_for FROM @schema@.report_host($1, $2, $3, $4, $5)";
            let seen = core.seen_server();
            let rows = core
                .options
                .connection
                .rows(sql, &[&core.options.workspace, &core.options.host, &state, &seen, &has_reported])?;
            let (here, is_replaced): (String, bool) = (rows[0].try_get(0)?, rows[0].try_get(1)?);
            if !is_replaced {
                core.remember_server(&here);
                return Ok(ServerState::Same);
            }
            Ok(ServerState::Replaced(rows[0].try_get(2)?))
        };
        match report(false)? {
            ServerState::Same => Ok(ServerState::Same),
            ServerState::Replaced(_) => {
                self.restore_claims(has_begun)?;
                report(true)
            }
        }
    }

    /// Restores the claims of runs that this host has begun and the server does not know, as expired ones.
    fn restore_claims(&self, has_begun: &dyn Fn(&RunId) -> bool) -> Result<(), TeamError> {
        loop {
            match self.try_restore_claims(has_begun) {
                // A member changed one of the calls, or the answer about a restored claim was lost.
                Err(TeamError::Step { state, .. }) if state == "BR003" => {}
                restored => return restored,
            }
        }
    }

    fn try_restore_claims(&self, has_begun: &dyn Fn(&RunId) -> bool) -> Result<(), TeamError> {
        let core = self.core();
        let sql = "SELECT sequence, revision, record FROM @schema@.calls WHERE workspace = $1 AND $2 < sequence
                       AND status IN ('pending', 'held', 'approved', 'resume-pending') ORDER BY sequence LIMIT 256";
        let mut after = 0i64;
        loop {
            let rows = core.options.connection.rows(sql, &[&core.options.workspace, &after])?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.try_get(0)?;
            for row in &rows {
                let Some(mut stored) = StoredCall::from_text(row.try_get(2)?) else { continue };
                let run = stored.call.next_run_id();
                if !has_begun(&run) {
                    continue;
                }
                stored.call.status = CallStatus::Running;
                stored.call.claim = Some(Claim { run_id: run.clone(), runner: None });
                stored.call.checkpoint_ids.clear();
                let (id, base): (&str, i64) = (stored.call.id.as_str(), row.try_get(1)?);
                let sql = "SELECT @schema@.restore_claim($1, $2, $3, $4, $5, $6)";
                let record = record_of(&stored);
                core.options.connection.rows(
                    sql,
                    &[&core.options.workspace, &id, &base, &record, &run.as_str(), &core.options.host],
                )?;
            }
        }
    }

    /// Lets claims go on after a failover, although not all hosts have reported theirs. Returns whether there was one.
    ///
    /// # Errors
    /// Fails if the member is not a reviewer, or the database cannot be reached.
    pub fn accept_failover(&self) -> Result<bool, TeamError> {
        let core = self.core();
        let mut lease = core.options.connection.take(Tables::Current)?;
        let sql = "SELECT @schema@.accept_failover($1, $2), @schema@.server_name()";
        let rows = lease.rows(sql, &[&core.options.workspace, &core.seen_server()])?;
        core.remember_server(rows[0].try_get(1)?);
        Ok(rows[0].try_get(0)?)
    }

    /// Lists the hosts that have not reported their claims to this server; `None` if it is the one that the claims are
    /// on.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn failover(&self) -> Result<Option<Vec<String>>, TeamError> {
        let core = self.core();
        let sql = "SELECT ARRAY(SELECT h.name FROM @schema@.hosts h
                JOIN @schema@.members m ON m.name = split_part(h.name, '@', 1) AND m.removed_at IS NULL
                WHERE h.workspace = $1 AND h.server IS DISTINCT FROM n.here
                    AND (h.has_claimed OR h.runner_state IS NOT NULL) ORDER BY h.name)
            FROM (SELECT @schema@.server_name() AS here) n LEFT JOIN @schema@.servers s ON s.workspace = $1
            WHERE s.name <> n.here OR NOT coalesce($2 = n.here OR $2 = ANY (s.earlier), true)";
        let rows = core.options.connection.rows(sql, &[&core.options.workspace, &core.seen_server()])?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
    }
}
