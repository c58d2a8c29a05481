use brigade_workspace::CATALOG;

use super::*;
use crate::testing::Bench;

const TOOL: &str = "[[tool]]\nid = \"sum\"\nname = \"Sum\"\nfamily = \"script\"\ncommand = \"sum\"\neffects = [\"local-read\"]\n";

/// Makes a workspace whose policy has a test of this expectation.
fn site(tests: &str) -> Bench {
    let policy = format!("allowed_families = [\"script\"]\nallowed_effects = [\"local-read\"]\n{tests}");
    Bench::new(&[(CATALOG, TOOL), (POLICY, &policy)])
}

fn test(tool: &str, expect: &str, because: &str) -> String {
    format!("[[test]]\ntool = \"{tool}\"\nexpect = \"{expect}\"\nbecause = \"{because}\"\n")
}

#[test]
fn a_test_passes_if_the_policy_says_what_it_expects() {
    let bench = site(
        &(test("sum", "asks", "no_rules")
            + &test("sum", "blocked", "no_rules")
            + &test("sum", "asks", "other")),
    );
    let report = test_policy(&bench.context, None).unwrap();
    assert_eq!((report.valid, report.passed, report.failed), (true, 1, 2), "{report:?}");
    let [good, bad, other] = report.tests.as_slice() else { panic!("{report:?}") };
    assert_eq!((good.passed, good.line, good.because.as_deref()), (true, Some(3), Some("no_rules")));
    assert_eq!((bad.passed, bad.expect.as_str(), bad.got.as_deref()), (false, "blocked", Some("asks")));
    assert!(!other.passed, "the reason is another one");
    assert_eq!(report.policy_path, format!("/memory/{POLICY}"));
}

#[test]
fn a_test_of_a_tool_that_is_missing_fails() {
    let report = test_policy(&site(&test("gone", "asks", "no_rules")).context, None).unwrap();
    let row = &report.tests[0];
    assert_eq!(
        (row.passed, row.got.as_deref(), row.codes.as_slice()),
        (false, None, &["tool_missing".to_owned()][..])
    );
}

#[test]
fn another_file_may_be_tested_before_it_is_the_policy() {
    let bench = site(&test("sum", "blocked", "policy_denied_effect"));
    bench.write(
        "new.toml",
        &format!("denied_effects = [\"local-read\"]\n{}", test("sum", "blocked", "policy_denied_effect")),
    );
    let report = test_policy(&bench.context, Some(Path::new("/memory/new.toml"))).unwrap();
    assert_eq!((report.passed, report.failed, report.policy_path.as_str()), (1, 0, "/memory/new.toml"));
}

#[test]
fn an_invalid_policy_is_not_valid_and_a_missing_one_is_an_error() {
    let report = test_policy(&Bench::new(&[(POLICY, "allowed_effects = 3\n")]).context, None).unwrap();
    assert!(!report.valid && !report.errors.is_empty() && report.tests.is_empty());
    for file in [None, Some(Path::new("gone.toml"))] {
        let error = test_policy(&Bench::new(&[]).context, file).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, ErrorCode::PolicyMissing));
    }
}
