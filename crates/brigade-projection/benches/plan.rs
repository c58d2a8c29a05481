//! Planning 10,000 projections: 1,000 tools for ten harnesses.

use std::collections::HashMap;

use brigade_catalog::{Family, Tool};
use brigade_core::Timestamp;
use brigade_projection::{
    Claims, Depth, Overwrite, SourceFacts, TargetFacts, ToolFacts, harnesses, plan, planned_writes,
};

fn main() {
    divan::main();
}

fn tools(family: Family) -> Vec<Tool> {
    let tool = |index: usize| {
        let mut tool = Tool::new(&format!("tool-{index:05}"), family).expect("a legal id");
        tool.description = Some("A tool that is here to be counted.".to_owned());
        tool.source_path = Some(format!("tools/tool-{index:05}.md"));
        tool.command = Some("python3 bin/hello.py".to_owned());
        for harness in &harnesses()[..10] {
            let place = harness.place_for(family).expect("every harness has a place for every family");
            tool.supported_harnesses.push(harness.name.to_owned());
            tool.projections.insert(harness.name.to_owned(), place.path_for(tool.id.as_str()));
        }
        tool
    };
    (0..1_000).map(tool).collect()
}

fn source() -> SourceFacts {
    SourceFacts::File("Do one thing, and say so.\n".repeat(40).into_bytes())
}

/// Prepares tools whose projections are all applied, or all missing.
fn bench(bencher: divan::Bencher<'_, '_>, family: Family, is_applied: bool) {
    let tools = tools(family);
    let claims = Claims::new("/project", &tools);
    let empty: Vec<_> = tools
        .iter()
        .map(|tool| ToolFacts::gather("/project", tool, &source(), |_| TargetFacts::Absent))
        .collect();
    let mut files: HashMap<String, Vec<u8>> = HashMap::new();
    if is_applied {
        let planned = planned_writes(&empty, &claims, Overwrite::Never, Timestamp::from_unix_micros(0));
        files.extend(planned.writes.into_iter().map(|write| (write.path, write.bytes)));
    }
    let look =
        |path: &str| files.get(path).map_or(TargetFacts::Absent, |bytes| TargetFacts::File(bytes.clone()));
    bencher.bench_local(|| {
        let claims = Claims::new("/project", &tools);
        let facts: Vec<_> =
            tools.iter().map(|tool| ToolFacts::gather("/project", tool, &source(), look)).collect();
        plan(&facts, &claims, Overwrite::Never, Depth::Full)
    });
}

#[divan::bench]
fn skills_current(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, Family::Skill, true);
}

#[divan::bench]
fn skills_missing(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, Family::Skill, false);
}

#[divan::bench]
fn scripts_current(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, Family::Script, true);
}
