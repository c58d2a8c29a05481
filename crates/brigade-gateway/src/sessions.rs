//! Implements `session.init` and `session.mode`: the rights of a session, and how it narrows them.
//!
//! Only narrower modes are applied here. A wider mode is a call of `session.mode` that a person approves.

use std::sync::Arc;

use brigade::ErrorCode;
use brigade::core::{Json, short_repeats};
use brigade::gateway::AgentTools;
use brigade::profile::{ProfileName, Slot};
use brigade::store::memory::StoredCore;
use serde::Serialize;

use crate::answer::{Answer, CallSummary};
use crate::blocking::blocking;
use crate::call::Asker;
use crate::gateway::{Gateway, Speaker};
use crate::results::{self, ModeResult, SessionResult};
use crate::view::{Kind, View};

/// The tool that shows the rights of a session.
pub(crate) const INIT: &str = "session.init";

/// The tool that changes the mode of a session.
pub(crate) const MODE: &str = "session.mode";

/// The effect of another mode on a session.
enum ModeChange {
    /// The session already has this mode.
    Same,
    /// The mode shows fewer tools.
    Narrower(ProfileName),
    /// The mode shows more tools.
    Wider,
}

fn refusal_answer(tool: &str, code: &str, message: impl Into<String>) -> Box<Answer> {
    Box::new(Answer::failed(CallSummary::of_tool(tool, "refused").coded(code), message))
}

fn shown_of<'v>(tool: &str, view: &'v View) -> Result<&'v Arc<AgentTools>, Box<Answer>> {
    view.shown.as_ref().ok_or_else(|| refusal_answer(tool, "busy", "nothing can be called"))
}
/// Compares a mode with the current tools of a session.
fn step(tool: &str, shown: &AgentTools, name: &str) -> Result<ModeChange, Box<Answer>> {
    let Some(profile) = shown.mode(name) else {
        let modes = shown.agents.profiles.all().map(|profile| &profile.name);
        let modes: Vec<&str> = modes.filter(|name| name.slot() == Slot::Mode).map(short).collect();
        return Err(refusal_answer(
            tool,
            "unknown_mode",
            format!("there is no such mode; there are {}", modes.join(", ")),
        ));
    };
    if let Some(fixed) = shown.rights.fixed_against(profile, shown.traits()) {
        let message = format!("the server was started with the profile {fixed}; sessions cannot change it");
        return Err(refusal_answer(tool, "mode_fixed", message));
    }
    if shown.rights.last_of(Slot::Mode) == Some(&profile.name) {
        return Ok(ModeChange::Same);
    }
    let instead = shown.rights.instead(profile.clone());
    Ok(match instead.is_within(&shown.rights, shown.traits()) {
        true => ModeChange::Narrower(profile.name.clone()),
        false => ModeChange::Wider,
    })
}

/// Returns a name without its slot.
fn short(name: &ProfileName) -> &str {
    name.as_str().split_once('.').map_or(name.as_str(), |(_, name)| name)
}

impl Gateway {
    /// Checks a call that is answered here, and returns the view and rights that decide about it.
    async fn checked(
        self: &Arc<Self>,
        asker: &Asker,
        tool: &'static str,
        args: &Json,
    ) -> Result<Arc<View>, Box<Answer>> {
        let view = self.view(&asker.speaker()).await;
        let (workspace, args, of_check) =
            (asker.workspace(&self.workspace, None), args.clone(), view.clone());
        let checked = blocking(move || {
            let shown = of_check.shown.as_ref();
            shown.map_or(Ok(()), |shown| workspace.agent_calls().check(shown, tool, &args))
        });
        checked.await.map_err(|error| Box::new(Answer::refused(tool, &error)))?;
        Ok(view)
    }

    /// Returns the instructions for the client of a session.
    pub(crate) async fn instructions(self: &Arc<Self>, speaker: &Speaker) -> String {
        let view = self.view(speaker).await;
        view.instructions_in(&speaker.session, self.core_memory(speaker, &view).await.as_ref())
    }

    /// Returns the core memory of an agent that has an identity.
    pub(crate) async fn core_memory(&self, speaker: &Speaker, view: &View) -> Option<StoredCore> {
        if !view.has_identity() {
            return None;
        }
        let workspace = speaker.workspace(&self.workspace, None);
        blocking(move || workspace.agent_calls().core_memory()).await.ok().flatten()
    }

    /// Answers `session.init`: narrows the session to a mode, then returns its rights.
    pub(crate) async fn begin(self: &Arc<Self>, asker: &Asker, args: &Json) -> Answer {
        self.try_begin(asker, args).await.unwrap_or_else(|refused| *refused)
    }

    async fn try_begin(self: &Arc<Self>, asker: &Asker, args: &Json) -> Result<Answer, Box<Answer>> {
        let view = self.checked(asker, INIT, args).await?;
        let shown = shown_of(INIT, &view)?;
        let default =
            brigade::profile::builtin::definition(INIT).and_then(|row| row.default_of("mode")?.as_str());
        let mode = args.get("mode").and_then(Json::as_str).or(default).unwrap_or_default();
        match step(INIT, shown, mode)? {
            ModeChange::Same => {}
            ModeChange::Narrower(profile) => self.narrow(asker, profile).await,
            ModeChange::Wider => {
                let message =
                    "the mode shows more than this session does; `session.mode` asks a person for it";
                return Err(refusal_answer(INIT, "mode_widens", message));
            }
        }
        let view = self.view(&asker.speaker()).await;
        let shown = shown_of(INIT, &view)?;
        let core = self.core_memory(&asker.speaker(), &view).await;
        let last_in = |slot| shown.rights.last_of(slot).map_or("", short);
        let tools = || view.tools.iter().filter(|tool| tool.kind == Kind::Catalog);
        let result = SessionResult {
            mode: last_in(Slot::Mode),
            permission: last_in(Slot::Permission),
            access: last_in(Slot::Access),
            role: last_in(Slot::Role),
            system_prompt: &view.instructions_in(&asker.session, core.as_ref()),
            core_memory: core.as_ref(),
            available_tools: tools().map(|tool| tool.name.as_str()).collect(),
            gates: tools().map(|tool| (tool.name.as_str(), tool.need.gate().as_str())).collect(),
            profiles: shown.rights.profiles().iter().map(|profile| profile.name.as_str()).collect(),
            version: env!("CARGO_PKG_VERSION"),
        };
        Ok(done_answer(INIT, &result))
    }

    /// Answers `session.mode` at once if the mode is narrower. `None` if a person must approve it.
    pub(crate) async fn narrow_session(self: &Arc<Self>, asker: &Asker, args: &Json) -> Option<Answer> {
        self.try_narrow_session(asker, args).await.unwrap_or_else(|refused| Some(*refused))
    }

    async fn try_narrow_session(
        self: &Arc<Self>,
        asker: &Asker,
        args: &Json,
    ) -> Result<Option<Answer>, Box<Answer>> {
        let view = self.checked(asker, MODE, args).await?;
        let shown = shown_of(MODE, &view)?;
        match step(MODE, shown, text(args, "target_mode"))? {
            ModeChange::Same => {}
            ModeChange::Narrower(profile) => self.narrow(asker, profile).await,
            ModeChange::Wider => return Ok(None),
        }
        let (workspace, reason) = (asker.workspace(&self.workspace, None), text(args, "reason").to_owned());
        let reason = blocking(move || workspace.agent_calls().masked(&reason)).await;
        let target_mode = text(args, "target_mode");
        let result = ModeResult { action: "mode_switched", target_mode, reason: &reason, call_id: None };
        Ok(Some(done_answer(MODE, &result)))
    }

    async fn narrow(self: &Arc<Self>, asker: &Asker, profile: ProfileName) {
        asker.session.narrow(profile);
        self.session_changed().await;
    }

    /// Notifies the clients whose session changed.
    pub(crate) async fn session_changed(self: &Arc<Self>) {
        self.changed.notify_waiters();
        self.notify_listeners().await;
    }
}

fn text<'a>(args: &'a Json, name: &str) -> &'a str {
    args.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn done_answer(tool: &str, result: &impl Serialize) -> Answer {
    let structured = results::value(result);
    let text = structured.to_string();
    let about = CallSummary::of_tool(tool, "completed");
    Answer { about, structured: Some(structured), ..Answer::default() }.text(text)
}

/// Returns the answer that the mode waits for a person's approval.
pub(crate) fn requested_answer(call: &brigade::Call) -> Answer {
    let args = &call.args;
    let structured = results::value(&ModeResult {
        action: "mode_switch_requested",
        target_mode: text(args, "target_mode"),
        reason: text(args, "reason"),
        call_id: Some(call.id.to_string()),
    });
    let text = format!(
        "another mode needs a person's approval: `brigade approve {}`. Then `call.wait` with call_id `{}` changes \
         the mode of this session. Nothing has changed",
        short_repeats(call.id.as_str()),
        call.id
    );
    let about = CallSummary::of_call(call).coded(ErrorCode::ApprovalPending);
    Answer { about, structured: Some(structured), ..Answer::default() }.text(text)
}
