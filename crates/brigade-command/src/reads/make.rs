//! Finds the files of make and just, and follows their recipes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use brigade_core::Glob;

use super::chain::{Chain, Link, TEXT_LIMIT, programs_of, starts_unnamed};
use super::recipes::{Language, Recipes, plain_name};
use super::script::OF_MAKE;
use super::values::Values;
use super::words::{names_in, parts_of};
use super::{Finder, Kind, NotBound, Reads, Seen, filled};
use crate::programs::{JUSTFILES, Program, is_code_name, long_values, short_values};
use crate::risk::sets_variable;
use crate::variables::names_code;

/// How many files of recipes are read, and from how many directories they are followed.
const MOST_FILES: usize = 32;
const MOST_DIRECTORIES: usize = 16;

/// Options of just that change neither which file and directory it takes, nor what runs the recipes.
const PLAIN_OPTIONS: &[&str] = &[
    "--color",
    "--command-color",
    "--dry-run",
    "--explain",
    "--highlight",
    "--jobs",
    "--list",
    "--no-deps",
    "--no-highlight",
    "--one",
    "--quiet",
    "--time",
    "--timestamp",
    "--unsorted",
    "--unstable",
    "--verbose",
    "--yes",
    "-l",
    "-n",
    "-q",
    "-u",
    "-v",
    "-vv",
];

/// Ends of files of code that builds make and read, and nothing else executes.
pub(super) const OBJECTS: &[&str] = &[".a", ".class", ".d", ".h", ".lo", ".o", ".pyc", ".rlib"];

/// Ends of files from which make makes those without them by its own rules. It does so with makefiles, too.
const MAKES: [&str; 13] = [".C", ".S", ".c", ".cc", ".cpp", ".f", ".l", ".m", ".p", ".r", ".s", ".sh", ".y"];

/// Files of recipes, and what is asked of them.
struct Asked<'a> {
    language: Language,
    files: Vec<PathBuf>,
    recipes: Vec<&'a str>,
    /// Where the recipes may run. The first is the likely one.
    directories: Vec<PathBuf>,
    /// The words among them that are arguments of a call.
    arguments: &'a [String],
    /// The words that set variables.
    set: &'a [String],
    /// Whether no option and no variable changes what runs, and where.
    is_plain: bool,
}

/// Returns the words of make and just with what `env` sets for them before: `JUST_JUSTFILE=x` is `--justfile=x`.
pub(super) fn with_variables(known: Program, before: &[String], args: &[String]) -> Vec<String> {
    let is_just = known.row().finds == crate::programs::Finds::Just;
    let option = |word: &String| {
        let (name, value) = word.split_once('=').filter(|_| sets_variable(word))?;
        match name.strip_prefix("JUST_") {
            Some(name) if is_just => {
                Some(format!("--{}={value}", name.to_ascii_lowercase().replace('_', "-")))
            }
            _ if !is_just && name == "MAKEFILES" => Some(format!("--file={value}")),
            _ => Some(word.clone()),
        }
    };
    before.iter().filter_map(option).chain(args.iter().cloned()).collect()
}

impl Finder<'_> {
    /// Reads the options of make: working directories, makefiles, and directories of included files.
    pub(super) fn make(&self, known: Program, args: &[String], reads: &mut Reads) {
        let directory = self.make_directory(known, args);
        let mut names = vec!["GNUmakefile", "makefile", "Makefile"];
        names.extend(values(known, args, &['f'], &["--file", "--makefile"]));
        names.extend(values(known, args, &['I'], &["--include-dir"]));
        reads.code.extend(names.into_iter().map(|name| directory.join(name)));
        for (name, value) in args.iter().filter_map(|word| word.split_once('=')) {
            self.words_of_value(value, reads);
            if !name.starts_with('-') {
                self.make_variable(
                    name.trim_end_matches([':', '+', '?', '!']).trim(),
                    value,
                    &directory,
                    reads,
                );
            }
        }
    }

    fn make_directory(&self, known: Program, args: &[String]) -> PathBuf {
        let mut directory = self.directory.clone();
        directory.extend(values(known, args, &['C'], &["--directory"]));
        directory
    }

    /// Follows the program in a variable of make as recipes use it: as the beginning of a line for a shell.
    pub(super) fn make_variable(&self, name: &str, value: &str, directory: &Path, reads: &mut Reads) {
        if !OF_MAKE.contains(&name) {
            return;
        }
        if value.contains(['$', '`', '*', '?', '[']) {
            reads.unbound.insert(NotBound::Variable(name.to_owned()));
        } else {
            let command = value.trim_start_matches(['@', '-', '+', ' ']).to_owned();
            let link = Link { by: name.to_owned(), command };
            let mut chain = Chain::default();
            chain.follow(link, true, directory, self.files);
            chain.settle(self.files);
            reads.code.extend(chain.files);
        }
    }

    /// Reads the options of just, and recipes of another directory such as `sub/build`.
    pub(super) fn just(&self, known: Program, args: &[String], reads: &mut Reads) {
        let folders = values(known, args, &['d'], &["--working-directory"]).into_iter();
        let words = args.iter().filter(|word| !word.starts_with('-'));
        let named = words.filter_map(|word| word.rsplit_once('/')).map(|(folder, _)| folder);
        for folder in folders.chain(named) {
            reads.code.extend(JUSTFILES.iter().map(|name| self.directory.join(folder).join(name)));
        }
        let files = values(known, args, &['f'], &["--justfile"]).into_iter();
        reads.code.extend(files.map(|file| self.directory.join(file)));
    }

    /// Follows the recipes that make runs.
    pub(super) fn recipes_of_make(&self, known: Program, args: &[String], reads: &mut Reads) {
        let directory = self.make_directory(known, args);
        let mut files: Vec<PathBuf> = Vec::new();
        for named in values(known, args, &['f'], &["--file", "--makefile"]) {
            files.extend(named.split_whitespace().map(|file| directory.join(file)));
        }
        let named = files.len();
        // `MAKEFILES` is read besides the usual file.
        if named == 0 || args.iter().any(|word| word.starts_with("--file=")) {
            let usual = ["GNUmakefile", "makefile", "Makefile"].map(|name| directory.join(name));
            files.extend(usual.into_iter().find(|file| self.is_any(file)));
        }
        let mut directories = vec![directory.clone()];
        directories.extend(
            values(known, args, &['I'], &["--include-dir"]).into_iter().map(|folder| directory.join(folder)),
        );
        let recipes = operands(args).map(plain_name).collect();
        // What the words set is passed on to the recipes.
        let changes_code = |word: &String| {
            let set = word.split_once('=').filter(|(name, _)| !name.starts_with('-'));
            set.is_some_and(|(name, value)| {
                let name = name.trim_end_matches([':', '+', '?', '!']);
                name != "SHELL" && names_code(name, value)
            })
        };
        let is_plain = files.len() < 2 && directories.len() < 2 && !args.iter().any(changes_code);
        let arguments = &reads.chain.arguments_of(args);
        let set = args;
        let asked = Asked { language: Language::Make, files, recipes, directories, arguments, set, is_plain };
        self.follow_recipes(asked, reads);
    }

    /// Follows the recipes that just runs.
    ///
    /// If an option is not plain, any word behind just may name the file or the directory.
    pub(super) fn recipes_of_just(&self, args: &[String], reads: &mut Reads) {
        let is_option = |word: &&String| 1 < word.len() && word.starts_with('-');
        let mut options = args.iter().filter(is_option);
        let is_plain = options.all(|option| {
            PLAIN_OPTIONS.contains(&option.split('=').next().unwrap_or(option)) || option == "--"
        });
        let arguments = &reads.chain.arguments_of(args);
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        if !is_plain {
            let words: BTreeSet<_> =
                args.iter().flat_map(|word| names_in(word).into_iter().chain(parts_of(word))).collect();
            for word in &words {
                let path = self.directory.join(&**word);
                if self.is_folder(&path) {
                    directories.push(path);
                    continue;
                }
                // A name of a file is looked for in each directory up to the workspace.
                let found = self.upwards(&self.directory).map(|folder| folder.join(&**word));
                files.extend(found.filter(|path| self.is_any(path)));
            }
        }
        let starts: Vec<PathBuf> =
            std::iter::once(self.directory.clone()).chain(directories.iter().cloned()).collect();
        let mut found_all = true;
        for start in starts {
            found_all &= self.justfile_above(
                &start,
                operands(args).collect(),
                is_plain,
                &directories,
                (args, arguments),
                reads,
            );
        }
        // `sub/build` is the recipe `build` of another directory.
        for (folder, recipe) in operands(args).filter_map(|word| word.rsplit_once('/')) {
            let start = self.directory.join(folder);
            self.justfile_above(&start, vec![recipe], is_plain, &directories, (args, arguments), reads);
        }
        if !files.is_empty() {
            let own = files.iter().filter_map(|file| file.parent()).map(Path::to_owned);
            directories.splice(0..0, own.chain([self.directory.clone()]));
            let recipes = operands(args).collect();
            let set = args;
            let asked =
                Asked { language: Language::Just, files, recipes, directories, arguments, set, is_plain };
            self.follow_recipes(asked, reads);
        } else if !is_plain && !found_all {
            reads.chain.finders.insert("just".to_owned());
        }
    }

    /// Follows the recipes of the first justfile in a directory or above it, and of those above that one if it may go
    /// on there. Returns whether there is one.
    fn justfile_above(
        &self,
        start: &Path,
        recipes: Vec<&str>,
        is_plain: bool,
        others: &[PathBuf],
        (set, arguments): (&[String], &[String]),
        reads: &mut Reads,
    ) -> bool {
        let mut is_found = false;
        for folder in self.upwards(start) {
            // Upper and lower case are the same there.
            let is_one = |name: &str| {
                ["justfile", ".justfile"].iter().any(|justfile| name.eq_ignore_ascii_case(justfile))
            };
            let files = self.files.list(folder).into_iter().filter(|entry| is_one(&entry.name));
            let files: Vec<PathBuf> = files.map(|entry| folder.join(entry.name)).collect();
            if files.is_empty() {
                continue;
            }
            is_found = true;
            let mut directories = vec![folder.to_owned()];
            if !is_plain {
                directories.push(self.directory.clone());
                directories.extend_from_slice(others);
            }
            let asked = Asked {
                language: Language::Just,
                files,
                recipes: recipes.clone(),
                directories,
                arguments,
                set,
                is_plain,
            };
            if self.follow_recipes(asked, reads) {
                break;
            }
        }
        is_found
    }

    /// Follows recipes of these files. Returns whether these run, and none of files in directories above.
    fn follow_recipes(&self, asked: Asked<'_>, reads: &mut Reads) -> bool {
        let Asked { language, files, recipes: wanted, mut directories, arguments, set, is_plain } = asked;
        let all = (files.clone(), directories.clone());
        // Whatever recipe is asked for, it was followed with all others.
        if reads.chain.is_unseen && arguments.is_empty() && reads.chain.all_followed.contains(&all) {
            return true;
        }
        let mut found = Recipes::new();
        found.is_plain = is_plain;
        let mut read = BTreeSet::new();
        let mut waiting = files;
        let mut sources = Vec::new();
        while let Some(path) = waiting.pop() {
            if self.is_folder(&path) || !read.insert(path.clone()) {
                continue;
            }
            // What may be loaded is a change when it appears.
            reads.chain.files.insert(path.clone());
            let name = self.shown(&path);
            let text = self.files.read(&path, TEXT_LIMIT).filter(|_| read.len() <= MOST_FILES);
            let Some(bytes) = text else {
                if self.is_any(&path) {
                    found.is_plain = false;
                    sources.push(name);
                }
                continue;
            };
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            found.is_plain &= std::str::from_utf8(bytes).is_ok();
            found.read(&name, &String::from_utf8_lossy(bytes), language);
            sources.push(name);
            let folders = path.parent().into_iter().chain(directories.iter().map(PathBuf::as_path));
            let folders: Vec<&Path> = folders.collect();
            let filled = found.loads.iter().filter(|name| name.contains('$'));
            let filled: Vec<String> =
                filled.flat_map(|line| filled::readings(&found, language, line, &directories[0])).collect();
            let words = filled.iter().flat_map(|line| line.split_whitespace());
            for name in found.loads.iter().map(String::as_str).chain(words) {
                waiting.extend(folders.iter().flat_map(|folder| self.matching(folder, name)));
            }
        }
        if sources.is_empty() {
            return false;
        }
        for (name, value) in
            set.iter().filter_map(|word| word.split_once('=')).filter(|it| !it.0.starts_with('-'))
        {
            found.add_value(name.trim_end_matches([':', '+', '?', '!']), value, false);
        }
        let names = |name: &str| found.by_name.contains_key(name).then(|| name.to_owned());
        let mut waiting: Vec<String> = wanted.iter().filter_map(|name| names(name)).collect();
        // A value of an option of make may look like a name; what is no recipe of just runs nothing.
        let may_be_first = language == Language::Make || wanted.iter().all(|name| name.is_empty());
        if waiting.is_empty() && may_be_first {
            waiting.extend(found.first.clone());
        }
        // Before all else, make brings its own files up to date.
        if language == Language::Make {
            waiting.extend(read.iter().filter_map(|path| names(&path.file_name()?.to_string_lossy())));
        }
        let are_positional = found.beside.iter().any(|line| line.contains("positional-arguments"));
        let values = Values { language, arguments, variables: &found.variables, are_positional };
        let mut made: BTreeSet<String> = waiting.iter().cloned().collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            let Some(recipe) = found.by_name.get(&name).filter(|_| seen.insert(name.clone())) else {
                continue;
            };
            made.extend(recipe.needs.iter().cloned());
            waiting.extend(recipe.needs.iter().cloned());
            reads.chain.chosen.extend(values.chosen(recipe.lines.iter()));
            for line in &recipe.lines {
                let link = Link { by: line.by.clone(), command: line.command.clone() };
                let is_readable = !language.has_variables(&line.command);
                reads.chain.follow(link, is_readable, &directories[0], self.files);
                let command = recipe.without_names(&name, &line.command);
                for command in filled::readings(&found, language, &command, &directories[0]) {
                    let link = Link { by: line.by.clone(), command };
                    reads.chain.follow_unseen(link, &directories[0], self.files);
                }
                // The first line of a script says what it is run with.
                if let Some(command) = line.command.strip_prefix("#!") {
                    let link = Link { by: line.by.clone(), command: command.to_owned() };
                    reads.chain.follow_unseen(link, &directories[0], self.files);
                }
            }
        }
        if language == Language::Make {
            // What no recipe makes may be made by a rule of make.
            made.extend(wanted.iter().map(|name| (*name).to_owned()));
            made.extend(found.loads.iter().cloned());
            made.extend(
                read.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
            );
            if !found.is_plain {
                made.extend(found.by_name.values().flat_map(|recipe| recipe.needs.iter().cloned()));
            }
            made.retain(|name| found.by_name.get(name).is_none_or(|recipe| recipe.lines.is_empty()));
            reads.chain.files.extend(made.iter().flat_map(|name| sources_of(name, &directories[0])));
        }
        if found.is_plain {
            return true;
        }
        // Without a known name, any of them may get the arguments.
        let is_known = wanted.iter().any(|name| found.by_name.contains_key(*name))
            && found.loads.is_empty()
            && !found.is_loose;
        let others = found.lines.iter().filter(|line| !is_known || line.by.contains('%'));
        reads.chain.chosen.extend(values.chosen(others));
        reads.chain.finders.extend(sources);
        // Nobody can tell these apart: all of them are followed, from wherever they may run.
        directories.extend(read.iter().filter_map(|path| path.parent()).map(Path::to_owned));
        directories.push(self.directory.clone());
        if language == Language::Just {
            for text in &found.beside {
                let named = self.named_there(text, &directories[..1], |path| self.is_folder(path));
                directories.extend(named.into_iter().filter(|path| self.inside(path).is_some()));
            }
        }
        let mut known = BTreeSet::new();
        directories.retain(|directory| known.insert(self.inside(directory)));
        directories.truncate(MOST_DIRECTORIES);
        if reads.chain.all_followed.insert(all) {
            self.bind_all(&found, language, &directories, reads);
        }
        is_plain && !found.beside.iter().any(|line| line.contains("fallback"))
    }

    /// Lists the files that a name of an included file means in a directory: itself, or what it matches as a pattern.
    fn matching(&self, folder: &Path, name: &str) -> Vec<PathBuf> {
        let path = folder.join(name);
        let (Some(around), Some(last)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
            return Vec::new();
        };
        if !last.contains(['*', '?', '[', '%']) {
            return vec![path];
        }
        let pattern = Glob::new(&last.replace('%', "*"));
        let names = self.files.list(around).into_iter().map(|entry| entry.name);
        names.filter(|name| pattern.matches(name)).map(|name| around.join(name)).collect()
    }

    /// Binds what any line of files of recipes may start, from each of the directories.
    fn bind_all(&self, found: &Recipes, language: Language, directories: &[PathBuf], reads: &mut Reads) {
        let lines = found.lines.iter().map(|line| (line.by.as_str(), line.command.as_str()));
        let starts = found.starts.iter().map(|command| ("", command.as_str()));
        let mut programs = BTreeSet::from(["sh".to_owned()]);
        for (by, command) in lines.chain(starts) {
            let command = command.strip_prefix("#!").unwrap_or(command);
            if !found.places.is_empty() {
                programs.extend(programs_of(command));
            }
            for directory in directories {
                let filled = filled::readings(found, language, command, directory);
                for command in filled.into_iter().chain([command.to_owned()]) {
                    reads.chain.follow_unseen(Link { by: by.to_owned(), command }, directory, self.files);
                }
            }
        }
        let is_code = |path: &Path| {
            let is_object = OBJECTS.iter().any(|end| path.to_string_lossy().ends_with(end));
            let is_code = path.to_str().is_some_and(is_code_name) || self.is_code(path);
            self.is_any(path) && (language == Language::Just || (is_code && !is_object))
        };
        for text in &found.beside {
            reads.chain.files.extend(self.named_there(text, directories, is_code));
        }
        // What a recipe makes is no code, unless something runs it, also by a name such as `$<`.
        let runs_unnamed = found.lines.iter().any(|line| {
            let filled = filled::readings(found, language, &line.command, self.files.root());
            filled.into_iter().any(|command| starts_unnamed(&["sh".to_owned(), "-c".to_owned(), command]))
        });
        let named = if runs_unnamed { &mut reads.chain.files } else { &mut reads.chain.looked_at };
        for text in &found.rules {
            named.extend(self.named_there(text, directories, is_code));
        }
        let made = found.by_name.iter().filter(|(_, recipe)| !recipe.lines.is_empty());
        let made = made.flat_map(|(name, _)| directories.iter().map(move |directory| directory.join(name)));
        reads.chain.written.extend(made);
        for (name, text) in &found.places {
            let there = self.named_there(text, directories, |path| self.is_folder(path) || self.is_any(path));
            for path in there {
                // Of a directory of programs, those that the recipes start.
                if name == "PATH" {
                    reads.chain.files.extend(programs.iter().map(|program| path.join(program)));
                } else {
                    reads.chain.files.insert(path);
                }
            }
        }
    }

    /// Lists the paths that words of a text name from these directories, as far as they are what is looked for. A
    /// variable may stand before a name: `$(CURDIR)/x`.
    fn named_there(&self, text: &str, from: &[PathBuf], is_one: impl Fn(&Path) -> bool) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for word in text.split_whitespace() {
            for name in names_in(word).into_iter().chain(parts_of(word)) {
                let names = [&*name, name.trim_start_matches('/')];
                let paths = from.iter().flat_map(|folder| names.map(|name| folder.join(name)));
                let is_inside = |path: &PathBuf| self.inside(path).is_some();
                found.extend(paths.filter(|path| is_inside(path) && is_one(path)));
            }
        }
        found
    }

    /// Tells whether a path leads to a file, wherever it is.
    pub(super) fn is_any(&self, path: &Path) -> bool {
        matches!(
            self.files.look(path),
            Seen::Inside { kind: Some(Kind::File), .. } | Seen::Outside(Some(Kind::File))
        )
    }
}

/// Lists the files from which make makes one of this name by its own rules, if they are there.
fn sources_of(name: &str, directory: &Path) -> Vec<PathBuf> {
    let names = [name, name.strip_suffix(".o").unwrap_or(name)];
    names.iter().flat_map(|name| MAKES.map(|end| directory.join(format!("{name}{end}")))).collect()
}

fn operands(args: &[String]) -> impl Iterator<Item = &str> {
    args.iter().map(String::as_str).filter(|word| !word.starts_with('-') && !word.contains('='))
}

/// Lists the values of short and long options.
fn values<'a>(known: Program, args: &'a [String], short: &[char], long: &[&str]) -> Vec<&'a str> {
    let mut found: Vec<&str> =
        short.iter().flat_map(|option| short_values(&known.row().spelling, args, *option)).collect();
    found.extend(long.iter().flat_map(|option| long_values(args, option)));
    found
}
