//! A workspace with a PRD and a fake worker, and a pseudo-terminal to follow it.

use std::process::{Command, Stdio};
use std::time::Duration;

use brigade_testkit::fixtures;
use serde_json::{Value, json};

use crate::Site;

/// The time limit of a service on a busy machine.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(240);

/// The PRD of a [`Service`].
pub const PRD: &str = "brigade/tasks/prd-add-auth.json";

/// A workspace whose worker is `fixtures/kitchen/worker.py`.
pub struct Service {
    /// The workspace and the binary.
    pub site: Site,
}

/// The captured output of a terminal.
pub struct TerminalCapture {
    /// The exit code; negative for a signal.
    pub code: i64,
    /// The captured screens, by name.
    screens: Value,
    /// The final screen, including lines that scrolled away.
    pub screen: String,
    /// Every character that was printed.
    pub raw: String,
}

impl TerminalCapture {
    /// Returns a captured screen.
    #[track_caller]
    pub fn kept(&self, name: &str) -> &str {
        self.screens[name].as_str().unwrap_or_else(|| panic!("no screen was kept as `{name}`"))
    }
}

/// Returns a task whose verification checks that its file exists.
pub fn task(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "title": format!("Write {id}"), "acceptanceCriteria": ["the file is there"], "dependsOn": needs,
        "verification": [{"type": "unit", "cmd": format!("test -f {id}.txt")}], "complexity": "junior", "passes": false})
}

impl Service {
    /// Makes a git repository with a PRD of these tasks on a branch. `settings` are at the start of kitchen.toml.
    pub fn new(settings: &str, tasks: &[Value], rules: &Value) -> Service {
        let Site { workspace, brigade } = Site::empty();
        let site = Site { workspace, brigade: brigade.timeout(SERVICE_TIMEOUT) };
        let service = Service { site };
        service.write_prd(PRD, "feature/auth", tasks);
        service.scenario(rules);
        let worker = fixtures().join("kitchen/worker.py");
        let command = format!(
            "/usr/bin/python3 -B {} {}",
            worker.display(),
            service.site.workspace.home().join("scenario.json").display()
        );
        let is_set = settings.lines().any(|line| line.starts_with("review_enabled"));
        let review = if is_set { "" } else { "review_enabled = false\n" };
        let mut config = format!("{review}{settings}\n");
        for tier in ["line", "sous", "executive"] {
            config.push_str(&format!("[tier.{tier}]\ncommand = {command:?}\n"));
        }
        service.site.workspace.write(".brigade/kitchen.toml", config);
        service.site.workspace.git_init();
        service
    }

    /// Writes a PRD.
    pub fn write_prd(&self, path: &str, branch: &str, tasks: &[Value]) {
        let prd = json!({"featureName": "Add auth", "branchName": branch, "tasks": tasks});
        self.site.workspace.write(path, format!("{prd:#}\n"));
    }

    /// Sets the worker's scenario: rules in the format that its documentation describes. Its calls are counted.
    pub fn scenario(&self, rules: &Value) {
        let home = self.site.workspace.home();
        let text = json!({"record": home.join("calls"), "workspace": self.site.workspace.path(), "rules": rules,
            "default": [{"write": "{task}.txt", "text": "{task}\n"}, {"tag": "COMPLETE"}]});
        std::fs::write(home.join("scenario.json"), text.to_string())
            .expect("the home of a test can be written");
    }

    /// Returns how often the worker was started in a role for a task.
    pub fn starts(&self, role: &str, task: &str) -> usize {
        let calls =
            std::fs::read_dir(self.site.workspace.home().join("calls")).into_iter().flatten().flatten();
        let begin = format!("{role}-{task}.");
        calls.filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin)).count()
    }

    /// Returns the prompt of one start.
    pub fn prompt(&self, role: &str, task: &str, number: usize) -> String {
        let path = self.site.workspace.home().join(format!("calls/{role}-{task}.{number}"));
        let text = std::fs::read_to_string(path).expect("this start was recorded");
        let call: Value = serde_json::from_str(&text).expect("the worker writes JSON");
        call["prompt"].as_str().unwrap_or_default().to_owned()
    }

    /// Approves a PRD in its current state.
    #[track_caller]
    pub fn approve(&self, prd: &str) {
        let report = self.site.document(["kitchen", "validate", prd]).expect(0);
        let fingerprint = report["fingerprint"].as_str().expect("a PRD without errors has a fingerprint");
        self.site.document(["kitchen", "approve", prd, "--fingerprint", fingerprint]).expect(0);
    }

    /// Approves and serves the PRD. Returns the report of the service, which must exit with this code.
    #[track_caller]
    pub fn serve(&self, code: i32, flags: &[&str]) -> Value {
        self.approve(PRD);
        self.site.document([&["service", PRD], flags].concat()).expect(code)
    }

    /// Returns the records of the journal of the PRD.
    pub fn journal(&self) -> Vec<Value> {
        let text = self.site.workspace.read_text(".brigade/kitchen/prd-add-auth/journal.jsonl");
        text.lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
    }

    /// Runs a command on a pseudo-terminal, with these steps for `fixtures/terminal.py`.
    #[track_caller]
    pub fn on_terminal(&self, steps: &Value, words: &[&str]) -> TerminalCapture {
        self.site.on_terminal(steps, words)
    }
}

#[track_caller]
pub(crate) fn on_terminal(command: &Command, site: &Site, steps: &Value) -> TerminalCapture {
    let path = site.workspace.home().join("steps.json");
    std::fs::write(&path, steps.to_string()).expect("the home of a test can be written");
    let mut person = Command::new("/usr/bin/python3");
    person.arg("-B").arg(fixtures().join("terminal.py")).arg(&path);
    person.arg(command.get_program()).args(command.get_args()).env_clear();
    person.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    person.current_dir(command.get_current_dir().expect("the command has a directory")).stdin(Stdio::null());
    let output = person.output().expect("Python is there");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let seen: Value = serde_json::from_slice(&output.stdout).expect("the terminal prints JSON");
    let text = |name: &str| seen[name].as_str().unwrap_or_default().to_owned();
    TerminalCapture {
        code: seen["code"].as_i64().expect("the command has ended"),
        screens: seen["screens"].clone(),
        screen: text("screen"),
        raw: text("raw"),
    }
}
