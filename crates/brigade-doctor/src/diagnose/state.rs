//! Diagnoses the state as a whole.

use brigade_core::Place;

use crate::{Issue, IssueType, Snapshot};

/// The maximum number of files in a sentence.
const MAX_NAMED_FILES: usize = 3;

pub(super) fn state(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    for part in &snapshot.unread {
        let issue = Issue::new(IssueType::StateUnreadable, format!("{}: {}", part.file, part.problem));
        found.push(issue.subject(part.file.as_str()).at(Place::file(&part.file)));
    }
    for lock in &snapshot.left_locks {
        let issue = Issue::new(IssueType::LeftLock, format!("{lock}: the process that took it is gone"));
        found.push(issue.subject(lock.as_str()).at(Place::file(lock)));
    }
    let problem = snapshot.key_problem.iter().map(|why| format!("no approval counts: {why}"));
    found.extend(problem.map(|detail| Issue::new(IssueType::NotApprovedHere, detail)));
    let Some(first) = snapshot.wide_modes.first() else { return };
    let named: Vec<&str> = snapshot.wide_modes.iter().take(MAX_NAMED_FILES).map(String::as_str).collect();
    let more = if MAX_NAMED_FILES < snapshot.wide_modes.len() { ", …" } else { "" };
    let detail = format!("open to other users: {}{more}", named.join(", "));
    found.push(Issue::new(IssueType::WideModes, detail).at(Place::file(first)));
}
