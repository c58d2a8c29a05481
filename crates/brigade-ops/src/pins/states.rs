//! The pins of MCP tools, prepared for a diagnosis.

use brigade_catalog::Catalog;
use brigade_doctor::{PinProblem, PinState};
use brigade_fs::FsError;
use brigade_mcp::{McpTool, PINS, PinStore, ServerState, sentence};

/// Lists pins that no longer match, unreadable pin files, and servers with a changed tool list.
pub fn pin_states(store: PinStore<'_>, catalog: &Catalog) -> Result<Vec<PinState>, FsError> {
    let (pins, broken) = store.all()?;
    let mut keys = Vec::new();
    if !pins.is_empty() || !broken.is_empty() {
        for tool in catalog.tools() {
            keys.extend(store.key(catalog, tool)?.map(|key| (key, tool.id.as_str())));
        }
    }
    let asks_for = |wanted: &dyn Fn(&McpTool) -> bool| {
        keys.iter().find(|(key, _)| wanted(key)).map(|(_, id)| (*id).to_owned())
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
    Ok(of_pins.chain(of_broken).chain(of_servers).collect())
}

/// Returns the changes in a server's tool list.
fn server_problems(state: &ServerState) -> impl Iterator<Item = PinState> {
    let problem = |names: &[String], what: &str, of: fn(String) -> PinProblem| {
        (!names.is_empty()).then(|| PinState {
            id: state.listing.id(),
            file: state.listing.path().to_string(),
            tool_id: None,
            problem: of(sentence(names, what)),
        })
    };
    let appeared = problem(&state.appeared, "appeared", PinProblem::Appeared);
    appeared.into_iter().chain(problem(&state.vanished, "vanished", PinProblem::Gone))
}
