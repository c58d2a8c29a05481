//! Notices that a run waits for something that never comes, such as a writer of a named pipe.

use std::time::{Duration, Instant};

/// Looks at the processes of a run from time to time.
#[derive(Debug)]
pub(crate) struct IdleWatch {
    limit: Duration,
    next_look: Instant,
    /// Since when all processes sleep, and the processor time that they had used then.
    asleep: Option<(Instant, u64)>,
    table: Processes,
}

impl IdleWatch {
    /// Creates a watch for a run that starts now.
    pub(crate) fn new(limit: Duration) -> IdleWatch {
        let next_look = Instant::now() + limit / LOOKS;
        IdleWatch { limit, next_look, asleep: None, table: Processes::default() }
    }

    /// Returns when to look again.
    pub(crate) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// Looks, if it is time. Returns whether every process has slept for the limit without using the processor.
    pub(crate) fn is_over(&mut self, session: u32) -> bool {
        let now = Instant::now();
        if now < self.next_look {
            return false;
        }
        self.next_look = now + self.limit / LOOKS;
        let sleeping = self.table.sleeping(session);
        match (self.asleep, sleeping) {
            (Some((since, before)), Some(ticks)) if before == ticks => {
                self.limit <= now.duration_since(since)
            }
            (_, sleeping) => {
                self.asleep = sleeping.map(|ticks| (now, ticks));
                false
            }
        }
    }
}

/// How often to look during the limit.
const LOOKS: u32 = 8;

#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
struct Processes(Option<crate::tree::Table>);

#[cfg(target_os = "linux")]
impl Processes {
    /// Returns the processor time of the processes of a session; `None` if one of them does not sleep.
    fn sleeping(&mut self, session: u32) -> Option<u64> {
        let session = i32::try_from(session).ok()?;
        let table = self.0.get_or_insert_with(crate::tree::Table::with_room);
        table.read();
        table.mark(|entry| entry.stat.session == session);
        let mut living = table.living().peekable();
        living.peek()?;
        // A process that waits for the disk has another state.
        living.try_fold(0u64, |sum, entry| {
            (entry.stat.state == b'S').then(|| sum.saturating_add(entry.stat.processor_ticks))
        })
    }
}

#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
struct Processes;

#[cfg(not(target_os = "linux"))]
impl Processes {
    /// Unknown on this system, so only the timeout ends the run.
    fn sleeping(&mut self, _session: u32) -> Option<u64> {
        None
    }
}
