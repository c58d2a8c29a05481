//! `brigade tools sync`

mod apply;
mod plan;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Sync {
    Plan(plan::PlanArgs),
    Apply(apply::ApplyArgs),
}

pub(crate) fn run(command: &Sync, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Sync::Plan(arguments) => output.finish(plan::run(session, arguments)),
        Sync::Apply(arguments) => output.finish(apply::run(session, arguments, output)),
    }
}
