//! A program that is kept for many calls: how it is started, what it was started from, and what its record says.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade_call::{Binding, Change, RunObserved, SandboxUsed, VerifiedStart};
use brigade_core::Fingerprint;
use brigade_fs::{Fs, Mark};
use brigade_process::{Outcome, PrivateFolder, Program, Sink, Spec, Stream};
use brigade_redact::{Redactor, SecretValue};
use brigade_sandbox::Enforcement;

use crate::closed_reads::{ReadRules, closed, program_inside};
use crate::confinement::{self, Confinement, RunFolders};
use crate::environment::{HostEnvironment, decided_environment};
use crate::execute::Logs;
use crate::observed::{Watch, observed};
use crate::output::{Channel, Output};
use crate::program::OpenedProgram;
use crate::workspace_files::file_fingerprint;

/// The variable by which processes of a kept program are found if their keeper is killed.
const MARKED_BY: &str = "BRIGADE_UPSTREAM_RUN_ID";

/// A program to start and keep.
pub struct KeepRequest<'a> {
    /// The verified start; only [`plan_start`](brigade_call::plan_start) makes one.
    pub start: &'a VerifiedStart,
    /// The program, open since its bytes were read.
    pub program: &'a OpenedProgram,
    /// The workspace.
    pub fs: &'a Arc<dyn Fs>,
    /// The environment variables of this process.
    pub environment: &'a HostEnvironment,
    /// Values to mask, in addition to those of the tool's labels.
    pub secrets: &'a [SecretValue],
    /// Names the start, unlike any other.
    pub id: &'a str,
    /// Whether to observe the process.
    pub watch: Watch,
}

/// A program that is ready to be started and kept.
pub struct PreparedStart {
    /// How it is started.
    pub spec: Spec,
    /// Takes both streams, and compares the bytes once more when everything else is prepared.
    pub sink: Box<dyn Sink + Send>,
    /// The number of bytes of each stream that are kept.
    pub output_cap: u64,
    /// How long a call may take.
    pub timeout: Duration,
    /// Masks what is shown of it.
    pub redactor: Redactor,
    /// What it is started from.
    pub started_from: Arc<StartSource>,
    /// What its record says in the end.
    pub run: KeptRun,
}

/// The parts of a start that its record needs.
pub struct KeptRun {
    output: Arc<Mutex<Option<Output<'static>>>>,
    temporary: PrivateFolder,
    confinement: Option<Confinement>,
    root: PathBuf,
    watch: Watch,
    redactor: Redactor,
}

/// What the record of a start says in the end.
#[derive(Debug)]
pub struct KeptEnd {
    /// What the process used.
    pub observed: Option<RunObserved>,
    /// Warnings, as sentences.
    pub warnings: Vec<String>,
}

/// Prepares a program like that of a call: environment, sandbox and limits follow the policy's decision.
///
/// # Errors
/// When the policy made no decision, or the program or a file is not what was verified.
pub fn prepare(keep: &KeepRequest<'_>, logs: Logs) -> Result<PreparedStart, String> {
    let start = keep.start;
    let decision = start.decision().ok_or("not started: the policy did not decide on it")?;
    let temporary =
        PrivateFolder::create().map_err(|error| format!("no private temporary directory: {error}"))?;
    let private_home = confinement::private_home(decision, keep.fs.root())?;
    let folders = RunFolders {
        workspace: keep.fs.root(),
        repository: None,
        temporary: temporary.path(),
        checkpoints: temporary.path(),
        host: keep.environment,
        private_home: private_home.as_deref(),
        work: None,
        closed: &[],
        opened: None,
    };
    let path = keep.program.path();
    let opening = ReadRules {
        decision,
        files: start.files(),
        program: Some((path, keep.program.fingerprint())),
        data: start.data(),
        words: Vec::new(),
        absent: Vec::new(),
        script: keep.program.is_script().then_some(path),
    };
    // Before the files are read once more, so that later changes show.
    let started_from = Arc::new(StartSource::new(start, keep.program, &**keep.fs));
    let closed = closed(&**keep.fs, &opening, start.directory())?;
    let is_closed = closed.is_some();
    let confinement = confinement::confine(decision, &folders, closed);
    let mut spec = Spec::new(keep.program.program().clone(), start.directory());
    if is_closed && let Some(path) = program_inside(&**keep.fs, path) {
        // What is at this path in the process' own view are the verified bytes.
        spec.program = Program::at(path);
    }
    spec.argv = start.argv().words().iter().map(Into::into).collect();
    let mut variables =
        decided_environment(keep.environment, decision, temporary.path(), private_home.as_deref());
    variables.insert(MARKED_BY.into(), keep.id.into());
    spec.environment = variables.into_iter().collect();
    spec.limits = confinement::limits(decision);
    spec.private = Some(temporary.disposal());
    spec.sandbox = confinement.as_ref().map(|confinement| confinement.profile.clone());
    spec.observe = (keep.watch == Watch::Observe).then(|| keep.fs.root().to_owned());
    let secrets = keep.environment.secrets(keep.secrets, decision);
    let redactor = Redactor::new(&secrets);
    let output = Arc::new(Mutex::new(Some(Output {
        stdout: Channel::new(logs.stdout, &secrets),
        stderr: Channel::new(logs.stderr, &secrets),
        progress: None,
    })));
    let sink = KeptSink { output: output.clone(), started_from: started_from.clone(), fs: keep.fs.clone() };
    Ok(PreparedStart {
        spec,
        sink: Box::new(sink),
        output_cap: decision.max_output_bytes,
        timeout: decision.effective_timeout.duration(),
        redactor: redactor.clone(),
        started_from,
        run: KeptRun {
            output,
            temporary,
            confinement,
            root: keep.fs.root().to_owned(),
            watch: keep.watch.clone(),
            redactor,
        },
    })
}

impl KeptRun {
    /// Returns the sandbox of the process, for its record and the receipts of its calls.
    pub fn sandbox(&self, enforcement: Option<&Enforcement>) -> SandboxUsed {
        confinement::used(self.confinement.as_ref(), enforcement, &self.root)
    }

    /// Closes the logs, and removes the temporary directory.
    pub fn finish(self, outcome: Option<&Outcome>) -> KeptEnd {
        let mut warnings = Vec::new();
        if let Some(output) = lock(&self.output).take() {
            for channel in [output.stdout, output.stderr] {
                if let Err(error) = channel.finish() {
                    warnings.push(format!("the log could not be written: {error}"));
                }
            }
        }
        let observation = outcome.and_then(|outcome| outcome.observation.as_ref());
        let observed = observed(&self.watch, observation, &self.redactor);
        if let Some(left) = self.temporary.remove() {
            let left = left.display();
            warnings.push(format!("the temporary directory of the process could not be removed: {left}"));
        }
        KeptEnd { observed, warnings }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the streams of a kept program.
struct KeptSink {
    output: Arc<Mutex<Option<Output<'static>>>>,
    started_from: Arc<StartSource>,
    fs: Arc<dyn Fs>,
}

impl Sink for KeptSink {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        lock(&self.output).as_mut().map_or(Ok(()), |output| output.write(stream, bytes))
    }

    fn about_to_start(&mut self) -> io::Result<()> {
        match self.started_from.compare(&*self.fs) {
            Some(change) => {
                Err(io::Error::other(format!("not started: {change} changed since it was verified")))
            }
            None => Ok(()),
        }
    }
}

/// The bytes that a kept program was started from.
#[derive(Debug)]
pub struct StartSource {
    program: PathBuf,
    sha256: Fingerprint,
    files: BTreeMap<String, Fingerprint>,
    /// What the files looked like when their bytes were last seen to be these.
    marks: Mutex<BTreeMap<PathBuf, Option<Mark>>>,
}

impl StartSource {
    fn new(start: &VerifiedStart, program: &OpenedProgram, fs: &dyn Fs) -> StartSource {
        let from = StartSource {
            program: program.path().to_owned(),
            sha256: program.fingerprint(),
            files: start.files().clone(),
            marks: Mutex::default(),
        };
        let paths = from.files.keys().map(|name| fs.root().join(name));
        let marks = paths.chain([from.program.clone()]).map(|path| (path.clone(), Mark::at(&path))).collect();
        *lock(&from.marks) = marks;
        from
    }

    /// Reads everything, and returns the first that has other bytes.
    fn compare(&self, fs: &dyn Fs) -> Option<Change> {
        if !OpenedProgram::open(&self.program).is_ok_and(|program| program.fingerprint() == self.sha256) {
            return Some(Change::ProgramBytes);
        }
        let differs = |(name, sha256): &(&String, &Fingerprint)| {
            !file_fingerprint(fs, name).is_ok_and(|now| now == **sha256)
        };
        self.files.iter().find(differs).map(|(name, _)| Change::File(name.clone()))
    }

    /// Returns whether the program was started from files of these names, whatever their bytes are, and no others.
    pub fn has_names_of(&self, files: &BTreeMap<String, Fingerprint>) -> bool {
        self.files.keys().eq(files.keys())
    }

    /// Returns the first bound input of a call that is not what the program was started from, or the first file of the
    /// start that has other bytes by now. A file that looks as it did is not read.
    pub fn differs(&self, fs: &dyn Fs, binding: &Binding) -> Option<Change> {
        let program = binding.program.as_ref().map(|program| program.sha256);
        if program != Some(self.sha256) {
            return Some(Change::ProgramBytes);
        }
        let is_other = |(name, sha256): &(&String, &Fingerprint)| self.files.get(*name) != Some(*sha256);
        if let Some((name, _)) = binding.files.iter().find(is_other) {
            return Some(Change::File(name.clone()));
        }
        let read_program = || OpenedProgram::open(&self.program).ok().map(|program| program.fingerprint());
        if self.moved(&self.program, self.sha256, &read_program) {
            return Some(Change::ProgramBytes);
        }
        let moved = self.files.iter().find(|(name, sha256)| {
            let path = fs.root().join(name);
            self.moved(&path, **sha256, &|| file_fingerprint(fs, name).ok())
        });
        moved.map(|(name, _)| Change::File(name.clone()))
    }

    /// Returns whether a path has other bytes by now. It is read only if it looks different, or is a directory, whose
    /// look tells nothing of the files in it.
    fn moved(&self, path: &Path, sha256: Fingerprint, read: &dyn Fn() -> Option<Fingerprint>) -> bool {
        let mark = Mark::at(path);
        let known = lock(&self.marks).get(path).copied().flatten();
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if mark.is_some() && mark == known && !is_folder {
            return false;
        }
        if read() != Some(sha256) {
            return true;
        }
        lock(&self.marks).insert(path.to_owned(), mark);
        false
    }
}
