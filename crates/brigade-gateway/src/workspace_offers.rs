//! The resources and prompts of the workspace itself.

use std::sync::Arc;

use brigade::LogStream;
use brigade::core::RunId;
use brigade::profile::CORE_MEMORY;
use rmcp::model::{
    GetPromptResult, Prompt, PromptMessage, Resource, ResourceContents, ResourceTemplate, Role,
};

use crate::blocking::blocking;
use crate::call::workspace_of;
use crate::gateway::{Gateway, Speaker};
use crate::view::{AgentTool, Kind, View};

const MARKDOWN: &str = "text/markdown";
const PLAIN: &str = "text/plain";

/// Lists one page for each tool of the agent.
pub(crate) fn resources(view: &View) -> Vec<Resource> {
    let row = |tool: &AgentTool| {
        Resource::new(format!("brigade://tool/{}", encoded(&tool.id)), &*tool.id)
            .with_title(tool.title())
            .with_mime_type(MARKDOWN)
    };
    let core = || {
        Resource::new(CORE_MEMORY, "core memory")
            .with_title("What this agent wrote down for its sessions")
            .with_mime_type(MARKDOWN)
    };
    view.has_identity().then(core).into_iter().chain(listed_tools(view).map(row)).collect()
}

/// Percent-encodes an id for a URI.
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
pub(crate) fn listed_tools(view: &View) -> impl Iterator<Item = &AgentTool> {
    view.tools.iter().filter(|tool| matches!(tool.kind, Kind::Catalog))
}

/// Returns the templates of resources that are not listed one by one.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    [
        ("brigade://tool/{id}", "tool", "How a tool is called", MARKDOWN),
        ("brigade://docs/{page}", "docs", "A page of the documentation", MARKDOWN),
        ("brigade://run/{run}", "run", "The receipt of a run", "application/json"),
        ("brigade://run/{run}/stdout", "stdout", "Standard output of a run", PLAIN),
        ("brigade://run/{run}/stderr", "stderr", "Standard error of a run", PLAIN),
    ]
    .map(|(uri, name, title, media)| ResourceTemplate::new(uri, name).with_title(title).with_mime_type(media))
    .into()
}

/// Reads a resource. `None` if it does not exist or belongs to another agent.
pub(crate) async fn read(
    gateway: &Arc<Gateway>,
    speaker: &Speaker,
    view: &View,
    uri: &str,
) -> Option<ResourceContents> {
    let contents = |media, text: String| ResourceContents::text(text, uri).with_mime_type(media);
    if uri == CORE_MEMORY {
        view.has_identity().then_some(())?;
        let core = gateway.core_memory(speaker, view).await;
        return Some(contents(MARKDOWN, core.map(|core| core.to_markdown()).unwrap_or_default()));
    }
    let rest = uri.strip_prefix("brigade://")?;
    if let Some(id) = rest.strip_prefix("tool/") {
        let tool = view.by_id(id).or_else(|| listed_tools(view).find(|tool| encoded(&tool.id) == id))?;
        return Some(contents(MARKDOWN, tool.page()));
    }
    if rest.starts_with("docs/") {
        // An agent that may search the documentation may read it.
        view.by_id("session.docs")?;
        return Some(contents(MARKDOWN, brigade::gateway::documentation(uri)?));
    }
    let run = rest.strip_prefix("run/")?;
    let (run, stream) = match run.split_once('/') {
        None => (run, None),
        Some((run, "stdout")) => (run, Some(LogStream::Stdout)),
        Some((run, "stderr")) => (run, Some(LogStream::Stderr)),
        Some(_) => return None,
    };
    let run: RunId = run.parse().ok()?;
    let workspace = speaker.workspace(&gateway.workspace, None);
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
                Some((PLAIN, output.content))
            }
        }
    })
    .await
    .map(|(media, text)| contents(media, text))
}

/// Lists the skills, slash commands and superpowers of the catalog whose names `is_wanted` accepts.
pub(crate) fn prompts(view: &View, is_wanted: &dyn Fn(&str) -> bool) -> Vec<Prompt> {
    let row = |prompt: &crate::view::Text| {
        Prompt::new(&*prompt.name, Some(&*prompt.description), None).with_title(&*prompt.title)
    };
    view.prompts.iter().filter(|prompt| is_wanted(&prompt.name)).map(row).collect()
}

/// Returns the text of a prompt.
pub(crate) async fn prompt(
    gateway: &Arc<Gateway>,
    agent: &str,
    view: &View,
    name: &str,
) -> Option<GetPromptResult> {
    let prompt = view.prompts.iter().find(|prompt| prompt.name == name)?.clone();
    let workspace = workspace_of(&gateway.workspace, agent, None);
    let id = prompt.name.clone();
    let text = blocking(move || workspace.agent_calls().source_text(&id).ok().flatten()).await?;
    let message = PromptMessage::new_text(Role::User, text);
    Some(GetPromptResult::new(vec![message]).with_description(prompt.description))
}
