//! Finds commands that git runs because of settings on its command line and options of subcommands.

use super::Word;
use crate::programs::is_long;

/// A command that git runs.
pub(super) enum GitRuns {
    /// A text that git passes to a shell, or another program that it starts.
    Text(Word),
    /// A command as words.
    Words(Vec<Word>),
    /// No command, but it removes directories without confirmation.
    Removes,
}

/// Harmless programs that are often used to disable or print something, with only letters as options.
const HARMLESS: &[&str] =
    &["", ":", "cat", "delta", "false", "less", "more", "nano", "no", "ssh", "true", "vi", "vim", "0", "1"];

/// Settings with a command as value; a name without a section matches any section.
const RUN_BY_SETTING: &[&str] = &[
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "diff.external",
    "gpg.program",
    "imap.tunnel",
    "init.templatedir",
    "interactive.difffilter",
    "sequence.editor",
    "uploadpack.packobjectshook",
];

/// Sections with a name in the middle, and their settings with commands; an empty last part matches any setting.
const RUN_BY_SECTION: &[(&str, &[&str])] = &[
    ("browser", &["cmd", "path"]),
    ("diff", &["command", "textconv"]),
    ("difftool", &["cmd", "path"]),
    ("filter", &["clean", "smudge", "process"]),
    ("gpg", &["program", "defaultkeycommand"]),
    ("guitool", &["cmd"]),
    ("hook", &["command"]),
    ("man", &["cmd", "path"]),
    ("merge", &["driver"]),
    ("mergetool", &["cmd", "path"]),
    ("pager", &[""]),
    ("remote", &["uploadpack", "receivepack", "vcs"]),
    ("sendemail", &["tocmd", "cccmd", "headercmd", "sendmailcmd"]),
    ("trailer", &["cmd", "command"]),
];

/// Options of subcommands with a command as value; an empty subcommand matches any.
const RUN_BY_OPTION: &[(&str, &[&str])] = &[
    ("", &["--upload-pack", "--receive-pack"]),
    ("archive", &["--exec"]),
    ("fetch-pack", &["--exec"]),
    ("send-pack", &["--exec"]),
    ("clone", &["-u"]),
    ("difftool", &["-x", "--extcmd"]),
    (
        "filter-branch",
        &[
            "--env-filter",
            "--tree-filter",
            "--index-filter",
            "--parent-filter",
            "--msg-filter",
            "--commit-filter",
            "--tag-name-filter",
            "--setup",
        ],
    ),
    ("grep", &["-O", "--open-files-in-pager"]),
    ("ls-remote", &["--exec"]),
    ("push", &["--exec"]),
    ("rebase", &["-x", "--exec"]),
];

/// Options with the same prefix and another meaning.
const OTHER_OPTIONS: &[&str] = &["--env", "--force", "--index", "--open", "--set", "--tag", "--tree"];

/// The options of git itself whose value is the next word.
const OWN_VALUED: &[&str] = &[
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
    "-C",
    "-c",
];

/// Lists the commands that git runs, from its arguments.
pub(super) fn git_runs(args: &[Word]) -> Vec<GitRuns> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        match text {
            "-c" => found.extend(args.get(at + 1).and_then(|setting| by_setting(setting, &setting.text))),
            "--config-env" => found.extend(args.get(at + 1).and_then(by_variable)),
            _ if OWN_VALUED.contains(&text) => {}
            _ if text.starts_with("--config-env=") => {
                let setting = Word { text: text["--config-env=".len()..].to_owned(), at: word.at };
                found.extend(by_variable(&setting));
                at += 1;
                continue;
            }
            _ if text.starts_with('-') => {
                at += 1;
                continue;
            }
            _ => {
                by_subcommand(text, &args[at + 1..], &mut found);
                break;
            }
        }
        at += 2;
    }
    found
}

/// Reads `name=value`.
fn by_setting(place: &Word, setting: &str) -> Option<GitRuns> {
    let (name, value) = setting.split_once('=')?;
    let name = name.to_ascii_lowercase();
    let text = |text: &str| Word { text: text.to_owned(), at: place.at };
    let first = name.split('.').next().unwrap_or_default();
    if matches!(first, "alias" | "submodule") {
        if let Some(command) = value.strip_prefix('!') {
            return Some(GitRuns::Text(text(command)));
        }
        if first == "alias" {
            let words = crate::argv::Argv::parse(value).map(crate::argv::Argv::into_words).ok()?;
            let words = std::iter::once("git".to_owned()).chain(words);
            return Some(GitRuns::Words(words.map(|word| text(&word)).collect()));
        }
        return None;
    }
    // Addresses that are commands, in the name or the value.
    let is_address = first == "url" || matches!(name.rsplit('.').next(), Some("url" | "pushurl"));
    if is_address && let Some((_, command)) = setting.split_once("ext::") {
        return Some(GitRuns::Text(text(command)));
    }
    if first == "credential" && name.ends_with(".helper") {
        let runs = value.starts_with('!') || value.contains(['/', ' ']);
        return runs.then(|| GitRuns::Text(text(value.trim_start_matches('!'))));
    }
    if !is_run(&name) || is_harmless(value) || (name == "core.hookspath" && value == "/dev/null") {
        return None;
    }
    Some(GitRuns::Text(text(value)))
}

/// Reads `name=VARIABLE`. The value of the variable is unknown.
fn by_variable(setting: &Word) -> Option<GitRuns> {
    let name = setting.text.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let hides = is_run(&name) || name.starts_with("alias.") || name.ends_with(".helper");
    hides.then(|| GitRuns::Text(Word { text: String::new(), at: setting.at }))
}

fn is_run(name: &str) -> bool {
    if RUN_BY_SETTING.contains(&name) {
        return true;
    }
    let Some((section, _)) = name.split_once('.') else { return false };
    let last = name.rsplit('.').next().unwrap_or_default();
    // In any section: a command, or another settings file, which can contain any command.
    if matches!(last, "command" | "cmd") || (matches!(section, "include" | "includeif") && last == "path") {
        return true;
    }
    RUN_BY_SECTION
        .iter()
        .any(|(of, names)| *of == section && names.iter().any(|n| n.is_empty() || *n == last))
}

fn is_harmless(value: &str) -> bool {
    let mut words = value.split(' ');
    words.next().is_some_and(|program| HARMLESS.contains(&program))
        && words.all(|option| {
            option.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| c.is_ascii_alphabetic()))
        })
}

/// Returns whether the options of `git clean` force the removal of directories, without a dry run.
fn cleans_folders(args: &[Word]) -> bool {
    let options = || args.iter().map(|word| word.text.as_str()).take_while(|text| *text != "--");
    let short = |letters: &[char]| {
        options().any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letters))
    };
    let asks = short(&['n', 'i'])
        || ["--dry-run", "--interactive"].iter().any(|name| options().any(|text| is_long(text, name)));
    (short(&['f']) || options().any(|text| is_long(text, "--force"))) && short(&['d']) && !asks
}

/// Returns whether a bundle has only letters before an option, so that the option is not the value of another one.
fn bundles(text: &str, letter: &str) -> bool {
    let before = text[1..].split(letter).next().unwrap_or_default();
    let valued = if letter == "O" { "ABCefm" } else { "CSXbcjost" };
    before.chars().all(|c| c.is_ascii_alphabetic() && !valued.contains(c))
}

fn by_subcommand(subcommand: &str, args: &[Word], found: &mut Vec<GitRuns>) {
    let options = || {
        RUN_BY_OPTION
            .iter()
            .filter(|(of, _)| of.is_empty() || *of == subcommand)
            .flat_map(|(_, options)| options.iter())
    };
    match subcommand {
        "bisect" if args.first().is_some_and(|word| word.text == "run") => {
            found.push(GitRuns::Words(args[1..].to_vec()));
            return;
        }
        "clean" if cleans_folders(args) => {
            found.push(GitRuns::Removes);
            return;
        }
        "submodule" => {
            if let Some(foreach) = args.iter().position(|word| word.text == "foreach") {
                let mut rest = args[foreach + 1..].iter().skip_while(|word| word.text.starts_with('-'));
                found.extend(rest.next().map(|text| GitRuns::Text(text.clone())));
            }
            return;
        }
        _ => {}
    }
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        let value = |value: &str| Word { text: value.to_owned(), at: word.at };
        // `-qc NAME=VALUE` is a bundle.
        let bundled = text.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'));
        let setting = bundled.and_then(|bundle| bundle.split_once('c')).filter(|(before, _)| {
            subcommand == "clone" && before.chars().all(|letter| "lnqsv".contains(letter))
        });
        if let Some((_, attached)) = setting
            && !attached.is_empty()
        {
            found.extend(by_setting(word, attached));
        } else if subcommand == "clone" && (setting.is_some() || is_long(text, "--config")) {
            found.extend(args.get(at + 1).and_then(|setting| by_setting(setting, &setting.text)));
        } else if subcommand == "clone"
            && let Some((name, setting)) = text.split_once('=')
            && is_long(name, "--config")
        {
            found.extend(by_setting(word, setting));
        }
        // A transport with a command as address.
        if let Some(command) = text.strip_prefix("ext::") {
            found.push(GitRuns::Text(value(command)));
        }
        for option in options() {
            let run = if option.starts_with("--") {
                // Any prefix of the name matches, unless it is another option.
                match text.split_once('=') {
                    Some((name, command)) => is_long(name, option).then(|| value(command)),
                    None if is_long(text, option) && !OTHER_OPTIONS.contains(&text) => {
                        args.get(at + 1).cloned()
                    }
                    None => None,
                }
            } else {
                // `-ix TEXT` is a bundle.
                let letter = &option[1..];
                let behind = bundled.and_then(|bundle| bundle.split_once(letter)).map(|(_, behind)| behind);
                match behind.filter(|_| bundles(text, letter)) {
                    Some("") => args.get(at + 1).cloned(),
                    attached => attached.map(value),
                }
            };
            found.extend(run.map(GitRuns::Text));
        }
    }
}
