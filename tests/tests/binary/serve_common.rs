//! A workspace with tools for agents, and small MCP clients of `brigade serve`.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "clients start the server, talk to it themselves, and fail the test where it does not answer"
)]

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use brigade_tests::Site;
use serde_json::{Value, json};

/// The time limit of an answer on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub const POLICY: &str = ".brigade/tools/policy.toml";

pub const GATEWAY: &str = ".brigade/tools/gateway.toml";

pub const CATALOG: &str = ".brigade/tools.toml";

/// A value that the policy binds.
pub const BOUND: &str = "canary-bound-4711-value";

/// A policy with a rule for the reading tools `at-once` and `read-*`.
const RULES: &str = r#"allowed_families = ["script", "mcp"]
allowed_effects = ["local-read", "local-write"]
denied_effects = ["secret-read"]
required_approval_modes = ["on-request", "always"]
max_timeout = 120
env_bindings = { GITHUB_TOKEN = "CANARY" }

[[auto_approve]]
name = "reads"
tools = ["at-once", "read-*"]
effects = ["local-read"]
"#;

/// Returns an entry with the script `bin/ID.sh`, which takes a `text`.
pub fn entry(id: &str, lines: &str) -> String {
    format!(
        "[[tool]]\nid = {id:?}\nname = \"Tool {id}\"\ndescription = \"Does {id}.\"\nfamily = \"script\"\n\
         command = \"sh bin/{id}.sh\"\ninput_schema_path = \"schemas/text.json\"\n\
         argument_template = {{ text = \"{{text}}\" }}\napproval_mode = \"on-request\"\n{}{}{lines}\n\n",
        if lines.contains("effects") { "" } else { "effects = [\"local-read\"]\n" },
        if lines.contains("timeout") { "" } else { "timeout = 60\n" },
    )
}

/// Adds a tool with this script.
pub fn add(site: &Site, id: &str, lines: &str, script: &str) {
    site.workspace.write(format!("bin/{id}.sh"), script);
    site.add_to_catalog(&entry(id, lines));
    if id == "at-once" || id.starts_with("read-") {
        site.trust([id]);
    }
}

/// Records that a person reviewed all tools of the rule, because it covers only these.
pub fn trust_reads(site: &Site) {
    let catalog = site.workspace.read_text(CATALOG);
    let ids = catalog.lines().filter_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"'));
    site.trust(ids.filter(|id| id.starts_with("read-")));
}

/// Returns a workspace with the tools `at-once`, which a rule approves, and `asks`, which waits for a person. Both
/// count their runs and print their text. The agents are `local`, `ann` and `ben`.
pub fn site() -> Site {
    let site = Site::empty().env("CANARY", BOUND);
    site.workspace.write(POLICY, RULES);
    site.workspace.write(CATALOG, "");
    site.workspace.write(
        "schemas/text.json",
        r#"{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}"#,
    );
    let script = "echo x >> \"$(basename \"$0\").ran\"\nprintf 'said %s' \"$1\"\n";
    add(&site, "at-once", "", script);
    add(&site, "asks", "", script);
    agents(&site, "");
    site
}

/// Writes gateway.toml with the agents `local`, `ann` and `ben`. `lines` apply to `local`.
pub fn agents(site: &Site, lines: &str) {
    let text = format!(
        "[[agent]]\nname = \"ann\"\n\n[[agent]]\nname = \"ben\"\n\n[[agent]]\nname = \"local\"\n{lines}"
    );
    site.workspace.write(GATEWAY, text);
}

/// Gives an agent a new token, and returns it.
#[track_caller]
pub fn token(site: &Site, agent: &str) -> String {
    let document = site.json(["agent", "rotate", agent]).expect(0);
    document["token"].as_str().expect("the token is printed once").to_owned()
}

/// Returns how often a tool ran.
pub fn runs(site: &Site, id: &str) -> usize {
    let file = format!("{id}.sh.ran");
    if site.workspace.exists(&file) { site.workspace.read_text(&file).lines().count() } else { 0 }
}

/// Returns the `_meta` of a result about its call.
pub fn about(result: &Value) -> &Value {
    &result["_meta"]["brigade/call"]
}

/// Returns the id of the call of a result.
#[track_caller]
pub fn id_of(result: &Value) -> String {
    about(result)["id"].as_str().unwrap_or_else(|| panic!("no call id: {result:#}")).to_owned()
}

/// Returns the status and the code of a result.
pub fn stands(result: &Value) -> (String, String) {
    let text = |key: &str| about(result)[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("code"))
}

/// Returns all text of a result.
pub fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Calls a tool that must complete immediately, and returns its structured result.
#[track_caller]
pub fn done(client: &mut Client, tool: &str, args: Value) -> Value {
    let answer = client.call(tool, args);
    assert_stands(&answer, "completed", "");
    answer["structuredContent"].clone()
}

#[track_caller]
pub fn assert_stands(result: &Value, status: &str, code: &str) {
    assert_eq!(stands(result), (status.to_owned(), code.to_owned()), "{result:#}");
}

/// Returns the parameters of a request of 2026-07-28.
pub fn late(params: Value, capabilities: Value) -> Value {
    let mut params = params;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}

pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "no process {pid}");
}

/// A client over standard input and output.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Arc<Mutex<String>>,
    kept: Vec<Value>,
    next: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Collects a stream, which can be read at any time.
fn collected(mut stream: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let said = Arc::new(Mutex::new(String::new()));
    let all = said.clone();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count) = stream.read(&mut piece)
            && 0 < count
        {
            all.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    });
    said
}

impl Client {
    /// Starts `brigade serve` with these arguments.
    pub fn start(site: &Site, words: &[&str]) -> Client {
        let mut command = site.brigade.command(["serve"].iter().chain(words));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let output = BufReader::new(child.stdout.take().expect("was piped"));
        let said = collected(child.stderr.take().expect("was piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Client { child, input, lines, said, kept: Vec::new(), next: 0 }
    }

    /// Starts the server and performs the handshake.
    #[track_caller]
    pub fn connect(site: &Site, agent: &str) -> Client {
        let mut client = Client::start(site, &["--as", agent]);
        client.hello("2025-11-25", json!({}));
        client
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the server's standard error so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Performs the handshake, and returns the result.
    #[track_caller]
    pub fn hello(&mut self, revision: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.ask("initialize", params);
        self.tell("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    /// Writes one raw line.
    #[track_caller]
    pub fn write(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("the input is open");
        let written = input.write_all(line.as_ref()).and_then(|()| input.write_all(b"\n"));
        written.and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: Value) {
        self.write(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request, and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.write(message.to_string());
        self.next
    }

    fn line(&self, patience: Duration) -> Option<Value> {
        let line = self.lines.recv_timeout(patience).ok()?;
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("standard output holds no message: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }

    /// Returns the next matching message, and keeps the others.
    #[track_caller]
    fn fitting(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.kept.iter().position(&fits) {
            return self.kept.remove(place);
        }
        let until = Instant::now() + ANSWER_TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Some(message) = self.line(left) else {
                panic!("no {what}; it said: {}\nkept: {:#?}", self.said(), self.kept)
            };
            if fits(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    /// Returns the next message.
    #[track_caller]
    pub fn message(&mut self) -> Value {
        self.fitting("message", |_| true)
    }

    /// Returns the next raw line.
    #[track_caller]
    pub fn raw(&mut self) -> String {
        self.lines
            .recv_timeout(ANSWER_TIMEOUT)
            .unwrap_or_else(|_| panic!("no line; it said: {}", self.said()))
    }

    /// Returns the whole answer to a request.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        let is_answer = |message: &Value| message.get("method").is_none() && message["id"] == json!(id);
        self.fitting(&format!("answer to {id}"), is_answer)
    }

    /// Returns the next request or notification of the server with this method.
    #[track_caller]
    pub fn heard(&mut self, method: &str) -> Value {
        self.fitting(method, |message| message["method"] == method)
    }

    /// Returns how many messages with this method were received, without waiting.
    pub fn count(&mut self, method: &str) -> usize {
        self.received();
        self.kept.iter().filter(|message| message["method"] == method).count()
    }

    /// Returns how many messages came that no test has taken yet. Does not wait.
    pub fn received(&mut self) -> usize {
        while let Some(message) = self.line(Duration::ZERO) {
            self.kept.push(message);
        }
        self.kept.len()
    }

    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Sends a call without waiting for its result.
    pub fn send_call(&mut self, name: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Calls a tool, and returns the result.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.send_call(name, arguments);
        self.result(id)
    }

    /// Returns the result of a request.
    #[track_caller]
    pub fn result(&mut self, id: u64) -> Value {
        let answer = self.answer(id);
        assert!(answer["result"].is_object(), "{answer:#}");
        answer["result"].clone()
    }

    /// Returns the error code of an answer.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer:#}"))
    }

    /// Returns the names on all pages of the listing.
    #[track_caller]
    pub fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.ask("tools/list", params)["result"].clone();
            let tools = page["tools"].as_array().unwrap_or_else(|| panic!("no tools: {page:#}"));
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return names,
            }
        }
    }

    /// Checks that the server still answers.
    #[track_caller]
    pub fn goes_on(&mut self) {
        let id = self.send("ping", json!({}));
        let next = self.message();
        assert_eq!((&next["id"], &next["result"]), (&json!(id), &json!({})), "{next:#}");
    }

    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Waits for the end. Returns exit code and standard error. It may take 3 s, and more on a busy machine.
    #[track_caller]
    pub fn ended(&mut self) -> (Option<i32>, String) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                break status;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "it does not end: {}", self.said());
            thread::park_timeout(Duration::from_millis(5));
        };
        // The collecting thread holds another reference until it has read everything.
        while 1 < Arc::strong_count(&self.said) && started.elapsed() < Duration::from_secs(10) {
            thread::park_timeout(Duration::from_millis(5));
        }
        (status.code(), self.said())
    }
}

/// The address of a server.
#[derive(Clone)]
pub enum Place {
    Port(String),
    Socket(PathBuf),
}

/// A server over HTTP.
pub struct Server {
    child: Child,
    said: Arc<Mutex<String>>,
    /// The line that it printed on standard output.
    pub line: Value,
    pub place: Place,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response over HTTP.
#[derive(Debug)]
pub struct Http {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Http {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the last message of the body, which is JSON or an event stream.
    #[track_caller]
    pub fn message(&self) -> Value {
        let events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let last = events.rev().find(|data| data.trim().starts_with('{')).unwrap_or(&self.body);
        serde_json::from_str(last.trim()).unwrap_or_else(|_| panic!("no message: {self:?}"))
    }
}

impl Server {
    /// Starts `brigade serve` with these arguments for its address.
    #[track_caller]
    pub fn start(site: &Site, words: &[&str]) -> Server {
        let mut command = site.brigade.command(["serve"].iter().chain(words));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let said = collected(child.stderr.take().expect("was piped"));
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("was piped"))
            .read_line(&mut line)
            .expect("it writes a line");
        let line: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("no document: {line:?} {}", said.lock().unwrap()));
        let place = match line["address"].as_str() {
            Some(address) => {
                Place::Port(address.trim_start_matches("http://").trim_end_matches("/mcp").to_owned())
            }
            None => Place::Socket(line["socket"].as_str().unwrap_or_default().into()),
        };
        Server { child, said, line, place }
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, and returns the exit code.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status.code();
            }
            assert!(started.elapsed() < Duration::from_secs(10), "it does not end");
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

impl Place {
    /// Opens a connection and sends these bytes.
    pub fn begin(&self, bytes: &[u8]) -> Box<dyn Read + Send> {
        let mut stream = self.open();
        stream.write_all(bytes).expect("the server reads");
        stream
    }

    fn open(&self) -> Box<dyn Stream> {
        match self {
            Place::Port(address) => {
                let stream = TcpStream::connect(address).expect("the server listens");
                stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
                Box::new(stream)
            }
            Place::Socket(path) => {
                let stream = UnixStream::connect(path).expect("the server listens");
                stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
                Box::new(stream)
            }
        }
    }

    /// Sends raw bytes, and reads until the server closes.
    #[track_caller]
    pub fn raw(&self, bytes: &[u8]) -> Http {
        let mut stream = self.open();
        // A server that refuses early may close before everything is written.
        let _ = stream.write_all(bytes);
        let mut whole = Vec::new();
        let _ = stream.read_to_end(&mut whole);
        parsed(&whole)
    }

    /// Sends a request. Headers in `given` replace the default ones. An empty value omits a header.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, given: &[(&str, &str)], body: &str) -> Http {
        let length = body.len().to_string();
        let usual = [
            ("Host", "127.0.0.1"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Content-Length", &length),
            ("Connection", "close"),
        ];
        let is_given = |name: &str| given.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let rows = usual.iter().filter(|(name, _)| !is_given(name)).chain(given);
        for (name, value) in rows.filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(format!("{head}\r\n{body}").as_bytes())
    }
}

fn parsed(whole: &[u8]) -> Http {
    let text = String::from_utf8_lossy(whole).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { dechunked(body.as_bytes()) } else { body.to_owned() };
    Http { status, head: head.to_owned(), body }
}

fn dechunked(mut rest: &[u8]) -> String {
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok()).unwrap_or_default();
        let from = end + 2;
        let Some(piece) = rest.get(from..from + size).filter(|_| 0 < size) else { break };
        whole.extend_from_slice(piece);
        rest = rest.get(from + size + 2..).unwrap_or_default();
    }
    String::from_utf8_lossy(&whole).into_owned()
}

/// One session over HTTP.
pub struct Session {
    place: Place,
    headers: Vec<(String, String)>,
    next: u64,
}

impl Session {
    /// Performs the handshake.
    #[track_caller]
    pub fn open(place: &Place, token: Option<&str>) -> Session {
        let headers = token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
        let mut session = Session { place: place.clone(), headers: headers.into_iter().collect(), next: 0 };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = session.post("initialize", params);
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.header("mcp-session-id").expect("a session has an id").to_owned();
        session.headers.push(("Mcp-Session-Id".to_owned(), id));
        session.headers.push(("MCP-Protocol-Version".to_owned(), "2025-11-25".to_owned()));
        let told = session.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(told.status, 202, "{told:?}");
        session
    }

    pub fn id(&self) -> &str {
        let id = self.headers.iter().find(|(name, _)| name == "Mcp-Session-Id");
        id.map_or("", |(_, id)| id)
    }

    /// Sends a request without reading. The connection closes when the result is dropped.
    pub fn leave(&mut self, method: &str, params: Value) -> Box<dyn Read + Send> {
        self.next += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string();
        let mut head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        head.push_str("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.place.begin(format!("{head}\r\n{body}").as_bytes())
    }

    /// Sends a raw body.
    #[track_caller]
    pub fn write(&self, body: &str) -> Http {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.place.send("POST", "/mcp", &headers, body)
    }

    #[track_caller]
    pub fn post(&mut self, method: &str, params: Value) -> Http {
        self.next += 1;
        self.write(
            &json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string(),
        )
    }

    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.post("tools/call", json!({"name": name, "arguments": arguments})).message();
        assert!(answer["result"].is_object(), "{answer:#}");
        answer["result"].clone()
    }
}
