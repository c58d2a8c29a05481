//! Points in time, and the one clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// A UTC time with microsecond precision, between the years 1 and 9999.
///
/// Displays as ISO 8601 with a six-digit fraction and `+00:00`. A fraction of zero is omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(OffsetDateTime);

/// A string that is not a valid time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a time such as 2026-01-31T12:00:00Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Creates a time from microseconds since 1970, clamped to the years 1 to 9999.
    pub fn from_unix_micros(micros: i64) -> Timestamp {
        let nanos = i128::from(micros) * 1_000;
        let moment = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(if micros < 0 {
            OffsetDateTime::UNIX_EPOCH
        } else {
            PrimitiveDateTime::new(Date::MAX, Time::MIDNIGHT).assume_utc()
        });
        Timestamp(moment)
    }

    /// Returns the microseconds since 1970.
    pub fn unix_micros(self) -> i64 {
        i64::try_from(self.0.unix_timestamp_nanos() / 1_000).expect("years up to 9999 fit")
    }

    /// Returns the time elapsed since `earlier`, or zero if this is before it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        (self.0 - earlier.0).try_into().unwrap_or(Duration::ZERO)
    }

    /// Returns `YYYYmmdd-HHMMSS`, the form used in ids and directory names.
    pub fn compact(self) -> String {
        let moment = self.0;
        format!(
            "{:04}{:02}{:02}-{:02}{:02}{:02}",
            moment.year(),
            u8::from(moment.month()),
            moment.day(),
            moment.hour(),
            moment.minute(),
            moment.second()
        )
    }

    fn from_offset_date_time(moment: OffsetDateTime) -> Option<Timestamp> {
        let moment = moment.checked_to_offset(UtcOffset::UTC)?;
        (1..=9999).contains(&moment.year()).then_some(Timestamp(moment))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = self.0;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            moment.year(),
            u8::from(moment.month()),
            moment.day(),
            moment.hour(),
            moment.minute(),
            moment.second()
        )?;
        if moment.microsecond() != 0 {
            write!(f, ".{:06}", moment.microsecond())?;
        }
        f.write_str("+00:00")
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads ISO 8601: a date, or a date and a time with `Z`, an offset, or neither, which means UTC.
    fn from_str(text: &str) -> Result<Timestamp, InvalidTimestamp> {
        parse(text.trim()).ok_or(InvalidTimestamp)
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    if !text.is_ascii() {
        return None;
    }
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let year: u16 = digits(parts.next()?, 4)?;
    let month: u8 = digits(parts.next()?, 2)?;
    let day: u8 = digits(parts.next()?, 2)?;
    if parts.next().is_some() {
        return None;
    }
    let date = Date::from_calendar_date(i32::from(year), Month::try_from(month).ok()?, day).ok()?;
    if rest.is_empty() {
        return Timestamp::from_offset_date_time(PrimitiveDateTime::new(date, Time::MIDNIGHT).assume_utc());
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(at) => (&rest[..at], parse_offset(&rest[at..])?),
        None => (rest, UtcOffset::UTC),
    };
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let second = parts.next().map_or(Some(0), |second| digits(second, 2))?;
    if parts.next().is_some() || fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let micros: u32 = format!("{fraction:0<6}")[..6].parse().ok()?;
    let clock = Time::from_hms_micro(hour, minute, second, micros).ok()?;
    Timestamp::from_offset_date_time(PrimitiveDateTime::new(date, clock).assume_offset(offset))
}

fn parse_offset(text: &str) -> Option<UtcOffset> {
    if text.eq_ignore_ascii_case("z") {
        return Some(UtcOffset::UTC);
    }
    let (sign, rest) = text.split_at(1);
    let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2)).unwrap_or((rest, "00"));
    let hours: i8 = digits(hours, 2)?;
    let minutes: i8 = if minutes.is_empty() { 0 } else { digits(minutes, 2)? };
    let sign = if sign == "-" { -1 } else { 1 };
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

fn digits<T: FromStr>(text: &str, count: usize) -> Option<T> {
    if text.len() != count || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Writes a text in human-readable formats, and microseconds in others.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.unix_micros().serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        if deserializer.is_human_readable() {
            return crate::id::parsed(deserializer);
        }
        i64::deserialize(deserializer).map(Timestamp::from_unix_micros)
    }
}

/// A source of the current time. Tests provide their own.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    fn now(&self) -> Timestamp {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::from_unix_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), expect);
    }

    #[test]
    fn reads_the_forms_that_other_programs_write() {
        check("2026-11-21T20:16:48.184878+00:00", "2026-11-21T20:16:48.184878+00:00");
        check("2026-11-21T20:16:48Z", "2026-11-21T20:16:48+00:00");
        check("2026-11-21T20:16:48.5+02:00", "2026-11-21T18:16:48.500000+00:00");
        check("2026-11-21T20:16:48-0330", "2026-11-21T23:46:48+00:00");
        check("2026-11-21 20:16", "2026-11-21T20:16:00+00:00");
        check("2026-11-21", "2026-11-21T00:00:00+00:00");
        check("2026-11-21T20:16:48.1234567899", "2026-11-21T20:16:48.123456+00:00");
    }

    #[test]
    fn refuses_invalid_times() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-11-21T25:00:00Z",
            "2026-11-21T20",
            "２026-11-21",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }

    proptest! {
        #[test]
        fn display_reads_back(micros in 0i64..250_000_000_000_000_000) {
            let moment = Timestamp::from_unix_micros(micros);
            prop_assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment);
            prop_assert_eq!(moment.unix_micros(), micros);
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = text.parse::<Timestamp>();
        }
    }
}
