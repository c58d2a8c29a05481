//! Follows names of JavaScript that `package.json` maps to files: those of `imports` (`#name`), and those of `exports`,
//! by which a package also loads its own files (`name/file`).

use std::path::Path;

use brigade_core::Json;

use super::javascript::with_ends;
use super::words::names_in;
use super::{Finder, Reads};

/// How often a name may lead to another one.
const DEPTH: usize = 4;

/// The conditions and patterns of one map lead to no more files than this.
const MOST: usize = 256;

impl Finder<'_> {
    /// Finds what a name that is no path leads to, loaded from a directory: files of the own package, of whatever
    /// conditions, and installed packages.
    pub(super) fn specifier(&self, name: &str, from: &Path, reads: &mut Reads) {
        self.specifier_within(name, from, DEPTH, reads);
    }

    fn specifier_within(&self, name: &str, from: &Path, depth: usize, reads: &mut Reads) {
        let own = self.nearest_package(&from.join("any"), reads).map(Path::to_owned);
        let package = own.as_deref().and_then(|folder| self.package_at(folder, reads));
        let (package_name, rest) = split_name(name);
        let map = package.as_ref().and_then(|package| match name.starts_with('#') {
            true => package.get("imports"),
            false if package.get("name").and_then(Json::as_str) == Some(package_name) => {
                package.get("exports")
            }
            false => None,
        });
        if let (Some(folder), Some(map)) = (&own, map) {
            let asked = if name.starts_with('#') { name.to_owned() } else { format!(".{rest}") };
            let targets = targets(map, &asked);
            if MOST <= targets.len() {
                reads.chain.finders.insert(self.shown(&folder.join("package.json")));
            }
            for target in targets {
                match target.starts_with('.') {
                    true => self.target(folder, &target, reads),
                    // Another package.
                    false if depth != 0 => self.specifier_within(&target, folder, depth - 1, reads),
                    false => drop(reads.chain.finders.insert(self.shown(&folder.join("package.json")))),
                }
            }
        }
        if name.starts_with('#') || package_name.is_empty() {
            return;
        }
        for folder in self.upwards(from) {
            let installed = folder.join("node_modules").join(name);
            reads.code.extend(with_ends(&installed));
            self.package(&installed, reads);
            // What its `exports` name lies somewhere below.
            reads.code.insert(folder.join("node_modules").join(package_name));
        }
    }

    /// Records a file that a map of a package names.
    fn target(&self, folder: &Path, target: &str, reads: &mut Reads) {
        for name in names_in(target) {
            let path = folder.join(&*name);
            if self.is_file(&path) {
                self.nearest_package(&path, reads);
            }
            reads.code.insert(path);
        }
    }
}

/// Splits the name of a package from what is named in it: `@a/b/c` is `@a/b` and `/c`.
fn split_name(name: &str) -> (&str, &str) {
    let slash = match name.strip_prefix('@').and(name.find('/')) {
        Some(first) => name[first + 1..].find('/').map(|at| first + 1 + at),
        None => name.find('/'),
    };
    name.split_at(slash.unwrap_or(name.len()))
}

/// Lists what a map of a package may say of a name, whatever conditions hold.
fn targets(map: &Json, asked: &str) -> Vec<String> {
    let mut found = Vec::new();
    let keys = map.as_object().into_iter().flat_map(|map| map.keys());
    let is_of_names = keys.into_iter().any(|key| key.starts_with(['.', '#']));
    if !is_of_names {
        // What stands alone is the package itself.
        if asked == "." {
            texts(map, "", &mut found);
        }
        return found;
    }
    for (key, value) in map.as_object().into_iter().flatten() {
        // `./x/` means all that is below.
        let pattern = if key.ends_with('/') { format!("{key}*") } else { key.to_owned() };
        let part = match pattern.split_once('*') {
            Some((before, after)) => asked.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)),
            None => (pattern == asked).then_some(""),
        };
        if let Some(part) = part {
            texts(value, part, &mut found);
        }
    }
    found
}

/// Lists the texts in a value, with what a pattern stands for in its place.
fn texts(value: &Json, part: &str, found: &mut Vec<String>) {
    if MOST <= found.len() {
        return;
    }
    match value {
        Json::String(text) if text.ends_with('/') => found.push(format!("{text}{part}")),
        Json::String(text) => found.push(text.replace('*', part)),
        Json::Array(values) => values.iter().for_each(|value| texts(value, part, found)),
        value => value.as_object().into_iter().flatten().for_each(|(_, value)| texts(value, part, found)),
    }
}
