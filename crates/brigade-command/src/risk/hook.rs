//! Finds commands that programs run because of options: `script -c …`, `tar --to-command=…`.

use super::{Word, language};
use crate::programs::{Finds, Hook, Program, Value, base_name, is_long};

/// A command from an option.
pub(super) enum Hooked {
    /// A text for a shell; `option` is the position of the word with the option.
    ShellText { option: usize, program: &'static str, text: Word },
    /// A command as one text that is not a risk by itself, such as `tar --use-compress-program='zstd -19'`.
    Command(Word),
    /// A command as one text that another machine runs.
    Remote(Word),
    /// Commands in the language of the program that start others, usually with a shell.
    Language { word: usize, program: &'static str },
    /// A program as text; `end` is the position of the word with the text.
    InlineCode { word: usize, end: usize, program: &'static str },
    /// A program from standard input.
    StandardInput { word: usize, program: &'static str },
}

/// Programs with commands in settings after `-o`.
const SSH: &[&str] = &["scp", "sftp", "slogin", "ssh"];

const SSH_COMMANDS: &[&str] = &["proxycommand", "localcommand", "knownhostscommand", "remotecommand"];

/// Lists the commands that a program runs because of its options.
pub(super) fn hooked(program: &str, args: &[Word]) -> Vec<Hooked> {
    let name = base_name(program);
    let mut found = Vec::new();
    let known = Program::of(program);
    let unbundled = if matches!(&*name, "bsdtar" | "gtar" | "tar") { old_bundle(args) } else { None };
    let args = unbundled.as_deref().unwrap_or(args);
    for (known, hook) in
        known.iter().flat_map(|known| known.row().hooks.iter().map(move |hook| (known, hook)))
    {
        for (option, value) in values(*known, hook, args) {
            let program = known.name;
            match hook.value {
                Value::ShellText => found.push(Hooked::ShellText { option, program, text: value }),
                Value::Command => found.push(Hooked::Command(value)),
                Value::Code => found.push(Hooked::InlineCode { word: option, end: value.at, program }),
                Value::Rules => found.push(Hooked::Language { word: option, program }),
                Value::File if is_standard_input(&value.text) => {
                    found.push(Hooked::StandardInput { word: value.at, program });
                }
                Value::Output => {
                    if let Some(text) = value.text.strip_prefix(['|', '!']) {
                        let text = Word { text: text.to_owned(), at: value.at };
                        found.push(Hooked::ShellText { option, program, text });
                    }
                }
                Value::File => {}
            }
        }
    }
    if known.is_some_and(|known| known.row().finds == Finds::Make) {
        let words = args.iter().filter(|word| sets_by_command(&word.text));
        found.extend(words.map(|word| Hooked::Language { word: word.at, program: "make" }));
    }
    match &*name {
        "tar" | "gtar" => {
            for (at, word) in args.iter().enumerate() {
                const ACTION: &str = "--checkpoint-action";
                let action = match word.text.split_once('=') {
                    Some((name, action)) => Some(action).filter(|_| is_long(name, ACTION)),
                    None => args.get(at + 1).map(|n| n.text.as_str()).filter(|_| is_long(&word.text, ACTION)),
                };
                if let Some(command) = action.and_then(|action| action.strip_prefix("exec=")) {
                    let text = Word { text: command.to_owned(), at: word.at };
                    found.push(Hooked::ShellText { option: word.at, program: "tar", text });
                }
            }
        }
        "sed" | "gsed" => {
            let word = language::sed_runs_commands(args).map(|at| args[at].at);
            found.extend(word.map(|word| Hooked::Language { word, program: "sed" }));
        }
        "ex" | "vi" | "view" | "vim" | "vimdiff" | "nvim" | "gvim" | "rvim" => {
            let word = language::vi_runs_commands(args).map(|at| args[at].at);
            found.extend(word.map(|word| Hooked::Language { word, program: "vim" }));
        }
        "gdb" => found.extend(gdb(args)),
        "npm" | "pnpm" if args.first().is_some_and(|word| matches!(word.text.as_str(), "exec" | "x")) => {
            found.extend(hooked("npx", &args[1..]));
        }
        "less" | "more" | "sqlite3" => {
            let program = if name == "sqlite3" { "sqlite3" } else { "less" };
            let runs = if program == "sqlite3" { sqlite_runs } else { pager_runs };
            let words = args.iter().filter(|word| runs(&word.text));
            found.extend(words.map(|word| Hooked::Language { word: word.at, program }));
        }
        "socat" => found.extend(args.iter().filter_map(socat)),
        "zip" => {
            let text = args.iter().enumerate().find_map(|(at, word)| {
                let bundle = word.text.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'))?;
                let text = match bundle.split_once("TT")?.1 {
                    "" => args.get(at + 1)?.clone(),
                    attached => Word { text: attached.to_owned(), at: word.at },
                };
                Some((word.at, text))
            });
            found.extend(text.map(|(option, text)| Hooked::ShellText { option, program: "zip", text }));
        }
        name => {
            if let Some(program) = SSH.iter().copied().find(|ssh| *ssh == name) {
                ssh(program, args, &mut found);
            }
        }
    }
    found
}

/// Converts the old option letters of tar without a dash to options: `cfI o.tar 'gzip -9' files`.
fn old_bundle(args: &[Word]) -> Option<Vec<Word>> {
    const VALUED: &str = "bCfFgHIKLNTVX";
    let (first, rest) = args.split_first()?;
    if first.text.is_empty() || !first.text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let mut rest = rest.iter();
    let mut words = Vec::new();
    for letter in first.text.chars() {
        words.push(Word { text: format!("-{letter}"), at: first.at });
        words.extend(if VALUED.contains(letter) { rest.next().cloned() } else { None });
    }
    words.extend(rest.cloned());
    Some(words)
}

/// Tells whether a word is a variable for make whose name or value makes it start a command or write a file:
/// `X!=id`, `X:=$(shell id)`.
fn sets_by_command(word: &str) -> bool {
    const FUNCTIONS: &[&str] = &["call", "eval", "file", "guile", "shell"];
    let Some((name, _)) = word.split_once('=') else { return false };
    let starts = |(at, _): (usize, &str)| {
        let text = word[at + 1..].strip_prefix(['(', '{']).unwrap_or_default();
        let function = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        FUNCTIONS.contains(&function)
    };
    name.ends_with('!') || word.match_indices('$').any(starts)
}

/// Tells whether a text for sqlite3 has a command that starts others: `.shell`, `.system`, `.once |…`.
fn sqlite_runs(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim_start().strip_prefix('.')).any(|command| {
        let name = command.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let pipes = command
            .split_whitespace()
            .skip(1)
            .any(|word| word.starts_with(['|', '"', '\'']) && word.contains('|'));
        matches!(name, "shell" | "shel" | "she" | "system" | "syste" | "syst" | "sys")
            || (pipes && matches!(name, "import" | "once" | "output" | "read"))
    })
}

/// Tells whether a word gives a pager an initial command that starts another program: `+!ls`, `+|…`.
fn pager_runs(word: &str) -> bool {
    word.strip_prefix('+').is_some_and(|command| command.trim_start_matches('+').starts_with(['!', '|', '#']))
}

/// Finds the command in an address of socat: `EXEC:…`, `SYSTEM:…`, `SHELL:…`.
fn socat(word: &Word) -> Option<Hooked> {
    let (kind, command) = word.text.split_once(':')?;
    let runs = ["exec", "shell", "system"].iter().any(|name| name.eq_ignore_ascii_case(kind));
    let text = Word { text: command.split(',').next().unwrap_or(command).to_owned(), at: word.at };
    runs.then_some(Hooked::ShellText { option: word.at, program: "socat", text })
}

/// Tells whether a file name stands for standard input.
pub(super) fn is_standard_input(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Returns the arguments with options. Some programs read no options after the first operand.
fn own(program: Program, args: &[Word]) -> &[Word] {
    if !matches!(program.name, "awk" | "entr" | "gawk" | "mawk" | "npx") {
        return args;
    }
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(program.row().spelling.takes_next_word(&word.text));
    }
    &args[..at.min(args.len())]
}

/// Lists the values of options, with the position of the word with the option.
fn values(program: Program, hook: &Hook, args: &[Word]) -> Vec<(usize, Word)> {
    let mut found = Vec::new();
    for (at, word) in own(program, args).iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" && program.name != "capsh" {
            break;
        }
        let next = || args.get(at + 1).cloned();
        let attached = |value: &str| Some(Word { text: value.to_owned(), at: word.at });
        let (name, behind) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let value = if hook.long.iter().any(|long| name == *long || is_long(name, long)) {
            behind.map_or_else(next, attached)
        } else if let Some(bundle) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            match bundle.find(|c| hook.short.contains(c)) {
                // The letters before it are other options.
                Some(index) if bundle[..index].chars().all(|c| c.is_ascii_alphabetic()) => {
                    if index + 1 == bundle.len() { next() } else { attached(&bundle[index + 1..]) }
                }
                Some(_) | None => None,
            }
        } else {
            None
        };
        found.extend(value.map(|value| (word.at, value)));
    }
    found
}

/// Finds settings of ssh with commands, and joins the words for the remote shell to one text.
fn ssh(program: &'static str, args: &[Word], found: &mut Vec<Hooked>) {
    const VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
    let mut host = None;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.is_empty()) {
            let option = bundle.char_indices().find(|(_, c)| VALUED.contains(*c));
            if let Some((index, letter)) = option {
                let attached = &bundle[index + 1..];
                let value = if attached.is_empty() {
                    at += 1;
                    args.get(at).map(|next| next.text.as_str())
                } else {
                    Some(attached)
                };
                if letter == 'o'
                    && let Some((name, value)) =
                        value.and_then(|setting| setting.split_once(['=', ' ', '\t']))
                    && SSH_COMMANDS.contains(&name.trim().to_ascii_lowercase().as_str())
                    && value.trim() != "none"
                {
                    let text = Word { text: value.trim().to_owned(), at: word.at };
                    found.push(Hooked::ShellText { option: word.at, program, text });
                }
            }
        } else if host.is_none() {
            host = Some(at);
        } else {
            break;
        }
        at += 1;
    }
    if matches!(program, "ssh" | "slogin")
        && let Some(first) = args.get(at)
    {
        let text = args[at..].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        found.push(Hooked::Remote(Word { text, at: first.at }));
    }
}

/// Finds commands of gdb that start a shell or run Python.
fn gdb(args: &[Word]) -> Option<Hooked> {
    // Any prefix of a name is taken, behind one dash or two. One letter has other meanings.
    const OPTIONS: &[&str] =
        &["eval-command", "init-eval-command", "early-init-eval-command", "ex", "iex", "eiex"];
    const RUNNING: &[&str] = &["guile", "make", "pipe", "python", "shell"];
    let is_command = |option: &str| {
        let name = option.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name));
        name.is_some_and(|name| 1 < name.len() && OPTIONS.iter().any(|option| option.starts_with(name)))
    };
    args.iter().enumerate().find_map(|(at, word)| {
        let (name, attached) = word.text.split_once('=').unzip();
        let command = match (is_command(name.unwrap_or(&word.text)), attached) {
            (false, _) => return None,
            (true, Some(text)) => text,
            (true, None) => args.get(at + 1)?.text.as_str(),
        };
        let command = command.trim_start();
        let first = command.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        // Two letters are enough for these.
        let is_short = matches!(first, "gr" | "gu" | "pi" | "py");
        let runs = command.starts_with(['!', '|'])
            || is_short
            || (2 < first.len() && RUNNING.iter().any(|command| command.starts_with(first)));
        runs.then_some(Hooked::Language { word: word.at, program: "gdb" })
    })
}
