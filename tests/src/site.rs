//! A workspace and the binary, with one method for each step of a call.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use brigade_cli::documents;
use brigade_testkit::{Brigade, Run, TempWorkspace};
use serde_json::{Value, json};

use crate::kitchen::{TerminalCapture, on_terminal};

/// The PATH for programs of these tests, with directories that every system has.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A policy that allows what these tests need, without a sandbox.
const POLICY: &str = r#"allowed_families = ["script"]
allowed_effects = ["local-read", "local-write", "network"]
denied_effects = ["secret-read"]
required_approval_modes = ["on-request", "always"]
max_timeout = 60
env_bindings = { GITHUB_TOKEN = "CANARY" }
"#;

/// A temporary workspace, and the binary to run in it.
pub struct Site {
    /// The workspace.
    pub workspace: TempWorkspace,
    /// The configured binary. Its PATH is [`PATH`].
    pub brigade: Brigade,
}

/// A JSON document and the exit code of its command.
pub struct Answer {
    /// The exit code.
    pub code: i32,
    /// The document on standard output.
    pub json: Value,
    /// The whole run.
    pub run: Run,
}

impl Answer {
    /// Returns the document. Fails the test unless the command exited with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Value {
        self.run.assert_code(code);
        self.json
    }

    /// Returns the document. Fails the test unless the command was refused and a text of the document contains
    /// `because`.
    #[track_caller]
    pub fn refused(self, because: &str) -> Value {
        let text = self.json.to_string();
        assert!(text.contains(because), "nothing says `{because}`\n{}", self.run);
        self.expect(1)
    }
}

impl Site {
    /// Makes a copy of `fixtures/workspaces/NAME`.
    pub fn fixture(name: &str) -> Site {
        Site::from_workspace(TempWorkspace::fixture(name))
    }

    /// Makes an empty workspace.
    pub fn empty() -> Site {
        Site::from_workspace(TempWorkspace::empty())
    }

    fn from_workspace(workspace: TempWorkspace) -> Site {
        let brigade = Brigade::new(&workspace).env("PATH", PATH);
        Site { workspace, brigade }
    }

    /// Makes a workspace with one tool, `tool`, whose command is `sh bin/tool.sh`, and a policy without a sandbox.
    ///
    /// The schema takes any object.
    pub fn script(body: &str) -> Site {
        Site::script_with(body, "")
    }

    /// Makes such a workspace, with additional lines in the entry of the tool.
    pub fn script_with(body: &str, lines: &str) -> Site {
        let site = Site::empty();
        site.workspace.write(".brigade/tools/policy.toml", POLICY);
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/tool.sh", lines));
        site.workspace.write("bin/tool.sh", body);
        site.workspace.write("docs/tool.md", "# Tool\n");
        site.workspace.write("schemas/tool.json", r#"{"type":"object"}"#);
        site.workspace.write("schemas/tool.output.json", r#"{"type":"object"}"#);
        site.workspace.write("examples/tool.json", "[]");
        site
    }

    /// Returns a catalog entry that uses the files of [`Site::script`]. Keys in `lines` replace the default ones.
    pub fn entry(id: &str, command: &str, lines: &str) -> String {
        let command = format!("{command:?}");
        let defaults = [
            ("name", "\"Tool\""),
            ("family", "\"script\""),
            ("command", &*command),
            ("source_path", "\"docs/tool.md\""),
            ("input_schema_path", "\"schemas/tool.json\""),
            ("output_schema_path", "\"schemas/tool.output.json\""),
            ("examples_path", "\"examples/tool.json\""),
            ("permissions", "[\"read-files\"]"),
            ("effects", "[\"local-read\"]"),
            ("approval_mode", "\"on-request\""),
            ("timeout", "30"),
        ];
        let mut entry = format!("[[tool]]\nid = {id:?}\n{lines}\n");
        for (key, value) in defaults {
            let is_set =
                lines.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == key));
            if !is_set {
                entry.push_str(&format!("{key} = {value}\n"));
            }
        }
        entry
    }

    /// Adds text to the end of the catalog.
    pub fn add_to_catalog(&self, text: &str) {
        let catalog = self.workspace.read_text(".brigade/tools.toml");
        self.workspace.write(".brigade/tools.toml", format!("{catalog}\n{text}"));
    }

    /// Adds text to the end of the policy.
    pub fn add_to_policy(&self, text: &str) {
        let policy = self.workspace.read_text(".brigade/tools/policy.toml");
        self.workspace.write(".brigade/tools/policy.toml", format!("{policy}\n{text}"));
    }

    /// Writes an executable file.
    pub fn write_program(&self, relative: &str, bytes: impl AsRef<[u8]>) {
        self.workspace.write(relative, bytes);
        let path = self.workspace.join(relative);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file was just written");
    }

    /// Sets a variable of the environment of `brigade`.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Site {
        self.brigade = self.brigade.env(name, value);
        self
    }

    /// Runs `brigade tools …`.
    #[track_caller]
    pub fn tools<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Run {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        self.brigade.run(std::iter::once(OsString::from("tools")).chain(words))
    }

    /// Records that a person reviewed these tools and programs, so that rules cover them.
    #[track_caller]
    pub fn trust<'t>(&self, things: impl IntoIterator<Item = &'t str>) {
        self.tools(["trust"].into_iter().chain(things).chain(["--yes"])).assert_code(0);
    }

    /// Runs `brigade tools … --json`, and checks that its type writes the same document, byte by byte.
    #[track_caller]
    pub fn json<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Answer {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        self.document(std::iter::once(OsString::from("tools")).chain(words))
    }

    /// Runs `brigade … --json`, and checks that its type writes the same document, byte by byte.
    #[track_caller]
    pub fn document<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Answer {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        let run = self.brigade.run(words.chain([OsString::from("--json")]));
        let json = run.json();
        documents::check(&run.stdout_text()).unwrap_or_else(|problems| panic!("{problems}\n{run}"));
        let code = run.code().unwrap_or_else(|| panic!("ended by a signal\n{run}"));
        assert!(matches!(code, 0..=3 | 30..=34 | 130), "an unexpected exit code\n{run}");
        Answer { code, json, run }
    }

    /// Runs a command on a pseudo-terminal, with these steps for `fixtures/terminal.py`.
    #[track_caller]
    pub fn on_terminal(&self, steps: &Value, words: &[&str]) -> TerminalCapture {
        on_terminal(&self.brigade.command(words), self, steps)
    }

    /// Queues a call and returns its id.
    #[track_caller]
    pub fn queue(&self, tool: &str, args: &str) -> String {
        let answer = self.json(["call", "queue", tool, "--args", args]);
        assert_eq!(answer.json["created"], 1, "{}", answer.run);
        answer.expect(0)["call"]["id"].as_str().expect("a call has an id").to_owned()
    }

    /// Queues and approves a call, and returns its id.
    #[track_caller]
    pub fn approved(&self, tool: &str, args: &str) -> String {
        let id = self.queue(tool, args);
        self.json(["call", "approve", &id]).expect(0);
        id
    }

    /// Runs an approved call.
    #[track_caller]
    pub fn run_call(&self, id: &str) -> Answer {
        self.json(["call", "run", id])
    }

    /// Queues, approves and runs a call. Returns its receipt, whether it succeeded or not.
    #[track_caller]
    pub fn receipt_of(&self, tool: &str, args: &str) -> Value {
        let id = self.approved(tool, args);
        let answer = self.run_call(&id);
        assert!(answer.json["receipt"].is_object(), "no receipt\n{}", answer.run);
        answer.json["receipt"].clone()
    }

    /// Runs a call of `tool` with `what` as its argument `a`. Checks that it completed, and the last line of its
    /// output.
    #[track_caller]
    pub fn tries(&self, what: &str, expect: &str) {
        let receipt = self.receipt_of("tool", &json!({"a": what}).to_string());
        assert_eq!(receipt["status"], "completed", "{receipt:#}");
        assert_eq!(self.log_text(&receipt, "stdout").lines().last(), Some(expect), "{what}: {receipt:#}");
    }

    /// Returns the status of a call.
    #[track_caller]
    pub fn status(&self, id: &str) -> String {
        // With an invalid policy this is a refusal, which also has the stored call.
        let call = self.json(["call", "show", id]).json;
        call["call"]["status"].as_str().expect("a call has a status").to_owned()
    }

    /// Returns a log of a run.
    #[track_caller]
    pub fn log(&self, receipt: &Value, stream: &str) -> Vec<u8> {
        let path = receipt[format!("{stream}_log_path")].as_str().expect("a receipt names its logs");
        fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns a log of a run that must be UTF-8.
    #[track_caller]
    pub fn log_text(&self, receipt: &Value, stream: &str) -> String {
        String::from_utf8(self.log(receipt, stream)).expect("the log is UTF-8")
    }

    /// Fails the test if any file of the workspace contains these bytes. `except` lists directories or files that may.
    #[track_caller]
    pub fn assert_nowhere(&self, secret: &[u8], except: &[&str]) {
        for (path, bytes) in self.workspace.files("") {
            let may = except.iter().any(|prefix| path.starts_with(prefix));
            let holds = !may && bytes.windows(secret.len()).any(|part| part == secret);
            assert!(!holds, "{path} holds the secret {}", String::from_utf8_lossy(secret));
        }
    }

    /// Returns a path next to the workspace, outside of it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.workspace.home().parent().expect("the home has a folder around it").join(name)
    }
}
