//! Finds the script of an interpreter: its first operand, in the workspace or outside.

use std::path::{Path, PathBuf};

use super::javascript::is_directory;
use super::search::is_dot_command;
use super::{Files, Seen, python};
use crate::argv::Argv;
use crate::programs::{Finds, Program, Role, Row, Script, Value, long_values, short_values};
use crate::risk::{self, Standing, Started};

/// An operand that an interpreter takes as a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand<'a> {
    /// The word in the command.
    pub(super) word: &'a str,
    /// Whether the interpreter looks for exactly this file.
    is_exact: bool,
}

/// Long options of shells without a value that do not change the script.
const SHELL_FLAGS: &[&str] = &["--norc", "--noprofile", "--posix", "--login"];

/// Long options of Node after which the first operand is not a script.
const OTHER_TASKS: &[&str] = &["--eval", "--print", "--test", "--run", "--check", "--watch"];

/// Extensions that Node loads without trying others.
const JAVASCRIPT: &[&str] = &[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"];

/// Finds the script in the words of a command; `None` if the program is not an interpreter or runs something else.
pub(super) fn script_of(words: &[String]) -> Option<Operand<'_>> {
    let (program, args) = words.split_first()?;
    let row = Program::of(program)?.row();
    if row.script == Script::Unknown {
        return None;
    }
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            return rest.next().and_then(|word| operand(row, word));
        }
        if !word.starts_with(['-', '+']) {
            return operand(row, word);
        }
        match value_of(row, word)? {
            TakesNext::Yes => drop(rest.next()),
            TakesNext::No => {}
        }
    }
    None
}

enum TakesNext {
    Yes,
    No,
}

/// Tells whether an option takes the next word; `None` if it is unknown, or if the first operand is then not a script.
fn value_of(row: &Row, word: &str) -> Option<TakesNext> {
    let spelling = &row.spelling;
    if word.starts_with("--") {
        let name = word.split('=').next().unwrap_or(word);
        if spelling.long_valued.contains(&name) {
            return Some(if name == word { TakesNext::Yes } else { TakesNext::No });
        }
        let is_known = match row.script {
            Script::ByName => !OTHER_TASKS.contains(&name),
            Script::OnPath | Script::File => SHELL_FLAGS.contains(&name),
            Script::Unknown => false,
        };
        return is_known.then_some(TakesNext::No);
    }
    let bundle = &word[1..];
    if bundle.is_empty() {
        return None;
    }
    for (index, letter) in bundle.char_indices() {
        if spelling.flags.contains(letter) {
            continue;
        }
        let is_last = index + letter.len_utf8() == bundle.len();
        return match (spelling.valued.contains(letter), spelling.attached.contains(letter)) {
            (true, _) if is_last => Some(TakesNext::Yes),
            (true, _) | (_, true) => Some(TakesNext::No),
            (false, false) => None,
        };
    }
    Some(TakesNext::No)
}

fn operand<'a>(row: &Row, word: &'a str) -> Option<Operand<'a>> {
    let is_exact = match row.script {
        Script::OnPath => word.contains('/'),
        Script::ByName => JAVASCRIPT.iter().any(|end| word.ends_with(end)),
        Script::File => true,
        Script::Unknown => false,
    };
    let may_be_file = !word.is_empty() && !word.contains("://");
    may_be_file.then_some(Operand { word, is_exact })
}

/// Returns the script of a command if it does not exist, as written in the command.
pub fn missing_script(argv: &Argv, directory: &Path, files: &dyn Files) -> Option<String> {
    missing_among(&risk::started(argv.words()), directory, files)
}

/// Returns the first word after the `reviewed` ones of a command line that becomes code: a program, or the script of an
/// interpreter. Such a word is an argument of a call, and no approval binds the file that it names.
pub fn code_of_arguments(argv: &Argv, reviewed: usize) -> Option<&str> {
    let words = argv.words();
    // Without arguments there is none that could.
    if words.len() <= reviewed {
        return None;
    }
    let entry = risk::started(&words[..reviewed.min(words.len())]);
    let is_certain = |command: &&Started| command.standing != Standing::Guessed;
    let code = |commands: &[Started]| -> Vec<String> {
        let certain = commands.iter().filter(is_certain);
        let of_command = |command: &Started| -> Vec<String> {
            let launched =
                launched(&command.words).into_iter().flat_map(code_words).filter(|word| may_be_file(word));
            code_words(&command.words).into_iter().chain(launched).map(str::to_owned).collect()
        };
        certain.flat_map(of_command).collect()
    };
    let known = code(&entry);
    let found = code(&risk::started(words));
    let arguments = &words[reviewed.min(words.len())..];
    let last = entry.iter().rfind(is_certain);
    let first = arguments.iter().enumerate().find(|(at, word)| {
        let takes = |words: &[String]| takes_as_code(words, word, *at == 0);
        last.is_some_and(|last| {
            takes(&last.words) || (may_be_file(word) && launched(&last.words).is_some_and(takes))
        })
    });
    // A whole word, what is attached to an option or to a name, or a part of a text.
    let holds = |word: &String, code: &String| {
        word == code
            || (word.ends_with(code.as_str()) && (word.starts_with('-') || word.contains('=')))
            // A text that is split, such as that of `env -S`.
            || word.split_whitespace().any(|part| part.trim_matches(['"', '\'']) == code)
    };
    let is_new = |code: &&String| !code.is_empty() && !known.contains(*code);
    // Behind the end of a part, as with `find -exec … ;`, it is one more word of the same program.
    let is_behind_end = words[..reviewed.min(words.len())]
        .last_chunk::<2>()
        .is_some_and(|[before, last]| risk::is_separator(last) && !before.starts_with('-'));
    let mut candidates = arguments.iter().skip(usize::from(is_behind_end));
    let named = candidates.find(|word| found.iter().filter(is_new).any(|code: &String| holds(word, code)));
    // A text that is split is spelled in too many ways to find its words again.
    let is_split = |word: &&String| word.contains(|c: char| c.is_whitespace() || "\\\"'$".contains(c));
    let is_changed = || {
        found.iter().any(|code| is_new(&code))
            || (risk::is_unread(words) && !risk::is_unread(&words[..reviewed]))
    };
    let text = arguments.iter().find(is_split).filter(|_| is_changed());
    first.map(|(_, word)| word).or(named).or(text).map(String::as_str)
}

/// Returns the command within the words of a launcher, if its program is known: the first word behind options and
/// verbs. A word behind an option may be its value.
fn launched(words: &[String]) -> Option<&[String]> {
    let known = |word: &String| Program::of(word);
    words.first().and_then(known).filter(|first| first.role() == Role::Launcher)?;
    let is_option = |word: &str| word.starts_with('-') && word != "--";
    for at in 1..words.len() {
        let (before, word) = (&words[at - 1], &words[at]);
        if is_option(word) || word == "--" || (at == 1 && VERBS.contains(&word.as_str())) {
            continue;
        }
        if !is_option(before) {
            return known(word).map(|_| &words[at..]);
        }
    }
    None
}

/// Options by which compilers find or load programs and libraries.
const OF_COMPILERS: &[&str] = &[
    "--prefix",
    "--specs",
    "-B",
    "-Wa,",
    "-Wl,",
    "-Wp,",
    "-Xlinker",
    "-fplugin",
    "-fuse-ld",
    "-iplugindir",
    "-specs",
    "-wrapper",
];

/// Options by which package managers and node find settings and code.
const OF_JAVASCRIPT: &[&str] = &[
    "--experimental-loader",
    "--import",
    "--loader",
    "--node-options",
    "--prefix",
    "--preload",
    "--require",
    "--script-shell",
    "--test-reporter",
    "--userconfig",
];

/// Options by which go finds code, and starts programs.
const OF_GO: &[&str] = &["-C", "-exec", "-modfile", "-overlay", "-toolexec", "-vettool"];

/// Returns whether a word is an option that makes a program load code by its value, or the value of one.
fn loads_code(row: &Row, words: &[String], word: &str, is_next: bool) -> bool {
    // What stands behind a script is its own.
    if script_of(words).is_some() {
        return false;
    }
    let options = match row.finds {
        Finds::Compiler => OF_COMPILERS,
        Finds::Go => OF_GO,
        Finds::Build if row.names.contains(&"cargo") => &["--config", "--manifest-path"][..],
        Finds::JavaScript | Finds::Packages => OF_JAVASCRIPT,
        Finds::Perl | Finds::Ruby => &["-I", "-M", "-m", "-r"][..],
        _ => return false,
    };
    let begins = |word: &str| options.iter().any(|option| word.starts_with(option));
    begins(word) || (is_next && words.last().is_some_and(|last| options.contains(&last.as_str())))
}

/// Words behind a program that do not name what it runs yet.
const VERBS: &[&str] = &["dlx", "exec", "rum", "run", "run-script", "shell", "tool", "urn", "x"];

/// The same behind interpreters.
const INTERPRETER_VERBS: &[&str] = &["bench", "run", "serve", "start", "task", "test", "watch"];

/// Programs whose first operand, behind such a word, is no program yet: a directory, a name of a version or a profile.
const ONE_BEFORE: &[&str] =
    &["aws-vault", "direnv", "envdir", "faketime", "runcon", "rustup", "s6-envdir", "switch_root"];

/// Verbs of package managers behind which a directory is a package whose scripts run.
pub(super) const PACKAGE_VERBS: &[&str] =
    &["add", "i", "in", "install", "install-test", "it", "link", "ln", "pack", "publish", "rb", "rebuild"];

/// Options of launchers with a program as value, or before one.
const BEFORE_PROGRAM: &[&str] = &["--args", "--command", "--exec", "--startas", "-c", "-e", "-f", "-x"];

/// Returns whether a word behind a command becomes the program or the script that it runs: the program of the command
/// is one that runs others, or scripts, and none of its words names one for certain. A compiler takes options from any
/// file `@x`.
fn takes_as_code(words: &[String], word: &str, is_next: bool) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let Some(known) = Program::of(program) else { return false };
    let row = known.row();
    if row.finds == Finds::Compiler && word.starts_with('@') || loads_code(row, words, word, is_next) {
        return true;
    }
    if row.finds == Finds::JavaScript && !word.starts_with('-') && runs_operands(row, words, word, is_next) {
        return true;
    }
    if row.finds == Finds::DotCommands && is_dot_command(word) {
        return true;
    }
    if row.finds == Finds::PythonPackages && python::package_folder(word).is_some() {
        return args.iter().any(|verb| matches!(verb.as_str(), "download" | "install" | "wheel"));
    }
    if row.finds == Finds::Python
        && let Some(at) = args.iter().position(|word| word == "pip")
        && at.checked_sub(1).is_some_and(|before| args[before].ends_with('m'))
    {
        return takes_as_code(&args[at..], word, is_next);
    }
    let is_file = may_be_file(word);
    let named = names(row, args, is_file);
    let is_of_packages = named.first().is_some_and(|verb| PACKAGE_VERBS.contains(verb));
    if row.finds == Finds::Packages && is_of_packages && is_directory(word) {
        return matches!(row.role, Role::Subcommands(_));
    }
    if !is_next {
        return false;
    }
    let last = args.last().map(String::as_str);
    // `yarn workspace NAME` is as `yarn` there.
    let named = match named[..] {
        ["workspace", _, ref rest @ ..] if row.finds == Finds::Packages => rest,
        // This script of npm starts what follows.
        ["run" | "run-script" | "rum" | "urn", "env"] if row.finds == Finds::Packages => return is_file,
        ref named => named,
    };
    let one_before = usize::from(ONE_BEFORE.contains(&known.name));
    let verbs = if row.role == Role::Interpreter { INTERPRETER_VERBS } else { VERBS };
    let names_none = if is_file {
        named.iter().skip_while(|word| verbs.contains(word)).count() <= one_before
    } else {
        named.len() < 2 && named.first().is_none_or(|word| VERBS.contains(word))
    };
    match row.role {
        _ if row.finds == Finds::Java => names_none,
        Role::Launcher => {
            names_none || (is_file && last.is_some_and(|last| last == "--" || BEFORE_PROGRAM.contains(&last)))
        }
        Role::Interpreter if row.finds == Finds::Python => {
            let tests = args.iter().position(|word| matches!(word.as_str(), "unittest" | "pytest"));
            let is_module = |at: usize| at.checked_sub(1).is_some_and(|before| args[before].ends_with('m'));
            tests.filter(|at| is_file && is_module(*at)).is_some_and(|at| {
                let row = Program::of("pytest").map_or(row, Program::row);
                let named = names(row, &args[at + 1..], true);
                !is_found_test(word) || named.iter().any(|word| *word != "discover")
            })
        }
        Role::Interpreter => {
            row.script == Script::Unknown
                && !matches!(row.finds, Finds::Awk | Finds::Python)
                && names_none
                && !args.iter().any(|word| known.takes_code(word))
        }
        Role::Subcommands(launching) => match named.first() {
            None => row.finds == Finds::Packages || launching.contains(&word),
            Some(verb) => {
                let starts =
                    launching.contains(verb) || (row.finds == Finds::Packages && VERBS.contains(verb));
                starts && (named.len() < 2 || (is_file && named.len() <= 1 + one_before))
            }
        },
        _ if row.finds == Finds::Parts => named.is_empty() && !is_value(row, last) && !word.starts_with('-'),
        _ if row.finds == Finds::Go => {
            is_file && matches!(named, ["run" | "test"]) && !is_value(row, last) && !word.starts_with('-')
        }
        _ if row.finds == Finds::PythonTests => is_file && (!is_found_test(word) || !named.is_empty()),
        _ => false,
    }
}

/// Returns whether the next word is the value of this one.
fn is_value(row: &Row, last: Option<&str>) -> bool {
    last.is_some_and(|last| last.starts_with('-') && !last.contains('=') && takes_next(row, last))
}

/// Tells whether an option of a program takes the next word.
fn takes_next(row: &Row, word: &str) -> bool {
    row.spelling.long_valued.contains(&word) || row.spelling.takes_next_word(word)
}

/// Returns whether a runner of tests, which was given none, finds what a word names among the tests that an approval
/// binds: below the directory, and not where tests are not looked for.
fn is_found_test(word: &str) -> bool {
    let is_outside = word.starts_with('/') || word.starts_with('~');
    let parts = word.split('/').filter(|part| *part != ".");
    !is_outside
        && !parts.into_iter().any(|part| part.starts_with('.') || matches!(part, "node_modules" | "venv"))
}

/// Returns whether a word may name a file or a module in a directory.
fn may_be_file(word: &str) -> bool {
    word.contains(['/', '.'])
}

/// Lists the words that are no options nor values of options. Where the options of a program are not known, whatever
/// stands behind one may be its value; if that is not certain, what looks like a file does not count.
pub(super) fn names<'w>(row: &Row, args: &'w [String], is_certain: bool) -> Vec<&'w str> {
    let spelling = &row.spelling;
    let is_known = !spelling.valued.is_empty() || !spelling.long_valued.is_empty();
    let mut names = Vec::new();
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "--" {
            names.extend(words.by_ref());
        } else if !word.starts_with('-') || word == "-" {
            names.push(word);
        } else {
            let is_short = !word.starts_with("--");
            let is_flag = is_short
                && (word.ends_with(|c: char| c.is_ascii_digit())
                    || word[1..].chars().all(|letter| spelling.flags.contains(letter)));
            let is_complete = word.contains('=') || is_flag;
            let takes_next = if is_known { takes_next(row, word) } else { !is_complete };
            if takes_next && !word.contains('=') {
                let value = words.next();
                // What does not look like a file may be a program.
                names.extend(value.filter(|value| !is_certain && !is_known && !value.starts_with("/dev/")));
            }
        }
    }
    names
}

/// Returns whether options or a verb make a JavaScript interpreter run what its next operand names: a script, or with
/// `--test` each of them.
fn runs_operands(row: &Row, words: &[String], word: &str, is_next: bool) -> bool {
    let args = &words[1..];
    let has = |option: &str| args.iter().any(|arg| arg == option) && script_of(words).is_none();
    let named = names(row, args, true);
    // The first operand of `bun` and `tsx` may be a verb.
    let is_verb = matches!(named[..], ["exec" | "run" | "test" | "watch" | "x"]);
    (has("--test") && may_be_file(word))
        || (is_next && (is_verb || (named.is_empty() && (has("--run") || has("--watch")))))
}

/// Lists the words of a command that name what runs: the program, the script of an interpreter, the module of Python
/// with the script that it runs, files of code after options, and variables that make takes as its shell or options.
pub(crate) fn code_words(words: &[String]) -> Vec<&str> {
    let Some((program, args)) = words.split_first() else { return Vec::new() };
    let mut found = vec![program.as_str()];
    found.extend(script_of(words).map(|script| script.word));
    let Some(known) = Program::of(program) else { return found };
    match known.row().finds {
        Finds::Python => found.extend(python::module_words(args)),
        Finds::PythonCoverage => python::launched_words("coverage", args, &mut found),
        Finds::Make => {
            found.extend(args.iter().map(String::as_str).filter(|word| changes_make(word)));
            let short = ['C', 'I'].into_iter();
            found.extend(short.flat_map(|option| short_values(&known.row().spelling, args, option)));
            let long = ["--directory", "--include-dir"].into_iter();
            found.extend(long.flat_map(|option| long_values(args, option)));
        }
        // Settings there start programs.
        Finds::GitCommands => {
            found.extend(long_values(args, "--git-dir"));
            let moves = args.windows(2).filter(|pair| pair[0] == "-C");
            found.extend(moves.map(|pair| pair[1].as_str()));
            found.extend(args.iter().filter_map(|word| word.strip_prefix("--exec-path=")));
        }
        _ => {}
    }
    let hooks = known.row().hooks.iter().filter(|hook| hook.value != Value::Output);
    for hook in hooks {
        let short = hook.short.chars().flat_map(|option| short_values(&known.row().spelling, args, option));
        found.extend(short.chain(hook.long.iter().flat_map(|option| long_values(args, option))));
    }
    found
}

/// Returns the directory that an interpreter changes to before it looks for its script.
pub(super) fn own_directory(words: &[String]) -> PathBuf {
    let Some((program, args)) = words.split_first() else { return PathBuf::new() };
    let Some(known) = Program::of(program).filter(|known| known.row().finds == Finds::Ruby) else {
        return PathBuf::new();
    };
    // Options after the script are arguments of it.
    let end = script_of(words).and_then(|script| args.iter().position(|word| word == script.word));
    let args = &args[..end.unwrap_or(args.len())];
    ['C', 'X'].into_iter().flat_map(|option| short_values(&known.row().spelling, args, option)).collect()
}

/// Variables of make that are programs, or options of make.
pub(super) const OF_MAKE: &[&str] = &[
    ".SHELLFLAGS",
    "AR",
    "AS",
    "CC",
    "CO",
    "CPP",
    "CTANGLE",
    "CWEAVE",
    "CXX",
    "FC",
    "GET",
    "GNUMAKEFLAGS",
    "LD",
    "LEX",
    "LINT",
    "M2C",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKEINFO",
    "MFLAGS",
    "NODE",
    "PC",
    "PERL",
    "PYTHON",
    "RANLIB",
    "RM",
    "SHELL",
    "TANGLE",
    "TEX",
    "TEXI2DVI",
    "WEAVE",
    "YACC",
];

/// Tells whether a word sets a variable of make that is a program, or options of make.
fn changes_make(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.trim_end_matches([':', '+', '?', '!']).trim();
    OF_MAKE.contains(&name)
}

/// Returns a script of one of these commands that does not exist.
pub(super) fn missing_among(commands: &[Started], directory: &Path, files: &dyn Files) -> Option<String> {
    commands.iter().filter(|command| command.standing == Standing::Certain).find_map(|command| {
        let script = script_of(&command.words).filter(|script| script.is_exact)?;
        let own = own_directory(&command.words);
        let found = files.look(&directory.join(&command.directory).join(own).join(script.word));
        let is_missing = matches!(found, Seen::Inside { kind: None, .. } | Seen::Outside(None));
        is_missing.then(|| script.word.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expect: Option<(&str, bool)>) {
        let argv = Argv::parse(command).unwrap();
        let commands = risk::started(argv.words());
        let scripts = commands.iter().filter_map(|command| script_of(&command.words));
        let found: Vec<_> = scripts.map(|script| (script.word, script.is_exact)).collect();
        assert_eq!(found, Vec::from_iter(expect), "{command}");
    }

    #[test]
    fn the_first_operand_of_an_interpreter_is_its_script() {
        check("python3 bin/x.py --flag", Some(("bin/x.py", true)));
        check("/usr/bin/python3.11 -u -W ignore x.py", Some(("x.py", true)));
        check("python3 -Wignore -X dev x.py", Some(("x.py", true)));
        check("sh /opt/x/x.sh", Some(("/opt/x/x.sh", true)));
        check("bash -eu -o pipefail ./x.sh", Some(("./x.sh", true)));
        check("bash -euo pipefail ./x.sh", Some(("./x.sh", true)));
        check("bash x.sh", Some(("x.sh", false)));
        check("node --no-warnings bin/x.js", Some(("bin/x.js", true)));
        check("node --title x -r ./hook bin/x.js", Some(("bin/x.js", true)));
        check("node bin/x", Some(("bin/x", false)));
        check("perl -w x.pl", Some(("x.pl", true)));
        check("perl -I lib -MFoo x.pl", Some(("x.pl", true)));
        check("env A=b python3 x.py", Some(("x.py", true)));
        check("timeout 5 nice -n 5 sh ./x.sh", Some(("./x.sh", true)));
        check("timeout -s KILL 5 env -u X python3 x.py", Some(("x.py", true)));
        check("env -C other python3 x.py", Some(("x.py", true)));
        check("env -S 'python3 x.py'", Some(("x.py", true)));
    }

    #[test]
    fn an_argument_that_chooses_code_is_found() {
        for (command, argument, is_code) in [
            ("make", "-fsub/Makefile", true),
            ("make", "--file=sub/Makefile", true),
            ("make", "-Csub", true),
            ("make", "--directory=sub", true),
            ("make -f Mk", "CC=bin/cc", true),
            ("make -f Mk", "CC:=nice bin/cc", true),
            ("make -f Mk", "VERSION=1.2", false),
            ("make -f Mk", "test", false),
            ("env", "-Sbin/cc", true),
            ("awk", "-fx.awk", true),
            ("awk -F ;", "-fx.awk", true),
            ("awk -f a.awk", "x=;", false),
            ("env -u && python3", "x.py", true),
            ("xargs -d ; -a bin/list python3", "x.py", true),
            ("tar cf x.tar", "-Ibin/cc", true),
            ("tar cf x.tar", "--use-compress-program=bin/cc", true),
            ("tar cf x.tar", "bin/cc", false),
            ("gcc -c a.c", "-Bl/", true),
            ("gcc -c a.c -B", "l/", true),
            ("gcc -c a.c", "-fplugin=l/p.so", true),
            ("gcc -c a.c", "-Wl,-plugin,l/p.so", true),
            ("gcc -c", "a.c", false),
            ("gcc -c a.c", "-O2", false),
            ("npm test", "--prefix=sub", true),
            ("npm test", "--watch", false),
            ("node", "--require=./x.js", true),
            ("node bin/x.js", "--require=./x.js", false),
            ("perl -MFoo", "-Il", true),
            ("perl x.pl", "-Il", false),
            ("pytest", "tests/test_a.py", false),
            ("pytest -q", ".h/y.py", true),
            ("pytest tests", "sub/y.py", true),
            ("python3 -m unittest", "tests.a", false),
            ("python3 -B -m unittest tests.z", "sub.y", true),
            ("python3 -m unittest -v", "node_modules/y.py", true),
            ("python3 -m json.tool", "a.json", false),
            ("npm run --prefix ./sub", "build", true),
            ("npm exec -w ./w", "y", true),
            ("npx --cache ./c", "y", true),
            ("npm rum", "x", true),
            ("npm run env", "./y", true),
            ("npm --prefix p run x", "1", false),
            ("node --test", "1", false),
            ("python3 -m unittest test_a", "1", false),
            ("python3 -m pytest tests", "1", false),
            ("find . -exec sh ./a.sh {} ;", "1", false),
            ("gdb -x a.gdb", "1", false),
            ("strace -o ./o ls", "1", false),
            ("npm run build", "y", false),
            ("npm run --prefix ./sub build", "y", false),
            ("go test", "./cmd", true),
            ("go vet", "./cmd", false),
            ("go test -run", "a.b", false),
            ("go test", "-run=a.b", false),
            ("go test -count 1 -run", "a.b", false),
            ("go test -run a.b", "./cmd", true),
            ("go test", "-exec=./y", true),
            ("go test -exec", "./y", true),
            ("cargo --config", "build.rustc=\"./y\"", true),
            ("cargo build", "--config=./y.toml", true),
            ("cargo build --features", "y", false),
            ("go run -tags a.b", "./cmd", true),
            ("node --test", "t/y", true),
            ("node --test", "t/*", true),
            ("node --test t/a.test.js", "t/y", true),
            ("node --test", "/opt/y.js", true),
            ("node --test", "../y.js", true),
            ("node --test", "t/y.js", true),
            ("node --test", "--test-only", false),
            ("node --watch", "t/y.js", true),
            ("node --run", "build", true),
            ("node --watch bin/x.js", "t/y.js", false),
            ("node bin/x.js --test", "t/y", false),
            ("bun run", "build", true),
            ("bun run build", "x", false),
            ("env -S", "'bash\\_a.sh'", true),
            ("env -S", "'ba\"sh\" \"a\".sh'", true),
            ("env -S", "'b${X}ash a.sh'", true),
            ("python3 bin/x.py", "'a \"b\" c'", false),
            ("git -C", "sub", true),
            ("git -C sub status", "1", false),
            ("uv run --frozen black --check", "1", false),
            ("env LC_ALL=C grep -n node", "tests/a.py", false),
            ("docker run --rm img grep java", "src/a.csv", false),
            ("npm run node", "src/a.csv", false),
            ("pytest --color yes", "tests/test_a.py", false),
            ("uv run pytest --cov src", "tests/test_a.py", false),
            ("python3 -m pytest -k name", "tests/test_a.py", false),
            ("run-parts -v lib", "1", false),
            ("git --exec-path", "1", false),
            ("npm install", "lodash.debounce", false),
            ("npm pack --pack-destination", "d.txt", false),
            ("env -S", "'bash a.sh'", true),
            ("nice env -i -S", "'/usr/bin/python3 x.py'", true),
            ("watch -g", "'bash a.sh'", true),
            ("python3 bin/x.py", "'bash a.sh'", false),
            ("run-parts", "lib", true),
            ("run-parts --regex ^a", "lib", true),
            ("run-parts --arg x -u 022", "lib", true),
            ("run-parts --regex", "^a", false),
            ("run-parts --regex=^a lib", "x", false),
            ("run-parts lib", "x", false),
            ("make -s go -I", "lib", true),
            ("make -s go", "-Ilib", true),
            ("make -s go", "--include-dir=lib", true),
            ("git --git-dir", "gd", true),
            ("git status", "gd", false),
            ("java --source 17", "A.java", true),
            ("java --source 17 A.java", "b.txt", false),
            ("node --test-reporter spec --test", "t/y.js", true),
            ("node --test-reporter spec --test", "1", false),
            ("npx node --test", "t/y.js", true),
            ("npx node --test", "1", false),
            ("npx node", "t/y.js", true),
            ("npx node t/x.js", "t/y.js", false),
            ("npx eslint", "src/a.js", false),
            ("uv run pytest -q", "tests/y.py", false),
            ("pytest -q tests/t.py", "sub/y.py", true),
            ("pytest -k name", "tests/y.py", false),
            ("sqlite3 x.db", ".read", true),
            ("sqlite3 x.db", "SELECT", false),
            ("npm pack", "./p", true),
            ("npm pack", "1", false),
            ("npm install ./a", "./p", true),
            ("python3 -m pickle", "x.pkl", true),
            ("pip install", "requests", false),
            ("pip install", "requests==2.1", false),
            ("pip install -r", "requirements.txt", false),
            ("pip3 install", "./p", true),
            ("pip install", "./p-1-py3-none-any.whl", false),
            ("python3 -m pip install -q", "-e./p", true),
            ("python3 -m pip show", "./p", false),
            ("python3 -m pip install", "requests", false),
        ] {
            let reviewed = Argv::parse(command).unwrap().words().len();
            let argv = Argv::parse(&format!("{command} {argument}")).unwrap();
            assert_eq!(code_of_arguments(&argv, reviewed).is_some(), is_code, "{command} {argument}");
        }
    }

    #[test]
    fn what_is_no_script_is_not_taken_for_one() {
        for command in [
            "python3",
            "python3 -m pkg.tool",
            "python3 -c pass",
            "python3 -",
            "bash -c ls",
            "sh -s x",
            "node -e 1 x.js",
            "node --test tests/a.js",
            "grep python bin/x.py",
            "cat bin/x.py",
            "deno run https://example.org/x.ts",
            "perl -ne print x.txt",
        ] {
            check(command, None);
        }
    }
}
