//! Orphans: managed files that no catalog entry projects.

use std::borrow::Cow;
use std::collections::HashSet;

use brigade_catalog::Catalog;
use brigade_core::{Fingerprint, words};

use crate::facts::{relative_path, wanted};
use crate::header::Header;

/// A file on disk that may be a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundFile<'a> {
    /// Its path, relative to the workspace.
    pub path: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Why a file is an orphan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrphanCause {
    /// The catalog has no such tool.
    ToolGone,
    /// The tool is disabled.
    ToolDisabled,
    /// The tool no longer projects for that harness.
    HarnessDropped,
    /// The tool projects for that harness to another path.
    Moved {
        /// The configured path.
        to: String,
    },
}

words! {
    /// The kind of an orphan, as a word.
    OrphanReason {
        /// The catalog has no such tool.
        ToolGone = "tool-gone",
        /// The tool is disabled.
        ToolDisabled = "tool-disabled",
        /// The tool no longer projects for that harness.
        HarnessDropped = "harness-dropped",
        /// The tool projects for that harness to another path.
        Moved = "moved",
    }
}

impl OrphanCause {
    /// Returns the cause as a word.
    pub fn reason(&self) -> OrphanReason {
        match self {
            OrphanCause::ToolGone => OrphanReason::ToolGone,
            OrphanCause::ToolDisabled => OrphanReason::ToolDisabled,
            OrphanCause::HarnessDropped => OrphanReason::HarnessDropped,
            OrphanCause::Moved { .. } => OrphanReason::Moved,
        }
    }
}

words! {
    /// What pruning does with an orphan.
    PruneAction {
        /// It removes the file.
        Prune = "prune",
        /// It keeps the file.
        Keep = "keep",
    }
}

words! {
    /// Whether an orphan may be removed.
    Prunable {
        /// Yes: it was not edited, so nothing is lost.
        Yes = "yes",
        /// No: it was edited.
        Edited = "edited",
        /// No: the catalog is invalid, so its projections are unknown.
        CatalogBroken = "catalog-broken",
    }
}

/// An orphaned file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Its header.
    pub header: Header,
    /// Why it is an orphan.
    pub cause: OrphanCause,
    /// Whether it may be removed.
    pub prunable: Prunable,
    /// The fingerprint of its body, without the header.
    pub body: Fingerprint,
    /// The sha256 of its bytes. Remove the file only if it still has this fingerprint.
    pub fingerprint: Fingerprint,
}

/// Lists the managed files that no entry projects, in the order found.
///
/// A file is not an orphan if any tool projects to its path, or if the entry of its tool is broken.
pub fn orphans<'a>(
    root: &str,
    found: impl IntoIterator<Item = FoundFile<'a>>,
    catalog: &Catalog,
) -> Vec<Orphan> {
    let mut found = found.into_iter().peekable();
    if found.peek().is_none() {
        return Vec::new();
    }
    let in_use = catalog.tools().iter().filter(|tool| tool.enabled || tool.is_broken);
    let claimed: HashSet<Cow<'_, str>> = in_use
        .flat_map(|tool| tool.projections.values())
        .filter_map(|path| relative_path(root, path).ok())
        .collect();
    let orphan = |file: FoundFile<'a>| {
        if claimed.contains(file.path) {
            return None;
        }
        let (header, body) = Header::read(file.bytes)?;
        let cause = cause(&header, catalog)?;
        let body = Fingerprint::of_bytes(body.as_bytes());
        let prunable = if !catalog.is_whole() {
            Prunable::CatalogBroken
        } else if header.projection_fingerprint.matches(body) {
            Prunable::Yes
        } else {
            Prunable::Edited
        };
        let fingerprint = Fingerprint::of_bytes(file.bytes);
        Some(Orphan { path: file.path.to_owned(), header, cause, prunable, body, fingerprint })
    };
    found.filter_map(orphan).collect()
}

fn cause(header: &Header, catalog: &Catalog) -> Option<OrphanCause> {
    let Some(tool) = catalog.tool(&header.tool_id) else { return Some(OrphanCause::ToolGone) };
    if tool.is_broken {
        return None;
    }
    if !tool.enabled {
        return Some(OrphanCause::ToolDisabled);
    }
    let path = wanted(tool)
        .into_iter()
        .find(|wanted| wanted.harness == header.harness)
        .and_then(|wanted| wanted.path);
    Some(path.map_or(OrphanCause::HarnessDropped, |to| OrphanCause::Moved { to: to.to_owned() }))
}

#[cfg(test)]
mod tests;
