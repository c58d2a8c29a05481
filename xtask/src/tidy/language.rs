//! Checks the words of comments, messages, types and commits.

use std::process::Command;

use super::Finding;
use super::rust_text::{Line, split};
use crate::cargo::output;
use crate::repository::{Repository, Tree};

/// Phrases that readers stumble over, and what to write instead. A phrase begins and ends at a word.
#[rustfmt::skip]
const PHRASES: &[(&str, &str)] = &[
    ("nobody", "say what is missing"), ("somebody", "a person"), ("whoever", "the caller"),
    ("stands", "is"), ("of its own", "separate"), ("of their own", "separate"), ("is told", "receives"),
    ("are told", "receive"), ("besides", "also"), ("goes on", "continues"), ("belongs into", "belongs in"),
    ("lies", "is"), ("is none", "is not one"), ("are none", "are missing"),
];

/// Phrases that need a word after them: "is no name", but not "there is no name" or "is no longer".
const NEGATIONS: &[&str] = &["is no ", "are no "];

/// What may follow or precede a negation in plain English.
const PLAIN_BEFORE: &[&str] = &["there", "this", "that", "it", "where"];
const PLAIN_AFTER: &[&str] = &["longer", "more", "different", "other", "better", "such"];

/// Bare participles, pronouns and question words, which say nothing as the name of a type.
#[rustfmt::skip]
const BARE_NAMES: &[&str] = &[
    "About", "Done", "Each", "Found", "Given", "How", "Kept", "Known", "Left", "Lost", "Made", "Meant", "Other", "Read",
    "Said", "Seen", "Shown", "Spoken", "Standing", "Stands", "Taken", "Taker", "Told", "What", "When", "Where", "Which",
    "Who", "Whose", "Why", "Written",
];

/// Participles that are the term of the field.
const ALLOWED_PARTICIPLES: &[&str] = &["Redacted"];

/// The maximum length of a commit subject.
const MAX_SUBJECT_CHARACTERS: usize = 72;

/// The last commit whose subject is not checked.
const FIRST_CHECKED_AFTER: &str = "f06230842a4c95621c6af579ea158ef7eafd0b42";

/// Lists names, comments and messages that are not plain English.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_checked = |path: &str| !path.starts_with("fixtures/") && !path.ends_with("tidy/language.rs");
    for (path, text) in tree.texts(".rs").filter(|(path, _)| is_checked(path)) {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        for (index, (line, raw)) in split(text).iter().zip(text.lines()).enumerate() {
            // Keys of documents stay as they are.
            let is_key = line.code.contains("serde(");
            let messages =
                if is_test || line.is_test || is_key { String::new() } else { literals(raw, line) };
            let phrases = [line.comment.as_str(), &messages].into_iter().flat_map(phrases);
            let names = names(&line.code);
            found.extend(phrases.chain(names).map(|message| Finding::new(path, index + 1, message)));
        }
    }
    found
}

/// Lists subjects of commits that are too long. A shallow clone has nothing to check.
pub fn subjects(repository: &Repository) -> Vec<Finding> {
    let mut git = Command::new("git");
    git.current_dir(repository.root()).args(["log", "--no-merges", "--format=%h %s"]);
    let log = output(git.arg(format!("{FIRST_CHECKED_AFTER}..HEAD"))).unwrap_or_default();
    log.lines().filter_map(subject).collect()
}

fn subject(line: &str) -> Option<Finding> {
    let (id, subject) = line.split_once(' ')?;
    let length = subject.chars().count();
    let message = format!("the subject has {length} characters, {MAX_SUBJECT_CHARACTERS} are allowed");
    (MAX_SUBJECT_CHARACTERS < length).then(|| Finding::new(&format!("commit {id}"), 1, message))
}

/// Returns the text literals of a line: what `split` left out of code and comment.
fn literals(raw: &str, line: &Line) -> String {
    let text = raw.strip_suffix(&line.comment).unwrap_or(raw);
    let is_literal = text.trim_start().starts_with(|first: char| first != '/');
    if is_literal && line.code.trim() != text.trim() { text.to_owned() } else { String::new() }
}

fn phrases(text: &str) -> impl Iterator<Item = String> + '_ {
    let listed = PHRASES.iter().filter(|(phrase, _)| has_phrase(text, phrase)).map(|(phrase, instead)| {
        format!("write plain English instead of \"{phrase}\", such as \"{instead}\"")
    });
    let negated = NEGATIONS.iter().filter(|phrase| has_negation(text, phrase));
    listed.chain(
        negated
            .map(|phrase| format!("write \"{}\" instead of \"{phrase}…\"", phrase.replace("no ", "not a "))),
    )
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + phrase.len()..].chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn has_negation(text: &str, phrase: &str) -> bool {
    let word = |text: &str| {
        text.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase()
    };
    let next = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].split_whitespace().next_back().map(word).unwrap_or_default();
        let after = text[at + phrase.len()..].split_whitespace().next().map(next).unwrap_or_default();
        let is_whole = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        is_whole && !PLAIN_BEFORE.contains(&before.as_str()) && !PLAIN_AFTER.contains(&after.as_str())
    })
}

/// Returns what is wrong with the type or function that a line declares.
fn names(code: &str) -> Option<String> {
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let keyword = words.find(|word| ["struct", "enum", "trait", "type", "union", "fn"].contains(word))?;
    let name = words.next()?;
    if keyword == "fn" {
        return (name == "of").then(|| "name a constructor `new`, `from_*` or `for_*`, not `of`".to_owned());
    }
    let is_one_word = name.chars().filter(char::is_ascii_uppercase).count() == 1;
    let is_participle = is_one_word && 4 < name.len() && name.ends_with("ed") && !name.ends_with("eed");
    let is_bare = BARE_NAMES.contains(&name) || is_participle && !ALLOWED_PARTICIPLES.contains(&name);
    is_bare.then(|| format!("`{name}` does not say what it is: name the type by a noun of the field"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: &[usize]) {
        let found = findings(&Tree::from_texts(&[("crates/a/src/a.rs", text)]));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), lines, "{found:#?}");
    }

    #[test]
    fn comments_and_messages_are_plain() {
        check("// Nobody knows, and nobody asks.\n", &[1]);
        check("let a = \"the file lies elsewhere\";\n", &[1]);
        check("/// The name is no id of a run.\n", &[1]);
        check("/// There is no run. It is no longer there.\nlet nobody = 1;\n", &[]);
        check("#[cfg(test)]\nmod tests {\n    const A: &str = \"it stands\";\n}\n", &[]);
    }

    #[test]
    fn types_are_nouns() {
        check("pub struct Asked;\nenum Who {}\npub(crate) fn of(a: A) {}\n", &[1, 2, 3]);
        check("pub struct AskedQuestion;\nstruct Seed;\nstruct Redacted;\nfn offer() {}\n", &[]);
    }

    #[test]
    fn subjects_are_short() {
        assert_eq!(subject("abc1234 Report invalid server addresses"), None);
        assert!(subject(&format!("abc1234 {}", "x".repeat(73))).is_some());
    }
}
