//! Common words: statuses, counts, yes and no.

use std::collections::BTreeMap;

use super::text::{Text, Tone};

/// Formats counts as `2 pending, 1 approved`; `None` if all are zero.
pub(super) fn counts(counts: &BTreeMap<String, u64>) -> Option<String> {
    let counts = counts.iter().filter(|(_, count)| **count != 0);
    let counts: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// Writes `yes` or `no`.
pub(super) fn yes_no(value: bool) -> Text {
    Text::from(if value { "yes" } else { "no" })
}

/// Writes `yes` as good, or `no` as bad.
pub(super) fn good_or_bad(value: bool) -> Text {
    if value { Text::new(Tone::Good, "yes") } else { Text::new(Tone::Bad, "no") }
}

/// Writes a number, or nothing.
pub(super) fn number(number: Option<impl ToString>) -> Text {
    Text::from(number.map_or_else(String::new, |number| number.to_string()))
}

/// Formats the tool of a call or run, and what is done to it unless it is run.
pub(super) fn tool_of(id: &str, kind: &str) -> Text {
    let tool = Text::from(id);
    if kind == "run" { tool } else { tool.then(Tone::Faint, &format!(" ({kind})")) }
}

/// Formats a status in its tone.
pub(crate) fn status(word: &str) -> Text {
    let tone = match word {
        "approved" | "completed" | "running" | "ready" | "current" | "ok" | "resumed" => Tone::Good,
        "pending" | "held" | "waiting" | "resume-pending" | "stale" | "missing" => Tone::Warning,
        "failed" | "rejected" | "timed-out" | "interrupted" | "conflicted" | "unmanaged" | "invalid"
        | "blocked" => Tone::Bad,
        _ => Tone::Plain,
    };
    Text::new(tone, word)
}

pub(crate) fn diff_line(line: &str) -> Text {
    let tone = match line.chars().next() {
        Some('+') => Tone::Good,
        Some('-') => Tone::Bad,
        Some('@') => Tone::Accent,
        _ => Tone::Plain,
    };
    Text::new(tone, line)
}

#[cfg(test)]
mod tests {
    #[test]
    fn zero_counts_are_left_out() {
        let text = |counts: &[(&str, u64)]| {
            super::counts(&counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect())
        };
        assert_eq!(text(&[("pending", 2), ("held", 0)]), Some("2 pending".to_owned()));
        assert_eq!(text(&[]), None);
    }
}
