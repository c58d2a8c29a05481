//! Finds commands that programs run because of options: `script -c …`, `tar --to-command=…`.

use super::Word;
use crate::programs::{Hook, Program, Value, base_name, is_long};

/// A command from an option.
pub(super) enum OptionCommand {
    /// A text for a shell; `option` is the position of the word with the option.
    ShellText { option: usize, program: &'static str, text: Word },
    /// A command as one text that is not a risk by itself, such as `tar --use-compress-program='zstd -19'`.
    Command(Word),
    /// A command as one text that runs on another machine.
    Remote(Word),
    /// A program as text; `end` is the position of the word with the text.
    InlineCode { word: usize, end: usize, program: &'static str },
    /// A program from standard input.
    StandardInput { word: usize, program: &'static str },
}

/// Programs with commands in settings after `-o`.
const SSH: &[&str] = &["scp", "sftp", "slogin", "ssh"];

const SSH_COMMANDS: &[&str] = &["proxycommand", "localcommand", "knownhostscommand", "remotecommand"];

/// Lists the commands that a program runs because of its options.
pub(super) fn hooked(program: &str, args: &[Word]) -> Vec<OptionCommand> {
    let name = base_name(program);
    let mut found = Vec::new();
    let known = Program::from_word(program);
    for (known, hook) in
        known.iter().flat_map(|known| known.row().hooks.iter().map(move |hook| (known, hook)))
    {
        for (option, value) in values(*known, hook, args) {
            let program = known.name;
            match hook.value {
                Value::ShellText => found.push(OptionCommand::ShellText { option, program, text: value }),
                Value::Command => found.push(OptionCommand::Command(value)),
                Value::Code => found.push(OptionCommand::InlineCode { word: option, end: value.at, program }),
                Value::File if is_standard_input(&value.text) => {
                    found.push(OptionCommand::StandardInput { word: value.at, program });
                }
                Value::Output => {
                    if let Some(text) = value.text.strip_prefix(['|', '!']) {
                        let text = Word { text: text.to_owned(), at: value.at };
                        found.push(OptionCommand::ShellText { option, program, text });
                    }
                }
                Value::File => {}
            }
        }
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
                    found.push(OptionCommand::ShellText { option: word.at, program: "tar", text });
                }
            }
        }
        "npm" | "pnpm" if args.first().is_some_and(|word| matches!(word.text.as_str(), "exec" | "x")) => {
            found.extend(hooked("npx", &args[1..]));
        }
        "gdb" => {
            const STARTS: [&str; 5] = ["!", "pipe ", "python ", "shell ", "| "];
            let starts = |word: &&Word| STARTS.iter().any(|start| word.text.trim_start().starts_with(start));
            let texts = args.iter().filter(starts);
            found.extend(texts.map(|word| OptionCommand::ShellText {
                option: word.at,
                program: "gdb",
                text: word.clone(),
            }));
        }
        name => {
            if let Some(program) = SSH.iter().copied().find(|ssh| *ssh == name) {
                ssh(program, args, &mut found);
            }
        }
    }
    found
}

/// Lists the positions of the files and commands that options of a program name as code for it: `awk -f x`, `tar -I x`.
pub(crate) fn code_values(known: Program, args: &[Word]) -> Vec<usize> {
    let hooks = known.row().hooks.iter().filter(|hook| hook.value != Value::Output);
    hooks.flat_map(|hook| values(known, hook, args)).map(|(_, value)| value.at).collect()
}

/// Returns whether a file name means standard input.
pub(super) fn is_standard_input(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Returns the arguments that can be options. Some programs read no options after the first operand.
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
                // The letters before the option must be other options.
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
fn ssh(program: &'static str, args: &[Word], found: &mut Vec<OptionCommand>) {
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
                    found.push(OptionCommand::ShellText { option: word.at, program, text });
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
        found.push(OptionCommand::Remote(Word { text, at: first.at }));
    }
}
