//! Runs the official JSON Schema Test Suite (see the license in `tests/suite/`): all mandatory tests of 2020-12 and
//! draft-07, and the optional ones about numbers, regular expressions and leftovers of older drafts.
//!
//! A group is skipped only if the schema refers to another document or uses `$dynamicRef`. The test fixes their number.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the suite is read from its directory and has a fixed form"
)]

use std::path::Path;

use brigade_schema::{ProblemKind, ReferenceFault, Schema};
use serde_json::{Value, json};

#[derive(Debug, Default, PartialEq, Eq)]
struct Ran {
    groups: usize,
    cases: usize,
    /// Groups with a reference to another document, or with another dialect.
    remote: usize,
    dynamic: usize,
}

impl Ran {
    fn group(&mut self, title: &str, dialect: &str, group: &Value) {
        self.groups += 1;
        let mut schema = group["schema"].clone();
        if let Value::Object(keywords) = &mut schema {
            keywords.entry("$schema").or_insert_with(|| json!(dialect));
        }
        let schema = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{title}: {problems:?}"));
        match schema.unchecked().first().map(|problem| &problem.kind) {
            None => {}
            Some(ProblemKind::Reference(ReferenceFault::NotLocal) | ProblemKind::UnsupportedDialect) => {
                self.remote += 1;
                return;
            }
            Some(ProblemKind::DynamicReference) => {
                self.dynamic += 1;
                return;
            }
            Some(other) => panic!("{title}: {other}"),
        }
        for case in group["tests"].as_array().unwrap() {
            self.cases += 1;
            let found = schema.violations(&case["data"]);
            let (title, valid) =
                (format!("{title}: {}", case["description"]), case["valid"].as_bool().unwrap());
            assert_eq!(found.is_empty(), valid, "{title}: {found:?}");
            assert_eq!(schema.accepts(&case["data"]), valid, "{title}");
        }
    }
}

#[track_caller]
fn check(folder: &str, dialect: &str, expect: Ran) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite").join(folder);
    let mut ran = Ran::default();
    let mut names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for path in names {
        let groups: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let name = path.file_name().unwrap().display();
        for group in groups {
            ran.group(&format!("{name}: {}", group["description"]), dialect, &group);
        }
    }
    assert_eq!(ran, expect);
}

#[test]
fn draft_2020_12() {
    let expect = Ran { groups: 430, cases: 1368, remote: 25, dynamic: 17 };
    check("draft2020-12", "https://json-schema.org/draft/2020-12/schema", expect);
}

#[test]
fn draft_07() {
    let expect = Ran { groups: 292, cases: 1006, remote: 14, dynamic: 0 };
    check("draft7", "http://json-schema.org/draft-07/schema#", expect);
}
