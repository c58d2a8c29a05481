//! Finds what a Python in a virtual environment of the workspace loads from there: what is executed at each start, and
//! the modules that the command names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::chain::TEXT_LIMIT;
use super::words::quoted_in;
use super::{Files, Finder, Kind, Reads, Seen};
use crate::programs::{Finds, Program};

/// The file that makes a directory a virtual environment.
const SETTINGS: &str = "pyvenv.cfg";

/// The modules that Python imports at each start.
const START: [&str; 2] = ["sitecustomize", "usercustomize"];

/// How a module is called in which setuptools says where modules are that it did not copy.
const EDITABLE: &str = "__editable___";

/// How the second line of a script begins that a shell runs first, because the path of its Python is too long for a
/// first line.
const FOR_SHELL: &[u8] = b"'''exec' ";

/// Returns the virtual environment in the workspace that a program is of.
fn environment_of<'p>(program: &'p Path, files: &dyn Files) -> Option<&'p Path> {
    let is_there = |path: &Path| matches!(files.look(path), Seen::Inside { kind: Some(_), .. });
    let beside = program.parent();
    let around = beside.into_iter().chain(beside.and_then(Path::parent));
    around.into_iter().find(|folder| is_there(&folder.join(SETTINGS)))
}

/// Lists the directories of installed packages of a program, if that is the Python of a virtual environment in the
/// workspace.
pub(super) fn packages_of(program: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let Some(environment) = environment_of(program, files) else { return Vec::new() };
    let libraries = ["lib", "lib64"].map(|name| environment.join(name));
    let versions = libraries.iter().flat_map(|library| {
        let entries = files.list(library).into_iter().filter(|entry| entry.kind != Kind::File);
        entries.map(|entry| library.join(entry.name))
    });
    let mut seen = BTreeSet::new();
    let is_new = |path: &PathBuf| match files.look(path) {
        Seen::Inside { real, kind: Some(Kind::Folder) } => seen.insert(real),
        Seen::Inside { .. } | Seen::Outside(_) | Seen::Nowhere => false,
    };
    versions.map(|version| version.join("site-packages")).filter(is_new).collect()
}

/// Returns the Python that runs a script of a virtual environment whose first line names a shell.
pub(super) fn python_behind_shell(script: &Path, head: &[u8], files: &dyn Files) -> Option<PathBuf> {
    let second = head.split(|byte| *byte == b'\n').nth(1)?;
    let python = script.with_file_name("python");
    (second.starts_with(FOR_SHELL) && !packages_of(&python, files).is_empty()).then_some(python)
}

impl Finder<'_> {
    /// Returns the same search for a program that is Python, which finds modules where its environment has them, too.
    pub(super) fn in_environment(mut self, program: Option<&Path>, reads: &mut Reads) -> Self {
        let Some(program) = program else { return self };
        // It says where the standard library is.
        reads.code.extend(environment_of(program, self.files).map(|environment| environment.join(SETTINGS)));
        let packages = packages_of(program, self.files);
        reads.environments.extend(packages.iter().cloned());
        let mut imported = BTreeSet::from(START.map(str::to_owned));
        let mut named = BTreeSet::new();
        for folder in &packages {
            for entry in self.files.list(folder) {
                if entry.name.ends_with(".pth") {
                    let path = folder.join(&entry.name);
                    let text = self.text(&path, reads);
                    // Each line is a directory, or code that is executed.
                    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
                    for line in lines {
                        match imports_of(line) {
                            found if found.is_empty() => self.packages.push(folder.join(line.trim_end())),
                            found => {
                                imported.extend(found);
                                named.extend(self.named_by_code(folder, line));
                            }
                        }
                    }
                    reads.code.insert(path);
                }
            }
        }
        self.packages.extend(packages);
        let inside =
            std::mem::take(&mut self.packages).into_iter().filter(|folder| self.inside(folder).is_some());
        let inside = inside.collect();
        self.packages = inside;
        self.beside = program.parent().map(Path::to_owned);
        let mut mapped = Vec::new();
        for folder in packages_of(program, self.files) {
            for name in &imported {
                if name.starts_with(EDITABLE) {
                    mapped.extend(mapped_by(&self.text(&folder.join(format!("{name}.py")), reads)));
                } else {
                    named.extend(self.named_by_finder(&folder, name, reads));
                }
            }
        }
        // What a finder of another kind names may be a module, or a directory of modules.
        for path in named {
            self.packages.extend(path.parent().map(Path::to_owned));
            self.packages.push(path.clone());
            reads.chain.files.insert(path);
        }
        mapped.retain(|(_, path)| self.inside(path).is_some());
        for (module, path) in mapped {
            match path.parent().filter(|_| path.ends_with(&module)) {
                Some(folder) => self.packages.push(folder.to_owned()),
                // It is found under another name.
                None => drop(reads.code.insert(path)),
            }
        }
        imported.iter().for_each(|module| self.installed_module(module, reads));
        self
    }

    /// Finds what a script imports that an installation put beside its Python.
    pub(super) fn installed_script(&self, script: &Path, reads: &mut Reads) {
        if script.parent() == self.beside.as_deref() && !self.packages.is_empty() {
            let text = self.text(script, reads);
            let found: BTreeSet<String> = text.lines().flat_map(imports_of).collect();
            found.iter().for_each(|module| self.installed_module(module, reads));
        }
    }

    /// Lists what a module that Python imports at each start names, if that changes where modules are found.
    fn named_by_finder(&self, packages: &Path, module: &str, reads: &mut Reads) -> BTreeSet<PathBuf> {
        const CHANGING: [&str; 5] = ["addsitedir", "meta_path", "path_hooks", "spec_from", "sys.path"];
        let path = packages.join(module.replace('.', "/"));
        let mut found = BTreeSet::new();
        for file in [path.with_extension("py"), path.join("__init__.py")] {
            let text = self.text(&file, reads);
            if CHANGING.iter().any(|name| text.contains(name)) {
                found.extend(self.named_by_code(file.parent().unwrap_or(packages), &text));
            }
        }
        found
    }

    /// Lists the files and directories of the workspace that texts in quotes name, from the directory of the code, from
    /// the workspace and from the working directory. Those that hold the code itself are left out.
    fn named_by_code(&self, folder: &Path, text: &str) -> BTreeSet<PathBuf> {
        let from = [folder, self.files.root(), &self.directory];
        let own = self.inside(folder);
        let is_other = |path: &PathBuf| {
            self.inside(path).is_some_and(|real| own.as_ref().is_none_or(|own| !own.starts_with(&real)))
        };
        let names: BTreeSet<_> = text.lines().flat_map(quoted_in).collect();
        let paths = names.iter().flat_map(|name| from.map(|folder| folder.join(&**name)));
        paths.filter(|path| self.is_there(path) && is_other(path)).collect()
    }

    /// Reads a text of an installation. One that is there and cannot be read is named.
    fn text(&self, path: &Path, reads: &mut Reads) -> String {
        let bytes = self.files.read(path, TEXT_LIMIT);
        if bytes.is_none() && self.is_file(path) {
            reads.chain.finders.insert(self.shown(path));
        }
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }
}

/// Lists where a finder of setuptools finds modules and namespaces, which can have several directories:
/// `MAPPING: dict[str, str] = {'pkg': '/work/src/pkg'}`, `NAMESPACES: dict[str, list[str]] = {'ns': ['/work/ns']}`.
fn mapped_by(text: &str) -> Vec<(String, PathBuf)> {
    let is_table = |line: &&str| ["MAPPING", "NAMESPACES"].iter().any(|name| line.starts_with(name));
    let mut found = Vec::new();
    for line in text.lines().filter(is_table) {
        let Some((_, mut rest)) = line.split_once('{') else { continue };
        let mut module = String::new();
        while let Some(at) = rest.find(['\'', '"']) {
            let Some((text, behind)) = python_text(&rest[at..]) else { break };
            match behind.trim_start().starts_with(':') {
                true => module = text,
                false => found.push((module.clone(), PathBuf::from(text))),
            }
            rest = behind;
        }
    }
    found
}

/// Reads a text in quotes of Python at the beginning, as `repr` writes it, and returns it with what stands behind it.
fn python_text(text: &str) -> Option<(String, &str)> {
    let mut letters = text.chars();
    let quote = letters.next()?;
    let mut found = String::new();
    loop {
        let digits = match letters.next()? {
            letter if letter == quote => return Some((found, letters.as_str())),
            '\\' => match letters.next()? {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                letter => {
                    found.push(match letter {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        letter => letter,
                    });
                    continue;
                }
            },
            letter => {
                found.push(letter);
                continue;
            }
        };
        let (code, _) = letters.as_str().split_at_checked(digits)?;
        found.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        letters.nth(digits - 1);
    }
}

/// Lists the modules that a line of Python imports: `import a, b.c as d; d.e()`, `from a.b import c`.
fn imports_of(line: &str) -> Vec<String> {
    let is_name = |name: &&str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let first = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for statement in line.split(';').map(str::trim_start) {
        let rest = |word: &str| statement.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t']));
        if let Some(rest) = rest("from") {
            found.push(first(rest));
        } else if let Some(rest) = rest("import") {
            found.extend(rest.split(',').map(first));
        }
    }
    for call in ["__import__(", "import_module("] {
        let names = line.match_indices(call).filter_map(|(at, _)| {
            let rest = line[at + call.len()..].trim_start();
            let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
            rest[1..].split(quote).next().map(str::to_owned)
        });
        found.extend(names);
    }
    found.retain(|name| !name.is_empty() && is_name(&name.as_str()));
    found
}

/// Returns whether a word names Python.
pub(super) fn is_python(known: Program) -> bool {
    known.row().finds == Finds::Python
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_an_editable_installation_is_read() {
        let text = "import sys\nMAPPING: dict[str, str] = {'pkg': '/work/src/pkg', \"b\": \"/work/lib/c\"}\nNAMESPACES = {}\n";
        let expect = [("pkg", "/work/src/pkg"), ("b", "/work/lib/c")];
        assert_eq!(mapped_by(text), expect.map(|(name, path)| (name.to_owned(), PathBuf::from(path))));
        assert_eq!((mapped_by("MAPPING = {}"), mapped_by("x")), (vec![], vec![]));
        // Issue 12: Python writes a path with a quote between the other ones, and namespaces have lists.
        let text = "MAPPING = {'p': \"/work/it's/p\", 'q': '/a\\'\"b\\\\c\\x01\\u2028'}\nNAMESPACES: dict[str, list[str]] = \
                    {'ns': ['/work/ns', '/work/b/ns'], 'x.y': [], 'z': ['/z']}\n";
        let expect = [
            ("p", "/work/it's/p"),
            ("q", "/a'\"b\\c\u{1}\u{2028}"),
            ("ns", "/work/ns"),
            ("ns", "/work/b/ns"),
            ("z", "/z"),
        ];
        assert_eq!(mapped_by(text), expect.map(|(name, path)| (name.to_owned(), PathBuf::from(path))));
        assert_eq!(mapped_by("MAPPING = {'p': '/work/cut"), vec![]);
    }

    #[test]
    fn modules_are_read_from_lines() {
        let check = |line: &str, expect: &[&str]| assert_eq!(imports_of(line), expect, "{line}");
        check("import a, b.c as d; d.e()", &["a", "b.c"]);
        check("    from a.b import c", &["a.b"]);
        check("import os; var = 'X'; __import__('y').z()", &["os", "y"]);
        check("import importlib; importlib.import_module(\"a.b\")", &["importlib", "a.b"]);
        check("import x; __import__(name)", &["x"]);
        check("/work/src", &[]);
        check("important = 1", &[]);
        check("from . import x", &["."]);
    }
}
