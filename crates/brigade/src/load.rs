//! Reading the configuration files.

use brigade_catalog::Catalog;
use brigade_core::{ConfigIssue, Hint, NextStep, Place, Severity};
use brigade_facts::{read_catalog, read_policy};
use brigade_fs::{FsError, FsErrorKind};
use brigade_policy::PolicyState;
use brigade_redact::Redactor;

use crate::error::Error;
use crate::fault::ErrorLine;
use crate::room::{CATALOG, Room};

/// Reads the catalog. One that is missing or cannot be read is empty, with an issue that says so.
pub(crate) fn catalog(room: &Room) -> Result<Catalog, Error> {
    read_catalog(&*room.fs).or_else(|error| {
        let issue = unreadable(CATALOG, error, room.spelled(NextStep::Init))?;
        Ok(Catalog::new(Vec::new(), vec![issue]))
    })
}

/// Reads the policy. One that cannot be read blocks everything.
pub(crate) fn policy(room: &Room) -> PolicyState {
    read_policy(&*room.fs)
}

/// Returns the errors of a catalog.
pub(crate) fn errors_of(catalog: &Catalog) -> Vec<ErrorLine> {
    let errors = catalog.issues().iter().filter(|issue| issue.severity == Severity::Error);
    errors.map(ErrorLine::from).collect()
}

/// Finds a tool, also one that is disabled, to be looked at.
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

/// Shows an id that was typed and that nothing has: it may be anything, a secret that went astray included.
pub(crate) fn shown_id(id: &str) -> String {
    brigade_core::text::escape_terminal(&Redactor::new(&[]).redact_str(id)).into_owned()
}

/// Turns a configuration file that cannot be read into an issue, unless the disk is at fault.
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
