//! `cargo xtask servers`: puts published MCP servers behind `brigade serve`, each with one command.
//!
//! The servers of `servers/servers.toml` are installed once below `target/servers`. Each is imported under a sandbox
//! that enforces, with `--enable` and the hints of the server. Then an agent lists the tools and calls one of them. The
//! listing is compared with that of the server itself.

mod list;
mod trial;

use std::path::PathBuf;

use crate::cargo::build;
use crate::repository::{Failure, Repository};
use list::published;
use trial::{Figures, try_server};

/// Import published MCP servers, and compare what an agent sees with what each server lists
///
/// Needs node, npm and python3, and the network for the first installation
#[derive(Debug, clap::Args)]
pub struct ServersArguments {
    /// Use only servers whose id contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

pub fn run(repository: &Repository, arguments: &ServersArguments) -> Result<(), Failure> {
    let mut servers = published()?;
    if let Some(text) = &arguments.only {
        servers.retain(|server| server.id.contains(text));
    }
    let cache = Cache { folder: repository.root().join("target/servers") };
    cache.install(&servers)?;
    let brigade = build(repository)?;
    println!("| server | tools | callable | descriptions | output schemas | import, s | call, s |");
    println!("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let (mut total, mut findings) = (Figures::default(), Vec::new());
    for server in &servers {
        match try_server(&brigade, &cache, server) {
            Ok(trial) => {
                println!("{}", trial.figures.row(&server.id));
                total.add(&trial.figures);
                findings.extend(trial.findings.iter().map(|found| format!("{}: {found}", server.id)));
            }
            Err(failure) => findings.push(format!("{}: {failure}", server.id)),
        }
    }
    println!("{}", total.row(&format!("all {}", servers.len())));
    for finding in &findings {
        println!("  {finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("{count} findings"))),
    }
}

/// The directory with the installed servers.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
}
