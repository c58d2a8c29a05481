//! Finds further programs of a command: words after a launcher, and interpreters after `#!`.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Files, Reads, Seen, installed};
use crate::only_reads::only_looks;
use crate::path::find_program;
use crate::programs::{Finds, Program, Role, is_long, long_values};
use crate::risk::{self, Standing, Started};

/// The maximum length of a chain of programs. The kernel follows five first lines.
const DEPTH: usize = 6;

/// The maximum length of a first line that the system reads.
const FIRST_LINE: usize = 256;

/// The maximum length of what tells how a script is run.
const FIRST_LINES: usize = 1024;

/// Finds the programs in the words of a command with the current `PATH`: after a launcher, and where `PATH` leads into
/// the workspace.
pub(super) fn programs(words: &[String], directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let Some((first, _)) = words.split_first() else { return };
    let first = Program::of(first);
    let behind_launcher = first.is_some_and(Program::starts_others);
    let container = LazyCell::new(|| container_of(words));
    let mut rest = words;
    while let Some((word, args)) = rest.split_first() {
        let at = words.len() - rest.len();
        let may_be_program =
            at != 0 && !word.is_empty() && !word.starts_with('-') && !word.contains(['/', '=']);
        if may_be_program
            && let Some(path) = find(word, directory, files)
            && (behind_launcher || path.starts_with(files.root()))
        {
            reads.programs.insert(path);
        }
        let is_value = at.checked_sub(1).is_some_and(|before| {
            let option = &words[before];
            option.starts_with('-') && first.is_some_and(|it| it.row().spelling.takes_next_word(option))
        });
        let known = Program::of(word).filter(|_| !is_value);
        if known.is_some_and(|known| known.row().finds == Finds::Just) {
            let names = ["--chooser", "--shell"].into_iter().flat_map(|option| long_values(args, option));
            reads.programs.extend(names.filter_map(|name| find(name, directory, files)));
        }
        rest = match known {
            // What follows is looked up elsewhere, or a subcommand: `docker compose ps`, `kubectl exec pod -- ls`.
            Some(known) if known.role() == Role::Container && *container == Some(at) => return,
            Some(known) => behind_names(known, args),
            None => args,
        };
    }
}

/// Returns which word is certainly the program of a command that runs in another root.
fn container_of(words: &[String]) -> Option<usize> {
    let is_one = |command: &Started| {
        command.standing != Standing::Guessed
            && words.ends_with(&command.words)
            && Program::of(&command.words[0]).is_some_and(|known| known.role() == Role::Container)
    };
    risk::started(words)
        .iter()
        .find(|command| is_one(command))
        .map(|command| words.len() - command.words.len())
}

/// Leaves out the words behind a program that are no programs, because it takes them as names of its own: recipes,
/// scripts and subcommands.
fn behind_names(known: Program, args: &[String]) -> &[String] {
    let behind = |at: Option<usize>| at.map_or(&[][..], |at| &args[at + 1..]);
    let finds = known.row().finds;
    match known.role() {
        // Only behind these options stands a command.
        Role::Launcher if finds == Finds::Just => {
            behind(args.iter().position(|word| word == "-c" || is_long(word, "--command")))
        }
        Role::Subcommands(launching) => {
            // A script of that name starts what follows.
            let is_env = |at: usize| finds == Finds::Packages && args[at] == "env";
            behind((0..args.len()).find(|at| launching.contains(&args[*at].as_str()) || is_env(*at)))
        }
        _ => args,
    }
}

/// Finds the programs that a command executes: its own, and after a launcher the programs given by path, up to the
/// first interpreter, whose words are not programs.
pub(super) fn executed(words: &[String], directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let Some((first, args)) = words.split_first() else { return };
    let mut add = |word: &str, args: &[String]| {
        if let Some(path) = find(word, directory, files) {
            if path.starts_with(files.root()) {
                reads.behind.entry(path.clone()).or_default().insert(args.to_vec());
            }
            reads.executed.insert(path);
        }
    };
    add(first, args);
    if Program::of(first).is_none_or(|known| !matches!(known.role(), Role::Launcher | Role::Subcommands(_))) {
        return;
    }
    for (at, word) in args.iter().enumerate().filter(|(_, word)| !word.starts_with('-')) {
        if word.contains('/') {
            add(word, &args[at + 1..]);
        }
        if Program::of(word).is_some_and(|known| known.interpreter().is_some()) {
            break;
        }
    }
}

/// Workspace files with which the shim of a version manager selects a version.
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

/// Records the files that select a version if an executed program is a shim.
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

/// Follows the first lines of executed programs. Their words are words of the command. What the first line of a script
/// in the workspace starts is named by the workspace, with everything that follows from it.
pub(super) fn first_lines(directory: &Path, files: &dyn Files, reads: &mut Reads) {
    reads.executed.extend(reads.programs.iter().cloned());
    let mut by_workspace = Reads::default();
    by_workspace.chain.arguments.clone_from(&reads.chain.arguments);
    let arguments = reads.chain.arguments.clone();
    let mut followed = BTreeSet::new();
    for _ in 0..DEPTH {
        let trusted = reads.executed.clone();
        for program in trusted.iter().chain(&by_workspace.executed.clone()) {
            if !followed.insert(program.clone()) {
                continue;
            }
            let Some((words, behind)) = first_line(program, files) else { continue };
            if let Ok(script) = program.strip_prefix(files.root()) {
                reads.chain.first_line(program, &script.to_string_lossy(), &words);
            }
            let behind_it = [&*reads, &by_workspace].into_iter().flat_map(|reads| reads.behind.get(program));
            let behind_it: BTreeSet<Vec<String>> = behind_it.flatten().cloned().collect();
            let found = if trusted.contains(program) && !is_of_workspace(program, files) {
                &mut *reads
            } else {
                &mut by_workspace
            };
            for words in std::iter::once(words).chain(behind) {
                found.programs.extend(find(&words[0], directory, files));
                super::follow(&words, directory, files, found);
                // The words of the command line stand behind the script, and name what is to be run of it.
                let names = words.iter().any(|word| super::reads_recipes(word));
                for tail in behind_it.iter().filter(|tail| names && !tail.is_empty()) {
                    let words = [&words[..], tail].concat();
                    found.chain.choose(&words, &arguments);
                    super::follow(&words, directory, files, found);
                }
            }
            found.executed.extend(found.programs.iter().cloned());
        }
    }
    reads.named_by_workspace = &by_workspace.executed - &reads.executed;
    reads.named.append(&mut by_workspace.named);
    reads.looked_at.append(&mut by_workspace.looked_at);
    reads.written.append(&mut by_workspace.written);
    reads.scripts.append(&mut by_workspace.scripts);
    reads.settings.append(&mut by_workspace.settings);
    reads.code.append(&mut by_workspace.code);
    reads.environments.append(&mut by_workspace.environments);
    reads.programs.append(&mut by_workspace.programs);
    reads.executed.append(&mut by_workspace.executed);
    reads.unbound.append(&mut by_workspace.unbound);
    reads.chain.append(by_workspace.chain);
}

/// Tells whether a program lies in the workspace, or a link leads into it or out of it.
pub(super) fn is_of_workspace(program: &Path, files: &dyn Files) -> bool {
    program.starts_with(files.root()) || matches!(files.look(program), Seen::Inside { .. })
}

/// Notes the directories of the workspace on `PATH`: what appears there takes the place of any program that is started
/// by its name, also by a shell or a recipe.
pub(super) fn note_search_path(words: &[String], directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let starts_none = |command: &Started| command.words.first().is_none_or(|program| only_looks(program));
    if risk::starts(words).commands.iter().all(starts_none) {
        return;
    }
    for folder in std::env::split_paths(files.path_variable().unwrap_or_default()) {
        if let Seen::Inside { real, .. } = files.look(&directory.join(folder)) {
            reads.chain.finders.insert(format!("PATH: {}", super::shown(&real)));
        }
    }
}

/// Finds the program of a word.
pub(super) fn find(word: &str, directory: &Path, files: &dyn Files) -> Option<PathBuf> {
    find_program(word, directory, files.path_variable(), |path| files.is_program(path))
}

/// Reads the options in the first line of a script that names perl or ruby, which obey them however they are started.
pub(super) fn options_of_first_line(name: &str, script: &Path, files: &dyn Files) -> Option<Vec<String>> {
    let (mut words, _) = first_line(script, files)?;
    let is_one = words.iter().any(|word| word.contains(name));
    is_one.then(|| words.drain(1..).filter(|word| word.starts_with('-')).collect())
}

/// Reads the first line of a script like the system: an interpreter, at most one argument, and the script. What comes
/// second is how a shell goes on with it.
fn first_line(script: &Path, files: &dyn Files) -> Option<(Vec<String>, Option<Vec<String>>)> {
    let head = files.head(script, FIRST_LINES);
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(&line[..line.len().min(FIRST_LINE - 2)]);
    let line = line.trim_matches([' ', '\t']);
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    // Without a slash, it is a file in the working directory.
    let interpreter =
        if interpreter.contains('/') { interpreter.to_owned() } else { format!("./{interpreter}") };
    let argument = Some(argument.trim_start_matches([' ', '\t'])).filter(|argument| !argument.is_empty());
    // Outside of the workspace, it is bound like any program.
    let name = script.starts_with(files.root()).then(|| script.to_string_lossy().into_owned());
    let words = std::iter::once(interpreter).chain(argument.map(str::to_owned)).chain(name.clone()).collect();
    let behind = installed::python_behind_shell(script, &head, files)
        .map(|python| std::iter::once(python.to_string_lossy().into_owned()).chain(name).collect());
    Some((words, behind))
}
