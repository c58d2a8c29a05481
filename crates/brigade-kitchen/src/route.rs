//! Chooses the tier that starts a task, and infers what a command without a type verifies.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use brigade_macros::part;

use serde::Deserialize;

use crate::command::Command;
use crate::names::Tier;
use crate::prd::{Complexity, Task, VerificationKind};
use crate::words::Words;

/// The tier that starts a task, and the reason.
#[part(PartialEq, Eq)]
pub struct Route {
    /// The tier.
    pub tier: Tier,
    /// The reason, in one sentence.
    pub reason: String,
}

/// Words with which a tier or a type is chosen, from a data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownWords {
    readers: Vec<String>,
    testers: Vec<String>,
    together: Vec<String>,
    routine: BTreeMap<String, i32>,
    hard: BTreeMap<String, i32>,
}

static WORDS: LazyLock<KnownWords> =
    LazyLock::new(|| toml::from_str(include_str!("route.toml")).expect("the data file is valid"));

/// Chooses the tier that starts a task.
///
/// A complexity of `junior` or `senior` decides. For `auto` or no complexity, words of title and criteria are weighed,
/// then the number of criteria and dependencies, then the verification. A tie means senior.
///
/// ```
/// use brigade_kitchen::prd::{Lints, read};
/// use brigade_kitchen::{Tier, route};
///
/// let text = br#"{"featureName": "x", "tasks": [{"id": "a", "title": "Fix typos in the docs"}]}"#;
/// let route = route(&read("prd.json", text, Lints::ALL).prd.tasks[0]);
/// assert_eq!((route.tier, route.reason.as_str()), (Tier::Line, "auto: routine 6 (docs, typo), hard 0"));
/// ```
pub fn route(task: &Task) -> Route {
    match task.complexity {
        Some(Complexity::Junior) => Route { tier: Tier::Line, reason: "complexity is junior".to_owned() },
        Some(Complexity::Senior) => Route { tier: Tier::Sous, reason: "complexity is senior".to_owned() },
        Some(Complexity::Auto) | None => scored(task),
    }
}

fn scored(task: &Task) -> Route {
    // A word in the title has its full weight. A word only in the criteria counts one.
    let title = Words::new(&task.title);
    let criteria = Words::new(&task.acceptance_criteria.join("\n"));
    let score = |table: &BTreeMap<String, i32>| {
        let (mut points, mut found) = (0, Vec::new());
        for (word, weight) in table {
            let counted = if title.has(word) { *weight } else { i32::from(criteria.has(word)) };
            if 0 < counted {
                points += counted;
                found.push(word.clone());
            }
        }
        (points, found)
    };
    let (mut routine, mut routine_words) = score(&WORDS.routine);
    let (mut hard, mut hard_words) = score(&WORDS.hard);
    let mut count = |points: i32, reason: String| {
        hard += points;
        hard_words.push(reason);
    };
    match task.acceptance_criteria.len() {
        0..=4 => {}
        many => count(1 + i32::from(8 < many), format!("{many} criteria")),
    }
    match task.depends_on.len() {
        0 | 1 => {}
        many => count(1 + i32::from(3 < many), format!("{many} dependencies")),
    }
    if task.verifies(&[VerificationKind::Integration]) {
        count(1, "integration verification".to_owned());
    }
    if task.verifies_only_patterns() {
        routine += 1;
        routine_words.push("pattern verification".to_owned());
    }
    if title.count() + criteria.count() <= 6 && hard == 0 && routine == 0 {
        routine += 1;
        routine_words.push("few words".to_owned());
    }
    let tier = if hard < routine { Tier::Line } else { Tier::Sous };
    let named = |words: &[String]| {
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    };
    let tie = if hard == routine { "; a tie is senior" } else { "" };
    let reason =
        format!("auto: routine {routine}{}, hard {hard}{}{tie}", named(&routine_words), named(&hard_words));
    Route { tier, reason }
}

/// Infers the kind of a verification that is a plain string.
pub(crate) fn infer(command: &Command) -> VerificationKind {
    let started = command.started();
    let names: Vec<&str> = started
        .iter()
        .filter_map(|words| words.iter().find(|word| *word != "!"))
        .map(|program| program.rsplit('/').next().unwrap_or(program))
        .collect();
    // The list also has the program that a wrapper such as `timeout` starts.
    let names: Vec<&str> =
        names.into_iter().filter(|name| !matches!(*name, "cd" | "env" | "timeout")).collect();
    let has = |list: &[String], name: &str| list.iter().any(|known| known == name);
    if names.iter().all(|name| has(&WORDS.readers, name)) {
        return VerificationKind::Pattern;
    }
    let text = command.text().to_lowercase();
    if WORDS.together.iter().any(|word| text.contains(word.as_str())) {
        return VerificationKind::Integration;
    }
    let only_asks = started
        .iter()
        .any(|words| matches!(words.last().map(String::as_str), Some("--help" | "--version" | "-h" | "-V")));
    if !only_asks && names.iter().any(|name| has(&WORDS.testers, name)) {
        return VerificationKind::Unit;
    }
    VerificationKind::Smoke
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expect: VerificationKind) {
        assert_eq!(infer(&Command::parse(command).unwrap()), expect, "{command}");
    }

    #[test]
    fn the_kind_of_a_command_is_inferred() {
        use VerificationKind::{Integration, Pattern, Smoke, Unit};
        check("grep -q 'export' src/a.ts", Pattern);
        check("test -f src/a.ts && grep -q x src/a.ts", Pattern);
        check("[ -f a ] || ! grep -q x b", Pattern);
        check("timeout 5 grep -q x b", Pattern);
        check("cd src && ls a.ts", Pattern);
        check("npm test -- --grep login", Unit);
        check("grep -q x a && npm test", Unit);
        check("cargo test --lib parser", Unit);
        check("python3 -m pytest tests/unit", Unit);
        check("npm run test:integration", Integration);
        check("npx playwright test", Integration);
        check("./binary --help", Smoke);
        check("node dist/cli.js --version", Smoke);
        check("curl -sf http://localhost:3000/health", Smoke);
    }
}
