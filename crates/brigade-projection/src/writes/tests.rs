use brigade_catalog::{Family, Tool};

use super::*;
use crate::facts::SourceFacts;
use crate::item::ProjectionStatus;
use crate::plan::plan;

const ROOT: &str = "/project";

fn tool(id: &str, targets: &[(&str, &str)]) -> Tool {
    let mut tool = Tool::new(id, Family::Skill).unwrap();
    for (harness, path) in targets {
        tool.supported_harnesses.push((*harness).to_owned());
        tool.projections.insert((*harness).to_owned(), (*path).to_owned());
    }
    tool
}

fn source() -> SourceFacts {
    SourceFacts::File(b"# Text".to_vec())
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

#[test]
fn written_projections_are_current() {
    let tool =
        tool("a", &[("claude", ".claude/skills/a/SKILL.md"), ("gemini", "a.toml"), ("cursor", "a.mdc")]);
    let claims = Claims::new(ROOT, [&tool]);
    let before = [ToolFacts::gather(ROOT, &tool, &source(), |_| TargetFacts::Absent)];
    let planned = planned_writes(&before, &claims, Overwrite::Never, now());
    assert_eq!((planned.writes.len(), planned.skipped.len(), planned.conflicts.len()), (3, 0, 0));
    assert!(planned.writes.iter().all(|write| write.mode == FileMode::New && write.before.is_none()));
    assert!(planned.writes[0].diff().starts_with("--- /dev/null\n+++ b/.claude/skills/a/SKILL.md\n"));

    let after = [ToolFacts::gather(ROOT, &tool, &source(), |path| {
        let write = planned.writes.iter().find(|write| write.path == path).unwrap();
        TargetFacts::File(write.bytes.clone())
    })];
    let items = plan(&after, &claims, Overwrite::Never, Depth::Full);
    assert!(items.iter().all(|item| item.status == ProjectionStatus::Current), "{items:?}");
    assert_eq!(planned_writes(&after, &claims, Overwrite::Force, now()).writes, []);
}

#[test]
fn unmanaged_files_are_kept_unless_forced() {
    let tool = tool("a", &[("claude", "a.md")]);
    let claims = Claims::new(ROOT, [&tool]);
    let facts = [ToolFacts::gather(ROOT, &tool, &source(), |_| TargetFacts::File(b"mine\n".to_vec()))];
    let planned = planned_writes(&facts, &claims, Overwrite::Never, now());
    assert_eq!((planned.writes.len(), planned.conflicts.len()), (0, 1));
    let planned = planned_writes(&facts, &claims, Overwrite::Force, now());
    let write = &planned.writes[0];
    assert_eq!((write.mode, write.before.as_deref()), (FileMode::Kept, Some(b"mine\n".as_slice())));
    assert!(write.diff().contains("\n-mine\n"), "{}", write.diff());
}

#[test]
fn a_shared_path_is_written_once() {
    let tool = tool("a", &[("amp", ".agents/skills/a/SKILL.md"), ("goose", ".agents/skills/a/SKILL.md")]);
    let facts = [ToolFacts::gather(ROOT, &tool, &source(), |_| TargetFacts::Absent)];
    let planned = planned_writes(&facts, &Claims::new(ROOT, [&tool]), Overwrite::Never, now());
    assert_eq!(planned.writes.len(), 1);
    assert_eq!(planned.skipped[0].reason, Some(ProjectionReason::SameFile));
}

#[test]
fn impossible_projections_are_skipped() {
    let tool = tool("a", &[("claude", "../a.md"), ("mcp", "a.json")]);
    let facts = [ToolFacts::gather(ROOT, &tool, &source(), |_| TargetFacts::Absent)];
    let planned = planned_writes(&facts, &Claims::default(), Overwrite::Force, now());
    let reasons: Vec<_> = planned.skipped.iter().map(|item| item.reason).collect();
    assert_eq!(reasons, [Some(ProjectionReason::OutsideWorkspace), Some(ProjectionReason::NoComment)]);
}
