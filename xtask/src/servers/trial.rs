//! One server: its import, the listing of an agent, and a call.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Cache;
use super::list::PublishedServer;
use crate::mcp_client::Client;
use crate::repository::Failure;
use crate::workspace::Workspace;

/// The effects that the policy allows.
const EFFECTS: &str =
    r#"["local-read", "local-write", "local-delete", "remote-read", "remote-mutation", "network"]"#;

/// What was counted and measured.
#[derive(Debug, Default)]
pub struct Figures {
    tools: usize,
    callable: usize,
    /// Descriptions, and how many the agent sees unchanged.
    descriptions: [usize; 2],
    /// Output schemas, and how many the agent sees unchanged.
    output_schemas: [usize; 2],
    import: Duration,
    call: Duration,
}

impl Figures {
    pub fn add(&mut self, other: &Figures) {
        let sum = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
        self.tools += other.tools;
        self.callable += other.callable;
        self.descriptions = sum(self.descriptions, other.descriptions);
        self.output_schemas = sum(self.output_schemas, other.output_schemas);
        self.import += other.import;
        self.call += other.call;
    }

    /// Returns the row of the table.
    pub fn row(&self, name: &str) -> String {
        let Figures { tools, callable, descriptions, output_schemas, import, call } = self;
        let of = |[all, kept]: &[usize; 2]| format!("{kept} of {all}");
        format!(
            "| {name} | {tools} | {callable} | {} | {} | {:.1} | {:.1} |",
            of(descriptions),
            of(output_schemas),
            import.as_secs_f64(),
            call.as_secs_f64()
        )
    }
}

/// The result of a trial.
#[derive(Debug, Default)]
pub struct Trial {
    pub figures: Figures,
    /// What is not as it should be.
    pub findings: Vec<String>,
}

/// Imports a server, lists its tools as an agent, and calls one.
pub fn try_server(brigade: &Path, cache: &Cache, server: &PublishedServer) -> Result<Trial, Failure> {
    let workspace = prepared(brigade, cache, server)?;
    let own = {
        let words = words(cache, server, &workspace)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("HOME", workspace.folder().join("bare")).envs(&server.variables);
        Client::start(command, &workspace.root())?.tools()?
    };
    let started = Instant::now();
    let mut import = vec!["import", "mcp", &server.id, "--enable", "--accept-hints", "--yes"];
    let effects = server.effects.join(",");
    if !effects.is_empty() {
        import.extend(["--effects", &effects]);
    }
    let imported = workspace.tools(&import)?;
    let took = started.elapsed();
    let Some(rows) = imported["tools"].as_array() else {
        return Err(Failure::new(format!("not imported: {}", imported["errors"])));
    };
    let mut agent = Client::start(workspace.command(&["serve"]), &workspace.root())?;
    let listed = agent.tools()?;
    let mut trial = Trial::default();
    trial.figures.tools = own.len();
    trial.figures.import = took;
    for tool in &own {
        let row = rows.iter().find(|row| row["mcp_tool_name"] == tool["name"]);
        let id = row.map_or(&Value::Null, |row| &row["tool_id"]);
        match listed.iter().find(|listed| listed["name"] == *id) {
            Some(listed) => trial.compare(server, tool, listed),
            None => trial.findings.push(hidden(tool, id, &imported)),
        }
    }
    let row = rows.iter().find(|row| row["mcp_tool_name"] == server.tool.as_str());
    let id = row.and_then(|row| row["tool_id"].as_str());
    let id = id.ok_or_else(|| Failure::new(format!("there is no tool `{}`", server.tool)))?;
    let started = Instant::now();
    let arguments = filled(&server.arguments, &workspace);
    let answer = agent.ask("tools/call", &json!({"name": id, "arguments": arguments}))?;
    trial.figures.call = started.elapsed();
    if !is_answer(&answer, server.answer.as_deref()) {
        trial.findings.push(format!("{}: {answer}", server.tool));
    }
    Ok(trial)
}

impl Trial {
    /// Compares the listing of an agent with that of the server.
    fn compare(&mut self, server: &PublishedServer, own: &Value, listed: &Value) {
        self.figures.callable += 1;
        let text = |tool: &Value| {
            let text = tool["description"].as_str().map(|text| text.trim().replace("\r\n", "\n"));
            text.filter(|text| !text.is_empty())
        };
        if let Some(description) = text(own) {
            let is_kept = text(listed).is_some_and(|listed| listed == description);
            self.figures.descriptions[0] += 1;
            self.figures.descriptions[1] += usize::from(is_kept);
            if !is_kept && server.other_texts.is_none() {
                self.findings.push(format!("{}: the description differs", own["name"]));
            }
        }
        if own["outputSchema"].is_object() {
            let is_kept = own["outputSchema"] == listed["outputSchema"];
            self.figures.output_schemas[0] += 1;
            self.figures.output_schemas[1] += usize::from(is_kept);
            if !is_kept {
                self.findings.push(format!("{}: the output schema differs", own["name"]));
            }
        }
        if own["inputSchema"] != listed["inputSchema"] {
            self.findings.push(format!("{}: the input schema differs", own["name"]));
        }
    }
}

/// Makes a workspace whose only runtime is the server.
fn prepared(brigade: &Path, cache: &Cache, server: &PublishedServer) -> Result<Workspace, Failure> {
    let mut workspace = Workspace::within(cache.place()?, brigade)?;
    workspace.variable("HOME", workspace.folder().join("home").display().to_string());
    workspace.write("../home/.keep", "")?;
    workspace.write("../bare/.keep", "")?;
    workspace.write("data/old.txt", "old\n")?;
    let (mut bindings, mut labels) = (Vec::new(), Vec::new());
    for (name, value) in &server.variables {
        workspace.variable(format!("SERVERS_{name}"), value);
        bindings.push(format!("{name} = \"SERVERS_{name}\""));
        labels.push(name.as_str());
    }
    let read_paths: Vec<String> =
        cache.read_paths(server)?.iter().map(|path| path.display().to_string()).collect();
    let policy = format!(
        "allowed_families = [\"mcp\"]\nallowed_effects = {EFFECTS}\nmax_timeout = 60\n\
         required_approval_modes = [\"on-request\", \"always\"]\nenv_bindings = {{ {} }}\n\
         [sandbox]\nmode = \"enforce\"\nread_paths = {read_paths:?}\n\
         [[auto_approve]]\nname = \"all\"\ntools = [\"*\"]\neffects = {EFFECTS}\n",
        bindings.join(", ")
    );
    workspace.write(".brigade/tools/policy.toml", &policy)?;
    let command: Vec<String> =
        words(cache, server, &workspace)?.iter().map(|word| format!("'{word}'")).collect();
    let command = command.join(" ");
    let runtime = format!(
        "[[runtime]]\nid = \"{0}\"\nname = \"{0}\"\ncommand = {command:?}\non_demand = true\ntimeout = 60\n\
         env_labels = {labels:?}\n",
        server.id
    );
    workspace.write(".brigade/tools/runtimes.toml", &runtime)?;
    Ok(workspace)
}

/// Returns the command of a server with its arguments.
fn words(cache: &Cache, server: &PublishedServer, workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let arguments = server.words.iter().map(|word| fill(word, workspace));
    Ok(cache.command(server)?.into_iter().chain(arguments).collect())
}

/// Replaces `{workspace}` by the directory of the workspace.
fn fill(text: &str, workspace: &Workspace) -> String {
    text.replace("{workspace}", &workspace.root().display().to_string())
}

fn filled(arguments: &Value, workspace: &Workspace) -> Value {
    match arguments {
        Value::Null => json!({}),
        some => serde_json::from_str(&fill(&some.to_string(), workspace)).unwrap_or_default(),
    }
}

/// Says why an agent cannot call a tool.
fn hidden(tool: &Value, id: &Value, imported: &Value) -> String {
    let enabled = imported["enabled"]["tools"].as_array().into_iter().flatten();
    let row = enabled.into_iter().find(|row| row["tool_id"] == *id);
    let why = row.map_or_else(|| "it was not imported".to_owned(), |row| row["gates"].to_string());
    format!("{} is not callable: {why}", tool["name"])
}

/// Returns whether the server answered, with this text if there is one.
fn is_answer(answer: &Value, text: Option<&str>) -> bool {
    let result = &answer["result"];
    if let Some(text) = text {
        return result["isError"] != true && result.to_string().contains(text);
    }
    let call = &result["_meta"]["brigade/call"];
    let said = result["content"][0]["text"].as_str().unwrap_or_default();
    match call["code"].as_str() {
        None => call["status"] == "completed",
        Some("tool_error") => true,
        Some(_) => said.starts_with("the call was answered with error"),
    }
}
