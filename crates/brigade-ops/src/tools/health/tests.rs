use brigade_core::Exit;
use brigade_workspace::POLICY;

use super::*;
use crate::testing::Bench;

const BROKEN: &str = "[[tool]]\nid = \"sum\"\nname = \"Sum\"\nfamily = \"script\"\ncommand = \"no-such-sum\"\n\
    [[tool]]\nid = \"off\"\nname = \"Off\"\nfamily = \"script\"\nenabled = false\ncommand = \"no-such-off\"\n";

#[track_caller]
fn diagnosed(bench: &Bench, request: &DoctorRequest) -> CatalogReport {
    diagnose_catalog(&bench.context, request).unwrap()
}

fn types(report: &CatalogReport) -> Vec<String> {
    report.issues.iter().map(|issue| issue.issue_type.to_string()).collect()
}

#[test]
fn disabled_tools_are_listed_and_not_diagnosed() {
    let bench = Bench::new(&[(CATALOG, BROKEN)]);
    assert_eq!(list(&bench.context).unwrap().tool_count, 2);
    let report = diagnosed(&bench, &DoctorRequest::default());
    assert_eq!(report.tool_count, 1);
    assert!(
        report.issues.iter().all(|issue| issue.tool_id.as_deref() != Some("off")),
        "{:?}",
        types(&report)
    );
    assert!(types(&report).contains(&"missing_command".to_owned()), "{:?}", types(&report));
}

#[test]
fn issues_fail_a_diagnosis_only_on_request() {
    let bench = Bench::new(&[(CATALOG, BROKEN)]);
    let exit = |strict: bool| diagnosed(&bench, &DoctorRequest { strict, ..DoctorRequest::default() }).exit();
    assert_eq!((exit(false), exit(true)), (Exit::Done, Exit::Refused));
    let invalid = Bench::new(&[(CATALOG, "[[tool]\n")]);
    assert_eq!(diagnosed(&invalid, &DoctorRequest::default()).exit(), Exit::Refused);
}

#[test]
fn a_tool_is_diagnosed_alone_and_by_any_name() {
    let more = "[[tool]]\nid = \"two\"\nname = \"Two\"\naliases = [\"zwei\"]\nfamily = \"script\"\ncommand = \"no-such-two\"\n";
    let bench = Bench::new(&[(CATALOG, &format!("{BROKEN}{more}"))]);
    let request = |tool: &str| DoctorRequest { tool: Some(tool.to_owned()), ..DoctorRequest::default() };
    for name in ["two", "zwei"] {
        let report = diagnosed(&bench, &request(name));
        assert!(0 < report.issue_count);
        assert!(
            report.issues.iter().all(|issue| issue.tool_id.as_deref() == Some("two")),
            "{:?}",
            types(&report)
        );
    }
    assert!(diagnose_catalog(&bench.context, &request("gone")).is_err());
}

#[test]
fn a_workspace_without_a_catalog_may_have_other_files() {
    let bench = Bench::new(&[(POLICY, "")]);
    assert!(!list(&bench.context).unwrap().valid);
    assert!(!diagnosed(&bench, &DoctorRequest::default()).valid);
    bench.write(KITCHEN_TOML, "");
    assert!(diagnosed(&bench, &DoctorRequest::default()).valid);
}

#[test]
fn missing_requirements_of_built_in_tools_are_told_on_request() {
    let bench = Bench::new(&[(CATALOG, "")]);
    assert!(diagnosed(&bench, &DoctorRequest::default()).missing_tools.is_none());
    let request = DoctorRequest { explain_missing: true, ..DoctorRequest::default() };
    let missing = diagnosed(&bench, &request).missing_tools.expect("a list");
    let fetch = missing.iter().find(|row| row.tool_id == "web.fetch").expect("no host is named");
    assert!(fetch.facts.iter().all(|fact| !fact.help.is_empty()));
}

#[test]
fn a_short_history_is_diagnosed_whole() {
    let bench = Bench::new(&[(CATALOG, BROKEN)]);
    let report = diagnose_recent(&bench.context, &DoctorRequest::default(), 10).unwrap();
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!(types(&report), types(&diagnosed(&bench, &DoctorRequest::default())));
}

#[test]
fn the_log_for_editors_has_every_issue_and_needs_a_directory() {
    let bench = Bench::new(&[(CATALOG, BROKEN)]);
    let report = diagnosed(&bench, &DoctorRequest::default());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sarif");
    report.write_sarif(&file).unwrap();
    let text = brigade_fs::DiskFs::open(folder.path()).unwrap();
    let text = brigade_fs::Fs::read(&text, &RelPath::from_static("log.sarif"), 1 << 20).unwrap();
    let json = brigade_core::Json::parse_bytes(&text, brigade_core::Dialect::Strict).unwrap();
    assert_eq!(json.get("version").and_then(brigade_core::Json::as_str), Some("2.1.0"));
    for wrong in [folder.path().join("gone/log.sarif"), "/".into()] {
        assert_eq!(
            report.write_sarif(&wrong).unwrap_err().kind(),
            brigade_core::ErrorKind::Usage,
            "{wrong:?}"
        );
    }
}
