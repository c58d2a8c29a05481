//! Caches configuration and facts between calls of kept servers, for a process that makes many calls.
//!
//! A running server was started from verified bytes. For its next call, it is enough that files and directories seem
//! unchanged: device, inode, length and times are equal, and missing files are still missing. Changed ones are read
//! again. Programs that a call itself starts are never cached, because a write through a mapping may not change the
//! times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use brigade_call::{Call, Caller, PlanFacts};
use brigade_catalog::{Family, Runtimes, Tool};
use brigade_fs::{FsError, Trace, TracingFs};
use brigade_mcp::{ListedTool, McpOfCall};

use crate::config::Config;
use crate::host::Host;
use crate::pin_of_call::{PinOfCall, Pins};
use crate::plan::PlanInput;
use crate::tool::FactReader;
use crate::traced_cache::{MIN_FILE_AGE, TracedCache};

/// The cached configuration and facts of plans.
#[derive(Default)]
pub struct Memory {
    config: Slot<Config>,
    runtimes: Slot<Runtimes>,
    /// The facts of plans by tool and caller. The facts have another tool in its place.
    inputs: TracedCache<(String, String), PlanInput<'static>>,
    pins: Pins,
}

/// A cached value, and the files that were inspected for it.
struct Slot<T>(Mutex<Option<(Trace, Arc<T>)>>);

impl<T> Default for Slot<T> {
    fn default() -> Slot<T> {
        Slot(Mutex::default())
    }
}

impl<T> Slot<T> {
    /// Returns the cached value, read again only if a file changed.
    fn get<E>(&self, host: Host<'_>, read: impl FnOnce(Host<'_>) -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some((trace, cached)) = &*lock(&self.0)
            && trace.holds()
        {
            return Ok(cached.clone());
        }
        let traced = TracingFs::new(host.fs);
        let read = Arc::new(read(Host { fs: &traced, ..host })?);
        let trace = traced.into_settled(host.clock.now(), MIN_FILE_AGE);
        *lock(&self.0) = trace.map(|trace| (trace, read.clone()));
        Ok(read)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Returns the configuration, read again only if one of its files changed.
    ///
    /// # Errors
    /// Returns the errors of `read`. It gets a host that notes what it reads.
    pub fn config<E>(
        &self,
        host: Host<'_>,
        read: impl FnOnce(Host<'_>) -> Result<Config, E>,
    ) -> Result<Arc<Config>, E> {
        self.config.get(host, |reading| {
            let config = read(reading)?;
            config.offers(&reading);
            config.runtimes(&reading);
            Ok(config)
        })
    }

    /// Returns the runtimes, read again only if one of their files changed.
    ///
    /// # Errors
    /// Returns the errors of `read`. It gets a host that notes what it reads.
    pub fn runtimes<E>(
        &self,
        host: Host<'_>,
        read: impl FnOnce(Host<'_>) -> Result<Runtimes, E>,
    ) -> Result<Arc<Runtimes>, E> {
        self.runtimes.get(host, read)
    }

    /// Returns the pin that a call needs and whose pin it is, read again only if a file changed. `None` for calls of
    /// other tools than MCP tools.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn pin_of_call<'c>(
        &self,
        host: Host<'_>,
        config: &'c Arc<Config>,
        call: &Call,
    ) -> Result<Option<PinOfCall<'c>>, FsError> {
        self.pins.of_call(host, config, call)
    }

    /// Notes the names that the server of a call lists, unless they are noted and no file changed since.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn note_names(
        &self,
        host: Host<'_>,
        config: &Arc<Config>,
        mcp: &McpOfCall<'_>,
        listed: &Arc<Vec<ListedTool>>,
    ) -> Result<(), FsError> {
        self.pins.note_names(host, config, mcp, listed)
    }

    /// Reads the facts of plans of a tool whose server is kept, unless they are cached and no file changed since.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn plan<'c>(
        &self,
        host: Host<'_>,
        config: &'c Arc<Config>,
        tool: &'c Tool,
        caller: Caller,
    ) -> Result<PlanInput<'c>, FsError> {
        let is_kept = tool.family == Some(Family::Mcp) && tool.reads.is_none() && !tool.is_broken;
        if !is_kept || caller.agent().is_none() {
            return FactReader::new(host, config).plan(tool, caller);
        }
        let key = (tool.id.to_string(), caller.as_record());
        if let Some(cached) = self.inputs.get(&key, config) {
            let cached = cached.value.clone();
            return Ok(PlanInput { facts: PlanFacts { tool, ..cached.facts }, ..cached });
        }
        let traced = TracingFs::new(host.fs);
        let input = FactReader::new(Host { fs: &traced, ..host }, config).plan(tool, caller)?;
        if let Some(facts) = without_tool(&input.facts) {
            let cached = PlanInput {
                facts,
                projections: input.projections.clone(),
                program: input.program.clone(),
                directory: input.directory.clone(),
            };
            self.inputs.keep(key, &host, config, traced, cached);
        }
        Ok(input)
    }
}

/// Returns facts that do not borrow the configuration. `None` for an entry with errors.
fn without_tool(facts: &PlanFacts<'_>) -> Option<PlanFacts<'static>> {
    static ANY: OnceLock<Tool> = OnceLock::new();
    if !facts.entry_errors.is_empty() || !facts.misspelt.is_empty() || facts.installs.is_some() {
        return None;
    }
    let facts = facts.clone();
    Some(PlanFacts {
        tool: ANY.get_or_init(|| Tool::new("any", Family::Mcp).expect("it is an id")),
        installs: None,
        root: facts.root,
        near_schema: facts.near_schema,
        entry_errors: Vec::new(),
        misspelt: BTreeMap::new(),
        args: facts.args,
        input_schema: facts.input_schema,
        output_schema: facts.output_schema,
        examples: facts.examples,
        source: facts.source,
        directory: facts.directory,
        real_directory: facts.real_directory,
        outside: facts.outside,
        program: facts.program,
        home: facts.home,
        files: facts.files,
        code: facts.code,
        health: facts.health,
        pin: facts.pin,
        server: facts.server,
        projections: facts.projections,
        decision: facts.decision,
        policy: facts.policy,
        bound_values: facts.bound_values,
        behind_links: facts.behind_links,
        ways: BTreeSet::new(),
        absent: BTreeSet::new(),
        modules: BTreeSet::new(),
        builtin: None,
        caller: facts.caller,
        session: None,
    })
}

#[cfg(test)]
mod tests;
