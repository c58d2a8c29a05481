//! `brigade kitchen`. The verbs of the shell program also exist at the top level.

mod approve;
pub(crate) mod cost;
mod demo;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod plan;
mod receipts;
pub(crate) mod resume;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod ticket;
pub(crate) mod validate;

use std::path::PathBuf;

use brigade::kitchen::{AnswerRequest, DecisionFilter, InitRequest};
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Kitchen {
    /// Create the configuration of the kitchen
    ///
    /// Writes .brigade/kitchen.toml with the keys that most people set, the directory brigade/tasks for PRDs, and lines
    /// for .gitignore.
    Init {
        /// Translate brigade/brigade.config or brigade.config, without executing it
        #[arg(long)]
        import: bool,

        /// List every key in the configuration
        #[arg(long)]
        full: bool,

        /// Add skills for agent programs that write, convert and change PRDs to the catalog of tools
        #[arg(long)]
        skills: bool,

        /// Overwrite an existing configuration
        #[arg(long)]
        force: bool,

        /// Do not change .gitignore
        #[arg(long)]
        no_gitignore: bool,
    },
    Plan(plan::PlanArgs),
    Validate(validate::ValidateArgs),
    Approve(approve::ApproveArgs),
    Service(service::ServiceArgs),
    Ticket(ticket::TicketArgs),
    Resume(resume::ResumeArgs),
    Status(status::StatusArgs),
    /// List the questions that wait for an answer
    Decisions {
        /// Only questions of this PRD
        prd: Option<PathBuf>,

        /// Also list answered ones
        #[arg(long)]
        all: bool,
    },
    /// Answer a waiting question
    Answer {
        /// Id of the decision, or any unique prefix of it
        id: String,

        /// One of its choices, or any text if it has none
        choice: String,

        /// Reason for the answer
        #[arg(long)]
        reason: Option<String>,

        /// Guidance for the next attempt
        #[arg(long)]
        guidance: Option<String>,
    },
    Summary(summary::SummaryArgs),
    Map(map::MapArgs),
    /// Show the tiers, their worker programs, and what these may do
    Workers,
    Cost(cost::CostArgs),
    Log(log::LogArgs),
    /// List what was started, or verify that its receipts are unchanged
    ///
    /// Every start of a worker and of an approved command leaves a receipt, and the receipts form a chain.
    Receipts(Lazy<receipts::ReceiptsArgs>),
    /// Remove worktrees whose work is in the branch
    ///
    /// Other work is never deleted: --abandon first keeps the work of one task under refs/brigade/abandoned/. Nothing
    /// is removed while a service runs the PRD.
    Clean {
        /// File of the PRD; by default the PRD in progress
        prd: Option<PathBuf>,

        /// Give up the work of this task, and remove only its worktree
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        abandon: Option<String>,
    },
    Demo(demo::DemoArgs),
}

pub(crate) fn run(
    command: &Kitchen,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Kitchen::Init { import, full, skills, force, no_gitignore } => {
            let request = InitRequest {
                import: *import,
                full: *full,
                force: *force,
                keep_ignore: *no_gitignore,
                skills: *skills,
            };
            output.finish(session.workspace_to_make()?.kitchen().init(request)?)
        }
        Kitchen::Plan(arguments) => plan::run(session, arguments, output)?,
        Kitchen::Map(arguments) => output.finish(map::run(session, arguments)?),
        Kitchen::Validate(arguments) => output.finish(validate::run(session, arguments)?),
        Kitchen::Approve(arguments) => approve::run(session, arguments, output)?,
        Kitchen::Service(arguments) => service::run(session, arguments, output)?,
        Kitchen::Ticket(arguments) => ticket::run(session, arguments, output)?,
        Kitchen::Resume(arguments) => resume::run(session, arguments, output)?,
        Kitchen::Status(arguments) => status::run(session, arguments, output)?,
        Kitchen::Decisions { prd, all } => {
            let which = if *all { DecisionFilter::All } else { DecisionFilter::Waiting };
            output.finish(session.workspace()?.kitchen().decisions(prd.as_deref(), which)?)
        }
        Kitchen::Answer { id, choice, reason, guidance } => {
            let request = AnswerRequest {
                id: id.clone(),
                choice: choice.clone(),
                reason: reason.clone(),
                guidance: guidance.clone(),
            };
            output.finish(session.workspace()?.kitchen().answer(&request)?)
        }
        Kitchen::Summary(arguments) => output.finish(summary::run(session, arguments)?),
        Kitchen::Workers => output.finish(session.workspace()?.kitchen().workers()?),
        Kitchen::Demo(arguments) => demo::run(session, arguments, output)?,
        Kitchen::Cost(arguments) => output.finish(cost::run(session, arguments)?),
        Kitchen::Log(arguments) => log::run(session, arguments, output)?,
        Kitchen::Receipts(arguments) => receipts::run(session, &arguments.0, output)?,
        Kitchen::Clean { prd, abandon } => {
            output.finish(session.workspace()?.kitchen().clean(prd.as_deref(), abandon.as_deref())?)
        }
    })
}
