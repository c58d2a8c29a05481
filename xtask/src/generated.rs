//! Folders whose files a program writes: writing them, and telling whether they are as they would be written.

use crate::repository::{Failure, Repository, Tree};

/// What to do about a file that is not as generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// Tell it.
    Check,
    /// Tell it and write the file.
    Write,
}

impl Settle {
    /// What `--check` asks for.
    pub fn of(check: bool) -> Settle {
        if check { Settle::Check } else { Settle::Write }
    }
}

/// Compares a folder with what belongs there, and returns how many files differ, or differed.
///
/// Paths are from the root of the repository; all of `wanted` lies in the folder.
pub fn settle(
    repository: &Repository,
    folder: &str,
    wanted: &Tree,
    settle: Settle,
) -> Result<usize, Failure> {
    let found = repository.files(folder)?;
    settle_found(repository, wanted, &found, settle)
}

/// Does the same for one file.
pub fn settle_file(
    repository: &Repository,
    path: &str,
    text: &str,
    settle: Settle,
) -> Result<usize, Failure> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = repository.files(folder)?;
    found.0.retain(|other, _| other == path);
    let wanted = Tree([(path.to_owned(), text.as_bytes().to_vec())].into());
    settle_found(repository, &wanted, &found, settle)
}

/// Says how a comparison of all folders of a task ended.
pub fn verdict(differing: usize, settle: Settle, task: &str) -> Result<(), Failure> {
    if settle == Settle::Check && differing != 0 {
        return Err(Failure::new(format!("{task}: {differing} files differ; run `cargo xtask {task}`")));
    }
    Ok(())
}

fn settle_found(
    repository: &Repository,
    wanted: &Tree,
    found: &Tree,
    settle: Settle,
) -> Result<usize, Failure> {
    let differing = differences(wanted, found);
    for (path, difference) in &differing {
        eprintln!("{path}: {}", difference.describe());
        if settle == Settle::Write {
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
            Difference::Changed => "not as generated",
            Difference::Unwanted => "not generated, but in a generated folder",
        }
    }
}

/// Lists every file that is not as it should be, by path.
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
    fn every_kind_of_difference_is_told() {
        let wanted = Tree::of(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let found = Tree::of(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let expect = [("b", Difference::Changed), ("c", Difference::Missing), ("d", Difference::Unwanted)];
        assert_eq!(differences(&wanted, &found), expect);
        assert_eq!(differences(&wanted, &wanted), []);
    }
}
