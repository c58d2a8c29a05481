//! What a person looks at every day, as plain data: what waits, what ran, and the life of one call.
//!
//! Each view is a document. Interfaces draw it, and decide nothing.

pub(crate) mod always;
pub(crate) mod choosing;
pub(crate) mod daily;
pub(crate) mod history;
pub(crate) mod life;
pub(crate) mod marks;
pub(crate) mod numbers;
pub(crate) mod pages;
pub(crate) mod parts;
pub(crate) mod pending;
pub(crate) mod review;
pub(crate) mod series;
pub(crate) mod statistics;
pub(crate) mod things;

use brigade_call::{Caller, RunReview};
use brigade_core::Json;
use brigade_core::text::short;

/// The maximum number of characters of one argument in a row.
const MAX_ARGUMENT: usize = 60;

/// The maximum number of characters of all arguments in a row.
const MAX_ARGUMENTS: usize = 240;

/// Formats arguments for one row: short values first, sorted by name, long texts cut.
///
/// ```
/// use brigade_core::Json;
///
/// let args = Json::parse(r#"{"path": "src/a.rs", "depth": 2}"#).unwrap();
/// assert_eq!(brigade_ops::arguments_line(&args), "depth=2 path=src/a.rs");
/// ```
pub fn arguments_line(args: &Json) -> String {
    let Some(members) = args.as_object() else { return short(&args.to_compact(), MAX_ARGUMENTS) };
    let value = |value: &Json| match value.as_str() {
        Some(text) if !text.is_empty() && !text.contains(char::is_whitespace) => text.to_owned(),
        _ => value.to_compact(),
    };
    let (brief, long): (Vec<_>, Vec<_>) = members
        .iter()
        .map(|(name, json)| (name, value(json)))
        .partition(|(_, value)| value.chars().count() <= MAX_ARGUMENT);
    let written = brief.into_iter().chain(long);
    let written: Vec<String> =
        written.map(|(name, value)| format!("{name}={}", short(&value, MAX_ARGUMENT))).collect();
    short(&written.join(" "), MAX_ARGUMENTS)
}

/// Returns the name of a caller for people: the agent, or `you` at the command line.
pub fn who(caller: &Caller) -> String {
    caller.for_people()
}

/// Returns who or which rule approved, for people.
pub(crate) fn approver(review: &RunReview) -> String {
    if let Some(rule) = &review.rule {
        return format!("rule {rule}");
    }
    match (&review.agent, &review.row) {
        (Some(agent), _) => format!("person, in {agent}"),
        (None, Some(_)) => "not needed".to_owned(),
        (None, None) if review.reviewed_at.is_some() => "person".to_owned(),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expect: &str) {
        assert_eq!(arguments_line(&Json::parse(args).unwrap()), expect);
    }

    #[test]
    fn arguments_are_one_line_with_short_values_first() {
        check(r#"{"content": "a b", "path": "x"}"#, r#"content="a b" path=x"#);
        let long = "y".repeat(200);
        check(
            &format!(r#"{{"content": "{long}", "path": "x"}}"#),
            &format!("path=x content={}...", "y".repeat(57)),
        );
        check("{}", "");
        check(r#"{"n": 1, "list": [1, 2], "empty": ""}"#, r#"empty="" list=[1,2] n=1"#);
        check("[1]", "[1]");
    }

    #[test]
    fn an_approver_is_a_person_a_rule_or_neither() {
        let reported = |change: &dyn Fn(&mut RunReview)| {
            let mut review = RunReview::default();
            change(&mut review);
            approver(&review)
        };
        let at = "2026-01-02T00:00:00Z".parse().ok();
        assert_eq!(reported(&|_| ()), "");
        assert_eq!(reported(&|review| review.reviewed_at = at), "person");
        assert_eq!(reported(&|review| review.agent = "ann".parse().ok()), "person, in ann");
        let by_rule = reported(&|review| {
            review.agent = "ann".parse().ok();
            review.rule = Some("reads".to_owned());
        });
        assert_eq!(by_rule, "rule reads");
    }
}
