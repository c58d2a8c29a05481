//! The runtime that a call cannot do without, looked at right before the call runs.

use brigade_call::RuntimeFact;
use brigade_catalog::{Family, Runtime, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{Hint, NextStep, closest};
use brigade_policy::Blocker;
use brigade_runtime::{Checks, RuntimeFacts, RuntimeState};
use brigade_upkeep::machine_of;

use super::shown::recorded;
use crate::gather;
use crate::gather::Config;
use crate::load;
use crate::room::{RUNTIMES, Room, rel};
use crate::runtimes;

/// Looks at the runtime of a tool. One that the tool cannot do without has its health command run; one that it only
/// names is recorded as it stands, and keeps nothing from running.
pub(crate) fn runtime_fact(room: &Room, tool: &Tool, config: &Config) -> RuntimeFact {
    let id = tool.runtime_id.as_deref().filter(|id| !id.is_empty());
    let is_required = tool.requires_runtime || tool.family == Some(Family::Mcp);
    match (id, is_required) {
        (None, false) => RuntimeFact::NotNeeded,
        (None, true) => RuntimeFact::NotReady(vec![
            missing(tool, "the tool needs a runtime and names none".to_owned())
                .hint("set `runtime_id` to a runtime of .brigade/tools/runtimes.toml"),
        ]),
        (Some(id), true) => match look_at_runtime(room, tool, id, config, Checks::Run) {
            Ok(facts) => {
                let reasons = reasons(tool, &facts);
                if reasons.is_empty() {
                    RuntimeFact::Ready(Box::new(recorded(&facts, &*room.env.speller)))
                } else {
                    RuntimeFact::NotReady(reasons)
                }
            }
            Err(blocker) => RuntimeFact::NotReady(vec![*blocker]),
        },
        (Some(id), false) => match look_at_runtime(room, tool, id, config, Checks::Skip) {
            Ok(facts) => RuntimeFact::Ready(Box::new(recorded(&facts, &*room.env.speller))),
            Err(_) => RuntimeFact::NotNeeded,
        },
    }
}

fn look_at_runtime(
    room: &Room,
    tool: &Tool,
    id: &str,
    config: &Config,
    checks: Checks,
) -> Result<RuntimeFacts, Box<Blocker>> {
    let cannot = |message: String| Box::new(missing(tool, message));
    let runtimes = runtimes::runtimes(room).map_err(|error| cannot(error.to_string()))?;
    let shown = escape_terminal(id);
    let Some(runtime) = runtimes.runtime(id) else {
        let blocker = cannot(format!("the runtime `{shown}` is not configured"));
        let near = closest(id, runtimes.runtimes().iter().map(|runtime| runtime.id.as_str()));
        let hint = match near {
            Some(near) => Hint::from(format!("did you mean `{}`?", escape_terminal(near))),
            // A file that is there, empty as it may be, is not written over.
            None if runtimes.runtimes().is_empty() && room.fs.exists(&rel(RUNTIMES)).unwrap_or(true) => {
                format!("add a [[runtime]] entry to {RUNTIMES}").into()
            }
            None if runtimes.runtimes().is_empty() => NextStep::InitRuntimes.into(),
            None => NextStep::ListRuntimes.into(),
        };
        return Err(Box::new(blocker.hint(hint)));
    };
    if !runtime.enabled {
        let blocker = cannot(format!("the runtime `{shown}` is disabled"));
        return Err(Box::new(blocker.at(runtime.place_of("enabled")).hint("set `enabled = true`")));
    }
    if runtime.is_broken {
        return Err(Box::new(broken(tool, runtime)));
    }
    let host = machine_of(gather::host(room), &config.policy).map_err(|error| cannot(error.to_string()))?;
    Ok(runtimes::supervisor(room, &host).facts_of_one(runtime, checks, room.env.cancel.as_ref()))
}

fn missing(tool: &Tool, message: String) -> Blocker {
    Blocker::new("runtime_missing", message).at(tool.place_of("runtime_id")).field("runtime_id")
}

fn broken(tool: &Tool, runtime: &Runtime) -> Blocker {
    let id = escape_terminal(runtime.id.as_str()).into_owned();
    missing(tool, format!("the entry of the runtime `{id}` has errors"))
        .at(runtime.origin.place.clone())
        .hint(NextStep::CheckRuntimes)
}

/// Lists why a runtime cannot serve a call; empty when it can.
fn reasons(tool: &Tool, facts: &RuntimeFacts) -> Vec<Blocker> {
    if facts.is_usable() {
        return Vec::new();
    }
    let id = facts.id.as_str();
    let shown = escape_terminal(id);
    let blocker = |code: &'static str, message: String, step: NextStep| {
        Blocker::new(code, message).at(tool.place_of("runtime_id")).field("runtime_id").hint(step)
    };
    let start = || NextStep::StartRuntime(id.to_owned());
    vec![match (facts.state, &facts.health) {
        (RuntimeState::Stopped, _) => {
            blocker("runtime_stopped", format!("the runtime `{shown}` is not running"), start())
        }
        (RuntimeState::Stale, _) => {
            let message = format!("the runtime `{shown}` ended without being stopped");
            blocker("runtime_stopped", message, start())
        }
        (RuntimeState::Running, _) if !facts.managed => {
            let message = format!("the runtime `{shown}` runs, but nothing proves that Brigade started it");
            blocker("runtime_unmanaged", message, NextStep::ShowRuntime(id.to_owned()))
        }
        (RuntimeState::Running, Some(health)) => {
            let message = format!("the runtime `{shown}` is not healthy: {}", health.detail);
            blocker("runtime_unhealthy", message, NextStep::RestartRuntime(id.to_owned()))
        }
        (RuntimeState::Running, None) => {
            let message = format!("the health of the runtime `{shown}` could not be checked");
            blocker("runtime_unhealthy", message, NextStep::RuntimeStatus)
        }
    }]
}

/// Looks at the runtime of the tool that a call is for; see [`Workspace::runtime_fact`].
pub(crate) fn runtime_of(room: &Room, tool_id: &str, config: &Config) -> RuntimeFact {
    match load::tool(&config.catalog, tool_id) {
        Ok(tool) => runtime_fact(room, tool, config),
        // A call whose tool is gone is refused for that.
        Err(_) => RuntimeFact::NotNeeded,
    }
}
