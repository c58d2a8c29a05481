//! Flags of the shell program that precede the verb: `brigade --dry-run service PRD`.

use std::ffi::{OsStr, OsString};

/// The verbs of the shell program. They also exist at the top level.
const VERBS: [&str; 9] =
    ["plan", "service", "ticket", "status", "resume", "validate", "summary", "map", "cost"];

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

/// Global options with a value.
const GLOBALS: [&str; 4] = ["--target", "-t", "--color", "--lock-timeout"];

/// Flags that every verb of the shell program accepts, even without effect.
const COMMON_FLAGS: [&str; 3] = ["--auto-continue", "--walkaway", "--sequential"];

/// Returns whether a verb accepts a flag without effect.
fn has_no_effect(verb: &str, flag: &str) -> bool {
    match verb {
        "plan" | "map" | "summary" | "cost" => COMMON_FLAGS.contains(&flag),
        // These verbs never start or change anything.
        "validate" | "status" => flag == "--dry-run" || COMMON_FLAGS.contains(&flag),
        "ticket" => ["--auto-continue", "--sequential"].contains(&flag),
        _ => false,
    }
}

/// Removes flags after a verb that have no effect on it.
fn without_silent(verb: &str, rest: Vec<OsString>) -> Vec<OsString> {
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let is_silent = |word: &OsString| word.to_str().is_some_and(|flag| has_no_effect(verb, flag));
    // A task may have a name like a flag.
    let others = rest[..end].iter().filter(|word| !word.to_string_lossy().starts_with('-')).count();
    if verb == "ticket" && others < 2 {
        return rest;
    }
    let kept = rest.into_iter().enumerate().filter(|(at, word)| end <= *at || !is_silent(word));
    kept.map(|(_, word)| word).collect()
}

/// Moves flags that precede a verb after it, and removes those without effect. Returns other command lines unchanged.
pub(crate) fn rearrange(words: &[OsString]) -> Vec<OsString> {
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
        } else if VERBS.contains(&text) || is_kitchen && !moved.is_empty() {
            moved.retain(|flag: &OsString| !flag.to_str().is_some_and(|flag| has_no_effect(text, flag)));
            let rest = without_silent(text, rest.collect());
            kept.push(word.clone());
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
            rearrange(&words).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(found.join(" "), expect);
    }

    #[test]
    fn flags_before_a_verb_move_after_it() {
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
    fn flags_that_say_nothing_are_taken_and_left_out() {
        check("brigade --dry-run --walkaway validate a.json", "brigade validate a.json");
        check("brigade kitchen status --sequential a.json", "brigade kitchen status a.json");
        check("brigade --walkaway plan x --auto-continue", "brigade plan x");
        check("brigade --sequential --dry-run ticket a.json A", "brigade ticket --dry-run a.json A");
        check("brigade ticket a.json A --sequential --walkaway", "brigade ticket a.json A --walkaway");
        check("brigade --dry-run summary a.json", "brigade summary --dry-run a.json");
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
            "brigade ticket a.json --sequential",
            "brigade map -- --walkaway",
            "brigade tools status --sequential",
        ] {
            check(line, line);
        }
    }
}
