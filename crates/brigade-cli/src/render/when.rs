//! Times and durations for people.

use brigade::core::Timestamp;

use super::text::{Text, Tone};

/// Formats a stored time with its age. Text that is not a time is shown unchanged.
pub(crate) fn moment(stored: &str, now: Timestamp) -> Text {
    stored.parse().map_or_else(|_| Text::from(stored), |time| at(time, now))
}

/// Formats a time with its age.
pub(crate) fn at(time: Timestamp, now: Timestamp) -> Text {
    Text::from(clock(time)).then(Tone::Faint, &format!(" ({})", distance(time, now)))
}

/// Formats a time as `2026-01-31 12:00:00 UTC`.
pub(crate) fn clock(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.get(..19).unwrap_or(&text).replacen('T', " ", 1);
    format!("{seconds} UTC")
}

/// Formats a time relative to now: `2 hours ago`, `in 5 minutes`.
pub(crate) fn distance(at: Timestamp, now: Timestamp) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(at: &str, expect: &str) {
        let now = "2026-11-21T20:00:00Z".parse().unwrap();
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
        let now = "2026-11-21T20:00:00Z".parse().unwrap();
        let expect = Text::from("2026-11-21 19:00:00 UTC").then(Tone::Faint, " (1 hour ago)");
        assert_eq!(moment("2026-11-21T20:00:00+01:00", now), expect);
        assert_eq!(moment("soon", now), Text::from("soon"));
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
