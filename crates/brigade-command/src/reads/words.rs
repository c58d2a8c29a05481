//! Finds the names of files in single words: behind options, in settings and lists, in texts, and in URLs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use brigade_core::Json;

use crate::only_reads::only_looks;
use crate::programs::{Program, Role, Row, Writes};
use crate::risk::{self, Standing, Started};

/// The maximum number of option letters before a file name in one word.
const BUNDLE: usize = 8;

/// The longest path that the system opens, in bytes.
const LONGEST_PATH: usize = 4096;

/// The characters between which a name stands that may hold any others.
const QUOTES: [char; 3] = ['\'', '"', '`'];

/// Lists possible file names in a word: `file`, `--option=file`, `-ofile`, `-nofile`, `@file`, `file:///dir/file`, and
/// what a URL spells in another way (`./a%20b?c`).
pub(super) fn names_in(word: &str) -> BTreeSet<Cow<'_, str>> {
    let mut names = BTreeSet::from([word]);
    names.extend(word.split_once('=').map(|(_, value)| value));
    if let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) {
        let mut letters = bundle.chars();
        for _ in 0..BUNDLE {
            let is_letter = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
            names.insert(letters.as_str());
            if !is_letter {
                break;
            }
        }
    }
    let behind: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix('@')).collect();
    names.extend(behind);
    let urls: Vec<Cow<'_, str>> = names.iter().filter_map(|name| path_of_url(name)).collect();
    names.into_iter().map(Cow::Borrowed).chain(urls).filter(|name| !name.is_empty()).collect()
}

/// Lists possible file names within a word that is more than one: in a setting with quotes, in a list, or in a text
/// that a program splits (`build.rustc="./x"`, `a.jar:b.jar`, `nice ./x`, `open("a b.py")`).
pub(super) fn parts_of(word: &str) -> BTreeSet<Cow<'_, str>> {
    let separates = |c: char| c.is_whitespace() || "'\"`=,:;()[]{}<>|&!$".contains(c);
    let mut parts = BTreeSet::new();
    if word.contains(separates) {
        parts.extend(word.split(separates).flat_map(names_in));
        // A name may hold separators itself: behind the last sign that it does not hold, and between quotes.
        let behind = word.match_indices('=').map(|(at, _)| word[at + 1..].trim_matches([' ', '"', '\'']));
        parts.extend(behind.filter(|part| may_be_path(part)).map(Cow::Borrowed));
        parts.extend(quoted_in(word));
    }
    parts
}

/// Lists possible file names that stand as a whole between quotes, as in settings and JSON: `include="my dir/x.toml"`,
/// `{"file": "a b.json"}`. A string with escapes names what JSON reads in it.
pub(super) fn quoted_in(word: &str) -> BTreeSet<Cow<'_, str>> {
    let mut found = BTreeSet::new();
    for quote in QUOTES.into_iter().filter(|quote| word.contains(*quote)) {
        // Within quotes of another program, such a quote has a backslash.
        let quoted = word.split(quote).map(|part| part.trim_end_matches('\\'));
        found.extend(quoted.filter(|part| may_be_path(part)).flat_map(names_in));
    }
    if word.contains('\\') {
        let texts = escaped_strings(word).into_iter().filter(|text| may_be_path(text));
        found.extend(texts.flat_map(|text| {
            names_in(&text).into_iter().map(|name| Cow::Owned(name.into_owned())).collect::<Vec<_>>()
        }));
    }
    found
}

/// Reads the strings between double quotes in which something is escaped.
pub(super) fn escaped_strings(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = word;
    while let Some(start) = rest.find('"') {
        let mut is_escaped = false;
        let ends = |c: char| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        };
        let Some(length) = rest[start + 1..].find(ends) else { break };
        let end = start + length + 2;
        let string = &rest[start..end];
        if string.contains('\\')
            && let Ok(Json::String(text)) = Json::parse(string)
        {
            found.push(text.to_string());
        }
        rest = &rest[end..];
    }
    found
}

/// Tells whether the system could open a file of this name.
fn may_be_path(part: &str) -> bool {
    !part.is_empty() && part.len() < LONGEST_PATH && !part.contains('\0')
}

/// Tells whether a word has the name of git.
pub(super) fn is_git(word: &str) -> bool {
    Program::of(word).is_some_and(|known| known.role() == Role::Git)
}

/// Lists the words that are messages, which start nothing and name nothing: `git commit -am TEXT`, `git tag -mTEXT`.
pub(super) fn messages(words: &[String]) -> BTreeSet<usize> {
    const VERBS: [&str; 5] = ["commit", "merge", "notes", "stash", "tag"];
    /// Options that stand before `m` in one word, and take no value themselves.
    const FLAGS: &str = "aefinopqsvz";
    let mut found = BTreeSet::new();
    let Some(git) = words.iter().position(|word| is_git(word)) else { return found };
    // A script that happens to be called `git` reads its words in its own way, and so may what starts it. Behind a
    // wrapper it may be an operand of that, and behind a launcher nothing is certain.
    let role = |word: &String| Program::of(word).filter(|_| !word.contains('/')).map(Program::role);
    let starts_git = |word: &String| match role(word) {
        Some(Role::Launcher) => true,
        Some(Role::Wrapper { .. }) => is_started(words, git),
        _ => false,
    };
    let is_interpreter = |word: &String| Program::of(word).is_some_and(|it| it.interpreter().is_some());
    let is_script = words[git].contains('/')
        || (git != 0 && !starts_git(&words[0]))
        || words[..git].iter().any(is_interpreter);
    let Some(verb) = risk::subcommand_at(&words[git + 1..]).map(|at| git + 1 + at) else { return found };
    if is_script || !VERBS.contains(&words[verb].as_str()) {
        return found;
    }
    for (at, word) in words.iter().enumerate().skip(verb + 1) {
        if word == "--" {
            break;
        }
        let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'));
        let attached =
            bundle.and_then(|bundle| bundle.trim_start_matches(|c| FLAGS.contains(c)).strip_prefix('m'));
        match attached {
            Some("") => drop(found.insert(at + 1)),
            Some(_) => drop(found.insert(at)),
            None if word == "--message" => drop(found.insert(at + 1)),
            None if word.starts_with("--message=") => drop(found.insert(at)),
            None => {}
        }
    }
    found
}

/// Tells whether a command certainly starts with the program at this position, and has all words behind it.
fn is_started(words: &[String], at: usize) -> bool {
    let is_one = |command: &Started| command.standing != Standing::Guessed && command.words == words[at..];
    at == 0 || risk::started(words).iter().any(is_one)
}

/// A word that only names what a program writes.
pub(super) struct Output<'w> {
    /// The program.
    pub(super) program: &'w str,
    /// What it writes.
    pub(super) name: &'w str,
}

/// Lists the words that only name what programs write, by their positions: `gcc -o FILE`, `tee FILE`, `cp x FILE`. What
/// is in doubt is left out.
pub(super) fn outputs(words: &[String]) -> BTreeMap<usize, Output<'_>> {
    let mut found = BTreeMap::new();
    for (at, program) in words.iter().enumerate() {
        let Some(row) = Program::of(program).map(Program::row) else { continue };
        let is_plain = !program.contains('/') || program.starts_with('/');
        if is_plain && (row.writes != Writes::Nothing || row.outputs != ("", &[])) && is_started(words, at) {
            let written = written_by(row, &words[at + 1..]).into_iter();
            found.extend(written.map(|(word, name)| (at + 1 + word, Output { program, name })));
        }
    }
    found
}

/// Returns a path without `.`, so that it is the same however it is spelled.
pub(super) fn plain_path(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Tells whether a command only looks at what its words name, or writes it, and nothing else gets what it prints. A
/// program of the workspace with such a name may do anything.
pub(super) fn looks(command: &Started) -> bool {
    let runs_code = |word: &String| Program::of(word).is_some_and(Program::runs_code);
    let writes = |word: &str| {
        Program::of(word).is_some_and(|known| known.row().writes == Writes::Operands) && !word.contains('/')
    };
    // What such a program reads goes to what it writes: `tee FILE < INPUT`.
    let passes_on = |word: &str| writes(word) && command.words.iter().any(|word| is_input(word));
    !command.feeds
        && command.words.first().is_some_and(|word| only_looks(word) || writes(word))
        && !command.words.first().is_some_and(|word| passes_on(word))
        && !command.words.iter().any(runs_code)
}

/// Lists the names that stand in a text for a shell only as what its commands write, and where they look at that.
pub(super) fn only_written(text: &str) -> BTreeSet<PathBuf> {
    let starts = risk::starts(&["sh".to_owned(), "-c".to_owned(), text.to_owned()]);
    let is_one = |command: &&Started| !command.is_tail && command.standing != Standing::Guessed;
    let commands: Vec<&Started> = starts.commands.iter().skip(1).filter(is_one).collect();
    let by_commands = commands.iter().flat_map(|command| outputs(&command.words).into_values());
    let by_commands = by_commands.map(|output| PathBuf::from(output.name));
    let mut times: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for name in starts.written.iter().cloned().chain(by_commands) {
        *times.entry(plain_path(&name)).or_default() += 1;
    }
    let looked_at = |name: &str| -> usize {
        let words = commands.iter().filter(|command| looks(command)).flat_map(|command| {
            let outputs = outputs(&command.words);
            let words = command.words.iter().enumerate();
            words.filter(move |(at, _)| !outputs.contains_key(at)).map(|(_, word)| word)
        });
        words.map(|word| word.matches(name).count()).sum()
    };
    let is_only = |(name, times): &(PathBuf, usize)| {
        name.to_str().is_some_and(|name| text.matches(name).count() <= times + looked_at(name))
    };
    times.into_iter().filter(is_only).map(|(name, _)| name).collect()
}

/// Tells whether a word is a redirection of input, with its source attached or not: `<`, `0<`, `<>`.
fn is_input(word: &str) -> bool {
    word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('<')
}

/// Lists the words behind one program that name what it writes, and the names in them.
fn written_by<'w>(row: &Row, args: &'w [String]) -> Vec<(usize, &'w str)> {
    let (short, long) = row.outputs;
    let mut found = Vec::new();
    let mut operands = Vec::new();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        let is_option = |word: &str| 1 < word.len() && word.starts_with('-');
        if is_input(word) {
            at += usize::from(word.ends_with(['<', '>', '&']));
            continue;
        }
        if word == "--" {
            let is_read = |at: usize| is_input(&args[at]) || (at != 0 && is_input(&args[at - 1]));
            operands.extend((at..args.len()).filter(|at| !is_read(*at)).map(|at| (at, args[at].as_str())));
            break;
        }
        if !is_option(word) {
            operands.push((at - 1, word.as_str()));
            // Its own options end there, and those of another program begin.
            if matches!(row.role, Role::Wrapper { .. } | Role::Launcher) {
                break;
            }
            continue;
        }
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let attached = word[1..].chars().next().filter(|letter| short.contains(*letter)).map(|_| &word[2..]);
        let output = match (long.contains(&name), value, attached) {
            (true, Some(value), _) => Some((at - 1, value)),
            (true, None, _) | (false, _, Some("")) => args.get(at).map(|next| (at, next.as_str())),
            (false, _, Some(value)) => Some((at - 1, value)),
            (false, _, None) => None,
        };
        at += usize::from(
            output.is_some_and(|(word, _)| word == at)
                || (value.is_none() && row.spelling.takes_next_word(word)),
        );
        // Behind `|`, strace takes a command.
        found.extend(output.filter(|(_, name)| !name.starts_with(['|', '!'])));
    }
    // `cp -t FOLDER` names it before.
    let names_before = args.iter().any(|word| word.starts_with('-') && word.contains('t'));
    match row.writes {
        Writes::Nothing => {}
        Writes::Operands => found.extend(operands),
        Writes::Last => found.extend(operands.last().filter(|_| 1 < operands.len() && !names_before)),
    }
    found
}

/// Returns the path that a URL spells in another way than the system: `file:///a%20b`, `file://localhost/a`, `file:a`,
/// and of a relative one `./a%20b`, `./a?b` and `.\\a`.
fn path_of_url(url: &str) -> Option<Cow<'_, str>> {
    const SCHEME: &str = "file:";
    let is_file = url.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
    let path = match url.get(SCHEME.len()..).filter(|_| is_file) {
        Some(rest) => match rest.strip_prefix("//") {
            Some(rest) => rest.find('/').map_or(rest, |at| &rest[at..]),
            None => rest,
        },
        None if url.contains(['%', '?', '#', '\\']) && !url.contains("://") => url,
        None => return None,
    };
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    // A URL takes a backslash for a slash.
    if path.contains('\\') {
        let path = path.replace('\\', "/");
        return Some(Cow::Owned(path_of_url(&path).map_or_else(|| path.clone(), Cow::into_owned)));
    }
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        let digit = |at: usize| rest.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        left = rest;
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                left = &rest[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
