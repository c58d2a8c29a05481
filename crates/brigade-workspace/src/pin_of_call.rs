//! Caches the pins of MCP tools, for a process that makes many calls.
//!
//! The file of a tool's pin depends on all entries of its server, so it is found once per configuration. The pin and
//! the listed names are read again when an inspected file seems to have changed.

use std::sync::Arc;

use brigade_call::Call;
use brigade_fs::{FsError, TracingFs};
use brigade_mcp::{ListedTool, McpOfCall, McpTool, PinRecord, PinTrouble};

use crate::config::Config;
use crate::host::Host;
use crate::traced_cache::TracedCache;

/// The cached pins and noted names.
#[derive(Default)]
pub(crate) struct Pins {
    pins: TracedCache<String, CachedPin>,
    names: TracedCache<String, Arc<Vec<ListedTool>>>,
}

/// The tool whose pin a call needs, and its pin.
pub type PinOfCall<'c> = (McpOfCall<'c>, Result<Option<Arc<PinRecord>>, PinTrouble>);

#[derive(Clone)]
struct CachedPin {
    named: McpTool,
    key: McpTool,
    record: Option<Arc<PinRecord>>,
}

impl Pins {
    /// Returns the pin that a call needs and whose pin it is. `None` for calls of other tools than MCP tools.
    pub(crate) fn of_call<'c>(
        &self,
        host: Host<'_>,
        config: &'c Arc<Config>,
        call: &Call,
    ) -> Result<Option<PinOfCall<'c>>, FsError> {
        let Some(named) = McpTool::of_contract(&call.family, &call.contract) else { return Ok(None) };
        let id = call.tool_id.clone();
        if let Some(cached) = self.pins.get(&id, config).filter(|cached| cached.value.named == named) {
            let CachedPin { named, key, record } = &cached.value;
            let mcp = McpOfCall::known(&config.catalog, call, named, key.clone());
            return Ok(Some((mcp, Ok(record.clone()))));
        }
        let traced = TracingFs::new(host.fs);
        let store = Host { fs: &traced, ..host }.pins();
        let Some(mcp) = store.of_call(&config.catalog, call)? else { return Ok(None) };
        let read = store.read(mcp.key()).map(|record| record.map(Arc::new));
        if let Ok(record) = &read {
            let pin = CachedPin { named, key: mcp.key().clone(), record: record.clone() };
            self.pins.keep(id, &host, config, traced, pin);
        }
        Ok(Some((mcp, read)))
    }

    /// Notes the names that a server lists, unless they are noted and no file changed since.
    pub(crate) fn note_names(
        &self,
        host: Host<'_>,
        config: &Arc<Config>,
        mcp: &McpOfCall<'_>,
        listed: &Arc<Vec<ListedTool>>,
    ) -> Result<(), FsError> {
        let Some(tool) = mcp.tool() else { return Ok(()) };
        let id = tool.id.to_string();
        if self.names.get(&id, config).is_some_and(|cached| Arc::ptr_eq(&cached.value, listed)) {
            return Ok(());
        }
        let traced = TracingFs::new(host.fs);
        let store = Host { fs: &traced, ..host }.pins();
        store.note_listed(mcp, listed)?;
        self.names.keep(id, &host, config, traced, listed.clone());
        Ok(())
    }
}
