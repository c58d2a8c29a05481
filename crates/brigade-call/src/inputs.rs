//! Groups the files that a run used by what covers them: its approval, its arguments, its data, or nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use brigade_core::Fingerprint;
use brigade_macros::part;

use crate::binding::Binding;
use crate::receipt::{ObservedFile, Receipt, RunObserved};

/// A file that a run read or executed.
#[part(PartialEq, Eq)]
pub struct RunInput {
    /// Its path in the workspace.
    pub path: String,
    /// The sha256 that it had.
    pub sha256: Option<Fingerprint>,
    /// Whether it was executed.
    pub executed: bool,
    /// Whether its bytes differ from those that the approval binds.
    pub differs: bool,
}

/// The files that a run read or executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInputs {
    /// Bound by the approval.
    pub bound: Vec<RunInput>,
    /// Named by a word of the command line, or below a folder that one names.
    pub arguments: Vec<RunInput>,
    /// Declared as data of the tool.
    pub data: Vec<RunInput>,
    /// Covered by none of these; the approval does not mention them.
    pub uncovered: Vec<RunInput>,
    /// The folders whose names were read.
    pub folders: Vec<String>,
}

/// Groups the observed files by what covers them. `root` is the workspace. `is_data` returns whether the tool declares
/// a file as data.
pub fn group_inputs(
    receipt: &Receipt,
    observed: &RunObserved,
    root: &Path,
    is_data: impl Fn(&str) -> bool,
) -> RunInputs {
    let named: HashSet<PathBuf> = named_paths(receipt, root).into_iter().collect();
    let mut inputs = RunInputs::default();
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    let lists = [(&observed.executed, true), (&observed.read, false)];
    for (file, executed) in lists
        .iter()
        .flat_map(|(list, executed)| list.iter().flatten().map(move |file: &ObservedFile| (file, *executed)))
    {
        if let Some(folder) = file.path.strip_suffix('/') {
            inputs.folders.push(folder.to_owned());
        } else if seen.insert((&file.path, file.sha256)) {
            files.push(RunInput { path: file.path.clone(), sha256: file.sha256, executed, differs: false });
        }
    }
    for mut input in files {
        let group = match bound(receipt, &input.path) {
            FileBinding::As(sha256) => {
                input.differs = sha256.is_some() && input.sha256.is_some() && sha256 != input.sha256;
                &mut inputs.bound
            }
            FileBinding::No if Path::new(&input.path).ancestors().any(|path| named.contains(path)) => {
                &mut inputs.arguments
            }
            FileBinding::No if is_data(&input.path) => &mut inputs.data,
            FileBinding::No => &mut inputs.uncovered,
        };
        group.push(input);
    }
    inputs
}

/// Whether the approval binds a file.
enum FileBinding {
    /// Bound with these bytes. Below a bound folder the single fingerprint of the folder applies.
    As(Option<Fingerprint>),
    No,
}

/// Returns whether the approval of a run binds a file.
pub(crate) fn is_bound(receipt: &Receipt, path: &str) -> bool {
    matches!(bound(receipt, path), FileBinding::As(_))
}

fn bound(receipt: &Receipt, path: &str) -> FileBinding {
    receipt.binding.as_ref().map_or(FileBinding::No, |binding| bound_by(binding, path))
}

/// Returns whether an approval binds a file, by its own name or with a directory.
pub fn binds(binding: &Binding, path: &str) -> bool {
    matches!(bound_by(binding, path), FileBinding::As(_))
}

fn bound_by(binding: &Binding, path: &str) -> FileBinding {
    if let Some(sha256) = binding.files.get(path) {
        return FileBinding::As(Some(*sha256));
    }
    if let Some(program) = binding.program.as_ref().filter(|program| program.path == path) {
        return FileBinding::As(Some(program.sha256));
    }
    if binds_file(&binding.files, path) { FileBinding::As(None) } else { FileBinding::No }
}

/// Returns whether one of the bound files is this file or a directory that contains it.
pub fn binds_file(files: &BTreeMap<String, Fingerprint>, path: &str) -> bool {
    let mut folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
    files.contains_key(path) || folders.any(|folder| files.contains_key(folder))
}

/// Returns the directory of a file if a data pattern may open all of it: it is not the workspace, and it contains no
/// bound file.
pub fn data_folder<'p>(files: &BTreeMap<String, Fingerprint>, path: &'p str) -> Option<&'p str> {
    let (folder, _) = path.rsplit_once('/')?;
    let is_in = |file: &String| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    (!binds_file(files, path) && !files.keys().any(is_in)).then_some(folder)
}

/// Lists the workspace paths that words, or their parts after `=`, name; empty for the workspace itself. An option with
/// a value names only the value. `ways` are other paths to the workspace.
pub fn paths_of_words<'w>(
    words: impl IntoIterator<Item = &'w str>,
    directory: &Path,
    root: &Path,
    ways: &BTreeSet<PathBuf>,
) -> Vec<PathBuf> {
    let root = plain(root);
    let below = |path: PathBuf| {
        let mut roots = std::iter::once(&root).chain(ways);
        roots.find_map(|root| path.strip_prefix(root).ok()).map(Path::to_owned)
    };
    spelled(words, directory).filter_map(below).collect()
}

/// Lists the paths that words, or their parts after `=`, would name, without reading the disk.
pub fn spelled<'w>(
    words: impl IntoIterator<Item = &'w str>,
    directory: &Path,
) -> impl Iterator<Item = PathBuf> {
    let parts = words.into_iter().flat_map(|word| match word.split_once('=') {
        // The name of an option is not a path.
        Some((name, rest)) if name.starts_with('-') => [None, Some(rest)],
        parts => [Some(word), parts.map(|(_, rest)| rest)],
    });
    parts.flatten().filter(|part| !part.is_empty()).map(move |part| plain(&directory.join(part)))
}

/// Lists the workspace paths that the words after the program name; never the workspace itself.
fn named_paths(receipt: &Receipt, root: &Path) -> Vec<PathBuf> {
    let directory = root.join(receipt.cwd.as_deref().unwrap_or("."));
    let words = receipt.argv.iter().skip(1).map(String::as_str);
    let mut paths = paths_of_words(words, &directory, root, &BTreeSet::new());
    paths.retain(|path| !path.as_os_str().is_empty());
    paths
}

/// Removes `.` and `..` from a path, without following links.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use brigade_core::json::from_json;
    use brigade_core::{Dialect, Json};

    use super::*;

    fn file(path: &str, text: &str) -> ObservedFile {
        let sha256 = (!path.ends_with('/')).then(|| Fingerprint::of_bytes(text.as_bytes()));
        ObservedFile { path: path.to_owned(), sha256, ..ObservedFile::default() }
    }

    fn receipt() -> Receipt {
        let mark = Fingerprint::of_bytes(b"code").to_hex();
        let binding = format!(
            r#"{{"args": "{mark}", "contract": "{mark}", "source": "", "projections": "{mark}",
                "policy": "{mark}", "program": {{"path": "bin/run", "sha256": "{mark}"}},
                "files": {{"lib/a.py": "{mark}", "pkg/": "{mark}"}}, "caller": "command-line"}}"#
        );
        let binding = Json::parse_bytes(binding.as_bytes(), Dialect::Strict).unwrap();
        let binding: Binding = from_json(&binding).unwrap();
        let words = ["bin/run", "in.txt", "--folder=../sub/deep", "/work/abs.txt", ".", "-", "--x="];
        Receipt {
            argv: words.map(str::to_owned).to_vec(),
            cwd: Some("sub".to_owned()),
            binding: Some(binding),
            ..crate::cases::receipt()
        }
    }

    /// Issue 12: an option with a value was taken for a path, too.
    #[test]
    fn words_and_option_values_name_paths() {
        let paths = |word| paths_of_words([word], Path::new("/work"), Path::new("/work"), &BTreeSet::new());
        assert_eq!(paths("--in=in.json"), [PathBuf::from("in.json")]);
        assert_eq!(paths("a=in.json"), [PathBuf::from("a=in.json"), PathBuf::from("in.json")]);
        assert_eq!((paths("-"), paths("--x=")), (vec![PathBuf::from("-")], vec![]));
    }

    #[test]
    fn each_file_has_its_group() {
        let read = [
            file("lib/a.py", "code"),
            file("lib/a.py", "other"),
            file("pkg/deep/b.py", "b"),
            file("sub/in.txt", "in"),
            file("sub/deep/x", "x"),
            file("abs.txt", "abs"),
            file("data/d.csv", "d"),
            file("lib/new.py", "new"),
            file("lib/", ""),
            file("bin/run", "code"),
        ];
        let observed = RunObserved {
            read: Some(read.to_vec()),
            executed: Some(vec![file("bin/run", "code"), file("tool.sh", "t")]),
            ..RunObserved::default()
        };
        let inputs =
            group_inputs(&receipt(), &observed, Path::new("/work"), |path| path.starts_with("data/"));
        let names = |inputs: &[RunInput]| {
            let name = |input: &RunInput| (input.path.clone(), input.executed, input.differs);
            inputs.iter().map(name).collect::<Vec<_>>()
        };
        let one = |path: &str, executed, differs| (path.to_owned(), executed, differs);
        assert_eq!(
            names(&inputs.bound),
            [
                one("bin/run", true, false),
                one("lib/a.py", false, false),
                one("lib/a.py", false, true),
                one("pkg/deep/b.py", false, false),
            ]
        );
        let named = ["sub/in.txt", "sub/deep/x", "abs.txt"].map(|path| one(path, false, false));
        assert_eq!(names(&inputs.arguments), named);
        assert_eq!(names(&inputs.data), [one("data/d.csv", false, false)]);
        assert_eq!(names(&inputs.uncovered), [one("tool.sh", true, false), one("lib/new.py", false, false)]);
        assert_eq!(inputs.folders, ["lib"]);
    }
}
