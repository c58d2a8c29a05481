//! `cargo xtask interop`: calls tools of real MCP servers through all steps of a call.
//!
//! Published servers are installed once at pinned versions below `target/interop`. Everything else works offline: each
//! server is imported, its entries are reviewed, the server is the runtime, and calls are queued, approved and run.
//! Each server runs in its sandbox in the mode `enforce` without network access; npm servers run from `node_modules` in
//! the project. The receipts are compared with the expected ones.
//!
//! `cargo xtask interop --programs` compares what agent programs list with what `tools discover` reads.

pub mod install;
mod programs;
mod servers;
mod workspace;

use std::path::PathBuf;

use crate::cargo::build;
use crate::repository::{Failure, Repository};
use install::InstalledServers;
use servers::{Expect, Server};
use workspace::ServerWorkspace;

/// Call tools of published MCP servers through plan, approval and run
///
/// Needs node, npm, python3 and git, and the network for the first installation
#[derive(Debug, clap::Args)]
pub struct InteropArguments {
    /// Use only servers whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Let agent programs from npm write their files, and compare their lists with `tools discover`
    #[arg(long)]
    programs: bool,
}

pub fn run(repository: &Repository, arguments: &InteropArguments) -> Result<(), Failure> {
    if arguments.programs {
        let brigade = build(repository)?;
        return programs::compare_all(
            &brigade,
            &folder(repository).join("programs"),
            arguments.only.as_deref(),
        );
    }
    let installed = InstalledServers::make(&folder(repository))?;
    drive_all(repository, &installed, arguments.only.as_deref())
}

/// Runs all servers. If they cannot be installed, prints a note and succeeds.
pub fn run_if_installable(repository: &Repository) -> Result<(), Failure> {
    match InstalledServers::make(&folder(repository)) {
        Ok(installed) => drive_all(repository, &installed, None),
        Err(failure) => {
            println!("real MCP servers were NOT checked: they cannot be installed: {failure}");
            Ok(())
        }
    }
}

fn folder(repository: &Repository) -> PathBuf {
    repository.root().join("target/interop")
}

fn drive_all(
    repository: &Repository,
    installed: &InstalledServers,
    only: Option<&str>,
) -> Result<(), Failure> {
    let brigade = build(repository)?;
    let mut servers = servers::all(installed);
    if let Some(text) = only {
        servers.retain(|server| server.id.contains(text));
    }
    let (mut calls, mut wrong) = (0, Vec::new());
    for server in &servers {
        match drive(&brigade, installed, server) {
            Ok(findings) => {
                calls += server.trials.len();
                println!(
                    "{}: {} of {} calls as expected",
                    server.id,
                    server.trials.len() - findings.len(),
                    server.trials.len()
                );
                wrong.extend(findings);
            }
            Err(failure) => wrong.push(format!("{}: {failure}", server.id)),
        }
    }
    for finding in &wrong {
        eprintln!("  {finding}");
    }
    println!("interop: {} servers, {calls} calls, {} not as expected", servers.len(), wrong.len());
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new("real MCP servers do not work with Brigade")) }
}

/// Imports a server into its own workspace and makes every call. Returns the deviations.
fn drive(
    brigade: &std::path::Path,
    installed: &InstalledServers,
    server: &Server,
) -> Result<Vec<String>, Failure> {
    let workspace = ServerWorkspace::make(brigade, installed, server)?;
    let unsupported = workspace.unsupported()?;
    let mut findings: Vec<String> = unsupported
        .iter()
        .map(|schema| format!("{}: a schema is not supported: {schema}", server.id))
        .collect();
    workspace.import(server)?;
    for trial in &server.trials {
        let called = format!("{} {} {}", server.id, trial.tool, trial.args);
        match workspace.call(server, trial) {
            Ok(receipt) => {
                let said = check(&receipt, &trial.expect);
                findings.extend(said.map(|said| format!("{called}: {said}")));
            }
            Err(failure) => findings.push(format!("{called}: {failure}")),
        }
    }
    findings.extend(workspace.leaks()?);
    Ok(findings)
}

/// Returns how a receipt deviates from the expected one.
fn check(receipt: &serde_json::Value, expect: &Expect) -> Option<String> {
    let text = |key: &str| receipt[key].as_str().unwrap_or_default().to_owned();
    let (status, kind) = (text("status"), text("mcp_error_kind"));
    let summary = text("mcp_response_text");
    if status != expect.status || kind != expect.kind {
        return Some(format!("{status} {kind}, not {} {}: {summary}", expect.status, expect.kind));
    }
    if let Some(part) = expect.says.iter().find(|part| !summary.contains(*part)) {
        return Some(format!("`{part}` is not in: {summary}"));
    }
    let sandbox = &receipt["sandbox"];
    if sandbox["mode"] != "enforce" || sandbox["network"] != false || sandbox["enforced"].is_null() {
        return Some(format!("the sandbox did not hold: {sandbox}"));
    }
    if receipt["mcp_pin"]["state"] == "changed" {
        return Some("the server lists the tool differently each time".to_owned());
    }
    None
}
