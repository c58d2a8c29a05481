//! `cargo xtask torture`: repeats the randomized tests thousands of times.

use crate::cargo::{cargo, run_command};
use crate::repository::{Failure, Repository};

/// Kill processes and misbehave thousands of times, and check that nothing is lost or left behind
#[derive(Debug, clap::Args)]
pub struct TortureArguments {
    /// Number of trials of each kind
    #[arg(long, default_value_t = 3_000)]
    pub trials: usize,
}

pub fn run(repository: &Repository, arguments: &TortureArguments) -> Result<(), Failure> {
    let trials = arguments.trials.to_string();
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
