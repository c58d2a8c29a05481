//! `brigade tools registry`

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Registry {
    /// Add a registry of tools
    ///
    /// A URL has the API of the official MCP registry, and the policy must name its origin in remote of [registry]. A
    /// FILE has a list of servers in JSON, as that API answers; it is pinned as it is now.
    Add {
        /// URL of the registry, or a file
        #[arg(value_name = "URL|FILE")]
        source: String,
        /// Name of the registry; by default its host, or the name of the file
        #[arg(long)]
        name: Option<String>,
    },
    /// List the registries of tools
    List,
    /// Forget a registry of tools
    ///
    /// Registered tools stay.
    Remove {
        /// Name of the registry
        name: String,
    },
    /// Search the registries of tools
    Search {
        /// Words
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
    },
    /// Show a server of a registry, and pin what it is now
    ///
    /// Other content for a pinned version is refused. `tools register registry:NAME` registers the server.
    Info {
        /// Name of the server, with @VERSION for another one than the newest
        #[arg(value_name = "NAME")]
        name: String,
        /// Pin content that changed
        #[arg(long)]
        accept: bool,
    },
}

pub(crate) fn run(
    command: &Registry,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let catalog = session.workspace()?.catalog();
    Ok(match command {
        Registry::Add { source, name } => output.finish(catalog.add_registry(source, name.as_deref())?),
        Registry::List => output.finish(catalog.registries()?),
        Registry::Remove { name } => output.finish(catalog.remove_registry(name)?),
        Registry::Search { words } => output.finish(catalog.search_registries(&words.join(" "))?),
        Registry::Info { name, accept } => output.finish(catalog.registry_info(name, *accept)?),
    })
}
