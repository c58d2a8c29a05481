//! What starts a server, with values that nothing shows.

use std::collections::HashMap;
use std::fmt;

use brigade_redact::MARK;

use crate::urls::may_hold_secret;
use crate::variables::references;

/// What starts a server, as its file says it.
///
/// Its words are those of the file, so they may hold secrets. They are for an entry of the catalog that a person
/// reviews, after [`secret_words`](Launch::secret_words) was found empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Launch {
    words: Vec<String>,
    cwd: Option<String>,
    secret_words: Vec<usize>,
}

impl Launch {
    pub(crate) fn new(words: Vec<String>, cwd: Option<String>, literal_secrets: &[String]) -> Launch {
        let is_secret = |at: &usize| {
            let name = format!("command[{at}]");
            literal_secrets.contains(&name) || may_hold_secret(&words[*at])
        };
        let secret_words = (0..words.len()).filter(is_secret).collect();
        Launch { words, cwd, secret_words }
    }

    /// Returns the words of the command line; empty for a remote server.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the directory in which it starts.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Returns the positions of words that hold a secret, from 0.
    pub fn secret_words(&self) -> &[usize] {
        &self.secret_words
    }

    /// Returns the references of the command and its directory, which the harness would expand.
    pub fn references(&self) -> Vec<String> {
        let texts = self.words.iter().chain(&self.cwd);
        texts.flat_map(|text| references(text).found).collect()
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
    pub fn of(&self, reference: &str) -> Option<&Launch> {
        self.0.get(reference)
    }
}
