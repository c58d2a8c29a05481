//! Finds the files that a command loads: files in its words, and code that programs find by directory, module, option
//! or incomplete name (`python3 bin`, `python3 -m pkg`, `node bin/t`, `make`).
//!
//! Listed files may be missing. A file that appears later is then a change.

mod chain;
mod environment;
mod filled;
mod found_files;
mod installed;
mod javascript;
mod make;
mod moved;
mod package_json;
mod packages;
mod python;
mod recipes;
mod script;
mod search;
mod specifiers;
mod started;
mod unbound;
mod values;
mod words;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::argv::Argv;
use crate::only_reads::only_looks;
use crate::programs::{Finds, Program, Role, base_name, is_code_name, long_values};
use crate::risk::{self, Standing, Started};

pub use chain::{Chain, Link};
pub use package_json::{MappedFiles, PackageJson};
pub(crate) use python::is_launching_module;
pub(crate) use script::code_words;
pub use script::{code_of_arguments, missing_script};
pub use search::keeps_databases;
pub use unbound::never_bound;
use words::{is_git, looks, messages, names_in, only_written, outputs, parts_of, plain_path, quoted_in};

/// The maximum number of tests that are bound one by one.
const MOST_TESTS: usize = 1024;

/// The maximum number of searched directories.
const MOST_FOLDERS: usize = 10_000;

/// The maximum depth of a searched directory. The system opens no path of much more names.
const DEEPEST: usize = 256;

/// Directories that never have code: the state of Brigade and of git.
const LEFT_OUT: &[&str] = &[".brigade", ".git"];

/// The file access of the search. Paths are absolute.
pub trait Files {
    /// The directory of the workspace.
    fn root(&self) -> &Path;

    /// The `PATH` of the host.
    fn path_variable(&self) -> Option<&OsStr>;

    /// Looks up the target of a path, and follows links.
    fn look(&self, path: &Path) -> Seen;

    /// Tells whether a path leads to an executable regular file.
    fn is_program(&self, path: &Path) -> bool;

    /// Lists a directory of the workspace; empty if it is unreadable or outside.
    fn list(&self, folder: &Path) -> Vec<Entry>;

    /// Reads a file of the workspace; `None` if it is over the limit, unreadable or outside.
    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>>;

    /// Reads the first bytes of a file, in the workspace or outside.
    fn head(&self, path: &Path, length: usize) -> Vec<u8>;
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// In the workspace.
    Inside {
        /// The path without links, relative to the workspace root.
        real: PathBuf,
        /// The kind of file; `None` if it does not exist.
        kind: Option<Kind>,
    },
    /// Outside of the workspace; `None` if it does not exist.
    Outside(Option<Kind>),
    /// The path cannot be followed.
    Nowhere,
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A symbolic link; only in listings.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// A directory entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The kind, without following links.
    pub kind: Kind,
}

/// The files that a command loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Files that words may name.
    pub named: BTreeSet<PathBuf>,
    /// Files that words after interpreters and launchers may name, in the workspace or outside, including scripts.
    pub scripts: BTreeSet<PathBuf>,
    /// Files and directories where programs find code.
    pub code: BTreeSet<PathBuf>,
    /// Directories of packages that are installed in virtual environments of the workspace. Of these, `code` has what
    /// the command names and what each start executes; a program can load the rest.
    pub environments: BTreeSet<PathBuf>,
    /// Those of the files in words that are only databases of the program behind which they are named, which was told
    /// to run nothing of them.
    pub databases: BTreeSet<PathBuf>,
    /// Files that only a quoted part of a word names, such as a setting in JSON, and that do not look like code. They
    /// are data if the entry declares them so.
    pub settings: BTreeSet<PathBuf>,
    /// Programs besides the first one.
    pub programs: BTreeSet<PathBuf>,
    /// Executed programs: the program of each command, programs after a launcher, and interpreters of scripts.
    pub executed: BTreeSet<PathBuf>,
    /// Those of them that only text in the workspace names: the first line of a script there.
    pub named_by_workspace: BTreeSet<PathBuf>,
    /// Code that an approval cannot bind.
    pub unbound: BTreeSet<NotBound>,
    /// The script that the command runs, if it does not exist.
    pub missing: Option<String>,
    /// What the command starts besides itself, as far as texts of the workspace say it.
    pub chain: Chain,
    /// Files that only programs name which look at what their words name, and run nothing of it.
    looked_at: BTreeSet<PathBuf>,
    /// What programs and shells write. Where nothing else names it, it is no code.
    written: BTreeSet<PathBuf>,
    /// The words behind executed programs, which are words of what the first line of such a program starts.
    behind: BTreeMap<PathBuf, BTreeSet<Vec<String>>>,
}

/// Code that a command runs and an approval cannot bind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotBound {
    /// A directory with more than the limits.
    Folder(String),
    /// A directory of installed packages with more than the limits, and how many files and bytes were counted.
    Packages(String, usize, u64),
    /// A link to a directory outside of the workspace.
    Link(String),
    /// A directory with a name that is not UTF-8, which nothing can bind.
    OddName(String),
    /// A file that may not be read.
    Unreadable(String),
    /// A variable that the command sets and that changes where code is found.
    Variable(String),
    /// Files that `find` finds, or files beside them.
    FoundFiles,
    /// A path that means something else in each process, such as `/proc/self/cwd/x.py`.
    OfProcess,
    /// An option that makes a program start another one.
    Option(&'static str),
}

/// Finds the files that a command loads if it starts in a directory.
///
/// It covers every command that the risk check finds: after wrappers and launchers, in texts that are split or passed
/// to a shell, and in settings.
///
/// ```
/// # use std::{ffi::OsStr, path::{Path, PathBuf}};
/// # use brigade_command::{Argv, Entry, Files, Kind, Seen};
/// # struct Nothing;
/// # impl Files for Nothing {
/// #     fn root(&self) -> &Path { Path::new("/work") }
/// #     fn path_variable(&self) -> Option<&OsStr> { None }
/// #     fn look(&self, path: &Path) -> Seen {
/// #         Seen::Inside { real: path.strip_prefix("/work").unwrap_or(path).to_owned(), kind: None }
/// #     }
/// #     fn is_program(&self, _: &Path) -> bool { false }
/// #     fn list(&self, _: &Path) -> Vec<Entry> { Vec::new() }
/// #     fn read(&self, _: &Path, _: u64) -> Option<Vec<u8>> { None }
/// #     fn head(&self, _: &Path, _: usize) -> Vec<u8> { Vec::new() }
/// # }
/// # let files = Nothing;
/// let argv = Argv::parse("env -S 'nice make -C lib'")?;
/// let reads = brigade_command::what_it_reads(&argv, Path::new("/work"), &files);
/// assert!(reads.code.contains(Path::new("/work/lib/Makefile")));
/// # Ok::<(), brigade_command::argv::InvalidCommand>(())
/// ```
pub fn what_it_reads(argv: &Argv, directory: &Path, files: &dyn Files) -> Reads {
    let mut reads = Reads::default();
    follow(argv.words(), directory, files, &mut reads);
    started::first_lines(directory, files, &mut reads);
    started::chosen_versions(directory, files, &mut reads);
    started::note_search_path(argv.words(), directory, files, &mut reads);
    reads.named.extend(&reads.looked_at - &reads.written);
    reads.chain.settle(files);
    // What something else names, too, is bound in any case.
    let is_named =
        |path: &PathBuf| [&reads.named, &reads.scripts, &reads.code].iter().any(|paths| paths.contains(path));
    reads.settings = reads.settings.iter().filter(|path| !is_named(path)).cloned().collect();
    reads.missing = missing_script(argv, directory, files);
    reads
}

/// Finds what the words after the `reviewed` ones of a command line choose to start by a text of the workspace, such as
/// a recipe of make. What the reviewed words start is left out.
pub fn what_arguments_start(argv: &Argv, reviewed: usize, directory: &Path, files: &dyn Files) -> Chain {
    let words = argv.words();
    let (entry, arguments) = words.split_at(reviewed.min(words.len()));
    let may_follow = |word: &String| {
        let is_of_workspace = |path: PathBuf| path.starts_with(files.root());
        reads_recipes(word)
            || Program::of(word).is_some_and(|known| known.row().finds == Finds::JavaScript)
            || started::find(word, directory, files).is_some_and(is_of_workspace)
    };
    if arguments.is_empty() || !entry.iter().any(may_follow) {
        return Chain::default();
    }
    let chain = |words: &[String], arguments: &[String]| {
        let mut reads = Reads::default();
        reads.chain.arguments = arguments.to_vec();
        follow(words, directory, files, &mut reads);
        started::first_lines(directory, files, &mut reads);
        reads.chain.settle(files);
        reads.chain
    };
    let known = chain(entry, &[]);
    let mut chosen = chain(words, arguments).told();
    chosen.starts.retain(|link| !known.starts.contains(link));
    chosen.files.retain(|path| !known.files.contains(path));
    chosen.environments.retain(|path| !known.environments.contains(path));
    chosen.finders.retain(|finder| !known.finders.contains(finder));
    chosen
}

/// Returns whether a word is a program that starts what a text of the workspace says, by names among its words.
fn reads_recipes(word: &str) -> bool {
    let finds = Program::of(word).map(|known| known.row().finds);
    finds.is_some_and(|finds| matches!(finds, Finds::Make | Finds::Just | Finds::Packages))
}

/// Returns whether a path means something else in each process.
fn is_of_a_process(path: &str) -> bool {
    let below = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    let below = below.and_then(|rest| {
        rest.split('/')
            .find(|part| !matches!(*part, "" | "task") && !part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    path.starts_with("/dev/fd/") && path != "/dev/fd/0"
        || below.is_some_and(|part| matches!(part, "cwd" | "exe" | "fd" | "root"))
}

/// Follows every command that a command line starts.
fn follow(words: &[String], directory: &Path, files: &dyn Files, reads: &mut Reads) {
    let starts = risk::starts(words);
    let mut places = moved::Places::new(directory, words);
    for (at, command) in starts.commands.iter().enumerate() {
        places.pass(command, files, reads);
        let own = script::own_directory(&command.words);
        for place in &places.folders {
            let finder = Finder::new(files, place.join(&command.directory).join(&own));
            finder.command(command, directory, reads);
            if at != 0 && !command.is_tail && command.words[0].contains('/') {
                reads.scripts.insert(finder.directory.join(&command.words[0]));
            }
            started::executed(&command.words, &finder.directory, files, reads);
        }
    }
    let written = |place: &PathBuf| starts.written.iter().map(|path| place.join(path)).collect::<Vec<_>>();
    reads.written.extend(places.folders.iter().flat_map(written));
    if starts.is_unread {
        reads.unbound.insert(NotBound::Option("--split-string"));
    }
}

struct Finder<'f> {
    files: &'f dyn Files,
    /// The working directory of the command.
    directory: PathBuf,
    /// Where Python finds installed modules, if they are in the workspace.
    packages: Vec<PathBuf>,
    /// The directory that this Python lies in.
    beside: Option<PathBuf>,
}

impl<'f> Finder<'f> {
    fn new(files: &'f dyn Files, directory: PathBuf) -> Finder<'f> {
        Finder { files, directory, packages: Vec::new(), beside: None }
    }
}

impl Finder<'_> {
    /// Finds the files of one command. `outer` is the working directory of the whole command line.
    fn command(&self, command: &Started, outer: &Path, reads: &mut Reads) {
        let is_shell = Program::of(&command.words[0]).is_some_and(|known| known.role() == Role::Shell);
        let script = script::script_of(&command.words);
        // Behind an option that is not known, each word may be the script.
        for word in
            command.words[1..].iter().filter(|word| is_shell && script.is_none_or(|it| it.word == **word))
        {
            self.note_shell_script(&self.directory.join(word), reads);
        }
        if let Some(script) = script {
            let path = self.directory.join(script.word);
            if let Some(known) = Program::of(&command.words[0]) {
                let options = |name| started::options_of_first_line(name, &path, self.files);
                match known.row().finds {
                    Finds::Perl => options("perl").into_iter().for_each(|it| self.perl(known, &it, reads)),
                    Finds::Ruby => options("ruby").into_iter().for_each(|it| self.ruby(known, &it, reads)),
                    _ => {}
                }
            }
            reads.scripts.insert(path);
        }
        let starts = command.words.first().filter(|program| program.contains('/'));
        let code = code_words(&command.words).into_iter().chain(starts.map(String::as_str));
        if code.into_iter().any(is_of_a_process) {
            reads.unbound.insert(NotBound::OfProcess);
        }
        self.note_finder(&command.words, reads);
        // Its words were covered with the command before it.
        if command.is_tail {
            return;
        }
        let mut directory = self.directory.clone();
        let mut is_launched = false;
        let mut may_be_program = true;
        let mut is_certain = command.standing != Standing::Guessed;
        for (at, word) in command.words.iter().enumerate() {
            let known = Program::of(word);
            if may_be_program && let Some(known) = known {
                // The first word of a command is noted above, and this may be the value of an option.
                if is_launched && known.interpreter().is_some() {
                    self.note_finder(&command.words[at..], reads);
                }
                let args = &command.words[at + 1..];
                let mut found = Reads::default();
                let mut finder = Finder::new(self.files, directory.clone());
                if installed::is_python(known) {
                    let program = started::find(word, &directory, self.files);
                    finder = finder.in_environment(program.as_deref(), &mut found);
                }
                finder.program(known, args, &mut found);
                if known.row().finds == Finds::DotCommands {
                    finder.database(word, known, args, &mut found);
                }
                reads.code.append(&mut found.code);
                reads.environments.append(&mut found.environments);
                reads.databases.append(&mut found.databases);
                reads.chain.append(found.chain);
                finder.chain(known, &command.words[..at], args, reads);
                is_launched |= known.role() == Role::Launcher;
                if is_certain {
                    reads.unbound.append(&mut found.unbound);
                }
                directory.push(risk::changed_directory(known, args));
                // A container has its own variables and directories.
                is_certain &= known.role() != Role::Container;
            }
            may_be_program = (may_be_program && at != 0) || known.is_some_and(Program::starts_others);
        }
        let directories = BTreeSet::from([outer, self.directory.as_path(), directory.as_path()]);
        let runs_code = command.words.iter().any(|word| Program::of(word).is_some_and(Program::runs_code));
        // A program of the workspace is not the one that its name says.
        let is_own = |word: &str| {
            started::find(word, &self.directory, self.files)
                .is_some_and(|path| started::is_of_workspace(&path, self.files))
        };
        let of_first = |test: &dyn Fn(&str) -> bool| command.words.first().is_some_and(|word| test(word));
        let is_unknown = of_first(&|word| Program::of(word).is_none() && (!only_looks(word) || is_own(word)));
        let only_looks = looks(command) && !of_first(&is_own);
        let mut outputs = outputs(&command.words);
        outputs.retain(|_, output| !is_own(output.program));
        let (mut behind_interpreter, mut behind_shell) = (false, false);
        // Programs in the language of awk and SQLite stand without an option, and name what they write.
        let mut behind_language = false;
        let of_code = LazyCell::new(|| risk::words_of_code(&command.words));
        let mut messages = messages(&command.words);
        if !messages.is_empty() && command.words.iter().any(|word| is_git(word) && is_own(word)) {
            messages.clear();
        }
        // The meaning of options does not matter: any file named after such a program may be its code.
        for (at, word) in command.words.iter().enumerate() {
            if messages.contains(&at) {
                continue;
            }
            if let Some(output) = outputs.get(&at) {
                reads.written.extend(directories.iter().map(|directory| directory.join(output.name)));
                continue;
            }
            // The program itself is bound separately.
            let found = match (runs_code && at != 0, only_looks && at != 0) {
                (true, _) => &mut reads.scripts,
                (false, true) => &mut reads.looked_at,
                (false, false) => &mut reads.named,
            };
            for name in names_in(word) {
                found.extend(directories.iter().map(|directory| directory.join(&*name)));
            }
            // Only the program that fills in a variable knows what stands behind it: `$(DIR)/x.sh`.
            if word.contains('$') {
                let parts = parts_of(word);
                let names = parts.iter().map(|part| part.trim_start_matches('/'));
                let paths = names.flat_map(|name| directories.iter().map(move |folder| folder.join(name)));
                found.extend(paths.filter(|path| self.is_file(path)));
            }
            // So may a part of it, also of a program that is not known.
            if at != 0 && (runs_code || is_unknown) {
                let is_text = is_unknown || behind_interpreter || word.contains(char::is_whitespace);
                let mut parts = parts_of(word);
                if behind_shell && of_code.iter().any(|words| words.contains(&at)) {
                    let written = only_written(word);
                    parts.retain(|part| !written.contains(&plain_path(Path::new(&**part))));
                }
                let paths =
                    directories.iter().flat_map(|folder| parts.iter().map(|part| folder.join(&**part)));
                // A text also says what is read and written; its code is what looks like code.
                found.extend(paths.filter(|path| !is_text || self.is_code(path)));
                if is_text && !behind_language {
                    let quoted = quoted_in(word);
                    let paths = directories
                        .iter()
                        .flat_map(|folder| quoted.iter().map(|part| folder.join(&**part)))
                        .filter(|path| self.is_file(path) && !self.is_code(path));
                    reads.settings.extend(paths.filter(|_| !of_code.iter().any(|words| words.contains(&at))));
                }
            }
            let known = Program::of(word);
            behind_shell |= known.is_some_and(|known| known.role() == Role::Shell);
            behind_interpreter |= known.is_some_and(|known| known.interpreter().is_some());
            behind_language |=
                known.is_some_and(|known| matches!(known.row().finds, Finds::Awk | Finds::DotCommands));
        }
        if command.words.first().is_some_and(|word| matches!(&*base_name(word), "ln" | "gln")) {
            self.targets_of_links(command, &directories, reads);
        }
        started::programs(&command.words, &self.directory, self.files, reads);
    }

    /// Binds the targets of links that `ln` makes: the text of a symbolic link is taken from where the link stands.
    /// What lies behind a link to a directory has other names there, and is noted.
    fn targets_of_links(&self, command: &Started, directories: &BTreeSet<&Path>, reads: &mut Reads) {
        let (mut targets, mut into) = (Vec::new(), long_values(&command.words, "--target-directory"));
        let mut words = command.words[1..].iter().map(String::as_str);
        while let Some(word) = words.next() {
            let bundle = word.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with('-'));
            match bundle.and_then(|bundle| bundle.split_once('t')) {
                Some((_, "")) => into.extend(words.next()),
                Some((_, folder)) => into.push(folder),
                None if word.starts_with('-') => {}
                None => targets.push(word),
            }
        }
        let last = if 1 < targets.len() && into.is_empty() { targets.pop() } else { None };
        for (target, folder) in
            targets.iter().flat_map(|target| directories.iter().map(move |it| (target, it)))
        {
            let link = folder.join(last.unwrap_or("."));
            let beside = link.parent().filter(|_| last.is_some()).unwrap_or(&link);
            // The target of a hard link is a file.
            let own = folder.join(target);
            reads.named.extend(Some(own).filter(|path| !self.is_folder(path)));
            let places = into.iter().map(|into| folder.join(into)).chain([link.clone(), beside.to_owned()]);
            for path in places.map(|place| place.join(target)) {
                if !self.is_folder(&path) {
                    reads.named.insert(self.inside(&path).map_or(path, |real| self.files.root().join(real)));
                } else if command.standing != Standing::Certain {
                    reads.chain.finders.insert("ln".to_owned());
                }
            }
        }
    }

    /// Finds the code of one program with its arguments.
    fn program(&self, known: Program, args: &[String], reads: &mut Reads) {
        let row = known.row();
        // Some files are also found in parent directories.
        for folder in self.upwards(&self.directory) {
            reads.code.extend(row.files.iter().map(|file| folder.join(file)));
        }
        if known.sets_variables() {
            self.environment(known, args, reads);
        }
        match row.finds {
            Finds::Nothing if known.name == "php" => self.php(known, args, reads),
            Finds::Build if known.name == "rake" => self.rake(known, args, reads),
            Finds::Nothing | Finds::Build => {}
            Finds::Python => self.python(known, args, reads),
            Finds::PythonTests => self.python_tests(args, reads),
            Finds::PythonCoverage => {
                if args.first().is_some_and(|word| word == "run") {
                    self.python_launched(&args[1..], reads);
                }
            }
            Finds::PythonPackages => self.python_packages(args, reads),
            Finds::JavaScript => self.javascript(known, args, reads),
            Finds::Packages => self.packages(known.name, args, reads),
            Finds::Make => self.make(known, args, reads),
            Finds::Just => self.just(known, args, reads),
            Finds::Awk => self.awk(known, args, reads),
            Finds::Perl => self.perl(known, args, reads),
            Finds::Ruby => self.ruby(known, args, reads),
            Finds::Lua => self.lua(known, args, reads),
            Finds::FoundFiles => found_files::find_runs(args, reads),
            Finds::GitCommands => {
                // Each `-C` counts from the one before.
                let moves = args.iter().zip(args.iter().skip(1)).filter(|(option, _)| *option == "-C");
                let directory = moves.fold(self.directory.clone(), |folder, (_, to)| folder.join(to));
                // Hooks of a template are those of what is cloned.
                let folders = ["--exec-path", "--template"].into_iter();
                let folders = folders.flat_map(|option| long_values(args, option));
                for folder in folders {
                    self.files_in(directory.join(folder), &|path| self.is_code(path), reads);
                }
                for folder in long_values(args, "--git-dir") {
                    self.git_directory(&directory.join(folder), reads);
                }
            }
            Finds::Parts => {
                for folder in script::names(row, args, true) {
                    self.files_in(self.directory.join(folder), &|_| true, reads);
                }
            }
            Finds::Go => self.go(row, args, reads),
            Finds::Compiler => self.compiler(known, args, reads),
            Finds::Loader => self.loader(args, reads),
            Finds::Java => self.java(args, reads),
            Finds::OptionFiles => {
                if args.iter().any(|word| word.starts_with('@')) {
                    reads.unbound.insert(NotBound::Option("@file"));
                }
            }
            Finds::Debugged => search::debugged(args, reads),
            Finds::DotCommands => self.dot_commands(args, reads),
        }
    }

    /// Records a directory whose files a program finds by their names; of the workspace itself, only those files
    /// directly in it that may be meant, and not what is below.
    fn files_in(&self, folder: PathBuf, may_be_meant: &dyn Fn(&Path) -> bool, reads: &mut Reads) {
        if self.is_root(&folder) {
            let files = self.files.list(&folder).into_iter();
            let files = files.filter(|entry| matches!(entry.kind, Kind::File | Kind::Link));
            let paths = files.map(|entry| folder.join(entry.name));
            reads.code.extend(paths.filter(|path| may_be_meant(path)));
        }
        reads.code.insert(folder);
    }

    fn is_root(&self, folder: &Path) -> bool {
        self.inside(folder).is_some_and(|real| real.file_name().is_none())
    }

    /// Finds the settings and hooks of a directory of git, which start programs: where a file in its place leads, and
    /// what it shares with others.
    fn git_directory(&self, named: &Path, reads: &mut Reads) {
        let line = |path: &Path| {
            let bytes = self.files.read(path, 4 << 10)?;
            Some(String::from_utf8(bytes).ok()?.lines().next()?.trim().to_owned())
        };
        reads.code.insert(named.to_owned());
        let leads_to =
            line(named).and_then(|line| line.strip_prefix("gitdir:").map(|to| to.trim().to_owned()));
        let folder = match leads_to {
            Some(to) => named.parent().unwrap_or(named).join(to),
            None => {
                reads.code.remove(named);
                named.to_owned()
            }
        };
        let common = line(&folder.join("commondir")).map(|to| folder.join(to));
        for folder in [Some(folder), common].into_iter().flatten() {
            let parts = ["config", "config.worktree", "hooks", "info/attributes", "commondir"];
            reads.code.extend(parts.map(|part| folder.join(part)));
        }
    }

    /// Lists files below a directory with these extensions. Skips hidden directories, environments and installed
    /// packages. Follows a link to a directory of the workspace once.
    fn tree(&self, folder: &Path, ends: &[&str], reads: &mut Reads) {
        let Some(start) = self.inside(folder) else { return };
        let mut files = BTreeSet::new();
        let mut seen = BTreeSet::from([start.clone()]);
        let mut folders = vec![start.clone()];
        while let Some(real) = folders.pop() {
            let folder = self.files.root().join(&real);
            let entries = self.files.list(&folder);
            if real != start && entries.iter().any(|entry| entry.name == "pyvenv.cfg") {
                continue;
            }
            for entry in entries {
                let path = folder.join(&entry.name);
                let is_left_out = entry.name.starts_with('.') || entry.name == "node_modules";
                let linked = if entry.kind == Kind::Link { Some(self.files.look(&path)) } else { None };
                let below = match (&entry.kind, linked) {
                    (Kind::Folder, _) => Some(real.join(&entry.name)),
                    (_, Some(Seen::Inside { real, kind: Some(Kind::Folder) })) => Some(real),
                    (_, Some(Seen::Outside(Some(Kind::Folder)))) if !is_left_out => {
                        reads.unbound.insert(NotBound::link(&real.join(&entry.name)));
                        None
                    }
                    (Kind::File | Kind::Link, _) if ends.iter().any(|end| entry.name.ends_with(end)) => {
                        files.insert(path);
                        None
                    }
                    (Kind::File | Kind::Link | Kind::Other, _) => None,
                };
                let is_state =
                    |path: &Path| path.iter().any(|part| LEFT_OUT.iter().any(|name| part == *name));
                if let Some(below) = below
                    && !is_left_out
                    && !is_state(&below)
                    && seen.insert(below.clone())
                {
                    folders.push(below);
                }
            }
            let is_too_deep = || folders.last().is_some_and(|below| DEEPEST < below.iter().count());
            if MOST_FOLDERS < seen.len() || MOST_TESTS < files.len() || is_too_deep() {
                reads.unbound.insert(NotBound::Folder(shown(&start)));
                return;
            }
        }
        reads.code.extend(files);
    }

    /// Lists a directory and its parents, up to the workspace root.
    fn upwards<'p>(&self, folder: &'p Path) -> impl Iterator<Item = &'p Path> {
        folder.ancestors().take_while(|folder| self.inside(folder).is_some())
    }

    fn is_folder(&self, path: &Path) -> bool {
        match self.files.look(path) {
            Seen::Inside { kind, .. } | Seen::Outside(kind) => kind == Some(Kind::Folder),
            Seen::Nowhere => false,
        }
    }

    /// Tells whether a path leads to a file of code, by its name, its mode or its first line.
    fn is_code(&self, path: &Path) -> bool {
        path.to_str().is_some_and(is_code_name)
            || self.files.is_program(path)
            || self.files.head(path, 2) == b"#!"
    }

    fn is_file(&self, path: &Path) -> bool {
        matches!(self.files.look(path), Seen::Inside { kind: Some(Kind::File), .. })
    }

    /// Tells whether the path leads to something in the workspace.
    fn is_there(&self, path: &Path) -> bool {
        matches!(self.files.look(path), Seen::Inside { kind: Some(_), .. })
    }

    /// Returns the target of a path, relative to the workspace.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        match self.files.look(path) {
            Seen::Inside { real, .. } => Some(real),
            Seen::Outside(_) | Seen::Nowhere => None,
        }
    }
}

/// Formats a workspace path; the root is `.`.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests;
