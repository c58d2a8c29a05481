//! `brigade tools register`

use std::ffi::OsString;
use std::path::Path;

use brigade::Error;
use brigade::report::RegisterReport;
use brigade::tools::{Level, RegisterRequest, RegisterSource};
use clap::{Args, ValueEnum};

use crate::session::Session;

/// Add tools of files and of agent programs to a catalog, disabled until they are reviewed
///
/// A FILE has entries of our own TOML, tools of other registries in YAML or JSON, or is server.json of the MCP
/// registry, or an .mcpb bundle, which is unpacked. A REF is what `tools discover` names: mcp:NAME, skill:NAME or
/// harness:HARNESS.TOOL, with @HARNESS/SCOPE where definitions differ; or registry:ID, an entry of a tools registry
/// that is read in place. Starts nothing. An MCP server becomes a runtime; after a review, `tools enable` brings its
/// tools.
#[derive(Args, Debug)]
pub(crate) struct RegisterArgs {
    /// Files with tools, and ids of discovered entries
    #[arg(value_name = "FILE|REF", required = true)]
    sources: Vec<OsString>,
    /// The catalog to add to
    #[arg(long, value_name = "LEVEL", default_value = "project")]
    level: RegisterLevel,
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
enum RegisterLevel {
    Project,
    User,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RegisterArgs) -> Result<RegisterReport, Error> {
    let sources = arguments.sources.iter().map(|source| {
        let is_reference = |text: &&str| {
            ["mcp:", "skill:", "harness:", "registry:"].iter().any(|kind| text.starts_with(kind))
        };
        Ok(match source.to_str().filter(is_reference) {
            Some(reference) => RegisterSource::Reference(reference.to_owned()),
            None => RegisterSource::File(session.absolute(Path::new(source))?),
        })
    });
    session.workspace()?.catalog().register(&RegisterRequest {
        sources: sources.collect::<Result<_, Error>>()?,
        level: match arguments.level {
            RegisterLevel::Project => Level::Project,
            RegisterLevel::User => Level::User,
        },
        id: arguments.id.clone(),
        replace: arguments.replace,
        dry_run: arguments.dry_run,
    })
}
