//! Lets a server talk to the caller of a call while the call runs.

use std::fmt;
use std::sync::Arc;

use brigade_core::Json;
use brigade_redact::Redactor;

use crate::pin::redact_texts;

/// What a server may ask the caller of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// Input from a person: `elicitation/create`.
    Elicitation,
    /// A message from the client's model: `sampling/createMessage`.
    Sampling,
}

impl QuestionKind {
    /// Returns the kind of a request with this method.
    pub fn of_method(method: &str) -> Option<QuestionKind> {
        match method {
            "elicitation/create" => Some(QuestionKind::Elicitation),
            "sampling/createMessage" => Some(QuestionKind::Sampling),
            _ => None,
        }
    }

    /// Returns the method of such a request.
    pub fn method(self) -> &'static str {
        match self {
            QuestionKind::Elicitation => "elicitation/create",
            QuestionKind::Sampling => "sampling/createMessage",
        }
    }
}

/// A question of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Distinguishes it from other questions of the same request.
    pub key: String,
    /// The kind of question.
    pub kind: QuestionKind,
    /// The parameters, unchanged.
    pub params: Json,
}

/// Why a question has no result: an error of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
}

/// Sends an answer back.
type SendBack = Box<dyn FnOnce(Result<Json, ReplyError>) + Send>;

/// Returns the answer to a server's question. Dropping it reports that the question was not answered.
pub struct Reply {
    kind: QuestionKind,
    send: Option<SendBack>,
}

impl Reply {
    /// Creates the reply to a question; `send` sends it.
    pub fn new(kind: QuestionKind, send: impl FnOnce(Result<Json, ReplyError>) + Send + 'static) -> Reply {
        Reply { kind, send: Some(Box::new(send)) }
    }

    /// Answers the question.
    pub fn answer(mut self, answer: Result<Json, ReplyError>) {
        if let Some(send) = self.send.take() {
            send(answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(send) = self.send.take() {
            send(unanswered(self.kind));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Returns the answer to an unanswered question: the person cancelled the form, or no model was asked.
fn unanswered(kind: QuestionKind) -> Result<Json, ReplyError> {
    match kind {
        QuestionKind::Elicitation => Ok(Json::object([("action", Json::from("cancel"))])),
        QuestionKind::Sampling => {
            Err(ReplyError { code: -1, message: "the client's model was not asked".to_owned() })
        }
    }
}

/// A log message of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpLog {
    /// Its level, such as `info`.
    pub level: String,
    /// The part of the server that wrote it.
    pub logger: Option<String>,
    /// Its content, unchanged.
    pub data: Json,
}

/// The caller of a call. The methods are called between messages of the server, so they must not block.
pub trait Requester: Send + Sync {
    /// Returns the capabilities of the client that a server of 2026-07-28 gets with the call: an object with members
    /// such as `elicitation`.
    fn capabilities(&self) -> Json;

    /// Returns the id of the client, if any of its calls may get messages about all of its calls. `None` if each call
    /// only gets its own messages.
    fn client(&self) -> Option<String> {
        None
    }

    /// Returns the session of the call. Log messages after the answer to a call are sent only to its session.
    fn session(&self) -> Option<String> {
        self.client()
    }

    /// Returns whether the client is proven to be one that a person uses, so that its replies may decide.
    fn is_proven(&self) -> bool {
        true
    }

    /// Receives a log message.
    fn hear(&self, log: McpLog);

    /// Returns the lowest level of log messages that the client wants; `None` if the client set none.
    fn log_level(&self) -> Option<String>;

    /// Receives questions of one request, and answers them at any later time.
    fn ask(&self, questions: Vec<(Question, Reply)>);
}

/// Forwards a server's messages to the caller of a call, with the server's name and without secrets.
pub struct NamedRequester {
    /// The caller.
    pub requester: Arc<dyn Requester>,
    /// The server, whose name is put in front of questions to a person.
    pub server_id: String,
    /// Whether the server may ask the client's model.
    pub sampling: bool,
    /// Masks the server's messages.
    pub redactor: Redactor,
}

impl Requester for NamedRequester {
    fn capabilities(&self) -> Json {
        let declared = self.requester.capabilities();
        let is_passed = |name: &str| name == "elicitation" || name == "sampling" && self.sampling;
        let members = declared.as_object().into_iter().flatten().filter(|(name, _)| is_passed(name));
        Json::object(members.map(|(name, value)| (name.clone(), value.clone())))
    }

    fn client(&self) -> Option<String> {
        self.requester.client()
    }

    fn session(&self) -> Option<String> {
        self.requester.session()
    }

    fn hear(&self, log: McpLog) {
        let data = redact_texts(&log.data, &self.redactor);
        let logger = log.logger.map(|logger| self.redactor.redact_str(&logger));
        self.requester.hear(McpLog { data, logger, ..log });
    }

    fn log_level(&self) -> Option<String> {
        self.requester.log_level()
    }

    fn ask(&self, questions: Vec<(Question, Reply)>) {
        let declared = self.capabilities();
        let mut passed = Vec::new();
        for (question, reply) in questions {
            let name = match question.kind {
                QuestionKind::Elicitation => "elicitation",
                QuestionKind::Sampling => "sampling",
            };
            // Questions that the client does not support are not sent. Dropping the reply reports that.
            if declared.get(name).is_none() {
                continue;
            }
            let mut params = redact_texts(&question.params, &self.redactor);
            if let (QuestionKind::Elicitation, Json::Object(members)) = (question.kind, &mut params) {
                let message = members.get("message").and_then(Json::as_str).unwrap_or_default();
                members.insert("message".to_owned(), format!("{}: {message}", self.server_id).into());
            }
            // Answers are matched by the masked key, and returned with the original one.
            let masked = self.redactor.redact_str(&question.key);
            let key = if masked == question.key { masked } else { format!("{masked}-{}", passed.len() + 1) };
            passed.push((Question { key, params, ..question }, reply));
        }
        if !passed.is_empty() {
            self.requester.ask(passed);
        }
    }
}
