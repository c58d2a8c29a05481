//! Caches values with the files that were inspected for them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade_fs::{Trace, TracingFs};

use crate::config::Config;
use crate::host::Host;

/// The minimum age of the last change of all files before facts are cached. A second change soon after may have the
/// same time.
pub(crate) const MIN_FILE_AGE: Duration = Duration::from_secs(2);

/// The maximum number of cached values.
const MAX_ENTRIES: usize = 1_000;

/// Cached values. They are valid for one configuration, until a file that was inspected for them changes.
pub(crate) struct TracedCache<K, V>(Mutex<HashMap<K, Arc<Entry<V>>>>);

pub(crate) struct Entry<V> {
    config: Arc<Config>,
    trace: Trace,
    pub(crate) value: V,
}

impl<K, V> Default for TracedCache<K, V> {
    fn default() -> TracedCache<K, V> {
        TracedCache(Mutex::default())
    }
}

impl<K: Eq + Hash, V> TracedCache<K, V> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<K, Arc<Entry<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value, if it is still valid.
    pub(crate) fn get(&self, key: &K, config: &Arc<Config>) -> Option<Arc<Entry<V>>> {
        let entry = self.lock().get(key).cloned();
        entry.filter(|entry| Arc::ptr_eq(&entry.config, config) && entry.trace.holds())
    }

    /// Caches a value, unless a file changed so recently that another change might go unnoticed.
    pub(crate) fn keep(
        &self,
        key: K,
        host: &Host<'_>,
        config: &Arc<Config>,
        traced: TracingFs<'_>,
        value: V,
    ) {
        let mut entries = self.lock();
        if MAX_ENTRIES <= entries.len() {
            entries.clear();
        }
        match traced.into_settled(host.clock.now(), MIN_FILE_AGE) {
            Some(trace) => {
                drop(entries.insert(key, Arc::new(Entry { config: config.clone(), trace, value })))
            }
            None => drop(entries.remove(&key)),
        }
    }
}

#[cfg(test)]
mod tests;
