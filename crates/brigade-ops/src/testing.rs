//! Workspaces for tests; [`CallBench`] is one in memory with a script tool, whose calls are decided and run.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade_call::{
    Call, CallStatus, Caller, Checkpoint, Claim, ObservedFile, ObservedState, Receipt, RunObserved,
    RunStatus, Runner as RunnerIdentity,
};
use brigade_core::{CallId, ErrorKind, IdPrefix, Json, Timestamp};
use brigade_exec::{Drops, HostEnvironment, RunFiles, RunPaths};
use brigade_fs::{
    DirEntry, DiskFs, FileKind, FileMode, Fs, FsError, Location, Lock, MemoryFs, Metadata, ReadFile, RelPath,
    WriteFile,
};
use brigade_kitchen::show::DecisionRow;
use brigade_queue::{StoredCall, this_runner};
use brigade_testkit::TickingClock;
use brigade_workspace::{CATALOG, POLICY, WorkspaceContext};

use crate::calls::claim::StoredClaim;
use crate::calls::running::{Attempt, ReadyCall, Runner};
use crate::calls::watching::remember_observed;
use crate::report::{QueueReport, RunReport, WaitingRow};
use crate::views::daily::{Daily, WaitingSource};
use crate::{Calls, Checkpoints, Error, Request, Runs};
use brigade_workspace::testing::LIMIT;

pub(crate) use brigade_workspace::testing::Bench;

/// A policy that allows what these tests need, without a sandbox.
const RULES: &str = r#"allowed_families = ["script"]
allowed_effects = ["local-read", "local-write", "network"]
denied_effects = ["secret-read"]
required_approval_modes = ["on-request", "always"]
max_timeout = 60
env_bindings = { GITHUB_TOKEN = "CANARY" }
"#;

/// How a run ends.
#[derive(Clone, Debug)]
pub(crate) struct RunEnding {
    /// The status of its receipt.
    pub(crate) status: RunStatus,
    /// Its exit code.
    pub(crate) exit_code: i64,
    /// What it prints.
    pub(crate) stdout: Vec<u8>,
    /// The checkpoints that it leaves, by id and choices.
    pub(crate) checkpoints: Vec<(&'static str, &'static [&'static str])>,
    /// When the checkpoints expire.
    pub(crate) expires_at: Option<Timestamp>,
    /// Whether the runner is killed, so that nothing is recorded.
    pub(crate) is_killed: bool,
    /// The observation of the run.
    pub(crate) observed: Option<RunObserved>,
}

impl RunEnding {
    /// A run with this status and exit code.
    pub(crate) fn new(status: RunStatus, exit_code: i64) -> RunEnding {
        RunEnding {
            status,
            exit_code,
            stdout: b"ran\n".to_vec(),
            checkpoints: Vec::new(),
            expires_at: None,
            is_killed: false,
            observed: None,
        }
    }

    /// A run that completes.
    pub(crate) fn completed() -> RunEnding {
        RunEnding::new(RunStatus::Completed, 0)
    }

    /// A run that fails.
    pub(crate) fn failed() -> RunEnding {
        RunEnding::new(RunStatus::Failed, 3)
    }

    /// A run that waits for the answers to these checkpoints.
    pub(crate) fn waiting(checkpoints: &[(&'static str, &'static [&'static str])]) -> RunEnding {
        RunEnding { checkpoints: checkpoints.to_vec(), ..RunEnding::new(RunStatus::Waiting, 0) }
    }

    /// A run that completes, and that was observed to read, execute and write these files.
    pub(crate) fn observed(read: &[&str], executed: &[&str], written: &[&str]) -> RunEnding {
        let files = |paths: &[&str]| {
            let file = |path: &&str| ObservedFile { path: (*path).to_owned(), ..ObservedFile::default() };
            Some(paths.iter().map(file).collect())
        };
        let mut observed = RunObserved::default();
        (observed.state, observed.complete) = (ObservedState::Observed, true);
        (observed.read, observed.executed, observed.written) = (files(read), files(executed), files(written));
        RunEnding { observed: Some(observed), ..RunEnding::completed() }
    }

    /// A run whose runner is killed.
    pub(crate) fn killed() -> RunEnding {
        RunEnding { is_killed: true, ..RunEnding::completed() }
    }
}

/// Claims calls as a host does, starts nothing, and records the endings that a test chose.
struct ScriptedRunner {
    context: Arc<WorkspaceContext>,
    endings: Mutex<VecDeque<RunEnding>>,
}

impl Runner for ScriptedRunner {
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
        let ReadyCall { call, revision, .. } = ready;
        let ending = self.endings.lock().unwrap().pop_front().unwrap_or_else(RunEnding::completed);
        let (context, started_at) = (&*self.context, self.context.now());
        let run_id = call.call().next_run_id();
        let paths = RunPaths::new(&run_id);
        let mut files = RunFiles::create(&*context.fs, &run_id, &paths, Drops::None)?;
        let this = this_runner()?;
        let runner = match ending.is_killed {
            true => RunnerIdentity { boot_id: "an earlier start of the machine".to_owned(), ..this },
            false => this,
        };
        let claim = Claim { run_id: run_id.clone(), runner: Some(runner) };
        let queue = context.queue();
        let mut locked = queue.lock(started_at)?;
        let stored = StoredClaim { call: &call, revision, files: &files, claim, at_once: None };
        if let Some(error) = stored.claim(context, &mut locked, started_at)? {
            return Ok(Attempt::Taken(Box::new(call.call().clone()), error));
        }
        drop(locked);
        files.logs.stdout.write(&ending.stdout)?;
        if ending.is_killed {
            return Err(Error::new(ErrorKind::Environment, "the runner was killed"));
        }
        let status = ending.status.clone();
        let mut receipt = Receipt::of_call(call.call(), call.plan().shown_contract(), &run_id, status);
        let completed_at = context.now();
        receipt.caller = Some(call.call().caller.clone());
        receipt.started_at = Some(started_at);
        receipt.completed_at = Some(completed_at);
        receipt.exit_code = Some(ending.exit_code);
        receipt.argv = call.plan().shown_argv();
        receipt.cwd = Some(context.target());
        receipt.args = call.plan().args().clone();
        receipt.arguments = call.plan().arguments().clone();
        receipt.binding = Some(call.binding().clone());
        receipt.observed = ending.observed;
        receipt.stdout_log_path = Some(paths.stdout_log);
        receipt.stderr_log_path = Some(paths.stderr_log);
        if let Some(resume) = call.resume() {
            receipt.resumed_after(&resume.checkpoint, resume.checkpoints());
        }
        let checkpoint = |(id, choices): &(&str, &[&str])| {
            let mut made = Checkpoint::new(id.parse().unwrap(), call.id().clone(), run_id.as_str());
            made.tool_id.clone_from(&call.call().tool_id);
            made.prompt = Some(format!("{id}?"));
            made.choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
            made.created_at = Some(context.now());
            made.expires_at = ending.expires_at;
            made
        };
        let checkpoints = ending.checkpoints.iter().map(checkpoint).collect();
        let mut complete = |checkpoints: &[Checkpoint]| receipt.with_checkpoints(checkpoints);
        let mut locked = queue.lock(completed_at)?;
        let ended = locked.finish(call.id(), &run_id, checkpoints, &mut complete, completed_at)?;
        drop(locked);
        remember_observed(context, &call, &ended.receipt.receipt);
        let succeeded = matches!(ending.status, RunStatus::Completed | RunStatus::Waiting);
        let report = RunReport::new(context, ended.call.call, ended.receipt.receipt, succeeded);
        Ok(Attempt::Ran(Box::new(report), None))
    }
}

/// Returns the variables of a host. One has a secret that the policy binds.
fn variables(path: &str) -> Arc<HostEnvironment> {
    let variables = [("PATH", path), ("CANARY", "canary/value+4711")];
    Arc::new(HostEnvironment::new(variables.map(|(name, value)| (name.into(), value.into()))))
}

/// The questions and decisions of a test.
struct Others(Vec<DecisionRow>, Vec<WaitingRow>);

impl WaitingSource for Others {
    fn others(&self) -> Result<(Vec<DecisionRow>, Vec<WaitingRow>), Error> {
        Ok((self.0.clone(), self.1.clone()))
    }

    fn question_text(&self, id: &str) -> Result<Option<String>, Error> {
        Ok(self.1.iter().find(|row| row.id == id).map(|row| format!("the whole text: {}", row.text)))
    }
}

/// A workspace with one tool, `tool`, whose command is `/bin/sh bin/tool.sh`. Its schema takes any object.
pub(crate) struct CallBench {
    pub(crate) context: Arc<WorkspaceContext>,
    pub(crate) clock: Arc<TickingClock>,
    pub(crate) calls: Calls,
    runner: Arc<ScriptedRunner>,
}

impl CallBench {
    /// Creates the workspace. Keys in `lines` replace those of the tool's entry.
    pub(crate) fn new(lines: &str) -> CallBench {
        let mut context = WorkspaceContext::new(Arc::new(HostFiles::new()));
        let clock = Arc::new(TickingClock::new());
        context.clock = clock.clone();
        context.environment = variables("/usr/bin:/bin");
        CallBench::over(Arc::new(context), clock).with_files(lines)
    }

    fn over(context: Arc<WorkspaceContext>, clock: Arc<TickingClock>) -> CallBench {
        let runner = Arc::new(ScriptedRunner { context: context.clone(), endings: Mutex::default() });
        CallBench { calls: Calls::new(context.clone(), runner.clone()), context, clock, runner }
    }

    fn with_files(self, lines: &str) -> CallBench {
        self.write(POLICY, RULES);
        self.write(CATALOG, CallBench::entry("tool", "/bin/sh bin/tool.sh", lines));
        self.write("bin/tool.sh", "echo ran\n");
        self.write("docs/tool.md", "# Tool\n");
        self.write("schemas/tool.json", r#"{"type":"object"}"#);
        self
    }

    /// Returns the same workspace for another caller.
    pub(crate) fn for_caller(&self, caller: Caller) -> CallBench {
        self.changed(|context| context.caller = caller)
    }

    /// Returns the same workspace on a host that also finds programs in this directory.
    pub(crate) fn with_path(&self, directory: &str) -> CallBench {
        let environment = variables(&format!("{directory}:/usr/bin:/bin"));
        self.changed(|context| context.environment = environment)
    }

    /// Returns the same workspace for a person with this home directory.
    pub(crate) fn with_home(&self, home: &Path) -> CallBench {
        let home = [("HOME".into(), home.as_os_str().to_owned())];
        self.changed(|context| context.environment = Arc::new(HostEnvironment::new(home)))
    }

    /// Returns the same workspace on a host with another key.
    pub(crate) fn with_another_key(&self) -> CallBench {
        let fresh = WorkspaceContext::new(self.context.fs.clone());
        self.changed(|context| {
            context.key = fresh.key;
            context.trust = fresh.trust;
            context.files_of_calls = fresh.files_of_calls;
        })
    }

    fn changed(&self, change: impl FnOnce(&mut WorkspaceContext)) -> CallBench {
        let context = &self.context;
        let mut context = WorkspaceContext {
            caller: context.caller.clone(),
            clock: context.clock.clone(),
            environment: context.environment.clone(),
            key: context.key.clone(),
            trust: context.trust.clone(),
            files_of_calls: context.files_of_calls.clone(),
            ..WorkspaceContext::new(context.fs.clone())
        };
        change(&mut context);
        CallBench::over(Arc::new(context), self.clock.clone())
    }

    /// Returns an entry of the catalog.
    pub(crate) fn entry(id: &str, command: &str, lines: &str) -> String {
        let command = format!("{command:?}");
        let defaults = [
            ("name", "\"Tool\""),
            ("family", "\"script\""),
            ("command", &*command),
            ("source_path", "\"docs/tool.md\""),
            ("input_schema_path", "\"schemas/tool.json\""),
            ("effects", "[\"local-read\"]"),
            ("approval_mode", "\"on-request\""),
            ("timeout", "30"),
        ];
        let has =
            |key: &str| lines.lines().any(|line| line.split('=').next().is_some_and(|own| own.trim() == key));
        let missing = defaults.iter().filter(|(key, _)| !has(key));
        let missing: String = missing.map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!("[[tool]]\nid = {id:?}\n{lines}\n{missing}")
    }

    /// Writes a file, with the directories above it.
    #[track_caller]
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path: RelPath = path.parse().unwrap();
        self.context.fs.create_dir_all(&path.parent()).unwrap();
        self.context.fs.write_atomic(&path, text.as_ref(), FileMode::Private).unwrap();
    }

    /// Reads a file.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(self.context.fs.read(&path.parse().unwrap(), LIMIT).unwrap()).unwrap()
    }

    /// Lists the files whose name or content has a text.
    #[track_caller]
    pub(crate) fn files_with(&self, text: &str) -> Vec<String> {
        let (fs, mut found) = (&*self.context.fs, Vec::new());
        let mut folders = vec![RelPath::root()];
        while let Some(folder) = folders.pop() {
            for entry in fs.list_dir(&folder).unwrap() {
                let path = folder.join(&entry.name).unwrap();
                match entry.kind {
                    FileKind::Directory => folders.push(path),
                    _ if path.as_str().contains(text) => found.push(path.to_string()),
                    _ => {
                        let bytes = fs.read(&path, LIMIT).unwrap();
                        let has_it = String::from_utf8_lossy(&bytes).contains(text);
                        found.extend(has_it.then(|| path.to_string()));
                    }
                }
            }
        }
        found
    }

    /// Returns whether a file exists.
    #[track_caller]
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.context.fs.exists(&path.parse().unwrap()).unwrap()
    }

    /// Removes a file.
    #[track_caller]
    pub(crate) fn remove(&self, path: &str) {
        self.context.fs.remove(&path.parse().unwrap()).unwrap();
    }

    /// Replaces a text in a file, which must contain it.
    #[track_caller]
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} does not contain {from}\n{text}");
        self.write(path, text.replace(from, to));
    }

    /// Adds text at the end of a file.
    #[track_caller]
    pub(crate) fn add(&self, path: &str, text: &str) {
        self.write(path, format!("{}\n{text}", self.read(path)));
    }

    /// Returns the operations on runs.
    pub(crate) fn runs(&self) -> Runs {
        Runs::new(self.context.clone())
    }

    /// Returns the operations on checkpoints.
    pub(crate) fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.context.clone(), self.runner.clone())
    }

    /// Returns the operations of every day.
    pub(crate) fn daily(&self) -> Daily {
        self.daily_with(Vec::new(), Vec::new())
    }

    /// Returns the operations of every day, with decisions and questions that wait.
    pub(crate) fn daily_with(&self, decisions: Vec<DecisionRow>, questions: Vec<WaitingRow>) -> Daily {
        Daily::new(self.context.clone(), self.calls.clone(), Arc::new(Others(decisions, questions)))
    }

    /// Returns the request for a call of `tool`.
    #[track_caller]
    pub(crate) fn request(args: &str) -> Request {
        Request::new("tool").args(Json::parse(args).unwrap())
    }

    /// Queues a call of `tool`, and returns the report.
    #[track_caller]
    pub(crate) fn queued(&self, args: &str) -> QueueReport {
        self.calls.queue(CallBench::request(args)).unwrap()
    }

    /// Queues a new call of `tool`.
    #[track_caller]
    pub(crate) fn queue(&self, args: &str) -> CallId {
        let queued = self.queued(args);
        assert_eq!(queued.created, 1, "{:?}", queued.reason);
        queued.call.id
    }

    /// Queues and approves a call.
    #[track_caller]
    pub(crate) fn approved(&self, args: &str) -> CallId {
        let id = self.queue(args);
        self.calls.approve(&id).unwrap();
        id
    }

    /// Chooses how the next run ends. Otherwise it completes.
    pub(crate) fn ends(&self, ending: RunEnding) {
        self.runner.endings.lock().unwrap().push_back(ending);
    }

    /// Queues, approves and runs a call, which ends like this.
    #[track_caller]
    pub(crate) fn ran(&self, args: &str, ending: RunEnding) -> RunReport {
        let id = self.approved(args);
        self.ends(ending);
        self.calls.run(&id).unwrap()
    }

    /// Returns a call as it is now.
    #[track_caller]
    pub(crate) fn stored(&self, id: &CallId) -> StoredCall {
        self.context.queue().read().unwrap().call(id).unwrap().unwrap()
    }

    /// Returns the status of a call.
    #[track_caller]
    pub(crate) fn status(&self, id: &CallId) -> CallStatus {
        self.call(id).status
    }

    /// Returns a call as it is now.
    #[track_caller]
    pub(crate) fn call(&self, id: &CallId) -> Call {
        self.stored(id).call
    }

    /// Returns the number of runs.
    #[track_caller]
    pub(crate) fn run_count(&self) -> usize {
        self.runs().newest(usize::MAX).unwrap().len()
    }

    /// Returns the prefix of an id without its last characters.
    pub(crate) fn prefix(id: &CallId, without: usize) -> IdPrefix {
        let text = id.as_str();
        IdPrefix::new(&text[..text.len() - without])
    }
}

/// A workspace in memory. Paths outside of it are those of this machine, and are only read.
struct HostFiles {
    memory: MemoryFs,
    host: DiskFs,
}

impl HostFiles {
    fn new() -> HostFiles {
        HostFiles { memory: MemoryFs::new(), host: DiskFs::open(Path::new("/")).unwrap() }
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(self.memory.root())
    }
}

impl Fs for HostFiles {
    fn root(&self) -> &Path {
        self.memory.root()
    }

    fn resolve(&self, path: &str, home: Option<&Path>) -> Result<Location, FsError> {
        self.memory.resolve(path, home)
    }

    fn open(&self, path: &RelPath) -> Result<Box<dyn ReadFile>, FsError> {
        self.memory.open(path)
    }

    fn open_outside(&self, path: &Path) -> Result<Box<dyn ReadFile>, FsError> {
        if self.is_inside(path) { self.memory.open_outside(path) } else { self.host.open_outside(path) }
    }

    fn create(&self, path: &RelPath, mode: u32) -> Result<Box<dyn WriteFile>, FsError> {
        self.memory.create(path, mode)
    }

    fn open_append(&self, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
        self.memory.open_append(path)
    }

    fn create_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.create_dir(path)
    }

    fn sync_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.sync_dir(path)
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), FsError> {
        self.memory.rename(from, to)
    }

    fn remove(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.remove(path)
    }

    fn list_dir(&self, path: &RelPath) -> Result<Vec<DirEntry>, FsError> {
        self.memory.list_dir(path)
    }

    fn metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.memory.metadata(path)
    }

    fn link_metadata(&self, path: &RelPath) -> Result<Metadata, FsError> {
        self.memory.link_metadata(path)
    }

    fn metadata_outside(&self, path: &Path) -> Result<Metadata, FsError> {
        if self.is_inside(path) {
            self.memory.metadata_outside(path)
        } else {
            self.host.metadata_outside(path)
        }
    }

    fn remove_dir(&self, path: &RelPath) -> Result<(), FsError> {
        self.memory.remove_dir(path)
    }

    fn sync_file_system(&self) -> Result<(), FsError> {
        self.memory.sync_file_system()
    }

    fn set_mode(&self, path: &RelPath, mode: u32) -> Result<(), FsError> {
        self.memory.set_mode(path, mode)
    }

    fn take_left(&self, path: &RelPath) -> Option<Lock> {
        self.memory.take_left(path)
    }

    fn lock(&self, path: &RelPath, holder: &str, timeout: Duration) -> Result<Lock, FsError> {
        self.memory.lock(path, holder, timeout)
    }
}
