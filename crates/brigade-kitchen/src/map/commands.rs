//! Manifests: what they describe, which commands run tests, and where programs start.

use std::collections::BTreeSet;

use brigade_core::Json;
use brigade_core::json::Dialect;
use toml::de::{DeTable, DeValue};

use super::{Manifest, Survey, TestCommand, inside, split};

/// A manifest, recognized by its name.
pub(super) struct Project<'s> {
    path: &'s str,
    folder: &'s str,
    name: &'s str,
    text: Option<&'s str>,
    known: &'s BTreeSet<&'s str>,
}

/// Names of manifests, with a description.
const MANIFESTS: &[(&str, &str)] = &[
    ("CMakeLists.txt", "CMake project"),
    ("Cargo.toml", "Rust package"),
    ("Gemfile", "Ruby dependencies"),
    ("Makefile", "make targets"),
    ("Package.swift", "Swift package"),
    ("build.gradle", "Gradle project"),
    ("build.gradle.kts", "Gradle project"),
    ("build.sbt", "Scala project"),
    ("build.zig", "Zig project"),
    ("composer.json", "PHP package"),
    ("deno.json", "Deno project"),
    ("dune-project", "OCaml project"),
    ("go.mod", "Go module"),
    ("justfile", "just recipes"),
    ("mix.exs", "Elixir project"),
    ("noxfile.py", "nox sessions"),
    ("package.json", "Node package"),
    ("pom.xml", "Maven project"),
    ("pubspec.yaml", "Dart package"),
    ("pyproject.toml", "Python project"),
    ("requirements.txt", "Python dependencies"),
    ("setup.cfg", "Python project"),
    ("setup.py", "Python project"),
    ("stack.yaml", "Haskell project"),
    ("tox.ini", "tox environments"),
];

/// The maximum number of list members that are shown.
const MAX_MEMBERS: usize = 8;

impl<'s> Project<'s> {
    /// Lists the manifests of a code base.
    pub(super) fn all(survey: &'s Survey, known: &'s BTreeSet<&'s str>) -> Vec<Project<'s>> {
        let project = |path: &'s String| {
            let (folder, name) = split(path);
            let is_known = MANIFESTS.iter().any(|(own, _)| *own == name) || is_solution(name);
            let text = survey.texts.get(path).map(String::as_str);
            is_known.then_some(Project { path, folder, name, text, known })
        };
        survey.paths.iter().filter_map(project).collect()
    }

    fn json(&self) -> Option<Json> {
        Json::parse_bytes(self.text?.as_bytes(), Dialect::Lenient).ok()
    }

    fn toml(&self) -> Option<DeTable<'s>> {
        DeTable::parse(self.text?).ok().map(toml::Spanned::into_inner)
    }

    fn has(&self, name: &str) -> bool {
        self.known.contains(inside(self.folder, name).as_str())
    }

    /// Returns whether a folder next to the manifest contains a file.
    fn has_below(&self, folder: &str) -> bool {
        let start = format!("{}/", inside(self.folder, folder));
        self.known.range(start.as_str()..).next().is_some_and(|path| path.starts_with(&start))
    }

    pub(super) fn manifest(&self) -> Manifest {
        let what =
            MANIFESTS.iter().find(|(name, _)| *name == self.name).map_or(".NET project", |(_, what)| what);
        let what = match self.name {
            "Cargo.toml" => self.cargo(),
            "package.json" => named(what, self.json().as_ref().and_then(|json| json.get("name")?.as_str())),
            "go.mod" => named(
                what,
                self.text.and_then(|text| text.lines().find_map(|line| line.strip_prefix("module "))),
            ),
            "pyproject.toml" => {
                let table = self.toml();
                named(what, table.as_ref().and_then(|table| text_at(table, &["project", "name"])))
            }
            _ => what.to_owned(),
        };
        Manifest { path: self.path.to_owned(), what }
    }

    fn cargo(&self) -> String {
        let Some(table) = self.toml() else { return "Rust package".to_owned() };
        let name = text_at(&table, &["package", "name"]);
        if at(&table, &["workspace"]).is_none() {
            return named("Rust package", name);
        }
        let members: Vec<&str> = match at(&table, &["workspace", "members"]) {
            Some(DeValue::Array(members)) => {
                members.iter().filter_map(|value| as_text(value.get_ref())).collect()
            }
            _ => Vec::new(),
        };
        let mut what = named("Rust workspace", name);
        if !members.is_empty() {
            what.push_str(&format!(" of {}", members[..members.len().min(MAX_MEMBERS)].join(", ")));
            if MAX_MEMBERS < members.len() {
                what.push_str(&format!(" and {} more", members.len() - MAX_MEMBERS));
            }
        }
        what
    }

    /// Lists the commands that run the tests of the project.
    pub(super) fn test_commands(&self) -> Vec<TestCommand> {
        let words: Vec<String> = match self.name {
            "Cargo.toml" => self.cargo_test().into_iter().collect(),
            "package.json" => self.node_test().into_iter().collect(),
            "deno.json" => vec!["deno test".to_owned()],
            "pyproject.toml" | "setup.cfg" | "setup.py" | "requirements.txt" => self.python_test(),
            "tox.ini" => vec!["tox".to_owned()],
            "noxfile.py" => vec!["nox".to_owned()],
            "go.mod" => vec!["go test ./...".to_owned()],
            "Makefile" => targets(self.text, ":").map(|target| format!("make {target}")).collect(),
            "justfile" => targets(self.text, ":").map(|target| format!("just {target}")).collect(),
            "composer.json" => {
                let json = self.json();
                let script = json.as_ref().and_then(|json| json.get("scripts")?.get("test"));
                script.map(|_| "composer test".to_owned()).into_iter().collect()
            }
            "Gemfile" if self.has_below("spec") => vec!["bundle exec rspec".to_owned()],
            "Gemfile" if self.has("Rakefile") => vec!["bundle exec rake test".to_owned()],
            "pom.xml" => vec![self.wrapped("mvnw", "mvn") + " test"],
            "build.gradle" | "build.gradle.kts" if !self.is_in_gradle() => {
                vec![self.wrapped("gradlew", "gradle") + " test"]
            }
            "build.sbt" => vec!["sbt test".to_owned()],
            "build.zig" => vec!["zig build test".to_owned()],
            "mix.exs" => vec!["mix test".to_owned()],
            "Package.swift" => vec!["swift test".to_owned()],
            "pubspec.yaml" => vec!["dart test".to_owned()],
            "dune-project" => vec!["dune test".to_owned()],
            "stack.yaml" => vec!["stack test".to_owned()],
            name if name.ends_with(".sln") => vec!["dotnet test".to_owned()],
            _ => Vec::new(),
        };
        let command = |command: String| TestCommand {
            command,
            folder: self.folder.to_owned(),
            from: self.path.to_owned(),
        };
        words.into_iter().map(command).collect()
    }

    fn wrapped(&self, wrapper: &str, program: &str) -> String {
        if self.has(wrapper) { format!("./{wrapper}") } else { program.to_owned() }
    }

    /// Returns whether this project is part of a Gradle project in a parent folder.
    fn is_in_gradle(&self) -> bool {
        ancestors(self.folder).any(|folder| {
            ["settings.gradle", "settings.gradle.kts"]
                .iter()
                .any(|name| self.known.contains(inside(folder, name).as_str()))
        })
    }

    /// Returns the test command. A package of a workspace is tested with the workspace.
    fn cargo_test(&self) -> Option<String> {
        let table = self.toml()?;
        if at(&table, &["workspace"]).is_some() {
            return Some("cargo test --workspace".to_owned()); // Cargo's own `--workspace`.
        }
        let is_part =
            ancestors(self.folder).any(|folder| self.known.contains(inside(folder, "Cargo.toml").as_str()));
        (!is_part).then(|| "cargo test".to_owned())
    }

    fn node_test(&self) -> Option<String> {
        let json = self.json()?;
        let script = json.get("scripts")?.get("test")?.as_str()?;
        // The placeholder script of `npm init` runs no tests.
        if script.contains("no test specified") {
            return None;
        }
        let folders: Vec<&str> = std::iter::once(self.folder).chain(ancestors(self.folder)).collect();
        let has =
            |name: &str| folders.iter().any(|folder| self.known.contains(inside(folder, name).as_str()));
        let program = if has("pnpm-lock.yaml") {
            "pnpm"
        } else if has("yarn.lock") {
            "yarn"
        } else if has("bun.lock") || has("bun.lockb") {
            "bun run"
        } else {
            "npm"
        };
        Some(format!("{program} test"))
    }

    fn python_test(&self) -> Vec<String> {
        let says_pytest = self.text.is_some_and(|text| text.contains("pytest"));
        let has_tests = self.has_below("tests") || self.has_below("test");
        if says_pytest || self.has("pytest.ini") || self.has("conftest.py") || self.has("tests/conftest.py") {
            vec!["python -m pytest".to_owned()]
        } else if has_tests {
            vec!["python -m unittest".to_owned()]
        } else {
            Vec::new()
        }
    }

    /// Lists the entry points that the manifest declares.
    pub(super) fn entry_points(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut file = |path: &str| {
            let path = inside(self.folder, path.trim_start_matches("./"));
            if self.known.contains(path.as_str()) {
                found.push(path);
            }
        };
        match self.name {
            "Cargo.toml" => {
                let table = self.toml();
                for kind in ["bin", "lib"] {
                    match table.as_ref().and_then(|table| at(table, &[kind])) {
                        Some(DeValue::Array(rows)) => {
                            let path = |row: &'_ toml::Spanned<DeValue<'_>>| match row.get_ref() {
                                DeValue::Table(row) => text_at(row, &["path"]).map(str::to_owned),
                                _ => None,
                            };
                            rows.iter().filter_map(path).for_each(|path| file(&path));
                        }
                        Some(DeValue::Table(row)) => text_at(row, &["path"]).into_iter().for_each(&mut file),
                        _ => {}
                    }
                }
            }
            "package.json" => {
                let Some(json) = self.json() else { return found };
                for name in ["main", "module", "bin"] {
                    match json.get(name) {
                        Some(Json::String(path)) => file(path),
                        Some(Json::Object(programs)) => {
                            programs.values().filter_map(Json::as_str).for_each(&mut file);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        found
    }
}

fn is_solution(name: &str) -> bool {
    [".sln", ".csproj", ".fsproj"].iter().any(|end| name.ends_with(end))
}

/// Lists the ancestors of a folder, the nearest first and the root last.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors((!folder.is_empty()).then(|| split(folder).0), |folder| {
        (!folder.is_empty()).then(|| split(folder).0)
    })
}

fn named(what: &str, name: Option<&str>) -> String {
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => format!("{what} {name}"),
        None => what.to_owned(),
    }
}

/// Finds the targets that run tests.
fn targets<'t>(text: Option<&'t str>, mark: &'static str) -> impl Iterator<Item = &'static str> + use<'t> {
    const TARGETS: [&str; 3] = ["test", "tests", "check"];
    TARGETS.into_iter().filter(move |target| {
        let defines = |line: &str| {
            line.strip_prefix(target).is_some_and(|rest| {
                rest.trim_start().starts_with(mark) && !rest.trim_start().starts_with(":=")
            })
        };
        text.is_some_and(|text| text.lines().any(defines))
    })
}

fn at<'t, 'a>(table: &'t DeTable<'a>, path: &[&str]) -> Option<&'t DeValue<'a>> {
    let (name, rest) = path.split_first()?;
    let (_, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == *name)?;
    match (rest.is_empty(), value.get_ref()) {
        (true, value) => Some(value),
        (false, DeValue::Table(table)) => at(table, rest),
        (false, _) => None,
    }
}

fn as_text<'t>(value: &'t DeValue<'_>) -> Option<&'t str> {
    if let DeValue::String(text) = value { Some(text) } else { None }
}

fn text_at<'t>(table: &'t DeTable<'_>, path: &[&str]) -> Option<&'t str> {
    as_text(at(table, path)?)
}
