//! The table of programs: what they run, how their options are spelled, and where they find code.
//!
//! Risk, binding and redaction use the same table, so all of them know the same programs. A row has one program with
//! all its names. [`Program::from_word`] finds a row by the first word of a command: a name or a path, with or without
//! a version (`/usr/bin/python3.11`).

mod code_names;
mod container;
mod index;
mod logins;
mod options;
mod password;
mod row;
mod table;

use std::borrow::Cow;

pub use code_names::{PACKAGE_FILES, is_code_name, is_found_beside, is_loaded_from};
pub use container::ContainerOptions;
use index::{TAKERS, begins_one, exactly, last_part, may_be_name};
pub(crate) use options::DOWNLOADERS;
pub use password::{Password, Place};
pub(crate) use table::{JAVASCRIPT_ENDS, PYTHON_ENDS};

/// The names of Python itself, without a version. IPython parses its options differently.
pub(crate) const PYTHON: &[&str] = &["python", "pypy", "pythonw", "py"];

/// A known program, by one of its names.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The matched name, without a version.
    pub name: &'static str,
    row: &'static Row,
}

/// One row of the table: a program, or several programs with equal properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) names: &'static [&'static str],
    pub(crate) role: Role,
    pub(crate) spelling: Spelling,
    /// How the program takes its first operand.
    pub(crate) script: Script,
    /// Which code the program finds automatically.
    pub(crate) finds: Finds,
    /// Files that it reads from its working directory by default.
    pub(crate) files: &'static [&'static str],
    /// The endings of files with code for it.
    pub(crate) ends: &'static [&'static str],
    pub(crate) hooks: &'static [Hook],
    /// Which operands only name what the program writes.
    pub(crate) writes: Writes,
    /// Where it takes passwords.
    pub(crate) passwords: &'static [Password],
    /// Where the words of the started command are, if the role does not determine it.
    pub(crate) starts: Option<Starts>,
    /// Whether `--secret` names a secret that is stored elsewhere.
    pub(crate) stores_secrets: bool,
    /// Whether words with `=` before its command set variables.
    pub(crate) sets_variables: bool,
    /// The options of a container program to which variables are passed by name.
    pub(crate) container: Option<ContainerOptions>,
    /// Whether names can have versions: `python3.11`, `bash-5.2`.
    pub(crate) versioned: bool,
}

/// What a program does with its arguments.
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
        /// Number of words between the options and the command.
        operands: usize,
    },
    /// Runs a command somewhere in its arguments, and has too many options to list.
    Launcher,
    /// Runs a command in another root, such as a container or another machine.
    Container,
    /// Runs a command after one of these subcommands.
    Subcommands(&'static [&'static str]),
    /// `find`, which runs commands after `-exec`.
    Find,
    /// `git`, which runs commands in settings and options.
    Git,
    /// Anything else.
    Other,
}

/// How a program spells its options.
///
/// A short option in none of the lists takes no value. A long option takes the next word only if it is listed. Any long
/// option can have a value after `=`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling {
    /// Short options with a value in the rest of the bundle or the next word.
    pub(crate) valued: &'static str,
    /// Short options with an optional value in the rest of the bundle.
    pub(crate) attached: &'static str,
    /// Short options without a value.
    pub(crate) flags: &'static str,
    /// Long options that take the next word.
    pub(crate) long_valued: &'static [&'static str],
    /// Long options without a value that others begin with.
    pub(crate) long_flags: &'static [&'static str],
    /// Short options with code as value.
    pub(crate) code: &'static str,
    /// Long options with code as value.
    pub(crate) long_code: &'static [&'static str],
    /// Short options that name the program in another way, such as `-m` of Python.
    pub(crate) ends: &'static str,
    /// The short and long option for the working directory of the command.
    pub(crate) directory: Option<(char, &'static str)>,
}

/// How an interpreter takes its first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Unknown, or not a script.
    Unknown,
    /// As a file with this name.
    File,
    /// As a file with this name, or one on `PATH`.
    OnPath,
    /// As a file whose extension may be missing.
    ByName,
}

/// Which code a program finds automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finds {
    /// None, or unknown to the table.
    Nothing,
    /// Modules and packages of Python.
    Python,
    /// Files of JavaScript by names without extension, and directories.
    JavaScript,
    /// Scripts and programs of packages.
    Packages,
    /// Compilers and libraries in directories that options name.
    Compiler,
}

/// Which operands only name files that a program writes, creates or removes. It executes none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// None.
    Nothing,
    /// All.
    Operands,
    /// The last one.
    Last,
}

/// Options that make a program run something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook {
    pub(crate) value: Value,
    /// Short options, with values that may be attached.
    pub(crate) short: &'static str,
    /// Long options.
    pub(crate) long: &'static [&'static str],
}

/// The kind of value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text for a shell.
    ShellText,
    /// A command as one text.
    Command,
    /// Code in the language of the program.
    Code,
    /// A file with commands; it may be standard input.
    File,
    /// A file to write; after `|` or `!` a text for a shell.
    Output,
}

/// Where the started command is among the arguments of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Nowhere.
    Nothing,
    /// After the options and this many operands.
    Behind(usize),
    /// Anywhere.
    Anywhere,
    /// Anywhere after one of these words.
    BehindWords(&'static [&'static str]),
}

/// Words after which programs for containers and machines take a command.
const RUNNING: &[&str] = &["attach", "create", "debug", "enter", "exec", "run", "shell", "ssh", "start"];

impl Program {
    /// Finds the program for a word; `None` if the table does not have it.
    pub fn from_word(word: &str) -> Option<Program> {
        if may_be_name(last_part(word)) { Program::find(word) } else { None }
    }

    fn find(word: &str) -> Option<Program> {
        let name = base_name(word);
        // A workspace file with the name `r`, for example, is not such a program.
        if name.len() == 1 && word.contains('/') && !word.starts_with('/') {
            return None;
        }
        // `.` is a program, not a name with a removed version.
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

    /// Finds the program for a word if it takes passwords.
    ///
    /// Most words are excluded by their first two letters, so this is cheaper than [`Program::from_word`].
    ///
    /// ```
    /// use brigade_cmdline::Program;
    ///
    /// assert!(Program::that_takes_passwords("/usr/bin/mysql").is_some());
    /// assert!(Program::that_takes_passwords("make").is_none() && Program::that_takes_passwords("").is_none());
    /// ```
    pub fn that_takes_passwords(word: &str) -> Option<Program> {
        let name = last_part(word);
        let may_be_one = 1 < name.len() && begins_one(&TAKERS, name);
        if may_be_one {
            Program::from_word(word).filter(|program| !program.passwords().is_empty())
        } else {
            None
        }
    }

    /// Returns what the program does with its arguments.
    pub fn role(self) -> Role {
        self.row.role
    }

    /// Returns where the program takes passwords on its command line.
    pub fn passwords(self) -> &'static [Password] {
        self.row.passwords
    }

    /// Returns where the started command is among the arguments of the program.
    ///
    /// ```
    /// use brigade_cmdline::{Program, Starts};
    ///
    /// let starts = |program: &str| Program::from_word(program).unwrap().starts();
    /// assert_eq!((starts("timeout"), starts("ssh")), (Starts::Behind(1), Starts::Anywhere));
    /// assert_eq!((starts("mysql"), starts("npm")), (Starts::Nothing, Starts::BehindWords(&["exec", "x"])));
    /// ```
    pub fn starts(self) -> Starts {
        let of_role = || match self.row.role {
            Role::Wrapper { operands } => Starts::Behind(operands),
            Role::Privilege if self.name == "sudo" => Starts::Behind(0),
            Role::Privilege | Role::Launcher | Role::Find | Role::Eval => Starts::Anywhere,
            Role::Container => Starts::BehindWords(RUNNING),
            Role::Subcommands(words) => Starts::BehindWords(words),
            Role::Shell | Role::Interpreter | Role::Remove | Role::Git | Role::Other => Starts::Nothing,
        };
        self.row.starts.unwrap_or_else(of_role)
    }

    /// Returns whether an option takes the next word as its value, according to the table.
    pub fn takes_next_word(self, option: &str) -> bool {
        option.starts_with('-') && !option.contains('=') && self.row.spelling.takes_next_word(option)
    }

    /// Finds the first option with a value in a word of short options, and where the value begins. If the value is the
    /// next word, that is the end of this word.
    ///
    /// ```
    /// use brigade_cmdline::Program;
    ///
    /// let curl = Program::from_word("curl").unwrap();
    /// assert_eq!((curl.short_value("-sSu"), curl.short_value("-subob:x")), (Some(('u', 4)), Some(('u', 3))));
    /// assert_eq!((curl.short_value("-sS"), curl.short_value("--user")), (None, None));
    /// ```
    pub fn short_value(self, word: &str) -> Option<(char, usize)> {
        let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'))?;
        let takes_password =
            |letter| self.passwords().iter().any(|password| password.letters().contains(letter));
        let takes_value = |letter: char| self.row.spelling.valued.contains(letter) || takes_password(letter);
        let (at, letter) = bundle.char_indices().find(|(_, letter)| takes_value(*letter))?;
        Some((letter, 1 + at + letter.len_utf8()))
    }

    /// Returns whether words with `=` before its command set variables.
    pub fn sets_variables(self) -> bool {
        self.row.sets_variables
    }

    /// Returns the options of a container program to which variables are passed by name.
    pub fn container_options(self) -> Option<ContainerOptions> {
        self.row.container
    }

    /// Returns whether `--secret` names a secret that is stored elsewhere.
    pub fn stores_secrets(self) -> bool {
        self.row.stores_secrets
    }

    /// Returns whether code for the program may follow an option, as after `-c` of Python.
    ///
    /// ```
    /// use brigade_cmdline::Program;
    ///
    /// let takes_code = |program: &str, option: &str| Program::from_word(program).unwrap().takes_code(option);
    /// assert!(takes_code("python3", "-c") && takes_code("perl", "-pe") && takes_code("node", "--eval"));
    /// assert!(!takes_code("python3", "-m") && !takes_code("git", "-c"));
    /// ```
    pub fn takes_code(self, option: &str) -> bool {
        let spelling = &self.row.spelling;
        let is_bundle = option.starts_with('-') && !option.starts_with("--");
        self.row.role == Role::Interpreter
            && (spelling.long_code.contains(&option)
                || (is_bundle && option.chars().any(|letter| spelling.code.contains(letter))))
    }

    pub(crate) fn row(self) -> &'static Row {
        self.row
    }

    /// Returns the name of a shell or interpreter.
    pub(crate) fn interpreter(self) -> Option<&'static str> {
        matches!(self.row.role, Role::Shell | Role::Interpreter).then_some(self.name)
    }
}

impl Spelling {
    /// Returns whether an option takes the next word as its value. A long option also matches by any prefix.
    pub(crate) fn takes_next_word(&self, option: &str) -> bool {
        if option.starts_with("--") {
            return !self.long_flags.contains(&option)
                && self.long_valued.iter().any(|name| is_long(option, name));
        }
        // In a bundle, the first option with a value takes the rest, or the next word if it is the last one.
        let bundle = &option[1..];
        let first =
            bundle.char_indices().find(|(_, c)| self.valued.contains(*c) || self.attached.contains(*c));
        first.is_some_and(|(index, c)| self.valued.contains(c) && index + c.len_utf8() == bundle.len())
    }
}

/// Returns whether a word, without a value after `=`, is a long option or a prefix of it. Some names have one dash.
pub(crate) fn is_long(word: &str, name: &str) -> bool {
    let has_dashes = word.starts_with("--") || (word.starts_with('-') && !name.starts_with("--"));
    2 < word.len() && has_dashes && name.starts_with(word)
}

/// Returns the last part of a program's path, in lower case and without `.exe`.
pub(crate) fn base_name(program: &str) -> Cow<'_, str> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let lower = name.to_ascii_lowercase();
        return Cow::Owned(lower.strip_suffix(".exe").map(str::to_owned).unwrap_or(lower));
    }
    Cow::Borrowed(name.strip_suffix(".exe").unwrap_or(name))
}

/// Files that Python executes or imports, and files that tell Python or its tools where to find them.
pub(crate) const PYTHON_CODE: &[&str] = &[
    "._pth",
    ".egg",
    ".pth",
    ".py",
    ".pyc",
    ".pyd",
    ".pyo",
    ".so",
    ".whl",
    "pyproject.toml",
    "pytest.ini",
    "pyvenv.cfg",
    "setup.cfg",
    "tox.ini",
];

/// Files that control builds, and sources that they build.
pub(crate) const BUILD_ENDS: &[&str] =
    &[".bazel", ".bzl", ".cs", ".fs", ".gradle", ".kt", ".kts", ".ninja", ".sbt", ".zig", "pom.xml"];

fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") && name.contains(".so")
}

/// Lists the interpreters and shells that a program name may be misspelt for; none if the table has the name.
pub fn possible_interpreters(word: &str) -> impl Iterator<Item = &'static str> + use<> {
    /// Too many shorter names are similar to one in the table.
    const SHORTEST: usize = 5;
    let may_be_one = word.len() >= SHORTEST && !word.contains('/') && Program::from_word(word).is_none();
    let rows = if may_be_one { &table::ROWS[..] } else { &[] };
    let is_one = |row: &&Row| matches!(row.role, Role::Interpreter | Role::Shell);
    let names = rows.iter().filter(is_one).flat_map(|row| row.names.iter().copied());
    names.chain(may_be_one.then_some("python3"))
}

/// Lists every program of the table, by each of its names.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = Program> {
    table::ROWS.iter().flat_map(|row| row.names.iter().map(move |name| Program { name, row }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_programs_are_found_by_each_name() {
        for program in all() {
            let takes = !program.passwords().is_empty();
            for word in [program.name.to_owned(), format!("/opt/{}.EXE", program.name.to_uppercase())] {
                assert_eq!(Program::that_takes_passwords(&word).is_some(), takes, "{word}");
            }
        }
    }

    #[test]
    fn only_long_unknown_names_may_be_misspelt_interpreters() {
        for (word, may_be_one) in [
            ("pythn3", true),
            ("no-such-program", true),
            ("python3.12", false),
            ("nope", false),
            ("./pythn3", false),
        ] {
            assert_eq!(possible_interpreters(word).any(|name| name == "python3"), may_be_one, "{word}");
        }
    }
}
