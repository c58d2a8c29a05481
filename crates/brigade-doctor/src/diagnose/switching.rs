//! What behaves differently in a workspace that v0.30 was used in.

use brigade_call::{ADOPTED_STATUS, CallStatus};
use brigade_catalog::{Family, Tool};
use brigade_core::{Json, Place};
use brigade_policy::DEFAULT_TIMEOUT_SECONDS;
use brigade_schema::{JsonType, TypeSet};

use crate::{Issue, IssueType, Snapshot, ToolFiles};

/// Lists what behaves differently. `arguments` are the differences that [`arguments`] found.
pub(super) fn switching(
    snapshot: &Snapshot<'_>,
    tools: &[&Tool],
    arguments: Vec<Issue>,
    found: &mut Vec<Issue>,
) {
    let was_approved = Json::from(CallStatus::Approved.as_str());
    let approved = snapshot.calls.iter().map(|state| state.call);
    let approved = approved
        .filter(|call| {
            call.status == CallStatus::Pending && call.extra.get(ADOPTED_STATUS) == Some(&was_approved)
        })
        .count();
    match approved {
        0 => {}
        1 => found.push(Issue::new(IssueType::SwitchApprovals, "1 call must be approved again")),
        more => {
            found.push(Issue::new(IssueType::SwitchApprovals, format!("{more} calls must be approved again")))
        }
    }
    if !snapshot.is_of_v030 {
        return;
    }
    let policy = snapshot.policy.as_ref().map(|facts| facts.state);
    let maximum = policy.and_then(|state| state.policy()).and_then(|policy| policy.max_timeout.as_ref());
    let limit = maximum.map_or(DEFAULT_TIMEOUT_SECONDS, |maximum| maximum.value.get());
    let runs = |tool: &&&Tool| tool.is_executable() && tool.command.is_some() && !tool.is_broken;
    let mut count = 0;
    for tool in tools.iter().filter(runs) {
        count += 1;
        if tool.timeout.is_none() {
            let detail = format!("no timeout, so its calls end after {limit} s");
            found.push(Issue::of_tool(IssueType::SwitchTimeout, tool, "id", detail));
        }
        // A server gets its arguments as a message.
        let templates = tool.argument_template.iter().filter(|_| tool.family != Some(Family::Mcp));
        for (name, _) in templates.filter(|(_, template)| is_split(template)) {
            let field = format!("argument_template.{name}");
            let detail = format!("the value of {field} is one word, and v0.30 splits it at blanks");
            found.push(
                Issue::of_tool(IssueType::SwitchArguments, tool, &field, detail).subject(field.clone()),
            );
        }
    }
    found.extend(arguments);
    if let Some(state) = policy.filter(|_| 0 < count) {
        let tools = if count == 1 { "tool gets" } else { "tools get" };
        let detail = format!("{count} {tools} only the usual variables and the labels of their entries");
        let place = Place::file(state.file());
        found.push(Issue::new(IssueType::SwitchEnvironment, detail).at(place));
    }
}

/// Lists the arguments whose values v0.30 writes as Python does: booleans, lists and objects. Texts with blanks, and
/// such that begin with `-`, are one issue of the tool.
pub(super) fn arguments(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    let is_called = tool.is_executable() && tool.command.is_some() && tool.family != Some(Family::Mcp);
    let Some(schema) = files.input_schema.schema().filter(|_| is_called) else { return };
    let mut texts = Vec::new();
    for (name, template) in &tool.argument_template {
        let property = schema.property(name);
        if property.as_ref().is_none_or(|it| it.types().lists(JsonType::String) && !it.has_fixed_values()) {
            texts.push(format!("`{name}`"));
        }
        // Templates that are split are listed already.
        let Some(property) = property.filter(|_| !is_split(template)) else { continue };
        let types = property.types();
        let (json, python) = match (types == TypeSet::ANY, types) {
            // Any type: a boolean is the likely one.
            (true, _) => ("`true`", "`True`"),
            (_, types) if types.lists(JsonType::Boolean) => ("`true`", "`True`"),
            (_, types) if types.lists(JsonType::Array) => (r#"`["a","b"]`"#, r#"`["a", "b"]`"#),
            (_, types) if types.lists(JsonType::Object) => (r#"`{"a":1}`"#, r#"`{"a": 1}`"#),
            _ => continue,
        };
        let field = format!("argument_template.{name}");
        let detail = format!("the value of {field} is written like {json}, and v0.30 writes {python}");
        let issue = Issue::of_tool(IssueType::SwitchArguments, tool, &field, detail).subject(field.clone());
        found.push(issue);
    }
    if !texts.is_empty() {
        let detail = format!(
            "v0.30 splits values at blanks and drops empty ones; here each value is one word, and one that begins with \
             `-` is refused: {}",
            texts.join(", ")
        );
        let issue = Issue::of_tool(IssueType::SwitchArguments, tool, "argument_template", detail);
        found.push(issue.subject("values"));
    }
}

/// Tells whether v0.30 made several words, or none, of the fixed part of a template.
fn is_split(template: &str) -> bool {
    template.contains(char::is_whitespace) || template.contains(['"', '\'', '\\'])
}
