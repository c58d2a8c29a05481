//! A clock for tests.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::{Clock, Timestamp};

/// A clock that advances by a fixed step with each reading, starting at a fixed time.
///
/// Every reading is distinct and predictable, in whatever order threads read it.
#[derive(Debug)]
pub struct TickingClock {
    /// The next reading, in microseconds since 1970.
    next: AtomicI64,
    /// The step, in microseconds.
    step: i64,
}

impl TickingClock {
    /// The first reading of [`TickingClock::new`], in microseconds since 1970: 2026-01-02T03:04:05Z.
    pub const BEGINNING: i64 = 1_767_323_045_000_000;

    /// Starts at [`BEGINNING`](TickingClock::BEGINNING) and advances by one second.
    pub fn new() -> TickingClock {
        TickingClock::starting(Timestamp::from_unix_micros(TickingClock::BEGINNING), Duration::from_secs(1))
    }

    /// Starts at `first` and advances by `step`. A step of zero stops the clock.
    pub fn starting(first: Timestamp, step: Duration) -> TickingClock {
        TickingClock { next: AtomicI64::new(first.unix_micros()), step: micros(step) }
    }

    /// Advances the clock in addition to the steps.
    pub fn advance(&self, by: Duration) {
        self.next.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// Returns the next reading without advancing the clock.
    pub fn peek(&self) -> Timestamp {
        Timestamp::from_unix_micros(self.next.load(Ordering::SeqCst))
    }
}

impl Default for TickingClock {
    fn default() -> TickingClock {
        TickingClock::new()
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros(self.next.fetch_add(self.step, Ordering::SeqCst))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).expect("tests move by less than 292,000 years")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reading_is_one_step_later() {
        let clock = TickingClock::new();
        let read = || clock.now().to_string();
        assert_eq!([read(), read()], ["2026-01-02T03:04:05+00:00", "2026-01-02T03:04:06+00:00"]);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(clock.peek().to_string(), "2026-01-02T04:04:07+00:00");
    }

    #[test]
    fn a_clock_may_be_stopped() {
        let clock = TickingClock::starting(Timestamp::from_unix_micros(0), Duration::ZERO);
        assert_eq!(clock.now(), clock.now());
    }
}
