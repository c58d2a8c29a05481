//! `brigade tools`

mod agent;
mod apply;
pub(crate) mod call;
mod check;
pub(crate) mod checkpoint;
mod connect;
mod contracts;
mod cost;
mod defaults;
mod describe;
pub(crate) mod discover;
mod doctor;
pub(crate) mod enable;
mod find;
mod harness;
mod import;
mod import_issues;
mod init;
mod install;
mod keys;
mod list;
mod login;
mod observe;
pub(crate) mod pack;
pub(crate) mod parity;
mod pins;
mod plan;
pub(crate) mod policy;
mod profile;
mod register;
pub(crate) mod registry;
pub(crate) mod run;
pub(crate) mod runtime;
#[cfg(feature = "builtin")]
mod script;
mod search;
mod show;
pub(crate) mod state;
mod stats;
pub(crate) mod sync;
mod trust;
mod update;

use brigade::Exit;
use clap::Subcommand;

use crate::commands::daily::review::{self, ReviewArgs};
use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Tools {
    Init(init::InitArgs),
    Defaults(defaults::DefaultsArgs),
    List(list::ListArgs),
    #[command(visible_alias = "info")]
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Find(find::FindArgs),
    Check(check::CheckArgs),
    Stats(stats::StatsArgs),
    Describe(describe::DescribeArgs),
    Contracts(contracts::ContractsArgs),
    Cost(cost::CostArgs),
    Observe(observe::ObserveArgs),
    Review(ReviewArgs),
    Plan(plan::PlanArgs),
    Apply(apply::ApplyArgs),
    Doctor(doctor::DoctorArgs),
    ImportIssues(import_issues::ImportIssuesArgs),
    Connect(connect::ConnectArgs),
    Discover(discover::DiscoverArgs),
    Install(install::InstallArgs),
    Register(register::RegisterArgs),
    Trust(trust::TrustArgs),
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    Enable(enable::EnableArgs),
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
  brigade tools call approve CALL
  brigade tools call run CALL
  brigade tools run latest";

pub(crate) fn run(command: &Tools, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Tools::Init(arguments) => output.finish(init::run(session, arguments)),
        Tools::List(arguments) => list::run(session, arguments, output),
        Tools::Show(arguments) => output.finish(show::run(session, arguments)),
        Tools::Search(arguments) => output.finish(search::run(session, arguments)),
        Tools::Find(arguments) => output.finish(find::run(session, arguments)),
        Tools::Check(arguments) => output.finish(check::run(session, arguments)),
        Tools::Stats(arguments) => output.finish(stats::run(session, arguments)),
        Tools::Describe(arguments) => output.finish(describe::run(session, arguments)),
        Tools::Contracts(arguments) => output.finish(contracts::run(session, arguments)),
        Tools::Cost(arguments) => output.finish(cost::run(session, arguments)),
        Tools::Observe(arguments) => output.finish(observe::run(session, arguments)),
        Tools::Review(arguments) => review::run(session, arguments, output),
        Tools::Defaults(arguments) => output.finish(defaults::run(session, arguments)),
        Tools::Plan(arguments) => {
            let plan = plan::run(session, arguments, output);
            output.finish(plan)
        }
        Tools::Apply(arguments) => output.finish(apply::run(session, arguments, output)),
        Tools::ImportIssues(arguments) => output.finish(import_issues::run(session, arguments)),
        Tools::Connect(arguments) => connect::run(session, arguments, output),
        Tools::Discover(arguments) => output.finish(discover::run(session, arguments)),
        Tools::Enable(arguments) => enable::run(session, &arguments.request(), arguments.yes(), output),
        Tools::Disable(arguments) => enable::run(session, &arguments.request(), arguments.yes(), output),
        Tools::Update(arguments) => update::run(session, arguments, output),
        Tools::Register(arguments) => output.finish(register::run(session, arguments)),
        Tools::Trust(arguments) => trust::run(session, arguments, output),
        Tools::Login(arguments) => login::run(session, arguments, output),
        Tools::Logout(arguments) => output.finish(login::run_logout(session, arguments)),
        #[cfg(feature = "builtin")]
        Tools::Script(command) => script::run(&command.0, session, output),
        Tools::Install(arguments) => output.finish(install::run(session, arguments)),
        Tools::Doctor(arguments) => doctor::run(session, arguments, output),
        Tools::Call(command) => call::run(&command.0, session, output),
        Tools::Run(command) => run::run(&command.0, session, output),
        Tools::Checkpoint(command) => checkpoint::run(&command.0, session, output),
        Tools::Policy(command) => policy::run(&command.0, session, output),
        Tools::Agent(command) => agent::run(&command.0, session, output),
        Tools::Profile(command) => profile::run(&command.0, session, output),
        Tools::Runtime(command) => runtime::run(&command.0, session, output),
        Tools::Sync(command) => sync::run(&command.0, session, output),
        Tools::Parity(command) => parity::run(&command.0, session, output),
        Tools::Harness(command) => harness::run(&command.0, session, output),
        Tools::State(command) => state::run(&command.0, session, output),
        Tools::Import(command) => import::run(&command.0, session, output),
        Tools::Pack(command) => pack::run(&command.0, session, output),
        Tools::Registry(command) => registry::run(&command.0, session, output),
        Tools::Pins(command) => pins::run(&command.0, session, output),
        Tools::Keys(command) => keys::run(&command.0, session, output),
    }
}
