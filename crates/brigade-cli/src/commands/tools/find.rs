//! `brigade tools find`

use brigade::report::FindReport;
use brigade::tools::{Quantity, ToolSource};
use brigade::{Error, Family, FindQuery};
use clap::{ArgGroup, Args};

use crate::arguments::{count, word};
use crate::session::Session;

/// Find tools by words, capability, category, source or family
///
/// Words are searched for as `brigade tools search` does, also in the names that servers give their tools. Labels are
/// compared without case, and `_`, `-` and spaces are alike. The result says which tools can be called, and why others
/// cannot. Starts nothing. Exits with 1 if no tool matches.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("wanted").required(true).multiple(true)))]
pub(crate) struct FindArgs {
    /// Words of id, name or description, in any order
    #[arg(value_name = "WORD", group = "wanted")]
    words: Vec<String>,
    /// A capability; several mean any of them
    #[arg(long, value_name = "CAPABILITY", group = "wanted")]
    capability: Vec<String>,
    /// A category; several mean any of them
    #[arg(long, value_name = "CATEGORY", group = "wanted")]
    category: Vec<String>,
    /// A source: script, cli, mcp, skill or harness; several mean any of them
    #[arg(long, value_name = "SOURCE", group = "wanted")]
    source: Vec<ToolSource>,
    /// A family, such as script or builtin; several mean any of them
    #[arg(long, value_name = "FAMILY", group = "wanted")]
    family: Vec<Family>,
    /// Only available tools
    #[arg(long)]
    available: bool,
    /// List tools of this source first; leaves nothing out
    #[arg(long, value_name = "SOURCE")]
    prefer_source: Option<ToolSource>,
    /// Whether a tool needs any of the capabilities or all of them
    #[arg(long = "match", value_name = "any|all", value_parser = word::<Quantity>(), hide_possible_values = true)]
    #[arg(default_value_t = Quantity::Any, hide_default_value = true)]
    matching: Quantity,
    /// List at most this many tools
    #[arg(long, value_name = "N", value_parser = count)]
    limit: Option<usize>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &FindArgs) -> Result<FindReport, Error> {
    session.workspace()?.catalog().find(&FindQuery {
        words: arguments.words.join(" "),
        capabilities: arguments.capability.clone(),
        categories: arguments.category.clone(),
        sources: arguments.source.clone(),
        families: arguments.family.clone(),
        quantity: arguments.matching,
        available: arguments.available,
        prefer_source: arguments.prefer_source,
        limit: arguments.limit,
    })
}
