//! Who asked for a call, as far as its server speaks to them while it runs.

use std::fmt;

use brigade_core::Json;

/// What a server may ask of whoever asked for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// Input of a person: `elicitation/create`.
    Elicitation,
    /// A message of the client's model: `sampling/createMessage`.
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
    /// What it asks for.
    pub kind: QuestionKind,
    /// The parameters, as the server wrote them.
    pub params: Json,
}

/// Why a question has no result: an error of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoReply {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
}

/// Sends an answer back.
type SendBack = Box<dyn FnOnce(Result<Json, NoReply>) + Send>;

/// The way back to a server that asked something. Dropping it says that nobody answers.
pub struct Reply {
    kind: QuestionKind,
    send: Option<SendBack>,
}

impl Reply {
    /// Creates the way back for a question.
    pub fn new(kind: QuestionKind, send: impl FnOnce(Result<Json, NoReply>) + Send + 'static) -> Reply {
        Reply { kind, send: Some(Box::new(send)) }
    }

    /// Answers the question.
    pub fn answer(mut self, answer: Result<Json, NoReply>) {
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

/// What a server hears when nobody answers its question: that a person left the form, or that no model was asked.
fn unanswered(kind: QuestionKind) -> Result<Json, NoReply> {
    match kind {
        QuestionKind::Elicitation => Ok(Json::object([("action", Json::from("cancel"))])),
        QuestionKind::Sampling => {
            Err(NoReply { code: -1, message: "the client's model was not asked".to_owned() })
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
    /// What it says, as the server wrote it.
    pub data: Json,
}

/// Who asked for a call. The methods are called between messages of the server, so they must not wait.
pub trait Requester: Send + Sync {
    /// Returns the capabilities of the client that a server of 2026-07-28 is told of with the call: an object with
    /// members such as `elicitation`.
    fn capabilities(&self) -> Json;

    /// Hears a log message.
    fn hear(&self, log: McpLog);

    /// Gets a question, and answers it at any later time.
    fn ask(&self, question: Question, reply: Reply);
}
