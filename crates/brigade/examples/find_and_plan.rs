//! Finds the tools that can do something, and says what a call of each would run, or why it would not:
//! `cargo run -p brigade --example find_and_plan -- FOLDER CAPABILITY`. Starts nothing.

#![allow(clippy::disallowed_methods, reason = "an example is a separate program")]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use brigade::{Env, FindQuery, Request, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let [_, folder, capability] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("expected a directory and a capability".into());
    };
    let workspace = Workspace::discover(Path::new(folder), Env::of_process())?;
    let query = FindQuery { capabilities: vec![capability.clone()], ..FindQuery::default() };
    for found in workspace.catalog().find(&query)?.matches.iter().filter(|found| found.callable) {
        let plan = workspace.calls().plan(Request::new(found.id.as_str()))?;
        writeln!(std::io::stdout(), "{} ({}): {}", plan.tool_id, found.state, plan.argv.join(" "))?;
        plan.blockers.iter().try_for_each(|blocker| writeln!(std::io::stdout(), "- {blocker}"))?;
    }
    Ok(())
}
