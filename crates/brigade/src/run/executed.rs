//! The third phase: the program runs to its end, and its receipt is written.

use brigade_core::Json;
use brigade_exec::{Execution, Executor, Postcondition, RunResult, Watch, execute};
use brigade_fs::RelPath;
use brigade_mcp::{ListedTool, PinRule};
use brigade_ops::upstreams::{KeptServer, ServerClient, ToolCall, mask_listener};
use brigade_ops::{Error, InstallCheck};
use brigade_queue::OutcomeReservation;
use brigade_redact::Redactor;
use brigade_workspace::gather;

use super::claimed::ClaimedRun;
use super::prepared::PreparedRun;
use crate::builtin_call::BuiltinCall;
use crate::provider_answer::{self, ProviderAnswerCheck};

/// A run that has ended, with its receipt.
pub(super) struct ExecutedRun<'a> {
    pub(super) prepared: PreparedRun<'a>,
    pub(super) dropped: RelPath,
    pub(super) reservation: OutcomeReservation,
    pub(super) result: RunResult,
    /// The answer of a server or of Brigade, with its text masked.
    pub(super) answer: Option<Json>,
    /// The id of the pin that the run changed. The run is recorded even if the pin could not be stored.
    pub(super) changed_pin: Result<Option<String>, Error>,
}

impl<'a> ClaimedRun<'a> {
    /// Runs the call. Never fails: errors are in the receipt.
    pub(super) fn execute(self) -> ExecutedRun<'a> {
        let ClaimedRun { prepared, run_id, started_at, paths, logs, dropped, reservation } = self;
        let PreparedRun { inner, config, call, mcp, pinned, kept, .. } = &prepared;
        let kept = kept.as_ref().map(|(kept, _)| &**kept);
        let keep = |listed: &ListedTool| brigade_ops::pin_store(inner).first_use(mcp.as_ref(), listed);
        let rule = pinned.as_ref().map_or(PinRule::FirstUse(&keep), |record| PinRule::Holds(&record.pin));
        let secrets = gather::bound_secrets(inner, &config.policy);
        let redactor = Redactor::new(&secrets);
        let listener = inner.env.listener.clone();
        let listener = listener.map(|listener| mask_listener(listener, Redactor::new(&secrets)));
        let tool_call = ToolCall::new(call, rule, listener.as_ref());
        let mut server = ServerClient::new(tool_call, kept, inner.env.requester.clone(), &secrets);
        let sandbox = || kept.map(KeptServer::sandbox).unwrap_or_default();
        let mut builtin = BuiltinCall::for_call(inner, config, call);
        let watch = match (&builtin, kept) {
            (None, None) => brigade_ops::watch(inner, call),
            _ => Watch::Nothing,
        };
        let install = InstallCheck::new(inner, config, call.call());
        let provider = ProviderAnswerCheck::for_call(inner, call.call());
        let postcondition = install.as_ref().map(|check| check as &dyn Postcondition);
        let postcondition = postcondition.or(provider.as_ref().map(|check| check as &dyn Postcondition));
        let result = execute(
            &Execution {
                call,
                run_id: &run_id,
                started_at,
                program: prepared.program.as_ref(),
                fs: &*inner.fs,
                directory: &prepared.directory,
                input: provider_answer::request_of(call),
                environment: &inner.env.environment,
                secrets: &secrets,
                paths,
                watch: &watch,
                checkpoint_dir: &dropped,
                progress: inner.env.progress.as_deref(),
                cancel: inner.env.cancel.clone(),
                clock: &*inner.env.clock,
                speller: &*inner.env.speller,
                postcondition,
            },
            logs,
            match &mut builtin {
                Some(builtin) => Executor::Builtin(builtin),
                None => server.executor(&sandbox),
            },
        );
        inner.digests.keep(&*inner.fs);
        brigade_ops::remember_observed(inner, call, &result.receipt);
        tracing::debug!(run = %run_id, status = result.status.as_str(), "the run is over");
        let own = match &builtin {
            Some(builtin) => builtin.result().map(|result| result.shown(&redactor).to_json()),
            None => provider_answer::result_of(inner, config, &result.receipt, &redactor)
                .map(|result| result.to_json()),
        };
        let answer = own.or_else(|| server.exchange().and_then(|exchange| exchange.result.clone()));
        let changed_pin = mcp.as_ref().zip(server.exchange()).map_or(Ok(None), |(mcp, exchange)| {
            let seen_at = result.completed_at;
            brigade_ops::keep_pin(inner, config, mcp, pinned.as_deref(), exchange, seen_at)
                .map_err(Error::from)
        });
        drop((server, builtin));
        ExecutedRun { prepared, dropped, reservation, result, answer, changed_pin }
    }
}
