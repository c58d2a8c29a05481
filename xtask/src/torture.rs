//! `cargo xtask torture`: repeats the randomized tests thousands of times.

mod proxy;
mod random;
mod team;
pub mod world;

use std::path::PathBuf;

use crate::cargo::{cargo, run_command};
use crate::repository::{Failure, Repository};

pub use team::{Homes, make_team, run_if_installed as team_if_installed};

/// Kill processes and misbehave thousands of times, and check that nothing is lost or left behind
#[derive(Debug, clap::Args)]
pub struct TortureArguments {
    /// What is disturbed
    #[arg(value_enum, default_value = "processes")]
    kind: Kind,

    /// Number of trials of each kind [default: 3000, of a team 100]
    #[arg(long)]
    trials: Option<usize>,

    /// The seed of the trials of a team
    #[arg(long)]
    seed: Option<u64>,

    /// For a team, use this binary instead of building one
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// What is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Commands and the processes of tools
    Processes,
    /// Runners, reviewers and queuers of a team, the network and the database
    Team,
}

pub fn run(repository: &Repository, arguments: &TortureArguments) -> Result<(), Failure> {
    if arguments.kind == Kind::Team {
        return team::run(repository, arguments);
    }
    let trials = arguments.trials.unwrap_or(3_000).to_string();
    println!("misbehaving programs: {trials} trials");
    let words = "run --release --locked --quiet --package brigade-process --example torture --";
    let processes = run_command(cargo(repository, words.split(' ')).arg(&trials));
    println!("killed at any moment: {trials} trials");
    // Test the release build, because that is what users run.
    let words =
        "test --release --locked --quiet --package brigade-cli --test binary kill_anywhere -- --nocapture";
    let killed = run_command(cargo(repository, words.split(' ')).env("BRIGADE_KILL_TRIALS", &trials));
    processes.and(killed)
}
