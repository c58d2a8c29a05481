//! Finds data that becomes code: what `find`, `xargs` and `parallel` read and hand to a program.

use super::{Reading, Risk, Standing, Word, numbered, wrapper};
use crate::programs::Program;

/// How many values of `parallel` are tried.
const MOST_VALUES: usize = 256;

impl Reading {
    /// Judges the command of `parallel` with each value behind `:::`. Values that it reads elsewhere are data, and
    /// without a command they are commands themselves.
    pub(super) fn parallel(&mut self, head: &Word, known: Program, args: &[Word]) {
        let wrapper::Inner::Command { words, .. } = wrapper::look_through(known, args) else { return };
        let begins_values = |word: &Word| matches!(word.text.trim_end_matches('+'), ":::" | "::::");
        let end = words.iter().position(begins_values).unwrap_or(words.len());
        let (command, rest) = words.split_at(end);
        let text = |value: &str| Word { text: filled(command, value), at: head.at };
        let mut reads_values = rest.is_empty();
        let mut are_files = false;
        for word in rest.iter().take(MOST_VALUES) {
            if begins_values(word) {
                are_files = word.text.starts_with("::::");
                reads_values |= are_files;
            } else if !are_files && let Ok(value) = shlex::try_quote(&word.text) {
                // Without a command, it is one.
                self.shell_text(&text(if command.is_empty() { &word.text } else { &value }));
            }
        }
        if !reads_values {
            return;
        }
        if !command.is_empty() {
            self.shell_text(&text("{}"));
        }
        let filled = ["sh".to_owned(), "-c".to_owned(), filled(command, ITEM)];
        let reading = Reading::with(&filled, true);
        let code = reading.started.iter().skip(1).filter(|started| started.standing != Standing::Guessed);
        let mut code = code.flat_map(|started| crate::reads::code_words(&started.words));
        if !self.has_data && (command.is_empty() || code.any(|word| word.contains(ITEM))) {
            self.risks.push(Risk::DataAsCode { word: head.at, program: known.name });
        }
    }
}

/// Stands for what is read.
const ITEM: &str = "\u{0}";

/// Returns the text that `parallel` gives a shell for a value: in place of `{}`, `{.}`, `{1}`, or behind the command.
fn filled(command: &[Word], value: &str) -> String {
    let mut words: Vec<String> = command.iter().map(|word| word.text.clone()).collect();
    let mut is_placed = false;
    for word in &mut words {
        while let Some((before, rest)) = word.split_once('{')
            && let Some((_, behind)) = rest.split_once('}')
            && value != "{}"
        {
            is_placed = true;
            *word = format!("{before}{value}{behind}");
        }
    }
    let has_place = command.iter().any(|word| word.text.contains('{'));
    if !is_placed && !has_place {
        words.push(value.to_owned());
    }
    words.join(" ")
}

/// Tells whether code for an interpreter, which is one of these risks, contains a placeholder.
pub(super) fn has_text_with(risks: &[Risk], words: &[Word], placeholder: &str) -> bool {
    risks.iter().any(|risk| match risk {
        Risk::InlineCode { word, end, .. } => {
            let mut text = words.iter().filter(|text| (*word..=*end).contains(&text.at));
            text.any(|text| text.text.contains(placeholder))
        }
        _ => false,
    })
}

/// Tells whether the command of `xargs` with these options runs what `xargs` reads: as its program, as the script or
/// the text of an interpreter.
pub(super) fn runs_data(command: &[Word], options: &[Word]) -> bool {
    // It stands behind the command, unless the options name a placeholder.
    let mut words: Vec<String> = command.iter().map(|word| word.text.clone()).collect();
    let placeholder = wrapper::placeholder(options).unwrap_or_else(|| {
        words.push(ITEM.to_owned());
        ITEM.to_owned()
    });
    let is_data = |word: &str| word.contains(&placeholder);
    // Without a command, it only prints.
    if command.is_empty() || !words.iter().any(|word| is_data(word)) {
        return false;
    }
    let reading = Reading::with(&words, true);
    let starts = reading.started.iter().filter(|started| started.standing != Standing::Guessed);
    let code: Vec<&str> = starts.flat_map(|started| crate::reads::code_words(&started.words)).collect();
    if code.into_iter().any(is_data) || has_text_with(&reading.risks, &numbered(&words), &placeholder) {
        return true;
    }
    // A program of awk or sed is a text that can start commands.
    ["BEGIN { system(1) }", "1e"].iter().any(|text| {
        let words: Vec<String> = words.iter().map(|word| word.replace(&placeholder, text)).collect();
        Reading::with(&words, true)
            .risks
            .iter()
            .any(|risk| matches!(risk, Risk::ShellText { .. }) && !reading.risks.contains(risk))
    })
}
