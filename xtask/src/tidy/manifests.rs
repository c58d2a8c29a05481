//! Checks manifests: the dependencies between crates, and the keys that every crate inherits from the workspace.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::{DeTable, DeValue};

use super::rust_text::has_word;
use super::{Finding, line_of};
use crate::floors;
use crate::repository::Tree;

/// The keys that every crate inherits from the root manifest.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license"];

/// The keys that a publishable crate must have.
const PUBLISHED: &[&str] = &["keywords", "categories"];

/// The crates that may use unsafe code, so they have their own lints.
const UNSAFE: [&str; 2] = ["brigade-process", "brigade-sandbox"];

/// The lint that must be among them.
const UNSAFE_LINT: &str = "undocumented_unsafe_blocks";

/// A crate whose attributes name [`DERIVED`] in the crates that use it.
const MACROS: &str = "brigade-macros";

/// The dependency that derives JSON Schemas.
const DERIVED: &str = "schemars";

/// The feature that derives JSON Schemas.
const SCHEMAS: &str = "schemas";

/// The kind of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A normal or build dependency.
    Built,
    /// A dev-dependency.
    Tested,
}

#[derive(Debug)]
struct Dependency {
    package: String,
    /// The name in Rust code.
    name: String,
    kind: Kind,
    line: usize,
    inherited: bool,
}

#[derive(Debug)]
struct Manifest {
    path: String,
    name: String,
    dependencies: Vec<Dependency>,
    /// The directories of its source files: that of the crate, and those of tests elsewhere.
    folders: Vec<String>,
    /// The features that its feature `schemas` enables.
    schemas: Option<Vec<String>>,
}

/// The parts of every manifest that the rules need.
#[derive(Debug, Default)]
pub struct Manifests {
    crates: Vec<Manifest>,
    /// The rows of `[workspace.dependencies]`: key, package, line.
    rows: Vec<(String, String, usize)>,
    /// The violations found while reading.
    found: Vec<Finding>,
}

/// Reads the manifests of a tree. An unreadable manifest is reported.
pub fn read(tree: &Tree) -> Manifests {
    let mut manifests = Manifests::default();
    let texts: Vec<_> = tree
        .texts("Cargo.toml")
        .filter(|(path, _)| path.rsplit('/').next() == Some("Cargo.toml") && !path.starts_with("fixtures/"))
        .collect();
    for (path, text) in &texts {
        match DeTable::parse(text) {
            Ok(table) if *path == "Cargo.toml" => manifests.read_root(text, table.get_ref()),
            Ok(_) => {}
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(text, span.start));
                manifests.found.push(Finding::new(
                    path,
                    line,
                    format!("not a manifest: {}", error.message()),
                ));
            }
        }
    }
    for (path, text) in texts {
        if let Ok(table) = DeTable::parse(text)
            && table.get_ref().contains_key("package")
        {
            manifests.read_crate(path, text, table.get_ref());
        }
    }
    manifests
}

impl Manifests {
    fn read_root(&mut self, text: &str, table: &DeTable<'_>) {
        let Some(dependencies) = sub(table, "workspace").and_then(|table| sub(table, "dependencies")) else {
            return;
        };
        for (key, value) in dependencies.iter() {
            let package = package_of(value.get_ref()).unwrap_or(key.get_ref());
            self.rows.push((key.get_ref().to_string(), package.to_owned(), line_of(text, key.span().start)));
        }
    }

    fn read_crate(&mut self, path: &str, text: &str, table: &DeTable<'_>) {
        let Some(package) = sub(table, "package") else { return };
        let name = package.get("name").and_then(|name| name.get_ref().as_str()).unwrap_or(path).to_owned();
        let place = table.get_key_value("package").map_or(1, |(key, _)| line_of(text, key.span().start));
        let mut say = |message: String| self.found.push(Finding::new(path, place, message));

        for key in INHERITED {
            if !package.get(*key).is_some_and(|value| inherits(value.get_ref())) {
                say(format!("`{name}` must inherit its {key}: `{key}.workspace = true`"));
            }
        }
        if !package.contains_key("description") {
            say(format!("`{name}` has no description"));
        }
        let is_published =
            package.get("publish").is_none_or(|publish| publish.get_ref().as_bool() != Some(false));
        for key in PUBLISHED.iter().filter(|key| is_published && !package.contains_key(**key)) {
            say(format!("`{name}` has no {key}"));
        }
        let lints = sub(table, "lints");
        let own = lints.and_then(|lints| sub(lints, "clippy"));
        let inherits_lints = table.get("lints").is_some_and(|lints| inherits(lints.get_ref()));
        if UNSAFE.contains(&name.as_str()) {
            if !own.is_some_and(|clippy| clippy.contains_key(UNSAFE_LINT)) {
                say(format!("`{name}` must set the lint `{UNSAFE_LINT}`"));
            }
        } else if !inherits_lints {
            say(format!("`{name}` must inherit the lints: `[lints] workspace = true`"));
        }

        let mut dependencies = Vec::new();
        self.read_dependencies(text, table, &mut dependencies);
        for (_, target) in sub(table, "target").into_iter().flat_map(DeTable::iter) {
            if let DeValue::Table(target) = target.get_ref() {
                self.read_dependencies(text, target, &mut dependencies);
            }
        }
        let schemas = sub(table, "features").and_then(|features| features.get(SCHEMAS)).map(|feature| {
            let enabled = feature.get_ref().as_array().into_iter().flatten();
            enabled.filter_map(|each| each.get_ref().as_str().map(str::to_owned)).collect()
        });
        let own = path.trim_end_matches("Cargo.toml");
        let tests = table.get("test").and_then(|tests| tests.get_ref().as_array()).into_iter().flatten();
        let paths = tests.filter_map(|test| test.get_ref().as_table()?.get("path")?.get_ref().as_str());
        let folders = std::iter::once(own.to_owned()).chain(paths.map(|path| folder_of(own, path))).collect();
        self.crates.push(Manifest { path: path.to_owned(), name, dependencies, folders, schemas });
    }

    fn read_dependencies(&self, text: &str, table: &DeTable<'_>, found: &mut Vec<Dependency>) {
        for (section, kind) in [
            ("dependencies", Kind::Built),
            ("build-dependencies", Kind::Built),
            ("dev-dependencies", Kind::Tested),
        ] {
            for (key, value) in sub(table, section).into_iter().flat_map(DeTable::iter) {
                let inherited = inherits(value.get_ref());
                let row = self.rows.iter().find(|(row, ..)| inherited && row == key.get_ref());
                let package = row
                    .map(|(_, package, _)| package.as_str())
                    .or_else(|| package_of(value.get_ref()))
                    .unwrap_or(key.get_ref());
                let line = line_of(text, key.span().start);
                let name = key.get_ref().replace('-', "_");
                found.push(Dependency { package: package.to_owned(), name, kind, line, inherited });
            }
        }
    }

    /// Lists every violation of the rules for manifests.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = self.found.clone();
        let ours = self.names();
        // Without such an entry, a crate does not build alone, or its dependency is built twice.
        let with_schemas: BTreeSet<&str> = self
            .crates
            .iter()
            .filter(|manifest| manifest.schemas.is_some())
            .map(|manifest| manifest.name.as_str())
            .collect();
        for manifest in &self.crates {
            let mut say = |line, message| found.push(Finding::new(&manifest.path, line, message));
            if !floors::is_known(&manifest.name) {
                say(1, format!("`{}` has no floor: add it to xtask/src/floors.rs", manifest.name));
            }
            for dependency in &manifest.dependencies {
                let package = dependency.package.as_str();
                if !dependency.inherited {
                    say(dependency.line, format!("`{package}` must come from `[workspace.dependencies]`"));
                }
                if ours.contains(package)
                    && dependency.kind == Kind::Built
                    && let Some(objection) = floors::objection(&manifest.name, package)
                {
                    say(dependency.line, objection);
                }
                if let Some(schemas) = &manifest.schemas
                    && dependency.kind == Kind::Built
                    && with_schemas.contains(package)
                    && !["", "?"].iter().any(|weak| schemas.contains(&format!("{package}{weak}/{SCHEMAS}")))
                {
                    let message = format!("the feature `{SCHEMAS}` must enable `{package}/{SCHEMAS}`");
                    say(dependency.line, message);
                }
            }
        }
        let used: BTreeSet<_> =
            self.dependencies().map(|(_, dependency)| dependency.package.as_str()).collect();
        for (key, package, line) in &self.rows {
            if !used.contains(package.as_str()) && !ours.contains(package.as_str()) {
                found.push(Finding::new(
                    "Cargo.toml",
                    *line,
                    format!("no crate uses `{key}`: remove the row"),
                ));
            }
        }
        found
    }

    /// Lists dependencies that no source file of the crate names.
    pub fn unused(&self, tree: &Tree) -> Vec<Finding> {
        let mut found = Vec::new();
        for manifest in &self.crates {
            let is_own = |path: &str| manifest.folders.iter().any(|folder| path.starts_with(folder.as_str()));
            let sources: Vec<&str> =
                tree.texts(".rs").filter(|(path, _)| is_own(path)).map(|(_, text)| text).collect();
            let has_macros = manifest.dependencies.iter().any(|dependency| dependency.package == MACROS);
            for Dependency { package, name, line, .. } in &manifest.dependencies {
                let is_named = sources.iter().any(|text| text.lines().any(|line| names(line, name)));
                let is_derived = has_macros && name == DERIVED;
                if !is_named && !is_derived {
                    let message =
                        format!("no source file of `{}` names `{package}`: remove it", manifest.name);
                    found.push(Finding::new(&manifest.path, *line, message));
                }
            }
        }
        found
    }

    /// Returns the names of the workspace's crates.
    pub fn names(&self) -> BTreeSet<&str> {
        self.crates.iter().map(|manifest| manifest.name.as_str()).collect()
    }

    /// Returns each external package that a crate uses, with the first place that names it.
    pub fn third_party(&self) -> BTreeMap<&str, (&str, usize)> {
        let ours = self.names();
        let mut found = BTreeMap::new();
        for (manifest, dependency) in self.dependencies() {
            if !ours.contains(dependency.package.as_str()) {
                found.entry(dependency.package.as_str()).or_insert((manifest.path.as_str(), dependency.line));
            }
        }
        found
    }

    fn dependencies(&self) -> impl Iterator<Item = (&Manifest, &Dependency)> {
        self.crates.iter().flat_map(|manifest| manifest.dependencies.iter().map(move |each| (manifest, each)))
    }
}

/// Returns the directory of a source file that a manifest names, relative to the directory of the manifest.
fn folder_of(own: &str, path: &str) -> String {
    let mut parts: Vec<&str> = own.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.rsplit_once('/').map_or("", |(folder, _)| folder).split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/") + "/"
}

/// Returns whether a line of code has a word. Code in documentation counts.
fn names(line: &str, word: &str) -> bool {
    let is_comment = line.trim_start().starts_with("// ");
    !is_comment && has_word(line, word)
}

fn sub<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    match table.get(key)?.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn inherits(value: &DeValue<'_>) -> bool {
    matches!(value, DeValue::Table(table) if table.get("workspace").is_some_and(|flag| flag.get_ref().as_bool() == Some(true)))
}

/// Returns the package of a renamed dependency.
fn package_of<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::Table(table) => table.get("package")?.get_ref().as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = r#"
[workspace.dependencies]
brigade-fs = { path = "crates/brigade-fs" }
files = { package = "brigade-fs", path = "crates/brigade-fs" }
serde = "1"
"#;
    const HEAD: &str = r#"description = "x"
keywords = []
categories = []
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
"#;
    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn manifests(name: &str, head: &str, rest: &str) -> Manifests {
        let ground = format!(
            "[package]\nname = \"brigade-fs\"\n{HEAD}[dependencies]\nserde.workspace = true\n{LINTS}"
        );
        let subject = format!("[package]\nname = \"{name}\"\n{head}{rest}");
        read(&Tree::from_texts(&[
            ("Cargo.toml", ROOT),
            ("crates/fs/Cargo.toml", &ground),
            ("crates/x/Cargo.toml", &subject),
        ]))
    }

    #[track_caller]
    fn check(name: &str, head: &str, rest: &str, expect: &[(usize, &str)]) {
        let found = manifests(name, head, rest).findings();
        let places: Vec<_> = found.iter().map(|finding| (finding.line, finding.message.as_str())).collect();
        assert_eq!(places.len(), expect.len(), "{found:#?}");
        for ((line, message), (expect_line, part)) in places.iter().zip(expect) {
            assert!(line == expect_line && message.contains(part), "{found:#?}");
        }
    }

    #[test]
    fn a_good_manifest_has_no_findings() {
        check("brigade-core", HEAD, LINTS, &[]);
        check("brigade-catalog", HEAD, &format!("[dependencies]\nbrigade-fs.workspace = true\n{LINTS}"), &[]);
    }

    #[test]
    fn an_arrow_that_points_up_is_found_at_its_line() {
        let rest = format!("[dependencies]\nbrigade-fs.workspace = true\n{LINTS}");
        check("brigade-core", HEAD, &rest, &[(11, "may not depend")]);
    }

    #[test]
    fn renamed_and_platform_dependencies_are_found() {
        let rest = format!("[target.'cfg(unix)'.dependencies]\nfiles.workspace = true\n{LINTS}");
        check("brigade-core", HEAD, &rest, &[(11, "`brigade-core` may not depend on `brigade-fs`")]);
    }

    #[test]
    fn dev_dependencies_are_not_checked() {
        check(
            "brigade-core",
            HEAD,
            &format!("[dev-dependencies]\nbrigade-fs.workspace = true\n{LINTS}"),
            &[],
        );
    }

    #[test]
    fn disabled_schemas_of_a_dependency_are_found() {
        let found = |enabled: &str| {
            let ground = format!("[package]\nname = \"brigade-fs\"\n{HEAD}[features]\nschemas = []\n{LINTS}");
            let subject = format!(
                "[package]\nname = \"brigade-catalog\"\n{HEAD}[features]\nschemas = [{enabled}]\n\
                 [dependencies]\nbrigade-fs.workspace = true\n{LINTS}"
            );
            let tree = Tree::from_texts(&[
                ("Cargo.toml", "[workspace.dependencies]\nbrigade-fs = { path = \"crates/fs\" }\n"),
                ("crates/fs/Cargo.toml", &ground),
                ("crates/x/Cargo.toml", &subject),
            ]);
            read(&tree).findings()
        };
        let message = "the feature `schemas` must enable `brigade-fs/schemas`";
        assert_eq!(found(""), [Finding::new("crates/x/Cargo.toml", 13, message.to_owned())]);
        assert_eq!(found("\"brigade-fs/schemas\""), []);
        assert_eq!(found("\"brigade-fs?/schemas\""), []);
    }

    #[test]
    fn a_version_of_its_own_is_found() {
        check(
            "brigade-core",
            HEAD,
            &format!("[dependencies]\nserde = \"1\"\n{LINTS}"),
            &[(11, "must come from")],
        );
    }

    #[test]
    fn keys_that_are_not_inherited_are_found() {
        let head = HEAD.replace("edition.workspace = true", "edition = \"2024\"");
        check("brigade-core", &head, "", &[(1, "inherit its edition"), (1, "inherit the lints")]);
    }

    #[test]
    fn a_publishable_crate_describes_itself() {
        let bare = HEAD.replace("keywords = []\n", "");
        check("brigade-core", &bare, LINTS, &[(1, "has no keywords")]);
        check("brigade-core", &format!("publish = false\n{bare}"), LINTS, &[]);
    }

    #[test]
    fn crates_with_unsafe_code_have_their_own_lints() {
        for name in UNSAFE {
            check(name, HEAD, "[lints.clippy]\nundocumented_unsafe_blocks = \"deny\"\n", &[]);
            check(name, HEAD, LINTS, &[(1, "must set the lint")]);
        }
    }

    #[test]
    fn an_unknown_crate_and_an_unused_row_are_found() {
        check("brigade-new", HEAD, LINTS, &[(1, "has no floor")]);
        let tree = Tree::from_texts(&[("Cargo.toml", "[workspace.dependencies]\nunused = \"1\"\n")]);
        assert_eq!(
            read(&tree).findings(),
            [Finding::new("Cargo.toml", 2, "no crate uses `unused`: remove the row")]
        );
    }

    #[test]
    fn a_dependency_that_no_source_file_names_is_found() {
        let rest = format!("[dependencies]\nbrigade-fs.workspace = true\nserde.workspace = true\n{LINTS}");
        let subject = format!("[package]\nname = \"brigade-catalog\"\n{HEAD}{rest}");
        let tree = Tree::from_texts(&[
            ("Cargo.toml", ROOT),
            ("crates/x/Cargo.toml", &subject),
            ("crates/x/src/lib.rs", "// serde is not used\nuse brigade_fs::Fs;\n"),
            ("tests/binary/main.rs", "use serde::Serialize;\n"),
        ]);
        let message = "no source file of `brigade-catalog` names `serde`: remove it";
        assert_eq!(read(&tree).unused(&tree), [Finding::new("crates/x/Cargo.toml", 12, message)]);
        let subject = format!("{subject}[[test]]\npath = \"../../tests/binary/main.rs\"\n");
        let tree = Tree::from_texts(&[
            ("Cargo.toml", ROOT),
            ("crates/x/Cargo.toml", &subject),
            ("crates/x/src/lib.rs", "use brigade_fs::Fs;\n"),
            ("tests/binary/main.rs", "use serde::Serialize;\n"),
        ]);
        assert_eq!(read(&tree).unused(&tree), []);
    }

    #[test]
    fn packages_of_others_are_listed_once() {
        let manifests = manifests("brigade-core", HEAD, LINTS);
        assert_eq!(manifests.third_party(), BTreeMap::from([("serde", ("crates/fs/Cargo.toml", 11))]));
    }

    #[test]
    fn a_broken_manifest_is_a_finding() {
        let found = read(&Tree::from_texts(&[("crates/x/Cargo.toml", "[package]\nname = \n")])).findings();
        assert_eq!((found.len(), found[0].line), (1, 2));
    }
}
