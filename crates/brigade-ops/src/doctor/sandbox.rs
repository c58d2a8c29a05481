//! Finds the parts of the policy's sandbox that this system cannot enforce.

use std::path::Path;

use brigade_policy::{PolicyState, SandboxMode};
use brigade_sandbox::{Mode, SandboxProfile, system_read_paths};

/// Returns the gaps; `None` if the policy has no sandbox.
pub(crate) fn sandbox_gaps(root: &Path, state: &PolicyState) -> Option<Vec<String>> {
    let policy = state.policy()?;
    let rules = policy.all_sandbox_rules();
    let modes: Vec<SandboxMode> =
        rules.filter_map(|rules| rules.mode.as_ref()).map(|mode| mode.value).collect();
    let mode = if modes.contains(&SandboxMode::Enforce) {
        Mode::Enforce
    } else if modes.contains(&SandboxMode::BestEffort) {
        Mode::BestEffort
    } else {
        return None;
    };
    let profile = SandboxProfile {
        installed: system_read_paths(),
        read: vec![root.to_owned()],
        write: vec![root.to_owned()],
        deny_write: vec![root.join(".brigade"), root.join(".git")],
        ..SandboxProfile::nothing(mode)
    };
    Some(match (profile.check(), mode) {
        (Err(error), _) => vec![error.to_string()],
        // Other missing kernel features do not refuse a call; its receipt lists them.
        (Ok(_), Mode::Enforce) => Vec::new(),
        (Ok(enforcement), Mode::BestEffort) => enforcement.missing,
    })
}
