//! Variables that `env` sets for the program after it.

use super::{Finder, NotBound, Reads, Seen};
use crate::programs::{Finds, Program};
use crate::risk::sets_variable;
use crate::variables::{moves_settings, names_code};

impl Finder<'_> {
    /// Reads the words of `env` up to its program, and records variables that change where code is found.
    pub(super) fn environment(&self, env: Program, args: &[String], reads: &mut Reads) {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += 1;
            if sets_variable(word) {
                let (name, value) = word.split_once('=').unwrap_or_default();
                self.words_of_value(value, reads);
                if args
                    .iter()
                    .any(|word| matches!(Program::of(word), Some(known) if known.row().finds == Finds::Make))
                {
                    self.make_variable(name, value, &self.directory, reads);
                }
                // `AWS_PROFILE=x` chooses settings by a name.
                let is_name = name.ends_with("_PROFILE")
                    && !value.contains('/')
                    && !self.is_there(&self.directory.join(value));
                let moves = moves_settings(name) && !is_name && self.may_be_inside(value);
                if names_code(name, value) || moves {
                    reads.unbound.insert(NotBound::Variable(name.to_owned()));
                }
            } else if 1 < word.len() && word.starts_with('-') {
                at += usize::from(env.row().spelling.takes_next_word(word));
            } else if word != "-" {
                break;
            }
        }
    }

    /// Binds the files that the words of a value name, as in `CC=timeout 5 bin/cc`.
    pub(super) fn words_of_value(&self, value: &str, reads: &mut Reads) {
        let words = value.split_whitespace().filter(|_| value.contains(char::is_whitespace));
        reads.code.extend(words.map(|word| self.directory.join(word)).filter(|path| self.is_any(path)));
    }

    /// Tells whether one of the paths in a value may lead into the workspace.
    fn may_be_inside(&self, value: &str) -> bool {
        let paths = value.split(':').filter(|path| !path.is_empty());
        paths.map(|path| self.directory.join(path)).any(|path| match self.files.look(&path) {
            Seen::Inside { .. } | Seen::Nowhere => true,
            Seen::Outside(_) => false,
        })
    }
}
