//! Finds the files of make.

use super::{Finder, Reads};
use crate::programs::{Program, long_values, short_values};

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
    }
}
