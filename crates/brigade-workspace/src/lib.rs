//! Reads a workspace: its configuration, and facts about its tools, each once and only as deep as needed.
//!
//! Owns:
//!
//! * the context of operations ([`WorkspaceContext`]): files, clock, variables, caller and queue;
//! * reading the configuration ([`Config`]);
//! * reading facts about tools ([`FactReader`]): files, the program and code of the command, projections and pins;
//! * planning a call from these facts ([`gather`]).
//!
//! Does not know the kitchen or the inbox, and makes no decisions. Starts no programs. Writes only caches and learned
//! code.
//!
//! | item | reads |
//! | --- | --- |
//! | [`Depth::Summary`] | for lists and health: every file that the entry names, and how its projections differ |
//! | [`Depth::Plan`] | for plans: schemas, examples, source, and whether projections are in their place |
//! | [`FactReader::plan`] | for a plan now: also program, code, policy decision and pin |
//! | [`FactReader::deepen`] | the same, for a tool whose summary was read before |
//! | [`FactReader::start`] | for asking a tool's server for its list: whether it may be started |
//!
//! ```
//! use brigade_core::SystemClock;
//! use brigade_exec::HostEnvironment;
//! use brigade_workspace::{Config, Depth, Digests, FactReader, Host, TrustStore, read_catalog, read_policy};
//! use brigade_fs::{FileMode, Fs, MemoryFs};
//!
//! let fs = MemoryFs::new();
//! fs.create_dir_all(&".brigade".parse()?)?;
//! let entry = b"[[tool]]\nid = 'greet'\nname = 'Greet'\nfamily = 'script'\ncommand = 'sh greet.sh'\n";
//! fs.write_atomic(&".brigade/tools.toml".parse()?, entry, FileMode::Private)?;
//!
//! let (environment, digests) = (HostEnvironment::default(), Digests::default());
//! let trust = TrustStore::default();
//! let host = Host {
//!     fs: &fs, environment: &environment, digests: &digests, trust: &trust, clock: &SystemClock, names: None,
//! };
//! let config = Config::new(&host, read_catalog(&fs)?, read_policy(&fs, &trust));
//! let facts = FactReader::new(host, &config).read(config.catalog.tool("greet").unwrap(), Depth::Summary);
//! assert_eq!(facts.files.input_schema.schema().map(|_| ()), None);
//! assert!(facts.projections.is_empty() && facts.summary().mcp_server_ids.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent_tools;
mod approval;
mod checks;
mod command;
mod config;
mod context;
mod deferred_sync;
mod digests;
mod files;
pub mod gather;
mod health_commands;
mod host;
mod lane;
mod learned_code;
pub mod load;
mod memory;
mod named;
mod next_steps;
mod own_programs;
mod pin_of_call;
mod places;
mod plan;
mod presence;
mod real_paths;
mod report;
mod schemas;
mod searched_files;
mod shared_servers;
mod similar_paths;
mod source_lines;
mod sources;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tool;
mod tool_visibility;
mod traced_cache;
mod tracked;
mod trust;
mod user;
mod visibility_check;
mod workers;

pub use agent_tools::{
    AgentConfig, AgentOffer, AgentTool, AgentTools, CallTarget, GATEWAY, OwnName, PROFILES, agent_tools,
    agents_error_code, read_agents, read_profiles,
};
pub use approval::{CallRequest, Rules, ToolRequest, approve, explain_approval};
pub use checks::{CHECKS, KeptCheck, KeptChecks, ToolProgram};
pub use command::{command_only_reads, command_outside};
pub use config::{
    CATALOG, CONFIG_LIMIT, Config, PACKAGE, POLICY, TARGETS, errors_of, policy_on_disk, read_catalog,
    read_config, read_policy, read_project_policy, unreadable,
};
pub use context::{AdoptStep, TaskSessions, WorkspaceContext, no_home, workspace_key};
pub use deferred_sync::{DeferredSync, SyncGuard};
pub use digests::Digests;
pub use files::{DOCUMENT_LIMIT, EntryFile, ToolReader, compile_schema, parse_json};
pub use host::{Host, Names, bound_values, masks, user_path};
pub use lane::{Files, KeptLane, LaneError};
pub use learned_code::{LEARNED, LearnedCode, LearnedTool, is_code_of_run};
pub use memory::Memory;
pub use next_steps::ShownWords;
pub use own_programs::{own_programs, writable_directories};
pub use pin_of_call::PinOfCall;
pub use places::{Places, ResolvedPath};
pub use plan::{PlanInput, StartInput, errors_of_tool};
pub use presence::PresenceReader;
pub use real_paths::{followed, real_paths};
pub use report::{
    ArgumentDescription, Contract, ContractHealth, DescribedTool, McpSummary, Origin, ToolLine, ToolSummary,
};
pub use schemas::SchemaText;
pub use searched_files::{is_code_file, is_program};
pub use similar_paths::{did_you_mean, near_path};
pub use source_lines::SourceFiles;
pub use sources::{Sources, plan_projections, refuse_shared};
pub use tool::{Depth, FactReader, SummaryFacts, ToolFacts};
pub use tool_visibility::ToolVisibility;
pub use tracked::{TrackedConfig, tracked_state};
pub use trust::{TRUSTED, TrustKind, TrustStore, TrustTarget, WritablePlaces};
pub use user::{
    REGISTRIES, RUNTIMES, read_runtimes, read_user_runtimes, user_directory, why_unsafe, with_levels,
};
pub use visibility_check::AgentLook;
