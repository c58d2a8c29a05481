//! What a call would do, without storing or running anything:
//! `cargo run -p brigade --example plan_only -- FOLDER TOOL`.

#![allow(clippy::disallowed_methods, reason = "an example is a separate program")]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use brigade::{Env, Request, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("expected a directory")?;
    let tool = arguments.next().ok_or("expected the id of a tool")?;

    let workspace = Workspace::discover(Path::new(&folder), Env::of_process())?;
    let plan = workspace.calls().plan(Request::new(tool))?;

    let mut out = std::io::stdout();
    writeln!(out, "{}: {}", plan.tool_id, plan.argv.join(" "))?;
    for blocker in &plan.blockers {
        writeln!(out, "- {blocker}")?;
    }
    Ok(())
}
