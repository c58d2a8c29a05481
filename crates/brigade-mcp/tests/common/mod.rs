//! Shared by the tests: one exchange with the misbehaving server of the fixtures.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at processes and files itself, and fails when it cannot continue"
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use brigade_call::{Receipt, RunStatus};
use brigade_core::Json;
use brigade_mcp::{
    Exchange, Listener, McpErrorKind, McpRequest, Pin, PinRule, ServerExit, call_tool, list_tools,
};
use brigade_process::{CancelToken, Control, Program, Spec, Stream};
use brigade_redact::{Redactor, SecretValue};

/// Returns a receipt to complete.
pub fn receipt() -> Receipt {
    Receipt::new("run-1".parse().unwrap(), "call-1".parse().unwrap(), RunStatus::Completed)
}

/// Requests to a test server, and their results.
pub struct Trial {
    pub faults: Vec<String>,
    pub tool: &'static str,
    pub arguments: Json,
    pub listener: Option<Listener>,
    pub pin: Option<Pin>,
    pub timeout: Option<Duration>,
    pub cancel: Option<CancelToken>,
    /// The line of standard error at which the token is triggered.
    pub cancel_at: Option<&'static str>,
    pub cap: u64,
    pub secrets: Vec<SecretValue>,
    pub spec: Spec,
    mark: String,
}

/// The result of a trial.
pub struct ExchangeResult {
    pub exchange: Exchange,
    pub stdout: String,
    pub stderr: String,
}

/// Returns the Python that a shim on `PATH` may lead to, so that trials start fast.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let asked =
            std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        PathBuf::from(String::from_utf8(asked.unwrap().stdout).unwrap().trim())
    })
}

impl Trial {
    /// Creates a trial of the tool `echo`, with these faults.
    pub fn new(faults: &[&str]) -> Trial {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("BRIGADE_TRIAL={}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let (name, value) = mark.split_once('=').unwrap();
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mcp/server.py");
        let mut spec = Spec::new(Program::at(python()), "/");
        spec.argv = vec![python().into(), "-S".into(), "-E".into(), server.into()];
        spec.argv.extend(faults.iter().map(Into::into));
        spec.environment = vec![("PATH".into(), "/usr/bin:/bin".into()), (name.into(), value.into())];
        Trial {
            faults: faults.iter().map(|&fault| fault.to_owned()).collect(),
            tool: "echo",
            arguments: Json::object([("text", Json::from("hello"))]),
            listener: None,
            pin: None,
            timeout: Some(Duration::from_secs(60)),
            cancel: None,
            cancel_at: None,
            cap: 16 << 20,
            secrets: Vec::new(),
            spec,
            mark,
        }
    }

    /// Requests another tool, without arguments.
    pub fn tool(mut self, name: &'static str) -> Trial {
        self.tool = name;
        self.arguments = Json::object::<&str>([]);
        self
    }

    pub fn arguments(mut self, text: &str) -> Trial {
        self.arguments = Json::parse(text).unwrap();
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Trial {
        self.timeout = Some(timeout);
        self
    }

    pub fn request(&self) -> McpRequest<'_> {
        McpRequest {
            server_id: "misbehaving",
            tool_name: self.tool,
            arguments: &self.arguments,
            reads: None,
            pin: self.pin.as_ref().map_or(PinRule::None, PinRule::Holds),
            listener: self.listener.as_ref(),
            idle_timeout: None,
        }
    }

    pub fn redactor(&self) -> Redactor {
        Redactor::new(&self.secrets)
    }

    /// Calls the tool. Fails if a process of the server is left.
    #[track_caller]
    pub fn call(&self) -> ExchangeResult {
        self.run(|sink, control| call_tool(&self.spec, sink, control, &self.request(), &self.redactor()))
    }

    /// Lists the tools.
    #[track_caller]
    pub fn list(&self) -> ExchangeResult {
        self.run(|sink, control| list_tools(&self.spec, sink, control, &self.redactor()))
    }

    #[track_caller]
    fn run(
        &self,
        speak: impl FnOnce(&mut dyn brigade_process::Sink, &Control) -> Exchange,
    ) -> ExchangeResult {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut sink = |stream: Stream, bytes: &[u8]| {
            match stream {
                Stream::Stdout => stdout.extend_from_slice(bytes),
                Stream::Stderr => stderr.extend_from_slice(bytes),
            }
            let stderr = String::from_utf8_lossy(&stderr);
            if let (Some(token), Some(line)) = (&self.cancel, self.cancel_at)
                && stderr.lines().any(|seen| seen == line)
            {
                token.cancel();
            }
            Ok(())
        };
        let control = Control {
            timeout: self.timeout,
            cancel: self.cancel.clone(),
            output_cap: self.cap,
            ..Control::default()
        };
        let exchange = speak(&mut sink, &control);
        assert_eq!(living(&self.mark), Vec::<String>::new(), "{:?} left something", self.faults);
        ExchangeResult {
            exchange,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }
}

impl ExchangeResult {
    pub fn kind(&self) -> Option<McpErrorKind> {
        self.exchange.fault.as_ref().map(|fault| fault.kind)
    }

    pub fn message(&self) -> &str {
        self.exchange.fault.as_ref().map_or("", |fault| fault.message.as_str())
    }

    #[track_caller]
    pub fn summary(&self) -> &str {
        assert_eq!(self.message(), "");
        &self.exchange.answer.as_ref().expect("there is an answer").summary
    }

    pub fn exit(&self) -> Option<ServerExit> {
        self.exchange.exit
    }
}

/// Returns the states of living processes that were started with this `NAME=value`.
fn living(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&b| b == 0).any(|pair| pair == mark.as_bytes()) {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            if !stat.is_empty() && !stat.contains(") Z ") {
                found.push(stat);
            }
        }
    }
    found
}
