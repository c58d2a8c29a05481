//! Which waiting things a person means: numbers of the last list, ids, tools, agents, or all.

use brigade_call::Step;
use brigade_core::text::escape_terminal;
use brigade_core::{CallId, ErrorCode, Glob, IdPrefix, NextStep};
use brigade_policy::Failure;
use brigade_queue::Review;

use super::daily::Daily;
use super::numbers::{ShownNumbers, ShownThing};
use super::pending::WaitingGroup;
use crate::calls::DecisionBasis;
use crate::error::{Error, ErrorKind};
use crate::report::{PendingRow, ReviewReport, WaitingKind};

/// The selection of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingChoice {
    /// Numbers of the last list (`2`, `1-3`), ids or prefixes, and tools or patterns of tools.
    pub words: Vec<String>,
    /// Only calls of this tool, or this pattern of tools.
    pub tool: Option<String>,
    /// Only calls of this agent.
    pub agent: Option<String>,
    /// All calls that wait.
    pub all: bool,
}

/// A chosen call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenCall {
    /// As it was shown. The decision counts only for this revision.
    Shown(ShownThing),
    /// By its id or a prefix.
    Named(IdPrefix),
    /// As a review showed it. The decision counts only for this fingerprint of the review.
    Reviewed {
        /// Its id.
        id: String,
        /// The fingerprint.
        fingerprint: String,
    },
}

impl ChosenCall {
    /// Returns what names the call.
    pub fn prefix(&self) -> IdPrefix {
        match self {
            ChosenCall::Shown(shown) => IdPrefix::new(&shown.id),
            ChosenCall::Named(prefix) => prefix.clone(),
            ChosenCall::Reviewed { id, .. } => IdPrefix::new(id),
        }
    }
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallDecision {
    /// Approve it.
    Approve,
    /// Reject it, with a reason.
    Reject(String),
    /// Put it on hold, with a reason.
    Hold(String),
}

impl CallDecision {
    /// Why a call is on hold when a person gives no reason.
    pub const HELD: &str = "held for later";
}

impl Daily {
    /// Finds the calls that a person chose, each once. What waits and is not a call is answered by its own command.
    ///
    /// # Errors
    /// Fails if a word means nothing that waits, and on file errors.
    pub fn choose(&self, choice: &PendingChoice) -> Result<Vec<ChosenCall>, Error> {
        let numbers = ShownNumbers::read(&self.context);
        let groups = self.groups()?;
        let mut chosen = Vec::new();
        for word in &choice.words {
            match number_range(word) {
                Some((first, last)) => {
                    // Numbers of a range that were decided are no longer in the list.
                    let range = first..=last.min(numbers.last().max(first));
                    let listed: Vec<u64> =
                        range.filter(|number| !numbers.things(*number).is_empty()).collect();
                    let listed = if listed.is_empty() { vec![first] } else { listed };
                    for number in listed {
                        chosen.extend(numbered(&numbers, number)?.into_iter().map(ChosenCall::Shown));
                    }
                }
                None => chosen.extend(named(&groups, word)?),
            }
        }
        if choice.words.is_empty() && (choice.all || choice.tool.is_some() || choice.agent.is_some()) {
            let fits = |row: &PendingRow| {
                is_call(row)
                    && choice.tool.as_ref().is_none_or(|tool| is_tool(row, tool))
                    && choice.agent.as_ref().is_none_or(|agent| row.who == *agent)
            };
            let fitting = groups.iter().filter(|group| fits(&group.row));
            chosen.extend(fitting.flat_map(|group| &group.things).cloned().map(ChosenCall::Shown));
            if chosen.is_empty() {
                let error = Error::new(ErrorKind::NotFound, "no waiting call fits");
                return Err(error.coded(ErrorCode::WaitingMissing).hint(NextStep::ListPending));
            }
        }
        let mut each: Vec<ChosenCall> = Vec::new();
        for one in chosen {
            if !each.iter().any(|known| known.prefix().as_str() == one.prefix().as_str()) {
                each.push(one);
            }
        }
        Ok(each)
    }

    /// Decides about a chosen call.
    ///
    /// # Errors
    /// As the decision by its id, and if the call changed since it was shown.
    pub fn decide(&self, chosen: &ChosenCall, decision: &CallDecision) -> Result<ReviewReport, Error> {
        let basis = match chosen {
            ChosenCall::Shown(shown) => DecisionBasis::Revision(shown.revision),
            ChosenCall::Named(_) => DecisionBasis::Current,
            ChosenCall::Reviewed { fingerprint, .. } => DecisionBasis::Review(fingerprint),
        };
        let decline = |step, review, reason| {
            self.calls.decline(&self.calls.find(&chosen.prefix(), step)?, &basis, step, review, reason)
        };
        match decision {
            CallDecision::Approve => {
                self.calls.approve_as(&self.calls.find(&chosen.prefix(), Step::Approve)?, &basis)
            }
            CallDecision::Reject(reason) => decline(Step::Reject, Review::Reject, reason),
            CallDecision::Hold(reason) => decline(Step::Hold, Review::Hold, reason),
        }
    }
}

/// Reads `2` or `1-3`.
fn number_range(word: &str) -> Option<(u64, u64)> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    match word.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)).filter(|(first, last)| first <= last),
        None => number(word).map(|number| (number, number)),
    }
}

/// Returns the calls that were shown with a number.
fn numbered(numbers: &ShownNumbers, number: u64) -> Result<Vec<ShownThing>, Error> {
    let things = numbers.things(number);
    let Some(first) = things.first() else {
        let error =
            Error::new(ErrorKind::NotFound, format!("the last list of what waits has no number {number}"));
        return Err(error.coded(ErrorCode::WaitingMissing).hint(NextStep::ListPending));
    };
    if first.id.parse::<CallId>().is_err() || !first.id.starts_with("call-") {
        return Err(not_a_call(&first.id));
    }
    Ok(things.to_vec())
}

fn not_a_call(id: &str) -> Error {
    let message = format!("`{}` is not a call, so answer it with its own command", escape_terminal(id));
    Error::new(ErrorKind::Usage, message).hint(NextStep::AnswerByChoice(id.to_owned()))
}

/// Returns the calls of a tool, of a pattern of tools, or the one with this id or prefix.
fn named(groups: &[WaitingGroup], word: &str) -> Result<Vec<ChosenCall>, Error> {
    let of_tool = groups.iter().filter(|group| is_call(&group.row) && is_tool(&group.row, word));
    let things: Vec<ChosenCall> =
        of_tool.flat_map(|group| &group.things).cloned().map(ChosenCall::Shown).collect();
    if !things.is_empty() {
        return Ok(things);
    }
    let others = groups.iter().filter(|group| !is_call(&group.row)).flat_map(|group| &group.row.ids);
    let others: Vec<&String> = others.filter(|id| id.starts_with(word)).collect();
    match others.as_slice() {
        [] => Ok(vec![ChosenCall::Named(IdPrefix::new(word))]),
        [one] => Err(not_a_call(one)),
        several => {
            let ids = several.iter().map(|id| (*id).clone()).collect();
            Err(Failure::ambiguous("answer", word, ids).into())
        }
    }
}

fn is_call(row: &PendingRow) -> bool {
    matches!(row.kind, WaitingKind::Approval | WaitingKind::Plan)
}

fn is_tool(row: &PendingRow, tool: &str) -> bool {
    row.subject == tool || tool.contains(['*', '?']) && Glob::of_ids(tool).matches(&row.subject)
}

#[cfg(test)]
mod tests;
