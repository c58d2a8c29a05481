//! Decides by host policy whether and how calls may run.
//!
//! Owns:
//!
//! * `policy.toml`: its rules and their places ([`PolicyState`]);
//! * the decision on one call ([`decide`]) and its document;
//! * [`Blocker`], a reason why a call may not run;
//! * whether a call needs a person, or a rule approves it.
//!
//! Does not know the queue, files on disk or processes. It gets the bytes of the policy and the names of the set
//! variables, never their values.
//!
//! A policy fails closed: an invalid policy blocks everything. Only a missing policy has no effect.
//!
//! ```toml
//! allowed_families = ["script"]
//! allowed_effects = ["local-read", "local-write"]
//! denied_effects = ["remote-mutation", "secret-read"]
//! required_approval_modes = ["on-request", "always"]
//! max_timeout = 60                       # seconds
//! allowed_runtimes = ["local-helper"]
//! env_bindings = { SAFE_ENV = "SAFE_ENV" }
//! max_output_bytes = "16MiB"             # or a number of bytes
//!
//! [paths]
//! outside = ["~/shared/tools"]           # directories outside the workspace that a tool's paths may lead to
//!
//! [environment]
//! pass = ["SSH_AUTH_SOCK"]               # variables that every run gets
//!
//! [limits]
//! processes = 64
//! memory = "2GiB"
//! file_size = "512MiB"
//! open_files = 256
//!
//! [sandbox]
//! mode = "enforce"                       # or "best-effort", "off"
//! read_paths = ["/opt/data"]
//! write_paths = ["/var/tmp/out"]         # for calls with the effect local-write
//! local_sockets = false                  # whether sockets of this machine can be connected to
//!
//! [sandbox.tool.deploy]                  # for one tool: replaces mode and local_sockets, adds paths
//! mode = "off"
//!
//! [sandbox.install]                      # the same for installations
//! write_paths = ["~/.local"]
//!
//! [kitchen]                              # what a crew of coding agents may do
//! workers = ["claude"]                   # any that was approved, if absent
//! skip_permissions = false
//!
//! [[auto_approve]]                       # approves calls of agents in a person's place
//! name = "reads"
//! tools = ["count-words", "docs.*"]
//! effects = ["local-read"]               # all that the tool may have
//! agents = ["codex-ci"]                  # every agent, if absent
//! arguments = { path = "docs/**" }
//! max_calls_per_hour = 200
//! expires = "2027-01-31"                 # the last day on which it holds
//!
//! [[test]]                               # what the policy decides about a call; if not, the policy is invalid
//! family = "mcp"
//! effects = ["network"]
//! expect = "blocked"                     # or "allowed", "asks", "rule:reads"
//! ```
//!
//! ```
//! use brigade_catalog::{Family, Tool};
//! use brigade_policy::{CallFacts, PolicyState, decide};
//!
//! let policy = PolicyState::parse(".brigade/tools/policy.toml", Some(b"denied_effects = [\"network\"]"));
//! let mut tool = Tool::new("fetch", Family::Script)?;
//! tool.effects = vec!["network".to_owned()];
//! let decision = decide(&policy, &CallFacts::from_tool(&tool), &|_: &str| false);
//! assert_eq!(decision.blockers[0].code, "policy_denied_effect");
//! assert_eq!(decision.blockers[0].place.as_ref().unwrap().line, Some(1));
//! # Ok::<(), brigade_catalog::InvalidToolId>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod approval;
mod blocker;
mod closed;
mod crew;
mod decision;
pub mod document;
mod edit;
mod effects;
mod facts;
mod failure;
mod fault;
mod label;
mod policy;
mod record;
mod ruling;
mod testing;

pub use approval::{AutoApprove, CoverageGap, Gate, RuleReport};
pub use blocker::Blocker;
pub use brigade_core::web_url::{Host, Reach, WebDomain, WebProblem, WebUrl, is_public};
pub use closed::{ALWAYS_CLOSED, RefusedWrite, Writable, always_closed, refused_write};
pub use crew::{CrewFacts, CrewWork, CrewWorker, decide_crew};
pub use decision::{
    Access, DEFAULT_MAX_OUTPUT_BYTES, DEFAULT_TIMEOUT_SECONDS, Decision, Explanation, Grants, RemoteTerms,
    SandboxRequest, TimeoutSource, decide, decide_health, explain, invalid, refusals, step_to_correct,
};
pub use document::LocatedValue;
pub use edit::{PolicyAdditions, PolicyEditError, RuleText, add_permissions, add_rule, literal};
pub use effects::{
    Changes, EFFECTS, EffectRow, GIT_EFFECT, NETWORK_EFFECTS, READ_EFFECT, RiskLevel, SandboxOpening,
    WRITE_EFFECT, effect_of, risk_of,
};
pub use facts::{CallFacts, CallKind, Environment, INSTALL_EFFECT};
pub use failure::{Failure, FailureReport};
pub use fault::{Diagnosis, ErrorLine, Fault, Label, Quote, SourceLine};
pub use label::{LabelProblem, check_label, shown_label};
pub use policy::{
    GitAccess, GitCredential, GitLogin, InlineCode, KitchenGrants, KitchenRules, Limits, Observe, Policy,
    PolicyState, PolicyValidity, Reads, Rule, SandboxMode, SandboxRules, ShellUse, UndeclaredCode,
};
pub use record::{BlockerDetail, PolicyDecision, PolicyRules, SandboxDecision, SandboxSettings};
pub use ruling::{Ruling, Topic, refuse_inline_code, refuse_undeclared_code};
pub use testing::{Expectation, PolicyTest, TestResult, TestSubject};
