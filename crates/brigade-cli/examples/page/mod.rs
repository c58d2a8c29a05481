//! Shared by the examples that print pages of the documentation.

/// The maximum number of columns of a line.
const WIDTH: usize = 120;

/// Wraps a paragraph or a list item at spaces, but not within code. Later lines begin with `indent`.
pub fn wrap(text: &str, indent: &str) -> String {
    let (mut page, mut line) = (String::new(), String::new());
    for word in words(text) {
        if WIDTH < line.chars().count() + 1 + word.chars().count() {
            page.push_str(&format!("{line}\n"));
            line = format!("{indent}{word}");
        } else if line.is_empty() {
            line = word;
        } else {
            line = format!("{line} {word}");
        }
    }
    format!("{page}{line}\n")
}

/// Splits a text at spaces. A word with code is one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut().filter(|last| last.matches('`').count() % 2 == 1) {
            Some(code) => code.push_str(&format!(" {word}")),
            None => words.push(word.to_owned()),
        }
    }
    words
}
