use brigade_catalog::{Family, Tool};
use brigade_core::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::facts::SourceFacts;
use crate::header::Header;
use crate::render::{header_of, render};
use crate::writes::planned_writes;

const ROOT: &str = "/project";

fn tool(harness: &str, path: &str) -> Tool {
    let mut tool = Tool::new("simplify", Family::SlashCommand).unwrap();
    tool.name = "Simplify".to_owned();
    tool.description = Some("Portable simplify command placeholder.".to_owned());
    tool.source_path = Some("tools/simplify.md".to_owned());
    tool.supported_harnesses = vec![harness.to_owned()];
    if !path.is_empty() {
        tool.projections.insert(harness.to_owned(), path.to_owned());
    }
    tool
}

fn claude() -> Tool {
    tool("claude", ".claude/commands/simplify.md")
}

fn file(text: &str) -> TargetFacts {
    TargetFacts::File(text.as_bytes().to_vec())
}

fn source(text: &str) -> SourceFacts {
    SourceFacts::File(text.as_bytes().to_vec())
}

fn one(tool: &Tool, source: &SourceFacts, target: &TargetFacts, overwrite: Overwrite) -> ProjectionItem {
    let facts = ToolFacts::gather(ROOT, tool, source, |_| target.clone());
    let mut items = plan_tool(&facts, &Claims::new(ROOT, [tool]), overwrite, Depth::Full);
    assert_eq!(items.len(), 1);
    items.remove(0)
}

/// Returns what applying writes for a text.
fn projected(tool: &Tool, text: &str) -> String {
    let source = SourceText::new(text);
    let harness = &tool.supported_harnesses[0];
    let rendered = render(tool, harness, &tool.projections[harness], &source).unwrap();
    rendered.file(&header_of(tool, harness, &source, &rendered, Timestamp::from_unix_micros(0)))
}

#[track_caller]
fn check(tool: &Tool, text: &SourceFacts, target: &TargetFacts, status: &str, actions: [&str; 2]) {
    let found = [Overwrite::Never, Overwrite::Force].map(|overwrite| {
        let item = one(tool, text, target, overwrite);
        assert_eq!(item.status.as_str(), status, "{}", item.detail);
        item.action.as_str()
    });
    assert_eq!(found, actions);
}

#[test]
fn the_table_of_the_manual_holds() {
    let text = &source("# Simplify");
    check(&tool("claude", ""), text, &TargetFacts::Absent, "missing", ["skip", "skip"]);
    let tool = &claude();
    check(tool, text, &TargetFacts::Absent, "missing", ["create", "create"]);
    check(tool, text, &file("# Mine\n"), "unmanaged", ["conflict", "update"]);
    check(tool, text, &TargetFacts::File(vec![0xff, 0xfe]), "unmanaged", ["conflict", "update"]);
    let written = projected(tool, "# Simplify");
    check(tool, text, &file(&written), "current", ["skip", "skip"]);
    check(tool, text, &file(&format!("{written}mine\n")), "conflicted", ["conflict", "update"]);
    check(tool, &source("# New"), &file(&written), "stale", ["update", "update"]);
    check(tool, &source("# New"), &file(&format!("{written}mine\n")), "conflicted", ["conflict", "update"]);
    for problem in [
        SourceFacts::NotConfigured,
        SourceFacts::Absent,
        SourceFacts::Unreadable,
        SourceFacts::File(vec![0xff]),
        SourceFacts::Refused(PathRefusal::OutsideWorkspace),
    ] {
        check(tool, &problem, &file(&written), "missing_source", ["skip", "skip"]);
        check(tool, &problem, &TargetFacts::Absent, "missing_source", ["skip", "skip"]);
    }
}

#[test]
fn unwritable_targets_are_invalid_with_a_reason() {
    let check = |tool: &Tool, target: TargetFacts, reason: &str| {
        for overwrite in [Overwrite::Never, Overwrite::Force] {
            let item = one(tool, &source("a"), &target, overwrite);
            assert_eq!((item.status, item.action), (ProjectionStatus::Invalid, ProjectionAction::Skip));
            assert_eq!(item.reason.map(ProjectionReason::as_str), Some(reason));
        }
    };
    check(&tool("claude", "../a.md"), TargetFacts::Absent, "outside-workspace");
    check(&tool("claude", ".git/hooks/post-commit"), TargetFacts::Absent, "in-git");
    check(&tool("claude", ".brigade/a.md"), TargetFacts::Absent, "in-brigade");
    check(&tool("claude", "a.json"), TargetFacts::Absent, "no-comment");
    check(&tool("claude", "a.json"), file("{}"), "no-comment");
    check(&claude(), TargetFacts::Directory, "is-directory");
    check(&claude(), TargetFacts::Unreadable, "unreadable");
    check(&claude(), TargetFacts::Refused(PathRefusal::SymlinkOut), "symlink-out");
    check(&claude(), TargetFacts::Refused(PathRefusal::ParentIsFile), "parent-is-file");
    let mut broken = claude();
    broken.is_broken = true;
    check(&broken, TargetFacts::Absent, "broken-entry");
}

/// The written text is the same for every user, so a bound value cannot be masked.
#[test]
fn a_text_with_a_bound_value_is_not_projected() {
    let plain = claude();
    let bound = Tool { masks: brigade_catalog::Masks::new(&["Zq7tail".into()]), ..plain.clone() };
    let written = projected(&plain, "# Of Zq7tail");
    for (text, target) in [
        ("# Of Zq7tail", TargetFacts::Absent),
        ("# Of Zq7tail", file(&written)),
        ("# Of Zq7tail", file("# Mine")),
    ] {
        let item = one(&bound, &source(text), &target, Overwrite::Force);
        assert_eq!((item.action, item.reason), (ProjectionAction::Skip, Some(ProjectionReason::BoundValue)));
    }
    let values = ["Zq7tail", "Zq8tail", "ab", "Sim"].map(|value| (format!("LABEL_{value}"), value.into()));
    let labelled = Tool { masks: brigade_catalog::Masks::labelled(values.to_vec()), ..plain.clone() };
    for (text, detail) in [
        ("# Of Zq7tail", "the value of `LABEL_Zq7tail`, which"),
        ("# Of Zq8tail and Zq7tail", "the values of `LABEL_Zq7tail`, `LABEL_Zq8tail`, which"),
    ] {
        let item = one(&labelled, &source(text), &TargetFacts::Absent, Overwrite::Force);
        assert!(item.detail.contains(detail), "{}", item.detail);
    }
    // A value that also occurs in harmless text does not block the projection.
    assert_eq!(one(&labelled, &source("# Sim ab"), &TargetFacts::Absent, Overwrite::Never).reason, None);
    let other = projected(&plain, "# Simplify");
    check(&bound, &source("# Simplify"), &file(&other), "current", ["skip", "skip"]);
    check(&plain, &source("# Of Zq7tail"), &file(&written), "current", ["skip", "skip"]);
}

#[test]
fn refused_paths_are_not_looked_up() {
    let tool = tool("claude", "../secret");
    ToolFacts::gather(ROOT, &tool, &source("a"), |path| panic!("asked for {path}"));
}

#[test]
fn files_of_v030_are_current() {
    let header = |projection: &str, source: &str, harness: &str| {
        format!(
            "brigade-tool-projection: {{\"family\":\"slash-command\",\"generated_at\":\"2026-11-21T22:22:38.526939+00:00\",\
             \"harness\":\"{harness}\",\"projection_fingerprint\":\"{projection}\",\
             \"source_fingerprint\":\"{source}\",\"tool_id\":\"simplify\"}}"
        )
    };
    let short = |text: &str| Fingerprint::of_bytes(text.as_bytes()).short();

    let text = "# Simplify\n";
    let cursor = tool("cursor", ".cursor/commands/simplify.md");
    let written = format!("<!-- {} -->\n{text}", header(&short(text), &short(text), "cursor"));
    check(&cursor, &source(text), &file(&written), "current", ["skip", "skip"]);
    check(&cursor, &source(text), &file(&written.replace('\n', "\r\n")), "current", ["skip", "skip"]);
    check(&cursor, &source("# New\n"), &file(&written), "stale", ["update", "update"]);
    // An earlier version wrote this command without a description. It counts as current and is rewritten on a change or
    // by force.
    let written = format!("<!-- {} -->\n{text}", header(&short(text), &short(text), "claude"));
    check(&claude(), &source(text), &file(&written), "current", ["skip", "update"]);
    let advice = one(&claude(), &source(text), &file(&written), Overwrite::Never).advice;
    assert_eq!(advice.iter().map(|advice| advice.code.as_str()).collect::<Vec<_>>(), ["header-misplaced"]);
    check(&claude(), &source("# New\n"), &file(&written), "stale", ["update", "update"]);
    check(&claude(), &source(text), &file(&format!("{written}mine\n")), "conflicted", ["conflict", "update"]);
    let front = "---\ndescription: d\n---\n# Simplify\n";
    let written = format!("<!-- {} -->\n{front}", header(&short(front), &short(front), "claude"));
    check(&claude(), &source(front), &file(&written), "current", ["skip", "update"]);

    let codex = tool("codex", ".codex/skills/simplify/SKILL.md");
    let front =
        "name: \"simplify\"\ndescription: \"Portable simplify command placeholder.\"\n---\n# Simplify\n";
    let body = format!("---\n{front}");
    let written = format!("---\n# {}\n{front}", header(&short(&body), &short(text), "codex"));
    check(&codex, &source(text), &file(&written), "current", ["skip", "skip"]);
}

#[test]
fn a_description_beyond_ascii_is_written_as_v030_does() {
    let mut codex = tool("codex", ".codex/skills/simplify/SKILL.md");
    codex.description = Some("Grüße  \"an\"\nalle".to_owned());
    let written = projected(&codex, "x");
    assert!(written.contains("\ndescription: \"Gr\\u00fc\\u00dfe \\\"an\\\" alle\"\n"), "{written}");
}

#[test]
fn a_misplaced_header_is_moved_when_forced() {
    let text = "---\nname: a\n---\nbody\n";
    let hash = Fingerprint::of_bytes(text.as_bytes()).short();
    let written = format!(
        "<!-- brigade-tool-projection: {{\"family\":\"skill\",\"harness\":\"claude\",\"projection_fingerprint\":\"{hash}\",\
         \"source_fingerprint\":\"{hash}\",\"tool_id\":\"simplify\"}} -->\n{text}"
    );
    check(&claude(), &source(text), &file(&written), "current", ["skip", "update"]);
    let item = one(&claude(), &source(text), &file(&written), Overwrite::Never);
    assert_eq!(
        item.advice.iter().map(|advice| advice.code.as_str()).collect::<Vec<_>>(),
        ["header-misplaced"]
    );
    let item = one(&claude(), &source(text), &file(&projected(&claude(), text)), Overwrite::Never);
    assert_eq!(item.advice, []);
}

#[test]
fn an_edited_projection_of_another_tool_is_kept() {
    let mut old = claude();
    old.id = "older".parse().unwrap();
    let written = projected(&old, "# Simplify");
    check(&claude(), &source("# Simplify"), &file(&written), "stale", ["update", "update"]);
    check(
        &claude(),
        &source("# Simplify"),
        &file(&format!("{written}x")),
        "conflicted",
        ["conflict", "update"],
    );
}

#[test]
fn a_path_belongs_to_the_first_tool_that_wants_it() {
    let first = claude();
    let mut second = tool("opencode", "./.claude//commands/simplify.md");
    second.id = "second".parse().unwrap();
    let mut disabled = claude();
    disabled.id = "disabled".parse().unwrap();
    disabled.enabled = false;
    let claims = Claims::new(ROOT, [&disabled, &first, &second]);
    assert_eq!(claims.holder(".claude/commands/simplify.md"), Some("simplify"));
    let facts: Vec<ToolFacts<'_>> = [&first, &second]
        .map(|tool| ToolFacts::gather(ROOT, tool, &source("a"), |_| TargetFacts::Absent))
        .into();
    let found = plan(&facts, &claims, Overwrite::Never, Depth::Status);
    let states: Vec<_> = found.iter().map(|item| (item.status.as_str(), item.reason)).collect();
    assert_eq!(states, [("missing", None), ("invalid", Some(ProjectionReason::PathTaken))]);
}

#[test]
fn paths_that_differ_in_case_get_advice() {
    let check = |paths: &[&str], expect: &[Option<&str>]| {
        let tools: Vec<Tool> = paths.iter().map(|path| tool("claude", path)).collect();
        let claims = Claims::new(ROOT, &tools);
        let alike: Vec<_> = paths.iter().map(|path| claims.alike(path)).collect();
        assert_eq!(alike, expect, "{paths:?}");
    };
    check(&["a/x.md", "a/y.md", "a/x.md"], &[None; 3]);
    check(&["a/x.md", "a/X.md", "A/x.md"], &[None, Some("a/x.md"), Some("a/x.md")]);
    check(&["a/X.md", "a/x.md", "A/X.md"], &[None, Some("a/X.md"), Some("a/X.md")]);
    check(&["a/X.md", "A/x.md", "a/x.md"], &[None, Some("a/X.md"), Some("a/X.md")]);
}

#[test]
fn targets_are_the_supported_harnesses_in_order() {
    let mut tool = tool("pi", "");
    tool.supported_harnesses = ["codex", "claude", "pi", "codex"].map(str::to_owned).into();
    tool.projections.insert("claude".to_owned(), "a.md".to_owned());
    tool.projections.insert("codex".to_owned(), "b.md".to_owned());
    tool.projections.insert("zed".to_owned(), "c.md".to_owned());
    let facts = ToolFacts::gather(ROOT, &tool, &source("a"), |_| TargetFacts::Absent);
    let items = plan_tool(&facts, &Claims::default(), Overwrite::Never, Depth::Status);
    let harnesses: Vec<_> = items.iter().map(|item| (item.harness.as_str(), item.action.as_str())).collect();
    assert_eq!(harnesses, [("codex", "create"), ("claude", "create"), ("pi", "skip")]);
}

#[test]
fn only_a_full_plan_renders_missing_files() {
    let tool = tool("cursor", ".cursor/commands/simplify.md");
    let facts = ToolFacts::gather(ROOT, &tool, &source("a"), |_| TargetFacts::Absent);
    let expected =
        |depth| plan_tool(&facts, &Claims::default(), Overwrite::Never, depth)[0].expected_fingerprint;
    assert_eq!(expected(Depth::Status), None);
    assert_eq!(expected(Depth::Full), Some(Fingerprint::of_bytes(b"a\n")));
}

proptest! {
    #[test]
    fn applied_files_are_current_and_edits_conflict(
        text in any::<String>(),
        path in prop::sample::select(vec!["a.md", "s/a/SKILL.md", "a.mdc", "a.toml", "a.py", "a.css"]),
        position in any::<prop::sample::Index>(),
        edit in "[a-z #-]{1,5}",
    ) {
        let tool = tool("claude", path);
        let written = projected(&tool, &text);
        let item = one(&tool, &source(&text), &file(&written), Overwrite::Never);
        prop_assert_eq!(item.status, ProjectionStatus::Current, "{}", item.detail);
        prop_assert_eq!(item.expected_fingerprint, item.actual_fingerprint);

        // Any insertion after the header line is a local edit.
        let (_, body) = Header::read(written.as_bytes()).unwrap();
        let header_end = written.find("projection: {").map(|at| at + written[at..].find('\n').unwrap() + 1).unwrap();
        let mut at = header_end + position.index(written.len() - header_end + 1);
        while !written.is_char_boundary(at) {
            at += 1;
        }
        let edited = format!("{}{edit}{}", &written[..at], &written[at..]);
        let item = one(&tool, &source(&text), &file(&edited), Overwrite::Never);
        if Header::read(edited.as_bytes()).is_some_and(|(_, found)| found != body) {
            prop_assert_eq!(item.status, ProjectionStatus::Conflicted);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), text in any::<Vec<u8>>(), path in "[a-z.]{1,4}(/[a-zA-Z.~]{1,9}){0,2}|.{1,12}") {
        let tool = tool("claude", &path);
        let facts = [ToolFacts::gather(ROOT, &tool, &SourceFacts::File(text), |_| TargetFacts::File(bytes.clone()))];
        let now = Timestamp::from_unix_micros(0);
        for write in planned_writes(&facts, &Claims::default(), Overwrite::Force, now).writes {
            prop_assert!(Header::read(&write.bytes).is_some());
            let _ = write.diff();
        }
    }
}

#[test]
fn inputs_of_tools_are_never_written() {
    let mut reader = Tool::new("reader", Family::Script).unwrap();
    reader.enabled = false;
    reader.source_path = Some("./docs/../b.md".to_owned());
    reader.examples_path = Some("examples.md".to_owned());
    reader.command = Some("python3 -u bin/x.py notes.md".to_owned());
    reader.cwd = Some("sub".to_owned());
    for (path, expect) in [
        ("tools/simplify.md", Some("the source of the tool simplify")),
        ("b.md", Some("the source of the tool reader")),
        ("examples.md", Some("the file of examples of the tool reader")),
        ("sub/bin/x.py", Some("the program of the tool reader")),
        ("bin/x.py", None),
        ("sub/notes.md", None),
        (".claude/commands/simplify.md", None),
    ] {
        let tool = tool("claude", path);
        let claims = Claims::new(ROOT, [&tool, &reader]);
        let facts = ToolFacts::gather(ROOT, &tool, &source("a"), |_| TargetFacts::File(b"b".to_vec()));
        let item = plan_tool(&facts, &claims, Overwrite::Force, Depth::Full).remove(0);
        assert_eq!(
            item.reason == Some(ProjectionReason::IsInput),
            expect.is_some(),
            "{path}: {}",
            item.detail
        );
        assert!(item.detail.contains(expect.unwrap_or_default()), "{path}: {}", item.detail);
        assert_eq!(input_among(ROOT, [&tool, &reader], path).is_some(), expect.is_some(), "{path}");
    }
}

#[test]
fn a_tool_with_an_outside_path_is_not_projected() {
    let tool = claude();
    let facts = ToolFacts::gather(ROOT, &tool, &source("a"), |_| TargetFacts::Absent);
    let facts = facts.leading_out(Some("cwd"));
    let item = plan_tool(&facts, &Claims::new(ROOT, [&tool]), Overwrite::Force, Depth::Full).remove(0);
    assert_eq!((item.status.as_str(), item.reason), ("invalid", Some(ProjectionReason::PathOutside)));
}
