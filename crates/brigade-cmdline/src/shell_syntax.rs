//! Finds syntax that only a shell understands in a command that no shell reads.

/// Characters that end a command, join two, or send their output elsewhere.
const OPERATORS: &[char] = &['|', ';', '&', '<', '>', '(', ')'];

/// Returns the first part of a command that a shell would not read as a plain word: an operator, a variable, a
/// substitution, a file pattern, a comment, a home directory or an assignment. Quoted characters are plain text.
///
/// ```
/// use brigade_cmdline::shell_syntax;
///
/// assert_eq!(shell_syntax("cat a.txt | wc -l"), Some("|"));
/// assert_eq!(shell_syntax("grep -r 'a|b' src"), None);
/// ```
pub fn shell_syntax(command: &str) -> Option<&str> {
    let mut chars = command.char_indices();
    let mut is_first = true;
    // Whether the next character begins a word, and whether an unquoted `=` would make the word an assignment.
    let (mut begins, mut is_name) = (true, true);
    while let Some((at, c)) = chars.next() {
        let next = command[at + c.len_utf8()..].chars().next();
        match c {
            ' ' | '\t' | '\r' => {
                is_first &= begins;
                (begins, is_name) = (true, true);
                continue;
            }
            // Line ends around a command do not start a second line.
            '\n' if command[at..].trim().is_empty() || (is_first && begins) => continue,
            '\n' => return Some("\n"),
            '\'' => while chars.next().is_some_and(|(_, c)| c != '\'') {},
            '"' => {
                while let Some((at, c)) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => drop(chars.next()),
                        '`' => return Some("`"),
                        '$' if expands(command[at + 1..].chars().next()) => return Some("$"),
                        _ => {}
                    }
                }
            }
            '\\' => drop(chars.next()),
            c if OPERATORS.contains(&c) => return Some(&command[at..at + 1]),
            '`' | '*' | '?' => return Some(&command[at..at + 1]),
            '[' if command[at..].split([' ', '\t', '\n']).next().is_some_and(|word| word.contains(']')) => {
                return Some("[");
            }
            '{' if is_brace_list(&command[at..]) => return Some("{"),
            '$' if expands(next) || matches!(next, Some('\'' | '"')) => return Some("$"),
            '~' | '#' if begins => return Some(&command[at..at + 1]),
            '=' if is_first && is_name && !begins => return Some("="),
            _ => {}
        }
        is_name &= c == '_' || c.is_ascii_alphabetic() || (!begins && c.is_ascii_digit());
        begins = false;
    }
    None
}

/// Returns whether a shell would replace `$` and the text after it.
fn expands(next: Option<char>) -> bool {
    next.is_some_and(|c| c.is_ascii_alphanumeric() || "_({@*#?$!-".contains(c))
}

/// Returns whether braces contain a list, such as `{a,b}` and `{1..3}`.
fn is_brace_list(text: &str) -> bool {
    let word = text.split([' ', '\t', '\n']).next().unwrap_or_default();
    word.split_once('}').is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Argv;

    #[track_caller]
    fn check(command: &str, expect: Option<&str>) {
        assert_eq!(shell_syntax(command), expect, "{command}");
    }

    #[test]
    fn shell_syntax_is_found() {
        check("a | b", Some("|"));
        check("a; b", Some(";"));
        check("a && b", Some("&"));
        check("a > b", Some(">"));
        check("a 2>&1", Some(">"));
        check("a $(b)", Some("$"));
        check("a \"$(b)\"", Some("$"));
        check("a `b`", Some("`"));
        check("a \"`b`\"", Some("`"));
        check("a $HOME", Some("$"));
        check("a ${x}", Some("$"));
        check("a $'x'", Some("$"));
        check("ls *.rs", Some("*"));
        check("ls a?", Some("?"));
        check("ls [ab]", Some("["));
        check("ls {a,b}", Some("{"));
        check("ls {1..3}", Some("{"));
        check("ls ~/a", Some("~"));
        check("a # b", Some("#"));
        check("A=1 b", Some("="));
        check("a\nb", Some("\n"));
        check("(a)", Some("("));
    }

    #[test]
    fn words_are_words() {
        for command in [
            "grep -r 'a|b;c&&d$(e)*' src",
            "grep \"a|b\" src",
            "echo a\\|b \\*",
            "find . -name '*.rs' -exec wc {} +",
            "git show HEAD~1 a#b",
            "make A=1 b=2",
            "cargo test --features=a",
            "test 1 [",
            "grep 'x$' \"y$\" z$",
            "  cargo build \n",
            "\n cargo build",
            "echo \"a\\$b\"",
        ] {
            check(command, None);
        }
    }

    proptest! {
        #[test]
        fn quoted_words_are_never_syntax(words in prop::collection::vec("[^\0]{0,12}", 1..5)) {
            prop_assume!(!words[0].is_empty());
            let argv = Argv::new(words).unwrap();
            let quoted = argv.to_string();
            prop_assert_eq!(shell_syntax(&quoted), None);
        }
    }
}
