//! `brigade kitchen plan`

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use brigade::core::Severity;
use brigade::kitchen::{KitchenPlanReport, PlanOptions, PlanWish};
use brigade::policy::ErrorLine;
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Let the executive plan a feature as a PRD
///
/// The PRD is validated and written to brigade/tasks/prd-NAME.json, and latest.json points to it. The executive may ask
/// questions first. Workers start only after `kitchen approve --workers`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// What the feature should do
    #[arg(value_name = "TEXT", required_unless_present = "id", conflicts_with = "id")]
    text: Vec<String>,

    /// Write the PRD to this file, which must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Neither create nor quote the map of the code base
    #[arg(long)]
    no_map: bool,

    /// Continue the plan whose questions are answered
    #[arg(long = "continue", value_name = "ID")]
    id: Option<String>,

    /// Answer to a question, by its number; the executive decides the others
    #[arg(long, value_name = "N=TEXT", requires = "id", value_parser = numbered)]
    answer: Vec<(usize, String)>,
}

fn numbered(text: &str) -> Result<(usize, String), &'static str> {
    const EXPECTED: &str = "expected the number of a question, `=` and the answer";
    let (number, answer) = text.split_once('=').ok_or(EXPECTED)?;
    let number = number.trim().parse().map_err(|_| EXPECTED)?;
    if answer.trim().is_empty() { Err(EXPECTED) } else { Ok((number, answer.trim().to_owned())) }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &PlanArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let PlanArgs { text, out, no_map, id, answer } = arguments;
    let mut wish = match id {
        Some(id) => PlanWish::Continue { id: id.clone(), answers: answer.clone() },
        None => PlanWish::New(text.join(" ")),
    };
    let options = PlanOptions { out: out.as_deref(), without_map: *no_map };
    let may_ask = output.may_ask(session.surroundings);
    // An error in the configuration refuses the plan and is reported there.
    if let Ok(workers) = session.workspace().and_then(|workspace| workspace.kitchen().workers()) {
        let is_warning = |line: &&ErrorLine| line.fault().severity == Severity::Warning;
        let warnings: Vec<String> =
            workers.config_issues.iter().filter(is_warning).map(|line| line.as_str().to_owned()).collect();
        warnings.iter().for_each(|warning| output.note(warning));
    }
    loop {
        let report = session.workspace_to_run()?.kitchen().plan(wish, &options)?;
        let Some(id) = report.continue_id.clone().filter(|_| may_ask && !report.questions.is_empty()) else {
            return Ok(output.finish(report));
        };
        // If the input ends, the person answers later.
        let Some(answers) = ask(&report, output) else { return Ok(output.finish(report)) };
        wish = PlanWish::Continue { id, answers };
    }
}

/// Asks the questions of the executive one by one. Returns `None` if the input ends. An empty answer counts as none.
fn ask(report: &KitchenPlanReport, output: &mut Output<'_, '_>) -> Option<Vec<(usize, String)>> {
    let mut answers = Vec::new();
    output.note("the executive has questions; without an answer, it decides itself");
    for question in &report.questions {
        let mut page = output.new_page();
        page.notes.line(format!("{}. {}", question.number, question.text));
        output.print_to_stderr(&page.notes);
        let mut answer = String::new();
        let read = BufReader::new(output.input()).read_line(&mut answer).ok()?;
        if read == 0 {
            return None;
        }
        let answer = answer.trim();
        if !answer.is_empty() {
            answers.push((usize::try_from(question.number).ok()?, answer.to_owned()));
        }
    }
    Some(answers)
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
