//! `brigade tools registry`

use brigade::report::{RegistriesReport, RegistryInfoReport, RegistrySearchReport};
use brigade::{Error, Exit};
use clap::{Args, Subcommand};

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Registry {
    Add(AddArgs),
    List(ListArgs),
    Remove(RemoveArgs),
    Search(SearchArgs),
    Info(InfoArgs),
}

/// Add a registry of tools
///
/// A URL has the API of the official MCP registry, and the policy must name its origin in remote of [registry]. A FILE
/// has a list of servers in JSON, as that API answers; it is pinned as it is now.
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// URL of the registry, or a file
    #[arg(value_name = "URL|FILE")]
    source: String,
    /// Name of the registry; by default its host, or the name of the file
    #[arg(long)]
    name: Option<String>,
}

/// List the registries of tools
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

/// Forget a registry of tools
///
/// Registered tools stay.
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Name of the registry
    name: String,
}

/// Search the registries of tools
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Words
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
}

/// Show a server of a registry, and pin what it is now
///
/// Other content for a pinned version is refused. `tools register registry:NAME` registers the server.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Name of the server, with @VERSION for another one than the newest
    #[arg(value_name = "NAME")]
    name: String,
    /// Pin content that changed
    #[arg(long)]
    accept: bool,
}

pub(crate) fn run(command: &Registry, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Registry::Add(arguments) => output.finish(add(session, arguments)),
        Registry::List(_) => output.finish(list(session)),
        Registry::Remove(arguments) => output.finish(remove(session, arguments)),
        Registry::Search(arguments) => output.finish(search(session, arguments)),
        Registry::Info(arguments) => output.finish(info(session, arguments)),
    }
}

fn add(session: &Session<'_>, arguments: &AddArgs) -> Result<RegistriesReport, Error> {
    session.workspace()?.catalog().add_registry(&arguments.source, arguments.name.as_deref())
}

fn list(session: &Session<'_>) -> Result<RegistriesReport, Error> {
    session.workspace()?.catalog().registries()
}

fn remove(session: &Session<'_>, arguments: &RemoveArgs) -> Result<RegistriesReport, Error> {
    session.workspace()?.catalog().remove_registry(&arguments.name)
}

fn search(session: &Session<'_>, arguments: &SearchArgs) -> Result<RegistrySearchReport, Error> {
    session.workspace()?.catalog().search_registries(&arguments.words.join(" "))
}

fn info(session: &Session<'_>, arguments: &InfoArgs) -> Result<RegistryInfoReport, Error> {
    session.workspace()?.catalog().registry_info(&arguments.name, arguments.accept)
}
