//! Reads the configuration files.

use brigade_catalog::Catalog;
use brigade_core::{ConfigIssue, Hint, NextStep, Place, Severity};
use brigade_facts::{read_catalog, read_policy};
use brigade_fs::{FsError, FsErrorKind};
use brigade_policy::{ErrorLine, PolicyState};
use brigade_redact::Redactor;

use crate::error::Error;
use crate::room::{CATALOG, Room};

/// Reads the catalog. A missing or unreadable file is an empty catalog with an issue.
pub(crate) fn catalog(room: &Room) -> Result<Catalog, Error> {
    read_catalog(&*room.fs).or_else(|error| {
        let issue = unreadable(CATALOG, error, room.spelled(NextStep::Init))?;
        Ok(Catalog::new(Vec::new(), vec![issue]))
    })
}

/// Reads the policy. An unreadable policy blocks everything.
pub(crate) fn policy(room: &Room) -> PolicyState {
    read_policy(&*room.fs)
}

/// Returns the errors of a catalog.
pub(crate) fn errors_of(catalog: &Catalog) -> Vec<ErrorLine> {
    let errors = catalog.issues().iter().filter(|issue| issue.severity == Severity::Error);
    errors.map(ErrorLine::from).collect()
}

/// Finds a tool in order to show it. It may be disabled.
pub(crate) fn any_tool<'c>(catalog: &'c Catalog, id: &str) -> Result<&'c brigade_catalog::Tool, Error> {
    match catalog.tool(id.trim()) {
        Some(tool) => Ok(tool),
        None => tool(catalog, id),
    }
}

/// Finds an enabled tool.
pub(crate) fn tool<'c>(catalog: &'c Catalog, id: &str) -> Result<&'c brigade_catalog::Tool, Error> {
    Ok(catalog.find(id)?)
}

/// Returns an unknown typed id for display. It may be a secret that was typed by mistake.
pub(crate) fn shown_id(id: &str) -> String {
    brigade_core::text::escape_terminal(&Redactor::new(&[]).redact_str(id)).into_owned()
}

/// Converts an unreadable configuration file into an issue, unless file access failed.
pub(crate) fn unreadable(file: &str, error: FsError, next: Hint) -> Result<ConfigIssue, Error> {
    let (message, hint) = match &error.kind {
        FsErrorKind::NotFound => ("the file does not exist".to_owned(), Some(next)),
        FsErrorKind::NotAFile
        | FsErrorKind::NotADirectory
        | FsErrorKind::Outside
        | FsErrorKind::DanglingLink
        | FsErrorKind::TooLarge { .. } => (error.kind.to_string(), None),
        _ => return Err(error.into()),
    };
    Ok(ConfigIssue {
        severity: Severity::Error,
        place: Place::file(file),
        entry: None,
        field: None,
        message,
        hint,
    })
}
