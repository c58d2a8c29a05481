//! Test suites: tools of the catalog with the category `test`. A run of one is a call of it, with its own plan,
//! approval and receipt.

use brigade_core::{Json, Object, codes};
use serde::Deserialize;

use crate::calls::{Calls, FurtherCall};
use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};
use crate::stored::or_null;

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] =
    &[("test.list", list), ("test.run", run), ("test.runs", runs), ("test.stop", stop)];

/// The most runs that are listed.
const LISTED: usize = 50;

#[derive(Deserialize)]
struct SuiteArgs {
    suite: String,
}

/// Reads the suite that is meant.
fn suite<'a>(input: &Json, context: &Context<'a>) -> Result<(&'a dyn Calls, String), Failure> {
    let SuiteArgs { suite } = arguments(input)?;
    let calls = context.further()?;
    match context.suites.contains(&suite) {
        true => Ok((calls, suite)),
        false => Err(Failure::new(codes::NOT_FOUND, "there is no such test suite")),
    }
}

fn list(_: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    context.further()?;
    let ids: Vec<Json> = context.suites.iter().map(|suite| Json::from(suite.as_str())).collect();
    Ok(Output::new([("suites", Json::from(ids))]))
}

fn run(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (calls, suite) = suite(input, context)?;
    let id = calls.ask(&suite, Json::Object(Object::new()))?.id;
    let text = format!("call {id} of the suite; `call.wait` with this id runs it when it is approved");
    Ok(Output::new([("call_id", Json::from(id))]).text(text))
}

fn runs(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (calls, suite) = suite(input, context)?;
    let row = |call: &FurtherCall| {
        Json::object([
            ("call_id", Json::from(call.id.as_str())),
            ("status", Json::from(call.status.as_str())),
            ("run_id", or_null(call.run.as_deref())),
            ("created_at", call.created_at.map_or(Json::Null, |at| Json::from(at.to_string()))),
        ])
    };
    let rows: Vec<Json> = calls.of_tool(&suite)?.iter().take(LISTED).map(row).collect();
    Ok(Output::new([("runs", Json::from(rows))]))
}

fn stop(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (calls, suite) = suite(input, context)?;
    let runs = calls.of_tool(&suite)?;
    let mut is_elsewhere = None;
    for run in runs.iter().filter(|run| run.is_running) {
        if calls.end(&run.id)? {
            let text =
                format!("call {} of the suite is being ended, with everything that it started", run.id);
            let members = [("call_id", Json::from(run.id.as_str())), ("cancelled", Json::from(true))];
            return Ok(Output::new(members).text(text));
        }
        is_elsewhere = Some(&run.id);
    }
    Err(match is_elsewhere {
        Some(id) => Failure::new(
            codes::RUNS_ELSEWHERE,
            format!("call {id} of the suite was started by another process, which alone can end it"),
        ),
        None => Failure::new(codes::NOT_RUNNING, "no call of this suite that you asked for runs"),
    })
}
