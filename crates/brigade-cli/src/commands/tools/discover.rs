//! `brigade tools discover`

use brigade::{DiscoverRequest, DiscoverSource, DiscoveryReport, Error, Scope, harness_labels};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::session::Session;

/// Show which MCP servers, skills and commands the agent programs on this machine have
///
/// Reads the files of 17 harnesses and their directories of skills and commands. Starts no program, opens no
/// connection and writes nothing. Values of variables, headers and URLs are never shown. A file that cannot be read is
/// listed as an issue. `brigade tools sync` remembers what was found.
#[derive(Args, Debug)]
pub(crate) struct DiscoverArgs {
    /// Only this harness; may be given several times [default: those of tools.toml, or all]
    #[arg(long = "harness", value_name = "HARNESS", value_parser = PossibleValuesParser::new(harness_labels()), hide_possible_values = true)]
    harnesses: Vec<String>,

    /// Only entries of this source
    #[arg(long, value_enum)]
    source: Option<SourceWord>,

    /// Only files of this scope
    #[arg(long, value_enum)]
    scope: Option<ScopeWord>,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeWord {
    /// Files of the user and of the system, for all workspaces
    User,
    /// Files of the workspace, and of the user for this workspace
    Project,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DiscoverArgs) -> Result<DiscoveryReport, Error> {
    session.workspace()?.registry().discover(&DiscoverRequest {
        harnesses: (!arguments.harnesses.is_empty()).then(|| arguments.harnesses.clone()),
        source: arguments.source.map(|source| match source {
            SourceWord::Mcp => DiscoverSource::Mcp,
            SourceWord::Skill => DiscoverSource::Skills,
            SourceWord::Harness => DiscoverSource::Natives,
        }),
        scope: arguments.scope.map(|scope| match scope {
            ScopeWord::User => Scope::User,
            ScopeWord::Project => Scope::Project,
        }),
    })
}
