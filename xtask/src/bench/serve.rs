//! Measures `brigade serve`: calls of a kept server compared with a direct client of an equal one, calls of built-in
//! tools, the start, many tools and many sessions.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::measure::Figures;
use super::program::Program;
use super::table::{Row, Table, Target};
use crate::mcp_client::{Client, hello};
use crate::repository::{Failure, write_file};

/// A server that answers at once.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {}
    if request["method"] == "initialize":
        result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "bench", "version": "1"}
    elif request["method"] == "tools/list":
        result = {"tools": [{"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}]}
    elif request["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": request["params"]["arguments"]["text"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

const COMMAND: [&str; 4] = ["python3", "-S", "-E", "server.py"];

/// The policy without built-in tools.
const POLICY: &str = r#"allowed_families = ["mcp"]
allowed_effects = ["local-read"]
required_approval_modes = ["on-request"]
max_timeout = 60
allowed_runtimes = ["bench"]

[[auto_approve]]
name = "reads"
tools = ["read-*"]
effects = ["local-read"]
"#;

/// Returns the policy with built-in tools.
fn with_built_in() -> String {
    POLICY
        .replace(r#"["mcp"]"#, r#"["mcp", "builtin"]"#)
        .replace(r#"["local-read"]"#, r#"["local-read", "memory-write"]"#)
        .replace(r#"["read-*"]"#, r#"["read-*", "fs.*", "memory.*"]"#)
}

/// The number of tools in a large catalog.
const LARGE_CATALOG: usize = 10_000;

/// The size of the file that `fs.read` reads.
const READ_BYTES: usize = 10 * 1024;

/// The number of searched memories.
const MEMORIES: usize = 2_000;

/// The number of calls before a call under limits is measured again.
const LIMITED_CALLS: usize = 10_000;

/// How long files must be unchanged before their versions are cached.
const SETTLED: Duration = Duration::from_millis(2500);

/// The number of sessions, and of concurrent requests.
const SESSIONS: usize = 60;
const AT_ONCE: usize = 4;

/// Measures the gateway.
pub fn measure(brigade: &Program, turns: usize) -> Result<Table, Failure> {
    let mut table = Table::new("The gateway, with 100 tools".to_owned());
    let folder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
    write_workspace(brigade, folder.path(), 100)?;
    calls(brigade, folder.path(), turns * 60, &mut table)?;
    starts(brigade, folder.path(), turns, &mut table)?;
    sessions(brigade, folder.path(), turns * 10, &mut table)?;
    many_tools(brigade, turns, &mut table)?;
    built_in(brigade, folder.path(), turns, &mut table)?;
    limited(brigade, turns * 20, &mut table)?;
    Ok(table)
}

fn write_workspace(brigade: &Program, root: &Path, tools: usize) -> Result<(), Failure> {
    let entry = |number: usize| {
        format!(
            "[[tool]]\nid = \"read-{number}\"\nname = \"Read {number}\"\ndescription = \"Reads something.\"\n\
             family = \"mcp\"\ncommand = \"{}\"\nruntime_id = \"bench\"\nmcp_server_id = \"bench\"\n\
             mcp_tool_name = \"echo\"\ninput_schema_path = \"text.json\"\napproval_mode = \"on-request\"\n\
             timeout = 30\npermissions = [\"local-read\"]\neffects = [\"local-read\"]\n\n",
            COMMAND.join(" ")
        )
    };
    let schema = r#"{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}"#;
    let runtime =
        "[[runtime]]\nid = \"bench\"\nname = \"Bench\"\ncommand = \"sleep 600\"\non_demand = true\n";
    for (path, text) in [
        ("server.py", SERVER.to_owned()),
        ("text.json", schema.to_owned()),
        (".brigade/tools.toml", (0..tools).map(entry).collect()),
        (".brigade/tools/policy.toml", POLICY.to_owned()),
        (".brigade/tools/runtimes.toml", runtime.to_owned()),
    ] {
        write_file(&root.join(path), &text)?;
    }
    // The rule covers the tool only once a person reviewed it.
    let mut trust = Command::new(brigade.path());
    trust.args(["tools", "trust", "read-0", "--yes", "--quiet"]).current_dir(root).stdin(Stdio::null());
    match trust.status().map_err(failed)?.success() {
        true => Ok(()),
        false => Err(Failure::new("`read-0` could not be recorded as reviewed")),
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(error.to_string())
}

fn serve(brigade: &Program, words: &[&str]) -> Command {
    let mut command = Command::new(brigade.path());
    command.arg("serve").args(words);
    command
}

/// The peak memory of a running process, in bytes.
fn peak(pid: u32) -> u64 {
    let path = PathBuf::from(format!("/proc/{pid}/status"));
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() << 10
}

/// Returns the time that this share of the times does not exceed.
fn at(times: &[Duration], share: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a place in the list")]
    let place = (times.len() as f64 * share) as usize;
    times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Measures calls in turns, directly and through the gateway.
fn calls(brigade: &Program, root: &Path, turns: usize, table: &mut Table) -> Result<(), Failure> {
    let mut bare = Command::new(COMMAND[0]);
    bare.args(&COMMAND[1..]);
    let mut direct = Client::start(bare, root)?;
    let mut ours = Client::start(serve(brigade, &[]), root)?;
    for number in 0..10 {
        direct.call("echo", "warm")?;
        ours.call("read-0", &format!("first {number}"))?;
    }
    std::thread::sleep(SETTLED);
    for number in 0..10 {
        ours.call("read-0", &format!("second {number}"))?;
    }
    let (mut reference, mut times) = (Vec::new(), Vec::new());
    for number in 0..turns {
        let text = format!("text {number}");
        reference.push(direct.call("echo", &text)?);
        times.push(ours.call("read-0", &text)?);
    }
    for (name, share, more) in [
        ("local-read call under a rule, median", 0.5, Duration::from_micros(300)),
        ("the same, p99", 0.99, Duration::from_millis(2)),
    ] {
        let (median, reference) = (at(&times, share), at(&reference, share));
        let figures = Figures { median, reference, peak: peak(ours.process_id()), code: Some(0) };
        table.rows.push(Row::new(name, figures).targets([Target::More(more)]));
    }
    Ok(())
}

/// Measures starts of the gateway, in turns with a program that does nothing.
fn starts(brigade: &Program, root: &Path, turns: usize, table: &mut Table) -> Result<(), Failure> {
    let (mut reference, mut times, mut most) = (Vec::new(), Vec::new(), 0);
    for _ in 0..turns {
        let started = Instant::now();
        Command::new("/bin/true").status().map_err(failed)?;
        reference.push(started.elapsed());
        let started = Instant::now();
        let client = Client::start(serve(brigade, &[]), root)?;
        times.push(started.elapsed());
        most = most.max(peak(client.process_id()));
    }
    let figures =
        Figures { median: at(&times, 0.5), reference: at(&reference, 0.5), peak: most, code: Some(0) };
    let targets = [Target::Times(10.0), Target::Memory(20 << 20)];
    table.rows.push(Row::new("answer of initialize, from the start", figures).targets(targets));
    Ok(())
}

/// Measures listing a large catalog, page by page.
fn many_tools(brigade: &Program, turns: usize, table: &mut Table) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(failed)?;
    write_workspace(brigade, folder.path(), LARGE_CATALOG)?;
    let mut client = Client::start(serve(brigade, &[]), folder.path())?;
    let (first, _) = list_all(&mut client)?;
    let (mut whole, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..turns.min(5) {
        let (took, each) = list_all(&mut client)?;
        whole.push(took);
        pages.extend(each);
    }
    let peak = peak(client.process_id());
    let figures = |median| Figures { median, reference: Duration::from_millis(1), peak, code: Some(0) };
    let (page, all) = (Target::Within(Duration::from_millis(5)), Target::Within(Duration::from_secs(1)));
    for (name, median, targets) in [
        ("10,000 tools: a warm page of 100", at(&pages, 0.5), vec![page]),
        ("10,000 tools: the first whole list", first, vec![all, Target::Memory(150 << 20)]),
        ("10,000 tools: a later whole list", at(&whole, 0.5), vec![all]),
    ] {
        table.rows.push(Row::new(name, figures(median)).targets(targets));
    }
    Ok(())
}

/// Lists every tool exactly once. Returns how long that took, and how long each page took.
fn list_all(client: &mut Client) -> Result<(Duration, Vec<Duration>), Failure> {
    let (started, mut pages) = (Instant::now(), Vec::new());
    let (mut names, mut cursor) = (std::collections::BTreeSet::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let asked = Instant::now();
        let answer = client.ask("tools/list", &params)?;
        pages.push(asked.elapsed());
        for tool in answer["result"]["tools"].as_array().into_iter().flatten() {
            let name = tool["name"].as_str().unwrap_or_default().to_owned();
            if !names.insert(name) {
                return Err(Failure::new("a tool was listed twice"));
            }
        }
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let took = started.elapsed();
    let listed = names.iter().filter(|name| name.starts_with("read-")).count();
    if listed == LARGE_CATALOG {
        Ok((took, pages))
    } else {
        Err(Failure::new(format!("{listed} tools were listed")))
    }
}

/// Measures built-in tools: the start with and without them, and calls of two of them.
fn built_in(brigade: &Program, root: &Path, turns: usize, table: &mut Table) -> Result<(), Failure> {
    let policy = root.join(".brigade/tools/policy.toml");
    let set = |text: &str| std::fs::write(&policy, text).map_err(Failure::at(&policy));
    let (mut without, mut with, mut most) = (Vec::new(), Vec::new(), 0);
    for _ in 0..turns {
        for (text, times) in [(POLICY.to_owned(), &mut without), (with_built_in(), &mut with)] {
            set(&text)?;
            let started = Instant::now();
            let client = Client::start(serve(brigade, &[]), root)?;
            times.push(started.elapsed());
            most = most.max(peak(client.process_id()));
        }
    }
    let figures = Figures { median: at(&with, 0.5), reference: at(&without, 0.5), peak: most, code: Some(0) };
    let row = Row::new("answer of initialize with all built-in tools, beside without", figures);
    table.rows.push(row.targets([Target::Times(1.5)]));
    let file = root.join("read.txt");
    let line = "some words of a line that is read\n";
    std::fs::write(&file, line.repeat(READ_BYTES / line.len())).map_err(Failure::at(&file))?;
    // The usual guard limits these tools to a few calls a minute.
    let gateway = root.join(".brigade/tools/gateway.toml");
    let text = "[[agent]]\nname = \"local\"\nprofiles = [\"guard.memory\"]\n";
    std::fs::write(&gateway, text).map_err(Failure::at(&gateway))?;
    let mut client = Client::start(serve(brigade, &[]), root)?;
    for number in 0..MEMORIES {
        let (word, stone, harbour) = (number % 97, number * 7, number % 13);
        let content = format!("lane{number} leads word{word} by stone{stone} to harbour {harbour}");
        let (_, result) = client.tool("memory.add", &json!({"category": "fact", "content": content}))?;
        let said = &result["structuredContent"];
        if said["saved"] != true || said["deduped"] == true {
            return Err(Failure::new(format!("a memory was not kept as its own: {said}")));
        }
    }
    std::thread::sleep(SETTLED);
    let mut times = Vec::new();
    let mut reference = Vec::new();
    for number in 0..turns * 10 {
        let started = Instant::now();
        std::fs::read(&file).map_err(Failure::at(&file))?;
        reference.push(started.elapsed());
        // Equal calls would be answered from the queue.
        times.push(client.tool("fs.read", &json!({"path": "read.txt", "limit": 500 + number}))?.0);
    }
    let peak = peak(client.process_id());
    let figures = Figures { median: at(&times, 0.5), reference: at(&reference, 0.5), peak, code: Some(0) };
    let row = Row::new("fs.read of 10 KB under a rule, beside reading it", figures);
    table.rows.push(row.targets([Target::More(Duration::from_millis(1))]));
    let mut times = Vec::new();
    for number in 0..turns * 10 {
        let query = format!("word{} harbour", number % 97);
        times.push(client.tool("memory.search", &json!({"query": query}))?.0);
    }
    let reference = Duration::from_millis(1);
    let figures = Figures { median: at(&times, 0.5), reference, peak, code: Some(0) };
    let row = Row::new("memory.search in 2,000 rows", figures);
    table.rows.push(row.targets([Target::Within(Duration::from_millis(5))]));
    Ok(())
}

/// Measures a call under limits over time after many calls of the same hour, compared with the first ones.
fn limited(brigade: &Program, turns: usize, table: &mut Table) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
    let root = folder.path();
    let limits = "calls_per_minute = 1000000\ncalls_per_hour = 1000000\nseconds_per_hour = 1000000\n";
    for (path, text) in [
        (".brigade/tools.toml", String::new()),
        (".brigade/tools/policy.toml", format!("{}max_calls_per_hour = 1000000\n", with_built_in())),
        (".brigade/tools/gateway.toml", format!("[[agent]]\nname = \"local\"\n[agent.limits]\n{limits}")),
        ("read.txt", "some words\n".to_owned()),
    ] {
        write_file(&root.join(path), &text)?;
    }
    let mut client = Client::start(serve(brigade, &[]), root)?;
    let mut number = 0;
    let mut calls = |count: usize| -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            number += 1;
            times.push(client.tool("fs.read", &json!({"path": "read.txt", "limit": number}))?.0);
        }
        Ok(times)
    };
    calls(turns)?;
    let first = calls(turns)?;
    calls(LIMITED_CALLS)?;
    let last = calls(turns)?;
    let peak = peak(client.process_id());
    let figures = Figures { median: at(&last, 0.5), reference: at(&first, 0.5), peak, code: Some(0) };
    let row = Row::new("call under limits after 10,000 in an hour, beside the first", figures);
    table.rows.push(row.targets([Target::Times(1.1)]));
    Ok(())
}

/// A client over HTTP with a session.
struct HttpSession {
    agent: ureq::Agent,
    address: String,
    id: Option<String>,
    next: u64,
}

impl HttpSession {
    fn begin(address: &str) -> Result<HttpSession, Failure> {
        let agent = ureq::Agent::new_with_defaults();
        let mut session = HttpSession { agent, address: address.to_owned(), id: None, next: 0 };
        session.ask("initialize", &hello())?;
        session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(session)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.next += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer = self.post(&body)?;
        let lines = answer.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
        let found = messages.into_iter().find(|message| message["id"] == self.next);
        let found =
            found.filter(|message| message["result"].is_object() && message["result"]["isError"] != true);
        found.ok_or_else(|| Failure::new(format!("{method} was refused: {answer}")))
    }

    /// Sends a message, and returns the body of the answer.
    fn post(&mut self, message: &Value) -> Result<String, Failure> {
        let mut request = self.agent.post(&self.address).header("Content-Type", "application/json");
        request = request.header("Accept", "application/json, text/event-stream");
        if let Some(id) = &self.id {
            request = request.header("Mcp-Session-Id", id).header("MCP-Protocol-Version", "2025-11-25");
        }
        let failed = |error: ureq::Error| Failure::new(format!("the gateway answered: {error}"));
        let mut answer = request.send(message.to_string()).map_err(failed)?;
        let id = answer.headers().get("mcp-session-id").and_then(|id| id.to_str().ok());
        self.id = id.map(str::to_owned).or(self.id.take());
        answer.body_mut().read_to_string().map_err(failed)
    }
}

/// Measures as many open sessions as one token may have. They begin a few at a time, each with a listing and a call.
fn sessions(brigade: &Program, root: &Path, turns: usize, table: &mut Table) -> Result<(), Failure> {
    let mut command = serve(brigade, &["--http", "127.0.0.1:0", "--no-token", "--as", "local"]);
    command.current_dir(root).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("was piped")).read_line(&mut line).map_err(failed)?;
    let document: Value = serde_json::from_str(&line).unwrap_or_default();
    let address = document["address"].as_str().unwrap_or_default().to_owned();
    let measured = || -> Result<Figures, Failure> {
        let listed = |session: &mut HttpSession| -> Result<Duration, Failure> {
            let asked = Instant::now();
            session.ask("tools/list", &json!({})).map(|_| asked.elapsed())
        };
        let mut first = HttpSession::begin(&address)?;
        let alone = (0..turns).map(|_| listed(&mut first)).collect::<Result<Vec<_>, _>>()?;
        let worker = |worker: usize| -> Result<Vec<Duration>, Failure> {
            let mut times = Vec::new();
            for number in 0..SESSIONS / AT_ONCE {
                let mut session = HttpSession::begin(&address)?;
                times.push(listed(&mut session)?);
                let arguments = json!({"text": format!("{worker} {number}")});
                session.ask("tools/call", &json!({"name": "read-0", "arguments": arguments}))?;
            }
            Ok(times)
        };
        let times = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..AT_ONCE).map(|number| scope.spawn(move || worker(number))).collect();
            let times = workers.into_iter().map(|worker| worker.join().expect("a worker does not panic"));
            times.collect::<Result<Vec<_>, _>>()
        })?;
        let (median, reference) = (at(&times.concat(), 0.99), at(&alone, 0.5));
        Ok(Figures { median, reference, peak: peak(child.id()), code: Some(0) })
    };
    let measured = measured();
    let _ = child.kill();
    let _ = child.wait();
    let targets = [Target::Times(10.0), Target::Memory(96 << 20)];
    table.rows.push(Row::new("p99 of a listing, in 60 sessions, beside alone", measured?).targets(targets));
    Ok(())
}
