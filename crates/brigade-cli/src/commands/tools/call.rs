//! `brigade tools call`

mod approve;
mod arguments;
mod hold;
mod list;
mod plan;
mod queue;
mod reject;
mod review;
mod run;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Call {
    Plan(plan::PlanArgs),
    Queue(queue::QueueArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    #[command(hide = true)]
    Approve(approve::ApproveArgs),
    #[command(hide = true)]
    Reject(reject::RejectArgs),
    #[command(hide = true)]
    Hold(hold::HoldArgs),
    Run(run::RunArgs),
}

pub(crate) fn run(command: &Call, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Call::Plan(arguments) => {
            let result = plan::run(session, arguments, output);
            output.finish(result)
        }
        Call::Queue(arguments) => queue::run(session, arguments, output),
        Call::List(arguments) => list::run(session, arguments, output),
        Call::Show(arguments) => {
            let result = show::run(session, arguments, output);
            output.finish(result)
        }
        Call::Approve(arguments) => approve::run(session, arguments, output),
        Call::Reject(arguments) => reject::run(session, arguments, output),
        Call::Hold(arguments) => hold::run(session, arguments, output),
        Call::Run(arguments) => output.finish(run::run(session, arguments)),
    }
}
