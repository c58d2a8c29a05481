//! The servers, the calls, and the expected results.

use serde_json::{Value, json};

use super::install::InstalledServers;

/// An MCP server.
#[derive(Debug)]
pub struct Server {
    /// The id in the workspace.
    pub id: &'static str,
    /// The command. `{workspace}` is replaced by the directory of the workspace.
    pub command: String,
    /// The effects of its tools.
    pub effects: &'static [&'static str],
    /// The labels of its environment variables.
    pub env_labels: &'static [&'static str],
    /// The calls, in order.
    pub trials: Vec<Trial>,
}

/// A call.
#[derive(Debug)]
pub struct Trial {
    /// The name of the tool on the server.
    pub tool: &'static str,
    /// The arguments. `{workspace}` in a string is replaced by the directory of the workspace.
    pub args: Value,
    /// The timeout in seconds.
    pub timeout: u32,
    /// The expected result.
    pub expect: Expect,
}

/// The expected result of a call.
#[derive(Debug)]
pub struct Expect {
    /// The status.
    pub status: &'static str,
    /// The kind of error. Empty if the call succeeds.
    pub kind: &'static str,
    /// Texts that the summary of the answer must contain.
    pub says: &'static [&'static str],
}

fn trial(tool: &'static str, args: Value, expect: Expect) -> Trial {
    Trial { tool, args, timeout: 30, expect }
}

fn says(says: &'static [&'static str]) -> Expect {
    Expect { status: "completed", kind: "", says }
}

fn fails(says: &'static [&'static str]) -> Expect {
    Expect { status: "failed", kind: "tool_error", says }
}

/// Returns every server.
pub fn all(installed: &InstalledServers) -> Vec<Server> {
    vec![everything(installed), filesystem(installed), memory(installed), git(installed), time(installed)]
}

fn everything(installed: &InstalledServers) -> Server {
    let timed_out = Expect { status: "timed-out", kind: "timed_out", says: &[] };
    let long = |duration: u32| json!({"duration": duration, "steps": 2});
    Server {
        id: "everything",
        command: installed.node("server-everything"),
        effects: &["local-read"],
        env_labels: &[],
        trials: vec![
            trial("echo", json!({"message": "hello, world"}), says(&["hello, world"])),
            trial("get-sum", json!({"a": 2, "b": 40}), says(&["42"])),
            trial("get-tiny-image", json!({}), says(&["[image image/png"])),
            trial("get-structured-content", json!({"location": "Chicago"}), says(&["[structured]"])),
            trial("get-resource-links", json!({"count": 2}), says(&["[resource_link"])),
            trial("get-env", json!({}), says(&["PATH", "BRIGADE_TOOL_CALL_ID"])),
            trial(
                "get-resource-reference",
                json!({"resourceType": "Text", "resourceId": -1}),
                fails(&["error: "]),
            ),
            trial("trigger-long-running-operation", long(1), says(&["completed"])),
            Trial { timeout: 3, ..trial("trigger-long-running-operation", long(60), timed_out) },
        ],
    }
}

fn filesystem(installed: &InstalledServers) -> Server {
    let file = |path: &str| json!({"path": path});
    let write = |path: &str| json!({"path": path, "content": "written by a call\n"});
    Server {
        id: "filesystem",
        // The server would serve the second directory, but the sandbox does not allow it.
        command: format!("{} '{{workspace}}/data' '{{outside}}'", installed.node("server-filesystem")),
        effects: &["local-read", "local-write"],
        env_labels: &[],
        trials: vec![
            trial("write_file", write("{workspace}/data/new.txt"), says(&["Successfully wrote"])),
            trial("read_text_file", file("{workspace}/data/new.txt"), says(&["written by a call"])),
            trial("list_directory", file("{workspace}/data"), says(&["[FILE] new.txt"])),
            trial("read_text_file", file("{workspace}/beside.txt"), fails(&["Access denied"])),
            trial("read_text_file", file("{workspace}/data/../beside.txt"), fails(&["Access denied"])),
            trial("write_file", write("{workspace}/.brigade/tools.toml"), fails(&["Access denied"])),
            trial("read_text_file", file("{outside}/secret.txt"), fails(&["EACCES"])),
            trial("write_file", write("{outside}/new.txt"), fails(&["EACCES"])),
        ],
    }
}

fn memory(installed: &InstalledServers) -> Server {
    let entities = json!({"entities": [
        {"name": "Ada", "entityType": "person", "observations": ["writes programs"]},
        {"name": "Engine", "entityType": "machine", "observations": []},
    ]});
    let relations = json!({"relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}]});
    Server {
        id: "memory",
        command: installed.node("server-memory"),
        effects: &["local-read", "local-write"],
        env_labels: &["MEMORY_FILE_PATH"],
        trials: vec![
            trial("create_entities", entities, says(&["Ada", "Engine"])),
            trial("create_relations", relations, says(&["programs"])),
            trial("search_nodes", json!({"query": "writes"}), says(&["Ada", "person"])),
            trial("open_nodes", json!({"names": ["Engine"]}), says(&["machine"])),
            trial("read_graph", json!({}), says(&["Ada", "Engine", "programs"])),
        ],
    }
}

fn git(installed: &InstalledServers) -> Server {
    Server {
        id: "git",
        command: installed.module("mcp_server_git"),
        effects: &["local-read"],
        env_labels: &[],
        trials: vec![
            trial(
                "git_log",
                json!({"repo_path": "{workspace}", "max_count": 3}),
                says(&["The first commit"]),
            ),
            trial("git_status", json!({"repo_path": "{workspace}"}), says(&["branch"])),
            trial("git_log", json!({"repo_path": "{workspace}/nowhere"}), fails(&["error: "])),
        ],
    }
}

fn time(installed: &InstalledServers) -> Server {
    let convert = |to: &str| json!({"source_timezone": "Etc/UTC", "time": "16:30", "target_timezone": to});
    Server {
        id: "time",
        command: installed.module("mcp_server_time"),
        effects: &["local-read"],
        env_labels: &[],
        trials: vec![
            trial("convert_time", convert("Asia/Tokyo"), says(&["01:30", "Asia/Tokyo"])),
            trial("get_current_time", json!({"timezone": "Europe/Berlin"}), says(&["Europe/Berlin"])),
            trial("convert_time", convert("Middle/Earth"), fails(&["error: "])),
        ],
    }
}
