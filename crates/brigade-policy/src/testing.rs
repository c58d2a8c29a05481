//! Tests of a policy: `[[test]]` tables, which say what the policy decides about a call.
//!
//! A test of a tool in the catalog is evaluated by a command. One that states the facts of a tool itself is inline: it
//! is evaluated whenever the policy is read, and makes it invalid if it fails, because a rule that does not do what its
//! author wrote down is a broken rule.
//!
//! A test assumes what the policy does not decide: that the agent is one of the gateway, a person reviewed the tool, no
//! rule has expired or reached its limit, and all variables are set.

use std::fmt;
use std::str::FromStr;

use brigade_catalog::Tool;
use brigade_core::{AgentName, ConfigIssue, ErrorCode, Json, Place, Severity, Timestamp};

use crate::approval::{
    self, Action, Approval, ArgumentCheck, Arguments, Reason, Request, ReviewState, ToolApproval,
};
use crate::{CallFacts, PolicyState, decide, risk_of};

/// The beginning of the message of a failed test.
const FAILED: &str = "the test fails: ";

/// A `[[test]]` table.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyTest {
    /// The place of the table.
    pub place: Place,
    /// The tool.
    pub subject: TestSubject,
    /// The arguments.
    pub args: Json,
    /// The agent that calls. Absent: a person.
    pub agent: Option<AgentName>,
    /// The expected decision.
    pub expect: Expectation,
    /// A code that must be among the reasons.
    pub because: Option<String>,
}

/// The tool of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum TestSubject {
    /// The tool of the catalog with this id.
    Catalog(String),
    /// A tool with these facts.
    Inline(Box<Tool>),
}

/// What a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Nothing blocks the call.
    Allowed,
    /// The policy blocks it.
    Blocked,
    /// A person decides about it.
    Asks,
    /// The rule with this name approves it.
    Rule(String),
}

impl FromStr for Expectation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Expectation, &'static str> {
        match text {
            "allowed" => Ok(Expectation::Allowed),
            "blocked" => Ok(Expectation::Blocked),
            "asks" => Ok(Expectation::Asks),
            _ => {
                let name = text.strip_prefix("rule:").map(str::trim).filter(|name| !name.is_empty());
                let rule = name.map(|name| Expectation::Rule(name.to_owned()));
                rule.ok_or("expected \"allowed\", \"blocked\", \"asks\" or \"rule:NAME\"")
            }
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Allowed => f.write_str("allowed"),
            Expectation::Blocked => f.write_str("blocked"),
            Expectation::Asks => f.write_str("asks"),
            Expectation::Rule(name) => write!(f, "rule:{name}"),
        }
    }
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// What the policy decides.
    pub got: Expectation,
    /// The codes of its reasons.
    pub codes: Vec<String>,
    /// Whether that is what the test expects.
    pub passed: bool,
}

impl PolicyTest {
    /// Evaluates the test for a tool. `own` is the approval in the row of a built-in tool.
    pub fn evaluate(&self, state: &PolicyState, tool: &Tool, own: Option<ToolApproval>) -> TestResult {
        let (got, codes) = self.decide(state, tool, own);
        let is_expected = match (&self.expect, &got) {
            // Whether a person has to agree is another question.
            (Expectation::Allowed, got) => *got != Expectation::Blocked,
            (expect, got) => expect == got,
        };
        let is_because = self.because.as_ref().is_none_or(|code| codes.contains(code));
        TestResult { passed: is_expected && is_because, got, codes }
    }

    fn decide(
        &self,
        state: &PolicyState,
        tool: &Tool,
        own: Option<ToolApproval>,
    ) -> (Expectation, Vec<String>) {
        let decision = decide(state, &CallFacts::from_tool(tool), &|_: &str| true);
        if !decision.blockers.is_empty() {
            let mut codes: Vec<String> = Vec::new();
            for code in decision.blockers.into_iter().map(|blocker| blocker.code.into_owned()) {
                if !code.is_empty() && !codes.contains(&code) {
                    codes.push(code);
                }
            }
            return (Expectation::Blocked, codes);
        }
        let rules = state.policy().map(|policy| policy.auto_approve.as_slice()).unwrap_or_default();
        let agents: Vec<AgentName> = self.agent.iter().cloned().collect();
        let request = Request {
            tool: approval::ToolFacts {
                id: tool.id.as_str(),
                effects: &tool.effects,
                risk: risk_of(tool.risk_class, &tool.effects),
                approval_mode: tool.approval_mode,
                own,
                profiles: Action::Allow,
                is_full_auto: false,
                runs_any_command: false,
                check: ArgumentCheck::Checked,
                reviewed: &ReviewState::Yes,
            },
            call: Some(approval::CallFacts {
                agent: self.agent.as_ref().map(AgentName::as_str),
                agents: &agents,
                rules,
                within: None,
                now: Timestamp::from_unix_micros(0),
                approved_last_hour: &|_| 0,
                arguments: Some(Arguments { written: &self.args, followed: &self.args, command: None }),
                pin_changed: false,
                for_person: None,
                is_passed: false,
                is_end_unknown: false,
                secrets: &[],
            }),
        };
        match approval::decide(&request) {
            Approval::Rule(rule) => (Expectation::Rule(rule.name.clone()), Vec::new()),
            Approval::NotNeeded(_) => (Expectation::Allowed, Vec::new()),
            Approval::Person(reasons) => {
                let mut codes: Vec<String> =
                    reasons.iter().map(|reason| code_of(reason).to_owned()).collect();
                codes.dedup();
                (Expectation::Asks, codes)
            }
        }
    }
}

/// Returns the code of a reason for asking a person.
fn code_of(reason: &Reason<'_>) -> &'static str {
    match reason {
        Reason::AlwaysAsks => "always_asks",
        Reason::Profiles(_) => "profiles",
        Reason::ToolAsks => "tool_asks",
        Reason::AnyCommand => "any_command",
        Reason::Unchecked => "unchecked",
        Reason::NotReviewed => "not_reviewed",
        Reason::EndUnknown => "end_unknown",
        Reason::ForPerson => "for_person",
        Reason::NoRules => "no_rules",
        Reason::NotCovered(..) => "not_covered",
    }
}

/// Evaluates the inline tests of a valid policy, and returns an error for each that fails.
pub(crate) fn failed_tests(state: &PolicyState) -> Vec<ConfigIssue> {
    let Some(policy) = state.policy() else { return Vec::new() };
    let mut issues = Vec::new();
    for (index, test) in policy.tests.iter().enumerate() {
        let TestSubject::Inline(tool) = &test.subject else { continue };
        let result = test.evaluate(state, tool, None);
        if !result.passed {
            issues.push(ConfigIssue {
                severity: Severity::Error,
                place: test.place.clone(),
                entry: None,
                field: Some(format!("test[{}]", index + 1)),
                message: format!("{FAILED}{}", test.difference(&result)),
                hint: None,
            });
        }
    }
    issues
}

impl PolicyTest {
    /// Returns what a test expects, and what it got instead.
    pub fn difference(&self, result: &TestResult) -> String {
        let because = self.because.as_ref().map(|code| format!(" because of {code}")).unwrap_or_default();
        let codes =
            if result.codes.is_empty() { String::new() } else { format!(" ({})", result.codes.join(", ")) };
        format!("expected {}{because}, got {}{codes}", self.expect, result.got)
    }
}

/// Returns the code of an error of an invalid policy.
pub(crate) fn error_code(issue: &ConfigIssue) -> ErrorCode {
    match issue {
        issue if issue.is_tracked() => ErrorCode::TrackedState,
        issue if issue.message.starts_with(FAILED) => ErrorCode::PolicyTestFailed,
        _ => ErrorCode::PolicyInvalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "denied_effects = ['network']\nallowed_families = ['mcp']\n\
        [[auto_approve]]\nname = 'reads'\ntools = ['git-*']\neffects = ['local-read']\nexpires = '2020-01-01'\n\
        arguments = { path = 'docs/**' }\n[[test]]\n";

    /// Returns the errors of a policy with one test.
    fn errors(test: &str) -> Vec<String> {
        let text = format!("{RULES}{test}");
        let state = PolicyState::parse("policy.toml", Some(text.as_bytes()));
        state.issues().iter().map(|issue| issue.message.clone()).collect()
    }

    #[track_caller]
    fn check(test: &str, expect: &[&str]) {
        assert_eq!(errors(test), expect, "{test}");
    }

    #[test]
    fn a_failed_inline_test_makes_the_policy_invalid() {
        check(
            "family = 'mcp'\neffects = ['network']\nexpect = 'blocked'\nbecause = 'policy_denied_effect'",
            &[],
        );
        check("family = 'script'\neffects = []\nexpect = 'blocked'", &[]);
        check("family = 'mcp'\neffects = ['local-read']\nexpect = 'allowed'", &[]);
        let read = "tool = 'git-log'\nfamily = 'mcp'\neffects = ['local-read']\nagent = 'codex'\n";
        check(&format!("{read}args = {{ path = 'docs/a.md' }}\nexpect = 'rule:reads'"), &[]);
        check(
            &format!("{read}args = {{ path = 'src/a.rs' }}\nexpect = 'asks'\nbecause = 'not_covered'"),
            &[],
        );
        check(
            &format!("{read}expect = 'rule:reads'"),
            &["the test fails: expected rule:reads, got asks (not_covered)"],
        );
        check(
            "family = 'mcp'\neffects = ['network']\nexpect = 'allowed'",
            &["the test fails: expected allowed, got blocked (policy_denied_effect)"],
        );
        let text = format!("{RULES}family = 'mcp'\neffects = ['network']\nexpect = 'allowed'");
        let state = PolicyState::parse("policy.toml", Some(text.as_bytes()));
        let decision = decide(&state, &CallFacts::missing("x"), &|_: &str| true);
        assert_eq!(decision.blockers[0].code, "policy_test_failed");
        assert!(decision.blockers[0].is_of_invalid_policy());
    }

    /// What is expected never changes what is decided.
    #[test]
    fn a_test_says_what_the_policy_decides() {
        let rows = [
            ("effects = ['network']", "", "blocked"),
            ("effects = ['local-read']", "", "asks"),
            ("effects = ['local-read']", "agent = 'codex'\nargs = { path = 'src/a.rs' }\n", "asks"),
            ("effects = ['local-read']", "agent = 'codex'\nargs = { path = 'docs/a.md' }\n", "rule:reads"),
        ];
        for (facts, call, got) in rows {
            for expect in ["allowed", "blocked", "asks"] {
                let test = format!("tool = 'git-log'\nfamily = 'mcp'\n{facts}\n{call}expect = '{expect}'");
                let passes = expect == got || expect == "allowed" && got != "blocked";
                let errors = errors(&test);
                assert_eq!(errors.is_empty(), passes, "{test}");
                let said =
                    errors.iter().all(|error| error.contains(&format!("expected {expect}, got {got}")));
                assert!(said, "{errors:?}");
            }
        }
    }

    #[test]
    fn a_test_without_sense_is_an_error() {
        check(
            "expect = 'allowed'",
            &["a test needs `tool`, or the facts of one such as `family` and `effects`"],
        );
        check("tool = 'x'", &["is missing"]);
        check(
            "tool = 'x'\nexpect = 'alowed'",
            &["expected \"allowed\", \"blocked\", \"asks\" or \"rule:NAME\""],
        );
        check(
            "tool = 'x'\nexpect = 'rule:reads'",
            &["a rule approves calls of agents only, so the test needs `agent`"],
        );
        // A tool of the catalog is not known here.
        check("tool = 'x'\nexpect = 'blocked'", &[]);
        check("tool = 'x'\nexpects = 'blocked'\nexpect = 'asks'", &["unknown key"]);
    }
}
