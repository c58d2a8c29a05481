//! Which rule of the policy approves a call of an agent, and whether the one that did still does.

use brigade_access::builtin::{Approval, Definition, command_argument, definition};
use brigade_call::{ApprovedBy, Plan};
use brigade_core::Timestamp;
use brigade_core::text::escape_terminal;
use brigade_policy::{AutoApprove, CoverageGap, Gate, RuleReport, RuleRequest, covering, covers};

use crate::host::Host;
use crate::real_paths::followed;
use crate::rights::AgentTools;

/// The rules that are asked.
#[derive(Clone, Copy)]
pub enum Rules<'a> {
    /// All of them, with how many calls the one of a name approved in the last hour.
    All(&'a dyn Fn(&str) -> u64),
    /// The one of this name, which approved the call already. Its calls are counted already, too.
    Named(&'a str),
}

/// Returns what approves calls of a tool: the first rule that covers them, unless they need nobody.
pub fn what_approves(tool: &str, gate: Gate, rules: &[RuleReport]) -> Option<String> {
    let rule = || rules.iter().find(|rule| rule.covers).map(|rule| rule.name.clone());
    row_that_approves(tool, gate).map(str::to_owned).or_else(rule)
}

/// Returns what stands for the rule where calls of a built-in tool need nobody: the word of its row. A profile that
/// asks is stricter.
fn row_that_approves(tool: &str, gate: Gate) -> Option<&'static str> {
    let needs_nobody = |row: &Definition| row.approval == Approval::None;
    let is_approved = gate == Gate::Allow && definition(tool).is_some_and(needs_nobody);
    is_approved.then_some(Approval::None.as_str())
}

/// Returns the rule that approves a planned call of an agent now. `passed` says whether a judge passed the call, which
/// counts where a judge decides if a person is asked.
///
/// # Errors
/// Says what is missing for each rule that names the tool.
pub fn rule_for(
    shown: &AgentTools,
    host: &Host<'_>,
    agent: Option<&str>,
    plan: &Plan,
    now: Timestamp,
    rules: Rules<'_>,
    passed: bool,
) -> Result<ApprovedBy, Vec<String>> {
    let tool = shown.callable(plan.tool_id(), plan.args()).ok_or_else(Vec::new)?;
    let entry = tool.entry;
    let gate = if passed && shown.is_judged(entry) { Gate::Allow } else { tool.gate };
    if let Some(its_row) = row_that_approves(plan.tool_id(), gate)
        && !matches!(rules, Rules::Named(name) if name != its_row)
    {
        let file = entry.origin.place.file.clone();
        return Ok(ApprovedBy::Rule { rule: its_row.to_owned(), file, line: 0 });
    }
    let policy = &shown.config.policy;
    let asked = RuleRequest {
        tool_id: plan.tool_id(),
        // A program that answers for a tool may have others than its row.
        effects: &plan.contract().effects,
        approval_mode: entry.approval_mode,
        risk: tool.risk,
        gate,
        args: plan.args(),
        command: command_argument(plan.tool_id()),
        agent,
        agents: &shown.agents.gateway.agent_names(),
        now,
        policy_tracked: shown.policy_tracked,
        pin_changed: plan.changes_pin(),
        for_person: plan.for_person(),
        approved_last_hour: &|rule| match rules {
            Rules::All(approved) => approved(&rule.name),
            Rules::Named(_) => 0,
        },
    };
    let rule = match rules {
        Rules::All(_) => covering(policy, &asked).map_err(|all| {
            all.iter().filter_map(|(rule, missing)| uncovered(rule, missing)).collect::<Vec<_>>()
        })?,
        Rules::Named(name) => {
            policy.auto_approve().iter().find(|rule| rule.name == name).ok_or_else(Vec::new)?
        }
    };
    let missing = |missing: Vec<CoverageGap>| uncovered(rule, &missing).into_iter().collect::<Vec<_>>();
    // The call was planned some time after what the agent is shown was read.
    let is_tracked = || matches!(rules, Rules::Named(_)) && crate::tracked::policy_tracked(host);
    // Without its lane a call is blocked, so no rule has to know it.
    let files = host
        .files(plan.session().and_then(|session| session.root_of(plan.tool_id())))
        .map_err(|_| Vec::new())?;
    let root = files.fs().root().display().to_string();
    let real = followed(files.fs(), plan.tool_id(), plan.args(), &root);
    covers(rule, &asked).map_err(missing)?;
    covers(rule, &RuleRequest { args: &real, policy_tracked: asked.policy_tracked || is_tracked(), ..asked })
        .map_err(missing)?;
    let line = rule.place.line.and_then(|line| u64::try_from(line).ok()).unwrap_or_default();
    Ok(ApprovedBy::Rule { rule: rule.name.clone(), file: rule.place.file.clone(), line })
}

/// Says what is missing for a rule, if it names the tool.
fn uncovered(rule: &AutoApprove, missing: &[CoverageGap]) -> Option<String> {
    let names_tool = !missing.contains(&CoverageGap::Tool);
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    names_tool.then(|| format!("the rule `{}`: {}", escape_terminal(&rule.name), missing.join(", ")))
}
