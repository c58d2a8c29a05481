//! Diagnoses problems that affect agents: settings that serve nothing, and tools that no agent is shown.

use std::collections::{BTreeMap, BTreeSet};

use brigade_access::{NameClashes, NameStyle, is_reserved, is_taken};
use brigade_catalog::{Family, Tool};
use brigade_core::{ConfigIssue, Place, closest};
use brigade_redact::shown_name;

use super::config;
use crate::{Issue, IssueType, ServerOffer, Snapshot};

pub(super) fn agents(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    found.extend(snapshot.gateway.iter().filter(|issue| !issue.is_tracked()).map(gateway));
    if let Some(place) = &snapshot.policy_tracked {
        tracked(place, found);
    }
    found.extend(snapshot.tracked.iter().map(|file| {
        let detail = format!("git tracks `{file}`, so it does not count on this host");
        let issue = Issue::new(IssueType::TrackedState, detail).subject(file.clone()).at(Place::file(file));
        Issue { tool_id: None, ..issue.evidence("tracked") }
    }));
    names(tools, found);
    offers(snapshot, tools, found);
    upstreams(snapshot, tools, found);
}

/// Reports settings for servers that no tool starts.
fn upstreams(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    let servers: BTreeSet<&str> = tools
        .iter()
        .filter(|tool| tool.enabled && tool.family == Some(Family::Mcp))
        .filter_map(|tool| tool.mcp_server())
        .collect();
    for (id, place) in snapshot.upstreams.iter().filter(|(id, _)| !servers.contains(id.as_str())) {
        let near = closest(id, servers.iter().copied());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let id = shown_name(id);
        let detail = format!("no enabled MCP tool of the catalog is of the server `{id}`{near}");
        let issue = Issue::new(IssueType::UpstreamUnknown, detail).subject(id).at(place.clone());
        found.push(Issue { tool_id: None, ..issue.evidence("unknown") });
    }
}

fn gateway(issue: &ConfigIssue) -> Issue {
    let issue = config::entry(IssueType::GatewayConfigInvalid, issue);
    Issue { tool_id: None, ..issue }
}

/// Reports rules of a policy that comes with a repository.
fn tracked(place: &Place, found: &mut Vec<Issue>) {
    let detail = format!("git tracks {}, so none of its [[auto_approve]] rules counts", place.file);
    let issue = Issue::new(IssueType::PolicyTracked, detail).evidence("tracked").at(place.clone());
    found.push(Issue { tool_id: Some("policy".to_owned()), family: Some("policy".to_owned()), ..issue });
}

/// Reports reserved ids, and names that several tools would have.
fn names(tools: &[&Tool], found: &mut Vec<Issue>) {
    let (reserved, own): (Vec<&Tool>, Vec<&Tool>) = tools.iter().partition(|tool| is_taken(tool.id.as_str()));
    for tool in reserved {
        let what = if is_reserved(tool.id.as_str()) { "id" } else { "name" };
        let detail = format!("a tool of Brigade has this {what}, so agents are not shown the entry");
        found.push(Issue::of_tool(IssueType::ReservedToolId, tool, "id", detail).evidence("reserved"));
    }
    for tool in tools {
        for alias in tool.aliases.iter().filter(|alias| is_taken(alias)) {
            let detail =
                format!("the alias `{alias}` leads nowhere, because a tool of Brigade has this name");
            found.push(
                Issue::of_tool(IssueType::AliasTaken, tool, "aliases", detail)
                    .subject(tool.masks.shown(alias)),
            );
        }
    }
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for style in NameStyle::ALL {
        let clashes = NameClashes::find(own.iter().map(|tool| tool.id.as_str()), *style);
        for tool in own.iter().filter(|tool| clashes.is_unlisted(tool.id.as_str())) {
            let id = tool.id.as_str();
            let Some((name, ids)) =
                clashes.groups.iter().find(|(_, ids)| ids.iter().any(|other| other == id))
            else {
                continue;
            };
            // A clash with and without dots is reported once.
            if !told.insert(id) {
                continue;
            }
            let others: Vec<String> =
                ids.iter().filter(|other| *other != id).map(|other| format!("`{other}`")).collect();
            let when = match style {
                NameStyle::Dotted => "",
                NameStyle::Plain => " with plain names",
            };
            let detail = format!("agents would be shown it as `{name}`{when}, like {}", others.join(", "));
            let issue = Issue::of_tool(IssueType::ToolNameClash, tool, "id", detail);
            found.push(issue.subject(name.clone()).evidence(ids.join(" ")));
        }
    }
}

/// Reports resources and prompts that agents are not shown, because several servers, or a server and the catalog, have
/// them.
fn offers(snapshot: &Snapshot<'_>, tools: &[&Tool], found: &mut Vec<Issue>) {
    type Names = fn(&ServerOffer) -> &[String];
    let kinds: [(&str, Names); 3] = [
        ("resource", |offered| &offered.resources),
        ("template", |offered| &offered.templates),
        ("prompt", |offered| &offered.prompts),
    ];
    let is_prompt =
        |tool: &Tool| matches!(tool.family, Some(Family::Skill | Family::SlashCommand | Family::Superpower));
    for (kind, names) in kinds {
        let mut servers: BTreeMap<&str, Vec<&ServerOffer>> = BTreeMap::new();
        for offered in &snapshot.offered {
            let names: BTreeSet<&str> = names(offered).iter().map(String::as_str).collect();
            names.into_iter().for_each(|name| servers.entry(name).or_default().push(offered));
        }
        for (name, servers) in servers {
            let is_own = kind == "prompt" && tools.iter().any(|tool| is_prompt(tool) && tool.id == name);
            let mut whose: Vec<String> =
                servers.iter().map(|offered| format!("the server `{}`", offered.server)).collect();
            if is_own {
                whose.push("the catalog".to_owned());
            }
            let (Some(first), [_, _, ..]) = (servers.first(), whose.as_slice()) else { continue };
            let detail = format!("the {kind} `{name}` is listed by {}", whose.join(" and "));
            let issue = Issue::new(IssueType::OfferClash, detail).subject(name).at(first.place.clone());
            found.push(Issue { tool_id: None, ..issue.evidence(whose.join(" ")) });
        }
    }
}
