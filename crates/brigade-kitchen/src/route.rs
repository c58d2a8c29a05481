//! Chooses the tier that starts a task, and infers what a command without a type verifies.

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::names::Tier;
use crate::prd::{Complexity, Task, VerificationKind};
use crate::words::Words;

/// The tier that starts a task, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Route {
    /// The tier.
    pub tier: Tier,
    /// The reason, in one sentence.
    pub reason: String,
}

/// Words of routine work, with their weights.
const ROUTINE: &[(&str, i32)] = &[
    ("boilerplate", 3),
    ("changelog", 3),
    ("comment", 2),
    ("copy", 2),
    ("crud", 2),
    ("docs", 3),
    ("document", 3),
    ("documentation", 3),
    ("fixture", 2),
    ("format", 1),
    ("label", 2),
    ("lint", 2),
    ("readme", 3),
    ("rename", 3),
    ("spelling", 3),
    ("stub", 2),
    ("style", 1),
    ("test", 2),
    ("text", 1),
    ("translation", 2),
    ("typo", 3),
];

/// Words of hard work, with their weights.
const HARD: &[(&str, i32)] = &[
    ("architecture", 3),
    ("auth", 3),
    ("authentication", 3),
    ("authorization", 3),
    ("cache", 1),
    ("concurrency", 3),
    ("concurrent", 3),
    ("connect", 2),
    ("crypto", 3),
    ("deadlock", 3),
    ("design", 2),
    ("encrypt", 3),
    ("integrate", 2),
    ("integration", 2),
    ("migrate", 3),
    ("migration", 3),
    ("oauth", 3),
    ("optimize", 2),
    ("parser", 2),
    ("payment", 3),
    ("performance", 2),
    ("permission", 2),
    ("protocol", 2),
    ("race", 2),
    ("refactor", 2),
    ("schema", 1),
    ("security", 3),
    ("session", 1),
    ("token", 1),
    ("transaction", 3),
    ("wire", 2),
    ("workflow", 1),
];

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
    let score = |table: &[(&'static str, i32)]| {
        let (mut points, mut found) = (0, Vec::new());
        for (word, weight) in table {
            let counted = if title.has(word) { *weight } else { i32::from(criteria.has(word)) };
            if 0 < counted {
                points += counted;
                found.push((*word).to_owned());
            }
        }
        (points, found)
    };
    let (mut routine, mut routine_words) = score(ROUTINE);
    let (mut hard, mut hard_words) = score(HARD);
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

/// Programs that only read files and texts, as PRDs use them. This guesses what a command is meant to verify, as v0.30
/// did. What a program may do is defined in the table of programs.
const READERS: &[&str] = &[
    "[", "[[", "ack", "ag", "awk", "basename", "cat", "cmp", "cut", "diff", "dirname", "echo", "egrep",
    "false", "fgrep", "file", "find", "git", "grep", "head", "jq", "ls", "printf", "readlink", "rg", "sed",
    "sort", "stat", "tail", "test", "tr", "true", "uniq", "wc", "yq",
];

/// Programs that run unit tests.
const TESTERS: &[&str] = &[
    "bats", "cargo", "ctest", "deno", "go", "gradle", "gradlew", "jest", "make", "mocha", "mvn", "node",
    "npm", "nose2", "nox", "npx", "phpunit", "pnpm", "pytest", "python", "python3", "rake", "rspec", "swift",
    "tap", "tox", "vitest", "yarn", "bun", "dotnet", "mix", "prove", "unittest", "just",
];

/// Words that indicate integration tests.
const TOGETHER: &[&str] =
    &["acceptance", "cypress", "e2e", "end-to-end", "integration", "playwright", "system"];

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
    if names.iter().all(|name| READERS.contains(name)) {
        return VerificationKind::Pattern;
    }
    let text = command.text().to_lowercase();
    if TOGETHER.iter().any(|word| text.contains(word)) {
        return VerificationKind::Integration;
    }
    let only_asks = started
        .iter()
        .any(|words| matches!(words.last().map(String::as_str), Some("--help" | "--version" | "-h" | "-V")));
    if !only_asks && names.iter().any(|name| TESTERS.contains(name)) {
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
