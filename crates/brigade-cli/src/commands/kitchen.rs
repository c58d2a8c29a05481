//! `brigade kitchen`. The verbs of the shell program also exist at the top level.

mod answer;
mod approve;
mod clean;
pub(crate) mod cost;
mod decisions;
mod demo;
mod init;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod plan;
mod receipts;
pub(crate) mod resume;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod ticket;
pub(crate) mod validate;
mod workers;

use brigade::Exit;
use clap::Subcommand;

use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Kitchen {
    Init(init::InitArgs),
    Plan(plan::PlanArgs),
    Validate(validate::ValidateArgs),
    Approve(approve::ApproveArgs),
    Service(service::ServiceArgs),
    Ticket(ticket::TicketArgs),
    Resume(resume::ResumeArgs),
    Status(status::StatusArgs),
    Decisions(decisions::DecisionsArgs),
    Answer(answer::AnswerArgs),
    Summary(summary::SummaryArgs),
    Map(map::MapArgs),
    Workers(workers::WorkersArgs),
    Cost(cost::CostArgs),
    Log(log::LogArgs),
    /// List what was started, or verify that its receipts are unchanged
    ///
    /// Every start of a worker and of an approved command leaves a receipt, and the receipts form a chain.
    Receipts(Lazy<receipts::ReceiptsArgs>),
    Clean(clean::CleanArgs),
    Demo(demo::DemoArgs),
}

pub(crate) fn run(command: &Kitchen, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Kitchen::Init(arguments) => output.finish(init::run(session, arguments)),
        Kitchen::Plan(arguments) => plan::run(session, arguments, output),
        Kitchen::Map(arguments) => output.finish(map::run(session, arguments)),
        Kitchen::Validate(arguments) => output.finish(validate::run(session, arguments)),
        Kitchen::Approve(arguments) => approve::run(session, arguments, output),
        Kitchen::Service(arguments) => service::run(session, arguments, output),
        Kitchen::Ticket(arguments) => ticket::run(session, arguments, output),
        Kitchen::Resume(arguments) => resume::run(session, arguments, output),
        Kitchen::Status(arguments) => status::run(session, arguments, output),
        Kitchen::Decisions(arguments) => output.finish(decisions::run(session, arguments)),
        Kitchen::Answer(arguments) => output.finish(answer::run(session, arguments)),
        Kitchen::Summary(arguments) => output.finish(summary::run(session, arguments)),
        Kitchen::Workers(arguments) => output.finish(workers::run(session, arguments)),
        Kitchen::Demo(arguments) => demo::run(session, arguments, output),
        Kitchen::Cost(arguments) => output.finish(cost::run(session, arguments)),
        Kitchen::Log(arguments) => log::run(session, arguments, output),
        Kitchen::Receipts(arguments) => receipts::run(session, &arguments.0, output),
        Kitchen::Clean(arguments) => output.finish(clean::run(session, arguments)),
    }
}
