//! Keeps MCP servers running between the calls of agents.
//!
//! A call still takes every step: plan, queue, approval, verification, claim, receipt. Only its process may already
//! run. It was then started by an equal command with the same variables, for the same agent.

mod client;
mod peer;
mod record;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use brigade_access::{GatewayConfig, Share, Upstream};
use brigade_call::{Change, Objection, SandboxUsed, VerifiedCall, VerifiedStart, plan_start};
use brigade_catalog::Tool;
use brigade_core::{ErrorCode, ErrorKind, Fingerprint, Label, Place};
use brigade_exec::{KeepRequest, OpenedProgram, PreparedStart, StartSource, Watch, prepare};
use brigade_mcp::{Farewell, Server, ServerHold, ServerStart};
use brigade_policy::{Blocker, Decision, Failure, Limits, Observe, RemoteTerms, SandboxMode, SandboxRequest};
use brigade_redact::Redactor;
use brigade_workspace::{Config, FactReader, GATEWAY, StartInput, WorkspaceContext, gather};

pub use client::{ServerClient, mask_listener};
pub use peer::{KeptCall, ToolCall, list_live};
use record::Recorder;
pub(crate) use record::start_of;

/// The kept servers. Clones share them.
///
/// In the environment of a workspace, they make the calls of agents. The creator ends them with [`Upstreams::end`].
/// Dropping the last clone also ends them, without waiting.
#[derive(Clone, Default)]
pub struct Upstreams(Arc<Pool>);

#[derive(Default)]
struct Pool {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    settings: RwLock<Vec<Upstream>>,
    /// Servers with running calls that get no new ones.
    retired: Mutex<Vec<Arc<KeptServer>>>,
}

/// Calls with an equal key share a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    root: PathBuf,
    command: String,
    cwd: Option<String>,
    labels: Vec<String>,
    agent: Option<String>,
    sampling: bool,
    home: Option<String>,
    variables: BTreeMap<String, String>,
}

#[derive(Default)]
struct Slot(Mutex<Option<Arc<KeptServer>>>);

/// A kept server and what it was started with.
pub struct KeptServer {
    /// The id of the start, which receipts of its calls name.
    pub id: String,
    /// The name of the server in the catalog.
    pub server_id: String,
    /// Whether it may ask the model of a client.
    pub sampling: bool,
    /// The server.
    pub server: Server,
    /// The files and program that it was started from.
    pub started_from: Arc<StartSource>,
    sandbox: Arc<OnceLock<SandboxUsed>>,
    /// Masks its output.
    pub redactor: Redactor,
    terms: Terms,
}

/// The requirements for a server.
struct ServerNeed<'a> {
    agent: Option<&'a str>,
    terms: Terms,
    /// The required files.
    files: &'a BTreeMap<String, Fingerprint>,
    /// Returns the first difference between the start of a server and the requirements.
    differs: &'a dyn Fn(&StartSource) -> Option<Change>,
}

/// The settings of a process, apart from its command and files.
#[derive(Clone, Debug, PartialEq)]
struct Terms {
    sandbox: SandboxRequest,
    /// Patterns of the files that it may read.
    data: Vec<String>,
    limits: Limits,
    pass: Vec<Label>,
    bindings: Vec<(Label, Label)>,
    remote: Option<RemoteTerms>,
    variables: BTreeMap<String, String>,
}

impl Terms {
    fn new(decision: &Decision, data: &[String]) -> Terms {
        Terms {
            sandbox: decision.sandbox.clone(),
            data: data.to_vec(),
            limits: decision.limits,
            pass: decision.pass.clone(),
            remote: decision.remote.clone(),
            bindings: decision
                .env_bindings
                .iter()
                .map(|(label, name)| (label.clone(), name.clone()))
                .collect(),
            variables: decision.variables.clone(),
        }
    }
}

impl KeptServer {
    /// Returns the sandbox of the process, for receipts.
    pub fn sandbox(&self) -> SandboxUsed {
        self.sandbox.get().cloned().unwrap_or_default()
    }

    /// Returns whether the process that was started is still alive, or not started yet.
    pub fn is_alive(&self) -> bool {
        self.server.is_kept() && self.server.process().is_none_or(|process| process.is_alive())
    }
}

/// The result of looking for a server.
pub enum ServerLookup {
    /// This server can make the call. While it is held, it does not end for lack of calls.
    Ready(Arc<KeptServer>, ServerHold),
    /// No server can make the call, for these reasons.
    Refused(Vec<Blocker>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Upstreams {
    /// Creates an empty set with default settings.
    pub fn new() -> Upstreams {
        Upstreams::default()
    }

    /// Applies the settings of servers in gateway.toml from the next call on.
    pub fn configure(&self, config: &GatewayConfig) {
        *self.0.settings.write().unwrap_or_else(PoisonError::into_inner) = config.upstreams.clone();
    }

    /// Returns the settings of a server.
    pub fn settings(&self, server_id: &str) -> Upstream {
        let settings = self.0.settings.read().unwrap_or_else(PoisonError::into_inner);
        let named = settings.iter().find(|upstream| upstream.id == server_id);
        named.cloned().unwrap_or_else(|| Upstream::new(server_id, Place::file(GATEWAY)))
    }

    /// Returns the number of kept servers.
    pub fn count(&self) -> usize {
        let slots: Vec<Arc<Slot>> = lock(&self.0.slots).values().cloned().collect();
        slots.iter().filter(|slot| lock(&slot.0).as_ref().is_some_and(|kept| kept.is_alive())).count()
    }

    /// Ends all servers, and waits at most `at_most`. Their calls fail.
    pub fn end(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let slots: Vec<Arc<Slot>> = lock(&self.0.slots).drain().map(|(_, slot)| slot).collect();
        let mut kept: Vec<Arc<KeptServer>> = slots.iter().filter_map(|slot| lock(&slot.0).take()).collect();
        kept.append(&mut lock(&self.0.retired));
        for one in &kept {
            one.server.end(Farewell::BRIEF);
        }
        for one in &kept {
            let _ = one.server.wait(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Returns the server for a verified call of an agent. Starts one if no kept server matches.
    ///
    /// # Errors
    /// Fails on errors of files or of the server. A refused start is a result and not an error.
    pub fn server_for(
        &self,
        context: &WorkspaceContext,
        config: &Config,
        tool: &Tool,
        call: &VerifiedCall,
    ) -> Result<ServerLookup, Failure> {
        let needed = ServerNeed {
            agent: call.call().caller.agent(),
            terms: Terms::new(call.decision(), call.plan().data()),
            files: &call.binding().files,
            differs: &|from| from.differs(&*context.fs, call.binding()),
        };
        self.find(context, config, tool, needed)
    }

    /// Returns the server of an entry, to read its lists, if a verified call started it and it still runs. Starts none.
    pub fn running(&self, context: &WorkspaceContext, tool: &Tool) -> Option<(Arc<KeptServer>, ServerHold)> {
        let any = self.key(context, tool, context.caller.agent(), None, BTreeMap::new());
        let is_it = |key: &Key| Key { home: None, variables: BTreeMap::new(), ..key.clone() } == any;
        let slot = lock(&self.0.slots).iter().find(|(key, _)| is_it(key)).map(|(_, slot)| slot.clone())?;
        let kept = lock(&slot.0).clone().filter(|kept| kept.is_alive())?;
        let hold = kept.server.hold()?;
        Some((kept, hold))
    }

    /// Returns whether a server runs that the calls of an agent use. One that starts right now does not count.
    pub fn serves(&self, server: &str, agent: &str) -> bool {
        let is_it = |(key, slot): (&Key, &Arc<Slot>)| {
            let is_its = key.agent.as_deref().is_none_or(|owner| owner == agent);
            let kept = slot.0.try_lock().ok();
            is_its
                && kept.is_some_and(|kept| {
                    kept.as_ref().is_some_and(|kept| kept.server_id == server && kept.is_alive())
                })
        };
        lock(&self.0.slots).iter().any(is_it)
    }

    /// Returns the key of the process for an entry and the calls of an agent.
    fn key(
        &self,
        context: &WorkspaceContext,
        tool: &Tool,
        agent: Option<&str>,
        home: Option<String>,
        variables: BTreeMap<String, String>,
    ) -> Key {
        let settings = self.settings(server_id(tool));
        let mut labels = tool.env_labels.clone();
        labels.sort();
        Key {
            root: context.fs.root().to_owned(),
            command: tool.command.clone().unwrap_or_default(),
            cwd: tool.cwd.clone().filter(|cwd| cwd != "."),
            labels,
            agent: agent.filter(|_| settings.share == Share::Agent).map(str::to_owned),
            sampling: settings.sampling,
            home,
            variables,
        }
    }

    fn find(
        &self,
        context: &WorkspaceContext,
        config: &Config,
        tool: &Tool,
        needed: ServerNeed<'_>,
    ) -> Result<ServerLookup, Failure> {
        let ServerNeed { agent, terms, files, differs } = needed;
        let settings = self.settings(server_id(tool));
        let key = self.key(context, tool, agent, terms.sandbox.grants.home.clone(), terms.variables.clone());
        let slot = lock(&self.0.slots).entry(key.clone()).or_default().clone();
        let mut held = lock(&slot.0);
        self.forget_ended();
        let kept = held.take().filter(|kept| kept.is_alive());
        match kept.and_then(|kept| kept.server.hold().map(|hold| (kept, hold))) {
            // Other settings must be equal, because no approval binds them.
            Some((kept, hold)) if kept.terms == terms && kept.started_from.has_names_of(files) => {
                if let Some(change) = differs(&kept.started_from) {
                    kept.server.end(Farewell::CALM);
                    lock(&self.0.retired).push(kept);
                    return Ok(ServerLookup::Refused(vec![since_the_start(&change)]));
                }
                kept.server.keep_for(Some(Duration::from_secs(settings.keep)));
                *held = Some(kept.clone());
                return Ok(ServerLookup::Ready(kept, hold));
            }
            // Its running calls continue, and it gets no new ones.
            Some((kept, _)) => {
                kept.server.keep_for(Some(Duration::ZERO));
                lock(&self.0.retired).push(kept);
            }
            None => {}
        }
        let kept = match start(context, config, tool, &key, &settings, terms)? {
            Gate::Passed(kept) => Arc::new(kept),
            Gate::Refused(reasons) => return Ok(ServerLookup::Refused(reasons)),
        };
        if let Some(change) = differs(&kept.started_from) {
            kept.server.end(Farewell::CALM);
            return Ok(ServerLookup::Refused(vec![since_the_start(&change)]));
        }
        kept.server.keep_for(Some(Duration::from_secs(settings.keep)));
        let hold = kept.server.hold();
        let gone = || Failure::new(ErrorKind::Environment, "the server ended as soon as it was started");
        let hold = hold.ok_or_else(gone)?;
        *held = Some(kept.clone());
        Ok(ServerLookup::Ready(kept, hold))
    }

    fn forget_ended(&self) {
        lock(&self.0.retired).retain(|kept| kept.server.wait(Duration::ZERO).is_none());
    }
}

impl fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstreams").field("count", &self.count()).finish()
    }
}

/// Returns the name of a tool's server in the catalog.
pub fn server_id(tool: &Tool) -> &str {
    tool.mcp_server_id.as_deref().or(tool.runtime_id.as_deref()).unwrap_or_default()
}

fn since_the_start(change: &Change) -> Blocker {
    Blocker::new(change.code(), format!("{change} changed since the server was started; it was ended"))
        .hint("call again: the next call is planned with the current files, and starts the server again")
}

/// An allowed start, with its program open.
type PlannedStart = (VerifiedStart, OpenedProgram);

/// Whether a start is allowed.
enum Gate<T> {
    /// It is allowed, or was made.
    Passed(T),
    /// It is refused for these reasons.
    Refused(Vec<Blocker>),
}

/// Checks the start of a server.
fn plan_upstream(
    context: &WorkspaceContext,
    config: &Config,
    tool: &Tool,
) -> Result<Gate<PlannedStart>, Failure> {
    let StartInput { facts, program } = FactReader::new(context.host(), config).upstream(tool)?;
    Ok(match plan_start(facts) {
        Ok(verified) => Gate::Passed((verified, program.expect("a verified start has its program open"))),
        Err(objections) => {
            let blocker = |objection: &Objection| objection.blocker(|field| tool.place_of(field));
            Gate::Refused(objections.iter().map(blocker).collect())
        }
    })
}

/// Starts a server.
fn start(
    context: &WorkspaceContext,
    config: &Config,
    tool: &Tool,
    key: &Key,
    settings: &Upstream,
    terms: Terms,
) -> Result<Gate<KeptServer>, Failure> {
    let (verified, program) = match plan_upstream(context, config, tool)? {
        Gate::Passed(planned) => planned,
        Gate::Refused(reasons) => return Ok(Gate::Refused(reasons)),
    };
    let environment = |error: &dyn fmt::Display| {
        Failure::new(ErrorKind::Environment, format!("the server cannot be started: {error}"))
    };
    let secrets = gather::bound_secrets(context, &config.policy);
    let id = record::new_id(context.now()).map_err(|error| environment(&error))?;
    let (logs, paths) = record::logs(context, &id)?;
    let sandbox = &terms.sandbox;
    let watch = match (sandbox.mode, sandbox.observe) {
        (SandboxMode::Off, _) | (_, Observe::Never) => Watch::Nothing,
        (_, Observe::Always | Observe::Changed) => Watch::Observe,
    };
    let keep = KeepRequest {
        start: &verified,
        program: &program,
        fs: &context.fs,
        environment: &context.environment,
        secrets: &secrets,
        id: &id,
        watch,
    };
    let prepared = match prepare(&keep, logs) {
        Ok(prepared) => prepared,
        Err(why) => {
            paths.discard(context);
            return Ok(Gate::Refused(vec![Blocker::new(ErrorCode::ServerNotStarted, why)]));
        }
    };
    let PreparedStart { spec, sink, output_cap, timeout, redactor, started_from, run } = prepared;
    let subject = record::RecordSubject {
        tool,
        served: config.served_with(&context.host(), tool),
        agent: key.agent.as_deref(),
        start: &verified,
        redactor: &redactor,
    };
    let sandbox = Arc::new(OnceLock::new());
    let recorder = Recorder::new(context, paths, &subject, run, sandbox.clone());
    let mut capabilities = vec![("elicitation", brigade_core::Json::object::<&str>([]))];
    if settings.sampling {
        capabilities.push(("sampling", brigade_core::Json::object::<&str>([])));
    }
    let server = Server::start(ServerStart {
        spec,
        sink,
        output_cap,
        patience: timeout,
        capabilities: brigade_core::Json::object(capabilities),
        redactor: redactor.clone(),
        watcher: Box::new(recorder),
    });
    let server = server.map_err(|error| environment(&error))?;
    tracing::debug!(server = server_id(tool), start = id, "started a server that is kept");
    let (server_id, sampling) = (server_id(tool).to_owned(), settings.sampling);
    Ok(Gate::Passed(KeptServer { id, server_id, sampling, server, started_from, sandbox, redactor, terms }))
}

#[cfg(test)]
mod tests;
