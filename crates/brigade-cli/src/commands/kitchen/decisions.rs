//! `brigade kitchen decisions`

use std::path::PathBuf;

use brigade::Error;
use brigade::kitchen::{DecisionFilter, DecisionsReport};
use clap::Args;

use crate::session::Session;

/// List the questions that wait for an answer
#[derive(Args, Debug)]
pub(crate) struct DecisionsArgs {
    /// Only questions of this PRD
    prd: Option<PathBuf>,

    /// Also list answered ones
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DecisionsArgs) -> Result<DecisionsReport, Error> {
    let which = if arguments.all { DecisionFilter::All } else { DecisionFilter::Waiting };
    session.workspace()?.kitchen().decisions(arguments.prd.as_deref(), which)
}
