//! The time at which a provider's limit ends.

use std::sync::LazyLock;
use std::time::Duration;

use brigade_core::Timestamp;
use regex::Regex;

use super::table::pattern;

/// A provider's limit that a worker ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// When the limit ends, if the output says so.
    pub until: Option<Timestamp>,
    /// Whether the message is a known one. Another text only mentions a limit, so a person must look.
    pub is_known: bool,
}

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The days of a week. The first day since 1970 was a Thursday.
const WEEKDAYS: [&str; 7] = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];

/// Time zones that programs name, with their offsets in minutes in winter, and the continent whose summer time they
/// have. A name that ends with `/` is a prefix.
const ZONES: &str = include_str!("zones.txt");

/// A date, as a message names it.
enum Date {
    /// A year, a month and a day.
    Full(i64, u32, u32),
    /// The next day with this month and day.
    OfYear(u32, u32),
    /// The next day of the week.
    OfWeek(i64),
    /// This many days from today.
    InDays(i64),
    /// None: the next time of day.
    Next,
}

fn regex(text: &str) -> Regex {
    pattern(text).expect("a pattern of ours compiles")
}

static ISO: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d{4})-(\d{2})-(\d{2})(?:T|\b[ ,]*(?:at )?)"));
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4})\b)?,? ?(?:at )?",
    )
});
static SLASHED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(\d{1,2})/(\d{1,2})(?:/(\d{4}))?\b,? ?(?:at )?"));
static WEEKDAY: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:on |next )?(mon|tue|wed|thu|fri|sat|sun)[a-z]*\b,? ?(?:at )?"));
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:at |after )?(\d{1,2})(?::(\d{2}))?(?::(\d{2})(?:\.\d+)?)? ?(am\b|pm\b|a\.m\.|p\.m\.)?")
});
static OFFSET: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?\b"));

/// Parses the time at which a limit ends. Accepts seconds since 1970, a duration such as `in 3 hours 42 minutes` or
/// `34.07s`, and a time of day, perhaps with a date or a day of the week, and with a time zone: `3pm (Europe/Berlin)`,
/// `Jan 22 at 5pm`, `2026-01-22 17:00:00`. Without a date, the time is within the next 24 hours. Without a known time
/// zone, it is local time.
///
/// ```
/// use brigade_kitchen::adapter::reset_time;
///
/// let now = "2026-01-19T12:00:00Z".parse().unwrap();
/// let at = |text| reset_time(text, now, 60).map(|time| time.to_string());
/// assert_eq!(at("in 3 hours 42 minutes").as_deref(), Some("2026-01-19T15:42:00+00:00"));
/// assert_eq!(at("Jan 22 at 5pm (UTC)").as_deref(), Some("2026-01-22T17:00:00+00:00"));
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
    let (date, rest) = date(text);
    if matches!(date, Date::Next)
        && let Some(duration) = duration(text)
    {
        let micros = i64::try_from(duration.as_micros()).ok()?;
        return Some(Timestamp::from_unix_micros(now.unix_micros().checked_add(micros)?));
    }
    let (seconds, zone) = match (clock(rest), &date) {
        (Some(found), _) => found,
        (None, Date::Next) => return None,
        (None, _) => (0, rest),
    };
    moment(&date, seconds * 1_000_000, zone, now, i64::from(local_offset_minutes))
}

/// Splits a date off a text. The rest begins with the time of day.
fn date(text: &str) -> (Date, &str) {
    let number = |text: Option<regex::Match<'_>>| text.and_then(|text| text.as_str().parse::<u32>().ok());
    let lower = text.to_ascii_lowercase();
    if let Some(found) = ISO.captures(text) {
        let date = Date::Full(
            number(found.get(1)).unwrap_or_default().into(),
            number(found.get(2)).unwrap_or_default(),
            number(found.get(3)).unwrap_or_default(),
        );
        return (date, &text[found.get(0).map_or(0, |whole| whole.end())..]);
    }
    for (pattern, is_named) in [(&NAMED, true), (&SLASHED, false)] {
        let Some(found) = pattern.captures(text) else { continue };
        let month = match is_named {
            true => {
                let name = found[1].to_ascii_lowercase();
                MONTHS.iter().position(|month| *month == name).map_or(0, |at| at as u32 + 1)
            }
            false => number(found.get(1)).unwrap_or_default(),
        };
        let day = number(found.get(2)).unwrap_or_default();
        let date = match number(found.get(3)) {
            Some(year) => Date::Full(year.into(), month, day),
            None => Date::OfYear(month, day),
        };
        return (date, &text[found.get(0).map_or(0, |whole| whole.end())..]);
    }
    if let Some(found) = WEEKDAY.captures(text) {
        let name = found[1].to_ascii_lowercase();
        let day = WEEKDAYS.iter().position(|day| *day == name).map_or(0, |at| at as i64);
        return (Date::OfWeek(day), &text[found.get(0).map_or(0, |whole| whole.end())..]);
    }
    for (word, days) in [("tomorrow", 1), ("today", 0)] {
        if lower.starts_with(word) {
            return (Date::InDays(days), text[word.len()..].trim_start_matches([',', ' ']));
        }
    }
    (Date::Next, text)
}

/// Parses a time of day. Returns its seconds, and the text after it.
fn clock(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start();
    let found = CLOCK.captures(text)?;
    let number = |at: usize| found.get(at).map_or(Some(0), |text| text.as_str().parse::<i64>().ok());
    let (hour, minute, second) = (number(1)?, number(2)?, number(3)?);
    let half = found.get(4).map(|half| half.as_str().to_ascii_lowercase());
    let hour = match half.as_deref().map(|half| half.starts_with('p')) {
        Some(is_afternoon) if (1..=12).contains(&hour) => hour % 12 + if is_afternoon { 12 } else { 0 },
        Some(_) => return None,
        None if found.get(2).is_some() => hour,
        None => return None,
    };
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then(|| (hour * 3600 + minute * 60 + second, text[found[0].len()..].trim()))
}

/// Returns the days from 1970 to a date.
fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    let at: Timestamp = format!("{year:04}-{month:02}-{day:02}T00:00:00Z").parse().ok()?;
    Some(at.unix_micros().div_euclid(DAY))
}

/// Returns the year of a day.
fn year_of(days: i64) -> Option<i64> {
    Timestamp::from_unix_micros(days * DAY).to_string().get(..4)?.parse().ok()
}

/// Combines a date, a time of day and a time zone.
fn moment(date: &Date, time: i64, zone: &str, now: Timestamp, local: i64) -> Option<Timestamp> {
    let now = now.unix_micros();
    let at = |days: i64| Some(days * DAY + time - offset_of(zone, days, local)? * MINUTE);
    let today = (now + offset_of(zone, now.div_euclid(DAY), local)? * MINUTE).div_euclid(DAY);
    let found = match *date {
        Date::Full(year, month, day) => at(days_of(year, month, day)?)?,
        Date::OfYear(month, day) => {
            let year = year_of(today)?;
            let this = at(days_of(year, month, day)?)?;
            if this <= now - DAY { at(days_of(year + 1, month, day)?)? } else { this }
        }
        Date::OfWeek(day) => {
            let next = today + (day - today).rem_euclid(7);
            let this = at(next)?;
            if this <= now { at(next + 7)? } else { this }
        }
        Date::InDays(days) => at(today + days)?,
        Date::Next => {
            let this = at(today)?;
            if this <= now { at(today + 1)? } else { this }
        }
    };
    Some(Timestamp::from_unix_micros(found))
}

/// Returns the offset of a time zone on a day, in minutes. An unknown or missing zone is the local one.
fn offset_of(zone: &str, days: i64, local: i64) -> Option<i64> {
    let zone = zone.trim_start_matches(['(', ' ']);
    if let Some(found) = OFFSET.captures(zone) {
        let hours: i64 = found[2].parse().ok()?;
        let minutes: i64 = found.get(3).map_or(Ok(0), |minutes| minutes.as_str().parse()).ok()?;
        let offset = hours * 60 + minutes;
        return Some(if &found[1] == "-" { -offset } else { offset });
    }
    let end =
        zone.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '_'))).unwrap_or(zone.len());
    let named = &zone[..end];
    let is_it = |name: &str| named == name || name.ends_with('/') && named.starts_with(name);
    let words = ZONES.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|words| is_it(words[0]));
    let Some(words) = words else { return Some(local) };
    let offset: i64 = words[1].parse().ok()?;
    let year = year_of(days)?;
    let sunday_from = |month, day| {
        let first = days_of(year, month, day)?;
        Some(first + (3 - first).rem_euclid(7))
    };
    let is_summer = match words.get(2) {
        // From the second Sunday of March to the first one of November.
        Some(&"america") => (sunday_from(3, 8)?..sunday_from(11, 1)?).contains(&days),
        // From the last Sunday of March to the last one of October.
        Some(_) => (sunday_from(3, 25)?..sunday_from(10, 25)?).contains(&days),
        None => false,
    };
    Some(offset + if is_summer { 60 } else { 0 })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, now: &str, expect: &str) {
        let found = reset_time(text, now.parse().unwrap(), 60).map(|time| time.to_string());
        assert_eq!(found.unwrap_or_default(), expect.replace('Z', "+00:00"), "{text} at {now}");
    }

    #[test]
    fn dates_and_zones_are_read() {
        const WINTER: &str = "2026-01-19T12:00:00Z";
        const SUMMER: &str = "2026-07-01T12:00:00Z";
        check("3pm (America/New_York)", WINTER, "2026-01-19T20:00:00Z");
        check("3pm (America/New_York)", SUMMER, "2026-07-01T19:00:00Z");
        check("3pm (Europe/Madrid)", SUMMER, "2026-07-01T13:00:00Z");
        check("9am Pacific", WINTER, "2026-01-19T17:00:00Z");
        check("15:00 UTC+2", WINTER, "2026-01-19T13:00:00Z");
        check("11am", WINTER, "2026-01-20T10:00:00Z");
        check("tomorrow at 8:05 am (UTC)", WINTER, "2026-01-20T08:05:00Z");
        check("Dec 24, 6pm (UTC)", WINTER, "2026-12-24T18:00:00Z");
        check("Jan 2nd at 5pm (UTC)", WINTER, "2027-01-02T17:00:00Z");
        check("Wednesday 7am (UTC)", WINTER, "2026-01-21T07:00:00Z");
        check("11/30/2026", WINTER, "2026-11-29T23:00:00Z");
        check("2026-01-20T01:02:03Z", WINTER, "2026-01-20T01:02:03Z");
        check("2026-01-20T01:02:03+05:30", WINTER, "2026-01-19T19:32:03Z");
        for text in ["soon", "13pm", "25:00", "Feb 31 at 5pm", "at 7", ""] {
            check(text, WINTER, "");
        }
    }
}
