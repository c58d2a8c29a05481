//! Servers that are kept for the calls of agents.
//!
//! A call goes the way of every call: plan, queue, approval, verification, claim, receipt. Only the process that makes
//! it may have been started before, by an equal command with the same variables, for the same agent.

mod client;
mod record;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use brigade_access::{GatewayConfig, Share, Upstream};
use brigade_call::{Change, Objection, SandboxUsed, VerifiedCall, VerifiedStart, plan_start};
use brigade_catalog::Tool;
use brigade_core::{ErrorKind, Fingerprint, Label, Place, reasons};
use brigade_exec::{KeepRequest, OpenedProgram, PreparedStart, StartSource, Watch, prepare};
use brigade_mcp::{Farewell, Server, ServerHold, ServerStart};
use brigade_policy::{Blocker, Decision, Failure, Limits, Observe, SandboxMode, SandboxRequest};
use brigade_redact::Redactor;
use brigade_workspace::{Config, FactReader, GATEWAY, StartInput, WorkspaceContext, gather};

pub use client::{ServerClient, mask_listener};
use record::Recorder;
pub(crate) use record::start_of;

/// Servers that are kept. Clones are the same ones.
///
/// Put into the environment of a workspace, they make the calls of agents. The caller that made
/// them ends them with [`Upstreams::end`]; dropping the last clone does so, too, without waiting.
#[derive(Clone, Default)]
pub struct Upstreams(Arc<Pool>);

#[derive(Default)]
struct Pool {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    settings: RwLock<Vec<Upstream>>,
    /// Servers that ended no call yet, and get no more.
    retired: Mutex<Vec<Arc<KeptServer>>>,
}

/// What calls share a process by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    root: PathBuf,
    command: String,
    cwd: Option<String>,
    labels: Vec<String>,
    agent: Option<String>,
    sampling: bool,
}

#[derive(Default)]
struct Slot(Mutex<Option<Arc<KeptServer>>>);

/// A kept server and what it was started with.
pub struct KeptServer {
    /// The start, as receipts of its calls name it.
    pub id: String,
    /// The server, as the catalog names it.
    pub server_id: String,
    /// Whether it may ask the model of a client.
    pub sampling: bool,
    /// The server.
    pub server: Server,
    /// What it was started from.
    pub started_from: Arc<StartSource>,
    sandbox: Arc<OnceLock<SandboxUsed>>,
    /// Masks what it says.
    pub redactor: Redactor,
    terms: Terms,
}

/// What a server is needed for.
struct ServerNeed<'a> {
    agent: Option<&'a str>,
    terms: Terms,
    /// The files that it is needed with.
    files: &'a BTreeMap<String, Fingerprint>,
    /// Tells what a server was started from that is not what it is needed with.
    differs: &'a dyn Fn(&StartSource) -> Option<Change>,
}

/// What a process is started with, in addition to its bytes.
#[derive(Clone, Debug, PartialEq)]
struct Terms {
    sandbox: SandboxRequest,
    /// Patterns of the files that it may read.
    data: Vec<String>,
    limits: Limits,
    pass: Vec<Label>,
    bindings: Vec<(Label, Label)>,
}

impl Terms {
    fn new(decision: &Decision, data: &[String]) -> Terms {
        Terms {
            sandbox: decision.sandbox.clone(),
            data: data.to_vec(),
            limits: decision.limits,
            pass: decision.pass.clone(),
            bindings: decision
                .env_bindings
                .iter()
                .map(|(label, name)| (label.clone(), name.clone()))
                .collect(),
        }
    }
}

impl KeptServer {
    /// Returns what confines the process, for receipts.
    pub fn sandbox(&self) -> SandboxUsed {
        self.sandbox.get().cloned().unwrap_or_default()
    }

    /// Returns whether the process is still the one that was started, if it runs already.
    pub fn is_alive(&self) -> bool {
        self.server.is_kept() && self.server.process().is_none_or(|process| process.is_alive())
    }
}

/// Whether a kept server can make a call.
pub enum ServerLookup {
    /// This one can. It does not end for want of calls while it is held.
    Ready(Arc<KeptServer>, ServerHold),
    /// None can, for these reasons.
    Refused(Vec<Blocker>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Upstreams {
    /// Starts without servers, and with the default settings for each.
    pub fn new() -> Upstreams {
        Upstreams::default()
    }

    /// Takes the settings of servers from gateway.toml. They count from the next call on.
    pub fn configure(&self, config: &GatewayConfig) {
        *self.0.settings.write().unwrap_or_else(PoisonError::into_inner) = config.upstreams.clone();
    }

    /// Returns the settings of a server.
    pub fn settings(&self, server_id: &str) -> Upstream {
        let settings = self.0.settings.read().unwrap_or_else(PoisonError::into_inner);
        let named = settings.iter().find(|upstream| upstream.id == server_id);
        named.cloned().unwrap_or_else(|| Upstream::new(server_id, Place::file(GATEWAY)))
    }

    /// Returns how many servers are kept.
    pub fn count(&self) -> usize {
        let slots: Vec<Arc<Slot>> = lock(&self.0.slots).values().cloned().collect();
        slots.iter().filter(|slot| lock(&slot.0).as_ref().is_some_and(|kept| kept.is_alive())).count()
    }

    /// Ends all servers, and waits at most this long for it. Calls in them fail.
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

    /// Returns the server that makes a verified call of an agent. Starts it if none is kept that fits.
    ///
    /// # Errors
    /// Fails if the files of the workspace or the server fail. A reason against a start is not an error.
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

    /// Returns the server of an entry, to be asked for its lists. Starts it if none is kept that fits.
    ///
    /// # Errors
    /// Fails if the files of the workspace or the server fail. A reason against a start is not an error.
    pub fn server_listing(
        &self,
        context: &WorkspaceContext,
        config: &Config,
        tool: &Tool,
    ) -> Result<ServerLookup, Failure> {
        let (start, _) = match plan_upstream(context, config, tool)? {
            Gate::Passed(planned) => planned,
            Gate::Refused(reasons) => return Ok(ServerLookup::Refused(reasons)),
        };
        let undecided = || Failure::new(ErrorKind::Refused, "the policy did not decide on the server");
        let needed = ServerNeed {
            agent: context.caller.agent(),
            terms: Terms::new(start.decision().ok_or_else(undecided)?, start.data()),
            files: start.files(),
            differs: &|from| from.differs_from_start(&*context.fs, &start),
        };
        self.find(context, config, tool, needed)
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
        let agent = agent.filter(|_| settings.share == Share::Agent);
        let mut labels = tool.env_labels.clone();
        labels.sort();
        let key = Key {
            root: context.fs.root().to_owned(),
            command: tool.command.clone().unwrap_or_default(),
            cwd: tool.cwd.clone().filter(|cwd| cwd != "."),
            labels,
            agent: agent.map(str::to_owned),
            sampling: settings.sampling,
        };
        let slot = lock(&self.0.slots).entry(key.clone()).or_default().clone();
        let mut held = lock(&slot.0);
        self.forget_ended();
        let kept = held.take().filter(|kept| kept.is_alive());
        match kept.and_then(|kept| kept.server.hold().map(|hold| (kept, hold))) {
            // No approval binds what else it may open.
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
            // Its calls continue, and it gets no more.
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

/// Returns how the catalog names the server of a tool.
pub fn server_id(tool: &Tool) -> &str {
    tool.mcp_server_id.as_deref().or(tool.runtime_id.as_deref()).unwrap_or_default()
}

fn since_the_start(change: &Change) -> Blocker {
    Blocker::new(change, format!("{change} changed since the server was started; it was ended"))
        .hint("call again: the next call is planned with what is there now, and starts the server anew")
}

/// A start that may be made, with its program open.
type PlannedStart = (VerifiedStart, OpenedProgram);

/// What the gate says to a start.
enum Gate<T> {
    /// It may be made, or was.
    Passed(T),
    /// It may not, for these reasons.
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
            return Ok(Gate::Refused(vec![Blocker::new(reasons::SERVER_NOT_STARTED, why)]));
        }
    };
    let PreparedStart { spec, sink, output_cap, timeout, redactor, started_from, run } = prepared;
    let of = record::RecordSubject {
        tool,
        served: config.served_with(&context.host(), tool),
        agent: key.agent.as_deref(),
        start: &verified,
        redactor: &redactor,
    };
    let sandbox = Arc::new(OnceLock::new());
    let recorder = Recorder::new(context, paths, &of, run, sandbox.clone());
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
