//! Operations on checkpoints.

use std::sync::Arc;

use crate::counts;
use brigade_call::{CHECKPOINTS, Call, CallStatus, Checkpoint, CheckpointRefusal, RUNS};
use brigade_core::text::escape_terminal;
use brigade_core::{CheckpointId, Hint, IdPrefix, NextStep, closest};
use brigade_policy::Blocker;
use brigade_queue::{Answer, QueueError, StoredCall, StoredCheckpoint};
use brigade_redact::Redactor;
use brigade_workspace::{WorkspaceContext, gather};

use crate::calls;
use crate::calls::running::{Runner, run_stored};
use crate::error::{Error, ErrorKind, ok_if_found};
use crate::refusal::{Refusal, RunRefusal};
use crate::report::{
    BrokenCheckpoint, CheckpointListReport, CheckpointReport, CheckpointReviewReport, RefusalMember,
    Report as _, ResumeReport,
};
use crate::runs;

/// The hint for rejecting a checkpoint whose call cannot continue.
const END: &str = "end the call";

/// What a person wants to do with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointStep {
    /// Approve or reject it.
    Answer,
    /// Resume its call.
    Resume,
}

/// Operations on checkpoints.
#[derive(Clone)]
pub struct Checkpoints {
    pub(crate) context: Arc<WorkspaceContext>,
    pub(crate) runner: Arc<dyn Runner>,
}

impl Checkpoints {
    /// Creates the operations on a workspace. Calls that may run are passed to `runner`.
    pub fn new(context: Arc<WorkspaceContext>, runner: Arc<dyn Runner>) -> Checkpoints {
        Checkpoints { context, runner }
    }
}

impl Checkpoints {
    /// Lists the checkpoints, newest first.
    pub fn list(&self) -> Result<CheckpointListReport, Error> {
        let list = self.context.queue().read()?.checkpoints()?;
        let checkpoints: Vec<Checkpoint> =
            list.checkpoints.iter().map(|stored| stored.shown(&*self.context)).collect();
        let errors: Vec<BrokenCheckpoint> = list
            .errors
            .iter()
            .map(|bad| BrokenCheckpoint {
                checkpoint_path: self.context.absolute(&bad.place),
                error: bad.problem.clone(),
            })
            .collect();
        Ok(CheckpointListReport {
            schema: CheckpointListReport::SCHEMA,
            target: self.context.target(),
            checkpoints_path: self.context.absolute(CHECKPOINTS),
            checkpoint_count: checkpoints.len(),
            checkpoints,
            counts: counts(list.checkpoints.iter().map(|stored| stored.checkpoint.status.as_str())),
            error_count: errors.len(),
            errors,
        })
    }

    /// Shows one checkpoint.
    ///
    /// # Errors
    /// Returns [`Refusal::Checkpoint`] if no checkpoint matches, and file errors.
    pub fn show(&self, prefix: &IdPrefix) -> Result<CheckpointReport, Error> {
        let stored = find_checkpoint(&self.context, prefix);
        let stored = stored.map_err(|error| error.missing(&self.context, Refusal::Checkpoint))?;
        let call = call_of(&self.context, &stored.checkpoint)?.map(|stored| stored.call);
        Ok(CheckpointReport {
            schema: CheckpointReport::SCHEMA,
            target: self.context.target(),
            checkpoints_path: self.context.absolute(CHECKPOINTS),
            checkpoint: Box::new(stored.shown(&*self.context)),
            call_status: call.as_ref().map(|call| call.status.as_str().to_owned()),
            next: call.map(|call| next_of(&self.context, stored, &call)).transpose()?.flatten(),
            error: RefusalMember::default(),
            candidates: RefusalMember::default(),
        })
    }

    /// Finds the checkpoint that a person names for a step, by its id or a prefix.
    ///
    /// # Errors
    /// Fails like the step if no checkpoint or several match, and on file errors.
    pub fn find(&self, named: &IdPrefix, step: CheckpointStep) -> Result<CheckpointId, Error> {
        let context = &*self.context;
        context.require_outside_run()?;
        match find_checkpoint(context, named) {
            Ok(stored) => Ok(stored.checkpoint.id),
            Err(error) => Err(error.missing(context, refusal_of(step))),
        }
    }

    /// Approves a checkpoint with a choice. Runs nothing.
    ///
    /// # Errors
    /// Fails if the choice looks like a secret, or on a file error.
    pub fn approve(&self, id: &CheckpointId, choice: &str) -> Result<CheckpointReviewReport, Error> {
        let holds_bound =
            Redactor::bound_only(&gather::telling_values(&self.context)).redact_str(choice) != choice;
        if holds_bound || brigade_redact::looks_secret_value(choice).is_some() {
            return Err(Error::new(ErrorKind::Usage, "the choice looks like a secret, so it is not stored"));
        }
        answer(&self.context, id, &Answer::Approve(choice.to_owned()))
    }

    /// Rejects a checkpoint, so the call does not resume.
    ///
    /// # Errors
    /// Fails if the reason is empty, or on a file error.
    pub fn reject(&self, id: &CheckpointId, reason: &str) -> Result<CheckpointReviewReport, Error> {
        answer(&self.context, id, &Answer::Reject(gather::clean_reason(&self.context, reason)?))
    }

    /// Resumes a call after its checkpoints were approved. Everything that was approved is verified again first.
    ///
    /// # Errors
    /// Returns [`Refusal::Resume`] if the call may not continue, and file errors. A failed run is in the report.
    pub fn resume(&self, id: &CheckpointId) -> Result<ResumeReport, Error> {
        let context = &*self.context;
        context.require_outside_run()?;
        let stored = checkpoint(context, id)
            .map_err(|error| error.missing(context, refusal_of(CheckpointStep::Resume)))?;
        let refusal = || Refusal::Resume {
            checkpoint: Some(Box::new(stored.shown(context))),
            run: RunRefusal::default(),
        };
        if let Err(refused) = stored.checkpoint.check_resumable(context.now()) {
            let error = Error::from(refused);
            let call = call_of(context, &stored.checkpoint)?;
            let step = call.map(|call| next_of(context, stored.clone(), &call.call)).transpose()?.flatten();
            let hint = match step {
                Some(step @ NextStep::Reject(_)) => Some(Hint::to(END, step)),
                step => step.map(Hint::from),
            };
            return Err(with_hint(error, hint).refusing(context, refusal()));
        }
        let call = context.queue().read()?.call_with_id(&stored.checkpoint.call_id);
        let call = call.map_err(|error| Error::from(error).missing(context, refusal()))?;
        let (checkpoints, differs) = checkpoints_of(context, &call.call.checkpoint_ids, stored.clone())?;
        if let Some((id, differs)) = differs {
            let error = edited_file_error(QueueError::CheckpointChanged { id, differs });
            return Err(error.refusing(context, refusal()));
        }
        let run = match run_stored(context, &*self.runner, call, &checkpoints) {
            Ok((run, _)) => run,
            Err(error) if error.refusal().is_some() => {
                let is_certain = !error.blockers().iter().any(Blocker::is_of_invalid_policy);
                let hint = if is_certain { next_step_for(context, &stored.checkpoint)? } else { None };
                let checkpoint = checkpoint_now(context, &stored)?;
                return Err(with_hint(error, hint).resuming(checkpoint));
            }
            Err(error) => return Err(error),
        };
        Ok(ResumeReport {
            schema: ResumeReport::SCHEMA,
            target: context.target(),
            calls_path: context.calls_path(),
            store: context.store_kind(),
            checkpoints_path: context.absolute(CHECKPOINTS),
            runs_path: context.absolute(RUNS),
            checkpoint: checkpoint_now(context, &stored)?,
            call: run.call,
            receipt: run.receipt,
            blockers: RefusalMember::default(),
            blocker_details: RefusalMember::default(),
            changed: RefusalMember::default(),
            failure: run.failure,
            succeeded: run.succeeded,
        })
    }
}

fn answer(
    context: &WorkspaceContext,
    id: &CheckpointId,
    answer: &Answer,
) -> Result<CheckpointReviewReport, Error> {
    context.require_outside_run()?;
    let stored = checkpoint(context, id)
        .map_err(|error| error.missing(context, refusal_of(CheckpointStep::Answer)))?;
    let call = call_of(context, &stored.checkpoint)?;
    let refusal = || Refusal::CheckpointReview {
        checkpoint: Some(Box::new(stored.shown(context))),
        call: call.as_ref().map(|stored| Box::new(stored.call.clone().shown(context))),
    };
    let now = context.now();
    let queue = context.queue();
    let checked = queue.read()?.check_answer(&stored.checkpoint, answer);
    let answered = match checked {
        Ok(()) => queue.lock(now)?.answer(&stored.checkpoint.id, answer, now),
        Err(refused) => Err(refused),
    };
    let (checkpoint, call) = answered.map_err(|error| match error {
        QueueError::Fs(error) => error.into(),
        error @ QueueError::CheckpointChanged { .. } => edited_file_error(error).refusing(context, refusal()),
        error @ QueueError::Checkpoint { reason: CheckpointRefusal::NotAChoice(_), .. } => {
            let step = NextStep::AnswerCheckpoint(stored.checkpoint.id.clone());
            let near = match answer {
                Answer::Approve(choice) => {
                    closest(choice, stored.checkpoint.choices.iter().map(String::as_str))
                }
                Answer::Reject(_) => None,
            };
            let meant = near.map(|near| Hint::from(format!("did you mean `{}`?", escape_terminal(near))));
            Error::from(error).hint(meant.unwrap_or_else(|| step.into())).refusing(context, refusal())
        }
        QueueError::NothingBound { id, call } => {
            let reject = Hint::to(END, NextStep::Reject(call.clone()));
            let hint = match runs::replay_of(context, &stored.checkpoint.run_id) {
                Some(replay) => Hint::to("queue it again", replay).or_else(reject),
                None => reject,
            };
            Error::from(QueueError::NothingBound { id, call }).hint(hint).refusing(context, refusal())
        }
        error => match next_step_for(context, &stored.checkpoint) {
            Ok(hint) => with_hint(Error::from(error), hint).refusing(context, refusal()),
            Err(error) => error,
        },
    })?;
    Ok(CheckpointReviewReport {
        schema: CheckpointReviewReport::SCHEMA,
        target: context.target(),
        checkpoints_path: context.absolute(CHECKPOINTS),
        resumes_on: queue.read()?.other_host(&checkpoint.checkpoint.run_id)?,
        checkpoint: Box::new(checkpoint.shown(context)),
        call: call.call.shown(context),
    })
}

/// Returns the call of a checkpoint, if the queue has it.
fn call_of(context: &WorkspaceContext, checkpoint: &Checkpoint) -> Result<Option<StoredCall>, Error> {
    Ok(context.queue().read()?.call(&checkpoint.call_id)?)
}

/// Returns the current state of a checkpoint.
fn checkpoint_now(context: &WorkspaceContext, stored: &StoredCheckpoint) -> Result<Box<Checkpoint>, Error> {
    let now = ok_if_found(checkpoint(context, &stored.checkpoint.id))?;
    Ok(Box::new(now.as_ref().unwrap_or(stored).shown(context)))
}

/// Returns the command that ends the call of a checkpoint, if the call cannot continue.
fn next_step_for(context: &WorkspaceContext, checkpoint: &Checkpoint) -> Result<Option<Hint>, Error> {
    let step =
        call_of(context, checkpoint)?.and_then(|stored| checkpoint.way_out(&stored.call, context.now()));
    Ok(step.map(|step| Hint::to(END, step)))
}

/// Returns the next step that would be accepted for the call of a checkpoint now.
pub(crate) fn next_for(
    context: &WorkspaceContext,
    id: &CheckpointId,
    call: &Call,
) -> Result<Option<NextStep>, Error> {
    match ok_if_found(checkpoint(context, id))? {
        Some(stored) => next_of(context, stored, call),
        None => Ok(None),
    }
}

/// Returns the next step that would be accepted for a checkpoint now.
fn next_of(
    context: &WorkspaceContext,
    stored: StoredCheckpoint,
    call: &Call,
) -> Result<Option<NextStep>, Error> {
    let checkpoint = stored.checkpoint.clone();
    let (all, differs) = checkpoints_of(context, &call.checkpoint_ids, stored)?;
    if differs.is_some() {
        return Ok(Some(NextStep::CompactState));
    }
    let is_ready = call.status == CallStatus::ResumePending;
    let planned = if is_ready { ok_if_found(calls::plan_again(context, call))? } else { None };
    let plan = planned.as_ref().map(|(_, planned)| &planned.plan);
    Ok(checkpoint.next_step(call, plan, &all, context.now()))
}

/// Returns all checkpoints that a call waits for, the named one first. For the first with an edited file, also
/// returns the differences.
#[allow(clippy::type_complexity, reason = "two things that are found on one way")]
fn checkpoints_of(
    context: &WorkspaceContext,
    ids: &[CheckpointId],
    named: StoredCheckpoint,
) -> Result<(Vec<Checkpoint>, Option<(CheckpointId, String)>), Error> {
    let mut found = vec![named];
    for id in ids {
        if *id != found[0].checkpoint.id
            && let Some(stored) = ok_if_found(checkpoint(context, id))?
        {
            found.push(stored);
        }
    }
    let changed = found.iter().find(|stored| !stored.differs.is_empty());
    let changed = changed.map(|stored| (stored.checkpoint.id.clone(), stored.differs.join(", ")));
    Ok((found.into_iter().map(|stored| stored.checkpoint).collect(), changed))
}

/// Returns the refusal of a step for a checkpoint that does not exist.
fn refusal_of(step: CheckpointStep) -> Refusal {
    match step {
        CheckpointStep::Answer => Refusal::CheckpointReview { checkpoint: None, call: None },
        CheckpointStep::Resume => Refusal::Resume { checkpoint: None, run: RunRefusal::default() },
    }
}

fn checkpoint(context: &WorkspaceContext, id: &CheckpointId) -> Result<StoredCheckpoint, Error> {
    Ok(context.queue().read()?.checkpoint_with_id(id)?)
}

fn find_checkpoint(context: &WorkspaceContext, prefix: &IdPrefix) -> Result<StoredCheckpoint, Error> {
    Ok(context.queue().read()?.the_checkpoint(prefix)?)
}

/// Adds the next step for a checkpoint whose file was edited.
fn edited_file_error(error: QueueError) -> Error {
    Error::from(error).hint(Hint::to("write the file as the record has it", NextStep::CompactState))
}

fn with_hint(error: Error, hint: Option<Hint>) -> Error {
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests;
