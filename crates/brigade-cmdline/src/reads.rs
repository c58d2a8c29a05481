//! Finds the files that an approval of a command binds: those that its words name, and the programs that it starts.
//!
//! A word names a file as a whole, after `=`, attached to an option, after `@`, or as a `file:` URL. The words of a
//! `#!` line count, because the kernel puts them before those of the command. Other files are not found. A program may
//! load any of them, unless the workspace is closed to reading.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::argv::Argv;
use crate::chosen::{ChosenCode, chosen_code};
use crate::code::{code_at, missing_script, script_that};
use crate::path::find_program;
use crate::programs::{Program, Role};
use crate::risk::{PlacedWords, Word, numbered, wrapped};

/// The maximum number of option letters before a file name in one word.
const MAX_BUNDLE: usize = 8;

/// How many words after a launcher are searched for a program that chooses its code.
const MAX_LAUNCHED: usize = 32;

/// The maximum length of a chain of programs. The kernel follows five first lines.
const MAX_CHAIN: usize = 6;

/// Programs that download a package and run it. The words after them name package and version.
const PACKAGE_RUNNERS: &[&str] = &["bunx", "npx", "pipx", "pnpx", "uvx"];

/// Programs that download an image and run it.
const CONTAINER_RUNNERS: &[&str] = &["docker", "podman"];

/// The maximum length of a first line that the system reads.
const FIRST_LINE: usize = 256;

/// The file access of the search. Paths are absolute.
pub trait Files {
    /// The directory of the workspace.
    fn root(&self) -> &Path;

    /// The `PATH` of the host.
    fn path_variable(&self) -> Option<&OsStr>;

    /// Looks up the target of a path, and follows links.
    fn look(&self, path: &Path) -> PathTarget;

    /// Returns whether a path leads to an executable regular file.
    fn is_program(&self, path: &Path) -> bool;

    /// Reads the first bytes of a file, in the workspace or outside.
    fn head(&self, path: &Path, length: usize) -> Vec<u8>;
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathTarget {
    /// In the workspace; `None` if it does not exist.
    Inside(Option<Kind>),
    /// Outside of the workspace; `None` if it does not exist.
    Outside(Option<Kind>),
    /// The path cannot be followed.
    Nowhere,
}

impl PathTarget {
    /// Returns the kind of what exists.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            PathTarget::Inside(kind) | PathTarget::Outside(kind) => *kind,
            PathTarget::Nowhere => None,
        }
    }
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A device, pipe or socket.
    Other,
}

/// The files that a command names and the programs that it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Paths that words may name.
    pub named: BTreeSet<PathBuf>,
    /// Programs that are bound in addition to the first one: those after wrappers, and their interpreters.
    pub programs: BTreeSet<PathBuf>,
    /// Every program that may be executed. Includes the first one, and those that a launcher may start, such as
    /// programs after `strace` and `uv run`, which are not bound.
    pub executed: BTreeSet<PathBuf>,
    /// The programs in `executed` that only the first line of a script in the workspace names.
    pub named_by_workspace: BTreeSet<PathBuf>,
    /// The script that the command runs, if it does not exist.
    pub missing: Option<String>,
    /// The script that the command runs, if it is a pipe, socket or device of the workspace.
    pub special: Option<String>,
    /// A word of code whose target differs in each process, such as `/proc/self/cwd/x.py`.
    pub of_process: Option<String>,
    /// How the command chooses its code, if it does so itself.
    pub chosen: Option<ChosenCode>,
}

/// Finds what a command names and starts if it starts in this directory.
///
/// ```
/// # use std::{ffi::OsStr, path::{Path, PathBuf}};
/// # use brigade_cmdline::{Argv, Files, Kind, PathTarget};
/// # struct Nothing;
/// # impl Files for Nothing {
/// #     fn root(&self) -> &Path { Path::new("/work") }
/// #     fn path_variable(&self) -> Option<&OsStr> { None }
/// #     fn look(&self, _: &Path) -> PathTarget { PathTarget::Inside(None) }
/// #     fn is_program(&self, _: &Path) -> bool { false }
/// #     fn head(&self, _: &Path, _: usize) -> Vec<u8> { Vec::new() }
/// # }
/// let argv = Argv::parse("env -C lib python3 run.py --in=a.csv")?;
/// let reads = brigade_cmdline::what_it_reads(&argv, Path::new("/work"), &Nothing);
/// assert!(reads.named.contains(Path::new("/work/lib/run.py")));
/// assert!(reads.named.contains(Path::new("/work/lib/a.csv")));
/// # Ok::<(), brigade_cmdline::argv::InvalidCommand>(())
/// ```
pub fn what_it_reads(argv: &Argv, directory: &Path, files: &dyn Files) -> Reads {
    let is_special = |target| target == PathTarget::Inside(Some(Kind::Other));
    let mut reads = Reads {
        missing: missing_script(argv, directory, files),
        special: script_that(is_special, argv, directory, files),
        of_process: path_of_process(argv).map(str::to_owned),
        ..Reads::default()
    };
    let chain = wrapped(numbered(argv.words()));
    reads.chosen = chain.last().and_then(|placed| chosen_after(placed, directory, files));
    let mut waiting: Vec<PathBuf> = follow(chain, directory, files, &mut reads);
    if let Some(first) = find(argv.program(), directory, files) {
        reads.programs.remove(&first);
    }
    let mut seen = BTreeSet::new();
    for _ in 0..MAX_CHAIN {
        for program in std::mem::take(&mut waiting) {
            if !seen.insert(program.clone()) {
                continue;
            }
            let Some(line) = first_line(&program, files) else { continue };
            let found = follow(wrapped(numbered(&line)), directory, files, &mut reads);
            let by_workspace =
                program.starts_with(files.root()) || reads.named_by_workspace.contains(&program);
            if by_workspace {
                reads.named_by_workspace.extend(found.iter().filter(|path| !seen.contains(*path)).cloned());
            }
            waiting.extend(found);
        }
    }
    reads
}

/// Follows the commands of a chain of wrappers, and returns the programs that they execute.
fn follow(chain: Vec<PlacedWords>, directory: &Path, files: &dyn Files, reads: &mut Reads) -> Vec<PathBuf> {
    let mut executed = Vec::new();
    for (words, moved) in chain {
        let place = directory.join(moved);
        let Some((head, args)) = words.split_first() else { continue };
        let program = find(&head.text, &place, files);
        reads.programs.extend(program.clone());
        executed.extend(program);
        // A program outside of the workspace is bound by the name with which it is started.
        let is_outside = head.text.contains('/') && !place.join(&head.text).starts_with(files.root());
        for word in &words[usize::from(is_outside)..] {
            let paths = names_in(&word.text).into_iter().map(|name| place.join(&*name));
            reads.named.extend(paths);
        }
        if Program::from_word(&head.text).is_some_and(launches) {
            executed.extend(launched(args, &place, files));
        }
    }
    reads.executed.extend(executed.iter().cloned());
    executed
}

/// Returns how a command chooses its code: by its program, or by one that a launcher may start (`uv run make`, `find
/// -exec`). The words of a package runner name package and version, so they choose no code.
fn chosen_after((words, moved): &PlacedWords, directory: &Path, files: &dyn Files) -> Option<ChosenCode> {
    let launcher = Program::from_word(&words.first()?.text).filter(|known| launches(*known));
    let launcher = launcher
        .filter(|known| !PACKAGE_RUNNERS.contains(&known.name) && !CONTAINER_RUNNERS.contains(&known.name));
    chosen_code(&(words.clone(), moved.clone()), directory, files).or_else(|| {
        let after = 1..words.len().min(if launcher.is_some() { MAX_LAUNCHED } else { 0 });
        after.filter(|at| !words[*at].text.starts_with('-')).find_map(|at| {
            let inner = (words[at..].to_vec(), moved.clone());
            Program::from_word(&inner.0[0].text).and_then(|_| chosen_code(&inner, directory, files))
        })
    })
}

/// Returns whether a command runs a package that its program downloads first, such as `npx -y NAME`.
pub fn runs_package(argv: &Argv) -> bool {
    let chain = wrapped(numbered(argv.words()));
    let program = chain.last().and_then(|(words, _)| Program::from_word(&words.first()?.text));
    program.is_some_and(|known| PACKAGE_RUNNERS.contains(&known.name))
}

/// Returns the words of a command that are code, after its program: scripts of interpreters, and files that options
/// load.
pub fn code_words(argv: &Argv) -> Vec<&str> {
    let words = argv.words();
    let positions = code_at(&numbered(words)).into_iter().filter(|at| 0 < *at);
    positions.filter_map(|at| words.get(at)).map(String::as_str).collect()
}

/// Returns whether a program may start any program that its arguments name.
fn launches(known: Program) -> bool {
    matches!(known.role(), Role::Launcher | Role::Subcommands(_) | Role::Privilege | Role::Find)
}

/// Lists the programs among the words after a launcher, up to the first interpreter. The words after that belong to it.
fn launched(args: &[Word], place: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for word in args.iter().map(|word| word.text.as_str()) {
        if word.is_empty() || word.starts_with('-') || word.contains('=') {
            continue;
        }
        found.extend(find(word, place, files));
        if Program::from_word(word).is_some_and(|known| known.interpreter().is_some()) {
            break;
        }
    }
    found
}

fn find(word: &str, directory: &Path, files: &dyn Files) -> Option<PathBuf> {
    find_program(word, directory, files.path_variable(), |path| files.is_program(path))
}

/// Reads the first line of a script like the system: an interpreter, and at most one argument.
fn first_line(script: &Path, files: &dyn Files) -> Option<Vec<String>> {
    let head = files.head(script, FIRST_LINE);
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let line = line.trim_matches([' ', '\t']);
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    // Without a slash, the name is a file in the working directory.
    let interpreter =
        if interpreter.contains('/') { interpreter.to_owned() } else { format!("./{interpreter}") };
    let argument = Some(argument.trim_start_matches([' ', '\t'])).filter(|argument| !argument.is_empty());
    Some(std::iter::once(interpreter).chain(argument.map(str::to_owned)).collect())
}

/// Returns a word of code in a command line whose target differs in each process, such as `/proc/self/cwd/x.py`.
pub fn path_of_process(argv: &Argv) -> Option<&str> {
    let words = argv.words();
    let code = code_at(&numbered(words)).into_iter().filter_map(|at| words.get(at));
    code.map(String::as_str).find(|word| is_of_a_process(word))
}

/// Returns whether the target of a word differs in each process.
fn is_of_a_process(word: &str) -> bool {
    names_in(word).iter().any(|path| {
        let below = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
        path.starts_with("/dev/fd/") && path != "/dev/fd/0"
            || below.is_some_and(|(_, rest)| {
                rest.split('/').any(|part| matches!(part, "cwd" | "exe" | "fd" | "root"))
            })
    })
}

/// Lists possible file names in a word: `file`, `--option=file`, `-ofile`, `-nofile`, `@file`, `file:///dir/file`.
pub(crate) fn names_in(word: &str) -> BTreeSet<Cow<'_, str>> {
    let mut names = BTreeSet::from([word]);
    names.extend(word.match_indices('=').map(|(at, _)| &word[at + 1..]).filter(|name| may_be_path(name)));
    if let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) {
        let mut letters = bundle.chars();
        for _ in 0..MAX_BUNDLE {
            let is_letter = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
            names.insert(letters.as_str());
            if !is_letter {
                break;
            }
        }
    }
    let after: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix('@')).collect();
    names.extend(after);
    let urls: Vec<Cow<'_, str>> = names.iter().filter_map(|name| path_of_url(name)).collect();
    names.into_iter().map(Cow::Borrowed).chain(urls).filter(|name| !name.is_empty()).collect()
}

/// Returns whether a text can be a path at all, also with the escapes of a URL: the system takes no longer one, and no
/// longer name.
fn may_be_path(text: &str) -> bool {
    const MAX_PATH: usize = 3 * 4096;
    const MAX_NAME: usize = 3 * 256;
    text.len() <= MAX_PATH
        && text.bytes().take(MAX_NAME + 1).take_while(|byte| *byte != b'/').count() <= MAX_NAME
}

/// Returns the path of a `file:` URL.
fn path_of_url(url: &str) -> Option<Cow<'_, str>> {
    const SCHEME: &str = "file:";
    let is_file = url.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
    let rest = url.get(SCHEME.len()..).filter(|_| is_file)?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or(rest, |at| &rest[at..]),
        None => rest,
    };
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_files_in_five_ways() {
        for (word, expect) in [
            ("a.py", &["a.py"][..]),
            ("--in=a.csv", &["--in=a.csv", "a.csv"]),
            ("x=a=b", &["a=b", "b", "x=a=b"]),
            ("-Ilib", &["-Ilib", "b", "ib", "lib"]),
            ("-d@b.json", &["-d@b.json", "@b.json", "b.json"]),
            ("@args", &["@args", "args"]),
            ("file:///a%20b.js?x#y", &["/a b.js", "file:///a%20b.js?x#y"]),
            ("FILE:a", &["FILE:a", "a"]),
            ("https://x/a", &["https://x/a"]),
            ("", &[]),
        ] {
            assert_eq!(names_in(word).into_iter().collect::<Vec<_>>(), expect, "{word}");
        }
    }

    #[test]
    fn code_and_packages_are_known_by_their_program() {
        for (command, packages, code) in [
            ("npx -y @a/b@1.0", true, &[][..]),
            ("env A=b uvx server", true, &[]),
            ("python3 -u /srv/x.py --in a", false, &["/srv/x.py"]),
            ("node --require /srv/a.js /srv/b.js", false, &["/srv/a.js", "/srv/b.js"]),
            ("docker run x", false, &[]),
            ("./server", false, &[]),
        ] {
            let argv = Argv::parse(command).unwrap();
            assert_eq!(runs_package(&argv), packages, "{command}");
            let words: Vec<&str> =
                code_words(&argv).into_iter().filter(|word| word.starts_with('/')).collect();
            assert_eq!(words, code, "{command}");
        }
    }

    #[test]
    fn a_word_of_separators_names_few_files() {
        let names = names_in(&"=".repeat(64 << 10)).len();
        assert!(names < 1_000, "{names}");
        let long = format!("--in={}", "a/".repeat(1_000));
        assert!(names_in(&long).contains(&long["--in=".len()..]));
    }

    #[test]
    fn paths_of_a_process_are_recognized() {
        for (word, expect) in [
            ("/proc/self/cwd/x.py", true),
            ("--in=/proc/1/root/x", true),
            ("/dev/fd/3", true),
            ("/dev/fd/0", false),
            ("/proc/cpuinfo", false),
            ("cwd/x.py", false),
        ] {
            assert_eq!(is_of_a_process(word), expect, "{word}");
        }
    }
}
