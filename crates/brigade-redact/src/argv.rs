//! The words of a command line, where one may mark the next as a secret.

use brigade_command::{Program, Role, Starts};

use super::{MARK, is_secret_field, looks_secret_value};
use crate::beside::is_variable;
use crate::line::{Part, secret_parts};
use crate::option::{is_harmless_word, names_a_way};
use crate::rules::is_placeholder;
use crate::taker::Taker;
use crate::words::SWITCHES;

/// Lists the indexes of words that look secret, either on their own or because of the words before them.
///
/// Every word that [`Redactor::redact_command`](crate::Redactor::redact_command) masks is one. What it shows as a
/// reference, such as a file behind `--token`, is one, too: in a call, it may be the secret itself.
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
/// assert_eq!(secret_words(&words("x --pw=hunter2 -u bob:hunter2")), [1, 3]);
/// ```
pub fn secret_words(words: &[String]) -> Vec<usize> {
    let mut reader = ArgvReader::of(words.iter().map(String::as_str));
    let mut found = Vec::new();
    for ((at, word), part) in words.iter().enumerate().zip(secret_parts(words)) {
        let hidden = match reader.next(word) {
            Hidden::Nothing => "",
            Hidden::Whole => word.as_str(),
            Hidden::From(from) => &word[from..],
        };
        let by_flag = !hidden.is_empty() && hidden != MARK && !is_placeholder(hidden);
        let is_masked = matches!(part, Part::Plain(Hidden::Whole | Hidden::From(_)));
        if by_flag || is_masked || looks_secret_value(word).is_some() {
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
    /// The last program that takes passwords.
    taker: Option<Taker<'w>>,
    /// Whether a token stands in place of a name and a password.
    has_bearer: bool,
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
            taker: None,
            has_bearer: words.into_iter().any(is_bearer),
        }
    }

    /// Prepares to read the words of a list, which may be the arguments of a program that stands elsewhere.
    pub(super) fn of_list(words: impl IntoIterator<Item = &'w str>) -> ArgvReader<'w> {
        ArgvReader { place: Starts::Anywhere, ..ArgvReader::of(words) }
    }

    /// Returns whether a program came by that takes a password.
    pub(super) fn has_program(&self) -> bool {
        self.taker.as_ref().is_some_and(Taker::may_take)
    }

    /// Classifies the next word.
    pub(super) fn next(&mut self, word: &'w str) -> Hidden {
        let flag = self.flag.take();
        let is_value = !word.starts_with('-') && !word.is_empty();
        let is_named = || {
            let name = flag.filter(|_| is_value).map(|flag| flag.trim_start_matches('-'));
            name.is_some_and(|name| is_secret_field(name, word)) && !is_harmless(word)
        };
        let hidden = match &self.taker {
            Some(taker) => taker.hidden(flag, word, self.has_bearer),
            None => Hidden::Nothing,
        };
        let hidden = if hidden == Hidden::Nothing && is_named() { Hidden::Whole } else { hidden };
        if let Some(taker) = &mut self.taker {
            taker.pass(flag, word);
        }
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

    /// Notes a program that takes passwords.
    fn take(&mut self, program: Option<Program>) {
        if let Some(taker) = program.and_then(Taker::of) {
            self.taker = Some(taker);
        }
    }
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Options behind which a container gets a name, which may be that of a program.
const NAMES_OF_CONTAINERS: &[&str] = &["--hostname", "--name", "--network-alias"];

/// Returns whether a word says that there is no secret, as `none` does; behind `=` it is none either.
fn is_harmless(word: &str) -> bool {
    is_harmless_word(word) || names_a_way(word)
}

/// Returns whether the first word of a flag shows that it takes no secret: `--no-password`, `--list-secrets`.
pub(crate) fn is_switch(flag: &str) -> bool {
    flag.split_once('-').is_some_and(|(first, _)| SWITCHES.contains(&first))
}
