//! `[[auto_approve]]`: rules that approve calls of agents instead of a person.

use std::collections::BTreeMap;
use std::time::Duration;

use brigade_catalog::ApprovalMode;
use brigade_core::{AgentName, Glob, Json, Place, Timestamp};
use brigade_macros::part;
use thiserror::Error;

use super::{Action, Arguments, CallFacts, Request, ReviewState};
use crate::{LocatedValue, PolicyState, RiskLevel};

/// One `[[auto_approve]]` rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoApprove {
    /// The name, unique in the policy.
    pub name: String,
    /// The place of the rule.
    pub place: Place,
    /// Patterns for ids of tools; at least one.
    pub tools: Vec<LocatedValue<Glob>>,
    /// The effects that a tool may have; at least one.
    pub effects: Vec<LocatedValue<String>>,
    /// The agents whose calls it approves. Absent: every agent of the gateway.
    pub agents: Option<Vec<LocatedValue<AgentName>>>,
    /// Patterns for string arguments.
    pub arguments: BTreeMap<String, LocatedValue<Glob>>,
    /// The labels of bound values that a call may add to its command.
    pub env: Vec<LocatedValue<String>>,
    /// The maximum number of calls that it approves in an hour.
    pub max_calls_per_hour: Option<LocatedValue<u64>>,
    /// The start of its last valid day.
    pub expires: Option<LocatedValue<Timestamp>>,
}

/// What is missing for a rule to approve a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoverageGap {
    /// The caller is not an agent.
    #[error("rules approve calls of agents only")]
    NoAgent,
    /// A person must accept the server's current listing.
    #[error("the server's listing of the tool differs from its pin; a person must accept it first")]
    PinChanged,
    /// A person must agree to something that the arguments name.
    #[error("{0}, so a person decides")]
    ForPerson(String),
    /// A person must review the tool first.
    #[error("{problem}; `brigade tools trust {tool}` shows it and asks")]
    NotReviewed {
        /// The tool.
        tool: String,
        /// What is missing.
        problem: String,
    },
    /// The tool asks for a person each time.
    #[error("the tool has approval_mode = \"always\"")]
    AlwaysAsks,
    /// Profiles or policy ask for a person each time.
    #[error("the gate of the tool is ask for this agent")]
    GateAsks,
    /// Profiles or policy deny the tool.
    #[error("the tool is denied to this agent")]
    Denied,
    /// The tool is too risky for any rule.
    #[error("the risk of the tool is critical")]
    Critical,
    /// The tool states no effects.
    #[error("the tool states no effects")]
    NoEffects,
    /// No pattern matches the tool.
    #[error("`tools` does not match the tool")]
    Tool,
    /// An effect is not listed.
    #[error("`effects` does not list {0}")]
    Effect(String),
    /// The agent is not listed.
    #[error("`agents` does not list the agent")]
    Agent,
    /// The agent is not one of the gateway.
    #[error("gateway.toml does not name the agent")]
    UnknownAgent,
    /// The call has no such argument.
    #[error("the call has no argument {0}")]
    ArgumentMissing(String),
    /// The argument is not a string.
    #[error("the argument {0} is not a string")]
    ArgumentNotText(String),
    /// The argument does not match.
    #[error("the argument {0} does not match `arguments`")]
    Argument(String),
    /// The call adds a bound value to its command.
    #[error("the call gets the bound value {0}, which `env` of the rule does not name")]
    Secret(String),
    /// The rule reached its limit of calls.
    #[error("the rule has approved {0} calls in the last hour, which is its limit")]
    LimitReached(u64),
    /// The second policy would ask.
    #[error("no rule of the project's policy covers the call")]
    Within,
    /// The rule expired.
    #[error("the rule expired at the end of {0}")]
    Expired(String),
}

/// What a rule says about calls of a tool by an agent, whatever their arguments.
#[part(PartialEq, Eq)]
pub struct RuleReport {
    /// The name.
    pub name: String,
    /// Whether it approves calls whose arguments match.
    pub covers: bool,
    /// What is missing.
    pub missing: Vec<String>,
    /// The patterns that string arguments must match.
    pub arguments: BTreeMap<String, String>,
    /// The maximum number of calls that it approves in an hour.
    pub max_calls_per_hour: Option<u64>,
    /// Its last valid day.
    pub expires: Option<String>,
    /// The file.
    pub file: String,
    /// The line of the rule.
    pub line: Option<usize>,
}

impl RuleReport {
    /// Reports what a rule says about the calls of a request.
    pub fn new(rule: &AutoApprove, request: &Request<'_>) -> RuleReport {
        let gaps = request.call.map(|call| gaps(rule, request, &call)).unwrap_or_default();
        let patterns = rule.arguments.iter().map(|(name, glob)| (name.clone(), glob.value.to_string()));
        RuleReport {
            name: rule.name.clone(),
            covers: gaps.is_empty(),
            missing: gaps.iter().map(ToString::to_string).collect(),
            arguments: patterns.collect(),
            max_calls_per_hour: rule.max_calls_per_hour.as_ref().map(|most| most.value),
            expires: rule.expires.as_ref().map(|last| day(last.value)),
            file: rule.place.file.clone(),
            line: rule.place.line,
        }
    }
}

fn day(time: Timestamp) -> String {
    time.to_string().chars().take_while(|c| *c != 'T').collect()
}

impl AutoApprove {
    /// Returns whether the rule covers this text as an argument. It covers any text without a pattern for the argument.
    pub fn covers_text(&self, argument: &str, text: &str) -> bool {
        self.arguments.get(argument).is_none_or(|glob| is_matched(&glob.value, text, false))
    }
}

impl PolicyState {
    /// Returns the rules, in file order. Only a valid policy has any.
    pub fn auto_approve(&self) -> &[AutoApprove] {
        self.policy().map_or(&[], |policy| &policy.auto_approve)
    }
}

/// Returns everything that is missing for a rule to approve a call, in a stable order.
pub(super) fn gaps(rule: &AutoApprove, request: &Request<'_>, call: &CallFacts<'_>) -> Vec<CoverageGap> {
    let tool = &request.tool;
    if tool.profiles == Action::Deny {
        return vec![CoverageGap::Denied];
    }
    let mut gaps = gaps_of_every_rule(request, call);
    if !rule.tools.iter().any(|glob| glob.value.matches(tool.id)) {
        gaps.push(CoverageGap::Tool);
    }
    let unlisted = |effect: &&String| !rule.effects.iter().any(|listed| listed.value == **effect);
    let shown = |effect: &String| CoverageGap::Effect(format!("`{}`", crate::shown_label(effect)));
    gaps.extend(tool.effects.iter().filter(unlisted).map(shown));
    gaps.extend(gap_of_agent(rule, call));
    let is_named = |label: &&String| !rule.env.iter().any(|named| named.value == **label);
    let secret = |label: &String| CoverageGap::Secret(format!("`{}`", crate::shown_label(label)));
    gaps.extend(call.secrets.iter().filter(is_named).map(secret));
    if let Some(Arguments { written, followed, command }) = call.arguments {
        let mut of_arguments = gaps_of_arguments(rule, written, command);
        if of_arguments.is_empty() {
            of_arguments = gaps_of_arguments(rule, followed, command);
        }
        gaps.extend(of_arguments);
    }
    if let Some(last) = &rule.expires
        && Duration::from_secs(24 * 3600) <= call.now.since(last.value)
    {
        gaps.push(CoverageGap::Expired(day(last.value)));
    }
    if gaps.is_empty()
        && let Some(most) = &rule.max_calls_per_hour
        && most.value <= (call.approved_last_hour)(rule)
    {
        gaps.push(CoverageGap::LimitReached(most.value));
    }
    if gaps.is_empty()
        && let Some(others) = call.within
    {
        // The limit of the other rule holds for the calls that this rule approved, wherever they were made.
        let approved_last_hour = |_: &AutoApprove| (call.approved_last_hour)(rule);
        let alone = CallFacts { within: None, approved_last_hour: &approved_last_hour, ..*call };
        let is_covered = others.iter().any(|other| self::gaps(other, request, &alone).is_empty());
        gaps.extend((!is_covered).then_some(CoverageGap::Within));
    }
    gaps
}

/// Returns why no rule could approve the call.
fn gaps_of_every_rule(request: &Request<'_>, call: &CallFacts<'_>) -> Vec<CoverageGap> {
    let tool = &request.tool;
    let for_person = call.for_person.map(str::to_owned);
    let gaps = [
        (call.agent.is_none(), CoverageGap::NoAgent),
        (call.pin_changed, CoverageGap::PinChanged),
        (for_person.is_some(), CoverageGap::ForPerson(for_person.unwrap_or_default())),
        (*tool.reviewed != ReviewState::Yes, not_reviewed(tool.id, tool.reviewed)),
        (tool.approval_mode == Some(ApprovalMode::Always), CoverageGap::AlwaysAsks),
        (!super::reasons_of_tool(request).is_empty(), CoverageGap::GateAsks),
        (tool.risk == RiskLevel::Critical, CoverageGap::Critical),
        (tool.effects.is_empty(), CoverageGap::NoEffects),
    ];
    gaps.into_iter().filter(|(holds, _)| *holds).map(|(_, gap)| gap).collect()
}

fn not_reviewed(tool: &str, reviewed: &ReviewState) -> CoverageGap {
    let tool = brigade_core::text::escape_terminal(tool).into_owned();
    CoverageGap::NotReviewed { tool, problem: reviewed.problem().unwrap_or_default() }
}

fn gap_of_agent(rule: &AutoApprove, call: &CallFacts<'_>) -> Option<CoverageGap> {
    let agent = call.agent?;
    if !call.agents.iter().any(|known| known.as_str() == agent) {
        return Some(CoverageGap::UnknownAgent);
    }
    let listed = rule.agents.as_ref()?;
    let is_listed = listed.iter().any(|listed| listed.value.as_str() == agent);
    (!is_listed).then_some(CoverageGap::Agent)
}

fn gaps_of_arguments(rule: &AutoApprove, args: &Json, command: Option<&str>) -> Vec<CoverageGap> {
    let gap = |(name, glob): (&String, &LocatedValue<Glob>)| {
        let shown = || format!("`{}`", brigade_core::text::escape_terminal(name));
        match args.get(name).map(Json::as_str) {
            None => Some(CoverageGap::ArgumentMissing(shown())),
            Some(None) => Some(CoverageGap::ArgumentNotText(shown())),
            Some(Some(text)) => {
                let is_command = command == Some(name.as_str());
                (!is_matched(&glob.value, text, is_command)).then(|| CoverageGap::Argument(shown()))
            }
        }
    };
    rule.arguments.iter().filter_map(gap).collect()
}

/// Returns whether a pattern matches a text, both as written and with `..` resolved. Only the tool knows whether the
/// text is a path, and whether a name before `..` is a link.
///
/// A leading `./` is ignored, unless the text is a command: `./x` is a file, and `x` is a program on `PATH`.
fn is_matched(glob: &Glob, text: &str, is_command: bool) -> bool {
    // Web clients also resolve `..` before a query, and decode these as dots and slashes.
    let is_hidden = |text: &str| {
        let text = text.to_ascii_lowercase();
        let mut names = text.split(['/', '?', '#']);
        text.contains("://")
            && (names.any(|name| name == "..")
                || ["%2e", "%2f", "%5c", "\\"].iter().any(|form| text.contains(form)))
    };
    let names_file = |text: &str| text.split_whitespace().next().is_some_and(|word| word.contains('/'));
    let matches = |plain: &str| {
        if is_command && names_file(text) && !names_file(plain) {
            return glob.matches(&format!("./{plain}"));
        }
        match glob.as_str().strip_prefix("./").filter(|_| !is_command || names_file(text)) {
            Some(beneath) => !plain.starts_with('/') && Glob::new(beneath).matches(plain),
            None => glob.matches(plain),
        }
    };
    let written: Vec<&str> = text.split('/').filter(|name| *name != ".").collect();
    !is_hidden(text) && matches(&written.join("/")) && normal(text).is_some_and(|text| matches(&text))
}

/// Removes `.` and `..` from a path. Returns `None` if it leads above where it begins.
///
/// `..` removes the name before it and skips empty names, as the file system does.
fn normal(text: &str) -> Option<String> {
    let (root, rest) = match text.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", text),
    };
    let mut names: Vec<&str> = Vec::new();
    for name in rest.split('/') {
        match name {
            "." => {}
            ".." => {
                while names.last().is_some_and(|name| name.is_empty()) {
                    names.pop();
                }
                // The parent of the root is the root.
                if names.pop().is_none() && root.is_empty() {
                    return None;
                }
            }
            name => names.push(name),
        }
    }
    Some(format!("{root}{}", names.join("/")))
}

#[cfg(test)]
mod tests;
