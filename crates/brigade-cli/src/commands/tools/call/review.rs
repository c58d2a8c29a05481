//! Decisions about one call or several.

use brigade::core::{ErrorKind, IdPrefix};
use brigade::{Error, Exit, ReviewReport, Workspace};

use crate::output::Output;
use crate::render::reviews::{ReviewOutcome, ReviewsReport};
use crate::session::Session;

/// Decides about each call once, continues after failures, and returns the exit code.
pub(super) fn decide_each(
    session: &Session<'_>,
    calls: &[IdPrefix],
    output: &mut Output<'_, '_>,
    decide: impl Fn(&Workspace, &IdPrefix) -> Result<ReviewReport, Error>,
) -> Exit {
    let workspace = match session.workspace() {
        Ok(workspace) => workspace,
        Err(error) => return output.fail(&error),
    };
    if let [call] = calls {
        return output.finish(decide(&workspace, call));
    }
    let mut decided = Vec::new();
    // A call that is named again is not decided again, because repeating an approval confirms changes.
    let results = calls.iter().enumerate().filter_map(|(place, call)| {
        if calls[..place].iter().any(|before| before.as_str() == call.as_str()) {
            return None;
        }
        let result = decide(&workspace, call);
        match &result {
            Ok(report) => decided.push(report.call.id.clone()),
            // A shorter prefix of a call that was already decided.
            Err(error)
                if error.kind() != ErrorKind::Ambiguous
                    && decided.iter().any(|id| id.as_str().starts_with(call.as_str())) =>
            {
                return None;
            }
            Err(_) => {}
        }
        Some((call, result))
    });
    let mut exit = Exit::Done;
    if !output.is_json() {
        for (number, (_, result)) in results.enumerate() {
            if 0 < number && result.is_ok() {
                output.text("\n");
            }
            exit = exit.max(output.finish(result));
        }
        return exit;
    }
    let words = output.words().clone();
    let rows = results.map(|(call, result)| {
        exit = exit.max(result.as_ref().map_or_else(Error::exit, |_| Exit::Done));
        ReviewOutcome::from_result(call, result, &words)
    });
    let rows = rows.collect();
    output.document(&ReviewsReport::new(&workspace, rows), exit)
}
