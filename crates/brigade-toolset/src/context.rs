//! The input and output types of tool functions.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::mpsc::Receiver;

use brigade_access::builtin::Guards;
use brigade_access::{Agent, CallLimits, LimitViolation, LiveSession, Profiles, Worker};
use brigade_core::json::to_json;
use brigade_core::{Clock, ErrorCode, Fingerprint, Json, Label};
use brigade_db::Stores;
use brigade_db::volumes::Limits;
use brigade_exec::{ClosedPlaces, HostEnvironment};
use brigade_fs::Fs;
use brigade_policy::GitCredential;
use brigade_policy::approval::AutoApprove;
use brigade_process::CancelToken;
use brigade_redact::Redactor;
use brigade_sandbox::Mode;
use serde::Serialize;

use crate::calls::Calls;

/// Shows a form, given as the parameters of `elicitation/create`. The receiver gets the result, or nothing without a
/// reply.
pub type FormAsker<'a> = dyn Fn(Json) -> Receiver<Json> + 'a;

/// Everything that a tool function may use.
pub struct Context<'a> {
    /// The workspace, including Brigade's state.
    pub fs: &'a dyn Fs,
    /// The root for paths in arguments: the workspace, or the lane of the session.
    pub files: &'a dyn Fs,
    /// The directory of `files` in the workspace; `None` for the workspace itself.
    pub root: Option<&'a str>,
    /// The caller in the form of records: `agent:NAME` or `command-line`.
    pub caller: &'a str,
    /// The session of the caller; `None` on the command line, and if the session has ended.
    pub session: Option<&'a LiveSession>,
    /// The id of the call; `None` if calls of the tool need no approval.
    pub call: Option<&'a str>,
    /// All profiles, and the agent with its profiles; `None` on the command line.
    pub agent_profiles: Option<(&'a Profiles, &'a Agent)>,
    /// The limits of the profiles for everything outside of the arguments; `None` if they cannot be read.
    pub limits: Option<CallLimits>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Masks secrets in everything that is stored or shown.
    pub redactor: &'a Redactor,
    /// The stores. They are opened at first use.
    pub stores: &'a Stores,
    /// The limits of volumes.
    pub volumes: Limits,
    /// The protected paths.
    pub guards: Guards,
    /// The maximum length of a text in a result, in bytes. The tool can be called again for the rest.
    pub max_bytes: u64,
    /// `PATH` for tools that look up programs; if `None`, no program is found.
    pub path: Option<&'a OsStr>,
    /// The workers of gateway.toml.
    pub workers: &'a [Worker],
    /// The ids of the test suites, for tools that run them or list their runs.
    pub suites: Vec<String>,
    /// Makes further calls of the caller; `None` if this process cannot.
    pub calls: Option<&'a dyn Calls>,
    /// The variables of the host, for tools that start git; if `None`, git is not started.
    pub environment: Option<&'a HostEnvironment>,
    /// URL patterns of the repositories that git may access: `urls` under `[git]` of policy.toml.
    pub git_urls: Vec<String>,
    /// How git logs in: `[git.credentials]` of policy.toml.
    pub git_credentials: Vec<GitCredential>,
    /// The variable of each label: `env_bindings` of policy.toml.
    pub env_bindings: BTreeMap<Label, Label>,
    /// Hosts whose pages may be fetched: `domains` under `[web]` of policy.toml.
    pub web_domains: Vec<String>,
    /// The rule that approved this call, if one did. It also holds for redirects.
    pub rule: Option<&'a AutoApprove>,
    /// A directory to search instead of the web: `search` under `[web]` of gateway.toml.
    pub search_folder: Option<String>,
    /// The sandbox mode of git.
    pub sandbox: Mode,
    /// Whether a person approved this call.
    pub is_agreed: bool,
    /// Shows a form to the person at the caller's client. `None` if the client cannot show forms.
    pub form: Option<&'a FormAsker<'a>>,
    /// Cancels the call.
    pub cancel: Option<&'a CancelToken>,
    /// What the call has read and changed so far, for its receipt.
    pub touched: Vec<TouchedPath>,
}

impl<'a> Context<'a> {
    /// Creates a context outside of a session, with default limits.
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
            workers: &[],
            suites: Vec::new(),
            calls: None,
            environment: None,
            git_urls: Vec::new(),
            git_credentials: Vec::new(),
            env_bindings: BTreeMap::new(),
            web_domains: Vec::new(),
            rule: None,
            search_folder: None,
            sandbox: Mode::BestEffort,
            is_agreed: false,
            form: None,
            cancel: None,
            touched: Vec::new(),
        }
    }

    /// Returns the limits of the profiles for the call.
    pub(crate) fn limits(&self) -> Result<&CallLimits, Failure> {
        let unread = || Failure::new(LimitViolation::CODE, "the profiles of the caller cannot be read");
        self.limits.as_ref().ok_or_else(unread)
    }

    /// Finds the places in a directory of files that no tool changes.
    pub(crate) fn closed_places(&self, top: &Path) -> ClosedPlaces {
        let none = HostEnvironment::default();
        ClosedPlaces::find(top, self.environment.unwrap_or(&none), self.guards.agent_files)
    }

    /// Converts a path of `files` to a path of the workspace.
    pub(crate) fn in_workspace(&self, path: &str) -> String {
        match self.root {
            Some(root) if path.is_empty() => root.to_owned(),
            Some(root) => format!("{root}/{path}"),
            None => path.to_owned(),
        }
    }

    /// Returns the name of the calling agent; `None` on the command line.
    pub fn agent(&self) -> Option<&str> {
        self.caller.strip_prefix("agent:")
    }
}

/// A path that a call read or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedPath {
    /// The path, relative to the workspace.
    pub path: String,
    /// The sha256 of its bytes before; `None` if there was no file.
    pub before: Option<Fingerprint>,
    /// The sha256 of its bytes after; `None` if there is no file.
    pub after: Option<Fingerprint>,
}

/// The result of a successful call.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The structured result. It matches the output schema.
    pub structured: Json,
    /// The result as text; if `None`, the JSON of the structured result.
    pub text: Option<String>,
}

impl Output {
    /// Creates a result whose text is its JSON.
    pub fn new<K: Into<String>>(members: impl IntoIterator<Item = (K, Json)>) -> Output {
        Output { structured: Json::object(members), text: None }
    }

    /// Creates a result from a serializable type.
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

    /// Sets the text of the result.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Output {
        Output { text: Some(text.into()), ..self }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The error code.
    pub code: ErrorCode,
    /// One sentence without a final stop. Never contains a value that may be a secret.
    pub message: String,
    /// Further data for programs.
    pub data: Option<Json>,
}

impl From<Box<LimitViolation>> for Failure {
    fn from(outside: Box<LimitViolation>) -> Failure {
        Failure::new(LimitViolation::CODE, outside.to_string())
    }
}

impl Failure {
    /// Creates a failure.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), data: None }
    }

    /// Creates the failure of a call that names a thing which does not exist.
    pub fn missing(name: &str) -> Failure {
        Failure::new(ErrorCode::NotFound, format!("there is no such {name}"))
    }

    /// Adds data of a serializable type.
    #[must_use]
    pub fn data_of(self, data: &impl Serialize) -> Failure {
        Failure { data: Some(to_json(data).expect("what a failure tells is JSON")), ..self }
    }

    /// Adds data for programs.
    #[must_use]
    pub fn data<K: Into<String>>(self, members: impl IntoIterator<Item = (K, Json)>) -> Failure {
        Failure { data: Some(Json::object(members)), ..self }
    }
}
