//! Test suites: tools of the catalog with the category `test`. A run is a call of the tool, with a separate plan,
//! approval and receipt.

use brigade_core::{ErrorCode, Json, Object, Timestamp};
use serde::{Deserialize, Serialize};

use crate::calls::{Calls, FurtherCall};
use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] =
    &[("test.list", list), ("test.run", run), ("test.runs", runs), ("test.stop", stop)];

/// The maximum number of listed runs.
const LISTED: usize = 50;

#[derive(Deserialize)]
struct SuiteArgs {
    suite: String,
}

/// Finds the requested suite.
fn suite<'a>(input: &Json, context: &Context<'a>) -> Result<(&'a dyn Calls, String), Failure> {
    let SuiteArgs { suite } = arguments(input)?;
    let calls = context.further()?;
    match context.suites.contains(&suite) && calls.shows(&suite) {
        true => Ok((calls, suite)),
        false => Err(Failure::missing("test suite")),
    }
}

/// The result of `test.list`.
#[derive(Serialize)]
struct Suites<'a> {
    suites: Vec<&'a String>,
}

/// The result of `test.run`.
#[derive(Serialize)]
struct SuiteRunResult {
    call_id: String,
}

/// The result of `test.runs`.
#[derive(Serialize)]
struct SuiteRuns {
    runs: Vec<SuiteRun>,
}

#[derive(Serialize)]
struct SuiteRun {
    call_id: String,
    status: String,
    run_id: Option<String>,
    created_at: Option<Timestamp>,
}

/// The result of `test.stop`.
#[derive(Serialize)]
struct SuiteStopResult {
    call_id: String,
    cancelled: bool,
}

fn list(_: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let calls = context.further()?;
    let suites = context.suites.iter().filter(|suite| calls.shows(suite)).collect();
    Ok(Output::from_result(&Suites { suites }))
}

fn run(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (calls, suite) = suite(input, context)?;
    let call_id = calls.ask(&suite, Json::Object(Object::new()))?.id;
    let text = format!("call {call_id} of the suite; `call.wait` with this id runs it when it is approved");
    Ok(Output::from_result(&SuiteRunResult { call_id }).text(text))
}

fn runs(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (calls, suite) = suite(input, context)?;
    let row = |call: FurtherCall| SuiteRun {
        call_id: call.id,
        status: call.status,
        run_id: call.run,
        created_at: call.created_at,
    };
    let runs = calls.of_tool(&suite)?.into_iter().take(LISTED).map(row).collect();
    Ok(Output::from_result(&SuiteRuns { runs }))
}

fn stop(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (calls, suite) = suite(input, context)?;
    let runs = calls.of_tool(&suite)?;
    let mut is_elsewhere = None;
    for run in runs.iter().filter(|run| run.is_running) {
        if calls.end(&run.id)? {
            let text =
                format!("call {} of the suite is being ended, with everything that it started", run.id);
            let stopped = SuiteStopResult { call_id: run.id.clone(), cancelled: true };
            return Ok(Output::from_result(&stopped).text(text));
        }
        is_elsewhere = Some(&run.id);
    }
    Err(match is_elsewhere {
        Some(id) => Failure::new(
            ErrorCode::RunsElsewhere,
            format!("call {id} of the suite runs in another process that did not end it"),
        ),
        None => Failure::new(ErrorCode::NotRunning, "you have no running call of this suite"),
    })
}
