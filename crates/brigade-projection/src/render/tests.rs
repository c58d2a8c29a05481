use brigade_core::Fingerprint;
use proptest::prelude::*;

use super::*;
use crate::HarnessPlace;

fn tool(family: Family) -> Tool {
    let mut tool = Tool::new("tidy-up", family).unwrap();
    tool.name = "Tidy up".to_owned();
    tool.description = Some("Tidies \"everything\"\n up.".to_owned());
    tool.source_path = Some("tools/tidy-up.md".to_owned());
    tool
}

fn header() -> Header {
    let fingerprint = Fingerprint::of_bytes(b"");
    Header {
        tool_id: "tidy-up".to_owned(),
        family: "skill".to_owned(),
        harness: "codex".to_owned(),
        source_fingerprint: fingerprint.into(),
        projection_fingerprint: fingerprint.into(),
        generated_at: "2026-01-01T00:00:00+00:00".to_owned(),
    }
}

/// Checks the body, and the number and the start of the header line.
#[track_caller]
fn check(harness: &str, path: &str, source: &str, body: &str, line: usize, open: &str) {
    let rendered = render(&tool(Family::Skill), harness, path, &SourceText::new(source)).unwrap();
    assert_eq!(rendered.body(), body);
    assert_eq!(rendered.fingerprint(), Fingerprint::of_bytes(body.as_bytes()));
    let file = rendered.file(&header());
    let found = file.lines().nth(line - 1).unwrap();
    assert!(found.starts_with(&format!("{open} brigade-tool-projection: {{")), "{file}");
}

#[test]
fn a_command_is_its_source_with_a_final_newline() {
    check("cursor", ".cursor/commands/tidy-up.md", "# Tidy", "# Tidy\n", 1, "<!--");
    check("cursor", ".cursor/commands/tidy-up.md", "", "\n", 1, "<!--");
    check("cursor", ".cursor/commands/tidy-up.md", "a\r\n\r\n\r\n", "a\n\n\n", 1, "<!--");
    check("cursor", ".cursor/commands/tidy-up.md", "\u{feff}a", "a\n", 1, "<!--");
}

#[test]
fn a_shown_description_is_added_to_a_command() {
    let head = "---\ndescription: \"Tidies \\\"everything\\\" up.\"\n---\n";
    let places = crate::harnesses().iter().flat_map(|harness| {
        let shows = |place: &&HarnessPlace| place.front_matter.iter().any(|field| field.key == "description");
        let commands = |place: &&HarnessPlace| {
            place.format == PlaceFormat::Markdown
                && !place.front_matter.iter().any(FrontMatterField::is_required)
        };
        harness.places.iter().filter(shows).filter(commands).map(|place| (harness.name, place))
    });
    let mut names = Vec::new();
    for (harness, place) in places {
        let path = place.path_for("tidy-up");
        check(harness, &path, "# Tidy\n", &format!("{head}# Tidy\n"), 2, "#");
        // Existing front matter is kept.
        let own = "---\nmodel: small\n---\n# Tidy\n";
        check(harness, &path, own, own, 2, "#");
        names.push(harness);
    }
    for name in ["claude", "opencode", "pi", "qwen", "copilot", "antigravity"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn front_matter_stays_on_line_one_for_every_harness() {
    let source = "---\nname: tidy-up\ndescription: d\nalwaysApply: false\ninvokable: true\n---\ntext\n";
    for harness in crate::harnesses() {
        for place in harness.places.iter().filter(|place| place.format != PlaceFormat::TomlCommand) {
            check(harness.name, &place.path_for("tidy-up"), source, source, 2, "#");
        }
    }
    check("unknown", "docs/tidy-up.md", source, source, 2, "#");
}

#[test]
fn a_skill_without_front_matter_gets_one() {
    let head = "---\nname: \"tidy-up\"\ndescription: \"Tidies \\\"everything\\\" up.\"\n---\n";
    for harness in crate::harnesses() {
        for place in harness.places.iter().filter(|place| place.format == PlaceFormat::AgentSkill) {
            check(harness.name, &place.path_for("tidy-up"), "# Tidy\n", &format!("{head}# Tidy\n"), 2, "#");
        }
    }
    check("unknown", "x/tidy-up/SKILL.md", "# Tidy\n", &format!("{head}# Tidy\n"), 2, "#");
}

#[test]
fn the_name_of_a_skill_is_its_directory() {
    let body = "---\nname: \"other\"\ndescription: \"Tidies \\\"everything\\\" up.\"\n---\na\n";
    check("claude", ".claude/skills/other/SKILL.md", "a\n", body, 2, "#");
    let body = "---\nname: \"tidy-up\"\ndescription: d\n---\na\n";
    check("claude", ".claude/skills/tidy-up/SKILL.md", "---\ndescription: d\n---\na\n", body, 2, "#");
    let body = "---\nname: \"tidy-up\"\ndescription: \"Tidies \\\"everything\\\" up.\"\n---\na\n";
    check("claude", "SKILL.md", "a\n", body, 2, "#");
}

#[test]
fn front_matter_is_adjusted_to_the_skill_format() {
    #[track_caller]
    fn check(folder: &str, source: &str, front: &str, expect: &[&str]) {
        let path = format!(".claude/skills/{folder}/SKILL.md");
        let rendered = render(&tool(Family::Skill), "claude", &path, &SourceText::new(source)).unwrap();
        assert_eq!(rendered.body(), format!("---\n{front}---\nname: text\n"));
        assert_eq!(rendered.advice.iter().map(|advice| advice.code.as_str()).collect::<Vec<_>>(), expect);
    }
    let source = |front: &str| format!("---\n{front}---\nname: text\n");
    let kept = "name: tidy-up\ndescription: d\nlicense: MIT\n";
    check("tidy-up", &source(kept), kept, &[]);
    let named = "license: MIT\nname: \"tidy-up\"\ndescription: d\n";
    check("tidy-up", &source("license: MIT\nname: Tidy Up\ndescription: d\n"), named, &["skill-name"]);
    let folded = "name: >\n  Tidy\n  Up\ndescription: d\n";
    check("tidy-up", &source(folded), folded, &["skill-name"]);
    let split = "name: tidy-up\ndescription: \"a --\\u002d b\"\n";
    check("tidy-up", &source("name: tidy-up\ndescription: a --- b\n"), split, &["skill-description"]);
    let colon = "name: tidy-up\ndescription: \"use: now\"\n";
    check("tidy-up", &source("name: tidy-up\ndescription: use: now\n"), colon, &["skill-description"]);
    let open = "name: [unclosed\ndescription: d\n";
    let closed = "name: \"tidy-up\"\ndescription: d\n";
    check("tidy-up", &source(open), closed, &["skill-name"]);
    let broken = "name: tidy-up\ndescription: d\ntools: [unclosed\n";
    check("tidy-up", &source(broken), broken, &["skill-front-matter", "skill-field"]);
    let listed = "name: tidy-up\ndescription: d\nallowed-tools: [Read]\n";
    check("tidy-up", &source(listed), listed, &["skill-flow-style"]);
    let titled = "name: tidy-up\ndescription: d\ntitle: T\n";
    check("tidy-up", &source(titled), titled, &["skill-field"]);
    let odd = "name: Tidy_Up\ndescription: d\n";
    check("Tidy_Up", &source(odd), odd, &["skill-folder"]);
    let long = format!("name: tidy-up\ndescription: {}\n", "x".repeat(1025));
    let cut = format!("name: tidy-up\ndescription: \"{}\\u2026\"\n", "x".repeat(1023));
    check("tidy-up", &source(&long), &cut, &["skill-description"]);
}

#[test]
fn a_description_fits_the_format() {
    let mut tool = tool(Family::Skill);
    tool.description = Some("ä ".repeat(2000));
    assert!(description(&tool).chars().count() <= MAX_DESCRIPTION_LEN);
    assert!(description(&tool).ends_with('…'));
    tool.description = Some(" \n".to_owned());
    assert!(description(&tool).contains("tidy-up"));
}

#[test]
fn rules_and_prompts_get_required_front_matter() {
    let body = "---\ndescription: \"Tidies \\\"everything\\\" up.\"\nalwaysApply: false\n---\na\n";
    check("cursor", ".cursor/rules/tidy-up.mdc", "a\n", body, 2, "#");
    let body =
        "---\nname: \"Tidy up\"\ndescription: \"Tidies \\\"everything\\\" up.\"\ninvokable: true\n---\na\n";
    check("continue", ".continue/prompts/tidy-up.md", "a\n", body, 2, "#");
    let body = "description = \"Tidies \\\"everything\\\" up.\"\nprompt = '''\nDo {{args}}\n'''\n";
    check("gemini", ".gemini/commands/tidy-up.toml", "Do $ARGUMENTS\n", body, 1, "#");
    check("qwen", ".qwen/commands/tidy-up.toml", "Do $ARGUMENTS\n", body, 1, "#");
}

#[test]
fn source_code_is_written_as_it_is() {
    check("scripts", "scripts/tidy-up.sh", "#!/bin/sh\ntidy\n", "#!/bin/sh\ntidy\n", 2, "#");
    check("scripts", "scripts/tidy-up.toml", "a = 1\n", "a = 1\n", 1, "#");
    check("scripts", "scripts/tidy-up.ts", "let a;\n", "let a;\n", 1, "//");
    check("scripts", "scripts/tidy-up", "#!/bin/sh\n", "#!/bin/sh\n", 2, "#");
}

#[test]
fn toml_sources_are_not_wrapped_again() {
    let mut tool = tool(Family::SlashCommand);
    tool.source_path = Some("tools/tidy-up.toml".to_owned());
    let source = SourceText::new("prompt = 'Tidy'\n");
    let rendered = render(&tool, "gemini", ".gemini/commands/tidy-up.toml", &source).unwrap();
    assert_eq!(rendered.body(), "prompt = 'Tidy'\n");
}

#[test]
fn active_text_in_a_toml_command_gets_advice() {
    let path = ".gemini/commands/tidy-up.toml";
    let advice = |text: &str| {
        let rendered = render(&tool(Family::SlashCommand), "gemini", path, &SourceText::new(text)).unwrap();
        rendered.advice.iter().map(|advice| advice.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(advice("Say `println!{}`."), ["command-injection"]);
    assert_eq!(advice("Say hello."), [""; 0]);
}

#[test]
fn a_page_in_a_program_is_comments() {
    let source = SourceText::new("text */\n");
    for (path, open) in [("scripts/a.py", "#"), ("scripts/a.js", "//"), ("scripts/a.css", "/*")] {
        let rendered = render(&tool(Family::Script), "scripts", path, &source).unwrap();
        assert!(rendered.body().lines().all(|line| line.starts_with(open)), "{}", rendered.body());
        assert_eq!(rendered.body().matches("*/").count() > 1, open == "/*", "{}", rendered.body());
    }
}

#[test]
fn nothing_is_rendered_for_a_format_without_comments() {
    let render = |path| render(&tool(Family::Skill), "mcp", path, &SourceText::new("{}"));
    assert_eq!(render(".mcp.json"), Err(RenderError::NoComment));
    assert_eq!(render("a/b.JSON"), Err(RenderError::NoComment));
    let mut broken = tool(Family::Skill);
    broken.family = None;
    assert_eq!(super::render(&broken, "mcp", "a.md", &SourceText::new("")), Err(RenderError::NoFamily));
}

#[test]
fn lossiness_depends_on_harness_and_path() {
    let check = |family, harness: &str, path: &str, source: &str, expect| {
        let tool = tool(family);
        let rendered = render(&tool, harness, path, &SourceText::new(source)).unwrap();
        let (found, advice) = lossiness(&tool, harness, path, Some(&rendered));
        assert_eq!((found, advice.map(|advice| advice.code.as_str())), expect, "{harness} {path}");
    };
    let native = (Some(Lossiness::Native), None);
    let adapted = (Some(Lossiness::Adapted), None);
    let reference = (Some(Lossiness::ReferenceOnly), None);
    let skill = "---\nname: tidy-up\ndescription: d\n---\n";
    check(Family::SlashCommand, "claude", ".claude/commands/tidy-up.md", "---\na: b\n---\na", native);
    check(Family::SlashCommand, "claude", ".claude/commands/tidy-up.md", "a", adapted);
    check(Family::Skill, "claude", ".claude/skills/tidy-up/SKILL.md", skill, native);
    check(Family::Skill, "claude", ".claude/skills/tidy-up/SKILL.md", "a", adapted);
    check(Family::SlashCommand, "codex", ".codex/skills/tidy-up/SKILL.md", skill, adapted);
    check(Family::SlashCommand, "gemini", ".gemini/commands/tidy-up.toml", "a", adapted);
    check(Family::Script, "claude", ".claude/skills/tidy-up/SKILL.md", "a", reference);
    check(Family::Skill, "scripts", "scripts/tidy-up.md", "a", reference);
    check(
        Family::Skill,
        "cursor",
        ".cursor/rules/a.md",
        "a",
        (Some(Lossiness::ReferenceOnly), Some("not-read")),
    );
    check(Family::Skill, "aider", ".aider/commands/a.md", "a", (None, None));
}

#[test]
fn a_chosen_path_that_is_not_read_gets_advice() {
    let weight =
        |path: &str| lossiness(&tool(Family::Skill), "cursor", path, None).1.map(|advice| advice.weight);
    assert_eq!(weight(".cursor/rules/a.md"), Some(AdviceWeight::Remark));
    assert_eq!(weight("docs/a.md"), Some(AdviceWeight::NotRead));
    assert_eq!(weight(".cursor/rules/a.mdc"), None);
}

proptest! {
    #[test]
    fn every_rendering_reads_back(
        family in prop::sample::select(Family::of_entries().collect::<Vec<_>>()),
        source in prop::sample::select(vec!["", "---\n", "---\nname: x\n---\n", "#!/bin/sh\n", "a\r\nb", "# coding: x\n"]),
        more in any::<String>(),
        description in any::<String>(),
        path in prop::sample::select(vec![
            "a.md", "s/a/SKILL.md", "a.mdc", "a.mdx", ".gemini/commands/a.toml", "a.yaml", "a.py", "a", "a.ts", "a.css", "a.sql",
            "a.html", "a.ini", "Dockerfile", ".continue/rules/a.md", "a.bat", "a.tex", "a.vim",
        ]),
        harness in prop::sample::select(vec!["claude", "gemini", "continue", "unknown"]),
    ) {
        let mut tool = tool(family);
        tool.description = Some(description);
        let source = SourceText::new(&format!("{source}{more}"));
        let rendered = render(&tool, harness, path, &source).unwrap();
        let header = header_of(&tool, harness, &source, &rendered, Timestamp::from_unix_micros(1));
        let file = rendered.file(&header);
        let (found, body) = Header::read(file.as_bytes()).expect("the header is found");
        prop_assert_eq!(found, header);
        prop_assert_eq!(body.as_str(), rendered.body());
        prop_assert!(body.ends_with('\n'));
        if path.ends_with("SKILL.md") || path.ends_with(".mdc") {
            prop_assert!(file.starts_with("---\n# brigade-tool-projection: "));
        }
    }
}
