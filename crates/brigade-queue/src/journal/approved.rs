//! Caches which calls of each tool a person approved last, so that finding them does not read the history.
//!
//! Calls that rules approve, possibly hundreds per hour, are not cached and cost nothing here. Without the file
//! `.brigade/tools/approved.json`, the last approval is searched among the newest runs. The caller checks the call that
//! the cache names.

use std::collections::BTreeMap;

use brigade_call::{ApprovedBy, CallStatus};
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{CallId, Dialect, Json};
use brigade_fs::{Fs, RelPath};
use serde::{Deserialize, Serialize};

use super::layout;
use crate::store::StoredCall;

/// The schema id of the file.
const SCHEMA: &str = "brigade.approved.v1";

/// The largest file that is read, and the maximum number of tools in it.
const LIMIT: u64 = 1 << 20;
const MAX_TOOLS: usize = 2_000;

/// How many calls of a tool are kept. A question about the last one is answered with the one before it.
const CALLS_PER_TOOL: usize = 2;

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ApprovedCalls {
    schema: String,
    /// The calls of each tool that a person approved last, newest first.
    tools: BTreeMap<String, Vec<CallId>>,
}

fn path() -> RelPath {
    layout::approved()
}

fn read(fs: &dyn Fs) -> ApprovedCalls {
    let known =
        fs.read(&path(), LIMIT).ok().and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Strict).ok());
    let known = known.and_then(|json| from_json::<ApprovedCalls>(&json).ok());
    known.filter(|known| known.schema == SCHEMA).unwrap_or_default()
}

/// Lists the calls of a tool that a person approved last, newest first.
pub(crate) fn last(fs: &dyn Fs, tool_id: &str) -> Vec<CallId> {
    read(fs).tools.remove(tool_id).unwrap_or_default()
}

/// Adds calls that a person has approved. A write error is ignored, because the file is a cache.
pub(crate) fn remember(fs: &dyn Fs, calls: &[StoredCall]) {
    let is_approved = |stored: &&StoredCall| {
        let by = stored.call.approval.as_ref().map(|approval| &approval.by);
        stored.call.status == CallStatus::Approved && by.is_some_and(ApprovedBy::is_person)
    };
    let mut approved = calls.iter().filter(is_approved).peekable();
    if approved.peek().is_none() {
        return;
    }
    let mut known = read(fs);
    if MAX_TOOLS <= known.tools.len() {
        known.tools.clear();
    }
    let mut is_changed = false;
    for StoredCall { call, .. } in approved {
        let of_tool = known.tools.entry(call.tool_id.clone()).or_default();
        if of_tool.first() != Some(&call.id) {
            of_tool.retain(|id| *id != call.id);
            of_tool.insert(0, call.id.clone());
            of_tool.truncate(CALLS_PER_TOOL);
            is_changed = true;
        }
    }
    if is_changed {
        known.schema = SCHEMA.to_owned();
        let text = pretty_text(&known).expect("ids are JSON");
        let _ = fs.write_cache(&path(), text.as_bytes());
    }
}
