//! The lines of the activity log of a service.

use brigade_core::Timestamp;
use brigade_core::text::{escape_terminal, short};

use crate::names::{PrdName, TaskId, Tier};

/// The maximum length of a reason in a line.
const MAX_REASON: usize = 200;

/// Returns a number with its noun, such as `1 start` and `2 starts`.
pub fn pluralize(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// Formats seconds for people: `45s`, `3m 45s`, `1h 2m`.
///
/// ```
/// use brigade_kitchen::show::duration;
///
/// assert_eq!([duration(45), duration(225), duration(3725)], ["45s", "3m 45s", "1h 2m"]);
/// ```
pub fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// Formats the local time of day in square brackets.
fn clock(now: Timestamp, local_offset_minutes: i32) -> String {
    let micros = now.unix_micros() + i64::from(local_offset_minutes) * 60_000_000;
    let text = Timestamp::from_unix_micros(micros).to_string();
    format!("[{}]", text.get(11..19).unwrap_or_default())
}

fn reason(text: &str) -> String {
    short(&escape_terminal(text), MAX_REASON)
}

/// What the activity log says about a task.
#[derive(Clone, Copy, Debug)]
pub enum TaskNote<'a> {
    /// A worker has been working on it for so many seconds: `Sous Chef working (3m 45s)`.
    Working(u64),
    /// It was completed after so many seconds: `Sous Chef completed (225s)`.
    Done(u64),
    /// It was handed over to a tier: `Line Cook escalated to Sous Chef (3 failed attempts)`.
    Escalated(Tier, &'a str),
    /// It failed: `Sous Chef failed (the review failed)`.
    Failed(&'a str),
}

/// Returns a line about a task in a tier, such as `[12:45:30] add-auth/US-005: Sous Chef completed (225s)`.
pub fn activity(
    now: Timestamp,
    local_offset_minutes: i32,
    prd: &PrdName,
    task: &TaskId,
    tier: Tier,
    note: TaskNote<'_>,
) -> String {
    let note = match note {
        TaskNote::Working(seconds) => format!("working ({})", duration(seconds)),
        TaskNote::Done(seconds) => format!("completed ({seconds}s)"),
        TaskNote::Escalated(to, why) => format!("escalated to {} ({})", to.title(), reason(why)),
        TaskNote::Failed(why) => format!("failed ({})", reason(why)),
    };
    format!("{} {}: {} {note}", clock(now, local_offset_minutes), prd.shown(task), tier.title())
}

/// `⚠️ add-auth/US-005 running 45m (expected ~20m for Sous Chef)`
pub fn slow(prd: &PrdName, task: &TaskId, tier: Tier, minutes: u64, expected: u64) -> String {
    format!("⚠️ {} running {minutes}m (expected ~{expected}m for {})", prd.shown(task), tier.title())
}

/// Returns the name of a worker's log: `add-auth-US-005-sous-2026-01-19-143022.log`. From 2 on, the number is added to
/// the name, for names that already exist.
pub fn worker_log(prd: &PrdName, task: &TaskId, tier: Tier, now: Timestamp, number: u32) -> String {
    let compact = now.compact();
    let (date, time) = compact.split_once('-').unwrap_or((&compact, ""));
    let part = |from: usize, to: usize| date.get(from..to).unwrap_or_default();
    let day = format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8));
    let number = if number < 2 { String::new() } else { format!("-{number}") };
    format!("{}-{task}-{tier}-{day}-{time}{number}.log", prd.prefix())
}
