//! `brigade approve`, `brigade reject` and `brigade hold`

use brigade::core::ErrorKind;
use brigade::daily::{CallDecision, ChosenCall, PendingChoice};
use brigade::report::ReviewReport;
use brigade::{Error, Exit, Workspace};
use clap::Args;

use super::prompts;
use crate::output::Output;
use crate::render::reviews::{ReviewOutcome, ReviewsReport};
use crate::render::text::{Text, Tone};
use crate::render::words;
use crate::session::Session;

/// Why a call is rejected when a person gives no reason.
pub(super) const DECLINED: &str = "declined";

#[derive(Args, Debug)]
struct ChoiceArgs {
    /// Numbers of brigade pending such as 2 or 1-3, ids or prefixes of calls, or tools
    #[arg(value_name = "N|ID|TOOL", conflicts_with_all = ["tool", "agent", "all"])]
    calls: Vec<String>,

    /// Decide about all waiting calls of this tool, or of a pattern of tools
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Decide about all waiting calls of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Decide about all waiting calls
    #[arg(long)]
    all: bool,
}

impl ChoiceArgs {
    fn choice(&self) -> PendingChoice {
        PendingChoice {
            words: self.calls.clone(),
            tool: self.tool.clone(),
            agent: self.agent.clone(),
            all: self.all,
        }
    }

    fn is_empty(&self) -> bool {
        self.choice() == PendingChoice::default()
    }
}

/// Approve waiting calls; without arguments, ask about each
///
/// A number means exactly what brigade pending showed with it: a call that changed since is refused. Without arguments,
/// goes through everything that waits: y approves, n rejects, h holds, a approves all of the tool, A approves and adds
/// a rule to the policy, d shows details, q ends.
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    choice: ChoiceArgs,

    /// Also propose the narrowest rule that covers the call, and add it to policy.toml after a yes
    #[arg(long, conflicts_with_all = ["json", "all"])]
    always: bool,

    /// Add the rule of --always without asking
    #[arg(long, requires = "always")]
    yes: bool,

    /// Show every detail of what was approved
    #[arg(long)]
    full: bool,
}

/// Reject waiting calls; without arguments, ask about each
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    choice: ChoiceArgs,

    /// Reason for the decision, which agents see
    #[arg(long, short, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: Option<String>,
}

/// Put waiting calls on hold; without arguments, ask about each
#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    choice: ChoiceArgs,

    /// Reason for the decision
    #[arg(long, short, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: Option<String>,
}

pub(crate) fn approve(
    session: &Session<'_>,
    arguments: &ApproveArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    output.set_full(arguments.full);
    let always = match (arguments.always, arguments.yes) {
        (false, _) => AfterApproval::Nothing,
        (true, false) => AfterApproval::AskForRule,
        (true, true) => AfterApproval::AddRule,
    };
    decide(session, &arguments.choice, &CallDecision::Approve, always, output)
}

pub(crate) fn reject(
    session: &Session<'_>,
    arguments: &RejectArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let reason = arguments.reason.clone().unwrap_or_else(|| DECLINED.to_owned());
    decide(session, &arguments.choice, &CallDecision::Reject(reason), AfterApproval::Nothing, output)
}

pub(crate) fn hold(
    session: &Session<'_>,
    arguments: &HoldArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let reason = arguments.reason.clone().unwrap_or_else(|| CallDecision::HELD.to_owned());
    decide(session, &arguments.choice, &CallDecision::Hold(reason), AfterApproval::Nothing, output)
}

/// What follows an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterApproval {
    Nothing,
    AskForRule,
    AddRule,
}

fn decide(
    session: &Session<'_>,
    choice: &ChoiceArgs,
    decision: &CallDecision,
    after: AfterApproval,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let workspace = session.workspace()?;
    workspace.require_outside_run()?;
    if after == AfterApproval::AskForRule && !output.may_ask(session.surroundings) {
        let message = "there is no terminal to ask about the rule";
        return Err(Error::new(ErrorKind::Usage, message).hint("pass `--yes` to add it"));
    }
    if choice.is_empty() {
        return match output.may_ask(session.surroundings) {
            true => prompts::run(&workspace, prompts::PromptStyle::Brief, output),
            false => Err(unchosen()),
        };
    }
    let chosen = workspace.daily().choose(&choice.choice())?;
    decide_each(&workspace, &chosen, decision, after, output)
}

fn unchosen() -> Error {
    let message = "name the calls, because there is no terminal to ask about each";
    Error::new(ErrorKind::Usage, message).hint("brigade pending").hint("brigade approve --all")
}

fn decide_each(
    workspace: &Workspace,
    chosen: &[ChosenCall],
    decision: &CallDecision,
    after: AfterApproval,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let work = workspace.daily();
    if let ([call], false) = (chosen, after != AfterApproval::Nothing) {
        return Ok(output.finish(work.decide(call, decision)?));
    }
    if output.is_json() {
        let (words, mut exit) = (output.words().clone(), Exit::Done);
        let rows = chosen.iter().map(|call| {
            let result = work.decide(call, decision);
            exit = exit.max(result.as_ref().map_or_else(Error::exit, |_| Exit::Done));
            ReviewOutcome::from_result(&call.prefix(), result, &words)
        });
        let rows = rows.collect();
        return Ok(output.document(&ReviewsReport::new(workspace, rows), exit));
    }
    let mut exit = Exit::Done;
    for call in chosen {
        match work.decide(call, decision) {
            Ok(report) => {
                let mut page = output.new_page();
                page.data.line(outcome_line(&report));
                exit = exit.max(output.page(&page, Exit::Done));
                if after != AfterApproval::Nothing {
                    let id = report.call.id.to_string();
                    let is_agreed = after == AfterApproval::AddRule;
                    exit = exit.max(prompts::propose_rule(workspace, &id, is_agreed, output));
                }
            }
            Err(error) => exit = exit.max(output.fail(&error)),
        }
    }
    Ok(exit)
}

/// Formats a decision in one line.
pub(super) fn outcome_line(report: &ReviewReport) -> Text {
    let call = &report.call;
    words::status(call.status.as_str())
        .then(Tone::Strong, &format!("  {}  ", call.tool_id))
        .then(Tone::Plain, &brigade::daily::arguments_line(&call.args))
        .then(Tone::Faint, &format!("  {}", call.id))
}
