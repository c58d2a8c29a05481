//! One request to a server, from its sending to its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade_core::{Json, Object};
use rmcp::model::{CustomRequest, GetExtensions, ProgressToken};

use crate::exchange::Listener;
use crate::requester::Requester;

/// The member of parameters that is reserved by the protocol.
const META: &str = "_meta";

/// Our requests that do not count as work of the server. One of them is never answered.
const QUIET_METHODS: [&str; 4] = ["ping", "server/discover", "logging/setLevel", "subscriptions/listen"];

/// One request. Its parameters keep the digits of their numbers, which the SDK may lose.
pub(super) struct Flight {
    method: String,
    params: Object,
    listener: Option<Listener>,
    requester: Option<Arc<dyn Requester>>,
    idle_timeout: Option<Duration>,
    progressed: Mutex<Option<Instant>>,
    /// Members of `_meta` for a server without a handshake.
    late: Object,
    sent: Mutex<SentRequest>,
}

/// The state of a request that was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct SentRequest {
    pub(super) id: Option<i64>,
    /// The token of its progress reports.
    pub(super) token: Option<ProgressToken>,
    /// The whole message.
    pub(super) message: Option<Json>,
    /// How many messages of the server had arrived by then.
    pub(super) messages: u64,
}

impl Flight {
    /// Creates a request. Parameters that are not an object are dropped.
    pub(super) fn new(method: &str, params: Json) -> Flight {
        let params = match params {
            Json::Object(params) => params,
            _ => Object::new(),
        };
        Flight {
            method: method.to_owned(),
            params,
            listener: None,
            requester: None,
            idle_timeout: None,
            progressed: Mutex::default(),
            late: Object::new(),
            sent: Mutex::default(),
        }
    }

    /// Creates the call of a tool.
    pub(super) fn call(tool_name: &str, arguments: &Json) -> Flight {
        let params = [("name", Json::from(tool_name)), ("arguments", arguments.clone())];
        Flight::new("tools/call", Json::object(params))
    }

    /// Adds a parameter.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: Json) -> Flight {
        self.params.insert(name.to_owned(), value);
        self
    }

    /// Sets the receiver of progress reports.
    #[must_use]
    pub(super) fn heard_by(mut self, listener: Option<&Listener>) -> Flight {
        self.listener = listener.cloned();
        self
    }

    /// Sets the receiver of the server's questions.
    #[must_use]
    pub(super) fn asked_by(mut self, requester: Option<Arc<dyn Requester>>) -> Flight {
        self.requester = requester;
        self
    }

    /// Sets how long it may pass without progress.
    #[must_use]
    pub(super) fn idle_after(mut self, idle_timeout: Option<Duration>) -> Flight {
        self.idle_timeout = idle_timeout;
        self
    }

    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        self.idle_timeout
    }

    /// Notes progress of the server.
    pub(super) fn note_progress(&self) {
        *self.progressed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Returns when the server last reported progress.
    pub(super) fn progressed_at(&self) -> Option<Instant> {
        *self.progressed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a member of `_meta` that only a server without a handshake gets.
    #[must_use]
    pub(super) fn late(mut self, name: &str, value: Json) -> Flight {
        self.late.insert(name.to_owned(), value);
        self
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    pub(super) fn listener(&self) -> Option<&Listener> {
        self.listener.as_ref()
    }

    pub(super) fn requester(&self) -> Option<&Arc<dyn Requester>> {
        self.requester.as_ref()
    }

    /// Returns the client of the request, if any of its calls may get the server's messages.
    pub(super) fn client(&self) -> Option<String> {
        self.requester.as_ref()?.client()
    }

    /// Returns the session of the client of the request.
    pub(super) fn session(&self) -> Option<String> {
        self.requester.as_ref()?.session()
    }

    /// Returns whether a server may log or ask something because of it.
    pub(super) fn may_cause_messages(&self) -> bool {
        !QUIET_METHODS.contains(&self.method.as_str())
    }

    /// Returns the request for the SDK, which carries a reference to this.
    pub(super) fn to_request(self: &Arc<Flight>) -> CustomRequest {
        let mut request = CustomRequest::new(self.method.clone(), Some(serde_json::json!({})));
        request.extensions_mut().insert(self.clone());
        request
    }

    pub(super) fn sent(&self) -> SentRequest {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SentRequest> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the original parameters into the message of the SDK, and records how it is sent.
    pub(super) fn send(&self, message: Json, sent: SentRequest, is_late: bool) -> Json {
        let Json::Object(mut members) = message else { return message };
        let mut params = self.params.clone();
        let given = members.get("params").and_then(|params| params.get(META)).and_then(Json::as_object);
        let mut meta = given.cloned().unwrap_or_default();
        if let Some(own) = self.params.get(META).and_then(Json::as_object) {
            meta.extend(own.clone());
        }
        if is_late {
            meta.extend(self.late.clone());
        }
        params.insert(META.to_owned(), Json::Object(meta));
        members.insert("params".to_owned(), Json::Object(params));
        let message = Json::Object(members);
        *self.lock() = SentRequest { message: Some(message.clone()), ..sent };
        message
    }
}
