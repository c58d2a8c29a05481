//! Writes the record and logs of each start of a kept server.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, OnceLock};

use brigade_call::{ProgramBinding, SandboxUsed, VerifiedStart};
use brigade_catalog::Tool;
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Clock, Dialect, Fingerprint, Json, Report as _, StepFormatter, Timestamp};
use brigade_exec::{KeptRun, Logs, ObservedRun, denials, other_bytes};
use brigade_fs::{FileMode, Fs, RelPath};
use brigade_mcp::{ServerEnd, ServerWatcher};
use brigade_policy::Failure;
use brigade_process::ProcessIdentity;
use brigade_redact::Redactor;
use brigade_sandbox::Enforcement;

use super::server_id;
use crate::report::UpstreamStart;
use brigade_workspace::WorkspaceContext;

/// The directory of the records.
pub(super) const STARTS: &str = ".brigade/tools/runtime/upstreams";

/// The maximum number of records of ended servers, and the maximum size of a record that is read.
const MAX_RECORDS: usize = 40;
const LIMIT: u64 = 4 << 20;

/// The files of one start.
pub(super) struct Paths {
    id: String,
    record: RelPath,
    stdout: RelPath,
    stderr: RelPath,
}

impl Paths {
    fn new(id: &str) -> Paths {
        let path = |end: &str| RelPath::composed(&format!("{STARTS}/{id}{end}"));
        Paths {
            id: id.to_owned(),
            record: path(".json"),
            stdout: path(".stdout.log"),
            stderr: path(".stderr.log"),
        }
    }

    /// Removes the logs of a server that was not started.
    pub(super) fn discard(&self, context: &WorkspaceContext) {
        self.remove(&*context.fs);
    }

    fn remove(&self, fs: &dyn Fs) {
        for path in [&self.stdout, &self.stderr, &self.record] {
            // A file that cannot be removed is removed at the next start.
            let _ = fs.remove(path);
        }
    }
}

/// Creates the name of a start. Names sort by time.
pub(super) fn new_id(now: Timestamp) -> io::Result<String> {
    let random: String =
        brigade_process::random_bytes::<4>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("start-{:017}-{random}", now.unix_micros().max(0)))
}

/// Creates the logs of a start, and removes old ones.
pub(super) fn logs(context: &WorkspaceContext, id: &str) -> Result<(Logs, Paths), Failure> {
    let fs = &*context.fs;
    fs.create_dir_all(&RelPath::from_static(STARTS))?;
    sweep(fs);
    let paths = Paths::new(id);
    let logs = Logs { stdout: fs.create(&paths.stdout, 0o600)?, stderr: fs.create(&paths.stderr, 0o600)? };
    Ok((logs, paths))
}

/// Removes the oldest records of servers that have ended.
fn sweep(fs: &dyn Fs) {
    let entries = fs.list_dir(&RelPath::from_static(STARTS)).unwrap_or_default();
    let mut ids: Vec<&str> =
        entries.iter().filter_map(|entry| entry.name.strip_suffix(".stdout.log")).collect();
    ids.sort_unstable();
    let old = ids.len().saturating_sub(MAX_RECORDS);
    for id in &ids[..old] {
        let paths = Paths::new(id);
        let is_alive = read(fs, &paths.record)
            .and_then(|record| record.process?.parse::<ProcessIdentity>().ok())
            .is_some_and(|process| process.is_alive());
        if !is_alive {
            paths.remove(fs);
        }
    }
}

fn read(fs: &dyn Fs, path: &RelPath) -> Option<UpstreamStart> {
    let bytes = fs.read(path, LIMIT).ok()?;
    from_json(&Json::parse_bytes(&bytes, Dialect::Strict).ok()?).ok()
}

/// Reads the record of a start that a receipt names.
pub(crate) fn start_of(fs: &dyn Fs, id: &str) -> Option<UpstreamStart> {
    let is_name = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    read(fs, &Paths::new(Some(id).filter(|_| is_name)?).record)
}

/// The subject of a record.
pub(super) struct RecordSubject<'a> {
    pub(super) tool: &'a Tool,
    pub(super) served: Vec<&'a Tool>,
    pub(super) agent: Option<&'a str>,
    pub(super) start: &'a VerifiedStart,
    pub(super) redactor: &'a Redactor,
}

/// Writes the record of a server as it starts and ends.
pub(super) struct Recorder {
    fs: Arc<dyn Fs>,
    clock: Arc<dyn Clock>,
    path: RelPath,
    record: UpstreamStart,
    run: Option<KeptRun>,
    sandbox: Arc<OnceLock<SandboxUsed>>,
    redactor: Redactor,
    speller: Arc<dyn StepFormatter>,
    /// The entry whose call or list started it.
    tool: String,
}

impl Recorder {
    pub(super) fn new(
        context: &WorkspaceContext,
        paths: Paths,
        subject: &RecordSubject<'_>,
        run: KeptRun,
        sandbox: Arc<OnceLock<SandboxUsed>>,
    ) -> Recorder {
        let masked = |text: &str| subject.redactor.redact_str(text);
        let effects: BTreeSet<&String> = subject.served.iter().flat_map(|tool| &tool.effects).collect();
        let tools: BTreeSet<String> = subject.served.iter().map(|tool| tool.id.to_string()).collect();
        let root = context.fs.root();
        let inside =
            |path: &std::path::Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let words = subject.start.argv().words();
        let command: Vec<String> =
            subject.redactor.redact_command(words).iter().map(|word| word.as_str().to_owned()).collect();
        let record = UpstreamStart {
            schema: UpstreamStart::SCHEMA,
            id: paths.id.clone(),
            server_id: masked(server_id(subject.tool)),
            agent: subject.agent.map(str::to_owned),
            pid: None,
            process: None,
            command: command.join(" "),
            cwd: match inside(subject.start.directory()) {
                path if path.is_empty() => ".".to_owned(),
                path => path,
            },
            program: ProgramBinding {
                path: inside(subject.start.program()),
                sha256: subject.start.sha256().unwrap_or_else(|| Fingerprint::of_bytes(b"")),
            },
            files: subject.start.files().clone(),
            tools: tools.into_iter().collect(),
            effects: effects.into_iter().cloned().collect(),
            data: subject.start.data().to_vec(),
            env_labels: subject.tool.env_labels.clone(),
            sandbox: None,
            started_at: context.now(),
            ended_at: None,
            failure: None,
            exit: None,
            protocol_version: None,
            server: Json::Null,
            observed: None,
            warnings: Vec::new(),
            stdout_log_path: paths.stdout.as_str().to_owned(),
            stderr_log_path: paths.stderr.as_str().to_owned(),
        };
        Recorder {
            fs: context.fs.clone(),
            clock: context.clock.clone(),
            path: paths.record,
            record,
            run: Some(run),
            sandbox,
            redactor: subject.redactor.clone(),
            speller: context.speller.clone(),
            tool: subject.tool.id.to_string(),
        }
    }

    fn write(&self) {
        let text = pretty_text(&self.record).expect("a record is JSON");
        // An error is only logged, because receipts of calls do not depend on the record.
        if let Err(error) = self.fs.write_atomic(&self.path, text.as_bytes(), FileMode::Private) {
            tracing::warn!(%error, "the record of a server could not be written");
        }
    }
}

impl ServerWatcher for Recorder {
    fn started(&mut self, identity: &ProcessIdentity, enforcement: Option<&Enforcement>) {
        if let Some(run) = &self.run {
            let used = run.sandbox(enforcement);
            self.record.sandbox = Some(used.clone());
            let _ = self.sandbox.set(used);
        }
        self.record.pid = Some(identity.pid());
        self.record.process = Some(identity.to_string());
        self.write();
    }

    fn ended(mut self: Box<Self>, end: ServerEnd) {
        self.record.ended_at = Some(self.clock.now());
        self.record.failure = end.fault.map(|fault| self.redactor.redact_str(&fault.message));
        self.record.exit = end.outcome.as_ref().map(|outcome| outcome.exit.to_string());
        self.record.protocol_version = end.protocol_version;
        self.record.server = end.server.unwrap_or_default();
        if let Some(run) = self.run.take() {
            let ended = run.finish(end.outcome.as_ref());
            self.record.observed = ended.observed;
            self.record.warnings = ended.warnings;
            if let Some(observed) = &self.record.observed {
                let (sandbox, files) = (self.record.sandbox.as_ref(), &self.record.files);
                let ran = ObservedRun { tool: &self.tool, files, data: &[], completed: false };
                let denied = denials(&*self.fs, observed, sandbox, ran, &*self.speller);
                self.record.warnings.extend(denied);
            }
            let program = (self.record.program.path.as_str(), self.record.program.sha256);
            let observed = self.record.observed.as_ref();
            let other =
                observed.and_then(|observed| other_bytes(&self.record.files, Some(program), observed));
            self.record.warnings.extend(other);
        }
        self.write();
    }
}
