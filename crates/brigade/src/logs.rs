//! The logs of runs, of those that are over and of those that are running.
//!
//! A run has its receipt only when it is over. Until then its call names it, and its logs grow.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use brigade_call::CallStatus;
use brigade_core::{CallId, IdPrefix, NextStep, Resolved, RunId};
use brigade_fs::{FsError, ReadFile, RelPath};
use brigade_process::CancelToken;
use brigade_queue::{Calls, Match, StoredReceipt, View};
use brigade_redact::Redactor;
use brigade_runtime::LogStream;

use crate::calls::ambiguous;
use crate::codes;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::history::Runs;
use crate::report::{Report as _, RunLogReport};
use crate::room::{RUNS, Room};

/// How much of a log a document holds, in bytes.
const SHOWN: u64 = 1 << 20;

/// How much before that is looked at, so that no secret is shown from its middle on.
const BEFORE: u64 = 64 << 10;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How far a log is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogReach {
    /// To where it ends now.
    #[default]
    Now,
    /// To the end of its run.
    EndOfRun,
}

/// The run that is meant.
pub(crate) enum MeantRun {
    /// One that is over.
    Over(Box<StoredReceipt>),
    /// One that is running.
    Running(RunningRun),
    /// One whose runner is gone, and which the next change of the queue gives its receipt.
    Abandoned(RunningRun),
}

/// A run that has no receipt yet.
#[derive(Clone)]
pub(crate) struct RunningRun {
    run_id: String,
    call_id: CallId,
}

impl RunningRun {
    pub(crate) fn id(&self) -> &str {
        &self.run_id
    }

    pub(crate) fn call_id(&self) -> &CallId {
        &self.call_id
    }
}

impl MeantRun {
    /// Returns the receipt, or why there is none.
    pub(crate) fn receipt(self) -> Result<StoredReceipt, Error> {
        let (run_id, why, read): (String, &str, fn(RunId) -> NextStep) = match self {
            MeantRun::Over(stored) => return Ok(*stored),
            MeantRun::Running(running) => (running.run_id, "is still running", NextStep::FollowOutput),
            MeantRun::Abandoned(running) => {
                (running.run_id, "was interrupted when its runner was ended", NextStep::ReadOutput)
            }
        };
        Err(Error::new(ErrorKind::Refused, format!("run {run_id} {why}, so it has no receipt yet"))
            .hint(run_id.parse().map_or(NextStep::ListRuns, read)))
    }

    fn id(&self) -> &str {
        match self {
            MeantRun::Over(stored) => stored.receipt.id(),
            MeantRun::Running(running) | MeantRun::Abandoned(running) => &running.run_id,
        }
    }

    /// Returns the path of a log. It lies beside the receipt, whatever the receipt says.
    fn log(&self, stream: LogStream) -> Result<RelPath, Error> {
        let name = match self {
            MeantRun::Over(stored) => stored.path.strip_suffix(".json").unwrap_or(&stored.path).to_owned(),
            MeantRun::Running(running) | MeantRun::Abandoned(running) => {
                format!("{RUNS}/{}", running.run_id)
            }
        };
        format!("{name}.{}.log", stream.as_str())
            .parse()
            .map_err(|_| Error::new(ErrorKind::Refused, "the receipt of this run has a path of no use"))
    }
}

impl Runs {
    /// Returns the end of a log of a run, without secrets.
    ///
    /// # Errors
    /// When no run or more than one is meant, the log is gone, or the disk fails.
    pub fn log(&self, prefix: &IdPrefix, stream: LogStream) -> Result<RunLogReport, Error> {
        let run = meant_run(&self.room, prefix)?;
        let path = run.log(stream)?;
        let file = open_log(&self.room, &run, &path)?;
        let bytes = file.len()?;
        Ok(RunLogReport {
            schema: RunLogReport::SCHEMA,
            target: self.room.target(),
            run_id: run.id().to_owned(),
            running: matches!(run, MeantRun::Running(_)),
            stream: stream.as_str().into(),
            path: self.room.absolute(path.as_str()),
            bytes,
            text: redacted_end(&*file, bytes, Redactor::new(&gather::secrets(&self.room)))?,
            omitted_bytes: bytes.saturating_sub(SHOWN),
        })
    }

    /// Passes on a log of a run as it is, in pieces cut anywhere.
    ///
    /// Followed, it ends when the run does, when the token of the context asks for it, or by an error of `sink`, which
    /// comes back.
    ///
    /// # Errors
    /// When no run or more than one is meant, the log is gone, the disk fails, or a log is to be followed and nothing
    /// in the context could end it.
    pub fn log_bytes(
        &self,
        prefix: &IdPrefix,
        stream: LogStream,
        reach: LogReach,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<io::Result<()>, Error> {
        let cancel = self.room.env.cancel.as_ref();
        let run = meant_run(&self.room, prefix)?;
        let file = open_log(&self.room, &run, &run.log(stream)?)?;
        match (reach, cancel, &run) {
            (LogReach::Now, _, _) | (LogReach::EndOfRun, _, MeantRun::Over(_) | MeantRun::Abandoned(_)) => {
                Ok(pass(&*file, 0, file.len()?, cancel, sink)?.map(|_| ()))
            }
            (LogReach::EndOfRun, Some(cancel), MeantRun::Running(running)) => {
                follow_run(&self.room, running, &*file, cancel, sink)
            }
            (LogReach::EndOfRun, None, MeantRun::Running(_)) => {
                Err(Error::new(ErrorKind::Usage, "following a log needs something that ends it"))
            }
        }
    }
}

fn follow_run(
    room: &Room,
    running: &RunningRun,
    file: &dyn ReadFile,
    cancel: &CancelToken,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<io::Result<()>, Error> {
    let mut offset = 0;
    while !cancel.is_cancelled() {
        // Asked before the log is read: what was written before the run ended is then still passed on.
        let is_running = is_running(room, running)?;
        match pass(file, offset, file.len()?, Some(cancel), sink)? {
            Ok(end) => offset = end,
            Err(error) => return Ok(Err(error)),
        }
        if !is_running || cancel.wait(LOOK) {
            break;
        }
    }
    Ok(Ok(()))
}

fn is_running(room: &Room, running: &RunningRun) -> Result<bool, Error> {
    let stored = room.queue().read()?.call(&running.call_id)?;
    Ok(stored.is_some_and(|stored| {
        let claim = stored.call.claim.as_ref();
        stored.call.status == CallStatus::Running
            && claim.is_some_and(|claim| claim.run_id.as_str() == running.run_id)
    }))
}

fn open_log(room: &Room, run: &MeantRun, path: &RelPath) -> Result<Box<dyn ReadFile>, Error> {
    match room.fs.open(path) {
        Ok(file) => Ok(file),
        Err(error) if error.is_not_found() => {
            let shown = brigade_core::text::escape_terminal(run.id()).into_owned();
            Err(Error::new(ErrorKind::NotFound, format!("the log of run {shown} is not there any more")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Finds a run, also one that is running.
pub(crate) fn meant_run(room: &Room, prefix: &IdPrefix) -> Result<MeantRun, Error> {
    let queue = room.queue();
    let view = queue.read()?;
    if let Match::One(Ok(stored)) = view.find_run(prefix)?
        && stored.receipt.id() == prefix.as_str()
    {
        return Ok(MeantRun::Over(Box::new(stored)));
    }
    let running = runs_of(&view, CallStatus::Running)?;
    // Looked for once more: one that has ended meanwhile has its receipt now.
    let (stored, over) = match view.find_run(prefix)? {
        Match::One(Ok(stored)) => {
            let id = stored.receipt.id().to_owned();
            (Some(stored), vec![id])
        }
        Match::One(Err(bad)) => {
            return Err(Error::new(ErrorKind::Refused, format!("`{}`: {}", bad.path, bad.problem)));
        }
        Match::None => (None, Vec::new()),
        Match::Ambiguous(candidates) => (None, candidates),
    };
    let ids: BTreeSet<String> =
        over.into_iter().chain(running.iter().map(|running| running.run_id.clone())).collect();
    let id = match prefix.resolve(ids.into_iter().map(|id| (id.clone(), id))) {
        Resolved::One(id) => id,
        Resolved::Ambiguous(candidates) => return Err(ambiguous("run", prefix, candidates)),
        Resolved::None => return abandoned_run(&view, prefix),
    };
    if let Some(stored) = stored.filter(|stored| stored.receipt.id() == id) {
        return Ok(MeantRun::Over(Box::new(stored)));
    }
    let found = running.into_iter().find(|running| running.run_id == id);
    found.map(MeantRun::Running).ok_or_else(|| no_run(prefix))
}

/// Finds a run without a receipt, whose runner is gone.
fn abandoned_run(view: &View<'_>, prefix: &IdPrefix) -> Result<MeantRun, Error> {
    let abandoned = runs_of(view, CallStatus::Interrupted)?;
    let ids = abandoned.iter().map(|run| (run.run_id.as_str(), run.run_id.clone()));
    let id = match prefix.resolve(ids) {
        Resolved::One(id) => id,
        Resolved::Ambiguous(candidates) => return Err(ambiguous("run", prefix, candidates)),
        Resolved::None => return Err(no_run(prefix)),
    };
    let found = abandoned.into_iter().find(|run| run.run_id == id);
    found.map(MeantRun::Abandoned).ok_or_else(|| no_run(prefix))
}

fn no_run(prefix: &IdPrefix) -> Error {
    let shown = brigade_core::text::escape_terminal(prefix.as_str()).into_owned();
    Error::new(ErrorKind::NotFound, format!("no run matches `{shown}`"))
        .coded(codes::RUN_MISSING)
        .hint(NextStep::ListRuns)
}

/// Lists the runs of the calls that stand at a status.
fn runs_of(view: &View<'_>, status: CallStatus) -> Result<Vec<RunningRun>, Error> {
    let mut running = Vec::new();
    view.for_each_call(&Calls::Of(status), &mut |stored| {
        let call_id = stored.call.id;
        let run_id = stored.call.claim.map(|claim| claim.run_id.as_str().to_owned());
        running.extend(run_id.map(|run_id| RunningRun { run_id, call_id }));
        ControlFlow::Continue(())
    })?;
    Ok(running)
}

/// Passes on what lies between two offsets, and returns how far that went.
fn pass(
    file: &dyn ReadFile,
    from: u64,
    to: u64,
    cancel: Option<&CancelToken>,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<io::Result<u64>, FsError> {
    let mut offset = from;
    while offset < to && !cancel.is_some_and(CancelToken::is_cancelled) {
        let left = usize::try_from(to - offset).unwrap_or(usize::MAX);
        let bytes = file.read_range(offset, left.min(PIECE))?;
        if bytes.is_empty() {
            break;
        }
        offset += bytes.len() as u64;
        if let Err(error) = sink(&bytes) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(offset))
}

/// Returns the last [`SHOWN`] bytes before `end` without secrets.
fn redacted_end(file: &dyn ReadFile, end: u64, mut redactor: Redactor) -> Result<String, FsError> {
    let mut redacted = Vec::new();
    let from = end.saturating_sub(SHOWN);
    let before =
        file.read_range(from.saturating_sub(BEFORE), usize::try_from(from.min(BEFORE)).unwrap_or(0))?;
    redactor.push(&before, &mut redacted);
    // What is decided by now lies before the part that is shown; what is held back may begin there.
    redacted.clear();
    let shown = file.read_range(from, usize::try_from(end - from).unwrap_or(0))?;
    redactor.push(&shown, &mut redacted);
    redactor.finish(&mut redacted);
    // Nothing of a secret is left to be cut through.
    let surplus = redacted.len().saturating_sub(usize::try_from(SHOWN).unwrap_or(usize::MAX));
    let mut start = surplus;
    // A character is shown whole or not at all.
    while 0 < surplus && start < surplus + 3 && redacted.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
        start += 1;
    }
    Ok(String::from_utf8_lossy(&redacted[start..]).into_owned())
}

#[cfg(test)]
mod tests {
    use brigade_fs::{Fs as _, MemoryFs};

    use super::*;
    use crate::room::rel;

    fn end_of(bytes: &[u8]) -> String {
        let fs = MemoryFs::new();
        let path = rel("log");
        fs.create(&path, 0o600).unwrap().write(bytes).unwrap();
        redacted_end(&*fs.open(&path).unwrap(), bytes.len() as u64, Redactor::new(&[])).unwrap()
    }

    #[test]
    fn a_short_log_is_shown_whole_without_secrets() {
        assert_eq!(end_of(b""), "");
        assert_eq!(end_of(b"a\xff\ntoken=EXAMPLE123\nb"), "a\u{fffd}\ntoken=[redacted]\nb");
    }

    #[test]
    fn of_a_long_log_exactly_the_end_is_shown() {
        let text: Vec<u8> = (0..300_000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
        let expect = &text[text.len() - SHOWN as usize..];
        assert_eq!(end_of(&text).as_bytes(), expect);
    }

    #[test]
    fn a_secret_across_the_cut_does_not_show() {
        let secret = format!("password={}", "EXAMPLEsecret".repeat(8));
        for shift in 0..secret.len() {
            let mut text = "x\n".repeat(100_000);
            text.push_str(&secret);
            let rest = SHOWN as usize - shift - 1;
            text.push('\n');
            text.push_str(&"y".repeat(rest));
            assert!(!end_of(text.as_bytes()).contains("secret"), "{shift}");
        }
    }

    #[test]
    fn a_character_across_the_cut_is_left_out() {
        for shift in 0..4 {
            let text = format!("{}{}", "\u{1f600}".repeat(400_000), "z".repeat(shift));
            assert!(!end_of(text.as_bytes()).contains('\u{fffd}'), "{shift}");
        }
    }
}
