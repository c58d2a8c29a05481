//! Commands that programs start because a text of the workspace says so: scripts of `package.json`, and recipes of make
//! and just. The texts are read, and nothing is run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brigade_core::Json;

use super::javascript::directory_of;
use super::{Files, Finder, Reads};
use crate::programs::{Finds, Program, Role, long_values, short_values};
use crate::risk::{self, Started};

/// The maximum length of a chain of commands, and their maximum number.
const DEPTH: usize = 4;
const MOST: usize = 100;

/// The largest text that is read.
const TEXT_LIMIT: u64 = 1 << 20;

/// The file that `npm start` starts by default.
const SERVER: &str = "server.js";

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
    depth: usize,
}

impl Chain {
    /// Notes the words that the first line of a script starts. It says what finds the rest.
    pub(super) fn first_line(&mut self, script: &str, words: &[String]) {
        self.finders.remove(&format!("./{script}"));
        self.finders.remove(script);
        self.starts.push(Link { by: script.to_owned(), command: words.join(" ") });
    }

    /// Adds what another part of the command starts.
    pub(super) fn append(&mut self, mut other: Chain) {
        self.starts.append(&mut other.starts);
        self.add(std::mem::take(&mut other.files), std::mem::take(&mut other.may_be_data));
        self.environments.append(&mut other.environments);
        self.finders.append(&mut other.finders);
    }

    /// Adds files, and says which of them may be data. What is bound in any case for one command stays so for all.
    fn add(&mut self, files: BTreeSet<PathBuf>, may_be_data: BTreeSet<PathBuf>) {
        self.may_be_data.retain(|path| may_be_data.contains(path) || !files.contains(path));
        self.may_be_data.extend(may_be_data.into_iter().filter(|path| !self.files.contains(path)));
        self.files.extend(files);
    }

    /// Follows a line of a file that a shell runs in a directory.
    pub(super) fn follow(&mut self, link: Link, is_readable: bool, directory: &Path, files: &dyn Files) {
        if MOST <= self.starts.len() || DEPTH <= self.depth {
            self.finders.insert(link.by);
            return;
        }
        if self.starts.contains(&link) {
            return;
        }
        let words = ["sh".to_owned(), "-c".to_owned(), link.command.clone()];
        let by = link.by.clone();
        if !is_readable || starts_unnamed(&words) {
            self.finders.insert(by.clone());
        }
        self.follow_words(link, &words, is_readable, directory, files);
    }

    /// Follows a command of a file, given by its words.
    fn follow_words(
        &mut self,
        link: Link,
        words: &[String],
        is_readable: bool,
        directory: &Path,
        files: &dyn Files,
    ) {
        let by = link.by.clone();
        self.starts.push(link);
        let mut nested = Reads::default();
        nested.chain.depth = self.depth + 1;
        nested.chain.starts = std::mem::take(&mut self.starts);
        super::follow(words, directory, files, &mut nested);
        let Reads { named, scripts, code, databases, settings, environments, unbound, chain, .. } = nested;
        self.starts = chain.starts;
        let databases = &databases - &code;
        let bound: BTreeSet<PathBuf> = [named, scripts, code].into_iter().flatten().collect();
        let may_be_data = &databases | &(&settings - &bound);
        self.add(&bound | &settings, may_be_data);
        self.add(chain.files, chain.may_be_data);
        self.environments.extend(environments.into_iter().chain(chain.environments));
        if is_readable {
            // The shell of a script is not what finds code.
            self.finders.extend(chain.finders.into_iter().filter(|finder| finder != "sh"));
        }
        if !unbound.is_empty() {
            self.finders.insert(by);
        }
    }
}

/// Tells whether a text starts what only the shell finds out: by a pattern of names, a variable or a substitution, by
/// text that it puts together, from standard input, or by a variable that changes what is found.
fn starts_unnamed(words: &[String]) -> bool {
    const CHANGING: [&str; 7] = ["alias", "enable", "eval", "function", "hash", "trap", "xargs"];
    const FINDING: [&str; 5] = ["PATH=", "ENV=", "LD_PRELOAD=", "PYTHONPATH=", "NODE_OPTIONS="];
    let text = words.last().map(String::as_str).unwrap_or_default();
    if FINDING.iter().any(|name| text.contains(name)) {
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
            || args.iter().any(|word| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
    })
}

impl Finder<'_> {
    /// Follows what a program starts by a text of the workspace.
    pub(super) fn chain(&self, known: Program, args: &[String], reads: &mut Reads) {
        let operands: Vec<&str> = args
            .iter()
            .map(String::as_str)
            .filter(|word| !word.starts_with('-') && !word.contains('='))
            .collect();
        match known.row().finds {
            Finds::Packages | Finds::JavaScript => self.package_scripts(known.name, args, &operands, reads),
            Finds::Make => {
                let mut folder = self.directory.clone();
                folder.extend(short_values(&known.row().spelling, args, 'C'));
                folder.extend(long_values(args, "--directory"));
                let named = short_values(&known.row().spelling, args, 'f').into_iter();
                let named = named.chain(long_values(args, "--file")).chain(long_values(args, "--makefile"));
                let names: Vec<&str> = named.chain(["GNUmakefile", "makefile", "Makefile"]).collect();
                self.recipes(&folder, &names, &operands, Language::Make, reads);
            }
            Finds::Just => {
                let spelling = &known.row().spelling;
                let mut start = self.directory.clone();
                start.extend(short_values(spelling, args, 'd'));
                start.extend(long_values(args, "--working-directory"));
                let named: Vec<&str> = short_values(spelling, args, 'f')
                    .into_iter()
                    .chain(long_values(args, "--justfile"))
                    .collect();
                self.recipes(&self.directory, &named, &operands, Language::Just, reads);
                // `sub/build` is the recipe `build` of another directory.
                for (folder, recipe) in operands.iter().filter_map(|word| word.rsplit_once('/')) {
                    self.recipes(&start.join(folder), known.row().files, &[recipe], Language::Just, reads);
                }
                for folder in self.upwards(&start) {
                    if self.recipes(folder, known.row().files, &operands, Language::Just, reads) {
                        break;
                    }
                }
            }
            _ => {}
        }
    }

    /// Follows the scripts that a package manager runs.
    ///
    /// Which of the words is the value of an option is not known for each of them, so each word may be the verb.
    fn package_scripts(&self, manager: &str, args: &[String], operands: &[&str], reads: &mut Reads) {
        let mut packages = BTreeSet::new();
        let mut names: BTreeSet<&str> = match manager {
            "node" | "nodejs" => long_values(args, "--run").into_iter().collect(),
            "pnpm" | "yarn" => operands.iter().take(4).copied().collect(),
            _ => BTreeSet::new(),
        };
        for at in 0..operands.len() {
            if let ("npm" | "pnpm" | "yarn" | "bun", ["run" | "run-script" | "rum" | "urn", rest @ ..]) =
                (manager, &operands[at..])
            {
                // Values of options may come before the name; a name that is no script leads nowhere.
                names.extend(rest.iter().take(4));
            }
            names.extend(match (manager, &operands[at..]) {
                ("npm" | "pnpm", ["test" | "t" | "tst", ..]) => Some("test"),
                ("npm" | "pnpm", [name @ ("start" | "stop" | "restart" | "version"), ..]) => Some(*name),
                _ => None,
            });
            if let ("npm" | "pnpm" | "yarn" | "bun", [verb, rest @ ..]) = (manager, &operands[at..])
                && let Some(scripts) = scripts_of_verb(verb)
            {
                names.extend(scripts);
                names.extend(TESTS_TOO.contains(verb).then_some("test"));
                packages.extend(rest.iter().filter_map(|word| directory_of(word)));
            }
        }
        if names.is_empty() {
            return;
        }
        let mut folders = BTreeSet::from([self.directory.clone()]);
        folders.extend(packages.iter().map(|folder| self.directory.join(folder)));
        for option in ["--prefix", "--dir", "--cwd", "--workspace"] {
            folders.extend(long_values(args, option).iter().map(|folder| self.directory.join(folder)));
        }
        folders.extend(self.chosen_packages(manager, args, reads));
        for pair in args.windows(2).filter(|pair| matches!(pair[0].as_str(), "-C" | "-w")) {
            folders.insert(self.directory.join(&pair[1]));
        }
        let attached = |word: &'_ String| ["-C=", "-w="].iter().any(|option| word.starts_with(option));
        folders.extend(args.iter().filter(|word| attached(word)).map(|word| self.directory.join(&word[3..])));
        let mut seen = BTreeSet::new();
        for folder in &folders {
            let found = self.upwards(folder).find(|folder| self.is_file(&folder.join("package.json")));
            if let Some(folder) = found
                && seen.insert(folder.to_owned())
                && let Some(package) = self.package_at(folder)
            {
                self.scripts_of(folder, &package, &names, reads);
            }
        }
    }

    /// Follows scripts of one `package.json`, with what runs before and after them.
    fn scripts_of(&self, folder: &Path, package: &Json, names: &BTreeSet<&str>, reads: &mut Reads) {
        let file = self.shown(&folder.join("package.json"));
        for asked in names {
            for name in [format!("pre{asked}"), (*asked).to_owned(), format!("post{asked}")] {
                let script = package.get("scripts").and_then(|scripts| scripts.get(&name));
                let command = match script.and_then(Json::as_str) {
                    Some(command) => command.to_owned(),
                    // npm starts this file where no script says what to start.
                    None if name == "start" && self.is_file(&folder.join(SERVER)) => {
                        format!("node {SERVER}")
                    }
                    None => continue,
                };
                // Programs of packages come before all others.
                let shell = ["sh".to_owned(), "-c".to_owned(), command.clone()];
                let programs = risk::started(&shell).into_iter().filter_map(|mut command| {
                    let program = (!command.words.is_empty()).then(|| command.words.swap_remove(0))?;
                    (!program.contains('/')).then_some(program)
                });
                let bins = self.upwards(folder).map(|folder| folder.join("node_modules/.bin"));
                let bins: Vec<PathBuf> = bins.collect();
                let own = ["sh", "node"].map(str::to_owned);
                for program in programs.chain(own).collect::<BTreeSet<String>>() {
                    reads.code.extend(bins.iter().map(|bin| bin.join(&program)));
                }
                let link = Link { by: format!("{file}: {name}"), command };
                reads.chain.follow(link, true, folder, self.files);
            }
        }
    }

    /// Notes a script of a shell whose text loads or starts further code. The script is bound, and that is not, but for
    /// databases of SQLite: they can start commands themselves, and do not look like code.
    pub(super) fn note_shell_script(&self, script: &Path, reads: &mut Reads) {
        let Some(text) = self.files.read(script, TEXT_LIMIT) else { return };
        let words = ["sh".to_owned(), "-c".to_owned(), String::from_utf8_lossy(&text).into_owned()];
        let commands = risk::started(&words);
        let commands = commands.get(1..).unwrap_or_default();
        let finds_code = commands.iter().any(|command| {
            let Some(program) = command.words.first() else { return false };
            let is_of_workspace = program.contains('/') && !program.starts_with('/');
            let known = Program::of(program);
            let runs = |known: Program| matches!(known.role(), Role::Eval | Role::Interpreter | Role::Shell);
            let finds = |known: Program| !matches!(known.row().finds, Finds::Nothing | Finds::FoundFiles);
            is_of_workspace || known.is_some_and(|known| runs(known) || finds(known))
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
            reads.chain.follow_words(link, &words, true, &directory, self.files);
        }
    }

    /// Follows the recipes of the first of these files that is there. Returns whether one is.
    fn recipes(
        &self,
        folder: &Path,
        names: &[&str],
        wanted: &[&str],
        language: Language,
        reads: &mut Reads,
    ) -> bool {
        let found = names.iter().find_map(|name| {
            let path = folder.join(name);
            let bytes = self.files.read(&path, TEXT_LIMIT)?;
            Some((self.shown(&path), String::from_utf8_lossy(&bytes).into_owned()))
        });
        let Some((file, text)) = found else { return false };
        let Recipes { recipes, first, is_whole } = recipes_of(&text, language);
        if !is_whole {
            reads.chain.finders.insert(file.clone());
        }
        let mut waiting: Vec<&str> =
            wanted.iter().copied().filter(|name| recipes.contains_key(*name)).collect();
        if waiting.is_empty() {
            waiting.extend(first.as_deref());
        }
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            let Some(recipe) = recipes.get(name).filter(|_| seen.insert(name.to_owned())) else { continue };
            waiting.extend(recipe.needs.iter().map(String::as_str));
            for command in &recipe.lines {
                let link = Link { by: format!("{file}: {name}"), command: command.clone() };
                reads.chain.follow(link, !language.has_variables(command), folder, self.files);
            }
        }
        true
    }

    /// Returns a path relative to the workspace.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.files.root()).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// Tells whether a line is a command of sqlite3 with operands, such as `.read FILE`.
fn has_dot_command(line: &str) -> bool {
    let name = line.strip_prefix('.').and_then(|rest| rest.split_once(char::is_whitespace));
    name.is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Verbs that install and then test.
const TESTS_TOO: &[&str] = &["cit", "install-ci-test", "install-test", "it", "sit"];

/// Lists the scripts that a package manager runs by itself for a verb, besides those before and after them.
fn scripts_of_verb(verb: &str) -> Option<&'static [&'static str]> {
    match verb {
        "add" | "ci" | "cit" | "clean-install" | "i" | "ic" | "in" | "install" | "install-test" | "it"
        | "install-ci-test" | "link" | "ln" | "rb" | "rebuild" | "sit" => Some(&["install", "prepare"]),
        "pack" => Some(&["pack", "prepare"]),
        "publish" => Some(&["pack", "prepare", "prepublishOnly", "publish"]),
        _ => None,
    }
}

/// Notes what finds code by itself: a program of the workspace, an interpreter, or what builds.
pub(super) fn note_finder(words: &[String], reads: &mut Reads) {
    let Some(first) = words.first() else { return };
    let known = Program::of(first);
    let finds = known.is_some_and(|known| {
        // A shell, make and package managers start what their text says.
        let is_read = matches!(known.role(), Role::Shell)
            || matches!(known.row().finds, Finds::Make | Finds::Just | Finds::Packages);
        !is_read && (known.interpreter().is_some() || known.row().finds != Finds::Nothing)
    });
    let is_own = known.is_none() && first.contains('/') && !first.starts_with('/');
    if finds || is_own {
        reads.chain.finders.insert(first.clone());
    }
}

/// The language of a file of recipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Make,
    Just,
}

impl Language {
    /// Tells whether a line is put together from variables before a shell gets it.
    fn has_variables(self, line: &str) -> bool {
        match self {
            Language::Make => line.contains('$'),
            Language::Just => line.contains("{{") || line.contains('$') || line.starts_with("#!"),
        }
    }
}

struct Recipes {
    recipes: BTreeMap<String, Recipe>,
    /// What runs when nothing is named.
    first: Option<String>,
    /// Whether nothing else decides what runs, such as an included file.
    is_whole: bool,
}

#[derive(Debug, Default)]
struct Recipe {
    /// What runs before it.
    needs: Vec<String>,
    lines: Vec<String>,
}

/// Returns the variable that a line of a makefile sets, for all recipes or for one: `go: private SHELL := x`.
fn set_variable(line: &str) -> Option<&str> {
    let (head, _) = line.split_once('=')?;
    head.trim_end_matches([':', '+', '?', '!', ' ', '\t']).rsplit([' ', '\t', ':']).next()
}

/// Returns whether a line of a makefile changes how recipes are read, what runs them, or which programs they find; or
/// whether what it says is known only when make reads it.
fn changes_recipes(line: &str) -> bool {
    const SETTINGS: [&str; 6] =
        [".EXTRA_PREREQS", ".RECIPEPREFIX", ".SHELLFLAGS", "MAKEFLAGS", "PATH", "SHELL"];
    const READ_LATE: [&str; 6] = ["$(eval", "${eval", "$(shell", "${shell", "$(guile", "!="];
    set_variable(line).is_some_and(|name| SETTINGS.contains(&name) || name.contains('$'))
        || READ_LATE.iter().any(|text| line.contains(text))
}

/// Returns whether the name of a rule of make is that of a kind of files: `.c.o`, and not `.PHONY`.
fn is_of_kind(name: &str) -> bool {
    name.starts_with('.') && name.contains(|c: char| c.is_ascii_lowercase())
}

/// Reads names, needs and lines of recipes, as far as they are plain text.
fn recipes_of(text: &str, language: Language) -> Recipes {
    let mut found = Recipes { recipes: BTreeMap::new(), first: None, is_whole: true };
    let mut names: Vec<String> = Vec::new();
    let mut goal = None;
    for line in text.replace("\\\n", " ").lines() {
        let is_recipe = match language {
            // Before the first rule, a tab means nothing.
            Language::Make => line.starts_with('\t') && !names.is_empty(),
            Language::Just => line.starts_with([' ', '\t']),
        };
        let plain = line.trim();
        if plain.is_empty() || (plain.starts_with('#') && !plain.starts_with("#!")) {
            continue;
        }
        if is_recipe {
            let command = plain.trim_start_matches(['@', '-', '+']).trim();
            for name in &names {
                found.recipes.entry(name.clone()).or_default().lines.push(command.to_owned());
            }
            continue;
        }
        if language == Language::Make {
            // Which branch counts is known only when make reads it. A recipe goes on behind one.
            let first = plain.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            if matches!(first, "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif") {
                found.is_whole = false;
                continue;
            }
            found.is_whole &= !changes_recipes(plain);
            if set_variable(plain) == Some(".DEFAULT_GOAL") {
                let value = plain.split_once('=').map(|(_, value)| value.split('#').next().unwrap_or(value));
                goal = value.map(|name| name.trim().to_owned());
                found.is_whole &= !plain.contains('$');
            }
        }
        // Also of one target: `go: CC = gcc` is no rule, and what it names is not what make begins with.
        let is_setting = plain.contains(":=")
            || (language == Language::Make && plain.split(';').next().is_some_and(|head| head.contains('=')));
        let head = plain.split_once(':').filter(|_| !is_setting);
        let Some((targets, rest)) = head else {
            names.clear();
            let first = plain.split_whitespace().next().unwrap_or_default();
            found.is_whole &=
                !matches!(first, "include" | "-include" | "sinclude" | "import" | "mod" | "define");
            continue;
        };
        let (rest, inline) = match language {
            Language::Make => rest.split_once(';').map_or((rest, None), |(rest, line)| (rest, Some(line))),
            Language::Just => (rest, None),
        };
        let mut words = targets.split_whitespace().map(|name| name.trim_start_matches('@').to_owned());
        names = match language {
            // It is the recipe of every other name.
            Language::Make if targets.trim() == ".DEFAULT" => {
                found.is_whole = false;
                words.collect()
            }
            Language::Make => words.collect(),
            // What follows the name are its parameters.
            Language::Just => words.next().into_iter().collect(),
        };
        found.is_whole &= !names.iter().any(|name| name.contains(['$', '%']) || is_of_kind(name));
        found.is_whole &= language != Language::Make || !rest.contains('$');
        let needs = rest.split_whitespace().map(|need| need.trim_matches(['(', ')', ':', '|']).to_owned());
        let needs: Vec<String> = needs.filter(|need| !need.is_empty() && need != "&&").collect();
        for name in &names {
            let recipe = found.recipes.entry(name.clone()).or_default();
            recipe.needs.extend(needs.iter().cloned());
            recipe
                .lines
                .extend(inline.map(|line| line.trim().trim_start_matches(['@', '-', '+']).to_owned()));
        }
        if found.first.is_none() {
            found.first = names.iter().find(|name| !name.starts_with('.')).cloned();
        }
    }
    found.first = goal.or(found.first);
    found
}
