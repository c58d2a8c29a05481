//! `brigade tools call`

mod arguments;
mod list;
mod queue;
mod review;
mod run;

use brigade::core::{CallId, IdPrefix};
use brigade::{Calls, Error, Exit, Request, Step};
use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use self::arguments::CallArguments;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Call {
    /// Check a call and show every blocker, without running or storing it
    Plan {
        /// Id of the tool
        id: String,

        #[command(flatten)]
        arguments: CallArguments,
    },
    Queue(queue::QueueArgs),
    List(list::ListArgs),
    /// Show a call, its arguments and its blockers
    Show {
        /// Id of the call, or a unique prefix
        call: IdPrefix,

        /// Show every detail
        #[arg(long)]
        full: bool,
    },
    #[command(hide = true)]
    /// Approve pending or held calls, without running them
    ///
    /// Shows what was approved: the command line, what it may access, what the approval binds, and how the call differs
    /// from the last approved call of the tool.
    Approve {
        /// Ids of the calls, or unique prefixes; a call that is named twice is decided once
        #[arg(required = true, value_name = "CALL")]
        calls: Vec<IdPrefix>,

        /// Show every detail of what was approved
        #[arg(long)]
        full: bool,
    },
    #[command(hide = true)]
    /// Reject calls
    ///
    /// Also ends a call that waits for a checkpoint or can be resumed. A running call cannot be rejected.
    Reject {
        /// Ids of the calls, or unique prefixes; a call that is named twice is decided once
        #[arg(required = true, value_name = "CALL")]
        calls: Vec<IdPrefix>,

        /// Reason for the decision
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        reason: String,
    },
    #[command(hide = true)]
    /// Put calls on hold for later review
    Hold {
        /// Ids of the calls, or unique prefixes; a call that is named twice is decided once
        #[arg(required = true, value_name = "CALL")]
        calls: Vec<IdPrefix>,

        /// Reason for the decision
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        reason: String,
    },
    Run(run::RunArgs),
}

pub(crate) fn run(command: &Call, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Call::Plan { id, arguments } => {
            let source = arguments.source(output)?;
            output.finish(session.workspace()?.calls().plan(Request::new(id).args(source))?)
        }
        Call::Queue(arguments) => queue::run(session, arguments, output)?,
        Call::List(arguments) => list::run(session, arguments, output)?,
        Call::Show { call, full } => {
            output.set_full(*full);
            output.finish(session.workspace()?.calls().show(call)?)
        }
        Call::Approve { calls, full } => {
            output.set_full(*full);
            review::decide_each(session, calls, Step::Approve, output, Calls::approve)?
        }
        Call::Reject { calls: named, reason } => {
            let decide = |calls: &Calls, call: &CallId| calls.reject(call, reason);
            review::decide_each(session, named, Step::Reject, output, decide)?
        }
        Call::Hold { calls: named, reason } => {
            let decide = |calls: &Calls, call: &CallId| calls.hold(call, reason);
            review::decide_each(session, named, Step::Hold, output, decide)?
        }
        Call::Run(arguments) => output.finish(run::run(session, arguments)?),
    })
}
