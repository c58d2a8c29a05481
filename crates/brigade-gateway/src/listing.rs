//! Answers `tools/list` with pages, ordered by id.

use std::sync::Arc;

use brigade::profile::Listing;
use rmcp::ErrorData;
use rmcp::model::Tool;
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;
use crate::view::{AgentTool, View};

/// One page.
pub(crate) struct Page {
    pub(crate) tools: Vec<Tool>,
    pub(crate) next: Option<String>,
}

/// What a cursor holds, sealed with the key of the server.
#[derive(Serialize, Deserialize)]
struct Cursor {
    agent: String,
    listing: u64,
    after: usize,
}

/// Returns a page of the agent's tools.
pub(crate) fn page(
    gateway: &Gateway,
    agent: &Arc<str>,
    view: &View,
    cursor: Option<&str>,
) -> Result<Page, ErrorData> {
    let mode = gateway.list_mode();
    let listed: Vec<&AgentTool> = view.listed_as(mode).collect();
    let listing = view.lists_as(mode).tools;
    let after = match cursor {
        None => 0,
        Some(text) => {
            let cursor: Option<Cursor> = gateway.states.open_json(text).ok();
            let fits = |cursor: &Cursor| *cursor.agent == **agent && cursor.listing == listing;
            let wrong = || ErrorData::invalid_params("the cursor is not one of this list", None);
            cursor.filter(fits).ok_or_else(wrong)?.after
        }
    };
    let size = gateway.config().page_size;
    let tools = listed.iter().skip(after).take(size);
    let tools =
        tools.map(|tool| if mode == Listing::Compact { view.compact(tool) } else { tool.listed().clone() });
    let end = after.saturating_add(size);
    let next = (end < listed.len()).then(|| {
        let cursor = Cursor { agent: agent.to_string(), listing, after: end };
        gateway.states.seal_json(&cursor).expect("a cursor is JSON")
    });
    Ok(Page { tools: tools.collect(), next })
}
