//! Whether a running runtime is healthy, and remembering that.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use brigade_call::VerifiedStart;
use brigade_catalog::Runtime;
use brigade_core::text::short;
use brigade_core::{Dialect, Json, Object, Timestamp};
use brigade_doctor::Health;
use brigade_fs::{Fs, FsError, RelPath};
use brigade_process::{CancelToken, Control, EndedBy, Ending, ProcessIdentity, Stream, run};

use crate::command;
use crate::host::Host;
use crate::paths::{HealthFile, Paths};
use crate::record::{LIMIT, Record, Source};
use crate::system;

/// Bytes of a health command's output that are looked at.
const OUTPUT_CAP: u64 = 4096;

/// Characters of it that are shown.
const EXCERPT: usize = 200;

/// How long a health command has to end when its time is over.
const GRACE: Duration = Duration::from_millis(200);

/// Reads what a health file holds.
fn from_json(json: &Object) -> Option<Health> {
    Some(Health {
        ok: json.get("health_ok")?.as_bool()?,
        detail: json.get("health_detail").and_then(Json::as_str).unwrap_or_default().to_owned(),
        checked_at: json.get("health_checked_at")?.as_str()?.parse().ok()?,
    })
}

/// Puts what was found into a health file.
fn put_into(health: &Health, json: &mut Object) {
    json.insert("health_ok".to_owned(), health.ok.into());
    json.insert("health_detail".to_owned(), health.detail.as_str().into());
    json.insert("health_checked_at".to_owned(), health.checked_at.to_string().into());
}

/// How the health of a runtime is found out.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    /// By a command that succeeds.
    Command(Box<VerifiedStart>),
    /// Not at all, because the command may not be run; why.
    Refused(String),
    /// By its port.
    Port(u16),
    /// Nothing is configured.
    None,
}

/// What one look at the health found.
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

/// Looks at the health of a running process, once.
pub(crate) fn probe(
    host: &Host,
    check: &Check,
    process: &ProcessIdentity,
    timeout: Duration,
    cancel: Option<&CancelToken>,
) -> Probe {
    let asked = Instant::now();
    let probe = match check {
        Check::Command(start) => run_command(host, start, timeout, cancel),
        Check::Refused(why) => Probe::failed(format!("the health command was not run: {why}")),
        Check::Port(port) => probe_port(*port, process),
        Check::None => Probe::ok("running; no health check is configured"),
    };
    let by = match check {
        Check::Command(_) => "command",
        Check::Refused(_) => "nothing: the command may not be run",
        Check::Port(_) => "port",
        Check::None => "nothing",
    };
    let milliseconds = asked.elapsed().as_millis();
    tracing::debug!(
        pid = process.pid(),
        by,
        ok = probe.ok,
        milliseconds,
        "looked at the health of a runtime"
    );
    probe
}

/// Looks whether the process, or one that belongs to it, listens on the port.
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

fn run_command(host: &Host, start: &VerifiedStart, timeout: Duration, cancel: Option<&CancelToken>) -> Probe {
    let control = Control {
        timeout: Some(timeout),
        cancel: cancel.cloned(),
        ending: Ending { linger: Duration::ZERO, grace: GRACE, ..Ending::default() },
        output_cap: OUTPUT_CAP,
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut sink = |stream: Stream, bytes: &[u8]| {
        match stream {
            Stream::Stdout => stdout.extend_from_slice(bytes),
            Stream::Stderr => stderr.extend_from_slice(bytes),
        }
        Ok(())
    };
    let outcome = match run(&command::spec(start, host), &mut sink, &control) {
        Ok(outcome) => outcome,
        Err(error) => return Probe::failed(format!("the health command did not run: {error}")),
    };
    match outcome.ended_by {
        EndedBy::Timeout => {
            Probe::failed(format!("the health command took longer than {} s", timeout.as_secs_f64()))
        }
        EndedBy::Cancel => Probe::failed("the health check was interrupted"),
        EndedBy::Itself | EndedBy::Sink | EndedBy::Caller if outcome.exit.success() => {
            Probe::ok("the health command succeeded")
        }
        EndedBy::Itself | EndedBy::Sink | EndedBy::Caller => {
            let said = if stderr.is_empty() { stdout } else { stderr };
            let text = String::from_utf8_lossy(&said).into_owned();
            let excerpt = short(&host.redactor().redact_str(&text), EXCERPT);
            let colon = if excerpt.is_empty() { "" } else { ": " };
            Probe::failed(format!("the health command ended with {}{colon}{excerpt}", outcome.exit))
        }
    }
}

/// Reads what the last health check found.
pub(crate) fn remembered(fs: &dyn Fs, file: &HealthFile, record: &Record) -> Option<Health> {
    match file {
        HealthFile::InMetadata => from_json(&record.json),
        HealthFile::Own(path) => from_json(&read_object(fs, path).ok()??),
        HealthFile::Nowhere => None,
    }
}

/// Reads a file that is a JSON object; `None` when it is something else. A missing one is empty.
fn read_object(fs: &dyn Fs, path: &RelPath) -> Result<Option<Object>, FsError> {
    match fs.read(path, LIMIT) {
        Ok(bytes) => Ok(match Json::parse_bytes(&bytes, Dialect::Lenient) {
            Ok(Json::Object(object)) => Some(object),
            Ok(_) | Err(_) => None,
        }),
        Err(error) if error.is_not_found() => Ok(Some(Object::new())),
        Err(error) => Err(error),
    }
}

/// Writes down what a health check of this process found, among what else the file holds.
///
/// A file that is no JSON object is left alone, as is metadata that someone else is just changing, that is of another
/// start, or that 0.30.0 wrote: it is adopted by the next start or stop.
pub(crate) fn remember(
    fs: &dyn Fs,
    paths: &Paths,
    runtime: &Runtime,
    process: &ProcessIdentity,
    health: &Health,
) -> Result<(), FsError> {
    match &paths.health {
        HealthFile::InMetadata => {
            let Ok(_lock) = fs.lock(&paths.lock, "brigade runtime status", Duration::ZERO) else {
                return Ok(());
            };
            let mut record = Record::read(fs, &paths.metadata)?;
            if record.source == Source::Current && record.identity().as_ref() == Some(process) {
                put_into(health, &mut record.json);
                fs.write_cache(&paths.metadata, &record.bytes())?;
            }
            Ok(())
        }
        HealthFile::Own(path) => {
            let Some(mut json) = read_object(fs, path)? else { return Ok(()) };
            let started_at = Record::read(fs, &paths.metadata)?.started_at();
            json.insert("pid".to_owned(), process.pid().into());
            json.insert("runtime_id".to_owned(), runtime.id.as_str().into());
            json.insert("started_at".to_owned(), started_at.map(|at| at.to_string()).into());
            put_into(health, &mut json);
            fs.write_cache(path, format!("{}\n", Json::Object(json).to_compact()).as_bytes())
        }
        HealthFile::Nowhere => Ok(()),
    }
}
