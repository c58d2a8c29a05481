//! Decides by the name of a file whether it contains code, and whether a program finds it automatically.

use std::path::Path;

use super::table::ROWS;
use super::{Finds, JAVASCRIPT_ENDS, PYTHON_ENDS, Program, Row};
use crate::chosen::is_proposed;

/// Returns whether a file, by its name alone, contains code for a known program: `lib/a.py`, `package.json`,
/// `Makefile`.
///
/// ```
/// use brigade_cmdline::is_code_name;
///
/// assert!(is_code_name("lib/a.py") && is_code_name("Makefile") && is_code_name("x.cjs"));
/// assert!(is_code_name("tasks.just") && is_code_name("src/Main.java") && is_code_name("bin/x.sed"));
/// assert!(is_code_name(".venv/pyvenv.cfg") && is_code_name("lib/x.pth") && is_code_name("go.mod"));
/// assert!(is_code_name("a/build.gradle") && is_code_name("CMakeLists.txt") && !is_code_name("notes.txt"));
/// assert!(is_code_name("x.so.1") && is_code_name("c.json5") && is_code_name("composer.json"));
/// assert!(!is_code_name("data/a.csv") && !is_code_name("notes.md"));
/// ```
pub fn is_code_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_of = |row: &Row| row.files.contains(&name) || row.ends.iter().any(|end| name.ends_with(end));
    ROWS.iter().any(is_of)
        || OTHER_ENDS.iter().any(|end| name.ends_with(end))
        || OTHER_NAMES.contains(&name)
        || name.contains(".so.")
        || is_proposed(name)
}

/// The ends of files with code that a program of no row loads, or that programs of several rows load.
const OTHER_ENDS: &[&str] = &[".dylib", ".el", ".json5", ".vbs", ".wasm"];

/// The names of such files.
const OTHER_NAMES: &[&str] = &[".babelrc", "Dockerfile", "Gemfile", "tsconfig.json"];

/// The file names that make a directory next to code a package.
pub const PACKAGE_FILES: [&str; 6] =
    ["__init__.py", "__init__.pyc", "index.js", "index.cjs", "index.node", "package.json"];

/// Returns whether code finds another path without a reference to it, by the names alone.
///
/// These are modules and packages of Python and JavaScript next to the code or next to its package, their compiled
/// forms, and installed packages of JavaScript. Code without an extension may be in either language.
///
/// ```
/// use std::path::Path;
///
/// use brigade_cmdline::is_found_beside;
///
/// let finds = |code: &str, other: &str| is_found_beside(Path::new(code), Path::new(other));
/// assert!(finds("bin/x.py", "bin/json.py") && finds("run.js", "lib.mjs") && finds("bin/tool", "bin/json.py"));
/// assert!(finds("bin/x.py", "bin/__pycache__") && finds("bin/x.py", "bin/json/__init__.py"));
/// assert!(finds("pkg/__main__.py", "json.py") && finds("app/src/x.js", "app/node_modules/a/index.js"));
/// assert!(!finds("bin/x.py", "bin/a.csv") && !finds("Makefile", "main.py") && !finds("x.py", "src/a.py"));
/// ```
pub fn is_found_beside(code: &Path, other: &Path) -> bool {
    let name_of = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_ascii_lowercase);
    let ends = |path: &Path, all: &[&str]| {
        name_of(path).is_some_and(|name| all.iter().any(|end| name.ends_with(end)))
    };
    let (Some(name), Some(folder)) = (name_of(code), code.parent()) else { return false };
    let is_any = !name.contains('.') && !code.to_str().is_some_and(is_code_name);
    let is_package = ["__init__.", "__main__."].iter().any(|begin| name.starts_with(begin));
    let around = folder.parent().filter(|_| is_package);
    let of_python = |folder: &Path| {
        let Ok(below) = other.strip_prefix(folder) else { return false };
        let mut parts = below.iter();
        match (parts.next(), parts.next(), parts.next()) {
            (Some(first), ..) if first == "__pycache__" => true,
            (Some(_), None, None) => ends(other, PYTHON_ENDS),
            (Some(_), Some(file), None) => {
                file.to_str().is_some_and(|file| file.starts_with("__init__.")) && ends(other, PYTHON_ENDS)
            }
            _ => false,
        }
    };
    let of_javascript = || {
        let mut installed = other.ancestors().filter(|path| path.ends_with("node_modules"));
        if installed.any(|path| path.parent().is_some_and(|above| folder.starts_with(above))) {
            return true;
        }
        let below: Vec<_> =
            other.strip_prefix(folder).map(|below| below.iter().collect()).unwrap_or_default();
        let is_index = || below[1].to_str().is_some_and(|file| file.starts_with("index."));
        ends(other, JAVASCRIPT_ENDS) && (below.len() == 1 || below.len() == 2 && is_index())
    };
    ((is_any || ends(code, PYTHON_ENDS)) && [Some(folder), around].into_iter().flatten().any(of_python))
        || ((is_any || ends(code, JAVASCRIPT_ENDS)) && of_javascript())
}

/// Returns whether an interpreter without a script, which loads code from its working directory, could load a path.
///
/// A module that Python runs can load the files directly in the directory. Code in a word can load all code below it.
/// Paths are relative to the workspace.
///
/// ```
/// use std::path::Path;
///
/// use brigade_cmdline::{Argv, is_loaded_from};
///
/// let loads = |command: &str, other: &str| {
///     is_loaded_from(Argv::parse(command).unwrap().words(), Path::new(""), Path::new(other))
/// };
/// assert!(loads("python3 -m json.tool", "argparse.py") && loads("python3 -m json.tool", "argparse/__init__.py"));
/// assert!(loads("python3 -c 'import lib.a'", "lib/a.py") && loads("node -p 'require(\"./lib/a\")'", "lib/a.js"));
/// assert!(loads("node -r ./lib/r.js -e 1", "x.json") && !loads("python3 -m json.tool", "src/a.py"));
/// assert!(!loads("python3 run.py", "a.py") && !loads("node -p 1", "a.csv") && !loads("cat -c", "a.py"));
/// ```
pub fn is_loaded_from(words: &[String], directory: &Path, other: &Path) -> bool {
    let ends = |all: &[&str]| {
        let name = other.to_string_lossy().to_ascii_lowercase();
        other.starts_with(directory) && all.iter().any(|end| name.ends_with(end))
    };
    words.iter().enumerate().any(|(at, word)| {
        let Some(known) = Program::from_word(word) else { return false };
        let mut options = words[at + 1..].iter().take_while(|word| word.starts_with('-'));
        match known.row().finds {
            Finds::Python => options.any(|option| {
                let bundle = option.trim_start_matches(|c: char| c == '-' || c.is_ascii_uppercase());
                let is_module = option.contains('m') && is_found_beside(&directory.join("x.py"), other);
                let takes_code = known.takes_code(option) || bundle.contains('c');
                !option.starts_with("--") && (is_module || (takes_code && ends(PYTHON_ENDS)))
            }),
            Finds::JavaScript => options.any(|option| {
                let name = option.split('=').next().unwrap_or(option);
                let preloads =
                    matches!(name, "-r" | "--require" | "--import" | "--loader" | "--experimental-loader");
                let takes_code =
                    known.takes_code(name) || matches!(name, "-e" | "-p" | "-pe" | "--eval" | "--print");
                (preloads || takes_code) && (ends(JAVASCRIPT_ENDS) || ends(&[".json", ".node"]))
            }),
            _ => false,
        }
    })
}
