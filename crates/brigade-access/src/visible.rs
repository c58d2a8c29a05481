//! Decides whether a tool is visible to an agent. Exactly the visible tools can be called.

use brigade_policy::approval::{ApprovalNeed, ArgumentCheck, ReviewState};
use brigade_policy::{Blocker, PolicyValidity};
use thiserror::Error;

use crate::names::{NameClashes, is_taken};
use crate::rights::Rights;
use crate::traits::{Source, ToolTraits};

/// The facts that decide, together with an agent's rights, whether it sees a tool.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Whether there is a policy, and whether it is valid.
    pub policy: PolicyValidity,
    /// The tool.
    pub tool: ToolTraits<'a>,
    /// Whether its entry is enabled. Always true for Brigade's own tools.
    pub is_enabled: bool,
    /// How its arguments are checked.
    pub check: ArgumentCheck,
    /// Whether a person reviewed what its calls would run.
    pub reviewed: &'a ReviewState,
    /// Blockers of all calls of the tool: from its entry, the policy and the host. Blockers that depend on arguments or
    /// time are not included.
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
    /// All calls are refused, whatever their arguments.
    #[error("{0}")]
    Refused(String),
}

/// Decides whether an agent sees a tool and may call it. Returns the minimum approval of its calls.
///
/// # Errors
/// Returns every reason why the tool is hidden.
pub fn visible(rights: &Rights, facts: &Facts<'_>) -> Result<ApprovalNeed, Vec<HiddenReason>> {
    let mut reasons = Vec::new();
    match facts.policy {
        PolicyValidity::Missing => reasons.push(HiddenReason::NoPolicy),
        PolicyValidity::Invalid => reasons.push(HiddenReason::InvalidPolicy),
        PolicyValidity::Valid => {}
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
        let of_policy = |blocker: &&Blocker| !blocker.is_of_invalid_policy();
        reasons.extend(facts.against.iter().filter(of_policy).map(refused));
    }
    if reasons.is_empty() {
        Ok(rights.approval(tool, facts.check, facts.reviewed, None).need())
    } else {
        Err(reasons)
    }
}
