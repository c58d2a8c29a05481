//! Tasks of the workspace: `cargo xtask COMMAND`.
//!
//! Each command is a module. It generates or checks files that people would otherwise maintain by hand.

#![allow(clippy::disallowed_methods, reason = "tasks read and write the repository and start cargo")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is how a task reports")]

mod bench;
mod cargo;
mod ci;
mod conformance;
mod dependencies;
mod dist;
mod docs;
mod features;
mod fixtures;
mod floors;
mod generated;
mod interop;
mod mcp_client;
mod pictures;
mod postgres;
mod redaction;
mod repository;
mod schemas;
mod servers;
mod skills;
mod tidy;
mod torture;
mod web;
mod workspace;

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
    Bench(bench::BenchArguments),
    Ci(ci::CiArguments),
    Conformance(conformance::ConformanceArguments),
    Dist(dist::DistArguments),
    Docs(docs::DocsArguments),
    Features(features::FeaturesArguments),
    Fixtures(fixtures::FixturesArguments),
    Interop(interop::InteropArguments),
    Pictures(pictures::PicturesArguments),
    Redaction(redaction::RedactionArguments),
    Schemas(schemas::SchemasArguments),
    Servers(servers::ServersArguments),
    Skills(skills::SkillsArguments),
    Tidy(tidy::TidyArguments),
    Torture(torture::TortureArguments),
    Web(web::WebArguments),
    #[command(hide = true)]
    Measure,
    #[command(hide = true)]
    McpClient(bench::McpClientArguments),
    #[command(hide = true)]
    ParseToml(bench::ParseTomlArguments),
    #[command(hide = true)]
    ParseJson(bench::ParseJsonArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let repository = Repository::of_this_build();
    let done = match arguments.command {
        Task::Bench(arguments) => bench::run(&repository, &arguments),
        Task::Ci(arguments) => ci::run(&repository, &arguments),
        Task::Conformance(arguments) => conformance::run(&repository, &arguments),
        Task::Dist(arguments) => dist::run(&repository, &arguments),
        Task::Docs(arguments) => docs::run(&repository, &arguments),
        Task::Features(arguments) => features::run(&repository, &arguments),
        Task::Fixtures(arguments) => fixtures::run(&repository, &arguments),
        Task::Interop(arguments) => interop::run(&repository, &arguments),
        Task::Pictures(arguments) => pictures::run(&repository, &arguments),
        Task::Redaction(arguments) => redaction::run(&repository, &arguments),
        Task::Schemas(arguments) => schemas::run(&repository, &arguments),
        Task::Servers(arguments) => servers::run(&repository, &arguments),
        Task::Skills(arguments) => skills::run(&repository, &arguments),
        Task::Tidy(arguments) => tidy::run(&repository, &arguments),
        Task::Torture(arguments) => torture::run(&repository, &arguments),
        Task::Web(arguments) => web::run(&repository, &arguments),
        Task::Measure => bench::measure_children(),
        Task::McpClient(arguments) => bench::mcp_client(&arguments),
        Task::ParseToml(arguments) => bench::parse_toml(&arguments),
        Task::ParseJson(arguments) => bench::parse_json(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
