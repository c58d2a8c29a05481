//! Operations on checkpoints.

use brigade_call::{CallStatus, Checkpoint, CheckpointStatus};
use brigade_core::{CallId, CheckpointId, IdPrefix, Json};
use brigade_queue::{Answer, Match, QueueError, StoredCheckpoint};
use brigade_redact::Redactor;
use std::sync::Arc;

use crate::calls::ambiguous;
use crate::catalog::counts;
use crate::error::{Error, ErrorKind};
use crate::report::{
    CheckpointListReport, CheckpointReport, CheckpointReviewReport, Report as _, ResumeReport,
};
use crate::room::{CHECKPOINTS, Room};

/// Shows, answers and resumes checkpoints.
#[derive(Clone)]
pub struct Checkpoints {
    pub(crate) room: Arc<Room>,
}

impl Checkpoints {
    /// Lists the checkpoints, newest first.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self) -> Result<CheckpointListReport, Error> {
        let list = self.room.queue().read()?.checkpoints()?;
        let checkpoints: Vec<Json> =
            list.checkpoints.iter().map(|stored| self.room.checkpoint_json(stored)).collect();
        let errors: Vec<Json> = list
            .errors
            .iter()
            .map(|bad| {
                Json::object([
                    ("checkpoint_path", Json::from(self.room.absolute(&bad.path))),
                    ("error", Json::from(bad.problem.as_str())),
                ])
            })
            .collect();
        Ok(CheckpointListReport {
            schema: CheckpointListReport::SCHEMA,
            target: self.room.target(),
            checkpoints_path: self.room.absolute(CHECKPOINTS),
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
    /// When the disk fails.
    pub fn show(&self, prefix: &IdPrefix) -> Result<CheckpointReport, Error> {
        let (checkpoint, call_status, error) = match self.room.find_checkpoint(prefix)? {
            Ok(stored) => {
                let call: Option<CallId> = stored.checkpoint.call_id.parse().ok();
                let call = match call {
                    Some(id) => self.room.queue().read()?.call(&id)?,
                    None => None,
                };
                let status = call.map(|stored| stored.call.status.as_str().to_owned());
                (self.room.checkpoint_json(&stored), status, None)
            }
            Err(error) => (Json::Null, None, Some(error)),
        };
        Ok(CheckpointReport {
            schema: CheckpointReport::SCHEMA,
            target: self.room.target(),
            checkpoints_path: self.room.absolute(CHECKPOINTS),
            checkpoint,
            call_status,
            candidates: error.as_ref().map(|error| error.could_be().to_vec()).unwrap_or_default(),
            error: error.map(|error| error.with_hints()),
        })
    }

    /// Answers a checkpoint: the call may go on, with this choice. Runs nothing.
    ///
    /// # Errors
    /// When the disk fails, or the choice looks like a secret.
    pub fn approve(&self, prefix: &IdPrefix, choice: &str) -> Result<CheckpointReviewReport, Error> {
        let holds_bound = Redactor::bound_only(&self.room.telling_values()?).redact_str(choice) != choice;
        if holds_bound || brigade_redact::looks_secret_value(choice).is_some() {
            return Err(Error::new(ErrorKind::Usage, "the choice looks like a secret, so it is not stored"));
        }
        self.room.answer(prefix, &Answer::Approve(choice.to_owned()))
    }

    /// Answers a checkpoint: the call may not go on.
    ///
    /// # Errors
    /// When the disk fails, or the reason is empty.
    pub fn reject(&self, prefix: &IdPrefix, reason: &str) -> Result<CheckpointReviewReport, Error> {
        self.room.answer(prefix, &Answer::Reject(self.room.clean_reason(reason)?))
    }

    /// Goes on with a call behind its approved checkpoints, after everything that was approved has been verified again.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn resume(&self, prefix: &IdPrefix) -> Result<ResumeReport, Error> {
        let mut report = ResumeReport {
            schema: ResumeReport::SCHEMA,
            target: self.room.target(),
            calls_path: self.room.calls_path(),
            checkpoints_path: self.room.absolute(CHECKPOINTS),
            runs_path: self.room.absolute(crate::room::RUNS),
            checkpoint: Json::Null,
            call: Json::Null,
            receipt: Json::Null,
            blockers: Vec::new(),
            blocker_details: Vec::new(),
            changed: Vec::new(),
            error: None,
            succeeded: false,
        };
        let stored = match self.room.find_checkpoint(prefix)? {
            Ok(stored) => stored,
            Err(error) => {
                report.error = Some(error.with_hints());
                return Ok(report);
            }
        };
        report.checkpoint = self.room.checkpoint_json(&stored);
        if let Err(refusal) = stored.checkpoint.check_resumable(self.room.now()) {
            let error = Error::new(ErrorKind::Refused, refusal.to_string());
            let error = match stored.checkpoint.status {
                CheckpointStatus::Pending => error.hint(format!(
                    "brigade tools checkpoint approve {} --choice CHOICE",
                    stored.checkpoint.id
                )),
                _ => match self.room.way_out_of(&stored.checkpoint)? {
                    Some(hint) => error.hint(hint),
                    None => error,
                },
            };
            report.error = Some(error.with_hints());
            report.blockers = vec![refusal.to_string()];
            return Ok(report);
        }
        let call = match self.room.find_call(&IdPrefix::new(&stored.checkpoint.call_id))? {
            Ok(call) => call,
            Err(error) => {
                report.error = Some(error.with_hints());
                return Ok(report);
            }
        };
        let (checkpoints, differs) = self.room.checkpoints_of(&call.call.checkpoint_ids, stored.clone())?;
        if let Some((id, differs)) = differs {
            let error = QueueError::CheckpointChanged { id, differs };
            report.blockers = vec![error.to_string()];
            report.error = Some(changed(&error).with_hints());
            return Ok(report);
        }
        let run = self.room.resume(call, &checkpoints)?;
        report.call = run.call;
        report.receipt = run.receipt;
        report.blockers = run.blockers;
        report.blocker_details = run.blocker_details;
        report.changed = run.changed;
        report.error = match (run.error, &report.receipt) {
            (Some(error), Json::Null) => match self.room.way_out_of(&stored.checkpoint)? {
                Some(hint) => Some(format!("{error} ({hint})")),
                None => Some(error),
            },
            (error, _) => error,
        };
        report.succeeded = run.succeeded;
        if let Ok(stored) = self.room.find_checkpoint(&IdPrefix::new(stored.checkpoint.id.as_str()))? {
            report.checkpoint = self.room.checkpoint_json(&stored);
        }
        Ok(report)
    }
}

impl Room {
    fn answer(&self, prefix: &IdPrefix, answer: &Answer) -> Result<CheckpointReviewReport, Error> {
        let mut report = CheckpointReviewReport {
            schema: CheckpointReviewReport::SCHEMA,
            target: self.target(),
            checkpoints_path: self.absolute(CHECKPOINTS),
            checkpoint: Json::Null,
            call: Json::Null,
            error: None,
        };
        let stored = match self.find_checkpoint(prefix)? {
            Ok(stored) => stored,
            Err(error) => {
                report.error = Some(error.with_hints());
                return Ok(report);
            }
        };
        report.checkpoint = self.checkpoint_json(&stored);
        let now = self.now();
        let queue = self.queue();
        let checked = queue.read()?.check_answer(&stored.checkpoint, answer);
        let answered = match checked {
            Ok(()) => queue.lock(now)?.answer(&stored.checkpoint.id, answer, now),
            Err(refused) => Err(refused),
        };
        match answered {
            Ok((checkpoint, call)) => {
                report.checkpoint = self.checkpoint_json(&checkpoint);
                report.call = self.call_json(&call.call);
            }
            Err(QueueError::Fs(error)) => return Err(error.into()),
            Err(error @ QueueError::CheckpointChanged { .. }) => {
                report.error = Some(changed(&error).with_hints());
            }
            Err(error) => {
                let way_out = self.way_out_of(&stored.checkpoint)?;
                let error = Error::new(ErrorKind::Refused, error.to_string());
                report.error = Some(way_out.map_or(error.with_hints(), |hint| error.hint(hint).with_hints()));
            }
        }
        Ok(report)
    }

    /// Names the command that ends the call of a checkpoint, when nothing takes it further behind that.
    fn way_out_of(&self, checkpoint: &Checkpoint) -> Result<Option<String>, Error> {
        let is_open = match checkpoint.status {
            CheckpointStatus::Pending => checkpoint.is_expired(self.now()),
            _ => true,
        };
        let call = match self.find_call(&IdPrefix::new(&checkpoint.call_id))? {
            Ok(stored) if is_open && stored.call.id.as_str() == checkpoint.call_id => stored.call,
            Ok(_) | Err(_) => return Ok(None),
        };
        Ok(matches!(call.status, CallStatus::Waiting | CallStatus::ResumePending)
            .then(|| format!("brigade tools call reject {} --reason WHY ends the call", call.id)))
    }

    /// Returns all checkpoints that a call waits for, the one that was named first, and of the first whose file was changed by
    /// somebody, what differs.
    #[allow(clippy::type_complexity, reason = "two things that are found on one way")]
    fn checkpoints_of(
        &self,
        ids: &[CheckpointId],
        named: StoredCheckpoint,
    ) -> Result<(Vec<Checkpoint>, Option<(CheckpointId, String)>), Error> {
        let mut found = vec![named];
        for id in ids {
            if *id != found[0].checkpoint.id
                && let Ok(stored) = self.find_checkpoint(&IdPrefix::new(id.as_str()))?
            {
                found.push(stored);
            }
        }
        let changed = found.iter().find(|stored| !stored.differs.is_empty());
        let changed = changed.map(|stored| (stored.checkpoint.id.clone(), stored.differs.join(", ")));
        Ok((found.into_iter().map(|stored| stored.checkpoint).collect(), changed))
    }

    fn find_checkpoint(&self, prefix: &IdPrefix) -> Result<Result<StoredCheckpoint, Error>, Error> {
        let shown = brigade_core::text::escape_terminal(prefix.as_str()).into_owned();
        Ok(match self.queue().read()?.find_checkpoint(prefix)? {
            Match::One(stored) => Ok(stored),
            Match::None => Err(Error::new(ErrorKind::NotFound, format!("no checkpoint matches `{shown}`"))
                .hint("brigade tools checkpoint list")),
            Match::Ambiguous(candidates) => Err(ambiguous("checkpoint", prefix, candidates)),
        })
    }

    /// Writes a checkpoint as reports have it.
    pub(crate) fn checkpoint_json(&self, stored: &StoredCheckpoint) -> Json {
        let mut document = stored.checkpoint.to_document();
        document.insert("checkpoint_path".to_owned(), Json::from(self.absolute(&stored.path)));
        Json::Object(document)
    }
}

/// Says what takes a checkpoint further whose file was changed by somebody.
fn changed(error: &QueueError) -> Error {
    Error::new(ErrorKind::Refused, error.to_string())
        .hint("brigade tools state compact writes the file as the record has it")
}
