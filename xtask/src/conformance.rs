//! `cargo xtask conformance`: runs the published conformance suite of MCP against `brigade serve`.
//!
//! The suite is installed with npm into a temporary directory. The server serves a workspace with the tools of
//! `fixtures/mcp/conformance.py`. Each server scenario of both revisions is run against it over HTTP. The results are
//! compared with the list of excluded scenarios.

mod left_out;
mod suite;
mod workspace;

use std::path::PathBuf;

use crate::cargo::build;
use crate::repository::{Failure, Repository};
use left_out::{Expectation, LeftOutScenarios};
use suite::{Suite, Verdict};

/// The revisions of the protocol whose scenarios are run.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Run the published MCP conformance suite against `brigade serve`
///
/// Needs Node 22 or newer, npm, python3 and the network
#[derive(Debug, clap::Args)]
pub struct ConformanceArguments {
    /// Run only scenarios whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The node that runs the suite
    #[arg(long, value_name = "PATH", default_value = "node")]
    node: PathBuf,
}

pub fn run(repository: &Repository, arguments: &ConformanceArguments) -> Result<(), Failure> {
    let left_out = LeftOutScenarios::of_repository()?;
    let suite = Suite::install(&arguments.node)?;
    let workspace = workspace::make(repository, &build(repository)?)?;
    let server = workspace::serve(&workspace)?;
    let (mut passed, mut listed, mut wrong) = (0, 0, Vec::new());
    for revision in REVISIONS {
        let scenarios = suite.scenarios(revision)?;
        for name in left_out.unknown(revision, &scenarios) {
            wrong.push(format!("{revision} {name} is in the list, but the suite has no such scenario"));
        }
        for scenario in scenarios {
            if arguments.only.as_ref().is_some_and(|text| !scenario.contains(text)) {
                continue;
            }
            let expected = left_out.expected(revision, &scenario);
            let mut verdict = suite.run(&server.address, revision, &scenario)?;
            // The suite gives some calls half a second, which a busy machine may not have.
            if expected == Expectation::Passes && verdict != Verdict::Passed {
                println!("{revision}  {scenario}: failed, and is tried again");
                verdict = suite.run(&server.address, revision, &scenario)?;
            }
            let word = match (&verdict, &expected) {
                (Verdict::Passed, Expectation::Passes) => "passed",
                (Verdict::Failed(_), Expectation::LeftOut(_)) => "left out",
                (Verdict::Passed, Expectation::LeftOut(_)) => "PASSED, though left out",
                (Verdict::Failed(_), Expectation::Passes) => "FAILED",
            };
            println!("{revision}  {scenario:<48}  {word}");
            match (verdict, expected) {
                (Verdict::Passed, Expectation::Passes) => passed += 1,
                (Verdict::Failed(_), Expectation::LeftOut(reason)) => {
                    println!("            {reason}");
                    listed += 1;
                }
                (Verdict::Passed, Expectation::LeftOut(_)) => {
                    wrong.push(format!("{revision} {scenario} passes: take it out of the list"));
                }
                (Verdict::Failed(why), Expectation::Passes) => {
                    wrong.push(format!("{revision} {scenario}: {}", why.join("; ")));
                }
            }
        }
    }
    drop(server);
    for finding in &wrong {
        eprintln!("  {finding}");
    }
    println!("conformance: {passed} passed, {listed} left out, {} not as expected", wrong.len());
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new("the results of the suite are not as expected")) }
}
