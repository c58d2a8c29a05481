//! Decides whether a call may run without a person. [`decide`] is the only place for this decision.
//!
//! These facts decide, in this order:
//!
//! | fact | answer |
//! | --- | --- |
//! | `approval_mode = "always"`, a profile that asks, a built-in tool that asks, `cmd.run` without limits on its commands, arguments that are not checked | a person, for each call of the tool |
//! | an equal call ended and its result is unknown | a person |
//! | no person reviewed the contract and the code of the tool as they are now | a person |
//! | a built-in tool whose row asks for no approval | no approval is needed |
//! | a rule of the policy that covers the call | this rule |
//! | anything else | a person |
//!
//! Listings use the same function before there is a call ([`Request::call`] is `None`), so they always agree with what
//! happens to calls.

mod rule;

use brigade_catalog::ApprovalMode;
use brigade_core::{AgentName, Json, Timestamp, words};

use crate::RiskLevel;

pub use rule::{AutoApprove, CoverageGap, RuleReport};

words! {
    /// Whether a rule may approve calls instead of a person, for listings.
    Gate {
        /// Calls need no approval, or a rule may approve them.
        Allow = "allow",
        /// A person approves each call.
        Ask = "ask",
    }
}

words! {
    /// The action of a profile's rule for calls of matching tools, from the mildest to the strictest.
    Action {
        /// Nothing against them.
        Allow = "allow",
        /// A judge is asked first. Without a judge, a person approves.
        Judge = "judge",
        /// A person approves each.
        Ask = "ask",
        /// They are refused, and the tool is not shown.
        Deny = "deny",
    }
}

words! {
    /// The approval in the row of a built-in tool. Profiles and policy can only make it stricter.
    ToolApproval {
        /// None.
        None = "none",
        /// A rule of the policy may approve its calls; without one, a person does.
        Rule = "rule",
        /// A person approves each call; in `permission.full-auto`, a rule may.
        Ask = "ask",
        /// A person approves each call.
        Always = "always",
        /// None for calls that narrow, which the gateway answers. A person approves all others.
        ToWiden = "none to narrow, always to widen",
        /// The approval of the tool that the call names.
        OfNamedTool = "as the named tool",
    }
}

impl ToolApproval {
    /// Returns whether its calls need no approval. For a tool that calls other tools, those calls need it instead.
    pub fn is_not_needed(self) -> bool {
        matches!(self, ToolApproval::None | ToolApproval::OfNamedTool)
    }
}

/// The input of [`decide`]: a tool, and a call of it if there is one.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The tool, for one agent.
    pub tool: ToolFacts<'a>,
    /// The call. `None` asks about all calls of the tool; then rules are not evaluated.
    pub call: Option<CallFacts<'a>>,
}

/// Facts about a tool, for one agent.
#[derive(Clone, Copy)]
pub struct ToolFacts<'a> {
    /// The id.
    pub id: &'a str,
    /// The effects.
    pub effects: &'a [String],
    /// The risk.
    pub risk: RiskLevel,
    /// The approval mode of the entry.
    pub approval_mode: Option<ApprovalMode>,
    /// The approval in the row of a built-in tool. `None` for other tools.
    pub own: Option<ToolApproval>,
    /// The strictest action of the agent's profiles for calls of the tool.
    pub profiles: Action,
    /// Whether the only permission of the agent is `permission.full-auto`.
    pub is_full_auto: bool,
    /// Whether the tool runs any command: `cmd.run`, without a profile that limits the commands.
    pub runs_any_command: bool,
    /// Whether arguments are compared with the schema.
    pub check: ArgumentCheck,
    /// Whether a person reviewed what its calls would run.
    pub reviewed: &'a ReviewState,
}

/// Whether a person reviewed the contract and the code of a tool, or of a program that Brigade starts by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// A person did, and nothing changed since. Or no agent can write any of it.
    Yes,
    /// No person did.
    Never,
    /// These parts changed since, by their names for people.
    Changed(Vec<String>),
}

impl ReviewState {
    /// Returns what is missing, as the end of a sentence about it. `None` if nothing is.
    pub fn problem(&self) -> Option<String> {
        match self {
            ReviewState::Yes => None,
            ReviewState::Never => Some("no person has seen it".to_owned()),
            ReviewState::Changed(parts) => {
                Some(format!("changed since a person saw it: {}", parts.join(", ")))
            }
        }
    }
}

/// Whether arguments of calls are compared with the schema of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentCheck {
    /// They are compared.
    Checked,
    /// They are not compared, because the schema has unsupported keywords.
    Unchecked,
}

/// Facts about a call of an agent, and about the rules that may approve it.
#[derive(Clone, Copy)]
pub struct CallFacts<'a> {
    /// The agent. `None` for other callers, such as the command line.
    pub agent: Option<&'a str>,
    /// The agents of the gateway.
    pub agents: &'a [AgentName],
    /// The rules of the policy, in file order.
    pub rules: &'a [AutoApprove],
    /// The rules of a second policy. If there is one, one of its rules must cover the call as well.
    pub within: Option<&'a [AutoApprove]>,
    /// The current time.
    pub now: Timestamp,
    /// Counts the calls that a rule approved in the hour before `now`. Called only for a rule that has a limit and
    /// otherwise covers the call.
    pub approved_last_hour: &'a dyn Fn(&AutoApprove) -> u64,
    /// The arguments. `None` asks about calls with any arguments.
    pub arguments: Option<Arguments<'a>>,
    /// Whether the server's listing of the tool differs from the pin.
    pub pin_changed: bool,
    /// Why a person has to agree to what the arguments name, if so.
    pub for_person: Option<&'a str>,
    /// Whether a judge passed the call.
    pub is_passed: bool,
    /// Whether an equal call ran last, and its result is unknown.
    pub is_end_unknown: bool,
    /// The labels of bound values that the arguments add to a command.
    pub secrets: &'a [String],
}

/// The arguments of a call. A rule has to match them in both forms.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    /// As they are written.
    pub written: &'a Json,
    /// With their paths as the links on them lead.
    pub followed: &'a Json,
    /// The argument that is a command line, whose first word names a program.
    pub command: Option<&'a str>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval<'a> {
    /// This rule approves the call.
    Rule(&'a AutoApprove),
    /// The built-in tool asks for no approval.
    NotNeeded(ToolApproval),
    /// A person decides, for these reasons.
    Person(Vec<Reason<'a>>),
}

/// Why a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason<'a> {
    /// The entry has `approval_mode = "always"`.
    AlwaysAsks,
    /// The profiles of the agent ask or deny, or require a judge, who did not pass the call.
    Profiles(Action),
    /// The row of the built-in tool asks.
    ToolAsks,
    /// Any command may be run.
    AnyCommand,
    /// The arguments are not checked.
    Unchecked,
    /// No person reviewed the contract and the code of the tool as they are now.
    NotReviewed,
    /// The last run was of an equal call and has an unknown result.
    EndUnknown,
    /// A person must agree to something that the arguments name.
    ForPerson,
    /// The policy has no rules.
    NoRules,
    /// What this rule does not cover.
    NotCovered(&'a AutoApprove, Vec<CoverageGap>),
}

impl Reason<'_> {
    /// Returns whether the reason holds for each call of the tool.
    fn is_about_tool(&self) -> bool {
        match self {
            Reason::AlwaysAsks
            | Reason::Profiles(_)
            | Reason::ToolAsks
            | Reason::AnyCommand
            | Reason::Unchecked
            | Reason::NotReviewed => true,
            Reason::EndUnknown | Reason::ForPerson | Reason::NoRules | Reason::NotCovered(..) => false,
        }
    }
}

/// The minimum approval of calls of a tool, from none to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalNeed {
    /// None.
    None,
    /// A rule or a person approves each call.
    Rule,
    /// A judge decides whether a rule may approve the call.
    Judge,
    /// A person approves each call.
    Person,
}

impl ApprovalNeed {
    /// Returns the gate for listings. Without a judge, a person approves.
    pub fn gate(self) -> Gate {
        match self {
            ApprovalNeed::None | ApprovalNeed::Rule => Gate::Allow,
            ApprovalNeed::Judge | ApprovalNeed::Person => Gate::Ask,
        }
    }
}

impl<'a> Approval<'a> {
    /// Returns the minimum approval of each call of the tool.
    pub fn need(&self) -> ApprovalNeed {
        let reasons = match self {
            Approval::NotNeeded(_) => return ApprovalNeed::None,
            Approval::Rule(_) => return ApprovalNeed::Rule,
            Approval::Person(reasons) => reasons,
        };
        let mut of_tool = reasons.iter().filter(|reason| reason.is_about_tool());
        match (of_tool.next(), of_tool.next()) {
            (None, _) => ApprovalNeed::Rule,
            (Some(Reason::Profiles(Action::Judge)), None) => ApprovalNeed::Judge,
            (Some(_), _) => ApprovalNeed::Person,
        }
    }

    /// Returns the rules that do not cover the call, in file order, with what is missing.
    pub fn not_covered(&self) -> impl Iterator<Item = (&'a AutoApprove, &[CoverageGap])> {
        let reasons = match self {
            Approval::Person(reasons) => &reasons[..],
            Approval::Rule(_) | Approval::NotNeeded(_) => &[],
        };
        reasons.iter().filter_map(|reason| match reason {
            Reason::NotCovered(rule, gaps) => Some((*rule, &gaps[..])),
            _ => None,
        })
    }
}

/// Decides whether a call may run without a person.
pub fn decide<'a>(request: &Request<'a>) -> Approval<'a> {
    let mut reasons = reasons_of_tool(request);
    reasons.extend((*request.tool.reviewed != ReviewState::Yes).then_some(Reason::NotReviewed));
    if let Some(call) = &request.call {
        reasons.extend(call.is_end_unknown.then_some(Reason::EndUnknown));
        reasons.extend(call.for_person.map(|_| Reason::ForPerson));
    }
    if reasons.is_empty()
        && let Some(own) = request.tool.own.filter(|own| own.is_not_needed())
    {
        return Approval::NotNeeded(own);
    }
    let Some(call) = &request.call else { return Approval::Person(reasons) };
    for rule in call.rules {
        match rule::gaps(rule, request, call) {
            gaps if !gaps.is_empty() => reasons.push(Reason::NotCovered(rule, gaps)),
            _ if !call.is_end_unknown => return Approval::Rule(rule),
            _ => {}
        }
    }
    if call.rules.is_empty() {
        reasons.push(Reason::NoRules);
    }
    Approval::Person(reasons)
}

/// Returns why a person approves each call of a tool.
fn reasons_of_tool<'a>(request: &Request<'_>) -> Vec<Reason<'a>> {
    let tool = &request.tool;
    let is_passed = request.call.is_some_and(|call| call.is_passed);
    let reasons = [
        (tool.approval_mode == Some(ApprovalMode::Always), Reason::AlwaysAsks),
        (
            match tool.profiles {
                Action::Allow => false,
                Action::Judge => !is_passed,
                Action::Ask | Action::Deny => true,
            },
            Reason::Profiles(tool.profiles),
        ),
        (tool.own == Some(ToolApproval::Ask) && !tool.is_full_auto, Reason::ToolAsks),
        (tool.runs_any_command, Reason::AnyCommand),
        (tool.check == ArgumentCheck::Unchecked, Reason::Unchecked),
    ];
    reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
}

#[cfg(test)]
mod cases;
