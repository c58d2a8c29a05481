//! Shortens and normalizes texts and names of a server.

use std::borrow::Cow;

/// The maximum length of a text from a file.
const MAX_TEXT_LEN: usize = 2_000;

/// Shortens a text from a file.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT_LEN {
        return text.to_owned();
    }
    match text.char_indices().nth(MAX_TEXT_LEN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Shortens a message of Brigade.
pub(super) fn cut_own(text: String) -> String {
    if text.len() <= MAX_TEXT_LEN { text } else { cut(&text) }
}

/// Returns a word with the references of all harnesses in one form.
pub(super) fn common_form(word: &str) -> Cow<'_, str> {
    if !word.contains('{') {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.replace("${env:", "${").replace("{env:", "${").replace("$${", "${"))
}

pub(super) fn sorted(names: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Removes duplicate names.
pub(super) fn dedup(names: &mut Vec<String>) {
    /// Up to this many names, a linear search is faster.
    const LINEAR_SEARCH_LIMIT: usize = 16;
    if names.len() <= LINEAR_SEARCH_LIMIT {
        let mut at = 1;
        while at < names.len() {
            if names[..at].contains(&names[at]) {
                names.remove(at);
            } else {
                at += 1;
            }
        }
        return;
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
}
