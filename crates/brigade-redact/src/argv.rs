//! The words of a command line, where one may mark the next as a secret.

use brigade_command::{Password, Program, Role, Starts};

use super::{MARK, is_secret_field, looks_secret_value};
use crate::beside::is_variable;
use crate::option::names_a_way;
use crate::rules::is_placeholder;
use crate::words::{HARMLESS_WORDS, SWITCHES};

/// Lists the indexes of words that look secret, either on their own or because of the flag before them.
///
/// Placeholders (`$TOKEN`, `<token>`) and `[redacted]` are not secret.
///
/// ```
/// use brigade_redact::secret_words;
///
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// assert_eq!(secret_words(&words("deploy --token abc --max-tokens 5")), [2]);
/// assert!(secret_words(&words("pg_dump --no-password data")).is_empty());
/// assert_eq!(secret_words(&words("curl -u bob:hunter2EXAMPLE https://example.com")), [2]);
/// ```
pub fn secret_words(words: &[String]) -> Vec<usize> {
    let mut reader = ArgvReader::of(words.iter().map(String::as_str));
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let hidden = match reader.next(word) {
            Hidden::Nothing => "",
            Hidden::Whole => word.as_str(),
            Hidden::From(from) => &word[from..],
        };
        let by_flag = !hidden.is_empty() && hidden != MARK && !is_placeholder(hidden);
        if by_flag || looks_secret_value(word).is_some() {
            found.push(at);
        }
    }
    found
}

/// The part of a word that is secret because of the words before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    Nothing,
    Whole,
    /// Everything from this byte on, which is never the last position.
    From(usize),
}

/// Reads the words of a command line in order.
pub(super) struct ArgvReader<'w> {
    /// The previous flag.
    flag: Option<&'w str>,
    /// Where the next program may stand.
    place: Starts,
    /// The program before that place, whose options come first.
    wrapper: Option<Program>,
    /// A program that takes `name:password`.
    user: Option<Program>,
    /// Whether it takes a token there instead.
    has_bearer: bool,
    /// Whether the previous flag takes a name and password.
    credentials: bool,
    /// A program with short options that take a password.
    short: Option<Program>,
    /// A program that takes a password behind `login`, and how many groups of subcommands stand behind it.
    login: Option<(Program, usize)>,
    /// Where the operand that is a password stands.
    operand: Operand,
}

/// How near an operand is that is a password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// There is none.
    None,
    /// Behind one of these subcommands. These options take the next word.
    Behind(&'static [&'static str], &'static [&'static str]),
    /// It is each word that is no option and no value of these options.
    Next { valued: &'static [&'static str], takes_pairs: bool },
}

impl<'w> ArgvReader<'w> {
    /// Prepares to read these words.
    pub(super) fn of(words: impl IntoIterator<Item = &'w str>) -> ArgvReader<'w> {
        let is_bearer =
            |word: &str| word.rsplit('=').next().is_some_and(|end| is_one_of(end, &["bearer", "-Abearer"]));
        ArgvReader {
            flag: None,
            place: Starts::Behind(0),
            wrapper: None,
            user: None,
            has_bearer: words.into_iter().any(is_bearer),
            credentials: false,
            short: None,
            login: None,
            operand: Operand::None,
        }
    }

    /// Prepares to read the words of a list, which may be the arguments of a program that stands elsewhere.
    pub(super) fn of_list(words: impl IntoIterator<Item = &'w str>) -> ArgvReader<'w> {
        ArgvReader { place: Starts::Anywhere, ..ArgvReader::of(words) }
    }

    /// Returns whether a program came by that takes a password.
    pub(super) fn has_program(&self) -> bool {
        self.user.is_some() || self.short.is_some() || self.login.is_some() || self.operand != Operand::None
    }

    /// Classifies the next word.
    pub(super) fn next(&mut self, word: &'w str) -> Hidden {
        let flag = self.flag.take();
        let credentials = std::mem::take(&mut self.credentials);
        let is_value = !word.starts_with('-') && !word.is_empty();
        let name = flag.map(|flag| flag.trim_start_matches('-'));
        let hidden = if credentials {
            self.password(word, 0)
        } else if let Some(attached) = self.attached_user(word) {
            self.password(word, attached)
        } else if is_value
            && (self.is_operand(name, word) || flag.is_some_and(|flag| self.takes_password(flag)))
        {
            Hidden::Whole
        } else if let Some(from) = self.attached_password(word) {
            Hidden::From(from)
        } else if is_value && !is_harmless(word) && name.is_some_and(|name| is_secret_field(name, word)) {
            Hidden::Whole
        } else {
            Hidden::Nothing
        };
        self.credentials = self
            .user
            .is_some_and(|program| matches!(word, "--user" | "--proxy-user") || takes_next(program, word));
        self.operand = self.operand.behind(flag, word);
        self.subcommand(flag, word);
        if !flag.is_some_and(|flag| NAMES_OF_CONTAINERS.contains(&flag)) {
            self.program(flag, word);
        }
        let is_flag = word.starts_with('-') && !word.contains('=');
        self.flag = (is_flag && !is_switch(word.trim_start_matches('-'))).then_some(word);
        hidden
    }

    /// Updates the state if the word names a program where one may stand.
    fn program(&mut self, flag: Option<&str>, word: &str) {
        // Most words are options or packages.
        if word.starts_with(['-', '@']) || word.is_empty() {
            return;
        }
        match self.place {
            Starts::Anywhere => self.take(Program::of(word)),
            Starts::BehindWords(words) if words.contains(&word) => self.place = Starts::Anywhere,
            // `kubectl exec x -- mysql`, `python3 -m mycli`.
            Starts::Nothing | Starts::BehindWords(_) => {
                let is_of_git = self.wrapper.is_some_and(|program| program.role() == Role::Git);
                if matches!(flag, Some("--" | "-m")) && !is_of_git {
                    self.command(word);
                }
            }
            Starts::Behind(operands) => match flag.filter(|flag| *flag != "--") {
                _ if word.split_once('=').is_some_and(|(name, _)| is_variable(name)) => {}
                // It may be the value of the option, or the command behind one without a value.
                Some(flag) => {
                    let found = Program::of(word)
                        .filter(|_| !self.wrapper.is_some_and(|program| program.takes_next_word(flag)));
                    self.take(found);
                    if found.is_some_and(|program| program.starts() != Starts::Nothing) {
                        self.place = Starts::Anywhere;
                    }
                }
                None if operands == 0 => self.command(word),
                None => self.place = Starts::Behind(operands - 1),
            },
        }
    }

    /// Notes the program of a command. What is not known may run another one.
    fn command(&mut self, word: &str) {
        self.wrapper = Program::of(word);
        self.place = self.wrapper.map_or(Starts::BehindWords(&["exec", "run"]), Program::starts);
        self.take(self.wrapper);
    }

    /// Notes where a program takes a password.
    fn take(&mut self, program: Option<Program>) {
        let Some(program) = program else { return };
        match program.password() {
            Password::None => {}
            Password::User(_) => self.user = Some(program),
            Password::Operand(subcommands, valued) => self.operand = Operand::Behind(subcommands, valued),
            // The program that `sshpass` starts has its own flags.
            Password::OtherShort => self.short = None,
            Password::Short(_) | Password::ShortAttached(_) => self.short = Some(program),
            Password::AfterLogin => (self.short, self.login) = (None, Some((program, 0))),
        }
    }

    /// Updates the state if the word is a subcommand of a program that takes a password behind `login`.
    fn subcommand(&mut self, flag: Option<&str>, word: &str) {
        let Some((program, groups)) = self.login.filter(|_| !word.starts_with('-')) else { return };
        self.login = match word {
            "login" => {
                self.short = Some(program);
                None
            }
            word if NO_GROUPS.contains(&word) => None,
            _ if flag.is_some() => Some((program, groups)),
            _ => (groups == 0).then_some((program, 1)),
        };
    }

    /// Returns whether a word is an operand that is a password. `name` is that of the option before it.
    fn is_operand(&self, name: Option<&str>, word: &str) -> bool {
        let Operand::Next { valued, takes_pairs } = self.operand else { return false };
        let is_value = name.is_some_and(|name| valued.contains(&name));
        !is_value && (!takes_pairs || !word.contains('='))
    }

    /// Returns whether the word behind a flag is a password. Flags without a value may stand before it in one word:
    /// `ldapsearch -xw password`.
    fn takes_password(&self, flag: &str) -> bool {
        self.short.is_some_and(|program| {
            !matches!(program.password(), Password::ShortAttached(_)) && takes_next(program, flag)
        })
    }

    /// Returns where the password begins in a word of short options: `-xwPASSWORD`. Ports of a container are none.
    fn attached_password(&self, word: &str) -> Option<usize> {
        let from = attached_value(self.short?, word)?;
        let is_port = word[from..].contains(':')
            && word[from..].bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        (!is_port).then_some(from)
    }

    /// Returns where the value of `-uNAME:PASSWORD` and `--user=…` starts.
    fn attached_user(&self, word: &str) -> Option<usize> {
        let attached = attached_value(self.user?, word);
        let names = ["--user=", "--proxy-user="];
        attached.or_else(|| names.iter().find(|name| word.starts_with(**name)).map(|name| name.len()))
    }

    /// Finds the password in `name:password`.
    fn password(&self, word: &str, from: usize) -> Hidden {
        match word[from..].find(':') {
            Some(colon) if from + colon + 1 < word.len() => Hidden::From(from + colon + 1),
            None if self.has_bearer && from < word.len() => {
                if from == 0 {
                    Hidden::Whole
                } else {
                    Hidden::From(from)
                }
            }
            Some(_) | None => Hidden::Nothing,
        }
    }
}

impl Operand {
    /// Returns the state behind a word.
    fn behind(self, flag: Option<&str>, word: &str) -> Operand {
        match self {
            Operand::None => Operand::None,
            Operand::Behind(subcommands, valued) if subcommands.contains(&word) => {
                Operand::Next { valued, takes_pairs: false }
            }
            Operand::Behind(..) if word == "--" => Operand::None,
            // `ngrok --region eu config add-authtoken`, `cargo +nightly login`.
            Operand::Behind(..) if flag.is_some() || word == "config" || word.starts_with(['-', '+']) => self,
            Operand::Behind(..) => Operand::None,
            Operand::Next { valued, takes_pairs } => {
                // `vault login -method userpass username=bob`
                let method = match word.split_once('=') {
                    Some(("-method" | "--method", method)) => Some(method),
                    _ => matches!(flag, Some("-method" | "--method")).then_some(word),
                };
                Operand::Next { valued, takes_pairs: method.map_or(takes_pairs, |method| method != "token") }
            }
        }
    }
}

/// Returns whether the next word is the value of the last short option in a word, which takes a password.
fn takes_next(program: Program, word: &str) -> bool {
    secret_value(program, word).is_some_and(|from| from == word.len())
}

/// Returns where the value begins of a short option in a word, which takes a password.
fn attached_value(program: Program, word: &str) -> Option<usize> {
    secret_value(program, word).filter(|from| *from < word.len())
}

fn secret_value(program: Program, word: &str) -> Option<usize> {
    let (letter, from) = program.short_value(word)?;
    program.password().letters().contains(letter).then_some(from)
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Subcommands behind which `login` is a name: `cf push login`.
#[rustfmt::skip]
const NO_GROUPS: &[&str] = &[
    "build", "compose", "create", "delete", "exec", "logs", "pull", "push", "rm", "run", "start", "stop", "tag",
];

/// Options behind which a container gets a name, which may be that of a program.
const NAMES_OF_CONTAINERS: &[&str] = &["--hostname", "--name", "--network-alias"];

/// Returns whether a word says that there is no secret, as `none` does; behind `=` it is none either.
fn is_harmless(word: &str) -> bool {
    HARMLESS_WORDS.contains(&word.to_ascii_lowercase().as_str()) || names_a_way(word)
}

/// Returns whether the first word of a flag shows that it takes no secret: `--no-password`, `--list-secrets`.
pub(crate) fn is_switch(flag: &str) -> bool {
    flag.split_once('-').is_some_and(|(first, _)| SWITCHES.contains(&first))
}
