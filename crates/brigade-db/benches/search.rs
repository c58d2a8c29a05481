//! Searching and adding memories in a full store: 2,000 memories of the project and 500 of an agent.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench stops when it cannot go on")]

use std::time::Duration;

use brigade_core::Timestamp;
use brigade_db::Store;
use brigade_db::memory::{Category, Importance, NewMemory, Owners, Query, Scope, WriteMode};
use brigade_fs::DiskFs;
use brigade_redact::Redactor;
use divan::Bencher;

fn main() {
    divan::main();
}

const WORDS: [&str; 24] = [
    "parser", "lexer", "index", "queue", "ledger", "policy", "schema", "cache", "worker", "kitchen",
    "branch", "merge", "token", "session", "gateway", "sandbox", "profile", "journal", "receipt", "approve",
    "migrate", "release", "border", "window",
];

fn memory(number: usize, scope: Scope, owner: &str) -> NewMemory {
    let word = |step: usize| WORDS[(number * 7 + step * 5 + number / 24) % WORDS.len()];
    let content = format!(
        "The {} of part{number} uses the {} before the {}; note{number} says that {} and {} never share item{number}.",
        word(0),
        word(1),
        word(2),
        word(3),
        word(4)
    );
    NewMemory {
        content,
        category: Category::Fact,
        scope,
        owner: owner.to_owned(),
        author: "ada".to_owned(),
        importance: Importance::Medium,
        pin: false,
        mode: WriteMode::Default,
    }
}

fn now() -> Timestamp {
    Timestamp::from_unix_micros(1_700_000_000_000_000)
}

fn full() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::from_secs(5)).unwrap();
    let redactor = Redactor::new(&[]);
    for number in 0..2_000 {
        store.add_memory(&memory(number, Scope::Project, ""), &redactor, now()).unwrap();
    }
    for number in 0..500 {
        store.add_memory(&memory(number, Scope::Agent, "ada"), &redactor, now()).unwrap();
    }
    (folder, store)
}

/// Searches for a word of every tenth memory and for a word of a single one.
#[divan::bench(args = ["ledger", "parser before the ledger", "part1234"])]
fn search(bencher: Bencher<'_, '_>, text: &str) {
    let (_folder, store) = full();
    let query = Query { text, scope: None, mission: None, owners: Owners::Seen("ada"), limit: 5 };
    assert!(!store.search_memories(&query, now()).unwrap().is_empty());
    bencher.bench_local(|| store.search_memories(&query, now()).unwrap());
}

/// Each new memory is compared with all others and displaces the oldest.
#[divan::bench]
fn add(bencher: Bencher<'_, '_>) {
    let (_folder, store) = full();
    let redactor = Redactor::new(&[]);
    let mut number = 10_000;
    bencher.bench_local(move || {
        number += 1;
        store.add_memory(&memory(number, Scope::Project, ""), &redactor, now()).unwrap()
    });
}
