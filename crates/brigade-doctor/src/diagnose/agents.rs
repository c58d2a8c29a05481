//! What keeps agents from being served, or a tool from being shown to any of them.

use std::collections::BTreeSet;

use brigade_catalog::Tool;
use brigade_core::{ConfigIssue, Place};
use brigade_profile::{NameClashes, NameStyle, is_reserved};

use super::config;
use crate::{Issue, IssueType, Snapshot};

pub(super) fn agents(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    found.extend(snapshot.gateway.iter().map(gateway));
    if let Some(place) = &snapshot.policy_tracked {
        tracked(place, found);
    }
    names(tools, found);
}

fn gateway(issue: &ConfigIssue) -> Issue {
    let issue = config::entry(IssueType::GatewayConfigInvalid, issue);
    Issue { tool_id: None, ..issue }
}

/// Rules of a policy that a repository brings.
fn tracked(place: &Place, found: &mut Vec<Issue>) {
    let detail = format!("git tracks {}, so none of its [[auto_approve]] rules counts", place.file);
    let issue = Issue::new(IssueType::PolicyTracked, detail).evidence("tracked").at(place.clone());
    found.push(Issue { tool_id: Some("policy".to_owned()), family: Some("policy".to_owned()), ..issue });
}

/// Ids that Brigade uses itself, and names that several tools would be listed under.
fn names(tools: &[&Tool], found: &mut Vec<Issue>) {
    for tool in tools.iter().filter(|tool| is_reserved(tool.id.as_str())) {
        let detail = "a tool of Brigade has this id, so agents are not shown the entry";
        found.push(Issue::of_tool(IssueType::ReservedToolId, tool, "id", detail).evidence("reserved"));
    }
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for style in NameStyle::ALL {
        let own = tools.iter().map(|tool| tool.id.as_str()).filter(|id| !is_reserved(id));
        let clashes = NameClashes::of(own, *style);
        for tool in tools.iter().filter(|tool| clashes.is_unlisted(tool.id.as_str())) {
            let id = tool.id.as_str();
            let Some((name, ids)) =
                clashes.groups.iter().find(|(_, ids)| ids.iter().any(|other| other == id))
            else {
                continue;
            };
            // With dots and without, it is one clash.
            if !told.insert(id) {
                continue;
            }
            let others: Vec<String> =
                ids.iter().filter(|other| *other != id).map(|other| format!("`{other}`")).collect();
            let when = match style {
                NameStyle::Dotted => "",
                NameStyle::Plain => " with `--names plain`",
            };
            let detail = format!("agents would be shown it as `{name}`{when}, like {}", others.join(", "));
            let issue = Issue::of_tool(IssueType::ToolNameClash, tool, "id", detail);
            found.push(issue.subject(name.clone()).evidence(ids.join(" ")));
        }
    }
}
