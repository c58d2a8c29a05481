//! `cargo xtask tidy`: checks the rules of the workspace that no compiler checks.

mod documents;
mod language;
mod manifests;
mod rust_text;
mod schemas;
mod sources;
mod width;
mod words;

use crate::repository::{Failure, Repository, Tree};

/// Check the rules of the workspace: dependencies between crates, manifests, sources, schemas, documents
#[derive(Debug, clap::Args)]
pub struct TidyArguments {
    /// First wrap comments that are too wide
    #[arg(long)]
    pub fix: bool,
}

/// A violation of a rule, at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

pub fn run(repository: &Repository, arguments: &TidyArguments) -> Result<(), Failure> {
    if arguments.fix {
        wrap_comments(repository)?;
    }
    let mut findings = findings(&repository.files("")?);
    findings.extend(language::subjects(repository));
    for Finding { path, line, message } in &findings {
        eprintln!("{path}:{line}: {message}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err(Failure::new("tidy: 1 finding")),
        count => Err(Failure::new(format!("tidy: {count} findings"))),
    }
}

fn wrap_comments(repository: &Repository) -> Result<(), Failure> {
    let tree = repository.files("")?;
    for (path, text) in tree.texts(".rs").filter(|(path, _)| !path.starts_with("fixtures/")) {
        let wrapped = width::wrap(text);
        if wrapped != text {
            repository.write(path, wrapped.as_bytes())?;
            println!("wrapped comments of {path}");
        }
    }
    Ok(())
}

/// Applies every rule, and lists the violations by place.
fn findings(tree: &Tree) -> Vec<Finding> {
    let manifests = manifests::read(tree);
    let mut found = manifests.findings();
    found.extend(manifests.unused(tree));
    found.extend(sources::findings(tree));
    found.extend(words::findings(tree));
    found.extend(language::findings(tree));
    found.extend(schemas::findings(tree));
    found.extend(documents::findings(tree, &manifests));
    found.sort();
    found.dedup();
    found
}

/// Returns the line number, from 1, of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
