//! The checkouts of one workspace of the team, their commands, and their runners.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::repository::{Failure, write_file};

/// How long a command or a state may take on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// How long a condition is not asked for again.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

const POLICY: &str = r#"allowed_families = ["script"]
allowed_effects = ["local-read"]
max_timeout = 60
"#;

const CATALOG: &str = r#"[[tool]]
id = "tool"
name = "Tool"
family = "script"
command = "sh bin/tool.sh"
source_path = "docs/tool.md"
input_schema_path = "tool.json"
permissions = ["read-files"]
effects = ["local-read"]
approval_mode = "on-request"
timeout = 30

[tool.argument_template]
pace = "{pace}"
"#;

/// Notes the run outside of the queue, and takes the time that the arguments want.
const TOOL: &str = r#"echo "$BRIGADE_TOOL_RUN_ID" >> ran.txt
case "$1" in *long*) sleep 2.3 ;; *middle*) sleep 0.6 ;; esac
"#;

/// A checkout of one account.
#[derive(Clone)]
pub struct Checkout {
    binary: PathBuf,
    pub root: PathBuf,
    home: PathBuf,
    /// The name of the host.
    host: String,
}

/// What a command answered.
pub struct Answer {
    pub code: Option<i32>,
    pub text: String,
}

impl Answer {
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Returns the document, if the command succeeded.
    pub fn expect(self, what: &str) -> Result<Value, Failure> {
        if self.code == Some(0) {
            return Ok(self.document());
        }
        Err(Failure::new(format!("{what} ended with {:?}: {}", self.code, self.text)))
    }
}

impl Checkout {
    /// Makes a checkout.
    pub fn new(binary: &Path, root: PathBuf, home: PathBuf, host: &str) -> Result<Checkout, Failure> {
        for (path, text) in [
            (".brigade/tools/policy.toml", POLICY),
            (".brigade/tools.toml", CATALOG),
            ("bin/tool.sh", TOOL),
            ("docs/tool.md", "# Tool\n"),
            ("tool.json", r#"{"type":"object"}"#),
        ] {
            write_file(&root.join(path), text)?;
        }
        fs::create_dir_all(&home).map_err(Failure::at(&home))?;
        Ok(Checkout { binary: binary.to_owned(), root, home, host: host.to_owned() })
    }

    /// Joins the team.
    pub fn join(&self, url: &str, workspace: &str) -> Result<(), Failure> {
        let words = ["team", "join", "--url", url, "--workspace", workspace, "--accept-roster"];
        self.run(&words, "")?.expect("team join").map(|_| ())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).current_dir(&self.root).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", &self.home).env("HOSTNAME", &self.host);
        command
    }

    /// Runs a command with JSON output.
    pub fn run(&self, words: &[&str], input: &str) -> Result<Answer, Failure> {
        let mut command = self.command(words);
        command.args(["--json", "--lock-timeout", "5"]);
        let name = format!("{words:?}");
        let output = self.root.join(".answer");
        let file = File::create(&output).map_err(Failure::at(&output))?;
        let errors = file.try_clone().map_err(Failure::at(&output))?;
        command.stdin(Stdio::piped()).stdout(file).stderr(errors);
        let mut child = command.spawn().map_err(Failure::at(&self.binary))?;
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input.as_bytes());
        }
        let status = await_end(&mut child).ok_or_else(|| {
            let _ = child.kill();
            Failure::new(format!("{name} did not end"))
        })?;
        let text = fs::read_to_string(&output).map_err(Failure::at(&output))?;
        if matches!(status, Some(0..=3)) {
            return Ok(Answer { code: status, text });
        }
        Err(Failure::new(format!("{name} ended with {status:?}: {text}")))
    }

    /// Lists the runs that the tool noted.
    pub fn ran(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("ran.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Waits for a process, and returns its exit code, if it has one.
fn await_end(child: &mut Child) -> Option<Option<i32>> {
    until(DEADLINE, || child.try_wait().ok().flatten().map(|status| status.code()))
}

/// Waits until `look` returns a value, or the time is over.
pub fn until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        let is_over = end < Instant::now();
        if let Some(value) = look() {
            return Some(value);
        }
        if is_over {
            return None;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// A runner. It is killed when it is dropped.
pub struct Runner {
    child: Child,
    events: PathBuf,
}

impl Runner {
    /// Starts a runner and waits until it is ready. One that ends because the network is disturbed is started again.
    pub fn start(checkout: &Checkout) -> Result<Runner, Failure> {
        let events = checkout.root.join("events.jsonl");
        let end = Instant::now() + DEADLINE;
        loop {
            let file = File::create(&events).map_err(Failure::at(&events))?;
            let errors = checkout.root.join("runner.log");
            let errors =
                File::options().create(true).append(true).open(&errors).map_err(Failure::at(&errors))?;
            let mut command =
                checkout.command(&["team", "runner", "--events", "--lease", "2", "--parallel", "2"]);
            command.stdin(Stdio::null()).stdout(file).stderr(errors);
            let child = command.spawn().map_err(Failure::at(&checkout.binary))?;
            let mut runner = Runner { child, events: events.clone() };
            let ready = until(DEADLINE, || {
                let text = fs::read_to_string(&events).unwrap_or_default();
                let is_ready = text.contains("\"event\":\"ready\"") || text.contains("\"event\": \"ready\"");
                (is_ready || !runner.is_alive()).then_some(is_ready)
            });
            match ready {
                Some(true) => return Ok(runner),
                Some(false) if Instant::now() < end => {}
                _ => return Err(Failure::new("a runner does not become ready")),
            }
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills the keeper of one of its runs. Returns whether there was one.
    pub fn kill_keeper(&self) -> bool {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let tasks = fs::read_dir(tasks).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let first = children.collect::<String>();
        let pid = first.split_whitespace().find_map(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }

    /// Asks it to stop, and checks that it does.
    pub fn stop(mut self) -> Result<(), Failure> {
        self.signal(Signal::TERM);
        match await_end(&mut self.child) {
            Some(Some(0)) => Ok(()),
            code => Err(Failure::new(format!("a runner that was asked to stop ended with {code:?}"))),
        }
    }

    /// Returns all events.
    pub fn events(&self) -> String {
        fs::read_to_string(&self.events).unwrap_or_default()
    }

    /// Returns the last events, for the report of a failure.
    pub fn last_events(&self) -> String {
        let text = self.events();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Lists processes of runs below a directory: they have the id of a run, and work there.
pub fn processes_of_runs(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let path = entry.path();
        let is_there = fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        let environment =
            if is_there { fs::read(path.join("environ")).unwrap_or_default() } else { Vec::new() };
        let mark = b"BRIGADE_TOOL_RUN_ID=";
        if environment.windows(mark.len()).any(|part| part == mark) {
            let line = fs::read(path.join("cmdline")).unwrap_or_default();
            found.push(format!("{} {}", path.display(), String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}
