//! Replaces output that differs between runs with placeholders, so that it can be compared.
//!
//! | found | replaced by |
//! | --- | --- |
//! | paths of temporary workspaces and homes | `[WORKSPACE]`, `[HOME]`, `[TEMP]` |
//! | `call-…`, `run-…`, `checkpoint-…` ids, rows of the inbox | `[CALL-1]`, `[RUN-1]`, `[CHECKPOINT-1]`, `[ROW-1]` |
//! | sha256 in hex, complete or the first 16 digits | `[SHA256-1]`, `[HASH-1]` |
//! | timestamps | `[TIME]` |
//! | durations and ages | `[DURATION]`, `[AGE]` |
//! | process ids | `[PID]` |
//!
//! Numbers count distinct values in order of appearance, so a snapshot still shows which values are equal.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The patterns, joined as alternatives in this order. The leftmost match wins, then the first alternative.
const RULES: &[(&str, &str)] = &[
    ("workspace", r#"[^\s"'`=:(,]*/brigade-test-[A-Za-z0-9]+/workspace\b"#),
    ("home", r#"[^\s"'`=:(,]*/brigade-test-[A-Za-z0-9]+/home\b"#),
    ("temp", r#"[^\s"'`=:(,]*/brigade-test-[A-Za-z0-9]+"#),
    ("row", r"\b[0-9]{8}-[0-9]{6}-task-[a-z0-9-]*[0-9a-f]{6}\b"),
    ("call", r"\bcall-[0-9a-f]{16,64}(?:-(?:queued|replay)-[0-9a-f]{16,64})?\b"),
    ("run", r"\brun-[0-9a-f]{16,64}\b"),
    ("checkpoint", r"\bcheckpoint-[0-9a-f]{16,64}\b"),
    ("sha256", r"\b[0-9a-f]{64}\b"),
    ("hash", r"\b[0-9a-f]{16}\b"),
    (
        "time",
        r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z| ?UTC|[+-][0-9]{2}:[0-9]{2})?",
    ),
    (
        "age",
        r"\b(?:just now|(?:[0-9]+|an?) ?(?:s|m|min|h|d|seconds?|minutes?|hours?|days?) ago|in (?:[0-9]+|an?) ?(?:s|m|min|h|d|seconds?|minutes?|hours?|days?)\b)",
    ),
    // A whole number of seconds is a setting (`timeout: 30 s`) and is kept. Fractions are measurements.
    ("duration", r"\b(?:[0-9]+(?:\.[0-9]+)? ?(?:ms|µs|us|ns)\b|[0-9]+\.[0-9]+ ?(?:s|seconds?)\b)"),
    ("seconds", r#"(?P<seconds_key>"duration_seconds": ?)[0-9.]+(?:e-?[0-9]+)?"#),
    ("pid", r#"(?P<pid_key>(?:"pid": ?|\bpid[ :=] ?))[0-9]+"#),
];

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives: Vec<String> =
        RULES.iter().map(|(name, expression)| format!("(?P<{name}>{expression})")).collect();
    Regex::new(&alternatives.join("|")).expect("the rules are valid expressions")
});

/// Replaces everything that differs between runs of a test, as the table in this module's source says.
///
/// Works on text for people and on JSON. Replacing twice has no further effect.
pub fn normalize(text: &str) -> String {
    let mut seen = DistinctValues::default();
    PATTERN.replace_all(text, |found: &Captures<'_>| seen.placeholder(found)).into_owned()
}

/// The distinct values found so far, by rule.
#[derive(Default)]
struct DistinctValues(HashMap<&'static str, Vec<String>>);

impl DistinctValues {
    fn placeholder(&mut self, found: &Captures<'_>) -> String {
        let (name, _) =
            RULES.iter().find(|(name, _)| found.name(name).is_some()).expect("one alternative matched");
        let key = |group| found.name(group).map_or("", |key| key.as_str());
        match *name {
            "workspace" | "home" | "temp" | "time" | "age" | "duration" => {
                format!("[{}]", name.to_uppercase())
            }
            "seconds" => format!("{}[DURATION]", key("seconds_key")),
            "pid" => format!("{}[PID]", key("pid_key")),
            numbered => {
                let values = self.0.entry(numbered).or_default();
                let value = &found[0];
                let index = values.iter().position(|known| known == value).unwrap_or_else(|| {
                    values.push(value.to_owned());
                    values.len() - 1
                });
                format!("[{}-{}]", numbered.to_uppercase(), index + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(normalize(text), expect);
        assert_eq!(normalize(expect), expect, "a normalized text stays as it is");
    }

    #[test]
    fn temporary_paths() {
        check("target: /tmp/brigade-test-a1B2/workspace/x.md", "target: [WORKSPACE]/x.md");
        check(r#"{"home":"/tmp/brigade-test-a1B2/home"}"#, r#"{"home":"[HOME]"}"#);
        check("--file=/var/folders/q/brigade-test-zz/other", "--file=[TEMP]/other");
        check("path/to/brigade-tests/workspace", "path/to/brigade-tests/workspace");
    }

    #[test]
    fn ids_are_numbered_by_first_appearance() {
        check(
            "call-0123456789abcdef call-fedcba9876543210 call-0123456789abcdef",
            "[CALL-1] [CALL-2] [CALL-1]",
        );
        check("run-0123456789abcdef.json checkpoint-0123456789abcdef", "[RUN-1].json [CHECKPOINT-1]");
        check("call-0123456789abcdef-queued-0123456789abcdef", "[CALL-1]");
        check("20260102-030405-task-repair-tool-0a1b2c", "[ROW-1]");
        check("call-me run-fast checkpoint-gate", "call-me run-fast checkpoint-gate");
    }

    #[test]
    fn hashes() {
        check(&format!("{} deadbeefdeadbeef", "ab".repeat(32)), "[SHA256-1] [HASH-1]");
        check("deadbeef 123", "deadbeef 123");
    }

    #[test]
    fn timestamps() {
        check("2026-11-21T20:16:48.184878+00:00", "[TIME]");
        check("2026-11-21T20:16:48Z and 2026-11-21 20:16 UTC.", "[TIME] and [TIME].");
        check("2026-11-21", "2026-11-21");
    }

    #[test]
    fn measured_durations_are_replaced_and_settings_kept() {
        check("took 0.031s, 12 ms", "took [DURATION], [DURATION]");
        check(
            r#"{"duration_seconds": 0.031,"timeout": 30.0}"#,
            r#"{"duration_seconds": [DURATION],"timeout": 30.0}"#,
        );
        check("timeout: 30 s", "timeout: 30 s");
        check("created just now, reviewed 3 min ago, in 2 h", "created [AGE], reviewed [AGE], [AGE]");
        check("in 5 files", "in 5 files");
    }

    #[test]
    fn process_ids() {
        check(r#"{"pid": 4711, "port": 8765}"#, r#"{"pid": [PID], "port": 8765}"#);
        check("running (pid 4711)", "running (pid [PID])");
    }
}
