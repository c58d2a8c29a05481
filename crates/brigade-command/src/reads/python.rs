//! Finds scripts, modules and tests of Python.

use std::path::{Path, PathBuf};

use super::javascript::directory_of;
use super::{Finder, Reads};
use crate::programs::{PYTHON_ENDS, Program, short_values};

/// Python modules that run the script or module in their arguments.
const LAUNCHING_MODULES: &[&str] = &[
    "IPython",
    "cProfile",
    "debugpy",
    "doctest",
    "inspect",
    "kernprof",
    "memory_profiler",
    "pdb",
    // What it loads can start anything.
    "pickle",
    "profile",
    "pydoc",
    "pyinstrument",
    "runpy",
    "scalene",
    "trace",
    "viztracer",
];

/// Tells whether a module of Python runs the script or module in its arguments.
pub(crate) fn is_launching_module(module: &str) -> bool {
    LAUNCHING_MODULES.contains(&module)
}

/// Options of these modules that take the next word.
const LAUNCHING_OPTIONS: &[(&str, &[&str])] = &[
    ("cProfile", &["-o", "--outfile", "-s", "--sort"]),
    (
        "coverage",
        &["--concurrency", "--context", "--data-file", "--include", "--omit", "--rcfile", "--source"],
    ),
    ("debugpy", &["--adapter-access-token", "--connect", "--listen", "--log-to"]),
    ("kernprof", &["-o", "--outfile", "-p", "--prof-mod", "-s", "--setup"]),
    ("memory_profiler", &["-o", "--output"]),
    ("pdb", &["-c", "--command"]),
    ("profile", &["-o", "--outfile", "-s", "--sort"]),
    ("pyinstrument", &["-o", "--outfile", "-r", "--renderer", "-t", "--timeline"]),
    ("scalene", &["--outfile", "--profile-interval", "--program-path"]),
    ("trace", &["-f", "--file", "-C", "--coverdir", "--ignore-dir", "--ignore-module"]),
    ("viztracer", &["-o", "--output_file"]),
];

/// Returns the directory of a package that a word behind pip names: `./p`, `-e./p`, `file:p`, `.[extra]`,
/// `name @ file:///dir/p`.
pub(super) fn package_folder(word: &str) -> Option<&str> {
    let word = word.strip_prefix("--editable=").or_else(|| word.strip_prefix("-e")).unwrap_or(word);
    let word = if word.starts_with(".[") { "." } else { word };
    let folder = directory_of(word)?;
    let folder = folder.split('[').next().unwrap_or(folder);
    // A wheel is built, and none of it is run.
    (!folder.ends_with(".whl")).then_some(folder)
}

/// What the options of Python end with.
enum Start<'a> {
    /// `-m`: the word that holds the name of the module, its name, and the words after it.
    Module(&'a str, &'a str, &'a [String]),
    /// Code as text.
    Text,
    /// A script, a directory, or nothing.
    Script(Option<&'a str>),
}

/// Tells whether a long option of Python takes the next word.
fn is_valued(option: &str) -> bool {
    Program::of("python3").is_some_and(|python| python.row().spelling.long_valued.contains(&option))
}

/// Reads the options of Python up to a module, a directory or a file.
fn start(args: &[String]) -> Start<'_> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        if word == "--" {
            break;
        }
        let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.is_empty()) else {
            at -= 1;
            break;
        };
        if bundle.starts_with('-') {
            at += usize::from(is_valued(word));
            continue;
        }
        match bundle.find(['m', 'c', 'W', 'X']) {
            Some(index) if bundle[index..].starts_with('m') => {
                let attached = &bundle[index + 1..];
                return match args.get(at..).and_then(<[String]>::split_first) {
                    Some((module, rest)) if attached.is_empty() => Start::Module(module, module, rest),
                    _ => Start::Module(word, attached, &args[at..]),
                };
            }
            Some(index) if bundle[index..].starts_with('c') => return Start::Text,
            Some(index) => at += usize::from(index + 1 == bundle.len()),
            None => {}
        }
    }
    Start::Script(args.get(at).map(String::as_str))
}

/// Lists the words after Python that name its code, if it starts a module: the module, and the script or module that
/// this module runs.
pub(super) fn module_words(args: &[String]) -> Vec<&str> {
    match start(args) {
        Start::Module(word, module, rest) => {
            let mut found = vec![word];
            launched_words(module, rest, &mut found);
            found
        }
        Start::Text | Start::Script(_) => Vec::new(),
    }
}

/// Lists the words after a module of Python that name code that the module runs.
pub(super) fn launched_words<'a>(module: &str, args: &'a [String], found: &mut Vec<&'a str>) {
    let args = match module {
        "coverage" if args.first().is_some_and(|word| word == "run") => &args[1..],
        module if LAUNCHING_MODULES.contains(&module) => args,
        _ => return,
    };
    // These run everything that they get.
    let runs_all = matches!(module, "doctest" | "inspect" | "pickle" | "pydoc");
    let valued = LAUNCHING_OPTIONS.iter().find(|(name, _)| *name == module).map_or(&[][..], |(_, all)| all);
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        // Any prefix of a long name counts.
        let is_module = word == "-m" || (4 < word.len() && "--module".starts_with(word.as_str()));
        let attached = word.strip_prefix("-m").or_else(|| word.strip_prefix("--module="));
        if is_module || (attached.is_some() && !runs_all) {
            let name = attached.filter(|name| !name.is_empty());
            let (word, name, rest) = match (name, args.get(at..).and_then(<[String]>::split_first)) {
                (Some(name), _) => (word.as_str(), name, &args[at..]),
                (None, Some((name, rest))) => (name.as_str(), name.as_str(), rest),
                (None, None) => return,
            };
            found.push(word);
            return launched_words(name, rest, found);
        } else if word == "--" || (word.starts_with('-') && !valued.contains(&word.as_str())) {
        } else if word.starts_with('-') {
            at += 1;
        } else {
            found.push(word);
            if !runs_all {
                return;
            }
        }
    }
}

impl Finder<'_> {
    /// Reads the options of Python up to a module, a directory or a file.
    pub(super) fn python(&self, known: Program, args: &[String], reads: &mut Reads) {
        // A compiled file can run instead of the source.
        let settings = short_values(&known.row().spelling, args, 'X').into_iter();
        let caches = settings.filter_map(|setting| setting.strip_prefix("pycache_prefix="));
        reads.code.extend(caches.map(|folder| self.directory.join(folder)));
        match start(args) {
            Start::Module(_, module, rest) => self.python_run_module(module, rest, reads),
            Start::Script(Some(script)) => self.python_script(script, reads),
            Start::Text | Start::Script(None) => {}
        }
    }

    fn python_script(&self, script: &str, reads: &mut Reads) {
        let script = self.directory.join(script);
        self.installed_script(&script, reads);
        reads.code.extend([script.join("__main__.py"), script.join("__main__.pyc"), script]);
    }

    /// Finds the code of `-m module arguments`, including scripts that the module runs.
    fn python_run_module(&self, module: &str, rest: &[String], reads: &mut Reads) {
        self.python_module(module, reads);
        match module {
            "unittest" | "unittest.__main__" | "pytest" | "pytest.__main__" | "nose2" => {
                self.python_tests(rest, reads);
            }
            "coverage" if rest.first().is_some_and(|word| word == "run") => {
                self.python_launched(&rest[1..], reads);
            }
            "pip" => self.python_packages(rest, reads),
            module if LAUNCHING_MODULES.contains(&module) => self.python_launched(rest, reads),
            _ => {}
        }
    }

    /// Finds the packages in directories that pip builds.
    pub(super) fn python_packages(&self, args: &[String], reads: &mut Reads) {
        for folder in args.iter().filter_map(|word| package_folder(word)) {
            let folder = self.directory.join(folder);
            let settings = ["pyproject.toml", "setup.cfg", "setup.py"];
            reads.code.extend(settings.map(|name| folder.join(name)));
            reads.code.insert(folder);
        }
    }

    /// Reads the words of a module that runs a script, or a module after `-m`. Its options are unknown, so every word
    /// may be the script.
    pub(super) fn python_launched(&self, args: &[String], reads: &mut Reads) {
        for (at, word) in args.iter().enumerate() {
            match word.strip_prefix("-m").or_else(|| word.strip_prefix("--module")) {
                Some("") => {
                    if let Some((module, rest)) = args[at + 1..].split_first() {
                        self.python_run_module(module, rest, reads);
                    }
                    return;
                }
                Some(module) if !word.starts_with("--") => {
                    return self.python_run_module(module, &args[at + 1..], reads);
                }
                Some(_) | None if word.starts_with('-') => {}
                Some(_) | None => {
                    self.python_script(word, reads);
                    // `inspect` takes `package.module:name`.
                    self.python_module(word.split(':').next().unwrap_or(word), reads);
                }
            }
        }
    }

    /// Finds the tests that a test runner gets or discovers.
    pub(super) fn python_tests(&self, args: &[String], reads: &mut Reads) {
        let settings = ["conftest.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"];
        reads.code.extend(settings.map(|name| self.directory.join(name)));
        let mut finds = true;
        for word in args {
            let word = match word.split_once('=').filter(|_| word.starts_with("--")) {
                Some((_, value)) => value,
                None if word.starts_with('-') => continue,
                None => word,
            };
            let path = self.directory.join(word.split("::").next().unwrap_or(word));
            if self.is_there(&path) {
                finds = false;
                let around = self.upwards(&path).skip(1);
                reads.code.extend(around.map(|folder| folder.join("conftest.py")));
                if self.is_folder(&path) {
                    self.tree(&path, PYTHON_ENDS, reads);
                } else {
                    reads.code.insert(path);
                }
            } else if word != "discover" {
                let before = reads.code.len();
                self.python_module(word, reads);
                finds &= before == reads.code.len();
            }
        }
        if finds {
            self.tree(&self.directory, PYTHON_ENDS, reads);
        }
    }

    /// Finds what `python3 -m` imports: a package, or files with the module's name, in the working directory and where
    /// modules are installed.
    fn python_module(&self, module: &str, reads: &mut Reads) {
        self.module_in(&self.directory, module, reads);
        self.installed_module(module, reads);
    }

    /// Finds a module where modules are installed.
    pub(super) fn installed_module(&self, module: &str, reads: &mut Reads) {
        self.packages.iter().for_each(|folder| self.module_in(folder, module, reads));
    }

    /// Finds a module in a directory.
    fn module_in(&self, directory: &Path, module: &str, reads: &mut Reads) {
        let mut parts = module.split('.');
        let top = parts.next().unwrap_or_default();
        if top.is_empty() || top.contains('/') {
            return;
        }
        let package = directory.join(top);
        // A directory without these files only counts if no package with this name is installed.
        let begins = ["__init__.py", "__init__.pyc", "__main__.py", "__main__.pyc"];
        let inner: PathBuf = parts.collect();
        let mut signs: Vec<PathBuf> = begins.iter().map(|name| package.join(name)).collect();
        if !inner.as_os_str().is_empty() {
            signs.push(package.join(&inner));
        }
        // `sub.py`, `sub.pyc`, `sub.cpython-312.so`.
        let has_module = || {
            let last = inner.file_name().map(|name| format!("{}.", name.to_string_lossy()));
            let around = package.join(inner.parent().unwrap_or(&inner));
            let is_it = |name: &str| last.as_ref().is_some_and(|last| name.starts_with(last));
            self.files.list(&around).iter().any(|entry| is_it(&entry.name))
        };
        if signs.iter().any(|sign| self.is_there(sign)) || has_module() {
            reads.code.insert(package.clone());
        }
        let beginning = format!("{top}.");
        // Python runs an unchecked compiled file instead of the source.
        let compiled = directory.join("__pycache__");
        let entries = self.files.list(&compiled).into_iter();
        let of_module = entries.filter(|entry| entry.name.starts_with(&beginning));
        reads.code.extend(of_module.map(|entry| compiled.join(&entry.name)));
        for entry in self.files.list(directory) {
            let is_module = PYTHON_ENDS.iter().any(|end| entry.name.ends_with(end));
            if is_module && entry.name.starts_with(&beginning) {
                reads.code.insert(directory.join(&entry.name));
            }
        }
    }
}
