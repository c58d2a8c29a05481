//! The calls that wait for a person: `cargo run -p brigade --example list -- FOLDER`.

#![allow(clippy::disallowed_methods, reason = "an example is a separate program")]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use brigade::{CallFilter, CallStatus, Env, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a directory")?;
    let workspace = Workspace::discover(Path::new(&folder), Env::of_process())?;

    let waiting = CallFilter { status: Some(CallStatus::Pending), ..CallFilter::default() };
    for call in workspace.calls().list(waiting)? {
        let call = call?;
        writeln!(std::io::stdout(), "{} {}", call.id, call.tool_id)?;
    }
    Ok(())
}
