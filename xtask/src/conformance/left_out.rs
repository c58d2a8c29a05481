//! The scenarios of the suite that are excluded.

use serde::Deserialize;

use crate::repository::Failure;

/// The list.
const LIST: &str = include_str!("left-out.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    scenario: String,
    /// The revision at which it is excluded; both without one.
    revision: Option<String>,
    reason: String,
}

impl Row {
    fn is_of(&self, revision: &str) -> bool {
        self.revision.as_ref().is_none_or(|own| own == revision)
    }
}

/// The excluded scenarios, each with its reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOutScenarios {
    #[serde(default)]
    left_out: Vec<Row>,
}

/// The expected result of a scenario.
#[derive(Debug, PartialEq, Eq)]
pub enum Expectation<'a> {
    Passes,
    /// It fails, for this reason.
    LeftOut(&'a str),
}

impl LeftOutScenarios {
    pub fn of_repository() -> Result<LeftOutScenarios, Failure> {
        toml::from_str(LIST).map_err(|error| Failure::new(format!("left-out.toml: {error}")))
    }

    pub fn expected(&self, revision: &str, scenario: &str) -> Expectation<'_> {
        let row = self.left_out.iter().find(|row| row.scenario == scenario && row.is_of(revision));
        row.map_or(Expectation::Passes, |row| Expectation::LeftOut(&row.reason))
    }

    /// Returns the excluded scenarios that the suite does not have at this revision.
    pub fn unknown<'a>(&'a self, revision: &str, scenarios: &[String]) -> Vec<&'a str> {
        let named = self.left_out.iter().filter(|row| row.revision.as_deref() == Some(revision));
        named
            .map(|row| row.scenario.as_str())
            .filter(|name| !scenarios.iter().any(|own| own == name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_scenario_stands_once_with_a_reason() {
        let list = LeftOutScenarios::of_repository().unwrap();
        let mut seen = BTreeSet::new();
        for row in &list.left_out {
            assert!(20 < row.reason.len(), "{}", row.scenario);
            let revisions = match &row.revision {
                Some(revision) => vec![revision.as_str()],
                None => crate::conformance::REVISIONS.to_vec(),
            };
            for revision in revisions {
                assert!(crate::conformance::REVISIONS.contains(&revision), "{revision}");
                assert!(seen.insert((row.scenario.clone(), revision.to_owned())), "{} twice", row.scenario);
            }
        }
    }

    #[test]
    fn a_row_holds_for_its_revision() {
        let text = "[[left_out]]\nscenario = 'a'\nreason = 'x'\n[[left_out]]\nscenario = 'b'\nrevision = '1'\nreason = 'y'\n";
        let list: LeftOutScenarios = toml::from_str(text).unwrap();
        assert_eq!(list.expected("2", "a"), Expectation::LeftOut("x"));
        assert_eq!(list.expected("1", "b"), Expectation::LeftOut("y"));
        assert_eq!(list.expected("2", "b"), Expectation::Passes);
        assert_eq!(list.unknown("1", &["a".to_owned()]), ["b"]);
    }
}
