//! Files of the workspace that commands of the kitchen name. An approval binds their bytes, and a start compares them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use brigade_core::Fingerprint;
use brigade_fs::{Fs, FsError, bound_fingerprint};
use brigade_kitchen::Command;

/// The approved bytes, by the path in the workspace.
pub type BoundFiles = BTreeMap<String, Fingerprint>;

/// Returns the words of a command that may name files. In a text for a shell, every part may.
pub(crate) fn words_of(command: &Command) -> Vec<String> {
    let is_end = |character: char| character.is_whitespace() || ";|&()<>`$'\"".contains(character);
    match (command.needs_shell(), command.argv()) {
        (true, [.., text]) => text.split(is_end).filter(|word| !word.is_empty()).map(str::to_owned).collect(),
        (_, words) => words.to_vec(),
    }
}

/// Lists the paths in the workspace that words may name. The part after `=` may name one, too.
pub(crate) fn named_paths<'w>(
    root: &'w Path,
    words: impl Iterator<Item = &'w str> + 'w,
) -> impl Iterator<Item = (&'w Path, PathBuf)> + 'w {
    words.flat_map(|word| word.split('=')).map(move |word| {
        let path = Path::new(word);
        let parts = path.strip_prefix(root).unwrap_or(path).components();
        (path, parts.filter(|part| *part != Component::CurDir).collect::<PathBuf>())
    })
}

fn digest(fs: &dyn Fs, path: &Path) -> Result<Fingerprint, FsError> {
    bound_fingerprint(fs, &path.to_string_lossy(), &*fs.open_outside(path)?)
}

/// Adds the files that words name, with their bytes.
pub(crate) fn bind<'w>(fs: &dyn Fs, words: impl Iterator<Item = &'w str>, found: &mut BoundFiles) {
    let root = fs.root();
    for (_, inside) in named_paths(root, words.collect::<Vec<_>>().into_iter()) {
        let Some(name) = inside.to_str().filter(|name| !name.is_empty() && inside.is_relative()) else {
            continue;
        };
        if let Ok(bytes) = digest(fs, &root.join(&inside)) {
            found.insert(name.to_owned(), bytes);
        }
    }
}

/// Returns a file that words name from a directory, and that is not the approved one. A missing file starts nothing.
pub(crate) fn changed<'w>(
    fs: &dyn Fs,
    bound: &BoundFiles,
    directory: &Path,
    words: impl Iterator<Item = &'w str>,
) -> Option<String> {
    let words: Vec<&str> = words.collect();
    named_paths(fs.root(), words.into_iter()).find_map(|(written, inside)| {
        let (name, approved) = bound.get_key_value(inside.to_str()?)?;
        match digest(fs, &directory.join(written)) {
            Ok(now) if now == *approved => None,
            Err(error) if error.is_not_found() => None,
            Ok(_) | Err(_) => Some(name.clone()),
        }
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes files")]
mod tests {
    use brigade_fs::DiskFs;

    use super::*;

    #[test]
    fn commands_bind_the_files_that_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        for path in ["w/cook.sh", "conf.json", "tree/w/cook.sh", "README"] {
            write(path, "one");
        }
        let fs = DiskFs::open(&root).unwrap();
        let absolute = root.join("w/cook.sh").to_string_lossy().into_owned();
        let tree = root.join("tree");
        let check = |words: &[&str], expect: &[&str]| {
            let mut found = BoundFiles::new();
            bind(&fs, words.iter().copied(), &mut found);
            assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), expect, "{words:?}");
            found
        };
        check(&["sh", "README.md", "no/file", "w"], &[]);
        check(&["/bin/sh", "./README", "--config=conf.json"], &["README", "conf.json"]);
        for words in [&["sh", "w/cook.sh"][..], &["sh", "./w/cook.sh"], &["sh", &absolute]] {
            write("w/cook.sh", "one");
            write("tree/w/cook.sh", "one");
            let bound = check(words, &["w/cook.sh"]);
            let changed = |directory: &Path| changed(&fs, &bound, directory, words.iter().copied());
            assert_eq!((changed(&root), changed(&tree)), (None, None), "{words:?}");
            write(if words.contains(&absolute.as_str()) { "w/cook.sh" } else { "tree/w/cook.sh" }, "two");
            assert_eq!(changed(&tree), Some("w/cook.sh".to_owned()), "{words:?}");
        }
    }

    #[test]
    fn texts_for_a_shell_name_files_in_every_part() {
        let command = |text: &str| words_of(&Command::parse(text).unwrap());
        assert_eq!(command("sh notify.sh x"), ["sh", "notify.sh", "x"]);
        assert!(command("cat | ./notify.sh>log").contains(&"./notify.sh".to_owned()));
    }
}
