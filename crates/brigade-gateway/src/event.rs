//! What the person who runs the server may see, as it happens.

use std::time::Duration;

use brigade::Call;
use brigade::daily::arguments_line;

use crate::answer::Answer;
use crate::call::Asker;

/// Something that happened in the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServeEvent {
    /// A problem of the server itself.
    Warning(String),
    /// A client of an agent has connected.
    Connected {
        /// The agent.
        agent: String,
        /// The name and version that the client states.
        client: String,
    },
    /// A call was answered.
    Answered {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// Its arguments in one line.
        arguments: String,
        /// The status of the call, or the code of the answer.
        status: String,
        /// Whether the answer is an error.
        is_error: bool,
        /// How long the answer took.
        took: Duration,
    },
    /// A call waits for a person.
    Waits(Box<Call>),
}

impl ServeEvent {
    /// Reports the answer to a call.
    pub(crate) fn answered(
        asker: &Asker,
        answer: &Answer,
        args: &brigade::core::Json,
        took: Duration,
    ) -> ServeEvent {
        ServeEvent::Answered {
            agent: asker.agent.to_string(),
            tool: answer.about.tool.clone(),
            arguments: arguments_line(args),
            status: answer.about.code.clone().unwrap_or_else(|| answer.about.status.clone()),
            is_error: answer.is_error,
            took,
        }
    }
}
