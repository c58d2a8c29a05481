//! Health checks of running runtimes and their stored results.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use brigade_call::{RuntimeMetadata, VerifiedStart};
use brigade_catalog::{Masks, Runtime};
use brigade_core::Timestamp;
use brigade_core::json::compact_text;
use brigade_core::text::short;
use brigade_doctor::Health;
use brigade_fs::{Fs, FsError, RelPath};
use brigade_process::{CancelToken, Control, EndedBy, Ending, PrivateFolder, ProcessIdentity, Stream, run};

use crate::command;
use crate::paths::{HealthFile, Paths};
use crate::record::{self, LIMIT, Record, Source};
use crate::supervisor::Supervisor;
use crate::system;

/// The maximum number of bytes that are read of a health command's output.
const OUTPUT_CAP: u64 = 4096;

/// The maximum number of characters of it that are shown.
const MAX_EXCERPT_CHARS: usize = 200;

/// How long a health command may take to end after its timeout.
const GRACE: Duration = Duration::from_millis(200);

/// Returns the result in a health file.
fn result(file: &RuntimeMetadata) -> Option<Health> {
    Some(Health {
        ok: file.health_ok?,
        detail: file.health_detail.clone().unwrap_or_default(),
        checked_at: file.health_checked_at.or_else(|| file.extra.kept("health_checked_at"))?,
    })
}

/// Sets the result in a health file.
fn set_result(health: &Health, file: &mut RuntimeMetadata) {
    file.extra.forget(&["health_ok", "health_detail", "health_checked_at"]);
    file.health_ok = Some(health.ok);
    file.health_detail = Some(health.detail.clone());
    file.health_checked_at = Some(health.checked_at);
}

/// How a runtime is checked.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    /// By the exit code of a command.
    Command(Box<VerifiedStart>),
    /// Not at all, because the command may not be run, with the reason.
    Refused(String),
    /// By its port.
    Port(u16),
    /// Nothing is configured.
    None,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) ok: bool,
    pub(crate) detail: String,
}

impl Probe {
    fn ok(detail: &str) -> Probe {
        Probe { ok: true, detail: detail.to_owned() }
    }

    fn failed(detail: impl Into<String>) -> Probe {
        Probe { ok: false, detail: detail.into() }
    }

    pub(crate) fn at(self, checked_at: Timestamp) -> Health {
        Health { ok: self.ok, detail: self.detail, checked_at }
    }
}

/// Checks whether the process, or one of its tree, listens on the port.
pub(crate) fn probe_port(port: u16, process: &ProcessIdentity) -> Probe {
    let holders = system::holders(&BTreeSet::from([port]), &[process.pid()]);
    match holders.get(&port) {
        None => Probe::failed(format!("nothing listens on port {port}")),
        Some(holder) if holder.belongs_to(process) == Some(false) => {
            Probe::failed(format!("port {port} is held by {}, not by this runtime", holder.describe()))
        }
        Some(_) => Probe { ok: true, detail: format!("listening on port {port}") },
    }
}

impl Supervisor<'_> {
    /// Checks the health of a running process once.
    pub(crate) fn probe(
        &self,
        runtime: &Runtime,
        check: &Check,
        process: &ProcessIdentity,
        cancel: Option<&CancelToken>,
    ) -> Probe {
        let _span = tracing::debug_span!("health", pid = process.pid()).entered();
        let started = Instant::now();
        let probe = match check {
            Check::Command(start) => self.run_command(runtime, start, cancel),
            Check::Refused(why) => Probe::failed(format!("the health command was not run: {why}")),
            Check::Port(port) => probe_port(*port, process),
            Check::None => Probe::ok("running; no health check is configured"),
        };
        let by = match check {
            Check::Command(_) => "command",
            Check::Refused(_) => "none: the command may not be run",
            Check::Port(_) => "port",
            Check::None => "nothing",
        };
        let milliseconds = started.elapsed().as_millis();
        tracing::debug!(by, ok = probe.ok, milliseconds, "checked the health of a runtime");
        probe
    }

    fn run_command(&self, runtime: &Runtime, start: &VerifiedStart, cancel: Option<&CancelToken>) -> Probe {
        let timeout = runtime.health_timeout().duration();
        let mut spec = command::spec(start, self.host);
        let not_run =
            |why: &dyn fmt::Display| Probe::failed(format!("the health command did not run: {why}"));
        let temporary = match self.confine.confine(runtime, start, &mut spec) {
            Ok(temporary) => temporary,
            Err(why) => return not_run(&why),
        };
        let control = Control {
            timeout: Some(timeout),
            cancel: cancel.cloned(),
            ending: Ending { linger: Duration::ZERO, grace: GRACE, ..Ending::default() },
            output_cap: OUTPUT_CAP,
            ..Control::default()
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut sink = |stream: Stream, bytes: &[u8]| {
            match stream {
                Stream::Stdout => stdout.extend_from_slice(bytes),
                Stream::Stderr => stderr.extend_from_slice(bytes),
            }
            Ok(())
        };
        let outcome = run(&spec, &mut sink, &control);
        // Leftover temporary files do not affect the health of the runtime.
        drop(temporary.and_then(PrivateFolder::remove));
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return not_run(&error),
        };
        match outcome.ended_by {
            EndedBy::Timeout => {
                Probe::failed(format!("the health command took longer than {} s", timeout.as_secs_f64()))
            }
            EndedBy::Cancel => Probe::failed("the health check was interrupted"),
            EndedBy::Itself | EndedBy::Sink | EndedBy::Caller if outcome.exit.success() => {
                Probe::ok("the health command succeeded")
            }
            EndedBy::Itself | EndedBy::Sink | EndedBy::Caller | EndedBy::Idle => {
                let printed = if stderr.is_empty() { stdout } else { stderr };
                let text = String::from_utf8_lossy(&printed).into_owned();
                let excerpt = short(&self.host.redactor().redact_str(&text), MAX_EXCERPT_CHARS);
                let colon = if excerpt.is_empty() { "" } else { ": " };
                Probe::failed(format!("the health command ended with {}{colon}{excerpt}", outcome.exit))
            }
        }
    }
}

/// Reads the result of the last health check.
pub(crate) fn remembered(fs: &dyn Fs, file: &HealthFile, record: &Record) -> Option<Health> {
    match file {
        HealthFile::InMetadata => result(&record.metadata),
        HealthFile::Own(path) => result(&read(fs, path).ok()??),
        HealthFile::Nowhere => None,
    }
}

/// Reads a health file; `None` if it is something else. A missing file is empty.
fn read(fs: &dyn Fs, path: &RelPath) -> Result<Option<RuntimeMetadata>, FsError> {
    match fs.read(path, LIMIT) {
        Ok(bytes) => Ok(record::parse(&bytes)),
        Err(error) if error.is_not_found() => Ok(Some(RuntimeMetadata::default())),
        Err(error) => Err(error),
    }
}

/// Stores the result of a health check, and keeps the other members of the file. Bound values are masked.
///
/// A file that is not a JSON object is not changed. Neither is metadata that another process is changing, that belongs
/// to another start, or that v0.30 wrote; the next start or stop adopts it.
pub(crate) fn remember(
    fs: &dyn Fs,
    paths: &Paths,
    runtime: &Runtime,
    process: &ProcessIdentity,
    health: &Health,
    masks: &Masks,
) -> Result<(), FsError> {
    match &paths.health {
        HealthFile::InMetadata => {
            let is_ours = |record: &Record| {
                record.source == Source::Current && record.identity().as_ref() == Some(process)
            };
            // A lock is a file: a workspace that is only viewed and has no metadata of ours must not get one.
            if !is_ours(&Record::read(fs, &paths.metadata)?) {
                return Ok(());
            }
            let Ok(_lock) = fs.lock(&paths.lock, "brigade runtime status", Duration::ZERO) else {
                return Ok(());
            };
            let mut record = Record::read(fs, &paths.metadata)?;
            if is_ours(&record) {
                set_result(health, &mut record.metadata);
                fs.write_cache(&paths.metadata, &record.bytes(masks))?;
            }
            Ok(())
        }
        HealthFile::Own(path) => {
            let Some(mut file) = read(fs, path)? else { return Ok(()) };
            file.extra.forget(&["pid", "runtime_id", "started_at"]);
            file.pid = Some(process.pid());
            file.runtime_id = Some(runtime.id.as_str().to_owned());
            file.started_at = Record::read(fs, &paths.metadata)?.started_at();
            file.extra.show(&["started_at"]);
            let detail = masks.shown(&health.detail);
            set_result(&Health { detail, ..health.clone() }, &mut file);
            let text = compact_text(&file).expect("a record is JSON");
            fs.write_cache(path, format!("{text}\n").as_bytes())
        }
        HealthFile::Nowhere => Ok(()),
    }
}
