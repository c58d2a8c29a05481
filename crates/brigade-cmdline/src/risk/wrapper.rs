//! Finds the commands that wrappers run.

use std::path::PathBuf;

use super::{Word, options, removes, shell_text};
use crate::programs::{Program, Role, Spelling, is_long};
use crate::shell_syntax;

/// What a wrapper runs.
pub(crate) enum Inner {
    /// A command, in a directory relative to that of the wrapper.
    Command { words: Vec<Word>, directory: PathBuf },
    /// A text for a shell; `option` is the position of the word that requests it, if that is a risk itself.
    ShellText { option: Option<usize>, program: &'static str, text: Word },
    /// A shell, because no command is named; it reads standard input.
    Shell,
    /// A command in a text that cannot be parsed before it runs.
    Unread,
    /// Nothing.
    Nothing,
}

/// Returns whether a text that a program passes to a shell is more than the words of one command.
pub(super) fn needs_a_shell(text: &str) -> bool {
    let parsed = shell_text::parse(text);
    let syntax = shell_syntax(text).unwrap_or("*");
    // Patterns of files, formats and comments start nothing.
    parsed.commands.len() > 1 || !parsed.substitutions.is_empty() || !"*?[{#~".contains(syntax)
}

/// Returns the words after `start-stop-daemon`, with the program before its arguments.
pub(super) fn of_daemon(args: &[Word]) -> Vec<Word> {
    let program = |word: &Word| {
        let text = &word.text;
        let long = ["--exec=", "--startas="].iter().find_map(|option| text.strip_prefix(option));
        let short = || text.strip_prefix("-x").or_else(|| text.strip_prefix("-a"));
        let named = long.or_else(short).filter(|rest| !rest.is_empty());
        Word { text: named.unwrap_or(text).to_owned(), at: word.at }
    };
    let end = args.iter().position(|word| word.text == "--");
    args.iter().enumerate().filter(|(at, _)| Some(*at) != end).map(|(_, word)| program(word)).collect()
}

/// Finds what a wrapper runs.
pub(crate) fn look_through(wrapper: Program, args: &[Word]) -> Inner {
    let spelling = &wrapper.row().spelling;
    let mut directory = PathBuf::new();
    // The applet is the command itself.
    if matches!(wrapper.name, "busybox" | "toybox") {
        return Inner::Command { words: args.to_vec(), directory };
    }
    let mut at = 0;
    let mut operands = if let Role::Wrapper { operands } = wrapper.role() { operands } else { 0 };
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        match wrapper.name {
            _ if wrapper.sets_variables() && sets_variable(text) => {
                at += 1;
                continue;
            }
            _ if wrapper.sets_variables() => match env_split_string(spelling, args, at) {
                Some(Some(words)) => return Inner::Command { words, directory },
                Some(None) => return Inner::Unread,
                None => {}
            },
            "flock" if text == "-c" || is_long(text, "--command") => {
                let Some(text) = args.get(at + 1) else { return Inner::Nothing };
                return Inner::ShellText { option: Some(word.at), program: "flock", text: text.clone() };
            }
            // `command -v name` only tells where a program is.
            "command" if text.starts_with('-') && text.contains(['v', 'V']) => return Inner::Nothing,
            _ => {}
        }
        if text == "--" {
            at += 1;
            if operands == 0 {
                break;
            }
        } else if text.len() > 1 && text.starts_with('-') {
            directory.extend(directory_in(spelling, text, args.get(at + 1)));
            at += 1 + usize::from(spelling.takes_next_word(text));
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    // After `--`, env takes every word with `=` as a variable.
    if wrapper.sets_variables() {
        at += args[at.min(args.len())..].iter().take_while(|word| word.text.contains('=')).count();
    }
    let command = args.get(at..).unwrap_or_default().to_vec();
    let is_watch = wrapper.name == "watch" && !args[..at].iter().any(|word| executes(&word.text));
    if is_watch || wrapper.name == "cross-env-shell" {
        let Some(first) = command.first() else { return Inner::Nothing };
        let text = command.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        // One command is judged as if the wrapper started it. Anything more is a text for the shell.
        let option = needs_a_shell(&text).then_some(first.at);
        return Inner::ShellText { option, program: wrapper.name, text: Word { text, at: first.at } };
    }
    let is_setarch = wrapper.row().names.contains(&"setarch");
    if command.is_empty()
        && (is_setarch || matches!(wrapper.name, "chroot" | "fakeroot" | "gchroot" | "unshare"))
    {
        let asks =
            |word: &Word| matches!(word.text.as_str(), "--help" | "--version" | "-h" | "-V" | "--list");
        return if args.iter().any(asks) { Inner::Nothing } else { Inner::Shell };
    }
    Inner::Command { words: command, directory }
}

/// Returns the directory that an option sets for the command.
fn directory_in<'a>(spelling: &Spelling, option: &'a str, next: Option<&'a Word>) -> Option<&'a str> {
    let (short, long) = spelling.directory?;
    let next = next.map(|word| word.text.as_str());
    if option.starts_with("--") {
        return match option.split_once('=') {
            Some((name, value)) => is_long(name, long).then_some(value),
            None => next.filter(|_| is_long(option, long)),
        };
    }
    let bundle = &option[1..];
    let first =
        bundle.find(|c| spelling.valued.contains(c)).filter(|index| bundle[*index..].starts_with(short))?;
    let attached = &bundle[first + short.len_utf8()..];
    if attached.is_empty() { next } else { Some(attached) }
}

/// A command, and its working directory relative to that of the command line.
pub(crate) type PlacedWords = (Vec<Word>, PathBuf);

/// Follows a command through its wrappers: returns the command itself first, then what each wrapper starts.
pub(crate) fn wrapped(words: Vec<Word>) -> Vec<PlacedWords> {
    let mut chain: Vec<PlacedWords> = vec![(words, PathBuf::new())];
    while chain.len() < super::MAX_DEPTH
        && let Some((words, directory)) = chain.last()
        && let Some((head, args)) = words.split_first()
        && let Some(known) = Program::from_word(&head.text)
        && let Role::Wrapper { .. } = known.role()
    {
        let next = match look_through(known, args) {
            Inner::Command { words, directory: moved } => (words, directory.join(moved)),
            Inner::ShellText { text, .. } => match shell_text::parse(&text.text).commands.as_slice() {
                [only] => {
                    let word = |word: &String| Word { text: word.clone(), at: text.at };
                    (only.words.iter().map(word).collect(), directory.clone())
                }
                _ => break,
            },
            Inner::Shell | Inner::Unread | Inner::Nothing => break,
        };
        if next.0.is_empty() {
            break;
        }
        chain.push(next);
    }
    chain
}

/// Returns whether the command of a wrapper may find other files than the wrapper itself.
pub(super) fn moves(wrapper: Program) -> bool {
    matches!(wrapper.name, "busybox" | "chroot" | "toybox" | "unshare")
}

/// Returns whether an option makes `watch` execute its words without a shell.
fn executes(option: &str) -> bool {
    is_long(option, "--exec")
        || option.strip_prefix('-').is_some_and(|bundle| !bundle.starts_with('-') && bundle.contains('x'))
}

/// Parses `env -S 'bash -c …' more` into its words. `Some(None)` if only `env` can determine them.
fn env_split_string(spelling: &Spelling, args: &[Word], at: usize) -> Option<Option<Vec<Word>>> {
    const LONG: &str = "--split-string";
    let word = args.get(at)?;
    let option = word.text.as_str();
    let next = || args.get(at + 1).map(|next| (next.text.as_str(), at + 2));
    let (text, rest) = if option.starts_with("--") {
        match option.split_once('=') {
            Some((name, text)) if is_long(name, LONG) => (text, at + 1),
            None if is_long(option, LONG) => next()?,
            Some(_) | None => return None,
        }
    } else {
        let bundle = option.strip_prefix('-')?;
        let index = bundle.find(|c| spelling.valued.contains(c))?;
        let attached = bundle[index..].strip_prefix('S')?;
        if attached.is_empty() { next()? } else { (attached, at + 1) }
    };
    let Some(split) = split_as_env(text) else { return Some(None) };
    // The split text may itself begin with assignments and options of `env`.
    let place = args[rest - 1].at;
    let mut words = vec![Word { text: "env".to_owned(), at: word.at }];
    words.extend(split.into_iter().map(|text| Word { text, at: place }));
    words.extend_from_slice(args.get(rest..).unwrap_or_default());
    Some(Some(words))
}

/// Splits a text by the rules of `env -S`; `None` for texts that it refuses or that contain a variable.
fn split_as_env(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('\'' | '"', Some(open)) if c == open => quote = None,
            (' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c', None) => words.extend(word.take()),
            ('#', None) if word.is_none() => break,
            ('\\', Some('\'')) => match chars.clone().next() {
                Some(escaped @ ('\\' | '\'')) => {
                    chars.next();
                    word.get_or_insert_default().push(escaped);
                }
                Some(_) | None => word.get_or_insert_default().push('\\'),
            },
            ('\\', _) => match (chars.next()?, quote) {
                ('c', None) => break,
                ('_', None) => words.extend(word.take()),
                ('_', Some(_)) => word.get_or_insert_default().push(' '),
                ('f', _) => word.get_or_insert_default().push('\x0c'),
                ('n', _) => word.get_or_insert_default().push('\n'),
                ('r', _) => word.get_or_insert_default().push('\r'),
                ('t', _) => word.get_or_insert_default().push('\t'),
                ('v', _) => word.get_or_insert_default().push('\x0b'),
                (escaped @ ('"' | '#' | '$' | '\'' | '\\'), _) => word.get_or_insert_default().push(escaped),
                _ => return None,
            },
            ('$', None | Some('"')) => return None,
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Returns the command after the options of `sudo` and similar programs, most of whose options take a value.
pub(super) fn after_privilege(args: &[Word]) -> Vec<Word> {
    let Some(sudo) = Program::from_word("sudo") else { return Vec::new() };
    match look_through(sudo, args) {
        Inner::Command { words, .. } => words,
        Inner::ShellText { .. } | Inner::Shell | Inner::Unread | Inner::Nothing => Vec::new(),
    }
}

/// Returns the words after a subcommand that starts others, regardless of options before it.
pub(super) fn launched<'w>(known: Program, names: &[&str], args: &'w [Word]) -> Option<&'w [Word]> {
    let mut at = 0;
    while let Some(option) = args.get(at).filter(|word| word.text.starts_with('-')) {
        let takes_next = !option.text.contains('=') && known.row().spelling.takes_next_word(&option.text);
        at += 1 + usize::from(takes_next);
    }
    let subcommand = args.get(at)?;
    names.contains(&subcommand.text.as_str()).then(|| &args[at + 1..])
}

/// Returns whether words that look like command separators may be something else: values of options, as in `awk -F
/// ';'`, and ends of parts after `-exec`.
pub(super) fn has_values_like_separators(words: &[Word]) -> bool {
    let is_value = |pair: &[Word]| {
        pair[0].text.starts_with('-') && pair[0].text != "-" && shell_text::is_separator(&pair[1].text)
    };
    words.windows(2).any(is_value) || 1 < find_commands(words).len()
}

/// Returns the commands after `-exec` and similar options.
pub(crate) fn find_commands(args: &[Word]) -> Vec<&[Word]> {
    let starts = |word: &Word| {
        matches!(
            word.text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
        )
    };
    let mut commands = Vec::new();
    let mut rest = args;
    while let Some(at) = rest.iter().position(starts) {
        let inner = &rest[at + 1..];
        let end =
            inner.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(inner.len());
        commands.push(&inner[..end]);
        rest = &inner[end..];
    }
    commands
}

/// Returns whether `find` removes the files that it finds, itself or with `rm -f`.
///
/// It enters directories and never asks, so this is a forced removal with any options of `rm`.
pub(super) fn find_removes(args: &[Word]) -> bool {
    args.iter().any(|word| word.text == "-delete")
        || find_commands(args).iter().any(|command| {
            command.first().is_some_and(|word| removes(&word.text)) && options::forces(&command[1..])
        })
}

/// Finds the option with which `setpriv` changes rights.
pub(super) fn setpriv_option(args: &[Word]) -> Option<usize> {
    const TAKES: &[&str] =
        &["--reuid", "--ruid", "--euid", "--regid", "--rgid", "--egid", "--ambient-caps", "--inh-caps"];
    args.iter()
        .take_while(|word| word.text.starts_with('-') && word.text != "--")
        .find(|word| {
            TAKES.iter().any(|option| is_long(word.text.split('=').next().unwrap_or_default(), option))
        })
        .map(|word| word.at)
}

/// Skips assignments and words of shell syntax that may come before a command.
pub(super) fn skip_shell_syntax(words: &[Word]) -> &[Word] {
    let syntax = |text: &str| {
        matches!(
            text,
            "!" | "{" | "}" | "(" | ")" | "if" | "then" | "else" | "elif" | "while" | "until" | "do"
        )
    };
    let skipped = words
        .iter()
        .take_while(|word| {
            syntax(&word.text) || is_assignment(&word.text) || shell_text::is_redirection(&word.text)
        })
        .count();
    &words[skipped..]
}

/// Returns whether `env` takes a word before its command as a variable to set. Any name is accepted.
///
/// `env` reads options up to the first other word, and after that a word with `=` is a variable even if it starts with
/// `-`. Such a word counts as an option here, which never hides the command.
fn sets_variable(word: &str) -> bool {
    !word.starts_with('-') && word.contains('=')
}

/// Returns whether a shell takes a word before a command as an assignment.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.trim_end_matches('+').chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_as_env_splits_them() {
        for (text, expect) in [
            ("python3 bin/x.py", Some(&["python3", "bin/x.py"][..])),
            (r#"a 'b c' "d e""#, Some(&["a", "b c", "d e"])),
            (r"a\_b c\ td", None),
            (r"a\_b c\td", Some(&["a", "b", "c\td"])),
            (r#"a "b\_c""#, Some(&["a", "b c"])),
            (r"a b\c and no more", Some(&["a", "b"])),
            (r"a 'b\'c' \#d e#f # g", Some(&["a", "b'c", "#d", "e#f"])),
            ("a ${HOME}/x", None),
            ("a '${HOME}'", Some(&["a", "${HOME}"])),
            ("a 'b", None),
            ("a ''", Some(&["a", ""])),
        ] {
            let found = split_as_env(text);
            let expect = expect.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expect, "{text}");
        }
    }
}
