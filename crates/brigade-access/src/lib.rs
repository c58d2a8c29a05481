//! Decides which tools an agent is shown, and which of its calls a person has to approve.
//!
//! Owns:
//!
//! * profiles ([`Profiles`]): six [`Slot`]s, and the language of [`Matcher`] that selects tools;
//! * gateway.toml ([`GatewayConfig`]): agents, workers and upstream servers;
//! * the [`Rights`] of an agent, and which tools are [`visible`] to it;
//! * the table of [built-in tools](builtin), and how tools are listed to clients.
//!
//! Does not know the queue, files on disk or protocols. Of arguments, it knows only what a context limits.
//!
//! A tool is visible if every profile of the agent shows it. The strictest profile decides about its calls. Messages
//! and arguments never change the rights.
//!
//! ```
//! use brigade_catalog::{Family, Tool};
//! use brigade_access::{GatewayConfig, Profiles, Rights, ToolTraits};
//!
//! let text = b"[[agent]]\nname = 'reader'\nprofiles = ['permission.plan']\n";
//! let profiles = Profiles::shipped();
//! let config = GatewayConfig::parse("gateway.toml", Some(text), profiles).unwrap();
//! let rights = Rights::new(profiles, config.agent("reader").unwrap(), &[])?;
//!
//! let mut tool = Tool::new("deploy", Family::Script)?;
//! assert!(rights.shows(&ToolTraits::from_tool(&tool)));
//! tool.effects = vec!["local-write".to_owned()];
//! assert!(!rights.shows(&ToolTraits::from_tool(&tool)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod builtin;
mod control;
mod cost;
pub mod gateway;
mod guidance;
mod limits;
mod listed;
mod matcher;
mod names;
mod offers;
mod profiles;
mod report;
mod rights;
mod session;
mod slot;
mod tool_rows;
mod traits;
mod usage;
mod visible;

pub use control::{ControlTool, FAMILY as GATEWAY_FAMILY, control_tool, control_tools};
pub use cost::{
    CheapestListing, CostedTool, ListingCost, ListingCosts, TextSize, ToolCost, estimated_tokens,
    listing_costs,
};
pub use gateway::{
    Agent, AgentLimits, BuiltinSettings, Confirm, GatewayConfig, Http, IssueTracker, JudgeSettings, Listing,
    NotifyCommand, PlanMemoryWrite, SearchProvider, SearchSource, Share, SyncTime, Token, Upstream, Worker,
    WorkerPrompt, WorkerResult,
};
pub use guidance::{CORE_MEMORY, MAX_INSTRUCTIONS, ShownTools, instructions};
pub use limits::{CallLimits, LimitViolation, SameWords};
pub use listed::{
    Annotations, ListedIcon, ListedMeta, ListedTool, ToolListing, ToolMark, is_of_object, listed_description,
    listed_text, of_object,
};
pub use matcher::{InvalidMatcher, Matcher};
pub use names::{CONTROL_TOOLS, NameClashes, NameStyle, builtin_ids, is_reserved, is_taken, listed_name};
pub use offers::Offer;
pub use profiles::{Action, Profile, ProfileVerdict, Profiles, Rule, RuleLimits, SHIPPED, UnknownProfile};
pub use report::{AgentRow, AgentToolRow, ConstrainRow, OpinionRow, ProfileRow, RuleRow};
pub use rights::{Opinion, Rights};
pub use session::{
    FlowRights, LANES, LiveSession, SessionProfiles, TaskLimits, files_root, is_of_execution,
    lane_entry_lock, lane_lock, lane_of,
};
pub use slot::{InvalidProfileName, ProfileName, Slot};
pub use tool_rows::{FoundTools, ToolDescription, ToolRow, need_in_words};
pub use traits::{AccessLevel, ArgumentKinds, Mode, Source, Tier, ToolTraits};
pub use usage::{AgentUsage, Limit, LimitExceeded, LimitUnit, MINUTE};
pub use visible::{Facts, HiddenReason, visible};
