//! The programs that a command leads to besides the one it names: words behind a launcher, and interpreters behind
//! `#!`.

use std::path::{Path, PathBuf};

use super::{Files, Reads};
use crate::argv::Argv;
use crate::path::find_program;
use crate::programs::{Program, Role, base_name};

/// How many programs that lead to each other are followed.
const DEPTH: usize = 4;

/// The longest first line of a script that the system reads.
const FIRST_LINE: usize = 256;

/// Finds the programs that words of a command name as `PATH` is now: behind a launcher, and where `PATH` leads into the
/// workspace.
pub(super) fn programs(words: &[String], directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let starts_others = |word: &String| Program::of(word).is_some_and(Program::starts_others);
    let Some((first, args)) = words.split_first() else { return };
    let behind_launcher = starts_others(first);
    for word in args {
        let may_be_program = !word.is_empty() && !word.starts_with('-') && !word.contains(['/', '=']);
        if may_be_program
            && let Some(path) = find(word, directory, files)
            && (behind_launcher || path.starts_with(files.root()))
        {
            reads.programs.insert(path);
        }
    }
}

/// Finds the programs that a command executes: its own, and behind a launcher those that words name by their place, up
/// to the first interpreter, whose words are no programs.
pub(super) fn executed(words: &[String], directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let Some((first, args)) = words.split_first() else { return };
    reads.executed.extend(find(first, directory, files));
    if Program::of(first).is_none_or(|known| !matches!(known.role(), Role::Launcher | Role::Subcommands(_))) {
        return;
    }
    for word in args.iter().filter(|word| !word.starts_with('-')) {
        if word.contains('/') {
            reads.executed.extend(find(word, directory, files));
        }
        if Program::of(word).is_some_and(|known| known.interpreter().is_some()) {
            break;
        }
    }
}

/// Files of the workspace by which a shim of a version manager picks the version that runs.
const VERSION_FILES: &[&str] = &[
    ".go-version",
    ".java-version",
    ".mise.toml",
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    "mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// Names the files that pick a version when a program that the command executes is a shim.
pub(super) fn chosen_versions(directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let is_shim = |path: &PathBuf| {
        path.parent().is_some_and(|folder| folder.ends_with("shims") || folder.ends_with(".cargo/bin"))
    };
    if !reads.executed.iter().any(is_shim) {
        return;
    }
    for folder in directory.ancestors().take_while(|folder| folder.starts_with(files.root())) {
        reads.named.extend(VERSION_FILES.iter().map(|name| folder.join(name)));
    }
}

/// Finds the interpreters of the programs of a command that are scripts.
pub(super) fn interpreters(argv: &Argv, directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let mut scripts: Vec<PathBuf> = find(argv.program(), directory, files).into_iter().collect();
    scripts.extend(reads.programs.iter().cloned());
    for _ in 0..DEPTH {
        let found: Vec<PathBuf> =
            scripts.iter().flat_map(|script| of_script(script, directory, files)).collect();
        scripts = found.into_iter().filter(|path| reads.programs.insert(path.clone())).collect();
    }
}

fn find(word: &str, directory: &Path, files: &dyn Files) -> Option<PathBuf> {
    find_program(word, directory, files.path_variable(), |path| files.is_program(path))
}

/// Reads the first line of a script: its interpreter, and the program behind it when that is `env`.
fn of_script(script: &Path, directory: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let head = files.head(script, FIRST_LINE);
    let Some(line) = head.strip_prefix(b"#!") else { return Vec::new() };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let Some(interpreter) = words.next() else { return Vec::new() };
    let mut found = vec![directory.join(interpreter)];
    if base_name(interpreter) == "env" {
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
        found.extend(named.and_then(|word| find(word, directory, files)));
    }
    found
}
