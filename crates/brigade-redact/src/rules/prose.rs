//! Texts behind a name and a colon that say something about a secret and hold none.
//!
//! A person who sets a password writes one word, or a phrase of ordinary words. A text that says what a value must be
//! like has words that no phrase begins with, and nothing in it looks chosen: all of its words are ordinary, and its
//! numbers are short. Anything else is masked.

use super::is_blank;
use crate::option::reads_like_words;
use crate::window::{More, Window};
use crate::words::{ABOUT_VALUES, BEHIND_VALUES, BOUNDS, DETERMINERS, ELSEWHERE, PROSE, UNITS};

/// How much of a text is read.
const LONGEST: usize = 160;

/// The longest number that says how long a value is.
const LONGEST_NUMBER: usize = 3;

/// Returns whether a value that begins with a word is a text about it: `Password: please enter`, `password: at least 8
/// characters`, `token: see below`.
pub(super) fn is_prose(window: Window<'_>, start: usize, word: &[u8]) -> Result<bool, More> {
    if !word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-'+,.;:".contains(byte)) {
        return Ok(false);
    }
    if PROSE.iter().any(|begin| word.eq_ignore_ascii_case(begin.as_bytes())) {
        return begins_sentence(window, start + word.len());
    }
    let end = window.skip(start, LONGEST, |byte| !matches!(byte, b'\n' | b'\r' | b'"'))?;
    let Ok(text) = std::str::from_utf8(&window.bytes[start..end]) else { return Ok(false) };
    // What was cut off may be the end of a word.
    let text = if end - start < LONGEST { text } else { text.rsplit_once(' ').map_or("", |(text, _)| text) };
    Ok(describes(text))
}

/// Returns whether another word of letters follows, as in a sentence.
fn begins_sentence(window: Window<'_>, end: usize) -> Result<bool, More> {
    let next = window.skip(end, 4, is_blank)?;
    let after = window.skip(next, 24, |b| b.is_ascii_lowercase())?;
    let ends = window.at(after)?.is_none_or(|b| b <= b' ' || b",.:;!?'\")".contains(&b));
    Ok(end < next && next < after && ends)
}

/// Returns whether a text says what a value must be like, where it is, or whose it is.
fn describes(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_ascii_whitespace().collect();
    says_length(&words) || is_elsewhere(&words) || says_which(&words)
}

/// Returns whether words say how long a value is: `12 characters`, `at least 8`, `minimum length 8, one digit`.
fn says_length(words: &[&str]) -> bool {
    let is_bound = |word: &&&str| BOUNDS.contains(*word);
    let bounds = words.iter().take_while(is_bound).count();
    let Some((number, rest)) = words[bounds..].split_first() else { return false };
    if !is_count(number.trim_end_matches([',', '.', ';'])) {
        return false;
    }
    let behind = rest.iter().skip_while(|word| is_bound(word) || is_count(word));
    let has_unit = behind.clone().next().is_some_and(|word| UNITS.contains(&plain(word)));
    let is_alone = 0 < bounds && (rest.is_empty() || number.ends_with([',', '.', ';']));
    (has_unit || is_alone) && rest.iter().all(|word| is_ordinary(word))
}

/// Returns whether words say that there is no value, or where it is: `none needed`, `see below`, `stored in the vault`.
fn is_elsewhere(words: &[&str]) -> bool {
    let [first, second, rest @ ..] = words else { return false };
    let follows = ELSEWHERE.iter().any(|(begin, next)| begin == first && next.contains(&plain(second)));
    follows && rest.iter().all(|word| is_ordinary(word))
}

/// Returns whether words say which value it is: `your API token`, `the password of the user`. In a phrase, another word
/// follows: `the secret garden`.
fn says_which(words: &[&str]) -> bool {
    /// How near the word stands that says so.
    const NEAR: usize = 3;
    let Some((first, rest)) = words.split_first() else { return false };
    let Some(at) = rest.iter().take(NEAR).position(|word| ABOUT_VALUES.contains(&plain(word))) else {
        return false;
    };
    let ends = rest[at].ends_with([',', '.', ';', ':', ')']);
    DETERMINERS.contains(first)
        && (ends || rest.get(at + 1).is_none_or(|next| BEHIND_VALUES.contains(next)))
        && rest.iter().all(|word| is_ordinary(word))
}

fn plain(word: &str) -> &str {
    word.trim_matches(|c: char| c.is_ascii_punctuation())
}

/// Returns whether a word is a number or two that say how many: `12`, `8-64`, `8+`.
fn is_count(word: &str) -> bool {
    let parts = word.strip_suffix('+').unwrap_or(word).split('-');
    let is_number = |part: &str| {
        (1..=LONGEST_NUMBER).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    parts.clone().count() <= 2 && parts.into_iter().all(is_number)
}

/// Returns whether a word of a sentence is an ordinary one.
fn is_ordinary(word: &str) -> bool {
    let word = plain(word);
    word.len() < 2 || is_count(word) || reads_like_words(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_about_a_value_is_told_from_a_phrase() {
        for text in [
            "12 characters",
            "at least 8 characters, one digit",
            "8-64 characters",
            "min 8 chars",
            "minimum length 8",
            "between 8 and 64 characters",
            "8 or more characters.",
            "up to 64 bytes (UTF-8)",
            "none needed",
            "see below",
            "see the README.",
            "stored in the vault",
            "same as above",
            "ask your admin",
            "your API token",
            "the password of the user",
            "the key from the dashboard",
            "a string of at least 8 characters",
        ] {
            assert!(describes(text), "{text}");
        }
        for text in [
            "",
            "12",
            "12345678",
            "12345678 characters",
            "correct horse battery",
            "the quick brown fox",
            "the secret garden",
            "a key opens every door",
            "see spot run",
            "12 correct horses",
            "at 5 horses",
            "none of your business",
            "your mother",
            "hunter2",
            "at least 8 characters: hunter2xyz",
            "see the x9k2v8q1w7",
            "the token abc123def456",
            "no",
        ] {
            assert!(!describes(text), "{text}");
        }
    }
}
