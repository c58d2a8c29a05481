use brigade_catalog::Level;
use brigade_core::StoredFingerprint;

use super::*;

const CATALOG: &str = r#"
[[tool]]
id = "kept"
name = "Kept"
family = "skill"
supported_harnesses = ["claude", "codex"]
projections = { claude = ".claude/commands/kept.md" }

[[tool]]
id = "off"
name = "Off"
family = "skill"
enabled = false
supported_harnesses = ["claude"]
projections = { claude = ".claude/commands/off.md" }
"#;

fn file(tool_id: &str, harness: &str, body: &str) -> String {
    let fingerprint: StoredFingerprint = Fingerprint::of_bytes(body.as_bytes()).into();
    let header = Header {
        tool_id: tool_id.to_owned(),
        family: "skill".to_owned(),
        harness: harness.to_owned(),
        source_fingerprint: fingerprint.clone(),
        projection_fingerprint: fingerprint,
        generated_at: String::new(),
    };
    format!("{}{body}", header.line(crate::Comment::Html))
}

#[track_caller]
fn check(catalog: &str, path: &str, text: &str, expect: Option<(&str, &str)>) {
    let catalog = Catalog::parse("tools.toml", Level::Project, catalog.as_bytes());
    let found = orphans("/project", [FoundFile { path, bytes: text.as_bytes() }], &catalog);
    let codes = found.first().map(|orphan| (orphan.cause.reason().as_str(), orphan.prunable.as_str()));
    assert_eq!(codes, expect, "{path}");
}

#[test]
fn managed_files_that_no_tool_projects_are_orphans() {
    let written = |id: &str, harness: &str| file(id, harness, "text\n");
    check(CATALOG, ".claude/commands/kept.md", &written("kept", "claude"), None);
    check(CATALOG, ".claude/commands/kept.md", &written("gone", "claude"), None);
    check(CATALOG, "notes.md", "text\n", None);
    check(CATALOG, "gone.md", &written("gone", "claude"), Some(("tool-gone", "yes")));
    check(CATALOG, ".claude/commands/off.md", &written("off", "claude"), Some(("tool-disabled", "yes")));
    check(CATALOG, ".claude/kept.md", &written("kept", "claude"), Some(("moved", "yes")));
    check(CATALOG, ".codex/kept.md", &written("kept", "codex"), Some(("harness-dropped", "yes")));
    check(CATALOG, ".pi/kept.md", &written("kept", "pi"), Some(("harness-dropped", "yes")));
}

#[test]
fn an_edited_orphan_is_not_pruned() {
    let edited = format!("{}mine\n", file("gone", "claude", "text\n"));
    check(CATALOG, "gone.md", &edited, Some(("tool-gone", "edited")));
}

#[test]
fn nothing_is_pruned_while_the_catalog_is_broken() {
    let text = file("gone", "claude", "text\n");
    check("[[tool]\n", "gone.md", &text, Some(("tool-gone", "catalog-broken")));
    let broken = format!("{CATALOG}\n[[tool]]\nid = \"bad\"\nname = 3\nfamily = \"skill\"\n");
    check(&broken, "gone.md", &text, Some(("tool-gone", "catalog-broken")));
    check(&broken, "bad.md", &file("bad", "claude", "text\n"), None);
}
