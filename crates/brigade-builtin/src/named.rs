//! What arguments name in the store.

use brigade_core::{Fingerprint, Json};
use brigade_manifest::{Agent, read};
use brigade_store::Store;
use brigade_store::flows::FlowStatus;

use crate::agent::KIND as AGENT;
use crate::workflow::KIND as WORKFLOW;

/// What an argument names.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Its name, for people.
    pub name: String,
    /// Changes whenever it does.
    pub fingerprint: Fingerprint,
    /// The agent, if it is the manifest of one.
    pub agent: Option<Agent>,
}

/// Returns what the arguments of a tool name in the store as it is now: the revision of a manifest that the call would
/// take, or the question that it would answer. `None` for tools that name nothing of that kind, and for names of
/// nothing.
pub fn named(store: &Store, tool: &str, args: &Json) -> Option<Named> {
    let text = |name: &str| args.get(name).and_then(Json::as_str);
    match tool {
        "workflow.run" | "workflow.promote" | "workflow.demote" => {
            manifest(store, WORKFLOW, text("name")?, text("version"))
        }
        "task.execute" | "task.handoff" => manifest(store, AGENT, text("agent_id")?, text("version")),
        "workflow.signal" => {
            let flow = store.flow(None, text("execution_id")?).ok()?;
            let question = flow.question.as_deref().filter(|_| flow.status == FlowStatus::Running)?;
            let name = format!("the question of `{}` in {}", flow.state, flow.id);
            Some(Named { name, fingerprint: Fingerprint::of_bytes(question.as_bytes()), agent: None })
        }
        _ => None,
    }
}

fn manifest(store: &Store, kind: &str, name: &str, version: Option<&str>) -> Option<Named> {
    let (deployed, revision) = store.manifest(kind, name, version).ok()?;
    let agent = if kind == AGENT { read::<Agent>(&revision.text).manifest } else { None };
    let name = format!("{kind} {} {}", deployed.name, revision.version);
    Some(Named { name, fingerprint: Fingerprint::of_bytes(revision.text.as_bytes()), agent })
}
