//! What is wrong with what an entry says about its registry: labels, versions and installation.

use brigade_catalog::{Tool, same_label};
use brigade_command::argv::Argv;

use super::files::Risks;
use crate::{Issue, IssueType};

pub(super) fn registry(tool: &Tool, found: &mut Vec<Issue>) {
    double_labels(tool, found);
    commands(tool, found);
}

/// Words that say both what a tool is good for, and what it needs or does.
fn double_labels(tool: &Tool, found: &mut Vec<Issue>) {
    let lists = [("capabilities", &tool.capabilities), ("capability", &tool.capability)];
    let others = [("permissions", &tool.permissions), ("effects", &tool.effects)];
    for (field, labels) in lists {
        for (index, label) in labels.iter().enumerate() {
            let is_it = |other: &String| same_label(other, label);
            let Some((other, _)) = others.iter().find(|(_, words)| words.iter().any(is_it)) else { continue };
            let field = format!("{field}[{}]", index + 1);
            let detail = format!("{field} is a word of {other}, too");
            found.push(
                Issue::of_tool(IssueType::AmbiguousLabel, tool, &field, detail).subject(field.as_str()),
            );
        }
    }
}

/// Commands beside that of calls, which are judged by the same rules.
fn commands(tool: &Tool, found: &mut Vec<Issue>) {
    if tool.version_command.is_none() && tool.install.is_none() {
        return;
    }
    for (field, command) in tool.commands() {
        if field == "command" || command.is_empty() {
            continue;
        }
        let (detail, evidence) = match Argv::parse(command) {
            Ok(argv) => match Risks::of_complete(&argv).high {
                Some((detail, evidence)) => (detail, evidence),
                None => continue,
            },
            Err(error) => (format!("cannot be split into words: {error}"), "unparsable".to_owned()),
        };
        let issue = Issue::of_tool(IssueType::HighRiskCommand, tool, &field, format!("{field}: {detail}"));
        found.push(issue.subject(field).evidence(evidence));
    }
}
