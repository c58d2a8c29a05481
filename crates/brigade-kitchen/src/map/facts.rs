//! Facts derived from the names of files and folders.

use std::collections::BTreeMap;

use super::{Convention, Folder, Language, inside, split};

/// Languages by file extension. Data and prose are left out.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("C", &["c", "h"]),
    ("C#", &["cs"]),
    ("C++", &["cc", "cpp", "cxx", "hpp", "hh", "hxx"]),
    ("CSS", &["css", "scss", "sass", "less"]),
    ("Clojure", &["clj", "cljs", "cljc"]),
    ("Dart", &["dart"]),
    ("Elixir", &["ex", "exs"]),
    ("Elm", &["elm"]),
    ("Erlang", &["erl", "hrl"]),
    ("F#", &["fs", "fsx"]),
    ("Go", &["go"]),
    ("Groovy", &["groovy"]),
    ("HTML", &["html", "htm"]),
    ("Haskell", &["hs"]),
    ("Java", &["java"]),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    ("Julia", &["jl"]),
    ("Kotlin", &["kt", "kts"]),
    ("Lua", &["lua"]),
    ("Nix", &["nix"]),
    ("OCaml", &["ml", "mli"]),
    ("Objective-C", &["m", "mm"]),
    ("PHP", &["php"]),
    ("Perl", &["pl", "pm"]),
    ("PowerShell", &["ps1"]),
    ("Python", &["py", "pyi"]),
    ("R", &["r"]),
    ("Ruby", &["rb"]),
    ("Rust", &["rs"]),
    ("SQL", &["sql"]),
    ("Scala", &["scala", "sc"]),
    ("Shell", &["sh", "bash", "zsh", "bats"]),
    ("Svelte", &["svelte"]),
    ("Swift", &["swift"]),
    ("Terraform", &["tf"]),
    ("TypeScript", &["ts", "tsx", "mts", "cts"]),
    ("Vue", &["vue"]),
    ("Zig", &["zig"]),
];

/// Folders that always hold generated files.
const GENERATED: &[&str] = &[
    ".cache",
    ".dart_tool",
    ".direnv",
    ".eggs",
    ".gradle",
    ".hypothesis",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "DerivedData",
    "Pods",
    "__pycache__",
    "bower_components",
    "elm-stuff",
    "node_modules",
    "venv",
];

/// Folders that hold generated files if one of these files is next to them.
const GENERATED_BESIDE: &[(&str, &[&str])] = &[
    (".build", &["Package.swift"]),
    ("_build", &["mix.exs", "dune-project", "rebar.config"]),
    ("bin", &["*.csproj", "*.fsproj"]),
    (
        "build",
        &["package.json", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py", "pubspec.yaml"],
    ),
    ("coverage", &["package.json", "Gemfile"]),
    ("deps", &["mix.exs"]),
    ("dist", &["package.json", "pyproject.toml", "setup.py"]),
    ("obj", &["*.csproj", "*.fsproj"]),
    ("out", &["package.json", "build.gradle", "build.gradle.kts"]),
    ("target", &["Cargo.toml", "pom.xml", "build.sbt"]),
    ("vendor", &["go.mod", "composer.json", "Gemfile"]),
    ("zig-out", &["build.zig"]),
];

/// State directories of version control systems and of Brigade.
const STATE: &[&str] = &[".brigade", ".git", ".hg", ".jj", ".svn"];

/// Files whose text is read.
const WANTED: &[&str] = &[
    "Cargo.toml",
    "Makefile",
    "composer.json",
    "deno.json",
    "go.mod",
    "justfile",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
];

/// Files that describe conventions.
const CONVENTIONS: &[(&str, &str)] = &[
    (".clang-format", "formatting of C and C++"),
    (".cursorrules", "instructions for agents"),
    (".editorconfig", "indentation and line ends"),
    (".flake8", "lints of Python"),
    (".gitlab-ci.yml", "continuous integration"),
    (".golangci.yml", "lints of Go"),
    (".pre-commit-config.yaml", "checks before a commit"),
    (".prettierrc", "formatting of JavaScript"),
    (".rubocop.yml", "lints of Ruby"),
    (".travis.yml", "continuous integration"),
    ("AGENTS.md", "instructions for agents"),
    ("CLAUDE.md", "instructions for agents"),
    ("CONTRIBUTING.md", "rules for contributors"),
    ("GEMINI.md", "instructions for agents"),
    ("Jenkinsfile", "continuous integration"),
    ("STYLE.md", "style"),
    ("biome.json", "formatting and lints of JavaScript"),
    ("clippy.toml", "lints of Rust"),
    ("eslint.config.js", "lints of JavaScript"),
    ("eslint.config.mjs", "lints of JavaScript"),
    ("mypy.ini", "types of Python"),
    ("phpstan.neon", "types of PHP"),
    ("ruff.toml", "formatting and lints of Python"),
    ("rustfmt.toml", "formatting of Rust"),
    ("tsconfig.json", "types of TypeScript"),
];

/// Returns whether a folder is left out: it holds generated files, version control data or the state of Brigade.
/// `beside` lists the names in the same parent folder.
///
/// ```
/// use brigade_kitchen::map::is_generated;
///
/// assert!(is_generated("target", &["Cargo.toml", "target"]));
/// assert!(!is_generated("target", &["aim.py", "target"]));
/// ```
pub fn is_generated(name: &str, beside: &[&str]) -> bool {
    let is_there = |wanted: &&str| match wanted.strip_prefix('*') {
        Some(end) => beside.iter().any(|own| own.ends_with(end)),
        None => beside.contains(wanted),
    };
    let made_from = GENERATED_BESIDE.iter().find(|(folder, _)| *folder == name);
    STATE.contains(&name)
        || GENERATED.contains(&name)
        || made_from.is_some_and(|(_, files)| files.iter().any(&is_there))
}

/// Returns whether the text of a file is read, not only its name.
pub fn is_wanted(path: &str) -> bool {
    WANTED.contains(&split(path).1)
}

fn language(path: &str) -> Option<&'static str> {
    let name = split(path).1;
    let (stem, end) = name.rsplit_once('.')?;
    let end = end.to_ascii_lowercase();
    // `x.d.ts` has the language of `.ts`. `.sh` alone is a name without an extension.
    (!stem.is_empty())
        .then(|| LANGUAGES.iter().find(|(_, ends)| ends.contains(&end.as_str())).map(|(name, _)| *name))
        .flatten()
}

/// Counts the files of each language, the most used first.
pub(super) fn languages<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<Language> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for name in paths.filter_map(language) {
        *counts.entry(name).or_default() += 1;
    }
    let mut found: Vec<Language> =
        counts.into_iter().map(|(name, files)| Language { name: name.to_owned(), files }).collect();
    found.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.name.cmp(&b.name)));
    found
}

/// Lists folders down to a depth, with their file counts. Prefers upper folders and those with the most files.
pub(super) fn layout(paths: &[String], depth: usize, most: usize) -> Vec<Folder> {
    let mut folders: BTreeMap<&str, (u64, BTreeMap<&'static str, u64>)> = BTreeMap::new();
    for path in paths {
        for (at, _) in path.match_indices('/').take(depth) {
            let (files, languages) = folders.entry(&path[..at]).or_default();
            *files += 1;
            if let Some(name) = language(path) {
                *languages.entry(name).or_default() += 1;
            }
        }
    }
    let folder = |(path, (files, languages)): (&str, (u64, BTreeMap<&str, u64>))| {
        let most = languages.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)));
        let is_most = |(_, count): &(&str, u64)| files < 2 * count;
        let language = most.filter(is_most).map(|(name, _)| name.to_owned());
        Folder { path: path.to_owned(), files, language }
    };
    let mut found: Vec<Folder> = folders.into_iter().map(folder).collect();
    if most < found.len() {
        let is_inner = |folder: &Folder| folder.path.contains('/');
        found.sort_by_key(|folder| (is_inner(folder), std::cmp::Reverse(folder.files)));
        found.truncate(most);
        found.sort_by(|a, b| a.path.cmp(&b.path));
    }
    found
}

/// Returns whether a file looks like an entry point, by its name and folder.
pub(super) fn is_entry_point(path: &str) -> bool {
    let (folder, name) = split(path);
    let last = split(folder).1;
    match name {
        "Dockerfile" | "Procfile" | "__main__.py" | "manage.py" | "wsgi.py" | "asgi.py" => true,
        "main.go" | "main.c" | "main.cpp" | "main.cc" | "main.zig" | "main.dart" | "main.swift"
        | "Program.cs" | "Main.java" | "Main.kt" | "Application.java" | "Application.kt" | "config.ru" => {
            true
        }
        "main.py" | "app.py" | "cli.py" | "server.py" => folder.is_empty() || last == "src",
        "main.ts" | "main.tsx" | "main.js" | "index.ts" | "index.tsx" | "index.js" | "server.ts"
        | "server.js" | "App.tsx" => folder.is_empty() || last == "src",
        "main.rs" => last == "src",
        "lib.rs" => last == "src",
        name if name.ends_with(".rs") => folder == "src/bin" || folder.ends_with("/src/bin"),
        name if name.ends_with(".sh") => folder.is_empty(),
        _ => matches!(folder, "bin" | "exe" | "script") && !name.contains('.'),
    }
}

/// Returns the convention that a file describes.
pub(super) fn convention(path: &str) -> Option<Convention> {
    let (folder, name) = split(path);
    let is_workflow = folder == ".github/workflows" && (name.ends_with(".yml") || name.ends_with(".yaml"));
    let known = CONVENTIONS.iter().find(|(file, _)| *file == name).map(|(_, what)| *what);
    let what = if is_workflow { Some("continuous integration") } else { known };
    what.map(|what| Convention { path: path.to_owned(), what: what.to_owned() })
}

/// Describes where tests are: in separate folders, or next to the code that they test.
pub(super) fn tests_beside(paths: &[String]) -> Vec<Convention> {
    let mut folders: BTreeMap<String, u64> = BTreeMap::new();
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for path in paths {
        let (folder, name) = split(path);
        let mut at = "";
        for part in folder.split('/') {
            let here = inside(at, part);
            if matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__") {
                *folders.entry(here).or_default() += 1;
                break;
            }
            at = &folder[..here.len()];
        }
        let end =
            ["_test.go", ".test.ts", ".test.tsx", ".test.js", ".spec.ts", ".spec.js", "_spec.rb", "_test.py"];
        if let Some(end) = end.iter().find(|end| name.ends_with(*end)) {
            *ends.entry(end).or_default() += 1;
        }
    }
    let files = |count: u64| if count == 1 { "file" } else { "files" };
    let mut found: Vec<Convention> = folders
        .into_iter()
        .map(|(path, count)| Convention { path, what: format!("{count} {} of tests", files(count)) })
        .collect();
    found.extend(ends.into_iter().map(|(end, count)| Convention {
        path: format!("*{end}"),
        what: format!("{count} {} of tests next to the code", files(count)),
    }));
    found
}
