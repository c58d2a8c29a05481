//! Variables that `env` sets for the program after it.

use super::{Finder, NotBound, Reads};
use crate::programs::Program;
use crate::risk::is_assignment;
use crate::variables::names_code;

impl Finder<'_> {
    /// Reads the words of `env` up to its program, and records variables that change where code is found.
    pub(super) fn environment(&self, env: Program, args: &[String], reads: &mut Reads) {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += 1;
            if is_assignment(word) {
                let (name, value) = word.split_once('=').unwrap_or_default();
                if names_code(name, value) {
                    reads.unbound.insert(NotBound::Variable(name.to_owned()));
                }
            } else if 1 < word.len() && word.starts_with('-') {
                at += usize::from(env.row().spelling.takes_next_word(word));
            } else if word != "-" {
                break;
            }
        }
    }
}
