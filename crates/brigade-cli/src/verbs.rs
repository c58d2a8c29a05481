//! The flags of the shell program, which it took before the verb: `brigade --dry-run service PRD`.

use std::ffi::{OsStr, OsString};

/// The verbs of the shell program, which also stand at the top level.
const VERBS: [&str; 8] = ["plan", "service", "ticket", "status", "resume", "validate", "summary", "map"];

/// Flags without a value.
const FLAGS: [&str; 6] = ["--dry-run", "--auto-continue", "--walkaway", "--sequential", "--merge", "--push"];

/// Flags with a value.
const OPTIONS: [&str; 11] = [
    "--only",
    "--skip",
    "--from",
    "--until",
    "--max-parallel",
    "--max-iterations",
    "--max-cost",
    "--max-time",
    "--max-attempts",
    "--phase-gate",
    "--fingerprint",
];

/// Options of every command that have a value.
const GLOBALS: [&str; 4] = ["--target", "-t", "--color", "--lock-timeout"];

/// Moves flags of a verb that stand before it behind it. Other command lines stay as they are.
pub(crate) fn rearranged(words: &[OsString]) -> Vec<OsString> {
    let (mut kept, mut moved) = (Vec::new(), Vec::new());
    let mut rest = words.iter().cloned();
    kept.extend(rest.next());
    let mut is_kitchen = false;
    while let Some(word) = rest.next() {
        let text = word.to_str().unwrap_or_default();
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let has_value = name == text;
        if FLAGS.contains(&text) {
            moved.push(word);
        } else if OPTIONS.contains(&name) {
            moved.push(word.clone());
            if has_value {
                moved.extend(rest.next());
            }
        } else if GLOBALS.contains(&text) {
            kept.push(word.clone());
            kept.extend(rest.next());
        } else if text.starts_with('-') && word != OsStr::new("--") {
            kept.push(word);
        } else if text == "kitchen" && !is_kitchen {
            is_kitchen = true;
            kept.push(word);
        } else if !moved.is_empty() && (is_kitchen || VERBS.contains(&text)) {
            kept.push(word);
            return kept.into_iter().chain(moved).chain(rest).collect();
        } else {
            break;
        }
    }
    words.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found: Vec<String> =
            rearranged(&words).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(found.join(" "), expect);
    }

    #[test]
    fn flags_before_a_verb_go_behind_it() {
        check("brigade --dry-run service a.json", "brigade service --dry-run a.json");
        check(
            "brigade -t /w --only A,B --json service a.json --skip C",
            "brigade -t /w --json service --only A,B a.json --skip C",
        );
        check(
            "brigade kitchen --walkaway --max-cost=5 service",
            "brigade kitchen service --walkaway --max-cost=5",
        );
        check("brigade --sequential kitchen resume retry", "brigade kitchen resume --sequential retry");
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in [
            "brigade service --dry-run a.json",
            "brigade --dry-run tools list",
            "brigade --dry-run",
            "brigade tools --dry-run apply",
            "brigade --json status",
            "brigade -- --dry-run service",
        ] {
            check(line, line);
        }
    }
}
