//! Calls of built-in tools: a verified call is handed to the function of its row.

use std::sync::Arc;

use brigade_access::LiveSession;
use brigade_access::builtin::{Definition, definition};
use brigade_call::{Caller, Receipt, TouchedFile, VerifiedCall};
use brigade_core::json::compact_text;
use brigade_core::text::short;
use brigade_core::{ErrorCode, Json};
use brigade_exec::{BuiltinLimits, BuiltinOutcome, BuiltinRun};
use brigade_mcp::{Members, ToolResult};
#[cfg(feature = "builtin")]
use brigade_mcp::{Question, QuestionKind, Reply};
use brigade_process::CancelToken;
use brigade_redact::Redactor;
use brigade_workspace::{Config, gather};

use crate::workspace_inner::WorkspaceInner;

/// The word of receipts for what Brigade itself did.
pub(crate) const BUILTIN: &str = "builtin";

/// Characters of the result that a receipt shows.
const SUMMARY: usize = 500;

/// What is said at the end of a text that the policy cuts.
const CUT: &str = "[cut: the policy keeps no more of an output (`max_output_bytes`)]";

/// What a call of a built-in tool needs, and what came of it.
pub(crate) struct BuiltinCall<'a> {
    inner: &'a WorkspaceInner,
    config: &'a Config,
    call: &'a VerifiedCall,
    done: Option<BuiltinResult>,
}

/// What a built-in tool did.
struct BuiltinResult {
    /// The result, raw.
    result: ToolResult,
    /// Code and message, raw, if it did not do what was asked.
    failure: Option<(&'static str, String)>,
    touched: Vec<TouchedFile>,
}

#[cfg(feature = "builtin")]
impl BuiltinResult {
    fn new(
        result: Result<brigade_toolset::Output, brigade_toolset::Failure>,
        touched: Vec<TouchedFile>,
    ) -> BuiltinResult {
        match result {
            Ok(output) => {
                let text = output.text.unwrap_or_else(|| output.structured.to_compact());
                let result = ToolResult::of_text(&text, Some(output.structured));
                BuiltinResult { result, failure: None, touched }
            }
            Err(failure) => BuiltinResult::failed(&failure, touched),
        }
    }

    fn failed(failure: &brigade_toolset::Failure, touched: Vec<TouchedFile>) -> BuiltinResult {
        let message = failed(failure.code.as_str(), &failure.message);
        BuiltinResult {
            result: ToolResult::failed(&message, failure.code.as_str(), failure.data.clone()),
            failure: Some((failure.code.as_str(), failure.message.clone())),
            touched,
        }
    }
}

impl<'a> BuiltinCall<'a> {
    /// Returns what acts for a call, if its tool is part of Brigade.
    pub(crate) fn for_call(
        inner: &'a WorkspaceInner,
        config: &'a Config,
        call: &'a VerifiedCall,
    ) -> Option<BuiltinCall<'a>> {
        call.plan().acts_inside().then_some(BuiltinCall { inner, config, call, done: None })
    }

    /// Returns the session that the call was asked in, if that is the one of the environment.
    fn session(&self) -> Option<&'a Arc<LiveSession>> {
        let asked_in = self.call.call().session.as_ref()?;
        self.inner.env.session.as_ref().filter(|session| session.id() == asked_in.id)
    }

    /// Returns the result, raw.
    pub(crate) fn result(&self) -> Option<&ToolResult> {
        self.done.as_ref().map(|done| &done.result)
    }
}

/// One use of a built-in tool.
struct BuiltinInvocation<'a> {
    inner: &'a WorkspaceInner,
    config: &'a Config,
    id: &'a str,
    args: &'a Json,
    caller: &'a Caller,
    call: Option<&'a str>,
    /// The session that the caller asked in, while it lasts.
    session: Option<&'a Arc<LiveSession>>,
    cancel: Option<&'a CancelToken>,
    redactor: &'a Redactor,
    /// The call, unless it is answered at once.
    verified: Option<&'a VerifiedCall>,
    /// Names of the profiles that decided about it.
    profiles: Vec<String>,
}

impl BuiltinInvocation<'_> {
    /// Returns the ids of the test suites, for the tools that run one or report their state.
    #[cfg(feature = "builtin")]
    fn suites(&self) -> Vec<String> {
        let is_meant = ["test.", "pr."].iter().any(|prefix| self.id.starts_with(prefix));
        self.config.suites().filter(|_| is_meant).map(|tool| tool.id.to_string()).collect()
    }

    /// Returns the directory that paths are relative to: as the call was asked for, or of the session.
    #[cfg(feature = "builtin")]
    fn root<'s>(&'s self, row: Option<&Definition>) -> Option<&'s str> {
        let root = match self.verified {
            Some(call) => call.call().session.as_ref().and_then(|session| session.root.as_deref()),
            None => self.session.and_then(|session| session.root()),
        };
        root.filter(|_| row.is_some_and(Definition::uses_files))
    }

    #[cfg(feature = "builtin")]
    fn run(&self) -> BuiltinResult {
        use brigade_db::volumes::Limits;
        use brigade_toolset::{Context, Failure};

        use crate::delegated_calls::DelegatedCalls;
        use crate::env::Env;
        use crate::workflow::run_tool;

        let redactor = self.redactor;
        let host = self.inner.host();
        let agents = self.config.agents(&host);
        let gateway = agents.map(|agents| &agents.gateway);
        let caller = self.caller.as_record();
        let asked_in = self.verified.and_then(|call| call.call().session.as_ref());
        let inner = Arc::new(self.inner.with_env(|env| Env { caller: self.caller.clone(), ..env }));
        let calls = DelegatedCalls {
            inner: inner.clone(),
            session: self.session.cloned(),
            profiles: self.profiles.clone(),
        };
        let form = self.form_asker();
        let session = self.session.map(|session| session.profiles()).unwrap_or_default();
        let row = definition(self.id);
        let policy = self.config.policy.policy();
        let root = self.root(row);
        let files = match host.files(root) {
            Ok(files) => files,
            Err(none) => {
                return BuiltinResult::failed(&Failure::new(none.code(), none.to_string()), Vec::new());
            }
        };
        let mut context = Context {
            limits: self.config.call_limits(&host, self.id, self.caller.agent(), &session, &self.profiles),
            fs: &*self.inner.fs,
            files: files.fs(),
            root,
            caller: &caller,
            session: self.session.map(|session| &**session),
            call: self.call,
            agent_profiles: agents
                .and_then(|agents| Some((&agents.profiles, agents.gateway.agent(self.caller.agent()?)?))),
            clock: &*self.inner.env.clock,
            redactor,
            stores: &self.inner.stores,
            volumes: gateway.map(|gateway| gateway.volumes).map_or_else(Limits::default, |volumes| Limits {
                max_count: volumes.max_count,
                max_bytes: volumes.max_bytes,
                max_file_bytes: volumes.max_file_bytes,
                ..Limits::default()
            }),
            guards: self.config.guards(&host),
            // The log has the text a second time, as data.
            max_bytes: gateway
                .map_or(32 << 10, |gateway| gateway.max_result_bytes)
                .min(self.verified.map_or(u64::MAX, |call| call.decision().max_output_bytes / 3)),
            path: self.inner.env.environment.get("PATH"),
            workers: self.config.workers(&host),
            suites: self.suites(),
            calls: Some(&calls),
            environment: Some(&self.inner.env.environment),
            git_urls: self.config.git_urls(),
            git_credentials: policy.map(|policy| policy.git_credentials.clone()).unwrap_or_default(),
            env_bindings: policy.map(|policy| policy.variables()).unwrap_or_default(),
            web_domains: self.config.web_domains(),
            rule: self.rule(),
            search_folder: self.config.search_folder(&host),
            sandbox: self.sandbox_mode(),
            is_agreed: self.is_agreed(),
            form: form.as_deref(),
            cancel: self.cancel,
            touched: Vec::new(),
        };
        let result = match row {
            Some(row) => run_tool(row, self.args, &mut context, &inner, self.config, asked_in),
            None => Err(Failure::new(ErrorCode::NotAvailableHere, format!("`{}` is gone", self.id))),
        };
        let touched = context.touched.iter().map(|touched| TouchedFile {
            path: redactor.redact_str(&touched.path),
            before: touched.before,
            after: touched.after,
        });
        BuiltinResult::new(result, touched.collect())
    }

    /// Returns what asks the client of the caller to fill in a form, if the client can.
    #[cfg(feature = "builtin")]
    fn form_asker(&self) -> Option<Box<brigade_toolset::FormAsker<'_>>> {
        let client = self.inner.env.requester.as_ref();
        let client = client.filter(|client| client.is_proven());
        let client = client.filter(|client| client.capabilities().get("elicitation").is_some())?;
        Some(Box::new(move |params: Json| {
            let (send, replies) = std::sync::mpsc::channel();
            let (key, kind) = (self.id.to_owned(), QuestionKind::Elicitation);
            // A caller that no longer waits does not hear the reply.
            let reply =
                Reply::new(kind, move |reply| reply.into_iter().for_each(|reply| drop(send.send(reply))));
            client.ask(vec![(Question { key, kind, params }, reply)]);
            replies
        }))
    }

    /// Returns how strictly git is confined. What git could be made to start was not reviewed.
    #[cfg(feature = "builtin")]
    fn sandbox_mode(&self) -> brigade_sandbox::Mode {
        use brigade_policy::SandboxMode;
        use brigade_sandbox::Mode;

        match self.verified.map(|call| call.decision().sandbox.mode) {
            Some(SandboxMode::Enforce) => Mode::Enforce,
            Some(SandboxMode::BestEffort | SandboxMode::Off) | None => Mode::BestEffort,
        }
    }

    /// Returns the rule that approved the call, if one did. It is compared again before a call runs, so it is there.
    #[cfg(feature = "builtin")]
    fn rule(&self) -> Option<&brigade_policy::approval::AutoApprove> {
        let name = self.verified?.call().approval.as_ref()?.by.rule()?;
        self.config.policy.auto_approve().iter().find(|rule| rule.name == name)
    }

    /// Returns whether a person approved the call.
    #[cfg(feature = "builtin")]
    fn is_agreed(&self) -> bool {
        let approval = self.verified.and_then(|call| call.call().approval.as_ref());
        approval.is_some_and(|approval| approval.by.is_person())
    }

    #[cfg(not(feature = "builtin"))]
    fn run(&self) -> BuiltinResult {
        let _ = (
            self.inner,
            self.config,
            self.id,
            self.args,
            self.caller,
            self.call,
            self.session,
            self.cancel,
            self.redactor,
            self.verified,
            &self.profiles,
        );
        let (code, message) = (ErrorCode::NotAvailableHere.as_str(), "this build has no built-in tools");
        let result = ToolResult::failed(&failed(code, message), code, None);
        BuiltinResult { result, failure: Some((code, message.to_owned())), touched: Vec::new() }
    }
}

/// Returns a page of the documentation, or the section that its URL names, as Markdown. `None` without one, or if
/// this build has no built-in tools.
pub fn documentation(url: &str) -> Option<String> {
    #[cfg(feature = "builtin")]
    return brigade_toolset::page(url);
    #[cfg(not(feature = "builtin"))]
    {
        let _ = url;
        None
    }
}

/// What a built-in tool did whose calls need no approval.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DirectCallResult {
    /// The result, with its text masked.
    pub result: ToolResult,
    /// The code, if it did not do what was asked.
    pub code: Option<String>,
}

/// Writes a result that no tool had to act for.
pub(crate) fn direct_result(structured: Json) -> DirectCallResult {
    DirectCallResult { result: ToolResult::of_text(&structured.to_compact(), Some(structured)), code: None }
}

/// Does what a built-in tool does for the caller of the environment, in a session. No call is queued.
///
/// `profiles` are the names of the caller's profiles.
pub(crate) fn at_once(
    inner: &WorkspaceInner,
    config: &Config,
    id: &str,
    args: &Json,
    profiles: Vec<String>,
) -> DirectCallResult {
    let redactor = Redactor::new(&gather::bound_secrets(inner, &config.policy));
    let done = BuiltinInvocation {
        inner,
        config,
        id,
        args,
        caller: &inner.env.caller,
        call: None,
        session: inner.env.session.as_ref(),
        cancel: inner.env.cancel.as_ref(),
        redactor: &redactor,
        verified: None,
        profiles,
    }
    .run();
    DirectCallResult {
        result: done.result.shown(&redactor),
        code: done.failure.map(|(code, _)| code.to_owned()),
    }
}

/// Writes a failure. The code is last, because a word before a colon may look like the name of a secret.
fn failed(code: &str, message: &str) -> String {
    format!("{message} ({code})")
}

impl BuiltinRun for BuiltinCall<'_> {
    fn act(&mut self, limits: &BuiltinLimits, redactor: &Redactor) -> BuiltinOutcome {
        let started = self.inner.now();
        let call = self.call.call();
        let mut done = BuiltinInvocation {
            inner: self.inner,
            config: self.config,
            id: &call.tool_id,
            args: self.call.plan().args(),
            caller: &call.caller,
            call: Some(call.id.as_str()),
            session: self.session(),
            cancel: limits.cancel.as_ref(),
            redactor,
            verified: Some(self.call),
            profiles: call.session.as_ref().map(|session| session.profiles.clone()).unwrap_or_default(),
        }
        .run();
        let duration = self.inner.now().since(started);
        let text_of = |result: &ToolResult| compact_text(result).expect("a result is JSON");
        let mut output = text_of(&done.result);
        let whole = output.len();
        // What is kept is what is given, now and when it is asked for again. A line feed ends it.
        let most = usize::try_from(limits.max_output_bytes).unwrap_or(usize::MAX).saturating_sub(1);
        if most < whole {
            let is_any = definition(&call.tool_id).is_some_and(Definition::gives_any_document);
            done.result = done.result.within(most, Members::new(is_any), CUT);
            output = text_of(&done.result);
        }
        let dropped = whole.saturating_sub(output.len()) as u64;
        let mut output = output.into_bytes();
        output.push(b'\n');
        let message = |(code, message): &(&str, String)| redactor.redact_str(&failed(code, message));
        let problem = done.failure.as_ref().map(message);
        self.done = Some(done);
        BuiltinOutcome { output, dropped, problem, duration }
    }

    fn complete(&self, mut receipt: Receipt, redactor: &Redactor) -> Receipt {
        receipt.executor = Some(BUILTIN.to_owned());
        receipt.executor_version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let Some(done) = &self.done else { return receipt };
        receipt.touched = Some(done.touched.clone());
        receipt.stdout_summary = short(&redactor.for_output().redact_str(&done.result.text()), SUMMARY);
        receipt.error_code = done.failure.as_ref().map(|(code, _)| (*code).to_owned());
        receipt
    }
}
