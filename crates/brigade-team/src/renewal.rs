//! Renews the claims of the runs of this process.
//!
//! One thread asks the database, and another one counts: a server that does not answer must not keep a run alive beyond
//! its lease. The time counts from before a renewal was sent, and while the machine sleeps.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::connection::{Connection, Tables};

/// Ends the runs of this process, because their lease is lost. The second call ends them at once.
pub type LeaseLost = Arc<dyn Fn() + Send + Sync>;

/// A claim of this process.
#[derive(Clone)]
pub(crate) struct HeldClaim {
    pub(crate) workspace: String,
    pub(crate) call: String,
    pub(crate) run: String,
    pub(crate) fence: i64,
    pub(crate) lease_seconds: i32,
}

/// The claims that are renewed, by run. A run whose entry is dropped is not renewed any more.
#[derive(Default)]
pub(crate) struct Renewals(Mutex<BTreeMap<String, Sender<()>>>);

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Returns the time from which a lease counts that is asked for now.
pub(crate) fn uptime() -> Duration {
    let now = clock_gettime(CLOCK);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

impl Renewals {
    /// Renews a claim that was sent at `since` until it is [ended](Renewals::end).
    pub(crate) fn begin(
        &self,
        connection: &Arc<Connection>,
        claim: HeldClaim,
        since: Duration,
        lost: &Option<LeaseLost>,
    ) {
        let lease = Duration::from_secs(u64::try_from(claim.lease_seconds).unwrap_or(0));
        let (stop, stopped) = mpsc::channel();
        let (renewed, renewals) = mpsc::channel();
        let run = claim.run.clone();
        let connection = connection.clone();
        // A thread that cannot be started leaves the claim to expire.
        let asks = thread::Builder::new().name("renew".to_owned());
        let asks = asks.spawn(move || renew(&connection, &claim, lease / 4, &stopped, &renewed));
        let lost = lost.clone();
        let counts = thread::Builder::new().name("lease".to_owned());
        let counts = counts.spawn(move || {
            if watch(since, lease / 6 * 5, &renewals) == LeaseEnd::Lost
                && let Some(lost) = lost
            {
                tracing::warn!("the lease of a run is lost");
                lost();
                // All of its processes are gone before the lease is over.
                thread::park_timeout(lease / 12);
                lost();
            }
        });
        if let Err(error) = asks.and(counts) {
            tracing::warn!(%error, "the claim of a run is not renewed");
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run, stop);
    }

    /// Renews the claim of a run no more.
    pub(crate) fn end(&self, run: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }
}

/// Renews a claim at each interval. Reports when each valid one was sent; the end of the reports says that it ended.
fn renew(
    connection: &Arc<Connection>,
    claim: &HeldClaim,
    interval: Duration,
    stopped: &Receiver<()>,
    renewed: &Sender<Option<Duration>>,
) {
    let HeldClaim { workspace, call, run, fence, lease_seconds } = claim;
    while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let since = uptime();
        let valid = connection.take(Tables::Current).and_then(|mut lease| {
            let sql = "SELECT @schema@.renew_claim($1, $2, $3, $4, $5)";
            let rows = lease.rows(sql, &[workspace, call, run, fence, lease_seconds])?;
            Ok(rows[0].try_get::<_, bool>(0)?)
        });
        match valid {
            Ok(true) => {
                let _ = renewed.send(Some(since));
            }
            Ok(false) => {
                let _ = renewed.send(None);
                return;
            }
            Err(error) => tracing::debug!(%error, "a claim was not renewed"),
        }
    }
}

/// How a lease ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeaseEnd {
    /// The run ended.
    Finished,
    /// It was not renewed in time, or ended by others.
    Lost,
}

/// Waits until a lease is lost or its run ends.
fn watch(mut since: Duration, limit: Duration, renewals: &Receiver<Option<Duration>>) -> LeaseEnd {
    loop {
        let left = (since + limit).saturating_sub(uptime());
        // A sleeping machine wakes up after the deadline, so no wait is long.
        match renewals.recv_timeout(left.min(Duration::from_secs(1))) {
            Ok(Some(renewed)) => since = renewed,
            Ok(None) => return LeaseEnd::Lost,
            Err(RecvTimeoutError::Disconnected) => return LeaseEnd::Finished,
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return LeaseEnd::Lost,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
