//! `brigade tools policy`

use std::path::PathBuf;

use brigade::daily::OnExisting;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Create a policy for this host
    Init {
        /// Overwrite an existing policy
        #[arg(long)]
        force: bool,
    },
    /// Show the policy
    Show,
    /// Check the policy, and the tools against it
    Doctor,
    /// Explain what the policy decides about a tool
    Explain {
        /// Id of the tool
        id: String,

        /// Also say which rule approves calls of this agent, or what is missing for it
        #[arg(long = "as", value_name = "AGENT")]
        agent: Option<String>,
    },
    /// Evaluate the tests in the policy
    ///
    /// A `[[test]]` table names a tool, or its family and effects, and what the policy decides about calls of it:
    /// allowed, blocked, asks or rule:NAME. Exits with 1 if one fails.
    Test {
        /// File to test instead of the policy
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

pub(crate) fn run(
    command: &Policy,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Policy::Init { force } => {
            let existing = if *force { OnExisting::Overwrite } else { OnExisting::Keep };
            output.finish(session.workspace()?.policy().init(existing)?)
        }
        Policy::Show => output.finish(session.workspace()?.policy().show()?),
        Policy::Doctor => output.finish(session.workspace()?.policy().doctor()?),
        Policy::Explain { id, agent } => {
            output.finish(session.workspace()?.policy().explain(id, agent.as_deref())?)
        }
        Policy::Test { file } => output.finish(session.workspace()?.policy().test(file.as_deref())?),
    })
}
