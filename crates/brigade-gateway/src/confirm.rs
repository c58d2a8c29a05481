//! Asks the person at the client to approve a call, for agents with `confirm = "elicitation"`.

use std::sync::Arc;
use std::time::Duration;

use brigade::core::Json;
use brigade::core::text::escape_terminal;
use brigade::profile::{Agent, Confirm, GatewayConfig};
use brigade::{Call, Family};
use rmcp::ErrorData;
use rmcp::model::{
    ClientResult, ElicitRequest, InputRequest, InputRequiredResult, InputResponses, SealOptions,
    ServerRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::blocking::blocking;
use crate::call::Asker;
use crate::call_state::{RequestNotes, is_decided};
use crate::gateway::Gateway;
use crate::upstream::invalid_state_error;
use crate::view::AgentTool;

/// The key of the question among the requests of a result.
const KEY: &str = "approve";

/// How long a question may stay open.
pub(crate) const OPEN: Duration = Duration::from_secs(600);

/// Whether and how a client can be asked.
pub(crate) enum Question {
    /// The client cannot be asked.
    None,
    /// By a request of the server.
    Request,
    /// By a result that requires input.
    Result,
}

/// The outcome of a question.
pub(crate) enum Reply {
    /// Nothing: the call stays pending.
    None,
    /// The call was decided.
    Answer(Box<Answer>),
    /// The client sends its reply with the same call again.
    Required(Box<InputRequiredResult>),
}

/// The state that the client returns with its reply.
#[derive(Serialize, Deserialize)]
struct State {
    agent: String,
    call: String,
    binding: Option<String>,
}

impl State {
    fn new(asker: &Asker, call: &Call) -> State {
        let binding = call.planned_binding.map(brigade::core::Fingerprint::to_hex);
        State { agent: asker.agent.to_string(), call: call.id.to_string(), binding }
    }
}

impl Question {
    pub(crate) fn new(gateway: &Gateway, asker: &Asker, tool: &AgentTool) -> Question {
        let may = may_confirm(&gateway.config(), asker, tool);
        // A client that names no mode supports forms.
        let has_forms = |mode: &rmcp::model::ElicitationCapability| mode.form.is_some() || mode.url.is_none();
        let declares = asker.client.capabilities.elicitation.as_ref().is_some_and(has_forms);
        match (may && declares, asker.client.is_late) {
            (false, _) => Question::None,
            (true, true) => Question::Result,
            (true, false) => Question::Request,
        }
    }

    /// Asks, and acts on the reply.
    pub(crate) async fn ask(
        &self,
        gateway: &Arc<Gateway>,
        asker: &Asker,
        tool: &AgentTool,
        call: &Call,
    ) -> Reply {
        if matches!(self, Question::None) {
            return Reply::None;
        }
        let named = named_things(gateway, asker, call).await;
        let Ok(form) = serde_json::from_value::<ElicitRequest>(form(tool, call, &named)) else {
            return Reply::None;
        };
        match self {
            Question::None => Reply::None,
            Question::Request => {
                let peer = asker.line.peer();
                let response = peer.send_request(ServerRequest::ElicitRequest(form));
                let reply = tokio::select! {
                    reply = tokio::time::timeout(OPEN, response) => reply,
                    () = asker.cancelled.cancelled() => return Reply::None,
                    () = gateway.decided_elsewhere(asker, &call.id) => {
                        return Reply::Answer(Box::new(gateway.resumed_answer(asker, call).await));
                    }
                };
                let reply = match reply {
                    Ok(Ok(ClientResult::ElicitResult(reply))) => {
                        serde_json::to_value(reply).unwrap_or_default()
                    }
                    _ => return Reply::None,
                };
                apply_reply(gateway, asker, tool, call, &reply).await
            }
            Question::Result => {
                let options = SealOptions::new().ttl(OPEN);
                let Ok(state) = gateway.states.seal_json_with(&State::new(asker, call), &options) else {
                    return Reply::None;
                };
                let requests = [(KEY.to_owned(), InputRequest::Elicitation(form))].into_iter().collect();
                Reply::Required(Box::new(InputRequiredResult::new(Some(requests), Some(state))))
            }
        }
    }

    /// Acts on a reply that the client sent with the call.
    pub(crate) async fn returned(
        gateway: &Arc<Gateway>,
        asker: &Asker,
        tool: &AgentTool,
        arguments: &Json,
        state: &str,
        replies: Option<&InputResponses>,
    ) -> Result<Answer, ErrorData> {
        let state: State = gateway.states.open_json(state).map_err(|_| invalid_state_error())?;
        let id: brigade::core::CallId = state.call.parse().map_err(|_| invalid_state_error())?;
        let call = gateway.call(asker, &id).await.map_err(|_| invalid_state_error())?.call;
        let is_its = state.agent == *asker.agent
            && call.tool_id == tool.id
            && call.args == *arguments
            && state.binding == State::new(asker, &call).binding;
        if !is_its {
            return Err(invalid_state_error());
        }
        let reply = replies.and_then(|replies| replies.get(KEY));
        let reply = reply.cloned().unwrap_or_default();
        Ok(match apply_reply(gateway, asker, tool, &call, &reply).await {
            Reply::Answer(answer) => *answer,
            Reply::None | Reply::Required(_) => gateway.stored_answer(asker, &call, &RequestNotes::default()),
        })
    }
}

/// Returns whether the dialogue of the agent's client may approve calls of this tool.
fn may_confirm(config: &GatewayConfig, asker: &Asker, tool: &AgentTool) -> bool {
    let may = |agent: &Agent| agent.confirm == Confirm::Elicitation && tool.risk <= agent.confirm_risk;
    asker.client.is_proven && config.agent(&asker.agent).is_some_and(may)
}

/// Approves or rejects the call as the person replied. An unclear reply leaves the call pending. So does a reply that
/// gateway.toml no longer accepts as a decision.
async fn apply_reply(
    gateway: &Arc<Gateway>,
    asker: &Asker,
    tool: &AgentTool,
    call: &Call,
    reply: &Value,
) -> Reply {
    let now = gateway.agents_now().await;
    if !may_confirm(&now.gateway, asker, tool) {
        let before = RequestNotes { unconfirmed: true, ..RequestNotes::default() };
        let is_over = gateway.status_of(asker, &call.id).await.as_ref().is_some_and(is_decided);
        return Reply::Answer(Box::new(match is_over {
            true => gateway.resumed_answer(asker, call).await,
            false => gateway.current_answer(asker, call, &before).await,
        }));
    }
    let is_form = reply.get("content").is_none_or(|content| content.is_object() || content.is_null());
    match (reply.get("action").and_then(Value::as_str), is_form) {
        (Some("accept"), true) => Reply::Answer(Box::new(gateway.run_agreed(asker, call, tool).await)),
        (Some("decline"), _) => Reply::Answer(Box::new(gateway.declined(asker, call).await)),
        _ => Reply::None,
    }
}

/// Returns what the arguments of a call of a built-in tool refer to, as reviews at the command line show it.
async fn named_things(gateway: &Gateway, asker: &Asker, call: &Call) -> Vec<String> {
    if call.family != Family::Builtin {
        return Vec::new();
    }
    let (workspace, id) = (asker.workspace(&gateway.workspace, None), call.id.clone());
    let shown = blocking(move || workspace.calls().show(id.as_str())).await;
    let preview = shown.ok().and_then(|shown| shown.preview);
    preview.map(|preview| preview.binding.named.into_keys().collect()).unwrap_or_default()
}

/// The form of the question. Its texts are those of the stored call, which holds no secret.
fn form(tool: &AgentTool, call: &Call, named: &[String]) -> Value {
    let effects = match tool.effects.as_slice() {
        [] => "none declared".to_owned(),
        effects => effects.join(", "),
    };
    let root = call.session.as_ref().and_then(|session| session.root_of(&call.tool_id));
    let root = root.map(|root| format!("\nworks in: {}", escape_terminal(root))).unwrap_or_default();
    let named: String = named.iter().map(|named| format!("\nbinds: {}", escape_terminal(named))).collect();
    let unchecked = tool.arguments_not_checked().map(|why| format!("\n{}", escape_terminal(&why)));
    let message = format!(
        "Run `{}` once, as shown here?\narguments: {}{}{named}{root}\neffects: {effects}\nrisk: {}",
        tool.id,
        escape_terminal(&call.args.to_compact()),
        unchecked.unwrap_or_default(),
        tool.risk.as_str(),
    );
    json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": message,
            "requestedSchema": {"type": "object", "properties": {}},
        },
    })
}
