//! Commands that programs start because a text of the workspace says so: scripts of `package.json`, and recipes of make
//! and just. The texts are read, and nothing is run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::filled::for_shell;
use super::make::with_variables;
use super::script::code_of_arguments;
use super::started::is_of_workspace;
use super::{Files, Finder, Kind, Reads, Seen, is_of_a_process};
use crate::argv::Argv;
use crate::only_reads::only_looks;
use crate::programs::{Finds, Program, Role, Value, long_values, short_values};
use crate::risk::{self, Risk, Standing, Started};

/// The maximum length of a chain of commands, and their maximum number.
const DEPTH: usize = 4;
const MOST: usize = 100;

/// The maximum number of commands that are followed, whether they are shown or not.
const MOST_FOLLOWED: usize = 2000;

/// The largest text that is read.
pub(super) const TEXT_LIMIT: u64 = 1 << 20;

/// A command that a program starts because a file of the workspace says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The file, and the script or recipe in it: `package.json: go`.
    pub by: String,
    /// The command, as the file has it.
    pub command: String,
}

/// What a command starts besides itself, as far as texts of the workspace say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The commands, in the order in which they were found.
    pub starts: Vec<Link>,
    /// Files and directories that these commands name, or where their programs find code. They may be missing.
    pub files: BTreeSet<PathBuf>,
    /// Those of them that are data if the entry declares them so: databases of SQLite that runs nothing of them, and
    /// what only settings name.
    pub may_be_data: BTreeSet<PathBuf>,
    /// Directories of packages that these commands find installed.
    pub environments: BTreeSet<PathBuf>,
    /// What finds or starts further code by itself: interpreters, programs of the workspace, and commands that cannot
    /// be read before the run.
    pub finders: BTreeSet<String>,
    /// Arguments of the call that choose the code which a command runs behind which a text puts them.
    pub chosen: BTreeSet<String>,
    /// Files that only programs name which look at what their words name.
    pub(super) looked_at: BTreeSet<PathBuf>,
    /// What commands write.
    pub(super) written: BTreeSet<PathBuf>,
    /// The last words of the command, which are arguments of a call.
    pub(super) arguments: Vec<String>,
    /// Variables that are set for these commands.
    pub(super) variables: BTreeMap<String, String>,
    depth: usize,
    /// What was followed, from which directory, and whether it was only bound.
    followed: BTreeSet<(Link, PathBuf, bool)>,
    /// Whether what is found is bound, and not shown.
    pub(super) is_unseen: bool,
    /// The files of recipes of which all was followed, and from which directories.
    pub(super) all_followed: BTreeSet<(Vec<PathBuf>, Vec<PathBuf>)>,
}

impl Chain {
    /// Notes the words that the first line of a script starts. It says what finds the rest.
    pub(super) fn first_line(&mut self, program: &Path, script: &str, words: &[String]) {
        self.finders.remove(&*program.to_string_lossy());
        self.finders.remove(&format!("./{script}"));
        self.finders.remove(script);
        self.starts.push(Link { by: script.to_owned(), command: words.join(" ") });
    }

    /// Returns which of these words, the last ones, are arguments of a call.
    pub(super) fn arguments_of(&self, words: &[String]) -> Vec<String> {
        if words.ends_with(&self.arguments) { self.arguments.clone() } else { Vec::new() }
    }

    /// Leaves out what only the search needs.
    pub(super) fn told(self) -> Chain {
        let Chain { starts, files, may_be_data, environments, finders, chosen, .. } = self;
        Chain { starts, files, may_be_data, environments, finders, chosen, ..Chain::default() }
    }

    /// Adds what another part of the command starts.
    pub(super) fn append(&mut self, mut other: Chain) {
        self.starts.append(&mut other.starts);
        self.add(std::mem::take(&mut other.files), std::mem::take(&mut other.may_be_data));
        self.looked_at.append(&mut other.looked_at);
        self.written.append(&mut other.written);
        self.environments.append(&mut other.environments);
        self.finders.append(&mut other.finders);
        self.chosen.append(&mut other.chosen);
    }

    /// Adds the files that commands only look at, and that none of them writes. Directories are no files.
    pub(super) fn settle(&mut self, files: &dyn Files) {
        let is_folder = |path: &PathBuf| match files.look(path) {
            Seen::Inside { kind, .. } | Seen::Outside(kind) => kind == Some(Kind::Folder),
            Seen::Nowhere => false,
        };
        let looked_at = &std::mem::take(&mut self.looked_at) - &std::mem::take(&mut self.written);
        self.add(looked_at.into_iter().filter(|path| !is_folder(path)).collect(), BTreeSet::new());
    }

    /// Adds files, and says which of them may be data. What is bound in any case for one command stays so for all.
    fn add(&mut self, files: BTreeSet<PathBuf>, may_be_data: BTreeSet<PathBuf>) {
        self.may_be_data.retain(|path| may_be_data.contains(path) || !files.contains(path));
        self.may_be_data.extend(may_be_data.into_iter().filter(|path| !self.files.contains(path)));
        self.files.extend(files);
    }

    /// Follows a line of a file that a shell runs in a directory.
    pub(super) fn follow(&mut self, link: Link, is_readable: bool, directory: &Path, files: &dyn Files) {
        self.follow_with(link, &[], is_readable, directory, files);
    }

    /// Follows a line that ends with these arguments of a call.
    pub(super) fn follow_with(
        &mut self,
        link: Link,
        arguments: &[String],
        is_readable: bool,
        directory: &Path,
        files: &dyn Files,
    ) {
        let is_shown = |starts: &[Link]| self.is_unseen || starts.len() < MOST;
        if !is_shown(&self.starts) || MOST_FOLLOWED <= self.followed.len() || DEPTH <= self.depth {
            self.finders.insert(link.by);
            return;
        }
        if !self.followed.insert((link.clone(), directory.to_owned(), self.is_unseen)) {
            return;
        }
        let words = ["sh".to_owned(), "-c".to_owned(), link.command.clone()];
        let by = link.by.clone();
        if !is_readable || starts_unnamed(&words) {
            self.finders.insert(by.clone());
        }
        let filled = for_shell(&link.command, &self.variables, directory);
        if filled != link.command {
            let is_unseen = std::mem::replace(&mut self.is_unseen, true);
            let filled = Link { by, command: filled };
            self.follow_with(filled, arguments, is_readable, directory, files);
            self.is_unseen = is_unseen;
        }
        self.follow_words(link, &words, arguments, is_readable, directory, files);
    }

    /// Follows a command of a file, given by its words, that ends with these arguments of a call.
    fn follow_words(
        &mut self,
        link: Link,
        words: &[String],
        arguments: &[String],
        is_readable: bool,
        directory: &Path,
        files: &dyn Files,
    ) {
        let by = link.by.clone();
        self.choose(words, arguments);
        if !self.is_unseen && !self.starts.contains(&link) {
            self.starts.push(link);
        }
        let mut nested = Reads::default();
        nested.chain.depth = self.depth + 1;
        nested.chain.is_unseen = self.is_unseen;
        nested.chain.arguments = arguments.to_vec();
        nested.chain.variables.clone_from(&self.variables);
        nested.chain.starts = std::mem::take(&mut self.starts);
        nested.chain.followed = std::mem::take(&mut self.followed);
        nested.chain.all_followed = std::mem::take(&mut self.all_followed);
        super::follow(words, directory, files, &mut nested);
        let Reads { named, scripts, code, databases, settings, environments, unbound, chain, .. } = nested;
        self.looked_at.extend(nested.looked_at.into_iter().chain(chain.looked_at));
        self.written.extend(nested.written.into_iter().chain(chain.written));
        self.starts = chain.starts;
        self.followed = chain.followed;
        self.all_followed = chain.all_followed;
        let databases = &databases - &code;
        let bound: BTreeSet<PathBuf> = [named, scripts, code].into_iter().flatten().collect();
        let may_be_data = &databases | &(&settings - &bound);
        self.add(&bound | &settings, may_be_data);
        self.add(chain.files, chain.may_be_data);
        self.environments.extend(environments.into_iter().chain(chain.environments));
        self.chosen.extend(chain.chosen);
        if is_readable {
            // The shell of a script is not what finds code.
            self.finders.extend(chain.finders.into_iter().filter(|finder| finder != "sh"));
        }
        if !unbound.is_empty() {
            self.finders.insert(by);
        }
    }

    /// Binds what a line leads to that may be started, without saying that it is. Its file is named already.
    pub(super) fn follow_unseen(&mut self, link: Link, directory: &Path, files: &dyn Files) {
        let (finders, is_unseen) = (self.finders.clone(), self.is_unseen);
        self.is_unseen = true;
        self.follow(link, true, directory, files);
        (self.finders, self.is_unseen) = (finders, is_unseen);
    }

    /// Notes which argument of a call chooses the code of a command in these words that ends with the arguments, as if
    /// that command stood in the entry.
    pub(super) fn choose(&mut self, words: &[String], arguments: &[String]) {
        if arguments.is_empty() {
            return;
        }
        for command in risk::started(words) {
            if command.standing == Standing::Guessed || !command.words.ends_with(arguments) {
                continue;
            }
            let reviewed = command.words.len() - arguments.len();
            let Ok(argv) = Argv::new(command.words) else { continue };
            let is_code = |risk: &Risk| matches!(risk, Risk::InlineCode { end, .. } if reviewed <= *end);
            let chosen = match code_of_arguments(&argv, reviewed) {
                Some(word) => Some(word.to_owned()),
                // The first one is the program, or code for one.
                None if reviewed == 0 || risk::judge(&argv).iter().any(is_code) => arguments.first().cloned(),
                None => None,
            };
            self.chosen.extend(chosen);
        }
    }
}

/// Lists the names of the programs that a text for a shell starts, without those that are paths.
pub(super) fn programs_of(text: &str) -> Vec<String> {
    let shell = ["sh".to_owned(), "-c".to_owned(), text.to_owned()];
    let programs = risk::started(&shell).into_iter().filter_map(|command| command.words.into_iter().next());
    programs.filter(|program| !program.contains('/')).collect()
}

/// Tells whether a text starts what only the shell finds out: by a pattern of names, a variable or a substitution, by
/// text that it puts together, from standard input, or by a variable that changes what is found.
pub(super) fn starts_unnamed(words: &[String]) -> bool {
    const CHANGING: [&str; 7] = ["alias", "enable", "eval", "function", "hash", "trap", "xargs"];
    const FINDING: [&str; 6] = ["PATH", "ENV", "LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "TAR_OPTIONS"];
    /// Commands of a shell that set the variables which they name.
    const SETTING: [&str; 9] =
        ["declare", "for", "getopts", "local", "mapfile", "printf", "read", "readarray", "select"];
    let text = words.last().map(String::as_str).unwrap_or_default();
    let sets = |name: &&str| {
        let mut behind = text.match_indices(name).map(|(at, _)| &text[at + name.len()..]);
        behind.any(|rest| rest.starts_with('=') || rest.starts_with("+="))
    };
    if FINDING.iter().any(sets) || defines_known(text) {
        return true;
    }
    risk::started(words).iter().skip(1).any(|command| {
        let Some((program, args)) = command.words.split_first() else { return false };
        let role = Program::of(program).map(Program::role);
        let runs_code = matches!(role, Some(Role::Shell | Role::Interpreter | Role::Launcher | Role::Eval));
        let is_late = |word: &String| word.is_empty() || word.contains(['*', '?', '[', '{', '$']);
        let is_read = matches!(role, Some(Role::Shell)) && !args.iter().any(|word| !word.starts_with('-'));
        is_late(program)
            || runs_code && args.iter().any(is_late)
            || is_read
            || program.starts_with(['<', '>'])
            || CHANGING.contains(&program.as_str())
            || SETTING.contains(&program.as_str())
                && args.iter().any(|word| FINDING.contains(&word.as_str()) || word.starts_with("-C"))
            || args.iter().any(|word| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
    })
}

/// Tells whether a text for a shell gives the name of a known program to a function: `tee() { sh "$1"; }`.
fn defines_known(text: &str) -> bool {
    let mut names = text.match_indices('(').filter_map(|(at, _)| {
        let is_function = text[at + 1..].trim_start_matches([' ', '\t']).starts_with(')');
        let before = text[..at].trim_end_matches([' ', '\t']);
        is_function
            .then(|| before.rsplit([' ', '\t', '\n', ';', '&', '|', '{', '}', ')']).next().unwrap_or(before))
    });
    names.any(|name| {
        Program::of(name).is_some() || only_looks(name) || matches!(name, "cd" | "popd" | "pushd")
    })
}

impl Finder<'_> {
    /// Follows what a program starts by a text of the workspace. The words before it may be those of `env`.
    pub(super) fn chain(&self, known: Program, before: &[String], args: &[String], reads: &mut Reads) {
        match known.row().finds {
            Finds::Packages | Finds::JavaScript => self.package_scripts(known, args, reads),
            Finds::Make => self.recipes_of_make(known, &with_variables(known, before, args), reads),
            Finds::Just => self.recipes_of_just(&with_variables(known, before, args), reads),
            _ => {}
        }
    }

    /// Notes a script of a shell whose text loads or starts further code. The script is bound, and that is not, but for
    /// databases of SQLite: they can start commands themselves, and do not look like code.
    pub(super) fn note_shell_script(&self, script: &Path, reads: &mut Reads) {
        let Some(text) = self.files.read(script, TEXT_LIMIT) else {
            // It is bound, and what it starts is not known.
            if self.is_file(script) && !self.files.head(script, 1).is_empty() {
                reads.chain.finders.insert(self.shown(script));
            }
            return;
        };
        let words = ["sh".to_owned(), "-c".to_owned(), String::from_utf8_lossy(&text).into_owned()];
        let commands = risk::started(&words);
        let commands = commands.get(1..).unwrap_or_default();
        let finds_code = commands.iter().any(|command| {
            let Some(program) = command.words.first() else { return false };
            let is_of_workspace = self.is_own(program);
            let known = Program::of(program);
            let runs = |known: Program| matches!(known.role(), Role::Eval | Role::Interpreter | Role::Shell);
            let finds = |known: Program| !matches!(known.row().finds, Finds::Nothing | Finds::FoundFiles);
            let reads = |known: Program| reads_commands(known, &command.words[1..]);
            is_of_workspace || known.is_some_and(|known| runs(known) || finds(known) || reads(known))
        });
        if finds_code || starts_unnamed(&words) {
            reads.chain.finders.insert(self.shown(script));
        }
        let opens_database = |command: &&Started| {
            let program = command.words.first().and_then(|word| Program::of(word));
            program.is_some_and(|known| known.row().finds == Finds::DotCommands)
        };
        for command in commands.iter().filter(opens_database) {
            if MOST <= reads.chain.starts.len() || DEPTH <= reads.chain.depth {
                return;
            }
            let link = Link { by: self.shown(script), command: command.words.join(" ") };
            if reads.chain.starts.contains(&link) {
                continue;
            }
            // What a pipe or a text behind `<<` tells it stands elsewhere in the script.
            let told = commands
                .iter()
                .flat_map(|other| std::iter::once(other.words.join(" ")).chain(other.words.iter().cloned()));
            let told = told.filter(|line| has_dot_command(line));
            let words: Vec<String> = command.words.iter().cloned().chain(told).collect();
            let directory = self.directory.join(&command.directory);
            reads.chain.follow_words(link, &words, &[], true, &directory, self.files);
        }
    }

    /// Tells whether a program is given by a path that leads into the workspace, or that leads elsewhere in each
    /// process.
    pub(super) fn is_own(&self, program: &str) -> bool {
        let leads_inside = || is_of_workspace(Path::new(program), self.files);
        program.contains('/') && (!program.starts_with('/') || is_of_a_process(program) || leads_inside())
    }

    /// Notes what finds code by itself: a program of the workspace, an interpreter, what builds, or what reads commands
    /// from a file.
    pub(super) fn note_finder(&self, words: &[String], reads: &mut Reads) {
        let Some((first, args)) = words.split_first() else { return };
        let known = Program::of(first);
        let is_told = |known: Program| known.role() == Role::Other && reads_commands(known, args);
        let finds = known.is_some_and(|known| {
            // A shell, make and package managers start what their text says.
            let is_read = matches!(known.role(), Role::Shell)
                || matches!(known.row().finds, Finds::Make | Finds::Just | Finds::Packages);
            !is_read
                && (known.interpreter().is_some() || known.row().finds != Finds::Nothing || is_told(known))
        });
        if finds || (known.is_none() && self.is_own(first)) {
            reads.chain.finders.insert(first.clone());
        }
    }

    /// Returns a path relative to the workspace.
    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.files.root()).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// Tells whether a line is a command of sqlite3 with operands, such as `.read FILE`.
fn has_dot_command(line: &str) -> bool {
    let name = line.strip_prefix('.').and_then(|rest| rest.split_once(char::is_whitespace));
    name.is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Tells whether an option gives a program a file with commands, which may load or start more: `vim -S FILE`.
fn reads_commands(known: Program, args: &[String]) -> bool {
    let row = known.row();
    row.hooks.iter().filter(|hook| hook.value == Value::File).any(|hook| {
        let mut short = hook.short.chars().map(|option| short_values(&row.spelling, args, option));
        let mut long = hook.long.iter().map(|option| long_values(args, option));
        short.any(|values| !values.is_empty()) || long.any(|values| !values.is_empty())
    })
}
