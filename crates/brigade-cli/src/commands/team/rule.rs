//! `brigade team rule`

use brigade::Error;
use brigade::report::{TeamRule, TeamRuleReport};
use clap::{ArgGroup, Subcommand};

use super::PlaceArgs;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Rule {
    /// Let several people approve calls
    ///
    /// The strictest rule that matches a call holds. From two approvals on, the person who queued the call does not
    /// count.
    #[command(group = ArgGroup::new("calls").multiple(true).args(["effect", "tool", "family"]))]
    Add {
        /// Only for calls with this effect
        #[arg(long)]
        effect: Option<String>,
        /// Only for calls of this tool
        #[arg(long)]
        tool: Option<String>,
        /// Only for calls of this family
        #[arg(long)]
        family: Option<String>,
        /// How many people must approve, 1 to 9
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=9))]
        approvals: u64,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Remove a rule
    Remove {
        /// Number of the rule
        rule: i64,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// List the rules
    List {
        #[command(flatten)]
        place: PlaceArgs,
    },
}

pub(crate) fn run(command: &Rule, session: &Session<'_>) -> Result<TeamRuleReport, Error> {
    let team = super::team(session)?;
    match command {
        Rule::Add { effect, tool, family, approvals, place } => {
            let rule = TeamRule::new(effect.clone(), tool.clone(), family.clone(), *approvals);
            team.add_rule(place.place(), &rule)
        }
        Rule::Remove { rule, place } => team.remove_rule(place.place(), *rule),
        Rule::List { place } => team.rules(place.place()),
    }
}
