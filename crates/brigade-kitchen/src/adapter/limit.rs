//! The time at which a provider's limit ends.

use std::time::Duration;

use brigade_core::Timestamp;

/// A provider's limit that a worker ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// When the limit ends, if the output says so.
    pub until: Option<Timestamp>,
}

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Parses the time at which a limit ends. Accepts seconds since 1970, a date with time, `in 3 hours 42 minutes`,
/// `34.07s`, or a time of day such as `3pm (Europe/Berlin)`. A time of day is within the next 24 hours, in local time
/// unless it names UTC.
///
/// ```
/// use brigade_kitchen::adapter::reset_time;
///
/// let now = "2026-01-19T12:00:00Z".parse().unwrap();
/// let at = |text| reset_time(text, now, 60).map(|time| time.to_string());
/// assert_eq!(at("in 3 hours 42 minutes").as_deref(), Some("2026-01-19T15:42:00+00:00"));
/// assert_eq!(at("3pm (Europe/Berlin)").as_deref(), Some("2026-01-19T14:00:00+00:00"));
/// assert_eq!(at("soon"), None);
/// ```
pub fn reset_time(text: &str, now: Timestamp, local_offset_minutes: i32) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() >= 10 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().ok()?;
        let micros =
            if text.len() <= 10 { number.checked_mul(1_000_000)? } else { number.checked_mul(1_000)? };
        return Some(Timestamp::from_unix_micros(micros));
    }
    let plain = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let has_date =
        plain.get(4..5) == Some("-") && plain.get(..4).is_some_and(|year| year.parse::<u16>().is_ok());
    if has_date {
        let end = plain.find([' ', ')', ',']).unwrap_or(plain.len());
        return plain[..end].parse().ok();
    }
    if let Some(duration) = duration(text) {
        let micros = i64::try_from(duration.as_micros()).ok()?;
        return Some(Timestamp::from_unix_micros(now.unix_micros().checked_add(micros)?));
    }
    time_of_day(text, now, local_offset_minutes)
}

/// Parses a sum of numbers with units, such as `3 hours 42 minutes` or `1h30m`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start_matches("in ").trim_start_matches("after ").trim_start();
    let mut seconds = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f64>() else { break };
        let behind = rest[digits..].trim_start();
        let unit_end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let unit = match behind[..unit_end].to_ascii_lowercase().as_str() {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        seconds = Some(seconds.unwrap_or(0.0) + number * unit);
        rest = behind[unit_end..].trim_start_matches([' ', ',']).trim_start_matches("and ").trim_start();
    }
    Duration::try_from_secs_f64(seconds?).ok().filter(|duration| duration.as_secs() < 366 * 86_400)
}

/// Parses `3pm`, `3:05 PM` or `15:00`, optionally followed by a time zone.
fn time_of_day(text: &str, now: Timestamp, local_offset_minutes: i32) -> Option<Timestamp> {
    let text = text.trim_start_matches("at ").trim_start_matches("after ").trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(text.len());
    let (clock, behind) = (&text[..end], text[end..].trim_start());
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let half = behind.get(..2).map(str::to_ascii_lowercase);
    let (hour, zone) = match half.as_deref() {
        Some("am") if hour <= 12 => (hour % 12, behind[2..].trim()),
        Some("pm") if hour <= 12 => (hour % 12 + 12, behind[2..].trim()),
        _ if clock.contains(':') => (hour, behind),
        _ => return None,
    };
    if 23 < hour || 59 < minute {
        return None;
    }
    let is_utc = ["UTC", "(UTC)", "GMT", "Z"].iter().any(|name| zone.starts_with(name));
    let offset = if is_utc { 0 } else { i64::from(local_offset_minutes) };
    let day_start = (now.unix_micros() + offset * MINUTE).div_euclid(DAY) * DAY - offset * MINUTE;
    let at = day_start + (hour * 60 + minute) * MINUTE;
    Some(Timestamp::from_unix_micros(if at <= now.unix_micros() { at + DAY } else { at }))
}
