//! Whether a planned call of an agent may run without a person.

use brigade_access::builtin::command_argument;
use brigade_access::{Rights, ToolTraits};
use brigade_call::{ApprovedBy, Plan};
use brigade_catalog::Tool;
use brigade_core::text::escape_terminal;
use brigade_core::{AgentName, Timestamp};
use brigade_policy::approval::{
    Approval, ArgumentCheck, Arguments, AutoApprove, CallFacts, CoverageGap, ReviewState, RuleReport,
    ToolApproval,
};

use crate::agent_tools::AgentTools;
use crate::config::Config;
use crate::host::Host;
use crate::real_paths::followed;

/// The rules that are asked.
#[derive(Clone, Copy)]
pub enum Rules<'a> {
    /// All of them, with how many calls the one of a name approved in the last hour.
    All(&'a dyn Fn(&str) -> u64),
    /// Only what approved the call already. Its calls are counted already, too.
    Again(&'a ApprovedBy),
}

/// What is known of a planned call that the plan does not say.
#[derive(Clone, Copy)]
pub struct CallRequest<'a> {
    /// The call.
    pub plan: &'a Plan,
    /// The agent. `None` for other callers.
    pub agent: Option<&'a str>,
    /// The present.
    pub now: Timestamp,
    /// The rules that are asked.
    pub rules: Rules<'a>,
    /// Whether a judge passed the call.
    pub is_passed: bool,
    /// Whether an equal call ran last, and its result is unknown.
    pub is_end_unknown: bool,
}

/// Any call of a tool by an agent, whatever its arguments.
#[derive(Clone, Copy)]
pub struct ToolRequest<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// Whether arguments are compared with the schema.
    pub check: ArgumentCheck,
    /// The agent.
    pub agent: &'a str,
    /// The agents of the gateway.
    pub agents: &'a [AgentName],
    /// The present.
    pub now: Timestamp,
    /// Whether a person reviewed what its calls would run.
    pub reviewed: &'a ReviewState,
    /// Whether the server lists the tool otherwise than it was pinned.
    pub pin_changed: bool,
    /// Counts the calls that the rule of a name approved in the last hour.
    pub approved_last_hour: &'a dyn Fn(&str) -> u64,
}

/// Returns the name of what approves calls of a tool without a person, and what each rule says about them.
pub fn explain_approval(
    config: &Config,
    rights: &Rights,
    request: &ToolRequest<'_>,
) -> (Option<String>, Vec<RuleReport>) {
    let rules = config.policy.auto_approve();
    let call = CallFacts {
        agent: Some(request.agent),
        agents: request.agents,
        rules,
        within: config.rules_of_project(),
        now: request.now,
        approved_last_hour: &|rule| (request.approved_last_hour)(&rule.name),
        arguments: None,
        pin_changed: request.pin_changed,
        for_person: None,
        is_passed: false,
        is_end_unknown: false,
        secrets: &[],
    };
    let traits = ToolTraits::from_tool(request.tool);
    let question = rights.approval_request(&traits, request.check, request.reviewed, Some(call));
    let reports = rules.iter().map(|rule| RuleReport::new(rule, &question)).collect();
    let name = match rights.approval(&traits, request.check, request.reviewed, Some(call)) {
        Approval::Rule(rule) => Some(rule.name.clone()),
        Approval::NotNeeded(ToolApproval::None) => Some(ToolApproval::None.to_string()),
        Approval::NotNeeded(_) | Approval::Person(_) => None,
    };
    (name, reports)
}

/// Returns what approves a planned call of an agent now, without a person.
///
/// # Errors
/// Says what is missing for each rule that names the tool.
pub fn approve(
    shown: &AgentTools,
    host: &Host<'_>,
    request: CallRequest<'_>,
) -> Result<ApprovedBy, Vec<String>> {
    let CallRequest { plan, agent, now, rules, is_passed, is_end_unknown } = request;
    let target = shown.callable(plan.tool_id(), plan.args()).ok_or_else(Vec::new)?;
    let all = shown.config.policy.auto_approve();
    let matching = match rules {
        Rules::All(_) => all,
        Rules::Again(by) => rule_of(all, by),
    };
    // Without its lane a call is blocked, so no rule has to know it.
    let files = host.files(plan.session().and_then(|session| session.root_of(plan.tool_id())));
    let (matching, followed) = match files {
        Ok(files) if !matching.is_empty() => {
            let root = files.fs().root().display().to_string();
            (matching, followed(files.fs(), plan.tool_id(), plan.args(), &root))
        }
        Ok(_) | Err(_) => (&[][..], plan.args().clone()),
    };
    // A program that answers for a tool may have other effects than its row.
    let traits = ToolTraits { effects: &plan.contract().effects, ..ToolTraits::from_tool(target.entry) };
    let reviewed = match is_named(matching, plan.tool_id()) {
        true => host.reviewed_plan(&shown.config.policy, plan),
        false => ReviewState::Yes,
    };
    let call = CallFacts {
        agent,
        agents: &shown.agents.gateway.agent_names(),
        rules: matching,
        within: shown.config.rules_of_project(),
        now,
        approved_last_hour: &|rule| match rules {
            Rules::All(approved) => approved(&rule.name),
            Rules::Again(_) => 0,
        },
        arguments: Some(Arguments {
            written: plan.args(),
            followed: &followed,
            command: command_argument(plan.tool_id()),
        }),
        pin_changed: plan.changes_pin(),
        for_person: plan.for_person(),
        is_passed,
        is_end_unknown,
        // The labels of an entry belong to its contract.
        secrets: if plan.runs_command() { &plan.contract().env_labels } else { &[] },
    };
    let approval = shown.rights.approval(&traits, target.check, &reviewed, Some(call));
    ApprovedBy::from_approval(&approval)
        .ok_or_else(|| approval.not_covered().filter_map(|(rule, gaps)| not_covered(rule, gaps)).collect())
}

/// Returns whether a rule names the tool. Without one, a person approves each call, whether reviewed or not.
pub(crate) fn is_named(rules: &[AutoApprove], tool: &str) -> bool {
    rules.iter().flat_map(|rule| &rule.tools).any(|glob| glob.value.matches(tool))
}

/// Returns the rule that approved a call, if the policy still has it.
fn rule_of<'p>(rules: &'p [AutoApprove], by: &ApprovedBy) -> &'p [AutoApprove] {
    let name = by.rule();
    let found = rules.iter().find(|rule| Some(&*rule.name) == name);
    found.map_or(&[], std::slice::from_ref)
}

/// Says what is missing for a rule, if it names the tool.
fn not_covered(rule: &AutoApprove, gaps: &[CoverageGap]) -> Option<String> {
    let names_tool = !gaps.contains(&CoverageGap::Tool);
    let gaps: Vec<String> = gaps.iter().map(ToString::to_string).collect();
    names_tool.then(|| format!("the rule `{}`: {}", escape_terminal(&rule.name), gaps.join(", ")))
}
