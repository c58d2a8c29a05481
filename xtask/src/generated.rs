//! Directories of generated files: writes them, or checks that they are up to date.

use crate::repository::{Failure, Repository, Tree};

/// What to do with a file that is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutdatedAction {
    /// Report it.
    Check,
    /// Report it and write it.
    Write,
}

impl OutdatedAction {
    /// Returns the action for the flag `--check`.
    pub fn from_check(check: bool) -> OutdatedAction {
        if check { OutdatedAction::Check } else { OutdatedAction::Write }
    }
}

/// Compares a directory with its expected content, and returns how many files differ or differed.
///
/// Paths are relative to the root of the repository. All of `wanted` is in the directory.
pub fn settle(
    repository: &Repository,
    folder: &str,
    wanted: &Tree,
    settle: OutdatedAction,
) -> Result<usize, Failure> {
    let found = repository.files(folder)?;
    settle_found(repository, wanted, &found, settle)
}

/// Like [`settle`], for a single file.
pub fn settle_file(
    repository: &Repository,
    path: &str,
    text: &str,
    settle: OutdatedAction,
) -> Result<usize, Failure> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = repository.files(folder)?;
    found.0.retain(|other, _| other == path);
    let wanted = Tree([(path.to_owned(), text.as_bytes().to_vec())].into());
    settle_found(repository, &wanted, &found, settle)
}

/// Returns the overall result of a task.
pub fn verdict(differing: usize, settle: OutdatedAction, task: &str) -> Result<(), Failure> {
    if settle == OutdatedAction::Check && differing != 0 {
        return Err(Failure::new(format!("{task}: {differing} files differ; run `cargo xtask {task}`")));
    }
    Ok(())
}

fn settle_found(
    repository: &Repository,
    wanted: &Tree,
    found: &Tree,
    settle: OutdatedAction,
) -> Result<usize, Failure> {
    let differing = differences(wanted, found);
    for (path, difference) in &differing {
        eprintln!("{path}: {}", difference.describe());
        if settle == OutdatedAction::Write {
            match wanted.0.get(*path) {
                Some(bytes) => repository.write(path, bytes)?,
                None => repository.remove(path)?,
            }
        }
    }
    Ok(differing.len())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    Missing,
    Changed,
    Unwanted,
}

impl Difference {
    fn describe(self) -> &'static str {
        match self {
            Difference::Missing => "missing",
            Difference::Changed => "out of date",
            Difference::Unwanted => "not generated, but in a generated directory",
        }
    }
}

/// Lists every file that differs, by path.
fn differences<'a>(wanted: &'a Tree, found: &'a Tree) -> Vec<(&'a str, Difference)> {
    let mut differing = Vec::new();
    for (path, bytes) in &wanted.0 {
        match found.0.get(path) {
            None => differing.push((path.as_str(), Difference::Missing)),
            Some(there) if there != bytes => differing.push((path, Difference::Changed)),
            Some(_) => {}
        }
    }
    let unwanted = found.0.keys().filter(|path| !wanted.0.contains_key(*path));
    differing.extend(unwanted.map(|path| (path.as_str(), Difference::Unwanted)));
    differing.sort_by_key(|(path, _)| *path);
    differing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_reported() {
        let wanted = Tree::from_texts(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let found = Tree::from_texts(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let expect = [("b", Difference::Changed), ("c", Difference::Missing), ("d", Difference::Unwanted)];
        assert_eq!(differences(&wanted, &found), expect);
        assert_eq!(differences(&wanted, &wanted), []);
    }
}
