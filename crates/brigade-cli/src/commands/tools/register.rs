//! `brigade tools register`

use std::path::PathBuf;

use brigade::{Error, Level, RegisterReport, RegisterRequest};
use clap::{Args, ValueEnum};

use crate::session::Session;

/// Add tools of files to a catalog, disabled until they are reviewed
///
/// Reads entries of our own TOML, tools of other registries in YAML or JSON, and server.json of the MCP registry.
/// Starts nothing. An MCP server becomes a runtime, and `tools import mcp` brings its tools after a review.
#[derive(Args, Debug)]
pub(crate) struct RegisterArgs {
    /// Files with tools
    #[arg(value_name = "FILE", required = true)]
    sources: Vec<PathBuf>,
    /// The catalog to add to
    #[arg(long, value_name = "LEVEL", default_value = "project")]
    level: Registered,
    /// Another id for the only tool
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Replace entries that exist; they are disabled again
    #[arg(long)]
    replace: bool,
    /// Show what would be added, without writing
    #[arg(long)]
    dry_run: bool,
}

/// The level of a catalog that tools are registered in.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Registered {
    Project,
    User,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RegisterArgs) -> Result<RegisterReport, Error> {
    let sources = arguments.sources.iter().map(|path| session.absolute(path));
    session.workspace()?.catalog().register(&RegisterRequest {
        sources: sources.collect::<Result<_, Error>>()?,
        level: match arguments.level {
            Registered::Project => Level::Project,
            Registered::User => Level::User,
        },
        id: arguments.id.clone(),
        replace: arguments.replace,
        dry_run: arguments.dry_run,
    })
}
