//! The document of the tests of a policy.

use brigade_macros::{document, part};
use brigade_policy::ErrorLine;

/// `policy test`.
#[document("brigade.policy-test.v1", if self.valid && self.failed == 0)]
pub struct PolicyTestReport {
    /// The workspace root.
    pub target: String,
    /// The policy file.
    pub policy_path: String,
    /// Whether the policy can be read, so that its tests were evaluated.
    pub valid: bool,
    /// The problems, if it cannot.
    pub errors: Vec<ErrorLine>,
    /// How many tests passed.
    pub passed: usize,
    /// How many tests failed.
    pub failed: usize,
    /// The tests, in file order.
    pub tests: Vec<PolicyTestRow>,
}

/// One test of a policy.
#[part]
pub struct PolicyTestRow {
    /// The line of the test.
    pub line: Option<usize>,
    /// The id of the tool; `inline` for facts without one.
    pub tool: String,
    /// What the test expects: `allowed`, `blocked`, `asks` or `rule:NAME`.
    pub expect: String,
    /// What the policy decides; `null` if the catalog has no such tool.
    pub got: Option<String>,
    /// The code that the test expects among the reasons.
    pub because: Option<String>,
    /// The codes of the reasons.
    pub codes: Vec<String>,
    /// Whether the policy decides what the test expects.
    pub passed: bool,
}
