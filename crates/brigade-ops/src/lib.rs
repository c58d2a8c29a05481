//! What a user can do in a workspace, one module per noun.
//!
//! Owns a handle per subject, such as [`Calls`], [`Runs`] and [`Projections`], and functions on tools, the state and
//! agent programs, with their reports. A handle has the context of a workspace; a function takes it. Each operation
//! returns a report or an error.
//!
//! Does not know arguments, terminals, agents and their sessions. Runs nothing itself: a verified call is passed to a
//! [`Runner`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use brigade_fs::MemoryFs;
//! use brigade_workspace::{WorkspaceContext};
//! use brigade_ops::{Attempt, Calls, Error, ErrorKind, ReadyCall, Refusal, Request, Runner};
//!
//! /// A host that shows and reviews calls, but runs none.
//! struct Office;
//!
//! impl Runner for Office {
//!     fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
//!         let message = format!("call {} runs elsewhere", ready.call.id());
//!         Ok(Attempt::Taken(Box::new(ready.call.call().clone()), Error::new(ErrorKind::Refused, message)))
//!     }
//! }
//!
//! let context = Arc::new(WorkspaceContext::new(Arc::new(MemoryFs::new())));
//! let calls = Calls::new(context, Arc::new(Office));
//! let error = calls.queue(Request::new("greet").arg("name", "world")).unwrap_err();
//! assert!(matches!(error.refusal(), Some(Refusal::Queue { .. })), "the tool does not exist");
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod calls;
mod checkpoints;
mod clients;
mod closeouts;
mod defaults;
mod discovery;
mod doctor;
mod error;
mod inbox;
mod onboarding;
mod packs;
mod parity;
mod pins;
pub mod projections;
mod receipts;
mod refusal;
mod report;
mod runs;
mod runtimes;
mod setup;
pub mod state;
#[cfg(feature = "team")]
pub mod team;
#[cfg(test)]
mod testing;
mod tools;
mod trust;
pub mod upstreams;
mod views;
mod web_logins;
#[cfg(not(feature = "team"))]
mod without_team;
pub mod work;

pub use brigade_workspace::RUNTIMES;
pub use calls::args::ArgsSource;
pub use calls::claim::StoredClaim;
pub use calls::live::{contracts_live, tool_live};
pub use calls::request::{OnBlocked, Request};
pub use calls::running::{Attempt, ReadyCall, RunTarget, Runner, refusal_error, run_stored};
pub use calls::waiting::waiting;
pub use calls::watching::{remember_observed, watch};
pub use calls::{
    CallFilter, CallList, Calls, give_up, invalid_policy, plan_again, record_approval, record_interrupted,
    record_review, refusing_policy,
};
pub use checkpoints::{CheckpointStep, Checkpoints};
pub use clients::agents::{agent_config, agent_profiles, find_agent};
pub use clients::{Clients, ConnectRequest, ConnectStatus, ConnectStep};
pub use closeouts::{BrokenCloseout, CLOSEOUTS, Closeouts, closeouts, projection_issues, store_closeout};
pub use defaults::starters::add_default_tools;
pub use defaults::{DefaultConflict, DefaultSource, Defaults, DefaultsRequest, SourceAction};
pub use discovery::machine_view::{DiscoverRequest, Discovery, Machine, look_at_machine};
pub use discovery::remember::{
    DISCOVERED, Memory, REGISTERED, RegisteredDefinitions, fit_to_remember, read_remembered, registered_from,
    remember,
};
pub use discovery::{Registry, harness_labels};
pub use doctor::error::UpkeepError;
pub use doctor::examine::{FactRetention, ToolExamination, examine};
pub use doctor::fix::{Fix, FixKind, Fixes, fix};
pub use doctor::history::{FoundCall, FoundCheckpoint, HistoryFacts};
pub use doctor::incoming::left_incoming;
pub use doctor::sections::{
    CallSection, CheckpointSection, ParitySection, PolicySection, RunSection, RuntimeSection, Sections,
};
pub use doctor::shown::{counts, latest_closeout, shown_issue, shown_issues, top_issue_of};
pub use doctor::temporary::left_temporary;
pub use doctor::{HistoryExtent, LedgerCheck, Parts, Survey};
pub use error::{Error, ErrorKind};
pub use inbox::{INBOX, InboxFile, InboxStore, QuarantinedLines};
pub use onboarding::{Onboarding, SetupChoice, SetupGrant, SetupUndo, StagedSetup};
pub use packs::Packs;
pub use packs::files::{
    FoundPacks, NewPack, OpenPack, OpenPackError, PACKS, PACKS_ARCHIVE, archive_pack, find_pack, packs,
    store_pack,
};
pub use parity::Parity;
pub use pins::states::pin_states;
pub use pins::{PinnedCall, Pins, keep as keep_pin, pin_of_call, pin_store};
pub use projections::Projections;
pub use projections::files::{
    ApplyLock, Change, OrphanSearch, Prune, PruneResult, Purpose, Work, find_orphans, prune,
};
pub use receipts::envelope::{PrivateKey, PublicKey, envelope, key_id, verify};
pub use receipts::keys::{HostKeys, KeyError, public_key};
pub use refusal::{Refusal, RunRefusal};
pub use report::*;
pub use runs::logs::{LogReach, OpenLog, open_log};
pub use runs::observe::{Declare, observe};
pub use runs::observed::{ObservedRun, SeenRuns, seen_run, seen_runs};
pub use runs::{RunFilter, Runs};
pub use runtimes::host::{RuntimeHost, STATE, find_runtime, machine_of};
pub use runtimes::{Runtimes, runtime_of};
pub use setup::init::{MARKER, init_tools, marked_workspace, write_starter};
pub use setup::{CATALOG_LOCK, Ignore, NewIgnore, OnExisting, Setup};
pub use state::check::{StateCheck, StateDamage, check_state};
pub use state::compact::{CompactResult, compact};
#[cfg(feature = "team")]
pub use team::joined_store;
pub use tools::add::{AddedTools, add_policy_rule, add_tools, allow};
pub use tools::catalog::{contracts, describe, lines, lines_of};
pub use tools::checking::{CheckSelection, RunChecks, check};
pub use tools::enable::{Confirm, EnableChange, EnableRequest, enable_tools};
pub use tools::finding::{ListFilter, discovered_entries, doubts, find, search, show, stats};
pub use tools::health::{diagnose_catalog, diagnose_recent, list, list_of};
pub use tools::import::{ImportPlan, ServerListing};
pub use tools::import_mcp::{ImportMcpRequest, downloads_package, import_mcp};
pub use tools::installing::{InstallCheck, InstallRequest, InstallSelection, install};
pub use tools::login::{LoginRequest, login, logout};
pub use tools::policy_tests::test_policy;
pub use tools::register::{RegisterRequest, RegisterSource, register};
pub use tools::registries::{add_registry, registries, registry_info, remove_registry, search_registries};
pub use tools::rulings::tool_rulings;
pub use tools::update::{ConfirmUpdate, UpdateRequest, update_tools};
pub use trust::note_shown;
pub use views::always::RuleProposal;
pub use views::arguments_line;
pub use views::choosing::{CallDecision, ChosenCall, PendingChoice};
pub use views::daily::{Daily, WaitingSource};
pub use views::history::HistoryFilter;
pub use views::numbers::ShownThing;
pub use views::pages::CallPage;
pub use views::parts::{ReviewDifference, ReviewPart, visible_word};
pub use views::pending::{OpenCall, WaitingGroup};
pub use views::things::NamedThing;
pub use views::who as caller_name;
pub use web_logins::{WebLogin, WebLogins};
#[cfg(not(feature = "team"))]
pub use without_team::joined_store;
pub use work::Inbox;
pub use work::brief::brief;
