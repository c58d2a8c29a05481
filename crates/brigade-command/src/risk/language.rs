//! Finds commands in programs of awk, sed and vi, which are always text.
//!
//! Such a program is a risk only if it can run commands. It is parsed only as far as needed to decide that.

use std::collections::HashSet;

use super::Word;
use crate::programs::is_long;

/// The options of awk with a value, by their short names. A short option may also have only that name.
const AWK: &[(&str, char)] = &[
    ("--assign", 'v'),
    ("--exec", 'E'),
    ("--field-separator", 'F'),
    ("--file", 'f'),
    ("--include", 'i'),
    ("--load", 'l'),
    ("--source", 'e'),
];

/// The options of sed with a value, by their short names.
const SED: &[(&str, char)] = &[("--expression", 'e'), ("--file", 'f'), ("--line-length", 'l')];

/// One word, or two, of a command line.
enum Part<'w> {
    /// An option with a value, by its short name, and the position of the word with the value.
    Valued(char, &'w str, usize),
    /// A long option without a value that the table knows.
    Flag(&'w str),
    /// An operand, at its position.
    Operand(usize),
}

/// Reads options in every spelling: attached, bundled, after `=`, and any prefix of a long name.
///
/// `suffixed` are short options that take the rest of their bundle. Operands may stand before options.
fn parts<'w>(args: &'w [Word], valued: &[(&'static str, char)], suffixed: &str) -> Vec<Part<'w>> {
    let mut found = Vec::new();
    let mut at = 0;
    let text_at = |at: usize| args.get(at).map_or("", |word| word.text.as_str());
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            found.extend((at + 1..args.len()).map(Part::Operand));
            break;
        }
        if text.starts_with("--") {
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            match (valued.iter().find(|(long, _)| is_long(name, long)), value) {
                (Some((_, short)), Some(value)) => found.push(Part::Valued(*short, value, at)),
                (Some((_, short)), None) => {
                    at += 1;
                    found.push(Part::Valued(*short, text_at(at), at));
                }
                (None, _) => found.push(Part::Flag(name)),
            }
        } else if let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.is_empty()) {
            for (index, letter) in bundle.char_indices() {
                if suffixed.contains(letter) {
                    break;
                }
                if valued.iter().any(|(_, short)| *short == letter) {
                    let attached = &bundle[index + letter.len_utf8()..];
                    at += usize::from(attached.is_empty());
                    let value = if attached.is_empty() { text_at(at) } else { attached };
                    found.push(Part::Valued(letter, value, at));
                    break;
                }
            }
        } else {
            found.push(Part::Operand(at));
        }
        at += 1;
    }
    found
}

/// Finds the argument of awk with a program that starts commands.
pub(super) fn awk_runs_commands(args: &[Word]) -> Option<usize> {
    // mawk takes long options as values of `-W`.
    let args: Vec<Word> = args.iter().map(long_after_w).collect();
    let mut has_program = false;
    for part in parts(&args, AWK, "") {
        match part {
            Part::Valued('e', program, at) if awk_program_runs(program) => return Some(at),
            Part::Valued('e' | 'f' | 'E', ..) => has_program = true,
            Part::Valued(..) | Part::Flag(_) => {}
            Part::Operand(at) => {
                return (!has_program && awk_program_runs(&args[at].text)).then_some(at);
            }
        }
    }
    None
}

fn long_after_w(word: &Word) -> Word {
    match word.text.strip_prefix("-W").map(str::trim_start).filter(|long| !long.is_empty()) {
        Some(long) => Word { text: format!("--{long}"), at: word.at },
        None => word.clone(),
    }
}

/// What a `/` in a program of awk is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    /// The start of a pattern.
    Pattern,
    /// A division.
    Division,
    /// One of both, which only the grammar can tell.
    Either,
}

/// Tells whether a program of awk has a pipe or calls `system`. Strings, patterns and comments are skipped.
fn awk_program_runs(program: &str) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut seen = HashSet::new();
    let mut starts = vec![(0, Slash::Pattern)];
    while let Some((mut at, mut slash)) = starts.pop() {
        // From the same place on, everything is the same.
        while let Some(c) = chars.get(at).copied().filter(|_| seen.insert((at, slash as u8))) {
            at += 1;
            match c {
                '"' => {
                    at = after_delimiter(&chars, at, '"');
                    slash = Slash::Division;
                }
                '/' if slash == Slash::Division => slash = Slash::Pattern,
                '/' => {
                    if slash == Slash::Either {
                        starts.push((at, Slash::Pattern));
                    }
                    at = after_pattern(&chars, at, '/');
                    slash = Slash::Division;
                }
                '#' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
                '|' if chars.get(at) == Some(&'|') => {
                    at += 1;
                    slash = Slash::Pattern;
                }
                '|' | '@' => return true,
                c if c.is_alphabetic() || c == '_' => {
                    let end =
                        at + chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                    let word: String = chars[at - 1..end].iter().collect();
                    at = end;
                    // A backslash at the end of a line continues it.
                    let next = chars[at..].iter().find(|c| !c.is_whitespace() && **c != '\\');
                    if word == "system" && next == Some(&'(') {
                        return true;
                    }
                    slash = match word.as_str() {
                        "case" | "do" | "else" | "exit" | "in" | "print" | "printf" | "return" => {
                            Slash::Pattern
                        }
                        "getline" => Slash::Either,
                        _ => Slash::Division,
                    };
                }
                '+' | '-' if chars.get(at) == Some(&c) => {
                    at += 1;
                    slash = Slash::Either;
                }
                ')' => slash = Slash::Either,
                ']' | '.' => slash = Slash::Division,
                c if c.is_ascii_digit() => slash = Slash::Division,
                '\\' => {}
                '\n' if chars[..at - 1].iter().rev().find(|c| **c != '\r') != Some(&'\\') => {
                    slash = Slash::Pattern;
                }
                c if c.is_whitespace() => {}
                _ => slash = Slash::Pattern,
            }
        }
    }
    false
}

/// Returns the position after the next unescaped delimiter, or the end.
fn after_delimiter(chars: &[char], mut at: usize, delimiter: char) -> usize {
    while let Some(c) = chars.get(at) {
        at += 1;
        if *c == '\\' {
            at += 1;
        } else if *c == delimiter {
            break;
        }
    }
    at.min(chars.len())
}

/// Returns the position after the delimiter that ends a pattern, or the end. In brackets, it is an ordinary character.
fn after_pattern(chars: &[char], mut at: usize, delimiter: char) -> usize {
    while let Some(c) = chars.get(at) {
        at += 1;
        match *c {
            '\\' => at += 1,
            '[' if delimiter != '[' => at = after_brackets(chars, at).unwrap_or(at),
            c if c == delimiter => break,
            _ => {}
        }
    }
    at.min(chars.len())
}

/// Returns the position after the `]` that ends a bracket expression; `None` if it is missing.
fn after_brackets(chars: &[char], mut at: usize) -> Option<usize> {
    at += usize::from(chars.get(at) == Some(&'^'));
    // At the start, `]` is a character of the list.
    at += usize::from(chars.get(at) == Some(&']'));
    loop {
        match chars.get(at)? {
            ']' => return Some(at + 1),
            '\n' => return None,
            '[' if matches!(chars.get(at + 1), Some(':' | '.' | '=')) => {
                let kind = chars[at + 1];
                let end = chars[at + 2..].windows(2).position(|pair| pair == [kind, ']'])?;
                at += 2 + end + 2;
            }
            _ => at += 1,
        }
    }
}

/// Finds the argument of sed that runs commands: the command `e`, or the flag `e` of a replacement.
pub(super) fn sed_runs_commands(args: &[Word]) -> Option<usize> {
    let (mut operand, mut script, mut has_script) = (None, None, false);
    for part in parts(args, SED, "i") {
        match part {
            // They refuse such commands.
            Part::Flag("--sandbox" | "--posix") => return None,
            Part::Valued('e', text, at) => {
                has_script = true;
                script = script.or(sed_script_runs(text).then_some(at));
            }
            Part::Valued('f', ..) => has_script = true,
            Part::Valued(..) | Part::Flag(_) => {}
            Part::Operand(at) => operand = operand.or(Some(at)),
        }
    }
    let operand = operand.filter(|at| !has_script && sed_script_runs(&args[*at].text));
    script.or(operand)
}

/// Tells whether a script of sed has the command `e` or a replacement with the flag `e`.
fn sed_script_runs(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            // Addresses and separators of commands.
            '0'..='9' | ',' | '$' | '~' | '+' | '!' | '{' | '}' | ';' => {}
            c if c.is_whitespace() => {}
            '/' => {
                at = after_pattern(&chars, at, '/');
                at += chars[at..].iter().take_while(|c| matches!(c, 'I' | 'M')).count();
            }
            '\\' => {
                let Some(delimiter) = chars.get(at) else { return false };
                at = after_pattern(&chars, at + 1, *delimiter);
            }
            's' | 'y' => {
                let Some(delimiter) = chars.get(at).copied() else { return false };
                // `y` has lists of characters, not patterns.
                at = match c {
                    's' => after_pattern(&chars, at + 1, delimiter),
                    _ => after_delimiter(&chars, at + 1, delimiter),
                };
                at = after_delimiter(&chars, at, delimiter);
                while let Some(flag) = chars.get(at).copied() {
                    at += 1;
                    match flag {
                        'e' if c == 's' => return true,
                        // The rest of the line is a file name.
                        'w' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
                        '0'..='9' | 'g' | 'p' | 'i' | 'I' | 'm' | 'M' => {}
                        _ => {
                            at -= 1;
                            break;
                        }
                    }
                }
            }
            'e' => return true,
            'a' | 'i' | 'c' => {
                // The text ends with the first line without a backslash at its end.
                while let Some(c) = chars.get(at).copied() {
                    at += 1;
                    match c {
                        '\\' => at += 1,
                        '\n' => break,
                        _ => {}
                    }
                }
            }
            'r' | 'R' | 'w' | 'W' | '#' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            'b' | 't' | 'T' | ':' | 'v' => {
                at += chars[at..].iter().take_while(|c| !matches!(c, ';' | '\n' | '}')).count();
            }
            _ => {}
        }
    }
    false
}

/// Finds the argument of vi and similar editors that runs commands or a script as text.
pub(super) fn vi_runs_commands(args: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        match text {
            "--" => return None,
            "-c" | "--cmd" => {
                if args.get(at + 1).is_some_and(|text| ex_command_runs(&text.text)) {
                    return Some(at + 1);
                }
                at += 1;
            }
            _ if text.starts_with('+') && ex_command_runs(&text[1..]) => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Tells whether an `ex` command starts a shell, or runs a script in another language.
fn ex_command_runs(command: &str) -> bool {
    const SCRIPTS: &[&str] = &[
        "exe", "execute", "lua", "luado", "mz", "mzscheme", "perl", "perldo", "py", "pydo", "python", "pyx",
        "pyxdo", "pythonx", "rub", "ruby", "rubydo", "sh", "shell", "tcl", "tcldo", "ter", "term",
        "terminal",
    ];
    const FORCED: &[&str] = &[
        "", "b", "bd", "bn", "bp", "bw", "cq", "e", "edit", "n", "next", "norm", "normal", "q", "qa", "qall",
        "quit", "w", "wa", "wall", "wq", "wqa", "write", "x", "xa", "xit",
    ];
    if command.contains("system(") || command.contains("systemlist(") || command.contains("termopen(") {
        return true;
    }
    command.split(['|', '\n']).any(|part| {
        let part = part.trim_start_matches([':', ' ']);
        // `/pattern` only searches.
        if part.starts_with(['/', '?']) {
            return false;
        }
        let bangs = part.match_indices('!').any(|(bang, _)| {
            let word = part[..bang].trim_start_matches(|c: char| !c.is_ascii_alphabetic());
            // `wq!` ends here or continues after a blank; `!ls` and `w !ls` start a command.
            let forced = bang != 0 && FORCED.contains(&word) && !word.is_empty();
            !forced || part[bang + 1..].starts_with(|c: char| c != ' ' && !c.is_control())
        });
        let word = part.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        bangs || SCRIPTS.contains(&word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(runs: fn(&str) -> bool, yes: &[&str], no: &[&str]) {
        let wrong = yes.iter().filter(|text| !runs(text)).chain(no.iter().filter(|text| runs(text)));
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn awk_runs_by_system_and_by_pipes() {
        check(
            awk_program_runs,
            &[
                "BEGIN { system(\"id\") }",
                "{ system (\"id\") }",
                "{ print | \"sh\" }",
                "{ print $1 | command }",
                "{ \"date\" | getline d }",
                "{ c |& getline }",
                "@load \"x\"",
                // Issue 12: continued lines, and a division that looks like a pattern.
                "BEGIN { system\\\n(\"id\") }",
                "BEGIN { system \\\r\n\t(\"id\") }",
                "BEGIN { x = y++ / 2; \"id\" | getline z; y = 3 / 4 }",
                "BEGIN { x = 1. / 2; system(\"id\"); y = 3 / 4 }",
                "BEGIN { x = $/y\"/; system(\"id\"); y = \"/\" }",
                "BEGIN { x = (2) / 2; system(\"id\"); y = 3 / 4 }",
                "BEGIN { x = 2 \\\n / 2; system(\"id\"); y = 3 / 4 }",
            ],
            &[
                "{ print $1 }",
                "$1 || $2",
                "/a|b/ { print }",
                "$1 ~ /x|\"/ { n++ }",
                "$1 ~ \"a|\" { print }",
                "{ split($0, a, \"|\"); print a[1] / 2 }",
                "{ print $1 / 2, $2 / 3 } # a | b",
                "{ print \"system(1)\" }",
                "{ systems = 1 }",
                "{ if (x) n++; else /c|d/ }",
                "{ print (a) / 2, \"|\", (b)/3 }",
                "{ n++ }\n/a|b/ { print }",
            ],
        );
    }

    #[test]
    fn sed_runs_by_a_command_and_by_a_flag() {
        check(
            sed_script_runs,
            &[
                "e",
                "1e id",
                "s/x/y/e",
                "s|x|y|ge",
                "/x/I{s/a/b/;e ls\n}",
                "$!e date",
                "y/ab/cd/;e",
                "a x\ne ls",
            ],
            &[
                "s/e/e/g",
                "s/x/y/w e",
                "/e/d",
                "y/e/f/",
                "a echo e",
                "i\\\n e\\\n e",
                ":e\nb e",
                "\\,e,p",
                "r e",
                "# e",
                "s/\\/e/x/;p",
                "1,5p",
            ],
        );
    }

    #[test]
    fn vi_runs_by_bangs_and_scripts() {
        check(
            ex_command_runs,
            &[
                "!ls",
                ":!ls",
                "%!sort",
                "r !date",
                "r!date",
                "w !sh",
                "call system('id')",
                "py print(1)",
                "wq|!ls",
            ],
            &[
                "wq",
                "wq!",
                "q!",
                "%s/a/b/g",
                "set number",
                "w! file",
                "42",
                "/needle!",
                "normal! gg",
                "sort",
                "set shiftwidth=2",
            ],
        );
    }
}
