//! What the maps of bound packages name: code that JavaScript loads by another name.

use std::path::Path;

use brigade_command::{MappedFiles, PackageJson};
use brigade_fs::Fs;

/// The largest `package.json` that is read.
const LIMIT: u64 = 1 << 20;

/// The directories of packages, each with the files that its maps name; `None` if nobody knows them.
pub struct Maps(Vec<(String, Option<Vec<MappedFiles>>)>);

impl Maps {
    /// Reads the packages among bound files. One that cannot be read may name whatever lies below it.
    pub fn of<'f>(fs: &dyn Fs, files: impl Iterator<Item = &'f String>) -> Maps {
        let folders = files.filter_map(|file| {
            let folder = file.strip_suffix("package.json")?;
            (folder.is_empty() || folder.ends_with('/')).then_some((folder, file))
        });
        let read = |(folder, file): (&str, &String)| {
            let bytes = file.parse().ok().and_then(|path| fs.read(&path, LIMIT).ok());
            let package = bytes.and_then(|bytes| PackageJson::parse(&bytes));
            (folder.to_owned(), package.map(|package| package.mapped_files()))
        };
        Maps(folders.map(read).collect())
    }

    /// Returns whether one of the maps names a path of the workspace.
    pub fn name(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| {
            self.0.iter().any(|(folder, named)| {
                path.strip_prefix(folder.as_str()).is_some_and(|inside| match named {
                    Some(named) => named.iter().any(|files| files.has(inside)),
                    None => true,
                })
            })
        })
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
            "exports": {"./*": ["./src/*.txt"], "./d/": "./d/", "./e": "./e%20f.txt"}}"##;
        for (path, text) in [("p/package.json", maps), ("bad/package.json", "{")] {
            let path: RelPath = path.parse().unwrap();
            fs.create_dir_all(&path.parent()).unwrap();
            fs.write_atomic(&path, text.as_bytes(), FileMode::Private).unwrap();
        }
        let files =
            ["p/package.json".to_owned(), "bad/package.json".to_owned(), "q/my-package.json".to_owned()];
        let maps = Maps::of(&fs, files.iter());
        for path in ["p/lib/h.txt", "p/src/a.txt", "p/d/x", "p/e f.txt", "bad/any"] {
            assert!(maps.name(Path::new(path)), "{path}");
        }
        for path in ["lib/h.txt", "p/src/a.csv", "p/other", "q/x"] {
            assert!(!maps.name(Path::new(path)), "{path}");
        }
    }
}
