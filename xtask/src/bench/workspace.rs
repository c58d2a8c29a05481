//! Generates workspaces of any size: a catalog of script tools, and a history of calls and runs.
//!
//! The history is written in the format of v0.30.0, including fingerprints, so that both programs can read it. Ours
//! adopts it with its first write.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::repository::{Failure, write_file};

/// The size of a workspace.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Tools in the catalog.
    pub tools: usize,
    /// Finished calls.
    pub calls: usize,
    /// Receipts, each with its logs.
    pub runs: usize,
}

const POLICY: &str = "allowed_families = [\"script\", \"mcp\"]
allowed_effects = [\"local-read\", \"local-write\"]
denied_effects = [\"remote-mutation\"]
required_approval_modes = [\"on-request\", \"always\"]
max_timeout = 60
allowed_runtimes = [\"local-helper\"]
env_bindings = { }
";

const HARNESSES: &[(&str, &str, &str)] =
    &[("claude", ".claude/commands/", ".md"), ("codex", ".codex/skills/", "/SKILL.md")];

/// The command of every tool.
pub const COMMAND: &str = "sh bin/hello.sh";

/// Returns the id of a tool.
pub fn tool_id(number: usize) -> String {
    format!("tool-{number:05}")
}

/// Writes a workspace into an empty directory.
pub fn generate(root: &Path, size: Size) -> Result<(), Failure> {
    write(root, "bin/hello.sh", "echo hello \"$@\"\n")?;
    write(root, ".brigade/tools/policy.toml", POLICY)?;
    fs::create_dir_all(root.join(".git")).map_err(Failure::at(root))?;
    let mut catalog = String::new();
    let schema = schema().to_string();
    for number in 0..size.tools {
        let id = tool_id(number);
        write(root, &format!("tools/{id}.md"), &source(number))?;
        write(root, &format!("schemas/{id}.json"), &schema)?;
        catalog.push_str(&entry(number));
    }
    write(root, ".brigade/tools.toml", &catalog)?;
    let history = History::new(root, size.tools);
    if 0 < size.calls {
        let path = root.join(".brigade/tools/calls.jsonl");
        let mut out = BufWriter::new(File::create(&path).map_err(Failure::at(&path))?);
        for number in 0..size.calls {
            writeln!(out, "{}", history.call(number)).map_err(Failure::at(&path))?;
        }
        out.flush().map_err(Failure::at(&path))?;
    }
    for number in 0..size.runs {
        history.write_run(number)?;
    }
    Ok(())
}

fn source(number: usize) -> String {
    format!("# Tool {number}\n\n{}\n", "Body line for the tool.\n".repeat(20))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["path"],
        "additionalProperties": false,
        "properties": {
            "path": {"type": "string"},
            "n": {"type": "integer"},
            "mode": {"type": "string", "enum": ["fast", "full"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    })
}

/// Returns the entry of a tool.
pub fn entry(number: usize) -> String {
    let id = tool_id(number);
    let harnesses: Vec<String> = HARNESSES.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    let projections: Vec<String> =
        HARNESSES.iter().map(|(name, before, after)| format!("{name} = \"{before}{id}{after}\"")).collect();
    format!(
        "[[tool]]\nid = \"{id}\"\nname = \"Tool {number}\"\nfamily = \"script\"\nenabled = true\n\
         description = \"Benchmark tool number {number} for the catalog.\"\nsource_path = \"tools/{id}.md\"\n\
         command = \"{COMMAND}\"\nauth_label = \"local-user\"\ntimeout = 30\n\
         input_schema_path = \"schemas/{id}.json\"\npermissions = [\"read-files\"]\neffects = [\"local-read\"]\n\
         approval_mode = \"on-request\"\ncwd = \".\"\n\
         argument_template = {{ path = \"{{path}}\", mode = \"--mode={{mode}}\" }}\n\
         supported_harnesses = [{}]\nprojections = {{ {} }}\n\n",
        harnesses.join(", "),
        projections.join(", "),
    )
}

/// Finished calls and their receipts.
struct History<'a> {
    root: &'a Path,
    tools: usize,
    began: OffsetDateTime,
}

impl<'a> History<'a> {
    fn new(root: &'a Path, tools: usize) -> History<'a> {
        History { root, tools, began: OffsetDateTime::now_utc() - Duration::hours(48) }
    }

    fn absolute(&self, relative: &str) -> String {
        self.root.join(relative).display().to_string()
    }

    fn moment(&self, milliseconds: usize) -> String {
        let after = Duration::milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX));
        let text = (self.began + after).format(&Rfc3339).expect("a moment of this age can be written");
        text.replace('Z', "+00:00")
    }

    fn policy(&self) -> Value {
        json!({
            "enabled": true, "policy_path": self.absolute(".brigade/tools/policy.toml"), "allowed": true,
            "blockers": [], "errors": [], "allowed_families": ["script", "mcp"],
            "allowed_effects": ["local-read", "local-write"], "denied_effects": ["remote-mutation"],
            "required_approval_modes": ["on-request", "always"], "max_timeout": 60.0,
            "allowed_runtimes": ["local-helper"], "env_labels_required": [], "env_labels_used": [],
        })
    }

    fn projections(&self, id: &str) -> Value {
        let one = |(harness, before, after): &(&str, &str, &str)| {
            let path = self.absolute(&format!("{before}{id}{after}"));
            json!({"harness": harness, "status": "missing", "action": "create", "projection_path": path})
        };
        let list: Vec<Value> = HARNESSES.iter().map(one).collect();
        json!({"counts": {"missing": list.len()}, "projections": list})
    }

    /// Returns a completed call. Keys are sorted and nothing is escaped, as in files of v0.30.
    fn call(&self, number: usize) -> Value {
        let tool = number % self.tools;
        let id = tool_id(tool);
        let template = json!({"path": "{path}", "mode": "--mode={mode}"});
        let contract_fingerprint = short(&json!({
            "tool_id": id, "command": COMMAND, "timeout": 30.0, "auth_label": "local-user", "cwd": ".",
            "runtime_id": null, "requires_runtime": false, "runtime_health_path": null, "mcp_server_id": null,
            "mcp_tool_name": null, "approval_mode": "on-request", "permissions": ["read-files"],
            "effects": ["local-read"], "env_labels": [], "argument_template": template,
            "paths": {
                "input_schema_path": short_of(schema().to_string().as_bytes()),
                "output_schema_path": null, "examples_path": null,
            },
        }));
        let source_fingerprint = short_of(source(tool).as_bytes());
        let args = json!({"path": format!("file-{number}.txt"), "mode": "fast", "n": number});
        let arguments = json!({"path": args["path"], "mode": "--mode=fast"});
        let plan = json!({
            "tool_id": id, "family": "script", "command": COMMAND, "cwd": ".", "timeout": 30.0, "runtime_id": null,
            "requires_runtime": false, "runtime_health_path": null, "mcp_server_id": null, "mcp_tool_name": null,
            "auth_label": "local-user", "env_labels": [], "arguments": arguments, "args": args,
            "permissions": ["read-files"], "effects": ["local-read"], "approval_required": true,
            "approval_mode": "on-request",
        });
        let call_fingerprint = short(&json!({
            "tool_id": id, "plan": plan, "contract_fingerprint": contract_fingerprint,
            "source_fingerprint": source_fingerprint,
        }));
        let call = format!("call-{call_fingerprint}");
        let created = self.moment(number);
        let approval_fingerprint = short(&json!({
            "id": call, "tool_id": id, "status": "approved", "reviewed_at": created, "review_reason": null,
            "call_fingerprint": call_fingerprint, "contract_fingerprint": contract_fingerprint,
            "source_fingerprint": source_fingerprint,
        }));
        json!({
            "id": call, "status": "completed", "created_at": created, "reviewed_at": created, "review_reason": null,
            "tool_id": id, "family": "script", "command": COMMAND, "args": args, "arguments": arguments,
            "contract": {
                "approval_mode": "on-request", "approval_required": true, "permissions": ["read-files"],
                "effects": ["local-read"], "auth_label": "local-user", "env_labels": [], "cwd": ".", "timeout": 30.0,
                "runtime_id": null, "requires_runtime": false, "runtime_health_path": null, "mcp_server_id": null,
                "mcp_tool_name": null,
            },
            "blockers": [], "policy": self.policy(), "projection_summary": self.projections(&id),
            "contract_fingerprint": contract_fingerprint, "source_fingerprint": source_fingerprint,
            "call_fingerprint": call_fingerprint, "approval_fingerprint": approval_fingerprint,
            "started_at": created, "completed_at": created, "run_id": null, "receipt_path": null, "exit_code": 0,
        })
    }

    fn write_run(&self, number: usize) -> Result<(), Failure> {
        let call = self.call(number);
        let started = self.moment(number * 10);
        let run = format!("run-{}", short(&json!({"call_id": call["id"], "started_at": started})));
        let path = |ending: &str| format!(".brigade/tools/runs/{run}{ending}");
        let said = format!("hello file-{number}.txt --mode=fast");
        let receipt = json!({
            "id": run, "call_id": call["id"], "tool_id": call["tool_id"], "family": "script", "status": "completed",
            "started_at": started, "completed_at": started, "duration_seconds": 0.031, "exit_code": 0,
            "timed_out": false, "timeout": 30.0, "command_label": COMMAND,
            "argv": ["sh", "bin/hello.sh", call["args"]["path"], "--mode=fast"],
            "cwd": self.root.display().to_string(), "args": call["args"], "arguments": call["arguments"],
            "stdout_summary": said, "stderr_summary": "", "stdout_log_path": self.absolute(&path(".stdout.log")),
            "stderr_log_path": self.absolute(&path(".stderr.log")), "receipt_path": self.absolute(&path(".json")),
            "contract_fingerprint": call["contract_fingerprint"], "source_fingerprint": call["source_fingerprint"],
            "call_fingerprint": call["call_fingerprint"], "approval_fingerprint": call["approval_fingerprint"],
            "approval": {"reviewed_at": call["reviewed_at"], "review_reason": null},
            "permissions": ["read-files"], "effects": ["local-read"], "runtime_id": null, "mcp_server_id": null,
            "mcp_tool_name": null, "runtime": null, "policy": call["policy"], "env_labels_used": [],
            "projection_summary": call["projection_summary"],
        });
        write(self.root, &path(".stdout.log"), &format!("{said}\n"))?;
        write(self.root, &path(".stderr.log"), "")?;
        write(self.root, &path(".json"), &format!("{receipt:#}\n"))
    }
}

/// Returns the fingerprint of a value, as v0.30 computes it.
fn short(value: &Value) -> String {
    short_of(value.to_string().as_bytes())
}

fn short_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn write(root: &Path, relative: &str, text: &str) -> Result<(), Failure> {
    write_file(&root.join(relative), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_the_requested_size() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), Size { tools: 3, calls: 7, runs: 2 }).unwrap();
        let text = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
        let catalog: toml::Table = text(".brigade/tools.toml").parse().unwrap();
        assert_eq!(catalog["tool"].as_array().unwrap().len(), 3);
        let calls = text(".brigade/tools/calls.jsonl");
        let calls: Vec<Value> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: std::collections::BTreeSet<&str> =
            calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
        assert_eq!((calls.len(), ids.len()), (7, 7));
        assert_eq!(fs::read_dir(folder.path().join(".brigade/tools/runs")).unwrap().count(), 6);
    }

    #[test]
    fn fingerprints_agree_with_v0_30() {
        // python3 -c 'import hashlib; print(hashlib.sha256(b"{\"a\":30.0,\"b\":null}").hexdigest()[:16])'
        assert_eq!(short(&json!({"b": null, "a": 30.0})), "0eb7eeeb7b1ed773");
    }
}
