//! `brigade work memory list`

use brigade::report::MemoryListReport;
use brigade::store::memory::Scope;
use brigade::{Error, MemoryFilter};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::session::Session;

/// List what agents remember: the pinned first, then the newest
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only list memories of this scope
    #[arg(long, value_parser = PossibleValuesParser::new(["project", "agent", "mission"]))]
    scope: Option<String>,

    /// Only list memories that this agent sees
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs) -> Result<MemoryListReport, Error> {
    let scope = arguments.scope.as_deref().and_then(Scope::from_word);
    let filter = MemoryFilter { scope, agent: arguments.agent.clone() };
    session.workspace()?.memories().list(&filter)
}
