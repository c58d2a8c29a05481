//! What starts a server, without values.

use std::collections::HashMap;
use std::fmt;

use brigade_redact::MARK;

use crate::beside::is_variable;
use crate::container::options_of_container;

use crate::urls::may_hold_secret;
use crate::values::{HeldValue, ValueKind};
use crate::variables::references;

/// What starts a server, without any value of its file.
///
/// It is for an entry of the catalog that a person reviews, after [`not_kept`](Launch::not_kept) and
/// [`left_out`](Launch::left_out) were found empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Launch {
    words: Vec<String>,
    cwd: Option<String>,
    references: Vec<String>,
    variables: Vec<String>,
    not_kept: Vec<(usize, OmittedValue)>,
    left_out: Vec<String>,
}

/// What a word of a command holds that is not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedValue {
    /// A secret.
    Secret,
    /// A value of something.
    Value(ValueKind),
}

impl OmittedValue {
    /// Says what it is and what to do, as a sentence without a final period.
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
    /// Takes the words of a file, beside which stands whether a secret was found in each. A variable that a container
    /// is given by value is given by name.
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

    /// Says what its file has in another form than it should, so that it is not in the words or names, as sentences
    /// without a final period.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the words of the command line; empty for a remote server. One that is not kept is masked.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the names of variables whose values stood in the command.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Returns the positions of words that are not taken over, from 0.
    pub fn not_kept(&self) -> &[(usize, OmittedValue)] {
        &self.not_kept
    }

    /// Returns the directory in which it starts.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Returns the references of the command and its directory, which the harness would expand.
    pub fn references(&self) -> &[String] {
        &self.references
    }
}

/// Returns whether the words that an entry shows are those of a command line, of which some may be masked.
pub fn shows_words(shown: &[String], words: &[String]) -> bool {
    let is_word = |(shown, word): (&String, &String)| shown == word || shown.contains(MARK);
    !shown.is_empty() && shown.len() == words.len() && shown.iter().zip(words).all(is_word)
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("words", &self.words.len()).finish_non_exhaustive()
    }
}

/// What starts each server, by its `ref`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launches(HashMap<String, Launch>);

impl Launches {
    pub(crate) fn insert(&mut self, reference: &str, launch: Launch) {
        self.0.insert(reference.to_owned(), launch);
    }

    /// Returns what starts the server of a `ref`.
    pub fn launch(&self, reference: &str) -> Option<&Launch> {
        self.0.get(reference)
    }
}
