//! What a function gets, and what it returns.

use std::ffi::OsStr;
use std::sync::mpsc::Receiver;

use brigade_access::builtin::Guards;
use brigade_access::{Agent, CallLimits, LimitViolation, LiveSession, Profiles};
use brigade_core::codes::Code;
use brigade_core::json::to_json;
use brigade_core::{Clock, Fingerprint, Json};
use brigade_db::Stores;
use brigade_db::volumes::Limits;
use brigade_exec::HostEnvironment;
use brigade_fs::Fs;
use brigade_process::{CancelToken, Mode};
use brigade_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::calls::Calls;
use crate::task::Tasks;

/// Asks by a form: the parameters of `elicitation/create`. The reply is its result, or nothing if nobody answers.
pub type FormAsker<'a> = dyn Fn(Json) -> Receiver<Json> + 'a;

/// Everything that a function may use.
pub struct Context<'a> {
    /// The workspace, with the state of Brigade.
    pub fs: &'a dyn Fs,
    /// What paths of arguments are relative to, and are opened beneath: the workspace, or the lane of the session.
    pub files: &'a dyn Fs,
    /// The directory of these in the workspace. Absent: they are those of the workspace.
    pub root: Option<&'a str>,
    /// Who calls, as records have it: `agent:NAME` or `command-line`.
    pub caller: &'a str,
    /// The session of the caller. Absent at the command line, and where the session that asked is over.
    pub session: Option<&'a LiveSession>,
    /// The id of the call. Absent for a call that nobody approves.
    pub call: Option<&'a str>,
    /// The profiles, and what the agent itself has of them. Absent at the command line.
    pub agent_profiles: Option<(&'a Profiles, &'a Agent)>,
    /// What the profiles limit the call to, for what its arguments do not name. Absent if they cannot be read.
    pub limits: Option<CallLimits>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Masks what is stored or shown.
    pub redactor: &'a Redactor,
    /// What tools remember. It is opened when a tool needs it.
    pub stores: &'a Stores,
    /// How much volumes may hold.
    pub volumes: Limits,
    /// Which paths stay closed.
    pub guards: Guards,
    /// The largest text of a result, in bytes. What is more is read on.
    pub max_bytes: u64,
    /// `PATH`, for tools that look for programs. Absent: none is found.
    pub path: Option<&'a OsStr>,
    /// The names of the tools that are not part of Brigade.
    pub tools: Vec<String>,
    /// The ids of the test suites, for the tools that run one or tell how they stand.
    pub suites: Vec<String>,
    /// Who runs tasks. Absent where nobody does.
    pub tasks: Option<&'a dyn Tasks>,
    /// Who asks for further calls of the caller. Absent where nobody does.
    pub calls: Option<&'a dyn Calls>,
    /// The variables of the host, for tools that start git. Absent: none is started.
    pub environment: Option<&'a HostEnvironment>,
    /// Patterns of the repositories that git may reach: `urls` under `[git]` of policy.toml.
    pub git_urls: Vec<String>,
    /// Hosts whose pages may be fetched: `domains` under `[web]` of policy.toml.
    pub web_domains: Vec<String>,
    /// The directory whose documents are searched instead of the web: `search` under `[web]` of gateway.toml.
    pub search_folder: Option<String>,
    /// How git is confined.
    pub sandbox: Mode,
    /// Whether a person approved this very call.
    pub is_agreed: bool,
    /// Shows a form to the person in front of the caller's client, and returns where the reply arrives. Absent if the
    /// client shows none.
    pub form: Option<&'a FormAsker<'a>>,
    /// Cancels the call.
    pub cancel: Option<&'a CancelToken>,
    /// What the call has read and changed so far, for its receipt.
    pub touched: Vec<TouchedPath>,
}

impl<'a> Context<'a> {
    /// Creates what a function gets, outside of a session and with the usual limits.
    pub fn new(
        fs: &'a dyn Fs,
        caller: &'a str,
        clock: &'a dyn Clock,
        redactor: &'a Redactor,
        stores: &'a Stores,
    ) -> Context<'a> {
        Context {
            fs,
            files: fs,
            root: None,
            caller,
            session: None,
            call: None,
            agent_profiles: None,
            limits: Some(CallLimits::default()),
            clock,
            redactor,
            stores,
            volumes: Limits::default(),
            guards: Guards::default(),
            max_bytes: 32 << 10,
            path: None,
            tools: Vec::new(),
            suites: Vec::new(),
            tasks: None,
            calls: None,
            environment: None,
            git_urls: Vec::new(),
            web_domains: Vec::new(),
            search_folder: None,
            sandbox: Mode::BestEffort,
            is_agreed: false,
            form: None,
            cancel: None,
            touched: Vec::new(),
        }
    }

    /// Returns what the profiles limit the call to.
    pub(crate) fn limits(&self) -> Result<&CallLimits, Failure> {
        let unread = || Failure::new(LimitViolation::CODE, "the profiles of the caller cannot be read");
        self.limits.as_ref().ok_or_else(unread)
    }

    /// Returns a path of the files as one of the workspace.
    pub(crate) fn in_workspace(&self, path: &str) -> String {
        match self.root {
            Some(root) if path.is_empty() => root.to_owned(),
            Some(root) => format!("{root}/{path}"),
            None => path.to_owned(),
        }
    }

    /// Returns the name of the agent that calls. Absent at the command line.
    pub fn agent(&self) -> Option<&str> {
        self.caller.strip_prefix("agent:")
    }
}

/// A path that a call read or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedPath {
    /// The path, relative to the workspace.
    pub path: String,
    /// The sha256 of its bytes before. Absent if there was no file.
    pub before: Option<Fingerprint>,
    /// The sha256 of its bytes after. Absent if there is no file.
    pub after: Option<Fingerprint>,
}

/// The result of a tool that did what was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The structured result, which fits the output schema.
    pub structured: Json,
    /// The result as text. Absent: the structured result as JSON.
    pub text: Option<String>,
}

impl Output {
    /// Creates a result whose text is its JSON.
    pub fn new<K: Into<String>>(members: impl IntoIterator<Item = (K, Json)>) -> Output {
        Output { structured: Json::object(members), text: None }
    }

    /// Writes a result of a type.
    pub fn from_result(result: &impl Serialize) -> Output {
        Output { structured: to_json(result).expect("a result is JSON"), text: None }
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: Json) -> Output {
        if let Json::Object(members) = &mut self.structured {
            members.insert(name.to_owned(), value);
        }
        self
    }

    /// Gives the result a text of its own.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Output {
        Output { text: Some(text.into()), ..self }
    }
}

/// The result of a tool that began a task or an execution of a workflow. The driver of a workflow waits for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartResult {
    /// Its id.
    pub(crate) execution_id: String,
    status: String,
}

impl StartResult {
    pub(crate) fn new(execution_id: String) -> StartResult {
        StartResult { execution_id, status: "started".to_owned() }
    }
}

/// Why a tool did not do what was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The kind of failure, as a stable word.
    pub code: &'static str,
    /// A sentence without a final stop. Never holds a value that may be a secret.
    pub message: String,
    /// What a program wants to know besides.
    pub data: Option<Json>,
}

impl Code for Failure {
    fn as_code(&self) -> &'static str {
        self.code
    }
}

impl From<Box<LimitViolation>> for Failure {
    fn from(outside: Box<LimitViolation>) -> Failure {
        Failure::new(LimitViolation::CODE, outside.to_string())
    }
}

impl Failure {
    /// Creates a failure.
    pub fn new(code: impl Code, message: impl Into<String>) -> Failure {
        Failure { code: code.as_code(), message: message.into(), data: None }
    }

    /// Adds a document of a type that a program wants to know.
    #[must_use]
    pub(crate) fn data_of(self, data: &impl Serialize) -> Failure {
        Failure { data: Some(to_json(data).expect("what a failure tells is JSON")), ..self }
    }

    /// Adds what a program wants to know.
    #[must_use]
    pub fn data<K: Into<String>>(self, members: impl IntoIterator<Item = (K, Json)>) -> Failure {
        Failure { data: Some(Json::object(members)), ..self }
    }
}
