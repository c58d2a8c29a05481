//! Redaction of command lines, where one word may mark the next as a secret.

use brigade_command::{Password, Program};

use super::{MARK, Redacted, Redactor, is_secret_field, looks_secret_value};
use crate::option::names_a_way;
use crate::rules::is_placeholder;
use crate::words::{HARMLESS_WORDS, SWITCHES};

impl Redactor {
    /// Redacts the words of a command line. The value after a flag with a secret name is masked too, as is the password
    /// in `curl --user name:password`.
    pub fn redact_argv(&self, words: &[String]) -> Vec<Redacted> {
        let mut reader = ArgvReader::default();
        words
            .iter()
            .map(|word| match reader.next(word) {
                Hidden::Nothing => self.redact(word),
                Hidden::Whole => Redacted::from_static(MARK),
                Hidden::From(at) => Redacted::known(self.redact_str(&word[..at]) + MARK),
            })
            .collect()
    }
}

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
pub(super) struct ArgvReader {
    /// The previous flag, without its dashes.
    flag: Option<String>,
    /// Whether an earlier word is a program that takes `-u name:password`.
    takes_user: bool,
    /// Whether the previous flag takes a name and password.
    credentials: bool,
    /// What `-p` means to the program. For most programs it is not a password.
    short: Password,
}

impl ArgvReader {
    /// Classifies the next word.
    pub(super) fn next(&mut self, word: &str) -> Hidden {
        let flag = self.flag.take();
        let credentials = std::mem::take(&mut self.credentials);
        let is_password = self.short == Password::Short && flag.as_deref() == Some("p");
        let attaches = matches!(self.short, Password::Short | Password::ShortAttached);
        let hidden = if credentials {
            password(word, 0)
        } else if self.takes_user && word.starts_with("-u") && !word.starts_with("--") {
            password(word, 2)
        } else if let Some(attached) = self.attached(word) {
            password(word, attached)
        } else if is_password && !word.starts_with('-') && !word.is_empty() {
            Hidden::Whole
        } else if attaches && word.starts_with("-p") && word[2..].contains(|c| !matches!(c, '0'..='9' | ':'))
        {
            Hidden::From(2)
        } else if !word.starts_with('-')
            && !is_harmless(word)
            && flag.is_some_and(|flag| is_secret_field(&flag, word))
        {
            Hidden::Whole
        } else {
            Hidden::Nothing
        };
        self.credentials = self.takes_user && matches!(word, "-u" | "--user" | "-U" | "--proxy-user");
        let is_flag = word.starts_with('-') && !word.contains('=');
        let name = word.trim_start_matches('-');
        self.flag = (is_flag && !is_switch(name)).then(|| name.to_owned());
        self.program(word);
        hidden
    }

    /// Updates the state if the word names a program.
    fn program(&mut self, word: &str) {
        // An option or a package is none, and most words are one of these.
        if word.starts_with(['-', '@']) {
            return;
        }
        let after_login = self.short == Password::AfterLogin;
        match Program::of(word).map_or(Password::None, Program::password) {
            Password::None => match word {
                "run" | "exec" | "compose" if after_login => self.short = Password::None,
                "login" if after_login => self.short = Password::Short,
                _ => {}
            },
            Password::User => self.takes_user = true,
            // The program that `sshpass` starts has its own flags.
            Password::OtherShort => self.short = Password::None,
            short @ (Password::Short | Password::ShortAttached | Password::AfterLogin) => self.short = short,
        }
    }

    /// Returns where the value of `--user=…` starts.
    fn attached(&self, word: &str) -> Option<usize> {
        let names = ["--user=", "--proxy-user="];
        names.iter().find(|name| self.takes_user && word.starts_with(**name)).map(|name| name.len())
    }
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
