//! The end of a run: checkpoints, receipt, ledger, call, each durable before the next is written.
//!
//! Until the call's line is written, the call is `running`; a crash before that leaves a runner that is gone, and the
//! next writer goes on where it stopped: a receipt that is there is the run's outcome, an entry of the ledger that is
//! there is used, and without a receipt the run was interrupted.

use std::time::Duration;

use brigade_call::CallStatus;
use brigade_call::{Checkpoint, CheckpointStatus, Claim, LedgerLink, Receipt, RunEnd, Runner};
use brigade_core::{CallId, Fingerprint, Json, Object, RunId, Timestamp};
use brigade_fs::{Fs, FsError};
use brigade_process::ProcessIdentity;
use brigade_redact::shown_command;

use crate::checkpoints::{self, StoredCheckpoint};
use crate::error::QueueError;
use crate::ledger::{self, NewEntry};
use crate::locked::LockedJournal;
use crate::queue::{ChainEnd, Finished};
use crate::record::StoredCall;
use crate::runs::{self, StoredReceipt};
use crate::view::run_end;
use crate::{layout, view::View};

pub(crate) fn finish(
    journal: &mut LockedJournal,
    id: &CallId,
    run: &RunId,
    checkpoints: Vec<Checkpoint>,
    receipt: &mut dyn FnMut(&[Checkpoint]) -> Receipt,
    now: Timestamp,
) -> Result<Finished, QueueError> {
    let stored = journal.changeable(id, now)?;
    let is_this_run = stored.call.claim.as_ref().is_some_and(|claim| claim.run_id == *run);
    if stored.call.status != CallStatus::Running || !is_this_run {
        return Err(QueueError::NotThisRun { call: id.clone(), run: run.clone() });
    }
    let fs = journal.view.fs.clone();
    let created = checkpoints::create(&*fs, checkpoints)?;
    let as_stored: Vec<Checkpoint> = created.iter().map(|stored| stored.checkpoint.clone()).collect();
    let receipt = receipt(&as_stored);
    let bad = |reason| QueueError::BadReceipt { run: run.clone(), reason };
    if receipt.id() != run.as_str() {
        return Err(bad("it is one of another run"));
    }
    // Checked before anything of it is on the disk.
    let path = layout::receipt(run);
    run_end(&receipt, path.to_string(), None, now).map_err(bad)?;
    let bytes = receipt.to_bytes();
    fs.create_dir_all(&layout::runs())?;
    let ledger = match fs.create_new_durable(&path, &bytes) {
        Ok(()) => InLedger::No,
        Err(error) if error.is_exists() => match fs.read(&path, runs::RECEIPT_LIMIT) {
            // A second try after one that the disk stopped half-way.
            Ok(existing) if existing == bytes => InLedger::Perhaps,
            Ok(_) | Err(_) => return Err(QueueError::RunTaken(run.clone())),
        },
        Err(error) => return Err(error.into()),
    };
    let sha256 = Fingerprint::of_bytes(&bytes);
    let receipt = StoredReceipt { receipt, path: path.to_string(), sha256 };
    let (call, chain) = record(journal, stored, &receipt, ledger, &created, now)?;
    Ok(Finished { call, receipt, checkpoints: created, chain })
}

/// Whether a receipt's entry can be in the ledger before its call says so. Looking for it reads the whole ledger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InLedger {
    /// The receipt was written just now.
    No,
    /// An earlier try may have come as far as that.
    Perhaps,
}

/// Records a receipt that is on the disk in the ledger and the call.
pub(crate) fn record(
    journal: &mut LockedJournal,
    stored: StoredCall,
    receipt: &StoredReceipt,
    ledger: InLedger,
    created: &[StoredCheckpoint],
    now: Timestamp,
) -> Result<(StoredCall, ChainEnd), QueueError> {
    let fs = journal.view.fs.clone();
    let run_id = receipt.receipt.id().to_owned();
    let existing = match ledger {
        InLedger::No => None,
        InLedger::Perhaps => ledger::find(&*fs, &run_id)?,
    };
    let mut chain = ChainEnd::Whole;
    let entry = match existing {
        Some(entry) if entry.receipt_sha256 == receipt.sha256 => entry,
        Some(_) | None => {
            let new = NewEntry {
                run_id: run_id.clone(),
                call_id: Some(receipt.receipt.call_id().to_owned()),
                receipt_sha256: receipt.sha256,
                started_at: receipt.receipt.sort_key().to_owned(),
                status: receipt.receipt.status().to_owned(),
                is_adopted: false,
            };
            let appended = ledger::append(&*fs, &[new], journal.view.state.max_ledger()?, now)?;
            if !appended.follows {
                chain = ChainEnd::Lost;
            }
            let mut entries = appended.entries;
            entries.pop().expect("one entry was appended")
        }
    };
    let link = LedgerLink { sequence: entry.sequence, sha256: entry.receipt_sha256 };
    let end: RunEnd = run_end(&receipt.receipt, receipt.path.clone(), Some(link), now).map_err(|reason| {
        let id = stored.call.claim.as_ref().map(|claim| claim.run_id.clone());
        id.map_or(QueueError::NoSuchCall(stored.call.id.clone()), |run| QueueError::BadReceipt {
            run,
            reason,
        })
    })?;
    Ok((self::end(journal, stored, end, created, now)?, chain))
}

/// Writes how a run ended, whose receipt is in the ledger, into its call.
pub(crate) fn end(
    journal: &mut LockedJournal,
    mut stored: StoredCall,
    end: RunEnd,
    created: &[StoredCheckpoint],
    now: Timestamp,
) -> Result<StoredCall, QueueError> {
    let fs = journal.view.fs.clone();
    let run_id = stored.call.claim.as_ref().map(|claim| claim.run_id.as_str().to_owned());
    let had_checkpoints = !stored.checkpoints.is_empty();
    mark_resumed(&mut stored, &run_id.unwrap_or_default());
    for new in created {
        let document = Json::Object(new.checkpoint.to_document());
        stored.checkpoints.insert(new.checkpoint.id.as_str().to_owned(), document);
    }
    let stored = journal.step(stored, |call| call.finish(end), now)?;
    if had_checkpoints {
        // The record is the truth; files that cannot be written follow with the next change of the call.
        let _ = checkpoints::copy_out(&*fs, &stored);
    }
    Ok(stored)
}

/// Marks the checkpoints that were approved before this run as resumed by it.
pub(crate) fn mark_resumed(stored: &mut StoredCall, run_id: &str) {
    for document in stored.checkpoints.values_mut() {
        if let Ok(mut checkpoint) = Checkpoint::from_document(document.clone())
            && checkpoint.status == CheckpointStatus::Approved
        {
            checkpoint.status = CheckpointStatus::Resumed;
            checkpoint.resume_run_id = Some(run_id.to_owned());
            *document = Json::Object(checkpoint.to_document());
        }
    }
}

/// Records the runs whose runner is gone.
pub(crate) fn record_abandoned(journal: &mut LockedJournal, now: Timestamp) -> Result<(), QueueError> {
    let is_alive = journal.view.is_alive.clone();
    let is_abandoned = |stored: &StoredCall| stored.is_abandoned(&*is_alive);
    if !journal.view.living(&CallStatus::Running)?.iter().any(is_abandoned) {
        return Ok(());
    }
    journal.prepare(now)?;
    for stored in journal.view.living(&CallStatus::Running)?.into_iter().filter(is_abandoned) {
        record_one(journal, stored, now)?;
    }
    Ok(())
}

fn record_one(journal: &mut LockedJournal, mut stored: StoredCall, now: Timestamp) -> Result<(), QueueError> {
    let fs = journal.view.fs.clone();
    let call = &mut stored.call;
    // The Python program names the run only when it ends.
    let claim = call.claim.get_or_insert_with(|| Claim {
        run_id: unnamed_run(call.id.as_str(), call.started_at),
        runner: None,
    });
    let run = claim.run_id.clone();
    end_strays(claim);
    let path = layout::receipt(&run);
    let found = match fs.read(&path, runs::RECEIPT_LIMIT) {
        Err(error) if error.is_not_found() => None,
        bytes => {
            let found = runs::read_receipt(&path, bytes);
            match found {
                Ok(found) if run_end(&found.receipt, found.path.clone(), None, now).is_ok() => Some(found),
                Ok(_) | Err(_) => {
                    set_aside(&*fs, &run)?;
                    None
                }
            }
        }
    };
    let receipt = match found {
        Some(receipt) => receipt,
        None => {
            let receipt = interrupted_receipt(&*fs, &stored, &run, now);
            let bytes = receipt.to_bytes();
            fs.create_dir_all(&layout::runs())?;
            fs.create_new_durable(&path, &bytes)?;
            let sha256 = Fingerprint::of_bytes(&bytes);
            StoredReceipt { receipt, path: path.to_string(), sha256 }
        }
    };
    let created = checkpoints_of(&journal.view, &receipt.receipt)?;
    record(journal, stored, &receipt, InLedger::Perhaps, &created, now)?;
    Ok(())
}

/// How long what a killed runner left behind has to end after it was asked.
const STRAYS_GRACE: Duration = Duration::from_millis(500);

/// Ends what is left of a run whose runner is gone: processes that began after the runner, on this boot, with the run's id in
/// their environment. Usually there are none, because the runner's keeper ends them; but somebody may have killed both.
fn end_strays(claim: &Claim) {
    let Some(runner) = &claim.runner else { return };
    if let Ok(runner) = ProcessIdentity::from_record(runner.pid, runner.start_time, &runner.boot_id) {
        let mark = format!("BRIGADE_TOOL_RUN_ID={}", claim.run_id);
        brigade_process::kill_tree(&runner, Some(&mark), STRAYS_GRACE);
    }
}

fn unnamed_run(call: &str, started_at: Option<Timestamp>) -> RunId {
    let fingerprint = Fingerprint::builder("brigade.run-id.v1")
        .text("call", call)
        .text("started_at", started_at.map(|at| at.to_string()).as_deref())
        .finish();
    format!("run-{}", fingerprint.short()).parse().expect("hex digits and dashes are an id")
}

/// Moves a receipt aside that is none, as the Python program leaves it when it is killed while it writes.
fn set_aside(fs: &dyn Fs, run: &RunId) -> Result<(), FsError> {
    let mut number = 1;
    let aside = loop {
        let aside = layout::runs().join(&format!("{run}.json.quarantine-{number}"));
        let aside = aside.expect("an id with a suffix is a file name");
        if !fs.exists(&aside)? {
            break aside;
        }
        number += 1;
    };
    fs.rename(&layout::receipt(run), &aside)?;
    fs.sync_dir(&layout::runs())
}

/// Finds the checkpoints that a receipt names, which were written before it.
pub(crate) fn checkpoints_of(view: &View, receipt: &Receipt) -> Result<Vec<StoredCheckpoint>, QueueError> {
    let named = receipt.document().get("checkpoint_ids").and_then(Json::as_array).unwrap_or_default();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let of_receipt = |checkpoint: &Checkpoint| {
        checkpoint.run_id == receipt.id()
            && named.iter().any(|id| id.as_str() == Some(checkpoint.id.as_str()))
    };
    let all = checkpoints::read_all(&*view.fs)?.into_iter();
    let read = all.filter_map(|(path, result)| Some((path, result.ok()?)));
    Ok(read
        .filter(|(_, checkpoint)| of_receipt(checkpoint))
        .map(|(path, checkpoint)| StoredCheckpoint {
            checkpoint,
            path: path.to_string(),
            differs: Vec::new(),
        })
        .collect())
}

/// Makes the receipt of a run of which nothing more is known than that its runner is gone, as the next writer records it.
/// A log that the runner did not come to create is not named.
pub fn interrupted_receipt(fs: &dyn Fs, stored: &StoredCall, run: &RunId, now: Timestamp) -> Receipt {
    let call = &stored.call;
    let text = |text: &str| Json::from(text);
    let time = |at: Option<Timestamp>| Json::from(at.map(|at| at.to_string()));
    let label = |name: &str| call.contract.get(name).cloned().unwrap_or_default();
    let record = call.to_record();
    let stored_member = |name: &str| record.get(name).cloned().unwrap_or_default();
    let path = |suffix: &str| format!("{}/{run}{suffix}", layout::runs());
    let log = |suffix: &str| {
        let path = path(suffix);
        let is_there = path.parse().is_ok_and(|path| fs.exists(&path).unwrap_or(true));
        Json::from(is_there.then_some(path))
    };
    // When it ended is not known, only when that was found.
    let duration = call.started_at.map_or(0.0, |started_at| now.since(started_at).as_secs_f64());
    let runner = call.claim.as_ref().and_then(|claim| claim.runner.as_ref());
    let mut document: Object = [
        ("schema", text("brigade.receipt.v1")),
        ("id", text(run.as_str())),
        ("call_id", text(call.id.as_str())),
        ("tool_id", text(&call.tool_id)),
        ("family", text(&call.family)),
        ("status", text(CallStatus::Interrupted.as_str())),
        ("started_at", time(call.started_at)),
        ("completed_at", time(Some(now))),
        ("duration_seconds", Json::from((duration * 1000.0).round() / 1000.0)),
        ("exit_code", Json::Null),
        ("timed_out", Json::from(false)),
        ("timeout", label("timeout")),
        (
            "command_label",
            Json::from(call.command.as_deref().map(|command| shown_command(command).into_owned())),
        ),
        ("argv", Json::Array(Vec::new())),
        ("cwd", text(call.contract.get("cwd").and_then(Json::as_str).unwrap_or("."))),
        ("stdout_summary", text("")),
        ("stderr_summary", text("")),
        ("stdout_log_path", log(".stdout.log")),
        ("stderr_log_path", log(".stderr.log")),
        ("receipt_path", Json::from(path(".json"))),
        (
            "approval",
            Json::object([
                ("reviewed_at", time(call.reviewed_at)),
                ("review_reason", Json::from(call.review_reason.clone())),
            ]),
        ),
        ("permissions", label("permissions")),
        ("effects", label("effects")),
        ("runtime_id", label("runtime_id")),
        ("mcp_server_id", label("mcp_server_id")),
        ("mcp_tool_name", label("mcp_tool_name")),
        ("runtime", Json::Null),
        ("env_labels_used", Json::Array(Vec::new())),
        ("runner", runner.map_or(Json::Null, runner_json)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    for name in [
        "args",
        "arguments",
        "contract_fingerprint",
        "source_fingerprint",
        "call_fingerprint",
        "approval_fingerprint",
        "policy",
        "projection_summary",
    ] {
        document.insert(name.to_owned(), stored_member(name));
    }
    document.extend(resume_members(stored, run));
    Receipt::from_json(Json::Object(document)).expect("it has id, call id and status")
}

/// What the receipt of a run says that went on behind checkpoints: which, and what was chosen.
fn resume_members(stored: &StoredCall, run: &RunId) -> Object {
    let is_behind = |checkpoint: &Checkpoint| match checkpoint.status {
        CheckpointStatus::Approved => true,
        // As the next writer is going to record it.
        CheckpointStatus::Resumed => checkpoint.resume_run_id.as_deref() == Some(run.as_str()),
        CheckpointStatus::Pending
        | CheckpointStatus::Rejected
        | CheckpointStatus::Failed
        | CheckpointStatus::Other(_) => false,
    };
    let documents = stored.checkpoints.values().cloned();
    let known = documents.filter_map(|document| Checkpoint::from_document(document).ok());
    let mut behind: Vec<Checkpoint> = known.filter(is_behind).collect();
    behind.sort_by_key(|checkpoint| {
        stored.call.checkpoint_ids.iter().position(|id| *id == checkpoint.id).unwrap_or(usize::MAX)
    });
    let Some(first) = behind.first() else { return Object::new() };
    let Json::Object(mut resume) = first.to_choice() else { return Object::new() };
    resume.insert("choices".to_owned(), behind.iter().map(Checkpoint::to_choice).collect::<Vec<_>>().into());
    let text = |text: &str| Json::from(text);
    [
        ("resumed_checkpoint_id", text(first.id.as_str())),
        ("checkpoint_id", text(first.id.as_str())),
        ("original_call_id", text(stored.call.id.as_str())),
        ("original_run_id", text(&first.run_id)),
        ("resume_run_id", text(run.as_str())),
        ("resume", Json::Object(resume)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn runner_json(runner: &Runner) -> Json {
    Json::object([
        ("pid", Json::from(runner.pid)),
        ("start_time", Json::from(runner.start_time)),
        ("boot_id", Json::from(runner.boot_id.as_str())),
    ])
}
