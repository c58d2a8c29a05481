//! `brigade tools`

mod apply;
mod call;
mod checkpoint;
mod contracts;
mod defaults;
mod describe;
mod doctor;
mod harness;
mod import_issues;
mod init;
mod keys;
mod list;
mod parity;
mod plan;
mod policy;
mod run;
mod runtime;
mod search;
mod show;
mod state;
mod sync;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

/// Describe, plan, approve and run the tools of a workspace
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Tools {
    Init(init::InitArgs),
    Defaults(defaults::DefaultsArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Describe(describe::DescribeArgs),
    Contracts(contracts::ContractsArgs),
    Plan(plan::PlanArgs),
    Apply(apply::ApplyArgs),
    Doctor(doctor::DoctorArgs),
    ImportIssues(import_issues::ImportIssuesArgs),
    #[command(subcommand)]
    Call(call::Call),
    #[command(subcommand)]
    Run(run::Run),
    #[command(subcommand)]
    Checkpoint(checkpoint::Checkpoint),
    #[command(subcommand)]
    Policy(policy::Policy),
    #[command(subcommand)]
    Runtime(runtime::Runtime),
    #[command(subcommand)]
    Sync(sync::Sync),
    #[command(subcommand)]
    Parity(parity::Parity),
    #[command(subcommand)]
    Harness(harness::Harness),
    #[command(subcommand)]
    State(state::State),
    #[command(subcommand)]
    Keys(keys::Keys),
}

const EXAMPLES: &str = "\
The way of a call:
  brigade tools describe count-words
  brigade tools call plan count-words --args '{\"paths\": [\"README.md\"]}'
  brigade tools call queue count-words --args '{\"paths\": [\"README.md\"]}'
  brigade tools call approve CALL
  brigade tools call run CALL
  brigade tools run latest";

pub(crate) fn run(command: &Tools, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Tools::Init(arguments) => output.finish(init::run(session, arguments)),
        Tools::List(arguments) => list::run(session, arguments, output),
        Tools::Show(arguments) => output.finish(show::run(session, arguments)),
        Tools::Search(arguments) => output.finish(search::run(session, arguments)),
        Tools::Describe(arguments) => output.finish(describe::run(session, arguments)),
        Tools::Contracts(arguments) => output.finish(contracts::run(session, arguments)),
        Tools::Defaults(arguments) => output.finish(defaults::run(session, arguments)),
        Tools::Plan(arguments) => output.finish(plan::run(session, arguments)),
        Tools::Apply(arguments) => output.finish(apply::run(session, arguments)),
        Tools::ImportIssues(arguments) => output.finish(import_issues::run(session, arguments)),
        Tools::Doctor(arguments) => doctor::run(session, arguments, output),
        Tools::Call(command) => call::run(command, session, output),
        Tools::Run(command) => run::run(command, session, output),
        Tools::Checkpoint(command) => checkpoint::run(command, session, output),
        Tools::Policy(command) => policy::run(command, session, output),
        Tools::Runtime(command) => runtime::run(command, session, output),
        Tools::Sync(command) => sync::run(command, session, output),
        Tools::Parity(command) => parity::run(command, session, output),
        Tools::Harness(command) => harness::run(command, session, output),
        Tools::State(command) => state::run(command, session, output),
        Tools::Keys(command) => keys::run(command, session, output),
    }
}
