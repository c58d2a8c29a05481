//! Suggests the file that a mistyped path probably means.

use std::path::Path;

use brigade_core::closest;
use brigade_fs::{DiskFs, Fs as _, RelPath};

/// The maximum number of names of a directory that are compared.
const MAX_COMPARED_NAMES: usize = 1_000;

/// Returns the file with the most similar name in the directory of a missing file. `typed` is the path as typed, and
/// `path` is where it leads.
pub fn near_path(typed: &Path, path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent()?;
    let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let folder = DiskFs::open(folder).ok()?;
    let (entries, _) = folder.list_some(&RelPath::root(), MAX_COMPARED_NAMES).ok()?;
    let near = closest(name, entries.iter().map(|entry| entry.name.as_str()))?;
    (near != name).then(|| typed.with_file_name(near).display().to_string())
}

/// Returns a hint with the path.
pub fn did_you_mean(path: &str) -> String {
    format!("did you mean `{}`?", brigade_core::text::escape_terminal(path))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes the files")]
mod tests {
    use super::*;

    #[test]
    fn the_file_beside_a_missing_one_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["args.json", "other.txt"] {
            std::fs::write(folder.path().join(name), "{}").unwrap();
        }
        let near = |typed: &str| near_path(Path::new(typed), &folder.path().join(typed));
        assert_eq!(near("agrs.json").as_deref(), Some("args.json"));
        assert_eq!(near("./args.jsn").as_deref(), Some("./args.json"));
        assert_eq!(near("nothing-like-it"), None);
        assert_eq!(near("no/args.json"), None);
        assert_eq!(near("args.json"), None);
    }

    #[test]
    fn a_hint_escapes_what_a_name_may_hold() {
        assert_eq!(did_you_mean("a.py"), "did you mean `a.py`?");
        assert!(!did_you_mean("a\u{1b}[2J.py").contains('\u{1b}'));
    }
}
