//! `brigade kitchen plan`

use std::path::PathBuf;

use brigade::{Error, KitchenPlanReport, PlanOptions, PlanWish};
use clap::Args;

use crate::session::Session;

/// Let the executive plan a feature as a PRD
///
/// The PRD is validated and written to brigade/tasks/prd-NAME.json, and latest.json leads to it. The executive may ask
/// questions first. Nothing is started that nobody approved: `kitchen approve --workers` comes before.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// What the feature should do
    #[arg(value_name = "TEXT", required_unless_present = "id", conflicts_with = "id")]
    text: Vec<String>,

    /// Write the PRD to this file, which must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Neither make nor quote the map of the code base
    #[arg(long)]
    no_map: bool,

    /// Go on with the plan whose questions are answered
    #[arg(long = "continue", value_name = "ID")]
    id: Option<String>,

    /// Answer to a question, by its number; the executive decides what has none
    #[arg(long, value_name = "N=TEXT", requires = "id", value_parser = numbered)]
    answer: Vec<(usize, String)>,
}

fn numbered(text: &str) -> Result<(usize, String), &'static str> {
    const EXPECTED: &str = "expected the number of a question, `=` and the answer";
    let (number, answer) = text.split_once('=').ok_or(EXPECTED)?;
    let number = number.trim().parse().map_err(|_| EXPECTED)?;
    if answer.trim().is_empty() { Err(EXPECTED) } else { Ok((number, answer.trim().to_owned())) }
}

pub(crate) fn run(session: &Session<'_>, arguments: &PlanArgs) -> Result<KitchenPlanReport, Error> {
    let PlanArgs { text, out, no_map, id, answer } = arguments;
    let wish = match id {
        Some(id) => PlanWish::Continue { id: id.clone(), answers: answer.clone() },
        None => PlanWish::New(text.join(" ")),
    };
    let options = PlanOptions { out: out.as_deref(), without_map: *no_map };
    session.workspace_to_run()?.kitchen().plan(wish, &options)
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn answers_have_the_number_of_their_question() {
        assert_eq!(numbered("2=a = b"), Ok((2, "a = b".to_owned())));
        for text in ["", "2", "=a", "x=a", "2=", "2= ", "-1=a"] {
            assert!(numbered(text).is_err(), "{text}");
        }
    }
}
