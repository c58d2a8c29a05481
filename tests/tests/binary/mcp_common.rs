//! A workspace with a tool of the misbehaving MCP server.

#![allow(clippy::disallowed_methods, reason = "the server is copied from the fixtures")]

use brigade_testkit::fixtures;
use brigade_tests::Site;
use serde_json::Value;

/// The arguments that `echo` takes.
pub const HELLO: &str = r#"{"text":"hello"}"#;

/// A server that returns what it can import and read: `part` of `lib`, a file of `data`, the file in the argument
/// `text`, and others.
pub const READS: &str = r#"import json, sys
sys.path.insert(0, "lib")
def read(path):
    try: return open(path).read().strip()
    except OSError: return "closed"
def answer(method, params):
    if method == "initialize":
        known = {"name": "reads", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": known}
    if method == "tools/list":
        return {"tools": [{"name": "echo", "description": "Reads", "inputSchema": {"type": "object"}}]}
    if method != "tools/call": return {}
    import part
    paths = ["data/x.txt", params["arguments"]["text"], "secret.txt", ".brigade/tools.toml"]
    return {"content": [{"type": "text", "text": " ".join([part.word] + [read(path) for path in paths])}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Closes a workspace for reading, and writes the files for [`READS`].
pub fn close(site: &Site) {
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n");
    site.workspace.write("lib/part.py", "word = 'approved'\n");
    site.workspace.write("data/x.txt", "datum\n");
    site.workspace.write("secret.txt", "secret\n");
}

/// A workspace with the fixture server as the tool `say`, and its runtime `voice`.
pub struct VoiceSite {
    /// The workspace.
    pub site: Site,
}

impl Drop for VoiceSite {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "voice"]).output();
    }
}

/// Returns the complete entry of an MCP tool.
pub fn entry(id: &str, tool: &str, faults: &str, lines: &str) -> String {
    let own = format!("family = \"mcp\"\nruntime_id = \"voice\"\nmcp_tool_name = \"{tool}\"\n{lines}");
    Site::entry(id, &format!("python3 -S -E server.py {faults}"), &own)
}

impl VoiceSite {
    /// Returns a workspace with a running runtime, whose server has these faults.
    pub fn new(tool: &str, faults: &str, lines: &str) -> VoiceSite {
        let spoken = VoiceSite::stopped(tool, faults, lines);
        spoken.site.tools(["runtime", "start", "voice"]).assert_code(0);
        spoken
    }

    pub fn stopped(tool: &str, faults: &str, lines: &str) -> VoiceSite {
        let site = Site::script("true\n").env("CANARY", "canary-EXAMPLE-value").env("STRANGER", "x");
        site.workspace.replace(".brigade/tools/policy.toml", "[\"script\"]", "[\"mcp\"]");
        site.workspace.write(
            ".brigade/tools/runtimes.toml",
            "[[runtime]]\nid = 'voice'\nname = 'Voice'\ncommand = 'sleep 600'\nhealth_command = 'true'\n",
        );
        let server = std::fs::read(fixtures().join("mcp/server.py")).expect("the fixture is there");
        site.workspace.write("server.py", server);
        let spoken = VoiceSite { site };
        spoken.serve(tool, faults, lines);
        spoken
    }

    /// Sets the faults of the server.
    pub fn serve(&self, tool: &str, faults: &str, lines: &str) {
        self.site.workspace.write(".brigade/tools.toml", entry("say", tool, faults, lines));
    }

    /// Changes the server's behavior without changing its command or file.
    pub fn turn(&self, from: &str, to: &str) {
        self.site.workspace.replace("faults", from, to);
    }

    /// Makes the server read its faults from a file that is not bound, like a server with a database.
    pub fn fickle(tool: &str) -> VoiceSite {
        let spoken = VoiceSite::new(tool, "", "");
        let server = spoken.site.workspace.read_text("server.py");
        let fickle = server.replace("FAULTS = sys.argv[1:]", "FAULTS = open('faults').read().split()");
        assert_ne!(server, fickle);
        spoken.site.workspace.write("server.py", fickle);
        spoken.site.workspace.write("faults", "mark=called good");
        spoken
    }

    /// Runs a call to its end. Returns the exit code and the receipt.
    #[track_caller]
    pub fn say(&self, args: &str) -> (i32, Value) {
        let id = self.site.approved("say", args);
        let answer = self.site.run_call(&id);
        assert!(answer.json["receipt"].is_object(), "no receipt\n{}", answer.run);
        // Whatever a server returns, receipts are strict JSON without `NaN`.
        for (path, bytes) in self.site.workspace.files(".brigade/tools/runs") {
            if path.ends_with(".json") {
                let strict = serde_json::from_slice::<Value>(&bytes);
                assert!(strict.is_ok(), "{path} is not JSON: {}", String::from_utf8_lossy(&bytes));
            }
        }
        (answer.code, answer.json)
    }

    /// Returns the names of the called tools, one per line.
    pub fn called(&self) -> String {
        if self.site.workspace.exists("called") {
            self.site.workspace.read_text("called")
        } else {
            String::new()
        }
    }
}
