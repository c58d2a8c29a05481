//! The commands. Each file holds the arguments of one command and the call that it makes.

pub(crate) mod add;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod daily;
pub(crate) mod demo;
pub(crate) mod kitchen;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod setup;
#[cfg(feature = "team")]
pub(crate) mod team;
pub(crate) mod tools;
pub(crate) mod work;

use std::ops::ControlFlow;

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::arguments::Globals;
use crate::lazy::Lazy;
use crate::logging;
use crate::needs;
use crate::output::{Output, Shape};
use crate::session::Session;
use crate::surroundings::{Streams, Surroundings};

/// Returns the files of the sample workspace.
#[cfg(test)]
pub(crate) fn sample_files() -> Vec<brigade::NewFile> {
    demo::sample_files()
}

/// The top-level commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put the agent programs and servers of this machine behind the gateway
    Setup(Lazy<setup::SetupArgs>),
    /// Put a server behind the gateway, or tools of a file in the catalog
    Add(Lazy<add::AddArgs>),
    /// Enable tools of the catalog, and set their effects
    Enable(Lazy<tools::enable::EnableArgs>),
    /// Disable tools of the catalog
    Disable(Lazy<tools::enable::DisableArgs>),
    /// Show which MCP servers, skills and commands the agent programs on this machine have
    Discover(Lazy<tools::discover::DiscoverArgs>),
    /// List what waits for a person, with numbers for approve, reject and hold
    #[command(visible_alias = "p")]
    Pending(Lazy<daily::pending::PendingArgs>),
    /// Approve waiting calls; without arguments, ask about each
    Approve(Lazy<daily::decide::ApproveArgs>),
    /// Reject waiting calls; without arguments, ask about each
    Reject(Lazy<daily::decide::RejectArgs>),
    /// Put waiting calls on hold; without arguments, ask about each
    Hold(Lazy<daily::decide::HoldArgs>),
    /// Review what waits on a full screen: look, approve, reject, hold, answer and run
    Review(Lazy<daily::review::ReviewArgs>),
    /// Show what ran: when, for whom, what, who or which rule approved, and how it ended
    Log(Lazy<daily::log::LogArgs>),
    /// Show anything: a call, run, tool, agent, server, checkpoint, PRD, task or issue
    Show(Lazy<daily::show::ShowArgs>),
    /// Tell the life of a call or run: who asked, what decided, each run, and what would happen now
    Why(Lazy<daily::why::WhyArgs>),
    /// Explain a code: what it means, its causes, and what to do
    Explain(Lazy<daily::explain::ExplainArgs>),
    /// Describe, plan, approve and run tools
    #[command(subcommand)]
    Tools(Lazy<tools::Tools>),
    /// Review work that needs a decision
    #[command(subcommand)]
    Work(Lazy<work::Work>),
    /// Let a crew of coding agents work through a list of tasks
    #[command(subcommand)]
    Kitchen(Lazy<kitchen::Kitchen>),
    // Help shows the commands of the kitchen under `kitchen` only.
    /// Let the executive plan a feature as a PRD
    #[command(hide = true)]
    Plan(Lazy<kitchen::plan::PlanArgs>),
    /// Work through a PRD until all tasks are done or none can continue
    #[command(hide = true)]
    Service(Lazy<kitchen::service::ServiceArgs>),
    /// Work on one task until it ends or cannot continue
    #[command(hide = true)]
    Ticket(Lazy<kitchen::ticket::TicketArgs>),
    /// Continue a PRD after an interruption or a failure
    #[command(hide = true)]
    Resume(Lazy<kitchen::resume::ResumeArgs>),
    /// Show the progress of a PRD
    #[command(hide = true)]
    Status(Lazy<kitchen::status::StatusArgs>),
    /// Check a PRD, and show the first tier of each task
    #[command(hide = true)]
    Validate(Lazy<kitchen::validate::ValidateArgs>),
    /// Write a report of a PRD in Markdown
    #[command(hide = true)]
    Summary(Lazy<kitchen::summary::SummaryArgs>),
    /// Write the map of the code base, which the prompts of workers quote
    #[command(hide = true)]
    Map(Lazy<kitchen::map::MapArgs>),
    /// Show attempts, minutes and money of a PRD by tier and task
    #[command(hide = true)]
    Cost(Lazy<kitchen::cost::CostArgs>),
    /// Check, compact, export and adopt the state
    #[command(subcommand, hide = true)]
    State(Lazy<tools::state::State>),
    /// Share one queue between several people and hosts, in PostgreSQL
    #[cfg(feature = "team")]
    #[command(subcommand)]
    Team(Lazy<team::Team>),
    /// Offer the tools to agents as one MCP server
    #[cfg(feature = "serve")]
    Serve(Lazy<serve::ServeArgs>),
    /// See the whole story on made-up servers: setup, an allowed read, a write that waits, a script that changed
    Demo(Lazy<demo::DemoArgs>),
    /// Print a completion script for a shell
    Completions(Lazy<completions::CompletionsArgs>),
    /// Print what can follow on a command line
    #[command(hide = true)]
    Complete(Lazy<complete::CompleteArgs>),
}

/// Runs a command.
pub(crate) fn run(
    globals: &Globals,
    command: &Command,
    surroundings: &Surroundings,
    streams: &mut Streams<'_>,
) -> Exit {
    logging::start(globals, surroundings);
    let session = Session::new(globals, surroundings);
    let mut output = Output::new(Shape::from(globals), surroundings, streams).of_session(&session);
    match needs::check(command, &session, &mut output) {
        Ok(ControlFlow::Continue(())) => {}
        Ok(ControlFlow::Break(())) => return Exit::Done,
        Err(error) => return output.fail(&error),
    }
    if !draws_itself(command) {
        output.show_progress("working");
    }
    let exit = dispatch(globals, command, &session, surroundings, &mut output);
    let exit = exit.unwrap_or_else(|error| output.fail(&error));
    output.end_progress();
    exit
}

/// Returns whether a command writes to the terminal without its output, or has nothing to wait for.
fn draws_itself(command: &Command) -> bool {
    #[cfg(feature = "serve")]
    if matches!(command, Command::Serve(_)) {
        return true;
    }
    matches!(command, Command::Demo(_) | Command::Completions(_) | Command::Complete(_) | Command::Explain(_))
}

fn dispatch(
    globals: &Globals,
    command: &Command,
    session: &Session<'_>,
    surroundings: &Surroundings,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Command::Setup(arguments) => setup::run(session, &arguments.0, output)?,
        Command::Add(arguments) => add::run(session, &arguments.0, output)?,
        Command::Enable(Lazy(arguments)) => {
            tools::enable::run(session, &arguments.request(), arguments.yes(), output)?
        }
        Command::Disable(Lazy(arguments)) => {
            tools::enable::run(session, &arguments.request(), arguments.yes(), output)?
        }
        Command::Discover(arguments) => output.finish(tools::discover::run(session, &arguments.0)?),
        Command::Pending(arguments) => output.finish(daily::pending::run(session, &arguments.0)?),
        Command::Approve(arguments) => daily::decide::approve(session, &arguments.0, output)?,
        Command::Reject(arguments) => daily::decide::reject(session, &arguments.0, output)?,
        Command::Hold(arguments) => daily::decide::hold(session, &arguments.0, output)?,
        Command::Review(arguments) => daily::review::run(session, &arguments.0, output)?,
        Command::Log(arguments) => daily::log::run(session, &arguments.0, output)?,
        Command::Show(arguments) => daily::show::run(session, &arguments.0, output)?,
        Command::Why(arguments) => output.finish(daily::why::run(session, &arguments.0)?),
        Command::Explain(arguments) => {
            let explained = daily::explain::run(&arguments.0, output)?;
            output.finish(explained)
        }
        Command::Tools(command) => tools::run(&command.0, session, output)?,
        Command::Work(command) => work::run(&command.0, session, output)?,
        Command::Kitchen(command) => kitchen::run(&command.0, session, output)?,
        Command::Plan(arguments) => kitchen::plan::run(session, &arguments.0, output)?,
        Command::Map(arguments) => output.finish(kitchen::map::run(session, &arguments.0)?),
        Command::Service(arguments) => kitchen::service::run(session, &arguments.0, output)?,
        Command::Ticket(arguments) => kitchen::ticket::run(session, &arguments.0, output)?,
        Command::Resume(arguments) => kitchen::resume::run(session, &arguments.0, output)?,
        Command::Status(arguments) => kitchen::status::run(session, &arguments.0, output)?,
        Command::Validate(arguments) => output.finish(kitchen::validate::run(session, &arguments.0)?),
        Command::Summary(arguments) => output.finish(kitchen::summary::run(session, &arguments.0)?),
        Command::Cost(arguments) => output.finish(kitchen::cost::run(session, &arguments.0)?),
        Command::State(command) => tools::state::run(&command.0, session, output)?,
        #[cfg(feature = "team")]
        Command::Team(command) => team::run(&command.0, session, output)?,
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(&arguments.0, session, output)?,
        Command::Demo(arguments) => demo::run(&arguments.0, session, output)?,
        Command::Completions(arguments) => completions::run(&arguments.0, output),
        Command::Complete(words) => complete::run(&words.0, globals, surroundings, output),
    })
}
