//! `brigade tools`

mod agent;
mod apply;
pub(crate) mod call;
mod check;
pub(crate) mod checkpoint;
mod connect;
mod defaults;
pub(crate) mod discover;
mod doctor;
pub(crate) mod enable;
mod find;
mod harness;
mod import;
mod init;
mod install;
mod keys;
mod list;
mod login;
mod observe;
pub(crate) mod pack;
pub(crate) mod parity;
mod pins;
pub(crate) mod policy;
mod profile;
mod register;
pub(crate) mod registry;
pub(crate) mod run;
pub(crate) mod runtime;
#[cfg(feature = "builtin")]
mod script;
pub(crate) mod state;
pub(crate) mod sync;
mod trust;
mod update;

use brigade::{Error, Exit, Family};
use clap::Subcommand;

use crate::commands::daily::review::{self, ReviewArgs};
use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

// Help leaves out what has a shorter command.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Tools {
    Init(init::InitArgs),
    Defaults(defaults::DefaultsArgs),
    List(list::ListArgs),
    #[command(visible_alias = "info")]
    /// Show a tool and its projections
    Show {
        /// Id of the tool
        id: String,
    },
    /// Find tools by words, in any order
    ///
    /// Searches id, name, family, description, aliases, categories and capabilities. More than half of the words must
    /// occur.
    Search {
        /// Text to search for, ignoring case
        #[arg(value_name = "WORD", required = true)]
        query: Vec<String>,

        /// Only tools of this family; can be repeated
        #[arg(long)]
        family: Vec<Family>,
    },
    Find(find::FindArgs),
    Check(check::CheckArgs),
    /// Count the runs of each tool, from the receipts
    ///
    /// Shows how often a tool ran and failed, how long its runs took, and what they cost by the amount that its entry
    /// declares.
    Stats {
        /// Id of the tool
        id: Option<String>,
    },
    /// Describe a tool's arguments, examples and effects
    Describe {
        /// Id of the tool
        id: String,
        /// Start the tool's MCP server and compare its tool list; calls no tool
        #[arg(long)]
        live: bool,
    },
    /// List the contracts of tools and whether they can be called
    Contracts {
        /// Start the MCP servers of enabled tools and compare their tool lists; calls no tool
        #[arg(long)]
        live: bool,
    },
    /// Show what listing the tools costs an agent, in bytes and estimated tokens
    ///
    /// Compares the three ways of listing: full, compact, and search. A client reads a listing once. With a compact one
    /// it asks for the description of each tool that it calls, and with search it searches before that.
    Cost {
        /// The agent
        #[arg(long = "as", value_name = "AGENT", default_value = "local")]
        agent: String,
    },
    Observe(observe::ObserveArgs),
    Review(ReviewArgs),
    /// Show which projections would be written
    Plan {
        /// Id of the tool [default: all tools]
        id: Option<String>,

        /// List current projections and notes, too
        #[arg(long)]
        full: bool,
    },
    Apply(apply::ApplyArgs),
    Doctor(doctor::DoctorArgs),
    /// Add all issues to the work inbox
    ImportIssues,
    Connect(connect::ConnectArgs),
    #[command(hide = true)]
    Discover(discover::DiscoverArgs),
    Install(install::InstallArgs),
    Register(register::RegisterArgs),
    Trust(trust::TrustArgs),
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    #[command(hide = true)]
    Enable(enable::EnableArgs),
    #[command(hide = true)]
    Disable(enable::DisableArgs),
    Update(update::UpdateArgs),
    /// Plan, queue, review and run calls
    #[command(subcommand)]
    Call(Lazy<call::Call>),
    /// Show, export and verify runs and their receipts
    #[command(subcommand)]
    Run(Lazy<run::Run>),
    /// Answer questions that programs ask before they continue
    #[command(subcommand)]
    Checkpoint(Lazy<checkpoint::Checkpoint>),
    /// Show and explain what this host allows
    #[command(subcommand)]
    Policy(Lazy<policy::Policy>),
    /// Manage the agents that the gateway serves
    #[command(subcommand)]
    Agent(Lazy<agent::Agent>),
    /// Show the profiles that decide what agents are shown
    #[command(subcommand)]
    Profile(Lazy<profile::Profile>),
    /// Manage the local processes that tools depend on
    ///
    /// Runtimes are configured in .brigade/tools/runtimes.toml. They start only on request. A process is stopped only
    /// if it is verified to belong to the runtime.
    #[command(subcommand)]
    Runtime(Lazy<runtime::Runtime>),
    /// Remember the tools of agent programs, or write projections with plan and apply
    ///
    /// Without a subcommand, does what `brigade tools discover` does, compares with .brigade/tools/discovered.json and
    /// writes that file if something changed. The subcommands plan and apply concern projections, and write them only
    /// when explicitly confirmed.
    Sync(Lazy<sync::SyncArgs>),
    /// Review differences between harnesses
    #[command(subcommand)]
    Parity(Lazy<parity::Parity>),
    /// Show the supported harnesses
    #[command(subcommand)]
    Harness(Lazy<harness::Harness>),
    /// Check, compact, export and adopt the state
    #[command(subcommand)]
    State(Lazy<state::State>),
    /// Add tools from other sources to the catalog
    #[command(subcommand)]
    Import(Lazy<import::Import>),
    /// Build packs of tools and import them into other workspaces
    #[command(subcommand)]
    Pack(Lazy<pack::Pack>),
    /// Show pinned MCP tools and accept their changes
    #[command(subcommand)]
    Pins(Lazy<pins::Pins>),
    /// Know and search registries of tools
    #[command(subcommand)]
    Registry(Lazy<registry::Registry>),
    /// Manage the key that signs receipts
    #[command(subcommand)]
    Keys(Lazy<keys::Keys>),
    /// Make tools of scripts that agents saved
    #[cfg(feature = "builtin")]
    #[command(subcommand)]
    Script(Lazy<script::Script>),
}

const EXAMPLES: &str = "\
Steps of a call:
  brigade tools describe count-words
  brigade tools call plan count-words --args '{\"paths\": [\"README.md\"]}'
  brigade tools call queue count-words --args '{\"paths\": [\"README.md\"]}'
  brigade approve CALL
  brigade tools call run CALL
  brigade tools run latest";

pub(crate) fn run(
    command: &Tools,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Tools::Init(arguments) => output.finish(init::run(session, arguments)?),
        Tools::List(arguments) => list::run(session, arguments, output)?,
        Tools::Show { id } => output.finish(session.workspace()?.catalog().show(id)?),
        Tools::Search { query, family } => {
            output.finish(session.workspace()?.catalog().search(&query.join(" "), family)?)
        }
        Tools::Find(arguments) => output.finish(find::run(session, arguments)?),
        Tools::Check(arguments) => output.finish(check::run(session, arguments)?),
        Tools::Stats { id } => output.finish(session.workspace()?.catalog().stats(id.as_deref())?),
        Tools::Describe { id, live: true } => {
            output.finish(session.workspace_to_run()?.catalog().describe_live(id)?)
        }
        Tools::Describe { id, live: false } => output.finish(session.workspace()?.catalog().describe(id)?),
        Tools::Contracts { live: true } => {
            output.finish(session.workspace_to_run()?.catalog().contracts_live()?)
        }
        Tools::Contracts { live: false } => output.finish(session.workspace()?.catalog().contracts()?),
        Tools::Cost { agent } => output.finish(session.workspace()?.agents().cost(agent)?),
        Tools::Observe(arguments) => output.finish(observe::run(session, arguments)?),
        Tools::Review(arguments) => review::run(session, arguments, output)?,
        Tools::Defaults(arguments) => output.finish(defaults::run(session, arguments)?),
        Tools::Plan { id, full } => {
            output.set_full(*full);
            output.finish(session.workspace()?.projections().plan(id.as_deref())?)
        }
        Tools::Apply(arguments) => output.finish(apply::run(session, arguments, output)?),
        Tools::ImportIssues => output.finish(session.workspace()?.inbox().import()?),
        Tools::Connect(arguments) => connect::run(session, arguments, output)?,
        Tools::Discover(arguments) => output.finish(discover::run(session, arguments)?),
        Tools::Enable(arguments) => enable::run(session, &arguments.request(), arguments.yes(), output)?,
        Tools::Disable(arguments) => enable::run(session, &arguments.request(), arguments.yes(), output)?,
        Tools::Update(arguments) => update::run(session, arguments, output)?,
        Tools::Register(arguments) => output.finish(register::run(session, arguments)?),
        Tools::Trust(arguments) => trust::run(session, arguments, output)?,
        Tools::Login(arguments) => login::run(session, arguments, output)?,
        Tools::Logout(arguments) => output.finish(login::run_logout(session, arguments)?),
        #[cfg(feature = "builtin")]
        Tools::Script(command) => script::run(&command.0, session, output)?,
        Tools::Install(arguments) => output.finish(install::run(session, arguments)?),
        Tools::Doctor(arguments) => doctor::run(session, arguments, output)?,
        Tools::Call(command) => call::run(&command.0, session, output)?,
        Tools::Run(command) => run::run(&command.0, session, output)?,
        Tools::Checkpoint(command) => checkpoint::run(&command.0, session, output)?,
        Tools::Policy(command) => policy::run(&command.0, session, output)?,
        Tools::Agent(command) => agent::run(&command.0, session, output)?,
        Tools::Profile(command) => profile::run(&command.0, session, output)?,
        Tools::Runtime(command) => runtime::run(&command.0, session, output)?,
        Tools::Sync(command) => sync::run(&command.0, session, output)?,
        Tools::Parity(command) => parity::run(&command.0, session, output)?,
        Tools::Harness(command) => harness::run(&command.0, session, output)?,
        Tools::State(command) => state::run(&command.0, session, output)?,
        Tools::Import(command) => import::run(&command.0, session, output)?,
        Tools::Pack(command) => pack::run(&command.0, session, output)?,
        Tools::Registry(command) => registry::run(&command.0, session, output)?,
        Tools::Pins(command) => pins::run(&command.0, session, output)?,
        Tools::Keys(command) => keys::run(&command.0, session, output)?,
    })
}
