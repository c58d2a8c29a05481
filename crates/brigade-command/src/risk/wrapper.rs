//! Looks through programs that only run another one.

use super::program::{Kind, kind_of};
use super::{Word, options, shell_text};

/// A program that runs the command after its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrapper {
    name: &'static str,
    /// Short options that take a value, when it is not attached.
    valued: &'static str,
    /// Long options that take the next word.
    long_valued: &'static [&'static str],
    /// How many words stand between the options and the command.
    operands: usize,
}

/// What a wrapper runs.
pub(super) enum Inner {
    /// A command of these words.
    Command(Vec<Word>),
    /// A text, given to a shell; `option` is the position of the word that asks for it, where that is a risk itself.
    ShellText { option: Option<usize>, program: &'static str, text: Word },
    /// A shell, because no command is named; it reads standard input.
    Shell,
    /// Nothing.
    Nothing,
}

const fn plain(name: &'static str, valued: &'static str, long_valued: &'static [&'static str]) -> Wrapper {
    Wrapper { name, valued, long_valued, operands: 0 }
}

const fn after(operands: usize, wrapper: Wrapper) -> Wrapper {
    Wrapper { operands, ..wrapper }
}

const WRAPPERS: &[Wrapper] = &[
    plain("builtin", "", &[]),
    after(1, plain("busybox", "", &[])),
    plain("caffeinate", "tw", &[]),
    after(1, plain("chroot", "", &["--userspec", "--groups"])),
    after(1, plain("chrt", "TPD", &["--sched-runtime", "--sched-deadline", "--sched-period"])),
    plain("command", "", &[]),
    plain("coproc", "", &[]),
    plain("env", "uCSP", &["--unset", "--chdir", "--split-string"]),
    plain("exec", "a", &[]),
    plain("fakeroot", "lsib", &["--lib", "--faked"]),
    after(1, plain("flock", "wEc", &["--wait", "--timeout", "--conflict-exit-code", "--command"])),
    plain("gtimeout", "sk", &["--signal", "--kill-after"]),
    plain("ionice", "cnpPu", &["--class", "--classdata", "--pid"]),
    plain("nice", "n", &["--adjustment"]),
    plain("nocache", "n", &[]),
    plain("nohup", "", &[]),
    plain("noglob", "", &[]),
    plain("numactl", "NmCipPx", &["--cpunodebind", "--membind", "--interleave", "--physcpubind"]),
    plain("prlimit", "po", &["--pid", "--output"]),
    after(1, plain("setarch", "", &[])),
    plain(
        "setpriv",
        "",
        &[
            "--reuid",
            "--ruid",
            "--euid",
            "--regid",
            "--rgid",
            "--egid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
            "--selinux-label",
            "--apparmor-profile",
        ],
    ),
    plain("setsid", "", &[]),
    plain("stdbuf", "ioe", &["--input", "--output", "--error"]),
    after(1, plain("taskset", "", &[])),
    plain("time", "fo", &["--format", "--output"]),
    after(1, plain("timeout", "sk", &["--signal", "--kill-after"])),
    plain("tini", "pe", &[]),
    plain("toybox", "", &[]),
    plain(
        "unshare",
        "SGRw",
        &[
            "--setuid",
            "--setgid",
            "--root",
            "--wd",
            "--propagation",
            "--setgroups",
            "--map-user",
            "--map-group",
        ],
    ),
    plain("watch", "nq", &["--interval", "--equexit"]),
    plain(
        "xargs",
        "InPLsdaEi",
        &[
            "--replace",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--arg-file",
            "--process-slot-var",
        ],
    ),
];

impl Wrapper {
    /// Gives the name of the wrapper.
    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// Finds a wrapper by the name of its program.
    pub(super) fn named(name: &str) -> Option<Wrapper> {
        WRAPPERS.iter().copied().find(|wrapper| wrapper.name == name)
    }
}

/// Finds what a wrapper runs.
pub(super) fn look_through(wrapper: Wrapper, args: &[Word]) -> Inner {
    // The applet is the command itself.
    if matches!(wrapper.name, "busybox" | "toybox") {
        return Inner::Command(args.to_vec());
    }
    let mut at = 0;
    let mut operands = wrapper.operands + usize::from(wrapper.name == "gtimeout");
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        match wrapper.name {
            "env" if is_assignment(text) => {
                at += 1;
                continue;
            }
            "env" => {
                if let Some(split) = env_split_string(args, at) {
                    return split;
                }
            }
            "flock" if matches!(text, "-c" | "--command") => {
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
            at += 1 + usize::from(takes_next_word(wrapper, text));
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    let command = args.get(at..).unwrap_or_default().to_vec();
    if wrapper.name == "watch" && !args[..at].iter().any(|word| matches!(word.text.as_str(), "-x" | "--exec"))
    {
        let Some(first) = command.first() else { return Inner::Nothing };
        let text = command.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        return Inner::ShellText { option: None, program: "watch", text: Word { text, at: first.at } };
    }
    if command.is_empty() && matches!(wrapper.name, "chroot" | "fakeroot" | "setarch" | "unshare") {
        let asks =
            |word: &Word| matches!(word.text.as_str(), "--help" | "--version" | "-h" | "-V" | "--list");
        return if args.iter().any(asks) { Inner::Nothing } else { Inner::Shell };
    }
    Inner::Command(command)
}

fn takes_next_word(wrapper: Wrapper, option: &str) -> bool {
    if option.starts_with("--") {
        return wrapper.long_valued.contains(&option);
    }
    // In a bundle the first valued option takes the rest, or the next word when it is the last.
    let bundle = &option[1..];
    bundle
        .char_indices()
        .find(|(_, c)| wrapper.valued.contains(*c))
        .is_some_and(|(index, c)| index + c.len_utf8() == bundle.len())
}

/// Reads `env -S 'bash -c …' more` into the words it stands for.
fn env_split_string(args: &[Word], at: usize) -> Option<Inner> {
    let word = args.get(at)?;
    let text = word.text.as_str();
    let (text, rest) = if let Some(text) = text.strip_prefix("--split-string=") {
        (text.to_owned(), at + 1)
    } else if text == "--split-string" {
        (args.get(at + 1)?.text.clone(), at + 2)
    } else if text.starts_with('-') && !text.starts_with("--") {
        let (before, attached) = text[1..].split_once('S')?;
        if before.contains(['u', 'C']) {
            return None;
        }
        if attached.is_empty() {
            (args.get(at + 1)?.text.clone(), at + 2)
        } else {
            (attached.to_owned(), at + 1)
        }
    } else {
        return None;
    };
    let split = crate::argv::Argv::parse(&text).map(crate::argv::Argv::into_words).unwrap_or_default();
    // What is split may itself begin with assignments and options of `env`.
    let mut words = vec![Word { text: "env".to_owned(), at: word.at }];
    words.extend(split.into_iter().map(|text| Word { text, at: word.at }));
    words.extend_from_slice(args.get(rest..).unwrap_or_default());
    Some(Inner::Command(words))
}

/// Gives the command after the options of `sudo` and its like, which mostly take a value each.
pub(super) fn after_privilege(args: &[Word]) -> Vec<Word> {
    const SUDO: Wrapper =
        plain("sudo", "ugpCDhrtTRU", &["--user", "--group", "--prompt", "--chdir", "--host"]);
    match look_through(SUDO, args) {
        Inner::Command(words) => words,
        Inner::ShellText { .. } | Inner::Shell | Inner::Nothing => Vec::new(),
    }
}

/// Gives the commands after `-exec` and its like.
pub(super) fn find_commands(args: &[Word]) -> Vec<&[Word]> {
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

/// Tells whether `find` removes what it finds, by itself or with `rm -f`.
///
/// It goes through folders and never asks, so that is a forced removal whatever `rm` is told.
pub(super) fn find_removes(args: &[Word]) -> bool {
    args.iter().any(|word| word.text == "-delete")
        || find_commands(args).iter().any(|command| {
            let removes = command.first().is_some_and(|word| kind_of(&word.text) == Kind::Remove);
            removes && options::forces(&command[1..])
        })
}

/// Finds the option by which `setpriv` takes other rights.
pub(super) fn setpriv_option(args: &[Word]) -> Option<usize> {
    const TAKES: &[&str] =
        &["--reuid", "--ruid", "--euid", "--regid", "--rgid", "--egid", "--ambient-caps", "--inh-caps"];
    args.iter()
        .take_while(|word| word.text.starts_with('-') && word.text != "--")
        .find(|word| TAKES.iter().any(|option| word.text.split('=').next() == Some(option)))
        .map(|word| word.at)
}

/// Skips assignments and the words of shell syntax that may stand before a command.
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

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.trim_end_matches('+').chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
