//! `brigade tools`

mod call;
mod checkpoint;
mod contracts;
mod describe;
mod init;
mod list;
mod policy;
mod run;
mod search;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

/// Describe, plan, approve and run the tools of a workspace
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Tools {
    Init(init::InitArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Describe(describe::DescribeArgs),
    Contracts(contracts::ContractsArgs),
    #[command(subcommand)]
    Call(call::Call),
    #[command(subcommand)]
    Run(run::Run),
    #[command(subcommand)]
    Checkpoint(checkpoint::Checkpoint),
    #[command(subcommand)]
    Policy(policy::Policy),
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
        Tools::List(arguments) => output.finish(list::run(session, arguments)),
        Tools::Show(arguments) => output.finish(show::run(session, arguments)),
        Tools::Search(arguments) => output.finish(search::run(session, arguments)),
        Tools::Describe(arguments) => output.finish(describe::run(session, arguments)),
        Tools::Contracts(arguments) => output.finish(contracts::run(session, arguments)),
        Tools::Call(command) => call::run(command, session, output),
        Tools::Run(command) => run::run(command, session, output),
        Tools::Checkpoint(command) => checkpoint::run(command, session, output),
        Tools::Policy(command) => policy::run(command, session, output),
    }
}
