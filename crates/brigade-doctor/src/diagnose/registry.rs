//! Diagnoses the registry fields of an entry: labels, versions and installation.

use brigade_catalog::{Presence, Tool, same_label};
use brigade_cmdline::argv::Argv;
use brigade_core::Place;
use brigade_policy::refuse_inline_code;

use super::files::{Risks, by_installing, may_be_missing};
use crate::{Issue, IssueType, ToolIssues};

/// `refuses_inline_code` is the rule of the policy that refuses code for an interpreter, if there is one.
pub(super) fn registry(tool: &Tool, refuses_inline_code: Option<&Place>, found: &mut ToolIssues) {
    double_labels(tool, &mut found.own);
    commands(tool, refuses_inline_code, found);
}

/// The reasons for an absence. Problems of a runtime are reported for the runtime.
const ABSENT: [&str; 5] =
    ["program_missing", "script_missing", "file_missing", "provider_missing", "check_failed"];

/// Reports a missing tool or another version. `is_told` means that another issue reports the absence.
pub(super) fn presence(tool: &Tool, presence: &Presence, is_told: bool, found: &mut Vec<Issue>) {
    let mut absences = presence.reasons.iter().filter(|reason| ABSENT.contains(&reason.code));
    if let Some(reason) = absences.next().filter(|_| !is_told && !may_be_missing(tool)) {
        let field = match reason.code {
            "provider_missing" => "source.provider",
            "file_missing" => "source.path",
            _ => "install.check",
        };
        let issue = Issue::of_tool(IssueType::ToolMissing, tool, field, reason.message.as_str());
        found.push(by_installing(tool, issue.evidence(reason.code)));
    }
    if let (Some(false), Some(version)) = (presence.satisfied, &presence.version) {
        let required = tool.version.as_ref().map(ToString::to_string).unwrap_or_default();
        let detail = format!("its version is {version}, and {required} is required");
        let issue = Issue::of_tool(IssueType::ToolOutdated, tool, "version", detail);
        found.push(by_installing(tool, issue.evidence(version.to_string())));
    }
}

/// Reports words that are both a capability and a permission or effect.
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

/// Judges the other commands of an entry by the same rules.
fn commands(tool: &Tool, refuses_inline_code: Option<&Place>, found: &mut ToolIssues) {
    if tool.version_command.is_none() && tool.install.is_none() {
        return;
    }
    for (field, command) in tool.commands() {
        if field == "command" || command.is_empty() {
            continue;
        }
        let say = |kind: IssueType, detail: &str| {
            Issue::of_tool(kind, tool, &field, format!("{field}: {detail}")).subject(field.as_str())
        };
        let argv = match Argv::parse(command) {
            Ok(argv) => argv,
            Err(error) => {
                let detail = format!("cannot be split into words: {error}");
                found.own.push(say(IssueType::HighRiskCommand, &detail).evidence("unparsable"));
                continue;
            }
        };
        let risks = Risks::of_complete(&argv);
        if let Some((detail, evidence)) = risks.high {
            found.own.push(say(IssueType::HighRiskCommand, &detail).evidence(evidence));
        }
        let refusal = refuses_inline_code.and_then(|rule| refuse_inline_code(&argv, rule));
        match (refusal, risks.code) {
            (Some(blocker), _) => {
                let issue = say(IssueType::PolicyBlocker, &blocker.message).evidence(blocker.code.as_ref());
                found.policy.push(issue.at(blocker.place.clone()));
            }
            (None, Some(detail)) => found.own.push(say(IssueType::InlineCode, &detail)),
            (None, None) => {}
        }
    }
}
