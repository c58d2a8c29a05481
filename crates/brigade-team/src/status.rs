//! How a team is: the database, the runners, and the calls of the workspace.

use std::collections::BTreeMap;
use std::time::Instant;

use brigade_core::Timestamp;

use crate::connection::Lease;
use crate::error::TeamError;
use crate::snapshot::COUNTS;
use crate::store::Core;

/// How a team is.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamStatus {
    /// The member of this login.
    pub member: String,
    /// What the member may do.
    pub roles: Vec<String>,
    /// The version of the server.
    pub version: String,
    /// The version of the tables.
    pub schema_version: i32,
    /// How long a statement took, in milliseconds.
    pub round_trip_ms: f64,
    /// How far the clock of the database is ahead of this one, in milliseconds.
    pub clock_skew_ms: i64,
    /// The timeline of the server.
    pub timeline: Option<i64>,
    /// The hosts that have reported runs or hold claims.
    pub runners: Vec<RunnerHost>,
    /// The number of calls by status.
    pub calls: BTreeMap<String, u64>,
}

/// A host with a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerHost {
    /// The member, `@`, and the name of the host.
    pub host: String,
    /// `idle`, `running`, `draining`, `stopped`, or `gone` if it was not seen for a minute.
    pub state: String,
    /// When it last reported.
    pub last_seen_at: String,
    /// The calls that it runs.
    pub running: Vec<String>,
}

pub(crate) fn status(lease: &mut Lease, core: &Core, now: Timestamp) -> Result<TeamStatus, TeamError> {
    let start = Instant::now();
    let rows = lease.rows(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, current_setting('server_version'),
            (SELECT max(number) FROM @schema@.migrations), session_user::text,
            CASE WHEN pg_is_in_recovery() THEN NULL
                ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END,
            (SELECT roles FROM @schema@.members WHERE name = session_user AND removed_at IS NULL)",
        &[],
    )?;
    let round_trip = start.elapsed();
    let row = &rows[0];
    let database_micros: i64 = row.try_get(0)?;
    let mut running: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let workspace = &core.options.workspace;
    let sql = "SELECT host, id FROM @schema@.calls WHERE workspace = $1 AND status = 'running' ORDER BY id";
    for row in lease.rows(sql, &[workspace])? {
        if let Some(host) = row.try_get::<_, Option<String>>(0)? {
            running.entry(host).or_default().push(row.try_get(1)?);
        }
    }
    let seen = "SELECT name, to_char(last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
            runner_state, last_seen_at < clock_timestamp() - interval '60 s'
        FROM @schema@.hosts WHERE workspace = $1 AND (runner_state IS NOT NULL OR has_claimed) ORDER BY name";
    let mut runners = Vec::new();
    for row in lease.rows(seen, &[workspace])? {
        let host: String = row.try_get(0)?;
        let running = running.remove(&host).unwrap_or_default();
        let (stated, is_gone): (Option<&str>, bool) = (row.try_get(2)?, row.try_get(3)?);
        let state = match stated {
            Some("stopped") if running.is_empty() => "stopped",
            Some(_) if is_gone => "gone",
            Some("draining") => "draining",
            _ if !running.is_empty() => "running",
            Some(_) => "idle",
            // Only commands of a person claimed there.
            None => "stopped",
        };
        runners.push(RunnerHost { host, state: state.to_owned(), last_seen_at: row.try_get(1)?, running });
    }
    let mut calls = BTreeMap::new();
    for row in lease.rows(COUNTS, &[workspace, &"calls"])? {
        calls.insert(row.try_get(0)?, u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0));
    }
    Ok(TeamStatus {
        member: row.try_get(3)?,
        roles: row.try_get::<_, Option<_>>(5)?.unwrap_or_default(),
        version: row.try_get(1)?,
        schema_version: row.try_get::<_, Option<i32>>(2)?.unwrap_or(0),
        round_trip_ms: round_trip.as_secs_f64() * 1000.0,
        clock_skew_ms: (database_micros - now.unix_micros()) / 1000,
        timeline: row.try_get(4)?,
        runners,
        calls,
    })
}
