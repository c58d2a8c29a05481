//! Finds the files of make and just.

use std::path::Path;

use super::chain::{Chain, Link};
use super::script::OF_MAKE;
use super::{Finder, NotBound, Reads};
use crate::programs::{JUSTFILES, Program, long_values, short_values};

impl Finder<'_> {
    /// Reads the options of make: working directories, makefiles, and directories of included files.
    pub(super) fn make(&self, known: Program, args: &[String], reads: &mut Reads) {
        let values = |short: char, long: &[&str]| {
            let mut found = short_values(&known.row().spelling, args, short);
            found.extend(long.iter().flat_map(|long| long_values(args, long)));
            found
        };
        let mut directory = self.directory.clone();
        directory.extend(values('C', &["--directory"]));
        let mut names = vec!["GNUmakefile", "makefile", "Makefile"];
        names.extend(values('f', &["--file", "--makefile"]));
        names.extend(values('I', &["--include-dir"]));
        reads.code.extend(names.into_iter().map(|name| directory.join(name)));
        for (name, value) in args.iter().filter_map(|word| word.split_once('=')) {
            self.words_of_value(value, reads);
            if !name.starts_with('-') {
                self.make_variable(
                    name.trim_end_matches([':', '+', '?', '!']).trim(),
                    value,
                    &directory,
                    reads,
                );
            }
        }
    }

    /// Follows the program in a variable of make as recipes use it: as the beginning of a line for a shell.
    pub(super) fn make_variable(&self, name: &str, value: &str, directory: &Path, reads: &mut Reads) {
        if !OF_MAKE.contains(&name) {
            return;
        }
        if value.contains(['$', '`', '*', '?', '[']) {
            reads.unbound.insert(NotBound::Variable(name.to_owned()));
        } else {
            let command = value.trim_start_matches(['@', '-', '+', ' ']).to_owned();
            let link = Link { by: name.to_owned(), command };
            let mut chain = Chain::default();
            chain.follow(link, true, directory, self.files);
            reads.code.extend(chain.files);
        }
    }

    /// Reads the options of just, and recipes of another directory such as `sub/build`.
    pub(super) fn just(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        let folders = short_values(spelling, args, 'd').into_iter();
        let folders = folders.chain(long_values(args, "--working-directory"));
        let words = args.iter().filter(|word| !word.starts_with('-'));
        let named = words.filter_map(|word| word.rsplit_once('/')).map(|(folder, _)| folder);
        for folder in folders.chain(named) {
            reads.code.extend(JUSTFILES.iter().map(|name| self.directory.join(folder).join(name)));
        }
        let files = short_values(spelling, args, 'f').into_iter();
        let files = files.chain(long_values(args, "--justfile")).map(|file| self.directory.join(file));
        reads.code.extend(files);
    }
}
