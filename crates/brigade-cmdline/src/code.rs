//! The words of a command line that are code: its programs, the script of an interpreter, and files that options load.

use std::path::Path;

use crate::argv::Argv;
use crate::programs::{Finds, Program, Role, Row, Script};
use crate::reads::{Files, PathTarget};
use crate::risk::{Inner, LOADING, Word, code_values, find_commands, look_through, numbered, wrapped};

/// An operand that an interpreter takes as a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand<'a> {
    /// The word in the command.
    pub(crate) word: &'a Word,
    /// Whether the interpreter looks for exactly this file.
    pub(crate) is_exact: bool,
}

/// Long options of shells without a value that do not change the script.
const SHELL_FLAGS: &[&str] = &["--norc", "--noprofile", "--posix", "--login"];

/// Long options of Node after which the first operand is not a script.
const OTHER_TASKS: &[&str] = &["--eval", "--print", "--test", "--run", "--check", "--watch"];

/// Extensions that Node loads without trying others.
const JAVASCRIPT: &[&str] = &[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"];

/// Modules of Python that run the script or module in their arguments.
const LAUNCHING_MODULES: &[&str] = &[
    "cProfile",
    "coverage",
    "debugpy",
    "doctest",
    "kernprof",
    "pdb",
    "profile",
    "runpy",
    "trace",
    "viztracer",
];

/// Options of these modules that take the next word.
const LAUNCHING_OPTIONS: &[&str] = &["-C", "-f", "-o", "-s", "--outfile", "--rcfile", "--sort", "--source"];

/// Words after a program that do not name what it runs yet.
const VERBS: &[&str] = &["dlx", "exec", "rum", "run", "run-script", "shell", "tool", "urn", "workspace", "x"];

/// The same after interpreters.
const INTERPRETER_VERBS: &[&str] = &["bench", "run", "serve", "start", "task", "test", "watch", "x"];

/// Programs whose first operand, after such a word, is not a program yet: a directory, a version or a profile.
const ONE_BEFORE: &[&str] =
    &["aws-vault", "direnv", "envdir", "faketime", "runcon", "rustup", "s6-envdir", "switch_root"];

/// Options of launchers after which a program follows.
const BEFORE_PROGRAM: &[&str] = &["--command", "--exec", "--startas", "-c", "-x"];

/// Variables of make that are programs, or options of make.
const OF_MAKE: &str =
    "AR AS CC CPP CXX FC GNUMAKEFLAGS LD MAKE MAKEFILES MAKEFLAGS NODE PERL PYTHON RM SHELL";

/// Prefixes of options with which programs find code: compilers, go, cargo, package managers, perl and ruby, git, make.
const OPTIONS_OF_CODE: &[(&str, &str)] = &[
    ("gcc", "@ -B -Wa, -Wl, -Wp, -Xlinker -fplugin -fuse-ld -iplugindir -specs -wrapper --prefix --specs"),
    ("go", "-C -modfile -overlay"),
    ("cargo", "--config --manifest-path"),
    ("npm", "--node-options --prefix --script-shell --userconfig"),
    ("perl", "-I -M -m"),
    ("ruby", "-I -r"),
    ("git", "-C --exec-path= --git-dir"),
    ("make", "-C -I --directory --include-dir"),
    ("sqlite3", "."),
];

/// Returns whether a module of Python runs the script or module in its arguments.
pub(crate) fn is_launching_module(module: &str) -> bool {
    LAUNCHING_MODULES.contains(&module)
}

/// Finds the script in the words of a command; `None` if the program is not an interpreter or runs something else.
pub(crate) fn script_of(words: &[Word]) -> Option<Operand<'_>> {
    let (program, args) = words.split_first()?;
    let row = Program::from_word(&program.text)?.row();
    if row.script == Script::Unknown {
        return None;
    }
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        if word.text == "--" {
            return rest.next().and_then(|word| operand(row, word));
        }
        if !word.text.starts_with(['-', '+']) {
            return operand(row, word);
        }
        if takes_next(row, &word.text)? {
            rest.next();
        }
    }
    None
}

/// Returns whether an option takes the next word; `None` if it is unknown, or if the first operand is then not a
/// script.
fn takes_next(row: &Row, word: &str) -> Option<bool> {
    let spelling = &row.spelling;
    if word.starts_with("--") {
        let name = word.split('=').next().unwrap_or(word);
        if spelling.long_valued.contains(&name) {
            return Some(name == word);
        }
        let is_known = match row.script {
            Script::ByName => !OTHER_TASKS.contains(&name),
            Script::OnPath | Script::File => SHELL_FLAGS.contains(&name),
            Script::Unknown => false,
        };
        return is_known.then_some(false);
    }
    let bundle = Some(&word[1..]).filter(|bundle| !bundle.is_empty())?;
    let mut letters = bundle.char_indices().skip_while(|(_, letter)| spelling.flags.contains(*letter));
    let Some((index, letter)) = letters.next() else { return Some(false) };
    let is_last = index + letter.len_utf8() == bundle.len();
    match (spelling.valued.contains(letter), spelling.attached.contains(letter)) {
        (true, _) => Some(is_last),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

fn operand<'a>(row: &Row, word: &'a Word) -> Option<Operand<'a>> {
    let text = word.text.as_str();
    let is_exact = match row.script {
        Script::OnPath => text.contains('/'),
        Script::ByName => JAVASCRIPT.iter().any(|end| text.ends_with(end)),
        Script::File => true,
        Script::Unknown => false,
    };
    (!text.is_empty() && !text.contains("://")).then_some(Operand { word, is_exact })
}

/// Returns the script of a command if it does not exist, as written in the command.
pub fn missing_script(argv: &Argv, directory: &Path, files: &dyn Files) -> Option<String> {
    let is_missing = |found: PathTarget| found != PathTarget::Nowhere && found.kind().is_none();
    script_that(is_missing, argv, directory, files)
}

/// Returns the script of a command if its target is of this kind, as written in the command.
pub(crate) fn script_that(
    is_of_kind: impl Fn(PathTarget) -> bool,
    argv: &Argv,
    directory: &Path,
    files: &dyn Files,
) -> Option<String> {
    let chain = wrapped(numbered(argv.words()));
    let (words, moved) = chain.last()?;
    let script = script_of(words).filter(|script| script.is_exact)?;
    let found = files.look(&directory.join(moved).join(&script.word.text));
    is_of_kind(found).then(|| script.word.text.clone())
}

/// Returns the first word after the `reviewed` ones that becomes code: a program, the script of an interpreter, or a
/// file that an option loads.
///
/// Such a word is an argument of a call, and no approval binds the file that it names.
pub fn code_of_arguments(argv: &Argv, reviewed: usize) -> Option<&str> {
    let words = argv.words();
    // Without arguments, no word can become code.
    if words.len() <= reviewed {
        return None;
    }
    let found = code_at(&numbered(words)).into_iter().filter(|at| reviewed <= *at).min();
    words.get(found?).map(String::as_str)
}

/// Lists the positions of the words that are code.
pub(crate) fn code_at(words: &[Word]) -> Vec<usize> {
    let chain = wrapped(words.to_vec());
    let mut found: Vec<usize> =
        chain.iter().filter_map(|(words, _)| words.first()).map(|word| word.at).collect();
    let Some((words, _)) = chain.last() else { return found };
    let Some((head, args)) = words.split_first() else { return found };
    let Some(known) = Program::from_word(&head.text) else { return found };
    found.extend(code_values(known, args));
    found.extend(options_of_code(known, args));
    let row = known.row();
    match known.role() {
        // Only `env` can parse this text, or its result is a text for a shell.
        Role::Wrapper { .. } => match look_through(known, args) {
            Inner::Unread => found.extend(args.iter().map(|word| word.at)),
            Inner::ShellText { text, .. } => found.push(text.at),
            Inner::Command { .. } | Inner::Shell | Inner::Nothing => {}
        },
        Role::Shell | Role::Interpreter => interpreted(known, words, &mut found),
        Role::Eval => found.extend(args.first().map(|word| word.at)),
        Role::Find => found.extend(find_commands(args).into_iter().flat_map(code_at)),
        Role::Launcher => launched(known, args, &mut found),
        Role::Subcommands(verbs) => {
            let names = names(row, args, false);
            let is_of_packages = row.finds == Finds::Packages;
            match names.first() {
                None => {}
                Some(verb) if verbs.contains(&verb.text.as_str()) => {
                    let after = args.iter().position(|word| word.at == verb.at).map_or(0, |at| at + 1);
                    launched(known, &args[after..], &mut found);
                }
                // The name of a script instead of a program. The words after `yarn workspace NAME` are like those after
                // `yarn`.
                Some(verb) if is_of_packages && VERBS.contains(&verb.text.as_str()) => {
                    let at = if verb.text == "workspace" { 2 } else { 1 };
                    found.extend(names.get(at).map(|script| script.at));
                }
                Some(verb) if is_of_packages => found.push(verb.at),
                Some(_) => {}
            }
        }
        Role::Other => match known.name {
            "java" | "javaw" | "run-parts" => {
                found.extend(names(row, args, false).first().map(|word| word.at))
            }
            "coverage" if args.first().is_some_and(|word| word.text == "run") => {
                found.extend(launched_script(&args[1..]));
            }
            "go" if args.first().is_some_and(|word| matches!(word.text.as_str(), "run" | "test")) => {
                let is_file = |word: &&&Word| word.text.contains(['/', '.']);
                found.extend(names(row, &args[1..], false).iter().find(is_file).map(|word| word.at));
            }
            "pytest" | "py.test" => found.extend(tests_elsewhere(args)),
            _ => {}
        },
        Role::Privilege | Role::Remove | Role::Container | Role::Git => {}
    }
    found
}

/// Lists the words with options with which a program finds code. Their values may be in the next word.
fn options_of_code(known: Program, args: &[Word]) -> Vec<usize> {
    let is_compiler = known.row().finds == Finds::Compiler;
    let is_of = |name: &str| known.row().names.contains(&name) || (name == "gcc" && is_compiler);
    let packages = known.row().finds == Finds::Packages;
    let row = OPTIONS_OF_CODE.iter().find(|(name, _)| is_of(name) || (packages && *name == "npm"));
    let Some((name, options)) = row else { return Vec::new() };
    // The words after a script, or after a subcommand of git, belong to it.
    let own = match *name {
        "perl" | "ruby" => args.iter().take_while(|word| word.text.starts_with('-')).count(),
        _ => args.len(),
    };
    let begins = |word: &str| options.split(' ').any(|option| word.starts_with(option));
    let sets = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name.trim_end_matches([':', '+', '?', '!', ' ']));
        *name.unwrap_or_default().trim() != *"" && OF_MAKE.split(' ').any(|known| Some(known) == name)
    };
    let mut found = Vec::new();
    for (at, word) in args[..own].iter().enumerate() {
        if begins(&word.text) || (*name == "make" && sets(&word.text)) {
            found.push(word.at);
            let is_whole = options.split(' ').any(|option| word.text == option);
            found.extend(args.get(at + 1).filter(|_| is_whole).map(|next| next.at));
        }
    }
    found
}

/// Finds the script of a shell or interpreter, its module, and the files that options before it load.
fn interpreted(known: Program, words: &[Word], found: &mut Vec<usize>) {
    let (row, args) = (known.row(), &words[1..]);
    let script = script_of(words);
    let end =
        script.map_or(args.len(), |script| args.iter().take_while(|word| word.at < script.word.at).count());
    let text = |word: &Word| word.text.clone();
    if row.finds == Finds::JavaScript {
        for (at, word) in args[..end].iter().enumerate() {
            let name = word.text.split('=').next().unwrap_or_default();
            if LOADING.contains(&name) {
                found.push(if word.text.contains('=') {
                    word.at
                } else {
                    args.get(at + 1).map_or(0, |it| it.at)
                });
            }
        }
        let operands = names(row, args, true);
        let has = |option: &str| args[..end].iter().any(|word| word.text == option);
        if has("--test") {
            found.extend(operands.iter().filter(|word| word.text.contains(['/', '.'])).map(|word| word.at));
        }
        let is_verb = operands.first().is_some_and(|word| INTERPRETER_VERBS.contains(&text(word).as_str()));
        let first = usize::from(is_verb);
        if is_verb || has("--run") || has("--watch") {
            found.extend(operands.get(first).map(|word| word.at));
        }
    }
    if let Some(script) = script {
        found.push(script.word.at);
        return;
    }
    if row.finds == Finds::Python {
        module(args, found);
    } else if row.script == Script::Unknown
        && !row.names.contains(&"awk")
        && !args.iter().any(|word| known.takes_code(&word.text))
    {
        let operands = names(row, args, true);
        let mut operands =
            operands.iter().skip_while(|word| INTERPRETER_VERBS.contains(&text(word).as_str()));
        found.extend(operands.next().map(|word| word.at));
    }
}

/// Finds the module after `-m` of Python, and the script or module that it launches.
fn module(args: &[Word], found: &mut Vec<usize>) {
    let is_option = |word: &Word| {
        let bundle = word.text.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'));
        bundle.and_then(|bundle| bundle.find('m').map(|at| bundle[at + 1..].to_owned()))
    };
    let Some((at, attached)) = args.iter().enumerate().find_map(|(at, word)| Some((at, is_option(word)?)))
    else {
        return;
    };
    let (module, place) = match attached.as_str() {
        "" => match args.get(at + 1) {
            Some(word) => (word.text.clone(), at + 1),
            None => return,
        },
        attached => (attached.to_owned(), at),
    };
    found.push(args[place].at);
    let rest = &args[place + 1..];
    if module == "doctest" {
        found.extend(rest.iter().filter(|word| !word.text.starts_with('-')).map(|word| word.at));
    } else if is_launching_module(&module) {
        let rest = if module == "coverage" { rest.get(1..).unwrap_or_default() } else { rest };
        found.extend(launched_script(rest));
    } else if matches!(module.as_str(), "pytest" | "unittest") {
        found.extend(tests_elsewhere(rest));
    }
}

/// Finds the script or the module that a module of Python runs.
fn launched_script(args: &[Word]) -> Vec<usize> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if word.text == "-m" {
            let mut found = Vec::new();
            module(&args[args.len() - words.len() - 1..], &mut found);
            return found;
        }
        if LAUNCHING_OPTIONS.contains(&word.text.as_str()) {
            words.next();
        } else if !word.text.starts_with('-') {
            return vec![word.at];
        }
    }
    Vec::new()
}

/// Lists tests outside of the directory, where a reviewer does not expect a test runner to search.
fn tests_elsewhere(args: &[Word]) -> Vec<usize> {
    let is_elsewhere = |word: &&Word| {
        let text = word.text.as_str();
        let mut parts = text.split('/').filter(|part| *part != ".");
        text.starts_with(['/', '~'])
            || parts.any(|part| part.starts_with('.') || matches!(part, "node_modules" | "venv"))
    };
    args.iter().filter(|word| !word.text.starts_with('-')).filter(is_elsewhere).map(|word| word.at).collect()
}

/// Finds the program that a launcher starts, and which of its words are code.
fn launched(known: Program, args: &[Word], found: &mut Vec<usize>) {
    let before = args.iter().enumerate().filter(|(_, word)| BEFORE_PROGRAM.contains(&word.text.as_str()));
    found.extend(before.filter_map(|(at, _)| args.get(at + 1)).map(|word| word.at));
    let marked = args.iter().position(|word| matches!(word.text.as_str(), "--" | "--args")).map(|at| at + 1);
    let at = marked.or_else(|| {
        let one_before = usize::from(ONE_BEFORE.contains(&known.name));
        let names = names(known.row(), args, false);
        let mut names = names.iter().skip_while(|word| VERBS.contains(&word.text.as_str()));
        let first = names.nth(one_before)?;
        args.iter().position(|word| word.at == first.at)
    });
    found.extend(at.filter(|at| *at < args.len()).map(|at| code_at(&args[at..])).unwrap_or_default());
}

/// Lists the words that are neither options nor values of options. If the options of a program are unknown, a word
/// after an option counts as its value. For a launcher, this applies only to words that look like a file.
fn names<'w>(row: &Row, args: &'w [Word], takes_any: bool) -> Vec<&'w Word> {
    let spelling = &row.spelling;
    let is_known = !spelling.valued.is_empty() || !spelling.long_valued.is_empty();
    let mut names = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            names.extend(words.by_ref());
        } else if !text.starts_with('-') || text == "-" {
            names.push(word);
        } else if !text.contains('=') {
            let is_flag =
                !text.starts_with("--") && text[1..].chars().all(|letter| spelling.flags.contains(letter));
            let is_file = |next: &Word| next.text.contains(['/', '.']);
            let takes_next = match is_known {
                true => spelling.long_valued.contains(&text) || spelling.takes_next_word(text),
                false => !is_flag && (takes_any || words.clone().next().is_some_and(is_file)),
            };
            if takes_next {
                words.next();
            }
        }
    }
    names
}

#[cfg(test)]
mod tests;
