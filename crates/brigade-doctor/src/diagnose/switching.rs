//! Lists what behaves differently in a workspace in which v0.30 was used.

use brigade_call::{ADOPTED_STATUS, CallStatus, Template, unset_for_mcp};
use brigade_catalog::{Family, Runtimes, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{Json, Place};
use brigade_policy::DEFAULT_TIMEOUT_SECONDS;
use brigade_redact::is_secret_name;
use brigade_schema::{JsonType, Property, TypeSet};

use crate::{CallState, ConfigFile, Issue, IssueType, Snapshot, ToolFiles};

/// The maximum number of calls in an issue.
const MAX_NAMED_CALLS: usize = 5;

/// Lists the differences. `arguments` are those that [`arguments`] found.
pub(super) fn switching(
    snapshot: &Snapshot<'_>,
    tools: &[&Tool],
    arguments: Vec<Issue>,
    found: &mut Vec<Issue>,
) {
    approvals(snapshot, found);
    if !snapshot.is_of_v030 {
        return;
    }
    let policy = snapshot.policy.as_ref().map(|facts| facts.state);
    let maximum = policy.and_then(|state| state.policy()).and_then(|policy| policy.max_timeout.as_ref());
    let limit = maximum.map_or(DEFAULT_TIMEOUT_SECONDS, |maximum| maximum.value.get());
    let runs = |tool: &&&Tool| tool.is_executable() && tool.command.is_some() && !tool.is_broken;
    let (mut count, mut of_mcp) = (0, 0);
    let of_family = |is_mcp: bool| {
        let is_one = |tool: &&&Tool| runs(tool) && (tool.family == Some(Family::Mcp)) == is_mcp;
        tools.iter().find(is_one).map(|tool| tool.place_of("id"))
    };
    for tool in tools.iter().filter(runs) {
        count += 1;
        let is_mcp = tool.family == Some(Family::Mcp);
        of_mcp += usize::from(is_mcp);
        if is_mcp {
            let unset = unset(tool);
            if !unset.is_empty() {
                let detail = format!(
                    "v0.30 runs it without these; here its calls are blocked until the entry has them: {}",
                    unset.join(", ")
                );
                found.push(Issue::of_tool(IssueType::SwitchMcp, tool, "id", detail));
            }
        } else if tool.timeout.is_none() {
            let detail = format!("no timeout, so its calls end after {limit} s");
            found.push(Issue::of_tool(IssueType::SwitchTimeout, tool, "id", detail));
        }
        // A server gets its arguments in a message.
        let templates = tool.argument_template.iter().filter(|_| !is_mcp);
        for (name, _) in templates.filter(|(_, template)| is_split(template)) {
            let field = format!("argument_template.{name}");
            let detail = format!("the value of {field} is one word, and v0.30 splits it at blanks");
            found.push(
                Issue::of_tool(IssueType::SwitchArguments, tool, &field, detail).subject(field.clone()),
            );
        }
    }
    found.extend(arguments);
    let runtimes = snapshot.runtimes.as_ref().map(|facts| &facts.config);
    let runtimes = match runtimes {
        Some(ConfigFile::Read(read)) => Runtimes::runtimes(read),
        _ => &[],
    };
    let runtimes = runtimes.iter().filter(|runtime| runtime.enabled && !runtime.is_broken).count();
    let counted = |count: usize, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {one}s")),
    };
    if let Some(named) = counted(of_mcp, "MCP tool") {
        let detail = format!("a run whose answer has `isError` has failed, and v0.30 completes it: {named}");
        found.push(Issue::new(IssueType::SwitchMcp, detail).at(of_family(true)).subject("answers"));
    }
    if let Some(named) = counted(count - of_mcp, "tool") {
        let detail = format!(
            "standard input is empty, what a run leaves in the background is ended, and 16 MiB of each output are kept: \
             {named}"
        );
        let issue = Issue::new(IssueType::SwitchEnvironment, detail).at(of_family(false));
        found.push(issue.subject("streams"));
    }
    if let Some(state) = policy.filter(|_| 0 < count + runtimes) {
        let named = [counted(count, "tool"), counted(runtimes, "runtime")].into_iter().flatten();
        let get = if count + runtimes == 1 { "gets" } else { "get" };
        let detail = format!(
            "{} {get} only the usual variables and the labels of their entries",
            named.collect::<Vec<_>>().join(" and ")
        );
        let place = Place::file(state.file());
        found.push(Issue::new(IssueType::SwitchEnvironment, detail).at(place));
    }
}

/// Lists the calls that v0.30 approved, and its pending calls that can no longer be approved.
fn approvals(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    let was_approved = Json::from(CallStatus::Approved.as_str());
    let pending = snapshot
        .calls
        .iter()
        .filter(|state| state.call.status == CallStatus::Pending && state.call.planned_binding.is_none());
    let (lost, open): (Vec<&CallState<'_>>, Vec<_>) = pending.partition(|state| !state.changes.is_empty());
    let ids = |calls: &[&CallState<'_>]| {
        let mut ids: Vec<String> =
            calls.iter().take(MAX_NAMED_CALLS).map(|state| state.call.id.to_string()).collect();
        if MAX_NAMED_CALLS < calls.len() {
            ids.push(format!("{} more", calls.len() - MAX_NAMED_CALLS));
        }
        ids.join(", ")
    };
    let counted = |count: usize| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let again: Vec<&CallState<'_>> = open
        .into_iter()
        .filter(|state| state.call.extra.get(ADOPTED_STATUS) == Some(&was_approved))
        .collect();
    if !again.is_empty() {
        let detail = format!("{} must be approved again: {}", counted(again.len()), ids(&again));
        found.push(Issue::new(IssueType::SwitchApprovals, detail));
    }
    if !lost.is_empty() {
        let detail = format!(
            "{} of v0.30 cannot be approved, so queue them again: {}",
            counted(lost.len()),
            ids(&lost)
        );
        found.push(Issue::new(IssueType::SwitchApprovals, detail).subject("arguments"));
    }
}

/// Lists the fields of an MCP tool that v0.30 does not require, with example values.
fn unset(tool: &Tool) -> Vec<&'static str> {
    let unset = unset_for_mcp(tool);
    let examples = [
        ("timeout", "`timeout = 60`"),
        ("permissions", "`permissions = [\"NAME\"]`"),
        ("effects", "`effects = [\"local-read\"]`"),
        ("approval_mode", "`approval_mode = \"on-request\"`"),
    ];
    let is_unset = |field: &str| unset.iter().any(|name| name == field);
    examples.into_iter().filter(|(field, _)| is_unset(field)).map(|(_, line)| line).collect()
}

/// Lists the arguments with names of secrets, whose values are refused.
pub(super) fn secrets(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    if !tool.is_executable() {
        return;
    }
    let mut names: Vec<String> = tool
        .argument_template
        .values()
        .flat_map(|text| Template::parse(text).names())
        .map(str::to_owned)
        .collect();
    for property in files.input_schema.schema().into_iter().flat_map(|schema| schema.properties()) {
        if property.types().lists(JsonType::String) && names.iter().all(|name| name != property.name) {
            names.push(property.name.to_owned());
        }
    }
    names.retain(|name| is_secret_name(name));
    names.sort();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let named: Vec<String> = names.iter().map(|name| format!("`{}`", escape_terminal(name))).collect();
    let detail = format!(
        "an argument cannot carry a secret, so calls that give it are refused; take it from a label in `env_labels`, \
         which the policy binds: {}",
        named.join(", ")
    );
    found.push(
        Issue::of_tool(IssueType::SwitchArguments, tool, "argument_template", detail).subject("secrets"),
    );
}

/// Lists the arguments whose values v0.30 writes as Python does: booleans, lists and objects. Texts with blanks, and
/// texts that begin with `-`, are one issue of the tool.
pub(super) fn arguments(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    let is_called = tool.is_executable() && tool.command.is_some() && tool.family != Some(Family::Mcp);
    let Some(schema) = files.input_schema.schema().filter(|_| is_called) else { return };
    let mut texts = Vec::new();
    let properties: Vec<Property<'_>> =
        if tool.argument_template.is_empty() { Vec::new() } else { schema.properties().collect() };
    for (name, template) in &tool.argument_template {
        let property = properties.iter().find(|property| property.name == name);
        if property.is_none_or(|it| it.types().lists(JsonType::String) && !it.has_fixed_values()) {
            texts.push(format!("`{name}`"));
        }
        // Templates that are split are already listed.
        let Some(property) = property.filter(|_| !is_split(template)) else { continue };
        let types = property.types();
        let (json, python) = match (types == TypeSet::ANY, types) {
            // Without a type, a boolean is likely.
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

/// Returns whether v0.30 made several words, or none, of the fixed part of a template.
fn is_split(template: &str) -> bool {
    template.contains(char::is_whitespace) || template.contains(['"', '\'', '\\'])
}
