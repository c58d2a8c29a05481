//! The state that all connections of one server share.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use brigade::core::CallId;
use brigade::gateway::{AgentConfig, AgentTools, Limit, Upstreams};
use brigade::process::ProcessIdentity;
use brigade::profile::{GatewayConfig, Listing, LiveSession, NameStyle, SessionProfiles};
use brigade::tools::Reads;
use brigade::{Call, CancelToken, FileVersion, Workspace};
use rmcp::model::RequestStateCodec;
use rmcp::service::{SubscriptionContext, SubscriptionSendError};
use rmcp::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::answer::in_one_line;
use crate::blocking::blocking;
use crate::call_slots::CallSlots;
use crate::event::ServeEvent;
use crate::offers::Listings;
use crate::stdio::LineLimit;
use crate::upstream::ParkedCalls;
use crate::view::{AgentTool, Lists, View};

/// The options of a gateway.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The profiles that narrow every agent.
    pub(crate) overlays: Vec<String>,
    /// How tools are listed. `None` uses gateway.toml.
    pub(crate) list: Option<Listing>,
    /// How their names are written.
    pub(crate) names: NameStyle,
    /// The directory of the lane. Paths of all sessions are relative to it.
    pub(crate) root: Option<String>,
}

/// The state that all connections share.
pub(crate) struct Gateway {
    pub(crate) workspace: Workspace,
    pub(crate) terms: Terms,
    /// Cancelled when the server ends.
    pub(crate) stop: CancellationToken,
    pub(crate) slots: CallSlots,
    /// The resources and prompts that MCP servers list.
    pub(crate) listings: Listings,
    /// Seals the state that a client returns with its reply. The key lives as long as the server.
    pub(crate) states: RequestStateCodec,
    /// The calls that wait for replies of their clients.
    pub(crate) parking: ParkedCalls,
    /// The kept MCP servers. The workspace uses the same ones.
    pub(crate) upstreams: Upstreams,
    agents: RwLock<ReadAgents>,
    /// The runs of this process. Two requests may be listed with the same call until one finds that the other runs it.
    running: Mutex<Vec<(u64, CallId, CancelToken)>>,
    views: Mutex<HashMap<(Arc<str>, SessionProfiles), CachedView>>,
    /// The sessions of agents whose clients skip the handshake.
    sessions: Mutex<HashMap<Arc<str>, Arc<LiveSession>>>,
    /// All sessions that were begun here.
    begun: Mutex<Vec<Weak<LiveSession>>>,
    /// A unique part of the ids of all sessions here. It identifies the process.
    mark: String,
    /// Incremented to make all views be read again, even if their stamps match.
    generation: AtomicU64,
    listeners: Mutex<Vec<Listener>>,
    /// Notified when files that decide about listings have changed.
    pub(crate) changed: Notify,
    /// Notified when profiles and agents were read again.
    pub(crate) reloaded: Notify,
    events: Mutex<VecDeque<ServeEvent>>,
    /// The calls that a person was notified of.
    notified: Mutex<HashSet<CallId>>,
    speaks: Notify,
}

/// An agent in one of its sessions.
#[derive(Clone)]
pub(crate) struct Speaker {
    pub(crate) agent: Arc<str>,
    pub(crate) session: Arc<LiveSession>,
}

/// The most listings that are kept.
const VIEWS: usize = 256;

/// A client that is notified when its lists change.
struct Listener {
    speaker: Speaker,
    peer: Peer<RoleServer>,
    /// The lists that it last saw.
    known: Lists,
}

/// The last good profiles and agents.
pub(crate) struct ReadAgents {
    pub(crate) agents: Arc<AgentConfig>,
    /// The stamp of the files before the last attempt to read them. Empty if the files may have changed without a
    /// change of their stamp.
    at: Stamp,
}

impl ReadAgents {
    /// Creates the entry of agents that were read after `stamp` was taken.
    pub(crate) fn after(stamp: &[Option<FileVersion>], agents: Arc<AgentConfig>) -> ReadAgents {
        ReadAgents { agents, at: settled_stamp(stamp) }
    }
}

/// Returns the stamp that proves that files did not change since they were read, or an empty one.
fn settled_stamp(stamp: &[Option<FileVersion>]) -> Stamp {
    if crate::file_watch::is_settled(stamp) { stamp.to_vec() } else { Stamp::new() }
}

/// The last good gateway.toml.
pub(crate) struct Config(Arc<AgentConfig>);

impl Deref for Config {
    type Target = GatewayConfig;

    fn deref(&self) -> &GatewayConfig {
        &self.0.gateway
    }
}

/// A view, with the generation and stamp that it was made from.
type CachedView = ((u64, Stamp), Arc<View>);

/// The versions of the files that a view was made from.
pub(crate) type Stamp = Vec<Option<FileVersion>>;

/// A call that runs here. Dropping it removes it from the list.
pub(crate) struct RunningCall {
    gateway: Arc<Gateway>,
    number: u64,
    id: CallId,
}

impl RunningCall {
    pub(crate) fn id(&self) -> &CallId {
        &self.id
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.gateway.running().retain(|(number, ..)| *number != self.number);
    }
}

/// The generation of a view that no request gets.
const STALE_GENERATION: u64 = u64::MAX;

impl Gateway {
    pub(crate) fn new(
        workspace: Workspace,
        agents: ReadAgents,
        terms: Terms,
        states: RequestStateCodec,
        upstreams: Upstreams,
        mark: String,
        stop: CancellationToken,
    ) -> Gateway {
        upstreams.configure(&agents.agents.gateway);
        Gateway {
            upstreams,
            parking: ParkedCalls::default(),
            workspace,
            terms,
            stop,
            slots: CallSlots::default(),
            listings: Listings::default(),
            states,
            agents: RwLock::new(agents),
            running: Mutex::default(),
            views: Mutex::default(),
            sessions: Mutex::default(),
            begun: Mutex::default(),
            mark,
            generation: AtomicU64::new(0),
            listeners: Mutex::default(),
            changed: Notify::new(),
            reloaded: Notify::new(),
            events: Mutex::default(),
            notified: Mutex::default(),
            speaks: Notify::new(),
        }
    }

    fn agents(&self) -> Arc<AgentConfig> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).agents.clone()
    }

    pub(crate) fn config(&self) -> Config {
        Config(self.agents())
    }

    /// Reads profiles.toml and gateway.toml again. If one is broken, the last good ones stay in use.
    pub(crate) fn reload(&self) -> Result<(), brigade::Error> {
        let stamp = crate::file_watch::agents_stamp(&self.workspace);
        // Many writers truncate a file first, so an empty one may be half written.
        if stamp.iter().flatten().any(FileVersion::is_empty) && !crate::file_watch::is_settled(&stamp) {
            return Ok(());
        }
        let known = || self.agents.write().unwrap_or_else(PoisonError::into_inner);
        let read = self.workspace.agents().read();
        let agents = Arc::new(read.inspect_err(|_| known().at = settled_stamp(&stamp))?);
        self.upstreams.configure(&agents.gateway);
        *known() = ReadAgents::after(&stamp, agents);
        self.forget_views();
        self.reloaded.notify_one();
        Ok(())
    }

    /// Reads profiles.toml and gateway.toml again if they changed, so that no request is judged by old contents.
    fn reload_changed(&self, stamp: &[Option<FileVersion>]) {
        let known = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        let has_moved = known.at != stamp;
        drop(known);
        if has_moved {
            // The file watcher reports the error.
            drop(self.reload());
        }
    }

    /// Reads the current profiles and agents, for decisions that cannot wait for the file watcher. If they cannot be
    /// read, returns the last good ones.
    pub(crate) async fn agents_now(self: &Arc<Self>) -> Arc<AgentConfig> {
        let gateway = self.clone();
        blocking(move || gateway.workspace.agents().read().map_or_else(|_| gateway.agents(), Arc::new)).await
    }

    /// Drops all views, so that the next request reads them again.
    pub(crate) fn forget_views(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the schema files of all views, and the missing scripts of tools.
    pub(crate) fn files(&self) -> BTreeSet<PathBuf> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.values().flat_map(|(_, view)| view.files()).map(PathBuf::from).collect()
    }

    /// Returns the files that tools need only to start, and whether they existed when the views were made.
    pub(crate) fn started_from(&self) -> BTreeMap<PathBuf, bool> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = views.values().filter_map(|(_, view)| view.shown.as_ref());
        let all = shown.flat_map(|shown| shown.started_from());
        all.map(|(path, is_there)| (path.to_owned(), is_there)).collect()
    }

    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        self.config().http.allowed_origins.iter().any(|allowed| allowed == origin)
    }

    pub(crate) fn max_request_bytes(&self) -> usize {
        usize::try_from(self.config().max_request_bytes).unwrap_or(usize::MAX)
    }

    /// Returns a function that reads this limit from the gateway at each call. It returns 0 after the gateway has
    /// ended.
    pub(crate) fn limit_of(gateway: &Weak<Gateway>) -> LineLimit {
        let gateway = gateway.clone();
        Box::new(move || gateway.upgrade().map_or(0, |gateway| gateway.max_request_bytes()))
    }

    pub(crate) fn max_result_bytes(&self) -> usize {
        usize::try_from(self.config().max_result_bytes).unwrap_or(usize::MAX)
    }

    /// Returns the agent with this token in the current gateway.toml. Takes the same time for every wrong token.
    pub(crate) fn agent_of_token(&self, token: &str) -> Option<Arc<str>> {
        self.reload_changed(&crate::file_watch::agents_stamp(&self.workspace));
        self.config().agent_of_token(token.as_bytes()).map(|agent| agent.name.as_str().into())
    }

    fn running(&self) -> MutexGuard<'_, Vec<(u64, CallId, CancelToken)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call that runs here, with its cancel token.
    pub(crate) fn started(self: &Arc<Self>, id: &CallId, token: &CancelToken) -> RunningCall {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.running().push((number, id.clone(), token.clone()));
        RunningCall { gateway: self.clone(), number, id: id.clone() }
    }

    pub(crate) fn runs_here(&self, id: &CallId) -> bool {
        self.running().iter().any(|(_, running, _)| running == id)
    }

    /// Ends a call that runs here, in the name of `who`. Returns whether it ran here.
    pub(crate) fn end(&self, id: &CallId, speaker: &str) -> bool {
        let running = self.running();
        let its = running.iter().filter(|(_, running, _)| running == id);
        its.map(|(.., token)| token.cancel_by(speaker)).count() != 0
    }

    /// Returns the number of calls that run here.
    pub(crate) fn busy(&self) -> usize {
        self.running().len()
    }

    /// Returns the calls that run here.
    pub(crate) fn running_calls(&self) -> Vec<CallId> {
        self.running().iter().map(|(_, id, _)| id.clone()).collect()
    }

    /// Returns the current view of the agent.
    pub(crate) async fn view(self: &Arc<Self>, speaker: &Speaker) -> Arc<View> {
        let key = (speaker.agent.clone(), speaker.session.profiles());
        // Checking a few files is faster than waking up another thread.
        let files = crate::file_watch::stamp(&self.workspace);
        self.reload_changed(crate::file_watch::of_agents(&files));
        let stamp = (self.generation.load(Ordering::SeqCst), files);
        if let Some((cached, view)) = self.views().get(&key)
            && *cached == stamp
        {
            return view.clone();
        }
        let gateway = self.clone();
        blocking(move || gateway.read_view(key, stamp)).await
    }

    fn views(&self) -> MutexGuard<'_, HashMap<(Arc<str>, SessionProfiles), CachedView>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the view of an agent that was made from these files.
    pub(crate) fn know(&self, agent: Arc<str>, files: Stamp, shown: AgentTools) {
        let stamp = (self.generation.load(Ordering::SeqCst), files);
        let view = View::new(shown, self.workspace.agent_calls().mask());
        if let Some(refusal) = view.refusal() {
            self.say(&in_one_line(refusal));
        }
        self.keep_view((agent, SessionProfiles::default()), stamp, Arc::new(view));
    }

    fn read_view(&self, key: (Arc<str>, SessionProfiles), stamp: (u64, Stamp)) -> Arc<View> {
        let view = Arc::new(View::read(&self.workspace, self.agents(), &key.0, &key.1, &self.terms));
        self.keep_view(key, stamp, view.clone());
        view
    }

    fn keep_view(&self, key: (Arc<str>, SessionProfiles), mut stamp: (u64, Stamp), view: Arc<View>) {
        // A file may change again within the resolution of its times. Such a view is stored so that its files are
        // watched, but the next request reads it again.
        if !crate::file_watch::is_settled(&stamp.1) {
            stamp.0 = STALE_GENERATION;
        }
        let mut views = self.views();
        if VIEWS <= views.len() {
            views.clear();
        }
        views.insert(key, (stamp, view));
    }

    /// Returns the tool with this id, if the agent may call it.
    pub(crate) async fn shown_of(self: &Arc<Self>, speaker: &Speaker, id: &str) -> Option<AgentTool> {
        self.view(speaker).await.by_id(id).cloned()
    }

    /// Creates a session with a unique id.
    pub(crate) fn new_session(&self, name: &str) -> Arc<LiveSession> {
        let id = format!("session-{name}-{}", self.mark);
        let session = LiveSession::like(id, SessionProfiles::default(), self.terms.root.clone());
        let session = Arc::new(session);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|session| session.strong_count() != 0);
        begun.push(Arc::downgrade(&session));
        session
    }

    /// Returns whether a session may still exist: it is in this process, or its process is alive.
    pub(crate) fn may_exist(&self, id: &str) -> bool {
        if id.ends_with(&self.mark) {
            let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            return begun.iter().filter_map(Weak::upgrade).any(|session| session.id() == id);
        }
        let process = id.rsplit_once('@').and_then(|(_, process)| process.parse::<ProcessIdentity>().ok());
        process.is_some_and(|process| process.is_alive())
    }

    /// Returns the session that all requests of an agent without a handshake share.
    pub(crate) fn session_of(&self, agent: &Arc<str>) -> Arc<LiveSession> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.entry(agent.clone()).or_insert_with(|| self.new_session(agent)).clone()
    }

    /// Returns an agent in the session of its requests without a handshake.
    pub(crate) fn speaker(&self, agent: &Arc<str>) -> Speaker {
        Speaker { agent: agent.clone(), session: self.session_of(agent) }
    }

    /// Returns the limits of an agent over time.
    pub(crate) fn limits(&self, agent: &str) -> Vec<Limit> {
        let config = self.config();
        config.agent(agent).map(|agent| Limit::all(&agent.limits)).unwrap_or_default()
    }

    pub(crate) fn concurrent(&self, agent: &str) -> usize {
        let config = self.config();
        let most = config.agent(agent).map_or(4, |agent| agent.limits.concurrent);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Returns the current version of the queue file.
    pub(crate) fn queue_stamp(&self) -> Option<FileVersion> {
        FileVersion::at(&self.workspace.root().join(brigade::paths::CALLS))
    }

    /// Queues a message for the person who runs the server.
    pub(crate) fn say(&self, text: &str) {
        self.report_event(ServeEvent::Warning(text.to_owned()));
    }

    /// Returns why nothing can be called, for the person who runs the server, if so.
    pub(crate) async fn refusal(self: &Arc<Self>) -> Option<String> {
        let agent = Arc::from(self.config().agents.first()?.name.as_str());
        self.view(&self.speaker(&agent)).await.refusal().map(in_one_line)
    }

    /// Queues an event for the person who runs the server.
    pub(crate) fn report_event(&self, event: ServeEvent) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
        self.speaks.notify_one();
    }

    /// Tells the program of `[notify]` that a call waits, once for each call. Does not wait for it.
    pub(crate) fn notify(self: &Arc<Self>, call: &Call) {
        let is_new = |known: &Mutex<HashSet<CallId>>| {
            known.lock().unwrap_or_else(PoisonError::into_inner).insert(call.id.clone())
        };
        if !is_new(&self.notified) {
            return;
        }
        let (gateway, call) = (self.clone(), call.clone());
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = gateway.workspace.agents().notify_waiting(&call) {
                gateway.say(&error.to_string());
            }
        }));
    }

    /// Waits for the next event for the person.
    pub(crate) async fn next_event(&self) -> ServeEvent {
        loop {
            let next = self.events.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match next {
                Some(event) => return event,
                None => self.speaks.notified().await,
            }
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a client that is notified of changes. `known` are the lists at its handshake.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        speaker: Speaker,
        peer: Peer<RoleServer>,
        known: Option<Lists>,
    ) {
        let client = peer.peer_info().map(|info| {
            let about = &info.client_info;
            format!("{} {}", about.name, about.version)
        });
        let (agent, client) = (speaker.agent.to_string(), client.unwrap_or_default());
        self.report_event(ServeEvent::Connected { agent, client });
        let now = self.lists(&speaker).await;
        let known = known.unwrap_or(now);
        {
            let mut listeners = self.listeners();
            listeners.retain(|listener| !listener.peer.is_transport_closed());
            listeners.push(Listener { speaker, peer, known });
        }
        if known != now {
            self.notify_listeners().await;
        }
    }

    /// Notifies the clients with a handshake whose lists changed.
    pub(crate) async fn notify_listeners(self: &Arc<Self>) {
        let all: Vec<Speaker> = {
            let mut listeners = self.listeners();
            listeners.retain(|listener| !listener.peer.is_transport_closed());
            listeners.iter().map(|listener| listener.speaker.clone()).collect()
        };
        let mut now = HashMap::new();
        for speaker in all {
            if !now.contains_key(speaker.session.id()) {
                now.insert(speaker.session.id().to_owned(), self.lists(&speaker).await);
            }
        }
        let mut changed = Vec::new();
        for listener in self.listeners().iter_mut() {
            if let Some(lists) = now.get(listener.speaker.session.id())
                && *lists != listener.known
            {
                changed.push((listener.peer.clone(), std::mem::replace(&mut listener.known, *lists), *lists));
            }
        }
        for (peer, before, now) in changed {
            // A client that does not read must not delay the others. The next change sends what was not sent.
            tokio::spawn(async move {
                if before.tools != now.tools {
                    let _ = peer.notify_tool_list_changed().await;
                }
                if before.resources != now.resources {
                    let _ = peer.notify_resource_list_changed().await;
                }
                if before.prompts != now.prompts {
                    let _ = peer.notify_prompt_list_changed().await;
                }
            });
        }
    }

    /// Returns fingerprints of the agent's lists, including changes that servers reported.
    async fn lists(self: &Arc<Self>, speaker: &Speaker) -> Lists {
        self.lists_of(&speaker.agent, &*self.view(speaker).await)
    }

    /// Returns the same for a view.
    pub(crate) fn lists_of(&self, agent: &Arc<str>, view: &View) -> Lists {
        let lists = view.lists_as(self.list_mode());
        let changes = |reads| self.listings.changes(agent, reads);
        Lists {
            resources: lists.resources.wrapping_add(changes(Reads::Resource)),
            prompts: lists.prompts.wrapping_add(changes(Reads::Prompt)),
            ..lists
        }
    }

    /// Notifies a client without a handshake of changes, until it ends its subscription.
    pub(crate) async fn subscribed(self: &Arc<Self>, speaker: Speaker, context: &SubscriptionContext) {
        let mut known = self.lists(&speaker).await;
        loop {
            tokio::select! {
                () = context.cancelled() => return,
                () = self.stop.cancelled() => return,
                () = self.changed.notified() => {}
            }
            let before = std::mem::replace(&mut known, self.lists(&speaker).await);
            let sink = context.sink();
            let mut sent = Vec::new();
            if before.tools != known.tools {
                sent.push(sink.notify_tool_list_changed().await);
            }
            if before.resources != known.resources {
                sent.push(sink.notify_resource_list_changed().await);
            }
            if before.prompts != known.prompts {
                sent.push(sink.notify_prompt_list_changed().await);
            }
            // A change that the client did not subscribe to is skipped, and the subscription continues.
            let is_over = |sent: &Result<(), SubscriptionSendError>| {
                !matches!(sent, Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)))
            };
            if sent.iter().any(is_over) {
                return;
            }
        }
    }

    pub(crate) fn list_mode(&self) -> Listing {
        self.terms.list.unwrap_or_else(|| self.config().list)
    }
}
