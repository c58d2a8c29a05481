//! `cargo xtask redaction`: measures how much ordinary text is masked.
//!
//! Every text file below some directories is masked in two ways: as agents read it, and as program output is stored.
//! Each difference is printed. Files that hold keys and tokens on purpose are listed separately, and do not count.

use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use brigade_redact::{MARK, Redactor};

use crate::cargo::output;
use crate::repository::{Failure, Repository};

/// Measure how many lines of source code are masked
///
/// Looks at this repository, the standard library of Python, and the packages of `cargo xtask interop` if they are
/// installed. Fails if more is masked than the goals allow
#[derive(Debug, clap::Args)]
pub struct RedactionArguments {
    /// Look at these directories instead
    directories: Vec<PathBuf>,
}

/// The allowed number of changed lines in text for agents, per million.
const READ_GOAL: usize = 5;

/// The allowed number of changed lines in stored output, per million.
const STORED_GOAL: usize = 100;

/// Larger files count as data and are skipped.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Directories that are not measured.
const SKIPPED: &[&str] = &[".git", "__pycache__", "site-packages", "target"];

/// Parts of the paths of files with intentional keys and tokens: test keys, and the examples of the rules.
const PLANTED_FILES: &[&str] = &[
    "/certdata/",
    "/fixtures/redaction/",
    "/crates/brigade-redact/",
    "/tests/tests/binary/",
    ".key",
    ".pem",
];

/// Texts that mark intentional secrets: those of the tests, and the well-known example of a JSON web token.
#[rustfmt::skip]
const PLANTED_SECRETS: &[&str] = &[
    "hunter2", "EXAMPLE", "CNRY", "CANARY", "ghp_0123456789", "ghp_abcdefghij", "S3cr3tV4lue", "VALUE", "Zq",
    "SflKxwRJSMeKKF2QT4fwpMeJf36POk",
];

pub fn run(repository: &Repository, arguments: &RedactionArguments) -> Result<(), Failure> {
    let mut directories = arguments.directories.clone();
    if directories.is_empty() {
        directories.push(repository.root().to_owned());
        let script = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
        directories.push(output(Command::new("python3").args(["-c", script]))?.trim().into());
        let packages = repository.root().join("target/interop");
        directories.extend(packages.is_dir().then_some(packages));
    }
    let redactor = Redactor::new(&[]);
    let mut kinds = [
        Measure::new("read", redactor.clone(), READ_GOAL),
        Measure::new("stored", redactor.for_output(), STORED_GOAL),
    ];
    let mut lines = 0;
    for directory in &directories {
        lines += measure(directory, &mut kinds)?;
    }
    println!("{lines} lines");
    let mut is_over = false;
    for Measure { name, differing, planted, paths, goal, .. } in &kinds {
        let allowed = lines * goal / 1_000_000;
        println!("{name}: {differing} lines differ, {allowed} may; {planted} planted; {paths} paths differ");
        is_over |= allowed < *differing || *name == "read" && 0 < *paths;
    }
    if is_over { Err(Failure::new("more is masked than the goals allow")) } else { Ok(()) }
}

/// The measurements for one kind of masking.
struct Measure {
    name: &'static str,
    redactor: Redactor,
    goal: usize,
    differing: usize,
    planted: usize,
    paths: usize,
}

impl Measure {
    fn new(name: &'static str, redactor: Redactor, goal: usize) -> Measure {
        Measure { name, redactor, goal, differing: 0, planted: 0, paths: 0 }
    }

    fn file(&mut self, path: &str, text: &str) {
        let place = format!("{path}:12:3: text");
        if self.redactor.redact_str(&place) != place {
            println!("{}: the path {path}", self.name);
            self.paths += 1;
        }
        let shown = self.redactor.redact_str(text);
        if shown == text {
            return;
        }
        let is_of_tests = PLANTED_FILES.iter().any(|part| path.contains(part));
        for masked in masked(text, &shown) {
            let secret = &text[masked.clone()];
            let is_planted = is_of_tests || PLANTED_SECRETS.iter().any(|part| secret.contains(part));
            let number = text[..masked.start].matches('\n').count() + 1;
            let count = text[masked.clone()].trim_end().matches('\n').count() + 1;
            let label = if is_planted { " (planted)" } else { "" };
            let line = text[..masked.start].rsplit('\n').next().unwrap_or_default().trim_start();
            let first = text[masked].lines().next().unwrap_or_default();
            println!("{}{label}: {path}:{number}: {line}⟦{first}⟧", self.name);
            *if is_planted { &mut self.planted } else { &mut self.differing } += count;
        }
    }
}

/// Lists the ranges of a text that are masked in its shown form.
fn masked(text: &str, shown: &str) -> Vec<Range<usize>> {
    let mut pieces = shown.split(MARK);
    let mut at = pieces.next().map_or(0, str::len);
    let mut found = Vec::new();
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let next = if piece.is_empty() && pieces.peek().is_none() {
            text.len()
        } else {
            text[at..].find(piece).map_or(text.len(), |offset| at + offset)
        };
        if &text[at..next] != MARK {
            found.push(at..next);
        }
        at = (next + piece.len()).min(text.len());
    }
    found
}

/// Measures every text file below a directory, and returns their number of lines.
fn measure(directory: &Path, kinds: &mut [Measure]) -> Result<usize, Failure> {
    let mut lines = 0;
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)
        .map_err(Failure::at(directory))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    for path in entries {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let is_skipped = path.file_name().and_then(OsStr::to_str).is_some_and(|name| SKIPPED.contains(&name));
        if metadata.is_dir() && !is_skipped {
            lines += measure(&path, kinds)?;
        } else if metadata.is_file() && metadata.len() <= MAX_FILE_BYTES {
            let bytes = fs::read(&path).map_err(Failure::at(&path))?;
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            if text.contains('\0') {
                continue;
            }
            lines += text.lines().count();
            kinds.iter_mut().for_each(|kind| kind.file(&path.to_string_lossy(), text));
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_parts_are_found_in_the_text() {
        for (text, shown, expect) in [
            ("a secret b", "a [redacted] b", &["secret"][..]),
            ("a one two", "a [redacted]", &["one two"]),
            ("x [redacted] one y", "x [redacted] [redacted] y", &["one"]),
        ] {
            let parts: Vec<&str> = masked(text, shown).into_iter().map(|range| &text[range]).collect();
            assert_eq!(parts, expect);
        }
    }
}
