//! The memories of agents for people, and the core memory of an agent for its sessions.

use std::sync::Arc;

use brigade_core::json::{from_json, to_json};
use brigade_core::{AgentName, ErrorCode, NextStep, Report as _};
use brigade_db::StoreError;
use brigade_db::memory::{AgentCore, Memory, Owners, Scope, StoredCore};
use brigade_macros::document;
use brigade_ops::{Error, ErrorKind, agent_config, find_agent};
use brigade_redact::Redactor;
use brigade_workspace::gather;

use crate::agent_calls::AgentCalls;
use crate::work::Work;
use crate::workspace_inner::WorkspaceInner;

/// Operations on the memories of all agents.
#[derive(Clone)]
pub struct Memories {
    pub(crate) inner: Arc<WorkspaceInner>,
}

/// `work memory list` and `export`.
#[document("brigade.memory-list.v1")]
#[derive(PartialEq)]
pub struct MemoryListReport {
    /// The workspace root.
    pub target: String,
    /// How many there are.
    pub count: usize,
    /// The memories: the pinned first, then the newest.
    pub memories: Vec<Memory>,
    /// The core memories of agents, by name; none if only a scope is listed.
    #[serde(default)]
    pub core_memories: Vec<AgentCore>,
}

/// `work memory show`, `pin` and `remove`.
#[document("brigade.memory.v1")]
#[derive(PartialEq)]
pub struct MemoryReport {
    /// The workspace root.
    pub target: String,
    /// Whether it is removed now.
    pub removed: bool,
    /// The memory.
    pub memory: Memory,
}

/// Which memories are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFilter {
    /// Those of a scope.
    pub scope: Option<Scope>,
    /// Those that an agent sees.
    pub agent: Option<String>,
}

impl Memories {
    fn report(&self, memory: Memory, removed: bool) -> MemoryReport {
        MemoryReport { schema: MemoryReport::SCHEMA, target: self.inner.target(), removed, memory }
    }

    /// Lists memories.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self, filter: &MemoryFilter) -> Result<MemoryListReport, Error> {
        let owners = filter.agent.as_deref().map_or(Owners::Everybody, Owners::Seen);
        let (memories, core_memories) = match self.inner.stores.reading(&*self.inner.fs)? {
            Some(store) if filter.scope.is_some() => (store.memories(filter.scope, &owners)?, Vec::new()),
            Some(store) => (store.memories(None, &owners)?, store.core_memories(filter.agent.as_deref())?),
            None => (Vec::new(), Vec::new()),
        };
        Ok(MemoryListReport {
            schema: MemoryListReport::SCHEMA,
            target: self.inner.target(),
            count: memories.len(),
            memories,
            core_memories,
        })
    }

    /// Shows a memory by its id or the only id that begins so.
    ///
    /// # Errors
    /// Fails if it does not exist, or on a file error.
    pub fn show(&self, id: &str) -> Result<MemoryReport, Error> {
        let memory = match self.inner.stores.reading(&*self.inner.fs)? {
            Some(store) => store.memory(id, &Owners::Everybody).map_err(explain_error)?,
            None => return Err(missing()),
        };
        Ok(self.report(memory, false))
    }

    /// Pins a memory, or takes the pin off. Does not inside of a run.
    ///
    /// # Errors
    /// As [`Memories::show`].
    pub fn pin(&self, id: &str, pinned: bool) -> Result<MemoryReport, Error> {
        self.inner.require_outside_run()?;
        let id = self.show(id)?.memory.id;
        let store = self.inner.stores.writing(&*self.inner.fs)?;
        let memory =
            store.pin_memory(&id, pinned, &Owners::Everybody, self.inner.now()).map_err(explain_error)?;
        Ok(self.report(memory, false))
    }

    /// Removes a memory. Does not inside of a run.
    ///
    /// # Errors
    /// As [`Memories::show`].
    pub fn remove(&self, id: &str) -> Result<MemoryReport, Error> {
        self.inner.require_outside_run()?;
        let id = self.show(id)?.memory.id;
        let store = self.inner.stores.writing(&*self.inner.fs)?;
        Ok(self.report(store.remove_memory(&id, &Owners::Everybody).map_err(explain_error)?, true))
    }
}

impl AgentCalls {
    /// Returns the core memory of the calling agent, with its texts masked. `None` if it has none.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn core_memory(&self) -> Result<Option<StoredCore>, Error> {
        let Some(agent) = self.inner.env.caller.agent() else { return Ok(None) };
        let Some(store) = self.inner.stores.reading(&*self.inner.fs)? else { return Ok(None) };
        let Some(core) = store.core(agent)? else { return Ok(None) };
        let redactor = Redactor::new(&gather::secrets(&self.inner));
        Ok(to_json(&core).and_then(|core| from_json(&redactor.redact_fields(&core))).ok())
    }
}

fn missing() -> Error {
    let error = Error::new(ErrorKind::NotFound, "there is no memory with this id");
    error.coded(ErrorCode::MemoryMissing).hint(NextStep::ListMemories)
}

fn explain_error(error: StoreError) -> Error {
    match error.answered_code() {
        ErrorCode::NotFound => missing(),
        ErrorCode::Ambiguous => {
            Error::new(ErrorKind::Ambiguous, error.to_string()).hint(NextStep::ListMemories)
        }
        _ => error.into(),
    }
}

/// `work turn`: a turn of an agent began.
#[document("brigade.work-turn.v1")]
#[derive(PartialEq)]
pub struct WorkTurnReport {
    /// The workspace root.
    pub target: String,
    /// The agent.
    pub agent: String,
    /// The number of the turn, from 1.
    pub turn: i64,
    /// Whether the memory is to be searched before anything is changed: `none`, `soft` or `required`.
    pub memory: String,
}

impl Work {
    /// Begins a turn of an agent. Its text decides whether the memory is to be searched first. Does not inside of a
    /// run.
    ///
    /// # Errors
    /// Fails if gateway.toml has no such agent, or on a file error.
    pub fn begin_turn(&self, agent: &AgentName, text: &str) -> Result<WorkTurnReport, Error> {
        self.inner.require_outside_run()?;
        let agents = agent_config(&self.inner)?;
        find_agent(&agents.gateway, agent.as_str())?;
        let store = self.inner.stores.writing(&*self.inner.fs)?;
        let turn = store.begin_turn(agent.as_str(), text, self.inner.now())?;
        Ok(WorkTurnReport {
            schema: WorkTurnReport::SCHEMA,
            target: self.inner.target(),
            agent: agent.to_string(),
            turn: turn.number,
            memory: turn.class.as_str().to_owned(),
        })
    }
}
