//! Finds code directories in options of Perl, Ruby and compilers.

use std::collections::BTreeSet;
use std::path::Path;

use super::chain::TEXT_LIMIT;
use super::words::parts_of;
use super::{Finder, NotBound, Reads, Seen, script, started};
use crate::argv::Argv;
use crate::programs::{Finds, Program, Row, SQLITE_VALUED, long_values, short_values};
use crate::risk::{self, Started};

/// The maximum size of a file with options of a compiler, in bytes.
const MAX_OPTIONS: u64 = 64 << 10;

/// How many such files are read.
const MAX_OPTION_FILES: usize = 16;

/// How many libraries of awk are followed.
const MOST_LIBRARIES: usize = 64;

/// Options of Java that say where classes are.
const CLASS_PATHS: [&str; 4] = ["-cp", "-classpath", "--class-path", "-Djava.class.path"];

/// Finds options of gdb that make it take files from elsewhere: other directories, and commands that go there.
pub(super) fn debugged(args: &[String], reads: &mut Reads) {
    let moves = |word: &String| {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or_default();
        let name = name.split('=').next().unwrap_or_default();
        name == "cd" || name == "d" || (2 < name.len() && "directory".starts_with(name))
    };
    let goes = |word: &String| {
        let command =
            word.split_once('=').filter(|_| word.starts_with('-')).map_or(word.as_str(), |(_, text)| text);
        command.trim_start().starts_with("cd ")
    };
    if args.iter().any(|word| moves(word) || goes(word)) {
        reads.unbound.insert(NotBound::Option("-cd"));
    }
}

/// How a database of SQLite begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// The word of sqlite3 that loads a library, in SQL.
const LOADS_LIBRARY: &str = "load_extension";

/// Returns whether a word behind sqlite3 may name a script or a library: a command with a dot, or SQL that loads one.
pub(super) fn is_dot_command(word: &str) -> bool {
    word.lines().any(|line| line.trim_start().starts_with('.'))
        || word.to_ascii_lowercase().contains(LOADS_LIBRARY)
}

/// Returns whether these options keep SQLite from running anything. It reads them in order, and settings before all.
fn is_safe(args: &[String]) -> bool {
    let name = |word: &str| word.strip_prefix('-').map(|rest| rest.trim_start_matches('-').to_owned());
    let is_one_of =
        |word: &str, names: &[&str]| name(word).is_some_and(|name| names.contains(&name.as_str()));
    let Some(at) = args.iter().position(|word| is_one_of(word, &["safe"])) else { return false };
    args[..at].iter().all(|word| word.starts_with('-') && !SQLITE_VALUED.contains(&word.as_str()))
        && !args.iter().any(|word| is_one_of(word, &["init", "nonce"]))
}

/// Returns of a command that starts SQLite whether that was told to run nothing of its database; `None` if it starts
/// none.
///
/// ```
/// use brigade_command::keeps_databases;
///
/// let keeps = |command: &str| keeps_databases(&command.split(' ').map(str::to_owned).collect::<Vec<_>>());
/// assert_eq!(keeps("timeout 5 sqlite3 -safe x.db"), Some(true));
/// assert_eq!((keeps("sqlite3 x.db"), keeps("python3 x.db")), (Some(false), None));
/// ```
pub fn keeps_databases(words: &[String]) -> Option<bool> {
    let of_command = |command: &Started| {
        let (program, args) = command.words.split_first()?;
        let is_one = Program::of(program).is_some_and(|known| known.row().finds == Finds::DotCommands);
        is_one.then(|| is_safe(args))
    };
    risk::started(words).iter().filter_map(of_command).reduce(|all, one| all && one)
}

/// Tells whether SQLite takes a character for a blank.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// Splits a command with a dot as SQLite does: at blanks, and by quotes at the beginning of a word.
fn dot_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = command.trim_start_matches(is_blank);
    while let Some(first) = rest.chars().next() {
        let is_quoted = matches!(first, '\'' | '"');
        let text = if is_quoted { &rest[1..] } else { rest };
        let ends = |c: char| if is_quoted { c == first } else { is_blank(c) };
        let (word, behind) = text.split_at(text.find(ends).unwrap_or(text.len()));
        words.push(word);
        rest =
            behind.strip_prefix(first).filter(|_| is_quoted).unwrap_or(behind).trim_start_matches(is_blank);
    }
    words
}

impl Finder<'_> {
    /// Finds the scripts and libraries in commands such as `.read FILE` of sqlite3, whose names may be cut short.
    pub(super) fn dot_commands(&self, args: &[String], reads: &mut Reads) {
        let mut directory = self.directory.clone();
        // A word that begins with a dot is one command, however many lines it has.
        let whole =
            args.iter().filter(|word| word.starts_with('.') && word.contains('\n')).map(String::as_str);
        for line in args.iter().flat_map(|word| word.lines()).chain(whole) {
            let Some(command) = line.trim_start_matches(is_blank).strip_prefix('.') else { continue };
            let mut words = dot_words(command).into_iter();
            let name = words.next().unwrap_or_default();
            let is_one = |full: &str, least: usize| least <= name.len() && full.starts_with(name);
            if is_one("cd", 2) {
                directory.extend(words.next());
            } else if is_one("read", 3) {
                reads.code.extend(words.map(|path| directory.join(path)));
            } else if is_one("load", 1) {
                // SQLite tries the name as it is, and then with the ending of libraries.
                let names =
                    words.flat_map(|path| ["", ".so", ".dylib", ".dll"].map(|end| format!("{path}{end}")));
                reads.code.extend(names.map(|path| directory.join(path)));
            } else {
                continue;
            }
            // In double quotes, only SQLite can tell what stands behind a backslash.
            if command.contains('"') && command.contains('\\') {
                reads.unbound.insert(NotBound::Option(".read"));
            }
        }
        if args.iter().any(|word| word.to_ascii_lowercase().contains(LOADS_LIBRARY)) {
            reads.unbound.insert(NotBound::Option(LOADS_LIBRARY));
        }
        // Other databases: `.open x.db`, `attach 'x.db'`.
        let named = args.iter().flat_map(|word| parts_of(word)).map(|part| directory.join(&*part));
        reads.code.extend(named.filter(|path| self.files.head(path, DATABASE.len()) == DATABASE));
    }

    /// Notes the file of a database of which SQLite runs nothing: the program is that of the system, its first option
    /// makes it refuse to run anything (`-safe`), and nothing is told to it before or in spite of that.
    pub(super) fn database(&self, program: &str, known: Program, args: &[String], reads: &mut Reads) {
        let is_of_system = !program.contains('/')
            && started::find(program, &self.directory, self.files)
                .is_some_and(|path| !started::is_of_workspace(&path, self.files));
        let database = script::names(known.row(), args, true).into_iter().next();
        let database = database.map(|path| self.directory.join(path));
        if is_of_system && is_safe(args) {
            reads.databases.extend(database.filter(|path| !self.is_code(path)));
        } else {
            // Bound in any case, whatever else opens it.
            reads.code.extend(database);
        }
    }

    /// Finds the directories in `-I` and `-Mlib=` of Perl, and the modules in `-M`.
    pub(super) fn perl(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        // The system passes on all options of a first line as one word, which perl reads as several.
        let parts = |word: &String| {
            let parts: Vec<String> = word.split_whitespace().map(str::to_owned).collect();
            let is_options = parts.first().is_some_and(|first| {
                first.starts_with('-') && !first.starts_with("-I") && !first.contains(['M', 'm', 'e', 'E'])
                    || first == "-I"
            }) || parts.iter().all(|part| part.starts_with('-'));
            if is_options { parts } else { vec![word.clone()] }
        };
        let args: Vec<String> = args.iter().flat_map(parts).collect();
        let args = &args[..];
        let mut folders = short_values(spelling, args, 'I');
        let mut modules = Vec::new();
        for word in ['M', 'm'].into_iter().flat_map(|option| short_values(spelling, args, option)) {
            // `lib=a,b`, `lib qw(a b)`, `if=1,lib,a`, `-strict`.
            let text = word.trim_start_matches('-');
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c));
            let (module, list) = text.split_at(end.unwrap_or(text.len()));
            let Some(list) = perl_list(list) else {
                reads.unbound.insert(NotBound::Option("-M"));
                continue;
            };
            // Some modules load those in their list.
            let names: Vec<&str> = std::iter::once(module).chain(list).collect();
            modules.extend(names.iter().map(|name| format!("{}.pm", name.replace("::", "/"))));
            if names.iter().any(|name| matches!(*name, "lib" | "blib")) {
                folders.extend(names);
            }
        }
        let debuggers = short_values(spelling, args, 'd').into_iter();
        modules.extend(debuggers.filter_map(|name| name.split_once(':')).map(|(_, name)| {
            let name = name.split('=').next().unwrap_or(name);
            format!("Devel/{}.pm", name.replace("::", "/"))
        }));
        // Perl takes a compiled module before its source.
        let compiled: Vec<String> = modules.iter().map(|module| format!("{module}c")).collect();
        modules.extend(compiled);
        self.search(&folders, &modules, reads);
    }

    /// Finds the package that `go run` builds: its directory, also by its import path in the own module.
    pub(super) fn go(&self, row: &Row, args: &[String], reads: &mut Reads) {
        let (moves, rest) = match args {
            [option, folder, rest @ ..] if option == "-C" => (Some(folder.as_str()), rest),
            [option, rest @ ..] if option.starts_with("-C=") => (Some(&option[3..]), rest),
            _ => (None, args),
        };
        let Some(args) = rest.split_first().filter(|(verb, _)| *verb == "run").map(|(_, args)| args) else {
            return;
        };
        // The directory may also stand behind the verb.
        let behind = args.windows(2).find(|pair| pair[0] == "-C").map(|pair| pair[1].as_str());
        let behind = behind.or_else(|| args.first().and_then(|word| word.strip_prefix("-C=")));
        let mut directory = self.directory.clone();
        directory.extend(moves.or(behind));
        let settings = directory.join("go.mod");
        let operands = script::names(row, args, true).into_iter().filter(|word| Some(*word) != behind);
        if let Some(operand) = operands.into_iter().next() {
            let text = self.files.read(&settings, MAX_OPTIONS).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let module = text.lines().find_map(|line| line.trim().strip_prefix("module ")).map(str::trim);
            let module = module.map(|name| name.trim_matches('"'));
            let own = module.and_then(|module| operand.strip_prefix(module));
            let own = own.filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let folder = own.map_or(operand, |rest| rest.trim_start_matches('/'));
            let is_meant = |path: &Path| path.extension().is_some_and(|end| end == "go");
            self.files_in(directory.join(folder), &is_meant, reads);
        }
        reads.code.insert(settings);
    }

    /// Finds the directories in `-I` of Ruby, and the files in `-r`.
    pub(super) fn ruby(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        let folders = short_values(spelling, args, 'I');
        let folders: Vec<&str> = folders.into_iter().flat_map(|list| list.split(':')).collect();
        let required = short_values(spelling, args, 'r').into_iter().chain(long_values(args, "--require"));
        let required: Vec<String> =
            required.flat_map(|name| [".rb", ".so"].map(|end| format!("{name}{end}"))).collect();
        reads.code.extend(required.iter().map(|name| self.directory.join(name)));
        self.search(&folders, &required, reads);
    }

    /// Finds the files in `-r` of rake, and its directories of further tasks: those of `-R`, or `rakelib`.
    pub(super) fn rake(&self, known: Program, args: &[String], reads: &mut Reads) {
        let values = |option: char, long: &str| {
            let mut found = long_values(args, long);
            found.extend(short_values(&known.row().spelling, args, option));
            found
        };
        let required = values('r', "--require").into_iter();
        let required = required.flat_map(|name| [".rb", ".so", ""].map(|end| format!("{name}{end}")));
        reads.code.extend(required.map(|name| self.directory.join(name)));
        let folders = values('R', "--rakelibdir").into_iter().flat_map(|list| list.split(':'));
        reads.code.extend(folders.chain(["rakelib"]).map(|folder| self.directory.join(folder)));
    }

    /// Finds the settings of PHP in the directory that `-c` names; they name code.
    pub(super) fn php(&self, known: Program, args: &[String], reads: &mut Reads) {
        let folders = short_values(&known.row().spelling, args, 'c').into_iter();
        for folder in folders.chain(long_values(args, "--php-ini")) {
            let names = ["php.ini", "php-cli.ini"].map(|name| self.directory.join(folder).join(name));
            reads.code.extend(names);
        }
    }

    /// Finds the modules in `-l` of Lua, and those in `-j` of LuaJIT.
    pub(super) fn lua(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        // `-l name=module`, and `-j module=arguments`.
        let modules = short_values(spelling, args, 'l').into_iter();
        let modules = modules.map(|name| name.split_once('=').map_or(name, |(_, module)| module));
        // A library can hold all modules below its name.
        let roots = modules.clone().filter_map(|module| module.split_once('.')).map(|(root, _)| root);
        reads.code.extend(roots.map(|root| self.directory.join(format!("./{root}.so"))));
        let modules = modules.map(|module| module.replace('.', "/"));
        let own = short_values(spelling, args, 'j').into_iter();
        let own = own.map(|name| format!("jit/{}", name.split('=').next().unwrap_or(name)));
        for module in modules.chain(own) {
            // `./x` becomes `//x`, and stands behind `./`.
            let module = module.trim_start_matches('/');
            let files = [".lua", "/init.lua", ".so"].map(|end| self.directory.join(format!("{module}{end}")));
            reads.code.extend(files);
        }
    }

    /// Finds the libraries of awk, whose names may lack the extension.
    pub(super) fn awk(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        let short = ['f', 'i'].into_iter().flat_map(|option| short_values(spelling, args, option));
        let long = ["--file", "--include"].into_iter().flat_map(|option| long_values(args, option));
        let mut waiting: Vec<String> = short.chain(long).map(str::to_owned).collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop().filter(|_| seen.len() < MOST_LIBRARIES) {
            for path in ["", ".awk"].map(|end| self.directory.join(format!("{name}{end}"))) {
                // `@include "file"` loads another one.
                let text = self.files.read(&path, TEXT_LIMIT);
                if text.is_none() && self.is_any(&path) {
                    reads.chain.finders.insert(self.shown(&path));
                }
                let text = text.unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let loads = text.lines().filter_map(|line| {
                    let rest = line.trim_start().strip_prefix("@include")?;
                    rest.split('"').nth(1).map(str::to_owned)
                });
                waiting.extend(loads.filter(|name| seen.insert(name.clone())));
                reads.code.insert(path);
            }
        }
    }

    fn search(&self, folders: &[&str], files: &[String], reads: &mut Reads) {
        for folder in folders.iter().map(|folder| self.directory.join(folder)) {
            reads.code.extend(files.iter().map(|file| folder.join(file)));
            reads.code.insert(folder);
        }
    }

    /// Finds the libraries that the loader of programs gets by options.
    pub(super) fn loader(&self, args: &[String], reads: &mut Reads) {
        let parts = |name, separators: &'static [char]| {
            long_values(args, name).into_iter().flat_map(move |list| list.split(separators))
        };
        let listed = parts("--preload", &[':', ' ']).chain(parts("--audit", &[':']));
        let listed = listed.chain(parts("--library-path", &[':', ';']));
        reads.code.extend(listed.filter(|path| !path.is_empty()).map(|path| self.directory.join(path)));
    }

    /// Finds the directories, archives and libraries that options of Java name.
    pub(super) fn java(&self, args: &[String], reads: &mut Reads) {
        let lists = ["-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path"];
        let behind =
            ["-Xbootclasspath/a:", "-Xbootclasspath:", "-javaagent:", "-agentpath:", "-Djava.class.path="];
        let names_path = args.iter().any(|word| {
            word == "-jar"
                || word.ends_with(".java")
                || CLASS_PATHS.iter().any(|option| word == option || word.starts_with(&format!("{option}=")))
        });
        if !names_path && args.iter().any(|word| !word.starts_with(['-', '@'])) {
            self.tree(&self.directory, &[".class"], reads);
        }
        for (at, word) in args.iter().enumerate() {
            let own = lists.iter().any(|option| word == option).then(|| args.get(at + 1).map(String::as_str));
            let attached = lists.iter().find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
            let agent = behind.iter().find_map(|option| word.strip_prefix(option));
            let found = own.flatten().or(attached).or(agent.and_then(|list| list.split('=').next()));
            // An empty part of a list is the directory itself.
            for path in found.into_iter().flat_map(|list| list.split(':')) {
                if path.is_empty() {
                    self.tree(&self.directory, &[".class"], reads);
                    continue;
                }
                // `l/*` is every archive of the directory.
                let folder = self.directory.join(path.strip_suffix('*').unwrap_or(path));
                // Of the workspace itself, its classes and archives.
                if self.is_root(&folder) {
                    self.tree(&folder, &[".class", ".jar"], reads);
                }
                reads.code.insert(folder);
            }
            if word.starts_with('@') {
                reads.unbound.insert(NotBound::Option("@file"));
            }
            if word.starts_with("--patch-module") {
                reads.unbound.insert(NotBound::Option("--patch-module"));
            }
        }
    }

    /// Finds the directories where options tell a compiler to find its programs, also options in files.
    pub(super) fn compiler(&self, known: Program, args: &[String], reads: &mut Reads) {
        let mut words = args.to_vec();
        let mut files = 0;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let Some(file) = word.strip_prefix('@') else {
                at += 1;
                continue;
            };
            let path = self.directory.join(file);
            let text = self.files.read(&path, MAX_OPTIONS).and_then(|bytes| String::from_utf8(bytes).ok());
            files += 1;
            match text.and_then(|text| Argv::parse(&text).ok()).filter(|_| files <= MAX_OPTION_FILES) {
                Some(options) => {
                    // Any of them may name a file of code.
                    let names = options.words().iter().flat_map(|word| word.split(['=', ',']));
                    let names = names.filter(|name| !name.starts_with(['-', '@']) && name.contains('/'));
                    reads.code.extend(names.map(|name| self.directory.join(name)));
                    words.splice(at..=at, options.words().iter().cloned());
                }
                None => {
                    if !matches!(
                        self.files.look(&path),
                        Seen::Inside { kind: None, .. } | Seen::Outside(None)
                    ) {
                        reads.unbound.insert(NotBound::Option("@file"));
                    }
                    at += 1;
                }
            }
            reads.code.insert(path);
        }
        let args = &words;
        let folders = short_values(&known.row().spelling, args, 'B').into_iter();
        for folder in folders.chain(long_values(args, "--prefix")) {
            let path = self.directory.join(folder);
            // It is what names of programs begin with: without a directory of that name, any file beside it may do.
            if !folder.ends_with('/') && !self.is_folder(&path) {
                reads.unbound.insert(NotBound::Option("-B"));
            }
            self.files_in(path, &|path| self.is_code(path), reads);
        }
        let plugins = args.iter().filter_map(|word| word.trim_start_matches('-').strip_prefix("iplugindir="));
        reads.code.extend(plugins.map(|folder| self.directory.join(folder)));
        // What the compiler hands to the assembler, the preprocessor and the linker.
        for word in args {
            let handed = ["-Wl,", "-Wa,", "-Wp,"].into_iter().find_map(|option| word.strip_prefix(option));
            let parts = handed.into_iter().flat_map(|list| list.split([',', '=']));
            if parts.clone().any(|part| part.starts_with('@')) {
                reads.unbound.insert(NotBound::Option("@file"));
            }
            let paths = parts.filter(|part| !part.is_empty() && !part.starts_with('-'));
            let paths = paths.map(|path| self.directory.join(path));
            reads.code.extend(paths.filter(|path| !self.is_folder(path)));
        }
        if args.iter().any(|word| word == "-wrapper") {
            reads.unbound.insert(NotBound::Option("-wrapper"));
        }
    }
}

/// Returns the words of the list after a module in `-M` of Perl; `None` if only Perl can tell them.
fn perl_list(text: &str) -> Option<Vec<&str>> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_:./@+-".contains(c));
    // `=a,b` is `split(/,/, q{a,b})`.
    if let Some(list) = text.strip_prefix('=') {
        return list.split(',').map(|word| Some(word).filter(|word| is_plain(word))).collect();
    }
    let text = text.trim();
    if let Some(list) = text.strip_prefix("qw").map(str::trim_start) {
        let list = [("(", ")"), ("[", "]")]
            .into_iter()
            .find_map(|(open, close)| list.strip_prefix(open)?.strip_suffix(close))?;
        return list.split_whitespace().map(|word| Some(word).filter(|word| is_plain(word))).collect();
    }
    let list = text.strip_prefix('(').and_then(|list| list.strip_suffix(')')).unwrap_or(text).trim();
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let inner =
                ["'", "\""].into_iter().find_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote));
            // A number, as the version that a module must have.
            let inner = inner.or(Some(word).filter(|word| word.starts_with(|c: char| c.is_ascii_digit())));
            inner.filter(|inner| is_plain(inner))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_with_a_dot_may_have_quotes() {
        let check = |command: &str, expect: &[&str]| assert_eq!(dot_words(command), expect, "{command}");
        check("read d/q", &["read", "d/q"]);
        check("  read  \"d/q q\"  'a b'", &["read", "d/q q", "a b"]);
        check("load it's", &["load", "it's"]);
        check("read \"open", &["read", "open"]);
        check("read \"é\"x ''", &["read", "é", "x", ""]);
        check("", &[]);
    }
}
