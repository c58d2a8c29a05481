//! What is wrong with the state as a whole.

use brigade_core::Place;

use crate::{Issue, IssueType, Snapshot};

/// How many files are named.
const NAMED: usize = 3;

pub(super) fn state(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    let Some(first) = snapshot.wide_modes.first() else { return };
    let count = snapshot.wide_modes.len();
    let named: Vec<&str> = snapshot.wide_modes.iter().take(NAMED).map(String::as_str).collect();
    let what = if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") };
    let more = if NAMED < count { ", …" } else { "" };
    let detail = format!("{what} open to other users: {}{more}", named.join(", "));
    found.push(Issue::new(IssueType::WideModes, detail).at(Place::file(first)));
}
