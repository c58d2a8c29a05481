use brigade_catalog::{Family, Tool};

use super::*;
use crate::facts::{SourceFacts, TargetFacts, ToolFacts};
use crate::item::{Depth, Overwrite};
use crate::plan::{Claims, plan_tool};

fn items(root: &str, depth: Depth, overwrite: Overwrite, codex: &TargetFacts) -> Vec<ProjectionItem> {
    let mut tool = Tool::new("a", Family::Skill).unwrap();
    tool.supported_harnesses = ["claude", "codex", "pi"].map(str::to_owned).into();
    tool.projections.insert("claude".to_owned(), "a.md".to_owned());
    tool.projections.insert("codex".to_owned(), format!("{root}/b.md"));
    let source = SourceFacts::File(b"text".to_vec());
    let facts = ToolFacts::gather(root, &tool, &source, |path| {
        if path == "b.md" { codex.clone() } else { TargetFacts::Absent }
    });
    plan_tool(&facts, &Claims::default(), overwrite, depth)
}

#[test]
fn a_summary_counts_and_lists() {
    let items = items("/p", Depth::Status, Overwrite::Never, &TargetFacts::File(b"mine".to_vec()));
    let (summary, _) = summarise(&items);
    let expect = r#"{"counts":{"missing":2,"unmanaged":1},"projections":[{"action":"create","harness":"claude","projection_path":"a.md","status":"missing"},{"action":"conflict","harness":"codex","projection_path":"b.md","status":"unmanaged"},{"action":"skip","harness":"pi","projection_path":null,"status":"missing"}]}"#;
    assert_eq!(brigade_core::Json::Object(summary.to_members()).to_compact(), expect);
    let blocking: Vec<_> = blocking(&items).iter().map(|item| item.harness.as_str()).collect();
    assert_eq!(blocking, ["codex"]);
}

#[test]
fn the_fingerprint_does_not_depend_on_the_location() {
    let absent = TargetFacts::Absent;
    let mark = |root, depth, overwrite, codex| summarise(&items(root, depth, overwrite, codex)).1;
    let one = mark("/p", Depth::Status, Overwrite::Never, &absent);
    assert_eq!(one, mark("/elsewhere/q", Depth::Full, Overwrite::Force, &absent));
    let mine = TargetFacts::File(b"mine".to_vec());
    assert_ne!(one, mark("/p", Depth::Status, Overwrite::Never, &mine));
}
