//! Caches the pins of MCP tools, for a process that makes many calls.
//!
//! The file of a tool's pin depends on all entries of its server, so it is found once per configuration. The pin and
//! the listed names are read again when an inspected file seems to have changed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use brigade_call::Call;
use brigade_fs::{FsError, Trace, TracingFs};
use brigade_mcp::{ListedTool, McpOfCall, McpTool, PinRecord, PinTrouble};

use crate::config::Config;
use crate::host::Host;
use crate::memory::{MAX_ENTRIES, MIN_FILE_AGE};

/// The cached pins and noted names.
#[derive(Default)]
pub(crate) struct Pins {
    pins: TracedCache<String, KnownPin>,
    names: TracedCache<String, Arc<Vec<ListedTool>>>,
}

/// The tool whose pin a call needs, and its pin.
pub type PinOfCall<'c> = (McpOfCall<'c>, Result<Option<Arc<PinRecord>>, PinTrouble>);

#[derive(Clone)]
struct KnownPin {
    named: McpTool,
    key: McpTool,
    record: Option<Arc<PinRecord>>,
}

/// Cached values. They are valid for one configuration, until a file that was inspected for them changes.
struct TracedCache<K, V>(Mutex<HashMap<K, Arc<Entry<V>>>>);

struct Entry<V> {
    config: Arc<Config>,
    trace: Trace,
    value: V,
}

impl<K, V> Default for TracedCache<K, V> {
    fn default() -> TracedCache<K, V> {
        TracedCache(Mutex::default())
    }
}

impl<K: Eq + Hash, V> TracedCache<K, V> {
    /// Returns the value, if it is still valid.
    fn get(&self, key: &K, config: &Arc<Config>) -> Option<Arc<Entry<V>>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        known.filter(|known| Arc::ptr_eq(&known.config, config) && known.trace.holds())
    }

    /// Caches a value, unless a file changed so recently that another change might go unnoticed.
    fn keep(&self, key: K, host: &Host<'_>, config: &Arc<Config>, traced: TracingFs<'_>, value: V) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if MAX_ENTRIES <= known.len() {
            known.clear();
        }
        match traced.into_settled(host.clock.now(), MIN_FILE_AGE) {
            Some(trace) => drop(known.insert(key, Arc::new(Entry { config: config.clone(), trace, value }))),
            None => drop(known.remove(&key)),
        }
    }
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
        if let Some(known) = self.pins.get(&id, config).filter(|known| known.value.named == named) {
            let KnownPin { named, key, record } = &known.value;
            let mcp = McpOfCall::known(&config.catalog, call, named, key.clone());
            return Ok(Some((mcp, Ok(record.clone()))));
        }
        let traced = TracingFs::new(host.fs);
        let store = Host { fs: &traced, ..host }.pins();
        let Some(mcp) = store.of_call(&config.catalog, call)? else { return Ok(None) };
        let read = store.read(mcp.key()).map(|record| record.map(Arc::new));
        if let Ok(record) = &read {
            let known = KnownPin { named, key: mcp.key().clone(), record: record.clone() };
            self.pins.keep(id, &host, config, traced, known);
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
        if self.names.get(&id, config).is_some_and(|known| Arc::ptr_eq(&known.value, listed)) {
            return Ok(());
        }
        let traced = TracingFs::new(host.fs);
        let store = Host { fs: &traced, ..host }.pins();
        store.note_listed(mcp, listed)?;
        self.names.keep(id, &host, config, traced, listed.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
