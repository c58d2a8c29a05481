//! `brigade kitchen`, whose verbs of the shell program also stand at the top level

mod answer;
mod approve;
mod cost;
mod decisions;
mod init;
pub(crate) mod resume;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod validate;
mod workers;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Kitchen {
    Init(init::InitArgs),
    Validate(validate::ValidateArgs),
    Approve(approve::ApproveArgs),
    Service(service::ServiceArgs),
    Resume(resume::ResumeArgs),
    Status(status::StatusArgs),
    Decisions(decisions::DecisionsArgs),
    Answer(answer::AnswerArgs),
    Summary(summary::SummaryArgs),
    Workers(workers::WorkersArgs),
    Cost(cost::CostArgs),
}

pub(crate) fn run(command: &Kitchen, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Kitchen::Init(arguments) => output.finish(init::run(session, arguments)),
        Kitchen::Validate(arguments) => output.finish(validate::run(session, arguments)),
        Kitchen::Approve(arguments) => approve::run(session, arguments, output),
        Kitchen::Service(arguments) => output.finish(service::run(session, arguments)),
        Kitchen::Resume(arguments) => output.finish(resume::run(session, arguments)),
        Kitchen::Status(arguments) => status::run(session, arguments, output),
        Kitchen::Decisions(arguments) => output.finish(decisions::run(session, arguments)),
        Kitchen::Answer(arguments) => output.finish(answer::run(session, arguments)),
        Kitchen::Summary(arguments) => output.finish(summary::run(session, arguments)),
        Kitchen::Workers(arguments) => output.finish(workers::run(session, arguments)),
        Kitchen::Cost(arguments) => output.finish(cost::run(session, arguments)),
    }
}
