//! Files of the workspace: `fs.*`.
//!
//! A path is looked at three times: its text at the plan, where its links lead when the call acts, and every directory
//! on the way once more when it is opened, which follows no link. What is opened is what was looked at.

mod change;
mod ignored;
mod place;
mod read;
mod search;
#[cfg(test)]
mod tests;

use crate::run::Function;

/// What the tools of this family do.
pub(crate) const FUNCTIONS: &[(&str, Function)] = &[
    ("fs.create_dir", change::create_dir),
    ("fs.delete", change::delete),
    ("fs.edit", change::edit),
    ("fs.glob", search::glob),
    ("fs.grep", search::grep),
    ("fs.list", read::list),
    ("fs.multi_edit", change::multi_edit),
    ("fs.read", read::read),
    ("fs.write", change::write),
];
