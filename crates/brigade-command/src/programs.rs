//! The one table of what programs are: who runs whom, how options are spelled, where code is found.
//!
//! Risk, binding and redaction ask this table, so a program that one of them knows is known to all. A row stands for
//! one program under all its names. [`Program::of`] finds a row by the first word of a command: a name or a path, with
//! or without a version (`/usr/bin/python3.11`).

mod table;

use std::borrow::Cow;

pub(crate) use table::DOWNLOADERS;

/// What a program is, by one of its names.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name that was found, without a version.
    pub name: &'static str,
    row: &'static Row,
}

/// One row of the table: a program, or several that are alike in everything that the table tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) names: &'static [&'static str],
    pub(crate) role: Role,
    pub(crate) spelling: Spelling,
    /// Whether its first operand is a script.
    pub(crate) script: Script,
    /// How it finds code that its words name only in part.
    pub(crate) finds: Finds,
    /// Files that it reads in the directory that it starts in, without being told.
    pub(crate) files: &'static [&'static str],
    pub(crate) hooks: &'static [Hook],
    pub(crate) password: Password,
    /// Whether `--secret` names a secret that is stored elsewhere.
    pub(crate) stores_secrets: bool,
    /// Whether names carry versions: `python3.11`, `bash-5.2`.
    pub(crate) versioned: bool,
}

/// What a program does with the words behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Reads commands from a text or a file.
    Shell,
    /// Reads a program from a text or a file.
    Interpreter,
    /// Runs a command with the rights of another user.
    Privilege,
    /// Removes files.
    Remove,
    /// Reads its arguments as commands: `eval`, `source`, `.`.
    Eval,
    /// Runs the command that follows its options and this many operands.
    Wrapper {
        /// How many words stand between the options and the command.
        operands: usize,
    },
    /// Runs a command given somewhere among its arguments, with options too many to know.
    Launcher,
    /// Runs a command in another root: in a container, on another machine.
    Container,
    /// Runs a command behind one of these subcommands.
    Subcommands(&'static [&'static str]),
    /// `find`, which runs commands given after `-exec`.
    Find,
    /// `git`, which runs what settings and options name.
    Git,
    /// Anything else.
    Other,
}

/// How a program spells its options.
///
/// A short option that is in none of the lists takes no value. A long option takes the next word only if it is listed;
/// any value may be attached to it by `=`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling {
    /// Short options whose value is the rest of the bundle, or the next word.
    pub(crate) valued: &'static str,
    /// Short options whose value, if any, is the rest of the bundle.
    pub(crate) attached: &'static str,
    /// Short options that are known to take no value.
    pub(crate) flags: &'static str,
    /// Long options that take the next word.
    pub(crate) long_valued: &'static [&'static str],
    /// Short options that announce code.
    pub(crate) code: &'static str,
    /// Long options that announce code.
    pub(crate) long_code: &'static [&'static str],
    /// Short options after which a program is named otherwise, such as `-m` of Python.
    pub(crate) ends: &'static str,
    /// The option that changes the directory which the command starts in: short, and long.
    pub(crate) directory: Option<(char, &'static str)>,
}

/// What an interpreter takes its first operand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Unknown, or something else than a script.
    Unknown,
    /// A file of this name.
    File,
    /// A file of this name, or one on `PATH`.
    OnPath,
    /// A file whose name may lack its end.
    ByName,
}

/// How a program finds code that its words name only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finds {
    /// By whole names alone.
    Nothing,
    /// By modules and packages.
    Python,
    /// Tests, and what configures them.
    PythonTests,
    /// `coverage run`.
    PythonCoverage,
    /// By names without an end, and by directories.
    JavaScript,
    /// Scripts and programs of packages.
    Packages,
    /// Makefiles.
    Make,
    /// Modules in directories that `-I` names.
    Perl,
    /// Libraries in directories that `-I` names.
    Ruby,
    /// Whatever `find` finds.
    FoundFiles,
    /// Subcommands in the directory that `--exec-path` names.
    GitCommands,
    /// Every file of a directory.
    Parts,
    /// `go run`.
    Go,
    /// Compilers in the directory that `-B` names.
    Compiler,
}

/// Options of one program by which it is made to run something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook {
    pub(crate) value: Value,
    /// Short options, whose values may be attached.
    pub(crate) short: &'static str,
    /// Long options.
    pub(crate) long: &'static [&'static str],
}

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text for a shell.
    ShellText,
    /// A command in one text.
    Command,
    /// Code in the program's own language.
    Code,
    /// A file with commands, which may be standard input.
    File,
}

/// Where a program takes a password from its command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Password {
    /// It has no such option that its name would not tell.
    #[default]
    None,
    /// `-u name:password` and its long forms.
    User,
    /// `-p password`, in the same word or the next.
    Short,
    /// `-ppassword`, in the same word.
    ShortAttached,
    /// `-p password` behind the subcommand `login`.
    AfterLogin,
    /// `-p` is something else, whatever a program before it means by that: `sshpass … ssh -p 22`.
    OtherShort,
}

impl Program {
    /// Finds the program that a word names; `None` if the table does not have it.
    pub fn of(word: &str) -> Option<Program> {
        let name = base_name(word);
        // `. file` is no name with its version taken off.
        if word == "." {
            return exactly(".");
        }
        exactly(&name).or_else(|| {
            let plain = without_version(&name);
            let versioned = || exactly(plain).filter(|program| program.row.versioned);
            // `x86_64-linux-gnu-gcc-12`
            let driver = || {
                let (_, last) = plain.rsplit_once('-')?;
                exactly(last).filter(|program| program.row.finds == Finds::Compiler)
            };
            // The loader of programs: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`.
            let loader = || if is_loader(&name) { exactly("ld.so") } else { None };
            versioned().or_else(driver).or_else(loader)
        })
    }

    /// Returns what the program does with the words behind it.
    pub fn role(self) -> Role {
        self.row.role
    }

    /// Returns where the program takes a password from its command line.
    pub fn password(self) -> Password {
        self.row.password
    }

    /// Tells whether `--secret` of the program names a secret that is stored elsewhere.
    pub fn stores_secrets(self) -> bool {
        self.row.stores_secrets
    }

    pub(crate) fn row(self) -> &'static Row {
        self.row
    }

    /// Returns the name of a shell or interpreter.
    pub(crate) fn interpreter(self) -> Option<&'static str> {
        matches!(self.row.role, Role::Shell | Role::Interpreter).then_some(self.name)
    }

    /// Tells whether files that words behind it name may be code for it, or for what it starts.
    pub(crate) fn runs_code(self) -> bool {
        let row = self.row;
        self.interpreter().is_some()
            || self.starts_others()
            || row.finds != Finds::Nothing
            || !row.files.is_empty()
            || !row.hooks.is_empty()
    }

    /// Tells whether words behind it may name another program that it starts.
    pub(crate) fn starts_others(self) -> bool {
        match self.row.role {
            Role::Wrapper { .. } | Role::Launcher | Role::Container => true,
            Role::Subcommands(_) | Role::Privilege | Role::Find => true,
            Role::Shell | Role::Interpreter | Role::Remove | Role::Eval | Role::Git | Role::Other => false,
        }
    }
}

impl Spelling {
    /// Tells whether an option takes the next word as its value. A long option counts by any beginning.
    pub(crate) fn takes_next_word(&self, option: &str) -> bool {
        if option.starts_with("--") {
            return self.long_valued.iter().any(|name| is_long(option, name));
        }
        // In a bundle the first valued option takes the rest, or the next word when it is the last.
        let bundle = &option[1..];
        let first =
            bundle.char_indices().find(|(_, c)| self.valued.contains(*c) || self.attached.contains(*c));
        first.is_some_and(|(index, c)| self.valued.contains(c) && index + c.len_utf8() == bundle.len())
    }
}

/// Lists the values that a short option has among these words: the rest of its bundle, or the next word.
pub(crate) fn short_values<'a>(spelling: &Spelling, args: &'a [String], option: char) -> Vec<&'a str> {
    let takes_rest = |c: char| [spelling.valued, spelling.attached, spelling.code].concat().contains(c);
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) else { continue };
        let Some((index, letter)) = bundle.char_indices().find(|(_, c)| *c == option || takes_rest(*c))
        else {
            continue;
        };
        if letter == option {
            match &bundle[index + letter.len_utf8()..] {
                "" => found.extend(args.get(at + 1).map(String::as_str)),
                attached => found.push(attached),
            }
        }
    }
    found
}

/// Lists the values that a long option has among these words, by any beginning of its name.
pub(crate) fn long_values<'a>(args: &'a [String], option: &str) -> Vec<&'a str> {
    let value = |(at, word): (usize, &'a String)| match word.split_once('=') {
        Some((name, value)) => is_long(name, option).then_some(value),
        None => args.get(at + 1).map(String::as_str).filter(|_| is_long(word, option)),
    };
    args.iter().enumerate().filter_map(value).collect()
}

/// Tells whether a word, without a value behind `=`, is a long option or a beginning of its name.
pub(crate) fn is_long(word: &str, name: &str) -> bool {
    2 < word.len() && word.starts_with("--") && name.starts_with(word)
}

/// Gives the last part of a program's path, in lower case and without `.exe`.
pub(crate) fn base_name(program: &str) -> Cow<'_, str> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let lower = name.to_ascii_lowercase();
        return Cow::Owned(lower.strip_suffix(".exe").map(str::to_owned).unwrap_or(lower));
    }
    Cow::Borrowed(name.strip_suffix(".exe").unwrap_or(name))
}

fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") && name.contains(".so")
}

fn exactly(name: &str) -> Option<Program> {
    let named = |(row, nth): (u16, u16)| {
        let row = &table::ROWS[usize::from(row)];
        Program { name: row.names[usize::from(nth)], row }
    };
    let found = NAMES.binary_search_by(|at| named(*at).name.cmp(name)).ok()?;
    Some(named(NAMES[found]))
}

/// The rows and the names in them, by name. It is made by the compiler: most commands ask for a program or two, and
/// making it would take longer than all else that they do with them.
static NAMES: [(u16, u16); count_names()] = sort_names();

const fn count_names() -> usize {
    let (mut count, mut row) = (0, 0);
    while row < table::ROWS.len() {
        count += table::ROWS[row].names.len();
        row += 1;
    }
    count
}

const fn sort_names() -> [(u16, u16); count_names()] {
    let mut names = [(0, 0); count_names()];
    let (mut count, mut row) = (0, 0);
    while row < table::ROWS.len() {
        let mut nth = 0;
        while nth < table::ROWS[row].names.len() {
            let mut at = count;
            while 0 < at {
                let (before, nth_before): (u16, u16) = names[at - 1];
                let before = table::ROWS[before as usize].names[nth_before as usize];
                if !is_before(table::ROWS[row].names[nth], before) {
                    break;
                }
                names[at] = names[at - 1];
                at -= 1;
            }
            names[at] = (row as u16, nth as u16);
            count += 1;
            nth += 1;
        }
        row += 1;
    }
    names
}

const fn is_before(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}

/// Lists every program of the table, by each of its names.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = Program> {
    table::ROWS.iter().flat_map(|row| row.names.iter().map(move |name| Program { name, row }))
}
