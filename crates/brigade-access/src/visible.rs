//! Whether a tool is visible to an agent. What is visible can be called, and nothing else.

use brigade_catalog::ApprovalMode;
use brigade_core::reasons;
use brigade_policy::{Blocker, Gate, Standing};
use thiserror::Error;

use crate::builtin::{Approval, COMMAND, definition};
use crate::names::{NameClashes, is_taken};
use crate::profiles::Action;
use crate::rights::Rights;
use crate::slot::Slot;
use crate::traits::{Source, ToolTraits};

/// The permission that leaves to rules what others ask a person about.
const FULL_AUTO: &str = "permission.full-auto";

/// What decides whether a tool is visible, besides the agent.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Whether there is a policy, and whether it is valid.
    pub policy: Standing,
    /// The tool.
    pub tool: ToolTraits<'a>,
    /// Whether its entry is enabled. Always true for Brigade's own tools.
    pub is_enabled: bool,
    /// The approval mode of its entry.
    pub approval_mode: Option<ApprovalMode>,
    /// Every reason against calls of the tool that depends neither on arguments nor on the minute: of the entry, the
    /// policy, and what it needs of the host.
    pub against: &'a [Blocker],
    /// Names that several entries have.
    pub clashes: &'a NameClashes,
}

/// Why a tool is not visible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HiddenReason {
    /// There is no policy.
    #[error("policy.toml does not exist")]
    NoPolicy,
    /// The policy is invalid.
    #[error("policy.toml is invalid")]
    InvalidPolicy,
    /// The entry is disabled.
    #[error("the tool is disabled")]
    Disabled,
    /// The id is a name of a tool of Brigade.
    #[error("the id is a name of a tool of Brigade")]
    Reserved,
    /// Another entry has the same listed name.
    #[error("another tool has the same listed name")]
    NameClash,
    /// A profile hides or denies it.
    #[error("the profile {0} does not show it")]
    Profile(String),
    /// Calls are refused, whatever their arguments.
    #[error("{0}")]
    Refused(String),
}

/// Decides whether an agent sees a tool, and may call it.
///
/// # Errors
/// Returns every reason why not.
pub fn visible(rights: &Rights, facts: &Facts<'_>) -> Result<Gate, Vec<HiddenReason>> {
    let mut reasons = Vec::new();
    match facts.policy {
        Standing::Missing => reasons.push(HiddenReason::NoPolicy),
        Standing::Invalid => reasons.push(HiddenReason::InvalidPolicy),
        Standing::Valid => {}
    }
    let tool = &facts.tool;
    if tool.source != Source::Control {
        if !facts.is_enabled {
            reasons.push(HiddenReason::Disabled);
        }
        if matches!(tool.source, Source::Catalog { .. }) {
            if is_taken(tool.id) {
                reasons.push(HiddenReason::Reserved);
            } else if facts.clashes.is_unlisted(tool.id) {
                reasons.push(HiddenReason::NameClash);
            }
        }
        if !rights.shows(tool) {
            let hiding = rights.profiles().iter().filter(|profile| !profile.verdict(tool).shows());
            reasons.extend(hiding.map(|profile| HiddenReason::Profile(profile.name.to_string())));
        }
        let refused = |blocker: &Blocker| HiddenReason::Refused(blocker.message.clone());
        // An invalid policy gives a reason for each of its errors.
        let of_policy = |blocker: &&Blocker| !blocker.is(reasons::POLICY_INVALID);
        reasons.extend(facts.against.iter().filter(of_policy).map(refused));
    }
    if reasons.is_empty() { Ok(gate(rights, tool, facts.approval_mode)) } else { Err(reasons) }
}

/// Returns whether a person approves each call: the profiles or the entry say so.
pub fn gate(rights: &Rights, tool: &ToolTraits<'_>, approval_mode: Option<ApprovalMode>) -> Gate {
    if always_needs_person(rights, tool, approval_mode) { Gate::Ask } else { rights.gate(tool) }
}

/// Returns whether a judge decides if a person approves a call: nothing stricter speaks about it.
pub fn is_judged(rights: &Rights, tool: &ToolTraits<'_>, approval_mode: Option<ApprovalMode>) -> bool {
    tool.source != Source::Control
        && !always_needs_person(rights, tool, approval_mode)
        && rights.strictest(tool) == Action::Judge
}

/// Returns whether a person approves each call, whatever the profiles say.
fn always_needs_person(rights: &Rights, tool: &ToolTraits<'_>, approval_mode: Option<ApprovalMode>) -> bool {
    approval_mode == Some(ApprovalMode::Always)
        || tool.source == Source::Builtin && builtin_needs_person(rights, tool)
}

/// Returns whether a built-in tool asks a person for each call, in all permissions but those that leave it to rules.
fn builtin_needs_person(rights: &Rights, tool: &ToolTraits<'_>) -> bool {
    let asks = definition(tool.id).is_some_and(|row| row.approval == Approval::Ask);
    // Nobody said which commands a rule may answer for.
    let is_open = tool.id == COMMAND && !rights.limits_commands(tool);
    is_open
        || asks
            && rights
                .profiles()
                .iter()
                .any(|profile| profile.name.slot() == Slot::Permission && profile.name.as_str() != FULL_AUTO)
}
