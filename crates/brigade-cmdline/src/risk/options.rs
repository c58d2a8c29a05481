//! Parses the options of shells, interpreters and `rm` as these programs do.

use super::Word;
use crate::chosen::module_in_option;
use crate::code::is_launching_module;
use crate::programs::{PYTHON, Program, is_long};

/// A shell with commands as text.
pub(super) struct ShellText {
    /// The position of the option in the arguments.
    pub(super) option: usize,
    /// The texts.
    pub(super) texts: Vec<Word>,
}

/// Finds the option of a shell for commands as text.
pub(super) fn shell_text(program: &str, args: &[Word]) -> Option<ShellText> {
    let at = match program {
        "cmd" => args.iter().position(|word| {
            let word = word.text.to_ascii_lowercase();
            word.starts_with("/c") || word.starts_with("/k") || word.starts_with("/r")
        }),
        "powershell" | "pwsh" => power_shell_command(args),
        _ => posix_shell_command(program, args),
    }?;
    let attached = args[at].text.split_once('=').filter(|(option, _)| option.starts_with("--"));
    let mut texts: Vec<Word> = args[at + 1..].to_vec();
    if let Some((_, text)) = attached {
        texts.insert(0, Word { text: text.to_owned(), at: args[at].at });
    }
    Some(ShellText { option: at, texts })
}

fn posix_shell_command(program: &str, args: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            match name {
                "" => return None,
                "command" | "commands" | "init-command" => return Some(at),
                // Only some shells read abbreviations.
                name if program == "fish"
                    && ["command", "init-command"].iter().any(|long| long.starts_with(name)) =>
                {
                    return Some(at);
                }
                "rcfile" | "init-file" | "config" | "env-config" if !long.contains('=') => at += 1,
                _ => {}
            }
        } else if let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.is_empty()) {
            if bundle.contains('c') || (program == "fish" && bundle.contains('C')) {
                return Some(at);
            }
            if bundle.ends_with(['o', 'O']) {
                at += 1;
            }
        } else if let Some(bundle) = text.strip_prefix('+') {
            if bundle.ends_with(['o', 'O']) {
                at += 1;
            }
        } else {
            return None;
        }
        at += 1;
    }
    None
}

/// PowerShell accepts any prefix of `-Command` and `-EncodedCommand`, and a first argument without option as a command.
fn power_shell_command(args: &[Word]) -> Option<usize> {
    for (at, word) in args.iter().enumerate() {
        let lower = word.text.to_ascii_lowercase();
        let option = lower.strip_prefix('-')?;
        let option = option.trim_start_matches('-');
        if option.is_empty() {
            return None;
        }
        let encoded = option == "ec" || "encodedcommand".starts_with(option);
        if "command".starts_with(option) || "commandwithargs".starts_with(option) || encoded {
            return Some(at);
        }
        if "file".starts_with(option) {
            return None;
        }
    }
    None
}

/// Text that an interpreter gets as its program, as positions in the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct InlineText {
    /// The option or subcommand.
    pub(super) option: usize,
    /// The last word that may be part of the text. The arguments may end before it.
    pub(super) end: usize,
}

/// Lists the texts that an interpreter gets as its program.
pub(super) fn inline_code(program: &str, args: &[Word]) -> Vec<InlineText> {
    let all_after = |option| InlineText { option, end: args.len() - 1 };
    let found = match program {
        "deno" => args
            .iter()
            .position(|word| !word.text.starts_with('-'))
            .filter(|at| {
                args[*at].text == "eval"
                    || (args[*at].text == "repl" && args.iter().any(|word| word.text.starts_with("--eval")))
            })
            .map(all_after),
        "crystal" => args.first().filter(|word| word.text == "eval").map(|_| all_after(0)),
        "erl" => {
            args.iter().position(|word| matches!(word.text.as_str(), "-eval" | "-run" | "-s")).map(all_after)
        }
        "sbcl" => args.iter().position(|word| word.text.starts_with("--eval")).map(all_after),
        _ => return inline_options(program, args),
    };
    found.into_iter().collect()
}

/// Reads the options before the script.
fn inline_options(program: &str, args: &[Word]) -> Vec<InlineText> {
    let mut found = Vec::new();
    let Some(known) = Program::from_word(program) else { return found };
    let spelling = &known.row().spelling;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let option = at;
        let text = word.text.as_str();
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            if text == "--" {
                break;
            }
            let is_listed = spelling.long_valued.contains(&name);
            let next = args.get(at + 1).map(|next| next.text.as_str());
            let is_code =
                spelling.long_code.iter().any(|long| name == *long || (!is_listed && is_long(name, long)));
            if is_code || loads_text(program, text, args.get(at + 1)) {
                let is_next = !text.contains('=');
                if is_next && next.is_some_and(|next| next.starts_with('-')) {
                    // Some of these options may have no text, so the next word may be an option.
                    found.push(InlineText { option, end: args.len() });
                } else {
                    at += usize::from(is_next);
                    found.push(InlineText { option, end: at });
                }
            } else if spelling.takes_next_word(text)
                || (!text.contains('=')
                    && next.is_some_and(|next| !next.starts_with('-') && !may_be_script(next)))
            {
                // An unknown option may have a value.
                at += 1;
            }
        } else if let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.is_empty()) {
            for (index, letter) in bundle.char_indices() {
                let attached = &bundle[index + letter.len_utf8()..];
                if spelling.code.contains(letter) {
                    // Letters such as those of `-pe` may all be options.
                    let is_next = attached.chars().all(|c| spelling.code.contains(c));
                    let next = args.get(at + 1).filter(|_| is_next);
                    if next.is_some_and(|next| next.text.starts_with('-')) {
                        found.push(InlineText { option, end: args.len() });
                    } else {
                        at += usize::from(is_next);
                        found.push(InlineText { option, end: at });
                    }
                    break;
                }
                // `-d` is a flag, unless it names a debugger.
                if program == "perl" && letter == 'd' && !attached.trim_start_matches('t').starts_with(':') {
                    continue;
                }
                if spelling.ends.contains(letter) {
                    if takes_statements(program, attached, &args[at + 1..]) {
                        found.push(InlineText { option, end: args.len() - 1 });
                    }
                    return found;
                }
                // `-M'strict; system …'` becomes part of the program, as does what follows `-d:` and `-F`.
                if matches!((program, letter), ("perl", 'M' | 'm' | 'd' | 'F'))
                    && is_perl_code(letter, attached)
                {
                    found.push(InlineText { option, end: at });
                    break;
                }
                if spelling.attached.contains(letter) {
                    break;
                }
                if spelling.valued.contains(letter) {
                    at += usize::from(attached.is_empty());
                    break;
                }
            }
        } else {
            break;
        }
        at += 1;
    }
    found
}

/// Returns whether a word looks like the file of a script and not like the value of an unknown option.
fn may_be_script(word: &str) -> bool {
    word.contains(['/', '.'])
}

/// Returns whether the value of `-M`, `-m`, `-d` or `-F` of Perl is more than names or a pattern.
fn is_perl_code(letter: char, value: &str) -> bool {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_:.,=/+-".contains(c));
    match letter {
        'F' => value.contains([';', '{', '}', '(', ')', '\n']),
        _ => {
            let (module, list) = value.split_once(|c: char| c.is_whitespace()).unwrap_or((value, ""));
            let list = list.trim().trim_start_matches("qw").trim();
            let list = list.trim_matches(|c: char| "()[]'\"".contains(c) || c.is_whitespace());
            !is_plain(module) || !list.split_whitespace().all(is_plain)
        }
    }
}

/// Options with which JavaScript interpreters load further code.
pub(crate) const LOADING: &[&str] =
    &["--import", "--require", "--loader", "--experimental-loader", "--preload", "-r"];

/// Returns whether an option makes a JavaScript interpreter load a module from a `data:…` address.
fn loads_text(program: &str, option: &str, next: Option<&Word>) -> bool {
    if !matches!(program, "bun" | "node" | "nodejs" | "ts-node" | "tsx") {
        return false;
    }
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let value = value.or_else(|| next.map(|next| next.text.as_str()));
    LOADING.contains(&name)
        && value.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("data:"))
}

/// Python modules that read statements after `-c`, except those that start other modules.
const TAKE_TEXT: &[&str] = &["IPython", "bpython", "idlelib", "ptpython"];

/// Returns whether a Python module reads statements from its arguments: `-m timeit 'statement'`.
fn takes_statements(program: &str, attached: &str, rest: &[Word]) -> bool {
    let python = PYTHON.contains(&program);
    let (module, args) = match rest.split_first() {
        _ if !attached.is_empty() => (attached, rest),
        Some((module, args)) => (module.text.as_str(), args),
        None => return false,
    };
    python
        && match module {
            "timeit" => !args.is_empty(),
            module if module == "pdb" || TAKE_TEXT.contains(&module) || is_launching_module(module) => {
                args.iter().any(|word| {
                    word.text.starts_with("-c")
                        || word.text.starts_with("--c")
                        || word.text.contains("timeit")
                })
            }
            _ => false,
        }
}

/// Returns whether a shell or interpreter at the end of a pipe reads its program from the pipe.
///
/// It does unless it has a script, a module or code: `| python3 report.py` and `| sh -c …` do not.
pub(super) fn reads_program_from_stdin(program: &str, args: &[Word]) -> bool {
    if is_awk(program) || !inline_code(program, args).is_empty() || shell_text(program, args).is_some() {
        return false;
    }
    let mut at = 0;
    while let Some(word) = args.get(at) {
        match word.text.as_str() {
            "-" | "-s" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => return true,
            "-o" | "+o" | "-O" | "+O" | "-W" | "-X" => at += 1,
            text if matches!(program, "python" | "pypy") && module_in_option(text).is_some() => return false,
            "--" => return at + 1 == args.len() || args[at + 1].text == "-",
            // A bundle with `s`, as in `bash -es -- arguments`.
            text if text.starts_with('-') && !text.starts_with("--") && text.contains('s') => return true,
            text if text.starts_with(['-', '+']) || is_redirection(text) => {}
            _ => return false,
        }
        at += 1;
    }
    true
}

/// Finds the argument with which an interpreter starts commands like a shell: a program of awk, or `bun exec`.
pub(super) fn command_text(program: &str, args: &[Word]) -> Option<usize> {
    match program {
        "bun" => args.first().filter(|word| word.text == "exec").map(|_| 0),
        _ if is_awk(program) => args.iter().position(|word| starts_commands(&word.text)),
        _ => None,
    }
}

/// Returns whether a program of awk calls `system`, or has a pipe next to a string.
fn starts_commands(text: &str) -> bool {
    ["system(", "system (", "| \"", "|\"", "\" |", "\"|"].iter().any(|start| text.contains(start))
}

/// Returns whether a program only prints its version or help, or checks or tests without reading standard input.
pub(super) fn only_informs(args: &[Word]) -> bool {
    let informs = |text: &str| {
        matches!(text, "-V" | "-v" | "-h" | "--help" | "--test" | "--run" | "--check")
            || text.starts_with("--version")
    };
    args.iter().take_while(|word| word.text.starts_with(['-', '+'])).any(|word| informs(&word.text))
}

fn is_awk(program: &str) -> bool {
    matches!(program, "awk" | "gawk" | "mawk" | "nawk")
}

pub(super) fn is_redirection(word: &str) -> bool {
    word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with(['>', '<'])
}

/// Returns whether the options of `rm` request recursion and force, in any order and spelling.
pub(super) fn removes_by_force(args: &[Word]) -> bool {
    removal(args) == (true, true)
}

/// Returns whether the options of `rm` request force.
pub(super) fn forces(args: &[Word]) -> bool {
    removal(args).1
}

/// Parses the options of `rm`: returns recursion and force.
fn removal(args: &[Word]) -> (bool, bool) {
    let (mut recursive, mut force) = (false, false);
    for word in args {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            recursive |= "recursive".starts_with(long);
            force |= "force".starts_with(long);
        } else if let Some(bundle) = text.strip_prefix('-') {
            recursive |= bundle.contains(['r', 'R']);
            force |= bundle.contains(['f', 'F']);
        }
    }
    (recursive, force)
}
