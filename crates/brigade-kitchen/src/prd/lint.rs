//! Lints: warnings about tasks that are valid but may not be done well.

use brigade_core::words;

use super::{Fault, FaultCode, Prd, Task, VerificationKind};
use crate::words::Words;

/// The optional lints that check a PRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lints {
    /// Criteria that cannot be checked (`CRITERIA_LINT_ENABLED`).
    pub criteria: bool,
    /// A PRD whose verification only looks for files and texts (`VERIFICATION_WARN_GREP_ONLY`).
    pub pattern_only: bool,
    /// A PRD in which nothing runs the feature as a whole (`E2E_DETECTION_ENABLED`).
    pub end_to_end: bool,
    /// A task without criteria, complexity, or the verification that its title needs.
    pub tasks: bool,
    /// A task that no command verifies. A test command of the configuration verifies all.
    pub unverified: bool,
}

impl Lints {
    /// All lints, the default.
    pub const ALL: Lints =
        Lints { criteria: true, pattern_only: true, end_to_end: true, tasks: true, unverified: true };

    /// No lints, for readers that only need to know whether a PRD is valid.
    pub const NONE: Lints =
        Lints { criteria: false, pattern_only: false, end_to_end: false, tasks: false, unverified: false };
}

use VerificationKind::{Integration, Smoke, Unit};

/// The kinds of verification that a task needs, by words of its title.
const COVERAGE: &[(&[&str], &[VerificationKind])] = &[
    (&["connect", "integrate", "wire"], &[Integration]),
    (&["flow", "workflow", "user can"], &[Smoke, Integration]),
    (&["add", "create", "implement"], &[Unit, Integration]),
];

/// Phrases that make a criterion vague.
const VAGUE: &str = include_str!("vague.txt");

/// The warning about a task that nothing verifies.
const UNVERIFIED: &str = "nothing verifies the task, so it is done when its worker says so";

pub(super) fn check(prd: &Prd, lints: Lints, report: &mut impl FnMut(Fault)) {
    let is_tested = prd.test_command.is_some();
    for task in prd.tasks.iter().filter(|_| lints.tasks) {
        let mut warn = |code: FaultCode, field: &str, message: String| {
            let (field, place) = (task.field(field), task.place.clone());
            let task = Some(task.id.to_string());
            report(Fault { code, task, field: Some(field), message, place });
        };
        if task.acceptance_criteria.is_empty() {
            warn(
                FaultCode::NoCriteria,
                "acceptanceCriteria",
                "the task has no acceptance criteria".to_owned(),
            );
        }
        if task.complexity.is_none() {
            warn(FaultCode::NoComplexity, "complexity", "no complexity, so Brigade decides".to_owned());
        }
        if lints.unverified && !is_tested && task.is_unverified() {
            warn(FaultCode::NoVerification, "verification", UNVERIFIED.to_owned());
        } else if let Some(message) = coverage(task) {
            warn(FaultCode::Coverage, "verification", message);
        }
        for (index, criterion) in task.acceptance_criteria.iter().enumerate().filter(|_| lints.criteria) {
            if let Some(phrase) = vague_word(criterion) {
                let field = format!("acceptanceCriteria[{index}]");
                let message = format!("`{phrase}` is vague; say how to check the criterion");
                warn(FaultCode::VagueCriterion, &field, message);
            }
        }
    }
    if prd.tasks.iter().any(|task| task.verification_has_errors) {
        return;
    }
    let mut entries = prd.tasks.iter().flat_map(|task| &task.verification).peekable();
    let Some(place) = entries.peek().map(|entry| entry.place.clone()) else { return };
    let only_patterns = entries.all(|entry| entry.kind == VerificationKind::Pattern);
    let mut warn = |code: FaultCode, message: &str| {
        let (message, place) = (message.to_owned(), place.clone());
        report(Fault { code, task: None, field: None, message, place });
    };
    if lints.pattern_only && only_patterns {
        warn(FaultCode::PatternOnly, "all verification only looks for files and texts, so nothing is run");
    }
    let runs_whole = prd.tasks.iter().any(|task| task.verifies(&[Integration, Smoke]));
    if lints.end_to_end && 1 < prd.tasks.len() && !only_patterns && !runs_whole {
        warn(
            FaultCode::NoEndToEnd,
            "no task has integration or smoke verification, so nothing runs the feature",
        );
    }
}

words! {
    /// The kind of work that the title of a task describes.
    CoverageKind {
        /// Something new.
        Create = "create",
        /// Parts that must work together.
        Connect = "connect",
        /// A user flow through several parts.
        Flow = "flow",
        /// Anything else.
        Other = "other",
    }
}

/// Returns the kind of work that the title of a task describes.
pub fn coverage_kind(task: &Task) -> CoverageKind {
    let title = Words::new(&task.title);
    let kinds = [CoverageKind::Connect, CoverageKind::Flow, CoverageKind::Create].into_iter().zip(COVERAGE);
    let found = kinds.into_iter().find(|(_, (words, _))| words.iter().any(|word| title.has(word)));
    found.map_or(CoverageKind::Other, |(kind, _)| kind)
}

/// Returns which verification a task lacks for the work in its title.
fn coverage(task: &Task) -> Option<String> {
    if task.verification_has_errors {
        return None;
    }
    let title = Words::new(&task.title);
    let (words, kinds) = COVERAGE.iter().find(|(words, _)| words.iter().any(|word| title.has(word)))?;
    if task.verifies(kinds) {
        return None;
    }
    let word = words.iter().find(|word| title.has(word))?;
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    Some(format!("a task to `{word}` needs {} verification", kinds.join(" or ")))
}

/// Returns the phrase that makes a criterion vague. A number or a quoted text makes any criterion checkable.
fn vague_word(criterion: &str) -> Option<&'static str> {
    let is_exact = criterion.contains(|c: char| c.is_ascii_digit() || matches!(c, '`' | '"' | '\''));
    if is_exact {
        return None;
    }
    let words = Words::new(criterion);
    // The longest phrase explains the most.
    let found = VAGUE.lines().filter(|phrase| words.has_exactly(phrase));
    found.max_by_key(|phrase| phrase.len())
}
