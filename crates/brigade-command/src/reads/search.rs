//! Folders in which options say that code is found: of Perl, of Ruby, and of compilers.

use super::{Finder, NotBound, Reads};

/// Lists the values of a short option, attached or as the next word.
fn values<'a>(args: &'a [String], option: &'static str) -> impl Iterator<Item = &'a str> {
    args.iter().enumerate().filter_map(move |(at, word)| match word.strip_prefix(option)? {
        "" => args.get(at + 1).map(String::as_str),
        attached => Some(attached),
    })
}

impl Finder<'_> {
    /// Finds the folders that `-I` and `-Mlib=` of Perl name, and modules that `-M` names.
    pub(super) fn perl(&self, args: &[String], reads: &mut Reads) {
        let mut folders: Vec<&str> = values(args, "-I").collect();
        let mut modules = Vec::new();
        for word in ["-M", "-m"].into_iter().flat_map(|option| values(args, option)) {
            let (module, list) = word.split_once('=').unwrap_or((word, ""));
            match module.trim_start_matches('-') {
                "lib" | "blib" => folders.extend(list.split(',')),
                module => modules.push(format!("{}.pm", module.replace("::", "/"))),
            }
        }
        self.search(&folders, &modules, reads);
    }

    /// Finds the folders that `-I` of Ruby names, and files that `-r` names.
    pub(super) fn ruby(&self, args: &[String], reads: &mut Reads) {
        let folders: Vec<&str> = values(args, "-I").flat_map(|list| list.split(':')).collect();
        let required: Vec<String> = values(args, "-r").map(|name| format!("{name}.rb")).collect();
        reads.code.extend(required.iter().map(|name| self.directory.join(name)));
        self.search(&folders, &required, reads);
    }

    fn search(&self, folders: &[&str], files: &[String], reads: &mut Reads) {
        for folder in folders.iter().map(|folder| self.directory.join(folder)) {
            reads.code.extend(files.iter().map(|file| folder.join(file)));
            reads.code.insert(folder);
        }
    }

    /// Finds the folders in which a compiler is told to find its programs.
    pub(super) fn compiler(&self, args: &[String], reads: &mut Reads) {
        reads.code.extend(values(args, "-B").map(|folder| self.directory.join(folder)));
        if args.iter().any(|word| word == "-wrapper") {
            reads.unbound.insert(NotBound::Option("-wrapper"));
        }
    }
}
