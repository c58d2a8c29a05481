//! The answers of `tools.list`, `tools.search` and `tools.describe`.

use brigade_policy::approval::ApprovalNeed;
use brigade_policy::{Gate, RiskLevel};
use serde::Serialize;

use crate::builtin::{Judge, ToolApproval, definition};

/// A tool in `tools.list` and `tools.search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolRow {
    /// The listed name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The first of the names of its source.
    pub source: Option<String>,
    /// Whether its calls skip the judge.
    pub skip_judge: bool,
    /// Whether a person approves each call.
    pub gate: Gate,
    /// The gate in words.
    pub reason: &'static str,
}

impl ToolRow {
    /// Writes the row of a tool with this id.
    pub fn new(id: &str, name: &str, description: &str, source: Option<&str>, need: ApprovalNeed) -> ToolRow {
        ToolRow {
            name: name.to_owned(),
            description: description.to_owned(),
            source: source.map(str::to_owned),
            skip_judge: definition(id).is_none_or(|row| row.judge != Judge::Run),
            gate: need.gate(),
            reason: need_in_words(id, need),
        }
    }
}

/// The answer of `tools.search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundTools {
    /// The id of the tool that answers.
    pub tool: &'static str,
    /// The words that were searched for.
    pub query: String,
    /// The best matches.
    pub tools: Vec<ToolRow>,
    /// The number of all matches.
    pub total: usize,
}

/// The answer of `tools.describe`. `S` is a schema.
#[derive(Clone, Debug, Serialize)]
pub struct ToolDescription<'a, S> {
    /// The listed name.
    pub name: &'a str,
    /// The id.
    pub id: &'a str,
    /// The display name.
    pub title: &'a str,
    /// What it does.
    pub description: &'a str,
    /// The schema of the arguments.
    pub input_schema: &'a S,
    /// The schema of structured results.
    pub output_schema: Option<&'a S>,
    /// The family.
    pub family: &'a str,
    /// The effects.
    pub effects: &'a [String],
    /// The risk.
    pub risk: RiskLevel,
    /// Whether a person approves each call.
    pub gate: Gate,
    /// The gate in words.
    pub reason: &'static str,
}

/// Returns a text that says who approves the calls of a tool.
pub fn need_in_words(id: &str, need: ApprovalNeed) -> &'static str {
    let is_of_named = || definition(id).is_some_and(|row| row.approval == ToolApproval::OfNamedTool);
    match need {
        ApprovalNeed::None if id == "tools.call" || is_of_named() => {
            "its calls are approved as those of the named tool"
        }
        ApprovalNeed::None => "its calls need no approval",
        ApprovalNeed::Rule => "a rule of the policy may approve its calls; without one, a person does",
        ApprovalNeed::Judge | ApprovalNeed::Person => "a person approves each call",
    }
}
