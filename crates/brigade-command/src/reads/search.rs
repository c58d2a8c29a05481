//! Finds code directories in options of Perl, Ruby and compilers.

use super::{Finder, NotBound, Reads};
use crate::programs::{Program, long_values, short_values};

impl Finder<'_> {
    /// Finds the directories in `-I` and `-Mlib=` of Perl, and the modules in `-M`.
    pub(super) fn perl(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        let mut folders = short_values(spelling, args, 'I');
        let mut modules = Vec::new();
        for word in ['M', 'm'].into_iter().flat_map(|option| short_values(spelling, args, option)) {
            // `lib=a,b`, `lib qw(a b)`, `-strict`.
            let text = word.trim_start_matches('-');
            let mut parts = text.split(|c: char| c.is_whitespace() || "=,;'\"()[]{}".contains(c));
            match parts.next().unwrap_or_default() {
                "lib" | "blib" => folders.extend(parts.filter(|part| !part.is_empty())),
                module => modules.push(format!("{}.pm", module.replace("::", "/"))),
            }
        }
        let debuggers = short_values(spelling, args, 'd').into_iter();
        modules.extend(debuggers.filter_map(|name| name.split_once(':')).map(|(_, name)| {
            let name = name.split('=').next().unwrap_or(name);
            format!("Devel/{}.pm", name.replace("::", "/"))
        }));
        self.search(&folders, &modules, reads);
    }

    /// Finds the directories in `-I` of Ruby, and the files in `-r`.
    pub(super) fn ruby(&self, known: Program, args: &[String], reads: &mut Reads) {
        let spelling = &known.row().spelling;
        let folders = short_values(spelling, args, 'I');
        let folders: Vec<&str> = folders.into_iter().flat_map(|list| list.split(':')).collect();
        let required = short_values(spelling, args, 'r').into_iter().chain(long_values(args, "--require"));
        let required: Vec<String> = required.map(|name| format!("{name}.rb")).collect();
        reads.code.extend(required.iter().map(|name| self.directory.join(name)));
        self.search(&folders, &required, reads);
    }

    fn search(&self, folders: &[&str], files: &[String], reads: &mut Reads) {
        for folder in folders.iter().map(|folder| self.directory.join(folder)) {
            reads.code.extend(files.iter().map(|file| folder.join(file)));
            reads.code.insert(folder);
        }
    }

    /// Finds the directories where options tell a compiler to find its programs.
    pub(super) fn compiler(&self, known: Program, args: &[String], reads: &mut Reads) {
        let folders = short_values(&known.row().spelling, args, 'B').into_iter();
        let folders = folders.chain(long_values(args, "--prefix"));
        reads.code.extend(folders.map(|folder| self.directory.join(folder)));
        if args.iter().any(|word| word == "-wrapper") {
            reads.unbound.insert(NotBound::Option("-wrapper"));
        }
    }
}
