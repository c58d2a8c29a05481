//! Facts derived from the names of files and folders.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Convention, Folder, Language, inside, split};

/// Names of files and folders, from a data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    state: Vec<String>,
    generated: Vec<String>,
    manifests: Vec<String>,
    generated_beside: BTreeMap<String, Vec<String>>,
    languages: BTreeMap<String, Vec<String>>,
    conventions: BTreeMap<String, String>,
}

static NAMES: LazyLock<Names> =
    LazyLock::new(|| toml::from_str(include_str!("facts.toml")).expect("the data file is valid"));

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
    let is_there = |pattern: &String| match pattern.strip_prefix('*') {
        Some(end) => beside.iter().any(|own| own.ends_with(end)),
        None => beside.contains(&pattern.as_str()),
    };
    let is_left_out = NAMES.state.iter().chain(&NAMES.generated).any(|left_out| left_out == name);
    is_left_out || NAMES.generated_beside.get(name).is_some_and(|files| files.iter().any(is_there))
}

/// Returns whether the text of a file is read, not only its name.
pub fn is_wanted(path: &str) -> bool {
    NAMES.manifests.iter().any(|manifest| manifest == split(path).1)
}

fn language(path: &str) -> Option<&'static str> {
    let name = split(path).1;
    let (stem, end) = name.rsplit_once('.')?;
    let end = end.to_ascii_lowercase();
    // `x.d.ts` has the language of `.ts`. `.sh` alone is a name without an extension.
    (!stem.is_empty())
        .then(|| NAMES.languages.iter().find(|(_, ends)| ends.contains(&end)).map(|(name, _)| name.as_str()))
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
    let known = NAMES.conventions.get(name).map(String::as_str);
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
