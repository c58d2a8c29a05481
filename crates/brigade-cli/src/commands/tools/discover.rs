//! `brigade tools discover`

use brigade::Error;
use brigade::report::DiscoveryReport;
use brigade::tools::{DiscoverRequest, EntrySource, Scope, harness_labels};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::session::Session;

/// Show which MCP servers, skills and commands the agent programs on this machine have
///
/// Reads the files of 20 harnesses, their plugins, and their directories of skills and commands. Starts no program,
/// opens no connection and writes nothing. Values of variables, headers and URLs are never shown. A file that cannot be
/// read is listed as an issue. `brigade setup` puts servers behind the gateway, and `brigade tools sync` saves the
/// result. If an option is repeated, one of its values must match.
#[derive(Args, Debug)]
pub(crate) struct DiscoverArgs {
    /// Only this harness [default: those of tools.toml, or all]
    #[arg(long = "harness", value_name = "HARNESS", value_parser = PossibleValuesParser::new(harness_labels()), hide_possible_values = true)]
    harnesses: Vec<String>,

    /// Only entries of this source
    #[arg(long = "source", value_name = "SOURCE", value_enum)]
    sources: Vec<SourceWord>,

    /// Only files of this scope
    #[arg(long = "scope", value_name = "SCOPE", value_enum)]
    scopes: Vec<ScopeWord>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SourceWord {
    /// MCP servers
    Mcp,
    /// Skills and commands
    Skill,
    /// Tools of the harnesses themselves
    Harness,
}

impl SourceWord {
    const fn meaning(self) -> EntrySource {
        match self {
            SourceWord::Mcp => EntrySource::Mcp,
            SourceWord::Skill => EntrySource::Skill,
            SourceWord::Harness => EntrySource::Harness,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeWord {
    /// Files of the user and of the system, for all workspaces
    User,
    /// Files of the workspace, and of the user for this workspace
    Project,
}

impl ScopeWord {
    const fn meaning(self) -> Scope {
        match self {
            ScopeWord::User => Scope::User,
            ScopeWord::Project => Scope::Project,
        }
    }
}

pub(crate) fn run(session: &Session<'_>, arguments: &DiscoverArgs) -> Result<DiscoveryReport, Error> {
    session.workspace()?.registry().discover(&DiscoverRequest {
        harnesses: (!arguments.harnesses.is_empty()).then(|| arguments.harnesses.clone()),
        sources: arguments.sources.iter().map(|source| source.meaning()).collect(),
        scopes: arguments.scopes.iter().map(|scope| scope.meaning()).collect(),
    })
}
