//! The git program, started through the gate with fixed, hardened settings.
//!
//! Git never runs a program that a repository, its settings or the user named: no hook, filter, signing program, file
//! system monitor, external diff, pager, editor or credential helper. Git does not inherit the environment of Brigade,
//! and does not read the settings of the user and the system. [`Settings`](crate::Settings) reads the needed settings
//! as data.
//!
//! Git never comes from a directory that agents can write, and finds no other program there. It ends at a time limit,
//! when the process of Brigade gets a signal to end, and when it waits for a file that never has content, such as a
//! named pipe with the name `.gitignore`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::GitError;
use crate::special::special_file_in;
use brigade_call::{DirectoryFact, StartFacts, StartProgram, StartPurpose, VerifiedStart, plan_start};
use brigade_fs::{FsError, FsErrorKind};
use brigade_process::{
    CancelToken, Control, EndedBy, Exit, Input, OwnProgram, OwnPrograms, Program, Sink, Spec, Stream, run,
};
use brigade_sandbox::{Mode, SandboxProfile};

/// The time limit of one git command.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How long git may sleep without using the processor. Commands that use the network may sleep longer.
const IDLE_LIMIT: Duration = Duration::from_secs(2);

/// Commands that only read. The kernel lets them write nothing.
const READING_OPERATIONS: [&str; 10] = [
    "cat-file",
    "check-ignore",
    "diff-index",
    "diff-tree",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
];

/// Commands that wait for other machines.
const REMOTE_OPERATIONS: [&str; 3] = ["fetch", "ls-remote", "push"];

/// How long git may work after a signal that ends the process of Brigade, over all commands.
const TIME_AFTER_SIGNAL: Duration = Duration::from_millis(700);

/// When a command first saw such a signal.
static SIGNAL_SEEN: OnceLock<Instant> = OnceLock::new();

/// The maximum size of the output that is kept.
const OUTPUT_LIMIT: u64 = 1 << 30;

/// The maximum size of an error message that is kept.
const MESSAGE_LIMIT: usize = 4_096;

/// The oldest supported version. It can merge on a given base without a work tree.
const OLDEST: (u32, u32) = (2, 40);

/// Settings of every git command. They override all files.
const FIXED_SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", "/bin/false"),
    ("core.pager", "cat"),
    ("core.editor", "/bin/false"),
    ("core.quotePath", "true"),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("protocol.ext.allow", "never"),
    ("core.fsyncMethod", "batch"),
];

/// The git program.
#[derive(Debug)]
pub struct Git {
    start: VerifiedStart,
    program: Program,
    path_variable: OsString,
    starts: AtomicU64,
}

/// The directories that git works with.
#[derive(Clone, Debug, Default)]
pub struct GitDirectories {
    /// The git directory. If absent, git searches from the working directory.
    pub git_dir: Option<PathBuf>,
    /// The root of the work tree.
    pub work_tree: Option<PathBuf>,
    /// The directory for new objects, if not in the git directory.
    pub objects: Option<PathBuf>,
    /// Directories with further objects.
    pub alternates: Vec<PathBuf>,
    /// The index, if not the one in the git directory.
    pub index: Option<PathBuf>,
    /// The `shallow` file of a shallow clone, which lists commits without parents.
    pub shallow: Option<PathBuf>,
    /// Whether written files must survive a power loss.
    pub is_durable: bool,
}

/// A git command before it runs.
#[derive(Debug)]
pub struct GitCommand<'g> {
    git: &'g Git,
    operation: &'static str,
    words: Vec<OsString>,
    directory: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    settings: Vec<(OsString, OsString)>,
    input: Input,
    is_durable: bool,
    confined: Option<SandboxProfile>,
    limit: u64,
    largest: Option<u64>,
    cancel: Option<CancelToken>,
}

/// The result of a git command.
#[derive(Debug)]
pub struct Answer {
    operation: &'static str,
    /// The exit code. Absent if a signal ended git.
    pub code: Option<i32>,
    /// The standard output.
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Whether output beyond the limit was dropped.
    pub is_cut: bool,
}

impl Git {
    /// Finds git; `None` if it is missing. Searches for repositories begin in `directory`.
    ///
    /// # Errors
    /// Fails if the only git is where agents can write, the gate refuses git, or the program cannot be opened.
    pub fn find(programs: &OwnPrograms, directory: &Path) -> Result<Option<Git>, GitError> {
        let path = match programs.find("git") {
            OwnProgram::Found(path) => path,
            OwnProgram::Writable(path) => return Err(GitError::Writable { path }),
            OwnProgram::Missing => return Ok(None),
        };
        let path_variable = programs.path_variable().to_owned();
        let start = plan_start(StartFacts {
            purpose: StartPurpose::Git,
            is_broken: false,
            command: Some("git"),
            directory: directory.to_owned(),
            directory_fact: DirectoryFact::Present,
            program: StartProgram::Found { path, sha256: None },
            home: None,
            decision: None,
            refuses_inline_code: None,
            unbound: Vec::new(),
            files: BTreeMap::new(),
            data: Vec::new(),
            bindings: BTreeMap::new(),
        })
        .map_err(GitError::Refused)?;
        let unreadable = |error: io::Error| {
            FsError::new(
                "open",
                start.program().to_string_lossy(),
                FsErrorKind::Other { kind: error.kind(), text: error.to_string() },
            )
        };
        let program = Program::open(start.program()).map_err(unreadable)?;
        Ok(Some(Git { start, program, path_variable, starts: AtomicU64::new(0) }))
    }

    /// Fails if git is too old.
    ///
    /// # Errors
    /// Fails if the version is too old or cannot be read.
    pub fn check_version(&self) -> Result<(), GitError> {
        let answer = self.order("version").run()?;
        let text = answer.text()?;
        let mut numbers = text.trim_start_matches("git version ").split(['.', ' ']).map(str::parse::<u32>);
        let version = (numbers.next().and_then(Result::ok), numbers.next().and_then(Result::ok));
        if let (Some(major), Some(minor)) = version
            && OLDEST <= (major, minor)
        {
            return Ok(());
        }
        let (major, minor) = OLDEST;
        let message = format!("{major}.{minor} or newer is needed, and this is {}", text.trim());
        Err(GitError::Failed { operation: "version", message })
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        self.start.program()
    }

    /// Returns how many times git was started.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Creates a git command.
    pub fn order(&self, operation: &'static str) -> GitCommand<'_> {
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let environment = BTreeMap::from([
            (OsString::from("PATH"), self.path_variable.clone()),
            variable("LC_ALL", "C"),
            variable("GIT_CONFIG_NOSYSTEM", "1"),
            variable("GIT_CONFIG_SYSTEM", "/dev/null"),
            variable("GIT_CONFIG_GLOBAL", "/dev/null"),
            variable("GIT_ATTR_NOSYSTEM", "1"),
            variable("GIT_TERMINAL_PROMPT", "0"),
            variable("GIT_OPTIONAL_LOCKS", "0"),
            variable("GIT_NO_REPLACE_OBJECTS", "1"),
            variable("GIT_GRAFT_FILE", "/dev/null"),
            variable("GIT_NO_LAZY_FETCH", "1"),
            variable("GIT_LITERAL_PATHSPECS", "1"),
            variable("GIT_ASKPASS", "/bin/false"),
            variable("SSH_ASKPASS", "/bin/false"),
            variable("GIT_EDITOR", "/bin/false"),
            variable("GIT_PAGER", "cat"),
        ]);
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        GitCommand {
            git: self,
            operation,
            words: Vec::new(),
            directory: self.start.directory().to_owned(),
            environment,
            settings: FIXED_SETTINGS.iter().map(pair).collect(),
            input: Input::Null,
            is_durable: false,
            confined: READING_OPERATIONS.contains(&operation).then(only_reading),
            limit: OUTPUT_LIMIT,
            largest: None,
            cancel: None,
        }
    }
}

impl GitCommand<'_> {
    /// Adds arguments.
    #[must_use]
    pub fn words<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn word(self, word: impl AsRef<OsStr>) -> Self {
        self.words([word])
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.insert(name.into(), value.as_ref().to_owned());
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.environment.remove(OsStr::new(name));
        self
    }

    /// Adds a setting. It overrides earlier values of the same name.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.settings.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn within(mut self, directory: &Path) -> Self {
        self.directory = directory.to_owned();
        self
    }

    /// Sets the git directories.
    #[must_use]
    pub fn in_dirs(mut self, git_dirs: &GitDirectories) -> Self {
        let paths = [
            ("GIT_DIR", &git_dirs.git_dir),
            ("GIT_WORK_TREE", &git_dirs.work_tree),
            ("GIT_OBJECT_DIRECTORY", &git_dirs.objects),
            ("GIT_INDEX_FILE", &git_dirs.index),
            ("GIT_SHALLOW_FILE", &git_dirs.shallow),
        ];
        for (name, path) in paths {
            if let Some(path) = path {
                self.environment.insert(name.into(), path.into());
            }
        }
        if !git_dirs.alternates.is_empty() {
            let listed: Vec<Vec<u8>> = git_dirs.alternates.iter().map(|path| quoted(path)).collect();
            let listed = OsString::from_vec(listed.join(&b':'));
            self.environment.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), listed);
        }
        if let Some(directory) = git_dirs.work_tree.as_ref().or(git_dirs.git_dir.as_ref()) {
            self.directory.clone_from(directory);
        }
        self.is_durable = git_dirs.is_durable;
        self
    }

    /// Sets the sandbox.
    #[must_use]
    pub fn confined(mut self, confined: Option<SandboxProfile>) -> Self {
        self.confined = confined;
        self
    }

    /// Lets git read every file, write none, and use no network.
    #[must_use]
    pub fn reading(self) -> Self {
        self.confined(Some(only_reading()))
    }

    /// Limits the kept output. Output beyond it is dropped.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Limits the size of files that git may write.
    #[must_use]
    pub fn largest_file(mut self, bytes: u64) -> Self {
        self.largest = Some(bytes);
        self
    }

    /// Ends the command when the token is cancelled.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Option<CancelToken>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Runs git, and fails unless it exits with 0.
    ///
    /// # Errors
    /// Fails if git fails or cannot be run.
    pub fn run(self) -> Result<Answer, GitError> {
        self.ask()?.succeeded()
    }

    /// Runs git, with any exit code.
    ///
    /// # Errors
    /// Fails if git cannot be run.
    pub fn ask(self) -> Result<Answer, GitError> {
        let mut stdout = Vec::new();
        let mut answer = self.stream(&mut |bytes| {
            stdout.extend_from_slice(bytes);
            Ok(())
        })?;
        answer.stdout = stdout;
        Ok(answer)
    }

    /// Runs git, and passes on its output while it runs.
    ///
    /// # Errors
    /// Fails if git cannot be run, or `each` fails.
    pub fn stream(self, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<Answer, GitError> {
        let operation = self.operation;
        let limit = self.limit;
        let (cancel, cancel_after) = match self.cancel.clone() {
            Some(cancel) => (Some(cancel), Duration::ZERO),
            None => (CancelToken::of_signals(), time_after_signal()),
        };
        if cancel_after.is_zero() && cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(GitError::Interrupted { operation });
        }
        let directory = self.directory.clone();
        let spec = self.spec();
        let mut stderr = Vec::new();
        let mut sink = SplitSink { each, stderr: &mut stderr };
        let idle = (!REMOTE_OPERATIONS.contains(&operation)).then_some(IDLE_LIMIT);
        let timeout = Some(TIME_LIMIT);
        let control =
            Control { timeout, idle, output_cap: limit, cancel, cancel_after, ..Control::default() };
        let outcome =
            run(&spec, &mut sink, &control).map_err(|source| GitError::Run { operation, source })?;
        if outcome.cancelled() {
            SIGNAL_SEEN.get_or_init(|| Instant::now() - cancel_after);
            return Err(GitError::Interrupted { operation });
        }
        if outcome.ended_by == EndedBy::Idle {
            return Err(GitError::Waiting { operation, file: special_file_in(&directory) });
        }
        let is_cut = 0 < outcome.stdout.dropped;
        if outcome.timed_out() || (is_cut && limit == OUTPUT_LIMIT) {
            let message = if outcome.timed_out() { "it took too long" } else { "it printed too much" };
            return Err(GitError::Failed { operation, message: message.to_owned() });
        }
        let code = match outcome.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::Unknown => None,
        };
        Ok(Answer { operation, code, stdout: Vec::new(), stderr, is_cut })
    }

    fn spec(self) -> Spec {
        self.git.starts.fetch_add(1, Ordering::Relaxed);
        let mut spec = Spec::new(self.git.program.clone(), self.directory);
        spec.argv = self.git.start.argv().words().iter().map(Into::into).collect();
        spec.argv.push(self.operation.into());
        spec.argv.extend(self.words);
        let durable = ("core.fsync".into(), if self.is_durable { "committed" } else { "none" }.into());
        let settings: Vec<_> = self.settings.into_iter().chain([durable]).collect();
        let mut environment = self.environment;
        environment.insert("GIT_CONFIG_COUNT".into(), settings.len().to_string().into());
        for (index, (name, value)) in settings.into_iter().enumerate() {
            environment.insert(format!("GIT_CONFIG_KEY_{index}").into(), name);
            environment.insert(format!("GIT_CONFIG_VALUE_{index}").into(), value);
        }
        spec.environment = environment.into_iter().collect();
        spec.stdin = self.input;
        spec.sandbox = self.confined;
        spec.limits.file_size = self.largest;
        spec
    }
}

/// Reads every file, writes none, and uses no network.
fn only_reading() -> SandboxProfile {
    let read = vec![PathBuf::from("/")];
    SandboxProfile { read, ..SandboxProfile::nothing(Mode::BestEffort) }
}

/// Returns how long a command may still work after a signal. The time of all commands counts.
fn time_after_signal() -> Duration {
    if CancelToken::of_signals().is_some_and(|token| token.is_cancelled()) {
        SIGNAL_SEEN.get_or_init(Instant::now);
    }
    SIGNAL_SEEN.get().map_or(TIME_AFTER_SIGNAL, |seen| TIME_AFTER_SIGNAL.saturating_sub(seen.elapsed()))
}

/// Joins the distinct lines of a message. Leaves out hints, which are for people who type git commands.
fn distinct_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if !line.is_empty() && !line.starts_with("hint:") && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("; ")
}

impl Answer {
    /// Fails unless git exited with 0.
    ///
    /// # Errors
    /// Fails if git exited with another code.
    pub fn succeeded(self) -> Result<Answer, GitError> {
        if self.code == Some(0) { Ok(self) } else { Err(self.failure()) }
    }

    /// Returns `None` if git exited with 1, which means "no". Fails unless it exited with 0 or 1.
    ///
    /// # Errors
    /// Fails if git exited with another code.
    pub fn or_no(self) -> Result<Option<Answer>, GitError> {
        if self.code == Some(1) { Ok(None) } else { self.succeeded().map(Some) }
    }

    /// Returns the error for a failed command.
    pub fn failure(&self) -> GitError {
        let message = match (distinct_lines(&self.stderr), self.code) {
            (message, Some(code)) if message.is_empty() => format!("it ended with {code}"),
            (message, None) if message.is_empty() => "it was ended by a signal".to_owned(),
            (message, _) => message,
        };
        GitError::Failed { operation: self.operation, message }
    }

    /// Returns the standard error of git.
    pub fn message(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Returns the output as text.
    ///
    /// # Errors
    /// Fails if it is not UTF-8.
    pub fn text(&self) -> Result<&str, GitError> {
        let operation = self.operation;
        std::str::from_utf8(&self.stdout).map_err(|_| GitError::Failed {
            operation,
            message: "it printed bytes that are not UTF-8".to_owned(),
        })
    }

    /// Returns the parts of an output that NUL bytes terminate.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|byte| *byte == 0).filter(|part| !part.is_empty())
    }

    /// Returns the error for an output that git should never print.
    pub fn unclear(&self) -> GitError {
        GitError::Failed { operation: self.operation, message: "it printed something unexpected".to_owned() }
    }
}

struct SplitSink<'a> {
    each: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    stderr: &'a mut Vec<u8>,
}

impl Sink for SplitSink<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Stdout => (self.each)(bytes),
            Stream::Stderr => {
                let room = MESSAGE_LIMIT.saturating_sub(self.stderr.len());
                self.stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(())
            }
        }
    }
}

/// Quotes a path for a list that is separated by colons.
fn quoted(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b':' | b'"' | b'\n' | b'\\')) {
        return bytes.to_owned();
    }
    let mut text = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_without_hints() {
        let message = b"hint: Support for grafts is deprecated\nerror: failed to push\n\nerror: failed to push\nfatal: no\n";
        assert_eq!(distinct_lines(message), "error: failed to push; fatal: no");
        assert_eq!(distinct_lines(b"hint: x\n"), "");
    }
}
