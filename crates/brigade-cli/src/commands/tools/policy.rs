//! `brigade tools policy`

mod doctor;
mod explain;
mod init;
mod show;
mod test;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    Init(init::InitArgs),
    Show(show::ShowArgs),
    Doctor(doctor::DoctorArgs),
    Explain(explain::ExplainArgs),
    Test(test::TestArgs),
}

pub(crate) fn run(command: &Policy, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Policy::Init(arguments) => output.finish(init::run(session, arguments)),
        Policy::Show(arguments) => output.finish(show::run(session, arguments)),
        Policy::Doctor(arguments) => output.finish(doctor::run(session, arguments)),
        Policy::Explain(arguments) => output.finish(explain::run(session, arguments)),
        Policy::Test(arguments) => output.finish(test::run(session, arguments)),
    }
}
