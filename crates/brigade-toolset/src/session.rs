//! Changes of an agent's session that a person approved: `session.mode` and `session.exit_plan`.
//!
//! The gateway itself answers tools that only narrow or show the rights of a session, because it knows all tools.

use brigade_access::{LiveSession, ProfileName, Rights, Slot};
use brigade_core::{ErrorCode, Json};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("session.exit_plan", exit_plan), ("session.mode", mode)];

/// The profile of a session after its plan is accepted.
const EDIT: &str = "permission.edit";

#[derive(Deserialize)]
struct ModeArgs {
    target_mode: String,
    reason: String,
}

/// The result of `session.mode`.
#[derive(Serialize)]
struct ModeSwitched {
    action: &'static str,
    target_mode: String,
    reason: String,
}

/// The result of `session.exit_plan`.
#[derive(Serialize)]
struct PlanAccepted<'a> {
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
}

/// Replaces a profile of the session that asked.
fn grant(context: &Context<'_>, slot: Slot, name: &str) -> Result<(), Failure> {
    let over =
        || Failure::new(ErrorCode::SessionGone, "the session that asked has ended; nothing has changed");
    let session: &LiveSession = context.session.ok_or_else(over)?;
    let (profiles, agent) = context.agent_profiles.ok_or_else(over)?;
    let unknown =
        || Failure::new(ErrorCode::UnknownMode, "the profile no longer exists; nothing has changed");
    let found = profiles.get(name).or_else(|| profiles.get(&format!("{slot}.{name}")));
    let profile: ProfileName =
        found.filter(|profile| profile.name.slot() == slot).ok_or_else(unknown)?.name.clone();
    let own = Rights::own_names(profiles, agent, slot).map_err(|_| unknown())?;
    session.grant(own, profile);
    Ok(())
}

/// `session.mode`: a person approved another mode.
fn mode(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ModeArgs { target_mode, reason } = arguments(input)?;
    grant(context, Slot::Mode, &target_mode)?;
    Ok(Output::from_result(&ModeSwitched { action: "mode_switched", target_mode, reason }))
}

/// `session.exit_plan`: a person accepted the plan.
fn exit_plan(_: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    grant(context, Slot::Permission, EDIT)?;
    Ok(Output::from_result(&PlanAccepted { decision: "accept", call_id: context.call }))
}

#[cfg(test)]
mod tests {
    use brigade_access::{Agent, Profiles};
    use brigade_core::{AgentName, Place};

    use super::*;
    use crate::run::run;
    use crate::stored::testing::{Bench, StillClock};
    use brigade_access::builtin::definition;

    fn names(bench: &Bench, agent: &Agent) -> Vec<String> {
        let rights = Rights::of_session(Profiles::shipped(), agent, &bench.session.profiles(), &[]).unwrap();
        rights.profiles().iter().map(|profile| profile.name.to_string()).collect()
    }

    #[test]
    fn an_approved_profile_replaces_that_of_the_agent() {
        let bench = Bench::new();
        let agent = Agent::new(AgentName::local(), Place::file("gateway.toml"));
        let call = |tool: &str, args: &str| {
            let args = Json::parse(args).unwrap();
            let mut context = Context {
                session: Some(&bench.session),
                call: Some("call-1"),
                agent_profiles: Some((Profiles::shipped(), &agent)),
                ..Context::new(&bench.fs, "agent:local", &StillClock, &bench.redactor, &bench.stores)
            };
            run(definition(tool).unwrap(), &args, &mut context)
        };
        bench.session.narrow("mode.chat".parse().unwrap());
        assert!(names(&bench, &agent).contains(&"mode.chat".to_owned()));
        call("session.mode", r#"{"target_mode": "operator", "reason": "deploy"}"#).unwrap();
        let mode: Vec<String> =
            names(&bench, &agent).into_iter().filter(|name| name.starts_with("mode.")).collect();
        assert_eq!(mode, ["mode.operator"]);
        let done = call("session.exit_plan", r#"{"plan": "1. cook"}"#).unwrap().structured;
        assert_eq!(done.get("decision"), Some(&Json::from("accept")));
        assert_eq!(done.get("call_id"), Some(&Json::from("call-1")));
        // A slot accepts only its own profiles.
        let failure = call("session.mode", r#"{"target_mode": "access.operator", "reason": "x"}"#);
        assert_eq!(failure.unwrap_err().code, ErrorCode::UnknownMode);
        assert_eq!(
            bench.code("command-line", "session.mode", r#"{"target_mode": "chat", "reason": "x"}"#),
            ErrorCode::SessionGone
        );
    }
}
