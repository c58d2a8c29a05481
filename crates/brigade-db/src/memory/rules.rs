//! Pure rules that decide which texts may become memories.

use std::collections::HashSet;

use brigade_core::words;
use brigade_redact::Redactor;

use super::{Importance, NewMemory, WriteMode};

/// The maximum length of a memory, in characters.
pub const MAX_CONTENT: usize = 2_000;

/// The share of common words, in percent of all words of both texts, that makes two texts near copies.
const NEAR_COPY_PERCENT: usize = 85;

words! {
    /// Why a memory is rejected.
    Objection {
        /// It has no words.
        Empty = "empty",
        /// It is longer than [`MAX_CONTENT`].
        TooLong = "too_long",
        /// It contains a secret. Secrets are never stored.
        Secret = "secret",
        /// It is a diff. The repository already has it.
        Diff = "diff",
        /// It is a stack trace.
        StackTrace = "stack_trace",
        /// It is a file listing, which can be produced again.
        FileListing = "file_listing",
        /// It only reports progress.
        ProgressNote = "progress_note",
        /// A strict write needs high importance.
        StrictImportance = "strict_importance",
        /// All memories of the scope are pinned, so none can be evicted.
        NoRoom = "no_room",
    }
}

impl Objection {
    /// Returns the message for the reason.
    pub const fn reason(self) -> &'static str {
        match self {
            Objection::Empty => "the content is empty",
            Objection::TooLong => "the content has more than 2000 characters; keep what matters",
            Objection::Secret => {
                "the content has a secret, and secrets are never stored; name where it is kept instead"
            }
            Objection::Diff => "the content is a diff; say what was learned from the change",
            Objection::StackTrace => "the content is a stack trace; say what caused it and what helps",
            Objection::FileListing => "the content is a file listing, which can be produced again",
            Objection::ProgressNote => "the content only reports progress; use `todo.write` for that",
            Objection::StrictImportance => "a strict write needs importance high",
            Objection::NoRoom => "there is no room: all memories of this scope are pinned",
        }
    }
}

/// Returns why a memory is rejected, or `None` if it is accepted.
pub fn objection(new: &NewMemory, redactor: &Redactor) -> Option<Objection> {
    let content = new.content.trim();
    if !content.chars().any(char::is_alphanumeric) {
        return Some(Objection::Empty);
    }
    if MAX_CONTENT < content.chars().count() {
        return Some(Objection::TooLong);
    }
    if has_secret(content, redactor) {
        return Some(Objection::Secret);
    }
    if let Some(noise) = noise(content) {
        return Some(noise);
    }
    let is_strict = new.effective_mode() == WriteMode::Strict && !new.pin;
    (is_strict && new.importance != Importance::High).then_some(Objection::StrictImportance)
}

/// Returns whether the redactor would mask anything in a text.
pub(super) fn has_secret(text: &str, redactor: &Redactor) -> bool {
    redactor.redact_str(text) != text
}

/// Recognizes text that was pasted instead of written as a memory.
fn noise(content: &str) -> Option<Objection> {
    let lines: Vec<&str> =
        content.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let count = |is: fn(&str) -> bool| lines.iter().filter(|line| is(line)).count();
    if is_diff(&lines) {
        return Some(Objection::Diff);
    }
    let frames = count(is_frame);
    if 2 <= frames || (1 <= frames && count(is_trace_head) != 0) {
        return Some(Objection::StackTrace);
    }
    // At least three lines are paths, and almost nothing else.
    let paths = count(is_path_line);
    if 3 <= paths && lines.len() <= paths + 1 {
        return Some(Objection::FileListing);
    }
    (lines.len() <= 3 && lines.iter().all(|line| is_progress(line))).then_some(Objection::ProgressNote)
}

fn is_diff(lines: &[&str]) -> bool {
    let starts = |with: &str| lines.iter().any(|line| line.starts_with(with));
    let has_hunk = lines.iter().any(|line| line.starts_with("@@ ") && line[3..].contains("@@"));
    let has_files = starts("--- ") && starts("+++ ");
    if starts("diff --git ") || (has_hunk && (starts("+") || starts("-"))) || has_files {
        return true;
    }
    // A hunk without its header.
    let (added, removed) = (
        lines.iter().filter(|line| line.starts_with('+')).count(),
        lines.iter().filter(|line| line.starts_with('-') && !line.starts_with("- ")).count(),
    );
    2 <= added && 2 <= removed && lines.len() <= (added + removed) * 2
}

fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    let is_python = line.starts_with("File \"") && line.contains("\", line ");
    let is_java = line.starts_with("at ")
        && (line.ends_with(')') || line.contains(".js:") || line.contains(".rs:") || line.contains(".ts:"));
    let numbered = line.split_once(": ").is_some_and(|(number, rest)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.contains("::")
    });
    let is_go = line.starts_with("goroutine ") && line.ends_with(':');
    is_python || is_java || numbered || is_go
}

fn is_trace_head(line: &str) -> bool {
    let line = line.trim_start();
    ["Traceback (most recent call last)", "Exception in thread", "stack backtrace:", "panic: ", "Caused by: "]
        .iter()
        .any(|head| line.starts_with(head))
        || (line.starts_with("thread '") && line.contains("panicked at"))
        || line.split_once(": ").is_some_and(|(name, _)| name.ends_with("Error") && !name.contains(' '))
}

/// Returns whether a line is a single path, as `ls -l`, `find`, `tree` and `git status` print it.
fn is_path_line(line: &str) -> bool {
    let permissions = line.trim().split(' ').next().unwrap_or_default();
    let is_long = permissions.len() == 10
        && permissions.starts_with(['-', 'd', 'l'])
        && permissions[1..].bytes().all(|byte| b"rwxsStT-".contains(&byte));
    let is_total = line
        .strip_prefix("total ")
        .is_some_and(|blocks| !blocks.is_empty() && blocks.bytes().all(|byte| byte.is_ascii_digit()));
    if is_long || is_total {
        return true;
    }
    let line = line.trim_start_matches(['│', '├', '└', '─', ' ', '\t', '-', '*']).trim();
    let word = match line.split_once(char::is_whitespace) {
        Some((mark, rest)) if ["M", "A", "D", "R", "??", "AM", "MM"].contains(&mark) => rest.trim(),
        Some(_) | None => line,
    };
    let has_extension = word.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    !word.contains(char::is_whitespace) && (word.contains('/') || has_extension)
}

/// Returns whether a line only reports progress.
fn is_progress(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ', '\t']).trim().to_lowercase();
    let line = line.trim_end_matches(['.', '!', '…', ' ']);
    const WHOLE: &[&str] = &[
        "done",
        "fixed",
        "finished",
        "completed",
        "complete",
        "in progress",
        "wip",
        "ok",
        "all done",
        "all tests pass",
        "all tests passed",
        "tests pass",
        "tests passed",
        "still working",
        "work in progress",
        "task complete",
        "task completed",
        "everything works",
        "build passes",
        "build passed",
        "nothing to report",
    ];
    if WHOLE.contains(&line) {
        return true;
    }
    const BEGINS: &[&str] = &[
        "working on",
        "started",
        "starting",
        "currently",
        "now working",
        "i am working",
        "i'm working",
        "continuing",
        "finished",
        "completed",
        "progress:",
        "status:",
        "next step",
        "next i will",
        "next, i",
        "i will now",
        "about to",
        "still working",
        "halfway",
        "moving on to",
        "just finished",
        "done with",
        "now implementing",
        "now writing",
        "now fixing",
        "now adding",
        "now testing",
        "now moving",
        "now starting",
        "now refactoring",
        "now debugging",
        "now looking",
        "successfully completed",
        "step ",
        "i have completed",
        "i completed",
        "i finished",
        "i have finished",
    ];
    // A line that gives a reason is worth remembering.
    const REASONS: &[&str] = &[
        "because",
        "since ",
        "so that",
        "must",
        "never",
        "always",
        "instead of",
        "due to",
        " needs ",
        " requires ",
        " means ",
    ];
    if is_end_of_a_part(line) {
        return true;
    }
    BEGINS.iter().any(|start| line.starts_with(start))
        && !REASONS.iter().any(|reason| line.contains(reason))
        && line.split_whitespace().count() <= 16
}

/// Returns whether a lower-case line only reports a finished part or a percentage: `task us-003 is done`, `about 50%
/// done`.
fn is_end_of_a_part(line: &str) -> bool {
    const ENDS: &[&str] = &["done", "finished", "complete", "completed", "implemented", "ready", "started"];
    const PARTS: &[&str] = &[
        "task",
        "tasks",
        "subtask",
        "subtasks",
        "step",
        "steps",
        "story",
        "stories",
        "ticket",
        "tickets",
        "phase",
        "milestone",
        "work",
        "implementation",
    ];
    const BETWEEN: &[&str] = &[
        "the", "all", "this", "my", "is", "are", "was", "has", "have", "been", "now", "almost", "nearly",
        "about", "already", "fully", "we", "i", "am", "and", "of", "roughly",
    ];
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')')).collect();
    let Some((last, rest)) = words.split_last().filter(|(last, _)| ENDS.contains(last)) else { return false };
    let is_share = |word: &str| word.ends_with('%') && word.starts_with(|c: char| c.is_ascii_digit());
    let is_named = |word: &&str| PARTS.contains(word) || is_share(word);
    let is_number = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let is_about_it =
        |word: &&str| word.is_empty() || is_named(word) || BETWEEN.contains(word) || is_number(word);
    !last.is_empty() && rest.iter().any(is_named) && rest.iter().all(is_about_it)
}

/// Returns a text in lower case, with single spaces and without punctuation.
pub fn normal(text: &str) -> String {
    let words: Vec<String> = split(text).collect();
    words.join(" ")
}

fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The distinct words of a text.
pub(super) struct Words(HashSet<String>);

impl Words {
    pub(super) fn new(text: &str) -> Words {
        Words(split(text).collect())
    }

    /// Returns whether the two sets share enough words.
    pub(super) fn are_near(&self, other: &Words) -> bool {
        let common = self.0.intersection(&other.0).count();
        let all = self.0.len() + other.0.len() - common;
        NEAR_COPY_PERCENT * all <= common * 100 && all != 0
    }
}

/// Counts the distinct words.
pub(super) fn count_words(text: &str) -> i64 {
    i64::try_from(Words::new(text).0.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Category, Scope};

    fn new(content: &str) -> NewMemory {
        NewMemory {
            content: content.to_owned(),
            category: Category::Fact,
            scope: Scope::Project,
            owner: String::new(),
            author: "a".to_owned(),
            importance: Importance::Medium,
            pin: false,
            mode: WriteMode::Default,
        }
    }

    #[track_caller]
    fn check(content: &str, expect: Option<Objection>) {
        assert_eq!(objection(&new(content), &Redactor::new(&[])), expect, "{content}");
    }

    #[test]
    fn written_memories_are_kept() {
        for text in [
            "Tests need the variable RUST_BACKTRACE=0, because snapshots have no traces.",
            "We started with SQLite because it needs no server.",
            "- prefer small commits\n- never rewrite history",
            "The parser is in src/parser.rs; the lexer never sees comments.",
            "Deploys go out on Tuesday.\nAsk Ana before.",
            "A task is done when its tests pass on CI.",
            "Tasks are finished by the nightly job.",
            "Task ids such as US-003 are given by the planner; a task is done once.",
            "Now that linting needs clang 18, builds use the image ci-18.",
            "The importer reads 50% of the file first.",
            "Steps of the release are in docs/release.md",
            "Status codes of the API: 409 means that another client was faster, 412 that the version is old.",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn copied_text_is_rejected() {
        check(" \n\t", Some(Objection::Empty));
        check("---", Some(Objection::Empty));
        check(&"word ".repeat(401), Some(Objection::TooLong));
        check(&"é".repeat(2_000), None);
        check("The key is AKIAIOSFODNN7EXAMPLE", Some(Objection::Secret));
        check("password = hunter2EXAMPLE", None);
        check("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x", Some(Objection::Diff));
        check("@@ -1,2 +1,2 @@\n-old\n+new", Some(Objection::Diff));
        check("-let a = 1;\n-let b = 2;\n+let a = 2;\n+let b = 1;", Some(Objection::Diff));
        check(
            "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\nKeyError: 1",
            Some(Objection::StackTrace),
        );
        check(
            "TypeError: x is undefined\n    at f (app.js:1:2)\n    at g (app.js:3:4)",
            Some(Objection::StackTrace),
        );
        check("src/main.rs\nsrc/lib.rs\nCargo.toml", Some(Objection::FileListing));
        check(
            "total 12\n-rw-r--r-- 1 a a 3 x\n-rw-r--r-- 1 a a 3 y\n-rw-r--r-- 1 a a 3 z",
            Some(Objection::FileListing),
        );
        check("Done.", Some(Objection::ProgressNote));
        check("Working on the login page", Some(Objection::ProgressNote));
        check("- finished step 2\n- next step is 3", Some(Objection::ProgressNote));
        for text in [
            "Done with step 3, now working on step 4",
            "50% done",
            "About 80% complete.",
            "Task finished",
            "Task US-003 is done",
            "All tasks are completed!",
            "Step 3 of 5: done",
            "Now implementing the parser",
        ] {
            check(text, Some(Objection::ProgressNote));
        }
    }

    #[test]
    fn a_strict_write_of_another_category_is_a_default_one() {
        let redactor = Redactor::new(&[]);
        let strict = |importance, category| {
            let new = NewMemory {
                importance,
                category,
                mode: WriteMode::Strict,
                ..new("Use tabs here, not spaces")
            };
            objection(&new, &redactor)
        };
        assert_eq!(strict(Importance::High, Category::Convention), None);
        assert_eq!(strict(Importance::Medium, Category::Convention), Some(Objection::StrictImportance));
        assert_eq!(strict(Importance::High, Category::Fact), None);
        let fact = NewMemory { category: Category::Fact, mode: WriteMode::Strict, ..new("Use tabs here") };
        assert_eq!((fact.effective_mode(), fact.falls_back()), (WriteMode::Default, true));
        let pinned = NewMemory { pin: true, ..fact };
        assert!(!pinned.falls_back());
    }

    #[test]
    fn near_copies_have_nearly_all_words_in_common() {
        let check = |left: &str, right: &str, expect: bool| {
            let (left_words, right_words) = (Words::new(left), Words::new(right));
            assert_eq!(left_words.are_near(&right_words), expect, "{left} / {right}");
            assert_eq!(right_words.are_near(&left_words), expect, "{right} / {left}");
        };
        check("Use tabs.", "use   TABS", true);
        check("one two three four five six seven", "one two three four five six seven eight", true);
        check("one two three four five", "one two three four five six", false);
        check("Use tabs", "Use spaces", false);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_rules_fail(text in "\\PC{0,200}") {
            let _ = objection(&new(&text), &Redactor::new(&[]));
            let words = Words::new(&text);
            proptest::prop_assert!(words.are_near(&words) || !text.chars().any(char::is_alphanumeric));
        }

        #[test]
        fn near_copies_are_within_the_searched_lengths(
            left in "[a-d ]{1,30}", right in "[a-d ]{1,30}"
        ) {
            if Words::new(&left).are_near(&Words::new(&right)) {
                let (words, other) = (count_words(&left), count_words(&right));
                proptest::prop_assert!((words * 85 / 100..=words * 100 / 85 + 1).contains(&other));
            }
        }
    }
}
