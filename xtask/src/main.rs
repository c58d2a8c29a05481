//! Tasks of the workspace: `cargo xtask COMMAND`.
//!
//! Each command is a file. What a program can write or check is written or checked here, so that people need not.

#![allow(clippy::disallowed_methods, reason = "tasks read and write the repository and start cargo")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is how a task reports")]

mod ci;
mod fixtures;
mod floors;
mod repository;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use repository::Repository;

/// Tasks of the Brigade workspace
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Ci(ci::CiArguments),
    Fixtures(fixtures::FixturesArguments),
    Tidy(tidy::TidyArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let repository = Repository::of_this_build();
    let done = match arguments.command {
        Task::Ci(arguments) => ci::run(&repository, &arguments),
        Task::Fixtures(arguments) => fixtures::run(&repository, &arguments),
        Task::Tidy(arguments) => tidy::run(&repository, &arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
