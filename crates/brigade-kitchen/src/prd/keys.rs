//! The keys of a PRD, in the order in which Brigade writes them.

/// The keys of the document.
pub(crate) const PRD: [&str; 9] = [
    "featureName",
    "branchName",
    "description",
    "createdAt",
    "walkaway",
    "testCommand",
    "constraints",
    "decisions",
    "tasks",
];

/// The keys of a task.
pub(crate) const TASK: [&str; 10] = [
    "id",
    "title",
    "description",
    "acceptanceCriteria",
    "verification",
    "manualVerification",
    "dependsOn",
    "exclusive",
    "complexity",
    "passes",
];

/// The keys of a verification with a type.
pub(crate) const VERIFICATION: [&str; 2] = ["type", "cmd"];

/// Returns whether a key is the author's own, without effect: `$schema`, or one that begins with `x-` or `_`.
pub(crate) fn is_own(key: &str) -> bool {
    key == "$schema" || key.starts_with("x-") || key.starts_with('_')
}
