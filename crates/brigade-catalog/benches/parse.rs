//! Measures reading a catalog of 10,000 tools, and compares it with general TOML parsers.
//!
//! `cargo bench -p brigade-catalog`

use std::fmt::Write;

use brigade_catalog::{Catalog, Level};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

/// A catalog of scripts with two harnesses each. `extra` is added to every entry.
fn catalog(tools: usize, extra: &str) -> String {
    let mut text = String::new();
    for number in 0..tools {
        let id = format!("tool-{number:05}");
        writeln!(
            text,
            r#"[[tool]]
id = "{id}"
name = "Tool {number}"
family = "script"
enabled = true
description = "Benchmark tool number {number} for the catalog."
source_path = "tools/{id}.md"
command = "python3 bin/hello.py"
auth_label = "local-user"
timeout = 30
input_schema_path = "schemas/{id}.json"
permissions = ["read-files"]
effects = ["local-read"]
approval_mode = "on-request"
cwd = "."
argument_template = {{ path = "{{path}}", mode = "--mode={{mode}}" }}
supported_harnesses = ["claude", "codex"]
projections = {{ claude = ".claude/commands/{id}.md", codex = ".codex/skills/{id}/SKILL.md" }}
{extra}"#
        )
        .expect("a string takes all");
    }
    text
}

#[divan::bench]
fn catalog_of_plain_entries(bencher: Bencher<'_, '_>) {
    let text = catalog(10_000, "");
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| Catalog::parse("tools.toml", Level::Project, text.as_bytes()));
}

/// Every entry has a dotted key, which is left to the toml crate.
#[divan::bench]
fn catalog_of_unusual_entries(bencher: Bencher<'_, '_>) {
    let text = catalog(10_000, "install.docs = \"https://example.org\"\n");
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| Catalog::parse("tools.toml", Level::Project, text.as_bytes()));
}

#[divan::bench]
fn toml_values_alone(bencher: Bencher<'_, '_>) {
    let text = catalog(10_000, "");
    bencher.counter(BytesCount::of_str(&text)).bench(|| toml::de::DeTable::parse(&text).is_ok());
}

#[divan::bench]
fn toml_events_alone(bencher: Bencher<'_, '_>) {
    let text = catalog(10_000, "");
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let tokens = toml_parser::Source::new(&text).lex().into_vec();
        let mut events = 0usize;
        toml_parser::parser::parse_document(
            &tokens,
            &mut |_: toml_parser::parser::Event| events += 1,
            &mut (),
        );
        events
    });
}
