//! Times and durations for people.

use brigade::core::Timestamp;

use super::text::{Text, Tone};

/// The current time, and how times are shown: in local time on terminals, and in UTC elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// The current time.
    pub at: Timestamp,
    /// How far local time is ahead of UTC, in minutes; `None` to show UTC.
    pub offset_minutes: Option<i32>,
}

impl From<Timestamp> for Now {
    fn from(at: Timestamp) -> Now {
        Now { at, offset_minutes: None }
    }
}

impl Now {
    /// Returns the local date and time of a moment, without seconds for the same day.
    pub(crate) fn brief(self, time: Timestamp) -> String {
        let text = |time| local(time, self.offset_minutes.unwrap_or(0));
        let (shown, today) = (text(time), text(self.at));
        match shown.get(..10) == today.get(..10) {
            true => shown.get(11..19).unwrap_or(&shown).to_owned(),
            false => shown.get(5..16).unwrap_or(&shown).to_owned(),
        }
    }
}

/// Formats a time as `2026-01-31 12:00:00` at this distance from UTC.
fn local(time: Timestamp, offset_minutes: i32) -> String {
    let micros = time.unix_micros().saturating_add(i64::from(offset_minutes) * 60_000_000);
    let text = Timestamp::from_unix_micros(micros).to_string();
    text.get(..19).unwrap_or(&text).replacen('T', " ", 1)
}

/// Formats a stored time with its age. Text that is not a time is shown unchanged.
pub(crate) fn moment(stored: &str, now: impl Into<Now>) -> Text {
    stored.parse().map_or_else(|_| Text::from(stored), |time| at(time, now))
}

/// Formats a time with its age.
pub(crate) fn at(time: Timestamp, now: impl Into<Now>) -> Text {
    let now = now.into();
    let shown = now.offset_minutes.map_or_else(|| clock(time), |offset| local(time, offset));
    Text::from(shown).then(Tone::Faint, &format!(" ({})", distance(time, now)))
}

/// Formats a time as `2026-01-31 12:00:00 UTC`.
pub(crate) fn clock(at: Timestamp) -> String {
    format!("{} UTC", local(at, 0))
}

/// Formats a time relative to now: `2 hours ago`, `in 5 minutes`.
pub(crate) fn distance(at: Timestamp, now: impl Into<Now>) -> String {
    let now = now.into().at;
    let past = now.since(at).as_secs();
    let future = at.since(now).as_secs();
    match (past, future) {
        (0, 0) => "just now".to_owned(),
        (0, seconds) => format!("in {}", span(seconds)),
        (seconds, _) => format!("{} ago", span(seconds)),
    }
}

/// Formats a duration in its largest unit.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Formats a measured duration, rounded for people.
pub(crate) fn format_seconds(seconds: f64) -> String {
    // Round first, so that 59.96 s becomes 1 min 0 s instead of 60.0 s.
    let milliseconds = (seconds * 1_000.0).round();
    if milliseconds < 1_000.0 {
        return format!("{milliseconds} ms");
    }
    let tenths = (seconds * 10.0).round();
    if tenths < 600.0 {
        return format!("{:.1} s", tenths / 10.0);
    }
    let whole = seconds.round();
    format!("{} min {} s", (whole / 60.0).floor(), whole % 60.0)
}

/// Formats a limit in seconds: `30 s`.
pub(crate) fn limit(seconds: f64) -> String {
    format!("{seconds} s")
}

/// Returns the age of something, in few characters: `3m`, `2h`, `5d`.
pub(crate) fn age(at: Option<Timestamp>, now: Now) -> String {
    let Some(at) = at else { return String::new() };
    match now.at.since(at).as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(at: &str, expect: &str) {
        let now: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        assert_eq!(distance(at.parse().unwrap(), now), expect);
    }

    #[test]
    fn distances_are_in_their_largest_unit() {
        check("2026-11-21T20:00:00Z", "just now");
        check("2026-11-21T19:59:59.5Z", "just now");
        check("2026-11-21T19:59:59Z", "1 second ago");
        check("2026-11-21T19:58:00Z", "2 minutes ago");
        check("2026-11-21T18:58:00Z", "1 hour ago");
        check("2026-11-01T20:00:00Z", "20 days ago");
        check("2026-11-21T20:00:30Z", "in 30 seconds");
    }

    #[test]
    fn a_time_has_its_age_and_other_text_is_unchanged() {
        let now: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        let expect = Text::from("2026-11-21 19:00:00 UTC").then(Tone::Faint, " (1 hour ago)");
        assert_eq!(moment("2026-11-21T20:00:00+01:00", now), expect);
        assert_eq!(moment("soon", now), Text::from("soon"));
    }

    #[test]
    fn terminals_show_local_time() {
        let now = Now { at: "2026-11-21T20:00:00Z".parse().unwrap(), offset_minutes: Some(90) };
        let hour_ago: Timestamp = "2026-11-21T19:00:00Z".parse().unwrap();
        assert_eq!(at(hour_ago, now), Text::from("2026-11-21 20:30:00").then(Tone::Faint, " (1 hour ago)"));
        assert_eq!(now.brief(hour_ago), "20:30:00");
        assert_eq!(now.brief("2026-11-20T19:00:00Z".parse().unwrap()), "11-20 20:30");
    }

    #[test]
    fn measured_times_are_as_precise_as_people_care() {
        assert_eq!(format_seconds(0.2234), "223 ms");
        assert_eq!(format_seconds(12.34), "12.3 s");
        assert_eq!(format_seconds(125.0), "2 min 5 s");
        assert_eq!(format_seconds(0.0004), "0 ms");
        assert_eq!(format_seconds(0.9996), "1.0 s");
        assert_eq!(format_seconds(59.96), "1 min 0 s");
        assert_eq!(format_seconds(119.6), "2 min 0 s");
        assert_eq!(limit(30.0), "30 s");
        assert_eq!(limit(0.5), "0.5 s");
    }
}
