//! Runs the real binary with a clean environment, captured output and a timeout.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use std::os::unix::process::{CommandExt, ExitStatusExt};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::TempWorkspace;

/// The default timeout of a command.
///
/// Generous, because it only has to catch commands that hang, even on a busy machine.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the output may stay open after the command has ended, because a descendant still holds it.
const DRAIN: Duration = Duration::from_secs(10);

/// Runs `brigade` in one workspace.
///
/// The environment contains only PATH, a temporary HOME and the variables set by [`env`](Brigade::env). The current
/// directory is the workspace, and standard input is empty.
#[derive(Clone, Debug)]
pub struct Brigade {
    program: PathBuf,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    input: Arc<[u8]>,
    timeout: Duration,
}

/// Returns whether this process ignores a signal that ends programs, as in a background job. Its children inherit that.
fn ignores_signals() -> bool {
    const HUP_INT_TERM: u64 = 1 | 1 << 1 | 1 << 14;
    static IGNORES: OnceLock<bool> = OnceLock::new();
    *IGNORES.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
        u64::from_str_radix(mask.trim(), 16).unwrap_or_default() & HUP_INT_TERM != 0
    })
}

impl Brigade {
    /// Prepares to run the binary of this build (see [`brigade_binary`]) in a workspace.
    pub fn new(workspace: &TempWorkspace) -> Brigade {
        Brigade::for_program(brigade_binary(), workspace)
    }

    /// Prepares to run another program in the same way.
    pub fn for_program(program: impl Into<PathBuf>, workspace: &TempWorkspace) -> Brigade {
        Brigade {
            program: program.into(),
            directory: workspace.path().to_owned(),
            environment: vec![
                ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
                ("HOME".into(), workspace.home().into()),
            ],
            input: Arc::default(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets an environment variable of the program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Brigade {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Changes the current directory of the program, relative to the workspace.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Brigade {
        self.directory.push(directory);
        self
    }

    /// Sets the standard input of the program.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Brigade {
        self.input = bytes.into().into();
        self
    }

    /// Changes the timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Brigade {
        self.timeout = timeout;
        self
    }

    /// Returns the command without running it, for tests that need the child process (to signal it, or to close its
    /// pipes).
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        if ignores_signals() {
            command = Command::new("/usr/bin/env");
            command.arg("--default-signal=HUP,INT,TERM").arg(&self.program);
        }
        command.args(args).current_dir(&self.directory).env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).process_group(0);
        command
    }

    /// Runs the program until it ends.
    ///
    /// Panics and kills the program with its process group on a timeout. Also panics if a process that it started keeps
    /// the output open.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        let mut command = self.command(args);
        let line = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot run {line}: {e}"));
        let group = Pid::from_child(&child);

        let mut stdin = child.stdin.take().expect("was piped");
        let input = Arc::clone(&self.input);
        // A program may end without reading its input, so a broken pipe is not an error.
        thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = collect(child.stdout.take().expect("was piped"));
        let stderr = collect(child.stderr.take().expect("was piped"));

        let Ok(status) = wait(child).recv_timeout(self.timeout) else {
            let _ = kill_process_group(group, Signal::KILL);
            let so_far = |stream: &Receiver<Vec<u8>>| text(&stream.recv_timeout(DRAIN).unwrap_or_default());
            panic!(
                "{line}\nstill ran after {:?}\nstdout: {}\nstderr: {}",
                self.timeout,
                so_far(&stdout),
                so_far(&stderr)
            );
        };
        let finish = |stream: Receiver<Vec<u8>>, name| {
            stream.recv_timeout(DRAIN).unwrap_or_else(|_| {
                let _ = kill_process_group(group, Signal::KILL);
                panic!("{line}\nended, but something it started still holds its {name}")
            })
        };
        Run { stdout: finish(stdout, "stdout"), stderr: finish(stderr, "stderr"), command: line, status }
    }
}

/// Reads a stream to its end in a separate thread.
fn collect(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // On an error, the test still wants what was read before it.
        let _ = stream.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Waits for the child in a separate thread, so that the caller can use a timeout.
fn wait(mut child: Child) -> Receiver<ExitStatus> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(status);
        }
    });
    receiver
}

/// The output of a program and how it ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub status: ExitStatus,
    /// The command line, for messages.
    command: String,
}

impl Run {
    /// Returns the exit code, or `None` if a signal ended the program.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Returns standard output, which must be UTF-8.
    #[track_caller]
    pub fn stdout_text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap_or_else(|_| panic!("stdout is not UTF-8\n{self}"))
    }

    /// Returns standard error, which must be UTF-8.
    #[track_caller]
    pub fn stderr_text(&self) -> String {
        String::from_utf8(self.stderr.clone()).unwrap_or_else(|_| panic!("stderr is not UTF-8\n{self}"))
    }

    /// Parses standard output as exactly one JSON document.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is not one JSON document: {e}\n{self}"))
    }

    /// Returns exit code, standard output and standard error as one normalized text, for snapshots.
    #[track_caller]
    pub fn normalized(&self) -> String {
        let code = self.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
        let both = format!("{}\n--- stderr\n{}", self.stdout_text(), self.stderr_text());
        format!("exit code: {code}\n--- stdout\n{}", crate::normalize(&both))
    }

    /// Panics with the whole output unless the program ended with this exit code.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Run {
        assert_eq!(self.code(), Some(code), "unexpected end\n{self}");
        self
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.command)?;
        match (self.code(), self.status.signal()) {
            (Some(code), _) => writeln!(f, "exit code: {code}")?,
            (None, signal) => writeln!(f, "ended by signal: {signal:?}")?,
        }
        write!(f, "stdout: {}\nstderr: {}", text(&self.stdout), text(&self.stderr))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the binary `brigade` that Cargo built for this test.
///
/// Only integration tests of the package `brigade-cli` have one. The variable `BRIGADE_BIN` names another binary
/// instead.
pub fn brigade_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let named = std::env::var_os("BRIGADE_BIN").or_else(|| std::env::var_os("CARGO_BIN_EXE_brigade"));
        let path = named.expect("cargo runs the tests of the binary, or BRIGADE_BIN names one");
        std::path::absolute(path).expect("the path of the binary is not empty")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expect: (Option<i32>, &str, &str)) {
        let run = Brigade::for_program("sh", &TempWorkspace::empty()).input("in").run(["-c", script]);
        assert_eq!((run.code(), &*run.stdout_text(), &*run.stderr_text()), expect);
    }

    #[test]
    fn output_and_end_are_captured() {
        check("cat; echo err >&2; exit 3", (Some(3), "in", "err\n"));
        check("kill -9 $$", (None, "", ""));
    }

    #[test]
    fn a_program_may_ignore_its_input() {
        let run =
            Brigade::for_program("true", &TempWorkspace::empty()).input(vec![b'x'; 1 << 20]).run([""; 0]);
        assert_eq!(run.code(), Some(0));
    }

    #[test]
    fn the_environment_is_not_inherited() {
        let workspace = TempWorkspace::empty();
        let run = Brigade::for_program("env", &workspace).env("EXTRA", "1").run([""; 0]);
        let text = run.stdout_text();
        let mut names: Vec<_> = text.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["EXTRA", "HOME", "PATH"]);
    }

    #[test]
    #[should_panic(expected = "still ran after")]
    fn a_program_that_hangs_fails_the_test() {
        Brigade::for_program("sleep", &TempWorkspace::empty())
            .timeout(Duration::from_millis(100))
            .run(["600"]);
    }

    #[test]
    fn a_run_is_one_text() {
        let run =
            Brigade::for_program("sh", &TempWorkspace::empty()).run(["-c", "pwd; echo err >&2; exit 1"]);
        assert_eq!(run.normalized(), "exit code: 1\n--- stdout\n[WORKSPACE]\n\n--- stderr\nerr\n");
    }

    #[test]
    fn json_is_one_document() {
        let run = Brigade::for_program("echo", &TempWorkspace::empty()).run([r#"{"a":1}"#]);
        assert_eq!(run.json()["a"], 1);
    }
}
