//! A small MCP client.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::repository::Failure;

/// A client over standard input and output. Dropping it ends the server.
#[derive(Debug)]
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    /// Starts a server and performs the handshake.
    pub fn start(mut command: Command, root: &Path) -> Result<Client, Failure> {
        command.current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("was piped"));
        let mut client = Client { child, input, output, next: 0 };
        client.ask("initialize", &hello())?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let input = self.input.as_mut().expect("is open until the end");
        input.write_all(format!("{message}\n").as_bytes()).map_err(failed)
    }

    /// Closes the input of the server, and waits until it ends.
    pub fn end(mut self) -> Result<(), Failure> {
        self.input = None;
        self.child.wait().map(drop).map_err(failed)
    }

    /// Returns the id of the process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request, and returns the whole answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).map_err(failed)? == 0 {
                return Err(Failure::new("the server ended"));
            }
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == self.next && answer.get("method").is_none() {
                return Ok(answer);
            }
        }
    }

    /// Calls a tool. Returns how long that took, and the result.
    pub fn tool(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value), Failure> {
        let params = json!({"name": tool, "arguments": arguments});
        let asked = Instant::now();
        let mut answer = self.ask("tools/call", &params)?;
        let took = asked.elapsed();
        let is_right = answer["result"].is_object() && answer["result"]["isError"] != true;
        match is_right {
            true => Ok((took, answer["result"].take())),
            false => Err(Failure::new(format!("the call failed: {answer}"))),
        }
    }

    /// Lists all tools, page by page.
    pub fn tools(&mut self) -> Result<Vec<Value>, Failure> {
        let (mut tools, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let mut answer = self.ask("tools/list", &params)?;
            match answer["result"]["tools"].take() {
                Value::Array(page) => tools.extend(page),
                _ => return Err(Failure::new(format!("the tools were not listed: {answer}"))),
            }
            cursor = answer["result"]["nextCursor"].take();
            if cursor.is_null() {
                return Ok(tools);
            }
        }
    }

    /// Calls a tool that says a text again, and returns how long that took.
    pub fn call(&mut self, tool: &str, text: &str) -> Result<Duration, Failure> {
        let (took, result) = self.tool(tool, &json!({"text": text}))?;
        let is_right = result["content"][0]["text"] == text;
        if is_right { Ok(took) } else { Err(Failure::new(format!("the call failed: {result}"))) }
    }
}

/// Returns the parameters of `initialize`.
pub fn hello() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "xtask", "version": "1"}})
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(error.to_string())
}
