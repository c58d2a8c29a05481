use std::collections::BTreeSet;

use super::*;

fn with_tasks(tasks: &str) -> String {
    format!("{{\"featureName\": \"X\", \"tasks\": [\n{tasks}\n]}}")
}

/// A line and a column.
type Spot = Option<(usize, usize)>;

/// Returns one PRD for each code, with the line and column of its fault.
fn one_of_each() -> Vec<(FaultCode, String, Spot)> {
    use FaultCode as F;
    let good = r#""title": "Fix x", "acceptanceCriteria": ["x answers 3"], "complexity": "junior""#;
    let one = |text: &str| with_tasks(&format!("{{\"id\": \"a\", {text}}}"));
    vec![
        (F::Syntax, "{\"featureName\": \n nope}".to_owned(), Some((2, 2))),
        (F::DuplicateKey, one(&format!("{good}, \"title\": \"y\"")), Some((2, 94))),
        (F::FeatureName, "{\"featureName\": \" \", \"tasks\": []}".to_owned(), Some((1, 17))),
        (F::Tasks, "{\"featureName\": \"X\",\n \"tasks\": {}}".to_owned(), Some((2, 11))),
        (F::TaskId, with_tasks(&format!("{{\"id\": \"задача\", {good}}}")), Some((2, 8))),
        (F::Title, with_tasks("{\"id\": \"a\", \"title\": \" \"}"), Some((2, 22))),
        (
            F::DuplicateId,
            with_tasks(&format!("{{\"id\": \"a\", {good}}},\n{{\"id\": \"a\", {good}}}")),
            Some((3, 1)),
        ),
        (F::UnknownDependency, one(&format!("\"dependsOn\": [\"b\"], {good}")), Some((2, 27))),
        (F::SelfDependency, one(&format!("\"dependsOn\": [\"a\"], {good}")), Some((2, 27))),
        (
            F::Cycle,
            with_tasks(&format!(
                "{{\"id\": \"a\", \"dependsOn\": [\"c\", \"b\"], {good}}},\n{{\"id\": \"c\", {good}}},\n\
                 {{\"id\": \"b\", \"dependsOn\": [\"a\"], {good}}}"
            )),
            None,
        ),
        (F::Complexity, one("\"complexity\": \"hard\", \"title\": \"t\""), Some((2, 27))),
        (F::EmptyCommand, one(&format!("\"verification\": [\" \"], {good}")), Some((2, 30))),
        (F::UnreadableCommand, one(&format!("\"verification\": [\"npm 'test\"], {good}")), Some((2, 30))),
        (
            F::BranchName,
            format!(
                "{{\"branchName\": \"a b\", \"featureName\": \"X\", \"tasks\": [\n{{\"id\": \"a\", {good}}}]}}"
            ),
            Some((1, 16)),
        ),
        (
            F::DangerousCommand,
            one(&format!("\"verification\": [{{\"type\": \"unit\", \"cmd\": \"sudo make\"}}], {good}")),
            None,
        ),
        (
            F::WalkawayPatternOnly,
            format!(
                "{{\"featureName\": \"X\", \"walkaway\": true, \"tasks\": [\n{{\"id\": \"a\", \
                 \"verification\": [{{\"type\": \"pattern\", \"cmd\": \"grep -q x y\"}}], {good}}}]}}"
            ),
            None,
        ),
        (F::Type, one(&format!("\"dependsOn\": 5, {good}")), Some((2, 26))),
        (F::UnknownKey, one(&format!("\"dependOn\": [], {good}")), Some((2, 13))),
        (F::NoVerification, one(good), None),
        (F::NoCriteria, one("\"title\": \"t\", \"complexity\": \"junior\""), None),
        (F::NoComplexity, one("\"title\": \"t\", \"acceptanceCriteria\": [\"x\"]"), None),
        (F::Coverage, one("\"title\": \"Add a button\", \"verification\": [\"grep -q x y\"]"), None),
        (F::VagueCriterion, one("\"title\": \"t\", \"acceptanceCriteria\": [\"it works properly\"]"), None),
        (
            F::UnknownType,
            one(&format!("\"verification\": [{{\"type\": \"e2e\", \"cmd\": \"npm test\"}}], {good}")),
            None,
        ),
        (F::ShellCommand, one(&format!("\"verification\": [\"npm test | tail\"], {good}")), None),
        (F::PatternOnly, one(&format!("\"verification\": [\"grep -q x y\"], {good}")), None),
        (
            F::NoEndToEnd,
            with_tasks(&format!(
                "{{\"id\": \"a\", \"verification\": [\"npm test\"], {good}}},\n{{\"id\": \"b\", {good}}}"
            )),
            None,
        ),
    ]
}

#[test]
fn every_code_has_a_fault_with_its_place() {
    let mut seen = BTreeSet::new();
    for (code, prd, place) in one_of_each() {
        let reading = read("prd.json", prd.as_bytes(), Lints::ALL);
        let list = if code.is_error() { &reading.errors } else { &reading.warnings };
        let fault = list.iter().find(|fault| fault.code == code);
        let fault = fault.unwrap_or_else(|| panic!("{code} is not in {list:?}"));
        if let Some((line, column)) = place {
            assert_eq!(fault.place, Place::at("prd.json", line, column), "{code}");
        }
        assert_eq!(reading.errors.is_empty(), !code.is_error(), "{code}: {:?}", reading.errors);
        assert_eq!(reading.valid().is_ok(), !code.is_error(), "{code}");
        seen.insert(code);
    }
    assert_eq!(seen.len(), FaultCode::ALL.len());
}
