use brigade_core::{ErrorKind, Exit};
use brigade_projection::ProjectionReport;

use super::*;
use crate::report::ApplyReport;
use crate::testing::Bench;

const ENTRY: &str = "[[tool]]\nid = \"greet\"\nname = \"Greet\"\nfamily = \"slash-command\"\nsource_path = \"tools/greet.md\"\n\
    supported_harnesses = [\"claude\", \"codex\"]\n\
    projections = { claude = \".claude/commands/greet.md\", codex = \".codex/skills/greet/SKILL.md\" }\n";

const CLAUDE: &str = ".claude/commands/greet.md";
const CODEX: &str = ".codex/skills/greet/SKILL.md";
const SOURCE: &str = "tools/greet.md";

fn bench() -> Bench {
    Bench::new(&[(CATALOG, ENTRY), (SOURCE, "Say hello.\n")])
}

const ALL: ApplyRequest = ApplyRequest { which: Selection::All, dry_run: false, force: false, prune: false };

#[track_caller]
fn applied(bench: &Bench, request: &ApplyRequest) -> ApplyReport {
    apply(&bench.context, request).unwrap()
}

/// Returns the number of projections by status.
#[track_caller]
fn statuses(bench: &Bench) -> Vec<(String, u64)> {
    plan(&bench.context, None).unwrap().counts.into_iter().collect()
}

fn is(status: &str, count: u64) -> [(String, u64); 1] {
    [(status.to_owned(), count)]
}

#[test]
fn missing_projections_are_written_once() {
    let bench = bench();
    assert_eq!(statuses(&bench), is("missing", 2));
    let dry = applied(&bench, &ApplyRequest { dry_run: true, ..ALL });
    assert_eq!((dry.applied_count, dry.applied[0].dry_run), (2, Some(true)));
    assert!(dry.applied[0].diff.as_deref().is_some_and(|diff| diff.contains("+Say hello.")));
    assert_eq!(bench.read(CLAUDE), None);
    let done = applied(&bench, &ApplyRequest { which: Selection::One("greet".to_owned()), ..ALL });
    assert_eq!((done.applied_count, done.tool_id.as_deref(), done.all), (2, Some("greet"), false));
    let text = bench.read(CLAUDE);
    assert!(text.as_deref().is_some_and(|text| text.ends_with("Say hello.\n")));
    let again = applied(&bench, &ALL);
    assert_eq!((again.applied_count, again.skipped_count, again.exit()), (0, 2, Exit::Done));
    assert_eq!((bench.read(CLAUDE), statuses(&bench)), (text, is("current", 2).to_vec()));
}

#[test]
fn an_edited_projection_is_kept_unless_forced() {
    let bench = bench();
    applied(&bench, &ALL);
    bench.write(SOURCE, "Say good morning.\n");
    assert_eq!(statuses(&bench), is("stale", 2));
    let edited = bench.read(CLAUDE).unwrap() + "mine\n";
    bench.write(CLAUDE, &edited);
    let report = applied(&bench, &ALL);
    assert_eq!((report.applied_count, report.conflict_count, report.exit()), (1, 1, Exit::Refused));
    assert_eq!(bench.read(CLAUDE), Some(edited));
    let forced = applied(&bench, &ApplyRequest { force: true, ..ALL });
    assert_eq!((forced.applied_count, forced.exit()), (1, Exit::Done));
    assert!(bench.read(CLAUDE).unwrap().ends_with("Say good morning.\n"));
}

#[test]
fn projections_of_v030_are_current() {
    let bench = bench();
    let header = "{\"family\":\"slash-command\",\"generated_at\":\"2026-11-21T20:27:14.890099+00:00\",\"harness\":\"claude\",\
                  \"projection_fingerprint\":\"3d023121b458e96b\",\"source_fingerprint\":\"3d023121b458e96b\",\"tool_id\":\"greet\"}";
    bench.write(CLAUDE, &format!("<!-- brigade-tool-projection: {header} -->\nSay hello.\n"));
    let planned = plan(&bench.context, None).unwrap();
    assert_eq!(planned.projections[0].status.as_str(), "current");
    // The harness shows line 1 as the description, so the file can be written again.
    assert!(format!("{:?}", planned.projections[0].advice).contains("HeaderMisplaced"));
    applied(&bench, &ApplyRequest { force: true, ..ALL });
    let text = bench.read(CLAUDE).unwrap();
    assert!(text.starts_with("---\n# brigade-tool-projection: {"), "{text}");
    assert!(text.contains("\ndescription: \"") && text.ends_with("\n---\nSay hello.\n"), "{text}");
}

#[test]
fn the_text_of_a_source_is_copied_without_marks_and_carriage_returns() {
    for (source, expect) in [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("\u{feff}marked", "marked\n"),
        ("", "\n"),
        ("gr\u{fc}n \u{1f600}\n", "gr\u{fc}n \u{1f600}\n"),
    ] {
        let bench = bench();
        bench.write(SOURCE, source);
        applied(&bench, &ALL);
        let text = bench.read(CLAUDE).unwrap();
        assert_eq!(text.rsplit_once("---\n").map(|(_, body)| body), Some(expect), "{source:?}");
        assert_eq!(statuses(&bench), is("current", 2));
        // Changed line ends are not a local edit.
        bench.write(CLAUDE, &text.replace('\n', "\r\n"));
        assert_eq!(statuses(&bench), is("current", 2), "{source:?}");
    }
}

#[test]
fn a_source_that_is_not_text_projects_nothing() {
    let bench = bench();
    applied(&bench, &ALL);
    let before = bench.read(CLAUDE);
    let source = SOURCE.parse().unwrap();
    bench.context.fs.write_atomic(&source, b"not UTF-8: \xff\n", brigade_fs::FileMode::Private).unwrap();
    assert_eq!(statuses(&bench), is("missing_source", 2));
    let report = applied(&bench, &ApplyRequest { force: true, ..ALL });
    assert_eq!((report.applied_count, report.exit()), (0, Exit::Done));
    assert_eq!(bench.read(CLAUDE), before);
}

#[test]
fn targets_that_differ_in_case_alone_are_pointed_out() {
    let second = ENTRY.replace("\"greet\"", "\"other\"").replace("greet.md\", codex", "Greet.md\", codex");
    let bench = bench();
    bench.write(CATALOG, &format!("{ENTRY}{}", second.replace("skills/greet/", "skills/other/")));
    let planned = plan(&bench.context, None).unwrap();
    let is_told = |item: &&ProjectionReport| format!("{:?}", item.advice).contains("DiffersInCase");
    let told: Vec<_> =
        planned.projections.iter().filter(is_told).map(|item| item.projection_path.as_deref()).collect();
    assert_eq!(told, [Some("/memory/.claude/commands/Greet.md")]);
}

#[test]
fn nothing_is_written_into_git_or_state_or_outside() {
    for path in [".git/hooks/post-commit", ".brigade/tools.toml", "../escaped.md", "/etc/greet.md"] {
        let bench = bench();
        bench.write(CATALOG, &ENTRY.replace(CLAUDE, path));
        let report = applied(&bench, &ApplyRequest { force: true, ..ALL });
        let refused: Vec<&str> = report.skipped.iter().map(|item| item.status.as_str()).collect();
        assert_eq!(
            (refused, report.refused_count, report.exit()),
            (vec!["invalid"], 1, Exit::Refused),
            "{path}"
        );
        assert!(bench.read(CODEX).is_some(), "others are written");
        assert!(bench.read(CATALOG).unwrap().starts_with("[[tool]]"));
    }
}

#[test]
fn a_projection_that_no_entry_wants_is_an_orphan_until_it_is_pruned() {
    let bench = bench();
    applied(&bench, &ALL);
    let dropped = ENTRY.replace("\"claude\", ", "").replace("claude = \".claude/commands/greet.md\", ", "");
    bench.write(CATALOG, &dropped);
    let planned = plan(&bench.context, None).unwrap();
    let orphan = &planned.orphans[0];
    assert_eq!(
        (planned.orphan_count, orphan.projection_path.as_str()),
        (1, "/memory/.claude/commands/greet.md")
    );
    assert!(format!("{:?}", orphan.reason).contains("HarnessDropped"), "{orphan:?}");
    let prune = ApplyRequest { prune: true, ..ALL };
    let dry = applied(&bench, &ApplyRequest { dry_run: true, ..prune.clone() });
    assert_eq!((dry.pruned_count, bench.read(CLAUDE).is_some()), (1, true));
    let done = applied(&bench, &prune);
    assert_eq!((done.pruned_count, done.orphan_count, done.exit()), (1, 0, Exit::Done));
    assert!(bench.read(CLAUDE).is_none() && bench.read(CODEX).is_some());
}

#[test]
fn an_edited_orphan_is_kept() {
    let bench = bench();
    applied(&bench, &ALL);
    let edited = bench.read(CODEX).unwrap() + "mine\n";
    bench.write(CODEX, &edited);
    let bare = ENTRY.split("supported_harnesses").next().unwrap().to_owned();
    bench.write(CATALOG, &bare);
    let report = applied(&bench, &ApplyRequest { prune: true, ..ALL });
    assert_eq!((report.pruned_count, report.orphan_count, report.exit()), (1, 1, Exit::Refused));
    assert_eq!((bench.read(CLAUDE), bench.read(CODEX)), (None, Some(edited)));
}

#[test]
fn orphans_in_other_places_are_found_by_the_list_of_written_files() {
    let bench = bench();
    let with = |path: &str| ENTRY.replace(CLAUDE, path);
    let orphans = || {
        let planned = plan(&bench.context, None).unwrap();
        let paths: Vec<String> =
            planned.orphans.iter().map(|orphan| orphan.projection_path.clone()).collect();
        (paths, planned.orphans_complete)
    };
    let x = || vec!["/memory/docs/agents/x.md".to_owned()];
    bench.write(CATALOG, &with("docs/agents/x.md"));
    applied(&bench, &ALL);
    assert_eq!(orphans(), (Vec::new(), true));
    bench.write(
        CATALOG,
        &ENTRY.replace("\"claude\", ", "").replace("claude = \".claude/commands/greet.md\", ", ""),
    );
    assert_eq!(orphans(), (x(), true));
    // On a disk, the lock shows that projections were written here.
    bench.write(".brigade/tools/apply.lock", "");
    // Without the list, only projections next to a wanted one are found, and the result is incomplete.
    bench.context.fs.remove(&".brigade/tools/projected.json".parse().unwrap()).unwrap();
    assert_eq!(orphans(), (Vec::new(), false));
    bench.write(CATALOG, &with("docs/agents/y.md"));
    assert_eq!(orphans(), (x(), false));
    assert_eq!(applied(&bench, &ApplyRequest { prune: true, ..ALL }).pruned_count, 1);
    assert_eq!((bench.read("docs/agents/x.md"), bench.read("docs/agents/y.md").is_some()), (None, true));
}

#[test]
fn a_name_selects_one_tool_and_an_unknown_one_nothing() {
    let bench = bench();
    bench.write(CATALOG, &format!("{ENTRY}aliases = [\"hello\"]\n"));
    let planned = plan(&bench.context, Some("hello")).unwrap();
    assert_eq!(
        (planned.tool_id.as_deref(), planned.tools, planned.valid),
        (Some("greet"), vec!["greet".to_owned()], true)
    );
    let refused = plan(&bench.context, Some("gret")).unwrap_err();
    let told = refused.report.unwrap();
    assert_eq!((told.valid, told.projections.len(), told.tool_id.as_deref()), (false, 0, Some("gret")));
    assert!(told.errors[0].as_str().contains("did you mean `greet`?"), "{:?}", told.errors);
    assert_eq!(refused.failure.kind(), ErrorKind::NotFound);
    let one = ApplyRequest { which: Selection::One("gret".to_owned()), ..ALL };
    let refused = apply(&bench.context, &one).unwrap_err();
    assert_eq!(refused.report.map(|told| (told.applied_count, told.valid)), Some((0, false)));
}

#[test]
fn a_removed_tool_can_be_named_while_it_has_orphans() {
    let bench = bench();
    applied(&bench, &ALL);
    bench.write(CATALOG, &ENTRY.replace("\"greet\"", "\"other\"").replace("/greet", "/other"));
    let planned = plan(&bench.context, Some("greet")).unwrap();
    assert_eq!((planned.orphan_count, planned.tools.len(), planned.valid), (2, 0, true));
    let one = ApplyRequest { which: Selection::One("greet".to_owned()), prune: true, ..ALL };
    assert_eq!(applied(&bench, &one).pruned_count, 2);
    assert!(plan(&bench.context, Some("greet")).is_err());
}

#[test]
fn a_catalog_that_cannot_be_read_is_reported_once() {
    let bench = bench();
    bench.write(CATALOG, "[[tool]\n");
    for id in [None, Some("greet")] {
        let refused = plan(&bench.context, id).unwrap_err();
        let told = refused.report.unwrap();
        assert_eq!((told.errors.len(), told.valid, told.orphan_count), (1, false, 0), "{:?}", told.errors);
        assert!(told.diagnosis.is_some());
    }
}

#[test]
fn sync_writes_only_what_is_confirmed_twice_and_selected() {
    let bench = bench();
    let planned = sync_plan(&bench.context, None).unwrap();
    assert_eq!((planned.dry_run_default, planned.delete_supported, planned.add_only), (true, false, true));
    let sync = |which: Option<Selection>, write: bool, force: bool, dry_run: bool| {
        sync_apply(&bench.context, &SyncRequest { which, dry_run, write, force }).map(|report| report.dry_run)
    };
    for (write, force, dry_run) in
        [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
    {
        for which in [None, Some(Selection::All)] {
            assert_eq!(sync(which, write, force, dry_run).ok(), Some(true));
        }
    }
    assert_eq!(
        sync(None, true, true, false).err().map(|refused| refused.failure.kind()),
        Some(ErrorKind::Usage)
    );
    assert_eq!(bench.read(CLAUDE), None);
    assert_eq!(sync(Some(Selection::All), true, true, false).ok(), Some(false));
    assert!(bench.read(CLAUDE).is_some());
}

#[test]
fn harnesses_are_listed_and_shown_with_their_tools() {
    let bench = bench();
    let list = list_harnesses(&bench.context).unwrap();
    let names: Vec<&str> = list.harnesses.iter().map(|line| &*line.name).collect();
    assert_eq!(list.harness_count, names.len());
    assert!(["claude", "codex", "cursor", "mcp"].iter().all(|name| names.contains(name)), "{names:?}");
    let shown = harness(&bench.context, " claude ").unwrap();
    assert_eq!((&*shown.name, shown.tool_count), ("claude", 1));
    let unknown = harness(&bench.context, "claud").unwrap_err();
    assert_eq!(
        (unknown.kind(), unknown.hints()[0].to_string()),
        (ErrorKind::NotFound, "did you mean `claude`?".to_owned())
    );
    assert!(!harness(&bench.context, "\u{1b}[2J").unwrap_err().to_string().contains('\u{1b}'));
}

#[test]
fn one_file_of_two_harnesses_is_written_once() {
    let bench = bench();
    bench.write(CATALOG, &ENTRY.replace(CODEX, CLAUDE));
    let report = applied(&bench, &ALL);
    assert_eq!(report.applied_count + report.skipped_count, 2);
    assert!(report.applied_count <= 1, "{:?}", report.applied);
}

#[test]
fn two_tools_cannot_have_the_same_file() {
    let bench = bench();
    bench.write(CATALOG, &format!("{ENTRY}{}", ENTRY.replace("id = \"greet\"", "id = \"other\"")));
    let report = applied(&bench, &ALL);
    assert_eq!((report.applied_count, report.refused_count, report.exit()), (2, 2, Exit::Refused));
}
