//! Finds arguments of a call that become code because a line of a recipe puts their values there.

use std::collections::BTreeMap;
use std::path::Path;

use super::recipes::{Language, Line, plain_name, plain_text};
use super::script::code_words;
use crate::argv::Argv;
use crate::risk::{self, Risk, Standing};

/// Stands for a value, whatever it is.
const ANY: &str = "\u{fdd0}";

/// The values that arguments of a call give to recipes.
pub(super) struct Values<'a> {
    pub(super) language: Language,
    pub(super) arguments: &'a [String],
    /// The variables that the files set.
    pub(super) variables: &'a BTreeMap<String, String>,
    /// Whether recipes of just get their arguments as `$1`.
    pub(super) are_positional: bool,
}

impl Values<'_> {
    /// Returns a line for a shell with the variables filled in that are known, and those of the shell as they are.
    pub(super) fn filled_in(&self, line: &str, directory: &Path) -> String {
        if self.language == Language::Make {
            return self.expanded(line, "", &|_| false, 0);
        }
        let mut plain = String::new();
        let mut rest = line;
        while let Some((before, behind)) = rest.split_once("{{") {
            plain.push_str(before);
            let (inner, after) = behind.split_once("}}").unwrap_or((behind, ""));
            rest = after;
            let inner = inner.trim();
            let known = self.variables.get(inner).map(String::as_str);
            let just = Some("just").filter(|_| inner == "just_executable()");
            let text = known.or_else(|| plain_text(inner)).or(just).or_else(|| {
                let is_directory = matches!(inner, "justfile_directory()" | "invocation_directory()");
                directory.to_str().filter(|_| is_directory)
            });
            plain.push_str(text.unwrap_or("$"));
        }
        plain + rest
    }

    /// Returns the arguments that choose the code of one of these lines.
    pub(super) fn chosen<'l>(&self, lines: impl Iterator<Item = &'l Line>) -> Vec<String> {
        let mut chosen = Vec::new();
        for line in lines {
            let may_change = |argument: &&String| !chosen.contains(*argument);
            let found: Vec<String> = self
                .arguments
                .iter()
                .filter(may_change)
                .filter(|argument| {
                    let value = argument.split_once('=').map_or(argument.as_str(), |(_, value)| value);
                    is_code(|value| self.filled(line, argument, value), value)
                })
                .cloned()
                .collect();
            chosen.extend(found);
        }
        chosen
    }

    /// Returns a line with a value in place of what the argument sets.
    fn filled(&self, line: &Line, argument: &str, value: &str) -> String {
        match self.language {
            Language::Make => {
                let is_set = |name: &str| match argument.split_once('=') {
                    Some((set, _)) => set.trim_end_matches([':', '+', '?', '!']) == name,
                    // The name of what is made, and what is made of it.
                    None => {
                        let is_any = line.by.contains('%') || line.by.ends_with(": .DEFAULT");
                        let is_own = line.by.ends_with(&format!(": {}", plain_name(argument)));
                        (is_any || is_own) && name.starts_with(['@', '*', '<', '^', '?', '+', '|'])
                    }
                };
                self.expanded(&line.command, value, &is_set, 0)
            }
            Language::Just => self.interpolated(&line.command, argument, value),
        }
    }

    /// Expands references of make as far as their variables are known.
    fn expanded(&self, text: &str, value: &str, is_set: &dyn Fn(&str) -> bool, depth: usize) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('$') {
            plain.push_str(before);
            // A shell sees the variables that a command line sets, too.
            let (behind, is_of_shell) = match behind.strip_prefix('$') {
                Some(behind) => (behind, true),
                None => (behind, false),
            };
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let (name, after) = match behind.chars().next().unwrap_or_default() {
                '(' if is_of_shell => {
                    plain.push_str("$(");
                    rest = &behind[1..];
                    continue;
                }
                c if is_of_shell && is_part(c) => {
                    behind.split_at(behind.find(|c| !is_part(c)).unwrap_or(behind.len()))
                }
                '(' | '{' => {
                    let end = closing(behind);
                    (&behind[1..end], behind.get(end + 1..).unwrap_or_default())
                }
                c => behind.split_at(c.len_utf8().min(behind.len())),
            };
            rest = after;
            let inner = if name.contains('$') {
                self.expanded(name, ANY, is_set, depth + 1)
            } else {
                name.to_owned()
            };
            let head = inner.split([':', ' ']).next().unwrap_or_default();
            match self.variables.get(head) {
                _ if inner.contains(ANY) || is_set(head) => plain.push_str(value),
                Some(known) if depth < 8 => plain.push_str(&self.expanded(known, value, is_set, depth + 1)),
                _ if is_of_shell => plain.extend(["${", name, "}"]),
                _ => plain.push('$'),
            }
        }
        plain + rest
    }

    /// Puts a value where a line of just has something that no assignment sets.
    fn interpolated(&self, text: &str, argument: &str, value: &str) -> String {
        let overridden = argument.split_once('=').map(|(name, _)| name);
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            plain.push_str(before);
            let (inner, after) = behind.split_once("}}").unwrap_or((behind, ""));
            rest = after;
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            let mut names = inner.split(|c: char| !is_part(c)).filter(|name| !name.is_empty());
            let is_given = names.any(|name| {
                let is_function = inner.contains(&format!("{name}("));
                overridden == Some(name) || (!is_function && !self.variables.contains_key(name))
            });
            let quoted = shlex::try_quote(value).unwrap_or_default();
            plain.push_str(match (is_given, inner.contains("quote(")) {
                (true, true) => &quoted,
                (true, false) => value,
                (false, _) => "$",
            });
        }
        plain.push_str(rest);
        if !self.are_positional {
            return plain;
        }
        let names = ["$@", "$*", "$1", "$2", "$3", "$4"];
        names.iter().fold(plain, |text, name| text.replace(name, ANY))
    }
}

/// Returns where the parenthesis closes that a text begins with.
fn closing(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' if depth == 1 => return at,
            ')' | '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns whether a value in a text for a shell names what a command runs, is code for it, or starts more commands
/// than any plain word would.
fn is_code(filled: impl Fn(&str) -> String, value: &str) -> bool {
    let any = filled(ANY);
    if !any.contains(ANY) {
        return false;
    }
    let commands = |text: String| {
        let mut commands = risk::started(&["sh".to_owned(), "-c".to_owned(), text]);
        commands.retain(|command| command.standing != Standing::Guessed);
        commands
    };
    let found = commands(any);
    let runs = found.iter().skip(1).any(|command| {
        let risks = Argv::new(command.words.clone()).map(|argv| risk::judge(&argv)).unwrap_or_default();
        let is_text = |risk: &Risk| match risk {
            Risk::InlineCode { word, end, .. } => {
                command.words.iter().take(end.saturating_add(1)).skip(*word).any(|word| word.contains(ANY))
            }
            _ => false,
        };
        code_words(&command.words).iter().any(|word| word.contains(ANY)) || risks.iter().any(is_text)
    });
    runs || commands(filled(value)).len() != found.len()
}
