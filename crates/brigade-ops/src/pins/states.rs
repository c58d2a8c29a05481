//! The pins of MCP tools, prepared for a diagnosis.

use std::collections::BTreeMap;

use brigade_catalog::Catalog;
use brigade_core::text::escape_terminal;
use brigade_doctor::{PinProblem, PinState};
use brigade_fs::FsError;
use brigade_mcp::{McpTool, PINS, PinRecord, PinStore, ServerState, sentence};

/// Lists pins that no longer match, unreadable pin files, and servers with a changed tool list.
pub fn pin_states(store: PinStore<'_>, catalog: &Catalog) -> Result<Vec<PinState>, FsError> {
    let (pins, broken) = store.all()?;
    let mut keys = Vec::new();
    if !pins.is_empty() || !broken.is_empty() {
        for tool in catalog.tools() {
            keys.extend(store.key(catalog, tool)?.map(|key| (key, tool.id.as_str())));
        }
    }
    let asks_for = |is_wanted: &dyn Fn(&McpTool) -> bool| {
        keys.iter().find(|(key, _)| is_wanted(key)).map(|(_, id)| (*id).to_owned())
    };
    let of_pins = pins.iter().filter_map(|pin| {
        let problem = match (&pin.missing_since, &pin.offered) {
            (Some(_), _) => PinProblem::Vanished,
            (None, Some(offered)) => {
                PinProblem::Changed { changes: pin.changes(), offered: offered.fingerprint() }
            }
            (None, None) => return None,
        };
        let file = format!("{PINS}/{}", pin.tool.file_name());
        Some(PinState { id: pin.id(), file, tool_id: asks_for(&|mcp| *mcp == pin.tool), problem })
    });
    let of_broken = broken.iter().map(|broken| {
        let name = broken.path.name();
        PinState {
            id: name.trim_end_matches(".json").to_owned(),
            file: broken.path.to_string(),
            tool_id: asks_for(&|mcp| mcp.file_name() == name),
            problem: PinProblem::Unreadable(broken.trouble.to_string()),
        }
    });
    let servers = store.servers(catalog, &pins)?;
    let of_servers = servers.iter().flat_map(server_problems);
    let mut found: Vec<PinState> = of_pins.chain(of_broken).chain(of_servers).collect();
    found.extend(updated_servers(&pins, &servers));
    Ok(found)
}

/// Returns one problem for each server that lists something else than pins and catalog.
fn updated_servers(pins: &[PinRecord], servers: &[ServerState]) -> Vec<PinState> {
    let mut changes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pin in pins.iter().filter(|pin| pin.offered.is_some() && pin.missing_since.is_none()) {
        let name = escape_terminal(&pin.tool.tool).into_owned();
        changes.entry(&pin.tool.server).or_default().push(format!("`{name}` changed"));
    }
    for state in servers {
        let list = changes.entry(&state.listing.server).or_default();
        for (names, what) in [(&state.appeared, "appeared"), (&state.vanished, "vanished")] {
            list.extend((!names.is_empty()).then(|| sentence(names, what)));
        }
    }
    changes.retain(|_, changes| !changes.is_empty());
    let state = |(server, changes): (&str, Vec<String>)| PinState {
        id: server.to_owned(),
        file: PINS.to_owned(),
        tool_id: None,
        problem: PinProblem::Updated(changes.join("; ")),
    };
    changes.into_iter().map(state).collect()
}

/// Returns the changes in a server's tool list.
fn server_problems(state: &ServerState) -> impl Iterator<Item = PinState> {
    let problem = |names: &[String], what: &str, make_problem: fn(String) -> PinProblem| {
        (!names.is_empty()).then(|| PinState {
            id: state.listing.id(),
            file: state.listing.path().to_string(),
            tool_id: None,
            problem: make_problem(sentence(names, what)),
        })
    };
    let appeared = problem(&state.appeared, "appeared", PinProblem::Appeared);
    appeared.into_iter().chain(problem(&state.vanished, "vanished", PinProblem::Gone))
}
