//! Requests for calls.

use brigade_core::{Json, Object};

use crate::calls::args::ArgsSource;

pub use brigade_call::OnBlocked;

/// A request for a call: a tool and its arguments.
///
/// ```
/// let request = brigade_ops::Request::new("greet").arg("name", "world").arg("times", 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub(crate) tool: String,
    pub(crate) args: ArgsSource,
    pub(crate) blocked: OnBlocked,
}

impl Request {
    /// Creates a request without arguments.
    pub fn new(tool: impl Into<String>) -> Request {
        Request { tool: tool.into(), args: ArgsSource::None, blocked: OnBlocked::Refuse }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<Json>) -> Request {
        let mut members = match self.args {
            ArgsSource::Value(Json::Object(members)) => members,
            _ => Object::new(),
        };
        members.insert(name.into(), value.into());
        self.args = ArgsSource::Value(Json::Object(members));
        self
    }

    /// Sets all arguments.
    #[must_use]
    pub fn args(mut self, args: impl Into<ArgsSource>) -> Request {
        self.args = args.into();
        self
    }

    /// Sets what to do with a blocked call. By default it is refused.
    #[must_use]
    pub fn blocked(mut self, blocked: OnBlocked) -> Request {
        self.blocked = blocked;
        self
    }
}
