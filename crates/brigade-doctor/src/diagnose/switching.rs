//! What behaves differently in a workspace that v0.30 was used in.

use brigade_call::{ADOPTED_STATUS, CallStatus};
use brigade_catalog::{Family, Tool};
use brigade_core::{Json, Place};
use brigade_policy::DEFAULT_TIMEOUT_SECONDS;

use crate::{Issue, IssueType, Snapshot};

pub(super) fn switching(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
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
    if let Some(state) = policy.filter(|_| 0 < count) {
        let tools = if count == 1 { "tool gets" } else { "tools get" };
        let detail = format!("{count} {tools} only the usual variables and the labels of their entries");
        let place = Place::file(state.file());
        found.push(Issue::new(IssueType::SwitchEnvironment, detail).at(place));
    }
}

/// Tells whether v0.30 made several words, or none, of the fixed part of a template.
fn is_split(template: &str) -> bool {
    template.contains(char::is_whitespace) || template.contains(['"', '\'', '\\'])
}
