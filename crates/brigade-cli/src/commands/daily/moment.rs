//! Times as people type them: `yesterday`, `2h`, `2026-01-31`, `14:30`.

use brigade::core::{Timestamp, closest};
use brigade::{Error, ErrorKind};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The words for times.
const WORDS: [&str; 3] = ["now", "today", "yesterday"];

/// Reads a time of an option. An error says which times there are.
pub(super) fn of_option(
    option: &str,
    text: &str,
    now: Timestamp,
    offset_minutes: i32,
) -> Result<Timestamp, Error> {
    read(text, now, offset_minutes).ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, format!("{option} needs a time"));
        let near = closest(text.trim(), WORDS).map(|near| format!("did you mean `{near}`?"));
        near.into_iter()
            .fold(error, Error::hint)
            .hint("times are yesterday, today, 2h, 3d, 14:30, 2026-01-31")
    })
}

/// Reads a time. Days and times of day are local; `offset_minutes` is how far local time is ahead of UTC.
fn read(text: &str, now: Timestamp, offset_minutes: i32) -> Option<Timestamp> {
    let offset = i64::from(offset_minutes) * 60 * SECOND;
    let local_now = now.unix_micros() + offset;
    let today = local_now.div_euclid(DAY) * DAY;
    let local = |micros: i64| Some(Timestamp::from_unix_micros(micros - offset));
    let text = text.trim();
    match text {
        "now" => return Some(now),
        "today" => return local(today),
        "yesterday" => return local(today - DAY),
        _ => {}
    }
    let unit = text.chars().last()?;
    if let Ok(count) = text[..text.len() - unit.len_utf8()].parse::<u32>() {
        let seconds = match unit {
            's' => Some(1),
            'm' => Some(60),
            'h' => Some(3_600),
            'd' => Some(86_400),
            'w' => Some(7 * 86_400),
            _ => None,
        };
        if let Some(seconds) = seconds {
            let ago = i64::from(count) * seconds * SECOND;
            return Some(Timestamp::from_unix_micros(now.unix_micros() - ago));
        }
    }
    if text.len() <= 8 && text.contains(':') {
        let date = Timestamp::from_unix_micros(today).to_string();
        let clock: Timestamp = format!("{} {text}", date.get(..10)?).parse().ok()?;
        return local(clock.unix_micros());
    }
    let written: Timestamp = text.parse().ok()?;
    // A time with an offset is not local.
    let has_offset = text.get(10..).is_some_and(|rest| rest.contains(['Z', 'z', '+', '-']));
    if has_offset { Some(written) } else { local(written.unix_micros()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, offset: i32, expect: &str) {
        let now = "2026-11-29T01:30:00Z".parse().unwrap();
        let read = read(text, now, offset).map(|time| time.to_string());
        assert_eq!(read.as_deref(), Some(format!("{expect}+00:00").as_str()), "{text}");
    }

    #[test]
    fn typed_times_are_local() {
        check("now", 0, "2026-11-29T01:30:00");
        check("2h", 60, "2026-11-28T23:30:00");
        check("3d", 0, "2026-11-26T01:30:00");
        check("today", 0, "2026-11-29T00:00:00");
        check("yesterday", 120, "2026-11-27T22:00:00");
        // In the west it is still the day before.
        check("today", -120, "2026-11-28T02:00:00");
        check("2026-11-01", 60, "2026-10-31T23:00:00");
        check("2026-11-01 12:00", 60, "2026-11-01T11:00:00");
        check("2026-11-01T12:00:00Z", 60, "2026-11-01T12:00:00");
        check("00:15", 60, "2026-11-28T23:15:00");
        for text in ["", "soon", "2x", "h", "25:00", "2026-13-01", "é"] {
            assert_eq!(read(text, Timestamp::from_unix_micros(0), 0), None, "{text}");
        }
    }
    #[test]
    fn a_word_like_a_time_is_suggested() {
        let hints = |text: &str| -> Vec<String> {
            let error = of_option("--since", text, Timestamp::from_unix_micros(0), 0).unwrap_err();
            error.hints().iter().map(ToString::to_string).collect()
        };
        assert_eq!(hints("yesteday")[0], "did you mean `yesterday`?");
        assert_eq!(hints("soon"), ["times are yesterday, today, 2h, 3d, 14:30, 2026-01-31"]);
    }
}
