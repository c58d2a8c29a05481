//! Finds commands in programs of awk, sed and vi, which are always text.
//!
//! Such a program is a risk only if it can run commands. It is parsed only as far as needed to decide that.

use super::Word;

/// Finds the argument of awk that runs commands: a program with `system(…)` or a pipe.
pub(super) fn awk_runs_commands(args: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        match word.text.as_str() {
            "-f" | "--file" => return None,
            "-F" | "-v" | "--field-separator" | "--assign" | "-i" | "--include" => at += 1,
            "-e" | "--source" => {
                if args.get(at + 1).is_some_and(|text| awk_program_runs(&text.text)) {
                    return Some(at + 1);
                }
                at += 1;
            }
            text if text.starts_with("--source=") => {
                if awk_program_runs(&text["--source=".len()..]) {
                    return Some(at);
                }
            }
            "--" => {
                let text = args.get(at + 1)?;
                return awk_program_runs(&text.text).then_some(at + 1);
            }
            text if text.starts_with('-') && text != "-" => {}
            text => return awk_program_runs(text).then_some(at),
        }
        at += 1;
    }
    None
}

/// Tells whether a program of awk has a pipe or calls `system`. Strings, patterns and comments are skipped.
fn awk_program_runs(program: &str) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    // Whether a `/` here starts a pattern.
    let mut operand_expected = true;
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            '"' => {
                at = after_delimiter(&chars, at, '"');
                operand_expected = false;
            }
            '/' if operand_expected => {
                at = after_pattern(&chars, at, '/');
                operand_expected = false;
            }
            '#' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '|' if chars.get(at) == Some(&'|') => {
                at += 1;
                operand_expected = true;
            }
            '|' => return true,
            '@' => return true,
            c if c.is_alphabetic() || c == '_' => {
                let end = at + chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                let word: String = chars[at - 1..end].iter().collect();
                at = end;
                let next = chars[at..].iter().find(|c| !c.is_whitespace());
                if word == "system" && next == Some(&'(') {
                    return true;
                }
                operand_expected = matches!(word.as_str(), "return" | "print" | "printf" | "in" | "case");
            }
            c if c.is_whitespace() => {}
            c => operand_expected = !(c.is_ascii_digit() || matches!(c, ')' | ']' | '$')),
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
    if args.iter().any(|word| matches!(word.text.as_str(), "--sandbox" | "--posix")) {
        return None;
    }
    let mut operand = None;
    let mut has_script = false;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        let script = match text {
            "--" => {
                operand = operand.or((at + 1 < args.len()).then_some(at + 1));
                break;
            }
            "--expression" => Some(at + 1),
            "--file" => {
                has_script = true;
                at += 1;
                None
            }
            "-l" | "--line-length" => {
                at += 1;
                None
            }
            _ if text.starts_with("--expression=") => {
                has_script = true;
                if sed_script_runs(&text["--expression=".len()..]) {
                    return Some(at);
                }
                None
            }
            _ if text.starts_with("--") => {
                has_script |= text.starts_with("--file=");
                None
            }
            _ if text.len() > 1 && text.starts_with('-') => {
                let bundle = &text[1..];
                // The rest after `-i` is a suffix, and after `-f` a file.
                let end = bundle.find(['e', 'f', 'i', 'l', 'E', 's']).unwrap_or(bundle.len());
                match bundle[end..].chars().next() {
                    Some('e') if end + 1 == bundle.len() => Some(at + 1),
                    Some('e') => {
                        has_script = true;
                        if sed_script_runs(&bundle[end + 1..]) {
                            return Some(at);
                        }
                        None
                    }
                    Some('f') => {
                        has_script = true;
                        at += usize::from(end + 1 == bundle.len());
                        None
                    }
                    // `-Ee` and `-se`.
                    Some('E' | 's') if bundle[end + 1..] == *"e" => Some(at + 1),
                    Some(_) | None => None,
                }
            }
            _ => {
                operand = operand.or(Some(at));
                None
            }
        };
        if let Some(script) = script {
            has_script = true;
            if args.get(script).is_some_and(|text| sed_script_runs(&text.text)) {
                return Some(script);
            }
            at = script;
        }
        at += 1;
    }
    let operand = operand.filter(|_| !has_script)?;
    sed_script_runs(&args[operand].text).then_some(operand)
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
