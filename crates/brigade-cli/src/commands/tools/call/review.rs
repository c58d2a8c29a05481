//! Decisions about one call or several.

use brigade::core::{CallId, IdPrefix};
use brigade::report::ReviewReport;
use brigade::{Calls, Error, Exit, Step};

use crate::output::Output;
use crate::render::reviews::{ReviewOutcome, ReviewsReport};
use crate::session::Session;

/// Decides about each call once, continues after failures, and returns the exit code.
pub(super) fn decide_each(
    session: &Session<'_>,
    named: &[IdPrefix],
    step: Step,
    output: &mut Output<'_, '_>,
    decide: impl Fn(&Calls, &CallId) -> Result<ReviewReport, Error>,
) -> Result<Exit, Error> {
    let workspace = session.workspace()?;
    let calls = workspace.calls();
    if let [call] = named {
        return Ok(output.finish(decide(&calls, &calls.find(call, step)?)?));
    }
    let mut decided = Vec::new();
    // A call that is named again is not decided again, because repeating an approval confirms changes.
    let results = named.iter().enumerate().filter_map(|(place, call)| {
        if named[..place].contains(call) {
            return None;
        }
        let result = match calls.find(call, step) {
            Ok(id) if decided.contains(&id) => return None,
            Ok(id) => {
                let result = decide(&calls, &id);
                decided.push(id);
                result
            }
            Err(error) => Err(error),
        };
        Some((call, result))
    });
    let mut exit = Exit::Done;
    if !output.is_json() {
        for (number, (_, result)) in results.enumerate() {
            if 0 < number && result.is_ok() {
                output.text("\n");
            }
            exit = exit.max(match result {
                Ok(report) => output.finish(report),
                Err(error) => output.fail(&error),
            });
        }
        return Ok(exit);
    }
    let words = output.words().clone();
    let rows = results.map(|(call, result)| {
        exit = exit.max(result.as_ref().map_or_else(Error::exit, |_| Exit::Done));
        ReviewOutcome::from_result(call, result, &words)
    });
    let rows = rows.collect();
    Ok(output.document(&ReviewsReport::new(&workspace, rows), exit))
}
