//! Finds the runtime that a call requires.

use brigade_catalog::{Runtime, Runtimes, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Hint, NextStep, closest};
use brigade_policy::Blocker;

use super::{RuntimeFacts, RuntimeState};

/// Finds the runtime that a tool names, if its entry can be used.
///
/// # Errors
/// Returns the reason against the call. `file` is the runtimes file if it exists, even if it is empty.
pub fn needed_runtime<'r>(
    tool: &Tool,
    runtimes: &'r Runtimes,
    file: Option<&str>,
) -> Result<&'r Runtime, Box<Blocker>> {
    let missing = |message: String| {
        Blocker::new(ErrorCode::RuntimeMissing, message).at(tool.place_of("runtime_id")).field("runtime_id")
    };
    let Some(id) = tool.runtime_id.as_deref().filter(|id| !id.is_empty()) else {
        let blocker = missing("the tool needs a runtime and names none".to_owned());
        return Err(Box::new(blocker.hint("set `runtime_id` to a runtime of .brigade/tools/runtimes.toml")));
    };
    let shown = escape_terminal(id);
    let Some(runtime) = runtimes.runtime(id) else {
        let near = closest(id, runtimes.runtimes().iter().map(|runtime| runtime.id.as_str()));
        let hint = match (near, file) {
            (Some(near), _) => Hint::from(format!("did you mean `{}`?", escape_terminal(near))),
            // An existing file must not be overwritten.
            (None, Some(file)) if runtimes.runtimes().is_empty() => {
                format!("add a [[runtime]] entry to {file}").into()
            }
            (None, None) if runtimes.runtimes().is_empty() => NextStep::InitRuntimes.into(),
            (None, _) => NextStep::ListRuntimes.into(),
        };
        return Err(Box::new(missing(format!("the runtime `{shown}` is not configured")).hint(hint)));
    };
    if !runtime.enabled {
        let blocker = missing(format!("the runtime `{shown}` is disabled")).at(runtime.place_of("enabled"));
        return Err(Box::new(blocker.hint("set `enabled = true`")));
    }
    if runtime.is_broken {
        let blocker = missing(format!("the entry of the runtime `{shown}` has errors"));
        return Err(Box::new(blocker.at(runtime.origin.place.clone()).hint(NextStep::CheckRuntimes)));
    }
    Ok(runtime)
}

/// Lists why a runtime cannot serve a call; empty if it can.
pub fn not_usable(tool: &Tool, facts: &RuntimeFacts) -> Vec<Blocker> {
    if facts.is_usable() {
        return Vec::new();
    }
    let id = facts.id.as_str();
    let shown = escape_terminal(id);
    let blocker = |code: ErrorCode, message: String, step: NextStep| {
        Blocker::new(code, message).at(tool.place_of("runtime_id")).field("runtime_id").hint(step)
    };
    let start = || NextStep::StartRuntime(id.to_owned());
    vec![match (facts.state, &facts.health) {
        (RuntimeState::Stopped, _) => {
            blocker(ErrorCode::RuntimeStopped, format!("the runtime `{shown}` is not running"), start())
        }
        (RuntimeState::Stale, _) => {
            let message = format!("the runtime `{shown}` ended without being stopped");
            blocker(ErrorCode::RuntimeStopped, message, start())
        }
        (RuntimeState::Running, _) if !facts.managed => {
            let message = format!("the runtime `{shown}` runs, but nothing proves that Brigade started it");
            blocker(ErrorCode::RuntimeUnmanaged, message, NextStep::ShowRuntime(id.to_owned()))
        }
        (RuntimeState::Running, Some(health)) => {
            let message = format!("the runtime `{shown}` is not healthy: {}", health.detail);
            blocker(ErrorCode::RuntimeUnhealthy, message, NextStep::RestartRuntime(id.to_owned()))
        }
        (RuntimeState::Running, None) => {
            let message = format!("the health of the runtime `{shown}` could not be checked");
            blocker(ErrorCode::RuntimeUnhealthy, message, NextStep::RuntimeStatus)
        }
    }]
}
