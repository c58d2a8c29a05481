//! `brigade team`

mod join;
mod member;
mod prune;
mod roster;
mod rule;
mod runner;

use std::path::PathBuf;

use brigade::team::{ImportStep, LogPlace, TeamPlace};
use brigade::{Error, Exit};
use clap::{Args, Subcommand};

use crate::arguments::word;
use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    /// Check the database of the team, and the connection to it
    ///
    /// Checks the team that the workspace has joined, or else the database of the owner. Exits with 1 if a check
    /// failed.
    Doctor {
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Write the calls, checkpoints and receipts of this workspace in the team as files
    ///
    /// The directory then has an ordinary state, whose receipts can be verified without the database. Approvals do not
    /// count there.
    Export {
        /// Directory without calls and receipts, made if it does not exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Bring the calls, checkpoints and receipts of this workspace's files into the team
    ///
    /// What the team has already is left as it is, so it can be repeated. What was approved and has not run waits for a
    /// new approval. The files stay. Needs the roles queuer and reviewer, and a key, which signs what was brought.
    Import {
        /// Only show what would be brought
        #[arg(long)]
        dry_run: bool,
    },
    /// Make the tables, functions and roles of a team in a PostgreSQL database
    ///
    /// Run it once, as the owner of the database, who may create roles. Again, it only changes where logs are, if that
    /// is said.
    Init {
        /// Where raw logs of runs are: only on the host that ran, or the end of each also in the database
        #[arg(long, value_name = "PLACE", value_parser = word::<LogPlace>())]
        logs: Option<LogPlace>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    Join(join::JoinArgs),
    /// Use the queue in the files of the workspace again
    ///
    /// Calls and receipts in the database stay there.
    Leave,
    /// Add, remove and list the members of the team
    #[command(subcommand)]
    Member(Lazy<member::Member>),
    /// Update the tables and functions of the team for this version of Brigade
    ///
    /// Run it as the owner of the database. Earlier versions of Brigade cannot use the team any more. Again, it changes
    /// nothing.
    Migrate {
        #[command(flatten)]
        place: PlaceArgs,
    },
    Prune(prune::PruneArgs),
    Roster(roster::RosterArgs),
    /// Add, remove and list the rules about how many people approve
    #[command(subcommand)]
    Rule(Lazy<rule::Rule>),
    Runner(runner::RunnerArgs),
    /// Show the team of the workspace: database, runners, calls and what needs attention
    Status,
    /// Verify the receipts of all hosts, and the approvals of each call that ran
    ///
    /// Exits with 1 if something was found. A late report alone does not count.
    Verify,
    /// Let runners claim calls after the database was replaced
    ///
    /// A promoted replica or a restored backup may have forgotten claims, so nothing is claimed before all hosts have
    /// reported theirs. Accept it if a host does not come back, and nothing runs there any more.
    AcceptFailover,
}

pub(crate) fn run(command: &Team, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Team::Doctor { place } => output.finish(team(session)?.doctor(place.place())?),
        Team::Export { directory } => output.finish(team(session)?.export(directory)?),
        Team::Import { dry_run } => {
            let step = if *dry_run { ImportStep::DryRun } else { ImportStep::Write };
            output.finish(team(session)?.import(step)?)
        }
        Team::Init { logs, place } => output.finish(team(session)?.init(place.place(), *logs)?),
        Team::Join(arguments) => join::run(session, arguments, output)?,
        Team::Leave => output.finish(team(session)?.leave()?),
        Team::Member(command) => member::run(&command.0, session, output)?,
        Team::Migrate { place } => output.finish(team(session)?.migrate(place.place())?),
        Team::Prune(arguments) => output.finish(prune::run(session, arguments)?),
        Team::Roster(arguments) => roster::run(session, arguments, output)?,
        Team::Rule(command) => output.finish(rule::run(&command.0, session)?),
        Team::Runner(arguments) => runner::run(session, arguments, output)?,
        Team::Status => output.finish(team(session)?.status()?),
        Team::Verify => output.finish(team(session)?.verify()?),
        Team::AcceptFailover => output.finish(team(session)?.accept_failover()?),
    })
}

/// The database of the team.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
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
