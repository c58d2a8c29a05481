//! Reads the configuration files.

use std::borrow::Cow;

use brigade_catalog::{Catalog, Reads, Tool};
use brigade_core::NextStep;
pub(crate) use brigade_facts::errors_of;
use brigade_facts::{Host, read_catalog, read_policy, read_user_catalog, unreadable};
use brigade_policy::{Diagnosis, ErrorLine, PolicyState};
use brigade_redact::Redactor;

use crate::error::Error;
use crate::gather;
use crate::gather::Config;
use crate::room::{CATALOG, Room};

/// Reads the catalog of the workspace, and the tools of the user. A missing or unreadable file is an empty catalog with
/// an issue. If a file is there and cannot be read, nobody knows what of the user it would hide, so nothing of the user
/// is used.
pub(crate) fn catalog(room: &Room) -> Result<Catalog, Error> {
    catalog_from(room, gather::host(room))
}

/// Like [`catalog`], with the files of this host.
pub(crate) fn catalog_from(room: &Room, host: Host<'_>) -> Result<Catalog, Error> {
    let project = match read_catalog(host.fs) {
        Ok(catalog) => catalog,
        Err(error) => {
            let is_missing = error.is_not_found();
            let issue = unreadable(CATALOG, error, room.spelled(NextStep::Init))?;
            let catalog = Catalog::new(Vec::new(), vec![issue]);
            if !is_missing {
                return Ok(catalog);
            }
            catalog
        }
    };
    Ok(match read_user_catalog(&host) {
        Some(user) => project.with_user(user),
        None => project,
    })
}

/// Returns the code and help of the first error, and the places of all. Absent without errors.
pub(crate) fn diagnosis(room: &Room, errors: &[ErrorLine]) -> Option<Diagnosis> {
    let first = errors.first()?.fault();
    let sources = room.sources();
    let label = |error: &ErrorLine| {
        let mut fault = error.fault().clone();
        sources.look_up(&mut fault);
        fault.label()
    };
    Some(Diagnosis {
        code: first.code.clone().into_owned(),
        labels: errors.iter().filter_map(label).collect(),
        help: first.help.clone().map(|help| room.spelled(help).to_string()),
    })
}

/// Reads the policy. An unreadable policy blocks everything.
pub(crate) fn policy(room: &Room) -> PolicyState {
    read_policy(&*room.fs)
}

/// Finds a tool in order to show it, by its id, an alias or `<source>:<id>`. It may be disabled.
pub(crate) fn any_tool<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Tool, Error> {
    match catalog.named(name) {
        Some(tool) => Ok(tool),
        None => named_tool(catalog, name),
    }
}

/// Finds tools as [`any_tool`] does, each once.
pub(crate) fn any_tools<'c>(catalog: &'c Catalog, names: &[String]) -> Result<Vec<&'c Tool>, Error> {
    let mut tools = names.iter().map(|name| any_tool(catalog, name)).collect::<Result<Vec<_>, Error>>()?;
    let mut seen = std::collections::HashSet::new();
    tools.retain(|tool| seen.insert(tool.id.as_str()));
    Ok(tools)
}

/// Finds an enabled tool that somebody named: by its id, an alias or `<source>:<id>`.
pub(crate) fn named_tool<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Tool, Error> {
    Ok(catalog.find_named(name)?)
}

/// Finds a tool in order to explain what decides on it: one of the catalog, or one that reads what gateway.toml offers
/// of MCP servers, with the effects of all of them.
pub(crate) fn explained<'c>(
    room: &Room,
    config: &'c Config,
    name: &str,
    find: for<'t> fn(&'t Catalog, &str) -> Result<&'t Tool, Error>,
) -> Result<Cow<'c, Tool>, Error> {
    match Reads::of_tool_id(name.trim()) {
        Some(reads) => Ok(Cow::Owned(config.reader(&gather::host(room), reads)?)),
        None => find(&config.catalog, name).map(Cow::Borrowed),
    }
}

/// Finds an enabled tool by the id in a record.
pub(crate) fn tool<'c>(catalog: &'c Catalog, id: &str) -> Result<&'c Tool, Error> {
    Ok(catalog.find(id)?)
}

/// Returns the id that a name of a filter means. Records hold ids, also of tools that are gone.
pub(crate) fn id_of(room: &Room, name: &str) -> Result<String, Error> {
    Ok(catalog(room)?.named(name).map_or(name, |tool| tool.id.as_str()).to_owned())
}

/// Returns an unknown typed id for display. It may be a secret that was typed by mistake.
pub(crate) fn shown_id(id: &str) -> String {
    brigade_core::text::escape_terminal(&Redactor::new(&[]).redact_str(id)).into_owned()
}
