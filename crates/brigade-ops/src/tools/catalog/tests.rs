use brigade_catalog::Family;
use brigade_core::Exit;

use super::*;
use crate::testing::Bench;

const TOOLS: &str = "[[tool]]\nid = \"sum\"\nname = \"Sum\"\nfamily = \"script\"\ncommand = \"no-such-sum\"\neffects = [\"local-read\"]\n\
    [[tool]]\nid = \"off\"\nname = \"Off\"\nfamily = \"script\"\nenabled = false\ncommand = \"off\"\n\
    [[tool]]\nid = \"doc\"\nname = \"Doc\"\nfamily = \"skill\"\nsource_path = \"doc.md\"\n";

#[test]
fn contracts_are_those_of_enabled_tools_with_their_issues() {
    let bench = Bench::new(&[(CATALOG, TOOLS)]);
    let report = contracts(&bench.context).unwrap();
    let ids: Vec<&str> = report.contracts.iter().map(|row| row.contract.tool_id.as_str()).collect();
    assert_eq!((ids, report.contract_count), (vec!["sum", "doc"], 2));
    assert_eq!((report.issue_count, report.exit()), (report.issues.len(), Exit::Done));
    let of_rows: usize = report.contracts.iter().map(|row| row.issues.len()).sum();
    assert_eq!(of_rows, report.issue_count, "each issue is of one tool");
    assert!(report.issues.iter().any(|issue| issue.issue_type == "missing_command"), "{:?}", report.issues);
}

#[test]
fn an_invalid_catalog_fails_lists_and_contracts() {
    let bench = Bench::new(&[(CATALOG, "[[tool]\n")]);
    let report = contracts(&bench.context).unwrap();
    assert_eq!((report.valid, report.exit()), (false, Exit::Refused));
    assert!(report.diagnosis.is_some());
    let lines = lines(&bench.context).unwrap();
    assert_eq!((lines.valid, lines.exit(), lines.errors.len()), (false, Exit::Refused, report.errors.len()));
}

#[test]
fn what_comes_next_depends_on_the_catalog() {
    for (catalog, next) in [
        (None, NextStep::Init),
        (Some(""), NextStep::Edit(Place::file(CATALOG))),
        (Some("[[tool]\n"), NextStep::Diagnose),
    ] {
        let bench = Bench::new(&[]);
        if let Some(text) = catalog {
            bench.write(CATALOG, text);
        }
        assert_eq!(lines(&bench.context).unwrap().next, next, "{catalog:?}");
    }
    let filter = ListFilter { families: vec![Family::Script], ..ListFilter::default() };
    assert_eq!(lines_of(&Bench::new(&[]).context, &filter).unwrap().next, NextStep::ListTools);
}

#[test]
fn a_disabled_tool_is_described_for_a_review() {
    let bench = Bench::new(&[(CATALOG, TOOLS)]);
    let report = describe(&bench.context, "off").unwrap();
    assert_eq!((report.valid, report.issue_count), (true, report.issues.len()));
    assert!(report.issues.iter().all(|issue| issue.tool_id.as_deref() == Some("off")), "{:?}", report.issues);
    let refused = describe(&Bench::new(&[]).context, "off").unwrap_err();
    assert!(!refused.report.expect("the errors").is_empty(), "the catalog is missing");
}

#[test]
fn examples_are_shown_without_bound_values() {
    let bench = Bench::new(&[(CATALOG, TOOLS)]).variable("V", "Zq7tail0");
    bench.replace(CATALOG, "id = \"sum\"", "id = \"sum\"\nexamples_path = \"examples.json\"");
    bench.write("examples.json", "[{\"q\": \"Zq7tail0\"}]");
    let shown = |bench: &Bench| describe(&bench.context, "sum").unwrap().examples.to_compact();
    assert_eq!(shown(&bench), "[{\"q\":\"Zq7tail0\"}]");
    bench.write(".brigade/tools/policy.toml", "env_bindings = { L = \"V\" }\n");
    assert!(!shown(&bench).contains("Zq7tail0"), "{}", shown(&bench));
    bench.write("examples.json", "{");
    assert_eq!(shown(&bench), "null");
}
