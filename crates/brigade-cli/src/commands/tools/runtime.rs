//! `brigade tools runtime`

mod logs;
mod progress;

use brigade::daily::OnExisting;
use brigade::report::Strictness;
use brigade::{Error, Exit};
use clap::Subcommand;

use self::progress::ProgressPrinter;
use crate::arguments::Seconds;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Runtime {
    /// Create runtimes.toml with an example
    Init {
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
    },
    /// List the runtimes and their state
    List,
    /// Show a runtime's configuration, process and files
    Show {
        /// Id of the runtime
        id: String,
    },
    /// Check which runtimes are running and healthy
    ///
    /// Runs the health commands of running runtimes.
    Status,
    /// Start a runtime and see whether it is ready
    ///
    /// A runtime is ready when its health command succeeds and it listens on its port, if these are configured. The
    /// command looks for 2 seconds, or as long as --wait says. A runtime that is not ready by then keeps running as
    /// `starting`; only --wait makes that a failure. A runtime that already runs is not started again.
    Start {
        /// Id of the runtime
        id: String,
        /// Wait this long for the runtime to be ready, and fail when it is not
        #[arg(long, value_name = "SECONDS")]
        wait: Option<Seconds>,
    },
    /// Stop a runtime and all processes that it started
    ///
    /// Only signals a process whose pid, start time and boot id match the runtime.
    Stop {
        /// Id of the runtime
        id: String,
    },
    /// Stop a runtime and start it again
    ///
    /// A runtime whose configuration does not allow a start is not stopped.
    Restart {
        /// Id of the runtime
        id: String,
        /// Wait this long for the runtime to be ready, and fail when it is not
        #[arg(long, value_name = "SECONDS")]
        wait: Option<Seconds>,
    },
    Logs(logs::LogsArgs),
    /// Check the runtimes
    ///
    /// Runs the health commands of running runtimes. Exits with 0 even if there are issues, unless runtimes.toml is
    /// missing or invalid. Use --strict to exit with 1.
    Doctor {
        /// Exit with 1 if there are issues
        #[arg(long)]
        strict: bool,
    },
}

pub(crate) fn run(
    command: &Runtime,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Runtime::Init { force } => {
            let existing = if *force { OnExisting::Overwrite } else { OnExisting::Keep };
            output.finish(session.workspace()?.runtimes().init(existing)?)
        }
        Runtime::List => output.finish(session.workspace()?.runtimes().list()?),
        Runtime::Show { id } => output.finish(session.workspace()?.runtimes().show(id)?),
        Runtime::Status => output.finish(session.workspace_to_run()?.runtimes().status()?),
        Runtime::Start { id, wait } => {
            let mut waiting = ProgressPrinter::new(session, output, id);
            let (runtimes, wait) = (session.workspace_to_run()?.runtimes(), wait.map(|wait| wait.0));
            let report = runtimes.start(id, wait, &mut |step| waiting.show(&step))?;
            output.finish(report)
        }
        Runtime::Stop { id } => output.finish(session.workspace()?.runtimes().stop(id)?),
        Runtime::Restart { id, wait } => {
            let mut waiting = ProgressPrinter::new(session, output, id);
            let (runtimes, wait) = (session.workspace_to_run()?.runtimes(), wait.map(|wait| wait.0));
            let report = runtimes.restart(id, wait, &mut |step| waiting.show(&step))?;
            output.finish(report)
        }
        Runtime::Logs(arguments) => logs::run(session, arguments, output)?,
        Runtime::Doctor { strict } => {
            let strictness = if *strict { Strictness::Strict } else { Strictness::Lenient };
            output.finish(session.workspace_to_run()?.runtimes().doctor(strictness)?)
        }
    })
}
