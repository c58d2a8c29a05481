//! What a decision covers, part by part, and the fingerprint that guards the decision.
//!
//! A fingerprint is the sha256 over all parts, and 8 digits for each part. The digits only say which part changed.

use std::borrow::Cow;

use brigade_core::Fingerprint;
use brigade_core::text::escape_blanks;

/// The domain of the fingerprint.
const DOMAIN: &str = "brigade.review.v1";

/// The number of digits of a part.
const DIGITS: usize = 8;

/// A part of what a decision covers. Lines are exact; faces make them visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewPart {
    /// Its name, such as `command`.
    pub name: &'static str,
    /// Its lines.
    pub lines: Vec<String>,
}

impl ReviewPart {
    pub(crate) fn new(name: &'static str, lines: impl IntoIterator<Item = String>) -> ReviewPart {
        ReviewPart { name, lines: lines.into_iter().collect() }
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::builder(DOMAIN).list(self.name, &self.lines).finish()
    }
}

/// How a part differs from what was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDifference {
    /// The name of the part.
    pub part: &'static str,
    /// The lines that are gone.
    pub removed: Vec<String>,
    /// The new lines.
    pub added: Vec<String>,
}

/// Returns the fingerprint of the parts.
pub(crate) fn fingerprint(parts: &[ReviewPart]) -> String {
    let whole = parts.iter().fold(Fingerprint::builder(DOMAIN), |builder, part| {
        builder.text("part", part.name).list("lines", &part.lines)
    });
    let each: String = parts.iter().map(|part| part.fingerprint().to_hex()[..DIGITS].to_owned()).collect();
    format!("{}.{each}", whole.finish())
}

/// Returns the names of the parts that differ from those of a fingerprint; all of them if it cannot be read.
pub(crate) fn changed_parts(parts: &[ReviewPart], shown: &str) -> Vec<&'static str> {
    if fingerprint(parts) == shown {
        return Vec::new();
    }
    let digits = shown.split_once('.').map_or("", |(_, each)| each).as_bytes();
    let of_part = |place: usize| digits.get(place * DIGITS..(place + 1) * DIGITS);
    let is_same = |(place, part): &(usize, &ReviewPart)| {
        of_part(*place) == Some(&part.fingerprint().to_hex().as_bytes()[..DIGITS])
    };
    let changed: Vec<&str> =
        parts.iter().enumerate().filter(|part| !is_same(part)).map(|(_, part)| part.name).collect();
    // Without a known part, everything counts as changed.
    if changed.is_empty() { parts.iter().map(|part| part.name).collect() } else { changed }
}

/// Compares the parts of two reviews.
pub(crate) fn differences(shown: &[ReviewPart], now: &[ReviewPart]) -> Vec<ReviewDifference> {
    let lines = |parts: &[ReviewPart], name: &str| {
        parts.iter().find(|part| part.name == name).map(|part| part.lines.clone()).unwrap_or_default()
    };
    let without = |lines: &[String], other: &[String]| {
        lines.iter().filter(|line| !other.contains(line)).cloned().collect::<Vec<_>>()
    };
    let compared = now.iter().map(|part| {
        let before = lines(shown, part.name);
        let (removed, added) = (without(&before, &part.lines), without(&part.lines, &before));
        (before != part.lines, ReviewDifference { part: part.name, removed, added })
    });
    compared.filter(|(differs, _)| *differs).map(|(_, difference)| difference).collect()
}

/// Writes a word so that different words look different. Empty words, and words with control or invisible characters or
/// unusual blanks, are quoted for a shell.
///
/// ```
/// assert_eq!(brigade_ops::visible_word("a b"), "a b");
/// assert_eq!(brigade_ops::visible_word("a "), "$'a '");
/// assert_eq!(brigade_ops::visible_word("a\u{200b}"), "$'a\\u{200b}'");
/// ```
pub fn visible_word(word: &str) -> Cow<'_, str> {
    let is_plain = escape_blanks(word) == word
        && word.trim_matches(' ') == word
        && !word.is_empty()
        && !word.starts_with("$'")
        && word != "''";
    if is_plain {
        return Cow::Borrowed(word);
    }
    if word.is_empty() {
        return Cow::Borrowed("''");
    }
    let doubled = word.replace('\\', "\\\\").replace('\'', "\\'");
    Cow::Owned(format!("$'{}'", escape_blanks(&doubled)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(command: &[&str], reads: &[&str]) -> Vec<ReviewPart> {
        let part = |name, lines: &[&str]| ReviewPart::new(name, lines.iter().map(|line| (*line).to_owned()));
        vec![part("command", command), part("access", reads)]
    }

    #[track_caller]
    fn check(shown: &[ReviewPart], now: &[ReviewPart], changed: &[&str]) {
        assert_eq!(changed_parts(now, &fingerprint(shown)), changed);
        let named: Vec<&str> = differences(shown, now).iter().map(|difference| difference.part).collect();
        assert_eq!(named, changed);
    }

    #[test]
    fn a_fingerprint_says_which_part_changed() {
        let shown = parts(&["git", "push"], &["read src"]);
        check(&shown, &shown, &[]);
        check(&shown, &parts(&["git", "pull"], &["read src"]), &["command"]);
        check(&shown, &parts(&["git", "push"], &["read ."]), &["access"]);
        check(&shown, &parts(&["push", "git"], &["read src"]), &["command"]);
        check(&shown, &parts(&["git", "push", "read src"], &[]), &["command", "access"]);
    }

    #[test]
    fn a_foreign_fingerprint_covers_nothing() {
        let now = parts(&["git"], &[]);
        let own = fingerprint(&now);
        let other = format!("{}.{}", "0".repeat(64), own.split_once('.').unwrap().1);
        for foreign in ["", "x", "é.é", &own[..64], &other] {
            assert_eq!(changed_parts(&now, foreign), ["command", "access"], "{foreign}");
        }
    }

    #[test]
    fn different_words_look_different() {
        for (word, expect) in [
            ("a b", "a b"),
            ("a\\b", "a\\b"),
            ("it's", "it's"),
            ("", "''"),
            ("''", "$'\\'\\''"),
            (" a", "$' a'"),
            ("$'a'", "$'$\\'a\\''"),
            ("a\nb", "$'a\\nb'"),
            ("\u{a0}", "$'\\u{a0}'"),
            ("a\\\u{200b}", "$'a\\\\\\u{200b}'"),
        ] {
            assert_eq!(visible_word(word), expect, "{word:?}");
        }
    }

    #[test]
    fn differences_are_the_lines_that_came_and_went() {
        let (shown, now) = (parts(&["git", "push"], &["read a"]), parts(&["git", "pull"], &["read a"]));
        let [difference] = differences(&shown, &now).try_into().unwrap();
        assert_eq!(
            (difference.removed, difference.added),
            (vec!["push".to_owned()], vec!["pull".to_owned()])
        );
        // Another order is a difference without lines.
        let [difference] = differences(&shown, &parts(&["push", "git"], &["read a"])).try_into().unwrap();
        assert_eq!((difference.part, difference.removed.len(), difference.added.len()), ("command", 0, 0));
        // A part that was not shown is new.
        assert_eq!(differences(&[], &now).len(), 2);
    }
}
