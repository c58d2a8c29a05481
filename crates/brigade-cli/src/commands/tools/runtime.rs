//! `brigade tools runtime`

mod doctor;
mod init;
mod list;
mod logs;
mod progress;
mod restart;
mod show;
mod start;
mod status;
mod stop;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Runtime {
    Init(init::InitArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Status(status::StatusArgs),
    Start(start::StartArgs),
    Stop(stop::StopArgs),
    Restart(restart::RestartArgs),
    Logs(logs::LogsArgs),
    Doctor(doctor::DoctorArgs),
}

pub(crate) fn run(command: &Runtime, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Runtime::Init(arguments) => output.finish(init::run(session, arguments)),
        Runtime::List(arguments) => output.finish(list::run(session, arguments)),
        Runtime::Show(arguments) => output.finish(show::run(session, arguments)),
        Runtime::Status(arguments) => output.finish(status::run(session, arguments)),
        Runtime::Start(arguments) => {
            let result = start::run(session, arguments, output);
            output.finish(result)
        }
        Runtime::Stop(arguments) => output.finish(stop::run(session, arguments)),
        Runtime::Restart(arguments) => {
            let result = restart::run(session, arguments, output);
            output.finish(result)
        }
        Runtime::Logs(arguments) => logs::run(session, arguments, output),
        Runtime::Doctor(arguments) => output.finish(doctor::run(session, arguments)),
    }
}
