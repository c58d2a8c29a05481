#![allow(clippy::disallowed_methods, reason = "tests set up files themselves")]

use std::fs;

use brigade_core::Exit;
use brigade_ops::{Ignore, OnExisting, SourceAction};
use brigade_workspace::load;
use tempfile::TempDir;

use super::*;
use crate::env::Env;
use crate::report::Report as _;
use crate::workspace::Workspace;

const REQUEST: DefaultsRequest =
    DefaultsRequest { dry_run: false, existing: OnExisting::Keep, ignore: Ignore::Write };

fn sample(catalog: Option<&str>) -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".brigade")).unwrap();
    if let Some(text) = catalog {
        fs::write(folder.path().join(".brigade/tools.toml"), text).unwrap();
    }
    let workspace = Workspace::open(folder.path(), Env::of_process()).unwrap();
    (folder, workspace)
}

/// Adds the built-in tools, which is refused. Returns the report and the exit code.
#[track_caller]
fn refused(workspace: &Workspace) -> (DefaultsReport, Exit) {
    let error = workspace.catalog().defaults(REQUEST).unwrap_err();
    let Some(Refusal::Defaults(report)) = error.refusal() else { panic!("{error:?}") };
    assert_eq!(error.blockers().len(), report.defaults.errors.len() + report.defaults.conflicts.len());
    (DefaultsReport::clone(report), error.exit())
}

fn catalog(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join(".brigade/tools.toml")).unwrap()
}

#[test]
fn built_in_tools_are_added_once_and_comments_stay() {
    let own = "# mine\n[[tool]]\nid = \"own\" # keep\nname = \"Own\"\nfamily = \"skill\"\n";
    let (folder, workspace) = sample(Some(own));
    let report = workspace.catalog().defaults(REQUEST).unwrap();
    assert_eq!(report.defaults.added, ["simplify", "superpowers", "frontend", "antislop"]);
    assert_eq!(
        (report.defaults.tool_count, report.defaults.source_created_count, report.defaults.created),
        (5, 4, false)
    );
    assert_eq!(report.defaults.gitignore, "created (.gitignore)");
    let text = catalog(&folder);
    assert!(text.starts_with(own), "{text}");
    let again = workspace.catalog().defaults(REQUEST).unwrap();
    assert_eq!(
        (again.defaults.added.len(), again.defaults.skipped.len(), again.defaults.source_skipped_count),
        (0, 4, 4)
    );
    assert_eq!(again.defaults.gitignore, "skipped");
    assert_eq!(catalog(&folder), text);
}

#[test]
fn a_dry_run_writes_nothing() {
    let (folder, workspace) = sample(None);
    let report = workspace.catalog().defaults(DefaultsRequest { dry_run: true, ..REQUEST }).unwrap();
    assert_eq!((report.defaults.created, report.defaults.added.len(), report.exit()), (true, 4, Exit::Done));
    assert!(report.defaults.sources.iter().all(|source| source.action == SourceAction::WouldCreate));
    assert_eq!(fs::read_dir(folder.path().join(".brigade")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn another_tool_of_the_same_id_stops_everything_until_forced() {
    let own = "[[tool]]\nid = \"simplify\"\nname = \"Mine\" # mine\nfamily = \"skill\"\nsource_path = \"mine.md\"\n";
    let (folder, workspace) = sample(Some(own));
    let (report, exit) = refused(&workspace);
    assert_eq!((report.defaults.conflicts.len(), exit, report.defaults.valid), (1, Exit::Refused, false));
    assert_eq!(report.defaults.added, ["superpowers", "frontend", "antislop"], "what would have been added");
    assert_eq!(report.defaults.conflicts[0].existing_source_path.as_deref(), Some("mine.md"));
    assert_eq!(catalog(&folder), own);
    assert!(!folder.path().join("tools").exists());
    let report =
        workspace.catalog().defaults(DefaultsRequest { existing: OnExisting::Overwrite, ..REQUEST }).unwrap();
    assert_eq!(
        (report.defaults.updated.len(), report.defaults.added.len(), report.exit()),
        (1, 3, Exit::Done)
    );
    assert!(catalog(&folder).contains("# mine"));
}

#[test]
fn old_entry_gains_harnesses_and_keeps_edits() {
    let old = format!(
        "[[tool]]\nid = \"simplify\"\nname = \"Mine\" # mine\nfamily = \"slash-command\"\ndescription = \"old\"\n\
         source_path = \"tools/simplify.md\"\nsupported_harnesses = [\"own\", \"claude\", {}]\n\
         projections = {{ claude = \".claude/commands/other.md\" }}\n",
        "codex opencode antigravity pi cursor aider goose continue copilot qwen kimi adal openhands hermes openclaw \
         mcp scripts"
            .split(' ')
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let (folder, workspace) = sample(Some(&old));
    let report = workspace.catalog().defaults(REQUEST).unwrap();
    assert_eq!(
        (report.defaults.valid, &report.defaults.updated[..], report.defaults.added.len()),
        (true, &["simplify".to_owned()][..], 3)
    );
    let catalog = load::catalog(&workspace.inner).unwrap();
    let tool = catalog.tool("simplify").unwrap();
    assert_eq!((tool.name.as_str(), tool.description.as_deref()), ("Mine", Some("old")));
    assert_eq!(tool.supported_harnesses[..2], ["own", "claude"]);
    assert_eq!(tool.supported_harnesses.len(), 22);
    assert_eq!(
        (tool.projections.len(), tool.projections["claude"].as_str()),
        (21, ".claude/commands/other.md")
    );
    assert!(fs::read_to_string(folder.path().join(".brigade/tools.toml")).unwrap().contains("# mine"));
    let again = workspace.catalog().defaults(REQUEST).unwrap();
    assert_eq!((again.defaults.updated.len(), again.defaults.skipped.len()), (0, 4));
}

#[test]
fn a_selection_of_harnesses_is_heeded() {
    let (folder, workspace) = sample(None);
    let selection = "{\"harnesses\": [\"claude\"], \"owner\": \"codex\"}";
    fs::write(folder.path().join(".brigade/config.json"), selection).unwrap();
    let report = workspace.catalog().defaults(REQUEST).unwrap();
    let scope = ["claude", "codex", "scripts"].map(str::to_owned);
    assert_eq!(report.defaults.projection_scope, Some(scope.to_vec()));
    for tool in load::catalog(&workspace.inner).unwrap().tools() {
        assert_eq!(tool.supported_harnesses, scope);
        assert!(tool.projections.keys().eq(scope.iter()));
    }
}

#[test]
fn a_catalog_that_cannot_be_edited_is_left() {
    let (folder, workspace) = sample(None);
    fs::write(folder.path().join(".brigade/tools.toml"), b"\xff\xfe").unwrap();
    let (report, exit) = refused(&workspace);
    assert_eq!((report.defaults.valid, report.defaults.errors.len(), exit), (false, 1, Exit::Refused));
    assert_eq!(fs::read(folder.path().join(".brigade/tools.toml")).unwrap(), b"\xff\xfe");
}

#[test]
fn an_invalid_catalog_is_left_as_it_is_and_its_error_is_said() {
    for (text, place) in [("[[tool\n", ":1:7:"), ("broken = [\n", ":1:11:"), ("{\"tool\":1}\n", ":1:1:")] {
        let (folder, workspace) = sample(Some(text));
        let (report, exit) = refused(&workspace);
        assert_eq!(
            (report.defaults.valid, exit, report.defaults.added.len()),
            (false, Exit::Refused, 0),
            "{text}"
        );
        assert!(
            report.defaults.errors.iter().any(|error| error.as_str().contains(place)),
            "{:?}",
            report.defaults.errors
        );
        assert_eq!(catalog(&folder), text);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{text}");
    }
}

#[test]
fn a_broken_entry_of_another_tool_does_not_matter() {
    let broken = "[[tool]]\nid = \"a\"\nname = \"A\"\nfamily = \"nonsense\"\n";
    let (folder, workspace) = sample(Some(broken));
    let report = workspace.catalog().defaults(REQUEST).unwrap();
    assert_eq!(
        (report.defaults.valid, report.exit(), report.defaults.added.len(), report.defaults.errors.len()),
        (true, Exit::Done, 4, 0)
    );
    assert!(catalog(&folder).starts_with(broken));
}
