//! A clock that tests own.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use brigade_core::{Clock, Timestamp};

/// A clock that goes forward by the same step each time it is read, beginning at a fixed instant.
///
/// So every reading is different and known, in whatever order threads read it.
#[derive(Debug)]
pub struct TickingClock {
    /// The next reading, in microseconds since 1970.
    next: AtomicI64,
    /// How far each reading moves it, in microseconds.
    step: i64,
}

impl TickingClock {
    /// The first reading of [`TickingClock::new`], in microseconds since 1970: 2026-01-02T03:04:05Z.
    pub const BEGINNING: i64 = 1_767_323_045_000_000;

    /// Begins at [`BEGINNING`](TickingClock::BEGINNING) and moves one second at a time.
    pub fn new() -> TickingClock {
        TickingClock::starting(Timestamp::from_unix_micros(TickingClock::BEGINNING), Duration::from_secs(1))
    }

    /// Begins at `first` and moves `step` at a time; a step of zero gives a clock that stands still.
    pub fn starting(first: Timestamp, step: Duration) -> TickingClock {
        TickingClock { next: AtomicI64::new(first.unix_micros()), step: micros(step) }
    }

    /// Moves the clock forward, beside the steps of its readings.
    pub fn advance(&self, by: Duration) {
        self.next.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// Returns what the next reading will be, without moving.
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
    fn a_clock_may_stand_still() {
        let clock = TickingClock::starting(Timestamp::from_unix_micros(0), Duration::ZERO);
        assert_eq!(clock.now(), clock.now());
    }
}
