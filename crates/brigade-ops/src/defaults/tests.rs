use brigade_core::ErrorKind;

use super::*;
use crate::testing::Bench;
use crate::{DefaultsReport, add_default_tools};

const REQUEST: DefaultsRequest =
    DefaultsRequest { dry_run: false, existing: OnExisting::Keep, ignore: Ignore::Write };

#[track_caller]
fn added(bench: &Bench, request: DefaultsRequest) -> DefaultsReport {
    add_default_tools(&bench.context, request).map_err(|error| error.failure).unwrap()
}

#[test]
fn all_built_in_tools_are_added_once_with_their_sources() {
    let bench = Bench::new(&[]);
    let first = added(&bench, REQUEST).defaults;
    assert_eq!((first.created, first.valid, first.added.len()), (true, true, first.default_count));
    assert_eq!((first.source_created_count, first.gitignore.as_str()), (4, "created (.gitignore)"));
    for source in &first.sources {
        assert_eq!(
            (source.action, source.path.clone()),
            (SourceAction::Create, format!("/memory/{}", source.source_path))
        );
        assert!(bench.read(&source.source_path).is_some());
    }
    let text = bench.read(CATALOG);
    let second = added(&bench, REQUEST).defaults;
    assert_eq!((second.created, second.added.len(), second.skipped.len()), (false, 0, 4));
    assert_eq!((second.source_skipped_count, second.gitignore.as_str()), (4, "skipped"));
    assert_eq!(bench.read(CATALOG), text);
}

#[test]
fn a_dry_run_of_the_defaults_writes_nothing() {
    let bench = Bench::new(&[]);
    let report = added(&bench, DefaultsRequest { dry_run: true, ..REQUEST }).defaults;
    assert_eq!((report.added.len(), report.tool_count), (4, 4));
    assert!(report.sources.iter().all(|source| source.action == SourceAction::WouldCreate));
    assert!(bench.paths().is_empty(), "{:?}", bench.paths());
}

#[test]
fn a_source_and_other_text_of_a_person_stay() {
    let own =
        "# mine\n[[tool]]\nid = \"own\" # first\nname = \"Own\"\nfamily = \"script\"\ncommand = \"sh\"\n";
    let bench = Bench::new(&[(CATALOG, own), ("tools/simplify.md", "mine\n")]);
    let report = added(&bench, DefaultsRequest { ignore: Ignore::Skip, ..REQUEST }).defaults;
    assert_eq!((report.tool_count, report.source_skipped_count), (5, 1));
    let source = report.sources.iter().find(|source| source.tool_id == "simplify").unwrap();
    assert_eq!(source.detail.as_deref(), Some("source exists"));
    assert!(bench.read(CATALOG).unwrap().starts_with(own));
    assert_eq!(bench.read("tools/simplify.md").as_deref(), Some("mine\n"));
    assert_eq!(bench.read(".gitignore"), None);
}

#[test]
fn another_tool_of_the_same_id_is_a_conflict_unless_it_is_replaced() {
    let other =
        "[[tool]]\nid = \"simplify\"\nname = \"Mine\"\nfamily = \"skill\"\nsource_path = \"mine.md\"\n";
    let bench = Bench::new(&[(CATALOG, other)]);
    let refused = add_default_tools(&bench.context, REQUEST).unwrap_err();
    let report = refused.report.expect("the report");
    let [conflict] = report.defaults.conflicts.as_slice() else { panic!("{report:?}") };
    assert_eq!(
        (conflict.tool_id.as_str(), conflict.existing_source_path.as_deref()),
        ("simplify", Some("mine.md"))
    );
    assert_eq!(refused.failure.kind(), ErrorKind::Refused);
    assert_eq!(refused.failure.blockers()[0].code, ErrorCode::EntryExists.as_str());
    assert_eq!((bench.read(CATALOG).as_deref(), bench.read("tools/frontend.md")), (Some(other), None));
    let report = added(&bench, DefaultsRequest { existing: OnExisting::Overwrite, ..REQUEST }).defaults;
    assert_eq!((report.force, report.updated.as_slice()), (true, &["simplify".to_owned()][..]));
}

#[test]
fn a_file_with_errors_gets_no_defaults_and_an_entry_with_errors_does_not_matter() {
    for catalog in ["[[tool]\n", "schema = 99\n"] {
        let bench = Bench::new(&[(CATALOG, catalog)]);
        let refused = add_default_tools(&bench.context, REQUEST).unwrap_err();
        assert_eq!(refused.failure.kind(), ErrorKind::InvalidConfig);
        assert!(!refused.report.expect("the report").defaults.errors.is_empty());
        assert_eq!(bench.read(CATALOG).as_deref(), Some(catalog));
        assert_eq!(bench.read("tools/simplify.md"), None);
    }
    let bench = Bench::new(&[(CATALOG, "[[tool]]\nid = \"bad\"\nname = 3\nfamily = \"script\"\n")]);
    assert!(added(&bench, REQUEST).defaults.valid);
}

#[test]
fn a_place_that_cannot_be_written_stops_before_the_first_write() {
    for blocked in ["tools", ".brigade/tools/catalog.lock/x", "tools/antislop.md/x", ".brigade/tools.toml/x"]
    {
        let bench = Bench::new(&[(blocked, "in the way")]);
        assert!(add_default_tools(&bench.context, REQUEST).is_err(), "{blocked}");
        assert_eq!(bench.paths(), [blocked]);
    }
}

#[test]
fn the_selection_of_a_person_narrows_the_harnesses() {
    for (selection, expect) in [
        (r#"{"harnesses": ["claude"]}"#, Some("claude scripts")),
        (r#"{"harnesses": ["claude", 3, " "], "owner": " codex "}"#, Some("claude codex scripts")),
        (r#"{"harnesses": ["", 3]}"#, None),
        (r#"{"harnesses": "claude"}"#, None),
        ("{", None),
    ] {
        let bench = Bench::new(&[(SELECTION, selection)]);
        let scope = added(&bench, REQUEST).defaults.projection_scope;
        assert_eq!(scope.map(|scope| scope.join(" ")).as_deref(), expect, "{selection}");
        let catalog = Catalog::parse(CATALOG, Level::Project, bench.read(CATALOG).unwrap().as_bytes());
        let is_narrow = catalog.tools().iter().all(|tool| !tool.projections.contains_key("cursor"));
        assert_eq!(is_narrow, expect.is_some(), "{selection}");
    }
}
