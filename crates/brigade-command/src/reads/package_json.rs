//! Reads `package.json`: the file as node reads it, and its maps from names to files: `imports` (`#name`), and
//! `exports`, by which a package also loads its own files (`name/file`).

use std::borrow::Cow;

use brigade_core::{Dialect, Json};

use super::words::names_in;

/// The conditions and patterns of one map lead to no more files than this.
pub(super) const MOST: usize = 256;

/// A `package.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageJson(Json);

impl PackageJson {
    /// Reads the file. Bytes that are not UTF-8 stand for characters that nobody wrote, as for node.
    pub fn parse(bytes: &[u8]) -> Option<PackageJson> {
        let text = String::from_utf8_lossy(bytes);
        Json::parse_bytes(text.as_bytes(), Dialect::Lenient).ok().map(PackageJson)
    }

    /// Returns a member.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// Lists the targets that its maps have for a name, whatever conditions hold; `None` if no map has the name.
    /// `#name` stands in `imports`, and `name/file` of the package itself in `exports`.
    pub(super) fn targets(&self, name: &str) -> Option<Vec<String>> {
        if name.starts_with('#') {
            return Some(targets(self.get("imports")?, name));
        }
        let (package, rest) = split_name(name);
        let is_own = self.get("name").and_then(Json::as_str) == Some(package);
        let exports = self.get("exports").filter(|_| is_own)?;
        Some(targets(exports, &format!(".{rest}")))
    }

    /// Lists the files that its maps name, whatever is asked for and whatever conditions hold.
    pub fn mapped_files(&self) -> Vec<MappedFiles> {
        let mut found = Vec::new();
        for map in ["imports", "exports"].iter().filter_map(|name| self.get(name)) {
            each_text(map, &mut |text| {
                let Some(path) = text.strip_prefix("./") else { return };
                found.extend(names_in(path).into_iter().map(|path| MappedFiles::of(&path)));
            });
        }
        found
    }
}

/// The files that a target of a map names: one, or all that a pattern matches. Paths are relative to the package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFiles {
    begin: String,
    /// How the paths of a pattern end.
    end: Option<String>,
}

impl MappedFiles {
    fn of(path: &str) -> MappedFiles {
        let (begin, end) = match path.split_once('*') {
            Some((begin, end)) => (begin, Some(end.to_owned())),
            // `./x/` means all that is below.
            None => (path, path.ends_with('/').then(String::new)),
        };
        MappedFiles { begin: begin.to_owned(), end }
    }

    /// Returns whether a path is one of them.
    pub fn has(&self, path: &str) -> bool {
        match &self.end {
            Some(end) => path.starts_with(&self.begin) && path.ends_with(end.as_str()),
            None => path == self.begin,
        }
    }
}

/// Splits the name of a package from what is named in it: `@a/b/c` is `@a/b` and `/c`.
pub(super) fn split_name(name: &str) -> (&str, &str) {
    let slash = match name.strip_prefix('@').and(name.find('/')) {
        Some(first) => name[first + 1..].find('/').map(|at| first + 1 + at),
        None => name.find('/'),
    };
    name.split_at(slash.unwrap_or(name.len()))
}

/// Lists what a map of a package may say of a name, whatever conditions hold.
fn targets(map: &Json, asked: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |value: &Json, part: &str| {
        each_text(value, &mut |text| {
            if found.len() < MOST {
                found.push(match text.ends_with('/') {
                    true => format!("{text}{part}"),
                    false => text.replace('*', part),
                });
            }
        });
    };
    let keys = map.as_object().into_iter().flat_map(|map| map.keys());
    let is_of_names = keys.into_iter().any(|key| key.starts_with(['.', '#']));
    if !is_of_names {
        // What stands alone is the package itself.
        if asked == "." {
            add(map, "");
        }
        return found;
    }
    for (key, value) in map.as_object().into_iter().flatten() {
        // `./x/` means all that is below.
        let pattern = if key.ends_with('/') { Cow::from(format!("{key}*")) } else { Cow::from(&**key) };
        let part = match pattern.split_once('*') {
            Some((before, after)) => asked.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)),
            None => (pattern == asked).then_some(""),
        };
        if let Some(part) = part {
            add(value, part);
        }
    }
    found
}

/// Passes on each text in a value.
fn each_text(value: &Json, pass: &mut dyn FnMut(&str)) {
    match value {
        Json::String(text) => pass(text),
        Json::Array(values) => values.iter().for_each(|value| each_text(value, pass)),
        value => value.as_object().into_iter().flatten().for_each(|(_, value)| each_text(value, pass)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_name_files_whatever_is_asked_for() {
        let text = r##"{"imports": {"#h": {"node": "./lib/h.txt", "default": "dep/x"}, "#e": "./a%20b.js"},
            "exports": {"./*": ["./src/*.txt"], "./d/": "./d/"}}"##;
        let files = PackageJson::parse(text.as_bytes()).unwrap().mapped_files();
        for path in ["lib/h.txt", "src/a.txt", "src/d/a.txt", "d/x", "a b.js"] {
            assert!(files.iter().any(|files| files.has(path)), "{path}");
        }
        for path in ["h.txt", "src/a.csv", "other", "dep/x"] {
            assert!(!files.iter().any(|files| files.has(path)), "{path}");
        }
        assert_eq!(PackageJson::parse(b"{"), None);
    }
}
