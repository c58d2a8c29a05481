//! Answers about calls that do not run now, by their status.

use brigade::core::{CallId, IdPrefix, short_repeats};
use brigade::gateway::AgentCall;
use brigade::{Call, CallStatus, CheckpointStatus, Error, ErrorCode};

use crate::answer::{Answer, CallSummary};
use crate::blocking::blocking;
use crate::call::Asker;
use crate::gateway::Gateway;
use crate::sessions;

/// Notes on a request that its answer mentions.
#[derive(Default)]
pub(crate) struct RequestNotes {
    /// The last equal call, if the outcome of its run is unknown.
    pub(crate) unknown: Option<CallId>,
    /// For each rule that names the tool, why it does not apply.
    pub(crate) uncovered: Vec<String>,
    /// Whether the dialogue of the client was asked, but may no longer decide.
    pub(crate) unconfirmed: bool,
}

impl Gateway {
    /// Refuses to run an approved call that changes another session which may still exist. Running it here would use it
    /// up without an effect.
    pub(crate) fn resumes_elsewhere(&self, asker: &Asker, call: &Call) -> Option<Answer> {
        let asked_in = call.session.as_ref().filter(|_| call.status == CallStatus::Approved)?;
        let is_changed = changes_session(call) && asked_in.id != asker.session.id();
        let text = "this call changes another session and can only run there; it stays approved";
        (is_changed && self.may_exist(&asked_in.id))
            .then(|| Answer::failed(CallSummary::of_call(call).coded(ErrorCode::WrongSession), text))
    }

    /// Returns the answer for a call that does not run now, by its status.
    pub(crate) fn stored_answer(&self, asker: &Asker, call: &Call, before: &RequestNotes) -> Answer {
        let about = CallSummary::of_call(call);
        let reason = call.review_reason.as_deref().unwrap_or_default();
        let id = &call.id;
        match call.status {
            CallStatus::Pending if call.tool_id == sessions::MODE => sessions::requested_answer(call),
            CallStatus::Pending => {
                // A rule had approved the call, but changed before its turn.
                let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                let mut explanation = String::new();
                if let Some(unknown) = &before.unknown {
                    explanation =
                        format!(" An equal call, {unknown}, was cut off, and it is not known what it did.");
                }
                if !before.uncovered.is_empty() {
                    explanation.push_str(&format!(" No rule approves it: {}.", before.uncovered.join("; ")));
                }
                if before.unconfirmed {
                    explanation.push_str(" The client's own dialogue may no longer approve it.");
                }
                let shown = short_repeats(id.as_str());
                let text = format!(
                    "call {shown} of `{}` waits for a person's approval{because}.{explanation} A person decides with `brigade \
                     approve {shown}` or `reject`; then `call.wait` with call_id `{id}`, or the same call again, runs \
                     it and returns its result. Nothing has run.",
                    call.tool_id
                );
                Answer::failed(about.coded(ErrorCode::ApprovalPending), text)
            }
            CallStatus::Held => {
                let text = format!("call {id} is held by a person: {reason}");
                Answer::failed(about.coded(ErrorCode::ApprovalHeld), text)
            }
            CallStatus::Rejected => {
                let who = if call.withdrawn { "" } else { "a person rejected " };
                let text = format!("{who}call {id}: {reason}");
                Answer::failed(about.coded(ErrorCode::ApprovalRejected), text)
            }
            CallStatus::Interrupted => {
                let text = format!("the run of call {id} was cut off, and it is not known what it did");
                Answer::failed(about.coded(ErrorCode::OutcomeUnknown), text)
            }
            CallStatus::Waiting => {
                let checkpoint_ids = call.checkpoint_ids.iter().map(ToString::to_string).collect();
                let about = CallSummary { checkpoint_ids, ..about };
                let text = format!(
                    "call {id} waits for a person's answer; `call.wait` with call_id `{id}` continues after it"
                );
                Answer::failed(about.coded(ErrorCode::CheckpointPending), text)
            }
            _ => {
                let text = format!("call {id} is {} for {}", call.status.as_str(), asker.agent);
                Answer::failed(about.coded(ErrorCode::Busy), text)
            }
        }
    }

    /// Reads a call of an agent.
    pub(crate) async fn call(&self, asker: &Asker, id: &CallId) -> Result<AgentCall, Error> {
        let (workspace, id) = (asker.workspace(&self.workspace, None), id.clone());
        blocking(move || workspace.agent_calls().show(&id)).await
    }

    /// Returns the current status of a call of the agent.
    pub(crate) async fn status_of(&self, asker: &Asker, id: &CallId) -> Option<CallStatus> {
        self.call(asker, id).await.ok().map(|call| call.call.status)
    }

    /// Returns the answer for the current status of a call. Runs nothing.
    pub(crate) async fn current_answer(&self, asker: &Asker, call: &Call, before: &RequestNotes) -> Answer {
        let now = self.call(asker, &call.id).await;
        self.stored_answer(asker, now.as_ref().map_or(call, |now| &now.call), before)
    }

    /// Returns an answer if a person rejected a checkpoint that the call waits for. The call then never continues.
    pub(crate) async fn rejected_checkpoint(&self, asker: &Asker, call: &Call) -> Option<Answer> {
        if call.status != CallStatus::Waiting {
            return None;
        }
        let (workspace, ids) = (asker.workspace(&self.workspace, None), call.checkpoint_ids.clone());
        let rejected = blocking(move || {
            let found =
                ids.iter().filter_map(|id| workspace.checkpoints().show(&IdPrefix::new(id.as_str())).ok());
            found.map(|found| found.checkpoint).find(|found| found.status == CheckpointStatus::Rejected)
        });
        let rejected = rejected.await?;
        let reason = rejected.review_reason.as_deref().unwrap_or_default();
        let text = format!("a person rejected the checkpoint {} of call {}: {reason}", rejected.id, call.id);
        let checkpoint_ids = vec![rejected.id.to_string()];
        let about =
            CallSummary { checkpoint_ids, ..CallSummary::of_call(call).coded(ErrorCode::ApprovalRejected) };
        Some(Answer::failed(about, text))
    }
}

/// Returns whether a call no longer waits for approval.
pub(crate) fn is_decided(status: &CallStatus) -> bool {
    !matches!(status, CallStatus::Pending | CallStatus::Held)
}

/// Returns whether a call changes the session that requested it.
pub(crate) fn changes_session(call: &Call) -> bool {
    call.tool_id.starts_with("session.")
}
