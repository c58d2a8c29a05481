//! Finds commands that choose their code themselves, and what an entry could declare for them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::argv::Argv;
use crate::code::script_of;
use crate::programs::{Finds, Program, Script};
use crate::reads::{Files, Kind, PathTarget};
use crate::risk::{PlacedWords, Word, numbered, wrapped};

/// A command that chooses its code itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenCode {
    /// The words that choose the code: `make`, `npm run`, `python3 -m`.
    pub command: String,
    /// Patterns of `code` that cover most of what it loads.
    pub proposal: Vec<String>,
}

/// A program, its subcommands that choose code, and the patterns to propose. Without subcommands, all choose it.
struct Row(&'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    Row("make gmake", "", "Makefile *.mk"),
    Row("just", "", "justfile"),
    Row("rake", "", "Rakefile *.rake"),
    Row("task", "", "Taskfile.yml"),
    Row("invoke inv", "", "tasks.py"),
    Row("npm pnpm", "run run-script rum urn test t tst start stop restart", "package.json"),
    Row("yarn", "!add cache config dlx exec info init install link remove up upgrade why", "package.json"),
    Row("bun", "run test", "package.json"),
    Row("deno", "task test bench", "deno.json"),
    Row("composer", "run run-script test", "composer.json"),
    Row("cargo", "", "Cargo.toml src/**"),
    Row("go", "run test build generate install vet", "go.mod **/*.go"),
    Row("pytest py.test", "", "conftest.py tests/**"),
    Row("tox", "", "tox.ini"),
    Row("nox", "", "noxfile.py"),
    Row("gradle gradlew", "", "build.gradle settings.gradle"),
    Row("mvn mvnw", "", "pom.xml"),
    Row("ant", "", "build.xml"),
    Row("bazel buck2", "", "**/BUILD **/*.bzl"),
    Row("cmake", "", "CMakeLists.txt *.cmake"),
    Row("ninja", "", "build.ninja"),
    Row("meson", "", "meson.build"),
    Row("scons", "", "SConstruct"),
    Row("sbt", "", "build.sbt"),
    Row("lein", "", "project.clj src/**"),
    Row("mix", "", "mix.exs lib/**"),
    Row("cabal stack", "", "*.cabal"),
    Row("zig", "build run test", "build.zig"),
    Row("dotnet", "run test build", "*.csproj"),
];

/// Returns whether a proposal names a file with this name, or with its end.
pub(crate) fn is_proposed(name: &str) -> bool {
    ROWS.iter().flat_map(|row| row.2.split(' ')).any(|pattern| {
        let last = pattern.rsplit('/').next().unwrap_or(pattern);
        match last.strip_prefix('*') {
            Some(end) => end.starts_with('.') && name.ends_with(end),
            None => last == name,
        }
    })
}

/// Returns how a command that starts in a directory of the workspace chooses its code, as far as its words alone show.
///
/// ```
/// use std::path::Path;
///
/// use brigade_cmdline::{Argv, chooses_code};
///
/// let chooses = |command: &str| chooses_code(&Argv::parse(command).unwrap(), Path::new(""));
/// let chosen = chooses("env CI=1 make all").unwrap();
/// assert_eq!((chosen.command.as_str(), chosen.proposal.len()), ("make", 2));
/// assert!(chooses("python3 run.py").is_none());
/// ```
pub fn chooses_code(argv: &Argv, directory: &Path) -> Option<ChosenCode> {
    chosen_code(wrapped(numbered(argv.words())).last()?, directory, &NoFiles)
}

/// A file system in which no file can be examined.
struct NoFiles;

impl Files for NoFiles {
    fn root(&self) -> &Path {
        Path::new("")
    }

    fn path_variable(&self) -> Option<&OsStr> {
        None
    }

    fn look(&self, _: &Path) -> PathTarget {
        PathTarget::Nowhere
    }

    fn is_program(&self, _: &Path) -> bool {
        false
    }

    fn head(&self, _: &Path, _: usize) -> Vec<u8> {
        Vec::new()
    }
}

/// Returns how a command chooses its code, if it does.
///
/// A script, package or file that a word names is not chosen. So an interpreter with a named script does not count, and
/// neither do package runners, whose words name package and version.
pub(crate) fn chosen_code(
    (words, moved): &PlacedWords,
    directory: &Path,
    files: &dyn Files,
) -> Option<ChosenCode> {
    let (head, args) = words.split_first()?;
    let place = directory.join(moved);
    let kind = |word: &str| files.look(&place.join(word)).kind();
    let name = crate::programs::base_name(&head.text);
    // If no table knows the versions of a program, its name must match exactly.
    let known = Program::from_word(&head.text);
    let is_one = |listed: &str| *listed == *name || known.is_some_and(|known| known.name == listed);
    let is_wrapper_script = matches!(&*name, "gradlew" | "mvnw");
    let is_own = head.text.contains('/') && !head.text.starts_with('/') && !is_wrapper_script;
    let row = ROWS.iter().filter(|_| !is_own).find(|row| row.0.split(' ').any(is_one));
    // Patterns of an entry are relative to the workspace.
    let base = place.strip_prefix(files.root()).unwrap_or(moved);
    let base: PathBuf = match row.and_then(|_| directory_option(args)) {
        Some(directory) => base.join(directory).components().collect(),
        None => base.to_owned(),
    };
    let below = |pattern: &str| match base.as_os_str().is_empty() {
        true => pattern.to_owned(),
        false => format!("{}/{pattern}", escaped(&base.to_string_lossy())),
    };
    let chosen = |command: String, patterns: &str| {
        let proposal = patterns.split(' ').map(below).filter(|pattern| is_below(pattern)).collect();
        Some(ChosenCode { command, proposal })
    };
    if let Some(Row(_, verbs, patterns)) = row {
        let typed = verbs_of(args);
        let is_in = |list: &str, verb: &str| list.split(' ').any(|listed| listed == verb);
        let verb = match verbs.strip_prefix('!') {
            Some(others) => typed.last().filter(|verb| !is_in(others, verb)),
            None if verbs.is_empty() => typed.first(),
            None => typed.iter().find(|verb| is_in(verbs, verb)),
        };
        let verb = verb.copied();
        let chooses = verbs.is_empty() || verb.is_some();
        // `go run x.go` and `bun run x.ts` name what they run.
        let mut operands =
            args.iter().map(|word| word.text.as_str()).skip_while(|word| Some(*word) != verb).skip(1);
        let mut names_file = || {
            operands.find(|word| !word.starts_with('-')).is_some_and(|word| kind(word) == Some(Kind::File))
        };
        let is_named = matches!(&*name, "go" | "bun" | "deno") && chooses && names_file();
        let shown = verb
            .filter(|_| !verbs.is_empty())
            .map_or_else(|| name.to_string(), |verb| format!("{name} {verb}"));
        return if chooses && !is_named { chosen(shown, patterns) } else { None };
    }
    let known = known.filter(|_| !is_own)?;
    if known.row().finds == Finds::Python
        && let Some(module) = module_of(args)
    {
        let package = module.split('.').next().unwrap_or_default();
        return match package {
            "pytest" => chosen(format!("{name} -m {package}"), "conftest.py tests/**"),
            "unittest" => chosen(format!("{name} -m {package}"), "**/test*.py"),
            package => chosen(format!("{name} -m"), &format!("{}/**", escaped(package))),
        };
    }
    let option = |option: &str| args.iter().any(|word| word.text == option);
    if known.row().finds == Finds::JavaScript && (option("--run") || option("--test")) {
        return match option("--run") {
            true => chosen(format!("{name} --run"), "package.json"),
            false => chosen(format!("{name} --test"), "package.json test/**"),
        };
    }
    let script = script_of(words)?;
    let text = script.word.text.trim_end_matches('/');
    match (kind(text), known.row().script) {
        (Some(Kind::Folder), Script::File | Script::ByName) if matches!(text, "." | "") => chosen(
            format!("{name} ."),
            if known.row().script == Script::File { "*.py" } else { "package.json *.js" },
        ),
        (Some(Kind::Folder), Script::File | Script::ByName) => {
            chosen(format!("{name} {text}"), &format!("{}/**", escaped(text)))
        }
        // `node bin/t` looks for `bin/t.js`.
        (None, Script::ByName) if !script.is_exact && files.look(&place) != PathTarget::Nowhere => {
            chosen(format!("{name} {text}"), &format!("{}.*", escaped(text)))
        }
        _ => None,
    }
}

/// Returns the working directory that an option sets for a program: `make -C DIR`, `npm --prefix=DIR`.
fn directory_option(args: &[Word]) -> Option<&str> {
    const OPTIONS: &[&str] = &["-C", "--cwd", "--dir", "--directory", "--prefix"];
    let words = || args.iter().map(|word| word.text.as_str());
    words()
        .zip(words().skip(1))
        .find_map(|(option, value)| OPTIONS.contains(&option).then_some(value))
        .or_else(|| {
            words()
                .filter_map(|word| word.split_once('='))
                .find_map(|(option, value)| OPTIONS.contains(&option).then_some(value))
        })
        .or_else(|| words().find_map(|word| word.strip_prefix("-C").filter(|value| !value.is_empty())))
}

/// Returns whether an entry may declare a pattern: it stays in the workspace, and its directory is known.
fn is_below(pattern: &str) -> bool {
    let is_way_out = |part: &str| part == ".." || part.contains(['{', '$']);
    !pattern.starts_with('/') && !pattern.split('/').any(is_way_out)
}

/// Converts a path to a pattern that matches only this path.
fn escaped(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.chars().flat_map(|c| matches!(c, '*' | '?' | '\\').then_some('\\').into_iter().chain([c])).collect()
}

/// Returns the module after `-m`, if no script comes before it.
fn module_of(args: &[Word]) -> Option<&str> {
    let mut words = args.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        if let Some(attached) = module_in_option(word) {
            return if attached.is_empty() { words.next() } else { Some(attached) };
        }
        match word {
            "-X" | "-W" | "--check-hash-based-pycs" => drop(words.next()),
            word if word.starts_with('-') && word != "-" => {}
            _ => return None,
        }
    }
    None
}

/// Returns the rest after `m` in a bundle of Python's options: `-m`, `-mpkg`, `-um`.
pub(crate) fn module_in_option(word: &str) -> Option<&str> {
    /// The options without a value.
    const FLAGS: &str = "bBdEhiIOPqRsSuvVx";
    let bundle = word.strip_prefix('-')?.trim_start_matches(|letter| FLAGS.contains(letter));
    bundle.strip_prefix('m')
}

/// Returns the words that may be the subcommand of a program: the first operand. If that may be the value of an option,
/// the next operand is included, too.
fn verbs_of(args: &[Word]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_value = false;
    for word in args.iter().map(|word| word.text.as_str()) {
        if word.starts_with('-') {
            is_value = !word.contains('=');
            continue;
        }
        found.push(word);
        if !std::mem::take(&mut is_value) {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Disk;

    impl Files for Disk {
        fn root(&self) -> &Path {
            Path::new("/work")
        }
        fn path_variable(&self) -> Option<&OsStr> {
            None
        }
        fn look(&self, path: &Path) -> PathTarget {
            let below = path.strip_prefix("/work").unwrap_or(path).to_string_lossy().into_owned();
            PathTarget::Inside(match below.trim_end_matches('.') {
                "" | "app" => Some(Kind::Folder),
                "x.py" | "x.js" | "main.go" => Some(Kind::File),
                _ => None,
            })
        }
        fn is_program(&self, _: &Path) -> bool {
            false
        }
        fn head(&self, _: &Path, _: usize) -> Vec<u8> {
            Vec::new()
        }
    }

    #[test]
    fn commands_that_choose_their_code_propose_it() {
        for (command, expect) in [
            ("make -s all", Some(("make", "Makefile *.mk"))),
            ("env CI=1 timeout 5 make", Some(("make", "Makefile *.mk"))),
            ("env -C sub just go", Some(("just", "sub/justfile"))),
            ("npm run build", Some(("npm run", "package.json"))),
            ("npm test", Some(("npm test", "package.json"))),
            ("npm --prefix web run build", Some(("npm run", "web/package.json"))),
            ("make -C sub all", Some(("make", "sub/Makefile sub/*.mk"))),
            ("make -Csub all", Some(("make", "sub/Makefile sub/*.mk"))),
            ("make -C ../x", Some(("make", ""))),
            ("make -C /elsewhere/sub", Some(("make", ""))),
            ("go -C sub run .", Some(("go run", "sub/go.mod sub/**/*.go"))),
            ("python3 -X utf8 -um pkg", Some(("python3 -m", "pkg/**"))),
            ("python3 -mpkg", Some(("python3 -m", "pkg/**"))),
            ("yarn build", Some(("yarn build", "package.json"))),
            ("cargo test --locked", Some(("cargo", "Cargo.toml src/**"))),
            ("go run ./cmd/x", Some(("go run", "go.mod **/*.go"))),
            ("./gradlew test", Some(("gradlew", "build.gradle settings.gradle"))),
            ("pytest -q", Some(("pytest", "conftest.py tests/**"))),
            ("python3 -m pkg.tool", Some(("python3 -m", "pkg/**"))),
            ("python3 -m pytest", Some(("python3 -m pytest", "conftest.py tests/**"))),
            ("python3 app", Some(("python3 app", "app/**"))),
            ("node .", Some(("node .", "package.json *.js"))),
            ("node app/", Some(("node app", "app/**"))),
            ("node bin/t", Some(("node bin/t", "bin/t.*"))),
            ("node --run x", Some(("node --run", "package.json"))),
            // These commands name what they run.
            ("python3 x.py", None),
            ("python3 gone.py", None),
            ("node x.js", None),
            ("go run main.go", None),
            ("sh run.sh", None),
            ("npm install", None),
            ("yarn add x", None),
            // The words name package and version.
            ("npx eslint", None),
            ("uvx ruff@1.0", None),
            ("pipx run x", None),
            ("docker run image", None),
            ("bin/make x", None),
            ("ls", None),
        ] {
            let argv = Argv::parse(command).unwrap();
            let chain = wrapped(numbered(argv.words()));
            let found = chosen_code(chain.last().unwrap(), Path::new("/work"), &Disk);
            let found = found.map(|chosen| (chosen.command, chosen.proposal.join(" ")));
            let expect = expect.map(|(command, patterns)| (command.to_owned(), patterns.to_owned()));
            assert_eq!(found, expect, "{command}");
        }
    }
}
