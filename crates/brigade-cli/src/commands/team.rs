//! `brigade team`

mod accept_failover;
mod doctor;
mod export;
mod import;
mod init;
mod join;
mod leave;
mod member;
mod migrate;
mod prune;
mod roster;
mod rule;
mod runner;
mod status;
mod verify;

use brigade::team::TeamPlace;
use brigade::{Error, Exit};
use clap::{Args, Subcommand};

use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    Doctor(doctor::DoctorArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Init(init::InitArgs),
    Join(join::JoinArgs),
    Leave(leave::LeaveArgs),
    /// Add, remove and list the members of the team
    #[command(subcommand)]
    Member(Lazy<member::Member>),
    Migrate(migrate::MigrateArgs),
    Prune(prune::PruneArgs),
    Roster(roster::RosterArgs),
    /// Add, remove and list the rules about how many people approve
    #[command(subcommand)]
    Rule(Lazy<rule::Rule>),
    Runner(runner::RunnerArgs),
    Status(status::StatusArgs),
    Verify(verify::VerifyArgs),
    AcceptFailover(accept_failover::AcceptFailoverArgs),
}

pub(crate) fn run(command: &Team, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Team::Doctor(arguments) => output.finish(doctor::run(session, arguments)),
        Team::Export(arguments) => output.finish(export::run(session, arguments)),
        Team::Import(arguments) => output.finish(import::run(session, arguments)),
        Team::Init(arguments) => output.finish(init::run(session, arguments)),
        Team::Join(arguments) => join::run(session, arguments, output),
        Team::Leave(arguments) => output.finish(leave::run(session, arguments)),
        Team::Member(command) => member::run(&command.0, session, output),
        Team::Migrate(arguments) => output.finish(migrate::run(session, arguments)),
        Team::Prune(arguments) => output.finish(prune::run(session, arguments)),
        Team::Roster(arguments) => roster::run(session, arguments, output),
        Team::Rule(command) => output.finish(rule::run(&command.0, session)),
        Team::Runner(arguments) => runner::run(session, arguments, output),
        Team::Status(arguments) => output.finish(status::run(session, arguments)),
        Team::Verify(arguments) => output.finish(verify::run(session, arguments)),
        Team::AcceptFailover(arguments) => output.finish(accept_failover::run(session, arguments)),
    }
}

/// The database of the team.
#[derive(Args, Debug)]
struct PlaceArgs {
    /// Address of the database without a password; otherwise BRIGADE_TEAM_URL, and then that of the joined team
    #[arg(long)]
    url: Option<String>,
    /// Schema of the tables, `brigade` by default
    #[arg(long)]
    schema: Option<String>,
}

impl PlaceArgs {
    fn place(&self) -> TeamPlace<'_> {
        TeamPlace { url: self.url.as_deref(), schema: self.schema.as_deref() }
    }
}

/// Returns the operations on the team. They need no `.brigade` directory.
fn team(session: &Session<'_>) -> Result<brigade::team::Team, Error> {
    Ok(session.workspace()?.team())
}
