//! The words of a command line, where one may mark the next as a secret.

use brigade_command::{Password, Program};

use super::{MARK, is_secret_field, looks_secret_value};
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
    let mut reader = ArgvReader::default();
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
#[derive(Default)]
pub(super) struct ArgvReader<'w> {
    /// The previous flag.
    flag: Option<&'w str>,
    /// The letters behind which an earlier program takes `name:password`.
    user: &'static str,
    /// Whether the previous flag takes a name and password.
    credentials: bool,
    /// Which short options take a password. For most programs, none does.
    short: Password,
    /// Where the operand that is a password stands.
    operand: Operand,
}

/// How near an operand is that is a password.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Operand {
    /// There is none.
    #[default]
    None,
    /// Behind one of these subcommands, if that is the next word.
    Behind(&'static [&'static str]),
    /// It is the next word that is no option.
    Next,
}

impl<'w> ArgvReader<'w> {
    /// Classifies the next word.
    pub(super) fn next(&mut self, word: &'w str) -> Hidden {
        let flag = self.flag.take();
        let credentials = std::mem::take(&mut self.credentials);
        let is_value = !word.starts_with('-') && !word.is_empty();
        let name = flag.map(|flag| flag.trim_start_matches('-'));
        let hidden = if credentials {
            password(word, 0)
        } else if let Some(attached) = self.attached_user(word) {
            password(word, attached)
        } else if is_value
            && (self.operand == Operand::Next || flag.is_some_and(|flag| self.takes_password(flag)))
        {
            Hidden::Whole
        } else if self.has_password(word) {
            Hidden::From(2)
        } else if is_value && !is_harmless(word) && name.is_some_and(|name| is_secret_field(name, word)) {
            Hidden::Whole
        } else {
            Hidden::Nothing
        };
        let letter = short_option(word).filter(|rest| rest.len() == 1);
        self.credentials = !self.user.is_empty()
            && (matches!(word, "--user" | "--proxy-user") || letter.is_some_and(|it| self.user.contains(it)));
        self.operand = match self.operand {
            Operand::Behind(subcommands) if subcommands.contains(&word) => Operand::Next,
            operand if word.starts_with(['-', '+']) => operand,
            _ => Operand::None,
        };
        if !flag.is_some_and(|flag| NAMES_OF_CONTAINERS.contains(&flag)) {
            self.program(word);
        }
        let is_flag = word.starts_with('-') && !word.contains('=');
        self.flag = (is_flag && !is_switch(word.trim_start_matches('-'))).then_some(word);
        hidden
    }

    /// Updates the state if the word names a program.
    fn program(&mut self, word: &str) {
        // Most words are options or packages, which are no secrets.
        if word.starts_with(['-', '@']) {
            return;
        }
        let after_login = self.short == Password::AfterLogin;
        match Program::of(word).map_or(Password::None, Program::password) {
            Password::None => match word {
                "run" | "exec" | "compose" if after_login => self.short = Password::None,
                "login" if after_login => self.short = Password::Short("p"),
                _ => {}
            },
            Password::User(letters) => self.user = letters,
            Password::Operand(subcommands) => self.operand = Operand::Behind(subcommands),
            // The program that `sshpass` starts has its own flags.
            Password::OtherShort => self.short = Password::None,
            short @ (Password::Short(_) | Password::ShortAttached(_) | Password::AfterLogin) => {
                self.short = short;
            }
        }
    }

    /// Returns whether the word behind a flag is a password. Flags without a value may stand before it in one word:
    /// `ldapsearch -xw password`.
    fn takes_password(&self, flag: &str) -> bool {
        let Password::Short(letters) = self.short else { return false };
        short_option(flag).is_some_and(|bundle| {
            bundle.len() <= LONGEST_BUNDLE
                && bundle.bytes().all(|byte| byte.is_ascii_alphabetic())
                && bundle.ends_with(|letter| letters.contains(letter))
        })
    }

    /// Returns whether a word is a short option with a password behind its letter. Ports of a container are none.
    fn has_password(&self, word: &str) -> bool {
        let (Password::Short(letters) | Password::ShortAttached(letters)) = self.short else { return false };
        let Some(rest) = short_option(word) else { return false };
        let is_port =
            || rest.contains(':') && rest[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        1 < rest.len() && rest.starts_with(|letter| letters.contains(letter)) && !is_port()
    }

    /// Returns where the value of `-uNAME:PASSWORD` and `--user=…` starts.
    fn attached_user(&self, word: &str) -> Option<usize> {
        if self.user.is_empty() {
            return None;
        }
        if short_option(word).is_some_and(|rest| rest.starts_with(|letter| self.user.contains(letter))) {
            return Some(2);
        }
        let names = ["--user=", "--proxy-user="];
        names.iter().find(|name| word.starts_with(**name)).map(|name| name.len())
    }
}

/// Options behind which a container gets a name, which may be that of a program.
const NAMES_OF_CONTAINERS: &[&str] = &["--hostname", "--name", "--network-alias"];

/// The longest bundle of short options of which the last may take a password.
const LONGEST_BUNDLE: usize = 4;

/// Returns what stands behind the dash of a short option.
fn short_option(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))
}

/// Returns whether a word says that there is no secret, as `none` does; behind `=` it is none either.
fn is_harmless(word: &str) -> bool {
    HARMLESS_WORDS.contains(&word.to_ascii_lowercase().as_str()) || names_a_way(word)
}

/// Returns whether the first word of a flag shows that it takes no secret: `--no-password`, `--list-secrets`.
pub(crate) fn is_switch(flag: &str) -> bool {
    flag.split_once('-').is_some_and(|(first, _)| SWITCHES.contains(&first))
}

/// Finds the password in `name:password`.
fn password(word: &str, from: usize) -> Hidden {
    match word[from..].find(':') {
        Some(colon) if from + colon + 1 < word.len() => Hidden::From(from + colon + 1),
        Some(_) | None => Hidden::Nothing,
    }
}
