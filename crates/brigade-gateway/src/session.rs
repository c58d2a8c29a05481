//! Handles the requests of one client, over every transport and revision.

#![expect(deprecated, reason = "older revisions have logging levels")]

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade::ErrorCode;
use brigade::core::text::short;
use brigade::core::{Fingerprint, Json};
use brigade::gateway::OwnName;
use brigade::profile::LiveSession;
use brigade::profile::builtin::ignored_arguments;
use brigade::tools::Reads;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, CustomRequest, CustomResult, DiscoverResult,
    ErrorCode as RpcCode, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, InputRequiredResult, InputResponses, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, CallSummary};
use crate::call::{AskOutcome, Asker};
use crate::confirm::{Question, Reply};
use crate::event::ServeEvent;
use crate::gateway::{Gateway, Speaker};
use crate::http::Identity;
use crate::listing;
use crate::message::{NO_SUCH_METHOD, RawArguments};
use crate::offers::NameOwner;
use crate::read_request::ReadRequest;
use crate::sessions;
use crate::upstream::{ClientLine, ClientSide, OngoingCall, fingerprint};
use crate::view::{AgentTool, Kind, Lists, View};
use crate::workspace_offers;

/// The supported revisions of the protocol.
const REVISIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The longest unknown name of a tool that an answer repeats, in characters.
const MAX_SHOWN_NAME: usize = 64;

/// One client.
#[derive(Clone)]
pub(crate) struct Session {
    gateway: Arc<Gateway>,
    /// The agent of the connection. `None` over HTTP, where each request names its agent.
    agent: Option<Arc<str>>,
    /// The session of a client that began with a handshake.
    own: Arc<LiveSession>,
    /// Whether the client is the worker of a task, which has only this session.
    is_task: bool,
    /// The lowest level of log messages that the client wants.
    level: Arc<Mutex<Option<LoggingLevel>>>,
    /// The lists at the handshake.
    known: Arc<Mutex<Option<Lists>>>,
}

impl Session {
    pub(crate) fn new(gateway: Arc<Gateway>, agent: Option<Arc<str>>) -> Session {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let own = gateway.new_session(&format!("+{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        Session { gateway, agent, own, is_task: false, level: Arc::default(), known: Arc::default() }
    }

    /// Creates a session for the worker of a task.
    pub(crate) fn of_task(gateway: Arc<Gateway>, agent: Arc<str>, own: Arc<LiveSession>) -> Session {
        Session { is_task: true, own, ..Session::new(gateway, Some(agent)) }
    }

    /// Returns the agent and session of a request. Clients without a handshake share the session of their agent.
    fn speaker(&self, context: &RequestContext<RoleServer>) -> Result<Speaker, ErrorData> {
        let agent = self.agent(&context.extensions)?;
        Ok(match is_late(context) && !self.is_task {
            true => self.gateway.speaker(&agent),
            false => Speaker { agent, session: self.own.clone() },
        })
    }
    /// Returns what a client sees, and its agent.
    async fn view(&self, context: &RequestContext<RoleServer>) -> Result<(Arc<View>, Arc<str>), ErrorData> {
        let speaker = self.speaker(context)?;
        Ok((self.gateway.view(&speaker).await, speaker.agent))
    }

    fn agent(&self, extensions: &rmcp::model::Extensions) -> Result<Arc<str>, ErrorData> {
        let agent = identity(extensions).map(|identity| identity.agent.clone());
        let agent = agent.or_else(|| self.agent.clone());
        agent.ok_or_else(|| ErrorData::internal_error("the connection has no agent", None))
    }

    /// Returns whether the request has a token, or the client started this server.
    fn is_proven(&self, extensions: &rmcp::model::Extensions) -> bool {
        let identity = identity(extensions).map(|identity| identity.has_token);
        identity.unwrap_or(self.agent.is_some() && !self.is_task)
    }

    /// Returns which questions the client supports. The worker of a task gets none, because no person is there to
    /// answer.
    fn capabilities(&self, context: &RequestContext<RoleServer>) -> Option<ClientCapabilities> {
        context.client_capabilities().filter(|_| !self.is_task)
    }

    fn asker(&self, context: &RequestContext<RoleServer>) -> Result<Asker, ErrorData> {
        let Speaker { agent, session } = self.speaker(context)?;
        Ok(Asker {
            agent,
            line: ClientLine::new(context.peer.clone(), context.meta.get_progress_token()),
            cancelled: context.ct.clone(),
            client: ClientSide {
                client: (!is_late(context)).then(|| session.id().to_owned()),
                session: session.id().to_owned(),
                capabilities: self.capabilities(context).unwrap_or_default(),
                level: match is_late(context) {
                    true => context.meta.log_level(),
                    false => *self.level.lock().unwrap_or_else(PoisonError::into_inner),
                },
                is_late: is_late(context),
                is_proven: self.is_proven(&context.extensions),
                questions: None,
            },
            session,
        })
    }

    /// Requests a call. Asks the person at the client for approval, if that is allowed.
    async fn ask(
        &self,
        asker: &Asker,
        call_request: &CallRequest<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let CallRequest { view, tool, arguments, state, replies } = *call_request;
        let question = Question::new(&self.gateway, asker, tool);
        let late = is_late(context);
        let started = Instant::now();
        let report = |answer: &Answer| {
            self.gateway.report_event(ServeEvent::answered(asker, answer, arguments, started.elapsed()));
        };
        let done = |answer: Answer| match (&answer.lacking, &answer.asks_for_url) {
            // The client must have the capabilities that the upstream server requires.
            (Some(required), _) if late && !has(Some(&asker.client.capabilities), required) => {
                Err(ErrorData::missing_required_client_capability(required.clone()))
            }
            (_, Some(error)) => Err(error.clone()),
            _ => Ok(Outcome::Answer(Box::new(answer))),
        };
        // The answer to a question that this client was asked before.
        if let Some(state) = state {
            let returned = Question::returned(&self.gateway, asker, tool, arguments, state, replies);
            let answer = Box::pin(returned).await?;
            report(&answer);
            return done(answer);
        }
        match Box::pin(self.gateway.ask(asker, view, tool, arguments.clone())).await {
            AskOutcome::Answer(answer) => {
                report(&answer);
                done(*answer)
            }
            AskOutcome::Pending(call, before) => {
                match Box::pin(question.ask(&self.gateway, asker, tool, &call)).await {
                    Reply::Required(required) => Ok(Outcome::Required(required)),
                    Reply::Answer(answer) => {
                        report(&answer);
                        done(*answer)
                    }
                    Reply::None => {
                        self.gateway.report_event(ServeEvent::Waits(call.clone()));
                        self.gateway.notify(&call);
                        done(self.gateway.stored_answer(asker, &call, &before))
                    }
                }
            }
        }
    }

    /// Reads a resource or prompt of a server: a call of the tool for it.
    async fn read(
        &self,
        read: &ReadRequest<'_>,
        server: &str,
        back: ClientReply,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let asker = self.asker(context)?;
        let view = self.gateway.view(&asker.speaker()).await;
        let tool = view.reader(read.reads, server).ok_or_else(|| read.unknown(is_late(context)))?;
        let arguments = Json::from(&Value::Object(read.call(server)));
        let request_key = fingerprint(&asker.agent, read.reads.method(), read.name, &arguments);
        let (session, its_context) = (self.clone(), context.clone());
        self.with_questions(asker, request_key, back, context, |asker, back| async move {
            let ClientReply { state, replies } = &back;
            let (state, replies) = (state.as_deref(), replies.as_ref());
            let call_request =
                CallRequest { view: &view, tool: &tool, arguments: &arguments, state, replies };
            session.ask(&asker, &call_request, &its_context).await
        })
        .await
    }

    /// Runs the work of a request. For a client without a handshake, questions of the server become a result. The
    /// request with the replies then continues the work.
    async fn with_questions<F>(
        &self,
        mut asker: Asker,
        request_key: Fingerprint,
        back: ClientReply,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(Asker, ClientReply) -> F,
    ) -> Result<Outcome, ErrorData>
    where
        F: Future<Output = Result<Outcome, ErrorData>> + Send + 'static,
    {
        if !asker.client.is_late {
            return Box::pin(work(asker, back)).await;
        }
        let gone = &context.ct;
        if let Some(state) = &back.state {
            let to = (asker.line.clone(), gone);
            if let Some(outcome) = self.gateway.unpark(request_key, state, back.replies.as_ref(), to).await {
                return outcome;
            }
        }
        // With a question, the call outlives this request, so it needs a separate token.
        let (ask, questions) = tokio::sync::mpsc::unbounded_channel();
        asker.client.questions = Some(ask);
        asker.cancelled = CancellationToken::new();
        let (cancel, line) = (asker.cancelled.clone(), asker.line.clone());
        let outcome = tokio::spawn(work(asker, back));
        self.gateway.follow(OngoingCall { outcome, questions, cancel, line, request_key }, gone).await
    }

    /// Calls a tool.
    async fn called(
        &self,
        name: &str,
        arguments: Json,
        back: ClientReply,
        context: RequestContext<RoleServer>,
        asker: Asker,
    ) -> Result<Outcome, ErrorData> {
        let view = self.gateway.view(&asker.speaker()).await;
        let (mut name, mut arguments) = (name, arguments);
        let mut tool = match resolve_tool(&view, name, &mut arguments) {
            Ok(tool) => tool,
            Err(problem) => return problem.outcome(&self.gateway, &asker, &arguments),
        };
        let inner;
        let members = |arguments: &Json| match arguments.to_serde() {
            Value::Object(members) => members,
            _ => Arguments::new(),
        };
        if let Kind::Control(control) = &tool.kind
            && let Some(called) = control.calls_another(&members(&arguments))
        {
            inner = match called {
                Ok(called) => called,
                Err(answer) => return Ok(Outcome::Answer(answer)),
            };
            name = inner.as_str();
            arguments = arguments.get("arguments").cloned().unwrap_or_else(|| Json::object::<&str>([]));
            tool = match resolve_tool(&view, name, &mut arguments) {
                Ok(tool) => tool,
                Err(problem) => return problem.outcome(&self.gateway, &asker, &arguments),
            };
        }
        if let Kind::Control(control) = &tool.kind {
            let members = members(&arguments);
            let answer = Box::pin(control.answer(&self.gateway, &asker, &view, &members)).await;
            return Ok(Outcome::Answer(Box::new(answer)));
        }
        let answer = match tool.id.as_str() {
            sessions::INIT => Some(Box::pin(self.gateway.begin(&asker, &arguments)).await),
            sessions::MODE if back.state.is_none() => {
                Box::pin(self.gateway.narrow_session(&asker, &arguments)).await
            }
            _ if tool.is_direct() => {
                Some(Box::pin(self.gateway.at_once(&asker, tool, arguments.clone())).await)
            }
            _ => None,
        };
        let (state, replies) = (back.state.as_deref(), back.replies.as_ref());
        let call_request = CallRequest { view: &view, tool, arguments: &arguments, state, replies };
        let mut outcome = match answer {
            Some(answer) => Outcome::Answer(Box::new(answer)),
            None => Box::pin(self.ask(&asker, &call_request, &context)).await?,
        };
        if let Outcome::Answer(answer) = &mut outcome
            && tool.family == "builtin"
        {
            answer.about.notes = ignored_arguments(&arguments);
        }
        Ok(outcome)
    }

    fn result<T: serde::de::DeserializeOwned>(
        &self,
        read: &ReadRequest<'_>,
        answer: Answer,
        context: &RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        from_value(read.finish(answer, self.gateway.max_result_bytes(), is_late(context))?)
    }
}

/// A requested call, with the state and replies that came back with it.
struct CallRequest<'a> {
    /// The view of the agent.
    view: &'a Arc<View>,
    tool: &'a AgentTool,
    arguments: &'a Json,
    /// The state of an earlier question.
    state: Option<&'a str>,
    /// The replies to it.
    replies: Option<&'a InputResponses>,
}

/// The state and replies that a client returns with a request.
#[derive(Default)]
struct ClientReply {
    state: Option<String>,
    replies: Option<InputResponses>,
}

/// The outcome of a request.
pub(crate) enum Outcome {
    /// The result.
    Answer(Box<Answer>),
    /// A question. The client repeats the request with its reply.
    Required(Box<InputRequiredResult>),
}

/// Returns how an HTTP request was authenticated.
fn identity(extensions: &rmcp::model::Extensions) -> Option<&Identity> {
    extensions.get::<http::request::Parts>()?.extensions.get::<Identity>()
}

/// Returns the arguments of a request, if the SDK could not hold them.
fn raw_arguments(extensions: &rmcp::model::Extensions) -> Option<Json> {
    let parts = extensions.get::<http::request::Parts>();
    let raw = extensions.get().or_else(|| parts?.extensions.get());
    raw.map(|RawArguments(raw)| Json::clone(raw))
}

/// Refuses a cursor where everything is on one page.
fn one_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(_) => Err(ErrorData::invalid_params("the cursor is not one of this list", None)),
        None => Ok(()),
    }
}

/// Parses a typed result of the protocol. It is marked as complete. The SDK sends the mark only to revisions that know
/// it.
pub(crate) fn from_value<T: serde::de::DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    if let Value::Object(members) = &mut value {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("a result could not be written: {error}"), None))
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_logging();
        let mut info = ServerConfig::new(capabilities.build());
        info.protocol_version = ProtocolVersion::V_2025_11_25;
        info.server_info = Implementation::new("brigade", env!("CARGO_PKG_VERSION")).with_title("Brigade");
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(const { &REVISIONS })
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let agent = self.agent(&context.extensions)?;
        let mut result = self.negotiate_initialize(&request)?;
        let speaker = Speaker { agent: agent.clone(), session: self.own.clone() };
        let view = self.gateway.view(&speaker).await;
        let lists = self.gateway.lists_of(&agent, &view);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(lists);
        result.instructions = Some(self.gateway.instructions(&speaker).await);
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let speaker = self.speaker(&context)?;
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.instructions = Some(self.gateway.instructions(&speaker).await);
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Ok(agent) = self.agent(&context.extensions) {
            let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let speaker = Speaker { agent, session: self.own.clone() };
            self.gateway.listen(speaker, context.peer.clone(), known).await;
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (view, agent) = self.view(&context).await?;
        let cursor = request.and_then(|request| request.cursor);
        let page = listing::page(&self.gateway, &agent, &view, cursor.as_deref())?;
        let mut result = ListToolsResult::with_all_items(page.tools);
        result.next_cursor = page.next;
        if let Some(why) = view.refusal() {
            let refused = Answer::refused("", why);
            let about = json!({"code": refused.about.code, "message": refused.words()});
            result.meta = serde_json::from_value(json!({"brigade/refused": about})).ok();
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asker = self.asker(&context)?;
        let CallToolRequestParams { name, arguments, request_state, input_responses, .. } = request;
        let arguments = raw_arguments(&context.extensions)
            .unwrap_or_else(|| Json::from(&Value::Object(arguments.unwrap_or_default())));
        let request_key = fingerprint(&asker.agent, "tools/call", &name, &arguments);
        let back = ClientReply { state: request_state, replies: input_responses };
        let (session, its_context) = (self.clone(), context.clone());
        let work =
            |asker, back| async move { session.called(&name, arguments, back, its_context, asker).await };
        Ok(match self.with_questions(asker, request_key, back, &context, work).await? {
            Outcome::Answer(answer) => answer.finish(self.gateway.max_result_bytes()).into(),
            Outcome::Required(required) => CallToolResponse::InputRequired(*required),
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        one_page(request)?;
        let (view, agent) = self.view(&context).await?;
        let mut resources = workspace_offers::resources(&view);
        resources.extend(self.gateway.resources(&agent, &view).await);
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request)?;
        let (view, agent) = self.view(&context).await?;
        let mut templates = workspace_offers::templates();
        templates.extend(self.gateway.templates(&agent, &view).await);
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let speaker = self.speaker(&context)?;
        let view = self.gateway.view(&speaker).await;
        if let Some(contents) = workspace_offers::read(&self.gateway, &speaker, &view, &request.uri).await {
            return Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![contents])));
        }
        let read = ReadRequest { reads: Reads::Resource, name: &request.uri, arguments: None };
        let returned =
            ClientReply { state: request.request_state.clone(), replies: request.input_responses.clone() };
        match self.gateway.owner_of(&speaker.agent, &view, read.reads, read.name).await {
            NameOwner::Server(server) => match Box::pin(self.read(&read, &server, returned, &context)).await?
            {
                Outcome::Answer(answer) => {
                    Ok(ReadResourceResponse::Complete(self.result(&read, *answer, &context)?))
                }
                Outcome::Required(required) => Ok(ReadResourceResponse::InputRequired(*required)),
            },
            NameOwner::Own | NameOwner::Nobody => Err(read.unknown(is_late(&context))),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        one_page(request)?;
        let (view, agent) = self.view(&context).await?;
        Ok(ListPromptsResult::with_all_items(self.gateway.prompts(&agent, &view).await))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (view, agent) = self.view(&context).await?;
        let read =
            ReadRequest { reads: Reads::Prompt, name: &request.name, arguments: request.arguments.as_ref() };
        let returned =
            ClientReply { state: request.request_state.clone(), replies: request.input_responses.clone() };
        let own = match self.gateway.owner_of(&agent, &view, read.reads, read.name).await {
            NameOwner::Server(server) => {
                return match Box::pin(self.read(&read, &server, returned, &context)).await? {
                    Outcome::Answer(answer) => {
                        Ok(GetPromptResponse::Complete(self.result(&read, *answer, &context)?))
                    }
                    Outcome::Required(required) => Ok(GetPromptResponse::InputRequired(*required)),
                };
            }
            NameOwner::Own => workspace_offers::prompt(&self.gateway, &agent, &view, &request.name).await,
            NameOwner::Nobody => None,
        };
        let prompt = own.ok_or_else(|| read.unknown(is_late(&context)))?;
        Ok(GetPromptResponse::Complete(prompt))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_late(&context) {
            return Err(ErrorData::new(RpcCode::METHOD_NOT_FOUND, NO_SUCH_METHOD, None));
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let speaker = self.speaker(context.request_context())?;
        self.gateway.subscribed(speaker, &context).await;
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // Known methods whose parameters the SDK could not parse.
        const METHODS: [&str; 9] = [
            "server/discover",
            "tools/list",
            "tools/call",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "prompts/list",
            "prompts/get",
            "subscriptions/listen",
        ];
        // These methods exist only in revisions with a handshake.
        const HANDSHAKE_METHODS: [&str; 3] = ["initialize", "ping", "logging/setLevel"];
        let method = request.method.as_str();
        Err(if METHODS.contains(&method) || HANDSHAKE_METHODS.contains(&method) && !is_late(&context) {
            ErrorData::invalid_params("the parameters do not fit the method", None)
        } else {
            ErrorData::new(RpcCode::METHOD_NOT_FOUND, NO_SUCH_METHOD, None)
        })
    }
}

/// Returns whether the client speaks a revision without a handshake.
pub(crate) fn is_late(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| ProtocolVersion::V_2026_07_28.as_str() <= version.as_str())
}

/// Returns whether a client declares all wanted capabilities.
fn has(declared: Option<&ClientCapabilities>, required: &ClientCapabilities) -> bool {
    let members = |capabilities: &ClientCapabilities| match serde_json::to_value(capabilities) {
        Ok(Value::Object(members)) => members,
        _ => JsonObject::new(),
    };
    let declared = declared.map(members).unwrap_or_default();
    members(required).keys().all(|name| declared.contains_key(name))
}

/// Why a name cannot be called.
enum NameError {
    /// It is unknown.
    Unknown(ErrorData),
    /// The name is known, and this answer explains why it cannot be called.
    Said(Box<Answer>),
}

impl NameError {
    /// Returns the error of a name that the agent does not have. While nothing can be called, no name is unknown, and
    /// the answer says why.
    fn new(view: &View, name: &str) -> NameError {
        match view.refusal() {
            Some(why) => {
                let name = short(name, MAX_SHOWN_NAME);
                NameError::Said(Box::new(Answer::refused(&name, why)))
            }
            None => NameError::Unknown(unknown(view, name)),
        }
    }

    fn outcome(self, gateway: &Gateway, asker: &Asker, arguments: &Json) -> Result<Outcome, ErrorData> {
        match self {
            NameError::Unknown(error) => Err(error),
            NameError::Said(answer) => {
                gateway.report_event(ServeEvent::answered(asker, &answer, arguments, Duration::ZERO));
                Ok(Outcome::Answer(answer))
            }
        }
    }
}

/// Finds the tool of a name: the listed name, then another name of a built-in tool. Arguments of the latter are renamed
/// to those of the tool.
fn resolve_tool<'v>(view: &'v View, name: &str, arguments: &mut Json) -> Result<&'v AgentTool, NameError> {
    if let Some(tool) = view.by_name(name) {
        return Ok(tool);
    }
    let unknown = || NameError::new(view, name);
    let own = view.shown.as_ref().and_then(|shown| shown.own_name(name)).ok_or_else(unknown)?;
    match own {
        OwnName::Listed { id, alias } => {
            let tool = view.by_id(id).ok_or_else(unknown)?;
            if let (Some(alias), Json::Object(given)) = (alias, &*arguments) {
                *arguments = Json::Object(alias.arguments_of(given.clone()).map_err(|problem| {
                    let about = CallSummary::of_tool(id, "refused").coded(ErrorCode::InvalidArguments);
                    NameError::Said(Box::new(Answer::failed(
                        about,
                        format!("the arguments do not fit: {problem}"),
                    )))
                })?);
            }
            Ok(tool)
        }
        OwnName::Absent { id, why } => {
            let about = CallSummary::of_tool(id, "refused").coded(ErrorCode::NotAvailableHere);
            Err(NameError::Said(Box::new(Answer::failed(about, format!("not available here: {why}")))))
        }
    }
}

fn unknown(view: &View, name: &str) -> ErrorData {
    let near = view.near(name);
    let data = (!near.is_empty()).then(|| json!({"did_you_mean": near}));
    ErrorData::invalid_params("there is no such tool", data)
}

/// Arguments of a tool.
pub(crate) type Arguments = JsonObject;
