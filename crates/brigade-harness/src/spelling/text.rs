//! Texts and names of a server as they are kept.

use std::borrow::Cow;

/// The longest text that is taken from a file.
const MAX_TEXT_LEN: usize = 2_000;

/// Shortens a text that is taken from a file.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT_LEN {
        return text.to_owned();
    }
    match text.char_indices().nth(MAX_TEXT_LEN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Shortens a text that is ours.
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

/// Removes names that stand before.
pub(super) fn dedup(names: &mut Vec<String>) {
    /// Of fewer names, comparing each with those before it is faster.
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
