//! Raw logs in the database, for teams that want to read them on every host.

use std::time::Duration;

use brigade_core::{CallId, RunId, words};
use brigade_fs::ReadFile;
use brigade_queue::{KeptLog, QueueError};

use crate::connection::Lease;
use crate::error::TeamError;
use crate::store::Core;

/// The size of a part of a log, as the table limits it.
const PART_SIZE: u64 = 256 << 10;

/// The most that is stored of a log: its end.
const MAX_LOG_SIZE: u64 = 16 * PART_SIZE;

words! {
    /// Where the raw logs of runs are.
    LogPlace {
        /// Only on the host that ran.
        Host = "host",
        /// In the database, too.
        Database = "database",
    }
}

/// What was deleted of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrunedLogs {
    /// The number of runs whose logs were deleted.
    pub runs: u64,
    /// The number of parts.
    pub parts: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// Stores the end of a log, if the team has its logs in the database.
pub(crate) fn keep(
    lease: &mut Lease,
    core: &Core,
    (call, run): (&CallId, &RunId),
    stream: &str,
    log: &dyn ReadFile,
) -> Result<(), QueueError> {
    let place = lease.rows("SELECT FROM @schema@.team WHERE logs = $1", &[&LogPlace::Database.as_str()])?;
    if place.is_empty() {
        return Ok(());
    }
    let length = log.len()?;
    let mut start = length.saturating_sub(MAX_LOG_SIZE);
    while start < length {
        let part =
            log.read_range(start, usize::try_from(PART_SIZE.min(length - start)).expect("a part is small"))?;
        if part.is_empty() {
            break;
        }
        let place = i64::try_from(start).unwrap_or(i64::MAX);
        let sql = "SELECT @schema@.store_log($1, $2, $3, $4, $5, $6)";
        lease.rows(sql, &[&core.options.workspace, &call.as_str(), &run.as_str(), &stream, &place, &part])?;
        start += part.len() as u64;
    }
    Ok(())
}

/// Reads a stored log. Parts before a missing one are left out.
pub(crate) fn kept(
    lease: &mut Lease,
    core: &Core,
    run: &str,
    stream: &str,
) -> Result<Option<KeptLog>, TeamError> {
    let sql = "SELECT start, body FROM @schema@.logs WHERE workspace = $1 AND run_id = $2 AND stream = $3
               ORDER BY start";
    let mut log: Option<KeptLog> = None;
    for row in lease.rows(sql, &[&core.options.workspace, &run, &stream])? {
        let (start, body): (i64, &[u8]) = (row.try_get(0)?, row.try_get(1)?);
        let start = u64::try_from(start).unwrap_or(0);
        match &mut log {
            Some(log) if log.start + log.bytes.len() as u64 == start => log.bytes.extend_from_slice(body),
            log => *log = Some(KeptLog { start, bytes: body.to_vec() }),
        }
    }
    Ok(log)
}

/// Deletes parts that were stored longer ago than this.
pub(crate) fn prune(lease: &mut Lease, age: Duration) -> Result<PrunedLogs, TeamError> {
    let sql = "WITH gone AS (DELETE FROM @schema@.logs WHERE stored_at < clock_timestamp() - make_interval(secs => $1)
                   RETURNING workspace, run_id, octet_length(body) AS size)
               SELECT count(DISTINCT (workspace, run_id)), count(*), coalesce(sum(size), 0)::bigint FROM gone";
    let rows = lease.rows(sql, &[&age.as_secs_f64()])?;
    let count = |place: usize| -> Result<u64, TeamError> {
        Ok(u64::try_from(rows[0].try_get::<_, i64>(place)?).unwrap_or(0))
    };
    Ok(PrunedLogs { runs: count(0)?, parts: count(1)?, bytes: count(2)? })
}
