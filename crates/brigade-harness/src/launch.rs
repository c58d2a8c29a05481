//! How a server is started, without secrets.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use brigade_cmdline::is_dangerous_variable;
use brigade_redact::{MARK, is_secret_name, looks_like_token};

use crate::beside::is_variable;
use crate::container::options_of_container;

use crate::urls::may_hold_secret;
use crate::values::{HeldValue, ValueKind};
use crate::variables::references;

/// How a server is started. Of the values in its file it has only those of plain variables.
///
/// It is the basis of a catalog entry that a person reviews. Callers first check that [`not_kept`](Launch::not_kept)
/// and [`left_out`](Launch::left_out) are empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Launch {
    words: Vec<String>,
    cwd: Option<String>,
    references: Vec<String>,
    variables: Vec<String>,
    plain: BTreeMap<String, String>,
    not_kept: Vec<(usize, OmittedValue)>,
    left_out: Vec<String>,
    url: Option<String>,
    headers: BTreeMap<String, Option<String>>,
}

/// The maximum length of a plain value, in bytes.
const MAX_PLAIN_BYTES: usize = 1024;

/// Why a word of a command is not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedValue {
    /// It contains a secret.
    Secret,
    /// It contains a value of this kind.
    Value(ValueKind),
}

impl OmittedValue {
    /// Returns what the problem is and what to do, as a sentence without a final period.
    pub fn message(self) -> &'static str {
        match self {
            OmittedValue::Secret => {
                "it holds what looks like a secret; take it out of the file, and bind it in the policy"
            }
            OmittedValue::Value(ValueKind::Variable) => {
                "it holds the value of a variable, which is never copied; move it to `env` of the server in that file, \
                 or write the runtime by hand"
            }
            OmittedValue::Value(ValueKind::Header) => {
                "it holds the value of a header, which is never copied; write a reference such as `${NAME}` there, or \
                 write the runtime by hand"
            }
            OmittedValue::Value(ValueKind::Key) => {
                "it holds a key, which is never copied; write the runtime by hand"
            }
            OmittedValue::Value(ValueKind::Url) => {
                "it holds the user, path or query of a URL, which are never copied; write the runtime by hand"
            }
        }
    }
}

impl Launch {
    /// Creates the launch data from the words of a file. The flag of each word says whether a secret was found in it. A
    /// container variable that is given with a value is kept as a name.
    pub(crate) fn new(
        words: Vec<String>,
        held: Vec<Option<HeldValue>>,
        cwd: Option<String>,
        is_secret: &[bool],
    ) -> Launch {
        let by_name = options_of_container(&words);
        let texts = words.iter().chain(&cwd);
        let mut launch = Launch {
            references: texts
                .map(|text| references(text))
                .flat_map(|found| found.found.into_iter().chain(found.mentioned))
                .collect(),
            cwd: cwd.map(|cwd| references(&cwd).bare.into_owned()),
            ..Launch::default()
        };
        for (at, (word, held)) in words.into_iter().zip(held).enumerate() {
            let held = held.filter(|held| held.is_literal);
            let name = held.as_ref().and_then(|held| held.variable.clone()).filter(|_| by_name.contains(&at));
            if let Some((name, _)) = name.filter(|(name, _)| is_variable(&word[name.clone()])) {
                launch.words.push(word[..name.end].to_owned());
                launch.variables.push(word[name].to_owned());
                continue;
            }
            let is_secret = is_secret[at] || may_hold_secret(&word);
            let why = match &held {
                _ if is_secret => Some(OmittedValue::Secret),
                Some(held) => Some(OmittedValue::Value(held.kind)),
                None => None,
            };
            launch.not_kept.extend(why.map(|why| (at, why)));
            launch.words.push(if why.is_some() {
                MARK.to_owned()
            } else {
                references(&word).bare.into_owned()
            });
        }
        launch
    }

    pub(crate) fn without(self, left_out: Vec<String>) -> Launch {
        Launch { left_out, ..self }
    }

    /// Returns sentences about parts of the file in an unexpected form, which are missing from the words or names.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    pub(crate) fn at(self, url: Option<String>, headers: BTreeMap<String, Option<String>>) -> Launch {
        Launch { url, headers, ..self }
    }

    /// Returns the URL of a remote server, if it holds nothing that may be secret: neither a user nor a query.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Returns the headers for a remote server: each with its text, with variables in braces, if the file has only
    /// names of variables there. Values are never copied.
    pub fn headers(&self) -> &BTreeMap<String, Option<String>> {
        &self.headers
    }

    /// Returns the command line; empty for a remote server. Words that are not copied are masked.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the variables whose values were in the command.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Keeps the value of a variable if neither name nor value looks secret, and it decides nothing about the loading
    /// of code.
    pub(crate) fn keep_variable(&mut self, name: &str, value: &str) {
        let is_secret = is_secret_name(name) || looks_like_token(value) || may_hold_secret(value);
        let is_plain = value.len() <= MAX_PLAIN_BYTES && !value.chars().any(char::is_control);
        if is_variable(name) && is_plain && !is_secret && !is_dangerous_variable(name) {
            self.plain.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Leaves out plain values that are also the value of a secret.
    pub(crate) fn leave_out(&mut self, secrets: &[&str]) {
        self.plain
            .retain(|_, value| !secrets.iter().any(|secret| !secret.is_empty() && value.contains(*secret)));
    }

    /// Returns the variables with plain values, which are not secret.
    pub fn plain(&self) -> &BTreeMap<String, String> {
        &self.plain
    }

    /// Returns the indices of words that are not copied, from 0.
    pub fn not_kept(&self) -> &[(usize, OmittedValue)] {
        &self.not_kept
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Returns the references in the command and the directory that the harness would expand.
    pub fn references(&self) -> &[String] {
        &self.references
    }
}

/// Returns whether the words shown in an entry match a command line. Shown words may be masked, and the command line
/// may have the path of a program that the entry only names.
pub fn shows_words(shown: &[String], words: &[String]) -> bool {
    let is_word = |(shown, word): (&String, &String)| shown == word || shown.contains(MARK);
    let ([name, shown @ ..], [program, words @ ..]) = (shown, words) else { return false };
    let is_program =
        is_word((name, program)) || program.rsplit_once('/').is_some_and(|(_, last)| last == name);
    is_program && shown.len() == words.len() && shown.iter().zip(words).all(is_word)
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("words", &self.words.len()).finish_non_exhaustive()
    }
}

/// The launch data of each server, by its `ref`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launches(HashMap<String, Launch>);

impl Launches {
    pub(crate) fn insert(&mut self, reference: &str, launch: Launch) {
        self.0.insert(reference.to_owned(), launch);
    }

    /// Returns the launch data of the server with a `ref`.
    pub fn launch(&self, reference: &str) -> Option<&Launch> {
        self.0.get(reference)
    }
}
