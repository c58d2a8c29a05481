//! Reads the configuration files.

use brigade_catalog::Catalog;
use brigade_core::NextStep;
pub(crate) use brigade_facts::errors_of;
use brigade_facts::{read_catalog, read_policy, unreadable};
use brigade_fs::FsError;
use brigade_policy::PolicyState;
use brigade_redact::Redactor;

use crate::error::Error;
use crate::room::{CATALOG, Room};

/// Reads the catalog. A missing or unreadable file is an empty catalog with an issue.
pub(crate) fn catalog(room: &Room) -> Result<Catalog, Error> {
    Ok(read_catalog(&*room.fs).or_else(|error| {
        let issue = unreadable(CATALOG, error, room.spelled(NextStep::Init))?;
        Ok::<_, FsError>(Catalog::new(Vec::new(), vec![issue]))
    })?)
}

/// Reads the policy. An unreadable policy blocks everything.
pub(crate) fn policy(room: &Room) -> PolicyState {
    read_policy(&*room.fs)
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
