//! The words of a text for a shell, with their positions.

use std::ops::Range;

/// A word of a text for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellToken {
    /// The position, including its quotes.
    pub range: Range<usize>,
    /// The word without its quotes.
    pub text: String,
    /// Whether it begins a command.
    pub starts: bool,
}

/// Splits a text as shells do; `None` if a quote stays open.
pub fn shell_tokens(text: &str) -> Option<Vec<ShellToken>> {
    let mut found = Vec::new();
    let mut starts = true;
    let mut current: Option<(usize, String)> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                current.get_or_insert_with(|| (at, String::new()));
                quote = Some(c);
            }
            (None | Some('"'), '\\') => {
                let (_, next) = chars.next().unwrap_or((at, '\\'));
                current.get_or_insert_with(|| (at, String::new())).1.push(next);
            }
            (None, c) if c.is_whitespace() || ";&|()`<>".contains(c) => {
                if let Some((start, text)) = current.take() {
                    found.push(ShellToken { range: start..at, text, starts });
                    starts = false;
                }
                starts |= !c.is_whitespace() || c == '\n';
            }
            (_, c) => current.get_or_insert_with(|| (at, String::new())).1.push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    found.extend(current.map(|(start, word)| ShellToken { range: start..text.len(), text: word, starts }));
    Some(found)
}
