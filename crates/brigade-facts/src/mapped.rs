//! What the maps of bound packages name: code that JavaScript loads by another name.

use std::path::Path;

use brigade_core::{Dialect, Json};
use brigade_fs::Fs;

/// The largest `package.json` that is read.
const LIMIT: u64 = 1 << 20;

/// The files that `imports` and `exports` of packages name, each as the begin and the end of its path.
pub struct Maps(Vec<(String, Option<String>)>);

impl Maps {
    /// Reads the packages among bound files. One that cannot be read may name whatever lies below it.
    pub fn of<'f>(fs: &dyn Fs, files: impl Iterator<Item = &'f String>) -> Maps {
        let mut found = Vec::new();
        for file in files {
            let Some(folder) = file.strip_suffix("package.json") else { continue };
            if !folder.is_empty() && !folder.ends_with('/') {
                continue;
            }
            let bytes = file.parse().ok().and_then(|path| fs.read(&path, LIMIT).ok());
            let package = bytes.and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Lenient).ok());
            let Some(package) = package else {
                found.push((folder.to_owned(), Some(String::new())));
                continue;
            };
            for map in ["imports", "exports"].iter().filter_map(|name| package.get(name)) {
                add_texts(map, folder, &mut found);
            }
        }
        Maps(found)
    }

    /// Returns whether one of the maps names a path of the workspace.
    pub fn name(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| {
            self.0.iter().any(|(begin, end)| match end {
                Some(end) => path.starts_with(begin.as_str()) && path.ends_with(end.as_str()),
                None => path == begin,
            })
        })
    }
}

fn add_texts(value: &Json, folder: &str, found: &mut Vec<(String, Option<String>)>) {
    match value {
        Json::Array(values) => values.iter().for_each(|value| add_texts(value, folder, found)),
        Json::Object(members) => members.iter().for_each(|(_, value)| add_texts(value, folder, found)),
        value => {
            let Some(text) = value.as_str().and_then(|text| text.strip_prefix("./")) else { return };
            let (begin, end) = match text.split_once('*') {
                Some((begin, end)) => (begin, Some(end.to_owned())),
                None => (text, text.ends_with('/').then(String::new)),
            };
            found.push((format!("{folder}{begin}"), end));
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FileMode, MemoryFs, RelPath};

    use super::*;

    /// Issue 12: in a closed workspace, an argument opened what a bound package maps a name to.
    #[test]
    fn maps_of_bound_packages_name_code() {
        let fs = MemoryFs::new();
        let maps = r##"{"imports": {"#h": {"node": "./lib/h.txt"}},
            "exports": {"./*": ["./src/*.txt"], "./d/": "./d/"}}"##;
        for (path, text) in [("p/package.json", maps), ("bad/package.json", "{")] {
            let path: RelPath = path.parse().unwrap();
            fs.create_dir_all(&path.parent()).unwrap();
            fs.write_atomic(&path, text.as_bytes(), FileMode::Private).unwrap();
        }
        let files =
            ["p/package.json".to_owned(), "bad/package.json".to_owned(), "q/my-package.json".to_owned()];
        let maps = Maps::of(&fs, files.iter());
        for path in ["p/lib/h.txt", "p/src/a.txt", "p/d/x", "bad/any"] {
            assert!(maps.name(Path::new(path)), "{path}");
        }
        for path in ["lib/h.txt", "p/src/a.csv", "p/other", "q/x"] {
            assert!(!maps.name(Path::new(path)), "{path}");
        }
    }
}
