//! Folders in which options say that code is found: of Perl, of Ruby, and of compilers.

use super::{Code, Finder, NotBound};

/// Tells whether a name is that of a driver of compilers: `gcc`, `clang++`, `x86_64-linux-gnu-gcc`.
pub(super) fn is_compiler(name: &str) -> bool {
    matches!(name.rsplit('-').next(), Some("cc" | "gcc" | "g++" | "c++" | "clang" | "clang++" | "gfortran"))
}

/// Lists the values of a short option, attached or as the next word.
fn values<'a>(args: &'a [String], option: &'static str) -> impl Iterator<Item = &'a str> {
    args.iter().enumerate().filter_map(move |(at, word)| match word.strip_prefix(option)? {
        "" => args.get(at + 1).map(String::as_str),
        attached => Some(attached),
    })
}

impl Finder<'_> {
    /// Finds the folders that `-I` and `-Mlib=` of Perl name, and modules that `-M` names.
    pub(super) fn perl(&self, args: &[String], code: &mut Code) {
        let mut folders: Vec<&str> = values(args, "-I").collect();
        let mut modules = Vec::new();
        for word in ["-M", "-m"].into_iter().flat_map(|option| values(args, option)) {
            let (module, list) = word.split_once('=').unwrap_or((word, ""));
            match module.trim_start_matches('-') {
                "lib" | "blib" => folders.extend(list.split(',')),
                module => modules.push(format!("{}.pm", module.replace("::", "/"))),
            }
        }
        self.search(&folders, &modules, code);
    }

    /// Finds the folders that `-I` of Ruby names, and files that `-r` names.
    pub(super) fn ruby(&self, args: &[String], code: &mut Code) {
        let folders: Vec<&str> = values(args, "-I").flat_map(|list| list.split(':')).collect();
        let required: Vec<String> = values(args, "-r").map(|name| format!("{name}.rb")).collect();
        code.paths.extend(required.iter().map(|name| self.directory.join(name)));
        self.search(&folders, &required, code);
    }

    fn search(&self, folders: &[&str], files: &[String], code: &mut Code) {
        for folder in folders.iter().map(|folder| self.directory.join(folder)) {
            code.paths.extend(files.iter().map(|file| folder.join(file)));
            code.paths.push(folder);
        }
    }

    /// Finds the folders in which a compiler is told to find its programs.
    pub(super) fn compiler(&self, args: &[String], code: &mut Code) {
        code.paths.extend(values(args, "-B").map(|folder| self.directory.join(folder)));
        if args.iter().any(|word| word == "-wrapper") {
            code.unbound.push(NotBound::Option("-wrapper"));
        }
    }
}
