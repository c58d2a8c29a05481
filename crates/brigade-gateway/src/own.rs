//! The resources and prompts of the workspace itself.

use std::sync::Arc;

use brigade::LogStream;
use brigade::core::RunId;
use serde_json::{Value, json};

use crate::call::{blocking, workspace_of};
use crate::gateway::{Gateway, Who};
use crate::view::{Kind, Shown, View};

/// Lists a page for each tool that the agent is shown.
pub(crate) fn resources(view: &View) -> Vec<Value> {
    let row = |tool: &Shown| {
        json!({
            "uri": format!("brigade://tool/{}", encoded(&tool.id)),
            "name": tool.id,
            "title": tool.title(),
            "mimeType": "text/markdown",
        })
    };
    listed(view).map(row).collect()
}

/// Writes an id as a part of a URI.
fn encoded(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
    id.bytes().fold(String::with_capacity(id.len()), |mut text, byte| {
        match is_plain(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

/// Returns the tools that have a page.
pub(crate) fn listed(view: &View) -> impl Iterator<Item = &Shown> {
    view.tools.iter().filter(|tool| matches!(tool.kind, Kind::Catalog))
}

/// The forms of resources that are not listed one by one.
pub(crate) fn templates() -> Vec<Value> {
    let templates = json!([
        {"uriTemplate": "brigade://tool/{id}", "name": "tool", "title": "How a tool is called",
         "mimeType": "text/markdown"},
        {"uriTemplate": "brigade://docs/{page}", "name": "docs", "title": "A page of the documentation",
         "mimeType": "text/markdown"},
        {"uriTemplate": "brigade://run/{run}", "name": "run", "title": "The receipt of a run",
         "mimeType": "application/json"},
        {"uriTemplate": "brigade://run/{run}/stdout", "name": "stdout", "title": "Standard output of a run",
         "mimeType": "text/plain"},
        {"uriTemplate": "brigade://run/{run}/stderr", "name": "stderr", "title": "Standard error of a run",
         "mimeType": "text/plain"},
    ]);
    templates.as_array().cloned().unwrap_or_default()
}

/// Reads a resource. `None` for what does not exist or belongs to another agent.
pub(crate) async fn read(gateway: &Arc<Gateway>, who: &Who, view: &View, uri: &str) -> Option<Value> {
    let rest = uri.strip_prefix("brigade://")?;
    if let Some(id) = rest.strip_prefix("tool/") {
        let tool = view.by_id(id).or_else(|| listed(view).find(|tool| encoded(&tool.id) == id))?;
        return Some(json!({"uri": uri, "mimeType": "text/markdown", "text": tool.page()}));
    }
    if rest.starts_with("docs/") {
        // Whoever may search the documentation may read it.
        view.by_id("session.docs")?;
        let text = brigade::documentation(uri)?;
        return Some(json!({"uri": uri, "mimeType": "text/markdown", "text": text}));
    }
    let run = rest.strip_prefix("run/")?;
    let (run, stream) = match run.split_once('/') {
        None => (run, None),
        Some((run, "stdout")) => (run, Some(LogStream::Stdout)),
        Some((run, "stderr")) => (run, Some(LogStream::Stderr)),
        Some(_) => return None,
    };
    let run: RunId = run.parse().ok()?;
    let workspace = who.workspace(&gateway.workspace, None);
    blocking(move || {
        let calls = workspace.agent_calls();
        match stream {
            None => {
                let receipt = calls.receipt(&run).ok().flatten()?;
                let text = serde_json::to_string_pretty(&receipt).ok()?;
                Some(("application/json", text))
            }
            Some(stream) => {
                let output = calls.output(&run, stream, 0, usize::MAX).ok().flatten()?;
                Some(("text/plain", output.content))
            }
        }
    })
    .await
    .map(|(media, text)| json!({"uri": uri, "mimeType": media, "text": text}))
}

/// Lists the skills, slash commands and superpowers of the catalog that are wanted.
pub(crate) fn prompts(view: &View, is_wanted: &dyn Fn(&str) -> bool) -> Vec<Value> {
    let row = |prompt: &crate::view::Text| json!({"name": prompt.name, "title": prompt.title, "description": prompt.description});
    view.prompts.iter().filter(|prompt| is_wanted(&prompt.name)).map(row).collect()
}

/// Returns the text of a prompt.
pub(crate) async fn prompt(gateway: &Arc<Gateway>, agent: &str, view: &View, name: &str) -> Option<Value> {
    let prompt = view.prompts.iter().find(|prompt| prompt.name == name)?.clone();
    let workspace = workspace_of(&gateway.workspace, agent, None);
    let id = prompt.name.clone();
    let text = blocking(move || workspace.agent_calls().source_text(&id).ok().flatten()).await?;
    Some(json!({
        "description": prompt.description,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}
